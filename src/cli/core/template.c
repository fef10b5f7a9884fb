#include "cli/core/template.h"
#include "io/text.h"
#include <string.h>

bool template_unescape(heed_ctx *cx, const char *text, size_t size, heed_string *to) {
    for (size_t i = 0; i < size; i++) {
        const char next = text[i] == '\\' && i + 1 < size ? text[i + 1] : 0;
        const char c = next == 'n' ? '\n' : next == 't' ? '\t' : text[i];
        if (next == 'n' || next == 't' || next == '\\') i++;
        if (!heed_string_put(cx, to, &c, 1)) return false;
    }
    return heed_string_put(cx, to, "", 0);
}

void template_free(heed_ctx *cx, struct template *t) {
    heed_string_free(cx, &t->text);
    heed_mem_free(cx, t->part);
    *t = (struct template){0};
}

/* One more part: a column, or (-1) text, which is unescaped. */
static bool add(heed_ctx *cx, struct template *t, const char *text, size_t size, int64_t column) {
    if (column < 0 && size == 0) return true;
    if (t->n == t->room) {
        const int room = t->room > 0 ? 2 * t->room : 8;
        struct template_part *const larger = heed_mem_resize(cx, t->part, (size_t)room * sizeof *larger);
        if (!larger) return false;
        t->part = larger;
        t->room = room;
    }
    const size_t start = t->text.size;
    if (column < 0 && !template_unescape(cx, text, size, &t->text)) return false;
    if (column >= 0) t->answer = t->n;
    t->part[t->n++] = (struct template_part){start, t->text.size - start, column};
    return true;
}

/* The column that is named between braces. */
static int64_t column_named(heed_ctx *cx, const char *option, const char *name, size_t size, const char *path,
                            const heed_table *table) {
    heed_string s = {0};
    int64_t column = -1;
    if (heed_string_put(cx, &s, name, size)) {
        column = heed_table_find(cx, table, s.s);
        if (column < 0) heed_fail(cx, HEED_ERR_USAGE, "%s: {%s}: %s has no such column", option, escaped(s.s).s, path);
    }
    heed_string_free(cx, &s);
    return column;
}

static bool read_parts(heed_ctx *cx, const char *option, const char *text, const char *path, const heed_table *table,
                       struct template *t) {
    const char *from = text;
    for (const char *at = text; *at;) {
        if ((*at == '{' || *at == '}') && at[1] == *at) { /* a brace of the text */
            if (!add(cx, t, from, (size_t)(at - from) + 1, -1)) return false;
            from = at += 2;
        } else if (*at == '{') {
            const char *const end = at + 1 + strcspn(at + 1, "{}");
            if (*end != '}')
                return heed_fail(cx, HEED_ERR_USAGE, "%s: a brace is not closed; {{ is a brace itself", option);
            if (!add(cx, t, from, (size_t)(at - from), -1)) return false;
            const int64_t column = column_named(cx, option, at + 1, (size_t)(end - at) - 1, path, table);
            if (column < 0 || !add(cx, t, NULL, 0, column)) return false;
            from = at = end + 1;
        } else if (*at == '}') {
            return heed_fail(cx, HEED_ERR_USAGE, "%s: a brace is not opened; }} is a brace itself", option);
        } else {
            at++;
        }
    }
    return add(cx, t, from, strlen(from), -1);
}

static bool is_named(const struct template *t, int64_t column) {
    for (int i = 0; i < t->n; i++)
        if (t->part[i].column == column) return true;
    return false;
}

static bool is_among(const char *name, const char *const *list, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

static bool check_columns(heed_ctx *cx, const char *option, const char *path, const heed_table *table,
                          const char *const *skipped, int n_skipped, const struct template *t) {
    for (int i = 0; i < n_skipped; i++)
        if (heed_table_find(cx, table, skipped[i]) < 0)
            return heed_fail(cx, HEED_ERR_USAGE, "--skip: %s has no column '%s'", path, escaped(skipped[i]).s);
    for (int64_t c = 0; c < heed_table_columns(table); c++) {
        const char *const name = heed_table_name(cx, table, c);
        if (!is_named(t, c) && !is_among(name, skipped, n_skipped))
            return heed_fail(cx, HEED_ERR_USAGE, "%s: column '%s' of %s is not named; --skip '%s' leaves it out",
                             option, escaped(name).s, path, escaped(name).s);
    }
    int columns = 0;
    for (int i = 0; i < t->n; i++) {
        columns += t->part[i].column >= 0;
        if (i != t->answer && t->part[i].column == template_answer(t))
            return heed_fail(cx, HEED_ERR_USAGE, "%s: the last column is the answer, and is named before", option);
    }
    return columns >= 2 || heed_fail(cx, HEED_ERR_USAGE,
                                     "%s: at least two columns are needed: a question, and then its answer", option);
}

bool template_read(heed_ctx *cx, const char *name, const char *text, const char *path, const heed_table *table,
                   const char *const *skipped, int n_skipped, struct template *to) {
    *to = (struct template){.answer = -1};
    if (heed_failed(cx)) return false;
    if (heed_string_put(cx, &to->text, "", 0) && read_parts(cx, name, text, path, table, to))
        check_columns(cx, name, path, table, skipped, n_skipped, to);
    if (heed_failed(cx)) template_free(cx, to);
    return !heed_failed(cx);
}

int64_t template_answer(const struct template *t) { return t->answer < 0 ? -1 : t->part[t->answer].column; }

bool template_put(heed_ctx *cx, const struct template *t, const heed_table *table, int64_t row, bool up_to_answer,
                  heed_string *to) {
    for (int i = 0; i < (up_to_answer ? t->answer : t->n); i++) {
        const struct template_part *const p = &t->part[i];
        const char *const s = p->column < 0 ? t->text.s + p->start : heed_table_cell(cx, table, row, p->column);
        if (!s || !heed_string_put(cx, to, s, p->column < 0 ? p->size : strlen(s))) return false;
    }
    return heed_string_put(cx, to, "", 0);
}
