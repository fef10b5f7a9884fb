/* Effective approaches to attention-based neural machine translation (Luong, Pham & Manning 2015).
 *
 *     h_t of a deep LSTM, which starts from the last states of the encoder's
 *     score(h_t, h_s) = h_t' h_s  (dot),  h_t' W h_s  (general)  or  v' tanh(W_a [h_t; h_s])  (concat)
 *     a_t = softmax over s of score(h_t, h_s);  c_t = sum_s a_t(s) h_s                             global
 *     p_t = t, or the last word of a shorter source; a_t over |s - p_t| <= D                        local-m
 *     p_t = S sigmoid(v_p' tanh(W_p h_t)); a_t over |s - p_t| <= D, times exp(-(s - p_t)^2 / (D^2 / 2))  local-p
 *     g_t = tanh(W_c [c_t; h_t]);  p(y_t | …) = softmax(W_s g_t)
 *
 * With input feeding a step reads [y_t-1; g_t-1], so that it knows what was looked at, and the decoder goes step by
 * step; without, all steps are computed at once. Of concat, W_a is kept as two matrices, of h_t and of h_s. */
#include "model/core/families.h"
#include "model/encdec/encdec.h"
#include "tensor/engine.h"
#include <math.h>

enum score { DOT, GENERAL, CONCAT };
enum looks { GLOBAL, LOCAL_M, LOCAL_P };

struct luong {
    struct encdec m;
    enum score score;
    enum looks looks;
    float window;                      /* D */
    heed_linear_layer general;         /* W */
    struct encdec_alignment alignment; /* W_a and v */
    heed_linear_layer hidden, place;   /* W_p, v_p */
    heed_linear_layer combine;         /* W_c */
};

static const heed_key luong_keys[] = {
    ENCDEC_KEYS("256", "512"),
    ENCDEC_LAYERS_KEY,
    {"score", HEED_KEY_TEXT, "general", "dot, general or concat"},
    {"attention", HEED_KEY_TEXT, "global",
     "global, or a window: local-m around the same position, local-p around a predicted one"},
    {"window", HEED_KEY_INT, "10", "number of tokens on either side that local attention looks at"},
    {"input_feeding", HEED_KEY_BOOL, "true", "a step also reads what the last one gave the output layer"},
    ENCDEC_END};

static bool encode(heed_ctx *cx, const struct encdec *m, heed_tensor *x, struct encdec_source *source) {
    const struct luong *const l = (const struct luong *)m;
    heed_tensor *const h = heed_rnn_run(cx, &m->encoder, x, source->lengths, NULL, &source->first);
    source->memory = encdec_in_order(cx, source, h);
    if (!source->memory) return false;
    if (l->score == GENERAL) source->keys = heed_linear_run(cx, &l->general, source->memory, HEED_ACT_NONE);
    if (l->score == CONCAT) source->keys = heed_linear_run(cx, &l->alignment.key, source->memory, HEED_ACT_NONE);
    return !heed_failed(cx);
}

static heed_tensor *scores(heed_ctx *cx, const struct luong *l, const struct encdec_source *source, heed_tensor *h) {
    if (l->score == CONCAT) return encdec_additive(cx, &l->alignment, source, h);
    return heed_matmul_trans(cx, encdec_by_source(cx, source, h), false,
                             l->score == DOT ? source->memory : source->keys, true);
}

/* (n): 0, 1, 2, ... */
static heed_tensor *numbers(heed_ctx *cx, int64_t n) {
    heed_tensor *const to = heed_zeros(cx, HEED_F32, 1, &n);
    for (int64_t i = 0; to && !cx->config.dry && i < n; i++) ((float *)(void *)to->data)[i] = (float)i;
    return to;
}

/* (B,Q,1): p_t of local-p */
static heed_tensor *predicted(heed_ctx *cx, const struct luong *l, const struct encdec_source *source, heed_tensor *h) {
    heed_tensor *const p = heed_linear_run(cx, &l->hidden, encdec_by_source(cx, source, h), HEED_ACT_TANH);
    return heed_mul(cx, heed_linear_run(cx, &l->place, p, HEED_ACT_SIGMOID), source->sizes);
}

/* (B,Q,1): p_t of local-m; place (1,R,1): the number of the first of T steps */
static heed_tensor *in_step(heed_ctx *cx, const struct encdec_source *source, heed_tensor *place, int64_t T) {
    if (!place) return NULL;
    heed_tensor *const t = heed_reshape(cx, numbers(cx, T), 3, (int64_t[]){1, T, 1});
    heed_tensor *const p = heed_add(cx, heed_reshape(cx, place, 3, (int64_t[]){place->shape[1], 1, 1}), t);
    return heed_minimum(cx, encdec_by_source(cx, source, p), heed_affine(cx, source->sizes, 1, -1));
}

/* scores (B,Q,S) -> weights of the words within the window around p_t */
static heed_tensor *look_near(heed_ctx *cx, const struct luong *l, const struct encdec_source *source,
                              heed_tensor *score, heed_tensor *p) {
    heed_tensor *const d = heed_sub(cx, numbers(cx, source->memory->shape[1]), p), *const square = heed_mul(cx, d, d);
    heed_tensor *const far = heed_greater(cx, square, heed_full(cx, l->window * l->window, 0, NULL));
    heed_tensor *const a = encdec_weights(cx, source, heed_where(cx, far, heed_full(cx, -INFINITY, 0, NULL), score));
    if (l->looks == LOCAL_M) return a;
    return heed_mul(cx, a, heed_exp(cx, heed_affine(cx, square, -2 / (l->window * l->window), 0)));
}

/* h (R,T,H) -> g (R,T,H); row: the number of the first step among those that are captured */
static heed_tensor *attend(heed_ctx *cx, const struct luong *l, const struct encdec_source *source, heed_tensor *place,
                           heed_tensor *h, int64_t row) {
    if (heed_failed(cx) || !h) return NULL;
    heed_tensor *a = scores(cx, l, source, h);
    if (l->looks == GLOBAL)
        a = encdec_weights(cx, source, a);
    else if (l->looks == LOCAL_M)
        a = look_near(cx, l, source, a, in_step(cx, source, place, h->shape[1]));
    else
        a = look_near(cx, l, source, a, predicted(cx, l, source, h));
    heed_tensor *const c = encdec_context(cx, source, a, row, h->shape[0]);
    return heed_linear_run(cx, &l->combine, heed_concat(cx, (heed_tensor *[]){c, h}, 2, 2), HEED_ACT_TANH);
}

/* The number of the step behind T more, or behind those that are real; i32 (R) or NULL: all. */
static heed_tensor *advance(heed_ctx *cx, heed_tensor *place, heed_tensor *real, int64_t T) {
    if (!place) return NULL;
    if (!real) return heed_affine(cx, place, 1, (float)T);
    return heed_add(cx, place, heed_reshape(cx, heed_cast(cx, real, HEED_F32), 3, place->shape));
}

/* g (R,1,H) for the next step; rows that do not go on keep what they have. */
static heed_tensor *feed(heed_ctx *cx, heed_tensor *on, heed_tensor *g, heed_tensor *fed) {
    if (!g || !fed) return NULL;
    g = heed_reshape(cx, g, 3, fed->shape);
    if (!on) return g;
    heed_tensor *const real = heed_not_equal(cx, heed_cast(cx, on, HEED_F32), heed_full(cx, 0, 0, NULL));
    return heed_where(cx, heed_reshape(cx, real, 3, (int64_t[]){1, fed->shape[1], 1}), g, fed);
}

static heed_tensor *step_by_step(heed_ctx *cx, const struct luong *l, const struct encdec_source *source,
                                 heed_tensor *y, struct encdec_steps *steps) {
    const int64_t R = y->shape[0], T = y->shape[1];
    heed_tensor **const g = heed_mem_new(cx, (size_t)T * sizeof *g);
    for (int64_t t = 0; g && t < T; t++) {
        heed_rnn_state last;
        heed_tensor *const on = encdec_goes_on(cx, steps, t);
        heed_tensor *const fed = heed_reshape(cx, steps->fed, 3, (int64_t[]){R, 1, l->m.units});
        heed_tensor *const x = heed_concat(cx, (heed_tensor *[]){heed_slice(cx, y, 1, t, 1), fed}, 2, 2);
        heed_tensor *const h = heed_rnn_run(cx, &l->m.decoder, x, on, &steps->state, &last);
        g[t] = attend(cx, l, source, steps->place, h, t);
        steps->state = last;
        steps->place = advance(cx, steps->place, on, 1);
        steps->fed = feed(cx, on, g[t], steps->fed);
    }
    heed_tensor *const all = heed_failed(cx) ? NULL : heed_concat(cx, g, (int)T, 1);
    heed_mem_free(cx, g);
    return all;
}

static heed_tensor *decode(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source, heed_tensor *y,
                           struct encdec_steps *steps) {
    if (heed_failed(cx) || !y) return NULL;
    if (m->fed_width > 0) return step_by_step(cx, (const struct luong *)m, source, y, steps);
    heed_rnn_state last;
    heed_tensor *const h = heed_rnn_run(cx, &m->decoder, y, steps->counts, &steps->state, &last);
    heed_tensor *const g = attend(cx, (const struct luong *)m, source, steps->place, h, 0);
    steps->state = last;
    steps->place = advance(cx, steps->place, steps->counts, y->shape[1]);
    return g;
}

static const struct encdec_kind kind = {.encode = encode, .decode = decode};

static bool luong_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    static const char *const score_names[] = {"dot", "general", "concat", NULL};
    static const char *const looks[] = {"global", "local-m", "local-p", NULL};
    struct luong *const l = own;
    struct encdec *const m = &l->m;
    if (!encdec_begin(cx, config, set, &kind, 0, m)) return false;
    const int64_t H = m->units;
    l->score = (enum score)config_choice(cx, config, "score", score_names);
    l->looks = (enum looks)config_choice(cx, config, "attention", looks);
    l->window = (float)config_int(cx, config, "window", 1, (int64_t)1 << 20);
    m->fed_width = heed_json_bool(cx, config, "input_feeding") ? H : 0;
    m->counts_steps = l->looks == LOCAL_M;
    m->memory_width = H;
    m->keys_width = l->score == DOT ? 0 : H;
    if (heed_failed(cx) || !encdec_networks(cx, set, HEED_LSTM, false, m->embedding + m->fed_width, m)) return false;
    if (l->score == GENERAL && !heed_linear_make(cx, set, "general", H, H, false, &l->general)) return false;
    if (l->score == CONCAT && !encdec_alignment(cx, set, H, H, H, &l->alignment)) return false;
    if (l->looks == LOCAL_P && (!heed_linear_make(cx, set, "position.hidden", H, H, false, &l->hidden) ||
                                !heed_linear_make(cx, set, "position.energy", H, 1, false, &l->place)))
        return false;
    if (!heed_linear_make(cx, set, "combine", 2 * H, H, false, &l->combine)) return false;
    l->combine.weight->init = (heed_init){HEED_INIT_XAVIER_UNIFORM, 1, 0}; /* nothing fades on its way through it */
    return encdec_output(cx, set, H, m);
}

static const heed_head luong_heads[] = {ENCDEC_HEAD("LuongForTranslation", luong_build)};

const heed_family family_luong = {
    .name = "luong",
    .type = "heed-luong",
    .paper = "Luong et al. 2015",
    .summary = "deep LSTMs with attention behind the decoder: dot, general or concat, global or local, input feeding",
    .notes = ENCDEC_NOTES("general.weight or alignment.query.weight, alignment.key.weight and alignment.energy.weight, "
                          "position.hidden.weight and position.energy.weight, combine.weight, "),
    .keys = luong_keys,
    .heads = luong_heads,
    .size = sizeof(struct luong),
};
