/* Keys of config.json: their kinds, defaults and settings. After config_new or config_complete every key of the
 * family's table is there and of its kind, so that build functions read them without asking. */
#include "model/core/config.h"
#include "io/text.h"
#include "model/core/families.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LABELS ((int64_t)1 << 24)
/* What families call a picture's sides whose timm class has no argument img_size: it stands at the top, since timm
 * would refuse it among the arguments. */
#define INPUT_SIZE "input_size"
/* Whose keys and names new components have. It ignores keys of config.json that begin with _, and warns of others. */
#define DIFFUSERS_VERSION "0.42.1"

/* ---- values as text ---- */

#define MAX_VALUE 4096

static const char *kind_text(heed_key_kind kind) {
    static const char *const names[] = {"a whole number",
                                        "a number",
                                        "true or false",
                                        "text",
                                        "whole numbers (1,2)",
                                        "words (a,b)",
                                        "a whole number or null",
                                        "a number or null",
                                        "text or null",
                                        "a whole number, several (1,2), or null",
                                        "true, false or null",
                                        "a number or several (1,2)",
                                        "true or false, several (true,false)",
                                        "true or false, or several (true,false)",
                                        "a number, several (1,2), or null",
                                        "a whole number, several (1,2), lists of them ([[1,2],3]), or null"};
    return names[kind];
}

static bool put_int(heed_ctx *cx, heed_json at, const char *key, const char *text) {
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    return end != text && !*end && !errno && strchr("0123456789+-", *text) && heed_json_put_int(cx, at, key, value);
}

static bool put_number(heed_ctx *cx, heed_json at, const char *key, const char *text) {
    double value;
    bool range;
    return number_read(text, &value, &range) && isfinite(value) && heed_json_put_number(cx, at, key, value);
}

static bool put_bool(heed_ctx *cx, heed_json at, const char *key, const char *text) {
    const bool yes = strcmp(text, "true") == 0;
    return (yes || strcmp(text, "false") == 0) && heed_json_put_bool(cx, at, key, yes);
}

static char *trimmed(char *s) {
    while (*s == ' ') s++;
    for (size_t n = strlen(s); n > 0 && s[n - 1] == ' ';) s[--n] = 0;
    return s;
}

/* Without the quotes or brackets around it, when it has both. */
static char *unwrapped(char *s, char open, char close) {
    const size_t n = strlen(s);
    if (n < 2 || s[0] != open || s[n - 1] != close) return s;
    s[n - 1] = 0;
    return trimmed(s + 1);
}

/* One of a list. */
static bool put_item(heed_ctx *cx, heed_json list, heed_key_kind kind, char *text) {
    if (kind == HEED_KEY_TEXTS) return heed_json_put_text(cx, list, NULL, unwrapped(text, '"', '"'));
    if (kind == HEED_KEY_BOOLS || kind == HEED_KEY_BOOL_OR_LIST) return put_bool(cx, list, NULL, text);
    return kind == HEED_KEY_NUMBERS || kind == HEED_KEY_NUMBERS_OR_NULL ? put_number(cx, list, NULL, text)
                                                                        : put_int(cx, list, NULL, text);
}

/* "128,64", "[128, 64]", "" */
static bool put_list(heed_ctx *cx, heed_json at, const char *key, char *text, heed_key_kind kind) {
    const heed_json list = heed_json_put_array(cx, at, key);
    char *item = unwrapped(text, '[', ']');
    while (item && *item) {
        char *next = strchr(item, ',');
        if (next) *next++ = 0;
        item = trimmed(item);
        if (!*item || (next && !*next)) return false;
        if (!put_item(cx, list, kind, item)) return false;
        item = next;
    }
    return !heed_failed(cx);
}

static bool put_copy(heed_ctx *cx, heed_json to, const char *key, heed_json from);

/* "[[1,2],3]", which is JSON */
static bool put_lists(heed_ctx *cx, heed_json at, const char *key, const char *text) {
    const heed_json value = heed_json_parse(cx, key, text, strlen(text));
    const bool put = put_copy(cx, at, key, value);
    heed_json_free(value);
    return put;
}

static bool put_text(heed_ctx *cx, heed_json config, const heed_key *key, const char *text) {
    char value[MAX_VALUE];
    if (strlen(text) >= sizeof value) return false;
    strcpy(value, text);
    char *s = trimmed(value);
    switch (key->kind) {
    case HEED_KEY_INT:
        return put_int(cx, config, key->name, s);
    case HEED_KEY_NUMBER:
        return put_number(cx, config, key->name, s);
    case HEED_KEY_BOOL:
        return put_bool(cx, config, key->name, s);
    case HEED_KEY_TEXT:
        return heed_json_put_text(cx, config, key->name, unwrapped(s, '"', '"'));
    case HEED_KEY_INTS:
    case HEED_KEY_TEXTS:
    case HEED_KEY_NUMBERS:
    case HEED_KEY_BOOLS:
        return put_list(cx, config, key->name, s, key->kind);
    case HEED_KEY_NUMBERS_OR_NULL:
        return strcmp(s, "null") == 0 ? heed_json_put_null(cx, config, key->name)
                                      : put_list(cx, config, key->name, s, key->kind);
    case HEED_KEY_BOOL_OR_LIST:
        if (*s == '[' || strchr(s, ',')) return put_list(cx, config, key->name, s, key->kind);
        return put_bool(cx, config, key->name, s);
    case HEED_KEY_INT_OR_LISTS:
        if (*s == '[' && strchr(s + 1, '[')) return put_lists(cx, config, key->name, s);
        /* fallthrough */
    case HEED_KEY_INT_OR_LIST:
        if (*s == '[' || strchr(s, ',')) return put_list(cx, config, key->name, s, key->kind);
        return strcmp(s, "null") == 0 ? heed_json_put_null(cx, config, key->name) : put_int(cx, config, key->name, s);
    case HEED_KEY_INT_OR_NULL:
        return strcmp(s, "null") == 0 ? heed_json_put_null(cx, config, key->name) : put_int(cx, config, key->name, s);
    case HEED_KEY_NUMBER_OR_NULL:
        return strcmp(s, "null") == 0 ? heed_json_put_null(cx, config, key->name)
                                      : put_number(cx, config, key->name, s);
    case HEED_KEY_BOOL_OR_NULL:
        return strcmp(s, "null") == 0 ? heed_json_put_null(cx, config, key->name) : put_bool(cx, config, key->name, s);
    case HEED_KEY_TEXT_OR_NULL:
        return strcmp(s, "null") == 0 ? heed_json_put_null(cx, config, key->name)
                                      : heed_json_put_text(cx, config, key->name, unwrapped(s, '"', '"'));
    }
    return false;
}

/* ---- the table ---- */

/* The keys of the family, then those of the head. */
struct keys {
    const heed_key *at, *more;
};
static struct keys keys_of(const heed_family *family, const heed_head *head) {
    return (struct keys){family->keys, head->keys};
}
static const heed_key *next_key(struct keys *k) {
    if (!k->at->name && k->more) k->at = k->more, k->more = NULL;
    return k->at->name ? k->at++ : NULL;
}

static const heed_key *find_key(const heed_family *family, const heed_head *head, const char *name, size_t length) {
    struct keys k = keys_of(family, head);
    for (const heed_key *key; (key = next_key(&k));)
        if (strncmp(key->name, name, length) == 0 && !key->name[length]) return key;
    return NULL;
}

static bool unknown_key(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *name,
                        size_t length) {
    char known[1024] = "";
    size_t used = 0;
    struct keys k = keys_of(family, head);
    for (const heed_key *key; used < sizeof known && (key = next_key(&k));)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", key->name);
    return heed_fail(cx, HEED_ERR_USAGE, "%s: '%.*s' is not a key of its config; these are: %s", family->name,
                     (int)(length < 60 ? length : 60), name, known);
}

/* Names of other labels go when their number changes: as in transformers they are then LABEL_0, LABEL_1, … */
static void rename_labels(heed_ctx *cx, heed_json config) {
    const int64_t n = heed_json_int(cx, config, "num_labels");
    const int64_t named = heed_json_count(heed_json_find(cx, config, "id2label"));
    if (named == 0 || named == n || n < 1 || n > MAX_LABELS) return;
    const heed_json label_of = heed_json_put_object(cx, config, "id2label");
    const heed_json id_of = heed_json_put_object(cx, config, "label2id");
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
        char number[24], name[32];
        snprintf(number, sizeof number, "%lld", (long long)i);
        snprintf(name, sizeof name, "LABEL_%lld", (long long)i);
        heed_json_put_text(cx, label_of, number, name);
        heed_json_put_int(cx, id_of, name, i);
    }
}

/* Where a key is written: at the top, or among the arguments of a family that has them. */
static heed_json place_of(heed_ctx *cx, const heed_family *family, heed_json config, const char *key) {
    if (!family->arguments || strcmp(key, "architecture") == 0 || strcmp(key, INPUT_SIZE) == 0) return config;
    const heed_json args = heed_json_find(cx, config, family->arguments);
    const bool there = heed_json_kind_of(args) == HEED_JSON_OBJECT;
    if (strcmp(key, "num_classes") == 0 &&
        !(there && heed_json_kind_of(heed_json_find(cx, args, key)) != HEED_JSON_NONE))
        return config;
    return there ? args : heed_json_put_object(cx, config, family->arguments);
}

/* "backbone_config.depths=2,2": the family of the inner config, whose key the setting names behind the dot; NULL: there
 * is none of that name. */
static const heed_family *inner_of(const heed_family *family, const char *setting) {
    for (int i = 0; family->inner && family->inner[i]; i += 2) {
        const size_t length = strlen(family->inner[i]);
        if (strncmp(setting, family->inner[i], length) == 0 && setting[length] == '.')
            return heed_family_find(family->inner[i + 1]);
    }
    return NULL;
}

static bool set_inner(heed_ctx *cx, const heed_family *inner, heed_json config, const char *setting) {
    char key[64];
    const size_t dot = strcspn(setting, ".");
    if (snprintf(key, sizeof key, "%.*s", (int)dot, setting) >= (int)sizeof key) return false;
    heed_json at = heed_json_find(cx, config, key);
    if (heed_json_kind_of(at) != HEED_JSON_OBJECT) {
        at = heed_json_put_object(cx, config, key);
        heed_json_put_text(cx, at, "model_type", inner->type);
    }
    return config_set(cx, inner, inner->heads, at, setting + dot + 1);
}

bool config_set(heed_ctx *cx, const heed_family *family, const heed_head *head, heed_json config, const char *setting) {
    if (heed_failed(cx)) return false;
    if (!setting) return heed_fail(cx, HEED_ERR_USAGE, "%s: a setting is NULL", family->name);
    const heed_family *const inner = inner_of(family, setting);
    if (inner) return set_inner(cx, inner, config, setting);
    char classes[64]; /* timm's name of num_labels */
    if (family->arguments && strncmp(setting, "num_labels=", 11) == 0 && strlen(setting) < 32) {
        snprintf(classes, sizeof classes, "num_classes=%s", setting + 11);
        setting = classes;
    }
    const size_t length = strcspn(setting, "=");
    if (!setting[length])
        return heed_fail(cx, HEED_ERR_USAGE, "%s: '%s' is not of the form key=value", family->name, escaped(setting).s);
    const heed_key *key = find_key(family, head, setting, length);
    if (!key) return unknown_key(cx, family, head, setting, length);
    if (put_text(cx, place_of(cx, family, config, key->name), key, setting + length + 1)) {
        if (strcmp(key->name, "num_labels") == 0) rename_labels(cx, config);
        return !heed_failed(cx);
    }
    return heed_fail(cx, HEED_ERR_USAGE, "%s: %s: '%s' is not %s", family->name, key->name,
                     escaped(setting + length + 1).s, kind_text(key->kind));
}

static bool may_be_null(const heed_key *key) {
    return key->kind == HEED_KEY_INT_OR_NULL || key->kind == HEED_KEY_NUMBER_OR_NULL ||
           key->kind == HEED_KEY_TEXT_OR_NULL || key->kind == HEED_KEY_INT_OR_LIST ||
           key->kind == HEED_KEY_BOOL_OR_NULL || key->kind == HEED_KEY_NUMBERS_OR_NULL ||
           key->kind == HEED_KEY_INT_OR_LISTS;
}

/* Null counts as missing where it is no value. */
static bool is_missing(heed_ctx *cx, heed_json config, const heed_key *key) {
    const heed_json_kind kind = heed_json_kind_of(heed_json_find(cx, config, key->name));
    return kind == HEED_JSON_NONE || (kind == HEED_JSON_NULL && !may_be_null(key));
}

static void check_list(heed_ctx *cx, heed_json config, const heed_key *key) {
    const heed_json list = heed_json_array(cx, config, key->name);
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        if (key->kind == HEED_KEY_INT_OR_LISTS && heed_json_kind_of(v) == HEED_JSON_ARRAY)
            for (heed_json w = heed_json_first(v); heed_json_kind_of(w) != HEED_JSON_NONE; w = heed_json_next(w))
                heed_json_int(cx, w, NULL);
        else if (key->kind == HEED_KEY_TEXTS)
            heed_json_text(cx, v, NULL);
        else if (key->kind == HEED_KEY_NUMBERS || key->kind == HEED_KEY_NUMBERS_OR_NULL)
            heed_json_number(cx, v, NULL);
        else if (key->kind == HEED_KEY_BOOLS || key->kind == HEED_KEY_BOOL_OR_LIST)
            heed_json_bool(cx, v, NULL);
        else
            heed_json_int(cx, v, NULL);
}

static bool check_kind(heed_ctx *cx, heed_json config, const heed_key *key) {
    if (may_be_null(key) && heed_json_kind_of(heed_json_find(cx, config, key->name)) == HEED_JSON_NULL) return true;
    switch (key->kind) {
    case HEED_KEY_INT_OR_NULL:
    case HEED_KEY_INT:
        heed_json_int(cx, config, key->name);
        break;
    case HEED_KEY_NUMBER_OR_NULL:
    case HEED_KEY_NUMBER:
        heed_json_number(cx, config, key->name);
        break;
    case HEED_KEY_BOOL_OR_NULL:
    case HEED_KEY_BOOL:
        heed_json_bool(cx, config, key->name);
        break;
    case HEED_KEY_TEXT_OR_NULL:
    case HEED_KEY_TEXT:
        heed_json_text(cx, config, key->name);
        break;
    case HEED_KEY_NUMBERS:
    case HEED_KEY_NUMBERS_OR_NULL:
    case HEED_KEY_INT_OR_LIST:
    case HEED_KEY_INT_OR_LISTS:
    case HEED_KEY_BOOL_OR_LIST:
        if (heed_json_kind_of(heed_json_find(cx, config, key->name)) == HEED_JSON_ARRAY)
            check_list(cx, config, key);
        else if (key->kind == HEED_KEY_BOOL_OR_LIST)
            heed_json_bool(cx, config, key->name);
        else if (key->kind == HEED_KEY_NUMBERS || key->kind == HEED_KEY_NUMBERS_OR_NULL)
            heed_json_number(cx, config, key->name);
        else
            heed_json_int(cx, config, key->name);
        break;
    case HEED_KEY_INTS:
    case HEED_KEY_TEXTS:
    case HEED_KEY_BOOLS:
        check_list(cx, config, key);
        break;
    }
    return !heed_failed(cx);
}

/* What a file without this key means by it. */
static const char *absent(const heed_family *family, const heed_key *key) {
    const size_t length = strlen(key->name);
    for (int i = 0; family->absent && family->absent[i]; i++)
        if (strncmp(family->absent[i], key->name, length) == 0 && family->absent[i][length] == '=')
            return family->absent[i] + length + 1;
    return key->standard;
}

/* As in transformers id2label says how many there are, and num_labels, where a file has it, overrides it. */
static void agree_on_labels(heed_ctx *cx, heed_json config, const heed_key *key) {
    if (heed_failed(cx) || !key) return;
    const int64_t named = heed_json_count(heed_json_find(cx, config, "id2label"));
    if (heed_json_kind_of(heed_json_find(cx, config, key->name)) == HEED_JSON_INT)
        rename_labels(cx, config);
    else if (named > 0 && is_missing(cx, config, key))
        heed_json_put_int(cx, config, key->name, named);
}

bool config_complete(heed_ctx *cx, const heed_family *family, const heed_head *head, heed_json config) {
    if (family->arguments) return heed_json_text(cx, config, "architecture") != NULL; /* build reads the others */
    agree_on_labels(cx, config, find_key(family, head, "num_labels", strlen("num_labels")));
    struct keys k = keys_of(family, head);
    for (const heed_key *key; !heed_failed(cx) && (key = next_key(&k));) {
        const char *value = is_missing(cx, config, key) ? absent(family, key) : NULL;
        if (value && !put_text(cx, config, key, value))
            return heed_fail(cx, HEED_ERR_USAGE, "%s: %s: its default is not valid", family->name, key->name);
        check_kind(cx, config, key);
    }
    return !heed_failed(cx);
}

void config_put_architecture(heed_ctx *cx, const heed_family *family, heed_json config, const heed_head *head) {
    if (family->diffusers)
        heed_json_put_text(cx, config, CLASS_NAME, head->architecture);
    else
        heed_json_put_text(cx, heed_json_put_array(cx, config, "architectures"), NULL, head->architecture);
}

heed_json config_new(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *const *settings,
                     int n) {
    const heed_json config = heed_json_new(cx, family->name);
    if (family->arguments) { /* what is not set is as the architecture has it */
        const heed_key *const name = find_key(family, head, "architecture", strlen("architecture"));
        put_text(cx, config, name, name->standard);
        heed_json_put_object(cx, config, "pretrained_cfg"); /* without it timm does not read the arguments */
        if (head != family->heads) config_put_architecture(cx, family, config, head);
        heed_json_put_text(cx, config, "heed_version", heed_version());
        for (int i = 0; i < n && !heed_failed(cx); i++) config_set(cx, family, head, config, settings[i]);
        if (!heed_failed(cx)) return config;
        heed_json_free(config);
        return (heed_json){0};
    }
    if (!family->diffusers) heed_json_put_text(cx, config, "model_type", family->type);
    config_put_architecture(cx, family, config, head);
    if (family->diffusers) heed_json_put_text(cx, config, "_diffusers_version", DIFFUSERS_VERSION);
    heed_json_put_text(cx, config, family->diffusers ? "_heed_version" : "heed_version", heed_version());
    struct keys k = keys_of(family, head);
    for (const heed_key *key; !heed_failed(cx) && (key = next_key(&k));) /* the order of the tables */
        key->standard ? put_text(cx, config, key, key->standard) : heed_json_put_null(cx, config, key->name);
    for (int i = 0; i < n && !heed_failed(cx); i++) config_set(cx, family, head, config, settings[i]);
    k = keys_of(family, head);
    for (const heed_key *key; !heed_failed(cx) && (key = next_key(&k));)
        if (is_missing(cx, config, key))
            heed_fail(cx, HEED_ERR_USAGE, "%s: %s must be given: %s", family->name, key->name, key->help);
    if (config_complete(cx, family, head, config)) return config;
    heed_json_free(config);
    return (heed_json){0};
}

/* ---- arguments ---- */

static bool put_copy(heed_ctx *cx, heed_json to, const char *key, heed_json from) {
    switch (heed_json_kind_of(from)) {
    case HEED_JSON_NONE:
        return true;
    case HEED_JSON_NULL:
        return heed_json_put_null(cx, to, key);
    case HEED_JSON_BOOL:
        return heed_json_put_bool(cx, to, key, heed_json_bool(cx, from, NULL));
    case HEED_JSON_INT:
        return heed_json_put_int(cx, to, key, heed_json_int(cx, from, NULL));
    case HEED_JSON_TEXT:
        return heed_json_put_text(cx, to, key, heed_json_text(cx, from, NULL));
    case HEED_JSON_ARRAY: {
        const heed_json list = heed_json_put_array(cx, to, key);
        for (heed_json v = heed_json_first(from); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
            if (!put_copy(cx, list, NULL, v)) return false;
        return !heed_failed(cx);
    }
    case HEED_JSON_OBJECT:
        return heed_json_fail(cx, from, "a value is needed, not an object");
    default:
        return heed_json_put_number(cx, to, key, heed_json_number(cx, from, NULL));
    }
}

/* "depth=12 num_heads=3" */
static void put_named(heed_ctx *cx, const heed_family *family, heed_json to, const char *named) {
    for (const char *at = named; *at && !heed_failed(cx); at += *at == ' ') {
        char value[256];
        const size_t n = strcspn(at, " "), length = strcspn(at, "=");
        const heed_key *const key = find_key(family, family->heads, at, length);
        snprintf(value, sizeof value, "%.*s", (int)(n - length - 1), at + length + 1);
        if (!key || !put_text(cx, to, key, value))
            heed_fail(cx, HEED_ERR_USAGE, "%s: '%.*s' of its table is not valid", family->name, (int)n, at);
        at += n;
    }
}

bool config_any_size(const heed_family *family) {
    return find_key(family, family->heads, INPUT_SIZE, strlen(INPUT_SIZE)) != NULL;
}

/* What timm takes from pretrained_cfg: input_size is channels, height and width. */
static void put_pretrained(heed_ctx *cx, const heed_family *family, heed_json to, heed_json given) {
    const bool any_size = config_any_size(family);
    const heed_json size = heed_json_find(cx, given, "input_size");
    put_copy(cx, to, "num_classes", heed_json_find(cx, given, "num_classes"));
    const heed_json pool = heed_json_find(cx, given, "global_pool");
    if (heed_json_kind_of(pool) == HEED_JSON_TEXT) put_copy(cx, to, "global_pool", pool);
    if (heed_json_kind_of(size) != HEED_JSON_ARRAY || heed_json_count(size) != 3) return;
    put_copy(cx, to, "in_chans", heed_json_item(cx, size, 0));
    if (!any_size && !heed_json_bool_or(cx, given, "fixed_input_size", false)) return;
    const heed_json sides = heed_json_put_array(cx, to, any_size ? INPUT_SIZE : "img_size");
    for (int i = 1; i < 3; i++) put_copy(cx, sides, NULL, heed_json_item(cx, size, i));
}

heed_json config_arguments(heed_ctx *cx, const heed_family *family, heed_json config, const char *named) {
    const heed_json to = heed_json_new(cx, family->arguments);
    const heed_json pretrained = heed_json_find(cx, config, "pretrained_cfg"),
                    args = heed_json_find(cx, config, family->arguments);
    struct keys k = keys_of(family, family->heads);
    for (const heed_key *key; !heed_failed(cx) && (key = next_key(&k));)
        if (key->standard) put_text(cx, to, key, key->standard);
    put_named(cx, family, to, named);
    if (heed_json_kind_of(pretrained) == HEED_JSON_OBJECT) put_pretrained(cx, family, to, pretrained);
    put_copy(cx, to, "num_classes", heed_json_find(cx, config, "num_classes"));
    put_copy(cx, to, "global_pool", heed_json_find(cx, config, "global_pool"));
    if (config_any_size(family)) put_copy(cx, to, INPUT_SIZE, heed_json_find(cx, config, INPUT_SIZE));
    for (heed_json v = heed_json_first(args); !heed_failed(cx) && heed_json_kind_of(v) != HEED_JSON_NONE;
         v = heed_json_next(v)) {
        const char *const name = heed_json_key(v);
        if (!name || !find_key(family, family->heads, name, strlen(name)))
            unknown_key(cx, family, family->heads, name ? name : "", name ? strlen(name) : 0);
        put_copy(cx, to, name, v);
    }
    k = keys_of(family, family->heads);
    for (const heed_key *key; !heed_failed(cx) && (key = next_key(&k));)
        if (is_missing(cx, to, key))
            put_text(cx, to, key, key->standard);
        else
            check_kind(cx, to, key);
    if (!heed_failed(cx)) return to;
    heed_json_free(to);
    return (heed_json){0};
}
