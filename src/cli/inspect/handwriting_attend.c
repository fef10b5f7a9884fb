/* heed attend of a model of handwriting with a text: it writes the text, and the window over its characters is shown
 * beside what the pen did. */
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "cli/use/handwriting.h"
#include "heed/plot.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BIAS 1.0 /* tidy writing: the window is what is looked at */

struct escaped_window {
    const float *points;
    int64_t n, U;
    float *across;      /* (U, n): characters down, points across */
    char (*letter)[8];  /* (U) the characters, and the end */
    const char **names; /* (U) the same */
};

static bool turn(heed_ctx *cx, const float *weights, const char *text, struct escaped_window *w) {
    w->across = heed_mem_new(cx, (size_t)(w->n * w->U) * sizeof *w->across);
    w->letter = heed_mem_new(cx, (size_t)w->U * sizeof *w->letter);
    w->names = heed_mem_new(cx, (size_t)w->U * sizeof *w->names);
    if (heed_failed(cx)) return false;
    for (int64_t t = 0; t < w->n; t++)
        for (int64_t u = 0; u < w->U; u++) w->across[u * w->n + t] = weights[t * w->U + u];
    for (int64_t u = 0; u < w->U; u++) {
        const size_t size = *text ? utf8_sequence(text, strlen(text)) : 0;
        memset(w->letter[u], 0, sizeof *w->letter);
        memcpy(w->letter[u], size > 0 ? text : "end", size > 0 ? size : 3);
        w->names[u] = w->letter[u];
        text += size;
    }
    return true;
}

static bool draw(const struct options *o, heed_ctx *cx, const struct escaped_window *w) {
    const double tall = fmin(60 + 18 * (double)w->U, 2000);
    heed_figure *const f = heed_figure_new(cx, 720, tall + 200);
    heed_figure_grid(f, 2, 1);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "The window over the text, point by point");
    heed_panel_labels(p, "point", NULL);
    heed_panel_heatmap(p, w->across, w->U, w->n,
                       &(heed_heatmap){.row_names = w->names, .scale_label = "weight", .stretch = true});
    p = heed_figure_panel(f, 1, 0);
    heed_panel_title(p, "What the pen wrote");
    heed_panel_writing(p, &(heed_writing_line){.points = w->points, .n = w->n}, 1);
    const bool ok = pictures_write(o, f, "the window over the text, and what was written");
    heed_figure_free(f);
    return ok;
}

static void print_json(heed_ctx *cx, const struct escaped_window *w) {
    const heed_json at = heed_json_new(cx, "window"), keys = heed_json_put_array(cx, at, "keys");
    for (int64_t u = 0; u < w->U; u++) heed_json_put_text(cx, keys, NULL, w->names[u]);
    heed_writing_put(cx, w->points, w->n, at, "strokes");
    const heed_json rows = heed_json_put_array(cx, at, "weights");
    for (int64_t t = 0; t < w->n; t++) {
        const heed_json row = heed_json_put_array(cx, rows, NULL);
        for (int64_t u = 0; u < w->U; u++)
            heed_json_put_number(cx, row, NULL, (double)roundf(w->across[u * w->n + t] * 1e6f) / 1e6);
    }
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

static bool write_npy(const struct options *o, heed_ctx *cx, const char *path, const struct escaped_window *w,
                      const float *weights) {
    const heed_array a = {.dtype = HEED_F32, .rank = 4, .shape = {1, 1, w->n, w->U}, .data = weights};
    return heed_npy_write(cx, path, &a) && pictures_report(o, path, "weights (layers, heads, points, characters)");
}

static bool show(const struct options *o, heed_ctx *cx, const struct escaped_window *w, const float *weights) {
    const char *const npy = option_text(o, "npy");
    if (pictures_asked(o) && !draw(o, cx, w)) return false;
    if (npy && !write_npy(o, cx, npy, w, weights)) return false;
    if (option_flag(o, "json")) {
        print_json(cx, w);
    } else if (!option_flag(o, "quiet") && !pictures_take_standard(o)) {
        heed_terminal how = cli_terminal(120);
        how.title = "the window over the text: characters down, points across";
        char *const text = heed_terminal_heatmap(cx, w->across, w->U, w->n,
                                                 &(heed_heatmap){.row_names = w->names, .weights = true}, &how);
        if (text) fputs(text, stdout);
        heed_mem_free(cx, text);
    }
    return !heed_failed(cx);
}

int handwriting_attend(const struct options *o, heed_ctx *cx, const heed_model *model) {
    static const char *const others[] = {"pair", "target", "words", "site", "layer", "head", "html"};
    const char *const dir = options_word(o, 0), *const text = options_word(o, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (option_given(o, others[i]))
            return cli_error(EXIT_USAGE, "attend: --%s is not for models of handwriting, which %s is", others[i], dir);
    heed_writings written = {0};
    struct escaped_window w = {0};
    const heed_handwrite_opts opts = {.seed = heed_seed(cx), .bias = BIAS, .text = text};
    if (heed_handwrite(cx, model, &opts, &written)) {
        w.points = heed_writing_points(&written, 0, &w.n);
        float *const weights = heed_handwriting_window(cx, model, w.points, w.n, text, &w.U);
        if (weights && turn(cx, weights, text, &w)) show(o, cx, &w, weights);
        heed_mem_free(cx, weights);
    }
    heed_mem_free(cx, w.across);
    heed_mem_free(cx, w.letter);
    heed_mem_free(cx, w.names);
    heed_writings_free(cx, &written);
    return EXIT_DONE;
}
