/* heed rouge: ROUGE of texts against references, equal to rouge_score's. */
#include "cli/eval/references.h"
#include <stdio.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "stem", .letter = 's', .help = "compare the stems of words (Porter's stemmer)"},
    {.name = "width", .letter = 'w', .kind = HEED_FIELD_INT, .standard = "2", .value = "N", .high = 15,
     .help = "digits after the decimal point"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

struct named {
    const char *name;
    const heed_rouge_score *score;
};
enum { SCORES = 4 };

static void print_text(const struct options *o, const struct named *list) {
    const int width = (int)option_int(o, "width");
    for (int i = 0; i < SCORES; i++)
        printf("%-9s F = %.*f  P = %.*f  R = %.*f\n", list[i].name, width, 100 * list[i].score->f, width,
               100 * list[i].score->precision, width, 100 * list[i].score->recall);
}

static void print_json(heed_ctx *cx, const struct named *list, int64_t lines, bool stem) {
    const heed_json doc = heed_json_new(cx, "rouge");
    for (int i = 0; i < SCORES; i++) {
        const heed_json at = heed_json_put_object(cx, doc, list[i].name);
        heed_json_put_number(cx, at, "precision", list[i].score->precision);
        heed_json_put_number(cx, at, "recall", list[i].score->recall);
        heed_json_put_number(cx, at, "fmeasure", list[i].score->f);
    }
    heed_json_put_int(cx, doc, "lines", lines);
    heed_json_put_bool(cx, doc, "stem", stem);
    json_answer(cx, stdout, doc, 2);
    heed_json_free(doc);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("rouge", options, argc, argv, 2, 1 + MAX_REFERENCES, "HYP REF...");
    if (!o) return EXIT_USAGE;
    heed_ctx *cx = options_open(o);
    int status = EXIT_FAILED;
    if (cx) {
        heed_lines lines[1 + MAX_REFERENCES] = {0};
        heed_rouge r = {0};
        const heed_rouge_opts opts = {.stem = option_flag(o, "stem")};
        const struct named list[SCORES] = {
            {"rouge1", &r.rouge1}, {"rouge2", &r.rouge2}, {"rougeL", &r.rougeL}, {"rougeLsum", &r.rougeLsum}};
        if (references_read(o, cx, "rouge", lines) &&
            heed_rouge_corpus(cx, &lines[0], &lines[1], options_words(o) - 1, &opts, &r)) {
            if (option_flag(o, "json"))
                print_json(cx, list, r.lines, opts.stem);
            else
                print_text(o, list);
        }
        references_free(o, cx, lines);
        status = options_close(o, cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command rouge_command = {
    .name = "rouge",
    .summary = "ROUGE of summaries, as rouge_score's",
    .words = "HYP REF...",
    .about =
        "Scores the summaries in HYP, one a line, against one or several files of references, line by line: ROUGE-1 "
        "and ROUGE-2 (words and pairs of words that both have), ROUGE-L (a longest common subsequence) and ROUGE-Lsum. "
        "Printed are the means over all lines, in percent: the F measure, precision (of the summary's words) and "
        "recall (of the reference's). Of several references the best counts. --json gives fractions.\n\n"
        "The figures are those of the Python package rouge_score: words are runs of the letters a to z and of digits, "
        "in lower case; with --stem, as its use_stemmer, longer ones are cut to their stems.",
    .options = options,
    .examples = "heed rouge summaries.txt references.txt\n"
                "heed rouge summaries.txt references.txt --stem --json\n",
    .run = run,
};
