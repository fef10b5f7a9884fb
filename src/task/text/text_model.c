/* Using a model of text: a directory with its tokenizer, texts in, answers out. */
#include "base/ctx.h"
#include "base/file.h"
#include "base/text.h"
#include "heed/attend.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "task/task.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- opening ---- */

/* sentence-transformers' files, where there are any: how to pool, and how long texts may be. What changes the vectors
 * and is not known is refused. */

static bool read_modules(heed_ctx *cx, const char *dir, heed_text_model *m) {
    char path[PATH_ROOM];
    if (!directory_has(dir, MODULES_FILE)) return true;
    const heed_json modules = directory_path(cx, dir, MODULES_FILE, path) ? heed_json_open(cx, path) : (heed_json){0};
    for (heed_json v = heed_json_first(modules); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *const type = heed_json_text_or(cx, v, "type", ""), *const dot = type ? strrchr(type, '.') : NULL;
        const char *const name = dot ? dot + 1 : type;
        if (!name) break;
        if (strcmp(name, "Normalize") == 0)
            m->normalise = true;
        else if (!text_among("Transformer Pooling", name))
            heed_json_fail(cx, v, "'%s' of sentence-transformers is not known; Transformer, Pooling and Normalize are",
                           escaped(name).s);
    }
    heed_json_free(modules);
    return !heed_failed(cx);
}

static void take_mode(heed_ctx *cx, heed_json at, const char *mode, int *pooling) {
    static const char *const modes[] = {[HEED_POOL_MEAN] = "mean", [HEED_POOL_CLS] = "cls", [HEED_POOL_MAX] = "max"};
    int i = 0;
    while (i < 3 && strcmp(modes[i], mode) != 0) i++;
    if (i == 3)
        heed_json_fail(cx, at, "pooling by '%s' is not known; mean, cls and max are", escaped(mode).s);
    else if (*pooling >= 0)
        heed_json_fail(cx, at, "several ways of pooling at once are not known");
    else
        *pooling = i;
}

/* pooling_mode, a name or a list of names; in older files a key for each that is true or false. */
static bool read_mode(heed_ctx *cx, heed_json config, int *pooling) {
    static const char *const keys[][2] = {
        {"pooling_mode_mean_tokens", "mean"},
        {"pooling_mode_cls_token", "cls"},
        {"pooling_mode_max_tokens", "max"},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
        {"pooling_mode_weightedmean_tokens", "weightedmean"},
        {"pooling_mode_lasttoken", "lasttoken"},
    };
    const heed_json mode = heed_json_find(cx, config, "pooling_mode");
    if (heed_json_kind_of(mode) == HEED_JSON_TEXT) take_mode(cx, mode, heed_json_text(cx, mode, NULL), pooling);
    if (heed_json_kind_of(mode) == HEED_JSON_ARRAY)
        for (heed_json v = heed_json_first(mode); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
            take_mode(cx, v, heed_json_text(cx, v, NULL), pooling);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && heed_json_kind_of(mode) == HEED_JSON_NONE; i++)
        if (heed_json_bool_or(cx, config, keys[i][0], false)) take_mode(cx, config, keys[i][1], pooling);
    return !heed_failed(cx);
}

static bool read_pooling(heed_ctx *cx, const char *dir, heed_text_model *m, int64_t *max_length) {
    char path[PATH_ROOM];
    heed_json pooling = {0}, limits = {0};
    if (!read_modules(cx, dir, m)) return false;
    if (directory_has(dir, POOLING_FILE) && directory_path(cx, dir, POOLING_FILE, path)) {
        int mode = -1;
        pooling = heed_json_open(cx, path);
        if (!heed_failed(cx) && read_mode(cx, pooling, &mode) && mode >= 0) m->pooling = mode;
    }
    if (directory_has(dir, SENTENCE_FILE) && directory_path(cx, dir, SENTENCE_FILE, path)) {
        limits = heed_json_open(cx, path);
        *max_length = heed_json_int_or(cx, limits, "max_seq_length", 0);
    }
    /* newer releases leave it to the tokenizer, which may say 1e30 for no limit */
    if (*max_length == 0 && directory_has(dir, MODULES_FILE) && directory_has(dir, TOKENIZER_CONFIG_FILE) &&
        directory_path(cx, dir, TOKENIZER_CONFIG_FILE, path)) {
        heed_json_free(limits);
        limits = heed_json_open(cx, path);
        const heed_json most = heed_json_find(cx, limits, "model_max_length");
        const double tokens = heed_json_kind_of(most) == HEED_JSON_INT || heed_json_kind_of(most) == HEED_JSON_REAL
                                  ? heed_json_number(cx, most, NULL)
                                  : 0;
        if (tokens >= 1 && tokens <= INT32_MAX) *max_length = (int64_t)tokens;
    }
    heed_json_free(pooling);
    heed_json_free(limits);
    return !heed_failed(cx);
}

static heed_model *load(heed_ctx *cx, const heed_directory *d, const char *task) {
    const char *const dir = heed_directory_path(d);
    const heed_text_task *const known = heed_text_task_find(task);
    if (known == &task_replaced) return heed_directory_model(cx, d, &(heed_load_opts){.task = task});
    if (known == &task_pairs)
        return heed_directory_model(cx, d, &(heed_load_opts){.task = task, .map = true, .pack = true});
    heed_model *model = heed_directory_model(cx, d, &(heed_load_opts){.map = true, .pack = true});
    const bool reads = !model || heed_model_takes(model, "input_ids");
    if (!model || (reads && text_among(heed_model_head(model)->tasks, task))) return model;
    if (!reads)
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s is no model of text%s", dir, heed_model_family(model)->name,
                  heed_model_takes(model, "x") ? "; 'heed predict' reads tables" : "");
    const char *const name = heed_model_family(model)->name;
    if (heed_head_for(heed_model_family(model), task))
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s is not for %s; 'heed train %s --init %s' makes a model that is", dir,
                  heed_model_head(model)->architecture, task, task, dir);
    else
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s has no head for %s; 'heed list %s' shows those it has", dir, name, task,
                  name);
    heed_model_free(cx, model);
    return NULL;
}

static bool all_zeros(const heed_param *p) {
    const float *const x = p->data;
    if (p->dtype != HEED_F32) return false;
    for (int64_t i = 0; i < p->count; i++)
        if (x[i] != 0) return false;
    return true;
}

/* A head is drawn with biases of zero, by heed as by transformers, and a step of training changes them. */
static void warn_of_fresh_head(heed_ctx *cx, const char *dir, const heed_model *m) {
    const heed_params *const params = heed_model_params(m);
    const char *const base = heed_model_family(m)->base, *last = NULL;
    const size_t size = base ? strlen(base) : 0;
    for (int i = 0; base && !heed_model_head(m)->bare && i < heed_params_count(params); i++) {
        const heed_param *const p = heed_params_at(params, i);
        if (p->rank != 1 || p->frozen || !text_ends(p->name, strlen(p->name), "bias")) continue;
        if (strncmp(p->name, base, size) == 0 && p->name[size] == '.') continue;
        if (!all_zeros(p)) return;
        last = p->name;
    }
    if (last)
        heed_note(cx, HEED_LOG_WARN, "%s: the head of %s seems untrained: '%s' is all zeros, as it was drawn", dir,
                  heed_model_head(m)->architecture, last);
}

heed_text_model *text_model_of(heed_ctx *cx, const heed_directory *d, const char *task) {
    const char *const dir = heed_directory_path(d);
    heed_text_model *m = heed_mem_new(cx, sizeof *m);
    int64_t max_length = 0;
    if (!m) return NULL;
    *m = (heed_text_model){.normalise = false};
    m->model = load(cx, d, task);
    char tokens[PATH_ROOM];
    m->tokens = m->model && directory_of_tokenizer(cx, dir, tokens) ? heed_tokenizer_load(cx, tokens) : NULL;
    if (m->tokens && read_pooling(cx, dir, m, &max_length) &&
        (heed_text_reader_of(cx, m->model, m->tokens, max_length, &m->reader) || heed_fail_in(cx, "%s", dir))) {
        warn_of_fresh_head(cx, dir, m->model);
        const heed_json config = heed_model_config(m->model);
        const heed_json names = heed_json_find(cx, config, "id2label");
        m->labels = heed_json_kind_of(names) == HEED_JSON_OBJECT ? heed_json_count(names)
                                                                 : heed_json_int_or(cx, config, "num_labels", 2);
        m->label = m->labels > 0 ? heed_model_labels(cx, m->model, m->labels) : NULL;
    }
    if (!heed_failed(cx)) return m;
    heed_text_model_free(cx, m);
    return NULL;
}

heed_text_model *heed_text_model_open(heed_ctx *cx, const char *dir, const char *task) {
    if (heed_failed(cx)) return NULL;
    if (!dir || !task) return heed_fail(cx, HEED_ERR_USAGE, "text: a directory and a task are needed"), NULL;
    heed_directory *const d = heed_directory_open(cx, dir);
    heed_text_model *const m = d ? text_model_of(cx, d, task) : NULL;
    heed_directory_close(cx, d);
    return m;
}

void heed_text_model_free(heed_ctx *cx, heed_text_model *m) {
    if (!m) return;
    heed_mem_free(cx, m->label);
    heed_tokenizer_free(cx, m->tokens);
    heed_model_free(cx, m->model);
    heed_mem_free(cx, m);
}

/* ---- running ---- */

/* Encodes the texts and runs the model over them, sorted by length. */
static bool run(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n,
                bool (*take)(heed_ctx *, void *, const heed_batch *, const heed_io *), void *own, int64_t *cut) {
    heed_dataset set = {0};
    heed_encoding room = {0};
    heed_ids ids = {0};
    int64_t too_long = 0;
    if (heed_failed(cx)) return false;
    if (!m || (n > 0 && !texts) || n < 0) return heed_fail(cx, HEED_ERR_USAGE, "text: a model and texts are needed");
    heed_text_columns(&m->reader, &set);
    for (int64_t i = 0; i < n && !heed_cancelled(cx); i++) {
        heed_cell cells[HEED_COLUMNS_MAX];
        bool is_long = false;
        if (!heed_text_cells(cx, &m->reader, &texts[i], &room, &ids, cells, &is_long)) {
            heed_fail_in(cx, "text %lld", (long long)i + 1);
            break;
        }
        if (!heed_dataset_add(cx, &set, cells)) break;
        too_long += is_long;
    }
    heed_encoding_free(cx, &room);
    heed_ids_free(cx, &ids);
    const bool ok = !heed_failed(cx) &&
                    (n == 0 || heed_loop_over(cx, m->model, &set, &(heed_over_opts){.take = take, .own = own}, NULL));
    heed_dataset_free(cx, &set);
    if (cut) *cut = too_long;
    return ok;
}

/* ---- classes ---- */

void task_softmax(float *x, int64_t n) {
    double most = (double)x[0], sum = 0;
    for (int64_t j = 1; j < n; j++) most = fmax(most, (double)x[j]);
    for (int64_t j = 0; j < n; j++) sum += exp((double)x[j] - most);
    for (int64_t j = 0; j < n; j++) x[j] = (float)(exp((double)x[j] - most) / sum);
}

/* Several labels may hold at once. */
static bool is_multi_label(heed_ctx *cx, const heed_text_model *m) {
    const char *problem = heed_json_text_or(cx, heed_model_config(m->model), "problem_type", "");
    return problem && strcmp(problem, "multi_label_classification") == 0;
}

bool heed_classify(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n, float *out,
                   int64_t *cut) {
    struct task_logits t = {.value = out, .width = m ? m->labels : 0, .n = n};
    if (!run(cx, m, texts, n, task_take_logits, &t, cut) || !task_all_finite(cx, out, n * m->labels)) return false;
    const bool several = is_multi_label(cx, m);
    for (int64_t i = 0; i < n && m->labels > 1; i++) {
        float *p = out + i * m->labels;
        if (!several) task_softmax(p, m->labels);
        for (int64_t j = 0; several && j < m->labels; j++) p[j] = (float)(1 / (1 + exp(-(double)p[j])));
    }
    return !heed_failed(cx);
}

/* ---- embeddings ---- */

struct pooled {
    const heed_text_model *m;
    int64_t width;
    float *out;
};

static void pool(const struct pooled *p, const float *h, int64_t length, float *to) {
    const int64_t width = p->width;
    if (p->m->pooling == HEED_POOL_CLS) {
        memcpy(to, h, (size_t)width * sizeof *to);
        return;
    }
    for (int64_t j = 0; j < width; j++) {
        double sum = 0, most = (double)h[j];
        for (int64_t i = 0; i < length; i++) {
            sum += (double)h[i * width + j];
            most = fmax(most, (double)h[i * width + j]);
        }
        to[j] = (float)(p->m->pooling == HEED_POOL_MAX ? most : sum / (double)length);
    }
}

void task_unit_length(float *x, int64_t n) {
    double square = 0;
    for (int64_t j = 0; j < n; j++) square += (double)x[j] * (double)x[j];
    const double length = fmax(sqrt(square), 1e-12);
    for (int64_t j = 0; j < n; j++) x[j] = (float)((double)x[j] / length);
}

static bool take_states(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    const struct pooled *p = own;
    heed_tensor *states = heed_contiguous(cx, heed_io_get(out, "last_hidden_state"));
    const float *h = heed_f32(states);
    const int32_t *mask = heed_batch_i32(b, "attention_mask");
    if (!h || !mask) return heed_failed(cx) ? false : heed_fail(cx, HEED_ERR_USAGE, "embed: no hidden states");
    const int64_t max_length = heed_dim(states, 1);
    for (int64_t i = 0; i < b->n; i++) {
        int64_t length = 0;
        while (length < max_length && mask[i * max_length + length]) length++;
        float *to = p->out + b->row[i] * p->width;
        pool(p, h + i * max_length * p->width, length, to);
        if (p->m->normalise) task_unit_length(to, p->width);
    }
    return true;
}

int64_t heed_text_width(heed_ctx *cx, const heed_text_model *m) {
    static const char *const keys[] = {"hidden_size", "d_model", "dim", "n_embd"};
    for (size_t i = 0; m && i < sizeof keys / sizeof *keys; i++) {
        const int64_t width = heed_json_int_or(cx, heed_model_config(m->model), keys[i], 0);
        if (width > 0) return width;
    }
    heed_fail(cx, HEED_ERR_USAGE, "text: the model does not say how wide its hidden states are");
    return 0;
}

bool heed_embed(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n, float *out,
                int64_t *cut) {
    struct pooled p = {.m = m, .width = heed_text_width(cx, m), .out = out};
    return run(cx, m, texts, n, take_states, &p, cut) && task_all_finite(cx, out, n * p.width);
}

/* ---- masked words ---- */

struct filling {
    int32_t mask;
    int top;
    int64_t room, n;
    heed_filled *found;
};

/* The `top` largest of n probabilities, best first; of equals the smaller id. */
static void best_tokens(const float *p, int64_t n, int top, heed_filled *to) {
    int held = 0;
    for (int64_t id = 0; id < n; id++) {
        if (held == top && !(p[id] > to[held - 1].probability)) continue;
        int at = held < top ? held++ : held - 1;
        for (; at > 0 && to[at - 1].probability < p[id]; at--) to[at] = to[at - 1];
        to[at] = (heed_filled){(int32_t)id, p[id]};
    }
    for (; held < top; held++) to[held] = (heed_filled){-1, 0};
}

static bool take_masks(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    struct filling *f = own;
    heed_tensor *logits = heed_io_get(out, "logits");
    const heed_tensor *const tokens = heed_batch_tensor(cx, b, "input_ids");
    if (!logits || !tokens) return heed_failed(cx) ? false : heed_fail(cx, HEED_ERR_USAGE, "fill: no logits");
    const int32_t *const ids = heed_batch_i32(b, "input_ids");
    /* Perceiver's logits are of positions beyond the tokens too */
    const int64_t length = heed_dim(tokens, 1), words = heed_dim(logits, 2);
    const float *p = heed_f32(heed_contiguous(cx, heed_softmax(cx, logits, -1)));
    for (int64_t i = 0; p && i < length; i++) {
        if (ids[i] != f->mask) continue;
        if (!task_all_finite(cx, p + i * words, words)) return false;
        if (f->n < f->room) best_tokens(p + i * words, words, f->top, f->found + f->n * f->top);
        f->n++;
    }
    return !heed_failed(cx);
}

int64_t heed_fill(heed_ctx *cx, const heed_text_model *m, const heed_text_input *text, int top, int64_t room,
                  heed_filled *found) {
    if (heed_failed(cx)) return -1;
    if (!m || !text || top < 1 || (room > 0 && !found))
        return heed_fail(cx, HEED_ERR_USAGE, "fill: a model, a text and a place for the tokens are needed"), -1;
    struct filling f = {.mask = task_mask_token(cx, "fill", m->tokens), .top = top, .room = room, .found = found};
    return !heed_failed(cx) && run(cx, m, text, 1, take_masks, &f, NULL) ? f.n : -1;
}
