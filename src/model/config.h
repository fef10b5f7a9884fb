/* config.json of a model, held against the table of its family. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "heed/model.h"

/* A new config: model_type, architectures, heed_version, then every key of the table with its value from settings
 * ("key=value") or its standard. NONE when something is wrong. */
heed_json config_new(heed_ctx *cx, const heed_family *family, const char *const *settings, int n);
/* Gives missing keys their standard values and checks the kinds of all. */
bool config_complete(heed_ctx *cx, const heed_family *family, heed_json config);

#endif
