/* heed classify, embed, fill: what a model of text says of each line. */
#include "cli/core/each_line.h"
#include "cli/use/classify_table.h"
#include "cli/use/predict_graphs.h"
#include "cli/use/use_pictures.h"
#include "task/answers.h"
#include "task/nodes/graph_fields.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The good lines that wait, as texts: a line is one text, or two with a tab between them. Its tabs become the ends of
 * texts. */
static heed_text_input *texts_of(struct each_line *e, int64_t *n) {
    heed_text_input *texts = heed_mem_new(e->cx, (size_t)e->n * sizeof *texts);
    *n = 0;
    for (int64_t i = 0; texts && i < e->n; i++) {
        char *line = each_line_text(e, i), *tab = strchr(line, '\t');
        if (e->error[i]) continue;
        if (tab) *tab = 0;
        texts[(*n)++] = (heed_text_input){.text = line, .pair = tab ? tab + 1 : NULL};
    }
    return texts;
}

static void print_json(const struct each_line *e, heed_json at) {
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}
static void print_bad(const struct each_line *e, int64_t i) {
    if (option_flag(e->o, "json"))
        print_json(e, each_line_json(e, i));
    else
        puts("");
}

/* ---- classify ---- */

static void print_classes(const struct each_line *e, int64_t i, const float *p) {
    heed_ctx *cx = e->cx;
    const int64_t n = e->m->labels;
    char number[24];
    const int64_t best = pictures_next_best(p, n, -1);
    if (!option_flag(e->o, "json") && n == 1) {
        printf("%.6g\n", (double)p[0]);
        return;
    }
    if (!option_flag(e->o, "json")) {
        int64_t k = best;
        for (int64_t left = option_int(e->o, "top"); left > 0 && k < n; left--, k = pictures_next_best(p, n, k)) {
            if (k != best) putchar('\t');
            cli_print_text(stdout, answer_label(e->m->label, k, number));
            printf("\t%.4f", (double)p[k]);
        }
        putchar('\n');
        return;
    }
    const heed_json at = each_line_json(e, i);
    answer_put_best(cx, at, e->m->label, p, n);
    answer_put_scores(cx, at, e->m->label, p, n);
    print_json(e, at);
}

static bool classify(struct each_line *e) {
    int64_t n, cut = 0;
    heed_text_input *texts = texts_of(e, &n);
    float *p = heed_mem_new(e->cx, ((size_t)n * (size_t)e->m->labels + 1) * sizeof *p);
    const bool ok = texts && p && heed_classify(e->cx, e->m, texts, n, p, &cut);
    for (int64_t i = 0, at = 0; ok && i < e->n; i++)
        if (e->error[i])
            print_bad(e, i);
        else
            print_classes(e, i, p + at++ * e->m->labels);
    e->cut += cut;
    heed_mem_free(e->cx, texts);
    heed_mem_free(e->cx, p);
    return ok;
}

/* ---- embed ---- */

/* Vectors for --out. */
struct vectors {
    heed_string kept;
    int64_t rows, width;
};

static bool begin_embed(struct each_line *e) {
    struct vectors *v = e->own = heed_mem_new(e->cx, sizeof *v);
    if (!v) return false;
    *v = (struct vectors){.width = heed_text_width(e->cx, e->m)};
    each_line_pool(e);
    if (option_flag(e->o, "normalize")) e->m->normalise = true;
    return !heed_failed(e->cx);
}

static void print_vector(const struct each_line *e, int64_t i, bool pair, const float *v, int64_t width) {
    if (!option_flag(e->o, "json")) {
        for (int64_t k = 0; k < width; k++) printf("%s%.9g", k ? " " : "", (double)v[k]);
        puts("");
        return;
    }
    char *line = each_line_text(e, i);
    const heed_json at = heed_json_new(e->cx, "answer");
    if (pair) line[strlen(line)] = '\t'; /* as it came */
    heed_json_put_text(e->cx, at, "text", line);
    answer_put_vector(e->cx, at, v, width);
    print_json(e, at);
}

static bool embed(struct each_line *e) {
    struct vectors *v = e->own;
    const bool keep = option_text(e->o, "out") != NULL;
    int64_t n, cut = 0;
    heed_text_input *texts = texts_of(e, &n);
    float *out = heed_mem_new(e->cx, ((size_t)n * (size_t)v->width + 1) * sizeof *out);
    bool ok = texts && out && heed_embed(e->cx, e->m, texts, n, out, &cut);
    for (int64_t i = 0, at = 0; ok && i < e->n && !keep; i++)
        if (e->error[i])
            print_bad(e, i);
        else
            print_vector(e, i, texts[at].pair, out + at * v->width, v->width), at++;
    for (int64_t i = 0; ok && keep && i < e->n; i++)
        if (e->error[i])
            ok = heed_fail(e->cx, HEED_ERR_FORMAT, "embed: --out: line %lld is bad: its row would be missing",
                           (long long)(e->first + i));
    if (ok && keep) ok = heed_string_put(e->cx, &v->kept, (const char *)out, (size_t)(n * v->width) * sizeof *out);
    v->rows += n;
    e->cut += cut;
    heed_mem_free(e->cx, texts);
    heed_mem_free(e->cx, out);
    return ok;
}

static bool end_embed(struct each_line *e, bool good) {
    struct vectors *v = e->own;
    const char *path = option_text(e->o, "out");
    if (good && path && v->rows == 0) good = heed_fail(e->cx, HEED_ERR_USAGE, "embed: there are no texts");
    if (good && path)
        good = heed_npy_write(
            e->cx, path, &(heed_array){.dtype = HEED_F32, .rank = 2, .shape = {v->rows, v->width}, .data = v->kept.s});
    if (v) heed_string_free(e->cx, &v->kept);
    heed_mem_free(e->cx, v);
    return good;
}

/* ---- fill ---- */

#define MAX_MASKS 512

static void print_filled(const struct each_line *e, int64_t line, int64_t masks, int top, const heed_filled *f) {
    if (!option_flag(e->o, "json")) {
        for (int64_t i = 0; i < masks; i++)
            for (int k = 0; k < top && f[i * top + k].id >= 0; k++) {
                const char *token = heed_tokenizer_token(e->m->tokens, f[i * top + k].id);
                fputs(k ? "  " : i ? "\t" : "", stdout);
                cli_print_text(stdout, token ? token : "");
                printf(" %.4f", (double)f[i * top + k].probability);
            }
        puts("");
        return;
    }
    const heed_json at = each_line_json(e, line);
    answer_put_masks(e->cx, at, e->m, f, masks, top);
    print_json(e, at);
}

static bool fill(struct each_line *e) {
    const int top = (int)option_int(e->o, "top");
    int64_t n, at = 0;
    heed_text_input *texts = texts_of(e, &n);
    heed_filled *f = heed_mem_new(e->cx, (size_t)MAX_MASKS * (size_t)top * sizeof *f);
    for (int64_t i = 0; texts && f && i < e->n && !heed_cancelled(e->cx); i++) {
        if (e->error[i]) {
            print_bad(e, i);
            continue;
        }
        const int64_t masks = heed_fill(e->cx, e->m, &texts[at++], top, MAX_MASKS, f);
        if (masks < 0) break;
        if (masks == 0 && !option_flag(e->o, "quiet"))
            fprintf(stderr, "heed: fill: line %lld has no mask token\n", (long long)(e->first + i));
        print_filled(e, i, masks < MAX_MASKS ? masks : MAX_MASKS, top, f);
        heed_reset(e->cx);
    }
    heed_mem_free(e->cx, texts);
    heed_mem_free(e->cx, f);
    return !heed_failed(e->cx);
}

/* ---- the commands ---- */

/* clang-format off */
static const heed_field classify_options[] = {
    {.name = "top", .letter = 'k', .kind = HEED_FIELD_INT, .standard = "1", .value = "K", .low = 1, .high = 1000000,
     .help = "number of classes for each, the likeliest first"},
    {.name = "table", .kind = HEED_FIELD_TABLE, .table = classify_table_options},
    {.name = "graph-tables", .kind = HEED_FIELD_TABLE, .table = graph_fields},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
static const heed_field embed_options[] = {
    POOLING_OPTION,
    {.name = "normalize", .help = "vectors of length 1"},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "FILE.npy", .help = "write an array (lines, width)"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
static const heed_field fill_options[] = {
    {.name = "top", .letter = 'k', .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1000,
     .help = "number of tokens for each mask"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* What the words after DIR are follows from the model. */
static int run_either(const struct each_line_command *c, const heed_field *options,
                      int (*of_pictures)(const struct options *o), int argc, char **argv) {
    struct options *o = options_read(argv[0], options, argc, argv, 1, INT_MAX, "DIR [TEXT or PICTURE...]");
    int status = EXIT_USAGE;
    const bool classifies = of_pictures == pictures_classify;
    if (o && classifies && (graphs_are_given(o) || graphs_are_classified(options_word(o, 0))))
        status = predict_graphs(o);
    else if (o && classifies && !classify_table_fits(o))
        status = EXIT_USAGE;
    else if (o && classifies && option_given(o, "data"))
        status = classify_table(o);
    else if (o && (classifies ? pictures_are_classified : pictures_are_read)(options_word(o, 0)))
        status = of_pictures(o);
    else if (o && !pictures_given(o))
        status = each_line_with(c, o);
    options_free(o);
    return status;
}

static int run_classify(int argc, char **argv) {
    static const struct each_line_command c = {.task = "classify", .answer = classify, .end = each_line_say_cut};
    return run_either(&c, classify_options, pictures_classify, argc, argv);
}
static int run_embed(int argc, char **argv) {
    static const struct each_line_command c = {
        .task = "embed", .begin = begin_embed, .answer = embed, .end = each_line_say_cut, .finish = end_embed};
    return run_either(&c, embed_options, pictures_embed, argc, argv);
}
static int run_fill(int argc, char **argv) {
    static const struct each_line_command c = {.task = "mlm", .answer = fill};
    return each_line_run(&c, fill_options, argc, argv);
}

const struct command classify_command = {
    .name = "classify",
    .summary = "the class of each text or picture",
    .words = "DIR [TEXT...|PICTURE...]",
    .about = "Prints for each text after DIR, or else for each line of standard input, its class and the probability "
             "of it; for a model of numbers the number. A pair of texts is separated by a tab. Lines that are waiting "
             "are sorted by length and run together. A text that is longer than the model has positions is truncated, "
             "which is said. A line that is not UTF-8 is reported on standard error and answered with an empty line, "
             "and the exit status is 1 at the end; --strict stops there.\n\n"
             "With --data the texts are those of a table's column, and --out FILE.csv writes the table with columns "
             "prediction and probability; of rows without a text they are empty.\n\n"
             "A model of pictures is given PNG and JPEG files, or a list of their paths on standard input, and prints "
             "for each its path, its class and the probability, between tabs. Pictures are prepared as "
             "preprocessor_config.json says, or timm's pretrained_cfg. A file that is no picture is reported, and the "
             "others are answered. A multilayer perceptron that was trained on pictures (MNIST's files, digits) reads "
             "them too: they are resized to its size, made grey and, where they are dark on light and those it was "
             "trained on are not, inverted, which is said.\n\n"
             "A model of graphs takes --nodes FILE --edges FILE, or --data PATH, and answers as 'heed predict' does.",
    .options = classify_options,
    .examples = "heed train classify --init all-MiniLM-L6-v2 --data sst2 --out sentiment\n"
                "heed classify sentiment 'a charming and often affecting journey'\n"
                "heed classify sentiment --json < reviews.txt\n"
                "heed classify sentiment --data reviews.csv --text review --out rated.csv\n"
                "heed classify vit *.jpg --top 3\n"
                "heed classify mnist-mlp seven.png\n"
                "find photos -name '*.png' | heed classify vit --json\n",
    .run = run_classify,
};

const struct command embed_command = {
    .name = "embed",
    .summary = "a vector for each text or picture",
    .words = "DIR [TEXT...|PICTURE...]",
    .about = "Prints for each text after DIR, or else for each line of standard input, the numbers of its vector. The "
             "files of sentence-transformers (modules.json, 1_Pooling, sentence_bert_config.json) are followed where "
             "DIR has them: pooling, normalisation and maximum length.\n\n"
             "A model of pictures is given files, or paths on standard input. The vector of a picture is the model's "
             "pooler_output; --pooling takes the class token's last hidden state instead, or the mean or maximum of "
             "the patches'; of a Perceiver it is the mean of the latents' last hidden states.",
    .options = embed_options,
    .examples = "heed embed all-MiniLM-L6-v2 'A man is eating food.'\n"
                "heed embed all-MiniLM-L6-v2 --out vectors.npy < sentences.txt\n"
                "heed embed vit *.jpg --out vectors.npy\n",
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
