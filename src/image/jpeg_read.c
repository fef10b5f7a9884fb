/* JPEG by libjpeg-turbo, with its defaults: the accurate integer DCT and smooth upsampling, as Pillow has them. The
 * markers are walked here first. libjpeg leaves by longjmp, as libpng does; what it takes with malloc is estimated from
 * above and counted against the budget while it runs. */
#include "base/memory.h"
#include "base/text.h"
#include "image/image.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

/* ---- the header ---- */

static bool broken(const struct image_file *f, const char *why) {
    return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: not a sound JPEG: %s", f->name, why);
}

static bool is_frame(int marker) {
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/* data: the segment behind its length. */
static bool read_frame(const struct image_file *f, int marker, const uint8_t *data, size_t length,
                       heed_image_info *info) {
    if (length < 6 || length < 6 + 3 * (size_t)data[5]) return broken(f, "the header is cut short");
    info->bits = data[0];
    info->height = (int64_t)data[1] << 8 | data[2];
    info->width = (int64_t)data[3] << 8 | data[4];
    info->channels = data[5];
    info->progressive = marker == 0xC2;
    if (info->width < 1 || info->height < 1) return broken(f, "it has no width or no height");
    if (info->bits != 8 || (info->channels != 1 && info->channels != 3 && info->channels != 4))
        return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: a JPEG of %d bits and %d channels: 8 bits and 1, 3 or 4 are read",
                         f->name, info->bits, info->channels);
    if (info->channels == 4) info->channels = 3;
    /* The first scan has a bit at least for every block of the first channel. */
    const int64_t blocks = ((info->width + 63) / 64) * ((info->height + 63) / 64);
    return (int64_t)f->size * 8 >= blocks ||
           heed_fail(f->cx, HEED_ERR_FORMAT,
                     "%s: %lld x %lld pixels cannot be packed in the %zu bytes that the JPEG has", f->name,
                     (long long)info->width, (long long)info->height, f->size);
}

bool jpeg_inspect(const struct image_file *f, heed_image_info *info) {
    *info = (heed_image_info){.format = HEED_IMAGE_JPEG, .orientation = 1};
    for (size_t at = 2; at + 4 <= f->size;) {
        const uint8_t *p = f->data + at;
        if (p[0] != 0xFF) return broken(f, "a marker is missing");
        if (p[1] == 0xFF) { /* padding */
            at++;
            continue;
        }
        if (p[1] == 0xD9 || p[1] == 0xDA) return broken(f, "it has no header before the pixels");
        const size_t length = (size_t)p[2] << 8 | p[3];
        if (length < 2 || length > f->size - at - 2) break;
        if (is_frame(p[1])) return read_frame(f, p[1], p + 4, length - 2, info);
        if (p[1] == 0xE1 && length >= 8 && memcmp(p + 4, "Exif\0\0", 6) == 0)
            info->orientation = exif_orientation(p + 10, length - 8);
        at += 2 + length;
    }
    return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: the JPEG is cut short, at byte %zu: it has no header", f->name,
                     f->size);
}

/* ---- libjpeg ---- */

struct reader {
    struct jpeg_decompress_struct j;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    jmp_buf leave;
    const struct image_file *file;
    bool cut, starved;
    char why[JMSG_LENGTH_MAX + 8];
    heed_image *to;
    bool cmyk;
};

static void failed(j_common_ptr j) {
    struct reader *r = j->client_data;
    char why[JMSG_LENGTH_MAX];
    r->starved = j->err->msg_code == JERR_OUT_OF_MEMORY;
    j->err->format_message(j, why);
    text_printable(r->why, sizeof r->why, why, strlen(why));
    longjmp(r->leave, 1);
}
static void quiet(j_common_ptr j) { (void)j; }
static void warned(j_common_ptr j, int level) { (void)j, (void)level; }

static void nothing(j_decompress_ptr j) { (void)j; }
static boolean past_the_end(j_decompress_ptr j) {
    struct reader *r = j->client_data;
    r->cut = true;
    longjmp(r->leave, 1);
}
static void skip(j_decompress_ptr j, long n) {
    if (n <= 0) return;
    if ((size_t)n > j->src->bytes_in_buffer) past_the_end(j);
    j->src->next_input_byte += n;
    j->src->bytes_in_buffer -= (size_t)n;
}

/* All rows into r->to, of 1, 3, or 4 channels. */
static bool decode(struct reader *r) {
    if (setjmp(r->leave)) return false;
    jpeg_create_decompress(&r->j);
    r->j.client_data = r;
    r->source = (struct jpeg_source_mgr){.next_input_byte = r->file->data,
                                         .bytes_in_buffer = r->file->size,
                                         .init_source = nothing,
                                         .fill_input_buffer = past_the_end,
                                         .skip_input_data = skip,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = nothing};
    r->j.src = &r->source;
    jpeg_read_header(&r->j, TRUE);
    r->cmyk = r->j.num_components == 4;
    r->j.out_color_space = r->cmyk ? JCS_CMYK : r->j.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&r->j);
    if ((int64_t)r->j.output_width != r->to->width || (int64_t)r->j.output_height != r->to->height ||
        r->j.output_components != r->to->channels)
        ERREXIT(&r->j, JERR_BAD_STATE);
    while (r->j.output_scanline < r->j.output_height) {
        JSAMPROW rows[4];
        const int64_t y = r->j.output_scanline;
        int n = 0;
        for (; n < 4 && y + n < r->to->height; n++) rows[n] = image_row(r->to, y + n);
        jpeg_read_scanlines(&r->j, rows, (JDIMENSION)n);
    }
    jpeg_finish_decompress(&r->j);
    return true;
}

/* What libjpeg takes: tables and rows; all coefficients, two bytes each, when they come in several scans. */
static size_t estimate(const heed_image_info *info) {
    const size_t w = (size_t)info->width + 64, h = (size_t)info->height + 64;
    return ((size_t)256 << 10) + w * 512 + (info->progressive ? w * h * 8 : 0);
}

/* Adobe's CMYK is stored inverted. Takes over image. */
static bool cmyk_to_rgb(heed_ctx *cx, heed_image *image) {
    heed_image out;
    const bool ok = heed_image_new(cx, image->width, image->height, 3, &out);
    for (int64_t i = 0, n = image->width * image->height; ok && i < n; i++) {
        const uint8_t *in = image->data + 4 * i;
        const int white = in[3];
        for (int k = 0; k < 3; k++) out.data[3 * i + k] = clip_byte(white - scale_byte(255 - in[k], white));
    }
    heed_image_free(cx, image);
    if (ok) *image = out;
    return ok;
}

/* Channels are counted again: info has CMYK as RGB. */
static int stored_channels(const struct image_file *f) {
    for (size_t at = 2; at + 10 <= f->size;) {
        const uint8_t *p = f->data + at;
        if (p[1] == 0xFF) {
            at++;
            continue;
        }
        if (is_frame(p[1])) return p[9];
        at += 2 + ((size_t)p[2] << 8 | p[3]);
    }
    return 3;
}

bool jpeg_read(const struct image_file *f, const heed_image_info *info, heed_image *out) {
    heed_ctx *cx = f->cx;
    const size_t needed = estimate(info);
    if (!heed_image_new(cx, info->width, info->height, stored_channels(f), out)) return false;
    struct reader *r = heed_mem_new(cx, sizeof *r);
    bool ok = r;
    const heed_status status = r ? mem_count(cx, needed) : HEED_OK;
    if (status != HEED_OK) ok = mem_refused(cx, status, needed);
    if (ok) {
        memset(r, 0, sizeof *r);
        r->file = f;
        r->to = out;
        r->j.err = jpeg_std_error(&r->errors);
        r->j.client_data = r;
        r->errors.error_exit = failed;
        r->errors.output_message = quiet;
        r->errors.emit_message = warned;
        ok = decode(r);
        if (!ok && r->starved)
            heed_fail(cx, HEED_ERR_MEMORY, "%s: no memory to read a JPEG", f->name);
        else if (!ok && r->cut)
            heed_fail(cx, HEED_ERR_FORMAT, "%s: the JPEG is cut short, at byte %zu", f->name, f->size);
        else if (!ok)
            heed_fail(cx, HEED_ERR_FORMAT, "%s: not a sound JPEG: %s", f->name, r->why);
        jpeg_destroy_decompress(&r->j);
        mem_uncount(cx, needed);
        if (ok && r->cmyk) ok = cmyk_to_rgb(cx, out);
    }
    heed_mem_free(cx, r);
    if (!ok) heed_image_free(cx, out);
    return ok;
}
