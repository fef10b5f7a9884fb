/* Classes of a table's column: whole numbers from 0, or words, which are sorted and numbered. */
#include "data/sheet.h"
#include "io/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct class_name {
    struct word word;
    int64_t number;
};

static struct word trimmed(const char *text) {
    size_t length = strlen(text);
    while (*text == ' ' || *text == '\t') text++, length--;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    return (struct word){text, length};
}

/* As strcmp. */
static int word_order(const struct word *a, const struct word *b) {
    const int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int class_order(const void *a, const void *b) {
    return word_order(&((const struct class_name *)a)->word, &((const struct class_name *)b)->word);
}

/* ---- numbers ---- */

static bool all_numbers(const struct sheet *s, int64_t column) {
    double number;
    bool range;
    for (int64_t i = 0; i < s->rows; i++)
        if (!number_read(heed_table_cell(s->cx, s->table, i, column), &number, &range)) return false;
    return true;
}

static bool read_numbers(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out) {
    const int64_t classes = like ? like->classes : DATA_MOST_CLASSES;
    int32_t most = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        const char *text = heed_table_cell(s->cx, s->table, i, column);
        double number;
        bool range;
        if (!number_read(text, &number, &range) || !(number == floor(number)))
            return sheet_fail(s, HEED_ERR_FORMAT, i, column, "'%s' is not a class: classes are whole numbers here",
                              shown(text).text);
        if (number < 0.0 || number >= (double)classes)
            return sheet_fail(s, HEED_ERR_RANGE, i, column, "class %s is out of range, 0 to %lld", shown(text).text,
                              (long long)classes - 1);
        out->label[i] = (int32_t)number;
        if (out->label[i] > most) most = out->label[i];
    }
    out->classes = like ? classes : most + 1;
    return true;
}

/* ---- words ---- */

/* Every cell, sorted, each word once; *n: how many words there are. */
static struct class_name *words_of(const struct sheet *s, int64_t column, int64_t *n) {
    struct class_name *list = data_room(s->cx, s->rows, 1, sizeof *list);
    if (!list) return NULL;
    for (int64_t i = 0; i < s->rows; i++) list[i].word = trimmed(heed_table_cell(s->cx, s->table, i, column));
    qsort(list, (size_t)s->rows, sizeof *list, class_order);
    int64_t distinct = 0;
    for (int64_t i = 0; i < s->rows; i++)
        if (i == 0 || class_order(&list[i], &list[distinct - 1]) != 0) list[distinct++] = list[i];
    for (int64_t i = 0; i < distinct; i++) list[i].number = i;
    *n = distinct;
    return list;
}

/* The classes of a data set, sorted for the search; they may come from anywhere and be in any order. */
static struct class_name *words_like(heed_ctx *cx, const heed_data *like, int64_t *n) {
    struct class_name *list = data_room(cx, like->classes, 1, sizeof *list);
    if (!list) return NULL;
    for (*n = 0; *n < like->classes && like->class_names[*n]; ++*n)
        list[*n] = (struct class_name){{like->class_names[*n], strlen(like->class_names[*n])}, *n};
    qsort(list, (size_t)*n, sizeof *list, class_order);
    return list;
}

static bool number_words(const struct sheet *s, int64_t column, const struct class_name *list, int64_t n,
                         heed_data *out) {
    for (int64_t i = 0; i < s->rows; i++) {
        const struct class_name key = {.word = trimmed(heed_table_cell(s->cx, s->table, i, column))};
        if (key.word.length == 0) return sheet_fail(s, HEED_ERR_FORMAT, i, column, "no class is given");
        const struct class_name *found = bsearch(&key, list, (size_t)n, sizeof *list, class_order);
        if (!found)
            return sheet_fail(s, HEED_ERR_RANGE, i, column, "class '%s' is not one of the %lld known",
                              shown_bytes(key.word.text, key.word.length).text, (long long)n);
        out->label[i] = (int32_t)found->number;
    }
    return true;
}

static char **class_names(heed_ctx *cx, const struct class_name *list, int64_t n) {
    struct word *words = data_room(cx, n, 1, sizeof *words);
    for (int64_t i = 0; words && i < n; i++) words[list[i].number] = list[i].word;
    char **names = words ? data_names(cx, words, n) : NULL;
    heed_mem_free(cx, words);
    return names;
}

static bool read_words(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out) {
    struct class_name *list = like ? words_like(s->cx, like, &out->classes) : words_of(s, column, &out->classes);
    if (!list) return false;
    bool ok = number_words(s, column, list, out->classes, out);
    if (ok && out->classes > DATA_MOST_CLASSES)
        ok = heed_fail(s->cx, HEED_ERR_RANGE, "%s: %lld classes, at most %d are allowed", s->path,
                       (long long)out->classes, DATA_MOST_CLASSES);
    ok = ok && (out->class_names = class_names(s->cx, list, out->classes));
    heed_mem_free(s->cx, list);
    return ok;
}

bool sheet_classes(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out) {
    out->label = data_room(s->cx, s->rows, 1, sizeof *out->label);
    if (!out->label) return false;
    const bool numbers = like ? !like->class_names : all_numbers(s, column);
    return (numbers ? read_numbers : read_words)(s, column, like, out);
}

bool data_keep_class_names(heed_ctx *cx, const heed_data *like, heed_data *out) {
    if (!like || !like->class_names || !out->label) return true;
    int64_t n;
    struct class_name *list = words_like(cx, like, &n);
    out->class_names = list ? class_names(cx, list, n) : NULL;
    heed_mem_free(cx, list);
    return out->class_names;
}
