/* Lines of standard input or of a file, one after the other as they come; or the texts of the command line.
 *
 *     cli_lines_open_words(&in, cx, o, 1);                 as DIR is word 0
 *     in.skip_bad = !option_flag(o, "strict");
 *     while (cli_lines_next(&in)) {
 *         if (!in.bad && !encode(in.text) && !cli_lines_recover(&in)) break;
 *         ... the answer; where in.bad, an empty line ...
 *         if (!cli_lines_ready(&in)) ...                   whoever waits for an answer gets it before more is read
 *     }
 *     if (!heed_failed(cx)) ... answers that are still due ...
 *     status = cli_lines_close(&in) ? EXIT_DONE : EXIT_FAILED;
 *
 * A line ends at \n only and may have any length. A line is bad when it is not UTF-8, holds NUL, or is rejected by
 * cli_lines_reject or cli_lines_recover. With skip_bad a bad line is reported on standard error and the next one
 * follows; without, it ends the lines, as does trouble in reading. Only cli_lines_close fails the context then, so that
 * the lines before can be answered first. */
#ifndef CLI_CORE_INPUT_LINES_H
#define CLI_CORE_INPUT_LINES_H

#include "cli/core/options.h"

/* For the tables of commands that skip bad lines. */
#define STRICT_OPTION                                                                                                  \
    { .name = "strict", .help = "stop at the first bad line instead of answering it with an empty line" }

struct cli_lines {
    char *text; /* the current line, without its newline, followed by 0; the caller may change it until the next one */
    size_t size;
    int64_t number; /* its own, from 1 */
    bool whole;     /* it ends with a newline, which only the last one may lack */
    bool bad;       /* the current line is bad; its text is empty */
    bool skip_bad;  /* for the caller to set */

    char complaint[1024]; /* about the last bad line, without its place */
    int64_t bad_lines;    /* how many were reported */
    bool stopped;         /* the complaint has ended the lines */
    heed_ctx *cx;
    const char *name; /* for messages; NULL: texts of the command line */
    char *block;      /* bytes from `start` to `used` are not handed out yet; those before `seen` hold no newline */
    size_t start, seen, used, room;
    bool ended;
    int error; /* errno of a read that failed, or 0 */
};

/* "-": standard input. A file is read at once, gunzipped when it is gzipped; `path` must stay. */
bool cli_lines_open(struct cli_lines *l, heed_ctx *cx, const char *path);
/* The words of the command line from number `first` on, each a line (newlines within it are spaces); where there are
 * none, standard input. */
bool cli_lines_open_words(struct cli_lines *l, heed_ctx *cx, const struct options *o, int first);
/* False: there are no more, or reading has failed or was interrupted. */
bool cli_lines_next(struct cli_lines *l);
/* Does cli_lines_next know its answer without waiting? */
bool cli_lines_ready(struct cli_lines *l);
/* The current line is bad for this reason. True: it is skipped; false: it ends the lines. */
bool cli_lines_reject(struct cli_lines *l, const char *format, ...) HEED_PRINTF(2, 3);
/* The same when the context has failed because of the current line: its message is the reason, and it is cleared. An
 * error that is not about data (memory, cancellation, usage) stays as it is; false then. */
bool cli_lines_recover(struct cli_lines *l);
/* A copy of the complaint, for an answer that comes later (heed_mem_free). */
char *cli_lines_complaint(const struct cli_lines *l);
/* Fails the context with "NAME: line N: ..." about the current line; returns false. */
bool cli_lines_fail(const struct cli_lines *l, const char *format, ...) HEED_PRINTF(2, 3);
/* False when the context has failed, or does now because of what ended the lines, or lines were bad. {0} may be closed.
 */
bool cli_lines_close(struct cli_lines *l);

/* Makes text of a model one line that cannot steer a terminal: control characters and line separators become spaces.
 * Changes text (size bytes, followed by 0) in place and returns its size. */
size_t cli_plain_line(char *text, size_t size);
/* The same, but newlines and tabs stay. */
size_t cli_plain_text(char *text, size_t size);

#endif
