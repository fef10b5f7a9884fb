/* What pages are made of: text that cannot end the element it lies in, and numbers in base64. */
#ifndef PLOT_PAGE_PIECES_H
#define PLOT_PAGE_PIECES_H

#include "base/file.h"
#include "plot/buffer.h"

/* A JSON text within a script: '<', '>' and '&' are escapes. */
void page_text(struct buffer *b, const char *text);
/* Text of HTML. */
void page_escaped(struct buffer *b, const char *text);
/* A member of a JSON object with a comma behind it; NULL: none. */
void page_member(struct buffer *b, const char *name, const char *text);
/* <script type="text/plain" id="w0-3">, and its end: what numbers stand between. */
bool page_tag(struct file_writer *file, const char *id, int site, int layer);
bool page_tag_end(struct file_writer *file);
bool page_base64(struct file_writer *file, const unsigned char *bytes, size_t n);
/* Weights as whole numbers, `scale` of them to `most` (255: a byte each, else two), little-endian, in base64. */
bool page_weights(struct file_writer *file, const float *w, int64_t n, unsigned scale, float most);

/* A page of the source: its HTML, in which <title>Attention</title> becomes the title and the line, and <!-- data -->
 * what `data` writes, and its script, which stands behind that. Written beside and renamed; "-" is standard output. */
struct page_source {
    const unsigned char *html;
    size_t html_size;
    const unsigned char *script;
    size_t script_size;
    const char *op, *title, *line; /* op: how its errors begin; title, line NULL: none */
    bool (*data)(struct file_writer *file, void *arg);
    void *arg;
};
bool page_write(heed_ctx *cx, const char *path, const struct page_source *page);

#endif
