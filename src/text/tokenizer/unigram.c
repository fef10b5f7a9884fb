/* A unigram language model (Kudo 2018): the pieces whose scores add up to the most, found from left to right (Viterbi
 * 1967). A character that no token covers costs more than the worst of them; unknown neighbours are one token. */
#include "base/checked.h"
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <math.h>
#include <string.h>

#define UNKNOWN_PENALTY 10.0

/* The best way to get to a place of the text. */
struct best {
    double score;
    uint32_t start; /* where its last piece begins; UINT32_MAX: no way yet */
    int32_t id;
};

static void offer(struct best *to, double score, size_t start, int32_t id) {
    if (to->start == UINT32_MAX || score > to->score) *to = (struct best){score, (uint32_t)start, id};
}

/* Scores add up in double, as in Python's `tokenizers`, or in float, as in SentencePiece: it breaks ties. */
static double sum_of(const struct unigram *u, double a, double b) {
    return u->single ? (double)((float)a + (float)b) : a + b;
}

static bool find_best(struct work *w, const char *text, size_t size, struct best *best) {
    const heed_tokenizer *t = w->t;
    const struct unigram *u = &t->unigram;
    const double unknown = sum_of(u, u->least, -UNKNOWN_PENALTY);
    best[0] = (struct best){0, 0, -1};
    for (size_t i = 1; i <= size; i++) best[i].start = UINT32_MAX;
    for (size_t at = 0, length; at < size; at += length) {
        const unsigned char lead = (unsigned char)text[at];
        const double here = best[at].score;
        bool single = false;
        uint32_t place = 0;
        length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        for (size_t i = at; i < size && (place = trie_step(&t->trie, place, (uint8_t)text[i])); i++) {
            const int32_t id = t->trie.value[place];
            if (id < 0) continue;
            offer(&best[i + 1], sum_of(u, here, u->score[id]), at, id);
            single = single || i + 1 - at == length;
        }
        if (single) continue;
        struct best *next = &best[at + length];
        if (next->start != UINT32_MAX && !(sum_of(u, here, unknown) > next->score)) continue;
        if (t->unknown < 0)
            return heed_fail(w->cx, HEED_ERR_FORMAT,
                             "encode: '%.*s' is not in the vocabulary, which has no unknown token",
                             (int)(lead < 0x20 ? 0 : length), text + at);
        offer(next, sum_of(u, here, unknown), at, t->unknown);
    }
    return true;
}

/* A piece: a token by its text, its bytes, or unknown. */
static bool put_piece(struct work *w, const char *text, size_t start, size_t end) {
    const heed_tokenizer *t = w->t;
    const int32_t id = vocabulary_id(t, text + start, end - start);
    if (id >= 0) return work_token(w, id, start, end, NULL, 0);
    bool bytes = t->unigram.byte_fallback;
    for (size_t i = start; i < end; i++) bytes = bytes && t->unigram.byte[(unsigned char)text[i]] >= 0;
    if (!bytes) return work_token(w, t->unknown, start, end, text + start, end - start);
    for (size_t i = start; i < end; i++)
        if (!work_token(w, t->unigram.byte[(unsigned char)text[i]], start, end, NULL, 0)) return false;
    return true;
}

static bool unigram_encode(struct work *w, const char *text, size_t size) {
    size_t bytes;
    if (!size_mul(size + 1, sizeof(struct best), &bytes))
        return heed_fail(w->cx, HEED_ERR_RANGE, "encode: a word of %zu bytes", size);
    struct best *best = work_room(w, bytes);
    if (!best || !find_best(w, text, size, best)) return false;
    size_t at = size; /* the way back is turned round: best[i].start becomes where the piece from i on ends */
    for (uint32_t end = (uint32_t)size; at > 0;) {
        const uint32_t start = best[at].start;
        const int32_t id = best[at].id;
        best[at].start = end;
        end = (uint32_t)at;
        at = start;
        best[end].score = id; /* of the piece that ends there */
        if (at == 0) best[0].start = end;
    }
    for (size_t start = 0, end; start < size; start = end) {
        end = best[start].start;
        const bool unknown = (int32_t)best[end].score == w->t->unknown;
        while (unknown && end < size && (int32_t)best[best[end].start].score == w->t->unknown) end = best[end].start;
        if (!put_piece(w, text, start, end)) return false;
    }
    return true;
}

/* ---- reading ---- */

static bool read_piece(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at, int64_t id) {
    const node token = tree_first(tree, at), score = token ? tree_next(tree, token) : NULL;
    if (at->kind != TREE_ARRAY || at->size != 2) return tree_fail(tree, at, NULL, "expected a token and its score");
    if (!tree_need(tree, token, NULL, TREE_TEXT) || !tree_need(tree, score, NULL, TREE_NUMBER)) return false;
    const int64_t entry = map_add(cx, &t->vocabulary, token->text, token->size);
    if (entry < 0) return false;
    t->vocabulary.entries[entry].value = id; /* the last of equal tokens holds */
    t->unigram.score[id] = score->number;
    t->unigram.entry[id] = (int32_t)entry;
    t->unigram.count = id + 1;
    if (score->number < t->unigram.least && score->number > UNIGRAM_NEVER) t->unigram.least = score->number;
    return true;
}

static bool unigram_read(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at) {
    const node vocab = tree_need(tree, at, "vocab", TREE_ARRAY);
    if (!vocab) return false;
    const int64_t n = vocab->size;
    t->unigram.score = heed_mem_new(cx, (size_t)(n + 1) * sizeof *t->unigram.score);
    t->unigram.entry = heed_mem_new(cx, (size_t)(n + 1) * sizeof *t->unigram.entry);
    t->unigram.least = (double)INFINITY;
    t->size = n;
    int64_t id = 0;
    bool ok = t->unigram.score && t->unigram.entry && map_reserve(cx, &t->vocabulary, n, 8 * (size_t)n);
    for (EACH_NODE(v, tree, vocab))
        if (!(ok = ok && read_piece(cx, t, tree, v, id++))) break;
    t->unigram.byte_fallback = tree_bool(tree, at, "byte_fallback", false);
    t->unigram.single = tree_bool(tree, at, "single_precision", false); /* which Python does not read */
    const int64_t unknown = tree_int(tree, at, "unk_id", -1);
    if (!ok || heed_failed(cx)) return false;
    if (unknown < -1 || unknown >= n) return tree_fail(tree, at, "unk_id", "no token has id %lld", (long long)unknown);
    t->unknown = (int32_t)unknown;
    if (t->unigram.byte_fallback) byte_tokens(t, t->unigram.byte);
    return vocabulary_trie(cx, t);
}

const struct model_kind unigram_kind = {"Unigram", unigram_read, unigram_encode};
