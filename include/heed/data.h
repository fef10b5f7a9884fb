/* heed/data.h: loaders of data sets: tables, pictures, parallel text, and what heed draws by itself. */
#ifndef HEED_DATA_H
#define HEED_DATA_H

#include "heed/dataset.h"
#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n examples of `width` numbers. Targets: classes (label) or `outputs` numbers each (y), or neither. Pictures say their
 * height, width and channels; an example of one is (channels, height, width). Inputs are kept as f32, or as bytes with
 * a scale and shift (x = byte * scale + shift), which is what image files are. Lists of names end in NULL. y_names also
 * names the column of the classes, as its only entry. class_names are sorted; without them class k is the number k.
 *
 * The inputs of a table come from `columns` columns, which x_names names. A column of numbers is one input. A column of
 * text is one-hot: one input for each of its categories, which are sorted; that of the cell's text is 1, the others are
 * 0. */
typedef struct heed_data {
    int64_t n, width;
    float *x;
    uint8_t *bytes;
    float scale, shift;
    int32_t *label;
    int64_t classes;
    float *y;
    int64_t outputs;
    int64_t image_height, image_width, image_channels; /* 0: vectors */
    char **x_names, **y_names, **class_names;          /* NULL when unknown */
    int64_t columns;                                   /* of a table; 0: not a table */
    char ***categories; /* (columns): of a column of text; NULL: of numbers. NULL when all columns are */
    int64_t *line;      /* (n): where each example stands in its table; NULL: not a table */
    int64_t skipped;    /* rows of the table that were left out because of missing values */
} heed_data;

typedef enum heed_data_task {
    HEED_DATA_REGRESS,
    HEED_DATA_CLASSIFY,
    HEED_DATA_INPUTS, /* no targets, for predicting them: of a table with a header the columns of `like` */
} heed_data_task;
/* Columns of a table are chosen by name or number (from 1), several as "a,b". With `like`, columns of a table that has
 * a header are found by its names, unless `target` and `use` say otherwise; columns, categories, width, pictures and
 * outputs must be the same, and every class must be one of its classes. */
typedef struct heed_data_opts {
    heed_data_task task;
    const char *target;       /* what to predict; NULL: the last column that is not dropped */
    const char *const *use;   /* columns to take as inputs, NULL-terminated; NULL: all others */
    const char *const *drop;  /* columns to leave out, NULL-terminated; NULL: none */
    bool skip_missing;        /* leave out rows whose chosen columns have a missing value; they are counted. Without
                                 targets none may be left */
    heed_table_options table; /* delimiter, decimal mark and header of a table; all 0: found by looking */
    const char *part;         /* of a directory in a known layout: "train" or "test"; NULL: train */
    const heed_data *like; /* class names, columns and categories as in this one: for the test set of a training set */
} heed_data_opts;

/* Reads a table (.csv, .tsv, each also .gz; or a directory with train.csv, dev.csv and test.csv or the like), MNIST's
 * IDX files (a directory that has them, .gz or not), pictures of one size in folders PART/CLASS/NAME.png or .jpg, also
 * in a .tar or .tar.gz (RGB; any name may be a part), or CLASS/NAME.png without parts, a pair of npy or IDX files
 * ("x.npy,y.npy", or x alone for its inputs; x is (n), (n, width), (n, height, width) or (n, channels, height, width)),
 * by what the path is. Classes are whole numbers from 0, or words. Bytes of pictures are scaled to [0, 1]. Wrong data
 * is named with file, line and column; missing values, NaN and infinity are refused, and so is a column of more than
 * 1000 categories, with one for nearly every row, or of texts. What a directory holds instead of such data is said.
 * opts NULL: regress on the last column. */
HEED_API heed_data *heed_data_load(heed_ctx *cx, const char *path, const heed_data_opts *opts);
/* The same of a table in memory; `name` stands for it in sentences. */
HEED_API heed_data *heed_data_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                                    const heed_data_opts *opts);
/* What input i is called: "age", or "colour=red" for a category; columns without names have numbers. Writes at most
 * `size` bytes with the final 0, and gives the length that it has, as snprintf does; 0: no such input. */
HEED_API size_t heed_data_input_name(const heed_data *data, int64_t i, char *out, size_t size);
/* Digits drawn by strokes of our own with random slant, thickness, place and noise: n pictures of 28 x 28 bytes;
 * picture i depends on (seed, i) alone. */
HEED_API heed_data *heed_data_digits(heed_ctx *cx, uint64_t seed, int64_t n);
/* Pictures of 32 x 32 bytes, each of two small shapes out of four kinds, at least half of the side apart: class 1,
 * "same", where both are of one kind, else 0, "different". Picture i depends on (seed, i) alone. */
HEED_API heed_data *heed_data_same_shapes(heed_ctx *cx, uint64_t seed, int64_t n);
HEED_API void heed_data_free(heed_ctx *cx, heed_data *data);
/* The last `fraction` (at least 0, less than 1) of a permutation of (seed) becomes *valid, the rest *train: indices
 * into data, owned by the caller (heed_mem_free). Neither is empty, unless fraction is 0. */
HEED_API bool heed_data_split(heed_ctx *cx, const heed_data *data, double fraction, uint64_t seed, int64_t **train,
                              int64_t *n_train, int64_t **valid, int64_t *n_valid);
/* Mean and deviation (sqrt of the mean square distance) of each input column over n examples (rows NULL: all), for
 * standardising: the deviation of a column that is constant is given as 1, so that one can divide by it. */
HEED_API bool heed_data_moments(heed_ctx *cx, const heed_data *data, const int64_t *rows, int64_t n, float *mean,
                                float *std);
/* A view of the data as columns: x and, where there are targets, labels or y. It borrows data's memory. */
HEED_API bool heed_data_columns(heed_ctx *cx, const heed_data *data, heed_dataset *set);

/* ---- parallel text ---- pair i is a source, id[start[2i]] to id[start[2i+1]], and its target up to id[start[2i+2]],
 * each with the special tokens that its tokenizer adds. */
typedef struct heed_pairs {
    int64_t n;
    int32_t *id;
    int64_t *start;           /* (2 n + 1) */
    int64_t *line;            /* (n): of the text */
    int64_t empty, long_ones; /* pairs that were skipped, see heed_pairs_opts */
    int64_t unknown;          /* unknown tokens */
} heed_pairs;
/* Which pairs are skipped. Validation and test sets keep all of them, so that pair i is line i; an empty line is
 * encoded as its special tokens. */
typedef struct heed_pairs_opts {
    bool skip_empty;    /* skip pairs with a blank side; counted in `empty` */
    int64_t max_length; /* maximum tokens of a side, special ones included; longer pairs are counted in `long_ones`; 0:
                           any */
} heed_pairs_opts;
/* Lines of two languages, as many of one as of the other, and their tokenizers. */
typedef struct heed_parallel_text {
    const heed_lines *source, *target;
    const heed_tokenizer *source_tokens, *target_tokens;
} heed_parallel_text;
/* opts NULL: all pairs are kept. *pairs is overwritten. */
HEED_API bool heed_pairs_encode(heed_ctx *cx, const heed_parallel_text *text, const heed_pairs_opts *opts,
                                heed_pairs *pairs);
/* Encodes the pairs of a text again with BPE-dropout (Provilkov et al. 2020): pair i has random streams of its own in
 * every epoch. A pair that would have more than `max_length` tokens on a side (0: any number) keeps its tokens. */
typedef struct heed_resample_opts {
    double dropout; /* probability of passing over a merge */
    int64_t max_length;
    uint64_t seed;
    int64_t epoch;
} heed_resample_opts;
HEED_API bool heed_pairs_resample(heed_ctx *cx, const heed_parallel_text *text, const heed_pairs *pairs,
                                  const heed_resample_opts *opts, heed_pairs *resampled);
HEED_API void heed_pairs_free(heed_ctx *cx, heed_pairs *pairs);
/* The ids of either side of pair i, which stay the pairs': neither to be added to nor freed. Empty: no such pair. */
HEED_API heed_ids heed_pair_source(const heed_pairs *pairs, int64_t i);
HEED_API heed_ids heed_pair_target(const heed_pairs *pairs, int64_t i);

/* A view of them as columns: input_ids with attention_mask, padded with the padding token, and labels. */
HEED_API bool heed_pairs_columns(heed_ctx *cx, const heed_pairs *pairs, int32_t pad, heed_dataset *set);

/* ---- a bilingual grammar ---- of ours: English sentences, each with its one German translation. Articles, endings and
 * pronouns follow gender, number and case; verbs stand second, first or last; "bank" is a Bank or an Ufer, and "it" is
 * er, sie or es, by other words of the sentence. Natural text, at most 24 words. */
typedef enum heed_grammar_kind {
    HEED_GRAMMAR_ANY,      /* to ask for: of all kinds, in fixed shares */
    HEED_GRAMMAR_PLAIN,    /* a main clause */
    HEED_GRAMMAR_RELATIVE, /* with a relative clause */
    HEED_GRAMMAR_CLAUSE,   /* with a clause behind because, although, when, if or that */
    HEED_GRAMMAR_QUESTION,
    HEED_GRAMMAR_JOINED, /* two clauses with and or but */
    HEED_GRAMMAR_PRONOUN /* "The animal didn't cross the street because it was too tired." */
} heed_grammar_kind;
/* A sentence is held out, about one in 16 is, by its English text alone, with capital and stop; those that the demo
 * shows are. */
typedef enum heed_grammar_part { HEED_GRAMMAR_WHOLE, HEED_GRAMMAR_TRAIN, HEED_GRAMMAR_HELD_OUT } heed_grammar_part;
typedef struct heed_grammar {
    uint64_t seed;
    heed_grammar_part part;
    heed_grammar_kind kind;
    /* Share of pairs, 0 to 1, whose English is as people type it in haste: without its capital, without its stop, or
     * without both. The German is whole. */
    double casual;
} heed_grammar;
/* Adds pair number `index`, which depends on (grammar, index) alone, to both strings. kind, unless NULL: what it is. */
HEED_API bool heed_grammar_pair(heed_ctx *cx, const heed_grammar *grammar, uint64_t index, heed_string *english,
                                heed_string *german, heed_grammar_kind *kind);
/* n pairs from number `first` on, as lines that the caller frees. */
HEED_API bool heed_grammar_lines(heed_ctx *cx, const heed_grammar *grammar, uint64_t first, int64_t n,
                                 heed_lines *english, heed_lines *german);
HEED_API bool heed_grammar_held_out(const char *english);
/* The pronoun behind "weil" or "obwohl" in a German sentence, the grammar's or a model's: "er", "sie", "es", or NULL
 * when there is none. A pair of kind HEED_GRAMMAR_PRONOUN is translated rightly only if both agree. */
HEED_API const char *heed_grammar_pronoun(const char *german);

#ifdef __cplusplus
}
#endif
#endif
