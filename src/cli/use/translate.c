/* heed translate: a translation of every line of text; and what heed summarize shares with it. */
#include "cli/use/translate.h"
#include "cli/core/decoding_options.h"
#include "cli/core/each_line.h"
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

#define AT_ONCE 2048 /* lines */

struct job {
    const struct translating *how;
    heed_translator *translator;
    heed_translator source; /* the same, without preprocessing where the input is prepared */
    heed_generate_opts opts;
    heed_ids *ids; /* (AT_ONCE) of the lines that wait */
    heed_string text;
};

/* Of an option that not all commands have. */
static bool flag(const struct options *o, const char *name) { return option_known(o, name) && option_flag(o, name); }

/* ---- out ---- */

static bool print_json(const struct each_line *e, int64_t line, const heed_translated *found, int64_t i) {
    const struct job *const j = e->own;
    const char *error = e->error[line - e->first];
    const heed_json at = heed_json_new(e->cx, "translation");
    heed_json_put_int(e->cx, at, "line", line);
    heed_json_put_text(e->cx, at, j->how->answer, j->text.s);
    heed_json_put_number(e->cx, at, "score", (double)found->score[i]);
    if (error) heed_json_put_text(e->cx, at, "error", error);
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
    return !heed_failed(e->cx);
}

static bool print(const struct each_line *e, const heed_translated *found, int64_t i) {
    struct job *const j = e->own;
    const int64_t line = e->first + i / found->n_best;
    j->text.size = 0;
    if (!heed_string_put(e->cx, &j->text, "", 0) ||
        !heed_translation_text(e->cx, &j->translator->preprocessing, j->translator->tokens[1], &found->ids[i],
                               flag(e->o, "tokens"), &j->text))
        return false;
    if (option_flag(e->o, "json")) return print_json(e, line, found, i);
    if (option_given(e->o, "n-best")) printf("%lld\t%.4f\t", (long long)line, (double)found->score[i]);
    cli_plain_line(j->text.s, j->text.size); /* a token may hold anything */
    puts(j->text.s);
    return true;
}

static bool answer(struct each_line *e) {
    struct job *const j = e->own;
    heed_translated found = {0};
    int64_t number[AT_ONCE]; /* lines draw by their own number, however many are waiting */
    for (int64_t i = 0; i < e->n; i++) number[i] = e->first + i;
    heed_generate_opts opts = j->opts;
    opts.number = number;
    bool ok = heed_translate_ids(e->cx, j->translator->model, j->ids, e->n, &opts, &found);
    for (int64_t i = 0; ok && i < found.n * found.n_best; i++) ok = print(e, &found, i);
    heed_translated_free(e->cx, &found);
    for (int64_t i = 0; i < e->n; i++) j->ids[i].count = 0;
    return ok;
}

/* ---- in ---- */

static bool begin(struct each_line *e) {
    struct job *const j = e->own;
    j->opts.seed = heed_seed(e->cx);
    j->translator = j->how->open(e->cx, options_word(e->o, 0));
    if (!j->translator || !decoding_of_model(e->o, e->cx, j->translator->model, &j->opts)) return false;
    j->opts.n_best = option_int(e->o, "n-best");
    if (!j->opts.sample && j->opts.n_best > j->opts.beams) j->opts.beams = j->opts.n_best;
    j->opts.n_stop = option_list(e->o, "stop", &j->opts.stop);
    j->opts.stop_tokens = j->translator->tokens[1];
    j->source = *j->translator;
    if (option_known(e->o, "prefix") && option_given(e->o, "prefix")) j->source.prefix = option_text(e->o, "prefix");
    if (flag(e->o, "prepared")) j->source.preprocessing = (heed_preprocessing){0};
    j->ids = heed_mem_new(e->cx, AT_ONCE * sizeof *j->ids);
    if (j->ids) memset(j->ids, 0, AT_ONCE * sizeof *j->ids);
    return j->ids;
}

/* Without ids the translation of a line is empty: a blank line, or a bad one. */
static bool take_line(struct each_line *e) {
    struct job *const j = e->own;
    return heed_translator_encode(e->cx, &j->source, e->in.text, e->in.size, &j->ids[e->n]) ||
           cli_lines_recover(&e->in);
}

static bool finish(struct each_line *e, bool good) {
    struct job *const j = e->own;
    for (int i = 0; j->ids && i < AT_ONCE; i++) heed_ids_free(e->cx, &j->ids[i]);
    heed_mem_free(e->cx, j->ids);
    heed_string_free(e->cx, &j->text);
    heed_translator_free(e->cx, j->translator);
    return good;
}

int translate_run(int argc, char **argv, const heed_field *table, const struct translating *how) {
    struct options *o = options_read(how->command, table, argc, argv, 1, INT_MAX, "DIR [TEXT...]");
    if (!o) return EXIT_USAGE;
    struct job j = {.how = how};
    const struct each_line_command c = {
        .begin = begin, .check = take_line, .answer = answer, .finish = finish, .at_once = AT_ONCE, .own = &j};
    const int status = decoding_read(o, &j.opts) ? each_line_with(&c, o) : EXIT_USAGE;
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
