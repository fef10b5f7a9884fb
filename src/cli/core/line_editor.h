/* A line typed at a terminal: UTF-8, a cursor that moves, a history, and suggestions below the line while one types.
 *
 *     struct line_editor *e = line_editor_new(cx, &(struct line_editor_opts){.prompt = "> "});
 *     while (e && line_editor_read(e) == LINE_TYPED) ... e->line.s ...
 *     line_editor_free(e);
 *
 * Keys: Left, Right, Home, End, Ctrl-A/E/B/F by character and line; Ctrl-Left/Right, Alt-B/F by word; Backspace,
 * Delete, Ctrl-H; Ctrl-K, Ctrl-U, Ctrl-W, Alt-D delete to the end, to the start, a word back, a word forward, and
 * Ctrl-Y puts back what they deleted; Up, Down, Ctrl-P/N the history; Ctrl-L clears the screen. Tab, or Right at the
 * end of the line, takes the first suggestion or the one that Down has chosen; Escape leaves the list. Ctrl-C clears
 * the line, or interrupts where it is empty; Ctrl-D ends at an empty line and deletes a character elsewhere. What is
 * pasted is one line: its newlines become spaces.
 *
 * The terminal is in raw mode only within line_editor_read, and is restored before it returns, before a signal takes
 * effect and when the process exits. Where standard input or output is no terminal, or TERM is "dumb", lines are read
 * plainly, and may then hold any bytes. */
#ifndef CLI_CORE_LINE_EDITOR_H
#define CLI_CORE_LINE_EDITOR_H

#include "heed/text.h"

enum line_result {
    LINE_TYPED,       /* e->line is it, without its newline */
    LINE_ENDED,       /* Ctrl-D, or the end of what is read */
    LINE_INTERRUPTED, /* Ctrl-C at an empty line, or a signal; its handler has been called */
    LINE_FAILED       /* the context has failed */
};

struct line_suggestion {
    const char *text; /* stands as it is until the next call of the hook */
    size_t replaces;  /* how many bytes before the cursor it replaces */
};

struct line_editor_opts {
    const char *prompt; /* NULL: none. It must stay, as must what `user` leads to */
    /* Suggestions for what stands before the cursor: writes at most `most` and returns how many. NULL: none. */
    int (*suggest)(void *user, const char *line, size_t cursor, struct line_suggestion *to, int most);
    int most; /* of them, at most LINE_SUGGESTIONS; 0: 5 */
    void *user;
};
enum { LINE_SUGGESTIONS = 20 };

struct line_editor {
    heed_string line; /* what was typed last */
    /* the rest is the editor's own */
    heed_ctx *cx;
    struct line_editor_opts opts;
    bool plain;
    size_t cursor;        /* byte of the line */
    heed_string killed;   /* what Ctrl-Y puts back */
    heed_string draft;    /* the line before one went up in the history */
    heed_string frame;    /* what is sent to the terminal next */
    heed_string *history; /* oldest first */
    size_t lines, room;   /* of the history */
    size_t at;            /* in the history; lines: the line of its own */
    int width, height;    /* of the terminal */
    int drawn_row;        /* the cursor's, counted from the first row that was drawn */
    int drawn_column;     /* the cursor's */
    struct line_suggestion suggestion[LINE_SUGGESTIONS];
    int suggestions, chosen;  /* chosen -1: none */
    bool dismissed;           /* by Escape, until the line changes */
    unsigned char bytes[256]; /* read and not taken yet */
    size_t taken, read;
    int over; /* the key that says so, once a signal has come or the terminal has closed; 0: not yet */
};

struct line_editor *line_editor_new(heed_ctx *cx, const struct line_editor_opts *opts); /* NULL: no memory */
enum line_result line_editor_read(struct line_editor *e);
void line_editor_free(struct line_editor *e);

#endif
