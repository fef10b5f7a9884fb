/* The context of a command: opened from the common options, closed with the profile and the exit status. */
#include "base/clock.h"
#include "base/ctx.h"
#include "base/dry.h"
#include "base/profile.h"
#include "cli/core/options.h"
#include "task/run.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ctrl-C and SIGTERM ---- */

static volatile sig_atomic_t caught; /* the signal; 0: none */

static void on_signal(int number) {
    if (caught) _Exit(EXIT_SIGNAL + number); /* a second time: at once */
    caught = number;
}

bool interrupted(void) { return caught != 0; }
void interrupted_forget(void) { caught = 0; }

static bool cancel(void *user) {
    (void)user;
    return caught != 0;
}

static void say(void *user, heed_log_level level, const char *sentence) {
    (void)user;
    fprintf(stderr, level == HEED_LOG_WARN ? "heed: %s\n" : "%s\n", sentence);
}

/* ---- opening ---- */

static double opened_at;

static heed_ctx *open_context(const struct options *o, heed_cancel_fn on_cancel, size_t budget) {
    /* without SA_RESTART: a read that waits for a person returns */
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_signal}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
    heed_ctx *cx = heed_open(&(heed_config){.threads = (int)option_int(o, "threads"),
                                            .seed = (uint64_t)option_int(o, "seed"),
                                            .byte_budget = budget,
                                            .log = option_flag(o, "quiet") ? NULL : say,
                                            .cancel = on_cancel});
    if (!heed_failed(cx) && option_flag(o, "profile")) profile_set(cx, true);
    opened_at = clock_seconds();
    if (!heed_failed(cx)) return cx;
    if (heed_error(cx) == HEED_ERR_BUDGET)
        options_over_budget(o, cx->needed, cx->needed_total);
    else
        cli_error(EXIT_FAILED, "%s: %s", options_command(o), heed_message(cx));
    heed_close(cx);
    return NULL;
}

heed_ctx *options_open(const struct options *o) { return open_context(o, cancel, option_bytes(o, "memory")); }

heed_ctx *options_open_roomy(const struct options *o) {
    const size_t budget = option_bytes(o, "memory");
    return open_context(o, cancel, budget > 0 && budget < RUN_RESERVE ? RUN_RESERVE : budget);
}

heed_ctx *cli_peek(void) { return heed_open(&(heed_config){.threads = 1, .byte_budget = options_memory()}); }

/* ---- dry contexts ---- */

static struct dry dry;

heed_ctx *options_open_dry(const struct options *o) {
    return dry_open(&dry, (int)option_int(o, "threads"), option_bytes(o, "memory"));
}

size_t options_dry_needed(void) { return dry.needed; }

/* What takes less memory, of what the command has and was not asked for. */
static const char *remedy_of(const struct options *o) {
    const char *const command = options_command(o);
    const heed_task *const task = strncmp(command, "train ", 6) == 0 ? heed_task_find(command + 6) : NULL;
    if (task && task->whole_data) return "";
    const bool parts = option_known(o, "micro-batch") && !option_given(o, "micro-batch");
    const bool recompute = option_known(o, "recompute") && !option_given(o, "recompute");
    if (parts && recompute) return "; --micro-batch N, --recompute or a smaller --batch takes less";
    if (parts) return "; --micro-batch N or a smaller --batch takes less";
    if (recompute) return "; --recompute or a smaller --micro-batch takes less";
    return option_known(o, "batch") ? "; a smaller --batch takes less" : "";
}

int options_over_budget(const struct options *o, size_t needed, bool total) {
    const char *asked = option_text(o, "memory"), *unit = asked + strspn(asked, "0123456789");
    const char letter = *unit >= 'a' ? (char)(*unit - 'a' + 'A') : *unit;
    const int shift = letter == 'K' ? 10 : letter == 'M' ? 20 : letter == 'G' ? 30 : letter == 'T' ? 40 : 0;
    const size_t least =
        (needed >> shift) + ((needed & (((size_t)1 << shift) - 1)) != 0); /* rounded up: it can be asked for */
    if (shift == 0) unit = " bytes";
    return cli_error(EXIT_FAILED, "%s: needs %s%zu%s of memory, --memory allows %.*s%s%s", options_command(o),
                     total ? "" : "at least ", least, unit, (int)strspn(asked, "0123456789"), asked, unit,
                     remedy_of(o));
}

void options_train(heed_ctx *cx) { cx->config.cancel = NULL; }

/* ---- what is printed ---- */

/* JSON leaves U+007F to U+009F in strings as they are, and some terminals obey them: they are escaped like the control
 * characters below U+0020. */
static void put_json(FILE *to, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if (*s == 0x7F)
            fputs("\\u007f", to);
        else if (s[0] == 0xC2 && s[1] >= 0x80 && s[1] <= 0x9F)
            fprintf(to, "\\u%04x", (unsigned)*++s);
        else
            putc(*s, to);
    putc('\n', to);
}

void json_answer(heed_ctx *cx, FILE *to, heed_json value, int indent) {
    char *text = heed_json_print(cx, value, indent, NULL);
    if (text) put_json(to, text);
    heed_mem_free(cx, text);
}

static int64_t time_of(const struct profile_line *l) { return l->nanoseconds[0] + l->nanoseconds[1]; }

static int by_time(const void *a, const void *b) {
    const int64_t x = time_of(a), y = time_of(b);
    return x < y ? 1 : x > y ? -1 : 0;
}

static void print_profile(heed_ctx *cx) {
    const struct profile_line *lines;
    const int n = profile_lines(cx, &lines);
    struct profile_line *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    if (!sorted) return;
    for (int i = 0; i < n; i++) sorted[i] = lines[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_time);
    const double all = 1e3 * (clock_seconds() - opened_at);
    double ops = 0;
    fprintf(stderr, "%-24s %10s %10s %10s %10s %10s %7s\n", "work", "calls", "ms", "backward", "ms", "total ms",
            "share");
    for (int i = 0; i < n; i++) {
        const struct profile_line *l = &sorted[i];
        const double ms = 1e-6 * (double)time_of(l);
        ops += ms;
        fprintf(stderr, "%-24s %10lld %10.2f ", l->name, (long long)l->count[0], 1e-6 * (double)l->nanoseconds[0]);
        if (l->count[1])
            fprintf(stderr, "%10lld %10.2f", (long long)l->count[1], 1e-6 * (double)l->nanoseconds[1]);
        else
            fprintf(stderr, "%21s", "");
        fprintf(stderr, " %10.2f %6.1f%%\n", ms, 100 * ms / all);
    }
    fprintf(stderr, "%-24s %10s %10s %10s %10s %10.2f %6.1f%%\n", "all else", "", "", "", "", all - ops,
            100 * (all - ops) / all);
    free(sorted);
}

int options_close(const struct options *o, heed_ctx *cx, int status) {
    if (!cx) return status;
    if (caught)
        status = EXIT_SIGNAL + caught;
    else if (heed_error(cx) == HEED_ERR_BUDGET && option_given(o, "memory"))
        status = options_over_budget(o, cx->needed, cx->needed_total);
    else if (heed_failed(cx))
        status = cli_error(EXIT_FAILED, "%s", heed_message(cx));
    if (option_flag(o, "profile")) print_profile(cx);
    heed_close(cx);
    return status;
}
