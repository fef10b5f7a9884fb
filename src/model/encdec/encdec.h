/* Encoder-decoders of recurrent networks, the translators before the Transformer: what they share. A family has its own
 * struct, which begins with struct encdec, and says how a source is encoded and how targets are decoded; forward and
 * the searches are made of that.
 *
 * Letters: B sources of S tokens; R rows of T tokens of the target, R / B for each source; E numbers of an embedding,
 * H units. Tokens come first in a source and padding behind them. */
#ifndef MODEL_ENCDEC_ENCDEC_H
#define MODEL_ENCDEC_ENCDEC_H

#include "model/encdec/seq2seq.h"

/* What the decoder knows of the sources. */
struct encdec_source {
    heed_tensor *lengths; /* i32 (B) of encode; NULL: all are of S tokens */
    heed_tensor *order;   /* (B S): puts what a reversed source became in its own order; NULL: it is */
    heed_tensor *sizes;   /* f32 (B,1,1): the lengths */
    heed_tensor *hidden;  /* (B,1,S): 0, or -inf at padding; NULL: there is none */
    /* of the family: */
    heed_rnn_state first; /* of the decoder */
    heed_tensor *memory;  /* (B,S,memory_width), or (B,1,memory_width) where it is one context; NULL: none */
    heed_tensor *keys;    /* (B,S,keys_width): the memory as the scores want it; NULL: as it is */
};

/* Where the decoder is. */
struct encdec_steps {
    heed_rnn_state state;
    heed_tensor *fed;    /* (1,R,fed_width): what the last step gives the next, beside the states; NULL: nothing */
    heed_tensor *place;  /* (1,R,1): the number of the next step; NULL: nobody asks */
    heed_tensor *counts; /* i32 (R): of the new tokens, those that are real; NULL: all */
};

struct encdec;
struct encdec_kind {
    bool one_context; /* memory is one vector */
    /* x (B,S,E), embeddings of the source in the order in which it is read: fills first, memory and keys. */
    bool (*encode)(heed_ctx *cx, const struct encdec *m, heed_tensor *x, struct encdec_source *source);
    /* y (R,T,E), embeddings of the tokens before those that are predicted -> (R,T,·), what the output layer reads. */
    heed_tensor *(*decode)(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source, heed_tensor *y,
                           struct encdec_steps *steps);
};

struct encdec {
    struct seq2seq base; /* first: vocabularies, tables of embeddings, the output layer */
    const struct encdec_kind *kind;
    bool reverse, counts_steps; /* counts_steps: the decoder must know the number of a step */
    int64_t embedding, units;
    int layers;
    int64_t memory_width, keys_width, fed_width; /* of what is kept for decoding; 0: nothing */
    heed_rnn encoder, decoder;
};

/* ---- keys ---- */

#define ENCDEC_KEYS(embedding, hidden)                                                                                 \
    {"vocab_size", HEED_KEY_INT, NULL, "number of source tokens, or of both languages"},                               \
        {"decoder_vocab_size", HEED_KEY_INT, "0", "number of target tokens; 0: vocab_size"},                           \
        {"embedding_size", HEED_KEY_INT, embedding, "width of embeddings"},                                            \
        {"hidden_size", HEED_KEY_INT, hidden, "units of a layer"},                                                     \
        {"dropout", HEED_KEY_NUMBER, "0.2", "dropout of embeddings, between layers and of the output layer's input"},  \
        {"label_smoothing", HEED_KEY_NUMBER, "0", "label smoothing in training, such as 0.1"},                         \
        {"initializer_range", HEED_KEY_NUMBER, "0.1", "fresh embeddings lie between this and its negative"},           \
        {"reverse_source", HEED_KEY_BOOL, "false", "read the source backwards (Sutskever et al. 2014)"},               \
        {"max_position_embeddings", HEED_KEY_INT, "1024", "maximum sequence length"},                                  \
        {"pad_token_id", HEED_KEY_INT, "0", "padding token"},                                                          \
        {"bos_token_id", HEED_KEY_INT_OR_NULL, "null",                                                                 \
         "start token of decoding where decoder_start_token_id is null"},                                              \
        {"eos_token_id", HEED_KEY_INT, "2", "end-of-sentence token"},                                                  \
        {"decoder_start_token_id", HEED_KEY_INT_OR_NULL, "0", "start token of the target"},                            \
        {"forced_bos_token_id", HEED_KEY_INT_OR_NULL, "null", "token forced first in decoding"}, {                     \
        "forced_eos_token_id", HEED_KEY_INT_OR_NULL, "null", "token forced last where decoding reaches max_length"     \
    }
#define ENCDEC_LAYERS_KEY                                                                                              \
    { "num_layers", HEED_KEY_INT, "2", "number of layers of the encoder, and of the decoder" }
#define ENCDEC_END                                                                                                     \
    { NULL, HEED_KEY_INT, NULL, NULL }

/* ---- building ---- */

/* Reads the keys, and makes encoder.embedding and decoder.embedding; layers: 0: by num_layers. */
bool encdec_begin(heed_ctx *cx, heed_json config, heed_params *set, const struct encdec_kind *kind, int layers,
                  struct encdec *m);
/* encoder.rnn and decoder.rnn; inputs: of the decoder. */
bool encdec_networks(heed_ctx *cx, heed_params *set, heed_cell_kind cell, bool bidirectional, int64_t inputs,
                     struct encdec *m);
/* The output layer, of so many numbers. */
bool encdec_output(heed_ctx *cx, heed_params *set, int64_t inputs, struct encdec *m);

/* ---- parts of the papers ---- */

/* The output of Cho et al. and Bahdanau et al.: what is read is the state, the last token and the context,
 *     t = max of pairs of W [s; y; c] + b    (maxout, Goodfellow et al. 2013), or [s; y; c] itself without `layer` */
struct encdec_readout {
    heed_linear_layer layer;
};
#define ENCDEC_MAXOUT_KEY                                                                                              \
    { "maxout_size", HEED_KEY_INT, "256", "units of the maxout layer before the output; 0: there is none" }
bool encdec_readout(heed_ctx *cx, heed_json config, heed_params *set, struct encdec *m, struct encdec_readout *r);
heed_tensor *encdec_read(heed_ctx *cx, const struct encdec_readout *r, heed_tensor *state, heed_tensor *y,
                         heed_tensor *context);

/* Additive alignment (Bahdanau et al. 2015, section A.1.2):  e_ij = v' tanh(W s_i + U h_j) */
struct encdec_alignment {
    heed_linear_layer query, key, energy; /* W, U, v */
};
bool encdec_alignment(heed_ctx *cx, heed_params *set, int64_t query, int64_t key, int64_t units,
                      struct encdec_alignment *a);
/* q (R,T,·) and the projected keys -> (B,Q,S), Q: all queries of a source */
heed_tensor *encdec_additive(heed_ctx *cx, const struct encdec_alignment *a, const struct encdec_source *source,
                             heed_tensor *q);

/* q (R,T,C) -> (B,Q,C), and (B,Q,C) as q was */
heed_tensor *encdec_by_source(heed_ctx *cx, const struct encdec_source *source, heed_tensor *q);
heed_tensor *encdec_by_row(heed_ctx *cx, heed_tensor *x, int64_t rows);
/* scores (B,Q,S) -> weights, hidden ones 0 */
heed_tensor *encdec_weights(heed_ctx *cx, const struct encdec_source *source, heed_tensor *scores);
/* The contexts (R,T,·) that weights (B,Q,S) make of the memory; captured as rows `row`, … of attention "cross". */
heed_tensor *encdec_context(heed_ctx *cx, const struct encdec_source *source, heed_tensor *weights, int64_t row,
                            int64_t rows);

/* Of a reversed source, in its own order. */
heed_tensor *encdec_in_order(heed_ctx *cx, const struct encdec_source *source, heed_tensor *h);
/* Where the decoder starts, rows of them. */
struct encdec_steps encdec_first(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source,
                                 int64_t rows);
/* Of step t alone: which rows go on, i32 (R) of 0 and 1; NULL: all. */
heed_tensor *encdec_goes_on(heed_ctx *cx, const struct encdec_steps *steps, int64_t t);

/* ---- running ---- */

/* ids (B,S), tokens first; lengths i32 (B) or NULL */
bool encdec_encode(heed_ctx *cx, const struct encdec *m, heed_tensor *ids, heed_tensor *lengths,
                   struct encdec_source *source);
/* target (R,T) -> (R,T,·), what the output layer reads; the steps go on. */
heed_tensor *encdec_decode(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source,
                           heed_tensor *target, struct encdec_steps *steps);

bool encdec_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
extern const struct heed_stepper encdec_stepper;

#define ENCDEC_RUN .forward = encdec_forward, .sample = seq2seq_sample, .stepper = &encdec_stepper
#define ENCDEC_HEAD(class, build_)                                                                                     \
    {class, "translate", "input_ids attention_mask decoder_input_ids labels teacher_forcing", .build = build_,         \
     ENCDEC_RUN},                                                                                                      \
    {                                                                                                                  \
        .architecture = NULL                                                                                           \
    }
#define ENCDEC_NOTES(own)                                                                                              \
    "Parameters have the names of torch.nn's modules: encoder.embedding.weight, encoder.rnn.weight_ih_l0 and so on, "  \
    "decoder.embedding.weight, decoder.rnn.weight_ih_l0, " own                                                         \
    "output.weight, output.bias. Without decoder_input_ids, the labels shifted right are taken; those of -100 do not " \
    "count. Where teacher_forcing (B,T) is 0, the decoder reads the token that it predicted itself."

#endif
