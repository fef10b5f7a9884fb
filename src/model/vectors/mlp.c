/* The neuron and the multilayer perceptron (Rosenblatt 1958; Rumelhart, Hinton & Williams 1986).
 *
 *     x_0 = x,   x_l = a(W_l x_{l-1} + b_l),   y = W_L x_{L-1} + b_L
 *
 * linear is the case L = 1: a neuron per output, with the identity for numbers (linear regression) and the logistic
 * function, or softmax, for classes (logistic regression). Parameters: linear.weight, linear.bias; layers.0.weight,
 * layers.0.bias, layers.2.weight, ... as torch.nn.Sequential of Linear and activation names them. */
#include "model/core/families.h"
#include "model/vectors/vectors.h"

struct mlp {
    struct vectors vectors;
    heed_mlp net;
};

static bool mlp_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct mlp *m = own;
    heed_tensor *x = vectors_input(cx, &m->vectors, in);
    return x && vectors_output(cx, &m->vectors, in, heed_mlp_run(cx, &m->net, x), out);
}

static bool mlp_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return vectors_sample(cx, &((const struct mlp *)own)->vectors, batch, in);
}

/* ---- linear ---- */

static const heed_key linear_keys[] = {VECTOR_KEYS, END_OF_KEYS};

static bool linear_build(heed_ctx *cx, const heed_build *b, void *own) {
    heed_params *const params = b->params;
    struct mlp *m = own;
    if (!vectors_build(cx, b->config, params, &m->vectors)) return false;
    m->net.layers = 1;
    m->net.layer = heed_params_alloc(cx, params, 1, sizeof *m->net.layer);
    return m->net.layer &&
           heed_linear_make(cx, params, "linear", m->vectors.inputs, m->vectors.outputs, true, &m->net.layer[0]);
}

static const heed_head linear_heads[] = {
    {"HeedLinear", VECTOR_HEAD, .build = linear_build, .forward = mlp_forward, .sample = mlp_sample},
    {.architecture = NULL},
};

const heed_family family_linear = {
    .name = "linear",
    .type = "heed-linear",
    .paper = "Rosenblatt 1958",
    .summary = "one neuron per output: linear or logistic regression",
    .notes =
        "Parameters: linear.weight (output_size, input_size), linear.bias (output_size). Numbers leave through the "
        "identity, trained by the mean squared error; classes through the logistic function (one output: class 1 "
        "against class 0) or softmax, trained by the cross entropy. " VECTOR_NOTES,
    .keys = linear_keys,
    .heads = linear_heads,
    .size = sizeof(struct mlp),
};

/* ---- mlp ---- */

static const heed_key mlp_keys[] = {
    VECTOR_KEYS,
    {"hidden_sizes", HEED_KEY_INTS, "128", "width of each hidden layer"},
    {"activation", HEED_KEY_TEXT, "relu",
     "an activation by its name in transformers: relu, gelu, gelu_new, silu, tanh, ..."},
    {"dropout", HEED_KEY_NUMBER, "0", "after every hidden activation, while training"},
    END_OF_KEYS,
};

#define MAX_HIDDEN 1024 /* layers */

static bool mlp_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    struct mlp *m = own;
    if (!vectors_build(cx, config, b->params, &m->vectors)) return false;
    int64_t sizes[MAX_HIDDEN + 2] = {m->vectors.inputs};
    const int hidden = config_ints(cx, config, "hidden_sizes", 1, SIZE_MOST, sizes + 1, MAX_HIDDEN);
    const heed_activation act = config_activation(cx, config, "activation");
    const double dropout = config_number(cx, config, "dropout", 0, 1);
    sizes[hidden + 1] = m->vectors.outputs;
    if (heed_failed(cx) || !heed_mlp_make(cx, b->params, "layers", sizes, hidden + 1, act, (float)dropout, &m->net))
        return false;
    m->net.layer[hidden].weight->head = m->net.layer[hidden].bias->head = true; /* for other classes, drawn fresh */
    return true;
}

static const heed_head mlp_heads[] = {
    {"HeedMlp", VECTOR_HEAD, .build = mlp_build, .forward = mlp_forward, .sample = mlp_sample},
    {.architecture = NULL},
};

const heed_family family_mlp = {
    .name = "mlp",
    .type = "heed-mlp",
    .paper = "Rumelhart, Hinton & Williams 1986",
    .summary = "multilayer perceptron: any widths, depths and activations",
    .notes = "Parameters: layers.0.weight, layers.0.bias, layers.2.weight, ... as torch.nn.Sequential of Linear and "
             "activation names them. Losses are those of linear. " VECTOR_NOTES,
    .keys = mlp_keys,
    .heads = mlp_heads,
    .size = sizeof(struct mlp),
};
