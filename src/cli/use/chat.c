/* Conversations with a model. What was said is rendered anew with every message; the key-value cache of a session holds
 * what is the same as before, so that only new tokens are computed. */
#include "cli/use/chat.h"
#include "base/clock.h"
#include "cli/core/decoding_options.h"
#include "cli/core/input_lines.h"
#include "cli/core/line_editor.h"
#include "cli/core/text_out.h"
#include "heed/chat.h"
#include "model/core/directory.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct chat {
    const struct options *o;
    heed_ctx *cx;
    const heed_generator *g;
    heed_generate_opts opts;
    heed_chat_format format;
    heed_session *session;
    heed_string *said; /* (n) by turns: the user, the assistant, the user, … */
    int64_t n, room;
    heed_chat_text text;
    heed_ids ids;    /* of the whole conversation */
    int64_t answers; /* given so far: each draws its own random numbers */
    bool json;
};

/* ---- what was said ---- */

static bool add(struct chat *c, const char *text, size_t size) {
    if (c->n == c->room) {
        const int64_t room = c->room ? 2 * c->room : 16;
        heed_string *larger = heed_mem_resize(c->cx, c->said, (size_t)room * sizeof *larger);
        if (!larger) return false;
        c->said = larger;
        c->room = room;
    }
    c->said[c->n] = (heed_string){0};
    return heed_string_put(c->cx, &c->said[c->n++], text, size);
}

static void forget(struct chat *c, int64_t from) {
    while (c->n > from) heed_string_free(c->cx, &c->said[--c->n]);
}

/* The tokens of the conversation, up to where the assistant is to go on. */
static bool render(struct chat *c) {
    const char *const system = option_text(c->o, "system");
    const int64_t first = system != NULL;
    heed_chat_message *const m = heed_mem_new(c->cx, (size_t)(c->n + 1) * sizeof *m);
    if (!m) return false;
    if (system) m[0] = (heed_chat_message){HEED_CHAT_SYSTEM, system, strlen(system)};
    for (int64_t i = 0; i < c->n; i++)
        m[first + i] = (heed_chat_message){i % 2 ? HEED_CHAT_ASSISTANT : HEED_CHAT_USER, c->said[i].s, c->said[i].size};
    c->ids.count = 0;
    const bool ok = heed_chat_render(c->cx, &c->format, m, c->n + first, true, &c->text) &&
                    heed_chat_encode(c->cx, c->g->tokens[1], &c->text, &c->ids, NULL);
    heed_mem_free(c->cx, m);
    return ok;
}

static void forget_first(struct chat *c, int64_t n) {
    for (int64_t i = 0; i < n; i++) heed_string_free(c->cx, &c->said[i]);
    memmove(c->said, c->said + n, (size_t)(c->n -= n) * sizeof *c->said);
}

/* A conversation for which the context is too short goes on without its first turns, so that half of the context is
 * free; the system message stays. */
static bool encode(struct chat *c) {
    const int64_t positions = c->g->positions, before = c->n;
    if (!render(c)) return false;
    if (c->opts.context_shift && c->ids.count >= positions)
        while (c->n > 2 && c->ids.count > positions / 2) {
            forget_first(c, 2);
            if (!render(c)) return false;
        }
    if (c->ids.count >= positions)
        return heed_fail(c->cx, HEED_ERR_RANGE, "a conversation of %lld tokens: the model has positions for %lld",
                         (long long)c->ids.count, (long long)positions);
    if (c->n < before && !option_flag(c->o, "quiet"))
        fprintf(stderr,
                "heed: generate: the model's context of %lld tokens is full: the first %lld turns are forgotten\n",
                (long long)positions, (long long)(before - c->n) / 2);
    return true;
}

/* The tokens that the session does not hold yet; one that holds others begins anew. */
static bool new_tokens(struct chat *c, heed_ids *rest) {
    const heed_ids held = c->session ? heed_session_ids(c->session, 0) : (heed_ids){0};
    if (!c->session || held.count >= c->ids.count ||
        (held.count > 0 && memcmp(held.id, c->ids.id, (size_t)held.count * sizeof *held.id) != 0)) {
        heed_session_close(c->cx, c->session);
        c->session = heed_session_open(c->cx, c->g->model, NULL, 1);
        *rest = c->ids;
        return c->session;
    }
    *rest = (heed_ids){.id = c->ids.id + held.count, .count = c->ids.count - held.count};
    return true;
}

/* ---- answers ---- */

static void print_json(struct chat *c, const char *text, const heed_hypothesis *h) {
    const heed_json at = heed_json_new(c->cx, "answer");
    heed_json_put_int(c->cx, at, "turn", c->answers);
    heed_json_put_text(c->cx, at, "text", text);
    heed_json_put_int(c->cx, at, "tokens", h->length);
    heed_json_put_bool(c->cx, at, "ended", h->ended);
    heed_json_put_text(c->cx, at, "finish_reason", heed_finish_name(h->finish));
    json_answer(c->cx, stdout, at, 0);
    heed_json_free(at);
}

/* The session holds the answer, too; its end is rendered with what follows. One that has slid begins anew. */
static bool remember(struct chat *c, const heed_ids *rest, const heed_hypothesis *h) {
    const heed_ids said = {.id = (int32_t *)(uintptr_t)h->ids, .count = h->length};
    if (c->ids.count + h->length > c->g->positions) {
        heed_session_close(c->cx, c->session);
        c->session = NULL;
        return true;
    }
    return heed_session_append(c->cx, c->session, rest) &&
           (h->length == 0 || heed_session_append(c->cx, c->session, &said));
}

/* Answers what the user said last, which stays part of the conversation with the answer, or is forgotten. */
static bool answer(struct chat *c, bool streamed) {
    heed_ids rest;
    struct text_stream t = {.cx = c->cx};
    heed_generated *g = NULL;
    bool ok = encode(c) && new_tokens(c, &rest);
    const double began = clock_seconds();
    c->opts.number = &c->answers;
    c->opts.on_text = streamed ? stream_take : NULL, c->opts.user = &t;
    ok = ok && (g = heed_generate_from(c->cx, c->session, &rest, 1, &c->opts));
    const heed_hypothesis *const h = ok ? &g->best[0] : NULL;
    const double seconds = clock_seconds() - began;
    if (ok && streamed)
        putchar('\n');
    else if (ok)
        ok = heed_generator_decode(c->cx, c->g, &c->ids, h->ids, h->length, &c->opts, &t.text);
    ok = ok && add(c, t.text.s ? t.text.s : "", t.text.size) && remember(c, &rest, h);
    if (ok && !streamed && c->json) print_json(c, t.text.s, h);
    if (ok && !streamed && !c->json) cli_plain_line(t.text.s, t.text.size), puts(t.text.s);
    if (ok && option_flag(c->o, "tokens-per-second") && seconds > 0)
        fprintf(stderr, "%lld tokens in %.2f s, %.1f tokens/s\n", (long long)h->length, seconds,
                (double)h->length / seconds);
    fflush(stdout);
    if (ok) decoding_say_context(c->o, c->g, &c->opts, h->finish == HEED_FINISH_CONTEXT, 1);
    c->answers += ok;
    heed_string_free(c->cx, &t.text);
    heed_mem_free(c->cx, g);
    return ok;
}

/* ---- at a terminal, and on a pipe ---- */

static bool talk(struct chat *c) {
    struct line_editor *const e = line_editor_new(c->cx, &(struct line_editor_opts){.prompt = "> "});
    if (!e) return false;
    if (!option_flag(c->o, "quiet"))
        fprintf(stderr, "%s; /reset begins anew, /quit or Ctrl-D ends, Ctrl-C stops an answer\n",
                heed_chat_format_name(&c->format));
    options_train(c->cx); /* Ctrl-C ends an answer, not the program */
    while (line_editor_read(e) == LINE_TYPED) {
        const char *const line = e->line.s ? e->line.s : "";
        interrupted_forget();
        if (!line[strspn(line, " \t")]) continue;
        if (strcmp(line, "/quit") == 0) break;
        if (strcmp(line, "/reset") == 0) {
            forget(c, 0);
            continue;
        }
        if (add(c, line, strlen(line)) && answer(c, true)) continue;
        if (heed_error(c->cx) != HEED_ERR_RANGE && heed_error(c->cx) != HEED_ERR_FORMAT) break;
        fprintf(stderr, "heed: %s; /reset begins anew\n", heed_message(c->cx));
        heed_clear(c->cx);
        forget(c, c->n - c->n % 2); /* what has no answer */
    }
    line_editor_free(e);
    return !heed_failed(c->cx);
}

static bool answer_lines(struct chat *c) {
    struct cli_lines in;
    bool ok = cli_lines_open(&in, c->cx, "-");
    in.skip_bad = !option_flag(c->o, "strict");
    while (ok && cli_lines_next(&in)) {
        if (!in.bad && strcmp(in.text, "/reset") == 0) {
            forget(c, 0);
            continue;
        }
        if (!in.bad && strcmp(in.text, "/quit") == 0) break;
        if (!in.bad && (!add(c, in.text, in.size) || !answer(c, false))) {
            ok = cli_lines_recover(&in);
            forget(c, c->n - c->n % 2); /* what has no answer */
        }
        if (ok && in.bad) {
            const heed_hypothesis none = {.ended = true};
            c->json ? print_json(c, "", &none) : (void)puts("");
            fflush(stdout);
        }
    }
    return cli_lines_close(&in) && !heed_failed(c->cx);
}

bool chat_run(const struct options *o, heed_ctx *cx, const heed_generator *g, const char *dir,
              const heed_generate_opts *opts) {
    struct chat c = {.o = o, .cx = cx, .g = g, .opts = *opts, .json = option_flag(o, "json")};
    bool ok = false;
    if (g->encodes)
        heed_fail(cx, HEED_ERR_USAGE, "%s: an encoder-decoder holds no conversations", dir);
    else if (heed_chat_find(cx, dir, &c.format))
        ok = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !c.json ? talk(&c) : answer_lines(&c);
    forget(&c, 0);
    heed_mem_free(cx, c.said);
    heed_ids_free(cx, &c.ids);
    heed_chat_text_free(cx, &c.text);
    heed_session_close(cx, c.session);
    return ok;
}
