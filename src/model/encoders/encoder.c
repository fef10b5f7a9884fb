/* The body of BERT and its kin: embeddings, layers and pooler under each family's names. */
#include "model/encoders/encoder.h"
#include "tensor/engine.h"

const char *const encoder_ignored[] = {"embeddings.position_ids", "embeddings.token_type_ids", NULL};

const struct encoder_layout bert_layout = {
    .key = {.width = "hidden_size",
            .layers = "num_hidden_layers",
            .heads = "num_attention_heads",
            .hidden = "intermediate_size",
            .act = "hidden_act",
            .dropout = "hidden_dropout_prob",
            .attention_dropout = "attention_probs_dropout_prob",
            .eps = "layer_norm_eps"},
    .stack = "encoder.layer",
    .layer = {.qkv = {"attention.self.query", "attention.self.key", "attention.self.value"},
              .out = "attention.output.dense",
              .norm1 = "attention.output.LayerNorm",
              .up = "intermediate.dense",
              .down = "output.dense",
              .norm2 = "output.LayerNorm"},
    .pooler = "pooler.dense",
    .masked = {.dense = "cls.predictions.transform.dense",
               .norm = "cls.predictions.transform.LayerNorm",
               .decoder = "cls.predictions.decoder",
               .bias = "cls.predictions.bias"},
    .sentence = {.out = "cls.seq_relationship"},
    .sentence_logits = "seq_relationship_logits",
    .sentence_label = "next_sentence_label",
    .classify = {.dropout = "classifier_dropout", .out = "classifier"},
    .choose = {.dropout = "classifier_dropout", .out = "classifier"},
    .tag = {.dropout = "classifier_dropout", .out = "classifier"},
    .answer = {.out = "qa_outputs"},
};

/* ---- make ---- */

static bool no_decoder(heed_ctx *cx, heed_json config) {
    static const char *const only[] = {"absolute", NULL}, *const off[] = {"is_decoder", "add_cross_attention"};
    if (heed_json_kind_of(heed_json_find(cx, config, "position_embedding_type")) == HEED_JSON_TEXT)
        config_choice(cx, config, "position_embedding_type", only);
    for (int i = 0; i < 2 && !heed_failed(cx); i++)
        if (heed_json_kind_of(heed_json_find(cx, config, off[i])) == HEED_JSON_BOOL &&
            heed_json_bool(cx, config, off[i]))
            heed_json_fail(cx, heed_json_find(cx, config, off[i]), "only encoders are supported, not decoders");
    return !heed_failed(cx);
}

struct encoder_layout encoder_names(const struct encoder_kind *kind) {
    struct encoder_layout complete;
    part_layout(kind->layout, &complete, sizeof complete);
    return complete;
}

static bool make_sizes(heed_ctx *cx, heed_json config, struct encoder *m) {
    const struct encoder_layout n = encoder_names(m->kind);
    m->width = config_int(cx, config, n.key.width, 1, MAX_SIZE);
    m->dropout = (float)config_number(cx, config, n.key.dropout, 0, 1);
    m->eps = n.key.eps ? (float)config_number(cx, config, n.key.eps, 0, 1) : 1e-12f;
    m->act = config_activation(cx, config, n.key.act);
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    m->stack.layers = (int)config_int(cx, config, n.key.layers, 0, MAX_LAYERS);
    return no_decoder(cx, config);
}

/* RoBERTa's positions begin behind the padding token's number, which is the position of padding tokens. */
static bool offset_padding(heed_ctx *cx, heed_json config, struct encoder *m) {
    if (m->word.padding < 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "pad_token_id"),
                              "a padding token is needed, since positions are counted from it");
    if (m->word.padding + 1 >= m->max_length)
        return heed_json_fail(cx, heed_json_find(cx, config, "max_position_embeddings"),
                              "no position is left behind that of the padding token, %d", m->word.padding);
    m->position.padding = m->word.padding;
    m->max_length -= m->word.padding + 1;
    return true;
}

static void share_weight(heed_ctx *cx, heed_params *set, const char *in, const char *name, heed_param *weight) {
    heed_param_tie(cx, set, part_under(cx, in, name).s, "weight", weight);
}

/* Those of another encoder of the same embedding width, under names of its own. */
static bool share_embeddings(heed_ctx *cx, heed_params *set, const char *base, struct encoder *m) {
    const struct encoder *const from = m->shares;
    const struct part_name in = part_under(cx, base, "embeddings");
    m->max_length = from->max_length;
    m->word = from->word;
    m->position = from->position;
    m->segment = from->segment;
    m->norm = from->norm;
    share_weight(cx, set, in.s, "word_embeddings", m->word.weight);
    share_weight(cx, set, in.s, "position_embeddings", m->position.weight);
    share_weight(cx, set, in.s, "token_type_embeddings", m->segment.weight);
    share_weight(cx, set, in.s, "LayerNorm", m->norm.weight);
    heed_param_tie(cx, set, part_under(cx, in.s, "LayerNorm").s, "bias", m->norm.bias);
    const int64_t width = heed_failed(cx) ? 0 : m->word.weight->shape[1];
    return !heed_failed(cx) && (width == m->width || part_linear(cx, set, base, encoder_names(m->kind).project, width,
                                                                 m->width, true, m->init, &m->project));
}

static bool make_embeddings(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m) {
    const struct encoder_kind *const k = m->kind;
    const struct encoder_layout n = encoder_names(m->kind);
    const int64_t words = config_int(cx, config, "vocab_size", 1, MAX_SIZE),
                  width = n.key.embedding ? config_int(cx, config, n.key.embedding, 1, MAX_SIZE) : m->width;
    const struct part_name in = part_under(cx, base, "embeddings");
    m->max_length = config_int(cx, config, "max_position_embeddings", 1, MAX_SIZE);
    if (heed_failed(cx) || !part_embedding(cx, set, in.s, "word_embeddings", words, width, m->init, &m->word) ||
        !part_embedding(cx, set, in.s, "position_embeddings", m->max_length, width, m->init, &m->position))
        return false;
    if (k->segments &&
        !part_embedding(cx, set, in.s, "token_type_embeddings", config_int(cx, config, "type_vocab_size", 1, MAX_SIZE),
                        width, m->init, &m->segment))
        return false;
    if (k->tasks && heed_json_bool(cx, config, "use_task_id") &&
        !part_embedding(cx, set, in.s, "task_type_embeddings",
                        config_int(cx, config, "task_type_vocab_size", 1, MAX_SIZE), width, m->init, &m->task))
        return false;
    if (!part_norm(cx, set, in.s, "LayerNorm", width, m->eps, &m->norm)) return false;
    if (k->padding >= words)
        return heed_json_fail(cx, heed_json_find(cx, config, "vocab_size"), "the padding token is %d", k->padding);
    m->word.padding = k->padding ? k->padding : config_token(cx, config, "pad_token_id", words);
    if (k->from_padding && !offset_padding(cx, config, m)) return false;
    if (k->projects || (n.project && width != m->width))
        return part_linear(cx, set, base, n.project, width, m->width, true, m->init, &m->project);
    return !heed_failed(cx);
}

bool encoder_make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct encoder *m,
                        heed_encoder_layer *l) {
    const struct encoder_layout n = encoder_names(m->kind);
    const int64_t C = m->width, hidden = config_int(cx, config, n.key.hidden, 1, MAX_SIZE);
    l->dropout = m->dropout;
    l->keeps_attention = m->kind->keeps_attention;
    l->site = "attention";
    l->feed_forward.act = m->act;
    l->self_attn.dropout = (float)config_number(cx, config, n.key.attention_dropout, 0, 1);
    return part_heads(cx, config, n.key.width, n.key.heads, &l->self_attn) &&
           part_qkv(cx, set, prefix, n.layer.qkv, C, m->init, &l->self_attn.in) &&
           part_linear(cx, set, prefix, n.layer.out, C, C, true, m->init, &l->self_attn.out) &&
           part_norm(cx, set, prefix, n.layer.norm1, C, m->eps, &l->norm1) &&
           part_linear(cx, set, prefix, n.layer.up, C, hidden, true, m->init, &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, n.layer.down, hidden, C, true, m->init, &l->feed_forward.linear2) &&
           part_norm(cx, set, prefix, n.layer.norm2, C, m->eps, &l->norm2);
}

static bool make_pooler(heed_ctx *cx, heed_params *set, const char *base, struct encoder *m) {
    heed_linear_layer *const pooler = &m->pool.dense;
    if (!part_linear(cx, set, base, encoder_names(m->kind).pooler, m->width, m->width, true, m->init, pooler))
        return false;
    m->pool.act = HEED_ACT_TANH;
    pooler->weight->head = pooler->bias->head = true;           /* models that were trained without it lack it */
    pooler->weight->optional = pooler->bias->optional = !*base; /* the states of tokens can do without */
    return true;
}

bool encoder_make_stack(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m) {
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    for (int i = 0; m->stack.layer && i < m->stack.layers; i++) {
        const struct part_name layer = part_numbered(cx, base, encoder_names(m->kind).stack, i);
        m->stack.layer[i].number = i;
        if (!encoder_make_layer(cx, config, set, layer.s, m, &m->stack.layer[i])) return false;
    }
    return !heed_failed(cx);
}

bool encoder_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled, struct encoder *m) {
    const struct encoder_kind *const kind = m->kind;
    if (!make_sizes(cx, config, m)) return false;
    if (kind->make) return kind->make(cx, config, set, base, pooled, m);
    if (!(m->shares ? share_embeddings(cx, set, base, m) : make_embeddings(cx, config, set, base, m))) return false;
    return (kind->make_stack ? kind->make_stack : encoder_make_stack)(cx, config, set, base, m) &&
           (!pooled || make_pooler(cx, set, base, m));
}

/* ---- run ---- */

/* RoBERTa's positions: p + 1, p + 2, … for tokens, p for the padding token, whose number is p. */
static heed_tensor *offset_positions(heed_ctx *cx, const struct encoder *m, const heed_tensor *ids) {
    heed_tensor *const t = ids ? heed_zeros(cx, HEED_I32, 2, ids->shape) : NULL;
    if (!t || cx->config.dry) return t;
    int32_t *const to = (int32_t *)(void *)t->data;
    const int32_t padding = m->word.padding;
    const int64_t T = ids->shape[1];
    for (int64_t i = 0, seen = 0; i < ids->count; i++) {
        if (i % T == 0) seen = 0;
        to[i] = i32_of(ids)[i] == padding ? padding : padding + (int32_t)++seen;
        if (seen > m->max_length) {
            heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld", (long long)T,
                      (long long)m->max_length);
            return NULL;
        }
    }
    return t;
}

/* (T,E) or (B,T,E) */
static heed_tensor *positions(heed_ctx *cx, const struct encoder *m, const heed_io *in, const heed_tensor *ids) {
    if (!m->kind->from_padding) return input_positions(cx, in, m->position.weight, ids, 0);
    heed_tensor *const given = input_like(cx, in, "position_ids", ids);
    return heed_embedding_run(cx, &m->position, given ? given : offset_positions(cx, m, ids));
}

/* Rows of a table for ids that may be given, else its row 0. */
static heed_tensor *kinds(heed_ctx *cx, const heed_embedding_layer *table, heed_tensor *given) {
    return given ? heed_embedding_run(cx, table, given) : heed_param_rows(cx, table->weight, 0, 1);
}

static heed_tensor *embed(heed_ctx *cx, const struct encoder *m, const heed_io *in, heed_tensor *ids) {
    heed_tensor *x = heed_embedding_run(cx, &m->word, ids), *more = NULL;
    if (m->position.weight) more = positions(cx, m, in, ids);
    if (m->segment.weight) more = heed_add(cx, more, kinds(cx, &m->segment, input_like(cx, in, "token_type_ids", ids)));
    if (m->task.weight) more = heed_add(cx, more, kinds(cx, &m->task, input_like(cx, in, "task_type_ids", ids)));
    if (more) x = heed_add(cx, x, more);
    x = heed_dropout(cx, heed_norm_run(cx, &m->norm, x), m->dropout);
    return m->project.weight ? heed_linear_run(cx, &m->project, x, HEED_ACT_NONE) : x;
}

/* T5's buckets, of which MPNet has as many whatever the table's size is. */
static heed_tensor *distance_bias(heed_ctx *cx, const struct encoder *m, int64_t T) {
    return heed_t5_bias(cx, heed_param_rows(cx, m->distance, 0, DISTANCE_BUCKETS), T, T, 0, true, 128);
}

static heed_tensor *run(heed_ctx *cx, const struct encoder *m, const heed_io *in, bool first) {
    if (m->kind->run) return m->kind->run(cx, m, in);
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    heed_attention_opts o = {.mask = input_padding(cx, in, ids)};
    /* without a table of positions, these are the layers' rotary ones */
    const heed_rotary_opts rotary = {.positions =
                                         ids && !m->position.weight ? input_like(cx, in, "position_ids", ids) : NULL};
    if (rotary.positions) o.rotary = &rotary;
    if (m->distance && ids) o.distance_bias = distance_bias(cx, m, heed_dim(ids, 1));
    return (first ? heed_encoder_attend_first : heed_encoder_attend)(cx, &m->stack, embed(cx, m, in, ids), &o);
}

heed_tensor *encoder_run(heed_ctx *cx, const struct encoder *m, const heed_io *in) { return run(cx, m, in, false); }

heed_tensor *encoder_run_pooled(heed_ctx *cx, const struct encoder *m, const heed_io *in) {
    return run(cx, m, in, m->pooling == POOL_FIRST);
}
