/* Pictures with their classes, as files, in an archive or in memory. The set is only read once it is made, so that
 * threads may decode at once, each with a context of its own. */
#include "heed/picture_set.h"
#include "data/picture_list.h"
#include "data/recognise.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct heed_picture_set {
    heed_data data;           /* labels alone */
    struct picture_list list; /* n 0: in memory, as */
    heed_data *bytes;         /* (n, channels, height, width) */
    char *name;
    heed_image *kept;    /* (n), or NULL */
    bool kept_are_bytes; /* their pixels are those of `bytes` */
};

bool heed_picture_set_is(const char *path) {
    static const char *const ends[] = {".tar", ".tar.gz", ".tgz"};
    for (int i = 0; path && i < 3; i++)
        if (text_ends(path, strlen(path), ends[i])) return true;
    if (!path || !data_is_folder(path) || data_has_text_files(path)) return false;
    return data_has_parts(path) || data_has_classes(path);
}

/* Whether a folder lacks a part; archives are looked into. */
static bool lacks_folder(const char *path, const char *part) {
    struct stat what;
    char below[4096];
    return stat(path, &what) == 0 && S_ISDIR(what.st_mode) &&
           (snprintf(below, sizeof below, "%s/%s", path, part) >= (int)sizeof below || stat(below, &what) != 0);
}

heed_picture_set *heed_picture_set_open(heed_ctx *cx, const char *path, const char *part,
                                        const heed_picture_set_opts *opts) {
    const heed_picture_set *const beside = opts ? opts->beside : NULL;
    const bool optional = opts && opts->optional;
    if (heed_failed(cx)) return NULL;
    if (!path || !part) return heed_fail(cx, HEED_ERR_USAGE, "picture_set: path or part is NULL"), NULL;
    if (optional && lacks_folder(path, part)) return NULL;
    heed_picture_set *set = heed_mem_new(cx, sizeof *set);
    if (!set) return NULL;
    *set = (heed_picture_set){.list = {.cx = cx, .loose = opts && opts->loose}};
    set->name = heed_mem_new(cx, strlen(path) + 1);
    if (set->name) set->list.name = strcpy(set->name, path);
    if (beside && beside->name && strcmp(beside->name, path) == 0) {
        set->list.archive = beside->list.archive;
        set->list.archive_size = beside->list.archive_size;
    }
    bool ok = set->name && (optional ? picture_list_find : picture_list_open)(&set->list, part);
    ok = ok && set->list.n > 0 && picture_list_classes(&set->list, opts ? opts->like : NULL, &set->data);
    set->data.n = set->list.n;
    if (ok) return set;
    heed_picture_set_free(cx, set);
    return NULL;
}

heed_picture_set *heed_picture_set_of(heed_ctx *cx, heed_data *data) {
    if (heed_failed(cx) || !data) {
        heed_data_free(cx, data);
        return NULL;
    }
    const int64_t channels = data->image_channels;
    if (!data->bytes || data->image_height < 1 || (channels != 1 && channels != 3 && channels != 4) || !data->label)
        heed_fail(cx, HEED_ERR_SHAPE,
                  data->bytes && data->image_height > 0
                      ? "pictures of %lld channels: they have 1, 3 or 4, as bytes with classes"
                      : "the data are no pictures: bytes (n, height, width) or (n, channels, height, width)",
                  (long long)channels);
    heed_picture_set *set = heed_failed(cx) ? NULL : heed_mem_new(cx, sizeof *set);
    if (!set) {
        heed_data_free(cx, data);
        return NULL;
    }
    *set = (heed_picture_set){.list = {.cx = cx}, .bytes = data};
    set->data =
        (heed_data){.n = data->n, .label = data->label, .classes = data->classes, .class_names = data->class_names};
    return set;
}

static void forget_kept(heed_ctx *cx, heed_picture_set *set) {
    for (int64_t i = 0; set->kept && !set->kept_are_bytes && i < set->data.n; i++) heed_image_free(cx, &set->kept[i]);
    heed_mem_free(cx, set->kept);
    set->kept = NULL;
}

void heed_picture_set_free(heed_ctx *cx, heed_picture_set *set) {
    if (!set) return;
    forget_kept(cx, set);
    if (set->bytes) {
        heed_data_free(cx, set->bytes);
    } else {
        heed_mem_free(cx, set->data.label);
        heed_mem_free(cx, set->data.class_names);
    }
    picture_list_free(&set->list);
    heed_mem_free(cx, set->name);
    heed_mem_free(cx, set);
}

const heed_data *heed_picture_set_data(const heed_picture_set *set) { return set ? &set->data : NULL; }

/* ---- pictures ---- */

/* (channels, height, width) -> (height, width, channels) */
static bool from_bytes(heed_ctx *cx, const heed_data *d, int64_t i, heed_image *out) {
    const int64_t pixels = d->image_height * d->image_width, channels = d->image_channels;
    if (!heed_image_new(cx, d->image_width, d->image_height, (int)channels, out)) return false;
    const uint8_t *const from = d->bytes + i * d->width;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t k = 0; k < pixels; k++) out->data[k * channels + c] = from[c * pixels + k];
    return true;
}

static bool decode(heed_ctx *cx, const heed_picture_set *set, int64_t i, heed_image_mode mode, heed_image *out) {
    return set->bytes ? from_bytes(cx, set->bytes, i, out) : picture_decode(cx, &set->list.file[i], mode, out);
}

bool heed_picture_set_read(heed_ctx *cx, const heed_picture_set *set, int64_t i, int channels, heed_image *out) {
    if (out) *out = (heed_image){0};
    if (heed_failed(cx)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "picture_set: the picture is NULL");
    if (!set || i < 0 || i >= set->data.n || channels < 0 || channels > 4)
        return heed_fail(cx, HEED_ERR_RANGE, "picture_set: no picture %lld of %d channels", (long long)i, channels);
    heed_image made;
    const heed_image_mode mode = channels > 0 ? (heed_image_mode)channels : HEED_IMAGE_ANY;
    if (!decode(cx, set, i, mode, &made)) return false;
    if (channels == 0 || made.channels == channels) {
        *out = made;
        return true;
    }
    const bool ok = heed_image_convert(cx, &made, mode, out);
    heed_image_free(cx, &made);
    return ok;
}

bool heed_picture_set_info(heed_ctx *cx, const heed_picture_set *set, int64_t i, int64_t *width, int64_t *height,
                           int *channels) {
    heed_image p;
    if (heed_failed(cx)) return false;
    if (!width || !height || !channels)
        return heed_fail(cx, HEED_ERR_USAGE, "picture_set: width, height or channels is NULL");
    if (set && set->bytes) {
        *width = set->bytes->image_width;
        *height = set->bytes->image_height;
        *channels = (int)set->bytes->image_channels;
        return true;
    }
    if (!heed_picture_set_read(cx, set, i, 0, &p)) return false;
    *width = p.width;
    *height = p.height;
    *channels = p.channels;
    heed_image_free(cx, &p);
    return true;
}

/* ---- kept ---- */

static bool needs_nothing(const heed_data *d, int channels, const heed_image_processor *size) {
    return d && d->image_channels == 1 && channels == 1 &&
           (!size || (size->resize == HEED_RESIZE_EXACT && size->height == d->image_height &&
                      size->width == d->image_width && !size->crop));
}

static bool keep_one(heed_ctx *cx, heed_picture_set *set, int64_t i, int channels, const heed_image_processor *size) {
    heed_image p;
    if (!heed_picture_set_read(cx, set, i, channels, &p)) return false;
    if (!size) {
        set->kept[i] = p;
        return true;
    }
    const bool ok = heed_image_processor_picture(cx, size, &p, &set->kept[i]);
    heed_image_free(cx, &p);
    return ok;
}

bool heed_picture_set_keep(heed_ctx *cx, heed_picture_set *set, int channels, const heed_image_processor *size,
                           size_t limit, bool *kept) {
    if (kept) *kept = false;
    if (heed_failed(cx)) return false;
    if (!set || !kept) return heed_fail(cx, HEED_ERR_USAGE, "picture_set: the %s is NULL", set ? "answer" : "set");
    forget_kept(cx, set);
    const int64_t n = set->data.n;
    heed_data *const bytes = set->bytes;
    set->kept_are_bytes = needs_nothing(bytes, channels, size);
    if ((size_t)n > limit / sizeof *set->kept) return true;
    set->kept = data_room(cx, n, 1, sizeof *set->kept);
    if (!set->kept) return false;
    memset(set->kept, 0, (size_t)n * sizeof *set->kept);
    size_t held = 0;
    for (int64_t i = 0; i < n && !heed_cancelled(cx); i++) {
        if (set->kept_are_bytes)
            set->kept[i] = (heed_image){bytes->image_width, bytes->image_height, 1, bytes->bytes + i * bytes->width};
        else if (!keep_one(cx, set, i, channels, size))
            break;
        held += set->kept_are_bytes
                    ? 0
                    : (size_t)(set->kept[i].width * set->kept[i].height) * (size_t)set->kept[i].channels;
        if (held > limit) {
            forget_kept(cx, set);
            return true;
        }
    }
    *kept = !heed_failed(cx);
    return *kept;
}

const heed_image *heed_picture_set_kept(const heed_picture_set *set, int64_t i) {
    return set && set->kept && i >= 0 && i < set->data.n ? &set->kept[i] : NULL;
}

/* ---- numbers of the whole ---- */

uint64_t heed_picture_set_hash(const heed_picture_set *set) {
    uint64_t hash = DATA_HASH;
    if (!set) return hash;
    hash = data_hash(hash, set->data.label, (size_t)set->data.n * sizeof *set->data.label);
    if (set->bytes) return data_hash(hash, set->bytes->bytes, (size_t)(set->data.n * set->bytes->width));
    for (int64_t i = 0; i < set->list.n; i++) {
        const struct picture_file *f = &set->list.file[i];
        hash = f->bytes ? data_hash(hash, f->bytes, f->size) : data_hash(hash, f->of, strlen(f->of));
    }
    return hash;
}

static void add_moments(const heed_image *p, uint64_t sum[4], uint64_t squares[4]) {
    for (int64_t i = 0; i < p->width * p->height; i++)
        for (int c = 0; c < p->channels; c++) {
            const uint32_t v = p->data[i * p->channels + c];
            sum[c] += v;
            squares[c] += v * v;
        }
}

bool heed_picture_set_moments(heed_ctx *cx, const heed_picture_set *set, const int64_t *rows, int64_t n, int channels,
                              int64_t most, float *mean, float *std) {
    uint64_t sum[4] = {0}, squares[4] = {0};
    double pixels = 0;
    if (heed_failed(cx)) return false;
    if (!set || !mean || !std) return heed_fail(cx, HEED_ERR_USAGE, "picture_set: the set, mean or deviation is NULL");
    if (!rows) n = set->data.n;
    const int64_t some = most < n ? most : n;
    for (int64_t i = 0; i < some && !heed_cancelled(cx); i++) {
        const int64_t at = i * n / some, row = rows ? rows[at] : at;
        const heed_image *kept = heed_picture_set_kept(set, row);
        heed_image own = {0};
        if (!kept && !heed_picture_set_read(cx, set, row, channels, &own)) return false;
        add_moments(kept ? kept : &own, sum, squares);
        pixels += (double)((kept ? kept : &own)->width * (kept ? kept : &own)->height);
        heed_image_free(cx, &own);
    }
    for (int c = 0; c < channels; c++) {
        const double m = (double)sum[c] / pixels, v = (double)squares[c] / pixels - m * m;
        mean[c] = (float)(rint(m / 255 * 1e4) / 1e4);
        std[c] = (float)(rint(sqrt(v > 0 ? v : 0) / 255 * 1e4) / 1e4);
        if (!(std[c] > 0)) std[c] = 1;
    }
    return !heed_failed(cx);
}
