/* The body that DETR and its kin share: positions, the encoder, and the heads. */
#include "model/detection/detr.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEARNED = 50 }; /* rows, and columns, that have a learned position */
#define TEMPERATURE 10000.0
#define PRIOR       0.01 /* of an object at a query, before anything is learned (Lin et al. 2017) */

/* ---- making ---- as the papers' code draws them: transformers draws all so close to 0 that queries are one */

static heed_init xavier(float gain) { return (heed_init){HEED_INIT_XAVIER_UNIFORM, gain, 0}; }

const char *detr_base(const heed_build *b) { return b->head->bare ? "" : b->family->base; }

static bool read_config(heed_ctx *cx, heed_json config, struct detr *m) {
    m->width = config_int(cx, config, "d_model", 4, MAX_SIZE);
    m->encoder_heads = config_int(cx, config, "encoder_attention_heads", 1, MAX_SIZE);
    m->decoder_heads = config_int(cx, config, "decoder_attention_heads", 1, MAX_SIZE);
    m->encoder_hidden = config_int(cx, config, "encoder_ffn_dim", 1, MAX_SIZE);
    m->decoder_hidden = config_int(cx, config, "decoder_ffn_dim", 1, MAX_SIZE);
    m->encoder_layers = (int)config_int(cx, config, "encoder_layers", 0, MAX_LAYERS);
    m->decoder_layers = (int)config_int(cx, config, "decoder_layers", 0, MAX_LAYERS);
    m->queries = config_int(cx, config, "num_queries", 1, MAX_SIZE);
    m->act = config_activation(cx, config, "activation_function");
    m->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    m->attention_dropout = (float)config_number(cx, config, "attention_dropout", 0, 1);
    m->hidden_dropout = (float)config_number(cx, config, "activation_dropout", 0, 1);
    m->auxiliary = heed_json_bool(cx, config, "auxiliary_loss");
    m->gain = (float)config_number(cx, config, "init_xavier_std", 0, 100);
    if (heed_failed(cx)) return false;
    if (m->width % m->encoder_heads != 0 || m->width % m->decoder_heads != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "d_model"), "%lld and %lld heads do not divide it",
                              (long long)m->encoder_heads, (long long)m->decoder_heads);
    return true;
}

static bool make_positions(heed_ctx *cx, const heed_build *b, struct detr *m) {
    static const char *const types[] = {"sine", "learned", NULL};
    const struct detr_kind *const kind = b->family->kind;
    const int type = config_choice(cx, b->config, "position_embedding_type", types);
    if (type < 0) return false;
    if (m->width % (type == 0 ? 4 : 2) != 0)
        return heed_json_fail(cx, heed_json_find(cx, b->config, "d_model"),
                              "sines of rows and columns take a multiple of 4, and learned positions one of 2");
    const struct part_name at = part_under(cx, detr_base(b), kind->positions);
    heed_embedding_layer rows = {0}, columns = {0};
    const heed_init init = {HEED_INIT_UNIFORM, 0, 1};
    if (type == 1 && (!part_embedding(cx, b->params, at.s, "row_embeddings", LEARNED, m->width / 2, init, &rows) ||
                      !part_embedding(cx, b->params, at.s, "column_embeddings", LEARNED, m->width / 2, init, &columns)))
        return false;
    m->rows = rows.weight, m->columns = columns.weight;
    return true;
}

bool detr_make_feed_forward(heed_ctx *cx, heed_params *set, const char *prefix, const struct detr *m, int64_t hidden,
                            heed_feed_forward *layer) {
    layer->act = m->act;
    layer->dropout = m->hidden_dropout;
    return part_linear(cx, set, prefix, "fc1", m->width, hidden, true, xavier(m->gain), &layer->linear1) &&
           part_linear(cx, set, prefix, "fc2", hidden, m->width, true, xavier(m->gain), &layer->linear2);
}

bool detr_make_attention(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, const struct detr *m,
                         int64_t heads, bool self, heed_multihead *layer) {
    static const char *const qkv[] = {"q_proj", "k_proj", "v_proj"};
    const struct part_name at = part_under(cx, prefix, name);
    const int64_t C = m->width;
    const heed_init init = xavier(m->gain);
    *layer =
        (heed_multihead){.width = C, .heads = heads, .key_width = C, .value_width = C, .dropout = m->attention_dropout};
    heed_linear_layer *const part[] = {&layer->q, &layer->k, &layer->v};
    if (self && !part_qkv(cx, set, at.s, qkv, C, init, &layer->in)) return false;
    for (int i = 0; i < 3 && !self; i++)
        if (!part_linear(cx, set, at.s, qkv[i], C, C, true, init, part[i])) return false;
    return part_linear(cx, set, at.s, "out_proj", C, C, true, init, &layer->out);
}

static bool make_layer(heed_ctx *cx, heed_params *set, const char *at, const struct detr *m, struct detr_layer *l) {
    return detr_make_attention(cx, set, at, "self_attn", m, m->encoder_heads, true, &l->attention) &&
           part_norm(cx, set, at, "self_attn_layer_norm", m->width, 1e-5F, &l->norm) &&
           detr_make_feed_forward(cx, set, at, m, m->encoder_hidden, &l->feed_forward) &&
           part_norm(cx, set, at, "final_layer_norm", m->width, 1e-5F, &l->final_norm);
}

bool detr_make_body(heed_ctx *cx, const heed_build *b, struct detr *m) {
    const struct detr_kind *const kind = b->family->kind;
    const char *const base = detr_base(b);
    heed_params *const set = b->params;
    heed_embedding_layer queries = {0};
    m->norm_first = kind->norm_first;
    if (!read_config(cx, b->config, m) ||
        !detr_backbone_make(cx, b->config, set, part_under(cx, base, "backbone.conv_encoder").s, &m->backbone) ||
        !make_positions(cx, b, m) ||
        !part_embedding(cx, set, base, "query_position_embeddings", m->queries, m->width,
                        (heed_init){HEED_INIT_NORMAL, 0, 1}, &queries) ||
        !heed_conv2d_make(cx, set, part_under(cx, base, "input_projection").s, detr_backbone_width(&m->backbone),
                          m->width, (int64_t[]){1, 1}, true, NULL, &m->projection))
        return false;
    m->query_positions = queries.weight;
    m->encoder = heed_params_alloc(cx, set, (size_t)m->encoder_layers, sizeof *m->encoder);
    const struct part_name encoder = part_under(cx, base, "encoder");
    for (int i = 0; i < m->encoder_layers; i++)
        if (!m->encoder || !make_layer(cx, set, part_numbered(cx, encoder.s, "layers", i).s, m, &m->encoder[i]))
            return false;
    return (!m->norm_first || part_norm(cx, set, encoder.s, "layernorm", m->width, 1e-5F, &m->encoder_norm)) &&
           part_norm(cx, set, part_under(cx, base, "decoder").s, "layernorm", m->width, 1e-5F, &m->decoder_norm);
}

bool detr_make_heads(heed_ctx *cx, const heed_build *b, struct detr *m) {
    const struct detr_kind *const kind = b->family->kind;
    if (!detection_read(cx, b->config, kind->sigmoid, &m->detection)) return false;
    const int64_t classes = m->detection.classes + (kind->sigmoid ? 0 : 1);
    if (!part_linear(cx, b->params, "", "class_labels_classifier", m->width, classes, true, xavier(1), &m->output) ||
        !detection_make_mlp(cx, b->params, "", "bbox_predictor", m->width, 4, xavier(1), m->box, DETECTION_BOX_LAYERS))
        return false;
    if (!kind->sigmoid) return true;
    m->output.bias->init = (heed_init){HEED_INIT_CONSTANT, (float)-log((1 - PRIOR) / PRIOR), 0};
    m->box[DETECTION_BOX_LAYERS - 1].weight->init = (heed_init){.kind = HEED_INIT_ZEROS}; /* where the query looks */
    return true;
}

/* ---- positions ---- */

heed_tensor *detr_sines(heed_ctx *cx, heed_tensor *t, float scale, int64_t width) {
    if (!t) return NULL;
    const int64_t pairs = width / 2;
    int64_t shape[HEED_MAX_RANK];
    memcpy(shape, t->shape, (size_t)t->rank * sizeof *shape);
    shape[t->rank] = 1;
    heed_tensor *const speeds = heed_zeros(cx, HEED_F32, 1, &pairs);
    if (!speeds) return NULL;
    for (int64_t i = 0; i < pairs && !cx->config.dry; i++)
        ((float *)(void *)speeds->data)[i] = (float)((double)scale / pow(TEMPERATURE, 2.0 * (double)i / (double)width));
    heed_tensor *const angles = heed_mul(cx, heed_reshape(cx, t, t->rank + 1, shape), speeds);
    heed_tensor *const both[] = {heed_sin(cx, angles), heed_cos(cx, angles)};
    shape[t->rank] = width;
    return heed_reshape(cx, heed_stack(cx, both, 2, t->rank + 1), t->rank + 1, shape);
}

/* (B,h,w): how far down or across each cell is, from 0 to 1, of what is not padding. */
static heed_tensor *way(heed_ctx *cx, heed_tensor *seen, int axis) {
    heed_tensor *const count = heed_cumsum(cx, seen, axis);
    if (!count) return NULL;
    heed_tensor *const all = heed_slice(cx, count, axis, count->shape[axis] - 1, 1);
    return heed_div(cx, count, heed_affine(cx, all, 1, 1e-6F));
}

/* seen (B,h,w): 1 where a cell is of the picture -> (B,h w,C), y before x */
static heed_tensor *sine_positions(heed_ctx *cx, const struct detr *m, heed_tensor *seen) {
    heed_tensor *part[2];
    for (int axis = 1; axis <= 2; axis++) part[axis - 1] = detr_sines(cx, way(cx, seen, axis), DETR_TURN, m->width / 2);
    heed_tensor *const both = heed_concat(cx, part, 2, 3);
    return both ? heed_reshape(cx, both, 3, (int64_t[]){both->shape[0], both->shape[1] * both->shape[2], m->width})
                : NULL;
}

/* (1,h w,C), x before y */
static heed_tensor *learned_positions(heed_ctx *cx, const struct detr *m, const int64_t grid[2]) {
    const int64_t h = grid[0], w = grid[1], half = m->width / 2;
    if (h > LEARNED || w > LEARNED) {
        heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: a map of %lld x %lld cells, and there are positions for %d x %d",
                  (long long)h, (long long)w, LEARNED, LEARNED);
        return NULL;
    }
    heed_tensor *const x = heed_reshape(cx, heed_param_rows(cx, m->columns, 0, w), 3, (int64_t[]){1, w, half}),
                       *const y = heed_reshape(cx, heed_param_rows(cx, m->rows, 0, h), 3, (int64_t[]){h, 1, half});
    const int64_t shape[] = {h, w, half};
    heed_tensor *const both[] = {heed_expand(cx, x, 3, shape), heed_expand(cx, y, 3, shape)};
    return heed_reshape(cx, heed_concat(cx, both, 2, 2), 3, (int64_t[]){1, h * w, m->width});
}

/* ---- pictures ---- */

/* pixel_mask (B,H,W), not 0 where the picture is -> u8 (B,h,w); NULL: there is none */
static heed_tensor *mask_of(heed_ctx *cx, const heed_io *in, const heed_tensor *pixels, const int64_t grid[2]) {
    heed_tensor *const mask = heed_io_get(in, "pixel_mask");
    if (!mask || heed_failed(cx)) return NULL;
    const int64_t *const s = pixels->shape;
    if (mask->rank != 3 || mask->shape[0] != s[0] || mask->shape[1] != s[2] || mask->shape[2] != s[3]) {
        heed_fail(cx, HEED_ERR_SHAPE, "pixel_mask: the shape %s is not that of the pictures, (%lld,%lld,%lld)",
                  heed_shape_text(mask).s, (long long)s[0], (long long)s[2], (long long)s[3]);
        return NULL;
    }
    const heed_interpolate_opts opts = {.kind = HEED_NEAREST, .size = {grid[0], grid[1]}};
    heed_tensor *const all = heed_reshape(cx, heed_cast(cx, mask, HEED_F32), 4, (int64_t[]){s[0], 1, s[2], s[3]}),
                       *const few = heed_interpolate(cx, all, &opts);
    heed_tensor *const seen = heed_not_equal(cx, few, heed_full(cx, 0, 0, NULL));
    return heed_reshape(cx, seen, 3, (int64_t[]){s[0], grid[0], grid[1]});
}

/* (B,C,H,W) -> (B,h w,width), and the grid */
static heed_tensor *cells_of(heed_ctx *cx, const struct detr *m, heed_tensor *pixels, int64_t grid[2]) {
    heed_tensor *const map = detr_backbone_run(cx, &m->backbone, pixels);
    heed_tensor *const x = heed_conv_run(cx, &m->projection, map);
    if (!x) return NULL;
    grid[0] = x->shape[2], grid[1] = x->shape[3];
    heed_tensor *const flat = heed_reshape(cx, x, 3, (int64_t[]){x->shape[0], m->width, grid[0] * grid[1]});
    return heed_permute(cx, flat, (const int[]){0, 2, 1});
}

/* ---- the encoder ---- */

heed_tensor *detr_before(heed_ctx *cx, const struct detr *m, const heed_norm_layer *norm, heed_tensor *x) {
    return m->norm_first ? heed_norm_run(cx, norm, x) : x;
}

heed_tensor *detr_after(heed_ctx *cx, const struct detr *m, const heed_norm_layer *norm, heed_tensor *x,
                        heed_tensor *y) {
    y = heed_dropout(cx, y, m->dropout);
    return m->norm_first ? heed_add(cx, x, y) : heed_add_norm_run(cx, norm, y, x, NULL);
}

heed_tensor *detr_feed_forward(heed_ctx *cx, const struct detr *m, const heed_norm_layer *norm,
                               const heed_feed_forward *layer, heed_tensor *x) {
    return detr_after(cx, m, norm, x, heed_feed_forward_run(cx, layer, detr_before(cx, m, norm, x)));
}

static heed_tensor *run_layer(heed_ctx *cx, const struct detr *m, int i, heed_tensor *x, const struct detr_scene *s) {
    const struct detr_layer *const l = &m->encoder[i];
    const heed_attention_opts o = {.mask = s->mask, .site = "encoder", .layer = i};
    heed_scope_begin(cx);
    heed_tensor *const v = detr_before(cx, m, &l->norm, x);
    heed_tensor *const qk = heed_add(cx, v, s->positions);
    x = detr_after(cx, m, &l->norm, x, heed_multihead_run(cx, &l->attention, qk, qk, v, &o));
    return heed_scope_end(cx, detr_feed_forward(cx, m, &l->final_norm, &l->feed_forward, x));
}

bool detr_encode(heed_ctx *cx, const struct detr *m, const heed_io *in, struct detr_scene *to) {
    int64_t grid[2] = {0};
    *to = (struct detr_scene){0};
    heed_tensor *const pixels = resnet_pixels(cx, &m->backbone.resnet, in);
    heed_tensor *x = pixels ? cells_of(cx, m, pixels, grid) : NULL;
    if (!x) return false;
    heed_tensor *const seen = mask_of(cx, in, pixels, grid);
    heed_tensor *const all =
        seen ? heed_cast(cx, seen, HEED_F32) : heed_full(cx, 1, 3, (int64_t[]){1, grid[0], grid[1]});
    to->positions = m->rows ? learned_positions(cx, m, grid) : sine_positions(cx, m, all);
    if (seen)
        to->mask = heed_mask_keep(heed_reshape(cx, seen, 4, (int64_t[]){seen->shape[0], 1, 1, grid[0] * grid[1]}));
    x = heed_dropout(cx, x, m->dropout);
    for (int i = 0; i < m->encoder_layers; i++) x = run_layer(cx, m, i, x, to);
    to->memory = m->norm_first ? heed_norm_run(cx, &m->encoder_norm, x) : x;
    return !heed_failed(cx);
}

/* ---- heads ---- */

static bool has_labels(const heed_io *in) { return heed_io_get(in, "labels.0.class_labels") != NULL; }

heed_tensor **detr_layer_states(heed_ctx *cx, const struct detr *m) {
    return m->auxiliary && m->decoder_layers > 0 ? detection_list(cx, m->decoder_layers) : NULL;
}

/* In transformers, whose auxiliary losses these are, what the next layer reads has gone through the norm too. */
heed_tensor *detr_layer_state(heed_ctx *cx, const struct detr *m, heed_tensor **states, int layer, heed_tensor *y) {
    return states ? (states[layer] = heed_norm_run(cx, &m->decoder_norm, y)) : y;
}

static heed_tensor *boxes_of(heed_ctx *cx, const struct detr *m, heed_tensor *y, heed_tensor *reference) {
    heed_tensor *const box = detection_mlp(cx, m->box, DETECTION_BOX_LAYERS, y, HEED_ACT_NONE);
    return heed_sigmoid(cx, reference ? heed_add(cx, box, reference) : box);
}

bool detr_put_states(heed_ctx *cx, const struct detr *m, const struct detr_states *y, heed_io *out) {
    if (y->layers &&
        !heed_io_put(cx, out, "intermediate_hidden_states", heed_stack(cx, y->layers, m->decoder_layers, 0)))
        return false;
    return heed_io_put(cx, out, "last_hidden_state", y->last);
}

bool detr_put_objects(heed_ctx *cx, const struct detr *m, const heed_io *in, const struct detr_queries *q,
                      const struct detr_states *y, heed_io *out) {
    const int n = y->layers && has_labels(in) ? m->decoder_layers : 1;
    heed_tensor **const logits = detection_list(cx, 2 * n), **const boxes = detection_list(cx, 2 * n);
    for (int i = 0; boxes && logits && i < n; i++) {
        heed_tensor *const state = i + 1 < n ? y->layers[i] : y->last;
        heed_tensor *const all = heed_linear_run(cx, &m->output, state, HEED_ACT_NONE);
        heed_tensor *const every = boxes_of(cx, m, state, y->reference);
        logits[i] = detr_own_part(cx, q, all), boxes[i] = detr_own_part(cx, q, every);
        if (q->noised > 0) logits[n + i] = detr_noised_part(cx, q, all), boxes[n + i] = detr_noised_part(cx, q, every);
    }
    return !heed_failed(cx) && detection_put(cx, &m->detection, in, logits, boxes, n, out) &&
           (q->noised == 0 || detection_put_denoising(cx, &m->detection, in, logits + n, boxes + n, n, out)) &&
           heed_io_put(cx, out, "last_hidden_state", detr_own_part(cx, q, y->last));
}

/* ---- plans and maps ---- */

enum { SIDE = 64, OBJECTS = 2 }; /* any picture will do */

bool detr_sample(heed_ctx *cx, const struct detr *m, int64_t batch, bool labels, heed_io *in) {
    const int64_t shape[] = {batch, m->backbone.resnet.channels, SIDE, SIDE};
    return heed_io_put(cx, in, "pixel_values", heed_zeros(cx, HEED_F32, 4, shape)) &&
           (!labels || detection_sample(cx, batch, OBJECTS, in));
}

bool detr_place(const struct detr *m, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    *to = (struct picture_place){0};
    if (map && strcmp(map->site, "decoder") == 0) return false; /* queries look at queries */
    detr_backbone_grid(&m->backbone, size, to->grid);
    for (int i = 0; i < 2; i++) to->patch[i] = detr_backbone_stride(&m->backbone);
    if (map && strcmp(map->site, "cross") == 0) to->learned = m->queries;
    return map != NULL; /* the last hidden state is that of the queries */
}
