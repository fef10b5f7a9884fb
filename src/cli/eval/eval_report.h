/* What heed eval says of the predictions for a data set. */
#ifndef CLI_EVAL_EVAL_REPORT_H
#define CLI_EVAL_EVAL_REPORT_H

#include "cli/core/options.h"
#include "heed/run.h"

/* Prints loss and metric, and those of each class or output: as text or JSON, and as the pictures that were asked for
 * (cli/core/figure_options.h). */
void report_predictions(const struct options *o, heed_ctx *cx, const heed_evaluation *e);
/* The same of forecasts: errors beside those of repeating the last season. */
void report_series(const struct options *o, heed_ctx *cx, const heed_evaluation *e);
/* The same of what was found of translations; --log gets BLEU by the length of sentences. */
void report_translation(const struct options *o, heed_ctx *cx, const heed_evaluation *e);
/* The same of accuracy against frequencies, of one model or of several on the same pictures. */
enum { MEASURED_MODELS = 5 };
struct measured_model {
    const char *dir;
    const heed_evaluation *e;
};
void report_frequencies(const struct options *o, heed_ctx *cx, const struct measured_model *models, int n);
/* Of an autoencoder the metrics, and its codes as points. */
void report_codes(const struct options *o, heed_ctx *cx, const heed_evaluation *e);
/* Loss and metrics alone. */
void report_score(const struct options *o, heed_ctx *cx, const heed_evaluation *e);
/* COCO's figures of objects in pictures, of all classes and of each. */
void report_objects(const struct options *o, heed_ctx *cx, const heed_evaluation *e);

#endif
