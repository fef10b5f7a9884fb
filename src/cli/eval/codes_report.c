/* heed eval on autoencoders: the codes of pictures as points, coloured by class. */
#include "cli/core/figure_options.h"
#include "cli/eval/eval_report.h"
#include "kernel/principal.h"
#include "task/run.h"
#include <stdio.h>
#include <string.h>

enum { COLORS = 8, PANEL = 420, MOST_CLASSES = 24 };

struct points {
    float *x, *y;
    char label[2][80];
};

/* Numbers a and b of the codes. */
static void take_numbers(const struct evaluated_codes *c, int64_t a, int64_t b, struct points *p) {
    for (int64_t i = 0; i < c->n; i++) {
        p->x[i] = c->code[i * c->latent + a];
        p->y[i] = c->code[i * c->latent + b];
    }
    snprintf(p->label[0], sizeof *p->label, "z%lld", (long long)a + 1);
    snprintf(p->label[1], sizeof *p->label, "z%lld", (long long)b + 1);
}

static bool take_plane(heed_ctx *cx, const struct evaluated_codes *c, struct points *p) {
    double share[2];
    double *const x = heed_mem_new(cx, (size_t)((c->n + 2) * c->latent) * sizeof *x);
    if (!x) return false;
    for (int64_t i = 0; i < c->n * c->latent; i++) x[i] = (double)c->code[i];
    kernel_principal_plane(x, c->n, c->latent, x + c->n * c->latent, p->x, p->y, share);
    for (int i = 0; i < 2; i++)
        snprintf(p->label[i], sizeof *p->label, "%s principal component (%.0f %% of the variance)",
                 i ? "second" : "first", 100 * share[i]);
    heed_mem_free(cx, x);
    return true;
}

/* A layer a class, for the legend. */
static bool scatter(heed_ctx *cx, heed_panel *panel, const struct evaluated_codes *c, const struct points *p,
                    bool legend) {
    const int64_t classes = c->classes < MOST_CLASSES ? c->classes : 1;
    float *const x = heed_mem_new(cx, 2 * (size_t)(c->n + 1) * sizeof *x), *const y = x ? x + c->n : NULL;
    for (int64_t k = 0; x && k < classes; k++) {
        int64_t n = 0;
        char name[64];
        for (int64_t i = 0; i < c->n; i++)
            if (classes == 1 || c->label[i] == k) x[n] = p->x[i], y[n++] = p->y[i];
        snprintf(name, sizeof name, "%lld", (long long)k);
        if (c->names) text_printable(name, sizeof name, c->names[k], strlen(c->names[k]));
        heed_panel_scatter(panel, x, y, n,
                           &(heed_style){.label = classes > 1 && legend ? name : NULL,
                                         .color = (heed_color)(HEED_COLOR_BLUE + k % COLORS),
                                         .marker = k < COLORS ? HEED_MARKER_DISC : HEED_MARKER_TRIANGLE,
                                         .size = 3.4,
                                         .alpha = 0.75});
    }
    heed_mem_free(cx, x);
    return heed_panel_labels(panel, p->label[0], p->label[1]);
}

static heed_figure *draw(heed_ctx *cx, const struct evaluated_codes *c, struct points *p) {
    const int panels = c->latent == 3 ? 3 : 1;
    heed_figure *const f = heed_figure_new(cx, panels == 1 ? 1.35 * PANEL : 2.6 * PANEL, panels == 1 ? 1.1 * PANEL : PANEL);
    heed_figure_grid(f, 1, panels);
    for (int i = 0; i < panels && !heed_failed(cx); i++) {
        if (c->latent == 1)
            take_numbers(c, 0, 0, p);
        else if (c->latent <= 3)
            take_numbers(c, i == 2 ? 1 : 0, i == 0 ? 1 : 2, p);
        else if (!take_plane(cx, c, p))
            break;
        scatter(cx, heed_figure_panel(f, 0, i), c, p, i + 1 == panels);
    }
    heed_figure_title(f, "Codes of the pictures");
    return f;
}

void report_codes(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    const struct evaluated_codes *const c = e->more->codes;
    if (pictures_asked(o)) {
        struct points p = {.x = heed_mem_new(cx, 2 * (size_t)(c->n + 1) * sizeof *p.x)};
        p.y = p.x ? p.x + c->n : NULL;
        heed_figure *const f = p.x ? draw(cx, c, &p) : NULL;
        if (f) pictures_write(o, f, "the codes of the pictures");
        heed_figure_free(f);
        heed_mem_free(cx, p.x);
        if (heed_failed(cx)) return;
    }
    if (!pictures_take_standard(o)) report_score(o, cx, e);
}
