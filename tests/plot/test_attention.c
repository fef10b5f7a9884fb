/* Pictures of attention: sheets and maps that are drawn, sizes that suit them, the terminal letter by letter, sentences
 * for nonsense. */
#include "heed/attention.h"
#include "heed/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../context.h"
#include "../folder.h"
#include "base/counting.h"
#include "plot/figure.h"

enum { BATCH = 2, HEADS = 3, ROWS = 4, KEYS = 5 };

static float weights[BATCH * HEADS * ROWS * KEYS];
static const char *const queries[ROWS] = {"the", "animal", "was", "tired"};
static const char *const keys[KEYS] = {"das", "Tier", "war", "m\u00fcde", "."};

static int set_up(void **state) {
    for (int i = 0; i < BATCH * HEADS * ROWS * KEYS; i++) weights[i] = (float)((i * 7) % 11) / 20;
    return open_cx(state) || make_folder(state);
}

static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

static heed_capture_map map(void) {
    return (heed_capture_map){
        .site = "cross", .layer = 1, .batch = BATCH, .heads = HEADS, .rows = ROWS, .keys = KEYS, .weights = weights};
}

static void writes(heed_figure *f, const char *name) {
    const char *path = in_folder(name);
    assert_true(heed_figure_write(f, path));
    assert_int_equal(access(path, R_OK), 0);
    heed_figure_free(f);
}

static void one_head(void **state) {
    (void)state;
    const heed_capture_map m = map();
    const heed_attention_look look = {.batch = 1, .query_names = queries, .key_names = keys, .numbers = true};
    heed_figure *f = heed_figure_new(cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    assert_true(heed_plot_attention_map(p, &m, 2, &look));
    assert_true(f->width > 200 && f->width < 800 && f->height > 150 && f->height < 800);
    /* the numbers of that head of that sequence, on a scale from 0 to the largest of them */
    const struct layer *l = &p->layers[0];
    const float *wanted = weights + (1 * HEADS + 2) * ROWS * KEYS;
    float most = 0;
    for (int i = 0; i < ROWS * KEYS; i++) most = fmaxf(most, wanted[i]);
    assert_memory_equal(l->y, wanted, ROWS * KEYS * sizeof *wanted);
    assert_true(l->low == 0 && l->high == (double)most);
    assert_string_equal(p->x_label, "keys");
    assert_string_equal(p->y_label, "queries");
    writes(f, "map.png");

    f = heed_figure_new(cx, 300, 200); /* one's own size, labels and scale stay */
    p = heed_figure_panel(f, 0, 0);
    heed_panel_labels(p, "German", "English");
    assert_true(heed_plot_attention_map(p, &m, 0, &(heed_attention_look){.high = 1}));
    assert_true(f->width == 300 && f->height == 200 && p->layers[0].high == 1);
    assert_string_equal(p->x_label, "German");
    writes(f, "map.svg");
}

static void sheet(void **state) {
    (void)state;
    heed_capture_map maps[3] = {map(), map(), map()};
    maps[0].layer = 0;
    maps[2].site = NULL;
    maps[2].heads = 1;
    maps[2].batch = 1;
    heed_figure *f = heed_figure_new(cx, 0, 0);
    assert_true(heed_plot_attention_sheet(f, maps, 3, NULL));
    assert_int_equal(f->rows, 3);
    assert_int_equal(f->cols, 1);
    assert_string_equal(f->panels[0]->title, "cross, layer 0");
    assert_string_equal(f->panels[2]->title, "attention, layer 1");
    for (int i = 0; i < 3; i++) { /* one scale for all, all heads of the first sequence */
        const struct layer *l = &f->panels[i]->layers[0];
        assert_int_equal(l->n, i == 2 ? 1 : HEADS);
        assert_true(l->low == 0 && l->high == 0.5);
        assert_memory_equal(l->y, weights, (size_t)l->n * ROWS * KEYS * sizeof *weights);
    }
    assert_string_equal(f->panels[1]->layers[0].names.at[2], "head 2");
    assert_string_equal(f->title, "Attention weights, dark 0 to bright 0.5");
    writes(f, "sheet.png");

    f = heed_figure_new(cx, 0, 0); /* heads are counted from where they are said to begin */
    assert_true(heed_plot_attention_sheet(f, maps, 1, &(heed_attention_look){.first_head = 5}));
    assert_string_equal(f->panels[0]->layers[0].names.at[2], "head 7");
    heed_figure_free(f);

    f = heed_figure_new(cx, 0, 0); /* many heads are broken into rows; a title of one's own stays */
    float *many = calloc(40 * ROWS * KEYS, sizeof *many);
    const heed_capture_map wide = {.batch = 1, .heads = 40, .rows = ROWS, .keys = KEYS, .weights = many};
    heed_figure_title(f, "zeros");
    assert_true(heed_plot_attention_sheet(f, &wide, 1, NULL));
    assert_string_equal(f->title, "zeros");
    assert_true(f->panels[0]->layers[0].columns == 9 && f->panels[0]->layers[0].high == 1);
    writes(f, "sheet.svg");
    free(many);
}

static void terminal(void **state) {
    (void)state;
    const float w[] = {0.9f, 0.1f, 0.25f, 0.75f};
    const heed_capture_map m = {.batch = 1, .heads = 1, .rows = 2, .keys = 2, .weights = w};
    const heed_attention_look look = {.query_names = queries, .key_names = keys, .high = 1};
    char *text = heed_terminal_attention(cx, &m, 0, &look, &(heed_terminal){.width = 40, .ascii = true});
    assert_string_equal(heed_message(cx), "");
    assert_non_null(text);
    assert_string_equal(text, "   the %%%%%.....\n"
                              "animal :::::#####\n"
                              "        das Tier\n"
                              "       0.00 [ .:-=+*#%@] 1.00  weight\n");
    heed_mem_free(cx, text);
}

/* What capture keeps can be drawn as it is. */
static void from_capture(void **state) {
    (void)state;
    heed_tensor *x = heed_full(cx, 1, 4, (int64_t[]){1, 6, 2, 4});
    assert_true(heed_capture_begin(cx, NULL));
    for (int layer = 0; layer < 2; layer++)
        assert_non_null(heed_attention(
            cx, x, x, x, &(heed_attention_opts){.mask = heed_mask_causal(0), .site = "encoder", .layer = layer}));
    assert_int_equal(heed_capture_count(cx), 2);
    const heed_capture_map maps[2] = {*heed_capture_at(cx, 0), *heed_capture_at(cx, 1)};
    heed_figure *f = heed_figure_new(cx, 0, 0);
    assert_true(heed_plot_attention_sheet(f, maps, 2, NULL));
    assert_string_equal(f->panels[1]->title, "encoder, layer 1");
    writes(f, "capture.png");
    heed_capture_end(cx);
    heed_reset(cx);
}

static void fails(heed_figure *f, const char *sentence) {
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
    heed_figure_free(f);
}

static void nonsense(void **state) {
    (void)state;
    heed_capture_map m = map();
    heed_figure *f = heed_figure_new(cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    assert_false(heed_plot_attention_map(p, NULL, 0, NULL));
    fails(f, "attention_map: there is no map");
    f = heed_figure_new(cx, 0, 0);
    assert_false(heed_plot_attention_map(heed_figure_panel(f, 0, 0), &m, 3, NULL));
    fails(f, "attention_map: head 3 of 3");
    assert_null(heed_terminal_attention(cx, &m, -1, NULL, NULL));
    fails(NULL, "terminal_attention: head -1 of 3");
    assert_null(heed_terminal_attention(cx, &m, 0, &(heed_attention_look){.batch = 2}, NULL));
    fails(NULL, "terminal_attention: sequence 2 of a batch of 2");
    assert_null(heed_terminal_attention(cx, &m, 0, &(heed_attention_look){.high = (double)NAN}, NULL));
    fails(NULL, "terminal_attention: a colour scale from 0 to nan");
    f = heed_figure_new(cx, 0, 0);
    assert_false(heed_plot_attention_sheet(f, &m, 0, NULL));
    fails(f, "attention_sheet: 0 maps: must be 1 to 1024");
    m.rows = 0;
    f = heed_figure_new(cx, 0, 0);
    assert_false(heed_plot_attention_sheet(f, &m, 1, NULL));
    fails(f, "attention_sheet: no map can be (2,3,0,5)");
    m.rows = INT64_MAX;
    assert_null(heed_terminal_attention(cx, &m, 0, NULL, NULL));
    fails(NULL, "terminal_attention: no map can be (2,3,9223372036854775807,5)");
    m = map();
    m.weights = NULL;
    assert_null(heed_terminal_attention(cx, &m, 0, NULL, NULL));
    fails(NULL, "terminal_attention: the map has no weights");
    m = map();
    f = heed_figure_new(cx, 0, 0); /* panels are there already */
    heed_figure_panel(f, 0, 0);
    assert_false(heed_plot_attention_sheet(f, &m, 1, NULL));
    fails(f, "figure_grid: the figure has panels already");
    assert_false(heed_plot_attention_map(NULL, &m, 0, NULL)); /* as everywhere: nothing happens */
    assert_false(heed_plot_attention_sheet(NULL, &m, 1, NULL));
    assert_null(heed_terminal_attention(NULL, &m, 0, NULL, NULL));
    assert_string_equal(heed_message(cx), "");
}

/* Every allocation fails once; nothing is lost. */
static void no_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 1; !done && n < 200; n++) {
        struct counting c = {.fail_at = n};
        heed_ctx *small = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
        if (!small) continue;
        const heed_capture_map m = map();
        heed_figure *f = heed_figure_new(small, 0, 0);
        done = heed_plot_attention_sheet(f, &m, 1, NULL);
        heed_figure_free(f);
        char *text = heed_terminal_attention(small, &m, 0, NULL, NULL);
        done = done && text;
        if (text) heed_mem_free(small, text);
        heed_close(small);
        assert_true(c.live == 0 && c.blocks == 0 && c.mistakes == 0);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sheet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(terminal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(from_capture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
