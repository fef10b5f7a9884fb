/* JSON, value after value, without a document in memory: for files of hundreds of megabytes whose values are of a few
 * known kinds, such as COCO's annotations. As strict as heed_json_parse, except that keys may occur twice, and that of
 * strings that are skipped only the end is looked for. */
#ifndef IO_JSON_SCAN_H
#define IO_JSON_SCAN_H

#include "heed/io.h"

#define JSON_SCAN_KEY 64

struct json_scan {
    heed_ctx *cx;
    const char *name; /* of the file, for sentences */
    const char *text, *at, *end;
    int depth;
    bool fresh;              /* an array or object has just been opened */
    char key[JSON_SCAN_KEY]; /* of the member; a longer one is cut short, and its last byte but the 0 is 0xFF */
    char *word;              /* the last text, which ends in 0 */
    size_t word_room;
};

/* The text is followed by a byte 0. What json_scan_done gives back is the last text's memory; it is called whatever
 * happens, and checks that nothing follows the value, unless the context has failed. */
void json_scan_begin(heed_ctx *cx, struct json_scan *s, const char *name, const char *text, size_t size);
bool json_scan_done(struct json_scan *s);

heed_json_kind json_scan_kind(struct json_scan *s); /* of the value that comes next, by its first byte */

/* Walks:
 *     for (bool more = json_scan_object(s); more && json_scan_member(s);) { look at s->key, read or skip the value } */
bool json_scan_object(struct json_scan *s);
bool json_scan_member(struct json_scan *s); /* false: the object has ended, or the context has failed */
bool json_scan_array(struct json_scan *s);
bool json_scan_item(struct json_scan *s);

bool json_scan_number(struct json_scan *s, double *out);
bool json_scan_int(struct json_scan *s, int64_t *out);      /* also 7.0 */
bool json_scan_bool(struct json_scan *s, bool *out);        /* also 0 and 1 */
bool json_scan_text(struct json_scan *s, const char **out); /* valid until the next text */
bool json_scan_skip(struct json_scan *s);                   /* any value, checked on the way */

/* Fails: "file: line 3, column 7: ...". */
bool json_scan_fail(struct json_scan *s, const char *format, ...) HEED_PRINTF(2, 3);

#endif
