/* The sizes of a model of pictures, which follow from the data and from the keys that its family has. */
#include "kernel/ints.h"
#include "task/vision/pictures_way.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 64 /* pixels of a side: up to there models from scratch have small patches */
#define USUAL 224
/* Sides of patches of small pictures. */
#define SMALL_PATCH           4
#define SMALL_PATCH_OF_STAGES 2 /* which merge them */

static int64_t integer_of(const char *said) { return said ? strtoll(said, NULL, 10) : 0; }

/* Swin's kin. */
static bool has_stages(const heed_run *r) { return run_takes_key(r, "depths"); }

struct fresh {
    const heed_run *r;
    struct picture_settings *to;
};

/* A setting of a fresh model, where its family has the key. What the user sets comes after it. */
static void put(const struct fresh *f, const char *key, const char *value) {
    struct picture_settings *const s = f->to;
    if (run_takes_key(f->r, key) && s->n < PICTURE_SETTINGS)
        snprintf(s->text[s->n++], sizeof s->text[0], "%s=%s", key, value);
}
static void put_int(const struct fresh *f, const char *key, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(f, key, text);
}

/* Heads of about 64 numbers; of narrow models, four. */
static int64_t heads_for(int64_t width) {
    if (width >= 128 && width % 64 == 0) return width / 64;
    return width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1;
}

/* ViT and CaiT: patches of 4 x 4, 6 layers of 192 numbers; for large pictures ViT-Ti. */
static void put_layers(const struct fresh *f, bool small) {
    const char *const hidden = run_setting(f->r, "hidden_size"), *const embed = run_setting(f->r, "embed_dim");
    const int64_t said = integer_of(hidden ? hidden : embed), width = said > 0 ? said : 192;
    if (small) put_int(f, "patch_size", SMALL_PATCH);
    put_int(f, "hidden_size", width);
    put_int(f, "embed_dim", width);
    put_int(f, "num_hidden_layers", small ? 6 : 12);
    put_int(f, "depth", small ? 6 : 12);
    put_int(f, "num_attention_heads", heads_for(width));
    put_int(f, "num_heads", heads_for(width));
    put_int(f, "intermediate_size", 4 * width);
}

/* Swin: patches of 2 x 2, three stages; windows of 7 or 4 patches, whichever divides the grid. */
static void put_stages(const struct fresh *f, int64_t side) {
    const int64_t said = integer_of(run_setting(f->r, "patch_size")), patch = said > 0 ? said : SMALL_PATCH_OF_STAGES;
    put_int(f, "patch_size", patch);
    put_int(f, "embed_dim", 48);
    put(f, "depths", "2,2,2");
    put(f, "num_heads", "2,4,8");
    put_int(f, "window_size", side / patch % 7 == 0 ? 7 : 4);
}

/* VOLO: patches of 4 x 4, the smallest it has, which are too few to be merged: two blocks of outlook attention, then
 * four of a Transformer, of 192 numbers each. A stage may have any number of blocks, and positions come with the third.
 */
static void put_outlook(const struct fresh *f, bool small) {
    if (!small) return; /* VOLO-D1 */
    put_int(f, "patch_size", SMALL_PATCH);
    put(f, "layers", "1,1,4");
    put(f, "embed_dims", "192,192,192");
    put(f, "num_heads", "6,6,3");
    put(f, "downsamples", "false,false,false");
    put(f, "outlook_attention", "true,true,false");
    put_int(f, "pooling_scale", 1);
}

/* MLP-Mixer: patches of 4 x 4, 6 blocks of 192 numbers. */
static void put_blocks(const struct fresh *f) {
    put_int(f, "patch_size", SMALL_PATCH);
    put_int(f, "embed_dim", 192);
    put_int(f, "num_blocks", 6);
}

/* Perceiver: 4 layers of 64 latents of 128 numbers, of large pictures 6 of 256. What transformers' classes fix
 * (channels of convolutions, bands of positions) stays, so that they open the model. */
static void put_latents(const struct fresh *f, bool small) {
    put_int(f, "num_latents", small ? 64 : 256);
    put_int(f, "d_latents", small ? 128 : 256);
    put_int(f, "num_self_attends_per_block", small ? 4 : 6);
    put_int(f, "num_self_attention_heads", 4);
    put_int(f, "num_cross_attention_heads", 1);
}

/* ResNet: of small pictures, which the stem makes a quarter of the size, three stages of half the width; else
 * ResNet-18. timm's have four stages. */
static void put_residual(const struct fresh *f, bool small) {
    put(f, "layer_type", "basic");
    put_int(f, "embedding_size", small ? 32 : 64);
    put(f, "depths", small ? "2,2,2" : "2,2,2,2");
    put(f, "hidden_sizes", small ? "32,64,128" : "64,128,256,512");
    if (small) put(f, "channels", "32,64,128,256");
}

/* LeViT: of small pictures two stages of 128 and 192 numbers. Convolutions make pictures a sixteenth of the size, so
 * that small ones are enlarged twice; timm's have fewer convolutions instead. */
static void put_shrinking(const struct fresh *f, int64_t side, bool small) {
    if (!small) return;
    put(f, "stem_type", "s8");
    put(f, "embed_dim", "128,192");
    put(f, "depth", "3,3");
    put(f, "num_heads", "4,6");
    put(f, "hidden_sizes", "128,192");
    put(f, "depths", "3,3");
    put(f, "num_attention_heads", "4,6");
    put(f, "mlp_ratio", "2,2");
    put(f, "attention_ratio", "2,2");
    put(f, "key_dim", run_takes_key(f->r, "stem_type") ? "16" : "16,16");
    if (!run_setting(f->r, "image_size")) put_int(f, "image_size", round_up(2 * side, 16));
}

static void put_architecture(const struct fresh *f, int64_t side) {
    const bool small = side <= SMALL;
    if (run_setting(f->r, "architecture")) return; /* which says the rest */
    if (run_takes_key(f->r, "key_dim"))
        put_shrinking(f, side, small);
    else if (run_takes_key(f->r, "stem_width") || run_takes_key(f->r, "embedding_size"))
        put_residual(f, small);
    else if (run_takes_key(f->r, "num_latents"))
        put_latents(f, small);
    else if (run_takes_key(f->r, "outlook_attention"))
        put_outlook(f, small);
    else if (!has_stages(f->r) && !run_takes_key(f->r, "num_blocks"))
        put_layers(f, small);
    else if (small && has_stages(f->r))
        put_stages(f, side);
    else if (small)
        put_blocks(f);
}

/* ---- the pictures ---- */

/* The classes are those of the data. */
static bool put_labels(const heed_run *r, const char *key, int64_t classes, struct picture_settings *to) {
    const char *const said = run_setting(r, key);
    snprintf(to->labels, sizeof to->labels, "%s=%lld", key, (long long)classes);
    return !said || integer_of(said) == classes ||
           heed_fail(r->cx, HEED_ERR_USAGE, "train: --set %s=%s: %s has %lld classes", key, said, r->path,
                     (long long)classes);
}

/* Small pictures keep their size, in whole patches of the usual one unless another one is asked for. */
static void fit_size(const heed_run *r, int64_t *width, int64_t *height) {
    if (*width > SMALL || *height > SMALL) {
        *width = *height = USUAL;
    } else if (run_takes_key(r, "patch_size") && !run_setting(r, "patch_size") && !run_setting(r, "architecture")) {
        const int64_t patch = has_stages(r) ? SMALL_PATCH_OF_STAGES : SMALL_PATCH;
        *width = round_up(*width, patch);
        *height = round_up(*height, patch);
    }
}

bool picture_sizes(const heed_run *r, const heed_picture_set *set, struct picture_settings *to) {
    static const char *const channel_keys[] = {"in_chans", "num_channels", "in_channels"};
    const struct fresh *const f = &(struct fresh){r, to};
    const bool timm = r->family->timm != NULL;
    const char *const size_key = !timm                            ? "image_size"
                                 : run_takes_key(r, "input_size") ? "input_size"
                                                                  : "img_size",
                      *const said = run_setting(r, size_key);
    int64_t width, height;
    int channels;
    char size[48];
    if (!put_labels(r, timm ? "num_classes" : "num_labels", heed_picture_set_data(set)->classes, to)) return false;
    if (run_init(r)) return true;
    if (!heed_picture_set_info(r->cx, set, 0, &width, &height, &channels)) return false;
    fit_size(r, &width, &height);
    const int one = snprintf(size, sizeof size, "%lld", (long long)height);
    if (width != height) snprintf(size + one, sizeof size - (size_t)one, ",%lld", (long long)width);
    if (!said) put(f, size_key, size);
    if (heed_picture_set_is(r->path) || channels == 4) channels = 3; /* files are decoded with colours */
    for (int i = 0; i < 3; i++) put_int(f, channel_keys[i], channels);
    put_architecture(f, integer_of(said) > 0 ? integer_of(said) : width);
    return true;
}
