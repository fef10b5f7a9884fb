/* What pages are made of: text that cannot end the element it lies in, and numbers in base64. */
#ifndef PLOT_PAGE_PIECES_H
#define PLOT_PAGE_PIECES_H

#include "base/file.h"
#include "plot/buffer.h"

/* A JSON text within a script: '<', '>' and '&' are escapes. */
void page_text(struct buffer *b, const char *text);
/* Text of HTML. */
void page_escaped(struct buffer *b, const char *text);
bool page_base64(struct file_writer *file, const unsigned char *bytes, size_t n);
/* Weights as whole numbers, `scale` of them to `most` (255: a byte each, else two), little-endian, in base64. */
bool page_weights(struct file_writer *file, const float *w, int64_t n, unsigned scale, float most);

#endif
