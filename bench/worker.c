/* heed's side of the benchmark: reads "NAME THREADS SECONDS" a line, runs that workload again and again, and answers
 * with the best time in milliseconds and the bytes that the step took at its peak. bench/run.py holds the peers' side
 * and the list of names, and gives the folder of what both read as the only argument. */
#include "base/clock.h"
#include "bench.h"
#include "heed/ops.h"
#include "heed/train.h"
#include "kernel/rows.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double now(void) { return 1e3 * clock_seconds(); } /* ms */

float *numbers(heed_ctx *cx, int64_t n, uint64_t stream) {
    float *x = heed_mem_new(cx, (size_t)n * sizeof *x);
    if (!x) exit(1);
    heed_random_normal(1, stream, 0, x, n);
    return x;
}

int32_t *class_ids(heed_ctx *cx, int64_t n, int64_t classes) {
    int32_t *ids = heed_mem_new(cx, (size_t)n * sizeof *ids);
    if (!ids) exit(1);
    for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)((i * 7919) % classes);
    return ids;
}

static heed_tensor *matrix(struct bench *b, const float *data, int64_t rows, int64_t cols, heed_grad *grad) {
    return heed_borrow(b->cx, HEED_F32, data, 2, (int64_t[]){rows, cols}, grad);
}

/* ---- linear: (m,k) x (n,k)' + b ---- */

static void linear_setup(struct bench *b) {
    b->x = numbers(b->cx, b->m * b->k, 0);
    b->w = numbers(b->cx, b->n * b->k, 1);
    b->b = numbers(b->cx, b->n, 2);
    b->dy = numbers(b->cx, b->m * b->n, 3);
    b->grad = numbers(b->cx, b->m * b->k + b->n * b->k + b->n, 4);
    b->slot[0].data = b->grad;
    b->slot[1].data = b->grad + b->m * b->k;
    b->slot[2].data = b->grad + b->m * b->k + b->n * b->k;
}
static heed_tensor *linear_y(struct bench *b, bool grad) {
    for (int i = 0; i < 3; i++) b->slot[i].filled = false;
    heed_tensor *x = matrix(b, b->x, b->m, b->k, grad ? &b->slot[0] : NULL);
    heed_tensor *w = matrix(b, b->w, b->n, b->k, grad ? &b->slot[1] : NULL);
    heed_tensor *bias = heed_borrow(b->cx, HEED_F32, b->b, 1, (int64_t[]){b->n}, grad ? &b->slot[2] : NULL);
    return heed_linear(b->cx, x, w, bias);
}
static void linear_forward(struct bench *b) { linear_y(b, false); }
static void linear_both(struct bench *b) {
    heed_backward_from(b->cx, linear_y(b, true), matrix(b, b->dy, b->m, b->n, NULL));
}

/* ---- rows: (m,n) ---- */

static void rows_setup(struct bench *b) {
    b->x = numbers(b->cx, b->m * b->n, 0);
    b->w = numbers(b->cx, b->n, 1);
    b->b = numbers(b->cx, b->n, 2);
    b->dy = numbers(b->cx, b->m * b->n, 3);
    b->grad = numbers(b->cx, b->m * b->n + 2 * b->n, 4);
    b->slot[0].data = b->grad;
    b->slot[1].data = b->grad + b->m * b->n;
    b->slot[2].data = b->grad + b->m * b->n + b->n;
}
static heed_tensor *rows_x(struct bench *b) {
    for (int i = 0; i < 3; i++) b->slot[i].filled = false;
    return matrix(b, b->x, b->m, b->n, &b->slot[0]);
}
static void rows_back(struct bench *b, heed_tensor *y) {
    heed_backward_from(b->cx, y, matrix(b, b->dy, b->m, b->n, NULL));
}
static void softmax_both(struct bench *b) { rows_back(b, heed_softmax(b->cx, rows_x(b), -1)); }
static void gelu_both(struct bench *b) { rows_back(b, heed_gelu(b->cx, rows_x(b))); }
static void dropout_both(struct bench *b) {
    heed_set_training(b->cx, true);
    rows_back(b, heed_dropout(b->cx, rows_x(b), 0.1f));
}
static void layer_norm_both(struct bench *b) {
    heed_tensor *x = rows_x(b);
    heed_tensor *gamma = heed_borrow(b->cx, HEED_F32, b->w, 1, &b->n, &b->slot[1]);
    heed_tensor *beta = heed_borrow(b->cx, HEED_F32, b->b, 1, &b->n, &b->slot[2]);
    rows_back(b, heed_layer_norm(b->cx, x, gamma, beta, 1e-5f));
}

/* ---- cross entropy from hidden states: (m,k) into n classes ---- */

static void cross_entropy_setup(struct bench *b) {
    b->x = numbers(b->cx, b->m * b->k, 0);
    b->w = numbers(b->cx, b->n * b->k, 1);
    for (int64_t i = 0; i < b->n * b->k; i++) b->w[i] *= 0.02f;
    b->grad = numbers(b->cx, b->m * b->k + b->n * b->k, 4);
    b->slot[0].data = b->grad;
    b->slot[1].data = b->grad + b->m * b->k;
    b->ids = class_ids(b->cx, b->m, b->n);
}
static void cross_entropy_both(struct bench *b) {
    b->slot[0].filled = b->slot[1].filled = false;
    heed_tensor *x = matrix(b, b->x, b->m, b->k, &b->slot[0]), *w = matrix(b, b->w, b->n, b->k, &b->slot[1]);
    heed_tensor *ids = heed_borrow(b->cx, HEED_I32, b->ids, 1, &b->m, NULL);
    heed_backward(b->cx, heed_linear_cross_entropy(b->cx, x, w, NULL, ids, NULL));
}

/* ---- AdamW over m numbers ---- */

static void adamw_setup(struct bench *b) {
    b->w = numbers(b->cx, b->m, 0);
    b->grad = numbers(b->cx, b->m, 1);
    b->moments = heed_mem_new(b->cx, 2 * (size_t)b->m * sizeof(float));
    if (!b->moments) exit(1);
    memset(b->moments, 0, 2 * (size_t)b->m * sizeof(float));
}
static void adamw_run(struct bench *b) {
    const struct adam a = {.lr = 1e-3,
                           .beta1 = 0.9,
                           .beta2 = 0.999,
                           .eps = 1e-8,
                           .weight_decay = 0.01,
                           .decoupled = true,
                           .step = ++b->step,
                           .scale = 1};
    kernel_adam(b->cx->pool, b->w, b->moments, b->moments + b->m, b->grad, b->m, &a);
}

/* ---- a training step of the MLP 784-256-10, batch m ---- */

enum { PIXELS = 784, HIDDEN = 256, DIGITS = 10, MLP_PARAMS = HIDDEN * PIXELS + HIDDEN + DIGITS * HIDDEN + DIGITS };

static void mlp_setup(struct bench *b) {
    const int64_t sizes[4] = {HIDDEN * PIXELS, HIDDEN, DIGITS * HIDDEN, DIGITS};
    const int64_t batch = b->m;
    b->x = numbers(b->cx, batch * PIXELS, 9);
    b->ids = class_ids(b->cx, batch, DIGITS);
    b->m = MLP_PARAMS;
    adamw_setup(b);
    b->m = batch;
    for (int64_t i = 0; i < MLP_PARAMS; i++) b->w[i] *= 0.03f;
    int64_t at = 0;
    for (int i = 0; i < 4; at += sizes[i++]) b->slot[i].data = b->grad + at;
}
static heed_tensor *mlp_param(struct bench *b, int i, int rank, int64_t rows, int64_t cols) {
    b->slot[i].filled = false;
    return heed_borrow(b->cx, HEED_F32, b->w + (b->slot[i].data - b->grad), rank, (int64_t[]){rows, cols}, &b->slot[i]);
}
static void mlp_step(struct bench *b) {
    heed_tensor *h = heed_linear_act(b->cx, matrix(b, b->x, b->m, PIXELS, NULL), mlp_param(b, 0, 2, HIDDEN, PIXELS),
                                     mlp_param(b, 1, 1, HIDDEN, 0), HEED_ACT_RELU);
    heed_tensor *logits = heed_linear(b->cx, h, mlp_param(b, 2, 2, DIGITS, HIDDEN), mlp_param(b, 3, 1, DIGITS, 0));
    heed_backward(b->cx, heed_cross_entropy(b->cx, logits, heed_borrow(b->cx, HEED_I32, b->ids, 1, &b->m, NULL), NULL));
    const int64_t batch = b->m;
    b->m = MLP_PARAMS;
    adamw_run(b);
    b->m = batch;
}

/* ---- an epoch of the MLP 784-256-10 over n pictures of 28 x 28 bytes, batch m, loading included ---- */

static void epoch_setup(struct bench *b) {
    b->data = heed_data_digits(b->cx, 1, b->n);
    heed_dataset set = {0};
    heed_data_columns(b->cx, b->data, &set);
    b->batches = heed_batches_open(b->cx, &set, &(heed_batches_opts){.batch = b->m, .shuffle = true, .seed = 1});
    b->params = heed_params_new(b->cx);
    heed_mlp_make(b->cx, b->params, "layers", (int64_t[]){PIXELS, HIDDEN, DIGITS}, 2, HEED_ACT_RELU, 0, &b->mlp);
    heed_params_allocate(b->cx, b->params);
    heed_params_init(b->cx, b->params, 1);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-3}};
    b->trainer = heed_trainer_new(b->cx, b->params, &opts);
}
static void epoch_run(struct bench *b) {
    const heed_batch *batch;
    do {
        batch = heed_batches_next(b->cx, b->batches);
        if (!batch) return;
        heed_trainer_begin(b->cx, b->trainer);
        heed_tensor *x = heed_batch_tensor(b->cx, batch, "x"), *target = heed_batch_tensor(b->cx, batch, "labels");
        heed_backward(b->cx, heed_cross_entropy(b->cx, heed_mlp_run(b->cx, &b->mlp, x), target, NULL));
        heed_trainer_step(b->cx, b->trainer, NULL);
        heed_reset(b->cx);
    } while (!batch->last);
}
static void close_all(struct bench *b) {
    heed_trainer_free(b->cx, b->trainer);
    encoders_close(b);
    decoders_close(b);
    language_close(b);
    graphs_close(b);
    translate_close(b);
    heed_params_free(b->cx, b->params);
    heed_batches_close(b->cx, b->batches);
    heed_data_free(b->cx, b->data);
    heed_close(b->cx);
}

/* ---- m adds of n numbers with gradient ---- */

static void adds_setup(struct bench *b) {
    b->x = numbers(b->cx, b->n, 0);
    b->w = numbers(b->cx, b->n, 1);
    b->dy = numbers(b->cx, b->n, 2);
}
static void adds_run(struct bench *b) {
    heed_tensor *x = heed_want_grad(b->cx, heed_from_f32(b->cx, b->x, 1, &b->n));
    heed_tensor *w = heed_borrow(b->cx, HEED_F32, b->w, 1, &b->n, NULL);
    for (int64_t i = 0; i < b->m; i++) x = heed_add(b->cx, x, w);
    heed_backward_from(b->cx, x, heed_borrow(b->cx, HEED_F32, b->dy, 1, &b->n, NULL));
}

static const struct workload workloads[] = {
    {"linear_forward", linear_setup, linear_forward, true},
    {"linear_both", linear_setup, linear_both, false},
    {"softmax_both", rows_setup, softmax_both, false},
    {"layer_norm_both", rows_setup, layer_norm_both, false},
    {"gelu_both", rows_setup, gelu_both, false},
    {"dropout_both", rows_setup, dropout_both, false},
    {"cross_entropy_both", cross_entropy_setup, cross_entropy_both, false},
    {"adamw", adamw_setup, adamw_run, false},
    {"mlp_step", mlp_setup, mlp_step, false},
    {"epoch", epoch_setup, epoch_run, false},
    {"adds", adds_setup, adds_run, false},
    {0},
};

static const struct workload *find(const char *name) {
    const struct workload *const tables[] = {
        workloads,           attention_workloads,  translate_workloads,    tokens_workloads,    encoders_workloads,
        recurrent_workloads, vision_workloads,     decoders_workloads,     language_workloads,  fourier_workloads,
        detectors_workloads, assignment_workloads, autoencoders_workloads, diffusion_workloads, graphs_workloads};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct workload *w = tables[t]; w->name; w++)
            if (strcmp(w->name, name) == 0) return w;
    return NULL;
}

/* Runs for about `seconds`, after one or two to warm up, and a few times at least. */
static double best_of(struct bench *b, const struct workload *w, double seconds) {
    double best = 1e30;
    const double begin = now();
    double took = 0;
    for (int i = 0; i < (took > 5000 ? 1 : took > 200 ? 3 : 8) || now() - begin < seconds * 1e3; i++) {
        const double t = now();
        w->run(b);
        took = now() - t;
        heed_reset(b->cx);
        if (i >= (took > 5000 ? 0 : took > 200 ? 1 : 2) && took < best) best = took;
    }
    return best;
}

int main(int argc, char **argv) {
    char line[256], name[64], open[256] = "";
    struct bench b = {0};
    const struct workload *w = NULL;
    while (fgets(line, sizeof line, stdin)) {
        int threads;
        long long m, n, k;
        double seconds;
        if (sscanf(line, "%63s %lld %lld %lld %d %lf", name, &m, &n, &k, &threads, &seconds) != 6 ||
            !(w = find(name))) {
            printf("error: what is '%.*s'?\n", (int)strcspn(line, "\n"), line);
            fflush(stdout);
            continue;
        }
        /* the numbers of the last workload are kept as long as the next is the same */
        char want[256];
        snprintf(want, sizeof want, "%s %lld %lld %lld %d", name, m, n, k, threads);
        if (strcmp(want, open) != 0) {
            close_all(&b);
            b = (struct bench){.m = m, .n = n, .k = k, .cx = heed_open(&(heed_config){.threads = threads})};
            b.folder = argc > 1 ? argv[1] : ".";
            w->setup(&b);
            heed_set_grad(b.cx, !w->forward_only);
            snprintf(open, sizeof open, "%s", want);
        }
        heed_memory_reset_peak(b.cx);
        const double best = best_of(&b, w, seconds);
        if (heed_failed(b.cx))
            printf("error: %s\n", heed_message(b.cx));
        else
            printf("%.6f %zu\n", best, heed_memory_use(b.cx).step_peak);
        fflush(stdout);
    }
    close_all(&b);
    return 0;
}
