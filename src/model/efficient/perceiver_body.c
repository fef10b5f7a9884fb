/* The layers of Perceiver: latents that look at inputs, at themselves, and queries that look at them. */
#include "model/efficient/perceiver.h"
#include "tensor/engine.h"

/* ---- make ---- */

/* Sizes of a layer whose queries are q_width and whose keys are made of c_width numbers. c_width 0: of the queries. */
static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, int64_t q_width,
                       int64_t c_width, int64_t widening, heed_init init, struct perceiver_layer *l) {
    static const char *const names[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
    const int64_t rows[] = {l->key_width, l->key_width, l->value_width};
    const bool cross = c_width > 0;
    if (heed_failed(cx)) return false;
    if (l->key_width % l->heads != 0 || l->value_width % l->heads != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld heads do not divide keys of %lld and values of %lld numbers",
                         prefix, (long long)l->heads, (long long)l->key_width, (long long)l->value_width);
    l->act = config_activation(cx, config, "hidden_act");
    l->dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    if (!part_norm(cx, set, prefix, "attention.self.layernorm1", q_width, PERCEIVER_EPS, &l->norm_q)) return false;
    if (cross &&
        (!part_norm(cx, set, prefix, "attention.self.layernorm2", c_width, PERCEIVER_EPS, &l->norm_c) ||
         !part_linear(cx, set, prefix, names[0], q_width, l->key_width, true, init, &l->q) ||
         !part_slices(cx, set, prefix, "attention.self.kv", names + 1, rows + 1, 2, c_width, true, init, &l->kv)))
        return false;
    if (!cross && !part_slices(cx, set, prefix, "attention.self.qkv", names, rows, 3, q_width, true, init, &l->kv))
        return false;
    return part_linear(cx, set, prefix, "attention.output.dense", l->value_width, q_width, true, init, &l->out) &&
           part_norm(cx, set, prefix, "layernorm", q_width, PERCEIVER_EPS, &l->norm) &&
           part_linear(cx, set, prefix, "mlp.dense1", q_width, widening * q_width, true, init, &l->up) &&
           part_linear(cx, set, prefix, "mlp.dense2", widening * q_width, q_width, true, init, &l->down);
}

static int64_t heads_of(heed_ctx *cx, heed_json config, const char *key, int64_t width) {
    const int64_t heads = config_int(cx, config, key, 1, MAX_SIZE);
    if (!heed_failed(cx) && width % heads != 0)
        heed_json_fail(cx, heed_json_find(cx, config, key), "%lld heads do not divide d_latents, %lld",
                       (long long)heads, (long long)width);
    return heads;
}

static bool make_cross(heed_ctx *cx, heed_json config, heed_params *set, const char *base, int64_t C,
                       struct perceiver *m) {
    static const char *const shapes[] = {"kv", "q", NULL};
    struct perceiver_layer *const l = &m->cross;
    const int64_t widening = config_int(cx, config, "cross_attention_widening_factor", 1, 1024);
    const int shape = config_choice(cx, config, "cross_attention_shape_for_attention", shapes);
    l->heads = heads_of(cx, config, "num_cross_attention_heads", C);
    l->key_width = config_int_or(cx, config, "qk_channels", 1, MAX_SIZE, shape == 1 ? C : m->width);
    l->value_width = config_int_or(cx, config, "v_channels", 1, MAX_SIZE, l->key_width);
    l->residual = heed_json_bool(cx, config, "use_query_residual");
    return make_layer(cx, config, set, part_under(cx, base, "encoder.cross_attention").s, C, m->width, widening,
                      m->init, l);
}

/* What these layers give is added to the latents, so that it must be as wide. */
static bool make_self(heed_ctx *cx, heed_json config, heed_params *set, const char *base, int64_t C,
                      struct perceiver *m) {
    const int64_t widening = config_int(cx, config, "self_attention_widening_factor", 1, 1024);
    const int64_t heads = heads_of(cx, config, "num_self_attention_heads", C);
    const int64_t keys = config_int_or(cx, config, "qk_channels", 1, MAX_SIZE, C);
    const int64_t values = config_int_or(cx, config, "v_channels", 1, MAX_SIZE, keys);
    m->layers = (int)config_int(cx, config, "num_self_attends_per_block", 0, MAX_LAYERS);
    m->blocks = (int)config_int(cx, config, "num_blocks", 0, MAX_LAYERS);
    m->layer = heed_params_alloc(cx, set, (size_t)m->layers + 1, sizeof *m->layer);
    if (heed_failed(cx)) return false;
    if (m->layers > 0 && values != C)
        return heed_fail(cx, HEED_ERR_FORMAT,
                         "v_channels: self-attention gives %lld numbers, and they are added to latents of %lld; null, "
                         "qk_channels or v_channels must be d_latents",
                         (long long)values, (long long)C);
    for (int i = 0; i < m->layers; i++) {
        m->layer[i] =
            (struct perceiver_layer){.heads = heads, .key_width = keys, .value_width = values, .residual = true};
        if (!make_layer(cx, config, set, part_numbered(cx, base, "encoder.self_attends", i).s, C, 0, widening, m->init,
                        &m->layer[i]))
            return false;
    }
    return true;
}

bool perceiver_make_encoder(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct perceiver *m) {
    const int64_t latents = config_int(cx, config, "num_latents", 1, MAX_SIZE);
    const int64_t C = config_int(cx, config, "d_latents", 1, MAX_SIZE);
    if (heed_failed(cx)) return false;
    m->latents =
        heed_param_add(cx, set, part_under(cx, base, "embeddings").s, "latents", 2, (int64_t[]){latents, C}, m->init);
    return make_cross(cx, config, set, base, C, m) && make_self(cx, config, set, base, C, m);
}

bool perceiver_make_decoder(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, int64_t queries,
                            int64_t width, int64_t heads, int64_t key_width, bool residual, struct perceiver *m) {
    if (heed_failed(cx)) return false;
    const int first = heed_params_count(set);
    m->queries = heed_param_add(cx, set, part_under(cx, prefix, "output_position_encodings").s, "position_embeddings",
                                2, (int64_t[]){queries, width}, m->init);
    m->decoder = (struct perceiver_layer){
        .heads = heads, .key_width = key_width > 0 ? key_width : width, .value_width = width, .residual = residual};
    if (!make_layer(cx, config, set, part_under(cx, prefix, "decoding_cross_attention").s, width, m->latents->shape[1],
                    1, m->init, &m->decoder))
        return false;
    for (int i = first; i < heed_params_count(set); i++) heed_params_at(set, i)->head = true; /* one for each task */
    return true;
}

/* ---- run ---- */

/* (B,T,H n) -> (B,T,H,n) */
static heed_tensor *heads(heed_ctx *cx, heed_tensor *x, int64_t H) {
    return x ? heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], x->shape[1], H, x->shape[2] / H}) : NULL;
}

/* (1,T,C) -> (B,T,C): what is the same for all examples is computed once. */
static heed_tensor *for_all(heed_ctx *cx, heed_tensor *x, int64_t B) {
    return !x || x->shape[0] == B ? x : heed_expand(cx, x, 3, (int64_t[]){B, -1, -1});
}

/* q (B or 1,N,Cq), c (B,T,Cc), or NULL: q -> (B,N,H,E) */
static heed_tensor *attend(heed_ctx *cx, const struct perceiver_layer *l, heed_tensor *q, heed_tensor *c,
                           const heed_attention_opts *o) {
    heed_tensor *part[3] = {NULL};
    const int64_t sizes[] = {l->key_width, l->key_width, l->value_width};
    q = heed_norm_run(cx, &l->norm_q, q);
    if (!c) {
        heed_tensor *const all = heed_linear_run(cx, &l->kv, q, HEED_ACT_NONE);
        if (l->key_width == l->value_width) return heed_self_attention(cx, all, l->heads, l->heads, o);
        if (!all || !heed_split(cx, all, -1, sizes, 3, part)) return NULL;
    } else {
        heed_tensor *const both = heed_linear_run(cx, &l->kv, heed_norm_run(cx, &l->norm_c, c), HEED_ACT_NONE);
        part[0] = for_all(cx, heed_linear_run(cx, &l->q, q, HEED_ACT_NONE), c->shape[0]);
        if (!both || !heed_split(cx, both, -1, sizes + 1, 2, part + 1)) return NULL;
    }
    for (int i = 0; i < 3; i++) part[i] = heads(cx, part[i], l->heads);
    return heed_attention(cx, part[0], part[1], part[2], o);
}

static heed_tensor *run(heed_ctx *cx, const struct perceiver_layer *l, heed_tensor *q, heed_tensor *c,
                        heed_attention_opts o) {
    if (heed_failed(cx) || !q) return NULL;
    o.dropout = l->dropout;
    heed_tensor *a = attend(cx, l, q, c, &o);
    if (!a) return NULL;
    a = heed_reshape(cx, a, 3, (int64_t[]){a->shape[0], a->shape[1], l->value_width});
    a = heed_linear_run(cx, &l->out, a, HEED_ACT_NONE);
    heed_tensor *sum = a, *normed = NULL;
    if (l->residual && a)
        normed = heed_add_norm_run(cx, &l->norm, a, for_all(cx, q, a->shape[0]), &sum);
    else
        normed = heed_norm_run(cx, &l->norm, a);
    heed_tensor *const y = heed_linear_run(cx, &l->up, normed, l->act);
    return heed_add(cx, heed_linear_run(cx, &l->down, y, HEED_ACT_NONE), sum);
}

/* Rows of a parameter (n,C) as (1,n,C) */
static heed_tensor *rows(heed_ctx *cx, const heed_param *p, int64_t n) {
    return heed_reshape(cx, heed_param_rows(cx, p, 0, n), 3, (int64_t[]){1, n, p->shape[1]});
}

heed_tensor *perceiver_encode(heed_ctx *cx, const struct perceiver *m, heed_tensor *x, const heed_mask *mask) {
    heed_attention_opts o = {.mask = *mask, .site = "cross"};
    if (heed_failed(cx) || !x) return NULL;
    heed_scope_begin(cx);
    heed_tensor *z = heed_scope_keep(cx, run(cx, &m->cross, rows(cx, m->latents, m->latents->shape[0]), x, o));
    o = (heed_attention_opts){.site = "attention"};
    for (int i = 0; i < m->blocks; i++)
        for (int k = 0; k < m->layers; k++, o.layer++) z = heed_scope_keep(cx, run(cx, &m->layer[k], z, NULL, o));
    return heed_scope_end(cx, z);
}

heed_tensor *perceiver_decode(heed_ctx *cx, const struct perceiver *m, heed_tensor *z, int64_t n) {
    if (heed_failed(cx) || !z) return NULL;
    heed_scope_begin(cx);
    return heed_scope_end(
        cx, run(cx, &m->decoder, rows(cx, m->queries, n), z, (heed_attention_opts){.site = "cross", .layer = 1}));
}
