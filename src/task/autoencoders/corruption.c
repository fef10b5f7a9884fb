/* What happens to pictures before an autoencoder sees them. Random numbers are those of a seed of its own, so that they
 * have nothing to do with the order of pictures or with codes. */
#include "heed/autoencode.h"
#include <string.h>

#define SEED   0xB1A2C0DEC0DE0000u
#define NORMAL 0x0800000000000000u /* streams of normal noise */
#define MASKED 0x1000000000000000u
#define PIECE  256

static const char *const names[] = {"none", "static", "dynamic"};

bool heed_corruption_of(heed_ctx *cx, const heed_model *model, heed_corruption *to) {
    if (heed_failed(cx)) return false;
    if (!model || !to) return heed_fail(cx, HEED_ERR_USAGE, "corruption: the %s is NULL", model ? "answer" : "model");
    const heed_json config = heed_model_config(model), noise = heed_json_find(cx, config, "noise"),
                    mask = heed_json_find(cx, config, "mask");
    const char *const kind = heed_json_text_or(cx, config, "binarize", names[0]);
    *to = (heed_corruption){0};
    for (int i = 0; kind && i < 3; i++)
        if (strcmp(kind, names[i]) == 0) to->binarize = (heed_binarize)i;
    if (heed_json_kind_of(noise) != HEED_JSON_NONE) to->noise = heed_json_number(cx, noise, NULL);
    if (heed_json_kind_of(mask) != HEED_JSON_NONE) to->mask = heed_json_number(cx, mask, NULL);
    return !heed_failed(cx);
}

static void binarize(uint64_t seed, uint64_t stream, uint64_t place, int64_t n, const float *pixels, float *to) {
    float u[PIECE];
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t some = n - at < PIECE ? n - at : PIECE;
        heed_random_uniform(seed, stream, place + (uint64_t)at, u, some);
        for (int64_t i = 0; i < some; i++) to[at + i] = u[i] < pixels[at + i] ? 1.0f : 0.0f;
    }
}

/* Noise that leads beyond 0 or 1 is cut off there. */
static void add_noise(const heed_corruption *c, uint64_t seed, uint64_t stream, uint64_t place, int64_t n,
                      const float *pixels, float *to) {
    const float deviation = (float)c->noise, least = (float)c->mask;
    float u[PIECE], e[PIECE];
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t some = n - at < PIECE ? n - at : PIECE;
        heed_random_normal(seed, stream ^ NORMAL, place + (uint64_t)at, e, some);
        heed_random_uniform(seed, stream ^ MASKED, place + (uint64_t)at, u, some);
        for (int64_t i = 0; i < some; i++) {
            const float x = pixels[at + i] + deviation * e[i];
            to[at + i] = u[i] < least || x < 0 ? 0 : x > 1 ? 1 : x;
        }
    }
}

void heed_corrupt(const heed_corruption *c, uint64_t seed, uint64_t stream, int64_t row, int64_t numbers,
                  const float *pixels, float *to) {
    const uint64_t place = (uint64_t)(row * numbers);
    if (!c || !pixels || !to) return;
    if (c->binarize != HEED_BINARIZE_NONE) {
        binarize(seed ^ SEED, stream, place, numbers, pixels, to);
        pixels = to;
    }
    if (c->noise > 0 || c->mask > 0)
        add_noise(c, seed ^ SEED, stream, place, numbers, pixels, to);
    else if (pixels != to)
        memcpy(to, pixels, (size_t)numbers * sizeof *to);
}
