/* What encoder-decoders share: embeddings, two stacks and forward. */
#ifndef MODEL_SEQ2SEQ_H
#define MODEL_SEQ2SEQ_H

#include "model/stepper.h"

#define SEQ2SEQ_FIRST_POSITION 2 /* of learned positions: the rows before are left over from fairseq, and not used */

struct seq2seq_entry { /* the embedding of a stack */
    heed_embedding_layer tokens;
    heed_param *positions; /* (2 + longest, C); NULL: sine positions */
    heed_norm_layer norm;  /* weight NULL: none */
};

struct seq2seq {
    int64_t source_size, target_size; /* tokens */
    int64_t width, longest;
    int32_t pad, start;   /* start -1: none */
    bool wraps;           /* labels are shifted right with their last token first, not the start token */
    float scale, dropout; /* of embeddings */
    float smoothing;      /* of labels, while training */
    struct seq2seq_entry source, target;
    heed_param *output;      /* (V,C) */
    heed_param *logits_bias; /* (1,V) or NULL */
    heed_encoder encoder;
    heed_decoder decoder;
};

bool seq2seq_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool seq2seq_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);

extern const struct heed_stepper seq2seq_stepper;

#endif
