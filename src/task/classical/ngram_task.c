/* N-gram models. They are counted, not learnt in steps. */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "classical/ngram/ngram.h"
#include "classical/ngram/ngram_model.h"
#include "heed/music.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "task/run.h"
#include "task/text/text_parts.h"
#include "text/strings/split.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "TEXT", .help = "a text file (.gz too), or an ARPA file to convert"},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "where the model is written"},
    {.name = "force", .letter = 'f', .help = "overwrite a model that is there"},
    {.name = "arpa", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "also write the model as an ARPA file; one that ends in .gz is compressed"},
    {.name = "n-grams", .kind = HEED_FIELD_GROUP},
    {.name = "order", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "3", .value = "N", .low = 1, .high = HEED_NGRAM_MAX_ORDER,
     .help = "length of the longest n-grams"},
    {.name = "smoothing", .kind = HEED_FIELD_CHOICE, .standard = "modified-kneser-ney", .value = "KIND",
     .choices = "modified-kneser-ney kneser-ney", .help = "smoothing method, one of"},
    {.name = "discount", .kind = HEED_FIELD_NUMBER, .standard = "0.1", .value = "D", .high = 1,
     .help = "the discount of kneser-ney"},
    {.name = "discount-fallback", .kind = HEED_FIELD_TEXT, .standard = "0.5,1,1.5", .value = "D1,D2,D3",
     .help = "discounts of an order whose counts of counts give none, as happens with letters; 'none': fail instead"},
    {.name = "prune", .kind = HEED_FIELD_TEXT, .value = "C1,C2,...",
     .help = "leave out n-grams of order k that occur at most Ck times; the last count is for all higher orders too"},
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "word", .value = "KIND",
     .choices = "char word bpe byte-bpe wordpiece unigram", .help = "what is counted, one of"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "DIR", .help = "use the tokenizer of this directory instead"},
    {.name = "vocab", .letter = 'v', .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "maximum vocabulary size; 0: all characters or words, of subwords 8000"},
    {.name = "least", .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1e9,
     .help = "words and characters that occur fewer than N times are unknown"},
    {.name = "lower", .help = "lower-case the text"},
    SPLIT_FIELD(SPLIT_MARKS, "of --tokens word; "),
    {.name = "sequences", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = "lines text",
     .help = "what has a beginning and an end: each line, or the whole text with its newlines; by default the text for "
             "characters, else lines; one of"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "FRACTION", .high = 0.999,
     .help = "fraction of the text, at its end, to hold out and measure"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "TEXT", .help = "a text that is measured at the end"},
    {.name = "music", .help = "the data are chorales, as for 'train music': each voice of a step is a word, each chorale a line; the parts "
                              "valid and test of the data are measured"},
    {.name = "transpose", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 127,
     .help = "for music: count chorales in all keys up to N semitones away, as far as the ranges of the voices allow"},
    {.name = "json", .help = "the result as JSON"},
    {.name = NULL},
};
/* clang-format on */

struct counting {
    bool text, music;
    double fallback[3];
    int64_t prune[HEED_NGRAM_MAX_ORDER];
    heed_ngram_opts opts;
    heed_ngram_report *report;
    heed_lines lines, valid;
    heed_tokenizer *tokens; /* until the model has it */
    struct ngram_model model;
    struct ngram_sum found[2]; /* in validation and test */
    int64_t count;             /* tokens that were counted; 0: the model was converted */
    double began, seconds;
};

static struct counting *counting_of(const heed_run *r) { return r->user; }

/* ---- options ---- */

/* Reads numbers with commas between them; how many there are, or -1. */
static int read_list(const char *text, double *to, int most) {
    for (int n = 0; n < most;) {
        const size_t length = strcspn(text, ",");
        char cell[64];
        if (length >= sizeof cell) return -1;
        snprintf(cell, sizeof cell, "%.*s", (int)length, text);
        if (!number_read(cell, &to[n++], &(bool){false})) return -1;
        if (!text[length]) return n;
        text += length + 1;
    }
    return -1;
}

static bool read_prune(const heed_run *r, struct counting *c) {
    double counts[HEED_NGRAM_MAX_ORDER];
    const char *const text = run_text(r, "prune");
    const int n = text ? read_list(text, counts, c->opts.order) : 0;
    bool good = n >= 0;
    for (int i = 0; i < n && good; i++) {
        good = counts[i] >= 0 && counts[i] < 4e9 && floor(counts[i]) == counts[i];
        c->prune[i] = good ? (int64_t)counts[i] : 0;
    }
    c->opts.prune = c->prune;
    c->opts.n_prune = n;
    return good || run_misused(r, "--prune: counts are expected, at most one for each order, as in 0,0,1");
}

static bool check_music(const heed_run *r) {
    static const char *const others[] = {"valid", "tokens", "tokenizer", "sequences", "lower", SPLIT_KEY};
    for (int i = 0; i < 6 && run_flag(r, "music"); i++)
        if (run_given(r, others[i])) return run_misused(r, "--%s does not go with --music", others[i]);
    return !run_given(r, "transpose") || run_flag(r, "music") || run_misused(r, "--transpose goes with --music");
}

static bool check(heed_run *r) {
    const char *const fallback = run_text(r, "discount-fallback"), *const sequences = run_text(r, "sequences");
    struct counting *c = heed_mem_new(r->cx, sizeof *c);
    if (!c) return false;
    *c = (struct counting){.music = run_flag(r, "music"),
                           .text =
                               strcmp(sequences ? sequences : run_text(r, "tokens"), sequences ? "text" : "char") == 0,
                           .opts = {.order = (int)run_int(r, "order"), .discount = run_number(r, "discount")}};
    r->user = c;
    if (strcmp(run_text(r, "smoothing"), "kneser-ney") == 0) c->opts.smoothing = HEED_NGRAM_KNESER_NEY;
    if (!check_music(r)) return false;
    if (run_given(r, "discount") && c->opts.smoothing != HEED_NGRAM_KNESER_NEY)
        return run_misused(r, "--discount goes with --smoothing kneser-ney");
    if (strcmp(fallback, "none") != 0) {
        if (read_list(fallback, c->fallback, 3) != 3)
            return run_misused(r, "--discount-fallback: three numbers are expected, as in 0.5,1,1.5");
        c->opts.fallback = c->fallback;
    }
    return read_prune(r, c) && (ngram_opts_fit(r->cx, &c->opts) || heed_fail_in(r->cx, "train"));
}

/* ---- text ---- */

/* The end of a text that is one sequence, counted in characters. */
static bool hold_out_text(heed_run *r, double keep, heed_lines *lines, heed_lines *valid) {
    heed_string text = {0};
    const int64_t size = lines->count ? lines->start[1] - 1 : 0;
    int64_t characters = 0, at = 0, seen = 0;
    for (int64_t i = 0; i < size; i++) characters += ((unsigned char)lines->text[i] & 0xC0) != 0x80;
    const int64_t first = (int64_t)(keep * (double)characters);
    for (; at < size; at++) {
        seen += ((unsigned char)lines->text[at] & 0xC0) != 0x80;
        if (seen > first) break;
    }
    int64_t *start = heed_mem_new(r->cx, 2 * sizeof *start);
    if (!start || !heed_string_put(r->cx, &text, lines->text + at, (size_t)(size - at)))
        return heed_mem_free(r->cx, start), false;
    start[0] = 0, start[1] = size - at + 1;
    *valid = (heed_lines){.text = text.s, .start = start, .count = 1};
    lines->text[at] = 0;
    lines->start[1] = at + 1;
    return true;
}

static bool hold_out_lines(heed_run *r, double keep, heed_lines *lines, heed_lines *valid) {
    heed_string text = {0};
    const int64_t first = (int64_t)(keep * (double)lines->count);
    for (int64_t i = first; i < lines->count; i++)
        if (!heed_string_put(r->cx, &text, heed_line_text(lines, i), heed_line_size(lines, i)) ||
            !heed_string_put(r->cx, &text, "\n", 1))
            return heed_string_free(r->cx, &text), false;
    lines->count = first;
    return heed_lines_cut(r->cx, &text, valid);
}

/* Moves the end of the data to the validation set. */
static bool hold_out(heed_run *r) {
    struct counting *c = counting_of(r);
    const double keep = 1 - run_number(r, "valid");
    return keep >= 1 || (c->text ? hold_out_text : hold_out_lines)(r, keep, &c->lines, &c->valid);
}

/* The chorales of a part, or all of them where there is no such part. */
static bool read_music(heed_ctx *cx, const char *path, const char *part, int transpose, heed_lines *to) {
    return heed_music_lines(cx, path, texts_chorales(cx, path, part) ? part : NULL, transpose, to);
}

static bool splits_marks(const heed_run *r) {
    return !run_flag(r, "music") && strcmp(run_text(r, "tokens"), "word") == 0 && !run_given(r, "tokenizer") &&
           split_marks(run_text(r, SPLIT_KEY));
}

static heed_tokenizer *make_tokenizer(const heed_run *r, const heed_lines *lines) {
    const char *const dir = run_text(r, "tokenizer");
    if (dir) return heed_tokenizer_load(r->cx, dir);
    const heed_tokenizer_kind kind = heed_vocabulary_kind(run_text(r, "tokens"));
    const int64_t vocabulary = run_int(r, "vocab");
    return heed_tokenizer_train(
        r->cx, (const heed_lines *const[]){lines}, 1,
        &(heed_tokenizer_opts){.kind = kind,
                               .vocabulary = vocabulary || kind < HEED_TOKENS_BPE ? vocabulary : 8000,
                               .least = run_int(r, "least"),
                               .lower = run_flag(r, "lower"),
                               .punctuation = splits_marks(r),
                               .unk = kind == HEED_TOKENS_BYTE_BPE ? NULL : "<unk>"});
}

static bool load_text(heed_run *r) {
    struct counting *c = counting_of(r);
    if (!(c->music ? read_music(r->cx, r->path, "train", (int)run_int(r, "transpose"), &c->lines)
                   : ngram_read_lines(r->cx, r->path, c->text, &c->lines)) ||
        !hold_out(r))
        return false;
    if (c->lines.count == 0) return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: the text is empty", r->path);
    c->tokens = make_tokenizer(r, &c->lines);
    return c->tokens || heed_fail_in(r->cx, "%s", r->path);
}

/* The data are a text, or an ARPA file, which is only converted. */
static bool load(heed_run *r) {
    struct counting *c = counting_of(r);
    const char *const arpa = run_text(r, "arpa");
    c->began = clock_seconds();
    if (arpa && !file_folder_writable(arpa)) return heed_fail(r->cx, HEED_ERR_FILE, "%s: %s", arpa, strerror(errno));
    return ngram_is(r->path, r->budget) ? ngram_model_open(r->cx, r->path, &c->model) : load_text(r);
}

/* ---- counting ---- */

static heed_ngram *count_ids(heed_run *r, const heed_ids *ids, const int64_t *start) {
    struct counting *c = counting_of(r);
    const int64_t names = heed_tokenizer_size(c->tokens);
    const int32_t unknown = heed_tokenizer_unknown(c->tokens);
    const char **name = heed_mem_new(r->cx, (size_t)names * sizeof *name);
    for (int64_t i = 0; name && i < names; i++)
        name[i] = i == unknown ? NULL : heed_tokenizer_token(c->tokens, (int32_t)i);
    heed_ngram *m = name ? heed_ngram_train(r->cx, ids, start, c->lines.count, name, names, &c->opts, c->report) : NULL;
    if (name && !m) heed_fail_in(r->cx, "%s", r->path);
    heed_mem_free(r->cx, name);
    c->count = ids->count;
    return m;
}

static bool count(heed_run *r) {
    struct counting *c = counting_of(r);
    heed_ctx *const cx = r->cx;
    heed_ids ids = {0};
    heed_ngram *m = NULL;
    c->report = heed_mem_new(cx, (size_t)c->opts.order * sizeof *c->report);
    int64_t *start = heed_mem_new(cx, ((size_t)c->lines.count + 1) * sizeof *start);
    if (c->report && start && heed_encode_lines(cx, c->tokens, &c->lines, false, &ids, start))
        m = count_ids(r, &ids, start);
    heed_mem_free(cx, start);
    heed_ids_free(cx, &ids);
    const bool ok = ngram_model_join(cx, m, c->tokens, c->text, &c->model);
    c->model.music = c->music;
    c->tokens = NULL;
    for (int k = 0; ok && k < c->opts.order; k++)
        if (c->report[k].fell_back)
            heed_note(cx, HEED_LOG_WARN, "the counts of %d-grams give no discounts: %g, %g and %g are taken", k + 1,
                      c->fallback[0], c->fallback[1], c->fallback[2]);
    return ok;
}

/* ---- measuring ---- */

static bool measure_part(heed_run *r, const char *path, const char *part, struct ngram_sum *to) {
    const struct ngram_model *const m = &counting_of(r)->model;
    heed_lines lines = {0};
    const bool ok =
        (m->music ? read_music(r->cx, path, part, 0, &lines) : ngram_read_lines(r->cx, path, m->text, &lines)) &&
        ngram_measure(m, &lines, to);
    heed_lines_free(r->cx, &lines);
    return ok;
}

static bool measure(heed_run *r) {
    struct counting *c = counting_of(r);
    const char *const test = run_text(r, "test");
    if (c->valid.count > 0 && !ngram_measure(&c->model, &c->valid, &c->found[0])) return false;
    if (c->music && texts_chorales(r->cx, r->path, "valid") && !measure_part(r, r->path, "valid", &c->found[0]))
        return false;
    if (test) return measure_part(r, test, "test", &c->found[1]);
    return !c->music || !texts_chorales(r->cx, r->path, "test") || measure_part(r, r->path, "test", &c->found[1]);
}

/* ---- files ---- */

static bool write_config(const heed_run *r) {
    char path[PATH_ROOM];
    const struct counting *const c = counting_of(r);
    heed_ctx *const cx = r->cx;
    const heed_ngram *const m = c->model.m;
    const heed_json at = heed_json_new(cx, "config");
    heed_json_put_text(cx, at, "model_type", NGRAM_TYPE);
    heed_json_put_int(cx, at, "order", heed_ngram_order(m));
    heed_json_put_int(cx, at, "vocab_size", heed_ngram_words(m));
    if (c->count > 0) {
        heed_json_put_text(cx, at, "smoothing", run_text(r, "smoothing"));
        heed_json_put_text(cx, at, "tokens", run_given(r, "tokenizer") ? "tokenizer" : run_text(r, "tokens"));
        split_save(cx, at, splits_marks(r));
    }
    heed_json_put_text(cx, at, "sequences", c->music ? "chorales" : c->model.text ? "text" : "lines");
    const heed_json counts = heed_json_put_array(cx, at, "ngrams");
    for (int k = 1; k <= heed_ngram_order(m); k++) heed_json_put_int(cx, counts, NULL, heed_ngram_count(m, k));
    const bool ok = directory_path(cx, r->dir, CONFIG_FILE, path) && heed_json_write(cx, path, at);
    heed_json_free(at);
    return ok;
}

/* config.json comes last: with it the directory holds a model. */
static bool write_directory(heed_run *r) {
    char path[PATH_ROOM];
    const struct ngram_model *const m = &counting_of(r)->model;
    const char *const arpa = run_text(r, "arpa");
    return directory_clear(r->cx, r->dir) && directory_path(r->cx, r->dir, NGRAM_FILE, path) &&
           heed_ngram_save(r->cx, m->m, path) && (!m->tokens || heed_tokenizer_save(r->cx, m->tokens, r->dir)) &&
           write_config(r) && (!arpa || heed_ngram_write_arpa(r->cx, m->m, arpa));
}

/* ---- the run ---- */

static heed_loop_end train(heed_run *r) {
    struct counting *c = counting_of(r);
    const bool ok =
        (c->model.m || count(r)) && measure(r) && !heed_cancelled(r->cx) && run_claim(r) && write_directory(r);
    c->seconds = clock_seconds() - c->began;
    return ok ? HEED_LOOP_DONE : HEED_LOOP_FAILED;
}

static void put(heed_run *r, heed_json result) {
    static const char *const sets[] = {"valid", "test"};
    const struct counting *const c = counting_of(r);
    heed_ctx *const cx = r->cx;
    heed_json_put_int(cx, result, "order", heed_ngram_order(c->model.m));
    heed_json_put_int(cx, result, "tokens", c->count);
    heed_json_put_int(cx, result, "vocab_size", heed_ngram_words(c->model.m));
    const heed_json counts = heed_json_put_array(cx, result, "ngrams");
    for (int k = 1; k <= heed_ngram_order(c->model.m); k++)
        heed_json_put_int(cx, counts, NULL, heed_ngram_count(c->model.m, k));
    for (int i = 0; i < 2; i++)
        if (c->found[i].tokens > 0) ngram_put_sum(cx, heed_json_put_object(cx, result, sets[i]), &c->found[i]);
    heed_json_put_number(cx, result, "seconds", round(c->seconds * 1000) / 1000);
}

static bool remarks(heed_run *r, heed_string *text) {
    static const char *const sets[] = {"validation", "test"};
    const struct counting *const c = counting_of(r);
    const heed_ngram *const m = c->model.m;
    char words[48], sum[NGRAM_SUM_ROOM];
    run_remark(r, text, "counted %lld tokens of %s in %.1f s:", (long long)c->count,
               text_count(heed_ngram_words(m), "word", "words", words), c->seconds);
    for (int k = 1; k <= heed_ngram_order(m); k++)
        run_remark(r, text, "%s %lld %d-grams", k > 1 ? "," : "", (long long)heed_ngram_count(m, k), k);
    run_remark(r, text, "\n");
    for (int i = 0; i < 2; i++)
        if (c->found[i].tokens > 0) {
            ngram_sum_text(&c->found[i], sum);
            run_remark(r, text, "%s: %s\n", sets[i], sum);
        }
    return !heed_failed(r->cx);
}

static void free_counting(heed_run *r) {
    struct counting *c = counting_of(r);
    heed_lines_free(r->cx, &c->lines);
    heed_lines_free(r->cx, &c->valid);
    heed_tokenizer_free(r->cx, c->tokens);
    ngram_model_close(&c->model);
    heed_mem_free(r->cx, c->report);
    heed_mem_free(r->cx, c);
}

/* ---- heed eval ---- */

struct measured {
    struct heed_evaluated more;
    struct ngram_sum sum;
};

static bool measure_lines(heed_run *r, const char *part, struct ngram_model *m, struct measured *to) {
    heed_lines lines = {0};
    const bool ok =
        ngram_model_open(r->cx, r->dir, m) &&
        (m->music ? read_music(r->cx, r->path, part, 0, &lines) : ngram_read_lines(r->cx, r->path, m->text, &lines)) &&
        (lines.count > 0 || heed_fail(r->cx, HEED_ERR_FORMAT, "%s: the text is empty", r->path)) &&
        ngram_measure(m, &lines, &to->sum);
    heed_lines_free(r->cx, &lines);
    return ok;
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    struct ngram_model m = {0};
    struct measured *const found = evaluation_room(r->cx, to, sizeof *found, heed_mem_free);
    if (!found) return false;
    found->more.ngram = &found->sum;
    const bool ok =
        measure_lines(r, part, &m, found) &&
        heed_metrics_find(r->cx, m.music ? "nats_per_note perplexity bits_per_byte" : "perplexity bits_per_byte",
                          &to->metrics);
    const struct ngram_sum *const s = &found->sum;
    found->more.ngram_order = ok ? heed_ngram_order(m.m) : 0;
    to->more = &found->more;
    to->n = s->tokens;
    to->one = "token";
    to->many = "tokens";
    to->score = m.music ? (heed_score){ngram_nats(s), ngram_nats_per_note(s), {ngram_perplexity(s), ngram_bits(s)}}
                        : (heed_score){ngram_nats(s), ngram_perplexity(s), {ngram_bits(s)}};
    ngram_model_close(&m);
    return ok;
}

const struct task_way way_ngram = {.what = "texts",
                                   .model = "ngram",
                                   .next = "complete",
                                   .next_how = "",
                                   .check = check,
                                   .load = load,
                                   .train = train,
                                   .put = put,
                                   .remarks = remarks,
                                   .free = free_counting,
                                   .type = NGRAM_TYPE,
                                   .is = ngram_is,
                                   .evaluate = evaluate};

static const struct task_way *const ways[] = {&way_ngram, NULL};

const heed_task task_of_ngram = {
    .name = "ngram",
    .summary = "an n-gram language model",
    .about =
        "Counts the n-grams of a text and writes a language model: modified Kneser-Ney smoothing (Chen & Goodman 1999) "
        "as KenLM's lmplz estimates it, or interpolated Kneser-Ney with one discount as nltk.lm does. What is counted "
        "are letters, words or pieces of words. DIR receives config.json, model.ngram, which is mapped when it is "
        "used, and tokenizer.json.\n\n"
        "Where --data is an ARPA file (its name ends with .arpa or .arpa.gz), it is converted; its words are "
        "separated by blanks. --arpa FILE writes one.",
    .examples = "heed train ngram --data corpus.txt --order 5 --out lm --arpa lm.arpa\n"
                "heed train ngram --data shakespeare.txt --tokens char --order 7 --valid 0.1 --out letters\n"
                "heed train ngram --data corpus.txt --tokens bpe --vocab 8000 --prune 0,0,1 --out pieces\n"
                "heed train ngram --data corpus.txt --smoothing kneser-ney --discount 0.75 --out lm\n",
    .fields = fields,
    .ways = ways,
};
