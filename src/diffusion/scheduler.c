/* Schedulers: from scheduler_config.json to the steps of a run. What differs between the classes is in their files. */
#include "diffusion/scheduler.h"
#include "base/file.h"
#include "base/text.h"
#include "io/text.h"
#include "model/core/config.h"
#include "model/core/directory.h"
#include <math.h>
#include <string.h>

#define SCHEDULER_FILE "scheduler_config.json"
#define MAX_BYTES      ((size_t)64 << 20)

#define SCHEDULER(name) &scheduler_##name,
static const struct scheduler_kind *const kinds[] = {
#include "diffusion/schedulers.def"
};
#undef SCHEDULER
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *heed_scheduler_class_at(int i) { return i >= 0 && i < KINDS ? kinds[i]->name : NULL; }

/* `where`: begins the sentence. */
static const struct scheduler_kind *find_kind(heed_ctx *cx, const char *where, const char *name) {
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; name && i < KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
        used += (size_t)text_format(known + used, sizeof known - used, "%s%s", i ? ", " : "", kinds[i]->name);
    }
    if (name) heed_fail(cx, HEED_ERR_FORMAT, "%s: '%s' is not one of: %s", where, escaped(name).s, known);
    return NULL;
}

/* ---- opening ---- */

/* The functions of config.json go by families. */
static heed_family as_family(const struct scheduler_kind *kind) {
    return (heed_family){.name = kind->name, .keys = kind->keys};
}
static const heed_head no_head;

/* diffusers writes null where there are no trained betas. */
static bool put_no_betas(heed_ctx *cx, heed_json config) {
    const heed_json list = heed_json_find(cx, config, "trained_betas");
    return heed_json_kind_of(list) != HEED_JSON_ARRAY || heed_json_count(list) > 0 ||
           heed_json_put_null(cx, config, "trained_betas");
}

/* Takes the config over. */
static heed_scheduler *make(heed_ctx *cx, const struct scheduler_kind *kind, heed_json config) {
    const heed_family family = as_family(kind);
    heed_scheduler *s = NULL;
    if (config_complete(cx, &family, &no_head, config) && put_no_betas(cx, config) &&
        heed_json_put_text(cx, config, "_class_name", kind->name))
        s = heed_mem_new(cx, sizeof *s);
    if (!s) {
        heed_json_free(config);
        return NULL;
    }
    *s = (heed_scheduler){.cx = cx, .kind = kind, .config = config, .history_size = -1};
    if (kind->open(cx, s) && !heed_failed(cx)) return s;
    heed_scheduler_free(cx, s);
    return NULL;
}

/* Python writes lambda_min_clipped as -Infinity, which JSON does not have; as far as a scheduler goes, this is less
 * than any lambda just as well. */
static void replace_infinity(char *text) {
    static const char infinity[] = "-Infinity", number[] = "-1e38    ";
    for (char *at = text; (at = strstr(at, infinity)); at += sizeof infinity - 1) memcpy(at, number, sizeof number - 1);
}

static heed_json read_config(heed_ctx *cx, const char *dir) {
    char path[PATH_ROOM];
    size_t size;
    const char *const file = directory_has(dir, SCHEDULER_FILE) ? SCHEDULER_FILE : "scheduler/" SCHEDULER_FILE;
    if (!directory_has(dir, file)) {
        heed_fail(cx, HEED_ERR_FILE, "%s: holds neither " SCHEDULER_FILE " nor scheduler/" SCHEDULER_FILE,
                  escaped(dir).s);
        return (heed_json){0};
    }
    if (!directory_path(cx, dir, file, path)) return (heed_json){0};
    char *const text = (char *)file_read_regular(cx, path, MAX_BYTES, &size);
    if (!text) return (heed_json){0};
    replace_infinity(text);
    const heed_json config = heed_json_parse(cx, path, text, size);
    heed_mem_free(cx, text);
    return config;
}

heed_scheduler *heed_scheduler_open(heed_ctx *cx, const char *dir, const char *as) {
    if (heed_failed(cx)) return NULL;
    if (!dir) {
        heed_fail(cx, HEED_ERR_USAGE, "scheduler_open: no directory is given");
        return NULL;
    }
    const heed_json config = read_config(cx, dir);
    const char *const named = heed_failed(cx) ? NULL : as ? as : heed_json_text(cx, config, "_class_name");
    char where[PATH_ROOM];
    text_format(where, sizeof where, "%.*s: " SCHEDULER_FILE ": _class_name", PATH_ROOM - 64, dir);
    const struct scheduler_kind *const kind = named ? find_kind(cx, as ? "scheduler" : where, named) : NULL;
    if (kind) return make(cx, kind, config);
    heed_json_free(config);
    return NULL;
}

heed_scheduler *heed_scheduler_new(heed_ctx *cx, const char *name, const char *const *settings, int n) {
    if (heed_failed(cx)) return NULL;
    if (!name || (n > 0 && !settings)) {
        heed_fail(cx, HEED_ERR_USAGE, "scheduler_new: no %s given", name ? "settings are" : "class is");
        return NULL;
    }
    const struct scheduler_kind *const kind = find_kind(cx, "scheduler", name);
    if (!kind) return NULL;
    const heed_family family = as_family(kind);
    const heed_json config = heed_json_new(cx, kind->name);
    heed_json_put_text(cx, config, "_class_name", kind->name);
    for (int i = 0; i < n && !heed_failed(cx); i++) config_set(cx, &family, &no_head, config, settings[i]);
    return make(cx, kind, config);
}

bool heed_scheduler_save(heed_ctx *cx, const heed_scheduler *s, const char *dir) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return false;
    if (!s || !dir)
        return heed_fail(cx, HEED_ERR_USAGE, "scheduler_save: no %s is given", s ? "directory" : "scheduler");
    return directory_make(cx, dir) && directory_path(cx, dir, SCHEDULER_FILE, path) &&
           heed_json_write(cx, path, s->config);
}

void heed_scheduler_free(heed_ctx *cx, heed_scheduler *s) {
    if (!s) return;
    heed_json_free(s->config);
    heed_mem_free(cx, s->alphas);
    heed_mem_free(cx, s->levels);
    heed_mem_free(cx, s->timesteps);
    heed_mem_free(cx, s->sigmas);
    for (int i = 0; i < MAX_ORDER; i++) heed_mem_free(cx, s->history[i]);
    heed_mem_free(cx, s);
}

const char *heed_scheduler_class(const heed_scheduler *s) { return s ? s->kind->name : ""; }
heed_json heed_scheduler_config(const heed_scheduler *s) { return s ? s->config : (heed_json){0}; }

const char *heed_scheduler_prediction(const heed_scheduler *s) {
    static const char *const names[] = {"epsilon", "sample", "v_prediction", "flow_prediction"};
    return s ? names[s->prediction] : "";
}

/* ---- training ---- */

int64_t heed_scheduler_train_steps(const heed_scheduler *s) { return s ? s->train_steps : 0; }
const float *heed_scheduler_alphas(const heed_scheduler *s) { return s && !s->levels ? s->alphas : NULL; }

static bool in_training(heed_ctx *cx, const heed_scheduler *s, int64_t timestep) {
    return (timestep >= 0 && timestep < s->train_steps) ||
           heed_fail(cx, HEED_ERR_RANGE, "%s: timestep %lld is not one of the %lld of training", s->kind->name,
                     (long long)timestep, (long long)s->train_steps);
}

double heed_scheduler_model_timestep(heed_ctx *cx, const heed_scheduler *s, int64_t timestep) {
    if (heed_failed(cx)) return 0;
    if (!s) return heed_fail(cx, HEED_ERR_USAGE, "scheduler_model_timestep: no scheduler is given");
    if (!in_training(cx, s, timestep)) return 0;
    return s->levels ? (double)(s->levels[timestep] * (float)s->train_steps) : (double)timestep;
}

/* What is made of a sample and noise. */
struct mixture {
    float of_sample, of_noise;
};

static struct mixture noisy(const heed_scheduler *s, int32_t t) {
    if (s->levels) return (struct mixture){1.0f - s->levels[t], s->levels[t]};
    if (s->kind == &scheduler_euler) return (struct mixture){1.0f, scheduler_sigma(s, t)};
    return (struct mixture){sqrtf(s->alphas[t]), sqrtf(1.0f - s->alphas[t])};
}

static struct mixture velocity(const heed_scheduler *s, int32_t t) {
    if (s->levels) return (struct mixture){-1.0f, 1.0f};
    return (struct mixture){-sqrtf(1.0f - s->alphas[t]), sqrtf(s->alphas[t])};
}

static bool mix(heed_ctx *cx, const char *what, struct mixture (*shares)(const heed_scheduler *, int32_t),
                const heed_scheduler *s, const float *x, const float *noise, const int32_t *timesteps, int64_t batch,
                int64_t each, float *out) {
    if (heed_failed(cx)) return false;
    if (!s || !x || !noise || !timesteps || !out || batch < 0 || each < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: scheduler, samples, noise, timesteps and room are needed", what);
    for (int64_t b = 0; b < batch; b++) {
        if (!in_training(cx, s, timesteps[b])) return false;
        const struct mixture c = shares(s, timesteps[b]);
        for (int64_t i = b * each; i < (b + 1) * each; i++) out[i] = c.of_sample * x[i] + c.of_noise * noise[i];
    }
    return true;
}

bool heed_scheduler_add_noise(heed_ctx *cx, const heed_scheduler *s, const float *x, const float *noise,
                              const int32_t *timesteps, int64_t batch, int64_t each, float *out) {
    return mix(cx, "scheduler_add_noise", noisy, s, x, noise, timesteps, batch, each, out);
}

bool heed_scheduler_velocity(heed_ctx *cx, const heed_scheduler *s, const float *x, const float *noise,
                             const int32_t *timesteps, int64_t batch, int64_t each, float *out) {
    return mix(cx, "scheduler_velocity", velocity, s, x, noise, timesteps, batch, each, out);
}

/* ---- sampling ---- */

bool heed_scheduler_set_timesteps(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    if (heed_failed(cx)) return false;
    if (!s) return heed_fail(cx, HEED_ERR_USAGE, "scheduler_set_timesteps: no scheduler is given");
    if (steps < 1 || steps > s->train_steps)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld steps are not between 1 and %lld, the timesteps of training",
                         s->kind->name, (long long)steps, (long long)s->train_steps);
    s->steps = steps, s->taken = 0, s->next = 0, s->count = 0;
    if (scheduler_room(cx, s, steps) && s->kind->space(cx, s, steps)) return true;
    s->steps = s->count = 0;
    return false;
}

int64_t heed_scheduler_steps(const heed_scheduler *s) { return s ? s->count : 0; }
const double *heed_scheduler_timesteps(const heed_scheduler *s) { return s && s->count > 0 ? s->timesteps : NULL; }
bool heed_scheduler_whole_timesteps(const heed_scheduler *s) { return s && s->kind->whole; }

double heed_scheduler_start_deviation(const heed_scheduler *s) {
    if (!s || s->kind != &scheduler_euler || s->count < 1) return 1;
    const double most = (double)s->sigmas[0];
    return s->spacing == SPACING_LEADING ? sqrt(most * most + 1) : most;
}

static bool in_run(heed_ctx *cx, const heed_scheduler *s, int64_t i) {
    return (i >= 0 && i < s->count) || heed_fail(cx, HEED_ERR_RANGE, "%s: step %lld is not one of the %lld of this run",
                                                 s->kind->name, (long long)i, (long long)s->count);
}

bool heed_scheduler_scale_model_input(heed_ctx *cx, const heed_scheduler *s, int64_t i, float *x, int64_t n) {
    if (heed_failed(cx)) return false;
    if (!s || !x || n < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "scheduler_scale_model_input: no %s given",
                         s ? "sample is" : "scheduler is");
    if (!in_run(cx, s, i)) return false;
    if (s->kind != &scheduler_euler) return true;
    const float scale = sqrtf(s->sigmas[i] * s->sigmas[i] + 1.0f);
    for (int64_t j = 0; j < n; j++) x[j] /= scale;
    return true;
}

bool heed_scheduler_needs_noise(const heed_scheduler *s, int64_t i, double eta) {
    return s && i >= 0 && i < s->count && s->kind->needs_noise && s->kind->needs_noise(s, i, eta);
}

bool heed_scheduler_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d) {
    if (heed_failed(cx)) return false;
    if (!s || !d || !d->sample || !d->model_output || !d->previous)
        return heed_fail(cx, HEED_ERR_USAGE, "scheduler_step: scheduler, sample, model_output and previous are needed");
    if (d->batch < 0 || d->channels < 0 || d->each < 0 || d->output_channels < 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "scheduler_step: sizes below 0");
    if (!in_run(cx, s, i)) return false;
    if (!d->noise && heed_scheduler_needs_noise(s, i, d->eta))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: step %lld needs noise", s->kind->name, (long long)i);
    float *const work = d->original ? d->original : heed_mem_new(cx, (size_t)denoising_size(d) * sizeof *work);
    if (work) s->kind->step(cx, s, i, d, work);
    if (work != d->original) heed_mem_free(cx, work);
    return !heed_failed(cx);
}
