/* Residual networks (He et al. 2016) of any layout: what they compute, by themselves and as the backbone of other
 * models. A family's file reads a config into a plan; resnet_make declares the parameters under its names.
 *
 *     x = pool(a(norm(conv7(pixels))))                                         the stem, a quarter of the size
 *     basic:       x = a(x' + norm(conv3(i(norm(conv3(x))))))
 *     bottleneck:  x = a(x' + norm(conv1(i(norm(conv3(i(norm(conv1(x))))))))
 *
 * x' is x, or norm(conv1(x)) where the size or the number of channels changes: in the first layer of a stage. a and i
 * are activations. Maps of features are (B,C,h,w).
 *
 * Of timm's kin: stems of three convolutions 3 x 3 and shortcuts that average before they project (He et al. 2019),
 * groups and other widths within a bottleneck (ResNeXt, Xie et al. 2017; Zagoruyko & Komodakis 2016), stochastic depth.
 */
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
    int64_t averages;                      /* the shortcut's mean over 2 x 2 places has this stride; 0: there is none */
    float drop_path;
};
struct resnet_stage {
    int layers;
    struct resnet_layer *layer; /* memory of the parameter set */
    int64_t width;              /* channels that come out */
};
struct resnet {
    int64_t channels, image[2];            /* of pictures; image: the usual size, others are taken too */
    struct resnet_unit stem[RESNET_CONVS]; /* one, or three */
    int stem_convs;
    struct resnet_unit stem_pool; /* instead of max pooling; conv.weight NULL: none */
    bool pools;                   /* the stem ends in pooling */
    bool stem_before_pool;        /* map 0 is the stem's before that */
    bool bottleneck;
    heed_activation act, inner;
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
    int64_t channels, stem_width; /* stem_width: what comes out of the stem */
    int64_t stem_widths[2];       /* what comes out of a deep stem's first two; 0: one convolution of 7 x 7 */
    bool stem_pool_learns;        /* a convolution instead of max pooling */
    int stages;
    int64_t widths[RESNET_STAGES], depths[RESNET_STAGES];
    int64_t inner_widths[RESNET_STAGES], first_widths[RESNET_STAGES]; /* of bottlenecks' 3 x 3, and of a layer's first
                                                                       * convolution */
    int64_t groups;                                                   /* of bottlenecks' 3 x 3 */
    bool bottleneck, pools;
    bool shrinks_first;      /* the first stage halves the size too (downsample_in_first_stage) */
    bool strides_first;      /* the first convolution of a bottleneck has the stride, not the second */
    int dilated;             /* so many of the last stages are dilated instead of halving the size (DC5: 1) */
    int64_t shortcut_kernel; /* of shortcuts that halve the size or are dilated */
    bool averages;           /* shortcuts average instead of leaving places out */
    bool last_norm_zeros;    /* fresh layers are the identity: the weight of each one's last norm begins as 0 */
    float drop_path;         /* stochastic depth of the last layer; those before drop less */
    heed_activation act, inner;
    /* Statistics and affine parameters of batch norms stay as they are, and files have no num_batches_tracked. */
    bool frozen;
};
/* What a config of model_type "resnet" says; "resnet50" and its kin by timm's names. */
bool resnet_plan_read(heed_ctx *cx, heed_json config, struct resnet_plan *plan);
bool resnet_plan_named(heed_ctx *cx, const char *name, struct resnet_plan *plan);
bool resnet_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct resnet_plan *plan, struct resnet *m);
/* (B,channels,H,W) -> the last map. map: room for one more than there are stages, or NULL: map[0] becomes that of the
 * stem, map[i] that of stage i. */
heed_tensor *resnet_run(heed_ctx *cx, const struct resnet *m, heed_tensor *pixels, heed_tensor **map);
/* The same with something behind each layer, which is given its number, counted through all stages, and what comes out
 * of it. */
struct resnet_behind {
    heed_tensor *(*run)(heed_ctx *cx, const void *own, int layer, heed_tensor *x);
    const void *own;
};
heed_tensor *resnet_run_with(heed_ctx *cx, const struct resnet *m, heed_tensor *pixels, heed_tensor **map,
                             const struct resnet_behind *behind);
/* Pictures of the usual size, zeros, for plans. */
bool resnet_sample(heed_ctx *cx, const struct resnet *m, int64_t batch, heed_io *in);
/* pixel_values as they must be. */
heed_tensor *resnet_pixels(heed_ctx *cx, const struct resnet *m, const heed_io *in);

#endif
