/* heed reconstruct: pictures, and what an autoencoder makes of them. */
#include "cli/core/each_picture.h"
#include "cli/core/input_lines.h"
#include "cli/use/picture_sheet.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STREAM 0x2EC0000000000000u
#define MOST   1024 /* pictures of a sheet */

/* clang-format off */
static const heed_field options[] = {
    {.name = "noise", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 100,
     .help = "add normal noise of this deviation first; the sheet shows it between picture and reconstruction"},
    {.name = "mask", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 0.999,
     .help = "set this fraction of the pixels to 0 first, likewise"},
    {.name = "sheets", .kind = HEED_FIELD_TABLE, .table = sheet_options},
    {.name = "columns", .kind = HEED_FIELD_INT, .standard = "16", .value = "N", .low = 1, .high = 1e4,
     .help = "pictures in a row of the sheet"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* What goes onto the sheet: of every picture as it was, as the model saw it, and as it came back. */
struct restored {
    heed_coder coder;
    heed_string pixels[3]; /* (n, channels, height, width) floats */
    int64_t n;
    bool noisy;
};

static bool begin(struct each_picture *e) {
    struct restored *const r = e->own = heed_mem_new(e->cx, sizeof *r);
    if (!r) return false;
    *r = (struct restored){.noisy = option_number(e->o, "noise") > 0 || option_number(e->o, "mask") > 0};
    return heed_coder_of(e->cx, e->m->model, &r->coder);
}

static double squared_error(const float *x, const float *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sum / (double)n;
}

static void print(const struct each_picture *e, const struct restored *r, const char *path, double error,
                  const float *code) {
    if (option_flag(e->o, "json")) {
        const heed_json at = each_picture_json(e, "picture", path);
        heed_json_put_number(e->cx, at, "squared_error", error);
        const heed_json list = heed_json_put_array(e->cx, at, "code");
        for (int64_t k = 0; k < r->coder.latent; k++) heed_json_put_number(e->cx, list, NULL, (double)code[k]);
        each_picture_print(e, at);
        return;
    }
    cli_print_text(stdout, path);
    printf("\t%.6f\n", error);
}

static bool keep(heed_ctx *cx, const struct restored *r, heed_string *to, const float *pixels, int64_t n) {
    return heed_string_put(cx, to, (const char *)pixels, (size_t)(n * r->coder.numbers) * sizeof *pixels);
}

/* x -> what the model sees, y; codes z (n, latent) */
static bool restore(struct each_picture *e, struct restored *r, const float *x, int64_t n, float *seen, float *y,
                    float *z) {
    const int64_t each = r->coder.numbers;
    const heed_corruption c = {.noise = option_number(e->o, "noise"), .mask = option_number(e->o, "mask")};
    for (int64_t i = 0; i < n; i++)
        heed_corrupt(&c, heed_seed(e->cx), STREAM, r->n + i, each, x + i * each, seen + i * each);
    return heed_encode_pixels(e->cx, e->m->model, seen, n, z, NULL) && heed_decode_codes(e->cx, e->m->model, z, n, y);
}

static bool answer(struct each_picture *e, int64_t first, int64_t n) {
    struct restored *const r = e->own;
    const int64_t each = r->coder.numbers, latent = r->coder.latent;
    float *const x = heed_coder_pixels(e->cx, e->m, e->picture + first, n);
    float *const more = x ? heed_mem_new(e->cx, (size_t)(n * (2 * each + latent)) * sizeof *more) : NULL;
    float *const seen = more, *const y = more ? more + n * each : NULL, *const z = more ? y + n * each : NULL;
    bool ok = more && restore(e, r, x, n, seen, y, z);
    if (ok && r->n + n > MOST)
        ok = heed_fail(e->cx, HEED_ERR_USAGE, "reconstruct: more than %d pictures, which a sheet cannot hold", MOST);
    ok = ok && keep(e->cx, r, &r->pixels[0], x, n) && keep(e->cx, r, &r->pixels[1], seen, n) &&
         keep(e->cx, r, &r->pixels[2], y, n);
    const char *const png = option_text(e->o, "png"), *const npy = option_text(e->o, "npy");
    const bool text = !(png && strcmp(png, "-") == 0) && !(npy && strcmp(npy, "-") == 0);
    for (int64_t i = 0; ok && text && i < n; i++)
        print(e, r, e->path[first + i], squared_error(x + i * each, y + i * each, each), z + i * latent);
    if (ok) r->n += n;
    heed_mem_free(e->cx, more);
    heed_mem_free(e->cx, x);
    return ok;
}

/* Rows of originals, each above what came of them; the last row may end early. */
static bool write(const struct each_picture *e, const struct restored *r) {
    const int64_t each = r->coder.numbers, asked = option_int(e->o, "columns"), columns = asked < r->n ? asked : r->n;
    const int64_t groups = (r->n + columns - 1) / columns, rows = r->noisy ? 3 : 2;
    const float *const all[] = {(const float *)(const void *)r->pixels[0].s,
                                (const float *)(const void *)r->pixels[r->noisy ? 1 : 2].s,
                                (const float *)(const void *)r->pixels[2].s};
    float *const sheet = heed_mem_new(e->cx, (size_t)(groups * rows * columns * each) * sizeof *sheet);
    char what[80], count[48];
    if (!sheet) return false;
    for (int64_t i = 0; i < groups * rows * columns * each; i++) sheet[i] = 1; /* white, where there is no picture */
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t row = 0; row < rows; row++)
            memcpy(sheet + ((i / columns * rows + row) * columns + i % columns) * each, all[row] + i * each,
                   (size_t)each * sizeof *sheet);
    snprintf(what, sizeof what, "%s above %s%s", text_count(r->n, "picture", "pictures", count),
             r->noisy ? "noisy ones and " : "", r->n == 1 ? "its reconstruction" : "their reconstructions");
    const bool ok = sheet_write(e->o, e->cx, &r->coder, sheet, groups * rows * columns, columns, what) &&
                    sheet_write_npy(e->o, e->cx, &r->coder, all[2], r->n);
    heed_mem_free(e->cx, sheet);
    return ok;
}

static bool finish(struct each_picture *e, bool good) {
    struct restored *const r = e->own;
    if (good && r && r->n == 0 && e->bad == 0) /* bad ones have had their sentences */
        good = heed_fail(e->cx, HEED_ERR_USAGE, "reconstruct: there are no pictures");
    if (good && r && r->n > 0) good = write(e, r);
    for (int i = 0; r && i < 3; i++) heed_string_free(e->cx, &r->pixels[i]);
    heed_mem_free(e->cx, r);
    return good;
}

static int run(int argc, char **argv) {
    static const struct each_picture_command c = {
        .task = "autoencode", .begin = begin, .answer = answer, .finish = finish};
    struct options *const o = options_read("reconstruct", options, argc, argv, 1, INT_MAX, "DIR [PICTURE...]");
    const int status = o && sheet_fits(o) ? each_picture_run(&c, o) : EXIT_USAGE;
    options_free(o);
    return status;
}

const struct command reconstruct_command = {
    .name = "reconstruct",
    .summary = "pictures through an autoencoder and back",
    .words = "DIR [PICTURE...]",
    .about =
        "Encodes pictures with an autoencoder, a variational one with the mean of its codes, and decodes them. The "
        "sheet "
        "shows pictures, as the model takes them, above what came back. A line for each picture has its path, a tab, "
        "and the mean squared error of a pixel; --json has the code too. Pictures of another size are resized. Without "
        "pictures their paths come from standard input, a line each.\n\n"
        "--noise and --mask spoil the pictures first, and the model shows whether it can repair them.",
    .options = options,
    .examples = "heed reconstruct mnist-vae a.png b.png --png both.png\n"
                "ls digits/*.png | heed reconstruct mnist-vae --npy out.npy --json\n"
                "heed reconstruct clean seven.png --noise 0.5 --png repaired.png\n",
    .run = run,
};
