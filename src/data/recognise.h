/* What a directory of data holds: to read it, or to say what it is and how it can be read. */
#ifndef DATA_RECOGNISE_H
#define DATA_RECOGNISE_H

#include "heed/base.h"

#define FOUND_PATH 4096

bool data_is_folder(const char *path);
bool data_is_file(const char *path);
/* The file of a directory that holds `part` ("train", "valid" or "val", "test") under one of its usual names, with one
 * of these endings (before any .gz), which a NULL ends. */
bool data_part_file(const char *folder, const char *part, const char *const *endings, char out[FOUND_PATH]);
extern const char *const data_text_endings[], *const data_table_endings[];

bool data_has_idx(const char *folder);      /* files of MNIST's format */
bool data_has_labels(const char *folder);   /* the same of classes */
bool data_has_parts(const char *folder);    /* folders train, val or test */
bool data_has_classes(const char *folder);  /* of pictures, CLASS/NAME.png, without parts */
bool data_has_pictures(const char *folder); /* that lie in it, in no folder */
/* Whether a directory has a test part of its own, in any of the layouts. */
bool data_has_test(const char *folder);

bool data_has_text_files(const char *folder); /* texts in a file each, [train/]CLASS/NAME.txt */
/* The languages of two files of a directory that differ in nothing else, train.de and train.en. */
bool data_languages(const char *folder, char from[3], char to[3]);

/* Fails: says what a directory holds that cannot be read as it is, and what to do ("an archive; --data ... reads it"),
 * or else `otherwise`. */
bool data_refuse(heed_ctx *cx, const char *folder, const char *otherwise);

#endif
