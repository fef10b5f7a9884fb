/* Pictures in a terminal: small ones letter by letter, large ones by their width. */
#include "heed/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../context.h"
#include "base/counting.h"
#include "plot/terminal.h"

static void expect(char *text, const char *wanted) {
    assert_string_equal(heed_message(cx), "");
    assert_non_null(text);
    assert_string_equal(text, wanted);
    heed_mem_free(cx, text);
}

static void chooses_colors(void **state) {
    (void)state;
    assert_int_equal(heed_terminal_choose(NULL, "truecolor", "xterm-256color", true), HEED_TERMINAL_TRUE);
    assert_int_equal(heed_terminal_choose("", "24bit", "xterm", true), HEED_TERMINAL_TRUE);
    assert_int_equal(heed_terminal_choose("1", "truecolor", "xterm-256color", true), HEED_TERMINAL_PLAIN);
    assert_int_equal(heed_terminal_choose(NULL, "truecolor", "xterm-256color", false), HEED_TERMINAL_PLAIN);
    assert_int_equal(heed_terminal_choose(NULL, NULL, "screen-256color", true), HEED_TERMINAL_256);
    assert_int_equal(heed_terminal_choose(NULL, NULL, "xterm", true), HEED_TERMINAL_PLAIN);
    assert_int_equal(heed_terminal_choose(NULL, "truecolor", "dumb", true), HEED_TERMINAL_PLAIN);
    assert_int_equal(heed_terminal_choose(NULL, NULL, NULL, true), HEED_TERMINAL_PLAIN);
    assert_int_equal(heed_terminal_choose(NULL, NULL, "xterm-kitty", true), HEED_TERMINAL_TRUE);
}

static void counts_columns(void **state) {
    (void)state;
    assert_int_equal(text_columns("abc"), 3);
    assert_int_equal(text_columns("\u00e9t\u00e9"), 3);
    assert_int_equal(text_columns("e\u0301te\u0301"), 3); /* with combining accents */
    assert_int_equal(text_columns("\u6599\u7406"), 4);
    assert_int_equal(text_columns("\U0001F600"), 2);
    assert_int_equal(text_columns(""), 0);
    assert_int_equal(text_columns(NULL), 0);
}

static void curve(void **state) {
    (void)state;
    const float y[] = {0, 1, 2, 3, 4}, gap[] = {4, NAN, 0};
    expect(heed_terminal_curves(cx, (heed_series[]){{.label = "up", .y = y, .n = 5}}, 1,
                                &(heed_axes){.x_label = "step", .y_label = "loss"},
                                &(heed_terminal){.width = 24, .height = 5, .title = "Training"}),
           "Training\n"
           "loss\n"
           "4 ┤                 ⣀⠤⠒⠉\n"
           "  │             ⣀⠤⠒⠉\n"
           "2 ┤        ⢀⣀⠤⠒⠉\n"
           "  │   ⢀⡠⠤⠒⠊⠁\n"
           "0 ┤⡠⠔⠊⠁\n"
           "  └┬─────────┬─────────┬\n"
           "   0         2         4\n"
           "           step\n"
           "   ── up\n");
    expect(heed_terminal_curves(cx, (heed_series[]){{"a", NULL, y, 5, false}, {"b", NULL, gap, 3, true}}, 2, NULL,
                                &(heed_terminal){.width = 24, .height = 5, .ascii = true}),
           "4 ++                 ***\n"
           "  |             *****\n"
           "2 +        *****\n"
           "  |   *****\n"
           "0 +***       +\n"
           "  ++---------+---------+\n"
           "   0         2         4\n"
           "   * a   + b\n");
}

static void bars(void **state) {
    (void)state;
    const char *const names[] = {"Ann", "料理", "a long name indeed"};
    const float values[] = {1, 0.5f, -0.25f}, odd[] = {NAN, 0, 2.5f};
    expect(heed_terminal_bars(cx, names, values, 2, &(heed_terminal){.width = 24}), " Ann │█████████████ 1.00\n"
                                                                                    "料理 │██████▌       0.50\n");
    expect(heed_terminal_bars(cx, names, values, 3, &(heed_terminal){.width = 32}),
           "             Ann │  ██████  1.00\n"
           "            料理 │  ███▎    0.50\n"
           "a long name ind… │██       −0.25\n");
    expect(heed_terminal_bars(cx, names, odd, 3, &(heed_terminal){.width = 40, .ascii = true}),
           "               Ann |                 nan\n"
           "              料理 |                0.00\n"
           "a long name indeed |############### 2.50\n");
    /* What steers a terminal does not reach it. */
    const char *const wicked[] = {"a\033[31mb\xc2\x9b"};
    expect(heed_terminal_bars(cx, wicked, values, 1, &(heed_terminal){.width = 24}), "a [31mb  │████████████ 1\n");
}

static void maps(void **state) {
    (void)state;
    const char *const names[] = {"Ann", "料理"}, *const below[] = {"x", "yy", "z"};
    const float m[] = {0, 0.25f, 0.5f, 0.75f, 1, NAN};
    const heed_terminal plain = {.width = 40}, ascii = {.width = 40, .ascii = true};
    const heed_terminal all = {.width = 40, .colors = HEED_TERMINAL_TRUE},
                        few = {.width = 40, .colors = HEED_TERMINAL_256};
    expect(heed_terminal_heatmap(cx, m, 2, 3, NULL, &plain), "0   ░░▒▒\n"
                                                             "1 ▓▓██··\n"
                                                             "  0    2\n"
                                                             "  0.00 ▕  ░░▒▒▓▓██▏ 1.00\n");
    expect(heed_terminal_heatmap(
               cx, m, 2, 3,
               &(heed_heatmap){.row_names = names, .col_names = below, .numbers = true, .scale_label = "w"}, &ascii),
           " Ann  0.00  0.25  0.50\n"
           "料理  0.75  1.00   nan\n"
           "       x     yy    z\n"
           "     w\n");
    const float counts[] = {0, 12, 3, 5};
    expect(heed_terminal_heatmap(cx, counts, 2, 2, &(heed_heatmap){.numbers = true, .no_bar = true}, &ascii),
           "0   0  12\n"
           "1   3   5\n"
           "  0      1\n");
    const char *const many[] = {"one", "two", "six"};
    expect(heed_terminal_heatmap(cx, m, 1, 3, &(heed_heatmap){.col_names = many, .no_bar = true},
                                 &(heed_terminal){.width = 20, .ascii = true, .title = "T"}),
           "T\n"
           "0     ++++@@@@\n"
           "  one two six\n");
    const heed_heatmap bare = {.no_bar = true};
    expect(heed_terminal_heatmap(cx, m, 1, 2, &bare, &all),
           "0 \033[48;2;36;3;68m  \033[48;2;254;241;69m  \033[0m\n  0  1\n");
    expect(heed_terminal_heatmap(cx, m, 1, 2, &bare, &few), "0 \033[48;5;17m  \033[48;5;227m  \033[0m\n  0  1\n");
    expect(heed_terminal_images(cx, m, 1, 2, 2, &(heed_images){.map = HEED_MAP_GREY, .titles = names}, &all),
           "A…\n"
           "\033[38;2;0;0;0m\033[48;2;170;170;170m▀\033[38;2;85;85;85m\033[48;2;255;255;255m▀\033[0m\n");
    expect(heed_terminal_images(cx, m, 2, 3, 1, NULL, &ascii), ".  %\n"
                                                               "+  ?\n");
}

/* A map wider than the terminal is shown in blocks. */
static void blocks(void **state) {
    (void)state;
    float m[40 * 40];
    for (int i = 0; i < 1600; i++) m[i] = (float)(i % 40 >= 20);
    char *text = heed_terminal_heatmap(cx, m, 40, 40, NULL, &(heed_terminal){.width = 24, .ascii = true});
    assert_non_null(text);
    assert_non_null(strstr(text, "blocks: mean of 2 x 2\n"));
    assert_int_equal(strncmp(text, " 0           @@@@@@@@@@\n", 24), 0);
    heed_mem_free(cx, text);
}

static void nothing(void **state) {
    (void)state;
    expect(heed_terminal_bars(cx, NULL, NULL, 0, NULL), "(no data)\n");
    expect(heed_terminal_curves(cx, NULL, 0, NULL, NULL), "(no data)\n");
    const float nans[] = {NAN, NAN};
    expect(heed_terminal_curves(cx, &(heed_series){.y = nans, .n = 2}, 1, NULL, NULL), "(no data)\n");
    expect(heed_terminal_heatmap(cx, NULL, 0, 3, NULL, NULL), "(no data)\n");
    expect(heed_terminal_images(cx, NULL, 0, 3, 3, NULL, NULL), "(no data)\n");
}

/* ---- any size ---- */

/* No line wider than it may be, no escape where none is wanted, nothing beyond ASCII where none is wanted. */
static void check_lines(char *text, const heed_terminal *how) {
    assert_non_null(text);
    assert_true(text[0] && text[strlen(text) - 1] == '\n');
    char line[65536];
    size_t n = 0;
    for (const char *s = text; *s; s++) {
        if (*s == '\033') {
            assert_true(how->colors != HEED_TERMINAL_PLAIN);
            s = strchr(s, 'm');
            assert_non_null(s);
        } else if (*s == '\n') {
            line[n] = '\0';
            assert_true(text_columns(line) <= how->width);
            n = 0;
        } else {
            assert_true(!how->ascii || (unsigned char)*s < 0x80);
            assert_true(n < sizeof line - 1);
            line[n++] = *s;
        }
    }
    heed_mem_free(cx, text);
}

static void any_size(void **state) {
    (void)state;
    static const char *const words[] = {"a", "medium", "rather a long name", "", "x"};
    const char *names[120];
    float v[120 * 120], u[8];
    for (int i = 0; i < 120; i++) names[i] = words[i % 5];
    for (uint64_t turn = 0; turn < 300; turn++) {
        heed_random_uniform(3, turn, 0, u, 8);
        heed_random_normal(4, turn, 0, v, 120 * 120);
        const float size = powf(10, 20 * u[0] - 10);
        for (int i = 0; i < 120 * 120; i++) v[i] = i % 37 == 5 ? NAN : v[i] * size;
        const heed_terminal how = {.width = 20 + (int)(100 * u[1]),
                                   .height = turn % 3 ? 0 : 1 + (int)(30 * u[2]),
                                   .colors = (heed_terminal_colors)(turn % 3),
                                   .ascii = turn % 2,
                                   .title = turn % 5 ? NULL : "a title that is longer than twenty columns"};
        const int64_t rows = 1 + (int64_t)(119 * u[3] * u[3]), cols = 1 + (int64_t)(119 * u[4] * u[4]);
        const char *const *rn = turn % 7 ? NULL : names, *const *cn = turn % 4 ? NULL : names;
        check_lines(heed_terminal_heatmap(
                        cx, v, rows, cols,
                        &(heed_heatmap){
                            .row_names = rn, .col_names = cn, .numbers = turn % 6 == 0, .map = (heed_map)(turn % 4)},
                        &how),
                    &how);
        check_lines(
            heed_terminal_images(cx, v, rows * cols > 4800 ? 1 : 3, rows, cols, &(heed_images){.titles = cn}, &how),
            &how);
        check_lines(heed_terminal_bars(cx, rn, v, rows, &how), &how);
        const heed_series series[] = {{words[2], NULL, v, rows, false}, {"b", v, v + 200, cols, true}};
        check_lines(heed_terminal_curves(cx, series, 1 + turn % 2,
                                         &(heed_axes){.log_y = turn % 3 == 0, .log_x = turn % 5 == 0, .x_label = "x"},
                                         &how),
                    &how);
    }
}

/* ---- wrong input ---- */

static void refuses(char *text, const char *sentence) {
    assert_null(text);
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
}

static void bad_input(void **state) {
    (void)state;
    const float v[] = {1, 2};
    const char *const bad[] = {"ok", "\xff"};
    refuses(heed_terminal_bars(cx, NULL, v, 2, &(heed_terminal){.width = 5}),
            "terminal_bars: 5 columns, 0 lines: must be 20 to 10000 columns");
    refuses(heed_terminal_bars(cx, NULL, v, -2, NULL), "terminal_bars: -2 bars, no values");
    refuses(heed_terminal_bars(cx, bad, v, 2, NULL), "terminal_bars: '\\xFF' is not UTF-8 at byte 0");
    refuses(heed_terminal_curves(cx, &(heed_series){.n = 2}, 1, NULL, NULL),
            "terminal_curves: series 0: 2 points without y");
    refuses(heed_terminal_curves(cx, NULL, 1, NULL, NULL), "terminal_curves: 1 series, but no array");
    refuses(heed_terminal_heatmap(cx, v, -1, 2, NULL, NULL), "terminal_heatmap: (1,-1,2) is no shape");
    refuses(heed_terminal_heatmap(cx, NULL, 1, 2, NULL, NULL), "terminal_heatmap: there are no values");
    refuses(heed_terminal_heatmap(cx, v, 1, 2, &(heed_heatmap){.map = (heed_map)9}, NULL),
            "terminal_heatmap: no colour map 9");
    refuses(heed_terminal_images(cx, v, 1, 1, 2, NULL, &(heed_terminal){.colors = (heed_terminal_colors)7}),
            "terminal_images: no colours 7");
    assert_null(heed_terminal_bars(NULL, NULL, v, 2, NULL));
    assert_null(heed_terminal_curves(NULL, NULL, 0, NULL, NULL));
    assert_null(heed_terminal_heatmap(NULL, v, 1, 2, NULL, NULL));
    assert_null(heed_terminal_images(NULL, v, 1, 1, 2, NULL, NULL));
}

/* Every request for memory refused in turn. */
static void allocation_failures(void **state) {
    (void)state;
    float v[400];
    for (int i = 0; i < 400; i++) v[i] = sinf((float)i);
    for (int kind = 0; kind < 4; kind++)
        for (int64_t at = 1;; at++) {
            struct counting c = {.fail_at = 0};
            heed_ctx *own = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
            const size_t live = c.live;
            c.requests = 0;
            c.fail_at = at;
            const heed_terminal how = {.colors = HEED_TERMINAL_TRUE, .title = "t"};
            char *text = kind == 0   ? heed_terminal_bars(own, NULL, v, 40, &how)
                         : kind == 1 ? heed_terminal_curves(own, &(heed_series){.y = v, .n = 400}, 1, NULL, &how)
                         : kind == 2 ? heed_terminal_heatmap(own, v, 20, 20, NULL, &how)
                                     : heed_terminal_images(own, v, 4, 10, 10, NULL, &how);
            const bool ok = text != NULL;
            assert_int_equal(heed_error(own), ok ? HEED_OK : HEED_ERR_MEMORY);
            heed_mem_free(own, text);
            assert_int_equal(c.live, live);
            assert_int_equal(c.mistakes, 0);
            heed_close(own);
            if (ok) {
                assert_true(at > 2);
                break;
            }
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_cx, close_cx)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(chooses_colors), TEST(counts_columns), TEST(curve),    TEST(bars),      TEST(maps),
        TEST(blocks),         TEST(nothing),        TEST(any_size), TEST(bad_input), TEST(allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
