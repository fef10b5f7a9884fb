/* What models of vectors share: inputs x (…, inputs) to outputs (…, outputs), numbers or classes.
 *
 * Standardising is part of the model, so that it takes and gives numbers as they are in the data: x enters as
 * (x - input_mean) / input_deviation and numbers leave as y output_deviation + output_mean. The four are frozen
 * parameters, there when the config says so. */
#ifndef MODEL_VECTORS_VECTORS_H
#define MODEL_VECTORS_VECTORS_H

#include "heed/model.h"

#define SIZE_MOST ((int64_t)1 << 40) /* numbers in a layer */

struct vectors {
    int64_t inputs, outputs;
    bool classify;
    heed_param *input_mean, *input_deviation, *output_mean, *output_deviation; /* NULL: none */
};

/* The keys of every family of vectors, for its table. */
#define VECTOR_KEYS                                                                                                    \
    {"input_size", HEED_KEY_INT, NULL, "numbers in an example"},                                                       \
        {"output_size", HEED_KEY_INT, NULL, "numbers to predict, or classes"},                                         \
        {"task", HEED_KEY_TEXT, "regress",                                                                             \
         "regress (mean squared error) or classify (cross entropy; with one "                                          \
         "output, of yes or no)"},                                                                                     \
        {"standardize_input", HEED_KEY_BOOL, "false", "has input_mean and input_deviation"},                           \
        {"standardize_output", HEED_KEY_BOOL, "false", "has output_mean and output_deviation (regress)"},              \
        {"image_size", HEED_KEY_INTS, "", "height, width of pictures; empty: vectors"}, {                              \
        "image_channels", HEED_KEY_INT, "1", "of pictures"                                                             \
    }

/* What the head of each has. */
#define VECTOR_HEAD .tasks = "regress classify", .inputs = "x y labels"

/* And what is to be said of them. */
#define VECTOR_NOTES                                                                                                   \
    "x is (B, input_size), or pictures (B, channels, height, width), which are flattened. With standardize_input, x "  \
    "enters as (x - input_mean) / input_deviation; with standardize_output, numbers leave as y * output_deviation + "  \
    "output_mean. These four are parameters too, frozen: not trained, and without gradients. The loss is in the "      \
    "units "                                                                                                           \
    "of y."

bool vectors_classify(heed_ctx *cx, heed_json config); /* by the key "task" */
/* Reads these keys and declares the frozen parameters. */
bool vectors_build(heed_ctx *cx, heed_json config, heed_params *params, struct vectors *v);
/* x from the inputs, f32, flattened to (…, inputs) where it is pictures, standardised. */
heed_tensor *vectors_input(heed_ctx *cx, const struct vectors *v, const heed_io *in);
/* Puts "logits" and, when there are labels or y, "loss": the mean squared error in the units of y, or the cross
 * entropy; while training, with standardised outputs, also "training_loss". */
bool vectors_output(heed_ctx *cx, const struct vectors *v, const heed_io *in, heed_tensor *raw, heed_io *out);
bool vectors_sample(heed_ctx *cx, const struct vectors *v, int64_t batch, heed_io *in);

extern const char *const forecaster_kinds[]; /* what the key "kind" of a forecaster may be; NULL at the end */

#endif
