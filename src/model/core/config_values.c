/* Values of config.json for build functions: of their range, or a sentence. */
#include "io/text.h"
#include "model/core/config.h"
#include "model/core/families.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

int config_choice(heed_ctx *cx, heed_json config, const char *key, const char *const *names) {
    const char *text = heed_json_text(cx, config, key);
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; text && names[i]; i++) {
        if (strcmp(text, names[i]) == 0) return i;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (text) heed_json_fail(cx, heed_json_find(cx, config, key), "'%s' is not one of: %s", escaped(text).s, known);
    return -1;
}

int64_t config_int(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high) {
    const int64_t value = heed_json_int(cx, config, key);
    if (!heed_failed(cx) && (value < low || value > high))
        heed_json_fail(cx, heed_json_find(cx, config, key), "%lld is not between %lld and %lld", (long long)value,
                       (long long)low, (long long)high);
    return value;
}

int32_t config_token(heed_ctx *cx, heed_json config, const char *key, int64_t tokens) {
    if (heed_json_kind_of(heed_json_find(cx, config, key)) <= HEED_JSON_NULL) return -1;
    const int64_t id = heed_json_int(cx, config, key);
    if (!heed_failed(cx) && (id < 0 || id >= tokens))
        heed_json_fail(cx, heed_json_find(cx, config, key), "token %lld is not one of the %lld there are",
                       (long long)id, (long long)tokens);
    return heed_failed(cx) ? -1 : (int32_t)id;
}

int32_t config_padding(heed_ctx *cx, heed_json config, int64_t tokens, int32_t *row) {
    static const char *const key = "pad_token_id";
    const bool given = heed_json_kind_of(heed_json_find(cx, config, key)) == HEED_JSON_INT;
    const int64_t id = given ? heed_json_int(cx, config, key) : 0;
    const bool none = id < 0 && id >= -tokens;
    const int32_t padding = none ? NO_TOKEN_PADS : config_token(cx, config, key, tokens);
    if (row) *row = none ? (int32_t)(tokens + id) : padding;
    return padding;
}

double config_number(heed_ctx *cx, heed_json config, const char *key, double low, double high) {
    const double value = heed_json_number(cx, config, key);
    if (!heed_failed(cx) && !(value >= low && value <= high))
        heed_json_fail(cx, heed_json_find(cx, config, key), "%g is not between %g and %g", value, low, high);
    return value;
}

static bool is_null(heed_ctx *cx, heed_json config, const char *key) {
    return heed_json_kind_of(heed_json_find(cx, config, key)) <= HEED_JSON_NULL;
}

int64_t config_int_or(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high, int64_t standard) {
    return is_null(cx, config, key) ? standard : config_int(cx, config, key, low, high);
}

double config_number_or(heed_ctx *cx, heed_json config, const char *key, double low, double high, double standard) {
    return is_null(cx, config, key) ? standard : config_number(cx, config, key, low, high);
}

int config_ints(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high, int64_t *out, int most) {
    const heed_json list = heed_json_array(cx, config, key);
    const int64_t n = heed_json_count(list);
    if (heed_failed(cx)) return 0;
    if (n > most) return heed_json_fail(cx, list, "%lld numbers are more than %d", (long long)n, most);
    for (int i = 0; i < (int)n && !heed_failed(cx); i++) {
        const heed_json at = heed_json_item(cx, list, i);
        out[i] = heed_json_int(cx, at, NULL);
        if (!heed_failed(cx) && (out[i] < low || out[i] > high))
            heed_json_fail(cx, at, "%lld is not between %lld and %lld", (long long)out[i], (long long)low,
                           (long long)high);
    }
    return heed_failed(cx) ? 0 : (int)n;
}

heed_activation config_activation(heed_ctx *cx, heed_json config, const char *key) {
    const char *name = heed_json_text(cx, config, key);
    heed_activation act = HEED_ACT_NONE;
    if (name && !heed_activation_find(name, &act))
        heed_json_fail(cx, heed_json_find(cx, config, key), "'%s' is not one of: %s", escaped(name).s,
                       heed_activation_names());
    return act;
}
