/* Confusion matrices: what is kept of the counts, sizes that suit them, sentences for nonsense. */
#include "heed/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../context.h"
#include "../folder.h"
#include "plot/figure.h"

static int set_up(void **state) { return open_cx(state) || make_folder(state); }
static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

static const int64_t counts[] = {9, 1, 0, 0, 4, 0, 25, 0, 75};
static const char *const names[] = {"cat", "dog", "zebra"};

static void test_cells(void **state) {
    (void)state;
    heed_figure *f = heed_figure_new(cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    assert_true(heed_plot_confusion(p, counts, 3, names));
    assert_int_equal(p->n, 1);
    const struct layer *l = &p->layers[0];
    const float shades[] = {-(float)sqrt(0.9), (float)sqrt(0.1), 0, 0, -1, 0, 0.5f, 0, -(float)sqrt(0.75)};
    const char *const texts[] = {"9", "1", "", "", "4", "", "25", "", "75"};
    for (int i = 0; i < 9; i++) {
        assert_true(fabsf(l->y[i] - shades[i]) < 1e-6f);
        assert_string_equal(l->names_3.at[i], texts[i]);
    }
    assert_string_equal(l->names.at[2], "zebra");
    assert_string_equal(l->names_2.at[1], "dog");
    assert_string_equal(p->x_label, "predicted class");
    assert_string_equal(p->y_label, "true class");
    assert_true(f->cell == 75);
    assert_true(heed_figure_write(f, in_folder("c.png")) && heed_figure_write(f, in_folder("c.svg")));
    heed_figure_free(f);
    assert_false(heed_failed(cx));
}

/* Cells shrink as classes grow in number, and a class that never occurs has an empty row. */
static void test_sizes(void **state) {
    (void)state;
    static int64_t large[100 * 100];
    const struct {
        int64_t classes;
        double cell;
    } cases[] = {{1, 80}, {2, 80}, {9, 34}, {20, 34}, {36, 20}, {100, 7.2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_figure *f = heed_figure_new(cx, 0, 0);
        assert_true(heed_plot_confusion(heed_figure_panel(f, 0, 0), large, cases[i].classes, NULL));
        assert_true(fabs(f->cell - cases[i].cell) < 1e-9);
        assert_true(heed_figure_write(f, in_folder("c.png")));
        heed_figure_free(f);
    }
}

static void expect_failure(const char *sentence) {
    assert_true(heed_failed(cx));
    if (!strstr(heed_message(cx), sentence)) fail_msg("'%s' is not in '%s'", sentence, heed_message(cx));
    heed_clear(cx);
}

static void test_nonsense(void **state) {
    (void)state;
    heed_figure *f = heed_figure_new(cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    assert_false(heed_plot_confusion(p, counts, 0, NULL));
    expect_failure("confusion: no matrix can be (0,0)");
    assert_false(heed_plot_confusion(p, NULL, 2, NULL));
    expect_failure("confusion: no matrix");
    assert_false(heed_plot_confusion(p, counts, (int64_t)1 << 40, NULL));
    expect_failure("confusion: no matrix");
    assert_false(heed_plot_confusion(p, (const int64_t[]){1, 0, 2, -1}, 2, NULL));
    expect_failure("confusion: row 1: the counts make no sense");
    assert_false(heed_plot_confusion(NULL, counts, 3, NULL));
    assert_false(heed_failed(cx));
    heed_figure_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
