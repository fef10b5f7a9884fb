/* The body of U-Nets. unet.h says what it computes. */
#include "model/diffusion/unet.h"
#include "tensor/engine.h"

/* ---- config ---- */

bool unet_each(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high, int n, int64_t *out) {
    const heed_json at = heed_json_find(cx, config, key);
    if (heed_json_kind_of(at) != HEED_JSON_ARRAY) {
        const int64_t all = config_int(cx, config, key, low, high);
        for (int i = 0; i < n; i++) out[i] = all;
        return !heed_failed(cx);
    }
    if (heed_json_count(at) != n)
        return heed_json_fail(cx, at, "%lld numbers for %d numbers of block_out_channels",
                              (long long)heed_json_count(at), n);
    config_ints(cx, config, key, low, high, out, n);
    return !heed_failed(cx);
}

bool unet_plan_read(heed_ctx *cx, heed_json config, const struct stage_kinds *kinds, struct unet_plan *p,
                    struct unet *u) {
    static const char *const shifts[] = {"default", "scale_shift", NULL};
    *p = (struct unet_plan){.kinds = kinds, .block_scale = 1, .in_kernel = 3, .out_kernel = 3};
    u->in_channels = config_int(cx, config, "in_channels", 1, MAX_SIZE);
    u->centers = heed_json_bool(cx, config, "center_input_sample");
    p->stages = config_ints(cx, config, "block_out_channels", 1, MAX_SIZE / 8, p->channels, MAX_STAGES);
    if (!heed_failed(cx) && p->stages < 1)
        return heed_json_fail(cx, heed_json_find(cx, config, "block_out_channels"), "at least one number is needed");
    p->padding = config_int(cx, config, "downsample_padding", 0, 64);
    p->residual = (struct residual_plan){
        .groups = config_int(cx, config, "norm_num_groups", 1, MAX_SIZE),
        .eps = (float)config_number(cx, config, "norm_eps", 0, 1),
        .dropout = (float)config_number(cx, config, "dropout", 0, 1),
        .scale = 1,
        .act = config_activation(cx, config, "act_fn"),
        .scale_shift = config_choice(cx, config, "resnet_time_scale_shift", shifts) == 1,
    };
    p->mid.scale = (float)config_number(cx, config, "mid_block_scale_factor", 1e-6, 1e6);
    return unet_each(cx, config, "layers_per_block", 1, MAX_STAGE_LAYERS - 1, p->stages, p->layers) &&
           sample_sides(cx, config, u->sides);
}

/* ---- parameters ---- */

struct maker {
    const struct unet_plan *plan;
    heed_json down, up; /* lists of block types */
    int count;          /* of attention layers so far */
};

static struct head_sizes heads_of(enum mixing mixing, int64_t channels, int64_t given) {
    if (given == 0) return (struct head_sizes){1, channels};
    return mixing == MIX_TRANSFORMER ? (struct head_sizes){given, channels / given}
                                     : (struct head_sizes){channels / given, given};
}

/* What the stages at `level`, 0 the largest, have in common on both ways. */
static struct stage_plan level_plan(struct maker *k, const struct stage_kind *kind, int level, int64_t given) {
    const struct unet_plan *const p = k->plan;
    const int64_t groups = p->residual.groups;
    struct stage_plan s = {.residual = p->residual,
                           .out = p->channels[level],
                           .layers = (int)p->layers[level],
                           .heads = heads_of(kind->mixing, p->channels[level], given),
                           .place_groups = groups,
                           .place_scale = 1,
                           .joined = {p->text[level], groups, p->text_only[level], p->text_norm},
                           .transformer = {p->text[level], groups, p->transformer_linear, p->text_only[level]},
                           .residual_sampler = kind->residual_sampler,
                           .padding = p->padding,
                           .count = &k->count};
    if (kind->residual_sampler) s.residual.scale = p->block_scale, s.residual.skip_act = p->block_skips;
    return s;
}

static void take_layers(struct stage_plan *s, const int64_t *layers) {
    for (int i = 0; i < MAX_STAGE_LAYERS; i++) s->transformer_layers[i] = layers[i];
}

static bool reads_text(const struct stage_kind *kind) {
    return kind->mixing == MIX_JOINED || kind->mixing == MIX_TRANSFORMER;
}

static bool down_make(heed_ctx *cx, const heed_build *b, struct maker *k, int i, struct unet *u) {
    const struct unet_plan *const p = k->plan;
    const struct stage_kind *const kind = stage_kind_of(cx, heed_json_item(cx, k->down, i), p->kinds->down);
    if (!kind) return false;
    struct stage_plan s = level_plan(k, kind, i, p->heads[i]);
    s.in = p->channels[i ? i - 1 : 0];
    s.resampling = i < p->stages - 1 ? RESAMPLE_DOWN : RESAMPLE_NOT;
    s.residual_sampler |= p->block_down && kind->mixing == MIX_PLACES;
    take_layers(&s, p->down_transformers[i]);
    u->reads |= reads_text(kind);
    return down_stage_make(cx, b->params, part_numbered(cx, "", "down_blocks", i).s, kind, &s, &u->down[i]);
}

/* Stage i of the way up is at the level of stage n - 1 - i of the way down. As in diffusers, widths of heads of other
 * attention than Transformers are those of stage i. */
static bool up_make(heed_ctx *cx, const heed_build *b, struct maker *k, int i, struct unet *u) {
    const struct unet_plan *const p = k->plan;
    const int n = p->stages, level = n - 1 - i;
    const struct stage_kind *const kind = stage_kind_of(cx, heed_json_item(cx, k->up, i), p->kinds->up);
    if (!kind) return false;
    struct stage_plan s = level_plan(k, kind, level, p->heads[kind->mixing == MIX_TRANSFORMER ? level : i]);
    s.in = p->channels[i ? level + 1 : level];
    s.skip = p->channels[level ? level - 1 : 0];
    s.layers++;
    s.resampling = i < n - 1 ? RESAMPLE_UP : RESAMPLE_NOT;
    s.residual_sampler |= p->block_up && kind->mixing == MIX_PLACES;
    take_layers(&s, p->up_transformers[i]);
    u->reads |= reads_text(kind);
    return up_stage_make(cx, b->params, part_numbered(cx, "", "up_blocks", i).s, kind, &s, &u->up[i]);
}

static bool mid_make(heed_ctx *cx, const heed_build *b, struct maker *k, struct unet *u) {
    const struct unet_plan *const p = k->plan;
    const int last = p->stages - 1;
    const struct stage_kind kind = {"", p->mid.mixing, false};
    if (p->mid.none) return true;
    struct stage_plan s = level_plan(k, &kind, last, p->heads[last]);
    s.layers = p->mid.attentions;
    s.residual.scale = s.place_scale = p->mid.scale;
    s.residual.skip_act = p->mid.skips;
    s.place_groups = p->mid.groups;
    s.joined.text_only = p->mid.text_only;
    s.transformer.text_only = false;
    take_layers(&s, p->down_transformers[last]);
    u->has_mid = true;
    u->reads |= reads_text(&kind);
    return mid_stage_make(cx, b->params, "mid_block", kind.mixing, &s, &u->mid);
}

bool unet_make(heed_ctx *cx, const heed_build *b, const struct unet_plan *p, struct unet *u) {
    const int n = u->stages = p->stages;
    struct maker k = {.plan = p,
                      .down = stage_types(cx, b->config, "down_block_types", n),
                      .up = stage_types(cx, b->config, "up_block_types", n)};
    const int64_t first = p->channels[0], out = config_int(cx, b->config, "out_channels", 1, MAX_SIZE);
    u->act = p->residual.act;
    u->out_act = p->out_act;
    if (heed_failed(cx) || !block_conv(cx, b->params, "conv_in", u->in_channels, first, p->in_kernel, &u->in))
        return false;
    for (int i = 0; i < n; i++)
        if (!down_make(cx, b, &k, i, u)) return false;
    if (!mid_make(cx, b, &k, u)) return false;
    for (int i = 0; i < n; i++)
        if (!up_make(cx, b, &k, i, u)) return false;
    return block_norm(cx, b->params, "conv_norm_out", p->residual.groups, first, p->residual.eps, &u->norm) &&
           block_conv(cx, b->params, "conv_out", first, out, p->out_kernel, &u->out);
}

/* ---- run ---- */

heed_tensor *unet_run(heed_ctx *cx, const struct unet *u, heed_tensor *x, heed_tensor *time, struct condition *given) {
    struct skips skips = {.n = 0};
    if (!x || !time) return NULL;
    given->time = time;
    given->active = heed_activate(cx, time, u->act);
    if (u->centers) x = heed_affine(cx, x, 2, -1);
    x = skips.map[skips.n++] = heed_conv_run(cx, &u->in, x);
    for (int i = 0; i < u->stages; i++) x = down_stage_run(cx, &u->down[i], x, given, &skips);
    if (u->has_mid) x = mid_stage_run(cx, &u->mid, x, given);
    for (int i = 0; i < u->stages; i++) x = up_stage_run(cx, &u->up[i], x, given, &skips);
    heed_scope_begin(cx);
    x = heed_activate(cx, heed_group_norm_run(cx, &u->norm, x), u->out_act);
    return heed_scope_end(cx, heed_conv_run(cx, &u->out, x));
}

bool unet_sample(heed_ctx *cx, const struct unet *u, int64_t batch, heed_io *in) {
    return heed_io_put(cx, in, "sample",
                       heed_zeros(cx, HEED_F32, 4, (int64_t[]){batch, u->in_channels, u->sides[0], u->sides[1]})) &&
           unet_time_sample(cx, &u->time, batch, in);
}
