/* Sequence to sequence learning with neural networks (Sutskever, Vinyals & Le 2014).
 *
 *     (h_t, c_t) = LSTM(x_t, h_t-1, c_t-1), deep, over the source, which is read backwards with reverse_source
 *     the decoder, another deep LSTM, starts from the last h and c of every layer: a sentence is a few vectors
 *     p(y_t | y_1 … y_t-1, x) = softmax(W h_t + b) */
#include "model/core/families.h"
#include "model/encdec/encdec.h"

struct sutskever {
    struct encdec m;
};

static const heed_key sutskever_keys[] = {ENCDEC_KEYS("256", "512"), ENCDEC_LAYERS_KEY, ENCDEC_END};

static bool encode(heed_ctx *cx, const struct encdec *m, heed_tensor *x, struct encdec_source *source) {
    return heed_rnn_run(cx, &m->encoder, x, source->lengths, NULL, &source->first) != NULL;
}

static heed_tensor *decode(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source, heed_tensor *y,
                           struct encdec_steps *steps) {
    (void)source;
    heed_rnn_state last;
    heed_tensor *const h = heed_rnn_run(cx, &m->decoder, y, steps->counts, &steps->state, &last);
    steps->state = last;
    return h;
}

static const struct encdec_kind kind = {.encode = encode, .decode = decode};

static bool sutskever_build(heed_ctx *cx, const heed_build *b, void *own) {
    heed_params *const set = b->params;
    struct encdec *const m = own;
    return encdec_begin(cx, b->config, set, &kind, 0, m) &&
           encdec_networks(cx, set, HEED_LSTM, false, m->embedding, m) && encdec_output(cx, set, m->units, m);
}

static const heed_head sutskever_heads[] = {ENCDEC_HEAD("SutskeverForTranslation", sutskever_build)};

const heed_family family_sutskever = {
    .name = "sutskever",
    .type = "heed-sutskever",
    .paper = "Sutskever et al. 2014",
    .summary = "an encoder-decoder of deep LSTMs: the last states are the sentence",
    .notes = ENCDEC_NOTES(""),
    .keys = sutskever_keys,
    .heads = sutskever_heads,
    .size = sizeof(struct sutskever),
};
