/* heed/task.h: models of text for use and for fine-tuning: a Hugging Face directory, texts in, answers out.
 *
 *     heed_text_model *m = heed_text_model_open(cx, "all-MiniLM-L6-v2", "embed");
 *     const heed_text_input texts[] = {{.text = "A man is eating food."}, {.text = "Someone eats."}};
 *     heed_embed(cx, m, texts, 2, vectors, NULL);              (2, heed_text_width(cx, m))
 *
 * A task (classify, tag, mlm, …) says how its data are read and what is measured; heed train and heed eval go by it,
 * and so may a program. */
#ifndef HEED_TASK_H
#define HEED_TASK_H

#include "heed/chat.h"
#include "heed/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- from text to inputs ---- */

/* How a model takes text. */
typedef struct heed_text_reader {
    const heed_tokenizer *tokens;
    int64_t max_length; /* most tokens of an input, special ones included; what is longer is cut. 0: any */
    int32_t pad;        /* the padding token */
    bool types;         /* the model takes token_type_ids */
    bool next;          /* it takes shift_labels: next tokens, as language models do, */
    bool packs;         /* and segment_ids: several sequences in a row */
    bool prefix_space;  /* single words are encoded with a space before them, see heed_encode_opts */
} heed_text_reader;
/* Of a model, with the positions that it has; max_length 0: as many as these. */
HEED_API bool heed_text_reader_of(heed_ctx *cx, const heed_model *model, const heed_tokenizer *tokens,
                                  int64_t max_length, heed_text_reader *reader);

typedef struct heed_text_input {
    const char *text;
    size_t size;      /* bytes; 0: up to its final 0 */
    const char *pair; /* a second text; NULL: none */
    size_t pair_size;
    const heed_word *words; /* instead of the text: a sentence as its words; NULL: none */
    int64_t n_words;
} heed_text_input;
/* The columns of inputs: input_ids with attention_mask and, where the model takes them, token_type_ids. */
HEED_API void heed_text_columns(const heed_text_reader *reader, heed_dataset *set);
/* A text as the cells of these columns, which are valid until the encoding is used again. *cut (may be NULL) becomes
 * true when it was too long. */
HEED_API bool heed_text_cells(heed_ctx *cx, const heed_text_reader *reader, const heed_text_input *text,
                              heed_encoding *room, heed_ids *ids, heed_cell *cells, bool *cut);

/* ---- vocabularies ---- with the special tokens that models want */

/* "char", "word", "bpe", "byte-bpe", "wordpiece" or "unigram" */
HEED_API heed_tokenizer_kind heed_vocabulary_kind(const char *name);
/* One for n texts, of at most `size` tokens, that appends the end-of-sentence token: for translating. */
HEED_API heed_tokenizer *heed_vocabulary_train(heed_ctx *cx, const heed_lines *const *texts, int n,
                                               heed_tokenizer_kind kind, int64_t size);
/* The same for an encoder: text between [CLS] and [SEP], with [PAD], [UNK] and [MASK]. */
HEED_API heed_tokenizer *heed_vocabulary_train_encoder(heed_ctx *cx, const heed_lines *const *texts, int n,
                                                       heed_tokenizer_kind kind, int64_t size);
/* The same for a language model: texts that may hold newlines, with <|endoftext|> between them. chat: with the tokens
 * of ChatML, for conversations. */
HEED_API heed_tokenizer *heed_vocabulary_train_lm(heed_ctx *cx, const heed_lines *const *texts, int n,
                                                  heed_tokenizer_kind kind, int64_t size, bool chat);
/* The token at the end of a text, by its usual names; -1: none. */
HEED_API int32_t heed_vocabulary_end_of_text(const heed_tokenizer *t);
/* The same for T5: <pad>, </s> and <unk> take the first ids, then the sentinels <extra_id_0> to <extra_id_99>; </s> is
 * appended. */
HEED_API heed_tokenizer *heed_vocabulary_train_text2text(heed_ctx *cx, const heed_lines *const *texts, int n,
                                                         heed_tokenizer_kind kind, int64_t size);
HEED_API int32_t heed_vocabulary_padding(const heed_tokenizer *t); /* by its usual names; 0: none has them */
/* The ids of the padding and end-of-sentence tokens, by their usual names; -1 and a failed context without one. */
HEED_API int32_t heed_vocabulary_pad(heed_ctx *cx, const heed_tokenizer *t);
HEED_API int32_t heed_vocabulary_end(heed_ctx *cx, const heed_tokenizer *t);
/* Fails the context when it does not append the end-of-sentence token: translations would never end. */
HEED_API bool heed_vocabulary_ends(heed_ctx *cx, const heed_tokenizer *t);

/* ---- parallel text ---- */

/* The source and target lines of `part` ("train", "val", "test") of a directory, or of the files PATH.LANGUAGE (also
 * .gz), or of a .tsv of two columns; as many of one as of the other, preprocessed. False with a sentence when they are
 * not there. */
HEED_API bool heed_parallel_read(heed_ctx *cx, const char *path, const char *part, const heed_preprocessing *prep,
                                 heed_lines lines[2]);
HEED_API bool heed_parallel_preprocess(heed_ctx *cx, const heed_preprocessing *prep, heed_text_side side,
                                       heed_lines *lines); /* in place */
HEED_API bool heed_parallel_has(const char *path, const char *part, const heed_preprocessing *prep);
/* The file that holds a side of a part, for sentences; where it is not found, `path`. out: 4096 bytes. */
HEED_API const char *heed_parallel_file(const char *path, const char *part, const heed_preprocessing *prep,
                                        heed_text_side side, char *out);
HEED_API void heed_parallel_free(heed_ctx *cx, heed_lines lines[2]);

/* ---- tasks ---- */

typedef struct heed_text_task heed_text_task;
HEED_API const heed_text_task *heed_text_task_find(const char *name); /* "classify"; NULL: there is none */
HEED_API const char *heed_text_task_name(const heed_text_task *task);
HEED_API const char *heed_text_task_metrics(const heed_text_task *task); /* by name: "accuracy f1_macro" */

/* Data of a task: read, then encoded for a model's tokenizer. */
typedef struct heed_task_data heed_task_data;
typedef struct heed_task_opts {
    const char *text, *pair, *target; /* columns of a table, by name or number (from 1); NULL: the first; the second of
                                       * three or more; the last */
    heed_table_options table;
    const heed_task_data *like; /* labels as in this one: for the test set of a training set */
    char **labels;              /* or as in this list, which ends in NULL */
    int64_t max_length;         /* most tokens of a sequence: of masked words, 0: 128; of questions, 0: 384 */
    double masked;              /* of masked words: the share of tokens; 0: 0.15 */
    double span;                /* of text to text: the mean length of the spans to predict, in tokens; 0: 3 */
    const char *prefix;         /* of text to text: before every source; NULL: none */
    int64_t max_target_length;  /* of text to text: most tokens of a target; 0: as of a source */
    int64_t decoded;            /* of text to text: so many pairs are decoded to measure ROUGE-L; 0: none */
    double temperature;         /* of pairs that belong together; 0: 0.05 */
    bool whole_words;           /* of masked words: all pieces of a word or none */
    bool sentence_order;        /* of pairs of segments: half of them change places, as for ALBERT; else half of the
                                 * second ones come from other documents, as for BERT */
    const char *class_weights;  /* of classes and tags: "balanced", or one number for each class as a,b; NULL: all 1 */
    const char *choices; /* of multiple choice: the columns of the choices, "a,b"; NULL: all but text and target */
    int64_t stride;      /* of questions: tokens that windows over a long context share; 0: 128 */
    int64_t max_answer_length; /* of questions: most tokens of an answer; 0: 30 */
    /* Of language models, where `max_length` is the context (0: 256): */
    double held_out;       /* this fraction of the text, its end, becomes rows of their own (heed_task_held_out) */
    bool documents;        /* documents are packed into rows, and none looks at another; else the text is one stream */
    const char *separator; /* a line between documents; NULL: blank lines, and a stream has no documents */
    const heed_chat_format *chat; /* of conversations; NULL: ChatML */
    bool in_order;                /* windows over a stream lie one behind the other; else each epoch draws others */
    bool carry; /* the state of a recurrent model goes on from window to window, in order; see heed_streams */
    /* Of music, where `max_length` is the context (0: 512) and `held_out` a fraction of the chorales: */
    const char *part;  /* "train", "valid" or "test" of a file that holds several; NULL: all of it */
    bool drawn;        /* to train on: windows of chorales, drawn anew in each epoch; else all of each, to measure */
    int64_t transpose; /* these windows are moved by up to so many semitones, within the ranges of the voices */
} heed_task_opts;
HEED_API heed_task_data *heed_task_read(heed_ctx *cx, const heed_text_task *task, const char *path,
                                        const heed_task_opts *opts);
HEED_API bool heed_task_encode(heed_ctx *cx, heed_task_data *data, const heed_text_reader *reader);
HEED_API void heed_task_free(heed_ctx *cx, heed_task_data *data);

HEED_API int64_t heed_task_count(const heed_task_data *data);        /* examples */
HEED_API int64_t heed_task_cut(const heed_task_data *data);          /* texts that were too long, or words beyond */
HEED_API const char *heed_task_cut_name(const heed_task_data *data); /* which of the two: "text", "word" */
/* Where an example may become several rows of the columns, windows of a long context: how many examples there are, and
 * which of them a row is part of. */
HEED_API int64_t heed_task_examples(const heed_task_data *data);
HEED_API int64_t heed_task_example(const heed_task_data *data, int64_t row);
/* Rows at the end that are for validation, where the task says which; -1: any may be. */
HEED_API int64_t heed_task_held_out(const heed_task_data *data);
HEED_API bool heed_task_conversations(const heed_task_data *data); /* of a language model: texts of several roles */
HEED_API void heed_task_set_chat(heed_task_data *data, const heed_chat_format *chat); /* before they are encoded */
HEED_API bool heed_task_counts_tokens(const heed_task_data *data); /* what is seen is counted in tokens, not examples */
/* Puts what a checkpoint must agree with, beside the columns: names and texts. */
HEED_API void heed_task_settings(heed_ctx *cx, const heed_task_data *data, heed_json at);
HEED_API const char *heed_task_metrics(const heed_task_data *data);           /* of the task on these data, by name */
HEED_API int64_t heed_task_labels(const heed_task_data *data, char ***names); /* classes, with their names; 0: none */
/* Puts these names into the config of a model with a head for as many classes (id2label, label2id), from where
 * heed_model_save writes them and heed_model_labels reads them. Data without classes change nothing. */
HEED_API bool heed_task_describe(heed_ctx *cx, const heed_task_data *data, heed_model *model);
/* The true class of each example, or of each word where words are tagged; NULL: there are none. */
HEED_API const int32_t *heed_task_truth(const heed_task_data *data, int64_t *n);
HEED_API const heed_lines *heed_task_texts(const heed_task_data *data);     /* to train a tokenizer on */
HEED_API const heed_lines *heed_task_pairs(const heed_task_data *data);     /* the second texts; NULL: none */
HEED_API const heed_dataset *heed_task_columns(const heed_task_data *data); /* once encoded */
/* What is drawn anew in each epoch; NULL: nothing. own: of the transform. */
HEED_API heed_transform heed_task_transform(const heed_task_data *data, const void **own);
/* Where rows, lengths included, are drawn anew in each epoch (pairs of segments): those of an epoch, as many as there
 * are, what they take from others being from these n rows (NULL: all). The set is heed_dataset_free's. */
HEED_API bool heed_task_draws(const heed_task_data *data);
HEED_API bool heed_task_draw(heed_ctx *cx, const heed_task_data *data, uint64_t seed, int64_t epoch,
                             const int64_t *rows, int64_t n, heed_dataset *set);
/* The loss, where it is not that of the model's head; NULL: it is. own: of the function. */
HEED_API heed_forward heed_task_forward(const heed_task_data *data, const void **own);
/* Whether it compares the rows of a batch, which then are not to be of similar length. */
HEED_API bool heed_task_mixes(const heed_task_data *data);
/* Writes the files that the task's models have beside their own, such as sentence-transformers'. */
HEED_API bool heed_task_write(heed_ctx *cx, const heed_text_task *task, const heed_model *model,
                              const heed_text_reader *reader, const char *dir);

/* T5's corrupted spans (Raffel et al. 2020): of n tokens, 2 or more, some spans become sentinels in the input, and the
 * target is the sentinels with what they stand for; both end with `end`. Their lengths depend on n alone, where the
 * spans lie on seed and stream. */
typedef struct heed_spans {
    double share, mean; /* of the tokens in spans, 0: 0.15; length of a span, 0: 3 */
    const int32_t *sentinels;
    int64_t n_sentinels; /* at least 1 */
    int32_t end;
} heed_spans;
HEED_API void heed_span_lengths(const heed_spans *how, int64_t n, int64_t *inputs, int64_t *targets);
HEED_API void heed_span_corrupt(const heed_spans *how, const int32_t *ids, int64_t n, uint64_t seed, uint64_t stream,
                                int32_t *input, int32_t *target);

/* Loss and metrics of a model on encoded data (rows NULL: all). predicted (may be NULL): the class of each example of
 * classify; of tag the tag of each word of the file, -1: it has none. */
HEED_API bool heed_task_measure(heed_ctx *cx, const heed_model *model, const heed_task_data *data, const int64_t *rows,
                                int64_t n, heed_score *score, int32_t *predicted);

/* ---- truncated backpropagation ---- the text of a language model as parallel streams, one for each row of a batch.
 * Updates go through them window by window, and carry the state of a model that has one (it takes `state`). An epoch
 * begins without a state. As in PyTorch's word_language_model, what is left over by cutting into streams is not used.
 */
typedef struct heed_streams_opts {
    const heed_task_data *train; /* of task lm with `carry`, encoded as one stream */
    const heed_task_data *valid; /* it has such, or held out in train; NULL: none */
    bool test;                   /* there is a test set, */
    int64_t n_test;              /* of so many rows; 0: not known */
    const heed_model *like;      /* whose states they are; only looked at now */
    int64_t batch;               /* streams */
    uint64_t seed;               /* of what forcing draws */
    const heed_forcing *forcing; /* see heed_source_opts; may be NULL */
    void *own;                   /* of the functions, which are those of heed_source_opts: */
    bool (*measure)(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score);
    bool (*measure_some)(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score);
    const char *metrics;
    void (*settings)(heed_ctx *cx, void *own, heed_json at);
} heed_streams_opts;
typedef struct heed_streams heed_streams;
/* What opts points to must stay until it is freed, but for `like`. */
HEED_API heed_streams *heed_streams_new(heed_ctx *cx, const heed_streams_opts *opts);
HEED_API void heed_streams_free(heed_ctx *cx, heed_streams *streams);
HEED_API const heed_loop_source *heed_streams_loop(const heed_streams *streams);

/* ---- using a model ---- */

typedef struct heed_text_model {
    heed_model *model;
    heed_tokenizer *tokens;
    heed_text_reader reader;
    int64_t labels; /* of the head */
    char **label;   /* their names; NULL: unknown */
    int pooling;    /* of embeddings, see heed_embed */
    bool normalise;
} heed_text_model;
/* task: what the directory's head must be for; "embed" takes the body of any. */
HEED_API heed_text_model *heed_text_model_open(heed_ctx *cx, const char *dir, const char *task);
HEED_API void heed_text_model_free(heed_ctx *cx, heed_text_model *m);

/* Probabilities of the labels, or the numbers of a regression: out (n, labels). *cut (may be NULL): texts that were too
 * long and were cut. */
HEED_API bool heed_classify(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n, float *out,
                            int64_t *cut);

/* Tags of words: of each sentence's words (heed_text_input.words), one sentence after the other, the number of the
 * likeliest label and its probability (may be NULL). -1: the word has no token. *cut (may be NULL): words that were
 * left out because their sentences were too long; they have -1 as well. */
HEED_API bool heed_tag(heed_ctx *cx, const heed_text_model *m, const heed_text_input *sentences, int64_t n,
                       int32_t *tag, float *score, int64_t *cut);
/* Where the labels are those of chunks (O, B-PER, I-PER, …; also E- and S-): the chunks of n words of a sentence, as
 * seqeval finds them. At most `room` are written; returns how many there are. */
typedef struct heed_chunk {
    const char *type; /* the model's */
    int64_t first, last;
} heed_chunk;
HEED_API int64_t heed_tag_chunks(const heed_text_model *m, const int32_t *tag, int64_t n, heed_chunk *found,
                                 int64_t room);

/* The answer to a question, a part of its context: of each (question, context) pair of texts the n_best likeliest
 * spans, best first, out (n, n_best). Long contexts are read in windows that overlap. */
typedef struct heed_answer_opts {
    int64_t max_length, stride; /* tokens of a window, and tokens that two of them share; 0: 384, 128 */
    int64_t max_answer_length;  /* most tokens; 0: 30 */
    int64_t n_best;             /* 0: 1; at most 20 are found */
    bool none;                  /* there may be no answer (SQuAD 2.0) */
} heed_answer_opts;
typedef struct heed_answered {
    int64_t start, end;  /* bytes of the context, */
    int64_t first, last; /* and characters; the last is the one behind it */
    float score;         /* probability among the 20 best spans */
    bool none;           /* no answer, or no further one */
} heed_answered;
HEED_API bool heed_answer(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n,
                          const heed_answer_opts *opts, heed_answered *out);

/* Multiple choice: probabilities of the choices of each question, one question after the other. *cut (may be NULL):
 * pairs of text and choice that were too long. */
typedef struct heed_choices {
    const char *text;
    const char *const *choice;
    int64_t n;
} heed_choices;
HEED_API bool heed_choose(heed_ctx *cx, const heed_text_model *m, const heed_choices *questions, int64_t n, float *out,
                          int64_t *cut);

/* Vectors of texts, out (n, heed_text_width), pooled as the directory's sentence-transformers files say: the mean of
 * the last hidden states, that of the class token, or their maxima; normalised to length 1 where they say so. */
enum { HEED_POOL_MEAN, HEED_POOL_CLS, HEED_POOL_MAX };
HEED_API int64_t heed_text_width(heed_ctx *cx, const heed_text_model *m);
HEED_API bool heed_embed(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n, float *out,
                         int64_t *cut);

/* The likeliest tokens for each mask token of a text: `found` (masks, top) in the order of the masks, best first; at
 * most `room` masks are filled. Returns their number; -1 when something failed. */
typedef struct heed_filled {
    int32_t id;
    float probability;
} heed_filled;
HEED_API int64_t heed_fill(heed_ctx *cx, const heed_text_model *m, const heed_text_input *text, int top, int64_t room,
                           heed_filled *found);

#ifdef __cplusplus
}
#endif
#endif
