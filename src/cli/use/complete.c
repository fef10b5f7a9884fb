/* heed complete: likely words for the line that is being typed, as a search box shows them. */
#include "classical/ngram/ngram_model.h"
#include "cli/core/input_lines.h"
#include "cli/core/line_editor.h"
#include "cli/core/raw_terminal.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "top", .letter = 'k', .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = LINE_SUGGESTIONS,
     .help = "number of suggestions"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

struct suggestion {
    heed_string text; /* the whole word */
    double probability;
};
/* The beginning of a word that is put together of pieces. */
struct beginning {
    heed_ngram_state state;
    double probability;
    int64_t first, count; /* its tokens in `tokens` of the search */
};
enum { BEAM = 24, LONGEST_WORD = 40 };

struct completing {
    const struct options *o;
    heed_ctx *cx;
    struct ngram_model m;
    double *p; /* (words) */
    heed_ids ids, tokens[2];
    heed_string decoded;
    struct beginning beam[2][BEAM];
    struct suggestion best[LINE_SUGGESTIONS];
    int n, top;
    bool apart; /* a blank comes before the word that is searched */
};

/* ---- the best so far ---- */

static bool add(struct completing *c, const char *text, size_t size, double probability) {
    int at = c->n;
    for (int i = 0; i < c->n; i++) /* pieces may make the same word in several ways */
        if (c->best[i].text.size == size && memcmp(c->best[i].text.s, text, size) == 0) {
            c->best[i].probability += probability;
            at = i;
        }
    if (at == c->n) {
        if (c->n == c->top && probability <= c->best[c->n - 1].probability) return true;
        if (c->n < c->top) c->n++;
        at = c->n - 1;
        c->best[at].text.size = 0;
        c->best[at].probability = probability;
        if (!heed_string_put(c->cx, &c->best[at].text, text, size)) return false;
    }
    for (; at > 0 && c->best[at].probability > c->best[at - 1].probability; at--) {
        const struct suggestion swap = c->best[at];
        c->best[at] = c->best[at - 1];
        c->best[at - 1] = swap;
    }
    return true;
}

/* ---- words ---- */

static bool follow(struct completing *c, const char *text, size_t size, heed_ngram_state *s) {
    *s = heed_ngram_begin(c->m.m);
    c->ids.count = 0;
    if (!ngram_encode(&c->m, text, size, &c->ids)) return false;
    for (int64_t i = 0; i < c->ids.count; i++) heed_ngram_step(c->m.m, s, c->ids.id[i], NULL);
    return true;
}

/* A model of words says how likely each is, of which those count that begin so. */
static bool suggest_words(struct completing *c, const char *line, size_t begin, size_t cursor) {
    const int64_t words = heed_ngram_words(c->m.m);
    heed_ngram_state s;
    if (!follow(c, line, begin, &s)) return false;
    heed_ngram_next(c->m.m, &s, c->p);
    for (int32_t w = HEED_NGRAM_END + 1; w < words; w++) {
        const char *name = heed_ngram_word(c->m.m, w);
        if (strncmp(name, line + begin, cursor - begin) == 0 && !add(c, name, strlen(name), c->p[w])) return false;
    }
    return true;
}

/* ---- pieces ---- */

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* A beginning with one more token: a word that is complete is added, else it joins the next beam. */
static bool extend(struct completing *c, const struct beginning *b, int now, int32_t word, double p, const char *typed,
                   size_t size, size_t known, int *n) {
    heed_ids *to = &c->tokens[!now];
    const int64_t first = to->count;
    const bool ends = word == HEED_NGRAM_END;
    for (int64_t i = 0; i < b->count; i++)
        if (!heed_ids_put(c->cx, to, c->tokens[now].id[b->first + i])) return false;
    if (!ends && !heed_ids_put(c->cx, to, word)) return false;
    c->decoded.size = 0;
    if (!ngram_decode(&c->m, to->id + first, to->count - first, &c->decoded)) return false;
    const char *text = c->decoded.s + (known < c->decoded.size ? known : c->decoded.size);
    const bool apart = !c->apart || !*text || is_blank(*text);
    while (is_blank(*text)) text++;
    size_t length = 0;
    while (text[length] && !is_blank(text[length])) length++;
    const bool complete = length > 0 && (ends || text[length]);
    const bool agrees = apart && strncmp(text, typed, length < size ? length : size) == 0;
    if (complete || ends || !agrees) {
        to->count = first;
        return !complete || !agrees || length < size || add(c, text, length, p);
    }
    struct beginning *beam = c->beam[!now];
    int at = *n < BEAM ? (*n)++ : BEAM - 1;
    if (at == BEAM - 1 && *n == BEAM && beam[at].probability >= p && beam[at].count > 0) return to->count = first, true;
    beam[at] = (struct beginning){b->state, p, first, to->count - first};
    heed_ngram_step(c->m.m, &beam[at].state, word, NULL);
    for (; at > 0 && beam[at].probability > beam[at - 1].probability; at--) {
        const struct beginning swap = beam[at];
        beam[at] = beam[at - 1];
        beam[at - 1] = swap;
    }
    return true;
}

/* Words of letters or pieces are found by a search along the likeliest tokens up to the next blank. */
static bool suggest_pieces(struct completing *c, const char *line, size_t begin, size_t cursor) {
    const int64_t words = heed_ngram_words(c->m.m);
    int n = 1, now = 0;
    heed_ngram_state s;
    size_t before = begin; /* the blank before a word is part of its first piece, or a piece of its own */
    while (before > 0 && is_blank(line[before - 1])) before--;
    c->apart = before > 0;
    if (!follow(c, line, before, &s)) return false;
    const int64_t context = c->ids.count < 8 ? c->ids.count : 8; /* so that pieces are decoded as they stand */
    c->tokens[0].count = 0;
    c->decoded.size = 0;
    for (int64_t i = c->ids.count - context; i < c->ids.count; i++)
        if (!heed_ids_put(c->cx, &c->tokens[0], c->ids.id[i])) return false;
    if (!ngram_decode(&c->m, c->tokens[0].id, context, &c->decoded)) return false;
    const size_t known = c->decoded.size;
    c->beam[0][0] = (struct beginning){s, 1, 0, context};
    for (int step = 0; step < LONGEST_WORD && n > 0; step++, now = !now) {
        int next = 0;
        c->tokens[!now].count = 0;
        memset(c->beam[!now], 0, sizeof c->beam[!now]);
        for (int i = 0; i < n; i++) {
            const struct beginning *b = &c->beam[now][i];
            const double least = c->n == c->top ? c->best[c->n - 1].probability : 1e-12;
            heed_ngram_next(c->m.m, &b->state, c->p);
            for (int32_t w = HEED_NGRAM_END; w < words; w++)
                if (b->probability * c->p[w] > least &&
                    !extend(c, b, now, w, b->probability * c->p[w], line + begin, cursor - begin, known, &next))
                    return false;
        }
        n = next;
    }
    return true;
}

/* Where the word that is being typed begins. */
static size_t word_begin(const struct completing *c, const char *line, size_t cursor) {
    size_t begin = cursor;
    while (begin > 0 && !is_blank(line[begin - 1]) && !(c->m.marks && ispunct((unsigned char)line[begin - 1]))) begin--;
    return begin;
}

static bool find(struct completing *c, const char *line, size_t cursor) {
    const size_t begin = word_begin(c, line, cursor);
    c->n = 0;
    return c->m.pieces ? suggest_pieces(c, line, begin, cursor) : suggest_words(c, line, begin, cursor);
}

/* ---- at a terminal ---- */

static int suggest(void *user, const char *line, size_t cursor, struct line_suggestion *to, int most) {
    struct completing *c = user;
    const size_t begin = word_begin(c, line, cursor);
    if (!find(c, line, cursor)) return 0;
    for (int i = 0; i < c->n && i < most; i++) {
        if (!is_blank(line[cursor]) && !heed_string_put(c->cx, &c->best[i].text, " ", 1)) return 0; /* on to the next */
        to[i] = (struct line_suggestion){c->best[i].text.s, cursor - begin};
    }
    return c->n < most ? c->n : most;
}

static bool ask(struct completing *c) {
    struct line_editor *e = line_editor_new(
        c->cx, &(struct line_editor_opts){.prompt = "> ", .suggest = suggest, .most = c->top, .user = c});
    if (!e) return false;
    if (!option_flag(c->o, "quiet")) fputs("Tab takes a suggestion, Down chooses one, Ctrl-D ends.\n", stderr);
    enum line_result result;
    while ((result = line_editor_read(e)) == LINE_TYPED) continue;
    line_editor_free(e);
    return result != LINE_FAILED;
}

/* ---- on a pipe ---- */

static void print(const struct completing *c, const struct cli_lines *in) {
    if (!option_flag(c->o, "json")) {
        for (int i = 0; i < c->n && !in->bad; i++) {
            if (i) putchar('\t');
            cli_print_text(stdout, c->best[i].text.s);
        }
        puts("");
        return;
    }
    const heed_json at = heed_json_new(c->cx, "suggestions");
    heed_json_put_int(c->cx, at, "line", in->number);
    if (in->bad) heed_json_put_text(c->cx, at, "error", in->complaint);
    const heed_json list = heed_json_put_array(c->cx, at, "suggestions");
    for (int i = 0; i < c->n && !in->bad; i++) {
        const heed_json one = heed_json_put_object(c->cx, list, NULL);
        heed_json_put_text(c->cx, one, "text", c->best[i].text.s);
        heed_json_put_number(c->cx, one, "probability", c->best[i].probability);
    }
    json_answer(c->cx, stdout, at, 0);
    heed_json_free(at);
}

static bool answer_lines(struct completing *c) {
    struct cli_lines in = {0};
    bool ok = cli_lines_open_words(&in, c->cx, c->o, 1);
    in.skip_bad = !option_flag(c->o, "strict");
    while (ok && cli_lines_next(&in)) {
        if (!in.bad) ok = find(c, in.text, in.size) || cli_lines_recover(&in);
        if (ok) print(c, &in);
        if (!cli_lines_ready(&in)) fflush(stdout);
    }
    return cli_lines_close(&in) && ok;
}

static bool complete(struct completing *c) {
    if (!ngram_model_open(c->cx, options_word(c->o, 0), &c->m)) return false;
    c->top = (int)option_int(c->o, "top");
    c->p = heed_mem_new(c->cx, (size_t)heed_ngram_words(c->m.m) * sizeof *c->p);
    if (!c->p) return false;
    const bool typed = options_words(c->o) == 1 && !option_flag(c->o, "json") && raw_terminal_possible();
    return typed ? ask(c) : answer_lines(c);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("complete", options, argc, argv, 1, 1 << 20, "DIR [TEXT...]");
    if (!o) return EXIT_USAGE;
    struct completing *c = NULL;
    heed_ctx *cx = options_open(o);
    int status = EXIT_FAILED;
    if (cx && (c = heed_mem_new(cx, sizeof *c))) {
        *c = (struct completing){.o = o, .cx = cx};
        const bool ok = complete(c);
        ngram_model_close(&c->m);
        heed_mem_free(cx, c->p);
        heed_ids_free(cx, &c->ids);
        for (int i = 0; i < 2; i++) heed_ids_free(cx, &c->tokens[i]);
        heed_string_free(cx, &c->decoded);
        for (int i = 0; i < LINE_SUGGESTIONS; i++) heed_string_free(cx, &c->best[i].text);
        heed_mem_free(cx, c);
        status = ok ? EXIT_DONE : EXIT_FAILED;
    }
    status = options_close(o, cx, status);
    options_free(o);
    return status;
}

const struct command complete_command = {
    .name = "complete",
    .summary = "likely words for a line that is being typed",
    .words = "DIR [TEXT...]",
    .about =
        "Suggests how a line goes on, with an n-gram model: a directory of 'heed train ngram', or an ARPA file. At "
        "a terminal suggestions are shown below the line while one types: Tab takes the first, Down chooses "
        "another, Ctrl-D ends. Otherwise each text after DIR, or each line of standard input, is answered with a "
        "line of suggestions, separated by tabs: words that begin as the last word of the line does, or, behind a "
        "blank, words that may follow. --json gives the probability of each after the words before it.",
    .options = options,
    .examples = "heed train ngram --data corpus.txt --order 4 --out lm\n"
                "heed complete lm\n"
                "echo 'a man in a bl' | heed complete lm --json\n",
    .run = run,
};
