/* Files of pictures in folders or in a tar archive, and their classes. */
#ifndef DATA_PICTURE_LIST_H
#define DATA_PICTURE_LIST_H

#include "data/data.h"
#include "heed/image.h"

struct picture_file {
    char *path; /* in sentences, and of the file */
    char *of;   /* its class, within path */
    size_t of_length;
    const unsigned char *bytes; /* in the archive; NULL: in the file */
    size_t size;
};

struct picture_list {
    heed_ctx *cx;
    const char *name; /* of the folder or archive */
    struct picture_file *file;
    int64_t n, room;
    const unsigned char *archive; /* another list's where it is given, else read when it is needed */
    size_t archive_size;
    unsigned char *own; /* the archive, where this list has read it */
    bool loose;         /* pictures that are in no folder of a class are taken too, of a class whose name is empty */
};

bool picture_named(const char *name); /* .png, .jpg or .jpeg, and something before it */
/* The pictures of a part (NULL: of CLASS/NAME), sorted by their paths; _open takes all of what has classes and no
 * parts, and fails where there are none. */
bool picture_list_find(struct picture_list *l, const char *part);
bool picture_list_open(struct picture_list *l, const char *part);
/* Labels, classes and class names of `out`, like those of `like` where it is given. */
bool picture_list_classes(const struct picture_list *l, const heed_data *like, heed_data *out);
/* By any context: the list is only read. */
bool picture_decode(heed_ctx *cx, const struct picture_file *f, heed_image_mode mode, heed_image *out);
void picture_list_free(struct picture_list *l);

#endif
