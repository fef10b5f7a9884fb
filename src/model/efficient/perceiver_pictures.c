/* Pictures for Perceiver: pixels, or what a convolution makes of them, beside positions.
 *
 *     pixels     (r, g, b; Fourier positions)                      every pixel
 *     conv1x1    (W_c (r, g, b) + b_c; W_p learned position + b_p)
 *     conv       (max_pool(relu(norm(W_7x7 * x))); Fourier positions)    one of 4 x 4 pixels
 *
 * Fourier positions of a point (u, v) in [-1, 1]^2: u, v, sin(pi f_k u), sin(pi g_k v), cos(pi f_k u), cos(pi g_k v),
 * where f_k goes evenly from 1 to half the resolution, the Nyquist frequency. */
#include "model/core/place.h"
#include "model/efficient/perceiver.h"
#include "model/vision/patches.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

enum { MAX_BANDS = 1 << 16 };

/* ---- make ---- */

static int64_t fourier_width(const struct perceiver_pictures *p) { return 2 + 4 * p->bands; }

static bool make_conv(heed_ctx *cx, heed_params *set, const char *prep, heed_init init, struct perceiver_pictures *p) {
    const heed_conv_opts opts = {.stride = {2, 2}, .padding = {3, 3}};
    const struct part_name net = part_under(cx, prep, "convnet");
    if (!heed_conv2d_make(cx, set, part_under(cx, net.s, "conv").s, p->channels, p->out, (const int64_t[]){7, 7}, false,
                          &opts, &p->conv))
        return false;
    p->conv.weight->init = init;
    return heed_batch_norm_make(cx, set, part_under(cx, net.s, "batchnorm").s, p->out, 1e-5F, 0.1F, &p->norm);
}

static bool make_learned(heed_ctx *cx, heed_params *set, const char *prep, heed_init init,
                         struct perceiver_pictures *p) {
    const struct part_name positions = part_under(cx, prep, "position_embeddings");
    if (!heed_conv2d_make(cx, set, part_under(cx, prep, "convnet_1x1").s, p->channels, p->out, (const int64_t[]){1, 1},
                          true, NULL, &p->conv))
        return false;
    p->conv.weight->init = init;
    p->conv.bias->init = (heed_init){.kind = HEED_INIT_ZEROS};
    p->positions = heed_param_add(cx, set, positions.s, "position_embeddings", 2,
                                  (int64_t[]){p->image[0] * p->image[1], p->out}, init);
    return part_linear(cx, set, prep, "positions_projection", p->out, p->out, true, init, &p->projection);
}

bool perceiver_make_pictures(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct perceiver *m) {
    struct perceiver_pictures *const p = &m->pictures;
    const struct part_name prep = part_under(cx, base, "input_preprocessor");
    p->channels = config_int(cx, config, "in_channels", 1, MAX_SIDE);
    if (!config_sides(cx, config, "image_size", MAX_SIDE, p->image)) return false;
    if (m->prep != PREP_PIXELS) p->out = config_int(cx, config, "out_channels", 1, MAX_SIDE);
    if (m->prep != PREP_CONV1X1) {
        p->bands = config_int(cx, config, "num_bands", 1, MAX_BANDS);
        config_sides(cx, config, "max_resolution", MAX_SIDE, p->resolution);
    }
    if (heed_failed(cx)) return false;
    m->width = m->prep == PREP_CONV1X1 ? 2 * p->out : (m->prep == PREP_CONV ? p->out : p->channels) + fourier_width(p);
    if (m->prep == PREP_PIXELS) return true;
    return (m->prep == PREP_CONV ? make_conv : make_learned)(cx, set, prep.s, m->init, p);
}

/* ---- positions ---- */

/* Number i of n that go evenly from `first` to `last`, rounded as torch.linspace rounds them. */
static float evenly(float first, float last, int64_t n, int64_t i) {
    if (n == 1) return first;
    const float step = (last - first) / (float)(n - 1);
    return i < n / 2 ? fmaf(step, (float)i, first) : fmaf(-step, (float)(n - 1 - i), last);
}

/* The sines of one axis, then its cosines: (n,2 bands). Angles are rounded to f32, as those that models were trained
 * with. */
static heed_tensor *waves(heed_ctx *cx, int64_t n, int64_t bands, int64_t resolution) {
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 2, (int64_t[]){n, 2 * bands});
    if (!t || cx->config.dry) return t;
    float *row = (float *)(void *)t->data;
    for (int64_t i = 0; i < n; i++, row += 2 * bands)
        for (int64_t k = 0; k < bands; k++) {
            const float turn = evenly(-1, 1, n, i) * evenly(1, (float)resolution / 2, bands, k);
            const float angle = (float)M_PI * turn;
            row[k] = (float)sin((double)angle);
            row[bands + k] = (float)cos((double)angle);
        }
    return t;
}

/* (h w,2 + 4 bands) */
static heed_tensor *fourier(heed_ctx *cx, const struct perceiver_pictures *p, const int64_t grid[2]) {
    const int64_t h = grid[0], w = grid[1], n = p->bands;
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 2, (int64_t[]){h * w, fourier_width(p)});
    heed_tensor *const down = waves(cx, h, n, p->resolution[0]), *const along = waves(cx, w, n, p->resolution[1]);
    if (!t || !down || !along || cx->config.dry) return t;
    float *to = (float *)(void *)t->data;
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            const float *const u = f32_of(down) + i * 2 * n, *const v = f32_of(along) + j * 2 * n;
            *to++ = evenly(-1, 1, h, i);
            *to++ = evenly(-1, 1, w, j);
            for (int64_t half = 0; half < 2; half++) {
                for (int64_t k = 0; k < n; k++) *to++ = u[half * n + k];
                for (int64_t k = 0; k < n; k++) *to++ = v[half * n + k];
            }
        }
    return t;
}

/* (h w,out): the table's, for pictures of other sizes by bicubic interpolation */
static heed_tensor *learned(heed_ctx *cx, const struct perceiver_pictures *p, const int64_t grid[2]) {
    const int64_t all[] = {1, p->positions->shape[0], p->out};
    heed_tensor *t = heed_reshape(cx, heed_param_tensor(cx, p->positions), 3, all);
    t = positions_resized(cx, t, 0, p->image, grid, false);
    return heed_linear_run(cx, &p->projection, heed_reshape(cx, t, 2, (int64_t[]){grid[0] * grid[1], p->out}),
                           HEED_ACT_NONE);
}

/* ---- run ---- */

static heed_tensor *pixels(heed_ctx *cx, const struct perceiver_pictures *p, const heed_io *in) {
    heed_tensor *const x =
        heed_io_get(in, "pixel_values") ? heed_io_get(in, "pixel_values") : heed_io_get(in, "inputs");
    if (heed_failed(cx)) return NULL;
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "pixel_values: this input is needed"), NULL;
    if (x->rank == 4 && x->dtype == HEED_F32 && x->shape[1] == p->channels && x->shape[2] > 0 && x->shape[3] > 0)
        return x;
    heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: f32 numbers of shape (B,%lld,H,W) are needed, not %s %s",
              (long long)p->channels, heed_dtype_name(x->dtype), heed_shape_text(x).s);
    return NULL;
}

/* (B,C,h,w) -> (B,h w,C) */
static heed_tensor *flat(heed_ctx *cx, heed_tensor *x) {
    x = x ? heed_permute(cx, x, (const int[]){0, 2, 3, 1}) : NULL;
    return x ? heed_reshape(cx, x, 3, (int64_t[]){x->shape[0], x->shape[1] * x->shape[2], x->shape[3]}) : NULL;
}

static heed_tensor *convolved(heed_ctx *cx, const struct perceiver_pictures *p, heed_tensor *x) {
    x = heed_batch_norm_run(cx, &p->norm, heed_conv_run(cx, &p->conv, x));
    return heed_max_pool2d(cx, heed_relu(cx, x), &(heed_pool_opts){.kernel = {3, 3}, .stride = {2, 2}});
}

heed_tensor *perceiver_see(heed_ctx *cx, const struct perceiver *m, const heed_io *in) {
    const struct perceiver_pictures *const p = &m->pictures;
    heed_tensor *x = pixels(cx, p, in);
    if (m->prep == PREP_CONV) x = convolved(cx, p, x);
    if (m->prep == PREP_CONV1X1) x = heed_conv_run(cx, &p->conv, x);
    if (!x) return NULL;
    const int64_t B = x->shape[0], grid[] = {x->shape[2], x->shape[3]};
    heed_tensor *const where = m->prep == PREP_CONV1X1 ? learned(cx, p, grid) : fourier(cx, p, grid);
    if (!where) return NULL;
    heed_tensor *const both[] = {flat(cx, x),
                                 heed_expand(cx, where, 3, (int64_t[]){B, where->shape[0], where->shape[1]})};
    return both[0] && both[1] ? heed_concat(cx, both, 2, 2) : NULL;
}

/* ---- maps of attention ---- */

/* A convolution of 7 x 7 in steps of 2, padded, and a maximum of 3 x 3 in steps of 2: what they give at (i, j) is
 * around pixel (4 i + 2, 4 j + 2). */
static int64_t convolved_side(int64_t n) { return ((n - 1) / 2 + 1 - 3) / 2 + 1; }

bool perceiver_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct perceiver *m = own;
    *to = (struct picture_place){0};
    if (!map) return true;
    if (strcmp(map->site, "cross") != 0 || map->layer > 0) return false; /* latents, and queries of the decoder */
    for (int i = 0; i < 2; i++) {
        to->grid[i] = m->prep == PREP_CONV ? convolved_side(size[i]) : size[i];
        to->patch[i] = m->prep == PREP_CONV ? 4 : 1;
    }
    to->learned = map->rows;
    return true;
}
