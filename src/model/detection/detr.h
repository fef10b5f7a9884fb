/* What DETR (Carion et al. 2020) and its kin share: a residual network whose last map of features becomes the tokens of
 * an encoder, object queries that look at them in a decoder, and a class and a box for every query.
 *
 *     x = W_p resnet(pixels), a token for every cell;  p: positions of cells, sines of the places in the picture
 *     x = norm(x + attention(x + p, x + p, x));  x = norm(x + W_2 a(W_1 x))          in each layer of the encoder
 *     y: states of the queries, 0 at first, which the decoders of detr.c and conditional_detr.c work on
 *     class = W_c y;  box = sigmoid(mlp(y) + where the query looks first), centre and size from 0 to 1 */
#ifndef MODEL_DETECTION_DETR_H
#define MODEL_DETECTION_DETR_H

#include "model/detection/detection.h"
#include "model/vision/resnet.h"

#define DETR_TURN 6.283185307179586F /* positions in a picture go once around */

struct detr_backbone {
    struct resnet resnet;
    int map; /* the last that it gives: 0 the stem's, i that of stage i */
};
/* backbone_config, or what stands for it when that is null: a network of timm's. Names begin with prefix.model. */
bool detr_backbone_make(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, struct detr_backbone *b);
/* (B,C,H,W) -> (B,width,h,w) */
heed_tensor *detr_backbone_run(heed_ctx *cx, const struct detr_backbone *b, heed_tensor *pixels);
int64_t detr_backbone_width(const struct detr_backbone *b); /* channels of the map */
/* Pixels of a cell, and the cells of a picture's map, down and across. */
int64_t detr_backbone_stride(const struct detr_backbone *b);
void detr_backbone_grid(const struct detr_backbone *b, const int64_t size[2], int64_t grid[2]);

/* A layer of the encoder. */
struct detr_layer {
    heed_multihead attention;
    heed_norm_layer norm, final_norm;
    heed_feed_forward feed_forward;
};

struct detr {
    struct detr_backbone backbone;
    heed_conv_layer projection;
    heed_param *rows, *columns; /* learned positions; NULL: sines */
    int64_t width, encoder_heads, decoder_heads, encoder_hidden, decoder_hidden, queries;
    heed_activation act;
    float dropout, attention_dropout, hidden_dropout;
    bool norm_first; /* norms come before the sublayers, and after the encoder */
    bool auxiliary;  /* losses of every layer of the decoder; transformers' change what its layers read */
    int encoder_layers, decoder_layers;
    struct detr_layer *encoder; /* memory of the parameter set */
    heed_norm_layer encoder_norm, decoder_norm;
    heed_param *query_positions; /* (Q,C) */
    heed_linear_layer output, box[DETECTION_BOX_LAYERS];
    struct detection detection;
    float gain; /* of fresh weights */
};

/* What a family's file says of itself. */
struct detr_kind {
    const char *positions; /* where learned positions are: "position_embedding" */
    bool norm_first;
    bool sigmoid; /* classes are independent, and there is none for "no object" */
};
/* The body before the decoder's layers, under `base`, and what is behind them: the heads, of models that find objects.
 */
bool detr_make_body(heed_ctx *cx, const heed_build *b, struct detr *m);
bool detr_make_heads(heed_ctx *cx, const heed_build *b, struct detr *m);
/* Under which names the body is. */
const char *detr_base(const heed_build *b);

/* Pictures after the encoder. */
struct detr_scene {
    heed_tensor *memory;    /* (B,T,C) */
    heed_tensor *positions; /* (1,T,C), or (B,T,C) where pictures are padded */
    heed_mask mask;         /* hides padding */
};
bool detr_encode(heed_ctx *cx, const struct detr *m, const heed_io *in, struct detr_scene *to);
/* What a sublayer of the decoder reads, of x, and x with what it gave, y. */
heed_tensor *detr_before(heed_ctx *cx, const struct detr *m, const heed_norm_layer *norm, heed_tensor *x);
heed_tensor *detr_after(heed_ctx *cx, const struct detr *m, const heed_norm_layer *norm, heed_tensor *x,
                        heed_tensor *y);
/* q_proj, k_proj, v_proj and out_proj under prefix.name; of self attention the first three are one product. */
bool detr_make_attention(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, const struct detr *m,
                         int64_t heads, bool self, heed_multihead *layer);
/* The feed-forward sublayer; fc1 and fc2 under `prefix`. */
bool detr_make_feed_forward(heed_ctx *cx, heed_params *set, const char *prefix, const struct detr *m, int64_t hidden,
                            heed_feed_forward *layer);
heed_tensor *detr_feed_forward(heed_ctx *cx, const struct detr *m, const heed_norm_layer *norm,
                               const heed_feed_forward *layer, heed_tensor *x);
/* sin and cos of scale t / 10000^(2 i / width), side by side, for `width` / 2 speeds: (…) -> (…,width) */
heed_tensor *detr_sines(heed_ctx *cx, heed_tensor *t, float scale, int64_t width);

/* What the decoder starts with: N queries that are noised objects, in training with denoising, then the Q others. */
struct detr_queries {
    heed_tensor *content;   /* (B,N + Q,C) */
    heed_tensor *positions; /* (1 or B,N + Q,C) */
    heed_tensor *own;       /* (1,Q,C): those that are learned */
    heed_tensor *looks;     /* (B,N,2): centres of the noised boxes; NULL: there are none */
    heed_mask mask;         /* of the queries among themselves */
    int64_t noised;         /* N */
};
bool detr_queries(heed_ctx *cx, const struct detr *m, const heed_io *in, const struct detr_scene *scene,
                  struct detr_queries *to);
/* Where all of them look first, of where the learned ones do, (1,Q,2). */
heed_tensor *detr_looks(heed_ctx *cx, const struct detr_queries *q, heed_tensor *own);

/* Of states, logits and boxes (B,N + Q,…): those of noised objects, and the others. */
heed_tensor *detr_noised_part(heed_ctx *cx, const struct detr_queries *q, heed_tensor *x);
heed_tensor *detr_own_part(heed_ctx *cx, const struct detr_queries *q, heed_tensor *x);

/* States of the queries after the decoder's layers. */
struct detr_states {
    heed_tensor *last;      /* (B,N + Q,C) */
    heed_tensor **layers;   /* after each layer, through the decoder's norm; NULL where nobody asks */
    heed_tensor *reference; /* (1 or B,N + Q,4): what is added to boxes before the sigmoid; or NULL */
};
/* Room for `layers`, where there are auxiliary losses; and a layer's output to that of the decoder's norm, kept there.
 */
heed_tensor **detr_layer_states(heed_ctx *cx, const struct detr *m);
heed_tensor *detr_layer_state(heed_ctx *cx, const struct detr *m, heed_tensor **states, int layer, heed_tensor *y);
bool detr_put_states(heed_ctx *cx, const struct detr *m, const struct detr_states *y, heed_io *out);
bool detr_put_objects(heed_ctx *cx, const struct detr *m, const heed_io *in, const struct detr_queries *q,
                      const struct detr_states *y, heed_io *out);

/* ---- what the families' files share ---- */

bool detr_sample(heed_ctx *cx, const struct detr *m, int64_t batch, bool labels, heed_io *in);
bool detr_place(const struct detr *m, const int64_t size[2], const heed_capture_map *map, struct picture_place *to);

/* sample and place of a family whose struct begins with the body. */
#define DETR_CALLS(type)                                                                                               \
    static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {               \
        (void)length;                                                                                                  \
        return detr_sample(cx, &((const type *)own)->body, batch, false, in);                                          \
    }                                                                                                                  \
    static bool sample_detect(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {             \
        (void)length;                                                                                                  \
        return detr_sample(cx, &((const type *)own)->body, batch, true, in);                                           \
    }                                                                                                                  \
    static bool place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) { \
        return detr_place(&((const type *)own)->body, size, map, to);                                                  \
    }
#define DETR_PICTURES "pixel_values pixel_mask"
#define DETR_OBJECTS  DETR_PICTURES " " DETECTION_INPUTS " " DENOISING_INPUTS
#define DETR_KEYS(queries_, class_cost_)                                                                               \
    DETECTION_KEYS(class_cost_),                                                                                       \
        {"num_channels", HEED_KEY_INT, "3", "of pictures, where backbone_config does not say"},                        \
        {"backbone", HEED_KEY_TEXT_OR_NULL, "null", "without backbone_config: a network of timm's; null: resnet50"},   \
        {"use_timm_backbone", HEED_KEY_BOOL, "true", "without backbone_config: timm's network, not transformers'"},    \
        {"dilation", HEED_KEY_BOOL, "false", "of timm's network: the last stage is dilated and halves no sides"},      \
        {"num_queries", HEED_KEY_INT, queries_, "object queries: the most objects that are found in a picture"},       \
        {"d_model", HEED_KEY_INT, "256", "width"}, {"encoder_layers", HEED_KEY_INT, "6", "layers of the encoder"},     \
        {"encoder_attention_heads", HEED_KEY_INT, "8", "attention heads of the encoder"},                              \
        {"encoder_ffn_dim", HEED_KEY_INT, "2048", "width of the encoder's feed-forward layers"},                       \
        {"decoder_layers", HEED_KEY_INT, "6", "layers of the decoder"},                                                \
        {"decoder_attention_heads", HEED_KEY_INT, "8", "attention heads of the decoder"},                              \
        {"decoder_ffn_dim", HEED_KEY_INT, "2048", "width of the decoder's feed-forward layers"},                       \
        {"encoder_layerdrop", HEED_KEY_NUMBER, "0.0", "for transformers; heed drops no layers"},                       \
        {"decoder_layerdrop", HEED_KEY_NUMBER, "0.0", "for transformers; heed drops no layers"},                       \
        {"activation_function", HEED_KEY_TEXT, "relu", "activation, by transformers' name"},                           \
        {"dropout", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the sublayers' outputs"},                    \
        {"attention_dropout", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},                                 \
        {"activation_dropout", HEED_KEY_NUMBER, "0.0", "dropout within feed-forward layers"},                          \
        {"position_embedding_type", HEED_KEY_TEXT, "sine", "sine, or learned for maps of up to 50 x 50 cells"},        \
        {"init_std", HEED_KEY_NUMBER, "0.02", "for transformers; heed draws fresh weights as the paper does"},         \
        {"init_xavier_std", HEED_KEY_NUMBER, "1.0", "gain of fresh weights of the encoder and the decoder"},           \
        {"mask_loss_coefficient", HEED_KEY_INT, "1", "for transformers"},                                              \
        {"dice_loss_coefficient", HEED_KEY_INT, "1", "for transformers"}, {                                            \
        "is_encoder_decoder", HEED_KEY_BOOL, "true", "for transformers"                                                \
    }
#define DETR_NOTES                                                                                                     \
    "backbone_config of config.json says what network is below: its keys are set as backbone_config.KEY, those of "    \
    "the family resnet, which makes it a ResNet of transformers'; without it there is a network of timm's. Batch "     \
    "norms of the network are frozen, as is all of a ResNet of transformers'. Segmentation heads are not read."
/* backbone_config is the config of another family. */
extern const char *const detr_inner[];
/* Parts of names that modules of transformers 5 have otherwise than its files, in pairs. */
#define DETR_RENAMED "backbone.conv_encoder.", "backbone.", "out_proj", "o_proj", ".fc1", ".mlp.fc1", ".fc2", ".mlp.fc2"

#endif
