/* adapter_config.json of peft: what it says of a model's linear layers (Hu et al. 2021). */
#include "model/core/lora.h"
#include "base/text.h"
#include "io/limits.h"
#include "io/text.h"
#include "text/tokenizer/regex.h"
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of modules ---- */

/* "h.0.attn.c_attn" of the parameter h.0.attn.c_attn.weight; 0: it is no weight. */
static size_t module_size(const heed_param *p) {
    static const char end[] = ".weight";
    const size_t n = strlen(p->name), k = sizeof end - 1;
    return n > k && strcmp(p->name + n - k, end) == 0 ? n - k : 0;
}

/* Is `name` the module, of `size` bytes, or the end of its path? */
static bool is_module(const char *module, size_t size, const char *name) {
    const size_t n = strlen(name);
    return n > 0 && n <= size && memcmp(module + size - n, name, n) == 0 && (n == size || module[size - n - 1] == '.');
}

/* Is a parameter of a module of that name, or of one inside it? */
static bool is_under(const char *param, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = param; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == '.') return true;
    return false;
}

/* Python's re.fullmatch(`before` + pattern + `after`). */
static bool matches(heed_ctx *cx, heed_json at, const char *before, const char *pattern, const char *text,
                    size_t size) {
    heed_string whole = {0}, why = {0};
    bool found = false;
    heed_string_put(cx, &whole, "^", 1);
    heed_string_put(cx, &whole, before, strlen(before));
    heed_string_put(cx, &whole, "(?:", 3);
    heed_string_put(cx, &whole, pattern, strlen(pattern));
    heed_string_put(cx, &whole, ")$", 2);
    struct regex *const r = heed_failed(cx) ? NULL : regex_compile(cx, whole.s, whole.size, &why);
    if (!r && !heed_failed(cx))
        heed_json_fail(cx, at, "'%s' is no regular expression: %s", escaped(pattern).s, why.s ? why.s : "");
    struct matcher m;
    size_t start, end;
    if (r && matcher_begin(&m, cx, r, text, size)) {
        found = matcher_next(&m, &start, &end) && start == 0 && end == size;
        matcher_end(&m);
    }
    regex_free(cx, r);
    heed_string_free(cx, &whole);
    heed_string_free(cx, &why);
    return found;
}

/* target_modules and exclude_modules: a list of names, or a regular expression. */
static bool is_named(heed_ctx *cx, heed_json names, const heed_param *p) {
    const size_t size = module_size(p);
    if (heed_json_kind_of(names) == HEED_JSON_TEXT)
        return matches(cx, names, "", heed_json_text(cx, names, NULL), p->name, size);
    for (heed_json v = heed_json_first(names); heed_json_kind_of(v) == HEED_JSON_TEXT; v = heed_json_next(v))
        if (is_module(p->name, size, heed_json_text(cx, v, NULL))) return true;
    return false;
}

static bool is_all(heed_ctx *cx, heed_json names) {
    return heed_json_kind_of(names) == HEED_JSON_TEXT && strcmp(heed_json_text(cx, names, NULL), "all-linear") == 0;
}

/* Linear layers but those of heads, as peft's "all-linear" leaves out the output layer. */
static bool is_target(heed_ctx *cx, heed_json names, const heed_param *p) {
    if (module_size(p) == 0 || p->kind == HEED_PARAM_FUSED || p->lora) return false;
    return is_all(cx, names) ? p->linear && p->kind != HEED_PARAM_TIED && !p->head : is_named(cx, names, p);
}

/* ---- what it says ---- */

static bool is_set(heed_json at) {
    const heed_json_kind kind = heed_json_kind_of(at);
    return kind != HEED_JSON_NONE && kind != HEED_JSON_NULL;
}

static bool check_kind(heed_ctx *cx, heed_json config) {
    const char *const kind = heed_json_text(cx, config, "peft_type");
    if (kind && strcmp(kind, "LORA") != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "peft_type"), "heed's adapters are LORA, not %s",
                              escaped(kind).s);
    const char *const bias = heed_json_text_or(cx, config, "bias", "none");
    if (bias && strcmp(bias, "none") != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "bias"), "biases are not trained: must be none");
    return !heed_failed(cx);
}

/* Options of peft that change what an adapted layer gives. */
static bool check_options(heed_ctx *cx, heed_json config) {
    static const char *const flags[] = {"use_dora", "lora_bias", "use_qalora", "use_bdlora"};
    static const char *const objects[] = {"layers_to_transform",     "layer_replication", "target_parameters",
                                          "trainable_token_indices", "arrow_config",      "alora_invocation_tokens"};
    static const char *const inits[] = {"gaussian", "eva", "orthogonal"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const heed_json at = heed_json_find(cx, config, flags[i]);
        if (is_set(at) && (heed_json_kind_of(at) != HEED_JSON_BOOL || heed_json_bool(cx, at, NULL)))
            return heed_json_fail(cx, at, "heed's LoRA does not have this: must be false");
    }
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        const heed_json at = heed_json_find(cx, config, objects[i]);
        const heed_json_kind kind = heed_json_kind_of(at);
        const bool empty = (kind == HEED_JSON_ARRAY || kind == HEED_JSON_OBJECT) && heed_json_count(at) == 0;
        if (is_set(at) && !empty) return heed_json_fail(cx, at, "heed's LoRA does not have this: must be null");
    }
    const heed_json init = heed_json_find(cx, config, "init_lora_weights");
    if (heed_json_kind_of(init) == HEED_JSON_TEXT) {
        const char *const name = heed_json_text(cx, init, NULL);
        for (size_t i = 0; i < sizeof inits / sizeof *inits; i++)
            if (strcmp(name, inits[i]) == 0) return true;
        return heed_json_fail(cx, init, "'%s' changes the model's own weights, which heed does not", escaped(name).s);
    }
    return !heed_failed(cx);
}

heed_json lora_read(heed_ctx *cx, const char *dir) {
    char path[PATH_ROOM];
    if (!directory_path(cx, dir, ADAPTER_CONFIG_FILE, path)) return (heed_json){0};
    const heed_json config = json_open_within(cx, path, IO_CONFIG_LIMIT);
    if (!heed_failed(cx) && check_kind(cx, config) && check_options(cx, config)) {
        heed_json_int(cx, config, "r");
        const heed_json names = heed_json_find(cx, config, "target_modules");
        if (heed_json_kind_of(names) != HEED_JSON_TEXT && heed_json_count(names) == 0)
            heed_json_fail(cx, is_set(names) ? names : config, "target_modules must name at least one module");
    }
    if (!heed_failed(cx)) return config;
    heed_json_free(config);
    return (heed_json){0};
}

static const struct {
    const char *task, *type; /* heed's and peft's */
} tasks[] = {{"lm", "CAUSAL_LM"},
             {"classify", "SEQ_CLS"},
             {"tag", "TOKEN_CLS"},
             {"qa", "QUESTION_ANS"},
             {"text2text", "SEQ_2_SEQ_LM"},
             {"translate", "SEQ_2_SEQ_LM"},
             {"embed", "FEATURE_EXTRACTION"}};

const char *lora_task(heed_ctx *cx, heed_json adapter) {
    const heed_json at = heed_json_find(cx, adapter, "task_type");
    for (size_t i = 0; heed_json_kind_of(at) == HEED_JSON_TEXT && i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(heed_json_text(cx, at, NULL), tasks[i].type) == 0) return tasks[i].task;
    return NULL;
}

/* The value of the first key of a pattern that fits the end of the module's name, or `otherwise`. */
static double by_pattern(heed_ctx *cx, heed_json config, const char *key, const heed_param *p, double otherwise) {
    const heed_json patterns = heed_json_find(cx, config, key);
    if (heed_json_kind_of(patterns) != HEED_JSON_OBJECT) return otherwise;
    for (heed_json v = heed_json_first(patterns); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        if (matches(cx, patterns, "(?:.*\\.)?", heed_json_key(v), p->name, module_size(p)))
            return heed_json_number(cx, v, NULL);
    return otherwise;
}

static bool adapt(heed_ctx *cx, heed_json config, heed_params *set, heed_param *p) {
    const double rank = by_pattern(cx, config, "rank_pattern", p, (double)heed_json_int(cx, config, "r"));
    const double alpha = by_pattern(cx, config, "alpha_pattern", p, heed_json_number_or(cx, config, "lora_alpha", 8));
    const double dropout = heed_json_number_or(cx, config, "lora_dropout", 0);
    if (heed_failed(cx)) return false;
    if (!(rank >= 1 && rank <= 1 << 20) || rank != floor(rank))
        return heed_json_fail(cx, heed_json_find(cx, config, "r"), "a rank of %g: a whole number from 1 on is needed",
                              rank);
    if (!(dropout >= 0 && dropout < 1))
        return heed_json_fail(cx, heed_json_find(cx, config, "lora_dropout"), "%g is not in [0, 1)", dropout);
    const double scale = alpha / (heed_json_bool_or(cx, config, "use_rslora", false) ? sqrt(rank) : rank);
    return heed_param_adapt(cx, set, p, (int64_t)rank, (float)scale, (float)dropout);
}

bool lora_attach(heed_ctx *cx, heed_json config, heed_params *set) {
    const heed_json names = heed_json_find(cx, config, "target_modules"),
                    excluded = heed_json_find(cx, config, "exclude_modules"),
                    saved = heed_json_find(cx, config, "modules_to_save");
    const int n = heed_params_count(set);
    int adapted = 0;
    for (int i = 0; i < n && !heed_failed(cx); i++) {
        heed_param *const p = heed_params_at(set, i);
        for (heed_json v = heed_json_first(saved); heed_json_kind_of(v) == HEED_JSON_TEXT; v = heed_json_next(v)) {
            if (!is_under(p->name, heed_json_text(cx, v, NULL)) || p->kind == HEED_PARAM_FUSED) continue;
            if (p->kind == HEED_PARAM_TIED)
                return heed_json_fail(cx, saved, "'%s' shares its numbers with '%s'", p->name, p->target->name);
            p->external = true;
        }
        if (p->external || !is_target(cx, names, p) || (is_set(excluded) && is_named(cx, excluded, p))) continue;
        adapted += adapt(cx, config, set, p);
    }
    if (adapted == 0 && !heed_failed(cx)) heed_json_fail(cx, names, "no linear layer of the model has such a name");
    return !heed_failed(cx);
}

/* ---- a fresh one ---- */

/* The module of a linear layer; false: p is of no such. */
static bool linear_module(const heed_param *p, char module[512]) {
    const size_t size = module_size(p);
    if (size == 0 || size >= 512 || p->kind == HEED_PARAM_FUSED || !p->linear) return false;
    memcpy(module, p->name, size);
    module[size] = 0;
    return true;
}

static bool has_linear(const heed_params *set, const char *name, bool pattern) {
    char module[512];
    for (int i = 0; i < heed_params_count(set); i++)
        if (linear_module(heed_params_at(set, i), module) &&
            (pattern ? fnmatch(name, module, 0) == 0 : is_module(module, strlen(module), name)))
            return true;
    return false;
}

/* The projections that peft adapts where nothing else is asked for: those of queries and values. */
static bool put_usual(heed_ctx *cx, heed_json names, const heed_params *set) {
    static const char *const usual[][2] = {
        {"q_proj", "v_proj"},      {"query", "value"}, {"q_lin", "v_lin"}, {"c_attn", NULL},
        {"query_key_value", NULL}, {"qkv_proj", NULL}, {"Wqkv", NULL},     {"q", "v"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (!has_linear(set, usual[i][0], false)) continue;
        for (int k = 0; k < 2 && usual[i][k]; k++) heed_json_put_text(cx, names, NULL, usual[i][k]);
        return !heed_failed(cx);
    }
    return heed_fail(cx, HEED_ERR_USAGE,
                     "LoRA: the model has no projections of queries and values under a usual name; "
                     "targets must be given");
}

/* peft has names and regular expressions: a pattern of the shell's kind becomes the names that fit it. */
static bool put_pattern(heed_ctx *cx, heed_json names, const char *pattern, const heed_params *set) {
    char module[512];
    for (int i = 0; i < heed_params_count(set) && !heed_failed(cx); i++)
        if (linear_module(heed_params_at(set, i), module) && fnmatch(pattern, module, 0) == 0)
            heed_json_put_text(cx, names, NULL, module);
    return !heed_failed(cx);
}

static bool put_targets(heed_ctx *cx, heed_json config, const heed_lora_opts *o, const heed_params *set) {
    if (o->n_targets == 1 && strcmp(o->targets[0], "all-linear") == 0)
        return heed_json_put_text(cx, config, "target_modules", "all-linear");
    const heed_json names = heed_json_put_array(cx, config, "target_modules");
    if (o->n_targets == 0) return put_usual(cx, names, set);
    for (int i = 0; i < o->n_targets; i++) {
        const bool pattern = strpbrk(o->targets[i], "*?[") != NULL;
        if (!has_linear(set, o->targets[i], pattern))
            return heed_fail(cx, HEED_ERR_USAGE, "LoRA: no linear layer of the model is named '%s'",
                             escaped(o->targets[i]).s);
        if (pattern)
            put_pattern(cx, names, o->targets[i], set);
        else
            heed_json_put_text(cx, names, NULL, o->targets[i]);
    }
    return !heed_failed(cx);
}

/* Is a weight that is adapted stored (in,out)? */
static bool any_transposed(heed_ctx *cx, heed_json config, const heed_params *set) {
    const heed_json names = heed_json_find(cx, config, "target_modules");
    for (int i = 0; i < heed_params_count(set); i++)
        if (heed_params_at(set, i)->transposed && is_target(cx, names, heed_params_at(set, i))) return true;
    return false;
}

static void put_task(heed_ctx *cx, heed_json config, const heed_head *head) {
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (text_among(head->tasks, tasks[i].task)) {
            heed_json_put_text(cx, config, "task_type", tasks[i].type);
            return;
        }
    heed_json_put_null(cx, config, "task_type");
}

heed_json lora_new(heed_ctx *cx, const heed_lora_opts *o, const heed_head *head, const heed_params *set,
                   const char *base) {
    if (o->rank < 1 || !(o->dropout >= 0 && o->dropout < 1) || !(o->alpha >= 0) || o->n_targets < 0) {
        heed_fail(cx, HEED_ERR_USAGE, "LoRA: a rank of at least 1 and a dropout in [0, 1) are needed");
        return (heed_json){0};
    }
    char *const path = realpath(base, NULL);
    const heed_json config = heed_json_new(cx, ADAPTER_CONFIG_FILE);
    heed_json_put_text(cx, config, "peft_type", "LORA");
    put_task(cx, config, head);
    heed_json_put_text(cx, config, "base_model_name_or_path", path ? path : base);
    heed_json_put_int(cx, config, "r", o->rank);
    heed_json_put_number(cx, config, "lora_alpha", o->alpha > 0 ? o->alpha : 2 * (double)o->rank);
    heed_json_put_number(cx, config, "lora_dropout", o->dropout);
    heed_json_put_bool(cx, config, "use_rslora", o->rank_stabilised);
    heed_json_put_text(cx, config, "bias", "none");
    if (!heed_failed(cx) && put_targets(cx, config, o, set))
        heed_json_put_bool(cx, config, "fan_in_fan_out", any_transposed(cx, config, set));
    heed_json_put_bool(cx, config, "inference_mode", true);
    free(path);
    if (!heed_failed(cx)) return config;
    heed_json_free(config);
    return (heed_json){0};
}

bool lora_freeze(heed_ctx *cx, heed_json config, heed_params *set) {
    heed_json saved = {0};
    char last[512] = "";
    for (int i = 0; i < heed_params_count(set) && !heed_failed(cx); i++) {
        heed_param *const p = heed_params_at(set, i);
        const bool fresh = p->fresh && !p->buffer, tied = p->kind == HEED_PARAM_TIED && p->target->fresh;
        if (!p->lora && !fresh && !tied) p->frozen = true;
        if (!fresh || !heed_param_stored(p)) continue;
        p->external = true; /* the adapter holds it from now on */
        const char *const dot = strrchr(p->name, '.');
        const int size = dot ? (int)(dot - p->name) : (int)strlen(p->name);
        if ((int)strlen(last) == size && strncmp(last, p->name, (size_t)size) == 0) continue; /* its bias */
        if (heed_json_kind_of(saved) == HEED_JSON_NONE) saved = heed_json_put_array(cx, config, "modules_to_save");
        text_format(last, sizeof last, "%.*s", size, p->name);
        heed_json_put_text(cx, saved, NULL, last);
    }
    return !heed_failed(cx);
}
