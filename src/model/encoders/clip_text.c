/* CLIP's text encoder (Radford et al. 2021), which guides Stable Diffusion: a pre-norm Transformer in which no token
 * sees one after it, so that the token at the end of the text has seen all of it.
 *
 *     h = word(ids) + position;   h = h + causal attention(norm(h));  h = h + W_2 a(W_1 norm(h))         in each layer
 *     last_hidden_state = norm(h);   pooler_output: that of the text's end;   text_embeds = W pooler_output
 *
 * Names and config keys are those of transformers.
 *     input_ids, attention_mask, position_ids (B,T) -> last_hidden_state (B,T,C), pooler_output (B,C) or text_embeds
 *     (B,P) */
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/parts/parts.h"
#include "tensor/engine.h"
#include <math.h>

struct clip_text {
    heed_embedding_layer word, position;
    heed_encoder stack;
    heed_linear_layer projection; /* weight NULL: the body alone */
    int64_t width, end;           /* the token that texts end with */
};

static const heed_key clip_text_keys[] = {
    {"vocab_size", HEED_KEY_INT, "49408", "number of tokens"},
    {"hidden_size", HEED_KEY_INT, "512", "width"},
    {"intermediate_size", HEED_KEY_INT, "2048", "width of the feed-forward layers"},
    {"projection_dim", HEED_KEY_INT_OR_NULL, "512", "width of text_embeds"},
    {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},
    {"num_attention_heads", HEED_KEY_INT, "8", "number of attention heads, which divides the width"},
    {"max_position_embeddings", HEED_KEY_INT, "77", "maximum number of tokens"},
    {"hidden_act", HEED_KEY_TEXT, "quick_gelu", "activation, by transformers' name"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-05", "epsilon of layer norms"},
    {"attention_dropout", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"initializer_factor", HEED_KEY_NUMBER, "1.0", "scale of fresh weights"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "1", "padding token"},
    {"bos_token_id", HEED_KEY_INT_OR_NULL, "49406", "token that text begins with"},
    {"eos_token_id", HEED_KEY_INT, "49407",
     "the first of these is the end of the text; 2, as older files have it: the token with the highest number is"},
    END_OF_KEYS,
};
static const char *const clip_text_ignored[] = {"*embeddings.position_ids", NULL};

/* ---- the body ---- */

static heed_init normal(double deviation) { return (heed_init){HEED_INIT_NORMAL, 0, (float)deviation}; }

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct clip_text *m,
                       heed_encoder_layer *l) {
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj"};
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const int64_t C = m->width, hidden = config_int(cx, config, "intermediate_size", 1, MAX_SIZE);
    const double factor = config_number(cx, config, "initializer_factor", 0, 1e6), root = factor / sqrt((double)C),
                 less = root / sqrt(2 * (double)m->stack.layers); /* of what reads or adds to the residual stream */
    const struct part_name attention = part_under(cx, prefix, "self_attn");
    if (!part_heads(cx, config, "hidden_size", "num_attention_heads", &l->self_attn)) return false;
    l->norm_first = true;
    l->site = "attention";
    l->feed_forward.act = config_activation(cx, config, "hidden_act");
    l->self_attn.dropout = (float)config_number(cx, config, "attention_dropout", 0, 1);
    return part_norm(cx, set, prefix, "layer_norm1", C, eps, &l->norm1) &&
           part_qkv(cx, set, attention.s, parts, C, normal(less), &l->self_attn.in) &&
           part_linear(cx, set, attention.s, "out_proj", C, C, true, normal(root), &l->self_attn.out) &&
           part_norm(cx, set, prefix, "layer_norm2", C, eps, &l->norm2) &&
           part_linear(cx, set, prefix, "mlp.fc1", C, hidden, true, normal(root / sqrt(2)), &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "mlp.fc2", hidden, C, true, normal(less), &l->feed_forward.linear2);
}

static bool make_body(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct clip_text *m) {
    const int64_t words = config_int(cx, config, "vocab_size", 1, MAX_SIZE),
                  places = config_int(cx, config, "max_position_embeddings", 1, MAX_SIZE);
    const heed_init tables = normal(0.02 * config_number(cx, config, "initializer_factor", 0, 1e6));
    m->width = config_int(cx, config, "hidden_size", 1, MAX_SIZE);
    m->end = heed_json_int(cx, config, "eos_token_id");
    m->stack.layers = (int)config_int(cx, config, "num_hidden_layers", 0, MAX_LAYERS);
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    const struct part_name embeddings = part_under(cx, base, "embeddings"), encoder = part_under(cx, base, "encoder");
    if (heed_failed(cx) ||
        !part_embedding(cx, set, embeddings.s, "token_embedding", words, m->width, tables, &m->word) ||
        !part_embedding(cx, set, embeddings.s, "position_embedding", places, m->width, tables, &m->position))
        return false;
    for (int i = 0; i < m->stack.layers; i++) {
        m->stack.layer[i].number = i;
        if (!make_layer(cx, config, set, part_numbered(cx, encoder.s, "layers", i).s, m, &m->stack.layer[i]))
            return false;
    }
    return part_norm(cx, set, base, "final_layer_norm", m->width,
                     (float)config_number(cx, config, "layer_norm_eps", 0, 1), &m->stack.norm);
}

/* -> (B,T,C) */
static heed_tensor *run_body(heed_ctx *cx, const struct clip_text *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    const heed_mask mask = input_causal(cx, in, ids);
    heed_tensor *const x =
        heed_add(cx, heed_embedding_run(cx, &m->word, ids), input_positions(cx, in, m->position.weight, ids, 0));
    return heed_encoder_run(cx, &m->stack, x, &mask);
}

/* Where the text ends, the first place where there is no such token. */
static int64_t end_of(const struct clip_text *m, const int32_t *ids, int64_t n) {
    int64_t highest = 0;
    for (int64_t t = 0; t < n; t++) {
        if (m->end != 2 && ids[t] == m->end) return t;
        if (ids[t] > ids[highest]) highest = t;
    }
    return m->end == 2 ? highest : 0;
}

/* h (B,T,C) -> (B,C) */
static heed_tensor *pooled(heed_ctx *cx, const struct clip_text *m, heed_tensor *h, heed_tensor *ids) {
    if (heed_failed(cx)) return NULL;
    const int64_t B = ids->shape[0], T = ids->shape[1];
    if (T < 1) {
        heed_fail(cx, HEED_ERR_SHAPE, "input_ids: a text without a token has no end");
        return NULL;
    }
    heed_tensor *const ends = heed_zeros(cx, HEED_I32, 1, &B), *const tokens = heed_contiguous(cx, ids);
    for (int64_t b = 0; ends && tokens && !cx->config.dry && b < B; b++)
        ((int32_t *)(void *)ends->data)[b] = (int32_t)(b * T + end_of(m, i32_of(tokens) + b * T, T));
    return heed_index_select(cx, heed_reshape(cx, h, 2, (int64_t[]){B * T, m->width}), 0, ends);
}

/* ---- heads ---- */

static bool bare_build(heed_ctx *cx, const heed_build *b, void *own) {
    return make_body(cx, b->config, b->params, "", own);
}

static bool projection_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct clip_text *m = own;
    const int64_t out = config_int(cx, b->config, "projection_dim", 1, MAX_SIZE);
    const double factor = config_number(cx, b->config, "initializer_factor", 0, 1e6);
    return make_body(cx, b->config, b->params, b->family->base, m) &&
           part_linear(cx, b->params, "", "text_projection", m->width, out, false,
                       normal(factor / sqrt((double)m->width)), &m->projection);
}

static bool clip_text_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct clip_text *m = own;
    heed_tensor *const h = run_body(cx, m, in), *const end = pooled(cx, m, h, heed_io_get(in, "input_ids"));
    if (m->projection.weight &&
        !heed_io_put(cx, out, "text_embeds", heed_linear_run(cx, &m->projection, end, HEED_ACT_NONE)))
        return false;
    return heed_io_put(cx, out, "last_hidden_state", h) &&
           (m->projection.weight || heed_io_put(cx, out, "pooler_output", end));
}

static bool clip_text_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const int64_t most = ((const struct clip_text *)own)->position.weight->shape[0];
    return input_sample(cx, batch, length < most ? length : most, in);
}

#define INPUTS "input_ids attention_mask position_ids"
static const heed_head clip_text_heads[] = {
    {"CLIPTextModel", "", INPUTS, .bare = true, .build = bare_build, .forward = clip_text_forward,
     .sample = clip_text_sample},
    {"CLIPTextModelWithProjection", "", INPUTS, .build = projection_build, .forward = clip_text_forward,
     .sample = clip_text_sample},
    {.architecture = NULL},
};

const heed_family family_clip_text = {
    .name = "clip_text",
    .type = "clip_text_model",
    .base = "text_model",
    .paper = "Radford et al. 2021",
    .summary = "CLIP's encoder of captions, which guides text-to-image diffusion",
    .notes = "Parameters have the names of transformers' classes: text_model.embeddings.token_embedding.weight, "
             "text_model.encoder.layers.N.self_attn.q_proj.weight and so on, and text_projection.weight; "
             "CLIPTextModel's without text_model. at the beginning. Files of either kind are read by both heads. "
             "Directories of whole CLIP models, with the encoder of pictures, are not read.",
    .keys = clip_text_keys,
    .heads = clip_text_heads,
    .ignored = clip_text_ignored,
    .size = sizeof(struct clip_text),
};
