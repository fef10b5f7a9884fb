/* Class attention, of CaiT and VOLO. */
#include "model/vision/class_attention.h"

/* (B,T,H D) -> (B,T,H,D) */
static heed_tensor *heads_of(heed_ctx *cx, int64_t heads, heed_tensor *x) {
    if (!x) return NULL;
    return heed_reshape(cx, x, 4, (int64_t[]){heed_dim(x, 0), heed_dim(x, 1), heads, heed_dim(x, 2) / heads});
}

heed_tensor *class_attention_run(heed_ctx *cx, const struct class_attention *a, heed_tensor *u, int number) {
    heed_tensor *const q = heed_linear_run(cx, &a->q, heed_slice(cx, u, 1, 0, 1), HEED_ACT_NONE);
    heed_tensor *const kv = heed_linear_run(cx, &a->kv, u, HEED_ACT_NONE), *part[2];
    if (!q || !kv) return NULL;
    const int64_t inner = heed_dim(q, 2);
    if (!heed_split(cx, kv, -1, (int64_t[]){inner, inner}, 2, part)) return NULL;
    heed_tensor *const y =
        heed_attention(cx, heads_of(cx, a->heads, q), heads_of(cx, a->heads, part[0]), heads_of(cx, a->heads, part[1]),
                       &(heed_attention_opts){.site = "class", .layer = number, .dropout = a->dropout});
    if (!y) return NULL;
    return heed_linear_run(cx, &a->proj, heed_reshape(cx, y, 3, (int64_t[]){heed_dim(q, 0), 1, inner}), HEED_ACT_NONE);
}
