#include "cli/use/picture_sheet.h"
#include "cli/core/figure_options.h"
#include "io/text.h"
#include <stdio.h>
#include <string.h>

#define SMALL 40 /* pixels of a side: smaller pictures are enlarged unless --zoom says otherwise */

const heed_field sheet_options[] = {
    {.name = "png",
     .kind = HEED_FIELD_FILE,
     .value = "FILE.png",
     .help = "a sheet of the pictures; - is standard output"},
    {.name = "npy",
     .kind = HEED_FIELD_FILE,
     .value = "FILE.npy",
     .help = "their numbers from 0 to 1, an array (pictures, channels, height, width)"},
    {.name = "zoom",
     .kind = HEED_FIELD_INT,
     .value = "N",
     .low = 1,
     .high = 64,
     .help = "enlarge every pixel of the sheet to N x N; by default 2 of small pictures, else 1"},
    {.name = NULL},
};

static bool ends(const char *path, const char *ending) {
    return strcmp(path, "-") == 0 || text_ends(path, strlen(path), ending);
}

bool sheet_fits(const struct options *o) {
    const char *const png = option_text(o, "png"), *const npy = option_text(o, "npy"), *const name = options_command(o);
    if (!png && !npy)
        cli_error(EXIT_USAGE, "%s: --png FILE.png or --npy FILE.npy is needed: where the pictures go", name);
    else if (png && !ends(png, ".png"))
        cli_error(EXIT_USAGE, "%s: --png %s: the name must end in .png", name, png);
    else if (npy && !ends(npy, ".npy"))
        cli_error(EXIT_USAGE, "%s: --npy %s: the name must end in .npy", name, npy);
    else
        return pictures_fit(o) && option_writable(o, "png npy");
    return false;
}

static bool write_png(heed_ctx *cx, const char *path, const heed_image *sheet) {
    size_t size = 0;
    if (strcmp(path, "-") != 0) return heed_image_write(cx, path, sheet, 0);
    unsigned char *const bytes = heed_image_encode(cx, sheet, HEED_IMAGE_PNG, 0, &size);
    const bool ok = bytes && fwrite(bytes, 1, size, stdout) == size;
    heed_mem_free(cx, bytes);
    return ok || heed_fail(cx, HEED_ERR_FILE, "standard output: cannot be written");
}

bool sheet_write_to(const struct options *o, heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n,
                    int64_t columns, const char *path, const char *what) {
    const int64_t zoom = option_given(o, "zoom")                         ? option_int(o, "zoom")
                         : coder->height < SMALL && coder->width < SMALL ? 2
                                                                         : 1;
    heed_image sheet;
    if (!heed_pixels_sheet(cx, coder, pixels, n, columns, 2, zoom, &sheet)) return false;
    const bool ok = write_png(cx, path, &sheet) && pictures_report(o, path, what);
    heed_image_free(cx, &sheet);
    return ok;
}

bool sheet_write(const struct options *o, heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n,
                 int64_t columns, const char *what) {
    const char *const path = option_text(o, "png");
    return !path || sheet_write_to(o, cx, coder, pixels, n, columns, path, what);
}

bool sheet_write_npy(const struct options *o, heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n) {
    const char *const path = option_text(o, "npy");
    heed_array a = {.dtype = HEED_F32,
                    .rank = 4,
                    .shape = {n, coder->channels, coder->height, coder->width},
                    .data = (void *)(uintptr_t)pixels};
    return !path || (heed_npy_write(cx, path, &a) && pictures_report(o, path, "the pictures as numbers"));
}
