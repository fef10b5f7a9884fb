/* Small pictures, shapes in them, and a small ViT: see vit.h. */
#include "lessons/vit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DRAWS = 701 }; /* the stream of random numbers for batches */

/* ---- pictures ---- */

bool pictures_make(struct lesson_run *r, int64_t n, int64_t side, int channels, int classes, struct pictures *p) {
    *p = (struct pictures){
        n, side, channels, classes, lesson_room(r, n * side * side * channels, 1), lesson_room(r, n, sizeof(int32_t))};
    return p->bytes && p->label;
}

bool pictures_digits(struct lesson_run *r, uint64_t seed, int64_t n, struct pictures *p) {
    heed_data *data = heed_data_digits(r->cx, seed, n);
    const bool ok = data && pictures_make(r, n, data->image_height, 1, (int)data->classes, p);
    for (int64_t i = 0; ok && i < n; i++) p->label[i] = data->label[i];
    if (ok) memcpy(p->bytes, data->bytes, (size_t)(n * data->width));
    heed_data_free(r->cx, data);
    return ok;
}

uint8_t *pictures_at(const struct pictures *p, int64_t i) { return p->bytes + i * p->side * p->side * p->channels; }

void pictures_rgb(const struct pictures *p, int64_t i, float *out) {
    const uint8_t *at = pictures_at(p, i);
    for (int64_t k = 0; k < p->side * p->side; k++)
        for (int c = 0; c < 3; c++) out[3 * k + c] = (float)at[k * p->channels + (p->channels > 2 ? c : 0)] / 255;
}

void pictures_grey(const struct pictures *p, int64_t i, float *out) {
    const uint8_t *at = pictures_at(p, i);
    for (int64_t k = 0; k < p->side * p->side; k++, at += p->channels)
        out[k] = p->channels > 2 ? (0.299f * (float)at[0] + 0.587f * (float)at[1] + 0.114f * (float)at[2]) / 255
                                 : (float)at[0] / 255;
}

/* ---- shapes ---- */

const char *const shape_names[SHAPES] = {"disc", "square", "triangle", "cross", "ring", "star"};

/* Is (x, y) inside the shape of radius 1? */
static bool inside(enum shape shape, double x, double y) {
    const double away = hypot(x, y);
    switch (shape) {
    case SHAPE_SQUARE:
        return fmax(fabs(x), fabs(y)) < 0.8;
    case SHAPE_TRIANGLE:
        return y < 0.5 && y > -1 + sqrt(3) * fabs(x);
    case SHAPE_CROSS:
        return fmin(fabs(x), fabs(y)) < 0.3 && fmax(fabs(x), fabs(y)) < 0.95;
    case SHAPE_RING:
        return away < 1 && away > 0.55;
    case SHAPE_STAR: { /* straight edges between five tips and five corners between them */
        const double sector = 2 * M_PI / 5;
        double turn = fabs(remainder(atan2(x, -y), sector));
        const double px = away * cos(turn), py = away * sin(turn);
        const double corner = 0.42, cx = corner * cos(sector / 2), cy = corner * sin(sector / 2);
        return (1 - px) * cy - py * (1 - cx) > 0;
    }
    default:
        return away < 0.9;
    }
}

void shape_draw(const struct pictures *p, int64_t i, enum shape shape, double x, double y, double radius, double angle,
                const uint8_t color[3]) {
    enum { FINE = 4 }; /* FINE x FINE places of a pixel are looked at */
    const double c = cos(angle), s = sin(angle);
    uint8_t *at = pictures_at(p, i);
    for (int64_t k = 0; k < p->side * p->side; k++, at += p->channels) {
        int hits = 0;
        if (fmax(fabs((double)(k % p->side) - x), fabs((double)(k / p->side) - y)) > radius + 2) continue;
        for (int f = 0; f < FINE * FINE; f++) {
            const double dx = ((double)(k % p->side) + (f % FINE + 0.5) / FINE - x) / radius;
            const double dy = ((double)(k / p->side) + ((f - f % FINE) / FINE + 0.5) / FINE - y) / radius;
            hits += inside(shape, c * dx + s * dy, c * dy - s * dx);
        }
        for (int j = 0; hits > 0 && j < p->channels; j++)
            at[j] = (uint8_t)((at[j] * (FINE * FINE - hits) + color[j] * hits) / (FINE * FINE));
    }
}

/* ---- the network ---- */

/* One hidden layer on the pixels, for comparison and where time is short. */
static heed_model *make_mlp(struct lesson_run *r, const struct pictures *p, const struct vit *v, uint64_t seed) {
    char text[4][48];
    snprintf(text[0], sizeof *text, "input_size=%lld", (long long)(p->channels * p->side * p->side));
    snprintf(text[1], sizeof *text, "output_size=%d", p->classes);
    snprintf(text[2], sizeof *text, "hidden_sizes=%lld", (long long)v->width);
    snprintf(text[3], sizeof *text, "task=classify");
    return heed_model_new(r->cx, heed_family_find("mlp"), (const char *[]){text[0], text[1], text[2], text[3]}, 4,
                          seed);
}

bool vit_open(struct lesson_run *r, const struct pictures *p, uint64_t seed, struct vit *v) {
    const heed_family *family = heed_family_find("vit");
    char text[8][48];
    const char *settings[8];
    if (v->layers == 0) return (v->model = make_mlp(r, p, v, seed));
    v->grid = p->side / v->patch;
    snprintf(text[0], sizeof *text, "image_size=%lld", (long long)p->side);
    snprintf(text[1], sizeof *text, "patch_size=%lld", (long long)v->patch);
    snprintf(text[2], sizeof *text, "num_channels=%d", p->channels);
    snprintf(text[3], sizeof *text, "hidden_size=%lld", (long long)v->width);
    snprintf(text[4], sizeof *text, "intermediate_size=%lld", (long long)(2 * v->width));
    snprintf(text[5], sizeof *text, "num_hidden_layers=%d", v->layers);
    snprintf(text[6], sizeof *text, "num_attention_heads=%d", v->heads);
    snprintf(text[7], sizeof *text, "num_labels=%d", p->classes);
    for (int i = 0; i < 8; i++) settings[i] = text[i];
    v->model = heed_model_new_as(r->cx, family, heed_head_for(family, "classify"), settings, 8, seed);
    return v->model;
}

void vit_close(struct lesson_run *r, struct vit *v) {
    heed_model_free(r->cx, v->model);
    v->model = NULL;
}

static heed_image image_of(const struct pictures *p, int64_t i) {
    return (heed_image){p->side, p->side, p->channels, pictures_at(p, i)};
}

static void to_floats(const heed_image *image, float *out) {
    static const float half[3] = {0.5f, 0.5f, 0.5f};
    heed_image_to_floats(image, 1.0 / 255, half, half, out);
}

static bool change(heed_ctx *cx, const struct vit_course *c, const struct pictures *p, const heed_image *plain,
                   int64_t epoch, int64_t i, float *out) {
    heed_image changed;
    if (!heed_image_augment(cx, c->augment, plain, p->side, p->side, c->seed, epoch, i, &changed)) return false;
    to_floats(&changed, out);
    heed_image_free(cx, &changed);
    heed_floats_erase(c->augment, out, p->channels, p->side, p->side, c->seed, epoch, i);
    return true;
}

/* Pictures first to first + n of the set, or those of `rows`, as pixel values; augmented for a course. */
static heed_tensor *pixels_of(heed_ctx *cx, const struct pictures *p, const int64_t *rows, int64_t first, int64_t n,
                              const struct vit_course *c, int64_t epoch) {
    const int64_t size = p->channels * p->side * p->side;
    float *x = heed_mem_new(cx, (size_t)(n * size) * sizeof *x);
    bool ok = x;
    for (int64_t i = 0; ok && i < n; i++) {
        const heed_image plain = image_of(p, rows ? rows[i] : first + i);
        if (c && c->augment)
            ok = change(cx, c, p, &plain, epoch, i, x + i * size);
        else
            to_floats(&plain, x + i * size);
    }
    heed_tensor *t = ok ? heed_from_f32(cx, x, 4, (int64_t[]){n, p->channels, p->side, p->side}) : NULL;
    heed_mem_free(cx, x);
    return t;
}

static void put_pixels(heed_ctx *cx, const struct vit *v, heed_tensor *x, heed_io *in) {
    if (v->layers == 0 && x) x = heed_reshape(cx, x, 2, (int64_t[]){heed_dim(x, 0), -1});
    heed_io_put(cx, in, v->layers == 0 ? "x" : "pixel_values", x);
}

bool vit_learn(struct lesson_run *r, struct vit *v, const struct pictures *p, const struct vit_course *c) {
    heed_ctx *cx = r->cx;
    int64_t *rows = lesson_room(r, c->batch, sizeof *rows);
    int32_t *labels = lesson_room(r, c->batch, sizeof *labels);
    heed_trainer *trainer = heed_trainer_new(
        cx, heed_model_params(v->model),
        &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.05},
                             .schedule = {.kind = HEED_COSINE, .lr = c->lr, .warmup = c->steps / 10, .steps = c->steps},
                             .clip = 1});
    heed_set_training(cx, true);
    for (int64_t step = 0; trainer && rows && labels && step < c->steps && !heed_failed(cx); step++) {
        heed_io in = {.loss_only = true}, out = {0};
        for (int64_t i = 0; i < c->batch; i++) {
            const uint32_t bits = heed_random_bits(c->seed, DRAWS, (uint64_t)(step * c->batch + i));
            rows[i] = (int64_t)(bits * 0x1p-32 * (double)c->n);
            labels[i] = p->label[rows[i]];
        }
        heed_trainer_begin(cx, trainer);
        put_pixels(cx, v, pixels_of(cx, p, rows, 0, c->batch, c, step), &in);
        heed_io_put(cx, &in, "labels", heed_from_i32(cx, labels, 1, &c->batch));
        if (heed_failed(cx) || !heed_model_forward(cx, v->model, &in, &out)) break;
        const float loss = lesson_learn(cx, trainer, heed_io_get(&out, "loss"));
        if (c->loss) c->loss[step] = loss;
        if (c->progress && step % 8 == 0) lesson_progress(r, c->progress, step, c->steps);
    }
    if (c->progress) lesson_progress(r, "", 1, 1);
    heed_set_training(cx, false);
    heed_trainer_free(cx, trainer);
    return !heed_failed(cx);
}

double vit_accuracy(struct lesson_run *r, const struct vit *v, const struct pictures *p, int32_t *answers) {
    enum { BATCH = 100 };
    heed_ctx *cx = r->cx;
    int64_t right = 0;
    heed_set_grad(cx, false);
    for (int64_t first = 0; first < p->n && !heed_failed(cx); first += BATCH) {
        const int64_t n = p->n - first < BATCH ? p->n - first : BATCH;
        heed_io in = {0}, out = {0};
        put_pixels(cx, v, pixels_of(cx, p, NULL, first, n, NULL, 0), &in);
        if (heed_failed(cx) || !heed_model_forward(cx, v->model, &in, &out)) break;
        const float *logits = heed_f32(heed_contiguous(cx, heed_io_get(&out, "logits")));
        for (int64_t i = 0; logits && i < n; i++) {
            const int64_t best = lesson_winner(logits + i * p->classes, p->classes);
            right += best == p->label[first + i];
            if (answers) answers[first + i] = (int32_t)best;
        }
        heed_reset(cx);
    }
    heed_reset(cx);
    heed_set_grad(cx, true);
    return (double)right / (double)p->n;
}

bool vit_attention(struct lesson_run *r, const struct vit *v, const struct pictures *p, int64_t i, float *maps) {
    heed_ctx *cx = r->cx;
    const int64_t tokens = v->grid * v->grid + 1;
    heed_io in = {0}, out = {0};
    heed_set_grad(cx, false);
    heed_capture_begin(cx, NULL);
    put_pixels(cx, v, pixels_of(cx, p, NULL, i, 1, NULL, 0), &in);
    const bool ok = !heed_failed(cx) && heed_model_forward(cx, v->model, &in, &out);
    memset(maps, 0, (size_t)(v->layers * tokens * tokens) * sizeof *maps);
    for (int l = 0; ok && l < v->layers && l < heed_capture_count(cx); l++) {
        const heed_capture_map *m = heed_capture_at(cx, l);
        for (int64_t k = 0; k < m->heads * tokens * tokens; k++)
            maps[l * tokens * tokens + k % (tokens * tokens)] += m->weights[k] / (float)m->heads;
    }
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return ok;
}
