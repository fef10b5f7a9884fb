/* Figures: files that are what their names say, the same bytes every time, sentences for nonsense, no memory lost. */
#include "heed/image.h"
#include "heed/plot.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../context.h"
#include "../folder.h"
#include "base/counting.h"

static int set_up(void **state) { return open_cx(state) || make_folder(state); }
static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

static int entries(void) {
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return count;
}

static char *slurp(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *data = malloc(1 << 24);
    *size = fread(data, 1, (1 << 24) - 1, f);
    data[*size] = '\0';
    fclose(f);
    return data;
}

static unsigned big_endian(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    return (unsigned)u[0] << 24 | (unsigned)u[1] << 16 | (unsigned)u[2] << 8 | u[3];
}

/* One of everything. NULL when the context has failed. */
static heed_figure *everything(heed_ctx *c, heed_theme theme) {
    static const char *const names[] = {"Musician", "Lawyer", "Shopkeeper", "a chef with a long name", "\u6599\u7406"};
    float x[40], y[40], z[40], map[60], weights[24 + 18], images[4 * 9];
    for (int i = 0; i < 40; i++) {
        x[i] = (float)i / 8;
        y[i] = i == 7 ? NAN : i == 11 ? INFINITY : 2 * sinf(x[i]);
        z[i] = y[i] + 0.5f;
    }
    for (int i = 0; i < 60; i++) map[i] = i == 5 ? NAN : sinf((float)i);
    for (int i = 0; i < 42; i++) weights[i] = i == 3 ? NAN : cosf((float)i);
    for (int i = 0; i < 36; i++) images[i] = (float)(i % 7) - 3;
    heed_figure *f = heed_figure_new(c, 700, 500);
    heed_figure_grid(f, 3, 3);
    heed_figure_theme(f, theme);
    heed_figure_title(f, "everything <&> \"all\"");
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "curves");
    heed_panel_labels(p, "x", "y");
    heed_panel_band(p, x, y, z, 40, &(heed_style){.label = "band"});
    heed_panel_curve(p, x, y, 40, &(heed_style){.label = "curve", .dash = HEED_DASH_BOTH});
    heed_panel_curve(p, NULL, y, 40, &(heed_style){.steps = true, .marker = HEED_MARKER_DIAMOND});
    for (int m = 0; m <= HEED_MARKER_CROSS; m++)
        heed_panel_scatter(p, x, z, 40, &(heed_style){.marker = (heed_marker)m, .label = m ? NULL : "points"});
    heed_panel_vline(p, 2, &(heed_style){.dash = HEED_DASH_DOTS, .label = "line"});
    heed_panel_hline(p, 0.5, NULL);
    heed_panel_text(p, 1, 1, "words \u03b1\u03b2", NULL);
    p = heed_figure_panel(f, 0, 1);
    heed_panel_bars(p, names, y, 5, &(heed_style){.numbers = true, .label = "bars"});
    heed_panel_bars(p, NULL, z, 5, NULL);
    p = heed_figure_panel(f, 0, 2);
    heed_panel_hbars(p, names, y + 20, 5, &(heed_style){.numbers = true});
    p = heed_figure_panel(f, 1, 0);
    heed_panel_heatmap(p, map, 12, 5, &(heed_heatmap){.col_names = names, .scale_label = "weight"});
    p = heed_figure_panel(f, 1, 1);
    heed_panel_heatmap(p, map, 3, 4, &(heed_heatmap){.numbers = true, .map = HEED_MAP_DIVERGING, .stretch = true});
    p = heed_figure_panel(f, 1, 2);
    heed_panel_images(p, images, 4, 3, 3, &(heed_images){.titles = names, .own_scales = true, .map = HEED_MAP_GREY});
    p = heed_figure_panel(f, 2, 0);
    heed_panel_network(p, (int[]){4, 6, 3}, 3, (const float *[]){weights, weights + 24},
                       &(heed_network){.layer_names = names, .input_names = names, .output_names = names, .most = 4});
    p = heed_figure_panel(f, 2, 1);
    heed_panel_log(p, true, true);
    heed_panel_curve(p, x, z, 40, NULL); /* with numbers <= 0 */
    static const float pen[] = {0, 0, 0, 3, 1, 0, 2, 5, 1, 4, -6, 0, 1, 3, 0, 1, 1, 1, 2, 2, 1};
    heed_panel_writing(heed_figure_panel(f, 2, 2),
                       (heed_writing_line[]){{pen, 7, 4, "a beginning"}, {pen, 1, 1, NULL}, {pen, 7, 0, NULL}}, 3);
    return f;
}

static void check_png(const char *path, unsigned width, unsigned height) {
    size_t size;
    char *data = slurp(path, &size);
    assert_true(size > 60);
    assert_memory_equal(data, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(big_endian(data + 16), width);
    assert_int_equal(big_endian(data + 20), height);
    assert_memory_equal(data + size - 8, "IEND", 4);
    free(data);
}

/* Tags that open and close in order, attributes in quotes, no stray markup: roughly what a parser would demand. */
static void check_xml(const char *path, int least) {
    size_t size;
    char *data = slurp(path, &size), *s = data;
    const char *open[64];
    int depth = 0, tags = 0;
    assert_int_equal(strncmp(data, "<?xml", 5), 0);
    while ((s = strchr(s, '<'))) {
        char *end = strchr(s, '>');
        assert_non_null(end);
        *end = '\0';
        if (s[1] == '/') {
            assert_true(depth > 0);
            depth--;
            assert_int_equal(strncmp(open[depth], s + 2, strlen(s + 2)), 0);
        } else if (s[1] != '?' && s[1] != '!' && end[-1] != '/') {
            assert_true(depth < 64);
            open[depth++] = s + 1;
        }
        int quotes = 0;
        for (const char *c = s; *c; c++) quotes += *c == '"';
        assert_int_equal(quotes % 2, 0);
        assert_null(strstr(s + 1, "nan"));
        tags++;
        s = end + 1;
    }
    assert_int_equal(depth, 0);
    assert_true(tags >= least);
    free(data);
}

static void formats(void **state) {
    (void)state;
    heed_figure *f = everything(cx, HEED_THEME_LIGHT);
    assert_true(heed_figure_write(f, in_folder("a.png")));
    assert_true(heed_figure_scale(f, 1.5));
    assert_true(heed_figure_write(f, in_folder("b.PNG")));
    assert_true(heed_figure_write(f, in_folder("a.svg")));
    assert_true(heed_figure_write(f, in_folder("a.pdf")));
    heed_figure_free(f);
    assert_string_equal(heed_message(cx), "");
    check_png(in_folder("a.png"), 1400, 1000);
    check_png(in_folder("b.PNG"), 1050, 750);
    check_xml(in_folder("a.svg"), 500);
    size_t size;
    char *data = slurp(in_folder("a.pdf"), &size);
    assert_memory_equal(data, "%PDF-1.", 7);
    assert_true(size > 1000 && memcmp(data + size - 6, "%%EOF\n", 6) == 0);
    free(data);
    assert_int_equal(entries(), 4);
}

static void assert_same(const char *a, const char *b) {
    size_t n, m;
    char *x = slurp(a, &n), *y = slurp(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

static void same_bytes(void **state) {
    (void)state;
    for (int theme = HEED_THEME_LIGHT; theme <= (int)HEED_THEME_DARK; theme++)
        for (int i = 0; i < 3; i++) {
            static const char *const first[] = {"1.png", "1.svg", "1.pdf"}, *const second[] = {"2.png", "2.svg",
                                                                                               "2.pdf"};
            heed_figure *f = everything(cx, (heed_theme)theme);
            assert_true(heed_figure_write(f, in_folder(first[i])));
            heed_figure_free(f);
            f = everything(cx, (heed_theme)theme);
            assert_true(heed_figure_write(f, in_folder(second[i])));
            assert_same(in_folder(first[i]), in_folder(second[i]));
            assert_true(heed_figure_write(f, in_folder(second[i]))); /* the same figure once more */
            assert_same(in_folder(first[i]), in_folder(second[i]));
            heed_figure_free(f);
        }
}

/* A heat map counts its cells, or spans the limits of its panel: a point within those is drawn, beyond them not. */
static void map_limits(void **state) {
    (void)state;
    const float values[] = {0, 1, 2, 3}, x = 1.9f, y = -1.9f;
    for (int limits = 0; limits < 2; limits++) {
        for (int point = 0; point < 2; point++) {
            heed_figure *f = heed_figure_new(cx, 200, 200);
            heed_panel *p = heed_figure_panel(f, 0, 0);
            if (limits) heed_panel_limits_x(p, -2, 2);
            if (limits)
                heed_panel_ticks_x(p, (float[]){-9, -1, 0, 1.5f}, (const char *[]){"a", "1 Jul", "", "6:00"}, 4);
            if (limits) heed_panel_limits_y(p, -2, 2);
            heed_panel_heatmap(p, values, 2, 2, &(heed_heatmap){.numbers = true});
            if (point) heed_panel_scatter(p, &x, &y, 1, NULL);
            assert_true(heed_figure_write(f, in_folder(point ? "point.svg" : "none.svg")));
            heed_figure_free(f);
        }
        size_t n, m;
        char *with = slurp(in_folder("point.svg"), &n), *without = slurp(in_folder("none.svg"), &m);
        assert_true((n != m || memcmp(with, without, n) != 0) == limits);
        free(with);
        free(without);
    }
}

/* The colour of a pixel cannot be read without a decoder; that themes differ can be. */
/* One bar for all heat maps: they are drawn on one scale, that of all their numbers. */
static void shared_bar(void **state) {
    (void)state;
    const float small[] = {0, 0.1f, 0.2f, 0.5f}, large[] = {0.25f, 1, 0.5f, 0.75f};
    for (int k = 0; k < 3; k++) { /* 0: ends from the data, 1: given, 2: no bar of the figure */
        heed_figure *f = heed_figure_new(cx, 0, 0);
        heed_figure_grid(f, 2, 2);
        if (k < 2) heed_figure_bar(f, "weight");
        for (int i = 0; i < 2; i++) {
            heed_panel_curve(heed_figure_panel(f, 0, i), NULL, small, 4, NULL);
            heed_panel_heatmap(heed_figure_panel(f, 1, i), i ? large : small, 2, 2,
                               &(heed_heatmap){.low = 0, .high = k == 1 ? 1 : 0});
        }
        assert_true(heed_figure_write(f, in_folder(k == 0 ? "own.png" : k == 1 ? "given.png" : "bars.png")));
        heed_figure_free(f);
    }
    assert_same(in_folder("own.png"), in_folder("given.png"));
    size_t n, m;
    char *a = slurp(in_folder("own.png"), &n), *b = slurp(in_folder("bars.png"), &m);
    assert_true(n != m || memcmp(a, b, n) != 0);
    free(a);
    free(b);
}

static void themes_differ(void **state) {
    (void)state;
    size_t n;
    for (int theme = 0; theme < 2; theme++) {
        heed_figure *f = heed_figure_new(cx, 100, 80);
        heed_figure_theme(f, (heed_theme)theme);
        heed_figure_panel(f, 0, 0);
        assert_true(heed_figure_write(f, in_folder("t.svg")));
        heed_figure_free(f);
        char *svg = slurp(in_folder("t.svg"), &n);
        const char *rect = strstr(svg, "<rect");
        assert_non_null(rect);
        assert_true((strstr(rect, "rgb(100%,100%,100%)") != NULL) == (theme == HEED_THEME_LIGHT));
        free(svg);
    }
}

/* Panels with nothing, one point, constants, gaps only, huge numbers, tiny sizes. */
static void odd_data(void **state) {
    (void)state;
    const float nans[] = {NAN, NAN, INFINITY}, same[] = {5, 5, 5}, huge[] = {-3e38f, 0, 3e38f},
                tiny[] = {1e-40f, 2e-40f};
    const float zeros[] = {0, 0, 0, 0}, negative[] = {-1, -2, 0};
    for (int turn = 0; turn < 2; turn++) {
        heed_figure *f = turn ? heed_figure_new(cx, 3, 2) : heed_figure_new(cx, 0, 0);
        heed_figure_grid(f, 4, 3);
        heed_panel_curve(heed_figure_panel(f, 0, 0), NULL, NULL, 0, NULL);
        heed_panel_curve(heed_figure_panel(f, 0, 1), NULL, nans, 3, &(heed_style){.label = "gaps"});
        heed_panel_curve(heed_figure_panel(f, 0, 2), same, same, 1, NULL);
        heed_panel_curve(heed_figure_panel(f, 1, 0), huge, huge, 3, NULL);
        heed_panel_curve(heed_figure_panel(f, 1, 1), tiny, tiny, 2, NULL);
        heed_panel *p = heed_figure_panel(f, 1, 2);
        heed_panel_log(p, true, true);
        heed_panel_curve(p, negative, negative, 3, NULL);
        heed_panel_bars(heed_figure_panel(f, 2, 0), NULL, zeros, 4, &(heed_style){.numbers = true});
        heed_panel_bars(heed_figure_panel(f, 2, 1), NULL, NULL, 0, NULL);
        heed_panel_heatmap(heed_figure_panel(f, 2, 2), NULL, 0, 5, NULL);
        heed_panel_heatmap(heed_figure_panel(f, 3, 0), nans, 1, 3, &(heed_heatmap){.numbers = true});
        heed_panel_images(heed_figure_panel(f, 3, 1), NULL, 0, 3, 3, NULL);
        p = heed_figure_panel(f, 3, 2);
        heed_panel_curve(p, NULL, same, 3, NULL);
        heed_panel_limits_y(p, 1e9, (double)NAN); /* above all data */
        heed_panel_limits_x(p, 0.5, 0.5 + 1e-14);
        assert_true(heed_figure_write(f, in_folder("odd.png")));
        assert_true(heed_figure_write(f, in_folder("odd.svg")));
        check_png(in_folder("odd.png"), turn ? 6 : 1780, turn ? 4 : 1800);
        check_xml(in_folder("odd.svg"), turn ? 2 : 200);
        heed_figure_free(f);
    }
}

/* ---- wrong input ---- */

static void refuses(heed_figure *f, const char *sentence) {
    assert_string_equal(heed_message(cx), sentence);
    assert_false(heed_figure_write(f, in_folder("never.png"))); /* sticky */
    heed_figure_free(f);
    heed_clear(cx);
    assert_int_equal(entries(), 0);
}

static heed_panel *one(heed_figure **f) {
    *f = heed_figure_new(cx, 0, 0);
    return heed_figure_panel(*f, 0, 0);
}

static void bad_input(void **state) {
    (void)state;
    heed_figure *f;
    heed_panel *p;
    const float v[] = {1, 2, 3, 4};

    assert_null(heed_figure_new(cx, -1, 10));
    refuses(NULL, "figure: -1 x 10 points: each must be 0 (by default) to 14400");
    assert_null(heed_figure_new(cx, (double)NAN, 10));
    heed_clear(cx);
    p = one(&f);
    heed_figure_grid(f, 2, 2);
    refuses(f, "figure_grid: the figure has panels already");
    f = heed_figure_new(cx, 0, 0);
    heed_figure_grid(f, 0, 2);
    refuses(f, "figure_grid: 0 x 2 panels: must be 1 to 16384 in all");
    f = heed_figure_new(cx, 0, 0);
    assert_null(heed_figure_panel(f, 1, 0));
    refuses(f, "figure_panel: no panel (1, 0) in a grid of 1 x 1");
    f = heed_figure_new(cx, 0, 0);
    heed_figure_scale(f, 100);
    refuses(f, "figure_scale: 100 pixels to the point: must be 0.25 to 16");
    p = one(&f);
    heed_panel_title(p, "caf\xe9");
    refuses(f, "panel_title: 'caf\\xE9' is not UTF-8 at byte 3");
    p = one(&f);
    heed_panel_limits_x(p, 2, 1);
    refuses(f, "panel_limits_x: from 2 to 1: the first must be the smaller");
    p = one(&f);
    heed_panel_ticks_x(p, (float[]){1, 1}, (const char *[]){"a", "b"}, 2);
    refuses(f, "panel_ticks_x: 1: places must be finite and rise");
    p = one(&f);
    heed_panel_ticks_x(p, NULL, NULL, 0);
    refuses(f, "panel_ticks_x: places and names are needed");
    p = one(&f);
    heed_panel_curve(p, v, NULL, 4, NULL);
    refuses(f, "curve: 4 numbers, but no array");
    p = one(&f);
    heed_panel_curve(p, v, v, -4, NULL);
    refuses(f, "curve: -4 numbers");
    p = one(&f);
    heed_panel_scatter(p, v, v, 4, &(heed_style){.size = -1});
    refuses(f, "scatter: width 1.6, size -1, alpha 0.75: out of range");
    p = one(&f);
    heed_panel_curve(p, v, v, 4, &(heed_style){.color = (heed_color)99});
    refuses(f, "curve: colour 99, dash 0, marker 0: no such thing");
    p = one(&f);
    heed_panel_vline(p, (double)NAN, NULL);
    refuses(f, "vline: the place is not a finite number");
    p = one(&f);
    heed_panel_text(p, 0, 0, NULL, NULL);
    refuses(f, "text: there are no words");
    p = one(&f);
    heed_panel_heatmap(p, v, 2, -2, NULL);
    refuses(f, "heatmap: (2,-2) is no shape");
    p = one(&f);
    heed_panel_heatmap(p, v, 2, 2, &(heed_heatmap){.low = 2, .high = 1});
    refuses(f, "heatmap: a scale from 2 to 1: the first must be the smaller");
    p = one(&f);
    heed_panel_heatmap(p, v, 2, 2, NULL);
    heed_panel_images(p, v, 1, 2, 2, NULL);
    refuses(f, "panel: a heat map, images, a network, a graph or writing is there already");
    p = one(&f);
    heed_panel_bars(p, NULL, v, 4, NULL);
    heed_panel_hbars(p, NULL, v, 4, NULL);
    refuses(f, "panel: bars cannot both stand and lie");
    p = one(&f);
    heed_panel_network(p, (int[]){4, 0}, 2, NULL, NULL);
    refuses(f, "network: layer 1 has 0 nodes");
    p = one(&f);
    heed_panel_network(p, (int[]){2, 2}, 2, (const float *[]){NULL}, NULL);
    refuses(f, "network: array 0 of 1 is NULL");
    p = one(&f);
    heed_panel_writing(p, (heed_writing_line[]){{v, 0, 0, NULL}}, 1);
    refuses(f, "writing: line 1 has 0 points");
    p = one(&f);
    heed_panel_writing(p, (heed_writing_line[]){{(float[]){0, NAN, 0}, 1, 0, NULL}}, 1);
    refuses(f, "writing: line 1 holds a number that is not finite");
    p = one(&f);
    heed_panel_writing(p, NULL, 0);
    refuses(f, "writing: 0 lines are not 1 to 10000");
    p = one(&f);
    heed_panel_log(p, true, false);
    heed_panel_limits_x(p, -1, 1);
    assert_false(heed_figure_write(f, in_folder("x.png")));
    refuses(f, "panel: limits of -1 to 1 on a logarithmic axis");
    p = one(&f);
    assert_false(heed_figure_write(f, "picture.jpg"));
    refuses(f, "figure_write: 'picture.jpg': the name must end in .png, .svg or .pdf");
    p = one(&f);
    assert_false(heed_figure_write(f, NULL));
    refuses(f, "figure_write: '': the name must end in .png, .svg or .pdf");
    p = one(&f);
    assert_false(heed_figure_write_as(f, "picture", "gif"));
    refuses(f, "figure_write: 'gif': formats are png, svg and pdf");
    p = one(&f);
    assert_false(heed_figure_write_as(f, NULL, "png"));
    refuses(f, "figure_write: the path is NULL");
    f = heed_figure_new(cx, 14400, 14400);
    heed_figure_scale(f, 16);
    assert_false(heed_figure_write(f, in_folder("x.png")));
    refuses(f, "figure_write: 230400 x 230400 pixels: each must be at most 30000");
}

/* Nothing given is nothing done. */
static void nothing_given(void **state) {
    (void)state;
    assert_null(heed_figure_new(NULL, 0, 0));
    assert_null(heed_figure_panel(NULL, 0, 0));
    heed_figure_free(NULL);
    assert_false(heed_figure_grid(NULL, 1, 1));
    assert_false(heed_figure_theme(NULL, HEED_THEME_DARK));
    assert_false(heed_figure_title(NULL, "x"));
    assert_false(heed_figure_scale(NULL, 1));
    assert_false(heed_figure_write(NULL, "x.png"));
    assert_false(heed_panel_title(NULL, "x"));
    assert_false(heed_panel_labels(NULL, "x", "y"));
    assert_false(heed_panel_limits_x(NULL, 0, 1));
    assert_false(heed_panel_limits_y(NULL, 0, 1));
    assert_false(heed_panel_ticks_x(NULL, NULL, NULL, 0));
    assert_false(heed_panel_log(NULL, true, true));
    assert_false(heed_panel_legend(NULL, true));
    assert_false(heed_panel_curve(NULL, NULL, NULL, 0, NULL));
    assert_false(heed_panel_bars(NULL, NULL, NULL, 0, NULL));
    assert_false(heed_panel_text(NULL, 0, 0, "x", NULL));
    assert_false(heed_panel_heatmap(NULL, NULL, 0, 0, NULL));
    assert_false(heed_panel_images(NULL, NULL, 0, 1, 1, NULL));
    assert_false(heed_panel_network(NULL, NULL, 0, NULL, NULL));
    assert_false(heed_panel_writing(NULL, NULL, 0));
    assert_false(heed_failed(cx));
}

static void unwritable(void **state) {
    (void)state;
    heed_figure *f = everything(cx, HEED_THEME_LIGHT);
    assert_false(heed_figure_write(f, in_folder("no/such/folder.png")));
    assert_int_equal(heed_error(cx), HEED_ERR_FILE);
    assert_non_null(strstr(heed_message(cx), "no/such/folder.png"));
    heed_clear(cx);
    mkdir(in_folder("dir.svg"), 0700);
    assert_false(heed_figure_write(f, in_folder("dir.svg")));
    assert_int_equal(heed_error(cx), HEED_ERR_FILE);
    heed_clear(cx);
    heed_figure_free(f);
    assert_int_equal(entries(), 1);
}

/* Every request for memory refused in turn: a sentence, nothing written, nothing lost. */
static void allocation_failures(void **state) {
    (void)state;
    static const char *const formats_of[] = {"sweep.png", "sweep.svg"};
    for (int k = 0; k < 2; k++)
        for (int64_t at = 1;; at++) {
            struct counting c = {.fail_at = 0};
            heed_ctx *own = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
            assert_non_null(own);
            const size_t live = c.live;
            c.requests = 0;
            c.fail_at = at;
            heed_figure *f = everything(own, HEED_THEME_DARK);
            const bool ok = heed_figure_write(f, in_folder(formats_of[k]));
            heed_figure_free(f);
            assert_int_equal(c.live, live);
            assert_int_equal(c.mistakes, 0);
            if (!ok) assert_int_equal(heed_error(own), HEED_ERR_MEMORY);
            heed_close(own);
            assert_int_equal(c.blocks, 0);
            assert_int_equal(entries(), k + ok);
            if (ok) {
                assert_true(at > 50);
                break;
            }
        }
}

/* Images of red, green and blue have these very colours; what is not within 0 and 1 becomes the nearer of them. */
static void colours(void **state) {
    (void)state;
    const float colors[2 * 3] = {1, 0.4f, -3, NAN, 0, 2};
    static const uint8_t wanted[2][3] = {{255, 102, 0}, {0, 0, 255}};
    heed_figure *f = NULL;
    heed_panel *p = one(&f);
    heed_panel_images(p, colors, 2, 1, 1, &(heed_images){.columns = 2, .rgb = true});
    assert_true(heed_figure_write(f, in_folder("rgb.png")));
    heed_figure_free(f);
    heed_image made;
    assert_true(heed_image_read(cx, in_folder("rgb.png"), &(heed_image_opts){.mode = HEED_IMAGE_RGB}, &made));
    for (int i = 0; i < 2; i++)
        assert_memory_equal(made.data + 3 * (made.height / 2 * made.width + made.width * (1 + 2 * i) / 4), wanted[i],
                            3);
    heed_image_free(cx, &made);
    assert_null(heed_terminal_images(cx, colors, 2, 1, 1, &(heed_images){.rgb = true}, NULL));
    assert_string_equal(heed_message(cx), "terminal_images: of red, green and blue only files are made");
    heed_clear(cx);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* What is drawn at integers has its ticks there: 0, 5, 10 and 15, not 2.5 and 7.5. */
static void whole_numbers(void **state) {
    (void)state;
    enum { N = 20 };
    float x[N];
    char *bytes[2];
    size_t size[2];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    for (int chosen = 0; chosen < 2; chosen++) {
        heed_figure *f = heed_figure_new(cx, 480, 300);
        heed_panel *p = heed_figure_panel(f, 0, 0);
        heed_panel_curve(p, x, x, N, NULL);
        if (chosen) heed_panel_ticks_x(p, (float[]){0, 5, 10, 15}, (const char *const[]){"0", "5", "10", "15"}, 4);
        char path[600];
        snprintf(path, sizeof path, "%s/whole%d.png", folder, chosen);
        assert_true(heed_figure_write(f, path));
        bytes[chosen] = slurp(path, &size[chosen]);
        heed_figure_free(f);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    free(bytes[0]);
    free(bytes[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_bar, set_up, tear_down),
        TEST(formats),
        TEST(colours),
        TEST(same_bytes),
        TEST(whole_numbers),
        TEST(themes_differ),
        TEST(odd_data),
        TEST(map_limits),
        TEST(bad_input),
        TEST(nothing_given),
        TEST(unwritable),
        TEST(allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
