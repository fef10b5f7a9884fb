/* The picture of heed compare-attention: logarithmic axes, a colour for each kind, and its name beside the end of its
 * curve. */
#include "cli/inspect/compare_attention.h"
#include <math.h>
#include <stdio.h>

#define ROOM_FOR_NAMES 0.36  /* behind the longest length, as a share of the axis before it */
#define LINE_HEIGHT    0.045 /* of a name, as a share of the panel */

/* "256", "1K", "64K" */
static void name_length(int64_t n, char out[24]) {
    if (n >= 1024 && n % 1024 == 0)
        snprintf(out, 24, "%lldK", (long long)(n / 1024));
    else
        snprintf(out, 24, "%lld", (long long)n);
}

struct range {
    double low, high;
};

static struct range range_of(const struct comparison *c, int cost, double unit) {
    struct range r = {(double)INFINITY, 0};
    for (int k = 0; k < c->kinds; k++)
        for (int pass = 0; pass < PASSES; pass++)
            for (int i = 0; i < c->lengths; i++) {
                const double y = c->cost[k][pass][cost][i] * unit;
                if (!isfinite(y)) continue;
                r.low = fmin(r.low, y);
                r.high = fmax(r.high, y);
            }
    return r.high > 0 ? (struct range){r.low / 1.5, r.high * 1.6} : (struct range){0.1, 1};
}

struct label {
    int kind;
    double y; /* where its curve ends, in logarithms, as a share of the axis */
};

/* Names in a column behind the longest length, level with the ends of their curves, or pushed apart where these are
 * close together; from below. */
static int place_labels(const struct comparison *c, int pass, int cost, double unit, const struct range *r,
                        struct label *label) {
    int n = 0;
    for (int k = 0; k < c->kinds; k++)
        for (int i = c->lengths - 1; i >= 0; i--) {
            const double y = c->cost[k][pass][cost][i] * unit;
            if (!isfinite(y)) continue;
            struct label new = {k, log(y / r->low) / log(r->high / r->low)};
            int at = n++;
            for (; at > 0 && label[at - 1].y > new.y; at--) label[at] = label[at - 1];
            label[at] = new;
            break;
        }
    for (int pass_over = 0; pass_over < 50; pass_over++)
        for (int i = 1; i < n; i++) {
            const double lack = LINE_HEIGHT - (label[i].y - label[i - 1].y);
            if (lack <= 0) continue;
            label[i - 1].y -= lack / 2;
            label[i].y += lack / 2;
        }
    for (int i = n - 1; i >= 0; i--) /* none above the axis */
        label[i].y = fmin(label[i].y, i + 1 < n ? label[i + 1].y - LINE_HEIGHT : 1 - LINE_HEIGHT);
    return n;
}

static void draw_panel(heed_panel *p, const struct comparison *c, int pass, int cost) {
    const double unit = cost == TIME ? 1e3 : 1e-6;
    const struct range r = range_of(c, cost, unit);
    float x[MAX_LENGTHS], y[MAX_LENGTHS];
    char names[MAX_LENGTHS][24];
    const char *shown[MAX_LENGTHS];
    struct label label[MAX_KINDS];
    for (int i = 0; i < c->lengths; i++) {
        x[i] = (float)c->length[i];
        name_length(c->length[i], names[i]);
        shown[i] = names[i];
    }
    heed_panel_log(p, true, true);
    heed_panel_labels(p, pass == STEP ? "length, tokens" : NULL, cost == TIME ? "milliseconds" : "megabytes");
    heed_panel_title(p, pass == STEP ? (cost == TIME ? "Training step: time" : "Training step: memory")
                                     : (cost == TIME ? "Forward: time" : "Forward: memory"));
    const double first = (double)c->length[0], last = (double)c->length[c->lengths - 1];
    heed_panel_limits_x(p, first / 1.2, last * fmax(pow(last / first, ROOM_FOR_NAMES), 1.5));
    heed_panel_limits_y(p, r.low, r.high);
    heed_panel_ticks_x(p, x, shown, c->lengths);
    for (int k = c->kinds - 1; k >= 0; k--) { /* the exact one on top */
        for (int i = 0; i < c->lengths; i++) y[i] = (float)(c->cost[k][pass][cost][i] * unit);
        heed_panel_curve(p, x, y, c->lengths,
                         &(heed_style){.color = c->kind[k]->color,
                                       .dash = c->kind[k]->dash,
                                       .width = c->kind[k]->color == HEED_COLOR_INK ? 2.4 : 1.6,
                                       .marker = HEED_MARKER_DISC,
                                       .size = 3.5});
    }
    const int n = place_labels(c, pass, cost, unit, &r, label);
    for (int i = 0; i < n; i++) {
        const double exponent = compare_exponent(c, label[i].kind, pass, cost);
        char text[64];
        const int end = snprintf(text, sizeof text, "%s", c->kind[label[i].kind]->name);
        if (isfinite(exponent) && end > 0 && end < (int)sizeof text)
            snprintf(text + end, sizeof text - (size_t)end, "  N^%.2f", exponent);
        /* words stand above their point: half a line down, they are level with the curve's end */
        heed_panel_text(p, last * 1.08, r.low * pow(r.high / r.low, label[i].y - 0.6 * LINE_HEIGHT), text,
                        &(heed_style){.color = c->kind[label[i].kind]->color, .size = 8});
    }
}

heed_figure *compare_draw(heed_ctx *cx, const struct comparison *c, const char *title) {
    heed_figure *const f = heed_figure_new(cx, 980, 700);
    heed_figure_grid(f, PASSES, COSTS);
    heed_figure_title(f, title);
    for (int pass = 0; pass < PASSES; pass++)
        for (int cost = 0; cost < COSTS; cost++) draw_panel(heed_figure_panel(f, pass, cost), c, pass, cost);
    return f;
}
