/* Pictures written: PNG by libpng, JPEG by libjpeg-turbo, whole into memory and from there into the file. */
#include "base/file.h"
#include "base/memory.h"
#include "image/image.h"
#include "io/text.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <png.h>

/* ---- PNG ---- */

static void png_take(png_structp png, png_bytep data, size_t n) {
    if (!image_bytes_add(png_get_io_ptr(png), data, n)) png_error(png, "no memory");
}
static void png_flush_nothing(png_structp png) { (void)png; }
static void png_failed(png_structp png, png_const_charp why) {
    (void)why;
    png_longjmp(png, 1);
}
static void png_warned(png_structp png, png_const_charp why) { (void)png, (void)why; }
static png_voidp png_more(png_structp png, png_alloc_size_t n) { return heed_mem_new(png_get_mem_ptr(png), n); }
static void png_less(png_structp png, png_voidp p) { heed_mem_free(png_get_mem_ptr(png), p); }

struct png_out {
    png_structp png;
    png_infop info;
};

static bool png_rows(const struct png_out *o, const heed_image *image, struct image_bytes *out) {
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(o->png))) return false;
    png_set_write_fn(o->png, out, png_take, png_flush_nothing);
    png_set_IHDR(o->png, o->info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 colours[image->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_user_limits(o->png, INT32_MAX, INT32_MAX);
    png_write_info(o->png, o->info);
    for (int64_t y = 0; y < image->height; y++) png_write_row(o->png, image_row(image, y));
    png_write_end(o->png, o->info);
    return true;
}

bool png_write(heed_ctx *cx, const heed_image *image, struct image_bytes *out) {
    struct png_out o = {0};
    o.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, NULL, png_failed, png_warned, cx, png_more, png_less);
    o.info = o.png ? png_create_info_struct(o.png) : NULL;
    const bool ok = o.info && png_rows(&o, image, out);
    png_destroy_write_struct(&o.png, &o.info);
    return ok || heed_fail(cx, HEED_ERR_MEMORY, "no memory to write a PNG");
}

/* ---- JPEG ---- */

enum { CHUNK = 16384 };

struct jpeg_out {
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf leave;
    struct image_bytes *out;
    uint8_t chunk[CHUNK];
};

static void jpeg_failed(j_common_ptr j) { longjmp(((struct jpeg_out *)j->client_data)->leave, 1); }
static void jpeg_quiet(j_common_ptr j) { (void)j; }
static void jpeg_warned(j_common_ptr j, int level) { (void)j, (void)level; }

static void chunk_begin(j_compress_ptr j) {
    struct jpeg_out *o = j->client_data;
    o->destination.next_output_byte = o->chunk;
    o->destination.free_in_buffer = CHUNK;
}
static boolean chunk_full(j_compress_ptr j) {
    struct jpeg_out *o = j->client_data;
    if (!image_bytes_add(o->out, o->chunk, CHUNK)) longjmp(o->leave, 1);
    chunk_begin(j);
    return TRUE;
}
static void chunk_last(j_compress_ptr j) {
    struct jpeg_out *o = j->client_data;
    if (!image_bytes_add(o->out, o->chunk, CHUNK - o->destination.free_in_buffer)) longjmp(o->leave, 1);
}

static bool jpeg_rows(struct jpeg_out *o, const heed_image *image, int quality) {
    if (setjmp(o->leave)) return false;
    jpeg_create_compress(&o->j);
    o->j.client_data = o;
    o->destination.init_destination = chunk_begin;
    o->destination.empty_output_buffer = chunk_full;
    o->destination.term_destination = chunk_last;
    o->j.dest = &o->destination;
    o->j.image_width = (JDIMENSION)image->width;
    o->j.image_height = (JDIMENSION)image->height;
    o->j.input_components = image->channels;
    o->j.in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&o->j);
    jpeg_set_quality(&o->j, quality, TRUE);
    jpeg_start_compress(&o->j, TRUE);
    while (o->j.next_scanline < o->j.image_height) {
        JSAMPROW row = image_row(image, o->j.next_scanline);
        jpeg_write_scanlines(&o->j, &row, 1);
    }
    jpeg_finish_compress(&o->j);
    return true;
}

bool jpeg_write(heed_ctx *cx, const heed_image *image, int quality, struct image_bytes *out) {
    if (image->channels % 2 == 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "a picture of %d channels: JPEG has no alpha", image->channels);
    if (image->width > 65500 || image->height > 65500)
        return heed_fail(cx, HEED_ERR_RANGE, "a picture of %lld x %lld pixels: JPEG ends at 65500",
                         (long long)image->width, (long long)image->height);
    const size_t needed = ((size_t)256 << 10) + ((size_t)image->width + 64) * 512;
    const heed_status status = mem_count(cx, needed);
    if (status != HEED_OK) return mem_refused(cx, status, needed);
    struct jpeg_out *o = heed_mem_new(cx, sizeof *o);
    bool ok = o;
    if (o) {
        memset(o, 0, sizeof *o);
        o->j.err = jpeg_std_error(&o->errors);
        o->j.client_data = o;
        o->errors.error_exit = jpeg_failed;
        o->errors.output_message = jpeg_quiet;
        o->errors.emit_message = jpeg_warned;
        o->out = out;
        ok = jpeg_rows(o, image, quality);
        jpeg_destroy_compress(&o->j);
    }
    heed_mem_free(cx, o);
    mem_uncount(cx, needed);
    return ok || heed_fail(cx, HEED_ERR_MEMORY, "no memory to write a JPEG");
}

/* ---- either ---- */

unsigned char *heed_image_encode(heed_ctx *cx, const heed_image *image, heed_image_format format, int quality,
                                 size_t *size) {
    if (!image_check(cx, "image_encode", image)) return NULL;
    if (!size || (format != HEED_IMAGE_PNG && format != HEED_IMAGE_JPEG) || quality < 0 || quality > 100) {
        heed_fail(cx, HEED_ERR_USAGE,
                  "image_encode: no size is given, no such format, or a quality that is not 0 to 100");
        return NULL;
    }
    struct image_bytes out = {.cx = cx};
    const bool ok =
        format == HEED_IMAGE_PNG ? png_write(cx, image, &out) : jpeg_write(cx, image, quality > 0 ? quality : 75, &out);
    if (!ok) {
        heed_mem_free(cx, out.data);
        return NULL;
    }
    *size = out.size;
    return out.data;
}

bool heed_image_write(heed_ctx *cx, const char *path, const heed_image *image, int quality) {
    if (heed_failed(cx)) return false;
    const size_t n = path ? strlen(path) : 0;
    const bool png = n && text_ends(path, n, ".png"),
               jpeg = n && (text_ends(path, n, ".jpg") || text_ends(path, n, ".jpeg"));
    if (!png && !jpeg)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: the name of a picture ends in .png, .jpg or .jpeg", path ? path : "");
    size_t size = 0;
    unsigned char *bytes = heed_image_encode(cx, image, png ? HEED_IMAGE_PNG : HEED_IMAGE_JPEG, quality, &size);
    if (!bytes) return heed_fail_in(cx, "%s", path);
    struct file_writer *w = file_write_open(cx, path);
    const bool ok = w && file_write(w, bytes, size);
    heed_mem_free(cx, bytes);
    if (ok) return file_write_commit(w);
    file_write_abort(w);
    return false;
}
