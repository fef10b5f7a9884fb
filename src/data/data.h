/* What the files of the data room share. */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include "heed/data.h"

/* A label beyond this is taken for a mistake: a model would have to have that many outputs. */
#define DATA_MOST_CLASSES 1000000

/* A piece of text that need not end in 0. */
struct word {
    const char *text;
    size_t length;
};

heed_data *data_new(heed_ctx *cx); /* with no examples; every pointer NULL */
/* Room for rows * columns elements; NULL and a failed context when it cannot be had. */
void *data_room(heed_ctx *cx, int64_t rows, int64_t columns, size_t element);
/* A list of n names that ends in NULL, in one block. */
char **data_names(heed_ctx *cx, const struct word *words, int64_t n);
int64_t data_names_count(char **names); /* of such a list */

/* Whether data can be worked with; fails the context with a sentence that begins with `op` if not. */
bool data_check(heed_ctx *cx, const char *op, const heed_data *data);
/* Whether `rows` are of `all` examples; without them *n, 0 or all, becomes all. */
bool data_rows(heed_ctx *cx, const char *op, int64_t all, const int64_t *rows, int64_t *n);

/* Copies the class names of `like`, where there are any and `out` has classes. */
bool data_keep_class_names(heed_ctx *cx, const heed_data *like, heed_data *out);

/* FNV-1a, eight bytes at a time: goes on from `hash`, which begins as DATA_HASH. */
#define DATA_HASH UINT64_C(0xCBF29CE484222325)
uint64_t data_hash(uint64_t hash, const void *data, size_t size);

/* English sentences of the grammar that the demo shows; they are held out. */
enum { GRAMMAR_SHOWN = 5 };
extern const char *const grammar_shown[GRAMMAR_SHOWN];

/* The readers. Each fills `out`, which is new; what a failed one leaves in it is freed by the caller. */
bool data_read_pictures(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out);
bool data_read_table(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out);
bool data_parse_table(heed_ctx *cx, const char *name, const char *text, size_t size, const heed_data_opts *opts,
                      heed_data *out);
/* y_path NULL: no targets. The arrays are read by `read`: heed_npy_read or heed_idx_read. */
bool data_read_arrays(heed_ctx *cx, heed_array *(*read)(heed_ctx *, const char *), const char *x_path,
                      const char *y_path, const heed_data_opts *opts, heed_data *out);

#endif
