/* Files that list pictures with their captions: captions.tsv, metadata.csv, metadata.jsonl. */
#include "data/captions/caption_set.h"
#include "data/picture_list.h"
#include "heed/io.h"
#include "heed/text.h"
#include "io/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { AT_ONCE = 1 << 12 };

struct caption_list {
    heed_ctx *cx;
    const char *file;
    size_t folder; /* bytes of its path, with the last / */
    heed_caption_set *set;
};

bool caption_file(const char *folder, char out[FOUND_PATH]) {
    static const char *const names[] = {"captions.tsv",   "captions.csv", "captions.jsonl",
                                        "metadata.jsonl", "metadata.csv", "metadata.tsv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (snprintf(out, FOUND_PATH, "%s/%s", folder, names[i]) < FOUND_PATH && data_is_file(out)) return true;
    return false;
}

/* ---- one picture ---- */

static bool add(struct caption_list *l, int64_t line, const char *name, const char *text) {
    char path[FOUND_PATH];
    if (line % AT_ONCE == 0 && heed_cancelled(l->cx)) return false;
    if (!*name) return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: line %lld: no file", l->file, (long long)line);
    if (name[0] == '.' && name[1] == '/') name += 2;
    const int folder = name[0] == '/' ? 0 : (int)l->folder;
    if (snprintf(path, sizeof path, "%.*s%s", folder, l->file, name) >= FOUND_PATH)
        return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: line %lld: the name of the file is too long", l->file,
                         (long long)line);
    if (data_is_file(path)) return caption_add(l->cx, l->set, path, text_is_blank(text) ? "" : text);
    l->set->notes.missing++;
    return true;
}

/* ---- tables ---- */

static int64_t find_title(heed_ctx *cx, const heed_table *t, const char *const *names) {
    for (; *names; names++)
        for (int64_t i = 0; i < heed_table_columns(t); i++)
            if (strcasecmp(*names, heed_table_cell(cx, t, 0, i)) == 0) return i;
    return -1;
}

/* The first row has titles unless its first cell is the name of a picture. */
static bool read_rows(struct caption_list *l, const heed_table *t) {
    static const char *const files[] = {"file_name", "file",       "filename", "path",
                                        "image",     "image_path", "picture",  NULL},
                             *const texts[] = {"text", "caption", "captions", "description", "prompt", NULL};
    const int64_t rows = heed_table_rows(t), columns = heed_table_columns(t);
    const bool titles = rows > 0 && columns > 0 && !picture_named(heed_table_cell(l->cx, t, 0, 0));
    const int64_t file = titles ? find_title(l->cx, t, files) : 0, text = titles ? find_title(l->cx, t, texts) : 1;
    if (rows > 0 && (file < 0 || text < 0 || text >= columns))
        return heed_fail(l->cx, HEED_ERR_FORMAT,
                         "%s: no %s: a table of captions has the columns file_name and text, or two without titles",
                         l->file,
                         columns < 2 ? "second column"
                         : file < 0  ? "column file_name"
                                     : "column text");
    for (int64_t i = titles; i < rows; i++)
        if (!add(l, heed_table_line(t, i), heed_table_cell(l->cx, t, i, file), heed_table_cell(l->cx, t, i, text)))
            return false;
    return true;
}

static bool read_table(struct caption_list *l) {
    const bool tabs = !text_ends(l->file, strlen(l->file), ".csv");
    const heed_table_options options = {.delimiter = tabs ? '\t' : ',', .plain_quotes = tabs, .header = HEED_HEADER_NO};
    heed_table *const t = heed_table_open(l->cx, l->file, &options);
    const bool ok = t && read_rows(l, t);
    heed_table_close(t);
    return ok;
}

/* ---- JSON lines ---- */

static bool read_object(struct caption_list *l, int64_t line, heed_json at) {
    const char *const name = heed_json_text(l->cx, at, "file_name");
    const char *const text = name ? heed_json_text_or(l->cx, at, "text", "") : NULL;
    return text && add(l, line, name, text);
}

static bool read_objects(struct caption_list *l) {
    heed_lines lines = {0};
    bool ok = heed_lines_read(l->cx, l->file, &lines);
    for (int64_t i = 0; ok && i < lines.count; i++) {
        char name[300];
        if (text_is_blank(heed_line_text(&lines, i))) continue;
        snprintf(name, sizeof name, "%.250s: line %lld", l->file, (long long)i + 1);
        const heed_json object = heed_json_parse(l->cx, name, heed_line_text(&lines, i), heed_line_size(&lines, i));
        ok = read_object(l, i + 1, object);
        heed_json_free(object);
    }
    heed_lines_free(l->cx, &lines);
    return ok;
}

/* ---- all of them ---- */

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct captioned *)a)->path, ((const struct captioned *)b)->path);
}

/* A picture may have several captions. */
static int by_path_and_text(const void *a, const void *b) {
    const int order = by_path(a, b);
    return order != 0 ? order : strcmp(((const struct captioned *)a)->text, ((const struct captioned *)b)->text);
}

/* Pictures beside the file that it does not list. */
static void count_unlisted(const struct caption_list *l) {
    char folder[FOUND_PATH], path[FOUND_PATH];
    heed_caption_set *const set = l->set;
    snprintf(folder, sizeof folder, "%.*s", (int)l->folder, l->file);
    DIR *const d = opendir(l->folder > 0 ? folder : ".");
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const struct captioned key = {.path = path};
        if (picture_named(e->d_name) && snprintf(path, sizeof path, "%s%s", folder, e->d_name) < FOUND_PATH)
            set->notes.unlisted += !bsearch(&key, set->list, (size_t)set->n, sizeof key, by_path);
    }
    if (d) closedir(d);
}

static void drop_empty(const struct caption_list *l) {
    heed_caption_set *const set = l->set;
    const int64_t n = set->n;
    set->n = 0;
    for (int64_t i = 0; i < n; i++) {
        if (*set->list[i].text) {
            set->list[set->n++] = set->list[i];
            continue;
        }
        captioned_free(l->cx, &set->list[i]);
        set->notes.empty++;
    }
}

bool caption_read(heed_ctx *cx, const char *file, heed_caption_set *set) {
    const char *const slash = strrchr(file, '/');
    struct caption_list l = {.cx = cx, .file = file, .folder = slash ? (size_t)(slash - file) + 1 : 0, .set = set};
    const size_t n = strlen(file);
    const bool lines = text_ends(file, n, ".jsonl") || text_ends(file, n, ".jsonl.gz");
    if (!(lines ? read_objects : read_table)(&l)) return false;
    if (set->n > 0) {
        qsort(set->list, (size_t)set->n, sizeof *set->list, by_path_and_text);
        count_unlisted(&l);
        drop_empty(&l);
    }
    return set->n > 0 || heed_fail(cx, HEED_ERR_FORMAT,
                                   "%s: no picture with a caption: the files of %lld captions are not there, %lld "
                                   "captions are empty",
                                   file, (long long)set->notes.missing, (long long)set->notes.empty);
}
