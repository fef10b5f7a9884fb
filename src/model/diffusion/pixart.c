/* PixArt-alpha (Chen et al. 2024): a diffusion Transformer that looks at a text by cross attention. The step modulates
 * all blocks by one product, to which each adds a table of its own (adaLN-single). Names and config keys are those of
 * diffusers' PixArtTransformer2DModel.
 *
 *     t = embedding(step) [+ embeddings of resolution and aspect ratio];   shift, scale and gate = W act(t) + table
 *     the last norm's shift and scale = t + table                                           (dit.h has the rest)
 *
 *     sample (B,C,H,W), timestep (B), encoder_hidden_states (B,L,D), encoder_attention_mask (B,L) -> sample (B,out,H,W)
 */
#include "model/diffusion/dit.h"
#include "model/diffusion/unet_text.h"
#include "tensor/engine.h"
#include <math.h>

#define RESOLUTION   "added_cond_kwargs.resolution"
#define ASPECT_RATIO "added_cond_kwargs.aspect_ratio"

struct pixart {
    struct dit dit;
    struct step_waves waves;
    struct step_embedding step, resolution, aspect_ratio;
    bool sized; /* resolution and aspect ratio are given */
    bool reads; /* there is cross attention */
    struct unet_text text;
    heed_linear_layer caption[2], modulation, proj_out; /* caption[0].weight NULL: the text as it is */
    heed_param **table, *last;                          /* (6,C) of each block; (2,C) */
};

/* ---- build ---- */

/* (rows,C), drawn as in PixArt */
static heed_param *table_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t rows, int64_t width) {
    return heed_param_add(cx, set, prefix, "scale_shift_table", 2, (int64_t[]){rows, width},
                          (heed_init){HEED_INIT_NORMAL, 0, 1 / sqrtf((float)width)});
}

static bool blocks_make(heed_ctx *cx, const heed_build *b, int64_t text, struct pixart *m) {
    struct dit *const d = &m->dit;
    m->table = heed_params_alloc(cx, b->params, (size_t)d->layers, sizeof *m->table);
    for (int i = 0; m->table && i < d->layers; i++) {
        const struct part_name prefix = part_numbered(cx, "", "transformer_blocks", i);
        d->block[i].layer = i;
        m->table[i] = table_make(cx, b->params, prefix.s, DIT_CHUNKS, d->width);
        if (!m->table[i] || !dit_norm_make(cx, b, prefix.s, "norm1", d, &d->block[i].norm1) ||
            !dit_norm_make(cx, b, prefix.s, "norm2", d, &d->block[i].norm2) ||
            !dit_block_make(cx, b, prefix.s, d, text, &d->block[i]))
            return false;
    }
    return m->table != NULL;
}

/* Each of resolution's two numbers and the aspect ratio makes a third of the width. */
static bool sizes_make(heed_ctx *cx, const heed_build *b, struct pixart *m) {
    const int64_t third = m->dit.width / 3;
    if (3 * third != m->dit.width)
        return heed_json_fail(cx, heed_json_find(cx, b->config, "use_additional_conditions"),
                              "resolution and aspect ratio need a width that 3 divides, and this one is %lld",
                              (long long)m->dit.width);
    return step_embedding_make(cx, b->params, "adaln_single.emb.resolution_embedder", DIT_WAVES, third, 0,
                               &m->resolution) &&
           step_embedding_make(cx, b->params, "adaln_single.emb.aspect_ratio_embedder", DIT_WAVES, third, 0,
                               &m->aspect_ratio);
}

static bool caption_make(heed_ctx *cx, const heed_build *b, int64_t in, struct pixart *m) {
    const int64_t C = m->dit.width;
    return heed_linear_make(cx, b->params, "caption_projection.linear_1", in, C, true, &m->caption[0]) &&
           heed_linear_make(cx, b->params, "caption_projection.linear_2", C, C, true, &m->caption[1]);
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    static const char *const attentions[] = {"default", NULL};
    struct pixart *const m = own;
    struct dit *const d = &m->dit;
    const heed_json config = b->config;
    const int64_t text = config_int_or(cx, config, "cross_attention_dim", 1, MAX_SIZE, 0),
                  caption = config_int_or(cx, config, "caption_channels", 1, MAX_SIZE, 0),
                  side = config_int(cx, config, "sample_size", 1, MAX_SIDE);
    const double stretch =
        config_number_or(cx, config, "interpolation_scale", 1e-6, 1e6, side >= 64 ? (double)(side / 64) : 1);
    m->waves = (struct step_waves){.width = DIT_WAVES, .flip = true};
    m->sized = heed_json_bool_or(cx, config, "use_additional_conditions", side == 128);
    m->reads = text > 0;
    m->text.width = caption ? caption : text;
    if (heed_failed(cx) || config_choice(cx, config, "attention_type", attentions) < 0 ||
        !dit_make(cx, b, "ada_norm_single", stretch, d))
        return false;
    if (caption && text && text != d->width)
        return heed_json_fail(cx, heed_json_find(cx, config, "cross_attention_dim"),
                              "captions are projected to the width, %lld, and attention reads texts of %lld",
                              (long long)d->width, (long long)text);
    if (!blocks_make(cx, b, text, m)) return false;
    m->last = table_make(cx, b->params, "", 2, d->width);
    return m->last &&
           heed_linear_make(cx, b->params, "proj_out", d->width,
                            d->patches.patch[0] * d->patches.patch[1] * d->out_channels, true, &m->proj_out) &&
           step_embedding_make(cx, b->params, "adaln_single.emb.timestep_embedder", DIT_WAVES, d->width, 0, &m->step) &&
           (!m->sized || sizes_make(cx, b, m)) &&
           heed_linear_make(cx, b->params, "adaln_single.linear", d->width, DIT_CHUNKS * d->width, true,
                            &m->modulation) &&
           (!caption || caption_make(cx, b, caption, m));
}

/* ---- run ---- */

/* The embedding of n numbers for each example: (B, n C / 3) */
static heed_tensor *size_embedding(heed_ctx *cx, const struct pixart *m, const struct step_embedding *e,
                                   const heed_io *in, const char *name, int64_t batch, int64_t n) {
    heed_tensor *const x = heed_io_get(in, name);
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "forward: %s is needed", name), NULL;
    if (heed_count(x) != batch * n)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: shape %s is not (%lld,%lld)", name, heed_shape_text(x).s,
                         (long long)batch, (long long)n),
               NULL;
    heed_tensor *const y = step_embedding_run(cx, e, step_waves_run(cx, &m->waves, x), NULL);
    return heed_reshape(cx, y, 2, (int64_t[]){batch, n * (m->dit.width / 3)});
}

/* t (B,C) */
static heed_tensor *step_of(heed_ctx *cx, const struct pixart *m, const heed_io *in, int64_t batch) {
    heed_tensor *const step = step_input(cx, in, "timestep", batch);
    if (!step) return NULL;
    heed_tensor *const t = step_embedding_run(cx, &m->step, step_waves_run(cx, &m->waves, step), NULL);
    if (!m->sized) return t;
    heed_tensor *const sizes[] = {size_embedding(cx, m, &m->resolution, in, RESOLUTION, batch, 2),
                                  size_embedding(cx, m, &m->aspect_ratio, in, ASPECT_RATIO, batch, 1)};
    return heed_add(cx, t, heed_concat(cx, sizes, 2, 1));
}

static bool text_of(heed_ctx *cx, const struct pixart *m, const heed_io *in, int64_t batch, struct condition *given) {
    const bool alone = !m->caption[0].weight && m->text.width == m->dit.width; /* attends to itself without a text */
    if (!m->reads || (alone && !heed_io_get(in, "encoder_hidden_states"))) return true;
    if (!unet_text_run(cx, &m->text, in, batch, true, given)) return false;
    if (!m->caption[0].weight) return true;
    given->text = heed_linear_run(cx, &m->caption[0], given->text, HEED_ACT_GELU_TANH);
    given->text = heed_linear_run(cx, &m->caption[1], given->text, HEED_ACT_NONE);
    return given->text != NULL;
}

/* What the step says (B,n,C) or (B,1,C) and a table (n,C) -> n times (B,1,C) */
static bool parts_of(heed_ctx *cx, heed_tensor *said, const heed_param *table, heed_tensor **part) {
    const int64_t ones[DIT_CHUNKS] = {1, 1, 1, 1, 1, 1};
    return heed_split(cx, heed_add(cx, said, heed_param_tensor(cx, table)), 1, ones, (int)table->shape[0], part);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct pixart *const m = own;
    const struct dit *const d = &m->dit;
    struct condition given = {0};
    int64_t grid[2];
    heed_tensor *x = dit_tokens(cx, d, in, grid), *last[2];
    if (!x || !text_of(cx, m, in, x->shape[0], &given)) return false;
    const int64_t B = x->shape[0];
    heed_tensor *const t = step_of(cx, m, in, B);
    heed_tensor *const said = heed_reshape(cx, heed_linear_run(cx, &m->modulation, heed_silu(cx, t), HEED_ACT_NONE), 3,
                                           (int64_t[]){B, DIT_CHUNKS, d->width});
    for (int i = 0; i < d->layers; i++) {
        struct dit_modulation by;
        if (!parts_of(cx, said, m->table[i], by.part)) return false;
        x = dit_block_run(cx, &d->block[i], x, &by, &given);
    }
    if (!parts_of(cx, heed_reshape(cx, t, 3, (int64_t[]){B, 1, d->width}), m->last, last)) return false;
    return heed_io_put(cx, out, "sample", dit_map(cx, d, &m->proj_out, x, last[0], last[1], grid));
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct pixart *const m = own;
    if (!dit_sample(cx, &m->dit, batch, in) || (m->reads && !unet_text_sample(cx, &m->text, batch, length, in)))
        return false;
    return !m->sized || (heed_io_put(cx, in, RESOLUTION, heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, 2})) &&
                         heed_io_put(cx, in, ASPECT_RATIO, heed_zeros(cx, HEED_F32, 2, (int64_t[]){batch, 1})));
}

/* ---- the family ---- */

static const heed_key keys[] = {
    DIT_KEYS("128", "ada_norm_single"),
    {"out_channels", HEED_KEY_INT_OR_NULL, "8", "twice in_channels where the variance is learnt; null: as many"},
    {"norm_eps", HEED_KEY_NUMBER, "1e-06", "epsilon of the norms"},
    {"num_embeds_ada_norm", HEED_KEY_INT, "1000", "kept for diffusers: not used"},
    {"cross_attention_dim", HEED_KEY_INT_OR_NULL, "1152", "width of what cross attention reads; null: there is none"},
    {"caption_channels", HEED_KEY_INT_OR_NULL, "null",
     "width of encoder_hidden_states, which are then projected to the width; null: read as they are"},
    {"interpolation_scale", HEED_KEY_NUMBER_OR_NULL, "null",
     "positions are divided by it; null: sample_size / 64, at least 1"},
    {"use_additional_conditions", HEED_KEY_BOOL_OR_NULL, "null",
     "resolution and aspect ratio are given, too; null: where sample_size is 128"},
    {"attention_type", HEED_KEY_TEXT, "default", "default; no other is known"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"PixArtTransformer2DModel", "",
     "sample timestep encoder_hidden_states encoder_attention_mask " RESOLUTION " " ASPECT_RATIO, .bare = true,
     .build = build, .forward = forward, .sample = sample},
    {.architecture = NULL},
};

const heed_family family_pixart = {
    .name = "pixart",
    .type = "pixart",
    .paper = "Chen et al. 2024",
    .summary = "diffusion Transformer that reads a text, as in diffusers",
    .notes = "Parameters have the names of diffusers' files: pos_embed.proj.weight, "
             "transformer_blocks.N.scale_shift_table, transformer_blocks.N.attn2.to_q.weight, "
             "adaln_single.emb.timestep_embedder.linear_1.weight, caption_projection.linear_1.weight, proj_out.weight. "
             "Maps may have any size; positions are those of sample_size, interpolated. encoder_attention_mask is 0 "
             "for tokens of the text that are not seen.",
    .keys = keys,
    .heads = heads,
    .size = sizeof(struct pixart),
    .diffusers = true,
};
