/* What train, eval and predict share: data sets by path or word, and what a model's config says of its data. */
#ifndef CLI_TASK_H
#define CLI_TASK_H

#include "heed/loop.h"

/* heed_data_load, and the word "digits" for the drawn ones: 10,000 to train on, 2,000 others as part "test". */
heed_data *task_load(heed_ctx *cx, const char *path, const heed_data_opts *opts);
bool task_has_test_part(const char *path); /* a directory in a known layout, or digits */

/* Puts what the data set calls its columns and classes into the model's config: input_names, output_names, id2label,
 * label2id. */
bool task_describe(heed_ctx *cx, heed_model *model, const heed_data *data);
/* The shape of the data that a model was trained on, without examples, to load others like it; the names are the
 * config's. Free with task_free_like. NULL and a failed context when the config does not say. */
heed_data *task_like(heed_ctx *cx, const heed_model *model);
void task_free_like(heed_ctx *cx, heed_data *like);
bool task_is_classify(heed_ctx *cx, const heed_model *model);

/* What a metric is called on the way: "accuracy", "greedy BLEU"; NULL of NULL. */
const char *task_metric_label(const char *metric);
/* Writes "accuracy 0.9812, loss 0.0641" and the like. */
void task_score_text(char *out, size_t size, const char *metric, const heed_score *score);

#endif
