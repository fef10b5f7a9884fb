/* heed attend over a picture: what the class token, or a patch, looks at, in the terminal and over the picture. */
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "cli/inspect/attend.h"
#include "cli/use/use_pictures.h"
#include "io/text.h"
#include <math.h>
#include <string.h>

#define LARGE 512    /* pixels of one picture's longer side, */
#define WIDE  2800.0 /* of all pictures of a sheet side by side, */
#define TALL  9000.0 /* and below each other */

/* The site that the map shown is of: rollout ends in the first. */
static int shown_site(const struct attend_choice *c) { return c->rollout ? 0 : c->site; }
static const heed_axis *shown_axis(const struct attend_choice *c) { return c->a->found->sites[shown_site(c)].keys; }

/* How many the learned queries of the site are; 0: tokens are the queries. */
static int64_t learned(const struct attend_choice *c) {
    const heed_attended_site *const s = attend_site(c);
    return s->queries == s->keys || s->queries->rows > 0 ? 0 : s->queries->n;
}

bool attend_row(const struct attend_choice *c, int layer, int64_t head, int64_t query, float *out) {
    return c->rollout ? heed_attended_rollout(c->a->cx, c->a->found, c->site, layer, query, out)
                      : heed_attended_row(c->a->cx, attend_site(c), layer, head, query, out);
}

/* ---- the query ---- */

/* Two whole numbers with a comma between them. */
static bool read_patch(const char *text, int64_t *row, int64_t *column) {
    long long r, c;
    int used = 0;
    if (sscanf(text, "%9lld,%9lld%n", &r, &c, &used) != 2 || text[used] != 0 || r < 0 || c < 0) return false;
    *row = r, *column = c;
    return true;
}

/* A token that finds objects, by its number among those. */
static bool choose_detection(struct attend_choice *c, int64_t number) {
    const heed_attended_site *const s = attend_site(c);
    const int64_t n = s->keys->detections;
    if (n == 0)
        return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --latent: the queries of %s are tokens of the picture",
                         s->name);
    if (number >= n)
        return heed_fail(c->a->cx, HEED_ERR_USAGE,
                         "attend: --latent %lld: there are %lld detection tokens, counted from 0", (long long)number,
                         (long long)n);
    c->query = s->keys->first - n + number;
    return true;
}

/* --patch or --latent, whichever the site's queries are. */
bool attend_choose_query(struct attend_choice *c) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const char *const patch = option_text(c->o, "patch");
    const int64_t latents = learned(c),
                  latent = option_given(c->o, "latent") ? option_int(c->o, "latent") : HEED_QUERY_DEFAULT;
    c->row = c->column = -1;
    c->query = latent;
    if (c->rollout && c->head >= 0)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --head: rollout takes the mean of all heads");
    if (latent >= 0 && patch)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --patch, --latent: one query is shown, not two");
    if (latent >= 0 && latents == 0) return choose_detection(c, latent);
    if (latent >= 0 && latent >= latents)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --latent %lld: %s has %lld latent%s, counted from 0",
                         (long long)latent, s->name, (long long)latents, latents == 1 ? "" : "s");
    if (patch && latents == 1)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --patch: the one query of %s is no patch", s->name);
    if (patch && latents > 1)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "attend: --patch: the queries of %s are %lld latents, not patches; --latent shows one",
                         s->name, (long long)latents);
    const heed_axis *const asks = s->queries;
    if (patch && (!read_patch(patch, &c->row, &c->column) || c->row >= asks->rows || c->column >= asks->columns))
        return heed_fail(cx, HEED_ERR_USAGE,
                         "attend: --patch %s: should be ROW,COLUMN of %lld x %lld patches, counted from 0",
                         escaped(patch).s, (long long)asks->rows, (long long)asks->columns);
    if (!patch) return true;
    c->query = asks->first + c->row * asks->columns + c->column;
    c->row = c->row * asks->patch_height / s->keys->patch_height; /* where it begins, among the keys */
    c->column = c->column * asks->patch_width / s->keys->patch_width;
    return true;
}

void attend_name_query(const struct attend_choice *c, char *to, size_t room) {
    const heed_axis *const queries = attend_site(c)->queries;
    const int64_t latents = learned(c);
    if (c->query != HEED_QUERY_DEFAULT && latents != 1)
        snprintf(to, room, "%s%s",
                 queries->what[0] == 'o'      ? "query "
                 : latents > 1                ? "latent "
                 : c->query >= queries->first ? "patch "
                                              : "",
                 queries->labels[c->query]);
    else
        snprintf(to, room, "%s",
                 queries->what[0] == 'o' ? "the object queries, on average"
                 : latents > 1           ? "the latents, on average"
                 : queries->has_class    ? "the class token"
                 : latents == 1          ? "the pooling query"
                                         : "all patches, on average");
}

/* ---- in the terminal ---- */

void attend_print_best(const heed_axis *keys, const float *weights, int n, int digits) {
    const int64_t of = keys->n - keys->first;
    int64_t k = -1;
    for (int i = 0; i < n && (k = pictures_next_best(weights + keys->first, of, k)) < of; i++)
        printf("%s %s %.*f", i ? "," : "", keys->labels[keys->first + k], digits, (double)weights[keys->first + k]);
    putchar('\n');
}

/* What tokens before the patches get, and the patches together. */
static void print_shares(const struct attend_choice *c, const float *w) {
    const heed_axis *const at = shown_axis(c);
    const bool windows = !c->rollout && c->a->found->sites[shown_site(c)].cells[0];
    double patches = 0, all = 0, detections = 0;
    fputs("Shares: ", stdout);
    for (int64_t i = 0; i < at->first; i++) {
        const bool named = i < at->first - at->detections;
        if (named) printf("%s %.4f, ", at->labels[i], (double)w[i]);
        if (!named) detections += (double)w[i];
        all += (double)w[i];
    }
    if (at->detections > 0) printf("detection tokens %.4f, ", detections);
    for (int64_t i = at->first; i < at->n; i++) patches += (double)w[i];
    printf("patches %.4f", patches);
    const bool less = windows || attend_site(c)->queries->has_class; /* others may be no shares at all */
    if (less && 1 - all - patches > 5e-4) /* of windows; or what a class token that comes late keeps of its own */
        printf(", %s %.4f", windows ? "padding" : "class", 1 - all - patches);
    putchar('\n');
}

/* Whether no patch has less than half of what another has, as where rollout goes through many layers. */
static bool nearly_equal(const struct attend_choice *c, const float *w, double *least, double *most) {
    *least = HUGE_VAL, *most = 0;
    for (int64_t i = shown_axis(c)->first; i < shown_axis(c)->n; i++)
        *least = fmin(*least, (double)w[i]), *most = fmax(*most, (double)w[i]);
    return *least > *most / 2 && *least < *most;
}

/* The weights of the map that is shown; NULL when something failed. */
static float *shown_weights(const struct attend_choice *c) {
    float *const w = heed_mem_new(c->a->cx, (size_t)shown_axis(c)->n * sizeof *w);
    if (w && attend_row(c, attend_layer(c), c->head, c->query, w)) return w;
    heed_mem_free(c->a->cx, w);
    return NULL;
}

void attend_print_picture(const struct attend_choice *c) {
    heed_ctx *const cx = c->a->cx;
    const heed_axis *const at = shown_axis(c);
    float *const w = shown_weights(c);
    char title[160];
    if (!w) return;
    attend_name(c, attend_layer(c), title, sizeof title);
    double least, most;
    const bool equal = nearly_equal(c, w, &least, &most);
    heed_terminal terminal = cli_terminal(160);
    terminal.title = title;
    const heed_heatmap how = {
        .low = equal ? least : 0, .high = most > 0 ? most : 1, .scale_label = "weight", .weights = true};
    char *const text = heed_terminal_heatmap(cx, w + at->first, at->rows, at->columns, &how, &terminal);
    if (text) {
        fputs(text, stdout);
        putchar('\n');
        if (equal) printf("The patches have nearly equal weights, from %.3g to %.3g.\n", least, most);
        print_shares(c, w);
        fputs("Largest weights (row,column):", stdout);
        attend_print_best(at, w, 6, 4);
    }
    heed_mem_free(cx, text);
    heed_mem_free(cx, w);
}

/* ---- as data ---- */

void attend_put_query(const struct attend_choice *c, heed_json doc) {
    heed_ctx *const cx = c->a->cx;
    const heed_axis *const at = shown_axis(c);
    const char *const path = options_word(c->o, 1);
    char query[48];
    attend_name_query(c, query, sizeof query);
    heed_json_put_text(cx, doc, "picture", utf8_bad(path, strlen(path)) == strlen(path) ? path : escaped(path).s);
    heed_json_put_text(cx, doc, "site", c->a->found->sites[shown_site(c)].name);
    if (!attend_shows_objects(c)) heed_json_put_text(cx, doc, "query", query);
    if (c->rollout) heed_json_put_bool(cx, doc, "rollout", true);
    const heed_json grid = heed_json_put_array(cx, doc, "grid"), patch = heed_json_put_array(cx, doc, "patch"),
                    names = heed_json_put_array(cx, doc, "tokens");
    heed_json_put_int(cx, grid, NULL, at->rows), heed_json_put_int(cx, grid, NULL, at->columns);
    heed_json_put_int(cx, patch, NULL, at->patch_height), heed_json_put_int(cx, patch, NULL, at->patch_width);
    for (int64_t i = 0; i < at->first; i++) heed_json_put_text(cx, names, NULL, at->tokens[i]);
}

void attend_put_row(heed_ctx *cx, heed_json list, const float *w, int64_t n) {
    for (int64_t i = 0; i < n; i++) heed_json_put_number(cx, list, NULL, round((double)w[i] * 1e6) / 1e6);
}

bool attend_put_maps(const struct attend_choice *c, heed_json doc, const heed_picture_sheet *of) {
    heed_ctx *const cx = c->a->cx;
    const heed_axis *const at = shown_axis(c);
    const heed_json shares = heed_json_put_array(cx, doc, "token_weights"),
                    maps = heed_json_put_array(cx, doc, "weights");
    float *const w = heed_mem_new(cx, (size_t)at->n * sizeof *w);
    for (int l = 0; w && l < of->layers; l++) {
        const heed_json share = heed_json_put_array(cx, shares, NULL), map = heed_json_put_array(cx, maps, NULL);
        for (int64_t h = 0; h < of->heads; h++) {
            if (!attend_row(c, of->first_layer + l, of->first_head + h, c->query, w)) break;
            const heed_json one = heed_json_put_array(cx, map, NULL);
            attend_put_row(cx, heed_json_put_array(cx, share, NULL), w, at->first);
            for (int64_t r = 0; r < at->rows; r++)
                attend_put_row(cx, heed_json_put_array(cx, one, NULL), w + at->first + r * at->columns, at->columns);
        }
    }
    heed_mem_free(cx, w);
    return !heed_failed(cx);
}

/* ---- files ---- */

static bool draw_one(const struct attend_choice *c, heed_figure *f, heed_picture_look *look) {
    char title[200], given[96];
    float *const w = shown_weights(c);
    if (!w) return false;
    attend_name(c, attend_layer(c), title, 160);
    snprintf(given, sizeof given, "what the model is given, %lld x %lld", (long long)c->a->found->width,
             (long long)c->a->found->height);
    look->given = given;
    double least, most;
    if (nearly_equal(c, w, &least, &most)) strcat(title, ", nearly equal everywhere");
    const bool ok = heed_plot_picture_attention(f, w + shown_axis(c)->first, title, look);
    heed_mem_free(c->a->cx, w);
    return ok;
}

static bool draw_sheet(const struct attend_choice *c, heed_figure *f, const heed_picture_sheet *sheet,
                       const heed_picture_look *look) {
    heed_ctx *const cx = c->a->cx;
    const heed_axis *const at = shown_axis(c), *const queries = attend_site(c)->queries;
    const size_t n = (size_t)(at->n - at->first);
    float *const maps = heed_mem_new(cx, (size_t)sheet->layers * (size_t)sheet->heads * n * sizeof *maps), *to = maps;
    float *const w = heed_mem_new(cx, (size_t)at->n * sizeof *w);
    bool ok = maps && w;
    for (int l = 0; ok && l < sheet->layers; l++)
        for (int64_t h = 0; ok && h < sheet->heads; h++, to += n) {
            const bool mean = sheet->mean && h + 1 == sheet->heads;
            ok = attend_row(c, sheet->first_layer + l, mean ? -1 : sheet->first_head + h, c->query, w);
            if (ok) memcpy(to, w + at->first, n * sizeof *to);
        }
    char title[160], query[48];
    const bool several = c->query == HEED_QUERY_DEFAULT && !queries->has_class && learned(c) != 1;
    attend_name_query(c, query, sizeof query);
    snprintf(title, sizeof title, "%s%swhat %s look%s at, each on a scale of its own",
             c->a->found->n > 1 ? attend_site(c)->name : "", c->a->found->n > 1 ? ": " : "", query, several ? "" : "s");
    ok = ok && heed_figure_title(f, title) && heed_plot_picture_sheet(f, maps, sheet, look);
    heed_mem_free(cx, maps);
    heed_mem_free(cx, w);
    return ok;
}

/* So many pixels that all of a sheet has room. */
static int64_t sheet_pixels(const heed_picture_sheet *sheet) {
    const double columns = fmin((double)sheet->heads, sheet->layers == 1 ? 6 : 16);
    const double lines = (double)sheet->layers * ceil((double)sheet->heads / columns);
    return (int64_t)fmax(72, fmin(320, fmin(WIDE / columns, TALL / lines)));
}

bool attend_draw_picture(const struct attend_choice *c, heed_figure *f, const heed_picture_sheet *sheet) {
    const bool one = attend_one_map(c), other_grid = c->rollout && c->site > 0;
    heed_image view = {0};
    heed_picture_look look = {.picture = &view,
                              .rows = shown_axis(c)->rows,
                              .columns = shown_axis(c)->columns,
                              .smooth = option_flag(c->o, "smooth"),
                              .row = other_grid ? -1 : c->row,
                              .column = other_grid ? -1 : c->column};
    const bool ok =
        heed_attended_view(c->a->cx, c->a->found, shown_site(c), one ? LARGE : sheet_pixels(sheet), &view) &&
        (one ? draw_one(c, f, &look) : draw_sheet(c, f, sheet, &look));
    heed_image_free(c->a->cx, &view);
    return ok;
}

bool attend_write_picture_page(const struct attend_choice *c, const char *path, const char *title) {
    const struct escaped line = escaped(options_word(c->o, 1));
    const heed_picture_page_opts opts = {.title = title,
                                         .line = line.s,
                                         .site = c->site,
                                         .layer = attend_layer(c),
                                         .head = c->head,
                                         .query = attend_surest(c),
                                         .threshold = option_number(c->o, "threshold"),
                                         .rollout = c->rollout,
                                         .smooth = option_flag(c->o, "smooth")};
    return heed_picture_page(c->a->cx, path, c->a->found, &opts);
}
