/* The Transformer (Vaswani et al. 2017) in the four kinds that transformers has of it:
 *
 *     h = embed(source) s + positions,  normed where the kind has it                             s: 1 or sqrt(C)
 *     h = norm(h + attention(h, h, h));  h = norm(h + W_2 a(W_1 h))                              in each encoder layer
 *     g = embed(target) s + positions,  normed likewise
 *     g = norm(g + causal attention(g, g, g));  g = norm(g + attention(g, h, h));  g = norm(g + W_2 a(W_1 g))
 *     logits = g E' + b                                                                          E: the embedding
 *
 * That is post-norm. Pre-norm has g + f(norm(g)) for norm(g + f(g)) everywhere, and one more norm after the last layer.
 *
 *                                                             norm   positions   norm of embeddings   norm at the end
 *     Marian    Junczys-Dowmunt et al. 2018, as in the paper  post   sine        -                    -
 *     BART      Lewis et al. 2020                             post   learned     yes                  -
 *     mBART     Liu et al. 2020                               pre    learned     yes                  yes
 *     PEGASUS   Zhang et al. 2020                             pre    sine        -                    yes
 *
 * Names and config keys are those of transformers' classes, which open what heed writes; sine positions are computed
 * and not in the file. The weights of q, k and v are published apart and kept as one, for one product.
 *     input_ids (B,S), attention_mask (B,S), decoder_input_ids (B,T), labels (B,T) -> logits (B,T,V), loss */
#include "model/core/families.h"
#include "model/encdec/seq2seq.h"
#include "model/parts/parts.h"
#include <math.h>
#include <stdio.h>

/* What differs. */
struct kind {
    bool norm_first, learned, embedding_norm, final_norm;
    bool wraps;  /* the target begins with its last token, the language's, and not with a start token */
    bool tables; /* source and target may have tables of their own */
};
static const struct kind marian_kind = {.tables = true};
static const struct kind bart_kind = {.learned = true, .embedding_norm = true};
static const struct kind mbart_kind = {
    .norm_first = true, .learned = true, .embedding_norm = true, .final_norm = true, .wraps = true};
static const struct kind pegasus_kind = {.norm_first = true, .final_norm = true};

/* Keys that all kinds have. Where the kinds differ in a default, each gives its own below. */
/* clang-format off */
enum {
    VOCAB_SIZE, D_MODEL, ENCODER_LAYERS, DECODER_LAYERS, ENCODER_HEADS, DECODER_HEADS, ENCODER_FFN, DECODER_FFN,
    ACTIVATION, POSITIONS, DROPOUT, ATTENTION_DROPOUT, ACTIVATION_DROPOUT, ENCODER_LAYERDROP, DECODER_LAYERDROP,
    LABEL_SMOOTHING, INIT_STD, SCALE_EMBEDDING, TIE, PAD, BOS, EOS, START, FORCED_BOS, FORCED_EOS, SHARED_KEYS
};
#define KEYS \
    [VOCAB_SIZE] = {.name = "vocab_size", .kind = HEED_KEY_INT, \
        .help = "number of source tokens, or of both languages"}, \
    [D_MODEL] = {.name = "d_model", .kind = HEED_KEY_INT, .help = "width"}, \
    [ENCODER_LAYERS] = {.name = "encoder_layers", .kind = HEED_KEY_INT, .help = "number of encoder layers"}, \
    [DECODER_LAYERS] = {.name = "decoder_layers", .kind = HEED_KEY_INT, .help = "number of decoder layers"}, \
    [ENCODER_HEADS] = {.name = "encoder_attention_heads", .kind = HEED_KEY_INT, \
        .help = "number of attention heads, which divides the width"}, \
    [DECODER_HEADS] = {.name = "decoder_attention_heads", .kind = HEED_KEY_INT, \
        .help = "number of attention heads, which divides the width"}, \
    [ENCODER_FFN] = {.name = "encoder_ffn_dim", .kind = HEED_KEY_INT, .help = "width of the feed-forward layer"}, \
    [DECODER_FFN] = {.name = "decoder_ffn_dim", .kind = HEED_KEY_INT, .help = "width of the feed-forward layer"}, \
    [ACTIVATION] = {.name = "activation_function", .kind = HEED_KEY_TEXT, \
        .help = "activation, by transformers' name"}, \
    [POSITIONS] = {"max_position_embeddings", HEED_KEY_INT, "1024", "maximum sequence length"}, \
    [DROPOUT] = {"dropout", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the sublayers' outputs"}, \
    [ATTENTION_DROPOUT] = {"attention_dropout", HEED_KEY_NUMBER, "0", "dropout of attention weights"}, \
    [ACTIVATION_DROPOUT] = {"activation_dropout", HEED_KEY_NUMBER, "0", \
        "dropout after the activation of the feed-forward layer"}, \
    [ENCODER_LAYERDROP] = {"encoder_layerdrop", HEED_KEY_NUMBER, "0", \
        "probability of dropping an encoder layer in training (LayerDrop)"}, \
    [DECODER_LAYERDROP] = {"decoder_layerdrop", HEED_KEY_NUMBER, "0", \
        "probability of dropping a decoder layer in training (LayerDrop)"}, \
    [LABEL_SMOOTHING] = {"label_smoothing", HEED_KEY_NUMBER, "0", "label smoothing in training, such as 0.1"}, \
    [INIT_STD] = {"init_std", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"}, \
    [SCALE_EMBEDDING] = {.name = "scale_embedding", .kind = HEED_KEY_BOOL, \
        .help = "multiply embeddings by the square root of the width"}, \
    [TIE] = {"tie_word_embeddings", HEED_KEY_BOOL, "true", "share the output weights with the target's embedding"}, \
    [PAD] = {.name = "pad_token_id", .kind = HEED_KEY_INT, .help = "padding token"}, \
    [BOS] = {.name = "bos_token_id", .kind = HEED_KEY_INT_OR_NULL, \
        .help = "start token of decoding where decoder_start_token_id is null"}, \
    [EOS] = {.name = "eos_token_id", .kind = HEED_KEY_INT, .help = "end-of-sentence token"}, \
    [START] = {.name = "decoder_start_token_id", .kind = HEED_KEY_INT_OR_NULL, \
        .help = "start token of the target"}, \
    [FORCED_BOS] = {"forced_bos_token_id", HEED_KEY_INT_OR_NULL, "null", \
        "token forced first in decoding: the language, for mBART"}, \
    [FORCED_EOS] = {.name = "forced_eos_token_id", .kind = HEED_KEY_INT_OR_NULL, \
        .help = "token forced last where decoding reaches max_length"}
#define LARGE /* the sizes of the published models, but for the vocabulary */ \
    [D_MODEL].standard = "1024", [ENCODER_LAYERS].standard = "12", [DECODER_LAYERS].standard = "12", \
    [ENCODER_HEADS].standard = "16", [DECODER_HEADS].standard = "16", \
    [ENCODER_FFN].standard = "4096", [DECODER_FFN].standard = "4096", \
    [ACTIVATION].standard = "gelu", [SCALE_EMBEDDING].standard = "false"

static const heed_key marian_keys[] = {
    KEYS, /* the sizes of the paper */
    [D_MODEL].standard = "512", [ENCODER_LAYERS].standard = "6", [DECODER_LAYERS].standard = "6",
    [ENCODER_HEADS].standard = "8", [DECODER_HEADS].standard = "8",
    [ENCODER_FFN].standard = "2048", [DECODER_FFN].standard = "2048",
    [ACTIVATION].standard = "relu", [SCALE_EMBEDDING].standard = "true",
    [PAD].standard = "0", [BOS].standard = "null", [EOS].standard = "2",
    [START].standard = "0", [FORCED_EOS].standard = "null",
    [SHARED_KEYS] = {"decoder_vocab_size", HEED_KEY_INT, "0", "number of target tokens; 0: vocab_size"},
    {"share_encoder_decoder_embeddings", HEED_KEY_BOOL, "true", "share one embedding of source, target and output"},
    END_OF_KEYS,
};
/* The table has the paper's sizes and heed's vocabularies; where a file lacks a key, MarianConfig's default holds. */
static const char *const marian_absent[] = {
    "d_model=1024", "encoder_layers=12", "decoder_layers=12", "encoder_attention_heads=16",
    "decoder_attention_heads=16", "encoder_ffn_dim=4096", "decoder_ffn_dim=4096", "activation_function=gelu",
    "scale_embedding=false", "pad_token_id=58100", "eos_token_id=0", "decoder_start_token_id=58100", NULL,
};
static const heed_key bart_keys[] = {
    KEYS, LARGE,
    [PAD].standard = "1", [BOS].standard = "0", [EOS].standard = "2",
    [START].standard = "2", [FORCED_EOS].standard = "2",
    [SHARED_KEYS] = END_OF_KEYS,
};
static const heed_key mbart_keys[] = {
    KEYS, LARGE,
    [PAD].standard = "1", [BOS].standard = "0", [EOS].standard = "2",
    [START].standard = "null", [FORCED_EOS].standard = "2",
    [SHARED_KEYS] = END_OF_KEYS,
};
static const heed_key pegasus_keys[] = {
    KEYS, LARGE,
    [PAD].standard = "0", [BOS].standard = "null", [EOS].standard = "1",
    [START].standard = "0", [FORCED_EOS].standard = "1",
    [SHARED_KEYS] = END_OF_KEYS,
};
/* transformers' generate reads the file as it is: it forces what is written there. */
static const char *const others_absent[] = {"forced_eos_token_id=null", NULL};
/* clang-format on */

#define NORM_EPS 1e-5f

/* ---- parts of a layer ---- */

static bool linear(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                   heed_init init, heed_linear_layer *layer) {
    return part_linear(cx, set, prefix, name, in, out, true, init, layer);
}

static bool norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t C,
                 heed_norm_layer *layer) {
    return part_norm(cx, set, prefix, name, C, NORM_EPS, layer);
}

static bool attention(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t C, int64_t heads,
                      float dropout, heed_init init, heed_multihead *layer) {
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj"};
    const struct part_name path = part_under(cx, prefix, name);
    *layer = (heed_multihead){.width = C, .heads = heads, .key_width = C, .value_width = C, .dropout = dropout};
    return part_qkv(cx, set, path.s, parts, C, init, &layer->in) &&
           part_linear(cx, set, path.s, "out_proj", C, C, true, init, &layer->out);
}

struct sizes {
    int64_t width, heads, hidden;
    heed_activation act;
    bool norm_first;
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
    *l = (heed_encoder_layer){.dropout = s->dropout, .norm_first = s->norm_first, .number = number};
    return attention(cx, set, prefix, "self_attn", s->width, s->heads, s->attention_dropout, s->init, &l->self_attn) &&
           norm(cx, set, prefix, "self_attn_layer_norm", s->width, &l->norm1) &&
           feed_forward(cx, set, prefix, s, &l->feed_forward) &&
           norm(cx, set, prefix, "final_layer_norm", s->width, &l->norm2);
}

static bool decoder_layer(heed_ctx *cx, heed_params *set, int number, const struct sizes *s, heed_decoder_layer *l) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.decoder.layers.%d", number);
    *l = (heed_decoder_layer){.dropout = s->dropout, .norm_first = s->norm_first, .number = number};
    return attention(cx, set, prefix, "self_attn", s->width, s->heads, s->attention_dropout, s->init, &l->self_attn) &&
           norm(cx, set, prefix, "self_attn_layer_norm", s->width, &l->norm1) &&
           attention(cx, set, prefix, "encoder_attn", s->width, s->heads, s->attention_dropout, s->init,
                     &l->multihead_attn) &&
           norm(cx, set, prefix, "encoder_attn_layer_norm", s->width, &l->norm2) &&
           feed_forward(cx, set, prefix, s, &l->feed_forward) &&
           norm(cx, set, prefix, "final_layer_norm", s->width, &l->norm3);
}

/* ---- tokens and positions ---- */

static heed_param *table(heed_ctx *cx, heed_params *set, const char *prefix, int64_t rows, int64_t C, heed_init init) {
    return heed_param_add(cx, set, prefix, "weight", 2, (int64_t[]){rows, C}, init);
}

/* One table for everything, or those of source, target and output apart; tied, the output has the target's. */
static bool tables(heed_ctx *cx, heed_json config, heed_params *set, const struct kind *kind, struct seq2seq *m,
                   heed_init init) {
    const bool tied = heed_json_bool(cx, config, "tie_word_embeddings"),
               shared = !kind->tables || heed_json_bool(cx, config, "share_encoder_decoder_embeddings");
    if (shared && m->target_size != m->source_size)
        return heed_json_fail(cx, heed_json_find(cx, config, "decoder_vocab_size"),
                              "one shared table cannot have two sizes");
    if (shared && tied) {
        m->source.tokens.weight = m->target.tokens.weight = m->output =
            table(cx, set, "model.shared", m->source_size, m->width, init);
        heed_param_tie(cx, set, "model.encoder.embed_tokens", "weight", m->output);
        heed_param_tie(cx, set, "model.decoder.embed_tokens", "weight", m->output);
    } else {
        heed_param *unused = shared ? table(cx, set, "model.shared", m->source_size, m->width, init) : NULL;
        if (unused) unused->frozen = unused->optional = true; /* the Python class has it, and does not use it */
        m->source.tokens.weight = table(cx, set, "model.encoder.embed_tokens", m->source_size, m->width, init);
        m->target.tokens.weight = table(cx, set, "model.decoder.embed_tokens", m->target_size, m->width, init);
        m->output = m->target.tokens.weight;
    }
    if (tied)
        m->output = heed_param_tie_loosely(cx, set, "lm_head", "weight", m->output, true, init);
    else
        m->output = table(cx, set, "lm_head", m->target_size, m->width, init);
    m->source.tokens.padding = m->target.tokens.padding = m->pad;
    m->logits_bias = heed_param_buffer(cx, set, NULL, "final_logits_bias", 2, (int64_t[]){1, m->target_size},
                                       (heed_init){.kind = HEED_INIT_ZEROS});
    if (m->logits_bias) m->logits_bias->optional = true;
    return !heed_failed(cx);
}

/* The positions of a stack, and the norm of what goes into it. */
static bool entry(heed_ctx *cx, heed_params *set, const struct kind *kind, const char *stack, const struct seq2seq *m,
                  heed_init init, struct seq2seq_entry *e) {
    char path[64];
    snprintf(path, sizeof path, "%s.embed_positions", stack);
    if (kind->learned)
        e->positions = table(cx, set, path, SEQ2SEQ_FIRST_POSITION + m->max_length, m->width, init);
    else
        heed_param_ignore(cx, set, path, "weight");
    return !kind->embedding_norm || norm(cx, set, stack, "layernorm_embedding", m->width, &e->norm);
}

/* ---- build ---- */

/* Directories of older releases say how they are built; a BART that is built as none of these is not read as one. */
static bool check_kind(heed_ctx *cx, heed_json config, const struct kind *kind) {
    const struct {
        const char *key;
        bool is;
    } said[] = {{"normalize_before", kind->norm_first},
                {"static_position_embeddings", !kind->learned},
                {"normalize_embedding", kind->embedding_norm},
                {"add_final_layer_norm", kind->final_norm}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const heed_json at = heed_json_find(cx, config, said[i].key);
        if (heed_json_kind_of(at) <= HEED_JSON_NULL) continue;
        if (heed_json_bool(cx, config, said[i].key) != said[i].is && !heed_failed(cx))
            return heed_json_fail(cx, at, "%s, but models of this type are built the other way",
                                  said[i].is ? "false" : "true");
    }
    return !heed_failed(cx);
}

static void read_config(heed_ctx *cx, heed_json config, const struct kind *kind, struct seq2seq *m) {
    const int64_t most = (int64_t)1 << 30;
    m->source_size = config_int(cx, config, "vocab_size", 1, most);
    m->target_size = kind->tables ? config_int(cx, config, "decoder_vocab_size", 0, most) : 0;
    if (m->target_size == 0) m->target_size = m->source_size;
    m->width = config_int(cx, config, "d_model", kind->learned ? 1 : 2, most);
    m->max_length = config_int(cx, config, "max_position_embeddings", 1, most);
    m->encoder.layers = (int)config_int(cx, config, "encoder_layers", 1, MAX_LAYERS);
    m->decoder.layers = (int)config_int(cx, config, "decoder_layers", 1, MAX_LAYERS);
    m->encoder.layer_drop = (float)config_number(cx, config, "encoder_layerdrop", 0, 1);
    m->decoder.layer_drop = (float)config_number(cx, config, "decoder_layerdrop", 0, 1);
    m->pad = config_token(cx, config, "pad_token_id", m->source_size);
    m->start = config_token(cx, config, "decoder_start_token_id", m->target_size);
    static const char *const others[] = {"bos_token_id", "eos_token_id", "forced_bos_token_id", "forced_eos_token_id"};
    for (int i = 0; i < 4; i++) config_token(cx, config, others[i], m->target_size);
    m->wraps = kind->wraps;
    m->scale = heed_json_bool(cx, config, "scale_embedding") ? sqrtf((float)m->width) : 1;
    m->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    m->smoothing = (float)config_number(cx, config, "label_smoothing", 0, 1);
}

static bool check_width(heed_ctx *cx, heed_json config, const char *heads_key, int64_t width, int64_t heads) {
    return width % heads == 0 ||
           heed_json_fail(cx, heed_json_find(cx, config, heads_key), "%lld heads do not divide a d_model of %lld",
                          (long long)heads, (long long)width);
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    const struct kind *const kind = b->family->kind;
    const heed_json config = b->config;
    heed_params *const set = b->params;
    struct seq2seq *m = own;
    const int64_t most = (int64_t)1 << 30;
    read_config(cx, config, kind, m);
    struct sizes s = {.width = m->width,
                      .heads = config_int(cx, config, "encoder_attention_heads", 1, most),
                      .hidden = config_int(cx, config, "encoder_ffn_dim", 1, most),
                      .act = config_activation(cx, config, "activation_function"),
                      .norm_first = kind->norm_first,
                      .dropout = m->dropout,
                      .attention_dropout = (float)config_number(cx, config, "attention_dropout", 0, 1),
                      .activation_dropout = (float)config_number(cx, config, "activation_dropout", 0, 1),
                      .init = {HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "init_std", 0, 1e6)}};
    if (heed_failed(cx) || !check_kind(cx, config, kind)) return false;
    if (!kind->learned && m->width % 2 != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "d_model"), "sine positions need an even width, not %lld",
                              (long long)m->width);
    if (!check_width(cx, config, "encoder_attention_heads", m->width, s.heads) ||
        !tables(cx, config, set, kind, m, s.init) || !entry(cx, set, kind, "model.encoder", m, s.init, &m->source))
        return false;
    m->encoder.layer = heed_params_alloc(cx, set, (size_t)m->encoder.layers, sizeof *m->encoder.layer);
    for (int i = 0; i < m->encoder.layers; i++)
        if (!m->encoder.layer || !encoder_layer(cx, set, i, &s, &m->encoder.layer[i])) return false;
    if (kind->final_norm) norm(cx, set, "model.encoder", "layer_norm", m->width, &m->encoder.norm);
    s.heads = config_int(cx, config, "decoder_attention_heads", 1, most);
    s.hidden = config_int(cx, config, "decoder_ffn_dim", 1, most);
    if (heed_failed(cx) || !check_width(cx, config, "decoder_attention_heads", m->width, s.heads) ||
        !entry(cx, set, kind, "model.decoder", m, s.init, &m->target))
        return false;
    m->decoder.layer = heed_params_alloc(cx, set, (size_t)m->decoder.layers, sizeof *m->decoder.layer);
    for (int i = 0; i < m->decoder.layers; i++)
        if (!m->decoder.layer || !decoder_layer(cx, set, i, &s, &m->decoder.layer[i])) return false;
    return !kind->final_norm || norm(cx, set, "model.decoder", "layer_norm", m->width, &m->decoder.norm);
}

/* ---- the families ---- */

#define HEAD(class)                                                                                                    \
    {class, "translate", "input_ids attention_mask decoder_input_ids labels", .build = build, SEQ2SEQ_RUN}, {          \
        .architecture = NULL                                                                                           \
    }

static const heed_head marian_heads[] = {HEAD("MarianMTModel")};
const heed_family family_marian = {
    .name = "transformer",
    .type = "marian",
    .paper = "Vaswani et al. 2017",
    .summary = "the Transformer: encoder and decoder, for translation",
    .notes =
        "Parameters have the names of transformers' MarianMTModel: model.shared.weight (or "
        "model.encoder.embed_tokens.weight and model.decoder.embed_tokens.weight), "
        "model.encoder.layers.N.self_attn.q_proj.weight and so on, final_logits_bias. Sine positions are computed and "
        "not in the file. Post-norm, as the paper draws it. labels of -100 count for nothing; without "
        "decoder_input_ids, the labels shifted right are taken.",
    .keys = marian_keys,
    .heads = marian_heads,
    .absent = marian_absent,
    .kind = &marian_kind,
    .size = sizeof(struct seq2seq),
};

static const heed_head bart_heads[] = {HEAD("BartForConditionalGeneration")};
const heed_family family_bart = {
    .name = "bart",
    .type = "bart",
    .paper = "Lewis et al. 2020",
    .summary = "the Transformer of BART: post-norm, learned positions, normed embeddings",
    .notes = "Parameters have the names of transformers' BartForConditionalGeneration: those of `transformer`, and "
             "model.encoder.embed_positions.weight, whose first two rows are not used, "
             "model.encoder.layernorm_embedding.weight and so on, also of the decoder.",
    .keys = bart_keys,
    .heads = bart_heads,
    .absent = others_absent,
    .kind = &bart_kind,
    .size = sizeof(struct seq2seq),
};

static const heed_head mbart_heads[] = {HEAD("MBartForConditionalGeneration")};
const heed_family family_mbart = {
    .name = "mbart",
    .type = "mbart",
    .paper = "Liu et al. 2020",
    .summary = "the Transformer of mBART: pre-norm, learned positions, normed embeddings",
    .notes = "Parameters have the names of transformers' MBartForConditionalGeneration: those of `bart`, and "
             "model.encoder.layer_norm.weight and so on, after the last layer, also of the decoder. Labels end with "
             "the code of the language; without decoder_input_ids they are shifted right and this last token comes "
             "first.",
    .keys = mbart_keys,
    .heads = mbart_heads,
    .absent = others_absent,
    .kind = &mbart_kind,
    .size = sizeof(struct seq2seq),
};

static const heed_head pegasus_heads[] = {HEAD("PegasusForConditionalGeneration")};
const heed_family family_pegasus = {
    .name = "pegasus",
    .type = "pegasus",
    .paper = "Zhang et al. 2020",
    .summary = "the Transformer of PEGASUS: pre-norm, sine positions",
    .notes = "Parameters have the names of transformers' PegasusForConditionalGeneration: those of `transformer`, and "
             "model.encoder.layer_norm.weight and so on, after the last layer, also of the decoder. Sine positions are "
             "computed and not read from the file.",
    .keys = pegasus_keys,
    .heads = pegasus_heads,
    .absent = others_absent,
    .kind = &pegasus_kind,
    .size = sizeof(struct seq2seq),
};
