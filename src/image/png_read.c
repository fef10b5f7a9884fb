/* PNG by libpng. The chunks are walked here first, so that what a header promises is checked before libpng sees it.
 * libpng leaves by longjmp: the frame that catches it holds nothing that changes, and all memory is libpng's own, of
 * the context's allocator, or the picture. */
#include "base/text.h"
#include "image/image.h"

#include <png.h>

#define MAX_INFLATE 1032 /* bytes that a byte of deflate can become */

/* ---- the header ---- */

static size_t number(const uint8_t *p) { return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]; }

static bool broken(const struct image_file *f, const char *why) {
    return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: not a sound PNG: %s", f->name, why);
}

static int samples_of(int colour) { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }

static bool depth_fits(int colour, int bits) {
    if (colour == 0 && (bits == 1 || bits == 2 || bits == 4)) return true;
    if (colour == 3) return bits == 1 || bits == 2 || bits == 4 || bits == 8;
    return (colour == 0 || colour == 2 || colour == 4 || colour == 6) && (bits == 8 || bits == 16);
}

bool png_inspect(const struct image_file *f, heed_image_info *info) {
    const uint8_t *p = f->data;
    if (f->size < 33 || number(p + 8) != 13 || memcmp(p + 12, "IHDR", 4) != 0)
        return broken(f, "the header is missing or cut short");
    const size_t width = number(p + 16), height = number(p + 20);
    const int bits = p[24], colour = p[25];
    if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX || !depth_fits(colour, bits) || p[26] ||
        p[27] || p[28] > 1)
        return broken(f, "the header says what no PNG can be");
    *info = (heed_image_info){.format = HEED_IMAGE_PNG,
                              .width = (int64_t)width,
                              .height = (int64_t)height,
                              .channels = samples_of(colour),
                              .bits = bits,
                              .palette = colour == 3,
                              .interlaced = p[28] == 1,
                              .orientation = 1};
    size_t packed = 0;
    bool transparent = false;
    for (size_t at = 33; at <= f->size - 8;) {
        const size_t length = number(p + at), room = f->size - at - 8, here = length < room ? length : room;
        const uint8_t *kind = p + at + 4, *data = p + at + 8;
        if (memcmp(kind, "IDAT", 4) == 0) packed += here;
        if (memcmp(kind, "tRNS", 4) == 0) transparent = true;
        if (memcmp(kind, "eXIf", 4) == 0) info->orientation = exif_orientation(data, here);
        if (memcmp(kind, "IEND", 4) == 0 || length > room || room - length < 4) break;
        at += 12 + length;
    }
    if (info->palette) info->channels = transparent ? 4 : 3;
    /* 2^31 x 2^31 pixels of 64 bits fit 128 bits, not 64. */
    const unsigned __int128 raw = (unsigned __int128)width * height * (unsigned)(samples_of(colour) * bits) / 8;
    if (raw > (unsigned __int128)packed * MAX_INFLATE + 64)
        return heed_fail(f->cx, HEED_ERR_FORMAT,
                         "%s: %zu x %zu pixels cannot be packed in the %zu bytes that the PNG has", f->name, width,
                         height, packed);
    return true;
}

/* ---- libpng ---- */

struct reader {
    const struct image_file *file;
    size_t at;
    bool cut; /* more bytes were wanted than there are */
    char why[160];
    png_structp png;
    png_infop info;
    heed_image *to;
};

static void take(png_structp png, png_bytep out, size_t n) {
    struct reader *r = png_get_io_ptr(png);
    if (n > r->file->size - r->at) {
        r->cut = true;
        png_error(png, "cut short");
    }
    memcpy(out, r->file->data + r->at, n);
    r->at += n;
}

static void failed(png_structp png, png_const_charp why) {
    struct reader *r = png_get_error_ptr(png);
    text_printable(r->why, sizeof r->why, why, strlen(why));
    png_longjmp(png, 1);
}
static void warned(png_structp png, png_const_charp why) { (void)png, (void)why; }
static png_voidp more(png_structp png, png_alloc_size_t n) { return heed_mem_new(png_get_mem_ptr(png), n); }
static void less(png_structp png, png_voidp p) { heed_mem_free(png_get_mem_ptr(png), p); }

/* All rows into r->to, which has as many channels as libpng gives bytes to the pixel. */
static bool decode(struct reader *r, bool high_bytes) {
    if (setjmp(png_jmpbuf(r->png))) return false;
    png_set_read_fn(r->png, r, take);
    png_set_user_limits(r->png, INT32_MAX, INT32_MAX);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_check_for_invalid_index(r->png, 0);
    png_read_info(r->png, r->info);
    png_set_packing(r->png);
    if (high_bytes) png_set_strip_16(r->png);
    const int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != (size_t)r->to->width * (size_t)r->to->channels) {
        png_error(r->png, "rows are not as long as the header says");
    }
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < r->to->height; y++) png_read_row(r->png, image_row(r->to, y), NULL);
    return true;
}

/* ---- what the bytes mean ---- */

/* Takes over an image of indices. */
static bool expand_palette(heed_ctx *cx, struct reader *r, int channels, heed_image *image) {
    png_colorp colours = NULL;
    png_bytep alpha = NULL;
    int n = 0, n_alpha = 0;
    uint8_t table[256][4] = {{0}};
    png_get_PLTE(r->png, r->info, &colours, &n);
    png_get_tRNS(r->png, r->info, &alpha, &n_alpha, NULL);
    for (int i = 0; i < 256; i++) {
        if (i < n) memcpy(table[i], (uint8_t[]){colours[i].red, colours[i].green, colours[i].blue}, 3);
        table[i][3] = i < n_alpha && alpha ? alpha[i] : 255;
    }
    heed_image out;
    const bool ok = heed_image_new(cx, image->width, image->height, channels, &out);
    for (int64_t i = 0, count = image->width * image->height; ok && i < count; i++)
        memcpy(out.data + i * channels, table[image->data[i]], (size_t)channels);
    heed_image_free(cx, image);
    if (ok) *image = out;
    return ok;
}

/* Takes over an image of two bytes to the pixel, the high one first; what is beyond 255 is 255. */
static bool saturate(heed_ctx *cx, heed_image *image) {
    heed_image out;
    const bool ok = heed_image_new(cx, image->width, image->height, 1, &out);
    for (int64_t i = 0, count = image->width * image->height; ok && i < count; i++)
        out.data[i] = image->data[2 * i] ? 255 : image->data[2 * i + 1];
    heed_image_free(cx, image);
    if (ok) *image = out;
    return ok;
}

/* Grey of 1, 2 or 4 bits to 8. */
static void stretch(heed_image *image, int bits) {
    const int factor = 255 / ((1 << bits) - 1);
    for (int64_t i = 0, count = image->width * image->height; i < count; i++)
        image->data[i] = (uint8_t)(image->data[i] * factor);
}

/* The one transparent colour of a grey or RGB picture, as an alpha channel. Takes over image. */
static bool key_to_alpha(heed_ctx *cx, struct reader *r, int bits, heed_image *image) {
    png_color_16p key = NULL;
    if (bits > 8 || png_get_tRNS(r->png, r->info, NULL, NULL, &key) == 0 || !key) return true;
    const int from = image->channels, to = from + 1, factor = bits < 8 ? 255 / ((1 << bits) - 1) : 1;
    const uint8_t colour[3] = {(uint8_t)(from == 1 ? key->gray * factor : key->red), (uint8_t)key->green,
                               (uint8_t)key->blue};
    heed_image out;
    const bool ok = heed_image_new(cx, image->width, image->height, to, &out);
    for (int64_t i = 0, count = image->width * image->height; ok && i < count; i++) {
        const uint8_t *in = image->data + i * from;
        memcpy(out.data + i * to, in, (size_t)from);
        out.data[i * to + from] = memcmp(in, colour, (size_t)from) == 0 ? 0 : 255;
    }
    heed_image_free(cx, image);
    if (ok) *image = out;
    return ok;
}

bool png_read(const struct image_file *f, const heed_image_info *info, bool alpha, heed_image *out) {
    struct reader r = {.file = f, .to = out};
    const bool wide_grey = info->channels == 1 && info->bits == 16;
    const int stored = info->palette ? 1 : wide_grey ? 2 : info->channels;
    if (!heed_image_new(f->cx, info->width, info->height, stored, out)) return false;
    r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, failed, warned, f->cx, more, less);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    bool ok = r.info && decode(&r, !wide_grey);
    if (!ok && !heed_failed(f->cx)) {
        if (!r.info)
            heed_fail(f->cx, HEED_ERR_MEMORY, "%s: no memory to read a PNG", f->name);
        else if (r.cut)
            heed_fail(f->cx, HEED_ERR_FORMAT, "%s: the PNG is cut short, at byte %zu", f->name, f->size);
        else
            heed_fail(f->cx, HEED_ERR_FORMAT, "%s: not a sound PNG: %s", f->name, r.why);
    }
    if (ok && info->palette)
        ok = expand_palette(f->cx, &r, info->channels, out);
    else if (ok && wide_grey)
        ok = saturate(f->cx, out);
    else if (ok && info->bits < 8)
        stretch(out, info->bits);
    if (ok && alpha && !info->palette && info->channels % 2 == 1) ok = key_to_alpha(f->cx, &r, info->bits, out);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    if (!ok) heed_image_free(f->cx, out);
    return ok;
}
