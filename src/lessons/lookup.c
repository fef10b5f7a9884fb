/* A layer of attention that looks up values by name, with three kinds of score. */
#include "lessons/lookup.h"
#include "lessons/store.h"
#include <string.h>

enum { KEYS = LOOKUP_KEYS, IN = 2 * KEYS, WIDTH = 96, BATCH = 32, TESTS = 200 };
#define SLOPE 0.2F /* of LeakyReLU below 0 */

static const struct {
    const char *name, *key;
} kinds[LOOKUP_KINDS] = {{"dot product", "dot"}, {"GAT", "gat"}, {"GATv2", "gatv2"}};

const char *lookup_name(int kind) { return kinds[kind].name; }
const char *lookup_key(int kind) { return kinds[kind].key; }

struct layer {
    heed_params *params;
    heed_trainer *trainer;
    heed_linear_layer query, key, value, own, other, reader; /* own, other: what scores are made of */
    int kind;
};

static bool open_layer(struct lesson_run *r, int kind, struct layer *l) {
    heed_ctx *const cx = r->cx;
    *l = (struct layer){.params = heed_params_new(cx), .kind = kind};
    heed_linear_make(cx, l->params, "query", IN, WIDTH, false, &l->query);
    heed_linear_make(cx, l->params, "key", IN, WIDTH, false, &l->key);
    heed_linear_make(cx, l->params, "value", IN, WIDTH, false, &l->value);
    heed_linear_make(cx, l->params, "own", WIDTH, 1, false, &l->own);
    heed_linear_make(cx, l->params, "other", WIDTH, 1, false, &l->other);
    heed_linear_make(cx, l->params, "reader", WIDTH, KEYS, true, &l->reader);
    heed_params_allocate(cx, l->params);
    heed_params_init(cx, l->params, r->seed);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM}, .schedule = {.kind = HEED_CONSTANT, .lr = 0.01}};
    l->trainer = heed_trainer_new(cx, l->params, &opts);
    return !heed_failed(cx);
}

/* Dictionaries number `first` and on: the name of a query, the name and the value of a key, and what is asked for.
 * Key i has name i, and its value is its place in a permutation. */
static void draw_dictionaries(uint64_t seed, int64_t first, int64_t n, float *query, float *key, int32_t *wanted) {
    memset(query, 0, (size_t)(n * KEYS * IN) * sizeof *query);
    memset(key, 0, (size_t)(n * KEYS * IN) * sizeof *key);
    for (int64_t b = 0; b < n; b++) {
        int64_t value[KEYS];
        heed_random_permutation(seed, (uint64_t)(first + b), value, KEYS);
        for (int i = 0; i < KEYS; i++) {
            query[(b * KEYS + i) * IN + i] = key[(b * KEYS + i) * IN + i] = 1;
            key[(b * KEYS + i) * IN + KEYS + value[i]] = 1;
            wanted[b * KEYS + i] = (int32_t)value[i];
        }
    }
}

/* (n,KEYS,WIDTH), (n,KEYS,WIDTH) -> (n,KEYS,KEYS) */
static heed_tensor *scores(heed_ctx *cx, const struct layer *l, heed_tensor *q, heed_tensor *k, int64_t n) {
    if (l->kind == LOOKUP_DOT) return heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_SCALED_DOT});
    if (l->kind == LOOKUP_GAT) {
        heed_tensor *const own = heed_linear_run(cx, &l->own, q, HEED_ACT_NONE), *const other = heed_linear_run(
                                                                                     cx, &l->other, k, HEED_ACT_NONE);
        return heed_leaky_relu(cx, heed_add(cx, own, heed_transpose(cx, other, 1, 2)), SLOPE);
    }
    q = heed_reshape(cx, q, 4, (int64_t[]){n, KEYS, 1, WIDTH});
    k = heed_reshape(cx, k, 4, (int64_t[]){n, 1, KEYS, WIDTH});
    heed_tensor *const both = heed_leaky_relu(cx, heed_add(cx, q, k), SLOPE);
    return heed_reshape(cx, heed_linear_run(cx, &l->own, both, HEED_ACT_NONE), 3, (int64_t[]){n, KEYS, KEYS});
}

static heed_tensor *forward(heed_ctx *cx, const struct layer *l, const float *query, const float *key, int64_t n,
                            heed_tensor **score) {
    const int64_t shape[] = {n, KEYS, IN};
    heed_tensor *const asks = heed_from_f32(cx, query, 3, shape), *const known = heed_from_f32(cx, key, 3, shape);
    *score = scores(cx, l, heed_linear_run(cx, &l->query, asks, HEED_ACT_NONE),
                    heed_linear_run(cx, &l->key, known, HEED_ACT_NONE), n);
    heed_tensor *const values = heed_linear_run(cx, &l->value, known, HEED_ACT_NONE);
    return heed_linear_run(cx, &l->reader, heed_matmul(cx, heed_softmax(cx, *score, -1), values), HEED_ACT_NONE);
}

/* Whether two queries have their keys in the same order. */
static bool same_ranking(const float *a, const float *b) {
    for (int i = 0; i < KEYS; i++)
        for (int j = 0; j < KEYS; j++)
            if (a[i] < a[j] && b[i] > b[j]) return false;
    return true;
}

static void count_rankings(const float *score, struct lookup *out) {
    bool favourite[KEYS] = {false};
    out->rankings = out->favourites = 0;
    for (int i = 0; i < KEYS; i++) {
        int before = 0;
        while (before < i && !same_ranking(score + i * KEYS, score + before * KEYS)) before++;
        out->rankings += before == i;
        favourite[lesson_winner(score + i * KEYS, KEYS)] = true;
    }
    for (int j = 0; j < KEYS; j++) out->favourites += favourite[j];
}

static bool measure(struct lesson_run *r, const struct layer *l, struct lookup *out) {
    heed_ctx *const cx = r->cx;
    float *const query = lesson_room(r, TESTS * KEYS * IN, sizeof *query), *const key = lesson_room(
                                                                               r, TESTS * KEYS * IN, sizeof *key);
    int32_t *const wanted = lesson_room(r, TESTS * KEYS, sizeof *wanted);
    if (!query || !key || !wanted) return false;
    draw_dictionaries(r->seed, 0, TESTS, query, key, wanted);
    heed_set_grad(cx, false);
    heed_tensor *score = NULL, *const y = forward(cx, l, query, key, TESTS, &score);
    const float *const logits = numbers_of(r, y), *const s = numbers_of(r, score),
                       *const weights = numbers_of(r, heed_softmax(cx, score, -1));
    heed_reset(cx);
    heed_set_grad(cx, true);
    if (heed_failed(cx)) return false;
    int64_t right = 0;
    for (int64_t i = 0; i < TESTS * KEYS; i++) right += lesson_winner(logits + i * KEYS, KEYS) == wanted[i];
    out->right = (double)right / (TESTS * KEYS);
    count_rankings(s, out);
    memcpy(out->weights, weights, sizeof out->weights);
    return true;
}

bool lookup_learn(struct lesson_run *r, int kind, struct lookup *out) {
    heed_ctx *const cx = r->cx;
    float *const query = lesson_room(r, BATCH * KEYS * IN, sizeof *query), *const key = lesson_room(
                                                                               r, BATCH * KEYS * IN, sizeof *key);
    int32_t *const wanted = lesson_room(r, BATCH * KEYS, sizeof *wanted);
    struct layer l = {.params = NULL};
    bool ok = query && key && wanted && open_layer(r, kind, &l);
    for (int64_t step = 0; ok && step < r->steps; step++) {
        heed_tensor *score;
        lesson_progress(r, kinds[kind].name, step, r->steps);
        draw_dictionaries(r->seed, TESTS + step * BATCH, BATCH, query, key, wanted);
        heed_trainer_begin(cx, l.trainer);
        heed_tensor *const y = forward(cx, &l, query, key, BATCH, &score);
        heed_tensor *const answer = heed_from_i32(cx, wanted, 2, (int64_t[]){BATCH, KEYS});
        lesson_learn(cx, l.trainer, heed_cross_entropy(cx, y, answer, NULL));
        ok = !heed_failed(cx);
    }
    lesson_progress(r, "", 1, 1);
    ok = ok && measure(r, &l, out);
    heed_trainer_free(cx, l.trainer);
    heed_params_free(cx, l.params);
    return ok;
}
