/* Attention between words (Clark et al. 2019, What does BERT look at?): see the header. */
#include "inspect/attend_words.h"
#include <string.h>

bool attend_words_find(heed_ctx *cx, const heed_encoding *e, struct attend_words *w) {
    w->word = heed_mem_new(cx, ((size_t)e->count + 1) * sizeof *w->word);
    w->segment = heed_mem_new(cx, ((size_t)e->count + 1) * sizeof *w->segment);
    if (!w->word || !w->segment) return false;
    for (int64_t i = 0; i < e->count; i++) {
        const heed_token *t = &e->token[i];
        const bool goes_on = i > 0 && t->word >= 0 && t[-1].word == t->word && t[-1].type == t->type;
        if (!goes_on) w->n++;
        w->word[i] = (int32_t)(w->n - 1);
        w->segment[i] = t->type;
    }
    w->tokens = e->count;
    return true;
}

void attend_words_free(heed_ctx *cx, struct attend_words *w) {
    heed_mem_free(cx, w->word);
    heed_mem_free(cx, w->segment);
    heed_mem_free(cx, w->names);
    heed_mem_free(cx, w->letters);
}

/* to (n, n): the sum over the keys of a word, the mean over its queries. */
static void merge_head(const struct attend_words *w, const float *from, float *to) {
    for (int64_t i = 0, end; i < w->tokens; i = end) {
        const int64_t row = w->word[i];
        for (end = i + 1; end < w->tokens && w->word[end] == row;) end++;
        for (int64_t j = 0; j < w->tokens;) {
            const int64_t key = w->word[j];
            double sum = 0;
            for (; j < w->tokens && w->word[j] == key; j++)
                for (int64_t q = i; q < end; q++) sum += (double)from[q * w->tokens + j];
            to[row * w->n + key] = (float)(sum / (double)(end - i));
        }
    }
}

bool attend_words_merge(heed_ctx *cx, const struct attend_words *w, heed_capture_map *m) {
    if (m->rows != w->tokens || m->keys != w->tokens) return true;
    float *to = heed_mem_new(cx, (size_t)(m->batch * m->heads * w->n * w->n) * sizeof *to);
    if (!to) return false;
    for (int64_t h = 0; h < m->batch * m->heads; h++)
        merge_head(w, m->weights + h * w->tokens * w->tokens, to + h * w->n * w->n);
    heed_mem_free(cx, (void *)(uintptr_t)m->weights);
    m->weights = to;
    m->rows = m->keys = w->n;
    return true;
}

/* Pieces one behind the other; those of WordPiece that go on a word without their mark. */
static char *join(const char *const *pieces, int64_t first, int64_t end, char *to) {
    for (int64_t i = first; i < end; i++) {
        const char *piece = pieces[i] + (i > first && strncmp(pieces[i], "##", 2) == 0 ? 2 : 0);
        const size_t size = strlen(piece);
        memcpy(to, piece, size);
        to += size;
    }
    *to++ = 0;
    return to;
}

bool attend_words_name(heed_ctx *cx, struct attend_words *w, heed_axis *axis) {
    size_t letters = 0;
    for (int64_t i = 0; i < w->tokens; i++) letters += strlen(axis->tokens[i]) + strlen(axis->labels[i]) + 2;
    w->names = heed_mem_new(cx, 2 * (size_t)w->n * sizeof *w->names);
    char *to = w->letters = heed_mem_new(cx, letters + 1);
    if (!w->names || !to) return false;
    for (int64_t i = 0, end; i < w->tokens; i = end) {
        const int64_t at = w->word[i];
        for (end = i + 1; end < w->tokens && w->word[end] == at;) end++;
        w->names[at] = to;
        to = join(axis->tokens, i, end, to);
        w->names[w->n + at] = to;
        to = join(axis->labels, i, end, to);
        w->segment[at] = w->segment[i];
    }
    axis->n = w->n;
    axis->tokens = w->names;
    axis->labels = w->names + w->n;
    axis->words = NULL;
    return true;
}
