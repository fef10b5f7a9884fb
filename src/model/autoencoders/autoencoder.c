/* The autoencoder (Rumelhart, Hinton & Williams 1986; Hinton & Salakhutdinov 2006): a picture through a narrow place.
 *
 *     z = f(x),   x' = f^-1(z),   loss = weight / B sum (x - x')^2
 *
 * Given a clean picture as `target` beside a noisy x, it is a denoising one (Vincent et al. 2008). */
#include "model/autoencoders/coder.h"

struct autoencoder {
    struct coder coder;
    heed_linear_layer code; /* the encoder's last module */
};

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    struct autoencoder *const m = own;
    struct coder *const c = &m->coder;
    return coder_make_encoder(cx, b, c) &&
           heed_linear_make(cx, b->params, part_numbered(cx, "", "encoder", c->next).s, c->width, c->latent, true,
                            &m->code) &&
           coder_make_decoder(cx, b, c);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct autoencoder *const m = own;
    const struct coder *const c = &m->coder;
    struct coder_input given;
    if (!coder_read(cx, c, in, &given)) return false;
    heed_tensor *z = given.latents;
    if (given.pixels) {
        heed_tensor *const code = heed_linear_run(cx, &m->code, coder_encode(cx, c, given.pixels), HEED_ACT_NONE);
        if (!z) z = code;
        if (!heed_io_put(cx, out, "latent", code)) return false;
    }
    heed_tensor *const y = coder_decode(cx, c, z);
    if (!in->loss_only && !coder_put(cx, c, y, out)) return false;
    if (!given.target) return y;
    heed_tensor *const error = coder_error(cx, c, &given, y);
    return heed_io_put(cx, out, "loss", heed_affine(cx, error, (float)c->weight, 0));
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return coder_sample(cx, &((const struct autoencoder *)own)->coder, batch, in);
}

static const heed_key keys[] = {CODER_KEYS, END_OF_KEYS};

static const heed_head heads[] = {
    {"HeedAutoencoder", "autoencode", "pixel_values target latents", .build = build, .forward = forward,
     .sample = sample},
    {.architecture = NULL},
};

const heed_family family_autoencoder = {
    .name = "autoencoder",
    .type = "heed-autoencoder",
    .paper = "Hinton & Salakhutdinov 2006",
    .summary = "pictures through a narrow code and back",
    .notes = "Parameters: encoder.0.weight, encoder.2.weight, ..., of which the last gives the code, decoder.0.weight, "
             "... as torch.nn.Sequential names them. Outputs: reconstruction and latent (B,Z). " CODER_NOTES,
    .keys = keys,
    .heads = heads,
    .size = sizeof(struct autoencoder),
};
