/* Reading options by a table. Numbers are strict: all of the text must be one, within its bounds. */
#include "cli/options.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option common_options[] = {
    {"threads", 0, OPTION_INT, "0", "N", "threads to use; 0: as many as this process may", 0, 1024, NULL},
    {"seed", 0, OPTION_INT, "1", "N", "of all random numbers", 0, 9007199254740992.0, NULL},
    {"memory", 0, OPTION_BYTES, NULL, "BYTES", "most memory to take, checked before work starts (512M, 2G)", 0, 0,
     NULL},
    {"profile", 0, OPTION_FLAG, NULL, NULL, "say at the end where the time went, op by op", 0, 0, NULL},
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, "no progress, no messages but errors", 0, 0, NULL},
    {"json", 0, OPTION_FLAG, NULL, NULL, "results as JSON", 0, 0, NULL},
    {"recipe", 0, OPTION_FILE, NULL, "FILE", "read options from a file, one a line; the command line stands over it", 0,
     0, NULL},
    {"help", 'h', OPTION_FLAG, NULL, NULL, "this help", 0, 0, NULL},
    {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, 0, NULL},
};

enum { OPTIONS_MOST = 64 };

struct given {
    const struct option *option;
    const char **values;
    int n;
    bool from_line; /* the command line stands over the recipe */
};

struct options {
    const char *command;
    struct given given[OPTIONS_MOST];
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
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*out) && strchr("0123456789+-.", text[0]);
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

static bool among(const char *choices, const char *text) {
    const size_t length = strlen(text);
    for (const char *at = choices; length && (at = strstr(at, text)); at += length)
        if ((at == choices || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return true;
    return false;
}

static bool value_ok(const char *command, const struct option *t, const char *text) {
    int64_t whole;
    double number = 0;
    size_t bytes;
    const bool bounded = t->low != 0 || t->high != 0;
    switch (t->kind) {
    case OPTION_INT:
        if (!read_int(text, &whole)) {
            cli_error(EXIT_USAGE, "%s: --%s: '%s' is not a whole number", command, t->name, text);
            return false;
        }
        number = (double)whole;
        break;
    case OPTION_NUMBER:
        if (!read_number(text, &number)) {
            cli_error(EXIT_USAGE, "%s: --%s: '%s' is not a number", command, t->name, text);
            return false;
        }
        break;
    case OPTION_BYTES:
        if (read_bytes(text, &bytes)) return true;
        cli_error(EXIT_USAGE, "%s: --%s: '%s' is not a number of bytes such as 512M or 2G", command, t->name, text);
        return false;
    case OPTION_CHOICE:
        if (among(t->choices, text)) return true;
        cli_error(EXIT_USAGE, "%s: --%s: '%s' is not one of: %s", command, t->name, text, t->choices);
        return false;
    default:
        return true;
    }
    if (!bounded || (number >= t->low && number <= t->high)) return true;
    cli_error(EXIT_USAGE, "%s: --%s: %s is not between %.15g and %.15g", command, t->name, text, t->low, t->high);
    return false;
}

static bool take_value(struct options *o, struct given *g, const char *text, bool from_line) {
    if (g->option->kind != OPTION_FLAG && !value_ok(o->command, g->option, text)) return false;
    const bool fresh = g->option->kind != OPTION_LIST || (from_line && !g->from_line);
    if (fresh) g->n = 0;
    g->from_line = from_line;
    g->values = must(realloc(g->values, (size_t)(g->n + 1) * sizeof *g->values));
    g->values[g->n++] = text;
    return true;
}

/* ---- the command line ---- */

static bool unknown_option(const struct options *o, const char *word, size_t length) {
    const char *names[OPTIONS_MOST];
    char name[64];
    for (int i = 0; i < o->n; i++) names[i] = o->given[i].option->name;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *nearest = cli_nearest(name, names, o->n);
    if (nearest)
        cli_error(EXIT_USAGE, "%s: unknown option --%s, did you mean --%s?", o->command, name, nearest);
    else
        cli_error(EXIT_USAGE, "%s: unknown option --%s, 'heed %s --help' lists them", o->command, name, o->command);
    return false;
}

/* One option with its value after '=' or in `next`; *used says whether next was taken. */
static bool read_long(struct options *o, const char *word, const char *next, bool from_line, bool *used) {
    const size_t length = strcspn(word, "=");
    struct given *g = find(o, word, length);
    *used = false;
    if (!g) return unknown_option(o, word, length);
    if (g->option->kind == OPTION_FLAG) {
        if (!word[length]) return take_value(o, g, "yes", from_line);
        cli_error(EXIT_USAGE, "%s: --%s takes no value", o->command, g->option->name);
        return false;
    }
    if (word[length]) return take_value(o, g, word + length + 1, from_line);
    if (!next) {
        cli_error(EXIT_USAGE, "%s: --%s needs a value: %s", o->command, g->option->name, g->option->value);
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

static char *read_whole(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, got;
    char part[4096];
    while (f && (got = fread(part, 1, sizeof part, f)) > 0 && n < ((size_t)1 << 20)) {
        text = must(realloc(text, n + got + 1));
        memcpy(text + n, part, got);
        n += got;
    }
    const bool bad = !f || ferror(f) || (text && memchr(text, 0, n));
    const int why = f && !ferror(f) ? EINVAL : errno;
    if (f) fclose(f);
    if (bad) {
        free(text);
        errno = why;
        return NULL;
    }
    text = must(realloc(text, n + 1));
    text[n] = 0;
    return text;
}

static bool read_recipe(struct options *o, const char *path) {
    o->recipe = read_whole(path);
    if (!o->recipe) {
        cli_error(EXIT_USAGE, "%s: %s: %s", o->command, path, strerror(errno));
        return false;
    }
    int number = 1;
    for (char *line = o->recipe, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        for (char *hash = strchr(line, '#'); hash; hash = strchr(hash + 1, '#'))
            if (hash == line || hash[-1] == ' ' || hash[-1] == '\t') {
                *hash = 0;
                break;
            }
        line = trim(line);
        if (!*line) continue;
        if (strncmp(line, "--", 2) == 0) line += 2;
        const size_t length = strcspn(line, " \t=");
        char *value = line + length;
        if (*value) *value++ = 0;
        value = trim(value);
        if (*value == '=') value = trim(value + 1);
        struct given *g = find(o, line, strlen(line));
        bool used, ok;
        if (g && g->from_line && g->option->kind != OPTION_LIST) continue;
        if (g && g->option->kind == OPTION_LIST && g->from_line) continue;
        if (strcmp(line, "recipe") == 0) {
            cli_error(EXIT_USAGE, "%s: a recipe cannot name another", o->command);
            ok = false;
        } else
            ok = read_long(o, line, *value ? value : NULL, false, &used);
        if (!ok) {
            cli_error(EXIT_USAGE, "%s: line %d of the recipe", path, number);
            return false;
        }
    }
    return true;
}

struct options *options_read(const char *command, const struct option *table, int argc, char **argv, int least,
                             int most, const char *words) {
    struct options *o = must(calloc(1, sizeof *o));
    o->command = command;
    const struct option *const tables[2] = {table, common_options};
    for (int t = 0; t < 2; t++)
        for (const struct option *option = tables[t]; option && option->name && o->n < OPTIONS_MOST; option++)
            o->given[o->n++].option = option;
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
    if (ok) return o;
    options_free(o);
    return NULL;
}

void options_free(struct options *o) {
    if (!o) return;
    for (int i = 0; i < o->n; i++) free(o->given[i].values);
    free(o->words);
    free(o->recipe);
    free(o);
}

/* ---- asking ---- */

int options_words(const struct options *o) { return o->n_words; }
const char *options_word(const struct options *o, int i) { return i < o->n_words ? o->words[i] : NULL; }

static const struct given *look(const struct options *o, const char *name) {
    return find((struct options *)(uintptr_t)o, name, strlen(name));
}

static const char *text_of(const struct options *o, const char *name) {
    const struct given *g = look(o, name);
    return !g ? NULL : g->n ? g->values[g->n - 1] : g->option->standard;
}

bool option_given(const struct options *o, const char *name) {
    const struct given *g = look(o, name);
    return g && g->n > 0;
}
bool option_flag(const struct options *o, const char *name) { return option_given(o, name); }
const char *option_text(const struct options *o, const char *name) { return text_of(o, name); }

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

/* ---- the context ---- */

static volatile sig_atomic_t pressed;
static void on_interrupt(int signal_number) {
    (void)signal_number;
    if (pressed) _Exit(130); /* a second time: at once */
    pressed = 1;
}
bool interrupted(void) { return pressed; }

heed_ctx *options_open(const struct options *o) {
    signal(SIGINT, on_interrupt);
    heed_ctx *cx = heed_open(&(heed_config){.threads = (int)option_int(o, "threads"),
                                            .seed = (uint64_t)option_int(o, "seed"),
                                            .byte_budget = option_bytes(o, "memory")});
    if (!heed_failed(cx)) return cx;
    cli_error(EXIT_FAILED, "%s: %s", o->command, heed_message(cx));
    heed_close(cx);
    return NULL;
}

int options_close(const struct options *o, heed_ctx *cx, int status) {
    (void)o;
    if (pressed)
        status = 130;
    else if (heed_failed(cx))
        status = cli_error(EXIT_FAILED, "%s", heed_message(cx));
    heed_close(cx);
    return status;
}
