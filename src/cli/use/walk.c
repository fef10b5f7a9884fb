/* heed walk: from one picture to another, through the codes between theirs. */
#include "cli/use/picture_sheet.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "steps", .kind = HEED_FIELD_INT, .standard = "10", .value = "N", .low = 2, .high = 10000,
     .help = "codes from one picture's to the other's, both included"},
    {.name = "path", .kind = HEED_FIELD_CHOICE, .standard = "linear", .value = "KIND", .choices = "linear spherical",
     .help = "on a straight line, or on a great circle, which suits codes of many numbers, one of"},
    {.name = "sheets", .kind = HEED_FIELD_TABLE, .table = sheet_options},
    {.name = NULL},
};
/* clang-format on */

static bool is_grey(const heed_image *picture) { return picture->channels < HEED_IMAGE_RGB; }

/* The pictures as the model takes them, (n, ...). Between grey and coloured ones there is no way: one of them would
 * have to become what it is not. */
static float *read(const struct options *o, heed_ctx *cx, const heed_picture_model *m, const heed_coder *c, int n) {
    float *const to = heed_mem_new(cx, (size_t)(n * c->numbers) * sizeof *to);
    bool grey = false;
    for (int i = 0; to && i < n && !heed_failed(cx); i++) {
        const char *const path = options_word(o, 1 + i);
        heed_image plain, picture = {0};
        if (!heed_picture_load(cx, path, HEED_IMAGE_ANY, &plain)) break;
        if (i > 0 && grey != is_grey(&plain))
            heed_fail(cx, HEED_ERR_SHAPE,
                      "walk: %s has %d channel%s and %s has %d: both must be grey, or both in colour",
                      options_word(o, i), grey ? 1 : 3, grey ? "" : "s", path, grey ? 3 : 1);
        grey = is_grey(&plain);
        heed_image_free(cx, &plain);
        float *const x = heed_picture_read(cx, m, path, &picture) ? heed_coder_pixels(cx, m, &picture, 1) : NULL;
        heed_image_free(cx, &picture);
        if (x) memcpy(to + i * c->numbers, x, (size_t)c->numbers * sizeof *to);
        heed_mem_free(cx, x);
    }
    if (!heed_failed(cx)) return to;
    heed_mem_free(cx, to);
    return NULL;
}

/* A row for each pair of neighbours: a picture, the way, the other picture. */
static bool write(const struct options *o, heed_ctx *cx, const heed_coder *c, const float *ends, const float *made,
                  int64_t ways, int64_t steps) {
    const size_t one = (size_t)c->numbers * sizeof(float);
    const int64_t columns = steps + 2;
    float *const sheet = heed_mem_new(cx, (size_t)(ways * columns) * one);
    char what[64];
    if (!sheet) return false;
    for (int64_t w = 0; w < ways; w++) {
        float *const row = sheet + w * columns * c->numbers;
        memcpy(row, ends + w * c->numbers, one);
        memcpy(row + c->numbers, made + w * steps * c->numbers, (size_t)steps * one);
        memcpy(row + (columns - 1) * c->numbers, ends + (w + 1) * c->numbers, one);
    }
    snprintf(what, sizeof what, "%lld steps from picture to picture", (long long)steps);
    const bool ok =
        sheet_write(o, cx, c, sheet, ways * columns, columns, what) && sheet_write_npy(o, cx, c, made, ways * steps);
    heed_mem_free(cx, sheet);
    return ok;
}

static bool walk(const struct options *o, heed_ctx *cx, const heed_picture_model *m) {
    const int n = options_words(o) - 1;
    const int64_t steps = option_int(o, "steps"), ways = n - 1;
    const bool spherical = strcmp(option_text(o, "path"), "spherical") == 0;
    heed_coder c;
    if (!heed_coder_of(cx, m->model, &c)) return false;
    const size_t codes = (size_t)((n + ways * steps) * c.latent);
    float *const ends = read(o, cx, m, &c, n);
    float *const z = ends ? heed_mem_new(cx, codes * sizeof *z) : NULL, *const way = z ? z + n * c.latent : NULL;
    float *const made = z ? heed_mem_new(cx, (size_t)(ways * steps * c.numbers) * sizeof *made) : NULL;
    bool ok = made && heed_encode_pixels(cx, m->model, ends, n, z, NULL);
    for (int64_t w = 0; ok && w < ways; w++)
        heed_codes_between(z + w * c.latent, z + (w + 1) * c.latent, c.latent, steps, spherical,
                           way + w * steps * c.latent);
    ok = ok && heed_decode_codes(cx, m->model, way, ways * steps, made) && write(o, cx, &c, ends, made, ways, steps);
    heed_mem_free(cx, made);
    heed_mem_free(cx, z);
    heed_mem_free(cx, ends);
    return ok;
}

static int run(int argc, char **argv) {
    struct options *const o = options_read("walk", options, argc, argv, 3, INT_MAX, "DIR PICTURE PICTURE...");
    int status = EXIT_USAGE;
    if (o && sheet_fits(o)) {
        heed_ctx *const cx = options_open(o);
        heed_picture_model *const m = cx ? heed_picture_model_open(cx, options_word(o, 0), "autoencode") : NULL;
        const bool ok = m && walk(o, cx, m);
        heed_picture_model_free(cx, m);
        status = cx ? options_close(o, cx, ok ? EXIT_DONE : EXIT_FAILED) : EXIT_FAILED;
    }
    options_free(o);
    return status;
}

const struct command walk_command = {
    .name = "walk",
    .summary = "from picture to picture through the codes between",
    .words = "DIR PICTURE PICTURE...",
    .about =
        "Encodes pictures with an autoencoder and decodes codes on the way from each to the next. A row of the sheet "
        "is such a way, with the two pictures at its ends. Between the codes of a variational autoencoder lie codes "
        "of pictures; between those of a plain one there may be nothing.",
    .options = options,
    .examples = "heed walk mnist-vae three.png eight.png --png way.png\n"
                "heed walk photos-vae a.png b.png c.png --steps 16 --path spherical --png ways.png --npy ways.npy\n",
    .run = run,
};
