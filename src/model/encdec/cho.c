/* The RNN encoder-decoder (Cho et al. 2014), for which the GRU was invented.
 *
 *     h_t = GRU(x_t, h_t-1);  c = tanh(V h_S)                          the source in one vector
 *     s_0 = tanh(V' c);  s_t = GRU([y_t-1; c], s_t-1)                  c is there at every step
 *     p(y_t | …) = softmax(G maxout(O [s_t; y_t-1; c]))                and in the output
 *
 * The cells are torch's: of the paper's, the reset gate also weighs what c adds to the candidate state. */
#include "model/core/families.h"
#include "model/encdec/encdec.h"
#include "tensor/engine.h"

struct cho {
    struct encdec m;
    heed_linear_layer context, start; /* V, V' */
    struct encdec_readout readout;
};

static const heed_key cho_keys[] = {ENCDEC_KEYS("256", "512"), ENCDEC_MAXOUT_KEY, ENCDEC_END};

static bool encode(heed_ctx *cx, const struct encdec *m, heed_tensor *x, struct encdec_source *source) {
    const struct cho *const cho = (const struct cho *)m;
    heed_rnn_state last;
    if (!heed_rnn_run(cx, &m->encoder, x, source->lengths, NULL, &last)) return false;
    heed_tensor *const c = heed_linear_run(cx, &cho->context, last.h, HEED_ACT_TANH); /* (1,B,H) */
    source->first.h = heed_linear_run(cx, &cho->start, c, HEED_ACT_TANH);
    source->memory = heed_transpose(cx, c, 0, 1);
    return !heed_failed(cx);
}

static heed_tensor *decode(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source, heed_tensor *y,
                           struct encdec_steps *steps) {
    const struct cho *const cho = (const struct cho *)m;
    if (heed_failed(cx) || !y) return NULL;
    const int64_t B = source->memory->shape[0], R = y->shape[0], T = y->shape[1];
    heed_tensor *c = heed_expand(cx, source->memory, 3, (int64_t[]){B, R / B * T, -1});
    c = encdec_by_row(cx, c, R);
    heed_rnn_state last;
    heed_tensor *const x = heed_concat(cx, (heed_tensor *[]){y, c}, 2, 2);
    heed_tensor *const s = heed_rnn_run(cx, &m->decoder, x, steps->counts, &steps->state, &last);
    steps->state = last;
    return encdec_read(cx, &cho->readout, s, y, c);
}

static const struct encdec_kind kind = {.one_context = true, .encode = encode, .decode = decode};

static bool cho_build(heed_ctx *cx, const heed_build *b, void *own) {
    heed_params *const set = b->params;
    struct cho *const cho = own;
    struct encdec *const m = &cho->m;
    if (!encdec_begin(cx, b->config, set, &kind, 1, m)) return false;
    m->memory_width = m->units;
    return encdec_networks(cx, set, HEED_GRU, false, m->embedding + m->units, m) &&
           heed_linear_make(cx, set, "context", m->units, m->units, true, &cho->context) &&
           heed_linear_make(cx, set, "start", m->units, m->units, true, &cho->start) &&
           encdec_readout(cx, b->config, set, m, &cho->readout);
}

static const heed_head cho_heads[] = {ENCDEC_HEAD("ChoForTranslation", cho_build)};

const heed_family family_cho = {
    .name = "cho",
    .type = "heed-cho",
    .paper = "Cho et al. 2014",
    .summary = "the RNN encoder-decoder: GRUs, and one context that every step of the decoder reads",
    .notes = ENCDEC_NOTES("context.weight, start.weight, readout.weight, "),
    .keys = cho_keys,
    .heads = cho_heads,
    .size = sizeof(struct cho),
};
