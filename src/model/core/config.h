/* config.json of a model, held against the table of its family. */
#ifndef MODEL_CORE_CONFIG_H
#define MODEL_CORE_CONFIG_H

#include "heed/model.h"

/* A new config: model_type, architectures, heed_version, then every key of the tables with its value from settings
 * ("key=value") or its standard. NONE when something is wrong. */
heed_json config_new(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *const *settings,
                     int n);
/* Gives missing keys their standard values and checks the kinds of all. */
bool config_complete(heed_ctx *cx, const heed_family *family, const heed_head *head, heed_json config);
bool config_set(heed_ctx *cx, const heed_family *family, const heed_head *head, heed_json config,
                const char *setting); /* "key=value" */
/* Of a family with arguments: a config of its own with every key, from its standard, from `named`, what the
 * architecture is ("depth=12 num_heads=3"), and from the config's arguments, the later the stronger. An argument that
 * is no key is refused. */
heed_json config_arguments(heed_ctx *cx, const heed_family *family, heed_json config, const char *named);
/* Are pictures of any size taken by timm's class, too? It has no argument img_size then, and the size is input_size. */
bool config_any_size(const heed_family *family);
/* Where a config says which class it is of: "architectures" or, of diffusers' components, this. */
#define CLASS_NAME "_class_name"
void config_put_architecture(heed_ctx *cx, const heed_family *family, heed_json config, const heed_head *head);

/* The names of n classes, of id2label or timm's label_names, ended by NULL, in one block (heed_mem_free); NULL without
 * an error: there are none. */
char **config_label_names(heed_ctx *cx, heed_json config, int64_t n);

#endif
