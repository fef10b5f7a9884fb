/* Pictures in folders or archives as a data set of one size: they become RGB bytes, (channels, height, width). */
#include "data/picture_list.h"

static bool read_all(const struct picture_list *l, heed_data *out) {
    for (int64_t i = 0; i < l->n; i++) {
        heed_image p;
        if (heed_cancelled(l->cx) || !picture_decode(l->cx, &l->file[i], HEED_IMAGE_RGB, &p)) return false;
        if (i == 0) {
            out->image_channels = p.channels;
            out->image_height = p.height;
            out->image_width = p.width;
            out->width = p.channels * p.height * p.width;
            out->bytes = data_room(l->cx, l->n, out->width, 1);
        } else if (p.height != out->image_height || p.width != out->image_width) {
            heed_fail(l->cx, HEED_ERR_SHAPE,
                      "%s: %lld x %lld pixels, those before have %lld x %lld; models of pictures, such as vit, take "
                      "any sizes",
                      l->file[i].path, (long long)p.width, (long long)p.height, (long long)out->image_width,
                      (long long)out->image_height);
        }
        const int64_t pixels = p.height * p.width;
        for (int64_t k = 0; !heed_failed(l->cx) && k < pixels * p.channels; k++)
            out->bytes[i * out->width + k % p.channels * pixels + k / p.channels] = p.data[k];
        heed_image_free(l->cx, &p);
        if (heed_failed(l->cx)) return false;
    }
    out->n = l->n;
    out->scale = 1.0f / 255.0f;
    return true;
}

bool data_read_pictures(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    struct picture_list l = {.cx = cx, .name = path};
    if (opts->task == HEED_DATA_REGRESS)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: pictures in folders have classes, not numbers to regress on", path);
    const bool ok = picture_list_open(&l, opts->part ? opts->part : "train") &&
                    (opts->task != HEED_DATA_CLASSIFY || picture_list_classes(&l, opts->like, out)) &&
                    read_all(&l, out);
    picture_list_free(&l);
    return ok;
}
