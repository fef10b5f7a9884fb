/* Decoders and T5, as bench/decoders.py has them: a prompt, greedy decoding, a plain read of the weights, which is the
 * least that a token takes, and training steps. The directories are those that the peers were made from. */
#include "base/thread_pool.h"
#include "bench.h"
#include "kernel/finite.h"
#include "nn/params.h"
#include <stdio.h>

#define PROMPT 16    /* tokens */
#define SOURCE 128   /* tokens of what T5 sums up */
#define PIECE  65536 /* floats that a task reads */

/* As a generator opens it. */
static void open_for_use(struct bench *b, const char *name) {
    b->model = heed_model_load_as(b->cx, shared(b, name), &(heed_load_opts){.map = true});
}

static const char *gpt2_name(const struct bench *b) { return b->k ? "gpt2-bf16" : "gpt2"; }

/* count ids of length tokens each, of which the last is `last`, or any where that is negative */
static void put_ids(struct bench *b, int64_t count, int64_t length, int32_t last) {
    b->ids = class_ids(b->cx, count * length, 9973);
    b->source = heed_mem_new(b->cx, (size_t)count * sizeof *b->source);
    for (int64_t i = 0; b->source && i < count; i++) {
        b->source[i] = (heed_ids){0};
        for (int64_t t = 0; t < length; t++)
            heed_ids_put(b->cx, &b->source[i], t + 1 == length && last >= 0 ? last : b->ids[i * length + t]);
    }
}

/* ---- a prompt ---- m: 1, n: tokens, k: 1 for bf16 */

static void prefill_setup(struct bench *b) {
    open_for_use(b, gpt2_name(b));
    put_ids(b, 1, b->n, -1);
}
static void prefill(struct bench *b) {
    heed_session *s = heed_session_open(b->cx, b->model, NULL, 1);
    heed_session_append(b->cx, s, b->source);
    heed_session_close(b->cx, s);
}

/* ---- greedy decoding ---- m: sequences, n: new tokens of each, k: 1 for bf16; the tokens go into heed.txt */

static void decode_setup(struct bench *b) {
    open_for_use(b, gpt2_name(b));
    put_ids(b, b->m, PROMPT, -1);
}
static void summaries_setup(struct bench *b) {
    open_for_use(b, "t5");
    put_ids(b, b->m, SOURCE, 1); /* T5's end token */
}
static void greedy(struct bench *b) {
    const heed_generate_opts opts = {.beams = 1, .max_new_tokens = b->n, .min_new_tokens = b->n, .batch = b->m};
    heed_generated *made = heed_generate(b->cx, b->model, b->source, b->m, &opts);
    if (made && !b->step) write_tokens(b, made);
    heed_mem_free(b->cx, made);
}

/* ---- what a token takes at least ---- the same weights, read once by the same threads, in the order in which they lie
 */

struct piece {
    const float *at;
    int64_t n;
};
static struct {
    struct piece *list;
    int64_t n;
} pieces;

static void read_setup(struct bench *b) {
    open_for_use(b, gpt2_name(b));
    if (!b->model) return;
    const heed_params *const set = heed_model_params(b->model);
    pieces.n = 0;
    pieces.list = heed_mem_new(b->cx, (size_t)(set->numbers / PIECE + set->n) * sizeof *pieces.list);
    for (int i = 0; pieces.list && i < set->n; i++) {
        const heed_param *const p = set->list[i];
        if (p->target) continue;
        const int64_t n = p->dtype == HEED_F32 ? p->count : p->count / 2;
        for (int64_t at = 0; at < n; at += PIECE)
            pieces.list[pieces.n++] = (struct piece){(const float *)p->data + at, n - at < PIECE ? n - at : PIECE};
    }
}
static void read_task(void *arg, int64_t task, void *scratch) { /* whether they are finite: by whole vectors */
    (void)scratch;
    if (!kernel_is_finite(pieces.list[task].at, pieces.list[task].n))
        heed_fail(((struct bench *)arg)->cx, HEED_ERR_USAGE, "read_weights: a weight is not finite");
}
static void read_weights(struct bench *b) { pool_run(b->cx->pool, pieces.n, read_task, b); }

/* ---- a training step ---- m: sequences, n: tokens of each, k: 1 for the GPT of characters, 0 for GPT-2. The first
 * loss goes into loss.txt. */

static void step_setup(struct bench *b) {
    b->model = heed_model_load(b->cx, shared(b, b->k ? "chars" : "gpt2"));
    if (!b->model) return;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-4}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    b->ids = class_ids(b->cx, b->m * b->n, b->k ? 61 : 9973);
    heed_set_training(b->cx, true);
}
static void step(struct bench *b) {
    heed_io in = {.loss_only = true}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    heed_tensor *const ids = heed_borrow(b->cx, HEED_I32, b->ids, 2, (int64_t[]){b->m, b->n}, NULL);
    heed_io_put(b->cx, &in, "input_ids", ids);
    heed_io_put(b->cx, &in, "labels", ids);
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_tensor *const loss = heed_io_get(&out, "loss");
    FILE *file = loss && !b->step ? fopen(shared(b, "loss.txt"), "w") : NULL;
    if (file) {
        fprintf(file, "%.9g\n", (double)heed_item(b->cx, loss));
        fclose(file);
        b->step = 1;
    }
    heed_backward(b->cx, loss);
    heed_trainer_step(b->cx, b->trainer, NULL);
}

void decoders_close(struct bench *b) {
    heed_mem_free(b->cx, pieces.list);
    pieces.list = NULL;
}

const struct workload decoders_workloads[] = {
    {"prefill", prefill_setup, prefill, true},    {"greedy", decode_setup, greedy, true},
    {"summaries", summaries_setup, greedy, true}, {"read_weights", read_setup, read_weights, true},
    {"lm_step", step_setup, step, false},         {0},
};
