/* Forecasters: from the last context_length steps of a series to the next prediction_length, all at once.
 *
 *     x_t = (values_t, features_t, known_t),  t = 1 .. L;   known_t, t = L+1 .. L+H: what is known of the future
 *     rnn, gru, lstm   h = rnn(x)_L;   (c_1, …, c_H, c_a) = relu(global(h, known_{L+1..L+H}))
 *                      y_k = local(c_k, c_a, known_{L+k}): the decoder of MQ-RNN (Wen et al. 2017)
 *                      with a highway of length n: + W_k (values_{L-n+1}, …, values_L) + b_k, of each target alone, the
 *                      autoregressive part of LSTNet (Lai et al. 2018)
 *     linear           y = W (x_1, …, x_L, known_{L+1..L+H}) + b;  with normalize "last" it is NLinear (Zeng et al.
 * 2023) mlp              the same through hidden layers
 *
 * Every step of the horizon has outputs of its own (the direct strategy): nothing that was forecast is read again, so
 * errors do not add up, training and use see the same inputs, and quantiles need no sampling. y is one number, trained
 * by the mean squared or absolute error, or a number for each quantile q, trained by the pinball loss (Koenker &
 * Bassett 1978): max(q (v - y), (q - 1) (v - y)).
 *
 * normalize "last": values enter less the last one, which is added to y; "window": less their mean, over their
 * deviation (Kim et al. 2022, without its weights).
 *     past_values (B,L,C), past_features (B,L,P), past_time_features (B,L,K), future_time_features (B,H,K),
 *     future_values (B,H,C) -> logits (B,H,C), with quantiles (B,H,C,Q) */
#include "model/core/families.h"
#include "model/vectors/vectors.h"

enum kind { KIND_RNN, KIND_GRU, KIND_LSTM, KIND_LINEAR, KIND_MLP };
const char *const forecaster_kinds[] = {"rnn", "gru", "lstm", "linear", "mlp", NULL};
enum { MAX_QUANTILES = 64, MAX_HIDDEN = 64 };

struct forecaster {
    enum kind kind;
    int64_t context, horizon, targets, features, known; /* L, H, C, P, K */
    int quantiles;                                      /* Q; 0: one number, the mean or the median */
    float quantile[MAX_QUANTILES];
    bool absolute;
    enum normalize { NORMALIZE_LAST, NORMALIZE_WINDOW, NORMALIZE_NONE } normalize;
    float dropout;
    heed_rnn rnn;
    heed_linear_layer global;
    int64_t decoder; /* size of a c_k */
    int64_t highway; /* steps; 0: none */
    heed_linear_layer skip;
    heed_mlp net; /* local, or all of linear and mlp */
};

static const heed_key forecaster_keys[] = {
    {"kind", HEED_KEY_TEXT, "lstm", "what reads the context: rnn, gru, lstm, linear or mlp"},
    {"context_length", HEED_KEY_INT, "96", "steps of the past that are read"},
    {"prediction_length", HEED_KEY_INT, "24", "steps that are forecast"},
    {"num_targets", HEED_KEY_INT, "1", "series that are forecast together"},
    {"num_features", HEED_KEY_INT, "0", "covariates that are known up to now"},
    {"num_time_features", HEED_KEY_INT, "0", "covariates that are known for the future too"},
    {"quantiles", HEED_KEY_NUMBERS, "", "rising, between 0 and 1; empty: one number"},
    {"loss", HEED_KEY_TEXT, "mse", "without quantiles: mse or mae"},
    {"normalize", HEED_KEY_TEXT, "last", "what values enter less of: last, window (mean and deviation) or none"},
    {"hidden_size", HEED_KEY_INT, "64", "units of a recurrent layer"},
    {"num_layers", HEED_KEY_INT, "1", "number of recurrent layers"},
    {"decoder_size", HEED_KEY_INT, "16", "numbers for each step of the horizon, and hidden layer of the decoder"},
    {"highway_length", HEED_KEY_INT, "0",
     "steps that a linear map takes past the recurrent layers, to be added; 0: none"},
    {"hidden_sizes", HEED_KEY_INTS, "128", "of mlp: width of each hidden layer"},
    {"activation", HEED_KEY_TEXT, "relu", "of mlp"},
    {"dropout", HEED_KEY_NUMBER, "0", "between recurrent layers, of what the decoder reads, and of hidden layers"},
    END_OF_KEYS,
};

/* ---- parameters ---- */

static bool read_quantiles(heed_ctx *cx, heed_json config, struct forecaster *m) {
    const heed_json list = heed_json_array(cx, config, "quantiles");
    const int64_t n = heed_json_count(list);
    if (!heed_failed(cx) && n > MAX_QUANTILES)
        return heed_json_fail(cx, list, "%lld quantiles are more than %d", (long long)n, MAX_QUANTILES);
    for (; m->quantiles < n && !heed_failed(cx); m->quantiles++) {
        const double q = heed_json_number(cx, heed_json_item(cx, list, m->quantiles), NULL);
        m->quantile[m->quantiles] = (float)q;
        if (!(q > 0 && q < 1) || (m->quantiles > 0 && m->quantile[m->quantiles] <= m->quantile[m->quantiles - 1]))
            return heed_json_fail(cx, list, "quantiles must rise, and lie between 0 and 1, which %g does not", q);
    }
    return !heed_failed(cx);
}

static bool read_sizes(heed_ctx *cx, heed_json config, struct forecaster *m) {
    static const char *const losses[] = {"mse", "mae", NULL}, *const ways[] = {"last", "window", "none", NULL};
    const int64_t most = (int64_t)1 << 20;
    m->kind = (enum kind)config_choice(cx, config, "kind", forecaster_kinds);
    m->context = config_int(cx, config, "context_length", 1, most);
    m->horizon = config_int(cx, config, "prediction_length", 1, most);
    m->targets = config_int(cx, config, "num_targets", 1, most);
    m->features = config_int(cx, config, "num_features", 0, most);
    m->known = config_int(cx, config, "num_time_features", 0, most);
    m->absolute = config_choice(cx, config, "loss", losses) == 1;
    m->normalize = (enum normalize)config_choice(cx, config, "normalize", ways);
    m->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    return read_quantiles(cx, config, m);
}

static int64_t outputs_of(const struct forecaster *m) { return m->targets * (m->quantiles > 0 ? m->quantiles : 1); }

static bool make_recurrent(heed_ctx *cx, heed_json config, heed_params *set, struct forecaster *m) {
    static const heed_cell_kind cells[] = {HEED_RNN_TANH, HEED_GRU, HEED_LSTM};
    const int64_t most = (int64_t)1 << 24, units = config_int(cx, config, "hidden_size", 1, most);
    const heed_rnn_opts opts = {.kind = cells[m->kind],
                                .inputs = m->targets + m->features + m->known,
                                .units = units,
                                .layers = (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS),
                                .bias = true,
                                .dropout = m->dropout};
    m->decoder = config_int(cx, config, "decoder_size", 1, most);
    m->highway = config_int(cx, config, "highway_length", 0, m->context);
    const int64_t sizes[] = {2 * m->decoder + m->known, m->decoder, outputs_of(m)};
    return !heed_failed(cx) && heed_rnn_make(cx, set, "rnn", &opts, &m->rnn) &&
           heed_linear_make(cx, set, "global", units + m->horizon * m->known, (m->horizon + 1) * m->decoder, true,
                            &m->global) &&
           heed_mlp_make(cx, set, "local", sizes, 2, HEED_ACT_RELU, 0, &m->net) &&
           (m->highway == 0 || heed_linear_make(cx, set, "highway", m->highway, m->horizon, true, &m->skip));
}

static bool make_flat(heed_ctx *cx, heed_json config, heed_params *set, struct forecaster *m) {
    int64_t sizes[MAX_HIDDEN + 2] = {m->context * (m->targets + m->features + m->known) + m->horizon * m->known};
    const int hidden =
        m->kind == KIND_MLP ? config_ints(cx, config, "hidden_sizes", 1, SIZE_MOST, sizes + 1, MAX_HIDDEN) : 0;
    const heed_activation act = config_activation(cx, config, "activation");
    sizes[hidden + 1] = m->horizon * outputs_of(m);
    if (heed_failed(cx)) return false;
    if (m->kind == KIND_MLP) return heed_mlp_make(cx, set, "layers", sizes, hidden + 1, act, m->dropout, &m->net);
    m->net.layers = 1;
    m->net.layer = heed_params_alloc(cx, set, 1, sizeof *m->net.layer);
    return m->net.layer && heed_linear_make(cx, set, "linear", sizes[0], sizes[1], true, m->net.layer);
}

static bool forecaster_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    struct forecaster *m = own;
    if (!read_sizes(cx, config, m)) return false;
    return m->kind <= KIND_LSTM ? make_recurrent(cx, config, b->params, m) : make_flat(cx, config, b->params, m);
}

/* ---- inputs ---- */

/* (B, steps, width); NULL and no failure where width is 0. */
static heed_tensor *input(heed_ctx *cx, const heed_io *in, const char *name, int64_t steps, int64_t width) {
    heed_tensor *t = width > 0 ? heed_io_get(in, name) : NULL;
    if (width == 0 || heed_failed(cx)) return NULL;
    if (!t)
        heed_fail(cx, HEED_ERR_USAGE, "%s: the model needs this input", name);
    else if (heed_rank(t) != 3 || heed_dim(t, 1) != steps || heed_dim(t, 2) != width)
        heed_fail(cx, HEED_ERR_SHAPE, "%s: shape %s is not (batch,%lld,%lld)", name, heed_shape_text(t).s,
                  (long long)steps, (long long)width);
    else
        return t;
    return NULL;
}

struct given {
    int64_t batch;
    heed_tensor *values, *features, *past, *future; /* NULL: none */
    heed_tensor *shift, *scale;                     /* (B,1,C) of the values; NULL: none */
};

static bool take_inputs(heed_ctx *cx, const struct forecaster *m, const heed_io *in, struct given *g) {
    static const int time[] = {1};
    *g = (struct given){.values = input(cx, in, "past_values", m->context, m->targets),
                        .features = input(cx, in, "past_features", m->context, m->features),
                        .past = input(cx, in, "past_time_features", m->context, m->known),
                        .future = input(cx, in, "future_time_features", m->horizon, m->known)};
    if (heed_failed(cx)) return false;
    g->batch = heed_dim(g->values, 0);
    if (m->normalize == NORMALIZE_LAST) {
        g->shift = heed_slice(cx, g->values, 1, m->context - 1, 1);
    } else if (m->normalize == NORMALIZE_WINDOW) {
        g->shift = heed_mean(cx, g->values, time, 1, true);
        g->scale = heed_sqrt(cx, heed_affine(cx, heed_variance(cx, g->values, time, 1, true, 0), 1, 1e-5f));
    }
    if (g->shift) g->values = heed_sub(cx, g->values, g->shift);
    if (g->scale) g->values = heed_div(cx, g->values, g->scale);
    return !heed_failed(cx);
}

/* Those that are there, side by side along `axis`. */
static heed_tensor *join(heed_ctx *cx, heed_tensor *const *parts, int n, int axis) {
    heed_tensor *there[4];
    int k = 0;
    for (int i = 0; i < n; i++)
        if (parts[i]) there[k++] = parts[i];
    return k == 1 ? there[0] : heed_concat(cx, there, k, axis);
}

static heed_tensor *flattened(heed_ctx *cx, const struct given *g, heed_tensor *t) {
    return t ? heed_reshape(cx, t, 2, (int64_t[]){g->batch, -1}) : NULL;
}

/* ---- outputs ---- */

static heed_tensor *run_recurrent(heed_ctx *cx, const struct forecaster *m, const struct given *g) {
    const int64_t b = g->batch, h = m->horizon, d = m->decoder;
    heed_tensor *x = join(cx, (heed_tensor *[]){g->values, g->features, g->past}, 3, 2);
    x = heed_slice(cx, heed_rnn_run(cx, &m->rnn, x, NULL, NULL, NULL), 1, m->context - 1, 1);
    x = heed_dropout(cx, flattened(cx, g, x), m->dropout);
    x = join(cx, (heed_tensor *[]){x, flattened(cx, g, g->future)}, 2, 1);
    x = heed_linear_run(cx, &m->global, x, HEED_ACT_RELU);
    heed_tensor *each = heed_reshape(cx, heed_slice(cx, x, 1, 0, h * d), 3, (int64_t[]){b, h, d});
    heed_tensor *all = heed_reshape(cx, heed_slice(cx, x, 1, h * d, d), 3, (int64_t[]){b, 1, d});
    all = heed_expand(cx, all, 3, (int64_t[]){b, h, d});
    return heed_mlp_run(cx, &m->net, join(cx, (heed_tensor *[]){each, all, g->future}, 3, 2));
}

static heed_tensor *run_flat(heed_ctx *cx, const struct forecaster *m, const struct given *g) {
    heed_tensor *parts[] = {flattened(cx, g, g->values), flattened(cx, g, g->features), flattened(cx, g, g->past),
                            flattened(cx, g, g->future)};
    return heed_mlp_run(cx, &m->net, join(cx, parts, 4, 1));
}

/* (B,H,C,1) */
static heed_tensor *run_highway(heed_ctx *cx, const struct forecaster *m, const struct given *g) {
    heed_tensor *x = heed_slice(cx, g->values, 1, m->context - m->highway, m->highway);
    x = heed_linear_run(cx, &m->skip, heed_transpose(cx, x, 1, 2), HEED_ACT_NONE);
    return heed_reshape(cx, heed_transpose(cx, x, 1, 2), 4, (int64_t[]){g->batch, m->horizon, m->targets, 1});
}

/* (B,H,C,Q) in the units of past_values; Q 1 without quantiles. */
static heed_tensor *restored(heed_ctx *cx, const struct forecaster *m, const struct given *g, heed_tensor *y) {
    const int64_t one[] = {g->batch, 1, m->targets, 1};
    y = heed_reshape(cx, y, 4, (int64_t[]){g->batch, m->horizon, m->targets, m->quantiles > 0 ? m->quantiles : 1});
    if (m->highway > 0) y = heed_add(cx, y, run_highway(cx, m, g));
    if (g->scale) y = heed_mul(cx, y, heed_reshape(cx, g->scale, 4, one));
    return g->shift ? heed_add(cx, y, heed_reshape(cx, g->shift, 4, one)) : y;
}

static heed_tensor *pinball(heed_ctx *cx, const struct forecaster *m, heed_tensor *y, heed_tensor *wanted) {
    const int64_t q = m->quantiles;
    float below[MAX_QUANTILES];
    for (int64_t i = 0; i < q; i++) below[i] = m->quantile[i] - 1;
    wanted = heed_reshape(cx, wanted, 4, (int64_t[]){heed_dim(y, 0), heed_dim(y, 1), heed_dim(y, 2), 1});
    heed_tensor *miss = heed_sub(cx, wanted, y);
    heed_tensor *low = heed_mul(cx, miss, heed_from_f32(cx, below, 1, &q));
    heed_tensor *high = heed_mul(cx, miss, heed_from_f32(cx, m->quantile, 1, &q));
    return heed_mean(cx, heed_maximum(cx, low, high), NULL, 0, false);
}

static bool forecaster_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct forecaster *m = own;
    struct given g;
    if (!take_inputs(cx, m, in, &g)) return false;
    heed_tensor *y = restored(cx, m, &g, (m->kind <= KIND_LSTM ? run_recurrent : run_flat)(cx, m, &g));
    if (m->quantiles == 0) y = heed_reshape(cx, y, 3, (int64_t[]){g.batch, m->horizon, m->targets});
    if (!y || !heed_io_put(cx, out, "logits", y)) return false;
    if (!heed_io_get(in, "future_values")) return true;
    heed_tensor *wanted = input(cx, in, "future_values", m->horizon, m->targets);
    heed_tensor *loss = !wanted            ? NULL
                        : m->quantiles > 0 ? pinball(cx, m, y, wanted)
                        : m->absolute      ? heed_l1_loss(cx, y, wanted, HEED_REDUCE_MEAN)
                                           : heed_mse_loss(cx, y, wanted, HEED_REDUCE_MEAN);
    return loss && heed_io_put(cx, out, "loss", loss);
}

static bool forecaster_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct forecaster *m = own;
    const struct {
        const char *name;
        int64_t steps, width;
    } inputs[] = {{"past_values", m->context, m->targets},
                  {"past_features", m->context, m->features},
                  {"past_time_features", m->context, m->known},
                  {"future_time_features", m->horizon, m->known},
                  {"future_values", m->horizon, m->targets}};
    (void)length;
    for (int i = 0; i < 5 && !heed_failed(cx); i++)
        if (inputs[i].width > 0)
            heed_io_put(cx, in, inputs[i].name,
                        heed_zeros(cx, HEED_F32, 3, (int64_t[]){batch, inputs[i].steps, inputs[i].width}));
    return !heed_failed(cx);
}

static const heed_head forecaster_heads[] = {
    {"HeedForecaster", "forecast", "past_values past_features past_time_features future_time_features future_values",
     .build = forecaster_build, .forward = forecaster_forward, .sample = forecaster_sample},
    {.architecture = NULL},
};

const heed_family family_forecaster = {
    .name = "forecaster",
    .type = "heed-forecaster",
    .paper = "Wen et al. 2017; Zeng et al. 2023",
    .summary = "forecasts of series, recurrent, linear or a perceptron: all steps at once, numbers or quantiles",
    .notes =
        "Parameters of kinds rnn, gru and lstm: rnn.weight_ih_l0, ... as those of torch.nn, global.weight, "
        "global.bias, "
        "local.0.weight, local.2.weight, ..., highway.weight; of linear: linear.weight, linear.bias; of mlp: "
        "layers.0.weight, ... "
        "past_values is (B, context_length, num_targets), past_features (B, context_length, num_features), "
        "past_time_features (B, context_length, num_time_features), future_time_features and future_values (B, "
        "prediction_length, ...), all standardised: heed train forecast keeps means and deviations of the series under "
        "\"history\" in config.json. logits are (B, prediction_length, num_targets), with quantiles one axis more. The "
        "loss is the mean squared error, the mean absolute error or, with quantiles, the mean pinball loss.",
    .keys = forecaster_keys,
    .heads = forecaster_heads,
    .size = sizeof(struct forecaster),
};
