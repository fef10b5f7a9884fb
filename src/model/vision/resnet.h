/* Residual networks (He et al. 2016) of any layout: what they compute, by themselves and as the backbone of other
 * models. A family's file reads a config into a plan; resnet_make declares the parameters under its names.
 *
 *     x = pool(relu(norm(conv7(pixels))))                                      the stem, a quarter of the size
 *     basic:       x = relu(x' + norm(conv3(relu(norm(conv3(x))))))
 *     bottleneck:  x = relu(x' + norm(conv1(relu(norm(conv3(relu(norm(conv1(x))))))))
 *
 * x' is x, or norm(conv1(x)) where the size or the number of channels changes: in the first layer of a stage. Maps of
 * features are (B,C,h,w). */
#ifndef MODEL_VISION_RESNET_H
#define MODEL_VISION_RESNET_H

#include "model/core/inputs.h"
#include "model/vision/patches.h"

enum { RESNET_STAGES = 8, RESNET_CONVS = 3 };

struct resnet_unit {
    heed_conv_layer conv;
    heed_batch_norm_layer norm;
};
struct resnet_layer {
    struct resnet_unit unit[RESNET_CONVS]; /* two of basic ones */
    struct resnet_unit shortcut;           /* conv.weight NULL: x itself */
};
struct resnet_stage {
    int layers;
    struct resnet_layer *layer; /* memory of the parameter set */
    int64_t width;              /* channels that come out */
};
struct resnet {
    int64_t channels; /* of pictures */
    struct resnet_unit stem;
    bool pools; /* the stem ends in max pooling */
    bool bottleneck;
    heed_activation act;
    int stages;
    struct resnet_stage stage[RESNET_STAGES];
    heed_linear_layer output; /* weight NULL: features */
    enum problem problem;
};

/* Names of parameters: those of transformers ("encoder.stages.0.layers.0.layer.0.convolution"), or timm's
 * ("layer1.0.conv1", "bn1", "downsample.0"). */
enum resnet_layout { RESNET_TRANSFORMERS, RESNET_TIMM };
struct resnet_plan {
    enum resnet_layout layout;
    int64_t channels, stem_width;
    int stages;
    int64_t widths[RESNET_STAGES], depths[RESNET_STAGES];
    bool bottleneck, pools;
    bool shrinks_first; /* the first stage halves the size too (downsample_in_first_stage) */
    bool strides_first; /* the first convolution of a bottleneck has the stride, not the second */
    int dilated;        /* so many of the last stages are dilated instead of halving the size (DC5: 1) */
    heed_activation act;
    /* Statistics and affine parameters of batch norms stay as they are, and files have no num_batches_tracked. */
    bool frozen;
};
/* What a config of model_type "resnet" says; "resnet50" and its kin by timm's names. */
bool resnet_plan_read(heed_ctx *cx, heed_json config, struct resnet_plan *plan);
bool resnet_plan_named(heed_ctx *cx, const char *name, struct resnet_plan *plan);
bool resnet_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct resnet_plan *plan, struct resnet *m);
/* (B,channels,H,W) -> the last map; map[0], that of the stem, and map[i], that of stage i: NULL where they are not
 * asked for. */
heed_tensor *resnet_run(heed_ctx *cx, const struct resnet *m, heed_tensor *pixels, heed_tensor **map);

#endif
