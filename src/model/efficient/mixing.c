/* The body that kinds of cheaper attention share, and what its heads have beside those of encoders. */
#include "model/efficient/mixing.h"
#include "model/parts/prefix.h"
#include "tensor/engine.h"

/* ---- keys of heads ---- */

#define CAUSAL_KEY(standard_)                                                                                          \
    { "causal", HEED_KEY_BOOL, standard_, "no token sees those after it" }
#define CLASSIFY_KEYS                                                                                                  \
    {"pooling", HEED_KEY_TEXT, "mean", "what is classified: mean over the tokens, or the first token"}, LABEL_KEYS,    \
        CLASSIFIER_DROPOUT_KEY
const heed_key mixing_masked_keys[] = {TIED_KEY, END_OF_KEYS};
const heed_key mixing_classify_keys[] = {CLASSIFY_KEYS, END_OF_KEYS};
const heed_key mixing_tag_keys[] = {NUM_LABELS_KEY, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
const heed_key mixing_answer_keys[] = {NUM_LABELS_KEY, END_OF_KEYS};
const heed_key mixing_bare_keys[] = {END_OF_KEYS};
const heed_key causal_masked_keys[] = {TIED_KEY, CAUSAL_KEY("false"), END_OF_KEYS};
const heed_key causal_classify_keys[] = {CLASSIFY_KEYS, CAUSAL_KEY("false"), END_OF_KEYS};
const heed_key causal_tag_keys[] = {NUM_LABELS_KEY, CLASSIFIER_DROPOUT_KEY, CAUSAL_KEY("false"), END_OF_KEYS};
const heed_key causal_answer_keys[] = {NUM_LABELS_KEY, CAUSAL_KEY("false"), END_OF_KEYS};
const heed_key causal_bare_keys[] = {CAUSAL_KEY("false"), END_OF_KEYS};
const heed_key causal_lm_keys[] = {TIED_KEY, CAUSAL_KEY("true"), END_OF_KEYS};

/* ---- make ---- */

const struct encoder_layout mixing_layout = {
    .from = &bert_layout,
    .pooler = "",
    .masked = {.dense = "head.dense", .norm = "head.norm", .decoder = "decoder", .bias = ""},
};

static const struct mixing_kind *kind_of(const struct mixing *m) { return (const void *)m->encoder.kind; }

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                       int number, struct mixing_layer *l) {
    const struct mixing_kind *const k = kind_of(m);
    const struct encoder *const e = &m->encoder;
    const int64_t C = e->width, hidden = config_int(cx, config, "intermediate_size", 1, MAX_SIZE);
    l->feed_forward.act = e->act;
    l->own = k->size ? heed_params_alloc(cx, set, 1, k->size) : NULL;
    return part_norm(cx, set, prefix, "norm1", C, e->eps, &l->norm1) &&
           k->build(cx, config, set, prefix, m, number, l->own) &&
           part_norm(cx, set, prefix, "norm2", C, e->eps, &l->norm2) &&
           part_linear(cx, set, prefix, "linear1", C, hidden, true, e->init, &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "linear2", hidden, C, true, e->init, &l->feed_forward.linear2);
}

bool mixing_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled, struct encoder *e) {
    (void)pooled;
    struct mixing *const m = (struct mixing *)e;
    const struct mixing_kind *const k = kind_of(m);
    const int64_t words = config_int(cx, config, "vocab_size", 1, MAX_SIZE);
    e->max_length = config_int(cx, config, "max_position_embeddings", 1, MAX_SIZE);
    m->causal = k->causal && heed_json_bool(cx, config, "causal");
    m->layer = heed_params_alloc(cx, set, (size_t)e->stack.layers, sizeof *m->layer);
    if (k->shared_size) m->shared = heed_params_alloc(cx, set, 1, k->shared_size);
    if (heed_failed(cx) || !part_embedding(cx, set, base, "word_embeddings", words, e->width, e->init, &e->word) ||
        !part_embedding(cx, set, base, "position_embeddings", e->max_length, e->width, e->init, &e->position))
        return false;
    e->word.padding = config_token(cx, config, "pad_token_id", words);
    if (k->share && !k->share(cx, config, set, base, m)) return false;
    for (int i = 0; i < e->stack.layers; i++)
        if (!make_layer(cx, config, set, part_numbered(cx, base, "layers", i).s, m, i, &m->layer[i])) return false;
    return !heed_failed(cx) && part_norm(cx, set, base, "norm", e->width, e->eps, &e->norm);
}

/* ---- run ---- */

static heed_tensor *layer_once(heed_ctx *cx, const struct mixing *m, heed_tensor *x, struct mixing_call *call) {
    const struct mixing_layer *const l = &m->layer[call->number];
    const float dropout = m->encoder.dropout;
    heed_tensor *n = kind_of(m)->run(cx, m, l->own, heed_norm_run(cx, &l->norm1, x), call);
    n = heed_add_norm_run(cx, &l->norm2, heed_dropout(cx, n, dropout), x, &x);
    return heed_add(cx, x, heed_dropout(cx, heed_feed_forward_run(cx, &l->feed_forward, n), dropout));
}

/* What a layer needs to be computed again (heed_recompute): its tensors are inputs, the rest is kept by value. */
struct again {
    const struct mixing *m;
    struct mixing_call call;
};
enum { AGAIN_TENSORS = 6 };

static heed_tensor *layer_again(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    struct again a = *(const struct again *)own;
    a.call.mask = in[1];
    a.call.padding.key_lengths = in[2], a.call.padding.query_lengths = in[3];
    a.call.padding.keep = in[4], a.call.padding.add = in[5];
    return layer_once(cx, a.m, in[0], &a.call);
}

static heed_tensor *layer_run(heed_ctx *cx, const struct mixing *m, heed_tensor *x, struct mixing_call *call) {
    const struct engine *const e = engine_of(cx);
    if (!e || !e->recompute || !e->recording || cx->capture || kind_of(m)->carries || call->state)
        return layer_once(cx, m, x, call);
    const struct again a = {m, *call};
    const heed_mask *const p = &call->padding;
    heed_tensor *in[AGAIN_TENSORS] = {x, call->mask, p->key_lengths, p->query_lengths, p->keep, p->add};
    return heed_recompute(cx, layer_again, &a, sizeof a, in, AGAIN_TENSORS);
}

heed_tensor *mixing_layers(heed_ctx *cx, const struct mixing *m, heed_tensor *x, const struct mixing_call *call) {
    struct mixing_call c = *call;
    const bool carries = kind_of(m)->carries;
    heed_scope_begin(cx);
    for (c.number = 0; c.number < m->encoder.stack.layers; c.number++) {
        if (carries) heed_scope_begin(cx); /* two tensors go on */
        x = layer_run(cx, m, x, &c);
        if (carries)
            heed_scope_end_many(cx, (heed_tensor *[]){x, c.carried}, 2);
        else
            x = heed_scope_keep(cx, x);
    }
    return heed_scope_end(cx, heed_norm_run(cx, &m->encoder.norm, x));
}

heed_tensor *mixing_embed(heed_ctx *cx, const struct mixing *m, heed_tensor *ids, heed_tensor *positions,
                          int64_t start) {
    const struct encoder *const e = &m->encoder;
    if (heed_failed(cx) || !ids) return NULL;
    heed_tensor *const at = positions ? heed_embedding_run(cx, &e->position, positions)
                                      : heed_param_rows(cx, e->position.weight, start, heed_dim(ids, 1));
    return heed_dropout(cx, heed_add(cx, heed_embedding_run(cx, &e->word, ids), at), e->dropout);
}

heed_tensor *mixing_run(heed_ctx *cx, const struct encoder *e, const heed_io *in) {
    const struct mixing *const m = (const struct mixing *)e;
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    heed_tensor *const positions = ids ? input_like(cx, in, "position_ids", ids) : NULL;
    if (heed_failed(cx)) return NULL;
    if (ids->shape[1] > e->max_length) {
        heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld",
                  (long long)ids->shape[1], (long long)e->max_length);
        return NULL;
    }
    const struct mixing_call call = {.mask = input_mask(cx, in, ids), .padding = input_padding(cx, in, ids)};
    return mixing_layers(cx, m, mixing_embed(cx, m, ids, positions, 0), &call);
}

/* ---- heads ---- */

bool mixing_build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    static const char *const names[] = {"mean", "first", NULL};
    struct encoder *m = own;
    const int pooling = config_choice(cx, b->config, "pooling", names);
    m->pooling = pooling == 0 ? POOL_UNMASKED_MEAN : POOL_UNMASKED_FIRST;
    return !heed_failed(cx) && encoder_build_classify(cx, b, m);
}

bool mixing_build_lm(heed_ctx *cx, const heed_build *b, void *own) {
    struct encoder *m = own;
    if (!heed_json_bool(cx, b->config, "causal"))
        return heed_json_fail(cx, heed_json_find(cx, b->config, "causal"), "a language model needs true");
    return encoder_build_body(cx, b, false, m) &&
           head_make_decoder(cx, b->config, b->params, "lm_head", NULL, m->width, false, m);
}

bool mixing_forward_lm(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const h = mixing_run(cx, m, in), *const next = input_next(cx, in, heed_io_get(in, "input_ids"));
    return head_tokens(cx, in, h, heed_param_weight(cx, m->decoder), NULL, next, out);
}

struct stepper_sizes mixing_sizes(const void *own) {
    const struct encoder *m = own;
    return (struct stepper_sizes){.vocabulary = m->decoder->shape[0], .positions = m->max_length};
}

heed_tensor *mixing_logits(heed_ctx *cx, const struct mixing *m, heed_tensor *h) {
    return heed_linear(cx, h, heed_param_weight(cx, m->encoder.decoder), NULL);
}

static bool step_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    return prefix_begin(cx, mixing_sizes(own), state, b);
}

static heed_tensor *next_logits(heed_ctx *cx, const void *own, const heed_io *in) {
    return mixing_logits(cx, own, attention_last(cx, mixing_run(cx, own, in), NULL));
}

static heed_tensor *step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    return prefix_step(cx, own, mixing_sizes(own), state, ids, counts, next_logits);
}

const struct heed_stepper mixing_stepper = {PREFIX_STATE, .sizes = mixing_sizes, .begin = step_begin, .step = step};
