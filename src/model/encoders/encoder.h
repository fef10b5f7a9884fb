/* Encoders of BERT's kind: one body and one set of heads, for which each family is a record of names and constants.
 *
 *     h = norm(word(ids) + segment(types) + position);  h = W_e h + b_e        W_e where embeddings are narrower
 *     h = norm(h + attention(h, h, h));  h = norm(h + W_2 a(W_1 h))            in each layer
 *     pooled = tanh(W_p h_0 + b_p)                                             h_0: the first token's
 *
 *     input_ids, attention_mask, token_type_ids, position_ids (B,T) -> last_hidden_state (B,T,C), pooler_output (B,C)
 *
 * Heads, with their inputs beside these (docs/adding-a-model.md says what a head is):
 *     bare
 *     masked    labels (B,T)                       logits (B,T,V) = transform(h) E' + c           E: word
 *     pretrain  labels (B,T), next_sentence_label (B): masked, and 2 logits of the pooled vector
 *     sentence  labels (B)                         logits (B,2) of the pooled vector
 *     classify  labels (B), or (B,L)               logits (B,L) of the pooled vector
 *     choose    labels (B); all inputs (B,N,T)     logits (B,N): one of each choice's pooled vector
 *     tag       labels (B,T)                       logits (B,T,L) = W h + b
 *     answer    start_positions, end_positions (B) start_logits, end_logits (B,T) */
#ifndef MODEL_ENCODERS_ENCODER_H
#define MODEL_ENCODERS_ENCODER_H

#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/parts/parts.h"

/* A head that ends in a linear layer: W dropout(a(W_d dropout(x) + b_d)) + b. */
struct head_layout {
    const char *dense;   /* W_d; NULL: there is none, or it is the body's pooler */
    const char *dropout; /* a config key, where null is the body's dropout; NULL: none */
    const char *out;     /* W */
};

/* How a family calls what all have: config keys, and names of parameters, those of the body without its base. A layout
 * may extend another: a field that is NULL is looked up in `from`, and "" is what the family does not have. */
struct encoder_layout {
    const struct encoder_layout *from;
    struct {
        const char *width, *embedding; /* C; of embeddings, NULL: C */
        const char *layers, *heads, *hidden, *act, *dropout, *attention_dropout;
        const char *eps; /* NULL: 1e-12 */
    } key;
    const char *stack; /* of layers */
    struct {
        const char *qkv[3], *out, *norm1, *up, *down, *norm2;
    } layer;
    const char *project; /* of embeddings to C */
    const char *pooler;
    struct {
        const char *dense, *norm, *decoder;
        const char *bias; /* of the decoder, under a name of its own; NULL: it has none */
    } masked;
    struct head_layout sentence, classify, choose, tag, answer; /* without .dense, pooled heads use the body's pooler */
    const char *sentence_logits, *sentence_label;               /* of pretrain */
};
extern const struct encoder_layout bert_layout, roberta_layout;

struct encoder;

/* A family's kind: its names and what it computes otherwise than BERT. */
struct encoder_kind {
    const struct encoder_layout *layout;
    /* The whole body; NULL: BERT's, whose layers are make_stack's. pooled: a head reads the pooler. */
    bool (*make)(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled, struct encoder *m);
    bool (*make_stack)(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m);
    heed_tensor *(*run)(heed_ctx *cx, const struct encoder *m, const heed_io *in);            /* of what `make` made */
    bool (*make_choose)(heed_ctx *cx, heed_json config, heed_params *set, struct encoder *m); /* NULL: as classify */
    bool projects;             /* embeddings are projected also where they are as wide as the layers */
    bool segments;             /* token_type_ids */
    bool tasks;                /* task_type_ids, where the config's use_task_id says so */
    bool keeps_attention;      /* the attention's output is not dropped out */
    bool from_padding;         /* positions are those of RoBERTa (offset_positions) */
    int padding;               /* the padding token, whatever the config says; 0: as that says */
    bool masked_gelu;          /* the masked head's activation, whatever the body's is */
    heed_activation dense_act; /* of heads with W_d */
    bool drops_first;          /* and dropout before it too */
};

/* a(W x + b), then a norm; what has no weight is left out. */
struct transform {
    heed_linear_layer dense;
    heed_activation act;
    heed_norm_layer norm;
};

/* Which vector of h stands for a sequence. */
enum pooling { POOL_FIRST, POOL_LAST, POOL_MEAN, POOL_UNMASKED_FIRST, POOL_UNMASKED_MEAN };

struct encoder {
    const struct encoder_kind *kind;
    const struct encoder *shares; /* whose embeddings it has; NULL: it has its own */
    heed_embedding_layer word, position, segment, task;
    heed_norm_layer norm;
    heed_linear_layer project;
    heed_encoder stack;
    heed_param *distance; /* (DISTANCE_BUCKETS or more,H): T5's bias by distance */
    float eps, dropout;
    heed_activation act;
    heed_init init;
    int64_t width, max_length;
    /* heads */
    enum pooling pooling;
    struct transform pool, transform; /* of the pooled vector, of tokens */
    float first_dropout, head_dropout;
    heed_linear_layer output, sentence;
    heed_param *decoder, *decoder_bias;
    enum problem problem;
};

#define DISTANCE_BUCKETS 32

/* ---- the body (encoder.c) ---- */

/* The layout, complete. */
struct encoder_layout encoder_names(const struct encoder_kind *kind);
/* Its kind is given: declares the parameters under `base`, and reads what the config says of them. */
bool encoder_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled, struct encoder *m);
/* Its layers, base.stack.N: what make_stack does where it is NULL. */
bool encoder_make_stack(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m);
bool encoder_make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct encoder *m,
                        heed_encoder_layer *l);
/* -> h (B,T,C) */
heed_tensor *encoder_run(heed_ctx *cx, const struct encoder *m, const heed_io *in);
/* For heads that read one vector of a sequence: where that is the first, h (B,1,C). */
heed_tensor *encoder_run_pooled(heed_ctx *cx, const struct encoder *m, const heed_io *in);

/* ---- heads (encoder_heads.c) ---- */

heed_tensor *transform_run(heed_ctx *cx, const struct transform *t, heed_tensor *x);
/* The output layer of the masked LM, E -> V: word's table when tied, and its bias. */
bool head_make_decoder(heed_ctx *cx, heed_json config, heed_params *set, const char *name, const char *bias_name,
                       int64_t width, bool bias, struct encoder *m);
/* Are there 2 labels, the start and the end of an answer? */
bool head_has_span(heed_ctx *cx, heed_json config);
/* Puts start_logits and end_logits (B,T), of both (B,T,2), and the loss where their places are given. */
bool head_span(heed_ctx *cx, const heed_io *in, heed_tensor *both, heed_io *out);
bool head_span_sample(heed_ctx *cx, int64_t batch, heed_io *in); /* such places, for plans */
/* The dropout of a config key that may be null, which is the body's; key NULL: 0. */
float head_dropout(heed_ctx *cx, heed_json config, const char *key, const struct encoder *m);

/* The functions of heads. */
#define ENCODER_HEAD(name)                                                                                             \
    bool encoder_build_##name(heed_ctx *cx, const heed_build *b, void *own);                                           \
    bool encoder_run_##name(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);                           \
    bool encoder_sample_##name(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
ENCODER_HEAD(bare)
ENCODER_HEAD(masked)
ENCODER_HEAD(pretrain)
ENCODER_HEAD(sentence)
ENCODER_HEAD(classify)
ENCODER_HEAD(choose)
ENCODER_HEAD(tag)
ENCODER_HEAD(answer)
#undef ENCODER_HEAD
/* The body of a head of the family. */
bool encoder_build_body(heed_ctx *cx, const heed_build *b, bool pooled, struct encoder *m);
/* The masked head of a body that is made. */
bool encoder_make_masked(heed_ctx *cx, heed_json config, heed_params *set, struct encoder *m);

#define ENCODER_RUN(name) .forward = encoder_run_##name, .sample = encoder_sample_##name
#define ENCODER(name)     .build = encoder_build_##name, ENCODER_RUN(name)

/* The records of the heads that all have; of the last four, the keys. */
#define ENCODER_HEADS(Name, inputs_, classify_keys, tag_keys, answer_keys, choose_keys)                                \
    {Name "ForMaskedLM", "mlm", inputs_ " labels", .keys = encoder_masked_keys, ENCODER(masked)},                      \
        {Name "ForSequenceClassification", "classify regress", inputs_ " labels", .keys = classify_keys,               \
         ENCODER(classify)},                                                                                           \
        {Name "ForTokenClassification", "tag", inputs_ " labels", .keys = tag_keys, ENCODER(tag)},                     \
        {Name "ForQuestionAnswering", "qa", inputs_ " start_positions end_positions", .keys = answer_keys,             \
         ENCODER(answer)},                                                                                             \
        {Name "ForMultipleChoice", "choose", inputs_ " labels", .keys = choose_keys, ENCODER(choose)}, {               \
        Name "Model", "embed", inputs_, .bare = true, ENCODER(bare)                                                    \
    }

#define ENCODER_INPUTS "input_ids attention_mask token_type_ids position_ids"
#define PLAIN_INPUTS   "input_ids attention_mask position_ids" /* of families without segments */

/* BERT's keys, with the defaults that differ. */
#define BERT_KEYS(words, width, heads, hidden, act, dropout, padding)                                                  \
    {"vocab_size", HEED_KEY_INT, words, "number of tokens"}, {"hidden_size", HEED_KEY_INT, width, "width"},            \
        {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},                                                 \
        {"num_attention_heads", HEED_KEY_INT, heads, "number of attention heads, which divides the width"},            \
        {"intermediate_size", HEED_KEY_INT, hidden, "width of the feed-forward layer"},                                \
        {"hidden_act", HEED_KEY_TEXT, act, "activation, by transformers' name"},                                       \
        {"hidden_dropout_prob", HEED_KEY_NUMBER, dropout, "dropout of embeddings and of the sublayers' outputs"},      \
        {"attention_probs_dropout_prob", HEED_KEY_NUMBER, dropout, "dropout of attention weights"},                    \
        {"max_position_embeddings", HEED_KEY_INT, "512", "number of positions"},                                       \
        {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},                         \
        {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "epsilon of layer norms"}, {                                      \
        "pad_token_id", HEED_KEY_INT_OR_NULL, padding, "padding token"                                                 \
    }
#define SEGMENT_KEYS                                                                                                   \
    {"type_vocab_size", HEED_KEY_INT, "2", "number of segments (token_type_ids)"},                                     \
        {"is_decoder", HEED_KEY_BOOL, "false", "must be false"},                                                       \
        {"add_cross_attention", HEED_KEY_BOOL, "false", "must be false"}, {                                            \
        "position_embedding_type", HEED_KEY_TEXT, "absolute", "must be absolute"                                       \
    }
#define TIED_KEY                                                                                                       \
    { "tie_word_embeddings", HEED_KEY_BOOL, "true", "the output layer shares the table of word embeddings" }
#define CLASSIFIER_DROPOUT_KEY                                                                                         \
    {                                                                                                                  \
        "classifier_dropout", HEED_KEY_NUMBER_OR_NULL, "null",                                                         \
            "dropout before the classifier; null: hidden_dropout_prob"                                                 \
    }
#define NUM_LABELS_KEY                                                                                                 \
    { "num_labels", HEED_KEY_INT, "2", "number of labels, where id2label does not say" }
/* Keys of heads; BERT's are those of many. */
extern const heed_key encoder_masked_keys[], bert_classify_keys[], bert_tag_keys[], bert_choose_keys[];
extern const heed_key num_labels_keys[];
extern const char *const encoder_ignored[]; /* buffers of older releases */

#endif
