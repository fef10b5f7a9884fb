/* Detect: objects in pictures, a box and a class for each. */
#include "task/vision/objects_way.h"

/* clang-format off */
const heed_field object_fields[] = {
    {.name = "pictures", .kind = HEED_FIELD_GROUP},
    {.name = "shortest-edge", .kind = HEED_FIELD_INT, .value = "N", .low = 8, .high = 8192,
     .help = "resize pictures in proportion until their shorter side has N pixels; by default as many as the first "
             "picture's has, at most 800; with --init as DIR says"},
    {.name = "longest-edge", .kind = HEED_FIELD_INT, .value = "N", .low = 8, .high = 16384,
     .help = "but the longer side at most N; by default 5/3 of the shorter one"},
    {.name = "padded-boxes",
     .help = "in a batch with pictures of several sizes, boxes are relative to the padded picture, as transformers' "
             "processors write them, and not to the picture, as in the paper"},
    {.name = "augmentation", .kind = HEED_FIELD_GROUP},
    {.name = "flip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a horizontal flip"},
    {.name = "crop", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a random crop, in which at least one object stays"},
    {.name = "crop-min-scale", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "X", .low = 0.01, .high = 1,
     .help = "minimum side of a crop, as a fraction of the picture's"},
    {.name = "scale", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 0.95,
     .help = "scale jitter: the picture is enlarged or shrunk within its borders, by a factor within 1 - X and 1 + X"},
    {.name = "jitter", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "colour jitter: brightness, contrast and saturation change by a factor within 1 - X and 1 + X"},
    {.name = "hue", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 0.5,
     .help = "colour jitter: hue changes by at most this fraction of the circle"},
    {.name = "denoising queries", .kind = HEED_FIELD_GROUP},
    {.name = "denoising-groups", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 100,
     .help = "denoising queries (DN-DETR): N noised copies of each object are reconstructed beside the matching, "
             "which then converges sooner; only in training; 0: none"},
    {.name = "box-noise-scale", .kind = HEED_FIELD_NUMBER, .standard = "0.4", .value = "X", .high = 1,
     .help = "how far boxes of noised copies move: centres by at most X of half a side, sides by at most X of themselves"},
    {.name = "label-noise-ratio", .kind = HEED_FIELD_NUMBER, .standard = "0.2", .value = "P", .high = 1,
     .help = "probability that a noised copy gets a random class"},
    {.name = "backbone", .kind = HEED_FIELD_GROUP},
    {.name = "init-backbone", .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "start from the convolutions of a residual network that classifies pictures, of the same layout and sizes"},
    {.name = "backbone-lr", .kind = HEED_FIELD_NUMBER, .standard = "1", .tuned = "0.1", .value = "X", .high = 100,
     .help = "learning rate of the backbone, as a fraction of the others'; 0: it is not trained"},
    {.name = "batch-norms", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = "live frozen",
     .help = "whether batch norms of the backbone are trained and take the statistics of the batch; by default live "
             "without --init and --init-backbone, since fresh ones normalise nothing, and frozen with them"},
    {.name = NULL},
};

static const heed_field detect_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "COCO's JSON, a table of path, box and label, a directory that holds train, val and test of either, or the "
             "word shapes: pictures that heed draws"},
    {.name = "picture-dir", .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "where the pictures are that the data name; by default beside them"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "test data, measured once at the end; by default a directory's own test part"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pictures held out for validation where no file holds them; by default 0.1, of drawn pictures "
             "500 others"},
    {.name = "count", .kind = HEED_FIELD_INT, .standard = "3200", .value = "N", .low = 1, .high = 1e9,
     .help = "of drawn pictures: how many make an epoch; each is seen once"},
    {.name = "objects", .kind = HEED_FIELD_TABLE, .table = object_fields},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("conditional_detr", "model family, without --init: conditional_detr, detr, yolos; 'heed list' shows them"),
    EPOCHS_FIELD("50", "10", ""),
    BATCH_FIELD("32", "pictures per update"),
    LR_FIELD("8e-4", "1e-4", "peak learning rate"),
    {.name = "decay", .letter = 'w', .kind = HEED_FIELD_NUMBER, .standard = "1e-4", .value = "X", .high = 1e3,
     .help = "weight decay, not applied to biases"},
    {.name = "clip", .kind = HEED_FIELD_NUMBER, .standard = "0.1", .value = "X", .high = 1e12,
     .help = "maximum gradient norm; 0: no clipping"},
    {.name = "average", .kind = HEED_FIELD_NUMBER, .standard = "0.999", .value = "X", .high = 0.9999999,
     .help = "decay of an exponential moving average of the weights; 0: no average"},
    {.name = NULL},
};
/* clang-format on */

static const struct task_way *const detect_ways[] = {&way_objects, NULL};

const heed_task task_of_detect = {
    .name = "detect",
    .summary = "objects in pictures",
    .about =
        "Trains a model to detect objects: a class and a bounding box for each. Object queries attend to the picture, "
        "and each predicts an object or \"no object\"; training matches them with the objects by the assignment of "
        "lowest cost (Hungarian matching), so that their order does not matter. The metric is COCO's average "
        "precision, AP.\n\n"
        "Without --init the model is small and trains on a CPU: a residual network of two stages as the backbone, "
        "encoder and decoder of 3 layers of 128 numbers, 20 object queries; --set overrides each. conditional_detr "
        "converges much sooner than plain detr. Batch norms are trained, and the directory holds their running "
        "statistics. With --init they are frozen, as in transformers, which freezes the whole backbone of a directory "
        "too: --freeze '*backbone*' does that.\n\n"
        "Boxes of a table without a header are x, y, width, height; a header may name xmin, ymin, xmax, ymax. Boxes "
        "are clipped at the borders of their picture, and COCO's crowds are left out of training; how many is said.",
    .examples = "heed train detect --data shapes --steps 3000 --out shapes\n"
                "heed train detect --data shapes --denoising-groups 5 --out shapes\n"
                "heed train detect --data coco --model detr --flip 0.5 --crop 0.5 --out coco-detr\n"
                "heed train detect --data boxes.csv --init detr-resnet-50 --epochs 20 --batch 4 --out mine\n",
    .fields = detect_fields,
    .next = "detect",
    .next_how = " PICTURE",
    .ways = detect_ways,
};
