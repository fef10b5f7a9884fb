/* Translate: an encoder-decoder from parallel text. */
#include "base/text.h"
#include "heed/task.h"
#include "model/core/directory.h"
#include "task/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH       256
#define MAX_VALID   1000 /* pairs held out where there are no files for it */
#define MAX_WARMUP  4000
#define MAX_LENGTHS 64 /* of --by-length, the longest in the last */

enum { TRAIN, VALID, TEST, SETS };

struct text {
    heed_preprocessing preprocessing;
    const char *path[SETS];    /* where they were read; NULL: nowhere, or held out of the training text */
    heed_lines lines[SETS][2]; /* source and target, preprocessed */
    heed_pairs pairs[SETS];
    heed_tokenizer *tokens[2];   /* may be one */
    heed_parallel_text to_train; /* lines[TRAIN] and tokens, which BPE-dropout encodes again and again */
    int64_t positions;           /* of the model: maximum tokens per side of any pair */
    int64_t max_length;          /* maximum tokens per side of training pairs */
    heed_translation *translation;
    heed_forcing forcing;
};

static struct text *text_of(const heed_run *r) { return r->user; }

/* Moses has cut the text into words already. */
static heed_bleu_tokens bleu_tokens(const heed_preprocessing *p) { return p->moses ? HEED_BLEU_NONE : HEED_BLEU_13A; }

/* ---- the text ---- */

static void copy_line(heed_ctx *cx, const heed_lines *from, int64_t i, heed_string *to) {
    heed_string_put(cx, to, heed_line_text(from, i), heed_line_size(from, i));
    heed_string_put(cx, to, "\n", 1);
}

/* Moves some of the pairs, chosen at random, to the validation set. */
static bool hold_out(heed_run *r, struct text *t) {
    heed_ctx *cx = r->cx;
    const int64_t n = t->lines[TRAIN][0].count;
    const double share = run_given(r, "valid") ? run_number(r, "valid") : 0.01;
    int64_t held = (int64_t)(share * (double)n + 0.5);
    if (!run_given(r, "valid") && held > MAX_VALID) held = MAX_VALID;
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
static bool read_more(heed_run *r, struct text *t) {
    const char *const *paths;
    const int n = run_list(r, "more", &paths);
    for (int i = 0; i < n; i++) {
        heed_lines more[2];
        if (!heed_parallel_read(r->cx, paths[i], "train", &t->preprocessing, more)) return false;
        for (int k = 0; k < 2; k++) add_lines(r->cx, &t->lines[TRAIN][k], &more[k]);
        heed_parallel_free(r->cx, more);
    }
    return !heed_failed(r->cx);
}

static bool read_text(heed_run *r, struct text *t) {
    const char *valid = run_text(r, "valid-data"), *test = run_text(r, "test");
    if (!heed_parallel_read(r->cx, r->path, "train", &t->preprocessing, t->lines[TRAIN])) return false;
    if (!valid && !run_given(r, "valid") && heed_parallel_has(r->path, "val", &t->preprocessing)) valid = r->path;
    if (!test && heed_parallel_has(r->path, "test", &t->preprocessing)) test = r->path;
    t->path[VALID] = valid;
    t->path[TEST] = test;
    if (valid && !heed_parallel_read(r->cx, valid, "val", &t->preprocessing, t->lines[VALID])) return false;
    if (!valid && !hold_out(r, t)) return false;
    if (!read_more(r, t)) return false;
    return !test || heed_parallel_read(r->cx, test, "test", &t->preprocessing, t->lines[TEST]);
}

/* ---- the vocabulary ---- */

static heed_tokenizer *learn(const heed_run *r, const struct text *t, int first, int n) {
    const heed_lines *texts[2] = {&t->lines[TRAIN][first], &t->lines[TRAIN][1]};
    return heed_vocabulary_train(r->cx, texts, n, heed_vocabulary_kind(run_text(r, "tokens")), run_int(r, "vocab"));
}

/* A resumed run keeps the tokenizers that it began with. */
static bool make_tokenizers(heed_run *r, struct text *t) {
    const char *given = run_text(r, "tokenizer"), *init = run_init(r);
    if (run_flag(r, "resume") && directory_has_tokenizers(r->dir))
        directory_load_tokenizers(r->cx, r->dir, t->tokens);
    else if (init)
        directory_load_tokenizers(r->cx, init, t->tokens);
    else if (given)
        t->tokens[0] = t->tokens[1] = heed_tokenizer_load(r->cx, given);
    else if (!run_flag(r, "separate"))
        t->tokens[0] = t->tokens[1] = learn(r, t, 0, 2);
    else if ((t->tokens[0] = learn(r, t, 0, 1)))
        t->tokens[1] = learn(r, t, 1, 1);
    return !heed_failed(r->cx);
}

/* ---- the model ---- */

/* Standard deviation of new weights: embeddings have unit variance once they are scaled by sqrt(d_model), as in the
 * paper (Vaswani et al. 2017). */
static double initial_deviation(const heed_run *r) {
    const char *const said = run_setting(r, "d_model");
    const int64_t width = said ? strtoll(said, NULL, 10) : WIDTH;
    return 1 / sqrt((double)(width > 0 ? width : WIDTH));
}

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct text *t = text_of(r);
    const long long pad = heed_vocabulary_pad(cx, t->tokens[1]), end = heed_vocabulary_end(cx, t->tokens[1]);
    const struct {
        const char *key;
        long long value;
    } sizes[] = {
        {"vocab_size", heed_tokenizer_size(t->tokens[0])},
        {"decoder_vocab_size", heed_tokenizer_size(t->tokens[1])},
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
    struct settings s = {.n = 0}, none = {.n = 0};
    if (heed_failed(cx)) return NULL;
    for (int i = 0; i < SIZES; i++) {
        if (!run_has_key(r->family, sizes[i].key)) continue;
        snprintf(text[i], sizeof text[i], "%s=%lld", sizes[i].key, sizes[i].value);
        s.text[s.n++] = text[i];
    }
    if (run_has_key(r->family, "share_encoder_decoder_embeddings"))
        s.text[s.n++] = t->tokens[0] == t->tokens[1] ? "share_encoder_decoder_embeddings=true"
                                                     : "share_encoder_decoder_embeddings=false";
    snprintf(deviation, sizeof deviation, "init_std=%.6g", initial_deviation(r));
    if (run_has_key(r->family, "init_std")) s.text[s.n++] = deviation;
    if (run_flag(r, "reverse")) s.text[s.n++] = "reverse_source=true";
    s.text[s.n++] = "label_smoothing=0.1";
    heed_model *model = run_make_model(r, cx, &s, &none);
    if (model) heed_preprocessing_put(cx, heed_model_config(model), &t->preprocessing);
    return model;
}

static int64_t positions_of(heed_run *r) {
    heed_model *const model = run_draft(r);
    const int64_t positions = model ? heed_translator_positions(r->dry, model) : 0;
    return model && run_drafted(r) ? positions : 0;
}

/* ---- pairs of ids ---- */

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
    const heed_pairs_opts to_train = {.skip_empty = true, .max_length = t->max_length},
                          held_out = {.max_length = t->positions};
    if (set == TRAIN) return heed_pairs_encode(cx, &text, &to_train, &t->pairs[set]);
    if (!t->path[set]) return heed_pairs_encode(cx, &text, &held_out, &t->pairs[set]) && drop_long_lines(cx, t);
    return heed_pairs_encode(cx, &text, NULL, &t->pairs[set]) && check_lengths(cx, t, set);
}

static bool encode(heed_run *r, struct text *t) {
    heed_ctx *cx = r->cx;
    const int64_t asked = run_int(r, "longest");
    t->positions = positions_of(r);
    t->max_length = asked > 0 && asked < t->positions ? asked : t->positions;
    const heed_pairs *p = &t->pairs[TRAIN];
    for (int set = 0; set < SETS && !heed_failed(cx); set++) encode_set(cx, t, set);
    if (!heed_failed(cx) && p->n == 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: no pair is left: %lld have an empty side, %lld more than %lld tokens",
                  r->path, (long long)p->empty, (long long)p->long_ones, (long long)t->max_length);
    return !heed_failed(cx);
}

/* ---- the run ---- */

static bool check(heed_run *r) {
    if (run_number(r, "merge-dropout") > 0 && strcmp(run_text(r, "tokens"), "bpe") != 0)
        return run_misused(r, "--merge-dropout goes with --tokens bpe");
    if (run_flag(r, "reverse") && !run_has_key(r->family, "reverse_source"))
        return run_misused(r, "--reverse: %s reads all tokens at once", r->family->name);
    return run_forcing_fits(r) && run_embeddings_fit(r);
}

static bool load(heed_run *r) {
    struct text *t = heed_mem_new(r->cx, sizeof *t);
    if (!t) return false;
    *t = (struct text){.preprocessing = {.moses = run_flag(r, "moses"), .lower = run_flag(r, "lower")}};
    r->user = t;
    const char *from = run_text(r, "from"), *to = run_text(r, "to");
    snprintf(t->preprocessing.from, sizeof t->preprocessing.from, "%s", from ? from : "");
    snprintf(t->preprocessing.to, sizeof t->preprocessing.to, "%s", to ? to : "");
    return run_open_embeddings(r) && read_text(r, t) && make_tokenizers(r, t) &&
           heed_vocabulary_ends(r->cx, t->tokens[1]) && encode(r, t);
}

static bool plan(heed_run *r) {
    struct text *t = text_of(r);
    heed_loop_opts *l = &r->loop;
    struct run_batch b;
    if (!run_batch(r, run_int(r, "batch"), INT64_MAX, "token", "tokens", &b)) return false; /* one may hold all pairs */
    heed_translation_opts opts = {.target = t->tokens[1],
                                  .tokens = b.batch,
                                  .micro_tokens = b.micro_batch,
                                  .pad = heed_vocabulary_pad(r->cx, t->tokens[1]),
                                  .seed = heed_seed(r->cx),
                                  .bleu.tokens = bleu_tokens(&t->preprocessing),
                                  .merge_dropout = run_number(r, "merge-dropout"),
                                  .train_text = &t->to_train,
                                  .max_length = t->max_length,
                                  .forcing = &t->forcing};
    heed_translation_set *const sets[SETS] = {&opts.train, &opts.valid, &opts.test};
    for (int i = 0; i < SETS; i++)
        if (t->pairs[i].n > 0) *sets[i] = (heed_translation_set){&t->pairs[i], i == TRAIN ? NULL : &t->lines[i][1]};
    t->translation = heed_translation_new(r->cx, &opts);
    l->source = heed_translation_source(t->translation);
    if (!l->source) return false;
    run_set_forcing(r, &t->forcing);
    const int64_t steps = l->steps > 0 ? l->steps : l->epochs * l->source->per_epoch;
    if (!run_given(r, "warmup")) l->trainer.schedule.warmup = steps / 10 < MAX_WARMUP ? steps / 10 : MAX_WARMUP;
    return true;
}

static void say_what_there_is(const heed_run *r) {
    const struct text *t = text_of(r);
    const heed_pairs *const p = &t->pairs[TRAIN];
    const int64_t all = p->start[2 * p->n];
    char text[3][48], tokens[96];
    int at = snprintf(tokens, sizeof tokens, "%lld", (long long)heed_tokenizer_size(t->tokens[0]));
    if (t->tokens[1] != t->tokens[0])
        snprintf(tokens + at, sizeof tokens - (size_t)at, " and %lld", (long long)heed_tokenizer_size(t->tokens[1]));
    heed_note(r->cx, HEED_LOG_INFO, "%s: %s to train on in %s, %lld to validate, %lld to test; %s tokens; %s with %s",
              r->path, text_count(p->n, "pair", "pairs", text[0]),
              text_count(r->loop.source->per_epoch, "batch", "batches", text[1]), (long long)t->pairs[VALID].n,
              (long long)t->pairs[TEST].n, tokens, r->family->name,
              text_count(heed_params_size(heed_model_params(r->model)), "parameter", "parameters", text[2]));
    if (p->empty + p->long_ones > 0)
        heed_note(r->cx, HEED_LOG_WARN, "%s: left out %s with an empty side and %lld too long", r->path,
                  text_count(p->empty, "pair", "pairs", text[0]), (long long)p->long_ones);
    if (p->unknown * 50 > all)
        heed_note(r->cx, HEED_LOG_WARN, "%s: the vocabulary does not cover %.1f %% of the tokens", r->path,
                  100.0 * (double)p->unknown / (double)all);
}

static bool begin(heed_run *r) {
    const struct text *t = text_of(r);
    /* New tokens never lie beside the weights of another model: from here on there is none, until one is written. */
    if (!run_flag(r, "resume") && !directory_clear(r->cx, r->dir)) return false;
    if (!directory_save_tokenizers(r->cx, r->dir, t->tokens) || !run_take_embeddings(r, t->tokens[0], t->tokens[1]))
        return false;
    say_what_there_is(r);
    return true;
}

static void free_text(heed_run *r) {
    struct text *t = text_of(r);
    heed_translation_free(r->cx, t->translation);
    directory_free_tokenizers(r->cx, t->tokens);
    for (int set = 0; set < SETS; set++) {
        heed_pairs_free(r->cx, &t->pairs[set]);
        heed_parallel_free(r->cx, t->lines[set]);
    }
    heed_mem_free(r->cx, t);
}

/* ---- measuring ---- */

struct measured {
    struct heed_evaluated more;
    struct evaluated_translation found;
    heed_length_score by_length[MAX_LENGTHS];
};

/* What is asked for, else what the model's directory says. */
static bool read_decoding(const heed_run *r, const heed_model *model, heed_generate_opts *to) {
    const int64_t beams = run_int(r, "beam");
    const float penalty = (float)run_number(r, "length-penalty");
    *to = (heed_generate_opts){.beams = beams, .length_penalty = penalty};
    if (!heed_generate_config(r->cx, model, to)) return false;
    if (run_given(r, "beam")) to->beams = beams;
    if (run_given(r, "length-penalty")) to->length_penalty = penalty;
    to->n_best = 1, to->sample = false;
    return true;
}

/* Source and target as lines and as pairs of ids. */
static bool measure(heed_run *r, const heed_translator *t, const heed_lines lines[2], const heed_pairs *pairs,
                    struct measured *m, heed_evaluation *to) {
    heed_ctx *const cx = r->cx;
    const heed_translation_set set = {pairs, &lines[1]};
    const heed_bleu_opts opts = {.tokens = bleu_tokens(&t->preprocessing)};
    heed_generate_opts decode;
    heed_lines decoded = {0};
    const bool ok = read_decoding(r, t->model, &decode) && heed_metrics_find(cx, "bleu", &to->metrics) &&
                    heed_translation_measure_lines(cx, t->model, &set, t->tokens[1], &decode, &opts, &to->score,
                                                   &m->found.bleu, &decoded);
    if (ok && run_given(r, "by-length"))
        m->found.n_lengths = heed_bleu_by_length(cx, &lines[0], &decoded, &lines[1], run_int(r, "by-length"), &opts,
                                                 m->by_length, MAX_LENGTHS);
    m->found.beams = decode.beams;
    heed_lines_free(cx, &decoded);
    return ok && !heed_failed(cx);
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    heed_ctx *const cx = r->cx;
    struct measured *const m = evaluation_room(cx, to, sizeof *m, heed_mem_free);
    heed_translator *const t = m ? heed_translator_open(cx, r->dir) : NULL;
    heed_lines lines[2] = {{0}};
    heed_pairs pairs = {0};
    const bool ok =
        t && heed_parallel_read(cx, r->path, part, &t->preprocessing, lines) &&
        heed_pairs_encode(cx, &(heed_parallel_text){&lines[0], &lines[1], t->tokens[0], t->tokens[1]}, NULL, &pairs);
    if (ok) {
        m->more.translation = &m->found;
        m->found.by_length = m->by_length;
        to->n = pairs.n;
        to->one = "sentence";
        to->many = "sentences";
        to->more = &m->more;
    }
    const bool measured = ok && measure(r, t, lines, &pairs, m, to);
    heed_pairs_free(cx, &pairs);
    heed_parallel_free(cx, lines);
    heed_translator_free(cx, t);
    return measured;
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "parallel text: a directory, the common beginning of two files, or a .tsv of two columns"},
    {.name = "from", .kind = HEED_FIELD_TEXT, .value = "LANGUAGE", .help = "source language, the ending of its files: en"},
    {.name = "to", .kind = HEED_FIELD_TEXT, .value = "LANGUAGE", .help = "target language, the ending of its files: de"},
    {.name = "more", .kind = HEED_FIELD_FILES, .value = "PATH",
     .help = "further pairs to train on, such as translations by other models, in the form of --data"},
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation pairs; by default a directory's own val files, or 1 in 100 pairs"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pairs held out for validation, instead of files"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "test pairs, measured once at the end; by default a directory's own test files"},
    {.name = "longest", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "leave out pairs with more than N tokens on a side; 0: as many as the model has positions"},
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "moses", .help = "normalise and tokenise with the Moses rules first (en, de, fr)"},
    {.name = "lower", .help = "lower-case all text first"},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "bpe", .value = "KIND", .choices = "bpe word char",
     .help = "kind of tokenizer to train, one of"},
    {.name = "vocab", .kind = HEED_FIELD_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size; for word and char 0: no limit"},
    {.name = "separate", .help = "a vocabulary and embeddings for each language instead of shared ones"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH", .help = "use this tokenizer.json instead"},
    {.name = "reverse", .help = "for recurrent models: read the source backwards (Sutskever et al. 2014)"},
    {.name = "merge-dropout", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "BPE-dropout: probability of skipping a merge, such as 0.1"},
    EMBEDDINGS_FIELD,
    {.name = "target-embeddings", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "the same for the words of the target, where it has a table of its own"},
    {.name = "forcing", .kind = HEED_FIELD_TABLE, .table = forcing_fields},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("transformer", "model family; 'heed list' shows them"),
    EPOCHS_FIELD("30", NULL, ""),
    BATCH_FIELD("4096", "tokens per update, with padding, on the longer side"),
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

static const struct task_way way_translate = {.what = "parallel text",
                                              .check = check,
                                              .load = load,
                                              .plan = plan,
                                              .model_of = new_model,
                                              .begin = begin,
                                              .evaluate = evaluate,
                                              .free = free_text};
static const struct task_way *const ways[] = {&way_translate, NULL};

const heed_task task_of_translate = {
    .name = "translate",
    .summary = "sentences of another language",
    .about = "Trains an encoder-decoder on parallel text: --data is a directory with train.en, train.de, val.en, "
             "val.de and perhaps test.en, test.de (for --from en --to de; each may be .gz), the common beginning "
             "of two such files, or a .tsv of two columns. The metric while training is the BLEU of greedy "
             "decoding; 'heed eval' measures with beam search.\n\n"
             "Training takes hours on a corpus of some ten thousand pairs; --steps, --set d_model=128 and fewer "
             "layers make it quicker.",
    .examples = "heed train translate --data corpus --from en --to de --out en-de --set d_model=128\n"
                "heed train translate --data multi30k --recipe recipes/multi30k-en-de.recipe --out en-de\n",
    .fields = fields,
    .next = "translate",
    .next_how = "   (sentences on standard input)",
    .ways = ways,
};
