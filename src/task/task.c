/* Tasks by name, and what they share. */
#include "task/task.h"
#include "base/ctx.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const heed_text_task *heed_text_task_find(const char *name) {
    const heed_task *task;
    for (int i = 0; name && (task = heed_task_at(i)); i++)
        for (int k = 0; task->texts && task->texts[k]; k++)
            if (strcmp(task->texts[k]->name, name) == 0) return task->texts[k];
    return NULL;
}

const heed_text_task *task_of_texts(const heed_task *task, const char *name) {
    for (int k = 0; task->texts[k]; k++)
        if (strcmp(task->texts[k]->name, name) == 0) return task->texts[k];
    return task->texts[0];
}

const char *heed_text_task_name(const heed_text_task *task) { return task ? task->name : NULL; }
const char *heed_text_task_metrics(const heed_text_task *task) { return task ? task->metrics : NULL; }

/* ---- data ---- */

heed_task_data *heed_task_read(heed_ctx *cx, const heed_text_task *task, const char *path, const heed_task_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!task || !path) return heed_fail(cx, HEED_ERR_USAGE, "task: a task and the path of its data are needed"), NULL;
    heed_task_data *d = heed_mem_new(cx, sizeof *d);
    if (!d) return NULL;
    const heed_task_opts none = {0};
    *d = (heed_task_data){.task = task, .opts = opts ? *opts : none};
    snprintf(d->name, sizeof d->name, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
    if (task->read(cx, path, &d->opts, d) && task_weigh(cx, d)) return d;
    heed_task_free(cx, d);
    return NULL;
}

bool heed_task_encode(heed_ctx *cx, heed_task_data *data, const heed_text_reader *reader) {
    if (heed_failed(cx)) return false;
    if (!data || !reader) return heed_fail(cx, HEED_ERR_USAGE, "task: data and a reader are needed");
    heed_dataset_free(cx, &data->set);
    data->cut = 0;
    return data->task->encode(cx, reader, data);
}

void heed_task_free(heed_ctx *cx, heed_task_data *d) {
    if (!d) return;
    if (d->task->free) d->task->free(cx, d);
    heed_dataset_free(cx, &d->set);
    heed_lines_free(cx, &d->text);
    heed_lines_free(cx, &d->pair);
    heed_mem_free(cx, d->line);
    heed_mem_free(cx, d->label);
    heed_mem_free(cx, d->y);
    heed_mem_free(cx, d->names);
    heed_mem_free(cx, d->weight);
    heed_mem_free(cx, d);
}

int64_t heed_task_count(const heed_task_data *data) { return !data ? 0 : data->set.n ? data->set.n : data->text.count; }
int64_t heed_task_cut(const heed_task_data *data) { return data ? data->cut : 0; }
const char *heed_task_cut_name(const heed_task_data *data) {
    return data && data->task->cut ? data->task->cut : "text";
}
int64_t heed_task_examples(const heed_task_data *data) {
    return data && data->task->examples ? data->task->examples(data) : heed_task_count(data);
}
int64_t heed_task_example(const heed_task_data *data, int64_t row) {
    return data && data->task->example_of ? data->task->example_of(data, row) : row;
}
int64_t heed_task_held_out(const heed_task_data *data) {
    return data && data->task->held_out ? data->task->held_out(data) : -1;
}
void heed_task_set_chat(heed_task_data *data, const heed_chat_format *chat) {
    if (data) data->opts.chat = chat;
}
bool heed_task_counts_tokens(const heed_task_data *data) { return data && data->task->tokens; }
void heed_task_settings(heed_ctx *cx, const heed_task_data *data, heed_json at) {
    if (data && data->task->settings) data->task->settings(cx, data, at);
}
const char *heed_task_metrics(const heed_task_data *data) {
    return !data ? NULL : data->task->metrics_of ? data->task->metrics_of(data) : data->task->metrics;
}
const heed_lines *heed_task_texts(const heed_task_data *data) { return data ? &data->text : NULL; }
const heed_lines *heed_task_pairs(const heed_task_data *data) { return data && data->pair.count ? &data->pair : NULL; }
const heed_dataset *heed_task_columns(const heed_task_data *data) { return data && data->set.n ? &data->set : NULL; }

int64_t heed_task_labels(const heed_task_data *data, char ***names) {
    if (names) *names = data ? data->names : NULL;
    return data ? data->classes : 0;
}

bool heed_task_describe(heed_ctx *cx, const heed_task_data *data, heed_model *model) {
    if (heed_failed(cx)) return false;
    if (!data || !model)
        return heed_fail(cx, HEED_ERR_USAGE, "task_describe: the %s NULL", data ? "model is" : "data are");
    if (data->classes == 0) return true;
    const int64_t labels = heed_json_int_or(cx, heed_model_config(model), "num_labels", data->classes);
    if (labels != data->classes)
        return heed_fail(cx, HEED_ERR_USAGE, "task_describe: the data have %lld classes, the model's head %lld",
                         (long long)data->classes, (long long)labels);
    const heed_data classes = {.label = &(int32_t){0}, .classes = data->classes, .class_names = data->names};
    return heed_model_describe(cx, model, &classes);
}

const int32_t *heed_task_truth(const heed_task_data *data, int64_t *n) {
    int64_t none;
    *(n ? n : &none) = !data || !data->label ? 0 : data->labels ? data->labels : data->text.count;
    return data ? data->label : NULL;
}

heed_transform heed_task_transform(const heed_task_data *data, const void **own) {
    if (own) *own = data;
    return data ? data->task->transform : NULL;
}

bool heed_task_draws(const heed_task_data *data) { return data && data->task->draw; }

bool heed_task_draw(heed_ctx *cx, const heed_task_data *data, uint64_t seed, int64_t epoch, const int64_t *rows,
                    int64_t n, heed_dataset *set) {
    if (heed_failed(cx)) return false;
    if (!data || !data->set.n || !set || !data->task->draw)
        return heed_fail(cx, HEED_ERR_USAGE, "task: encoded data of which rows are drawn, and a set, are needed");
    *set = (heed_dataset){0};
    if (data->task->draw(cx, data, seed, epoch, rows, n, set)) return true;
    heed_dataset_free(cx, set);
    return false;
}

heed_forward heed_task_forward(const heed_task_data *data, const void **own) {
    if (own) *own = data;
    return !data ? NULL : data->weight ? task_weighted_forward : data->task->forward;
}

bool heed_task_mixes(const heed_task_data *data) { return data && data->task->mixes; }

bool heed_task_write(heed_ctx *cx, const heed_text_task *task, const heed_model *model, const heed_text_reader *reader,
                     const char *dir) {
    if (heed_failed(cx)) return false;
    if (!task || !model || !reader || !dir)
        return heed_fail(cx, HEED_ERR_USAGE, "task: a task, a model, its reader and a directory are needed");
    return !task->write || task->write(cx, model, reader, dir);
}

bool heed_task_measure(heed_ctx *cx, const heed_model *model, const heed_task_data *data, const int64_t *rows,
                       int64_t n, heed_score *score, int32_t *predicted) {
    if (heed_failed(cx)) return false;
    if (!model || !data || !data->set.n || !score)
        return heed_fail(cx, HEED_ERR_USAGE, "task: a model, encoded data and a place for the score are needed");
    *score = (heed_score){0};
    return data->task->measure(cx, model, data, rows, rows ? n : data->set.n, score, predicted);
}

/* ---- tables ---- */

int64_t task_column(heed_ctx *cx, const heed_task_data *d, const heed_table *t, const char *name, int64_t otherwise) {
    if (!name) return otherwise;
    int64_t at = heed_table_find(cx, t, name);
    char *end;
    const long long number = strtoll(name, &end, 10);
    if (at < 0 && *name && !*end && number >= 1 && number <= heed_table_columns(t)) at = number - 1;
    if (at < 0) heed_fail(cx, HEED_ERR_USAGE, "%s: there is no column '%s'", d->name, escaped(name).s);
    return at;
}

static bool is_name(const char *column) { return column && column[strspn(column, "0123456789")]; }

heed_table *task_table(heed_ctx *cx, const char *path, const heed_task_opts *opts) {
    heed_table_options how = opts->table;
    if (how.header == HEED_HEADER_AUTO && (is_name(opts->text) || is_name(opts->pair) || is_name(opts->target)))
        how.header = HEED_HEADER_YES;
    const size_t n = strlen(path);
    const bool tabs = how.delimiter == '\t' || (n > 4 && strcmp(path + n - 4, ".tsv") == 0) ||
                      (n > 7 && strcmp(path + n - 7, ".tsv.gz") == 0);
    if (tabs) how.delimiter = '\t', how.plain_quotes = true;
    return heed_table_open(cx, path, &how);
}

bool task_put_line(heed_ctx *cx, heed_string *to, const char *text) {
    const size_t before = to->size;
    if (!heed_string_put(cx, to, text, strlen(text)) || !heed_string_put(cx, to, "\n", 1)) return false;
    for (size_t i = before; i + 1 < to->size; i++)
        if (to->s[i] == '\n') to->s[i] = ' '; /* of a quoted cell */
    return true;
}

/* ---- labels ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

char **task_names(heed_ctx *cx, const char *const *texts, int64_t n, int64_t *count) {
    const char **sorted = heed_mem_new(cx, ((size_t)n + 1) * sizeof *sorted);
    if (!sorted) return NULL;
    int64_t different = 0;
    size_t bytes = 0;
    memcpy(sorted, texts, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || strcmp(sorted[i], sorted[different - 1]) != 0) {
            sorted[different++] = sorted[i];
            bytes += strlen(sorted[i]) + 1;
        }
    char **names = heed_mem_new(cx, ((size_t)different + 1) * sizeof *names + bytes);
    char *at = names ? (char *)(names + different + 1) : NULL;
    for (int64_t i = 0; names && i < different; i++) {
        names[i] = strcpy(at, sorted[i]);
        at += strlen(sorted[i]) + 1;
    }
    if (names) names[different] = NULL;
    *count = different;
    heed_mem_free(cx, sorted);
    return names;
}

char **task_copy_names(heed_ctx *cx, char **names, int64_t *count) {
    int64_t n = 0;
    size_t bytes = 0;
    for (; names[n]; n++) bytes += strlen(names[n]) + 1;
    char **copy = heed_mem_new(cx, ((size_t)n + 1) * sizeof *copy + bytes);
    char *at = copy ? (char *)(copy + n + 1) : NULL;
    for (int64_t i = 0; copy && i < n; i++) {
        copy[i] = strcpy(at, names[i]);
        at += strlen(names[i]) + 1;
    }
    if (copy) copy[n] = NULL;
    *count = n;
    return copy;
}

/* The list need not be sorted: a model's labels are in its own order. */
int32_t task_label(char **names, int64_t count, const char *text) {
    for (int64_t i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0) return (int32_t)i;
    return -1;
}

char **task_known_labels(const heed_task_opts *opts) {
    return opts->labels ? opts->labels : opts->like ? opts->like->names : NULL;
}

/* ---- masked words ---- */

int32_t task_mask_token(heed_ctx *cx, const char *task, const heed_tokenizer *tokens) {
    static const char *const names[] = {"[MASK]", "<mask>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (heed_tokenizer_id(tokens, names[i]) >= 0) return heed_tokenizer_id(tokens, names[i]);
    heed_fail(cx, HEED_ERR_FORMAT, "%s: the tokenizer has no mask token, such as [MASK]", task);
    return -1;
}

/* ---- losses ---- */

#define MEASURED_TOKENS ((int64_t)1 << 13) /* at a time */

static bool count_predicted(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    (void)cx, (void)out;
    *(int64_t *)own += b->weight;
    return true;
}

bool task_token_loss(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                     heed_transform fill, double *loss, int64_t *tokens) {
    const heed_over_opts opts = {.rows = rows,
                                 .n_rows = rows ? n : 0,
                                 .tokens = MEASURED_TOKENS,
                                 .loss_only = true,
                                 .take = count_predicted,
                                 .own = tokens,
                                 .transform = fill,
                                 .data = d};
    *tokens = 0;
    return heed_loop_over(cx, model, &d->set, &opts, loss);
}

/* ---- logits ---- */

bool task_all_finite(heed_ctx *cx, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return heed_fail(cx, HEED_ERR_RANGE, "the model's output is not a finite number");
    return true;
}

bool task_take_logits(heed_ctx *cx, void *own, const heed_batch *batch, const heed_io *out) {
    struct task_logits *t = own;
    heed_tensor *logits = heed_contiguous(cx, heed_io_get(out, "logits"));
    const float *value = heed_f32(logits);
    if (heed_failed(cx) || !logits) return heed_fail(cx, HEED_ERR_USAGE, "task: the model gives no logits");
    if (cx->config.dry) return true;
    const int64_t width = heed_count(logits) / batch->n;
    if (width != t->width)
        return heed_fail(cx, HEED_ERR_SHAPE, "task: logits of %s for %lld examples and %lld labels",
                         heed_shape_text(logits).s, (long long)batch->n, (long long)t->width);
    for (int64_t i = 0; i < batch->n; i++)
        memcpy(t->value + batch->row[i] * width, value + i * width, (size_t)width * sizeof *value);
    return true;
}
