/* Encoders and decoders of tokens in which something cheaper stands where attention stood: one body and its heads, for
 * which a family is the function that mixes the tokens, its parameters and its keys.
 *
 *     x = word(ids) + position
 *     x = x + mix(norm(x));  x = x + W_2 a(W_1 norm(x))          in each layer
 *     h = norm(x)
 *
 * Heads are those of encoders (encoder.h): bare, masked, classify, tag and answer; a kind that can be causal has lm
 * too: lm    labels (B,T)    logits (B,T,V) = h E', loss: of the next token        E: word
 *
 * Names: word_embeddings, position_embeddings, layers.N.norm1, layers.N.norm2, layers.N.linear1, layers.N.linear2,
 * norm, and in each layer what the kind adds. Padding tokens change nothing at other tokens: that is the kind's duty.
 */
#ifndef MODEL_EFFICIENT_MIXING_H
#define MODEL_EFFICIENT_MIXING_H

#include "model/core/stepper.h"
#include "model/encoders/encoder.h"

struct mixing;

/* What a layer is given beside x. */
struct mixing_call {
    heed_tensor *mask;    /* f32 (B,T), 0 for padding; NULL: there is none */
    heed_mask padding;    /* the same as attention takes it */
    int number;           /* of the layer */
    heed_tensor *carried; /* of kinds that carry: what the layer before left here, and this one leaves; NULL at first */
    void *state;          /* of a stepper of the kind's own, which calls mixing_layers; else NULL */
    const int32_t *counts; /* and its counts */
};

struct mixing_kind {
    struct encoder_kind encoder; /* MIXING_ENCODER */
    size_t size, shared_size;    /* of what a layer owns, and what all layers share; 0: nothing */
    /* Declares what all layers share, under the body's base, before them; or NULL. */
    bool (*share)(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct mixing *m);
    /* Declares what layer `number` owns, under its prefix. */
    bool (*build)(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                  int number, void *own);
    heed_tensor *(*run)(heed_ctx *cx, const struct mixing *m, const void *own, heed_tensor *x,
                        struct mixing_call *call); /* (B,T,C) -> (B,T,C) */
    bool causal;                                   /* has the key `causal` */
    bool carries;
};

struct mixing_layer {
    heed_norm_layer norm1, norm2;
    heed_feed_forward feed_forward;
    void *own;
};

struct mixing {
    struct encoder encoder; /* the first, since heads know it alone */
    struct mixing_layer *layer;
    void *shared;
    bool causal; /* no token sees those after it */
};

#define MIXING_ENCODER                                                                                                 \
    { .layout = &mixing_layout, .make = mixing_make, .run = mixing_run }
extern const struct encoder_layout mixing_layout;
bool mixing_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled,
                 struct encoder *encoder);
heed_tensor *mixing_run(heed_ctx *cx, const struct encoder *encoder, const heed_io *in);

/* The parts of mixing_run, for steppers: ids (R,T) at `positions` (R,T), or, where that is NULL, from `start` on ->
 * (R,T,C), and all layers with the last norm. */
heed_tensor *mixing_embed(heed_ctx *cx, const struct mixing *m, heed_tensor *ids, heed_tensor *positions,
                          int64_t start);
heed_tensor *mixing_layers(heed_ctx *cx, const struct mixing *m, heed_tensor *x, const struct mixing_call *call);

/* ---- heads ---- */

bool mixing_build_classify(heed_ctx *cx, const heed_build *b, void *own);
bool mixing_build_lm(heed_ctx *cx, const heed_build *b, void *own);
bool mixing_forward_lm(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
/* What a stepper of the lm head has of its sizes, and its logits (R,V) of h (R,C). */
struct stepper_sizes mixing_sizes(const void *own);
heed_tensor *mixing_logits(heed_ctx *cx, const struct mixing *m, heed_tensor *h);
/* Computes all tokens of a row anew in every step (prefix.h): right for any kind, and no cheaper than that. */
extern const struct heed_stepper mixing_stepper;

#define MIXING_CLASSIFY .build = mixing_build_classify, ENCODER_RUN(classify)

/* The records of heads; keys_ is `mixing`, or `causal` for kinds that have MIXING_LM too. */
#define MIXING_HEADS(Name, keys_)                                                                                      \
    {Name "ForMaskedLM", "mlm", PLAIN_INPUTS " labels", .keys = keys_##_masked_keys, ENCODER(masked)},                 \
        {Name "ForSequenceClassification", "classify regress", PLAIN_INPUTS " labels", .keys = keys_##_classify_keys,  \
         MIXING_CLASSIFY},                                                                                             \
        {Name "ForTokenClassification", "tag", PLAIN_INPUTS " labels", .keys = keys_##_tag_keys, ENCODER(tag)},        \
        {Name "ForQuestionAnswering", "qa", PLAIN_INPUTS " start_positions end_positions",                             \
         .keys = keys_##_answer_keys, ENCODER(answer)},                                                                \
    {                                                                                                                  \
        Name "Model", "embed", PLAIN_INPUTS, .bare = true, .keys = keys_##_bare_keys, ENCODER(bare)                    \
    }
#define MIXING_LM(Name, stepper_)                                                                                      \
    {                                                                                                                  \
        Name "ForCausalLM", "lm", PLAIN_INPUTS " labels shift_labels",                                                 \
            .keys = causal_lm_keys, .build = mixing_build_lm, .forward = mixing_forward_lm,                            \
            .sample = encoder_sample_masked, .stepper = stepper_                                                       \
    }
extern const heed_key mixing_masked_keys[], mixing_classify_keys[], mixing_tag_keys[], mixing_answer_keys[],
    mixing_bare_keys[];
extern const heed_key causal_masked_keys[], causal_classify_keys[], causal_tag_keys[], causal_answer_keys[],
    causal_bare_keys[], causal_lm_keys[];

/* Keys of the body; of attention with heads; and of kinds that have MIXING_LM. */
#define MIXING_KEYS                                                                                                    \
    {"vocab_size", HEED_KEY_INT, "30522", "number of tokens"}, {"hidden_size", HEED_KEY_INT, "256", "width"},          \
        {"num_hidden_layers", HEED_KEY_INT, "4", "number of layers"},                                                  \
        {"intermediate_size", HEED_KEY_INT, "1024", "width of the feed-forward layer"},                                \
        {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},                                    \
        {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the sublayers' outputs"},        \
        {"max_position_embeddings", HEED_KEY_INT, "512", "number of positions"},                                       \
        {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},                         \
        {"layer_norm_eps", HEED_KEY_NUMBER, "1e-05", "epsilon of layer norms"}, {                                      \
        "pad_token_id", HEED_KEY_INT_OR_NULL, "null", "padding token"                                                  \
    }
#define MIXING_HEAD_KEYS                                                                                               \
    {"num_attention_heads", HEED_KEY_INT, "4", "number of attention heads, which divides the width"}, {                \
        "attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of attention weights"                         \
    }
#define MIXING_TEXT_KEYS                                                                                               \
    {"bos_token_id", HEED_KEY_INT_OR_NULL, "null", "token that text begins with"}, {                                   \
        "eos_token_id", HEED_KEY_INT_OR_NULL, "null", "token that text ends with"                                      \
    }

#define MIXING_NOTES                                                                                                   \
    "Parameters of the body begin with model. under a head: word_embeddings, position_embeddings, layers.N.norm1, "    \
    "layers.N.norm2, layers.N.linear1, layers.N.linear2 and norm. Labels of -100 do not count. "

#endif
