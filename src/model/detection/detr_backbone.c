/* The residual network below DETR and its kin, as their config.json says it: backbone_config, of transformers' ResNet
 * or of a network of timm's; or neither, which is timm's too, by `backbone`, a ResNet-50 where that is null. */
#include "model/core/config.h"
#include "model/detection/detr.h"
#include <stdio.h>
#include <string.h>

/* ---- which map of features ---- the last of those that the network gives */

/* "stem", "stage2" -> 0, 2; -1: it is no stage of `stages` */
static int stage_named(const char *name, int stages) {
    char known[32] = "stem";
    for (int i = 0; name && i <= stages; snprintf(known, sizeof known, "stage%d", ++i))
        if (strcmp(name, known) == 0) return i;
    return -1;
}

static bool read_features(heed_ctx *cx, heed_json list, int stages, int *map) {
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const int stage = stage_named(heed_json_text(cx, v, NULL), stages);
        if (heed_failed(cx)) return false;
        if (stage < 0) return heed_json_fail(cx, v, "this is neither 'stem' nor one of %d stages", stages);
        if (stage > *map) *map = stage;
    }
    return !heed_failed(cx);
}

/* Negative numbers count from the end. */
static bool read_indices(heed_ctx *cx, heed_json list, int stages, int *map) {
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const int64_t i = heed_json_int(cx, v, NULL), stage = i < 0 ? i + stages + 1 : i;
        if (heed_failed(cx)) return false;
        if (stage < 0 || stage > stages)
            return heed_json_fail(cx, v, "%lld is no map of features of %d stages", (long long)i, stages);
        if (stage > *map) *map = (int)stage;
    }
    return !heed_failed(cx);
}

/* Of out_features or out_indices; the last stage's where neither says. */
static bool read_map(heed_ctx *cx, heed_json config, int stages, int *map) {
    const heed_json names = heed_json_find(cx, config, "out_features"),
                    places = heed_json_find(cx, config, "out_indices");
    *map = -1;
    if (heed_json_kind_of(names) == HEED_JSON_ARRAY && heed_json_count(names) > 0)
        return read_features(cx, names, stages, map);
    if (heed_json_kind_of(places) == HEED_JSON_ARRAY && heed_json_count(places) > 0)
        return read_indices(cx, places, stages, map);
    *map = stages;
    return !heed_failed(cx);
}

/* ---- the network ---- */

/* With the standards of the keys that it lacks. */
static bool read_resnet(heed_ctx *cx, heed_json given, struct resnet_plan *plan, int *map) {
    const heed_json config = heed_json_copy(cx, given);
    const bool read = config_complete(cx, &family_resnet, family_resnet.heads, config) &&
                      resnet_plan_read(cx, config, plan) && read_map(cx, config, plan->stages, map);
    heed_json_free(config);
    return read;
}

/* Of timm's networks, stages behind the last map that is asked for do not exist. */
static bool read_timm(heed_ctx *cx, heed_json config, const char *name, int64_t channels, int64_t output_stride,
                      struct resnet_plan *plan, int *map) {
    if (heed_failed(cx) || !resnet_plan_named(cx, name, plan)) return false;
    plan->channels = channels;
    for (int64_t stride = 32; stride > output_stride; stride /= 2) plan->dilated++;
    if (heed_json_kind_of(config) == HEED_JSON_OBJECT) {
        const heed_json places = heed_json_find(cx, config, "out_indices");
        *map = -1;
        if (heed_json_kind_of(places) != HEED_JSON_ARRAY || heed_json_count(places) == 0)
            *map = plan->stages;
        else if (!read_indices(cx, places, plan->stages, map))
            return false;
    } else {
        *map = plan->stages;
    }
    plan->dilated -= plan->stages - *map; /* the last stages are */
    if (plan->dilated < 0) plan->dilated = 0;
    plan->stages = *map;
    return true;
}

/* What a config of model_type "timm_backbone" says, or backbone_kwargs, which are arguments of that. */
static bool read_timm_config(heed_ctx *cx, heed_json config, const char *name, struct resnet_plan *plan, int *map) {
    const heed_json stride = heed_json_find(cx, config, "output_stride");
    const bool given = heed_json_kind_of(stride) != HEED_JSON_NONE && heed_json_kind_of(stride) != HEED_JSON_NULL;
    const int64_t output_stride = given ? config_int(cx, config, "output_stride", 8, 32) : 32,
                  channels = heed_json_int_or(cx, config, "num_channels", 3);
    if (heed_failed(cx)) return false;
    if (output_stride != 8 && output_stride != 16 && output_stride != 32)
        return heed_json_fail(cx, stride, "%lld is not 8, 16 or 32", (long long)output_stride);
    if (channels < 1 || channels > MAX_SIZE)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_channels"), "%lld is out of range",
                              (long long)channels);
    if (!heed_json_bool_or(cx, config, "features_only", true))
        return heed_json_fail(cx, heed_json_find(cx, config, "features_only"), "maps of features are needed");
    return read_timm(cx, config, name, channels, output_stride, plan, map);
}

/* backbone_config is null: what `backbone`, backbone_kwargs, use_timm_backbone and dilation say, which transformers
 * weighs so. */
static bool read_absent(heed_ctx *cx, heed_json config, struct resnet_plan *plan, int *map) {
    const heed_json named = heed_json_find(cx, config, "backbone"),
                    more = heed_json_find(cx, config, "backbone_kwargs");
    const bool timm = heed_json_bool(cx, config, "use_timm_backbone"), dilated = heed_json_bool(cx, config, "dilation");
    const char *const name = heed_json_kind_of(named) == HEED_JSON_TEXT ? heed_json_text(cx, named, NULL) : NULL;
    const int64_t channels = config_int(cx, config, "num_channels", 1, MAX_SIZE);
    if (heed_failed(cx)) return false;
    if (timm && heed_json_count(more) == 0)
        return read_timm(cx, more, name ? name : "resnet50", channels, dilated ? 16 : 32, plan, map);
    const heed_json empty = heed_json_new(cx, "backbone_config");
    const bool read = !name                                         ? read_resnet(cx, empty, plan, map)
                      : heed_json_kind_of(more) == HEED_JSON_OBJECT ? read_timm_config(cx, more, name, plan, map)
                                                                    : read_timm_config(cx, empty, name, plan, map);
    heed_json_free(empty);
    return read;
}

static bool read_plan(heed_ctx *cx, heed_json config, struct resnet_plan *plan, int *map) {
    const heed_json given = heed_json_find(cx, config, "backbone_config");
    if (heed_json_kind_of(given) != HEED_JSON_OBJECT) {
        if (heed_json_kind_of(given) != HEED_JSON_NONE && heed_json_kind_of(given) != HEED_JSON_NULL)
            return heed_json_object(cx, config, "backbone_config"), false;
        return read_absent(cx, config, plan, map);
    }
    const char *const type = heed_json_text_or(cx, given, "model_type", family_resnet.type);
    if (heed_failed(cx)) return false;
    if (strcmp(type, family_resnet.type) == 0) return read_resnet(cx, given, plan, map);
    if (strcmp(type, "timm_backbone") == 0)
        return read_timm_config(cx, given, heed_json_text(cx, given, "backbone"), plan, map);
    return heed_json_fail(cx, heed_json_find(cx, given, "model_type"),
                          "heed takes 'resnet' or 'timm_backbone' below a detector");
}

/* As in transformers, whose search for the stages to be trained misses their names: none of a ResNet of transformers'
 * is trained, and all of a network of timm's but its norms. heed_batch_norms_train undoes it. */
static void freeze(heed_params *set, const struct resnet_plan *plan, int first) {
    for (int i = first; i < heed_params_count(set) && plan->layout == RESNET_TRANSFORMERS; i++) {
        heed_param *const p = heed_params_at(set, i);
        if (p->frozen) continue;
        p->frozen = true;
        p->norm_part = HEED_NORM_BEFORE;
    }
}

bool detr_backbone_make(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, struct detr_backbone *b) {
    struct resnet_plan plan = {0};
    const int first = heed_params_count(set);
    if (!read_plan(cx, config, &plan, &b->map)) return false;
    plan.frozen = true;
    if (!resnet_make(cx, set, part_under(cx, prefix, "model").s, &plan, &b->resnet)) return false;
    freeze(set, &plan, first);
    return true;
}

/* ---- running ---- */

heed_tensor *detr_backbone_run(heed_ctx *cx, const struct detr_backbone *b, heed_tensor *pixels) {
    heed_tensor *map[RESNET_STAGES + 1] = {NULL};
    const bool last = b->map > 0 && b->map == b->resnet.stages;
    heed_tensor *const x = resnet_run(cx, &b->resnet, pixels, last ? NULL : map);
    return last ? x : map[b->map];
}

static bool halves(const struct resnet_stage *stage) {
    for (int i = 0; i < RESNET_CONVS; i++)
        if (stage->layer[0].unit[i].conv.weight && stage->layer[0].unit[i].conv.opts.stride[0] == 2) return true;
    return false;
}

int64_t detr_backbone_stride(const struct detr_backbone *b) {
    const struct resnet *const r = &b->resnet;
    const bool pooled = (r->pools || r->stem_pool.conv.weight) && !(b->map == 0 && r->stem_before_pool);
    int64_t stride = pooled ? 4 : 2;
    for (int i = 0; i < b->map; i++) stride *= halves(&r->stage[i]) ? 2 : 1;
    return stride;
}

int64_t detr_backbone_width(const struct detr_backbone *b) {
    const struct resnet *const r = &b->resnet;
    return b->map > 0 ? r->stage[b->map - 1].width : r->stem[r->stem_convs - 1].conv.weight->shape[0];
}

/* Every step halves the sides and rounds up. */
void detr_backbone_grid(const struct detr_backbone *b, const int64_t size[2], int64_t grid[2]) {
    for (int i = 0; i < 2; i++) grid[i] = (size[i] - 1) / detr_backbone_stride(b) + 1;
}
