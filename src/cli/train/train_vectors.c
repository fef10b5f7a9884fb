/* heed train regress, classify: vectors and pictures. */
#include "cli/core/data_options.h"
#include "cli/core/table_options.h"
#include "cli/eval/coefficients.h"
#include "cli/eval/eval_report.h"
#include "cli/train/train.h"
#include "data/recognise.h"
#include <stdio.h>
#include <string.h>

struct vectors {
    bool classify;
    heed_data *data, *valid, *test; /* valid NULL: rows of data */
    int64_t *train_rows, *valid_rows, n_train, n_valid, batch;
    heed_examples *examples;
};

static struct vectors *vectors_of(const struct train_run *r) { return r->own; }

/* ---- the data ---- */

static heed_data *load_beside(struct train_run *r, const char *path, const heed_data_opts *opts) {
    heed_data *d = task_load(r->cx, path, opts);
    if (d) table_say_skipped(r->o, path, d->skipped, d->n);
    return d;
}

static void load_all(struct train_run *r, heed_data_opts *opts) {
    struct vectors *v = vectors_of(r);
    const char *test = option_text(r->o, "test");
    v->data = load_beside(r, r->path, opts);
    if (!v->data) return;
    opts->like = v->data;
    char file[FOUND_PATH];
    if (!option_given(r->o, "valid") && data_part_file(r->path, "valid", data_table_endings, file))
        v->valid = load_beside(r, file, opts);
    if (!test && !task_has_test_part(r->path)) return;
    if (!test) test = r->path;
    opts->part = task_has_parts(test) ? "test" : NULL;
    v->test = load_beside(r, test, opts);
}

static bool load_data(struct train_run *r) {
    struct vectors *v = vectors_of(r);
    struct table_columns columns;
    heed_data_opts opts = {.task = v->classify ? HEED_DATA_CLASSIFY : HEED_DATA_REGRESS,
                           .target = option_text(r->o, "target")};
    if (table_ask(r->o, r->cx, &columns, &opts)) load_all(r, &opts);
    table_columns_free(r->cx, &columns);
    if (v->data && v->classify && v->data->classes < 2)
        heed_fail(r->cx, HEED_ERR_USAGE, "%s: all examples are of one class", r->path);
    return !heed_failed(r->cx);
}

/* A straight line needs nobody to tell when it has learnt too much, and is fitted to all the data. */
static bool is_line(const struct train_run *r) {
    return !vectors_of(r)->classify && strcmp(r->family->name, "linear") == 0;
}

static bool split_data(struct train_run *r) {
    struct vectors *v = vectors_of(r);
    double fraction = is_line(r) || v->valid || v->data->n < 10 ? 0 : 0.1;
    if (option_given(r->o, "valid")) fraction = option_number(r->o, "valid");
    return heed_data_split(r->cx, v->data, fraction, heed_seed(r->cx), &v->train_rows, &v->n_train, &v->valid_rows,
                           &v->n_valid);
}

/* ---- the model ---- */

static void set_param(struct train_run *r, const char *name, const float *values) {
    const heed_param *p = heed_params_find(heed_model_params(r->model), name);
    if (p) memcpy(p->value, values, (size_t)p->count * sizeof *values);
}

static bool wants(const struct train_run *r, const char *mean) {
    return heed_params_find(heed_model_params(r->model), mean);
}

/* Means and deviations of the training examples, into a model that wants them. */
static bool standardise(struct train_run *r) {
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

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct vectors *v = vectors_of(r);
    const heed_data *d = v->data;
    struct train_settings s = {.n = 0}, head = {.n = 0};
    char text[7][80];
    const bool picture = d->image_height > 0;
    snprintf(text[0], sizeof text[0], "input_size=%lld", (long long)d->width);
    snprintf(text[1], sizeof text[1], "output_size=%lld", (long long)(v->classify ? d->classes : d->outputs));
    snprintf(text[2], sizeof text[2], "task=%s", v->classify ? "classify" : "regress");
    snprintf(text[3], sizeof text[3], "standardize_input=%s", picture ? "false" : "true");
    snprintf(text[4], sizeof text[4], "standardize_output=%s", v->classify ? "false" : "true");
    snprintf(text[5], sizeof text[5], "image_size=%lld,%lld", (long long)d->image_height, (long long)d->image_width);
    snprintf(text[6], sizeof text[6], "image_channels=%lld", (long long)d->image_channels);
    for (; s.n < (picture ? 7 : 5); s.n++) s.text[s.n] = text[s.n];
    head.text[head.n++] = text[1];
    heed_model *model = train_make_model(r, cx, &s, &head);
    if (model) heed_model_describe(cx, model, d);
    return model;
}

/* ---- the run ---- */

/* A family with a head for the task may still be one of text, whose data these are not. */
static bool usage(struct train_run *r) {
    for (const heed_key *k = r->family->keys; k->name; k++)
        if (strcmp(k->name, "input_size") == 0) return table_usage(r->o);
    cli_error(EXIT_USAGE, "train: %s is no model of tables or pictures, which %s reads", r->family->name,
              r->task->page.name);
    return false;
}

static bool load(struct train_run *r) {
    struct vectors *v = heed_mem_new(r->cx, sizeof *v);
    if (!v) return false;
    *v = (struct vectors){.classify = strcmp(r->task->page.name, "classify") == 0};
    r->own = v;
    return load_data(r) && split_data(r);
}

static int64_t good_batch(const struct train_run *r) {
    const struct vectors *v = vectors_of(r);
    int64_t batch = 128;
    if (is_line(r)) batch = 4096; /* the gradient of all of a small data set has no noise */
    while (!is_line(r) && batch > 8 && batch * 20 > v->n_train) batch /= 2;
    return batch < v->n_train ? batch : v->n_train;
}

/* At least some 2000 updates, for small data. */
static int64_t good_epochs(const struct train_run *r) {
    const struct vectors *v = vectors_of(r);
    const int64_t per_epoch = (v->n_train - 1) / v->batch + 1, enough = (2000 - 1) / per_epoch + 1;
    return enough > 10 ? enough : 10;
}

static bool set(struct train_run *r) {
    struct vectors *v = vectors_of(r);
    heed_loop_opts *l = &r->loop;
    const int64_t accumulate = option_given(r->o, "accumulate") ? option_int(r->o, "accumulate") : 1;
    char examples[48];
    v->batch = option_given(r->o, "batch") ? option_int(r->o, "batch") : good_batch(r);
    if (!option_given(r->o, "lr") && is_line(r)) l->trainer.schedule.lr = 0.01;
    heed_examples_opts opts = {.train = v->data,
                               .train_rows = v->train_rows,
                               .n_train = v->n_train,
                               .test = v->test,
                               .batch = v->batch,
                               .micro_batch = option_int(r->o, "micro-batch"),
                               .seed = heed_seed(r->cx)};
    if (v->valid) {
        opts.valid = v->valid;
    } else if (v->n_valid > 0) {
        opts.valid = v->data;
        opts.valid_rows = v->valid_rows;
        opts.n_valid = v->n_valid;
    }
    if (accumulate > 1) {
        opts.micro_batch = v->batch;
        opts.batch = v->batch *= accumulate;
    }
    l->epochs = option_given(r->o, "epochs") ? option_int(r->o, "epochs") : good_epochs(r);
    if (v->batch > v->n_train)
        return heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %s to train on",
                         (long long)v->batch, cli_count(v->n_train, "example", "examples", examples));
    v->examples = heed_examples_new(r->cx, &opts);
    l->source = heed_examples_source(v->examples);
    return l->source;
}

static bool begin(struct train_run *r) {
    const struct vectors *v = vectors_of(r);
    char text[2][48];
    if (!option_given(r->o, "init") && !standardise(r)) return false;
    if (!option_flag(r->o, "quiet"))
        fprintf(stderr, "%s: %s to train on, %lld to validate, %lld to test; %s with %s\n",
                strcmp(r->path, "-") == 0 ? "standard input" : r->path,
                cli_count(v->n_train, "example", "examples", text[0]), (long long)(v->valid ? v->valid->n : v->n_valid),
                (long long)(v->test ? v->test->n : 0), r->family->name,
                cli_count(heed_params_numbers(heed_model_params(r->model)), "parameter", "parameters", text[1]));
    return true;
}

static void print_coefficients(struct train_run *r, FILE *to) {
    if (coefficients_print(r->cx, r->model, to)) fputc('\n', to);
}
static void put_coefficients(struct train_run *r, heed_json result) { coefficients_put(r->cx, r->model, result); }

static void free_vectors(struct train_run *r) {
    struct vectors *v = vectors_of(r);
    if (!v) return;
    heed_mem_free(r->cx, v->train_rows);
    heed_mem_free(r->cx, v->valid_rows);
    heed_examples_free(r->cx, v->examples);
    heed_data_free(r->cx, v->test);
    heed_data_free(r->cx, v->valid);
    heed_data_free(r->cx, v->data);
    heed_mem_free(r->cx, v);
}

/* ---- heed eval ---- */

static void evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_model *model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true});
    heed_data *like = heed_model_data(cx, model);
    heed_data *data = NULL;
    if (like) {
        struct table_columns columns;
        heed_data_opts opts = {.task = like->classes ? HEED_DATA_CLASSIFY : HEED_DATA_REGRESS,
                               .target = option_text(o, "target"),
                               .part = task_has_parts(path) ? option_text(o, "part") : NULL,
                               .like = like};
        if (table_ask(o, cx, &columns, &opts)) data = task_load(cx, path, &opts);
        table_columns_free(cx, &columns);
    }
    if (data) table_say_skipped(o, path, data->skipped, data->n);
    if (data) report_data(o, cx, model, path, data, like);
    heed_data_free(cx, data);
    heed_data_free(cx, like);
    heed_model_free(cx, model);
}

/* ---- the tasks ---- */

/* clang-format off */
/* Of numbers and texts; classify has those of pictures beside. */
#define VECTOR_OPTIONS \
    {.name = "data", .kind = HEED_FIELD_GROUP}, \
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH", \
     .help = "csv, tsv (also .gz), a directory with train.csv, dev.csv and test.csv, x.npy,y.npy, a directory of MNIST's files, pictures in folders or a .tar.gz, the word digits, or a table of texts"}, \
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH", \
     .help = "test data, measured once at the end; by default a directory's own test part"}, \
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999, \
     .help = "fraction of the data held out for validation; by default 0.1, for linear regression 0"}, \
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN", \
     .help = "the column of a table to predict: name or number, several as a,b; by default the last"}, \
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = table_options}, \
    {.name = "columns", .kind = HEED_FIELD_TABLE, .table = text_column_options}, \
    CLASS_WEIGHTS_OPTION, \
    {.name = "texts", .kind = HEED_FIELD_TABLE, .table = text_options}, \
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options}, \
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "mlp", .value = "FAMILY", \
     .help = "model family; 'heed list' shows them"}, \
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9, \
     .help = "number of passes over the training data; by default 10, more for small data; of texts 3 with --init"}, \
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9, \
     .help = "examples per update; by default 128, of texts 32, fewer for small data"}, \
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6, \
     .help = "peak learning rate; by default 0.001, with sgd or linear regression 0.01; of texts 0.0005, with --init 0.00005; of pictures with --init 0.0001"}
static const heed_field options[] = {
    VECTOR_OPTIONS,
    {.name = NULL},
};
static const heed_field classify_options[] = {
    VECTOR_OPTIONS,
    {.name = "pictures", .kind = HEED_FIELD_GROUP},
    {.name = "augmentation", .kind = HEED_FIELD_TABLE, .table = augment_options},
    {.name = NULL},
};
/* clang-format on */

#define TASK(task_name, table, of_pictures, said, explained, shown)                                                    \
    {                                                                                                                  \
        .page = {.name = task_name, .summary = said, .about = explained, .options = table, .examples = shown},         \
        .text = &train_text, .pictures = of_pictures, .next = "predict",                                               \
        .next_how = " --data FILE   (or numbers on standard input)", .usage = usage, .load = load, .set = set,         \
        .model = new_model, .begin = begin, .print = print_coefficients, .put = put_coefficients,                      \
        .free = free_vectors, .evaluate = evaluate,                                                                    \
    }

const struct train_task train_regress = TASK(
    "regress", options, NULL, "numbers from numbers or texts",
    "Trains a model to predict numbers from a table. Columns of text become categories, one input each (one-hot). "
    "Inputs and targets are standardised; the metric is R^2.\n\n"
    "With --text COLUMN, --init DIR of an encoder, or --model of one (bert, roberta, ...), the table holds texts, or "
    "pairs of them, and a number; the metrics are Pearson's and Spearman's correlation.",
    "heed train regress --data houses.csv --target price --out houses --log houses.jsonl\n"
    "heed train regress --data houses.csv --target price --drop id,address --skip-missing --out houses\n"
    "heed train regress --data points.csv --model linear --out line\n"
    "heed train regress --data sts.tsv --init all-MiniLM-L6-v2 --out similarity\n");

const struct train_task train_classify = TASK(
    "classify", classify_options, &train_pictures, "classes from numbers, pictures or texts",
    "Trains a model to predict classes from a table or from pictures. The metric is accuracy.\n\n"
    "With --model vit, deit, dinov2, timm-vit, cait, swin, swinv2, timm-swin or mixer, or --init DIR of one, --data "
    "holds "
    "pictures: "
    "folders train/CLASS/NAME.jpg or .png with test/ and, where there is one, val/ beside it, or CLASS/NAME.jpg alone, "
    "the same in a .tar.gz, a directory of MNIST's files, x.npy,y.npy of bytes, or the word digits. Sizes follow from "
    "the data: "
    "a fresh model for pictures of at most 64 x 64 has patches of 4 x 4 and 6 layers of 192 numbers (Swin: patches "
    "of 2 x 2, stages of 2, 2 and 2 blocks, 48 numbers in the first), for larger ones pictures of 224 x 224 and "
    "the sizes of ViT-Ti or Swin-T; --set overrides each. Perceiver takes pictures too, with a head that --head names. "
    "Another size with --init interpolates positions. How "
    "pictures are resized and normalised is written as transformers' preprocessor_config.json or timm's "
    "pretrained_cfg. Augmentation is off unless it is asked for.\n\n"
    "With --text COLUMN, --init DIR of an encoder, or --model of one (bert, roberta, ...), the table holds texts, or "
    "pairs of them, and a class; the metrics are accuracy, macro F1 and Matthews' correlation. --data may be a "
    "directory "
    "with train.tsv, dev.tsv and test.tsv.",
    "heed train classify --data digits --out out\n"
    "heed train classify --data mnist --recipe recipes/mnist-mlp.recipe --out mnist-mlp\n"
    "heed train classify --data iris.csv --target species --out iris\n"
    "heed train classify --model vit --data mnist --crop-padding 2 --out mnist-vit\n"
    "heed train classify --model vit --data photos.tar.gz --crop-area 0.3 --flip 0.5 --rand-augment 2 --mixup 0.8 "
    "--cutmix 1 --sheet sheet.png --out photos\n"
    "heed train classify --init vit-base --data photos --set image_size=384 --epochs 3 --layer-decay 0.75 --out "
    "photos\n"
    "heed train classify --data sst2 --init all-MiniLM-L6-v2 --epochs 1 --out sentiment\n");
