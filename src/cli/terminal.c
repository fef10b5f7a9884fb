/* What the terminal can show, and text made fit for it. */
#include "base/text.h"
#include "cli/cli.h"
#include "heed/plot.h"
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
