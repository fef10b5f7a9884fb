/* Attention, as bench/attention.py has it: 8 heads of 64. */
#include "bench.h"

#define HEADS 8
#define SIZE  64

static heed_tensor *part(struct bench *b, int i, int64_t batch, int64_t time, bool grad) {
    const int64_t shape[] = {batch, time, HEADS, SIZE}, count = batch * time * HEADS * SIZE;
    heed_tensor *t = heed_borrow(b->cx, HEED_F32, b->x + i * count, 4, shape, NULL);
    return grad ? heed_want_grad(b->cx, t) : t;
}

/* m: time, n: batch, k: 1 causal, 2 lengths half full, 3 a window of 256 to each side */
static void attention_setup(struct bench *b) {
    const int64_t count = b->n * b->m * HEADS * SIZE;
    b->x = numbers(b->cx, 3 * count, 0);
    b->dy = numbers(b->cx, count, 1);
    b->ids = class_ids(b->cx, b->n, 1);
    for (int64_t i = 0; i < b->n; i++) b->ids[i] = (int32_t)(b->m / 2);
}
static heed_tensor *attend(struct bench *b, bool grad) {
    heed_attention_opts opts = {0};
    if (b->k == 1) opts.mask = heed_mask_causal(0);
    if (b->k == 3) opts.mask = heed_mask_window(256, 0);
    if (b->k == 2) {
        heed_tensor *lengths = heed_borrow(b->cx, HEED_I32, b->ids, 1, &b->n, NULL);
        opts.mask = heed_mask_lengths(lengths, lengths);
    }
    return heed_attention(b->cx, part(b, 0, b->n, b->m, grad), part(b, 1, b->n, b->m, grad),
                          part(b, 2, b->n, b->m, grad), &opts);
}
static void attention_forward(struct bench *b) { attend(b, false); }
static void attention_both(struct bench *b) {
    const int64_t shape[] = {b->n, b->m, HEADS, SIZE};
    heed_backward_from(b->cx, attend(b, true), heed_borrow(b->cx, HEED_F32, b->dy, 4, shape, NULL));
}

/* One head, causal, there and back. m: time */
static void long_setup(struct bench *b) {
    b->x = numbers(b->cx, 3 * b->m * SIZE, 0);
    b->dy = numbers(b->cx, b->m * SIZE, 1);
}
static void attention_long(struct bench *b) {
    const int64_t shape[] = {1, b->m, 1, SIZE};
    heed_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->x + i * b->m * SIZE, 4, shape, NULL));
    heed_tensor *y = heed_attention(b->cx, x[0], x[1], x[2], &(heed_attention_opts){.mask = heed_mask_causal(0)});
    heed_backward_from(b->cx, y, heed_borrow(b->cx, HEED_F32, b->dy, 4, shape, NULL));
}

/* The rows of one head as well. */
static void drop_row(void *user, const heed_captured *row) { *(float *)user += row->weights[0]; }
static void attention_capture(struct bench *b) {
    float sum = 0;
    heed_capture_begin(b->cx,
                       &(heed_capture_opts){.heads = (int64_t[]){3}, .n_heads = 1, .fn = drop_row, .user = &sum});
    attend(b, false);
    heed_capture_end(b->cx);
}

/* m: positions in the cache; one token a sequence */
static void decode_setup(struct bench *b) {
    const int64_t count = b->m * HEADS * SIZE, shape[] = {1, b->m, HEADS, SIZE};
    b->x = numbers(b->cx, 2 * count, 0);
    b->cache = heed_cache_new(
        b->cx, &(heed_cache_opts){
                   .layers = 1, .batch = 1, .kv_heads = HEADS, .key_size = SIZE, .value_size = SIZE, .capacity = b->m});
    heed_cache_append(b->cx, b->cache, 0, heed_borrow(b->cx, HEED_F32, b->x, 4, shape, NULL),
                      heed_borrow(b->cx, HEED_F32, b->x + count, 4, shape, NULL), NULL);
    heed_reset(b->cx);
}
static void decode(struct bench *b) {
    const int64_t shape[] = {1, 1, HEADS, SIZE};
    heed_cache_attend(b->cx, b->cache, 0, heed_borrow(b->cx, HEED_F32, b->x, 4, shape, NULL), NULL);
}

/* m: time, n: batch, k: width of q, k, v and of the hidden layer */
static void additive_setup(struct bench *b) {
    b->x = numbers(b->cx, 3 * b->n * b->m * b->k, 0);
    b->dy = numbers(b->cx, b->n * b->m * b->k, 1);
    b->w = numbers(b->cx, 2 * b->k * b->k + b->k, 2);
    for (int64_t i = 0; i < 2 * b->k * b->k + b->k; i++) b->w[i] *= 0.06f;
}
static void additive_both(struct bench *b) {
    const int64_t k = b->k, square[] = {k, k}, rows[] = {b->n, b->m, k}, count = b->n * b->m * k;
    heed_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->x + i * count, 3, rows, NULL));
    const heed_score_opts score = {
        .kind = HEED_SCORE_ADDITIVE,
        .wq = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->w, 2, square, NULL)),
        .wk = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->w + k * k, 2, square, NULL)),
        .w = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->w + 2 * k * k, 1, &k, NULL))};
    heed_tensor *y = heed_attention_pool(b->cx, x[0], x[1], x[2], &score, HEED_NORMALISE_SOFTMAX, NULL, NULL);
    heed_backward_from(b->cx, y, heed_borrow(b->cx, HEED_F32, b->dy, 3, rows, NULL));
}

/* The block of torch.nn.MultiheadAttention. m: time, n: batch, k: width */
static void multihead_setup(struct bench *b) {
    b->params = heed_params_new(b->cx);
    heed_multihead_make(b->cx, b->params, "", &(heed_multihead_opts){.width = b->k, .heads = HEADS, .bias = true},
                        &b->multihead);
    heed_params_allocate(b->cx, b->params);
    heed_params_init(b->cx, b->params, 1);
    b->grad = numbers(b->cx, heed_params_size(b->params), 3);
    int64_t at = 0;
    for (int i = 0; i < heed_params_count(b->params); i++) {
        b->slot[i] = (heed_grad){.data = b->grad + at};
        at += heed_params_at(b->params, i)->count;
    }
    heed_bind(b->cx, b->params, b->slot);
    b->x = numbers(b->cx, b->n * b->m * b->k, 0);
    b->dy = numbers(b->cx, b->n * b->m * b->k, 1);
}
static void multihead_both(struct bench *b) {
    const int64_t shape[] = {b->n, b->m, b->k};
    for (int i = 0; i < heed_params_count(b->params); i++) b->slot[i].filled = false;
    heed_tensor *x = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->x, 3, shape, NULL));
    heed_tensor *y = heed_multihead_run(b->cx, &b->multihead, x, x, x, NULL);
    heed_backward_from(b->cx, y, heed_borrow(b->cx, HEED_F32, b->dy, 3, shape, NULL));
}

/* Linear attention, causal, there and back: of k features of queries and keys; and FAVOR+, which makes them of heads of
 * 64 first. m: time, n: batch */
static void linear_setup(struct bench *b) {
    const int64_t rows = b->n * b->m * HEADS;
    b->x = numbers(b->cx, rows * (2 * b->k + SIZE), 0);
    for (int64_t i = 0; i < 2 * rows * b->k; i++) b->x[i] = b->x[i] * b->x[i] + 0.1f;
    b->dy = numbers(b->cx, rows * SIZE, 1);
}
static void linear_attention_both(struct bench *b) {
    const int64_t wide[] = {b->n, b->m, HEADS, b->k}, shape[] = {b->n, b->m, HEADS, SIZE};
    const int64_t count = b->n * b->m * HEADS * b->k;
    heed_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = heed_want_grad(b->cx, heed_borrow(b->cx, HEED_F32, b->x + i * count, 4, i < 2 ? wide : shape, NULL));
    const heed_linear_attention_opts o = {.mask = heed_mask_causal(0)};
    heed_backward_from(b->cx, heed_linear_attention(b->cx, x[0], x[1], x[2], &o),
                       heed_borrow(b->cx, HEED_F32, b->dy, 4, shape, NULL));
}
static void favor_setup(struct bench *b) {
    attention_setup(b);
    b->w = numbers(b->cx, b->k * SIZE, 2);
}
static void favor_both(struct bench *b) {
    const int64_t shape[] = {b->n, b->m, HEADS, SIZE}, drawn[] = {b->k, SIZE};
    heed_tensor *w = heed_borrow(b->cx, HEED_F32, b->w, 2, drawn, NULL), *shift;
    heed_tensor *q = heed_favor_features(b->cx, part(b, 0, b->n, b->m, true), w, NULL, NULL);
    heed_tensor *k = heed_favor_features(b->cx, part(b, 1, b->n, b->m, true), w, NULL, &shift);
    const heed_linear_attention_opts o = {.mask = heed_mask_causal(0), .key_shift = shift};
    heed_backward_from(b->cx, heed_linear_attention(b->cx, q, k, part(b, 2, b->n, b->m, true), &o),
                       heed_borrow(b->cx, HEED_F32, b->dy, 4, shape, NULL));
}

const struct workload attention_workloads[] = {
    {"attention_forward", attention_setup, attention_forward, true},
    {"attention_both", attention_setup, attention_both, false},
    {"attention_long", long_setup, attention_long, false},
    {"attention_capture", attention_setup, attention_capture, true},
    {"decode", decode_setup, decode, true},
    {"additive_both", additive_setup, additive_both, false},
    {"multihead_both", multihead_setup, multihead_both, false},
    {"linear_attention_both", linear_setup, linear_attention_both, false},
    {"favor_both", favor_setup, favor_both, false},
    {0},
};
