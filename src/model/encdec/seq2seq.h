/* What encoder-decoders share: embeddings, two stacks and forward. */
#ifndef MODEL_ENCDEC_SEQ2SEQ_H
#define MODEL_ENCDEC_SEQ2SEQ_H

#include "model/core/stepper.h"

#define SEQ2SEQ_FIRST_POSITION 2 /* of learned positions: the rows before are left over from fairseq, and not used */

struct seq2seq_entry { /* the embedding of a stack */
    heed_embedding_layer tokens;
    heed_param *positions; /* (2 + longest, C); NULL: sine positions, or: */
    heed_param *distance;  /* (buckets, H): T5's bias of scores by distance, instead of positions */
    heed_norm_layer norm;  /* weight NULL: none */
};

struct seq2seq {
    int64_t source_size, target_size; /* tokens */
    int64_t width, max_length;
    int32_t pad, start;   /* start -1: none */
    bool wraps;           /* labels are shifted right with their last token first, not the start token */
    float scale, dropout; /* of embeddings */
    float smoothing;      /* of labels, while training */
    float last_dropout;   /* of what the stacks give */
    float output_scale;   /* of what the output layer reads; 0: 1 */
    int64_t max_distance; /* of biases by distance: those beyond have one bucket */
    struct seq2seq_entry source, target;
    heed_param *output;      /* (V,C) */
    heed_param *logits_bias; /* (1,V) or NULL */
    heed_encoder encoder;
    heed_decoder decoder;
};

/* input_ids and attention_mask through the encoder: (B,S,C) */
heed_tensor *seq2seq_encode(heed_ctx *cx, const struct seq2seq *m, const heed_io *in);
/* target (B,T) and decoder_attention_mask through the decoder, which sees memory: (B,T,C) */
heed_tensor *seq2seq_decode(heed_ctx *cx, const struct seq2seq *m, const heed_io *in, heed_tensor *target,
                            heed_tensor *memory);
/* The labels one place on; what does not count becomes padding. */
heed_tensor *seq2seq_shifted(heed_ctx *cx, const struct seq2seq *m, heed_tensor *labels);

/* decoder_input_ids (B,T), or the labels one place on */
heed_tensor *seq2seq_target(heed_ctx *cx, const struct seq2seq *m, const heed_io *in);
/* (…,C) -> (…,V) */
heed_tensor *seq2seq_logits(heed_ctx *cx, const struct seq2seq *m, heed_tensor *hidden);
/* Puts the logits of hidden (B,T,C) and, with labels, the loss. */
bool seq2seq_output(heed_ctx *cx, const struct seq2seq *m, const heed_io *in, const heed_tensor *target,
                    heed_tensor *hidden, heed_io *out);

bool seq2seq_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool seq2seq_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);

/* ---- decoding ---- */

struct stepper_sizes seq2seq_sizes(const void *own);
int64_t seq2seq_longest(const struct stepper_begin *b); /* tokens of a source */
/* The sources, padded: ids (n,longest), lengths (n). */
bool seq2seq_sources(heed_ctx *cx, const struct seq2seq *m, const struct stepper_begin *b, heed_tensor **ids,
                     heed_tensor **lengths);

extern const struct heed_stepper seq2seq_stepper;
#define SEQ2SEQ_RUN .forward = seq2seq_forward, .sample = seq2seq_sample, .stepper = &seq2seq_stepper /* of a head */

#endif
