/* Scenes and a small detector: see detector.h. */
#include "lessons/detector.h"
#include "heed/attention.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 16, PIXELS = 3 * SCENE_SIDE * SCENE_SIDE };

/* ---- scenes ---- */

static const enum shape kinds[SCENE_CLASSES] = {SHAPE_SQUARE, SHAPE_TRIANGLE, SHAPE_RING};
const char *const scene_names[SCENE_CLASSES] = {"square", "triangle", "ring"};
/* How far each reaches from its centre, of its radius: to the left and right, up, down. */
static const double reach[SCENE_CLASSES][3] = {{0.8, 0.8, 0.8}, {0.866, 1, 0.5}, {1, 1, 1}};

struct draws {
    uint64_t seed, stream, at;
};
static double chance(struct draws *d) { return (double)heed_random_bits(d->seed, d->stream, d->at++) / 4294967296.0; }
static double between(struct draws *d, double low, double high) { return low + (high - low) * chance(d); }

static void draw_ground(uint8_t *to, struct draws *d) {
    const double tone = between(d, 25, 70), tint = between(d, -15, 15);
    for (int k = 0; k < SCENE_SIDE * SCENE_SIDE; k++) {
        const double grain = between(d, -10, 10);
        const double color[] = {tone + tint + grain, tone + grain, tone - tint + grain};
        for (int c = 0; c < 3; c++) to[3 * k + c] = (uint8_t)fmax(0, color[c]);
    }
}

/* One shape, away from those before it. False: there was no room. */
static bool place(struct scenes *s, int64_t i, struct draws *d, double circle[MAX_SHAPES][3]) {
    const int64_t at = s->objects[i];
    const double radius = between(d, 6, 10);
    const int kind = (int)(between(d, 0, SCENE_CLASSES));
    uint8_t color[3];
    for (int tries = 0; tries < 20; tries++) {
        const double x = between(d, radius, SCENE_SIDE - radius), y = between(d, radius, SCENE_SIDE - radius);
        bool free = true;
        for (int64_t k = 0; k < at; k++) free &= hypot(x - circle[k][0], y - circle[k][1]) > radius + circle[k][2] + 1;
        if (!free) continue;
        const double *const r = reach[kind];
        for (int c = 0; c < 3; c++) color[c] = (uint8_t)between(d, 110, 255);
        shape_draw(&s->p, i, kinds[kind], x, y, radius, 0, color);
        const double box[] = {x, y + radius * (r[2] - r[1]) / 2, 2 * radius * r[0], radius * (r[1] + r[2])};
        for (int k = 0; k < 4; k++) s->box[i][at][k] = (float)(box[k] / SCENE_SIDE);
        s->label[i][at] = kind;
        memcpy(circle[at], (double[]){x, y, radius}, sizeof circle[at]);
        s->objects[i]++;
        return true;
    }
    return false;
}

bool scenes_draw(struct lesson_run *r, uint64_t seed, int64_t n, struct scenes *s) {
    *s = (struct scenes){.label = lesson_room(r, n, sizeof *s->label),
                         .box = lesson_room(r, n, sizeof *s->box),
                         .objects = lesson_room(r, n, sizeof *s->objects)};
    if (heed_failed(r->cx) || !pictures_make(r, n, SCENE_SIDE, 3, SCENE_CLASSES, &s->p)) return false;
    for (int64_t i = 0; i < n; i++) {
        double circle[MAX_SHAPES][3];
        struct draws d = {seed, 9000 + (uint64_t)i, 0};
        draw_ground(pictures_at(&s->p, i), &d);
        const int wanted = chance(&d) < 0.5 ? 1 : 2;
        while (s->objects[i] < wanted && place(s, i, &d, circle)) {}
    }
    return true;
}

/* ---- the model ---- */

bool detector_open(struct lesson_run *r, struct detector *d) {
    static const char *const settings[] = {"use_timm_backbone=false",
                                           "backbone_config.layer_type=basic",
                                           "backbone_config.embedding_size=32",
                                           "backbone_config.hidden_sizes=32",
                                           "backbone_config.depths=1",
                                           "d_model=64",
                                           "encoder_layers=1",
                                           "decoder_layers=2",
                                           "encoder_ffn_dim=128",
                                           "decoder_ffn_dim=128",
                                           "encoder_attention_heads=4",
                                           "decoder_attention_heads=4",
                                           "dropout=0",
                                           "auxiliary_loss=true",
                                           "num_labels=3",
                                           "num_queries=6",
                                           "backbone=null"};
    const heed_family *const family = heed_family_find("conditional_detr");
    *d = (struct detector){.model = heed_model_new_as(r->cx, family, heed_head_for(family, "detect"), settings,
                                                      sizeof settings / sizeof *settings, r->seed)};
    if (!d->model) return false;
    heed_batch_norms_train(r->cx, heed_model_params(d->model), true);
    const heed_trainer_opts opts = {
        .optimizer = {.kind = HEED_ADAMW, .weight_decay = 1e-4},
        .schedule = {.kind = HEED_COSINE, .lr = 2e-3, .warmup = r->steps / 20, .steps = r->steps, .floor = 0.02},
        .clip = 0.1};
    d->trainer = heed_trainer_new(r->cx, heed_model_params(d->model), &opts);
    return d->trainer;
}

void detector_close(struct lesson_run *r, struct detector *d) {
    heed_trainer_free(r->cx, d->trainer);
    heed_model_free(r->cx, d->model);
    *d = (struct detector){.model = NULL};
}

static heed_tensor *pixels_of(heed_ctx *cx, const struct scenes *s, int64_t first, int64_t n) {
    static const float half[3] = {0.5F, 0.5F, 0.5F};
    float *const x = heed_mem_new(cx, (size_t)(n * PIXELS) * sizeof *x);
    for (int64_t i = 0; x && i < n; i++) {
        const heed_image image = {SCENE_SIDE, SCENE_SIDE, 3, pictures_at(&s->p, first + i)};
        heed_image_to_floats(&image, 1.0 / 255, half, half, x + i * PIXELS);
    }
    heed_tensor *const t = x ? heed_from_f32(cx, x, 4, (int64_t[]){n, 3, SCENE_SIDE, SCENE_SIDE}) : NULL;
    heed_mem_free(cx, x);
    return t;
}

static bool put_targets(heed_ctx *cx, const struct scenes *s, int64_t first, heed_io *in) {
    for (int64_t i = 0; i < BATCH; i++) {
        char name[48];
        const int64_t shape[] = {s->objects[first + i], 4};
        snprintf(name, sizeof name, "labels.%lld.class_labels", (long long)i);
        if (!heed_io_put(cx, in, name, heed_from_i32(cx, s->label[first + i], 1, shape))) return false;
        snprintf(name, sizeof name, "labels.%lld.boxes", (long long)i);
        if (!heed_io_put(cx, in, name, heed_from_f32(cx, s->box[first + i][0], 2, shape))) return false;
    }
    return true;
}

bool detector_learn(struct lesson_run *r, struct detector *d, const struct scenes *s, int64_t steps) {
    heed_ctx *const cx = r->cx;
    for (const int64_t end = d->step + steps; d->step < end && !heed_failed(cx); d->step++) {
        const int64_t first = d->step * BATCH % (s->p.n - BATCH + 1);
        heed_io in = {0}, out;
        heed_trainer_begin(cx, d->trainer);
        heed_set_step(cx, (uint64_t)d->step);
        if (!heed_io_put(cx, &in, "pixel_values", pixels_of(cx, s, first, BATCH)) || !put_targets(cx, s, first, &in) ||
            !heed_model_forward(cx, d->model, &in, &out))
            break;
        const double loss = (double)lesson_learn(cx, d->trainer, heed_io_get(&out, "loss"));
        if (d->step == 0) d->first = d->loss = loss;
        d->loss += 0.05 * (loss - d->loss);
        if (d->step % 8 == 0) lesson_progress(r, "learning, step", d->step, r->steps);
    }
    heed_set_training(cx, false);
    return !heed_failed(cx);
}

/* ---- what it says ---- */

static void take(const struct seen *to, const heed_io *out, const heed_capture_map *map, int64_t n) {
    const float *const logits = heed_f32(heed_io_get(out, "logits")), *const boxes =
                                                                          heed_f32(heed_io_get(out, "pred_boxes"));
    struct seen *const seen = (struct seen *)(uintptr_t)to;
    for (int64_t i = 0; logits && boxes && i < n; i++)
        for (int q = 0; q < DETECTOR_QUERIES; q++) {
            for (int c = 0; c < SCENE_CLASSES; c++)
                seen[i].p[q][c] = 1 / (1 + expf(-logits[(i * DETECTOR_QUERIES + q) * SCENE_CLASSES + c]));
            memcpy(seen[i].box[q], boxes + (i * DETECTOR_QUERIES + q) * 4, sizeof seen[i].box[q]);
            for (int64_t h = 0; h < map->heads; h++)
                for (int k = 0; k < DETECTOR_CELLS; k++)
                    seen[i].look[q][k] +=
                        map->weights[((i * map->heads + h) * map->rows + q) * map->keys + k] / (float)map->heads;
        }
}

bool detector_look(struct lesson_run *r, const struct detector *d, const struct scenes *s, int64_t first, int64_t n,
                   struct seen *seen) {
    heed_ctx *const cx = r->cx;
    memset(seen, 0, (size_t)n * sizeof *seen);
    heed_set_grad(cx, false);
    for (int64_t at = 0; at < n && !heed_failed(cx); at += BATCH) {
        const int64_t some = n - at < BATCH ? n - at : BATCH;
        heed_io in = {0}, out;
        heed_capture_begin(cx, &(heed_capture_opts){.site = "cross"});
        if (heed_io_put(cx, &in, "pixel_values", pixels_of(cx, s, first + at, some)) &&
            heed_model_forward(cx, d->model, &in, &out)) {
            const heed_capture_map *const map = heed_capture_at(cx, heed_capture_count(cx) - 1);
            if (map->rows == DETECTOR_QUERIES && map->keys == DETECTOR_CELLS)
                take(seen + at, &out, map, some);
            else
                heed_fail(cx, HEED_ERR_SHAPE, "object-queries: maps of %lld x %lld", (long long)map->rows,
                          (long long)map->keys);
        }
        heed_capture_end(cx);
        heed_reset(cx);
    }
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}
