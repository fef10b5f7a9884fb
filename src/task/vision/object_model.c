/* The model of a run that finds objects: its sizes, its backbone, and how it gets its pictures. */
#include "base/text.h"
#include "heed/picture_training.h"
#include "kernel/ints.h"
#include "model/core/directory.h"
#include "task/vision/objects_way.h"
#include <stdio.h>
#include <stdlib.h>

#define USUAL_SIDE   800 /* the shorter side of pictures, as transformers' processors have it */
#define LOOKED_AT    64  /* pictures whose sizes are found by reading them */
#define BACKBONE     "backbone."
#define BACKBONE_END "conv_encoder.model." /* what a residual network alone has no part of */

/* ---- sizes ---- */

struct fresh {
    const heed_run *r;
    struct object_settings *to;
};

/* A setting of a fresh model, where its family has the key. What the user sets comes after it. */
static void put(const struct fresh *f, const char *key, const char *value) {
    struct object_settings *const s = f->to;
    const bool inner = f->r->family->inner && strchr(key, '.'); /* of the backbone */
    if ((inner || run_takes_key(f->r, key)) && s->n < OBJECT_SETTINGS)
        snprintf(s->text[s->n++], sizeof s->text[0], "%s=%s", key, value);
}

/* DETR and its kin: cells of 8 x 8 pixels, so that small objects have some, and 128 numbers for each. */
static void put_detr(const struct fresh *f) {
    static const char *const pairs[][2] = {{"use_timm_backbone", "false"},
                                           {"backbone", "null"},
                                           {"backbone_config.layer_type", "basic"},
                                           {"backbone_config.embedding_size", "64"},
                                           {"backbone_config.hidden_sizes", "64,128"},
                                           {"backbone_config.depths", "2,2"},
                                           {"d_model", "128"},
                                           {"encoder_layers", "3"},
                                           {"decoder_layers", "3"},
                                           {"encoder_ffn_dim", "512"},
                                           {"decoder_ffn_dim", "512"},
                                           {"encoder_attention_heads", "4"},
                                           {"decoder_attention_heads", "4"},
                                           {"num_queries", "20"},
                                           {"dropout", "0"},
                                           {"auxiliary_loss", "true"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) put(f, pairs[i][0], pairs[i][1]);
}

/* YOLOS: patches of 8 x 8, 6 layers of 192 numbers. Positions are those of whole patches. */
static void put_yolos(const struct fresh *f, int64_t side) {
    static const char *const pairs[][2] = {{"patch_size", "8"},          {"hidden_size", "192"},
                                           {"num_hidden_layers", "6"},   {"num_attention_heads", "3"},
                                           {"intermediate_size", "768"}, {"num_detection_tokens", "20"}};
    const char *const said = run_setting(f->r, "patch_size");
    const long long patch = said ? strtoll(said, NULL, 10) : 8, unit = patch > 0 && patch < side ? patch : 1,
                    whole = round_up(side, unit);
    char size[64];
    snprintf(size, sizeof size, "%lld,%lld", whole, whole);
    put(f, "image_size", size);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) put(f, pairs[i][0], pairs[i][1]);
}

bool object_settings(const heed_run *r, const heed_object_set *set, int64_t side, struct object_settings *to) {
    const struct fresh *const f = &(struct fresh){r, to};
    snprintf(to->labels, sizeof to->labels, "num_labels=%lld", (long long)heed_object_set_classes(set));
    if (run_init(r)) return true;
    if (run_takes_key(r, "num_detection_tokens"))
        put_yolos(f, side);
    else
        put_detr(f);
    return !heed_failed(r->cx);
}

/* ---- the backbone ---- */

static bool is_backbone(const heed_param *p) { return strstr(p->name, BACKBONE); }

/* The parameter of a network alone that stands for one of a backbone: "model.backbone.conv_encoder.model.embedder..."
 * is "resnet.embedder...", or without a prefix. */
static const heed_param *counterpart(const heed_params *from, const char *base, const heed_param *of) {
    const char *const rest = strstr(of->name, BACKBONE_END);
    char name[512];
    if (!rest) return NULL;
    snprintf(name, sizeof name, "%s.%s", base ? base : "", rest + sizeof BACKBONE_END - 1);
    const heed_param *const with = base ? heed_params_find(from, name) : NULL;
    return with ? with : heed_params_find(from, rest + sizeof BACKBONE_END - 1);
}

static bool copy_backbone(heed_ctx *cx, const char *dir, const heed_model *from, heed_params *to) {
    const char *const base = heed_model_family(from)->base;
    int64_t copied = 0;
    for (int i = 0; i < heed_params_count(to); i++) {
        heed_param *const p = heed_params_at(to, i);
        if (p->target || !is_backbone(p)) continue;
        const heed_param *const its = counterpart(heed_model_params(from), base, p);
        if (!its || its->count != p->count)
            return heed_fail(cx, HEED_ERR_SHAPE, "%s: %s is no backbone for this model: %s is %s", dir,
                             heed_model_family(from)->name, p->name, its ? "of another size" : "missing");
        memcpy(p->value, its->value, (size_t)p->count * sizeof *p->value);
        copied++;
    }
    return copied > 0 || heed_fail(cx, HEED_ERR_USAGE, "train: --init-backbone: the model has no backbone");
}

static bool load_backbone(const heed_run *r, heed_ctx *cx, heed_params *to) {
    const char *const dir = run_text(r, "init-backbone");
    if (!dir || cx == r->dry) return true;
    heed_model *const from = heed_model_load(cx, dir);
    const bool ok = from && copy_backbone(cx, dir, from, to);
    heed_model_free(cx, from);
    return ok;
}

bool object_backbone(const heed_run *r, heed_ctx *cx, heed_model *model) {
    heed_params *const set = heed_model_params(model);
    const char *const norms = run_text(r, "batch-norms");
    const double by = run_number(r, "backbone-lr");
    const bool live = norms ? strcmp(norms, "live") == 0 : !run_init(r) && !run_text(r, "init-backbone");
    if (!load_backbone(r, cx, set)) return false;
    heed_batch_norms_train(cx, set, live);
    for (int i = 0; by != 1 && i < heed_params_count(set); i++) {
        heed_param *const p = heed_params_at(set, i);
        if (!is_backbone(p)) continue;
        p->lr_scale *= (float)by;
        if (by == 0) p->frozen = true;
    }
    return !heed_failed(cx);
}

/* ---- pictures as floats ---- */

/* What transformers' class has by default, of pictures of this size; 0: its own. */
static bool processor_of_class(heed_ctx *cx, const char *class, int64_t shorter, int64_t longer,
                               heed_image_processor *to) {
    char text[256], size[96] = "";
    if (shorter > 0)
        snprintf(size, sizeof size, ", \"size\": {\"shortest_edge\": %lld, \"longest_edge\": %lld}", (long long)shorter,
                 (long long)longer);
    const int n =
        snprintf(text, sizeof text, "{\"image_processor_type\": \"%s\", \"do_convert_rgb\": true%s}", class, size);
    return heed_image_processor_parse(cx, class, text, (size_t)n, to);
}

static const char *class_of(const heed_family *family) {
    return family->processor ? family->processor : "DetrImageProcessor";
}

bool object_processor_of(heed_ctx *cx, const heed_model *model, const char *dir, heed_image_processor *to) {
    heed_picture_input input;
    if (!heed_picture_input_of(cx, model, &input)) return false;
    if (directory_has(dir, PREPROCESSOR_FILE)) {
        if (!heed_image_processor_open(cx, dir, to)) return false;
        to->channels = input.channels;
        return !to->crop || heed_fail(cx, HEED_ERR_FORMAT, "%s: %s crops pictures, and objects would be lost", dir,
                                      PREPROCESSOR_FILE);
    }
    if (!processor_of_class(cx, class_of(heed_model_family(model)), 0, 0, to)) return false;
    to->channels = input.channels;
    heed_note(cx, HEED_LOG_WARN,
              "%s: no preprocessor_config.json: pictures are resized to a shorter side of %lld pixels and a longer one "
              "of at most %lld, with ImageNet's mean and deviation",
              dir, (long long)to->shorter, (long long)to->longer);
    return !heed_failed(cx);
}

static bool first_side(heed_ctx *cx, const heed_object_set *set, int64_t *side) {
    heed_image picture;
    heed_object *objects;
    int64_t n;
    if (!heed_object_set_read(cx, set, 0, &picture, &objects, &n)) return false;
    *side = picture.width < picture.height ? picture.width : picture.height;
    if (*side > USUAL_SIDE) *side = USUAL_SIDE;
    heed_image_free(cx, &picture);
    heed_mem_free(cx, objects);
    return true;
}

bool object_processor(const heed_run *r, const heed_object_set *set, heed_image_processor *to) {
    int64_t side = run_int(r, "shortest-edge"), longest = run_int(r, "longest-edge");
    if (run_init(r) && directory_has(run_init(r), PREPROCESSOR_FILE)) {
        if (!heed_image_processor_open(r->cx, run_init(r), to)) return false;
        to->channels = 3;
        if (to->crop)
            return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %s crops pictures, and objects would be lost", run_init(r),
                             PREPROCESSOR_FILE);
        if (side == 0) return true;
    } else if (side == 0 && !run_init(r) && !first_side(r->cx, set, &side)) {
        return false;
    }
    if (longest == 0) longest = (5 * side + 2) / 3;
    if (longest < side)
        return heed_fail(r->cx, HEED_ERR_USAGE, "train: --longest-edge %lld is less than the shorter side, %lld",
                         (long long)longest, (long long)side);
    return processor_of_class(r->cx, class_of(r->family), side, longest, to);
}

bool object_bounds(heed_ctx *cx, const heed_object_set *set, const heed_image_processor *p, int64_t *height,
                   int64_t *width) {
    const bool drawn = heed_object_set_endless(set);
    const int64_t count = heed_object_set_count(set), looked = drawn ? 1 : count < LOOKED_AT ? count : LOOKED_AT;
    *height = *width = p->resize == HEED_RESIZE_SHORTER && !drawn ? p->longer : 0;
    for (int64_t i = 0; i < looked && *height == 0; i++) {
        heed_image picture;
        heed_object *objects;
        int64_t n, channels, h, w;
        if (!heed_object_set_read(cx, set, i, &picture, &objects, &n)) return false;
        const bool ok = heed_image_processor_size(cx, p, &picture, &channels, &h, &w);
        heed_image_free(cx, &picture);
        heed_mem_free(cx, objects);
        if (!ok) return false;
        if (h > *height) *height = h;
        if (w > *width) *width = w;
    }
    return true;
}
