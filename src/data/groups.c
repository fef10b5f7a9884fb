/* Groups of examples of similar length, which are padded little. */
#include "data/data.h"
#include "data/dataset.h"
#include <stdlib.h>
#include <string.h>

struct place {
    const heed_dataset *set;
    int64_t row, width;
    uint32_t chance; /* examples of equal lengths are shuffled */
};

static int by_length(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    for (int k = x->set->columns - 1; k >= 0; k--) {
        if (!x->set->column[k].ragged) continue;
        const int64_t m = heed_dataset_length(x->set, k, x->row), n = heed_dataset_length(x->set, k, y->row);
        if (m != n) return m < n ? -1 : 1;
    }
    if (x->chance != y->chance) return x->chance < y->chance ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Where groups of at most `tokens` tokens begin, padding included; returns their number. */
static int64_t cut(const struct place *places, int64_t n, int64_t tokens, int64_t *start) {
    int64_t groups = 0, widest = 0;
    start[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!group_fits(i - start[groups], widest, places[i].width, tokens)) {
            start[++groups] = i;
            widest = 0;
        }
        if (places[i].width > widest) widest = places[i].width;
    }
    start[++groups] = n;
    return groups;
}

static int64_t cut_by_count(int64_t n, int64_t examples, int64_t *start) {
    int64_t groups = 0;
    for (int64_t i = 0; i < n; i += examples) start[groups++] = i;
    start[groups] = n;
    return groups;
}

/* The same for a number of groups: the smallest `tokens` that gives no more of them, then the largest are halved. */
static int64_t cut_into(const struct place *places, int64_t n, int64_t want, int64_t *start) {
    int64_t low = 1, high = 1;
    while (cut(places, n, high, start) > want) high *= 2;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cut(places, n, middle, start) > want)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t groups = cut(places, n, low, start);
    for (; groups < want; groups++) {
        int64_t largest = 0;
        for (int64_t g = 1; g < groups; g++)
            if (start[g + 1] - start[g] > start[largest + 1] - start[largest]) largest = g;
        const int64_t middle = (start[largest] + start[largest + 1]) / 2;
        memmove(start + largest + 2, start + largest + 1, (size_t)(groups - largest) * sizeof *start);
        start[largest + 1] = middle;
    }
    return groups;
}

static bool check_opts(heed_ctx *cx, const heed_dataset *set, const heed_groups_opts *o, int64_t *n) {
    if (!dataset_check(cx, "groups", set)) return false;
    if (!o || o->tokens < 0 || o->examples < 0 || o->groups < 0 ||
        (o->tokens > 0) + (o->examples > 0) + (o->groups > 0) != 1)
        return heed_fail(cx, HEED_ERR_USAGE, "groups: a positive number of tokens, of examples or of groups is needed");
    *n = o->n_rows;
    if (!data_rows(cx, "groups", set->n, o->rows, n)) return false;
    if (o->groups > *n)
        return heed_fail(cx, HEED_ERR_USAGE, "groups: %lld examples cannot make %lld groups", (long long)*n,
                         (long long)o->groups);
    return true;
}

bool heed_dataset_group(heed_ctx *cx, const heed_dataset *set, const heed_groups_opts *opts, heed_groups *groups) {
    int64_t n;
    if (!check_opts(cx, set, opts, &n)) return false;
    struct place *places = data_room(cx, n, 1, sizeof *places);
    heed_groups g = {0};
    g.row = data_room(cx, n, 1, sizeof *g.row);
    g.start = data_room(cx, n + 1, 1, sizeof *g.start);
    if (!heed_failed(cx)) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = opts->rows ? opts->rows[i] : i;
            places[i] =
                (struct place){set, row, heed_dataset_width(set, row), heed_random_bits(opts->seed, 0, (uint64_t)row)};
        }
        qsort(places, (size_t)n, sizeof *places, by_length);
        for (int64_t i = 0; i < n; i++) g.row[i] = places[i].row;
        g.n = opts->tokens > 0     ? cut(places, n, opts->tokens, g.start)
              : opts->examples > 0 ? cut_by_count(n, opts->examples, g.start)
                                   : cut_into(places, n, opts->groups, g.start);
        *groups = g;
    } else {
        heed_groups_free(cx, &g);
    }
    heed_mem_free(cx, places);
    return !heed_failed(cx);
}

void heed_groups_free(heed_ctx *cx, heed_groups *groups) {
    if (!groups) return;
    heed_mem_free(cx, groups->row);
    heed_mem_free(cx, groups->start);
    *groups = (heed_groups){0};
}
