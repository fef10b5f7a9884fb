/* Lines typed at a pseudo-terminal: what the editor makes of the keys, what it draws, and that the terminal is as it
 * was afterwards. The editor runs in a process of its own; here are the keys and a small screen. */
#define _GNU_SOURCE               /* posix_openpt, ptsname */
#include "cli/core/line_editor.c" /* the command is no library */
#include "cli/core/raw_terminal.c"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

/* ---- a screen ---- */

enum { ROWS = 8, COLUMNS = 20 };
static char cell[ROWS][COLUMNS][LONGEST_CHARACTER * 2 + 1]; /* a character with its marks; "" right of a wide one */
static int row, column;
static bool cursor_shown;

static void clear_cells(int from_row, int from_column) {
    for (int r = from_row; r < ROWS; r++)
        for (int c = r == from_row ? from_column : 0; c < COLUMNS; c++) strcpy(cell[r][c], " ");
}

static void feed_line(void) {
    if (row + 1 < ROWS) {
        row++;
        return;
    }
    memmove(cell[0], cell[1], sizeof cell[0] * (ROWS - 1));
    clear_cells(ROWS - 1, 0);
}

static void show_character(const char *s, size_t n) {
    char one[8] = {0};
    memcpy(one, s, n);
    const int wide = text_columns(one);
    if (wide == 0) {
        char *to = column > 0 ? cell[row][column - 1] : one;
        if (to != one && strlen(to) <= LONGEST_CHARACTER) memcpy(to + strlen(to), one, n + 1);
        return;
    }
    if (column + wide > COLUMNS) { /* the terminal's own wrapping, which the editor should never need */
        feed_line();
        column = 0;
        strcpy(one, "?");
    }
    strcpy(cell[row][column], one);
    if (wide == 2) strcpy(cell[row][column + 1], "");
    column += wide;
}

/* One thing that a terminal obeys; returns its bytes. */
static size_t obey(const char *s, size_t size) {
    if (*s == '\r') return column = 0, 1;
    if (*s == '\n') return feed_line(), 1;
    if (*s != 27) {
        const size_t n = utf8_sequence(s, size);
        assert_true(n > 0 && (unsigned char)*s >= 32);
        return show_character(s, n), n;
    }
    assert_true(size > 2 && s[1] == '[');
    size_t n = 2;
    const int private = s[n] == '?';
    int number = 0;
    for (n += (size_t) private; n < size && s[n] >= '0' && s[n] <= '9'; n++) number = 10 * number + s[n] - '0';
    assert_true(n < size);
    switch (s[n]) {
    case 'A':
        assert_true(number <= row), row -= number;
        break;
    case 'C':
        column += number;
        break;
    case 'H':
        row = column = 0;
        break;
    case 'J':
        number == 2 ? clear_cells(0, 0) : clear_cells(row, column);
        break;
    case 'm':
        break;
    case 'h':
    case 'l':
        if (number == 25) cursor_shown = s[n] == 'h';
        break;
    default:
        fail_msg("what is ESC [ ... %c?", s[n]);
    }
    assert_in_range(column, 0, COLUMNS);
    return n + 1;
}

/* ---- the editor's process ---- */

static int terminal = -1, answers = -1;
static pid_t child;
static struct termios cooked;

static int some_words(void *user, const char *line, size_t cursor, struct line_suggestion *to, int most) {
    static const char *const words[] = {"hello", "help", "h\xC3\xA9las", "world"};
    size_t begin = cursor;
    int n = 0;
    (void)user;
    while (begin > 0 && line[begin - 1] != ' ') begin--;
    for (int i = 0; i < 4 && n < most && begin < cursor; i++)
        if (strncmp(words[i], line + begin, cursor - begin) == 0)
            to[n++] = (struct line_suggestion){words[i], cursor - begin};
    return n;
}

static void on_terminate(int number) { (void)number; }

static void run_editor(int to, bool handle) {
    static const char *const names[] = {"typed", "ended", "interrupted", "failed"};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    struct line_editor *e =
        line_editor_new(cx, &(struct line_editor_opts){.prompt = "> ", .suggest = some_words, .most = 3});
    if (handle) sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_terminate}, NULL);
    for (;;) {
        const enum line_result result = line_editor_read(e);
        dprintf(to, "%s:%s\n", names[result], result == LINE_TYPED ? e->line.s : "");
        if (result == LINE_ENDED || result == LINE_FAILED) break;
    }
    line_editor_free(e);
    heed_close(cx);
    _exit(0);
}

static void look(void);

static void start(const char *term, bool handle) {
    int ends[2];
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    ioctl(terminal, TIOCSWINSZ, &(struct winsize){.ws_row = ROWS, .ws_col = COLUMNS});
    const char *name = ptsname(terminal);
    const int slave = open(name, O_RDWR | O_NOCTTY); /* kept open, so that the terminal outlives the process */
    assert_int_equal(tcgetattr(slave, &cooked), 0);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        dup2(slave, STDIN_FILENO);
        dup2(slave, STDOUT_FILENO);
        close(ends[0]);
        close(terminal);
        setenv("TERM", term, 1);
        run_editor(ends[1], handle);
    }
    close(ends[1]);
    answers = ends[0];
    clear_cells(0, 0);
    row = column = 0;
    for (int tries = 0; tries < 50 && strcmp(cell[0][0], ">") != 0; tries++) look();
}

/* Reads what is drawn until nothing comes for a while. */
static void look(void) {
    char bytes[4096];
    size_t size = 0;
    int quiet = 0;
    while (quiet < 2) {
        if (poll(&(struct pollfd){.fd = terminal, .events = POLLIN}, 1, 60) <= 0) {
            quiet++;
            continue;
        }
        const ssize_t n = read(terminal, bytes + size, sizeof bytes - size);
        if (n <= 0) break;
        quiet = 0;
        size += (size_t)n;
        size_t at = 0;
        while (at < size && (size - at > 12 || memchr(bytes, 27, size) == NULL || bytes[size - 1] != 27))
            at += obey(bytes + at, size - at);
        memmove(bytes, bytes + at, size -= at);
    }
}

static void press(const char *keys) {
    assert_int_equal(write(terminal, keys, strlen(keys)), strlen(keys));
    look();
}

static const char *row_text(int r) {
    static char text[COLUMNS * 8 + 1];
    text[0] = 0;
    for (int c = 0; c < COLUMNS; c++) strcat(text, cell[r][c]);
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ') text[--n] = 0;
    return text;
}
static void expect_rows(int first, ...) {
    va_list rows;
    va_start(rows, first);
    for (const char *wanted; (wanted = va_arg(rows, const char *)); first++)
        assert_string_equal(row_text(first), wanted);
    va_end(rows);
}
static void expect_answer(const char *wanted) {
    char line[512];
    size_t n = 0;
    do {
        assert_int_equal(poll(&(struct pollfd){.fd = answers, .events = POLLIN}, 1, 5000), 1);
        assert_int_equal(read(answers, line + n, 1), 1);
    } while (line[n++] != '\n');
    line[n - 1] = 0;
    assert_string_equal(line, wanted);
}
/* After it, the terminal is as it was before. */
static int finish(void) {
    struct termios now;
    int status;
    look();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(tcgetattr(terminal, &now), 0);
    assert_int_equal(now.c_lflag, cooked.c_lflag);
    assert_int_equal(now.c_iflag, cooked.c_iflag);
    close(terminal);
    close(answers);
    return status;
}

#define UP    "\x1B[A"
#define DOWN  "\x1B[B"
#define RIGHT "\x1B[C"
#define LEFT  "\x1B[D"

static void test_editing(void **state) {
    static const struct {
        const char *keys, *line;
    } cases[] = {
        {"abc\r", "abc"},
        {"\r", ""},
        {"abc" LEFT LEFT "x" RIGHT "y\r", "axbyc"},
        {"abc\x7F\x7F"
         "z\r",
         "az"},
        {"abc\x01\x04x\r", "xbc"},
        {"abc\x1B[Hx\x1B[Fy\x1BOHz\x1B[1~w\x1B[3~\r", "wxabcy"},
        {"one two  three\x17x\r", "one two  x"},
        {"one two\x1B"
         "bX\x1B[1;5DY\x1B"
         "fZ\r",
         "one YXtwoZ"},
        {"one two\x01\x1B"
         "d!\r",
         "! two"},
        {"one two" LEFT LEFT "\x0B\r", "one t"},
        {"one two" LEFT LEFT "\x15\x05 \x19\r", "wo one t"},
        {"f\xC3\xBCnf" LEFT LEFT "\x7F"
         "u\r",
         "funf"},
        {"\xE6\x97\xA5\xE6\x9C\xAC" LEFT "x\r", "\xE6\x97\xA5x\xE6\x9C\xAC"},
        {"e\xCC\x81x" LEFT LEFT "y\r", "ye\xCC\x81x"}, /* a letter and its accent are one place */
        {"e\xCC\x81\x7Fy\r", "y"},
        {"a\xFF\xC3z\xC2\x9B"
         "b\r",
         "azb"}, /* neither bytes that are no text nor what steers a terminal */
        {"\x1B[200~two\nlines\t\x1B[201~!\r", "two lines !"},
        {"a\x1B[99~\x1BOxb\r", "ab"},
    };
    (void)state;
    start("xterm", false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wanted[128];
        press(cases[i].keys);
        snprintf(wanted, sizeof wanted, "typed:%s", cases[i].line);
        expect_answer(wanted);
    }
    press("\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);
    assert_true(cursor_shown);
}

static void test_history(void **state) {
    (void)state;
    start("xterm", false);
    press("first\rsecond\rsecond\r");
    for (int i = 0; i < 3; i++) expect_answer(i ? "typed:second" : "typed:first");
    press("dra" UP UP UP "!\r");
    expect_answer("typed:first!");
    press("dra" UP UP DOWN DOWN "ft\r");
    expect_answer("typed:draft");
    press("some\x03"); /* Ctrl-C clears a line, and interrupts at an empty one */
    press("\x03");
    expect_answer("interrupted:");
    press("x\x04\x7F\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);
}

static void test_suggestions(void **state) {
    (void)state;
    start("xterm", false);
    press("a he");
    expect_rows(0, "> a he", "  hello", "  help", "", NULL);
    assert_int_equal(row, 0);
    assert_int_equal(column, 6);
    press("\t");
    expect_rows(0, "> a hello", "  hello", "", NULL);
    press(" he" DOWN DOWN "\t");
    expect_rows(0, "> a hello help", "  help", "", NULL);
    press(" w" RIGHT "\x1B");
    expect_rows(0, "> a hello help world", "", "", NULL);
    assert_int_equal(row, 1); /* the line is as wide as the terminal: the cursor stands in the next row */
    assert_int_equal(column, 0);
    press("\x15h" DOWN "\r");
    expect_answer("typed:hello");
    expect_rows(0, "> hello", ">", "", NULL);
    press("\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);
}

static void test_drawing(void **state) {
    (void)state;
    start("xterm", false);
    press("0123456789012345678901234");
    expect_rows(0, "> 012345678901234567", "8901234", NULL);
    press("\x01");
    assert_true(row == 0 && column == 2);
    press("\x1B[200~\xE6\x97\xA5\x1B[201~\x05"); /* a wide character moves all */
    expect_rows(0,
                "> \xE6\x97\xA5"
                "0123456789012345",
                "678901234", NULL);
    press("\x01x"); /* one that does not fit into the last column begins a row */
    press("\x05\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5");
    expect_rows(0,
                "> x\xE6\x97\xA5"
                "012345678901234",
                "5678901234\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5", "\xE6\x97\xA5", NULL);
    press("\x15");
    for (int i = 0; i < 20; i++) press("abcdefghij"); /* more rows than the terminal has */
    expect_rows(0, "ijabcdefghijabcdefgh", NULL);
    expect_rows(ROWS - 2, "ijabcdefghijabcdefgh", "ij", NULL);
    press("\x01");
    expect_rows(0, "> abcdefghijabcdefgh", NULL);
    assert_true(row == 0 && column == 2);
    press("\x0B");
    expect_rows(0, ">", "", NULL);
    ioctl(terminal, TIOCSWINSZ, &(struct winsize){.ws_row = ROWS, .ws_col = 10});
    look();
    press("0123456789");
    expect_rows(0, "> 01234567", "89", NULL);
    press("\x0C");
    expect_rows(0, "> 01234567", "89", NULL);
    press("\x15\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);
}

static void test_signals(void **state) {
    (void)state;
    start("xterm", false);
    press("abc");
    kill(child, SIGTERM); /* without a handler: it ends, and the terminal is as it was */
    int status = finish();
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);

    start("xterm", true);
    press("abc");
    kill(child, SIGTERM);
    expect_answer("interrupted:");
    look();
    press("\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);

    start("xterm", false);
    press("abc");
    kill(child, SIGHUP);
    status = finish();
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);

    start("xterm", false);
    press("abc");
    kill(child, SIGTSTP);
    look(); /* nobody could wake it, so it goes on at once, and draws its line anew */
    press("d\r\x04");
    expect_answer("typed:abcd");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);
}

/* A paste that does not end holds up neither Ctrl-C nor a signal. */
static void test_unfinished_paste(void **state) {
    (void)state;
    start("xterm", false);
    press("\x1B[200~abc\x03");
    expect_rows(0, "> abc^C", ">", NULL);
    press("\x1B[200~\x03");
    expect_answer("interrupted:");
    press("\x1B[200~d\r");
    usleep(1200000); /* it is given up */
    press("e\r");
    expect_answer("typed:de");
    press("\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);

    start("xterm", true);
    press("\x1B[200~abc");
    kill(child, SIGTERM);
    expect_answer("interrupted:");
    look();
    press("\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);
}

static void test_plain(void **state) {
    int ends[2], to[2];
    (void)state;
    start("dumb", false);
    press("abc\n");
    expect_answer("typed:abc");
    press("\x04");
    expect_answer("ended:");
    assert_int_equal(finish(), 0);

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(to), 0);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        run_editor(to[1], false);
    }
    close(ends[0]);
    close(to[1]);
    answers = to[0];
    assert_int_equal(write(ends[1], "one\n\nlast", 9), 9);
    close(ends[1]);
    expect_answer("typed:one");
    expect_answer("typed:");
    expect_answer("typed:last");
    expect_answer("ended:");
    close(answers);
    waitpid(child, NULL, 0);
}

int main(void) {
    alarm(120); /* a process that never answers */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_editing), cmocka_unit_test(test_history), cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_drawing), cmocka_unit_test(test_signals), cmocka_unit_test(test_unfinished_paste),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
