/* heed sample of autoencoders: codes that are drawn, around a picture's or on a plane, and decoded. */
#include "cli/use/sample.h"
#include "task/vision/picture_data.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STREAM 0x5A3B1E0000000000u
#define FITTED 10000 /* pictures whose codes' mean and deviation are taken */

/* clang-format off */
const heed_field code_options[] = {
    {.name = "near", .kind = HEED_FIELD_FILE, .value = "PICTURE",
     .help = "pictures like this one: its code plus noise; the sheet begins with it"},
    {.name = "scale", .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,
     .help = "deviation of codes from 0, or from that of --near; by default 1, with --near 0.5"},
    {.name = "grid", .help = "a plane of codes instead of random ones: two of their numbers go through the quantiles of the "
                             "normal distribution, the others are 0 or those of --near"},
    {.name = "axes", .kind = HEED_FIELD_TEXT, .standard = "1,2", .value = "I,J",
     .help = "which numbers of the code --grid goes through, across and down"},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "pictures as for training; codes are drawn from the normal distribution of their codes instead of N(0, 1), which a "
             "plain autoencoder needs"},
    {.name = NULL},
};
/* clang-format on */

static bool fits(const struct options *o) {
    const bool grid = option_flag(o, "grid");
    const char *wrong = NULL;
    if (option_given(o, "axes") && !grid) wrong = "--axes goes with --grid";
    if (option_given(o, "columns") && grid) wrong = "--grid has as many columns as --count says";
    if (option_given(o, "near") && option_given(o, "data")) wrong = "--near and --data: only one of them makes sense";
    if (grid && option_given(o, "count") && option_int(o, "count") > 1000)
        wrong = "--grid: --count is the number of pictures of a side, at most 1000";
    if (wrong) cli_error(EXIT_USAGE, "sample: %s", wrong);
    return !wrong;
}

/* Where codes lie: mean and deviation (latent). */
struct place {
    float *mean, *deviation;
};

static bool near_picture(struct sampling *s, struct place *at) {
    const char *const path = option_text(s->o, "near");
    heed_image picture;
    if (!heed_picture_read(s->cx, s->m, path, &picture)) return false;
    float *const x = heed_coder_pixels(s->cx, s->m, &picture, 1);
    heed_image_free(s->cx, &picture);
    const bool ok = x && heed_encode_pixels(s->cx, s->m->model, x, 1, at->mean, NULL);
    if (x) memcpy(s->pixels, x, (size_t)s->shape.numbers * sizeof *x);
    heed_mem_free(s->cx, x);
    s->near = ok;
    return ok;
}

/* Mean and deviation of the codes of a data set's pictures. */
static bool fit(struct sampling *s, const heed_picture_set *set, struct place *at) {
    heed_ctx *const cx = s->cx;
    const int64_t all = heed_picture_set_data(set)->n, n = all < FITTED ? all : FITTED, Z = s->shape.latent;
    float *const z = heed_mem_new(cx, (size_t)Z * sizeof *z);
    double *const sum = heed_mem_new(cx, 2 * (size_t)Z * sizeof *sum);
    if (sum) memset(sum, 0, 2 * (size_t)Z * sizeof *sum);
    for (int64_t i = 0; sum && i < n && !heed_cancelled(cx); i++) {
        heed_image picture;
        if (!heed_picture_set_read(cx, set, i, s->shape.channels, &picture)) break;
        float *const x = heed_coder_pixels(cx, s->m, &picture, 1);
        heed_image_free(cx, &picture);
        if (x && heed_encode_pixels(cx, s->m->model, x, 1, z, NULL))
            for (int64_t k = 0; k < Z; k++) sum[k] += (double)z[k], sum[Z + k] += (double)z[k] * (double)z[k];
        heed_mem_free(cx, x);
        if (heed_failed(cx)) break;
    }
    for (int64_t k = 0; sum && k < Z; k++) {
        const double mean = sum[k] / (double)n, square = sum[Z + k] / (double)n - mean * mean;
        at->mean[k] = (float)mean;
        at->deviation[k] = (float)sqrt(square > 0 ? square : 0);
    }
    heed_mem_free(cx, sum);
    heed_mem_free(cx, z);
    return !heed_failed(cx);
}

static bool find_place(struct sampling *s, struct place *at) {
    const char *const data = option_text(s->o, "data");
    for (int64_t k = 0; k < s->shape.latent; k++) at->mean[k] = 0, at->deviation[k] = 1;
    if (option_given(s->o, "near")) return near_picture(s, at);
    if (data) {
        heed_picture_set *const set = picture_data_load(s->cx, data, "train", &(heed_picture_set_opts){.loose = true});
        const bool ok = set && fit(s, set, at);
        heed_picture_set_free(s->cx, set);
        return ok;
    }
    return s->shape.variational ||
           heed_fail(
               s->cx, HEED_ERR_USAGE,
               "%s: a plain autoencoder has no distribution of codes: --near PICTURE draws around one, --data PATH "
               "from the codes of pictures",
               options_word(s->o, 0));
}

/* ---- a plane ---- */

static bool read_axes(struct sampling *s, int64_t axes[2]) {
    const char *const text = option_text(s->o, "axes");
    long long i, j;
    int end = 0;
    if (s->shape.latent < 2)
        return heed_fail(s->cx, HEED_ERR_USAGE, "%s: codes of one number have no plane", options_word(s->o, 0));
    if (sscanf(text, "%9lld,%9lld%n", &i, &j, &end) != 2 || text[end] || i < 1 || j < 1 || i > s->shape.latent ||
        j > s->shape.latent || i == j)
        return heed_fail(s->cx, HEED_ERR_USAGE, "sample: --axes: '%s' is not two different numbers from 1 to %lld",
                         text, (long long)s->shape.latent);
    axes[0] = i - 1;
    axes[1] = j - 1;
    return true;
}

/* The quantile of the normal distribution: Newton's method on its distribution function. */
static double quantile(double p) {
    double x = 0;
    for (int i = 0; i < 60; i++) {
        const double step = (0.5 * erfc(-x * sqrt(0.5)) - p) / (exp(-x * x / 2) * 0.39894228040143268);
        x -= fmax(-1, fmin(1, step));
    }
    return x;
}

/* Places in the middle of parts that are equally likely. */
static bool lay_grid(struct sampling *s, const struct place *at, double scale, float *z) {
    const int64_t side = s->columns, Z = s->shape.latent;
    int64_t axes[2];
    if (!read_axes(s, axes)) return false;
    for (int64_t i = 0; i < s->count; i++) {
        memcpy(z + i * Z, at->mean, (size_t)Z * sizeof *z);
        for (int a = 0; a < 2; a++) {
            const int64_t k = axes[a], step = a == 0 ? i % side : i / side;
            z[i * Z + k] += (float)(scale * quantile(((double)step + 0.5) / (double)side)) * at->deviation[k];
        }
    }
    return true;
}

static void draw_codes(const struct sampling *s, const struct place *at, double scale, float *z) {
    const int64_t Z = s->shape.latent;
    heed_random_normal(heed_seed(s->cx), STREAM, 0, z, s->count * Z);
    for (int64_t i = 0; i < s->count * Z; i++) z[i] = at->mean[i % Z] + (float)scale * at->deviation[i % Z] * z[i];
}

static bool draw(struct sampling *s) {
    heed_ctx *const cx = s->cx;
    const int64_t Z = s->shape.latent;
    const double scale = option_given(s->o, "scale")  ? option_number(s->o, "scale")
                         : option_given(s->o, "near") ? 0.5
                                                      : 1;
    float *const room = heed_mem_new(cx, (size_t)((2 + s->count) * Z) * sizeof *room);
    if (!room) return false;
    struct place at = {room, room + Z};
    float *const z = room + 2 * Z;
    bool ok = find_place(s, &at);
    if (ok && option_flag(s->o, "grid"))
        ok = lay_grid(s, &at, scale, z);
    else if (ok)
        draw_codes(s, &at, scale, z);
    ok = ok && heed_decode_codes(cx, s->m->model, z, s->count, s->pixels + s->shape.numbers);
    heed_mem_free(cx, room);
    return ok;
}

static bool open(struct sampling *s) {
    s->m = heed_picture_model_open(s->cx, options_word(s->o, 0), "autoencode");
    if (!s->m || !heed_coder_of(s->cx, s->m->model, &s->shape)) return false;
    if (option_flag(s->o, "grid")) {
        s->columns = option_given(s->o, "count") ? s->count : 20;
        s->count = s->columns * s->columns;
    }
    return true;
}

const struct sampler code_sampler = {
    .task = "autoencode", .what = "autoencoders", .own = code_options, .fits = fits, .open = open, .draw = draw};
