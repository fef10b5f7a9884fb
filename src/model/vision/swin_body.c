/* What Swin Transformers compute, and their heads. */
#include "model/core/resized.h"
#include "model/vision/masked_pictures.h"
#include "model/vision/swin.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

/* ---- windows ---- */

/* How a grid is cut. */
struct cut {
    int64_t window[2], shift[2];
    int64_t size[2], count[2]; /* of the grid padded to whole windows, in tokens and in windows */
};

static struct cut cut_of(const struct swin *m, const struct swin_block *b, const int64_t grid[2]) {
    struct cut c;
    const int64_t least = grid[0] < grid[1] ? grid[0] : grid[1];
    const bool shrinks = m->shrinks && least <= b->window[0];
    for (int i = 0; i < 2; i++) {
        c.window[i] = shrinks ? least : b->window[i];
        c.shift[i] = shrinks ? 0 : b->shift[i];
        c.count[i] = (grid[i] + c.window[i] - 1) / c.window[i];
        c.size[i] = c.count[i] * c.window[i];
    }
    return c;
}

/* A distance in units of the windows that were trained with, -1 to 1 within them, on a scale that keeps its sign. */
static float log_spaced(int64_t distance, int64_t trained) {
    const float x = 8 * (float)distance / (float)(trained > 1 ? trained - 1 : 1);
    return copysignf(log2f(fabsf(x) + 1) / 3, x);
}

/* The second version's table ((2a - 1)(2b - 1),H), worked out of distances. */
static heed_tensor *distance_table(heed_ctx *cx, const struct swin_block *b) {
    const struct swin_cosine *const v = &b->cosine;
    const int64_t high = 2 * b->table[0] - 1, wide = 2 * b->table[1] - 1;
    heed_tensor *const d = heed_zeros(cx, HEED_F32, 2, (int64_t[]){high * wide, 2});
    if (!d) return NULL;
    float *to = (float *)(void *)d->data;
    for (int64_t i = 0; !cx->config.dry && i < high * wide; i++) {
        *to++ = log_spaced(i / wide - b->table[0] + 1, v->trained ? v->trained : b->table[0]);
        *to++ = log_spaced(i % wide - b->table[1] + 1, v->trained ? v->trained : b->table[1]);
    }
    heed_tensor *const h = heed_linear_run(cx, &v->distance[0], d, HEED_ACT_RELU);
    return heed_affine(cx, heed_linear_run(cx, &v->distance[1], h, HEED_ACT_SIGMOID), 16, 0);
}

/* The bias of each pair of a window's tokens: (1,H,a,a) */
static heed_tensor *bias_of(heed_ctx *cx, const struct swin_block *b, const struct cut *c) {
    const int64_t h = c->window[0], w = c->window[1], n = h * w, pairs = n * n, H = b->attention.heads;
    heed_tensor *const index = heed_zeros(cx, HEED_I32, 1, &pairs);
    if (!index) return NULL;
    int32_t *to = (int32_t *)(void *)index->data;
    for (int64_t i = 0; !cx->config.dry && i < n; i++)
        for (int64_t j = 0; j < n; j++)
            *to++ =
                (int32_t)((i / w - j / w + b->table[0] - 1) * (2 * b->table[1] - 1) + i % w - j % w + b->table[1] - 1);
    heed_tensor *const table = b->bias ? heed_param_tensor(cx, b->bias) : distance_table(cx, b);
    heed_tensor *const t = heed_index_select(cx, table, 0, index);
    return heed_reshape(cx, heed_transpose(cx, t, 0, 1), 4, (int64_t[]){1, H, n, n});
}

/* Which part of a shifted axis a place is of: those from before the border, those from behind it, and the others. */
static int part_of(const struct cut *c, int axis, int64_t at) {
    return (at >= c->size[axis] - c->window[axis]) + (at >= c->size[axis] - c->shift[axis]);
}

/* u8 (B n,1,a,a): 1 where both tokens of a shifted window are of one part */
static heed_tensor *neighbours(heed_ctx *cx, const struct cut *c, int64_t B) {
    const int64_t h = c->window[0], w = c->window[1], n = h * w, windows = c->count[0] * c->count[1];
    heed_tensor *const t = heed_zeros(cx, HEED_U8, 4, (int64_t[]){B * windows, 1, n, n});
    if (!t || cx->config.dry) return t;
    uint8_t *to = (uint8_t *)(void *)t->data;
    for (int64_t k = 0; k < B * windows; k++) {
        const int64_t row = k % windows / c->count[1] * h, column = k % c->count[1] * w;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                *to++ = part_of(c, 0, row + i / w) == part_of(c, 0, row + j / w) &&
                        part_of(c, 1, column + i % w) == part_of(c, 1, column + j % w);
    }
    return t;
}

static heed_tensor *rolled(heed_ctx *cx, const struct cut *c, heed_tensor *x, int direction) {
    for (int i = 0; i < 2; i++)
        if (c->shift[i] > 0) x = heed_roll(cx, x, direction * c->shift[i], 1 + i);
    return x;
}

static heed_tensor *padded(heed_ctx *cx, heed_tensor *x, const int64_t to[2]) {
    if (!x || (x->shape[1] == to[0] && x->shape[2] == to[1])) return x;
    const int64_t none[] = {0, 0, 0, 0}, after[] = {0, to[0] - x->shape[1], to[1] - x->shape[2], 0};
    return heed_pad(cx, x, none, after, 0);
}

static heed_tensor *cropped(heed_ctx *cx, heed_tensor *x, const int64_t to[2]) {
    for (int i = 0; x && i < 2; i++)
        if (x->shape[1 + i] != to[i]) x = heed_slice(cx, x, 1 + i, 0, to[i]);
    return x;
}

/* (B,h,w,C) -> (B n,a,C), n windows of a tokens; and back */
static heed_tensor *windows_of(heed_ctx *cx, const struct cut *c, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t B = x->shape[0], C = x->shape[3], *n = c->count, *w = c->window;
    x = heed_reshape(cx, x, 6, (int64_t[]){B, n[0], w[0], n[1], w[1], C});
    x = heed_permute(cx, x, (const int[]){0, 1, 3, 2, 4, 5});
    return heed_reshape(cx, x, 3, (int64_t[]){B * n[0] * n[1], w[0] * w[1], C});
}

static heed_tensor *grid_of(heed_ctx *cx, const struct cut *c, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t C = x->shape[2], *n = c->count, *w = c->window, B = x->shape[0] / (n[0] * n[1]);
    x = heed_reshape(cx, x, 6, (int64_t[]){B, n[0], n[1], w[0], w[1], C});
    x = heed_permute(cx, x, (const int[]){0, 1, 3, 2, 4, 5});
    return heed_reshape(cx, x, 4, (int64_t[]){B, c->size[0], c->size[1], C});
}

/* ---- blocks and stages ---- */

/* x (…,D) divided by its length, or by 1e-12: keys of padding are zeros */
static heed_tensor *unit(heed_ctx *cx, heed_tensor *x) {
    heed_tensor *const square = heed_sum(cx, heed_square(cx, x), (const int[]){-1}, 1, true);
    return heed_div(cx, x, heed_sqrt(cx, heed_clamp(cx, square, 1e-24F, INFINITY)));
}

/* Queries, keys and values of x (B n,a,C). */
static bool directions(heed_ctx *cx, const struct swin_cosine *v, heed_tensor *x, heed_tensor *part[3]) {
    const int64_t C = x->shape[2];
    for (int i = 0; !v->whole.weight && i < 3; i++) part[i] = heed_linear_run(cx, &v->qkv[i], x, HEED_ACT_NONE);
    if (!v->whole.weight) return !heed_failed(cx);
    heed_tensor *const all = heed_linear_run(cx, &v->whole, x, HEED_ACT_NONE);
    if (!heed_split(cx, all, -1, (int64_t[]){C, C, C}, 3, part)) return false;
    if (v->q_bias) part[0] = heed_add(cx, part[0], heed_param_tensor(cx, v->q_bias));
    if (v->v_bias) part[2] = heed_add(cx, part[2], heed_param_tensor(cx, v->v_bias));
    return !heed_failed(cx);
}

/* The second version's attention: x (B n,a,C) -> the same. */
static heed_tensor *by_cosine(heed_ctx *cx, const struct swin_block *b, heed_tensor *x, heed_attention_opts *o) {
    const struct swin_cosine *const v = &b->cosine;
    const int64_t H = b->attention.heads;
    heed_tensor *part[3];
    if (!x || !directions(cx, v, x, part)) return NULL;
    for (int i = 0; i < 3; i++)
        part[i] = heed_reshape(cx, part[i], 4, (int64_t[]){x->shape[0], x->shape[1], H, x->shape[2] / H});
    heed_tensor *const most = heed_clamp(cx, heed_param_tensor(cx, v->logit_scale), -INFINITY, logf(100));
    heed_tensor *const scale = heed_reshape(cx, heed_exp(cx, most), 2, (int64_t[]){H, 1});
    o->scale = 1;
    o->dropout = b->attention.dropout;
    heed_tensor *const q = heed_mul(cx, unit(cx, part[0]), scale);
    heed_tensor *const y = heed_attention(cx, q, unit(cx, part[1]), part[2], o);
    return y ? heed_linear_run(cx, &b->attention.out, heed_reshape(cx, y, 3, x->shape), HEED_ACT_NONE) : NULL;
}

static heed_tensor *attention(heed_ctx *cx, const struct swin *m, const struct swin_block *b, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t grid[] = {x->shape[1], x->shape[2]}, B = x->shape[0];
    const struct cut c = cut_of(m, b, grid);
    heed_attention_opts o = {.mask = heed_mask_add(bias_of(cx, b, &c)), .site = b->site, .layer = b->number};
    if (c.shift[0] > 0 || c.shift[1] > 0) o.mask = heed_mask_both(cx, o.mask, heed_mask_keep(neighbours(cx, &c, B)));
    x = m->pads_last ? padded(cx, rolled(cx, &c, x, -1), c.size) : rolled(cx, &c, padded(cx, x, c.size), -1);
    x = windows_of(cx, &c, x);
    x = m->second ? by_cosine(cx, b, x, &o) : heed_multihead_run(cx, &b->attention, x, x, x, &o);
    x = grid_of(cx, &c, heed_dropout(cx, x, b->attention_dropout));
    return m->pads_last ? rolled(cx, &c, cropped(cx, x, grid), 1) : cropped(cx, rolled(cx, &c, x, 1), grid);
}

/* Norms after the sublayers. */
static heed_tensor *second_run(heed_ctx *cx, const struct swin *m, const struct swin_block *b, heed_tensor *x) {
    heed_tensor *y = heed_norm_run(cx, &b->norm1, heed_contiguous(cx, attention(cx, m, b, x)));
    x = heed_add(cx, x, heed_drop_path(cx, y, b->drop_path));
    y = heed_dropout(cx, heed_feed_forward_run(cx, &b->feed_forward, x), b->dropout);
    return heed_add(cx, x, heed_drop_path(cx, heed_norm_run(cx, &b->norm2, y), b->drop_path));
}

static heed_tensor *block_run(heed_ctx *cx, const struct swin *m, const struct swin_block *b, heed_tensor *x) {
    if (m->second) return second_run(cx, m, b, x);
    heed_tensor *y = heed_contiguous(cx, attention(cx, m, b, heed_norm_run(cx, &b->norm1, x)));
    y = heed_add_norm_run(cx, &b->norm2, heed_drop_path(cx, y, b->drop_path), x, &x);
    y = heed_dropout(cx, heed_feed_forward_run(cx, &b->feed_forward, y), b->dropout);
    return heed_add(cx, x, heed_drop_path(cx, y, b->drop_path));
}

/* (B,h,w,C) -> (B,h / 2,w / 2,2C); odd sides are padded */
static heed_tensor *merged(heed_ctx *cx, const struct swin *m, const struct swin_stage *s, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t B = x->shape[0], h = (x->shape[1] + 1) / 2, w = (x->shape[2] + 1) / 2, C = x->shape[3];
    x = padded(cx, x, (const int64_t[]){2 * h, 2 * w});
    x = heed_reshape(cx, x, 6, (int64_t[]){B, h, 2, w, 2, C});
    x = heed_permute(cx, x, (const int[]){0, 1, 3, 4, 2, 5});
    x = heed_reshape(cx, x, 4, (int64_t[]){B, h, w, 4 * C});
    if (m->second) return heed_norm_run(cx, &s->norm, heed_linear_run(cx, &s->reduction, x, HEED_ACT_NONE));
    return heed_linear_run(cx, &s->reduction, heed_norm_run(cx, &s->norm, x), HEED_ACT_NONE);
}

/* -> (B,h,w,C) */
static heed_tensor *run(heed_ctx *cx, const struct swin *m, const heed_io *in) {
    int64_t grid[2] = {0};
    heed_tensor *const pixels = patches_pixels(cx, &m->patches, in, grid);
    heed_tensor *x = patches_run(cx, &m->patches, pixels, grid);
    if (!x) return NULL;
    x = masked_embed(cx, m->mask_token, in, heed_norm_run(cx, &m->patch_norm, x));
    if (m->positions)
        x = heed_add(cx, x,
                     positions_resized(cx, heed_param_tensor(cx, m->positions), 0, m->patches.grid, grid, false));
    x = heed_dropout(cx, x, m->dropout);
    if (x) x = heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], grid[0], grid[1], x->shape[2]});
    heed_scope_begin(cx);
    for (int s = 0; s < m->stages; s++) {
        if (m->stage[s].norm.weight) x = heed_scope_keep(cx, merged(cx, m, &m->stage[s], x));
        for (int i = 0; i < m->stage[s].blocks; i++)
            x = heed_scope_keep(cx, block_run(cx, m, &m->stage[s].block[i], x));
    }
    return heed_scope_end(cx, heed_norm_run(cx, &m->norm, x));
}

/* ---- heads ---- */

static heed_tensor *pooled(heed_ctx *cx, const struct swin *m, heed_tensor *h) {
    return m->pools ? heed_mean(cx, h, (const int[]){1, 2}, 2, false) : h;
}

/* (B,h,w,C) -> (B,h w,C) */
static heed_tensor *flattened(heed_ctx *cx, heed_tensor *h) {
    return heed_reshape(cx, h, 3, (int64_t[]){h->shape[0], h->shape[1] * h->shape[2], h->shape[3]});
}

bool swin_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct swin *m = own;
    heed_tensor *const h = run(cx, m, in);
    if (!h) return false;
    heed_tensor *const flat = m->flat ? flattened(cx, h) : h;
    return heed_io_put(cx, out, "last_hidden_state", flat) && heed_io_put(cx, out, "pooler_output", pooled(cx, m, h));
}

bool swin_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct swin *m = own;
    if (!m->output.weight) return swin_forward_bare(cx, own, in, out);
    heed_tensor *const x = heed_dropout(cx, pooled(cx, m, run(cx, m, in)), m->head_dropout);
    heed_tensor *const logits = heed_linear_run(cx, &m->output, x, HEED_ACT_NONE);
    if (!m->pools) return logits && heed_io_put(cx, out, "logits", logits); /* of every place */
    return head_classify(cx, m->problem, in, logits, out);
}

bool swin_forward_masked(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct swin *m = own;
    heed_tensor *const h = run(cx, m, in);
    return h && masked_decode(cx, &m->patches, &m->output, m->stride, flattened(cx, h), h->shape + 1, in, out);
}

bool swin_sample_masked(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct swin *m = own;
    (void)length;
    return masked_sample(cx, &m->patches, m->stride, (int64_t)1 << (m->stages - 1), batch, in);
}

bool swin_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct swin *)own)->patches, batch, in);
}

bool swin_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct swin *m = own;
    if (!swin_sample_bare(cx, own, batch, length, in) || !m->output.weight || !m->pools) return !heed_failed(cx);
    return head_sample_labels(cx, m->problem, batch, m->output.weight->shape[0], in);
}

/* Of a token in its window. */
void swin_name_key(const void *own, int64_t i, char *name, size_t size) {
    const struct swin *m = own;
    patches_name(m->stage[0].block ? m->stage[0].block[0].window : m->patches.grid, NULL, 0, i, name, size);
}

/* The block whose attention was captured, and the grid that it works on. */
bool swin_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct swin *m = own;
    patches_place(&m->patches, size, to);
    for (int s = 0; s < m->stages; s++) {
        for (int i = 0; i < 2 && m->stage[s].norm.weight; i++) to->grid[i] = (to->grid[i] + 1) / 2, to->patch[i] *= 2;
        for (int k = 0; map && k < m->stage[s].blocks; k++) {
            const struct swin_block *const b = &m->stage[s].block[k];
            if (b->number != map->layer || strcmp(b->site, map->site) != 0) continue;
            const struct cut c = cut_of(m, b, to->grid);
            for (int i = 0; i < 2; i++)
                to->window[i] = c.window[i], to->shift[i] = c.shift[i], to->count[i] = c.count[i];
            to->rolled_first = m->pads_last;
            to->stage = s;
            return true;
        }
    }
    return !map;
}
