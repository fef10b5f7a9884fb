/* How far a run is: one line that is drawn again on a terminal, a plain line every few seconds elsewhere. */
#ifndef CLI_CORE_PROGRESS_H
#define CLI_CORE_PROGRESS_H

#include "heed/loop.h"

struct progress {
    bool quiet, terminal;
    const char *unit;          /* what is counted: "examples" */
    const heed_metric *metric; /* of the validation, or NULL */
    double drawn;              /* when */
    int64_t shown;             /* the step that was */
    double loss;               /* an exponential moving average of the losses, */
    double weight;             /* of so much weight in all, which corrects the bias towards the 0 that it began with */
    int widest;                /* text so far: the bar beside it stays as wide as it was */
    bool open;                 /* a line stands without its end */
    bool evaluated;            /* at least once: the state's valid holds the last */
};

void progress_begin(struct progress *p, bool quiet, const char *unit, const heed_metric *metric);
/* To be called at every update: the loss shown is a moving average of all so far. */
void progress_show(struct progress *p, const heed_loop_state *s);
void progress_end(struct progress *p, const heed_loop_state *s); /* the last state, whatever was drawn before */

#endif
