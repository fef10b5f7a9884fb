/* What VOLO computes, and its heads. */
#include "model/core/inputs.h"
#include "model/vision/volo.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

static const heed_conv_opts windows = {.stride = {VOLO_STRIDE, VOLO_STRIDE}, .padding = {VOLO_SIDE / 2, VOLO_SIDE / 2}};

/* The weights of the windows of x (B,H,W,C): (B,N,heads,9,9) */
static heed_tensor *outlook_weights(heed_ctx *cx, const struct volo *m, const struct outlooker *b, int64_t heads,
                                    heed_tensor *x, int number) {
    static const heed_pool_opts pool = {.kernel = {VOLO_STRIDE, VOLO_STRIDE}, .ceil_mode = true};
    static const int first[] = {0, 3, 1, 2}, last[] = {0, 2, 3, 1};
    heed_tensor *const mean = heed_permute(cx, heed_avg_pool2d(cx, heed_permute(cx, x, first), &pool), last);
    heed_tensor *w = heed_linear_run(cx, &b->weights, mean, HEED_ACT_NONE);
    if (!w) return NULL;
    const int64_t B = x->shape[0], N = w->shape[1] * w->shape[2], D = x->shape[3] / heads;
    w = heed_reshape(cx, heed_affine(cx, w, 1 / sqrtf((float)D), 0), 5, (int64_t[]){B, N, heads, VOLO_TAPS, VOLO_TAPS});
    w = heed_softmax(cx, w, -1);
    heed_tensor *const seen = heed_reshape(cx, w, 4, (int64_t[]){B * N, heads, VOLO_TAPS, VOLO_TAPS});
    if (!seen || !heed_capture_weights(cx, "outlook", number, 0, seen)) return NULL;
    return heed_dropout(cx, w, m->attention_dropout);
}

static heed_tensor *outlook_run(heed_ctx *cx, const struct volo *m, const struct volo_stage *s, int i, heed_tensor *x) {
    static const int64_t kernel[] = {VOLO_SIDE, VOLO_SIDE};
    const struct outlooker *const b = &s->block[i];
    heed_tensor *const u = heed_norm_run(cx, &b->norm1, x);
    heed_tensor *const w = outlook_weights(cx, m, b, s->heads, u, s->first + i);
    heed_tensor *y = heed_outlook(cx, heed_linear_run(cx, &b->values, u, HEED_ACT_NONE), w, kernel, &windows);
    y = heed_add_norm_run(cx, &b->norm2, heed_linear_run(cx, &b->proj, y, HEED_ACT_NONE), x, &x);
    return heed_add(cx, x, heed_feed_forward_run(cx, &b->feed_forward, y));
}

/* (B,h,w,C) -> (B,h / 2,w / 2,E): a convolution of 2 x 2 whose windows do not overlap */
static heed_tensor *merged(heed_ctx *cx, const heed_conv_layer *l, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t B = x->shape[0], h = x->shape[1] / 2, w = x->shape[2] / 2, C = x->shape[3], E = l->weight->shape[0];
    if (h < 1 || w < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: nothing is left of a grid of %lld x %lld",
                         (long long)x->shape[1], (long long)x->shape[2]),
               NULL;
    x = heed_slice(cx, heed_slice(cx, x, 1, 0, 2 * h), 2, 0, 2 * w);
    x = heed_reshape(cx, x, 6, (int64_t[]){B, h, 2, w, 2, C});
    x = heed_permute(cx, x, (const int[]){0, 1, 3, 5, 2, 4});
    x = heed_reshape(cx, x, 4, (int64_t[]){B, h, w, 4 * C});
    heed_tensor *const weight = heed_reshape(cx, heed_param_tensor(cx, l->weight), 2, (int64_t[]){E, 4 * C});
    return heed_linear(cx, x, weight, heed_param_tensor(cx, l->bias));
}

/* The network's third part begins with positions. */
static heed_tensor *placed(heed_ctx *cx, const struct volo *m, int part, heed_tensor *x) {
    const int64_t *const p = m->positions->shape;
    if (part != 2 || !x) return x;
    if (x->shape[3] != p[3] || (p[1] != 1 && x->shape[1] != p[1]) || (p[2] != 1 && x->shape[2] != p[2]))
        return heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: positions of shape %s do not fit a grid of shape %s",
                         heed_shape_text(heed_param_tensor(cx, m->positions)).s, heed_shape_text(x).s),
               NULL;
    return heed_dropout(cx, heed_add(cx, x, heed_param_tensor(cx, m->positions)), m->position_dropout);
}

/* (B,h,w,C) */
static heed_tensor *embed(heed_ctx *cx, const struct volo *m, const heed_io *in) {
    int64_t grid[2] = {0};
    heed_tensor *x = patches_pixels(cx, &m->patches, in, grid);
    for (int i = 0; i < VOLO_STEM; i++) x = heed_conv_norm_run(cx, &m->stem[i], &m->stem_norm[i], x, HEED_ACT_RELU);
    for (int i = 0; x && i < 2; i++) grid[i] = x->shape[2 + i] / m->places.patch[i];
    x = patches_run(cx, &m->places, x, grid);
    return x ? heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], grid[0], grid[1], x->shape[2]}) : NULL;
}

static heed_tensor *stage_run(heed_ctx *cx, const struct volo *m, const struct volo_stage *s, heed_tensor *x) {
    for (int i = 0; s->block && i < s->blocks; i++) x = heed_scope_keep(cx, outlook_run(cx, m, s, i, x));
    if (s->block || !x) return x;
    const int64_t B = x->shape[0], h = x->shape[1], w = x->shape[2], C = x->shape[3];
    x = heed_encoder_run(cx, &s->stack, heed_reshape(cx, x, 3, (int64_t[]){B, h * w, C}), NULL);
    return heed_scope_keep(cx, heed_reshape(cx, x, 4, (int64_t[]){B, h, w, C}));
}

static heed_tensor *class_block_run(heed_ctx *cx, const struct volo *m, int i, heed_tensor *c, heed_tensor *x) {
    const struct class_block *const b = &m->class_block[i];
    heed_tensor *const all = heed_norm_run(cx, &b->norm1, heed_concat(cx, (heed_tensor *[]){c, x}, 2, 1));
    heed_tensor *y = heed_add_norm_run(cx, &b->norm2, class_attention_run(cx, &b->attention, all, i), c, &c);
    return heed_add(cx, c, heed_feed_forward_run(cx, &b->feed_forward, y));
}

/* h (B,1 + T,C), the class token first */
static heed_tensor *run(heed_ctx *cx, const struct volo *m, const heed_io *in) {
    heed_tensor *x = embed(cx, m, in);
    int part = 0;
    heed_scope_begin(cx);
    for (int s = 0; s < m->stages; s++) {
        x = stage_run(cx, m, &m->stage[s], placed(cx, m, part++, x));
        if (!m->stage[s].merging.weight) continue;
        x = heed_scope_keep(cx, merged(cx, &m->stage[s].merging, placed(cx, m, part++, x)));
    }
    x = heed_scope_end(cx, x);
    if (!x) return NULL;
    const int64_t B = x->shape[0], C = x->shape[3];
    x = heed_reshape(cx, x, 3, (int64_t[]){B, x->shape[1] * x->shape[2], C});
    heed_tensor *c = heed_expand(cx, heed_param_tensor(cx, m->token), 3, (int64_t[]){B, -1, -1});
    heed_scope_begin(cx);
    for (int i = 0; i < m->class_blocks; i++) c = heed_scope_keep(cx, class_block_run(cx, m, i, c, x));
    c = heed_scope_end(cx, c);
    return heed_norm_run(cx, &m->norm, heed_concat(cx, (heed_tensor *[]){c, x}, 2, 1));
}

static heed_tensor *pooled(heed_ctx *cx, const struct volo *m, heed_tensor *h) {
    if (m->pool == VOLO_ALL || !h) return h;
    if (m->pool == VOLO_MEAN) return heed_mean(cx, h, (const int[]){1}, 1, false); /* the class token's, too */
    return heed_reshape(cx, heed_slice(cx, h, 1, 0, 1), 2, (int64_t[]){h->shape[0], h->shape[2]});
}

/* linear, or x itself where there are no classes */
static heed_tensor *classified(heed_ctx *cx, const heed_linear_layer *linear, heed_tensor *x) {
    return linear->weight ? heed_linear_run(cx, linear, x, HEED_ACT_NONE) : x;
}

/* As timm has it: what is pooled and the best of the tokens, whether they are classified or not; dropout is of these
 * alone. */
static heed_tensor *answer(heed_ctx *cx, const struct volo *m, heed_tensor *h) {
    heed_tensor *const y = classified(cx, &m->output, pooled(cx, m, h));
    if (!m->labels_tokens || !y) return y;
    heed_tensor *const tokens = heed_dropout(cx, heed_slice(cx, h, 1, 1, h->shape[1] - 1), m->head_dropout);
    heed_tensor *const best =
        heed_max(cx, classified(cx, &m->labelling, tokens), (const int[]){1}, 1, m->pool == VOLO_ALL);
    return heed_add(cx, y, heed_affine(cx, best, 0.5F, 0));
}

bool volo_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct volo *m = own;
    heed_tensor *const h = run(cx, m, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h) && heed_io_put(cx, out, "pooler_output", answer(cx, m, h));
}

bool volo_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct volo *m = own;
    if (!m->output.weight) return volo_forward_bare(cx, own, in, out);
    heed_tensor *const logits = answer(cx, m, run(cx, m, in));
    if (m->pool == VOLO_ALL) return logits && heed_io_put(cx, out, "logits", logits); /* of every token */
    return head_classify(cx, PROBLEM_BY_LABELS, in, logits, out);
}

bool volo_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct volo *)own)->patches, batch, in);
}

bool volo_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct volo *m = own;
    if (!volo_sample_bare(cx, own, batch, length, in) || !m->output.weight || m->pool == VOLO_ALL)
        return !heed_failed(cx);
    return head_sample_labels(cx, PROBLEM_BY_LABELS, batch, m->output.weight->shape[0], in);
}

/* ---- maps of attention ---- Those of the class token have it among their keys. Windows of outlook attention overlap:
 * they are 3 x 3 places, 2 apart, and the first begins one place before the picture. */

/* The grid of a stage whose blocks have these numbers; the last for the class token, and for states. */
bool volo_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct volo *const m = own;
    const bool outlook = map && strcmp(map->site, "outlook") == 0, class = map && strcmp(map->site, "class") == 0;
    const bool last = !map || class;
    *to = (struct picture_place){.classes = last, .learned = class, .late = true};
    for (int i = 0; i < 2; i++) {
        to->patch[i] = 2 * m->places.patch[i];
        to->grid[i] = (size[i] + 1) / 2 / m->places.patch[i];
    }
    for (int s = 0; s < m->stages; s++) {
        const struct volo_stage *const stage = &m->stage[s];
        if (!last && outlook == (stage->block != NULL) && map->layer >= stage->first &&
            map->layer < stage->first + stage->blocks)
            break;
        if (s + 1 == m->stages) return last;
        if (!stage->merging.weight) continue;
        for (int i = 0; i < 2; i++) to->grid[i] /= 2, to->patch[i] *= 2;
    }
    for (int i = 0; outlook && i < 2; i++) {
        to->window[i] = VOLO_SIDE;
        to->stride[i] = VOLO_STRIDE;
        to->before[i] = VOLO_SIDE / 2;
        to->count[i] = (to->grid[i] + 1) / 2;
    }
    return true;
}
