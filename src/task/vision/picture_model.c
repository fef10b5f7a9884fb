/* Using a model of pictures: a directory with its processor, pictures in, answers out. Pictures of one size are run
 * together; since an element of a product does not depend on the number of rows, batches do not change an answer. */
#include "task/vision/picture_model.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/text.h"
#include "heed/attend.h"
#include "heed/picture_training.h"
#include "heed/vision.h"
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/core/opened.h"
#include "model/core/place.h"
#include "task/run.h"
#include "task/task.h"
#include "task/vision/picture_files.h"
#include "task/vision/vector_pictures.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* Pixels of a batch. What the layers make of one picture of this size stays in the caches of a core, which takes a
 * fifth less time than with more of them; several threads have more to share out, and lose less than they gain. */
#define PIXELS_ONE  (224 * 224)
#define PIXELS_MANY (16 * PIXELS_ONE)
#define MOST        256 /* pictures of one */

/* ---- opening ---- */

bool heed_picture_processor(heed_ctx *cx, const heed_model *model, const char *dir, heed_image_processor *out,
                            bool *assumed) {
    heed_picture_input input;
    if (heed_failed(cx)) return false;
    if (!heed_model_takes(model, "pixel_values") || !dir || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "picture_processor: a model of pictures and its directory are needed");
    if (!heed_picture_input_of(cx, model, &input)) return false;
    if (!picture_files_processor(cx, model, dir, &input, out, assumed)) return false;
    if (out->channels == 0) out->channels = input.channels;
    if (out->channels != input.channels)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: pictures are prepared with %d channel%s, and the model takes %d",
                         dir, out->channels, out->channels == 1 ? "" : "s", input.channels);
    if (input.channels == 4)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: the model takes 4 channels, and pictures are read with 1 or 3", dir);
    return true;
}

static heed_model *load(heed_ctx *cx, const heed_directory *d, const heed_task *task) {
    const char *const dir = heed_directory_path(d);
    const bool embeds = task == &task_of_embed;
    const heed_head *const head = directory_head(cx, d);
    if (!head) return NULL;
    const bool vectors = text_among(head->inputs, "x") && !embeds;
    if (!text_among(head->inputs, "pixel_values") && !vectors) {
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s is no model of pictures", dir, head->architecture);
        return NULL;
    }
    const bool taught = text_among(head->tasks, "distil"); /* DeiT with a teacher */
    if (!embeds && !taught && !text_among(head->tasks, task->name)) {
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s is not for %s", dir, head->architecture, task->name);
        return NULL;
    }
    /* without a body alone the head says what it saw */
    const bool body = embeds && heed_head_for(heed_directory_family(d), task->name);
    return heed_directory_model(cx, d, &(heed_load_opts){.task = body ? task->name : NULL, .map = true, .pack = true});
}

/* Parameters of the body come first, so that the output layer is the last linear one, where that is the head's: marked
 * so or, in transformers' layout, without the body's prefix. */
int64_t heed_picture_classes(const heed_model *model) {
    if (!heed_model_takes(model, "pixel_values") || heed_model_head(model)->bare) return 0;
    const heed_family *const family = heed_model_family(model);
    const char *const base = family->timm ? NULL : family->base;
    const heed_params *const params = heed_model_params(model);
    for (int i = heed_params_count(params) - 1; i >= 0; i--) {
        const heed_param *const p = heed_params_at(params, i);
        if (!p->linear || p->lora) continue;
        return p->head || (base && strncmp(p->name, base, strlen(base)) != 0) ? p->shape[0] : 0;
    }
    return 0;
}

/* detects: each query has the classes of the config, and "no object" beside them or not. */
static bool read_labels(heed_ctx *cx, const char *dir, bool detects, heed_picture_model *m) {
    m->labels = detects ? config_labels(cx, heed_model_config(m->model)) : heed_picture_classes(m->model);
    if (m->labels == 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: the model has no classes; 'heed embed' gives its features", dir);
    m->label = heed_model_labels(cx, m->model, m->labels);
    return !heed_failed(cx);
}

/* Models that were trained to classify lack the pooler of transformers' bare ones: then it is as it was drawn. */
static int pooling_of(heed_ctx *cx, const char *dir, const heed_model *model) {
    const heed_params *const params = heed_model_params(model);
    for (int i = 0; i < heed_params_count(params); i++)
        if (heed_params_at(params, i)->fresh && strncmp(heed_params_at(params, i)->name, "pooler.", 7) == 0) {
            heed_note(cx, HEED_LOG_WARN, "%s: no weights of a pooler: vectors are those of the class token", dir);
            return HEED_POOL_CLS;
        }
    return -1;
}

heed_picture_model *heed_picture_model_open(heed_ctx *cx, const char *dir, const char *name) {
    if (heed_failed(cx)) return NULL;
    const heed_task *const task = heed_task_find(name);
    const heed_task *const known[] = {&task_of_classify, &task_of_embed, &task_of_detect, &task_of_autoencode};
    bool may = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) may |= task == known[i];
    if (!dir || !may) {
        heed_fail(cx, HEED_ERR_USAGE,
                  "picture_model: a directory and a task, classify, embed, detect or autoencode, are needed");
        return NULL;
    }
    heed_directory *const d = heed_directory_open(cx, dir);
    heed_picture_model *const m = d ? heed_mem_new(cx, sizeof *m) : NULL;
    if (m) *m = (heed_picture_model){.pooling = -1, .model = load(cx, d, task)};
    heed_directory_close(cx, d);
    if (!m) return NULL;
    if (m->model && !heed_model_takes(m->model, "pixel_values")) {
        vector_pictures_set(cx, dir, m);
    } else if (m->model && heed_picture_processor(cx, m->model, dir, &m->processor, &m->assumed)) {
        if (task == &task_of_embed)
            m->pooling = pooling_of(cx, dir, m->model);
        else if (task != &task_of_autoencode)
            read_labels(cx, dir, task == &task_of_detect, m);
    }
    if (!heed_failed(cx)) return m;
    heed_picture_model_free(cx, m);
    return NULL;
}

void heed_picture_model_free(heed_ctx *cx, heed_picture_model *m) {
    if (!m) return;
    heed_mem_free(cx, m->label);
    heed_model_free(cx, m->model);
    heed_mem_free(cx, m);
}

bool heed_picture_load(heed_ctx *cx, const char *path, int channels, heed_image *out) {
    if (heed_failed(cx)) return false;
    struct stat what; /* a pipe may never say anything, a device never end */
    if (path && stat(path, &what) == 0 && !S_ISREG(what.st_mode) && !S_ISDIR(what.st_mode))
        return heed_fail(cx, HEED_ERR_FILE, "%s: not a regular file", path);
    return heed_image_read(cx, path, &(heed_image_opts){.mode = (heed_image_mode)channels, .orient = true}, out);
}

bool heed_picture_read(heed_ctx *cx, const heed_picture_model *m, const char *path, heed_image *out) {
    if (heed_failed(cx)) return false;
    if (!m) return heed_fail(cx, HEED_ERR_USAGE, "picture_read: there is no model");
    if (!heed_picture_load(cx, path, m->processor.channels, out)) return false;
    if (!heed_model_takes(m->model, "x") || vector_pictures_adapt(cx, m, path, out)) return true;
    heed_image_free(cx, out);
    return false;
}

/* ---- running ---- */

/* pixel_values, or x, (n,C,H,W) of pictures that all become C x H x W. */
static heed_tensor *pixels_of(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t first,
                              int64_t n, const int64_t size[3]) {
    const int64_t one = size[0] * size[1] * size[2];
    float *const to = heed_mem_new(cx, (size_t)(n * one) * sizeof *to);
    for (int64_t i = 0; to && i < n && !heed_failed(cx); i++) {
        float *const values = heed_image_process(cx, &m->processor, &pictures[first + i], NULL, NULL, NULL);
        if (values)
            memcpy(to + i * one, values, (size_t)one * sizeof *to);
        else
            heed_fail_in(cx, "picture %lld", (long long)(first + i + 1));
        heed_mem_free(cx, values);
    }
    heed_tensor *const x = heed_from_f32(cx, to, 4, (int64_t[]){n, size[0], size[1], size[2]});
    heed_mem_free(cx, to);
    return x;
}

static bool size_of(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t i, int64_t size[3]) {
    return heed_image_processor_size(cx, &m->processor, &pictures[i], &size[0], &size[1], &size[2]) ||
           heed_fail_in(cx, "picture %lld", (long long)i + 1);
}

/* The pictures from `first` on that become one size, as many as are run together. */
static int64_t alike(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t first, int64_t n,
                     int64_t size[3]) {
    int64_t count = 1, next[3];
    if (!size_of(cx, m, pictures, first, size)) return 0;
    const int64_t at_once = heed_threads(cx) > 1 ? PIXELS_MANY : PIXELS_ONE,
                  pixels = size[1] > at_once / size[2] ? at_once : size[1] * size[2],
                  most = at_once / pixels < MOST ? at_once / pixels : MOST;
    while (count < most && first + count < n && size_of(cx, m, pictures, first + count, next) &&
           memcmp(next, size, sizeof next) == 0)
        count++;
    return heed_failed(cx) ? 0 : count;
}

bool picture_model_run(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n, bool states,
                       picture_take take, void *own) {
    if (heed_failed(cx)) return false;
    if (!m || n < 0 || (n > 0 && !pictures))
        return heed_fail(cx, HEED_ERR_USAGE, "pictures: a model and pictures are needed");
    const bool was = heed_set_grad(cx, false);
    for (int64_t i = 0, count; i < n && !heed_cancelled(cx); i += count) {
        int64_t size[3];
        if ((count = alike(cx, m, pictures, i, n, size)) == 0) break;
        heed_io in = {.states = states}, out = {0};
        heed_scope_begin(cx);
        const char *const name = heed_model_takes(m->model, "pixel_values") ? "pixel_values" : "x";
        const bool ok = heed_io_put(cx, &in, name, pixels_of(cx, m, pictures, i, count, size)) &&
                        heed_model_forward(cx, m->model, &in, &out) && take(cx, own, i, count, size + 1, &out);
        heed_scope_end(cx, NULL);
        if (!ok) break;
    }
    heed_set_grad(cx, was);
    return !heed_failed(cx);
}

/* ---- classes ---- */

struct classes {
    float *out;
    int64_t labels;
};

static bool take_logits(heed_ctx *cx, void *own, int64_t first, int64_t n, const int64_t size[2], const heed_io *out) {
    const struct classes *const c = own;
    heed_tensor *logits = heed_io_get(out, "logits");
    (void)size;
    if (!logits || !(logits = heed_contiguous(cx, logits)) || heed_rank(logits) != 2 ||
        heed_dim(logits, 1) != c->labels)
        return heed_failed(cx) ? false
                               : heed_fail(cx, HEED_ERR_USAGE, "classify: the model does not classify whole pictures");
    memcpy(c->out + first * c->labels, heed_f32(logits), (size_t)(n * c->labels) * sizeof *c->out);
    return true;
}

bool heed_classify_pictures(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n,
                            float *out) {
    struct classes c = {out, m ? m->labels : 0};
    if (!picture_model_run(cx, m, pictures, n, false, take_logits, &c) || !task_all_finite(cx, out, n * c.labels))
        return false;
    const char *const problem = heed_json_text_or(cx, heed_model_config(m->model), "problem_type", "");
    const bool several = problem && strcmp(problem, "multi_label_classification") == 0;
    for (int64_t i = 0; i < n && c.labels > 1; i++) {
        float *const p = out + i * c.labels;
        if (!several) task_softmax(p, c.labels);
        for (int64_t j = 0; several && j < c.labels; j++) p[j] = (float)(1 / (1 + exp(-(double)p[j])));
    }
    return !heed_failed(cx);
}

/* ---- vectors ---- */

struct vectors {
    const heed_picture_model *m;
    float *out; /* made when the width is known */
    int64_t n, width;
};

/* h (T,width): the class token's, or the mean or maximum over the patches. */
static void pool(const float *h, int64_t T, int64_t first, int64_t width, int pooling, float *to) {
    if (pooling == HEED_POOL_CLS) {
        memcpy(to, h, (size_t)width * sizeof *to);
        return;
    }
    for (int64_t j = 0; j < width; j++) {
        double sum = 0, most = (double)h[first * width + j];
        for (int64_t i = first; i < T; i++) {
            sum += (double)h[i * width + j];
            most = fmax(most, (double)h[i * width + j]);
        }
        to[j] = (float)(pooling == HEED_POOL_MAX ? most : sum / (double)(T - first));
    }
}

/* (n,T,width) of the last hidden states, whatever grid they lie in; *first: the tokens before the patches. */
static const float *states_of(heed_ctx *cx, const struct vectors *v, const int64_t size[2], const heed_io *out,
                              int64_t *T, int64_t *first, int64_t *width) {
    heed_tensor *h = heed_io_get(out, "last_hidden_state");
    const heed_head *const head = heed_model_head(v->m->model);
    struct picture_place place = {0};
    if (!h || heed_rank(h) < 3 || !head->place || !head->place(model_own(v->m->model), size, NULL, &place)) {
        heed_fail(cx, HEED_ERR_USAGE, "embed: a model of family %s gives no hidden states of a picture",
                  heed_model_family(v->m->model)->name);
        return NULL;
    }
    if (!(h = heed_contiguous(cx, h))) return NULL;
    *width = heed_dim(h, heed_rank(h) - 1);
    *T = heed_rank(h) == 4 ? heed_dim(h, 1) * heed_dim(h, 2) : heed_dim(h, 1);
    *first = place.classes + place.distillations + place.registers;
    if (v->m->pooling == HEED_POOL_CLS && place.classes == 0) {
        heed_fail(cx, HEED_ERR_USAGE, "embed: --pooling cls: a model of family %s has no class token",
                  heed_model_family(v->m->model)->name);
        return NULL;
    }
    return heed_f32(h);
}

static bool make_room(heed_ctx *cx, struct vectors *v, int64_t width) {
    size_t bytes;
    if (v->out && width == v->width) return true;
    if (v->out || !size_mul((size_t)v->n * sizeof *v->out, (size_t)width, &bytes))
        return heed_fail(cx, HEED_ERR_SHAPE, "embed: vectors of %lld numbers", (long long)width);
    v->width = width;
    return (v->out = heed_mem_new(cx, bytes + 1)) != NULL;
}

static bool take_vectors(heed_ctx *cx, void *own, int64_t first, int64_t n, const int64_t size[2], const heed_io *out) {
    struct vectors *const v = own;
    static const char *const names[] = {"pooler_output", "mu", "latent"}; /* the last two: codes of autoencoders */
    heed_tensor *pooled = NULL;
    for (size_t i = 0; !pooled && v->m->pooling < 0 && i < sizeof names / sizeof *names; i++)
        pooled = heed_io_get(out, names[i]);
    if (pooled && heed_rank(pooled) == 2) {
        if (!(pooled = heed_contiguous(cx, pooled)) || !make_room(cx, v, heed_dim(pooled, 1))) return false;
        memcpy(v->out + first * v->width, heed_f32(pooled), (size_t)(n * v->width) * sizeof *v->out);
        return true;
    }
    int64_t T, before, width;
    const float *const h = states_of(cx, v, size, out, &T, &before, &width);
    if (!h || !make_room(cx, v, width)) return false;
    for (int64_t i = 0; i < n; i++)
        pool(h + i * T * width, T, before, width, v->m->pooling, v->out + (first + i) * width);
    return true;
}

float *heed_embed_pictures(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n,
                           int64_t *width) {
    struct vectors v = {.m = m, .n = n};
    if (heed_failed(cx)) return NULL;
    if (n < 1) return heed_fail(cx, HEED_ERR_USAGE, "embed: there are no pictures"), NULL;
    if (picture_model_run(cx, m, pictures, n, true, take_vectors, &v) && task_all_finite(cx, v.out, n * v.width)) {
        for (int64_t i = 0; i < n && m->normalise; i++) task_unit_length(v.out + i * v.width, v.width);
        if (width) *width = v.width;
        return v.out;
    }
    heed_mem_free(cx, v.out);
    return NULL;
}
