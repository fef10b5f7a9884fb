/* heed detect: the objects in pictures, as lines, as JSON, and drawn over them. */
#include "heed/detect.h"
#include "cli/core/each_picture.h"
#include "cli/core/figure_options.h"
#include "cli/core/input_lines.h"
#include "task/answers.h"
#include <limits.h>
#include <string.h>

enum { MAX_DRAWN = 64 };

/* clang-format off */
static const heed_field options[] = {
    {.name = "threshold", .letter = 't', .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "X", .high = 1,
     .help = "objects whose score is above X"},
    {.name = "top", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .low = 1, .high = 1e6,
     .help = "at most N objects of a picture, the highest scores first"},
    {.name = "figures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* What is drawn at the end. */
struct drawn {
    heed_image picture[MAX_DRAWN];
    char *path[MAX_DRAWN];
    heed_detection *found[MAX_DRAWN];
    int64_t objects[MAX_DRAWN];
    int n;
};

static bool begin(struct each_picture *e) {
    struct drawn *const d = e->own = heed_mem_new(e->cx, sizeof *d);
    if (d) *d = (struct drawn){.n = 0};
    return d;
}

static void print_lines(const struct each_picture *e, const char *path, const heed_detection *found, int64_t n) {
    char number[24];
    for (int64_t i = 0; i < n; i++) {
        const double *const b = found[i].box;
        cli_print_text(stdout, path);
        putchar('\t');
        cli_print_text(stdout, answer_label(e->m->label, found[i].label, number));
        printf("\t%.4f\t%.1f %.1f %.1f %.1f\n", found[i].score, b[0], b[1], b[0] + b[2], b[1] + b[3]);
    }
}

static void print_json(const struct each_picture *e, const char *path, const heed_detection *found, int64_t n) {
    const heed_json at = each_picture_json(e, "picture", path);
    answer_put_objects(e->cx, at, e->m->label, found, n);
    each_picture_print(e, at);
}

/* Keeps what is to be drawn. */
static bool keep(struct each_picture *e, int64_t i, const heed_detection *found, int64_t n) {
    struct drawn *const d = e->own;
    if (!pictures_asked(e->o) || d->n == MAX_DRAWN) return true;
    heed_detection *const copy = heed_mem_new(e->cx, (size_t)(n + 1) * sizeof *copy);
    char *const path = heed_mem_new(e->cx, strlen(e->path[i]) + 1);
    if (copy) memcpy(copy, found, (size_t)n * sizeof *copy);
    if (path) strcpy(path, e->path[i]);
    d->found[d->n] = copy;
    d->path[d->n] = path;
    d->objects[d->n] = n;
    return heed_image_copy(e->cx, &e->picture[i], &d->picture[d->n++]) && copy && path;
}

static bool answer(struct each_picture *e, int64_t first, int64_t n) {
    const heed_detect_opts opts = {option_number(e->o, "threshold"), option_int(e->o, "top")};
    int64_t all = 0, at = 0;
    heed_detection *const found = heed_detect_pictures(e->cx, e->m, e->picture + first, n, &opts, &all);
    const bool json = option_flag(e->o, "json"), text = !pictures_take_standard(e->o);
    bool ok = found;
    for (int64_t i = 0; ok && i < n; i++) {
        const int64_t from = at;
        while (at < all && found[at].picture == i) at++;
        if (text) (json ? print_json : print_lines)(e, e->path[first + i], found + from, at - from);
        ok = keep(e, first + i, found + from, at - from);
    }
    heed_mem_free(e->cx, found);
    return ok;
}

static bool draw(const struct each_picture *e, const struct drawn *d) {
    heed_detections_look look[MAX_DRAWN];
    for (int i = 0; i < d->n; i++)
        look[i] = (heed_detections_look){.picture = &d->picture[i],
                                         .found = d->found[i],
                                         .n = d->objects[i],
                                         .names = (const char *const *)e->m->label,
                                         .title = d->n > 1 ? d->path[i] : NULL};
    heed_figure *const f = heed_figure_new(e->cx, 0, 0);
    const bool ok = heed_plot_detections(f, look, d->n) && pictures_write(e->o, f, "the objects over the pictures");
    heed_figure_free(f);
    return ok;
}

static bool finish(struct each_picture *e, bool good) {
    struct drawn *const d = e->own;
    if (good && d && d->n > 0) good = draw(e, d);
    for (int i = 0; d && i < d->n; i++) {
        heed_image_free(e->cx, &d->picture[i]);
        heed_mem_free(e->cx, d->path[i]);
        heed_mem_free(e->cx, d->found[i]);
    }
    heed_mem_free(e->cx, d);
    return good;
}

static int run(int argc, char **argv) {
    static const struct each_picture_command c = {.task = "detect", .begin = begin, .answer = answer, .finish = finish};
    struct options *const o = options_read("detect", options, argc, argv, 1, INT_MAX, "DIR [PICTURE...]");
    const int status = o && pictures_fit(o) ? each_picture_run(&c, o) : EXIT_USAGE;
    options_free(o);
    return status;
}

const struct command detect_command = {
    .name = "detect",
    .summary = "the objects in pictures",
    .words = "DIR [PICTURE...]",
    .about =
        "Finds objects with a model that 'heed train detect' made, or with a directory of transformers' (DETR, "
        "Conditional DETR, Table Transformer, YOLOS). A line for each object: path, class, score, and its box, x0 y0 "
        "x1 y1 in pixels of the picture, with tabs between them; the highest score first. Without pictures their paths "
        "come "
        "from "
        "standard input, a line each.\n\n"
        "--json prints an object for each picture. --png, --svg and --pdf draw boxes and labels over the pictures, of "
        "the first 64.",
    .options = options,
    .examples =
        "heed detect shapes a.png b.png\nheed detect detr-resnet-50 street.jpg --threshold 0.9 --png street.png\n"
        "ls photos/*.jpg | heed detect yolos-tiny --json\n",
    .run = run,
};
