/* Opening a data set by what its path is: a directory of IDX files, npy files, or else a table. */
#include "data/data.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LONGEST_NAME 64

/* ---- MNIST's layout: four files, whose names vary a little from source to source ---- */

static bool is_kind(const char *path, mode_t kind) {
    struct stat what;
    return stat(path, &what) == 0 && (what.st_mode & S_IFMT) == kind;
}

/* The path, to be freed, of the part's file of images ("images-idx3") or labels ("labels-idx1"). */
static char *find_idx(heed_ctx *cx, const char *folder, const char *part, const char *what, int axes) {
    const size_t room = strlen(folder) + LONGEST_NAME;
    char *path = heed_mem_new(cx, room);
    if (!path) return NULL;
    for (int form = 0; form < 4; form++) {
        snprintf(path, room, "%s/%s-%s%cidx%d-ubyte%s", folder, part, what, form & 1 ? '.' : '-', axes,
                 form & 2 ? ".gz" : "");
        if (is_kind(path, S_IFREG)) return path;
    }
    heed_fail(cx, HEED_ERR_FILE, "%s: a directory without MNIST's file %s-%s-idx%d-ubyte (or .gz)", folder, part, what,
              axes);
    heed_mem_free(cx, path);
    return NULL;
}

static bool read_folder(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    if (opts->part && !test && strcmp(opts->part, "train") != 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: no part '%s': there are train and test", path,
                         shown(opts->part).text);
    if (opts->task == HEED_DATA_REGRESS)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: MNIST's labels are classes, not numbers to regress on", path);
    const char *part = test ? "t10k" : "train";
    const bool labels = opts->task == HEED_DATA_CLASSIFY;
    char *x = find_idx(cx, path, part, "images", 3);
    char *y = labels ? find_idx(cx, path, part, "labels", 1) : NULL;
    const bool ok = !heed_failed(cx) && data_read_arrays(cx, heed_idx_read, x, y, opts, out);
    heed_mem_free(cx, x);
    heed_mem_free(cx, y);
    return ok;
}

/* ---- npy: "x.npy,y.npy", or "x.npy" where no targets are wanted ---- */

static bool read_npy(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    const char *comma = strstr(path, ".npy,");
    if (opts->task != HEED_DATA_INPUTS && !comma)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: inputs without targets: give a pair, x.npy,y.npy", path);
    const size_t length = comma ? (size_t)(comma - path) + strlen(".npy") : strlen(path);
    char *x = heed_mem_new(cx, length + 1);
    if (!x) return false;
    memcpy(x, path, length);
    x[length] = 0;
    const char *y = opts->task == HEED_DATA_INPUTS ? NULL : path + length + 1;
    const bool ok = data_read_arrays(cx, heed_npy_read, x, y, opts, out);
    heed_mem_free(cx, x);
    return ok;
}

/* ---- any ---- */

static bool check_opts(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    if (heed_failed(cx)) return false;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "data: path or name is NULL");
    if ((unsigned)opts->task > HEED_DATA_INPUTS)
        return heed_fail(cx, HEED_ERR_USAGE, "data: no task %d", (int)opts->task);
    const heed_data *like = opts->like;
    if (like && opts->task == HEED_DATA_CLASSIFY && like->classes < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: should be like a data set that has no classes", path);
    if (like && opts->task == HEED_DATA_REGRESS && like->outputs < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: should be like a data set that has no numbers as targets", path);
    return true;
}

static bool read_any(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    const bool folder = is_kind(path, S_IFDIR), npy = text_ends(path, strlen(path), ".npy");
    if ((folder || npy) && (opts->target || opts->use || opts->drop || opts->skip_missing))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: not a table, so no columns can be chosen", path);
    if (!folder && opts->part && strcmp(opts->part, "train") != 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a file has no part '%s'", path, shown(opts->part).text);
    return (folder ? read_folder : npy ? read_npy : data_read_table)(cx, path, opts, out);
}

static bool check_like(heed_ctx *cx, const char *path, const heed_data *like, const heed_data *d) {
    if (!like) return true;
    if (like->width > 0 && d->width != like->width)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld inputs, should be %lld", path, (long long)d->width,
                         (long long)like->width);
    if (d->outputs > 0 && d->outputs != like->outputs)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld targets, should be %lld", path, (long long)d->outputs,
                         (long long)like->outputs);
    if (like->image_height > 0 && d->image_height > 0 &&
        (d->image_height != like->image_height || d->image_channels != like->image_channels))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: pictures of (%lld,%lld,%lld), should be (%lld,%lld,%lld)", path,
                         (long long)d->image_channels, (long long)d->image_height, (long long)d->image_width,
                         (long long)like->image_channels, (long long)like->image_height, (long long)like->image_width);
    return true;
}

heed_data *heed_data_parse(heed_ctx *cx, const char *name, const char *text, size_t size, const heed_data_opts *opts) {
    const heed_data_opts defaults = {.task = HEED_DATA_REGRESS};
    if (!opts) opts = &defaults;
    if (!check_opts(cx, name, opts)) return NULL;
    if (!text) return heed_fail(cx, HEED_ERR_USAGE, "%s: the text is NULL", name), NULL;
    heed_data *d = data_new(cx);
    if (d && data_parse_table(cx, name, text, size, opts, d) && check_like(cx, name, opts->like, d)) return d;
    heed_data_free(cx, d);
    return NULL;
}

heed_data *heed_data_load(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    const heed_data_opts defaults = {.task = HEED_DATA_REGRESS};
    if (!opts) opts = &defaults;
    if (!check_opts(cx, path, opts)) return NULL;
    heed_data *d = data_new(cx);
    if (d && read_any(cx, path, opts, d) && check_like(cx, path, opts->like, d)) return d;
    heed_data_free(cx, d);
    return NULL;
}
