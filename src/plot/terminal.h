/* Pictures in a terminal: what curves, bars and maps share. */
#ifndef PLOT_TERMINAL_H
#define PLOT_TERMINAL_H

#include "plot/buffer.h"
#include "plot/color.h"
#include "plot/ticks.h"

/* The text under way and how it may look. Escape sequences are written only when a colour changes. */
struct screen {
    struct buffer b;
    int width, height; /* height 0: by default */
    heed_terminal_colors colors;
    bool ascii;
    uint32_t ink, paper; /* as last set; NO_COLOR: the terminal's own */
};
#define NO_COLOR UINT32_MAX

/* Checks the options and writes the title. False, with a sentence that begins with `op`, when they make no sense. */
bool screen_open(struct screen *s, heed_ctx *cx, const char *op, const heed_terminal *how);
char *screen_take(struct screen *s);

void screen_ink(struct screen *s, struct rgb c);   /* colour of letters; nothing in a plain terminal */
void screen_paper(struct screen *s, struct rgb c); /* colour behind them */
void screen_plain(struct screen *s);               /* the terminal's own colours */
void screen_put(struct screen *s, const char *text);
void screen_line(struct screen *s); /* ends the line, spaces before its end taken back */

/* Text in exactly so many columns: cut with an ellipsis or filled with spaces; across as in struct words: 0 to the
 * left, 0.5 in the middle, 1 to the right. */
void screen_cell(struct screen *s, const char *text, int columns, double across);
int text_columns(const char *text);
bool check_labels(heed_ctx *cx, const char *op, const char *const *names, int64_t n); /* UTF-8; NULLs are allowed */
int widest_columns(const char *const *names, int64_t n);

/* Colours that can be read on black and on white. */
struct rgb series_color(int i);

/* The labels of an axis below a picture of `columns` that begins at column `left`; label i stands under column at[i].
 */
void screen_labels(struct screen *s, int left, int columns, const struct ticks *t, const int *at);
/* As many ticks as have room below so many columns; at[i] is the column of tick i. */
void screen_ticks(const struct screen *s, struct ticks *t, struct range r, bool log, bool whole, int columns, int *at);

#endif
