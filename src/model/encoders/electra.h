/* ELECTRA's generator, for whoever writes its directory. */
#ifndef MODEL_ENCODERS_ELECTRA_H
#define MODEL_ENCODERS_ELECTRA_H

#include "heed/model.h"

#define GENERATOR "generator" /* what its parameters' names begin with, and its directory */

/* The config of the generator that belongs to a discriminator's: narrower by "generator_size". To be freed. */
heed_json electra_generator_config(heed_ctx *cx, heed_json config);

#endif
