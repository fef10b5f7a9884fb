/* preprocessor_config.json of transformers, and pretrained_cfg in the config.json of timm. What a file leaves out is
 * what the class that it names has by default. */
#include "base/file.h"
#include "image/image.h"
#include "io/limits.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#define MAX_SIDE 65536 /* of a picture that a model wants */

#define STANDARD                                                                                                       \
    { 0.5f, 0.5f, 0.5f }
#define IMAGENET_MEAN                                                                                                  \
    { 0.485f, 0.456f, 0.406f }
#define IMAGENET_DEVIATION                                                                                             \
    { 0.229f, 0.224f, 0.225f }
#define CLIP_MEAN                                                                                                      \
    { 0.48145466f, 0.4578275f, 0.40821073f }
#define CLIP_DEVIATION                                                                                                 \
    { 0.26862954f, 0.26130258f, 0.27577711f }

/* Classes, without ImageProcessor or FeatureExtractor at the end. The first stands for all others. */
static const struct kind {
    const char *name;
    heed_filter filter;
    int64_t side; /* square */
    bool shorter; /* it is the shorter side's */
    bool plain;   /* a plain number is the shorter side's */
    bool crop;    /* to 224 */
    bool cropped; /* there is a crop_size by default, of 224 */
    float mean[3], std[3];
    bool convnext;
    int64_t longer, multiple; /* the longer side's most; sides are cut to multiples of it; 0: any */
} kinds[] = {
    {"ViT", HEED_FILTER_BILINEAR, 224, false, false, false, false, STANDARD, STANDARD, false, 0, 0},
    {"DeiT", HEED_FILTER_BICUBIC, 256, false, false, true, true, STANDARD, STANDARD, false, 0, 0},
    {"Beit", HEED_FILTER_BICUBIC, 224, false, false, false, true, STANDARD, STANDARD, false, 0, 0},
    {"Siglip", HEED_FILTER_BICUBIC, 224, false, true, false, false, STANDARD, STANDARD, false, 0, 0},
    {"CLIP", HEED_FILTER_BICUBIC, 224, true, true, true, true, CLIP_MEAN, CLIP_DEVIATION, false, 0, 0},
    {"Bit", HEED_FILTER_BICUBIC, 224, true, true, true, true, CLIP_MEAN, CLIP_DEVIATION, false, 0, 0},
    {"ConvNext", HEED_FILTER_BICUBIC, 384, true, true, false, false, STANDARD, STANDARD, true, 0, 0},
#define OBJECTS(name, multiple)                                                                                        \
    {                                                                                                                  \
        name, HEED_FILTER_BILINEAR, 800, true, true, false, false, IMAGENET_MEAN, IMAGENET_DEVIATION, false, 1333,     \
            multiple                                                                                                   \
    }
    OBJECTS("Detr", 0),
    OBJECTS("ConditionalDetr", 0),
    OBJECTS("DeformableDetr", 0),
    OBJECTS("Yolos", 16),
};

static const struct kind *kind_of(const char *type) {
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i].name);
        if (strncmp(type, kinds[i].name, n) == 0 &&
            (strncmp(type + n, "ImageProcessor", 14) == 0 || strncmp(type + n, "FeatureExtractor", 16) == 0))
            return &kinds[i];
    }
    return kinds;
}

/* ---- pieces ---- */

/* A size of a picture; 0 where the key is missing. */
static int64_t read_side(heed_ctx *cx, heed_json at, const char *key) {
    const int64_t side = heed_json_int_or(cx, at, key, 0);
    const heed_json there = key ? heed_json_find(cx, at, key) : at;
    if (heed_json_kind_of(there) == HEED_JSON_INT && (side < 1 || side > MAX_SIDE))
        return heed_json_fail(cx, there, "%lld pixels: should be 1 to %d", (long long)side, MAX_SIDE), 0;
    return side;
}

/* [height, width] */
static bool read_pair(heed_ctx *cx, heed_json at, int64_t *height, int64_t *width) {
    if (heed_json_count(at) != 2) return heed_json_fail(cx, at, "expected height and width");
    *height = read_side(cx, heed_json_item(cx, at, 0), NULL);
    *width = read_side(cx, heed_json_item(cx, at, 1), NULL);
    return !heed_failed(cx) && ((*height > 0 && *width > 0) || heed_json_fail(cx, at, "expected height and width"));
}

static bool read_size(heed_ctx *cx, heed_json at, const struct kind *kind, heed_image_processor *p) {
    p->resize = kind->shorter ? HEED_RESIZE_SHORTER : HEED_RESIZE_EXACT;
    p->height = p->width = p->shorter = kind->side;
    p->longer = kind->longer;
    p->multiple = kind->multiple;
    if (heed_json_kind_of(at) == HEED_JSON_NONE || heed_json_kind_of(at) == HEED_JSON_NULL) return true;
    if (heed_json_kind_of(at) == HEED_JSON_INT) {
        p->height = p->width = p->shorter = read_side(cx, at, NULL);
        p->resize = kind->plain ? HEED_RESIZE_SHORTER : HEED_RESIZE_EXACT;
        return !heed_failed(cx);
    }
    if (heed_json_kind_of(at) == HEED_JSON_ARRAY) {
        p->resize = HEED_RESIZE_EXACT;
        return read_pair(cx, at, &p->height, &p->width);
    }
    if (heed_json_kind_of(at) != HEED_JSON_OBJECT)
        return heed_json_fail(cx, at, "expected a number of pixels or an object with height and width");
    p->shorter = read_side(cx, at, "shortest_edge");
    p->longer = read_side(cx, at, "longest_edge");
    p->height = read_side(cx, at, "height");
    p->width = read_side(cx, at, "width");
    if (heed_failed(cx)) return false;
    if (p->shorter > 0) {
        p->resize = HEED_RESIZE_SHORTER;
    } else if (p->height > 0 && p->width > 0) {
        p->resize = HEED_RESIZE_EXACT;
    } else {
        p->resize = HEED_RESIZE_WITHIN;
        p->height = read_side(cx, at, "max_height");
        p->width = read_side(cx, at, "max_width");
        if (!heed_failed(cx) && (p->height < 1 || p->width < 1))
            return heed_json_fail(cx, at, "expected height and width, shortest_edge, or max_height and max_width");
    }
    return !heed_failed(cx);
}

static bool read_square(heed_ctx *cx, heed_json at, int64_t *height, int64_t *width) {
    const heed_json_kind kind = heed_json_kind_of(at);
    if (kind == HEED_JSON_NONE || kind == HEED_JSON_NULL) return !heed_failed(cx);
    if (kind == HEED_JSON_ARRAY) return read_pair(cx, at, height, width);
    if (heed_json_kind_of(at) == HEED_JSON_INT) {
        *height = *width = read_side(cx, at, NULL);
    } else if (heed_json_kind_of(at) == HEED_JSON_OBJECT) {
        *height = read_side(cx, at, "height");
        *width = read_side(cx, at, "width");
        if (!heed_failed(cx) && (*height < 1 || *width < 1)) return heed_json_fail(cx, at, "expected height and width");
    } else {
        return heed_json_fail(cx, at, "expected a number of pixels or an object with height and width");
    }
    return !heed_failed(cx);
}

static bool read_filter(heed_ctx *cx, heed_json at, heed_filter *filter) {
    if (heed_json_kind_of(at) == HEED_JSON_NONE || heed_json_kind_of(at) == HEED_JSON_NULL) return true;
    if (heed_json_kind_of(at) == HEED_JSON_TEXT) {
        const char *name = heed_json_text(cx, at, NULL);
        return heed_filter_find(name, filter) ||
               heed_json_fail(cx, at, "'%s' is none of nearest, lanczos, bilinear, bicubic, box, hamming",
                              escaped(name).s);
    }
    const int64_t n = heed_json_int(cx, at, NULL);
    if (heed_failed(cx)) return false;
    if (n < HEED_FILTER_NEAREST || n > HEED_FILTER_HAMMING)
        return heed_json_fail(cx, at, "no filter %lld", (long long)n);
    *filter = (heed_filter)n;
    return true;
}

/* A number for each channel, or one for all; *n: how many channels it is for, 0: any. */
static bool read_numbers(heed_ctx *cx, heed_json at, float out[4], int *n) {
    const heed_json_kind kind = heed_json_kind_of(at);
    *n = 0;
    if (kind == HEED_JSON_NONE || kind == HEED_JSON_NULL) return true;
    if (kind == HEED_JSON_INT || kind == HEED_JSON_REAL) {
        for (int c = 0; c < 4; c++) out[c] = (float)heed_json_number(cx, at, NULL);
        return true;
    }
    if (kind != HEED_JSON_ARRAY || heed_json_count(at) < 1 || heed_json_count(at) > 4)
        return heed_json_fail(cx, at, "expected a number for each of at most 4 channels");
    for (heed_json v = heed_json_first(at); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        out[(*n)++] = (float)heed_json_number(cx, v, NULL);
    for (int c = 1; *n == 1 && c < 4; c++) out[c] = out[0];
    return !heed_failed(cx);
}

static bool read_moments(heed_ctx *cx, heed_json mean, heed_json std, heed_image_processor *p) {
    int means, deviations;
    if (!read_numbers(cx, mean, p->mean, &means) || !read_numbers(cx, std, p->std, &deviations)) return false;
    if (means > 0 && deviations > 0 && means != deviations)
        return heed_json_fail(cx, std, "%d deviations for %d means", deviations, means);
    for (int c = 0; c < 4; c++)
        if (!isfinite(p->mean[c]) || !isfinite(p->std[c]) || p->std[c] == 0.0f)
            return heed_json_fail(cx, std, "cannot divide by %g", (double)p->std[c]);
    if (p->channels == 0 && (means == 1 || means == 3)) p->channels = means;
    return true;
}

/* ---- transformers ---- */

static void convnext(heed_image_processor *p, double crop_pct) {
    p->crop = p->shorter < 384;
    if (p->crop) {
        p->crop_height = p->crop_width = p->shorter;
        p->shorter = (int64_t)((double)p->shorter / crop_pct);
    } else {
        p->resize = HEED_RESIZE_EXACT;
        p->height = p->width = p->shorter;
    }
}

static bool read_transformers(heed_ctx *cx, heed_json at, heed_image_processor *p) {
    const char *type = heed_json_text_or(cx, at, "image_processor_type", NULL);
    if (!type) type = heed_json_text_or(cx, at, "feature_extractor_type", NULL);
    const struct kind *kind = kind_of(type);
    *p = (heed_image_processor){.filter = kind->filter,
                                .crop = heed_json_bool_or(cx, at, "do_center_crop", kind->crop),
                                .crop_height = 224,
                                .crop_width = 224,
                                .rescale = heed_json_bool_or(cx, at, "do_rescale", true),
                                .normalize = heed_json_bool_or(cx, at, "do_normalize", true),
                                .scale = heed_json_number_or(cx, at, "rescale_factor", 1.0 / 255.0),
                                .channels = heed_json_bool_or(cx, at, "do_convert_rgb", false) ? 3 : 0};
    for (int c = 0; c < 4; c++) {
        p->mean[c] = kind->mean[c < 3 ? c : 2];
        p->std[c] = kind->std[c < 3 ? c : 2];
    }
    const double crop_pct = heed_json_number_or(cx, at, "crop_pct", 224.0 / 256.0);
    const bool resizes = heed_json_bool_or(cx, at, "do_resize", true),
               pads = heed_json_bool_or(cx, at, "do_pad", false);
    const heed_json crop = heed_json_find(cx, at, "crop_size");
    if (heed_failed(cx)) return false;
    if (p->crop && !kind->cropped && heed_json_kind_of(crop) <= HEED_JSON_NULL)
        return heed_json_fail(cx, at, "do_center_crop is true, but there is no crop_size");
    if ((resizes && !read_size(cx, heed_json_find(cx, at, "size"), kind, p)) ||
        !read_square(cx, crop, &p->crop_height, &p->crop_width) ||
        !read_filter(cx, heed_json_find(cx, at, "resample"), &p->filter) ||
        !read_moments(cx, heed_json_find(cx, at, "image_mean"), heed_json_find(cx, at, "image_std"), p))
        return false;
    if (!isfinite(p->scale) || !(crop_pct > 0.01 && crop_pct <= 1.0))
        return heed_json_fail(cx, at, "rescale_factor %g or crop_pct %g is out of range", p->scale, crop_pct);
    if (kind->longer > 0 && resizes && heed_json_kind_of(heed_json_find(cx, at, "max_size")) == HEED_JSON_INT)
        p->longer = read_side(cx, at, "max_size"); /* older files, beside a plain number */
    if (kind->convnext && resizes && p->resize == HEED_RESIZE_SHORTER) convnext(p, crop_pct);
    if (!resizes) p->resize = HEED_RESIZE_NONE;
    return !pads || read_square(cx, heed_json_find(cx, at, "pad_size"), &p->pad_height, &p->pad_width);
}

/* ---- timm ---- */

static bool read_input_size(heed_ctx *cx, heed_json at, heed_image_processor *p) {
    p->channels = 3;
    p->crop_height = p->crop_width = 224;
    if (heed_json_kind_of(at) == HEED_JSON_NONE || heed_json_kind_of(at) == HEED_JSON_NULL) return true;
    if (heed_json_kind_of(at) != HEED_JSON_ARRAY || heed_json_count(at) != 3)
        return heed_json_fail(cx, at, "expected channels, height and width");
    const int64_t channels = read_side(cx, heed_json_item(cx, at, 0), NULL);
    p->crop_height = read_side(cx, heed_json_item(cx, at, 1), NULL);
    p->crop_width = read_side(cx, heed_json_item(cx, at, 2), NULL);
    if (heed_failed(cx)) return false;
    if (channels != 1 && channels != 3)
        return heed_json_fail(cx, at, "%lld channels: pictures have 1 or 3", (long long)channels);
    p->channels = (int)channels;
    return true;
}

static bool read_timm(heed_ctx *cx, heed_json at, heed_image_processor *p) {
    *p = (heed_image_processor){.timm = true,
                                .crop = true,
                                .filter = HEED_FILTER_BICUBIC,
                                .rescale = true,
                                .normalize = true,
                                .scale = 1.0 / 255.0,
                                .mean = IMAGENET_MEAN,
                                .std = IMAGENET_DEVIATION};
    p->mean[3] = 0.0f;
    p->std[3] = 1.0f;
    const double crop_pct = heed_json_number_or(cx, at, "crop_pct", 0.875);
    const char *mode = heed_json_text_or(cx, at, "crop_mode", "center");
    if (heed_failed(cx) || !read_input_size(cx, heed_json_find(cx, at, "input_size"), p) ||
        !read_filter(cx, heed_json_find(cx, at, "interpolation"), &p->filter) ||
        !read_moments(cx, heed_json_find(cx, at, "mean"), heed_json_find(cx, at, "std"), p))
        return false;
    if (!(crop_pct > 0.01 && crop_pct <= 100.0)) return heed_json_fail(cx, at, "crop_pct %g is out of range", crop_pct);
    p->height = (int64_t)floor((double)p->crop_height / crop_pct);
    p->width = (int64_t)floor((double)p->crop_width / crop_pct);
    if (p->height < 1 || p->width < 1) return heed_json_fail(cx, at, "crop_pct %g leaves no pixel", crop_pct);
    if (strcmp(mode, "squash") == 0) {
        p->resize = HEED_RESIZE_EXACT;
    } else if (strcmp(mode, "border") == 0) {
        p->resize = HEED_RESIZE_FIT;
        for (int c = 0; c < 3; c++) p->fill[c] = (uint8_t)fmin(fmax(rint(255.0 * (double)p->mean[c]), 0.0), 255.0);
    } else if (strcmp(mode, "center") != 0) {
        return heed_json_fail(cx, at, "crop_mode '%s' is none of center, squash, border", escaped(mode).s);
    } else if (p->height == p->width) {
        p->resize = HEED_RESIZE_SHORTER;
        p->shorter = p->height;
    } else {
        p->resize = HEED_RESIZE_COVER;
        p->filter = HEED_FILTER_BILINEAR; /* timm does not hand its interpolation on here */
    }
    return true;
}

/* ---- files ---- */

static bool read_any(heed_ctx *cx, heed_json root, heed_image_processor *out) {
    if (heed_json_kind_of(root) == HEED_JSON_NONE) return false;
    const heed_json timm = heed_json_find(cx, root, "pretrained_cfg");
    return heed_json_kind_of(timm) == HEED_JSON_OBJECT ? read_timm(cx, timm, out) : read_transformers(cx, root, out);
}

bool heed_image_processor_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                                heed_image_processor *out) {
    if (heed_failed(cx)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "image_processor: no place for it is given");
    const heed_json root = heed_json_parse(cx, name, text, size);
    const bool ok = read_any(cx, root, out);
    heed_json_free(root);
    return ok;
}

bool heed_image_processor_open(heed_ctx *cx, const char *path, heed_image_processor *out) {
    struct stat what;
    if (heed_failed(cx)) return false;
    if (!path || !out) return heed_fail(cx, HEED_ERR_USAGE, "image_processor: no %s is given", path ? "place" : "path");
    char *file = heed_mem_new(cx, strlen(path) + 32);
    if (!file) return false;
    strcpy(file, path);
    if (stat(path, &what) == 0 && S_ISDIR(what.st_mode)) {
        sprintf(file, "%s/preprocessor_config.json", path);
        if (stat(file, &what) != 0) sprintf(file, "%s/config.json", path);
    }
    const heed_json root = json_open_within(cx, file, IO_CONFIG_LIMIT);
    bool ok = read_any(cx, root, out);
    if (ok && text_ends(file, strlen(file), "/config.json") &&
        heed_json_kind_of(heed_json_find(cx, root, "pretrained_cfg")) != HEED_JSON_OBJECT)
        ok =
            heed_fail(cx, HEED_ERR_FORMAT,
                      "%s: neither preprocessor_config.json nor a pretrained_cfg says how pictures are prepared", path);
    heed_json_free(root);
    heed_mem_free(cx, file);
    return ok;
}
