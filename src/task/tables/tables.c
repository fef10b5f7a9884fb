/* Regress and classify: numbers or classes from vectors of numbers, pictures among them. */
#include "base/text.h"
#include "data/recognise.h"
#include "task/answers.h"
#include "task/run.h"
#include "task/tables/table_data.h"
#include "task/tables/table_fields.h"
#include "task/task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vectors {
    bool classify;
    heed_data *data, *valid, *test; /* valid NULL: rows of data */
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_examples *examples;
};

static struct vectors *vectors_of(const heed_run *r) { return r->user; }

/* ---- the data ---- */

static heed_data *load_beside(heed_run *r, const char *path, const heed_data_opts *opts) {
    heed_data *d = table_data_load(r->cx, path, opts);
    if (d) table_say_skipped(r->cx, path, d->skipped, d->n);
    return d;
}

static void load_all(heed_run *r, heed_data_opts *opts) {
    struct vectors *v = vectors_of(r);
    const char *test = run_text(r, "test");
    v->data = load_beside(r, r->path, opts);
    if (!v->data) return;
    opts->like = v->data;
    char file[FOUND_PATH];
    if (!run_given(r, "valid") && data_part_file(r->path, "valid", data_table_endings, file))
        v->valid = load_beside(r, file, opts);
    if (!test && !table_data_has_test_part(r->path)) return;
    if (!test) test = r->path;
    opts->part = table_data_has_parts(test) ? "test" : NULL;
    v->test = load_beside(r, test, opts);
}

static bool load_data(heed_run *r) {
    struct vectors *v = vectors_of(r);
    struct table_columns columns;
    heed_data_opts opts = {.task = v->classify ? HEED_DATA_CLASSIFY : HEED_DATA_REGRESS,
                           .target = run_text(r, "target")};
    if (table_ask(r->values, r->cx, &columns, &opts)) load_all(r, &opts);
    table_columns_free(r->cx, &columns);
    if (v->data && v->classify && v->data->classes < 2)
        heed_fail(r->cx, HEED_ERR_USAGE, "%s: all examples are of one class", r->path);
    return !heed_failed(r->cx);
}

/* A straight line does not overfit: without --valid it is fitted to all the data. */
static bool is_line(const heed_run *r) { return !vectors_of(r)->classify && !run_has_key(r->family, "hidden_sizes"); }

static bool split_data(heed_run *r) {
    struct vectors *v = vectors_of(r);
    const bool all = (is_line(r) || v->valid) && !run_given(r, "valid");
    const double fraction = all ? 0 : run_held_out(r, v->data->n);
    return heed_data_split(r->cx, v->data, fraction, heed_seed(r->cx), &v->train_rows, &v->n_train, &v->valid_rows,
                           &v->n_valid);
}

/* ---- the model ---- */

static void set_param(heed_run *r, const char *name, const float *values) {
    const heed_param *p = heed_params_find(heed_model_params(r->model), name);
    if (p) memcpy(p->value, values, (size_t)p->count * sizeof *values);
}

static bool wants(const heed_run *r, const char *mean) { return heed_params_find(heed_model_params(r->model), mean); }

/* The means and deviations of the training examples go into a model that has parameters for them. */
static bool standardise(heed_run *r) {
    const struct vectors *v = vectors_of(r);
    const heed_data *d = v->data;
    const heed_data targets = {.n = d->n, .width = d->outputs, .x = d->y};
    for (int i = 0; i < (d->y ? 2 : 1); i++) {
        const heed_data *of = i == 0 ? d : &targets;
        if (!wants(r, i == 0 ? "input_mean" : "output_mean")) continue;
        float *mean = heed_mem_new(r->cx, (size_t)of->width * sizeof *mean);
        float *deviation = heed_mem_new(r->cx, (size_t)of->width * sizeof *deviation);
        if (deviation && heed_data_moments(r->cx, of, v->train_rows, v->n_train, mean, deviation)) {
            set_param(r, i == 0 ? "input_mean" : "output_mean", mean);
            set_param(r, i == 0 ? "input_deviation" : "output_deviation", deviation);
        }
        heed_mem_free(r->cx, mean);
        heed_mem_free(r->cx, deviation);
    }
    return !heed_failed(r->cx);
}

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct vectors *v = vectors_of(r);
    const heed_data *d = v->data;
    struct settings s = {.n = 0}, head = {.n = 0};
    char text[7][80];
    const bool picture = d->image_height > 0;
    snprintf(text[0], sizeof text[0], "input_size=%lld", (long long)d->width);
    snprintf(text[1], sizeof text[1], "output_size=%lld", (long long)(v->classify ? d->classes : d->outputs));
    snprintf(text[2], sizeof text[2], "task=%s", r->task->name);
    snprintf(text[3], sizeof text[3], "standardize_input=%s", picture ? "false" : "true");
    snprintf(text[4], sizeof text[4], "standardize_output=%s", v->classify ? "false" : "true");
    snprintf(text[5], sizeof text[5], "image_size=%lld,%lld", (long long)d->image_height, (long long)d->image_width);
    snprintf(text[6], sizeof text[6], "image_channels=%lld", (long long)d->image_channels);
    for (; s.n < (picture ? 7 : 5); s.n++) s.text[s.n] = text[s.n];
    head.text[head.n++] = text[1];
    heed_model *model = run_make_model(r, cx, &s, &head);
    if (model) heed_model_describe(cx, model, d);
    return model;
}

/* ---- the run ---- */

/* A family with a head for the task may still be one of text, which reads other data. */
static bool check(heed_run *r) {
    char why[FIELD_WHY];
    if (!run_has_key(r->family, "input_size"))
        return run_misused(r, "%s is no model of tables or pictures, which %s reads", r->family->name, r->task->name);
    return table_fields_fit(r->values, why) || run_option_misused(r, "%s", why);
}

static bool load(heed_run *r) {
    struct vectors *v = heed_mem_new(r->cx, sizeof *v);
    if (!v) return false;
    *v = (struct vectors){.classify = r->task == &task_of_classify};
    r->user = v;
    return load_data(r) && split_data(r);
}

static int64_t good_batch(const heed_run *r) {
    int64_t batch = 128;
    if (is_line(r)) return 4096; /* the gradient of all of a small data set has no noise */
    while (batch > 8 && batch * 20 > vectors_of(r)->n_train) batch /= 2;
    return batch;
}

/* Small data get at least some 2000 updates. */
static int64_t good_epochs(int64_t examples, int64_t batch) {
    const int64_t per_epoch = (examples - 1) / batch + 1, enough = (2000 - 1) / per_epoch + 1;
    return enough > 10 ? enough : 10;
}

static bool plan(heed_run *r) {
    struct vectors *v = vectors_of(r);
    struct run_batch b;
    if (!run_batch(r, good_batch(r), v->n_train, "example", "examples", &b)) return false;
    heed_examples_opts opts = {.train = v->data,
                               .train_rows = v->train_rows,
                               .n_train = v->n_train,
                               .valid = v->valid         ? v->valid
                                        : v->n_valid > 0 ? v->data
                                                         : NULL,
                               .valid_rows = v->valid ? NULL : v->valid_rows,
                               .n_valid = v->valid ? 0 : v->n_valid,
                               .test = v->test,
                               .batch = b.batch,
                               .micro_batch = b.micro_batch,
                               .seed = heed_seed(r->cx)};
    if (is_line(r) && !run_given(r, "lr")) r->loop.trainer.schedule.lr = strtod(LINE_LR, NULL);
    if (!run_given(r, "epochs")) r->loop.epochs = good_epochs(v->n_train, b.batch);
    v->examples = heed_examples_new(r->cx, &opts);
    r->loop.source = heed_examples_source(v->examples);
    return r->loop.source;
}

static bool begin(heed_run *r) {
    const struct vectors *v = vectors_of(r);
    char count[48];
    if (!run_init(r) && !standardise(r)) return false;
    run_say_sets(r, text_count(v->n_train, "example", "examples", count), v->valid ? v->valid->n : v->n_valid,
                 v->test ? v->test->n : 0, "");
    return true;
}

static void free_vectors(heed_run *r) {
    struct vectors *v = vectors_of(r);
    heed_mem_free(r->cx, v->train_rows);
    heed_mem_free(r->cx, v->valid_rows);
    heed_examples_free(r->cx, v->examples);
    heed_data_free(r->cx, v->test);
    heed_data_free(r->cx, v->valid);
    heed_data_free(r->cx, v->data);
    heed_mem_free(r->cx, v);
}

/* ---- measuring ---- */

struct measured {
    heed_data *data, *like;
    int32_t *label;
    float *y;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    heed_mem_free(cx, m->label);
    heed_mem_free(cx, m->y);
    heed_data_free(cx, m->data);
    heed_data_free(cx, m->like);
    heed_mem_free(cx, m);
}

static bool predict(heed_run *r, const heed_model *model, struct measured *m, heed_evaluation *to) {
    const heed_data *const d = m->data;
    const size_t n = (size_t)d->n;
    if (d->label)
        m->label = heed_mem_new(r->cx, n * sizeof *m->label);
    else
        m->y = heed_mem_new(r->cx, n * (size_t)d->outputs * sizeof *m->y);
    to->n = d->n;
    to->truth = d;
    to->like = m->like;
    to->label = m->label;
    to->y = m->y;
    return !heed_failed(r->cx) && heed_metrics_find(r->cx, heed_loop_metric(d), &to->metrics) &&
           heed_loop_predict(r->cx, model, d, run_int(r, "batch"), &to->score, m->label, m->y) &&
           ((isfinite(to->score.loss) && isfinite(to->score.metric)) ||
            heed_fail(r->cx, HEED_ERR_RANGE, "the loss is not a finite number"));
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    heed_model *const model = heed_directory_model(r->cx, r->measured, &(heed_load_opts){.map = true});
    struct measured *const m = model ? evaluation_room(r->cx, to, sizeof *m, free_measured) : NULL;
    struct table_columns columns;
    bool ok = false;
    if (m) m->like = heed_model_data(r->cx, model);
    if (m && m->like) {
        heed_data_opts opts = {.task = m->like->classes ? HEED_DATA_CLASSIFY : HEED_DATA_REGRESS,
                               .target = run_text(r, "target"),
                               .part = table_data_has_parts(r->path) ? part : NULL,
                               .like = m->like};
        if (table_ask(r->values, r->cx, &columns, &opts)) m->data = table_data_load(r->cx, r->path, &opts);
        table_columns_free(r->cx, &columns);
    }
    if (m && m->data) {
        table_say_skipped(r->cx, r->path, m->data->skipped, m->data->n);
        ok = predict(r, model, m, to) || heed_fail_in(r->cx, "%s", r->path);
    }
    heed_model_free(r->cx, model);
    return ok;
}

/* ---- answers ---- */

/* Numbers, or the likeliest class with the probabilities of all. */
static void put_answer(heed_run *r, const heed_data *like, const float *y, int64_t n, heed_json at) {
    heed_ctx *const cx = r->cx;
    if (!like->classes) {
        const heed_json list = heed_json_put_array(cx, at, "values");
        for (int64_t k = 0; k < n; k++) heed_json_put_number(cx, list, NULL, (double)y[k]);
        return;
    }
    float *const p = heed_mem_new(cx, ((size_t)n + 1) * sizeof *p);
    for (int64_t k = 0; p && k < n; k++) p[k] = y[k];
    if (p && n == 1) { /* a single logit is that of class 1 against class 0 */
        p[1] = p[0];
        p[0] = 0;
    }
    if (p) task_softmax(p, like->classes);
    if (p) answer_put_best(cx, at, like->class_names, p, like->classes);
    if (p) answer_put_scores(cx, at, like->class_names, p, like->classes);
    heed_mem_free(cx, p);
}

static bool answer(heed_run *r, const char *example, heed_json at) {
    heed_ctx *const cx = r->cx;
    heed_data *const like = heed_model_data(cx, r->model);
    const heed_data_opts opts = {
        .task = HEED_DATA_INPUTS, .like = like, .table = {.delimiter = ',', .header = HEED_HEADER_NO}};
    heed_data *const row = like ? heed_data_parse(cx, "example", example, strlen(example), &opts) : NULL;
    heed_io in = {0}, out;
    if (row && row->n == 1 && row->x) {
        heed_io_put(cx, &in, "x", heed_borrow(cx, HEED_F32, row->x, 2, (int64_t[]){1, row->width}, NULL));
        heed_tensor *const y =
            heed_model_forward(cx, r->model, &in, &out) ? heed_contiguous(cx, heed_io_get(&out, "logits")) : NULL;
        if (heed_f32(y) && task_all_finite(cx, heed_f32(y), heed_count(y)))
            put_answer(r, like, heed_f32(y), heed_count(y), at);
        heed_reset(cx);
    } else if (row) {
        heed_fail(cx, HEED_ERR_USAGE, "run_answer: a row of numbers and categories with commas is needed");
    }
    heed_data_free(cx, row);
    heed_data_free(cx, like);
    return !heed_failed(cx);
}

const struct task_way way_tables = {.what = "tables",
                                    .next = "predict",
                                    .next_how = " --data FILE   (or numbers on standard input)",
                                    .check = check,
                                    .load = load,
                                    .plan = plan,
                                    .model_of = new_model,
                                    .begin = begin,
                                    .answer = answer,
                                    .evaluate = evaluate,
                                    .free = free_vectors};
