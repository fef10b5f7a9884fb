/* What encoder-decoders of tokens share: embeddings, two stacks and the way through them. */
#ifndef MODEL_SEQ2SEQ_H
#define MODEL_SEQ2SEQ_H

#include "heed/model.h"

struct seq2seq {
    int64_t source_size, target_size; /* tokens */
    int64_t width, longest;
    int32_t pad, eos, start;
    float scale, dropout; /* of embeddings */
    float smoothing;      /* of labels, while training */
    heed_embedding_layer source, target;
    heed_param *logits_bias; /* (1,V) or NULL */
    heed_encoder encoder;
    heed_decoder decoder;
};

bool seq2seq_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool seq2seq_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);

/* ids (B,T) i32, standing at positions start, start + 1, … -> (B,T,C) */
heed_tensor *seq2seq_embed(heed_ctx *cx, const struct seq2seq *m, const heed_embedding_layer *table, heed_tensor *ids,
                           int64_t start);
heed_tensor *seq2seq_logits(heed_ctx *cx, const struct seq2seq *m, heed_tensor *hidden); /* (…,C) -> (…,V) */

#endif
