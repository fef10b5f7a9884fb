/* heed plot: the curves of training logs, as a picture or in the terminal. A panel for the losses, one for each metric,
 * and one for the learning rate where it is asked for. */
#include "cli/inspect/plot.h"
#include "cli/core/figure_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    {.name = "x", .kind = HEED_FIELD_CHOICE, .standard = "steps", .value = "AXIS", .choices = "steps epochs seconds words",
     .help = "what runs along the horizontal axis: steps, epochs or seconds; or words, of 'heed eval --by-length --log'"},
    {.name = "name", .letter = 'n', .kind = HEED_FIELD_LIST, .value = "NAME",
     .help = "name of a log in the legend, in the order of the logs; without it that of its file"},
    {.name = "metric", .kind = HEED_FIELD_LIST, .value = "METRIC",
     .help = "only this metric beside the loss (accuracy, bleu, ...)"},
    {.name = "lr", .help = "the learning rate, too"},
    {.name = "smooth", .kind = HEED_FIELD_INT, .value = "N", .high = 1e9,
     .help = "smooth the training loss over N lines of the log; 0: not at all; without it over 2 % of them"},
    {.name = "log-y", .help = "the losses on a logarithmic axis"},
    {.name = "title", .kind = HEED_FIELD_TEXT, .value = "TEXT", .help = "title of the picture"},
    {.name = "dark", .help = "a picture for a dark page"},
    {.name = NULL},
};
/* clang-format on */

enum { LOGS = 16, PANELS = 12 };

struct plot {
    heed_ctx *cx;
    const struct options *o;
    struct training_log *logs; /* (n) */
    int n;
    char panel[PANELS][LOG_NAME]; /* "loss", metrics, "lr" */
    int panels;
    double unit, end;   /* of the horizontal axis: 60 where seconds are shown as minutes; its largest value */
    const char *x_name; /* its label */
    float **smooth;     /* (n): the smoothed training loss; NULL: not smoothed */
};

/* ---- panels ---- */

static const char *const sets[] = {"valid_", "test_"};
enum { TRAIN, VALID, TEST, SETS };

/* Which panel a curve belongs to, and which set it was measured on: "valid_bleu" to "bleu". */
static const char *panel_of(const char *curve, int *set) {
    for (int i = 0; i < SETS - 1; i++) {
        const size_t n = strlen(sets[i]);
        if (strncmp(curve, sets[i], n) != 0 || !curve[n]) continue;
        *set = VALID + i;
        return curve + n;
    }
    *set = TRAIN;
    return curve;
}

/* What a run of --valid-examples measures once, at its end, is listed and no curve. */
static bool is_curve(const char *name) { return strncmp(name, "whole_valid_", 12) != 0; }

static bool metric_wanted(const struct plot *p, const char *name) {
    const char *const *only;
    const int n = option_list(p->o, "metric", &only);
    for (int i = 0; i < n; i++)
        if (strcmp(only[i], name) == 0) return true;
    return n == 0;
}

static bool add_panel(struct plot *p, const char *name) {
    for (int i = 0; i < p->panels; i++)
        if (strcmp(p->panel[i], name) == 0) return true;
    if (p->panels == PANELS)
        return heed_fail(p->cx, HEED_ERR_USAGE, "plot: more than %d metrics; choose with --metric", PANELS - 1);
    snprintf(p->panel[p->panels++], LOG_NAME, "%s", name);
    return true;
}

static bool has_metric(const struct plot *p, const char *name) {
    for (int i = 0; i < p->panels; i++)
        if (strcmp(p->panel[i], name) == 0) return true;
    return false;
}

static bool find_panels(struct plot *p) {
    const char *const *only;
    for (int pass = 0; pass < 3; pass++) /* the losses first, the learning rate last */
        for (int k = 0; k < p->n; k++)
            for (int i = 0; i < p->logs[k].curves; i++) {
                int set;
                const char *name = panel_of(p->logs[k].curve[i].name, &set);
                const int kind = strcmp(name, "loss") == 0 ? 0 : strcmp(name, "lr") == 0 ? 2 : 1;
                if (kind != pass || !is_curve(name) || (kind == 1 && !metric_wanted(p, name)) ||
                    (kind == 2 && !option_flag(p->o, "lr")))
                    continue;
                if (!add_panel(p, name)) return false;
            }
    for (int i = 0, n = option_list(p->o, "metric", &only); i < n; i++)
        if (!has_metric(p, only[i]))
            return heed_fail(p->cx, HEED_ERR_USAGE, "plot: --metric %s: no log has it", only[i]);
    return p->panels > 0 || heed_fail(p->cx, HEED_ERR_FORMAT, "%s: there is nothing to draw", p->logs[0].path);
}

/* The curve of a log in a panel, measured on a set; NULL: none. */
static const struct log_curve *curve_of(const struct plot *p, int log, int panel, int set) {
    char name[LOG_NAME + 8];
    snprintf(name, sizeof name, "%s%s", set == TRAIN ? "" : sets[set - VALID], p->panel[panel]);
    return log_find(&p->logs[log], name);
}

/* ---- curves ---- */

/* An exponential moving average from the first value to the last (step 1) or back (-1), without its bias towards where
 * it begins. */
static void average(const float *from, float *to, int64_t n, double keep, int64_t step) {
    double sum = 0, weight = 0;
    for (int64_t k = 0, i = step > 0 ? 0 : n - 1; k < n; k++, i += step) {
        if (isfinite(from[i])) sum = keep * sum + (double)from[i], weight = keep * weight + 1;
        to[i] = weight > 0 ? (float)(sum / weight) : NAN;
    }
}

/* Forth and back: the smoothed curve does not lag behind. */
static bool smooth_log(struct plot *p, int k) {
    const struct log_curve *c = log_find(&p->logs[k], "loss");
    const bool given = option_given(p->o, "smooth");
    const double span = !c ? 0 : given ? (double)option_int(p->o, "smooth") : (double)c->n / 50;
    if (span < 2) return true;
    float *out = p->smooth[k] = heed_mem_new(p->cx, (size_t)c->n * sizeof *out);
    if (!out) return false;
    average(c->y, out, c->n, 1 - 2 / (span + 1), 1);
    average(out, out, c->n, 1 - 2 / (span + 1), -1);
    return true;
}

/* Long runs are shown in minutes or hours. */
static void choose_unit(struct plot *p) {
    const char *axis = option_text(p->o, "x");
    double most = 0;
    for (int k = 0; k < p->n; k++) most = fmax(most, p->logs[k].last_x);
    const bool time = strcmp(axis, "seconds") == 0;
    p->unit = !time || most < 600 ? 1 : most < 3 * 3600 ? 60 : 3600;
    p->end = most / p->unit;
    p->x_name = !time           ? (strcmp(axis, "epochs") == 0  ? "epoch"
                                   : strcmp(axis, "words") == 0 ? "words of the source"
                                                                : "step")
                : p->unit == 1  ? "seconds"
                : p->unit == 60 ? "minutes"
                                : "hours";
    for (int k = 0; p->unit > 1 && k < p->n; k++)
        for (int i = 0; i < p->logs[k].curves; i++)
            for (int64_t j = 0; j < p->logs[k].curve[i].n; j++) p->logs[k].curve[i].x[j] /= (float)p->unit;
}

/* ---- pictures ---- */

static void title_of(const char *panel, char title[LOG_NAME + 8]) {
    snprintf(title, LOG_NAME + 8, "%s",
             strcmp(panel, "lr") == 0     ? "learning rate"
             : strcmp(panel, "bleu") == 0 ? "BLEU"
                                          : panel);
    for (char *s = title; *s; s++)
        if (*s == '_') *s = ' ';
}

static bool by_length(const struct plot *p) { return strcmp(option_text(p->o, "x"), "words") == 0; }

static void draw_curve(heed_panel *at, const struct log_curve *c, const float *y, heed_style style) {
    if (c->n == 1 && style.marker == HEED_MARKER_DEFAULT) style.marker = HEED_MARKER_DISC;
    if (c->n > 40 && style.marker == HEED_MARKER_DISC) style.marker = HEED_MARKER_DEFAULT;
    heed_panel_curve(at, c->x, y ? y : c->y, c->n, &style);
}

/* One log: a colour and a name for each set. Several: a colour and a name for each log; validation losses are dashed,
 * as the training losses have the same colour. */
static void draw_log(const struct plot *p, heed_panel *at, int panel, int k) {
    static const char *const names[SETS] = {"training", "validation", "test"};
    static const heed_color colors[SETS] = {HEED_COLOR_BLUE, HEED_COLOR_ORANGE, HEED_COLOR_RED};
    const bool loss = strcmp(p->panel[panel], "loss") == 0, many = p->n > 1;
    bool named = false;
    for (int set = 0; set < SETS; set++) {
        const struct log_curve *c = curve_of(p, k, panel, set);
        if (!c) continue;
        const bool single = !loss && set == TRAIN; /* a number that is of no set */
        heed_style style = {.label = many     ? (named ? NULL : p->logs[k].name)
                                     : single ? NULL
                                              : names[set],
                            .color = many ? (heed_color)(HEED_COLOR_BLUE + k % 8) : colors[set],
                            .dash = many && loss && set == VALID ? HEED_DASH_LONG
                                    : many && k >= 8             ? HEED_DASH_DOTS
                                                                 : HEED_DASH_NONE,
                            .width = set == TRAIN ? 1.8 : 1.6,
                            .marker = set == TEST                    ? HEED_MARKER_DIAMOND
                                      : set == VALID || by_length(p) ? HEED_MARKER_DISC
                                                                     : HEED_MARKER_DEFAULT,
                            .size = set == TEST ? 8 : 4};
        const float *smooth = loss && set == TRAIN ? p->smooth[k] : NULL;
        char label[48];
        if (smooth) {
            heed_style raw = {.color = style.color, .width = 0.7, .alpha = many ? 0.18 : 0.28};
            draw_curve(at, c, NULL, raw);
            snprintf(label, sizeof label, "%s, smoothed", names[TRAIN]);
            if (!many) style.label = label;
        }
        draw_curve(at, c, smooth, style);
        named = true;
    }
}

/* Lengths are means of some lengths together; what is written below them are numbers of words. */
static void length_ticks(const struct plot *p, heed_panel *at) {
    enum { MOST = 32 };
    const int step = p->end > 100 ? 50 : p->end > 50 ? 20 : p->end > 20 ? 5 : 2;
    char text[MOST][16];
    const char *names[MOST];
    float place[MOST];
    int n = 0;
    for (; n < MOST && n * step <= p->end + step; n++) {
        snprintf(text[n], sizeof text[n], "%d", n * step);
        names[n] = text[n], place[n] = (float)(n * step);
    }
    heed_panel_ticks_x(at, place, names, n);
    heed_panel_limits_y(at, 0, (double)NAN);
}

static heed_figure *draw(const struct plot *p) {
    const int columns = p->panels < 3 ? p->panels : p->panels == 4 ? 2 : 3, rows = (p->panels + columns - 1) / columns;
    heed_figure *f = heed_figure_new(p->cx, columns == 1 ? 520 : 420.0 * columns, 40 + 280.0 * rows);
    heed_figure_grid(f, rows, columns);
    heed_figure_title(f, option_text(p->o, "title"));
    if (option_flag(p->o, "dark")) heed_figure_theme(f, HEED_THEME_DARK);
    for (int i = 0; i < p->panels; i++) {
        heed_panel *at = heed_figure_panel(f, i / columns, i % columns);
        const bool loss = strcmp(p->panel[i], "loss") == 0;
        bool has[SETS] = {false};
        char title[LOG_NAME + 8];
        title_of(p->panel[i], title);
        heed_panel_title(at, title);
        heed_panel_labels(at, p->x_name, NULL);
        heed_panel_log(at, false, loss && option_flag(p->o, "log-y"));
        if (p->end > 0 && !by_length(p)) heed_panel_limits_x(at, 0, 1.02 * p->end);
        if (by_length(p)) length_ticks(p, at);
        for (int k = 0; k < p->n; k++) {
            draw_log(p, at, i, k);
            for (int set = 0; set < SETS; set++) has[set] = has[set] || curve_of(p, k, i, set);
        }
        if (p->n > 1 && loss && has[VALID]) /* what the lines mean, in the legend alone */
            heed_panel_curve(at, NULL, NULL, 0,
                             &(heed_style){.label = "validation", .color = HEED_COLOR_GREY, .dash = HEED_DASH_LONG});
        if (p->n > 1 && has[TEST])
            heed_panel_scatter(
                at, NULL, NULL, 0,
                &(heed_style){.label = "test", .color = HEED_COLOR_GREY, .marker = HEED_MARKER_DIAMOND, .size = 8});
        heed_panel_legend(at, p->n == 1 || i == 0); /* the colours are the same in all panels */
    }
    return f;
}

/* ---- in the terminal ---- */

static void show(const struct plot *p, int panel) {
    static const char *const names[SETS] = {"training", "validation", "test"};
    heed_series series[SETS * LOGS];
    char labels[SETS * LOGS][192], title[LOG_NAME + 8];
    int n = 0;
    for (int k = 0; k < p->n; k++)
        for (int set = 0; set < SETS; set++) {
            const struct log_curve *c = curve_of(p, k, panel, set);
            if (!c) continue;
            const bool loss = strcmp(p->panel[panel], "loss") == 0, single = !loss && set == TRAIN;
            const float *smooth = loss && set == TRAIN ? p->smooth[k] : NULL;
            snprintf(labels[n], sizeof labels[n], "%s%s%s%s", p->n > 1 ? p->logs[k].name : "",
                     p->n > 1 && !single ? ", " : "", single ? (p->n > 1 ? "" : p->panel[panel]) : names[set],
                     smooth ? ", smoothed" : "");
            series[n] = (heed_series){
                .label = labels[n], .x = c->x, .y = smooth ? smooth : c->y, .n = c->n, .points = c->n == 1};
            n++;
        }
    heed_terminal how = cli_terminal(100);
    title_of(p->panel[panel], title);
    how.title = title;
    how.height = 14;
    const bool log_y = strcmp(p->panel[panel], "loss") == 0 && option_flag(p->o, "log-y");
    char *text = heed_terminal_curves(p->cx, series, n, &(heed_axes){.x_label = p->x_name, .log_y = log_y}, &how);
    if (text) printf("%s\n", text);
    heed_mem_free(p->cx, text);
}

/* The last number of each curve. */
static void print_ends(const struct plot *p) {
    for (int k = 0; k < p->n; k++) {
        if (by_length(p))
            printf("%s: up to %.0f words", p->logs[k].name, p->logs[k].last_x);
        else
            printf("%s: %.0f steps", p->logs[k].name, p->logs[k].last_step);
        for (int i = 0; i < p->panels; i++)
            for (int set = 0; set < SETS; set++) {
                const struct log_curve *c = curve_of(p, k, i, set);
                if (!c || c->n == 0) continue;
                const bool smooth = set == TRAIN && strcmp(p->panel[i], "loss") == 0 && p->smooth[k];
                printf(", %s %.4g", c->name, (double)(smooth ? p->smooth[k] : c->y)[c->n - 1]);
            }
        putchar('\n');
    }
}

/* ---- the command ---- */

/* A log by the name of its file, without ending; by its path where two files have one name. */
static void name_logs(const struct plot *p) {
    const char *const *given;
    const int n = option_list(p->o, "name", &given);
    for (int k = 0; k < p->n; k++) {
        const char *path = p->logs[k].path, *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        bool twice = false;
        for (int j = 0; j < p->n; j++) {
            const char *other = strrchr(p->logs[j].path, '/');
            twice = twice || (j != k && strcmp(other ? other + 1 : p->logs[j].path, base) == 0);
        }
        const char *name = k < n ? given[k] : strcmp(path, "-") == 0 ? "standard input" : twice ? path : base;
        const char *end = k < n || twice ? NULL : strchr(name + 1, '.');
        snprintf(p->logs[k].name, sizeof p->logs[k].name, "%.*s", end ? (int)(end - name) : 100, name);
    }
}

static bool read_logs(struct plot *p) {
    const char *axis = option_text(p->o, "x");
    const char *key = strcmp(axis, "steps") == 0 ? "step" : strcmp(axis, "epochs") == 0 ? "epoch" : axis;
    p->logs = heed_mem_new(p->cx, (size_t)p->n * sizeof *p->logs);
    p->smooth = heed_mem_new(p->cx, (size_t)p->n * sizeof *p->smooth);
    if (!p->logs || !p->smooth) return false;
    for (int k = 0; k < p->n; k++) p->logs[k].curves = 0, p->smooth[k] = NULL;
    for (int k = 0; k < p->n; k++)
        if (!log_read(p->cx, options_word(p->o, k), key, &p->logs[k]) || !smooth_log(p, k)) return false;
    name_logs(p);
    choose_unit(p);
    return find_panels(p);
}

static void free_logs(const struct plot *p) {
    for (int k = 0; p->logs && p->smooth && k < p->n; k++) {
        log_free(p->cx, &p->logs[k]);
        heed_mem_free(p->cx, p->smooth[k]);
    }
    heed_mem_free(p->cx, p->smooth);
    heed_mem_free(p->cx, p->logs);
}

static void plot(struct plot *p) {
    if (!read_logs(p)) return;
    if (pictures_asked(p->o)) {
        char what[96];
        snprintf(what, sizeof what, "%d log%s, %d panel%s", p->n, p->n == 1 ? "" : "s", p->panels,
                 p->panels == 1 ? "" : "s");
        heed_figure *f = draw(p);
        pictures_write(p->o, f, what);
        heed_figure_free(f);
        return;
    }
    for (int i = 0; i < p->panels && !heed_failed(p->cx); i++) show(p, i);
    if (!heed_failed(p->cx)) print_ends(p);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("plot", options, argc, argv, 1, LOGS, "LOG...");
    if (!o) return EXIT_USAGE;
    const char *const *names;
    int status = EXIT_USAGE, inputs = 0;
    for (int i = 0; i < options_words(o); i++) inputs += strcmp(options_word(o, i), "-") == 0;
    if (inputs > 1)
        cli_error(EXIT_USAGE, "plot: standard input can be one log only");
    else if (option_list(o, "name", &names) > options_words(o))
        cli_error(EXIT_USAGE, "plot: --name: there are more names than logs");
    else if (pictures_fit(o)) {
        struct plot p = {.cx = options_open(o), .o = o, .n = options_words(o)};
        if (p.cx) {
            plot(&p);
            free_logs(&p);
        }
        const bool wrong = p.cx && heed_error(p.cx) == HEED_ERR_USAGE;
        status = p.cx ? options_close(o, p.cx, EXIT_DONE) : EXIT_FAILED;
        if (wrong) status = EXIT_USAGE;
    }
    options_free(o);
    return status;
}

const struct command plot_command = {
    .name = "plot",
    .summary = "curves of training logs",
    .words = "LOG...",
    .about = "Draws what 'heed train --log FILE' wrote: training loss, smoothed, over what it was; validation loss; a "
             "panel for each metric. Several logs are compared, a colour each. With --png, --svg or --pdf a picture, "
             "without them in the terminal. - is standard input, .gz is read as it is.",
    .options = options,
    .examples = "heed train classify --data mnist --out digits --log digits.log\nheed plot digits.log\n"
                "heed plot digits.log --png digits.png\n"
                "heed plot adam.log sgd.log --name Adam --name SGD --x epochs --svg compared.svg\n",
    .run = run,
};
