/* What autoencoders share: an encoder and a decoder that mirrors it, pictures as they go in, and how far what comes out
 * is from them.
 *
 *     pixel_values (B,C,H,W) -> h (B,width), of which codes are made;   z (B,Z) -> (B,C,H,W) before the last activation
 *
 * Convolutions, where there are some, have stride 2 and come first; dense layers follow. The decoder has the same sizes
 * in reverse, with transposed convolutions. Names are those of torch.nn.Sequential: of Conv2d and activation, Flatten
 * behind convolutions, Linear and activation; of Linear and activation, Unflatten, ConvTranspose2d and activation. */
#ifndef MODEL_AUTOENCODERS_CODER_H
#define MODEL_AUTOENCODERS_CODER_H

#include "model/vision/patches.h"

#define CODER_LAYERS 32 /* at most: dense ones, and convolutions */

struct coder {
    struct patches pictures; /* channels and image; its patches are pixels */
    int64_t latent, width;   /* Z, and numbers in h */
    heed_activation act, output_act;
    bool bernoulli; /* pixels are probabilities of 1; else means of normal densities */
    double weight;  /* of the reconstruction in the loss */
    int convs, dense;
    int64_t map[3]; /* that the last convolution gives: channels, height, width */
    int next;       /* number of the encoder's next module */
    heed_conv_layer down[CODER_LAYERS], up[CODER_LAYERS];
    heed_linear_layer in[CODER_LAYERS], out[CODER_LAYERS + 1];
};

#define CODER_KEYS                                                                                                     \
    {"num_channels", HEED_KEY_INT, "1", "of pictures"},                                                                \
        {"image_size", HEED_KEY_INT_OR_LIST, "28", "of pictures: a side, or height and width"},                        \
        {"conv_channels", HEED_KEY_INTS, "",                                                                           \
         "channels of convolutions of stride 2, which come first, such as 32,64; the decoder mirrors them"},           \
        {"kernel_size", HEED_KEY_INT, "4", "side of their kernels"},                                                   \
        {"hidden_sizes", HEED_KEY_INTS, "200,200", "widths of dense layers; the decoder mirrors them"},                \
        {"latent_size", HEED_KEY_INT, "3", "numbers in a code"},                                                       \
        {"hidden_act", HEED_KEY_TEXT, "relu", "activation of hidden layers, by transformers' name"},                   \
        {"output_act", HEED_KEY_TEXT, "sigmoid", "activation of the reconstruction: sigmoid, linear, ..."},            \
        {"likelihood", HEED_KEY_TEXT, "gaussian",                                                                      \
         "gaussian: the loss has the squared error; bernoulli: the binary cross entropy, of pixels from 0 to 1"},      \
    {                                                                                                                  \
        "reconstruction_weight", HEED_KEY_NUMBER, "1",                                                                 \
            "what the sum of squared errors, or of cross entropies, is multiplied by in the loss"                      \
    }
#define CODER_NOTES                                                                                                    \
    "Pixels are numbers from 0 to 1. target (B,C,H,W) is what the reconstruction is compared with, for denoising; by " \
    "default pixel_values. latents (B,Z) are decoded in place of the code; then pixel_values may be left out. loss "   \
    "and loss_dict.NAME are means over pictures of sums over their pixels."

/* Reads the keys and declares the encoder's hidden layers; the other, after what makes the code, the decoder. */
bool coder_make_encoder(heed_ctx *cx, const heed_build *b, struct coder *c);
bool coder_make_decoder(heed_ctx *cx, const heed_build *b, struct coder *c);

struct coder_input {
    int64_t n;
    heed_tensor *pixels, *target, *latents; /* pixels NULL: latents alone; target and latents NULL: there are none */
};
bool coder_read(heed_ctx *cx, const struct coder *c, const heed_io *in, struct coder_input *to);
/* The input `name` (n,Z), or NULL where it is not there. */
heed_tensor *coder_codes(heed_ctx *cx, const struct coder *c, const heed_io *in, const char *name, int64_t n);

heed_tensor *coder_encode(heed_ctx *cx, const struct coder *c, heed_tensor *pixels);
/* z (B,Z) -> (B,C,H,W): of a Bernoulli likelihood logits, else the reconstruction. */
heed_tensor *coder_decode(heed_ctx *cx, const struct coder *c, heed_tensor *z);
bool coder_put(heed_ctx *cx, const struct coder *c, heed_tensor *y, heed_io *out); /* the reconstruction */
/* The mean over pictures of the sum of squared errors, or of cross entropies. */
heed_tensor *coder_error(heed_ctx *cx, const struct coder *c, const struct coder_input *in, heed_tensor *y);
/* The same of each picture, (B). */
heed_tensor *coder_errors(heed_ctx *cx, const struct coder *c, const struct coder_input *in, heed_tensor *y);

bool coder_sample(heed_ctx *cx, const struct coder *c, int64_t batch, heed_io *in);

#endif
