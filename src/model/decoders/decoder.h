/* Decoders alone: what LLaMA's kin and GPT-NeoX share, a body of embeddings, a stack and rotary positions, its heads
 * and how it decodes. A family declares the parameters of the body, and says how the output layer is called.
 *
 *     h = s word(ids);  h = stack(h), causal, rotary;                       s: 1, or sqrt(C) for Gemma
 *
 *     bare      input_ids, attention_mask, position_ids (B,T) -> last_hidden_state (B,T,C)
 *     lm        labels (B,T)             logits (B,T,V) = cap(h E'), loss of the next token      E: word where tied
 *     classify  labels (B), or (B,L)     logits (B,L) of the last token that is not padding */
#ifndef MODEL_DECODERS_DECODER_H
#define MODEL_DECODERS_DECODER_H

#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/core/stepper.h"
#include "model/parts/parts.h"
#include "model/parts/rope.h"

struct decoder {
    heed_embedding_layer word;
    heed_encoder stack;
    struct rope rope;
    float scale, dropout; /* of embeddings; scale 0: 1 */
    int64_t width;
    heed_init init;
    int32_t padding; /* token, -1 or NO_TOKEN_PADS */
    /* heads */
    heed_param *output; /* (V,C) */
    float cap;          /* of logits: cap tanh(x / cap); 0: none */
    heed_linear_layer score;
    enum problem problem;
};

/* A family's kind. */
struct decoder_kind {
    const char *output, *alias; /* the output layer, and what else files call it, or NULL */
    /* Reads the config and declares the body's parameters under `base`. */
    bool (*make)(heed_ctx *cx, const heed_build *b, const char *base, struct decoder *m);
};

bool decoder_build_bare(heed_ctx *cx, const heed_build *b, void *own);
bool decoder_build_lm(heed_ctx *cx, const heed_build *b, void *own);
bool decoder_build_classify(heed_ctx *cx, const heed_build *b, void *own);
bool decoder_run_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool decoder_run_lm(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool decoder_run_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool decoder_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool decoder_sample_lm(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool decoder_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
extern const struct heed_stepper decoder_stepper;

/* The heads of NameForCausalLM, NameForSequenceClassification and NameModel; lm_keys: of the first alone. */
#define DECODER_INPUTS    "input_ids attention_mask position_ids segment_ids"
#define DECODER_RUN(name) .build = decoder_build_##name, .forward = decoder_run_##name, .sample = decoder_sample_##name
#define DECODER_LM        DECODER_RUN(lm), .stepper = &decoder_stepper
#define DECODER_HEADS(Name, lm_keys)                                                                                   \
    {Name "ForCausalLM", "lm", DECODER_INPUTS " labels shift_labels", .keys = lm_keys, DECODER_LM},                    \
        {Name "ForSequenceClassification", "classify regress", DECODER_INPUTS " labels", .keys = label_keys,           \
         DECODER_RUN(classify)},                                                                                       \
        {Name "Model", "embed", DECODER_INPUTS, .bare = true, DECODER_RUN(bare)}, {                                    \
        .architecture = NULL                                                                                           \
    }

#endif
