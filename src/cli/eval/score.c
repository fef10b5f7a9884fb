/* heed score: how probable a model finds each line, or which of a line's choices is the likeliest. */
#include "cli/classical/ngram_use.h"
#include "cli/classical/plain_models.h"
#include "cli/core/each_line.h"
#include "cli/eval/scoring.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    NORMALISE_OPTION,
    {.name = "separator", .kind = HEED_FIELD_TEXT, .standard = " ", .value = "TEXT",
     .help = "what stands between prompt and choice where neither has white space there; default: a space"},
    {.name = "bos", .help = "put the bos token before each text that does not begin with it, so that its first token "
                            "is scored too"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

struct scoring {
    heed_generator *generator;
    struct scoring_list list; /* of the lines that wait, in order */
};

static bool begin(struct each_line *e) {
    struct scoring *s = e->own = heed_mem_new(e->cx, sizeof *s);
    if (!s) return false;
    *s = (struct scoring){.generator = heed_generator_open(e->cx, options_word(e->o, 0))};
    return s->generator != NULL;
}

static bool finish(struct each_line *e, bool good) {
    struct scoring *s = e->own;
    if (s) scoring_free(e->cx, &s->list);
    if (s) heed_generator_free(e->cx, s->generator);
    heed_mem_free(e->cx, s);
    return good;
}

/* ---- in ---- */

/* A choice as it follows the prompt. */
static bool put_choice(struct each_line *e, const char *prompt, const char *choice) {
    struct scoring *s = e->own;
    const char *const between = s->generator->encodes ? "" : scoring_between(e->o, prompt, choice);
    heed_string text = {0};
    const bool ok = heed_string_put(e->cx, &text, between, strlen(between)) &&
                    heed_string_put(e->cx, &text, choice, strlen(choice)) &&
                    scoring_put(e->cx, s->generator, prompt, text.s, option_flag(e->o, "bos"), &s->list);
    heed_string_free(e->cx, &text);
    return ok;
}

/* Encodes the line, so that one that cannot be scored is rejected. */
static bool check(struct each_line *e) {
    struct scoring *s = e->own;
    const int64_t before = s->list.n;
    heed_string line = {0};
    bool ok = true;
    if (!*e->in.text) return true;
    if (!heed_string_put(e->cx, &line, e->in.text, e->in.size)) return false;
    char *tab = strchr(line.s, '\t');
    if (!tab) ok = put_choice(e, "", line.s);
    for (int number = 1; ok && tab; number++) {
        *tab = 0;
        char *const choice = tab + 1;
        if ((tab = strchr(choice, '\t'))) *tab = 0;
        ok = put_choice(e, line.s, choice) || heed_fail_in(e->cx, "choice %d", number);
    }
    heed_string_free(e->cx, &line);
    if (ok) return true;
    scoring_cut(e->cx, &s->list, before);
    return cli_lines_recover(&e->in);
}

/* ---- out ---- */

static void put_likelihood(const struct each_line *e, heed_json at, const heed_likelihood *l) {
    heed_json_put_number(e->cx, at, "log_probability", l->log_probability);
    heed_json_put_int(e->cx, at, "tokens", l->tokens);
    heed_json_put_number(e->cx, at, "perplexity", exp(-l->log_probability / (double)l->tokens));
}

static void print_text(const struct each_line *e, int64_t i, const heed_likelihood *l) {
    if (!option_flag(e->o, "json")) {
        printf("%.6f\t%lld\t%.6g\n", l->log_probability, (long long)l->tokens,
               exp(-l->log_probability / (double)l->tokens));
        return;
    }
    const heed_json at = each_line_json(e, i);
    put_likelihood(e, at, l);
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

/* Cells of the line follow each other, each ended by 0. Returns how many choices there are. */
static int64_t print_choices(const struct each_line *e, int64_t i, char *line, const heed_likelihood *l) {
    int64_t n = 0, best = 0;
    double most = -(double)INFINITY;
    const char *likeliest = "", *first = strchr(line, '\t') + 1;
    for (char *tab = strchr(line, '\t'); tab; n++) {
        char *const choice = tab + 1;
        if ((tab = strchr(choice, '\t'))) *tab = 0;
        const double value = scoring_value(e->o, &l[n], choice);
        if (n == 0 || value > most) most = value, best = n, likeliest = choice;
    }
    if (!option_flag(e->o, "json")) {
        printf("%lld\t", (long long)best + 1);
        cli_print_text(stdout, likeliest);
        printf("\t%.6f\n", most);
        return n;
    }
    const heed_json at = each_line_json(e, i);
    heed_json_put_int(e->cx, at, "choice", best + 1);
    heed_json_put_text(e->cx, at, "text", likeliest);
    put_likelihood(e, at, &l[best]);
    const heed_json list = heed_json_put_array(e->cx, at, "scores");
    const char *choice = first;
    for (int64_t k = 0; k < n; choice += strlen(choice) + 1, k++)
        heed_json_put_number(e->cx, list, NULL, scoring_value(e->o, &l[k], choice));
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
    return n;
}

static void print_nothing(const struct each_line *e, int64_t i) {
    if (!option_flag(e->o, "json")) {
        puts("");
        return;
    }
    const heed_json at = each_line_json(e, i);
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

static bool answer(struct each_line *e) {
    struct scoring *s = e->own;
    const int64_t n = s->list.n;
    heed_likelihood *l = heed_mem_new(e->cx, ((size_t)n + 1) * sizeof *l);
    const bool ok = l && heed_score_items(e->cx, s->generator->model, s->list.item, n, l);
    for (int64_t i = 0, at = 0; ok && i < e->n; i++) {
        char *const line = each_line_text(e, i);
        if (!*line)
            print_nothing(e, i);
        else if (strchr(line, '\t'))
            at += print_choices(e, i, line, &l[at]);
        else
            print_text(e, i, &l[at++]);
    }
    heed_mem_free(e->cx, l);
    scoring_cut(e->cx, &s->list, 0);
    return ok && !heed_failed(e->cx);
}

static int run(int argc, char **argv) {
    static const struct each_line_command command = {
        .begin = begin, .check = check, .answer = answer, .finish = finish};
    struct options *o = options_read("score", options, argc, argv, 1, INT_MAX, "DIR [TEXT...]");
    if (!o) return EXIT_USAGE;
    const char *const dir = options_word(o, 0);
    const int status = plain_model_is(dir, &way_ngram) ? ngram_score_lines(o, dir) : each_line_with(&command, o);
    options_free(o);
    return status;
}

const struct command score_command = {
    .name = "score",
    .summary = "how probable a model finds each line, or the likeliest of its choices",
    .words = "DIR [TEXT...]",
    .about =
        "Prints for each text after DIR, or else for each line of standard input, its log-probability (natural "
        "logarithm), the number of tokens that it sums over, and the perplexity, exp(-log-probability / tokens), "
        "separated by tabs. Tokens are those of the directory's tokenizer, with the special tokens that it adds. The "
        "first of them follows nothing and is not scored, as in transformers' loss of a text that is its own labels; "
        "--bos puts the bos token before it.\n\n"
        "A line with tabs is a prompt and its choices: the first cell is the prompt, the others are what may follow "
        "it. Printed are the number of the likeliest choice, from 1, its text and its log-probability after the "
        "prompt, separated by tabs. Where the prompt is empty, choices are scored as texts alone. For an "
        "encoder-decoder the first cell is the source and the choices are targets, of which all tokens are scored.\n\n"
        "DIR may be an n-gram model, a directory of 'heed train ngram' or an ARPA file. All tokens of a line are then "
        "scored, the first as it begins a line, and its end too; a choice is the rest of a line that its prompt "
        "begins. Kneser-Ney smoothing with one discount gives unknown words no probability: the logarithm of such a "
        "line "
        "is -inf, and null with --json.\n\n"
        "A line that is not UTF-8, is longer than the model has positions, or leaves nothing to score is reported on "
        "standard error and answered with an empty line, and the exit status is 1 at the end; --strict stops there. "
        "Empty lines have empty answers.",
    .options = options,
    .examples = "heed score gpt2 'The cat sat on the mat.' 'The mat sat on the cat.'\n"
                "heed score gpt2 --bos --json < sentences.txt\n"
                "printf 'The capital of France is\\tParis\\tRome\\n' | heed score gpt2\n"
                "heed score gpt2 --normalise tokens < questions.tsv\n",
    .run = run,
};
