/* heed/detect.h: models that find objects in pictures: a directory of transformers' layout, pictures in, boxes out.
 *
 *     heed_picture_model *m = heed_picture_model_open(cx, "detr", "detect");             (heed/vision.h)
 *     heed_picture_read(cx, m, "street.jpg", &photo);
 *     heed_detection *found = heed_detect_pictures(cx, m, &photo, 1, NULL, &n);
 *
 * heed_plot_detections (heed/plot.h) draws them over the picture. */
#ifndef HEED_DETECT_H
#define HEED_DETECT_H

#include "heed/objects.h"
#include "heed/vision.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_detect_opts {
    double threshold; /* scores are above it */
    int64_t top;      /* at most so many of a picture, those of the highest scores; 0: 100 */
} heed_detect_opts;
#define HEED_DETECT_THRESHOLD 0.5 /* as transformers' processors have it */

/* The objects in n pictures, picture after picture (`picture` counts them from 0), the highest score first; boxes are
 * in pixels of the picture as it is given, and may reach out of it. Scores are those of transformers'
 * post_process_object_detection: of models with a class "no object" each query's largest probability but for that one;
 * of others (Conditional DETR) the sigmoid of each class of each query. opts NULL: above HEED_DETECT_THRESHOLD. As many
 * as *found, to be freed with heed_mem_free; NULL when something failed. */
HEED_API heed_detection *heed_detect_pictures(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures,
                                              int64_t n, const heed_detect_opts *opts, int64_t *found);

#ifdef __cplusplus
}
#endif
#endif
