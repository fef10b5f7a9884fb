/* heed train --embeddings: the table of words begins with vectors that were trained before. */
#include "heed/words.h"
#include "task/run.h"
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"embeddings", "target-embeddings"};

static const char *path_of(const heed_run *r, int side) {
    return run_knows(r, names[side]) ? run_text(r, names[side]) : NULL;
}

bool run_embeddings_fit(const heed_run *r) {
    for (int side = 0; side < 2; side++)
        if (path_of(r, side) && run_init(r))
            return run_option_misused(r, "--%s and --init: only one of them makes sense", names[side]);
    return true;
}

bool run_open_embeddings(heed_run *r) {
    for (int side = 0; side < 2; side++)
        if (path_of(r, side) && !(r->vectors[side] = heed_words_open(r->cx, path_of(r, side)))) return false;
    if (r->vectors[0] && r->vectors[1] && heed_words_width(r->vectors[0]) != heed_words_width(r->vectors[1]))
        return heed_fail(r->cx, HEED_ERR_SHAPE,
                         "train: --embeddings: %s holds vectors of %lld numbers, %s of %lld: a model has one width",
                         path_of(r, 0), (long long)heed_words_width(r->vectors[0]), path_of(r, 1),
                         (long long)heed_words_width(r->vectors[1]));
    return true;
}

void run_close_embeddings(heed_run *r) {
    for (int side = 0; side < 2; side++) {
        heed_words_close(r->cx, r->vectors[side]);
        r->vectors[side] = NULL;
    }
}

void run_put_embedding_size(const heed_run *r, struct settings *s, char text[48]) {
    const heed_words *const w = r->vectors[0] ? r->vectors[0] : r->vectors[1];
    if (!w || !run_has_key(r->family, "embedding_size")) return;
    snprintf(text, 48, "embedding_size=%lld", (long long)heed_words_width(w));
    s->text[s->n++] = text;
}

/* The first parameter with a row for each token; of a decoder the first of its own, where it has one. */
static heed_param *table_of(const heed_model *model, int64_t tokens, bool target) {
    const heed_params *set = heed_model_params(model);
    for (int any = !target; any < 2; any++)
        for (int i = 0; i < heed_params_count(set); i++) {
            heed_param *p = heed_params_at(set, i);
            if (!any && !strstr(p->name, "decoder.")) continue;
            if (p->rank == 2 && p->shape[0] == tokens && !p->target && p->value) return p;
        }
    return NULL;
}

static bool take(heed_run *r, int side, const heed_tokenizer *tokens) {
    const char *const path = path_of(r, side), *const name = names[side];
    const heed_words *const w = r->vectors[side];
    if (!w) return true;
    const int64_t all = heed_tokenizer_size(tokens);
    const heed_param *table = table_of(r->model, all, side == 1);
    if (!table) return heed_fail(r->cx, HEED_ERR_USAGE, "train: --%s: the model has no table of words", name);
    if (heed_words_width(w) != table->shape[1])
        return heed_fail(r->cx, HEED_ERR_SHAPE,
                         "train: --%s: %s holds vectors of %lld numbers, but %s is %lld wide; --set changes that", name,
                         path, (long long)heed_words_width(w), table->name, (long long)table->shape[1]);
    const int64_t found = heed_words_copy(r->cx, w, tokens, table->value, all, table->shape[1]);
    if (found >= 0)
        heed_note(r->cx, HEED_LOG_INFO, "%s: vectors of %lld of %lld tokens", path, (long long)found, (long long)all);
    return found >= 0;
}

bool run_take_embeddings(heed_run *r, const heed_tokenizer *source, const heed_tokenizer *target) {
    const bool taken = take(r, 0, source) && take(r, 1, target);
    run_close_embeddings(r);
    return taken;
}
