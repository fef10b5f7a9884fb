/* Fields for tables. */
#include "task/tables/table_fields.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
const heed_field table_fields[] = {
    {.name = "use", .kind = HEED_FIELD_LIST, .value = "COLUMN",
     .help = "a column of a table to predict from, by name or number, several as a,b; by default all others"},
    {.name = "drop", .kind = HEED_FIELD_LIST, .value = "COLUMN",
     .help = "a column of a table to leave out, by name or number, several as a,b"},
    TABLE_FORMAT_FIELDS,
    {.name = "skip-missing",
     .help = "skip the rows of a table that have missing values: empty, NA, N/A, nan, NULL or ?"},
    {.name = NULL},
};
/* clang-format on */

/* The values of a list, with NULL behind them; NULL when there are none. */
static const char **list_of(const struct values *v, heed_ctx *cx, const char *name) {
    const char *const *values;
    const int n = value_list(v, name, &values);
    const char **list = n ? heed_mem_new(cx, ((size_t)n + 1) * sizeof *list) : NULL;
    for (int i = 0; list && i <= n; i++) list[i] = i < n ? values[i] : NULL;
    return list;
}

struct meaning {
    const char *word;
    char character;
};
static const struct meaning separators[] = {{"tab", '\t'}, {"\\t", '\t'},  {"space", ' '},     {"comma", ','},
                                            {"bar", '|'},  {"colon", ':'}, {"semicolon", ';'}, {NULL, 0}};
static const struct meaning thousands[] = {{"point", '.'}, {".", '.'},           {"comma", ','},
                                           {",", ','},     {"apostrophe", '\''}, {"'", '\''},
                                           {"space", ' '}, {" ", ' '},           {NULL, 0}};
static const struct meaning decimals[] = {{"point", '.'}, {".", '.'}, {"comma", ','}, {",", ','}, {NULL, 0}};

static char meaning_of(const struct meaning *list, const char *text) {
    for (; list->word; list++)
        if (strcmp(list->word, text) == 0) return list->character;
    return 0;
}

char table_separator(const struct values *v) {
    const char *text = value_text(v, "separator");
    if (!text || meaning_of(separators, text)) return text ? meaning_of(separators, text) : 0;
    const bool good = text[0] && !text[1] && (unsigned char)*text < 0x80 && !strchr("\"\n\r", *text);
    return good ? *text : 0;
}

static char mark_of(const struct values *v, const char *name, const struct meaning *list) {
    const char *text = value_text(v, name);
    return text ? meaning_of(list, text) : 0;
}
static char decimal_of(const struct values *v) { return mark_of(v, "decimal", decimals); }
static char thousands_of(const struct values *v) { return mark_of(v, "thousands", thousands); }

bool table_separator_fits(const struct values *v, char why[FIELD_WHY]) {
    const char *separator = value_text(v, "separator");
    if (!separator || table_separator(v)) return true;
    snprintf(why, FIELD_WHY, "--separator: '%s' is not a character, tab or space", separator);
    return false;
}

bool table_fields_fit(const struct values *v, char why[FIELD_WHY]) {
    const char *decimal = value_text(v, "decimal"), *groups = value_text(v, "thousands");
    if (!table_separator_fits(v, why)) return false;
    if (decimal && !decimal_of(v))
        snprintf(why, FIELD_WHY, "--decimal: '%s' is not a point or a comma", decimal);
    else if (decimal && table_separator(v) == decimal_of(v))
        snprintf(why, FIELD_WHY, "--separator and --decimal: both are '%c'", decimal_of(v));
    else if (groups && !thousands_of(v))
        snprintf(why, FIELD_WHY, "--thousands: '%s' is not a point, comma, apostrophe or space", groups);
    else if (groups && (thousands_of(v) == decimal_of(v) || thousands_of(v) == table_separator(v)))
        snprintf(why, FIELD_WHY, "--thousands: '%c' is the separator or the decimal mark", thousands_of(v));
    else
        return true;
    return false;
}

heed_table_options table_format(const struct values *v) {
    return (heed_table_options){
        .delimiter = table_separator(v), .decimal = decimal_of(v), .thousands = thousands_of(v)};
}

bool table_ask(const struct values *v, heed_ctx *cx, struct table_columns *columns, heed_data_opts *opts) {
    *columns = (struct table_columns){.use = list_of(v, cx, "use"), .drop = list_of(v, cx, "drop")};
    opts->use = columns->use;
    opts->drop = columns->drop;
    opts->skip_missing = value_flag(v, "skip-missing");
    opts->table = table_format(v);
    return !heed_failed(cx);
}

void table_columns_free(heed_ctx *cx, struct table_columns *columns) {
    heed_mem_free(cx, columns->use);
    heed_mem_free(cx, columns->drop);
}

void table_say_skipped(heed_ctx *cx, const char *path, int64_t skipped, int64_t left) {
    if (skipped > 0)
        heed_note(cx, HEED_LOG_INFO, "%s: %lld of %lld rows skipped: they have missing values",
                  strcmp(path, "-") == 0 ? "standard input" : path, (long long)skipped, (long long)(skipped + left));
}
