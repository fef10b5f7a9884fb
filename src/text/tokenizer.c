/* Encoding, and what can be asked of a tokenizer.
 *
 * Text runs through the parts in the order of Python's `tokenizers`: tokens that were added are looked for in the text
 * as it is; what lies between is normalised, and tokens that were added as normal text are looked for in that; what is
 * left is cut into pieces, and the model turns each into ids. */
#include "text/tokenizer.h"
#include "io/text.h"

struct encoder {
    heed_ctx *cx;
    const heed_tokenizer *t;
    struct flow flow;
    heed_string normal;
    struct bpe_drop *drop; /* NULL: none */
    heed_ids *to;
};

static bool encode_word(struct encoder *e, const char *word, size_t size) {
    const int64_t entry = map_find(&e->t->vocabulary, word, size);
    const int32_t id = entry < 0 ? e->t->unknown : (int32_t)e->t->vocabulary.entries[entry].value;
    if (id >= 0) return heed_ids_put(e->cx, e->to, id);
    return heed_fail(e->cx, HEED_ERR_FORMAT, "encode: '%s' is not in the vocabulary, which has no unknown token",
                     shown_bytes(word, size).text);
}

static bool encode_pieces(struct encoder *e, const char *text, size_t size, bool first) {
    const heed_tokenizer *t = e->t;
    struct flow *f = &e->flow;
    if (!split_text(f, t->splitters, t->splitter_count, text, size, first)) return false;
    for (size_t i = 0; i < f->count[0]; i++) {
        const struct piece *p = &f->pieces[0][i];
        const char *word = f->text + p->start;
        if (!(t->is_bpe ? bpe_encode(e->cx, t, word, p->size, e->drop, e->to) : encode_word(e, word, p->size)))
            return false;
    }
    return true;
}

typedef bool (*between_fn)(struct encoder *e, const char *text, size_t size, bool first);

/* The added tokens that the finder knows, and what lies between them by another way. */
static bool encode_around(struct encoder *e, const struct finder *f, const char *text, size_t size, bool first,
                          between_fn between) {
    size_t at = 0, taken = 0;
    struct found found;
    while (finder_next(e->t, f, text, size, &at, taken, &found)) {
        if (found.start > taken && !between(e, text + taken, found.start - taken, first && taken == 0)) return false;
        if (!heed_ids_put(e->cx, e->to, found.id)) return false;
        taken = found.end;
    }
    return taken >= size || between(e, text + taken, size - taken, first && taken == 0);
}

static bool encode_normalised(struct encoder *e, const char *text, size_t size, bool first) {
    bool cut = false;
    if (e->t->normalizer_count > 0) {
        if (!normalise(e->cx, e->t->normalizers, e->t->normalizer_count, text, size, &e->normal, &cut)) return false;
        text = e->normal.s;
        size = e->normal.size;
    }
    return encode_around(e, &e->t->normal, text, size, first && !cut, encode_pieces);
}

static bool put_all(heed_ctx *cx, heed_ids *to, const heed_ids *ids) {
    for (int64_t i = 0; i < ids->count; i++)
        if (!heed_ids_put(cx, to, ids->id[i])) return false;
    return true;
}

static bool encode(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special,
                   struct bpe_drop *drop, heed_ids *to) {
    if (heed_failed(cx)) return false;
    if (!t || !to || (!text && size > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "encode: the tokenizer, text or list of ids is NULL");
    if (!utf8_check(cx, "encode", text, size)) return false;
    struct encoder e = {.cx = cx, .t = t, .flow = {.cx = cx}, .drop = drop, .to = to};
    const int64_t before = to->count;
    const bool ok = (!special || put_all(cx, to, &t->before)) &&
                    (size == 0 || encode_around(&e, &t->raw, text, size, true, encode_normalised)) &&
                    (!special || put_all(cx, to, &t->after));
    if (!ok) to->count = before;
    flow_free(&e.flow);
    heed_string_free(cx, &e.normal);
    return ok;
}

bool heed_encode(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special, heed_ids *to) {
    return encode(cx, t, text, size, special, NULL, to);
}

bool heed_encode_drawn(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special,
                       const heed_merge_dropout *dropout, heed_ids *to) {
    if (heed_failed(cx)) return false;
    if (!dropout || !(dropout->rate >= 0 && dropout->rate <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "encode: merges are passed over with a probability between 0 and 1");
    struct bpe_drop drop = {.how = *dropout};
    return encode(cx, t, text, size, special, dropout->rate > 0 ? &drop : NULL, to);
}

/* ---- looking ---- */

int64_t heed_tokenizer_size(const heed_tokenizer *t) { return t ? t->size : 0; }

const char *heed_tokenizer_token(const heed_tokenizer *t, int32_t id) {
    return t && id >= 0 && id < t->size ? t->token[id] : NULL;
}

int32_t heed_tokenizer_id(const heed_tokenizer *t, const char *token) {
    if (!t || !token) return -1;
    const size_t size = strlen(token);
    const int64_t added = map_find(&t->added_text, token, size);
    if (added >= 0) return t->added[added].id;
    const int64_t entry = map_find(&t->vocabulary, token, size);
    return entry < 0 ? -1 : (int32_t)t->vocabulary.entries[entry].value;
}

int32_t heed_tokenizer_unknown(const heed_tokenizer *t) { return t ? t->unknown : -1; }

bool heed_tokenizer_is_special(const heed_tokenizer *t, int32_t id) {
    return t && id >= 0 && id < t->size && t->special[id];
}

void heed_tokenizer_free(heed_ctx *cx, heed_tokenizer *t) {
    if (!t) return;
    map_free(cx, &t->vocabulary);
    map_free(cx, &t->added_text);
    finder_free(cx, &t->raw);
    finder_free(cx, &t->normal);
    bpe_free(cx, &t->bpe);
    heed_ids_free(cx, &t->before);
    heed_ids_free(cx, &t->after);
    for (int i = 0; i < t->splitter_count; i++) heed_mem_free(cx, t->splitters[i].literal);
    void *const parts[] = {t->json, t->added, t->token, t->special, t->decoder_suffix, t};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
}
