/* Nearest pictures: those of a folder or of a list, and their vectors. */
#include "data/picture_list.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "task/similar/similar.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT_ONCE    64                  /* pictures between two reports, and */
#define MAX_PIXELS ((int64_t)32 << 20) /* pixels of those that wait to be embedded together */

/* ---- which ---- */

struct paths {
    heed_ctx *cx;
    char **path;
    int64_t n, room;
};

static bool add_path(struct paths *p, const char *path) {
    const size_t size = strlen(path);
    if (strchr(path, '\n') || utf8_bad(path, size) != size)
        return heed_fail(p->cx, HEED_ERR_FORMAT, "%s: the name is not UTF-8 or has a line break", escaped(path).s);
    if (p->n == p->room) {
        const int64_t room = 2 * p->room + 64;
        char **larger = heed_mem_resize(p->cx, p->path, (size_t)room * sizeof *larger);
        if (!larger) return false;
        p->path = larger;
        p->room = room;
    }
    char *copy = heed_mem_new(p->cx, size + 1);
    if (!copy) return false;
    strcpy(copy, path);
    p->path[p->n++] = copy;
    return true;
}

/* Pictures of a folder and of those in it; neither what is hidden nor behind a link to a folder. */
static bool list_folder(struct paths *p, const char *folder) {
    DIR *d = opendir(folder);
    char path[PATH_ROOM];
    if (!d) return heed_fail(p->cx, HEED_ERR_FILE, "%s: %s", escaped(folder).s, strerror(errno));
    for (struct dirent *e = readdir(d); e && !heed_failed(p->cx); e = readdir(d)) {
        struct stat what;
        if (e->d_name[0] == '.') continue;
        const char *const slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
        if (snprintf(path, sizeof path, "%s%s%s", folder, slash, e->d_name) >= PATH_ROOM)
            heed_fail(p->cx, HEED_ERR_FILE, "%s: a path is too long", escaped(folder).s);
        else if (lstat(path, &what) == 0 && S_ISDIR(what.st_mode))
            list_folder(p, path);
        else if (picture_named(e->d_name))
            add_path(p, path);
    }
    closedir(d);
    return !heed_failed(p->cx);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool read_folder(heed_ctx *cx, const char *folder, heed_lines *lines) {
    struct paths p = {.cx = cx};
    heed_string text = {0};
    if (list_folder(&p, folder) && p.n == 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no pictures (.png, .jpg or .jpeg)", escaped(folder).s);
    if (p.n > 0) qsort(p.path, (size_t)p.n, sizeof *p.path, by_name);
    for (int64_t i = 0; i < p.n; i++) {
        if (heed_string_put(cx, &text, p.path[i], strlen(p.path[i]))) heed_string_put(cx, &text, "\n", 1);
        heed_mem_free(cx, p.path[i]);
    }
    heed_mem_free(cx, p.path);
    const bool ok = heed_lines_cut(cx, &text, lines);
    heed_string_free(cx, &text);
    return ok;
}

static bool read_paths(heed_ctx *cx, const char *path, heed_lines *lines) {
    struct stat what;
    const bool there = stat(path, &what) == 0;
    if (there && S_ISDIR(what.st_mode)) return read_folder(cx, path, lines);
    if (there && picture_named(path))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a picture; a folder of pictures or a list of their paths is needed",
                         escaped(path).s);
    return heed_lines_read(cx, path, lines);
}

/* ---- what an index is of ---- */

/* A picture is the same as long as its name, size and time of change are. */
static uint64_t hash_pictures(const heed_lines *lines) {
    uint64_t h = 3;
    for (int64_t i = 0; i < lines->count; i++) {
        const char *const path = heed_line_text(lines, i);
        struct stat what;
        if (stat(path, &what) != 0) memset(&what, 0, sizeof what); /* blank, or reading it will say why */
        const int64_t state[] = {what.st_size, what.st_mtim.tv_sec, what.st_mtim.tv_nsec};
        h = similar_hash(similar_hash(h, path, heed_line_size(lines, i)), state, sizeof state);
    }
    return h;
}

/* All that makes the vector of a picture. How it is prepared is known by what becomes of one. */
static bool hash_model(heed_ctx *cx, const heed_picture_model *m, uint64_t *out) {
    enum { WIDE = 61, HIGH = 43 };
    const int64_t how[] = {m->pooling};
    uint64_t h = similar_hash(4, how, sizeof how);
    heed_image probe = {0};
    int64_t size[3] = {0};
    if (!similar_hash_config(cx, m->model, &h) || !heed_image_new(cx, WIDE, HIGH, m->processor.channels, &probe))
        return false;
    for (int i = 0; i < WIDE * HIGH * m->processor.channels; i++) probe.data[i] = (uint8_t)(i * i % 253);
    float *const values = heed_image_process(cx, &m->processor, &probe, &size[0], &size[1], &size[2]);
    if (values) h = similar_hash(h, values, (size_t)(size[0] * size[1] * size[2]) * sizeof *values);
    heed_mem_free(cx, values);
    heed_image_free(cx, &probe);
    *out = similar_hash_weights(h, m->model, NULL);
    return !heed_failed(cx);
}

/* ---- vectors ---- */

/* Reads pictures until there is enough to do; how many. */
static int64_t read_some(heed_ctx *cx, const heed_picture_model *m, const heed_lines *lines, const int64_t *line,
                         int64_t n, heed_image *picture) {
    int64_t pixels = 0, count = 0;
    while (count < n && pixels < MAX_PIXELS &&
           heed_picture_read(cx, m, heed_line_text(lines, line[count]), &picture[count])) {
        pixels += picture[count].width * picture[count].height;
        count++;
    }
    return count;
}

static float *embed(heed_ctx *cx, const void *own, const heed_lines *lines, const int64_t *line, int64_t n,
                    int64_t *width, int64_t *cut) {
    const heed_picture_model *m = own;
    heed_image picture[AT_ONCE];
    float *out = NULL;
    (void)cut;
    for (int64_t at = 0, count; at < n && !heed_failed(cx); at += count) {
        count = read_some(cx, m, lines, line + at, n - at, picture);
        float *const some = heed_failed(cx) ? NULL : heed_embed_pictures(cx, m, picture, count, width);
        if (some && !out) out = heed_mem_new(cx, (size_t)n * (size_t)*width * sizeof *out);
        if (some && out) memcpy(out + at * *width, some, (size_t)(count * *width) * sizeof *out);
        heed_mem_free(cx, some);
        for (int64_t i = 0; i < count; i++) heed_image_free(cx, &picture[i]);
    }
    if (!heed_failed(cx)) return out;
    heed_mem_free(cx, out);
    return NULL;
}

heed_similar *heed_similar_pictures(heed_ctx *cx, const heed_picture_model *m, const char *path,
                                    const heed_similar_opts *opts) {
    heed_lines lines = {0};
    if (heed_failed(cx)) return NULL;
    if (!m || !path || !*path)
        return heed_fail(cx, HEED_ERR_USAGE, "similar: a model and a folder or a list of pictures are needed"), NULL;
    struct similar_source source = {.what = "pictures",
                                    .changed = "the pictures have changed",
                                    .path = path,
                                    .at_once = AT_ONCE,
                                    .embed = embed,
                                    .own = m};
    if (read_paths(cx, path, &lines) && hash_model(cx, m, &source.model)) {
        source.rows = hash_pictures(&lines);
        return similar_open(cx, &lines, &source, opts);
    }
    heed_lines_free(cx, &lines);
    return NULL;
}
