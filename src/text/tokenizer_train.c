/* A vocabulary from text: characters, words or byte pairs.
 *
 * The text is cut exactly as it will be when it is encoded. Special tokens take the first ids; then words, and
 * characters where they are the tokens, follow from frequent to rare (ties: by their bytes); the characters of a BPE
 * follow by their bytes, which is the order of their numbers, and then what was merged, in the order learnt. */
#include "base/checked.h"
#include "text/tokenizer.h"

#include <stdlib.h>

#define MARK "\xE2\x96\x81" /* U+2581 */

/* ---- counting ---- */

static bool count_one(heed_ctx *cx, struct map *counts, const char *s, size_t size) {
    const int64_t entry = map_add(cx, counts, s, size);
    if (entry >= 0) counts->entries[entry].value++;
    return entry >= 0;
}

static bool count_characters(heed_ctx *cx, struct map *counts, const char *text, size_t size, int64_t times) {
    const char *end = text + size;
    for (const char *s = text; s < end;) {
        const char *start = s;
        utf8_next(&s, end);
        const int64_t entry = map_add(cx, counts, start, (size_t)(s - start));
        if (entry < 0) return false;
        counts->entries[entry].value += times;
    }
    return true;
}

/* How often each piece of the lines is seen: words, or characters. */
static bool count_lines(heed_ctx *cx, const heed_lines *lines, const heed_tokenizer_opts *o, struct flow *f,
                        heed_string *lower, struct map *counts) {
    const struct splitter step = o->kind == HEED_TOKENS_BPE
                                     ? (struct splitter){SPLIT_METASPACE, MARK, PREPEND_ALWAYS, true, .literal = NULL}
                                     : (struct splitter){.kind = SPLIT_SPACES};
    const struct normalizer to_lower = {.kind = NORMAL_LOWER};
    bool ok = true;
    for (int64_t i = 0; ok && i < lines->count && !(i % 4096 == 0 && heed_cancelled(cx)); i++) {
        const char *line = heed_line_text(lines, i);
        size_t size = heed_line_size(lines, i);
        bool cut;
        ok = utf8_check(cx, "train", line, size);
        if (ok && o->lower) {
            ok = normalise(cx, &to_lower, 1, line, size, lower, &cut);
            line = lower->s;
            size = lower->size;
        }
        if (ok && o->kind == HEED_TOKENS_CHAR) {
            ok = count_characters(cx, counts, line, size, 1);
            continue;
        }
        ok = ok && split_text(f, &step, 1, line, size, true);
        for (size_t k = 0; ok && k < f->count[0]; k++)
            ok = count_one(cx, counts, f->text + f->pieces[0][k].start, f->pieces[0][k].size);
    }
    return ok && !heed_failed(cx);
}

static bool count_texts(heed_ctx *cx, const heed_lines *const *texts, int n, const heed_tokenizer_opts *o,
                        struct map *counts) {
    struct flow f = {.cx = cx};
    heed_string lower = {0};
    bool ok = true;
    for (int i = 0; ok && i < n; i++) ok = count_lines(cx, texts[i], o, &f, &lower, counts);
    flow_free(&f);
    heed_string_free(cx, &lower);
    return ok;
}

/* ---- choosing ---- */

struct counted {
    const char *key;
    int64_t count;
};

static int by_count(const void *a, const void *b) {
    const struct counted *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->key, y->key);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct counted *)a)->key, ((const struct counted *)b)->key);
}

/* Adds those seen often enough to the tokens, in order, while there is room; *left_out: for want of it. A key with a
 * NUL, which no file can hold, is unknown. */
static bool choose(heed_ctx *cx, const struct map *counts, int64_t least, bool frequent_first, int64_t most,
                   struct map *tokens, int64_t *left_out) {
    size_t bytes;
    int64_t n = 0;
    struct counted *list = size_mul((size_t)counts->count + 1, sizeof *list, &bytes) ? heed_mem_new(cx, bytes) : NULL;
    if (!list) return heed_fail(cx, HEED_ERR_MEMORY, "train: too many words");
    for (int64_t i = 0; i < counts->count; i++) {
        const struct counted one = {map_key(counts, i), counts->entries[i].value};
        if (one.count >= least && strlen(one.key) == counts->entries[i].size) list[n++] = one;
    }
    qsort(list, (size_t)n, sizeof *list, frequent_first ? by_count : by_key);
    bool ok = true;
    int64_t i = 0;
    for (; ok && i < n && tokens->count < most; i++) ok = map_add(cx, tokens, list[i].key, strlen(list[i].key)) >= 0;
    *left_out = n - i;
    heed_mem_free(cx, list);
    return ok;
}

static bool add_specials(heed_ctx *cx, const heed_tokenizer_opts *o, struct map *tokens) {
    const char *const specials[] = {o->pad, o->bos, o->eos, o->unk};
    for (int i = 0; i < 4; i++)
        if (specials[i] && map_add(cx, tokens, specials[i], strlen(specials[i])) < 0) return false;
    return true;
}

/* The characters of the words, and the merges learnt from them. */
static bool learn_pairs(heed_ctx *cx, const heed_tokenizer_opts *o, const struct map *words, int64_t most,
                        struct map *tokens, struct bpe_pair **merges, int64_t *merge_count) {
    struct map characters = {0};
    const int64_t specials = tokens->count;
    int64_t left_out = 0;
    bool ok = map_add(cx, &characters, MARK, strlen(MARK)) >= 0;
    if (ok) characters.entries[0].value = INT64_MAX / 2; /* never too rare */
    for (int64_t i = 0; ok && i < words->count; i++)
        ok = count_characters(cx, &characters, map_key(words, i), words->entries[i].size, words->entries[i].value);
    ok = ok && choose(cx, &characters, o->least, false, most, tokens, &left_out);
    if (ok && left_out > 0)
        ok = heed_fail(cx, HEED_ERR_RANGE,
                       "train: a vocabulary of %lld cannot hold %lld special tokens and %lld characters",
                       (long long)most, (long long)specials, (long long)(tokens->count - specials + left_out));
    map_free(cx, &characters);
    return ok && bpe_learn(cx, words, tokens, most, merges, merge_count);
}

/* ---- training ---- */

static bool check_options(heed_ctx *cx, const heed_lines *const *texts, int n, const heed_tokenizer_opts *o) {
    if (!o || n < 1 || !texts) return heed_fail(cx, HEED_ERR_USAGE, "train: options or texts are missing");
    for (int i = 0; i < n; i++)
        if (!texts[i]) return heed_fail(cx, HEED_ERR_USAGE, "train: text %d of %d is NULL", i + 1, n);
    if ((unsigned)o->kind > HEED_TOKENS_BPE)
        return heed_fail(cx, HEED_ERR_USAGE, "train: no kind of tokenizer %d", (int)o->kind);
    if (o->vocabulary < 0 || o->vocabulary > INT32_MAX / 4 || o->least < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "train: a vocabulary of %lld, seen at least %lld times, makes no sense",
                         (long long)o->vocabulary, (long long)o->least);
    if (o->kind == HEED_TOKENS_BPE && o->vocabulary == 0)
        return heed_fail(cx, HEED_ERR_USAGE, "train: bpe needs a size of its vocabulary");
    if ((o->add_bos && !o->bos) || (o->add_eos && !o->eos))
        return heed_fail(cx, HEED_ERR_USAGE, "train: there is no %s token to add",
                         o->add_bos && !o->bos ? "bos" : "eos");
    const char *const specials[] = {o->pad, o->bos, o->eos, o->unk};
    for (int i = 0; i < 4; i++) {
        if (specials[i] && !*specials[i]) return heed_fail(cx, HEED_ERR_USAGE, "train: a special token is empty");
        if (specials[i] && !utf8_check(cx, "train: special token", specials[i], strlen(specials[i]))) return false;
    }
    return true;
}

heed_tokenizer *heed_tokenizer_train(heed_ctx *cx, const heed_lines *const *texts, int n_texts,
                                     const heed_tokenizer_opts *opts) {
    if (heed_failed(cx) || !check_options(cx, texts, n_texts, opts)) return NULL;
    heed_tokenizer_opts o = *opts;
    if (o.least == 0) o.least = 1;
    const int64_t most = o.vocabulary ? o.vocabulary : INT32_MAX / 4;
    struct map counts = {0}, tokens = {0};
    struct bpe_pair *merges = NULL;
    int64_t merge_count = 0, left_out;
    bool ok = add_specials(cx, &o, &tokens);
    if (ok && tokens.count > most)
        ok = heed_fail(cx, HEED_ERR_RANGE, "train: a vocabulary of %lld cannot hold %lld special tokens",
                       (long long)most, (long long)tokens.count);
    ok = ok && count_texts(cx, texts, n_texts, &o, &counts);
    if (ok && o.kind == HEED_TOKENS_BPE)
        ok = learn_pairs(cx, &o, &counts, most, &tokens, &merges, &merge_count);
    else
        ok = ok && choose(cx, &counts, o.least, true, most, &tokens, &left_out);
    heed_tokenizer *t = ok ? tokenizer_build(cx, &o, &tokens, merges, merge_count) : NULL;
    map_free(cx, &counts);
    map_free(cx, &tokens);
    heed_mem_free(cx, merges);
    return t;
}
