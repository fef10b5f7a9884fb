/* LLaMA (Touvron et al. 2023) and its kin: decoders, pre-norm, with rotary positions and gated feed-forward layers.
 *
 *     h = h + W_o attention(turn(W_q n), turn(W_k n), W_v n),   n = norm(h)
 *     h = h + W_2 (a(W_g n) W_1 n),                             n = norm(h)                      in each layer
 *     h = norm(h)                                               norm(x) = w x / sqrt(mean of x^2 + eps)
 *
 * H query heads share G of keys and values (Ainslie et al. 2023); heads may be of a size of their own. What differs:
 *     mistral   all layers see a window of near positions (Jiang et al. 2023)
 *     qwen2     q, k and v have biases; some layers see a window (Yang et al. 2024)
 *     qwen3     norms of each head's queries and keys (Yang et al. 2025)
 *     phi3      W_q, W_k, W_v are one weight, W_g and W_1 another (Abdin et al. 2024)
 *     gemma2    norms after the sublayers too, of weight 1 + w; caps of scores and logits; every other layer sees a
 *               window (Gemma Team 2024)
 *
 * Names and config keys are those of transformers; decoder.h says what the heads give. */
#include "model/decoders/decoder.h"
#include <math.h>

/* Which layers see near positions only. */
enum windows { NO_WINDOW, EVERY_LAYER, UPPER_LAYERS, EVEN_LAYERS };
enum bias { NO_BIAS, HAS_BIAS, BY_KEY };

struct kin {
    struct decoder_kind decoder; /* first: what the heads know */
    const char *act;             /* its config key */
    enum bias qkv, out, hidden;  /* of linear layers; by the keys attention_bias and mlp_bias */
    enum windows windows;
    bool whole;      /* the heads must divide the width, also where they have a size of their own */
    bool head_norms; /* q_norm, k_norm */
    bool fused;      /* qkv_proj, gate_up_proj */
    bool gemma;
    struct rope_keys rope;
};

/* ---- the body ---- */

static bool has_bias(heed_ctx *cx, heed_json config, enum bias bias, const char *key) {
    return bias == BY_KEY ? heed_json_bool(cx, config, key) : bias == HAS_BIAS;
}

/* C, H, G and D */
static bool read_heads(heed_ctx *cx, heed_json config, const struct kin *kin, heed_multihead *l) {
    const int64_t most = (int64_t)1 << 30, C = config_int(cx, config, "hidden_size", 1, most),
                  H = config_int(cx, config, "num_attention_heads", 1, most),
                  G = config_int_or(cx, config, "num_key_value_heads", 1, most, H);
    if (heed_failed(cx)) return false;
    if (kin->whole && C % H != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"),
                              "%lld heads do not divide a hidden_size of %lld", (long long)H, (long long)C);
    if (H % G != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_key_value_heads"),
                              "%lld query heads cannot share %lld heads of keys and values evenly", (long long)H,
                              (long long)G);
    l->width = l->key_width = l->value_width = C;
    l->heads = H, l->kv_heads = G;
    l->head_size = config_int_or(cx, config, "head_dim", 1, most, C / H);
    if (!heed_failed(cx) && l->head_size < 1)
        heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"), "%lld heads of a width of %lld",
                       (long long)H, (long long)C);
    return !heed_failed(cx) &&
           (H <= most / l->head_size ||
            heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"),
                           "%lld heads of %lld numbers are too many", (long long)H, (long long)l->head_size));
}

/* How many positions layer i sees; 0: all */
static int64_t window_of(heed_ctx *cx, heed_json config, const struct kin *kin, int layers, int i) {
    if (kin->windows == NO_WINDOW) return 0;
    const bool used = kin->windows != UPPER_LAYERS || heed_json_bool(cx, config, "use_sliding_window");
    const int64_t window = used ? config_int_or(cx, config, "sliding_window", 1, INT32_MAX, 0) : 0;
    if (kin->windows == EVERY_LAYER) return window;
    int type = part_layer_type(cx, config, layers, i);
    if (heed_failed(cx)) return 0;
    if (type < 0 && kin->windows == EVEN_LAYERS) type = i % 2 == 0 ? LAYER_SLIDING : LAYER_FULL;
    if (type < 0)
        type =
            window > 0 && i >= config_int(cx, config, "max_window_layers", 0, INT32_MAX) ? LAYER_SLIDING : LAYER_FULL;
    if (type == LAYER_SLIDING && window == 0)
        heed_json_fail(cx, heed_json_find(cx, config, "sliding_window"),
                       "layer %d sees a sliding window, whose size is not given", i);
    return type == LAYER_SLIDING ? window : 0;
}

static bool make_norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t width, float eps,
                      const struct kin *kin, heed_norm_layer *norm) {
    if (!part_rms_norm(cx, set, prefix, name, width, eps, norm)) return false;
    norm->around_one = kin->gemma;
    if (kin->gemma) norm->weight->init = (heed_init){.kind = HEED_INIT_ZEROS};
    return true;
}

static bool make_attention(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct kin *kin,
                           const struct decoder *m, float eps, heed_multihead *l) {
    static const char *const names[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    const int64_t C = m->width, D = l->head_size, rows[] = {l->heads * D, l->kv_heads * D, l->kv_heads * D};
    const bool in = has_bias(cx, config, kin->qkv, "attention_bias"),
               out = has_bias(cx, config, kin->out, "attention_bias");
    l->dropout = (float)config_number(cx, config, "attention_dropout", 0, 1);
    if (kin->gemma) {
        l->scale = 1 / sqrtf((float)config_number(cx, config, "query_pre_attn_scalar", 1e-9, 1e9));
        l->cap = (float)config_number_or(cx, config, "attn_logit_softcapping", 1e-9, 1e9, 0);
    }
    return (kin->fused
                ? part_linear(cx, set, prefix, "self_attn.qkv_proj", C, rows[0] + 2 * rows[1], in, m->init, &l->in)
                : part_slices(cx, set, prefix, "self_attn.qkv", names, rows, 3, C, in, m->init, &l->in)) &&
           (!kin->head_norms || (part_rms_norm(cx, set, prefix, "self_attn.q_norm", D, eps, &l->q_norm) &&
                                 part_rms_norm(cx, set, prefix, "self_attn.k_norm", D, eps, &l->k_norm))) &&
           part_linear(cx, set, prefix, "self_attn.o_proj", rows[0], C, out, m->init, &l->out);
}

static bool make_feed_forward(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix,
                              const struct kin *kin, const struct decoder *m, heed_feed_forward *l) {
    static const char *const names[] = {"mlp.gate_proj", "mlp.up_proj"};
    const int64_t hidden = config_int(cx, config, "intermediate_size", 1, (int64_t)1 << 30), rows[] = {hidden, hidden};
    const bool bias = has_bias(cx, config, kin->hidden, "mlp_bias");
    l->act = config_activation(cx, config, kin->act);
    l->fused = true;
    return !heed_failed(cx) &&
           (kin->fused
                ? part_linear(cx, set, prefix, "mlp.gate_up_proj", m->width, 2 * hidden, bias, m->init, &l->linear1)
                : part_slices(cx, set, prefix, "mlp.gate_up", names, rows, 2, m->width, bias, m->init, &l->linear1)) &&
           part_linear(cx, set, prefix, "mlp.down_proj", hidden, m->width, bias, m->init, &l->linear2);
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct kin *kin,
                       const struct decoder *m, float eps, heed_encoder_layer *l) {
    static const char *const norms[][4] = {
        {"input_layernorm", NULL, "post_attention_layernorm", NULL},
        {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"}};
    heed_norm_layer *const to[] = {&l->norm1, &l->post1, &l->norm2, &l->post2};
    l->norm_first = true;
    l->site = "attention";
    l->window = window_of(cx, config, kin, m->stack.layers, l->number);
    if (kin->fused) l->dropout = (float)config_number(cx, config, "resid_pdrop", 0, 1);
    if (!read_heads(cx, config, kin, &l->self_attn) ||
        !make_attention(cx, config, set, prefix, kin, m, eps, &l->self_attn) ||
        !make_feed_forward(cx, config, set, prefix, kin, m, &l->feed_forward))
        return false;
    for (int i = 0; i < 4; i++)
        if (norms[kin->gemma][i] && !make_norm(cx, set, prefix, norms[kin->gemma][i], m->width, eps, kin, to[i]))
            return false;
    return true;
}

static bool make_body(heed_ctx *cx, const heed_build *b, const char *base, struct decoder *m) {
    const struct kin *const kin = b->family->kind;
    const heed_json config = b->config;
    heed_params *const set = b->params;
    heed_multihead like = {0};
    if (!read_heads(cx, config, kin, &like) || !rope_read(cx, config, set, &kin->rope, like.head_size, &m->rope))
        return false;
    const int64_t words = config_int(cx, config, "vocab_size", 1, (int64_t)1 << 30);
    const float eps = (float)config_number(cx, config, "rms_norm_eps", 0, 1);
    m->width = like.width;
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    int32_t untrained;
    m->padding = config_padding(cx, config, words, &untrained);
    m->stack.layers = (int)config_int(cx, config, "num_hidden_layers", 0, MAX_LAYERS);
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    if (kin->gemma) {
        const double scalar = config_number(cx, config, "query_pre_attn_scalar", 1e-9, 1e9);
        if (!heed_failed(cx) && scalar == floor(scalar)) /* transformers takes no 256.0 */
            heed_json_put_int(cx, config, "query_pre_attn_scalar", (int64_t)scalar);
        m->scale = sqrtf((float)m->width);
        m->cap = (float)config_number_or(cx, config, "final_logit_softcapping", 1e-9, 1e9, 0);
        if (heed_json_kind_of(heed_json_find(cx, config, "use_bidirectional_attention")) > HEED_JSON_NULL &&
            heed_json_bool(cx, config, "use_bidirectional_attention"))
            heed_json_fail(cx, heed_json_find(cx, config, "use_bidirectional_attention"),
                           "heed's Gemma 2 sees what was before, not what comes");
    }
    if (heed_failed(cx) || !part_embedding(cx, set, base, "embed_tokens", words, m->width, m->init, &m->word))
        return false;
    m->word.padding = untrained;
    for (int i = 0; i < m->stack.layers; i++) {
        m->stack.layer[i].number = i;
        if (!make_layer(cx, config, set, part_numbered(cx, base, "layers", i).s, kin, m, eps, &m->stack.layer[i]))
            return false;
    }
    return make_norm(cx, set, base, "norm", m->width, eps, kin, &m->stack.norm);
}

/* ---- the families ---- */

#define DECODER .decoder = {.output = "lm_head", .make = make_body}
#define ROPE    .rope = {.theta = "rope_theta", .part = 1}
static const struct kin llama_kin = {DECODER,          .act = "hidden_act", .qkv = BY_KEY, .out = BY_KEY,
                                     .hidden = BY_KEY, .whole = true,       ROPE};
static const struct kin mistral_kin = {DECODER, .act = "hidden_act", .windows = EVERY_LAYER, ROPE};
static const struct kin qwen2_kin = {DECODER, .act = "hidden_act", .qkv = HAS_BIAS, .windows = UPPER_LAYERS, ROPE};
static const struct kin qwen3_kin = {
    DECODER, .act = "hidden_act", .qkv = BY_KEY, .out = BY_KEY, .windows = UPPER_LAYERS, .head_norms = true, ROPE};
static const struct kin phi3_kin = {
    DECODER,
    .act = "hidden_act",
    .windows = EVERY_LAYER,
    .fused = true,
    .rope = {.theta = "rope_theta", .partial = "partial_rotary_factor", .part = 1, .phi = true},
};
static const struct kin gemma2_kin = {
    DECODER,
    .act = "hidden_activation",
    .qkv = BY_KEY,
    .out = BY_KEY,
    .windows = EVEN_LAYERS,
    .whole = true,
    .gemma = true,
    ROPE,
};

/* Keys of all of them, with the defaults that differ. */
#define SIZE_KEYS(words, width, hidden, layers, heads, kv_heads, positions)                                            \
    {"vocab_size", HEED_KEY_INT, words, "number of tokens"}, {"hidden_size", HEED_KEY_INT, width, "width"},            \
        {"intermediate_size", HEED_KEY_INT, hidden, "width of the feed-forward layer"},                                \
        {"num_hidden_layers", HEED_KEY_INT, layers, "number of layers"},                                               \
        {"num_attention_heads", HEED_KEY_INT, heads, "number of query heads"},                                         \
        {"num_key_value_heads", HEED_KEY_INT_OR_NULL, kv_heads,                                                        \
         "number of heads of keys and values, which divides that; null: as many"},                                     \
    {                                                                                                                  \
        "max_position_embeddings", HEED_KEY_INT, positions,                                                            \
            "length that it is made for; prompts and what follows them are no longer"                                  \
    }
#define OTHER_KEYS(eps, padding, begin, end)                                                                           \
    {"rms_norm_eps", HEED_KEY_NUMBER, eps, "epsilon of norms"},                                                        \
        {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},                         \
        {"attention_dropout", HEED_KEY_NUMBER, "0", "dropout of attention weights"},                                   \
        {"rope_theta", HEED_KEY_NUMBER_OR_NULL, "10000",                                                               \
         "base of rotary positions; rope_parameters and rope_scaling override, and scale them"},                       \
        {"pad_token_id", HEED_KEY_INT_OR_NULL, padding, "padding token"},                                              \
        {"bos_token_id", HEED_KEY_INT_OR_NULL, begin, "token that text begins with"}, {                                \
        "eos_token_id", HEED_KEY_INT_OR_LIST, end, "token that text ends with, or several"                             \
    }
#define ACT_KEY                                                                                                        \
    { "hidden_act", HEED_KEY_TEXT, "silu", "activation of the gate, by transformers' name" }
#define HEAD_KEY(standard)                                                                                             \
    { "head_dim", HEED_KEY_INT_OR_NULL, standard, "size of a head; null: hidden_size / num_attention_heads" }
#define BIAS_KEY                                                                                                       \
    { "attention_bias", HEED_KEY_BOOL, "false", "linear layers of attention have biases" }
#define WINDOW_KEY(standard, what)                                                                                     \
    { "sliding_window", HEED_KEY_INT_OR_NULL, standard, what }
#define QWEN_WINDOW_KEYS                                                                                               \
    {"use_sliding_window", HEED_KEY_BOOL, "false", "upper layers see a window; layer_types overrides which"},          \
        WINDOW_KEY("4096", "how many positions such a layer sees"), {                                                  \
        "max_window_layers", HEED_KEY_INT, "28", "layers below that see everything"                                    \
    }
#define END                                                                                                            \
    { NULL, HEED_KEY_INT, NULL, NULL }

static const heed_key llama_keys[] = {
    SIZE_KEYS("32000", "4096", "11008", "32", "32", "null", "2048"),
    HEAD_KEY("null"),
    ACT_KEY,
    BIAS_KEY,
    {"mlp_bias", HEED_KEY_BOOL, "false", "linear layers of the feed-forward layer have biases"},
    OTHER_KEYS("1e-06", "null", "1", "2"),
    END,
};
static const heed_key mistral_keys[] = {
    SIZE_KEYS("32000", "4096", "14336", "32", "32", "8", "131072"),
    HEAD_KEY("null"),
    ACT_KEY,
    WINDOW_KEY("4096", "how many positions a layer sees, its own and those before; null: all"),
    OTHER_KEYS("1e-06", "null", "1", "2"),
    END,
};
static const heed_key qwen2_keys[] = {
    SIZE_KEYS("151936", "4096", "22016", "32", "32", "32", "32768"),
    ACT_KEY,
    QWEN_WINDOW_KEYS,
    OTHER_KEYS("1e-06", "null", "null", "null"),
    END,
};
static const heed_key qwen3_keys[] = {
    SIZE_KEYS("151936", "4096", "22016", "32", "32", "32", "32768"),
    HEAD_KEY("128"),
    ACT_KEY,
    BIAS_KEY,
    QWEN_WINDOW_KEYS,
    OTHER_KEYS("1e-06", "null", "null", "null"),
    END,
};
static const heed_key phi3_keys[] = {
    SIZE_KEYS("32064", "3072", "8192", "32", "32", "null", "4096"),
    {"original_max_position_embeddings", HEED_KEY_INT, "4096", "the same before longrope scaling"},
    ACT_KEY,
    WINDOW_KEY("null", "how many positions a layer sees, its own and those before; null: all"),
    {"resid_pdrop", HEED_KEY_NUMBER, "0", "dropout of the sublayers' outputs"},
    {"partial_rotary_factor", HEED_KEY_NUMBER_OR_NULL, "1", "which part of a head is turned"},
    OTHER_KEYS("1e-05", "32000", "1", "32000"),
    END,
};
static const heed_key gemma2_keys[] = {
    SIZE_KEYS("256000", "2304", "9216", "26", "8", "4", "8192"),
    HEAD_KEY("256"),
    {"hidden_activation", HEED_KEY_TEXT, "gelu_pytorch_tanh", "activation of the gate, by transformers' name"},
    BIAS_KEY,
    WINDOW_KEY("4096", "how many positions layers 0, 2, … see; layer_types overrides which"),
    {"query_pre_attn_scalar", HEED_KEY_NUMBER, "256", "scores are divided by the root of this"},
    {"attn_logit_softcapping", HEED_KEY_NUMBER_OR_NULL, "50", "cap of scores; null: none"},
    {"final_logit_softcapping", HEED_KEY_NUMBER_OR_NULL, "30", "cap of logits; null: none"},
    OTHER_KEYS("1e-06", "0", "2", "1"),
    END,
};
#define TIED(standard)                                                                                                 \
    { {"tie_word_embeddings", HEED_KEY_BOOL, standard, "the output layer shares the table of word embeddings"}, END }
static const heed_key untied_keys[] = TIED("false"), tied_keys[] = TIED("true");
static const heed_head llama_heads[] = {DECODER_HEADS("Llama", untied_keys)};
static const heed_head mistral_heads[] = {DECODER_HEADS("Mistral", untied_keys)};
static const heed_head qwen2_heads[] = {DECODER_HEADS("Qwen2", untied_keys)};
static const heed_head qwen3_heads[] = {DECODER_HEADS("Qwen3", untied_keys)};
static const heed_head phi3_heads[] = {DECODER_HEADS("Phi3", untied_keys)};
static const heed_head gemma2_heads[] = {DECODER_HEADS("Gemma2", tied_keys)};

/* A config without these keys may have rope_parameters, which say it. */
static const char *const absent[] = {"rope_theta=null", "partial_rotary_factor=null", NULL};
static const char *const ignored[] = {"layers.*.self_attn.rotary_emb.inv_freq",
                                      "model.layers.*.self_attn.rotary_emb.inv_freq", NULL};

#define NOTES                                                                                                          \
    "Parameters have the names of transformers' classes, with model. at the beginning except in the bare model. "      \
    "rope_parameters of transformers 5 and rope_theta and rope_scaling of transformers 4 are read: default, linear, "  \
    "dynamic, yarn, longrope, llama3 and proportional scaling. The label of a position is the token after it, so "     \
    "labels are given as input_ids are; those of -100 do not count. "
#define LLAMA .base = "model", .ignored = ignored, .absent = absent, .size = sizeof(struct decoder)

const heed_family family_llama = {
    .name = "llama",
    .type = "llama",
    .paper = "Touvron et al. 2023",
    .summary = "a decoder with RMS norms, rotary positions and gated layers",
    .notes = NOTES "The files of LLaMA 1, 2 and 3 and of models made like them are of this family.",
    .keys = llama_keys,
    .heads = llama_heads,
    .kind = &llama_kin,
    LLAMA,
};

const heed_family family_mistral = {
    .name = "mistral",
    .type = "mistral",
    .paper = "Jiang et al. 2023",
    .summary = "LLaMA with fewer heads of keys and values, and a sliding window",
    .notes = NOTES "Layers see sliding_window positions.",
    .keys = mistral_keys,
    .heads = mistral_heads,
    .kind = &mistral_kin,
    LLAMA,
};

const heed_family family_qwen2 = {
    .name = "qwen2",
    .type = "qwen2",
    .paper = "Yang et al. 2024",
    .summary = "LLaMA with biases of queries, keys and values",
    .notes =
        NOTES "With use_sliding_window, layers from max_window_layers on, or those of layer_types, see sliding_window "
              "positions. Qwen 2.5 is of this family too.",
    .keys = qwen2_keys,
    .heads = qwen2_heads,
    .kind = &qwen2_kin,
    LLAMA,
};

const heed_family family_qwen3 = {
    .name = "qwen3",
    .type = "qwen3",
    .paper = "Yang et al. 2025",
    .summary = "LLaMA with norms of queries and keys",
    .notes = NOTES "Windows are those of qwen2.",
    .keys = qwen3_keys,
    .heads = qwen3_heads,
    .kind = &qwen3_kin,
    LLAMA,
};

const heed_family family_phi3 = {
    .name = "phi3",
    .type = "phi3",
    .paper = "Abdin et al. 2024",
    .summary = "LLaMA whose projections are two weights, for long contexts",
    .notes =
        NOTES "Phi-3 and Phi-4 are of this family. Of scalings it has longrope, which older files call su or yarn.",
    .keys = phi3_keys,
    .heads = phi3_heads,
    .kind = &phi3_kin,
    LLAMA,
};

const heed_family family_gemma2 = {
    .name = "gemma2",
    .type = "gemma2",
    .paper = "Gemma Team 2024",
    .summary = "LLaMA with norms on either side, capped scores and every other layer local",
    .notes = NOTES "Weights of norms are stored as what is added to 1.",
    .keys = gemma2_keys,
    .heads = gemma2_heads,
    .kind = &gemma2_kin,
    LLAMA,
};
