/* MLP-Mixer over tokens (Tolstikhin et al. 2021): two linear layers along time, the same for every channel, stand where
 * attention stood.
 *
 *     y = W_2 a(W_1 x + b_1) + b_2       x (T,C), W_1 (S,n), W_2 (n,S): columns and rows are positions
 *
 * A layer costs O(T S C). Which position reads which is learnt once and the same for all inputs; n positions are all
 * that there are. Of a shorter sequence the first T columns of W_1 and rows of W_2 count; padding tokens are zeros.
 *
 * Causal, as in MADE (Germain et al. 2015): hidden unit s belongs to position s n / S, rounded down, reads positions up
 * to it and is read by positions from it on; all other weights are multiplied by 0. */
#include "model/efficient/mixing.h"
#include "tensor/engine.h"

struct token_mixer {
    heed_linear_layer linear1, linear2; /* n -> S, S -> n */
};

static bool build(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                  int number, void *own) {
    struct token_mixer *const l = own;
    const struct encoder *const e = &m->encoder;
    const struct part_name in = part_under(cx, prefix, "token_mixing");
    const int64_t hidden = config_int(cx, config, "tokens_mlp_dim", 1, MAX_SIZE);
    (void)number;
    if (heed_failed(cx) || !part_linear(cx, set, in.s, "linear1", e->max_length, hidden, true, e->init, &l->linear1) ||
        !part_linear(cx, set, in.s, "linear2", hidden, e->max_length, true, e->init, &l->linear2))
        return false;
    l->linear1.weight->needs_f32 = l->linear2.weight->needs_f32 = true;
    l->linear1.weight->linear = l->linear2.weight->linear = false; /* of channels, which alone are adapted */
    return true;
}

/* (S,T), or (T,S) for W_2: 1 where hidden unit s and position t are connected, of n positions in all */
static heed_tensor *connected(heed_ctx *cx, int64_t S, int64_t T, int64_t n, bool second) {
    heed_tensor *const mask = heed_zeros(cx, HEED_F32, 2, second ? (int64_t[]){T, S} : (int64_t[]){S, T});
    if (!mask || cx->config.dry) return mask;
    float *const to = (float *)(void *)mask->data;
    for (int64_t s = 0; s < S; s++) {
        const int64_t place = s * n / S;
        for (int64_t t = 0; t < T; t++) {
            if (!second && t <= place) to[s * T + t] = 1;
            if (second && place <= t) to[t * S + s] = 1;
        }
    }
    return mask;
}

static heed_tensor *run(heed_ctx *cx, const struct mixing *m, const void *own, heed_tensor *x,
                        struct mixing_call *call) {
    const struct token_mixer *const l = own;
    if (heed_failed(cx) || !x) return NULL;
    const int64_t B = heed_dim(x, 0), T = heed_dim(x, 1), n = m->encoder.max_length, S = l->linear1.weight->shape[0];
    heed_tensor *w1 = heed_slice(cx, heed_param_tensor(cx, l->linear1.weight), 1, 0, T);
    heed_tensor *w2 = heed_slice(cx, heed_param_tensor(cx, l->linear2.weight), 0, 0, T);
    heed_tensor *const b1 = heed_reshape(cx, heed_param_tensor(cx, l->linear1.bias), 2, (int64_t[]){S, 1});
    heed_tensor *b2 = heed_slice(cx, heed_param_tensor(cx, l->linear2.bias), 0, 0, T);
    b2 = heed_reshape(cx, b2, 2, (int64_t[]){T, 1});
    if (call->mask) x = heed_mul(cx, x, heed_reshape(cx, call->mask, 3, (int64_t[]){B, T, 1}));
    if (m->causal) {
        w1 = heed_mul(cx, w1, connected(cx, S, T, n, false));
        w2 = heed_mul(cx, w2, connected(cx, S, T, n, true));
    }
    x = heed_activate(cx, heed_add(cx, heed_matmul(cx, w1, x), b1), m->encoder.act);
    return heed_add(cx, heed_matmul(cx, w2, x), b2);
}

static const struct mixing_kind token_mixer_kind = {
    .encoder = MIXING_ENCODER,
    .size = sizeof(struct token_mixer),
    .build = build,
    .run = run,
    .causal = true,
};
static const heed_key token_mixer_keys[] = {
    MIXING_KEYS,
    MIXING_TEXT_KEYS,
    {"tokens_mlp_dim", HEED_KEY_INT, "256", "hidden units of the layers along time"},
    END_OF_KEYS,
};
static const heed_head token_mixer_heads[] = {
    MIXING_HEADS("TokenMixer", causal), MIXING_LM("TokenMixer", &mixing_stepper), {.architecture = NULL}};

const heed_family family_token_mixer = {
    .name = "token-mixer",
    .type = "heed-token-mixer",
    .base = "model",
    .paper = "Tolstikhin et al. 2021",
    .summary = "an MLP along time instead of attention: MLP-Mixer over tokens",
    .notes = MIXING_NOTES
    "In layers.N.token_mixing: linear1 (tokens_mlp_dim, max_position_embeddings) and linear2, the other way round. A "
    "sequence of T tokens uses the first T columns and rows, and padding tokens count as zeros. With causal, hidden "
    "unit s reads the positions up to s max_position_embeddings / tokens_mlp_dim and is read from there on; a language "
    "model decodes by computing its whole text anew for every token.",
    .keys = token_mixer_keys,
    .heads = token_mixer_heads,
    .kind = &token_mixer_kind,
    .size = sizeof(struct mixing),
};
