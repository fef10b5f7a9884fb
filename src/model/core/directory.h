/* Model directories: where their files are, and writing into them. */
#ifndef MODEL_CORE_DIRECTORY_H
#define MODEL_CORE_DIRECTORY_H

#include "heed/text.h"

#define PATH_ROOM 4096

/* The files that heed writes into a model directory. One more stands here and in the list of directory.c, from which
 * they are copied and removed. */
#define CONFIG_FILE            "config.json"
#define GENERATION_CONFIG_FILE "generation_config.json"
#define WEIGHTS_FILE           "model.safetensors"
#define DIFFUSERS_WEIGHTS_FILE "diffusion_pytorch_model.safetensors"
#define TOKENIZER_FILE         "tokenizer.json"
#define TARGET_TOKENIZER_FILE  "target_tokenizer.json"
#define TOKENIZER_CONFIG_FILE  "tokenizer_config.json"
#define SPECIAL_TOKENS_FILE    "special_tokens_map.json"
#define CHAT_TEMPLATE_FILE     "chat_template.jinja"
#define PREPROCESSOR_FILE      "preprocessor_config.json"
#define CHECKPOINT_FILE        "checkpoint.safetensors"
/* peft's. */
#define ADAPTER_CONFIG_FILE  "adapter_config.json"
#define ADAPTER_WEIGHTS_FILE "adapter_model.safetensors"
/* sentence-transformers'. */
#define MODULES_FILE  "modules.json"
#define POOLING_FILE  "1_Pooling/config.json"
#define SENTENCE_FILE "sentence_bert_config.json"
/* Word vectors'. */
#define WORDS_FILE "words.txt"
/* Of a pipeline as diffusers writes it, whose parts are directories of their own: scheduler/ and the network's. */
#define MODEL_INDEX_FILE "model_index.json"
#define SCHEDULER_PART   "scheduler"
#define UNET_PART        "unet"
#define TRANSFORMER_PART "transformer"
/* Marian's, which heed reads only. */
#define SOURCE_PIECES_FILE "source.spm"
#define TARGET_PIECES_FILE "target.spm"

/* The path of a file in dir; false with a sentence when it is too long. */
bool directory_path(heed_ctx *cx, const char *dir, const char *file, char path[PATH_ROOM]);
bool directory_has(const char *dir, const char *file);
bool directory_has_model(const char *dir);      /* weights, of a model, of an adapter or of a pipeline's network */
bool directory_has_checkpoint(const char *dir); /* of a training, or of that of a pipeline's network */
bool directory_has_config(const char *dir);
bool directory_has_run(const char *dir); /* a model, or a checkpoint of its training */
/* The model_type that config.json names; "" where there is none, or none that can be read within so many bytes (0:
 * any). */
#define TYPE_ROOM 64
const char *directory_type(const char *dir, size_t budget, char type[TYPE_ROOM]);

/* ---- pipelines ---- a directory with model_index.json and without a config of its own */
bool directory_is_pipeline(const char *dir);
/* Where its network is, which is what is trained and measured: dir/unet or dir/transformer. Of any other directory dir
 * itself. */
bool directory_network(heed_ctx *cx, const char *dir, char path[PATH_ROOM]);

/* ---- adapters ---- a directory with adapter_config.json and without weights of its own */
bool directory_is_adapter(const char *dir);
/* The directory of the model that it adapts: base_model_name_or_path. */
bool directory_base(heed_ctx *cx, const char *dir, char base[PATH_ROOM]);
/* The same, by an adapter_config.json that is read already. */
bool directory_base_in(heed_ctx *cx, const char *dir, heed_json adapter, char base[PATH_ROOM]);
/* Where the files of its tokenizer are: dir itself or, where an adapter has none, its base. */
bool directory_of_tokenizer(heed_ctx *cx, const char *dir, char path[PATH_ROOM]);

/* Makes dir and those above it, where they are not there yet; false with a sentence when it cannot be written into. */
bool directory_make(heed_ctx *cx, const char *dir);
/* Removes a file of dir, which need not be there. */
bool directory_remove(heed_ctx *cx, const char *dir, const char *file);
/* Removes the files of a model and of its training, config.json first: from then on dir holds no model, rather than a
 * mixture of two. False with a sentence when one cannot be removed. */
bool directory_clear(heed_ctx *cx, const char *dir);
/* Keeps other processes from writing into dir, until it is unlocked or this process ends, in whatever way. Below 0 with
 * a sentence when another one has locked it. */
int directory_lock(heed_ctx *cx, const char *dir);
void directory_unlock(int lock);
/* Makes dir and locks it, for a command that is about to write into it. Whatever `taken` (NULL: nothing) then finds in
 * it was not there when the command looked: another process has written it since, and it is refused, below 0. */
int directory_claim(heed_ctx *cx, const char *dir, bool (*taken)(const char *dir));
/* Removes a model directory with the files that heed writes there; one that holds others stays, with them. */
void directory_drop(const char *dir);

/* ---- tokenizers ---- of source and target: tokenizer.json is for both, unless there is target_tokenizer.json. Where
 * it is for both, tokens[1] is tokens[0]. */
bool directory_has_tokenizers(const char *dir);
bool directory_load_tokenizers(heed_ctx *cx, const char *dir, heed_tokenizer *tokens[2]); /* NULL each when it fails */
bool directory_save_tokenizers(heed_ctx *cx, const char *dir, heed_tokenizer *const tokens[2]);
bool directory_copy_tokenizers(heed_ctx *cx, const char *from, const char *to); /* those that are there */
void directory_free_tokenizers(heed_ctx *cx, heed_tokenizer *tokens[2]);

#endif
