/* heed/vision.h: models of pictures for use: a directory of transformers' or timm's, pictures in, answers out.
 *
 *     heed_picture_model *m = heed_picture_model_open(cx, "vit-base", "classify");
 *     heed_image photo;
 *     heed_picture_read(cx, m, "cat.jpg", &photo);
 *     heed_classify_pictures(cx, m, &photo, 1, p);             (1, m->labels)
 *
 * A picture becomes numbers as the directory says: preprocessor_config.json, or timm's pretrained_cfg. */
#ifndef HEED_VISION_H
#define HEED_VISION_H

#include "heed/image.h"
#include "heed/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many classes a model of pictures tells apart; 0: it has no output layer. */
HEED_API int64_t heed_picture_classes(const heed_model *model);

/* How a directory's model wants its pictures. A directory that does not say so has them resized to the model's own size
 * (bilinear), with mean and deviation 0.5; *assumed (may be NULL) is then true, and the context's log says it. Pictures
 * have as many channels as the model takes. */
HEED_API bool heed_picture_processor(heed_ctx *cx, const heed_model *model, const char *dir, heed_image_processor *out,
                                     bool *assumed);

typedef struct heed_picture_model {
    heed_model *model;
    heed_image_processor processor;
    bool assumed;   /* no file says how pictures are prepared */
    int64_t labels; /* of the head */
    char **label;   /* their names; NULL: unknown */
    int pooling;    /* of embeddings: HEED_POOL_MEAN, HEED_POOL_CLS or HEED_POOL_MAX of heed/task.h over the patches'
                     * last hidden states; -1: pooler_output */
    bool normalise; /* embeddings have length 1 */
} heed_picture_model;
/* task: "classify", "detect" (heed/detect.h), "autoencode" (heed/autoencode.h), or "embed", which takes the body of
 * any. A model of vectors that was trained on pictures (mlp, linear) classifies them too: they are resized to its size,
 * grey where it takes one channel.
 */
HEED_API heed_picture_model *heed_picture_model_open(heed_ctx *cx, const char *dir, const char *task);
HEED_API void heed_picture_model_free(heed_ctx *cx, heed_picture_model *m);

/* Reads a PNG or JPEG file with so many channels, turned as its EXIF orientation says. No pipes or devices. */
HEED_API bool heed_picture_load(heed_ctx *cx, const char *path, int channels, heed_image *out);
/* The same with the model's channels. For a model of vectors with one channel it is inverted where it is dark on light
 * and the model's are not, or the other way round; the context's log says so. */
HEED_API bool heed_picture_read(heed_ctx *cx, const heed_picture_model *m, const char *path, heed_image *out);

/* Probabilities of the labels, or the numbers of a regression: out (n, labels). Pictures may be of any sizes; the
 * answer to one does not depend on the others. */
HEED_API bool heed_classify_pictures(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n,
                                     float *out);
/* Vectors of pictures, (n, *width), to be freed with heed_mem_free; NULL when something failed. */
HEED_API float *heed_embed_pictures(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n,
                                    int64_t *width);

#ifdef __cplusplus
}
#endif
#endif
