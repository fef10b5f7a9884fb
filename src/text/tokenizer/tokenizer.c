/* Encoding, and what can be asked of a tokenizer.
 *
 * Text runs through the parts in the order of Python's `tokenizers`: tokens that were added are looked for in the text
 * as it is; what lies between is normalized, and tokens that were added as normal text are looked for in that; what is
 * left is cut into pieces, and the model turns each into tokens, to which the post-processors add theirs. */
#include "text/tokenizer/tokenizer.h"
#include "base/checked.h"
#include "io/text.h"

#include <pthread.h>
#include <string.h>

/* ---- pieces ---- */

static bool push_piece(struct work *w, size_t start, size_t size, int32_t id) {
    if (size == 0) return true;
    if (!work_cut(w, start, start + size)) return false;
    w->cut.at[w->cut.count - 1].id = id;
    return true;
}

/* A part of the section that was normalized: it goes to the end of the text. */
static bool found_normal(struct work *w, size_t start, size_t end, int32_t id) {
    const size_t at = w->next.text.size;
    return aligned_copy(w->cx, &w->next, &w->section, start, end) && push_piece(w, at, end - start, id);
}

/* A part of the text as it was given. */
static bool found_raw(struct work *w, size_t start, size_t end, int32_t id) {
    struct aligned *s = &w->section;
    s->text.size = 0;
    s->tracked = w->tracked;
    s->base = (uint32_t)start;
    s->most = grown_most(w->original_size);
    if (!aligned_put_plain(w->cx, s, w->original + start, end - start, (uint32_t)start)) return false;
    if (id >= 0) return found_normal(w, 0, s->text.size, id);
    return normalize(w->cx, &w->t->normalizers, s, &w->spare) &&
           finder_run(w, &w->t->normalized, s->text.s, s->text.size, found_normal);
}

/* The same where nothing is normalized: pieces lie in the text itself. */
static bool found_again(struct work *w, size_t start, size_t end, int32_t id) {
    return push_piece(w, w->piece + start, end - start, id);
}
static bool found_plain(struct work *w, size_t start, size_t end, int32_t id) {
    if (id >= 0 || w->t->normalized.count == 0) return push_piece(w, start, end - start, id);
    w->piece = start;
    return finder_run(w, &w->t->normalized, w->original + start, end - start, found_again);
}

bool work_split(struct work *w, const char *text, size_t size) {
    const heed_tokenizer *t = w->t;
    w->original = w->text = text;
    w->original_size = w->text_size = size;
    w->tracked = w->wanted || t->needs_origins;
    w->plain = t->normalizers.count == 0;
    w->cut.count = 0;
    w->next.text.size = 0;
    w->next.tracked = w->tracked;
    w->next.most = grown_most(size);
    if (size > 0 && !finder_run(w, &t->raw, text, size, w->plain ? found_plain : found_raw)) return false;
    const struct pieces swap = w->pieces;
    w->pieces = w->cut;
    w->cut = swap;
    if (!w->plain) {
        const struct aligned now = w->now;
        w->now = w->next;
        w->next = now;
        if (!heed_string_put(w->cx, &w->now.text, "", 0)) return false;
        w->text = w->now.text.s;
        w->text_size = w->now.text.size;
    }
    for (int i = 0; i < t->pre_tokenizers.count; i++)
        if (!t->pre_tokenizers.step[i].kind->split(w, &t->pre_tokenizers.step[i])) return false;
    return true;
}

/* ---- tokens ---- */

/* Offsets in characters instead of bytes. Those at the very end of the text stay as they are, as in Python. */
static bool count_characters(struct work *w, int64_t from) {
    const size_t n = w->original_size;
    uint32_t *number = work_room(w, (n + 1) * sizeof *number), count = 0;
    if (!number) return false;
    for (size_t i = 0; i < n; i++) {
        if ((w->original[i] & 0xC0) != 0x80) count++;
        number[i] = count - 1;
    }
    for (int64_t i = from; i < w->tokens.count; i++) {
        heed_token *t = &w->tokens.at[i];
        if (t->start >= n) continue;
        const uint32_t begin = number[t->start];
        t->end = t->end < n ? number[t->end] : t->end == n ? count : begin + 2;
        t->start = begin;
    }
    return true;
}

/* Adds the tokens of one text; of a text that is word number `word` among others they bear that number. */
static bool encode_text(struct work *w, const char *text, size_t size, bool bytes, int64_t word) {
    const int64_t from = w->tokens.count;
    if (!work_split(w, text, size)) return false;
    for (size_t i = 0; i < w->pieces.count; i++) {
        const struct piece p = w->pieces.at[i];
        if (i % 4096 == 4095 && heed_cancelled(w->cx)) return false;
        w->number = (int32_t)(word >= 0 ? word : (int64_t)i);
        w->piece = p.start;
        w->piece_size = p.size;
        if (!(p.id >= 0 ? work_token(w, p.id, 0, p.size, w->text + p.start, p.size)
                        : w->t->model->encode(w, w->text + p.start, p.size)))
            return false;
    }
    return !w->wanted || bytes || count_characters(w, from);
}

/* ---- lengths ---- */

/* The longer of two texts is cut first; then both to a half. */
static void shares(int64_t lengths[2], int64_t most) {
    const int longer = lengths[0] > lengths[1] ? 0 : 1;
    int64_t less = lengths[1 - longer], more = lengths[longer];
    if (less + more <= most) return;
    more = less > most ? less : most - less > less ? most - less : less;
    if (less + more > most) {
        less = most / 2;
        more = less + most % 2;
    }
    lengths[longer] = more < lengths[longer] ? more : lengths[longer];
    lengths[1 - longer] = less;
}

/* Cuts the tokens of the texts, of which the first ends at *first, to `most` in all. */
static void truncate_tokens(struct work *w, int64_t *first, int64_t most) {
    struct tokens *t = &w->tokens;
    int64_t lengths[2] = {*first, t->count - *first}, to = 0;
    const int64_t starts[2] = {0, *first}, had[2] = {lengths[0], lengths[1]};
    if (t->count <= most) return;
    shares(lengths, most);
    for (int i = 0; i < 2; i++) {
        const int64_t skip = w->t->truncate_left ? had[i] - lengths[i] : 0;
        memmove(t->at + to, t->at + starts[i] + skip, (size_t)lengths[i] * sizeof *t->at);
        to += lengths[i];
    }
    *first = lengths[0];
    t->count = to;
}

static bool pad_tokens(struct work *w, int64_t length) {
    const heed_tokenizer *t = w->t;
    static const char *const names[] = {"[PAD]", "<pad>", "<|pad|>", "<|endoftext|>"};
    heed_token pad = {.id = t->padding.id, .type = t->padding.type, .word = -1, .special = true, .padding = true};
    const char *text = t->padding.token.s;
    for (int i = 0; pad.id < 0 && i < 4; i++) pad.id = heed_tokenizer_id(t, text = names[i]);
    if (w->tokens.count >= length) return true;
    if (pad.id < 0) return heed_fail(w->cx, HEED_ERR_FORMAT, "encode: the tokenizer has no padding token");
    pad.text = (uint32_t)w->texts.size;
    pad.size = w->wanted ? (uint32_t)strlen(text) : 0;
    if (w->wanted && !heed_string_put(w->cx, &w->texts, text, pad.size)) return false;
    const int64_t had = w->tokens.count, more = length - had;
    while (w->tokens.count < length) {
        heed_token *made = tokens_add(w->cx, &w->tokens);
        if (!made) return false;
        *made = pad;
    }
    if (!t->padding.left) return true;
    memmove(w->tokens.at + more, w->tokens.at, (size_t)had * sizeof *w->tokens.at);
    for (int64_t i = 0; i < more; i++) w->tokens.at[i] = pad;
    return true;
}

/* ---- encoding ---- */

static bool check_text(heed_ctx *cx, const char *text, size_t size) {
    if (size > (size_t)1 << 30) return heed_fail(cx, HEED_ERR_RANGE, "encode: a text of more than a gigabyte");
    return utf8_check(cx, "encode", text, size);
}

static bool encode_words(struct work *w, const heed_encode_opts *o) {
    for (int64_t i = 0; i < o->n_words; i++)
        if (!check_text(w->cx, o->words[i].text, o->words[i].size) ||
            !encode_text(w, o->words[i].text, o->words[i].size, o->bytes, i))
            return false;
    return true;
}

/* The tokens of a text, or of two, in w->tokens. */
static bool encode(struct work *w, const char *text, size_t size, const heed_encode_opts *o) {
    struct bpe_drop drop = {.how = {.rate = w->t->bpe.dropout, .seed = heed_seed(w->cx)}};
    w->tokens.count = 0;
    w->texts.size = 0;
    w->type = 0;
    w->prefix_space = o->prefix_space;
    w->as_text = o->as_text;
    if (o->dropout) drop.how = *o->dropout;
    if (!o->dropout && drop.how.rate > 0) drop.how.stream = hash_bytes(1, text, size);
    w->drop = drop.how.rate > 0 ? &drop : NULL;
    if (o->words ? !encode_words(w, o) : !check_text(w->cx, text, size) || !encode_text(w, text, size, o->bytes, -1))
        return false;
    int64_t first = w->tokens.count;
    w->type = 1;
    if (o->pair && (!check_text(w->cx, o->pair, o->pair_size) || !encode_text(w, o->pair, o->pair_size, o->bytes, -1)))
        return false;
    if (o->truncate > 0) {
        const int64_t added = o->plain ? 0 : processors_added(&w->t->processors, o->pair);
        if (added > o->truncate)
            return heed_fail(w->cx, HEED_ERR_RANGE,
                             "encode: a maximum length of %lld is less than the %lld special tokens that are added",
                             (long long)o->truncate, (long long)added);
        truncate_tokens(w, &first, o->truncate - added);
    }
    if (!processors_run(w, first, o->pair, !o->plain)) return false;
    if (o->truncate > 0 && w->tokens.count > o->truncate) /* of a template that takes a text twice, or after another */
        return heed_fail(w->cx, HEED_ERR_RANGE,
                         "encode: the post-processor makes %lld tokens, the maximum length is %lld",
                         (long long)w->tokens.count, (long long)o->truncate);
    return o->pad <= 0 || pad_tokens(w, o->pad);
}

static bool put_ids(struct work *w, heed_ids *to) {
    const int64_t before = to->count;
    for (int64_t i = 0; i < w->tokens.count; i++)
        if (!heed_ids_put(w->cx, to, w->tokens.at[i].id)) return to->count = before, false;
    return true;
}

static bool encode_ids(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, const heed_encode_opts *o,
                       heed_ids *to) {
    if (heed_failed(cx)) return false;
    if (!t || !to || (!text && size > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "encode: the tokenizer, text or list of ids is NULL");
    struct work w = {.cx = cx, .t = t};
    const bool ok = encode(&w, text ? text : "", size, o) && put_ids(&w, to);
    work_free(&w);
    return ok;
}

bool heed_encode(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special, heed_ids *to) {
    return encode_ids(cx, t, text, size, &(heed_encode_opts){.plain = !special}, to);
}

bool heed_encode_dropout(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special,
                         const heed_merge_dropout *dropout, heed_ids *to) {
    if (heed_failed(cx)) return false;
    if (!dropout || !(dropout->rate >= 0 && dropout->rate <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "encode: the dropout rate must be between 0 and 1");
    return encode_ids(cx, t, text, size, &(heed_encode_opts){.plain = !special, .dropout = dropout}, to);
}

bool heed_encode_text(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size,
                      const heed_encode_opts *opts, heed_encoding *to) {
    static const heed_encode_opts standard = {0};
    if (heed_failed(cx)) return false;
    if (!t || !to || (!text && size > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "encode: the tokenizer, text or encoding is NULL");
    struct work w = {.cx = cx, .t = t, .wanted = true};
    w.tokens = (struct tokens){to->token, 0, to->room};
    w.texts = to->text;
    const bool ok = encode(&w, text ? text : "", size, opts ? opts : &standard);
    *to =
        (heed_encoding){.token = w.tokens.at, .count = ok ? w.tokens.count : 0, .room = w.tokens.room, .text = w.texts};
    w.tokens = (struct tokens){0};
    w.texts = (heed_string){0};
    work_free(&w);
    return ok;
}

void heed_encoding_free(heed_ctx *cx, heed_encoding *e) {
    if (!e) return;
    heed_mem_free(cx, e->token);
    heed_string_free(cx, &e->text);
    *e = (heed_encoding){0};
}

/* ---- many lines ---- */

struct batch {
    heed_ctx *cx;
    pthread_t caller;
    atomic_bool stopped;
    const heed_tokenizer *t;
    const heed_lines *lines;
    int64_t each; /* lines of a task */
    bool special;
    int64_t *start; /* of the caller: how many ids, until they are added up */
    struct share {
        heed_ctx *cx;
        heed_ids ids;
    } * shares;
};

/* Of a task: only the caller's thread asks the caller. */
static bool is_stopped(void *user) {
    struct batch *b = user;
    if (pthread_equal(pthread_self(), b->caller) && heed_cancelled(b->cx)) atomic_store(&b->stopped, true);
    return atomic_load_explicit(&b->stopped, memory_order_relaxed);
}

/* A task has a context of its own: the caller's must not be used by several threads. */
static void encode_share(void *arg, int64_t task, void *scratch) {
    const struct batch *b = arg;
    struct share *s = &b->shares[task];
    const int64_t first = task * b->each, last = first + b->each < b->lines->count ? first + b->each : b->lines->count;
    const heed_encode_opts o = {.plain = !b->special};
    struct work w = {.cx = s->cx, .t = b->t};
    (void)scratch;
    for (int64_t i = first; i < last && !heed_cancelled(s->cx); i++) {
        const int64_t before = s->ids.count;
        if (!encode(&w, heed_line_text(b->lines, i), heed_line_size(b->lines, i), &o) || !put_ids(&w, &s->ids)) break;
        b->start[i + 1] = s->ids.count - before;
    }
    work_free(&w);
}

static bool gather(heed_ctx *cx, struct batch *b, int64_t tasks, heed_ids *to) {
    int64_t count = to->count;
    for (int64_t task = 0; task < tasks; task++) {
        const struct share *s = &b->shares[task];
        if (heed_failed(s->cx)) return heed_fail(cx, heed_error(s->cx), "%s", heed_message(s->cx));
        count += s->ids.count;
    }
    if (count > to->room) {
        size_t bytes;
        int32_t *larger = size_mul((size_t)count, sizeof *larger, &bytes) ? heed_mem_resize(cx, to->id, bytes) : NULL;
        if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "encode: too many tokens");
        to->id = larger;
        to->room = count;
    }
    for (int64_t task = 0; task < tasks; task++) {
        const heed_ids *ids = &b->shares[task].ids;
        if (ids->count > 0) memcpy(to->id + to->count, ids->id, (size_t)ids->count * sizeof *ids->id);
        to->count += ids->count;
    }
    for (int64_t i = 0; i < b->lines->count; i++) b->start[i + 1] += b->start[i];
    return true;
}

bool heed_encode_lines(heed_ctx *cx, const heed_tokenizer *t, const heed_lines *lines, bool special, heed_ids *to,
                       int64_t *start) {
    if (heed_failed(cx)) return false;
    if (!t || !lines || !to || !start)
        return heed_fail(cx, HEED_ERR_USAGE, "encode: the tokenizer, lines or a list is NULL");
    const int64_t most = 8 * (int64_t)heed_threads(cx), each = (lines->count + most - 1) / most;
    const int64_t tasks = each > 0 ? (lines->count + each - 1) / each : 0, before = to->count;
    struct batch b = {.cx = cx, .caller = pthread_self(), .t = t, .lines = lines, .each = each, .special = special};
    b.start = start;
    b.shares = heed_mem_new(cx, (size_t)(tasks + 1) * sizeof *b.shares);
    bool ok = b.shares;
    int64_t made = 0;
    start[0] = before;
    for (; ok && made < tasks; made++) {
        b.shares[made].cx =
            heed_open(&(heed_config){.threads = 1, .seed = heed_seed(cx), .cancel = is_stopped, .user = &b});
        b.shares[made].ids = (heed_ids){0};
        if (!b.shares[made].cx) ok = heed_fail(cx, HEED_ERR_MEMORY, "encode: no memory for a context");
    }
    if (ok) heed_parallel(cx, tasks, encode_share, &b);
    ok = ok && !heed_cancelled(cx) && gather(cx, &b, tasks, to);
    if (!ok) to->count = before;
    for (int64_t i = 0; i < made; i++) {
        if (!b.shares[i].cx) continue;
        heed_ids_free(b.shares[i].cx, &b.shares[i].ids);
        heed_close(b.shares[i].cx);
    }
    heed_mem_free(cx, b.shares);
    return ok;
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
    return added >= 0 ? t->added[added].id : vocabulary_id(t, token, size);
}

int32_t heed_tokenizer_unknown(const heed_tokenizer *t) { return t ? t->unknown : -1; }

bool heed_tokenizer_is_special(const heed_tokenizer *t, int32_t id) {
    return t && id >= 0 && id < t->size && t->special[id];
}

void heed_tokenizer_free(heed_ctx *cx, heed_tokenizer *t) {
    if (!t) return;
    map_free(cx, &t->vocabulary);
    map_free(cx, &t->added_text);
    map_free(cx, &t->normal_text);
    finder_free(cx, &t->raw);
    finder_free(cx, &t->normalized);
    bpe_free(cx, &t->bpe);
    trie_free(cx, &t->trie);
    trie_free(cx, &t->wordpiece.inner);
    steps_free(cx, &t->normalizers);
    steps_free(cx, &t->pre_tokenizers);
    steps_free(cx, &t->decoders);
    processors_free(cx, &t->processors);
    heed_string_free(cx, &t->padding.token);
    void *const parts[] = {t->json,  t->added,         t->token,         t->token_size, t->special,
                           t->entry, t->unigram.score, t->unigram.entry, t->time,       t};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
}
