/* heed attend of a model that finds objects: what the query of each object looks at. */
#include "cli/inspect/attend.h"
#include "io/text.h"
#include <math.h>
#include <string.h>

#define SHEET 23     /* objects of a sheet; the picture is the first of its pictures */
#define VIEW  420    /* pixels of one's longer side, */
#define ROOM  2400.0 /* and of a row of them */

/* How many have a score above --threshold. */
static int64_t count(const struct attend_choice *c) {
    const heed_attended *const a = c->a->found;
    const double threshold = option_number(c->o, "threshold");
    int64_t n = 0;
    while (n < a->n_objects && a->objects[n].score > threshold) n++;
    return n;
}

bool attend_shows_objects(const struct attend_choice *c) {
    const heed_attended *const a = c->a->found;
    const bool asked = option_given(c->o, "latent") || option_given(c->o, "patch") || c->rollout;
    return !asked && a->n_objects > 0 && heed_attended_finder(a, attend_site(c), a->objects) >= 0 && count(c) > 0;
}

int64_t attend_surest(const struct attend_choice *c) {
    const heed_attended *const a = c->a->found;
    return attend_shows_objects(c) ? heed_attended_finder(a, attend_site(c), a->objects) : c->query;
}

/* "cat", or "class 3" */
static void name_of(const heed_attended_object *o, char *to, size_t room) {
    if (o->name)
        snprintf(to, room, "%s", escaped(o->name).s);
    else
        snprintf(to, room, "class %d", o->label);
}

static bool row_of(const struct attend_choice *c, const heed_attended_object *o, float *w) {
    return attend_row(c, attend_layer(c), c->head, heed_attended_finder(c->a->found, attend_site(c), o), w);
}

/* ---- in the terminal ---- */

void attend_print_objects(const struct attend_choice *c) {
    const heed_attended *const a = c->a->found;
    const heed_axis *const at = attend_site(c)->keys;
    const int64_t n = count(c);
    float *const w = heed_mem_new(c->a->cx, (size_t)at->n * sizeof *w);
    char heads[48] = "";
    if (c->head >= 0) snprintf(heads, sizeof heads, ", head %lld", (long long)c->head);
    if (w)
        printf("What found them looks at (%s, layer %d%s), by row and column of %lld x %lld:\n", attend_site(c)->name,
               attend_layer(c), heads, (long long)at->rows, (long long)at->columns);
    for (int64_t i = 0; w && i < n && row_of(c, &a->objects[i], w); i++) {
        const heed_attended_object *const o = &a->objects[i];
        char name[128];
        name_of(o, name, sizeof name);
        printf("%s %.2f at %.0f,%.0f, %.0f x %.0f (query %lld):", name, o->score, o->pixels[0], o->pixels[1],
               o->pixels[2], o->pixels[3], (long long)o->query);
        attend_print_best(at, w, 4, 3);
    }
    heed_mem_free(c->a->cx, w);
}

/* ---- as data ---- */

bool attend_put_objects(const struct attend_choice *c, heed_json doc) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended *const a = c->a->found;
    const heed_axis *const at = attend_site(c)->keys;
    const int64_t n = count(c);
    const heed_json list = heed_json_put_array(cx, doc, "objects");
    float *const w = heed_mem_new(cx, (size_t)at->n * sizeof *w);
    for (int64_t i = 0; w && i < n && row_of(c, &a->objects[i], w); i++) {
        const heed_attended_object *const o = &a->objects[i];
        const heed_json one = heed_json_put_object(cx, list, NULL);
        char name[128];
        name_of(o, name, sizeof name);
        heed_json_put_int(cx, one, "query", o->query);
        heed_json_put_text(cx, one, "label", name);
        heed_json_put_number(cx, one, "score", round(o->score * 1e6) / 1e6);
        const heed_json box = heed_json_put_array(cx, one, "box"), rows = heed_json_put_array(cx, one, "weights");
        for (int k = 0; k < 4; k++) heed_json_put_number(cx, box, NULL, round(o->pixels[k] * 100) / 100);
        for (int64_t r = 0; r < at->rows; r++)
            attend_put_row(cx, heed_json_put_array(cx, rows, NULL), w + at->first + r * at->columns, at->columns);
    }
    heed_mem_free(cx, w);
    return !heed_failed(cx);
}

/* ---- a sheet ---- */

/* Boxes are parts of what the model is given, which the last patches may reach beyond. */
static void place_box(const heed_attended *a, const heed_axis *at, const heed_attended_object *o, double to[4]) {
    const double wide = (double)a->width / (double)(at->columns * at->patch_width),
                 high = (double)a->height / (double)(at->rows * at->patch_height);
    for (int k = 0; k < 4; k++) to[k] = o->box[k] * (k % 2 ? high : wide);
}

bool attend_draw_objects(const struct attend_choice *c, heed_figure *f, char *what, size_t room) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended *const a = c->a->found;
    const heed_axis *const at = attend_site(c)->keys;
    const int64_t all = count(c), n = all < SHEET ? all : SHEET, places = at->n - at->first;
    heed_image view = {0};
    float *const w = heed_mem_new(cx, (size_t)at->n * sizeof *w);
    float *const maps = heed_mem_new(cx, (size_t)(n * places) * sizeof *maps);
    heed_picture_object *const objects = heed_mem_new(cx, (size_t)n * sizeof *objects);
    char(*const titles)[160] = heed_mem_new(cx, (size_t)n * sizeof *titles);
    bool ok = w && maps && objects && titles;
    for (int64_t i = 0; ok && i < n; i++) {
        const heed_attended_object *const o = &a->objects[i];
        char name[128];
        name_of(o, name, sizeof name);
        snprintf(titles[i], sizeof titles[i], "%.100s %.2f, query %lld", name, o->score, (long long)o->query);
        objects[i] = (heed_picture_object){.weights = maps + i * places, .title = titles[i]};
        place_box(a, at, o, objects[i].box);
        ok = row_of(c, o, w);
        memcpy(maps + i * places, w + at->first, (size_t)places * sizeof *maps);
    }
    char given[64];
    if (all > n)
        snprintf(given, sizeof given, "the surest %lld of %lld objects", (long long)n, (long long)all);
    else
        snprintf(given, sizeof given, "%lld object%s found", (long long)n, n == 1 ? "" : "s");
    snprintf(what, room, "what found %lld object%s looks at", (long long)n, n == 1 ? "" : "s");
    const heed_picture_look look = {.picture = &view,
                                    .rows = at->rows,
                                    .columns = at->columns,
                                    .smooth = option_flag(c->o, "smooth"),
                                    .row = -1,
                                    .column = -1,
                                    .given = given};
    ok = ok &&
         heed_attended_view(cx, a, c->site, n < 4 ? VIEW : (int64_t)fmax(280, ROOM / sqrt(1.4 * (double)(n + 1)) / 2),
                            &view) &&
         heed_plot_picture_objects(f, objects, (int)n, &look);
    heed_image_free(cx, &view);
    heed_mem_free(cx, titles);
    heed_mem_free(cx, objects);
    heed_mem_free(cx, maps);
    heed_mem_free(cx, w);
    return ok;
}
