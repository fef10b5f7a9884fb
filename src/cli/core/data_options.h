/* What train, eval and predict share: data sets by path or word, and how scores are written. */
#ifndef CLI_CORE_DATA_OPTIONS_H
#define CLI_CORE_DATA_OPTIONS_H

#include "heed/loop.h"

/* heed_data_load, and the word "digits" for the drawn ones: 10,000 to train on, 2,000 others as part "test". */
heed_data *task_load(heed_ctx *cx, const char *path, const heed_data_opts *opts);
bool task_has_parts(const char *path);     /* a directory, or digits */
bool task_has_test_part(const char *path); /* one of them that has a test part */

/* Writes "accuracy 98.12 %, loss 0.0641" and the like. */
void task_score_text(char *out, size_t size, const heed_metric *const *metrics, const heed_score *score);

#endif
