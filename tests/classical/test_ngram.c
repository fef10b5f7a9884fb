/* n-gram models: equal to lmplz's and nltk's, files both ways, and files that are not sound. */
#include "classical/ngram/ngram.h"
#include "heed/ngram.h"
#include "text/text_test.h"

#include <math.h>

/* A model of the golden text's lines, split at blanks. */
static heed_ngram *train(heed_ctx *cx, heed_json golden, const heed_ngram_opts *opts) {
    static const char *const words[] = {"the", "a", "cat", "dog", "man", "saw", "liked", "old", "small", "and"};
    const heed_json lines = heed_json_array(cx, golden, "lines");
    int64_t start[64] = {0}, n = 0;
    heed_ids ids = {0};
    for (int64_t i = 0; i < heed_json_count(lines); i++) {
        char line[256];
        snprintf(line, sizeof line, "%s", heed_json_text(cx, heed_json_item(cx, lines, i), NULL));
        for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
            for (int32_t k = 0; k < 10; k++)
                if (strcmp(words[k], word) == 0) heed_ids_put(cx, &ids, k);
        start[++n] = ids.count;
    }
    heed_ngram *m = heed_ngram_train(cx, &ids, start, n, words, 10, opts, NULL);
    heed_ids_free(cx, &ids);
    return m;
}

static const double fallback[] = {0.5, 1, 1.5};

/* Every n-gram of an ARPA text has that probability, and there are no others. */
static void expect_arpa(const heed_ngram *m, const char *arpa) {
    int64_t count[4] = {0};
    char *text = strdup(arpa);
    for (char *line = text, *next; line; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        char *tab = strchr(line, '\t');
        if (!tab) continue;
        const double wanted = strtod(line, NULL);
        char *behind = strchr(tab + 1, '\t');
        if (behind) *behind++ = 0;
        heed_ngram_state s = {0};
        double got = 0;
        int n = 0, matched = 0;
        for (char *word = strtok(tab + 1, " "); word; word = strtok(NULL, " "), n++)
            got = heed_ngram_step(m, &s, heed_ngram_id(m, word, strlen(word)), &matched);
        count[n]++;
        assert_int_equal(matched, n);
        assert_true(fabs(got - wanted) <= 2e-6);
        if (behind && s.order == n) assert_true(fabs((double)m->node[s.node].backoff - strtod(behind, NULL)) <= 2e-6);
    }
    for (int k = 1; k <= 3; k++) assert_int_equal(heed_ngram_count(m, k), count[k]);
    free(text);
}

static void expect_sums(heed_ctx *cx, const heed_ngram *m) {
    double *p = heed_mem_new(cx, (size_t)heed_ngram_words(m) * sizeof *p);
    heed_ngram_state s = heed_ngram_begin(m);
    for (int32_t w = 2; w < heed_ngram_words(m); w++) {
        double sum = 0;
        heed_ngram_next(m, &s, p);
        for (int64_t k = 0; k < heed_ngram_words(m); k++) sum += p[k];
        assert_true(fabs(sum - 1) <= 1e-5);
        for (int32_t k = 0; k < heed_ngram_words(m); k++) { /* the same as one by one */
            heed_ngram_state one = s;
            if (k != HEED_NGRAM_BEGIN) assert_true(fabs(p[k] - pow(10, heed_ngram_step(m, &one, k, NULL))) <= 1e-9);
        }
        heed_ngram_step(m, &s, w, NULL);
    }
    heed_mem_free(cx, p);
}

static void test_modified(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json golden = open_golden(cx, "ngram.json");
    heed_ngram *m = train(cx, golden, &(heed_ngram_opts){.order = 3, .fallback = fallback});
    assert_non_null(m);
    expect_arpa(m, heed_json_text(cx, golden, "lmplz"));
    expect_sums(cx, m);
    heed_ngram_free(cx, m);
    m = train(cx, golden,
              &(heed_ngram_opts){.order = 3, .fallback = fallback, .prune = (int64_t[]){0, 1}, .n_prune = 2});
    expect_arpa(m, heed_json_text(cx, golden, "lmplz_pruned"));
    expect_sums(cx, m);
    heed_ngram_free(cx, m);
    heed_json_free(golden);
    close_context(cx);
}

static void test_kneser_ney(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json golden = open_golden(cx, "ngram.json"), asked = heed_json_array(cx, golden, "nltk");
    heed_ngram *m =
        train(cx, golden, &(heed_ngram_opts){.order = 3, .smoothing = HEED_NGRAM_KNESER_NEY, .discount = 0.4});
    assert_non_null(m);
    for (int64_t i = 0; i < heed_json_count(asked); i++) {
        const heed_json one = heed_json_item(cx, asked, i), context = heed_json_item(cx, one, 1);
        heed_ngram_state s = {0};
        for (int64_t k = 0; k < heed_json_count(context); k++) {
            const char *word = heed_json_text(cx, heed_json_item(cx, context, k), NULL);
            heed_ngram_step(m, &s, heed_ngram_id(m, word, strlen(word)), NULL);
        }
        const char *word = heed_json_text(cx, heed_json_item(cx, one, 0), NULL);
        const double got = pow(10, heed_ngram_step(m, &s, heed_ngram_id(m, word, strlen(word)), NULL));
        assert_true(fabs(got - heed_json_number(cx, heed_json_item(cx, one, 2), NULL)) <= 1e-6);
    }
    heed_ngram_free(cx, m);
    heed_json_free(golden);
    close_context(cx);
}

static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json golden = open_golden(cx, "ngram.json");
    const char *const arpa = heed_json_text(cx, golden, "lmplz");
    char first[256], second[256];
    snprintf(first, sizeof first, "%s", in_folder("a.arpa"));
    snprintf(second, sizeof second, "%s", in_folder("a.ngram"));
    write_bytes(first, arpa, strlen(arpa));
    heed_ngram *m = heed_ngram_open(cx, first);
    assert_non_null(m);
    expect_arpa(m, arpa);
    assert_true(heed_ngram_save(cx, m, second));
    assert_true(heed_ngram_write_arpa(cx, m, first));
    heed_ngram_free(cx, m);
    for (int i = 0; i < 2; i++) {
        m = heed_ngram_open(cx, i ? second : first);
        assert_non_null(m);
        expect_arpa(m, arpa);
        assert_string_equal(heed_ngram_word(m, 1), "<s>");
        assert_string_equal(heed_ngram_word(m, 1000), "");
        assert_int_equal(heed_ngram_id(m, "none", 4), HEED_NGRAM_UNKNOWN);
        heed_ngram_free(cx, m);
    }
    size_t size;
    unsigned char *bytes = file_read(cx, second, 1 << 20, &size);
    for (size_t cut = 8; cut < size; cut += 97) { /* cut short anywhere */
        write_bytes(second, bytes, cut);
        assert_null(heed_ngram_open(cx, second));
        EXPECT_SENTENCE(cx, "a.ngram: not a sound n-gram file: ");
    }
    for (size_t at = 24 + 24; at < size; at += 4) { /* any number wrong: opened or not, it is used safely */
        unsigned char was[4];
        memcpy(was, bytes + at, 4);
        memset(bytes + at, 0xEE, 4);
        write_bytes(second, bytes, size);
        if ((m = heed_ngram_open(cx, second))) {
            heed_ngram_state s = heed_ngram_begin(m);
            for (int32_t w = 0; w < 16; w++) heed_ngram_step(m, &s, w * 7 % 13, NULL);
            heed_ngram_id(m, "cat", 3);
            heed_ngram_free(cx, m);
        }
        heed_clear(cx);
        memcpy(bytes + at, was, 4);
    }
    heed_mem_free(cx, bytes);
    unlink(first);
    unlink(second);
    heed_json_free(golden);
    close_context(cx);
}

/* ---- words that were chosen ---- */

enum { CHOSEN = 3000, SLOTS = 8192 };

static uint32_t longest_run(const heed_ngram *m) {
    uint32_t longest = 0;
    for (uint32_t i = 0, run = 0; i < m->slots; i++) {
        run = m->slot[i] == NGRAM_ROOT ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Words that all fall on slot 5 of a file's table. */
static void choose(char (*word)[8]) {
    for (uint32_t i = 0, n = 0; n < CHOSEN; i++) {
        const int size = snprintf(word[n], sizeof *word, "%x", i);
        n += (ngram_hash(word[n], (size_t)size) & (SLOTS - 1)) == 5;
    }
}

static void expect_chosen(const heed_ngram *m, char (*word)[8]) {
    assert_non_null(m);
    assert_int_equal(heed_ngram_words(m), CHOSEN + 3);
    for (int32_t i = 0; i < CHOSEN; i++) assert_int_equal(heed_ngram_id(m, word[i], strlen(word[i])), i + 3);
    assert_int_equal(heed_ngram_id(m, "none", 4), HEED_NGRAM_UNKNOWN);
    if (longest_run(m) > 200) fail_msg("%u words follow each other in the table", longest_run(m));
}

/* The file's table is the one that each word's first free slot gives; it is not used where it is crowded. */
static void test_chosen_words(void **state) {
    (void)state;
    static char word[CHOSEN][8], path[256], again[256];
    heed_ctx *cx = open_context();
    snprintf(path, sizeof path, "%s", in_folder("chosen.arpa"));
    snprintf(again, sizeof again, "%s", in_folder("chosen.ngram"));
    choose(word);
    FILE *f = fopen(path, "w");
    fprintf(f, "\\data\\\nngram 1=%d\n\n\\1-grams:\n", CHOSEN);
    for (int i = 0; i < CHOSEN; i++) fprintf(f, "-1\t%s\n", word[i]);
    fprintf(f, "\\end\\\n");
    fclose(f);
    heed_ngram *m = heed_ngram_open(cx, path);
    expect_chosen(m, word);
    assert_true(heed_ngram_save(cx, m, again));
    heed_ngram_free(cx, m);
    m = heed_ngram_open(cx, again);
    expect_chosen(m, word);
    const uint32_t *const slot = (const uint32_t *)(m->names - SLOTS * sizeof *slot);
    uint32_t right[SLOTS];
    memset(right, 0xFF, sizeof right);
    for (uint32_t i = 0; i < CHOSEN + 3; i++) {
        const char *const name = heed_ngram_word(m, (int32_t)i);
        uint32_t at = (uint32_t)ngram_hash(name, strlen(name)) & (SLOTS - 1);
        while (right[at] != NGRAM_ROOT) at = (at + 1) & (SLOTS - 1);
        right[at] = i;
    }
    assert_memory_equal(slot, right, sizeof right);
    heed_ngram_free(cx, m);
    unlink(path);
    unlink(again);
    close_context(cx);
}

/* Every number of a file that is a probability or a weight, as NaN and as infinity. */
static void test_not_numbers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char path[256];
    size_t size;
    snprintf(path, sizeof path, "%s", in_folder("n.arpa"));
    const char *const arpa =
        "\\data\\\nngram 1=1\nngram 2=1\n\n\\1-grams:\n-1\ta\t-0.5\n\n\\2-grams:\n-0.25\ta a\n\\end\\\n";
    write_bytes(path, arpa, strlen(arpa));
    heed_ngram *m = heed_ngram_open(cx, path);
    assert_true(heed_ngram_save(cx, m, path));
    heed_ngram_free(cx, m);
    unsigned char *const bytes = file_read(cx, path, 1 << 20, &size);
    int refused = 0;
    for (size_t at = 24 + 16 + 5 * 8; at < size; at += 4)
        for (int k = 0; k < 2; k++) {
            unsigned char was[4];
            const float bad = k ? INFINITY : NAN;
            memcpy(was, bytes + at, 4);
            memcpy(bytes + at, &bad, 4);
            write_bytes(path, bytes, size);
            m = heed_ngram_open(cx, path);
            refused += !m && strstr(heed_message(cx), "one of its probabilities or back-off weights is not a number");
            heed_ngram_free(cx, m);
            heed_clear(cx);
            memcpy(bytes + at, was, 4);
        }
    assert_int_equal(refused, 2 * (4 * 2 + 1));
    heed_mem_free(cx, bytes);
    unlink(path);
    close_context(cx);
}

static void test_bad_arpa(void **state) {
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "neither an n-gram file"},
        {"\\data\\\n", "'ngram 1=COUNT' is expected"},
        {"\\data\\\nngram 2=1\n", "'ngram 1=COUNT' is expected"},
        {"\\data\\\nngram 1=900000000000\n", "there cannot be"},
        {"\\data\\\nngram 1=x\n", "is not a number"},
        {"\\data\\\nngram 1=2\n\n\\1-grams:\n-1\ta\n", "there are 1 1-grams, the header says 2"},
        {"\\data\\\nngram 1=2\n\n\\1-grams:\n-1\ta\n\\end\\\n", "there are 1 1-grams, the header says 2"},
        {"\\data\\\nngram 1=1\n\n\\1-grams:\n-1\ta\n-1\tb\n\\end\\\n", "there are more than the 1 1-grams"},
        {"\\data\\\nngram 1=1\n\n\\1-grams:\n-1\ta\n", "cut short"},
        {"\\data\\\nngram 1=2\n\n\\1-grams:\n-1\ta\n-1\ta\n\\end\\\n", "the word comes twice"},
        {"\\data\\\nngram 1=1\n\n\\1-grams:\n1\ta\n\\end\\\n", "is positive"},
        {"\\data\\\nngram 1=1\n\n\\1-grams:\nx\ta\n\\end\\\n", "a log-probability is expected"},
        {"\\data\\\nngram 1=1\n\n\\1-grams:\nnan\ta\n\\end\\\n", "a log-probability is expected"},
        {"\\data\\\nngram 1=1\nngram 2=0\n\n\\1-grams:\n-1\ta\tnan\n\\2-grams:\n\\end\\\n", "is not a back-off"},
        {"\\data\\\nngram 1=1\nngram 2=0\n\n\\1-grams:\n-1\ta\t1e39\n\\2-grams:\n\\end\\\n", "is not a back-off"},
        {"\\data\\\nngram 1=1\nngram 2=1\n\n\\1-grams:\n-1\ta\n\\2-grams:\n-1\ta b\n\\end\\\n", "'b' is not among"},
        {"\\data\\\nngram 1=1\nngram 2=1\n\n\\1-grams:\n-1\ta\n\\2-grams:\n-1\ta\n\\end\\\n", "2 words are expected"},
        {"\\data\\\nngram 1=1\nngram 2=2\n\n\\1-grams:\n-1\ta\n\\2-grams:\n-1\ta a\n-1\ta a\n\\end\\\n", "comes twice"},
        {"\\data\\\nngram 1=1\nngram 2=0\nngram 3=1\n\n\\1-grams:\n-1\ta\n\\2-grams:\n\\3-grams:\n-1\ta a a\n\\end\\\n",
         "the context of the 3-gram"},
    };
    (void)state;
    heed_ctx *cx = open_context();
    char path[256];
    snprintf(path, sizeof path, "%s", in_folder("bad.arpa"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_bytes(path, cases[i].text, strlen(cases[i].text));
        assert_null(heed_ngram_open(cx, path));
        if (!strstr(heed_message(cx), cases[i].sentence)) fail_msg("%zu: %s", i, heed_message(cx));
        heed_clear(cx);
    }
    unlink(path);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modified),     cmocka_unit_test(test_kneser_ney),
                                       cmocka_unit_test(test_files),        cmocka_unit_test(test_bad_arpa),
                                       cmocka_unit_test(test_chosen_words), cmocka_unit_test(test_not_numbers)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
