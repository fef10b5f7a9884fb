/* Commands that answer every line of standard input, or every text of the command line, with a model of text: classify,
 * embed, fill, tag, answer, choose, translate, summarize. Lines that are waiting are answered together; bad ones are
 * reported and answered by an empty line. */
#ifndef CLI_CORE_EACH_LINE_H
#define CLI_CORE_EACH_LINE_H

#include "cli/core/input_lines.h"
#include "heed/task.h"

struct each_line {
    const struct options *o;
    heed_ctx *cx;
    heed_text_model *m;
    struct cli_lines in;
    heed_string text; /* of the lines that wait */
    size_t *start;    /* line i begins at text.s + start[i] */
    char **error;     /* why line i is bad; NULL: it is not */
    int64_t n, first; /* how many lines wait; the number of the first */
    int64_t cut;      /* for the command: what was too long so far */
    void *own;        /* the command's */
};

struct each_line_command {
    const char *task; /* of the model: "tag"; NULL: begin opens what it needs */
    bool (*usage)(
        const struct options *o);        /* false after saying what is wrong with the options; NULL: nothing can be */
    bool (*begin)(struct each_line *e);  /* the model is open; NULL: nothing is to be done */
    bool (*check)(struct each_line *e);  /* the current line, e->in; may reject it. NULL: every line is good */
    bool (*answer)(struct each_line *e); /* prints a line for each of the lines that wait */
    void (*end)(const struct each_line *e);         /* says what was cut; NULL: nothing */
    bool (*finish)(struct each_line *e, bool good); /* gives back what begin took; NULL: it took nothing */
    int64_t at_once;                                /* lines that are answered together at most; 0: 512 */
    void *own;                                      /* e->own before begin */
};
int each_line_run(const struct each_line_command *c, const heed_field *options, int argc, char **argv);
/* The same with options that were read already, which stay the caller's. */
int each_line_with(const struct each_line_command *c, const struct options *o);

char *each_line_text(const struct each_line *e, int64_t i); /* of a line that waits; "" of a bad one */
/* The object of line i, with its number and, of a bad line, its error. */
heed_json each_line_json(const struct each_line *e, int64_t i);
/* Says how many texts were cut. */
void each_line_say_cut(const struct each_line *e);

/* For commands that make vectors. */
#define POOLING_OPTION                                                                                                 \
    {                                                                                                                  \
        .name = "pooling", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = "mean cls max",                      \
        .help = "how hidden states become one vector; by default as the directory says, else mean; one of"             \
    }
void each_line_pool(struct each_line *e); /* the model pools as asked for */

#endif
