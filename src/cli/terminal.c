/* What the terminal can show. */
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
