/* heed train --embeddings: the table of words begins with vectors that were trained before. */
#include "cli/train.h"
#include "heed/words.h"
#include <stdio.h>

/* The first parameter with a row for each token. */
static heed_param *table_of(const heed_model *model, int64_t tokens) {
    const heed_params *set = heed_model_params(model);
    for (int i = 0; i < heed_params_count(set); i++) {
        heed_param *p = heed_params_at(set, i);
        if (p->rank == 2 && p->shape[0] == tokens && !p->target && p->value) return p;
    }
    return NULL;
}

bool train_take_embeddings(struct train_run *r, const heed_tokenizer *tokens) {
    const char *path = option_known(r->o, "embeddings") ? option_text(r->o, "embeddings") : NULL;
    if (!path) return true;
    const int64_t all = heed_tokenizer_size(tokens);
    const heed_param *table = table_of(r->model, all);
    if (!table) return heed_fail(r->cx, HEED_ERR_USAGE, "train: --embeddings: the model has no table of words");
    heed_words *w = heed_words_open(r->cx, path);
    if (w && heed_words_width(w) != table->shape[1])
        heed_fail(r->cx, HEED_ERR_SHAPE,
                  "train: --embeddings: %s holds vectors of %lld numbers, but %s is %lld wide; --set changes that",
                  path, (long long)heed_words_width(w), table->name, (long long)table->shape[1]);
    const int64_t found = w ? heed_words_copy(r->cx, w, tokens, table->value, all, table->shape[1]) : -1;
    heed_words_close(r->cx, w);
    if (found >= 0 && !option_flag(r->o, "quiet"))
        fprintf(stderr, "%s: vectors of %lld of %lld tokens\n", path, (long long)found, (long long)all);
    return found >= 0;
}
