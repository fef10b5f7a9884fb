/* DiT (Peebles & Xie 2023): a diffusion Transformer that is told the class of the picture. Names and config keys are
 * those of diffusers' DiTTransformer2DModel.
 *
 *     c = embedding(step) + embedding(class)      in each block its own
 *     shift, scale and gate = W act(c)            (adaLN-Zero; dit.h has the rest)
 *
 * Classes are dropped in training, for guidance without a classifier (Ho & Salimans 2021): their number is then that of
 * the row behind all classes.
 *     sample (B,C,H,H), timestep (B), class_labels (B) -> sample (B,out,H,H) */
#include "model/diffusion/dit.h"
#include "tensor/engine.h"

#define CLASS_DROPOUT 0.1F
#define NORM_EPS      1e-6F /* of the first norm, whatever norm_eps says */

struct class_condition { /* of a block */
    struct step_embedding step;
    heed_embedding_layer classes; /* (classes + 1,C) */
    heed_linear_layer modulation; /* C -> 6 C */
};
struct dit_classes {
    struct dit dit;
    struct step_waves waves;
    int64_t classes;
    struct class_condition *condition; /* memory of the parameter set */
    heed_linear_layer proj_out_1, proj_out_2;
};

static bool condition_make(heed_ctx *cx, const heed_build *b, const char *prefix, const struct dit_classes *m,
                           struct class_condition *c) {
    const int64_t C = m->dit.width;
    return step_embedding_make(cx, b->params, part_under(cx, prefix, "norm1.emb.timestep_embedder").s, DIT_WAVES, C, 0,
                               &c->step) &&
           heed_embedding_make(cx, b->params, part_under(cx, prefix, "norm1.emb.class_embedder.embedding_table").s,
                               m->classes + 1, C, &c->classes) &&
           heed_linear_make(cx, b->params, part_under(cx, prefix, "norm1.linear").s, C, DIT_CHUNKS * C, true,
                            &c->modulation);
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    struct dit_classes *const m = own;
    struct dit *const d = &m->dit;
    m->waves = (struct step_waves){.width = DIT_WAVES, .flip = true, .shift = 1};
    m->classes = config_int(cx, b->config, "num_embeds_ada_norm", 1, MAX_SIZE);
    if (heed_failed(cx) || !dit_make(cx, b, "ada_norm_zero", 1, d)) return false;
    m->condition = heed_params_alloc(cx, b->params, (size_t)d->layers, sizeof *m->condition);
    for (int i = 0; m->condition && i < d->layers; i++) {
        const struct part_name prefix = part_numbered(cx, "", "transformer_blocks", i);
        d->block[i].layer = i;
        d->block[i].norm1.eps = NORM_EPS;
        if (!condition_make(cx, b, prefix.s, m, &m->condition[i]) ||
            !dit_norm_make(cx, b, prefix.s, "norm3", d, &d->block[i].norm2) ||
            !dit_block_make(cx, b, prefix.s, d, 0, &d->block[i]))
            return false;
    }
    const int64_t side = d->patches.patch[0];
    return heed_linear_make(cx, b->params, "proj_out_1", d->width, 2 * d->width, true, &m->proj_out_1) &&
           heed_linear_make(cx, b->params, "proj_out_2", d->width, side * side * d->out_channels, true, &m->proj_out_2);
}

/* ---- run ---- */

/* What every block is told. */
struct told {
    heed_tensor *waves, *classes;
    heed_tensor *kept; /* (B,1) 1, or 0 where the class is dropped; NULL: none is */
};

static bool told_of(heed_ctx *cx, const struct dit_classes *m, const heed_io *in, int64_t batch, struct told *t) {
    heed_tensor *const classes = heed_io_get(in, "class_labels"), *const step = step_input(cx, in, "timestep", batch);
    if (!step) return false;
    if (!classes) return heed_fail(cx, HEED_ERR_USAGE, "forward: class_labels is needed");
    if (heed_type(classes) != HEED_I32 || classes->rank != 1 || classes->shape[0] != batch)
        return heed_fail(cx, HEED_ERR_SHAPE, "class_labels: %s numbers of shape %s are not integers (%lld)",
                         heed_dtype_name(heed_type(classes)), heed_shape_text(classes).s, (long long)batch);
    t->waves = step_waves_run(cx, &m->waves, step);
    t->classes = classes;
    if (engine_of(cx)->training) { /* all blocks lose the class together */
        heed_tensor *const ones = heed_full(cx, 1, 2, (int64_t[]){batch, 1});
        t->kept = heed_affine(cx, heed_drop_path(cx, ones, CLASS_DROPOUT), 1 - CLASS_DROPOUT, 0);
    }
    return !heed_failed(cx);
}

/* act(c) (B,C) */
static heed_tensor *condition_run(heed_ctx *cx, const struct dit_classes *m, const struct class_condition *c,
                                  const struct told *t) {
    heed_tensor *label = heed_embedding_run(cx, &c->classes, t->classes);
    if (t->kept) {
        heed_tensor *const none = heed_param_rows(cx, c->classes.weight, m->classes, 1);
        label = heed_add(cx, none, heed_mul(cx, t->kept, heed_sub(cx, label, none)));
    }
    return heed_silu(cx, heed_add(cx, step_embedding_run(cx, &c->step, t->waves, NULL), label));
}

/* (B,n C) -> n times (B,1,C) */
static bool parts_of(heed_ctx *cx, heed_tensor *y, int n, int64_t width, heed_tensor **part) {
    const int64_t ones[DIT_CHUNKS] = {1, 1, 1, 1, 1, 1};
    return y && heed_split(cx, heed_reshape(cx, y, 3, (int64_t[]){y->shape[0], n, width}), 1, ones, n, part);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    static const struct condition nothing;
    const struct dit_classes *const m = own;
    const struct dit *const d = &m->dit;
    struct told told = {0};
    int64_t grid[2];
    heed_tensor *x = dit_tokens(cx, d, in, grid), *first = NULL, *last[2];
    if (!x || !told_of(cx, m, in, x->shape[0], &told)) return false;
    if (grid[0] != grid[1])
        return heed_fail(cx, HEED_ERR_SHAPE, "sample: %lld x %lld patches are no square, and DiT's maps are squares",
                         (long long)grid[0], (long long)grid[1]);
    for (int i = 0; i < d->layers; i++) {
        struct dit_modulation by;
        heed_tensor *const c = condition_run(cx, m, &m->condition[i], &told);
        if (i == 0) first = c;
        if (!parts_of(cx, heed_linear_run(cx, &m->condition[i].modulation, c, HEED_ACT_NONE), DIT_CHUNKS, d->width,
                      by.part))
            return false;
        x = dit_block_run(cx, &d->block[i], x, &by, &nothing);
    }
    if (!parts_of(cx, heed_linear_run(cx, &m->proj_out_1, first, HEED_ACT_NONE), 2, d->width, last)) return false;
    return heed_io_put(cx, out, "sample", dit_map(cx, d, &m->proj_out_2, x, last[0], last[1], grid));
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return dit_sample(cx, &((const struct dit_classes *)own)->dit, batch, in) &&
           heed_io_put(cx, in, "class_labels", heed_zeros(cx, HEED_I32, 1, &batch));
}

/* ---- the family ---- */

static const heed_key keys[] = {
    DIT_KEYS("32", "ada_norm_zero"),
    {"out_channels", HEED_KEY_INT_OR_NULL, "null", "twice in_channels where the variance is learnt; null: as many"},
    {"norm_eps", HEED_KEY_NUMBER, "1e-05", "epsilon of the norms before the feed-forward layers"},
    {"num_embeds_ada_norm", HEED_KEY_INT, "1000", "number of classes; one more stands for none of them"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"DiTTransformer2DModel", "diffusion", "sample timestep class_labels", .bare = true, .build = build,
     .forward = forward, .sample = sample},
    {.architecture = NULL},
};

const heed_family family_dit = {
    .name = "dit",
    .type = "dit",
    .paper = "Peebles & Xie 2023",
    .summary = "diffusion Transformer that is told a class, as in diffusers",
    .notes =
        "Parameters have the names of diffusers' files: pos_embed.proj.weight, "
        "transformer_blocks.N.norm1.emb.timestep_embedder.linear_1.weight, transformer_blocks.N.attn1.to_q.weight, "
        "proj_out_2.weight. Maps are squares of any size; positions are those of sample_size, interpolated. In "
        "training a tenth of the classes is replaced by num_embeds_ada_norm, which stands for no class.",
    .keys = keys,
    .heads = heads,
    .size = sizeof(struct dit_classes),
    .diffusers = true,
};
