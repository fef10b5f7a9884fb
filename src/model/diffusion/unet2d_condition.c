/* The U-Net of diffusion from text with the names and config keys of diffusers' UNet2DConditionModel: that of Stable
 * Diffusion (Rombach et al. 2022), whose places attend to the text in blocks of the Transformer, and that of DeepFloyd
 * IF, the open Imagen (Saharia et al. 2022), whose places attend to the text and to each other at once. */
#include "model/diffusion/unet.h"
#include "model/diffusion/unet_text.h"
#include "tensor/engine.h"

struct text_unet {
    struct unet body;
    struct unet_text text;
    heed_activation time_act; /* of the whole embedding of a step */
    int64_t condition;        /* width of timestep_cond; 0: none */
};

/* ---- config ---- */

/* Options of diffusers that heed does not have. */
static bool check_options(heed_ctx *cx, heed_json config) {
    static const char *const attention[] = {"default", NULL}, *const times[] = {"positional", NULL};
    if (heed_json_bool(cx, config, "dual_cross_attention"))
        return heed_json_fail(cx, heed_json_find(cx, config, "dual_cross_attention"),
                              "attention to two texts is not supported");
    if (heed_json_kind_of(heed_json_find(cx, config, "num_attention_heads")) != HEED_JSON_NULL)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"),
                              "must be null, as in diffusers: attention_head_dim is the number of heads");
    return config_choice(cx, config, "attention_type", attention) == 0 &&
           config_choice(cx, config, "time_embedding_type", times) == 0;
}

static heed_activation activation_or_none(heed_ctx *cx, heed_json config, const char *key) {
    return heed_json_kind_of(heed_json_find(cx, config, key)) == HEED_JSON_NULL ? HEED_ACT_NONE
                                                                                : config_activation(cx, config, key);
}

/* The layers of the Transformers of a stage: a number for all of them, or a list of one for each. */
static bool layers_read(heed_ctx *cx, heed_json at, int64_t n, int64_t *out) {
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY;
    if (list && heed_json_count(at) < n)
        return heed_json_fail(cx, at, "%lld numbers for %lld Transformers", (long long)heed_json_count(at),
                              (long long)n);
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
        const heed_json one = list ? heed_json_item(cx, at, i) : at;
        out[i] = heed_json_int(cx, one, NULL);
        if (!heed_failed(cx) && (out[i] < 0 || out[i] > MAX_LAYERS))
            heed_json_fail(cx, one, "%lld is not between 0 and %d", (long long)out[i], MAX_LAYERS);
    }
    return !heed_failed(cx);
}

static bool transformers_read(heed_ctx *cx, heed_json config, struct unet_plan *p) {
    const heed_json down = heed_json_find(cx, config, "transformer_layers_per_block"),
                    up = heed_json_find(cx, config, "reverse_transformer_layers_per_block");
    const bool lists = heed_json_kind_of(down) == HEED_JSON_ARRAY, own = heed_json_kind_of(up) == HEED_JSON_ARRAY;
    const int n = p->stages;
    if ((lists && heed_json_count(down) != n) || (own && heed_json_count(up) != n))
        return heed_json_fail(cx, lists ? down : up, "a number is needed, or %d, one for each of block_out_channels",
                              n);
    for (int i = 0; i < n; i++) {
        const heed_json level = lists ? heed_json_item(cx, down, n - 1 - i) : down;
        if (!own && heed_json_kind_of(level) == HEED_JSON_ARRAY)
            return heed_json_fail(cx, level, "lists need reverse_transformer_layers_per_block, for the way up");
        if (!layers_read(cx, lists ? heed_json_item(cx, down, i) : down, p->layers[i], p->down_transformers[i]) ||
            !layers_read(cx, own ? heed_json_item(cx, up, i) : level, p->layers[n - 1 - i] + 1, p->up_transformers[i]))
            return false;
    }
    return true;
}

static bool only_text_read(heed_ctx *cx, heed_json config, struct unet_plan *p) {
    const heed_json at = heed_json_find(cx, config, "only_cross_attention"),
                    mid = heed_json_find(cx, config, "mid_block_only_cross_attention");
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY;
    if (list && heed_json_count(at) != p->stages)
        return heed_json_fail(cx, at, "%lld values for %d numbers of block_out_channels",
                              (long long)heed_json_count(at), p->stages);
    for (int i = 0; i < p->stages; i++)
        p->text_only[i] = heed_json_bool(cx, list ? heed_json_item(cx, at, i) : at, NULL);
    p->mid.text_only =
        heed_json_kind_of(mid) != HEED_JSON_NULL ? heed_json_bool(cx, mid, NULL) : !list && p->text_only[0];
    return !heed_failed(cx);
}

static bool mid_read(heed_ctx *cx, heed_json config, struct unet_plan *p) {
    static const char *const types[] = {"UNetMidBlock2DCrossAttn", "UNetMidBlock2DSimpleCrossAttn", "UNetMidBlock2D",
                                        NULL};
    static const enum mixing mixing[] = {MIX_TRANSFORMER, MIX_JOINED, MIX_NOTHING};
    p->mid.none = heed_json_kind_of(heed_json_find(cx, config, "mid_block_type")) == HEED_JSON_NULL;
    if (p->mid.none) return !heed_failed(cx);
    const int type = config_choice(cx, config, "mid_block_type", types);
    if (type < 0) return false;
    p->mid.mixing = mixing[type];
    p->mid.attentions = p->mid.mixing != MIX_NOTHING;
    p->mid.skips = p->mid.mixing == MIX_JOINED && p->block_skips;
    return true;
}

static bool plan_read(heed_ctx *cx, heed_json config, struct unet *u, struct unet_plan *p) {
    static const char *const norms[] = {"layer_norm", "group_norm", NULL};
    static const char norm[] = "cross_attention_norm";
    if (!check_options(cx, config) || !unet_plan_read(cx, config, &text_unet_stages, p, u)) return false;
    const int n = p->stages;
    p->block_scale = (float)config_number(cx, config, "resnet_out_scale_factor", 1e-6, 1e6);
    p->block_skips = heed_json_bool(cx, config, "resnet_skip_time_act");
    p->transformer_linear = heed_json_bool(cx, config, "use_linear_projection");
    p->in_kernel = config_int(cx, config, "conv_in_kernel", 1, 99);
    p->out_kernel = config_int(cx, config, "conv_out_kernel", 1, 99);
    p->out_act = p->residual.act;
    if (heed_json_kind_of(heed_json_find(cx, config, norm)) != HEED_JSON_NULL) {
        const int which = config_choice(cx, config, norm, norms);
        p->text_norm = which < 0 ? NULL : norms[which];
    }
    return unet_each(cx, config, "attention_head_dim", 1, MAX_SIZE, n, p->heads) &&
           unet_each(cx, config, "cross_attention_dim", 1, MAX_SIZE, n, p->text) && transformers_read(cx, config, p) &&
           only_text_read(cx, config, p) && mid_read(cx, config, p);
}

/* ---- build ---- */

static bool time_make(heed_ctx *cx, const heed_build *b, const struct unet_plan *p, struct text_unet *m) {
    struct unet_time *const t = &m->body.time;
    const int64_t channels = p->channels[0];
    t->width = config_int_or(cx, b->config, "time_embedding_dim", 1, MAX_SIZE, 4 * channels);
    t->concatenates = heed_json_bool(cx, b->config, "class_embeddings_concat");
    m->condition = config_int_or(cx, b->config, "time_cond_proj_dim", 1, MAX_SIZE, 0);
    m->time_act = activation_or_none(cx, b->config, "time_embedding_act_fn");
    if (heed_failed(cx) || !step_waves_read(cx, b->config, channels, &t->waves) ||
        !step_embedding_make(cx, b->params, "time_embedding", channels, t->width, m->condition, &t->embedding))
        return false;
    t->embedding.act = p->residual.act;
    t->embedding.post = activation_or_none(cx, b->config, "timestep_post_act");
    return unet_class_make(cx, b, true, p->residual.act, t);
}

static bool one_text(heed_ctx *cx, const heed_build *b, const struct unet_plan *p, const struct text_unet *m) {
    if (!m->text.projection.weight && m->text.addition != ADD_TEXT) {
        for (int i = 1; i < p->stages; i++)
            if (p->text[i] != p->text[0])
                return heed_json_fail(cx, heed_json_find(cx, b->config, "cross_attention_dim"),
                                      "a text of %lld channels cannot be one of %lld", (long long)p->text[0],
                                      (long long)p->text[i]);
        return true;
    }
    const heed_json at = heed_json_find(cx, b->config, "cross_attention_dim");
    return heed_json_kind_of(at) != HEED_JSON_ARRAY ||
           heed_json_fail(cx, at, "a number is needed with encoder_hid_dim or addition_embed_type text");
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    struct text_unet *const m = own;
    struct unet_plan *const plan = heed_mem_new(cx, sizeof *plan);
    bool made = plan && plan_read(cx, b->config, &m->body, plan) && time_make(cx, b, plan, m) &&
                unet_text_make(cx, b, plan->text[0], m->body.time.width, &m->text) && one_text(cx, b, plan, m);
    if (made) {
        const struct unet_time *const t = &m->body.time;
        plan->residual.time = t->concatenates ? 2 * t->width : t->width;
        made = unet_make(cx, b, plan, &m->body);
    }
    heed_mem_free(cx, plan);
    return made;
}

/* ---- run ---- */

static heed_tensor *time_run(heed_ctx *cx, const struct text_unet *m, const heed_io *in, int64_t batch) {
    heed_tensor *const more = heed_io_get(in, "timestep_cond"), *added;
    if (more && !m->condition)
        return heed_fail(cx, HEED_ERR_USAGE, "forward: timestep_cond: the model has no time_cond_proj_dim"), NULL;
    heed_tensor *time = unet_time_run(cx, &m->body.time, in, batch, more);
    if (!unet_text_added(cx, &m->text, in, batch, &added)) return NULL;
    if (added) time = heed_add(cx, time, added);
    return heed_activate(cx, time, m->time_act);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct text_unet *const m = own;
    struct condition given = {0};
    heed_tensor *const x = map_input(cx, in, "sample", m->body.in_channels);
    heed_tensor *const time = x ? time_run(cx, m, in, x->shape[0]) : NULL;
    if (!time || !unet_text_run(cx, &m->text, in, x->shape[0], m->body.reads, &given)) return false;
    heed_tensor *const y = unet_run(cx, &m->body, x, time, &given);
    return y && heed_io_put(cx, out, "sample", y);
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct text_unet *const m = own;
    return unet_sample(cx, &m->body, batch, in) && unet_text_sample(cx, &m->text, batch, length, in);
}

/* ---- the family ---- */

static const heed_key keys[] = {
    {"sample_size", HEED_KEY_INT_OR_LIST, "null", "of maps that are prepared for it; others are taken too"},
    {"in_channels", HEED_KEY_INT, "4", "of what is given"},
    {"out_channels", HEED_KEY_INT, "4", "of what comes out"},
    {"center_input_sample", HEED_KEY_BOOL, "false", "what is given goes from 0 to 1 and is made to go from -1 to 1"},
    {"flip_sin_to_cos", HEED_KEY_BOOL, "true", "cosines stand before sines in the waves of a step"},
    {"freq_shift", HEED_KEY_NUMBER, "0", "the waves' lengths reach 10000^(1 - freq_shift / half the width)"},
    {"down_block_types", HEED_KEY_TEXTS, "CrossAttnDownBlock2D,CrossAttnDownBlock2D,CrossAttnDownBlock2D,DownBlock2D",
     "stages on the way down, one for each of block_out_channels: DownBlock2D, AttnDownBlock2D, "
     "ResnetDownsampleBlock2D, CrossAttnDownBlock2D or SimpleCrossAttnDownBlock2D; all but the last halve the map"},
    {"mid_block_type", HEED_KEY_TEXT_OR_NULL, "UNetMidBlock2DCrossAttn",
     "UNetMidBlock2DCrossAttn, UNetMidBlock2DSimpleCrossAttn, UNetMidBlock2D (no attention), or null: none"},
    {"up_block_types", HEED_KEY_TEXTS, "UpBlock2D,CrossAttnUpBlock2D,CrossAttnUpBlock2D,CrossAttnUpBlock2D",
     "stages on the way up: UpBlock2D, AttnUpBlock2D, ResnetUpsampleBlock2D, CrossAttnUpBlock2D or "
     "SimpleCrossAttnUpBlock2D"},
    {"only_cross_attention", HEED_KEY_BOOL_OR_LIST, "false",
     "places attend to the text alone, not to each other; one value, or one for each stage"},
    {"block_out_channels", HEED_KEY_INTS, "320,640,1280,1280", "channels of each stage"},
    {"layers_per_block", HEED_KEY_INT_OR_LIST, "2",
     "residual blocks of a stage, or of each; on the way up there is one more"},
    {"downsample_padding", HEED_KEY_INT, "1", "of convolutions that halve maps; 0: a row and a column behind"},
    {"mid_block_scale_factor", HEED_KEY_NUMBER, "1", "what the sums in the middle are divided by"},
    {"dropout", HEED_KEY_NUMBER, "0", "in the residual blocks"},
    {"act_fn", HEED_KEY_TEXT, "silu", "activation of the residual blocks and of the step's embedding"},
    {"norm_num_groups", HEED_KEY_INT, "32", "groups of the group norms, which divide all channels"},
    {"norm_eps", HEED_KEY_NUMBER, "1e-05", "added to variances"},
    {"cross_attention_dim", HEED_KEY_INT_OR_LIST, "1280", "width of the text that the stages read"},
    {"transformer_layers_per_block", HEED_KEY_INT_OR_LISTS, "1",
     "blocks of each Transformer of a stage; one number, one for each stage, or lists of one for each Transformer"},
    {"reverse_transformer_layers_per_block", HEED_KEY_INT_OR_LISTS, "null",
     "the same of the way up; null: those of the way down"},
    {"encoder_hid_dim", HEED_KEY_INT_OR_NULL, "null",
     "width of the text that is given, where a product makes cross_attention_dim of it; null: it has that"},
    {"encoder_hid_dim_type", HEED_KEY_TEXT_OR_NULL, "null", "text_proj, or null: by encoder_hid_dim"},
    {"attention_head_dim", HEED_KEY_INT_OR_LIST, "8",
     "of blocks of the Transformer the number of heads, of other attention the width of a head"},
    {"num_attention_heads", HEED_KEY_INT_OR_NULL, "null", "must be null, as in diffusers"},
    {"dual_cross_attention", HEED_KEY_BOOL, "false", "must be false: attention to two texts is not supported"},
    {"use_linear_projection", HEED_KEY_BOOL, "false",
     "what goes into and comes out of a Transformer is a product, not a convolution of 1 x 1"},
    {"class_embed_type", HEED_KEY_TEXT_OR_NULL, "null",
     "what class_labels are: timestep, a number such as a level of noise; identity, projection or simple_projection, a "
     "vector; null: as num_class_embeds says"},
    {"addition_embed_type", HEED_KEY_TEXT_OR_NULL, "null",
     "what is added to the step's embedding: text, the text pooled by attention; text_time, "
     "added_cond_kwargs.text_embeds and time_ids; null: nothing"},
    {"addition_time_embed_dim", HEED_KEY_INT_OR_NULL, "null", "waves of each of the time_ids"},
    {"num_class_embeds", HEED_KEY_INT_OR_NULL, "null", "number of classes, each with a vector; null: there are none"},
    {"upcast_attention", HEED_KEY_BOOL, "false", "kept for diffusers; attention is computed in 32 bits in any case"},
    {"resnet_time_scale_shift", HEED_KEY_TEXT, "default",
     "how a step reaches a residual block: default, added to it, or scale_shift, as scale and shift behind its norm"},
    {"resnet_skip_time_act", HEED_KEY_BOOL, "false",
     "in stages whose size residual blocks change, a step reaches them without the activation"},
    {"resnet_out_scale_factor", HEED_KEY_NUMBER, "1", "what the sums of the blocks of such stages are divided by"},
    {"time_embedding_type", HEED_KEY_TEXT, "positional", "positional: waves of many lengths"},
    {"time_embedding_dim", HEED_KEY_INT_OR_NULL, "null",
     "width of a step's embedding; null: four times the first of block_out_channels"},
    {"time_embedding_act_fn", HEED_KEY_TEXT_OR_NULL, "null", "activation of the whole embedding; null: none"},
    {"timestep_post_act", HEED_KEY_TEXT_OR_NULL, "null", "activation behind that of the step alone; null: none"},
    {"time_cond_proj_dim", HEED_KEY_INT_OR_NULL, "null", "width of timestep_cond, which is added to the waves"},
    {"conv_in_kernel", HEED_KEY_INT, "3", "side of the first convolution's kernel"},
    {"conv_out_kernel", HEED_KEY_INT, "3", "and of the last one's"},
    {"projection_class_embeddings_input_dim", HEED_KEY_INT_OR_NULL, "null",
     "width of the vectors of class_labels, or of text_embeds with the waves of time_ids"},
    {"attention_type", HEED_KEY_TEXT, "default", "default"},
    {"class_embeddings_concat", HEED_KEY_BOOL, "false", "the class stands beside the step and is not added to it"},
    {"mid_block_only_cross_attention", HEED_KEY_BOOL_OR_NULL, "null",
     "only_cross_attention of UNetMidBlock2DSimpleCrossAttn; null: that, if it is one value"},
    {"cross_attention_norm", HEED_KEY_TEXT_OR_NULL, "null",
     "of the text, in SimpleCrossAttn stages: layer_norm, group_norm (32 groups), or null"},
    {"addition_embed_type_num_heads", HEED_KEY_INT, "64", "heads of the attention that pools the text"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"UNet2DConditionModel", "",
     "sample timestep encoder_hidden_states encoder_attention_mask class_labels timestep_cond "
     "added_cond_kwargs.text_embeds added_cond_kwargs.time_ids",
     .bare = true, .build = build, .forward = forward, .sample = sample},
    {.architecture = NULL},
};

const heed_family family_unet2d_condition = {
    .name = "unet2d-condition",
    .type = "unet2d-condition",
    .paper = "Rombach et al. 2022",
    .summary = "the U-Net of diffusion models that read a text, as in diffusers: Stable Diffusion's, DeepFloyd IF's",
    .notes =
        "Parameters have the names of diffusers' files: "
        "down_blocks.N.attentions.N.transformer_blocks.N.attn2.to_k.weight, add_embedding.pool.q_proj.weight. "
        "encoder_attention_mask is 0 for tokens of the text that are not seen. attentions.N are what places take of "
        "places, cross_attentions.N what they take of the text and, in SimpleCrossAttn stages, of places behind it, "
        "text_attentions.0 how the text is pooled.",
    .keys = keys,
    .heads = heads,
    .renamed = attention_renamed,
    .size = sizeof(struct text_unet),
    .diffusers = true,
};
