/* What the files of the image room share. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include "heed/image.h"

#include <string.h>

#define IMAGE_FILE_LIMIT ((size_t)1 << 30) /* bytes of a file */
#define IMAGE_MAX_SIDE   ((int64_t)1 << 24)

/* Whether there is a picture; fails the context with a sentence that begins with `op` if not. */
bool image_check(heed_ctx *cx, const char *op, const heed_image *image);
/* What a call that makes a picture leaves where it fails, even at once. */
static inline void image_none(heed_image *out) {
    if (out) *out = (heed_image){0};
}
static inline size_t image_bytes(const heed_image *p) { return (size_t)(p->width * p->height) * (size_t)p->channels; }
static inline uint8_t *image_row(const heed_image *p, int64_t y) {
    return p->data + (size_t)(y * p->width) * (size_t)p->channels;
}

/* A file that is being read. */
struct image_file {
    heed_ctx *cx;
    const char *name; /* in sentences */
    const uint8_t *data;
    size_t size;
};
bool image_is_png(const struct image_file *f);
bool image_is_jpeg(const struct image_file *f);
/* Reads the header alone, and checks it: false and a sentence where the file cannot hold such a picture. */
bool png_inspect(const struct image_file *f, heed_image_info *info);
bool jpeg_inspect(const struct image_file *f, heed_image_info *info);
/* Reads all of it; `info` is of the same file. alpha: the one transparent colour of a
 * PNG becomes an alpha channel. */
bool png_read(const struct image_file *f, const heed_image_info *info, bool alpha, heed_image *out);
bool jpeg_read(const struct image_file *f, const heed_image_info *info, heed_image *out);
/* The orientation that a block of TIFF (EXIF) says, 1 to 8; 1 where it says none. */
int exif_orientation(const uint8_t *tiff, size_t size);

/* Bytes that grow. Once memory is refused, nothing more is added. */
struct image_bytes {
    heed_ctx *cx;
    uint8_t *data;
    size_t size, room;
};
bool image_bytes_add(struct image_bytes *b, const void *data, size_t size);
bool png_write(heed_ctx *cx, const heed_image *image, struct image_bytes *out);
bool jpeg_write(heed_ctx *cx, const heed_image *image, int quality, struct image_bytes *out);

static inline uint8_t clip_byte(int v) { return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v; }
/* a b / 255, rounded, as Pillow does it. */
static inline uint8_t scale_byte(int a, int b) {
    const int t = a * b + 128;
    return (uint8_t)(((t >> 8) + t) >> 8);
}
/* ITU-R 601-2 luma. */
static inline uint8_t luma(const uint8_t *rgb) {
    return (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

#endif
