/* heed attend on a picture: what the class token, or a patch, looks at, in the terminal, over the picture, as numbers,
 * as a page. */
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "cli/inspect/attend.h"
#include "cli/use/use_pictures.h"
#include "heed/vision.h"
#include "io/text.h"
#include <math.h>
#include <string.h>

#define LARGE 512    /* pixels of one picture's longer side, */
#define WIDE  2800.0 /* of all pictures of a sheet side by side, */
#define TALL  9000.0 /* and below each other */

/* A picture, its attention, and what of it was asked for. */
struct seen {
    heed_ctx *cx;
    const struct options *o;
    heed_model *model;
    heed_image picture;
    heed_attended_picture *found;
    int site, layer;          /* layer -1: all of them; the last where one must be shown */
    int64_t head;             /* -1: all of them, or their mean */
    int64_t row, column;      /* of --patch; -1: none */
    int64_t query, n, tokens; /* n: patches; tokens: those before them too */
    bool rollout;
};

static const heed_picture_site *site_of(const struct seen *s) { return &s->found->sites[s->site]; }
/* The site that the map shown is of: rollout ends in the first. */
static int shown_site(const struct seen *s) { return s->rollout ? 0 : s->site; }
static const heed_picture_site *shown_of(const struct seen *s) { return &s->found->sites[shown_site(s)]; }

/* ---- options ---- */

bool attend_options_fit(const struct options *o) {
    static const char *const wrong_for[2][5] = {{"rollout", "patch", "latent", "smooth", NULL},
                                                {"target", "pair", "words", NULL}};
    const bool reads_pictures = pictures_are_read(options_word(o, 0));
    for (int i = 0; wrong_for[reads_pictures][i]; i++) {
        const char *const wrong = wrong_for[reads_pictures][i];
        if (!option_given(o, wrong)) continue;
        cli_error(EXIT_USAGE, "attend: --%s is for models of %s, which %s is not", wrong,
                  reads_pictures ? "text" : "pictures", shown(options_word(o, 0)).text);
        return false;
    }
    return reads_pictures || !pictures_given(o);
}

/* Two whole numbers with a comma between them. */
static bool read_patch(const char *text, int64_t *row, int64_t *column) {
    long long r, c;
    int used = 0;
    if (sscanf(text, "%9lld,%9lld%n", &r, &c, &used) != 2 || text[used] != 0 || r < 0 || c < 0) return false;
    *row = r, *column = c;
    return true;
}

static bool choose_site(struct seen *s) {
    const heed_attended_picture *const a = s->found;
    const char *const name = option_text(s->o, "site");
    s->site = name ? 0 : a->n - 1;
    while (name && s->site < a->n && strcmp(a->sites[s->site].name, name) != 0) s->site++;
    if (s->site < a->n) return true;
    char names[256] = "";
    for (int i = 0; i < a->n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%.24s'",
                 i == 0         ? ""
                 : i + 1 < a->n ? ", "
                                : " and ",
                 a->sites[i].name);
    return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --site %s: the model has %s", shown(name).text, names);
}

/* --patch or --latent, whichever the site's queries are. */
static bool choose_query(struct seen *s) {
    const heed_picture_site *const at = site_of(s);
    const char *const patch = option_text(s->o, "patch");
    const int64_t latent = option_given(s->o, "latent") ? option_int(s->o, "latent") : HEED_READER;
    s->row = s->column = -1;
    s->query = latent;
    if (latent >= 0 && at->learned == 0)
        return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --latent: the queries of %s are tokens of the picture",
                         at->name);
    if (latent >= 0 && latent >= at->learned)
        return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --latent %lld: %s has %lld latent%s, counted from 0",
                         (long long)latent, at->name, (long long)at->learned, at->learned == 1 ? "" : "s");
    if (patch && at->learned == 1)
        return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --patch: the one query of %s is no patch", at->name);
    if (patch && at->learned > 1)
        return heed_fail(s->cx, HEED_ERR_USAGE,
                         "attend: --patch: the queries of %s are %lld latents, not patches; --latent shows one",
                         at->name, (long long)at->learned);
    if (patch && (!read_patch(patch, &s->row, &s->column) || s->row >= at->rows || s->column >= at->columns))
        return heed_fail(s->cx, HEED_ERR_USAGE,
                         "attend: --patch %s: should be ROW,COLUMN of %lld x %lld patches, counted from 0",
                         shown(patch).text, (long long)at->rows, (long long)at->columns);
    if (patch) s->query = at->first + s->row * at->columns + s->column;
    return true;
}

static bool choose(struct seen *s) {
    if (!choose_site(s)) return false;
    const heed_picture_site *const at = site_of(s);
    s->layer = option_given(s->o, "layer") ? (int)option_int(s->o, "layer") : -1;
    s->head = option_given(s->o, "head") ? option_int(s->o, "head") : -1;
    s->rollout = option_flag(s->o, "rollout");
    if (s->layer >= at->layers)
        return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --layer %d: %s has %d layer%s, counted from 0", s->layer,
                         at->name, at->layers, at->layers == 1 ? "" : "s");
    if (s->head >= at->heads)
        return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --head %lld: %s has %lld head%s, counted from 0",
                         (long long)s->head, at->name, (long long)at->heads, at->heads == 1 ? "" : "s");
    if (s->rollout && s->head >= 0)
        return heed_fail(s->cx, HEED_ERR_USAGE, "attend: --head: rollout takes the mean of all heads");
    if (!choose_query(s)) return false;
    s->n = shown_of(s)->rows * shown_of(s)->columns;
    s->tokens = s->n + shown_of(s)->first;
    return true;
}

/* ---- weights ---- */

static int last_layer(const struct seen *s) { return s->layer < 0 ? site_of(s)->layers - 1 : s->layer; }

/* Of one layer and head (-1: their mean), or rollout; out (tokens). */
static bool weights_of(const struct seen *s, int layer, int64_t head, float *out) {
    return s->rollout ? heed_attended_rollout(s->cx, s->found, s->site, layer, s->query, out)
                      : heed_attended_row(s->cx, site_of(s), layer, head, s->query, out);
}

static void name_query(const struct seen *s, char *to, size_t room) {
    const heed_picture_site *const at = site_of(s);
    if (s->query != HEED_READER && at->learned > 1)
        snprintf(to, room, "latent %lld", (long long)s->query);
    else if (s->query != HEED_READER && at->learned == 0)
        snprintf(to, room, "patch %lld,%lld", (long long)s->row, (long long)s->column);
    else
        snprintf(to, room, "%s",
                 at->learned > 1    ? "the latents, on average"
                 : at->has_class    ? "the class token"
                 : at->learned == 1 ? "the pooling query"
                                    : "all patches, on average");
}

/* "layer 3, head 2: the class token" */
static void name_map(const struct seen *s, char *to, size_t room) {
    const heed_picture_site *const at = site_of(s);
    char query[48], where[64] = "", head[48];
    name_query(s, query, sizeof query);
    if (s->found->n > 1) snprintf(where, sizeof where, "%s, ", at->name);
    if (s->rollout) {
        snprintf(to, room, "rollout to %slayer %d: %s", where, last_layer(s), query);
        return;
    }
    if (s->head >= 0)
        snprintf(head, sizeof head, "head %lld", (long long)s->head);
    else
        snprintf(head, sizeof head, at->heads > 1 ? "mean of %lld heads" : "head 0", (long long)at->heads);
    snprintf(to, room, "%slayer %d, %s: %s", where, last_layer(s), head, query);
}

/* ---- in the terminal ---- */

/* What tokens before the patches get, and the patches together. */
static void print_shares(const struct seen *s, const float *w) {
    const heed_picture_site *const at = shown_of(s);
    double patches = 0, all = 0;
    fputs("Shares: ", stdout);
    for (int64_t i = 0; i < at->first; i++) printf("%s %.4f, ", at->names[i], (double)w[i]), all += (double)w[i];
    for (int64_t i = at->first; i < s->tokens; i++) patches += (double)w[i];
    printf("patches %.4f", patches);
    if (1 - all - patches > 5e-4) /* of windows; or what a class token that comes late keeps of its own */
        printf(", %s %.4f", at->windows ? "padding" : "class", 1 - all - patches);
    putchar('\n');
}

static void print_most(const struct seen *s, const float *w) {
    enum { SHOWN = 6 };
    const heed_picture_site *const at = shown_of(s);
    int64_t k = -1;
    fputs("Largest weights (row,column):", stdout);
    for (int i = 0; i < SHOWN && (k = pictures_next_best(w + at->first, s->n, k)) < s->n; i++)
        printf("%s %lld,%lld %.4f", i ? "," : "", (long long)(k / at->columns), (long long)(k % at->columns),
               (double)w[at->first + k]);
    putchar('\n');
}

/* Whether no patch has less than half of what another has, as where rollout goes through many layers. */
static bool nearly_equal(const struct seen *s, const float *w, double *least, double *most) {
    *least = HUGE_VAL, *most = 0;
    for (int64_t i = shown_of(s)->first; i < s->tokens; i++)
        *least = fmin(*least, (double)w[i]), *most = fmax(*most, (double)w[i]);
    return *least > *most / 2 && *least < *most;
}

static bool print_map(const struct seen *s) {
    const heed_picture_site *const at = shown_of(s);
    float *const w = heed_mem_new(s->cx, (size_t)s->tokens * sizeof *w);
    char title[160];
    if (!w || !weights_of(s, last_layer(s), s->head, w)) return heed_mem_free(s->cx, w), false;
    name_map(s, title, sizeof title);
    double least, most;
    const bool equal = nearly_equal(s, w, &least, &most);
    heed_terminal terminal = cli_terminal(160);
    terminal.title = title;
    const heed_heatmap how = {
        .low = equal ? least : 0, .high = most > 0 ? most : 1, .scale_label = "weight", .weights = true};
    char *const text = heed_terminal_heatmap(s->cx, w + at->first, at->rows, at->columns, &how, &terminal);
    if (text) {
        fputs(text, stdout);
        putchar('\n');
        if (equal) printf("The patches have nearly equal weights, from %.3g to %.3g.\n", least, most);
        print_shares(s, w);
        print_most(s, w);
    }
    heed_mem_free(s->cx, text);
    heed_mem_free(s->cx, w);
    return text != NULL;
}

/* ---- as data ---- */

static double rounded(float v) { return round((double)v * 1e6) / 1e6; }

/* The texts of the document first; then a map for each layer and head, [row][column], and beside it what the tokens
 * before the patches get. */
static bool print_json(const struct seen *s) {
    heed_ctx *const cx = s->cx;
    const heed_picture_site *const at = site_of(s), *const to = shown_of(s);
    const int first = s->layer >= 0 || s->rollout ? last_layer(s) : 0, last = last_layer(s);
    const int64_t low = s->head < 0 ? 0 : s->head, high = s->rollout ? 1 : s->head < 0 ? at->heads : s->head + 1;
    const char *const path = options_word(s->o, 1);
    const heed_json doc = heed_json_new(cx, "attention");
    char query[48];
    name_query(s, query, sizeof query);
    heed_json_put_text(cx, doc, "picture", utf8_bad(path, strlen(path)) == strlen(path) ? path : shown(path).text);
    heed_json_put_text(cx, doc, "site", to->name);
    heed_json_put_text(cx, doc, "query", query);
    if (s->rollout) heed_json_put_bool(cx, doc, "rollout", true);
    const heed_json grid = heed_json_put_array(cx, doc, "grid"), patch = heed_json_put_array(cx, doc, "patch"),
                    names = heed_json_put_array(cx, doc, "tokens");
    heed_json_put_int(cx, grid, NULL, to->rows), heed_json_put_int(cx, grid, NULL, to->columns);
    heed_json_put_int(cx, patch, NULL, to->patch_height), heed_json_put_int(cx, patch, NULL, to->patch_width);
    for (int64_t i = 0; i < to->first; i++) heed_json_put_text(cx, names, NULL, to->names[i]);
    const heed_json layers = heed_json_put_array(cx, doc, "layers"), heads = heed_json_put_array(cx, doc, "heads");
    for (int l = first; l <= last; l++) heed_json_put_int(cx, layers, NULL, l);
    for (int64_t h = low; h < high && !s->rollout; h++) heed_json_put_int(cx, heads, NULL, h);
    const heed_json shares = heed_json_put_array(cx, doc, "token_weights"),
                    maps = heed_json_put_array(cx, doc, "weights");
    float *const w = heed_mem_new(cx, (size_t)s->tokens * sizeof *w);
    for (int l = first; w && l <= last; l++) {
        const heed_json share = heed_json_put_array(cx, shares, NULL), map = heed_json_put_array(cx, maps, NULL);
        for (int64_t h = low; h < high && weights_of(s, l, h, w); h++) {
            const heed_json own = heed_json_put_array(cx, share, NULL), one = heed_json_put_array(cx, map, NULL);
            for (int64_t i = 0; i < to->first; i++) heed_json_put_number(cx, own, NULL, rounded(w[i]));
            for (int64_t r = 0; r < to->rows; r++) {
                const heed_json line = heed_json_put_array(cx, one, NULL);
                for (int64_t c = 0; c < to->columns; c++)
                    heed_json_put_number(cx, line, NULL, rounded(w[to->first + r * to->columns + c]));
            }
        }
    }
    heed_mem_free(cx, w);
    if (!heed_failed(cx)) json_answer(cx, stdout, doc, 0);
    heed_json_free(doc);
    return !heed_failed(cx);
}

/* ---- files ---- */

static bool draw_one(const struct seen *s, heed_figure *f, heed_picture_look *look) {
    char title[200], given[96];
    float *const w = heed_mem_new(s->cx, (size_t)s->tokens * sizeof *w);
    name_map(s, title, 160);
    snprintf(given, sizeof given, "what the model is given, %lld x %lld", (long long)s->found->width,
             (long long)s->found->height);
    look->given = given;
    double least, most;
    bool ok = w && weights_of(s, last_layer(s), s->head, w);
    if (ok && nearly_equal(s, w, &least, &most)) strcat(title, ", nearly equal everywhere");
    ok = ok && heed_plot_picture_attention(f, w + shown_of(s)->first, title, look);
    heed_mem_free(s->cx, w);
    return ok;
}

/* The layers and heads chosen; of one layer the mean of its heads too. */
static bool draw_sheet(const struct seen *s, heed_figure *f, const heed_picture_sheet *sheet, heed_picture_look *look) {
    const heed_picture_site *const at = site_of(s);
    float *const maps = heed_mem_new(s->cx, (size_t)sheet->layers * (size_t)sheet->heads * (size_t)s->n * sizeof *maps);
    float *const w = heed_mem_new(s->cx, (size_t)s->tokens * sizeof *w);
    bool ok = maps && w;
    for (int l = 0; ok && l < sheet->layers; l++)
        for (int64_t h = 0; ok && h < sheet->heads; h++) {
            const bool mean = sheet->mean && h + 1 == sheet->heads;
            ok = weights_of(s, sheet->first_layer + l, mean ? -1 : sheet->first_head + h, w);
            if (ok) memcpy(maps + (l * sheet->heads + h) * s->n, w + at->first, (size_t)s->n * sizeof *maps);
        }
    char title[160], query[48];
    name_query(s, query, sizeof query);
    snprintf(title, sizeof title, "%s%swhat %s look%s at, each on a scale of its own", s->found->n > 1 ? at->name : "",
             s->found->n > 1 ? ": " : "", query,
             s->query == HEED_READER && !at->has_class && at->learned != 1 ? "" : "s");
    ok = ok && heed_figure_title(f, title) && heed_plot_picture_sheet(f, maps, sheet, look);
    heed_mem_free(s->cx, maps);
    heed_mem_free(s->cx, w);
    return ok;
}

/* So many pixels that all of a sheet has room. */
static int64_t sheet_pixels(const heed_picture_sheet *sheet) {
    const double columns = fmin((double)sheet->heads, sheet->layers == 1 ? 6 : 16);
    const double lines = (double)sheet->layers * ceil((double)sheet->heads / columns);
    return (int64_t)fmax(72, fmin(320, fmin(WIDE / columns, TALL / lines)));
}

static bool write_pictures(const struct seen *s) {
    if (!pictures_asked(s->o)) return true;
    const heed_picture_site *const at = site_of(s);
    const bool one = s->rollout || ((s->layer >= 0 || at->layers == 1) && (s->head >= 0 || at->heads == 1));
    heed_picture_sheet sheet = {.layers = s->layer < 0 ? at->layers : 1,
                                .heads = s->head < 0 ? at->heads : 1,
                                .first_layer = s->layer < 0 ? 0 : s->layer,
                                .first_head = s->head < 0 ? 0 : s->head};
    sheet.mean = s->layer >= 0 && s->head < 0 && at->heads > 1;
    if (sheet.mean) sheet.heads++;
    heed_image view = {0};
    heed_picture_look look = {.picture = &view,
                              .rows = shown_of(s)->rows,
                              .columns = shown_of(s)->columns,
                              .smooth = option_flag(s->o, "smooth"),
                              .row = s->row,
                              .column = s->column};
    if (s->rollout && s->site > 0) look.row = look.column = -1; /* a patch of another grid */
    heed_figure *const f = heed_figure_new(s->cx, 0, 0);
    char what[160];
    snprintf(what, sizeof what, "%s, %lld maps", at->name, (long long)(sheet.layers * sheet.heads));
    if (one) name_map(s, what, sizeof what);
    const bool ok = heed_attended_view(s->cx, s->found, shown_site(s), one ? LARGE : sheet_pixels(&sheet), &view) &&
                    (one ? draw_one(s, f, &look) : draw_sheet(s, f, &sheet, &look)) && pictures_write(s->o, f, what);
    heed_figure_free(f);
    heed_image_free(s->cx, &view);
    return ok;
}

static bool write_npy(const struct seen *s) {
    const char *const path = option_text(s->o, "npy");
    if (!path) return true;
    heed_ctx *const cx = s->cx;
    const heed_picture_site *const at = site_of(s);
    const int64_t keys = at->first + at->rows * at->columns, queries = at->learned > 0 ? at->learned : keys;
    const double bytes = (double)at->layers * (double)at->heads * (double)queries * (double)keys * sizeof(float);
    if (bytes > (double)(SIZE_MAX / 4)) return heed_fail(cx, HEED_ERR_RANGE, "attend: --npy: too many weights");
    float *const all = heed_mem_new(cx, (size_t)bytes);
    for (int l = 0; all && l < at->layers; l++)
        for (int64_t h = 0; h < at->heads; h++)
            for (int64_t q = 0; q < queries && !heed_failed(cx); q++)
                heed_attended_row(cx, at, l, h, q, all + ((l * at->heads + h) * queries + q) * keys);
    char what[128];
    snprintf(what, sizeof what, "%s, (%d, %lld, %lld, %lld) float32", at->name, at->layers, (long long)at->heads,
             (long long)queries, (long long)keys);
    const bool ok = all && !heed_failed(cx) &&
                    heed_npy_write(cx, path,
                                   &(heed_array){.name = "attention",
                                                 .dtype = HEED_F32,
                                                 .rank = 4,
                                                 .shape = {at->layers, at->heads, queries, keys},
                                                 .data = all});
    heed_mem_free(cx, all);
    return ok && pictures_report(s->o, path, what);
}

static bool write_page(const struct seen *s) {
    const char *const path = option_text(s->o, "html"), *const name = options_word(s->o, 1);
    char title[160];
    if (!path) return true;
    snprintf(title, sizeof title, "Attention of %.120s", shown(options_word(s->o, 0)).text);
    const struct shown line = shown(name);
    const heed_picture_page_opts opts = {.title = title,
                                         .line = line.text,
                                         .site = s->site,
                                         .layer = last_layer(s),
                                         .head = s->head,
                                         .query = s->query,
                                         .rollout = s->rollout,
                                         .smooth = option_flag(s->o, "smooth")};
    return heed_picture_page(s->cx, path, s->found, &opts) &&
           pictures_report(s->o, path,
                           site_of(s)->learned > 1 ? "all heads and latents; open it in a browser"
                                                   : "all layers, heads and patches; open it in a browser");
}

/* ---- the command ---- */

static bool open_picture(struct seen *s) {
    const char *const dir = options_word(s->o, 0), *const path = options_word(s->o, 1);
    heed_picture_model m = {0};
    s->model = heed_model_load_as(s->cx, dir, &(heed_load_opts){.map = true});
    if (!s->model || !heed_picture_processor(s->cx, s->model, dir, &m.processor, NULL) ||
        !heed_picture_read(s->cx, &m, path, &s->picture))
        return false;
    s->found = heed_attend_picture(s->cx, s->model, &m.processor, &s->picture);
    return s->found || heed_fail_in(s->cx, "%s", shown(path).text);
}

int attend_picture(const struct options *o) {
    struct seen s = {.o = o};
    if (!(s.cx = options_open(o))) return EXIT_FAILED;
    if (open_picture(&s) && choose(&s) && write_pictures(&s) && write_npy(&s) && write_page(&s)) {
        if (option_flag(o, "json"))
            print_json(&s);
        else if (!option_flag(o, "quiet") && !pictures_take_standard(o))
            print_map(&s);
    }
    heed_attended_picture_free(s.cx, s.found);
    heed_image_free(s.cx, &s.picture);
    heed_model_free(s.cx, s.model);
    const bool wrong = heed_error(s.cx) == HEED_ERR_USAGE;
    const int status = options_close(o, s.cx, EXIT_DONE);
    return wrong ? EXIT_USAGE : status;
}
