/* Name -> call of the public function. Ops of one output are called as tensor/ops.def says; those of several, below. */
#include "tensor/run_op.h"
#include <math.h>
#include <string.h>

/* ---- attributes ---- */

static bool has(struct attrs a, const char *key) {
    return heed_json_kind_of(heed_json_find(a.cx, a.at, key)) != HEED_JSON_NONE;
}

/* Infinities are texts. */
static float number(heed_ctx *cx, heed_json at) {
    if (heed_json_kind_of(at) == HEED_JSON_TEXT) return *heed_json_text(cx, at, NULL) == '-' ? -INFINITY : INFINITY;
    return (float)heed_json_number(cx, at, NULL);
}
static float real(struct attrs a, const char *key) { return number(a.cx, heed_json_find(a.cx, a.at, key)); }

static int whole(struct attrs a, const char *key) { return (int)heed_json_int(a.cx, a.at, key); }
static bool flag(struct attrs a, const char *key) { return heed_json_bool_or(a.cx, a.at, key, false); }

/* Which of the names in the list, 0 being the first; 0 too when there is no such attribute. */
static int choice(struct attrs a, const char *key, const char *const *names) {
    const char *text = heed_json_text_or(a.cx, a.at, key, names[0]);
    int i = 0;
    while (text && names[i] && strcmp(text, names[i]) != 0) i++;
    if (!names[i]) heed_json_fail(a.cx, a.at, "no such %s", key);
    return i;
}

static heed_activation activation(struct attrs a) {
    heed_activation act = HEED_ACT_NONE;
    const char *name = heed_json_text(a.cx, a.at, "act");
    if (name && !heed_activation_find(name, &act)) heed_json_fail(a.cx, a.at, "no activation %s", name);
    return act;
}

static heed_reduction reduction(struct attrs a) {
    static const char *const names[] = {"mean", "sum", "none", NULL};
    return (heed_reduction)choice(a, "reduction", names);
}

static heed_dtype type(struct attrs a) {
    static const char *const names[] = {"f32", "i32", "u8", "bf16", "f16", NULL}; /* in the order of the enum */
    return (heed_dtype)choice(a, "to", names);
}

/* To 16 bits and back, because golden results are f32, i32 or u8. */
static heed_tensor *cast(heed_ctx *cx, heed_tensor *x, heed_dtype to) {
    heed_tensor *y = heed_cast(cx, x, to);
    return to == HEED_BF16 || to == HEED_F16 ? heed_cast(cx, y, HEED_F32) : y;
}

struct list { /* of whole numbers, in both widths that the functions take */
    int n;
    int64_t wide[MAX_OP_OUT];
    int narrow[MAX_OP_OUT];
};

static struct list list(struct attrs a, const char *key) {
    struct list l = {0};
    if (!has(a, key)) return l;
    const heed_json array = heed_json_array(a.cx, a.at, key);
    for (; l.n < heed_json_count(array) && l.n < MAX_OP_OUT; l.n++) {
        l.wide[l.n] = heed_json_int(a.cx, heed_json_item(a.cx, array, l.n), NULL);
        l.narrow[l.n] = (int)l.wide[l.n];
    }
    return l;
}

/* NULL options where the case has none. */
static const heed_cross_entropy_opts *options(struct attrs a, heed_cross_entropy_opts *o) {
    if (heed_json_count(a.at) == 0) return NULL;
    *o = (heed_cross_entropy_opts){.smoothing = has(a, "smoothing") ? real(a, "smoothing") : 0,
                                   .ignore = has(a, "ignore"),
                                   .ignore_index = has(a, "ignore") ? whole(a, "ignore") : 0,
                                   .reduction = reduction(a)};
    return o;
}

/* The first numbers of a list, where the case has it. */
static void pair(struct attrs a, const char *key, int64_t to[2]) {
    const struct list l = list(a, key);
    for (int i = 0; i < l.n && i < 2; i++) to[i] = l.wide[i];
}

/* NULL options where the case has none. */
static const heed_conv_opts *conv_options(struct attrs a, heed_conv_opts *o) {
    if (heed_json_count(a.at) == 0) return NULL;
    *o = (heed_conv_opts){.groups = has(a, "groups") ? whole(a, "groups") : 0};
    pair(a, "stride", o->stride);
    pair(a, "padding", o->padding);
    pair(a, "more", o->more);
    pair(a, "dilation", o->dilation);
    pair(a, "output_padding", o->output_padding);
    return o;
}

static const heed_pool_opts *pool_options(struct attrs a, heed_pool_opts *o) {
    *o = (heed_pool_opts){.ceil_mode = flag(a, "ceil_mode"), .exclude_padding = flag(a, "exclude_padding")};
    pair(a, "kernel", o->kernel);
    pair(a, "stride", o->stride);
    pair(a, "padding", o->padding);
    pair(a, "dilation", o->dilation);
    return o;
}

static const heed_interpolate_opts *interpolate_options(struct attrs a, heed_interpolate_opts *o) {
    static const char *const kinds[] = {"nearest", "nearest-exact", "bilinear", "bicubic", NULL};
    *o = (heed_interpolate_opts){.kind = (heed_interpolation)choice(a, "kind", kinds),
                                 .align_corners = flag(a, "align_corners"),
                                 .antialias = flag(a, "antialias")};
    pair(a, "size", o->size);
    const heed_json scale = has(a, "scale") ? heed_json_array(a.cx, a.at, "scale") : (heed_json){0};
    for (int i = 0; has(a, "scale") && i < 2; i++)
        o->scale[i] = heed_json_number(a.cx, heed_json_item(a.cx, scale, i), NULL);
    return o;
}

/* Of edges (2,E) and weights, or NULL, between the nodes of x: those of the case. */
static const heed_graph *graph(struct attrs a, heed_ctx *cx, const heed_tensor *x, heed_tensor *edges,
                               heed_tensor *weight) {
    return heed_graph_step(cx, edges, weight,
                           &(heed_graph_opts){.sources = heed_dim(x, 0),
                                              .targets = has(a, "targets") ? whole(a, "targets") : 0,
                                              .loops = (heed_graph_loops)(has(a, "loops") ? whole(a, "loops") : 0),
                                              .loop_weight = has(a, "loop_weight") ? real(a, "loop_weight") : 0,
                                              .normalize = flag(a, "normalize")});
}

/* Parameter i of a function of one number: its attributes in order, whatever their names. */
static float parameter(struct attrs a, int i) {
    heed_json value = heed_json_first(a.at);
    while (i-- > 0) value = heed_json_next(value);
    return number(a.cx, value);
}

/* ---- the calls ---- */

/* What the arguments of tensor/ops.def stand for. */
#define INT(key)     whole(at, #key)
#define REAL(key)    real(at, #key)
#define FLAG(key)    flag(at, #key)
#define TYPE(key)    type(at)
#define REDUCTION    reduction(at)
#define OPTIONS      options(at, &opts)
#define CONV         conv_options(at, &conv)
#define POOL         pool_options(at, &pool)
#define INTERPOLATE  interpolate_options(at, &resize)
#define PAIR(key)    key.wide
#define SIZES(key)   key.wide[0], key.wide[1]
#define AXES         has(at, "axes") ? axes.narrow : NULL, axes.n /* all of them where the case has none */
#define ORDER        axes.narrow
#define SHAPE        shape.n, shape.wide
#define BEFORE_AFTER before.wide, after.wide
#define ALL          in, n
#define GRAPH        graph(at, cx, a, b, d)
#define GRAPH_BEHIND                                                                                                   \
    graph(at, cx, a, d, NULL), &(heed_graph_attention_opts) { .negative_slope = real(at, "slope") }
#define SLICE heed_slice(cx, a, INT(axis), INT(start), INT(length))
#define PARAMETERS_0
#define PARAMETERS_1 , parameter(at, 0)
#define PARAMETERS_2 , parameter(at, 0), parameter(at, 1)

/* Ops of one output. */
static heed_tensor *single(heed_ctx *cx, const char *op, struct attrs at, heed_tensor *const *in, int n) {
    heed_tensor *const a = n > 0 ? in[0] : NULL, *const b = n > 1 ? in[1] : NULL, *const c = n > 2 ? in[2] : NULL,
                       *const d = n > 3 ? in[3] : NULL;
    const struct list axes = list(at, "axes"), shape = list(at, "shape"), before = list(at, "before"),
                      after = list(at, "after"), kernel = list(at, "kernel"), size = list(at, "size");
    heed_cross_entropy_opts opts;
    heed_conv_opts conv;
    heed_pool_opts pool;
    heed_interpolate_opts resize;
    if (strcmp(op, "cast") == 0) return cast(cx, a, type(at));
#define CALL(name, ...)                                                                                                \
    if (strcmp(op, #name) == 0) return heed_##name(cx, __VA_ARGS__);
    /* other functions of these ops */
    CALL(matmul_trans, a, FLAG(trans_a), b, FLAG(trans_b))
    CALL(linear_act, a, b, c, activation(at))
    CALL(linear_transposed, a, b, c, activation(at))
    CALL(conv1d, a, b, c, CONV)
    CALL(conv_transpose1d, a, b, c, CONV)
    CALL(max_pool1d, a, POOL)
    CALL(avg_pool1d, a, POOL)
    CALL(adaptive_max_pool1d, a, INT(places))
    CALL(adaptive_avg_pool1d, a, INT(places))
#define OP CALL
#define SEVERAL(name)
#include "tensor/ops.def"
    heed_fail(cx, HEED_ERR_USAGE, "run_op: there is no op %s", op);
    return NULL;
}

/* x, W_ih, W_hh, b_ih, b_hh, h0, lengths and, of an LSTM, c0, W_hr. */
static bool recurrent(heed_ctx *cx, heed_cell_kind kind, struct attrs at, heed_tensor *const *in, heed_tensor **out) {
    const bool lstm = kind == HEED_LSTM;
    const heed_cell_weights cell = {in[1], in[2], in[3], in[4], lstm ? in[8] : NULL};
    const heed_recurrent_opts opts = {in[5], lstm ? in[7] : NULL, in[6], flag(at, "reverse")};
    out[0] = heed_recurrent(cx, kind, in[0], &cell, &opts, &out[1], lstm ? &out[2] : NULL);
    return out[0] != NULL;
}

bool run_op(heed_ctx *cx, const char *op, struct attrs at, heed_tensor *const *in, int n_in, heed_tensor **out,
            int *n_out) {
    *n_out = 1;
    if (strcmp(op, "split") == 0) {
        const struct list sizes = list(at, "sizes");
        *n_out = sizes.n;
        return heed_split(cx, in[0], whole(at, "axis"), sizes.wide, sizes.n, out);
    }
    if (strcmp(op, "topk") == 0) {
        *n_out = 2;
        return heed_topk(cx, in[0], whole(at, "k"), &out[0], &out[1]);
    }
    static const char *const cells[] = {"rnn", "gru", "lstm"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(op, cells[i]) != 0) continue;
        *n_out = i == 2 ? 3 : 2;
        return recurrent(cx,
                         i                  ? HEED_RNN_RELU + (heed_cell_kind)i
                         : flag(at, "relu") ? HEED_RNN_RELU
                                            : HEED_RNN_TANH,
                         at, in, out);
    }
    heed_tensor **h = flag(at, "h") ? &out[1] : NULL;
    const bool layer = strcmp(op, "add_layer_norm") == 0;
    if (layer || strcmp(op, "add_rms_norm") == 0) {
        *n_out = h ? 2 : 1;
        out[0] = layer ? heed_add_layer_norm(cx, in[0], in[1], in[2], in[3], real(at, "eps"), h)
                       : heed_add_rms_norm(cx, in[0], in[1], in[2], real(at, "eps"), h);
        return out[0] != NULL;
    }
    out[0] = single(cx, op, at, in, n_in);
    return out[0] != NULL;
}
