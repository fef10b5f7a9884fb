/* Names of classes in config.json, as Hugging Face writes them: "id2label": {"0": "cat", "1": "dog"}; or timm:
 * "label_names": ["cat", "dog"]. */
#include "base/checked.h"
#include "heed/model.h"
#include "io/text.h"
#include "model/core/config.h"
#include <stdio.h>
#include <string.h>

/* The class that a key means: digits without leading zeros, less than n; -1: none. */
static int64_t class_of(const char *key, int64_t n) {
    char again[24];
    int64_t number = 0;
    if (strlen(key) > 18) return -1;
    for (const char *c = key; *c; c++) {
        if (*c < '0' || *c > '9') return -1;
        number = number * 10 + (*c - '0');
    }
    snprintf(again, sizeof again, "%lld", (long long)number);
    return number < n && strcmp(again, key) == 0 ? number : -1;
}

/* The texts by class, in no block of their own, and the bytes that they take. */
static bool collect(heed_ctx *cx, heed_json list, int64_t n, const char **text, size_t *bytes) {
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *name = heed_json_text(cx, v, NULL);
        const int64_t number = class_of(heed_json_key(v), n);
        if (!name) return false;
        if (number < 0)
            return heed_json_fail(cx, list, "'%s' is not a class from 0 to %lld", escaped(heed_json_key(v)).s,
                                  (long long)n - 1);
        text[number] = name;
        if (!size_add(*bytes, strlen(name) + 1, bytes)) return heed_json_fail(cx, list, "too long");
    }
    for (int64_t i = 0; i < n; i++)
        if (!text[i]) return heed_json_fail(cx, list, "class %lld of %lld has no name", (long long)i, (long long)n);
    return true;
}

static bool collect_list(heed_ctx *cx, heed_json list, int64_t n, const char **text, size_t *bytes) {
    if (heed_json_count(list) != n)
        return heed_json_fail(cx, list, "%lld names for %lld classes", (long long)heed_json_count(list), (long long)n);
    for (int64_t i = 0; i < n; i++) {
        text[i] = heed_json_text(cx, heed_json_item(cx, list, i), NULL);
        if (!text[i]) return false;
        if (!size_add(*bytes, strlen(text[i]) + 1, bytes)) return heed_json_fail(cx, list, "too long");
    }
    return true;
}

char **heed_model_labels(heed_ctx *cx, const heed_model *model, int64_t n) {
    return config_label_names(cx, heed_model_config(model), n);
}

char **config_label_names(heed_ctx *cx, heed_json config, int64_t n) {
    const heed_json by_id = heed_json_find(cx, config, "id2label");
    const bool timm = heed_json_kind_of(by_id) != HEED_JSON_OBJECT || heed_json_count(by_id) == 0;
    const heed_json list = timm ? heed_json_find(cx, config, "label_names") : by_id;
    const heed_json_kind kind = heed_json_kind_of(list);
    if (heed_failed(cx) || heed_json_count(list) == 0 || (kind != HEED_JSON_OBJECT && kind != HEED_JSON_ARRAY))
        return NULL;
    size_t bytes;
    if (n < 1 || !size_mul((size_t)n, sizeof(char *), &bytes))
        return heed_fail(cx, HEED_ERR_USAGE, "model_labels: %lld classes", (long long)n), NULL;
    const char **text = heed_mem_new(cx, bytes);
    if (text) memset(text, 0, bytes);
    bytes += sizeof(char *);
    char **names = text && (kind == HEED_JSON_ARRAY ? collect_list : collect)(cx, list, n, text, &bytes)
                       ? heed_mem_new(cx, bytes)
                       : NULL;
    char *at = names ? (char *)(names + n + 1) : NULL;
    for (int64_t i = 0; names && i < n; i++) {
        const size_t length = strlen(text[i]) + 1;
        names[i] = memcpy(at, text[i], length);
        at += length;
    }
    if (names) names[n] = NULL;
    heed_mem_free(cx, text);
    return names;
}
