/* Commands that answer every picture of the command line, or every path of standard input, with a model of pictures:
 * classify, embed, similar. Pictures that wait are run together; a bad one is reported and the others are answered. */
#ifndef CLI_CORE_EACH_PICTURE_H
#define CLI_CORE_EACH_PICTURE_H

#include "cli/core/options.h"
#include "heed/vision.h"

#define PICTURES_AT_ONCE 64 /* pictures that wait */

struct each_picture {
    const struct options *o;
    heed_ctx *cx;
    heed_picture_model *m;
    heed_image picture[PICTURES_AT_ONCE];
    char *path[PICTURES_AT_ONCE];
    int64_t n, pixels, bad;
    void *own; /* the command's */
};

struct each_picture_command {
    const char *task;                      /* of the model: "classify", "embed" */
    bool (*begin)(struct each_picture *e); /* the model is open; NULL: nothing is to be done */
    /* Computes and prints those from `first` on; false: the context has failed, and nothing was printed. */
    bool (*answer)(struct each_picture *e, int64_t first, int64_t n);
    bool (*reject)(struct each_picture *e, const char *path); /* in place of the answer to a bad one; NULL: nothing */
    bool (*finish)(struct each_picture *e, bool good);        /* gives back what begin took; NULL: it took nothing */
};
int each_picture_run(const struct each_picture_command *c, const struct options *o);

/* An answer that begins with the path of its picture under `key`, and its printing, which frees it. */
heed_json each_picture_json(const struct each_picture *e, const char *key, const char *path);
void each_picture_put(const struct each_picture *e, heed_json at, const char *key, const char *path);
void each_picture_print(const struct each_picture *e, heed_json at);
void each_picture_pool(struct each_picture *e); /* the model pools as asked for */

#endif
