/* heed attend: a model's attention weights on a text, in the terminal, as pictures, as numbers, as a page. */
#include "cli/inspect/attend.h"
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "cli/use/handwriting.h"
#include "cli/use/use_pictures.h"
#include "io/text.h"
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
             "of them, on average"},
    {.name = "smooth", .help = "of a picture: weights between patches are interpolated"},
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

/* What of the attention was asked for. */
struct choice {
    const struct attend *a;
    const struct options *o;
    int site, layer; /* layer -1: all of them; the last where one must be shown */
    int64_t head;    /* -1: all of them, or their mean */
};

static const heed_attended_site *site_of(const struct choice *c) { return &c->a->found->sites[c->site]; }

/* " attention" behind a name that does not say so itself. */
static const char *behind(const heed_attended_site *s) {
    return strncmp(s->name, "attention", 9) == 0 ? "" : " attention";
}

static heed_attention_look look_of(const struct choice *c) {
    return (heed_attention_look){.query_names = site_of(c)->queries->labels,
                                 .next_names = site_of(c)->queries->next_labels,
                                 .key_names = site_of(c)->keys->labels,
                                 .first_head = c->head < 0 ? 0 : c->head};
}

/* Head h of a map of one sequence, as a map of its own. */
static heed_capture_map head_of(const heed_capture_map *m, int64_t h) {
    heed_capture_map one = *m;
    one.heads = 1;
    one.weights += h * m->rows * m->keys;
    return one;
}

/* The last site that has tokens on either side: what latents make of each other says little. */
static int last_site(const heed_attended *a) {
    for (int i = a->n - 1; i >= 0; i--)
        if (strcmp(a->sites[i].queries->what, "positions") != 0 || strcmp(a->sites[i].keys->what, "positions") != 0)
            return i;
    return a->n - 1;
}

static bool choose(struct choice *c) {
    const heed_attended *a = c->a->found;
    const char *name = option_text(c->o, "site");
    c->site = name ? 0 : last_site(a);
    while (name && c->site < a->n && strcmp(a->sites[c->site].name, name) != 0) c->site++;
    if (c->site == a->n) {
        char names[256] = "";
        for (int i = 0; i < a->n; i++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.24s",
                     i == 0         ? ""
                     : i + 1 < a->n ? ", "
                                    : " and ",
                     a->sites[i].name);
        return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --site %s: the model has %s", shown(name).text, names);
    }
    const heed_attended_site *s = site_of(c);
    c->layer = option_given(c->o, "layer") ? (int)option_int(c->o, "layer") : -1;
    c->head = option_given(c->o, "head") ? option_int(c->o, "head") : -1;
    if (c->layer >= s->n_maps)
        return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --layer %d: %s%s has %d layer%s, counted from 0", c->layer,
                         s->name, behind(s), s->n_maps, s->n_maps == 1 ? "" : "s");
    if (c->head >= s->maps[0].heads)
        return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --head %lld: %s%s has %lld head%s, counted from 0",
                         (long long)c->head, s->name, behind(s), (long long)s->maps[0].heads,
                         s->maps[0].heads == 1 ? "" : "s");
    if (s->n_maps == 1) c->layer = 0; /* the only one is the one that is asked for */
    if (s->maps[0].heads == 1) c->head = 0;
    return true;
}

/* ---- in the terminal ---- */

/* The one map that is shown: a head of a layer, or the mean of the layer's heads in `mean`. */
static heed_capture_map map_of(const struct choice *c, float *mean) {
    const heed_attended_site *s = site_of(c);
    const heed_capture_map *m = &s->maps[c->layer < 0 ? s->n_maps - 1 : c->layer];
    if (c->head >= 0) return head_of(m, c->head);
    const int64_t n = m->rows * m->keys;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t h = 0; h < m->heads; h++) sum += (double)m->weights[h * n + i];
        mean[i] = (float)(sum / (double)m->heads);
    }
    heed_capture_map one = *m;
    one.heads = 1;
    one.weights = mean;
    return one;
}

static int columns_of(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* For each query the key of largest weight; lines are broken between queries. */
static void print_most(const struct choice *c, const heed_capture_map *m, int width) {
    static const char lead[] = "Largest weights: ";
    const heed_axis *queries = site_of(c)->queries, *keys = site_of(c)->keys;
    int at = columns_of(lead);
    fputs(lead, stdout);
    for (int64_t i = 0; i < m->rows; i++) {
        const float *w = m->weights + i * m->keys;
        const char *next = queries->next_labels ? queries->next_labels[i] : "", *arrow = *next ? " \u2192 " : "";
        int64_t best = 0;
        for (int64_t j = 1; j < m->keys; j++)
            if (w[j] > w[best]) best = j;
        const int wide =
            columns_of(queries->labels[i]) + columns_of(arrow) + columns_of(next) + columns_of(keys->labels[best]) + 9;
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

/* What the class token, whose state classifiers read, looks at: the keys of largest weight. */
static void print_class(const struct choice *c, const heed_capture_map *m) {
    enum { SHOWN = 5 };
    const heed_axis *const axis = site_of(c)->keys;
    const char *const first = axis->tokens[0];
    int64_t best[SHOWN];
    if (c->a->found->target || axis != site_of(c)->queries || axis->n < 2 ||
        (strcmp(first, "[CLS]") != 0 && strcmp(first, "<s>") != 0))
        return;
    printf("%s looks at:", axis->labels[0]);
    for (int k = 0; k < SHOWN && k < m->keys; k++) {
        best[k] = -1;
        for (int64_t j = 0; j < m->keys; j++) {
            bool known = false;
            for (int i = 0; i < k; i++) known |= best[i] == j;
            if (!known && (best[k] < 0 || m->weights[j] > m->weights[best[k]])) best[k] = j;
        }
        printf("%s %s %.2f", k ? "," : "", axis->labels[best[k]], (double)m->weights[best[k]]);
    }
    putchar('\n');
}

static void print_text(heed_ctx *cx, const char *text) {
    const size_t room = 4 * strlen(text) + 8;
    char *line = heed_mem_new(cx, room);
    if (!line) return;
    text_printable(line, room, text, strlen(text));
    puts(line);
    heed_mem_free(cx, line);
}

static void print_map(const struct choice *c) {
    const struct attend *a = c->a;
    const heed_attended_site *s = site_of(c);
    float *mean = heed_mem_new(a->cx, (size_t)(s->maps[0].rows * s->maps[0].keys) * sizeof *mean);
    if (!mean) return;
    const heed_capture_map m = map_of(c, mean);
    const heed_attention_look look = look_of(c);
    char title[128], head[48];
    const bool mean_of = c->head < 0 && s->maps[0].heads > 1;
    snprintf(head, sizeof head, mean_of ? "mean of %lld heads" : "head %lld",
             (long long)(mean_of       ? s->maps[0].heads
                         : c->head > 0 ? c->head
                                       : 0));
    snprintf(title, sizeof title, "%s%s, layer %d, %s", s->name, behind(s), m.layer, head);
    heed_terminal terminal = cli_terminal(160);
    terminal.title = title;
    char *text = heed_terminal_attention(a->cx, &m, 0, &look, &terminal);
    if (text) {
        if (a->found->target) {
            print_text(a->cx, a->found->text);
            print_text(a->cx, a->found->target);
            putchar('\n');
        }
        fputs(text, stdout);
        putchar('\n');
        print_most(c, &m, terminal.width);
        print_class(c, &m);
    }
    heed_mem_free(a->cx, text);
    heed_mem_free(a->cx, mean);
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

/* The texts of the document first; the weights, which may be millions, are printed one by one. */
static void print_json(const struct choice *c) {
    const struct attend *a = c->a;
    const heed_attended_site *s = site_of(c);
    const heed_axis *queries = s->queries, *keys = s->keys;
    const heed_json doc = heed_json_new(a->cx, "attention");
    if (a->found->text) heed_json_put_text(a->cx, doc, "text", a->found->text);
    if (a->found->pair) heed_json_put_text(a->cx, doc, "pair", a->found->pair);
    if (a->found->target) heed_json_put_text(a->cx, doc, "target", a->found->target);
    heed_json_put_text(a->cx, doc, "site", s->name);
    put_names(a->cx, doc, "queries", queries->tokens, queries->n);
    put_names(a->cx, doc, "keys", keys->tokens, keys->n);
    if (queries->next) put_names(a->cx, doc, "next", queries->next, queries->n);
    const heed_json layers = heed_json_put_array(a->cx, doc, "layers"),
                    heads = heed_json_put_array(a->cx, doc, "heads");
    const int first = c->layer < 0 ? 0 : c->layer, last = c->layer < 0 ? s->n_maps - 1 : c->layer;
    const int64_t low = c->head < 0 ? 0 : c->head, high = c->head < 0 ? s->maps[0].heads - 1 : c->head;
    for (int l = first; l <= last; l++) heed_json_put_int(a->cx, layers, NULL, s->maps[l].layer);
    for (int64_t h = low; h <= high; h++) heed_json_put_int(a->cx, heads, NULL, h);
    size_t size = 0;
    char *text = heed_json_print(a->cx, doc, 0, &size);
    if (text) {
        fwrite(text, 1, size - 1, stdout); /* without the brace that ends it */
        fputs(", \"weights\": ", stdout);
        for (int l = first; l <= last; l++)
            for (int64_t h = low; h <= high; h++) {
                const heed_capture_map one = head_of(&s->maps[l], h);
                fputs(l == first && h == low ? "[[" : h == low ? ",[" : ",", stdout);
                print_weights(one.weights, one.rows, one.keys);
                if (h == high) putchar(']');
            }
        puts("]}");
    }
    heed_mem_free(a->cx, text);
    heed_json_free(doc);
}

/* ---- files ---- */

/* One head, large, or a sheet of the layers and heads chosen. */
static heed_figure *draw(const struct choice *c) {
    enum { FEW = 24 }; /* tokens whose weights can be read in the cells */
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *s = site_of(c);
    heed_attention_look look = look_of(c);
    heed_figure *f = heed_figure_new(cx, 0, 0);
    char title[96];
    if (c->layer >= 0 && c->head >= 0) {
        heed_panel *p = heed_figure_panel(f, 0, 0);
        const bool only = s->n_maps == 1 && s->maps[0].heads == 1;
        snprintf(title, sizeof title, only ? "%s%s" : "%s%s, layer %d, head %lld", s->name, behind(s),
                 s->maps[c->layer].layer, (long long)c->head);
        heed_panel_title(p, title);
        char below[64], beside[64];
        snprintf(below, sizeof below, "keys: %s", s->keys->what);
        snprintf(beside, sizeof beside, "queries: %s", s->queries->what);
        heed_panel_labels(p, below, beside);
        look.numbers = s->maps[c->layer].rows <= FEW && s->maps[c->layer].keys <= FEW;
        heed_plot_attention_map(p, &s->maps[c->layer], c->head, &look);
        return f;
    }
    const int first = c->layer < 0 ? 0 : c->layer, n = c->layer < 0 ? s->n_maps : 1;
    heed_capture_map *maps = heed_mem_new(cx, (size_t)n * sizeof *maps);
    for (int l = 0; maps && l < n; l++)
        maps[l] = c->head < 0 ? s->maps[first + l] : head_of(&s->maps[first + l], c->head);
    heed_plot_attention_sheet(f, maps, maps ? n : 0, &look);
    heed_mem_free(cx, maps);
    return f;
}

static bool write_pictures(const struct choice *c) {
    const heed_attended_site *s = site_of(c);
    char what[96];
    if (!pictures_asked(c->o)) return true;
    snprintf(what, sizeof what, "%s%s, %lld maps", s->name, behind(s),
             (long long)((c->layer < 0 ? s->n_maps : 1) * (c->head < 0 ? s->maps[0].heads : 1)));
    if (c->layer >= 0 && c->head >= 0)
        snprintf(what, sizeof what, "%s%s, layer %d, head %lld", s->name, behind(s), c->layer, (long long)c->head);
    heed_figure *f = draw(c);
    const bool ok = pictures_write(c->o, f, what);
    heed_figure_free(f);
    return ok;
}

static bool write_npy(const struct choice *c, const char *path) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *s = site_of(c);
    const heed_capture_map *m = &s->maps[0];
    const size_t plane = (size_t)(m->heads * m->rows * m->keys);
    char what[128];
    snprintf(what, sizeof what, "%s%s, (%d, %lld, %lld, %lld) float32", s->name, behind(s), s->n_maps,
             (long long)m->heads, (long long)m->rows, (long long)m->keys);
    float *const all = heed_mem_new(cx, (size_t)s->n_maps * plane * sizeof *all);
    if (!all) return false;
    for (int l = 0; l < s->n_maps; l++) memcpy(all + (size_t)l * plane, s->maps[l].weights, plane * sizeof *all);
    heed_npy_write(cx, path,
                   &(heed_array){.name = "attention",
                                 .dtype = HEED_F32,
                                 .rank = 4,
                                 .shape = {s->n_maps, m->heads, m->rows, m->keys},
                                 .data = all});
    heed_mem_free(cx, all);
    return !heed_failed(cx) && pictures_report(c->o, path, what);
}

static bool write_page(const struct choice *c, const char *path) {
    const heed_attended *a = c->a->found;
    const char *lines[3];
    int n_lines = 0;
    char title[128];
    heed_attention_site sites[ATTEND_SITES];
    if (!attend_sites(c->a, sites)) return false;
    if (a->text) lines[n_lines++] = a->text;
    if (a->pair) lines[n_lines++] = a->pair;
    if (a->target) lines[n_lines++] = a->target;
    snprintf(title, sizeof title, "Attention of %s", shown(c->a->dir).text);
    const heed_attention_page_opts opts = {
        .title = title,
        .lines = lines,
        .n_lines = n_lines,
        .site = c->site,
        .layer = c->layer < 0 ? site_of(c)->n_maps - 1 : c->layer,
        .head = c->head < 0 ? 0 : c->head,
        .single = c->head >= 0,
    };
    return heed_attention_page(c->a->cx, path, sites, a->n, &opts) &&
           pictures_report(c->o, path, "all sites, layers and heads; open it in a browser");
}

/* ---- the command ---- */

static void attend(heed_ctx *cx, const struct options *o) {
    struct attend a;
    struct choice c = {.a = &a, .o = o};
    const char *npy = option_text(o, "npy"), *html = option_text(o, "html");
    const struct attend_words words = {options_word(o, 1), option_text(o, "pair"), option_text(o, "target"),
                                       option_flag(o, "words")};
    if (attend_open(cx, options_word(o, 0), &words, &a) && choose(&c) && write_pictures(&c) &&
        (!npy || write_npy(&c, npy)) && (!html || write_page(&c, html))) {
        if (option_flag(o, "json"))
            print_json(&c);
        else if (!option_flag(o, "quiet") && !pictures_take_standard(o))
            print_map(&c);
    }
    attend_close(&a);
}

static bool options_fit(const struct options *o) {
    const char *target = option_text(o, "target");
    if (!pictures_fit(o)) return false;
    if (!attend_options_fit(o)) return false;
    const char *const read[] = {options_word(o, 1), option_text(o, "pair"), target};
    int standard = 0;
    for (int i = 0; i < 3; i++) standard += read[i] && strcmp(read[i], "-") == 0;
    if (standard > 1) {
        cli_error(EXIT_USAGE, "attend: standard input can be the text or the target, not both");
        return false;
    }
    return true;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("attend", options, argc, argv, 2, 2, "DIR TEXT or PICTURE");
    if (!o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    const bool fit = options_fit(o);
    if (fit && pictures_are_read(options_word(o, 0))) {
        status = attend_picture(o);
    } else if (fit && handwriting_is(options_word(o, 0))) {
        status = handwriting_attend(o, options_word(o, 0), options_word(o, 1));
    } else if (fit) {
        heed_ctx *cx = options_open(o);
        if (cx) attend(cx, o);
        const bool wrong = cx && heed_error(cx) == HEED_ERR_USAGE;
        status = cx ? options_close(o, cx, EXIT_DONE) : EXIT_FAILED;
        if (wrong) status = EXIT_USAGE;
    }
    options_free(o);
    return status;
}

const struct command attend_command = {
    .name = "attend",
    .summary = "the attention weights of a model on a text or a picture",
    .words = "DIR TEXT|PICTURE",
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
        "in numbers. Swin's windows lie where they are in the picture; its sites are its stages, as 'stage 2'.",
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
        "heed attend vit photo.jpg --layer 5 --head 0 --patch 3,7 --png patch.png\n",
    .run = run,
};
