/* The heed command: finds the command in one list, answers --help and --version, and makes sure that output that could
 * not be written is a failure. */
#include "base/text.h"
#include "cli/core/cli.h"
#include "cli/core/program.h"
#include "cli/core/raw_terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order of the overview. */
static const struct command *const commands[] = {
#define COMMAND(name) &name##_command,
#include "cli/core/commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

const struct command *cli_command(int i) {
    for (int k = 0; k < COMMANDS; k++)
        if (commands[k] && i-- == 0) return commands[k];
    return NULL;
}

int cli_error(int status, const char *format, ...) {
    char raw[8192], line[8192];
    va_list args;
    va_start(args, format);
    const int length = text_formatv(raw, sizeof raw, format, args);
    va_end(args);
    text_printable(line, sizeof line, raw, strnlen(raw, length < 0 ? 0 : sizeof raw));
    fflush(stdout); /* results so far come before the message when both go to one place */
    fprintf(stderr, "heed: %s\n", line);
    return status;
}

const char *cli_size(size_t bytes, char out[32]) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1000 && unit < 4) value /= 1000, unit++;
    snprintf(out, 32, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return out;
}

static const struct command *find_command(const char *name) {
    const struct command *command;
    for (int i = 0; (command = cli_command(i)); i++)
        if (strcmp(command->name, name) == 0) return command;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[COMMANDS + 3] = {"help", "--help", "--version"};
    int n = 3;
    const struct command *command;
    for (int i = 0; (command = cli_command(i)); i++)
        if (!command->hidden) names[n++] = command->name;
    const char *what = name[0] == '-' ? "option" : "command", *nearest = text_nearest(name, names, n);
    if (nearest) return cli_error(EXIT_USAGE, "%s: unknown %s, did you mean '%s'?", name, what, nearest);
    return cli_error(EXIT_USAGE, "%s: unknown %s, 'heed --help' lists what there is", name, what);
}

/* "train", or "train classify": the task may stand anywhere among the words. */
static int print_help(int argc, char **argv) {
    const struct command *command = find_command(argv[0]), *task = NULL, *page;
    if (!command) return unknown_command(argv[0]);
    for (int k = 1; command->task && !task && k < argc; k++)
        for (int i = 0; !task && (page = command->task(i)); i++)
            if (strcmp(page->name, argv[k]) == 0) task = page;
    help_command(command, task);
    return EXIT_DONE;
}

static int print_overview(void) {
    help_overview();
    return EXIT_DONE;
}

static bool is_help(const char *word) { return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0; }

/* --help anywhere among a command's arguments, up to "--", asks for its help. */
static bool asks_for_help(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i])) return true;
    return false;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) return cli_error(EXIT_USAGE, "no command given: 'heed --help' lists what there is");
    const char *word = argv[1];
    if (is_help(word)) return print_overview();
    if (strcmp(word, "help") == 0) return argc < 3 ? print_overview() : print_help(argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0) {
        printf("heed %s\n", heed_version());
        return EXIT_DONE;
    }
    const struct command *command = find_command(word);
    if (!command) return unknown_command(word);
    if (asks_for_help(argc - 1, argv + 1)) return print_help(argc - 1, argv + 1);
    return command->run(argc - 1, argv + 1);
}

/* A file that is opened while a standard stream is closed would get its number, and then what is meant for that stream.
 * So the number is taken first, by a descriptor that can only be used the wrong way round: using the stream is still an
 * error. */
static bool take_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
    return true;
}

/* Models and vectors are read where they lie in mapped files: when another program cuts one short, what is behind its
 * end is gone. Only calls that a handler may make. */
static void on_bus_error(int number, siginfo_t *info, void *unused) {
    static const char sentence[] = "heed: a mapped file was cut short while it was in use\n";
    (void)unused;
    if (info->si_code != BUS_ADRERR) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    raw_terminal_end();
    if (write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0) _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

int main(int argc, char **argv) {
    if (!take_closed_streams()) return EXIT_FAILED;
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the limit (ulimit -f) is an error of the write */
    sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, NULL);
    cli_set_program(argc > 0 ? argv[0] : NULL);
    const int status = dispatch(argc, argv);
    const bool lost = ferror(stdout) != 0;
    errno = 0;
    if ((fflush(stdout) != 0 || lost) && status == EXIT_DONE)
        return cli_error(EXIT_FAILED, "standard output: %s", errno ? strerror(errno) : "could not be written");
    return status;
}
