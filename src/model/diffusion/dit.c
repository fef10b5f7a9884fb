/* Parts of diffusion Transformers. dit.h says what they compute. */
#include "model/diffusion/dit.h"
#include "tensor/engine.h"
#include <math.h>

#define NORM_OUT_EPS 1e-6F

/* ---- build ---- */

bool dit_make(heed_ctx *cx, const heed_build *b, const char *norm_type, double stretch, struct dit *m) {
    const heed_json config = b->config;
    const char *const norms[] = {norm_type, NULL};
    struct patches *const p = &m->patches;
    m->heads.heads = config_int(cx, config, "num_attention_heads", 1, MAX_SIZE);
    m->heads.size = config_int(cx, config, "attention_head_dim", 1, MAX_SIZE);
    p->channels = config_int(cx, config, "in_channels", 1, MAX_SIZE);
    p->patch[0] = p->patch[1] = config_int(cx, config, "patch_size", 1, MAX_SIDE);
    p->image[0] = p->image[1] = config_int(cx, config, "sample_size", p->patch[0], MAX_SIDE);
    p->rest = PATCHES_CUT_ALL, p->any_size = true;
    m->stretch = stretch;
    m->out_channels = config_int_or(cx, config, "out_channels", 1, MAX_SIZE, p->channels);
    m->layers = (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS);
    if (heed_failed(cx) || config_choice(cx, config, "norm_type", norms) < 0) return false;
    m->width = m->heads.heads * m->heads.size;
    if (m->width > MAX_SIZE || m->width % 4 != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "attention_head_dim"),
                              "%lld heads of this width make %lld channels, and sine positions of rows and columns "
                              "need a multiple of 4",
                              (long long)m->heads.heads, (long long)m->width);
    m->block = heed_params_alloc(cx, b->params, (size_t)m->layers, sizeof *m->block);
    if (!m->block || !patches_make(cx, b->params, "pos_embed.proj", m->width, true,
                                   (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0}, p))
        return false;
    p->projection.bias->init =
        (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)(p->channels * p->patch[0] * p->patch[1]), 0};
    return true;
}

bool dit_norm_make(heed_ctx *cx, const heed_build *b, const char *prefix, const char *name, const struct dit *m,
                   heed_norm_layer *norm) {
    norm->eps = (float)config_number(cx, b->config, "norm_eps", 0, 1);
    return !heed_json_bool(cx, b->config, "norm_elementwise_affine") ||
           part_norm(cx, b->params, prefix, name, m->width, norm->eps, norm);
}

static bool feed_forward_make(heed_ctx *cx, const heed_build *b, const char *prefix, int64_t width,
                              heed_feed_forward *ff) {
    static const char *const names[] = {"gelu",   "gelu-approximate", "geglu", "geglu-approximate",
                                        "swiglu", "linear-silu",      NULL};
    static const struct {
        heed_activation act;
        bool gated;
    } kinds[] = {{HEED_ACT_GELU, false},       {HEED_ACT_GELU_TANH, false}, {HEED_ACT_GELU, true},
                 {HEED_ACT_QUICK_GELU, false}, {HEED_ACT_SILU, true},       {HEED_ACT_SILU, false}};
    const int kind = config_choice(cx, b->config, "activation_fn", names);
    if (kind < 0) return false;
    *ff = (heed_feed_forward){.act = kinds[kind].act,
                              .fused = kinds[kind].gated,
                              .gate_last = kinds[kind].gated,
                              .dropout = (float)config_number(cx, b->config, "dropout", 0, 1)};
    return heed_linear_make(cx, b->params, part_under(cx, prefix, "ff.net.0.proj").s, width,
                            (kinds[kind].gated ? 8 : 4) * width, true, &ff->linear1) &&
           heed_linear_make(cx, b->params, part_under(cx, prefix, "ff.net.2").s, 4 * width, width, true, &ff->linear2);
}

bool dit_block_make(heed_ctx *cx, const heed_build *b, const char *prefix, const struct dit *m, int64_t text,
                    struct dit_block *block) {
    const bool bias = heed_json_bool(cx, b->config, "attention_bias");
    block->dropout = (float)config_number(cx, b->config, "dropout", 0, 1);
    return attend_make(cx, b->params, part_under(cx, prefix, "attn1").s, m->width, m->heads, 0, bias, &block->attn1) &&
           (!text || attend_make(cx, b->params, part_under(cx, prefix, "attn2").s, m->width, m->heads, text, bias,
                                 &block->attn2)) &&
           feed_forward_make(cx, b, prefix, m->width, &block->ff);
}

/* ---- patches and positions ---- */

/* Sines, then cosines, of place / 10000^(i / n), for n speeds. */
static void put_waves(double place, int64_t n, float *to) {
    for (int64_t i = 0; i < n; i++) {
        const double turned = place * (1 / pow(10000, (double)i / (double)n));
        to[i] = (float)sin(turned);
        to[n + i] = (float)cos(turned);
    }
}

/* (h w,E): the first half of the channels is the column's, the second the row's. Positions are those of the map's own
 * size, however fine the grid is. */
static heed_tensor *positions(heed_ctx *cx, const struct dit *m, const int64_t grid[2]) {
    const int64_t h = grid[0], w = grid[1], half = m->width / 2;
    heed_tensor *const table = heed_zeros(cx, HEED_F32, 2, (int64_t[]){h * w, m->width}), *const lines = heed_zeros(
                                                                                              cx, HEED_F32, 2,
                                                                                              (int64_t[]){h + w, half});
    if (!table || !lines || cx->config.dry) return table;
    float *const to = (float *)(void *)table->data, *const line = (float *)(void *)lines->data;
    for (int64_t i = 0; i < h + w; i++) {
        const bool row = i < h;
        const double scale = (double)grid[row ? 0 : 1] / (double)m->patches.grid[0];
        const float place = (float)(row ? i : i - h) / (float)scale / (float)m->stretch;
        put_waves((double)place, half / 2, line + i * half);
    }
    for (int64_t i = 0; i < h * w; i++)
        for (int64_t c = 0; c < half; c++) {
            to[i * m->width + c] = line[(h + i % w) * half + c];
            to[i * m->width + half + c] = line[i / w * half + c];
        }
    return table;
}

heed_tensor *dit_tokens(heed_ctx *cx, const struct dit *m, const heed_io *in, int64_t grid[2]) {
    heed_tensor *const x = map_input(cx, in, "sample", m->patches.channels);
    if (!x) return NULL;
    for (int i = 0; i < 2; i++) grid[i] = x->shape[2 + i] / m->patches.patch[i];
    if (grid[0] < 1 || grid[1] < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "sample: maps of %lld x %lld are smaller than a patch of %lld x %lld",
                         (long long)x->shape[2], (long long)x->shape[3], (long long)m->patches.patch[0],
                         (long long)m->patches.patch[1]),
               NULL;
    return heed_add(cx, patches_run(cx, &m->patches, x, grid), positions(cx, m, grid));
}

/* ---- blocks ---- */

heed_tensor *dit_modulated(heed_ctx *cx, const heed_norm_layer *norm, heed_tensor *x, heed_tensor *shift,
                           heed_tensor *scale) {
    heed_tensor *const h = norm->weight ? heed_norm_run(cx, norm, x) : heed_layer_norm(cx, x, NULL, NULL, norm->eps);
    return heed_add(cx, heed_mul(cx, h, heed_affine(cx, scale, 1, 1)), shift);
}

heed_tensor *dit_block_run(heed_ctx *cx, const struct dit_block *b, heed_tensor *x, const struct dit_modulation *by,
                           const struct condition *given) {
    heed_tensor *const *const part = by->part;
    const heed_attention_opts own = {.layer = b->layer},
                              cross = {.mask.add = given->hidden, .site = "cross", .layer = b->layer};
    heed_scope_begin(cx);
    heed_tensor *h = dit_modulated(cx, &b->norm1, x, part[0], part[1]);
    h = heed_dropout(cx, heed_multihead_run(cx, &b->attn1, h, h, h, &own), b->dropout);
    x = heed_add(cx, heed_mul(cx, h, part[2]), x);
    if (b->attn2.out.weight) { /* to itself where there is no text */
        heed_tensor *const memory = given->text ? given->text : x;
        x = heed_add(cx, heed_dropout(cx, heed_multihead_run(cx, &b->attn2, x, memory, memory, &cross), b->dropout), x);
    }
    h = heed_feed_forward_run(cx, &b->ff, dit_modulated(cx, &b->norm2, x, part[3], part[4]));
    return heed_scope_end(cx, heed_add(cx, heed_mul(cx, h, part[5]), x));
}

heed_tensor *dit_map(heed_ctx *cx, const struct dit *m, const heed_linear_layer *out, heed_tensor *x,
                     heed_tensor *shift, heed_tensor *scale, const int64_t grid[2]) {
    const heed_norm_layer norm = {.eps = NORM_OUT_EPS};
    const int64_t side = m->patches.patch[0], C = m->out_channels;
    heed_tensor *y = heed_linear_run(cx, out, dit_modulated(cx, &norm, x, shift, scale), HEED_ACT_NONE);
    if (!y) return NULL;
    const int64_t B = y->shape[0];
    y = heed_reshape(cx, y, 6, (int64_t[]){B, grid[0], grid[1], side, side, C});
    y = heed_permute(cx, y, (const int[]){0, 5, 1, 3, 2, 4});
    return heed_reshape(cx, y, 4, (int64_t[]){B, C, grid[0] * side, grid[1] * side});
}

bool dit_sample(heed_ctx *cx, const struct dit *m, int64_t batch, heed_io *in) {
    const int64_t shape[] = {batch, m->patches.channels, m->patches.image[0], m->patches.image[1]};
    return heed_io_put(cx, in, "sample", heed_zeros(cx, HEED_F32, 4, shape)) &&
           heed_io_put(cx, in, "timestep", heed_zeros(cx, HEED_I32, 1, &batch));
}
