/* Sets of characters as Python's `tokenizers` has them: see tests/oracle/unicode_tables.py. */
#ifndef TEXT_UNICODE_UNICODE_TABLES_H
#define TEXT_UNICODE_UNICODE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unicode_span {
    int32_t first, last;
};
struct script_span {
    int32_t first, last;
    uint8_t number;
};

bool peer_is_punctuation(int32_t c); /* and ASCII's symbols */
bool peer_is_other(int32_t c);       /* control, format, private use */
bool peer_is_nonspacing(int32_t c);
bool peer_is_mark(int32_t c);
bool peer_keeps_whole(int32_t c); /* has no decomposition there although utf8proc knows one */
bool peer_is_starter(int32_t c);  /* has combining class 0 there although utf8proc knows another */
int peer_script(int32_t c);       /* a number per script; 0: goes with any */

#endif
