/* Pictures read: what kind of file it is, its header, its pixels, and what the caller wants of them. */
#include "base/file.h"
#include "base/profile.h"
#include "image/image.h"
#include "io/magic.h"

bool image_is_png(const struct image_file *f) { return f->size >= 8 && memcmp(f->data, "\x89PNG\r\n\x1a\n", 8) == 0; }

bool image_is_jpeg(const struct image_file *f) { return f->size >= 3 && memcmp(f->data, "\xFF\xD8\xFF", 3) == 0; }

static bool inspect(const struct image_file *f, heed_image_info *info) {
    *info = (heed_image_info){.orientation = 1};
    if (image_is_png(f)) return png_inspect(f, info);
    if (image_is_jpeg(f)) return jpeg_inspect(f, info);
    if (f->size == 0) return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: the file is empty", f->name);
    const struct magic *other = magic_find(f->name, f->data, f->size);
    if (other && other->picture)
        return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: %s, which heed does not read: %s", f->name, other->name,
                         other->remedy);
    return heed_fail(f->cx, HEED_ERR_FORMAT, "%s: not a picture: neither PNG nor JPEG%s%s", f->name,
                     other ? ", but " : "", other ? other->name : "");
}

bool heed_image_inspect(heed_ctx *cx, const char *name, const void *bytes, size_t size, heed_image_info *info) {
    if (heed_failed(cx)) return false;
    if (!name || !bytes || !info) return heed_fail(cx, HEED_ERR_USAGE, "image_inspect: name, bytes or info is NULL");
    return inspect(&(struct image_file){cx, name, bytes, size}, info);
}

static bool check_pixels(const struct image_file *f, const heed_image_info *info, int64_t max_pixels) {
    const int64_t most = max_pixels > 0 ? max_pixels : HEED_IMAGE_MAX_PIXELS;
    return info->width * info->height <= most ||
           heed_fail(f->cx, HEED_ERR_RANGE, "%s: %lld x %lld pixels, at most %lld are allowed: a decompression bomb?",
                     f->name, (long long)info->width, (long long)info->height, (long long)most);
}

/* Takes over `image`: turned and converted as wanted. */
static bool finish(heed_ctx *cx, const heed_image_opts *o, int orientation, heed_image *image) {
    heed_image next;
    if (o->orient && orientation > 1) {
        const bool turned = heed_image_orient(cx, image, orientation, &next);
        heed_image_free(cx, image);
        if (!turned) return false;
        *image = next;
    }
    if (o->mode == HEED_IMAGE_ANY || (int)o->mode == image->channels) return true;
    const bool converted = heed_image_convert(cx, image, o->mode, &next);
    heed_image_free(cx, image);
    if (converted) *image = next;
    return converted;
}

bool heed_image_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size, const heed_image_opts *opts,
                      heed_image *out) {
    image_none(out);
    if (heed_failed(cx)) return false;
    const heed_image_opts o = opts ? *opts : (heed_image_opts){0};
    if (!name || !bytes || !out || (unsigned)o.mode > HEED_IMAGE_RGBA || o.max_pixels < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "image_parse: name, bytes or picture is NULL, or there is no such mode");
    const struct image_file f = {cx, name, bytes, size};
    const bool alpha = o.mode == HEED_IMAGE_RGBA || o.mode == HEED_IMAGE_GREY_ALPHA;
    heed_image_info info;
    if (!inspect(&f, &info) || !check_pixels(&f, &info, o.max_pixels)) return false;
    const struct profile_mark mark = profile_begin(cx);
    const bool ok = (info.format == HEED_IMAGE_PNG ? png_read(&f, &info, alpha, out) : jpeg_read(&f, &info, out)) &&
                    finish(cx, &o, info.orientation, out);
    profile_end(cx, mark, "decode pictures", PROFILE_FORWARD);
    return ok;
}

bool heed_image_read(heed_ctx *cx, const char *path, const heed_image_opts *opts, heed_image *out) {
    image_none(out);
    size_t size;
    unsigned char *bytes = file_read(cx, path, IMAGE_FILE_LIMIT, &size);
    if (!bytes) return false;
    const bool ok = heed_image_parse(cx, strcmp(path, "-") == 0 ? "standard input" : path, bytes, size, opts, out);
    heed_mem_free(cx, bytes);
    return ok;
}
