/* heed sweep: a grid over the options of a task. Every run is `heed train` in a process of its own, so that one that
 * fails or is killed costs nobody else anything:
 *
 *     DIR/sweep.json        what was asked for; a sweep that is continued must ask for the same
 *     DIR/run-0001          the model directory of the first run
 *     DIR/run-0001.json     its result, once it has finished
 *     DIR/run-0001.log      what it said
 *     DIR/sweep.csv, .png   the table and the picture
 */
#include "base/file.h"
#include "cli/core/figure_options.h"
#include "cli/core/options.h"
#include "cli/core/program.h"
#include "heed/plot.h"
#include "model/core/directory.h"
#include "task/run.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_AXES = 8, MAX_VALUES = 256, UNASKED = 100, MAX_RUNS = 100000, MAX_WORDS = 1024, MAX_OPTIONS = 256 };

/* clang-format off */
#define SWEEP_ROWS \
    {.name = "sweep", .kind = HEED_FIELD_GROUP}, \
    {.name = "grid", .letter = 'g', .kind = HEED_FIELD_LIST, .value = "KEY=A,B", \
     .help = "values of an option of the task, or of a config key; separated by ; where they hold commas"}, \
    {.name = "jobs", .letter = 'j', .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 256, \
     .help = "number of runs side by side, which share the threads"}, \
    {.name = "png", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "the picture; by default DIR/sweep.png; - is standard output"}, \
    {.name = "yes", .letter = 'y', .help = "do not ask before more than 100 runs"}, \
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "the directory of the sweep"}, \
    {.name = "resume", .letter = 'r', .help = "continue a sweep that was stopped"}
/* clang-format on */
static const heed_field sweep_options[] = {SWEEP_ROWS, JSON_OPTION, {.name = NULL}};

struct axis {
    char *text; /* "KEY\0A\0B\0" */
    const char *key;
    bool option; /* of the task; otherwise a config key */
    const char *value[MAX_VALUES];
    int n;
};

struct run {
    pid_t pid; /* 0: not under way */
    bool done, failed;
    double metric, loss, seconds;
};

struct sweep {
    struct options *o;
    heed_ctx *cx;
    const heed_task *task;
    const char *dir;
    struct axis axis[MAX_AXES];
    int axes;
    int64_t runs;
    struct run *run;
    const char *word[MAX_WORDS]; /* of the command line, for every run */
    int words;
    char metric[64]; /* "valid_accuracy" */
    bool lower;      /* is better */
};

/* ---- the grid ---- */

static bool has_option(const heed_task *task, const char *name) {
    return heed_field_find(task->fields, name) || heed_field_find(common_options, name);
}

static bool read_axis(struct sweep *s, const char *given) {
    struct axis *a = &s->axis[s->axes];
    const char *equals = strchr(given, '=');
    if (!equals || equals == given || !equals[1])
        return cli_error(EXIT_USAGE, "sweep: --grid: '%s' is not of the form KEY=A,B", given), false;
    if (s->axes == MAX_AXES) return cli_error(EXIT_USAGE, "sweep: more than %d axes", MAX_AXES), false;
    a->text = strdup(given);
    if (!a->text) return cli_error(EXIT_FAILED, "out of memory"), false;
    s->axes++;
    char *at = a->text + (equals - given);
    *at++ = 0;
    a->key = a->text;
    a->option = has_option(s->task, a->key);
    const char separator = strchr(at, ';') ? ';' : ',';
    for (char *next; at; at = next) {
        if ((next = strchr(at, separator))) *next++ = 0;
        if (!*at || a->n == MAX_VALUES)
            return cli_error(EXIT_USAGE, "sweep: --grid: %s: %s", a->key, *at ? "too many values" : "an empty value"),
                   false;
        a->value[a->n++] = at;
    }
    for (int i = 0; i + 1 < s->axes; i++)
        if (strcmp(s->axis[i].key, a->key) == 0)
            return cli_error(EXIT_USAGE, "sweep: --grid: %s is given twice", a->key), false;
    return true;
}

static bool read_grid(struct sweep *s) {
    const char *const *given;
    const int n = option_list(s->o, "grid", &given);
    if (n == 0) return cli_error(EXIT_USAGE, "sweep: --grid KEY=A,B is needed"), false;
    s->runs = 1;
    for (int i = 0; i < n; i++) {
        if (!read_axis(s, given[i])) return false;
        s->runs *= s->axis[i].n;
        if (s->runs > MAX_RUNS) return cli_error(EXIT_USAGE, "sweep: more than %d runs", MAX_RUNS), false;
    }
    return true;
}

/* The place of run i on an axis; the last axis changes fastest. */
static int place(const struct sweep *s, int64_t run, int axis) {
    for (int i = s->axes - 1; i > axis; i--) run /= s->axis[i].n;
    return (int)(run % s->axis[axis].n);
}

static bool may_go(const struct sweep *s) {
    if (s->runs <= UNASKED || option_flag(s->o, "yes")) return true;
    char answer[16] = "";
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
        fprintf(stderr, "%lld runs: go on? [y/N] ", (long long)s->runs);
        if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y')) return true;
    }
    cli_error(EXIT_USAGE, "sweep: %lld runs are many; --yes goes on without asking", (long long)s->runs);
    return false;
}

/* ---- the command line of a run ---- */

static const heed_field *own_option(const char *word, size_t n) {
    const heed_field *row;
    for (int i = 0; (row = heed_field_row(sweep_options, i)); i++) {
        if (row->kind == HEED_FIELD_GROUP) continue;
        if (n > 2 && strncmp(word, "--", 2) == 0 && strlen(row->name) == n - 2 &&
            strncmp(word + 2, row->name, n - 2) == 0)
            return row;
        if (n == 2 && word[0] == '-' && row->letter && word[1] == row->letter) return row;
    }
    return NULL;
}

/* What is not the sweep's goes to every run. */
static bool keep_words(struct sweep *s, int argc, char **argv) {
    for (int k = 2; k < argc; k++) {
        const heed_field *own = own_option(argv[k], strcspn(argv[k], "="));
        if (own && own->kind != HEED_FIELD_FLAG && !strchr(argv[k], '=')) k++;
        if (own || strcmp(argv[k], "--quiet") == 0 || strcmp(argv[k], "-q") == 0) continue;
        if (s->words == MAX_WORDS) return cli_error(EXIT_USAGE, "sweep: too many words"), false;
        s->word[s->words++] = argv[k];
    }
    return true;
}

static void run_path(const struct sweep *s, int64_t i, const char *end, char path[PATH_ROOM]) {
    snprintf(path, PATH_ROOM, "%s/run-%04lld%s", s->dir, (long long)i + 1, end);
}

/* In the child: does not come back. */
static void become(const struct sweep *s, int64_t i) {
    char out[PATH_ROOM], result[PATH_ROOM], log[PATH_ROOM], threads[16], text[MAX_AXES][512];
    const char *argv[MAX_WORDS + 4 * MAX_AXES + 16] = {"heed", "train", s->task->name};
    int n = 3;
    for (int k = 0; k < s->words; k++) argv[n++] = s->word[k];
    for (int k = 0; k < s->axes; k++) {
        const struct axis *a = &s->axis[k];
        const char *value = a->value[place(s, i, k)];
        snprintf(text[k], sizeof text[k], a->option ? "--%s" : "%s=%s", a->key, value);
        if (!a->option) argv[n++] = "--set";
        argv[n++] = text[k];
        if (a->option) argv[n++] = value;
    }
    const int64_t jobs = option_int(s->o, "jobs");
    if (!option_given(s->o, "threads") && jobs > 1) {
        const int64_t each = heed_threads_available() / jobs;
        snprintf(threads, sizeof threads, "%lld", (long long)(each > 1 ? each : 1));
        argv[n++] = "--threads", argv[n++] = threads;
    }
    run_path(s, i, "", out);
    run_path(s, i, ".json.part", result);
    run_path(s, i, ".log", log);
    argv[n++] = "--out", argv[n++] = out, argv[n++] = "--quiet", argv[n++] = "--json";
    if (directory_has_checkpoint(out)) argv[n++] = "--resume";
    const int to[] = {open(result, O_WRONLY | O_CREAT | O_TRUNC, 0666), open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666)};
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || to[0] < 0 || dup2(to[0], 1) < 0 || to[1] < 0 || dup2(to[1], 2) < 0) _exit(127);
    execv("/proc/self/exe", (char **)(uintptr_t)argv);
    _exit(127);
}

/* ---- results ---- */

static bool better(const struct sweep *s, double a, double b) { return s->lower ? a < b : a > b; }

/* valid_X of a result, where there is one, else its loss. */
static void name_metric(struct sweep *s, heed_json result) {
    snprintf(s->metric, sizeof s->metric, "loss");
    s->lower = true;
    for (heed_json v = heed_json_first(result); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *key = heed_json_key(v);
        if (strncmp(key, "valid_", 6) != 0) continue;
        snprintf(s->metric, sizeof s->metric, "%.60s", key);
        s->lower = strcmp(key, "valid_loss") == 0;
        if (!s->lower) break;
    }
}

static bool read_result(struct sweep *s, int64_t i) {
    char path[PATH_ROOM];
    struct run *r = &s->run[i];
    run_path(s, i, ".json", path);
    if (access(path, F_OK) != 0) return false;
    const heed_json result = heed_json_open(s->cx, path);
    if (!heed_failed(s->cx) && !*s->metric) name_metric(s, result);
    r->metric = heed_json_number(s->cx, result, s->metric);
    r->loss = heed_json_number(s->cx, result, "loss");
    r->seconds = heed_json_number(s->cx, result, "seconds");
    heed_json_free(result);
    r->done = !heed_failed(s->cx);
    return r->done;
}

/* ---- running ---- */

static void say(const struct sweep *s, int64_t i, const char *what) {
    if (option_flag(s->o, "quiet")) return;
    fprintf(stderr, "run %lld/%lld ", (long long)i + 1, (long long)s->runs);
    for (int k = 0; k < s->axes; k++) fprintf(stderr, " %s=%s", s->axis[k].key, s->axis[k].value[place(s, i, k)]);
    fprintf(stderr, "  %s\n", what);
}

static void say_failure(const struct sweep *s, int64_t i) {
    char path[PATH_ROOM], line[1024], last[1024] = "no reason given";
    run_path(s, i, ".log", path);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) snprintf(last, sizeof last, "%s", line);
    if (f) fclose(f);
    last[strcspn(last, "\n")] = 0;
    say(s, i, strncmp(last, "heed: ", 6) == 0 ? last + 6 : last);
}

static void finish(struct sweep *s, int64_t i, int status) {
    char part[PATH_ROOM], path[PATH_ROOM], text[128];
    struct run *r = &s->run[i];
    r->pid = 0;
    run_path(s, i, ".json.part", part);
    run_path(s, i, ".json", path);
    if (status == 0 && rename(part, path) == 0 && read_result(s, i)) {
        snprintf(text, sizeof text, "%s %.5g  %.1f s", s->metric, r->metric, r->seconds);
        say(s, i, text);
        return;
    }
    unlink(part);
    r->failed = !interrupted();
    if (r->failed) say_failure(s, i);
}

static int64_t under_way(const struct sweep *s) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->runs; i++) n += s->run[i].pid > 0;
    return n;
}

static void wait_for_one(struct sweep *s) {
    int status;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR && interrupted()) /* each saves its checkpoint */
        for (int64_t i = 0; i < s->runs; i++)
            if (s->run[i].pid > 0) kill(s->run[i].pid, SIGTERM);
    for (int64_t i = 0; pid > 0 && i < s->runs; i++)
        if (s->run[i].pid == pid) finish(s, i, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static bool run_all(struct sweep *s) {
    for (int64_t i = 0; i < s->runs && !interrupted() && !heed_failed(s->cx); i++) {
        if (read_result(s, i)) continue;
        while (under_way(s) >= option_int(s->o, "jobs")) wait_for_one(s);
        if (interrupted()) break;
        fflush(NULL);
        const pid_t pid = fork();
        if (pid == 0) become(s, i);
        if (pid < 0) return heed_fail(s->cx, HEED_ERR_FILE, "sweep: fork: %s", strerror(errno));
        s->run[i].pid = pid;
    }
    while (under_way(s) > 0) wait_for_one(s);
    return !heed_failed(s->cx) && !interrupted();
}

/* ---- the table ---- */

static const struct sweep *sorting;
static int best_first(const void *a, const void *b) {
    const struct run *x = &sorting->run[*(const int64_t *)a], *y = &sorting->run[*(const int64_t *)b];
    if (x->done != y->done) return x->done ? -1 : 1;
    if (x->done && x->metric != y->metric) return better(sorting, x->metric, y->metric) ? -1 : 1;
    return *(const int64_t *)a < *(const int64_t *)b ? -1 : 1;
}

static void print_table(const struct sweep *s, const int64_t *order) {
    int width[MAX_AXES];
    for (int k = 0; k < s->axes; k++) {
        width[k] = (int)strlen(s->axis[k].key);
        for (int v = 0; v < s->axis[k].n; v++)
            if ((int)strlen(s->axis[k].value[v]) > width[k]) width[k] = (int)strlen(s->axis[k].value[v]);
        printf("%-*s  ", width[k], s->axis[k].key);
    }
    printf("%14s  %10s  %8s  directory\n", s->metric, "loss", "seconds");
    for (int64_t i = 0; i < s->runs; i++) {
        const struct run *r = &s->run[order[i]];
        char path[PATH_ROOM];
        run_path(s, order[i], "", path);
        for (int k = 0; k < s->axes; k++) printf("%-*s  ", width[k], s->axis[k].value[place(s, order[i], k)]);
        if (r->done)
            printf("%14.6g  %10.4g  %8.1f  %s\n", r->metric, r->loss, r->seconds, path);
        else
            printf("%14s  %10s  %8s  %s\n", "failed", "-", "-", path);
    }
}

static void print_json(const struct sweep *s, const int64_t *order) {
    const heed_json doc = heed_json_new(s->cx, "sweep"), list = heed_json_put_array(s->cx, doc, "runs");
    for (int64_t i = 0; i < s->runs; i++) {
        const struct run *r = &s->run[order[i]];
        char path[PATH_ROOM];
        run_path(s, order[i], "", path);
        const heed_json one = heed_json_put_object(s->cx, list, NULL);
        heed_json_put_text(s->cx, one, "model", path);
        for (int k = 0; k < s->axes; k++)
            heed_json_put_text(s->cx, one, s->axis[k].key, s->axis[k].value[place(s, order[i], k)]);
        if (!r->done) continue;
        heed_json_put_number(s->cx, one, s->metric, r->metric);
        if (strcmp(s->metric, "loss") != 0) heed_json_put_number(s->cx, one, "loss", r->loss);
        heed_json_put_number(s->cx, one, "seconds", r->seconds);
    }
    json_answer(s->cx, stdout, list, 2);
    heed_json_free(doc);
}

static void put_field(struct file_writer *w, const char *text) {
    const bool quoted = strpbrk(text, ",\"\n") != NULL;
    if (quoted) file_write(w, "\"", 1);
    for (; *text; text++) file_write(w, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    if (quoted) file_write(w, "\"", 1);
    file_write(w, ",", 1);
}

static bool write_table(const struct sweep *s) {
    char path[PATH_ROOM], text[160];
    if (!directory_path(s->cx, s->dir, "sweep.csv", path)) return false;
    struct file_writer *w = file_write_open(s->cx, path);
    for (int k = 0; w && k < s->axes; k++) put_field(w, s->axis[k].key);
    snprintf(text, sizeof text, "%s,training_loss,seconds,run\n", s->metric);
    if (w) file_write(w, text, strlen(text));
    for (int64_t i = 0; w && i < s->runs; i++) {
        const struct run *r = &s->run[i];
        for (int k = 0; k < s->axes; k++) put_field(w, s->axis[k].value[place(s, i, k)]);
        char numbers[96] = ",,";
        if (r->done) snprintf(numbers, sizeof numbers, "%.9g,%.9g,%.3f", r->metric, r->loss, r->seconds);
        snprintf(text, sizeof text, "%s,run-%04lld\n", numbers, (long long)i + 1);
        file_write(w, text, strlen(text));
    }
    return w && file_write_commit(w);
}

/* ---- the picture ---- */

/* The best metric of the runs with these places on the first one or two axes; NaN when none finished. */
static float best_at(const struct sweep *s, int a, int b) {
    float found = NAN;
    for (int64_t i = 0; i < s->runs; i++) {
        if (!s->run[i].done || place(s, i, 0) != a || (b >= 0 && place(s, i, 1) != b)) continue;
        if (isnan(found) || better(s, s->run[i].metric, (double)found)) found = (float)s->run[i].metric;
    }
    return found;
}

static bool draw_one(const struct sweep *s, heed_panel *p) {
    const struct axis *a = &s->axis[0];
    float x[MAX_VALUES], y[MAX_VALUES];
    bool numbers = true, rising = true, falling = true;
    for (int i = 0; i < a->n; i++) {
        char *end;
        x[i] = strtof(a->value[i], &end);
        y[i] = best_at(s, i, -1);
        numbers &= !*end;
        rising &= i == 0 || x[i] > x[i - 1];
        falling &= i == 0 || x[i] < x[i - 1];
    }
    heed_panel_labels(p, a->key, s->metric);
    if (!numbers || (!rising && !falling) || a->n < 3)
        return heed_panel_bars(p, a->value, y, a->n, &(heed_style){.numbers = true});
    const float low = fminf(x[0], x[a->n - 1]), high = fmaxf(x[0], x[a->n - 1]);
    if (low > 0 && high / low >= 16) heed_panel_log(p, true, false);
    return heed_panel_curve(p, x, y, a->n, &(heed_style){.marker = HEED_MARKER_DISC});
}

static bool draw_two(const struct sweep *s, heed_panel *p) {
    const struct axis *a = &s->axis[0], *b = &s->axis[1];
    float *values = heed_mem_new(s->cx, (size_t)(a->n * b->n) * sizeof *values);
    for (int i = 0; values && i < a->n * b->n; i++) values[i] = best_at(s, i / b->n, i % b->n);
    heed_panel_labels(p, b->key, a->key);
    const bool drawn = values && heed_panel_heatmap(p, values, a->n, b->n,
                                                    &(heed_heatmap){.row_names = a->value,
                                                                    .col_names = b->value,
                                                                    .scale_label = s->metric,
                                                                    .numbers = a->n * b->n <= 100,
                                                                    .stretch = true});
    heed_mem_free(s->cx, values);
    return drawn;
}

static bool draw(const struct sweep *s) {
    char path[PATH_ROOM], title[128];
    const char *png = option_text(s->o, "png");
    if (!png && !directory_path(s->cx, s->dir, "sweep.png", path)) return false;
    heed_figure *f = heed_figure_new(s->cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    snprintf(title, sizeof title, "%s: %s over %lld runs%s", s->task->name, s->metric, (long long)s->runs,
             s->axes > 2 ? ", the best of the other options" : "");
    heed_panel_title(p, title);
    const bool ok =
        p && (s->axes == 1 ? draw_one(s, p) : draw_two(s, p)) && heed_figure_write_as(f, png ? png : path, "png");
    heed_figure_free(f);
    return ok;
}

/* ---- what was asked for ---- */

static heed_json description(const struct sweep *s) {
    const heed_json doc = heed_json_new(s->cx, "sweep.json");
    heed_json_put_text(s->cx, doc, "task", s->task->name);
    const heed_json words = heed_json_put_array(s->cx, doc, "options"), grid = heed_json_put_object(s->cx, doc, "grid");
    for (int i = 0; i < s->words; i++) heed_json_put_text(s->cx, words, NULL, s->word[i]);
    for (int k = 0; k < s->axes; k++) {
        const heed_json values = heed_json_put_array(s->cx, grid, s->axis[k].key);
        for (int v = 0; v < s->axis[k].n; v++) heed_json_put_text(s->cx, values, NULL, s->axis[k].value[v]);
    }
    return doc;
}

/* A directory is continued with the same options only, and only when asked to. */
static bool claim_directory(const struct sweep *s) {
    char path[PATH_ROOM];
    heed_ctx *const cx = s->cx;
    if (!directory_path(cx, s->dir, "sweep.json", path)) return false;
    const bool there = access(path, F_OK) == 0, resume = option_flag(s->o, "resume");
    if (there && !resume)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: holds a sweep already; --resume continues it", s->dir);
    const heed_json ours = description(s), theirs = there ? heed_json_open(cx, path) : (heed_json){0};
    char *a = heed_json_print(cx, ours, 0, NULL), *b = there ? heed_json_print(cx, theirs, 0, NULL) : NULL;
    if (a && b && strcmp(a, b) != 0)
        heed_fail(cx, HEED_ERR_USAGE, "%s: a sweep with other options: %s", s->dir, b);
    else if (a && !there && directory_make(cx, s->dir))
        heed_json_write(cx, path, ours);
    heed_mem_free(cx, a);
    heed_mem_free(cx, b);
    heed_json_free(ours);
    heed_json_free(theirs);
    return !heed_failed(cx);
}

/* ---- the command ---- */

static void report(struct sweep *s) {
    int64_t *order = heed_mem_new(s->cx, (size_t)s->runs * sizeof *order), done = 0;
    if (!order) return;
    for (int64_t i = 0; i < s->runs; i++) order[i] = i, done += s->run[i].done;
    sorting = s;
    qsort(order, (size_t)s->runs, sizeof *order, best_first);
    if (done > 0 && write_table(s) && draw(s) && !pictures_take_standard(s->o))
        option_flag(s->o, "json") ? print_json(s, order) : print_table(s, order);
    if (done < s->runs)
        heed_fail(s->cx, HEED_ERR_RANGE, "sweep: %lld of %lld runs failed; %s/run-*.log say why",
                  (long long)(s->runs - done), (long long)s->runs, s->dir);
    heed_mem_free(s->cx, order);
}

static int sweep(struct sweep *s) {
    if (!(s->cx = options_open(s->o))) return EXIT_FAILED;
    s->run = heed_mem_new(s->cx, (size_t)s->runs * sizeof *s->run);
    if (s->run) memset(s->run, 0, (size_t)s->runs * sizeof *s->run);
    if (s->run && claim_directory(s) && run_all(s)) report(s);
    if (interrupted()) fprintf(stderr, "heed: stopped; the same command with --resume continues\n");
    heed_mem_free(s->cx, s->run);
    return options_close(s->o, s->cx, EXIT_DONE);
}

/* The options of the sweep, and those of the task that it does not have itself. */
static void add_task_options(heed_field table[MAX_OPTIONS], const heed_task *task) {
    const heed_field *row;
    int n = 0;
    for (int i = 0; (row = heed_field_row(sweep_options, i)); i++) table[n++] = *row;
    for (int i = 0; (row = heed_field_row(task->fields, i)) && n + 1 < MAX_OPTIONS; i++) {
        bool own = row->kind == HEED_FIELD_GROUP;
        for (int k = 0; !own && k < n; k++) own = strcmp(table[k].name, row->name) == 0;
        if (!own) table[n++] = *row;
    }
    table[n] = (heed_field){.name = NULL};
}

/* --lr 0.001,0.01 is a grid that was not called one: several values of an option that takes one number, or one name. */
static bool grid_is_named(const heed_field *table, int argc, char **argv) {
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const size_t length = strcspn(argv[i], "=");
        const char *value = argv[i][length] ? argv[i] + length + 1 : i + 1 < argc ? argv[i + 1] : "";
        if (strncmp(argv[i], "--", 2) != 0 || !strchr(value, ',')) continue;
        const heed_field *row = table;
        while (row->name && (strlen(row->name) != length - 2 || strncmp(row->name, argv[i] + 2, length - 2) != 0))
            row++;
        if (!row->name ||
            (row->kind != HEED_FIELD_NUMBER && row->kind != HEED_FIELD_INT && row->kind != HEED_FIELD_CHOICE))
            continue;
        cli_error(EXIT_USAGE, "sweep: --%s takes one value; --grid %s=%s tries several", row->name, row->name, value);
        return false;
    }
    return true;
}

static int run(int argc, char **argv) {
    struct sweep s = {.task = argc > 1 ? heed_task_find(argv[1]) : NULL};
    if (!s.task)
        return cli_error(EXIT_USAGE, "sweep: expected a task: 'heed train --help' lists them, not %s",
                         argc > 1 ? argv[1] : "nothing");
    heed_field table[MAX_OPTIONS];
    add_task_options(table, s.task);
    if (!grid_is_named(table, argc, argv)) return EXIT_USAGE;
    char name[64];
    snprintf(name, sizeof name, "sweep %s", s.task->name);
    s.o = options_read(name, table, argc, argv, 1, 1, "TASK");
    if (!s.o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    if ((s.dir = option_need(s.o, "out")) && pictures_fit(s.o) && read_grid(&s) && keep_words(&s, argc, argv) &&
        may_go(&s))
        status = sweep(&s);
    for (int i = 0; i < s.axes; i++) free(s.axis[i].text);
    options_free(s.o);
    return status;
}

const struct command sweep_command = {
    .name = "sweep",
    .summary = "a grid over the options of a task",
    .words = "TASK",
    .about =
        "Trains a model for every combination of values, with 'heed train TASK' and all other options as they are "
        "given. "
        "KEY is an option of the task (lr, batch, optimizer) or a key of the model's config (hidden_sizes). Prints a "
        "table, the best run by validation first, and writes it as DIR/sweep.csv and a picture, DIR/sweep.png: a curve "
        "or bars over one key, a heat map over two.\n\nA sweep that was stopped goes on with --resume: runs that have "
        "finished are not repeated, others continue from their checkpoints. A run that fails does not stop the others.",
    .options = sweep_options,
    .examples = "heed sweep classify --data digits --epochs 2 --grid lr=0.1,0.01,0.001 --out lr\n"
                "heed sweep classify --data digits --grid lr=0.01,0.001 --grid 'hidden_sizes=64;128;128,64' --out grid "
                "--jobs 2\n"
                "heed sweep regress --data houses.csv --target price --grid decay=0,0.01,0.1 --out decay --json\n",
    .run = run,
};
