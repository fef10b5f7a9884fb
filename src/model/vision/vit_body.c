/* What Vision Transformers compute, and their heads, whatever layout they came in. */
#include "model/vision/masked_pictures.h"
#include "model/vision/vit.h"
#include "tensor/engine.h"
#include <stdio.h>
#include <string.h>

float vit_drop_path(double rate, int64_t i, int64_t n) {
    return n > 1 ? (float)(rate * (double)i / (double)(n - 1)) : 0;
}

/* ---- tokens ---- */

/* The tokens before the patches: (1,n,E) each, n of all -> (B,n,E) */
static heed_tensor *before_patches(heed_ctx *cx, const struct vit *m, int64_t B) {
    heed_tensor *part[VIT_TOKENS] = {NULL};
    int n = 0;
    while (n < VIT_TOKENS && m->tokens[n]) part[n] = heed_param_tensor(cx, m->tokens[n]), n++;
    heed_tensor *const all = n > 1 ? heed_concat(cx, part, n, 1) : part[0];
    return heed_expand(cx, all, 3, (int64_t[]){B, -1, -1});
}

/* Tokens without a position get zeros: (1,P + h w,E) -> (1,first + h w,E) */
static heed_tensor *positions_of_all(heed_ctx *cx, const struct vit *m, heed_tensor *t) {
    if (!t || m->placed == m->first) return t;
    const int64_t P = m->placed, T = t->shape[1], gap[] = {1, m->first - P, t->shape[2]};
    heed_tensor *const part[] = {heed_slice(cx, t, 1, 0, P), heed_zeros(cx, HEED_F32, 3, gap),
                                 heed_slice(cx, t, 1, P, T - P)};
    return heed_concat(cx, part, 3, 1);
}

static heed_tensor *embed(heed_ctx *cx, const struct vit *m, const heed_io *in) {
    int64_t grid[2] = {0};
    heed_tensor *const pixels = patches_pixels(cx, &m->patches, in, grid);
    heed_tensor *x = patches_run(cx, &m->patches, pixels, grid), *positions = NULL;
    if (!x) return NULL;
    if (m->patch_norm.weight) x = heed_norm_run(cx, &m->patch_norm, x);
    x = masked_embed(cx, m->mask_token, in, x);
    if (!x) return NULL;
    if (m->positions)
        positions =
            positions_resized(cx, heed_param_tensor(cx, m->positions), m->placed, m->patches.grid, grid, m->smooth);
    if (positions && m->placed == 0) x = heed_add(cx, x, positions);
    if (m->first > 0) x = heed_concat(cx, (heed_tensor *[]){before_patches(cx, m, pixels->shape[0]), x}, 2, 1);
    if (positions && m->placed > 0) x = heed_add(cx, x, positions_of_all(cx, m, positions));
    x = heed_dropout(cx, x, m->dropout);
    if (m->patch_dropout > 0 && engine_of(cx) && engine_of(cx)->training) {
        heed_fail(cx, HEED_ERR_USAGE, "patch_drop_rate %g: heed does not drop patches while training: set it to 0",
                  (double)m->patch_dropout);
        return NULL;
    }
    return m->before.weight ? heed_norm_run(cx, &m->before, x) : x;
}

static heed_tensor *run(heed_ctx *cx, const struct vit *m, const heed_io *in, bool first) {
    heed_tensor *const x = embed(cx, m, in);
    const heed_attention_opts o = {.mask = input_padding_of(cx, in, x)};
    return (first ? heed_encoder_attend_first : heed_encoder_attend)(cx, &m->stack, x, &o);
}

/* ---- pooling ---- */

/* (B,T,E) -> (B,E) */
static heed_tensor *token_at(heed_ctx *cx, heed_tensor *h, int64_t i) {
    if (!h) return NULL;
    return heed_reshape(cx, heed_slice(cx, h, 1, i, 1), 2, (int64_t[]){h->shape[0], h->shape[2]});
}

/* (B,T,E) -> (B,E) */
static heed_tensor *latent(heed_ctx *cx, const struct vit_latent *l, heed_tensor *x) {
    const int64_t B = x->shape[0], T = x->shape[1], E = x->shape[2], H = l->heads, D = E / H;
    heed_tensor *q = heed_linear_run(cx, &l->q, heed_param_tensor(cx, l->query), HEED_ACT_NONE), *kv[2];
    q = heed_expand(cx, heed_reshape(cx, q, 4, (int64_t[]){1, 1, H, D}), 4, (int64_t[]){B, -1, -1, -1});
    heed_tensor *const both = heed_linear_run(cx, &l->kv, x, HEED_ACT_NONE);
    if (!both || !heed_split(cx, both, -1, (int64_t[]){E, E}, 2, kv)) return NULL;
    for (int i = 0; i < 2; i++) kv[i] = heed_reshape(cx, kv[i], 4, (int64_t[]){B, T, H, D});
    if (l->q_norm.weight) q = heed_norm_run(cx, &l->q_norm, q), kv[0] = heed_norm_run(cx, &l->k_norm, kv[0]);
    x = heed_attention(cx, q, kv[0], kv[1], &(heed_attention_opts){.site = "pooling"});
    x = heed_linear_run(cx, &l->out, heed_reshape(cx, x, 2, (int64_t[]){B, E}), HEED_ACT_NONE);
    return heed_add(cx, x, heed_feed_forward_run(cx, &l->feed_forward, heed_norm_run(cx, &l->norm, x)));
}

/* Patch representation refinement: attention whose queries, keys and values are the tokens themselves, (B,T,E). */
static heed_tensor *refined(heed_ctx *cx, const struct vit *m, heed_tensor *x) {
    const int64_t B = x->shape[0], T = x->shape[1], E = x->shape[2], H = m->latent.heads;
    heed_tensor *const heads = heed_reshape(cx, x, 4, (int64_t[]){B, T, H, E / H});
    x = heed_attention(cx, heads, heads, heads, &(heed_attention_opts){.site = "pooling"});
    x = heed_reshape(cx, x, 3, (int64_t[]){B, T, E});
    return m->has_class ? token_at(cx, x, 0) : heed_mean(cx, x, (const int[]){1}, 1, false);
}

/* The class token's state beside the mean of the patches' states: (B,T,E) -> (B,2 E) */
static heed_tensor *class_and_mean(heed_ctx *cx, const struct vit *m, heed_tensor *h) {
    heed_tensor *const patches = heed_slice(cx, h, 1, m->first, h->shape[1] - m->first);
    heed_tensor *const both[] = {token_at(cx, h, 0), heed_mean(cx, patches, (const int[]){1}, 1, false)};
    return heed_concat(cx, both, 2, 1);
}

/* (B,T,E) -> (B,E), with its norm; (B,T,E) where nothing is pooled */
static heed_tensor *pooled(heed_ctx *cx, const struct vit *m, heed_tensor *h) {
    static const int time[] = {1};
    if (!h) return NULL;
    if (m->pool == VIT_CLASS_AND_MEAN) return class_and_mean(cx, m, h);
    if (m->pool != VIT_CLASS && m->pool != VIT_ALL && !m->pools_tokens && m->first > 0)
        h = heed_slice(cx, h, 1, m->first, h->shape[1] - m->first);
    if (!h) return NULL;
    switch (m->pool) {
    case VIT_CLASS:
        if (m->averages) return heed_affine(cx, heed_add(cx, token_at(cx, h, 0), token_at(cx, h, 1)), 0.5F, 0);
        h = token_at(cx, h, 0);
        break;
    case VIT_MEAN:
        h = heed_mean(cx, h, time, 1, false);
        break;
    case VIT_MAX:
        h = heed_max(cx, h, time, 1, false);
        break;
    case VIT_MEANMAX:
        h = heed_add(cx, heed_max(cx, h, time, 1, false), heed_mean(cx, h, time, 1, false));
        h = heed_affine(cx, h, 0.5F, 0);
        break;
    case VIT_LATENT:
        h = latent(cx, &m->latent, h);
        break;
    case VIT_REFINED:
        h = refined(cx, m, h);
        break;
    case VIT_ALL:
    case VIT_CLASS_AND_MEAN:
        break;
    }
    return m->pool_norm.weight ? heed_norm_run(cx, &m->pool_norm, h) : h;
}

/* ---- heads ---- */

bool vit_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct vit *m = own;
    heed_tensor *const h = run(cx, m, in, false);
    if (!h || !heed_io_put(cx, out, "last_hidden_state", h)) return false;
    heed_tensor *const x = pooled(cx, m, h);
    return heed_io_put(cx, out, "pooler_output",
                       m->pooler.weight ? heed_linear_run(cx, &m->pooler, x, m->pooler_act) : x);
}

/* The mean of both, where there is a head of the distillation token. */
static heed_tensor *logits_of(heed_ctx *cx, const struct vit *m, const heed_io *in, heed_tensor *part[2]) {
    heed_tensor *const h = run(cx, m, in, m->pool == VIT_CLASS && !m->distilled.weight);
    heed_tensor *const x =
        m->distilled.weight ? token_at(cx, h, 0) : heed_dropout(cx, pooled(cx, m, h), m->head_dropout);
    part[0] = heed_linear_run(cx, &m->output, x, HEED_ACT_NONE);
    if (!m->distilled.weight) return part[0];
    part[1] = heed_linear_run(cx, &m->distilled, token_at(cx, h, 1), HEED_ACT_NONE);
    return heed_affine(cx, heed_add(cx, part[0], part[1]), 0.5F, 0);
}

bool vit_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct vit *m = own;
    if (!m->output.weight) return vit_forward_bare(cx, own, in, out);
    heed_tensor *part[2], *const logits = logits_of(cx, m, in, part);
    if (m->distilled.weight && engine_of(cx) &&
        engine_of(cx)->training && /* a teacher's loss is of the one, the labels' of the other */
        (!logits || !heed_io_put(cx, out, "cls_logits", part[0]) ||
         !heed_io_put(cx, out, "distillation_logits", part[1])))
        return false;
    if (m->pool == VIT_ALL) return logits && heed_io_put(cx, out, "logits", logits); /* of every token */
    return head_classify(cx, m->problem, in, logits, out);
}

bool vit_forward_teacher(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct vit *m = own;
    heed_tensor *part[2] = {NULL, NULL};
    return head_classify(cx, m->problem, in, logits_of(cx, m, in, part), out) &&
           heed_io_put(cx, out, "cls_logits", part[0]) && heed_io_put(cx, out, "distillation_logits", part[1]);
}

bool vit_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct vit *)own)->patches, batch, in);
}

bool vit_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct vit *m = own;
    if (!vit_sample_bare(cx, own, batch, length, in) || !m->output.weight || m->pool == VIT_ALL)
        return !heed_failed(cx);
    return head_sample_labels(cx, m->problem, batch, m->output.weight->shape[0], in);
}

/* ---- masked pictures (Xie et al. 2022) ---- */

bool vit_forward_masked(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct vit *m = own;
    int64_t grid[2] = {0};
    heed_tensor *const h = patches_pixels(cx, &m->patches, in, grid) ? run(cx, m, in, false) : NULL;
    return h && masked_decode(cx, &m->patches, &m->output, m->stride, heed_slice(cx, h, 1, m->first, grid[0] * grid[1]),
                              grid, in, out);
}

bool vit_sample_masked(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct vit *m = own;
    (void)length;
    return masked_sample(cx, &m->patches, m->stride, 1, batch, in);
}

/* ---- maps of attention ---- */

/* What a token before the patches is, by the name of its parameter. */
enum kind { CLASS, DISTILLATION, REGISTER };
static enum kind kind_of(const heed_param *token) {
    const char *const dot = strrchr(token->name, '.'), *const last = dot ? dot + 1 : token->name;
    return strcmp(last, "cls_token") == 0 ? CLASS : strncmp(last, "reg", 3) == 0 ? REGISTER : DISTILLATION;
}

void vit_name_key(const void *own, int64_t i, char *name, size_t size) {
    static const char *const names[] = {[CLASS] = "class", [DISTILLATION] = "distillation", [REGISTER] = "register"};
    const struct vit *m = own;
    int64_t end = 0;
    for (int k = 0; k < VIT_TOKENS && m->tokens[k]; k++) {
        end += m->tokens[k]->shape[1];
        if (i < end) {
            snprintf(name, size, "%s", names[kind_of(m->tokens[k])]);
            return;
        }
    }
    patches_name(m->patches.grid, NULL, 0, i - m->first, name, size);
}

bool vit_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct vit *m = own;
    patches_place(&m->patches, size, to);
    const bool pooling = map && strcmp(map->site, "pooling") == 0;
    to->learned = pooling && m->pool == VIT_LATENT ? 1 : 0;
    if (pooling && !m->pools_tokens) return true; /* only patches are looked at */
    int64_t *const counts[] = {
        [CLASS] = &to->classes, [DISTILLATION] = &to->distillations, [REGISTER] = &to->registers};
    for (int k = 0; k < VIT_TOKENS && m->tokens[k]; k++) *counts[kind_of(m->tokens[k])] += m->tokens[k]->shape[1];
    return true;
}
