/* LoRA adapters as peft has them: which linear layers are adapted, and the files of an adapter directory. */
#ifndef MODEL_CORE_LORA_H
#define MODEL_CORE_LORA_H

#include "heed/model.h"
#include "model/core/directory.h"

/* ---- adapter_config.json ---- */

/* Reads it; fails with a sentence when it asks for something that heed does not do. */
heed_json lora_read(heed_ctx *cx, const char *dir);
/* A fresh one for the linear layers of a set that is not allocated yet, over the model in `base`; every target must fit
 * one. */
heed_json lora_new(heed_ctx *cx, const heed_lora_opts *opts, const heed_head *head, const heed_params *set,
                   const char *base);
/* What `heed train` calls the task of an adapter that a Python program wrote; NULL: unknown. */
const char *lora_task(heed_ctx *cx, heed_json adapter);
/* Adds the matrices to the set, and marks what else the adapter's file holds. */
bool lora_attach(heed_ctx *cx, heed_json adapter, heed_params *set);
/* Of a model that is to be trained: all is frozen but the matrices and what was drawn fresh, which the adapter saves.
 */
bool lora_freeze(heed_ctx *cx, heed_json adapter, heed_params *set);

/* ---- adapter_model.safetensors ---- */

/* Strict: lists every missing, unexpected and misshapen matrix. only_lora: what the file has of other heads is skipped.
 */
bool lora_load(heed_ctx *cx, const heed_family *family, heed_params *set, const char *dir, bool only_lora);
bool lora_save(heed_ctx *cx, const heed_params *set, const char *path);

#endif
