/* The families that heed has, and what their files share. */
#ifndef MODEL_CORE_FAMILIES_H
#define MODEL_CORE_FAMILIES_H

#include "heed/model.h"

#define FAMILY(name) extern const heed_family family_##name;
#include "model/core/families.def"
#undef FAMILY

/* In a config.json that can be believed. */
#define MAX_LAYERS 4096               /* of a stack */
#define MAX_SIZE   ((int64_t)1 << 30) /* of widths and the like */

#define END_OF_KEYS                                                                                                    \
    { NULL, HEED_KEY_INT, NULL, NULL }

/* The place of text key `key` among `names` (NULL-terminated); -1 and a failed context when it is none of them. */
int config_choice(heed_ctx *cx, heed_json config, const char *key, const char *const *names);
/* A number of config within [low, high]; fails the context otherwise. */
int64_t config_int(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high);
/* A token of a vocabulary; -1 when it is null or missing. */
int32_t config_token(heed_ctx *cx, heed_json config, const char *key, int64_t tokens);
/* pad_token_id of decoders, where a negative number, as older files have it, is no token: NO_TOKEN_PADS. *row: that of
 * the embedding which PyTorch does not train then, counted from the end; NULL: not asked. */
#define NO_TOKEN_PADS (-2)
int32_t config_padding(heed_ctx *cx, heed_json config, int64_t tokens, int32_t *row);
/* A list of such numbers, at most `most`; their count. */
int config_ints(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high, int64_t *out, int most);
heed_activation config_activation(heed_ctx *cx, heed_json config, const char *key); /* by transformers' names */
double config_number(heed_ctx *cx, heed_json config, const char *key, double low, double high);
/* The same of keys that may be null, which stands for `standard`. */
int64_t config_int_or(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high, int64_t standard);
double config_number_or(heed_ctx *cx, heed_json config, const char *key, double low, double high, double standard);

/* Does timm call a model of this family so? */
bool family_is_timm(const heed_family *family, const char *architecture);

/* The family's own struct. */
const void *model_own(const heed_model *m);

/* The weights that training changes, to a file and from a directory: all of them, or those of an adapter. */
bool model_write_weights(heed_ctx *cx, const heed_model *m, const char *path);
bool model_read_weights(heed_ctx *cx, heed_model *m, const char *dir);

#endif
