/* heed schedule: the steps of a diffusion scheduler on given outputs of a model, so that schedulers can be compared. */
#include "cli/core/options.h"
#include "cli/core/tensors_in.h"
#include "heed/diffusion.h"
#include "io/text.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "steps", .letter = 'n', .kind = HEED_FIELD_INT, .value = "N", .help = "how many steps the run takes"},
    {.name = "in", .letter = 'i', .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "sample, model_output.I and noise.I, I from 0, and eta; safetensors"},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "timesteps and sample.I, the sample after step I; safetensors"},
    {.name = NULL},
};
/* clang-format on */

struct run {
    heed_scheduler *scheduler;
    heed_safetensors *in;
    const char *in_path;
    heed_array sample; /* its shape */
    int64_t size;      /* of a sample's numbers */
    double eta;
    float *samples; /* (steps + 1, size) the first is what the run starts from */
    float *noise;   /* (size) */
};

/* The tensor of that name as f32 in memory of its own; NULL and no failure when there is none. */
static float *read_tensor(heed_ctx *cx, const struct run *r, const char *name, heed_array *shape) {
    const int64_t i = heed_safetensors_find(cx, r->in, name);
    const heed_array *const a = i >= 0 ? heed_safetensors_get(cx, r->in, i) : NULL;
    if (!a) return NULL;
    const int64_t n = heed_array_count(a);
    float *const numbers = heed_mem_new(cx, (size_t)n * sizeof *numbers);
    *shape = *a;
    if (numbers && heed_array_to_f32(cx, a, numbers, n)) return numbers;
    heed_mem_free(cx, numbers);
    return NULL;
}

static bool missing(heed_ctx *cx, const struct run *r, const char *name) {
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no '%s'", r->in_path, name);
}

static bool wrong_shape(heed_ctx *cx, const struct run *r, const char *name) {
    return heed_fail(cx, HEED_ERR_SHAPE, "%s: the shape of '%s' does not fit that of 'sample'", r->in_path, name);
}

/* Equal to the sample's shape, from axis `from` on. */
static bool same_shape(const struct run *r, const heed_array *a, int from) {
    if (a->rank != r->sample.rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != r->sample.shape[i] && !(from > 0 && i == 1)) return false;
    return true;
}

static bool read_start(heed_ctx *cx, struct run *r) {
    heed_array eta;
    float *const given = read_tensor(cx, r, "eta", &eta);
    if (given && heed_array_count(&eta) != 1)
        heed_fail(cx, HEED_ERR_SHAPE, "%s: 'eta' is not one number", r->in_path);
    else if (given)
        r->eta = (double)given[0];
    heed_mem_free(cx, given);
    float *const sample = read_tensor(cx, r, "sample", &r->sample);
    if (!sample) return heed_failed(cx) ? false : missing(cx, r, "sample");
    r->size = heed_array_count(&r->sample);
    r->samples = heed_mem_new(cx, (size_t)(heed_scheduler_steps(r->scheduler) + 1) * (size_t)r->size * sizeof(float));
    r->noise = heed_mem_new(cx, (size_t)r->size * sizeof(float));
    if (r->samples) memcpy(r->samples, sample, (size_t)r->size * sizeof(float));
    heed_mem_free(cx, sample);
    return !heed_failed(cx);
}

static bool read_noise(heed_ctx *cx, struct run *r, int64_t i) {
    char name[48];
    heed_array shape;
    snprintf(name, sizeof name, "noise.%lld", (long long)i);
    float *const noise = read_tensor(cx, r, name, &shape);
    if (!noise) return heed_failed(cx) ? false : missing(cx, r, name);
    const bool fits = same_shape(r, &shape, 0) || wrong_shape(cx, r, name);
    if (fits) memcpy(r->noise, noise, (size_t)r->size * sizeof *noise);
    heed_mem_free(cx, noise);
    return fits;
}

static bool take_step(heed_ctx *cx, struct run *r, int64_t i) {
    char name[48];
    heed_array shape;
    snprintf(name, sizeof name, "model_output.%lld", (long long)i);
    const bool noisy = heed_scheduler_needs_noise(r->scheduler, i, r->eta);
    float *const output = read_tensor(cx, r, name, &shape);
    if (!output) return heed_failed(cx) ? false : missing(cx, r, name);
    const heed_array *const s = &r->sample;
    heed_denoising d = {.batch = s->rank > 0 ? s->shape[0] : 1,
                        .channels = s->rank > 1 ? s->shape[1] : 1,
                        .each = 1,
                        .output_channels = shape.rank > 1 ? shape.shape[1] : 1,
                        .sample = r->samples + i * r->size,
                        .model_output = output,
                        .noise = noisy ? r->noise : NULL,
                        .eta = r->eta,
                        .previous = r->samples + (i + 1) * r->size};
    for (int axis = 2; axis < s->rank; axis++) d.each *= s->shape[axis];
    const bool done = (same_shape(r, &shape, 1) || wrong_shape(cx, r, name)) && (!noisy || read_noise(cx, r, i)) &&
                      heed_scheduler_step(cx, r->scheduler, i, &d);
    heed_mem_free(cx, output);
    return done;
}

static bool write_run(heed_ctx *cx, const struct run *r, const char *path) {
    const int64_t steps = heed_scheduler_steps(r->scheduler);
    const bool whole = heed_scheduler_whole_timesteps(r->scheduler);
    const double *const timesteps = heed_scheduler_timesteps(r->scheduler);
    heed_array *const arrays = heed_mem_new(cx, (size_t)(steps + 1) * sizeof *arrays);
    char(*const names)[48] = heed_mem_new(cx, (size_t)steps * sizeof *names);
    int64_t *const integers = heed_mem_new(cx, (size_t)steps * sizeof *integers);
    float *const numbers = heed_mem_new(cx, (size_t)steps * sizeof *numbers);
    if (!heed_failed(cx)) {
        for (int64_t i = 0; i < steps; i++) {
            integers[i] = (int64_t)timesteps[i], numbers[i] = (float)timesteps[i];
            snprintf(names[i], sizeof *names, "sample.%lld", (long long)i);
            arrays[i + 1] = r->sample;
            arrays[i + 1].name = names[i], arrays[i + 1].dtype = HEED_F32;
            arrays[i + 1].data = r->samples + (i + 1) * r->size;
        }
        arrays[0] = (heed_array){.name = "timesteps",
                                 .dtype = whole ? HEED_I64 : HEED_F32,
                                 .rank = 1,
                                 .shape = {steps},
                                 .data = whole ? (const void *)integers : (const void *)numbers};
        heed_safetensors_write(cx, path, arrays, steps + 1, NULL, 0);
    }
    heed_mem_free(cx, arrays);
    heed_mem_free(cx, names);
    heed_mem_free(cx, integers);
    heed_mem_free(cx, numbers);
    return !heed_failed(cx);
}

static void schedule(heed_ctx *cx, const struct options *o) {
    struct run r = {.scheduler = heed_scheduler_open(cx, options_word(o, 0), NULL), .in_path = option_text(o, "in")};
    unsigned char *bytes = NULL;
    if (heed_scheduler_set_timesteps(cx, r.scheduler, option_int(o, "steps")))
        r.in = tensors_open(cx, r.in_path, &bytes);
    const int64_t steps = r.in && read_start(cx, &r) ? heed_scheduler_steps(r.scheduler) : 0;
    for (int64_t i = 0; i < steps && !heed_cancelled(cx); i++)
        if (!take_step(cx, &r, i)) break;
    if (!heed_failed(cx)) write_run(cx, &r, option_text(o, "out"));
    heed_mem_free(cx, r.samples);
    heed_mem_free(cx, r.noise);
    heed_safetensors_close(r.in);
    heed_mem_free(cx, bytes);
    heed_scheduler_free(cx, r.scheduler);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("schedule", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    const bool given = option_given(o, "steps");
    if (!given) cli_error(EXIT_USAGE, "schedule: --steps N is needed");
    if (given && option_need(o, "in") && option_need(o, "out")) {
        heed_ctx *cx = options_open(o);
        if (cx) schedule(cx, o);
        status = options_close(o, cx, cx ? EXIT_DONE : EXIT_FAILED);
    }
    options_free(o);
    return status;
}

const struct command schedule_command = {
    .name = "schedule",
    .summary = "the steps of a diffusion scheduler on given outputs of a model",
    .words = "DIR --steps N --in FILE --out FILE",
    .about =
        "Runs the steps of a scheduler, DIR/scheduler_config.json or that of a pipeline's directory, without a model: "
        "what the model would say in step I is the tensor model_output.I, and the noise to add is noise.I, where the "
        "scheduler adds any. DDIMScheduler adds as much as eta says, a single number; none where it is absent.\n\n"
        "The classes are DDPMScheduler, DDIMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler and "
        "FlowMatchEulerDiscreteScheduler, with the keys of diffusers.",
    .options = options,
    .examples = "heed schedule stable-diffusion --steps 20 --in outputs.safetensors --out samples.safetensors\n"
                "heed schedule pipeline/scheduler --steps 4 --in outputs.safetensors --out samples.safetensors\n",
    .run = run,
};
