/* Training logs as heed plot reads them: JSON lines, every number of a line a curve. */
#ifndef CLI_INSPECT_PLOT_H
#define CLI_INSPECT_PLOT_H

#include "heed/io.h"
#include "heed/text.h"

enum { LOG_CURVES = 64, LOG_NAME = 64 };

struct log_curve {
    char name[LOG_NAME]; /* "loss", "valid_accuracy" */
    float *x, *y;        /* y NaN: the log has null */
    int64_t n, room;
};

struct training_log {
    const char *path;
    char name[128]; /* in legends */
    struct log_curve curve[LOG_CURVES];
    int curves;
    int64_t lines;
    double last_step, last_x;
};

/* x: the key of the horizontal axis, "step", "epoch", "seconds" or "words". Sentences name the file and the line. A
 * last line that does not end is left out: the run may still be writing it. */
bool log_read(heed_ctx *cx, const char *path, const char *x, struct training_log *log);
void log_free(heed_ctx *cx, struct training_log *log);
const struct log_curve *log_find(const struct training_log *log, const char *name); /* NULL: none */

#endif
