/* LeViT's parameters under the names of a layout. */
#include "model/vision/levit.h"

#define NORM_EPS 1e-5F /* torch's own, as its momentum */
#define MOMENTUM 0.1F

static bool norm_make(struct levit_plan *p, const char *prefix, const char *name, int64_t width,
                      heed_batch_norm_layer *norm) {
    return heed_batch_norm_make(p->cx, p->set, part_under(p->cx, prefix, name).s, width, NORM_EPS, MOMENTUM, norm);
}

/* quiet: the norm starts as zeros */
static bool unit_make(struct levit_plan *p, const char *prefix, const char *name, int64_t in, int64_t out, bool quiet,
                      struct levit_unit *u) {
    heed_ctx *const cx = p->cx;
    const struct part_name at = part_under(cx, prefix, name);
    if (p->maps)
        u->linear.weight = heed_param_add(cx, p->set, part_under(cx, at.s, p->names->linear).s, "weight", 4,
                                          (int64_t[]){out, in, 1, 1}, p->init);
    else
        part_linear(cx, p->set, at.s, p->names->linear, in, out, false, p->init, &u->linear);
    if (heed_failed(cx) || !norm_make(p, at.s, p->names->norm, out, &u->norm)) return false;
    if (quiet) u->norm.weight->init = (heed_init){.kind = HEED_INIT_ZEROS};
    return true;
}

/* ---- the stem ---- */

/* What the convolutions leave of so many pixels; 0: nothing. */
static int64_t stem_of(int64_t pixels, int convs, int64_t kernel, const heed_conv_opts *o) {
    for (int i = 0; i < convs && pixels > 0; i++) {
        const int64_t over = pixels + 2 * o->padding[0] - kernel;
        pixels = over < 0 ? 0 : over / o->stride[0] + 1;
    }
    return pixels;
}

/* Files may say another size than that of the pictures, as long as these make the grid: the size nearest to it that
 * does. */
static bool fit_pictures(struct levit_plan *p, int64_t kernel, const heed_conv_opts *o, struct levit *m) {
    int64_t *const image = m->pictures.image;
    for (int i = 0; i < 2; i++) {
        const int64_t said = image[i];
        while (image[i] > 1 && stem_of(image[i], m->convs, kernel, o) > p->grid[i]) image[i]--;
        while (image[i] < MAX_SIDE && stem_of(image[i], m->convs, kernel, o) < p->grid[i]) image[i]++;
        if (stem_of(image[i], m->convs, kernel, o) != p->grid[i])
            return heed_fail(p->cx, HEED_ERR_SHAPE,
                             "the first convolutions make %lld places of %lld pixels, and the model has %lld",
                             (long long)stem_of(said, m->convs, kernel, o), (long long)said, (long long)p->grid[i]);
    }
    return true;
}

bool levit_stem(struct levit_plan *p, const char *const *names, int n, const heed_conv_opts *opts, int64_t kernel,
                const char *conv, struct levit *m) {
    int64_t in = m->pictures.channels;
    m->convs = n;
    m->patch = 1;
    for (int i = 0; i < 2; i++) m->grid[i] = p->grid[i], m->pictures.patch[i] = 1;
    m->pictures.any_size = true;
    for (int i = 0; i < n; i++) {
        const int64_t out = p->width >> (n - 1 - i);
        if (out < 1)
            return heed_fail(p->cx, HEED_ERR_SHAPE, "a first stage of width %lld leaves no channels for convolution %d",
                             (long long)p->width, i + 1);
        const struct part_name at = part_under(p->cx, names[i], conv);
        if (!heed_conv2d_make(p->cx, p->set, at.s, in, out, (int64_t[]){kernel, kernel}, false, opts, &m->conv[i]))
            return false;
        m->conv[i].weight->init = p->init;
        if (!norm_make(p, names[i], p->names->norm, out, &m->conv_norm[i])) return false;
        m->patch = m->patch > MAX_SIDE ? m->patch : m->patch * opts->stride[0];
        in = out;
    }
    return fit_pictures(p, kernel, opts, m);
}

/* ---- blocks ---- */

bool levit_room(struct levit_plan *p, int blocks, struct levit *m) {
    m->block = heed_params_alloc(p->cx, p->set, (size_t)blocks + 1, sizeof *m->block);
    return m->block != NULL;
}

static int number_of(const struct levit *m, bool shrinks) {
    int n = 0;
    for (int i = 0; i < m->blocks; i++) n += (m->block[i].query.linear.weight != NULL) == shrinks;
    return n;
}

bool levit_attention(struct levit_plan *p, const char *prefix, const struct levit_sizes *s, struct levit *m) {
    const struct levit_layout *const n = p->names;
    const bool shrinks = s->stride > 0;
    const double widest = (double)s->heads * (double)(2 * s->key + s->value);
    if (heed_failed(p->cx)) return false;
    if (s->heads < 1 || s->key < 1 || s->value < 1 || widest > (double)MAX_SIZE)
        return heed_fail(p->cx, HEED_ERR_SHAPE,
                         "%s: attention of %lld heads with keys of %lld numbers and values of "
                         "%lld is not possible",
                         prefix, (long long)s->heads, (long long)s->key, (long long)s->value);
    struct levit_block *const b = &m->block[m->blocks];
    b->heads = s->heads, b->key = s->key, b->value = s->value;
    b->stage = p->stage;
    b->stride = shrinks ? s->stride : 1;
    for (int i = 0; i < 2; i++) b->grid[i] = p->grid[i];
    const int64_t keys = s->heads * s->key, values = s->heads * s->value, out = shrinks ? s->width : p->width;
    b->bias = heed_param_add(p->cx, p->set, prefix, "attention_biases", 2,
                             (int64_t[]){s->heads, p->grid[0] * p->grid[1]}, (heed_init){.kind = HEED_INIT_ZEROS});
    if (!b->bias) return false;
    b->bias->decays = false;
    b->bias->needs_f32 = true;
    if (!unit_make(p, prefix, shrinks ? n->keys_values : n->all, p->width, (shrinks ? keys : 2 * keys) + values, false,
                   &b->all) ||
        (shrinks && !unit_make(p, prefix, n->query, p->width, keys, false, &b->query)) ||
        !unit_make(p, prefix, n->out, values, out, p->quiet && !shrinks, &b->out))
        return false;
    b->number = number_of(m, shrinks);
    m->blocks++;
    p->width = out;
    for (int i = 0; i < 2 && shrinks; i++) p->grid[i] = (p->grid[i] - 1) / s->stride + 1;
    p->stage += shrinks;
    return true;
}

bool levit_feed_forward(struct levit_plan *p, const char *prefix, int64_t hidden, struct levit *m) {
    struct levit_block *const b = &m->block[m->blocks - 1];
    return hidden < 1 || (unit_make(p, prefix, p->names->up, p->width, hidden, false, &b->up) &&
                          unit_make(p, prefix, p->names->down, hidden, p->width, p->quiet, &b->down));
}

/* ---- the end ---- */

bool levit_classifier(struct levit_plan *p, const char *name, int i, int64_t classes, heed_init init, struct levit *m) {
    struct levit_head *const h = &m->head[i];
    if (classes < 1) return !heed_failed(p->cx);
    if (!norm_make(p, name, p->names->norm, p->width, &h->norm) ||
        !part_linear(p->cx, p->set, name, "linear", p->width, classes, true, init, &h->output))
        return false;
    h->output.weight->head = h->output.bias->head = true;
    return true;
}
