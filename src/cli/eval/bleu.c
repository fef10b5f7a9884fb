/* heed bleu: BLEU and chrF of translations against references, equal to sacreBLEU's. */
#include "cli/eval/references.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "tokenize", .letter = 'k', .kind = HEED_FIELD_CHOICE, .standard = "13a", .value = "NAME",
     .choices = "13a intl none", .help = "tokenizer: 13a (WMT), intl (Unicode punctuation) or none (split at white space)"},
    {.name = "lowercase", .letter = 'l', .help = "case-insensitive BLEU"},
    {.name = "chrf", .letter = 'c', .help = "also print chrF2 and chrF2++"},
    {.name = "width", .letter = 'w', .kind = HEED_FIELD_INT, .standard = "2", .value = "N", .high = 15,
     .help = "digits after the decimal point"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

struct score {
    const char *name, *signature;
    double value;
    char details[200]; /* "" when there are none */
};

struct scores {
    heed_bleu bleu;
    heed_chrf chrf[2];
    struct score list[3];
    int n;
};

/* ---- computing ---- */

static bool compute(const struct options *o, heed_ctx *cx, const heed_lines *lines, int references, struct scores *s) {
    const char *tokens = option_text(o, "tokenize");
    const heed_bleu_opts opts = {.lower = option_flag(o, "lowercase"),
                                 .tokens = strcmp(tokens, "intl") == 0   ? HEED_BLEU_INTL
                                           : strcmp(tokens, "none") == 0 ? HEED_BLEU_NONE
                                                                         : HEED_BLEU_13A};
    heed_bleu *b = &s->bleu;
    if (!heed_bleu_corpus(cx, &lines[0], &lines[1], references, &opts, b)) return false;
    struct score *bleu = &s->list[s->n++];
    *bleu = (struct score){"BLEU", b->signature, b->score, ""};
    snprintf(bleu->details, sizeof bleu->details,
             "%.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", b->precision[0],
             b->precision[1], b->precision[2], b->precision[3], b->brevity,
             b->reference > 0 ? (double)b->hypothesis / (double)b->reference : 0.0, (long long)b->hypothesis,
             (long long)b->reference);
    for (int i = 0; option_flag(o, "chrf") && i < 2; i++) {
        if (!heed_chrf_corpus(cx, &lines[0], &lines[1], references, 2 * i, &s->chrf[i])) return false;
        s->list[s->n++] = (struct score){i ? "chrF2++" : "chrF2", s->chrf[i].signature, s->chrf[i].score, ""};
    }
    return true;
}

/* ---- printing ---- */

static void print_text(const struct options *o, const struct scores *s) {
    for (int i = 0; i < s->n; i++) {
        const struct score *score = &s->list[i];
        printf("%s|%s = %.*f%s%s\n", score->name, score->signature, (int)option_int(o, "width"), score->value,
               *score->details ? " " : "", score->details);
    }
}

/* "nrefs:1|case:mixed|...", each as a member. */
static void put_signature(heed_ctx *cx, heed_json at, const char *signature) {
    for (size_t n; (n = strcspn(signature, "|")) > 0; signature += n + (signature[n] == '|')) {
        char pair[64];
        snprintf(pair, sizeof pair, "%.*s", (int)n, signature);
        char *value = strchr(pair, ':');
        if (!value) continue;
        *value = 0;
        heed_json_put_text(cx, at, pair, value + 1);
    }
}

static void put_score(heed_ctx *cx, heed_json at, const struct scores *s, int i) {
    const struct score *score = &s->list[i];
    heed_json_put_text(cx, at, "name", score->name);
    heed_json_put_number(cx, at, "score", score->value);
    heed_json_put_text(cx, at, "signature", score->signature);
    if (*score->details) {
        heed_json_put_text(cx, at, "verbose_score", score->details);
        const heed_json precisions = heed_json_put_array(cx, at, "precisions");
        for (int k = 0; k < 4; k++) heed_json_put_number(cx, precisions, NULL, s->bleu.precision[k]);
        heed_json_put_number(cx, at, "brevity_penalty", s->bleu.brevity);
        heed_json_put_int(cx, at, "hypothesis_length", s->bleu.hypothesis);
        heed_json_put_int(cx, at, "reference_length", s->bleu.reference);
    }
    put_signature(cx, at, score->signature);
}

/* As sacreBLEU: one metric is an object, several are a list. */
static void print_json(heed_ctx *cx, const struct scores *s) {
    const heed_json doc = heed_json_new(cx, "bleu");
    heed_json shown = doc;
    if (s->n == 1) {
        put_score(cx, doc, s, 0);
    } else {
        shown = heed_json_put_array(cx, doc, "scores");
        for (int i = 0; i < s->n; i++) put_score(cx, heed_json_put_object(cx, shown, NULL), s, i);
    }
    json_answer(cx, stdout, shown, 2);
    heed_json_free(doc);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("bleu", options, argc, argv, 2, 1 + MAX_REFERENCES, "HYP REF...");
    if (!o) return EXIT_USAGE;
    heed_ctx *cx = options_open(o);
    int status = EXIT_FAILED;
    if (cx) {
        heed_lines lines[1 + MAX_REFERENCES] = {0};
        struct scores scores = {0};
        if (references_read(o, cx, "bleu", lines) && compute(o, cx, lines, options_words(o) - 1, &scores)) {
            if (option_flag(o, "json"))
                print_json(cx, &scores);
            else
                print_text(o, &scores);
        }
        references_free(o, cx, lines);
        status = options_close(o, cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command bleu_command = {
    .name = "bleu",
    .summary = "BLEU and chrF of translations, as sacreBLEU's",
    .words = "HYP REF...",
    .about =
        "Scores the translations in HYP, one a line, against one or several files of references, line by line: corpus "
        "BLEU with exponential smoothing, and on request chrF2 and chrF2++. Scores and signature are those of "
        "sacreBLEU; the signature says how a score was computed and should be reported with it.\n\n"
        "Texts should be detokenised: 13a and intl tokenise them. For texts that are tokenised already, give "
        "--tokenize "
        "none, and compare only with scores of the same signature.",
    .options = options,
    .examples = "heed bleu test.out test.de\n"
                "heed bleu test.out test.ref1 test.ref2 --chrf\n"
                "heed bleu test.out test.lc.norm.tok.de.gz --tokenize none --lowercase --json\n",
    .run = run,
};
