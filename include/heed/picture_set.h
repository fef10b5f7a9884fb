/* heed/picture_set.h: pictures of any size with their classes, to learn from: small ones are kept decoded, large ones
 * decoded each time. */
#ifndef HEED_PICTURE_SET_H
#define HEED_PICTURE_SET_H

#include "heed/data.h"
#include "heed/image.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_picture_set heed_picture_set;
/* Whether a path holds pictures as folders [PART/]CLASS/NAME.png or .jpg, or is an archive (.tar, .tar.gz) of them.
 * Without parts all pictures are of any part that is asked for, unless it is optional. */
HEED_API bool heed_picture_set_is(const char *path);
/* The pictures of a part ("train", "val", "test"), listed, not decoded. opts may be NULL. */
typedef struct heed_picture_set_opts {
    const heed_data *like;          /* classes and their names, as these are numbered; NULL: sorted by name */
    const heed_picture_set *beside; /* another part, which must stay: its archive is not read again */
    bool optional;                  /* where there is no such part, NULL without an error */
    bool loose; /* pictures need no class: those that lie in no folder of one, [PART/]NAME.png, are taken too, as of a
                 * class whose name is empty */
} heed_picture_set_opts;
HEED_API heed_picture_set *heed_picture_set_open(heed_ctx *cx, const char *path, const char *part,
                                                 const heed_picture_set_opts *opts);
/* The same of pictures in memory, bytes of 1, 3 or 4 channels: takes data over, whatever happens. */
HEED_API heed_picture_set *heed_picture_set_of(heed_ctx *cx, heed_data *data);
HEED_API void heed_picture_set_free(heed_ctx *cx, heed_picture_set *set);

/* Its labels: n, label, classes and class_names; and nothing else. */
HEED_API const heed_data *heed_picture_set_data(const heed_picture_set *set);
/* Picture i as it is: its size and channels. */
HEED_API bool heed_picture_set_info(heed_ctx *cx, const heed_picture_set *set, int64_t i, int64_t *width,
                                    int64_t *height, int *channels);
/* Picture i decoded, with `channels` channels (0: those that it has). Contexts of several threads may do so at once. */
HEED_API bool heed_picture_set_read(heed_ctx *cx, const heed_picture_set *set, int64_t i, int channels,
                                    heed_image *out);
/* Keeps all of them decoded, with `channels` channels and, where `size` is given, as this processor resizes them, if
 * that takes no more than `limit` bytes; *kept: whether it did. */
HEED_API bool heed_picture_set_keep(heed_ctx *cx, heed_picture_set *set, int channels, const heed_image_processor *size,
                                    size_t limit, bool *kept);
HEED_API const heed_image *heed_picture_set_kept(const heed_picture_set *set, int64_t i); /* NULL: not kept */
/* A number that changes with the pictures, their order or their labels. */
HEED_API uint64_t heed_picture_set_hash(const heed_picture_set *set);
/* Mean and deviation of each channel over at most `most` of the rows (NULL: all), of numbers from 0 to 1, rounded to
 * four digits; the deviation of a constant channel is 1. */
HEED_API bool heed_picture_set_moments(heed_ctx *cx, const heed_picture_set *set, const int64_t *rows, int64_t n,
                                       int channels, int64_t most, float *mean, float *std);

#ifdef __cplusplus
}
#endif
#endif
