/* Conditional DETR (Meng et al. 2021). A query first finds where to look: content and place are kept apart in
 * attention.
 *
 *     s = sigmoid(mlp(o))                              where query o looks first: x and y, from 0 to 1
 *     p = sines(s) * mlp(y)                            y its state; the first layer takes sines(s) alone
 *     y = norm(y + attention(y, o))                    queries and keys are W y + W' o, values W y
 *     y = norm(y + attention([y; p], [x; x's place]))  scores are of content plus of place
 *     y = norm(y + W_2 a(W_1 y))
 *     box = sigmoid(mlp(y) + logit(s)) */
#include "model/detection/detr.h"
#include "tensor/engine.h"

struct conditional_layer {
    heed_linear_layer self_content, self_place, self_out;      /* C -> q, k and v; C -> q and k */
    heed_linear_layer query_content, query_sines, query_place; /* the last of the first layer alone */
    heed_linear_layer memory, key_place, cross_out;            /* C -> k and v */
    heed_norm_layer self_norm, cross_norm, final_norm;
    heed_feed_forward feed_forward;
};

struct conditional {
    struct detr body;
    struct conditional_layer *decoder; /* memory of the parameter set */
    heed_linear_layer scale[2], look[2];
};

static const struct detr_kind kind = {.positions = "position_embedding", .sigmoid = true};

/* ---- making ---- */

static bool make_layer(heed_ctx *cx, heed_params *set, const char *at, const struct detr *m, bool first,
                       struct conditional_layer *l) {
    static const char *const content[] = {"sa_qcontent_proj", "sa_kcontent_proj", "sa_v_proj"},
                             *const place[] = {"sa_qpos_proj", "sa_kpos_proj"},
                             *const memory[] = {"ca_kcontent_proj", "ca_v_proj"};
    const int64_t C = m->width, rows[] = {C, C, C};
    const heed_init init = {HEED_INIT_XAVIER_UNIFORM, m->gain, 0};
    return part_slices(cx, set, at, "sa_content", content, rows, 3, C, true, init, &l->self_content) &&
           part_slices(cx, set, at, "sa_place", place, rows, 2, C, true, init, &l->self_place) &&
           part_linear(cx, set, at, "self_attn.out_proj", C, C, true, init, &l->self_out) &&
           part_norm(cx, set, at, "self_attn_layer_norm", C, 1e-5F, &l->self_norm) &&
           part_linear(cx, set, at, "ca_qcontent_proj", C, C, true, init, &l->query_content) &&
           (!first || part_linear(cx, set, at, "ca_qpos_proj", C, C, true, init, &l->query_place)) &&
           part_slices(cx, set, at, "ca_memory", memory, rows, 2, C, true, init, &l->memory) &&
           part_linear(cx, set, at, "ca_kpos_proj", C, C, true, init, &l->key_place) &&
           part_linear(cx, set, at, "ca_qpos_sine_proj", C, C, true, init, &l->query_sines) &&
           part_linear(cx, set, at, "encoder_attn.out_proj", C, C, true, init, &l->cross_out) &&
           part_norm(cx, set, at, "encoder_attn_layer_norm", C, 1e-5F, &l->cross_norm) &&
           detr_make_feed_forward(cx, set, at, m, m->decoder_hidden, &l->feed_forward) &&
           part_norm(cx, set, at, "final_layer_norm", C, 1e-5F, &l->final_norm);
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    struct conditional *m = own;
    if (!detr_make_body(cx, b, &m->body)) return false;
    const struct detr *const d = &m->body;
    const struct part_name at = part_under(cx, detr_base(b), "decoder");
    m->decoder = heed_params_alloc(cx, b->params, (size_t)d->decoder_layers, sizeof *m->decoder);
    for (int i = 0; i < d->decoder_layers; i++)
        if (!m->decoder ||
            !make_layer(cx, b->params, part_numbered(cx, at.s, "layers", i).s, d, i == 0, &m->decoder[i]))
            return false;
    const heed_init init = {HEED_INIT_XAVIER_UNIFORM, d->gain, 0};
    return detection_make_mlp(cx, b->params, at.s, "query_scale", d->width, d->width, init, m->scale, 2) &&
           detection_make_mlp(cx, b->params, at.s, "ref_point_head", d->width, 2, init, m->look, 2);
}

static bool build_detect(heed_ctx *cx, const heed_build *b, void *own) {
    return build_bare(cx, b, own) && detr_make_heads(cx, b, &((struct conditional *)own)->body);
}

/* ---- running ---- */

/* (…,T,C) -> (…,T,H,D) */
static heed_tensor *heads_of(heed_ctx *cx, const struct detr *m, heed_tensor *x) {
    const int64_t H = m->decoder_heads;
    return x ? heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], x->shape[1], H, m->width / H}) : NULL;
}

/* (B,T,H,D) -> (B,T,C) -> W_o */
static heed_tensor *joined(heed_ctx *cx, const struct detr *m, const heed_linear_layer *out, heed_tensor *y) {
    if (!y) return NULL;
    y = heed_reshape(cx, y, 3, (int64_t[]){y->shape[0], y->shape[1], m->width});
    return heed_linear_run(cx, out, y, HEED_ACT_NONE);
}

/* Queries and keys get what the places o (1 or B,Q,C) give, values do not. */
static heed_tensor *self_attention(heed_ctx *cx, const struct detr *m, int i, const struct conditional_layer *l,
                                   heed_tensor *y, const struct detr_queries *q) {
    const heed_attention_opts o = {.mask = q->mask, .dropout = m->attention_dropout, .site = "decoder", .layer = i};
    heed_tensor *const content = heed_linear_run(cx, &l->self_content, y, HEED_ACT_NONE);
    heed_tensor *const place = heed_linear_run(cx, &l->self_place, q->positions, HEED_ACT_NONE);
    heed_tensor *const placed = heed_pad(cx, place, (const int64_t[]){0, 0, 0}, (const int64_t[]){0, 0, m->width}, 0);
    heed_tensor *const qkv = heed_add(cx, content, placed);
    return joined(cx, m, &l->self_out, heed_self_attention(cx, qkv, m->decoder_heads, m->decoder_heads, &o));
}

/* Content and place side by side in every head: of queries with their sines, and of the encoder's tokens. */
static heed_tensor *cross_attention(heed_ctx *cx, const struct detr *m, int i, const struct conditional_layer *l,
                                    heed_tensor *y, heed_tensor *sines, const struct detr_queries *q,
                                    const struct detr_scene *s) {
    const heed_attention_opts o = {.mask = s->mask, .dropout = m->attention_dropout, .site = "cross", .layer = i};
    const int64_t C = m->width;
    heed_tensor *kv[2], *query = heed_linear_run(cx, &l->query_content, y, HEED_ACT_NONE);
    heed_tensor *const memory = heed_linear_run(cx, &l->memory, s->memory, HEED_ACT_NONE);
    if (!memory || !heed_split(cx, memory, -1, (int64_t[]){C, C}, 2, kv)) return NULL;
    heed_tensor *place = heed_linear_run(cx, &l->key_place, s->positions, HEED_ACT_NONE);
    if (i == 0) {
        query = heed_add(cx, query, heed_linear_run(cx, &l->query_place, q->positions, HEED_ACT_NONE));
        kv[0] = heed_add(cx, kv[0], place);
    }
    sines = heed_linear_run(cx, &l->query_sines, sines, HEED_ACT_NONE);
    if (heed_failed(cx)) return NULL;
    sines = heed_expand(cx, sines, 3, y->shape);
    place = heed_expand(cx, place, 3, s->memory->shape);
    heed_tensor *const queries[] = {heads_of(cx, m, query), heads_of(cx, m, sines)};
    heed_tensor *const keys_of[] = {heads_of(cx, m, kv[0]), heads_of(cx, m, place)};
    query = heed_concat(cx, queries, 2, 3);
    heed_tensor *const key = heed_concat(cx, keys_of, 2, 3);
    return joined(cx, m, &l->cross_out, heed_attention(cx, query, key, heads_of(cx, m, kv[1]), &o));
}

static heed_tensor *run_layer(heed_ctx *cx, const struct conditional *m, int i, heed_tensor *y, heed_tensor *sines,
                              const struct detr_queries *q, const struct detr_scene *s) {
    const struct conditional_layer *const l = &m->decoder[i];
    const struct detr *const d = &m->body;
    heed_scope_begin(cx);
    if (i > 0) sines = heed_mul(cx, sines, detection_mlp(cx, m->scale, 2, y, HEED_ACT_NONE));
    y = detr_after(cx, d, &l->self_norm, y, self_attention(cx, d, i, l, y, q));
    y = detr_after(cx, d, &l->cross_norm, y, cross_attention(cx, d, i, l, y, sines, q, s));
    return heed_scope_end(cx, detr_feed_forward(cx, d, &l->final_norm, &l->feed_forward, y));
}

/* (…,Q,2) -> (…,Q,C): y before x */
static heed_tensor *sines_of(heed_ctx *cx, const struct detr *m, heed_tensor *look) {
    heed_tensor *part[2], *axis[2];
    if (!look || !heed_split(cx, look, -1, (int64_t[]){1, 1}, 2, axis)) return NULL;
    for (int i = 0; i < 2; i++) {
        heed_tensor *const flat = heed_reshape(cx, axis[1 - i], look->rank - 1, look->shape);
        part[i] = detr_sines(cx, flat, DETR_TURN, m->width / 2);
    }
    return heed_concat(cx, part, 2, -1);
}

/* log(s / (1 - s)), within what transformers lets through, with nothing for width and height: (…,2) -> (…,4) */
static heed_tensor *reference_of(heed_ctx *cx, heed_tensor *look) {
    heed_tensor *const up = heed_clamp(cx, look, 1e-5F, 1);
    heed_tensor *const down = heed_clamp(cx, heed_affine(cx, look, -1, 1), 1e-5F, 1);
    heed_tensor *const logit = heed_log(cx, heed_div(cx, up, down));
    return heed_pad(cx, logit, (const int64_t[]){0, 0, 0}, (const int64_t[]){0, 0, 2}, 0);
}

/* Where the queries look first, (1,Q,2), or (B,Q,2). */
static heed_tensor *decode(heed_ctx *cx, const struct conditional *m, const struct detr_queries *q,
                           const struct detr_scene *s, struct detr_states *to) {
    const struct detr *const d = &m->body;
    heed_tensor *const look = detr_looks(cx, q, detection_mlp(cx, m->look, 2, q->own, HEED_ACT_SIGMOID));
    heed_tensor *const sines = sines_of(cx, d, look);
    heed_tensor *y = q->content;
    to->layers = detr_layer_states(cx, d);
    for (int i = 0; i < d->decoder_layers && !heed_failed(cx); i++)
        y = detr_layer_state(cx, d, to->layers, i, run_layer(cx, m, i, y, sines, q, s));
    to->last = heed_norm_run(cx, &d->decoder_norm, y);
    return look;
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct conditional *m = own;
    struct detr_scene scene;
    struct detr_queries queries;
    struct detr_states y = {0};
    if (!detr_encode(cx, &m->body, in, &scene) || !detr_queries(cx, &m->body, in, &scene, &queries)) return false;
    heed_tensor *const look = decode(cx, m, &queries, &scene, &y);
    if (!look || !detr_put_states(cx, &m->body, &y, out)) return false;
    heed_tensor *const all = heed_expand(cx, look, 3, (int64_t[]){y.last->shape[0], -1, -1});
    return heed_io_put(cx, out, "reference_points", heed_transpose(cx, all, 0, 1));
}

static bool forward_detect(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct conditional *m = own;
    struct detr_scene scene;
    struct detr_queries queries;
    struct detr_states y = {0};
    if (!detr_encode(cx, &m->body, in, &scene) || !detr_queries(cx, &m->body, in, &scene, &queries)) return false;
    y.reference = reference_of(cx, decode(cx, m, &queries, &scene, &y));
    return y.reference && detr_put_objects(cx, &m->body, in, &queries, &y, out);
}

DETR_CALLS(struct conditional)

/* ---- the family ---- */

static const heed_key keys[] = {
    DETR_KEYS("300", "2"),
    DETECTION_SIGMOID_KEYS,
    {"cls_loss_coefficient", HEED_KEY_INT, "2", "for transformers, whose loss of classes has the weight 1"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"ConditionalDetrForObjectDetection", "detect", DETR_OBJECTS, .build = build_detect, .forward = forward_detect,
     .sample = sample_detect, .place = place},
    {"ConditionalDetrModel", "", DETR_PICTURES, .bare = true, .build = build_bare, .forward = forward_bare,
     .sample = sample_bare, .place = place},
    {.architecture = NULL},
};

/* Names of modules since version 5 of transformers, whose files keep the older ones. */
static const char *const renamed[] = {
    DETR_RENAMED,
    "sa_qcontent_proj",
    "self_attn.q_content_proj",
    "sa_kcontent_proj",
    "self_attn.k_content_proj",
    "sa_qpos_proj",
    "self_attn.q_pos_proj",
    "sa_kpos_proj",
    "self_attn.k_pos_proj",
    "sa_v_proj",
    "self_attn.v_proj",
    "ca_qcontent_proj",
    "encoder_attn.q_content_proj",
    "ca_kcontent_proj",
    "encoder_attn.k_content_proj",
    "ca_qpos_proj",
    "encoder_attn.q_pos_proj",
    "ca_kpos_proj",
    "encoder_attn.k_pos_proj",
    "ca_v_proj",
    "encoder_attn.v_proj",
    "ca_qpos_sine_proj",
    "encoder_attn.q_pos_sine_proj",
    NULL,
};

const heed_family family_conditional_detr = {
    .name = "conditional_detr",
    .type = "conditional_detr",
    .base = "model",
    .paper = "Meng et al. 2021",
    .summary = "object queries that know where they look: DETR that learns faster, with sigmoid classes",
    .notes = "Parameters as in transformers' ConditionalDetrForObjectDetection. " DETR_NOTES,
    .keys = keys,
    .renamed = renamed,
    .inner = detr_inner,
    .heads = heads,
    .kind = &kind,
    .processor = "ConditionalDetrImageProcessor",
    .size = sizeof(struct conditional),
};
