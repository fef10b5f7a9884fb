/* attention_page.html, picture_page.html, graph_page.html and their scripts, as embedded at build time
 * (cmake/embed.cmake). */
#ifndef PLOT_ATTENTION_PAGE_H
#define PLOT_ATTENTION_PAGE_H

#include <stddef.h>

extern const unsigned char attention_page_html[];
extern const size_t attention_page_html_size;
extern const unsigned char attention_page_js[];
extern const size_t attention_page_js_size;
extern const unsigned char picture_page_html[];
extern const size_t picture_page_html_size;
extern const unsigned char picture_page_js[];
extern const size_t picture_page_js_size;
extern const unsigned char graph_page_html[];
extern const size_t graph_page_html_size;
extern const unsigned char graph_page_js[];
extern const size_t graph_page_js_size;

#endif
