/* Pairs of segments: where the parts of a pair come from, how often they belong together, what is drawn anew. */
#include "heed/task.h"
#include "io/io_test.h"

/* Words tell the document and the line: "b3" is line 3 of document b, three words of it. */
#define DOCUMENTS 6
#define LINES     9

static void put_text(heed_ctx *cx, heed_string *s) {
    for (int d = 0; d < DOCUMENTS; d++) {
        for (int i = 0; i < LINES; i++) {
            char line[64];
            const int n = snprintf(line, sizeof line, "%c%d %c%d %c%d\n", 'a' + d, i, 'a' + d, i, 'a' + d, i);
            assert_true(heed_string_put(cx, s, line, (size_t)n));
        }
        assert_true(heed_string_put(cx, s, "\n", 1));
    }
}

static heed_tokenizer *make_tokenizer(heed_ctx *cx, const char *path) {
    heed_lines lines = {0};
    assert_true(heed_lines_read(cx, path, &lines));
    heed_tokenizer *t =
        heed_vocabulary_train_encoder(cx, (const heed_lines *const[]){&lines}, 1, HEED_TOKENS_WORD, 200);
    assert_non_null(t);
    heed_lines_free(cx, &lines);
    return t;
}

struct fixture {
    heed_ctx *cx;
    heed_tokenizer *tokens;
    heed_task_data *data;
};

static struct fixture open_pairs(const heed_task_opts *opts) {
    struct fixture f = {.cx = open_context()};
    heed_string s = {0};
    put_text(f.cx, &s);
    write_bytes(in_folder("text"), s.s, s.size);
    f.tokens = make_tokenizer(f.cx, in_folder("text"));
    f.data = heed_task_read(f.cx, heed_text_task_find("pretrain"), in_folder("text"), opts);
    assert_true(
        heed_task_encode(f.cx, f.data, &(heed_text_reader){.tokens = f.tokens, .max_length = 512, .types = true}));
    heed_string_free(f.cx, &s);
    unlink(in_folder("text"));
    return f;
}

static void close_pairs(struct fixture *f) {
    heed_task_free(f->cx, f->data);
    heed_tokenizer_free(f->cx, f->tokens);
    close_context(f->cx);
}

/* A part of a row, from place `at` on: where its tokens begin and end in the text, counted in tokens. */
struct part {
    int document;
    int64_t first, last, n;
};

static struct part read_part(const struct fixture *f, const int32_t *ids, const int32_t *types, int64_t *at, int type) {
    struct part p = {.document = -1};
    for (; heed_tokenizer_token(f->tokens, ids[*at])[0] != '['; ++*at) {
        const char *word = heed_tokenizer_token(f->tokens, ids[*at]);
        assert_int_equal(types[*at], type);
        if (p.n++ == 0) p.document = word[0] - 'a', p.first = word[1] - '0';
        assert_int_equal(word[0] - 'a', p.document);
        assert_true(p.n == 1 || word[1] - '0' == p.last || word[1] - '0' == p.last + 1);
        p.last = word[1] - '0';
    }
    assert_true(p.n > 0);
    return p;
}

struct tally {
    int64_t pairs, changed, shorter;
    uint64_t hash;
};

static struct tally look(const struct fixture *f, const heed_dataset *set, int64_t max_length, bool order) {
    struct tally t = {0};
    for (int64_t row = 0; row < set->n; row++) {
        const int64_t from = set->column[0].start[row], n = heed_dataset_length(set, 0, row);
        const int32_t *ids = (const int32_t *)set->column[0].data + from,
                      *types = (const int32_t *)set->column[1].data + from,
                      label = ((const int32_t *)set->column[3].data)[row];
        int64_t at = 1;
        assert_true(n <= max_length && n >= 5);
        assert_int_equal(ids[0], heed_tokenizer_id(f->tokens, "[CLS]"));
        const struct part a = read_part(f, ids, types, &at, 0);
        assert_int_equal(ids[at++], heed_tokenizer_id(f->tokens, "[SEP]"));
        const struct part b = read_part(f, ids, types, &at, 1);
        assert_int_equal(ids[at++], heed_tokenizer_id(f->tokens, "[SEP]"));
        assert_int_equal(at, n);
        if (order || label == 0)
            assert_int_equal(a.document, b.document);
        else
            assert_true(a.document != b.document);
        if (label == 0) assert_true(b.first >= a.last && b.first <= a.last + 1 + (n == max_length));
        if (label == 1 && order) assert_true(a.first >= b.last);
        t.pairs++, t.changed += label, t.shorter += n < max_length - 6;
        for (int64_t i = 0; i < n; i++) t.hash = t.hash * 31 + (uint64_t)ids[i];
    }
    return t;
}

static void test_pairs(void **state) {
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct fixture f = open_pairs(&(heed_task_opts){.max_length = 18, .sentence_order = order});
        const heed_dataset *fixed = heed_task_columns(f.data);
        struct tally all = {0};
        uint64_t before = 0;
        assert_string_equal(fixed->column[3].name, order ? "sentence_order_label" : "next_sentence_label");
        assert_string_equal(heed_task_metrics(f.data),
                            order ? "perplexity accuracy sentence_order" : "perplexity accuracy next_sentence");
        look(&f, fixed, 18, order);
        for (int64_t epoch = 0; epoch < 200; epoch++) {
            heed_dataset set, again;
            assert_true(heed_task_draw(f.cx, f.data, 5, epoch, NULL, 0, &set));
            assert_true(heed_task_draw(f.cx, f.data, 5, epoch, NULL, 0, &again));
            assert_int_equal(set.n, fixed->n);
            const struct tally t = look(&f, &set, 18, order);
            assert_true(t.hash == look(&f, &again, 18, order).hash && t.hash != before);
            before = t.hash;
            all.pairs += t.pairs, all.changed += t.changed, all.shorter += t.shorter;
            heed_dataset_free(f.cx, &set);
            heed_dataset_free(f.cx, &again);
        }
        const double share = (double)all.changed / (double)all.pairs;
        assert_true(share > 0.45 && share < (order ? 0.55 : 0.62)); /* one segment alone has no next one */
        assert_true(all.shorter > all.pairs / 40);
        close_pairs(&f);
    }
}

/* Next sentences from other documents are those of the given rows. */
static void test_rows(void **state) {
    (void)state;
    struct fixture f = open_pairs(&(heed_task_opts){.max_length = 18});
    const int64_t rows[] = {0, 1}; /* of document a */
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        heed_dataset set;
        assert_true(heed_task_draw(f.cx, f.data, 5, epoch, rows, 2, &set));
        for (int64_t row = 2; row < set.n; row++) {
            const int32_t *ids = (const int32_t *)set.column[0].data + set.column[0].start[row],
                          *types = (const int32_t *)set.column[1].data + set.column[0].start[row];
            int64_t at = 1;
            const struct part a = read_part(&f, ids, types, &at, 0);
            at++;
            const struct part b = read_part(&f, ids, types, &at, 1);
            if (a.document > 0) assert_true(b.document == 0 || b.document == a.document);
        }
        heed_dataset_free(f.cx, &set);
    }
    close_pairs(&f);
}

static heed_task_data *read_as(heed_ctx *cx, const heed_tokenizer *t, const char *text, const heed_task_opts *opts) {
    write_bytes(in_folder("other"), text, strlen(text));
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("pretrain"), in_folder("other"), opts);
    unlink(in_folder("other"));
    if (d) assert_false(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t}));
    return d;
}

static void test_refused(void **state) {
    (void)state;
    struct fixture f = open_pairs(&(heed_task_opts){.max_length = 18});
    heed_task_free(f.cx, read_as(f.cx, f.tokens, "a1 a1\na2 a2\n", NULL));
    EXPECT_SENTENCE(f.cx, "other: there is one document alone");
    heed_task_free(f.cx, read_as(f.cx, f.tokens, "a1\n\nb2\n", &(heed_task_opts){.sentence_order = true}));
    EXPECT_SENTENCE(f.cx, "other: no document has two sentences");
    heed_task_free(f.cx, read_as(f.cx, f.tokens, "a1\n\nb2\n", &(heed_task_opts){.max_length = 4}));
    EXPECT_SENTENCE(f.cx, "sequences of 4 tokens have no room for two segments beside 3 special tokens");
    close_pairs(&f);
}

static bool read_and_encode(heed_ctx *cx) {
    heed_dataset set = {0};
    heed_tokenizer *t = heed_tokenizer_load(cx, in_folder("tokenizer.json"));
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("pretrain"), in_folder("text"), NULL);
    const bool ok = d && t &&
                    heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .max_length = 16, .types = true}) &&
                    heed_task_draw(cx, d, 1, 1, NULL, 0, &set);
    heed_dataset_free(cx, &set);
    heed_task_free(cx, d);
    heed_tokenizer_free(cx, t);
    return ok;
}

static void test_memory(void **state) {
    (void)state;
    struct fixture f = open_pairs(&(heed_task_opts){.max_length = 18});
    heed_string s = {0};
    put_text(f.cx, &s);
    write_bytes(in_folder("text"), s.s, s.size);
    heed_string_free(f.cx, &s);
    assert_true(heed_tokenizer_save(f.cx, f.tokens, in_folder("tokenizer.json")));
    close_pairs(&f);
    starve_step(read_and_encode, 20);
    unlink(in_folder("text"));
    unlink(in_folder("tokenizer.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
