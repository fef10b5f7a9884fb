/* Layers of a family under its published names. */
#include "model/parts/parts.h"
#include "model/core/families.h"
#include <stdio.h>
#include <string.h>

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
    if (layer->weight) layer->weight->linear = true;
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
    if (made) layer->transposed = layer->weight->transposed = true;
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
    if (layer->weight) layer->weight->is_embedding = true;
    return layer->weight != NULL;
}

bool part_qkv(heed_ctx *cx, heed_params *set, const char *prefix, const char *const names[3], int64_t width,
              heed_init init, heed_linear_layer *layer) {
    return part_slices(cx, set, prefix, "qkv", names, (int64_t[]){width, width, width}, 3, width, true, init, layer);
}

bool part_slices(heed_ctx *cx, heed_params *set, const char *prefix, const char *whole, const char *const *names,
                 const int64_t *rows, int n, int64_t width, bool bias, heed_init init, heed_linear_layer *layer) {
    int64_t all = 0, row = 0;
    for (int i = 0; i < n; i++) all += rows[i];
    if (!part_linear(cx, set, prefix, whole, width, all, bias, init, layer)) return false;
    for (int i = 0; i < n; row += rows[i++]) {
        const struct part_name name = part_under(cx, prefix, names[i]);
        heed_param_slice(cx, set, name.s, "weight", layer->weight, row, rows[i]);
        if (bias) heed_param_slice(cx, set, name.s, "bias", layer->bias, row, rows[i]);
    }
    return !heed_failed(cx);
}

bool part_rms_norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t width, float eps,
                   heed_norm_layer *layer) {
    return heed_norm_make(cx, set, part_under(cx, prefix, name).s, width, true, eps, layer);
}

/* ---- layers that see all positions or near ones ---- */

int part_layer_type(heed_ctx *cx, heed_json config, int layers, int layer) {
    static const char *const names[] = {"full_attention", "sliding_attention"};
    const heed_json list = heed_json_find(cx, config, "layer_types");
    if (heed_failed(cx) || heed_json_kind_of(list) != HEED_JSON_ARRAY) return -1;
    if (heed_json_count(list) != layers) {
        heed_json_fail(cx, list, "%lld types for %d layers", (long long)heed_json_count(list), layers);
        return -1;
    }
    const heed_json at = heed_json_item(cx, list, layer);
    const char *const name = heed_json_text(cx, at, NULL);
    for (int i = 0; name && i < 2; i++)
        if (strcmp(name, names[i]) == 0) return i;
    if (name) heed_json_fail(cx, at, "it is neither %s nor %s", names[LAYER_FULL], names[LAYER_SLIDING]);
    return -1;
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

int64_t part_hidden(heed_ctx *cx, heed_json config, const char *key, int64_t width) {
    const double ratio = config_number(cx, config, key, 0, 1e6), hidden = (double)width * ratio;
    if (heed_failed(cx)) return 0;
    if (hidden >= 1 && hidden <= (double)(1 << 30)) return (int64_t)hidden;
    heed_json_fail(cx, heed_json_find(cx, config, key), "%g makes no width of %lld", ratio, (long long)width);
    return 0;
}

void part_layout(const void *layout, void *complete, size_t size) {
    const size_t n = size / sizeof(const char *);
    const char **const all = complete;
    memset(complete, 0, size);
    for (const void *at = layout; at; memcpy(&at, at, sizeof at)) {
        const char *const *const names = at;
        for (size_t i = 1; i < n; i++)
            if (!all[i]) all[i] = names[i];
    }
    for (size_t i = 1; i < n; i++)
        if (all[i] && !*all[i]) all[i] = NULL;
}
