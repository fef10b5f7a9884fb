/* heed sample of diffusion models: noise that becomes pictures. */
#include "base/clock.h"
#include "cli/use/sample.h"
#include "io/text.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FRAMES     12  /* of a strip, at most */
#define SAY_EVERY  2.0 /* seconds between plain lines of progress; on a terminal it is drawn again and again */
#define DRAW_EVERY 0.1

/* clang-format off */
const heed_field diffusion_options[] = {
    {.name = "steps", .kind = HEED_FIELD_INT, .standard = "50", .value = "N", .high = 1e9,
     .help = "steps from noise to a picture, at most as many as training has timesteps"},
    {.name = "scheduler", .kind = HEED_FIELD_CHOICE, .value = "NAME", .choices = "ddim ddpm dpmsolver++ euler",
     .help = "by default that of DIR, which is ddim where heed has trained it, one of"},
    {.name = "eta", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "noise that ddim adds on the way: 0 none, 1 as much as ddpm"},
    {.name = "class", .kind = HEED_FIELD_TEXT, .value = "NAME",
     .help = "pictures of this class, by its name or number; by default of none in particular"},
    {.name = "guidance", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .high = 1000,
     .help = "classifier-free guidance towards the class: none + X (class - none); 1: no guidance"},
    {.name = "strip", .kind = HEED_FIELD_FILE, .value = "FILE.png",
     .help = "the first picture as it forms: above with its noise, below what the network takes to be behind it"},
    {.name = NULL},
};
/* clang-format on */

static bool fits(const struct options *o) {
    const char *const strip = option_text(o, "strip");
    const char *wrong = NULL;
    if (option_int(o, "steps") < 1) wrong = "--steps: 0 is no number of steps";
    if (strip && !text_ends(strip, strlen(strip), ".png")) wrong = "--strip: the name must end in .png";
    if (option_given(o, "eta") && option_given(o, "scheduler") && strcmp(option_text(o, "scheduler"), "ddim") != 0)
        wrong = "--eta is for the scheduler ddim";
    if (wrong) cli_error(EXIT_USAGE, "sample: %s", wrong);
    return !wrong && option_writable(o, "strip");
}

static const char *class_of(const char *name) {
    static const char *const classes[][2] = {{"ddim", "DDIMScheduler"},
                                             {"ddpm", "DDPMScheduler"},
                                             {"dpmsolver++", "DPMSolverMultistepScheduler"},
                                             {"euler", "EulerDiscreteScheduler"}};
    for (size_t i = 0; name && i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i][0], name) == 0) return classes[i][1];
    return NULL;
}

static bool open(struct sampling *s) {
    s->pipeline = heed_pipeline_open(s->cx, options_word(s->o, 0), class_of(option_text(s->o, "scheduler")));
    if (!s->pipeline) return false;
    const heed_denoiser *const d = &s->pipeline->denoiser;
    s->shape = (heed_coder){.channels = d->channels, .height = d->height, .width = d->width, .numbers = d->numbers};
    return true;
}

/* ---- on the way ---- */

struct way {
    const struct sampling *s;
    int64_t frames;
    float *frame; /* (2, frames, ...): samples, then predictions, from 0 to 1 */
    double said;  /* when */
    bool quiet, terminal;
};

static void keep_frame(struct way *w, const heed_diffusing *at) {
    const int64_t numbers = w->s->shape.numbers;
    for (int64_t f = 0; f < w->frames; f++) {
        if (at->step != (f + 1) * at->steps / w->frames) continue;
        for (int64_t i = 0; i < numbers; i++) {
            w->frame[f * numbers + i] = at->sample[i] / 2 + 0.5f;
            w->frame[(w->frames + f) * numbers + i] = at->predicted[i] / 2 + 0.5f;
        }
    }
}

static void say(struct way *w, const heed_diffusing *at) {
    const double now = clock_seconds();
    const bool last = at->first + at->n == w->s->count && at->step == at->steps;
    if (w->quiet || (!last && now - w->said < (w->terminal ? DRAW_EVERY : SAY_EVERY))) return;
    if (!w->terminal && last) return;
    w->said = now;
    fprintf(stderr, "%sstep %lld of %lld, pictures %lld to %lld of %lld%s", w->terminal ? "\r" : "",
            (long long)at->step, (long long)at->steps, (long long)at->first + 1, (long long)(at->first + at->n),
            (long long)w->s->count, w->terminal && !last ? "" : "\n");
}

static void show(void *user, const heed_diffusing *at) {
    struct way *const w = user;
    if (at->first == 0 && w->frame) keep_frame(w, at);
    say(w, at);
}

/* ---- drawing ---- */

static bool write_strip(const struct sampling *s, const struct way *w) {
    return !w->frame || sheet_write_to(s->o, s->cx, &s->shape, w->frame, 2 * w->frames, w->frames,
                                       option_text(s->o, "strip"), "the first picture as it forms");
}

static bool diffuse(struct sampling *s, const int64_t *label, struct way *w) {
    const heed_diffuse_opts opts = {.count = s->count,
                                    .steps = option_int(s->o, "steps"),
                                    .seed = heed_seed(s->cx),
                                    .eta = option_number(s->o, "eta"),
                                    .label = label,
                                    .guidance = option_number(s->o, "guidance"),
                                    .show = show,
                                    .user = w};
    return heed_diffuse(s->cx, s->pipeline, &opts, s->pixels + s->shape.numbers) && write_strip(s, w);
}

static bool draw(struct sampling *s) {
    heed_ctx *const cx = s->cx;
    const char *const name = option_text(s->o, "class");
    const int64_t class = name ? heed_pipeline_class(cx, s->pipeline, name) : -1, steps = option_int(s->o, "steps");
    struct way w = {.s = s,
                    .frames = steps < FRAMES ? steps : FRAMES,
                    .quiet = option_flag(s->o, "quiet"),
                    .terminal = isatty(STDERR_FILENO),
                    .said = clock_seconds()};
    int64_t *const label = name && class >= 0 ? heed_mem_new(cx, (size_t)s->count * sizeof *label) : NULL;
    for (int64_t i = 0; label && i < s->count; i++) label[i] = class;
    const size_t room = (size_t)(2 * w.frames * s->shape.numbers) * sizeof *w.frame;
    if (option_text(s->o, "strip") && !heed_failed(cx)) w.frame = heed_mem_new(cx, room);
    if (w.frame) memset(w.frame, 0, room);
    const bool ok = !heed_failed(cx) && diffuse(s, label, &w);
    heed_mem_free(cx, w.frame);
    heed_mem_free(cx, label);
    return ok;
}

const struct sampler diffusion_sampler = {.task = "diffusion",
                                          .what = "diffusion models",
                                          .own = diffusion_options,
                                          .fits = fits,
                                          .open = open,
                                          .draw = draw};
