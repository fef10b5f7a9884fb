/* The coefficients of a linear model, in the units of its data: y = intercept + sum of coefficient * x. */
#ifndef CLI_EVAL_COEFFICIENTS_H
#define CLI_EVAL_COEFFICIENTS_H

#include "heed/loop.h"
#include <stdio.h>

/* As a table below an empty line, or as the member "coefficients" of a JSON object. Of other models, and of pictures,
 * nothing; false then. */
bool coefficients_print(heed_ctx *cx, const heed_model *model, FILE *to);
void coefficients_put(heed_ctx *cx, const heed_model *model, heed_json at);

#endif
