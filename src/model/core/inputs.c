/* Inputs of tokens, and what heads make of hidden states. */
#include "model/core/inputs.h"
#include "model/core/families.h"
#include "tensor/engine.h"
#include <string.h>

/* ---- inputs ---- */

heed_tensor *input_ids(heed_ctx *cx, const heed_io *in, const char *name, bool needed) {
    heed_tensor *t = heed_io_get(in, name);
    if (!t && needed) heed_fail(cx, HEED_ERR_USAGE, "%s: this input is needed", name);
    if (t && (t->rank != 2 || t->dtype != HEED_I32)) {
        heed_fail(cx, HEED_ERR_SHAPE, "%s: whole numbers of shape (B,T) are needed, not %s %s", name,
                  heed_dtype_name(t->dtype), heed_shape_text(t).s);
        return NULL;
    }
    return t;
}

heed_tensor *input_like(heed_ctx *cx, const heed_io *in, const char *name, const heed_tensor *like) {
    heed_tensor *t = input_ids(cx, in, name, false);
    if (!t || !like || same_shape(t, like)) return t;
    heed_fail(cx, HEED_ERR_SHAPE, "%s: shape %s is not that of the tokens, %s", name, heed_shape_text(t).s,
              heed_shape_text(like).s);
    return NULL;
}

/* A mask in the shape of ids, of any type; NULL when it is not there */
static heed_tensor *mask_of(heed_ctx *cx, const heed_io *in, const char *name, const char *of, const heed_tensor *ids) {
    heed_tensor *t = heed_io_get(in, name);
    if (!t || !ids || heed_failed(cx) || same_shape(t, ids)) return heed_failed(cx) || !ids ? NULL : t;
    heed_fail(cx, HEED_ERR_SHAPE, "%s: shape %s is not that of %s, %s", name, heed_shape_text(t).s, of,
              heed_shape_text(ids).s);
    return NULL;
}

static heed_tensor *attention_mask(heed_ctx *cx, const heed_io *in, const heed_tensor *ids) {
    return mask_of(cx, in, "attention_mask", "input_ids", ids);
}

heed_mask input_padding(heed_ctx *cx, const heed_io *in, const heed_tensor *ids) {
    heed_tensor *const t = attention_mask(cx, in, ids);
    return t ? heed_mask_padding(cx, t) : heed_mask_none();
}

/* u8 (B,1,T,T): 1 where both are of one segment; those after a token are hidden in any case. */
static heed_tensor *same_segment(heed_ctx *cx, heed_tensor *segments) {
    segments = heed_contiguous(cx, segments);
    if (!segments) return NULL;
    const int64_t B = segments->shape[0], T = segments->shape[1], shape[] = {B, 1, T, T};
    heed_tensor *const t = heed_zeros(cx, HEED_U8, 4, shape);
    if (!t || cx->config.dry) return t;
    uint8_t *to = (uint8_t *)(void *)t->data;
    for (int64_t i = 0; i < B * T; i++, to += T) {
        const int32_t *const row = i32_of(segments) + i / T * T;
        for (int64_t j = 0; j <= i % T; j++) to[j] = row[j] == row[i % T];
    }
    return t;
}

heed_mask input_causal(heed_ctx *cx, const heed_io *in, const heed_tensor *ids) {
    const heed_mask mask = heed_mask_both(cx, heed_mask_causal(0), input_padding(cx, in, ids));
    heed_tensor *const segments = input_like(cx, in, "segment_ids", ids);
    heed_tensor *const keep = segments ? same_segment(cx, segments) : NULL;
    return keep ? heed_mask_both(cx, mask, heed_mask_keep(keep)) : mask;
}

heed_mask input_padding_of(heed_ctx *cx, const heed_io *in, const heed_tensor *x) {
    heed_tensor *const t = heed_io_get(in, "attention_mask");
    if (!t || !x) return heed_mask_none();
    if (t->rank == 2 && t->shape[0] == x->shape[0] && t->shape[1] == x->shape[1]) return heed_mask_padding(cx, t);
    heed_fail(cx, HEED_ERR_SHAPE, "attention_mask: shape (%lld,%lld) is needed, not %s", (long long)x->shape[0],
              (long long)x->shape[1], heed_shape_text(t).s);
    return heed_mask_none();
}

heed_mask input_decoder_padding(heed_ctx *cx, const heed_io *in, const heed_tensor *ids) {
    heed_tensor *const t = mask_of(cx, in, "decoder_attention_mask", "decoder_input_ids", ids);
    return t ? heed_mask_padding(cx, t) : heed_mask_none();
}

heed_tensor *input_mask(heed_ctx *cx, const heed_io *in, const heed_tensor *ids) {
    heed_tensor *const t = attention_mask(cx, in, ids);
    return t && heed_type(t) != HEED_F32 ? heed_cast(cx, t, HEED_F32) : t;
}

heed_tensor *input_positions(heed_ctx *cx, const heed_io *in, const heed_param *table, const heed_tensor *ids,
                             int64_t start) {
    if (heed_failed(cx) || !ids) return NULL;
    const int64_t length = ids->shape[1], rows = table->shape[0];
    heed_tensor *const given = input_like(cx, in, "position_ids", ids);
    if (given) return heed_embedding(cx, heed_param_weight(cx, table), given);
    if (start + length > rows) {
        heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld",
                  (long long)(start + length), (long long)rows);
        return NULL;
    }
    return heed_param_rows(cx, table, start, length);
}

bool input_sample(heed_ctx *cx, int64_t batch, int64_t length, heed_io *in) {
    const int64_t shape[] = {batch, length};
    return heed_io_put(cx, in, "input_ids", heed_zeros(cx, HEED_I32, 2, shape)) &&
           heed_io_put(cx, in, "attention_mask", heed_cast(cx, heed_full(cx, 1, 2, shape), HEED_I32));
}

heed_tensor *labels_shifted(heed_ctx *cx, const heed_tensor *labels) {
    if (heed_failed(cx) || !labels) return NULL;
    const int64_t B = labels->shape[0], T = labels->shape[1];
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 2, labels->shape);
    if (!t || cx->config.dry) return t;
    int32_t *const to = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < B * T; i++) to[i] = i % T + 1 < T ? i32_of(labels)[i + 1] : NO_LABEL;
    return t;
}

heed_tensor *input_next(heed_ctx *cx, const heed_io *in, const heed_tensor *ids) {
    heed_tensor *const next = input_like(cx, in, "shift_labels", ids);
    if (next || heed_failed(cx)) return next;
    heed_tensor *const labels = input_like(cx, in, "labels", ids);
    return labels ? labels_shifted(cx, heed_contiguous(cx, labels)) : NULL;
}

/* ---- heads ---- */

const heed_key label_keys[] = {LABEL_KEYS, END_OF_KEYS};

int64_t config_labels(heed_ctx *cx, heed_json config) {
    const int64_t named = heed_json_count(heed_json_find(cx, config, "id2label"));
    return named > 0 ? named : config_int(cx, config, "num_labels", 1, (int64_t)1 << 24);
}

enum problem config_problem(heed_ctx *cx, heed_json config) {
    static const char *const names[] = {"", "regression", "single_label_classification", "multi_label_classification",
                                        NULL};
    if (heed_json_kind_of(heed_json_find(cx, config, "problem_type")) == HEED_JSON_NULL) return PROBLEM_BY_LABELS;
    const int problem = config_choice(cx, config, "problem_type", names);
    if (problem == PROBLEM_ONE_LABEL && config_labels(cx, config) == 1)
        heed_json_fail(cx, heed_json_find(cx, config, "problem_type"), "one of several labels is needed, not of 1");
    return heed_failed(cx) ? PROBLEM_BY_LABELS : (enum problem)problem;
}

static heed_tensor *as_f32(heed_ctx *cx, heed_tensor *t) {
    return heed_type(t) == HEED_F32 ? t : heed_cast(cx, t, HEED_F32);
}

/* labels of as many numbers as wanted, in the shape of logits */
static heed_tensor *numbers(heed_ctx *cx, heed_tensor *labels, const heed_tensor *logits) {
    if (labels->count == logits->count) return heed_reshape(cx, as_f32(cx, labels), logits->rank, logits->shape);
    heed_fail(cx, HEED_ERR_SHAPE, "labels: shape %s does not fit logits of shape %s", heed_shape_text(labels).s,
              heed_shape_text(logits).s);
    return NULL;
}

static heed_tensor *class_loss(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels) {
    if (labels->dtype != HEED_I32 || labels->count != logits->shape[0]) {
        heed_fail(cx, HEED_ERR_SHAPE, "labels: %lld whole numbers are needed, not %s %s", (long long)logits->shape[0],
                  heed_dtype_name(labels->dtype), heed_shape_text(labels).s);
        return NULL;
    }
    labels = heed_reshape(cx, labels, 1, logits->shape);
    return heed_cross_entropy(cx, logits, labels, &(heed_cross_entropy_opts){.ignore = true, .ignore_index = NO_LABEL});
}

bool head_classify(heed_ctx *cx, enum problem problem, const heed_io *in, heed_tensor *logits, heed_io *out) {
    heed_tensor *const labels = heed_io_get(in, "labels");
    if (!logits || !heed_io_put(cx, out, "logits", logits)) return false;
    if (!labels) return true;
    if (problem == PROBLEM_BY_LABELS)
        problem = logits->shape[1] == 1       ? PROBLEM_REGRESSION
                  : labels->dtype == HEED_I32 ? PROBLEM_ONE_LABEL
                                              : PROBLEM_MANY_LABELS;
    heed_tensor *loss = NULL;
    if (problem == PROBLEM_ONE_LABEL)
        loss = class_loss(cx, logits, labels);
    else if (problem == PROBLEM_REGRESSION)
        loss = heed_mse_loss(cx, logits, numbers(cx, labels, logits), HEED_REDUCE_MEAN);
    else
        loss = heed_bce_loss(cx, logits, numbers(cx, labels, logits), HEED_REDUCE_MEAN);
    return loss && heed_io_put(cx, out, "loss", loss);
}

bool head_sample_labels(heed_ctx *cx, enum problem problem, int64_t batch, int64_t labels, heed_io *in) {
    const int64_t shape[] = {batch, labels};
    const bool numbers = problem == PROBLEM_REGRESSION || problem == PROBLEM_MANY_LABELS;
    return heed_io_put(cx, in, "labels",
                       numbers ? heed_zeros(cx, HEED_F32, 2, shape) : heed_zeros(cx, HEED_I32, 1, shape));
}

bool head_tokens(heed_ctx *cx, const heed_io *in, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                 heed_tensor *labels, heed_io *out) {
    const heed_cross_entropy_opts opts = {.ignore = true, .ignore_index = NO_LABEL};
    if (heed_failed(cx)) return false;
    if (in->loss_only && labels)
        return heed_io_put(cx, out, "loss", heed_linear_cross_entropy(cx, x, weight, bias, labels, &opts));
    return head_logits(cx, heed_linear(cx, x, weight, bias), labels, out);
}

bool head_logits(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels, heed_io *out) {
    const heed_cross_entropy_opts opts = {.ignore = true, .ignore_index = NO_LABEL};
    if (!logits || !heed_io_put(cx, out, "logits", logits)) return false;
    return !labels || heed_io_put(cx, out, "loss", heed_cross_entropy(cx, logits, labels, &opts));
}

heed_tensor *head_last(heed_ctx *cx, heed_tensor *h, heed_tensor *ids, int32_t padding) {
    if (heed_failed(cx) || !h || !ids) return NULL;
    const int64_t B = ids->shape[0], T = ids->shape[1], C = h->shape[2];
    if (padding == -1 && B != 1) {
        heed_fail(cx, HEED_ERR_USAGE,
                  "%lld sequences at once need a padding token, to find their ends, and pad_token_id is null",
                  (long long)B);
        return NULL;
    }
    if (T < 1) {
        heed_fail(cx, HEED_ERR_SHAPE, "input_ids: sequences without a token have no last one");
        return NULL;
    }
    heed_tensor *const last = heed_zeros(cx, HEED_I32, 1, &B), *const tokens = heed_contiguous(cx, ids);
    for (int64_t b = 0; last && tokens && !cx->config.dry && b < B; b++) {
        int64_t t = T - 1;
        while (t > 0 && i32_of(tokens)[b * T + t] == padding) t--;
        ((int32_t *)(void *)last->data)[b] = (int32_t)(b * T + t);
    }
    return heed_index_select(cx, heed_reshape(cx, h, 2, (int64_t[]){B * T, C}), 0, last);
}
