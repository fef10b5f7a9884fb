/* GPT-NeoX (Black et al. 2022), Pythia (Biderman et al. 2023): a decoder whose layers attend and feed forward side by
 * side, with rotary positions of a part of each head.
 *
 *     h = h + W_o attention(turn(q), turn(k), v) + W_2 a(W_1 norm_2(h)),   q, k, v of norm_1(h)      in each layer
 *     h = norm(h)
 *
 * The rows of one weight are q, k and v of head 0, then those of head 1, and so on. Without use_parallel_residual the
 * feed-forward layer comes after attention, as usual. Names and config keys are those of transformers: rotary_pct and
 * rotary_emb_base, or rope_parameters; decoder.h says what the heads give. */
#include "model/decoders/decoder.h"

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct decoder *m,
                       heed_encoder_layer *l) {
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const int64_t C = m->width, hidden = config_int(cx, config, "intermediate_size", 1, (int64_t)1 << 30);
    const bool bias = heed_json_bool(cx, config, "attention_bias");
    l->norm_first = true;
    l->site = "attention";
    l->parallel = heed_json_bool(cx, config, "use_parallel_residual");
    l->dropout = m->dropout;
    l->feed_forward.act = config_activation(cx, config, "hidden_act");
    l->self_attn.dropout = (float)config_number(cx, config, "attention_dropout", 0, 1);
    l->self_attn.by_head = true;
    return part_heads(cx, config, "hidden_size", "num_attention_heads", &l->self_attn) &&
           part_norm(cx, set, prefix, "input_layernorm", C, eps, &l->norm1) &&
           part_norm(cx, set, prefix, "post_attention_layernorm", C, eps, &l->norm2) &&
           part_linear(cx, set, prefix, "attention.query_key_value", C, 3 * C, bias, m->init, &l->self_attn.in) &&
           part_linear(cx, set, prefix, "attention.dense", C, C, bias, m->init, &l->self_attn.out) &&
           part_linear(cx, set, prefix, "mlp.dense_h_to_4h", C, hidden, true, m->init, &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "mlp.dense_4h_to_h", hidden, C, true, m->init, &l->feed_forward.linear2);
}

static bool make_body(heed_ctx *cx, const heed_build *b, const char *base, struct decoder *m) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    static const struct rope_keys keys = {.theta = "rotary_emb_base", .partial = "rotary_pct", .part = 0.25};
    const int64_t words = config_int(cx, config, "vocab_size", 1, (int64_t)1 << 30);
    heed_multihead like = {0};
    if (!part_heads(cx, config, "hidden_size", "num_attention_heads", &like) ||
        !rope_read(cx, config, set, &keys, like.width / like.heads, &m->rope))
        return false;
    m->width = like.width;
    m->dropout = (float)config_number(cx, config, "hidden_dropout", 0, 1);
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    m->padding = config_padding(cx, config, words, NULL);
    m->stack.layers = (int)config_int(cx, config, "num_hidden_layers", 0, MAX_LAYERS);
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    if (heed_failed(cx) || !part_embedding(cx, set, base, "embed_in", words, m->width, m->init, &m->word)) return false;
    for (int i = 0; i < m->stack.layers; i++) {
        m->stack.layer[i].number = i;
        if (!make_layer(cx, config, set, part_numbered(cx, base, "layers", i).s, m, &m->stack.layer[i])) return false;
    }
    return part_norm(cx, set, base, "final_layer_norm", m->width,
                     (float)config_number(cx, config, "layer_norm_eps", 0, 1), &m->stack.norm);
}

static const struct decoder_kind gpt_neox_kind = {.output = "embed_out", .alias = "lm_head", .make = make_body};

/* ---- the family ---- */

static const heed_key gpt_neox_keys[] = {
    {"vocab_size", HEED_KEY_INT, "50432", "number of tokens"},
    {"hidden_size", HEED_KEY_INT, "6144", "width"},
    {"intermediate_size", HEED_KEY_INT, "24576", "width of the feed-forward layer"},
    {"num_hidden_layers", HEED_KEY_INT, "44", "number of layers"},
    {"num_attention_heads", HEED_KEY_INT, "64", "number of attention heads, which divides the width"},
    {"max_position_embeddings", HEED_KEY_INT, "2048",
     "length that it is made for; prompts and what follows them are no longer"},
    {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"use_parallel_residual", HEED_KEY_BOOL, "true", "attention and the feed-forward layer stand side by side"},
    {"attention_bias", HEED_KEY_BOOL, "true", "linear layers of attention have biases"},
    {"attention_dropout", HEED_KEY_NUMBER, "0", "dropout of attention weights"},
    {"hidden_dropout", HEED_KEY_NUMBER, "0", "dropout of embeddings and of the sublayers' outputs"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-05", "epsilon of layer norms"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"rotary_pct", HEED_KEY_NUMBER_OR_NULL, "0.25", "which part of a head is turned; rope_parameters overrides"},
    {"rotary_emb_base", HEED_KEY_NUMBER_OR_NULL, "10000", "base of rotary positions; the same"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "null", "padding token"},
    {"bos_token_id", HEED_KEY_INT_OR_NULL, "0", "token that text begins with"},
    {"eos_token_id", HEED_KEY_INT_OR_LIST, "2", "token that text ends with, or several"},
    END_OF_KEYS,
};
static const heed_key gpt_neox_lm_keys[] = {
    {"tie_word_embeddings", HEED_KEY_BOOL, "false", "the output layer shares the table of word embeddings"},
    END_OF_KEYS,
};
static const char *const gpt_neox_absent[] = {"rotary_pct=null", "rotary_emb_base=null", NULL};
static const char *const gpt_neox_ignored[] = {"layers.*.attention.bias", "layers.*.attention.masked_bias",
                                               "layers.*.attention.rotary_emb.inv_freq", NULL};
static const heed_head gpt_neox_heads[] = {DECODER_HEADS("GPTNeoX", gpt_neox_lm_keys)};

const heed_family family_gpt_neox = {
    .name = "gpt_neox",
    .type = "gpt_neox",
    .base = "gpt_neox",
    .paper = "Black et al. 2022",
    .summary = "a decoder with rotary positions whose two sublayers stand side by side",
    .notes =
        "Parameters have the names of transformers' files: gpt_neox.layers.N.attention.query_key_value.weight and, "
        "for the output layer, embed_out.weight, which is read as lm_head.weight too. Scalings of rotary "
        "positions are those of llama. The label of a position is the token after it; labels of -100 do not count.",
    .keys = gpt_neox_keys,
    .heads = gpt_neox_heads,
    .ignored = gpt_neox_ignored,
    .absent = gpt_neox_absent,
    .kind = &gpt_neox_kind,
    .size = sizeof(struct decoder),
};
