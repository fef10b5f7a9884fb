/* Values of fields (heed/fields.h): what was given, else the default. */
#ifndef IO_FIELDS_H
#define IO_FIELDS_H

#include "heed/fields.h"

static inline bool field_is_path(const heed_field *f) {
    return f->kind == HEED_FIELD_FILE || f->kind == HEED_FIELD_FILES;
}
static inline bool field_repeats(const heed_field *f) {
    return f->kind == HEED_FIELD_LIST || f->kind == HEED_FIELD_FILES;
}

#define FIELD_WHY 512
/* Whether a text is a value of the field; else why not: "--lr: 'x' is not a number". */
bool field_takes(const heed_field *f, const char *text, char why[FIELD_WHY]);

/* ---- what was given ---- texts are copied, and were checked by field_takes */

struct values;
/* Of up to two tables, NULL for none. NULL: out of memory. */
struct values *values_new(heed_ctx *cx, const heed_field *table, const heed_field *more);
void values_free(heed_ctx *cx, struct values *v);

const heed_field *values_field(const struct values *v, const char *name, size_t length); /* NULL: no such field */
const heed_field *values_letter(const struct values *v, char letter);
const heed_field *values_at(const struct values *v, int i); /* field i, groups aside; NULL after the last */
/* One more value. `over`: it is given on top of the others, as the command line is on top of a recipe: of a list it
 * comes after them, of anything else it overrides them. */
bool values_add(heed_ctx *cx, struct values *v, const heed_field *f, const char *text, bool over);
/* All that was given of the fields that both have. */
bool values_take(heed_ctx *cx, struct values *to, const struct values *from);
/* Of two fields that exclude each other, what is given on top drops the other; false: both are on the same level. */
bool values_either(heed_ctx *cx, struct values *v, const char *a, const char *b);

/* By name; a name that is in no table has no value. Defaults are those with --init where the field init is given. */
bool value_known(const struct values *v, const char *name);
bool value_given(const struct values *v, const char *name);
bool value_flag(const struct values *v, const char *name);
int64_t value_int(const struct values *v, const char *name);
double value_number(const struct values *v, const char *name);
size_t value_bytes(const struct values *v, const char *name);
const char *value_text(const struct values *v, const char *name); /* NULL: neither given nor a default */
int value_list(const struct values *v, const char *name, const char *const **values);

#endif
