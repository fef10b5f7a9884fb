/* Sizes of fresh networks: a U-Net of 32, 64, 128, ... channels with attention on its two smallest maps, or a diffusion
 * Transformer of 6 layers of 192 numbers. */
#include "task/diffusion/diffusion_sizes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE   48 /* pixels of a side: from there on there is one stage more */
#define SMALL   16 /* up to there patches are of 2 x 2 pixels, else of 4 x 4 */
#define DIVISOR 8
#define MOST    8 /* stages */

static bool is_unet(const heed_run *r) { return run_takes_key(r, "block_out_channels"); }
bool diffusion_sizes_square(const heed_run *r) { return !is_unet(r); }

static int64_t patch_for(int64_t side) { return side <= SMALL ? 2 : 4; }

static bool put(struct diffusion_sizes *to, const char *key, const char *value) {
    return to->n < DIFFUSION_SETTINGS &&
           snprintf(to->text[to->n++], sizeof to->text[0], "%s=%s", key, value) < (int)sizeof to->text[0];
}

static bool put_int(struct diffusion_sizes *to, const char *key, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return put(to, key, text);
}

/* What --set says, as channels[0] to channels[n - 1]; 0: nothing, or nothing that can be read, which the model refuses.
 */
static int said_channels(const heed_run *r, int64_t channels[MOST]) {
    const char *at = run_setting(r, "block_out_channels");
    int n = 0;
    if (at && *at == '[') at++;
    while (at && *at >= '0' && *at <= '9' && n < MOST) {
        char *end;
        channels[n++] = strtoll(at, &end, 10);
        at = end + strspn(end, ", ");
    }
    return n;
}

static int stages_of(const heed_run *r, int64_t side, int64_t channels[MOST]) {
    const int said = said_channels(r, channels), n = side >= LARGE ? 4 : 3;
    for (int i = 0; !said && i < n; i++) channels[i] = i < 3 ? 32 << i : 128;
    return said ? said : n;
}

int64_t diffusion_sizes_multiple(const heed_run *r, int64_t side) {
    int64_t channels[MOST];
    const char *const patch = run_setting(r, "patch_size");
    const int64_t said = patch ? strtoll(patch, NULL, 10) : patch_for(side);
    if (is_unet(r)) return (int64_t)1 << (stages_of(r, side, channels) - 1);
    return said > 0 ? said : 1;
}

/* The largest number up to DIVISOR that divides all channels: groups of a norm, and the width of an attention head. */
static int64_t divisor_of(const int64_t *channels, int n) {
    for (int64_t g = DIVISOR; g > 1; g--) {
        bool divides = true;
        for (int i = 0; i < n; i++) divides &= channels[i] % g == 0;
        if (divides) return g;
    }
    return 1;
}

static bool put_unet(const heed_run *r, int64_t side, struct diffusion_sizes *to) {
    int64_t channels[MOST];
    const int n = stages_of(r, side, channels);
    char list[256] = "", down[256] = "", up[256] = "";
    size_t at = 0, a = 0, b = 0;
    for (int i = 0; i < n; i++) { /* stages on the way up begin with the smallest map */
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%lld", i ? "," : "", (long long)channels[i]);
        a += (size_t)snprintf(down + a, sizeof down - a, "%s%sDownBlock2D", i ? "," : "",
                              i >= n - 2 && n > 1 ? "Attn" : "");
        b += (size_t)snprintf(up + b, sizeof up - b, "%s%sUpBlock2D", i ? "," : "", i < 2 && n > 1 ? "Attn" : "");
    }
    const bool said = run_setting(r, "down_block_types") || run_setting(r, "up_block_types"); /* which say the rest */
    return put(to, "block_out_channels", list) && put_int(to, "norm_num_groups", divisor_of(channels, n)) &&
           put_int(to, "attention_head_dim", divisor_of(channels, n)) &&
           (said || (put(to, "down_block_types", down) && put(to, "up_block_types", up)));
}

static bool put_transformer(int64_t side, int64_t classes, struct diffusion_sizes *to) {
    return put_int(to, "num_attention_heads", 4) && put_int(to, "attention_head_dim", 48) &&
           put_int(to, "num_layers", 6) && put_int(to, "patch_size", patch_for(side)) &&
           put_int(to, "num_embeds_ada_norm", classes > 0 ? classes : 1);
}

bool diffusion_sizes_of(const heed_run *r, int channels, int64_t height, int64_t width, int64_t labels,
                        struct diffusion_sizes *to) {
    char sides[48];
    *to = (struct diffusion_sizes){.n = 0};
    snprintf(sides, sizeof sides, height == width ? "%lld" : "%lld,%lld", (long long)height, (long long)width);
    bool fits = put(to, "sample_size", sides) && put_int(to, "in_channels", channels) &&
                (!is_unet(r) || put_int(to, "out_channels", channels));
    if (fits && is_unet(r) && labels > 0) fits = put_int(to, "num_class_embeds", labels);
    fits = fits && (is_unet(r) ? put_unet(r, width, to) : put_transformer(width, labels, to));
    return fits || heed_fail(r->cx, HEED_ERR_USAGE, "train: --set block_out_channels: the list is too long");
}
