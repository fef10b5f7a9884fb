/* The U-Net of diffusion without text (Ho et al. 2020) with the names and config keys of diffusers' UNet2DModel. */
#include "model/diffusion/unet.h"
#include "tensor/engine.h"
#include <string.h>

static bool time_make(heed_ctx *cx, const heed_build *b, int64_t channels, struct unet_time *t) {
    static const char *const types[] = {"positional", "learned", NULL};
    const bool learned = config_choice(cx, b->config, "time_embedding_type", types) == 1;
    t->width = config_int_or(cx, b->config, "time_embedding_dim", 1, MAX_SIZE, 4 * channels);
    if (heed_failed(cx)) return false;
    t->waves.width = channels;
    if (!learned && !step_waves_read(cx, b->config, channels, &t->waves)) return false;
    if (learned &&
        !heed_embedding_make(cx, b->params, "time_proj", config_int(cx, b->config, "num_train_timesteps", 1, MAX_SIZE),
                             channels, &t->steps))
        return false;
    return step_embedding_make(cx, b->params, "time_embedding", channels, t->width, 0, &t->embedding) &&
           unet_class_make(cx, b, false, HEED_ACT_SILU, t);
}

/* downsample_type or upsample_type: is it a residual block? */
static bool by_block(heed_ctx *cx, heed_json config, const char *key) {
    static const char *const types[] = {"conv", "resnet", NULL};
    return config_choice(cx, config, key, types) == 1;
}

static bool plan_read(heed_ctx *cx, heed_json config, struct unet *u, struct unet_plan *p) {
    static const char *const mids[] = {"UNetMidBlock2D", NULL};
    if (!unet_plan_read(cx, config, &unet_stages, p, u)) return false;
    const int64_t groups = p->residual.groups, head = config_int_or(cx, config, "attention_head_dim", 1, MAX_SIZE, 0);
    for (int i = 0; i < p->stages; i++) p->heads[i] = head;
    p->block_down = by_block(cx, config, "downsample_type");
    p->block_up = by_block(cx, config, "upsample_type");
    p->out_act = HEED_ACT_SILU; /* whatever act_fn says */
    p->mid.none = heed_json_kind_of(heed_json_find(cx, config, "mid_block_type")) == HEED_JSON_NULL;
    if (!p->mid.none) config_choice(cx, config, "mid_block_type", mids);
    p->mid.mixing = heed_json_bool(cx, config, "add_attention") ? MIX_PLACES : MIX_NOTHING;
    p->mid.attentions = 1;
    p->mid.groups =
        config_int_or(cx, config, "attn_norm_num_groups", 1, MAX_SIZE, p->residual.scale_shift ? 0 : groups);
    return !heed_failed(cx);
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    struct unet *const u = own;
    struct unet_plan *const plan = heed_mem_new(cx, sizeof *plan);
    bool made = plan && plan_read(cx, b->config, u, plan) && time_make(cx, b, plan->channels[0], &u->time);
    if (made) {
        plan->residual.time = u->time.width;
        made = unet_make(cx, b, plan, u);
    }
    heed_mem_free(cx, plan);
    return made;
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct unet *const u = own;
    struct condition given = {0};
    heed_tensor *const x = map_input(cx, in, "sample", u->in_channels);
    heed_tensor *const time = x ? unet_time_run(cx, &u->time, in, x->shape[0], NULL) : NULL;
    heed_tensor *const y = unet_run(cx, u, x, time, &given);
    return y && heed_io_put(cx, out, "sample", y);
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return unet_sample(cx, own, batch, in);
}

static const heed_key keys[] = {
    {"sample_size", HEED_KEY_INT_OR_LIST, "null", "of pictures that are prepared for it; others are taken too"},
    {"in_channels", HEED_KEY_INT, "3", "of what is given"},
    {"out_channels", HEED_KEY_INT, "3", "of what comes out"},
    {"center_input_sample", HEED_KEY_BOOL, "false", "what is given goes from 0 to 1 and is made to go from -1 to 1"},
    {"time_embedding_type", HEED_KEY_TEXT, "positional", "positional, waves of many lengths, or learned, a table"},
    {"time_embedding_dim", HEED_KEY_INT_OR_NULL, "null",
     "width of a step's embedding; null: four times the first of block_out_channels"},
    {"freq_shift", HEED_KEY_NUMBER, "0", "the waves' lengths reach 10000^(1 - freq_shift / half the width)"},
    {"flip_sin_to_cos", HEED_KEY_BOOL, "true", "cosines stand before sines"},
    {"down_block_types", HEED_KEY_TEXTS, "DownBlock2D,AttnDownBlock2D,AttnDownBlock2D,AttnDownBlock2D",
     "stages on the way down, one for each of block_out_channels: DownBlock2D, AttnDownBlock2D or "
     "ResnetDownsampleBlock2D; all but the last halve the map"},
    {"mid_block_type", HEED_KEY_TEXT_OR_NULL, "UNetMidBlock2D", "UNetMidBlock2D, or null: none"},
    {"up_block_types", HEED_KEY_TEXTS, "AttnUpBlock2D,AttnUpBlock2D,AttnUpBlock2D,UpBlock2D",
     "stages on the way up: UpBlock2D, AttnUpBlock2D or ResnetUpsampleBlock2D"},
    {"block_out_channels", HEED_KEY_INTS, "224,448,672,896", "channels of each stage"},
    {"layers_per_block", HEED_KEY_INT, "2", "residual blocks of a stage; on the way up there is one more"},
    {"mid_block_scale_factor", HEED_KEY_NUMBER, "1", "what the sums in the middle are divided by"},
    {"downsample_padding", HEED_KEY_INT, "1", "of convolutions that halve maps; 0: a row and a column behind"},
    {"downsample_type", HEED_KEY_TEXT, "conv", "what halves maps in stages with attention: conv or resnet"},
    {"upsample_type", HEED_KEY_TEXT, "conv", "what doubles them: conv or resnet"},
    {"dropout", HEED_KEY_NUMBER, "0", "in the residual blocks"},
    {"act_fn", HEED_KEY_TEXT, "silu", "activation of the residual blocks"},
    {"attention_head_dim", HEED_KEY_INT_OR_NULL, "8", "width of an attention head; null: one head"},
    {"norm_num_groups", HEED_KEY_INT, "32", "groups of the group norms, which divide all channels"},
    {"attn_norm_num_groups", HEED_KEY_INT_OR_NULL, "null",
     "of the norm before attention in the middle; null: norm_num_groups, or no norm with scale_shift"},
    {"norm_eps", HEED_KEY_NUMBER, "1e-05", "added to variances"},
    {"resnet_time_scale_shift", HEED_KEY_TEXT, "default",
     "how a step reaches a residual block: default, added to it, or scale_shift, as scale and shift behind its norm"},
    {"add_attention", HEED_KEY_BOOL, "true", "there is attention in the middle"},
    {"class_embed_type", HEED_KEY_TEXT_OR_NULL, "null",
     "what class_labels are: timestep, a number such as a step; identity, a vector; null: as num_class_embeds says"},
    {"num_class_embeds", HEED_KEY_INT_OR_NULL, "null", "number of classes, each with a vector; null: there are none"},
    {"num_train_timesteps", HEED_KEY_INT_OR_NULL, "null", "steps of a learned table"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"UNet2DModel", "diffusion", "sample timestep class_labels", .bare = true, .build = build, .forward = forward,
     .sample = sample},
    {.architecture = NULL},
};

const heed_family family_unet2d = {
    .name = "unet2d",
    .type = "unet2d",
    .paper = "Ho et al. 2020",
    .summary = "the U-Net of diffusion models without text, as in diffusers",
    .notes = "Parameters have the names of diffusers' files: time_embedding.linear_1.weight, "
             "down_blocks.N.resnets.N.conv1.weight, mid_block.attentions.0.to_q.weight, "
             "up_blocks.N.upsamplers.0.conv.weight; "
             "attention may have the names of older files. timestep is one number or one for each example.",
    .keys = keys,
    .heads = heads,
    .renamed = attention_renamed,
    .size = sizeof(struct unet),
    .diffusers = true,
};
