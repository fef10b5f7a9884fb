/* The heads of encoders: what they declare, and what they make of h (B,T,C). */
#include "model/encoders/encoder.h"
#include "tensor/engine.h"

const heed_key encoder_masked_keys[] = {TIED_KEY, END_OF_KEYS};
const heed_key bert_classify_keys[] = {LABEL_KEYS, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
const heed_key bert_tag_keys[] = {NUM_LABELS_KEY, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
const heed_key bert_choose_keys[] = {CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
const heed_key num_labels_keys[] = {NUM_LABELS_KEY, END_OF_KEYS};

/* ---- parts ---- */

heed_tensor *transform_run(heed_ctx *cx, const struct transform *t, heed_tensor *x) {
    if (t->dense.weight)
        x = heed_linear_run(cx, &t->dense, x, t->act);
    else
        x = heed_activate(cx, x, t->act);
    return t->norm.weight ? heed_norm_run(cx, &t->norm, x) : x;
}

float head_dropout(heed_ctx *cx, heed_json config, const char *key, const struct encoder *m) {
    return key ? (float)config_number_or(cx, config, key, 0, 1, (double)m->dropout) : 0;
}

/* h (B,T,C) -> (B,C) */
static heed_tensor *vector_at(heed_ctx *cx, heed_tensor *h, int64_t at) {
    if (!h) return NULL;
    const int64_t shape[] = {heed_dim(h, 0), heed_dim(h, 2)};
    return heed_reshape(cx, heed_slice(cx, h, 1, at, 1), 2, shape);
}

/* Of a mask (B,T): 1 at the first place of each row that is not masked, 0 elsewhere; at the first of a row of zeros. */
static heed_tensor *first_seen(heed_ctx *cx, const heed_tensor *mask) {
    const int64_t B = heed_dim(mask, 0), T = heed_dim(mask, 1);
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 2, heed_shape(mask));
    if (!t || cx->config.dry) return t;
    for (int64_t b = 0; b < B; b++) {
        int64_t i = 0;
        while (i < T && f32_of(mask)[b * T + i] == 0) i++;
        ((float *)(void *)t->data)[b * T + (i < T ? i : 0)] = 1;
    }
    return t;
}

/* h (B,T,C) and weights (B,T) -> the sum of each sequence (B,C), divided by that of the weights when it is a mean */
static heed_tensor *weighted(heed_ctx *cx, heed_tensor *h, heed_tensor *weights, bool mean) {
    const int time[] = {1};
    if (!weights) return NULL;
    weights = heed_reshape(cx, weights, 3, (int64_t[]){heed_dim(h, 0), heed_dim(h, 1), 1});
    heed_tensor *const sum = heed_sum(cx, heed_mul(cx, h, weights), time, 1, false);
    return mean ? heed_div(cx, sum, heed_sum(cx, weights, time, 1, false)) : sum;
}

/* h (B,T,C) -> (B,C): the vector of each sequence */
static heed_tensor *select_vector(heed_ctx *cx, const struct encoder *m, const heed_io *in, heed_tensor *h) {
    const bool masked = m->pooling == POOL_UNMASKED_FIRST || m->pooling == POOL_UNMASKED_MEAN;
    if (!h) return NULL;
    heed_tensor *const mask = masked ? input_mask(cx, in, heed_io_get(in, "input_ids")) : NULL;
    switch (m->pooling) {
    case POOL_LAST:
        return vector_at(cx, h, heed_dim(h, 1) - 1);
    case POOL_UNMASKED_MEAN:
        if (mask) return weighted(cx, h, mask, true);
        return heed_mean(cx, h, (int[]){1}, 1, false);
    case POOL_MEAN:
        return heed_mean(cx, h, (int[]){1}, 1, false);
    case POOL_UNMASKED_FIRST:
        if (mask) return weighted(cx, h, first_seen(cx, mask), false);
        break;
    case POOL_FIRST:
        break;
    }
    return vector_at(cx, h, 0);
}

static heed_tensor *pooled(heed_ctx *cx, const struct encoder *m, const heed_io *in, heed_tensor *h) {
    h = heed_dropout(cx, select_vector(cx, m, in, h), m->first_dropout);
    return heed_dropout(cx, transform_run(cx, &m->pool, h), m->head_dropout);
}

static heed_tensor *of_tokens(heed_ctx *cx, const struct encoder *m, heed_tensor *h) {
    h = heed_dropout(cx, transform_run(cx, &m->transform, h), m->head_dropout);
    return heed_linear_run(cx, &m->output, h, HEED_ACT_NONE);
}

static heed_tensor *zeros_like(heed_ctx *cx, const heed_tensor *t) {
    return t ? heed_zeros(cx, HEED_I32, heed_rank(t), heed_shape(t)) : NULL;
}

/* ---- bare ---- */

bool encoder_build_body(heed_ctx *cx, const heed_build *b, bool pooled, struct encoder *m) {
    m->kind = b->family->kind;
    return encoder_make(cx, b->config, b->params, b->head->bare ? "" : b->family->base, pooled, m);
}

bool encoder_build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    return encoder_build_body(cx, b, encoder_names(b->family->kind).pooler != NULL, own);
}

bool encoder_run_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const h = encoder_run(cx, m, in);
    if (!h || !heed_io_put(cx, out, "last_hidden_state", h)) return false;
    return !m->pool.dense.weight || heed_io_put(cx, out, "pooler_output", pooled(cx, m, in, h));
}

bool encoder_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct encoder *m = own;
    return input_sample(cx, batch, length < m->max_length ? length : m->max_length, in);
}

/* ---- masked words ---- */

bool head_make_decoder(heed_ctx *cx, heed_json config, heed_params *set, const char *name, const char *bias_name,
                       int64_t width, bool bias, struct encoder *m) {
    const int64_t words = m->word.weight->shape[0];
    const bool tied = heed_json_bool(cx, config, "tie_word_embeddings");
    heed_linear_layer decoder = {0};
    heed_param *own_bias = NULL;
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    if (bias_name) own_bias = heed_param_add(cx, set, "", bias_name, 1, &words, zeros);
    if (!tied) {
        if (own_bias) own_bias->frozen = own_bias->optional = true; /* the Python class has it, and does not use it */
        if (!part_linear(cx, set, "", name, width, words, bias, m->init, &decoder)) return false;
        m->decoder = decoder.weight;
        m->decoder_bias = decoder.bias;
        return true;
    }
    m->decoder = heed_param_tie_loosely(cx, set, name, "weight", m->word.weight, true, m->init);
    m->decoder_bias = own_bias;
    if (own_bias)
        heed_param_tie(cx, set, name, "bias", own_bias);
    else if (bias)
        m->decoder_bias = heed_param_add(cx, set, name, "bias", 1, &words, zeros);
    return !heed_failed(cx);
}

bool encoder_make_masked(heed_ctx *cx, heed_json config, heed_params *set, struct encoder *m) {
    const struct encoder_layout n = encoder_names(m->kind);
    const int64_t width = m->word.weight->shape[1];
    m->transform.act = m->kind->masked_gelu ? HEED_ACT_GELU : m->act;
    return part_linear(cx, set, "", n.masked.dense, m->width, width, true, m->init, &m->transform.dense) &&
           part_norm(cx, set, "", n.masked.norm, width, m->eps, &m->transform.norm) &&
           head_make_decoder(cx, config, set, n.masked.decoder, n.masked.bias, width, true, m);
}

bool encoder_build_masked(heed_ctx *cx, const heed_build *b, void *own) {
    return encoder_build_body(cx, b, false, own) && encoder_make_masked(cx, b->config, b->params, own);
}

bool encoder_run_masked(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const x = transform_run(cx, &m->transform, encoder_run(cx, m, in));
    return head_tokens(cx, in, x, heed_param_weight(cx, m->decoder),
                       m->decoder_bias ? heed_param_tensor(cx, m->decoder_bias) : NULL,
                       input_like(cx, in, "labels", heed_io_get(in, "input_ids")), out);
}

bool encoder_sample_masked(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return encoder_sample_bare(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", zeros_like(cx, heed_io_get(in, "input_ids")));
}

/* ---- next sentence, alone and with masked words ---- */

static bool make_sentence(heed_ctx *cx, heed_json config, heed_params *set, struct encoder *m) {
    const struct head_layout n = encoder_names(m->kind).sentence;
    m->head_dropout = head_dropout(cx, config, n.dropout, m);
    return part_linear(cx, set, "", n.out, m->width, 2, true, m->init, &m->sentence);
}

bool encoder_build_sentence(heed_ctx *cx, const heed_build *b, void *own) {
    return encoder_build_body(cx, b, true, own) && make_sentence(cx, b->config, b->params, own);
}

bool encoder_run_sentence(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const x = pooled(cx, m, in, encoder_run_pooled(cx, m, in));
    return head_classify(cx, PROBLEM_ONE_LABEL, in, heed_linear_run(cx, &m->sentence, x, HEED_ACT_NONE), out);
}

bool encoder_sample_sentence(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return encoder_sample_bare(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 1, &batch));
}

bool encoder_build_pretrain(heed_ctx *cx, const heed_build *b, void *own) {
    return encoder_build_sentence(cx, b, own) && encoder_make_masked(cx, b->config, b->params, own);
}

/* The sum of both losses, when there are labels of both. */
bool encoder_run_pretrain(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_io words = {.loss_only = in->loss_only}, sentence = {0};
    heed_tensor *const h = encoder_run(cx, m, in), *const x = transform_run(cx, &m->transform, h);
    heed_tensor *const logits = heed_linear_run(cx, &m->sentence, pooled(cx, m, in, h), HEED_ACT_NONE);
    heed_tensor *const labels = input_like(cx, in, "labels", heed_io_get(in, "input_ids")),
                       *const next = heed_io_get(in, encoder_names(m->kind).sentence_label);
    const bool loss = labels && next;
    heed_io found = {0};
    if (loss) heed_io_put(cx, &sentence, "labels", next);
    if (!head_tokens(cx, &words, x, heed_param_weight(cx, m->decoder), heed_param_tensor(cx, m->decoder_bias),
                     loss ? labels : NULL, &found))
        return false;
    heed_tensor *const of_words = heed_io_get(&found, "logits"), *const words_loss = heed_io_get(&found, "loss");
    if (of_words && !heed_io_put(cx, out, "prediction_logits", of_words)) return false;
    if (!head_classify(cx, PROBLEM_ONE_LABEL, &sentence, logits, &found) ||
        !heed_io_put(cx, out, encoder_names(m->kind).sentence_logits, logits))
        return false;
    return !loss || heed_io_put(cx, out, "loss", heed_add(cx, words_loss, heed_io_get(&found, "loss")));
}

bool encoder_sample_pretrain(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct encoder *m = own;
    return encoder_sample_masked(cx, own, batch, length, in) &&
           heed_io_put(cx, in, encoder_names(m->kind).sentence_label, heed_zeros(cx, HEED_I32, 1, &batch));
}

/* ---- a class or numbers for a sequence ---- */

/* W_d, where it is the head's own, dropout, and W of `outputs` rows. */
static bool make_pooled_head(heed_ctx *cx, heed_json config, heed_params *set, const struct head_layout *k,
                             int64_t outputs, struct encoder *m) {
    m->head_dropout = head_dropout(cx, config, k->dropout, m);
    if (k->dense) {
        if (m->kind->drops_first) m->first_dropout = m->head_dropout;
        m->pool.act = m->kind->dense_act;
        if (!part_linear(cx, set, "", k->dense, m->width, m->width, true, m->init, &m->pool.dense)) return false;
    }
    return part_linear(cx, set, "", k->out, m->width, outputs, true, m->init, &m->output);
}

bool encoder_build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    const struct head_layout n = encoder_names(b->family->kind).classify;
    struct encoder *m = own;
    if (!encoder_build_body(cx, b, !n.dense, m)) return false;
    m->problem = config_problem(cx, b->config);
    return make_pooled_head(cx, b->config, b->params, &n, config_labels(cx, b->config), m);
}

bool encoder_run_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const x = pooled(cx, m, in, encoder_run_pooled(cx, m, in));
    return head_classify(cx, m->problem, in, heed_linear_run(cx, &m->output, x, HEED_ACT_NONE), out);
}

bool encoder_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct encoder *m = own;
    return encoder_sample_bare(cx, own, batch, length, in) &&
           head_sample_labels(cx, m->problem, batch, m->output.weight->shape[0], in);
}

/* ---- multiple choice ---- */

bool encoder_build_choose(heed_ctx *cx, const heed_build *b, void *own) {
    const struct encoder_kind *const kind = b->family->kind;
    const struct head_layout n = encoder_names(b->family->kind).choose;
    if (!encoder_build_body(cx, b, !n.dense && !kind->make_choose, own)) return false;
    return kind->make_choose ? kind->make_choose(cx, b->config, b->params, own)
                             : make_pooled_head(cx, b->config, b->params, &n, 1, own);
}

/* Inputs (B,N,T) as (B N,T): the choices are sequences like others. */
static bool flatten(heed_ctx *cx, const heed_io *in, heed_io *flat) {
    const heed_tensor *const ids = heed_io_get(in, "input_ids");
    if (ids && ids->rank != 3)
        return heed_fail(cx, HEED_ERR_SHAPE, "input_ids: shape (B,choices,T) is needed, not %s",
                         heed_shape_text(ids).s);
    for (int i = 0; i < in->n; i++) {
        heed_tensor *t = in->tensor[i];
        if (t->rank == 3) t = heed_reshape(cx, t, 2, (int64_t[]){t->shape[0] * t->shape[1], t->shape[2]});
        if (!t || !heed_io_put(cx, flat, in->name[i], t)) return false;
    }
    return true;
}

bool encoder_run_choose(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_io flat = {0};
    if (!flatten(cx, in, &flat)) return false;
    heed_tensor *logits = pooled(cx, m, &flat, encoder_run_pooled(cx, m, &flat));
    logits = heed_linear_run(cx, &m->output, logits, HEED_ACT_NONE);
    if (!logits) return false;
    logits = heed_reshape(cx, logits, 2, heed_io_get(in, "input_ids")->shape);
    return head_classify(cx, PROBLEM_ONE_LABEL, in, logits, out);
}

bool encoder_sample_choose(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct encoder *m = own;
    const int64_t shape[] = {batch, 4, length < m->max_length ? length : m->max_length};
    return heed_io_put(cx, in, "input_ids", heed_zeros(cx, HEED_I32, 3, shape)) &&
           heed_io_put(cx, in, "attention_mask", heed_cast(cx, heed_full(cx, 1, 3, shape), HEED_I32)) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 1, &batch));
}

/* ---- a label for each token ---- */

static bool make_token_head(heed_ctx *cx, heed_json config, heed_params *set, const struct head_layout *k,
                            struct encoder *m) {
    m->head_dropout = head_dropout(cx, config, k->dropout, m);
    return part_linear(cx, set, "", k->out, m->width, config_labels(cx, config), true, m->init, &m->output);
}

bool encoder_build_tag(heed_ctx *cx, const heed_build *b, void *own) {
    struct encoder *m = own;
    const struct head_layout n = encoder_names(b->family->kind).tag;
    return encoder_build_body(cx, b, false, m) && make_token_head(cx, b->config, b->params, &n, m);
}

bool encoder_run_tag(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const logits = of_tokens(cx, m, encoder_run(cx, m, in)), *const labels =
                                                                              input_like(cx, in, "labels",
                                                                                         heed_io_get(in, "input_ids"));
    const heed_cross_entropy_opts opts = {.ignore = true, .ignore_index = NO_LABEL};
    if (!logits || !heed_io_put(cx, out, "logits", logits)) return false;
    return !labels || heed_io_put(cx, out, "loss", heed_cross_entropy(cx, logits, labels, &opts));
}

bool encoder_sample_tag(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return encoder_sample_masked(cx, own, batch, length, in);
}

/* ---- the first and last token of an answer ---- */

bool head_has_span(heed_ctx *cx, heed_json config) {
    const int64_t labels = config_labels(cx, config);
    if (heed_failed(cx) || labels == 2) return !heed_failed(cx);
    return heed_fail(cx, HEED_ERR_FORMAT, "num_labels: question answering has 2, start and end, not %lld",
                     (long long)labels);
}

bool encoder_build_answer(heed_ctx *cx, const heed_build *b, void *own) {
    const struct head_layout n = encoder_names(b->family->kind).answer;
    struct encoder *m = own;
    return head_has_span(cx, b->config) && encoder_build_body(cx, b, false, m) &&
           make_token_head(cx, b->config, b->params, &n, m);
}

/* Positions (B) or (B,1), those beyond the T tokens as T, which does not count. */
static heed_tensor *span_ends(heed_ctx *cx, const heed_io *in, const char *name, int64_t B, int64_t T) {
    const heed_tensor *const given = heed_io_get(in, name);
    if (given->dtype != HEED_I32 || given->count != B) {
        heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld whole numbers are needed, not %s %s", name, (long long)B,
                  heed_dtype_name(given->dtype), heed_shape_text(given).s);
        return NULL;
    }
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 1, &B);
    if (!t || cx->config.dry) return t;
    for (int64_t i = 0; i < B; i++) {
        const int32_t at = i32_of(given)[i];
        ((int32_t *)(void *)t->data)[i] = at < 0 ? 0 : at < T ? at : (int32_t)T;
    }
    return t;
}

bool head_span(heed_ctx *cx, const heed_io *in, heed_tensor *both, heed_io *out) {
    static const char *const names[] = {"start_logits", "end_logits"}, *const ends[] = {"start_positions",
                                                                                        "end_positions"};
    heed_tensor *loss = NULL;
    if (!both) return false;
    const int64_t shape[] = {heed_dim(both, 0), heed_dim(both, 1)};
    const heed_cross_entropy_opts opts = {.ignore = true, .ignore_index = (int32_t)shape[1]};
    const bool wanted = heed_io_get(in, ends[0]) && heed_io_get(in, ends[1]);
    for (int i = 0; i < 2 && !heed_failed(cx); i++) {
        heed_tensor *const logits = heed_contiguous(cx, heed_reshape(cx, heed_slice(cx, both, 2, i, 1), 2, shape));
        if (!heed_io_put(cx, out, names[i], logits)) return false;
        if (!wanted) continue;
        heed_tensor *const at = span_ends(cx, in, ends[i], shape[0], shape[1]), *const one =
                                                                                    at ? heed_cross_entropy(cx, logits,
                                                                                                            at, &opts)
                                                                                       : NULL;
        loss = loss ? heed_add(cx, loss, one) : one;
    }
    return !wanted || heed_io_put(cx, out, "loss", heed_affine(cx, loss, 0.5f, 0));
}

bool encoder_run_answer(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    return head_span(cx, in, of_tokens(cx, m, encoder_run(cx, m, in)), out);
}

bool head_span_sample(heed_ctx *cx, int64_t batch, heed_io *in) {
    return heed_io_put(cx, in, "start_positions", heed_zeros(cx, HEED_I32, 1, &batch)) &&
           heed_io_put(cx, in, "end_positions", heed_zeros(cx, HEED_I32, 1, &batch));
}

bool encoder_sample_answer(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return encoder_sample_bare(cx, own, batch, length, in) && head_span_sample(cx, batch, in);
}
