/* Inputs and config keys that the networks of diffusers share. */
#include "model/diffusion/blocks.h"
#include "model/vision/patches.h"
#include "tensor/engine.h"

const char *const attention_renamed[] = {"to_q.",  "query.",    "to_k.",      "key.", "to_v.",
                                         "value.", "to_out.0.", "proj_attn.", NULL};

bool sample_sides(heed_ctx *cx, heed_json config, int64_t sides[2]) {
    sides[0] = sides[1] = 32; /* null: any size */
    if (heed_json_kind_of(heed_json_find(cx, config, "sample_size")) == HEED_JSON_NULL) return !heed_failed(cx);
    return config_sides(cx, config, "sample_size", MAX_SIDE, sides);
}

heed_tensor *step_input(heed_ctx *cx, const heed_io *in, const char *name, int64_t batch) {
    heed_tensor *const t = heed_io_get(in, name);
    if (heed_failed(cx)) return NULL;
    if (!t) return heed_fail(cx, HEED_ERR_USAGE, "forward: %s is needed", name), NULL;
    const int64_t n = heed_count(t);
    if (t->rank > 1 || (n != 1 && n != batch))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s of shape %s is neither one number nor one for each of %lld examples",
                         name, heed_shape_text(t).s, (long long)batch),
               NULL;
    heed_tensor *const f = heed_reshape(cx, heed_cast(cx, t, HEED_F32), 1, &n);
    return n == batch ? f : heed_expand(cx, f, 1, &batch);
}

heed_tensor *map_input(heed_ctx *cx, const heed_io *in, const char *name, int64_t channels) {
    heed_tensor *const x = heed_io_get(in, name);
    if (heed_failed(cx)) return NULL;
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "forward: %s is needed", name), NULL;
    if (heed_type(x) != HEED_F32 || x->rank != 4 || x->shape[1] != channels)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: %s numbers of shape %s are not f32 (B,%lld,H,W)", name,
                         heed_dtype_name(heed_type(x)), heed_shape_text(x).s, (long long)channels),
               NULL;
    return x;
}
