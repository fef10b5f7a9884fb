/* What models of tokens share: their inputs by name, and the losses of their heads. */
#ifndef MODEL_CORE_INPUTS_H
#define MODEL_CORE_INPUTS_H

#include "heed/model.h"

#define NO_LABEL (-100) /* labels that do not count, as PyTorch's ignore_index */

/* i32 (B,T); fails when it is there in another shape, or needed and missing. */
heed_tensor *input_ids(heed_ctx *cx, const heed_io *in, const char *name, bool needed);
/* The same of the shape of `like`, such as token_type_ids. */
heed_tensor *input_like(heed_ctx *cx, const heed_io *in, const char *name, const heed_tensor *like);
/* Of attention_mask (B,T), 0 for padding; none when it is not there. */
heed_mask input_padding(heed_ctx *cx, const heed_io *in, const heed_tensor *ids);
/* The same of vectors x (B,T,C), such as patches and the tokens before them. */
heed_mask input_padding_of(heed_ctx *cx, const heed_io *in, const heed_tensor *x);
/* Of decoder_attention_mask, likewise. */
heed_mask input_decoder_padding(heed_ctx *cx, const heed_io *in, const heed_tensor *ids);
/* attention_mask as numbers, f32 (B,T); NULL when it is not there. */
heed_tensor *input_mask(heed_ctx *cx, const heed_io *in, const heed_tensor *ids);

/* Of a decoder: no token sees one after it, nor padding. Where segment_ids (B,T) are given, rows hold several
 * sequences, and tokens see those of their own segment alone: as if each sequence were a row of its own. */
heed_mask input_causal(heed_ctx *cx, const heed_io *in, const heed_tensor *ids);

/* Rows of a learned table (P,C) for the positions of ids (B,T): position_ids where they are given, else start, start +
 * 1, …: (T,C) or (B,T,C). Fails when there are not as many. */
heed_tensor *input_positions(heed_ctx *cx, const heed_io *in, const heed_param *table, const heed_tensor *ids,
                             int64_t start);

/* input_ids and attention_mask of ones, for plans. */
bool input_sample(heed_ctx *cx, int64_t batch, int64_t length, heed_io *in);

/* Labels (B,T) one place to the left: what comes next; the last has none. */
heed_tensor *labels_shifted(heed_ctx *cx, const heed_tensor *labels);
/* What comes next after each of ids (B,T): shift_labels as they are, or labels shifted; NULL when neither is there. */
heed_tensor *input_next(heed_ctx *cx, const heed_io *in, const heed_tensor *ids);

/* ---- heads ---- */

/* The number of classes: of id2label where it is there, else num_labels. */
int64_t config_labels(heed_ctx *cx, heed_json config);
#define LABEL_KEYS                                                                                                     \
    {"num_labels", HEED_KEY_INT, "2", "number of classes, where id2label does not say; 1: a number"}, {                \
        "problem_type", HEED_KEY_TEXT_OR_NULL, "null",                                                                 \
            "regression, single_label_classification or multi_label_classification; null: by the number of labels"     \
    }
extern const heed_key label_keys[]; /* these alone */

enum problem { PROBLEM_BY_LABELS, PROBLEM_REGRESSION, PROBLEM_ONE_LABEL, PROBLEM_MANY_LABELS };
enum problem config_problem(heed_ctx *cx, heed_json config);
/* Puts logits (B,labels) and, when there are labels, the loss of the problem. */
bool head_classify(heed_ctx *cx, enum problem problem, const heed_io *in, heed_tensor *logits, heed_io *out);
/* Labels of the problem, zeros, for plans. */
bool head_sample_labels(heed_ctx *cx, enum problem problem, int64_t batch, int64_t labels, heed_io *in);
/* Puts logits (B,T,V) = x weight' + bias and, with labels (B,T), the cross entropy; with loss_only the loss alone,
 * without holding the logits. */
bool head_tokens(heed_ctx *cx, const heed_io *in, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                 heed_tensor *labels, heed_io *out);
/* The same of logits that are there. */
bool head_logits(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels, heed_io *out);
/* h (B,T,C) -> (B,C) of each sequence's last token that is not padding, wherever that is; the first where all are. A
 * model without a padding token (-1) takes one sequence at a time, as in transformers. */
heed_tensor *head_last(heed_ctx *cx, heed_tensor *h, heed_tensor *ids, int32_t padding);

#endif
