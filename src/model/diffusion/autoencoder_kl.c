/* The variational autoencoder of latent diffusion (Rombach et al. 2022; Kingma & Welling 2014) with the names and
 * config keys of diffusers' AutoencoderKL.
 *
 *     moments = quant(encoder(x)) = (mean, log variance);   z = mean + exp(log variance / 2) noise
 *     y = decoder(post_quant(z))
 *
 * Encoder and decoder are the two halves of a U-Net whose maps are not kept. Without noise z is the mean. */
#include "model/diffusion/stages.h"
#include "tensor/engine.h"

#define NORM_EPS 1e-6F

struct half {
    heed_conv_layer in, out;
    int stages;
    struct stage stage[MAX_STAGES], mid;
    heed_group_norm_layer norm;
};

struct autoencoder {
    int64_t in_channels, latent_channels, sample_size[2];
    struct half encoder, decoder;
    heed_conv_layer quant, post_quant; /* weight NULL: none */
};

/* ---- build ---- */

struct shape {
    int64_t channels[MAX_STAGES];
    int stages;
    struct stage_plan plan;
    bool attends; /* the mid stages do */
};

static bool shape_read(heed_ctx *cx, heed_json config, struct shape *s, int *count) {
    s->stages = config_ints(cx, config, "block_out_channels", 1, MAX_SIZE, s->channels, MAX_STAGES);
    if (!heed_failed(cx) && s->stages < 1)
        heed_json_fail(cx, heed_json_find(cx, config, "block_out_channels"), "at least one number is needed");
    s->attends = heed_json_bool(cx, config, "mid_block_add_attention");
    s->plan = (struct stage_plan){
        .residual = {.groups = config_int(cx, config, "norm_num_groups", 1, MAX_SIZE),
                     .eps = NORM_EPS,
                     .scale = 1,
                     .act = config_activation(cx, config, "act_fn")},
        .layers = (int)config_int(cx, config, "layers_per_block", 1, MAX_STAGE_LAYERS - 1),
        .place_scale = 1,
        .count = count,
    };
    s->plan.place_groups = s->plan.residual.groups;
    return !heed_failed(cx);
}

static struct stage_plan plan_of(const struct shape *s, int64_t in, int64_t out, int layers, enum resampling r) {
    struct stage_plan p = s->plan;
    p.in = in, p.out = out, p.layers = layers, p.resampling = r;
    p.heads = (struct head_sizes){1, out};
    return p;
}

static bool mid_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct shape *s, struct half *h) {
    const int64_t width = s->channels[s->stages - 1];
    const struct stage_plan p = plan_of(s, width, width, 1, RESAMPLE_NOT);
    return mid_stage_make(cx, set, part_under(cx, prefix, "mid_block").s, s->attends ? MIX_PLACES : MIX_NOTHING, &p,
                          &h->mid);
}

/* The norm and the convolution at the end. */
static bool end_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct shape *s, int64_t width,
                     int64_t out, struct half *h) {
    return block_norm(cx, set, part_under(cx, prefix, "conv_norm_out").s, s->plan.residual.groups, width, NORM_EPS,
                      &h->norm) &&
           block_conv(cx, set, part_under(cx, prefix, "conv_out").s, width, out, 3, &h->out);
}

static bool encoder_make(heed_ctx *cx, const heed_build *b, const struct shape *s, struct autoencoder *m) {
    static const char prefix[] = "encoder";
    struct half *const h = &m->encoder;
    const int n = h->stages = s->stages;
    const heed_json types = stage_types(cx, b->config, "down_block_types", n);
    if (!block_conv(cx, b->params, "encoder.conv_in", m->in_channels, s->channels[0], 3, &h->in)) return false;
    for (int i = 0; i < n; i++) {
        const struct stage_plan p = plan_of(s, s->channels[i ? i - 1 : 0], s->channels[i], s->plan.layers,
                                            i < n - 1 ? RESAMPLE_DOWN : RESAMPLE_NOT);
        const struct stage_kind *const kind = stage_kind_of(cx, heed_json_item(cx, types, i), autoencoder_stages.down);
        if (!kind ||
            !down_stage_make(cx, b->params, part_numbered(cx, prefix, "down_blocks", i).s, kind, &p, &h->stage[i]))
            return false;
    }
    return mid_make(cx, b->params, prefix, s, h) &&
           end_make(cx, b->params, prefix, s, s->channels[n - 1], 2 * m->latent_channels, h);
}

static bool decoder_make(heed_ctx *cx, const heed_build *b, const struct shape *s, struct autoencoder *m) {
    static const char prefix[] = "decoder";
    struct half *const h = &m->decoder;
    const int n = h->stages = s->stages;
    const heed_json types = stage_types(cx, b->config, "up_block_types", n);
    const int64_t out = config_int(cx, b->config, "out_channels", 1, MAX_SIZE);
    if (!block_conv(cx, b->params, "decoder.conv_in", m->latent_channels, s->channels[n - 1], 3, &h->in) ||
        !mid_make(cx, b->params, prefix, s, h))
        return false;
    for (int i = 0; i < n; i++) {
        const struct stage_plan p = plan_of(s, s->channels[i ? n - i : n - 1], s->channels[n - 1 - i],
                                            s->plan.layers + 1, i < n - 1 ? RESAMPLE_UP : RESAMPLE_NOT);
        const struct stage_kind *const kind = stage_kind_of(cx, heed_json_item(cx, types, i), autoencoder_stages.up);
        if (!kind || !up_stage_make(cx, b->params, part_numbered(cx, prefix, "up_blocks", i).s, kind, &p, &h->stage[i]))
            return false;
    }
    return end_make(cx, b->params, prefix, s, s->channels[0], out, h);
}

static bool quant_make(heed_ctx *cx, const heed_build *b, const char *key, const char *name, int64_t width,
                       heed_conv_layer *conv) {
    return !heed_json_bool(cx, b->config, key) || block_conv(cx, b->params, name, width, width, 1, conv);
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    struct autoencoder *const m = own;
    struct shape s = {0};
    int count = 0;
    m->in_channels = config_int(cx, b->config, "in_channels", 1, MAX_SIZE);
    m->latent_channels = config_int(cx, b->config, "latent_channels", 1, MAX_SIZE);
    return shape_read(cx, b->config, &s, &count) && sample_sides(cx, b->config, m->sample_size) &&
           encoder_make(cx, b, &s, m) && decoder_make(cx, b, &s, m) &&
           quant_make(cx, b, "use_quant_conv", "quant_conv", 2 * m->latent_channels, &m->quant) &&
           quant_make(cx, b, "use_post_quant_conv", "post_quant_conv", m->latent_channels, &m->post_quant);
}

/* ---- run ---- */

static heed_tensor *end_run(heed_ctx *cx, const struct half *h, heed_tensor *x) {
    heed_scope_begin(cx);
    x = heed_silu(cx, heed_group_norm_run(cx, &h->norm, x)); /* whatever act_fn says */
    return heed_scope_end(cx, heed_conv_run(cx, &h->out, x));
}

static bool encode(heed_ctx *cx, const struct autoencoder *m, heed_tensor *x, heed_tensor *moments[2]) {
    static const struct condition nothing;
    const struct half *const h = &m->encoder;
    x = heed_conv_run(cx, &h->in, x);
    for (int i = 0; i < h->stages; i++) x = down_stage_run(cx, &h->stage[i], x, &nothing, NULL);
    x = end_run(cx, h, mid_stage_run(cx, &h->mid, x, &nothing));
    if (m->quant.weight) x = heed_conv_run(cx, &m->quant, x);
    if (!x || !heed_split(cx, x, 1, (int64_t[]){m->latent_channels, m->latent_channels}, 2, moments)) return false;
    moments[1] = heed_clamp(cx, moments[1], -30, 20);
    return moments[1] != NULL;
}

static heed_tensor *decode(heed_ctx *cx, const struct autoencoder *m, heed_tensor *z) {
    static const struct condition nothing;
    const struct half *const h = &m->decoder;
    if (m->post_quant.weight) z = heed_conv_run(cx, &m->post_quant, z);
    heed_tensor *x = mid_stage_run(cx, &h->mid, heed_conv_run(cx, &h->in, z), &nothing);
    for (int i = 0; i < h->stages; i++) x = up_stage_run(cx, &h->stage[i], x, &nothing, NULL);
    return end_run(cx, h, x);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct autoencoder *const m = own;
    heed_tensor *const noise = heed_io_get(in, "noise"), *z = heed_io_get(in, "latents"), *moments[2];
    if (z && in->n > 1)
        return heed_fail(cx, HEED_ERR_USAGE, "forward: latents are decoded alone, without sample or noise");
    if (z) {
        z = map_input(cx, in, "latents", m->latent_channels);
        return z && heed_io_put(cx, out, "sample", decode(cx, m, z));
    }
    heed_tensor *const x = map_input(cx, in, "sample", m->in_channels);
    if (!x || !encode(cx, m, x, moments)) return false;
    if (!heed_io_put(cx, out, "latent_dist.mean", moments[0]) ||
        !heed_io_put(cx, out, "latent_dist.logvar", moments[1]) || in->latents_only)
        return !heed_failed(cx);
    z = moments[0];
    if (noise) {
        if (!map_input(cx, in, "noise", m->latent_channels)) return false;
        z = heed_add(cx, z, heed_mul(cx, heed_exp(cx, heed_affine(cx, moments[1], 0.5F, 0)), noise));
    }
    return heed_io_put(cx, out, "sample", decode(cx, m, z));
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct autoencoder *const m = own;
    (void)length;
    return heed_io_put(
        cx, in, "sample",
        heed_zeros(cx, HEED_F32, 4, (int64_t[]){batch, m->in_channels, m->sample_size[0], m->sample_size[1]}));
}

/* ---- the family ---- */

static const heed_key keys[] = {
    {"in_channels", HEED_KEY_INT, "3", "of pictures"},
    {"out_channels", HEED_KEY_INT, "3", "of decoded pictures"},
    {"down_block_types", HEED_KEY_TEXTS, "DownEncoderBlock2D",
     "stages of the encoder, one for each of block_out_channels: DownEncoderBlock2D or AttnDownEncoderBlock2D; all but "
     "the last halve the map"},
    {"up_block_types", HEED_KEY_TEXTS, "UpDecoderBlock2D",
     "stages of the decoder: UpDecoderBlock2D or AttnUpDecoderBlock2D"},
    {"block_out_channels", HEED_KEY_INTS, "64", "channels of each stage"},
    {"layers_per_block", HEED_KEY_INT, "1", "residual blocks of a stage; the decoder has one more"},
    {"act_fn", HEED_KEY_TEXT, "silu", "activation of the residual blocks"},
    {"latent_channels", HEED_KEY_INT, "4", "of the latent maps"},
    {"norm_num_groups", HEED_KEY_INT, "32", "groups of the group norms, which divide all channels"},
    {"sample_size", HEED_KEY_INT_OR_LIST, "32", "of pictures that are prepared for it; others are taken too"},
    {"scaling_factor", HEED_KEY_NUMBER, "0.18215",
     "what latents are multiplied by before diffusion, so that their variance is 1"},
    {"shift_factor", HEED_KEY_NUMBER_OR_NULL, "null", "what is taken off them before that"},
    {"latents_mean", HEED_KEY_NUMBERS_OR_NULL, "null", "the mean of each latent channel, for diffusion"},
    {"latents_std", HEED_KEY_NUMBERS_OR_NULL, "null", "its deviation"},
    {"force_upcast", HEED_KEY_BOOL, "true", "kept for diffusers: run it in 32 bits where all else has 16"},
    {"use_quant_conv", HEED_KEY_BOOL, "true", "a product of channels behind the encoder"},
    {"use_post_quant_conv", HEED_KEY_BOOL, "true", "and one before the decoder"},
    {"mid_block_add_attention", HEED_KEY_BOOL, "true", "the smallest maps of both have attention"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"AutoencoderKL", "", "sample noise latents", .bare = true, .build = build, .forward = forward, .sample = sample},
    {.architecture = NULL},
};

const heed_family family_autoencoder_kl = {
    .name = "autoencoder-kl",
    .type = "autoencoder-kl",
    .paper = "Rombach et al. 2022",
    .summary = "the variational autoencoder of latent diffusion, as in diffusers",
    .notes =
        "Parameters have the names of diffusers' files: encoder.down_blocks.N.resnets.N.conv1.weight, "
        "encoder.mid_block.attentions.0.to_q.weight, quant_conv.weight, decoder.up_blocks.N.upsamplers.0.conv.weight; "
        "attention may have the names of older files (query, key, value, proj_attn). Given sample, it decodes the "
        "mean, or with noise of the latents' shape a drawn z; given latents alone, it decodes these.",
    .keys = keys,
    .heads = heads,
    .renamed = attention_renamed,
    .size = sizeof(struct autoencoder),
    .diffusers = true,
};
