/* The context: its life, its sticky first error, its callbacks. */
#include "base/ctx.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/thread_pool.h"

#include <stdio.h>
#include <string.h>

#define MAX_THREADS 1024

/* Opens what is not open yet; heed_clear calls it again after trouble, so a cleared context is as new. */
static bool ctx_start(heed_ctx *cx) {
    if (!cx->arena) cx->arena = arena_open(cx);
    if (!cx->pool) {
        const int wanted = cx->config.threads > 0 ? cx->config.threads : heed_threads_available();
        cx->pool = pool_open(cx, wanted < MAX_THREADS ? wanted : MAX_THREADS);
        if (cx->pool) cx->config.threads = pool_threads(cx->pool);
    }
    return !heed_failed(cx);
}

heed_ctx *heed_open(const heed_config *config) {
    heed_ctx start = {.config = config ? *config : (heed_config){0}};
    const size_t budget = start.config.byte_budget;
    start.seed = start.config.seed;
    /* The context itself is outside the budget, for something must be there to say that the budget is too small. */
    start.config.byte_budget = 0;
    heed_ctx *cx = heed_mem_new(&start, sizeof *cx);
    if (!cx) return NULL;
    *cx = start;
    cx->config.byte_budget = budget;
    const int threads = cx->config.threads;
    if (threads < 0 || threads > MAX_THREADS) {
        cx->config.threads = 0;
        heed_fail(cx, HEED_ERR_USAGE, "open: %d threads: must be 0 (as many as there are) to %d", threads, MAX_THREADS);
    } else {
        ctx_start(cx);
    }
    return cx;
}

void heed_close(heed_ctx *cx) {
    if (!cx) return;
    if (cx->capture_close) cx->capture_close(cx);
    if (cx->engine_close) cx->engine_close(cx);
    pool_close(cx, cx->pool);
    arena_close(cx, cx->arena);
    heed_mem_free(cx, cx->profile);
    heed_ctx last = *cx;
    heed_mem_free(&last, cx);
}

void heed_clear(heed_ctx *cx) {
    if (!cx) return;
    if (cx->engine_clear) cx->engine_clear(cx);
    arena_reset(cx);
    cx->status = HEED_OK;
    cx->message[0] = '\0';
    cx->cleared++;
    ctx_start(cx);
}

bool heed_failed(const heed_ctx *cx) { return !cx || cx->status != HEED_OK; }
heed_status heed_error(const heed_ctx *cx) { return cx ? cx->status : HEED_ERR_USAGE; }
const char *heed_message(const heed_ctx *cx) { return cx ? cx->message : "there is no context"; }

/* Writes a sentence as one printable line, whatever text of files it quotes; one too long ends in "...". */
static void write_sentence(char *out, size_t size, const char *format, va_list args) {
    char raw[4096];
    const int length = format ? text_formatv(raw, sizeof raw, format, args) : -1;
    if (length < 0)
        snprintf(out, size, "an error without a sentence");
    else
        text_printable(out, size, raw, (size_t)length < sizeof raw ? (size_t)length : sizeof raw - 1);
}

bool heed_failv(heed_ctx *cx, heed_status status, const char *format, va_list args) {
    if (heed_failed(cx)) return false;
    cx->status = status == HEED_OK ? HEED_ERR_USAGE : status;
    write_sentence(cx->message, sizeof cx->message, format, args);
    return false;
}

bool heed_fail(heed_ctx *cx, heed_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    heed_failv(cx, status, format, args);
    va_end(args);
    return false;
}

static void write_words(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_sentence(out, size, format, args);
    va_end(args);
}

bool heed_fail_in(heed_ctx *cx, const char *format, ...) {
    if (!cx || cx->status == HEED_OK || cx->status == HEED_ERR_MEMORY || cx->status == HEED_ERR_BUDGET ||
        cx->status == HEED_ERR_CANCELLED)
        return false;
    char place[sizeof cx->message], what[sizeof cx->message];
    va_list args;
    va_start(args, format);
    write_sentence(place, sizeof place, format, args);
    va_end(args);
    memcpy(what, cx->message, sizeof what);
    write_words(cx->message, sizeof cx->message, "%s: %s", place, what);
    return false;
}

void heed_note(heed_ctx *cx, heed_log_level level, const char *format, ...) {
    if (!cx || !cx->config.log) return;
    char sentence[sizeof cx->message];
    va_list args;
    va_start(args, format);
    write_sentence(sentence, sizeof sentence, format, args);
    va_end(args);
    cx->config.log(cx->config.user, level, sentence);
}

void heed_progress(heed_ctx *cx, const char *what, int64_t done, int64_t total) {
    if (heed_failed(cx) || !cx->config.progress) return;
    cx->config.progress(cx->config.user, what ? what : "", done, total);
}

bool heed_cancelled(heed_ctx *cx) {
    if (heed_failed(cx)) return true;
    if (!cx->config.cancel || !cx->config.cancel(cx->config.user)) return false;
    heed_fail(cx, HEED_ERR_CANCELLED, "cancelled");
    return true;
}

uint64_t heed_seed(const heed_ctx *cx) { return cx ? cx->seed : 0; }
void heed_set_seed(heed_ctx *cx, uint64_t seed) {
    if (cx) cx->seed = seed;
}

#define TEXT(x)         #x
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)
const char *heed_version(void) { return DOTTED(HEED_VERSION_MAJOR, HEED_VERSION_MINOR, HEED_VERSION_PATCH); }
