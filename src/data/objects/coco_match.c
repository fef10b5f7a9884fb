#include "data/objects/coco_match.h"
#include "data/data.h"

#include <math.h>
#include <string.h>

/* Areas in square pixels: all, small, medium, large. The borders belong to both sides. */
static const double areas[COCO_AREAS][2] = {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}};

double coco_linspace(double from, double to, int n, int i) {
    return i == n - 1 ? to : (double)i * ((to - from) / (double)(n - 1)) + from;
}

/* Of a crowd only the part counts that the detection covers. */
static double overlap(const double *found, const double *truth, bool crowd) {
    const double width = fmin(found[2] + found[0], truth[2] + truth[0]) - fmax(found[0], truth[0]);
    const double height = fmin(found[3] + found[1], truth[3] + truth[1]) - fmax(found[1], truth[1]);
    if (!(width > 0) || !(height > 0)) return 0;
    const double both = width * height, own = found[2] * found[3];
    return both / (crowd ? own : own + truth[2] * truth[3] - both);
}

void coco_room_free(struct coco_room *r) {
    heed_mem_free(r->cx, r->overlap);
    heed_mem_free(r->cx, r->order);
    heed_mem_free(r->cx, r->taken);
    heed_mem_free(r->cx, r->ignored);
}

static bool make_room(struct coco_room *r, int64_t truths) {
    if (truths <= r->truths && r->overlap) return true;
    coco_room_free(r);
    r->truths = 2 * truths + 16;
    r->overlap = data_room(r->cx, r->truths, MAX_DETECTIONS, sizeof *r->overlap);
    r->order = data_room(r->cx, r->truths, 1, sizeof *r->order);
    r->taken = data_room(r->cx, r->truths, 1, sizeof *r->taken);
    r->ignored = data_room(r->cx, r->truths, 1, sizeof *r->ignored);
    return r->overlap && r->order && r->taken && r->ignored;
}

/* Truths that are ignored come last, each kind in its order; how many are not. */
static int64_t order_truths(struct coco_room *r, const heed_object *const *truth, int64_t m, const double area[2]) {
    int64_t n = 0, counted = 0;
    for (int last = 0; last < 2; last++) {
        for (int64_t g = 0; g < m; g++) {
            const bool ignored = truth[g]->crowd || truth[g]->area < area[0] || truth[g]->area > area[1];
            if (ignored != (last == 1)) continue;
            r->ignored[n] = ignored;
            r->order[n++] = g;
        }
        if (last == 0) counted = n;
    }
    return counted;
}

/* The truth that a detection takes, by its place in the order: the best one that is left and not ignored; else the best
 * ignored one, of which crowds may be taken again. -1: none. Of equal ones the last. */
static int64_t best(const struct coco_room *r, const heed_object *const *truth, int64_t m, const double *overlaps,
                    double least) {
    int64_t found = -1;
    for (int64_t i = 0; i < m; i++) {
        const int64_t g = r->order[i];
        if (r->taken[i] && !truth[g]->crowd) continue;
        if (found >= 0 && !r->ignored[found] && r->ignored[i]) break;
        if (overlaps[g] < least) continue;
        least = overlaps[g];
        found = i;
    }
    return found;
}

bool coco_match(struct coco_room *r, const heed_detection *const *found, int64_t n, const heed_object *const *truth,
                int64_t m, struct coco_mark *marks, int64_t counted[COCO_AREAS]) {
    if (!make_room(r, m)) return false;
    if (n > MAX_DETECTIONS) n = MAX_DETECTIONS;
    for (int64_t d = 0; d < n; d++) {
        marks[d] = (struct coco_mark){.score = found[d]->score, .place = d};
        for (int64_t g = 0; g < m; g++) r->overlap[d * m + g] = overlap(found[d]->box, truth[g]->box, truth[g]->crowd);
    }
    for (int a = 0; a < COCO_AREAS; a++) {
        counted[a] += order_truths(r, truth, m, areas[a]);
        for (int t = 0; t < COCO_OVERLAPS; t++) {
            const double least = fmin(coco_linspace(0.5, 0.95, COCO_OVERLAPS, t), 1 - 1e-10);
            memset(r->taken, 0, (size_t)m * sizeof *r->taken);
            for (int64_t d = 0; d < n; d++) {
                const uint64_t bit = (uint64_t)1 << (COCO_OVERLAPS * a + t);
                const double area = found[d]->box[2] * found[d]->box[3];
                const int64_t i = best(r, truth, m, r->overlap + d * m, least);
                if (i >= 0) r->taken[i] = true;
                /* pycocotools keeps the truth's id, and takes the id 0 for none. */
                const bool hit = i >= 0 && truth[r->order[i]]->id != 0;
                if (hit) marks[d].hit |= bit;
                if ((i >= 0 && r->ignored[i]) || (!hit && (area < areas[a][0] || area > areas[a][1])))
                    marks[d].ignored |= bit;
            }
        }
    }
    return true;
}
