/* Files: mapped, read whole (gz too), and written so that a reader never sees half of one. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "heed/base.h"

/* A file mapped read-only. An empty file has data NULL and size 0. Reading behind the end of a file that was cut short
 * since is SIGBUS, which is left to the program: the library installs no handler. */
struct file_map {
    const unsigned char *data;
    size_t size;
};
bool file_map_open(heed_ctx *cx, const char *path, struct file_map *map);
void file_map_close(struct file_map *map);

/* The whole file in memory of heed's own (free with heed_mem_free), gunzipped when it begins with gzip's magic; "-" is
 * standard input. One byte 0 follows the contents and is not counted in *size. More than `limit` bytes is an error. */
unsigned char *file_read(heed_ctx *cx, const char *path, size_t limit, size_t *size);
/* The same, but pipes and devices are refused at once; standard input may be anything. For the files of a directory
 * that somebody else made. */
unsigned char *file_read_regular(heed_ctx *cx, const char *path, size_t limit, size_t *size);

/* Whether files can be written into the folder of this path; errno says why not. */
bool file_folder_writable(const char *path);

/* Written beside the target, synced, renamed over it by file_write_commit. After any failure nothing is left beside and
 * the target is as it was. A name that ends in .gz is written as gzip. "-" writes to standard output.
 * file_write_abort(NULL) is allowed. */
struct file_writer;
struct file_writer *file_write_open(heed_ctx *cx, const char *path);
bool file_write(struct file_writer *w, const void *data, size_t size); /* sticky: later calls do nothing */
bool file_write_commit(struct file_writer *w);                         /* frees w, whatever happens */
void file_write_abort(struct file_writer *w);

#endif
