/* heed train for models of text: any task of heed/task.h. */
#include "base/text.h"
#include "cli/core/data_options.h"
#include "cli/train/text_data.h"
#include "cli/train/train.h"
#include "cli/use/chat.h"
#include "heed/music.h"
#include "heed/translate.h"
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
    heed_streams *streams;   /* in its place, where state is carried */
    heed_dataset drawn;      /* of the epoch under way, where rows are drawn */
    struct chat_choice chat; /* of conversations */
    int64_t batch;
    uint64_t seed;
    heed_forcing forcing;
};

static struct texts *texts_of(const struct train_run *r) { return r->own; }
static bool is_lm(const struct train_run *r) { return strcmp(r->task->page.name, "lm") == 0; }
static bool is_music(const struct train_run *r) { return strcmp(r->task->page.name, "music") == 0; }
static bool predicts_next(const struct train_run *r) { return is_lm(r) || is_music(r); }
static const char *given_tokenizer(const struct train_run *r) {
    return option_known(r->o, "tokenizer") ? option_text(r->o, "tokenizer") : NULL;
}

/* State goes through one text, in order. */
static bool carry_fits(const struct train_run *r) {
    static const char *const others[] = {"documents", "document-separator", "in-order", "micro-batch", "accumulate"};
    if (!option_known(r->o, "carry-state") || !option_flag(r->o, "carry-state")) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (option_given(r->o, others[i])) {
            cli_error(EXIT_USAGE, "train: --carry-state does not go with --%s", others[i]);
            return false;
        }
    const heed_head *const head = heed_head_for(r->family, r->task->page.name);
    if (!head || text_among(head->inputs, "state")) return true;
    cli_error(EXIT_USAGE, "train: --carry-state: %s has no state to carry", r->family->name);
    return false;
}

static bool usage(struct train_run *r) { return carry_fits(r) && train_forcing_fits(r) && train_embeddings_fit(r); }

/* ---- the data ---- */

static bool read_set(struct train_run *r, int set, const char *path) {
    struct texts *t = texts_of(r);
    t->opts.like = t->data[TRAIN];
    heed_task_opts opts = t->opts;
    if (set != TRAIN) opts.class_weights = NULL;
    t->data[set] = path ? heed_task_read(r->cx, t->task, path, &opts) : NULL;
    return !heed_failed(r->cx);
}

/* What is held out where no file is for validation. */
static double fraction(const struct train_run *r) {
    return option_given(r->o, "valid") ? option_number(r->o, "valid") : 0.1;
}

/* A part of a file or directory of chorales, or all of one that has no such part. */
static bool read_chorales(struct train_run *r, int set, const char *path, const char *part) {
    texts_of(r)->opts.part = texts_chorales(r->cx, path, part) ? part : NULL;
    return read_set(r, set, path);
}

static bool read_music(struct train_run *r) {
    heed_task_opts *const o = &texts_of(r)->opts;
    const char *valid = option_text(r->o, "valid-data"), *test = option_text(r->o, "test");
    const bool given = valid || option_given(r->o, "valid"), has = !given && texts_chorales(r->cx, r->path, "valid");
    o->held_out = valid || has ? 0 : fraction(r);
    o->drawn = true;
    if (heed_failed(r->cx) || !read_chorales(r, TRAIN, r->path, "train")) return false;
    o->held_out = 0;
    o->drawn = false;
    if (has) valid = r->path;
    if (valid && !read_chorales(r, VALID, valid, "valid")) return false;
    if (!test && texts_chorales(r->cx, r->path, "test")) test = r->path;
    return !heed_failed(r->cx) && (!test || read_chorales(r, TEST, test, "test"));
}

static bool read_sets(struct train_run *r) {
    char file[PATH_ROOM];
    const char *valid = option_text(r->o, "valid-data"), *test = option_text(r->o, "test");
    const char *train = texts_part(r->path, "train", file);
    if (is_music(r)) return read_music(r);
    if (!train) return texts_fail_train(r->cx, r->path);
    const bool directory = train == file, given = valid || option_given(r->o, "valid");
    char held[PATH_ROOM];
    if (!valid && directory && !given) valid = texts_part(r->path, "valid", held);
    texts_of(r)->opts.held_out = valid ? 0 : fraction(r);
    if (!read_set(r, TRAIN, train)) return false;
    texts_of(r)->opts.held_out = 0;
    if (!read_set(r, VALID, valid)) return false;
    return read_set(r, TEST,
                    test        ? texts_part(test, "test", file)
                    : directory ? texts_part(r->path, "test", file)
                                : NULL);
}

static bool talks(const struct texts *t) { return heed_task_conversations(t->data[TRAIN]); }

static bool set_chat(struct train_run *r) {
    struct texts *t = texts_of(r);
    const char *const init = option_text(r->o, "init");
    const char *const asked = option_known(r->o, "chat-template") ? option_text(r->o, "chat-template") : NULL;
    if (talks(t)) return chat_choose(r->cx, asked, init ? init : given_tokenizer(r), &t->tokens, &t->chat);
    if (asked)
        return heed_fail(r->cx, HEED_ERR_USAGE, "train: --chat-template is for conversations, which %s does not hold",
                         r->path);
    return true;
}

/* A model of --init learns where answers end, and has rows for new tokens. */
static bool takes_chat(const struct train_run *r) {
    const struct texts *const t = texts_of(r);
    return talks(t) && t->chat.own && option_text(r->o, "init");
}

static bool put_chat(const struct train_run *r, heed_ctx *cx, struct train_settings *kept, char text[64]) {
    const struct texts *const t = texts_of(r);
    char path[PATH_ROOM];
    if (!takes_chat(r) || t->chat.added == 0) return true;
    if (!directory_find(cx, option_text(r->o, "init"), CONFIG_FILE, path)) return false;
    const heed_json config = heed_json_open(cx, path);
    const int64_t has = heed_json_int(cx, config, "vocab_size"), needs = heed_tokenizer_size(t->tokens);
    heed_json_free(config);
    snprintf(text, 64, "vocab_size=%lld", (long long)(has > needs ? has : needs));
    kept->text[kept->n++] = text;
    return !heed_failed(cx);
}

/* Does the family read bytes, unless asked for other tokens? */
static bool reads_bytes(const struct train_run *r) { return strcmp(r->family->type, "perceiver") == 0; }

static bool make_tokenizer(struct train_run *r) {
    struct texts *t = texts_of(r);
    const char *path = given_tokenizer(r), *init = option_text(r->o, "init");
    if (path || init) {
        t->tokens = heed_tokenizer_load(r->cx, path ? path : init);
    } else if (is_music(r)) {
        t->tokens = heed_music_vocabulary(r->cx, heed_task_chorales(t->data[TRAIN]), HEED_MUSIC_MARGIN);
    } else {
        const heed_lines *texts[] = {heed_task_texts(t->data[TRAIN]), heed_task_pairs(t->data[TRAIN])};
        const bool text2text = strcmp(r->task->page.name, "text2text") == 0;
        const char *const name = option_given(r->o, "tokens") ? option_text(r->o, "tokens")
                                 : text2text                  ? "unigram"
                                 : reads_bytes(r)             ? "byte"
                                                              : option_text(r->o, "tokens");
        const heed_tokenizer_kind kind = heed_vocabulary_kind(name);
        const int64_t size = option_int(r->o, "vocab");
        t->tokens = strcmp(name, "byte") == 0 ? heed_tokenizer_bytes(r->cx)
                    : is_lm(r)                ? heed_vocabulary_train_lm(r->cx, texts, 1, kind, size, talks(t))
                    : text2text ? heed_vocabulary_train_text2text(r->cx, texts, texts[1] ? 2 : 1, kind, size)
                                : heed_vocabulary_train_encoder(r->cx, texts, texts[1] ? 2 : 1, kind, size);
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

/* The last rows are for validation, as the task has it. */
static bool split_end(struct train_run *r, int64_t held) {
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

/* Examples for validation, where no file holds them. */
static bool split(struct train_run *r) {
    struct texts *t = texts_of(r);
    const int64_t n = heed_task_examples(t->data[TRAIN]), held = heed_task_held_out(t->data[TRAIN]);
    t->n_train = heed_task_count(t->data[TRAIN]);
    if (held >= 0) return split_end(r, held);
    if (t->data[VALID] || fraction(r) == 0 || n < 10) return true;
    return heed_rows_split(r->cx, n, fraction(r), heed_seed(r->cx), &t->train_rows, &t->n_train, &t->valid_rows,
                           &t->n_valid) &&
           expand_rows(r, n);
}

/* ---- the model ---- */

/* A model from scratch is small enough to be trained on a CPU within the hour; --set makes it larger. */
static const struct size {
    const char *key, *setting;
} sizes[] = {{"hidden_size", "hidden_size=256"},
             {"num_hidden_layers", "num_hidden_layers=4"},
             {"num_attention_heads", "num_attention_heads=4"},
             {"intermediate_size", "intermediate_size=1024"},
             {"embedding_size", "embedding_size=128"},
             {"dim", "dim=256"},
             {"n_layers", "n_layers=4"},
             {"n_heads", "n_heads=4"},
             {"hidden_dim", "hidden_dim=1024"},
             {"d_model", "d_model=256"},
             {"d_ff", "d_ff=1024"},
             {"num_layers", "num_layers=4"},
             {"num_heads", "num_heads=4"}},
  decoder_sizes[] = {{"n_embd", "n_embd=128"},
                     {"n_layer", "n_layer=4"},
                     {"n_head", "n_head=4"},
                     {"hidden_size", "hidden_size=128"},
                     {"num_hidden_layers", "num_hidden_layers=4"},
                     {"num_attention_heads", "num_attention_heads=4"},
                     {"num_key_value_heads", "num_key_value_heads=4"},
                     {"head_dim", "head_dim=32"},
                     {"intermediate_size", "intermediate_size=384"},
                     {"attention_head_size", "attention_head_size=32"},
                     {"feed_forward_size", "feed_forward_size=384"},
                     {"axial_pos_embds_dim", "axial_pos_embds_dim=32,96"}};

static void put_sizes(const struct train_run *r, struct train_settings *fresh) {
    const struct size *const from = predicts_next(r) ? decoder_sizes : sizes;
    const size_t n = predicts_next(r) ? sizeof decoder_sizes / sizeof *from : sizeof sizes / sizeof *from;
    for (size_t i = 0; i < n; i++)
        if (train_has_key(r->family, from[i].key)) fresh->text[fresh->n++] = from[i].setting;
    if (is_music(r) && train_has_key(r->family, "num_layers")) /* recurrent networks, which are quick */
        fresh->text[fresh->n++] = "hidden_size=256";
}

/* What a language model knows of its text: how long a window is, and with which token texts begin and end. */
static void put_lm(const struct train_run *r, struct train_settings *fresh, char text[4][64]) {
    static const char *const keys[] = {"n_positions", "max_position_embeddings", "bos_token_id", "eos_token_id"};
    const struct texts *const t = texts_of(r);
    const int32_t begin = is_music(r) ? heed_tokenizer_id(t->tokens, "<s>") : -1;
    const int32_t end = talks(t) ? heed_chat_end(&t->chat.format, t->tokens) : heed_vocabulary_end_of_text(t->tokens);
    for (int i = 0; i < 4; i++) {
        if (!train_has_key(r->family, keys[i])) continue;
        if (i < 2 && train_has_key(r->family, "axial_pos_shape")) continue; /* has room for padding to whole chunks */
        if (i < 2)
            snprintf(text[i], 64, "%s=%lld", keys[i], (long long)option_int(r->o, "context"));
        else if (end >= 0)
            snprintf(text[i], 64, "%s=%d", keys[i], (int)(i == 2 && begin >= 0 ? begin : end));
        else
            snprintf(text[i], 64, "%s=null", keys[i]);
        fresh->text[fresh->n++] = text[i];
    }
}

static bool config_pads(const struct train_run *r) {
    const heed_head *const head = heed_head_for(r->family, r->head ? r->head : r->task->page.name);
    for (const heed_key *k = head ? head->keys : NULL; k && k->name; k++)
        if (strcmp(k->name, "pad_token_id") == 0) return true;
    return train_has_key(r->family, "pad_token_id");
}

/* Classifiers of decoders find the ends of texts by the padding token. Does the model of --init lack one? */
static bool init_lacks_padding(const struct train_run *r, heed_ctx *cx) {
    const char *const init = option_text(r->o, "init");
    char path[PATH_ROOM];
    if (!init || !config_pads(r) || !directory_path(cx, init, CONFIG_FILE, path)) return false;
    const heed_json config = heed_json_open(cx, path), pad = heed_json_find(cx, config, "pad_token_id");
    const bool lacks = heed_json_kind_of(pad) <= HEED_JSON_NULL || heed_json_int(cx, pad, NULL) < 0;
    heed_json_free(config);
    return lacks && !heed_failed(cx);
}

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct texts *t = texts_of(r);
    struct train_settings fresh = {.n = 0}, kept = {.n = 0};
    char text[4][64], more[4][64], rows[64];
    const bool sized = option_known(r->o, "generator-size") && option_given(r->o, "generator-size");
    const int64_t labels = heed_task_labels(t->data[TRAIN], NULL);
    const bool numbers = strcmp(r->task->page.name, "regress") == 0;
    const bool classes = strcmp(r->task->page.name, "classify") == 0;
    snprintf(text[0], sizeof text[0], "vocab_size=%lld", (long long)heed_tokenizer_size(t->tokens));
    snprintf(text[1], sizeof text[1], "pad_token_id=%d", (int)heed_vocabulary_padding(t->tokens));
    const bool spans = strcmp(r->task->page.name, "qa") == 0; /* labels are start and end */
    snprintf(text[2], sizeof text[2], "num_labels=%lld", (long long)(numbers ? 1 : spans ? 2 : labels));
    fresh.text[fresh.n++] = text[0];
    if (config_pads(r)) fresh.text[fresh.n++] = text[1];
    if ((numbers || classes) && init_lacks_padding(r, cx)) kept.text[kept.n++] = text[1];
    put_sizes(r, &fresh);
    if (predicts_next(r)) put_lm(r, &fresh, more);
    if (numbers || spans || labels > 0) fresh.text[fresh.n++] = kept.text[kept.n++] = text[2];
    if (numbers) fresh.text[fresh.n++] = kept.text[kept.n++] = "problem_type=regression";
    if (sized) {
        snprintf(text[3], sizeof text[3], "generator_size=%.17g", option_number(r->o, "generator-size"));
        fresh.text[fresh.n++] = kept.text[kept.n++] = text[3];
    }
    if (classes) fresh.text[fresh.n++] = kept.text[kept.n++] = "problem_type=single_label_classification";
    if (train_has_key(r->family, "decoder_start_token_id")) { /* T5 begins with the padding token */
        snprintf(text[3], sizeof text[3], "decoder_start_token_id=%d", (int)heed_vocabulary_padding(t->tokens));
        fresh.text[fresh.n++] = text[3];
    }
    heed_model *model = put_chat(r, cx, &kept, rows) ? train_make_model(r, cx, &fresh, &kept) : NULL;
    if (model && takes_chat(r))
        heed_json_put_int(cx, heed_model_decoding(model), "eos_token_id", heed_chat_end(&t->chat.format, t->tokens));
    if (model && t->opts.prefix && *t->opts.prefix) heed_text_prefix_put(cx, model, t->opts.prefix);
    if (model) heed_task_describe(cx, t->data[TRAIN], model);
    return model;
}

static bool set_reader(struct train_run *r) {
    struct texts *t = texts_of(r);
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *model = new_model(r, dry);
    const char *const most = predicts_next(r) ? "context" : "max-length";
    const bool made = model && heed_text_reader_of(dry, model, t->tokens, 0, &t->reader);
    const int64_t asked = option_int(r->o, most), positions = t->reader.longest;
    if (made && predicts_next(r) && option_given(r->o, most) && positions > 0 && asked > positions)
        heed_fail(r->cx, HEED_ERR_RANGE, "train: --context: %lld tokens, but the model has positions for %lld",
                  (long long)asked, (long long)positions);
    if (!made) heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
    if (asked > 0 && (positions == 0 || asked < positions) && !is_music(r)) t->reader.longest = asked;
    heed_model_free(dry, model);
    heed_close(dry);
    return !heed_failed(r->cx);
}

/* A stream has at least a window to train on. */
static bool fits_context(struct train_run *r) {
    const struct texts *t = texts_of(r);
    const int64_t tokens = heed_dataset_length(heed_task_columns(t->data[TRAIN]), 0, 0);
    if (t->opts.documents || talks(t) || tokens >= t->reader.longest) return true;
    return heed_fail(r->cx, HEED_ERR_RANGE,
                     "%s: the text to train on has %lld tokens, fewer than a context of %lld and the next; --context "
                     "makes it shorter",
                     r->path, (long long)tokens + 1, (long long)t->reader.longest);
}

static bool load(struct train_run *r) {
    struct texts *t = heed_mem_new(r->cx, sizeof *t);
    if (!t) return false;
    const char *name = r->head ? r->head : r->task->page.name;
    *t = (struct texts){
        .task = heed_text_task_find(is_music(r) ? "music" : name), .opts = texts_opts(r->o), .seed = heed_seed(r->cx)};
    t->opts.sentence_order = text_among(heed_head_for(r->family, name)->inputs, "sentence_order_label");
    r->own = t;
    if (!train_open_embeddings(r) || !read_sets(r) || !make_tokenizer(r) || !set_chat(r) || !set_reader(r))
        return false;
    for (int i = 0; i < SETS; i++)
        if (talks(t) && t->data[i]) heed_task_set_chat(t->data[i], &t->chat.format);
    for (int i = 0; i < SETS; i++)
        if (t->data[i] && !heed_task_encode(r->cx, t->data[i], &t->reader)) return false;
    return split(r) && (!is_lm(r) || fits_context(r));
}

/* ---- the run ---- */

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

/* The source where state is carried; a model that is never filled tells its size. */
static const heed_loop_source *set_streams(struct train_run *r, const heed_source_opts *o) {
    struct texts *t = texts_of(r);
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *model = new_model(r, dry);
    if (!model) heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
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
    heed_model_free(dry, model);
    heed_close(dry);
    return heed_streams_loop(t->streams);
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
    if (accumulate > 1) {
        opts.micro_batch = t->batch;
        opts.batch = t->batch *= accumulate;
    }
    if (!t->opts.carry && t->batch > t->n_train)
        return heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %s to train on",
                         (long long)t->batch, cli_count(t->n_train, "example", "examples", examples));
    if (!option_given(r->o, "lr")) l->trainer.schedule.lr = init ? 5e-5 : is_music(r) ? 2e-3 : is_lm(r) ? 1e-3 : 5e-4;
    l->epochs = option_given(r->o, "epochs") ? option_int(r->o, "epochs") : init ? 3 : 10;
    if (!t->opts.carry) t->source = heed_source_new(r->cx, &opts);
    l->source = t->opts.carry ? set_streams(r, &opts) : heed_source_loop(t->source);
    if (l->source) train_set_forcing(r, &t->forcing);
    return l->source;
}

static bool begin(struct train_run *r) {
    const struct texts *t = texts_of(r);
    const char *init = option_text(r->o, "init"), *path = given_tokenizer(r);
    char text[2][48], file[PATH_ROOM];
    /* New tokens never lie beside the weights of another model: from here on there is none, until one is written. */
    if (!option_flag(r->o, "resume") && !directory_clear(r->cx, r->dir)) return false;
    if (init && !path && directory_has(init, TOKENIZER_FILE) ? !directory_copy_tokenizers(r->cx, init, r->dir)
                                                             : !heed_tokenizer_save(r->cx, t->tokens, r->dir))
        return false;
    if (t->chat.added > 0 &&
        (!directory_path(r->cx, r->dir, TOKENIZER_FILE, file) || !heed_tokenizer_save(r->cx, t->tokens, file)))
        return false;
    if (talks(t) && (t->chat.own || !chat_has_template(r->dir)) && !chat_write_template(r->cx, r->dir, &t->chat.format))
        return false;
    if (option_known(r->o, SPLIT_KEY)) /* in the directory as it is saved */
        heed_json_put_text(r->cx, heed_model_config(r->model), SPLIT_KEY, option_text(r->o, SPLIT_KEY));
    if (!heed_task_write(r->cx, t->task, r->model, &t->reader, r->dir) || !train_take_embeddings(r, t->tokens, NULL))
        return false;
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
    heed_streams_free(r->cx, t->streams);
    heed_dataset_free(r->cx, &t->drawn);
    for (int i = 0; i < SETS; i++) heed_task_free(r->cx, t->data[i]);
    heed_tokenizer_free(r->cx, t->tokens);
    heed_mem_free(r->cx, t->train_rows);
    heed_mem_free(r->cx, t->valid_rows);
    heed_mem_free(r->cx, t);
}

/* clang-format off */
const heed_field text_column_options[] = {
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "of a table of texts, the column of the text: name or number; by default the first. Without --model and --init it "
             "makes " TEXT_FAMILY " the family"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of a second text; by default the second of three"},
    {.name = NULL},
};

const heed_field text_options[] = {
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "truncate texts to N tokens; 0: to as many as the model has positions"},
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation texts; by default a directory's own dev or valid file"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "use this tokenizer instead of that of --init, or of training one"},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "wordpiece", .value = "KIND",
     .choices = "wordpiece bpe byte-bpe unigram word char byte",
     .help = "kind of tokenizer to train (perceiver: byte), one of"},
    {.name = "vocab", .kind = HEED_FIELD_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size of a tokenizer to train"},
    EMBEDDINGS_OPTION,
    {.name = NULL},
};
/* clang-format on */

bool train_text_unused(const struct train_run *r) {
    static const heed_field weights[] = {CLASS_WEIGHTS_OPTION, {.name = NULL}};
    return train_options_unused(r, text_column_options, "text") && train_options_unused(r, text_options, "text") &&
           train_options_unused(r, weights, "text");
}

const struct train_task train_text = {.next = "eval",
                                      .next_how = " --data FILE",
                                      .usage = usage,
                                      .load = load,
                                      .set = set,
                                      .model = new_model,
                                      .begin = begin,
                                      .free = free_texts,
                                      .evaluate = texts_evaluate};
