/* ELECTRA (Clark et al. 2020): BERT's encoder as a discriminator, which tells the tokens that a small generator put in
 * place of masked ones. Embeddings may be narrower than the layers. Names and config keys are those of transformers;
 * encoder.h says what they compute, with
 *     ElectraForPreTraining   logits (B,T) = w' a(W h + b) + c         labels (B,T): 1 where a token was replaced
 *     ElectraForMaskedLM      the generator
 *     pooled = gelu(W_d h_0 + b_d) */
#include "model/encoders/electra.h"
#include "model/encoders/encoder.h"
#include "nn/params.h"
#include "tensor/engine.h"
#include <math.h>

static const struct encoder_layout electra_layout = {
    .from = &bert_layout,
    .key = {.embedding = "embedding_size"},
    .project = "embeddings_project",
    .pooler = "",
    .masked = {.dense = "generator_predictions.dense",
               .norm = "generator_predictions.LayerNorm",
               .decoder = "generator_lm_head",
               .bias = ""},
    .classify = {.dense = "classifier.dense", .out = "classifier.out_proj"},
};
/* Of the generator beside the discriminator. */
static const struct encoder_layout generator_layout = {
    .from = &electra_layout,
    .masked = {.dense = GENERATOR ".generator_predictions.dense",
               .norm = GENERATOR ".generator_predictions.LayerNorm",
               .decoder = GENERATOR ".generator_lm_head"},
};
static const struct encoder_kind generator_kind = {.layout = &generator_layout, .segments = true, .masked_gelu = true};

static const heed_key electra_keys[] = {
    {"embedding_size", HEED_KEY_INT, "128", "width of embeddings"},
    BERT_KEYS("30522", "256", "4", "1024", "gelu", "0.1", "0"),
    SEGMENT_KEYS,
    END_OF_KEYS,
};
static const heed_key electra_choose_keys[] = {
    {"summary_type", HEED_KEY_TEXT, "first", "the state of a sequence: first, last, mean; cls_index: last"},
    {"summary_use_proj", HEED_KEY_BOOL, "true", "a linear layer follows"},
    {"summary_activation", HEED_KEY_TEXT_OR_NULL, "gelu", "and this activation; null: none"},
    {"summary_last_dropout", HEED_KEY_NUMBER, "0.1", "dropout before the classifier"},
    {"summary_first_dropout", HEED_KEY_NUMBER, "0", "dropout before that linear layer"},
    {"summary_proj_to_labels", HEED_KEY_BOOL, "false", "must be false"},
    END_OF_KEYS,
};

/* ---- multiple choice ---- */

static bool make_choose(heed_ctx *cx, heed_json config, heed_params *set, struct encoder *m) {
    static const char *const types[] = {"first", "last", "mean", "cls_index", NULL};
    static const enum pooling pooling[] = {POOL_FIRST, POOL_LAST, POOL_MEAN, POOL_LAST};
    const int type = config_choice(cx, config, "summary_type", types);
    const heed_json act = heed_json_find(cx, config, "summary_activation");
    if (type < 0) return false;
    if (heed_json_bool(cx, config, "summary_proj_to_labels"))
        return heed_json_fail(cx, heed_json_find(cx, config, "summary_proj_to_labels"),
                              "a summary of as many numbers as labels is not supported");
    m->pooling = pooling[type];
    if (heed_json_kind_of(act) == HEED_JSON_TEXT && *heed_json_text(cx, act, NULL))
        m->pool.act = config_activation(cx, config, "summary_activation");
    m->first_dropout = (float)config_number(cx, config, "summary_first_dropout", 0, 1);
    m->head_dropout = (float)config_number(cx, config, "summary_last_dropout", 0, 1);
    if (heed_json_bool(cx, config, "summary_use_proj") &&
        !part_linear(cx, set, "sequence_summary", "summary", m->width, m->width, true, m->init, &m->pool.dense))
        return false;
    return part_linear(cx, set, "", "classifier", m->width, 1, true, m->init, &m->output);
}

/* ---- replaced tokens ---- */

static bool electra_replaced(heed_ctx *cx, const heed_build *b, void *own) {
    heed_params *const set = b->params;
    struct encoder *m = own;
    if (!encoder_build_body(cx, b, false, m)) return false;
    m->transform.act = m->act;
    return part_linear(cx, set, "discriminator_predictions", "dense", m->width, m->width, true, m->init,
                       &m->transform.dense) &&
           part_linear(cx, set, "discriminator_predictions", "dense_prediction", m->width, 1, true, m->init,
                       &m->output);
}

/* The binary cross entropy of tokens that are not padding. */
static heed_tensor *replaced_loss(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels, heed_tensor *mask) {
    labels = heed_cast(cx, labels, HEED_F32);
    if (!mask) return heed_bce_loss(cx, logits, labels, HEED_REDUCE_MEAN);
    heed_tensor *const each = heed_bce_loss(cx, logits, heed_mul(cx, labels, mask), HEED_REDUCE_NONE);
    return heed_div(cx, heed_sum(cx, heed_mul(cx, each, mask), NULL, 0, false), heed_sum(cx, mask, NULL, 0, false));
}

static bool run_replaced(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encoder *m = own;
    heed_tensor *const h = transform_run(cx, &m->transform, encoder_run(cx, m, in)),
                       *const ids = heed_io_get(in, "input_ids"), *const labels = input_like(cx, in, "labels", ids),
                       *const mask = input_mask(cx, in, ids);
    heed_tensor *logits = heed_linear_run(cx, &m->output, h, HEED_ACT_NONE);
    if (!logits) return false;
    logits = heed_reshape(cx, logits, 2, heed_shape(ids));
    if (!heed_io_put(cx, out, "logits", logits)) return false;
    return !labels || heed_io_put(cx, out, "loss", replaced_loss(cx, logits, labels, mask));
}

/* ---- both together ----
 * The generator fills in masked tokens, labels (B,T) being what they were; its samples, or those that are given as
 * samples (B,T), are what the discriminator sees.
 *     loss = cross entropy of masked tokens + 50 * binary cross entropy of all tokens that are not padding
 * No gradient goes through the samples. The embeddings are shared. */

#define DISCRIMINATOR_WEIGHT 50.0f
#define SAMPLE_ROWS          ((int64_t)256) /* masked tokens whose logits are held at a time */
#define SAMPLE_SEED          0x656c6563u    /* of the samples that models are measured with */
#define HASH_STEP            0x100000001B3u /* FNV-1a */

struct pretrainer {
    struct encoder discriminator; /* first: what the other heads are */
    struct encoder generator;
};

static const heed_key electra_pretrainer_keys[] = {
    {"generator_size", HEED_KEY_NUMBER, "0.25", "width of the generator, as a fraction of the discriminator's"},
    END_OF_KEYS,
};

heed_json electra_generator_config(heed_ctx *cx, heed_json config) {
    static const char *const scaled[] = {"num_attention_heads", "hidden_size", "intermediate_size"};
    const double size = config_number(cx, config, "generator_size", 0, 1);
    const heed_json copy = heed_json_copy(cx, config);
    int64_t heads = 1;
    for (int i = 0; i < 3 && !heed_failed(cx); i++) {
        int64_t value = llround((double)heed_json_int(cx, config, scaled[i]) * size);
        if (i == 1) value = value / heads * heads; /* heads divide the width */
        if (value < 1) value = i == 1 ? heads : 1;
        if (i == 0) heads = value;
        heed_json_put_int(cx, copy, scaled[i], value);
    }
    heed_json_put_bool(cx, copy, "tie_word_embeddings", true);
    return copy;
}

static bool electra_pretrainer(heed_ctx *cx, const heed_build *b, void *own) {
    heed_params *const set = b->params;
    struct pretrainer *const m = own;
    struct encoder *const g = &m->generator;
    if (!electra_replaced(cx, b, &m->discriminator)) return false;
    const heed_json narrower = electra_generator_config(cx, b->config);
    g->kind = &generator_kind;
    g->shares = &m->discriminator;
    set->beside = GENERATOR;
    const bool made = !heed_failed(cx) && encoder_make(cx, narrower, set, GENERATOR ".electra", false, g) &&
                      encoder_make_masked(cx, narrower, set, g);
    heed_json_free(narrower);
    return made;
}

/* One of the tokens by their probabilities, from a number in (0,1). */
static int32_t sample_token(const float *logits, int64_t n, double chance) {
    double most = (double)logits[0], sum = 0, up_to = 0;
    for (int64_t j = 1; j < n; j++) most = fmax(most, (double)logits[j]);
    for (int64_t j = 0; j < n; j++) sum += exp((double)logits[j] - most);
    for (int64_t j = 0; j < n; j++) {
        up_to += exp((double)logits[j] - most);
        if (up_to >= chance * sum) return (int32_t)j;
    }
    return (int32_t)n - 1;
}

/* A stream of random numbers for a sequence: that of the step while training, else always the same; in either case it
 * does not depend on the sequences beside it. */
static uint64_t stream_of(heed_ctx *cx, const int32_t *ids, const int32_t *labels, int64_t n) {
    uint64_t hash = engine_of(cx)->training ? heed_step(cx) * HASH_STEP + 1 : 0;
    for (int64_t i = 0; i < n; i++)
        if (labels[i] >= 0)
            hash = ((hash * HASH_STEP ^ (uint64_t)i) * HASH_STEP ^ (uint64_t)ids[i]) * HASH_STEP ^ (uint64_t)labels[i];
    return hash;
}

struct sampler {
    heed_tensor *states, *weight, *bias; /* (BT,E), and the generator's output layer */
    const int32_t *ids, *labels;
    int32_t *seen, *replaced;
    int64_t T;
};

/* Samples for the masked tokens at `place`. */
static bool sample_rows(heed_ctx *cx, const struct sampler *s, const int32_t *place, int64_t n) {
    const uint64_t seed = engine_of(cx)->training ? heed_seed(cx) : SAMPLE_SEED;
    heed_scope_begin(cx);
    heed_tensor *const index = cx->config.dry ? heed_zeros(cx, HEED_I32, 1, &n) : heed_from_i32(cx, place, 1, &n);
    heed_tensor *const logits = heed_linear(cx, heed_index_select(cx, s->states, 0, index), s->weight, s->bias);
    for (int64_t i = 0; logits && !cx->config.dry && i < n; i++) {
        const int64_t at = place[i], row = at / s->T * s->T, words = heed_dim(logits, 1);
        const uint64_t stream = stream_of(cx, s->ids + row, s->labels + row, s->T);
        const double chance = ((double)heed_random_bits(seed, stream, (uint64_t)(at - row)) + 0.5) / 4294967296.0;
        s->seen[at] = sample_token(heed_f32(logits) + i * words, words, chance);
        s->replaced[at] = s->seen[at] != s->labels[at];
    }
    heed_scope_end(cx, NULL);
    return !heed_failed(cx);
}

/* All of them, some at a time; a plan takes one such time to be full. */
static bool sample_all(heed_ctx *cx, const struct sampler *s, int64_t tokens) {
    int32_t place[SAMPLE_ROWS] = {0};
    int64_t n = 0;
    if (cx->config.dry) return sample_rows(cx, s, place, tokens < SAMPLE_ROWS ? tokens : SAMPLE_ROWS);
    for (int64_t i = 0; i < tokens; i++) {
        s->seen[i] = s->ids[i];
        if (s->labels[i] >= 0) place[n++] = (int32_t)i;
        if (n < SAMPLE_ROWS && (i + 1 < tokens || n == 0)) continue;
        if (!sample_rows(cx, s, place, n)) return false;
        n = 0;
    }
    return true;
}

/* What the discriminator sees, and which of its tokens are not what they were. */
static bool fill_in(heed_ctx *cx, const struct encoder *g, heed_tensor *x, const heed_tensor *ids,
                    const heed_tensor *labels, heed_tensor *seen, heed_tensor *replaced) {
    if (heed_failed(cx) || !x || !seen || !replaced) return false;
    const int64_t shape[] = {ids->count, heed_dim(x, 2)};
    const bool was = heed_set_grad(cx, false);
    const struct sampler s = {.states = heed_reshape(cx, x, 2, shape),
                              .weight = heed_param_weight(cx, g->decoder),
                              .bias = heed_param_tensor(cx, g->decoder_bias),
                              .ids = i32_of(ids),
                              .labels = i32_of(labels),
                              .seen = (int32_t *)(void *)seen->data,
                              .replaced = (int32_t *)(void *)replaced->data,
                              .T = ids->shape[1]};
    const bool ok = sample_all(cx, &s, ids->count);
    heed_set_grad(cx, was);
    return ok;
}

/* What was drawn elsewhere. */
static bool take_samples(heed_ctx *cx, const heed_tensor *given, const heed_tensor *labels, heed_tensor *seen,
                         heed_tensor *replaced) {
    if (heed_failed(cx) || !seen || !replaced) return false;
    for (int64_t i = 0; i < given->count && !cx->config.dry; i++) {
        ((int32_t *)(void *)seen->data)[i] = i32_of(given)[i];
        ((int32_t *)(void *)replaced->data)[i] = i32_of(labels)[i] >= 0 && i32_of(given)[i] != i32_of(labels)[i];
    }
    return true;
}

static bool run_pretrainer(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct pretrainer *const m = own;
    const struct encoder *const g = &m->generator;
    heed_tensor *const ids = heed_io_get(in, "input_ids");
    heed_tensor *const labels = ids ? input_like(cx, in, "labels", ids) : NULL, *const given =
                                                                                    ids ? input_like(cx, in, "samples",
                                                                                                     ids)
                                                                                        : NULL;
    const heed_cross_entropy_opts opts = {.ignore = true, .ignore_index = NO_LABEL};
    heed_tensor *const x = transform_run(cx, &g->transform, encoder_run(cx, g, in));
    heed_io both = {0}, found = {0};
    if (heed_failed(cx)) return false;
    if (!labels) return heed_fail(cx, HEED_ERR_USAGE, "labels: this input is needed");
    heed_tensor *const words = heed_linear_cross_entropy(cx, x, heed_param_weight(cx, g->decoder),
                                                         heed_param_tensor(cx, g->decoder_bias), labels, &opts);
    heed_tensor *const seen = heed_zeros(cx, HEED_I32, 2, heed_shape(ids)), *const replaced = heed_zeros(
                                                                                cx, HEED_I32, 2, heed_shape(ids));
    if (!(given ? take_samples(cx, given, labels, seen, replaced) : fill_in(cx, g, x, ids, labels, seen, replaced)))
        return false;
    for (int i = 0; i < in->n; i++)
        if (in->tensor[i] != given)
            heed_io_put(cx, &both, in->name[i],
                        in->tensor[i] == ids      ? seen
                        : in->tensor[i] == labels ? replaced
                                                  : in->tensor[i]);
    if (heed_failed(cx) || !run_replaced(cx, &m->discriminator, &both, &found)) return false;
    heed_tensor *const told = heed_affine(cx, heed_io_get(&found, "loss"), DISCRIMINATOR_WEIGHT, 0);
    return heed_io_put(cx, out, "logits", heed_io_get(&found, "logits")) && heed_io_put(cx, out, "seen", seen) &&
           heed_io_put(cx, out, "replaced", replaced) && heed_io_put(cx, out, "generator_loss", words) &&
           heed_io_put(cx, out, "loss", heed_add(cx, words, told));
}

/* ---- the family ---- */

static const struct encoder_kind electra_kind = {.layout = &electra_layout,
                                                 .make_choose = make_choose,
                                                 .segments = true,
                                                 .masked_gelu = true,
                                                 .dense_act = HEED_ACT_GELU,
                                                 .drops_first = true};
static const heed_head electra_heads[] = {
    {"ElectraForPreTraining", "pretrain", ENCODER_INPUTS " labels", .build = electra_replaced, .forward = run_replaced,
     .sample = encoder_sample_masked},
    {"ElectraForPreTraining", "replaced", ENCODER_INPUTS " labels samples", .keys = electra_pretrainer_keys,
     .build = electra_pretrainer, .forward = run_pretrainer, .sample = encoder_sample_masked},
    ENCODER_HEADS("Electra", ENCODER_INPUTS, bert_classify_keys, bert_tag_keys, num_labels_keys, electra_choose_keys),
    {.architecture = NULL},
};

const heed_family family_electra = {
    .name = "electra",
    .type = "electra",
    .base = "electra",
    .paper = "Clark et al. 2020",
    .summary = "an encoder pre-trained to tell replaced tokens; its generator fills masked ones",
    .notes =
        "Parameters have the names of transformers' classes, with electra. at the beginning except in the bare model; "
        "electra.embeddings_project where embedding_size differs from hidden_size. ElectraForPreTraining gives one "
        "logit for each token, and its labels are 1 where a token was replaced; padding does not count. Task replaced "
        "is the same with its generator beside it, from which 'heed train mlm' draws the tokens.",
    .keys = electra_keys,
    .heads = electra_heads,
    .ignored = encoder_ignored,
    .kind = &electra_kind,
    .size = sizeof(struct pretrainer),
};
