/* Masked pictures: what their heads share. */
#include "model/vision/masked_pictures.h"
#include "tensor/engine.h"

bool masked_make(heed_ctx *cx, heed_json config, heed_params *set, int64_t width, int64_t channels, heed_init init,
                 heed_linear_layer *decoder, int64_t *stride) {
    *stride = config_int(cx, config, "encoder_stride", 1, 4096);
    const int64_t out = *stride * *stride * channels;
    decoder->weight = heed_param_add(cx, set, "decoder.0", "weight", 4, (int64_t[]){out, width, 1, 1}, init);
    decoder->bias = heed_param_add(cx, set, "decoder.0", "bias", 1, &out, (heed_init){.kind = HEED_INIT_ZEROS});
    return !heed_failed(cx);
}

heed_tensor *masked_embed(heed_ctx *cx, const heed_param *token, const heed_io *in, heed_tensor *x) {
    heed_tensor *mask = heed_io_get(in, MASKED_POSITIONS);
    if (!token || !mask || !x) return x;
    if (mask->rank != 2 || mask->shape[0] != x->shape[0] || mask->shape[1] != x->shape[1]) {
        heed_fail(cx, HEED_ERR_SHAPE, MASKED_POSITIONS ": shape (%lld,%lld) is needed, not %s", (long long)x->shape[0],
                  (long long)x->shape[1], heed_shape_text(mask).s);
        return NULL;
    }
    mask = heed_reshape(cx, mask, 3, (int64_t[]){x->shape[0], x->shape[1], 1});
    return heed_where(cx, heed_cast(cx, mask, HEED_U8), heed_param_tensor(cx, token), x);
}

/* y (B,h w,C s s) -> (B,C,h s,w s), as torch.nn.PixelShuffle */
static heed_tensor *shuffled(heed_ctx *cx, heed_tensor *y, int64_t C, int64_t s, const int64_t grid[2]) {
    if (!y) return NULL;
    const int64_t B = y->shape[0];
    y = heed_reshape(cx, y, 6, (int64_t[]){B, grid[0], grid[1], C, s, s});
    y = heed_permute(cx, y, (const int[]){0, 3, 1, 4, 2, 5});
    return heed_reshape(cx, y, 4, (int64_t[]){B, C, grid[0] * s, grid[1] * s});
}

/* mask (B,h w) of patches -> (B,1,h P,w Q) of 0 and 1: of every pixel */
static heed_tensor *pixels_of(heed_ctx *cx, const struct patches *p, heed_tensor *mask, const int64_t grid[2]) {
    const int64_t B = mask->shape[0], P = p->patch[0], Q = p->patch[1];
    mask = heed_cast(cx, heed_cast(cx, mask, HEED_U8), HEED_F32);
    mask = heed_reshape(cx, mask, 6, (int64_t[]){B, 1, grid[0], 1, grid[1], 1});
    mask = heed_expand(cx, mask, 6, (int64_t[]){B, 1, grid[0], P, grid[1], Q});
    return heed_reshape(cx, mask, 4, (int64_t[]){B, 1, grid[0] * P, grid[1] * Q});
}

bool masked_decode(heed_ctx *cx, const struct patches *p, const heed_linear_layer *decoder, int64_t stride,
                   heed_tensor *h, const int64_t grid[2], const heed_io *in, heed_io *out) {
    int64_t patches[2] = {0};
    heed_tensor *const pixels = patches_pixels(cx, p, in, patches), *const mask = heed_io_get(in, MASKED_POSITIONS);
    const heed_param *const weight = decoder->weight;
    heed_tensor *const w = heed_reshape(cx, heed_param_tensor(cx, weight), 2, weight->shape);
    heed_tensor *const y = heed_linear(cx, h, w, heed_param_tensor(cx, decoder->bias));
    heed_tensor *const picture = shuffled(cx, y, p->channels, stride, grid);
    if (!pixels || !picture || !heed_io_put(cx, out, "reconstruction", picture)) return false;
    if (!mask) return true;
    for (int i = 0; i < 2; i++)
        if (grid[i] * stride != patches[i] * p->patch[i] || pixels->shape[2 + i] != patches[i] * p->patch[i])
            return heed_fail(cx, HEED_ERR_USAGE,
                             MASKED_POSITIONS
                             ": encoder_stride %lld makes a picture of %lld x %lld of one of %lld x %lld",
                             (long long)stride, (long long)(grid[0] * stride), (long long)(grid[1] * stride),
                             (long long)pixels->shape[2], (long long)pixels->shape[3]);
    heed_tensor *const where = pixels_of(cx, p, mask, patches);
    heed_tensor *loss = heed_l1_loss(cx, picture, pixels, HEED_REDUCE_NONE);
    loss = heed_sum(cx, heed_mul(cx, loss, where), NULL, 0, false);
    loss = heed_div(cx, loss, heed_affine(cx, heed_sum(cx, where, NULL, 0, false), 1, 1e-5F));
    return heed_io_put(cx, out, "loss", heed_affine(cx, loss, 1 / (float)p->channels, 0));
}

bool masked_sample(heed_ctx *cx, const struct patches *p, int64_t stride, int64_t merged, int64_t batch, heed_io *in) {
    const int64_t shape[] = {batch, p->grid[0] * p->grid[1]};
    if (!patches_sample(cx, p, batch, in)) return false;
    for (int i = 0; i < 2; i++)
        if (p->patch[i] * merged != stride || p->grid[i] % merged != 0) return true;
    return heed_io_put(cx, in, MASKED_POSITIONS, heed_zeros(cx, HEED_I32, 2, shape));
}
