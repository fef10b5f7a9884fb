#include "lessons/translators.h"
#include <stdio.h>
#include <string.h>

enum { TRAINED = 20000, TOKENS = 400 };

/* Of either kind every other one. */
static bool draw_lines(struct lesson_run *r, heed_grammar_part part, int64_t n, heed_lines to[2]) {
    static const heed_grammar_kind kinds[] = {HEED_GRAMMAR_PLAIN, HEED_GRAMMAR_JOINED};
    heed_ctx *cx = r->cx;
    heed_string text[2] = {{0}};
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
        const heed_grammar g = {.seed = r->seed, .part = part, .kind = kinds[i % 2]};
        if (!heed_grammar_pair(cx, &g, (uint64_t)i, &text[0], &text[1], NULL)) break;
        for (int k = 0; k < 2; k++) heed_string_put(cx, &text[k], "\n", 1);
    }
    for (int k = 0; k < 2; k++) {
        heed_lines_cut(cx, &text[k], &to[k]);
        heed_string_free(cx, &text[k]);
    }
    return !heed_failed(cx);
}

bool translators_open(struct lesson_run *r, struct translators *t) {
    *t = (struct translators){0};
    /* A short run neither sees all sentences nor is worth all tests. */
    const int64_t seen = 25 * r->steps + 500, tests = r->steps < 100 ? 100 : TRANSLATORS_TESTS;
    if (!draw_lines(r, HEED_GRAMMAR_TRAIN, seen < TRAINED ? seen : TRAINED, t->lines[0]) ||
        !draw_lines(r, HEED_GRAMMAR_HELD_OUT, tests, t->lines[1]))
        return false;
    for (int k = 0; k < 2; k++) {
        const heed_lines *texts[] = {&t->lines[0][k]};
        t->tokens[k] = heed_vocabulary_train(r->cx, texts, 1, HEED_TOKENS_WORD, 0);
    }
    for (int k = 0; k < 2 && !heed_failed(r->cx); k++) {
        const heed_parallel_text text = {&t->lines[k][0], &t->lines[k][1], t->tokens[0], t->tokens[1]};
        heed_pairs_encode(r->cx, &text, NULL, &t->pairs[k]);
    }
    return !heed_failed(r->cx);
}

void translators_close(struct lesson_run *r, struct translators *t) {
    for (int k = 0; k < 2; k++) {
        heed_pairs_free(r->cx, &t->pairs[k]);
        heed_tokenizer_free(r->cx, t->tokens[k]);
        for (int side = 0; side < 2; side++) heed_lines_free(r->cx, &t->lines[k][side]);
    }
}

static heed_model *new_model(struct lesson_run *r, const struct translators *t, const char *family, bool reverse) {
    char text[6][48];
    const char *settings[11];
    int n = 0;
    const long long numbers[] = {heed_tokenizer_size(t->tokens[0]),
                                 heed_tokenizer_size(t->tokens[1]),
                                 heed_vocabulary_pad(r->cx, t->tokens[1]),
                                 heed_vocabulary_end(r->cx, t->tokens[1]),
                                 TRANSLATORS_WIDTH,
                                 TRANSLATORS_WIDTH};
    static const char *const keys[] = {"vocab_size",   "decoder_vocab_size", "pad_token_id",
                                       "eos_token_id", "embedding_size",     "hidden_size"};
    if (heed_failed(r->cx)) return NULL;
    for (; n < 6; n++) {
        snprintf(text[n], sizeof text[n], "%s=%lld", keys[n], numbers[n]);
        settings[n] = text[n];
    }
    char start[48];
    snprintf(start, sizeof start, "decoder_start_token_id=%lld", numbers[2]);
    settings[n++] = start;
    settings[n++] = "dropout=0";
    if (reverse) settings[n++] = "reverse_source=true";
    const heed_family *f = heed_family_find(family);
    for (const heed_key *k = f->keys; k->name; k++) {
        if (strcmp(k->name, "num_layers") == 0) settings[n++] = "num_layers=1";
        if (strcmp(k->name, "maxout_size") == 0) settings[n++] = "maxout_size=64";
    }
    return heed_model_new(r->cx, f, settings, n, r->seed);
}

static bool learn(struct lesson_run *r, const heed_loop_source *from, const char *name, const heed_model *model,
                  heed_trainer *trainer) {
    heed_ctx *cx = r->cx;
    bool ok = from->seek(cx, from->own, 0);
    for (int64_t step = 0; ok && step < r->steps && !heed_cancelled(cx); step++) {
        heed_io in, out;
        float share;
        heed_trainer_begin(cx, trainer);
        ok = from->next(cx, from->own) > 0 && from->feed(cx, from->own, 0, &in, &share) &&
             heed_model_forward(cx, model, &in, &out);
        if (ok) lesson_learn(cx, trainer, heed_io_get(&out, "loss"));
        if (step % 10 == 0) lesson_progress(r, name, step, r->steps);
    }
    from->close(cx, from->own);
    lesson_progress(r, "", 1, 1);
    return ok && !heed_failed(cx);
}

heed_model *translators_learn(struct lesson_run *r, const struct translators *t, const char *family, bool reverse) {
    heed_ctx *cx = r->cx;
    heed_model *model = new_model(r, t, family, reverse);
    if (!model) return NULL;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.006, .warmup = 50, .steps = r->steps},
                                    .clip = 1};
    heed_trainer *trainer = heed_trainer_new(cx, heed_model_params(model), &opts);
    heed_translation *source =
        heed_translation_new(cx, &(heed_translation_opts){.train = {&t->pairs[0], NULL},
                                                          .target = t->tokens[1],
                                                          .tokens = TOKENS,
                                                          .pad = heed_vocabulary_pad(cx, t->tokens[1]),
                                                          .seed = r->seed});
    const bool ok = source && trainer && learn(r, heed_translation_source(source), family, model, trainer);
    heed_translation_free(cx, source);
    heed_trainer_free(cx, trainer);
    if (ok) return model;
    heed_model_free(cx, model);
    return NULL;
}
