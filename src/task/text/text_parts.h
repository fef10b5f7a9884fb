/* Data of text tasks by path: files, or directories with parts. */
#ifndef TASK_TEXT_TEXT_PARTS_H
#define TASK_TEXT_TEXT_PARTS_H

#include "heed/task.h"
#include "model/core/directory.h"
#include "task/run.h"

/* The file of a directory that holds `part` ("train", "valid", "test") under one of its usual names; path itself when
 * it is a file. NULL: the directory has none. */
const char *texts_part(const char *path, const char *part, char out[PATH_ROOM]);
/* Fails because a directory has no file to train on; the sentence says what it holds instead. */
bool texts_fail_train(heed_ctx *cx, const char *path);
/* Whether a file or directory holds chorales of this part. */
bool texts_chorales(heed_ctx *cx, const char *path, const char *part);
/* The options of reading that the fields give. */
heed_task_opts texts_opts(const heed_run *r);

#endif
