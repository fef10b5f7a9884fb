/* heed/attend.h: the attention weights of a model on one input, with a name for every query and key. What becomes of an
 * input follows from what the model's head takes: a picture, a text, a pair of texts, a text and its target, a graph,
 * or rows of numbers. */
#ifndef HEED_ATTEND_H
#define HEED_ATTEND_H

#include "heed/graph_data.h"
#include "heed/image.h"
#include "heed/model.h"
#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One input. Texts are UTF-8, and are prepared and tokenised as the model's own text was. */
typedef struct heed_attend_input {
    const char *text;   /* NULL: numbers, or a picture */
    const char *pair;   /* a second text beside it, for models that read pairs; NULL: none */
    const char *target; /* of an encoder-decoder; NULL: what the model itself makes of the text */
    bool words;         /* words instead of tokens, for models without a target: attention to a word is the sum over its
                         * tokens, attention from it their mean (Clark et al. 2019) */
    const float *x;     /* (rows, columns), for models of vectors: every row is a query */
    int64_t rows, columns;
    const heed_image *picture;             /* it must stay as long as what is found of it, of which it is part, */
    const heed_image_processor *processor; /* and what becomes of it before the model is given it */
    const heed_graph_data *graph;          /* it must stay as long as what is found of it */
} heed_attend_input;

/* The tokens, points or patches along one side of a map. */
typedef struct heed_axis {
    const char
        *what; /* "source", "target", "text", "queries", "points", "patches", "latents", "object queries", "nodes" */
    int64_t n;
    const char *const *tokens; /* as the vocabulary has them; of a picture "class", "distillation", "register 0" */
    const char *const *labels; /* for people: without the mark that begins a word, control characters as escapes */
    const int32_t *segments;   /* which text each is of, 0 or 1 (token_type_ids); NULL: there is only one */
    const int32_t *words;      /* number of the word that each token is part of; NULL: unknown, or they are words */
    const char *const *next, *const *next_labels; /* the token that the decoder predicts at each; NULL: none */
    bool has_class;                    /* the first is the class token, whose state is read for all of them */
    int64_t first, rows, columns;      /* from `first` on they are patches, row by row; rows 0: not of a picture */
    int64_t detections;                /* of the tokens before the patches the last so many, which find objects */
    int64_t patch_height, patch_width; /* in pixels of what the model is given; the last patches may reach beyond */
} heed_axis;

/* One kind of attention of the model: maps of one size, of all its layers that have it. Over a picture the layers are
 * those whose patches are of one size, counted from 0, and queries are tokens, whose axis is that of the keys, tokens
 * of another grid, whose axis has rows of its own, or learned: the one of attention pooling, a class token that comes
 * late, the latents of a Perceiver. */
typedef struct heed_attended_site {
    const char *name;  /* "attention", "encoder", "decoder", "cross", ...; where patches are merged "stage 0", ... */
    const char *title; /* a few words more; NULL: none */
    const heed_axis *queries, *keys;
    const heed_capture_map *maps; /* (1, heads, queries, keys) each, in the order of the layers */
    int n_maps;
    /* (n_maps) Attention within windows of a picture is (windows, heads, n, n), and its cells (windows, n) are the
     * patch that each token is, -1: padding. There is none outside of the windows, wherever they lie. NULL: the map is
     * whole. */
    const int32_t *const *cells;
    /* Of a graph a map holds the edges alone, (1, heads, 1, edges), and these say between which nodes each is: it is
     * the target that attends to the source. NULL: no graph. */
    const int32_t *sources, *targets;
} heed_attended_site;

/* What a query of a model that finds objects says: its class and box. */
typedef struct heed_attended_object {
    int64_t query; /* its number among those that find objects */
    int32_t label;
    const char *name; /* of the class; NULL: it has none */
    double score;     /* the largest probability of a class, "no object" aside */
    double box[4];    /* x, y, width, height, as parts of what the model is given, */
    double pixels[4]; /* and in pixels of the picture */
} heed_attended_object;

/* What a model says of the nodes of a graph. Arrays are (nodes), class -1: none. */
typedef struct heed_attended_nodes {
    int64_t n;
    const int32_t *predicted, *label; /* NULL: it tells graphs, not nodes; there are no labels */
    int64_t classes;
    const char *const *class_names; /* NULL: numbered */
} heed_attended_nodes;

typedef struct heed_attended {
    const char *text, *pair, *target; /* as they were given, or as the model wrote it; NULL: none */
    int64_t height, width;            /* of a picture, as the model is given it; 0: there is none */
    int n;
    const heed_attended_site *sites; /* in the order in which they were computed */
    int64_t n_objects;               /* one for each query of a model that finds objects, the highest score first */
    const heed_attended_object *objects;
    heed_attended_nodes nodes; /* of a graph; n 0: there is none */
    struct attended *own;
} heed_attended;

/* The query of a site that object `object` was found by: a learned one, or a token; -1: its queries are others. */
HEED_API int64_t heed_attended_finder(const heed_attended *a, const heed_attended_site *site,
                                      const heed_attended_object *object);

/* tokenizers: of source and target, which may be one; NULL for models that read no text. */
HEED_API heed_attended *heed_attend(heed_ctx *cx, const heed_model *model, heed_tokenizer *const tokenizers[2],
                                    const heed_attend_input *input);
HEED_API void heed_attended_free(heed_ctx *cx, heed_attended *a);

/* Which query: one of the site's, or who reads the input for the model: the class token, or where there is none the
 * mean of all queries but tokens before patches. */
#define HEED_QUERY_DEFAULT (-1)
/* The weights of a query, out (keys), wherever windows lie; head -1: the mean of all heads. */
HEED_API bool heed_attended_row(heed_ctx *cx, const heed_attended_site *site, int layer, int64_t head, int64_t query,
                                float *out);

/* ---- over a picture ---- */

/* Attention rollout (Abnar and Zuidema 2020): how much of each token there is in the query's state after this layer,
 * where a layer hands on half of the state and half of what its heads attend to on average. out is over the keys of the
 * first site; merged patches are handed on in equal parts. Of learned queries of the first site it is their row: they
 * hand on nothing of the picture. Queries on a smaller grid hand on what they look at alone; a site whose keys are
 * pooled to a smaller grid than its queries' is refused. */
HEED_API bool heed_attended_rollout(heed_ctx *cx, const heed_attended *a, int site, int layer, int64_t query,
                                    float *out);
/* The part of the picture that a site's patches cover, in its own shape and about `longer` pixels on its longer side,
 * to draw weights over: every patch has the same whole number of pixels. Where the model is given a quarter of these
 * pixels or fewer, the view shows those. */
HEED_API bool heed_attended_view(heed_ctx *cx, const heed_attended *a, int site, int64_t longer, heed_image *out);

/* ---- over a graph ---- */

/* A part of it: nodes by their numbers, and the edges between them by their numbers in the maps of a site; from and to
 * are those edges' ends, as places in `node`. */
typedef struct heed_attended_part {
    int64_t nodes, edges;
    int64_t *node, *edge;
    int32_t *from, *to;
} heed_attended_part;
/* What lies within so many edges of a node, whichever way they point, the node first; node -1: all of the graph, in
 * order. Freed by heed_attended_part_free. */
HEED_API bool heed_attended_near(heed_ctx *cx, const heed_attended *a, const heed_attended_site *site, int64_t node,
                                 int64_t hops, heed_attended_part *out);
HEED_API void heed_attended_part_free(heed_ctx *cx, heed_attended_part *part);
/* The weights of all edges, out (edges); head -1: the mean of all heads. */
HEED_API bool heed_attended_edges(heed_ctx *cx, const heed_attended_site *site, int layer, int64_t head, float *out);

/* Is this among the inputs of the model's head: "pixel_values", "input_ids", "decoder_input_ids", "edge_index", "x"? */
HEED_API bool heed_model_takes(const heed_model *model, const char *input);

#ifdef __cplusplus
}
#endif
#endif
