/* Parallel text from files, preprocessed as a model wants it. */
#ifndef CLI_PARALLEL_H
#define CLI_PARALLEL_H

#include "heed/translate.h"
#include "model/directory.h"

/* The source and target lines of `part` ("train", "val", "test") of a directory, or of the files PATH.LANGUAGE (also
 * .gz), or of a .tsv of two columns; as many of one as of the other. False with a sentence when they are not there. */
bool parallel_read(heed_ctx *cx, const char *path, const char *part, const heed_preprocessing *prep,
                   heed_lines lines[2]);
/* Preprocesses lines in place. */
bool parallel_preprocess(heed_ctx *cx, const heed_preprocessing *prep, heed_text_side side, heed_lines *lines);
/* Whether a directory has that part. */
bool parallel_has(const char *path, const char *part, const heed_preprocessing *prep);
/* The file that holds a side of a part, for sentences; where it is not found, `path`. */
const char *parallel_file(const char *path, const char *part, const heed_preprocessing *prep, heed_text_side side,
                          char out[PATH_ROOM]);
void parallel_free(heed_ctx *cx, heed_lines lines[2]);

#endif
