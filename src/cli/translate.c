/* heed translate: per line of text, its translation. */
#include "heed/translate.h"
#include "cli/decoding.h"
#include "cli/lines.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "n-best", .letter = 'n', .kind = OPTION_INT, .standard = "1", .value = "N", .low = 1, .high = 1024,
     .help = "so many translations of each line, the best first, each after its line's number"},
    {.name = "tokens", .help = "leave tokens apart, as a model of Moses tokens gives them"},
    {.name = "prepared", .help = "the input is already tokenised and lower-cased as the model's text was"},
    JSON_OPTION,
    DECODING_OPTIONS,
    {.name = NULL},
};
/* clang-format on */

#define AT_ONCE 2048 /* lines; fewer when no more are waiting */

struct job {
    const struct options *o;
    heed_ctx *cx;
    heed_translator *translator;
    heed_generate_opts opts;
    struct cli_lines in;
    heed_ids *source; /* (AT_ONCE) the lines not yet answered */
    int64_t n, first; /* how many; the number of the first */
    int64_t positions;
    heed_string text;
};

/* ---- out ---- */

static bool print_json(struct job *j, int64_t line, const heed_translated *found, int64_t i) {
    heed_ctx *cx = j->cx;
    const heed_json at = heed_json_new(cx, "translation");
    heed_json_put_int(cx, at, "line", line);
    heed_json_put_text(cx, at, "translation", j->text.s);
    heed_json_put_number(cx, at, "score", (double)found->score[i]);
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
    return !heed_failed(cx);
}

static bool print(struct job *j, const heed_translated *found, int64_t i) {
    const int64_t line = j->first + i / found->n_best;
    j->text.size = 0;
    if (!heed_string_put(j->cx, &j->text, "", 0) ||
        !heed_translation_text(j->cx, &j->translator->preprocessing, j->translator->tokens[1], &found->ids[i],
                               option_flag(j->o, "tokens"), &j->text))
        return false;
    if (option_flag(j->o, "json")) return print_json(j, line, found, i);
    if (option_given(j->o, "n-best")) printf("%lld\t%.4f\t", (long long)line, (double)found->score[i]);
    puts(j->text.s);
    return true;
}

static bool answer(struct job *j) {
    heed_translated found = {0};
    int64_t number[AT_ONCE]; /* lines draw by their own number, however many are waiting */
    for (int64_t i = 0; i < j->n; i++) number[i] = j->first + i;
    heed_generate_opts opts = j->opts;
    opts.number = number;
    bool ok = heed_translate_ids(j->cx, j->translator->model, j->source, j->n, &opts, &found);
    for (int64_t i = 0; ok && i < found.n * found.n_best; i++) ok = print(j, &found, i);
    fflush(stdout);
    heed_translated_free(j->cx, &found);
    for (int64_t i = 0; i < j->n; i++) j->source[i].count = 0;
    j->first += j->n;
    j->n = 0;
    return ok;
}

/* ---- in ---- */

/* Takes the line under way; one of nothing stays without tokens and is answered by one. */
static bool take_line(struct job *j) {
    heed_ids *ids = &j->source[j->n];
    if (j->in.text[strspn(j->in.text, " \t\r")] == 0) {
        j->n++;
        return true;
    }
    const heed_preprocessing as_is = {0};
    const heed_preprocessing *prep = option_flag(j->o, "prepared") ? &as_is : &j->translator->preprocessing;
    j->text.size = 0;
    if (!heed_preprocess(j->cx, prep, HEED_SOURCE, j->in.text, j->in.size, &j->text)) return false;
    if (!heed_encode(j->cx, j->translator->tokens[0], j->text.s, j->text.size, true, ids)) {
        char why[512];
        if (heed_error(j->cx) != HEED_ERR_FORMAT && heed_error(j->cx) != HEED_ERR_RANGE) return false;
        snprintf(why, sizeof why, "%s", heed_message(j->cx));
        heed_clear(j->cx);
        return answer(j) && cli_lines_fail(&j->in, "%s", why);
    }
    if (ids->count > j->positions) {
        const long long count = ids->count;
        return answer(j) &&
               cli_lines_fail(&j->in, "%lld tokens: the model has positions for %lld", count, (long long)j->positions);
    }
    j->n++;
    return true;
}

static void translate(struct job *j) {
    j->source = heed_mem_new(j->cx, AT_ONCE * sizeof *j->source);
    j->positions = heed_translator_positions(j->cx, j->translator->model);
    j->first = 1;
    bool ok = j->source && cli_lines_open(&j->in, j->cx, "-");
    if (j->source) memset(j->source, 0, AT_ONCE * sizeof *j->source);
    while (ok && cli_lines_next(&j->in)) {
        ok = take_line(j);
        if (ok && (j->n == AT_ONCE || !cli_lines_ready(&j->in))) ok = answer(j); /* before waiting for more */
    }
    if (ok) answer(j);
    cli_lines_close(&j->in);
    for (int64_t i = 0; j->source && i < AT_ONCE; i++) heed_ids_free(j->cx, &j->source[i]);
    heed_mem_free(j->cx, j->source);
    heed_string_free(j->cx, &j->text);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("translate", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o};
    int status = EXIT_USAGE;
    if (decoding_read(o, &j.opts)) {
        status = EXIT_FAILED;
        j.opts.n_best = option_int(o, "n-best");
        if (!j.opts.sample && j.opts.n_best > j.opts.beams) j.opts.beams = j.opts.n_best;
        if ((j.cx = options_open(o))) {
            j.opts.seed = heed_seed(j.cx);
            heed_set_grad(j.cx, false);
            if ((j.translator = heed_translator_open(j.cx, options_word(o, 0)))) translate(&j);
            heed_translator_free(j.cx, j.translator);
            status = options_close(o, j.cx, EXIT_DONE);
        }
    }
    options_free(o);
    return status;
}

const struct command translate_command = {
    .name = "translate",
    .summary = "per line of text, its translation",
    .words = "DIR",
    .about =
        "Reads sentences, one a line, from standard input and answers each with its translation. Text is prepared as "
        "the model's training text was, and Moses' tokens are put together again unless --tokens leaves them. "
        "Lines that are waiting are decoded together; the answer to a line does not depend on the others.",
    .options = options,
    .examples = "echo 'A bird flies through the window.' | heed translate demo/model\n"
                "heed translate en-de --beam 5 < test.en > test.hyp\n"
                "heed translate en-de --n-best 3 --json < test.en\n"
                "heed translate en-de --sample --temperature 0.7 --seed 3 < test.en\n",
    .run = run,
};
