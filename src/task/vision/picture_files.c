/* What a model of pictures says of its input: sizes, names of classes, and how pictures become floats, as transformers
 * (preprocessor_config.json) and timm (pretrained_cfg in config.json) write it. */
#include "task/vision/picture_files.h"
#include "base/text.h"
#include "model/core/config.h"
#include "model/core/directory.h"
#include "task/vision/objects_way.h"
#include "tensor/engine.h"
#include "train/loop.h"

#include <math.h>
#include <string.h>

bool heed_picture_input_of(heed_ctx *cx, const heed_model *model, heed_picture_input *input) {
    heed_io in = {0};
    int64_t shape[4] = {0};
    if (input) *input = (heed_picture_input){0};
    if (heed_failed(cx)) return false;
    if (!model || !input) return heed_fail(cx, HEED_ERR_USAGE, "pictures: the %s is NULL", model ? "input" : "model");
    heed_scope_begin(cx); /* what the caller is computing stays */
    const heed_tensor *const x = heed_model_sample(cx, model, 1, 1, &in) ? heed_io_get(&in, "pixel_values") : NULL;
    for (int i = 0; x && i < 4; i++) shape[i] = heed_dim(x, i);
    heed_scope_end(cx, NULL);
    if (heed_failed(cx)) return false;
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "%s is no model of pictures", heed_model_family(model)->name);
    if (shape[1] != 1 && shape[1] != 3 && shape[1] != 4)
        return heed_fail(cx, HEED_ERR_SHAPE, "a model of pictures of %lld channels: pictures have 1, 3 or 4",
                         (long long)shape[1]);
    input->channels = (int)shape[1];
    input->height = shape[2];
    input->width = shape[3];
    return true;
}

heed_image_processor heed_picture_processor_for(const heed_picture_input *input, const float *mean, const float *std) {
    if (!input || !mean || !std) return (heed_image_processor){0};
    heed_image_processor p = {.channels = input->channels,
                              .resize = HEED_RESIZE_EXACT,
                              .height = input->height,
                              .width = input->width,
                              .filter = HEED_FILTER_BICUBIC,
                              .rescale = true,
                              .normalize = true,
                              .scale = 1.0 / 255.0};
    for (int c = 0; c < 4; c++) {
        p.mean[c] = c < input->channels ? mean[c] : 0;
        p.std[c] = c < input->channels ? std[c] : 1;
    }
    return p;
}

void heed_picture_processor_fit(heed_image_processor *p, int channels, int64_t height, int64_t width) {
    if (!p) return;
    p->channels = channels;
    p->pad_height = p->pad_width = 0;
    if (p->crop && p->crop_height == height && p->crop_width == width) return;
    if (p->crop && p->crop_height > 0) { /* what surrounds the crop stays in proportion */
        const double by = (double)height / (double)p->crop_height;
        p->shorter = (int64_t)rint((double)p->shorter * by);
        p->height = (int64_t)rint((double)p->height * by);
        p->width = (int64_t)rint((double)p->width * (double)width / (double)p->crop_width);
        p->crop_height = height;
        p->crop_width = width;
        return;
    }
    p->resize = HEED_RESIZE_EXACT;
    p->height = height;
    p->width = width;
}

/* ---- files ---- */

static void put_numbers(heed_ctx *cx, heed_json at, const char *key, const float *x, int n) {
    const heed_json list = heed_json_put_array(cx, at, key);
    for (int i = 0; i < n; i++) heed_json_put_number(cx, list, NULL, rint((double)x[i] * 1e7) / 1e7);
}

static void put_sides(heed_ctx *cx, heed_json at, const char *key, int64_t height, int64_t width) {
    const heed_json size = heed_json_put_object(cx, at, key);
    heed_json_put_int(cx, size, "height", height);
    heed_json_put_int(cx, size, "width", width);
}

static bool is_timm(const heed_model *model) { return heed_model_family(model)->timm != NULL; }

static bool is_said(heed_ctx *cx, const heed_model *model, const char *dir) {
    if (directory_has(dir, PREPROCESSOR_FILE)) return true;
    const heed_json timm = heed_json_find(cx, heed_model_config(model), "pretrained_cfg");
    return heed_json_kind_of(timm) == HEED_JSON_OBJECT;
}

static bool detects(const heed_model *model) { return text_among(heed_model_head(model)->tasks, "detect"); }

bool picture_files_processor(heed_ctx *cx, const heed_model *model, const char *dir, const heed_picture_input *input,
                             heed_image_processor *out, bool *assumed) {
    static const float half[] = {0.5f, 0.5f, 0.5f, 0.5f};
    const bool said = is_said(cx, model, dir);
    if (assumed) *assumed = !said;
    if (detects(model)) return object_processor_of(cx, model, dir, out);
    if (said) return heed_image_processor_open(cx, dir, out);
    *out = heed_picture_processor_for(input, half, half);
    out->filter = HEED_FILTER_BILINEAR; /* as ViT's processor of transformers has it */
    heed_note(cx, HEED_LOG_WARN,
              "%s: no preprocessor_config.json: pictures are resized to %lld x %lld, with mean and deviation 0.5", dir,
              (long long)input->height, (long long)input->width);
    return !heed_failed(cx);
}

bool picture_files_fitted(heed_ctx *cx, const heed_model *model, const char *dir, heed_picture_input *input) {
    if (!picture_files_processor(cx, model, dir, input, &input->processor, NULL)) return false;
    heed_picture_processor_fit(&input->processor, input->channels, input->height, input->width);
    return true;
}

/* timm resizes to the crop's size / crop_pct, then crops. */
static void put_timm(heed_ctx *cx, const heed_family *family, heed_json config, const heed_image_processor *p) {
    const heed_json old = heed_json_find(cx, config, "pretrained_cfg");
    const heed_json at =
        heed_json_kind_of(old) == HEED_JSON_OBJECT ? old : heed_json_put_object(cx, config, "pretrained_cfg");
    const heed_json size = heed_json_put_array(cx, at, "input_size");
    const int64_t height = p->crop ? p->crop_height : p->height, width = p->crop ? p->crop_width : p->width;
    const bool cover = p->crop && (p->resize == HEED_RESIZE_SHORTER || p->resize == HEED_RESIZE_COVER);
    const double around = (double)(p->resize == HEED_RESIZE_SHORTER ? p->shorter : p->height);
    heed_json_put_int(cx, size, NULL, p->channels);
    heed_json_put_int(cx, size, NULL, height);
    heed_json_put_int(cx, size, NULL, width);
    heed_json_put_bool(cx, at, "fixed_input_size", !config_any_size(family));
    heed_json_put_text(cx, at, "interpolation", heed_filter_name(p->filter));
    heed_json_put_number(cx, at, "crop_pct", p->crop ? (double)height / around : 1.0);
    heed_json_put_text(cx, at, "crop_mode",
                       cover                                     ? "center"
                       : p->crop && p->resize == HEED_RESIZE_FIT ? "border"
                                                                 : "squash");
    put_numbers(cx, at, "mean", p->mean, p->channels);
    put_numbers(cx, at, "std", p->std, p->channels);
}

bool heed_picture_describe(heed_ctx *cx, heed_model *model, const heed_data *classes, const heed_image_processor *p) {
    if (heed_failed(cx)) return false;
    if (!model || !classes || !p)
        return heed_fail(cx, HEED_ERR_USAGE, "picture_describe: the model, classes or processor are NULL");
    const heed_json config = heed_model_config(model);
    if (!is_timm(model)) return heed_model_describe(cx, model, classes);
    if (classes->class_names) {
        const heed_json names = heed_json_put_array(cx, config, "label_names");
        for (int64_t i = 0; i < classes->classes; i++) heed_json_put_text(cx, names, NULL, classes->class_names[i]);
    }
    put_timm(cx, heed_model_family(model), config, p);
    return !heed_failed(cx);
}

bool heed_picture_processor_write(heed_ctx *cx, const heed_model *model, const char *dir,
                                  const heed_image_processor *p) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return false;
    if (!model || !dir || !p)
        return heed_fail(cx, HEED_ERR_USAGE, "picture_processor_write: the model, directory or processor is NULL");
    if (is_timm(model)) return directory_remove(cx, dir, PREPROCESSOR_FILE);
    const char *const type = heed_model_family(model)->processor;
    const heed_json at = heed_json_new(cx, PREPROCESSOR_FILE);
    heed_json_put_text(cx, at, "image_processor_type",
                       type             ? type
                       : detects(model) ? "DetrImageProcessor"
                                        : "ViTImageProcessor");
    heed_json_put_bool(cx, at, "do_convert_rgb", p->channels == 3);
    heed_json_put_bool(cx, at, "do_resize", p->resize != HEED_RESIZE_NONE);
    if (p->resize == HEED_RESIZE_SHORTER) {
        const heed_json size = heed_json_put_object(cx, at, "size");
        heed_json_put_int(cx, size, "shortest_edge", p->shorter);
        if (p->longer > 0) heed_json_put_int(cx, size, "longest_edge", p->longer);
    } else {
        put_sides(cx, at, "size", p->height, p->width);
    }
    heed_json_put_int(cx, at, "resample", p->filter);
    if (detects(model)) {
        heed_json_put_text(cx, at, "format", "coco_detection");
        heed_json_put_bool(cx, at, "do_convert_annotations", true);
        heed_json_put_bool(cx, at, "do_pad", true);
    } else {
        heed_json_put_bool(cx, at, "do_center_crop", p->crop);
    }
    if (p->crop) put_sides(cx, at, "crop_size", p->crop_height, p->crop_width);
    heed_json_put_bool(cx, at, "do_rescale", p->rescale);
    heed_json_put_number(cx, at, "rescale_factor", p->scale);
    heed_json_put_bool(cx, at, "do_normalize", p->normalize);
    put_numbers(cx, at, "image_mean", p->mean, p->channels);
    put_numbers(cx, at, "image_std", p->std, p->channels);
    const bool ok = directory_path(cx, dir, PREPROCESSOR_FILE, path) && heed_json_write(cx, path, at);
    heed_json_free(at);
    return ok;
}
