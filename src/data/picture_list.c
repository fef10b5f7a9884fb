/* Pictures in folders, PART/CLASS/NAME.png or .jpg, or the same in a tar archive: where they are, and their classes. */
#include "data/picture_list.h"
#include "base/file.h"
#include "data/recognise.h"
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

bool picture_named(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot != name &&
           (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

/* at: where the class begins in path. */
static bool add(struct picture_list *l, const char *path, size_t at, size_t length, const unsigned char *bytes,
                size_t size) {
    if (l->n == l->room) {
        const int64_t room = 2 * l->room + 64;
        struct picture_file *larger = heed_mem_resize(l->cx, l->file, (size_t)room * sizeof *larger);
        if (!larger) return false;
        l->file = larger;
        l->room = room;
    }
    char *copy = heed_mem_new(l->cx, strlen(path) + 1);
    if (!copy) return false;
    strcpy(copy, path);
    l->file[l->n++] = (struct picture_file){copy, copy + at, length, bytes, size};
    return true;
}

/* ---- where they are ---- */

static bool list_class(struct picture_list *l, const char *folder, size_t at) {
    DIR *d = opendir(folder);
    const int64_t before = l->n;
    char path[LONGEST_PATH];
    const bool loose = at == strlen(folder); /* the class has no name */
    if (!d) return heed_fail(l->cx, HEED_ERR_FILE, "%s: cannot be opened", folder);
    for (struct dirent *e = readdir(d); e && !heed_failed(l->cx); e = readdir(d))
        if (picture_named(e->d_name)) {
            if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= LONGEST_PATH)
                heed_fail(l->cx, HEED_ERR_FILE, "%s: a path is too long", folder);
            else
                add(l, path, at, strlen(folder) - at, NULL, 0);
        }
    closedir(d);
    if (heed_failed(l->cx)) return false;
    return loose || l->n > before ||
           heed_fail(l->cx, HEED_ERR_FORMAT, "%s: the folder of a class without a picture (.png, .jpg or .jpeg)",
                     folder);
}

/* part NULL: the classes are folders of the folder itself. */
static bool list_folder(struct picture_list *l, const char *part) {
    char path[LONGEST_PATH], base[LONGEST_PATH];
    if (snprintf(base, sizeof base, "%s%s%s", l->name, part ? "/" : "", part ? part : "") >= LONGEST_PATH)
        return heed_fail(l->cx, HEED_ERR_FILE, "%s: a path is too long", l->name);
    strcpy(path, base);
    DIR *d = opendir(path);
    if (!d) return heed_fail(l->cx, HEED_ERR_FILE, "%s: cannot be opened", path);
    for (struct dirent *e = readdir(d); e && !heed_failed(l->cx); e = readdir(d)) {
        struct stat what;
        if (e->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", base, e->d_name) >= LONGEST_PATH)
            heed_fail(l->cx, HEED_ERR_FILE, "%s: a path is too long", l->name);
        else if (stat(path, &what) == 0 && S_ISDIR(what.st_mode))
            list_class(l, path, strlen(base) + 1);
    }
    closedir(d);
    return !heed_failed(l->cx) && (!l->loose || list_class(l, base, strlen(base)));
}

/* .../PART/CLASS/NAME; *at: where CLASS begins. part NULL: any, or none. */
static bool is_of_part(const char *path, const char *part, size_t *at, size_t *length) {
    const size_t n = part ? strlen(part) : 0;
    const char *file = strrchr(path, '/');
    if (!file || !picture_named(file + 1)) return false;
    const char *of = file;
    while (of > path && of[-1] != '/') of--;
    if (of == file) return false;
    if (part && ((size_t)(of - path) < n + 1 || strncmp(of - n - 1, part, n) != 0)) return false;
    if (part && (size_t)(of - path) > n + 1 && of[-(ptrdiff_t)n - 2] != '/') return false;
    *at = (size_t)(of - path);
    *length = (size_t)(file - of);
    return true;
}

static bool list_archive(struct picture_list *l, const char *part) {
    size_t at, length;
    if (!l->archive) {
        l->archive = l->own = file_read(l->cx, l->name, IO_READ_LIMIT, &l->archive_size);
        if (!l->archive) return false;
    }
    struct tar *t = heed_mem_new(l->cx, sizeof *t);
    if (!t) return false;
    *t = (struct tar){.cx = l->cx, .name = l->name, .data = l->archive, .size = l->archive_size};
    while (tar_next(t)) {
        const bool loose = l->loose && !part && !strchr(t->path, '/') && picture_named(t->path);
        if (loose) at = length = 0;
        if ((loose || is_of_part(t->path, part, &at, &length)) && !add(l, t->path, at, length, t->file, t->file_size))
            break;
    }
    heed_mem_free(l->cx, t);
    return !heed_failed(l->cx);
}

/* ---- what they are ---- */

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct picture_file *)a)->path, ((const struct picture_file *)b)->path);
}

static bool same_class(const struct picture_file *a, const struct picture_file *b) {
    return a->of_length == b->of_length && memcmp(a->of, b->of, a->of_length) == 0;
}

static bool name_classes(const struct picture_list *l, heed_data *out) {
    struct word *words = data_room(l->cx, l->n, 1, sizeof *words);
    if (!words) return false;
    for (int64_t i = 0; i < l->n; i++)
        if (i == 0 || !same_class(&l->file[i - 1], &l->file[i]))
            words[out->classes++] = (struct word){l->file[i].of, l->file[i].of_length};
    out->class_names = data_names(l->cx, words, out->classes);
    heed_mem_free(l->cx, words);
    return out->class_names;
}

static bool set_labels(const struct picture_list *l, heed_data *out) {
    out->label = data_room(l->cx, l->n, 1, sizeof *out->label);
    if (!out->label) return false;
    for (int64_t i = 0, k = 0; i < l->n; i++) {
        const struct picture_file *e = &l->file[i];
        if (i == 0 || !same_class(&l->file[i - 1], e))
            for (k = 0; k < out->classes; k++)
                if (strlen(out->class_names[k]) == e->of_length &&
                    memcmp(out->class_names[k], e->of, e->of_length) == 0)
                    break;
        if (k == out->classes)
            return heed_fail(l->cx, HEED_ERR_RANGE, "%s: class '%s' is not one of the %lld known", e->path,
                             escaped_bytes(e->of, e->of_length).s, (long long)out->classes);
        out->label[i] = (int32_t)k;
    }
    return true;
}

bool picture_list_classes(const struct picture_list *l, const heed_data *like, heed_data *out) {
    if (like && like->class_names) {
        struct word *words = data_room(l->cx, like->classes, 1, sizeof *words);
        for (int64_t k = 0; words && k < like->classes; k++)
            words[k] = (struct word){like->class_names[k], strlen(like->class_names[k])};
        out->classes = like->classes;
        out->class_names = words ? data_names(l->cx, words, like->classes) : NULL;
        heed_mem_free(l->cx, words);
        return out->class_names && set_labels(l, out);
    }
    return name_classes(l, out) && set_labels(l, out);
}

bool picture_list_find(struct picture_list *l, const char *part) {
    const bool ok = data_is_folder(l->name) ? list_folder(l, part) : list_archive(l, part);
    if (ok && l->n > 0) qsort(l->file, (size_t)l->n, sizeof *l->file, by_path);
    return ok;
}

/* Whether an archive has none of the usual parts. */
static bool lacks_parts(struct picture_list *l) {
    static const char *const parts[] = {"train", "val", "test"};
    for (int i = 0; i < 3 && l->n == 0; i++)
        if (!list_archive(l, parts[i])) return false;
    const bool lacks = l->n == 0;
    for (; l->n > 0; l->n--) heed_mem_free(l->cx, l->file[l->n - 1].path);
    return lacks;
}

bool picture_list_open(struct picture_list *l, const char *part) {
    const bool folder = data_is_folder(l->name),
               whole = folder && (l->loose ? !data_has_parts(l->name) : data_has_classes(l->name));
    if (!picture_list_find(l, whole ? NULL : part)) return false;
    if (l->n == 0 && !folder && lacks_parts(l) && !picture_list_find(l, NULL)) return false;
    return l->n > 0 || heed_fail(l->cx, HEED_ERR_FORMAT, "%s: no pictures %s%sNAME.png or .jpg", l->name,
                                 escaped(part).s, l->loose ? "/" : "/CLASS/");
}

bool picture_decode(heed_ctx *cx, const struct picture_file *f, heed_image_mode mode, heed_image *out) {
    const heed_image_opts opts = {.mode = mode};
    return f->bytes ? heed_image_parse(cx, f->path, f->bytes, f->size, &opts, out)
                    : heed_image_read(cx, f->path, &opts, out);
}

void picture_list_free(struct picture_list *l) {
    for (int64_t i = 0; i < l->n; i++) heed_mem_free(l->cx, l->file[i].path);
    heed_mem_free(l->cx, l->file);
    heed_mem_free(l->cx, l->own);
}
