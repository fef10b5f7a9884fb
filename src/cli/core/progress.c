/* Progress goes to standard error. Control characters only ever go to a terminal. */
#include "cli/core/progress.h"
#include "base/clock.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS   5.0
#define BAR_CELLS      24
#define BAR_LEAST      4
#define LOSS_DECAY     0.98 /* of the moving average: some 50 updates */

void progress_begin(struct progress *p, bool quiet, const char *unit, const heed_metric *metric) {
    *p = (struct progress){.quiet = quiet,
                           .terminal = isatty(STDERR_FILENO) == 1,
                           .unit = unit,
                           .metric = metric,
                           .drawn = clock_seconds()};
}

/* "1:05", "2:03:09" */
static void time_text(char out[24], double seconds) {
    const long s = seconds > 0 && seconds < 1e7 ? (long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(out, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, 24, "%ld:%02ld", s / 60, s % 60);
}

/* Losses of single batches jump; what is shown is their average, bias-corrected as Adam's moments are. */
static void add_loss(struct progress *p, double loss) {
    p->loss = LOSS_DECAY * p->loss + (1 - LOSS_DECAY) * loss;
    p->weight = LOSS_DECAY * p->weight + (1 - LOSS_DECAY);
}

static double smooth_loss(const struct progress *p, const heed_loop_state *s) {
    return p->weight > 0 ? p->loss / p->weight : s->loss;
}

/* " (ce 0.39, bbox 0.17, giou 0.53)" */
static void parts_text(const heed_loop_state *s, char *out, size_t size) {
    size_t used = 0;
    *out = 0;
    for (int i = 0; i < s->parts && used < size; i++)
        if (strncmp(s->part[i].name, "loss_", 5) == 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s %.3g", used > 0 ? ", " : " (", s->part[i].name + 5,
                                     s->part[i].value);
    if (used > 0 && used < size) snprintf(out + used, size - used, ")");
}

static void state_text(const struct progress *p, const heed_loop_state *s, char *out, size_t size) {
    char left[24], valid[64] = "", parts[160];
    const bool many = s->seen_per_second >= 1e4;
    time_text(left, s->seconds_left);
    if (p->metric && p->evaluated)
        snprintf(valid, sizeof valid, fabs(s->valid.metric) < 100 ? "  %s %.4f" : "  %s %.4g", p->metric->label,
                 s->valid.metric);
    parts_text(s, parts, sizeof parts);
    snprintf(out, size, "step %lld/%lld  loss %.4g%s%s  %.0f%s %s/s  %s left", (long long)s->step, (long long)s->steps,
             smooth_loss(p, s), parts, valid, s->seen_per_second / (many ? 1e3 : 1), many ? "k" : "", p->unit, left);
}

/* Never longer than the terminal is wide: a line that wraps could not be drawn again in its place. */
static void draw(struct progress *p, const char *text, double part) {
    struct winsize w;
    const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
    if (p->widest < (int)strlen(text)) p->widest = (int)strlen(text);
    int room = columns - 1, cells = room - p->widest - 2;
    fputc('\r', stderr);
    if (cells > BAR_CELLS) cells = BAR_CELLS;
    if (cells >= BAR_LEAST) {
        for (int i = 0; i < cells; i++) fputs(i < (int)(part * cells + 0.5) ? "━" : "·", stderr);
        fputs("  ", stderr);
        room -= cells + 2;
    }
    fprintf(stderr, "%.*s\x1b[K", room, text);
    fflush(stderr);
}

void progress_show(struct progress *p, const heed_loop_state *s) {
    const double t = clock_seconds();
    p->evaluated |= s->evaluated;
    add_loss(p, s->loss);
    if (p->quiet || t - p->drawn < (p->terminal ? REDRAW_SECONDS : LINE_SECONDS)) return;
    char text[384];
    state_text(p, s, text, sizeof text);
    p->drawn = t;
    if (p->terminal)
        draw(p, text, s->steps > 0 ? (double)s->step / (double)s->steps : 0);
    else
        fprintf(stderr, "%s\n", text);
    p->shown = s->step;
    p->open = p->terminal;
}

void progress_end(struct progress *p, const heed_loop_state *s) {
    if (p->quiet) return;
    char text[384];
    state_text(p, s, text, sizeof text);
    if (p->terminal) draw(p, text, s->steps > 0 ? (double)s->step / (double)s->steps : 0);
    if (p->terminal || p->shown != s->step) fprintf(stderr, p->terminal ? "\n" : "%s\n", text);
    p->open = false;
}
