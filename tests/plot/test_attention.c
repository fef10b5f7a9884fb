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

/* Writes a PNG, and gives its width and height in points. */
static void size_of(heed_figure *f, double *width, double *height) {
    const char *path = in_folder("sized.png");
    unsigned char head[24];
    assert_true(heed_figure_write(f, path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    *width = (head[18] * 256 + head[19]) / 2.0;
    *height = (head[22] * 256 + head[23]) / 2.0;
    heed_figure_free(f);
}

static void one_head(void **state) {
    (void)state;
    const heed_capture_map m = map();
    const heed_attention_look look = {.batch = 1, .query_names = queries, .key_names = keys, .numbers = true};
    heed_figure *f = heed_figure_new(cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    assert_true(heed_plot_attention_map(p, &m, 2, &look));
    /* the numbers of that head of that sequence, on a scale from 0 to the largest of them */
    const struct layer *l = &p->layers[0];
    const float *wanted = weights + (1 * HEADS + 2) * ROWS * KEYS;
    float most = 0;
    for (int i = 0; i < ROWS * KEYS; i++) most = fmaxf(most, wanted[i]);
    assert_memory_equal(l->y, wanted, ROWS * KEYS * sizeof *wanted);
    assert_true(l->low == 0 && l->high == (double)most);
    assert_string_equal(p->x_label, "keys");
    assert_string_equal(p->y_label, "queries");
    assert_true(l->weights && l->numbers);
    assert_string_equal(l->names.at[1], "animal");
    double width, height;
    size_of(f, &width, &height); /* that of 5 x 4 cells of 30 points and the words around them */
    assert_true(width > 150 + 60 && width < 150 + 130 && height > 120 + 30 && height < 120 + 70);

    float flat[2 * 40] = {0}; /* two rows of 40 keys: the picture is wide and not tall */
    const heed_capture_map two = {.batch = 1, .heads = 1, .rows = 2, .keys = 40, .weights = flat};
    f = heed_figure_new(cx, 0, 0);
    assert_true(heed_plot_attention_map(heed_figure_panel(f, 0, 0), &two, 0, NULL));
    size_of(f, &width, &height);
    assert_true(width > 40 * 15 && width < 40 * 15 + 130 && height > 30 + 30 && height < 30 + 70);
    const char *longer[40]; /* names below it are not cut because it is low */
    for (int i = 0; i < 40; i++) longer[i] = "a rather long word";
    f = heed_figure_new(cx, 0, 0);
    assert_true(heed_plot_attention_map(heed_figure_panel(f, 0, 0), &two, 0,
                                        &(heed_attention_look){.key_names = longer, .high = 1}));
    size_of(f, &width, &height);
    assert_true(height > 30 + 80);

    /* what a row predicts stands behind its token; an empty text is nothing */
    static const char *const next[ROWS] = {"Tier", "", NULL, "."};
    f = heed_figure_new(cx, 0, 0);
    p = heed_figure_panel(f, 0, 0);
    assert_true(heed_plot_attention_map(p, &m, 0, &(heed_attention_look){.query_names = queries, .next_names = next}));
    assert_string_equal(p->layers[0].names.at[0], "the \u2192 Tier");
    assert_string_equal(p->layers[0].names.at[1], "animal");
    assert_string_equal(p->layers[0].names.at[2], "was");
    assert_string_equal(p->layers[0].names.at[3], "tired \u2192 .");
    heed_figure_free(f);

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
    const heed_attention_look look = {.query_names = queries, .key_names = keys};
    heed_figure *f = heed_figure_new(cx, 0, 0);
    assert_true(heed_plot_attention_sheet(f, maps, 3, &look));
    assert_int_equal(f->rows, 3);
    assert_int_equal(f->cols, HEADS);
    assert_true(f->bar);
    assert_string_equal(f->title, "attention"); /* of two sites, which the rows say */
    assert_string_equal(f->panels[0]->y_label, "layer 0, cross");
    assert_string_equal(f->panels[2 * HEADS]->y_label, "layer 1, attention");
    assert_null(f->panels[2 * HEADS + 1]); /* the last map has one head */
    for (int i = 0; i < 3; i++)            /* one scale for all, all heads of the first sequence */
        for (int h = 0; h < (i == 2 ? 1 : HEADS); h++) {
            const heed_panel *p = f->panels[i * HEADS + h];
            const struct layer *l = &p->layers[0];
            assert_true(l->low == 0 && l->high == 0.5);
            assert_memory_equal(l->y, weights + h * ROWS * KEYS, ROWS * KEYS * sizeof *weights);
            /* columns are heads, named on top; tokens stand at the left and at the bottom */
            assert_int_equal(p->title != NULL, i == 0);
            assert_int_equal(l->names.at != NULL, h == 0);
            assert_int_equal(l->names_2.at != NULL, i == 2);
            assert_true(p->bare_y == (h > 0) && p->bare_x == (i < 2));
        }
    assert_string_equal(f->panels[1]->title, "head 1");
    assert_string_equal(f->panels[0]->layers[0].names.at[1], "animal");
    assert_string_equal(f->panels[2 * HEADS]->layers[0].names_2.at[3], "m\u00fcde");
    writes(f, "sheet.png");

    f = heed_figure_new(cx, 0, 0); /* heads are counted from where they are said to begin */
    assert_true(heed_plot_attention_sheet(f, maps, 1, &(heed_attention_look){.first_head = 5}));
    assert_string_equal(f->panels[2]->title, "head 7");
    assert_string_equal(f->panels[0]->y_label, "layer 0");
    assert_string_equal(f->title, "cross attention");
    heed_figure_free(f);

    f = heed_figure_new(cx, 0, 0); /* many heads are broken into rows; a title of one's own stays */
    float *many = calloc(40 * ROWS * KEYS, sizeof *many);
    const heed_capture_map wide = {.batch = 1, .heads = 40, .rows = ROWS, .keys = KEYS, .weights = many};
    heed_figure_title(f, "zeros");
    assert_true(heed_plot_attention_sheet(f, &wide, 1, &look));
    assert_string_equal(f->title, "zeros");
    assert_true(f->rows == 5 && f->cols == 9 && f->panels[0]->layers[0].high == 1);
    assert_string_equal(f->panels[39]->title, "head 39");
    assert_string_equal(f->panels[0]->y_label, "layer 0");
    assert_null(f->panels[9]->y_label); /* a layer is named once */
    /* the bottom of every column has the keys */
    for (int h = 0; h < 40; h++) assert_int_equal(f->panels[h]->layers[0].names_2.at != NULL, h >= 40 - 9);
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
    assert_string_equal(text, "   the @@@@@.....\n"
                              "animal -----#####\n"
                              "        das Tier\n"
                              "       0.00 [ .:-=+*#%@] 1.00  weight\n");
    heed_mem_free(cx, text);
    const char *const next[] = {"animal", ""};
    const heed_attention_look predicts = {
        .query_names = queries, .key_names = keys, .next_names = next, .numbers = true};
    text = heed_terminal_attention(cx, &m, 0, &predicts, &(heed_terminal){.width = 50});
    assert_non_null(text);
    assert_string_equal(text, "the \u2192 animal  .90  .10\n"
                              "      animal  .25  .75\n"
                              "              das Tier\n"
                              "             weight\n");
    heed_mem_free(cx, text);
}

/* A text wider than the terminal: every query has its line and name, and no weight is lost in a block. */
static void long_text(void **state) {
    (void)state;
    enum { N = 60 };
    static float w[N * N];
    char text[N][16], line[128];
    const char *names[N];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "w%d", i);
        names[i] = text[i];
        for (int j = 0; j < N; j++) w[i * N + j] = j == N - 1 - i ? 0.9f : 0.1f / (N - 1);
    }
    const heed_capture_map m = {.batch = 1, .heads = 1, .rows = N, .keys = N, .weights = w};
    const heed_attention_look look = {.query_names = names, .key_names = names};
    for (int width = 80; width >= 40; width -= 40) {
        char *shown = heed_terminal_attention(cx, &m, 0, &look, &(heed_terminal){.width = width, .ascii = true}),
             *at = shown;
        assert_non_null(shown);
        const int block = width == 80 ? 1 : 2;
        for (int i = 0; i < N; i++) {
            int n = snprintf(line, sizeof line, "%3s ", names[i]);
            for (int j = 0; j <= (N - 1 - i) / block; j++) line[n++] = j == (N - 1 - i) / block ? '@' : ' ';
            line[n++] = '\n';
            assert_memory_equal(at, line, (size_t)n);
            at += n;
        }
        /* the first letters of the names, then their digits */
        int n = snprintf(line, sizeof line, "    ");
        for (int j = 0; j < N / block; j++) line[n++] = 'w';
        line[n++] = '\n';
        assert_memory_equal(at, line, (size_t)n);
        assert_int_equal(strstr(shown, "blocks: largest of 1 x 2") != NULL, block == 2);
        heed_mem_free(cx, shown);
    }
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
    assert_string_equal(f->panels[2]->y_label, "layer 1");
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
        done = heed_plot_attention_sheet(f, &m, 1, &(heed_attention_look){.next_names = queries});
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
        cmocka_unit_test_setup_teardown(long_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(from_capture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
