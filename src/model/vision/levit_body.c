/* What LeViT computes, and its heads. */
#include "model/vision/levit.h"
#include "tensor/engine.h"
#include <string.h>

/* x (B,T,C) -> (B,T,C'), with the activation behind the norm */
static heed_tensor *unit_run(heed_ctx *cx, const struct levit_unit *u, heed_tensor *x, heed_activation act) {
    return heed_activate(cx, heed_linear_norm_run(cx, &u->linear, &u->norm, x), act);
}

/* ---- attention ---- */

static int64_t queries_along(const struct levit_block *b, int axis) { return (b->grid[axis] - 1) / b->stride + 1; }

/* Numbers of tokens, row by row: those that ask. */
static heed_tensor *asking(heed_ctx *cx, const struct levit_block *b) {
    const int64_t h = queries_along(b, 0), w = queries_along(b, 1);
    heed_tensor *const index = heed_zeros(cx, HEED_I32, 1, (int64_t[]){h * w});
    if (!index || cx->config.dry) return index;
    int32_t *to = (int32_t *)(void *)index->data;
    for (int64_t i = 0; i < h * w; i++) *to++ = (int32_t)((i / w * b->grid[1] + i % w) * b->stride);
    return index;
}

/* Where in the table the bias of each query and key is. */
static heed_tensor *distances(heed_ctx *cx, const struct levit_block *b) {
    const int64_t h = queries_along(b, 0), w = queries_along(b, 1), H = b->grid[0], W = b->grid[1];
    heed_tensor *const index = heed_zeros(cx, HEED_I32, 1, (int64_t[]){h * w * H * W});
    if (!index || cx->config.dry) return index;
    int32_t *to = (int32_t *)(void *)index->data;
    for (int64_t i = 0; i < h * w; i++)
        for (int64_t y = 0; y < H; y++) {
            const int64_t down = i / w * b->stride - y, row = (down < 0 ? -down : down) * W, at = i % w * b->stride;
            for (int64_t x = 0; x < W; x++) *to++ = (int32_t)(row + (x < at ? at - x : x - at));
        }
    return index;
}

/* (1,H,Tq,Tk) */
static heed_tensor *bias_of(heed_ctx *cx, const struct levit_block *b, heed_tensor *index) {
    const int64_t queries = queries_along(b, 0) * queries_along(b, 1), keys = b->grid[0] * b->grid[1];
    heed_tensor *const t = heed_index_select(cx, heed_param_tensor(cx, b->bias), 1, index);
    return heed_reshape(cx, t, 4, (int64_t[]){1, b->heads, queries, keys});
}

/* x (B,T,C) -> (B,Tq,C') */
static heed_tensor *attention(heed_ctx *cx, const struct levit *m, const struct levit_block *b, heed_tensor *x,
                              heed_tensor *index) {
    const bool shrinks = b->query.linear.weight != NULL;
    const int64_t sizes[] = {b->key, b->key, b->value};
    heed_tensor *part[3], *all = unit_run(cx, &b->all, x, HEED_ACT_NONE);
    if (!all) return NULL;
    const int64_t B = x->shape[0], T = x->shape[1], H = b->heads;
    all = heed_reshape(cx, all, 4, (int64_t[]){B, T, H, -1});
    if (!heed_split(cx, all, -1, sizes + shrinks, 3 - shrinks, part + shrinks)) return NULL;
    if (shrinks) {
        heed_tensor *const from = b->stride > 1 ? heed_index_select(cx, x, 1, asking(cx, b)) : x;
        part[0] = unit_run(cx, &b->query, from, HEED_ACT_NONE);
        part[0] = heed_reshape(cx, part[0], 4, (int64_t[]){B, -1, H, b->key});
    }
    const heed_attention_opts o = {
        .mask = heed_mask_add(bias_of(cx, b, index)), .site = shrinks ? "downsample" : "attention", .layer = b->number};
    heed_tensor *const y = heed_attention(cx, part[0], part[1], part[2], &o);
    if (!y) return NULL;
    heed_tensor *const flat = heed_reshape(cx, y, 3, (int64_t[]){B, y->shape[1], H * b->value});
    return unit_run(cx, &b->out, heed_activate(cx, flat, m->attention_act), HEED_ACT_NONE);
}

static heed_tensor *block_run(heed_ctx *cx, const struct levit *m, const struct levit_block *b, heed_tensor *x,
                              heed_tensor *index) {
    heed_tensor *y = attention(cx, m, b, x, index);
    x = b->query.linear.weight ? y : heed_add(cx, x, heed_drop_path(cx, y, m->drop_path));
    if (!b->up.linear.weight) return x;
    y = unit_run(cx, &b->down, unit_run(cx, &b->up, x, m->act), HEED_ACT_NONE);
    return heed_add(cx, x, heed_drop_path(cx, y, m->drop_path));
}

/* ---- all of it ---- */

/* (B,C,H,W) -> (B,h w,C') */
static heed_tensor *stem_run(heed_ctx *cx, const struct levit *m, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t height = x->shape[2], width = x->shape[3];
    for (int i = 0; i < m->convs; i++)
        x = heed_conv_norm_run(cx, &m->conv[i], &m->conv_norm[i], x, i + 1 < m->convs ? m->act : HEED_ACT_NONE);
    if (!x) return NULL;
    if (x->shape[2] != m->grid[0] || x->shape[3] != m->grid[1]) {
        heed_fail(cx, HEED_ERR_SHAPE,
                  "pixel_values: pictures of %lld x %lld have %lld x %lld tokens, and the model takes %lld x %lld",
                  (long long)height, (long long)width, (long long)x->shape[2], (long long)x->shape[3],
                  (long long)m->grid[0], (long long)m->grid[1]);
        return NULL;
    }
    x = heed_reshape(cx, x, 3, (int64_t[]){x->shape[0], x->shape[1], m->grid[0] * m->grid[1]});
    return heed_contiguous(cx, heed_transpose(cx, x, 1, 2));
}

/* -> (B,T,C) */
static heed_tensor *run(heed_ctx *cx, const struct levit *m, const heed_io *in) {
    int64_t size[2];
    heed_tensor *x = stem_run(cx, m, patches_pixels(cx, &m->pictures, in, size)), *index = NULL;
    if (!x) return NULL;
    heed_scope_begin(cx);
    for (int i = 0; i < m->blocks; i++) {
        const struct levit_block *const b = &m->block[i], *const before = i > 0 ? b - 1 : NULL;
        const bool same = before && before->stage == b->stage && before->stride == b->stride;
        if (!same) index = distances(cx, b);
        x = block_run(cx, m, b, x, index);
        heed_scope_keep_many(cx, (heed_tensor *[]){x, index}, 2);
    }
    return heed_scope_end(cx, x);
}

/* ---- heads ---- */

static heed_tensor *pooled(heed_ctx *cx, const struct levit *m, heed_tensor *x) {
    return m->pools ? heed_mean(cx, x, (const int[]){1}, 1, false) : x;
}

/* (B,T,C) -> (B,C,h,w) */
static heed_tensor *as_map(heed_ctx *cx, const struct levit *m, heed_tensor *x) {
    if (!x || !m->maps || x->rank != 3) return x;
    const struct levit_block *const last = m->blocks > 0 ? &m->block[m->blocks - 1] : NULL;
    const int64_t h = last ? queries_along(last, 0) : m->grid[0], w = last ? queries_along(last, 1) : m->grid[1];
    return heed_reshape(cx, heed_contiguous(cx, heed_transpose(cx, x, 1, 2)), 4,
                        (int64_t[]){x->shape[0], x->shape[2], h, w});
}

bool levit_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct levit *m = own;
    heed_tensor *const x = run(cx, m, in);
    return x && heed_io_put(cx, out, "last_hidden_state", as_map(cx, m, x)) &&
           heed_io_put(cx, out, "pooler_output", as_map(cx, m, pooled(cx, m, x)));
}

static heed_tensor *head_run(heed_ctx *cx, const struct levit *m, const struct levit_head *h, heed_tensor *x) {
    x = heed_dropout(cx, heed_batch_norm_run(cx, &h->norm, x), m->head_dropout);
    return heed_linear_run(cx, &h->output, x, HEED_ACT_NONE);
}

/* part: of both heads */
static heed_tensor *logits_of(heed_ctx *cx, const struct levit *m, const heed_io *in, heed_tensor *part[2]) {
    heed_tensor *const x = pooled(cx, m, run(cx, m, in));
    part[0] = x ? head_run(cx, m, &m->head[0], x) : NULL;
    if (!x || !m->head[1].output.weight) return part[0];
    part[1] = head_run(cx, m, &m->head[1], x);
    return heed_affine(cx, heed_add(cx, part[0], part[1]), 0.5, 0);
}

static bool put_parts(heed_ctx *cx, heed_tensor *const part[2], heed_io *out) {
    return heed_io_put(cx, out, "cls_logits", part[0]) && heed_io_put(cx, out, "distillation_logits", part[1]);
}

bool levit_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct levit *m = own;
    if (!m->head[0].output.weight) return levit_forward_bare(cx, own, in, out);
    heed_tensor *part[2], *const logits = logits_of(cx, m, in, part);
    const bool taught = m->head[1].output.weight && engine_of(cx) && engine_of(cx)->training;
    return logits && (!taught || put_parts(cx, part, out)) && head_classify(cx, m->problem, in, logits, out);
}

bool levit_forward_teacher(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct levit *m = own;
    heed_tensor *part[2], *const logits = logits_of(cx, m, in, part);
    return logits && head_classify(cx, m->problem, in, logits, out) && put_parts(cx, part, out);
}

bool levit_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct levit *)own)->pictures, batch, in);
}

bool levit_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct levit *m = own;
    if (!levit_sample_bare(cx, own, batch, length, in) || !m->head[0].output.weight) return !heed_failed(cx);
    return head_sample_labels(cx, m->problem, batch, m->head[0].output.weight->shape[0], in);
}

/* ---- maps of attention ---- */

static void place_at(const struct levit *m, int64_t scale, const int64_t grid[2], int64_t to[2], int64_t patch[2]) {
    for (int i = 0; i < 2; i++) to[i] = grid[i], patch[i] = m->patch * scale;
}

/* The grid of the keys, and that of the queries where it is another; of states, the last. */
bool levit_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct levit *m = own;
    int64_t scale = 1;
    (void)size; /* the grid is the same of all */
    *to = (struct picture_place){0};
    place_at(m, scale, m->grid, to->grid, to->patch);
    for (int i = 0; i < m->blocks; i++) {
        const struct levit_block *const b = &m->block[i];
        const bool shrinks = b->query.linear.weight != NULL;
        const int64_t after[] = {queries_along(b, 0), queries_along(b, 1)};
        if (map && b->number == map->layer && strcmp(map->site, shrinks ? "downsample" : "attention") == 0) {
            to->stage = b->stage;
            if (shrinks) place_at(m, scale * b->stride, after, to->query_grid, to->query_patch);
            return true;
        }
        scale *= b->stride;
        place_at(m, scale, after, to->grid, to->patch);
    }
    return !map;
}
