/* Options for tables. */
#include "cli/core/table_options.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
const heed_field table_options[] = {
    {.name = "use", .kind = HEED_FIELD_LIST, .value = "COLUMN",
     .help = "a column of a table to predict from: name or number, several as a,b; by default all others"},
    {.name = "drop", .kind = HEED_FIELD_LIST, .value = "COLUMN",
     .help = "a column of a table to leave out: name or number, several as a,b"},
    TABLE_FORMAT_OPTIONS,
    {.name = "skip-missing",
     .help = "skip the rows of a table that have missing values: empty, NA, N/A, nan, NULL or ?"},
    {.name = NULL},
};
/* clang-format on */

/* The values of a list, with NULL behind them; NULL when there are none. */
static const char **list_of(const struct options *o, heed_ctx *cx, const char *name) {
    const char *const *values;
    const int n = option_list(o, name, &values);
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

char table_separator(const struct options *o) {
    const char *text = option_text(o, "separator");
    if (!text || meaning_of(separators, text)) return text ? meaning_of(separators, text) : 0;
    const bool good = text[0] && !text[1] && (unsigned char)*text < 0x80 && !strchr("\"\n\r", *text);
    return good ? *text : 0;
}

static char mark_of(const struct options *o, const char *name, const struct meaning *list) {
    const char *text = option_text(o, name);
    return text ? meaning_of(list, text) : 0;
}
static char decimal_of(const struct options *o) { return mark_of(o, "decimal", decimals); }
static char thousands_of(const struct options *o) { return mark_of(o, "thousands", thousands); }

bool table_separator_ok(const struct options *o) {
    const char *separator = option_text(o, "separator");
    if (!separator || table_separator(o)) return true;
    cli_error(EXIT_USAGE, "%s: --separator: '%s' is not a character, tab or space", options_command(o), separator);
    return false;
}

bool table_usage(const struct options *o) {
    const char *decimal = option_text(o, "decimal"), *groups = option_text(o, "thousands");
    if (!table_separator_ok(o)) return false;
    if (decimal && !decimal_of(o))
        cli_error(EXIT_USAGE, "%s: --decimal: '%s' is not a point or a comma", options_command(o), decimal);
    else if (decimal && table_separator(o) == decimal_of(o))
        cli_error(EXIT_USAGE, "%s: --separator and --decimal: both are '%c'", options_command(o), decimal_of(o));
    else if (groups && !thousands_of(o))
        cli_error(EXIT_USAGE, "%s: --thousands: '%s' is not a point, comma, apostrophe or space", options_command(o),
                  groups);
    else if (groups && (thousands_of(o) == decimal_of(o) || thousands_of(o) == table_separator(o)))
        cli_error(EXIT_USAGE, "%s: --thousands: '%c' is the separator or the decimal mark", options_command(o),
                  thousands_of(o));
    else
        return true;
    return false;
}

heed_table_options table_format(const struct options *o) {
    return (heed_table_options){
        .delimiter = table_separator(o), .decimal = decimal_of(o), .thousands = thousands_of(o)};
}

bool table_ask(const struct options *o, heed_ctx *cx, struct table_columns *columns, heed_data_opts *opts) {
    *columns = (struct table_columns){.use = list_of(o, cx, "use"), .drop = list_of(o, cx, "drop")};
    opts->use = columns->use;
    opts->drop = columns->drop;
    opts->skip_missing = option_flag(o, "skip-missing");
    opts->table = table_format(o);
    return !heed_failed(cx);
}

void table_columns_free(heed_ctx *cx, struct table_columns *columns) {
    heed_mem_free(cx, columns->use);
    heed_mem_free(cx, columns->drop);
}

void table_say_skipped(const struct options *o, const char *path, int64_t skipped, int64_t left) {
    if (skipped == 0 || option_flag(o, "quiet")) return;
    fprintf(stderr, "%s: %lld of %lld rows skipped: they have missing values\n",
            strcmp(path, "-") == 0 ? "standard input" : path, (long long)skipped, (long long)(skipped + left));
}
