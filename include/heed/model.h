/* heed/model.h: families of models, and model directories.
 *
 * A model directory holds config.json, model.safetensors and, where it reads text, tokenizer.json. A family is one file
 * of src/model/: the keys of its config.json as a table, its parameters with their published names, and its forward
 * function. The list of families drives `heed list`, the docs and the tests. */
#ifndef HEED_MODEL_H
#define HEED_MODEL_H

#include "heed/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_model heed_model;

typedef enum heed_key_kind {
    HEED_KEY_INT,
    HEED_KEY_NUMBER,
    HEED_KEY_BOOL,
    HEED_KEY_TEXT,
    HEED_KEY_INTS,
    HEED_KEY_TEXTS,
    HEED_KEY_INT_OR_NULL
} heed_key_kind;
typedef struct heed_key { /* of config.json */
    const char *name;
    heed_key_kind kind;
    const char *standard; /* its value as JSON text when it is missing; NULL: it must be given */
    const char *help;
} heed_key;

/* Tensors by name, going into a model or coming out of it: input_ids, attention_mask, pixel_values, x, labels, y;
 * logits, loss, … */
#define HEED_IO_MOST 16
typedef struct heed_io {
    bool loss_only; /* of inputs: nothing but the loss is wanted, which may be had without the logits */
    int n;
    const char *name[HEED_IO_MOST];
    heed_tensor *tensor[HEED_IO_MOST];
} heed_io;
HEED_API heed_tensor *heed_io_get(const heed_io *io, const char *name); /* NULL when it is not there */
HEED_API bool heed_io_put(heed_ctx *cx, heed_io *io, const char *name, heed_tensor *tensor);

typedef struct heed_family {
    const char *name;         /* on the command line: "mlp" */
    const char *type;         /* "model_type" in config.json: "heed-mlp" */
    const char *architecture; /* of "architectures": "HeedMlp" */
    const char *paper, *summary;
    const char *notes;    /* its parameters and whatever else a user must know, in sentences */
    const char *tasks;    /* what `heed train` can do with it: "regress classify" */
    const char *inputs;   /* the names that forward takes: "x y labels" */
    const heed_key *keys; /* ends with a NULL name; model_type, architectures and heed_version are not repeated */
    /* "key=value" texts, NULL at the end, or NULL: what a config.json that lacks a key means by it, where that is not
     * the standard of the table, because others write such files too. */
    const char *const *absent;
    size_t size; /* of the family's own struct */
    /* Reads the config (every key of the table is there, of its kind) into own and declares the parameters. */
    bool (*build)(heed_ctx *cx, heed_json config, heed_params *params, void *own);
    /* Inputs by name to outputs by name; adds "loss" when labels or y are among the inputs, and "attentions.L" where
     * there is attention. While training it may add "training_loss", which is then the one to take the gradient of: the
     * loss with its units removed. */
    bool (*forward)(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
    /* Inputs for `batch` examples, of `length` tokens where it reads sequences, with targets; for plans: only their
     * shapes count. */
    bool (*sample)(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
} heed_family;

HEED_API int heed_family_count(void);
HEED_API const heed_family *heed_family_at(int i);
HEED_API const heed_family *heed_family_find(const char *name); /* by name or by type; NULL when unknown */

/* A model with fresh weights. settings: "key=value" texts that stand over the defaults; lists are written 128,64 or
 * [128,64]. An unknown key, a value of the wrong kind or a missing one is a sentence. */
HEED_API heed_model *heed_model_new(heed_ctx *cx, const heed_family *family, const char *const *settings, int n,
                                    uint64_t seed);
/* Opens a model directory. Keys of config.json that the family does not know are kept and written back. */
HEED_API heed_model *heed_model_load(heed_ctx *cx, const char *dir);
/* Writes model.safetensors and config.json into dir (made when missing, with those above it); each file is replaced as
 * a whole. */
HEED_API bool heed_model_save(heed_ctx *cx, const heed_model *m, const char *dir);
HEED_API void heed_model_free(heed_ctx *cx, heed_model *m);

HEED_API const heed_family *heed_model_family(const heed_model *m);
HEED_API heed_params *heed_model_params(const heed_model *m);
/* config.json: to be read, and added to before saving (class names and the like). */
HEED_API heed_json heed_model_config(const heed_model *m);
/* Where decoding finds its tokens and rules: generation_config.json where the directory has one, which is written back,
 * else config.json; the same as transformers' generate. */
HEED_API heed_json heed_model_decoding(const heed_model *m);
/* Any number of contexts may run a model at once, as long as nobody writes its parameters. */
HEED_API bool heed_model_forward(heed_ctx *cx, const heed_model *m, const heed_io *in, heed_io *out);
/* Inputs of the right shapes for `batch` examples of `length` tokens (unused by models of vectors; no more than there
 * are positions for), zeros, with targets: for a dry run that plans memory. */
HEED_API bool heed_model_sample(heed_ctx *cx, const heed_model *m, int64_t batch, int64_t length, heed_io *in);

#ifdef __cplusplus
}
#endif
#endif
