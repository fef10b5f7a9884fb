/* Word vectors and n-grams, on a text that bench/language.py draws: "w17 w3 ..." by Zipf's law, a sentence a line. */
#include "bench.h"
#include "heed/ngram.h"
#include "heed/words.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_text(struct bench *b) { heed_lines_read(b->cx, shared(b, "zipf.txt"), &b->lines); }

/* ---- word2vec: an epoch ---- n: width, k: 1 for CBOW */

static void words_epoch(struct bench *b) {
    const heed_words_opts opts = {.cbow = b->k == 1, .width = b->n, .epochs = 1};
    heed_words_trainer *t = heed_words_trainer_new(b->cx, "zipf.txt", &b->lines, &opts);
    while (heed_words_trainer_step(b->cx, t)) {}
    heed_words_trainer_free(b->cx, t);
}

/* ---- n-grams: every sentence scored, from its text ---- n: order, k: kinds of words */

static heed_ngram *ngram; /* mapped as long as the workload is the same */

/* Trains, writes the model as an ARPA file for the peer and in heed's own form, and maps that. */
static void ngram_setup(struct bench *b) {
    read_text(b);
    heed_ids ids = {0};
    char(*text)[24] = heed_mem_new(b->cx, (size_t)b->k * sizeof *text);
    const char **name = heed_mem_new(b->cx, (size_t)b->k * sizeof *name);
    int64_t *start = heed_mem_new(b->cx, (size_t)(b->lines.count + 1) * sizeof *start);
    if (!text || !name || !start) return;
    for (int64_t i = 0; i < b->k; i++) {
        snprintf(text[i], sizeof text[i], "w%lld", (long long)i);
        name[i] = text[i];
    }
    for (int64_t i = 0; i < b->lines.count; i++) {
        const char *at = heed_line_text(&b->lines, i), *end = at + heed_line_size(&b->lines, i);
        start[i] = ids.count;
        for (char *next; at < end; at = next + 1) heed_ids_put(b->cx, &ids, (int32_t)strtol(at + 1, &next, 10));
    }
    start[b->lines.count] = ids.count;
    const heed_ngram_opts opts = {.order = (int)b->n};
    heed_ngram *made = heed_ngram_train(b->cx, &ids, start, b->lines.count, name, b->k, &opts, NULL);
    if (made && heed_ngram_write_arpa(b->cx, made, shared(b, "zipf.arpa")) &&
        heed_ngram_save(b->cx, made, shared(b, "zipf.ngram")))
        ngram = heed_ngram_open(b->cx, shared(b, "zipf.ngram"));
    heed_ngram_free(b->cx, made);
    heed_ids_free(b->cx, &ids);
    heed_mem_free(b->cx, start);
    heed_mem_free(b->cx, name);
    heed_mem_free(b->cx, text);
}

static double score(const char *at, const char *end) {
    heed_ngram_state s = heed_ngram_begin(ngram);
    double sum = 0;
    for (const char *next; at < end; at = next + 1) {
        next = memchr(at, ' ', (size_t)(end - at));
        if (!next) next = end;
        sum += heed_ngram_step(ngram, &s, heed_ngram_id(ngram, at, (size_t)(next - at)), NULL);
    }
    return sum + heed_ngram_step(ngram, &s, HEED_NGRAM_END, NULL);
}

static void ngram_score(struct bench *b) {
    double sum = 0;
    for (int64_t i = 0; ngram && i < b->lines.count; i++) {
        const char *text = heed_line_text(&b->lines, i);
        sum += score(text, text + heed_line_size(&b->lines, i));
    }
    FILE *f = fopen(shared(b, "zipf.score"), "w"); /* the peer's must be the same */
    if (!f) return;
    fprintf(f, "%.9g\n", sum);
    fclose(f);
}

void language_close(struct bench *b) {
    heed_ngram_free(b->cx, ngram);
    ngram = NULL;
}

const struct workload language_workloads[] = {
    {"words_epoch", read_text, words_epoch, true},
    {"ngram_score", ngram_setup, ngram_score, true},
    {0},
};
