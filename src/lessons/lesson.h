/* Lessons: experiments that explain themselves. What they share.
 *
 * A lesson is one file of src/lessons/. It says what is going on, computes, prints its figures and a picture in the
 * terminal, and hands its pictures and the data behind them to lesson_picture and lesson_table, which write them when
 * --out was given. Errors stick in the context: a lesson returns as soon as it sees one. With --json nothing is said;
 * the results are printed at the end. */
#ifndef LESSONS_LESSON_H
#define LESSONS_LESSON_H

#include "heed/data.h"
#include "heed/io.h"
#include "heed/plot.h"
#include "heed/train.h"

struct lesson_run;
struct lesson_block;

struct lesson {
    const char *name;
    const char *summary;
    const char *data; /* what --data takes; NULL: the lesson takes none */
    int64_t steps;    /* of learning, unless --steps says otherwise; 0: the lesson takes no --steps */
    bool model;       /* it takes --model: an encoder of the user's own, instead of one that it trains */
    void (*run)(struct lesson_run *r);
};

#define LESSON(name) extern const struct lesson name##_lesson;
#include "lessons/lessons.def"
#undef LESSON

struct lesson_run {
    heed_ctx *cx;
    const struct lesson *lesson;
    const char *data, *out, *model; /* the user's own; NULL: none */
    heed_data_opts opts;            /* of a table: its columns, separator and missing values, as the user wants them */
    const char *program;            /* how to call heed again */
    uint64_t seed;
    int64_t steps; /* of learning */
    bool dark, quiet, json;
    heed_terminal terminal;
    heed_json document, results, files; /* what --json prints, and two of its members */
    struct lesson_block *blocks;
    bool progress; /* a line of progress stands on the terminal */
};

/* Text. say: a paragraph, wrapped, and a blank line. line: as it is, for tables. entry: a name in a column so wide, and
 * beside it a text, wrapped. show: a terminal picture, which is freed, and a blank line. */
void lesson_say(struct lesson_run *r, const char *format, ...) HEED_PRINTF(2, 3);
void lesson_line(struct lesson_run *r, const char *format, ...) HEED_PRINTF(2, 3);
void lesson_entry(struct lesson_run *r, int column, const char *name, const char *text);
void lesson_show(struct lesson_run *r, char *picture);
/* A figure of the lesson, for --json. */
void lesson_result(struct lesson_run *r, const char *name, double value);
/* On standard error, when that is a terminal; done == total takes the line away. */
void lesson_progress(struct lesson_run *r, const char *what, int64_t done, int64_t total);

/* Zeroed memory that is freed when the lesson is over; NULL when the context has failed. */
void *lesson_room(struct lesson_run *r, int64_t n, size_t size);
/* A copy of the user's text in the lesson's memory: control characters become spaces; cut between characters after
 * `most` bytes, 0: not at all. */
char *lesson_text(struct lesson_run *r, const char *text, size_t most);
float *lesson_floats(struct lesson_run *r, const double *values, int64_t n);
int64_t lesson_winner(const float *values, int64_t n); /* the place of the largest, the first of several */

/* The rest of an update that heed_trainer_begin began: gradients of the loss, the step; gives the loss. */
float lesson_learn(heed_ctx *cx, heed_trainer *trainer, heed_tensor *loss);

/* A figure to fill, or NULL without --out, on which all calls do nothing; 0, 0: what suits it. */
heed_figure *lesson_figure(struct lesson_run *r, double width, double height);
/* Writes NAME.png and NAME.svg into --out, and frees the figure. */
void lesson_picture(struct lesson_run *r, heed_figure *f, const char *name);
/* Opens --data for a lesson that takes all of a table: choosing columns or rows is refused. */
heed_table *lesson_open(struct lesson_run *r, heed_header header);
/* Says how many rows of the user's table were skipped, if any. */
void lesson_skipped(struct lesson_run *r, const heed_data *data);
/* Writes NAME.csv into --out. */
void lesson_table(struct lesson_run *r, const char *name, const heed_table_column *columns, int n, int64_t rows);

/* How the command begins and ends a lesson; the directory of --out is there. begin fails the context and is false when
 * the data cannot be read. */
bool lesson_begin(struct lesson_run *r);
void lesson_end(struct lesson_run *r);

#endif
