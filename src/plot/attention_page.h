/* attention_page.html, as embedded at build time (cmake/embed.cmake). */
#ifndef PLOT_ATTENTION_PAGE_H
#define PLOT_ATTENTION_PAGE_H

#include <stddef.h>

extern const unsigned char attention_page_html[];
extern const size_t attention_page_html_size;

#endif
