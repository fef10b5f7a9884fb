/* heed/handwriting.h: a network that writes (Graves 2013, "Generating sequences with recurrent neural networks"):
 * pieces of writing as what the family `handwriting` learns, and writing with it: from nothing, on from a beginning in
 * its style, or a text. */
#ifndef HEED_HANDWRITING_H
#define HEED_HANDWRITING_H

#include "heed/loop.h"
#include "heed/writing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- learning ---- */

/* Pieces of writing as columns: strokes, labels and, where texts are read too, text. A view of the pieces. */
typedef struct heed_handwriting_set {
    heed_dataset columns;
    int64_t cut; /* pieces that were too long, of which the beginning is left */
    int32_t *label, *letter;
    int64_t *span, *text_start;
} heed_handwriting_set;
/* characters: those of texts, UTF-8, the first is 1; NULL: texts are not read. max_length: points of a piece; 0: any.
 */
HEED_API bool heed_handwriting_columns(heed_ctx *cx, const heed_writings *w, const char *characters, int64_t max_length,
                                       heed_handwriting_set *set);
HEED_API void heed_handwriting_free(heed_ctx *cx, heed_handwriting_set *set);
/* Adds the characters that the texts have, each once, in the order of their code points. A piece without a text fails.
 */
HEED_API bool heed_handwriting_characters(heed_ctx *cx, const heed_writings *w, heed_string *to);
/* Mean and deviation of dx and dy over the points of n pieces (rows NULL: all) but their first ones. */
HEED_API void heed_handwriting_moments(const heed_handwriting_set *set, const int64_t *rows, int64_t n, float mean[2],
                                       float std[2]);
/* The loss, nats of a point, as the score's loss and first metric; then nats of a piece. */
HEED_API bool heed_handwriting_measure(heed_ctx *cx, const heed_model *model, const heed_handwriting_set *set,
                                       const int64_t *rows, int64_t n, heed_score *score);

/* ---- writing ---- */

typedef struct heed_handwrite_opts {
    uint64_t seed;
    int64_t number; /* which sample of the seed */
    double bias;    /* 0: as it has learnt; larger: likelier steps, tidier writing (section 5.4) */
    int64_t points; /* new ones, at most; 0: 400 */
    const float *beginning;
    int64_t given;              /* points of a beginning to go on from, (given, 3); 0: none */
    const char *beginning_text; /* of models with a text: what the beginning says */
    const char *text;           /* and what to write, behind it */
} heed_handwrite_opts;
/* Adds what it writes, beginning included, to `to`. A model with a text ends when its window has passed the text. */
HEED_API bool heed_handwrite(heed_ctx *cx, const heed_model *model, const heed_handwrite_opts *opts, heed_writings *to);
/* What the window of a model with a text sees at each point of a piece: weights (n, U) of the text's characters and its
 * end, U of them. They are not shares: their sum may be anything. heed_mem_free frees them. */
HEED_API float *heed_handwriting_window(heed_ctx *cx, const heed_model *model, const float *points, int64_t n,
                                        const char *text, int64_t *U);
/* Whether the model takes a text, and the characters that it knows; NULL: none. */
HEED_API const char *heed_handwriting_text(heed_ctx *cx, const heed_model *model);

#ifdef __cplusplus
}
#endif
#endif
