/* Object queries (Carion et al. 2020; Meng et al. 2021): what each looks at as training goes on, and where its boxes
 * fall. */
#include "lessons/detector.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 720, EXAMPLES = 6000, TESTS = 200, MOMENTS = 4, SIDE = SCENE_SIDE, QUERIES = DETECTOR_QUERIES };

/* ---- measures ---- */

struct edges {
    double left, top, right, bottom;
};
static struct edges edges_of(const float box[4]) {
    const double x = (double)box[0], y = (double)box[1], w = (double)box[2], h = (double)box[3];
    return (struct edges){x - w / 2, y - h / 2, x + w / 2, y + h / 2};
}

/* Intersection over union. */
static double overlap(const float a[4], const float b[4]) {
    const struct edges p = edges_of(a), q = edges_of(b);
    const double w = fmin(p.right, q.right) - fmax(p.left, q.left), h = fmin(p.bottom, q.bottom) - fmax(p.top, q.top);
    const double both = w > 0 && h > 0 ? w * h : 0;
    return both / ((double)a[2] * (double)a[3] + (double)b[2] * (double)b[3] - both + 1e-12);
}

/* The query that stands for an object: of best overlap, weighed by what it says of the class. */
static int query_of(const struct seen *s, const float box[4], int32_t label) {
    int best = 0;
    double most = -1;
    for (int q = 0; q < QUERIES; q++) {
        const double value = (0.1 + (double)s->p[q][label]) * (0.05 + overlap(s->box[q], box));
        if (value > most) most = value, best = q;
    }
    return best;
}

/* The share of a query's attention on the cells whose middle lies in the box. */
static double on_box(const struct seen *s, int q, const float box[4], double *area) {
    const struct edges e = edges_of(box);
    double sum = 0, all = 0;
    *area = 0;
    for (int k = 0; k < DETECTOR_CELLS; k++) {
        const double x = (k % DETECTOR_GRID + 0.5) / DETECTOR_GRID,
                     y = ((k - k % DETECTOR_GRID) / DETECTOR_GRID + 0.5) / DETECTOR_GRID;
        const bool in = x > e.left && x < e.right && y > e.top && y < e.bottom;
        all += (double)s->look[q][k];
        if (in) sum += (double)s->look[q][k], *area += 1.0 / DETECTOR_CELLS;
    }
    return all > 0 ? sum / all : 0;
}

struct moment {
    int64_t step;
    double loss, found, overlap, attention, area;
    struct seen *seen; /* (TESTS) */
};

static void measure(const struct scenes *s, struct moment *m) {
    double objects = 0;
    for (int64_t i = 0; i < TESTS; i++)
        for (int64_t k = 0; k < s->objects[i]; k++) {
            const float *const box = s->box[i][k];
            const int q = query_of(&m->seen[i], box, s->label[i][k]);
            const double o = overlap(m->seen[i].box[q], box);
            double area;
            m->attention += on_box(&m->seen[i], q, box, &area);
            m->area += area;
            m->overlap += o;
            m->found += o >= 0.5 && lesson_winner(m->seen[i].p[q], SCENE_CLASSES) == s->label[i][k];
            objects++;
        }
    m->attention /= objects, m->area /= objects, m->overlap /= objects, m->found /= objects;
}

/* ---- what a few queries look at ---- */

struct chosen {
    int64_t picture;
    int query[MAX_SHAPES + 1]; /* of its objects, and one that found nothing */
};

static float surest(const struct seen *s, int q) { return s->p[q][lesson_winner(s->p[q], SCENE_CLASSES)]; }

/* The first picture whose two objects are of two classes and were both found best, by two queries. */
static struct chosen choose(const struct scenes *s, const struct seen *seen) {
    struct chosen best = {.picture = 0};
    double most = -1;
    for (int64_t i = 0; i < TESTS; i++) {
        int q[MAX_SHAPES + 1] = {0};
        double least = 1;
        if (s->objects[i] < MAX_SHAPES || s->label[i][0] == s->label[i][1]) continue;
        for (int k = 0; k < MAX_SHAPES; k++) {
            q[k] = query_of(&seen[i], s->box[i][k], s->label[i][k]);
            least = fmin(least, overlap(seen[i].box[q[k]], s->box[i][k]));
        }
        if (q[0] == q[1] || least <= most) continue;
        for (int k = 0; k < QUERIES; k++)
            if (k != q[0] && k != q[1] &&
                (q[2] == q[0] || q[2] == q[1] || surest(&seen[i], k) < surest(&seen[i], q[2])))
                q[2] = k;
        most = least;
        best.picture = i;
        memcpy(best.query, q, sizeof q);
    }
    return best;
}

/* In units of cells, the middle of the first being 0. */
static void draw_box(heed_panel *p, const float box[4], const heed_style *style) {
    const struct edges e = edges_of(box);
    const double x[] = {e.left, e.right, e.right, e.left, e.left}, y[] = {e.top, e.top, e.bottom, e.bottom, e.top};
    float across[5], down[5];
    for (int k = 0; k < 5; k++) {
        across[k] = (float)(fmin(1, fmax(0, x[k])) * DETECTOR_GRID - 0.5);
        down[k] = (float)(fmin(1, fmax(0, y[k])) * DETECTOR_GRID - 0.5);
    }
    heed_panel_curve(p, across, down, 5, style);
}

static void draw_look(heed_panel *p, const struct scenes *s, const struct seen *seen, int64_t picture, int q) {
    const heed_image image = {SIDE, SIDE, 3, pictures_at(&s->p, picture)};
    const int64_t kind = lesson_winner(seen->p[q], SCENE_CLASSES);
    const bool sure = seen->p[q][kind] >= 0.5F;
    char text[48];
    heed_panel_heatmap(p, seen->look[q], DETECTOR_GRID, DETECTOR_GRID,
                       &(heed_heatmap){.under = &image, .no_bar = true, .smooth = true});
    draw_box(p, seen->box[q],
             &(heed_style){.color = sure ? HEED_COLOR_ORANGE : HEED_COLOR_SKY,
                           .dash = sure ? HEED_DASH_NONE : HEED_DASH_LONG,
                           .width = sure ? 2 : 1.2});
    snprintf(text, sizeof text, "%s %.0f %%", scene_names[kind], 100 * (double)seen->p[q][kind]);
    heed_panel_labels(p, text, NULL);
}

static void draw_looks(struct lesson_run *r, const struct scenes *s, const struct moment *m, const struct chosen *c) {
    heed_figure *const f = lesson_figure(r, 860, 720);
    heed_figure_grid(f, MAX_SHAPES + 1, MOMENTS);
    heed_figure_title(f, "What three queries look at, and the boxes that they say");
    for (int k = 0; k <= MAX_SHAPES; k++)
        for (int i = 0; i < MOMENTS; i++) {
            heed_panel *const p = heed_figure_panel(f, k, i);
            char title[64];
            snprintf(title, sizeof title, "Query %d, step %lld", c->query[k] + 1, (long long)m[i].step);
            heed_panel_title(p, title);
            draw_look(p, s, &m[i].seen[c->picture], c->picture, c->query[k]);
        }
    lesson_picture(r, f, "object-queries");
}

static void show_looks(struct lesson_run *r, const struct moment *m, const struct chosen *c) {
    float few[2 * MOMENTS * DETECTOR_CELLS];
    char titles[2 * MOMENTS][24];
    const char *names[2 * MOMENTS];
    for (int k = 0; k < 2 * MOMENTS; k++) {
        const int q = c->query[k / MOMENTS];
        memcpy(few + k * DETECTOR_CELLS, m[k % MOMENTS].seen[c->picture].look[q], DETECTOR_CELLS * sizeof *few);
        snprintf(titles[k], sizeof titles[k], "%d, step %lld", q + 1, (long long)m[k % MOMENTS].step);
        names[k] = titles[k];
    }
    lesson_show(r, heed_terminal_images(r->cx, few, 2 * MOMENTS, DETECTOR_GRID, DETECTOR_GRID,
                                        &(heed_images){.columns = MOMENTS, .own_scales = true, .titles = names},
                                        &r->terminal));
}

/* ---- where the boxes of each query fall ---- */

struct places {
    int64_t n;
    float x[TESTS], y[TESTS]; /* centres, y upwards */
};

/* Of query q over the tests, the boxes that it is sure of; `all`: every one. */
static void find_places(const struct seen *seen, int q, bool all, struct places *p) {
    p->n = 0;
    for (int64_t i = 0; i < TESTS; i++) {
        if (!all && surest(&seen[i], q) < 0.5F) continue;
        p->x[p->n] = seen[i].box[q][0];
        p->y[p->n++] = 1 - seen[i].box[q][1];
    }
}

static double spread(const struct places *p, double mean[2]) {
    double sum = 0;
    mean[0] = mean[1] = 0;
    for (int64_t i = 0; i < p->n; i++)
        mean[0] += (double)p->x[i] / (double)p->n, mean[1] += (double)p->y[i] / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) sum += pow((double)p->x[i] - mean[0], 2) + pow((double)p->y[i] - mean[1], 2);
    return p->n > 0 ? sqrt(sum / (double)p->n) : (double)NAN;
}

/* A name in the middle of each query's boxes. */
static void name_places(heed_panel *panel, const struct seen *seen, bool all) {
    struct places p;
    float x[QUERIES], y[QUERIES];
    char names[QUERIES][24];
    const char *shown[QUERIES];
    int n = 0;
    for (int q = 0; q < QUERIES; q++) {
        double mean[2];
        find_places(seen, q, all, &p);
        spread(&p, mean);
        if (p.n == 0) continue;
        snprintf(names[n], sizeof names[n], "query %d", q + 1);
        shown[n] = names[n];
        x[n] = (float)mean[0];
        y[n++] = (float)mean[1];
    }
    if (n > 0) heed_panel_names(panel, x, y, shown, NULL, n, &(heed_style){.color = HEED_COLOR_INK, .size = 9});
}

static void draw_places(struct lesson_run *r, const struct moment *before, const struct moment *after) {
    heed_figure *const f = lesson_figure(r, 760, 400);
    struct places p;
    heed_figure_grid(f, 1, 2);
    for (int k = 0; k < 2; k++) {
        heed_panel *const panel = heed_figure_panel(f, 0, k);
        for (int q = 0; q < QUERIES; q++) {
            find_places(k ? after->seen : before->seen, q, k == 0, &p);
            heed_panel_scatter(
                panel, p.x, p.y, p.n,
                &(heed_style){.color = (heed_color)(HEED_COLOR_BLUE + q), .size = 4, .alpha = k ? 0.6 : 1});
        }
        name_places(panel, k ? after->seen : before->seen, k == 0);
        heed_panel_limits_x(panel, 0, 1);
        heed_panel_limits_y(panel, 0, 1);
        heed_panel_labels(panel, "from left to right", k ? NULL : "from the bottom to the top");
        heed_panel_title(panel,
                         k ? "Where each finds objects after training" : "Where their boxes are before training");
    }
    lesson_picture(r, f, "object-queries-boxes");
}

static void print_place(struct lesson_run *r, const char *name, double n, double apart, const double mean[2]) {
    if (n > 0)
        lesson_line(r, "%8s %14.1f %12.2f %12.2f %12.2f", name, 100 * n / TESTS, mean[0], 1 - mean[1], apart);
    else
        lesson_line(r, "%8s %14.1f %12s %12s %12s", name, 0.0, "-", "-", "-");
}

/* Of each query and of all; the spread of one, as a share of theirs together, is what is returned. */
static double print_places(struct lesson_run *r, const struct moment *after) {
    struct places p;
    double mean[2], all[2] = {0}, squares = 0, within = 0, boxes = 0;
    lesson_line(r, "%8s %14s %12s %12s %12s", "query", "boxes in 100", "mean x", "mean y", "spread");
    for (int q = 0; q < QUERIES; q++) {
        char name[24];
        find_places(after->seen, q, false, &p);
        const double apart = spread(&p, mean), n = (double)p.n;
        snprintf(name, sizeof name, "%d", q + 1);
        print_place(r, name, n, apart, mean);
        if (p.n == 0) continue;
        boxes += n;
        within += n * apart * apart;
        squares += n * (apart * apart + mean[0] * mean[0] + mean[1] * mean[1]);
        for (int k = 0; k < 2; k++) all[k] += n * mean[k];
    }
    for (int k = 0; k < 2 && boxes > 0; k++) all[k] /= boxes;
    const double apart = boxes > 0 ? sqrt(squares / boxes - all[0] * all[0] - all[1] * all[1]) : 0;
    print_place(r, "all", boxes, apart, all);
    lesson_line(r, "%s", "");
    lesson_result(r, "boxes", boxes / TESTS);
    lesson_result(r, "spread_all", apart);
    lesson_result(r, "spread_one", boxes > 0 ? sqrt(within / boxes) : 0);
    return apart > 0 ? sqrt(within / boxes) / apart : 1;
}

/* ---- tables ---- */

static void print_moments(struct lesson_run *r, const struct moment *m) {
    lesson_line(r, "%8s %10s %10s %12s %24s", "step", "loss", "found", "overlap", "attention on the object");
    for (int i = 0; i < MOMENTS; i++)
        lesson_line(r, "%8lld %10.2f %8.1f %% %12.2f %22.0f %%", (long long)m[i].step, m[i].loss, 100 * m[i].found,
                    m[i].overlap, 100 * m[i].attention);
    lesson_line(r, "%s", "");
    lesson_result(r, "found", m[MOMENTS - 1].found);
    lesson_result(r, "overlap", m[MOMENTS - 1].overlap);
    lesson_result(r, "attention", m[MOMENTS - 1].attention);
    lesson_result(r, "attention_before", m[0].attention);
    lesson_result(r, "area", m[0].area);
}

static void write_tables(struct lesson_run *r, const struct moment *m) {
    enum { COLUMNS = 8, ROWS = 2 * TESTS * QUERIES };
    static const char *const names[COLUMNS] = {"step", "picture", "query", "x", "y", "width", "height", "p"};
    double column[5][MOMENTS];
    float *const numbers = lesson_room(r, COLUMNS * ROWS, sizeof *numbers);
    heed_table_column named[COLUMNS];
    if (!numbers) return;
    for (int i = 0; i < MOMENTS; i++) {
        const double values[] = {(double)m[i].step, m[i].loss, m[i].found, m[i].overlap, m[i].attention};
        for (int k = 0; k < 5; k++) column[k][i] = values[k];
    }
    lesson_table(r, "object-queries",
                 (heed_table_column[]){{.name = "step", .f64 = column[0]},
                                       {.name = "loss", .f64 = column[1]},
                                       {.name = "found", .f64 = column[2]},
                                       {.name = "overlap", .f64 = column[3]},
                                       {.name = "attention", .f64 = column[4]}},
                 5, MOMENTS);
    for (int i = 0; i < ROWS; i++) {
        const struct moment *const at = &m[i < ROWS / 2 ? 0 : MOMENTS - 1];
        const int picture = i % (ROWS / 2) / QUERIES, q = i % QUERIES;
        const struct seen *const s = &at->seen[picture];
        const float row[COLUMNS] = {(float)at->step, (float)picture, (float)(q + 1), s->box[q][0],
                                    s->box[q][1],    s->box[q][2],   s->box[q][3],   surest(s, q)};
        for (int k = 0; k < COLUMNS; k++) numbers[k * ROWS + i] = row[k];
    }
    for (int k = 0; k < COLUMNS; k++) named[k] = (heed_table_column){.name = names[k], .f32 = numbers + k * ROWS};
    lesson_table(r, "object-queries-boxes", named, COLUMNS, ROWS);
}

/* ---- the lesson ---- */

static bool learn(struct lesson_run *r, struct detector *d, const struct scenes *train, const struct scenes *tests,
                  struct moment *m) {
    const int64_t at[MOMENTS] = {0, r->steps / 9, r->steps / 3, r->steps};
    for (int i = 0; i < MOMENTS; i++) {
        m[i] = (struct moment){.step = at[i], .seen = lesson_room(r, TESTS, sizeof *m[i].seen)};
        if (!m[i].seen || !detector_learn(r, d, train, at[i] - d->step) ||
            !detector_look(r, d, tests, 0, TESTS, m[i].seen))
            return false;
        m[i].loss = d->loss;
        measure(tests, &m[i]);
    }
    m[0].loss = d->first;
    lesson_progress(r, "", 1, 1);
    return true;
}

static void study(struct lesson_run *r, const struct scenes *tests, const struct moment *m) {
    const struct moment *const last = &m[MOMENTS - 1];
    const struct chosen c = choose(tests, last->seen);
    lesson_say(r,
               "For each object of %d other pictures, the query that stands for it: how often its class is right and "
               "its box overlaps the object's by at least a half (found), by how much on average, and how much of its "
               "attention is on the object, which covers %.0f %% of the picture:",
               TESTS, 100 * m[0].area);
    print_moments(r, m);
    lesson_say(r, "Two queries on one picture, and where they look:");
    show_looks(r, m, &c);
    draw_looks(r, tests, m, &c);
    lesson_say(r,
               "Which query takes an object is decided by the matching, which is cheapest where a box is near "
               "already. Where the boxes fall that a query is sure of, by x and y from the upper left corner, from 0 "
               "to 1:");
    if (print_places(r, last) < 0.7)
        lesson_say(r, "So each has come to watch a part of the picture of its own, whatever stands there.");
    draw_places(r, &m[0], last);
    write_tables(r, m);
    lesson_say(r,
               "Where nothing is to be found, a query says a small probability for every class. That is all that keeps "
               "two queries from reporting one object: no list is cleaned up afterwards.");
}

static void run(struct lesson_run *r) {
    struct scenes train, tests;
    struct detector d = {.model = NULL};
    struct moment moments[MOMENTS];
    lesson_say(r,
               "A detector of DETR's kind (Carion et al. 2020) has a fixed number of object queries. Each looks at the "
               "picture by cross-attention and says a class and a box; training matches queries with objects and pulls "
               "each pair together. Here %d queries of a small Conditional DETR (Meng et al. 2021), 64 wide, learn to "
               "find one or two shapes in pictures of %d x %d pixels, %d cells for attention, in %lld steps of 16.",
               QUERIES, SIDE, SIDE, DETECTOR_CELLS, (long long)r->steps);
    if (scenes_draw(r, r->seed, EXAMPLES, &train) && scenes_draw(r, r->seed + 1000003, TESTS, &tests) &&
        detector_open(r, &d) && learn(r, &d, &train, &tests, moments))
        study(r, &tests, moments);
    detector_close(r, &d);
}

const struct lesson queries_lesson = {
    .name = "object-queries",
    .summary = "what each query of a detector looks at as training goes on, and where its boxes fall",
    .steps = STEPS,
    .run = run,
};
