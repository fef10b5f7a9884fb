/* Steps and classes as the vectors that the blocks of a U-Net are given. */
#include "model/diffusion/unet.h"
#include "tensor/engine.h"

#define CLASS_PREFIX "class_embedding"

static bool table_make(heed_ctx *cx, const heed_build *b, struct unet_time *t) {
    static const char key[] = "num_class_embeds";
    if (heed_json_kind_of(heed_json_find(cx, b->config, key)) == HEED_JSON_NULL) return !heed_failed(cx);
    t->kind = CLASS_TABLE;
    return heed_embedding_make(cx, b->params, CLASS_PREFIX, config_int(cx, b->config, key, 1, MAX_SIZE), t->width,
                               &t->classes);
}

static bool projection_make(heed_ctx *cx, const heed_build *b, bool mlp, struct unet_time *t) {
    t->kind = mlp ? CLASS_MLP : CLASS_LINEAR;
    t->class_width = config_int(cx, b->config, "projection_class_embeddings_input_dim", 1, MAX_SIZE);
    return mlp ? step_embedding_make(cx, b->params, CLASS_PREFIX, t->class_width, t->width, 0, &t->class_mlp)
               : heed_linear_make(cx, b->params, CLASS_PREFIX, t->class_width, t->width, true, &t->class_linear);
}

bool unet_class_make(heed_ctx *cx, const heed_build *b, bool projects, heed_activation act, struct unet_time *t) {
    static const char *const few[] = {"timestep", "identity", NULL}, *const all[] = {"timestep", "identity",
                                                                                     "projection", "simple_projection",
                                                                                     NULL};
    static const char key[] = "class_embed_type";
    if (heed_json_kind_of(heed_json_find(cx, b->config, key)) == HEED_JSON_NULL) return table_make(cx, b, t);
    switch (config_choice(cx, b->config, key, projects ? all : few)) {
    case 0:
        t->kind = CLASS_STEP;
        if (!step_embedding_make(cx, b->params, CLASS_PREFIX, t->waves.width, t->width, 0, &t->class_mlp)) return false;
        t->class_mlp.act = act;
        return true;
    case 1:
        t->kind = CLASS_IDENTITY;
        t->class_width = t->width;
        return true;
    case 2:
        return projection_make(cx, b, true, t);
    case 3:
        return projection_make(cx, b, false, t);
    }
    return false;
}

static heed_tensor *waves_of(heed_ctx *cx, const struct unet_time *t, const heed_io *in, const char *name,
                             int64_t batch) {
    heed_tensor *const step = step_input(cx, in, name, batch);
    if (!t->steps.weight) return step_waves_run(cx, &t->waves, step);
    return heed_embedding_run(cx, &t->steps, step ? heed_cast(cx, step, HEED_I32) : NULL);
}

/* class_labels as they must be: vectors, or one whole number for each example. */
static heed_tensor *labels_of(heed_ctx *cx, const struct unet_time *t, heed_tensor *labels, int64_t batch) {
    const bool vectors = t->class_width > 0;
    const heed_dtype type = vectors ? HEED_F32 : HEED_I32;
    if (heed_type(labels) == type && labels->rank == 1 + vectors && labels->shape[0] == batch &&
        (!vectors || labels->shape[1] == t->class_width))
        return labels;
    if (vectors)
        heed_fail(cx, HEED_ERR_SHAPE, "class_labels: %s numbers of shape %s are not f32 (%lld,%lld)",
                  heed_dtype_name(heed_type(labels)), heed_shape_text(labels).s, (long long)batch,
                  (long long)t->class_width);
    else
        heed_fail(cx, HEED_ERR_SHAPE, "class_labels: %s numbers of shape %s are not whole ones (%lld)",
                  heed_dtype_name(heed_type(labels)), heed_shape_text(labels).s, (long long)batch);
    return NULL;
}

static heed_tensor *class_run(heed_ctx *cx, const struct unet_time *t, const heed_io *in, int64_t batch) {
    heed_tensor *labels = heed_io_get(in, "class_labels");
    if (t->kind == CLASS_STEP)
        return step_embedding_run(cx, &t->class_mlp, waves_of(cx, t, in, "class_labels", batch), NULL);
    if (!labels) return heed_fail(cx, HEED_ERR_USAGE, "forward: class_labels is needed"), NULL;
    if (!(labels = labels_of(cx, t, labels, batch))) return NULL;
    if (t->kind == CLASS_TABLE) return heed_embedding_run(cx, &t->classes, labels);
    if (t->kind == CLASS_MLP) return step_embedding_run(cx, &t->class_mlp, labels, NULL);
    return t->kind == CLASS_LINEAR ? heed_linear_run(cx, &t->class_linear, labels, HEED_ACT_NONE) : labels;
}

heed_tensor *unet_time_run(heed_ctx *cx, const struct unet_time *t, const heed_io *in, int64_t batch,
                           heed_tensor *more) {
    heed_tensor *const step = step_embedding_run(cx, &t->embedding, waves_of(cx, t, in, "timestep", batch), more);
    if (t->kind == CLASS_NONE) {
        if (!heed_io_get(in, "class_labels")) return step;
        return heed_fail(cx, HEED_ERR_USAGE, "forward: class_labels: the model knows no classes"), NULL;
    }
    heed_tensor *const class = class_run(cx, t, in, batch);
    return t->concatenates ? heed_concat(cx, (heed_tensor *[]){step, class}, 2, 1) : heed_add(cx, step, class);
}

bool unet_time_sample(heed_ctx *cx, const struct unet_time *t, int64_t batch, heed_io *in) {
    const bool vectors = t->class_width > 0;
    if (!heed_io_put(cx, in, "timestep", heed_zeros(cx, HEED_I32, 1, &batch))) return false;
    return t->kind == CLASS_NONE ||
           heed_io_put(cx, in, "class_labels",
                       heed_zeros(cx, vectors ? HEED_F32 : HEED_I32, 1 + vectors, (int64_t[]){batch, t->class_width}));
}
