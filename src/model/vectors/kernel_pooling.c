/* Attention pooling by a kernel (Nadaraya 1964; Watson 1964), and its parametric form.
 *
 *     f(x) = sum_i a_i(x) y_i,   a_i(x) = K(u_i) / sum_j K(u_j),   u_i = |x - x_i| / width
 *
 * with K one of: gaussian exp(-u^2/2), boxcar 1 if u <= 1, triangular max(0, 1-u), epanechnikov max(0, 1-u^2).
 * Learnable: a = softmax(-|(x - x_i) w|^2 / 2) with w (d), one number per coordinate of x, in place of 1 / width.
 *
 * A query that no kernel reaches is given the mean of the values of its nearest keys (one, unless some are equally
 * near). attention_mask (…, n), where given, takes keys away from queries (0): so the query's own point is left out in
 * training. A query without any key gets 0. Parameters: keys (n, d) and values (n, outputs), frozen; w. */
#include "heed/attention.h"
#include "model/core/families.h"
#include <math.h>
#include <stdio.h>

enum kernel { GAUSSIAN, BOXCAR, TRIANGULAR, EPANECHNIKOV };

struct pooling {
    int64_t points, inputs, outputs;
    enum kernel kernel;
    float width;
    heed_param *keys, *values, *w;
};

static const heed_key pooling_keys[] = {
    {"points", HEED_KEY_INT, NULL, "pairs of key and value"},
    {"input_size", HEED_KEY_INT, "1", "numbers in a key or query"},
    {"output_size", HEED_KEY_INT, "1", "numbers in a value"},
    {"kernel", HEED_KEY_TEXT, "gaussian", "gaussian, boxcar, triangular or epanechnikov"},
    {"width", HEED_KEY_NUMBER, "1", "distances are divided by it"},
    {"learnable", HEED_KEY_BOOL, "false", "has w, learnt, instead of the width (gaussian)"},
    END_OF_KEYS,
};

static bool pooling_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    heed_params *const params = b->params;
    static const char *const kernels[] = {"gaussian", "boxcar", "triangular", "epanechnikov", NULL};
    struct pooling *m = own;
    m->points = config_int(cx, config, "points", 1, (int64_t)1 << 40);
    m->inputs = config_int(cx, config, "input_size", 1, (int64_t)1 << 40);
    m->outputs = config_int(cx, config, "output_size", 1, (int64_t)1 << 40);
    m->kernel = (enum kernel)config_choice(cx, config, "kernel", kernels);
    m->width = (float)config_number(cx, config, "width", 1e-30, 1e30);
    const bool learnable = heed_json_bool(cx, config, "learnable");
    if (heed_failed(cx)) return false;
    if (learnable && m->kernel != GAUSSIAN)
        return heed_json_fail(cx, heed_json_find(cx, config, "learnable"), "only the gaussian kernel can learn w");
    m->keys = heed_param_add(cx, params, NULL, "keys", 2, (int64_t[]){m->points, m->inputs},
                             (heed_init){HEED_INIT_UNIFORM, 0, 1});
    m->values = heed_param_add(cx, params, NULL, "values", 2, (int64_t[]){m->points, m->outputs},
                               (heed_init){HEED_INIT_NORMAL, 0, 1});
    if (learnable) m->w = heed_param_add(cx, params, NULL, "w", 1, &m->inputs, (heed_init){.kind = HEED_INIT_ONES});
    if (heed_failed(cx)) return false;
    m->keys->frozen = m->values->frozen = true;
    m->keys->needs_f32 = m->values->needs_f32 = true;
    return true;
}

/* x (B,d), keep u8 (B,n) or NULL -> weights (B,n) */
static heed_tensor *weights_of(heed_ctx *cx, const struct pooling *m, heed_tensor *x, heed_tensor *keep) {
    static const heed_score_kind kinds[] = {HEED_SCORE_DISTANCE, HEED_SCORE_BOXCAR, HEED_SCORE_TRIANGULAR,
                                            HEED_SCORE_EPANECHNIKOV};
    heed_tensor *keys = heed_param_tensor(cx, m->keys), *zero = heed_full(cx, 0, 0, NULL);
    heed_score_opts score = {.kind = kinds[m->kernel]};
    score.sharpness = m->w ? heed_param_tensor(cx, m->w) : heed_full(cx, 1 / m->width, 0, NULL);
    heed_mask mask = heed_mask_none();
    if (keep) mask.keep = heed_reshape(cx, keep, 4, (int64_t[]){1, 1, heed_dim(keep, 0), m->points});
    if (m->kernel == GAUSSIAN) /* as a softmax, which no distance is too far for */
        return heed_normalise(cx, heed_scores(cx, x, keys, &score), HEED_NORMALISE_SOFTMAX, &mask);
    heed_tensor *k = heed_normalise(cx, heed_scores(cx, x, keys, &score), HEED_NORMALISE_NONE, &mask);
    heed_tensor *reached = heed_greater(cx, heed_sum(cx, k, (int[]){-1}, 1, true), zero);
    score.kind = HEED_SCORE_DISTANCE;
    heed_tensor *near = heed_scores(cx, x, keys, &score);
    if (keep) near = heed_where(cx, keep, near, heed_full(cx, -INFINITY, 0, NULL));
    heed_tensor *nearest = heed_equal(cx, near, heed_max(cx, near, (int[]){-1}, 1, true));
    k = heed_where(cx, reached, k, heed_cast(cx, nearest, HEED_F32));
    return heed_normalise(cx, k, HEED_NORMALISE_SUM, &mask);
}

static heed_tensor *keep_of(heed_ctx *cx, const struct pooling *m, const heed_io *in, int64_t batch) {
    heed_tensor *mask = heed_io_get(in, "attention_mask");
    if (!mask) return NULL;
    if (heed_count(mask) != batch * m->points) {
        heed_fail(cx, HEED_ERR_SHAPE, "attention_mask: shape %s is not (%lld,%lld), queries and keys",
                  heed_shape_text(mask).s, (long long)batch, (long long)m->points);
        return NULL;
    }
    mask = heed_reshape(cx, mask, 2, (int64_t[]){batch, m->points});
    return heed_not_equal(cx, heed_cast(cx, mask, HEED_F32), heed_full(cx, 0, 0, NULL));
}

static heed_tensor *queries_of(heed_ctx *cx, const struct pooling *m, const heed_io *in) {
    heed_tensor *x = heed_io_get(in, "x");
    if (!x || heed_count(x) % m->inputs || (m->inputs > 1 && heed_dim(x, -1) != m->inputs)) {
        heed_fail(cx, x ? HEED_ERR_SHAPE : HEED_ERR_USAGE, "x: %s queries of %lld numbers",
                  x ? "the shape does not give" : "the model needs this input:", (long long)m->inputs);
        return NULL;
    }
    if (heed_type(x) != HEED_F32) x = heed_cast(cx, x, HEED_F32);
    return heed_reshape(cx, x, 2, (int64_t[]){x ? heed_count(x) / m->inputs : 0, m->inputs});
}

/* x (B,d), y (B,outputs) -> logits (B,outputs); captured (1,1,B,n) */
static bool pooling_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct pooling *m = own;
    heed_tensor *x = queries_of(cx, m, in);
    if (!x) return false;
    const int64_t batch = heed_dim(x, 0);
    heed_tensor *keep = keep_of(cx, m, in, batch);
    if (heed_failed(cx)) return false;
    heed_tensor *weights = weights_of(cx, m, x, keep);
    heed_tensor *logits = heed_matmul(cx, weights, heed_param_tensor(cx, m->values));
    if (!logits || !heed_io_put(cx, out, "logits", logits) || !heed_capture_weights(cx, NULL, 0, 0, weights))
        return false;
    heed_tensor *y = heed_io_get(in, "y");
    if (!y) return true;
    if (heed_count(y) != heed_count(logits))
        return heed_fail(cx, HEED_ERR_SHAPE, "y: shape %s does not fit the model's outputs %s", heed_shape_text(y).s,
                         heed_shape_text(logits).s);
    y = heed_reshape(cx, y, 2, heed_shape(logits));
    heed_tensor *loss = heed_mse_loss(cx, logits, y, HEED_REDUCE_MEAN);
    return loss && heed_io_put(cx, out, "loss", loss);
}

static bool pooling_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    const struct pooling *m = own;
    heed_tensor *x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, m->inputs});
    heed_tensor *y = heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, m->outputs});
    return x && y && heed_io_put(cx, in, "x", x) && heed_io_put(cx, in, "y", y);
}

/* A key by its numbers: "0.25, -1". */
static void pooling_name_key(const void *own, int64_t i, char *name, size_t size) {
    const struct pooling *m = own;
    const float *const key = (const float *)m->keys->data + i * m->inputs;
    size_t at = 0;
    for (int64_t k = 0; k < m->inputs && at + 8 < size; k++)
        at += (size_t)snprintf(name + at, size - at, k ? ", %.4g" : "%.4g", (double)key[k]);
}

static const heed_head pooling_heads[] = {
    {"HeedKernelPooling", .tasks = "", .inputs = "x y attention_mask", .build = pooling_build,
     .forward = pooling_forward, .sample = pooling_sample, .name_key = pooling_name_key},
    {.architecture = NULL},
};

const heed_family family_kernel_pooling = {
    .name = "kernel-pooling",
    .type = "heed-kernel-pooling",
    .paper = "Nadaraya 1964; Watson 1964",
    .summary = "attention pooling by a kernel, fixed or learnt",
    .notes =
        "f(x) = sum K(u_i) y_i / sum K(u_i) with u_i = |x - x_i| / width. Kernels: gaussian exp(-u^2/2), boxcar 1 if "
        "u <= 1, triangular max(0, 1-u), epanechnikov max(0, 1-u^2). Learnable: softmax(-|(x - x_i) w|^2 / 2). "
        "Parameters: keys (points, input_size) and values (points, output_size), frozen; w (input_size) when "
        "learnable. A query that no kernel reaches gets the mean of the values of its nearest keys. attention_mask "
        "(queries, points) takes keys away where it is 0: the query's own point, in training; a query without any "
        "key gets 0. attentions.0 is (1, 1, queries, points).",
    .keys = pooling_keys,
    .heads = pooling_heads,
    .size = sizeof(struct pooling),
};
