/* Reading options by a table. Numbers are strict: all of the text must be one, within its bounds. A message begins with
 * the command and, within a recipe, its file and line. */
#include "cli/core/options.h"
#include "base/text.h"
#include "io/text.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct option common_options[] = {
    {.name = "common", .kind = OPTION_GROUP},
    {.name = "threads", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1024,
     .help = "number of threads; 0: all cores that this process may use"},
    {.name = "seed", .kind = OPTION_INT, .standard = "1", .value = "N", .high = 9007199254740992.0,
     .help = "seed of all random numbers"},
    {.name = "memory", .kind = OPTION_BYTES, .value = "BYTES",
     .help = "maximum memory, checked before work starts (512M, 2G)"},
    {.name = "profile", .help = "say at the end where the time went, by op and by other work"},
    {.name = "quiet", .letter = 'q', .help = "no progress, no messages but errors"},
    {.name = "recipe", .kind = OPTION_FILE, .value = "FILE",
     .help = "read options from a file, one per line; command-line options override it"},
    {.name = "help", .letter = 'h', .help = "this help"},
    {.name = NULL},
};
/* clang-format on */

/* ---- tables ---- */

static const struct option *own_row(const struct option *table, const char *name) {
    for (; table->name; table++)
        if (table->kind != OPTION_GROUP && table->kind != OPTION_TABLE && strcmp(table->name, name) == 0) return table;
    return NULL;
}

static bool is_inserted(const struct option *table, const char *name) {
    for (; table->name; table++)
        if (table->kind == OPTION_TABLE && own_row(table->table, name)) return true;
    return false;
}

const struct option *option_row(const struct option *table, int i) {
    for (const struct option *row = table; row && row->name; row++) {
        if (row->kind != OPTION_TABLE) {
            if ((row->kind == OPTION_GROUP || !is_inserted(table, row->name)) && i-- == 0) return row;
            continue;
        }
        for (const struct option *in = row->table; in->name; in++)
            if (i-- == 0) {
                const struct option *own = in->kind == OPTION_GROUP ? NULL : own_row(table, in->name);
                return own ? own : in;
            }
    }
    return NULL;
}

/* ---- what was given ---- */

struct given {
    const struct option *option;
    const char **values;
    int n, from_line; /* how many of them, the last ones, are from the command line, which overrides the recipe */
};

struct options {
    const char *command;
    char where[300];     /* what messages begin with */
    struct given *given; /* one per option of the tables */
    int n;
    const char **words;
    int n_words;
    char *recipe; /* its text, which values point into */
};

static void *must(void *p) {
    if (p) return p;
    fputs("heed: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

static struct given *find(struct options *o, const char *name, size_t length) {
    for (int i = 0; i < o->n; i++)
        if (strncmp(o->given[i].option->name, name, length) == 0 && o->given[i].option->name[length] == 0)
            return &o->given[i];
    return NULL;
}

static struct given *find_letter(struct options *o, char letter) {
    for (int i = 0; i < o->n; i++)
        if (o->given[i].option->letter == letter) return &o->given[i];
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

static bool wrong(const struct options *o, const struct option *t, const char *text, const char *why,
                  const char *more) {
    cli_error(EXIT_USAGE, "%s: --%s: '%s' is not %s%s", o->where, t->name, text, why, more);
    return false;
}

static bool value_ok(const struct options *o, const struct option *t, const char *text) {
    int64_t whole;
    double number;
    size_t bytes;
    switch (t->kind) {
    case OPTION_INT:
        if (!read_int(text, &whole)) return wrong(o, t, text, "a whole number", "");
        number = (double)whole;
        break;
    case OPTION_NUMBER:
        if (!read_number(text, &number)) return wrong(o, t, text, "a number", "");
        break;
    case OPTION_BYTES:
        return read_bytes(text, &bytes) || wrong(o, t, text, "a number of bytes such as 512M or 2G", "");
    case OPTION_CHOICE:
        return text_among(t->choices, text) || wrong(o, t, text, "one of: ", t->choices);
    default:
        return true;
    }
    if ((t->low == 0 && t->high == 0) || (number >= t->low && number <= t->high)) return true;
    cli_error(EXIT_USAGE, "%s: --%s: %s is not between %.15g and %.15g", o->where, t->name, text, t->low, t->high);
    return false;
}

/* Lists grow: what the recipe gives comes before what the command line gives. Of anything else the last one counts. */
static bool take_value(struct options *o, struct given *g, const char *text, bool from_line) {
    if (!value_ok(o, g->option, text)) return false;
    g->values = must(realloc(g->values, (size_t)(g->n + 1) * sizeof *g->values));
    const int at = g->n - (from_line ? 0 : g->from_line);
    memmove(g->values + at + 1, g->values + at, (size_t)(g->n - at) * sizeof *g->values);
    g->values[at] = text;
    g->n++;
    g->from_line += from_line;
    return true;
}

/* ---- the command line ---- */

static bool unknown_option(const struct options *o, const char *word, size_t length) {
    const char **names = must(malloc((size_t)o->n * sizeof *names));
    char name[64];
    for (int i = 0; i < o->n; i++) names[i] = o->given[i].option->name;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *nearest = cli_nearest(name, names, o->n);
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
    struct given *g = find(o, word, length);
    *used = false;
    if (!g) return unknown_option(o, word, length);
    if (g->option->kind == OPTION_FLAG) {
        if (!word[length] && (from_line || !next)) return take_value(o, g, "yes", from_line);
        cli_error(EXIT_USAGE, "%s: --%s takes no value", o->where, g->option->name);
        return false;
    }
    if (word[length]) return take_value(o, g, word + length + 1, from_line);
    if (!next) {
        cli_error(EXIT_USAGE, "%s: --%s needs a value: %s", o->where, g->option->name, g->option->value);
        return false;
    }
    *used = true;
    return take_value(o, g, next, from_line);
}

static bool read_short(struct options *o, const char *word, const char *next, bool *used) {
    struct given *g = find_letter(o, word[1]);
    *used = false;
    if (!g || (g->option->kind == OPTION_FLAG && word[2])) {
        cli_error(EXIT_USAGE, "%s: unknown option %s, 'heed %s --help' lists them", o->command, word, o->command);
        return false;
    }
    if (g->option->kind == OPTION_FLAG) return take_value(o, g, "yes", true);
    if (word[2]) return take_value(o, g, word + 2, true);
    if (!next) {
        cli_error(EXIT_USAGE, "%s: -%c needs a value: %s", o->command, g->option->letter, g->option->value);
        return false;
    }
    *used = true;
    return take_value(o, g, next, true);
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

#define RECIPE_MOST ((size_t)1 << 20)

/* The file as text, or NULL with errno. */
static char *read_whole(const char *path) {
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!f) return NULL;
    char *text = must(malloc(RECIPE_MOST + 1));
    errno = 0;
    const size_t n = fread(text, 1, RECIPE_MOST, f);
    int why = ferror(f) ? errno : 0;
    if (n == RECIPE_MOST) why = EFBIG;
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

static void add_table(struct options *o, const struct option *table) {
    const struct option *row;
    int rows = 0;
    while (option_row(table, rows)) rows++;
    o->given = must(realloc(o->given, (size_t)(o->n + rows + 1) * sizeof *o->given));
    for (int i = 0; (row = option_row(table, i)); i++)
        if (row->kind != OPTION_GROUP) o->given[o->n++] = (struct given){.option = row};
}

static size_t memory_asked; /* of the command line read last; 0: any */

size_t options_memory(void) { return memory_asked; }

struct options *options_read(const char *command, const struct option *table, int argc, char **argv, int least,
                             int most, const char *words) {
    struct options *o = must(calloc(1, sizeof *o));
    o->command = command;
    snprintf(o->where, sizeof o->where, "%s", command);
    add_table(o, table);
    add_table(o, common_options);
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
    for (int i = 0; i < o->n; i++) free(o->given[i].values);
    free(o->given);
    free(o->words);
    free(o->recipe);
    free(o);
}

/* ---- asking ---- */

int options_words(const struct options *o) { return o->n_words; }
const char *options_word(const struct options *o, int i) { return i < o->n_words ? o->words[i] : NULL; }
const char *options_command(const struct options *o) { return o->command; }

static const struct given *look(const struct options *o, const char *name) {
    const struct given *g = find((struct options *)(uintptr_t)o, name, strlen(name));
    assert(g); /* a name that is in no table */
    return g;
}

static const char *text_of(const struct options *o, const char *name) {
    const struct given *g = look(o, name);
    return !g ? NULL : g->n ? g->values[g->n - 1] : g->option->standard;
}

bool options_either(struct options *o, const char *a, const char *b) {
    struct given *x = find(o, a, strlen(a)), *y = find(o, b, strlen(b));
    if (x->n == 0 || y->n == 0) return true;
    if ((x->from_line > 0) == (y->from_line > 0)) {
        cli_error(EXIT_USAGE, "%s: --%s and --%s: only one of them makes sense", o->command, a, b);
        return false;
    }
    (x->from_line > 0 ? y : x)->n = 0;
    return true;
}

bool option_known(const struct options *o, const char *name) {
    return find((struct options *)(uintptr_t)o, name, strlen(name));
}
bool option_given(const struct options *o, const char *name) {
    const struct given *g = look(o, name);
    return g && g->n > 0;
}
bool option_flag(const struct options *o, const char *name) { return option_given(o, name); }
const char *option_text(const struct options *o, const char *name) { return text_of(o, name); }

bool option_writable(const struct options *o, const char *names) {
    char name[32], folder[PATH_MAX];
    for (int length; sscanf(names, "%31s%n", name, &length) == 1; names += length) {
        const char *const path = option_text(o, name), *const end = path ? strrchr(path, '/') : NULL;
        if (!end || end == path || (size_t)(end - path) >= sizeof folder) continue;
        memcpy(folder, path, (size_t)(end - path));
        folder[end - path] = 0;
        if (access(folder, W_OK | X_OK) == 0) continue;
        cli_error(EXIT_FAILED, "%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

const char *option_need(const struct options *o, const char *name) {
    const struct given *g = look(o, name);
    const char *text = text_of(o, name);
    if (!text) cli_error(EXIT_USAGE, "%s: --%s %s is needed", o->command, name, g ? g->option->value : "");
    return text;
}

int64_t option_int(const struct options *o, const char *name) {
    const char *text = text_of(o, name);
    int64_t n = 0;
    return text && read_int(text, &n) ? n : 0;
}
double option_number(const struct options *o, const char *name) {
    const char *text = text_of(o, name);
    double x = 0;
    return text && read_number(text, &x) ? x : 0;
}
size_t option_bytes(const struct options *o, const char *name) {
    const char *text = text_of(o, name);
    size_t n = 0;
    return text && read_bytes(text, &n) ? n : 0;
}
int option_list(const struct options *o, const char *name, const char *const **values) {
    const struct given *g = look(o, name);
    *values = g ? g->values : NULL;
    return g ? g->n : 0;
}
