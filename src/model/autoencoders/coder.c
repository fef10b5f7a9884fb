#include "model/autoencoders/coder.h"
#include "tensor/engine.h"
#include <string.h>

/* ---- parameters ---- */

/* "encoder.3" */
static struct part_name module(heed_ctx *cx, const char *of, int number) { return part_numbered(cx, "", of, number); }

static bool read_keys(heed_ctx *cx, heed_json config, struct coder *c) {
    static const char *const likelihoods[] = {"gaussian", "bernoulli", NULL};
    c->pictures = (struct patches){.channels = config_int(cx, config, "num_channels", 1, MAX_SIDE), .patch = {1, 1}};
    config_sides(cx, config, "image_size", MAX_SIDE, c->pictures.image);
    c->latent = config_int(cx, config, "latent_size", 1, MAX_SIZE);
    c->act = config_activation(cx, config, "hidden_act");
    c->output_act = config_activation(cx, config, "output_act");
    c->bernoulli = config_choice(cx, config, "likelihood", likelihoods) == 1;
    c->weight = config_number(cx, config, "reconstruction_weight", 1e-12, 1e12);
    if (heed_failed(cx)) return false;
    return !c->bernoulli || c->output_act == HEED_ACT_SIGMOID ||
           heed_json_fail(cx, heed_json_find(cx, config, "output_act"),
                          "a Bernoulli likelihood needs sigmoid, which makes probabilities");
}

/* Of a side of `from` pixels `to` are left; a transposed convolution with `more` at the end restores them. */
static bool halved(heed_ctx *cx, heed_json config, int64_t kernel, int64_t from, int64_t *to, int64_t *more) {
    const int64_t padding = (kernel - 1) / 2;
    *to = (from + 2 * padding - kernel) / 2 + 1;
    if (from + 2 * padding < kernel)
        return heed_json_fail(cx, heed_json_find(cx, config, "conv_channels"),
                              "there are more convolutions than pictures of this size can be halved");
    *more = from - ((*to - 1) * 2 - 2 * padding + kernel);
    return true;
}

static bool make_convolutions(heed_ctx *cx, const heed_build *b, struct coder *c) {
    int64_t channels[CODER_LAYERS], more[2];
    const int64_t k = config_int(cx, b->config, "kernel_size", 1, 1024), kernel[] = {k, k}, padding = (k - 1) / 2;
    c->convs = config_ints(cx, b->config, "conv_channels", 1, MAX_SIZE, channels, CODER_LAYERS);
    memcpy(c->map + 1, c->pictures.image, sizeof c->pictures.image);
    c->map[0] = c->pictures.channels;
    for (int i = 0; i < c->convs && !heed_failed(cx); i++) {
        int64_t side[2];
        for (int axis = 0; axis < 2; axis++)
            if (!halved(cx, b->config, k, c->map[1 + axis], &side[axis], &more[axis])) return false;
        const heed_conv_opts down = {.stride = {2, 2}, .padding = {padding, padding}};
        c->up[i].opts = down; /* made later, in the order of their names */
        memcpy(c->up[i].opts.output_padding, more, sizeof more);
        if (!heed_conv2d_make(cx, b->params, module(cx, "encoder", c->next).s, c->map[0], channels[i], kernel, true,
                              &down, &c->down[i]))
            return false;
        c->map[0] = channels[i];
        memcpy(c->map + 1, side, sizeof side);
        c->next += 2;
    }
    if (c->convs > 0) c->next++; /* Flatten */
    return !heed_failed(cx);
}

bool coder_make_encoder(heed_ctx *cx, const heed_build *b, struct coder *c) {
    int64_t width[CODER_LAYERS];
    if (!read_keys(cx, b->config, c) || !make_convolutions(cx, b, c)) return false;
    c->dense = config_ints(cx, b->config, "hidden_sizes", 1, MAX_SIZE, width, CODER_LAYERS);
    c->width = c->map[0] * c->map[1] * c->map[2];
    for (int i = 0; i < c->dense && !heed_failed(cx); i++, c->next += 2) {
        heed_linear_make(cx, b->params, module(cx, "encoder", c->next).s, c->width, width[i], true, &c->in[i]);
        c->width = width[i];
    }
    return !heed_failed(cx);
}

bool coder_make_decoder(heed_ctx *cx, const heed_build *b, struct coder *c) {
    const int64_t whole = c->map[0] * c->map[1] * c->map[2];
    int64_t from = c->latent;
    int next = 0;
    for (int i = 0; i <= c->dense && !heed_failed(cx); i++, next += 2) {
        const int64_t to = i < c->dense ? c->in[c->dense - 1 - i].weight->shape[0] : whole;
        heed_linear_make(cx, b->params, module(cx, "decoder", next).s, from, to, true, &c->out[i]);
        from = to;
    }
    next++; /* Unflatten */
    for (int i = c->convs - 1; i >= 0 && !heed_failed(cx); i--, next += 2) {
        const int64_t *const shape = c->down[i].weight->shape;
        const heed_conv_opts opts = c->up[i].opts;
        heed_conv_transpose2d_make(cx, b->params, module(cx, "decoder", next).s, shape[0], shape[1], shape + 2, true,
                                   &opts, &c->up[i]);
    }
    return !heed_failed(cx);
}

/* ---- inputs ---- */

heed_tensor *coder_codes(heed_ctx *cx, const struct coder *c, const heed_io *in, const char *name, int64_t n) {
    heed_tensor *const z = heed_io_get(in, name);
    if (heed_failed(cx) || !z) return NULL;
    if (z->rank == 2 && z->dtype == HEED_F32 && z->shape[1] == c->latent && (n < 0 || z->shape[0] == n)) return z;
    heed_fail(cx, HEED_ERR_SHAPE, "%s: f32 numbers of shape (%s,%lld) are needed, not %s %s", name,
              n < 0 ? "B" : "as many as there are pictures", (long long)c->latent, heed_dtype_name(z->dtype),
              heed_shape_text(z).s);
    return NULL;
}

/* Cross entropy has no meaning beyond. */
static bool are_probabilities(heed_ctx *cx, heed_tensor *target) {
    heed_tensor *const x = heed_contiguous(cx, target);
    const float *const v = x && !cx->config.dry ? heed_f32(x) : NULL;
    float low = 0, high = 1;
    for (int64_t i = 0; v && i < x->count; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    if (heed_failed(cx)) return false;
    return (low >= 0 && high <= 1) ||
           heed_fail(cx, HEED_ERR_RANGE, "a pixel of %g: a Bernoulli likelihood takes numbers from 0 to 1",
                     (double)(low < 0 ? low : high));
}

bool coder_read(heed_ctx *cx, const struct coder *c, const heed_io *in, struct coder_input *to) {
    int64_t grid[2];
    heed_tensor *const target = heed_io_get(in, "target");
    *to = (struct coder_input){.latents = coder_codes(cx, c, in, "latents", -1)};
    if (!to->latents || heed_io_get(in, "pixel_values")) to->pixels = patches_pixels(cx, &c->pictures, in, grid);
    if (heed_failed(cx)) return false;
    to->n = to->pixels ? to->pixels->shape[0] : to->latents->shape[0];
    to->target = target ? target : to->pixels;
    if (to->latents && to->latents->shape[0] != to->n)
        return heed_fail(cx, HEED_ERR_SHAPE, "latents: %lld of them for %lld pictures",
                         (long long)to->latents->shape[0], (long long)to->n);
    const int64_t shape[] = {to->n, c->pictures.channels, c->pictures.image[0], c->pictures.image[1]};
    if (target && (target->rank != 4 || target->dtype != HEED_F32 || memcmp(target->shape, shape, sizeof shape) != 0))
        return heed_fail(cx, HEED_ERR_SHAPE, "target: f32 numbers of shape (%lld,%lld,%lld,%lld) are needed, not %s %s",
                         (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)shape[3],
                         heed_dtype_name(target->dtype), heed_shape_text(target).s);
    return !c->bernoulli || !to->target || are_probabilities(cx, to->target);
}

/* ---- running ---- */

static heed_tensor *flat(heed_ctx *cx, heed_tensor *x) {
    return x ? heed_reshape(cx, x, 2, (int64_t[]){x->shape[0], -1}) : NULL;
}

heed_tensor *coder_encode(heed_ctx *cx, const struct coder *c, heed_tensor *x) {
    for (int i = 0; i < c->convs; i++) x = heed_activate(cx, heed_conv_run(cx, &c->down[i], x), c->act);
    x = flat(cx, x);
    for (int i = 0; i < c->dense; i++) x = heed_linear_run(cx, &c->in[i], x, c->act);
    return x;
}

heed_tensor *coder_decode(heed_ctx *cx, const struct coder *c, heed_tensor *x) {
    const heed_activation last = c->bernoulli ? HEED_ACT_NONE : c->output_act;
    const int64_t *const image = c->pictures.image;
    for (int i = 0; i <= c->dense; i++)
        x = heed_linear_run(cx, &c->out[i], x, i < c->dense || c->convs > 0 ? c->act : last);
    if (!x) return NULL;
    if (c->convs == 0)
        return heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], c->pictures.channels, image[0], image[1]});
    x = heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], c->map[0], c->map[1], c->map[2]});
    for (int i = c->convs - 1; i >= 0; i--)
        x = heed_activate(cx, heed_conv_run(cx, &c->up[i], x), i > 0 ? c->act : last);
    return x;
}

bool coder_put(heed_ctx *cx, const struct coder *c, heed_tensor *y, heed_io *out) {
    return y && heed_io_put(cx, out, "reconstruction", c->bernoulli ? heed_sigmoid(cx, y) : y);
}

static heed_tensor *errors(heed_ctx *cx, const struct coder *c, const struct coder_input *in, heed_tensor *y,
                           heed_reduction reduction) {
    return (c->bernoulli ? heed_bce_loss : heed_mse_loss)(cx, y, in->target, reduction);
}

heed_tensor *coder_error(heed_ctx *cx, const struct coder *c, const struct coder_input *in, heed_tensor *y) {
    return heed_affine(cx, errors(cx, c, in, y, HEED_REDUCE_SUM), in->n > 0 ? 1.0f / (float)in->n : 0, 0);
}

heed_tensor *coder_errors(heed_ctx *cx, const struct coder *c, const struct coder_input *in, heed_tensor *y) {
    return heed_sum(cx, flat(cx, errors(cx, c, in, y, HEED_REDUCE_NONE)), (int[]){1}, 1, false);
}

bool coder_sample(heed_ctx *cx, const struct coder *c, int64_t batch, heed_io *in) {
    return patches_sample(cx, &c->pictures, batch, in);
}
