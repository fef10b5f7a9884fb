/* Runs of tasks of text. texts_data.c reads the data, texts_model.c makes the model, texts_way.c trains and measures.
 */
#ifndef TASK_TEXT_TEXTS_H
#define TASK_TEXT_TEXTS_H

#include "task/run.h"
#include "task/task.h"
#include "task/text/chat_template.h"
#include "task/text/text_parts.h"

enum text_set { TRAIN, VALID, TEST, SETS };

struct texts {
    const heed_text_task *task;
    heed_task_data *data[SETS]; /* NULL: none; validation may be rows of TRAIN */
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_task_opts opts;
    heed_tokenizer *tokens;
    heed_text_reader reader;
    heed_source *source;
    heed_streams *streams;   /* in its place, where state is carried */
    heed_dataset drawn;      /* of the epoch under way, where rows are drawn */
    struct chat_choice chat; /* of conversations */
    uint64_t seed;
    heed_forcing forcing;
    heed_text_model *answering; /* the trained directory, once something is asked of it */
};
static inline struct texts *texts_of(const heed_run *r) { return r->user; }
static inline bool texts_are_chat(const struct texts *t) { return heed_task_conversations(t->data[TRAIN]); }
static inline const char *texts_tokenizer(const heed_run *r) { /* the one asked for; NULL: none */
    return run_knows(r, "tokenizer") ? run_text(r, "tokenizer") : NULL;
}

/* ---- texts_data.c ---- */

bool texts_read(heed_run *r);             /* reads all sets, from the parts that the task has */
bool texts_make_tokenizer(heed_run *r);   /* loads it, or trains one on the texts; adds the tokens of the chat format */
bool texts_split(heed_run *r);            /* holds examples out for validation, where no file holds them */
double texts_fraction(const heed_run *r); /* of the examples, that is held out */
/* One set: `part` of a file that holds several, or NULL. */
bool texts_read_set(heed_run *r, enum text_set set, const char *path);

/* Notes how many texts, or words, of the data were cut; nothing when none were. */
void texts_say_cut(heed_ctx *cx, const char *path, const heed_task_data *data, int64_t cut, int64_t max_length);

/* ---- texts_model.c ---- */

bool texts_takes_chat(const heed_run *r); /* a model of --init learns where answers end, and has rows for new tokens */
heed_model *texts_model(const heed_run *r, heed_ctx *cx);

#endif
