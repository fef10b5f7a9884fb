/* A text as numbers of words: counted, the rare ones left out, the others numbered by falling frequency. */
#include "base/checked.h"
#include "classical/words/words.h"
#include "kernel/ints.h"
#include "text/strings/edit.h"
#include "train/loop.h"
#include <stdlib.h>
#include <string.h>

static bool add_line(heed_ctx *cx, struct map *words, heed_ids *ids, const char *s, size_t size, bool marks) {
    const char *word;
    size_t length;
    for (const char *const end = s + size; (word = text_next_word(&s, end, marks, &length));) {
        const int64_t entry = map_add(cx, words, word, length);
        if (entry < 0 || !heed_ids_put(cx, ids, (int32_t)entry)) return false;
        words->entries[entry].value++;
    }
    return true;
}

/* start (lines + 1): where the words of each line begin in ids. */
static bool count(heed_ctx *cx, const heed_lines *lines, const heed_words_opts *o, struct map *words, heed_ids *ids,
                  int64_t *start) {
    struct edit e = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < lines->count && !heed_cancelled(cx); i++) {
        const char *text = heed_line_text(lines, i);
        size_t size = heed_line_size(lines, i);
        start[i] = ids->count;
        if (o->lower) {
            ok = edit_begin(&e, cx, text, size);
            if (ok) edit_lower(&e);
            ok = ok && !heed_failed(cx) && add_line(cx, words, ids, e.text.s, e.text.size, o->punctuation);
            edit_end(&e);
        } else {
            ok = add_line(cx, words, ids, text, size, o->punctuation);
        }
    }
    start[lines->count] = ids->count;
    return ok && !heed_failed(cx);
}

struct ranked {
    int64_t entry, seen;
};

static int by_frequency(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->seen != y->seen) return x->seen < y->seen ? 1 : -1;
    return x->entry < y->entry ? -1 : 1;
}

/* number (entries of all): the new number of each word, -1 of one that is too rare. */
static bool choose(heed_ctx *cx, const struct map *all, int64_t least, struct map *words, int32_t *number) {
    struct ranked *rank = heed_mem_new(cx, (size_t)all->count * sizeof *rank + 1);
    int64_t n = 0;
    for (int64_t i = 0; rank && i < all->count; i++) {
        number[i] = -1;
        if (all->entries[i].value >= least) rank[n++] = (struct ranked){i, all->entries[i].value};
    }
    if (rank && n > 0) qsort(rank, (size_t)n, sizeof *rank, by_frequency);
    for (int64_t i = 0; rank && i < n; i++) {
        const int64_t at = map_add(cx, words, map_key(all, rank[i].entry), map_size(all, rank[i].entry));
        if (at < 0) break;
        words->entries[at].value = rank[i].seen;
        number[rank[i].entry] = (int32_t)at;
    }
    heed_mem_free(cx, rank);
    return !heed_failed(cx);
}

/* Renumbers the words and cuts long sentences; the ids become the text's. */
static bool renumber(heed_ctx *cx, const int64_t *lines, int64_t n, heed_ids *ids, const int32_t *number,
                     struct words_text *to) {
    to->start = heed_mem_new(cx, (size_t)(n + ids->count / WORDS_SENTENCE + 1) * sizeof *to->start);
    if (!to->start) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;
        for (int64_t k = lines[i]; k < lines[i + 1]; k++) {
            if (number[ids->id[k]] < 0) continue;
            if (length++ % WORDS_SENTENCE == 0) to->start[to->sentences++] = to->count;
            ids->id[to->count++] = number[ids->id[k]];
        }
    }
    to->start[to->sentences] = to->count;
    to->id = ids->id;
    *ids = (heed_ids){0};
    to->hash = notes_mix(1, to->id, (size_t)to->count * sizeof *to->id);
    to->hash = notes_mix(to->hash, to->start, (size_t)to->sentences * sizeof *to->start);
    to->hash = notes_mix(to->hash, to->words.text.s, to->words.text.size);
    return true;
}

bool words_text_read(heed_ctx *cx, const char *name, const heed_lines *lines, const heed_words_opts *opts,
                     struct words_text *text) {
    struct map all = {0};
    heed_ids ids = {0};
    int64_t *start = heed_mem_new(cx, ((size_t)lines->count + 1) * sizeof *start);
    int32_t *number = NULL;
    *text = (struct words_text){0};
    if (start && count(cx, lines, opts, &all, &ids, start)) {
        number = heed_mem_new(cx, (size_t)all.count * sizeof *number + 1);
        if (all.count == 0)
            heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no words", name);
        else if (number && choose(cx, &all, opts->least, &text->words, number) && text->words.count < 2)
            heed_fail(cx, HEED_ERR_FORMAT,
                      "%s: %lld of %lld words were seen at least %lld times (--min-count), where two are needed", name,
                      (long long)text->words.count, (long long)all.count, (long long)opts->least);
        if (!heed_failed(cx)) renumber(cx, start, lines->count, &ids, number, text);
    }
    map_free(cx, &all);
    heed_ids_free(cx, &ids);
    heed_mem_free(cx, start);
    heed_mem_free(cx, number);
    if (heed_failed(cx)) words_text_free(cx, text);
    return !heed_failed(cx);
}

void words_text_free(heed_ctx *cx, struct words_text *text) {
    map_free(cx, &text->words);
    heed_mem_free(cx, text->id);
    heed_mem_free(cx, text->start);
    *text = (struct words_text){0};
}
