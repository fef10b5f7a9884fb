/* Sorting edges: stable sorts by weight, by source and by target, one after the other, take time that grows with the
 * number of edges alone. */
#include "kernel/edges.h"
#include <math.h>
#include <string.h>

enum { MOST_IN, MOST_OUT, HEAD = 16 }; /* the array begins with these, padded to a cache line */

static bool has_weights(const struct edge_list *l) { return l->weight || l->normalize; }

int64_t kernel_edges_room(const struct edge_list *l) { return l->edges + (l->loops == LOOPS_KEEP ? 0 : l->targets); }

static int64_t ints_of(int64_t sources, int64_t targets, int64_t room) {
    return HEAD + 4 * room + sources + targets + 2;
}
int64_t kernel_edges_ints(const struct edge_list *l) { return ints_of(l->sources, l->targets, kernel_edges_room(l)); }
int64_t kernel_edges_floats(const struct edge_list *l) { return has_weights(l) ? 2 * kernel_edges_room(l) : 0; }

struct work {
    int32_t *order, *other; /* (room) numbers of edges */
    float *loop, *root;     /* (targets) weights of loops; 1 / sqrt of degrees */
};

size_t kernel_edges_work(const struct edge_list *l) {
    return (size_t)(2 * kernel_edges_room(l) + 2 * l->targets) * sizeof(int32_t);
}

static struct work work_of(const struct edge_list *l, void *work) {
    const int64_t room = kernel_edges_room(l);
    int32_t *const ints = work;
    float *const floats = (float *)work + 2 * room;
    return (struct work){ints, ints + room, floats, floats + l->targets};
}

struct edges kernel_edges(int64_t sources, int64_t targets, int64_t room, const int32_t *ints, const float *weights) {
    const int32_t *const in = ints + HEAD, *const out = in + targets + 1, *const rows = out + sources + 1;
    return (struct edges){.sources = sources,
                          .targets = targets,
                          .room = room,
                          .most_in = ints[MOST_IN],
                          .most_out = ints[MOST_OUT],
                          .in = in,
                          .from = rows,
                          .number = rows + room,
                          .out = out,
                          .to = rows + 2 * room,
                          .place = rows + 3 * room,
                          .weight = weights,
                          .weight_out = weights ? weights + room : NULL};
}

int64_t kernel_edges_number(int64_t sources, int64_t targets, int64_t room) {
    return HEAD + targets + sources + 2 + room;
}

/* ---- which edges there are ---- */

static int32_t from_of(const struct edge_list *l, int32_t number) {
    return number < l->edges ? l->from[number] : (int32_t)(number - l->edges);
}
static int32_t to_of(const struct edge_list *l, int32_t number) {
    return number < l->edges ? l->to[number] : (int32_t)(number - l->edges);
}
static float weight_of(const struct edge_list *l, const struct work *w, int32_t number) {
    if (number >= l->edges) return w->loop[number - l->edges];
    return l->weight ? l->weight[number] : 1;
}

/* The numbers of the edges that count, loops last; how many. */
static int64_t list_edges(const struct edge_list *l, const struct work *w) {
    int64_t n = 0;
    if (l->loops == LOOPS_KEEP) {
        for (; n < l->edges; n++) w->order[n] = (int32_t)n;
        return n;
    }
    for (int64_t i = 0; i < l->targets; i++) w->loop[i] = l->loop_weight;
    for (int64_t e = 0; e < l->edges; e++)
        if (l->from[e] != l->to[e])
            w->order[n++] = (int32_t)e;
        else if (l->loops == LOOPS_REMAINING)
            w->loop[l->from[e]] = l->weight ? l->weight[e] : 1;
    for (int64_t i = 0; i < l->targets; i++) w->order[n++] = (int32_t)(l->edges + i);
    return n;
}

/* ---- sorting ---- */

/* Numbers that rise with the float, for all but NaN. */
static uint32_t rising(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static void swap(struct work *w) {
    int32_t *const sorted = w->other;
    w->other = w->order;
    w->order = sorted;
}

static void sort_by_weight(const struct edge_list *l, struct work *w, int64_t n) {
    for (int shift = 0; shift < 32; shift += 8) {
        int64_t at[257] = {0};
        for (int64_t i = 0; i < n; i++) at[(rising(weight_of(l, w, w->order[i])) >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) at[d + 1] += at[d];
        for (int64_t i = 0; i < n; i++)
            w->other[at[rising(weight_of(l, w, w->order[i])) >> shift & 255]++] = w->order[i];
        swap(w);
    }
}

/* Sorts by one end; starts (nodes + 1) receives where the rows begin. Returns the length of the longest. */
static int32_t sort_by_node(const struct edge_list *l, struct work *w, int64_t n,
                            int32_t (*node)(const struct edge_list *, int32_t), int64_t nodes, int32_t *starts) {
    int32_t most = 0;
    memset(starts, 0, (size_t)(nodes + 1) * sizeof *starts);
    for (int64_t i = 0; i < n; i++) starts[node(l, w->order[i]) + 1]++;
    for (int64_t i = 0; i < nodes; i++) {
        if (starts[i + 1] > most) most = starts[i + 1];
        starts[i + 1] += starts[i];
    }
    for (int64_t i = 0; i < n; i++) w->other[starts[node(l, w->order[i])]++] = w->order[i];
    for (int64_t i = nodes; i > 0; i--) starts[i] = starts[i - 1]; /* they have moved on by one row */
    starts[0] = 0;
    swap(w);
    return most;
}

/* ---- weights ---- */

static void normalize(const struct edges *e, float *root, float *weight) {
    for (int64_t i = 0; i < e->targets; i++) {
        double degree = 0;
        for (int32_t k = e->in[i]; k < e->in[i + 1]; k++) degree += (double)weight[k];
        root[i] = degree == 0 ? 0 : (float)(1 / sqrt(degree)); /* of a negative one NaN, as in PyTorch */
    }
    for (int64_t i = 0; i < e->targets; i++)
        for (int32_t k = e->in[i]; k < e->in[i + 1]; k++) weight[k] *= root[e->from[k]] * root[i];
}

void kernel_edges_sort(const struct edge_list *l, int32_t *ints, float *weights, void *work) {
    struct work w = work_of(l, work);
    const int64_t room = kernel_edges_room(l), n = list_edges(l, &w);
    const struct edges e = kernel_edges(l->sources, l->targets, room, ints, weights);
    int32_t *const in = ints + HEAD, *const out = in + l->targets + 1, *const from = out + l->sources + 1;
    int32_t *const number = from + room, *const to = number + room, *const place = to + room;
    memset(ints, 0, HEAD * sizeof *ints);
    if (l->weight) sort_by_weight(l, &w, n);
    ints[MOST_OUT] = sort_by_node(l, &w, n, from_of, l->sources, out);
    ints[MOST_IN] = sort_by_node(l, &w, n, to_of, l->targets, in);
    for (int64_t k = 0; k < n; k++) {
        number[k] = w.order[k];
        from[k] = from_of(l, w.order[k]);
        if (weights) weights[k] = weight_of(l, &w, w.order[k]);
    }
    for (int64_t i = 0; i < l->targets; i++) /* targets rise within the rows of sources */
        for (int32_t k = in[i]; k < in[i + 1]; k++) {
            const int32_t at = out[from[k]]++;
            to[at] = (int32_t)i;
            place[at] = k;
        }
    for (int64_t i = l->sources; i > 0; i--) out[i] = out[i - 1];
    out[0] = 0;
    const size_t rest = (size_t)(room - n);
    memset(from + n, 0, rest * sizeof *from), memset(number + n, 0, rest * sizeof *number);
    memset(to + n, 0, rest * sizeof *to), memset(place + n, 0, rest * sizeof *place);
    if (!weights) return;
    if (l->normalize) normalize(&e, w.root, weights);
    for (int64_t k = 0; k < n; k++) weights[room + k] = weights[place[k]];
    memset(weights + n, 0, rest * sizeof *weights), memset(weights + room + n, 0, rest * sizeof *weights);
}
