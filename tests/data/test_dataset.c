/* Data sets of columns: rows that are added come back padded, masked, weighed and transformed, whoever makes them. */
#include "data/batches.h"
#include "io/io_test.h"

enum { N = 41 };

/* Example i has 1 + 7 i % 9 tokens, the numbers from 100 i on; a class; and two numbers of any meaning. */
static int64_t length_of(int64_t i) { return 1 + 7 * i % 9; }

static heed_dataset make(heed_ctx *cx, bool labelled) {
    heed_dataset set = {.columns = labelled ? 4 : 3,
                        .column = {{.name = "ids", .type = HEED_I32, .ragged = true, .fill = -7, .mask = "mask"},
                                   {.name = "class", .type = HEED_I32},
                                   {.name = "z", .type = HEED_F32, .rank = 1, .shape = {2}},
                                   {.name = "labels", .type = HEED_I32, .ragged = true, .fill = HEED_NO_LABEL}},
                        .counts = labelled ? "labels" : NULL};
    for (int64_t i = 0; i < N; i++) {
        int32_t ids[16], labels[16], class = (int32_t)i % 3;
        float z[2] = {(float)i, 0.5f};
        for (int64_t j = 0; j < length_of(i); j++) {
            ids[j] = (int32_t)(100 * i + j);
            labels[j] = j % 2 ? HEED_NO_LABEL : ids[j];
        }
        const heed_cell cells[] = {{ids, length_of(i)}, {&class, 1}, {z, 1}, {labels, length_of(i)}};
        if (!heed_dataset_add(cx, &set, cells)) break;
    }
    return set;
}

/* Whatever the transform did not touch is the row's; returns the labels that count. */
static int64_t expect_row(const heed_batch *b, int64_t i, int32_t offset) {
    const int64_t row = b->row[i], width = b->column[0].shape[1];
    const int32_t *ids = heed_batch_i32(b, "ids"), *mask = heed_batch_i32(b, "mask");
    const int32_t *labels = heed_batch_i32(b, "labels");
    int64_t counted = 0;
    for (int64_t j = 0; j < width; j++) {
        const bool there = j < length_of(row);
        assert_int_equal(mask[i * width + j], there);
        assert_int_equal(ids[i * width + j], there ? 100 * row + j + offset : -7);
        if (labels) assert_int_equal(labels[i * width + j], there && j % 2 == 0 ? 100 * row + j : HEED_NO_LABEL);
        counted += there && j % 2 == 0;
    }
    assert_int_equal(heed_batch_i32(b, "class")[i], row % 3);
    assert_true(heed_batch_f32(b, "z")[2 * i] == (float)row && heed_batch_f32(b, "z")[2 * i + 1] == 0.5f);
    return counted;
}

static void test_columns(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_dataset set = make(cx, true);
    assert_int_equal(set.n, N);
    assert_int_equal(heed_dataset_find(&set, "z"), 2);
    assert_int_equal(heed_dataset_find(&set, "nothing"), -1);
    assert_int_equal(heed_dataset_length(&set, 0, 5), length_of(5));
    assert_int_equal(heed_dataset_length(&set, 0, N) + heed_dataset_length(&set, 9, 0), 0);
    assert_int_equal(heed_dataset_width(&set, 5), length_of(5));
    heed_batches *b = heed_batches_open(cx, &set, &(heed_batches_opts){.batch = 8, .shuffle = true, .seed = 3});
    int64_t seen = 0;
    for (int k = 0; k < 6; k++) {
        const heed_batch *batch = heed_batches_next(cx, b);
        int64_t counted = 0, widest = 0;
        for (int64_t i = 0; i < batch->n; i++) {
            counted += expect_row(batch, i, 0);
            if (length_of(batch->row[i]) > widest) widest = length_of(batch->row[i]);
        }
        assert_true(batch->weight == counted && batch->total == counted && batch->parts == 1);
        assert_int_equal(batch->column[0].shape[1], widest); /* no more padding than needed */
        assert_true(batch->columns == 5 && batch->column[0].rank == 2 && batch->column[1].rank == 1);
        heed_tensor *z = heed_batch_tensor(cx, batch, "z");
        assert_true(heed_dim(z, 0) == batch->n && heed_dim(z, 1) == 2);
        seen += batch->n;
    }
    assert_int_equal(seen, N);
    assert_null(heed_batch_i32(heed_batches_next(cx, b), "z")); /* of the other type */
    assert_null(heed_batch_tensor(cx, NULL, "z"));
    EXPECT_SENTENCE(cx, "batch: there is no column 'z'");
    heed_batches_close(cx, b);
    heed_dataset_free(cx, &set);
    close_context(cx);
}

/* Parts of a batch hold its examples once, within their limit, and their weights add up. */
static void test_parts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_dataset set = make(cx, true);
    heed_groups groups;
    assert_true(heed_dataset_group(cx, &set, &(heed_groups_opts){.tokens = 60, .seed = 1}, &groups));
    for (int kind = 0; kind < 4; kind++) {
        heed_batches_opts o = {
            .shuffle = true, .seed = 3, .micro_tokens = kind % 2 ? 20 : 0, .micro = kind % 2 ? 0 : 3};
        if (kind < 2) o.groups = &groups;
        if (kind >= 2) o.batch = 10;
        heed_batches *b = batches_open(cx, &set, &o, kind & 1);
        bool there[N] = {false};
        int64_t most = 1;
        for (int64_t seen = 0; seen < N;) {
            const heed_batch *part = heed_batches_next(cx, b);
            const int64_t parts = part->parts, total = part->total;
            int64_t sum = 0;
            most = parts > most ? parts : most;
            for (int64_t p = 0; p < parts; p++) {
                if (p > 0) part = heed_batches_next(cx, b);
                assert_true(part->part == p && part->parts == parts && part->total == total);
                const int64_t places = part->n * part->column[0].shape[1];
                assert_true(part->n == 1 || (kind % 2 ? places <= 20 : part->n <= 3));
                for (int64_t i = 0; i < part->n; i++) {
                    assert_false(there[part->row[i]]);
                    there[part->row[i]] = true;
                    expect_row(part, i, 0);
                }
                sum += part->weight;
                seen += part->n;
            }
            assert_int_equal(sum, total);
        }
        assert_true(most > 1 && most <= heed_batches_parts(b));
        heed_batches_close(cx, b);
    }
    heed_groups_free(cx, &groups);
    heed_dataset_free(cx, &set);
    close_context(cx);
}

static void test_groups_of_examples(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_dataset set = make(cx, false);
    heed_groups g;
    const int64_t rows[] = {3, 4, 5, 6, 7, 8, 9};
    const heed_groups_opts by = {.examples = 3, .rows = rows, .n_rows = 7, .seed = 1};
    assert_true(heed_dataset_group(cx, &set, &by, &g));
    assert_true(g.n == 3 && g.start[1] == 3 && g.start[2] == 6 && g.start[3] == 7);
    for (int i = 1; i < 7; i++) assert_true(length_of(g.row[i - 1]) <= length_of(g.row[i]));
    for (int i = 0; i < 7; i++) assert_true(g.row[i] >= 3 && g.row[i] <= 9);
    heed_groups_free(cx, &g);
    assert_false(heed_dataset_group(cx, &set, &(heed_groups_opts){.examples = 2, .tokens = 2}, &g));
    EXPECT_SENTENCE(cx, "groups: a positive number of tokens, of examples or of groups is needed");
    heed_dataset_free(cx, &set);
    close_context(cx);
}

static void add_draw(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    int32_t *ids = cells[0].data;
    const int32_t by = (int32_t)(*(const int32_t *)own + (int64_t)seed + 10 * epoch + row);
    for (int64_t j = 0; j < cells[0].count; j++) ids[j] += by;
}

/* The same for any thread and from any place: a function of seed, epoch and row. */
static void test_transform(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_dataset set = make(cx, true);
    const int32_t own = 1000;
    for (int kind = 0; kind < 4; kind++) {
        heed_batches_opts o = {.batch = 8, .shuffle = true, .seed = 3, .transform = add_draw, .own = &own};
        o.index = kind >> 1 ? 9 : 0;
        heed_batches *b = batches_open(cx, &set, &o, kind & 1);
        for (int k = 0; k < 14; k++) {
            const heed_batch *batch = heed_batches_next(cx, b);
            for (int64_t i = 0; i < batch->n; i++)
                expect_row(batch, i, (int32_t)(1003 + 10 * batch->epoch + batch->row[i]));
        }
        heed_batches_close(cx, b);
    }
    heed_dataset_free(cx, &set);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    int32_t one = 1;
    heed_dataset set = {.columns = 1, .column = {{.name = "ids", .type = HEED_I32, .ragged = true}}};
    assert_false(heed_dataset_add(cx, &set, NULL));
    EXPECT_SENTENCE(cx, "dataset_add: a data set with columns, and a cell for each, are needed");
    assert_false(heed_dataset_add(cx, &set, &(heed_cell){NULL, 1}));
    EXPECT_SENTENCE(cx, "dataset_add: column 0, or its cell, is not one");
    assert_true(heed_dataset_add(cx, &set, &(heed_cell){NULL, 0}) && heed_dataset_add(cx, &set, &(heed_cell){&one, 1}));
    assert_true(set.n == 2 && heed_dataset_length(&set, 0, 0) == 0 && heed_dataset_length(&set, 0, 1) == 1);
    heed_dataset_free(cx, &set);
    heed_dataset view = {.n = 1, .columns = 1, .column = {{.name = "ids", .type = HEED_I32, .data = &one}}};
    assert_false(heed_dataset_add(cx, &view, &(heed_cell){&one, 1})); /* another's memory */
    EXPECT_SENTENCE(cx, "dataset_add: a data set");
    heed_dataset_free(cx, &view);
    close_context(cx);
}

static bool make_all(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_dataset set = make(cx, true);
    heed_groups g = {0};
    bool ok = !heed_failed(cx) && heed_dataset_group(cx, &set, &(heed_groups_opts){.tokens = 60}, &g);
    heed_batches *b = ok ? heed_batches_open(cx, &set, &(heed_batches_opts){.groups = &g}) : NULL;
    ok = b && heed_batches_next(cx, b);
    heed_batches_close(cx, b);
    heed_groups_free(cx, &g);
    heed_dataset_free(cx, &set);
    return ok;
}

static void test_no_memory(void **state) {
    (void)state;
    starve(make_all, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),   cmocka_unit_test(test_parts),    cmocka_unit_test(test_groups_of_examples),
        cmocka_unit_test(test_transform), cmocka_unit_test(test_refusals), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
