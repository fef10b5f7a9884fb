/* heed/fields.h: options as tables. Each option of a task or a command is a row with its name, kind, default and help.
 * The command line, recipes, --help, the manual pages, the completions and C programs all use these rows. */
#ifndef HEED_FIELDS_H
#define HEED_FIELDS_H

#include "heed/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heed_field_kind {
    HEED_FIELD_FLAG,   /* --quiet */
    HEED_FIELD_INT,    /* within [low, high] */
    HEED_FIELD_NUMBER, /* within [low, high] */
    HEED_FIELD_BYTES,  /* 1048576, 512M, 2G */
    HEED_FIELD_TEXT,
    HEED_FIELD_FILE,   /* text that a shell completes as a path */
    HEED_FIELD_CHOICE, /* one of `choices`, separated by spaces */
    HEED_FIELD_LIST,   /* text, may be given several times */
    HEED_FIELD_FILES,  /* paths, may be given several times */
    HEED_FIELD_GROUP,  /* not an option: `name` heads those that follow, in the help */
    HEED_FIELD_TABLE,  /* not an option: `table` is inserted here */
} heed_field_kind;

/* Members that a row leaves out are 0 or NULL. */
typedef struct heed_field {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* -o, or 0 */
    heed_field_kind kind;
    const char *standard; /* the default, as text; NULL: none, or one that follows from the data */
    const char *tuned;    /* the default with --init; NULL: the same */
    const char *value;    /* what stands for the value in the help: "N", "FILE" */
    const char *help;
    double low, high;    /* both 0: any number */
    const char *choices; /* of HEED_FIELD_CHOICE */
    const struct heed_field *table;
} heed_field;

/* Row i of a table, counting those of the tables that it inserts; NULL after the last. A row of the table itself
 * replaces one of the same name in an inserted table. */
HEED_API const heed_field *heed_field_row(const heed_field *table, int i);
/* The option of that name; NULL: there is none. */
HEED_API const heed_field *heed_field_find(const heed_field *table, const char *name);

#ifdef __cplusplus
}
#endif
#endif
