/* Blocks and stages of Swin under the names of a layout. */
#include "model/core/resized.h"
#include "model/vision/swin.h"
#include <math.h>

/* ---- a block ---- */

/* Capture calls the last block of a stage "attention", by the number of the stage: that is what transformers gives. The
 * others are "windows", by their own numbers. */
static void number_block(struct swin_block *b, int stage, int number, bool last) {
    b->site = last ? "attention" : "windows";
    b->number = last ? stage : number;
}

static void set_window(const struct swin_plan *p, const struct swin *m, int stage, bool shifts, struct swin_block *b) {
    for (int k = 0; k < 2; k++) {
        const int64_t side = p->window[stage][k], grid = m->patches.grid[p->by_height ? 0 : k] >> stage;
        const bool whole = p->fits && grid <= side;
        b->window[k] = b->table[k] = whole ? grid : side;
        b->shift[k] = shifts && !whole ? side / 2 : 0;
    }
    b->cosine.trained = p->trained[stage];
}

static bool make_bias(heed_ctx *cx, heed_params *set, const char *prefix, heed_init init, struct swin_block *b) {
    const int64_t shape[] = {(2 * b->table[0] - 1) * (2 * b->table[1] - 1), b->attention.heads};
    b->bias = heed_param_add(cx, set, prefix, "relative_position_bias_table", 2, shape, init);
    if (b->bias) b->bias->decays = false, b->bias->needs_f32 = true;
    return b->bias != NULL && resizable_biases(cx, set, b->bias, b->table);
}

/* Three products, or one whose biases are apart from it. Keys have none. */
static bool make_directions(heed_ctx *cx, const struct swin_plan *p, const char *prefix, bool bias, int64_t C,
                            struct swin_cosine *v) {
    const struct part_name in = part_under(cx, prefix, p->names->bias);
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    for (int i = 0; p->names->qkv[0] && i < 3; i++)
        if (!part_linear(cx, p->set, prefix, p->names->qkv[i], C, C, bias && i != 1, p->init, &v->qkv[i])) return false;
    if (p->names->qkv[0]) return !heed_failed(cx);
    if (bias) {
        v->q_bias = heed_param_add(cx, p->set, in.s, "q_bias", 1, &C, zeros);
        v->v_bias = heed_param_add(cx, p->set, in.s, "v_bias", 1, &C, zeros);
    }
    return part_linear(cx, p->set, prefix, p->names->whole, C, 3 * C, false, p->init, &v->whole);
}

/* The second version's, whose bias of distances is worked out. */
static bool make_cosine(heed_ctx *cx, const struct swin_plan *p, const char *prefix, bool bias, int64_t C,
                        struct swin_block *b) {
    enum { HIDDEN = 512 };
    struct swin_cosine *const v = &b->cosine;
    const struct part_name in = part_under(cx, prefix, p->names->bias),
                           distance = part_under(cx, in.s, p->names->distance);
    v->logit_scale = heed_param_add(cx, p->set, in.s, "logit_scale", 3, (int64_t[]){b->attention.heads, 1, 1},
                                    (heed_init){HEED_INIT_CONSTANT, logf(10), 0});
    if (v->logit_scale) v->logit_scale->decays = false;
    if (!make_directions(cx, p, prefix, bias, C, v) ||
        !part_linear(cx, p->set, distance.s, "0", 2, HIDDEN, true, p->init, &v->distance[0]) ||
        !part_linear(cx, p->set, distance.s, "2", HIDDEN, b->attention.heads, false, p->init, &v->distance[1]))
        return false;
    for (int i = 0; i < 2; i++) v->distance[i].weight->decays = !p->drawn_by_timm;
    return true;
}

static bool make_attention(heed_ctx *cx, const struct swin_plan *p, const char *prefix, bool second, int64_t C,
                           struct swin_block *b) {
    const struct swin_layout *const n = p->names;
    const bool bias = heed_json_bool(cx, p->config, "qkv_bias");
    heed_multihead *const a = &b->attention;
    const int64_t inner = a->head_size > 0 ? a->head_size * a->heads : C;
    a->width = a->key_width = a->value_width = C;
    a->dropout = p->weights_dropout;
    if (second ? !make_cosine(cx, p, prefix, bias, C, b)
               : !make_bias(cx, p->set, part_under(cx, prefix, n->bias).s, p->init, b) ||
                     !(n->qkv[0] ? part_slices(cx, p->set, prefix, n->whole, n->qkv, (int64_t[]){C, C, C}, 3, C, bias,
                                               p->init, &a->in)
                                 : part_linear(cx, p->set, prefix, n->whole, C, 3 * inner, bias, p->init, &a->in)))
        return false;
    return part_linear(cx, p->set, prefix, n->out, inner, C, true, p->init, &a->out);
}

static bool make_block(heed_ctx *cx, const struct swin_plan *p, const char *prefix, bool second, int64_t C,
                       struct swin_block *b) {
    const struct swin_layout *const n = p->names;
    const int64_t hidden = part_hidden(cx, p->config, "mlp_ratio", C);
    b->attention_dropout = p->attention_dropout;
    b->dropout = p->dropout;
    b->feed_forward.dropout = p->hidden_dropout;
    b->feed_forward.act = p->act;
    return !heed_failed(cx) && part_norm(cx, p->set, prefix, n->norm1, C, p->eps, &b->norm1) &&
           make_attention(cx, p, prefix, second, C, b) &&
           part_norm(cx, p->set, prefix, n->norm2, C, p->eps, &b->norm2) &&
           part_linear(cx, p->set, prefix, n->up, C, hidden, true, p->init, &b->feed_forward.linear1) &&
           part_linear(cx, p->set, prefix, n->down, hidden, C, true, p->init, &b->feed_forward.linear2);
}

/* ---- stages ---- */

bool swin_read_trained(heed_ctx *cx, heed_json config, int stages, int64_t trained[SWIN_STAGES]) {
    const int n = config_ints(cx, config, "pretrained_window_sizes", 0, 1024, trained, SWIN_STAGES);
    if (heed_failed(cx)) return false;
    bool fits = n >= stages;
    for (int i = 0; fits && i < stages; i++) fits = trained[i] != 1; /* distances would be divided by 0 */
    return fits || heed_json_fail(cx, heed_json_find(cx, config, "pretrained_window_sizes"),
                                  "0 or a side of at least 2 is needed for each of %d stages", stages);
}

/* Merging, which stage s begins with. */
static bool make_merging(heed_ctx *cx, const struct swin_plan *p, int s, struct swin *m) {
    const struct part_name in = part_numbered(cx, p->base, p->names->stage, p->names->merges_first ? s : s - 1);
    const int64_t C = p->width << s;
    return part_norm(cx, p->set, in.s, "downsample.norm", m->second ? C : 2 * C, SWIN_EPS, &m->stage[s].norm) &&
           part_linear(cx, p->set, in.s, "downsample.reduction", 2 * C, C, false, p->init, &m->stage[s].reduction);
}

bool swin_make(heed_ctx *cx, const struct swin_plan *p, struct swin *m) {
    const double drop_path = config_number(cx, p->config, "drop_path_rate", 0, 1);
    int64_t all = 0, C = p->width;
    int number = 0;
    for (int s = 0; s < m->stages; s++) all += p->depths[s];
    for (int s = 0; s < m->stages; s++) {
        struct swin_stage *const stage = &m->stage[s];
        const struct part_name in = part_numbered(cx, p->base, p->names->stage, s);
        C = p->width << s;
        if (p->head_size[s] == 0 && C % p->heads[s] != 0)
            return heed_json_fail(cx, heed_json_find(cx, p->config, "num_heads"),
                                  "%lld heads do not divide a width of %lld", (long long)p->heads[s], (long long)C);
        if (s > 0 && !make_merging(cx, p, s, m)) return false;
        stage->blocks = (int)p->depths[s];
        stage->block = heed_params_alloc(cx, p->set, (size_t)p->depths[s], sizeof *stage->block);
        for (int i = 0; stage->block && i < stage->blocks; i++, number++) {
            struct swin_block *const b = &stage->block[i];
            number_block(b, s, number, i + 1 == stage->blocks);
            b->attention.heads = p->heads[s];
            b->attention.head_size = p->head_size[s];
            b->drop_path = all > 1 ? (float)(drop_path * number / (double)(all - 1)) : 0;
            set_window(p, m, s, i % 2 != 0, b);
            if (!make_block(cx, p, part_numbered(cx, in.s, "blocks", i).s, m->second, C, b)) return false;
            if (p->drawn_by_timm) b->norm1.weight->init = b->norm2.weight->init = (heed_init){.kind = HEED_INIT_ZEROS};
        }
    }
    return !heed_failed(cx) && part_norm(cx, p->set, p->base, p->names->norm, C, p->eps, &m->norm);
}
