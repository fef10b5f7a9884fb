/* Pictures to codes and back. */
#include "heed/autoencode.h"
#include "base/text.h"
#include "model/core/families.h"
#include "task/task.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

#define AT_ONCE 256 /* pictures */

bool heed_coder_of(heed_ctx *cx, const heed_model *model, heed_coder *coder) {
    heed_picture_input input;
    if (heed_failed(cx)) return false;
    if (!model || !coder) return heed_fail(cx, HEED_ERR_USAGE, "coder: the %s is NULL", model ? "coder" : "model");
    if (!text_among(heed_model_head(model)->tasks, "autoencode"))
        return heed_fail(cx, HEED_ERR_USAGE, "a model of family %s is no autoencoder", heed_model_family(model)->name);
    if (!heed_picture_input_of(cx, model, &input)) return false;
    *coder = (heed_coder){.channels = input.channels,
                          .height = input.height,
                          .width = input.width,
                          .numbers = input.channels * input.height * input.width,
                          .latent = heed_json_int(cx, heed_model_config(model), "latent_size"),
                          .variational = heed_head_takes(heed_model_head(model), "noise")};
    return !heed_failed(cx);
}

/* What is computed in groups of at most AT_ONCE: rows of `in` under its name, rows of other outputs. */
struct part {
    const char *in;
    const float *from;
    int64_t width; /* of a row of `from` */
    struct {
        const char *name; /* NULL: nothing more */
        float *to;        /* NULL: not wanted */
        int64_t width;
    } out[2];
};

static bool run_part(heed_ctx *cx, const heed_model *model, const heed_coder *c, const struct part *p, int64_t at,
                     int64_t n) {
    const int64_t picture[] = {n, c->channels, c->height, c->width}, code[] = {n, c->latent};
    const bool codes = p->width == c->latent && strcmp(p->in, "latents") == 0;
    heed_io in = {0}, out = {0};
    if (!heed_io_put(cx, &in, p->in,
                     heed_borrow(cx, HEED_F32, p->from + at * p->width, codes ? 2 : 4, codes ? code : picture, NULL)) ||
        !heed_model_forward(cx, model, &in, &out))
        return false;
    for (int i = 0; i < 2 && p->out[i].name; i++) {
        const heed_tensor *const y = heed_io_get(&out, p->out[i].name);
        const int64_t width = p->out[i].width;
        if (!y) return heed_fail(cx, HEED_ERR_USAGE, "the model gives no %s", p->out[i].name);
        float *const to = p->out[i].to ? p->out[i].to + at * width : NULL;
        if (to && (!heed_copy_f32(cx, y, to, n * width) || !task_all_finite(cx, to, n * width))) return false;
    }
    return true;
}

static bool run_parts(heed_ctx *cx, const heed_model *model, const heed_coder *c, const struct part *p, int64_t n) {
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    for (int64_t at = 0; at < n && !heed_cancelled(cx); at += AT_ONCE) {
        heed_scope_begin(cx); /* what the caller is computing stays */
        const bool ok = run_part(cx, model, c, p, at, n - at < AT_ONCE ? n - at : AT_ONCE);
        heed_scope_end(cx, NULL);
        if (!ok) break;
    }
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return !heed_failed(cx);
}

bool heed_encode_pixels(heed_ctx *cx, const heed_model *model, const float *pixels, int64_t n, float *mu,
                        float *log_sigma) {
    heed_coder c;
    if (!heed_coder_of(cx, model, &c)) return false;
    if (!pixels || !mu || n < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "encode: pixels and a place for the codes are needed");
    const struct part p = {
        "pixel_values",
        pixels,
        c.numbers,
        {{c.variational ? "mu" : "latent", mu, c.latent}, {c.variational ? "log_sigma" : NULL, log_sigma, c.latent}}};
    return run_parts(cx, model, &c, &p, n);
}

bool heed_decode_codes(heed_ctx *cx, const heed_model *model, const float *codes, int64_t n, float *pixels) {
    heed_coder c;
    if (!heed_coder_of(cx, model, &c)) return false;
    if (!codes || !pixels || n < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "decode: codes and a place for the pixels are needed");
    const struct part p = {"latents", codes, c.latent, {{"reconstruction", pixels, c.numbers}}};
    return run_parts(cx, model, &c, &p, n);
}

float *heed_coder_pixels(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n) {
    heed_coder c;
    if (heed_failed(cx)) return NULL;
    if (!m || !pictures || n < 1) return heed_fail(cx, HEED_ERR_USAGE, "pixels: a model and pictures are needed"), NULL;
    if (!heed_coder_of(cx, m->model, &c)) return NULL;
    float *const to = heed_mem_new(cx, (size_t)(n * c.numbers) * sizeof *to);
    for (int64_t i = 0; to && i < n && !heed_failed(cx); i++) {
        int64_t channels, height, width;
        float *const x = heed_image_process(cx, &m->processor, &pictures[i], &channels, &height, &width);
        if (x && (channels != c.channels || height != c.height || width != c.width))
            heed_fail(cx, HEED_ERR_SHAPE,
                      "preprocessor_config.json makes pictures of %lld x %lld x %lld, not %d x %lld "
                      "x %lld, which the model takes",
                      (long long)channels, (long long)height, (long long)width, c.channels, (long long)c.height,
                      (long long)c.width);
        if (x && !heed_failed(cx)) memcpy(to + i * c.numbers, x, (size_t)c.numbers * sizeof *to);
        heed_mem_free(cx, x);
    }
    if (!heed_failed(cx)) return to;
    heed_mem_free(cx, to);
    return NULL;
}

/* ---- ways and sheets ---- */

static double length_of(const float *v, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)v[i] * (double)v[i];
    return sqrt(sum);
}

/* sin((1 - t) w) / sin w a / |a| + sin(t w) / sin w b / |b|, w the angle between them, of a length between theirs */
void heed_codes_between(const float *a, const float *b, int64_t latent, int64_t steps, bool spherical, float *out) {
    if (!a || !b || !out) return;
    const double from = length_of(a, latent), to = length_of(b, latent);
    double dot = 0;
    for (int64_t i = 0; i < latent; i++) dot += (double)a[i] * (double)b[i];
    const double cosine = from > 0 && to > 0 ? fmax(-1, fmin(1, dot / (from * to))) : 1, angle = acos(cosine);
    const bool bends = spherical && sin(angle) > 1e-6; /* else there is no one great circle */
    for (int64_t s = 0; s < steps; s++) {
        const double t = steps > 1 ? (double)s / (double)(steps - 1) : 0, length = (1 - t) * from + t * to;
        const double of_a = bends ? length * sin((1 - t) * angle) / sin(angle) / from : 1 - t,
                     of_b = bends ? length * sin(t * angle) / sin(angle) / to : t;
        for (int64_t i = 0; i < latent; i++) out[s * latent + i] = (float)(of_a * (double)a[i] + of_b * (double)b[i]);
    }
}

static bool picture_of(heed_ctx *cx, const heed_coder *c, const float *x, int64_t zoom, heed_image *out) {
    const int64_t pixels = c->height * c->width;
    heed_image small;
    if (!heed_image_new(cx, c->width, c->height, c->channels, &small)) return false;
    for (int64_t i = 0; i < c->numbers; i++) {
        const float v = x[i % c->channels * pixels + i / c->channels] * 255.0f;
        small.data[i] = (uint8_t)(v > 0 ? (v < 255 ? v + 0.5f : 255) : 0); /* what is no number is black */
    }
    if (zoom == 1) {
        *out = small;
        return true;
    }
    const bool ok = heed_image_resize(cx, &small, c->width * zoom, c->height * zoom, HEED_FILTER_NEAREST, NULL, out);
    heed_image_free(cx, &small);
    return ok;
}

bool heed_pixels_sheet(heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n, int64_t columns,
                       int64_t gap, int64_t zoom, heed_image *out) {
    if (heed_failed(cx)) return false;
    if (!coder || !pixels || !out || n < 1 || columns < 1 || zoom < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "sheet: pictures, and positive numbers of columns and of pixels");
    heed_image *const cell = heed_mem_new(cx, (size_t)n * sizeof *cell);
    if (!cell) return false;
    memset(cell, 0, (size_t)n * sizeof *cell);
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) ok = picture_of(cx, coder, pixels + i * coder->numbers, zoom, &cell[i]);
    ok = ok && heed_image_grid(cx, cell, n, columns < n ? columns : n, gap, out);
    for (int64_t i = 0; i < n; i++) heed_image_free(cx, &cell[i]);
    heed_mem_free(cx, cell);
    return ok;
}
