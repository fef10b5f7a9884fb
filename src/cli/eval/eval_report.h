/* What heed eval says of the predictions for a data set. */
#ifndef CLI_EVAL_EVAL_REPORT_H
#define CLI_EVAL_EVAL_REPORT_H

#include "cli/core/options.h"
#include "heed/loop.h"

/* Runs the model on the data and prints loss and metric, and those of each class or output; as text or JSON, and as the
 * pictures that were asked for (cli/core/figure_options.h). path: of the data, for messages; like: what the model knows
 * of its data. */
bool report_data(const struct options *o, heed_ctx *cx, const heed_model *model, const char *path,
                 const heed_data *data, const heed_data *like);
/* The same of classes that were predicted already; data: true classes with their names; words: they are words. */
bool report_classes(const struct options *o, heed_ctx *cx, const heed_data *data, const int32_t *predicted,
                    const heed_metrics *metrics, const heed_score *score, bool words);

#endif
