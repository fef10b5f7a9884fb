/* Piano rolls: a layer for each voice, lines at bars and at C, sentences for nonsense. */
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

static const heed_roll_note notes[] = {{0, 0, 1, 72}, {0, 1, 5, 74}, {1, 0, 4, 55}};
static const char *const names[] = {"high", "low"};

static void test_layers(void **state) {
    (void)state;
    int count[LAYER_NETWORK + 1] = {0};
    heed_figure *f = heed_figure_new(cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    assert_true(heed_plot_roll(p, notes, 3, names, 2, 4));
    const struct layer *first = NULL;
    for (int i = 0; i < p->n; i++) {
        count[p->layers[i].kind]++;
        if (p->layers[i].kind == LAYER_BAND && !first) first = &p->layers[i];
    }
    assert_int_equal(count[LAYER_BAND], 2);
    assert_int_equal(count[LAYER_VLINE], 1); /* at 4 */
    assert_int_equal(count[LAYER_HLINE], 2); /* C4 and C5 */
    assert_int_equal(first->n, 6);
    assert_string_equal(first->text, "high");
    assert_true(first->x[0] == 0 && first->x[1] < 1 && first->x[1] > 0.9f && isnan(first->x[2]) && first->x[3] == 1);
    assert_true(first->y[0] < 72 && first->z[0] > 72);
    assert_true(heed_figure_write(f, in_folder("roll.png")));
    heed_figure_free(f);
}

static void test_empty(void **state) {
    (void)state;
    heed_figure *f = heed_figure_new(cx, 0, 0);
    assert_true(heed_plot_roll(heed_figure_panel(f, 0, 0), NULL, 0, NULL, 4, 0));
    assert_true(heed_figure_write(f, in_folder("none.svg")));
    heed_figure_free(f);
}

static void test_nonsense(void **state) {
    (void)state;
    const heed_roll_note bad[] = {{2, 0, 1, 72}, {0, 0, 1, 128}, {0, (double)NAN, 1, 60}};
    for (int i = 0; i < 3; i++) {
        heed_figure *f = heed_figure_new(cx, 0, 0);
        assert_false(heed_plot_roll(heed_figure_panel(f, 0, 0), &bad[i], 1, names, 2, 4));
        assert_string_equal(heed_message(cx), "roll: note 0 makes no sense");
        heed_clear(cx);
        heed_figure_free(f);
    }
    heed_figure *f = heed_figure_new(cx, 0, 0);
    assert_false(heed_plot_roll(heed_figure_panel(f, 0, 0), notes, 3, names, 9, 4));
    assert_string_equal(heed_message(cx), "roll: notes of 1 to 8 voices are needed");
    heed_clear(cx);
    heed_figure_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_layers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
