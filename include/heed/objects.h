/* heed/objects.h: pictures with objects in them: boxes and classes, read from COCO's JSON or from a table, or drawn;
 * and COCO's measures of detections. */
#ifndef HEED_OBJECTS_H
#define HEED_OBJECTS_H

#include "heed/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An object of a picture. box: x, y, width, height in pixels, as COCO has it; the upper left corner of the picture is
 * (0,0). */
typedef struct heed_object {
    double box[4];
    double area;   /* COCO's, of the object itself; else that of the box */
    int32_t label; /* class, from 0 */
    bool crowd;    /* COCO's iscrowd: many at once; trained on they are not */
    int64_t id;    /* COCO's; else counted from 1 */
} heed_object;

typedef struct heed_object_set heed_object_set;
typedef struct heed_object_set_opts {
    const char *const *classes; /* names, as a model numbers them, NULL at the end; NULL: those of the data */
    const char *pictures;       /* the directory that file names are relative to; NULL: see below */
    int64_t count;              /* of drawn pictures: how many make an epoch; 0: 10,000 */
    uint64_t seed;              /* of drawn pictures */
    bool optional;              /* where there is no such part, NULL without an error */
    bool unseen;                /* only boxes are wanted: pictures are not looked for, nor can they be read */
} heed_object_set_opts;
/* What was done about objects and pictures that could not be taken as they are. */
typedef struct heed_object_notes {
    int64_t clipped;  /* boxes that reached out of their picture */
    int64_t empty;    /* boxes of no size, or outside their picture, which are left out */
    int64_t crowds;   /* objects that are crowds */
    int64_t bare;     /* pictures without objects */
    int64_t pictures; /* that could not be found, and are left out */
} heed_object_notes;

/* The pictures of a part ("train", "val", "test") with their objects, listed, not decoded. path is one of:
 *
 * - COCO's JSON (.json, .json.gz): images, annotations and categories in any order, up to 4 GB. Classes are numbered by
 *   category id, pictures by image id. Ids that occur twice and those that lead nowhere are refused.
 * - a table (anything else): a row for each object, with columns path, label, and x, y, width, height, or xmin, ymin,
 *   xmax, ymax, under these names or their usual kin, or without names path, x, y, width, height, label. A row without
 *   a box is a picture without objects. Classes are sorted, pictures by path.
 * - a directory that holds either for each part: annotations/instances_train2017.json (2014, or no year),
 *   annotations/train.json, instances_train.json, train.json, train/_annotations.coco.json, train/annotations.json, or
 *   these as .csv, or train.tsv; val is also valid, validation or dev.
 * - "shapes": pictures of 96 x 96 pixels that heed draws, with one to four shapes of six kinds.
 *
 * File names are relative to where that file lies or to the directory around it, or to images in these, or to train2017
 * (train, ...) in any of them. A file is all of its data: part "train", and any other, unless that is optional. Where
 * a picture is turned by its EXIF orientation, boxes are of it as it is stored, or as it is seen: whichever size fits.
 */
HEED_API heed_object_set *heed_object_set_open(heed_ctx *cx, const char *path, const char *part,
                                               const heed_object_set_opts *opts);
HEED_API void heed_object_set_free(heed_ctx *cx, heed_object_set *set);
HEED_API int64_t heed_object_set_count(const heed_object_set *set); /* pictures; of drawn ones, those of an epoch */
HEED_API int64_t heed_object_set_classes(const heed_object_set *set);
HEED_API const char *const *heed_object_set_names(const heed_object_set *set); /* of the classes; NULL at the end */
HEED_API heed_object_notes heed_object_set_notes(const heed_object_set *set);
HEED_API uint64_t heed_object_set_hash(const heed_object_set *set); /* changes with the pictures, boxes and classes */
/* Pictures are drawn, so that there is one for every number from 0 on: those of the next epoch follow the last. */
HEED_API bool heed_object_set_endless(const heed_object_set *set);

/* Picture i: its id in COCO's JSON (else i), and its path (NULL: it is drawn). */
HEED_API int64_t heed_object_set_id(const heed_object_set *set, int64_t i);
HEED_API const char *heed_object_set_path(const heed_object_set *set, int64_t i);
/* COCO's category_id of a class; else counted from 1. */
HEED_API int64_t heed_object_set_category(const heed_object_set *set, int32_t label); /* -1: none */
/* Decodes or draws picture i in RGB, and lists its objects, as many as *n: *objects belongs to the caller
 * (heed_mem_free). picture may be NULL: only the objects. Contexts of several threads may do so at once. */
HEED_API bool heed_object_set_read(heed_ctx *cx, const heed_object_set *set, int64_t i, heed_image *picture,
                                   heed_object **objects, int64_t *n);

/* ---- augmentation ---- of a picture and its objects, whose boxes move along. What is 0 is not done. */

typedef struct heed_object_augment {
    double flip; /* probability that left and right are exchanged */
    /* Probability of a crop: its sides are shares of the picture's, from crop_low (0: 1/2) to 1, at a random place,
     * such that at least one object stays; where ten tries find none, nothing is cropped. */
    double crop, crop_low;
    /* The picture is drawn larger or smaller by a factor from low to high, within its own borders: at a random place,
     * what lies outside is cut off, and around a smaller one is its mean colour. A larger one keeps an object, too. */
    double scale_low, scale_high;
    /* An object stays if at least this share of its box does (0: 0.3), as the box of what is left. */
    double keep;
    double brightness, contrast, saturation, hue; /* as heed_augment has them */
} heed_object_augment;

/* Whether all of it makes sense. */
HEED_API bool heed_object_augment_check(heed_ctx *cx, const heed_object_augment *a);
/* In place: *picture (RGB) is another one afterwards, whose size a crop changes, and the first *n objects are those
 * that stayed, in their order. What is drawn is a function of (seed, epoch, row) alone. */
HEED_API bool heed_object_augment_apply(heed_ctx *cx, const heed_object_augment *a, heed_image *picture,
                                        heed_object *objects, int64_t *n, uint64_t seed, int64_t epoch, int64_t row);

/* ---- COCO's measures ---- the twelve figures of pycocotools' summarize, in its order, to the last bit; -1: nothing to
 * measure. Truths are as they are written: with boxes that reach out of the picture, and also those of no size. */

typedef struct heed_detection {
    int64_t picture; /* its number in the set */
    double box[4];   /* x, y, width, height in pixels */
    int32_t label;
    double score;
} heed_detection;
enum { HEED_COCO_FIGURES = 12 };
typedef struct heed_coco_score {
    double figure[HEED_COCO_FIGURES]; /* AP, AP50, AP75, APs, APm, APl, AR1, AR10, AR100, ARs, ARm, ARl */
    double *ap;                       /* (classes) AP of each class */
} heed_coco_score;
HEED_API const char *heed_coco_name(int figure); /* "AP50" */
/* Of the pictures `rows` (NULL: all); detections in others do not count. */
HEED_API bool heed_coco_measure(heed_ctx *cx, const heed_object_set *set, const int64_t *rows, int64_t n_rows,
                                const heed_detection *detections, int64_t n, heed_coco_score *score);
HEED_API void heed_coco_score_free(heed_ctx *cx, heed_coco_score *score);
/* Detections in COCO's result JSON: a list of image_id, category_id, bbox, score. To be freed (heed_mem_free). */
HEED_API heed_detection *heed_detections_read(heed_ctx *cx, const heed_object_set *set, const char *path, int64_t *n);

#ifdef __cplusplus
}
#endif
#endif
