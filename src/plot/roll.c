/* Piano rolls: notes as bars over time, by pitch. */
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>

#define HALF 0.42f /* of a note's height, in semitones */

enum { VOICES_MAX = 8 };

static bool check(heed_ctx *cx, const heed_roll_note *notes, int64_t n, int voices) {
    if (n < 0 || (n > 0 && !notes) || voices < 1 || voices > VOICES_MAX)
        return heed_fail(cx, HEED_ERR_USAGE, "roll: notes of 1 to %d voices are needed", VOICES_MAX);
    for (int64_t i = 0; i < n; i++)
        if (notes[i].voice < 0 || notes[i].voice >= voices || !isfinite(notes[i].start) || !isfinite(notes[i].end) ||
            notes[i].pitch < 0 || notes[i].pitch > 127)
            return heed_fail(cx, HEED_ERR_RANGE, "roll: note %lld makes no sense", (long long)i);
    return true;
}

/* Three points for each note: its beginning, its end, and a gap. */
static bool draw_voice(heed_panel *p, const heed_roll_note *notes, int64_t n, int voice, const char *name,
                       double space) {
    heed_ctx *cx = p->figure->cx;
    float *x = heed_mem_new(cx, (size_t)(9 * n + 1) * sizeof *x), *low = x + 3 * n, *high = low + 3 * n;
    int64_t k = 0;
    for (int64_t i = 0; x && i < n; i++) {
        if (notes[i].voice != voice) continue;
        const double length = notes[i].end - notes[i].start, end = notes[i].end - fmin(space, length / 4);
        for (int j = 0; j < 3; j++, k++) {
            x[k] = j == 2 ? NAN : (float)(j ? end : notes[i].start);
            low[k] = j == 2 ? NAN : (float)notes[i].pitch - HALF;
            high[k] = j == 2 ? NAN : (float)notes[i].pitch + HALF;
        }
    }
    const heed_style style = {.label = name, .color = (heed_color)(HEED_COLOR_BLUE + voice), .alpha = 0.9};
    const bool ok = x && (k == 0 || heed_panel_band(p, x, low, high, k, &style));
    heed_mem_free(cx, x);
    return ok;
}

bool heed_plot_roll(heed_panel *p, const heed_roll_note *notes, int64_t n, const char *const *names, int voices,
                    double bar) {
    static const heed_style thin = {.color = HEED_COLOR_GREY, .width = 0.5, .alpha = 0.45},
                            words = {.color = HEED_COLOR_GREY, .alpha = 0.9, .size = 6.5};
    if (!panel_ready(p) || !check(p->figure->cx, notes, n, voices)) return false;
    double end = 1;
    int low = 127, high = 0;
    for (int64_t i = 0; i < n; i++) {
        end = fmax(end, notes[i].end);
        low = notes[i].pitch < low ? notes[i].pitch : low;
        high = notes[i].pitch > high ? notes[i].pitch : high;
    }
    if (n == 0) low = 60, high = 72;
    p->open_bands = true;
    bool ok = heed_panel_limits_x(p, 0, end) && heed_panel_limits_y(p, low - 1.5, high + 1.5);
    for (double x = bar; ok && bar > 0 && x < end; x += bar) ok = heed_panel_vline(p, x, &thin);
    for (int c = 12; ok && c <= high; c += 12) {
        char name[16];
        snprintf(name, sizeof name, " C%d", c / 12 - 1);
        if (c >= low - 1) ok = heed_panel_hline(p, c, &thin) && heed_panel_text(p, 0, c - 0.7, name, &words);
    }
    for (int v = 0; ok && v < voices; v++) ok = draw_voice(p, notes, n, v, names ? names[v] : NULL, end / 900);
    return ok && heed_panel_labels(p, "quarter notes", "pitch (MIDI number)");
}
