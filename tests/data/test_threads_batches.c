/* Batches: the same whoever makes them and wherever they begin; no races; every refusal. */
#include "data/batches.h"
#include "heed/data.h"
#include "io/io_test.h"

enum { N = 53, WIDTH = 37, OUTPUTS = 2, BATCH = 8, PER_EPOCH = 7 };

static struct {
    float x[N * WIDTH], y[N * OUTPUTS];
    uint8_t bytes[N * WIDTH];
    int32_t label[N];
    float mean[WIDTH], std[WIDTH];
    int64_t rows[20];
} made;

static int make_data(void **state) {
    (void)state;
    heed_random_normal(1, 0, 0, made.x, N * WIDTH);
    heed_random_normal(1, 1, 0, made.y, N * OUTPUTS);
    heed_random_uniform(1, 2, 0, made.std, WIDTH);
    heed_random_normal(1, 3, 0, made.mean, WIDTH);
    for (int i = 0; i < N * WIDTH; i++) made.bytes[i] = (uint8_t)heed_random_bits(1, 4, (uint64_t)i);
    for (int i = 0; i < N; i++) made.label[i] = i * 3;
    for (int j = 0; j < WIDTH; j++) made.std[j] += 0.25f;
    for (int i = 0; i < 20; i++) made.rows[i] = (i * 5 + 2) % N;
    return 0;
}

static heed_dataset columns_of(heed_ctx *cx, const heed_data *d) {
    heed_dataset set = {0};
    heed_data_columns(cx, d, &set);
    return set;
}

static heed_data floats(void) {
    return (heed_data){.n = N, .width = WIDTH, .x = made.x, .y = made.y, .outputs = OUTPUTS};
}

static heed_data pictures(void) {
    return (heed_data){
        .n = N, .width = WIDTH, .bytes = made.bytes, .scale = 1.0f / 255.0f, .shift = -0.25f, .label = made.label};
}

/* What batch (epoch, index) must hold, from the definition. */
static void expect_batch(const heed_batch *b, const heed_data *d, const heed_batches_opts *o, int64_t epoch,
                         int64_t index) {
    const int64_t n = o->rows ? o->n_rows : d->n, per_epoch = (n + o->batch - 1) / o->batch;
    int64_t order[N];
    for (int64_t i = 0; i < n; i++) order[i] = i;
    if (o->shuffle) heed_random_permutation(o->seed, (uint64_t)epoch, order, n);
    assert_non_null(b);
    assert_int_equal(b->epoch, epoch);
    assert_int_equal(b->index, index);
    assert_int_equal(b->last, index == per_epoch - 1);
    assert_int_equal(b->n, b->last ? n - index * o->batch : o->batch);
    const float *b_x = heed_batch_f32(b, "x"), *b_y = heed_batch_f32(b, "y");
    const int32_t *b_label = heed_batch_i32(b, "labels");
    assert_int_equal(!b_label, !d->label);
    assert_int_equal(!b_y, !d->y);
    assert_true(b->part == 0 && b->parts == 1 && b->weight == b->n && b->total == b->n);
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t place = order[index * o->batch + i], row = o->rows ? o->rows[place] : place;
        assert_int_equal(b->row[i], row);
        if (b_label) assert_int_equal(b_label[i], d->label[row]);
        if (b_y) assert_memory_equal(b_y + i * d->outputs, d->y + row * d->outputs, OUTPUTS * sizeof(float));
        for (int64_t j = 0; j < d->width; j++) {
            const int64_t at = row * d->width + j;
            double x = d->x ? (double)d->x[at] : (double)d->bytes[at] * (double)d->scale + (double)d->shift;
            if (o->mean) x = (x - (double)o->mean[j]) / (double)o->std[j];
            const double found = (double)b_x[i * d->width + j];
            if (d->x && !o->mean)
                assert_true(found == x);
            else
                assert_true(fabs(found - x) <= 1e-6 * (1.0 + fabs(x)) * 4);
        }
    }
}

static heed_batches_opts opts_of(int kind) {
    heed_batches_opts o = {.batch = BATCH, .shuffle = kind & 1, .seed = 11};
    if (kind & 2) o.mean = made.mean, o.std = made.std;
    if (kind & 4) o.rows = made.rows, o.n_rows = 20;
    return o;
}

static void test_contents(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data sets[] = {floats(), pictures()};
    for (int kind = 0; kind < 32; kind++) {
        const heed_data *d = &sets[kind >> 3 & 1];
        const heed_batches_opts o = opts_of(kind & 7);
        const heed_dataset set = columns_of(cx, d);
        heed_batches *b = batches_open(cx, &set, &o, kind >> 4 & 1);
        assert_non_null(b);
        const int64_t per_epoch = heed_batches_per_epoch(b);
        assert_int_equal(per_epoch, kind & 4 ? 3 : PER_EPOCH);
        for (int64_t i = 0; i < 3 * per_epoch + 1; i++)
            expect_batch(heed_batches_next(cx, b), d, &o, i / per_epoch, i % per_epoch);
        heed_batches_close(cx, b);
    }
    close_context(cx);
}

/* From every place, by thread or not, whatever is ahead of or behind it: the same bits. */
static void test_any_start(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data d = pictures();
    const heed_dataset set = columns_of(cx, &d);
    heed_batches_opts o = opts_of(3);
    heed_batches *whole = batches_open(cx, &set, &o, false);
    for (int64_t start = 0; start < 3 * PER_EPOCH; start++) {
        const heed_batch *expected = heed_batches_next(cx, whole);
        for (int kind = 0; kind < 4; kind++) {
            o.epoch = kind & 1 ? 0 : start / PER_EPOCH;
            o.index = kind & 1 ? start : start % PER_EPOCH;
            heed_batches *b = batches_open(cx, &set, &o, kind >> 1);
            const heed_batch *found = heed_batches_next(cx, b);
            assert_int_equal(found->epoch, expected->epoch);
            assert_int_equal(found->index, expected->index);
            assert_int_equal(found->n, expected->n);
            assert_memory_equal(heed_batch_f32(found, "x"), heed_batch_f32(expected, "x"),
                                (size_t)(found->n * WIDTH) * sizeof(float));
            assert_memory_equal(heed_batch_i32(found, "labels"), heed_batch_i32(expected, "labels"),
                                (size_t)found->n * sizeof(int32_t));
            heed_batches_close(cx, b);
        }
    }
    heed_batches_close(cx, whole);
    close_context(cx);
}

/* A batch stays as it is till the next call, however long the thread has to run ahead; options may vanish. */
static void test_held(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data d = floats();
    const heed_dataset set = columns_of(cx, &d);
    int64_t rows[N];
    float mean[WIDTH], std[WIDTH], copy[BATCH * WIDTH];
    for (int i = 0; i < N; i++) rows[i] = i;
    memcpy(mean, made.mean, sizeof mean);
    memcpy(std, made.std, sizeof std);
    heed_batches_opts o = {.batch = BATCH, .shuffle = true, .seed = 3, .rows = rows, .n_rows = N};
    o.mean = mean, o.std = std;
    heed_batches *b = batches_open(cx, &set, &o, true);
    memset(rows, 0, sizeof rows);
    memset(mean, 0, sizeof mean);
    memset(std, 0, sizeof std);
    o = (heed_batches_opts){.batch = BATCH, .shuffle = true, .seed = 3};
    o.mean = made.mean, o.std = made.std;
    for (int64_t i = 0; i < 20; i++) {
        const heed_batch *batch = heed_batches_next(cx, b);
        memcpy(copy, heed_batch_f32(batch, "x"), (size_t)batch->n * WIDTH * sizeof *copy);
        usleep(500);
        assert_memory_equal(copy, heed_batch_f32(batch, "x"), (size_t)batch->n * WIDTH * sizeof *copy);
        expect_batch(batch, &d, &o, i / PER_EPOCH, i % PER_EPOCH);
    }
    heed_batches_close(cx, b);
    close_context(cx);
}

/* Closed at any moment, also before the first batch, also on a failed context; many at a time. */
static void test_close(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data d = pictures();
    const heed_dataset set = columns_of(cx, &d);
    heed_batches_opts o = opts_of(1);
    for (int i = 0; i < 60; i++) {
        heed_batches *b = batches_open(cx, &set, &o, true), *other = batches_open(cx, &set, &o, true);
        for (int k = 0; k < i % 5; k++) assert_non_null(heed_batches_next(cx, b));
        if (i % 7 == 0) {
            heed_fail(cx, HEED_ERR_USAGE, "before");
            assert_null(heed_batches_next(cx, b));
        }
        heed_batches_close(cx, b);
        heed_batches_close(cx, other);
        heed_clear(cx);
    }
    heed_batches_close(cx, NULL);
    close_context(cx);
}

/* Large enough that heed_batches_open takes a thread where there are processors for one. */
static void test_large(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d = heed_data_digits(cx, 1, 300);
    const heed_batches_opts o = {.batch = 64, .shuffle = true, .seed = 9, .epoch = 2};
    const heed_dataset set = columns_of(cx, d);
    heed_batches *b = heed_batches_open(cx, &set, &o), *plain = batches_open(cx, &set, &o, false);
    for (int i = 0; i < 12; i++) {
        const heed_batch *found = heed_batches_next(cx, b), *expected = heed_batches_next(cx, plain);
        assert_int_equal(found->epoch, 2 + i / 5);
        assert_int_equal(found->n, i % 5 == 4 ? 44 : 64);
        assert_memory_equal(heed_batch_f32(found, "x"), heed_batch_f32(expected, "x"),
                            (size_t)found->n * 784 * sizeof(float));
        assert_memory_equal(heed_batch_i32(found, "labels"), heed_batch_i32(expected, "labels"),
                            (size_t)found->n * sizeof(int32_t));
        const float *x = heed_batch_f32(found, "x");
        for (int64_t j = 0; j < found->n * 784; j++) assert_true(x[j] >= 0.0f && x[j] <= 1.0f);
    }
    heed_batches_close(cx, b);
    heed_batches_close(cx, plain);
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data data = floats();
    const heed_dataset good = columns_of(cx, &data), none = {.columns = 1, .column = {good.column[0]}},
                       hollow = {.n = 3};
    const heed_dataset counting = {.n = N, .columns = 1, .column = {good.column[0]}, .counts = "labels"};
    heed_dataset nameless = good;
    nameless.column[0].name = NULL;
    float zeros[WIDTH] = {0}, nans[WIDTH];
    for (int j = 0; j < WIDTH; j++) nans[j] = NAN;
    const struct {
        const heed_dataset *data;
        heed_batches_opts opts;
        const char *sentence;
    } cases[] = {
        {NULL, {.batch = 1}, "batches: the data set is NULL"},
        {&none, {.batch = 1}, "batches: the data set is empty"},
        {&hollow, {.batch = 1}, "batches: a data set of 0 columns, not 1 to 8"},
        {&nameless, {.batch = 1}, "batches: column 0 has no name"},
        {&counting, {.batch = 1}, "batches: the data set has no column 'labels' to count"},
        {&good, {.batch = 1, .micro = -1}, "batches: a micro-batch of -1 examples"},
        {&good, {.batch = 1, .groups = &(heed_groups){0}}, "batches: groups are given instead of a batch"},
        {&good, {.batch = 0}, "batches: a batch of 0 examples: must be 1 or more"},
        {&good, {.batch = -1}, "batches: a batch of -1 examples"},
        {&good, {.batch = N + 1}, "batches: a batch of 54 examples is larger than the data, which has 53"},
        {&good, {.batch = 5, .rows = made.rows, .n_rows = 4}, "a batch of 5 examples is larger than the data"},
        {&good, {.batch = 1, .rows = made.rows}, "batches: no examples are chosen"},
        {&good, {.batch = 1, .n_rows = 4}, "batches: 4 examples are asked for, but not which of the 53"},
        {&good, {.batch = 1, .rows = (int64_t[]){1, N}, .n_rows = 2}, "batches: rows[1] is 53, out of range"},
        {&good, {.batch = 1, .epoch = -1}, "batches: cannot begin at epoch -1, batch 0"},
        {&good, {.batch = 1, .index = -1}, "batches: cannot begin at epoch 0, batch -1"},
        {&good, {.batch = 1, .epoch = INT64_MAX}, "batches: cannot begin at epoch 9223372036854775807"},
        {&good, {.batch = 1, .mean = made.mean}, "batches: mean and std are given together or not at all"},
        {&good, {.batch = 1, .std = made.mean}, "together or not at all"},
        {&good, {.batch = 1, .mean = made.mean, .std = zeros}, "std 0: cannot standardise"},
        {&good, {.batch = 1, .mean = nans, .std = made.std}, "batches: column 1 has mean nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(heed_batches_open(cx, cases[i].data, &cases[i].opts));
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    assert_null(heed_batches_open(cx, &good, NULL));
    EXPECT_SENTENCE(cx, "batches: no options are given");
    assert_null(heed_batches_next(cx, NULL));
    EXPECT_SENTENCE(cx, "batches_next: the batches are NULL");
    assert_int_equal(heed_batches_per_epoch(NULL), 0);
    assert_null(heed_batches_open(NULL, &good, &cases[0].opts));
    close_context(cx);
}

static bool take_one(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes;
    const heed_data d = floats();
    const heed_dataset set = columns_of(cx, &d);
    const heed_batches_opts o = opts_of(7);
    heed_batches *b = batches_open(cx, &set, &o, size);
    const bool ok = b && heed_batches_next(cx, b);
    heed_batches_close(cx, b);
    return ok;
}

static void test_no_memory(void **state) {
    (void)state;
    starve(take_one, NULL, 0);
    starve(take_one, NULL, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),  cmocka_unit_test(test_any_start), cmocka_unit_test(test_held),
        cmocka_unit_test(test_close),     cmocka_unit_test(test_large),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
