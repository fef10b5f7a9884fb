/* DETR (Carion et al. 2020), and Table Transformer (Smock et al. 2022), which has its norms before the sublayers.
 *
 *     y = norm(y + attention(y + o, y + o, y))         queries, keys, values; o: positions of the queries, learned
 *     y = norm(y + attention(y + o, x + p, x))         x: what the encoder gives, p: positions of its tokens
 *     y = norm(y + W_2 a(W_1 y))
 *     class = softmax(W_c y), with a class for "no object";  box = sigmoid(mlp(y)) */
#include "model/detection/detr.h"

struct decoder_layer {
    heed_multihead self, cross;
    heed_norm_layer self_norm, cross_norm, final_norm;
    heed_feed_forward feed_forward;
};

struct detector {
    struct detr body;
    struct decoder_layer *decoder; /* memory of the parameter set */
};

/* ---- making ---- */

static bool make_layer(heed_ctx *cx, heed_params *set, const char *at, const struct detr *m, struct decoder_layer *l) {
    return detr_make_attention(cx, set, at, "self_attn", m, m->decoder_heads, true, &l->self) &&
           part_norm(cx, set, at, "self_attn_layer_norm", m->width, 1e-5F, &l->self_norm) &&
           detr_make_attention(cx, set, at, "encoder_attn", m, m->decoder_heads, false, &l->cross) &&
           part_norm(cx, set, at, "encoder_attn_layer_norm", m->width, 1e-5F, &l->cross_norm) &&
           detr_make_feed_forward(cx, set, at, m, m->decoder_hidden, &l->feed_forward) &&
           part_norm(cx, set, at, "final_layer_norm", m->width, 1e-5F, &l->final_norm);
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    struct detector *m = own;
    if (!detr_make_body(cx, b, &m->body)) return false;
    const struct part_name at = part_under(cx, detr_base(b), "decoder");
    m->decoder = heed_params_alloc(cx, b->params, (size_t)m->body.decoder_layers, sizeof *m->decoder);
    for (int i = 0; i < m->body.decoder_layers; i++)
        if (!m->decoder || !make_layer(cx, b->params, part_numbered(cx, at.s, "layers", i).s, &m->body, &m->decoder[i]))
            return false;
    return !heed_failed(cx);
}

static bool build_detect(heed_ctx *cx, const heed_build *b, void *own) {
    return build_bare(cx, b, own) && detr_make_heads(cx, b, &((struct detector *)own)->body);
}

/* ---- running ---- */

/* placed: the encoder's tokens with their positions. */
static heed_tensor *run_layer(heed_ctx *cx, const struct detector *m, int i, heed_tensor *y, heed_tensor *placed,
                              const struct detr_queries *q, const struct detr_scene *s) {
    const struct decoder_layer *const l = &m->decoder[i];
    const struct detr *const d = &m->body;
    const heed_attention_opts self = {.mask = q->mask, .site = "decoder", .layer = i},
                              cross = {.mask = s->mask, .site = "cross", .layer = i};
    heed_scope_begin(cx);
    heed_tensor *x = detr_before(cx, d, &l->self_norm, y), *const both = heed_add(cx, x, q->positions);
    y = detr_after(cx, d, &l->self_norm, y, heed_multihead_run(cx, &l->self, both, both, x, &self));
    x = heed_add(cx, detr_before(cx, d, &l->cross_norm, y), q->positions);
    y = detr_after(cx, d, &l->cross_norm, y, heed_multihead_run(cx, &l->cross, x, placed, s->memory, &cross));
    return heed_scope_end(cx, detr_feed_forward(cx, d, &l->final_norm, &l->feed_forward, y));
}

static bool decode(heed_ctx *cx, const struct detector *m, const heed_io *in, struct detr_scene *scene,
                   struct detr_queries *q, struct detr_states *to) {
    const struct detr *const d = &m->body;
    *to = (struct detr_states){0};
    if (!detr_encode(cx, d, in, scene) || !detr_queries(cx, d, in, scene, q)) return false;
    heed_tensor *const placed = heed_add(cx, scene->memory, scene->positions), *y = q->content;
    to->layers = detr_layer_states(cx, d);
    for (int i = 0; i < d->decoder_layers && !heed_failed(cx); i++)
        y = detr_layer_state(cx, d, to->layers, i, run_layer(cx, m, i, y, placed, q, scene));
    to->last = heed_norm_run(cx, &d->decoder_norm, y);
    return to->last != NULL;
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct detector *m = own;
    struct detr_scene scene;
    struct detr_queries queries;
    struct detr_states y;
    return decode(cx, m, in, &scene, &queries, &y) && detr_put_states(cx, &m->body, &y, out);
}

static bool forward_detect(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct detector *m = own;
    struct detr_scene scene;
    struct detr_queries queries;
    struct detr_states y;
    return decode(cx, m, in, &scene, &queries, &y) && detr_put_objects(cx, &m->body, in, &queries, &y, out);
}

DETR_CALLS(struct detector)

/* ---- the families ---- */

static const struct detr_kind detr = {.positions = "position_embedding"},
                              table = {.positions = "backbone.position_embedding", .norm_first = true};

static const heed_key keys[] = {
    DETR_KEYS("100", "1"),
    DETECTION_SOFTMAX_KEYS,
    END_OF_KEYS,
};

#define HEADS(Name)                                                                                                    \
    {Name "ForObjectDetection", "detect",      DETR_OBJECTS, .build = build_detect, .forward = forward_detect,         \
     .sample = sample_detect,   .place = place},                                                                       \
        {Name "Model",          "",                                                                                    \
         DETR_PICTURES,         .bare = true,                                                                          \
         .build = build_bare,   .forward = forward_bare,                                                               \
         .sample = sample_bare, .place = place},                                                                       \
    {                                                                                                                  \
        .architecture = NULL                                                                                           \
    }
static const heed_head detr_heads[] = {HEADS("Detr")}, table_heads[] = {HEADS("TableTransformer")};
static const char *const detr_renamed[] = {DETR_RENAMED, NULL};

const heed_family family_detr = {
    .name = "detr",
    .type = "detr",
    .base = "model",
    .paper = "Carion et al. 2020",
    .summary = "object queries that look at a residual network's features, each with a class and a box",
    .notes = "Parameters as in transformers' DetrForObjectDetection. " DETR_NOTES,
    .keys = keys,
    .renamed = detr_renamed,
    .inner = detr_inner,
    .heads = detr_heads,
    .kind = &detr,
    .processor = "DetrImageProcessor",
    .size = sizeof(struct detector),
};

const heed_family family_table_transformer = {
    .name = "table-transformer",
    .type = "table-transformer",
    .base = "model",
    .paper = "Smock et al. 2022",
    .summary = "DETR with norms before the sublayers, for tables in pictures of pages",
    .notes = "Parameters as in transformers' TableTransformerForObjectDetection. " DETR_NOTES,
    .keys = keys,
    .inner = detr_inner,
    .heads = table_heads,
    .kind = &table,
    .processor = "DetrImageProcessor",
    .size = sizeof(struct detector),
};
