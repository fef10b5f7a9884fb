/* Assignments against scipy's, index for index: with ties, forbidden places, costs of all sizes, and what it refuses.
 */
#include "heed/assign.h"
#include "io/io_test.h"

static const heed_array *part(heed_ctx *cx, heed_safetensors *file, int number, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%d.%s", number, name);
    const int64_t at = heed_safetensors_find(cx, file, full);
    return at < 0 ? NULL : heed_safetensors_get(cx, file, at);
}

static void test_scipy(void **state) {
    (void)state;
    char path[600];
    heed_ctx *cx = open_context();
    snprintf(path, sizeof path, "%s/kernel/assignment.safetensors", getenv("HEED_GOLDEN"));
    heed_safetensors *file = heed_safetensors_open(cx, path);
    int number = 0, refused = 0;
    assert_non_null(file);
    for (const heed_array *cost; (cost = part(cx, file, number, "cost")); number++) {
        const heed_array *const row = part(cx, file, number, "row"), *const column = part(cx, file, number, "column");
        const int64_t rows = cost->shape[0], columns = cost->shape[1], n = rows < columns ? rows : columns;
        int64_t *const found = malloc(2 * (size_t)n * sizeof *found);
        double *const wide = malloc((size_t)(rows * columns) * sizeof *wide);
        assert_int_equal(cost->dtype, HEED_F32);
        for (int64_t i = 0; i < rows * columns; i++) wide[i] = (double)((const float *)cost->data)[i];
        const bool ok = heed_assign(cx, wide, rows, columns, found, found + n);
        if (row && column) {
            if (!ok) fail_msg("%d: %s", number, heed_message(cx));
            assert_int_equal(heed_array_count(row), n);
            for (int64_t i = 0; i < n; i++)
                if (found[i] != ((const int32_t *)row->data)[i] || found[n + i] != ((const int32_t *)column->data)[i])
                    fail_msg("%d, (%lld,%lld): not the assignment that scipy finds", number, (long long)rows,
                             (long long)columns);
        } else {
            assert_false(ok);
            assert_int_equal(heed_error(cx), HEED_ERR_RANGE);
            heed_clear(cx);
            refused++;
        }
        free(wide);
        free(found);
    }
    assert_true(number > 50 && refused > 3);
    heed_safetensors_close(file);
    close_context(cx);
}

/* Of matrices with many ties each sum must be the least that trying all permutations finds. */
static double least_of(const double *cost, int n, int row, unsigned taken) {
    double least = row < n ? HUGE_VAL : 0;
    for (int j = 0; row < n && j < n; j++)
        if (!(taken >> j & 1)) least = fmin(least, cost[row * n + j] + least_of(cost, n, row + 1, taken | 1U << j));
    return least;
}

static void test_least(void **state) {
    (void)state;
    enum { N = 6 };
    heed_ctx *cx = open_context();
    for (uint64_t round = 0; round < 200; round++) {
        double cost[N * N], sum = 0;
        int64_t row[N], column[N];
        for (int i = 0; i < N * N; i++)
            cost[i] = (double)(heed_random_bits(3, round, (uint64_t)i) % (2 + (uint32_t)round % 30));
        assert_true(heed_assign(cx, cost, N, N, row, column));
        for (int i = 0; i < N; i++) sum += cost[row[i] * N + column[i]];
        assert_true(sum == least_of(cost, N, 0, 0)); /* whole numbers */
    }
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const double cost[] = {1, 2, 3, (double)NAN, 5, 6};
    int64_t row[3] = {7, 7, 7}, column[3];
    assert_true(heed_assign(cx, cost, 0, 3, row, column)); /* nothing to assign */
    assert_true(heed_assign(cx, NULL, 3, 0, NULL, NULL));
    assert_int_equal(row[0], 7);
    assert_false(heed_assign(cx, cost, 2, 3, row, column));
    assert_string_equal(heed_message(cx), "assign: the cost of row 1 and column 0 is not a number");
    heed_clear(cx);
    assert_false(heed_assign(cx, cost, -1, 3, row, column));
    heed_clear(cx);
    assert_false(heed_assign(cx, cost, 1, 3, NULL, column));
    heed_clear(cx);
    assert_false(heed_assign(cx, cost, INT64_MAX, INT64_MAX, row, column));
    assert_int_equal(heed_error(cx), HEED_ERR_RANGE);
    heed_clear(cx);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scipy),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
