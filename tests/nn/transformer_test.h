/* What the tests of encoder and decoder share: a layer or a stack with its weights, and one of middling size. */
#ifndef TESTS_TRANSFORMER_TEST_H
#define TESTS_TRANSFORMER_TEST_H

#include "nn/block_test.h"

enum kind { ENCODER_LAYER, DECODER_LAYER, ENCODER, DECODER, KINDS };

static UNUSED const char *const kind_names[KINDS] = {"encoder_layer", "decoder_layer", "encoder", "decoder"};

struct block {
    enum kind kind;
    heed_encoder_layer encoder_layer;
    heed_decoder_layer decoder_layer;
    heed_encoder encoder;
    heed_decoder decoder;
    struct weights w;
};

static UNUSED void block_make(heed_ctx *cx, enum kind kind, const heed_transformer_opts *o, struct block *b) {
    b->kind = kind;
    b->w = (struct weights){.set = heed_params_new(cx)};
    const bool made = kind == ENCODER_LAYER   ? heed_encoder_layer_make(cx, b->w.set, "", o, &b->encoder_layer)
                      : kind == DECODER_LAYER ? heed_decoder_layer_make(cx, b->w.set, "", o, &b->decoder_layer)
                      : kind == ENCODER       ? heed_encoder_make(cx, b->w.set, "", o, &b->encoder)
                                              : heed_decoder_make(cx, b->w.set, "", o, &b->decoder);
    if (!made) fail_msg("%s", heed_message(cx));
    weights_ready(cx, &b->w);
    weights_random(&b->w, 4);
}

static UNUSED struct block *block_new(heed_ctx *cx, enum kind kind, const heed_transformer_opts *o) {
    struct block *b = calloc(1, sizeof *b);
    block_make(cx, kind, o, b);
    return b;
}

static UNUSED void block_free(heed_ctx *cx, struct block *b) {
    weights_free(cx, &b->w);
    free(b);
}

static UNUSED heed_tensor *block_run(heed_ctx *cx, const struct block *b, heed_tensor *x, heed_tensor *memory,
                                     const heed_mask *self, const heed_mask *cross) {
    switch (b->kind) {
    case ENCODER_LAYER:
        return heed_encoder_layer_run(cx, &b->encoder_layer, x, self);
    case DECODER_LAYER:
        return heed_decoder_layer_run(cx, &b->decoder_layer, x, memory, self, cross);
    case ENCODER:
        return heed_encoder_run(cx, &b->encoder, x, self);
    default:
        return heed_decoder_run(cx, &b->decoder, x, memory, self, cross);
    }
}

static UNUSED const heed_transformer_opts middling = {.width = 48,
                                                      .heads = 3,
                                                      .hidden = 80,
                                                      .act = HEED_ACT_GELU,
                                                      .dropout = 0.1f,
                                                      .bias = true,
                                                      .layers = 2,
                                                      .final_norm = true};
enum { B = 3, T = 37, S = 21, C = 48 };

static UNUSED struct block *middling_new(heed_ctx *cx, enum kind kind, bool norm_first, float dropout) {
    heed_transformer_opts opts = middling;
    opts.norm_first = norm_first;
    opts.dropout = dropout;
    return block_new(cx, kind, &opts);
}

#endif
