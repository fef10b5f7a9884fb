/* Places for the nodes of a graph, by springs (Kamada and Kawai 1989): the stress, the sum over all pairs of
 * (|p_i - p_j| / d_ij - 1)^2, where d is the length of the shortest path, made small pair by pair with steps that get
 * shorter (Zheng, Pawar and Goodman 2019). Of small graphs the best of several beginnings is taken. What is not
 * connected is laid out apart and packed in rows, the largest first. There are sums, products, quotients and square
 * roots alone, in an order that follows from graph and seed, so a graph has the same bits everywhere. */
#include "heed/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CONNECTED 4096
#define MOST_NODES     ((int64_t)1 << 20)
#define MOST_EDGES     ((int64_t)1 << 26)
#define FIRST_SHARE    0.1  /* of a pair's error that the shortest steps mend, */
#define FALL           0.75 /* and what is left of a step after each round */
#define CLEAR          0.5  /* between nodes at least, in lengths of an edge */
#define GAP            1.0  /* between parts */
#define MOST_SCALE     4.0  /* of a part whose nodes lie close */
#define SHAPE          1.45 /* of the whole, width to height */
enum { FEW = 128, TRIES = 8, MANY = 1000, LAST_ROUNDS = 8 };

/* One connected part, and room for its distances. */
struct part {
    int64_t first, n; /* order[first ...] are its nodes */
    double wide, high;
};

struct layout {
    heed_ctx *cx;
    int64_t n;
    int64_t *start; /* (n + 1) of the neighbours of each node, both ways */
    int32_t *neighbor;
    int32_t *order; /* (n) nodes, part by part */
    int32_t *place; /* (n) of each node within its part; -1: not met yet */
    struct part *parts;
    int64_t n_parts;
    uint16_t *d;      /* (n, n) of the part that is laid out */
    int64_t *turn;    /* (n) its nodes in the order of a round */
    double *p, *best; /* (n, 2) */
};

/* ---- the graph ---- */

static bool read_edges(struct layout *g, const int32_t *from, const int32_t *to, int64_t edges) {
    memset(g->start, 0, (size_t)(g->n + 1) * sizeof *g->start);
    for (int64_t e = 0; e < edges; e++) {
        if (from[e] < 0 || from[e] >= g->n || to[e] < 0 || to[e] >= g->n)
            return heed_fail(g->cx, HEED_ERR_RANGE, "graph: edge %lld goes from %d to %d, there are %lld nodes",
                             (long long)e, from[e], to[e], (long long)g->n);
        if (from[e] != to[e]) g->start[from[e]]++, g->start[to[e]]++;
    }
    int64_t sum = 0;
    for (int64_t i = 0; i <= g->n; i++) { /* where the neighbours end, from which they are filled in */
        sum += i < g->n ? g->start[i] : 0;
        g->start[i] = sum;
    }
    for (int64_t e = edges; e-- > 0;)
        if (from[e] != to[e]) {
            g->neighbor[--g->start[from[e]]] = to[e];
            g->neighbor[--g->start[to[e]]] = from[e];
        }
    return true;
}

/* Adds the neighbours of the nodes from order[at] on, and theirs, until there are no more; gives the end. */
static int64_t spread(struct layout *g, int64_t at, int64_t end) {
    const int64_t first = at;
    for (; at < end; at++) {
        const int32_t i = g->order[at];
        for (int64_t k = g->start[i]; k < g->start[i + 1]; k++) {
            const int32_t j = g->neighbor[k];
            if (g->place[j] >= 0) continue;
            g->place[j] = (int32_t)(end - first);
            g->order[end++] = j;
        }
    }
    return end;
}

static int larger_first(const void *a, const void *b) {
    const struct part *const x = a, *const y = b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static void find_parts(struct layout *g) {
    for (int64_t i = 0; i < g->n; i++) g->place[i] = -1;
    int64_t end = 0;
    for (int64_t i = 0; i < g->n; i++) {
        if (g->place[i] >= 0) continue;
        struct part *const part = &g->parts[g->n_parts++];
        *part = (struct part){.first = end};
        g->place[i] = 0;
        g->order[end] = (int32_t)i;
        end = spread(g, end, end + 1);
        part->n = end - part->first;
    }
    qsort(g->parts, (size_t)g->n_parts, sizeof *g->parts, larger_first);
}

/* ---- one part ---- */

/* Breadth first from every node. The distances are all known, as the part is connected. */
static int measure(struct layout *g, const struct part *part) {
    const int32_t *const node = g->order + part->first;
    int longest = 0;
    for (int64_t i = 0; i < part->n; i++) {
        uint16_t *const d = g->d + i * part->n;
        memset(d, 0xFF, (size_t)part->n * sizeof *d);
        d[i] = 0;
        g->turn[0] = i;
        for (int64_t at = 0, end = 1; at < end; at++) {
            const int64_t a = g->turn[at];
            for (int64_t k = g->start[node[a]]; k < g->start[node[a] + 1]; k++) {
                const int64_t b = g->place[g->neighbor[k]];
                if (d[b] != 0xFFFF) continue;
                d[b] = (uint16_t)(d[a] + 1);
                longest = d[b] > longest ? d[b] : longest;
                g->turn[end++] = b;
            }
        }
    }
    return longest;
}

/* Brings a pair nearer to its distance: all of the way, or a part of it that is the smaller the farther they are. */
static void mend(const struct layout *g, int64_t n, int64_t i, int64_t j, double step) {
    const double d = g->d[i * n + j], share = fmin(1, step / (d * d));
    double *const a = g->p + 2 * i, *const b = g->p + 2 * j;
    double x = a[0] - b[0], y = a[1] - b[1], far = sqrt(x * x + y * y);
    if (far < 1e-9) x = far = 1e-3, y = 0;
    const double by = share * (far - d) / (2 * far);
    a[0] -= by * x, a[1] -= by * y;
    b[0] += by * x, b[1] += by * y;
}

/* Every pair once, in an order of its own. */
static void go_round(struct layout *g, int64_t n, uint64_t seed, uint64_t stream, double step) {
    heed_random_permutation(seed, stream, g->turn, n);
    for (int64_t k = 1; k < n; k++)
        for (int64_t i = 0; i + k < n; i++) mend(g, n, g->turn[i], g->turn[i + k], step);
}

/* Pushes apart what lies on top of each other. */
static void clear(const struct layout *g, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double *const a = g->p + 2 * i, *const b = g->p + 2 * j;
            const double x = a[0] - b[0], y = a[1] - b[1], far = sqrt(x * x + y * y);
            if (far >= CLEAR || far < 1e-9) continue;
            const double by = 0.5 * (CLEAR - far) / far;
            a[0] += by * x, a[1] += by * y;
            b[0] -= by * x, b[1] -= by * y;
        }
}

static double stress(const struct layout *g, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            const double x = g->p[2 * i] - g->p[2 * j], y = g->p[2 * i + 1] - g->p[2 * j + 1],
                         off = sqrt(x * x + y * y) / g->d[i * n + j] - 1;
            sum += off * off;
        }
    return sum;
}

static void settle(struct layout *g, const struct part *part, int longest, uint64_t seed, uint64_t try) {
    const int64_t n = part->n;
    const uint64_t stream = (((uint64_t)part->first << 4) + try) << 8;
    float from[2];
    for (int64_t i = 0; i < n; i++) {
        heed_random_uniform(seed, stream, (uint64_t)(2 * i), from, 2);
        g->p[2 * i] = longest * (double)from[0];
        g->p[2 * i + 1] = longest * (double)from[1];
    }
    uint64_t round = 1;
    for (double step = (double)longest * longest; step > FIRST_SHARE; step *= n > MANY ? FALL * FALL : FALL)
        go_round(g, n, seed, stream + round++, step);
    for (int i = 1; i <= LAST_ROUNDS; i++) {
        go_round(g, n, seed, stream + round++, FIRST_SHARE / i);
        if (n <= FEW) clear(g, n);
    }
}

/* The longer axis lies across, and the lower left corner is 0. */
static void turn(const struct layout *g, struct part *part) {
    double *const p = g->best, mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    const int64_t n = part->n;
    for (int64_t i = 0; i < n; i++) mx += p[2 * i] / (double)n, my += p[2 * i + 1] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double x = p[2 * i] - mx, y = p[2 * i + 1] - my;
        xx += x * x, xy += x * y, yy += y * y;
    }
    /* of (xx xy; xy yy) the eigenvector of the larger eigenvalue */
    const double half = (xx - yy) / 2, root = sqrt(half * half + xy * xy);
    double a = half >= 0 ? half + root : xy, b = half >= 0 ? xy : root - half;
    const double size = sqrt(a * a + b * b);
    if (size > 1e-9)
        a /= size, b /= size;
    else
        a = 1, b = 0;
    double low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int64_t i = 0; i < n; i++) {
        const double x = p[2 * i] - mx, y = p[2 * i + 1] - my, to[2] = {a * x + b * y, a * y - b * x};
        for (int k = 0; k < 2; k++) {
            p[2 * i + k] = to[k];
            low[k] = fmin(low[k], to[k]), high[k] = fmax(high[k], to[k]);
        }
    }
    /* a square for each node: large parts are dense, and would be small beside the others */
    const double area = (high[0] - low[0]) * (high[1] - low[1]),
                 scale = n > FEW && area > 0 ? fmax(1, fmin(MOST_SCALE, sqrt((double)n / area))) : 1;
    for (int64_t i = 0; i < 2 * n; i++) p[i] = scale * (p[i] - low[i % 2]);
    part->wide = scale * (high[0] - low[0]), part->high = scale * (high[1] - low[1]);
}

static bool lay_out(struct layout *g, struct part *part, uint64_t seed, float *x, float *y) {
    if (heed_cancelled(g->cx)) return false;
    const int longest = measure(g, part);
    double least = HUGE_VAL;
    for (int try = 0; try < (part->n <= FEW ? TRIES : 1); try++) {
        settle(g, part, longest, seed, (uint64_t)try);
        const double off = part->n <= FEW ? stress(g, part->n) : 0;
        if (off >= least) continue;
        least = off;
        memcpy(g->best, g->p, (size_t)part->n * 2 * sizeof *g->best);
    }
    turn(g, part);
    for (int64_t i = 0; i < part->n; i++) {
        const int32_t node = g->order[part->first + i];
        x[node] = (float)g->best[2 * i], y[node] = (float)g->best[2 * i + 1];
    }
    return true;
}

/* ---- all parts ---- */

static int taller_first(const void *a, const void *b) {
    const struct part *const x = a, *const y = b;
    if (x->high != y->high) return x->high < y->high ? 1 : -1;
    return larger_first(a, b);
}

/* Rows of columns: a part stands below the one before it where the row is tall enough, else beside it, else in the next
 * row. The tallest come first. */
static void pack(struct layout *g, float *x, float *y) {
    double area = 0, wide = 0, row = 0, tall = 0, left = 0, column = 0, used = 0;
    qsort(g->parts, (size_t)g->n_parts, sizeof *g->parts, taller_first);
    for (int64_t k = 0; k < g->n_parts; k++) {
        area += (g->parts[k].wide + GAP) * (g->parts[k].high + GAP);
        wide = fmax(wide, g->parts[k].wide + GAP);
    }
    wide = fmax(wide, sqrt(area * SHAPE));
    for (int64_t k = 0; k < g->n_parts; k++) {
        const struct part *const part = &g->parts[k];
        if (k > 0 && used + part->high > tall) left += column + GAP, column = used = 0;
        if (k > 0 && left + part->wide > wide) row += tall + GAP, left = column = used = tall = 0;
        column = fmax(column, part->wide), tall = fmax(tall, part->high);
        for (int64_t i = 0; i < part->n; i++) {
            const int32_t node = g->order[part->first + i];
            x[node] += (float)left;
            y[node] -= (float)(row + used + part->high);
        }
        used += part->high + GAP;
    }
}

static bool take_room(struct layout *g, int64_t edges) {
    heed_ctx *const cx = g->cx;
    g->start = heed_mem_new(cx, (size_t)(g->n + 1) * sizeof *g->start);
    g->neighbor = heed_mem_new(cx, (size_t)(2 * edges + 1) * sizeof *g->neighbor);
    g->order = heed_mem_new(cx, (size_t)g->n * sizeof *g->order);
    g->place = heed_mem_new(cx, (size_t)g->n * sizeof *g->place);
    g->parts = heed_mem_new(cx, (size_t)g->n * sizeof *g->parts);
    return !heed_failed(cx);
}

/* Room for the largest part, which is the first. */
static bool take_more_room(struct layout *g) {
    const int64_t most = g->parts[0].n;
    if (most > MOST_CONNECTED)
        return heed_fail(g->cx, HEED_ERR_RANGE, "graph: %lld connected nodes cannot be laid out, at most %d",
                         (long long)most, MOST_CONNECTED);
    g->d = heed_mem_new(g->cx, (size_t)(most * most) * sizeof *g->d);
    g->turn = heed_mem_new(g->cx, (size_t)most * sizeof *g->turn);
    g->p = heed_mem_new(g->cx, (size_t)(2 * most) * sizeof *g->p);
    g->best = heed_mem_new(g->cx, (size_t)(2 * most) * sizeof *g->best);
    return !heed_failed(g->cx);
}

static bool lay_out_all(struct layout *g, const int32_t *from, const int32_t *to, int64_t edges, uint64_t seed,
                        float *x, float *y) {
    if (!take_room(g, edges) || !read_edges(g, from, to, edges)) return false;
    find_parts(g);
    if (!take_more_room(g)) return false;
    for (int64_t k = 0; k < g->n_parts; k++)
        if (!lay_out(g, &g->parts[k], seed, x, y)) return false;
    pack(g, x, y);
    return true;
}

bool heed_graph_layout(heed_ctx *cx, int64_t nodes, const int32_t *from, const int32_t *to, int64_t edges,
                       uint64_t seed, float *x, float *y) {
    if (heed_failed(cx)) return false;
    if (nodes < 0 || edges < 0 || nodes > MOST_NODES || edges > MOST_EDGES)
        return heed_fail(cx, HEED_ERR_RANGE, "graph: %lld nodes and %lld edges cannot be laid out", (long long)nodes,
                         (long long)edges);
    if (!x || !y || (edges > 0 && (!from || !to)))
        return heed_fail(cx, HEED_ERR_USAGE, "graph: edges, and room for places, are needed");
    if (nodes == 0) return edges == 0 || heed_fail(cx, HEED_ERR_RANGE, "graph: it has edges, but no nodes");
    struct layout g = {.cx = cx, .n = nodes};
    const bool ok = lay_out_all(&g, from, to, edges, seed, x, y);
    void *const held[] = {g.start, g.neighbor, g.order, g.place, g.parts, g.d, g.turn, g.p, g.best};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) heed_mem_free(cx, held[i]);
    return ok;
}
