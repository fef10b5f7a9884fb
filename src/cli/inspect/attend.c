/* heed attend: a model's attention weights on a text, a picture or a graph, in the terminal, as figures, as numbers, as
 * a page. */
#include "cli/inspect/attend.h"
#include "cli/core/figure_options.h"
#include "cli/use/handwriting.h"
#include "cli/use/use_pictures.h"
#include "io/text.h"
#include "kernel/reduce.h"
#include "task/nodes/graph_fields.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "the translation to show; without it the model's own"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "a second text, read together with the first (BERT)"},
    {.name = "words", .letter = 'w',
     .help = "words instead of tokens: attention to a word is the sum over its tokens, from a word their mean"},
    {.name = "site", .letter = 's', .kind = HEED_FIELD_TEXT, .value = "SITE",
     .help = "which attention: encoder, decoder or cross; without it the last that has tokens on a side"},
    {.name = "layer", .letter = 'l', .kind = HEED_FIELD_INT, .value = "L", .high = 1e6,
     .help = "only this layer, counted from 0"},
    {.name = "head", .letter = 'H', .kind = HEED_FIELD_INT, .value = "H", .high = 1e6,
     .help = "only this head, counted from 0"},
    {.name = "rollout", .letter = 'r',
     .help = "of a picture: attention rollout, through all layers up to --layer (Abnar and Zuidema 2020)"},
    {.name = "patch", .kind = HEED_FIELD_TEXT, .value = "ROW,COLUMN",
     .help = "of a picture: what this patch looks at, counted from 0; without it the class token"},
    {.name = "latent", .kind = HEED_FIELD_INT, .value = "N", .high = 1e9,
     .help = "of a picture that latents look at (Perceiver): what this latent looks at, counted from 0; without it all "
             "of them, on average; of a model that finds objects (DETR, YOLOS) what this query looks at"},
    {.name = "threshold", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "P", .high = 1,
     .help = "of a model that finds objects: those with a higher score are shown, each with what its query looks at"},
    {.name = "smooth", .help = "of a picture: weights between patches are interpolated"},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "of a model of graphs: the graph, a directory with nodes.tsv and edges.tsv, or an .npz file"},
    {.name = "graph-tables", .kind = HEED_FIELD_TABLE, .table = graph_fields},
    {.name = "node", .letter = 'n', .kind = HEED_FIELD_TEXT, .value = "NAME",
     .help = "of a graph: what this node attends to, and in pictures what lies around it"},
    {.name = "hops", .kind = HEED_FIELD_INT, .value = "N", .high = 1e6,
     .help = "so many edges around it; without it as many as the model has layers"},
    {.name = "top", .kind = HEED_FIELD_INT, .standard = "20", .value = "N", .low = 1, .high = 1e9,
     .help = "of a graph without --node: so many edges, the largest weights first"},
    {.name = "png", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "a picture: one head with --layer and --head, else all of the site"},
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    {.name = "html", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "a page to explore all sites, layers and heads in a browser"},
    {.name = "npy", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "the site's weights (layers, heads, queries, keys), float32"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* ---- what was asked for ---- */

const heed_attended_site *attend_site(const struct attend_choice *c) { return &c->a->found->sites[c->site]; }

bool attend_over_picture(const struct attend_choice *c) { return c->a->found->height > 0; }

int attend_layer(const struct attend_choice *c) { return c->layer < 0 ? attend_site(c)->n_maps - 1 : c->layer; }

bool attend_one_map(const struct attend_choice *c) {
    const heed_attended_site *const s = attend_site(c);
    return c->rollout || ((c->layer >= 0 || s->n_maps == 1) && (c->head >= 0 || s->maps[0].heads == 1));
}

/* The layers and heads that were asked for. */
static heed_picture_sheet range_of(const struct attend_choice *c) {
    const heed_attended_site *const s = attend_site(c);
    const bool layers = c->layer < 0 && !c->rollout, heads = c->head < 0 && !c->rollout;
    return (heed_picture_sheet){.layers = layers ? s->n_maps : 1,
                                .first_layer = layers ? 0 : attend_layer(c),
                                .heads = heads ? s->maps[0].heads : 1,
                                .first_head = c->head < 0 ? 0 : c->head};
}

/* " attention" behind a name that does not say so itself. */
static const char *behind(const struct attend_choice *c) {
    return attend_over_picture(c) || strncmp(attend_site(c)->name, "attention", 9) == 0 ? "" : " attention";
}

void attend_name(const struct attend_choice *c, int layer, char *to, size_t room) {
    const heed_attended_site *const s = attend_site(c);
    const bool picture = attend_over_picture(c);
    char site[64] = "", head[48], query[64] = "";
    if (!picture || c->a->found->n > 1) snprintf(site, sizeof site, "%.47s%s, ", s->name, behind(c));
    if (picture) memcpy(query, ": ", 3), attend_name_query(c, query + 2, sizeof query - 2);
    if (c->rollout) {
        snprintf(to, room, "rollout to %slayer %d%s", site, layer, query);
        return;
    }
    if (c->head < 0 && s->maps[0].heads > 1)
        snprintf(head, sizeof head, "mean of %lld heads", (long long)s->maps[0].heads);
    else
        snprintf(head, sizeof head, "head %lld", (long long)(c->head > 0 ? c->head : 0));
    snprintf(to, room, "%slayer %d, %s%s", site, layer, head, query);
}

/* The last site that has tokens on either side: what latents make of each other says little. */
static int last_site(const heed_attended *a) {
    for (int i = a->n - 1; i >= 0; i--)
        if (strcmp(a->sites[i].queries->what, "positions") != 0 || strcmp(a->sites[i].keys->what, "positions") != 0)
            return i;
    return a->n - 1;
}

static bool choose_site(struct attend_choice *c) {
    const heed_attended *const a = c->a->found;
    const char *const name = option_text(c->o, "site"), *const quote = attend_over_picture(c) ? "'" : "";
    c->site = name ? 0 : last_site(a);
    while (name && c->site < a->n && strcmp(a->sites[c->site].name, name) != 0) c->site++;
    if (c->site < a->n) return true;
    char names[256] = "";
    for (int i = 0; i < a->n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s%.24s%s",
                 i == 0         ? ""
                 : i + 1 < a->n ? ", "
                                : " and ",
                 quote, a->sites[i].name, quote);
    return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --site %s: the model has %s", escaped(name).s, names);
}

static bool choose(struct attend_choice *c) {
    if (!choose_site(c)) return false;
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const int64_t heads = s->maps[0].heads;
    c->layer = option_given(c->o, "layer") ? (int)option_int(c->o, "layer") : -1;
    c->head = option_given(c->o, "head") ? option_int(c->o, "head") : -1;
    c->rollout = option_flag(c->o, "rollout");
    if (c->layer >= s->n_maps)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --layer %d: %s%s has %d layer%s, counted from 0", c->layer,
                         s->name, behind(c), s->n_maps, s->n_maps == 1 ? "" : "s");
    if (c->head >= heads)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --head %lld: %s%s has %lld head%s, counted from 0",
                         (long long)c->head, s->name, behind(c), (long long)heads, heads == 1 ? "" : "s");
    if (attend_over_graph(c)) return attend_choose_node(c);
    return !attend_over_picture(c) || attend_choose_query(c);
}

/* ---- in the terminal ---- */

static heed_attention_look look_of(const struct attend_choice *c) {
    const heed_attended_site *const s = attend_site(c);
    return (heed_attention_look){.query_names = s->queries->labels,
                                 .next_names = s->queries->next_labels,
                                 .key_names = s->keys->labels,
                                 .first_head = c->head < 0 ? 0 : c->head};
}

int attend_columns(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* For each query the key of largest weight; lines are broken between queries. */
static void print_most(const heed_axis *queries, const heed_axis *keys, const float *weights, int width) {
    static const char lead[] = "Largest weights: ";
    int at = attend_columns(lead);
    fputs(lead, stdout);
    for (int64_t i = 0; i < queries->n; i++) {
        const float *w = weights + i * keys->n;
        const char *next = queries->next_labels ? queries->next_labels[i] : "", *arrow = *next ? " \u2192 " : "";
        const int64_t best = kernel_best(w, keys->n);
        const int wide = attend_columns(queries->labels[i]) + attend_columns(arrow) + attend_columns(next) +
                         attend_columns(keys->labels[best]) + 9;
        const bool full = i > 0 && at + wide > width;
        printf("%s%s%s%s: %s %.2f",
               full ? ",\n  "
               : i  ? ", "
                    : "",
               queries->labels[i], arrow, next, keys->labels[best], (double)w[best]);
        at = full ? 2 + wide : at + wide;
    }
    putchar('\n');
}

/* All queries of one head, or of the mean of a layer's heads. */
static void print_map(const struct attend_choice *c) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended *const found = c->a->found;
    const heed_attended_site *const s = attend_site(c);
    const heed_axis *const queries = s->queries, *const keys = s->keys;
    float *const w = heed_mem_new(cx, (size_t)(queries->n * keys->n) * sizeof *w);
    if (!w) return;
    heed_capture_map m = s->maps[attend_layer(c)];
    for (int64_t i = 0; i < queries->n; i++) attend_row(c, attend_layer(c), c->head, i, w + i * keys->n);
    m.heads = 1, m.weights = w;
    const heed_attention_look look = look_of(c);
    char title[128];
    attend_name(c, m.layer, title, sizeof title);
    heed_terminal terminal = cli_terminal(160);
    terminal.title = title;
    char *const text = heed_terminal_attention(cx, &m, 0, &look, &terminal);
    if (text) {
        if (found->target) {
            cli_print_text(stdout, found->text);
            putchar('\n');
            cli_print_text(stdout, found->target);
            fputs("\n\n", stdout);
        }
        fputs(text, stdout);
        putchar('\n');
        print_most(queries, keys, w, terminal.width);
        if (queries->has_class && queries == keys && keys->n > 1) {
            printf("%s looks at:", queries->labels[0]);
            attend_print_best(keys, w, 5, 2);
        }
    }
    heed_mem_free(cx, text);
    heed_mem_free(cx, w);
}

/* ---- as data ---- */

static void put_names(heed_ctx *cx, heed_json at, const char *key, const char *const *names, int64_t n) {
    const heed_json list = heed_json_put_array(cx, at, key);
    for (int64_t i = 0; i < n; i++) heed_json_put_text(cx, list, NULL, names[i]);
}

/* [query][key], rounded to a millionth: what a float holds of a weight, but for the last digit */
static void print_weights(const float *w, int64_t rows, int64_t keys) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < keys; j++) {
            const double v = round((double)w[i * keys + j] * 1e6) / 1e6;
            printf("%s%.7g%s", j ? "," : i ? ",[" : "[[", isfinite(v) ? v : 0, j + 1 < keys ? "" : "]");
        }
    putchar(']');
}

/* The document without the brace that ends it, and [layer][head][query][key]: weights, which may be millions, are
 * printed one by one. */
static void print_with_maps(const struct attend_choice *c, heed_json doc, const heed_picture_sheet *of) {
    const heed_attended_site *const s = attend_site(c);
    const int64_t rows = s->queries->n, keys = s->keys->n;
    size_t size = 0;
    char *const text = heed_json_print(c->a->cx, doc, 0, &size);
    if (!text) return;
    fwrite(text, 1, size - 1, stdout);
    fputs(", \"weights\": ", stdout);
    for (int l = 0; l < of->layers; l++)
        for (int64_t h = 0; h < of->heads; h++) {
            fputs(h > 0 ? "," : l > 0 ? ",[" : "[[", stdout);
            print_weights(s->maps[of->first_layer + l].weights + (of->first_head + h) * rows * keys, rows, keys);
            if (h + 1 == of->heads) putchar(']');
        }
    puts("]}");
    heed_mem_free(c->a->cx, text);
}

static void put_texts(const struct attend_choice *c, heed_json doc) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended *const found = c->a->found;
    const heed_axis *const queries = attend_site(c)->queries, *const keys = attend_site(c)->keys;
    if (found->text) heed_json_put_text(cx, doc, "text", found->text);
    if (found->pair) heed_json_put_text(cx, doc, "pair", found->pair);
    if (found->target) heed_json_put_text(cx, doc, "target", found->target);
    heed_json_put_text(cx, doc, "site", attend_site(c)->name);
    put_names(cx, doc, "queries", queries->tokens, queries->n);
    put_names(cx, doc, "keys", keys->tokens, keys->n);
    if (queries->next) put_names(cx, doc, "next", queries->next, queries->n);
}

static void print_json(const struct attend_choice *c) {
    heed_ctx *const cx = c->a->cx;
    const bool objects = attend_over_picture(c) && attend_shows_objects(c); /* in one layer */
    heed_picture_sheet of = range_of(c);
    if (objects) of.layers = 1, of.first_layer = attend_layer(c);
    const heed_json doc = heed_json_new(cx, "attention");
    if (attend_over_graph(c))
        heed_json_put_text(cx, doc, "site", attend_site(c)->name);
    else
        (attend_over_picture(c) ? attend_put_query : put_texts)(c, doc);
    const heed_json layers = heed_json_put_array(cx, doc, "layers"), heads = heed_json_put_array(cx, doc, "heads");
    for (int l = 0; l < of.layers; l++)
        heed_json_put_int(cx, layers, NULL, attend_site(c)->maps[of.first_layer + l].layer);
    for (int64_t h = 0; h < of.heads && !c->rollout; h++) heed_json_put_int(cx, heads, NULL, of.first_head + h);
    if (!attend_over_picture(c) && !attend_over_graph(c))
        print_with_maps(c, doc, &of);
    else if (attend_over_graph(c) ? attend_put_graph(c, doc, &of)
             : objects            ? attend_put_objects(c, doc)
                                  : attend_put_maps(c, doc, &of))
        json_answer(cx, stdout, doc, 0);
    heed_json_free(doc);
}

/* ---- files ---- */

/* One head, large, or a sheet of the layers and heads chosen. */
static bool draw(const struct attend_choice *c, heed_figure *f, const heed_picture_sheet *sheet) {
    enum { FEW = 24 }; /* tokens whose weights can be read in the cells */
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const heed_capture_map *const m = &s->maps[attend_layer(c)];
    heed_attention_look look = look_of(c);
    if (attend_one_map(c)) {
        heed_panel *const p = heed_figure_panel(f, 0, 0);
        char title[96], below[64], beside[64];
        if (s->n_maps == 1 && m->heads == 1)
            snprintf(title, sizeof title, "%s%s", s->name, behind(c));
        else
            attend_name(c, m->layer, title, sizeof title);
        snprintf(below, sizeof below, "keys: %s", s->keys->what);
        snprintf(beside, sizeof beside, "queries: %s", s->queries->what);
        heed_panel_title(p, title);
        heed_panel_labels(p, below, beside);
        look.numbers = m->rows <= FEW && m->keys <= FEW;
        return heed_plot_attention_map(p, m, look.first_head, &look);
    }
    heed_capture_map *const maps = heed_mem_new(cx, (size_t)sheet->layers * sizeof *maps);
    for (int l = 0; maps && l < sheet->layers; l++) {
        maps[l] = s->maps[sheet->first_layer + l];
        maps[l].heads = sheet->heads;
        maps[l].weights += sheet->first_head * m->rows * m->keys;
    }
    const bool ok = maps && heed_plot_attention_sheet(f, maps, sheet->layers, &look);
    heed_mem_free(cx, maps);
    return ok;
}

static bool write_graph(const struct attend_choice *c) {
    char what[256];
    heed_figure *const f = attend_draw_graph(c, what, sizeof what);
    const bool ok = f && pictures_write(c->o, f, what);
    heed_figure_free(f);
    return ok;
}

static bool write_figures(const struct attend_choice *c) {
    if (!pictures_asked(c->o)) return true;
    if (attend_over_graph(c)) return write_graph(c);
    heed_picture_sheet sheet = range_of(c);
    sheet.mean = attend_over_picture(c) && c->layer >= 0 && sheet.heads > 1; /* of one layer over a picture */
    sheet.heads += sheet.mean;
    char what[160];
    if (attend_one_map(c))
        attend_name(c, attend_layer(c), what, sizeof what);
    else
        snprintf(what, sizeof what, "%s%s, %lld maps", attend_site(c)->name, behind(c),
                 (long long)(sheet.layers * sheet.heads));
    heed_figure *const f = heed_figure_new(c->a->cx, 0, 0);
    const bool drawn = attend_over_picture(c) && attend_shows_objects(c)
                           ? attend_draw_objects(c, f, what, sizeof what)
                           : (attend_over_picture(c) ? attend_draw_picture : draw)(c, f, &sheet);
    const bool ok = drawn && pictures_write(c->o, f, what);
    heed_figure_free(f);
    return ok;
}

/* All layers and heads of the site, over all of a picture where attention is within windows. */
static bool write_npy(const struct attend_choice *c) {
    const char *const path = option_text(c->o, "npy");
    if (!path) return true;
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const int64_t heads = s->maps[0].heads, queries = s->queries->n, keys = s->keys->n;
    const double bytes = (double)s->n_maps * (double)heads * (double)queries * (double)keys * sizeof(float);
    if (bytes > (double)(SIZE_MAX / 4)) return heed_fail(cx, HEED_ERR_RANGE, "attend: --npy: too many weights");
    float *const all = heed_mem_new(cx, (size_t)bytes), *to = all;
    for (int l = 0; all && l < s->n_maps; l++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t q = 0; q < queries && heed_attended_row(cx, s, l, h, q, to); q++) to += keys;
    char what[128];
    snprintf(what, sizeof what, "%s%s, (%d, %lld, %lld, %lld) float32", s->name, behind(c), s->n_maps, (long long)heads,
             (long long)queries, (long long)keys);
    const bool ok = all && !heed_failed(cx) &&
                    heed_npy_write(cx, path,
                                   &(heed_array){.name = "attention",
                                                 .dtype = HEED_F32,
                                                 .rank = 4,
                                                 .shape = {s->n_maps, heads, queries, keys},
                                                 .data = all});
    heed_mem_free(cx, all);
    return ok && pictures_report(c->o, path, what);
}

static bool write_text_page(const struct attend_choice *c, const char *path, const char *title) {
    const heed_attended *const found = c->a->found;
    enum { SITES = 9 };
    const char *lines[3];
    int n_lines = 0;
    if (found->n > SITES)
        return heed_fail(c->a->cx, HEED_ERR_RANGE, "attend: %d sites, a page shows %d", found->n, SITES);
    if (found->text) lines[n_lines++] = found->text;
    if (found->pair) lines[n_lines++] = found->pair;
    if (found->target) lines[n_lines++] = found->target;
    const heed_attention_page_opts opts = {.title = title,
                                           .lines = lines,
                                           .n_lines = n_lines,
                                           .site = c->site,
                                           .layer = attend_layer(c),
                                           .head = c->head < 0 ? 0 : c->head,
                                           .single = c->head >= 0 || attend_site(c)->maps[0].heads == 1};
    return heed_attention_page(c->a->cx, path, found->sites, found->n, &opts);
}

static bool write_page(const struct attend_choice *c) {
    const char *const path = option_text(c->o, "html");
    if (!path) return true;
    const heed_attended_site *const s = attend_site(c);
    char title[128], what[96];
    snprintf(title, sizeof title, "Attention of %s", escaped(c->a->dir).s);
    snprintf(what, sizeof what, "all %s; open it in a browser",
             attend_over_graph(c)                         ? "layers, heads and nodes"
             : !attend_over_picture(c)                    ? "sites, layers and heads"
             : c->a->found->n_objects > 0                 ? "layers, heads and queries"
             : s->queries != s->keys && s->queries->n > 1 ? "heads and latents"
                                                          : "layers, heads and patches");
    return (attend_over_graph(c)     ? attend_write_graph_page
            : attend_over_picture(c) ? attend_write_picture_page
                                     : write_text_page)(c, path, title) &&
           pictures_report(c->o, path, what);
}

static void print(const struct attend_choice *c) {
    if (option_flag(c->o, "json"))
        print_json(c);
    else if (!option_flag(c->o, "quiet") && !pictures_take_standard(c->o))
        (attend_over_graph(c)      ? attend_print_graph
         : !attend_over_picture(c) ? print_map
         : attend_shows_objects(c) ? attend_print_objects
                                   : attend_print_picture)(c);
}

/* ---- the command ---- */

static int attend(const struct options *o) {
    heed_ctx *const cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    struct attend a;
    struct attend_choice c = {.a = &a, .o = o};
    int status = EXIT_DONE;
    bool writes = false; /* what it has not learnt to write is no wrong use */
    const struct attend_given given = {.options = o,
                                       .text = options_word(o, 1),
                                       .pair = option_text(o, "pair"),
                                       .target = option_text(o, "target"),
                                       .words = option_flag(o, "words")};
    if (attend_load(cx, options_word(o, 0), &a)) {
        if (!attend_suits(o, a.model))
            status = EXIT_USAGE;
        else if ((writes = heed_model_takes(a.model, "strokes")))
            status = handwriting_attend(o, cx, a.model);
        else if (attend_read(&a, &given) && choose(&c) && write_figures(&c) && write_npy(&c) && write_page(&c))
            print(&c);
    }
    attend_close(&a);
    const bool wrong = heed_error(cx) == HEED_ERR_USAGE && !writes;
    status = options_close(o, cx, status);
    return wrong ? EXIT_USAGE : status;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("attend", options, argc, argv, 1, 2, ATTEND_WORDS);
    if (!o) return EXIT_USAGE;
    const int status = pictures_fit(o) && attend_one_input(o) && attend_reads_once(o) ? attend(o) : EXIT_USAGE;
    options_free(o);
    return status;
}

const struct command attend_command = {
    .name = "attend",
    .summary = "the attention weights of a model on a text, a picture or a graph",
    .words = "DIR [TEXT|PICTURE]",
    .about =
        "Reads TEXT (- is a line of standard input) with the model of DIR and shows which token attends to which: in "
        "the terminal one head, or the mean of a layer's heads; with --png, --svg or --pdf a picture; with --html a "
        "page that holds every layer and head and needs no network; with --npy or --json the numbers. A FILE of - is "
        "standard output, which then gets nothing else.\n\n"
        "A model that translates is shown with --target, or with its own translation. It has three kinds of attention: "
        "encoder, within the text; decoder, within the target; cross, from the target to the text. The rows "
        "of the last two are labelled with the token that the decoder is fed, an arrow, and the token that it "
        "predicts. A model that reads pairs is given the second text with --pair. --words joins the tokens "
        "of each word (Clark et al. 2019). For a model of vectors, such as "
        "kernel-pooling, TEXT is rows of numbers (0.5,1; 2,3), or lines of standard input: every row is a query, and "
        "the keys are the model's points. A model of handwriting that takes a text writes TEXT, and is shown with the "
        "window that slides over its characters as the pen goes on.\n\n"
        "A model of pictures is given a PNG or JPEG file, and is shown with what the class token looks at, or with "
        "--patch a patch, over the picture; a model without a class token with the mean of what its patches look at, "
        "and a Perceiver with the mean of what its latents look at, or with --latent one of them. "
        "--rollout follows attention through all layers. Weights to class, distillation and register tokens are said "
        "in numbers. Swin's windows lie where they are in the picture; its sites are its stages, as 'stage 2'. "
        "A model that finds objects (DETR, Conditional DETR, Table Transformer, YOLOS) is shown with what the query of "
        "each object looks at: a sheet, and a page where a click on a box shows its query's map; --latent shows one "
        "query in every layer and head.\n\n"
        "A model of graphs (GAT, GATv2) is given one by --edges and --nodes or by --data, as in training, and is shown "
        "with the weight of every edge: a table of the largest, or with --node of all that lead to one node; a picture "
        "laid out by forces, nodes in the colours of the classes that the model predicts, a ring where the label is "
        "another, edges by weight; a page where a node under the pointer shows what it attends to. Weights of an "
        "edge go from its source to its target, which attends to it; those that come to a node sum to 1. --npy is "
        "(layers, heads, targets, sources).",
    .options = options,
    .examples =
        "heed attend en-de \"the animal didn't cross the street because it was too tired\"\n"
        "heed attend en-de \"the animal was tired\" --site encoder --layer 2 --head 0 --png it.png\n"
        "heed attend en-de \"the animal was tired\" --target \"das Tier war m\u00fcde\" --html it.html --quiet\n"
        "heed attend bert \"how old are you?\" --pair \"I am six.\" --html pair.html\n"
        "heed attend bert \"the unforgettable film\" --words\n"
        "heed attend kernels \"0.5; 1.5; 2.5\" --png weights.png\n"
        "heed attend scribe 2026 --png window.png\n"
        "heed attend vit photo.jpg --png heads.png --html photo.html\n"
        "heed attend vit photo.jpg --rollout --smooth --png rollout.png\n"
        "heed attend vit photo.jpg --layer 5 --head 0 --patch 3,7 --png patch.png\n"
        "heed attend detr street.jpg --png queries.png --html queries.html\n"
        "heed attend gat --nodes nodes.tsv --edges edges.tsv --png graph.png --html graph.html\n"
        "heed attend gat --data cora --node 35 --hops 2 --layer 0 --png around.png\n",
    .run = run,
};
