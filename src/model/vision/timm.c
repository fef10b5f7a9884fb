/* timm's architectures and arguments. */
#include "model/vision/timm.h"
#include "io/text.h"
#include "model/core/config.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A pretrained_cfg that heed made says which pictures the model takes: timm does not ask its own table then. */
static void put_size(heed_ctx *cx, const heed_family *family, heed_json config, heed_json args) {
    const bool any = config_any_size(family);
    const char *const key = any ? "input_size" : "img_size";
    const heed_json to = heed_json_find(cx, config, "pretrained_cfg"), size = heed_json_find(cx, args, key);
    const bool own = heed_json_kind_of(heed_json_find(cx, config, "heed_version")) == HEED_JSON_TEXT;
    if (heed_failed(cx) || !own || heed_json_kind_of(to) != HEED_JSON_OBJECT || heed_json_count(to) > 0) return;
    const bool list = heed_json_kind_of(size) == HEED_JSON_ARRAY;
    const heed_json input = heed_json_put_array(cx, to, "input_size");
    heed_json_put_int(cx, input, NULL, heed_json_int(cx, args, "in_chans"));
    for (int i = 0; i < 2; i++) {
        const int64_t at = list && i < heed_json_count(size) ? i : 0;
        heed_json_put_int(cx, input, NULL,
                          list ? heed_json_int(cx, heed_json_item(cx, size, at), NULL) : heed_json_int(cx, args, key));
    }
    heed_json_put_bool(cx, to, "fixed_input_size", !any);
}

heed_json timm_arguments(heed_ctx *cx, const heed_family *family, heed_json config, const char *name) {
    const struct timm_kind *const kind = family->kind;
    if (!name) return (heed_json){0};
    const size_t n = strcspn(name, "."); /* what follows says where the weights were trained */
    for (const struct timm_row *row = kind->rows; row->name; row++)
        if (strlen(row->name) == n && strncmp(row->name, name, n) == 0) {
            const heed_json args = config_arguments(cx, family, config, row->arguments);
            if (!heed_failed(cx)) put_size(cx, family, config, args);
            return args;
        }
    const heed_json at = heed_json_find(cx, config, "architecture");
    heed_json_fail(cx, heed_json_kind_of(at) == HEED_JSON_NONE ? config : at,
                   "'%s' is none of timm's architectures that heed has", escaped(name).s);
    return (heed_json){0};
}

static bool build(heed_ctx *cx, const heed_build *b, bool bare, void *own) {
    const struct timm_kind *const kind = b->family->kind;
    const heed_json args = timm_arguments(cx, b->family, b->config, heed_json_text(cx, b->config, "architecture"));
    const int64_t classes = bare || heed_failed(cx) ? 0 : config_int(cx, args, "num_classes", 0, 1 << 24);
    const bool made = !heed_failed(cx) && kind->make(cx, b, args, classes, own);
    heed_json_free(args);
    return made;
}

bool timm_build_classify(heed_ctx *cx, const heed_build *b, void *own) { return build(cx, b, false, own); }
bool timm_build_bare(heed_ctx *cx, const heed_build *b, void *own) { return build(cx, b, true, own); }

bool timm_patches(heed_ctx *cx, heed_json config, heed_json args, struct patches *p) {
    p->rest = timm_given(cx, config, "img_size") ? PATCHES_REFUSE : PATCHES_CUT; /* as of some published models */
    return patches_read(cx, args, "in_chans", "img_size", p);
}

bool timm_classifier(heed_ctx *cx, heed_params *set, const char *name, int64_t width, int64_t classes, heed_init init,
                     heed_linear_layer *layer) {
    if (classes < 1) return true;
    if (!part_linear(cx, set, "", name, width, classes, true, init, layer)) return false;
    layer->weight->head = layer->bias->head = true;
    return true;
}

bool timm_given(heed_ctx *cx, heed_json config, const char *argument) {
    const heed_json args = heed_json_find(cx, config, "model_args");
    return heed_json_kind_of(args) == HEED_JSON_OBJECT &&
           heed_json_kind_of(heed_json_find(cx, args, argument)) > HEED_JSON_NULL;
}

/* NULL where it is null or empty */
static const char *text_of(heed_ctx *cx, heed_json args, const char *key) {
    if (heed_json_kind_of(heed_json_find(cx, args, key)) != HEED_JSON_TEXT) return NULL;
    const char *const text = heed_json_text(cx, args, key);
    return text && *text ? text : NULL;
}

heed_activation timm_activation(heed_ctx *cx, heed_json args, const char *key, heed_activation standard) {
    static const struct {
        const char *name;
        heed_activation act;
    } own[] = {{"gelu_tanh", HEED_ACT_GELU_TANH},
               {"celu", HEED_ACT_ELU},
               {"hard_swish", HEED_ACT_HARDSWISH},
               {"hardswish", HEED_ACT_HARDSWISH}};
    const char *const name = text_of(cx, args, key);
    heed_activation act = standard;
    if (!name) return act;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcasecmp(name, own[i].name) == 0) return own[i].act;
    if (!heed_activation_find(name, &act))
        heed_json_fail(cx, heed_json_find(cx, args, key), "'%s' is no activation that heed has", escaped(name).s);
    return act;
}

bool timm_rms(heed_ctx *cx, heed_json args, const char *key) {
    const char *const name = text_of(cx, args, key);
    if (!name || strcasecmp(name, "layernorm") == 0 || strcasecmp(name, "layernormfp32") == 0) return false;
    if (strcasecmp(name, "rmsnorm") == 0 || strcasecmp(name, "rmsnormfp32") == 0) return true;
    heed_json_fail(cx, heed_json_find(cx, args, key),
                   "'%s' is neither layernorm nor rmsnorm, the norms that heed has here", escaped(name).s);
    return false;
}

bool timm_only(heed_ctx *cx, heed_json args, const char *key, const char *value) {
    const char *const text = text_of(cx, args, key);
    if (heed_failed(cx) || !text || strcmp(text, value) == 0) return !heed_failed(cx);
    return heed_json_fail(cx, heed_json_find(cx, args, key), "heed has no '%s' here, only %s", escaped(text).s, value);
}
