/* Inputs, outputs and losses of the models of vectors. */
#include "model/vectors/vectors.h"
#include "model/core/families.h"
#include "tensor/engine.h"

/* A frozen parameter of n numbers. */
static heed_param *frozen(heed_ctx *cx, heed_params *params, const char *name, int64_t n, heed_init_kind kind) {
    heed_param *p = heed_param_add(cx, params, NULL, name, 1, &n, (heed_init){.kind = kind});
    if (p) p->frozen = true;
    return p;
}

static bool check_image(heed_ctx *cx, heed_json config, const struct vectors *v) {
    int64_t side[2] = {0, 0};
    const int sides = config_ints(cx, config, "image_size", 1, 65536, side, 2);
    const heed_json size = heed_json_find(cx, config, "image_size");
    if (sides == 0) return !heed_failed(cx);
    if (sides != 2) return heed_json_fail(cx, size, "height and width are two numbers");
    const int64_t channels = config_int(cx, config, "image_channels", 1, 1024);
    if (heed_failed(cx) || channels * side[0] * side[1] == v->inputs) return !heed_failed(cx);
    return heed_json_fail(cx, size, "%lld x %lld x %lld numbers are not the %lld of input_size", (long long)channels,
                          (long long)side[0], (long long)side[1], (long long)v->inputs);
}

bool vectors_classify(heed_ctx *cx, heed_json config) {
    static const char *const tasks[] = {"regress", "classify", NULL};
    return config_choice(cx, config, "task", tasks) == 1;
}

bool vectors_build(heed_ctx *cx, heed_json config, heed_params *params, struct vectors *v) {
    *v = (struct vectors){.inputs = config_int(cx, config, "input_size", 1, SIZE_MOST),
                          .outputs = config_int(cx, config, "output_size", 1, SIZE_MOST),
                          .classify = vectors_classify(cx, config)};
    if (!check_image(cx, config, v)) return false;
    if (heed_json_bool(cx, config, "standardize_input")) {
        v->input_mean = frozen(cx, params, "input_mean", v->inputs, HEED_INIT_ZEROS);
        v->input_deviation = frozen(cx, params, "input_deviation", v->inputs, HEED_INIT_ONES);
    }
    if (heed_json_bool(cx, config, "standardize_output")) {
        if (v->classify)
            return heed_json_fail(cx, heed_json_find(cx, config, "standardize_output"), "classes cannot be");
        v->output_mean = frozen(cx, params, "output_mean", v->outputs, HEED_INIT_ZEROS);
        v->output_deviation = frozen(cx, params, "output_deviation", v->outputs, HEED_INIT_ONES);
    }
    return !heed_failed(cx);
}

static heed_tensor *as_f32(heed_ctx *cx, heed_tensor *t) {
    return t && heed_type(t) != HEED_F32 ? heed_cast(cx, t, HEED_F32) : t;
}

heed_tensor *vectors_input(heed_ctx *cx, const struct vectors *v, const heed_io *in) {
    heed_tensor *x = as_f32(cx, heed_io_get(in, "x"));
    if (!x) {
        heed_fail(cx, HEED_ERR_USAGE, "x: the model needs this input");
        return NULL;
    }
    if (heed_rank(x) == 0 || heed_dim(x, -1) != v->inputs) { /* (B, channels, height, width) and the like */
        const int64_t batch = heed_rank(x) ? heed_dim(x, 0) : 0;
        if (heed_rank(x) < 2 || heed_count(x) / (batch ? batch : 1) != (batch ? v->inputs : 0)) {
            heed_fail(cx, HEED_ERR_SHAPE, "x: shape %s does not give examples of %lld numbers", heed_shape_text(x).s,
                      (long long)v->inputs);
            return NULL;
        }
        x = heed_reshape(cx, x, 2, (int64_t[]){batch, v->inputs});
    }
    if (!v->input_mean) return x;
    x = heed_sub(cx, x, heed_param_tensor(cx, v->input_mean));
    return heed_div(cx, x, heed_param_tensor(cx, v->input_deviation));
}

static bool wrong_target(heed_ctx *cx, const char *name, const heed_tensor *t, const heed_tensor *y) {
    return heed_fail(cx, HEED_ERR_SHAPE, "%s: shape %s does not fit the model's outputs %s", name, heed_shape_text(t).s,
                     heed_shape_text(y).s);
}

/* labels (…) whole numbers, logits (…, classes). One output is the logit of class 1 beside a 0 for class 0: the
 * logistic neuron. */
static heed_tensor *class_loss(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels) {
    if (heed_type(labels) == HEED_F32) {
        heed_fail(cx, HEED_ERR_TYPE, "labels: classes are whole numbers, not f32");
        return NULL;
    }
    if (heed_count(labels) * heed_dim(logits, -1) != heed_count(logits)) {
        wrong_target(cx, "labels", labels, logits);
        return NULL;
    }
    if (heed_type(labels) != HEED_I32) labels = heed_cast(cx, labels, HEED_I32);
    labels = heed_reshape(cx, labels, heed_rank(logits) - 1, heed_shape(logits));
    if (heed_dim(logits, -1) == 1) {
        int64_t before[HEED_MAX_RANK] = {0}, after[HEED_MAX_RANK] = {0};
        before[heed_rank(logits) - 1] = 1;
        logits = heed_pad(cx, logits, before, after, 0);
    }
    return heed_cross_entropy(cx, logits, labels, NULL);
}

static heed_tensor *number_loss(heed_ctx *cx, heed_tensor *y, heed_tensor *wanted) {
    if (heed_count(wanted) != heed_count(y)) {
        wrong_target(cx, "y", wanted, y);
        return NULL;
    }
    wanted = heed_reshape(cx, as_f32(cx, wanted), heed_rank(y), heed_shape(y));
    return heed_mse_loss(cx, y, wanted, HEED_REDUCE_MEAN);
}

/* While training: the same loss in units of the deviations, so that learning rates and clipping do not depend on the
 * units of y. */
static bool put_training_loss(heed_ctx *cx, const struct vectors *v, heed_tensor *raw, heed_tensor *wanted,
                              heed_io *out) {
    const struct engine *e = engine_of(cx);
    if (!e || !e->training) return e != NULL;
    wanted = heed_reshape(cx, as_f32(cx, wanted), heed_rank(raw), heed_shape(raw));
    wanted = heed_sub(cx, wanted, heed_param_tensor(cx, v->output_mean));
    wanted = heed_div(cx, wanted, heed_param_tensor(cx, v->output_deviation));
    heed_tensor *loss = heed_mse_loss(cx, raw, wanted, HEED_REDUCE_MEAN);
    return loss && heed_io_put(cx, out, "training_loss", loss);
}

bool vectors_output(heed_ctx *cx, const struct vectors *v, const heed_io *in, heed_tensor *raw, heed_io *out) {
    heed_tensor *y = raw;
    if (v->output_mean) {
        y = heed_mul(cx, y, heed_param_tensor(cx, v->output_deviation));
        y = heed_add(cx, y, heed_param_tensor(cx, v->output_mean));
    }
    heed_tensor *target = heed_io_get(in, v->classify ? "labels" : "y");
    if (!target) target = heed_io_get(in, v->classify ? "y" : "labels"); /* either name will do */
    if (!y || !heed_io_put(cx, out, "logits", y)) return false;
    if (!target) return true;
    heed_tensor *loss = v->classify ? class_loss(cx, y, target) : number_loss(cx, y, target);
    if (!loss || !heed_io_put(cx, out, "loss", loss)) return false;
    return !v->output_mean || put_training_loss(cx, v, raw, target, out);
}

bool vectors_sample(heed_ctx *cx, const struct vectors *v, int64_t batch, heed_io *in) {
    heed_tensor *x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, v->inputs});
    if (!x || !heed_io_put(cx, in, "x", x)) return false;
    heed_tensor *target =
        v->classify ? heed_zeros(cx, HEED_I32, 1, &batch) : heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, v->outputs});
    return target && heed_io_put(cx, in, v->classify ? "labels" : "y", target);
}
