/* heed train ngram: a model of counts. It is not trained in steps, so it has options and a run of its own. */
#include "base/clock.h"
#include "cli/classical/ngram.h"
#include "cli/core/program.h"
#include "cli/train/text_data.h"
#include "cli/train/train.h"
#include "heed/task.h"
#include "model/core/directory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "TEXT", .help = "a text file (.gz too), or an ARPA file to convert"},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "where the model is written"},
    {.name = "force", .letter = 'f', .help = "overwrite a model that is there"},
    {.name = "arpa", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "write the model as an ARPA file, too; .gz is gzipped"},
    {.name = "n-grams", .kind = HEED_FIELD_GROUP},
    {.name = "order", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "3", .value = "N", .low = 1, .high = HEED_NGRAM_MAX_ORDER,
     .help = "length of the longest n-grams"},
    {.name = "smoothing", .kind = HEED_FIELD_CHOICE, .standard = "modified-kneser-ney", .value = "KIND",
     .choices = "modified-kneser-ney kneser-ney", .help = "one of"},
    {.name = "discount", .kind = HEED_FIELD_NUMBER, .standard = "0.1", .value = "D", .high = 1,
     .help = "the discount of kneser-ney"},
    {.name = "discount-fallback", .kind = HEED_FIELD_TEXT, .standard = "0.5,1,1.5", .value = "D1,D2,D3",
     .help = "discounts of an order whose counts of counts give none, as those of letters do; 'none': that is an error"},
    {.name = "prune", .kind = HEED_FIELD_TEXT, .value = "C1,C2,...",
     .help = "leave out n-grams of order k seen at most Ck times; the last one is for higher orders too"},
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "word", .value = "KIND",
     .choices = "char word bpe byte-bpe wordpiece unigram", .help = "what is counted, one of"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "DIR", .help = "use the tokenizer of this directory instead"},
    {.name = "vocab", .letter = 'v', .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "number of tokens; 0: all there are, of parts of words 8000"},
    {.name = "least", .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1e9,
     .help = "words and letters seen less often are unknown"},
    {.name = "lower", .help = "lower-case the text"},
    SPLIT_OPTION(SPLIT_MARKS, "of --tokens word; "),
    {.name = "sequences", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = "lines text",
     .help = "what has a beginning and an end: each line, or the whole text with its newlines; by default the text for letters, "
             "else lines; one of"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "FRACTION", .high = 0.999,
     .help = "fraction at the end of the text held out and measured"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "TEXT", .help = "a text that is measured at the end"},
    {.name = "music", .help = "the data are chorales, as for 'train music': a voice of a step is a word, a chorale a line; their own parts "
                              "valid and test are measured"},
    {.name = "transpose", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 127,
     .help = "of music: count chorales in all keys up to N semitones away, as far as the voices' ranges allow"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

struct job {
    const struct options *o;
    heed_ctx *cx;
    const char *path, *dir;
    bool text, music;
    double fallback[3];
    int64_t prune[HEED_NGRAM_MAX_ORDER];
    heed_ngram_opts opts;
    heed_ngram_report *report;
    struct ngram_model model;
    struct ngram_sum valid, test;
    int64_t count; /* tokens that were counted */
};

/* ---- options ---- */

/* Numbers with commas between them; how many, or -1. */
static int read_list(const char *text, double *to, int most) {
    int n = 0;
    for (char *end;; text = end + 1) {
        if (n == most) return -1;
        to[n++] = strtod(text, &end);
        if (end == text || (*end && *end != ',')) return -1;
        if (!*end) return n;
    }
}

static bool read_options(struct job *j) {
    const struct options *o = j->o;
    const char *fallback = option_text(o, "discount-fallback"), *prune = option_text(o, "prune");
    const char *sequences = option_text(o, "sequences");
    static const char *const not_music[] = {"valid", "tokens", "tokenizer", "sequences", "lower", SPLIT_KEY};
    j->music = option_flag(o, "music");
    for (int i = 0; i < 6 && j->music; i++)
        if (option_given(o, not_music[i]))
            return cli_error(EXIT_USAGE, "train: --%s does not go with --music", not_music[i]), false;
    if (option_given(o, "transpose") && !j->music)
        return cli_error(EXIT_USAGE, "train: --transpose goes with --music"), false;
    j->text = sequences ? strcmp(sequences, "text") == 0 : strcmp(option_text(o, "tokens"), "char") == 0;
    j->opts = (heed_ngram_opts){.order = (int)option_int(o, "order"), .discount = option_number(o, "discount")};
    if (strcmp(option_text(o, "smoothing"), "kneser-ney") == 0) j->opts.smoothing = HEED_NGRAM_KNESER_NEY;
    if (option_given(o, "discount") && j->opts.smoothing != HEED_NGRAM_KNESER_NEY)
        return cli_error(EXIT_USAGE, "train: --discount goes with --smoothing kneser-ney"), false;
    if (strcmp(fallback, "none") != 0) {
        if (read_list(fallback, j->fallback, 3) != 3)
            return cli_error(EXIT_USAGE, "train: --discount-fallback: three numbers are expected, as in 0.5,1,1.5"),
                   false;
        j->opts.fallback = j->fallback;
    }
    if (prune) {
        double counts[HEED_NGRAM_MAX_ORDER];
        const int n = read_list(prune, counts, j->opts.order);
        bool good = n > 0;
        for (int i = 0; i < n; i++) {
            good &= counts[i] >= 0 && counts[i] < 4e9 && floor(counts[i]) == counts[i];
            j->prune[i] = good ? (int64_t)counts[i] : 0;
        }
        if (!good)
            return cli_error(EXIT_USAGE,
                             "train: --prune: counts are expected, at most one for each order, as in 0,0,1"),
                   false;
        j->opts.prune = j->prune;
        j->opts.n_prune = n;
    }
    return true;
}

/* ---- text ---- */

/* Takes the end of the lines, or of the one text, away for validation. */
static bool hold_out(struct job *j, heed_lines *lines, heed_lines *valid) {
    const double keep = 1 - option_number(j->o, "valid");
    heed_string text = {0};
    if (keep >= 1) return true;
    if (j->text) {
        const int64_t size = lines->count ? lines->start[1] - 1 : 0;
        int64_t characters = 0, at = 0, seen = 0;
        for (int64_t i = 0; i < size; i++) characters += ((unsigned char)lines->text[i] & 0xC0) != 0x80;
        const int64_t first = (int64_t)(keep * (double)characters);
        for (; at < size; at++) {
            seen += ((unsigned char)lines->text[at] & 0xC0) != 0x80;
            if (seen > first) break;
        }
        int64_t *start = heed_mem_new(j->cx, 2 * sizeof *start);
        if (!start || !heed_string_put(j->cx, &text, lines->text + at, (size_t)(size - at)))
            return heed_mem_free(j->cx, start), false;
        start[0] = 0, start[1] = size - at + 1;
        *valid = (heed_lines){.text = text.s, .start = start, .count = 1};
        lines->text[at] = 0;
        lines->start[1] = at + 1;
        return true;
    }
    const int64_t first = (int64_t)(keep * (double)lines->count);
    for (int64_t i = first; i < lines->count; i++)
        if (!heed_string_put(j->cx, &text, heed_line_text(lines, i), heed_line_size(lines, i)) ||
            !heed_string_put(j->cx, &text, "\n", 1))
            return heed_string_free(j->cx, &text), false;
    lines->count = first;
    return heed_lines_cut(j->cx, &text, valid);
}

static bool splits_marks(const struct job *j) {
    return !j->music && strcmp(option_text(j->o, "tokens"), "word") == 0 && !option_given(j->o, "tokenizer") &&
           strcmp(option_text(j->o, SPLIT_KEY), SPLIT_MARKS) == 0;
}

static heed_tokenizer *tokenizer(const struct job *j, const heed_lines *lines) {
    const struct options *o = j->o;
    const char *dir = option_text(o, "tokenizer");
    if (dir) return heed_tokenizer_load(j->cx, dir);
    const heed_tokenizer_kind kind = heed_vocabulary_kind(option_text(o, "tokens"));
    const int64_t vocabulary = option_int(o, "vocab");
    return heed_tokenizer_train(
        j->cx, (const heed_lines *const[]){lines}, 1,
        &(heed_tokenizer_opts){.kind = kind,
                               .vocabulary = vocabulary || kind < HEED_TOKENS_BPE ? vocabulary : 8000,
                               .least = option_int(o, "least"),
                               .lower = option_flag(o, "lower"),
                               .punctuation = splits_marks(j),
                               .unk = kind == HEED_TOKENS_BYTE_BPE ? NULL : "<unk>"});
}

/* Counts the tokens of the lines. */
static heed_ngram *count(struct job *j, const heed_tokenizer *t, const heed_lines *lines) {
    heed_ctx *cx = j->cx;
    const int64_t names = heed_tokenizer_size(t);
    const int32_t unknown = heed_tokenizer_unknown(t);
    heed_ids ids = {0};
    int64_t *start = heed_mem_new(cx, ((size_t)lines->count + 1) * sizeof *start);
    const char **name = heed_mem_new(cx, (size_t)names * sizeof *name);
    heed_ngram *m = NULL;
    if (start && name && heed_encode_lines(cx, t, lines, false, &ids, start)) {
        for (int64_t i = 0; i < names; i++) name[i] = i == unknown ? NULL : heed_tokenizer_token(t, (int32_t)i);
        j->count = ids.count;
        m = lines->count > 0 ? heed_ngram_train(cx, &ids, start, lines->count, name, names, &j->opts, j->report)
                             : (heed_fail(cx, HEED_ERR_FORMAT, "the text is empty"), NULL);
        if (!m) heed_fail_in(cx, "%s", j->path);
    }
    heed_mem_free(cx, start);
    heed_mem_free(cx, name);
    heed_ids_free(cx, &ids);
    return m;
}

/* ---- files ---- */

static bool write_config(const struct job *j) {
    char path[PATH_ROOM];
    heed_ctx *cx = j->cx;
    const heed_ngram *m = j->model.m;
    const heed_json at = heed_json_new(cx, "config");
    heed_json_put_text(cx, at, "model_type", NGRAM_TYPE);
    heed_json_put_int(cx, at, "order", heed_ngram_order(m));
    heed_json_put_int(cx, at, "vocab_size", heed_ngram_words(m));
    if (j->count > 0) heed_json_put_text(cx, at, "smoothing", option_text(j->o, "smoothing"));
    if (j->count > 0)
        heed_json_put_text(cx, at, "tokens",
                           option_given(j->o, "tokenizer") ? "tokenizer" : option_text(j->o, "tokens"));
    if (j->count > 0) heed_json_put_text(cx, at, SPLIT_KEY, splits_marks(j) ? SPLIT_MARKS : "blanks");
    heed_json_put_text(cx, at, "sequences", j->music ? "chorales" : j->model.text ? "text" : "lines");
    const heed_json counts = heed_json_put_array(cx, at, "ngrams");
    for (int k = 1; k <= heed_ngram_order(m); k++) heed_json_put_int(cx, counts, NULL, heed_ngram_count(m, k));
    const bool ok = directory_path(cx, j->dir, CONFIG_FILE, path) && heed_json_write(cx, path, at);
    heed_json_free(at);
    return ok;
}

/* config.json comes last: with it the directory holds a model. */
static bool write_directory(const struct job *j) {
    char path[PATH_ROOM];
    const char *arpa = option_text(j->o, "arpa");
    heed_ctx *cx = j->cx;
    const int lock = directory_claim(cx, j->dir, option_flag(j->o, "force") ? NULL : directory_has_config);
    const bool ok = lock >= 0 && directory_clear(cx, j->dir) && directory_path(cx, j->dir, NGRAM_FILE, path) &&
                    heed_ngram_save(cx, j->model.m, path) &&
                    (!j->model.tokens || heed_tokenizer_save(cx, j->model.tokens, j->dir)) && write_config(j) &&
                    (!arpa || heed_ngram_write_arpa(cx, j->model.m, arpa));
    directory_unlock(lock);
    return ok;
}

/* ---- all of it ---- */

static bool read_sequences(const struct job *j, const char *path, const char *part, heed_lines *to) {
    if (!j->music) return ngram_read_lines(j->cx, path, j->text, to);
    const bool train = strcmp(part, "train") == 0;
    return ngram_read_music(j->cx, path, part, train ? (int)option_int(j->o, "transpose") : 0, to);
}

static bool count_text(struct job *j) {
    heed_ctx *cx = j->cx;
    heed_lines lines = {0}, valid = {0};
    heed_tokenizer *t = NULL;
    j->report = heed_mem_new(cx, (size_t)j->opts.order * sizeof *j->report);
    const bool ok = j->report && read_sequences(j, j->path, "train", &lines) && hold_out(j, &lines, &valid);
    if (ok && lines.count == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: the text is empty", j->path);
    if (ok && !heed_failed(cx) && !(t = tokenizer(j, &lines))) heed_fail_in(cx, "%s", j->path);
    heed_ngram *m = t ? count(j, t, &lines) : NULL;
    ngram_model_join(cx, m, t, j->text, &j->model);
    j->model.music = j->music;
    if (j->music && !heed_failed(cx) && texts_chorales(cx, j->path, "valid"))
        read_sequences(j, j->path, "valid", &valid);
    if (!heed_failed(cx) && valid.count > 0) ngram_measure(&j->model, &valid, &j->valid);
    heed_lines_free(cx, &lines);
    heed_lines_free(cx, &valid);
    return !heed_failed(cx);
}

static bool measure_test(struct job *j) {
    const char *path = option_text(j->o, "test");
    heed_lines lines = {0};
    if (!path && j->music && texts_chorales(j->cx, j->path, "test")) path = j->path;
    const bool ok = !path || (read_sequences(j, path, "test", &lines) && ngram_measure(&j->model, &lines, &j->test));
    heed_lines_free(j->cx, &lines);
    return ok;
}

static void say_fallbacks(const struct job *j) {
    for (int k = 0; k < j->opts.order && !option_flag(j->o, "quiet") && j->count > 0; k++)
        if (j->report[k].fell_back)
            fprintf(stderr, "heed: the counts of %d-grams give no discounts: %g, %g and %g are taken\n", k + 1,
                    j->fallback[0], j->fallback[1], j->fallback[2]);
}

static void print_json(const struct job *j, double seconds) {
    heed_ctx *cx = j->cx;
    const heed_json at = heed_json_new(cx, "result");
    heed_json_put_text(cx, at, "model", j->dir);
    heed_json_put_int(cx, at, "order", heed_ngram_order(j->model.m));
    heed_json_put_int(cx, at, "tokens", j->count);
    heed_json_put_int(cx, at, "vocab_size", heed_ngram_words(j->model.m));
    const heed_json counts = heed_json_put_array(cx, at, "ngrams");
    for (int k = 1; k <= heed_ngram_order(j->model.m); k++)
        heed_json_put_int(cx, counts, NULL, heed_ngram_count(j->model.m, k));
    if (j->valid.tokens > 0) ngram_put_sum(cx, heed_json_put_object(cx, at, "valid"), &j->valid);
    if (j->test.tokens > 0) ngram_put_sum(cx, heed_json_put_object(cx, at, "test"), &j->test);
    heed_json_put_number(cx, at, "seconds", round(seconds * 1000) / 1000);
    json_answer(cx, stdout, at, 2);
    heed_json_free(at);
}

static void print_summary(const struct job *j, double seconds) {
    const heed_ngram *m = j->model.m;
    char words[48];
    printf("counted %lld tokens of %s in %.1f s:", (long long)j->count,
           cli_count(heed_ngram_words(m), "word", "words", words), seconds);
    for (int k = 1; k <= heed_ngram_order(m); k++)
        printf("%s %lld %d-grams", k > 1 ? "," : "", (long long)heed_ngram_count(m, k), k);
    puts("");
    if (j->valid.tokens > 0) ngram_print_sum(stdout, "validation: ", &j->valid);
    if (j->test.tokens > 0) ngram_print_sum(stdout, "test: ", &j->test);
    printf("model: %s\nnext: ", j->dir);
    cli_print_command(stdout, "complete", j->dir, (char *)NULL);
    puts("");
}

static void train(struct job *j) {
    const double began = clock_seconds();
    const bool arpa = ngram_is(j->path);
    const bool made = arpa ? ngram_model_open(j->cx, j->path, &j->model) : count_text(j);
    if (made && !arpa) say_fallbacks(j);
    if (made && measure_test(j) && !heed_cancelled(j->cx) && write_directory(j)) {
        if (option_flag(j->o, "json"))
            print_json(j, clock_seconds() - began);
        else if (!option_flag(j->o, "quiet"))
            print_summary(j, clock_seconds() - began);
    }
    ngram_model_close(&j->model);
    heed_mem_free(j->cx, j->report);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("train ngram", options, argc, argv, 1, 1, "TASK");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o, .path = option_need(o, "data")};
    int status = EXIT_USAGE;
    if (j.path && (j.dir = option_need(o, "out")) && read_options(&j)) {
        status = EXIT_FAILED;
        if (directory_has_config(j.dir) && !option_flag(o, "force"))
            cli_error(EXIT_FAILED, "%s: holds a model already; --force overwrites it", j.dir);
        else if (option_writable(o, "arpa") && (j.cx = options_open(o))) {
            train(&j);
            const bool usage = heed_error(j.cx) == HEED_ERR_USAGE;
            status = options_close(o, j.cx, EXIT_DONE);
            if (usage) status = EXIT_USAGE;
        }
    }
    options_free(o);
    return status;
}

const struct train_task train_ngram = {
    .page = {.name = "ngram",
             .summary = "an n-gram language model",
             .words = "ngram",
             .about =
                 "Counts the n-grams of a text and writes a language model: modified Kneser-Ney smoothing (Chen & "
                 "Goodman 1999) "
                 "as KenLM's lmplz estimates it, or interpolated Kneser-Ney with one discount as nltk.lm does. What is "
                 "counted "
                 "are letters, words or pieces of words. DIR receives config.json, model.ngram, which is mapped when "
                 "it is used, "
                 "and tokenizer.json.\n\n"
                 "Where --data is an ARPA file (its name ends with .arpa or .arpa.gz), it is converted; its words are "
                 "separated by blanks. --arpa FILE writes one.",
             .options = options,
             .examples = "heed train ngram --data corpus.txt --order 5 --out lm --arpa lm.arpa\n"
                         "heed train ngram --data shakespeare.txt --tokens char --order 7 --valid 0.1 --out letters\n"
                         "heed train ngram --data corpus.txt --tokens bpe --vocab 8000 --prune 0,0,1 --out pieces\n"
                         "heed train ngram --data corpus.txt --smoothing kneser-ney --discount 0.75 --out lm\n",
             .run = run},
};
