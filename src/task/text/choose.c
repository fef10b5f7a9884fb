/* Multiple choice: a text, several choices, and the number or letter of the right one, from a table. Each choice is a
 * sequence of the text and itself, as in transformers' run_swag example. */
#include "base/ctx.h"
#include "io/text.h"
#include "kernel/reduce.h"
#include "task/answers.h"
#include "task/run.h"
#include "task/task.h"
#include <stdlib.h>
#include <string.h>

#define MAX_CHOICES 64

/* The texts of an example are lines of data->text: the text, then its choices. */
struct choices {
    int64_t n;      /* of each example */
    int64_t from;   /* the number of the first: 0 or 1 */
    int32_t *label; /* (examples) */
};

static struct choices *choices_of(const heed_task_data *d) { return d->own; }

/* ---- reading ---- */

struct columns {
    int64_t text, target, choice[MAX_CHOICES], n;
};

/* Those that --choices names, "a,b"; else all but text and target. */
static bool find_choices(heed_ctx *cx, const heed_task_data *d, const heed_table *t, struct columns *c) {
    const char *names = d->opts.choices;
    if (!names)
        for (int64_t k = 0; k < heed_table_columns(t) && c->n < MAX_CHOICES; k++)
            if (k != c->text && k != c->target) c->choice[c->n++] = k;
    while (names && *names && c->n < MAX_CHOICES) {
        char name[256];
        const size_t size = strcspn(names, ",");
        if (size >= sizeof name) return heed_fail(cx, HEED_ERR_USAGE, "%s: a name of a column is too long", d->name);
        memcpy(name, names, size);
        name[size] = 0;
        if ((c->choice[c->n++] = task_column(cx, d, t, name, -1)) < 0) return false;
        names += size + (names[size] == ',');
    }
    for (int64_t k = 0; k < c->n; k++)
        if (c->choice[k] == c->text || c->choice[k] == c->target)
            return heed_fail(cx, HEED_ERR_USAGE, "%s: a choice is the column of the text or target", d->name);
    if (c->n < 2)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a text, two or more choices and the right one's number are needed",
                         d->name);
    return true;
}

static bool find_columns(heed_ctx *cx, const heed_task_data *d, const heed_table *t, struct columns *c) {
    c->text = task_column(cx, d, t, d->opts.text, 0);
    c->target = task_column(cx, d, t, d->opts.target, heed_table_columns(t) - 1);
    if (heed_failed(cx)) return false;
    if (c->text == c->target) return heed_fail(cx, HEED_ERR_USAGE, "%s: text and target are the same column", d->name);
    return find_choices(cx, d, t, c);
}

static bool read_number(const char *cell, long long *number) {
    char *end;
    *number = strtoll(cell, &end, 10);
    return *cell && end[strspn(end, " ")] == 0;
}

/* Numbers count from 0 where there is a 0, else from 1; letters from A. */
static bool read_labels(heed_ctx *cx, heed_task_data *d, const heed_table *t, const struct columns *c) {
    struct choices *own = choices_of(d);
    const int64_t rows = heed_table_rows(t);
    long long number;
    own->from = 1;
    own->label = heed_mem_new(cx, (size_t)rows * sizeof *own->label);
    for (int64_t i = 0; i < rows; i++)
        if (read_number(heed_table_cell(cx, t, i, c->target), &number) && number == 0) own->from = 0;
    if (d->opts.like) own->from = choices_of(d->opts.like)->from;
    for (int64_t i = 0; own->label && i < rows; i++) {
        const char *cell = heed_table_cell(cx, t, i, c->target);
        const char letter = (char)(*cell & ~0x20);
        number = -1;
        if (read_number(cell, &number))
            number -= own->from;
        else if (letter >= 'A' && letter <= 'Z' && !cell[1])
            number = letter - 'A';
        if (number < 0 || number >= c->n)
            return heed_fail(cx, HEED_ERR_RANGE,
                             "%s: line %lld: '%s' is not the number or letter of one of %lld choices", d->name,
                             (long long)heed_table_line(t, i), escaped(cell).s, (long long)c->n);
        own->label[i] = (int32_t)number;
    }
    return !heed_failed(cx);
}

static bool read_texts(heed_ctx *cx, heed_task_data *d, const heed_table *t, const struct columns *c) {
    heed_string text = {0};
    for (int64_t i = 0; i < heed_table_rows(t) && !heed_cancelled(cx); i++) {
        if (!task_put_line(cx, &text, heed_table_cell(cx, t, i, c->text))) break;
        for (int64_t k = 0; k < c->n && !heed_failed(cx); k++)
            task_put_line(cx, &text, heed_table_cell(cx, t, i, c->choice[k]));
    }
    const bool ok = !heed_failed(cx) && heed_lines_cut(cx, &text, &d->text);
    heed_string_free(cx, &text);
    return ok;
}

static bool read_choices(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    struct choices *own = d->own = heed_mem_new(cx, sizeof *own);
    if (!own) return false;
    *own = (struct choices){0};
    heed_table *t = task_table(cx, path, opts);
    struct columns c = {.n = 0};
    bool ok = t && find_columns(cx, d, t, &c);
    if (ok && heed_table_rows(t) == 0) ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no examples", d->name);
    if (ok && opts->like && choices_of(opts->like)->n != c.n)
        ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld choices; the training data have %lld", d->name, (long long)c.n,
                       (long long)choices_of(opts->like)->n);
    own->n = c.n;
    ok = ok && read_labels(cx, d, t, &c) && read_texts(cx, d, t, &c);
    if (ok && (d->line = heed_mem_new(cx, (size_t)heed_table_rows(t) * sizeof *d->line)))
        for (int64_t i = 0; i < heed_table_rows(t); i++) d->line[i] = heed_table_line(t, i);
    heed_table_close(t);
    return !heed_failed(cx);
}

static void free_choices(heed_ctx *cx, heed_task_data *d) {
    if (d->own) heed_mem_free(cx, choices_of(d)->label);
    heed_mem_free(cx, d->own);
}

/* ---- encoding ---- */

/* Sequences of one example: tokens, mask and types of n choices, each (longest, n). */
struct encoder_room {
    heed_encoding encoding[MAX_CHOICES];
    heed_ids ids, cells;
};

static void free_room(heed_ctx *cx, struct encoder_room *room) {
    for (int i = 0; i < MAX_CHOICES; i++) heed_encoding_free(cx, &room->encoding[i]);
    heed_ids_free(cx, &room->ids);
    heed_ids_free(cx, &room->cells);
}

static void set_columns(const heed_text_reader *reader, int64_t n, bool labels, heed_dataset *set) {
    const char *const names[] = {"input_ids", "attention_mask", "token_type_ids"};
    for (int k = 0; k < (reader->types ? 3 : 2); k++)
        set->column[set->columns++] = (heed_column){.name = names[k],
                                                    .type = HEED_I32,
                                                    .rank = 1,
                                                    .shape = {n},
                                                    .ragged = true,
                                                    .fill = k == 0 ? reader->pad : 0,
                                                    .length_last = true};
    if (labels) set->column[set->columns++] = (heed_column){.name = "labels", .type = HEED_I32};
}

static bool put_cells(heed_ctx *cx, const heed_text_reader *reader, struct encoder_room *room, int64_t n,
                      int64_t max_length) {
    room->cells.count = 0;
    for (int k = 0; k < (reader->types ? 3 : 2); k++)
        for (int64_t i = 0; i < max_length; i++)
            for (int64_t j = 0; j < n; j++) {
                const heed_encoding *e = &room->encoding[j];
                const bool is = i < e->count;
                const int32_t value = k == 0   ? is ? e->token[i].id : reader->pad
                                      : k == 1 ? is
                                      : is     ? e->token[i].type
                                               : 0;
                if (!heed_ids_put(cx, &room->cells, value)) return false;
            }
    return true;
}

static bool add_example(heed_ctx *cx, const heed_text_reader *reader, const heed_choices *one, const int32_t *label,
                        struct encoder_room *room, heed_dataset *set, int64_t *cut) {
    heed_cell cells[HEED_COLUMNS_MAX];
    int64_t max_length = 1;
    for (int64_t j = 0; j < one->n; j++) {
        const heed_text_input text = {.text = one->text, .pair = one->choice[j]};
        bool is_long = false;
        if (!heed_text_cells(cx, reader, &text, &room->encoding[j], &room->ids, cells, &is_long)) return false;
        if (room->encoding[j].count > max_length) max_length = room->encoding[j].count;
        *cut += is_long;
    }
    if (set->columns == 0) set_columns(reader, one->n, label, set);
    if (!put_cells(cx, reader, room, one->n, max_length)) return false;
    for (int k = 0; k < (reader->types ? 3 : 2); k++)
        cells[k] = (heed_cell){room->cells.id + k * max_length * one->n, max_length};
    int32_t right = label ? *label : 0;
    cells[reader->types ? 3 : 2] = (heed_cell){&right, 1};
    return heed_dataset_add(cx, set, cells);
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    const struct choices *own = choices_of(d);
    struct encoder_room *room = heed_mem_new(cx, sizeof *room);
    const char *choice[MAX_CHOICES];
    if (!room) return false;
    memset(room, 0, sizeof *room);
    for (int64_t i = 0; i * (own->n + 1) < d->text.count && !heed_cancelled(cx); i++) {
        const int64_t at = i * (own->n + 1);
        for (int64_t k = 0; k < own->n; k++) choice[k] = heed_line_text(&d->text, at + 1 + k);
        const heed_choices one = {heed_line_text(&d->text, at), choice, own->n};
        if (!add_example(cx, reader, &one, &own->label[i], room, &d->set, &d->cut)) {
            heed_fail_in(cx, "%s: line %lld", d->name, (long long)d->line[i]);
            break;
        }
    }
    free_room(cx, room);
    heed_mem_free(cx, room);
    return !heed_failed(cx);
}

/* ---- measuring ---- */

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    const struct choices *own = choices_of(d);
    struct task_logits t = {.width = own->n, .n = d->set.n};
    int64_t right = 0;
    (void)predicted;
    t.value = heed_mem_new(cx, (size_t)(d->set.n * own->n) * sizeof *t.value);
    const heed_over_opts opts = {
        .rows = rows, .n_rows = rows ? n : 0, .tokens = 4096 / own->n, .take = task_take_logits, .own = &t};
    if (t.value && heed_loop_over(cx, model, &d->set, &opts, &score->loss) && !cx->config.dry)
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = rows ? rows[i] : i;
            right += kernel_best(t.value + row * own->n, own->n) == own->label[row];
        }
    score->metric = (double)right / (double)n;
    heed_mem_free(cx, t.value);
    return !heed_failed(cx);
}

const heed_text_task task_choose = {.name = "choose",
                                    .metrics = "accuracy",
                                    .read = read_choices,
                                    .encode = encode,
                                    .measure = measure,
                                    .free = free_choices,
                                    .answer = answer_choice};

/* ---- using ---- */

/* The questions that have as many choices as the first that waits, together. */
static bool choose_some(heed_ctx *cx, const heed_text_model *m, const heed_choices *questions, int64_t n,
                        int64_t choices, struct encoder_room *room, float *out, int64_t *cut) {
    heed_dataset set = {0};
    struct task_logits t = {.width = choices};
    int64_t count = 0, place = 0;
    for (int64_t i = 0; i < n && !heed_cancelled(cx); i++)
        if (questions[i].n == choices && !add_example(cx, &m->reader, &questions[i], NULL, room, &set, cut)) {
            heed_fail_in(cx, "text %lld", (long long)i + 1);
            break;
        }
    t.value = heed_failed(cx) || set.n == 0 ? NULL : heed_mem_new(cx, (size_t)(set.n * choices) * sizeof *t.value);
    const heed_over_opts opts = {.tokens = 4096 / choices, .take = task_take_logits, .own = &t};
    if (t.value && heed_loop_over(cx, m->model, &set, &opts, NULL))
        for (int64_t i = 0; i < n; place += questions[i++].n) {
            if (questions[i].n != choices) continue;
            const float *x = t.value + count++ * choices;
            if (!task_all_finite(cx, x, choices)) break;
            memcpy(out + place, x, (size_t)choices * sizeof *x);
            task_softmax(out + place, choices);
        }
    heed_mem_free(cx, t.value);
    heed_dataset_free(cx, &set);
    return !heed_failed(cx);
}

bool heed_choose(heed_ctx *cx, const heed_text_model *m, const heed_choices *questions, int64_t n, float *out,
                 int64_t *cut) {
    int64_t too_long = 0;
    if (heed_failed(cx)) return false;
    if (!m || n < 0 || (n > 0 && (!questions || !out)))
        return heed_fail(cx, HEED_ERR_USAGE, "choose: a model, questions and a place for probabilities are needed");
    for (int64_t i = 0; i < n; i++)
        if (questions[i].n < 0 || questions[i].n > MAX_CHOICES)
            return heed_fail(cx, HEED_ERR_RANGE, "choose: text %lld: %lld choices, not at most %d", (long long)i + 1,
                             (long long)questions[i].n, MAX_CHOICES);
    struct encoder_room *room = heed_mem_new(cx, sizeof *room);
    if (!room) return false;
    memset(room, 0, sizeof *room);
    for (int64_t choices = 1; choices <= MAX_CHOICES && !heed_failed(cx); choices++)
        for (int64_t i = 0; i < n; i++)
            if (questions[i].n == choices) {
                choose_some(cx, m, questions, n, choices, room, out, &too_long);
                break;
            }
    free_room(cx, room);
    heed_mem_free(cx, room);
    if (cut) *cut = too_long;
    return !heed_failed(cx);
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a table of texts, choices and the right one (tsv or csv, also .gz), or a directory with train, dev and "
             "test files"},
    TEXT_PART_FIELDS("questions"),
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the right choice's number (from 0 where there is a 0, else from 1) or letter: name or "
             "number; by default the last"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the text or question: name or number; by default the first"},
    {.name = "choices", .kind = HEED_FIELD_TEXT, .value = "COLUMNS",
     .help = "the columns of the choices as a,b; by default all but text and target"},
    {.name = "separator", .kind = HEED_FIELD_TEXT, .value = "CHARACTER",
     .help = "what separates the columns: a character, or the word tab or space; by default found in the first lines"},
    TEXT_TRAIN_FIELDS("questions"),
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_choose, NULL};

const heed_task task_of_choose = {
    .name = "choose",
    .summary = "multiple choice",
    .about = "Trains an encoder to choose one of several texts that belongs to a first one, as an answer to its "
             "question: each choice is read together with the text, as in transformers' run_swag example, and has "
             "one score. All lines of a table have as many choices. The metric is the accuracy.",
    .examples = "heed train choose --data swag --init bert-base-uncased --out chooser\n"
                "heed train choose --data quiz.csv --text question --choices a,b,c,d --target answer "
                "--init all-MiniLM-L6-v2 --out quiz\n",
    .fields = fields,
    .next = "choose",
    .next_how = "   (question and choices on standard input, separated by tabs)",
    .texts = texts,
    .ways = ways_of_texts,
};
