/* heed train translate: an encoder-decoder from parallel text. */
#include "cli/core/decoding_options.h"
#include "cli/train/train.h"
#include "heed/task.h"
#include "model/core/directory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH      256
#define MAX_VALID  1000 /* pairs held out where there are no files for it */
#define MAX_WARMUP 4000

enum { TRAIN, VALID, TEST, SETS };

struct text {
    heed_preprocessing preprocessing;
    const char *path[SETS];    /* where they were read; NULL: nowhere, or held out of the training text */
    heed_lines lines[SETS][2]; /* source and target, preprocessed */
    heed_pairs pairs[SETS];
    heed_tokenizer *tokens[2];   /* may be one */
    heed_parallel_text to_train; /* lines[TRAIN] and tokens, which BPE-dropout encodes again and again */
    int64_t positions;           /* of the model: maximum tokens per side of any pair */
    int64_t longest;             /* maximum tokens per side of training pairs */
    heed_translation *translation;
    heed_forcing forcing;
};

static struct text *text_of(const struct train_run *r) { return r->own; }

/* ---- the text ---- */

static void copy_line(heed_ctx *cx, const heed_lines *from, int64_t i, heed_string *to) {
    heed_string_put(cx, to, heed_line_text(from, i), heed_line_size(from, i));
    heed_string_put(cx, to, "\n", 1);
}

/* Moves some of the pairs, chosen at random, to the validation set. */
static bool hold_out(struct train_run *r, struct text *t) {
    heed_ctx *cx = r->cx;
    const int64_t n = t->lines[TRAIN][0].count;
    const double share = option_given(r->o, "valid") ? option_number(r->o, "valid") : 0.01;
    int64_t held = (int64_t)(share * (double)n + 0.5);
    if (!option_given(r->o, "valid") && held > MAX_VALID) held = MAX_VALID;
    if (held < 1 || held >= n) return !heed_failed(cx);
    heed_string text[2][2] = {{{0}}};
    int64_t *order = heed_mem_new(cx, (size_t)n * sizeof *order);
    if (!order) return false;
    heed_random_permutation(heed_seed(cx), 0, order, n);
    for (int64_t i = 0; i < n && !heed_failed(cx); i++)
        for (int k = 0; k < 2; k++) copy_line(cx, &t->lines[TRAIN][k], order[i], &text[i < held ? VALID : TRAIN][k]);
    heed_mem_free(cx, order);
    heed_parallel_free(cx, t->lines[TRAIN]);
    for (int set = TRAIN; set <= VALID; set++)
        for (int k = 0; k < 2; k++) {
            heed_lines_cut(cx, &text[set][k], &t->lines[set][k]);
            heed_string_free(cx, &text[set][k]);
        }
    return !heed_failed(cx);
}

/* Appends `more` to `lines`. */
static void add_lines(heed_ctx *cx, heed_lines *lines, const heed_lines *more) {
    heed_string text = {0};
    for (int64_t i = 0; i < lines->count && !heed_failed(cx); i++) copy_line(cx, lines, i, &text);
    for (int64_t i = 0; i < more->count && !heed_failed(cx); i++) copy_line(cx, more, i, &text);
    heed_lines_free(cx, lines);
    heed_lines_cut(cx, &text, lines);
    heed_string_free(cx, &text);
}

/* The pairs of --more, of which none is held out. */
static bool read_more(struct train_run *r, struct text *t) {
    const char *const *paths;
    const int n = option_list(r->o, "more", &paths);
    for (int i = 0; i < n; i++) {
        heed_lines more[2];
        if (!heed_parallel_read(r->cx, paths[i], "train", &t->preprocessing, more)) return false;
        for (int k = 0; k < 2; k++) add_lines(r->cx, &t->lines[TRAIN][k], &more[k]);
        heed_parallel_free(r->cx, more);
    }
    return !heed_failed(r->cx);
}

static bool read_text(struct train_run *r, struct text *t) {
    const char *valid = option_text(r->o, "valid-data"), *test = option_text(r->o, "test");
    if (!heed_parallel_read(r->cx, r->path, "train", &t->preprocessing, t->lines[TRAIN])) return false;
    if (!valid && !option_given(r->o, "valid") && heed_parallel_has(r->path, "val", &t->preprocessing)) valid = r->path;
    if (!test && heed_parallel_has(r->path, "test", &t->preprocessing)) test = r->path;
    t->path[VALID] = valid;
    t->path[TEST] = test;
    if (valid && !heed_parallel_read(r->cx, valid, "val", &t->preprocessing, t->lines[VALID])) return false;
    if (!valid && !hold_out(r, t)) return false;
    if (!read_more(r, t)) return false;
    return !test || heed_parallel_read(r->cx, test, "test", &t->preprocessing, t->lines[TEST]);
}

/* ---- the vocabulary ---- */

static heed_tokenizer *learn(const struct train_run *r, const struct text *t, int first, int n) {
    const heed_lines *texts[2] = {&t->lines[TRAIN][first], &t->lines[TRAIN][1]};
    return heed_vocabulary_train(r->cx, texts, n, heed_vocabulary_kind(option_text(r->o, "tokens")),
                                 option_int(r->o, "vocab"));
}

/* A resumed run keeps the tokenizers that it began with. */
static bool make_tokenizers(struct train_run *r, struct text *t) {
    const char *given = option_text(r->o, "tokenizer"), *init = option_text(r->o, "init");
    if (option_flag(r->o, "resume") && directory_has_tokenizers(r->dir))
        directory_load_tokenizers(r->cx, r->dir, t->tokens);
    else if (init)
        directory_load_tokenizers(r->cx, init, t->tokens);
    else if (given)
        t->tokens[0] = t->tokens[1] = heed_tokenizer_load(r->cx, given);
    else if (!option_flag(r->o, "separate"))
        t->tokens[0] = t->tokens[1] = learn(r, t, 0, 2);
    else if ((t->tokens[0] = learn(r, t, 0, 1)))
        t->tokens[1] = learn(r, t, 1, 1);
    return !heed_failed(r->cx);
}

/* ---- the model ---- */

/* Standard deviation of new weights: embeddings have unit variance once they are scaled by sqrt(d_model), as in the
 * paper (Vaswani et al. 2017). */
static double initial_deviation(const struct train_run *r) {
    const char *const *given;
    int64_t width = WIDTH;
    const int n = option_list(r->o, "set", &given);
    for (int i = 0; i < n; i++)
        if (strncmp(given[i], "d_model=", 8) == 0) width = strtoll(given[i] + 8, NULL, 10);
    return 1 / sqrt((double)(width > 0 ? width : WIDTH));
}

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct text *t = text_of(r);
    const bool separate = t->tokens[0] != t->tokens[1];
    const long long pad = heed_vocabulary_pad(cx, t->tokens[1]);
    const long long end = heed_vocabulary_end(cx, t->tokens[1]);
    const struct {
        const char *key;
        long long value;
    } sizes[] = {
        {"vocab_size", heed_tokenizer_size(t->tokens[0])},
        {"decoder_vocab_size", heed_tokenizer_size(t->tokens[1])},
        {"share_encoder_decoder_embeddings", !separate},
        {"pad_token_id", pad},
        {"eos_token_id", end},
        {"forced_eos_token_id", end},
        {"decoder_start_token_id", pad},
        {"d_model", WIDTH},
        {"encoder_layers", 4},
        {"decoder_layers", 4},
        {"encoder_attention_heads", 4},
        {"decoder_attention_heads", 4},
        {"encoder_ffn_dim", 1024},
        {"decoder_ffn_dim", 1024},
    };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    char text[SIZES][80], deviation[40];
    struct train_settings s = {.n = 0}, none = {.n = 0};
    if (heed_failed(cx)) return NULL;
    for (int i = 0; i < SIZES; i++) {
        if (!train_has_key(r->family, sizes[i].key)) continue;
        const bool truth = strncmp(sizes[i].key, "share", 5) == 0;
        if (truth)
            snprintf(text[i], sizeof text[i], "%s=%s", sizes[i].key, sizes[i].value ? "true" : "false");
        else
            snprintf(text[i], sizeof text[i], "%s=%lld", sizes[i].key, sizes[i].value);
        s.text[s.n++] = text[i];
    }
    snprintf(deviation, sizeof deviation, "init_std=%.6g", initial_deviation(r));
    if (train_has_key(r->family, "init_std")) s.text[s.n++] = deviation;
    if (option_flag(r->o, "reverse")) s.text[s.n++] = "reverse_source=true";
    s.text[s.n++] = "label_smoothing=0.1";
    heed_model *model = train_make_model(r, cx, &s, &none);
    if (model) heed_preprocessing_put(cx, heed_model_config(model), &t->preprocessing);
    return model;
}

/* ---- the run ---- */

static int64_t positions_of(const struct train_run *r) {
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *model = new_model(r, dry);
    const int64_t positions = model ? heed_translator_positions(dry, model) : 0;
    if (heed_failed(dry)) heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
    heed_model_free(dry, model);
    heed_close(dry);
    return positions;
}

/* Every pair of a file to measure with is needed, so the model must have positions for it. */
static bool check_lengths(heed_ctx *cx, const struct text *t, int set) {
    const heed_pairs *p = &t->pairs[set];
    for (int64_t i = 0; i < p->n; i++)
        for (int side = 0; side < 2; side++) {
            char file[PATH_ROOM];
            const int64_t tokens = (side ? heed_pair_target(p, i) : heed_pair_source(p, i)).count;
            if (tokens > t->positions)
                return heed_fail(cx, HEED_ERR_FORMAT,
                                 "%s: line %lld: %lld tokens, the model has positions for %lld (--set "
                                 "max_position_embeddings=N)",
                                 heed_parallel_file(t->path[set], set == VALID ? "val" : "test", &t->preprocessing,
                                                    side ? HEED_TARGET : HEED_SOURCE, file),
                                 (long long)i + 1, (long long)tokens, (long long)t->positions);
        }
    return true;
}

/* Of the pairs held out, those that are too long are left out of the text too: pair i must be line i. */
static bool drop_long_lines(heed_ctx *cx, struct text *t) {
    heed_pairs *p = &t->pairs[VALID];
    for (int side = 0; side < 2 && p->long_ones > 0; side++) {
        heed_string text = {0};
        for (int64_t i = 0; i < p->n; i++) copy_line(cx, &t->lines[VALID][side], p->line[i], &text);
        heed_lines_free(cx, &t->lines[VALID][side]);
        heed_lines_cut(cx, &text, &t->lines[VALID][side]);
        heed_string_free(cx, &text);
    }
    for (int64_t i = 0; i < p->n; i++) p->line[i] = i;
    return !heed_failed(cx);
}

static bool encode_set(heed_ctx *cx, struct text *t, int set) {
    const heed_parallel_text text = {&t->lines[set][0], &t->lines[set][1], t->tokens[0], t->tokens[1]};
    if (set == TRAIN) t->to_train = text;
    if (text.source->count == 0) return true;
    const heed_pairs_opts to_train = {.skip_empty = true, .longest = t->longest}, held_out = {.longest = t->positions};
    if (set == TRAIN) return heed_pairs_encode(cx, &text, &to_train, &t->pairs[set]);
    if (!t->path[set]) return heed_pairs_encode(cx, &text, &held_out, &t->pairs[set]) && drop_long_lines(cx, t);
    return heed_pairs_encode(cx, &text, NULL, &t->pairs[set]) && check_lengths(cx, t, set);
}

static bool encode(struct train_run *r, struct text *t) {
    heed_ctx *cx = r->cx;
    const int64_t asked = option_int(r->o, "longest");
    t->positions = positions_of(r);
    t->longest = asked > 0 && asked < t->positions ? asked : t->positions;
    const heed_pairs *p = &t->pairs[TRAIN];
    for (int set = 0; set < SETS && !heed_failed(cx); set++) encode_set(cx, t, set);
    if (!heed_failed(cx) && p->n == 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: no pair is left: %lld have an empty side, %lld more than %lld tokens",
                  r->path, (long long)p->empty, (long long)p->long_ones, (long long)t->longest);
    return !heed_failed(cx);
}

static bool load(struct train_run *r) {
    struct text *t = heed_mem_new(r->cx, sizeof *t);
    if (!t) return false;
    *t = (struct text){.preprocessing = {.moses = option_flag(r->o, "moses"), .lower = option_flag(r->o, "lower")}};
    r->own = t;
    const char *from = option_text(r->o, "from"), *to = option_text(r->o, "to");
    snprintf(t->preprocessing.from, sizeof t->preprocessing.from, "%s", from ? from : "");
    snprintf(t->preprocessing.to, sizeof t->preprocessing.to, "%s", to ? to : "");
    return train_open_embeddings(r) && read_text(r, t) && make_tokenizers(r, t) &&
           heed_vocabulary_ends(r->cx, t->tokens[1]) && encode(r, t);
}

static bool set(struct train_run *r) {
    struct text *t = text_of(r);
    const struct options *o = r->o;
    heed_loop_opts *l = &r->loop;
    const int64_t accumulate = option_given(o, "accumulate") ? option_int(o, "accumulate") : 1;
    heed_translation_opts opts = {.target = t->tokens[1],
                                  .tokens = option_int(o, "batch"),
                                  .micro_tokens = option_int(o, "micro-batch"),
                                  .pad = heed_vocabulary_pad(r->cx, t->tokens[1]),
                                  .seed = heed_seed(r->cx),
                                  .bleu.tokens = t->preprocessing.moses ? HEED_BLEU_NONE : HEED_BLEU_13A,
                                  .merge_dropout = option_number(o, "merge-dropout"),
                                  .train_text = &t->to_train,
                                  .longest = t->longest,
                                  .forcing = &t->forcing};
    heed_translation_set *const sets[SETS] = {&opts.train, &opts.valid, &opts.test};
    for (int i = 0; i < SETS; i++)
        if (t->pairs[i].n > 0) *sets[i] = (heed_translation_set){&t->pairs[i], i == TRAIN ? NULL : &t->lines[i][1]};
    if (accumulate > 1) {
        opts.micro_tokens = opts.tokens;
        opts.tokens *= accumulate;
    }
    t->translation = heed_translation_new(r->cx, &opts);
    l->source = heed_translation_source(t->translation);
    if (!l->source) return false;
    l->epochs = option_int(o, "epochs");
    train_set_forcing(r, &t->forcing);
    const int64_t steps = l->steps > 0 ? l->steps : l->epochs * l->source->per_epoch;
    if (!option_given(o, "warmup")) l->trainer.schedule.warmup = steps / 10 < MAX_WARMUP ? steps / 10 : MAX_WARMUP;
    return true;
}

static bool begin(struct train_run *r) {
    const struct text *t = text_of(r);
    const heed_pairs *p = &t->pairs[TRAIN];
    const heed_loop_source *from = r->loop.source;
    char text[2][48];
    /* New tokens never lie beside the weights of another model: from here on there is none, until one is written. */
    if (!option_flag(r->o, "resume") && !directory_clear(r->cx, r->dir)) return false;
    if (!directory_save_tokenizers(r->cx, r->dir, t->tokens) || !train_take_embeddings(r, t->tokens[0], t->tokens[1]))
        return false;
    if (option_flag(r->o, "quiet")) return true;
    fprintf(stderr, "%s: %s to train on in %s, %lld to validate, %lld to test; ", r->path,
            cli_count(p->n, "pair", "pairs", text[0]), cli_count(from->per_epoch, "batch", "batches", text[1]),
            (long long)t->pairs[VALID].n, (long long)t->pairs[TEST].n);
    if (t->tokens[0] == t->tokens[1])
        fprintf(stderr, "%lld tokens", (long long)heed_tokenizer_size(t->tokens[0]));
    else
        fprintf(stderr, "%lld and %lld tokens", (long long)heed_tokenizer_size(t->tokens[0]),
                (long long)heed_tokenizer_size(t->tokens[1]));
    fprintf(stderr, "; %s with %lld parameters\n", r->family->name,
            (long long)heed_params_numbers(heed_model_params(r->model)));
    if (p->empty + p->long_ones > 0)
        fprintf(stderr, "heed: %s: left out %s with an empty side and %lld too long\n", r->path,
                cli_count(p->empty, "pair", "pairs", text[0]), (long long)p->long_ones);
    const int64_t all = p->start[2 * p->n];
    if (p->unknown * 50 > all)
        fprintf(stderr, "heed: %s: the vocabulary does not cover %.1f %% of the tokens\n", r->path,
                100.0 * (double)p->unknown / (double)all);
    return true;
}

static void free_text(struct train_run *r) {
    struct text *t = text_of(r);
    if (!t) return;
    heed_translation_free(r->cx, t->translation);
    directory_free_tokenizers(r->cx, t->tokens);
    for (int set_number = 0; set_number < SETS; set_number++) {
        heed_pairs_free(r->cx, &t->pairs[set_number]);
        heed_parallel_free(r->cx, t->lines[set_number]);
    }
    heed_mem_free(r->cx, t);
}

/* ---- the task ---- */

static bool usage(struct train_run *r) {
    if (option_number(r->o, "merge-dropout") > 0 && strcmp(option_text(r->o, "tokens"), "bpe") != 0) {
        cli_error(EXIT_USAGE, "train: --merge-dropout goes with --tokens bpe");
        return false;
    }
    if (option_flag(r->o, "reverse") && !train_has_key(r->family, "reverse_source")) {
        cli_error(EXIT_USAGE, "train: --reverse: %s reads all tokens at once", r->family->name);
        return false;
    }
    return train_forcing_fits(r) && train_embeddings_fit(r);
}

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "parallel text: a directory, the common beginning of two files, or a .tsv of two columns"},
    {.name = "from", .kind = HEED_FIELD_TEXT, .value = "LANGUAGE", .help = "source language, the ending of its files: en"},
    {.name = "to", .kind = HEED_FIELD_TEXT, .value = "LANGUAGE", .help = "target language, the ending of its files: de"},
    {.name = "more", .kind = HEED_FIELD_FILES, .value = "PATH",
     .help = "further pairs to train on, found as --data's are, such as translations by other models"},
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation pairs; by default a directory's own val files, or 1 in 100 pairs"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pairs held out for validation, instead of files"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "test pairs, measured once at the end; by default a directory's own test files"},
    {.name = "longest", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "leave out pairs with more tokens on a side; 0: than the model has positions"},
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "moses", .help = "normalise and tokenise with the Moses rules first (en, de, fr)"},
    {.name = "lower", .help = "lower-case all text first"},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "bpe", .value = "KIND", .choices = "bpe word char",
     .help = "kind of tokenizer to train, one of"},
    {.name = "vocab", .kind = HEED_FIELD_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size; for word and char 0: no limit"},
    {.name = "separate", .help = "a vocabulary and embeddings for each language instead of shared ones"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH", .help = "use this tokenizer.json instead"},
    {.name = "reverse", .help = "read the source backwards: recurrent models (Sutskever et al. 2014)"},
    {.name = "merge-dropout", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "BPE-dropout: probability of skipping a merge, such as 0.1"},
    EMBEDDINGS_OPTION,
    {.name = "target-embeddings", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "the same for the words of the target, where it has a table of its own"},
    {.name = "forcing", .kind = HEED_FIELD_TABLE, .table = forcing_options},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "transformer", .value = "FAMILY",
     .help = "model family; 'heed list' shows them"},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .standard = "30", .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data"},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .standard = "4096", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens per update, with padding, on the longer side"},
    {.name = "micro-batch", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "tokens per backward pass, to save memory"},
    {.name = "beta2", .kind = HEED_FIELD_NUMBER, .standard = "0.98", .value = "X", .high = 0.9999999,
     .help = "decay of the second moment of adam and adamw"},
    {.name = "schedule", .kind = HEED_FIELD_CHOICE, .standard = "inverse-root", .value = "NAME",
     .choices = "cosine linear constant step inverse-root", .help = "learning rate schedule, one of"},
    {.name = "warmup", .kind = HEED_FIELD_INT, .value = "N", .high = 1e12,
     .help = "number of updates of linear warm-up; by default a tenth of all, at most 4000"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_translate = {
    .page = {.name = "translate",
             .summary = "sentences of another language",
             .about =
                 "Trains an encoder-decoder on parallel text: --data is a directory with train.en, train.de, val.en, "
                 "val.de and perhaps test.en, test.de (for --from en --to de; each may be .gz), the common beginning "
                 "of two such files, or a .tsv of two columns. The metric while training is the BLEU of greedy "
                 "decoding; 'heed eval' measures with beam search.\n\n"
                 "Training takes hours on a corpus of some ten thousand pairs; --steps, --set d_model=128 and fewer "
                 "layers make it quicker.",
             .options = options,
             .examples = "heed train translate --data corpus --from en --to de --out en-de --set d_model=128\n"
                         "heed train translate --data multi30k --recipe recipes/multi30k-en-de.recipe --out en-de\n"},
    .next = "translate",
    .next_how = "   (sentences on standard input)",
    .usage = usage,
    .load = load,
    .set = set,
    .model = new_model,
    .begin = begin,
    .free = free_text,
    .evaluate = translate_evaluate,
};
