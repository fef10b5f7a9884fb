/* T5 (Raffel et al. 2020), T5 1.1 and Flan-T5 (Chung et al. 2022), and mT5 (Xue et al. 2021): every task is text in,
 * text out.
 *
 *     h = embed(source);  h = h + attention(norm(h));  h = h + f(norm(h))                        in each encoder layer
 *     g = embed(target);  g = g + causal attention(norm(g));  g = g + attention(norm(g), h);  g = g + f(norm(g))
 *     logits = s norm(g) W'            s: C^-1/2 where W is the embedding, as of the first T5, else 1
 *
 * norm divides by the root mean square, without mean and bias; no layer has a bias. Scores are q'k, not divided by the
 * root of the head size, and instead of positions they have a bias by distance, b_h(bucket(j - i)), which the first
 * layer of a stack learns and the others share; cross attention has none. f is W_o relu(W_i x) or, of 1.1, W_o
 * (gelu(W_0 x) W_1 x). Names and config keys are those of transformers.
 *     input_ids, attention_mask (B,S), decoder_input_ids, decoder_attention_mask, labels (B,T) -> logits (B,T,V), loss
 */
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/encdec/seq2seq.h"
#include "model/encoders/encoder.h"
#include "model/parts/parts.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

struct t5 {
    struct seq2seq s; /* first: what encoder-decoders share is given the whole */
    heed_linear_layer dense, classifier;
    float head_dropout;
    enum problem problem;
    int32_t end;
};

/* What differs. */
struct kind {
    bool scales; /* the output, unless config.json says that it has a table of its own */
};
static const struct kind t5_kind = {.scales = true}, mt5_kind = {.scales = false};

#define KEYS(words, hidden, layers, heads, forward)                                                                    \
    {"vocab_size", HEED_KEY_INT, words, "number of tokens"}, {"d_model", HEED_KEY_INT, "512", "width"},                \
        {"d_kv", HEED_KEY_INT, "64", "size of an attention head"},                                                     \
        {"d_ff", HEED_KEY_INT, hidden, "width of the feed-forward layer"},                                             \
        {"num_layers", HEED_KEY_INT, layers, "number of encoder layers"},                                              \
        {"num_decoder_layers", HEED_KEY_INT_OR_NULL, "null", "number of decoder layers; null: num_layers"},            \
        {"num_heads", HEED_KEY_INT, heads, "number of attention heads"},                                               \
        {"relative_attention_num_buckets", HEED_KEY_INT, "32", "number of buckets of distances"},                      \
        {"relative_attention_max_distance", HEED_KEY_INT, "128", "distance from which on there is one bucket"},        \
        {"dropout_rate", HEED_KEY_NUMBER, "0.1", "dropout of embeddings, sublayers and attention weights"},            \
        {"layer_norm_epsilon", HEED_KEY_NUMBER, "1e-06", "epsilon of norms"},                                          \
        {"initializer_factor", HEED_KEY_NUMBER, "1", "factor of the deviations of fresh weights"},                     \
        {"feed_forward_proj", HEED_KEY_TEXT, forward,                                                                  \
         "an activation by transformers' name, such as relu, or with a gate: gated-gelu"},                             \
        {"pad_token_id", HEED_KEY_INT_OR_NULL, "0", "padding token"},                                                  \
        {"eos_token_id", HEED_KEY_INT_OR_NULL, "1", "end-of-sentence token"},                                          \
        {"decoder_start_token_id", HEED_KEY_INT_OR_NULL, "0", "start token of the target"}, {                          \
        "tie_word_embeddings", HEED_KEY_BOOL, "true",                                                                  \
            "the output layer shares the table of embeddings; where a file holds both, it does not"                    \
    }
static const heed_key t5_keys[] = {KEYS("32128", "2048", "6", "8", "relu"), END_OF_KEYS};
static const heed_key mt5_keys[] = {KEYS("250112", "1024", "8", "6", "gated-gelu"), END_OF_KEYS};
static const heed_key classify_keys[] = {
    LABEL_KEYS, {"classifier_dropout", HEED_KEY_NUMBER, "0", "dropout of the classifier"}, END_OF_KEYS};
static const heed_key tag_keys[] = {
    NUM_LABELS_KEY, {"classifier_dropout", HEED_KEY_NUMBER, "0", "dropout of the classifier"}, END_OF_KEYS};
static const heed_key answer_keys[] = {NUM_LABELS_KEY, END_OF_KEYS};
static const char *const t5_absent[] = {"decoder_start_token_id=null", NULL};
/* Of the first checkpoints, which had a table that nothing reads. */
static const char *const t5_ignored[] = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
                                         NULL};

/* ---- the parts of a stack ---- */

struct sizes {
    int64_t width, head, heads, hidden, buckets;
    float eps, dropout, factor;
    heed_activation act;
    bool gated;
};

/* Deviations as transformers draws them: factor / sqrt(fan). */
static heed_init drawn(const struct sizes *s, int64_t fan) {
    return (heed_init){HEED_INIT_NORMAL, 0, s->factor / sqrtf((float)fan)};
}

static bool norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, const struct sizes *s,
                 heed_norm_layer *layer) {
    if (!heed_norm_make(cx, set, part_under(cx, prefix, name).s, s->width, true, s->eps, layer)) return false;
    layer->weight->init = (heed_init){HEED_INIT_CONSTANT, s->factor, 0};
    return true;
}

static bool linear(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                   const struct sizes *s, heed_linear_layer *layer) {
    return part_linear(cx, set, prefix, name, in, out, false, drawn(s, in), layer);
}

/* q, k and v as one product; queries are drawn small, for scores are not divided by the root of the head size. */
static bool attention(heed_ctx *cx, heed_params *set, const char *prefix, const struct sizes *s,
                      heed_multihead *layer) {
    static const char *const names[] = {"q", "k", "v"};
    const int64_t C = s->width, inner = s->heads * s->head;
    *layer = (heed_multihead){.width = C,
                              .heads = s->heads,
                              .key_width = C,
                              .value_width = C,
                              .head_size = s->head,
                              .scale = 1,
                              .dropout = s->dropout};
    if (!linear(cx, set, prefix, "qkv", C, 3 * inner, s, &layer->in)) return false;
    for (int i = 0; i < 3; i++) {
        heed_param *const p =
            heed_param_slice(cx, set, part_under(cx, prefix, names[i]).s, "weight", layer->in.weight, i * inner, inner);
        if (!p) return false;
        if (i == 0) p->init = drawn(s, C * s->head);
    }
    return linear(cx, set, prefix, "o", inner, C, s, &layer->out);
}

static bool feed_forward(heed_ctx *cx, heed_params *set, const char *prefix, const struct sizes *s,
                         heed_feed_forward *layer) {
    const struct part_name path = part_under(cx, prefix, "DenseReluDense");
    *layer = (heed_feed_forward){.act = s->act, .dropout = s->dropout};
    if (s->gated && !linear(cx, set, path.s, "wi_0", s->width, s->hidden, s, &layer->gate)) return false;
    return linear(cx, set, path.s, s->gated ? "wi_1" : "wi", s->width, s->hidden, s, &layer->linear1) &&
           linear(cx, set, path.s, "wo", s->hidden, s->width, s, &layer->linear2);
}

/* The table of biases by distance: of a stack, but named after its first layer. */
static bool distances(heed_ctx *cx, heed_params *set, const char *attention, const struct sizes *s,
                      struct seq2seq_entry *entry) {
    heed_embedding_layer table = {0};
    if (!part_embedding(cx, set, attention, "relative_attention_bias", s->buckets, s->heads, drawn(s, s->width),
                        &table))
        return false;
    entry->distance = table.weight;
    return true;
}

static bool encoder_layer(heed_ctx *cx, heed_params *set, const char *stack, int i, const struct sizes *s,
                          struct seq2seq_entry *entry, heed_encoder_layer *l) {
    const struct part_name block = part_numbered(cx, stack, "block", i), self = part_under(cx, block.s, "layer.0"),
                           hidden = part_under(cx, block.s, "layer.1"),
                           attends = part_under(cx, self.s, "SelfAttention");
    *l = (heed_encoder_layer){.dropout = s->dropout, .norm_first = true, .number = i};
    return attention(cx, set, attends.s, s, &l->self_attn) && (i > 0 || distances(cx, set, attends.s, s, entry)) &&
           norm(cx, set, self.s, "layer_norm", s, &l->norm1) && feed_forward(cx, set, hidden.s, s, &l->feed_forward) &&
           norm(cx, set, hidden.s, "layer_norm", s, &l->norm2);
}

static bool decoder_layer(heed_ctx *cx, heed_params *set, const char *stack, int i, const struct sizes *s,
                          struct seq2seq_entry *entry, heed_decoder_layer *l) {
    const struct part_name block = part_numbered(cx, stack, "block", i), self = part_under(cx, block.s, "layer.0"),
                           cross = part_under(cx, block.s, "layer.1"), hidden = part_under(cx, block.s, "layer.2"),
                           attends = part_under(cx, self.s, "SelfAttention");
    *l = (heed_decoder_layer){.dropout = s->dropout, .norm_first = true, .number = i};
    return attention(cx, set, attends.s, s, &l->self_attn) && (i > 0 || distances(cx, set, attends.s, s, entry)) &&
           norm(cx, set, self.s, "layer_norm", s, &l->norm1) &&
           attention(cx, set, part_under(cx, cross.s, "EncDecAttention").s, s, &l->multihead_attn) &&
           norm(cx, set, cross.s, "layer_norm", s, &l->norm2) && feed_forward(cx, set, hidden.s, s, &l->feed_forward) &&
           norm(cx, set, hidden.s, "layer_norm", s, &l->norm3);
}

/* ---- the body ---- */

/* "relu", "gated-gelu"; dense_act_fn and is_gated_act, which transformers writes beside it, override it as there. */
static void read_forward(heed_ctx *cx, heed_json config, struct sizes *s) {
    const char *const said = heed_json_text(cx, config, "feed_forward_proj");
    if (!said) return;
    const char *const dash = strchr(said, '-'), *const act = dash ? dash + 1 : said;
    if (dash && (strncmp(said, "gated-", 6) != 0 || strchr(act, '-'))) {
        heed_json_fail(cx, heed_json_find(cx, config, "feed_forward_proj"),
                       "an activation or gated- with an activation is needed, such as gated-gelu");
        return;
    }
    const char *const name =
        heed_json_text_or(cx, config, "dense_act_fn", strcmp(said, "gated-gelu") == 0 ? "gelu_new" : act);
    s->gated = heed_json_bool_or(cx, config, "is_gated_act", dash != NULL);
    if (name && !heed_activation_find(name, &s->act))
        heed_json_fail(cx, heed_json_find(cx, config, "feed_forward_proj"), "the activation is not one of: %s",
                       heed_activation_names());
}

static void read_config(heed_ctx *cx, const heed_build *b, bool decodes, struct seq2seq *m, struct sizes *s) {
    const struct kind *const kind = b->family->kind;
    const heed_json config = b->config;
    const int64_t most = (int64_t)1 << 30;
    m->source_size = m->target_size = config_int(cx, config, "vocab_size", 1, most);
    m->width = s->width = config_int(cx, config, "d_model", 1, most);
    s->head = config_int(cx, config, "d_kv", 1, 1 << 20);
    s->heads = config_int(cx, config, "num_heads", 1, 1 << 20);
    s->hidden = config_int(cx, config, "d_ff", 1, most);
    m->max_length = UNLIMITED;
    m->encoder.layers = (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS);
    m->decoder.layers = (int)config_int_or(cx, config, "num_decoder_layers", 1, MAX_LAYERS, m->encoder.layers);
    s->buckets = config_int(cx, config, "relative_attention_num_buckets", 4, most);
    /* beyond the distances that have buckets of their own, of which an encoder has as many on either side */
    m->max_distance =
        config_int(cx, config, "relative_attention_max_distance", s->buckets / (decodes ? 2 : 4) + 1, most);
    s->dropout = m->dropout = m->last_dropout = (float)config_number(cx, config, "dropout_rate", 0, 1);
    s->eps = (float)config_number(cx, config, "layer_norm_epsilon", 0, 1);
    s->factor = (float)config_number(cx, config, "initializer_factor", 0, 1e6);
    m->pad = config_token(cx, config, "pad_token_id", m->source_size);
    m->start = config_token(cx, config, "decoder_start_token_id", m->source_size);
    m->scale = 1;
    const bool own = !heed_json_bool(cx, config, "tie_word_embeddings");
    if (kind->scales && heed_json_bool_or(cx, config, "scale_decoder_outputs", !own))
        m->output_scale = 1 / sqrtf((float)m->width);
    read_forward(cx, config, s);
}

static bool make_encoder(heed_ctx *cx, heed_params *set, const char *base, const struct sizes *s, struct seq2seq *m) {
    const struct part_name stack = part_under(cx, base, "encoder");
    heed_param_tie(cx, set, part_under(cx, stack.s, "embed_tokens").s, "weight", m->source.tokens.weight);
    m->encoder.layer = heed_params_alloc(cx, set, (size_t)m->encoder.layers, sizeof *m->encoder.layer);
    for (int i = 0; i < m->encoder.layers; i++)
        if (!m->encoder.layer || !encoder_layer(cx, set, stack.s, i, s, &m->source, &m->encoder.layer[i])) return false;
    return norm(cx, set, stack.s, "final_layer_norm", s, &m->encoder.norm);
}

static bool make_decoder(heed_ctx *cx, heed_params *set, const char *base, const struct sizes *s, struct seq2seq *m) {
    const struct part_name stack = part_under(cx, base, "decoder");
    heed_param_tie(cx, set, part_under(cx, stack.s, "embed_tokens").s, "weight", m->target.tokens.weight);
    m->decoder.layer = heed_params_alloc(cx, set, (size_t)m->decoder.layers, sizeof *m->decoder.layer);
    for (int i = 0; i < m->decoder.layers; i++)
        if (!m->decoder.layer || !decoder_layer(cx, set, stack.s, i, s, &m->target, &m->decoder.layer[i])) return false;
    return norm(cx, set, stack.s, "final_layer_norm", s, &m->decoder.norm);
}

static bool make_body(heed_ctx *cx, const heed_build *b, const char *base, bool decodes, struct sizes *s,
                      struct seq2seq *m) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    *s = (struct sizes){0};
    read_config(cx, b, decodes, m, s);
    if (heed_failed(cx) ||
        !part_embedding(cx, set, base, "shared", m->source_size, m->width, drawn(s, 1), &m->source.tokens))
        return false;
    m->target.tokens = m->source.tokens;
    if (!decodes && heed_json_bool_or(cx, config, "is_decoder", false))
        return heed_json_fail(cx, heed_json_find(cx, config, "is_decoder"),
                              "true, but this architecture is an encoder");
    return make_encoder(cx, set, base, s, m) && (!decodes || make_decoder(cx, set, base, s, m)) && !heed_failed(cx);
}

/* ---- ForConditionalGeneration ---- */

static bool generate_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct t5 *m = own;
    struct sizes s;
    if (!make_body(cx, b, "", true, &s, &m->s)) return false;
    m->s.output = heed_param_tie_loosely(cx, b->params, "lm_head", "weight", m->s.source.tokens.weight,
                                         heed_json_bool(cx, b->config, "tie_word_embeddings"), drawn(&s, 1));
    return m->s.output != NULL;
}

/* ---- Model and EncoderModel ---- */

static bool bare_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct t5 *m = own;
    struct sizes s;
    return make_body(cx, b, "", true, &s, &m->s);
}

static bool bare_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct t5 *m = own;
    heed_tensor *const target = input_ids(cx, in, "decoder_input_ids", true), *const h = seq2seq_decode(
                                                                                  cx, &m->s, in, target,
                                                                                  seq2seq_encode(cx, &m->s, in));
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

static bool bare_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)own;
    return input_sample(cx, batch, length, in) &&
           heed_io_put(cx, in, "decoder_input_ids", heed_zeros(cx, HEED_I32, 2, (int64_t[]){batch, length}));
}

static bool encoder_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct t5 *m = own;
    struct sizes s;
    if (!make_body(cx, b, "", false, &s, &m->s)) return false;
    for (int i = 0; i < m->s.encoder.layers; i++) m->s.encoder.layer[i].site = "attention";
    return true;
}

static bool encoder_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct t5 *m = own;
    heed_tensor *const h = seq2seq_encode(cx, &m->s, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

static bool encoder_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)own;
    return input_sample(cx, batch, length, in);
}

/* ---- heads of classification ---- the decoder is given the source itself, one place on */

static heed_tensor *both_stacks(heed_ctx *cx, const struct t5 *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    heed_tensor *target = input_ids(cx, in, "decoder_input_ids", false);
    if (!target && ids) target = seq2seq_shifted(cx, &m->s, ids);
    return seq2seq_decode(cx, &m->s, in, target, seq2seq_encode(cx, &m->s, in));
}

static bool classify_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    struct t5 *m = own;
    struct sizes s;
    if (!make_body(cx, b, "transformer", true, &s, &m->s)) return false;
    m->problem = config_problem(cx, config);
    m->end = config_token(cx, config, "eos_token_id", m->s.source_size);
    m->head_dropout = (float)config_number(cx, config, "classifier_dropout", 0, 1);
    const heed_init init = drawn(&s, s.width);
    return part_linear(cx, b->params, "", "classification_head.dense", s.width, s.width, true, init, &m->dense) &&
           part_linear(cx, b->params, "", "classification_head.out_proj", s.width, config_labels(cx, config), true,
                       init, &m->classifier);
}

/* h (B,T,C), ids (B,S) -> (B,C): where the last end token of each source is. As in transformers all have equally many.
 */
static heed_tensor *at_end(heed_ctx *cx, const struct t5 *m, heed_tensor *h, heed_tensor *ids) {
    if (heed_failed(cx) || !h || !(ids = heed_contiguous(cx, ids))) return NULL;
    const int64_t B = ids->shape[0], S = ids->shape[1], T = h->shape[1];
    heed_tensor *const last = heed_zeros(cx, HEED_I32, 1, &B);
    int64_t first = 0;
    for (int64_t b = 0; last && b < B && !cx->config.dry; b++) {
        int64_t ends = 0, place = 0;
        for (int64_t t = 0; t < S; t++)
            if (i32_of(ids)[b * S + t] == m->end) ends++, place = t;
        if (b == 0) first = ends;
        if (ends == 0 || ends != first || place >= T) {
            heed_fail(cx, HEED_ERR_RANGE,
                      "input_ids: row %lld has %lld end tokens: all rows need equally many, at least one", (long long)b,
                      (long long)ends);
            return NULL;
        }
        ((int32_t *)(void *)last->data)[b] = (int32_t)(b * T + place);
    }
    return heed_index_select(cx, heed_reshape(cx, h, 2, (int64_t[]){B * T, h->shape[2]}), 0, last);
}

static bool classify_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct t5 *m = own;
    heed_tensor *x = at_end(cx, m, both_stacks(cx, m, in), heed_io_get(in, "input_ids"));
    x = heed_linear_run(cx, &m->dense, heed_dropout(cx, x, m->head_dropout), HEED_ACT_TANH);
    x = heed_linear_run(cx, &m->classifier, heed_dropout(cx, x, m->head_dropout), HEED_ACT_NONE);
    return head_classify(cx, m->problem, in, x, out);
}

static bool classify_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct t5 *m = own;
    const int64_t labels[] = {batch, m->classifier.weight->shape[0]};
    const bool numbers = m->problem == PROBLEM_REGRESSION || m->problem == PROBLEM_MANY_LABELS;
    return input_sample(cx, batch, length, in) &&
           heed_io_put(cx, in, "labels",
                       numbers ? heed_zeros(cx, HEED_F32, 2, labels) : heed_zeros(cx, HEED_I32, 1, labels));
}

static bool tag_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct t5 *m = own;
    struct sizes s;
    if (!make_body(cx, b, "transformer", false, &s, &m->s)) return false;
    for (int i = 0; i < m->s.encoder.layers; i++) m->s.encoder.layer[i].site = "attention";
    m->head_dropout = (float)config_number(cx, b->config, "classifier_dropout", 0, 1);
    return part_linear(cx, b->params, "", "classifier", s.width, config_labels(cx, b->config), true, drawn(&s, 1),
                       &m->classifier);
}

static bool tag_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct t5 *m = own;
    heed_tensor *const h = heed_dropout(cx, seq2seq_encode(cx, &m->s, in), m->head_dropout), *const labels = input_like(
                                                                                                 cx, in, "labels",
                                                                                                 heed_io_get(
                                                                                                     in, "input_ids"));
    if (heed_failed(cx)) return false;
    return head_tokens(cx, in, h, heed_param_weight(cx, m->classifier.weight),
                       heed_param_tensor(cx, m->classifier.bias), labels, out);
}

static bool tag_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return encoder_sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, (int64_t[]){batch, length}));
}

static bool answer_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct t5 *m = own;
    struct sizes s;
    if (!head_has_span(cx, b->config) || !make_body(cx, b, "", true, &s, &m->s) ||
        !part_linear(cx, b->params, "", "qa_outputs", s.width, 2, true, drawn(&s, s.width), &m->classifier))
        return false;
    m->classifier.weight->head = m->classifier.bias->head = true;
    return true;
}

static bool answer_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct t5 *m = own;
    return head_span(cx, in, heed_linear_run(cx, &m->classifier, both_stacks(cx, m, in), HEED_ACT_NONE), out);
}

static bool answer_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return encoder_sample(cx, own, batch, length, in) && head_span_sample(cx, batch, in);
}

/* ---- the families ---- */

#define SOURCE    "input_ids attention_mask"
#define TARGET    " decoder_input_ids decoder_attention_mask"
#define RUN(name) .build = name##_build, .forward = name##_forward, .sample = name##_sample
#define HEADS(Name)                                                                                                    \
    {Name "ForConditionalGeneration", "text2text", SOURCE TARGET " labels", .build = generate_build, SEQ2SEQ_RUN},     \
        {Name "Model", "", SOURCE TARGET, .bare = true, RUN(bare)},                                                    \
        {Name "EncoderModel", "embed", SOURCE, RUN(encoder)},                                                          \
        {Name "ForSequenceClassification", "classify", SOURCE TARGET " labels", .keys = classify_keys, RUN(classify)}, \
        {Name "ForTokenClassification", "tag", SOURCE " labels", .keys = tag_keys, RUN(tag)},                          \
        {Name "ForQuestionAnswering", "qa", SOURCE TARGET " start_positions end_positions", .keys = answer_keys,       \
         RUN(answer)},                                                                                                 \
    {                                                                                                                  \
        .architecture = NULL                                                                                           \
    }

static const heed_head t5_heads[] = {HEADS("T5")};
const heed_family family_t5 = {
    .name = "t5",
    .type = "t5",
    .base = "transformer",
    .paper = "Raffel et al. 2020",
    .summary = "the Transformer of T5, 1.1 and Flan: every task as text to text",
    .notes =
        "Parameters have the names of transformers' classes: shared.weight, "
        "encoder.block.N.layer.0.SelfAttention.q.weight and so on. The first T5 has feed_forward_proj relu; 1.1 and "
        "Flan have gated-gelu and tie_word_embeddings false, which also means that the output is not scaled. As in "
        "transformers 5 an output layer in the file, lm_head.weight, is used whatever tie_word_embeddings says. There "
        "are no positions, and so no maximum length.",
    .keys = t5_keys,
    .heads = t5_heads,
    .ignored = t5_ignored,
    .absent = t5_absent,
    .kind = &t5_kind,
    .size = sizeof(struct t5),
};

static const heed_head mt5_heads[] = {HEADS("MT5")};
const heed_family family_mt5 = {
    .name = "mt5",
    .type = "mt5",
    .base = "transformer",
    .paper = "Xue et al. 2021",
    .summary = "T5 1.1 in 101 languages",
    .notes =
        "As t5, without scaling the output. As in transformers 5 an output layer in the file, lm_head.weight, is used "
        "whatever tie_word_embeddings says.",
    .keys = mt5_keys,
    .heads = mt5_heads,
    .ignored = t5_ignored,
    .kind = &mt5_kind,
    .size = sizeof(struct t5),
};
