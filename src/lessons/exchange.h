/* Jobs for which tokens must exchange values, and layers that let them: exact attention and what is cheaper. Shared by
 * the lessons on cheaper attention.
 *
 * A sequence has TOKENS tokens; each has a value, a key, a query and its place. Every layer is trained on sequences
 * that are drawn anew in every step, and measured on others. */
#ifndef LESSONS_EXCHANGE_H
#define LESSONS_EXCHANGE_H

#include "heed/attention.h"
#include "heed/nn.h"
#include "lessons/lesson.h"

enum { TOKENS = 16 };

enum exchange_job {
    JOB_NEAR,  /* the mean of the values around it, those near with more weight: the same for all sequences */
    JOB_SHIFT, /* the value half a sequence away: likewise */
    JOB_FIND,  /* the value of the token whose key is its query: another one in every sequence */
};

/* What token t gets of token s, as weights of the values. */
enum exchange_kind {
    LAYER_EXACT,     /* softmax(q_t' k_s) */
    LAYER_LINFORMER, /* rows of softmax(q (E k)') F, E and F learnt */
    LAYER_RANDOM,    /* the same with E and F drawn and left so */
    LAYER_WORKSPACE, /* of slots: what t reads of a slot times what the slot hears of s */
    LAYER_MIXER,     /* an MLP along time for every channel, then one of channels */
};

struct exchange_opts {
    enum exchange_job job;
    enum exchange_kind kind;
    int64_t rows;  /* of projected keys, or slots */
    int64_t top_k; /* tokens that a slot hears; 0: all */
};

struct exchanged {
    double error;                  /* mean squared, of the values' variance: 1 is what the mean of all values costs */
    float map[2][TOKENS * TOKENS]; /* of two sequences: how much each output moves with each value */
};

/* Trains such a layer and measures it. */
bool exchange(struct lesson_run *r, const struct exchange_opts *opts, struct exchanged *out);

/* A map as a panel, with its title; colours end at 0 and `high`. */
void exchange_draw(heed_figure *f, int row, int column, const char *title, const float *map, double high);
/* NAME.csv: query, key, and for each map a column. */
void exchange_table(struct lesson_run *r, const char *name, const char *const *columns, const float *const *maps,
                    int n);

#endif
