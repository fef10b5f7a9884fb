#include "cli/use/classify_table.h"
#include "cli/core/table_out.h"
#include "cli/use/use_pictures.h"
#include "heed/task.h"
#include "io/csv.h"
#include "io/text.h"
#include "task/task.h"
#include <stdio.h>
#include <string.h>

#define AT_ONCE 256 /* rows */

/* clang-format off */
const heed_field classify_table_options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "read the texts of a table (csv, tsv, also .gz)"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "of --data, the column of the text: name or number; by default the first that holds texts"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN", .help = "of --data, the column of a second text"},
    TABLE_OUT_OPTION,
    {.name = NULL},
};
/* clang-format on */

bool classify_table_fits(struct options *o) {
    static const char *const others[] = {"text", "pair", "out"};
    const bool data = option_given(o, "data");
    for (size_t i = 0; !data && i < sizeof others / sizeof *others; i++)
        if (option_given(o, others[i])) {
            cli_error(EXIT_USAGE, "classify: --%s is for a table: --data FILE names it", others[i]);
            return false;
        }
    if (data && options_words(o) > 1) {
        cli_error(EXIT_USAGE, "classify: --data: the table holds the texts, and there are others after DIR");
        return false;
    }
    return options_either(o, "json", "out");
}

struct texts {
    const struct options *o;
    heed_ctx *cx;
    heed_text_model *m;
    heed_table *table;
    struct table_out *out; /* NULL: standard output */
    int64_t text, pair;    /* columns; pair -1: none */
    int64_t cut;
};

static bool find_columns(struct texts *t, const char *path) {
    heed_task_data d = {0}; /* its name stands in sentences */
    snprintf(d.name, sizeof d.name, "%s", path);
    int64_t first = 0;
    while (first + 1 < heed_table_columns(t->table) && !table_is_prose(t->table, first)) first++;
    if (!table_is_prose(t->table, first)) first = 0;
    t->text = task_column(t->cx, &d, t->table, option_text(t->o, "text"), first);
    t->pair = task_column(t->cx, &d, t->table, option_text(t->o, "pair"), -1);
    return !heed_failed(t->cx);
}

static void say(const struct texts *t, int64_t row, const float *p) {
    const int64_t n = t->m->labels, best = pictures_next_best(p, n, -1);
    char number[24], share[24];
    snprintf(number, sizeof number, "%lld", (long long)best);
    const char *label = t->m->label ? t->m->label[best] : number;
    snprintf(share, sizeof share, n == 1 ? "%.6g" : "%.4f", (double)p[n == 1 ? 0 : best]);
    if (t->out) {
        table_out_put(t->out, heed_table_line(t->table, row), (const char *const[]){n == 1 ? share : label, share});
    } else if (option_flag(t->o, "json")) {
        const heed_json at = heed_json_new(t->cx, "answer");
        heed_json_put_int(t->cx, at, "line", heed_table_line(t->table, row));
        if (n > 1) heed_json_put_text(t->cx, at, "label", label);
        heed_json_put_number(t->cx, at, n == 1 ? "value" : "score", (double)p[n == 1 ? 0 : best]);
        json_answer(t->cx, stdout, at, 0);
        heed_json_free(at);
    } else {
        if (n > 1) cli_print_text(stdout, label);
        printf("%s%s\n", n > 1 ? "\t" : "", share);
    }
}

/* Rows from `first` on; a row without a text gets no answer, but an empty line. */
static bool answer(struct texts *t, int64_t first, int64_t n) {
    heed_text_input texts[AT_ONCE];
    int64_t row[AT_ONCE], k = 0, cut = 0;
    for (int64_t i = first; i < first + n; i++) {
        const char *text = heed_table_cell(t->cx, t->table, i, t->text);
        if (text_is_blank(text)) continue;
        texts[k] = (heed_text_input){.text = text};
        if (t->pair >= 0) texts[k].pair = heed_table_cell(t->cx, t->table, i, t->pair);
        row[k++] = i;
    }
    float *p = heed_mem_new(t->cx, ((size_t)k * (size_t)t->m->labels + 1) * sizeof *p);
    const bool ok = p && heed_classify(t->cx, t->m, texts, k, p, &cut);
    for (int64_t i = first, at = 0; ok && i < first + n; i++) {
        if (at < k && row[at] == i)
            say(t, i, p + at * t->m->labels), at++;
        else if (!t->out)
            puts(option_flag(t->o, "json") ? "{}" : "");
    }
    t->cut += cut;
    heed_mem_free(t->cx, p);
    fflush(stdout);
    return ok && !heed_failed(t->cx);
}

static bool answer_all(struct texts *t, const char *path) {
    static const char *const classes[] = {"prediction", "probability", NULL}, *const number[] = {"prediction", NULL};
    if (!t->m || !t->table || !find_columns(t, path)) return false;
    if (option_given(t->o, "out")) {
        t->out = table_out_open(t->cx, option_text(t->o, "out"), t->table, t->m->labels == 1 ? number : classes);
        if (!t->out) t->table = NULL; /* which has been closed */
    }
    const int64_t rows = heed_table_rows(t->table);
    for (int64_t i = 0; i < rows && !heed_cancelled(t->cx); i += AT_ONCE)
        if (!answer(t, i, rows - i < AT_ONCE ? rows - i : AT_ONCE)) return false;
    return !heed_failed(t->cx);
}

int classify_table(const struct options *o) {
    struct texts t = {.o = o, .cx = options_open(o)};
    const char *const path = option_text(o, "data");
    const heed_task_opts opts = {.text = option_text(o, "text"), .pair = option_text(o, "pair")};
    if (!t.cx) return EXIT_FAILED;
    heed_set_grad(t.cx, false);
    t.m = heed_text_model_open(t.cx, options_word(o, 0), "classify");
    t.table = t.m ? task_table(t.cx, path, &opts) : NULL;
    bool good = answer_all(&t, strcmp(path, "-") == 0 ? "standard input" : path);
    if (t.out)
        good = table_out_close(t.out, o, good);
    else
        heed_table_close(t.table);
    char count[48];
    if (t.cut > 0 && !option_flag(o, "quiet"))
        fprintf(stderr, "heed: %s longer than the model's %lld tokens, truncated\n",
                text_count(t.cut, "text is", "texts are", count), (long long)t.m->reader.max_length);
    heed_text_model_free(t.cx, t.m);
    return options_close(o, t.cx, good ? EXIT_DONE : EXIT_FAILED);
}
