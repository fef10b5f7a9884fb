/* heed train: what its tasks share. train.c is the command; a kind of task is one file. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli/options.h"
#include "cli/progress.h"
#include <stdio.h>

struct train_run;

/* Texts "key=value" for heed_model_new. */
#define SETTINGS_MOST 256
struct train_settings {
    const char *text[SETTINGS_MOST];
    int n;
};

/* What a kind of task does. Functions fail through the context. */
struct train_kind {
    const char *standard_model;        /* the family when none is asked for */
    const char *const *own_options;    /* that no other kind has, NULL-terminated */
    const char *next, *next_how;       /* the command to type next, and what follows its directory */
    bool (*load)(struct train_run *r); /* the data */
    bool (*set)(struct train_run *r);  /* what it adds to the options of the loop */
    heed_model *(*model)(const struct train_run *r, heed_ctx *cx); /* fresh, its config complete */
    bool (*begin)(struct train_run *r);                            /* r->model is made: fills it; says what is there */
    void (*free)(struct train_run *r);
};
extern const struct train_kind train_vectors, train_translate;

/* One run, as it was asked for. */
struct train_run {
    struct options *o;
    heed_ctx *cx;
    int argc;
    char **argv;
    const char *task;
    const struct train_kind *kind;
    const heed_family *family;
    const char *path, *dir;
    void *own; /* the kind's */
    heed_model *model;
    const char *unit, *metric; /* of the source; metric NULL: nothing is validated */
    heed_loop_opts loop;
    heed_loop_state state;
    struct progress progress;
};

/* Adds what the user set to the kind's own settings. */
bool train_add_settings(const struct train_run *r, heed_ctx *cx, struct train_settings *s);

#endif
