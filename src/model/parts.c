/* Layers of a family under its published names. */
#include "model/parts.h"
#include "model/families.h"
#include <stdio.h>

struct part_name part_under(heed_ctx *cx, const char *prefix, const char *name) {
    struct part_name n;
    const bool dotted = prefix && *prefix;
    if (snprintf(n.s, sizeof n.s, "%s%s%s", dotted ? prefix : "", dotted ? "." : "", name) >= (int)sizeof n.s)
        heed_fail(cx, HEED_ERR_USAGE, "param: a name of more than %d letters ends in '%.60s'", (int)sizeof n.s - 1,
                  name);
    return n;
}

struct part_name part_numbered(heed_ctx *cx, const char *prefix, const char *name, int number) {
    char numbered[64];
    snprintf(numbered, sizeof numbered, "%s.%d", name, number);
    return part_under(cx, prefix, numbered);
}

static bool linear(heed_ctx *cx, heed_params *set, const char *path, const int64_t shape[2], int64_t out, bool bias,
                   heed_init init, heed_linear_layer *layer) {
    *layer = (heed_linear_layer){.weight = heed_param_add(cx, set, path, "weight", 2, shape, init)};
    if (bias) layer->bias = heed_param_add(cx, set, path, "bias", 1, &out, (heed_init){.kind = HEED_INIT_ZEROS});
    return !heed_failed(cx);
}

bool part_linear(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                 bool bias, heed_init init, heed_linear_layer *layer) {
    return linear(cx, set, part_under(cx, prefix, name).s, (int64_t[]){out, in}, out, bias, init, layer);
}

bool part_conv1d(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                 heed_init init, heed_linear_layer *layer) {
    const bool made = linear(cx, set, part_under(cx, prefix, name).s, (int64_t[]){in, out}, out, true, init, layer);
    layer->transposed = true;
    return made;
}

bool part_norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t width, float eps,
               heed_norm_layer *layer) {
    return heed_norm_make(cx, set, part_under(cx, prefix, name).s, width, false, eps, layer);
}

bool part_embedding(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t rows, int64_t width,
                    heed_init init, heed_embedding_layer *layer) {
    layer->padding = -1;
    layer->weight =
        heed_param_add(cx, set, part_under(cx, prefix, name).s, "weight", 2, (int64_t[]){rows, width}, init);
    return layer->weight != NULL;
}

bool part_qkv(heed_ctx *cx, heed_params *set, const char *prefix, const char *const names[3], int64_t width,
              heed_init init, heed_linear_layer *layer) {
    if (!part_linear(cx, set, prefix, "qkv", width, 3 * width, true, init, layer)) return false;
    for (int i = 0; i < 3; i++) {
        const struct part_name name = part_under(cx, prefix, names[i]);
        heed_param_slice(cx, set, name.s, "weight", layer->weight, i * width, width);
        heed_param_slice(cx, set, name.s, "bias", layer->bias, i * width, width);
    }
    return !heed_failed(cx);
}

bool part_heads(heed_ctx *cx, heed_json config, const char *width_key, const char *heads_key, heed_multihead *layer) {
    const int64_t most = (int64_t)1 << 30, C = config_int(cx, config, width_key, 1, most),
                  H = config_int(cx, config, heads_key, 1, most);
    if (heed_failed(cx)) return false;
    if (C % H != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, heads_key), "%lld heads do not divide a %s of %lld",
                              (long long)H, width_key, (long long)C);
    layer->width = layer->key_width = layer->value_width = C;
    layer->heads = H;
    return true;
}
