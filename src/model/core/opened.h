/* A directory that is opened: what it holds, found out once. */
#ifndef MODEL_CORE_OPENED_H
#define MODEL_CORE_OPENED_H

#include "heed/model.h"
#include "model/core/directory.h"

struct heed_directory {
    const heed_family *family; /* NULL: no network */
    const heed_head *head;     /* NULL: "architectures" names none of the family's */
    const char *type;
    const char *task;          /* of an adapter whose head is not the base's; NULL: of all others */
    const char *base;          /* of an adapter, in place of what its file says; NULL: as it says */
    heed_json config, adapter; /* adapter_config.json, or nothing */
    char path[];
};

/* The same as heed_directory_open; base stays until the directory is closed. */
heed_directory *directory_open_on(heed_ctx *cx, const char *path, const char *base);
/* The head, or a sentence: it is no network, or its head is none of the family's. */
const heed_head *directory_head(heed_ctx *cx, const heed_directory *d);
static inline bool directory_adapts(const heed_directory *d) { return heed_json_kind_of(d->adapter) != HEED_JSON_NONE; }
/* Where the weights of the model are that an adapter adapts. */
bool directory_base_of(heed_ctx *cx, const heed_directory *d, char base[PATH_ROOM]);

#endif
