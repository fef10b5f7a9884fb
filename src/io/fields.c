/* Options by a table. Numbers are strict: all of the text must be one, within its bounds. */
#include "io/fields.h"
#include "base/text.h"
#include "io/text.h"
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

static bool is_row(const heed_field *f) { return f->kind != HEED_FIELD_GROUP && f->kind != HEED_FIELD_TABLE; }

static const heed_field *own_row(const heed_field *table, const char *name) {
    for (; table->name; table++)
        if (is_row(table) && strcmp(table->name, name) == 0) return table;
    return NULL;
}

static bool is_inserted(const heed_field *table, const char *name) {
    for (; table->name; table++)
        if (table->kind == HEED_FIELD_TABLE && own_row(table->table, name)) return true;
    return false;
}

const heed_field *heed_field_row(const heed_field *table, int i) {
    for (const heed_field *row = table; row && row->name; row++) {
        if (row->kind != HEED_FIELD_TABLE) {
            if ((row->kind == HEED_FIELD_GROUP || !is_inserted(table, row->name)) && i-- == 0) return row;
            continue;
        }
        for (const heed_field *in = row->table; in->name; in++)
            if (i-- == 0) {
                const heed_field *own = in->kind == HEED_FIELD_GROUP ? NULL : own_row(table, in->name);
                return own ? own : in;
            }
    }
    return NULL;
}

const heed_field *heed_field_find(const heed_field *table, const char *name) {
    const heed_field *row;
    for (int i = 0; name && (row = heed_field_row(table, i)); i++)
        if (row->kind != HEED_FIELD_GROUP && strcmp(row->name, name) == 0) return row;
    return NULL;
}

/* ---- values ---- */

static bool read_int(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && *end == 0 && errno == 0 && strchr("0123456789+-", text[0]);
}

static bool read_number(const char *text, double *out) {
    bool range;
    return number_read(text, out, &range) && isfinite(*out);
}

static bool read_bytes(const char *text, size_t *out) {
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (end == text || errno || !strchr("0123456789", text[0])) return false;
    int shift = 0;
    if (*end) {
        const char *unit = strchr("KMGT", *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (!unit) return false;
        shift = 10 * (int)(unit - "KMGT" + 1);
        end++;
        if (*end == 'i') end++;
        if (*end == 'B' || *end == 'b') end++;
    }
    if (*end || n > (SIZE_MAX >> shift)) return false;
    *out = (size_t)n << shift;
    return true;
}

static bool wrong(char why[FIELD_WHY], const heed_field *f, const char *text, const char *what, const char *more) {
    snprintf(why, FIELD_WHY, "--%s: '%s' is not %s%s", f->name, text, what, more);
    return false;
}

bool field_takes(const heed_field *f, const char *text, char why[FIELD_WHY]) {
    int64_t whole;
    double number;
    size_t bytes;
    switch (f->kind) {
    case HEED_FIELD_INT:
        if (!read_int(text, &whole)) return wrong(why, f, text, "a whole number", "");
        number = (double)whole;
        break;
    case HEED_FIELD_NUMBER:
        if (!read_number(text, &number)) return wrong(why, f, text, "a number", "");
        break;
    case HEED_FIELD_BYTES:
        return read_bytes(text, &bytes) || wrong(why, f, text, "a number of bytes such as 512M or 2G", "");
    case HEED_FIELD_CHOICE:
        return text_among(f->choices, text) || wrong(why, f, text, "one of: ", f->choices);
    default:
        return true;
    }
    if ((f->low == 0 && f->high == 0) || (number >= f->low && number <= f->high)) return true;
    snprintf(why, FIELD_WHY, "--%s: %s is not between %.15g and %.15g", f->name, text, f->low, f->high);
    return false;
}

/* ---- what was given ---- */

struct given {
    const heed_field *field;
    const char **values; /* each in memory of its own */
    int n, over;         /* how many of them, the last ones, were given on top of the others */
};

struct values {
    struct given *given; /* one for each field of the tables */
    int n;
};

static int fields_of(const heed_field *table, struct given *to) {
    const heed_field *row;
    int n = 0;
    for (int i = 0; (row = heed_field_row(table, i)); i++) {
        if (row->kind == HEED_FIELD_GROUP) continue;
        if (to) to[n] = (struct given){.field = row};
        n++;
    }
    return n;
}

struct values *values_new(heed_ctx *cx, const heed_field *table, const heed_field *more) {
    const int n = fields_of(table, NULL) + fields_of(more, NULL);
    struct values *v = heed_mem_new(cx, sizeof *v);
    if (!v) return NULL;
    *v = (struct values){.given = heed_mem_new(cx, ((size_t)n + 1) * sizeof *v->given), .n = n};
    if (v->given) {
        fields_of(more, v->given + fields_of(table, v->given));
        return v;
    }
    heed_mem_free(cx, v);
    return NULL;
}

static void forget(heed_ctx *cx, struct given *g) {
    for (int i = 0; i < g->n; i++) heed_mem_free(cx, (char *)(uintptr_t)g->values[i]);
    heed_mem_free(cx, g->values);
    g->values = NULL;
    g->n = g->over = 0;
}

void values_free(heed_ctx *cx, struct values *v) {
    if (!v) return;
    for (int i = 0; i < v->n; i++) forget(cx, &v->given[i]);
    heed_mem_free(cx, v->given);
    heed_mem_free(cx, v);
}

static struct given *find(const struct values *v, const char *name, size_t length) {
    for (int i = 0; i < v->n; i++)
        if (strncmp(v->given[i].field->name, name, length) == 0 && v->given[i].field->name[length] == 0)
            return &v->given[i];
    return NULL;
}

const heed_field *values_field(const struct values *v, const char *name, size_t length) {
    const struct given *g = find(v, name, length);
    return g ? g->field : NULL;
}

const heed_field *values_letter(const struct values *v, char letter) {
    for (int i = 0; i < v->n; i++)
        if (v->given[i].field->letter == letter) return v->given[i].field;
    return NULL;
}

const heed_field *values_at(const struct values *v, int i) { return i < v->n ? v->given[i].field : NULL; }

bool values_add(heed_ctx *cx, struct values *v, const heed_field *f, const char *text, bool over) {
    struct given *const g = find(v, f->name, strlen(f->name));
    const size_t size = strlen(text) + 1;
    const char **const more = heed_mem_new(cx, ((size_t)g->n + 1) * sizeof *more);
    char *const copy = heed_mem_new(cx, size);
    if (!more || !copy) {
        heed_mem_free(cx, more);
        heed_mem_free(cx, copy);
        return false;
    }
    const int at = g->n - (over ? 0 : g->over);
    for (int i = 0; i <= g->n; i++)
        more[i] = i < at ? g->values[i] : i == at ? memcpy(copy, text, size) : g->values[i - 1];
    heed_mem_free(cx, g->values);
    g->values = more;
    g->n++;
    g->over += over;
    return true;
}

bool values_take(heed_ctx *cx, struct values *to, const struct values *from) {
    for (int i = 0; i < from->n; i++) {
        const struct given *const g = &from->given[i];
        const heed_field *const f = values_field(to, g->field->name, strlen(g->field->name));
        for (int k = 0; f && f->kind == g->field->kind && k < g->n; k++)
            if (!values_add(cx, to, f, g->values[k], true)) return false;
    }
    return true;
}

bool values_either(heed_ctx *cx, struct values *v, const char *a, const char *b) {
    struct given *x = find(v, a, strlen(a)), *y = find(v, b, strlen(b));
    if (!x || !y || x->n == 0 || y->n == 0) return true;
    if ((x->over > 0) == (y->over > 0)) return false;
    forget(cx, x->over > 0 ? y : x);
    return true;
}

/* ---- asking ---- */

static const struct given *look(const struct values *v, const char *name) { return find(v, name, strlen(name)); }

static const char *text_of(const struct values *v, const char *name) {
    const struct given *g = look(v, name);
    if (!g || g->n) return g ? g->values[g->n - 1] : NULL;
    const struct given *init = g->field->tuned ? find(v, "init", 4) : NULL;
    return init && init->n ? g->field->tuned : g->field->standard;
}

bool value_known(const struct values *v, const char *name) { return find(v, name, strlen(name)); }
bool value_given(const struct values *v, const char *name) {
    const struct given *g = look(v, name);
    return g && g->n > 0;
}
bool value_flag(const struct values *v, const char *name) { return value_given(v, name); }
const char *value_text(const struct values *v, const char *name) { return text_of(v, name); }
int64_t value_int(const struct values *v, const char *name) {
    const char *text = text_of(v, name);
    int64_t n = 0;
    return text && read_int(text, &n) ? n : 0;
}
double value_number(const struct values *v, const char *name) {
    const char *text = text_of(v, name);
    double x = 0;
    return text && read_number(text, &x) ? x : 0;
}
size_t value_bytes(const struct values *v, const char *name) {
    const char *text = text_of(v, name);
    size_t n = 0;
    return text && read_bytes(text, &n) ? n : 0;
}
int value_list(const struct values *v, const char *name, const char *const **values) {
    const struct given *g = look(v, name);
    *values = g ? g->values : NULL;
    return g ? g->n : 0;
}
