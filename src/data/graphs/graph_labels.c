/* Labels of nodes and of graphs: which classes there are, and who is to train, validate and test. */
#include "base/text.h"
#include "data/graphs/graphs.h"
#include "io/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- classes ---- */

static bool whole_number(const char *text, double *value) {
    bool range = false;
    return number_read(text, value, &range) && isfinite(*value) && *value == floor(*value);
}

static int by_value(const void *x, const void *y) {
    const struct numbered_word *const a = x, *const b = y;
    double p = 0, q = 0;
    whole_number(a->word.text, &p);
    whole_number(b->word.text, &q);
    return p == q ? (a->number > b->number) - (a->number < b->number) : p < q ? -1 : 1;
}

/* Words are sorted, and numbers by their values, so that class 10 comes after class 2. */
static bool order_by_value(heed_ctx *cx, struct vocabulary *v) {
    double value;
    for (int64_t i = 0; i < v->n; i++)
        if (!whole_number(v->list[i].word.text, &value)) return true;
    int64_t *const place = data_room(cx, v->n, 1, sizeof *place);
    struct numbered_word *const sorted = data_room(cx, v->n, 1, sizeof *sorted);
    if (sorted) {
        memcpy(sorted, v->list, (size_t)v->n * sizeof *sorted);
        qsort(sorted, (size_t)v->n, sizeof *sorted, by_value);
        for (int64_t i = 0; i < v->n; i++) place[sorted[i].number] = i;
        for (int64_t i = 0; i < v->n; i++) v->list[i].number = place[i];
    }
    heed_mem_free(cx, sorted);
    heed_mem_free(cx, place);
    return sorted;
}

/* Where a file has parts, what belongs to none of them makes no class: Citeseer gives such nodes the class -1. */
static bool outside(const heed_graph_data *g, int64_t i) { return g->part && g->part[i] == HEED_GRAPH_NONE; }

static bool find_classes(heed_ctx *cx, const heed_graph_data *g, const struct labelled *l, const heed_graph_data *like,
                         struct vocabulary *v) {
    if (like) return !like->class_names || vocabulary_like(cx, like->class_names, like->classes, v);
    *v = (struct vocabulary){.list = data_room(cx, l->n, 1, sizeof *v->list)};
    int64_t n = 0;
    for (int64_t i = 0; v->list && i < l->n; i++)
        if (l->word[i] && !outside(g, i)) v->list[n++].word = word_trimmed(l->word[i]);
    if (v->list) vocabulary_sort(v, n);
    return v->list && order_by_value(cx, v);
}

/* -1: it is none of them. Classes that the model has no names for are numbers from 0. */
static int64_t class_number(const struct vocabulary *v, const heed_graph_data *like, const char *text) {
    double value;
    if (!like || like->class_names) return vocabulary_find(v, text);
    return whole_number(text, &value) && value >= 0 && value < (double)like->classes ? (int64_t)value : -1;
}

bool graph_put_labels(heed_ctx *cx, heed_graph_data *g, const struct labelled *l, const heed_graph_data *like) {
    struct vocabulary v = {.n = 0};
    const char *const unit = graph_unit(g);
    bool ok = find_classes(cx, g, l, like, &v);
    g->label = data_room(cx, l->n, 1, sizeof *g->label);
    g->classes = like ? like->classes : v.n;
    if (ok && !like && v.n * 2 > l->n && v.n > 40)
        ok = heed_fail(cx, HEED_ERR_RANGE,
                       "%s: %lld different labels of %lld %ss are no classes; --target names the column of the classes",
                       l->name, (long long)v.n, (long long)l->n, unit);
    for (int64_t i = 0; ok && g->label && i < l->n; i++) {
        const int64_t number = l->word[i] ? class_number(&v, like, l->word[i]) : HEED_UNLABELLED;
        g->label[i] = number < 0 ? HEED_UNLABELLED : (int32_t)number;
        if (number == -1 && !outside(g, i))
            ok = heed_fail(cx, HEED_ERR_RANGE, "%s: %s %lld: class '%s' is not one of the %lld known", l->name, l->unit,
                           (long long)l->place[i], escaped(l->word[i]).s, (long long)g->classes);
    }
    if (ok && v.list) g->class_names = vocabulary_names(cx, &v);
    heed_mem_free(cx, v.list);
    return ok && !heed_failed(cx);
}

/* ---- parts ---- */

int graph_part_of(const char *text) {
    static const struct {
        const char *word;
        heed_graph_part part;
    } words[] = {{"train", HEED_GRAPH_TRAIN},     {"training", HEED_GRAPH_TRAIN}, {"val", HEED_GRAPH_VALID},
                 {"valid", HEED_GRAPH_VALID},     {"dev", HEED_GRAPH_VALID},      {"validation", HEED_GRAPH_VALID},
                 {"test", HEED_GRAPH_TEST},       {"testing", HEED_GRAPH_TEST},   {"", HEED_GRAPH_NONE},
                 {"none", HEED_GRAPH_NONE},       {"-", HEED_GRAPH_NONE},         {"other", HEED_GRAPH_NONE},
                 {"unlabelled", HEED_GRAPH_NONE}, {"unlabeled", HEED_GRAPH_NONE}};
    const struct word word = word_trimmed(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == word.length && strncasecmp(words[i].word, word.text, word.length) == 0)
            return (int)words[i].part;
    return -1;
}

bool graph_parts_fit(heed_ctx *cx, const heed_graph_data *g, const char *name) {
    unsigned char *const learnt = data_room(cx, g->classes, 1, 1);
    const int64_t n = graph_labelled(g);
    char number[24];
    int64_t first = -1;
    if (!learnt) return false;
    memset(learnt, 0, (size_t)g->classes);
    for (int64_t i = 0; i < n; i++)
        if (g->part[i] == HEED_GRAPH_TRAIN && g->label[i] >= 0) learnt[g->label[i]] = 1;
    for (int64_t i = n - 1; i >= 0; i--)
        if (g->part[i] > HEED_GRAPH_TRAIN && g->label[i] >= 0 && !learnt[g->label[i]]) first = i;
    heed_mem_free(cx, learnt);
    return first < 0 ||
           heed_fail(cx, HEED_ERR_FORMAT, "%s: %s '%s' is to %s, but none of its class '%s' is to train", name,
                     graph_unit(g), (g->whole ? heed_graph_name : heed_graph_node_name)(g, first, number),
                     g->part[first] == HEED_GRAPH_TEST ? "test" : "validate",
                     escaped(g->class_names[g->label[first]]).s);
}

/* ---- drawn parts ---- */

/* In a random order, so that whoever comes first may be taken. */
static int64_t *shuffled(heed_ctx *cx, int64_t n, uint64_t seed) {
    int64_t *const order = data_room(cx, n, 1, sizeof *order);
    if (order) heed_random_permutation(seed, 0, order, n);
    return order;
}

static bool split_ok(heed_ctx *cx, const heed_graph_data *g, int64_t per_class, double valid) {
    if (heed_failed(cx)) return false;
    if (!g || !g->label) return heed_fail(cx, HEED_ERR_USAGE, "graph_split: there are no labels");
    return (per_class >= 0 && valid >= 0 && valid < 1) ||
           heed_fail(cx, HEED_ERR_RANGE, "graph_split: %lld of each class and %g to validate: not negative, below 1",
                     (long long)per_class, valid);
}

/* `each` labelled ones of each class are to train, the rest is to test; how many that is. */
static int64_t draw_training(heed_graph_data *g, const int64_t *order, int64_t n, int64_t each, int64_t *count) {
    int64_t rest = 0;
    memset(count, 0, (size_t)g->classes * sizeof *count);
    for (int64_t k = 0; k < n; k++) {
        const int32_t label = g->label[order[k]];
        const bool trains = label >= 0 && count[label]++ < each;
        g->part[order[k]] = label < 0 ? HEED_GRAPH_NONE : trains ? HEED_GRAPH_TRAIN : HEED_GRAPH_TEST;
        rest += label >= 0 && !trains;
    }
    return rest;
}

bool heed_graph_split(heed_ctx *cx, heed_graph_data *g, int64_t per_class, double valid, uint64_t seed) {
    if (!split_ok(cx, g, per_class, valid)) return false;
    const int64_t n = graph_labelled(g);
    int64_t *const order = shuffled(cx, n, seed), *const count = data_room(cx, g->classes, 1, sizeof *count);
    if (!g->part) g->part = data_room(cx, n, 1, 1);
    if (count && g->part) {
        /* One of each class trains whatever the fraction: none is to be unknown to the model. */
        int64_t of = draw_training(g, order, n, per_class > 0 ? per_class : 1, count), left;
        for (int64_t i = 0; per_class == 0 && i < g->classes; i++) of += count[i] > 0;
        left = (int64_t)(valid * (double)of + 0.5);
        for (int64_t k = 0; k < n; k++) {
            unsigned char *const part = &g->part[order[k]];
            if (*part != HEED_GRAPH_TEST) continue;
            *part = left > 0 ? HEED_GRAPH_VALID : per_class > 0 ? HEED_GRAPH_TEST : HEED_GRAPH_TRAIN;
            left--;
        }
    }
    heed_mem_free(cx, count);
    heed_mem_free(cx, order);
    return !heed_failed(cx);
}

int64_t *heed_graph_rows(heed_ctx *cx, const heed_graph_data *g, heed_graph_part part, int64_t *n) {
    if (heed_failed(cx)) return NULL;
    if (!g || !n) return heed_fail(cx, HEED_ERR_USAGE, "graph_rows: the %s NULL", g ? "count is" : "graphs are"), NULL;
    const int64_t all = graph_labelled(g);
    int64_t *const rows = data_room(cx, all, 1, sizeof *rows);
    *n = 0;
    for (int64_t i = 0; rows && i < all; i++)
        if (g->part ? g->part[i] == (unsigned char)part : part == HEED_GRAPH_NONE) rows[(*n)++] = i;
    return rows;
}
