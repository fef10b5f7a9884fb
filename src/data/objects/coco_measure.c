/* COCO's twelve figures of detections: the numbers of pycocotools, to the last bit. coco_match.c matches; here the
 * matches of all pictures become precision at 101 recalls, class by class. */
#include "data/data.h"
#include "data/objects/coco_match.h"
#include "data/objects/object_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *heed_coco_name(int figure) {
    static const char *const names[HEED_COCO_FIGURES] = {"AP",  "AP50", "AP75",  "APs", "APm", "APl",
                                                         "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};
    return figure >= 0 && figure < HEED_COCO_FIGURES ? names[figure] : NULL;
}

void heed_coco_score_free(heed_ctx *cx, heed_coco_score *score) {
    if (!score) return;
    heed_mem_free(cx, score->ap);
    *score = (heed_coco_score){0};
}

/* A truth or a detection. */
struct item {
    int32_t label;
    int64_t picture, place; /* in its list */
    double score;
    const void *of;
};
/* By class, picture, falling score and place. */
struct items {
    struct item *list;
    const void **of; /* each one's own, so that those of a class and picture are a list */
    int64_t n;
};

/* Which detections a figure counts: all areas with at most 1, 10 and 100 of a picture, then each area with 100. The
 * recalls of these are figures 6 to 11. */
enum { COUNTS = 6, FULL = 2 };
static const struct count {
    int area;
    int64_t most;
} counts[COUNTS] = {{0, 1}, {0, 10}, {0, 100}, {1, 100}, {2, 100}, {3, 100}};

struct measure {
    heed_ctx *cx;
    const heed_object_set *set;
    int64_t *rows, n_rows; /* sorted, each once */
    heed_object *drawn;    /* the truths of pictures that are drawn */
    struct items truths, found;
    struct coco_room room;
    struct coco_mark *marks; /* of one class */
    double *curve, *recalls; /* of one class: precision and recall at each detection */
    int64_t classes;         /* with truths */
    double *precision;       /* (areas, overlaps, recalls, classes); -1: no truths */
    double *recall;          /* (counts, overlaps, classes) */
    double *some;            /* (overlaps, recalls, classes) those that a mean is of */
};

/* ---- what is measured ---- */

static int by_number(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static int by_class(const void *x, const void *y) {
    const struct item *a = x, *b = y;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    if (a->picture != b->picture) return a->picture < b->picture ? -1 : 1;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int by_score(const void *x, const void *y) {
    const struct coco_mark *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    if (a->picture != b->picture) return a->picture < b->picture ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static bool take_rows(struct measure *m, const int64_t *rows, int64_t n) {
    const int64_t all = m->set->n;
    if (!rows) n = all;
    m->rows = data_room(m->cx, n, 1, sizeof *m->rows);
    if (!m->rows) return false;
    for (int64_t i = 0; i < n; i++) {
        m->rows[i] = rows ? rows[i] : i;
        if (m->rows[i] < 0 || (m->rows[i] >= all && !m->set->drawn))
            return heed_fail(m->cx, HEED_ERR_RANGE, "coco_measure: no picture %lld", (long long)m->rows[i]);
    }
    if (n > 0) qsort(m->rows, (size_t)n, sizeof *m->rows, by_number);
    for (int64_t i = 0; i < n; i++)
        if (m->n_rows == 0 || m->rows[i] != m->rows[m->n_rows - 1]) m->rows[m->n_rows++] = m->rows[i];
    return true;
}

static bool sort_items(heed_ctx *cx, struct items *s) {
    s->of = data_room(cx, s->n, 1, sizeof *s->of);
    if (!s->of) return false;
    if (s->n > 0) qsort(s->list, (size_t)s->n, sizeof *s->list, by_class);
    for (int64_t i = 0; i < s->n; i++) s->of[i] = s->list[i].of;
    return true;
}

static bool take_truths(struct measure *m) {
    int64_t room = 0, n;
    if (m->set->drawn) {
        room = m->n_rows * MAX_SHAPES;
        m->drawn = data_room(m->cx, room, 1, sizeof *m->drawn);
        if (!m->drawn) return false;
    } else {
        for (int64_t i = 0; i < m->n_rows; i++) room += m->set->picture[m->rows[i]].truths;
    }
    m->truths.list = data_room(m->cx, room, 1, sizeof *m->truths.list);
    if (!m->truths.list) return false;
    for (int64_t i = 0; i < m->n_rows; i++) {
        const heed_object *o = object_truths(m->set, m->rows[i], m->set->drawn ? m->drawn + i * MAX_SHAPES : NULL, &n);
        for (int64_t k = 0; k < n; k++)
            m->truths.list[m->truths.n++] =
                (struct item){.label = o[k].label, .picture = m->rows[i], .place = k, .of = &o[k]};
    }
    return sort_items(m->cx, &m->truths);
}

static bool take_detections(struct measure *m, const heed_detection *d, int64_t n) {
    m->found.list = data_room(m->cx, n, 1, sizeof *m->found.list);
    if (!m->found.list) return false;
    for (int64_t i = 0; i < n; i++) {
        bool finite = isfinite(d[i].score);
        for (int k = 0; k < 4; k++) finite = finite && isfinite(d[i].box[k]);
        if (!finite || d[i].label < 0 || d[i].label >= m->set->classes)
            return heed_fail(m->cx, HEED_ERR_RANGE, "coco_measure: detection %lld has %s", (long long)i,
                             finite ? "a class that the pictures do not have" : "a number that is not finite");
        if (m->n_rows > 0 && bsearch(&d[i].picture, m->rows, (size_t)m->n_rows, sizeof *m->rows, by_number))
            m->found.list[m->found.n++] = (struct item){
                .label = d[i].label, .picture = d[i].picture, .place = i, .score = d[i].score, .of = &d[i]};
    }
    return sort_items(m->cx, &m->found);
}

/* ---- one class ---- */

/* Items of list `s` from `at` on that are of this class, and of this picture where there is one. */
static int64_t run_of(const struct items *s, int64_t at, int32_t label, int64_t picture) {
    int64_t end = at;
    while (end < s->n && s->list[end].label == label && (picture < 0 || s->list[end].picture == picture)) end++;
    return end - at;
}

/* How many marks there are. */
static int64_t match_class(struct measure *m, int64_t t, int64_t t_end, int64_t d, int64_t d_end,
                           int64_t counted[COCO_AREAS]) {
    const struct items *const truths = &m->truths, *const found = &m->found;
    const int32_t label = truths->list[t].label;
    int64_t n = 0;
    while (t < t_end || d < d_end) {
        int64_t picture = t < t_end ? truths->list[t].picture : INT64_MAX;
        if (d < d_end && found->list[d].picture < picture) picture = found->list[d].picture;
        const int64_t own = run_of(truths, t, label, picture), seen = run_of(found, d, label, picture);
        if (!coco_match(&m->room, (const heed_detection *const *)(found->of + d), seen,
                        (const heed_object *const *)(truths->of + t), own, m->marks + n, counted))
            return 0;
        const int64_t kept = seen < MAX_DETECTIONS ? seen : MAX_DETECTIONS;
        for (int64_t i = 0; i < kept; i++) m->marks[n + i].picture = picture;
        n += kept;
        t += own;
        d += seen;
    }
    if (n > 0) qsort(m->marks, (size_t)n, sizeof *m->marks, by_score);
    return n;
}

/* Precision at 101 recalls: the best that a recall at least as high has. */
static void take_precision(struct measure *m, int64_t n, double *out) {
    for (int64_t i = n - 1; i > 0; i--)
        if (m->curve[i] > m->curve[i - 1]) m->curve[i - 1] = m->curve[i];
    int64_t at = 0;
    for (int r = 0; r < COCO_RECALLS; r++) {
        const double wanted = coco_linspace(0.0, 1.0, COCO_RECALLS, r);
        while (at < n && m->recalls[at] < wanted) at++;
        out[r * m->classes] = at < n ? m->curve[at] : 0.0;
    }
}

/* Class k of those with truths: of each count and overlap the curve along the detections. */
static void take_curves(struct measure *m, int64_t k, int64_t n, const int64_t counted[COCO_AREAS]) {
    for (int c = 0; c < COUNTS; c++) {
        const int a = counts[c].area;
        for (int t = 0; t < COCO_OVERLAPS && counted[a] > 0; t++) {
            const uint64_t bit = (uint64_t)1 << (COCO_OVERLAPS * a + t);
            double right = 0, wrong = 0;
            int64_t seen = 0;
            for (int64_t i = 0; i < n; i++) {
                const struct coco_mark *mark = &m->marks[i];
                if (mark->place >= counts[c].most) continue;
                if (!(mark->ignored & bit)) *(mark->hit & bit ? &right : &wrong) += 1;
                m->recalls[seen] = right / (double)counted[a];
                m->curve[seen++] = right / (wrong + right + 0x1p-52);
            }
            m->recall[(c * COCO_OVERLAPS + t) * m->classes + k] = seen > 0 ? m->recalls[seen - 1] : 0.0;
            if (c >= FULL)
                take_precision(m, seen,
                               m->precision + (int64_t)(a * COCO_OVERLAPS + t) * COCO_RECALLS * m->classes + k);
        }
    }
}

/* ---- means ---- */

/* In the order in which numpy adds: halves down to 128 numbers, which are eight sums side by side. */
static double sum_of(const double *x, int64_t n) {
    double part[8], sum = 0;
    int64_t i = 0;
    if (n > 128) {
        const int64_t half = n / 2 - n / 2 % 8;
        return sum_of(x, half) + sum_of(x + half, n - half);
    }
    if (n >= 8) {
        memcpy(part, x, sizeof part);
        for (i = 8; i < n - n % 8; i++) part[i % 8] += x[i];
        sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
    for (; i < n; i++) sum += x[i];
    return sum;
}

/* The mean of those of x that are not -1; stride: from one to the next. -1: there are none. */
static double mean_of(struct measure *m, const double *x, int64_t n, int64_t stride) {
    int64_t some = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i * stride] > -1) m->some[some++] = x[i * stride];
    return some > 0 ? sum_of(m->some, some) / (double)some : -1;
}

static void take_figures(struct measure *m, heed_coco_score *score) {
    const int64_t overlap = COCO_RECALLS * m->classes, area = COCO_OVERLAPS * overlap;
    double *const figure = score->figure;
    figure[0] = mean_of(m, m->precision, area, 1);
    figure[1] = mean_of(m, m->precision, overlap, 1);
    figure[2] = mean_of(m, m->precision + 5 * overlap, overlap, 1); /* 0.75 */
    for (int a = 1; a < COCO_AREAS; a++) figure[2 + a] = mean_of(m, m->precision + a * area, area, 1);
    for (int c = 0; c < COUNTS; c++)
        figure[6 + c] = mean_of(m, m->recall + c * COCO_OVERLAPS * m->classes, COCO_OVERLAPS * m->classes, 1);
}

/* ---- all of it ---- */

static double *filled(heed_ctx *cx, int64_t rows, int64_t columns, double value) {
    double *x = data_room(cx, rows, columns, sizeof *x);
    for (int64_t i = 0; x && i < rows * columns; i++) x[i] = value;
    return x;
}

static bool measure_all(struct measure *m, heed_coco_score *score) {
    heed_ctx *const cx = m->cx;
    const struct items *const truths = &m->truths, *const found = &m->found;
    for (int64_t i = 0; i < truths->n; i++) m->classes += i == 0 || truths->list[i].label != truths->list[i - 1].label;
    m->marks = data_room(cx, found->n, 1, sizeof *m->marks);
    m->curve = data_room(cx, found->n, 1, sizeof *m->curve);
    m->recalls = data_room(cx, found->n, 1, sizeof *m->recalls);
    m->precision = filled(cx, COCO_AREAS * COCO_OVERLAPS * COCO_RECALLS, m->classes, -1);
    m->recall = filled(cx, COUNTS * COCO_OVERLAPS, m->classes, -1);
    m->some = filled(cx, COCO_OVERLAPS * COCO_RECALLS, m->classes, 0);
    score->ap = filled(cx, m->set->classes, 1, -1);
    if (heed_failed(cx)) return false;
    for (int64_t t = 0, d = 0, k = 0; t < truths->n; k++) {
        int64_t counted[COCO_AREAS] = {0};
        const int32_t label = truths->list[t].label;
        if (heed_cancelled(cx)) return false;
        while (d < found->n && found->list[d].label < label) d++;
        const int64_t t_end = t + run_of(truths, t, label, -1), d_end = d + run_of(found, d, label, -1);
        take_curves(m, k, match_class(m, t, t_end, d, d_end, counted), counted);
        score->ap[label] = mean_of(m, m->precision + k, COCO_OVERLAPS * COCO_RECALLS, m->classes);
        t = t_end;
        d = d_end;
    }
    take_figures(m, score);
    return !heed_failed(cx);
}

bool heed_coco_measure(heed_ctx *cx, const heed_object_set *set, const int64_t *rows, int64_t n_rows,
                       const heed_detection *detections, int64_t n, heed_coco_score *score) {
    if (score) *score = (heed_coco_score){0};
    if (heed_failed(cx)) return false;
    if (!set || !score || n < 0 || n_rows < 0 || (n > 0 && !detections))
        return heed_fail(cx, HEED_ERR_USAGE, "coco_measure: the set, the detections or the score is missing");
    struct measure m = {.cx = cx, .set = set, .room = {.cx = cx}};
    const bool ok =
        take_rows(&m, rows, n_rows) && take_truths(&m) && take_detections(&m, detections, n) && measure_all(&m, score);
    void *const all[] = {m.rows,  m.drawn, m.truths.list, m.truths.of, m.found.list, m.found.of,
                         m.marks, m.curve, m.recalls,     m.precision, m.recall,     m.some};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) heed_mem_free(cx, all[i]);
    coco_room_free(&m.room);
    if (!ok) heed_coco_score_free(cx, score);
    return ok;
}
