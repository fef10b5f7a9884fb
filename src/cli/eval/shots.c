/* heed shots: accuracy by the number of examples in the prompt (Brown et al. 2020). No weight is changed. */
#include "cli/core/figure_options.h"
#include "cli/core/template.h"
#include "cli/eval/scoring.h"
#include "heed/plot.h"
#include "io/text.h"
#include "task/task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "table", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "examples: a csv or tsv file with a header"},
    {.name = "template", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "an example as text, with columns in braces; the last one is the answer; \\n is a newline"},
    {.name = "k", .letter = 'k', .kind = HEED_FIELD_TEXT, .standard = "0,1,4", .value = "N,N",
     .help = "numbers of examples before the question"},
    {.name = "separator", .kind = HEED_FIELD_TEXT, .standard = "\\n", .value = "TEXT",
     .help = "what stands between examples"},
    {.name = "skip", .kind = HEED_FIELD_LIST, .value = "COLUMN", .help = "a column that the template does not name"},
    {.name = "questions", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "ask about N rows, drawn by the seed; 0: about all"},
    NORMALISE_OPTION,
    {.name = "bos", .help = "put the bos token before each prompt that does not begin with it"},
    JSON_OPTION,
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    {.name = NULL},
};
/* clang-format on */

enum { MAX_KINDS = 64, MAX_LABELS = 1000, STREAM_QUESTIONS = 0, STREAM_EXAMPLES = 1 };

struct result {
    int64_t k, asked, right, skipped;
};

struct job {
    const struct options *o;
    heed_ctx *cx;
    heed_generator *generator;
    heed_table *table;
    const char *path;
    struct template template;
    heed_string separator;
    int64_t rows, answer;
    const char **label; /* the different answers, in order of the table */
    int64_t *truth;     /* (rows) numbers of labels */
    int64_t labels;
    int64_t *order; /* (rows) which are asked about, */
    int64_t asked;  /* the first of them */
    int64_t *deck;  /* (rows) which examples are drawn from */
    struct result result[MAX_KINDS];
    int results;
};

/* ---- the table ---- */

static bool read_labels(struct job *j) {
    heed_ctx *const cx = j->cx;
    for (int64_t r = 0; r < j->rows; r++) {
        const char *const cell = heed_table_cell(cx, j->table, r, j->answer);
        int64_t k = 0;
        if (!cell || !*cell)
            return cell && heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: the answer, column '%s', is empty", j->path,
                                     (long long)heed_table_line(j->table, r),
                                     escaped(heed_table_name(cx, j->table, j->answer)).s);
        while (k < j->labels && strcmp(j->label[k], cell) != 0) k++;
        if (k == MAX_LABELS)
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: column '%s' has more than %d different answers to choose from",
                             j->path, escaped(heed_table_name(cx, j->table, j->answer)).s, MAX_LABELS);
        if (k == j->labels) j->label[j->labels++] = cell;
        j->truth[r] = k;
    }
    return j->labels >= 2 || heed_fail(cx, HEED_ERR_FORMAT, "%s: column '%s' has only one answer: nothing to choose",
                                       j->path, escaped(heed_table_name(cx, j->table, j->answer)).s);
}

static bool read_table(struct job *j) {
    heed_ctx *const cx = j->cx;
    const char *const *skipped;
    const int n_skipped = option_list(j->o, "skip", &skipped);
    const char *const text = option_text(j->o, "template"), *const between = option_text(j->o, "separator");
    j->table = task_table(cx, j->path, &(heed_task_opts){.table = {.header = HEED_HEADER_YES}});
    if (!j->table ||
        !template_read(cx, "shots: --template", text, j->path, j->table, skipped, n_skipped, &j->template) ||
        !template_unescape(cx, between, strlen(between), &j->separator))
        return false;
    j->rows = heed_table_rows(j->table);
    j->answer = template_answer(&j->template);
    if (j->rows == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no examples", j->path);
    for (int i = 0; i < j->results; i++)
        if (j->result[i].k >= j->rows)
            return heed_fail(cx, HEED_ERR_USAGE, "shots: --k: %lld examples beside the question: %s has %lld rows",
                             (long long)j->result[i].k, j->path, (long long)j->rows);
    const size_t rows = (size_t)j->rows;
    j->label = heed_mem_new(cx, MAX_LABELS * sizeof *j->label);
    j->truth = heed_mem_new(cx, rows * sizeof *j->truth);
    j->order = heed_mem_new(cx, rows * sizeof *j->order);
    j->deck = heed_mem_new(cx, rows * sizeof *j->deck);
    if (heed_failed(cx) || !read_labels(j)) return false;
    heed_random_permutation(heed_seed(cx), STREAM_QUESTIONS, j->order, j->rows);
    for (int64_t i = 0; i < j->rows; i++) j->deck[i] = i;
    const int64_t asked = option_int(j->o, "questions");
    j->asked = asked > 0 && asked < j->rows ? asked : j->rows;
    return true;
}

/* ---- prompts ---- */

static bool same_cells(const struct job *j, int64_t a, int64_t b) {
    for (int i = 0; i < j->template.n; i++) {
        const int64_t c = j->template.part[i].column;
        if (c >= 0 && c != j->answer &&
            strcmp(heed_table_cell(j->cx, j->table, a, c), heed_table_cell(j->cx, j->table, b, c)) != 0)
            return false;
    }
    return true;
}

/* The examples of a question: k rows that do not ask the same, drawn without replacement by the seed and the question,
 * so that those of a smaller k are the last of those of a larger. Returns how many there are. */
static int64_t draw(struct job *j, int64_t question, int64_t k, int64_t *row) {
    int64_t found = 0, at = 0;
    for (; at < j->rows && found < k; at++) {
        const uint64_t lot = heed_random_bits(heed_seed(j->cx), STREAM_EXAMPLES + (uint64_t)question, (uint64_t)at);
        const int64_t pick = at + (int64_t)(lot % (uint64_t)(j->rows - at)), held = j->deck[at];
        j->deck[at] = j->deck[pick], j->deck[pick] = held;
        if (!same_cells(j, j->deck[at], question)) row[found++] = j->deck[at];
    }
    for (int64_t i = 0; i < j->rows; i++) j->deck[i] = i;
    return found;
}

static bool put_prompt(struct job *j, int64_t question, int64_t k, int64_t *row, heed_string *to) {
    heed_ctx *const cx = j->cx;
    to->size = 0;
    if (!heed_string_put(cx, to, "", 0)) return false;
    if (draw(j, question, k, row) < k)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: there are not %lld rows that ask something else", j->path,
                         (long long)heed_table_line(j->table, question), (long long)k);
    for (int64_t i = k; i-- > 0;) /* the first drawn stands next to the question */
        if (!template_put(cx, &j->template, j->table, row[i], false, to) ||
            !heed_string_put(cx, to, j->separator.s, j->separator.size))
            return false;
    return template_put(cx, &j->template, j->table, question, true, to);
}

/* ---- asking ---- */

/* Encodes the prompt with each answer; a prompt beyond the model's positions is skipped, with what was encoded of it.
 */
static bool put_question(struct job *j, const char *prompt, struct scoring_list *list, struct result *r) {
    const int64_t before = list->n;
    for (int64_t k = 0; k < j->labels; k++) {
        if (scoring_put(j->cx, j->generator, prompt, j->label[k], option_flag(j->o, "bos"), list)) continue;
        if (heed_error(j->cx) != HEED_ERR_RANGE) return false;
        heed_clear(j->cx);
        scoring_cut(j->cx, list, before);
        r->skipped++;
        break;
    }
    return true;
}

static int64_t likeliest(const struct job *j, const heed_likelihood *l) {
    int64_t best = 0;
    for (int64_t k = 1; k < j->labels; k++)
        if (scoring_value(j->o, &l[k], j->label[k]) > scoring_value(j->o, &l[best], j->label[best])) best = k;
    return best;
}

#define AT_ONCE 256 /* texts, at least one question's */

/* Scores the questions that wait: question i is row asked[i]. */
static bool flush(struct job *j, struct scoring_list *list, const int64_t *asked, struct result *r) {
    heed_likelihood *l = heed_mem_new(j->cx, ((size_t)list->n + 1) * sizeof *l);
    const bool ok = l && heed_score_items(j->cx, j->generator->model, list->item, list->n, l);
    for (int64_t i = 0; ok && i < list->n / j->labels; i++) {
        r->right += likeliest(j, l + i * j->labels) == j->truth[asked[i]];
        r->asked++;
    }
    heed_mem_free(j->cx, l);
    scoring_cut(j->cx, list, 0);
    return ok;
}

static bool ask(struct job *j, struct result *r) {
    heed_string prompt = {0};
    struct scoring_list list = {0};
    int64_t *row = heed_mem_new(j->cx, (size_t)(r->k + 1) * sizeof *row), asked[AT_ONCE];
    bool ok = row != NULL;
    for (int64_t i = 0; ok && i < j->asked && !heed_cancelled(j->cx); i++) {
        const int64_t question = j->order[i], waiting = list.n / j->labels;
        ok = put_prompt(j, question, r->k, row, &prompt) && put_question(j, prompt.s, &list, r);
        asked[waiting] = question;
        if (ok && (list.n >= AT_ONCE || i + 1 == j->asked)) ok = flush(j, &list, asked, r);
    }
    if (ok && !heed_failed(j->cx) && r->asked == 0)
        heed_fail(j->cx, HEED_ERR_RANGE,
                  "shots: with %lld examples every prompt is longer than the model's %lld positions", (long long)r->k,
                  (long long)j->generator->positions);
    scoring_free(j->cx, &list);
    heed_string_free(j->cx, &prompt);
    heed_mem_free(j->cx, row);
    return !heed_failed(j->cx);
}

/* ---- results ---- */

static double accuracy(const struct result *r) { return (double)r->right / (double)r->asked; }

/* What the most frequent answer alone gets. */
static double most_frequent(const struct job *j) {
    int64_t most = 0;
    for (int64_t k = 0; k < j->labels; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < j->asked; i++) n += j->truth[j->order[i]] == k;
        if (n > most) most = n;
    }
    return (double)most / (double)j->asked;
}

static void print(const struct job *j) {
    printf("%8s  %9s  %9s\n", "examples", "accuracy", "questions");
    for (int i = 0; i < j->results; i++)
        printf("%8lld  %7.2f %%  %9lld\n", (long long)j->result[i].k, 100 * accuracy(&j->result[i]),
               (long long)j->result[i].asked);
    printf("chance %.2f %% (%lld answers), the most frequent answer %.2f %%\n", 100 / (double)j->labels,
           (long long)j->labels, 100 * most_frequent(j));
}

static void print_json(const struct job *j) {
    heed_ctx *const cx = j->cx;
    const heed_json at = heed_json_new(cx, "shots"), list = heed_json_put_array(cx, at, "shots");
    for (int i = 0; i < j->results; i++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_int(cx, one, "k", j->result[i].k);
        heed_json_put_number(cx, one, "accuracy", accuracy(&j->result[i]));
        heed_json_put_int(cx, one, "questions", j->result[i].asked);
        heed_json_put_int(cx, one, "skipped", j->result[i].skipped);
    }
    heed_json_put_int(cx, at, "answers", j->labels);
    heed_json_put_number(cx, at, "chance", 1 / (double)j->labels);
    heed_json_put_number(cx, at, "most_frequent", most_frequent(j));
    json_answer(cx, stdout, at, 2);
    heed_json_free(at);
}

static bool draw_picture(const struct job *j) {
    float x[MAX_KINDS], y[MAX_KINDS];
    if (!pictures_asked(j->o)) return true;
    for (int i = 0; i < j->results; i++) {
        x[i] = (float)j->result[i].k;
        y[i] = (float)(100 * accuracy(&j->result[i]));
    }
    heed_figure *const f = heed_figure_new(j->cx, 0, 0);
    heed_panel *const p = heed_figure_panel(f, 0, 0);
    heed_panel_labels(p, "examples in the prompt", "accuracy in %");
    heed_panel_limits_y(p, 0, 100);
    heed_panel_curve(p, x, y, j->results, &(heed_style){.label = "likeliest answer", .marker = HEED_MARKER_DISC});
    heed_panel_hline(
        p, 100 * most_frequent(j),
        &(heed_style){.label = "most frequent answer", .color = HEED_COLOR_ORANGE, .dash = HEED_DASH_LONG});
    heed_panel_hline(p, 100 / (double)j->labels,
                     &(heed_style){.label = "chance", .color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS});
    const bool ok = pictures_write(j->o, f, "accuracy by number of examples");
    heed_figure_free(f);
    return ok;
}

/* ---- the command ---- */

static int fewer(const void *a, const void *b) {
    const struct result *x = a, *y = b;
    return x->k < y->k ? -1 : x->k > y->k;
}

static bool read_kinds(struct job *j) {
    const char *at = option_text(j->o, "k");
    do {
        char *end;
        const long long k = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (k < 0 || k > 1000000 || (*end && *end != ','))
            return cli_error(EXIT_USAGE, "shots: --k: '%s' is not a list of numbers from 0 on, as 0,1,4",
                             option_text(j->o, "k")),
                   false;
        if (j->results == MAX_KINDS) return cli_error(EXIT_USAGE, "shots: --k: more than %d", MAX_KINDS), false;
        j->result[j->results++].k = k;
        at = *end ? end + 1 : NULL;
    } while (at);
    qsort(j->result, (size_t)j->results, sizeof *j->result, fewer);
    for (int i = 1; i < j->results; i++)
        if (j->result[i].k == j->result[i - 1].k)
            return cli_error(EXIT_USAGE, "shots: --k: %lld is given twice", (long long)j->result[i].k), false;
    return true;
}

static void say_skipped(const struct job *j) {
    char prompts[48];
    for (int i = 0; i < j->results && !option_flag(j->o, "quiet"); i++)
        if (j->result[i].skipped > 0)
            fprintf(stderr, "heed: shots: with %lld examples %s longer than the model's %lld positions, skipped\n",
                    (long long)j->result[i].k, text_count(j->result[i].skipped, "prompt is", "prompts are", prompts),
                    (long long)j->generator->positions);
}

static bool shots(struct job *j) {
    if (!read_table(j) || !(j->generator = heed_generator_open(j->cx, options_word(j->o, 0)))) return false;
    for (int i = 0; i < j->results; i++)
        if (!ask(j, &j->result[i])) return false;
    say_skipped(j);
    if (!pictures_take_standard(j->o)) option_flag(j->o, "json") ? print_json(j) : print(j);
    return draw_picture(j);
}

static void end(struct job *j) {
    heed_generator_free(j->cx, j->generator);
    heed_table_close(j->table);
    template_free(j->cx, &j->template);
    heed_string_free(j->cx, &j->separator);
    heed_mem_free(j->cx, j->label);
    heed_mem_free(j->cx, j->truth);
    heed_mem_free(j->cx, j->order);
    heed_mem_free(j->cx, j->deck);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("shots", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o};
    int status = EXIT_USAGE;
    if ((j.path = option_need(o, "table")) && option_need(o, "template") && read_kinds(&j) && pictures_fit(o)) {
        status = EXIT_FAILED;
        if ((j.cx = options_open(o))) {
            heed_set_grad(j.cx, false);
            const bool good = shots(&j);
            end(&j);
            status = options_close(o, j.cx, good ? EXIT_DONE : EXIT_FAILED);
        }
    }
    options_free(o);
    return status;
}

const struct command shots_command = {
    .name = "shots",
    .summary = "accuracy by the number of examples in the prompt",
    .words = "DIR",
    .about =
        "Measures zero-, one- and few-shot accuracy: every row of a table is a question, which stands in the prompt "
        "after k other rows with their answers, and the answer is the one of the table's answers that the model finds "
        "likeliest. No weight is changed.\n\n"
        "The template says how a row is written, with the names of columns in braces. Its last column is the answer: "
        "the prompt ends before it. Every column must be named, or left out with --skip. \\n is a newline, \\t a tab; "
        "{{ and }} are braces. Examples are drawn by --seed and never ask what the question asks; those of a smaller k "
        "are also those of a larger. Prompts longer than the model has positions are skipped, which is said.",
    .options = options,
    .examples = "heed shots gpt2 --table reviews.tsv --template 'Review: {text}\\nSentiment: {label}\\n'\n"
                "heed shots gpt2 --table capitals.csv --k 0,1,2,4,8 --template '{country}: {capital}' --png shots.png\n"
                "heed shots gpt2 --table nli.tsv --skip id --template '{premise} {hypothesis}? {label}' --json\n",
    .run = run,
};
