/* A small model of any family, whose sizes come from the registry: of each key of config.json that the family has. */
#ifndef TESTS_MODEL_SMALL_MODEL_H
#define TESTS_MODEL_SMALL_MODEL_H

#include "heed/model.h"

/* head NULL: the first; more: "key=value" texts separated by blanks, which override the small sizes; NULL: none. A
 * family that cannot be made so, and a model that is not small, fail the test by name. */
heed_model *small_model(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *more,
                        uint64_t seed);
/* NULL and a failed context where the config is refused. */
heed_model *small_model_try(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *more,
                            uint64_t seed);

#endif
