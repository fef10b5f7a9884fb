/* Opening a data set by what its path is: a directory of pictures or of IDX files, an archive of pictures, npy or IDX
 * files, or else a table. */
#include "base/profile.h"
#include "data/data.h"
#include "data/recognise.h"
#include "heed/picture_set.h"
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

/* Whether a directory has pictures in folders, [PART/]CLASS/NAME; any name may be a part. */
static bool has_pictures(const char *path, const char *part) {
    char below[FOUND_PATH];
    return heed_picture_set_is(path) ||
           (part && snprintf(below, sizeof below, "%s/%s", path, part) < (int)sizeof below && is_kind(below, S_IFDIR));
}

static bool is_archive(const char *path) {
    const size_t n = strlen(path);
    return text_ends(path, n, ".tar") || text_ends(path, n, ".tar.gz") || text_ends(path, n, ".tgz");
}

/* What is in neither layout. */
static bool no_data(heed_ctx *cx, const char *path, const char *part) {
    char file[FOUND_PATH];
    if (data_part_file(path, "train", data_table_endings, file))
        return heed_fail(cx, HEED_ERR_FILE, "%s: there is no file %s.csv or .tsv beside %s", path, escaped(part).s,
                         strrchr(file, '/') + 1);
    return data_refuse(cx, path,
                       "a directory without data that heed knows: tables (train.csv), pictures in folders of classes, "
                       "or MNIST's files");
}

static bool read_folder(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    if (!data_has_idx(path)) return no_data(cx, path, opts->part);
    if (opts->part && !test && strcmp(opts->part, "train") != 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: no part '%s': there are train and test", path, escaped(opts->part).s);
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

/* ---- arrays: npy and IDX files, "x,y", or "x" where no targets are wanted ---- */

/* By its first bytes: two of 0, a type, a rank. What is gzipped is known by its name. */
static bool is_idx(const char *path) {
    const size_t n = strlen(path);
    if (!is_kind(path, S_IFREG)) return false;
    if (text_ends(path, n, "-ubyte.gz") || text_ends(path, n, ".idx.gz")) return true;
    unsigned char head[4] = {1};
    FILE *f = fopen(path, "rb");
    const size_t read = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return read == sizeof head && head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14 && head[3] > 0;
}

static bool is_npy(const char *path) { return text_ends(path, strlen(path), ".npy"); }

static heed_array *read_array(heed_ctx *cx, const char *path) {
    return is_npy(path) ? heed_npy_read(cx, path) : heed_idx_read(cx, path);
}

static char *beginning(heed_ctx *cx, const char *path, size_t length) {
    char *copy = heed_mem_new(cx, length + 1);
    if (!copy) return NULL;
    memcpy(copy, path, length);
    copy[length] = 0;
    return copy;
}

/* The inputs' path, to be freed, when these are arrays; *y: that of the targets, or NULL. */
static char *find_arrays(heed_ctx *cx, const char *path, const char **y) {
    *y = NULL;
    for (const char *comma = strchr(path, ','); comma; comma = strchr(comma + 1, ',')) {
        char *x = beginning(cx, path, (size_t)(comma - path));
        if (x && (is_npy(x) || is_idx(x))) {
            *y = comma + 1;
            return x;
        }
        heed_mem_free(cx, x);
    }
    return is_npy(path) || is_idx(path) ? beginning(cx, path, strlen(path)) : NULL;
}

static bool read_arrays(heed_ctx *cx, const char *path, const char *x, const char *y, const heed_data_opts *opts,
                        heed_data *out) {
    const bool targets = opts->task != HEED_DATA_INPUTS;
    if (targets && !y)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: inputs without targets: give a pair of files, x,y", path);
    return data_read_arrays(cx, read_array, x, targets ? y : NULL, opts, out);
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

/* A directory of tables: the one that holds the part, by its name. */
static bool find_table(const char *folder, const char *part, char out[FOUND_PATH]) {
    return !data_has_idx(folder) && !heed_picture_set_is(folder) &&
           data_part_file(folder, part ? part : "train", data_table_endings, out);
}

static bool read_any(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    const char *y = NULL;
    char file[FOUND_PATH];
    const bool tables = is_kind(path, S_IFDIR) && find_table(path, opts->part, file);
    if (tables) path = file;
    const bool folder = is_kind(path, S_IFDIR), columns = opts->target || opts->use || opts->drop || opts->skip_missing;
    const bool archive = !folder && is_archive(path), pictures = archive || (folder && has_pictures(path, opts->part));
    char *x = folder || archive ? NULL : find_arrays(cx, path, &y);
    bool ok = !heed_failed(cx);
    if (ok && (folder || archive || x) && columns)
        ok = heed_fail(cx, HEED_ERR_USAGE, "%s: not a table, so no columns can be chosen", path);
    if (ok && !folder && !archive && !tables && opts->part && strcmp(opts->part, "train") != 0)
        ok = heed_fail(cx, HEED_ERR_USAGE, "%s: a file has no part '%s'", path, escaped(opts->part).s);
    ok = ok && (pictures ? data_read_pictures(cx, path, opts, out)
                : folder ? read_folder(cx, path, opts, out)
                : x      ? read_arrays(cx, path, x, y, opts, out)
                         : data_read_table(cx, path, opts, out));
    heed_mem_free(cx, x);
    return ok;
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
    const struct profile_mark mark = profile_begin(cx);
    heed_data *d = data_new(cx);
    if (!d || !read_any(cx, path, opts, d) || !check_like(cx, path, opts->like, d)) {
        heed_data_free(cx, d);
        d = NULL;
    }
    profile_end(cx, mark, "load data", PROFILE_FORWARD);
    return d;
}
