/* Neural machine translation by jointly learning to align and translate (Bahdanau, Cho & Bengio 2015).
 *
 *     h_j = [GRU forwards; GRU backwards](x)_j                         of each word, with what is around it
 *     s_0 = tanh(W_s h_1 backwards)
 *     e_ij = v' tanh(W s_i-1 + U h_j);  a_i = softmax(e_i);  c_i = sum_j a_ij h_j
 *     s_i = GRU([y_i-1; c_i], s_i-1)
 *     p(y_i | …) = softmax(W_o maxout(O [s_i; y_i-1; c_i]))
 *
 * The alignment asks with the state before the word, so a decoder goes step by step; U h_j is computed once, and the
 * output of all steps at the end. */
#include "model/core/families.h"
#include "model/encdec/encdec.h"
#include "tensor/engine.h"

struct bahdanau {
    struct encdec m;
    heed_linear_layer start; /* W_s */
    struct encdec_alignment alignment;
    struct encdec_readout readout;
};

static const heed_key bahdanau_keys[] = {
    ENCDEC_KEYS("256", "512"),
    ENCDEC_MAXOUT_KEY,
    {"alignment_size", HEED_KEY_INT, "0", "units of the alignment model; 0: hidden_size"},
    ENCDEC_END};

static bool encode(heed_ctx *cx, const struct encdec *m, heed_tensor *x, struct encdec_source *source) {
    const struct bahdanau *const b = (const struct bahdanau *)m;
    heed_rnn_state last;
    source->memory = encdec_in_order(cx, source, heed_rnn_run(cx, &m->encoder, x, source->lengths, NULL, &last));
    if (!source->memory) return false;
    source->keys = heed_linear_run(cx, &b->alignment.key, source->memory, HEED_ACT_NONE);
    source->first.h = heed_linear_run(cx, &b->start, heed_slice(cx, last.h, 0, 1, 1), HEED_ACT_TANH);
    return !heed_failed(cx);
}

static heed_tensor *decode(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source, heed_tensor *y,
                           struct encdec_steps *steps) {
    const struct bahdanau *const b = (const struct bahdanau *)m;
    if (heed_failed(cx) || !y) return NULL;
    const int64_t R = y->shape[0], T = y->shape[1];
    heed_tensor **const s = heed_mem_new(cx, 2 * (size_t)T * sizeof *s), **const c = s + T;
    for (int64_t i = 0; s && i < T; i++) {
        heed_rnn_state last;
        heed_tensor *const before = heed_reshape(cx, steps->state.h, 3, (int64_t[]){R, 1, m->units});
        heed_tensor *const a = encdec_weights(cx, source, encdec_additive(cx, &b->alignment, source, before));
        c[i] = encdec_context(cx, source, a, i, R);
        heed_tensor *const x = heed_concat(cx, (heed_tensor *[]){heed_slice(cx, y, 1, i, 1), c[i]}, 2, 2);
        s[i] = heed_rnn_run(cx, &m->decoder, x, encdec_goes_on(cx, steps, i), &steps->state, &last);
        steps->state = last;
    }
    heed_tensor *read = NULL;
    if (!heed_failed(cx))
        read = encdec_read(cx, &b->readout, heed_concat(cx, s, (int)T, 1), y, heed_concat(cx, c, (int)T, 1));
    heed_mem_free(cx, s);
    return read;
}

static const struct encdec_kind kind = {.encode = encode, .decode = decode};

static bool bahdanau_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    struct bahdanau *const bahdanau = own;
    struct encdec *const m = &bahdanau->m;
    if (!encdec_begin(cx, config, set, &kind, 1, m)) return false;
    m->memory_width = 2 * m->units;
    m->keys_width = config_int(cx, config, "alignment_size", 0, (int64_t)1 << 24);
    if (m->keys_width == 0) m->keys_width = m->units;
    return encdec_networks(cx, set, HEED_GRU, true, m->embedding + m->memory_width, m) &&
           heed_linear_make(cx, set, "start", m->units, m->units, true, &bahdanau->start) &&
           encdec_alignment(cx, set, m->units, m->memory_width, m->keys_width, &bahdanau->alignment) &&
           encdec_readout(cx, config, set, m, &bahdanau->readout);
}

static const heed_head bahdanau_heads[] = {ENCDEC_HEAD("BahdanauForTranslation", bahdanau_build)};

const heed_family family_bahdanau = {
    .name = "bahdanau",
    .type = "heed-bahdanau",
    .paper = "Bahdanau et al. 2015",
    .summary = "attention's first model: GRUs that read both ways, and a decoder that aligns",
    .notes = ENCDEC_NOTES(
        "start.weight, alignment.query.weight, alignment.key.weight, alignment.energy.weight, readout.weight, "),
    .keys = bahdanau_keys,
    .heads = bahdanau_heads,
    .size = sizeof(struct bahdanau),
};
