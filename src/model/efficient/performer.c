/* Performer (Choromanski et al. 2021): softmax's exp(q'k) is the mean of products of random features, so that the sums
 * over keys are made once, for all queries (FAVOR+).
 *
 *     y_i = sum_j a_ij v_j / sum_j a_ij,   a_ij = f(q_i)'f(k_j),   f(x) = exp(w'x - |x|^2 / 2) / sqrt(m)
 *
 * with q and k divided by D^(1/4), and m rows w that are normal vectors, orthogonal in blocks. A layer costs O(T m C)
 * instead of O(T^2 C); decoding has a state of (m, D + 1) numbers for each head, whatever the length. What it leaves
 * out: sharp attention needs many features, for the error grows with exp(|q + k|^2).
 * Features are numbers of the model like its weights, though never trained. Every redraw_interval passes of training
 * they are drawn anew, as a function of seed, number of the draw and layer. */
#include "attention/linear_attention.h"
#include "base/checked.h"
#include "model/efficient/mixing.h"
#include "tensor/engine.h"
#include <string.h>

struct performer {
    heed_multihead attention;
    heed_param *features; /* w (m,D) */
    heed_param *draw;     /* which draw they are */
    heed_favor_kind kind;
    bool orthogonal;
    int64_t interval; /* 0: fixed */
};

static bool build(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                  int number, void *own) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"}, *const kinds[] = {"positive", "hyperbolic",
                                                                                         "trigonometric", NULL};
    struct performer *const p = own;
    const struct part_name in = part_under(cx, prefix, "self_attn");
    const int64_t C = m->encoder.width, all = config_int(cx, config, "num_random_features", 1, 2048);
    (void)number;
    p->kind = (heed_favor_kind)config_choice(cx, config, "feature_kind", kinds);
    p->interval = config_int(cx, config, "redraw_interval", 0, INT32_MAX);
    p->orthogonal = heed_json_bool(cx, config, "orthogonal_features");
    if (!part_heads(cx, config, "hidden_size", "num_attention_heads", &p->attention)) return false;
    const bool twice = p->kind != HEED_FAVOR_POSITIVE;
    if (twice && all % 2 != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_random_features"),
                              "%s features come in pairs: an even number is needed", kinds[p->kind]);
    const int64_t D = C / p->attention.heads, shape[] = {twice ? all / 2 : all, D};
    if (D > 256 || all * D > 0x40000)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_random_features"),
                              "%lld features of heads of %lld numbers: heads have at most 256, and the product is at "
                              "most 262144",
                              (long long)all, (long long)D);
    if (!part_qkv(cx, set, in.s, names, C, m->encoder.init, &p->attention.in) ||
        !part_linear(cx, set, in.s, "out_proj", C, C, true, m->encoder.init, &p->attention.out))
        return false;
    p->features = heed_param_buffer(cx, set, in.s, "features", 2, shape,
                                    (heed_init){p->orthogonal ? HEED_INIT_ORTHOGONAL : HEED_INIT_NORMAL, 0, 1});
    p->draw = heed_param_buffer(cx, set, in.s, "draw", 0, NULL, (heed_init){.kind = HEED_INIT_ZEROS});
    if (heed_failed(cx)) return false;
    p->features->needs_f32 = true;
    p->draw->stored = HEED_I64;
    return true;
}

/* w, drawn anew where it is time. */
static heed_tensor *features(heed_ctx *cx, const struct performer *p, int layer) {
    const struct engine *const e = engine_of(cx);
    if (e && e->training && p->interval > 0 && p->features->value && !cx->config.dry) {
        const uint64_t draw = e->step / (uint64_t)p->interval;
        if (draw > 0 && *p->draw->value != (float)draw) {
            favor_draw(cx->seed, draw << 16 | (uint64_t)layer, p->orthogonal, p->features->shape[0],
                       p->features->shape[1], p->features->value);
            *p->draw->value = (float)draw;
        }
    }
    return heed_param_tensor(cx, p->features);
}

/* ---- decoding ---- the state of a row: for each layer and head the sums over its keys */

struct sums {
    float *now, *next; /* (layers, rows, H, size); next: room for reorder */
    int64_t *held;     /* (rows): tokens of a row */
    int64_t *after;
    int64_t layers, rows, size; /* size: of the heads of a layer */
    int64_t heads, features, width;
};

static heed_tensor *run(heed_ctx *cx, const struct mixing *m, const void *own, heed_tensor *x,
                        struct mixing_call *call) {
    const struct performer *const p = own;
    heed_tensor *part[3], *shift = NULL;
    if (heed_failed(cx) || !x) return NULL;
    const int64_t C = heed_dim(x, 2), H = p->attention.heads, shape[] = {heed_dim(x, 0), heed_dim(x, 1), H, C / H};
    if (!heed_split(cx, heed_linear_run(cx, &p->attention.in, x, HEED_ACT_NONE), -1, (int64_t[]){C, C, C}, 3, part))
        return NULL;
    for (int i = 0; i < 3; i++) part[i] = heed_reshape(cx, part[i], 4, shape);
    heed_tensor *const w = features(cx, p, call->number);
    const heed_favor_opts kind = {.kind = p->kind};
    heed_tensor *const q = heed_favor_features(cx, part[0], w, &kind, NULL);
    heed_tensor *const k = heed_favor_features(cx, part[1], w, &kind, &shift), *y;
    if (call->state) {
        const struct sums *const s = call->state;
        y = linear_attention_step(cx, q, k, part[2], shift, call->counts,
                                  s->now ? s->now + call->number * s->rows * s->size : NULL);
    } else {
        heed_linear_attention_opts o = {.mask = call->padding, .key_shift = shift, .layer = call->number};
        o.mask.causal = m->causal;
        y = heed_linear_attention(cx, q, k, part[2], &o);
    }
    return heed_linear_run(cx, &p->attention.out, heed_reshape(cx, y, 3, (int64_t[]){shape[0], shape[1], C}),
                           HEED_ACT_NONE);
}

static void sums_end(heed_ctx *cx, void *state) {
    struct sums *const s = state;
    heed_mem_free(cx, s->now);
    heed_mem_free(cx, s->next);
    heed_mem_free(cx, s->held);
    heed_mem_free(cx, s->after);
    *s = (struct sums){0};
}

/* Room for `rows` rows of states like `like`. */
static bool sums_room(heed_ctx *cx, struct sums *s, const struct sums *like, int64_t rows) {
    size_t bytes;
    if (s->rows >= rows && s->layers == like->layers && s->size == like->size) return true;
    sums_end(cx, s);
    if (!size_mul((size_t)rows, (size_t)(like->layers * like->size) * sizeof(float), &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "%lld rows are too many", (long long)rows);
    *s = *like;
    s->rows = rows;
    s->now = heed_mem_new(cx, bytes);
    s->next = heed_mem_new(cx, bytes);
    s->held = heed_mem_new(cx, (size_t)rows * sizeof *s->held);
    s->after = heed_mem_new(cx, (size_t)rows * sizeof *s->after);
    if (heed_failed(cx)) sums_end(cx, s);
    return !heed_failed(cx);
}

static bool sums_rewind(heed_ctx *cx, void *state, int64_t rows) {
    const struct sums *const s = state;
    if (heed_failed(cx)) return false;
    memset(s->held, 0, (size_t)rows * sizeof *s->held);
    for (int64_t i = 0; i < s->layers * s->rows * s->heads; i++)
        linear_attention_clear(s->now + i * (s->size / s->heads), s->features, s->width);
    return true;
}

static void sums_forget(void *state, int64_t row) {
    const struct sums *const s = state;
    const int64_t each = s->size / s->heads;
    s->held[row] = 0;
    for (int64_t l = 0; l < s->layers; l++)
        for (int64_t h = 0; h < s->heads; h++)
            linear_attention_clear(s->now + (l * s->rows + row) * s->size + h * each, s->features, s->width);
}

static bool sums_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct mixing *const m = own;
    if (m->encoder.stack.layers < 1) return heed_fail(cx, HEED_ERR_USAGE, "a model without layers cannot decode");
    const struct performer *const p = m->layer[0].own;
    struct sums like = {.layers = m->encoder.stack.layers, .heads = p->attention.heads};
    like.features = p->features->shape[0] * (p->kind == HEED_FAVOR_POSITIVE ? 1 : 2);
    like.width = m->encoder.width / like.heads;
    like.size = like.heads * linear_attention_state(like.features, like.width);
    return !heed_failed(cx) && sums_room(cx, state, &like, b->rows) && sums_rewind(cx, state, b->n);
}

static void gather(const struct sums *from, const int32_t *order, int64_t n, int64_t rows, float *to, int64_t *held) {
    for (int64_t i = 0; i < n; i++) held[i] = from->held[order[i]];
    for (int64_t l = 0; l < from->layers; l++)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + (l * rows + i) * from->size, from->now + (l * from->rows + order[i]) * from->size,
                   (size_t)from->size * sizeof(float));
}

static bool sums_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per) {
    struct sums *const s = state, was = *s;
    (void)per;
    if (heed_failed(cx)) return false;
    gather(&was, order, n, s->rows, s->next, s->after);
    s->now = was.next, s->next = was.now;
    s->held = was.after, s->after = was.held;
    return true;
}

static bool sums_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows) {
    struct sums *const s = to;
    if (heed_failed(cx) || !sums_room(cx, s, state, rows)) return false;
    gather(state, order, n, s->rows, s->now, s->held);
    return true;
}

/* Positions (R,T) of new tokens, behind those that a row holds; NULL with a sentence where there are not as many. */
static heed_tensor *positions_of(heed_ctx *cx, const struct sums *s, int64_t R, int64_t T, int64_t most,
                                 const int32_t *counts) {
    heed_tensor *const at = heed_zeros(cx, HEED_I32, 2, (int64_t[]){R, T});
    if (!at || cx->config.dry) return at;
    for (int64_t r = 0; r < R; r++) {
        const int64_t n = counts ? counts[r] : T;
        if (s->held[r] + n > most) {
            heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld",
                      (long long)(s->held[r] + n), (long long)most);
            return NULL;
        }
        for (int64_t t = 0; t < n; t++) ((int32_t *)(void *)at->data)[r * T + t] = (int32_t)(s->held[r] + t);
    }
    return at;
}

static heed_tensor *sums_step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct mixing *const m = own;
    struct sums *const s = state;
    if (heed_failed(cx) || !ids) return NULL;
    const int64_t R = heed_dim(ids, 0), T = heed_dim(ids, 1);
    heed_tensor *const at = positions_of(cx, s, R, T, m->encoder.max_length, counts);
    heed_tensor *const last = heed_zeros(cx, HEED_I32, 1, &R);
    if (heed_failed(cx)) return NULL;
    const struct mixing_call call = {.state = s, .counts = counts};
    heed_tensor *h = mixing_layers(cx, m, mixing_embed(cx, m, ids, at, 0), &call);
    if (!h) return NULL;
    for (int64_t r = 0; r < R && !cx->config.dry; r++) {
        const int64_t n = counts ? counts[r] : T;
        ((int32_t *)(void *)last->data)[r] = (int32_t)(r * T + (n > 0 ? n - 1 : 0));
        s->held[r] += n;
    }
    h = heed_index_select(cx, heed_reshape(cx, h, 2, (int64_t[]){R * T, heed_dim(h, 2)}), 0, last);
    return mixing_logits(cx, m, h);
}

static const struct heed_stepper performer_stepper = {.size = sizeof(struct sums),
                                                      .sizes = mixing_sizes,
                                                      .begin = sums_begin,
                                                      .step = sums_step,
                                                      .reorder = sums_reorder,
                                                      .copy = sums_copy,
                                                      .rewind = sums_rewind,
                                                      .forget = sums_forget,
                                                      .end = sums_end};

/* ---- the family ---- */

static const struct mixing_kind performer_kind = {
    .encoder = MIXING_ENCODER,
    .size = sizeof(struct performer),
    .build = build,
    .run = run,
    .causal = true,
};
static const heed_key performer_keys[] = {
    MIXING_KEYS,
    {"num_attention_heads", HEED_KEY_INT, "4", "number of attention heads, which divides the width"},
    {"num_random_features", HEED_KEY_INT, "256", "random features of a query and a key, m"},
    {"feature_kind", HEED_KEY_TEXT, "positive",
     "positive, hyperbolic (of w'x and of -w'x) or trigonometric (sine and cosine, which may be negative)"},
    {"orthogonal_features", HEED_KEY_BOOL, "true", "features are orthogonal in blocks; otherwise drawn each by itself"},
    {"redraw_interval", HEED_KEY_INT, "1000", "passes of training after which features are drawn anew; 0: never"},
    MIXING_TEXT_KEYS,
    END_OF_KEYS,
};
static const heed_head performer_heads[] = {
    MIXING_HEADS("Performer", causal),
    MIXING_LM("Performer", &performer_stepper),
    {.architecture = NULL},
};

const heed_family family_performer = {
    .name = "performer",
    .type = "heed-performer",
    .base = "model",
    .paper = "Choromanski et al. 2021",
    .summary = "linear attention: softmax's kernel by positive orthogonal random features (FAVOR+)",
    .notes = MIXING_NOTES
    "In layers.N.self_attn: q_proj, k_proj, v_proj, out_proj; and features (num_random_features, or half of them for "
    "hyperbolic and trigonometric ones, by the size of a head) and draw, which are not trained. Attention maps are "
    "those "
    "that the features stand for, a_ij / sum_j a_ij.",
    .keys = performer_keys,
    .heads = performer_heads,
    .kind = &performer_kind,
    .size = sizeof(struct mixing),
};
