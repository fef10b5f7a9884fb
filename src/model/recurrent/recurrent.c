/* Recurrent networks over tokens: RNN (Elman 1990), GRU (Cho et al. 2014), LSTM (Hochreiter & Schmidhuber 1997).
 *
 *     x = E[ids];   h = rnn(x), a stack of layers, in both directions where that is asked for
 *     language model    logits = h W' + b, of the next token                              W: E where they are tied
 *     classification    logits = pooled W' + b: of the last states, or the mean or the maximum over the tokens
 *     tagging           logits = h W' + b, of each token
 *
 * Dropout is that of PyTorch's word_language_model example: of embeddings, between layers, and of what the output layer
 * reads. Padding, wherever attention_mask has it, is skipped: a row is as long as it has tokens.
 *     input_ids, attention_mask, labels (B,T); of the language model also shift_labels and teacher_forcing (B,T), state
 *     and cell */
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/parts/forcing.h"
#include "model/parts/packed_tokens.h"
#include "model/parts/parts.h"
#include "model/parts/recurrent_state.h"
#include "tensor/engine.h"
#include <float.h>

enum pooling { POOL_LAST, POOL_MEAN, POOL_MAX };

struct recurrent {
    heed_embedding_layer embedding;
    heed_rnn rnn;
    heed_linear_layer output; /* weight: the table of embeddings where they are tied; NULL: the bare model */
    float dropout;
    int64_t outputs; /* of the stack, both directions */
    enum pooling pooling;
    enum problem problem;
};

/* ---- keys ---- */

#define RECURRENT_KEYS                                                                                                 \
    {"vocab_size", HEED_KEY_INT, "10000", "number of tokens"},                                                         \
        {"embedding_size", HEED_KEY_INT, "200", "width of embeddings"},                                                \
        {"hidden_size", HEED_KEY_INT, "200", "units of a layer"},                                                      \
        {"num_layers", HEED_KEY_INT, "2", "number of layers"},                                                         \
        {"bias", HEED_KEY_BOOL, "true", "the recurrent layers have biases"},                                           \
        {"dropout", HEED_KEY_NUMBER, "0.2", "dropout of embeddings, between layers and of the last layer's output"},   \
        {"initializer_range", HEED_KEY_NUMBER, "0.1", "fresh embeddings lie between this and its negative"},           \
        {"pad_token_id", HEED_KEY_INT_OR_NULL, "null", "padding token"},                                               \
        {"bos_token_id", HEED_KEY_INT_OR_NULL, "null", "token that text begins with"}, {                               \
        "eos_token_id", HEED_KEY_INT_OR_NULL, "null", "token that text ends with"                                      \
    }
#define DIRECTIONS_KEY                                                                                                 \
    { "bidirectional", HEED_KEY_BOOL, "true", "layers read in both directions, side by side" }

static const heed_key rnn_keys[] = {
    RECURRENT_KEYS, {"nonlinearity", HEED_KEY_TEXT, "tanh", "tanh or relu"}, END_OF_KEYS};
static const heed_key gru_keys[] = {RECURRENT_KEYS, END_OF_KEYS};
static const heed_key lstm_keys[] = {RECURRENT_KEYS,
                                     {"proj_size", HEED_KEY_INT, "0",
                                      "outputs of a layer, projected from its hidden_size units (Sak et al. 2014); 0: "
                                      "all of them"},
                                     END_OF_KEYS};
static const heed_key lm_keys[] = {
    {"tie_word_embeddings", HEED_KEY_BOOL, "false",
     "the output layer shares the table of embeddings, whose width must be that of a layer's output"},
    END_OF_KEYS};
static const heed_key classify_keys[] = {
    DIRECTIONS_KEY,
    {"pooling", HEED_KEY_TEXT, "max", "what is classified: last (states), mean or max over the tokens"},
    LABEL_KEYS,
    END_OF_KEYS};
static const heed_key tag_keys[] = {
    DIRECTIONS_KEY, {"num_labels", HEED_KEY_INT, "2", "number of classes, where id2label does not say"}, END_OF_KEYS};
static const heed_key bare_keys[] = {DIRECTIONS_KEY, END_OF_KEYS};

/* ---- the body ---- */

static heed_cell_kind kind_of(heed_ctx *cx, heed_json config, heed_cell_kind kind) {
    static const char *const names[] = {"tanh", "relu", NULL};
    if (kind != HEED_RNN_TANH) return kind;
    return config_choice(cx, config, "nonlinearity", names) == 1 ? HEED_RNN_RELU : HEED_RNN_TANH;
}

/* both: bidirectional, if config.json says so */
static bool make_body(heed_ctx *cx, const heed_build *b, bool both, struct recurrent *m) {
    const heed_cell_kind kind = *(const heed_cell_kind *)b->family->kind;
    const heed_json config = b->config;
    const int64_t most = (int64_t)1 << 24, words = config_int(cx, config, "vocab_size", 1, (int64_t)1 << 30);
    const float range = (float)config_number(cx, config, "initializer_range", 0, 1e6);
    const heed_init init = {HEED_INIT_UNIFORM, -range, range};
    m->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    heed_rnn_opts opts = {.kind = kind_of(cx, config, kind),
                          .inputs = config_int(cx, config, "embedding_size", 1, most),
                          .units = config_int(cx, config, "hidden_size", 1, most),
                          .layers = (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS),
                          .bias = heed_json_bool(cx, config, "bias"),
                          .bidirectional = both && heed_json_bool(cx, config, "bidirectional"),
                          .dropout = m->dropout};
    if (kind == HEED_LSTM) opts.projection = config_int(cx, config, "proj_size", 0, most);
    if (!heed_failed(cx) && opts.projection >= opts.units)
        heed_json_fail(cx, heed_json_find(cx, config, "proj_size"), "it must be below hidden_size, %lld",
                       (long long)opts.units);
    m->outputs = (opts.projection > 0 ? opts.projection : opts.units) * (opts.bidirectional ? 2 : 1);
    if (heed_failed(cx) || !part_embedding(cx, b->params, "", "embedding", words, opts.inputs, init, &m->embedding))
        return false;
    m->embedding.padding = config_token(cx, config, "pad_token_id", words);
    return heed_rnn_make(cx, b->params, "rnn", &opts, &m->rnn);
}

/* -> h (B,T,outputs), tokens first, zeros at padding */
static heed_tensor *run_body(heed_ctx *cx, const struct recurrent *m, const struct packed_tokens *t,
                             const heed_rnn_state *first, heed_rnn_state *last) {
    heed_tensor *const x = heed_dropout(cx, heed_embedding_run(cx, &m->embedding, t->ids), m->dropout);
    return heed_rnn_run(cx, &m->rnn, x, t->lengths, first, last);
}

/* h as input_ids lie */
static heed_tensor *in_place(heed_ctx *cx, const struct packed_tokens *t, heed_tensor *h) {
    return packed_order(cx, h, t->back);
}

static heed_tensor *output_of(heed_ctx *cx, const struct recurrent *m, heed_tensor *h) {
    return heed_linear_run(cx, &m->output, heed_dropout(cx, h, m->dropout), HEED_ACT_NONE);
}

static bool make_output(heed_ctx *cx, heed_params *set, int64_t outputs, struct recurrent *m) {
    if (!heed_linear_make(cx, set, "output", m->outputs, outputs, true, &m->output)) return false;
    m->output.weight->head = m->output.bias->head = true;
    return true;
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)own;
    return input_sample(cx, batch, length, in);
}

static bool sample_tokens(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, (int64_t[]){batch, length}));
}

/* ---- bare ---- */

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) { return make_body(cx, b, true, own); }

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    struct packed_tokens t;
    heed_tensor *const h = packed_find(cx, in, &t) ? in_place(cx, &t, run_body(cx, own, &t, NULL, NULL)) : NULL;
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

/* ---- classification ---- */

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    static const char *const names[] = {"last", "mean", "max", NULL};
    struct recurrent *m = own;
    m->problem = config_problem(cx, b->config);
    m->pooling = (enum pooling)config_choice(cx, b->config, "pooling", names);
    return make_body(cx, b, true, m) && make_output(cx, b->params, config_labels(cx, b->config), m);
}

/* The last states of the last layer (cells,B,P) -> (B,outputs), both directions side by side */
static heed_tensor *last_states(heed_ctx *cx, const struct recurrent *m, heed_tensor *h) {
    if (!h) return NULL;
    const int64_t cells = h->shape[0], B = h->shape[1], directions = m->rnn.opts.bidirectional ? 2 : 1;
    h = heed_transpose(cx, heed_slice(cx, h, 0, cells - directions, directions), 0, 1);
    return heed_reshape(cx, h, 2, (int64_t[]){B, m->outputs});
}

/* h (B,T,outputs), zeros at padding -> (B,outputs); of a row without tokens 0, as its last states are */
static heed_tensor *pooled(heed_ctx *cx, const struct recurrent *m, const struct packed_tokens *t, heed_tensor *h) {
    static const int time[] = {1};
    if (m->pooling == POOL_MEAN && !t->counts) return heed_mean(cx, h, time, 1, false);
    if (m->pooling == POOL_MEAN) {
        heed_tensor *const counts = heed_maximum(cx, t->counts, heed_full(cx, 1, 0, NULL));
        return heed_div(cx, heed_sum(cx, h, time, 1, false), counts);
    }
    if (!t->seen) return heed_max(cx, h, time, 1, false);
    h = heed_max(cx, heed_where(cx, t->seen, h, heed_full(cx, -FLT_MAX, 0, NULL)), time, 1, false);
    heed_tensor *const none = heed_full(cx, 0, 0, NULL);
    return heed_where(cx, heed_greater(cx, t->counts, none), h, none);
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct recurrent *m = own;
    const bool states = m->pooling == POOL_LAST;
    struct packed_tokens t;
    heed_rnn_state last;
    if (!packed_find(cx, in, &t)) return false;
    heed_tensor *h = run_body(cx, m, &t, NULL, states ? &last : NULL);
    if (!h) return false;
    h = states ? last_states(cx, m, last.h) : pooled(cx, m, &t, h);
    return head_classify(cx, m->problem, in, output_of(cx, m, h), out);
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct recurrent *m = own;
    const int64_t labels = m->output.weight->shape[0];
    const bool one = m->problem == PROBLEM_ONE_LABEL || (m->problem == PROBLEM_BY_LABELS && labels > 1);
    return sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels",
                       one ? heed_zeros(cx, HEED_I32, 1, &batch)
                           : heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, labels}));
}

/* ---- tagging ---- */

static bool build_tag(heed_ctx *cx, const heed_build *b, void *own) {
    return make_body(cx, b, true, own) && make_output(cx, b->params, config_labels(cx, b->config), own);
}

static bool forward_tag(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct recurrent *m = own;
    struct packed_tokens t;
    if (!packed_find(cx, in, &t)) return false;
    heed_tensor *const h = heed_dropout(cx, in_place(cx, &t, run_body(cx, m, &t, NULL, NULL)), m->dropout);
    heed_tensor *const labels = input_like(cx, in, "labels", t.ids);
    return head_tokens(cx, in, h, heed_param_weight(cx, m->output.weight), heed_param_tensor(cx, m->output.bias),
                       labels, out);
}

/* ---- the language model ---- */

static bool build_lm(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    struct recurrent *m = own;
    if (!make_body(cx, b, false, m)) return false;
    heed_param *const table = m->embedding.weight;
    const int64_t words = table->shape[0];
    if (!heed_json_bool(cx, config, "tie_word_embeddings")) {
        if (!make_output(cx, set, words, m)) return false;
        m->output.weight->init = table->init;
    } else {
        if (table->shape[1] != m->outputs)
            return heed_json_fail(cx, heed_json_find(cx, config, "tie_word_embeddings"),
                                  "embeddings of %lld numbers cannot be those of %lld outputs",
                                  (long long)table->shape[1], (long long)m->outputs);
        m->output = (heed_linear_layer){.weight = table};
        heed_param_tie(cx, set, "output", "weight", table);
        m->output.bias = heed_param_add(cx, set, "output", "bias", 1, &words, (heed_init){.kind = HEED_INIT_ZEROS});
    }
    if (m->output.bias) m->output.bias->init = (heed_init){.kind = HEED_INIT_ZEROS};
    return !heed_failed(cx);
}

struct reading {
    const struct recurrent *m;
    heed_rnn_state state; /* h NULL: none yet */
};

static heed_tensor *read_on(heed_ctx *cx, void *own, heed_tensor *ids) {
    struct reading *const r = own;
    heed_rnn_state last;
    heed_tensor *const x = heed_embedding_run(cx, &r->m->embedding, ids);
    heed_tensor *const h = heed_rnn_run(cx, &r->m->rnn, x, NULL, r->state.h ? &r->state : NULL, &last);
    if (!h) return NULL;
    r->state = last;
    return forcing_best(cx, h, heed_param_weight(cx, r->m->output.weight), heed_param_tensor(cx, r->m->output.bias));
}

/* teacher_forcing (B,T) in the order of t->ids; NULL: every token is given. */
static heed_tensor *given_tokens(heed_ctx *cx, const heed_io *in, const struct packed_tokens *t) {
    heed_tensor *given = input_like(cx, in, "teacher_forcing", t->ids);
    if (!given || !t->back) return given;
    given = heed_contiguous(cx, given);
    if (!given) return NULL;
    heed_tensor *const packed = heed_zeros(cx, HEED_I32, 2, given->shape);
    for (int64_t i = 0; packed && !cx->config.dry && i < given->count; i++)
        ((int32_t *)(void *)packed->data)[i32_of(t->back)[i]] = i32_of(given)[i];
    return packed;
}

static bool forward_lm(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct recurrent *m = own;
    const heed_rnn_state first = {heed_io_get(in, "state"), heed_io_get(in, "cell")};
    const bool carried = first.h != NULL;
    struct packed_tokens t;
    struct reading reading = {m, first};
    heed_rnn_state last;
    if (!packed_find(cx, in, &t)) return false;
    t.ids = forcing_tokens(cx, read_on, &reading, t.ids, given_tokens(cx, in, &t));
    if (!t.ids) return false;
    heed_tensor *const labels = input_next(cx, in, t.ids);
    heed_tensor *const h = in_place(cx, &t, run_body(cx, m, &t, carried ? &first : NULL, carried ? &last : NULL));
    if (carried && h && (!heed_io_put(cx, out, "state", last.h) || (last.c && !heed_io_put(cx, out, "cell", last.c))))
        return false;
    return head_tokens(cx, in, heed_dropout(cx, h, m->dropout), heed_param_weight(cx, m->output.weight),
                       heed_param_tensor(cx, m->output.bias), labels, out);
}

static struct stepper_sizes lm_sizes(const void *own) {
    const struct recurrent *m = own;
    return (struct stepper_sizes){.vocabulary = m->output.weight->shape[0], .positions = (int64_t)1 << 30};
}

static bool lm_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    return recurrent_begin(cx, state, &((const struct recurrent *)own)->rnn, b);
}

static heed_tensor *lm_step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct recurrent *m = own;
    heed_tensor *const h = recurrent_step(cx, &m->rnn, state, heed_embedding_run(cx, &m->embedding, ids), counts);
    return heed_linear_run(cx, &m->output, attention_last(cx, h, counts), HEED_ACT_NONE);
}

static const struct heed_stepper lm_stepper = {RECURRENT_STATE, .sizes = lm_sizes, .begin = lm_begin, .step = lm_step};

/* ---- the families ---- */

#define INPUTS "input_ids attention_mask"
#define NOTES                                                                                                          \
    "Parameters have the names of torch.nn's modules: embedding.weight, rnn.weight_ih_l0, rnn.weight_hh_l0, "          \
    "rnn.bias_ih_l0, rnn.bias_hh_l0 and so on, output.weight, output.bias. Padding may lie anywhere: it is skipped. "  \
    "The language model reads in one direction; the label of a position is the token after it, so labels are given "   \
    "as "                                                                                                              \
    "input_ids are, and those of -100 do not count. Given state (layers,B,outputs) and, for an LSTM, cell "            \
    "(layers,B,units), it starts from them and gives them out as they are at the end, for truncated backpropagation; " \
    "shift_labels, instead of labels, are then the tokens that follow, shifted already. Where teacher_forcing (B,T) "  \
    "is 0, it reads the token that it predicted itself."
#define RUN(name, sample_) .build = build_##name, .forward = forward_##name, .sample = sample_
#define RUN_LM             RUN(lm, sample_tokens), .stepper = &lm_stepper
#define HEADS(Name)                                                                                                    \
    {Name "ForCausalLM", "lm", INPUTS " labels shift_labels state cell teacher_forcing", .keys = lm_keys, RUN_LM},     \
        {Name "ForSequenceClassification", "classify regress", INPUTS " labels", .keys = classify_keys,                \
         RUN(classify, sample_classify)},                                                                              \
        {Name "ForTokenClassification", "tag", INPUTS " labels", .keys = tag_keys, RUN(tag, sample_tokens)},           \
        {Name "Model", "embed", INPUTS, .bare = true, .keys = bare_keys, RUN(bare, sample)}, {                         \
        .architecture = NULL                                                                                           \
    }

static const heed_cell_kind rnn_kind = HEED_RNN_TANH;
static const heed_head rnn_heads[] = {HEADS("RNN")};
const heed_family family_rnn = {
    .name = "rnn",
    .type = "heed-rnn",
    .paper = "Elman 1990",
    .summary = "a recurrent network: its state is a layer that reads itself",
    .notes = NOTES,
    .keys = rnn_keys,
    .heads = rnn_heads,
    .kind = &rnn_kind,
    .size = sizeof(struct recurrent),
};

static const heed_cell_kind gru_kind = HEED_GRU;
static const heed_head gru_heads[] = {HEADS("GRU")};
const heed_family family_gru = {
    .name = "gru",
    .type = "heed-gru",
    .paper = "Cho et al. 2014",
    .summary = "a recurrent network with gates that keep or replace its state",
    .notes = NOTES,
    .keys = gru_keys,
    .heads = gru_heads,
    .kind = &gru_kind,
    .size = sizeof(struct recurrent),
};

static const heed_cell_kind lstm_kind = HEED_LSTM;
static const heed_head lstm_heads[] = {HEADS("LSTM")};
const heed_family family_lstm = {
    .name = "lstm",
    .type = "heed-lstm",
    .paper = "Hochreiter & Schmidhuber 1997",
    .summary = "a recurrent network with a gated memory cell",
    .notes = NOTES,
    .keys = lstm_keys,
    .heads = lstm_heads,
    .kind = &lstm_kind,
    .size = sizeof(struct recurrent),
};
