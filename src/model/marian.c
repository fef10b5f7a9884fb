/* The Transformer (Vaswani et al. 2017), as Marian has it (Junczys-Dowmunt et al. 2018).
 *
 *     h = embed(source) sqrt(C) + sine positions
 *     h = norm(h + attention(h, h, h));  h = norm(h + W_2 a(W_1 h))                              in each encoder layer
 *     g = embed(target) sqrt(C) + sine positions
 *     g = norm(g + causal attention(g, g, g));  g = norm(g + attention(g, h, h));  g = norm(g + W_2 a(W_1 g))
 *     logits = g E' + b                                                                          E: the embedding
 *
 * Names and config keys are those of transformers' MarianMTModel, which opens what heed writes; positions are computed
 * and not in the file. The weights of q, k and v are published apart and kept as one, for one product.
 *     input_ids (B,S), attention_mask (B,S), decoder_input_ids (B,T), labels (B,T) -> logits (B,T,V), loss */
#include "model/families.h"
#include "model/seq2seq.h"
#include <math.h>
#include <stdio.h>

static const heed_key marian_keys[] = {
    {"vocab_size", HEED_KEY_INT, NULL, "tokens of the source, or of both"},
    {"decoder_vocab_size", HEED_KEY_INT, "0", "tokens of the target where it has its own; 0: vocab_size"},
    {"d_model", HEED_KEY_INT, "512", "width"},
    {"encoder_layers", HEED_KEY_INT, "6", "layers of the encoder"},
    {"decoder_layers", HEED_KEY_INT, "6", "layers of the decoder"},
    {"encoder_attention_heads", HEED_KEY_INT, "8", "heads, which divide the width"},
    {"decoder_attention_heads", HEED_KEY_INT, "8", "heads, which divide the width"},
    {"encoder_ffn_dim", HEED_KEY_INT, "2048", "width of the hidden layer"},
    {"decoder_ffn_dim", HEED_KEY_INT, "2048", "width of the hidden layer"},
    {"activation_function", HEED_KEY_TEXT, "relu", "relu, gelu, gelu_new, silu or swish"},
    {"max_position_embeddings", HEED_KEY_INT, "1024", "longest sequence"},
    {"dropout", HEED_KEY_NUMBER, "0.1", "of embeddings and of what each part of a layer gives"},
    {"attention_dropout", HEED_KEY_NUMBER, "0", "of attention weights"},
    {"activation_dropout", HEED_KEY_NUMBER, "0", "of the hidden layer"},
    {"label_smoothing", HEED_KEY_NUMBER, "0", "while training: what each target shares with all tokens, such as 0.1"},
    {"init_std", HEED_KEY_NUMBER, "0.02", "deviation of fresh weights"},
    {"scale_embedding", HEED_KEY_BOOL, "true", "embeddings times the root of the width"},
    {"share_encoder_decoder_embeddings", HEED_KEY_BOOL, "true", "one table for source, target and output"},
    {"pad_token_id", HEED_KEY_INT, "0", "what is no token"},
    {"eos_token_id", HEED_KEY_INT, "2", "the end of a sentence"},
    {"decoder_start_token_id", HEED_KEY_INT, "0", "what the target begins with"},
    {NULL, HEED_KEY_INT, NULL, NULL},
};

#define MARIAN_EPS 1e-5f

static bool linear(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                   heed_init init, heed_linear_layer *layer) {
    char path[256];
    snprintf(path, sizeof path, "%s.%s", prefix, name);
    layer->weight = heed_param_add(cx, set, path, "weight", 2, (int64_t[]){out, in}, init);
    layer->bias = heed_param_add(cx, set, path, "bias", 1, &out, (heed_init){.kind = HEED_INIT_ZEROS});
    return layer->bias != NULL;
}

/* k_proj, v_proj, q_proj of the file are rows of one weight. */
static bool attention(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t C, int64_t heads,
                      float dropout, heed_init init, heed_multihead *layer) {
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj"};
    char path[256], part[300];
    snprintf(path, sizeof path, "%s.%s", prefix, name);
    *layer = (heed_multihead){.width = C, .heads = heads, .key_width = C, .value_width = C, .dropout = dropout};
    layer->in_weight = heed_param_add(cx, set, path, "qkv.weight", 2, (int64_t[]){3 * C, C}, init);
    layer->in_bias =
        heed_param_add(cx, set, path, "qkv.bias", 1, (int64_t[]){3 * C}, (heed_init){.kind = HEED_INIT_ZEROS});
    for (int i = 0; i < 3; i++) {
        snprintf(part, sizeof part, "%s.%s", path, parts[i]);
        heed_param_part(cx, set, part, "weight", layer->in_weight, i * C, C);
        heed_param_part(cx, set, part, "bias", layer->in_bias, i * C, C);
    }
    return linear(cx, set, path, "out_proj", C, C, init, &layer->out);
}

static bool norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t C,
                 heed_norm_layer *layer) {
    char path[256];
    snprintf(path, sizeof path, "%s.%s", prefix, name);
    return heed_norm_make(cx, set, path, C, false, MARIAN_EPS, layer);
}

struct sizes {
    int64_t width, heads, hidden;
    heed_activation act;
    float dropout, attention_dropout, activation_dropout;
    heed_init init;
};

static bool feed_forward(heed_ctx *cx, heed_params *set, const char *prefix, const struct sizes *s,
                         heed_feed_forward *layer) {
    layer->act = s->act;
    layer->dropout = s->activation_dropout;
    return linear(cx, set, prefix, "fc1", s->width, s->hidden, s->init, &layer->linear1) &&
           linear(cx, set, prefix, "fc2", s->hidden, s->width, s->init, &layer->linear2);
}

static bool encoder_layer(heed_ctx *cx, heed_params *set, int number, const struct sizes *s, heed_encoder_layer *l) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.encoder.layers.%d", number);
    *l = (heed_encoder_layer){.dropout = s->dropout, .number = number};
    return attention(cx, set, prefix, "self_attn", s->width, s->heads, s->attention_dropout, s->init, &l->self_attn) &&
           norm(cx, set, prefix, "self_attn_layer_norm", s->width, &l->norm1) &&
           feed_forward(cx, set, prefix, s, &l->feed_forward) &&
           norm(cx, set, prefix, "final_layer_norm", s->width, &l->norm2);
}

static bool decoder_layer(heed_ctx *cx, heed_params *set, int number, const struct sizes *s, heed_decoder_layer *l) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.decoder.layers.%d", number);
    *l = (heed_decoder_layer){.dropout = s->dropout, .number = number};
    return attention(cx, set, prefix, "self_attn", s->width, s->heads, s->attention_dropout, s->init, &l->self_attn) &&
           norm(cx, set, prefix, "self_attn_layer_norm", s->width, &l->norm1) &&
           attention(cx, set, prefix, "encoder_attn", s->width, s->heads, s->attention_dropout, s->init,
                     &l->multihead_attn) &&
           norm(cx, set, prefix, "encoder_attn_layer_norm", s->width, &l->norm2) &&
           feed_forward(cx, set, prefix, s, &l->feed_forward) &&
           norm(cx, set, prefix, "final_layer_norm", s->width, &l->norm3);
}

static heed_activation activation_of(heed_ctx *cx, heed_json config) {
    static const char *const names[] = {"relu", "gelu", "gelu_new", "silu", "swish", NULL};
    static const heed_activation acts[] = {HEED_ACT_RELU, HEED_ACT_GELU, HEED_ACT_GELU_TANH, HEED_ACT_SILU,
                                           HEED_ACT_SILU};
    const int i = config_choice(cx, config, "activation_function", names);
    return i < 0 ? HEED_ACT_NONE : acts[i];
}

/* The tables of tokens, their other names, and the bias of the output. */
static bool embeddings(heed_ctx *cx, heed_json config, heed_params *set, struct seq2seq *m, heed_init init) {
    const int64_t C = m->width;
    m->source.padding = m->target.padding = m->pad;
    if (heed_json_bool(cx, config, "share_encoder_decoder_embeddings")) {
        if (m->target_size != m->source_size)
            return heed_json_fail(cx, heed_json_find(cx, config, "decoder_vocab_size"),
                                  "one shared table cannot have two sizes");
        m->source.weight = m->target.weight =
            heed_param_add(cx, set, "model.shared", "weight", 2, (int64_t[]){m->source_size, C}, init);
        heed_param_tie(cx, set, "model.encoder.embed_tokens", "weight", m->source.weight);
        heed_param_tie(cx, set, "model.decoder.embed_tokens", "weight", m->source.weight);
    } else {
        m->source.weight =
            heed_param_add(cx, set, "model.encoder.embed_tokens", "weight", 2, (int64_t[]){m->source_size, C}, init);
        m->target.weight =
            heed_param_add(cx, set, "model.decoder.embed_tokens", "weight", 2, (int64_t[]){m->target_size, C}, init);
    }
    heed_param_tie(cx, set, "lm_head", "weight", m->target.weight);
    m->logits_bias = heed_param_add(cx, set, NULL, "final_logits_bias", 2, (int64_t[]){1, m->target_size},
                                    (heed_init){.kind = HEED_INIT_ZEROS});
    if (m->logits_bias) m->logits_bias->frozen = m->logits_bias->optional = true; /* a buffer of the Python class */
    heed_param_ignore(cx, set, "model.encoder.embed_positions", "weight");
    return heed_param_ignore(cx, set, "model.decoder.embed_positions", "weight");
}

static bool marian_build(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct seq2seq *m = own;
    const int64_t most = (int64_t)1 << 30;
    m->source_size = config_int(cx, config, "vocab_size", 1, most);
    m->target_size = config_int(cx, config, "decoder_vocab_size", 0, most);
    if (m->target_size == 0) m->target_size = m->source_size;
    m->width = config_int(cx, config, "d_model", 2, most);
    m->longest = config_int(cx, config, "max_position_embeddings", 1, most);
    m->encoder.layers = (int)config_int(cx, config, "encoder_layers", 1, HEED_STACK_MOST);
    m->decoder.layers = (int)config_int(cx, config, "decoder_layers", 1, HEED_STACK_MOST);
    m->pad = (int32_t)config_int(cx, config, "pad_token_id", 0, m->source_size - 1);
    m->eos = (int32_t)config_int(cx, config, "eos_token_id", 0, m->target_size - 1);
    m->start = (int32_t)config_int(cx, config, "decoder_start_token_id", 0, m->target_size - 1);
    m->scale = heed_json_bool(cx, config, "scale_embedding") ? sqrtf((float)m->width) : 1;
    m->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    m->smoothing = (float)config_number(cx, config, "label_smoothing", 0, 1);
    struct sizes s = {.width = m->width,
                      .heads = config_int(cx, config, "encoder_attention_heads", 1, most),
                      .hidden = config_int(cx, config, "encoder_ffn_dim", 1, most),
                      .act = activation_of(cx, config),
                      .dropout = m->dropout,
                      .attention_dropout = (float)config_number(cx, config, "attention_dropout", 0, 1),
                      .activation_dropout = (float)config_number(cx, config, "activation_dropout", 0, 1),
                      .init = {HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "init_std", 0, 1e6)}};
    if (heed_failed(cx)) return false;
    if (m->width % s.heads != 0 || m->width % 2 != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "d_model"), "is not even, or not a multiple of %lld heads",
                              (long long)s.heads);
    if (!embeddings(cx, config, set, m, s.init)) return false;
    for (int i = 0; i < m->encoder.layers; i++)
        if (!encoder_layer(cx, set, i, &s, &m->encoder.layer[i])) return false;
    s.heads = config_int(cx, config, "decoder_attention_heads", 1, most);
    s.hidden = config_int(cx, config, "decoder_ffn_dim", 1, most);
    if (heed_failed(cx)) return false;
    if (m->width % s.heads != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "decoder_attention_heads"), "do not divide the width %lld",
                              (long long)m->width);
    for (int i = 0; i < m->decoder.layers; i++)
        if (!decoder_layer(cx, set, i, &s, &m->decoder.layer[i])) return false;
    return true;
}

const heed_family family_marian = {
    .name = "transformer",
    .type = "marian",
    .architecture = "MarianMTModel",
    .rows = "26",
    .paper = "Vaswani et al. 2017",
    .summary = "the Transformer: encoder and decoder, for translation",
    .notes =
        "Parameters have the names of transformers' MarianMTModel: model.shared.weight (or "
        "model.encoder.embed_tokens.weight and model.decoder.embed_tokens.weight), "
        "model.encoder.layers.N.self_attn.q_proj.weight "
        "and so on, final_logits_bias. Sine positions are computed and not in the file. Post-norm, as the paper "
        "draws it. labels of -100 count for nothing; without decoder_input_ids, the labels shifted right are taken.",
    .tasks = "",
    .inputs = "input_ids attention_mask decoder_input_ids labels",
    .keys = marian_keys,
    .size = sizeof(struct seq2seq),
    .build = marian_build,
    .forward = seq2seq_forward,
    .sample = seq2seq_sample,
};
