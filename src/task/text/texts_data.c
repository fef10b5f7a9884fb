/* Runs of tasks of text: their data, and the tokenizer. */
#include "base/text.h"
#include "task/text/texts.h"
#include <string.h>

/* ---- the sets ---- */

bool texts_read_set(heed_run *r, enum text_set set, const char *path) {
    struct texts *t = texts_of(r);
    t->opts.like = t->data[TRAIN];
    heed_task_opts opts = t->opts;
    if (set != TRAIN) opts.class_weights = NULL;
    t->data[set] = path ? heed_task_read(r->cx, t->task, path, &opts) : NULL;
    return !heed_failed(r->cx);
}

double texts_fraction(const heed_run *r) { return run_given(r, "valid") ? run_number(r, "valid") : 0.1; }

/* Files, or those of a directory. */
static bool read_files(heed_run *r) {
    char file[PATH_ROOM], held[PATH_ROOM];
    const char *valid = run_text(r, "valid-data"), *test = run_text(r, "test");
    const char *const train = texts_part(r->path, "train", file);
    if (!train) return texts_fail_train(r->cx, r->path);
    const bool directory = train == file, given = valid || run_given(r, "valid");
    if (directory && !given) valid = texts_part(r->path, "valid", held);
    texts_of(r)->opts.held_out = valid ? 0 : texts_fraction(r);
    if (!texts_read_set(r, TRAIN, train)) return false;
    texts_of(r)->opts.held_out = 0;
    if (!texts_read_set(r, VALID, valid)) return false;
    if (test) return texts_read_set(r, TEST, texts_part(test, "test", file));
    return texts_read_set(r, TEST, directory ? texts_part(r->path, "test", file) : NULL);
}

bool texts_read(heed_run *r) {
    const heed_text_task *const task = texts_of(r)->task;
    return task->read_sets ? task->read_sets(r) : read_files(r);
}

void texts_say_cut(heed_ctx *cx, const char *path, const heed_task_data *data, int64_t cut, int64_t max_length) {
    char count[48];
    if (cut == 0) return;
    if (data->labels > 0)
        heed_note(cx, HEED_LOG_WARN, "%s: sentences longer than %lld tokens are truncated: %s left out", path,
                  (long long)max_length, text_count(cut, "word is", "words are", count));
    else
        heed_note(cx, HEED_LOG_WARN, "%s: %s longer than %lld tokens, truncated", path,
                  text_count(cut, "text is", "texts are", count), (long long)max_length);
}

/* ---- the tokenizer ---- */

/* One for encoders, unless the task trains its own. */
static heed_tokenizer *train_tokenizer(const heed_run *r) {
    const struct texts *t = texts_of(r);
    const heed_lines *texts[] = {heed_task_texts(t->data[TRAIN]), heed_task_pairs(t->data[TRAIN])};
    const bool asked = run_knows(r, "tokens") && run_given(r, "tokens");
    const char *const name = !asked && r->family->tokens ? r->family->tokens : run_text(r, "tokens");
    const heed_tokenizer_kind kind = heed_vocabulary_kind(name);
    const int64_t size = run_int(r, "vocab");
    if (t->task->tokenizer) return t->task->tokenizer(r->cx, t->data[TRAIN], kind, size);
    if (name && strcmp(name, "byte") == 0) return heed_tokenizer_bytes(r->cx);
    return heed_vocabulary_train_encoder(r->cx, texts, texts[1] ? 2 : 1, kind, size);
}

static bool set_chat(heed_run *r) {
    struct texts *t = texts_of(r);
    const char *const init = run_text(r, "init");
    const char *const asked = run_knows(r, "chat-template") ? run_text(r, "chat-template") : NULL;
    if (texts_are_chat(t)) return chat_choose(r->cx, asked, init ? init : texts_tokenizer(r), &t->tokens, &t->chat);
    if (asked)
        return heed_fail(r->cx, HEED_ERR_USAGE, "train: --chat-template is for conversations, which %s does not hold",
                         r->path);
    return true;
}

bool texts_make_tokenizer(heed_run *r) {
    struct texts *t = texts_of(r);
    const char *const path = texts_tokenizer(r), *const init = run_init(r);
    t->tokens = path || init ? heed_tokenizer_load(r->cx, path ? path : init) : train_tokenizer(r);
    return t->tokens && set_chat(r);
}

/* ---- validation ---- */

/* Where an example is several rows of the data set, its number is replaced by theirs, in the order of the data. */
static bool expand_rows(heed_run *r, int64_t examples) {
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

/* Some tasks validate on the last rows. */
static bool split_end(heed_run *r, int64_t held) {
    struct texts *t = texts_of(r);
    if (held == 0) return true;
    t->n_train -= held;
    t->n_valid = held;
    t->train_rows = heed_mem_new(r->cx, (size_t)t->n_train * sizeof *t->train_rows);
    t->valid_rows = heed_mem_new(r->cx, (size_t)held * sizeof *t->valid_rows);
    for (int64_t i = 0; t->train_rows && i < t->n_train; i++) t->train_rows[i] = i;
    for (int64_t i = 0; t->valid_rows && i < held; i++) t->valid_rows[i] = t->n_train + i;
    return !heed_failed(r->cx);
}

bool texts_split(heed_run *r) {
    struct texts *t = texts_of(r);
    const int64_t n = heed_task_examples(t->data[TRAIN]), held = heed_task_held_out(t->data[TRAIN]);
    t->n_train = heed_task_count(t->data[TRAIN]);
    if (held >= 0) return split_end(r, held);
    if (t->data[VALID] || texts_fraction(r) == 0 || n < 10) return true;
    return heed_rows_split(r->cx, n, texts_fraction(r), heed_seed(r->cx), &t->train_rows, &t->n_train, &t->valid_rows,
                           &t->n_valid) &&
           expand_rows(r, n);
}
