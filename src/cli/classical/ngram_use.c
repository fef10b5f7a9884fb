#include "cli/classical/ngram_use.h"
#include "cli/core/input_lines.h"
#include "cli/eval/scoring.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- eval ---- */

void ngram_report(const struct options *o, heed_ctx *cx, const struct ngram_sum *found, int order) {
    if (option_flag(o, "json")) {
        const heed_json at = heed_json_new(cx, "result");
        ngram_put_sum(cx, at, found);
        heed_json_put_number(cx, at, "unseen", ngram_unseen(found));
        json_answer(cx, stdout, at, 2);
        heed_json_free(at);
    } else {
        char text[NGRAM_SUM_ROOM];
        ngram_sum_text(found, text);
        printf("%s\nunseen n-grams of order %d: %.2f %%\n", text, order, 100 * ngram_unseen(found));
    }
}

/* ---- score ---- */

struct scorer {
    const struct options *o;
    heed_ctx *cx;
    struct ngram_model m;
    struct cli_lines in;
    heed_ids ids;
    heed_string line;
};

static void put_sum(heed_ctx *cx, heed_json at, const struct ngram_sum *s) {
    ngram_put_number(cx, at, "log_probability", s->log_probability);
    heed_json_put_int(cx, at, "tokens", s->tokens);
    ngram_put_number(cx, at, "perplexity", ngram_perplexity(s));
    heed_json_put_int(cx, at, "unknown", s->unknown);
}

static heed_json line_json(const struct scorer *s) {
    const heed_json at = heed_json_new(s->cx, "score");
    heed_json_put_int(s->cx, at, "line", s->in.number);
    if (s->in.bad) heed_json_put_text(s->cx, at, "error", s->in.complaint);
    return at;
}

static void print_score(const struct scorer *s, const struct ngram_sum *sum) {
    const bool nothing = s->in.bad || s->in.size == 0;
    if (!option_flag(s->o, "json")) {
        if (nothing)
            puts("");
        else
            printf("%.6f\t%lld\t%.6g\n", sum->log_probability, (long long)sum->tokens, ngram_perplexity(sum));
        return;
    }
    const heed_json at = line_json(s);
    if (!nothing) put_sum(s->cx, at, sum);
    json_answer(s->cx, stdout, at, 0);
    heed_json_free(at);
}

static bool score_text(struct scorer *s, const char *text, size_t size, struct ngram_sum *sum) {
    s->ids.count = 0;
    if (!ngram_encode(&s->m, text, size, &s->ids)) return false;
    ngram_add(&s->m, s->ids.id, s->ids.count, size, sum);
    return true;
}

/* What `choice` adds after a prompt: the tokens of both together but for those of the prompt, and the end of the line.
 * Text of a prompt and of a choice: line, of which the first `before` bytes are the prompt. */
static bool score_choice(struct scorer *s, size_t before, struct ngram_sum *sum) {
    heed_ngram_state state = heed_ngram_begin(s->m.m);
    s->ids.count = 0;
    if (!ngram_encode(&s->m, s->line.s, before, &s->ids)) return false;
    const int64_t prompt = s->ids.count;
    if (!ngram_encode(&s->m, s->line.s, s->line.size, &s->ids)) return false;
    const int32_t *const both = s->ids.id + prompt;
    const int64_t n = s->ids.count - prompt;
    int64_t common = 0;
    while (common < prompt && common < n && s->ids.id[common] == both[common]) common++;
    if (common == n) return heed_fail(s->cx, HEED_ERR_RANGE, "it leaves nothing to score");
    for (int64_t i = 0; i < n + !s->m.text; i++) {
        const int32_t word = i < n ? both[i] : HEED_NGRAM_END;
        const double log10 = heed_ngram_step(s->m.m, &state, word, NULL);
        if (i < common) continue;
        sum->log_probability += log10 * log(10);
        sum->unknown += word == HEED_NGRAM_UNKNOWN;
        sum->tokens++;
    }
    return true;
}

static double value_of(const struct scorer *s, const struct ngram_sum *sum, const char *choice) {
    return scoring_value(s->o, &(heed_likelihood){sum->log_probability, sum->tokens}, choice);
}

/* A prompt and its choices, separated by tabs: prints the likeliest. */
static bool score_choices(struct scorer *s, char *cells) {
    heed_ctx *const cx = s->cx;
    const heed_json at = line_json(s), list = heed_json_put_array(cx, at, "scores");
    char *tab = strchr(cells, '\t');
    const char *likeliest = "";
    struct ngram_sum best = {0};
    double most = -(double)INFINITY;
    int64_t best_number = 0;
    bool ok = true;
    for (int64_t number = 1; ok && tab; number++) {
        struct ngram_sum sum = {0};
        *tab = 0;
        const char *const choice = tab + 1;
        if ((tab = strchr(choice, '\t'))) *tab = 0;
        const size_t before = strlen(cells);
        const char *const between = scoring_between(s->o, cells, choice);
        s->line.size = 0;
        ok = heed_string_put(cx, &s->line, cells, before) && heed_string_put(cx, &s->line, between, strlen(between)) &&
             heed_string_put(cx, &s->line, choice, strlen(choice)) &&
             (score_choice(s, before, &sum) || heed_fail_in(cx, "choice %lld", (long long)number));
        const double value = ok ? value_of(s, &sum, choice) : 0;
        ngram_put_number(cx, list, NULL, value);
        if (number > 1 && !(value > most)) continue;
        most = value, best = sum, best_number = number, likeliest = choice;
    }
    if (ok && option_flag(s->o, "json")) {
        heed_json_put_int(cx, at, "choice", best_number);
        heed_json_put_text(cx, at, "text", likeliest);
        put_sum(cx, at, &best);
        json_answer(cx, stdout, at, 0);
    } else if (ok) {
        printf("%lld\t", (long long)best_number);
        cli_print_text(stdout, likeliest);
        printf("\t%.6f\n", most);
    }
    heed_json_free(at);
    return ok;
}

/* The current line; one that cannot be scored is reported and answered like a bad one. */
static bool score_line(struct scorer *s) {
    struct ngram_sum sum = {0};
    heed_string cells = {0};
    bool ok = true, answered = false;
    if (!s->in.bad && memchr(s->in.text, '\t', s->in.size)) {
        answered = heed_string_put(s->cx, &cells, s->in.text, s->in.size) && score_choices(s, cells.s);
        ok = answered || cli_lines_recover(&s->in);
    } else if (!s->in.bad && s->in.size > 0) {
        ok = score_text(s, s->in.text, s->in.size, &sum) || cli_lines_recover(&s->in);
    }
    heed_string_free(s->cx, &cells);
    if (ok && !answered) print_score(s, &sum);
    return ok;
}

int ngram_score_lines(const struct options *o, const char *dir) {
    if (option_flag(o, "bos")) return cli_error(EXIT_USAGE, "score: --bos is not for n-gram models");
    struct scorer s = {.o = o, .cx = options_open(o)};
    if (!s.cx) return EXIT_FAILED;
    bool ok = ngram_model_open(s.cx, dir, &s.m) && cli_lines_open_words(&s.in, s.cx, o, 1);
    s.in.skip_bad = !option_flag(o, "strict");
    while (ok && cli_lines_next(&s.in)) {
        ok = score_line(&s);
        if (!cli_lines_ready(&s.in)) fflush(stdout);
    }
    heed_ids_free(s.cx, &s.ids);
    heed_string_free(s.cx, &s.line);
    ngram_model_close(&s.m);
    ok &= cli_lines_close(&s.in);
    return options_close(o, s.cx, ok ? EXIT_DONE : EXIT_FAILED);
}

/* ---- generate ---- */

struct writing {
    const struct options *o;
    heed_ctx *cx;
    struct ngram_model m;
    double *p; /* (words) */
    bool sample;
    double temperature, top_p;
    int64_t most, top_k, number;
    heed_ids ids;
    heed_string text;
};

/* What n-gram models cannot do. */
static bool check(const struct options *o) {
    static const char *const no[] = {"beam", "n-best", "no-repeat", "repetition-penalty", "min-p", "min-tokens"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (option_given(o, no[i]))
            return cli_error(EXIT_USAGE, "generate: --%s is not for n-gram models", no[i]), false;
    return true;
}

/* The smallest probability that is kept: that of the k-th, or of the one with which the sum reaches top_p. */
static double cut_off(const struct writing *w, int64_t words) {
    double low = 0, high = 1;
    if ((w->top_k == 0 || w->top_k >= words) && w->top_p >= 1) return 0;
    for (int i = 0; i < 60; i++) { /* bisection: sorting all words for each token would take longer */
        const double middle = (low + high) / 2;
        double sum = 0;
        int64_t n = 0;
        for (int64_t k = 0; k < words; k++)
            if (w->p[k] >= middle) sum += w->p[k], n++;
        const bool enough = (w->top_k > 0 && n >= w->top_k) || (w->top_p < 1 && sum >= w->top_p);
        *(enough ? &low : &high) = middle;
    }
    return low;
}

/* The next word: the likeliest, or drawn. */
static int32_t choose(struct writing *w, const heed_ngram_state *s, int64_t position) {
    const int64_t words = heed_ngram_words(w->m.m);
    int32_t best = HEED_NGRAM_END;
    double sum = 0, largest = 0;
    heed_ngram_next(w->m.m, s, w->p);
    w->p[HEED_NGRAM_UNKNOWN] = 0;
    if (w->m.text) w->p[HEED_NGRAM_END] = 0;
    for (int64_t k = 0; k < words; k++) {
        if (w->p[k] > largest) largest = w->p[k], best = (int32_t)k;
        sum += w->p[k];
    }
    if (!w->sample || largest <= 0) return best;
    for (int64_t k = 0; k < words; k++) w->p[k] /= sum;
    const double least = cut_off(w, words);
    sum = 0;
    for (int64_t k = 0; k < words; k++) {
        w->p[k] = w->p[k] >= least && w->p[k] > 0 ? pow(w->p[k] * (1 / largest), 1 / w->temperature) : 0;
        sum += w->p[k];
    }
    float u;
    heed_random_uniform(heed_seed(w->cx), (uint64_t)w->number, (uint64_t)position, &u, 1);
    double at = (double)u * sum;
    for (int64_t k = 0; k < words; k++) {
        if (w->p[k] <= 0) continue;
        best = (int32_t)k;
        if ((at -= w->p[k]) < 0) break;
    }
    return best;
}

/* The text behind the prompt; ended: at the end of the line or a stop text. */
static bool write_on(struct writing *w, const char *prompt, size_t size, int64_t *tokens, bool *ended) {
    const char *const *stop;
    const int stops = option_list(w->o, "stop", &stop);
    heed_ngram_state s = heed_ngram_begin(w->m.m);
    w->ids.count = 0;
    w->text.size = 0;
    if (!ngram_encode(&w->m, prompt, size, &w->ids)) return false;
    const int64_t before = w->ids.count;
    for (int64_t i = 0; i < before; i++) heed_ngram_step(w->m.m, &s, w->ids.id[i], NULL);
    *ended = false;
    size_t start = 0;
    if (!ngram_decode(&w->m, w->ids.id, before, &w->text)) return false;
    start = w->text.size;
    for (*tokens = 0; *tokens < w->most && !*ended && !heed_cancelled(w->cx); ++*tokens) {
        const int32_t word = choose(w, &s, *tokens);
        if ((*ended = word == HEED_NGRAM_END)) break;
        heed_ngram_step(w->m.m, &s, word, NULL);
        w->text.size = 0;
        if (!heed_ids_put(w->cx, &w->ids, word)) return false;
        if (stops == 0) continue;
        if (!ngram_decode(&w->m, w->ids.id, w->ids.count, &w->text)) return false;
        for (int k = 0; k < stops && !*ended; k++) {
            char *found = w->text.size > start && *stop[k] ? strstr(w->text.s + start, stop[k]) : NULL;
            if (found) *ended = true, *found = 0, w->text.size = (size_t)(found - w->text.s);
        }
    }
    if (!*ended || stops == 0 || w->text.size == 0) {
        w->text.size = 0;
        if (!ngram_decode(&w->m, w->ids.id, w->ids.count, &w->text)) return false;
    }
    if (start > w->text.size) start = w->text.size;
    memmove(w->text.s, w->text.s + start, w->text.size - start + 1);
    w->text.size -= start;
    return !heed_cancelled(w->cx);
}

static bool put_before(struct writing *w, const char *prompt, size_t size) {
    const size_t said = w->text.size;
    if (!heed_string_put(w->cx, &w->text, prompt, size)) return false; /* for the room */
    memmove(w->text.s + size, w->text.s, said);
    memcpy(w->text.s, prompt, size);
    return true;
}

static bool answer(struct writing *w, const char *prompt, size_t size, bool whole) {
    int64_t tokens;
    bool ended;
    if (!write_on(w, prompt, size, &tokens, &ended) || (option_flag(w->o, "echo") && !put_before(w, prompt, size)))
        return false;
    if (option_flag(w->o, "json")) {
        const heed_json at = heed_json_new(w->cx, "continuation");
        heed_json_put_int(w->cx, at, "line", w->number);
        heed_json_put_text(w->cx, at, "text", w->text.s);
        heed_json_put_int(w->cx, at, "tokens", tokens);
        heed_json_put_bool(w->cx, at, "ended", ended);
        json_answer(w->cx, stdout, at, 0);
        heed_json_free(at);
    } else {
        whole ? cli_plain_text(w->text.s, w->text.size) : cli_plain_line(w->text.s, w->text.size);
        puts(w->text.s);
    }
    return !heed_failed(w->cx);
}

static bool answer_lines(struct writing *w) {
    struct cli_lines in = {0};
    bool ok = cli_lines_open(&in, w->cx, "-");
    in.skip_bad = !option_flag(w->o, "strict");
    while (ok && cli_lines_next(&in)) {
        w->number = in.number;
        if (in.bad)
            puts("");
        else
            ok = answer(w, in.text, in.size, false) || cli_lines_recover(&in);
        if (!cli_lines_ready(&in)) fflush(stdout);
    }
    return cli_lines_close(&in) && ok;
}

static bool generate(struct writing *w) {
    const struct options *o = w->o;
    const char *const *prompts;
    const int words = options_words(o) - 1, listed = option_list(o, "prompt", &prompts);
    static const char *const drawing[] = {"temperature", "top-k", "top-p"};
    w->temperature = option_number(o, "temperature");
    w->sample = option_flag(o, "sample");
    for (int i = 0; i < 3; i++) w->sample |= option_given(o, drawing[i]);
    w->sample &= w->temperature > 0;
    w->top_k = option_int(o, "top-k");
    w->top_p = option_number(o, "top-p");
    w->most = option_int(o, option_given(o, "max-new-tokens") ? "max-new-tokens" : "max-tokens");
    w->p = heed_mem_new(w->cx, (size_t)heed_ngram_words(w->m.m) * sizeof *w->p);
    if (!w->p) return false;
    if (words + listed == 0) return answer_lines(w);
    for (int i = 0; i < words + listed; i++) {
        const char *prompt = i < words ? options_word(o, 1 + i) : prompts[i - words];
        w->number = i + 1;
        if (!answer(w, prompt, strlen(prompt), words + listed == 1)) return heed_fail_in(w->cx, "prompt %d", i + 1);
    }
    return true;
}

int ngram_generate_lines(const struct options *o, const char *dir) {
    if (!check(o)) return EXIT_USAGE;
    struct writing w = {.o = o, .cx = options_open(o)};
    if (!w.cx) return EXIT_FAILED;
    const bool ok = ngram_model_open(w.cx, dir, &w.m) && generate(&w);
    ngram_model_close(&w.m);
    heed_mem_free(w.cx, w.p);
    heed_ids_free(w.cx, &w.ids);
    heed_string_free(w.cx, &w.text);
    return options_close(o, w.cx, ok ? EXIT_DONE : EXIT_FAILED);
}
