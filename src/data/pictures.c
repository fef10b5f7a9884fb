/* Pictures in folders, PART/CLASS/NAME.png or .jpg, or the same in a tar archive: classes are the names of the folders,
 * sorted. All are of one size; they become RGB bytes, (channels, height, width). */
#include "base/file.h"
#include "data/data.h"
#include "heed/image.h"
#include "io/array.h"
#include "io/tar.h"
#include "io/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define LONGEST_PATH 4096

struct entry {
    char *path; /* in sentences, and of the file */
    char *of;   /* its class, within path */
    size_t of_length;
    const unsigned char *bytes; /* in the archive; NULL: in the file */
    size_t size;
};

struct list {
    heed_ctx *cx;
    const char *name;
    struct entry *entry;
    int64_t n, room;
    unsigned char *archive;
};

static bool is_picture(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot != name &&
           (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

/* at: where the class begins in path. */
static bool add(struct list *l, const char *path, size_t at, size_t length, const unsigned char *bytes, size_t size) {
    if (l->n == l->room) {
        const int64_t room = 2 * l->room + 64;
        struct entry *larger = heed_mem_resize(l->cx, l->entry, (size_t)room * sizeof *larger);
        if (!larger) return false;
        l->entry = larger;
        l->room = room;
    }
    char *copy = heed_mem_new(l->cx, strlen(path) + 1);
    if (!copy) return false;
    strcpy(copy, path);
    l->entry[l->n++] = (struct entry){copy, copy + at, length, bytes, size};
    return true;
}

/* ---- where they are ---- */

static bool list_class(struct list *l, const char *folder, size_t at) {
    DIR *d = opendir(folder);
    const int64_t before = l->n;
    char path[LONGEST_PATH];
    if (!d) return heed_fail(l->cx, HEED_ERR_FILE, "%s: cannot be opened", folder);
    for (struct dirent *e = readdir(d); e && !heed_failed(l->cx); e = readdir(d))
        if (is_picture(e->d_name)) {
            if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= LONGEST_PATH)
                heed_fail(l->cx, HEED_ERR_FILE, "%s: a path is too long", folder);
            else
                add(l, path, at, strlen(folder) - at, NULL, 0);
        }
    closedir(d);
    if (heed_failed(l->cx)) return false;
    return l->n > before || heed_fail(l->cx, HEED_ERR_FORMAT,
                                      "%s: the folder of a class without a picture (.png, .jpg or .jpeg)", folder);
}

static bool list_folder(struct list *l, const char *part) {
    char path[LONGEST_PATH];
    snprintf(path, sizeof path, "%s/%s", l->name, part);
    DIR *d = opendir(path);
    if (!d) return heed_fail(l->cx, HEED_ERR_FILE, "%s: cannot be opened", path);
    for (struct dirent *e = readdir(d); e && !heed_failed(l->cx); e = readdir(d)) {
        struct stat what;
        if (e->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s/%s", l->name, part, e->d_name) >= LONGEST_PATH)
            heed_fail(l->cx, HEED_ERR_FILE, "%s: a path is too long", l->name);
        else if (stat(path, &what) == 0 && S_ISDIR(what.st_mode))
            list_class(l, path, strlen(l->name) + strlen(part) + 2);
    }
    closedir(d);
    return !heed_failed(l->cx);
}

/* .../PART/CLASS/NAME; *at: where CLASS begins. */
static bool is_of_part(const char *path, const char *part, size_t *at, size_t *length) {
    const size_t n = strlen(part);
    const char *file = strrchr(path, '/');
    if (!file || !is_picture(file + 1)) return false;
    const char *of = file;
    while (of > path && of[-1] != '/') of--;
    if (of == file || (size_t)(of - path) < n + 1 || strncmp(of - n - 1, part, n) != 0) return false;
    if ((size_t)(of - path) > n + 1 && of[-(ptrdiff_t)n - 2] != '/') return false;
    *at = (size_t)(of - path);
    *length = (size_t)(file - of);
    return true;
}

static bool list_archive(struct list *l, const char *part) {
    size_t size = 0, at, length;
    l->archive = file_read(l->cx, l->name, IO_READ_LIMIT, &size);
    if (!l->archive) return false;
    struct tar *t = heed_mem_new(l->cx, sizeof *t);
    if (!t) return false;
    *t = (struct tar){.cx = l->cx, .name = l->name, .data = l->archive, .size = size};
    while (tar_next(t))
        if (is_of_part(t->path, part, &at, &length) && !add(l, t->path, at, length, t->file, t->file_size)) break;
    heed_mem_free(l->cx, t);
    return !heed_failed(l->cx);
}

/* ---- what they are ---- */

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static bool same_class(const struct entry *a, const struct entry *b) {
    return a->of_length == b->of_length && memcmp(a->of, b->of, a->of_length) == 0;
}

static bool name_classes(const struct list *l, heed_data *out) {
    struct word *words = data_room(l->cx, l->n, 1, sizeof *words);
    if (!words) return false;
    for (int64_t i = 0; i < l->n; i++)
        if (i == 0 || !same_class(&l->entry[i - 1], &l->entry[i]))
            words[out->classes++] = (struct word){l->entry[i].of, l->entry[i].of_length};
    out->class_names = data_names(l->cx, words, out->classes);
    heed_mem_free(l->cx, words);
    return out->class_names;
}

static bool label(const struct list *l, heed_data *out) {
    out->label = data_room(l->cx, l->n, 1, sizeof *out->label);
    if (!out->label) return false;
    for (int64_t i = 0, k = 0; i < l->n; i++) {
        const struct entry *e = &l->entry[i];
        if (i == 0 || !same_class(&l->entry[i - 1], e))
            for (k = 0; k < out->classes; k++)
                if (strlen(out->class_names[k]) == e->of_length &&
                    memcmp(out->class_names[k], e->of, e->of_length) == 0)
                    break;
        if (k == out->classes)
            return heed_fail(l->cx, HEED_ERR_RANGE, "%s: class '%s' is not one of the %lld known", e->path,
                             shown_bytes(e->of, e->of_length).text, (long long)out->classes);
        out->label[i] = (int32_t)k;
    }
    return true;
}

static bool decode(const struct list *l, const struct entry *e, heed_image *p) {
    const heed_image_opts rgb = {.mode = HEED_IMAGE_RGB};
    return e->bytes ? heed_image_parse(l->cx, e->path, e->bytes, e->size, &rgb, p)
                    : heed_image_read(l->cx, e->path, &rgb, p);
}

static bool read_all(const struct list *l, heed_data *out) {
    for (int64_t i = 0; i < l->n; i++) {
        heed_image p;
        if (heed_cancelled(l->cx) || !decode(l, &l->entry[i], &p)) return false;
        if (i == 0) {
            out->image_channels = p.channels;
            out->image_height = p.height;
            out->image_width = p.width;
            out->width = p.channels * p.height * p.width;
            out->bytes = data_room(l->cx, l->n, out->width, 1);
        } else if (p.height != out->image_height || p.width != out->image_width) {
            heed_fail(l->cx, HEED_ERR_SHAPE, "%s: %lld x %lld pixels, those before have %lld x %lld", l->entry[i].path,
                      (long long)p.width, (long long)p.height, (long long)out->image_width,
                      (long long)out->image_height);
        }
        const int64_t pixels = p.height * p.width;
        for (int64_t k = 0; !heed_failed(l->cx) && k < pixels * p.channels; k++)
            out->bytes[i * out->width + k % p.channels * pixels + k / p.channels] = p.data[k];
        heed_image_free(l->cx, &p);
        if (heed_failed(l->cx)) return false;
    }
    out->n = l->n;
    out->scale = 1.0f / 255.0f;
    return true;
}

bool data_read_pictures(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    struct list l = {.cx = cx, .name = path};
    struct stat what;
    const char *part = opts->part ? opts->part : "train";
    if (opts->task == HEED_DATA_REGRESS)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: pictures in folders have classes, not numbers to regress on", path);
    bool ok = stat(path, &what) == 0 && S_ISDIR(what.st_mode) ? list_folder(&l, part) : list_archive(&l, part);
    if (ok && l.n == 0)
        ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: no pictures %s/CLASS/NAME.png or .jpg", path, shown(part).text);
    if (ok) qsort(l.entry, (size_t)l.n, sizeof *l.entry, by_path);
    if (ok && opts->task == HEED_DATA_CLASSIFY) {
        if (opts->like) out->classes = opts->like->classes;
        out->label = NULL;
        ok = opts->like && opts->like->class_names ? true : name_classes(&l, out);
        if (ok && opts->like && opts->like->class_names) {
            struct word *words = data_room(cx, out->classes, 1, sizeof *words);
            for (int64_t k = 0; words && k < out->classes; k++)
                words[k] = (struct word){opts->like->class_names[k], strlen(opts->like->class_names[k])};
            out->class_names = words ? data_names(cx, words, out->classes) : NULL;
            heed_mem_free(cx, words);
            ok = out->class_names;
        }
        ok = ok && label(&l, out);
    }
    ok = ok && read_all(&l, out);
    for (int64_t i = 0; i < l.n; i++) heed_mem_free(cx, l.entry[i].path);
    heed_mem_free(cx, l.entry);
    heed_mem_free(cx, l.archive);
    return ok;
}
