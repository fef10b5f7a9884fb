/* The bilingual corpus: one German for each English sentence, held-out sentences apart, every word of the tables used,
 * "it" translated as the adjective tells, and the sentences of the demo among those held out. */
#include "data/synthetic/grammar.h"
#include "io/io_test.h"

enum { MANY = 200000, BUCKETS = 1 << 20 };

/* ---- a map of strings that others keep ---- */

struct map {
    const char **key, **value;
    int64_t count;
};
static struct map map_new(void) {
    return (struct map){calloc(BUCKETS, sizeof(char *)), calloc(BUCKETS, sizeof(char *)), 0};
}
static void map_free(struct map *m) {
    free(m->key);
    free(m->value);
}
/* The bucket of key, or the empty one where it would be. */
static size_t map_find(const struct map *m, const char *key) {
    size_t at = 5381;
    for (const char *s = key; *s; s++) at = at * 33 + (unsigned char)*s;
    for (at = at * 2654435761u >> 7 & (BUCKETS - 1); m->key[at] && strcmp(m->key[at], key) != 0;)
        at = (at + 1) & (BUCKETS - 1);
    return at;
}
static const char *map_put(struct map *m, const char *key, const char *value) {
    const size_t at = map_find(m, key);
    if (!m->key[at]) {
        m->key[at] = key;
        m->value[at] = value;
        m->count++;
    }
    return m->value[at];
}
static bool map_has(const struct map *m, const char *key) { return m->key[map_find(m, key)]; }

static void make_lines(heed_ctx *cx, heed_grammar g, int64_t n, heed_lines *english, heed_lines *german) {
    assert_true(heed_grammar_lines(cx, &g, 0, n, english, german));
    assert_int_equal(english->count, n);
    assert_int_equal(german->count, n);
}

/* ---- the corpus ---- */

static int count_words(const char *s) {
    int n = 1;
    for (; *s; s++) n += *s == ' ';
    return n;
}

/* A capital, one blank between words, no blank before a stop, and the stop at the end. */
static void check_text(const char *s) {
    const size_t size = strlen(s);
    const bool umlaut = (unsigned char)s[0] == 0xC3 && (unsigned char)s[1] < 0xA0;
    assert_true((s[0] >= 'A' && s[0] <= 'Z') || umlaut);
    assert_true(s[size - 1] == '.' || s[size - 1] == '?');
    assert_null(strstr(s, "  "));
    assert_null(strstr(s, " ,"));
    assert_null(strstr(s, ",,"));
    assert_null(strstr(s, ",."));
    assert_non_null(strchr(s, ' '));
    assert_ptr_equal(strpbrk(s, ".?"), s + size - 1);
    assert_in_range(count_words(s), 3, GRAMMAR_WORDS);
}

static void test_one_to_one(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_lines english, german;
    make_lines(cx, (heed_grammar){.seed = 1}, MANY, &english, &german);
    struct map map = map_new();
    int64_t words = 0, held_out = 0;
    for (int64_t i = 0; i < MANY; i++) {
        const char *e = heed_line_text(&english, i), *g = heed_line_text(&german, i);
        check_text(e);
        check_text(g);
        assert_string_equal(map_put(&map, e, g), g);
        words += count_words(e);
        held_out += heed_grammar_held_out(e);
    }
    assert_true(map.count > MANY * 9 / 10);
    assert_in_range(words, 9 * MANY, 11 * MANY);
    assert_in_range(held_out, MANY / 17, MANY / 15);
    map_free(&map);
    heed_lines_free(cx, &english);
    heed_lines_free(cx, &german);
    close_context(cx);
}

static void test_parts(void **state) {
    (void)state;
    enum { OUT = 10000 };
    heed_ctx *cx = open_context();
    heed_lines train[2], out[2];
    make_lines(cx, (heed_grammar){.seed = 7, .part = HEED_GRAMMAR_TRAIN}, MANY, &train[0], &train[1]);
    make_lines(cx, (heed_grammar){.seed = 7, .part = HEED_GRAMMAR_HELD_OUT}, OUT, &out[0], &out[1]);
    struct map trained = map_new();
    for (int64_t i = 0; i < MANY; i++) {
        map_put(&trained, heed_line_text(&train[0], i), heed_line_text(&train[1], i));
        assert_false(heed_grammar_held_out(heed_line_text(&train[0], i)));
    }
    for (int64_t i = 0; i < OUT; i++) {
        assert_false(map_has(&trained, heed_line_text(&out[0], i)));
        assert_true(heed_grammar_held_out(heed_line_text(&out[0], i)));
    }
    map_free(&trained);
    for (int k = 0; k < 2; k++) {
        heed_lines_free(cx, &train[k]);
        heed_lines_free(cx, &out[k]);
    }
    assert_false(heed_grammar_held_out(NULL));
    close_context(cx);
}

/* Pair i is the same alone and among others, and another one under another seed. */
static void test_numbers(void **state) {
    (void)state;
    enum { FEW = 2000 };
    heed_ctx *cx = open_context();
    heed_lines english, german;
    heed_string e = {0}, g = {0};
    const heed_grammar grammar = {.seed = 3, .part = HEED_GRAMMAR_TRAIN};
    int others = 0;
    assert_true(heed_grammar_lines(cx, &grammar, 5, FEW, &english, &german));
    for (int64_t i = FEW - 1; i >= 0; i--) {
        e.size = g.size = 0;
        assert_true(heed_grammar_pair(cx, &grammar, (uint64_t)i + 5, &e, &g, NULL));
        assert_string_equal(e.s, heed_line_text(&english, i));
        assert_string_equal(g.s, heed_line_text(&german, i));
        assert_int_equal(heed_line_size(&english, i), e.size);
        e.size = 0;
        assert_true(heed_grammar_pair(cx, &(heed_grammar){.seed = 4}, (uint64_t)i + 5, &e, &g, NULL));
        others += strcmp(e.s, heed_line_text(&english, i)) != 0;
    }
    assert_true(others > FEW * 99 / 100);
    e.size = g.size = 0;
    for (uint64_t i = 5; i < 7; i++) assert_true(heed_grammar_pair(cx, &grammar, i, &e, &g, NULL));
    assert_int_equal(e.size, heed_line_size(&english, 0) + heed_line_size(&english, 1)); /* added, not replaced */
    heed_string_free(cx, &e);
    heed_string_free(cx, &g);
    heed_lines_free(cx, &english);
    heed_lines_free(cx, &german);
    close_context(cx);
}

static void test_kinds(void **state) {
    (void)state;
    enum { DRAWN = 20000 };
    static const int percent[] = {
        [HEED_GRAMMAR_PLAIN] = 24,    [HEED_GRAMMAR_RELATIVE] = 18, [HEED_GRAMMAR_CLAUSE] = 18,
        [HEED_GRAMMAR_QUESTION] = 10, [HEED_GRAMMAR_JOINED] = 10,   [HEED_GRAMMAR_PRONOUN] = 20};
    heed_ctx *cx = open_context();
    heed_string e = {0}, g = {0};
    int count[HEED_GRAMMAR_PRONOUN + 1] = {0};
    for (uint64_t i = 0; i < DRAWN; i++) {
        heed_grammar_kind kind;
        e.size = g.size = 0;
        assert_true(heed_grammar_pair(cx, &(heed_grammar){.seed = 2}, i, &e, &g, &kind));
        assert_in_range(kind, HEED_GRAMMAR_PLAIN, HEED_GRAMMAR_PRONOUN);
        count[kind]++;
        assert_true((kind == HEED_GRAMMAR_QUESTION) == (strchr(e.s, '?') != NULL));
        assert_true((kind == HEED_GRAMMAR_QUESTION) == (strchr(g.s, '?') != NULL));
        if (kind == HEED_GRAMMAR_RELATIVE)
            assert_true(strchr(g.s, ',') && (strstr(e.s, " that ") || strstr(e.s, " who ")));
        if (kind == HEED_GRAMMAR_PLAIN) assert_null(strchr(g.s, ','));
        if (kind == HEED_GRAMMAR_CLAUSE) assert_non_null(strchr(g.s, ','));
        if (kind == HEED_GRAMMAR_JOINED) assert_true(strstr(g.s, " und ") || strstr(g.s, ", aber "));
    }
    for (int k = HEED_GRAMMAR_PLAIN; k <= HEED_GRAMMAR_PRONOUN; k++)
        assert_in_range(count[k], (percent[k] - 1) * DRAWN / 100, (percent[k] + 1) * DRAWN / 100);
    heed_string_free(cx, &e);
    heed_string_free(cx, &g);
    close_context(cx);
}

/* The same pairs, some of them without capital or stop; never one that is held out. */
static void test_casual(void **state) {
    (void)state;
    enum { FEW = 20000 };
    heed_ctx *cx = open_context();
    heed_lines whole[2], casual[2];
    int count[4] = {0};
    make_lines(cx, (heed_grammar){.seed = 6, .part = HEED_GRAMMAR_TRAIN}, FEW, &whole[0], &whole[1]);
    make_lines(cx, (heed_grammar){.seed = 6, .part = HEED_GRAMMAR_TRAIN, .casual = 0.4}, FEW, &casual[0], &casual[1]);
    for (int64_t i = 0; i < FEW; i++) {
        const char *e = heed_line_text(&casual[0], i), *other = heed_line_text(&whole[0], i);
        assert_string_equal(heed_line_text(&casual[1], i), heed_line_text(&whole[1], i));
        const bool small = e[0] >= 'a' && e[0] <= 'z', open = !strchr(".?", e[strlen(e) - 1]);
        assert_int_equal(e[0], small ? other[0] + 32 : other[0]);
        assert_int_equal(strlen(e), strlen(other) - open);
        assert_int_equal(heed_line_size(&casual[0], i), strlen(e));
        assert_memory_equal(e + 1, other + 1, strlen(e) - 1);
        count[2 * open + small]++;
    }
    assert_in_range(count[0], FEW * 58 / 100, FEW * 62 / 100);
    assert_in_range(count[1], FEW * 9 / 100, FEW * 11 / 100);
    assert_in_range(count[2], FEW * 9 / 100, FEW * 11 / 100);
    assert_in_range(count[3], FEW * 19 / 100, FEW * 21 / 100);
    for (int k = 0; k < 2; k++) {
        heed_lines_free(cx, &whole[k]);
        heed_lines_free(cx, &casual[k]);
    }
    close_context(cx);
}

/* ---- words ---- */

static void small_letters(char *s) {
    for (; *s; s++) {
        if (*s >= 'A' && *s <= 'Z') *s = (char)(*s + 32);
        if ((unsigned char)s[0] == 0xC3 && (unsigned char)s[1] < 0x9F) s[1] = (char)(s[1] + 32);
    }
}

static void put_words(struct map *m, char *text) {
    small_letters(text);
    for (char *word = strtok(text, " ,.?"); word; word = strtok(NULL, " ,.?")) map_put(m, word, word);
}

static void expect_words(const struct map *m, const char *words, const char *ending) {
    char text[128];
    if (!words) return;
    snprintf(text, sizeof text, "%s%s", words, ending);
    small_letters(text);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        if (!map_has(m, word)) print_error("'%s' is never said\n", word);
        assert_true(map_has(m, word));
    }
}

static void expect_verb(const struct map *e, const struct map *g, const struct verb *v) {
    const char *const english[] = {v->base, v->third, v->past, v->going, v->particle};
    for (int i = 0; i < 5; i++) expect_words(e, english[i], "");
    for (int i = 0; i < 4; i++) {
        char joined[64];
        expect_words(g, v->german[i], "");
        snprintf(joined, sizeof joined, "%s%s", v->prefix ? v->prefix : "", v->german[i]);
        expect_words(g, joined, "");
    }
    expect_words(g, v->prefix, "");
}

static void test_words(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_lines english, german;
    make_lines(cx, (heed_grammar){.seed = 5, .part = HEED_GRAMMAR_TRAIN}, MANY, &english, &german);
    struct map e = map_new(), g = map_new();
    for (int64_t i = 0; i < MANY; i++) {
        put_words(&e, english.text + english.start[i]);
        put_words(&g, german.text + german.start[i]);
    }
    assert_in_range(e.count, 250, 300);
    assert_in_range(g.count, 350, 420);
    for (int k = 0; k < grammar_noun_count; k++) {
        const struct noun *noun = &grammar_nouns[k];
        expect_words(&e, noun->english, "");
        expect_words(&e, noun->plural, "");
        expect_words(&g, noun->german, "");
        expect_words(&g, noun->german_plural, "");
        expect_words(&g, noun->oblique, "");
    }
    for (int k = 0; k < grammar_verb_count; k++) expect_verb(&e, &g, &grammar_verbs[k]);
    for (int k = 0; k < grammar_saying_count; k++) expect_verb(&e, &g, &grammar_sayings[k]);
    for (int k = 0; k < grammar_adjective_count; k++) {
        const struct adjective *a = &grammar_adjectives[k];
        expect_words(&e, a->english, "");
        expect_words(&g, a->german, "");
        static const char *const endings[] = {"e", "er", "es", "en"};
        for (int i = 0; i < 4; i++) expect_words(&g, a->stem, a->stem ? endings[i] : "");
    }
    for (int k = 0; k < grammar_modal_count; k++)
        for (int i = 0; i < 4; i++) {
            if (i < 3) expect_words(&e, grammar_modals[k].english[i], "");
            if (i < 3) expect_words(&e, grammar_modals[k].not [i], "");
            expect_words(&g, grammar_modals[k].german[i], "");
        }
    for (int k = 0; k < grammar_place_count; k++) {
        expect_words(&e, grammar_places[k].english, "");
        expect_words(&g, grammar_places[k].german, "");
    }
    expect_words(&g, "im ins am beim zum zur denen diesem seinem ihrem einem einer einen", "");
    map_free(&e);
    map_free(&g);
    heed_lines_free(cx, &english);
    heed_lines_free(cx, &german);
    close_context(cx);
}

/* ---- it ---- */

/* The gender of the nth noun in an English sentence of words that are nouns in one sense only. */
static enum gender nth_gender(const char *english, int nth) {
    char text[GRAMMAR_ROOM];
    snprintf(text, sizeof text, "%s", english);
    for (char *word = strtok(text, " .,"); word; word = strtok(NULL, " .,"))
        for (int k = 0; k < grammar_noun_count; k++)
            if (strcmp(grammar_nouns[k].english, word) == 0 && nth-- == 0) return grammar_nouns[k].gender;
    fail_msg("too few nouns in '%s'", english);
    return GENDERS;
}

static bool of_the_living(const char *english) {
    const char *last = strrchr(english, ' ') + 1;
    for (int k = 0; k < grammar_adjective_count; k++)
        if (strncmp(grammar_adjectives[k].english, last, strlen(last) - 1) == 0)
            return grammar_adjectives[k].after & LIVING;
    fail_msg("no adjective ends '%s'", english);
    return false;
}

static void test_pronouns(void **state) {
    (void)state;
    enum { ASKED = 20000 };
    static const char *const pronoun[] = {"er", "sie", "es"};
    heed_ctx *cx = open_context();
    heed_lines english, german;
    int count[2][GENDERS] = {{0}};
    make_lines(cx, (heed_grammar){.seed = 9, .kind = HEED_GRAMMAR_PRONOUN}, ASKED, &english, &german);
    for (int64_t i = 0; i < ASKED; i++) {
        const char *e = heed_line_text(&english, i), *said = heed_grammar_pronoun(heed_line_text(&german, i));
        assert_non_null(strstr(e, " it "));
        const bool living = of_the_living(e);
        const enum gender gender = nth_gender(e, living ? 0 : 1);
        count[living][gender]++;
        assert_non_null(said);
        assert_string_equal(said, pronoun[gender]);
    }
    for (int k = 0; k < 2 * GENDERS; k++) assert_in_range(count[k / GENDERS][k % GENDERS], ASKED / 8, ASKED / 4);
    heed_lines_free(cx, &english);
    heed_lines_free(cx, &german);
    close_context(cx);

    for (int k = 0; k < grammar_adjective_count; k++) {
        const uint64_t after = grammar_adjectives[k].after;
        const uint64_t ways = WAY | FENCE | WIDE | LONG | NARROW | SLIPPERY | MUDDY | STEEP | HIGH | THIN;
        assert_false((after & LIVING) && (after & ways));
    }
    assert_string_equal(heed_grammar_pronoun("Der Hund schläft , weil sie zu alt ist ."), "sie");
    assert_string_equal(heed_grammar_pronoun("obwohl es"), "es");
    assert_null(heed_grammar_pronoun("Das Tier schläft, weil das Pferd schläft."));
    assert_null(heed_grammar_pronoun("Es schläft."));
    assert_null(heed_grammar_pronoun("Er wacht auf, weil"));
    assert_null(heed_grammar_pronoun(""));
    assert_null(heed_grammar_pronoun(NULL));
}

/* ---- the sentences of the demo ---- */

static void test_shown(void **state) {
    (void)state;
    static const struct {
        heed_grammar_kind kind;
        const char *english, *german;
    } shown[] = {
        {HEED_GRAMMAR_PRONOUN, "The animal didn't cross the street because it was too tired.",
         "Das Tier überquerte die Straße nicht, weil es zu müde war."},
        {HEED_GRAMMAR_PRONOUN, "The animal didn't cross the street because it was too wide.",
         "Das Tier überquerte die Straße nicht, weil sie zu breit war."},
        {HEED_GRAMMAR_PLAIN, "A bird flies through the window.", "Ein Vogel fliegt durch das Fenster."},
        {HEED_GRAMMAR_PLAIN, "The woman is walking along the river bank.", "Die Frau geht am Flussufer entlang."},
    };
    heed_ctx *cx = open_context();
    heed_string e = {0}, g = {0};
    for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++) {
        const heed_grammar grammar = {.seed = 1, .part = HEED_GRAMMAR_HELD_OUT, .kind = shown[k].kind};
        bool found = false;
        for (uint64_t i = 0; !found && i < MANY; i++) {
            e.size = g.size = 0;
            assert_true(heed_grammar_pair(cx, &grammar, i, &e, &g, NULL));
            found = strcmp(e.s, shown[k].english) == 0;
        }
        assert_true(found);
        assert_string_equal(g.s, shown[k].german);
    }
    heed_string_free(cx, &e);
    heed_string_free(cx, &g);
    close_context(cx);
}

/* ---- refusals ---- */

static bool make_few(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    const heed_grammar grammar = {.seed = 1};
    heed_lines english = {0}, german = {0};
    heed_string e = {0}, g = {0};
    bool ok = heed_grammar_lines(cx, &grammar, 0, 40, &english, &german);
    ok = ok && heed_grammar_pair(cx, &grammar, 0, &e, &g, NULL);
    assert_true(ok || e.size == 0); /* both or neither */
    heed_lines_free(cx, &english);
    heed_lines_free(cx, &german);
    heed_string_free(cx, &e);
    heed_string_free(cx, &g);
    return ok;
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_grammar grammar = {.seed = 1};
    heed_lines english = {0}, german = {0};
    heed_string e = {0}, g = {0};
    assert_false(heed_grammar_pair(cx, NULL, 0, &e, &g, NULL));
    EXPECT_SENTENCE(cx, "grammar_pair: the grammar is NULL");
    assert_false(heed_grammar_pair(cx, &grammar, 0, NULL, &g, NULL));
    EXPECT_SENTENCE(cx, "grammar_pair: a place for the sentences is NULL");
    assert_false(heed_grammar_pair(cx, &(heed_grammar){.kind = (heed_grammar_kind)9}, 0, &e, &g, NULL));
    EXPECT_SENTENCE(cx, "grammar_pair: kind 9: there is no such kind");
    assert_false(heed_grammar_pair(cx, &(heed_grammar){.part = (heed_grammar_part)5}, 0, &e, &g, NULL));
    EXPECT_SENTENCE(cx, "grammar_pair: part 5: there is no such part");
    for (int k = 0; k < 3; k++) {
        const double casual = k == 0 ? -0.1 : k == 1 ? 1.1 : (double)NAN;
        assert_false(heed_grammar_pair(cx, &(heed_grammar){.casual = casual}, 0, &e, &g, NULL));
        EXPECT_SENTENCE(cx, "grammar_pair: the casual share is ");
    }
    assert_false(heed_grammar_lines(cx, &grammar, 0, 0, &english, &german));
    EXPECT_SENTENCE(cx, "grammar_lines: 0 pairs: must be 1 or more");
    assert_false(heed_grammar_lines(cx, &grammar, 0, INT64_MAX, &english, &german));
    assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
    EXPECT_SENTENCE(cx, "");
    assert_false(heed_grammar_lines(cx, &grammar, 0, 1, &english, NULL));
    EXPECT_SENTENCE(cx, "grammar_lines: a place for the sentences is NULL");
    assert_null(e.s);
    assert_null(english.text);
    assert_false(heed_grammar_pair(NULL, &grammar, 0, &e, &g, NULL));
    close_context(cx);
    starve(make_few, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_to_one), cmocka_unit_test(test_parts),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_kinds),      cmocka_unit_test(test_words),    cmocka_unit_test(test_pronouns),
        cmocka_unit_test(test_shown),      cmocka_unit_test(test_refusals), cmocka_unit_test(test_casual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
