/* Runs of tasks of text: training, from fresh weights or from --init, and measuring. */
#include "base/text.h"
#include "heed/music.h"
#include "heed/translate.h"
#include "model/core/directory.h"
#include "task/tables/table_fields.h"
#include "task/text/texts.h"
#include "text/strings/split.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- options ---- */

/* --carry-state goes through one text in order, which excludes some fields. */
static bool carry_fits(const heed_run *r) {
    static const char *const others[] = {"documents", "document-separator", "in-order", "micro-batch", "accumulate"};
    if (!run_knows(r, "carry-state") || !run_flag(r, "carry-state")) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (run_given(r, others[i])) return run_misused(r, "--carry-state does not go with --%s", others[i]);
    const heed_head *const head = heed_head_for(r->family, r->task->name);
    return !head || text_among(head->inputs, "state") ||
           run_misused(r, "--carry-state: %s has no state to carry", r->family->name);
}

static bool separator_fits(const heed_run *r) {
    char why[FIELD_WHY];
    return !run_knows(r, "separator") || table_separator_fits(r->values, why) || run_option_misused(r, "%s", why);
}

static bool check(heed_run *r) {
    if (r->task->check && !r->task->check(r)) return false;
    return separator_fits(r) && carry_fits(r) && run_forcing_fits(r) && run_embeddings_fit(r);
}

/* ---- the data ---- */

/* Finds how long a sequence may be: as long as the model can read, or as asked for. */
static bool set_reader(heed_run *r) {
    struct texts *t = texts_of(r);
    heed_model *const model = run_draft(r);
    const char *const field = t->task->next ? "context" : "max-length";
    if (!model) return false;
    if (!heed_text_reader_of(r->dry, model, t->tokens, 0, &t->reader)) return run_drafted(r);
    const int64_t asked = run_int(r, field), positions = t->reader.max_length;
    if (t->task->next && run_given(r, field) && positions > 0 && asked > positions)
        return heed_fail(r->cx, HEED_ERR_RANGE, "train: --context: %lld tokens, but the model has positions for %lld",
                         (long long)asked, (long long)positions);
    if (asked > 0 && (positions == 0 || asked < positions) && !t->task->whole) t->reader.max_length = asked;
    return true;
}

/* A text that is cut into windows must fill at least one. */
static bool fits_context(heed_run *r) {
    const struct texts *t = texts_of(r);
    if (!t->task->streams || t->opts.documents || texts_are_chat(t)) return true;
    const int64_t tokens = heed_dataset_length(heed_task_columns(t->data[TRAIN]), 0, 0);
    return tokens >= t->reader.max_length ||
           heed_fail(r->cx, HEED_ERR_RANGE,
                     "%s: the text to train on has %lld tokens, fewer than a context of %lld and the next; --context "
                     "makes it shorter",
                     r->path, (long long)tokens + 1, (long long)t->reader.max_length);
}

static bool load(heed_run *r) {
    struct texts *t = heed_mem_new(r->cx, sizeof *t);
    if (!t) return false;
    const char *const name = run_head(r);
    *t = (struct texts){.task = task_of_texts(r->task, name), .opts = texts_opts(r), .seed = heed_seed(r->cx)};
    t->opts.sentence_order = text_among(heed_head_for(r->family, name)->inputs, "sentence_order_label");
    r->user = t;
    if (!run_open_embeddings(r) || !texts_read(r) || !texts_make_tokenizer(r) || !set_reader(r)) return false;
    for (int i = 0; i < SETS; i++) {
        if (texts_are_chat(t) && t->data[i]) heed_task_set_chat(t->data[i], &t->chat.format);
        if (t->data[i] && !heed_task_encode(r->cx, t->data[i], &t->reader)) return false;
    }
    return texts_split(r) && fits_context(r);
}

/* ---- the source ---- */

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const struct texts *t = own;
    if (test) return heed_task_measure(cx, model, t->data[TEST], NULL, 0, score, NULL);
    if (t->data[VALID]) return heed_task_measure(cx, model, t->data[VALID], NULL, 0, score, NULL);
    return heed_task_measure(cx, model, t->data[TRAIN], t->valid_rows, t->n_valid, score, NULL);
}

/* An example of several rows, a question about a long text, is measured by all of them: *n becomes how many rows of the
 * validation set the examples of these n rows have. NULL: as many, or out of memory. */
static int64_t *whole_examples(heed_ctx *cx, const struct texts *t, const heed_task_data *data, const int64_t *rows,
                               int64_t *n) {
    const int64_t examples = heed_task_examples(data), all = t->valid_rows ? t->n_valid : heed_task_count(data);
    if (examples == heed_task_count(data)) return NULL;
    bool *const chosen = heed_mem_new(cx, (size_t)examples * sizeof *chosen);
    int64_t *const whole = heed_mem_new(cx, (size_t)all * sizeof *whole), some = *n;
    if (chosen) memset(chosen, 0, (size_t)examples * sizeof *chosen);
    for (int64_t i = 0; chosen && i < some; i++) chosen[heed_task_example(data, rows[i])] = true;
    *n = 0;
    for (int64_t i = 0; chosen && whole && i < all; i++) {
        const int64_t row = t->valid_rows ? t->valid_rows[i] : i;
        if (chosen[heed_task_example(data, row)]) whole[(*n)++] = row;
    }
    heed_mem_free(cx, chosen);
    return whole;
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score) {
    const struct texts *t = own;
    const heed_task_data *const data = t->valid_rows ? t->data[TRAIN] : t->data[VALID];
    int64_t *const whole = whole_examples(cx, t, data, rows, &n);
    const bool ok = !heed_failed(cx) && heed_task_measure(cx, model, data, whole ? whole : rows, n, score, NULL);
    heed_mem_free(cx, whole);
    return ok;
}

/* What the task draws anew in each epoch. */
static void transform(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const void *data;
    heed_task_transform(((const struct texts *)own)->data[TRAIN], &data)(data, seed, epoch, row, cells);
}

static bool draw(heed_ctx *cx, void *own, int64_t epoch, heed_dataset *set) {
    struct texts *t = own;
    heed_dataset_free(cx, &t->drawn);
    if (!heed_task_draw(cx, t->data[TRAIN], t->seed, epoch, t->train_rows, t->n_train, &t->drawn)) return false;
    *set = t->drawn;
    return true;
}

static bool forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const void *data;
    return heed_task_forward(((const struct texts *)own)->data[TRAIN], &data)(cx, data, model, in, out);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    const struct texts *t = own;
    if (t->opts.class_weights) heed_json_put_text(cx, at, "class weights", t->opts.class_weights);
    if (t->opts.masked > 0) notes_put_number(cx, at, "masked", t->opts.masked);
    if (t->opts.span > 0) notes_put_number(cx, at, "span", t->opts.span);
    if (t->opts.prefix) heed_json_put_text(cx, at, "prefix", t->opts.prefix);
    if (t->opts.temperature > 0) notes_put_number(cx, at, "temperature", t->opts.temperature);
    heed_task_settings(cx, t->data[TRAIN], at);
}

static const heed_dataset *columns_of(const struct texts *t, int set) {
    return t->data[set] ? heed_task_columns(t->data[set]) : NULL;
}

/* The source for --carry-state; a dry model tells how large the state is. */
static const heed_loop_source *set_streams(heed_run *r, const heed_source_opts *o) {
    struct texts *t = texts_of(r);
    heed_model *const model = run_draft(r);
    if (model)
        t->streams =
            heed_streams_new(r->cx, &(heed_streams_opts){.train = t->data[TRAIN],
                                                         .valid = t->valid_rows ? t->data[TRAIN] : t->data[VALID],
                                                         .test = o->test != NULL,
                                                         .n_test = heed_task_count(t->data[TEST]),
                                                         .like = model,
                                                         .batch = o->batch,
                                                         .seed = o->seed,
                                                         .forcing = o->forcing,
                                                         .own = t,
                                                         .measure = measure,
                                                         .measure_some = measure_some,
                                                         .metrics = o->metrics,
                                                         .settings = settings});
    return heed_streams_loop(t->streams);
}

static bool plan(heed_run *r) {
    struct texts *t = texts_of(r);
    struct run_batch b;
    const int64_t most = t->opts.carry ? INT64_MAX : t->n_train; /* streams are cut as many as are asked for */
    if (!run_batch(r, run_int(r, "batch") < t->n_train ? run_int(r, "batch") : t->n_train, most, "example", "examples",
                   &b))
        return false;
    const heed_source_opts opts = {.train = columns_of(t, TRAIN),
                                   .valid = t->valid_rows ? columns_of(t, TRAIN) : columns_of(t, VALID),
                                   .test = columns_of(t, TEST),
                                   .train_rows = t->train_rows,
                                   .n_train = t->train_rows ? t->n_train : 0,
                                   .valid_rows = t->valid_rows,
                                   .n_valid = t->n_valid,
                                   .batch = b.batch,
                                   .micro_batch = b.micro_batch,
                                   .by_length = !heed_task_mixes(t->data[TRAIN]), /* pairs meet others of any length */
                                   .count_tokens = heed_task_counts_tokens(t->data[TRAIN]),
                                   .seed = heed_seed(r->cx),
                                   .own = t,
                                   .transform = heed_task_transform(t->data[TRAIN], NULL) ? transform : NULL,
                                   .forward = heed_task_forward(t->data[TRAIN], NULL) ? forward : NULL,
                                   .forcing = &t->forcing,
                                   .draw = heed_task_draws(t->data[TRAIN]) ? draw : NULL,
                                   .settings = settings,
                                   .measure = measure,
                                   .measure_some = measure_some,
                                   .metrics = heed_task_metrics(t->data[TRAIN])};
    if (!t->opts.carry) t->source = heed_source_new(r->cx, &opts);
    r->loop.source = t->opts.carry ? set_streams(r, &opts) : heed_source_loop(t->source);
    if (r->loop.source) run_set_forcing(r, &t->forcing);
    return r->loop.source;
}

/* ---- the directory ---- */

static bool write_tokenizer(heed_run *r) {
    const struct texts *t = texts_of(r);
    const char *const init = run_init(r);
    char file[PATH_ROOM];
    const bool copied = init && !texts_tokenizer(r) && directory_has(init, TOKENIZER_FILE);
    if (!(copied ? directory_copy_tokenizers(r->cx, init, r->dir) : heed_tokenizer_save(r->cx, t->tokens, r->dir)))
        return false;
    return t->chat.added == 0 ||
           (directory_path(r->cx, r->dir, TOKENIZER_FILE, file) && heed_tokenizer_save(r->cx, t->tokens, file));
}

static bool write_template(heed_run *r) {
    const struct texts *t = texts_of(r);
    return !texts_are_chat(t) || (!t->chat.own && chat_has_template(r->dir)) ||
           chat_write_template(r->cx, r->dir, &t->chat.format);
}

static void say_cut(heed_run *r, const struct texts *t) {
    int64_t cut = 0;
    for (int i = 0; i < SETS; i++) cut += heed_task_cut(t->data[i]);
    texts_say_cut(r->cx, r->path, t->data[TRAIN], cut, t->reader.max_length);
}

static bool begin(heed_run *r) {
    const struct texts *t = texts_of(r);
    char examples[48], tokens[64];
    /* New tokens never lie beside the weights of another model: from here on there is none, until one is written. */
    if (!run_flag(r, "resume") && !directory_clear(r->cx, r->dir)) return false;
    if (!write_tokenizer(r) || !write_template(r)) return false;
    if (run_knows(r, SPLIT_KEY)) /* in the directory as it is saved */
        heed_json_put_text(r->cx, heed_model_config(r->model), SPLIT_KEY, run_text(r, SPLIT_KEY));
    if (!heed_task_write(r->cx, t->task, r->model, &t->reader, r->dir) || !run_take_embeddings(r, t->tokens, NULL))
        return false;
    snprintf(tokens, sizeof tokens, "%lld tokens; ", (long long)heed_tokenizer_size(t->tokens));
    run_say_sets(r, text_count(t->n_train, "example", "examples", examples),
                 t->valid_rows ? t->n_valid : heed_task_count(t->data[VALID]), heed_task_count(t->data[TEST]), tokens);
    say_cut(r, t);
    return true;
}

static void free_texts(heed_run *r) {
    struct texts *t = texts_of(r);
    heed_text_model_free(r->cx, t->answering);
    heed_source_free(r->cx, t->source);
    heed_streams_free(r->cx, t->streams);
    heed_dataset_free(r->cx, &t->drawn);
    for (int i = 0; i < SETS; i++) heed_task_free(r->cx, t->data[i]);
    heed_tokenizer_free(r->cx, t->tokens);
    heed_mem_free(r->cx, t->train_rows);
    heed_mem_free(r->cx, t->valid_rows);
    heed_mem_free(r->cx, t);
}

/* ---- measuring ---- */

struct measured {
    heed_text_model *model;
    heed_task_data *data;
    heed_data truth;
    int32_t *predicted;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    heed_mem_free(cx, m->predicted);
    heed_mem_free(cx, m->truth.label);
    heed_task_free(cx, m->data);
    heed_text_model_free(cx, m->model);
    heed_mem_free(cx, m);
}

/* The task of a directory: the first of its head's for which heed reads texts. */
static const heed_text_task *task_of_model(heed_run *r, const heed_text_model *m) {
    const heed_head *const head = heed_model_head(m->model);
    char name[32];
    if (heed_music_has(m->tokens)) return &task_music;
    if (m->labels == 1 && text_among(head->tasks, task_regress.name)) return &task_regress;
    for (const char *at = head->tasks; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        if (heed_text_task_find(name)) return heed_text_task_find(name);
    }
    heed_fail(r->cx, HEED_ERR_USAGE, "eval: %s is for no task that heed measures", head->architecture);
    return NULL;
}

/* A discriminator is measured with its generator, which is opened through another head of the same architecture. */
static const char *task_to_open(const heed_run *r, const heed_head *head, char name[32]) {
    const heed_head *const with = heed_head_for(r->family, task_replaced.name);
    if (with && strcmp(with->architecture, head->architecture) == 0) return task_replaced.name;
    snprintf(name, 32, "%.*s", (int)strcspn(head->tasks, " "), head->tasks);
    return name;
}

static bool read_measured(heed_run *r, const char *part, const heed_head *head, struct measured *m) {
    const heed_text_task *const task = task_of_model(r, m->model);
    heed_text_reader *const reader = &m->model->reader;
    char file[PATH_ROOM];
    if (!task) return false;
    heed_task_opts opts = texts_opts(r);
    const char *const path = task->part_of ? r->path : texts_part(r->path, part, file);
    if (task->part_of) opts.part = task->part_of(r, part);
    if (!path) return heed_fail(r->cx, HEED_ERR_FILE, "%s: there is no file for part %s", r->path, part);
    opts.labels = m->model->label;
    opts.sentence_order = text_among(head->inputs, "sentence_order_label");
    if (!opts.prefix) opts.prefix = heed_text_prefix(r->cx, m->model->model);
    if (opts.max_length > 0 && (reader->max_length == 0 || opts.max_length < reader->max_length))
        reader->max_length = opts.max_length;
    m->data = heed_failed(r->cx) ? NULL : heed_task_read(r->cx, task, path, &opts);
    heed_chat_format chat;
    if (heed_task_conversations(m->data) && heed_chat_find(r->cx, r->dir, &chat)) heed_task_set_chat(m->data, &chat);
    if (!m->data || !heed_task_encode(r->cx, m->data, reader)) return false;
    texts_say_cut(r->cx, path, m->data, heed_task_cut(m->data), reader->max_length);
    return true;
}

static bool measure_data(heed_run *r, struct measured *m, heed_evaluation *to) {
    int64_t n;
    const int32_t *const label = heed_task_truth(m->data, &n);
    m->truth = (heed_data){0};
    m->truth.classes = heed_task_labels(m->data, &m->truth.class_names);
    m->predicted = heed_mem_new(r->cx, (size_t)(n ? n : 1) * sizeof *m->predicted);
    m->truth.label = heed_mem_new(r->cx, (size_t)(n ? n : 1) * sizeof *m->truth.label);
    if (heed_failed(r->cx) || !heed_metrics_find(r->cx, heed_task_metrics(m->data), &to->metrics) ||
        !heed_task_measure(r->cx, m->model->model, m->data, NULL, 0, &to->score, m->predicted))
        return false;
    if (!isfinite(to->score.loss)) return heed_fail(r->cx, HEED_ERR_RANGE, "the model's output is not a finite number");
    for (int64_t i = 0; label && i < n; i++) {
        if (m->predicted[i] < 0) continue; /* a word that was cut */
        m->predicted[m->truth.n] = m->predicted[i];
        m->truth.label[m->truth.n++] = label[i];
    }
    to->n = heed_task_count(m->data);
    if (m->truth.n == 0) return true;
    to->truth = &m->truth;
    to->label = m->predicted;
    to->words = m->data->labels > 0;
    return true;
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    const heed_head *const head = heed_directory_head(r->measured);
    struct measured *const m = evaluation_room(r->cx, to, sizeof *m, free_measured);
    char name[32];
    if (!m) return false;
    m->model = text_model_of(r->cx, r->measured, task_to_open(r, head, name));
    return m->model && read_measured(r, part, head, m) && measure_data(r, m, to);
}

/* ---- answers ---- */

static bool answer(heed_run *r, const char *example, heed_json at) {
    struct texts *t = texts_of(r);
    if (!t->task->answer)
        return heed_fail(r->cx, HEED_ERR_USAGE,
                         "run_answer: %s is not answered example by example; 'heed %s' uses its models", r->task->name,
                         heed_run_next(r, NULL));
    if (!t->answering) t->answering = heed_text_model_open(r->cx, r->dir, run_head(r));
    return t->answering && t->task->answer(r->cx, t->answering, example, at);
}

/* ---- the ways ---- */

#define TEXTS                                                                                                          \
    .what = "text", .input = "input_ids", .next = "eval", .next_how = " --data FILE", .check = check, .load = load,    \
    .plan = plan, .model_of = texts_model, .begin = begin, .free = free_texts, .answer = answer, .evaluate = evaluate

const struct task_way way_texts = {TEXTS};

const struct task_way *const ways_of_texts[] = {&way_texts, NULL};

/* The fields of this way, where a task takes tables or pictures too. */
static const heed_field own_fields[] = {
    {.name = "columns", .kind = HEED_FIELD_TABLE, .table = text_column_fields},
    {.name = "texts", .kind = HEED_FIELD_TABLE, .table = text_fields},
    CLASS_WEIGHTS_FIELD,
    {.name = NULL},
};
static const struct task_default defaults[] = {
    {"epochs", "10", "3"}, {"batch", "32", NULL}, {"lr", "5e-4", "5e-5"}, {NULL, NULL, NULL}};
const struct task_way way_texts_beside = {TEXTS, .own = own_fields, .defaults = defaults};
