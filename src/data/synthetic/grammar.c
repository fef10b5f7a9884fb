/* Pairs of sentences by number: drawn, written, and drawn again until one belongs to the part that is asked for.
 *
 * A sentence is held out by its English text alone, so that no training pair, whatever its seed, is one. */
#include "data/synthetic/grammar.h"
#include "data/data.h"

#include "base/checked.h"
#include "base/ctx.h"

#include <string.h>

#define STREAMS  ((uint64_t)3 << 62) /* the streams of sentences, apart from those of pictures, epochs and layers */
#define HELD_OUT 16                  /* one sentence in so many */
#define SHARES   1000                /* the casual ones are counted in thousandths */

static heed_grammar_kind draw_kind(struct draws *d) {
    static const struct {
        heed_grammar_kind kind;
        int percent;
    } shares[] = {{HEED_GRAMMAR_PLAIN, 24},    {HEED_GRAMMAR_RELATIVE, 18}, {HEED_GRAMMAR_CLAUSE, 18},
                  {HEED_GRAMMAR_QUESTION, 10}, {HEED_GRAMMAR_JOINED, 10},   {HEED_GRAMMAR_PRONOUN, 20}};
    int roll = draw_below(d, 100), i = 0;
    while ((roll -= shares[i].percent) >= 0) i++;
    return shares[i].kind;
}

/* What the demo shows, it must not have learnt by heart. */
const char *const grammar_shown[GRAMMAR_SHOWN] = {
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "A bird flies through the window.",
    "The woman is walking along the river bank.",
    "The dogs that the old man near the bridge sees are tired.",
};

bool heed_grammar_held_out(const char *english) {
    if (!english) return false;
    for (int i = 0; i < GRAMMAR_SHOWN; i++)
        if (strcmp(english, grammar_shown[i]) == 0) return true;
    uint64_t hash = UINT64_C(0xCBF29CE484222325); /* FNV-1a, its high bits, which all bytes reach */
    for (const char *s = english; *s; s++) hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001B3);
    return (hash >> 32) % HELD_OUT == 0;
}

struct pair {
    struct writing english, german;
    heed_grammar_kind kind;
};

/* The first letter is the only capital of an English sentence, and its last character the only stop. */
static void write_casually(struct writing *english, struct draws *d) {
    const int way = draw_below(d, 4); /* 0: no capital; 1: no stop; else: neither */
    if (way != 1 && english->text[0] >= 'A' && english->text[0] <= 'Z') english->text[0] += 'a' - 'A';
    if (way != 0) english->text[--english->size] = 0;
}

static void make_pair(const heed_grammar *g, uint64_t index, struct pair *pair) {
    struct drawn d = {.draws = {.seed = g->seed, .stream = STREAMS + index}};
    do {
        pair->kind = g->kind == HEED_GRAMMAR_ANY ? draw_kind(&d.draws) : g->kind;
        draw_sentence(&d, pair->kind);
        pair->english = pair->german = (struct writing){.size = 0};
        write_english(&pair->english, &d.sentence);
        write_german(&pair->german, &d.sentence);
    } while (pair->english.words > GRAMMAR_WORDS || pair->german.words > GRAMMAR_WORDS ||
             (g->part != HEED_GRAMMAR_WHOLE &&
              heed_grammar_held_out(pair->english.text) != (g->part == HEED_GRAMMAR_HELD_OUT)));
    if (g->casual > 0 && draw_below(&d.draws, SHARES) < (int)(g->casual * SHARES + 0.5))
        write_casually(&pair->english, &d.draws);
}

static bool check(heed_ctx *cx, const char *op, const heed_grammar *g, const void *english, const void *german) {
    if (heed_failed(cx)) return false;
    if (!g) return heed_fail(cx, HEED_ERR_USAGE, "%s: the grammar is NULL", op);
    if (!english || !german) return heed_fail(cx, HEED_ERR_USAGE, "%s: a place for the sentences is NULL", op);
    if ((unsigned)g->part > HEED_GRAMMAR_HELD_OUT)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: part %d: there is no such part", op, (int)g->part);
    if ((unsigned)g->kind > HEED_GRAMMAR_PRONOUN)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: kind %d: there is no such kind", op, (int)g->kind);
    if (!(g->casual >= 0 && g->casual <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: the casual share is %g: must be 0 to 1", op, g->casual);
    return true;
}

/* Adds both or neither, each with `more` of its bytes behind the text: 1 takes the 0 that ends it. */
static bool put_pair(heed_ctx *cx, const struct pair *pair, size_t more, heed_string *english, heed_string *german) {
    const size_t size = english->size;
    if (!heed_string_put(cx, english, pair->english.text, pair->english.size + more)) return false;
    if (heed_string_put(cx, german, pair->german.text, pair->german.size + more)) return true;
    english->size = size;
    english->s[size] = 0;
    return false;
}

bool heed_grammar_pair(heed_ctx *cx, const heed_grammar *g, uint64_t index, heed_string *english, heed_string *german,
                       heed_grammar_kind *kind) {
    struct pair pair;
    if (!check(cx, "grammar_pair", g, english, german)) return false;
    make_pair(g, index, &pair);
    if (!put_pair(cx, &pair, 0, english, german)) return false;
    if (kind) *kind = pair.kind;
    return true;
}

bool heed_grammar_lines(heed_ctx *cx, const heed_grammar *g, uint64_t first, int64_t n, heed_lines *english,
                        heed_lines *german) {
    heed_string text[2] = {{0}, {0}};
    int64_t *start[2] = {NULL, NULL};
    size_t bytes;
    if (!check(cx, "grammar_lines", g, english, german)) return false;
    if (n < 1) return heed_fail(cx, HEED_ERR_RANGE, "grammar_lines: %lld pairs: must be 1 or more", (long long)n);
    if (!size_mul((size_t)n + 1, sizeof(int64_t), &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "grammar_lines: too many pairs");
    bool ok = (start[0] = heed_mem_new(cx, bytes)) && (start[1] = heed_mem_new(cx, bytes));
    for (int64_t i = 0; ok && i <= n; i++) {
        start[0][i] = (int64_t)text[0].size;
        start[1][i] = (int64_t)text[1].size;
        if (i == n) break;
        struct pair pair;
        make_pair(g, first + (uint64_t)i, &pair);
        ok = put_pair(cx, &pair, 1, &text[0], &text[1]);
    }
    if (ok) {
        *english = (heed_lines){text[0].s, start[0], n};
        *german = (heed_lines){text[1].s, start[1], n};
        return true;
    }
    for (int k = 0; k < 2; k++) {
        heed_string_free(cx, &text[k]);
        heed_mem_free(cx, start[k]);
    }
    return false;
}

/* ---- the pronoun ---- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80; }

/* The word at *s, which is moved behind it; its length is 0 at the end. */
static size_t next_word(const char **s, const char **word) {
    while (**s && !is_letter(**s)) (*s)++;
    *word = *s;
    while (is_letter(**s)) (*s)++;
    return (size_t)(*s - *word);
}

static bool is_word(const char *word, size_t size, const char *is) {
    return size == strlen(is) && memcmp(word, is, size) == 0;
}

const char *heed_grammar_pronoun(const char *german) {
    static const char *const pronouns[] = {"er", "sie", "es"};
    const char *word;
    for (size_t size; german && (size = next_word(&german, &word)) > 0;) {
        if (!is_word(word, size, "weil") && !is_word(word, size, "obwohl")) continue;
        size = next_word(&german, &word);
        for (int i = 0; i < 3; i++)
            if (is_word(word, size, pronouns[i])) return pronouns[i];
        return NULL;
    }
    return NULL;
}
