/* heed classify, embed, fill: what a model of text says of each line. */
#include "cli/lines.h"
#include "heed/task.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 1024 /* lines; fewer when no more are waiting */

/* A job reads lines and answers those that are waiting together. */
struct job {
    const struct options *o;
    heed_ctx *cx;
    heed_text_model *m;
    struct cli_lines in;
    heed_text_input *text; /* (AT_ONCE) of lines not yet answered; */
    char **line;           /* (AT_ONCE) their text, owned; */
    char **error;          /* (AT_ONCE) why a line is bad, or NULL */
    int64_t n, cut;
    float *out; /* what the model said of the good ones */
    int64_t width;
    heed_string kept; /* vectors of embed --out */
    int64_t rows;
    bool (*answer)(struct job *j);
};

/* ---- lines ---- */

static char *copy(heed_ctx *cx, const char *text, size_t size) {
    char *s = heed_mem_new(cx, size + 1);
    if (s) memcpy(s, text, size), s[size] = 0;
    return s;
}

static void forget(struct job *j) {
    for (int64_t i = 0; i < j->n; i++) {
        heed_mem_free(j->cx, j->line[i]);
        heed_mem_free(j->cx, j->error[i]);
    }
    j->n = 0;
}

/* A line is a text, or two with a tab between them. */
static bool take_line(struct job *j) {
    char *line = copy(j->cx, j->in.text, j->in.size), *tab = line ? strchr(line, '\t') : NULL;
    const int64_t i = j->n;
    if (!line) return false;
    j->line[i] = line;
    j->error[i] = j->in.bad ? copy(j->cx, j->in.complaint, strlen(j->in.complaint)) : NULL;
    j->n++;
    j->text[i] = (heed_text_input){.text = line, .size = tab ? (size_t)(tab - line) : j->in.size};
    if (tab) j->text[i].pair = tab + 1, j->text[i].pair_size = strlen(tab + 1);
    return !heed_failed(j->cx);
}

static bool answer_waiting(struct job *j) {
    const bool ok = j->n == 0 || j->answer(j);
    fflush(stdout);
    forget(j);
    if (!heed_failed(j->cx)) heed_reset(j->cx);
    return ok;
}

static bool run_lines(struct job *j) {
    bool ok = cli_lines_open_words(&j->in, j->cx, j->o, 1);
    j->in.skip_bad = !option_flag(j->o, "strict");
    while (ok && cli_lines_next(&j->in)) {
        ok = take_line(j);
        if (ok && (j->n == AT_ONCE || !cli_lines_ready(&j->in))) ok = answer_waiting(j); /* before waiting for more */
    }
    if (!heed_failed(j->cx)) answer_waiting(j);
    const bool good = cli_lines_close(&j->in);
    forget(j);
    if (j->cut > 0 && !option_flag(j->o, "quiet")) {
        char count[48];
        fprintf(stderr, "heed: %s longer than the model's %lld tokens, truncated\n",
                cli_count(j->cut, "text is", "texts are", count), (long long)j->m->reader.longest);
    }
    return good;
}

/* A JSON object about a bad line. */
static void print_bad(struct job *j, int64_t i) {
    if (!option_flag(j->o, "json")) {
        puts("");
        return;
    }
    const heed_json at = heed_json_new(j->cx, "answer");
    heed_json_put_text(j->cx, at, "error", j->error[i]);
    json_answer(j->cx, stdout, at, 0);
    heed_json_free(at);
}

/* ---- classify ---- */

static const char *label_of(const struct job *j, int64_t k, char number[24]) {
    snprintf(number, 24, "%lld", (long long)k);
    return j->m->label ? j->m->label[k] : number;
}

static void print_classes(struct job *j, const float *p) {
    heed_ctx *cx = j->cx;
    char number[24];
    int64_t best = 0;
    for (int64_t k = 1; k < j->width; k++)
        if (p[k] > p[best]) best = k;
    if (!option_flag(j->o, "json")) {
        if (j->width > 1) cli_print_text(stdout, label_of(j, best, number)), putchar('\t');
        printf(j->width > 1 ? "%.4f\n" : "%.6g\n", (double)p[best]);
        return;
    }
    const heed_json at = heed_json_new(cx, "answer");
    if (j->width == 1) {
        heed_json_put_number(cx, at, "value", (double)p[0]);
    } else {
        heed_json_put_text(cx, at, "label", label_of(j, best, number));
        heed_json_put_number(cx, at, "score", (double)p[best]);
        const heed_json scores = heed_json_put_object(cx, at, "scores");
        for (int64_t k = 0; k < j->width; k++) heed_json_put_number(cx, scores, label_of(j, k, number), (double)p[k]);
    }
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

/* ---- embed ---- */

static void print_vector(struct job *j, int64_t i, const float *v) {
    if (option_text(j->o, "out")) {
        heed_string_put(j->cx, &j->kept, (const char *)v, (size_t)j->width * sizeof *v);
        j->rows++;
        return;
    }
    if (!option_flag(j->o, "json")) {
        for (int64_t k = 0; k < j->width; k++) printf("%s%.9g", k ? " " : "", (double)v[k]);
        puts("");
        return;
    }
    const heed_json at = heed_json_new(j->cx, "answer");
    heed_json_put_text(j->cx, at, "text", j->line[i]);
    const heed_json list = heed_json_put_array(j->cx, at, "vector");
    for (int64_t k = 0; k < j->width; k++) heed_json_put_number(j->cx, list, NULL, (double)v[k]);
    json_answer(j->cx, stdout, at, 0);
    heed_json_free(at);
}

static bool write_vectors(struct job *j) {
    if (j->rows == 0) return heed_fail(j->cx, HEED_ERR_USAGE, "embed: there are no texts");
    const heed_array a = {.dtype = HEED_F32, .rank = 2, .shape = {j->rows, j->width}, .data = j->kept.s};
    return heed_npy_write(j->cx, option_text(j->o, "out"), &a);
}

/* ---- both ---- */

/* The good lines go through the model together; their answers come in the order of the lines. */
static bool answer_numbers(struct job *j) {
    const bool embeds = strcmp(options_command(j->o), "embed") == 0;
    heed_text_input *good = heed_mem_new(j->cx, (size_t)j->n * sizeof *good);
    int64_t n = 0, cut = 0;
    for (int64_t i = 0; good && i < j->n; i++)
        if (!j->error[i]) good[n++] = j->text[i];
    bool ok = good && (embeds ? heed_embed : heed_classify)(j->cx, j->m, good, n, j->out, &cut);
    for (int64_t i = 0, at = 0; ok && i < j->n; i++) {
        const float *out = j->out + at * j->width;
        if (j->error[i] && embeds && option_text(j->o, "out"))
            ok = heed_fail(j->cx, HEED_ERR_FORMAT, "embed: %s", j->error[i]); /* a row would be missing */
        else if (j->error[i])
            print_bad(j, i);
        else if (embeds)
            print_vector(j, i, out);
        else
            print_classes(j, out);
        at += !j->error[i];
    }
    j->cut += cut;
    heed_mem_free(j->cx, good);
    return ok && !heed_failed(j->cx);
}

/* ---- fill ---- */

#define MAX_MASKS 512

static void print_filled(struct job *j, int64_t masks, int top, const heed_filled *f) {
    heed_ctx *cx = j->cx;
    const bool json = option_flag(j->o, "json");
    const heed_json at = json ? heed_json_new(cx, "answer") : (heed_json){0};
    const heed_json all = json ? heed_json_put_array(cx, at, "masks") : (heed_json){0};
    for (int64_t i = 0; i < masks; i++) {
        const heed_json list = json ? heed_json_put_array(cx, all, NULL) : (heed_json){0};
        for (int k = 0; k < top && f[i * top + k].id >= 0; k++) {
            const heed_filled *one = &f[i * top + k];
            const char *token = heed_tokenizer_token(j->m->tokens, one->id);
            if (json) {
                const heed_json o = heed_json_put_object(cx, list, NULL);
                heed_json_put_text(cx, o, "token", token ? token : "");
                heed_json_put_int(cx, o, "id", one->id);
                heed_json_put_number(cx, o, "score", (double)one->probability);
                continue;
            }
            fputs(k ? "  " : i ? "\t" : "", stdout);
            cli_print_text(stdout, token ? token : "");
            printf(" %.4f", (double)one->probability);
        }
    }
    if (json) json_answer(cx, stdout, at, 0);
    if (json) heed_json_free(at);
    if (!json) puts("");
}

static bool answer_masks(struct job *j) {
    const int top = (int)option_int(j->o, "top");
    heed_filled *f = heed_mem_new(j->cx, (size_t)MAX_MASKS * (size_t)top * sizeof *f);
    for (int64_t i = 0; f && i < j->n && !heed_cancelled(j->cx); i++) {
        if (j->error[i]) {
            print_bad(j, i);
            continue;
        }
        const int64_t masks = heed_fill(j->cx, j->m, &j->text[i], top, MAX_MASKS, f);
        if (masks < 0) break;
        if (masks == 0 && !option_flag(j->o, "quiet"))
            fprintf(stderr, "heed: fill: no mask token in: %.60s\n", j->line[i]);
        print_filled(j, masks < MAX_MASKS ? masks : MAX_MASKS, top, f);
        heed_reset(j->cx);
    }
    heed_mem_free(j->cx, f);
    return !heed_failed(j->cx);
}

/* ---- the commands ---- */

static bool prepare(struct job *j, const char *task) {
    heed_ctx *cx = j->cx;
    j->m = heed_text_model_open(cx, options_word(j->o, 0), task);
    if (!j->m) return false;
    if (strcmp(task, "embed") == 0) {
        static const char *const pooling[] = {"mean", "cls", "max"};
        const char *asked = option_text(j->o, "pooling");
        for (int i = 0; asked && i < 3; i++)
            if (strcmp(asked, pooling[i]) == 0) j->m->pooling = i;
        if (option_flag(j->o, "normalize")) j->m->normalise = true;
        j->width = heed_text_width(cx, j->m);
    } else {
        j->width = j->m->labels;
    }
    j->text = heed_mem_new(cx, AT_ONCE * sizeof *j->text);
    j->line = heed_mem_new(cx, AT_ONCE * sizeof *j->line);
    j->error = heed_mem_new(cx, AT_ONCE * sizeof *j->error);
    if (strcmp(task, "fill") != 0) j->out = heed_mem_new(cx, (size_t)(AT_ONCE * j->width) * sizeof *j->out);
    return !heed_failed(cx);
}

static int run(int argc, char **argv, const struct option *options, const char *command, const char *task,
               bool (*answer)(struct job *)) {
    struct options *o = options_read(command, options, argc, argv, 1, INT_MAX, "DIR [TEXT...]");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o, .cx = options_open(o), .answer = answer};
    int status = EXIT_FAILED;
    if (j.cx) {
        heed_set_grad(j.cx, false);
        bool good = prepare(&j, task) && run_lines(&j);
        if (good && strcmp(task, "embed") == 0 && option_text(o, "out")) good = write_vectors(&j);
        heed_mem_free(j.cx, j.text);
        heed_mem_free(j.cx, j.line);
        heed_mem_free(j.cx, j.error);
        heed_mem_free(j.cx, j.out);
        heed_string_free(j.cx, &j.kept);
        heed_text_model_free(j.cx, j.m);
        status = options_close(o, j.cx, good ? EXIT_DONE : EXIT_FAILED);
    }
    options_free(o);
    return status;
}

/* clang-format off */
static const struct option classify_options[] = {
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
static const struct option embed_options[] = {
    {.name = "pooling", .kind = OPTION_CHOICE, .value = "KIND", .choices = "mean cls max",
     .help = "how hidden states become one vector; by default as the directory says, else mean; one of"},
    {.name = "normalize", .help = "vectors of length 1"},
    {.name = "out", .letter = 'o', .kind = OPTION_FILE, .value = "FILE.npy", .help = "write an array (lines, width)"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
static const struct option fill_options[] = {
    {.name = "top", .letter = 'k', .kind = OPTION_INT, .standard = "5", .value = "N", .low = 1, .high = 1000,
     .help = "number of tokens for each mask"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

static int run_classify(int argc, char **argv) {
    return run(argc, argv, classify_options, "classify", "classify", answer_numbers);
}
static int run_embed(int argc, char **argv) { return run(argc, argv, embed_options, "embed", "embed", answer_numbers); }
static int run_fill(int argc, char **argv) { return run(argc, argv, fill_options, "fill", "mlm", answer_masks); }

const struct command classify_command = {
    .name = "classify",
    .summary = "the class of each line of text",
    .words = "DIR [TEXT...]",
    .about = "Prints for each text after DIR, or else for each line of standard input, its class and the probability "
             "of it; for a model of numbers the number. A pair of texts is separated by a tab. Lines that are waiting "
             "are sorted by length and run together. A text that is longer than the model has positions is truncated, "
             "which is said. A line that is not UTF-8 is reported on standard error and answered with an empty line, "
             "and the exit status is 1 at the end; --strict stops there.",
    .options = classify_options,
    .examples = "heed train classify --init all-MiniLM-L6-v2 --data sst2 --out sentiment\n"
                "heed classify sentiment 'a charming and often affecting journey'\n"
                "heed classify sentiment --json < reviews.txt\n",
    .run = run_classify,
};

const struct command embed_command = {
    .name = "embed",
    .summary = "a vector for each line of text",
    .words = "DIR [TEXT...]",
    .about = "Prints for each text after DIR, or else for each line of standard input, the numbers of its vector. The "
             "files of sentence-transformers (modules.json, 1_Pooling, sentence_bert_config.json) are followed where "
             "DIR has them: pooling, normalisation and maximum length.",
    .options = embed_options,
    .examples = "heed embed all-MiniLM-L6-v2 'A man is eating food.'\n"
                "heed embed all-MiniLM-L6-v2 --out vectors.npy < sentences.txt\n",
    .run = run_embed,
};

const struct command fill_command = {
    .name = "fill",
    .summary = "the likeliest words for the gaps of each line",
    .words = "DIR [TEXT...]",
    .about = "Prints for each text after DIR, or else for each line of standard input, the likeliest tokens for each "
             "mask token ([MASK] or <mask>) with their probabilities; several masks are separated by a tab.",
    .options = fill_options,
    .examples = "heed fill bert-base-uncased 'Paris is the [MASK] of France.'\n"
                "heed fill bert-base-uncased --top 3 --json < gaps.txt\n",
    .run = run_fill,
};
