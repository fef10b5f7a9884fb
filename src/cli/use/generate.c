/* heed generate: what follows a prompt, or each line of text. */
#include "base/clock.h"
#include "cli/classical/ngram_use.h"
#include "cli/classical/plain_models.h"
#include "cli/core/decoding_options.h"
#include "cli/core/figure_options.h"
#include "cli/core/input_lines.h"
#include "cli/core/text_out.h"
#include "cli/use/chat.h"
#include "cli/use/handwriting.h"
#include "cli/use/music.h"
#include "heed/music.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "prompt", .letter = 'p', .kind = HEED_FIELD_LIST, .value = "TEXT", .help = "a prompt, as an argument after DIR is"},
    {.name = "n-best", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1024,
     .help = "print N continuations of each prompt, best first or as drawn, each with number and score"},
    {.name = "chat", .letter = 'c', .help = "a conversation in the model's chat format: at a terminal as it is typed, else a line "
                                            "of the user in, a line of the assistant out"},
    {.name = "system", .kind = HEED_FIELD_TEXT, .value = "TEXT", .help = "with --chat: the system message"},
    {.name = "echo", .help = "print the prompt, too, before what follows it"},
    {.name = "special", .help = "special tokens in prompts are tokens; without it they are plain text"},
    {.name = "tokens-per-second", .help = "say on standard error how many tokens a second were generated"},
    STRICT_OPTION,
    {.name = "json", .help = "a JSON object per continuation; lines of standard input may be JSON, too: a text in "
                             "quotes, or an object with a \"prompt\""},
    {.name = "decoding", .kind = HEED_FIELD_GROUP},
    {.name = "max-tokens", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .low = 1, .high = 1e9,
     .help = "maximum number of new tokens"},
    {.name = "max-new-tokens", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .low = 1, .high = 1e9,
     .help = "the same as --max-tokens"},
    {.name = "min-tokens", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "minimum number of new tokens"},
    {.name = "no-context-shift", .help = "stop where the model's context is full, instead of going on with its last half"},
    {.name = "stop", .kind = HEED_FIELD_LIST, .value = "TEXT", .help = "end before this text"},
    {.name = "sample", .help = "sample instead of taking the most probable token"},
    {.name = "temperature", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .high = 1e6,
     .help = "sample at this temperature; smaller: closer to greedy; 0: greedy"},
    {.name = "top-k", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "sample from the N most probable tokens; 0: from all"},
    {.name = "top-p", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "P", .low = 1e-9, .high = 1,
     .help = "nucleus sampling: from the fewest tokens whose probabilities reach P"},
    {.name = "min-p", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "sample from tokens of at least P times the largest probability"},
    {.name = "beam", .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1024,
     .help = "beam search of this width instead; 1: greedy"},
    LENGTH_PENALTY_FIELD,
    {.name = "no-repeat", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e6,
     .help = "forbid repeated n-grams of this size, prompt included; 0: allow all"},
    {.name = "repetition-penalty", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .low = 1e-3, .high = 1e3,
     .help = "penalty of tokens that came before, prompt included; 1: none"},
    {.name = "writing", .kind = HEED_FIELD_TABLE, .table = handwriting_options},
    {.name = "music", .kind = HEED_FIELD_TABLE, .table = music_options},
    {.name = "handwriting and music", .kind = HEED_FIELD_GROUP},
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    {.name = NULL},
};
/* clang-format on */

#define AT_ONCE 256 /* lines; fewer when no more are waiting */

struct job {
    const struct options *o;
    heed_ctx *cx;
    heed_generator *generator;
    heed_generate_opts opts;
    struct cli_lines in; /* of standard input */
    bool json, starts;   /* starts: there is a bos_token_id for empty prompts */
    heed_ids *ids;       /* (AT_ONCE) of the prompts not yet answered */
    heed_string *prompt; /* (AT_ONCE) their texts, with --echo */
    char **error;        /* (AT_ONCE) why a line is bad, or NULL */
    int64_t n, first;    /* how many; the number of the first */
    heed_string text;
};

/* ---- options ---- */

/* What was asked for, over what the directory says; false after saying which options contradict each other. */
static bool asks_to_sample(const struct options *o) {
    static const char *const drawing[] = {"top-k", "top-p", "min-p"};
    bool asked = option_flag(o, "sample") || (option_given(o, "temperature") && option_number(o, "temperature") > 0);
    for (int i = 0; i < 3; i++) asked |= option_given(o, drawing[i]);
    return asked;
}

static bool check_options(struct options *o) {
    const bool greedy = option_given(o, "temperature") && option_number(o, "temperature") == 0;
    if (asks_to_sample(o) && greedy)
        return cli_error(EXIT_USAGE, "generate: --temperature 0 is greedy: it does not go with sampling"), false;
    if (asks_to_sample(o) && option_int(o, "beam") > 1)
        return cli_error(EXIT_USAGE, "generate: --beam does not go with sampling"), false;
    if (option_given(o, "system") && !option_flag(o, "chat"))
        return cli_error(EXIT_USAGE, "generate: --system is for --chat"), false;
    const char *const *unused;
    if (option_flag(o, "chat") && (options_words(o) > 1 || option_list(o, "prompt", &unused) > 0))
        return cli_error(EXIT_USAGE,
                         "generate: --chat takes no prompts: what the user says is read from standard input"),
               false;
    if (option_flag(o, "chat") && option_flag(o, "echo"))
        return cli_error(EXIT_USAGE, "generate: --echo is for prompts, not for --chat"), false;
    if (option_flag(o, "chat") && (option_int(o, "beam") > 1 || option_given(o, "n-best")))
        return cli_error(EXIT_USAGE, "generate: --chat does not go with --beam and --n-best"), false;
    return options_either(o, "max-tokens", "max-new-tokens");
}

static bool read_options(struct job *j) {
    const struct options *const o = j->o;
    heed_generate_opts *const to = &j->opts;
    *to = (heed_generate_opts){.beams = 1,
                               .length_penalty = 1,
                               .fit = true,
                               .context_shift = !option_flag(o, "no-context-shift"),
                               .seed = heed_seed(j->cx)};
    if (!heed_generate_config(j->cx, j->generator->model, to)) return false;
    const char *const most = option_given(o, "max-new-tokens") ? "max-new-tokens" : "max-tokens";
    if (option_given(o, most) || (to->max_length == 0 && to->max_new_tokens == 0))
        to->max_new_tokens = option_int(o, most);
    if (option_given(o, "min-tokens"))
        to->min_new_tokens = option_int(o, "min-tokens"), to->min_length = 0;
    else if (to->max_new_tokens > 0 && to->min_new_tokens > to->max_new_tokens)
        to->min_new_tokens = to->max_new_tokens; /* the directory's gives way */
    if (option_given(o, "beam")) to->beams = option_int(o, "beam"), to->sample = false;
    if (asks_to_sample(o)) to->beams = 1, to->sample = true;
    if (option_given(o, "temperature")) to->temperature = (float)option_number(o, "temperature");
    if (option_given(o, "temperature") && to->temperature == 0) to->beams = 1, to->sample = false;
    if (option_given(o, "top-k")) to->top_k = option_int(o, "top-k");
    if (option_given(o, "top-p")) to->top_p = (float)option_number(o, "top-p");
    if (option_given(o, "min-p")) to->min_p = (float)option_number(o, "min-p");
    if (option_given(o, "length-penalty")) to->length_penalty = (float)option_number(o, "length-penalty");
    if (option_given(o, "no-repeat")) to->no_repeat_ngram = option_int(o, "no-repeat");
    if (option_given(o, "repetition-penalty")) to->repetition_penalty = (float)option_number(o, "repetition-penalty");
    to->n_best = option_int(o, "n-best");
    if (!to->sample && to->n_best > to->beams) to->beams = to->n_best;
    to->n_stop = option_list(o, "stop", &to->stop);
    to->stop_tokens = j->generator->tokens[1];
    return true;
}

/* ---- out ---- */

static void say_speed(const struct options *o, int64_t tokens, double seconds) {
    if (option_flag(o, "tokens-per-second") && seconds > 0)
        fprintf(stderr, "%lld tokens in %.2f s, %.1f tokens/s\n", (long long)tokens, seconds, (double)tokens / seconds);
}

static bool decode(struct job *j, const heed_ids *prompt, const int32_t *ids, int64_t n) {
    const heed_string *const before = &j->prompt[prompt - j->ids];
    j->text.size = 0;
    if (before->size > 0 && !heed_string_put(j->cx, &j->text, before->s, before->size)) return false;
    return heed_generator_decode(j->cx, j->generator, prompt, ids, n, &j->opts, &j->text);
}

static bool print_json(struct job *j, int64_t number, const heed_hypothesis *h) {
    heed_ctx *const cx = j->cx;
    const char *const error = j->error[number - j->first];
    const heed_json at = heed_json_new(cx, "continuation");
    heed_json_put_int(cx, at, "line", number);
    heed_json_put_text(cx, at, "text", j->text.s);
    heed_json_put_int(cx, at, "tokens", h->length);
    if (isfinite(h->score)) /* of forced tokens it may be minus infinity */
        heed_json_put_number(cx, at, "score", (double)h->score);
    else
        heed_json_put_null(cx, at, "score");
    heed_json_put_bool(cx, at, "ended", h->ended);
    heed_json_put_text(cx, at, "finish_reason", heed_finish_name(h->finish));
    if (error) heed_json_put_text(cx, at, "error", error);
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
    return !heed_failed(cx);
}

/* Continuation i of prompt p; whole: as the only answer, with its newlines. */
static bool print(struct job *j, int64_t p, const heed_hypothesis *h, bool whole) {
    if (!decode(j, &j->ids[p], h->ids, h->length)) return false;
    if (j->json) return print_json(j, j->first + p, h);
    if (option_given(j->o, "n-best")) printf("%lld\t%.4f\t", (long long)(j->first + p), (double)h->score);
    whole ? cli_plain_text(j->text.s, j->text.size) : cli_plain_line(j->text.s, j->text.size);
    puts(j->text.s);
    return true;
}

static void forget(struct job *j) {
    for (int64_t i = 0; i < AT_ONCE; i++) {
        heed_mem_free(j->cx, j->error[i]);
        j->error[i] = NULL;
        j->ids[i].count = 0;
        j->prompt[i].size = 0;
    }
    j->first += j->n;
    j->n = 0;
}

/* Answers to all prompts that are waiting; bad ones have an empty answer. */
static bool answer(struct job *j, bool whole) {
    heed_ids good[AT_ONCE];
    int64_t number[AT_ONCE], n = 0, at = 0; /* prompts draw by their own number, however many are waiting */
    for (int64_t i = 0; i < j->n; i++)
        if (!j->error[i] && (j->ids[i].count > 0 || j->starts)) good[n] = j->ids[i], number[n++] = j->first + i;
    heed_generate_opts opts = j->opts;
    opts.number = number;
    const double began = clock_seconds();
    heed_generated *const g = heed_generate(j->cx, j->generator->model, good, n, &opts);
    bool ok = g != NULL;
    int64_t tokens = 0, full = 0;
    for (int64_t i = 0; ok && i < n * g->n_best; i++) {
        tokens += g->best[i].length;
        full += g->best[i].finish == HEED_FINISH_CONTEXT;
    }
    if (ok) say_speed(j->o, tokens, clock_seconds() - began);
    const heed_hypothesis none = {.ended = true};
    for (int64_t i = 0; ok && i < j->n; i++) {
        const bool is_good = at < n && number[at] == j->first + i;
        for (int64_t k = 0; ok && k < g->n_best; k++)
            ok = print(j, i, is_good ? &g->best[at * g->n_best + k] : &none, whole);
        at += is_good;
    }
    fflush(stdout);
    if (ok) decoding_say_context(j->o, j->generator, &j->opts, full, n * g->n_best);
    heed_mem_free(j->cx, g);
    forget(j);
    return ok;
}

/* ---- as it comes ---- */

static bool stream(struct job *j) {
    struct text_stream t = {.cx = j->cx};
    j->opts.on_text = stream_take, j->opts.user = &t;
    j->opts.number = &j->first;
    stream_say(&j->prompt[0]);
    const double began = clock_seconds();
    heed_generated *const g = heed_generate(j->cx, j->generator->model, j->ids, 1, &j->opts);
    const bool ok = g;
    if (ok || t.text.size > 0) putchar('\n');
    if (ok) say_speed(j->o, g->best[0].length, clock_seconds() - began);
    if (ok) decoding_say_context(j->o, j->generator, &j->opts, g->best[0].finish == HEED_FINISH_CONTEXT, 1);
    heed_string_free(j->cx, &t.text);
    heed_mem_free(j->cx, g);
    return ok;
}

/* ---- in ---- */

/* The prompt of a line: itself, or what JSON says. */
static bool take_text(struct job *j, const char *text, size_t size) {
    heed_ids *const ids = &j->ids[j->n];
    if (!heed_generator_encode_as(j->cx, j->generator, text, size,
                                  option_flag(j->o, "special") || j->generator->encodes, ids) ||
        (option_flag(j->o, "echo") && !heed_string_put(j->cx, &j->prompt[j->n], text, size)))
        return false;
    if (!j->generator->encodes && j->opts.max_new_tokens == 0 && ids->count >= j->opts.max_length) {
        const int64_t n = ids->count;
        ids->count = 0;
        return heed_fail(j->cx, HEED_ERR_RANGE,
                         "a prompt of %lld tokens: generation_config.json allows %lld with those "
                         "that follow; --max-tokens overrides it",
                         (long long)n, (long long)j->opts.max_length);
    }
    if (ids->count > 0 || j->starts || j->generator->encodes) return true;
    return heed_fail(j->cx, HEED_ERR_FORMAT, "an empty prompt: the model's directory gives no bos_token_id");
}

static bool take_line(struct job *j) {
    heed_json at = {0};
    if (j->json && (j->in.text[0] == '"' || j->in.text[0] == '{')) {
        at = heed_json_parse(j->cx, "JSON", j->in.text, j->in.size);
        if (heed_error(j->cx) == HEED_ERR_FORMAT) heed_clear(j->cx); /* text that begins so */
    }
    const heed_json_kind kind = heed_json_kind_of(at);
    const char *text = kind == HEED_JSON_OBJECT ? heed_json_text(j->cx, at, "prompt")
                       : kind == HEED_JSON_TEXT ? heed_json_text(j->cx, at, NULL)
                                                : j->in.text;
    const bool ok = !heed_failed(j->cx) && take_text(j, text, text == j->in.text ? j->in.size : strlen(text));
    heed_json_free(at);
    return ok;
}

static bool answer_lines(struct job *j) {
    bool ok = cli_lines_open(&j->in, j->cx, "-");
    j->in.skip_bad = !option_flag(j->o, "strict");
    while (ok && cli_lines_next(&j->in)) {
        ok = (j->in.bad || take_line(j) || cli_lines_recover(&j->in)) &&
             (!j->in.bad || (j->error[j->n] = cli_lines_complaint(&j->in)));
        if (ok && (++j->n == AT_ONCE || !cli_lines_ready(&j->in))) ok = answer(j, false); /* before waiting for more */
    }
    if (!heed_failed(j->cx) && j->n > 0) answer(j, false);
    return cli_lines_close(&j->in);
}

/* Prompt i of the command line. */
static const char *given_prompt(const struct options *o, int i) {
    const char *const *list;
    const int words = options_words(o) - 1;
    option_list(o, "prompt", &list);
    return i < words ? options_word(o, 1 + i) : list[i - words];
}

static bool answer_given(struct job *j, int n) {
    for (int i = 0; i < n; i++) {
        const char *const text = given_prompt(j->o, i);
        if (!take_text(j, text, strlen(text))) return heed_fail_in(j->cx, "prompt %d", i + 1);
        j->n++;
        if (n == 1 && !j->json && !option_given(j->o, "n-best") && j->opts.beams == 1 &&
            (j->ids[0].count > 0 || j->starts))
            return stream(j);
        if ((j->n == AT_ONCE || i + 1 == n) && !answer(j, n == 1)) return false;
    }
    return true;
}

static bool generate(struct job *j) {
    heed_ctx *const cx = j->cx;
    const char *const *unused;
    const int given = options_words(j->o) - 1 + option_list(j->o, "prompt", &unused);
    if (!read_options(j)) return false;
    if (music_asked(j->o) || pictures_asked(j->o) || (given == 0 && heed_music_has(j->generator->tokens[1])))
        return music_compose(j->o, cx, options_word(j->o, 0), j->generator, &j->opts);
    /* rows that are decoded together: a few of them are worth packing the weights for, one is not */
    const int64_t rows = (given > 0 ? given : AT_ONCE) * (j->opts.beams > 1 ? j->opts.beams : 1);
    if (rows >= 4 && !option_flag(j->o, "chat") && !heed_params_pack(cx, heed_model_params(j->generator->model)))
        return false;
    if (option_flag(j->o, "chat")) return chat_run(j->o, cx, j->generator, options_word(j->o, 0), &j->opts);
    if (option_flag(j->o, "echo") && j->generator->encodes)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "generate: --echo: the source of an encoder-decoder does not begin what it writes");
    j->first = 1;
    j->json = option_flag(j->o, "json");
    j->starts = !j->generator->encodes && heed_json_kind_of(heed_json_find(cx, heed_model_decoding(j->generator->model),
                                                                           "bos_token_id")) == HEED_JSON_INT;
    j->ids = heed_mem_new(cx, AT_ONCE * sizeof *j->ids);
    j->prompt = heed_mem_new(cx, AT_ONCE * sizeof *j->prompt);
    j->error = heed_mem_new(cx, AT_ONCE * sizeof *j->error);
    if (heed_failed(cx)) return heed_mem_free(cx, j->ids), heed_mem_free(cx, j->prompt), false;
    memset(j->ids, 0, AT_ONCE * sizeof *j->ids);
    memset(j->prompt, 0, AT_ONCE * sizeof *j->prompt);
    for (int i = 0; i < AT_ONCE; i++) j->error[i] = NULL;
    const bool good = given > 0 ? answer_given(j, given) : answer_lines(j);
    forget(j);
    for (int i = 0; i < AT_ONCE; i++) heed_ids_free(cx, &j->ids[i]), heed_string_free(cx, &j->prompt[i]);
    heed_mem_free(cx, j->ids);
    heed_mem_free(cx, j->prompt);
    heed_mem_free(cx, j->error);
    heed_string_free(cx, &j->text);
    return good;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("generate", options, argc, argv, 1, INT_MAX, "DIR [PROMPT...]");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o};
    int status = EXIT_USAGE;
    const bool good_options = check_options(o);
    if (good_options && plain_model_is(options_word(o, 0), &way_ngram)) {
        status = music_asked(o) || pictures_asked(o)
                     ? cli_error(EXIT_FAILED, "%s: an n-gram model composes no music and writes by no hand",
                                 options_word(o, 0))
                     : ngram_generate_lines(o, options_word(o, 0));
    } else if (good_options && handwriting_is(options_word(o, 0))) {
        status = music_asked(o)
                     ? cli_error(EXIT_FAILED, "%s: a model of handwriting composes no music", options_word(o, 0))
                     : handwriting_generate(o, options_word(o, 0));
    } else if (good_options && handwriting_fits(o) && music_fits(o)) {
        status = EXIT_FAILED;
        if ((j.cx = options_open(o))) {
            heed_set_grad(j.cx, false);
            const bool good = (j.generator = heed_generator_open(j.cx, options_word(o, 0))) && generate(&j);
            heed_generator_free(j.cx, j.generator);
            status = options_close(o, j.cx, good ? EXIT_DONE : EXIT_FAILED);
        }
    }
    options_free(o);
    return status;
}

const struct command generate_command = {
    .name = "generate",
    .summary = "continue prompts with a language model",
    .words = "DIR [PROMPT...]",
    .about =
        "Prints what follows its prompts: the arguments after DIR, or else the lines of standard input, one a line. An "
        "encoder-decoder is given its source instead. A single prompt is answered as the tokens come, with newlines; "
        "several ones, and lines, each with one line, in which newlines and control characters are spaces. --json "
        "gives texts exactly, and takes prompts with newlines from standard input. Lines that are waiting are decoded "
        "together; an answer does not depend on the other lines.\n\n"
        "Without options the most probable token is taken each time. --sample, --temperature, --top-k, --top-p and "
        "--min-p draw tokens instead, the same for the same --seed. Decoding options that are not given are those of "
        "generation_config.json, where DIR has one. An empty prompt begins with the model's bos_token_id.\n\n"
        "A decoder alone writes on when its context is full: it then sees the last half of it, computed anew, and the "
        "bos token where the prompt begins with one. --no-context-shift stops there instead, and so do beam search and "
        "encoder-decoders; it is said on standard error, and \"finish_reason\" of --json is \"context\" then, "
        "\"length\" where --max-tokens ends an answer, and \"stop\" at its end.\n\n"
        "A line that is not UTF-8 or has no position left for a new token is reported on standard error and answered "
        "with an empty line, and the exit status is 1 at the end; --strict stops there.\n\n"
        "--chat is a conversation with a model that was taught some, in the format of its chat_template: ChatML, LLaMA "
        "2 and 3, Mistral, Gemma or Phi. /reset begins anew, /quit or Ctrl-D ends it, and Ctrl-C stops an answer.\n\n"
        "A model of handwriting writes as many points as --max-tokens says, 400 by default, in the style of its "
        "prompts: files of strokes as JSON lines, or digits, which a synthetic writer writes. It draws them to a "
        "picture, else in the terminal; --json gives strokes.\n\n"
        "A model of music ('heed train music') composes a chorale of four voices: --midi writes it, --png draws it as "
        "a piano roll, --json prints its notes. Tokens are drawn unless --temperature 0 or --beam says otherwise, and "
        "only those that a voice can have at its turn.",
    .options = options,
    .examples = "heed generate gpt2 'Once upon a time'\n"
                "heed generate gpt2 --temperature 0.8 --top-p 0.9 --seed 7 'The meaning of life is'\n"
                "heed generate gpt2 --max-tokens 20 --stop . < prompts.txt\n"
                "heed generate gpt2 --beam 4 --n-best 2 --json 'To be or not to be'\n"
                "heed generate talker --chat --system 'Answer in one sentence.'\n"
                "heed generate hand --prompt 2026 --n-best 4 --bias 0.5 --svg numbers.svg\n"
                "heed generate bach --midi chorale.mid --png chorale.png --temperature 0.9 --seed 3\n"
                "heed generate bach --prompt-midi begun.mid --prompt-steps 32 --midi continued.mid\n"
                "heed generate bach --soprano melody.mid --midi harmonised.mid\n",
    .run = run,
};
