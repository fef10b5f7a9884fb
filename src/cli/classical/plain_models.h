/* Models that are no networks, n-grams, hidden Markov models and word vectors: what list, info and docs say of them
 * beside what their way of training says. Their directories have a config.json with a model_type as all have. */
#ifndef CLI_CLASSICAL_PLAIN_MODELS_H
#define CLI_CLASSICAL_PLAIN_MODELS_H

#include "cli/core/options.h"
#include "task/run.h"

struct plain_model {
    const struct task_way *way;
    const char *paper, *summary;
    const char *notes;       /* files, and what makes and uses them */
    const char *keys[16][2]; /* of config.json, and what each means; ended by NULL */
    void (*info)(const struct options *o, heed_ctx *cx, const struct plain_model *m, const char *path, heed_json doc);
};

const struct plain_model *plain_model_at(int i);              /* NULL behind the last */
const struct plain_model *plain_model_find(const char *name); /* by name or model_type; NULL: there is none */
/* What is in a directory, or in an ARPA or n-gram file; NULL: none of these, or nothing that can be read. */
const struct plain_model *plain_model_of(const char *path);
bool plain_model_is(const char *path, const struct task_way *way); /* of this way */

/* heed info; the context has failed where the model cannot be read. */
void plain_model_info(const struct options *o, heed_ctx *cx, const struct plain_model *m, const char *path);

#endif
