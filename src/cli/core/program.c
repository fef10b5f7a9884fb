#include "cli/core/program.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *typed_as = "heed";

/* Whether both names lead to one file. */
static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The first program of that name on the PATH is this one. */
static bool is_on_path(const char *name) {
    const char *path = getenv("PATH");
    for (size_t n; path; path = path[n] ? path + n + 1 : NULL) {
        char candidate[4096];
        n = strcspn(path, ":");
        const int size = snprintf(candidate, sizeof candidate, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
        if (size > 0 && size < (int)sizeof candidate && access(candidate, X_OK) == 0)
            return is_same_file(candidate, typed_as);
    }
    return false;
}

void cli_set_program(const char *typed) {
    if (typed && *typed) typed_as = typed;
}

const char *cli_program(void) {
    const char *slash = strrchr(typed_as, '/');
    return slash && slash[1] && is_on_path(slash + 1) ? slash + 1 : typed_as;
}

void cli_print_word(FILE *f, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+%@";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++) *word == '\'' ? fputs("'\\''", f) : fputc(*word, f);
    fputc('\'', f);
}

void cli_print_command(FILE *f, ...) {
    va_list words;
    va_start(words, f);
    cli_print_word(f, cli_program());
    for (const char *word; (word = va_arg(words, const char *));) {
        fputc(' ', f);
        cli_print_word(f, word);
    }
    va_end(words);
}
