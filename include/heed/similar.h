/* heed/similar.h: the texts of a file, or the pictures of a folder, that are nearest to a query, by the cosine of their
 * vectors.
 *
 *     heed_text_model *m = heed_text_model_open(cx, "all-MiniLM-L6-v2", "embed");
 *     heed_similar *s = heed_similar_open(cx, m, "sentences.txt", NULL);
 *     heed_embed(cx, m, &(heed_text_input){"A man is eating food."}, 1, query, NULL);
 *     heed_similar_find(cx, s, query, 1, 5, found);            found[0]: the nearest line
 *
 * The search is exact: a query is compared with every vector. They are computed once and kept in a file, which is
 * mapped; it says which texts and which model it is of, and is made anew when these have changed. */
#ifndef HEED_SIMILAR_H
#define HEED_SIMILAR_H

#include "heed/task.h"
#include "heed/vision.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_similar heed_similar;
typedef struct heed_similar_opts {
    /* The file of vectors, a safetensors file with one array, `vectors` (lines that are not blank, width) of length 1.
     * NULL: the name of the texts or of the folder with ".vectors.safetensors" behind it; of a folder such as ".", in
     * it, pictures.vectors.safetensors. */
    const char *index;
    /* Called while vectors are computed, with the lines done so far; NULL: nobody. */
    void (*progress)(void *own, int64_t done, int64_t lines);
    void *own;
} heed_similar_opts;
/* texts: a file (.gz as it is), a text a line; blank lines are never found. opts NULL: all defaults. An index of other
 * texts or of another model is replaced; a file that is no index, or is cut short, is refused. The model is not
 * kept. */
HEED_API heed_similar *heed_similar_open(heed_ctx *cx, const heed_text_model *m, const char *texts,
                                         const heed_similar_opts *opts);
/* The same of pictures: those of a folder and of the folders in it (.png, .jpg and .jpeg, sorted by their paths), or of
 * a file with a path a line. Then `line` is the number of a picture, and its text is its path. A picture is taken for
 * the same as long as its path, size and time of change are. One that cannot be read is an error. */
HEED_API heed_similar *heed_similar_pictures(heed_ctx *cx, const heed_picture_model *m, const char *path,
                                             const heed_similar_opts *opts);
HEED_API void heed_similar_close(heed_ctx *cx, heed_similar *s);
HEED_API int64_t heed_similar_lines(const heed_similar *s); /* that can be found */
HEED_API int64_t heed_similar_width(const heed_similar *s);
HEED_API const char *heed_similar_text(const heed_similar *s, int64_t line); /* from 1; NULL: no such line */
HEED_API const char *heed_similar_index(const heed_similar *s);              /* the path of the file of vectors */
/* Why vectors were computed: "there was none", "the texts have changed", "the pictures have changed", "it was made with
 * another model"; NULL: they were there. */
HEED_API const char *heed_similar_rebuild_reason(const heed_similar *s);
HEED_API int64_t heed_similar_cut(const heed_similar *s); /* texts that were too long and were cut, when it was made */

typedef struct heed_found {
    int64_t line; /* of the file, from 1; 0: there are no more */
    float score;  /* cosine of the angle between the vectors */
} heed_found;
/* The `top` nearest lines of each of n queries (n, width), of any length above 0: found (n, top), nearest first, of
 * equals the earlier line. */
HEED_API bool heed_similar_find(heed_ctx *cx, const heed_similar *s, const float *queries, int64_t n, int64_t top,
                                heed_found *found);

#ifdef __cplusplus
}
#endif
#endif
