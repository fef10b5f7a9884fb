/* Stages of residual blocks and attention. stages.h says what they compute. */
#include "model/diffusion/stages.h"
#include "io/text.h"
#include "tensor/engine.h"
#include <stdio.h>
#include <string.h>

/* ---- kinds ---- */

#define NO_MORE                                                                                                        \
    { .name = NULL }
static const struct stage_kind encoder_down[] = {
    {"DownEncoderBlock2D", MIX_NOTHING, false}, {"AttnDownEncoderBlock2D", MIX_PLACES, false}, NO_MORE};
static const struct stage_kind decoder_up[] = {
    {"UpDecoderBlock2D", MIX_NOTHING, false}, {"AttnUpDecoderBlock2D", MIX_PLACES, false}, NO_MORE};
const struct stage_kinds autoencoder_stages = {encoder_down, decoder_up};

#define PLAIN_DOWN                                                                                                     \
    {"DownBlock2D", MIX_NOTHING, false}, {"AttnDownBlock2D", MIX_PLACES, false}, {                                     \
        "ResnetDownsampleBlock2D", MIX_NOTHING, true                                                                   \
    }
#define PLAIN_UP                                                                                                       \
    {"UpBlock2D", MIX_NOTHING, false}, {"AttnUpBlock2D", MIX_PLACES, false}, {                                         \
        "ResnetUpsampleBlock2D", MIX_NOTHING, true                                                                     \
    }
static const struct stage_kind unet_down[] = {PLAIN_DOWN, NO_MORE}, unet_up[] = {PLAIN_UP, NO_MORE};
const struct stage_kinds unet_stages = {unet_down, unet_up};

static const struct stage_kind text_down[] = {PLAIN_DOWN,
                                              {"CrossAttnDownBlock2D", MIX_TRANSFORMER, false},
                                              {"SimpleCrossAttnDownBlock2D", MIX_JOINED, true},
                                              NO_MORE},
                               text_up[] = {PLAIN_UP,
                                            {"CrossAttnUpBlock2D", MIX_TRANSFORMER, false},
                                            {"SimpleCrossAttnUpBlock2D", MIX_JOINED, true},
                                            NO_MORE};
const struct stage_kinds text_unet_stages = {text_down, text_up};

const struct stage_kind *stage_kind_of(heed_ctx *cx, heed_json name, const struct stage_kind *kinds) {
    const char *text = heed_json_text(cx, name, NULL);
    char known[256] = "";
    size_t used = 0;
    if (!text) return NULL;
    if (strncmp(text, "UNetRes", 7) == 0) text += 7;
    for (const struct stage_kind *k = kinds; k->name; k++) {
        if (strcmp(text, k->name) == 0) return k;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", k->name);
    }
    heed_json_fail(cx, name, "blocks of type '%s' are not among those that heed has here: %s", escaped(text).s, known);
    return NULL;
}

heed_json stage_types(heed_ctx *cx, heed_json config, const char *key, int stages) {
    const heed_json list = heed_json_array(cx, config, key);
    if (!heed_failed(cx) && heed_json_count(list) != stages)
        heed_json_fail(cx, list, "%lld types for %d numbers of block_out_channels", (long long)heed_json_count(list),
                       stages);
    return list;
}

/* ---- parameters ---- */

static bool mixer_make(heed_ctx *cx, heed_params *set, const char *prefix, enum mixing mixing,
                       const struct stage_plan *p, int place, struct mixer *m) {
    m->mixing = mixing;
    if (mixing == MIX_NOTHING) return true;
    if (p->heads.heads < 1 || p->heads.size < 1)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: attention_head_dim leaves no head of %lld channels", prefix,
                         (long long)p->out);
    if (mixing == MIX_TRANSFORMER)
        return transformer_map_make(cx, set, prefix, p->out, p->heads, (int)p->transformer_layers[place],
                                    &p->transformer, p->count, &m->transformer);
    const int layer = (*p->count)++;
    if (mixing == MIX_JOINED) {
        m->joined.layer = layer;
        return joined_attention_make(cx, set, prefix, p->out, p->heads, &p->joined, &m->joined);
    }
    if (!place_attention_make(cx, set, prefix, p->out, p->heads, p->place_groups, p->residual.eps, &m->places))
        return false;
    m->places.layer = layer;
    m->places.scale = p->place_scale;
    return true;
}

static bool alloc(heed_ctx *cx, heed_params *set, int blocks, struct stage *s) {
    s->block = heed_params_alloc(cx, set, (size_t)blocks, sizeof *s->block);
    s->mixer = heed_params_alloc(cx, set, (size_t)blocks, sizeof *s->mixer);
    return s->block && s->mixer;
}

/* Channels that go into block i: on the way up with those of the map that was kept. */
static int64_t channels_into(const struct stage_plan *p, int i, int layers) {
    const int64_t own = i == 0 ? p->in : p->out;
    if (!p->skip) return own;
    return own + (i == layers - 1 ? p->skip : p->out);
}

static bool layers_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct stage_kind *kind,
                        const struct stage_plan *p, struct stage *s) {
    *s = (struct stage){.layers = p->layers, .resampling = p->resampling};
    if (!alloc(cx, set, p->layers, s)) return false;
    for (int i = 0; i < p->layers; i++)
        if (!residual_make(cx, set, part_numbered(cx, prefix, "resnets", i).s, &p->residual,
                           channels_into(p, i, p->layers), p->out, RESAMPLE_NOT, &s->block[i]) ||
            !mixer_make(cx, set, part_numbered(cx, prefix, "attentions", i).s, kind->mixing, p, i, &s->mixer[i]))
            return false;
    return true;
}

bool down_stage_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct stage_kind *kind,
                     const struct stage_plan *p, struct stage *s) {
    const struct part_name sampler = part_under(cx, prefix, "downsamplers.0");
    if (!layers_make(cx, set, prefix, kind, p, s)) return false;
    if (p->resampling == RESAMPLE_NOT) return true;
    return p->residual_sampler
               ? residual_make(cx, set, sampler.s, &p->residual, p->out, p->out, RESAMPLE_DOWN, &s->sampler)
               : downsample_make(cx, set, sampler.s, p->out, p->padding, &s->convolution);
}

bool up_stage_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct stage_kind *kind,
                   const struct stage_plan *p, struct stage *s) {
    const struct part_name sampler = part_under(cx, prefix, "upsamplers.0");
    if (!layers_make(cx, set, prefix, kind, p, s)) return false;
    if (p->resampling == RESAMPLE_NOT) return true;
    return p->residual_sampler
               ? residual_make(cx, set, sampler.s, &p->residual, p->out, p->out, RESAMPLE_UP, &s->sampler)
               : upsample_make(cx, set, sampler.s, p->out, &s->convolution);
}

bool mid_stage_make(heed_ctx *cx, heed_params *set, const char *prefix, enum mixing mixing, const struct stage_plan *p,
                    struct stage *s) {
    *s = (struct stage){.layers = p->layers};
    if (!alloc(cx, set, p->layers + 1, s)) return false;
    for (int i = 0; i <= p->layers; i++)
        if ((i > 0 && !mixer_make(cx, set, part_numbered(cx, prefix, "attentions", i - 1).s, mixing, p, i - 1,
                                  &s->mixer[i - 1])) ||
            !residual_make(cx, set, part_numbered(cx, prefix, "resnets", i).s, &p->residual, p->out, p->out,
                           RESAMPLE_NOT, &s->block[i]))
            return false;
    return true;
}

/* ---- run ---- */

static heed_tensor *mixer_run(heed_ctx *cx, const struct mixer *m, heed_tensor *x, const struct condition *given) {
    switch (m->mixing) {
    case MIX_PLACES:
        return place_attention_run(cx, &m->places, x);
    case MIX_JOINED:
        return joined_attention_run(cx, &m->joined, x, given);
    case MIX_TRANSFORMER:
        return transformer_map_run(cx, &m->transformer, x, given);
    case MIX_NOTHING:
        break;
    }
    return x;
}

static void keep(struct skips *skips, heed_tensor *x) {
    if (skips) skips->map[skips->n++] = x;
}

heed_tensor *down_stage_run(heed_ctx *cx, const struct stage *s, heed_tensor *x, const struct condition *given,
                            struct skips *skips) {
    for (int i = 0; i < s->layers; i++) {
        x = mixer_run(cx, &s->mixer[i], residual_run(cx, &s->block[i], x, given), given);
        keep(skips, x);
    }
    if (s->resampling == RESAMPLE_NOT) return x;
    x = s->convolution.weight ? heed_conv_run(cx, &s->convolution, x) : residual_run(cx, &s->sampler, x, given);
    keep(skips, x);
    return x;
}

heed_tensor *mid_stage_run(heed_ctx *cx, const struct stage *s, heed_tensor *x, const struct condition *given) {
    x = residual_run(cx, &s->block[0], x, given);
    for (int i = 0; i < s->layers; i++)
        x = residual_run(cx, &s->block[i + 1], mixer_run(cx, &s->mixer[i], x, given), given);
    return x;
}

/* x with the map that was kept last, behind its channels */
static heed_tensor *with_kept(heed_ctx *cx, heed_tensor *x, struct skips *skips) {
    heed_tensor *const kept = skips->map[--skips->n];
    if (!x || !kept) return NULL;
    if (x->shape[2] != kept->shape[2] || x->shape[3] != kept->shape[3]) {
        heed_fail(
            cx, HEED_ERR_SHAPE,
            "sample: maps of %lld x %lld places on the way down meet %lld x %lld on the way up; sides that can be "
            "halved at every stage are needed",
            (long long)kept->shape[2], (long long)kept->shape[3], (long long)x->shape[2], (long long)x->shape[3]);
        return NULL;
    }
    return heed_concat(cx, (heed_tensor *[]){x, kept}, 2, 1);
}

heed_tensor *up_stage_run(heed_ctx *cx, const struct stage *s, heed_tensor *x, const struct condition *given,
                          struct skips *skips) {
    for (int i = 0; i < s->layers; i++) {
        heed_tensor *const wide = skips ? with_kept(cx, x, skips) : x;
        x = mixer_run(cx, &s->mixer[i], residual_run(cx, &s->block[i], wide, given), given);
    }
    if (s->resampling == RESAMPLE_NOT) return x;
    const heed_tensor *const next = skips && skips->n > 0 ? skips->map[skips->n - 1] : NULL;
    const int64_t *const size = next ? next->shape + 2 : NULL; /* not twice that of x where it was odd */
    return s->convolution.weight ? upsample_run(cx, &s->convolution, x, size) : residual_run(cx, &s->sampler, x, given);
}
