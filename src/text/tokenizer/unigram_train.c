/* Learning a unigram language model (Kudo 2018) as Python's `tokenizers` and SentencePiece do: all substrings that the
 * words repeat are pieces at first; expectation and maximisation give them probabilities, and between rounds those
 * pieces go whose loss costs the likelihood least, until few more are left than were asked for. */
#include "base/checked.h"
#include "text/tokenizer/tokenizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST  16      /* characters of a piece */
#define MAX_SEED 1000000 /* pieces to begin with */
#define SHRINK   0.75    /* what is kept of the pieces in a round */
#define ROUNDS   2       /* of expectation and maximisation before pieces are dropped */
#define RARE     0.5     /* an expected count below it: the piece goes */
#define PENALTY  10.0    /* of an unknown character, below the worst piece */

struct unit { /* a piece */
    const char *text;
    uint32_t size;
    double score;
    bool single; /* one character: it always stays */
};
struct units {
    struct unit *at;
    int64_t count, room;
};
struct learner {
    heed_ctx *cx;
    const struct map *words;
    struct units units;
    struct trie trie;
    double least; /* score */
    double *expected;
    double *alpha, *beta, *best; /* of a place of the word under way */
    int32_t *from, *by;          /* where the best piece that ends there begins, and which it is */
};

static bool add_unit(struct learner *l, const char *text, size_t size, double score, bool single) {
    struct units *u = &l->units;
    if (u->count == u->room) {
        const int64_t room = u->room ? 2 * u->room : 4096;
        struct unit *larger = heed_mem_resize(l->cx, u->at, (size_t)room * sizeof *larger);
        if (!larger) return false;
        u->at = larger;
        u->room = room;
    }
    u->at[u->count++] = (struct unit){text, (uint32_t)size, score, single};
    return true;
}

/* ---- the first pieces ---- */

static bool count_characters(struct learner *l, struct map *characters) {
    for (int64_t i = 0; i < l->words->count; i++) {
        const char *s = map_key(l->words, i), *end = s + map_size(l->words, i);
        while (s < end) {
            const char *start = s;
            utf8_next(&s, end);
            const int64_t entry = map_add(l->cx, characters, start, (size_t)(s - start));
            if (entry < 0) return false;
            characters->entries[entry].value += l->words->entries[i].value;
        }
    }
    return true;
}

/* A suffix of a word: where it begins, and where it ends after LONGEST characters and one more at most. */
struct suffix {
    const char *s, *stop;
};

static int by_text(const void *a, const void *b) {
    const struct suffix *x = a, *y = b;
    const size_t n = (size_t)(x->stop - x->s), m = (size_t)(y->stop - y->s);
    const int order = memcmp(x->s, y->s, n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

static struct suffix *list_suffixes(struct learner *l, int64_t *count) {
    size_t bytes;
    if (!size_mul(l->words->text.size + 1, sizeof(struct suffix), &bytes))
        return heed_fail(l->cx, HEED_ERR_RANGE, "train: the text is too large for unigram"), NULL;
    struct suffix *list = heed_mem_new(l->cx, bytes);
    int64_t n = 0;
    for (int64_t i = 0; list && i < l->words->count; i++) {
        const char *s = map_key(l->words, i), *end = s + map_size(l->words, i);
        for (const char *start = s; start < end; utf8_next(&start, end)) {
            const char *stop = start;
            for (int k = 0; k <= LONGEST && stop < end; k++) utf8_next(&stop, end);
            list[n++] = (struct suffix){start, stop};
        }
    }
    if (list) qsort(list, (size_t)n, sizeof *list, by_text);
    *count = n;
    return list;
}

/* Bytes of whole characters that two suffixes begin with together. */
static size_t common(struct suffix a, struct suffix b) {
    size_t n = 0;
    while (a.s + n < a.stop && b.s + n < b.stop && a.s[n] == b.s[n]) n++;
    while (n > 0 && a.s + n < a.stop && (a.s[n] & 0xC0) == 0x80) n--;
    return n;
}

static int characters_of(const char *s, size_t size) {
    int n = 0;
    for (size_t i = 0; i < size; i++) n += (s[i] & 0xC0) != 0x80;
    return n;
}

/* A text that at least two suffixes begin with and that the next character tells apart: `times` of them. */
static bool offer(struct learner *l, const char *s, size_t size, int64_t times) {
    const int n = characters_of(s, size);
    return n < 2 || n > LONGEST || add_unit(l, s, size, (double)times * n, false);
}

/* Neighbours in the order of suffixes share prefixes: open ones wait on a stack until they end. */
static bool repeated_texts(struct learner *l, const struct suffix *list, int64_t n) {
    struct open {
        size_t size;
        int64_t first;
    } stack[4 * LONGEST + 8];
    int depth = 0;
    bool ok = true;
    for (int64_t i = 1; ok && i <= n; i++) {
        const size_t shared = i < n ? common(list[i - 1], list[i]) : 0;
        int64_t first = i - 1;
        while (ok && depth > 0 && stack[depth - 1].size > shared) {
            first = stack[--depth].first;
            ok = offer(l, list[first].s, stack[depth].size, i - first);
        }
        if (shared > 0 && (depth == 0 || stack[depth - 1].size < shared)) stack[depth++] = (struct open){shared, first};
    }
    return ok;
}

static int by_score(const void *a, const void *b) {
    const struct unit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return order ? -order : x->size < y->size ? 1 : x->size > y->size ? -1 : 0;
}

static bool first_units(struct learner *l, struct map *characters) {
    int64_t n = 0;
    if (!count_characters(l, characters)) return false;
    for (int64_t i = 0; i < characters->count; i++)
        if (!add_unit(l, map_key(characters, i), map_size(characters, i), (double)characters->entries[i].value, true))
            return false;
    const int64_t singles = l->units.count;
    qsort(l->units.at, (size_t)singles, sizeof *l->units.at, by_score);
    struct suffix *list = list_suffixes(l, &n);
    const bool ok = list && repeated_texts(l, list, n);
    heed_mem_free(l->cx, list);
    if (!ok) return false;
    qsort(l->units.at + singles, (size_t)(l->units.count - singles), sizeof *l->units.at, by_score);
    if (l->units.count > MAX_SEED) l->units.count = MAX_SEED > singles ? MAX_SEED : singles;
    double sum = 0;
    for (int64_t i = 0; i < l->units.count; i++) sum += l->units.at[i].score;
    for (int64_t i = 0; i < l->units.count; i++) l->units.at[i].score = log(l->units.at[i].score) - log(sum);
    return true;
}

/* ---- the model of a round ---- */

static bool build_trie(struct learner *l) {
    const int64_t n = l->units.count;
    struct trie_key *keys = heed_mem_new(l->cx, (size_t)(n + 1) * sizeof *keys);
    if (!keys) return false;
    l->least = HUGE_VAL;
    for (int64_t i = 0; i < n; i++) {
        keys[i] = (struct trie_key){l->units.at[i].text, l->units.at[i].size, (int32_t)i};
        if (l->units.at[i].score < l->least) l->least = l->units.at[i].score;
    }
    trie_free(l->cx, &l->trie);
    const bool ok = trie_build(l->cx, &l->trie, keys, n);
    heed_mem_free(l->cx, keys);
    return ok;
}

/* Every piece that begins at a place of a word is shown; a character that none covers alone is piece -1. */
typedef void (*shown_fn)(struct learner *l, size_t start, size_t end, int32_t unit, double score, void *user);
static void show_pieces(struct learner *l, const char *s, size_t size, size_t start, shown_fn show, void *user) {
    const unsigned char lead = (unsigned char)s[start];
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    bool single = false;
    uint32_t place = 0;
    for (size_t i = start; i < size && (place = trie_step(&l->trie, place, (uint8_t)s[i])); i++) {
        const int32_t unit = l->trie.value[place];
        if (unit < 0) continue;
        show(l, start, i + 1, unit, l->units.at[unit].score, user);
        single = single || i + 1 - start == length;
    }
    if (!single) show(l, start, start + length, -1, l->least - PENALTY, user);
}

static size_t next_place(const char *s, size_t at) {
    const unsigned char lead = (unsigned char)s[at];
    return at + (lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4);
}

static double log_sum(double a, double b) { /* log(exp(a) + exp(b)) */
    const double high = a > b ? a : b, low = a > b ? b : a;
    return high - low > 50 ? high : high + log(exp(low - high) + 1);
}

/* ---- expectation and maximisation ---- */

static void add_alpha(struct learner *l, size_t start, size_t end, int32_t unit, double score, void *user) {
    (void)unit, (void)user;
    const double way = l->alpha[start] + score;
    l->alpha[end] = l->alpha[end] == -HUGE_VAL ? way : log_sum(l->alpha[end], way);
}

static void add_beta(struct learner *l, size_t start, size_t end, int32_t unit, double score, void *user) {
    (void)unit, (void)user;
    const double way = l->beta[end] + score;
    l->beta[start] = l->beta[start] == -HUGE_VAL ? way : log_sum(l->beta[start], way);
}

struct expecting {
    double times, all;
};
static void add_expected(struct learner *l, size_t start, size_t end, int32_t unit, double score, void *user) {
    const struct expecting *e = user;
    if (unit >= 0) l->expected[unit] += e->times * exp(l->alpha[start] + score + l->beta[end] - e->all);
}

static void expect_word(struct learner *l, int64_t word) {
    const char *s = map_key(l->words, word);
    const size_t size = map_size(l->words, word);
    for (size_t i = 0; i <= size; i++) l->alpha[i] = l->beta[i] = -HUGE_VAL;
    l->alpha[0] = l->beta[size] = 0;
    for (size_t i = 0; i < size; i = next_place(s, i)) show_pieces(l, s, size, i, add_alpha, NULL);
    for (size_t i = size; i-- > 0;)
        if ((s[i] & 0xC0) != 0x80) show_pieces(l, s, size, i, add_beta, NULL);
    struct expecting e = {(double)l->words->entries[word].value, l->alpha[size]};
    for (size_t i = 0; i < size; i = next_place(s, i)) show_pieces(l, s, size, i, add_expected, &e);
}

static double digamma(double x) {
    double result = 0;
    for (; x < 7; x++) result -= 1 / x;
    x -= 0.5;
    const double inverse = 1 / x, square = inverse * inverse, fourth = square * square;
    return result + log(x) + square / 24 - 7.0 / 960 * fourth + 31.0 / 8064 * fourth * square -
           127.0 / 30720 * fourth * fourth;
}

/* One round: expected counts, pieces that are too rare dropped, scores from the rest (a sparse prior: Liang and Klein
 * 2007). */
static bool improve(struct learner *l) {
    if (!build_trie(l)) return false;
    double *expected = heed_mem_resize(l->cx, l->expected, (size_t)(l->units.count + 1) * sizeof *expected);
    if (!expected) return false;
    l->expected = expected;
    for (int64_t i = 0; i < l->units.count; i++) l->expected[i] = 0;
    for (int64_t i = 0; i < l->words->count && !heed_failed(l->cx); i++) {
        expect_word(l, i);
        if (i % 4096 == 0 && heed_cancelled(l->cx)) return false;
    }
    int64_t kept = 0;
    double sum = 0;
    for (int64_t i = 0; i < l->units.count; i++) {
        if (!(l->expected[i] >= RARE)) continue;
        l->units.at[kept] = l->units.at[i];
        l->units.at[kept++].score = l->expected[i];
        sum += l->expected[i];
    }
    l->units.count = kept;
    for (int64_t i = 0; i < kept; i++) l->units.at[i].score = digamma(l->units.at[i].score) - digamma(sum);
    return true;
}

/* ---- dropping pieces ---- */

struct passing {
    size_t whole; /* a piece of this size from the beginning is passed over; 0: none */
};
static void add_best(struct learner *l, size_t start, size_t end, int32_t unit, double score, void *user) {
    const struct passing *p = user;
    const double way = l->best[start] + score;
    if (start == 0 && end == p->whole) return;
    if (l->from[end] >= 0 && !(way > l->best[end])) return;
    l->best[end] = way;
    l->from[end] = (int32_t)start;
    l->by[end] = unit;
}

/* The best way through a text; false when there is none. */
static bool find_best(struct learner *l, const char *s, size_t size, size_t pass_over) {
    struct passing p = {pass_over};
    for (size_t i = 1; i <= size; i++) l->from[i] = -1;
    l->best[0] = 0;
    l->from[0] = 0;
    for (size_t i = 0; i < size; i = next_place(s, i))
        if (l->from[i] >= 0) show_pieces(l, s, size, i, add_best, &p);
    return l->from[size] >= 0;
}

struct candidate {
    int64_t unit;
    double loss;
};
static int by_loss(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* How much the likelihood falls when piece `unit` is said by others; -1: it can go, -2: it must stay. */
static double loss_of(struct learner *l, int64_t unit, const double *seen, double sum, double words) {
    const struct unit *u = &l->units.at[unit];
    const bool other = find_best(l, u->text, u->size, u->size);
    if (!other || (u->single && l->by[u->size] < 0)) return -2;
    if (l->best[u->size] > u->score) return seen[unit] > 0 ? -2 : -1;
    if (seen[unit] <= 0) return -1;
    double parts = 0, alternative = 0;
    for (size_t at = u->size; at > 0; at = (size_t)l->from[at]) parts++;
    const double all = log(sum + seen[unit] * (parts - 1));
    for (size_t at = u->size; at > 0; at = (size_t)l->from[at])
        alternative += log((l->by[at] < 0 ? 0 : seen[l->by[at]]) + seen[unit]) - all;
    return fabs(seen[unit] / words * (log(seen[unit]) - log(sum) - alternative));
}

static bool prune(struct learner *l, int64_t wanted) {
    const int64_t n = l->units.count;
    double *seen = heed_mem_new(l->cx, (size_t)(n + 1) * sizeof *seen), sum = 0, words = 0;
    struct candidate *list = heed_mem_new(l->cx, (size_t)(n + 1) * sizeof *list);
    bool *stays = heed_mem_new(l->cx, (size_t)(n + 1) * sizeof *stays);
    bool ok = seen && list && stays && build_trie(l);
    for (int64_t i = 0; ok && i < n; i++) seen[i] = 0, stays[i] = false;
    for (int64_t i = 0; ok && i < l->words->count; i++) {
        const double times = (double)l->words->entries[i].value;
        const size_t size = map_size(l->words, i);
        words += times;
        if (!find_best(l, map_key(l->words, i), size, 0)) continue;
        for (size_t at = size; at > 0; at = (size_t)l->from[at])
            if (l->by[at] >= 0) seen[l->by[at]] += times, sum += times;
    }
    int64_t count = 0, kept = 0;
    for (int64_t i = 0; ok && i < n; i++) {
        const double loss = loss_of(l, i, seen, sum, words);
        if (loss == -2)
            stays[i] = true, kept++;
        else if (loss != -1)
            list[count++] = (struct candidate){i, loss};
    }
    if (ok) {
        const int64_t part = (int64_t)((double)n * SHRINK), most = part > wanted ? part : wanted;
        qsort(list, (size_t)count, sizeof *list, by_loss);
        for (int64_t i = 0; i < count && kept < most; i++, kept++) stays[list[i].unit] = true;
        kept = 0;
        for (int64_t i = 0; i < n; i++)
            if (stays[i]) l->units.at[kept++] = l->units.at[i];
        l->units.count = kept;
    }
    heed_mem_free(l->cx, seen);
    heed_mem_free(l->cx, list);
    heed_mem_free(l->cx, stays);
    return ok;
}

/* ---- all of it ---- */

static bool learn(struct learner *l, int64_t wanted) {
    const int64_t start = l->units.count;
    for (;;) {
        for (int i = 0; i < ROUNDS; i++)
            if (!improve(l)) return false;
        heed_progress(l->cx, "pieces", start - l->units.count, start - wanted);
        const int64_t before = l->units.count;
        if (before <= wanted) return true;
        if (!prune(l, wanted)) return false;
        if (l->units.count == before) return true; /* all must stay */
    }
}

/* Every character is a token: one that has gone gets a score below all others. Then the best of the rest. */
static bool take_tokens(struct learner *l, const struct map *characters, int64_t most, struct map *tokens,
                        double **scores) {
    const int64_t specials = tokens->count;
    double *list = heed_mem_new(l->cx, (size_t)(most + characters->count + specials + 1) * sizeof *list);
    struct units chosen = {0}, all = l->units;
    struct map known = {0};
    double penalty = 0;
    bool ok = list && build_trie(l);
    const double least = l->least < 0 ? l->least : 0;
    l->units = chosen;
    for (int64_t i = 0; ok && i < characters->count; i++) {
        const char *s = map_key(characters, i);
        const size_t size = map_size(characters, i);
        uint32_t place = 0;
        for (size_t k = 0; k < size && (k == 0 || place); k++) place = trie_step(&l->trie, place, (uint8_t)s[k]);
        const int32_t unit = place ? l->trie.value[place] : -1;
        ok = map_add(l->cx, &known, s, size) >= 0 &&
             add_unit(l, s, size, unit >= 0 ? all.at[unit].score : least + penalty, true);
        if (unit < 0) penalty += 0.0001;
    }
    qsort(all.at, (size_t)all.count, sizeof *all.at, by_score);
    for (int64_t i = 0; ok && i < all.count && specials + l->units.count < most; i++)
        if (map_find(&known, all.at[i].text, all.at[i].size) < 0)
            ok = add_unit(l, all.at[i].text, all.at[i].size, all.at[i].score, false);
    qsort(l->units.at, (size_t)l->units.count, sizeof *l->units.at, by_score);
    for (int64_t i = 0; ok && i < specials; i++) list[i] = 0;
    for (int64_t i = 0; ok && i < l->units.count; i++) {
        const struct unit *u = &l->units.at[i];
        if (memchr(u->text, 0, u->size) || map_find(tokens, u->text, u->size) >= 0) continue;
        const int64_t entry = map_add(l->cx, tokens, u->text, u->size);
        ok = entry >= 0;
        if (ok) list[entry] = u->score;
    }
    map_free(l->cx, &known);
    heed_mem_free(l->cx, l->units.at);
    l->units = all;
    *scores = list;
    return ok;
}

static bool make_room(struct learner *l) {
    size_t most = LONGEST * 4 + 8;
    for (int64_t i = 0; i < l->words->count; i++)
        if (map_size(l->words, i) + 1 > most) most = map_size(l->words, i) + 1;
    if (most > INT32_MAX) return heed_fail(l->cx, HEED_ERR_RANGE, "train: a word is too long for unigram");
    l->alpha = heed_mem_new(l->cx, most * sizeof *l->alpha);
    l->beta = heed_mem_new(l->cx, most * sizeof *l->beta);
    l->best = heed_mem_new(l->cx, most * sizeof *l->best);
    l->from = heed_mem_new(l->cx, most * sizeof *l->from);
    l->by = heed_mem_new(l->cx, most * sizeof *l->by);
    return l->alpha && l->beta && l->best && l->from && l->by;
}

bool unigram_learn(heed_ctx *cx, const struct map *words, int64_t most, struct map *tokens, double **scores) {
    struct learner l = {.cx = cx, .words = words};
    struct map characters = {0};
    const int64_t specials = tokens->count;
    bool ok = make_room(&l) && first_units(&l, &characters);
    if (ok && specials + characters.count > most)
        ok = heed_fail(cx, HEED_ERR_RANGE,
                       "train: a vocabulary of %lld cannot hold %lld special tokens and %lld characters",
                       (long long)most, (long long)specials, (long long)characters.count);
    ok = ok && learn(&l, most * 11 / 10) && take_tokens(&l, &characters, most, tokens, scores);
    trie_free(cx, &l.trie);
    map_free(cx, &characters);
    void *const parts[] = {l.units.at, l.expected, l.alpha, l.beta, l.best, l.from, l.by};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    return ok;
}
