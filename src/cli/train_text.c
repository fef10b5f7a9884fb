/* heed train for models of text: any task of heed/task.h. */
#include "cli/task.h"
#include "cli/texts.h"
#include "cli/train.h"
#include "train/loop.h"
#include <stdio.h>
#include <string.h>

enum { TRAIN, VALID, TEST, SETS };

struct texts {
    const heed_text_task *task;
    heed_task_data *data[SETS]; /* NULL: none; validation may be rows of TRAIN */
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_task_opts opts;
    heed_tokenizer *tokens;
    heed_text_reader reader;
    heed_source *source;
    int64_t batch;
};

static struct texts *texts_of(const struct train_run *r) { return r->own; }

/* ---- the data ---- */

static bool read_set(struct train_run *r, int set, const char *path) {
    struct texts *t = texts_of(r);
    t->opts.like = t->data[TRAIN];
    t->data[set] = path ? heed_task_read(r->cx, t->task, path, &t->opts) : NULL;
    return !heed_failed(r->cx);
}

static bool read_sets(struct train_run *r) {
    char file[PATH_ROOM];
    const char *valid = option_text(r->o, "valid-data"), *test = option_text(r->o, "test");
    const char *train = texts_part(r->path, "train", file);
    if (!train) return heed_fail(r->cx, HEED_ERR_FILE, "%s: there is no file train.tsv, nor .csv or .txt", r->path);
    const bool directory = train == file;
    if (!read_set(r, TRAIN, train)) return false;
    const bool given = valid || option_given(r->o, "valid");
    if (!read_set(r, VALID, valid ? valid : directory && !given ? texts_part(r->path, "valid", file) : NULL))
        return false;
    return read_set(r, TEST,
                    test        ? texts_part(test, "test", file)
                    : directory ? texts_part(r->path, "test", file)
                                : NULL);
}

static bool make_tokenizer(struct train_run *r) {
    struct texts *t = texts_of(r);
    const char *path = option_text(r->o, "tokenizer"), *init = option_text(r->o, "init");
    if (path || init) {
        t->tokens = heed_tokenizer_load(r->cx, path ? path : init);
    } else {
        const heed_lines *texts[] = {heed_task_texts(t->data[TRAIN]), heed_task_pairs(t->data[TRAIN])};
        t->tokens =
            heed_vocabulary_train_encoder(r->cx, texts, texts[1] ? 2 : 1,
                                          heed_vocabulary_kind(option_text(r->o, "tokens")), option_int(r->o, "vocab"));
    }
    return t->tokens;
}

/* Examples may be several rows of the data set: the rows of those that were chosen, in the order of the data. */
static bool expand_rows(struct train_run *r, int64_t examples) {
    struct texts *t = texts_of(r);
    const heed_task_data *data = t->data[TRAIN];
    const int64_t rows = heed_task_count(data);
    if (rows == examples) return true;
    bool *valid = heed_mem_new(r->cx, (size_t)examples * sizeof *valid);
    int64_t *both = heed_mem_new(r->cx, (size_t)rows * sizeof *both),
            *more = heed_mem_new(r->cx, (size_t)rows * sizeof *more);
    if (!heed_failed(r->cx)) {
        memset(valid, 0, (size_t)examples * sizeof *valid);
        for (int64_t i = 0; i < t->n_valid; i++) valid[t->valid_rows[i]] = true;
        heed_mem_free(r->cx, t->train_rows);
        heed_mem_free(r->cx, t->valid_rows);
        t->n_train = t->n_valid = 0;
        t->train_rows = both;
        t->valid_rows = more;
        for (int64_t i = 0; i < rows; i++) {
            if (valid[heed_task_example(data, i)])
                more[t->n_valid++] = i;
            else
                both[t->n_train++] = i;
        }
    } else {
        heed_mem_free(r->cx, both);
        heed_mem_free(r->cx, more);
    }
    heed_mem_free(r->cx, valid);
    return !heed_failed(r->cx);
}

/* Examples for validation, where no file holds them. */
static bool split(struct train_run *r) {
    struct texts *t = texts_of(r);
    const double fraction = option_given(r->o, "valid") ? option_number(r->o, "valid") : 0.1;
    const int64_t n = heed_task_examples(t->data[TRAIN]);
    t->n_train = heed_task_count(t->data[TRAIN]);
    if (t->data[VALID] || fraction == 0 || n < 10) return true;
    return heed_rows_split(r->cx, n, fraction, heed_seed(r->cx), &t->train_rows, &t->n_train, &t->valid_rows,
                           &t->n_valid) &&
           expand_rows(r, n);
}

/* ---- the model ---- */

/* A model from scratch is small enough to be trained on a CPU within the hour; --set makes it larger. */
static const struct {
    const char *key, *setting;
} sizes[] = {{"hidden_size", "hidden_size=256"},
             {"num_hidden_layers", "num_hidden_layers=4"},
             {"num_attention_heads", "num_attention_heads=4"},
             {"intermediate_size", "intermediate_size=1024"},
             {"embedding_size", "embedding_size=128"},
             {"dim", "dim=256"},
             {"n_layers", "n_layers=4"},
             {"n_heads", "n_heads=4"},
             {"hidden_dim", "hidden_dim=1024"}};

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct texts *t = texts_of(r);
    struct train_settings fresh = {.n = 0}, kept = {.n = 0};
    char text[4][64];
    char **names;
    const int64_t labels = heed_task_labels(t->data[TRAIN], &names);
    const bool numbers = strcmp(r->task->page.name, "regress") == 0;
    const bool classes = strcmp(r->task->page.name, "classify") == 0;
    snprintf(text[0], sizeof text[0], "vocab_size=%lld", (long long)heed_tokenizer_size(t->tokens));
    snprintf(text[1], sizeof text[1], "pad_token_id=%d", (int)heed_vocabulary_padding(t->tokens));
    const bool spans = strcmp(r->task->page.name, "qa") == 0; /* labels are start and end */
    snprintf(text[2], sizeof text[2], "num_labels=%lld", (long long)(numbers ? 1 : spans ? 2 : labels));
    fresh.text[fresh.n++] = text[0];
    fresh.text[fresh.n++] = text[1];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (train_has_key(r->family, sizes[i].key)) fresh.text[fresh.n++] = sizes[i].setting;
    if (numbers || spans || labels > 0) fresh.text[fresh.n++] = kept.text[kept.n++] = text[2];
    if (numbers) fresh.text[fresh.n++] = kept.text[kept.n++] = "problem_type=regression";
    if (classes) fresh.text[fresh.n++] = kept.text[kept.n++] = "problem_type=single_label_classification";
    heed_model *model = train_make_model(r, cx, &fresh, &kept);
    if (model && labels > 0)
        heed_model_describe(cx, model, &(heed_data){.label = &(int32_t){0}, .classes = labels, .class_names = names});
    return model;
}

static bool set_reader(struct train_run *r) {
    struct texts *t = texts_of(r);
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *model = new_model(r, dry);
    if (!model || !heed_text_reader_of(dry, model, t->tokens, option_int(r->o, "max-length"), &t->reader))
        heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
    heed_model_free(dry, model);
    heed_close(dry);
    return !heed_failed(r->cx);
}

static bool load(struct train_run *r) {
    struct texts *t = heed_mem_new(r->cx, sizeof *t);
    if (!t) return false;
    *t = (struct texts){.task = heed_text_task_find(r->task->page.name), .opts = texts_opts(r->o)};
    r->own = t;
    if (!read_sets(r) || !make_tokenizer(r) || !set_reader(r)) return false;
    for (int i = 0; i < SETS; i++)
        if (t->data[i] && !heed_task_encode(r->cx, t->data[i], &t->reader)) return false;
    return split(r);
}

/* ---- the run ---- */

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const struct texts *t = own;
    if (test) return heed_task_measure(cx, model, t->data[TEST], NULL, 0, score, NULL);
    if (t->data[VALID]) return heed_task_measure(cx, model, t->data[VALID], NULL, 0, score, NULL);
    return heed_task_measure(cx, model, t->data[TRAIN], t->valid_rows, t->n_valid, score, NULL);
}

/* What the task draws anew in each epoch. */
static void transform(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const void *data;
    heed_task_transform(((const struct texts *)own)->data[TRAIN], &data)(data, seed, epoch, row, cells);
}

static bool forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const void *data;
    return heed_task_forward(((const struct texts *)own)->data[TRAIN], &data)(cx, data, model, in, out);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    const struct texts *t = own;
    if (t->opts.masked > 0) notes_put_number(cx, at, "masked", t->opts.masked);
    if (t->opts.temperature > 0) notes_put_number(cx, at, "temperature", t->opts.temperature);
}

static const heed_dataset *columns_of(const struct texts *t, int set) {
    return t->data[set] ? heed_task_columns(t->data[set]) : NULL;
}

static bool set(struct train_run *r) {
    struct texts *t = texts_of(r);
    heed_loop_opts *l = &r->loop;
    const int64_t accumulate = option_given(r->o, "accumulate") ? option_int(r->o, "accumulate") : 1;
    const bool init = option_given(r->o, "init");
    char examples[48];
    t->batch = option_given(r->o, "batch") ? option_int(r->o, "batch") : 32;
    if (!option_given(r->o, "batch") && t->batch > t->n_train) t->batch = t->n_train;
    heed_source_opts opts = {.train = columns_of(t, TRAIN),
                             .valid = t->valid_rows ? columns_of(t, TRAIN) : columns_of(t, VALID),
                             .test = columns_of(t, TEST),
                             .train_rows = t->train_rows,
                             .n_train = t->train_rows ? t->n_train : 0,
                             .valid_rows = t->valid_rows,
                             .n_valid = t->n_valid,
                             .batch = t->batch,
                             .micro_batch = option_int(r->o, "micro-batch"),
                             .by_length =
                                 !heed_task_forward(t->data[TRAIN], NULL), /* pairs meet others of any length */
                             .seed = heed_seed(r->cx),
                             .own = t,
                             .transform = heed_task_transform(t->data[TRAIN], NULL) ? transform : NULL,
                             .forward = heed_task_forward(t->data[TRAIN], NULL) ? forward : NULL,
                             .settings = settings,
                             .measure = measure,
                             .metrics = heed_task_metrics(t->data[TRAIN])};
    if (accumulate > 1) {
        opts.micro_batch = t->batch;
        opts.batch = t->batch *= accumulate;
    }
    if (t->batch > t->n_train)
        return heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %s to train on",
                         (long long)t->batch, cli_count(t->n_train, "example", "examples", examples));
    if (!option_given(r->o, "lr")) l->trainer.schedule.lr = init ? 5e-5 : 5e-4;
    l->epochs = option_given(r->o, "epochs") ? option_int(r->o, "epochs") : init ? 3 : 10;
    t->source = heed_source_new(r->cx, &opts);
    l->source = heed_source_loop(t->source);
    return l->source;
}

static bool begin(struct train_run *r) {
    const struct texts *t = texts_of(r);
    const char *init = option_text(r->o, "init"), *path = option_text(r->o, "tokenizer");
    char text[2][48];
    /* New tokens never lie beside the weights of another model: from here on there is none, until one is written. */
    if (!option_flag(r->o, "resume") && !directory_clear(r->cx, r->dir)) return false;
    if (init && !path && directory_has(init, TOKENIZER_FILE) ? !directory_copy_tokenizers(r->cx, init, r->dir)
                                                             : !heed_tokenizer_save(r->cx, t->tokens, r->dir))
        return false;
    if (!heed_task_write(r->cx, t->task, r->model, &t->reader, r->dir)) return false;
    if (option_flag(r->o, "quiet")) return true;
    fprintf(stderr, "%s: %s to train on, %lld to validate, %lld to test; %lld tokens; %s with %s\n", r->path,
            cli_count(t->n_train, "example", "examples", text[0]),
            (long long)(t->valid_rows ? t->n_valid : heed_task_count(t->data[VALID])),
            (long long)heed_task_count(t->data[TEST]), (long long)heed_tokenizer_size(t->tokens), r->family->name,
            cli_count(heed_params_numbers(heed_model_params(r->model)), "parameter", "parameters", text[1]));
    int64_t cut = 0;
    for (int i = 0; i < SETS; i++) cut += heed_task_cut(t->data[i]);
    texts_say_cut(r->path, t->data[TRAIN], cut, t->reader.longest);
    return true;
}

static void free_texts(struct train_run *r) {
    struct texts *t = texts_of(r);
    if (!t) return;
    heed_source_free(r->cx, t->source);
    for (int i = 0; i < SETS; i++) heed_task_free(r->cx, t->data[i]);
    heed_tokenizer_free(r->cx, t->tokens);
    heed_mem_free(r->cx, t->train_rows);
    heed_mem_free(r->cx, t->valid_rows);
    heed_mem_free(r->cx, t);
}

/* clang-format off */
const struct option text_column_options[] = {
    {.name = "text", .kind = OPTION_GROUP},
    {.name = "text", .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "of a table of texts, the column of the text: name or number; by default the first"},
    {.name = "pair", .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the column of a second text; by default the second of three"},
    {.name = NULL},
};

const struct option text_options[] = {
    {.name = "text", .kind = OPTION_GROUP},
    {.name = "max-length", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "truncate texts to N tokens; 0: to as many as the model has positions"},
    {.name = "valid-data", .kind = OPTION_FILE, .value = "PATH",
     .help = "validation texts; by default a directory's own dev or valid file"},
    {.name = "tokenizer", .kind = OPTION_FILE, .value = "PATH",
     .help = "use this tokenizer instead of that of --init, or of training one"},
    {.name = "tokens", .kind = OPTION_CHOICE, .standard = "wordpiece", .value = "KIND",
     .choices = "wordpiece bpe byte-bpe unigram word char", .help = "kind of tokenizer to train, one of"},
    {.name = "vocab", .kind = OPTION_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size of a tokenizer to train"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_text = {.next = "eval",
                                      .next_how = " --data FILE",
                                      .load = load,
                                      .set = set,
                                      .model = new_model,
                                      .begin = begin,
                                      .free = free_texts,
                                      .evaluate = texts_evaluate};
