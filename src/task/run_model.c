/* The model of a run: fresh or that of --init, with its adapters and frozen parameters. */
#include "base/text.h"
#include "task/run.h"
#include <string.h>

/* ---- LoRA ---- */

struct lora {
    heed_lora_opts opts;
    const char *target[64];
    char text[4096];
};

/* Names separated by commas. */
static bool read_targets(const heed_run *r, const char *targets, struct lora *to) {
    if (strlen(targets) >= sizeof to->text) return run_option_misused(r, "--lora-targets: too long");
    strcpy(to->text, targets);
    for (char *at = to->text, *next; at; at = next) {
        if ((next = strchr(at, ','))) *next++ = 0;
        if (!*at || to->opts.n_targets == (int)(sizeof to->target / sizeof *to->target))
            return run_option_misused(r, "--lora-targets: %s", *at ? "too many names" : "an empty name");
        to->target[to->opts.n_targets++] = at;
    }
    return true;
}

/* NULL: not asked for, or failed. */
static const heed_lora_opts *lora_of(const heed_run *r, struct lora *to) {
    const char *const targets = run_text(r, "lora-targets");
    if (!run_given(r, "lora")) return NULL;
    to->opts = (heed_lora_opts){.rank = run_int(r, "lora"),
                                .alpha = run_given(r, "lora-alpha") ? run_number(r, "lora-alpha") : 0,
                                .dropout = run_number(r, "lora-dropout"),
                                .targets = to->target};
    return !targets || read_targets(r, targets, to) ? &to->opts : NULL;
}

bool run_lora_fits(const heed_run *r) {
    static const char *const more[] = {"lora-alpha", "lora-dropout", "lora-targets"};
    struct lora lora;
    for (int i = 0; i < 3; i++)
        if (run_given(r, more[i]) && !run_given(r, "lora"))
            return run_option_misused(r, "--%s needs --lora RANK", more[i]);
    if (!run_given(r, "lora")) return true;
    if (!run_init(r)) return run_option_misused(r, "--lora needs --init DIR, the model to adapt");
    return lora_of(r, &lora);
}

/* ---- keys of the config ---- */

const char *run_head(const heed_run *r) { return r->head ? r->head : r->task->name; }

static bool among_keys(const heed_key *keys, const char *name) {
    for (const heed_key *k = keys; k && k->name; k++)
        if (strcmp(k->name, name) == 0) return true;
    return false;
}
bool run_has_key(const heed_family *f, const char *name) { return among_keys(f->keys, name); }
bool run_takes_key(const heed_run *r, const char *name) {
    const heed_head *const head = heed_head_for(r->family, run_head(r));
    return among_keys(r->family->keys, name) || (head && among_keys(head->keys, name));
}

const char *run_setting(const heed_run *r, const char *key) {
    const char *const *given, *found = NULL;
    const int n = run_list(r, "set", &given);
    const size_t length = strlen(key);
    for (int i = 0; i < n; i++)
        if (strncmp(given[i], key, length) == 0 && given[i][length] == '=') found = given[i] + length + 1;
    return found;
}

/* ---- the model ---- */

static bool add_settings(const heed_run *r, heed_ctx *cx, struct settings *s) {
    const char *const *given;
    const int more = run_list(r, "set", &given);
    if (more > SETTINGS_MAX - s->n) return heed_fail(cx, HEED_ERR_USAGE, "train: %d settings are too many", more);
    for (int i = 0; i < more; i++) s->text[s->n++] = given[i];
    return !heed_failed(cx);
}

/* --freeze and --layer-decay: which parameters learn, and how fast. */
static bool set_trained(const heed_run *r, heed_ctx *cx, heed_params *params) {
    const char *const *patterns;
    const int n = run_list(r, "freeze", &patterns);
    bool learns = n == 0;
    for (int i = 0; i < n && !heed_failed(cx); i++) heed_params_freeze(cx, params, patterns[i]);
    for (int i = 0; i < heed_params_count(params); i++) learns |= !heed_params_at(params, i)->frozen;
    if (!learns)
        return heed_fail(cx, HEED_ERR_USAGE, "train: --freeze: all parameters are frozen: nothing is left to train");
    const double decay = run_number(r, "layer-decay");
    return decay == 1 ? !heed_failed(cx) : heed_params_layer_decay(cx, params, decay);
}

heed_model *run_make_model(const heed_run *r, heed_ctx *cx, struct settings *fresh, struct settings *kept) {
    const char *const task = run_head(r);
    struct settings *const s = r->init ? kept : fresh;
    struct lora lora;
    heed_model *model = NULL;
    char width[48];
    if (!r->init) run_put_embedding_size(r, s, width);
    if (heed_failed(cx) || !add_settings(r, cx, s)) return NULL;
    if (r->init)
        model = heed_directory_model(cx, r->init,
                                     &(heed_load_opts){.task = task,
                                                       .settings = s->text,
                                                       .n_settings = s->n,
                                                       .fresh_head = true,
                                                       .seed = heed_seed(r->cx),
                                                       .lora = lora_of(r, &lora)});
    else
        model = heed_model_new_as(cx, r->family, heed_head_for(r->family, task), s->text, s->n, heed_seed(r->cx));
    if (model && set_trained(r, cx, heed_model_params(model))) return model;
    heed_model_free(cx, model);
    return NULL;
}
