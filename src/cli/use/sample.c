/* heed sample: new pictures from a model that makes them. */
#include "cli/use/sample.h"
#include "model/core/directory.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "count", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "64", .value = "N", .low = 1, .high = 1e6,
     .help = "number of pictures; with --grid, of each side"},
    {.name = "columns", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "pictures in a row of the sheet; by default about as many as there are rows"},
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
    {.name = "sheets", .kind = HEED_FIELD_TABLE, .table = sheet_options},
    {.name = NULL},
};
/* clang-format on */

static const struct sampler *const samplers[] = {&code_sampler};

/* By the head of the directory; NULL with a sentence. */
static const struct sampler *sampler_of(heed_ctx *cx, const char *dir) {
    heed_directory *const d = heed_directory_open(cx, dir);
    const heed_head *const head = d ? heed_directory_head(d) : NULL;
    const struct sampler *found = NULL;
    for (size_t i = 0; head && i < sizeof samplers / sizeof *samplers; i++)
        if (text_among(head->tasks, samplers[i]->task)) found = samplers[i];
    if (d && !found)
        heed_fail(cx, HEED_ERR_USAGE, "%s: the model makes no pictures; 'heed train autoencode' makes one that does",
                  dir);
    heed_directory_close(cx, d);
    return found;
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
    const int64_t side = option_int(o, "count");
    struct sampling s = {.o = o, .cx = cx, .count = side};
    if (!by) return false;
    s.m = heed_picture_model_open(cx, options_word(o, 0), by->task);
    bool ok = s.m && heed_coder_of(cx, s.m->model, &s.shape);
    if (ok && option_flag(o, "grid")) {
        s.columns = option_given(o, "count") ? side : 20;
        s.count = s.columns * s.columns;
    }
    if (ok && s.count > ((int64_t)1 << 31) / s.shape.numbers)
        ok = heed_fail(cx, HEED_ERR_RANGE, "sample: %lld pictures are too many at once", (long long)s.count);
    if (ok) s.pixels = heed_mem_new(cx, (size_t)((1 + s.count) * s.shape.numbers) * sizeof *s.pixels);
    ok = ok && s.pixels && by->draw(&s) && write(&s);
    heed_mem_free(cx, s.pixels);
    heed_picture_model_free(cx, s.m);
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
        "Makes new pictures with an autoencoder that 'heed train autoencode' has made: codes are drawn from N(0, 1), "
        "near "
        "which training has kept those of a variational autoencoder, and decoded. --near PICTURE draws around the code "
        "of a picture, z + eps. --grid lays a plane through the codes. A plain autoencoder has no distribution of "
        "codes: "
        "it needs --near, or --data, whose codes' mean and deviation are then drawn from.\n\n"
        "The same --seed gives the same pictures.",
    .options = options,
    .examples = "heed sample mnist-vae --png new.png\n"
                "heed sample mnist-vae --near seven.png --scale 0.3 --count 15 --png sevens.png\n"
                "heed sample digits-vae --grid --count 20 --png plane.png\n"
                "heed sample mnist-vae --count 1000 --seed 7 --npy new.npy\n",
    .run = run,
};
