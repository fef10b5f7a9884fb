/* heed sample: new pictures from a model that makes them. */
#include "cli/use/sample.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "count", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "64", .value = "N", .low = 1, .high = 1e6,
     .help = "number of pictures; with --grid, of each side"},
    {.name = "columns", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "pictures in a row of the sheet; by default about as many as there are rows"},
    {.name = "sheets", .kind = HEED_FIELD_TABLE, .table = sheet_options},
    {.name = "autoencoders", .kind = HEED_FIELD_GROUP},
    {.name = "codes", .kind = HEED_FIELD_TABLE, .table = code_options},
    {.name = "diffusion", .kind = HEED_FIELD_GROUP},
    {.name = "noise", .kind = HEED_FIELD_TABLE, .table = diffusion_options},
    {.name = NULL},
};
/* clang-format on */

static const struct sampler *const samplers[] = {&code_sampler, &diffusion_sampler};

/* By the head of the directory; NULL with a sentence. */
static const struct sampler *sampler_of(heed_ctx *cx, const char *dir) {
    heed_directory *const d = heed_directory_open(cx, dir);
    const heed_head *const head = d ? heed_directory_head(d) : NULL;
    const struct sampler *found = NULL;
    for (size_t i = 0; head && i < sizeof samplers / sizeof *samplers; i++)
        if (text_among(head->tasks, samplers[i]->task)) found = samplers[i];
    if (d && !found)
        heed_fail(
            cx, HEED_ERR_USAGE,
            "%s: the model makes no pictures; 'heed train autoencode' and 'heed train diffusion' make some that do",
            dir);
    heed_directory_close(cx, d);
    return found;
}

/* Options of other samplers would be ignored. */
static bool options_are_of(const struct sampling *s, const struct sampler *by) {
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++)
        for (int k = 0; samplers[i] != by && heed_field_row(samplers[i]->own, k); k++)
            if (option_given(s->o, heed_field_row(samplers[i]->own, k)->name))
                return heed_fail(s->cx, HEED_ERR_USAGE, "sample: --%s is for %s, and %s holds another model",
                                 heed_field_row(samplers[i]->own, k)->name, samplers[i]->what, options_word(s->o, 0));
    return true;
}

static bool write(const struct sampling *s) {
    const int64_t n = s->count + s->near, side = (int64_t)ceil(sqrt((double)n));
    const int64_t columns = option_given(s->o, "columns") ? option_int(s->o, "columns")
                            : s->columns                  ? s->columns
                                                          : side;
    const float *const made = s->pixels + s->shape.numbers;
    char what[64], count[48];
    snprintf(what, sizeof what, "%s", text_count(s->count, "new picture", "new pictures", count));
    return sheet_write(s->o, s->cx, &s->shape, s->near ? s->pixels : made, n, columns, what) &&
           sheet_write_npy(s->o, s->cx, &s->shape, made, s->count);
}

static bool sample(const struct options *o, heed_ctx *cx) {
    const struct sampler *const by = sampler_of(cx, options_word(o, 0));
    struct sampling s = {.o = o, .cx = cx, .count = option_int(o, "count")};
    bool ok = by && options_are_of(&s, by) && by->open(&s);
    if (ok && s.count > ((int64_t)1 << 31) / s.shape.numbers)
        ok = heed_fail(cx, HEED_ERR_RANGE, "sample: %lld pictures are too many at once", (long long)s.count);
    if (ok) s.pixels = heed_mem_new(cx, (size_t)((1 + s.count) * s.shape.numbers) * sizeof *s.pixels);
    ok = ok && s.pixels && by->draw(&s) && write(&s);
    heed_mem_free(cx, s.pixels);
    heed_picture_model_free(cx, s.m);
    heed_pipeline_free(cx, s.pipeline);
    return ok;
}

static bool usage(const struct options *o) {
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++)
        if (!samplers[i]->fits(o)) return false;
    return sheet_fits(o);
}

static int run(int argc, char **argv) {
    struct options *const o = options_read("sample", options, argc, argv, 1, 1, "DIR");
    int status = EXIT_USAGE;
    if (o && usage(o)) {
        heed_ctx *const cx = options_open(o);
        status = EXIT_FAILED;
        if (cx) {
            const bool ok = sample(o, cx);
            status = options_close(o, cx, ok ? EXIT_DONE : EXIT_FAILED);
        }
    }
    options_free(o);
    return status;
}

const struct command sample_command = {
    .name = "sample",
    .summary = "new pictures from a model",
    .words = "DIR",
    .about =
        "Makes new pictures with a model that 'heed train autoencode' or 'heed train diffusion' has made.\n\n"
        "An autoencoder's are decoded from codes that are drawn from N(0, 1), near which training has kept those of a "
        "variational autoencoder. --near PICTURE draws around the code of a picture, z + eps. --grid lays a plane "
        "through the codes. A plain autoencoder has no distribution of codes: it needs --near, or --data, whose codes' "
        "mean and deviation are then drawn from.\n\n"
        "A diffusion model begins with noise and takes it away in --steps steps. DIR is a pipeline as diffusers writes "
        "it, too, where its network is a UNet2DModel. --scheduler takes another way through the noise than DIR says: "
        "ddim (Song et al. 2021), ddpm (Ho et al. 2020), which wants many steps, dpmsolver++ (Lu et al. 2022), which "
        "wants few, or euler (Karras et al. 2022). A model that was trained with --classes makes pictures of a class, "
        "and --guidance above 1 makes them more typical of it.\n\n"
        "The same --seed gives the same pictures, and the first of them whatever --count is.",
    .options = options,
    .examples =
        "heed sample mnist-vae --png new.png\n"
        "heed sample mnist-vae --near seven.png --scale 0.3 --count 15 --png sevens.png\n"
        "heed sample digits-vae --grid --count 20 --png plane.png\n"
        "heed sample mnist-vae --count 1000 --seed 7 --npy new.npy\n"
        "heed sample digits-diffusion --count 16 --steps 50 --png new.png --strip way.png\n"
        "heed sample mnist-by-class --class 7 --guidance 2 --scheduler dpmsolver++ --steps 20 --png sevens.png\n",
    .run = run,
};
