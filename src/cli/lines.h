/* Lines of standard input or of a file, one after the other as they come.
 *
 *     while (cli_lines_next(&in)) {
 *         ... in.text, in.size ...
 *         if (!cli_lines_ready(&in)) ...   whoever waits for an answer gets it before more is read
 *     }
 *
 * A line ends at \n only and may have any length. One that is not UTF-8 or holds NUL ends the lines, as does trouble in
 * reading; only cli_lines_close fails the context then, so that the lines before can be answered first. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "heed/base.h"

struct cli_lines {
    char *text; /* the line under way, without its new line, followed by 0; the user's to change until the next one */
    size_t size;
    int64_t number; /* its own, from 1 */
    bool whole;     /* it has a new line, which only the last one may lack */

    heed_ctx *cx;
    const char *name; /* for sentences */
    char *block;      /* bytes from `start` to `used` are not handed out yet; those before `seen` hold no new line */
    size_t start, seen, used, room;
    bool ended;
    int error;        /* errno of a read that failed, or 0 */
    const char *flaw; /* what the line under way is instead of text, or NULL; first at byte flaw_at */
    size_t flaw_at;
};

/* "-": standard input. A file is read at once, gunzipped when it is gzipped; `path` must stay. */
bool cli_lines_open(struct cli_lines *l, heed_ctx *cx, const char *path);
/* False: there are no more, or reading has failed or was interrupted. */
bool cli_lines_next(struct cli_lines *l);
/* Does cli_lines_next know its answer without waiting? */
bool cli_lines_ready(struct cli_lines *l);
/* Fails the context with "NAME: line N: ..." about the line under way; returns false. */
bool cli_lines_fail(const struct cli_lines *l, const char *format, ...) HEED_PRINTF(2, 3);
/* False when the context has failed, or does now because of what ended the lines. {0} may be closed. */
bool cli_lines_close(struct cli_lines *l);

#endif
