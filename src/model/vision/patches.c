/* Patches of pictures, and their positions in grids of other sizes. */
#include "model/vision/patches.h"
#include "model/core/resized.h"
#include "tensor/engine.h"
#include <stdio.h>

/* ---- sizes ---- */

bool config_sides(heed_ctx *cx, heed_json config, const char *key, int64_t high, int64_t sides[2]) {
    const heed_json at = heed_json_find(cx, config, key);
    if (heed_json_kind_of(at) != HEED_JSON_ARRAY) {
        sides[0] = sides[1] = config_int(cx, config, key, 1, high);
        return !heed_failed(cx);
    }
    const int n = config_ints(cx, config, key, 1, high, sides, 2);
    if (!heed_failed(cx) && n == 0) heed_json_fail(cx, at, "a number or two are needed: height and width");
    if (n == 1) sides[1] = sides[0];
    return !heed_failed(cx);
}

bool patches_read(heed_ctx *cx, heed_json config, const char *channels, const char *image, struct patches *p) {
    p->channels = config_int(cx, config, channels, 1, MAX_SIDE);
    return config_sides(cx, config, image, MAX_SIDE, p->image) &&
           config_sides(cx, config, "patch_size", MAX_SIDE, p->patch);
}

bool patches_make(heed_ctx *cx, heed_params *set, const char *name, int64_t width, bool bias, heed_init init,
                  struct patches *p) {
    if (heed_failed(cx)) return false;
    for (int i = 0; i < 2; i++) {
        p->grid[i] = p->image[i] / p->patch[i];
        if (p->rest == PATCHES_REFUSE && p->image[i] % p->patch[i] != 0)
            return heed_fail(
                cx, HEED_ERR_SHAPE, "pictures of %lld x %lld are no whole number of patches of %lld x %lld",
                (long long)p->image[0], (long long)p->image[1], (long long)p->patch[0], (long long)p->patch[1]);
        if (p->grid[i] < 1)
            return heed_fail(cx, HEED_ERR_SHAPE, "pictures of %lld x %lld are smaller than a patch of %lld x %lld",
                             (long long)p->image[0], (long long)p->image[1], (long long)p->patch[0],
                             (long long)p->patch[1]);
    }
    const int64_t shape[] = {width, p->channels, p->patch[0], p->patch[1]};
    p->projection = (heed_linear_layer){.weight = heed_param_add(cx, set, name, "weight", 4, shape, init)};
    if (bias)
        p->projection.bias = heed_param_add(cx, set, name, "bias", 1, &width, (heed_init){.kind = HEED_INIT_ZEROS});
    return !heed_failed(cx);
}

heed_param *patches_tokens(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t n,
                           int64_t width, heed_init init) {
    heed_param *const p = heed_param_add(cx, set, prefix, name, 3, (int64_t[]){1, n, width}, init);
    if (p) p->decays = false;
    return p;
}

/* ---- pictures ---- */

/* Patches along axis i of a picture that has so many pixels there; 0: it is refused. */
static int64_t patches_along(const struct patches *p, int i, int64_t pixels) {
    const int64_t whole = pixels / p->patch[i], over = pixels % p->patch[i];
    if (over == 0 || p->rest == PATCHES_CUT_ALL || (p->rest == PATCHES_CUT && pixels == p->image[i])) return whole;
    return p->rest == PATCHES_PAD ? whole + 1 : 0;
}

heed_tensor *patches_pixels(heed_ctx *cx, const struct patches *p, const heed_io *in, int64_t grid[2]) {
    heed_tensor *const x = heed_io_get(in, "pixel_values");
    if (heed_failed(cx)) return NULL;
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "pixel_values: this input is needed"), NULL;
    if (x->rank != 4 || x->dtype != HEED_F32) {
        heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: f32 numbers of shape (B,C,H,W) are needed, not %s %s",
                  heed_dtype_name(x->dtype), heed_shape_text(x).s);
        return NULL;
    }
    if (x->shape[1] != p->channels) {
        heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: pictures of %lld channels, and the model takes %lld",
                  (long long)x->shape[1], (long long)p->channels);
        return NULL;
    }
    const int64_t *const size = x->shape + 2;
    if (!p->any_size && (size[0] != p->image[0] || size[1] != p->image[1])) {
        heed_fail(cx, HEED_ERR_SHAPE, "pixel_values: pictures of %lld x %lld, and the model takes %lld x %lld",
                  (long long)size[0], (long long)size[1], (long long)p->image[0], (long long)p->image[1]);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        grid[i] = patches_along(p, i, size[i]);
        if (grid[i] < 1) {
            heed_fail(cx, HEED_ERR_SHAPE,
                      "pixel_values: pictures of %lld x %lld are no whole number of patches of %lld x %lld",
                      (long long)size[0], (long long)size[1], (long long)p->patch[0], (long long)p->patch[1]);
            return NULL;
        }
    }
    return x;
}

void patches_place(const struct patches *p, const int64_t size[2], struct picture_place *to) {
    *to = (struct picture_place){0};
    for (int i = 0; i < 2; i++) {
        to->grid[i] = patches_along(p, i, size[i]);
        to->patch[i] = p->patch[i];
    }
}

heed_tensor *patches_run(heed_ctx *cx, const struct patches *p, heed_tensor *x, const int64_t grid[2]) {
    if (heed_failed(cx) || !x) return NULL;
    const int64_t B = x->shape[0], C = p->channels, h = grid[0], w = grid[1], H = p->patch[0], W = p->patch[1];
    const int64_t after[] = {0, 0, h * H - x->shape[2], w * W - x->shape[3]};
    if (after[2] > 0 || after[3] > 0) x = heed_pad(cx, x, (const int64_t[]){0, 0, 0, 0}, after, 0);
    if (after[2] < 0) x = heed_slice(cx, x, 2, 0, h * H);
    if (after[3] < 0) x = heed_slice(cx, x, 3, 0, w * W);
    x = heed_reshape(cx, x, 6, (int64_t[]){B, C, h, H, w, W});
    x = heed_permute(cx, x, (const int[]){0, 2, 4, 1, 3, 5});
    x = heed_reshape(cx, x, 3, (int64_t[]){B, h * w, C * H * W});
    const heed_param *const weight = p->projection.weight;
    return heed_linear(cx, x,
                       heed_reshape(cx, heed_param_tensor(cx, weight), 2, (int64_t[]){weight->shape[0], C * H * W}),
                       p->projection.bias ? heed_param_tensor(cx, p->projection.bias) : NULL);
}

bool patches_sample(heed_ctx *cx, const struct patches *p, int64_t batch, heed_io *in) {
    const int64_t shape[] = {batch, p->channels, p->image[0], p->image[1]};
    return heed_io_put(cx, in, "pixel_values", heed_zeros(cx, HEED_F32, 4, shape));
}

/* ---- positions ---- */

/* The weights (to,from) of one axis: row i is what point i of the new grid takes of the old. */
static heed_tensor *resizing(heed_ctx *cx, int64_t from, int64_t to, bool smooth) {
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 2, (int64_t[]){to, from});
    if (t && !cx->config.dry) resize_weights(from, to, smooth, (float *)(void *)t->data);
    return t;
}

heed_tensor *positions_resized(heed_ctx *cx, heed_tensor *table, int64_t first, const int64_t from[2],
                               const int64_t to[2], bool smooth) {
    if (heed_failed(cx) || !table || (from[0] == to[0] && from[1] == to[1])) return table;
    const int64_t C = table->shape[2], h = from[0], w = from[1];
    heed_tensor *x = heed_reshape(cx, heed_slice(cx, table, 1, first, h * w), 2, (int64_t[]){h, w * C});
    x = heed_matmul(cx, resizing(cx, h, to[0], smooth), x);
    x = heed_reshape(cx, x, 3, (int64_t[]){to[0], w, C});
    x = heed_matmul(cx, resizing(cx, w, to[1], smooth), x);
    x = heed_reshape(cx, x, 3, (int64_t[]){1, to[0] * to[1], C});
    if (first == 0) return x;
    return heed_concat(cx, (heed_tensor *[]){heed_slice(cx, table, 1, 0, first), x}, 2, 1);
}

void patches_name(const int64_t grid[2], const char *const *first, int64_t n, int64_t i, char *name, size_t size) {
    if (i < n)
        snprintf(name, size, "%s", first[i]);
    else
        snprintf(name, size, "%lld,%lld", (long long)((i - n) / grid[1]), (long long)((i - n) % grid[1]));
}
