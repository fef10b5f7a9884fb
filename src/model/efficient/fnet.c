/* FNet (Lee-Thorp et al. 2022): BERT in which a Fourier transform stands where attention stood. Nothing of it is
 * learnt, and every token still reaches every other:
 *
 *     x = W_e norm(word(ids) + segment(types) + position) + b_e
 *     x = norm(x + Re(F_T x F_C));  x = norm(x + W_2 a(W_1 x))       in each layer: O(T C log(T C)) beside W_1 and W_2
 *
 * Names and config keys are those of transformers; encoder.h says what the heads compute. Its classes take no
 * attention_mask: padding tokens are transformed with the others, as here without one. With one, which the batches of
 * tasks bring, each sequence is transformed over its own tokens alone, so that no result depends on what it was batched
 * with. */
#include "model/encoders/encoder.h"
#include "tensor/engine.h"

/* ---- make ---- */

static bool make_embeddings(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m) {
    const int64_t words = config_int(cx, config, "vocab_size", 1, MAX_SIZE),
                  segments = config_int(cx, config, "type_vocab_size", 1, MAX_SIZE), C = m->width;
    const struct part_name in = part_under(cx, base, "embeddings");
    m->max_length = config_int(cx, config, "max_position_embeddings", 1, MAX_SIZE);
    if (heed_failed(cx) || !part_embedding(cx, set, in.s, "word_embeddings", words, C, m->init, &m->word) ||
        !part_embedding(cx, set, in.s, "position_embeddings", m->max_length, C, m->init, &m->position) ||
        !part_embedding(cx, set, in.s, "token_type_embeddings", segments, C, m->init, &m->segment) ||
        !part_norm(cx, set, in.s, "LayerNorm", C, m->eps, &m->norm) ||
        !part_linear(cx, set, in.s, "projection", C, C, true, m->init, &m->project))
        return false;
    m->word.padding = config_token(cx, config, "pad_token_id", words);
    return !heed_failed(cx);
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct encoder *m,
                       heed_encoder_layer *l) {
    const int64_t C = m->width, hidden = config_int(cx, config, "intermediate_size", 1, MAX_SIZE);
    l->dropout = m->dropout;
    l->feed_forward.act = m->act;
    return part_norm(cx, set, prefix, "fourier.output.LayerNorm", C, m->eps, &l->norm1) &&
           part_linear(cx, set, prefix, "intermediate.dense", C, hidden, true, m->init, &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "output.dense", hidden, C, true, m->init, &l->feed_forward.linear2) &&
           part_norm(cx, set, prefix, "output.LayerNorm", C, m->eps, &l->norm2);
}

/* With use_tpu_fourier_optimizations transformers keeps matrices of the same transform among the weights. heed neither
 * needs nor writes them, and what it writes says so. */
static void use_no_matrices(heed_ctx *cx, heed_json config) {
    static const char *const key = "use_tpu_fourier_optimizations";
    if (heed_json_bool_or(cx, config, key, false)) heed_json_put_bool(cx, config, key, false);
}

/* The Python classes have a pooler under every head. */
static bool fnet_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled,
                      struct encoder *m) {
    heed_linear_layer *const pooler = &m->pool.dense;
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    use_no_matrices(cx, config);
    if (!make_embeddings(cx, config, set, base, m)) return false;
    for (int i = 0; m->stack.layer && i < m->stack.layers; i++) {
        const struct part_name layer = part_numbered(cx, base, "encoder.layer", i);
        if (!make_layer(cx, config, set, layer.s, m, &m->stack.layer[i])) return false;
    }
    m->pool.act = HEED_ACT_TANH;
    if (!part_linear(cx, set, base, "pooler.dense", m->width, m->width, true, m->init, pooler)) return false;
    pooler->weight->head = pooler->bias->head = true;
    pooler->weight->optional = pooler->bias->optional = !*base;
    pooler->weight->frozen = pooler->bias->frozen = !pooled; /* heads of tokens do not read it, and keep it as it is */
    return true;
}

/* ---- run ---- */

static heed_tensor *embed(heed_ctx *cx, const struct encoder *m, const heed_io *in, heed_tensor *ids) {
    heed_tensor *const types = input_like(cx, in, "token_type_ids", ids);
    heed_tensor *const kinds =
        types ? heed_embedding_run(cx, &m->segment, types) : heed_param_rows(cx, m->segment.weight, 0, 1);
    heed_tensor *const more = heed_add(cx, input_positions(cx, in, m->position.weight, ids, 0), kinds);
    heed_tensor *const x = heed_norm_run(cx, &m->norm, heed_add(cx, heed_embedding_run(cx, &m->word, ids), more));
    return heed_dropout(cx, heed_linear_run(cx, &m->project, x, HEED_ACT_NONE), m->dropout);
}

/* How many tokens come before the padding of row b; -1: there are some after it. */
static int64_t length_of(const heed_tensor *mask, int64_t b) {
    const int64_t T = mask->shape[1];
    const float *const row = f32_of(mask) + b * T;
    int64_t n = 0;
    while (n < T && row[n] != 0) n++;
    for (int64_t t = n; t < T; t++)
        if (row[t] != 0) return -1;
    return n;
}

/* Does every row fill the T places? A plan supposes so. */
static bool are_full(const heed_tensor *mask) {
    for (int64_t b = 0; b < mask->shape[0]; b++)
        if (length_of(mask, b) != mask->shape[1]) return false;
    return true;
}

/* Each sequence of x (B,T,C) over its own tokens; 0 at padding. */
static heed_tensor *mix_rows(heed_ctx *cx, heed_tensor *x, const heed_tensor *mask) {
    const int64_t B = heed_dim(x, 0), T = heed_dim(x, 1);
    heed_tensor **const row = bump_take(cx, &engine_of(cx)->lists, (size_t)B * sizeof(heed_tensor *));
    for (int64_t b = 0; row && b < B; b++) {
        const int64_t n = length_of(mask, b), before[3] = {0}, after[] = {0, T - n, 0};
        if (n < 0) {
            heed_fail(cx, HEED_ERR_FORMAT, "attention_mask: padding tokens must follow the others, not so in row %lld",
                      (long long)b);
            return NULL;
        }
        row[b] = heed_slice(cx, heed_slice(cx, x, 0, b, 1), 1, 0, n);
        row[b] = heed_pad(cx, heed_fourier_mix(cx, row[b]), before, after, 0);
    }
    return row ? heed_concat(cx, row, (int)B, 0) : NULL;
}

static heed_tensor *fnet_run(heed_ctx *cx, const struct encoder *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true), *x = ids ? embed(cx, m, in, ids) : NULL;
    heed_tensor *const given = ids ? input_mask(cx, in, ids) : NULL, *const mask =
                                                                         given && !cx->config.dry && !are_full(given)
                                                                             ? heed_contiguous(cx, given)
                                                                             : NULL;
    heed_scope_begin(cx);
    for (int i = 0; x && i < m->stack.layers; i++) {
        const heed_encoder_layer *const l = &m->stack.layer[i];
        heed_tensor *y = mask ? mix_rows(cx, x, mask) : heed_fourier_mix(cx, x);
        y = heed_add_norm_run(cx, &l->norm1, y, x, NULL);
        heed_tensor *const up = heed_dropout(cx, heed_feed_forward_run(cx, &l->feed_forward, y), l->dropout);
        x = heed_scope_keep(cx, heed_add_norm_run(cx, &l->norm2, up, y, NULL));
    }
    return heed_scope_end(cx, x);
}

/* ---- the family ---- */

static const struct encoder_layout fnet_layout = {
    .from = &bert_layout,
    .classify = {.dropout = "hidden_dropout_prob"},
    .choose = {.dropout = "hidden_dropout_prob"},
    .tag = {.dropout = "hidden_dropout_prob"},
};
static const struct encoder_kind fnet_kind = {.layout = &fnet_layout, .make = fnet_make, .run = fnet_run};

static const heed_key fnet_keys[] = {
    {"vocab_size", HEED_KEY_INT, "32000", "number of tokens"},
    {"hidden_size", HEED_KEY_INT, "768", "width"},
    {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},
    {"intermediate_size", HEED_KEY_INT, "3072", "width of the feed-forward layer"},
    {"hidden_act", HEED_KEY_TEXT, "gelu_new", "activation, by transformers' name"},
    {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the feed-forward layers' outputs"},
    {"max_position_embeddings", HEED_KEY_INT, "512", "number of positions"},
    {"type_vocab_size", HEED_KEY_INT, "4", "number of segments (token_type_ids)"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "epsilon of layer norms"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "3", "padding token"},
    END_OF_KEYS,
};
static const heed_key fnet_choose_keys[] = {END_OF_KEYS};

static const char *const fnet_ignored[] = {"embeddings.position_ids", "embeddings.token_type_ids",
                                           "encoder.layer.*.fourier.self.dft_mat_*", NULL};

static const heed_head fnet_heads[] = {
    ENCODER_HEADS("FNet", ENCODER_INPUTS, label_keys, num_labels_keys, num_labels_keys, fnet_choose_keys),
    {"FNetForPreTraining", "pretrain", ENCODER_INPUTS " labels next_sentence_label", .keys = encoder_masked_keys,
     ENCODER(pretrain)},
    {"FNetForNextSentencePrediction", "nsp", ENCODER_INPUTS " labels", ENCODER(sentence)},
    {.architecture = NULL},
};

const heed_family family_fnet = {
    .name = "fnet",
    .type = "fnet",
    .base = "fnet",
    .paper = "Lee-Thorp et al. 2022",
    .summary = "BERT with a Fourier transform where attention stood: nothing of the mixing is learnt",
    .notes =
        "Parameters have the names of transformers' classes: fnet.embeddings.projection.weight, "
        "fnet.encoder.layer.N.fourier.output.LayerNorm.weight and so on. Those take no attention_mask: "
        "without one, padding tokens are transformed with the others. With one, as in training and in the commands "
        "that read text, each sequence is transformed over its own tokens, as if it were alone, whatever it is "
        "batched with: what transformers gives for the text without padding. A model that was trained with texts "
        "padded to a fixed length, as the published ones were, has to be given texts padded so.",
    .keys = fnet_keys,
    .heads = fnet_heads,
    .ignored = fnet_ignored,
    .kind = &fnet_kind,
    .size = sizeof(struct encoder),
};
