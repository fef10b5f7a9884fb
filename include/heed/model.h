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
struct heed_capture_map;
struct picture_place;
struct heed_graph;

typedef enum heed_key_kind {
    HEED_KEY_INT,
    HEED_KEY_NUMBER,
    HEED_KEY_BOOL,
    HEED_KEY_TEXT,
    HEED_KEY_INTS,
    HEED_KEY_TEXTS,
    HEED_KEY_INT_OR_NULL,
    HEED_KEY_NUMBER_OR_NULL,
    HEED_KEY_TEXT_OR_NULL,
    HEED_KEY_INT_OR_LIST, /* a whole number, a list of them, or null */
    HEED_KEY_BOOL_OR_NULL,
    HEED_KEY_NUMBERS, /* a number, or a list of them */
    HEED_KEY_BOOLS,   /* true,false */
    HEED_KEY_BOOL_OR_LIST,
    HEED_KEY_NUMBERS_OR_NULL,
    HEED_KEY_INT_OR_LISTS /* a whole number, a list of them or of lists of them, or null */
} heed_key_kind;
typedef struct heed_key { /* of config.json */
    const char *name;
    heed_key_kind kind;
    const char *standard; /* its default as JSON text; NULL: it must be given */
    const char *help;
} heed_key;

/* Tensors by name, going into a model or coming out of it: input_ids, attention_mask, pixel_values, x, labels, y;
 * logits, loss, … Starts as {0} and grows; the list and its names live as long as the step's tensors, until
 * heed_reset. */
typedef struct heed_io {
    bool loss_only;    /* of inputs: nothing but the loss is wanted, which may be had without the logits */
    bool states;       /* of inputs: a head whose family has no body alone gives last_hidden_state too */
    bool latents_only; /* of inputs: an autoencoder encodes, and does not decode */
    /* Of inputs of models of graphs (heed/graphs.h): the edges, in place of edge_index and edge_weight, and the
     * features of nodes as a sparse matrix, in place of x. Sorted once, they serve many steps. */
    const struct heed_graph *graph, *features;
    int n, room;
    const char **name;
    heed_tensor **tensor;
} heed_io;
HEED_API heed_tensor *heed_io_get(const heed_io *io, const char *name); /* NULL when it is not there */
HEED_API bool heed_io_put(heed_ctx *cx, heed_io *io, const char *name, heed_tensor *tensor);

/* What a model is built from. */
typedef struct heed_build {
    const struct heed_family *family;
    const struct heed_head *head;
    heed_json config; /* every key of the two tables is there, of its kind */
    heed_params *params;
} heed_build;

/* A head: what a family's body is used for, one entry of "architectures". */
typedef struct heed_head {
    const char *architecture; /* "BertForMaskedLM" */
    const char *tasks;        /* what `heed train` and `heed new --task` call it: "regress classify"; "": nothing */
    const char *inputs;       /* the names that forward takes: "input_ids attention_mask labels"; in one that is there
                               * for each example * stands for its number: "pixel_values labels.*.boxes" */
    bool bare;                /* the body alone: its parameters have names without the family's base */
    const heed_key *keys;     /* of config.json, beside the family's; NULL: none */
    /* Reads the config into own and declares the parameters, those of the body first. own is zeroed; memory that it
     * needs beside comes from heed_params_alloc. */
    bool (*build)(heed_ctx *cx, const heed_build *b, void *own);
    /* Inputs by name to outputs by name; adds "loss" when labels or y are among the inputs. Attention that is made of
     * ops is handed to heed_capture_weights. While training it may add "training_loss", which is then the one to
     * take the gradient of: the loss without its units. */
    bool (*forward)(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
    /* Inputs for `batch` examples, of `length` tokens where it reads sequences, with targets; for plans: only their
     * shapes count. */
    bool (*sample)(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
    const struct heed_stepper *stepper; /* how it decodes (src/model/core/stepper.h); NULL: it cannot */
    /* Of models of vectors with attention: what key i is called (heed/attend.h); NULL: its number. */
    void (*name_key)(const void *own, int64_t i, char *name, size_t size);
    /* Of models of pictures: where the tokens of an attention lie in a picture of size[0] x size[1] pixels, height
     * first (src/model/core/place.h); map NULL: those of the last hidden state. False: not in the picture. NULL: not
     * known. */
    bool (*place)(const void *own, const int64_t size[2], const struct heed_capture_map *map, struct picture_place *to);
} heed_head;

typedef struct heed_family {
    const char *name; /* on the command line: "mlp" */
    const char *type; /* "model_type" in config.json: "heed-mlp" */
    const char *base; /* transformers' base_model_prefix, "bert": what the body's names begin with under a head, and
                       * without when the body is alone; files may have them either way. NULL: no such prefix */
    const char *timm; /* names that timm's "architecture" may have, as patterns: "vit_* deit_*"; NULL: none */
    const char *arguments; /* timm's: the object of config.json that overrides what the architecture's name says,
                            * "model_args", where `keys` are; NULL: they are at the top, and all of them are there */
    const char *paper, *summary;
    const char *notes;          /* its parameters and whatever else a user must know, in sentences */
    const heed_key *keys;       /* ends with a NULL name; model_type, architectures and heed_version are not repeated */
    const heed_head *heads;     /* ends with a NULL architecture; the first is the one that `heed new` makes */
    const char *tokens;         /* the kind of tokenizer that it reads unless another is asked for: "byte"; NULL: any */
    const char *const *ignored; /* names in files that are no parameters, as patterns: "*.attn.bias"; NULL: none */
    /* Parts of names, and what files may have instead, in pairs: "encoder.layer.", "layers."; NULL at the end, or none
     */
    const char *const *renamed;
    /* "key=value" texts, NULL at the end, or NULL: what a config.json that lacks a key means by it, where that is not
     * the standard of the table, because others write such files too. */
    const char *const *absent;
    const void *kind; /* what tells it from its kin, for the build functions that they share: names of parameters,
                       * constants; NULL: it has no kin */
    const char *const *inner; /* keys whose value is the config of another family, and that one, in pairs:
                               * "backbone_config", "resnet"; set as backbone_config.KEY. NULL at the end, or none */
    const char *processor;    /* transformers' class that prepares its pictures: "DeiTImageProcessor"; NULL: ViT's */
    bool diffusers; /* its directories are those of diffusers' components: _class_name instead of model_type and
                     * architectures, and the weights are in diffusion_pytorch_model.safetensors */
    size_t size;    /* of the family's own struct */
} heed_family;

HEED_API int heed_family_count(void);
HEED_API const heed_family *heed_family_at(int i);
HEED_API const heed_family *heed_family_find(const char *name); /* by name or by type; NULL when unknown */
/* The head for a task ("classify"), or the first one for NULL; by "architectures"' name. NULL when there is none. */
HEED_API const heed_head *heed_head_for(const heed_family *family, const char *task);
HEED_API const heed_head *heed_head_named(const heed_family *family, const char *architecture);
HEED_API bool heed_head_takes(const heed_head *head, const char *input); /* is it among `inputs`? */

/* A model with fresh weights. settings: "key=value" texts that override the defaults; lists are written 128,64 or
 * [128,64]. An unknown key, a value of the wrong kind or a missing one is a sentence. */
HEED_API heed_model *heed_model_new(heed_ctx *cx, const heed_family *family, const char *const *settings, int n,
                                    uint64_t seed);
/* The same with a head of its own; NULL: the family's first. */
HEED_API heed_model *heed_model_new_as(heed_ctx *cx, const heed_family *family, const heed_head *head,
                                       const char *const *settings, int n, uint64_t seed);
/* Opens a model directory, with the head that "architectures" names. Keys of config.json that the family does not know
 * are kept and written back.
 *
 * A directory with adapter_config.json and adapter_model.safetensors, as peft writes it, is a model too: that of
 * base_model_name_or_path, found from the adapter directory or from where the process is, with its LoRA adapters.
 * config.json, generation_config.json and tokenizers are the base's where the adapter's directory has none. */
HEED_API heed_model *heed_model_load(heed_ctx *cx, const char *dir);
/* LoRA (Hu et al. 2021): adapters of linear layers are trained, and the model's own weights are not. */
typedef struct heed_lora_opts {
    int64_t rank;
    double alpha;         /* what B A is multiplied by, times the rank; 0: twice the rank */
    bool rank_stabilised; /* times the root of the rank (Kalajdzievski 2023) */
    double dropout;
    const char *const *targets; /* modules, by the ends of their names or by patterns of the shell's kind; none: the
                                 * projections of queries and values; "all-linear" alone: all but heads */
    int n_targets;
} heed_lora_opts;
/* Opens a directory for another purpose, as fine-tuning does, or only to run it. */
typedef struct heed_load_opts {
    const char *task;            /* the head to make; NULL: the one that "architectures" names */
    const char *const *settings; /* "key=value" texts that override config.json: num_labels=3 */
    int n_settings;
    bool fresh_head; /* parameters outside the body that the file lacks, or has in another shape, are drawn from
                      * `seed`; the context's log names them, and what of the file is not used. With a setting of
                      * vocab_size tables of tokens may have more rows than the file's, each new one the mean of the
                      * others; beside fresh adapters they are trained, and saved with them */
    uint64_t seed;
    bool map;                   /* for running, not for training: the weights stay in the file (heed_params_map) */
    bool pack;                  /* and are packed for running often (heed_params_pack) */
    const heed_lora_opts *lora; /* fresh adapters, beside which all but what is drawn fresh is frozen; NULL: none */
    const char *base; /* of an adapter directory: the model that it adapts; NULL: as adapter_config.json says */
} heed_load_opts;
HEED_API heed_model *heed_model_load_as(heed_ctx *cx, const char *dir, const heed_load_opts *opts);

/* A directory that is opened once, to find out what it holds and then to load it. config.json is read, that of an
 * adapter's base where the adapter has none; the weights are not. NULL with a sentence where heed does not know what
 * config.json says the model is. Of a pipeline of diffusers' (model_index.json) it is its network, in unet/ or
 * transformer/, and so is its path. */
typedef struct heed_directory heed_directory;
HEED_API heed_directory *heed_directory_open(heed_ctx *cx, const char *path);
HEED_API void heed_directory_close(heed_ctx *cx, heed_directory *d);
HEED_API const char *heed_directory_path(const heed_directory *d);
/* The family's, or heed-ngram, heed-hmm or heed-words. */
HEED_API const char *heed_directory_type(const heed_directory *d);
HEED_API const heed_family *heed_directory_family(const heed_directory *d); /* NULL: no network */
/* NULL: no network, or "architectures" names no head of the family's. */
HEED_API const heed_head *heed_directory_head(const heed_directory *d);
HEED_API heed_json heed_directory_config(const heed_directory *d); /* as it was read; goes with the directory */
/* Loads it; the model keeps a copy of the config, so that the directory may be closed before it. Opts as those of
 * heed_model_load_as, which opens, loads and closes; only a base cannot be given any more. */
HEED_API heed_model *heed_directory_model(heed_ctx *cx, const heed_directory *d, const heed_load_opts *opts);
/* Writes model.safetensors and config.json into dir (made when missing, with those above it); each file is replaced as
 * a whole. Weights that came in bf16 or f16 and have not changed are written so; once trained, all are f32, and a
 * "dtype" in config.json says so. */
HEED_API bool heed_model_save(heed_ctx *cx, const heed_model *m, const char *dir);
/* Is it a model with adapters? Those are saved as an adapter directory, config.json beside it. heed_model_merge adds
 * them to the weights; from then on it is a model like any other. */
HEED_API bool heed_model_adapted(const heed_model *m);
HEED_API bool heed_model_merge(heed_ctx *cx, heed_model *m);
HEED_API void heed_model_free(heed_ctx *cx, heed_model *m);

HEED_API const heed_family *heed_model_family(const heed_model *m);
HEED_API const heed_head *heed_model_head(const heed_model *m);
HEED_API heed_params *heed_model_params(const heed_model *m);
/* config.json: to be read, and added to before saving (class names and the like). */
HEED_API heed_json heed_model_config(const heed_model *m);
/* The names of a model's n classes, from the config's "id2label" by its keys, which are the numbers from 0 to n - 1 in
 * any order: a list that ends in NULL, in one block (heed_mem_free). NULL: there are none, or, with a failed context, a
 * key is wrong or missing. */
HEED_API char **heed_model_labels(heed_ctx *cx, const heed_model *m, int64_t n);
/* Where decoding finds its tokens and rules: generation_config.json where the directory has one, which is written back,
 * else config.json; the same as transformers' generate. */
HEED_API heed_json heed_model_decoding(const heed_model *m);
/* Any number of contexts may run a model at once, as long as nobody writes its parameters. An input that is not one of
 * the head's `inputs` is refused with a sentence that lists them. */
HEED_API bool heed_model_forward(heed_ctx *cx, const heed_model *m, const heed_io *in, heed_io *out);
/* Inputs of the right shapes for `batch` examples of `length` tokens (unused by models of vectors; no more than there
 * are positions for), zeros, with targets: for a dry run that plans memory. */
HEED_API bool heed_model_sample(heed_ctx *cx, const heed_model *m, int64_t batch, int64_t length, heed_io *in);

#ifdef __cplusplus
}
#endif
#endif
