/* What the terminal can show, and text made fit for it. */
#include "base/text.h"
#include "cli/core/cli.h"
#include "plot/terminal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

heed_terminal cli_terminal(int widest) {
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    const char *term = getenv("TERM");
    struct winsize w;
    heed_terminal t = {.width = 80, .ascii = terminal && term && strcmp(term, "dumb") == 0};
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40)
        t.width = w.ws_col < widest ? w.ws_col : widest;
    t.colors = heed_terminal_choose(getenv("NO_COLOR"), getenv("COLORTERM"), term, terminal);
    return t;
}

void cli_print_text(FILE *to, const char *text) {
    enum { AT_ONCE = 32, LONGEST = 8 }; /* bytes, and of a byte's escape */
    char part[AT_ONCE * LONGEST];
    while (*text) {
        size_t n = strnlen(text, AT_ONCE);
        while (n > 1 && ((unsigned char)text[n] & 0xC0) == 0x80) n--; /* not within a character */
        fwrite(part, 1, text_printable(part, sizeof part, text, n), to);
        text += n;
    }
}

/* The first characters of text that take at most `columns`; *took: how many they take. */
static size_t fitting(const char *text, int columns, int *took) {
    size_t n = 0;
    *took = 0;
    while (text[n]) {
        size_t next = n + 1;
        while (((unsigned char)text[next] & 0xC0) == 0x80) next++;
        char one[8];
        snprintf(one, sizeof one, "%.*s", (int)(next - n), text + n);
        if (*took + text_columns(one) > columns) break;
        *took += text_columns(one);
        n = next;
    }
    return n;
}

void cli_print_cell(FILE *to, const char *text, int columns) {
    const int wide = columns < 0 ? -columns : columns;
    int has = text_columns(text);
    size_t n = strlen(text);
    const bool cut = has > wide;
    if (cut) n = fitting(text, wide - 1, &has);
    const int fill = wide - has - cut;
    if (columns < 0) fprintf(to, "%*s", fill, "");
    fprintf(to, "%.*s%s", (int)n, text, cut ? "\u2026" : "");
    if (columns > 0) fprintf(to, "%*s", fill, "");
}
