#include "lessons/days.h"
#include <stdio.h>

enum { WIDTH = 32, HIDDEN = 128 };

const char *const days_source_names[] = {"1", "2", "3", "4", "+", "-"};
const char *const days_answer_names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "today"};
const struct days_parts days_whole = {
    .positions = true, .residual = true, .norm = true, .feed_forward = true, .cross = true, .mask = true, .heads = 4};

/* ---- the task ---- */

bool days_draw(struct lesson_run *r, uint64_t stream, int64_t n, struct days *d) {
    *d = (struct days){.n = n,
                       .source = lesson_room(r, n * DAYS_SOURCE, sizeof *d->source),
                       .answer = lesson_room(r, n * DAYS_MOVES, sizeof *d->answer)};
    if (heed_failed(r->cx)) return false;
    for (int64_t i = 0; i < n * DAYS_MOVES; i++) {
        const int32_t move = (int32_t)(heed_random_bits(r->seed, stream, (uint64_t)i) % (2 * DAYS_FARTHEST));
        const int32_t number = 1 + move % DAYS_FARTHEST, minus = move / DAYS_FARTHEST;
        const int32_t before = i % DAYS_MOVES ? d->answer[i - 1] : 0;
        d->source[2 * i] = DAYS_PLUS + minus;
        d->source[2 * i + 1] = number - 1;
        d->answer[i] = (before + (minus ? DAYS_WEEK - number : number)) % DAYS_WEEK;
    }
    return true;
}

struct days days_part(const struct days *d, int64_t from, int64_t n) {
    return (struct days){.n = n, .source = d->source + from * DAYS_SOURCE, .answer = d->answer + from * DAYS_MOVES};
}

void days_text(const struct days *d, int64_t i, char source[64], char answer[64]) {
    int s = 0, a = 0;
    for (int64_t k = i * DAYS_MOVES; k < (i + 1) * DAYS_MOVES; k++) {
        const char *space = k > i * DAYS_MOVES ? " " : "";
        s += snprintf(source + s, (size_t)(64 - s), "%s%s%s", space, days_source_names[d->source[2 * k]],
                      days_source_names[d->source[2 * k + 1]]);
        a += snprintf(answer + a, (size_t)(64 - a), "%s%s", space, days_answer_names[d->answer[k]]);
    }
}

double days_right(const struct days *d, const int32_t *answers) {
    int64_t right = 0;
    for (int64_t i = 0; i < d->n * DAYS_MOVES; i++) right += answers[i] == d->answer[i];
    return (double)right / (double)(d->n * DAYS_MOVES);
}

/* ---- the network ---- */

static bool make(heed_ctx *cx, struct days_network *net) {
    static const char *const norms[] = {"norm1", "norm2", "norm3", "norm4", "norm5"};
    const heed_multihead_opts attention = {.width = WIDTH, .heads = net->parts.heads, .bias = true};
    heed_params *set = net->params;
    bool ok = heed_embedding_make(cx, set, "source", DAYS_FARTHEST + 2, WIDTH, &net->source) &&
              heed_embedding_make(cx, set, "answer", DAYS_WEEK + 1, WIDTH, &net->answer) &&
              heed_linear_make(cx, set, "out", WIDTH, DAYS_WEEK, true, &net->out) &&
              heed_multihead_make(cx, set, "encoder", &attention, &net->encoder) &&
              heed_multihead_make(cx, set, "decoder", &attention, &net->decoder);
    if (net->parts.cross) ok = ok && heed_multihead_make(cx, set, "cross", &attention, &net->cross);
    if (net->parts.feed_forward)
        ok = ok &&
             heed_feed_forward_make(cx, set, "encoder_ff", WIDTH, HIDDEN, true, HEED_ACT_RELU, 0, &net->encoder_ff) &&
             heed_feed_forward_make(cx, set, "decoder_ff", WIDTH, HIDDEN, true, HEED_ACT_RELU, 0, &net->decoder_ff);
    for (int i = 0; net->parts.norm && i < 5; i++)
        ok = ok && heed_norm_make(cx, set, norms[i], WIDTH, false, 1e-5f, &net->norm[i]);
    return ok;
}

bool days_open(struct lesson_run *r, const struct days_parts *parts, int64_t steps, struct days_network *net) {
    heed_ctx *cx = r->cx;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.01, .warmup = 20, .steps = steps},
                                    .clip = 1};
    *net = (struct days_network){.parts = *parts, .params = heed_params_new(cx)};
    if (!net->params || !make(cx, net) || !heed_params_allocate(cx, net->params) ||
        !heed_params_init(cx, net->params, r->seed))
        return false;
    net->trainer = heed_trainer_new(cx, net->params, &opts);
    return net->trainer;
}

void days_close(struct lesson_run *r, struct days_network *net) {
    heed_trainer_free(r->cx, net->trainer);
    heed_params_free(r->cx, net->params);
}

static heed_tensor *normed(heed_ctx *cx, const struct days_network *net, int norm, heed_tensor *x) {
    return net->parts.norm ? heed_norm_run(cx, &net->norm[norm], x) : x;
}

static heed_tensor *join(heed_ctx *cx, const struct days_network *net, heed_tensor *x, heed_tensor *found) {
    return net->parts.residual ? heed_add(cx, x, found) : found;
}

static heed_tensor *embed(heed_ctx *cx, const struct days_network *net, const heed_embedding_layer *table,
                          const int32_t *tokens, int64_t n, int64_t length) {
    heed_tensor *x = heed_embedding_run(cx, table, heed_from_i32(cx, tokens, 2, (int64_t[]){n, length}));
    return net->parts.positions ? heed_add(cx, x, heed_sine_positions(cx, 0, length, WIDTH, false)) : x;
}

static heed_tensor *feed(heed_ctx *cx, const struct days_network *net, const heed_feed_forward *layer, int norm,
                         heed_tensor *x) {
    if (!net->parts.feed_forward) return x;
    return join(cx, net, x, heed_feed_forward_run(cx, layer, normed(cx, net, norm, x)));
}

heed_tensor *days_encode(heed_ctx *cx, const struct days_network *net, const struct days *d) {
    heed_tensor *x = embed(cx, net, &net->source, d->source, d->n, DAYS_SOURCE), *y = normed(cx, net, 0, x);
    y = heed_multihead_run(cx, &net->encoder, y, y, y, &(heed_attention_opts){.site = "encoder"});
    return feed(cx, net, &net->encoder_ff, 3, join(cx, net, x, y));
}

heed_tensor *days_decode(heed_ctx *cx, const struct days_network *net, heed_tensor *memory, const int32_t *given,
                         int64_t n, int64_t length) {
    const heed_mask mask = net->parts.mask ? heed_mask_causal(0) : heed_mask_none();
    heed_tensor *x = embed(cx, net, &net->answer, given, n, length), *y = normed(cx, net, 1, x);
    y = heed_multihead_run(cx, &net->decoder, y, y, y, &(heed_attention_opts){.mask = mask, .site = "decoder"});
    x = join(cx, net, x, y);
    if (net->parts.cross) {
        y = normed(cx, net, 2, x);
        y = heed_multihead_run(cx, &net->cross, y, memory, memory, &(heed_attention_opts){.site = "cross"});
        x = join(cx, net, x, y);
    }
    return heed_linear_run(cx, &net->out, feed(cx, net, &net->decoder_ff, 4, x), HEED_ACT_NONE);
}

/* ---- learning and answering ---- */

void days_shift(const struct days *d, int32_t *given) {
    for (int64_t i = 0; i < d->n * DAYS_MOVES; i++) given[i] = i % DAYS_MOVES ? d->answer[i - 1] : DAYS_TODAY;
}

static int32_t best_of(const float *logits) { return (int32_t)lesson_winner(logits, DAYS_WEEK); }

void days_prefix(const int32_t *given, int64_t n, int64_t length, int32_t *prefix) {
    for (int64_t i = 0; i < n * length; i++) prefix[i] = given[i / length * DAYS_MOVES + i % length];
}

/* Answer number `at` of every task, from what was given up to there: what comes later is not there yet. */
static bool answer_at(heed_ctx *cx, const struct days_network *net, heed_tensor *memory, const int32_t *given,
                      int64_t n, int64_t at, int32_t *answers) {
    const int64_t length = at + 1;
    int32_t *prefix = heed_mem_new(cx, (size_t)(n * length) * sizeof *prefix);
    if (!prefix) return false;
    days_prefix(given, n, length, prefix);
    heed_scope_begin(cx);
    const float *logits = heed_f32(days_decode(cx, net, memory, prefix, n, length));
    for (int64_t i = 0; logits && i < n; i++)
        answers[i * DAYS_MOVES + at] = best_of(logits + (i * length + at) * DAYS_WEEK);
    heed_scope_end(cx, NULL);
    heed_mem_free(cx, prefix);
    return logits;
}

bool days_go(struct lesson_run *r, const struct days_network *net, const struct days *d, int64_t places,
             const float *dice, float share, int32_t *given, int32_t *answers) {
    heed_ctx *cx = r->cx;
    int32_t *own = answers ? answers : heed_mem_new(cx, (size_t)(d->n * DAYS_MOVES) * sizeof *own);
    heed_set_grad(cx, false);
    days_shift(d, given);
    heed_tensor *memory = own ? days_encode(cx, net, d) : NULL;
    for (int64_t at = 0; memory && !heed_failed(cx) && at < places; at++) {
        if (!answer_at(cx, net, memory, given, d->n, at, own)) break;
        for (int64_t i = at; at + 1 < DAYS_MOVES && i < d->n * DAYS_MOVES; i += DAYS_MOVES)
            if (!dice || dice[i] < share) given[i + 1] = own[i];
    }
    if (!answers) heed_mem_free(cx, own);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

bool days_told(struct lesson_run *r, const struct days_network *net, const struct days *d, int32_t *answers) {
    heed_ctx *cx = r->cx;
    heed_set_grad(cx, false);
    days_shift(d, answers); /* read before it is written over */
    const float *logits = heed_f32(days_decode(cx, net, days_encode(cx, net, d), answers, d->n, DAYS_MOVES));
    for (int64_t i = 0; logits && i < d->n * DAYS_MOVES; i++) answers[i] = best_of(logits + i * DAYS_WEEK);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

float days_learn(heed_ctx *cx, struct days_network *net, const struct days *d, const int32_t *given) {
    heed_trainer_begin(cx, net->trainer);
    heed_tensor *logits = days_decode(cx, net, days_encode(cx, net, d), given, d->n, DAYS_MOVES);
    heed_tensor *wanted = heed_from_i32(cx, d->answer, 2, (int64_t[]){d->n, DAYS_MOVES});
    heed_tensor *loss = heed_cross_entropy(cx, logits, wanted, NULL);
    return lesson_learn(cx, net->trainer, loss);
}
