/* Text for a U-Net. unet_text.h says what is made of it. */
#include "model/diffusion/unet_text.h"
#include "tensor/engine.h"
#include <math.h>

#define HIDDEN_STATES "encoder_hidden_states"
#define TEXT_MASK     "encoder_attention_mask"
#define TEXT_EMBEDS   "added_cond_kwargs.text_embeds"
#define TIME_IDS      "added_cond_kwargs.time_ids"
#define HIDDEN_SCORE  10000 /* what is taken off the score of a token that is not to be seen */

/* ---- parameters ---- */

static bool pooling_make(heed_ctx *cx, const heed_build *b, int64_t text, int64_t time, struct text_pooling *p) {
    heed_params *const set = b->params;
    static const char prefix[] = "add_embedding";
    p->heads = config_int(cx, b->config, "addition_embed_type_num_heads", 1, MAX_SIZE);
    if (heed_failed(cx)) return false;
    if (text % p->heads != 0)
        return heed_json_fail(cx, heed_json_find(cx, b->config, "addition_embed_type_num_heads"),
                              "%lld heads do not divide a text of %lld channels", (long long)p->heads, (long long)text);
    if (!part_norm(cx, set, prefix, "norm1", text, 1e-5F, &p->norm1)) return false;
    p->position = heed_param_add(cx, set, "add_embedding.pool", "positional_embedding", 2, (int64_t[]){1, text},
                                 (heed_init){HEED_INIT_NORMAL, 0, 1 / sqrtf((float)text)});
    return heed_linear_make(cx, set, "add_embedding.pool.k_proj", text, text, true, &p->k) &&
           heed_linear_make(cx, set, "add_embedding.pool.q_proj", text, text, true, &p->q) &&
           heed_linear_make(cx, set, "add_embedding.pool.v_proj", text, text, true, &p->v) &&
           heed_linear_make(cx, set, "add_embedding.proj", text, time, true, &p->proj) &&
           part_norm(cx, set, prefix, "norm2", time, 1e-5F, &p->norm2);
}

static bool addition_make(heed_ctx *cx, const heed_build *b, int64_t time, struct unet_text *t) {
    static const char *const types[] = {"text", "text_time", NULL};
    static const char key[] = "addition_embed_type";
    if (heed_json_kind_of(heed_json_find(cx, b->config, key)) == HEED_JSON_NULL) return !heed_failed(cx);
    const int type = config_choice(cx, b->config, key, types);
    if (type < 0) return false;
    t->addition = type == 0 ? ADD_TEXT : ADD_TEXT_TIME;
    if (type == 0) return pooling_make(cx, b, t->width, time, &t->pooling);
    t->embedding_in = config_int(cx, b->config, "projection_class_embeddings_input_dim", 1, MAX_SIZE);
    return step_waves_read(cx, b->config, config_int(cx, b->config, "addition_time_embed_dim", 1, MAX_SIZE),
                           &t->waves) &&
           step_embedding_make(cx, b->params, "add_embedding", t->embedding_in, time, 0, &t->embedding);
}

bool unet_text_make(heed_ctx *cx, const heed_build *b, int64_t text, int64_t time, struct unet_text *t) {
    static const char *const types[] = {"text_proj", NULL};
    const bool typed = heed_json_kind_of(heed_json_find(cx, b->config, "encoder_hid_dim_type")) != HEED_JSON_NULL;
    if (typed && config_choice(cx, b->config, "encoder_hid_dim_type", types) < 0) return false;
    t->width = config_int_or(cx, b->config, "encoder_hid_dim", 1, MAX_SIZE, 0);
    if (typed && !t->width)
        return heed_json_fail(cx, heed_json_find(cx, b->config, "encoder_hid_dim_type"), "encoder_hid_dim is needed");
    if (t->width && !heed_linear_make(cx, b->params, "encoder_hid_proj", t->width, text, true, &t->projection))
        return false;
    if (!t->width) t->width = text;
    return addition_make(cx, b, time, t);
}

/* ---- run ---- */

static bool takes_text(const struct unet_text *t, bool needed) {
    return needed || t->projection.weight || t->addition == ADD_TEXT;
}

static bool check_text(heed_ctx *cx, const struct unet_text *t, const heed_tensor *text, int64_t batch) {
    if (!text) return heed_fail(cx, HEED_ERR_USAGE, "forward: " HIDDEN_STATES " is needed");
    return (heed_type(text) == HEED_F32 && text->rank == 3 && text->shape[0] == batch && text->shape[1] > 0 &&
            text->shape[2] == t->width) ||
           heed_fail(cx, HEED_ERR_SHAPE, HIDDEN_STATES ": %s numbers of shape %s are not f32 (%lld,L,%lld)",
                     heed_dtype_name(heed_type(text)), heed_shape_text(text).s, (long long)batch, (long long)t->width);
}

bool unet_text_run(heed_ctx *cx, const struct unet_text *t, const heed_io *in, int64_t batch, bool needed,
                   struct condition *given) {
    heed_tensor *const text = heed_io_get(in, HIDDEN_STATES), *const mask = heed_io_get(in, TEXT_MASK);
    if (!takes_text(t, needed)) return !heed_failed(cx);
    if (heed_failed(cx) || !check_text(cx, t, text, batch)) return false;
    given->text = t->projection.weight ? heed_linear_run(cx, &t->projection, text, HEED_ACT_NONE) : text;
    if (!mask) return !heed_failed(cx);
    if (mask->rank != 2 || mask->shape[0] != batch || mask->shape[1] != text->shape[1])
        return heed_fail(cx, HEED_ERR_SHAPE, TEXT_MASK " of shape %s does not fit " HIDDEN_STATES " of shape %s",
                         heed_shape_text(mask).s, heed_shape_text(text).s);
    heed_tensor *const score = heed_affine(cx, heed_cast(cx, mask, HEED_F32), HIDDEN_SCORE, -HIDDEN_SCORE);
    given->hidden = heed_reshape(cx, score, 4, (int64_t[]){batch, 1, 1, mask->shape[1]});
    return !heed_failed(cx);
}

/* (B,T,E) -> (B,T,H,D) */
static heed_tensor *heads_of(heed_ctx *cx, const struct text_pooling *p, const heed_linear_layer *layer,
                             heed_tensor *x) {
    heed_tensor *const y = heed_linear_run(cx, layer, x, HEED_ACT_NONE);
    return y ? heed_reshape(cx, y, 4, (int64_t[]){y->shape[0], y->shape[1], p->heads, y->shape[2] / p->heads}) : NULL;
}

static heed_tensor *pooled(heed_ctx *cx, const struct text_pooling *p, heed_tensor *text) {
    heed_tensor *const x = heed_norm_run(cx, &p->norm1, text);
    heed_tensor *const mean =
        heed_add(cx, heed_mean(cx, x, (const int[]){1}, 1, true), heed_param_tensor(cx, p->position));
    heed_tensor *const all = heed_concat(cx, (heed_tensor *[]){mean, x}, 2, 1);
    heed_tensor *y = heed_attention(cx, heads_of(cx, p, &p->q, mean), heads_of(cx, p, &p->k, all),
                                    heads_of(cx, p, &p->v, all), &(heed_attention_opts){.site = "text"});
    if (!y) return NULL;
    y = heed_reshape(cx, y, 2, (int64_t[]){y->shape[0], y->shape[2] * y->shape[3]});
    return heed_norm_run(cx, &p->norm2, heed_linear_run(cx, &p->proj, y, HEED_ACT_NONE));
}

/* [text_embeds, the waves of each of time_ids], through the embedding */
static heed_tensor *timed(heed_ctx *cx, const struct unet_text *t, const heed_io *in, int64_t batch) {
    heed_tensor *const text = heed_io_get(in, TEXT_EMBEDS), *const ids = heed_io_get(in, TIME_IDS);
    if (!text || !ids)
        return heed_fail(cx, HEED_ERR_USAGE, "forward: %s is needed", text ? TIME_IDS : TEXT_EMBEDS), NULL;
    if (heed_type(text) != HEED_F32 || text->rank != 2 || ids->rank != 2 || text->shape[0] != batch ||
        ids->shape[0] != batch || text->shape[1] + ids->shape[1] * t->waves.width != t->embedding_in)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         TEXT_EMBEDS " of shape %s and " TIME_IDS " of shape %s, %lld waves for each, do not make "
                                     "(%lld,%lld), which projection_class_embeddings_input_dim says",
                         heed_shape_text(text).s, heed_shape_text(ids).s, (long long)t->waves.width, (long long)batch,
                         (long long)t->embedding_in),
               NULL;
    heed_tensor *const waves =
        heed_reshape(cx, step_waves_run(cx, &t->waves, ids), 2, (int64_t[]){batch, ids->shape[1] * t->waves.width});
    return step_embedding_run(cx, &t->embedding, heed_concat(cx, (heed_tensor *[]){text, waves}, 2, 1), NULL);
}

bool unet_text_added(heed_ctx *cx, const struct unet_text *t, const heed_io *in, int64_t batch, heed_tensor **added) {
    *added = NULL;
    if (heed_failed(cx) || t->addition == ADD_NOTHING) return !heed_failed(cx);
    if (t->addition == ADD_TEXT) {
        heed_tensor *const text = heed_io_get(in, HIDDEN_STATES);
        *added = check_text(cx, t, text, batch) ? pooled(cx, &t->pooling, text) : NULL;
    } else
        *added = timed(cx, t, in, batch);
    return *added != NULL;
}

bool unet_text_sample(heed_ctx *cx, const struct unet_text *t, int64_t batch, int64_t length, heed_io *in) {
    if (!heed_io_put(cx, in, HIDDEN_STATES, heed_zeros(cx, HEED_F32, 3, (int64_t[]){batch, length, t->width})))
        return false;
    if (t->addition != ADD_TEXT_TIME) return true;
    const int64_t most = (t->embedding_in - 1) / t->waves.width, ids = most < 6 ? most : 6; /* SDXL's sizes and crops */
    return heed_io_put(cx, in, TEXT_EMBEDS,
                       heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, t->embedding_in - ids * t->waves.width})) &&
           heed_io_put(cx, in, TIME_IDS, heed_zeros(cx, HEED_I32, 2, (int64_t[]){batch, ids}));
}
