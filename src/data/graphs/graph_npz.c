/* Graphs in numpy's .npz, a zip archive of npy files: as torch_geometric names its tensors, or with scipy's CSR parts
 * of features (attr_) and adjacency (adj_). Members of other names are not looked at. */
#include "base/file.h"
#include "data/graphs/graphs.h"
#include "io/array.h"
#include "io/text.h"
#include "io/zip.h"

#include <stdio.h>
#include <string.h>

enum member {
    X,
    ATTR_DATA,
    ATTR_INDICES,
    ATTR_INDPTR,
    ATTR_SHAPE,
    EDGE_INDEX,
    ADJ_DATA,
    ADJ_INDICES,
    ADJ_INDPTR,
    ADJ_SHAPE,
    EDGE_WEIGHT,
    Y,
    LABELS,
    TRAIN_MASK,
    VAL_MASK,
    TEST_MASK,
    BATCH,
    MEMBERS
};
static const char *const names[MEMBERS] = {"x",           "attr_data", "attr_indices", "attr_indptr", "attr_shape",
                                           "edge_index",  "adj_data",  "adj_indices",  "adj_indptr",  "adj_shape",
                                           "edge_weight", "y",         "labels",       "train_mask",  "val_mask",
                                           "test_mask",   "batch"};

struct npz {
    heed_ctx *cx;
    const char *name;
    const heed_graph_data_opts *o;
    heed_graph_data *g;
    heed_array *a[MEMBERS];
};

static bool bad(const struct npz *z, enum member m, const char *why) {
    return heed_fail(z->cx, HEED_ERR_FORMAT, "%s: %s of shape %s: %s", z->name, names[m],
                     shape_text(z->a[m]->rank, z->a[m]->shape).text, why);
}

/* ---- members ---- */

static int find_member(const char *file) {
    for (int m = 0; m < MEMBERS; m++) {
        const size_t n = strlen(names[m]);
        if (strncmp(file, names[m], n) == 0 && strcmp(file + n, ".npy") == 0) return m;
    }
    return -1;
}

static bool read_members(struct npz *z, const void *bytes, size_t size) {
    struct zip zip = {.cx = z->cx, .name = z->name, .data = bytes, .size = size};
    char others[160] = "", member[ZIP_NAME + 64];
    while (zip_next(&zip)) {
        const int m = find_member(zip.member);
        const size_t used = strlen(others);
        if (m < 0) {
            if (used < 100)
                snprintf(others + used, sizeof others - used, "%s%.40s", used ? ", " : "", escaped(zip.member).s);
            continue;
        }
        if (z->a[m]) return heed_fail(z->cx, HEED_ERR_FORMAT, "%s: %s is there twice", z->name, names[m]);
        unsigned char *const npy = zip_read(&zip, IO_READ_LIMIT);
        snprintf(member, sizeof member, "%.60s: %s", escaped(z->name).s, names[m]);
        z->a[m] = npy ? heed_npy_parse(z->cx, member, npy, zip.unpacked) : NULL;
        heed_mem_free(z->cx, npy);
    }
    if (heed_failed(z->cx) || z->a[EDGE_INDEX] || (z->a[ADJ_INDICES] && z->a[ADJ_INDPTR])) return !heed_failed(z->cx);
    return heed_fail(z->cx, HEED_ERR_FORMAT,
                     "%s: no graph is in it: edge_index, or adj_indices and adj_indptr, are expected%s%s", z->name,
                     *others ? ", and it has " : "", others);
}

static int64_t count_of(const struct npz *z, enum member m) { return heed_array_count(z->a[m]); }

/* A list of whole numbers, to be freed. */
static int32_t *integers(const struct npz *z, enum member m) {
    const int64_t n = count_of(z, m);
    int32_t *const out = data_room(z->cx, n, 1, sizeof *out);
    if (out && heed_array_to_i32(z->cx, z->a[m], out, n)) return out;
    heed_mem_free(z->cx, out);
    return NULL;
}
static float *numbers(const struct npz *z, enum member m) {
    const int64_t n = count_of(z, m);
    float *const out = data_room(z->cx, n, 1, sizeof *out);
    if (out && heed_array_to_f32(z->cx, z->a[m], out, n)) return out;
    heed_mem_free(z->cx, out);
    return NULL;
}

/* ---- sparse matrices ---- rows start[i] up to start[i + 1] */

struct csr {
    int64_t rows, columns, n;
    int32_t *start, *column;
    float *value; /* NULL: all 1 */
};

static void free_csr(heed_ctx *cx, struct csr *c) {
    heed_mem_free(cx, c->start);
    heed_mem_free(cx, c->column);
    heed_mem_free(cx, c->value);
}

/* `first` is its data, which indices, indptr and shape follow. */
static bool read_csr(const struct npz *z, enum member first, struct csr *c) {
    const enum member indices = first + 1, indptr = first + 2, shape = first + 3;
    *c = (struct csr){.rows = 0};
    if (!z->a[indices] || !z->a[indptr] || !z->a[shape])
        return heed_fail(z->cx, HEED_ERR_FORMAT, "%s: of a sparse matrix %s, %s and %s are needed", z->name,
                         names[indices], names[indptr], names[shape]);
    int32_t *const size = count_of(z, shape) == 2 ? integers(z, shape) : NULL;
    if (size) c->rows = size[0], c->columns = size[1];
    heed_mem_free(z->cx, size);
    if (!size) return heed_failed(z->cx) ? false : bad(z, shape, "two sizes are expected");
    c->n = count_of(z, indices);
    if (c->rows < 0 || c->columns < 0 || count_of(z, indptr) != c->rows + 1)
        return bad(z, indptr, "one number more than there are rows is expected");
    if (z->a[first] && count_of(z, first) != c->n) return bad(z, first, "as many numbers as indices are expected");
    c->start = integers(z, indptr);
    c->column = integers(z, indices);
    if (z->a[first]) c->value = numbers(z, first);
    if (heed_failed(z->cx)) return false;
    for (int64_t i = 0; i < c->rows; i++)
        if (c->start[i] < 0 || c->start[i] > c->start[i + 1]) return bad(z, indptr, "the numbers do not ascend from 0");
    if (c->start[0] != 0 || c->start[c->rows] != c->n) return bad(z, indptr, "they do not end at the last index");
    for (int64_t k = 0; k < c->n; k++)
        if (c->column[k] < 0 || c->column[k] >= c->columns) return bad(z, indices, "an index is out of range");
    return true;
}

/* ---- features ---- */

static bool all_finite(const struct npz *z, const char *what, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0))
            return heed_fail(z->cx, HEED_ERR_FORMAT, "%s: %s: number %lld is not finite", z->name, what, (long long)i);
    return true;
}

static bool put_sparse(const struct npz *z) {
    heed_graph_data *const g = z->g;
    struct csr c;
    bool ok = read_csr(z, ATTR_DATA, &c);
    if (ok) {
        g->nodes = c.rows;
        g->width = c.columns;
        g->start = c.start;
        g->column = c.column;
        g->value = c.value ? c.value : data_room(z->cx, c.n, 1, sizeof *g->value);
        c.start = c.column = NULL;
        for (int64_t k = 0; g->value && !c.value && k < c.n; k++) g->value[k] = 1;
        c.value = NULL;
        ok = g->value && all_finite(z, names[ATTR_DATA], g->value, c.n) && graph_sort_features(z->cx, g, z->name);
    }
    free_csr(z->cx, &c);
    return ok;
}

static bool put_features(const struct npz *z) {
    heed_graph_data *const g = z->g;
    if (z->a[X]) {
        if (z->a[X]->rank != 2) return bad(z, X, "(nodes, features) is expected");
        g->nodes = z->a[X]->shape[0];
        g->width = z->a[X]->shape[1];
        g->x = numbers(z, X);
        if (!g->x || !all_finite(z, names[X], g->x, g->nodes * g->width)) return false;
    } else if (z->a[ATTR_INDICES] && !put_sparse(z)) {
        return false;
    }
    return g->width == 0 || graph_features_fit(z->cx, g, z->name, z->o->like);
}

/* ---- nodes and graphs ---- */

/* How many nodes there are where they have no features: by what has a number for each, else by the edges. */
static bool count_nodes(const struct npz *z) {
    heed_graph_data *const g = z->g;
    const enum member lists[] = {BATCH, TRAIN_MASK, Y, LABELS};
    if (z->a[X] || z->a[ATTR_INDICES]) return true;
    for (int k = 0; k < (z->o->whole ? 1 : 4); k++)
        if (z->a[lists[k]]) return g->nodes = count_of(z, lists[k]), true;
    if (!z->a[EDGE_INDEX]) return g->nodes = count_of(z, ADJ_INDPTR) - 1, true;
    int32_t *const ends = integers(z, EDGE_INDEX);
    for (int64_t i = 0; ends && i < count_of(z, EDGE_INDEX); i++)
        if (ends[i] >= g->nodes) g->nodes = (int64_t)ends[i] + 1;
    heed_mem_free(z->cx, ends);
    return ends;
}

static bool put_graphs(const struct npz *z) {
    heed_graph_data *const g = z->g;
    if (!z->a[BATCH]) return graph_put_single(z->cx, g);
    if (z->a[BATCH]->rank != 1 || count_of(z, BATCH) != g->nodes)
        return bad(z, BATCH, "the graph of each node is expected");
    int32_t *const of = integers(z, BATCH);
    if (!of) return false;
    bool ok = true;
    for (int64_t i = 0; ok && i < g->nodes; i++) {
        if (of[i] < 0 || of[i] >= g->nodes || (i > 0 && of[i] < of[i - 1]))
            ok = heed_fail(z->cx, HEED_ERR_FORMAT,
                           "%s: batch: node %lld is of graph %d: graphs are numbered from 0, one after the other",
                           z->name, (long long)i, of[i]);
        else
            g->graphs = (int64_t)of[i] + 1;
    }
    g->node_start = ok ? data_room(z->cx, g->graphs + 1, 1, sizeof *g->node_start) : NULL;
    for (int64_t i = 0, k = 0; g->node_start && k <= g->graphs; k++) {
        while (i < g->nodes && of[i] < k) i++;
        g->node_start[k] = i;
    }
    heed_mem_free(z->cx, of);
    return g->node_start;
}

/* ---- edges ---- */

static bool take_edge(const struct npz *z, struct edge_list *list, int64_t from, int64_t to, float weight) {
    const int64_t nodes = z->g->nodes;
    if (from < 0 || from >= nodes || to < 0 || to >= nodes)
        return heed_fail(z->cx, HEED_ERR_RANGE, "%s: edge %lld leads from node %lld to %lld: there are %lld nodes",
                         z->name, (long long)list->n, (long long)from, (long long)to, (long long)nodes);
    list->at[list->n] = (struct listed_edge){(int32_t)from, (int32_t)to, weight, list->n};
    list->n++;
    return true;
}

static bool list_pairs(const struct npz *z, struct edge_list *list) {
    const heed_array *const a = z->a[EDGE_INDEX];
    const bool across = a->rank == 2 && a->shape[0] == 2, down = a->rank == 2 && !across && a->shape[1] == 2;
    if (!across && !down) return bad(z, EDGE_INDEX, "(2, edges) is expected");
    const int64_t n = across ? a->shape[1] : a->shape[0];
    const bool weighted = z->a[EDGE_WEIGHT];
    if (weighted && count_of(z, EDGE_WEIGHT) != n) return bad(z, EDGE_WEIGHT, "one number for each edge is expected");
    int32_t *const ends = integers(z, EDGE_INDEX);
    float *const weight = weighted && ends ? numbers(z, EDGE_WEIGHT) : NULL;
    list->weighted = weighted;
    list->at = data_room(z->cx, n, 1, sizeof *list->at);
    bool ok = list->at && (!weight || all_finite(z, names[EDGE_WEIGHT], weight, n));
    for (int64_t i = 0; ok && i < n; i++)
        ok = take_edge(z, list, ends[across ? i : 2 * i], ends[across ? n + i : 2 * i + 1], weight ? weight[i] : 1);
    heed_mem_free(z->cx, weight);
    heed_mem_free(z->cx, ends);
    return ok;
}

static bool list_rows(const struct npz *z, struct edge_list *list) {
    struct csr c;
    bool ok = read_csr(z, ADJ_DATA, &c);
    if (ok && c.rows != z->g->nodes)
        ok = heed_fail(z->cx, HEED_ERR_SHAPE, "%s: adj_shape has %lld nodes, the features are of %lld", z->name,
                       (long long)c.rows, (long long)z->g->nodes);
    list->at = ok ? data_room(z->cx, c.n, 1, sizeof *list->at) : NULL;
    ok = list->at && (!c.value || all_finite(z, names[ADJ_DATA], c.value, c.n));
    for (int64_t i = 0; ok && i < c.rows; i++)
        for (int64_t k = c.start[i]; ok && k < c.start[i + 1]; k++) {
            const float weight = c.value ? c.value[k] : 1;
            list->weighted |= weight != 1;
            ok = take_edge(z, list, i, c.column[k], weight);
        }
    free_csr(z->cx, &c);
    return ok;
}

static bool put_edges(const struct npz *z) {
    struct edge_list list = {.name = z->name, .unit = "edge"};
    const bool ok = (z->a[EDGE_INDEX] ? list_pairs : list_rows)(z, &list) && graph_put_edges(z->cx, z->g, &list);
    heed_mem_free(z->cx, list.at);
    return ok;
}

/* ---- labels ---- */

static bool put_parts(const struct npz *z) {
    static const enum member masks[] = {TRAIN_MASK, VAL_MASK, TEST_MASK};
    const int64_t n = graph_labelled(z->g);
    for (int k = 0; k < 3; k++) {
        if (!z->a[masks[k]]) continue;
        if (count_of(z, masks[k]) != n) return bad(z, masks[k], "one value for each node (or graph) is expected");
        if (!z->g->part && !(z->g->part = data_room(z->cx, n, 1, 1))) return false;
        if (k == 0 || !z->a[TRAIN_MASK]) memset(z->g->part, HEED_GRAPH_NONE, (size_t)n);
        int32_t *const mask = integers(z, masks[k]);
        for (int64_t i = 0; mask && i < n; i++)
            if (mask[i]) z->g->part[i] = (unsigned char)(HEED_GRAPH_TRAIN + k);
        heed_mem_free(z->cx, mask);
    }
    return !heed_failed(z->cx);
}

/* Numbers as words, so that classes are what they are in tables; negative ones are no labels. */
static bool put_labels(const struct npz *z) {
    const enum member m = z->a[Y] ? Y : LABELS;
    const int64_t n = graph_labelled(z->g);
    if (!z->a[m]) return true;
    if (count_of(z, m) != n) return bad(z, m, "one class for each node (or graph) is expected");
    int32_t *const label = integers(z, m);
    char(*const text)[12] = data_room(z->cx, n, 1, sizeof *text);
    const char **const word = data_room(z->cx, n, 1, sizeof *word);
    int64_t *const place = data_room(z->cx, n, 1, sizeof *place);
    bool ok = label && place;
    for (int64_t i = 0; ok && i < n; i++) {
        snprintf(text[i], sizeof text[i], "%d", label[i]);
        word[i] = label[i] < 0 ? NULL : text[i];
        place[i] = i;
    }
    ok = ok && graph_put_labels(z->cx, z->g, &(struct labelled){z->name, graph_unit(z->g), word, place, n}, z->o->like);
    heed_mem_free(z->cx, place);
    heed_mem_free(z->cx, word);
    heed_mem_free(z->cx, text);
    heed_mem_free(z->cx, label);
    return ok;
}

/* ---- all of it ---- */

bool graph_parse_npz(heed_ctx *cx, const char *name, const void *bytes, size_t size, const heed_graph_data_opts *opts,
                     heed_graph_data *g) {
    struct npz z = {.cx = cx, .name = name, .o = opts, .g = g};
    const bool ok = read_members(&z, bytes, size) && put_features(&z) && count_nodes(&z) &&
                    (g->nodes <= INT32_MAX || heed_fail(cx, HEED_ERR_RANGE, "%s: too many nodes", name)) &&
                    put_graphs(&z) && put_edges(&z) && put_parts(&z) && (opts->unlabelled || put_labels(&z));
    for (int m = 0; m < MEMBERS; m++) heed_mem_free(cx, z.a[m]);
    return ok;
}

bool graph_read_npz(heed_ctx *cx, const char *path, const heed_graph_data_opts *opts, heed_graph_data *g) {
    struct file_map map;
    if (!file_map_open(cx, path, &map)) return false;
    const bool ok = graph_parse_npz(cx, path, map.data ? map.data : (const unsigned char *)"", map.size, opts, g);
    file_map_close(&map);
    return ok;
}
