/* What is behind a heed_attended, and what a kind of input says of the maps that were captured: texts and numbers
 * (attend_text.c), pictures (attend_picture.c), graphs (attend_graph.c). */
#ifndef INSPECT_ATTENDED_H
#define INSPECT_ATTENDED_H

#include "heed/attend.h"
#include "heed/translate.h"
#include "inspect/attend_words.h"

#define NAME_ROOM 48

/* An axis and the memory of its names. */
struct side {
    struct side *before; /* the one that was made before it */
    heed_axis axis;
    char *letters;
    const char **names;
};

/* A text, tokenised. */
struct attended_text {
    struct side *side;
    const heed_tokenizer *tokenizer;
    heed_string text;
    heed_ids ids;
    const char **next;
};

/* What a captured map is of. site "": it is left out. */
struct attended_map {
    char site[NAME_ROOM];
    const char *title;
    const heed_axis *queries, *keys;
    int32_t *cells;
    int stage;
    bool sorted;
};

struct attended {
    heed_attended out; /* first: what the caller has */
    heed_ctx *cx;
    const heed_model *model;
    heed_capture_map *captured; /* (n) as they were computed, */
    struct attended_map *of;
    int n;
    heed_capture_map *maps; /* and by site */
    const int32_t **cells;
    heed_attended_site *sites;
    char (*names)[NAME_ROOM]; /* of sites */
    struct side *sides;       /* the last */
    heed_attended_object *objects;
    int32_t *predicted;         /* of a graph's nodes */
    int32_t *sources, *targets; /* of its edges, as the maps have them */

    const heed_attend_input *input; /* while it is read, */
    heed_tokenizer *const *tokenizers;
    heed_preprocessing preprocessing; /* how text is prepared for the model */
    struct attended_text source, target;
    heed_string pair;
    heed_ids types; /* token_type_ids */
    struct attend_words words;
    bool has_target;

    const heed_image *picture;
    heed_box box; /* of the picture, which the model is given */
    uint8_t fill[4];
};

struct side *side_new(struct attended *a);
/* One with an axis of n names of NAME_ROOM letters each: numbers, which others may be written over. */
struct side *side_numbered(struct attended *a, const char *what, int64_t n);
char *side_name(const struct side *side, int64_t i);

/* The model's inputs of what it is given; then what the captured maps are of. */
bool attend_read_text(struct attended *a, heed_io *in);
bool attend_place_text(struct attended *a);
bool attend_read_numbers(struct attended *a, heed_io *in);
bool attend_place_numbers(struct attended *a);
bool attend_read_picture(struct attended *a, heed_io *in);
bool attend_place_picture(struct attended *a);
bool attend_read_graph(struct attended *a, heed_io *in);
bool attend_place_graph(struct attended *a);
/* What a model says of the nodes of a graph, and the maps of its edges; nothing of other inputs. */
bool attend_take_nodes(struct attended *a, const heed_io *out);
bool attend_take_edges(struct attended *a);
/* Whether the site has such a layer and head (-1: the mean). */
bool attended_check_layer(heed_ctx *cx, const heed_attended_site *s, int layer, int64_t head);
/* What the queries of a model that finds objects have found; nothing of other models. */
bool attend_take_objects(struct attended *a, const heed_io *out);

#endif
