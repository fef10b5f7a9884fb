/* Layers that exchange values between tokens, trained on jobs that need it. */
#include "lessons/exchange.h"
#include <math.h>
#include <string.h>

enum { N = TOKENS, KEY = 16, IN = 2 * KEY + N, WIDTH = 16, HIDDEN = 32, BATCH = 32, TESTS = 2000 };
static const float spread = 1.5f; /* of JOB_NEAR, in tokens */

/* ---- sequences ---- */

struct sequences {
    int64_t n;
    float *x, *value, *wanted; /* (n,N,IN): query, key, place; (n,N,1); (n,N,1) */
};

/* One sequence; random numbers are those of its number. */
static void draw_sequence(uint64_t seed, uint64_t number, enum exchange_job job, float *x, float *value,
                          float *wanted) {
    float keys[N][KEY];
    int from[N];
    heed_random_normal(seed, 100 + number, 0, keys[0], N * KEY);
    heed_random_normal(seed, 100 + number, N * KEY, value, N);
    for (int t = 0; t < N; t++) from[t] = t;
    for (int t = N - 1; t > 0; t--) { /* a random order */
        const int k = (int)(heed_random_bits(seed, 100 + number, (uint64_t)(2 * N * KEY + t)) % (uint64_t)(t + 1));
        const int other = from[k];
        from[k] = from[t], from[t] = other;
    }
    for (int t = 0; t < N; t++, x += IN) {
        memcpy(x, keys[from[t]], sizeof keys[0]);
        memcpy(x + KEY, keys[t], sizeof keys[0]);
        memset(x + 2 * KEY, 0, N * sizeof *x);
        x[2 * KEY + t] = 2;
        float sum = 0, all = 0;
        for (int s = 0; s < N; s++) {
            const float apart = (float)(t - s) / spread, w = expf(-apart * apart / 2);
            sum += w * value[s], all += w;
        }
        wanted[t] = job == JOB_NEAR ? sum / all : value[job == JOB_SHIFT ? (t + N / 2) % N : from[t]];
    }
}

static bool draw_sequences(struct lesson_run *r, uint64_t first, int64_t n, enum exchange_job job,
                           struct sequences *s) {
    s->n = n;
    s->x = lesson_room(r, n * N * IN, sizeof *s->x);
    s->value = lesson_room(r, n * N, sizeof *s->value);
    s->wanted = lesson_room(r, n * N, sizeof *s->wanted);
    for (int64_t i = 0; s->x && s->value && s->wanted && i < n; i++)
        draw_sequence(r->seed, first + (uint64_t)i, job, s->x + i * N * IN, s->value + i * N, s->wanted + i * N);
    return !heed_failed(r->cx);
}

/* ---- layers ---- */

struct layer {
    struct exchange_opts opts;
    heed_params *params;
    heed_linear_layer q, k;
    heed_param *gain;          /* (1): of what is read, as attention's last matrix */
    heed_param *e, *f;         /* (rows,N) */
    heed_param *slots, *names; /* (rows,WIDTH): what a slot listens for, and what is read by */
    heed_param *w1, *b1, *w2;  /* along time: (2N,N), (2N,1), (N,2N) */
    heed_linear_layer in, out;
    heed_trainer *trainer;
};

static heed_param *matrix(heed_ctx *cx, heed_params *set, const char *name, int64_t rows, int64_t cols, float size) {
    return heed_param_add(cx, set, "", name, 2, (int64_t[]){rows, cols}, (heed_init){HEED_INIT_NORMAL, 0, size});
}

static bool open_layer(struct lesson_run *r, const struct exchange_opts *o, struct layer *l) {
    heed_ctx *cx = r->cx;
    heed_params *const set = l->params = heed_params_new(cx);
    l->opts = *o;
    if (o->kind == LAYER_MIXER) {
        l->w1 = matrix(cx, set, "w1", 2 * N, N, 0.25f);
        l->b1 = heed_param_add(cx, set, "", "b1", 2, (int64_t[]){2 * N, 1}, (heed_init){.kind = HEED_INIT_ZEROS});
        l->w2 = matrix(cx, set, "w2", N, 2 * N, 0.25f);
        heed_linear_make(cx, set, "in", 2 * (IN + 1), HIDDEN, true, &l->in);
        heed_linear_make(cx, set, "out", HIDDEN, 1, true, &l->out);
    } else {
        heed_linear_make(cx, set, "q", IN, WIDTH, false, &l->q);
        heed_linear_make(cx, set, "k", IN, WIDTH, false, &l->k);
        l->gain = heed_param_add(cx, set, "", "gain", 1, (int64_t[]){1}, (heed_init){.kind = HEED_INIT_ONES});
    }
    if (o->kind == LAYER_LINFORMER || o->kind == LAYER_RANDOM) {
        l->e = matrix(cx, set, "e", o->rows, N, 1 / sqrtf(N));
        l->f = matrix(cx, set, "f", o->rows, N, 1 / sqrtf(N));
        if (l->e && l->f && o->kind == LAYER_RANDOM) l->e->frozen = l->f->frozen = true;
    }
    if (o->kind == LAYER_WORKSPACE) {
        l->slots = matrix(cx, set, "slots", o->rows, WIDTH, 1);
        l->names = matrix(cx, set, "names", o->rows, WIDTH, 1);
    }
    if (!heed_params_allocate(cx, set) || !heed_params_init(cx, set, r->seed)) return false;
    l->trainer = heed_trainer_new(cx, set,
                                  &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAM},
                                                       .schedule = {.kind = HEED_COSINE, .lr = 0.02, .steps = r->steps},
                                                       .clip = 1});
    return l->trainer != NULL;
}

static void close_layer(struct lesson_run *r, struct layer *l) {
    heed_trainer_free(r->cx, l->trainer);
    heed_params_free(r->cx, l->params);
}

/* softmax(a b') of a (…,n,WIDTH) and b (…,m,WIDTH) */
static heed_tensor *weights_of(heed_ctx *cx, heed_tensor *a, heed_tensor *b, const heed_mask *mask) {
    heed_tensor *const s = heed_matmul_trans(cx, a, false, b, true);
    return s ? heed_normalise(cx, heed_affine(cx, s, 0.25f, 0), HEED_NORMALISE_SOFTMAX, mask) : NULL;
}

/* What the slots hear, (B,rows,N), of k (B,N,WIDTH). */
static heed_tensor *hear(heed_ctx *cx, const struct layer *l, heed_tensor *k) {
    heed_tensor *const slots = heed_param_tensor(cx, l->slots), *values, *index;
    if (l->opts.top_k == 0 || !k) return weights_of(cx, slots, k, NULL);
    heed_tensor *const s = heed_matmul_trans(cx, slots, false, heed_detach(cx, k), true);
    if (!s || !heed_topk(cx, heed_detach(cx, s), l->opts.top_k, &values, &index)) return NULL;
    const int64_t shape[] = {heed_dim(s, 0), 1, heed_dim(s, 1), N};
    heed_tensor *won = heed_scatter_add(cx, heed_zeros(cx, HEED_F32, 3, heed_shape(s)), -1, index,
                                        heed_full(cx, 1, 3, heed_shape(index)));
    won = heed_reshape(cx, heed_cast(cx, won, HEED_U8), 4, shape);
    const heed_mask winners = heed_mask_keep(won);
    return weights_of(cx, slots, k, &winners);
}

/* x (B,N,IN), v (B,N,1) -> (B,N,1) */
static heed_tensor *forward(heed_ctx *cx, const struct layer *l, heed_tensor *x, heed_tensor *v) {
    if (l->opts.kind == LAYER_MIXER) {
        heed_tensor *const all = heed_concat(cx, (heed_tensor *[]){x, v}, 2, -1);
        heed_tensor *y = heed_matmul(cx, heed_param_tensor(cx, l->w1), all);
        y = heed_matmul(cx, heed_param_tensor(cx, l->w2), heed_gelu(cx, heed_add(cx, y, heed_param_tensor(cx, l->b1))));
        y = heed_concat(cx, (heed_tensor *[]){all, y}, 2, -1);
        return heed_linear_run(cx, &l->out, heed_linear_run(cx, &l->in, y, HEED_ACT_GELU), HEED_ACT_NONE);
    }
    heed_tensor *const q = heed_linear_run(cx, &l->q, x, HEED_ACT_NONE), *const k = heed_linear_run(cx, &l->k, x,
                                                                                                    HEED_ACT_NONE);
    v = heed_mul(cx, v, heed_param_tensor(cx, l->gain));
    switch (l->opts.kind) {
    case LAYER_LINFORMER:
    case LAYER_RANDOM:
        return heed_matmul(cx, weights_of(cx, q, heed_matmul(cx, heed_param_tensor(cx, l->e), k), NULL),
                           heed_matmul(cx, heed_param_tensor(cx, l->f), v));
    case LAYER_WORKSPACE:
        return heed_matmul(cx, weights_of(cx, q, heed_param_tensor(cx, l->names), NULL),
                           heed_matmul(cx, hear(cx, l, k), v));
    default:
        return heed_matmul(cx, weights_of(cx, q, k, NULL), v);
    }
}

static heed_tensor *forward_of(heed_ctx *cx, const struct layer *l, const float *x, const float *v, int64_t n) {
    return forward(cx, l, heed_from_f32(cx, x, 3, (int64_t[]){n, N, IN}),
                   heed_from_f32(cx, v, 3, (int64_t[]){n, N, 1}));
}

/* ---- learning and measuring ---- */

static bool learn(struct lesson_run *r, struct layer *l) {
    heed_ctx *cx = r->cx;
    struct sequences s;
    if (!draw_sequences(r, 0, BATCH, l->opts.job, &s)) return false;
    for (int64_t step = 0; step < r->steps && !heed_failed(cx); step++) {
        for (int64_t i = 0; i < BATCH; i++)
            draw_sequence(r->seed, (uint64_t)(TESTS + step * BATCH + i), l->opts.job, s.x + i * N * IN, s.value + i * N,
                          s.wanted + i * N);
        heed_trainer_begin(cx, l->trainer);
        heed_tensor *const y = forward_of(cx, l, s.x, s.value, BATCH);
        heed_tensor *const wanted = heed_from_f32(cx, s.wanted, 3, (int64_t[]){BATCH, N, 1});
        lesson_learn(cx, l->trainer, heed_mse_loss(cx, y, wanted, HEED_REDUCE_MEAN));
    }
    return !heed_failed(cx);
}

static double squares(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)a[i] - (b ? (double)b[i] : 0);
        sum += d * d;
    }
    return sum;
}

/* How far each output moves when one value is moved by 1/8, of sequence number `i`. */
static bool differentiate(struct lesson_run *r, const struct layer *l, const struct sequences *s, int64_t i,
                          float *map) {
    const float move = 0.125f;
    float *x = lesson_room(r, (N + 1) * N * IN, sizeof *x), *v = lesson_room(r, (N + 1) * N, sizeof *v);
    float y[N + 1][N];
    if (!x || !v) return false;
    for (int k = 0; k <= N; k++) {
        memcpy(x + k * N * IN, s->x + i * N * IN, N * IN * sizeof *x);
        memcpy(v + k * N, s->value + i * N, N * sizeof *v);
        if (k < N) v[k * N + k] += move;
    }
    heed_tensor *const out = forward_of(r->cx, l, x, v, N + 1);
    if (!out || !heed_copy_f32(r->cx, out, y[0], (N + 1) * N)) return false;
    for (int t = 0; t < N; t++)
        for (int k = 0; k < N; k++) map[t * N + k] = (y[k][t] - y[N][t]) / move;
    return true;
}

bool exchange(struct lesson_run *r, const struct exchange_opts *opts, struct exchanged *out) {
    heed_ctx *cx = r->cx;
    struct layer l = {.params = NULL};
    struct sequences tests;
    bool ok = draw_sequences(r, 0, TESTS, opts->job, &tests) && open_layer(r, opts, &l) && learn(r, &l);
    heed_set_grad(cx, false);
    const float *y = ok ? heed_f32(forward_of(cx, &l, tests.x, tests.value, TESTS)) : NULL;
    ok = y != NULL;
    if (ok) out->error = squares(y, tests.wanted, TESTS * N) / squares(tests.wanted, NULL, TESTS * N);
    for (int i = 0; ok && i < 2; i++) ok = differentiate(r, &l, &tests, i, out->map[i]);
    heed_reset(cx);
    heed_set_grad(cx, true);
    close_layer(r, &l);
    return ok && !heed_failed(cx);
}

/* ---- pictures ---- */

void exchange_draw(heed_figure *f, int row, int column, const char *title, const float *map, double high) {
    heed_panel *const p = heed_figure_panel(f, row, column);
    heed_panel_title(p, title);
    heed_panel_labels(p, "of the value of token", "what token gets");
    heed_panel_heatmap(p, map, N, N, &(heed_heatmap){.high = high, .no_bar = true});
}

void exchange_table(struct lesson_run *r, const char *name, const char *const *columns, const float *const *maps,
                    int n) {
    float *query = lesson_room(r, N * N, sizeof *query), *key = lesson_room(r, N * N, sizeof *key);
    heed_table_column *all = lesson_room(r, 2 + n, sizeof *all);
    if (!query || !key || !all) return;
    for (int i = 0; i < N * N; i++) query[i] = (float)(i / N), key[i] = (float)(i % N);
    all[0] = (heed_table_column){.name = "token", .f32 = query};
    all[1] = (heed_table_column){.name = "of", .f32 = key};
    for (int i = 0; i < n; i++) all[2 + i] = (heed_table_column){.name = columns[i], .f32 = maps[i]};
    lesson_table(r, name, all, 2 + n, N * N);
}
