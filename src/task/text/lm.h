/* Language models: documents and conversations on their way to rows of tokens. */
#ifndef TASK_TEXT_LM_H
#define TASK_TEXT_LM_H

#include "task/task.h"

/* Texts that may hold newlines, as heed_lines has them; {0} is empty. */
struct documents {
    heed_string text;
    int64_t *start, count, room;
};
bool documents_put(heed_ctx *cx, struct documents *to, const char *text, size_t size);
bool documents_take(heed_ctx *cx, struct documents *from, heed_lines *to); /* moves them; *from is empty again */
void documents_free(heed_ctx *cx, struct documents *d);
/* Cuts a text at lines that are blank, or that are `separator`; documents of nothing but white space are left out. */
bool documents_cut(heed_ctx *cx, const char *text, size_t size, const char *separator, struct documents *to);
/* How many of them are to train on, when the last `fraction` of their bytes is held out: at least one, and not all of
 * several. */
int64_t documents_kept(const heed_lines *documents, double fraction);

/* ---- conversations ---- */

/* The messages of several, whose texts are lines elsewhere. */
struct conversations {
    heed_ids role;  /* of each message */
    heed_ids first; /* the first message of each conversation, and behind the last */
};
void conversations_free(heed_ctx *cx, struct conversations *c);
bool conversations_named(const char *path); /* by the ending of the file: .jsonl or .json, perhaps .gz */
/* JSON lines: {"messages": [{"role": …, "content": …}, …]}, or "conversations" with "from" and "value". */
bool conversations_read(heed_ctx *cx, const char *path, const char *name, struct documents *texts,
                        struct conversations *to);
/* Conversation i as tokens, with 1 where they belong to an answer. */
bool conversations_encode(heed_ctx *cx, const struct conversations *c, const heed_lines *texts, int64_t i,
                          const heed_chat_format *format, const heed_tokenizer *tokens, heed_ids *ids,
                          heed_ids *answer);

/* ---- streams ----  streams.c */

/* The tokens of a part of an encoded stream, 0: what is trained on, 1: what is held out; NULL: it is no stream. */
const int32_t *lm_tokens(const heed_task_data *data, int part, int64_t *count, int64_t *context);
void lm_name(const heed_task_data *data, char text[64]); /* which text, for checkpoints */
/* Adds up the loss of the tokens in a part's first windows, whose state is carried from one to the next, and counts
 * them. */
bool streams_measure(heed_ctx *cx, const heed_model *model, const heed_task_data *data, int part, int64_t windows,
                     double *sum, int64_t *tokens);

/* ---- packing ----  packer.c
 *
 * A row holds parts of several sequences, each a segment with positions from 0 on. The label of a token is the one
 * after it. */
#define PACKER_OPEN 16 /* rows that are filled at a time */
struct packer_row {
    heed_ids ids, positions, segments, next;
};
struct packer {
    int64_t context; /* tokens of a row */
    heed_dataset *set;
    struct packer_row row[PACKER_OPEN];
};
/* Adds n tokens; answer (may be NULL): those that are to be predicted. Sequences longer than a row go into several. */
bool packer_put(heed_ctx *cx, struct packer *p, const int32_t *ids, int64_t n, const int32_t *answer);
bool packer_end(heed_ctx *cx, struct packer *p); /* the rows under way become examples */
void packer_free(heed_ctx *cx, struct packer *p);

#endif
