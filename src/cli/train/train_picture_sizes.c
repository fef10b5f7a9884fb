/* heed train classify: the sizes of a fresh model of pictures, which follow from the data. */
#include "cli/train/train_picture_sizes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 64 /* pixels of a side: up to there models from scratch have small patches */
#define USUAL 224

/* What --set says of a key; NULL: nothing. */
static const char *asked(const struct train_run *r, const char *key) {
    const char *const *given;
    const int n = option_list(r->o, "set", &given);
    const size_t length = strlen(key);
    const char *found = NULL;
    for (int i = 0; i < n; i++)
        if (strncmp(given[i], key, length) == 0 && given[i][length] == '=') found = given[i] + length + 1;
    return found;
}

struct fresh {
    const struct train_run *r;
    struct picture_settings *to;
};

/* A setting of a fresh model, where its family has the key. What the user sets comes after it. */
static void put(const struct fresh *f, const char *key, const char *value) {
    struct picture_settings *const s = f->to;
    if (train_takes_key(f->r, key) && s->n < PICTURE_SETTINGS)
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

/* ViT: patches of 4 x 4, 6 layers of 192 numbers; for large pictures ViT-Ti. */
static void put_vit(const struct fresh *f, bool small) {
    const char *const said = asked(f->r, "hidden_size") ? asked(f->r, "hidden_size") : asked(f->r, "embed_dim");
    const int64_t width = said && atoll(said) > 0 ? atoll(said) : 192;
    if (small) put_int(f, "patch_size", 4);
    put_int(f, "hidden_size", width);
    put_int(f, "embed_dim", width);
    put_int(f, "num_hidden_layers", small ? 6 : 12);
    put_int(f, "depth", small ? 6 : 12);
    put_int(f, "num_attention_heads", heads_for(width));
    put_int(f, "num_heads", heads_for(width));
    put_int(f, "intermediate_size", 4 * width);
}

/* Swin: patches of 2 x 2, three stages; windows of 7 or 4 patches, whichever divides the grid. */
static void put_swin(const struct fresh *f, int64_t side) {
    const char *const said = asked(f->r, "patch_size");
    const int64_t patch = said && atoll(said) > 0 ? atoll(said) : 2, grid = side / patch;
    put_int(f, "patch_size", patch);
    put_int(f, "embed_dim", 48);
    put(f, "depths", "2,2,2");
    put(f, "num_heads", "2,4,8");
    put_int(f, "window_size", grid % 7 == 0 ? 7 : 4);
}

/* Perceiver: 4 layers of 64 latents of 128 numbers, of large pictures 6 of 256. What transformers' classes fix
 * (channels of convolutions, bands of positions) stays, so that they open the model. */
static void put_perceiver(const struct fresh *f, bool small) {
    put_int(f, "num_latents", small ? 64 : 256);
    put_int(f, "d_latents", small ? 128 : 256);
    put_int(f, "num_self_attends_per_block", small ? 4 : 6);
    put_int(f, "num_self_attention_heads", 4);
    put_int(f, "num_cross_attention_heads", 1);
}

/* The classes are those of the data. */
static bool check_classes(const struct train_run *r, const char *key, int64_t classes) {
    const char *const said = asked(r, key);
    return !said || strtoll(said, NULL, 10) == classes ||
           heed_fail(r->cx, HEED_ERR_USAGE, "train: --set %s=%s: %s has %lld classes", key, said, r->path,
                     (long long)classes);
}

bool train_picture_sizes(const struct train_run *r, heed_picture_set *set, struct picture_settings *to) {
    const struct fresh *const f = &(struct fresh){r, to};
    const int64_t classes = heed_picture_set_data(set)->classes;
    const bool timm = r->family->timm != NULL;
    const char *const size_key = timm ? "img_size" : "image_size", *const said = asked(r, size_key);
    int64_t width, height;
    int channels;
    char size[48];
    snprintf(to->labels, sizeof to->labels, "%s=%lld", timm ? "num_classes" : "num_labels", (long long)classes);
    if (!check_classes(r, timm ? "num_classes" : "num_labels", classes)) return false;
    if (option_given(r->o, "init")) return true;
    if (!heed_picture_set_info(r->cx, set, 0, &width, &height, &channels)) return false;
    const bool swin = strstr(r->family->name, "swin") != NULL;
    if (width > SMALL || height > SMALL) {
        width = height = USUAL;
    } else if (strcmp(r->family->name, "perceiver") != 0 && !asked(r, "patch_size") &&
               !(timm && asked(r, "architecture"))) { /* whole patches of the usual size */
        const int64_t patch = swin ? 2 : 4;
        height = (height + patch - 1) / patch * patch;
        width = (width + patch - 1) / patch * patch;
    }
    if (width == height)
        snprintf(size, sizeof size, "%lld", (long long)width);
    else
        snprintf(size, sizeof size, "%lld,%lld", (long long)height, (long long)width);
    if (!said) put(f, size_key, size);
    const int64_t side = said && atoll(said) > 0 ? atoll(said) : width;
    const bool files = heed_picture_set_is(r->path);
    static const char *const channel_keys[] = {"in_chans", "num_channels", "in_channels"};
    for (int i = 0; i < 3; i++) put_int(f, channel_keys[i], files || channels == 4 ? 3 : channels);
    if (timm && asked(r, "architecture")) return true; /* which says the rest */
    if (swin) {
        if (side <= SMALL) put_swin(f, side);
    } else if (strcmp(r->family->name, "mixer") == 0) {
        if (side <= SMALL) {
            put_int(f, "patch_size", 4);
            put_int(f, "embed_dim", 192);
            put_int(f, "num_blocks", 6);
        }
    } else if (strcmp(r->family->name, "perceiver") == 0) {
        put_perceiver(f, side <= SMALL);
    } else {
        put_vit(f, side <= SMALL);
    }
    return true;
}
