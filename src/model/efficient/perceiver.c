/* Perceiver with the names and config keys of transformers: masked bytes, classes of texts and of pictures, and the
 * bare encoder. perceiver.h says what it computes. */
#include "model/efficient/perceiver.h"
#include "tensor/engine.h"

#define BASE    "perceiver"
#define DECODER BASE ".decoder" /* of the classes, with another .decoder behind */

/* ---- build ---- */

static void read_init(heed_ctx *cx, heed_json config, struct perceiver *m) {
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 100)};
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    struct perceiver *m = own;
    read_init(cx, config, m);
    m->width = config_int(cx, config, "d_model", 1, MAX_SIZE);
    return perceiver_make_encoder(cx, config, b->params, "", m);
}

static bool make_tokens(heed_ctx *cx, heed_json config, heed_params *set, struct perceiver *m) {
    const int64_t words = config_int(cx, config, "vocab_size", 1, MAX_SIZE);
    const int64_t positions = config_int(cx, config, "max_position_embeddings", 1, MAX_SIZE);
    const char *const prep = BASE ".input_preprocessor";
    read_init(cx, config, m);
    m->prep = PREP_TOKENS;
    m->width = config_int(cx, config, "d_model", 1, MAX_SIZE);
    if (heed_failed(cx) || !part_embedding(cx, set, prep, "embeddings", words, m->width, m->init, &m->word) ||
        !part_embedding(cx, set, prep, "position_embeddings", positions, m->width, m->init, &m->position))
        return false;
    return perceiver_make_encoder(cx, config, set, BASE, m);
}

/* Its decoder has 8 heads, whatever the config says. */
static bool build_masked(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    enum { HEADS = 8 };
    struct perceiver *m = own;
    const int64_t key_width = config_int(cx, config, "decoder_qk_channels", 1, MAX_SIZE);
    if (!make_tokens(cx, config, set, m)) return false;
    if (m->width % HEADS != 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "d_model"),
                              "the decoder of masked tokens has %d heads, which do not divide %lld", HEADS,
                              (long long)m->width);
    m->word.weight->is_embedding = false; /* logits are products with it */
    m->bias = heed_param_add(cx, set, "embedding_decoder", "bias", 1, m->word.weight->shape,
                             (heed_init){.kind = HEED_INIT_ZEROS});
    return perceiver_make_decoder(cx, config, set, DECODER, m->position.weight->shape[0], m->width, HEADS, key_width,
                                  false, m);
}

/* One query, and a linear layer of what it finds. */
static bool make_classifier(heed_ctx *cx, heed_json config, heed_params *set, struct perceiver *m) {
    const int64_t C = m->latents->shape[1];
    m->problem = config_problem(cx, config);
    if (!perceiver_make_decoder(cx, config, set, DECODER ".decoder", 1, C, 1, 0, true, m) ||
        !part_linear(cx, set, DECODER ".decoder", "final_layer", C, config_labels(cx, config), true, m->init,
                     &m->output))
        return false;
    m->output.weight->head = m->output.bias->head = true;
    return true;
}

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    return make_tokens(cx, b->config, b->params, own) && make_classifier(cx, b->config, b->params, own);
}

static bool build_pictures(heed_ctx *cx, heed_json config, heed_params *set, enum perceiver_prep prep,
                           struct perceiver *m) {
    read_init(cx, config, m);
    m->prep = prep;
    return perceiver_make_pictures(cx, config, set, BASE, m) && perceiver_make_encoder(cx, config, set, BASE, m) &&
           make_classifier(cx, config, set, m);
}

static bool build_fourier(heed_ctx *cx, const heed_build *b, void *own) {
    return build_pictures(cx, b->config, b->params, PREP_PIXELS, own);
}
static bool build_learned(heed_ctx *cx, const heed_build *b, void *own) {
    return build_pictures(cx, b->config, b->params, PREP_CONV1X1, own);
}
static bool build_conv(heed_ctx *cx, const heed_build *b, void *own) {
    return build_pictures(cx, b->config, b->params, PREP_CONV, own);
}

/* ---- run ---- */

/* Tokens by either name that the Python class takes. */
static heed_tensor *tokens(heed_ctx *cx, const heed_io *in) {
    const bool other = !heed_io_get(in, "input_ids") && heed_io_get(in, "inputs");
    return input_ids(cx, in, other ? "inputs" : "input_ids", true);
}

static heed_tensor *embed(heed_ctx *cx, const struct perceiver *m, const heed_io *in) {
    heed_tensor *const ids = tokens(cx, in);
    heed_tensor *const x = ids ? heed_embedding_run(cx, &m->word, ids) : NULL;
    return x ? heed_add(cx, x, input_positions(cx, in, m->position.weight, ids, 0)) : NULL;
}

static heed_tensor *vectors(heed_ctx *cx, const struct perceiver *m, const heed_io *in) {
    heed_tensor *const x = heed_io_get(in, "inputs");
    if (heed_failed(cx)) return NULL;
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "inputs: this input is needed"), NULL;
    if (x->rank == 3 && x->dtype == HEED_F32 && x->shape[2] == m->width) return x;
    heed_fail(cx, HEED_ERR_SHAPE, "inputs: f32 numbers of shape (B,T,%lld) are needed, not %s %s", (long long)m->width,
              heed_dtype_name(x->dtype), heed_shape_text(x).s);
    return NULL;
}

static heed_tensor *encode(heed_ctx *cx, const struct perceiver *m, const heed_io *in) {
    heed_tensor *const x = m->prep == PREP_NONE     ? vectors(cx, m, in)
                           : m->prep == PREP_TOKENS ? embed(cx, m, in)
                                                    : perceiver_see(cx, m, in);
    const heed_mask mask = input_padding_of(cx, in, x);
    return perceiver_encode(cx, m, x, &mask);
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const z = encode(cx, own, in);
    return z && heed_io_put(cx, out, "last_hidden_state", z);
}

/* There are logits of every position, also of those beyond the tokens; but with labels, of the tokens alone. */
static bool forward_masked(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct perceiver *m = own;
    heed_tensor *const ids = tokens(cx, in), *const labels = ids ? input_like(cx, in, "labels", ids) : NULL;
    heed_tensor *const z = encode(cx, m, in);
    if (!z) return false;
    heed_tensor *const x = perceiver_decode(cx, m, z, labels ? labels->shape[1] : m->queries->shape[0]);
    return head_tokens(cx, in, x, heed_param_weight(cx, m->word.weight), heed_param_tensor(cx, m->bias), labels, out);
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct perceiver *m = own;
    heed_tensor *const z = encode(cx, m, in), *const x = perceiver_decode(cx, m, z, 1);
    if (in->states && (!z || !heed_io_put(cx, out, "last_hidden_state", z))) return false;
    heed_tensor *const y = heed_linear_run(cx, &m->output, x, HEED_ACT_NONE);
    return y && head_classify(cx, m->problem, in, heed_reshape(cx, y, 2, (int64_t[]){y->shape[0], y->shape[2]}), out);
}

/* ---- plans ---- */

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct perceiver *m = own;
    return heed_io_put(cx, in, "inputs", heed_zeros(cx, HEED_F32, 3, (int64_t[]){batch, length, m->width}));
}

static bool sample_tokens(heed_ctx *cx, const struct perceiver *m, int64_t batch, int64_t length, heed_io *in) {
    const int64_t max_length = m->position.weight->shape[0];
    return input_sample(cx, batch, length < max_length ? length : max_length, in);
}

static bool sample_masked(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return sample_tokens(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, heed_shape(heed_io_get(in, "input_ids"))));
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct perceiver *m = own;
    const struct perceiver_pictures *const p = &m->pictures;
    const int64_t shape[] = {batch, p->channels, p->image[0], p->image[1]};
    if (m->prep == PREP_TOKENS ? !sample_tokens(cx, m, batch, length, in)
                               : !heed_io_put(cx, in, "pixel_values", heed_zeros(cx, HEED_F32, 4, shape)))
        return false;
    return head_sample_labels(cx, m->problem, batch, m->output.weight->shape[0], in);
}

/* ---- the family ---- */

static const heed_key keys[] = {
    {"num_latents", HEED_KEY_INT, "256", "number of latents"},
    {"d_latents", HEED_KEY_INT, "1280", "width of latents"},
    {"d_model", HEED_KEY_INT, "768", "width of inputs: of embedded tokens; of pictures it follows from other keys"},
    {"num_blocks", HEED_KEY_INT, "1", "times that the self-attention layers are gone through"},
    {"num_self_attends_per_block", HEED_KEY_INT, "26", "number of self-attention layers of the latents"},
    {"num_self_attention_heads", HEED_KEY_INT, "8", "number of heads of self-attention, which divides d_latents"},
    {"num_cross_attention_heads", HEED_KEY_INT, "8",
     "number of heads of attention to the inputs, which divides d_latents and the width of keys"},
    {"qk_channels", HEED_KEY_INT_OR_NULL, "null",
     "width of queries and keys; null: of the latents, or as cross_attention_shape_for_attention says"},
    {"v_channels", HEED_KEY_INT_OR_NULL, "null", "width of values, which is d_latents; null: that of keys"},
    {"cross_attention_shape_for_attention", HEED_KEY_TEXT, "kv",
     "width of keys of attention to the inputs: kv, that of inputs, or q, that of latents"},
    {"self_attention_widening_factor", HEED_KEY_INT, "1", "width of the feed-forward layers, by d_latents"},
    {"cross_attention_widening_factor", HEED_KEY_INT, "1", "the same of attention to the inputs"},
    {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of attention weights"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "no effect: norms have 1e-5, as in transformers"},
    {"use_query_residual", HEED_KEY_BOOL, "true", "latents are added to what attention to the inputs gives"},
    END_OF_KEYS,
};
#define TOKEN_KEYS                                                                                                     \
    {"vocab_size", HEED_KEY_INT, "262", "number of tokens: bytes and 6 special ones"}, {                               \
        "max_position_embeddings", HEED_KEY_INT, "2048", "number of positions"                                         \
    }
static const heed_key masked_keys[] = {
    TOKEN_KEYS,
    {"decoder_qk_channels", HEED_KEY_INT, "256", "width of the decoder's queries and keys; transformers opens 256"},
    END_OF_KEYS,
};
static const heed_key classify_keys[] = {TOKEN_KEYS, LABEL_KEYS, END_OF_KEYS};

/* Arguments of transformers' PerceiverImagePreprocessor; its classes always give these. */
#define CHANNELS_KEY                                                                                                   \
    { "in_channels", HEED_KEY_INT, "3", "channels of pictures; transformers opens 3" }
#define OUT_KEY(n)                                                                                                     \
    { "out_channels", HEED_KEY_INT, n, "channels of the convolution; transformers opens " n }
#define FOURIER_KEYS(n)                                                                                                \
    {"num_bands", HEED_KEY_INT, "64", "frequencies of positions, of each axis; transformers opens 64"},                \
        {"max_resolution", HEED_KEY_INT_OR_LIST, n, "twice the highest of them; transformers opens " n}, {             \
        "image_size", HEED_KEY_INT_OR_LIST, "56", "of pictures: a side, or height and width; others are taken too"     \
    }
static const heed_key fourier_keys[] = {CHANNELS_KEY, FOURIER_KEYS("224"), LABEL_KEYS, END_OF_KEYS};
static const heed_key conv_keys[] = {CHANNELS_KEY, OUT_KEY("64"), FOURIER_KEYS("56"), LABEL_KEYS, END_OF_KEYS};
static const heed_key learned_keys[] = {
    CHANNELS_KEY,
    OUT_KEY("256"),
    {"image_size", HEED_KEY_INT, "56", "side of pictures, which are squares; positions of others are interpolated"},
    LABEL_KEYS,
    END_OF_KEYS,
};

#define TEXT     "input_ids inputs attention_mask labels"
#define PICTURES "pixel_values inputs attention_mask labels"
#define CLASSIFY .forward = forward_classify, .sample = sample_classify
#define SEE      CLASSIFY, .place = perceiver_place

static const heed_head perceiver_heads[] = {
    {"PerceiverForMaskedLM", .tasks = "mlm", .inputs = TEXT, .keys = masked_keys, .build = build_masked,
     .forward = forward_masked, .sample = sample_masked},
    {"PerceiverForSequenceClassification", .tasks = "classify regress", .inputs = TEXT, .keys = classify_keys,
     .build = build_classify, CLASSIFY},
    {"PerceiverForImageClassificationLearned", .tasks = "classify learned",
     .inputs = PICTURES " interpolate_pos_encoding", .keys = learned_keys, .build = build_learned, SEE},
    {"PerceiverForImageClassificationFourier", .tasks = "classify fourier", .inputs = PICTURES, .keys = fourier_keys,
     .build = build_fourier, SEE},
    {"PerceiverForImageClassificationConvProcessing", .tasks = "classify conv", .inputs = PICTURES, .keys = conv_keys,
     .build = build_conv, SEE},
    {"PerceiverModel", .tasks = "", .inputs = "inputs attention_mask", .bare = true, .build = build_bare,
     .forward = forward_bare, .sample = sample_bare},
    {.architecture = NULL},
};

static const char *const ignored[] = {"decoder.*", "input_preprocessor.*", NULL}; /* those of another head */

const heed_family family_perceiver = {
    .name = "perceiver",
    .type = "perceiver",
    .tokens = "byte",
    .base = BASE,
    .paper = "Jaegle et al. 2021; Jaegle et al. 2022",
    .summary = "a few latents look at any number of bytes or pixels",
    .notes = "Parameters have the names of transformers' files, with perceiver. at the beginning except in the bare "
             "model, which takes inputs (B,T,d_model): perceiver.embeddings.latents, "
             "perceiver.encoder.cross_attention.attention.self.query.weight. Texts are bytes: a directory with the "
             "tokenizer class PerceiverTokenizer needs no vocabulary. Logits of masked bytes are of all "
             "max_position_embeddings positions, and with labels of the given ones. The heads of pictures are "
             "learned, fourier and conv: `heed new --task`, `heed train classify --head`.",
    .keys = keys,
    .heads = perceiver_heads,
    .ignored = ignored,
    .size = sizeof(struct perceiver),
};
