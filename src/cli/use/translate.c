/* heed translate: a translation of every line of text; and what heed summarize shares with it. */
#include "cli/use/translate.h"
#include "cli/core/decoding_options.h"
#include "cli/core/input_lines.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "n-best", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1024,
     .help = "print the N best translations of each line, best first, each with line number and score"},
    {.name = "tokens", .help = "do not detokenise: print Moses tokens separated by spaces"},
    {.name = "prepared", .help = "the input is already tokenised and lower-cased as the training text was"},
    STRICT_OPTION,
    JSON_OPTION,
    DECODING_OPTIONS,
    {.name = "stop", .kind = HEED_FIELD_LIST, .value = "TEXT", .help = "end a translation where this text is complete"},
    {.name = NULL},
};
/* clang-format on */

#define AT_ONCE 2048 /* lines; fewer when no more are waiting */

struct job {
    const struct options *o;
    const struct translating *how;
    heed_ctx *cx;
    heed_translator *translator;
    heed_translator source; /* the same, without preprocessing where the input is prepared */
    heed_generate_opts opts;
    struct cli_lines in;
    heed_ids *ids;    /* (AT_ONCE) of the lines not yet answered */
    char **error;     /* (AT_ONCE) why a line is bad, or NULL */
    int64_t n, first; /* how many lines; the number of the first */
    heed_string text;
};

/* Of an option that not all commands have. */
static bool flag(const struct job *j, const char *name) { return option_known(j->o, name) && option_flag(j->o, name); }

/* ---- out ---- */

static bool print_json(struct job *j, int64_t line, const heed_translated *found, int64_t i) {
    heed_ctx *cx = j->cx;
    const char *error = j->error[line - j->first];
    const heed_json at = heed_json_new(cx, "translation");
    heed_json_put_int(cx, at, "line", line);
    heed_json_put_text(cx, at, j->how->answer, j->text.s);
    heed_json_put_number(cx, at, "score", (double)found->score[i]);
    if (error) heed_json_put_text(cx, at, "error", error);
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
    return !heed_failed(cx);
}

static bool print(struct job *j, const heed_translated *found, int64_t i) {
    const int64_t line = j->first + i / found->n_best;
    j->text.size = 0;
    if (!heed_string_put(j->cx, &j->text, "", 0) ||
        !heed_translation_text(j->cx, &j->translator->preprocessing, j->translator->tokens[1], &found->ids[i],
                               flag(j, "tokens"), &j->text))
        return false;
    if (option_flag(j->o, "json")) return print_json(j, line, found, i);
    if (option_given(j->o, "n-best")) printf("%lld\t%.4f\t", (long long)line, (double)found->score[i]);
    cli_plain_line(j->text.s, j->text.size); /* a token may hold anything */
    puts(j->text.s);
    return true;
}

static void forget(struct job *j) {
    for (int64_t i = 0; i < AT_ONCE; i++) {
        heed_mem_free(j->cx, j->error[i]);
        j->error[i] = NULL;
        j->ids[i].count = 0;
    }
    j->first += j->n;
    j->n = 0;
}

static bool answer(struct job *j) {
    heed_translated found = {0};
    int64_t number[AT_ONCE]; /* lines draw by their own number, however many are waiting */
    for (int64_t i = 0; i < j->n; i++) number[i] = j->first + i;
    heed_generate_opts opts = j->opts;
    opts.number = number;
    bool ok = heed_translate_ids(j->cx, j->translator->model, j->ids, j->n, &opts, &found);
    for (int64_t i = 0; ok && i < found.n * found.n_best; i++) ok = print(j, &found, i);
    fflush(stdout);
    heed_translated_free(j->cx, &found);
    forget(j);
    return ok;
}

/* ---- in ---- */

/* Takes the current line. Without ids its translation is empty: a blank line, or a bad one. */
static bool take_line(struct job *j) {
    if (!j->in.bad && !heed_translator_encode(j->cx, &j->source, j->in.text, j->in.size, &j->ids[j->n]) &&
        !cli_lines_recover(&j->in))
        return false;
    if (j->in.bad && !(j->error[j->n] = cli_lines_complaint(&j->in))) return false;
    j->n++;
    return true;
}

static bool translate(struct job *j) {
    heed_ctx *cx = j->cx;
    if (!decoding_of_model(j->o, cx, j->translator->model, &j->opts)) return false;
    j->opts.n_best = option_int(j->o, "n-best");
    if (!j->opts.sample && j->opts.n_best > j->opts.beams) j->opts.beams = j->opts.n_best;
    j->opts.n_stop = option_list(j->o, "stop", &j->opts.stop);
    j->opts.stop_tokens = j->translator->tokens[1];
    j->source = *j->translator;
    if (option_known(j->o, "prefix") && option_given(j->o, "prefix")) j->source.prefix = option_text(j->o, "prefix");
    if (flag(j, "prepared")) j->source.preprocessing = (heed_preprocessing){0};
    j->ids = heed_mem_new(cx, AT_ONCE * sizeof *j->ids);
    j->error = heed_mem_new(cx, AT_ONCE * sizeof *j->error);
    if (heed_failed(cx)) return heed_mem_free(cx, j->ids), false;
    memset(j->ids, 0, AT_ONCE * sizeof *j->ids);
    for (int i = 0; i < AT_ONCE; i++) j->error[i] = NULL;
    j->first = 1;
    bool ok = cli_lines_open_words(&j->in, cx, j->o, 1);
    j->in.skip_bad = !option_flag(j->o, "strict");
    while (ok && cli_lines_next(&j->in)) {
        ok = take_line(j);
        if (ok && (j->n == AT_ONCE || !cli_lines_ready(&j->in))) ok = answer(j); /* before waiting for more */
    }
    if (!heed_failed(cx)) answer(j);
    const bool good = cli_lines_close(&j->in);
    forget(j);
    for (int i = 0; i < AT_ONCE; i++) heed_ids_free(cx, &j->ids[i]);
    heed_mem_free(cx, j->ids);
    heed_mem_free(cx, j->error);
    heed_string_free(cx, &j->text);
    return good;
}

int translate_run(int argc, char **argv, const heed_field *table, const struct translating *how) {
    struct options *o = options_read(how->command, table, argc, argv, 1, INT_MAX, "DIR [TEXT...]");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o, .how = how};
    int status = EXIT_USAGE;
    if (decoding_read(o, &j.opts)) {
        status = EXIT_FAILED;
        if ((j.cx = options_open(o))) {
            j.opts.seed = heed_seed(j.cx);
            heed_set_grad(j.cx, false);
            const bool good = (j.translator = how->open(j.cx, options_word(o, 0))) && translate(&j);
            heed_translator_free(j.cx, j.translator);
            status = options_close(o, j.cx, good ? EXIT_DONE : EXIT_FAILED);
        }
    }
    options_free(o);
    return status;
}

static int run(int argc, char **argv) {
    return translate_run(argc, argv, options, &(struct translating){"translate", "translation", heed_translator_open});
}

const struct command translate_command = {
    .name = "translate",
    .summary = "translate lines of text",
    .words = "DIR [TEXT...]",
    .about =
        "Translates its arguments after DIR, each a sentence, or else the lines of standard input, one a line. Text is "
        "preprocessed as the model's training text was, and Moses tokens are detokenised unless --tokens is given. "
        "Lines that are waiting are decoded together; a translation does not depend on the other lines. "
        "Decoding options that are not given are those of generation_config.json, where DIR has one.\n\n"
        "A line that is not UTF-8 or has more tokens than the model has positions is reported on standard error and "
        "answered with an empty line, and the exit status is 1 at the end; --strict stops there. Newlines and control "
        "characters in a translation are printed as spaces; --json gives it exactly.",
    .options = options,
    .examples = "heed translate demo/model 'A bird flies through the window.'\n"
                "heed translate en-de --beam 5 < test.en > test.hyp\n"
                "heed translate en-de --n-best 3 --json < test.en\n"
                "heed translate en-de --sample --temperature 0.7 --seed 3 < test.en\n",
    .run = run,
};
