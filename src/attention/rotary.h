/* Rotary positions on arrays, for exact attention: rotary_options checks what the caller asked for and fills in the
 * kernel's struct; the caller adds what its arrays are, and rotates them with kernel_rotary. */
#ifndef ATTENTION_ROTARY_H
#define ATTENTION_ROTARY_H

#include "heed/attention.h"
#include "kernel/rotary.h"

/* For heads of `size` channels. Positions are left to the caller: .start is set, opts->positions is not looked at.
 * False and a sentence, prefixed with `who`, when the options make no sense. */
bool rotary_options(heed_ctx *cx, const char *who, const heed_rotary_opts *opts, int64_t size, struct rotary *r);

#endif
