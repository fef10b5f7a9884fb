/* ELECTRA (Clark et al. 2020): BERT's encoder as a discriminator, which tells the tokens that a small generator put in
 * place of masked ones. Embeddings may be narrower than the layers. Names and config keys are those of transformers;
 * encoder.h says what they compute, with
 *     ElectraForPreTraining   logits (B,T) = w' a(W h + b) + c         labels (B,T): 1 where a token was replaced
 *     ElectraForMaskedLM      the generator
 *     pooled = gelu(W_d h_0 + b_d) */
#include "model/encoder.h"

static const struct encoder_kind electra_kind = {
    .base = "electra",
    .key = {BERT_CONFIG, .embedding = "embedding_size"},
    .stack = "encoder.layer",
    .layer = {BERT_LAYER},
    .project = "embeddings_project",
    .segments = true,
    .masked = {.dense = "generator_predictions.dense",
               .norm = "generator_predictions.LayerNorm",
               .decoder = "generator_lm_head",
               .gelu = true},
    .classify = {.dense = "classifier.dense",
                 .act = HEED_ACT_GELU,
                 .drops_first = true,
                 .dropout = "classifier_dropout",
                 .out = "classifier.out_proj"},
    .tag = {.dropout = "classifier_dropout", .out = "classifier"},
    .answer = {.out = "qa_outputs"},
};

static const heed_key electra_keys[] = {
    {"embedding_size", HEED_KEY_INT, "128", "width of embeddings"},
    BERT_KEYS("30522", "256", "4", "1024", "gelu", "0.1", "0"),
    SEGMENT_KEYS,
    END_OF_KEYS,
};
static const heed_key electra_classify_keys[] = {LABEL_KEYS, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
static const heed_key electra_tag_keys[] = {NUM_LABELS_KEY, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
static const heed_key electra_answer_keys[] = {NUM_LABELS_KEY, END_OF_KEYS};
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

static bool electra_choose(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    static const char *const types[] = {"first", "last", "mean", "cls_index", NULL};
    static const enum pooling pooling[] = {POOL_FIRST, POOL_LAST, POOL_MEAN, POOL_LAST};
    struct encoder *m = own;
    if (!encoder_make(cx, &electra_kind, config, set, "electra", false, m)) return false;
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

static bool electra_replaced(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct encoder *m = own;
    if (!encoder_make(cx, &electra_kind, config, set, "electra", false, m)) return false;
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

/* ---- the family ---- */

ENCODER_BUILD(electra, bare)
ENCODER_BUILD(electra, masked)
ENCODER_BUILD(electra, classify)
ENCODER_BUILD(electra, tag)
ENCODER_BUILD(electra, answer)
static const heed_head electra_heads[] = {
    {"ElectraForPreTraining", "pretrain", ENCODER_INPUTS " labels", .build = electra_replaced, .forward = run_replaced,
     .sample = encoder_sample_masked},
    ENCODER_HEADS(electra, "Electra", ENCODER_INPUTS),
    {.architecture = NULL},
};

const heed_family family_electra = {
    .name = "electra",
    .type = "electra",
    .base = "electra",
    .paper = "Clark et al. 2020",
    .summary = "an encoder pre-trained to tell replaced tokens; its generator fills masked ones",
    .notes =
        "Parameters have the names of transformers' classes, with electra. at the beginning but for the bare model; "
        "electra.embeddings_project where embedding_size differs from hidden_size. ElectraForPreTraining gives one "
        "logit for each token, and its labels are 1 where a token was replaced; padding does not count.",
    .keys = electra_keys,
    .heads = electra_heads,
    .ignored = encoder_ignored,
    .size = sizeof(struct encoder),
};
