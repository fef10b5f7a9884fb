/* A model, and its attention to what it was given. */
#ifndef CLI_INSPECT_ATTEND_H
#define CLI_INSPECT_ATTEND_H

#include "cli/core/options.h"
#include "heed/attend.h"
#include "heed/graph_data.h"
#include "heed/plot.h"

struct attend {
    heed_ctx *cx;
    const char *dir;
    heed_model *model;
    heed_tokenizer *tokenizers[2]; /* of source and target, which may be one; NULL: it reads no text */
    heed_string text[3];           /* text, pair and target, where given */
    heed_image picture;
    heed_graph_data *graph;
    heed_attended *found;
};

/* What is given on the command line: "-" is a line of standard input; NULL: nothing. A model of vectors reads the text
 * as rows of numbers, between commas, with semicolons or new lines between rows; one of pictures as the name of a file.
 */
struct attend_given {
    const char *text, *pair, *target;
    bool words;                    /* not tokens */
    const struct options *options; /* that say where a graph is; NULL: it is none */
};
bool attend_load(heed_ctx *cx, const char *dir, struct attend *a);
bool attend_read(struct attend *a, const struct attend_given *given);
void attend_close(struct attend *a);

/* ---- what may be given (attend_fits.c) ---- each is false after saying what does not fit */

#define ATTEND_WORDS "DIR TEXT or PICTURE, or DIR and a graph"
bool attend_graph_given(const struct options *o); /* says nothing */
bool attend_one_input(const struct options *o);
bool attend_reads_once(const struct options *o); /* standard input is one of the texts at most */
bool attend_suits(const struct options *o, const heed_model *model);

/* What of the attention was asked for. */
struct attend_choice {
    const struct attend *a;
    const struct options *o;
    int site, layer;     /* layer -1: all of them; the last where one must be shown */
    int64_t head;        /* -1: all of them, or their mean */
    int64_t query;       /* of a picture, whose maps are of one query; HEED_QUERY_DEFAULT: who reads it; of a graph a
                          * node, -1: all of them */
    int64_t row, column; /* of --patch; -1: none */
    bool rollout;
};
const heed_attended_site *attend_site(const struct attend_choice *c);
bool attend_over_picture(const struct attend_choice *c);
int attend_layer(const struct attend_choice *c); /* the one that is shown */
bool attend_one_map(const struct attend_choice *c);
/* The weights of a query over what the keys of the site shown are. */
bool attend_row(const struct attend_choice *c, int layer, int64_t head, int64_t query, float *out);
/* "cross attention, layer 3, head 2"; of a picture "layer 3, head 2: the class token". */
void attend_name(const struct attend_choice *c, int layer, char *to, size_t room);
int attend_columns(const char *text); /* how many characters it has */
/* "the 0.1235, cat 0.0123": the keys of largest weight, of patches alone where there are any. */
void attend_print_best(const heed_axis *keys, const float *weights, int n, int digits);

/* ---- over a picture ---- */

bool attend_choose_query(struct attend_choice *c);
void attend_name_query(const struct attend_choice *c, char *to, size_t room);
void attend_print_picture(const struct attend_choice *c);
void attend_put_query(const struct attend_choice *c, heed_json doc);
bool attend_put_maps(const struct attend_choice *c, heed_json doc, const heed_picture_sheet *of);
bool attend_draw_picture(const struct attend_choice *c, heed_figure *f, const heed_picture_sheet *sheet);
bool attend_write_picture_page(const struct attend_choice *c, const char *path, const char *title);

/* ---- over a graph (attend_graph.c) ---- */

bool attend_over_graph(const struct attend_choice *c);
bool attend_choose_node(struct attend_choice *c);
void attend_print_graph(const struct attend_choice *c);
bool attend_put_graph(const struct attend_choice *c, heed_json doc, const heed_picture_sheet *of);
/* A figure of its own size, as `what` says; NULL when it cannot be drawn. */
heed_figure *attend_draw_graph(const struct attend_choice *c, char *what, size_t room);
bool attend_write_graph_page(const struct attend_choice *c, const char *path, const char *title);

/* ---- models that find objects (attend_objects.c) ---- */

/* Whether it is objects with a score above --threshold that are shown, each with what its query looks at. */
bool attend_shows_objects(const struct attend_choice *c);
int64_t attend_surest(const struct attend_choice *c); /* then the query of the first; else the one chosen */
void attend_print_objects(const struct attend_choice *c);
bool attend_put_objects(const struct attend_choice *c, heed_json doc);
bool attend_draw_objects(const struct attend_choice *c, heed_figure *f, char *what, size_t room);
/* n weights, rounded to a millionth. */
void attend_put_row(heed_ctx *cx, heed_json list, const float *w, int64_t n);

#endif
