/* heed/image.h: pictures: PNG and JPEG read and written, resized, cropped, and made ready for a model.
 *
 * A picture is bytes, row after row, pixel after pixel. What Pillow does is the measure: a file is decoded, converted
 * and resized to the very bytes that Image.open, convert and resize give. Every file is hostile until checked: a header
 * that promises more pixels than are allowed, or than its bytes can hold, is refused before anything is unpacked. All
 * calls work on a context of any thread; what libjpeg takes with malloc is counted against the byte budget. */
#ifndef HEED_IMAGE_H
#define HEED_IMAGE_H

#include "heed/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* (height, width, channels). Channels: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha. heed_image_free gives the
 * bytes back; a picture that borrows bytes of the caller's is not freed. */
typedef struct heed_image {
    int64_t width, height;
    int channels;
    uint8_t *data;
} heed_image;

/* A new picture, contents undefined; one of {0} after a failure. At least one pixel, 1 to 4 channels. */
HEED_API bool heed_image_new(heed_ctx *cx, int64_t width, int64_t height, int channels, heed_image *out);
HEED_API void heed_image_free(heed_ctx *cx, heed_image *image); /* then it is {0}; NULL is allowed */
HEED_API bool heed_image_copy(heed_ctx *cx, const heed_image *image, heed_image *out);

/* ---- files ---- */

typedef enum heed_image_mode {
    HEED_IMAGE_ANY = 0, /* as the file has it: a palette as RGB or RGBA, CMYK as RGB */
    HEED_IMAGE_GREY = 1,
    HEED_IMAGE_GREY_ALPHA = 2,
    HEED_IMAGE_RGB = 3,
    HEED_IMAGE_RGBA = 4,
} heed_image_mode;

#define HEED_IMAGE_MAX_PIXELS 178956970 /* as Pillow: more is taken for a decompression bomb */

typedef struct heed_image_opts {
    heed_image_mode mode;
    bool orient;        /* turn the picture as its EXIF orientation says */
    int64_t max_pixels; /* refuse pictures of more; 0: HEED_IMAGE_MAX_PIXELS */
} heed_image_opts;

/* PNG or JPEG, by its first bytes. Like Pillow: of 16 bits the high byte counts, but grey ones saturate at 255; RGB
 * becomes grey by ITU-R 601-2 luma; alpha is dropped where it is not asked for. Bytes after the picture are ignored; a
 * file that is cut short is refused. opts NULL: all 0. *out is overwritten. */
HEED_API bool heed_image_read(heed_ctx *cx, const char *path, const heed_image_opts *opts, heed_image *out);
HEED_API bool heed_image_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size,
                               const heed_image_opts *opts, heed_image *out);

typedef enum heed_image_format { HEED_IMAGE_PNG = 1, HEED_IMAGE_JPEG } heed_image_format;

/* What the header says; nothing is unpacked. */
typedef struct heed_image_info {
    heed_image_format format;
    int64_t width, height; /* as stored: not turned */
    int channels;          /* as HEED_IMAGE_ANY gives them */
    int bits;              /* of a channel, or of an index into the palette */
    bool palette, interlaced, progressive;
    int orientation; /* EXIF's, 1 to 8; 1 where there is none */
} heed_image_info;
HEED_API bool heed_image_inspect(heed_ctx *cx, const char *name, const void *bytes, size_t size, heed_image_info *info);

/* By the ending of its name: .png, or .jpg and .jpeg (grey or RGB; quality 1 to 100, 0: 75). Written beside and
 * renamed.
 */
HEED_API bool heed_image_write(heed_ctx *cx, const char *path, const heed_image *image, int quality);
/* The same into memory (heed_mem_free). */
HEED_API unsigned char *heed_image_encode(heed_ctx *cx, const heed_image *image, heed_image_format format, int quality,
                                          size_t *size);

/* ---- conversions and geometry ---- each makes a new picture; the first may not be `out`. */

HEED_API bool heed_image_convert(heed_ctx *cx, const heed_image *image, heed_image_mode mode, heed_image *out);
HEED_API bool heed_image_orient(heed_ctx *cx, const heed_image *image, int orientation, heed_image *out);

/* The box left, top, width, height; what lies outside of the picture is filled. fill NULL: black. */
HEED_API bool heed_image_crop(heed_ctx *cx, const heed_image *image, int64_t left, int64_t top, int64_t width,
                              int64_t height, const uint8_t *fill, heed_image *out);

typedef enum heed_padding { HEED_PADDING_CONSTANT, HEED_PADDING_EDGE, HEED_PADDING_REFLECT } heed_padding;
/* So many pixels more at each side. Reflection leaves out the edge itself, and takes fewer pixels than there are. */
HEED_API bool heed_image_pad(heed_ctx *cx, const heed_image *image, int64_t left, int64_t top, int64_t right,
                             int64_t bottom, heed_padding kind, const uint8_t *fill, heed_image *out);
HEED_API void heed_image_flip(heed_image *image, bool horizontal, bool vertical); /* in place */

/* In Pillow's order: the numbers are those of preprocessor_config.json's "resample". */
typedef enum heed_filter {
    HEED_FILTER_NEAREST,
    HEED_FILTER_LANCZOS,
    HEED_FILTER_BILINEAR,
    HEED_FILTER_BICUBIC,
    HEED_FILTER_BOX,
    HEED_FILTER_HAMMING,
} heed_filter;
HEED_API bool heed_filter_find(const char *name, heed_filter *filter); /* "bicubic"; false: no such name */
HEED_API const char *heed_filter_name(heed_filter filter);

/* A box of the picture, with parts of pixels, becomes width x height: Pillow's Image.resize(size, resample, box), with
 * the support of the filter growing with the box (antialiasing). Alpha is multiplied in on the way. box NULL: all. On
 * the context's threads; the same bytes for any number of them. */
typedef struct heed_box {
    float left, top, right, bottom;
} heed_box;
HEED_API bool heed_image_resize(heed_ctx *cx, const heed_image *image, int64_t width, int64_t height,
                                heed_filter filter, const heed_box *box, heed_image *out);

/* Pixel (x, y) of the result, at its centre, is taken from (a x + b y + c, d x + e y + f) of the picture, by nearest,
 * bilinear or bicubic interpolation: Pillow's transform(AFFINE). What comes from outside is filled. */
HEED_API bool heed_image_affine(heed_ctx *cx, const heed_image *image, const double matrix[6], heed_filter filter,
                                const uint8_t *fill, heed_image *out);

/* (channels, height, width) floats: (byte * scale - mean[c]) / std[c]. mean NULL: 0 and 1. */
HEED_API void heed_image_to_floats(const heed_image *image, double scale, const float *mean, const float *std,
                                   float *out);

/* Pictures of one size, side by side in rows of `columns`, `gap` white pixels apart. */
HEED_API bool heed_image_grid(heed_ctx *cx, const heed_image *images, int64_t n, int64_t columns, int64_t gap,
                              heed_image *out);

/* ---- what a model wants ---- */

typedef enum heed_resize_kind {
    HEED_RESIZE_NONE,
    HEED_RESIZE_EXACT,   /* to height x width */
    HEED_RESIZE_SHORTER, /* the shorter side to `shorter`, the longer in proportion, at most `longer` (0: any) */
    HEED_RESIZE_COVER,   /* in proportion, so that height x width is covered (timm, not square) */
    HEED_RESIZE_FIT,     /* in proportion, within height x width (timm's border) */
    HEED_RESIZE_WITHIN,  /* the same with transformers' rounding: max_height and max_width */
} heed_resize_kind;

/* How a picture becomes floats. Read from preprocessor_config.json of transformers (the kind that uses Pillow), or of
 * timm's config.json, which has pretrained_cfg; or filled by the caller. */
typedef struct heed_image_processor {
    int channels; /* 1 or 3: the picture is converted; 0: as it is */
    heed_resize_kind resize;
    int64_t height, width, shorter, longer;
    int64_t multiple; /* of HEED_RESIZE_SHORTER: sides are cut to multiples of it, as YOLOS has it; 0: not */
    heed_filter filter;
    bool crop; /* the centre */
    int64_t crop_height, crop_width;
    bool timm; /* the place of the crop is rounded as torchvision does it */
    uint8_t fill[4];
    int64_t pad_height, pad_width; /* 0: none; black at the right and the bottom, after normalising 0.0 */
    bool rescale, normalize;
    double scale; /* 1/255 */
    float mean[4], std[4];
} heed_image_processor;

/* From a model directory (preprocessor_config.json, else config.json with pretrained_cfg), or one of these files. */
HEED_API bool heed_image_processor_open(heed_ctx *cx, const char *path, heed_image_processor *out);
HEED_API bool heed_image_processor_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                                         heed_image_processor *out);
/* The size of what it makes of a picture: fixed, unless it only resizes in proportion. */
HEED_API bool heed_image_processor_size(heed_ctx *cx, const heed_image_processor *p, const heed_image *image,
                                        int64_t *channels, int64_t *height, int64_t *width);
/* Which part of the picture that is, in the picture's own pixels; it reaches beyond the borders where the crop is
 * larger than what it is cut from, and where there is padding. */
HEED_API bool heed_image_processor_box(heed_ctx *cx, const heed_image_processor *p, const heed_image *image,
                                       heed_box *box);
/* The same in bytes, before rescaling and normalising: what augmentation works on. Without padding. */
HEED_API bool heed_image_processor_picture(heed_ctx *cx, const heed_image_processor *p, const heed_image *image,
                                           heed_image *out);
/* (channels, height, width) floats, to be freed with heed_mem_free; *picture, unless NULL, the bytes that they are of.
 */
HEED_API float *heed_image_process(heed_ctx *cx, const heed_image_processor *p, const heed_image *image,
                                   int64_t *channels, int64_t *height, int64_t *width);

#ifdef __cplusplus
}
#endif
#endif
