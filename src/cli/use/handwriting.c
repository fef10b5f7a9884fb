/* heed generate of a model of handwriting. */
#include "cli/use/handwriting.h"
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "heed/plot.h"
#include "model/core/directory.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const heed_field handwriting_options[] = {
    {.name = "handwriting", .kind = HEED_FIELD_GROUP},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "what to write, of a model that was trained with --text"},
    {.name = "bias", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 100,
     .help = "larger: likelier steps of the pen, tidier writing; 0: as it was learnt"},
    {.name = NULL},
};
/* clang-format on */

bool handwriting_is(const char *dir) {
    if (!directory_has(dir, CONFIG_FILE)) return false;
    heed_ctx *cx = cli_peek();
    heed_directory *const d = heed_directory_open(cx, dir);
    const heed_head *const head = heed_directory_head(d);
    const bool is = head && text_among(head->inputs, "strokes");
    heed_directory_close(cx, d);
    heed_close(cx);
    return is;
}

bool handwriting_fits(const struct options *o) {
    for (const heed_field *row = handwriting_options + 1; row->name; row++)
        if (option_given(o, row->name)) {
            cli_error(EXIT_USAGE, "generate: --%s is for models of handwriting, which %s is not", row->name,
                      options_word(o, 0));
            return false;
        }
    return true;
}

/* ---- heed generate ---- */

struct job {
    const struct options *o;
    heed_ctx *cx;
    heed_model *model;
    heed_writings beginnings, written;
    int64_t *given; /* (written) points of the beginning */
    int64_t each;   /* how often each beginning is continued */
};

/* A file of strokes, or digits, which a synthetic writer of the seed writes. */
static bool read_beginning(struct job *j, const char *what) {
    const size_t n = strlen(what);
    if (n > 0 && strspn(what, "0123456789") == n && access(what, F_OK) != 0)
        return heed_writings_digits(j->cx, heed_seed(j->cx), j->beginnings.n, 1, what, &j->beginnings);
    return heed_writings_read(j->cx, what, &j->beginnings);
}

static bool read_beginnings(struct job *j) {
    const char *const *list;
    const int n = option_list(j->o, "prompt", &list);
    bool ok = true;
    for (int i = 1; ok && i < options_words(j->o); i++) ok = read_beginning(j, options_word(j->o, i));
    for (int i = 0; ok && i < n; i++) ok = read_beginning(j, list[i]);
    return ok;
}

static bool write_all(struct job *j) {
    const struct options *const o = j->o;
    const int64_t n = j->beginnings.n > 0 ? j->beginnings.n : 1;
    const char *const most = option_given(o, "max-new-tokens") ? "max-new-tokens" : "max-tokens";
    j->each = option_int(o, "n-best");
    if (!(j->given = heed_mem_new(j->cx, (size_t)(n * j->each) * sizeof *j->given))) return false;
    for (int64_t i = 0; i < n * j->each; i++) {
        heed_handwrite_opts opts = {.seed = heed_seed(j->cx),
                                    .number = i,
                                    .bias = option_number(o, "bias"),
                                    .points = option_given(o, most) ? option_int(o, most) : 0,
                                    .text = option_text(o, "text")};
        opts.beginning = heed_writing_points(&j->beginnings, i / j->each, &opts.given);
        opts.beginning_text = heed_writing_text(&j->beginnings, i / j->each);
        j->given[i] = opts.given;
        if (!heed_handwrite(j->cx, j->model, &opts, &j->written)) return false;
    }
    return true;
}

static void print_json(struct job *j) {
    for (int64_t i = 0; i < j->written.n; i++) {
        int64_t n;
        const float *const points = heed_writing_points(&j->written, i, &n);
        const heed_json at = heed_json_new(j->cx, "piece");
        heed_json_put_int(j->cx, at, "line", i / j->each + 1);
        if (*heed_writing_text(&j->written, i)) {
            heed_string text = {0};
            const char *const said = j->given[i] > 0 ? heed_writing_text(&j->beginnings, i / j->each) : "";
            heed_string_put(j->cx, &text, said, strlen(said));
            heed_string_put(j->cx, &text, heed_writing_text(&j->written, i), strlen(heed_writing_text(&j->written, i)));
            if (!heed_failed(j->cx)) heed_json_put_text(j->cx, at, "text", text.s);
            heed_string_free(j->cx, &text);
        }
        heed_json_put_int(j->cx, at, "given", j->given[i]);
        heed_json_put_int(j->cx, at, "points", n);
        if (heed_writing_put(j->cx, points, n, at, "strokes")) json_answer(j->cx, stdout, at, 0);
        heed_json_free(at);
    }
}

static bool draw(struct job *j) {
    const int n = (int)j->written.n;
    heed_writing_line *const line = heed_mem_new(j->cx, (size_t)n * sizeof *line);
    double height = 0;
    if (!line) return false;
    for (int i = 0; i < n; i++) {
        line[i] = (heed_writing_line){.given = j->given[i]};
        line[i].points = heed_writing_points(&j->written, i, &line[i].n);
        height += 1.6 * heed_writing_style_of(line[i].points, line[i].n).height;
    }
    double widest = 1;
    for (int i = 0; i < n; i++) {
        double x = 0;
        for (int64_t k = 0; k < line[i].n; k++) widest = fmax(widest, x += (double)line[i].points[3 * k]);
    }
    /* as tall as the lines are at a width of 720 points, within reason */
    const double tall = fmin(fmax(720 * height / widest + 16, 90), 4000);
    heed_figure *const f = heed_figure_new(j->cx, 720, tall);
    heed_panel_writing(heed_figure_panel(f, 0, 0), line, n);
    const bool ok = pictures_write(j->o, f, "handwriting");
    heed_figure_free(f);
    heed_mem_free(j->cx, line);
    return ok;
}

/* ---- in the terminal ---- */

enum { TALL = 24 }; /* pixels of a line: two to a line of text */

/* The way of the pen as pixels: 1 where it was down, a little less of a beginning. */
static void trace(const float *p, int64_t n, int64_t given, float *image, int wide) {
    double x = 0, y = 0, left = 0, right = 1e-9, top = 0, bottom = 1e-9;
    for (int64_t i = 1; i < n; i++) {
        x += (double)p[3 * i], y += (double)p[3 * i + 1];
        left = fmin(left, x), right = fmax(right, x), top = fmin(top, y), bottom = fmax(bottom, y);
    }
    const double scale = fmin((wide - 1) / (right - left), (TALL - 1) / (bottom - top));
    x = y = 0;
    for (int64_t i = 0; i < n; i++) {
        const double dx = i > 0 ? (double)p[3 * i] : 0, dy = i > 0 ? (double)p[3 * i + 1] : 0;
        const bool down = i > 0 && p[3 * i - 1] == 0;
        const int steps = down ? 1 + (int)(2 * scale * fmax(fabs(dx), fabs(dy))) : 1;
        for (int k = down ? 0 : steps; k <= steps; k++) {
            const int column = (int)(scale * (x + dx * k / steps - left) + 0.5);
            const int row = (int)(scale * (y + dy * k / steps - top) + 0.5);
            if (column >= 0 && column < wide && row >= 0 && row < TALL)
                image[row * wide + column] = i < given ? 0.6f : 1;
        }
        x += dx, y += dy;
    }
}

static bool show(struct job *j) {
    const heed_terminal how = cli_terminal(100);
    const int wide = how.width > 8 ? how.width - 2 : 8;
    float *const image = heed_mem_new(j->cx, (size_t)(wide * TALL) * sizeof *image);
    for (int64_t i = 0; image && i < j->written.n; i++) {
        int64_t n;
        const float *const points = heed_writing_points(&j->written, i, &n);
        memset(image, 0, (size_t)(wide * TALL) * sizeof *image);
        trace(points, n, j->given[i], image, wide);
        char *const text = heed_terminal_images(
            j->cx, image, 1, TALL, wide, &(heed_images){.map = HEED_MAP_INK, .low = 0, .high = 1, .columns = 1}, &how);
        if (text) fputs(text, stdout);
        heed_mem_free(j->cx, text);
    }
    heed_mem_free(j->cx, image);
    return !heed_failed(j->cx);
}

int handwriting_generate(const struct options *o, const char *dir) {
    if (!pictures_fit(o)) return EXIT_USAGE;
    struct job j = {.o = o, .cx = options_open(o)};
    if (!j.cx) return EXIT_FAILED;
    j.model = heed_model_load_as(j.cx, dir, &(heed_load_opts){.map = true});
    if (j.model && read_beginnings(&j) && write_all(&j)) {
        if (option_flag(o, "json")) print_json(&j);
        if (pictures_asked(o))
            draw(&j);
        else if (!option_flag(o, "json"))
            show(&j);
    }
    heed_mem_free(j.cx, j.given);
    heed_writings_free(j.cx, &j.beginnings);
    heed_writings_free(j.cx, &j.written);
    heed_model_free(j.cx, j.model);
    return options_close(o, j.cx, EXIT_DONE);
}
