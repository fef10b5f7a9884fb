/* A table of objects: a row for each, with the path of its picture, its box and its class; a row whose box is empty
 * names a picture without objects. */
#include "data/objects/object_set.h"
#include "data/tables/table_columns.h"
#include "io/csv.h"
#include "io/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH, LABEL, LEFT, TOP, RIGHT, BOTTOM, WIDTH, HEIGHT, COLUMNS };
enum { ROWS_AT_ONCE = 1 << 14 };

struct object_table {
    struct sheet sheet;
    int64_t column[COLUMNS]; /* -1: there is none */
    struct vocabulary paths, labels;
};

/* ---- columns ---- */

static const char *const titles[COLUMNS][8] = {
    [PATH] = {"path", "file", "filename", "file_name", "image", "image_path", "picture", "name"},
    [LABEL] = {"label", "class", "category", "class_name", "label_name", "category_name"},
    [LEFT] = {"x", "left", "xmin", "x_min", "x1", "x0"},
    [TOP] = {"y", "top", "ymin", "y_min", "y1", "y0"},
    [RIGHT] = {"right", "xmax", "x_max", "x2"},
    [BOTTOM] = {"bottom", "ymax", "y_max", "y2"},
    [WIDTH] = {"width", "w", "box_width"},
    [HEIGHT] = {"height", "h", "box_height"},
};

static int64_t find_column(const struct sheet *s, const char *const names[8]) {
    for (int k = 0; k < 8 && names[k]; k++)
        for (int64_t i = 0; i < s->columns; i++)
            if (strcasecmp(heed_table_name(s->cx, s->table, i), names[k]) == 0) return i;
    return -1;
}

static bool find_columns(struct object_table *t) {
    const struct sheet *const s = &t->sheet;
    if (!heed_table_has_header(s->table)) {
        static const int64_t places[COLUMNS] = {0, 5, 1, 2, -1, -1, 3, 4};
        memcpy(t->column, places, sizeof places);
        return s->columns == 6 || heed_fail(s->cx, HEED_ERR_FORMAT,
                                            "%s: %lld columns without names: path, x, y, width, height and label are 6",
                                            s->path, (long long)s->columns);
    }
    for (int k = 0; k < COLUMNS; k++) t->column[k] = find_column(s, titles[k]);
    /* Where right and bottom are given, width and height are those of the picture. */
    if (t->column[RIGHT] >= 0 && t->column[BOTTOM] >= 0) t->column[WIDTH] = t->column[HEIGHT] = -1;
    const bool sized = t->column[WIDTH] >= 0 && t->column[HEIGHT] >= 0;
    const char *const lacks = t->column[PATH] < 0                                         ? "path"
                              : t->column[LABEL] < 0                                      ? "label"
                              : t->column[LEFT] < 0                                       ? "x (or xmin)"
                              : t->column[TOP] < 0                                        ? "y (or ymin)"
                              : !sized && (t->column[RIGHT] < 0 || t->column[BOTTOM] < 0) ? "width (or xmax)"
                                                                                          : NULL;
    return !lacks ||
           heed_fail(s->cx, HEED_ERR_FORMAT,
                     "%s: no column '%s': a table of objects has path, x, y, width, height and label", s->path, lacks);
}

/* ---- rows ---- */

/* Whether a row has no box: all of its numbers are missing. */
static bool is_bare(const struct object_table *t, int64_t row) {
    for (int k = LEFT; k < COLUMNS; k++)
        if (t->column[k] >= 0 && !heed_table_missing(t->sheet.table, row, t->column[k])) return false;
    return true;
}

static bool number(const struct object_table *t, int64_t row, int k, double *out) {
    const struct sheet *const s = &t->sheet;
    if (heed_table_number(s->table, row, t->column[k], out) && isfinite(*out)) return true;
    return sheet_fail(s, HEED_ERR_FORMAT, row, t->column[k], "'%s' is %s", escaped(sheet_cell(s, row, t->column[k])).s,
                      table_instead(s->table, row, t->column[k]));
}

static bool read_box(const struct object_table *t, int64_t row, double box[4]) {
    const bool corners = t->column[WIDTH] < 0;
    if (!number(t, row, LEFT, &box[0]) || !number(t, row, TOP, &box[1]) ||
        !number(t, row, corners ? RIGHT : WIDTH, &box[2]) || !number(t, row, corners ? BOTTOM : HEIGHT, &box[3]))
        return false;
    if (corners) {
        box[2] -= box[0];
        box[3] -= box[1];
    }
    return true;
}

/* Pictures in the order of their paths, since rows of one need not lie together. */
static bool read_rows(struct object_table *t, struct object_list *l) {
    const struct sheet *const s = &t->sheet;
    char **paths = vocabulary_names(s->cx, &t->paths);
    for (int64_t i = 0; paths && i < t->paths.n; i++)
        if (!object_list_add_picture(l, i, paths[i], 0, 0)) break;
    heed_mem_free(s->cx, paths);
    for (int64_t row = 0; row < s->rows && !heed_failed(s->cx); row++) {
        heed_object o = {.id = row + 1};
        if (row % ROWS_AT_ONCE == 0 && heed_cancelled(s->cx)) return false;
        if (heed_table_missing(s->table, row, t->column[PATH]))
            return sheet_fail(s, HEED_ERR_FORMAT, row, t->column[PATH], "a picture without a path");
        if (is_bare(t, row)) continue;
        if (!read_box(t, row, o.box)) return false;
        if (heed_table_missing(s->table, row, t->column[LABEL]))
            return sheet_fail(s, HEED_ERR_FORMAT, row, t->column[LABEL], "a box without a class");
        o.area = o.box[2] * o.box[3];
        object_list_add_object(l, &o, vocabulary_find(&t->paths, sheet_cell(s, row, t->column[PATH])),
                               vocabulary_find(&t->labels, sheet_cell(s, row, t->column[LABEL])));
    }
    return !heed_failed(s->cx);
}

/* ---- classes ---- */

static bool whole(const char *text, double *out) {
    bool range;
    return number_read(text, out, &range) && *out == floor(*out);
}

/* The classes that boxes have, words before numbers, which go by their size. */
static int by_name(const void *x, const void *y) {
    const struct object_class *a = x, *b = y;
    double p, q;
    const bool i = whole(a->name.text, &p), j = whole(b->name.text, &q);
    if (i && j && p != q) return p < q ? -1 : 1;
    return i != j ? (i ? 1 : -1) : strcmp(a->name.text, b->name.text);
}

static bool name_classes(const struct object_table *t, struct object_list *l, const char *const *known,
                         heed_object_set *set) {
    heed_ctx *const cx = l->cx;
    const int64_t all = t->labels.n;
    char **names = vocabulary_names(cx, &t->labels);
    struct object_class *list = data_room(cx, all, 1, sizeof *list);
    int64_t *where = data_room(cx, all, 1, sizeof *where), n = 0;
    bool ok = names && list && where;
    for (int64_t k = 0; ok && k < all; k++)
        list[k] = (struct object_class){{names[k], strlen(names[k])}, .category = k};
    for (int64_t i = 0; ok && i < l->lines; i++) list[l->line[i].category].used = true;
    for (int64_t k = 0; ok && k < all; k++)
        if (list[k].used) list[n++] = list[k];
    if (ok && n > 0) qsort(list, (size_t)n, sizeof *list, by_name);
    for (int64_t k = 0; ok && k < n; k++) {
        where[list[k].category] = k;
        list[k].category = k + 1;
    }
    ok = ok && object_set_classes(cx, set, l->file, list, n, known);
    for (int64_t i = 0; ok && i < l->lines; i++) l->line[i].object.label = list[where[l->line[i].category]].label;
    heed_mem_free(cx, where);
    heed_mem_free(cx, list);
    heed_mem_free(cx, names);
    return ok;
}

static bool read_table(struct object_table *t, struct object_list *l, const heed_object_set_opts *opts,
                       heed_object_set *set) {
    struct sheet *const s = &t->sheet;
    s->rows = heed_table_rows(s->table);
    s->columns = heed_table_columns(s->table);
    s->row = data_room(s->cx, s->rows, 1, sizeof *s->row);
    for (int64_t i = 0; s->row && i < s->rows; i++) s->row[i] = i;
    return s->row && find_columns(t) && vocabulary_of(s, t->column[PATH], &t->paths) &&
           vocabulary_of(s, t->column[LABEL], &t->labels) && read_rows(t, l) &&
           name_classes(t, l, opts ? opts->classes : NULL, set) && object_set_fill(l, opts, set);
}

bool object_table_read(heed_ctx *cx, const char *path, const heed_object_set_opts *opts, heed_object_set *set) {
    struct object_table t = {.sheet = {.cx = cx, .path = path, .table = heed_table_open(cx, path, NULL)}};
    struct object_list l = {.cx = cx, .file = path};
    const bool ok = t.sheet.table && read_table(&t, &l, opts, set);
    heed_mem_free(cx, t.sheet.row);
    heed_mem_free(cx, t.paths.list);
    heed_mem_free(cx, t.labels.list);
    object_list_free(&l);
    heed_table_close(t.sheet.table);
    return ok;
}
