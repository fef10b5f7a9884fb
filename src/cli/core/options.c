/* Reading options by a table. Numbers are strict: all of the text must be one, within its bounds. A message begins with
 * the command and, within a recipe, its file and line. */
#include "cli/core/options.h"
#include "base/file.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const heed_field common_options[] = {
    {.name = "common", .kind = HEED_FIELD_GROUP},
    {.name = "threads", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1024,
     .help = "number of threads; 0: all cores that this process may use"},
    {.name = "seed", .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .high = 9007199254740992.0,
     .help = "seed of all random numbers"},
    {.name = "memory", .kind = HEED_FIELD_BYTES, .value = "BYTES",
     .help = "maximum memory, checked before work starts (512M, 2G)"},
    {.name = "profile", .help = "say at the end where the time went, by op and by other work"},
    {.name = "quiet", .letter = 'q', .help = "no progress, no messages but errors"},
    {.name = "recipe", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "read options from a file, one per line; command-line options override it"},
    {.name = "help", .letter = 'h', .help = "this help"},
    {.name = NULL},
};
/* clang-format on */

/* ---- what was given ---- */

struct options {
    const char *command;
    char where[300]; /* what messages begin with */
    heed_ctx *cx;    /* of the values */
    struct values *values;
    const char **words;
    int n_words;
    char *recipe; /* its text */
};

static void *must(void *p) {
    if (p) return p;
    fputs("heed: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

static bool take_value(struct options *o, const heed_field *f, const char *text, bool from_line) {
    char why[FIELD_WHY];
    if (!field_takes(f, text, why)) {
        cli_error(EXIT_USAGE, "%s: %s", o->where, why);
        return false;
    }
    return values_add(o->cx, o->values, f, text, from_line) || must(NULL);
}

/* ---- the command line ---- */

static bool unknown_option(const struct options *o, const char *word, size_t length) {
    int n = 0;
    while (values_at(o->values, n)) n++;
    const char **names = must(malloc((size_t)(n + 1) * sizeof *names));
    char name[64];
    for (int i = 0; i < n; i++) names[i] = values_at(o->values, i)->name;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *nearest = text_nearest(name, names, n);
    if (nearest)
        cli_error(EXIT_USAGE, "%s: unknown option --%s, did you mean --%s?", o->where, name, nearest);
    else
        cli_error(EXIT_USAGE, "%s: unknown option --%s, 'heed %s --help' lists them", o->where, name, o->command);
    free(names);
    return false;
}

/* One option with its value after '=' or in `next`; *used says whether next was taken. */
static bool read_long(struct options *o, const char *word, const char *next, bool from_line, bool *used) {
    const size_t length = strcspn(word, "=");
    const heed_field *f = values_field(o->values, word, length);
    *used = false;
    if (!f) return unknown_option(o, word, length);
    if (f->kind == HEED_FIELD_FLAG) {
        if (!word[length] && (from_line || !next)) return take_value(o, f, "yes", from_line);
        cli_error(EXIT_USAGE, "%s: --%s takes no value", o->where, f->name);
        return false;
    }
    if (word[length]) return take_value(o, f, word + length + 1, from_line);
    if (!next) {
        cli_error(EXIT_USAGE, "%s: --%s needs a value: %s", o->where, f->name, f->value);
        return false;
    }
    *used = true;
    return take_value(o, f, next, from_line);
}

static bool read_short(struct options *o, const char *word, const char *next, bool *used) {
    const heed_field *f = values_letter(o->values, word[1]);
    *used = false;
    if (!f || (f->kind == HEED_FIELD_FLAG && word[2])) {
        cli_error(EXIT_USAGE, "%s: unknown option %s, 'heed %s --help' lists them", o->command, word, o->command);
        return false;
    }
    if (f->kind == HEED_FIELD_FLAG) return take_value(o, f, "yes", true);
    if (word[2]) return take_value(o, f, word + 2, true);
    if (!next) {
        cli_error(EXIT_USAGE, "%s: -%c needs a value: %s", o->command, f->letter, f->value);
        return false;
    }
    *used = true;
    return take_value(o, f, next, true);
}

static bool read_line(struct options *o, int argc, char **argv) {
    bool options_over = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        bool used = false, ok = true;
        if (!options_over && strcmp(word, "--") == 0)
            options_over = true;
        else if (!options_over && strncmp(word, "--", 2) == 0)
            ok = read_long(o, word + 2, next, true, &used);
        /* "-" is standard input, "-3" a number */
        else if (!options_over && word[0] == '-' && word[1] && !strchr("0123456789.", word[1]))
            ok = read_short(o, word, next, &used);
        else
            o->words[o->n_words++] = word;
        if (!ok) return false;
        i += used;
    }
    return true;
}

/* ---- recipes: one option a line, "epochs 20" or "epochs = 20" or "--epochs 20"; # begins a comment ---- */

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    char *end = s + strlen(s);
    while (end > s && strchr(" \t\r", end[-1])) *--end = 0;
    return s;
}

#define MAX_RECIPE ((size_t)1 << 20)

/* The file as text, or NULL with errno. */
static char *read_whole(const char *path) {
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!f) return NULL;
    char *text = must(malloc(MAX_RECIPE + 1));
    errno = 0;
    const size_t n = fread(text, 1, MAX_RECIPE, f);
    int why = ferror(f) ? errno : 0;
    if (n == MAX_RECIPE) why = EFBIG;
    if (memchr(text, 0, n)) why = EILSEQ;
    text[n] = 0;
    if (f != stdin) fclose(f);
    if (!why) return text;
    free(text);
    errno = why;
    return NULL;
}

/* A '#' at the beginning or after a space begins a comment. */
static void cut_comment(char *line) {
    for (char *hash = strchr(line, '#'); hash; hash = strchr(hash + 1, '#'))
        if (hash == line || hash[-1] == ' ' || hash[-1] == '\t') {
            *hash = 0;
            return;
        }
}

static bool read_recipe_line(struct options *o, char *line) {
    cut_comment(line);
    line = trim(line);
    if (!*line) return true;
    if (strncmp(line, "--", 2) == 0) line += 2;
    char *value = line + strcspn(line, " \t=");
    const bool bare = !*value, assigned = *value == '=';
    if (!bare) *value++ = 0;
    value = trim(value);
    if (!assigned && *value == '=') value = trim(value + 1);
    if (strcmp(line, "recipe") == 0) {
        cli_error(EXIT_USAGE, "%s: a recipe cannot name another", o->where);
        return false;
    }
    bool used;
    return read_long(o, line, bare ? NULL : value, false, &used);
}

static bool read_recipe(struct options *o, const char *path) {
    o->recipe = read_whole(path);
    if (!o->recipe) {
        cli_error(EXIT_USAGE, "%s: --recipe: %s: %s", o->command, path, strerror(errno));
        return false;
    }
    int number = 1;
    for (char *line = o->recipe, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        snprintf(o->where, sizeof o->where, "%s: %.200s: line %d", o->command, path, number);
        if (!read_recipe_line(o, line)) return false;
    }
    snprintf(o->where, sizeof o->where, "%s", o->command);
    return true;
}

static size_t memory_asked; /* of the command line read last; 0: any */

size_t options_memory(void) { return memory_asked; }

struct options *options_read(const char *command, const heed_field *table, int argc, char **argv, int least, int most,
                             const char *words) {
    struct options *o = must(calloc(1, sizeof *o));
    o->command = command;
    snprintf(o->where, sizeof o->where, "%s", command);
    o->cx = heed_open(&(heed_config){.threads = 1});
    o->values = must(values_new(o->cx, table, common_options));
    o->words = must(calloc((size_t)argc + 1, sizeof *o->words));
    bool ok = read_line(o, argc, argv);
    const char *recipe = ok ? option_text(o, "recipe") : NULL;
    if (recipe) ok = read_recipe(o, recipe);
    if (ok && (o->n_words < least || o->n_words > most)) {
        if (o->n_words > most)
            cli_error(EXIT_USAGE, "%s: '%s' is one word too many; expected: %s", command, o->words[most],
                      *words ? words : "options only");
        else
            cli_error(EXIT_USAGE, "%s: expected: %s; 'heed %s --help' explains", command, words, command);
        ok = false;
    }
    if (ok) {
        memory_asked = option_bytes(o, "memory");
        return o;
    }
    options_free(o);
    return NULL;
}

void options_free(struct options *o) {
    if (!o) return;
    values_free(o->cx, o->values);
    heed_close(o->cx);
    free(o->words);
    free(o->recipe);
    free(o);
}

/* ---- asking ---- */

int options_words(const struct options *o) { return o->n_words; }
const char *options_word(const struct options *o, int i) { return i < o->n_words ? o->words[i] : NULL; }
const char *options_command(const struct options *o) { return o->command; }

const struct values *options_values(const struct options *o) { return o->values; }

bool options_either(struct options *o, const char *a, const char *b) {
    if (values_either(o->cx, o->values, a, b)) return true;
    cli_error(EXIT_USAGE, "%s: --%s and --%s: only one of them makes sense", o->command, a, b);
    return false;
}

static const struct values *known(const struct options *o, const char *name) {
    (void)name;
    assert(value_known(o->values, name)); /* a name that is in no table */
    return o->values;
}

bool option_known(const struct options *o, const char *name) { return value_known(o->values, name); }
bool option_given(const struct options *o, const char *name) { return value_given(known(o, name), name); }
bool option_flag(const struct options *o, const char *name) { return value_flag(known(o, name), name); }
int64_t option_int(const struct options *o, const char *name) { return value_int(known(o, name), name); }
double option_number(const struct options *o, const char *name) { return value_number(known(o, name), name); }
size_t option_bytes(const struct options *o, const char *name) { return value_bytes(known(o, name), name); }
const char *option_text(const struct options *o, const char *name) { return value_text(known(o, name), name); }
int option_list(const struct options *o, const char *name, const char *const **values) {
    return value_list(known(o, name), name, values);
}

const char *option_need(const struct options *o, const char *name) {
    const char *text = option_text(o, name);
    if (!text)
        cli_error(EXIT_USAGE, "%s: --%s %s is needed", o->command, name,
                  values_field(o->values, name, strlen(name))->value);
    return text;
}

bool option_writable(const struct options *o, const char *names) {
    char name[32];
    for (int length; sscanf(names, "%31s%n", name, &length) == 1; names += length) {
        const char *const path = option_text(o, name);
        if (!path || file_folder_writable(path)) continue;
        cli_error(EXIT_FAILED, "%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}
