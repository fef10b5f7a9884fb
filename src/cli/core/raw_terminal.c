#define _GNU_SOURCE /* ppoll */
#include "cli/core/raw_terminal.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Those that end or stop a process while a person types. They are blocked in raw mode except while it waits, and are
 * then raised again with the terminal restored and the handlers that were there before. */
static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
enum { WATCHED = sizeof watched / sizeof *watched };

static struct termios terminal_before;
static struct sigaction handler_before[WATCHED];
static sigset_t mask_before;
static bool raw;
static volatile sig_atomic_t came[WATCHED];

static const char on[] = "\x1B[?2004h", off[] = "\x1B[?2004l\x1B[?25h"; /* pasted text is marked; the cursor is seen */

static void on_signal(int number) {
    for (int i = 0; i < WATCHED; i++)
        if (watched[i] == number) came[i] = 1;
}

bool raw_terminal_possible(void) {
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && term && *term && strcmp(term, "dumb") != 0;
}

bool raw_terminal_write(const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t n = write(STDOUT_FILENO, bytes, size);
        if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool make_raw(void) {
    struct termios t = terminal_before;
    t.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    t.c_cflag |= CS8;
    t.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &t) != 0) return false;
    raw = true;
    return raw_terminal_write(on, sizeof on - 1);
}

static void restore_terminal(void) {
    if (!raw) return;
    raw = false;
    raw_terminal_write(off, sizeof off - 1);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_before);
}

static void watch(void) {
    sigset_t all;
    sigemptyset(&all);
    for (int i = 0; i < WATCHED; i++) sigaddset(&all, watched[i]);
    sigprocmask(SIG_BLOCK, &all, &mask_before);
    for (int i = 0; i < WATCHED; i++) {
        came[i] = 0;
        sigaction(watched[i], &(struct sigaction){.sa_handler = on_signal}, &handler_before[i]);
        if (handler_before[i].sa_handler == SIG_IGN) sigaction(watched[i], &handler_before[i], NULL);
    }
}

static void unwatch(void) {
    for (int i = 0; i < WATCHED; i++) sigaction(watched[i], &handler_before[i], NULL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

bool raw_terminal_begin(void) {
    static bool registered;
    if (tcgetattr(STDIN_FILENO, &terminal_before) != 0) return false;
    if (!registered) registered = atexit(restore_terminal) == 0;
    watch();
    if (make_raw()) return true;
    restore_terminal();
    unwatch();
    return false;
}

void raw_terminal_end(void) {
    if (!raw) return;
    restore_terminal();
    unwatch();
}

/* The signal takes effect as if nobody had watched. */
static enum raw_event pass_on(int number) {
    raw_terminal_write("\r\n", 2);
    raw_terminal_end();
    raise(number);
    if (number != SIGTSTP) return RAW_SIGNAL;
    watch(); /* the process was stopped and goes on */
    return make_raw() ? RAW_RESUMED : RAW_SIGNAL;
}

void raw_terminal_stop(void) { on_signal(SIGTSTP); }

enum raw_event raw_terminal_wait(int milliseconds) {
    const struct timespec limit = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    for (;;) {
        for (int i = 0; i < WATCHED; i++) {
            if (!came[i]) continue;
            came[i] = 0;
            return watched[i] == SIGWINCH ? RAW_RESIZED : pass_on(watched[i]);
        }
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        const int n = ppoll(&p, 1, milliseconds < 0 ? NULL : &limit, &mask_before);
        if (n == 0) return RAW_TIMEOUT;
        if (n > 0 || errno != EINTR) return RAW_BYTES;
    }
}

void raw_terminal_size(int *width, int *height) {
    struct winsize w;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0;
    *width = known && w.ws_col > 1 ? w.ws_col : 80;
    *height = known && w.ws_row > 0 ? w.ws_row : 24;
}
