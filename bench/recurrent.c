/* Recurrent layers. */
#include "bench.h"

/* k: the cell's kind; n units and as many inputs. */
static heed_rnn rnn;

static void make(struct bench *b, int kind) {
    const heed_rnn_opts opts = {.kind = (heed_cell_kind)kind, .inputs = b->n, .units = b->n, .layers = 1, .bias = true};
    b->params = heed_params_new(b->cx);
    heed_rnn_make(b->cx, b->params, "", &opts, &rnn);
    heed_params_allocate(b->cx, b->params);
    heed_params_init(b->cx, b->params, 1);
}

/* m rows of 50 steps: forward and backward, of x and of all weights. */
enum { STEPS = 50 };

static void both_setup(struct bench *b) {
    make(b, (int)b->k);
    b->x = numbers(b->cx, b->m * STEPS * b->n, 0);
    b->dy = numbers(b->cx, b->m * STEPS * b->n, 1);
    b->grad = numbers(b->cx, heed_params_size(b->params) + b->m * STEPS * b->n, 2);
    float *at = b->grad;
    for (int i = 0; i < heed_params_count(b->params); i++) {
        b->slot[i].data = at;
        at += heed_params_at(b->params, i)->count;
    }
    b->slot[7].data = at;
    heed_bind(b->cx, b->params, b->slot);
}
static void both(struct bench *b) {
    const int64_t shape[] = {b->m, STEPS, b->n};
    for (int i = 0; i < 8; i++) b->slot[i].filled = false;
    heed_tensor *x = heed_borrow(b->cx, HEED_F32, b->x, 3, shape, &b->slot[7]);
    heed_backward_from(b->cx, heed_rnn_run(b->cx, &rnn, x, NULL, NULL, NULL),
                       heed_borrow(b->cx, HEED_F32, b->dy, 3, shape, NULL));
}

/* One step of m rows, states going in and out. */
static void step_setup(struct bench *b) {
    make(b, (int)b->k);
    b->x = numbers(b->cx, b->m * b->n, 0);
    b->w = numbers(b->cx, 2 * b->m * b->n, 1);
}
static void step(struct bench *b) {
    const int64_t shape[] = {1, b->m, b->n}, count = b->m * b->n;
    heed_rnn_state first = {.h = heed_borrow(b->cx, HEED_F32, b->w, 3, shape, NULL)}, last;
    if (rnn.opts.kind == HEED_LSTM) first.c = heed_borrow(b->cx, HEED_F32, b->w + count, 3, shape, NULL);
    heed_tensor *x = heed_borrow(b->cx, HEED_F32, b->x, 3, (int64_t[]){b->m, 1, b->n}, NULL);
    heed_rnn_run(b->cx, &rnn, x, NULL, &first, &last);
    heed_copy_f32(b->cx, last.h, b->w, count);
    if (last.c) heed_copy_f32(b->cx, last.c, b->w + count, count);
}

/* ---- training steps, with AdamW and without dropout ---- m rows of k tokens on a side; what bench/recurrent.py has */

static void train_setup(struct bench *b, const char *family, const char *const *settings, int n, int64_t vocabulary) {
    b->model = heed_model_new(b->cx, heed_family_find(family), settings, n, 1);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-3}};
    if (b->model) b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    b->ids = class_ids(b->cx, 2 * b->m * b->k, vocabulary - 3);
    for (int64_t i = 0; b->ids && i < 2 * b->m * b->k; i++) b->ids[i] += 3;
    heed_set_training(b->cx, true);
}

static void train(struct bench *b, const char *labels) {
    const int64_t shape[] = {b->m, b->k};
    heed_io in = {.loss_only = true}, out;
    heed_trainer_begin(b->cx, b->trainer);
    heed_io_put(b->cx, &in, "input_ids", heed_borrow(b->cx, HEED_I32, b->ids, 2, shape, NULL));
    heed_io_put(b->cx, &in, labels, heed_borrow(b->cx, HEED_I32, b->ids + b->m * b->k, 2, shape, NULL));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

/* An LSTM language model of 2 x n units and 10,000 words. */
static void lm_setup(struct bench *b) {
    static const char *const settings[] = {"vocab_size=10000", "embedding_size=200", "hidden_size=200", "num_layers=2",
                                           "dropout=0"};
    train_setup(b, "lstm", settings, 5, 10000);
}
static void lm_step(struct bench *b) { train(b, "shift_labels"); }

/* Bahdanau's translator, n wide, of 8,000 words. */
static void aligned_setup(struct bench *b) {
    static const char *const settings[] = {
        "vocab_size=8000", "embedding_size=256", "hidden_size=256", "maxout_size=256",
        "dropout=0",       "pad_token_id=1",     "eos_token_id=2",  "decoder_start_token_id=1"};
    train_setup(b, "bahdanau", settings, 8, 8000);
}
static void aligned_step(struct bench *b) { train(b, "labels"); }

const struct workload recurrent_workloads[] = {
    {"lstm_lm_step", lm_setup, lm_step, false},
    {"bahdanau_step", aligned_setup, aligned_step, false},
    {"recurrent_both", both_setup, both, false},
    {"recurrent_step", step_setup, step, true},
    {0},
};
