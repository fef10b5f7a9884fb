/* Data of text tasks by path: files, or directories with parts. */
#ifndef CLI_TRAIN_TEXT_DATA_H
#define CLI_TRAIN_TEXT_DATA_H

#include "cli/core/options.h"
#include "heed/task.h"
#include "model/core/directory.h"

/* The file of a directory that holds `part` ("train", "valid", "test") under one of its usual names; path itself when
 * it is a file. NULL: the directory has none. */
const char *texts_part(const char *path, const char *part, char out[PATH_ROOM]);
/* Fails: a directory without a file to train on; what it holds instead is said. */
bool texts_fail_train(heed_ctx *cx, const char *path);

/* Whether a file or directory holds chorales of this part. */
bool texts_chorales(heed_ctx *cx, const char *path, const char *part);

/* What the options of the command say of the data. */
heed_task_opts texts_opts(const struct options *o);

/* Says on standard error how many texts, or words, of the data were cut; nothing when none were. */
void texts_say_cut(const char *path, const heed_task_data *data, int64_t cut, int64_t longest);

/* heed eval for models of text. */
void texts_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path);

#endif
