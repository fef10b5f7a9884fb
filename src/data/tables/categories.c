/* The different words of a column, sorted and numbered: classes and categories are such words. */
#include "data/tables/table_columns.h"

#include <stdlib.h>
#include <string.h>

struct word word_trimmed(const char *text) {
    size_t length = strlen(text);
    while (*text == ' ' || *text == '\t') text++, length--;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    return (struct word){text, length};
}

/* As strcmp. */
static int by_word(const void *x, const void *y) {
    const struct word *a = &((const struct numbered_word *)x)->word, *b = &((const struct numbered_word *)y)->word;
    const int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

void vocabulary_sort(struct vocabulary *v, int64_t n) {
    v->n = 0;
    qsort(v->list, (size_t)n, sizeof *v->list, by_word);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || by_word(&v->list[i], &v->list[v->n - 1]) != 0) v->list[v->n++] = v->list[i];
    for (int64_t i = 0; i < v->n; i++) v->list[i].number = i;
}

bool vocabulary_of(const struct sheet *s, int64_t column, struct vocabulary *v) {
    *v = (struct vocabulary){.list = data_room(s->cx, s->rows, 1, sizeof *v->list)};
    if (!v->list) return false;
    for (int64_t i = 0; i < s->rows; i++) v->list[i].word = word_trimmed(sheet_cell(s, i, column));
    vocabulary_sort(v, s->rows);
    return true;
}

bool vocabulary_like(heed_ctx *cx, char **names, int64_t most, struct vocabulary *v) {
    *v = (struct vocabulary){.list = data_room(cx, most, 1, sizeof *v->list)};
    if (!v->list) return false;
    for (; v->n < most && names[v->n]; v->n++)
        v->list[v->n] = (struct numbered_word){{names[v->n], strlen(names[v->n])}, v->n};
    qsort(v->list, (size_t)v->n, sizeof *v->list, by_word);
    return true;
}

int64_t vocabulary_find(const struct vocabulary *v, const char *text) {
    const struct numbered_word key = {.word = word_trimmed(text)};
    const struct numbered_word *found = bsearch(&key, v->list, (size_t)v->n, sizeof *v->list, by_word);
    return found ? found->number : -1;
}

char **vocabulary_names(heed_ctx *cx, const struct vocabulary *v) {
    struct word *words = data_room(cx, v->n, 1, sizeof *words);
    for (int64_t i = 0; words && i < v->n; i++) words[v->list[i].number] = v->list[i].word;
    char **names = words ? data_names(cx, words, v->n) : NULL;
    heed_mem_free(cx, words);
    return names;
}
