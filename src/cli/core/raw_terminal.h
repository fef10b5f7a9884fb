/* The terminal in raw mode: every key as it is pressed, nothing echoed. */
#ifndef CLI_CORE_RAW_TERMINAL_H
#define CLI_CORE_RAW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Standard input and output are a terminal that can be drawn on. */
bool raw_terminal_possible(void);
/* Raw mode on; signals wait from now on until raw_terminal_wait. False: the terminal refuses. */
bool raw_terminal_begin(void);
/* As it was before; does nothing outside raw mode. */
void raw_terminal_end(void);
/* Waits until there are bytes to read, for at most so many milliseconds (-1: for ever). */
enum raw_event {
    RAW_BYTES,
    RAW_TIMEOUT,
    RAW_RESIZED,
    RAW_RESUMED, /* after a stop: raw mode is on again, and all must be drawn */
    RAW_SIGNAL   /* its effect was to go on: the terminal is as it was, raw mode is over */
};
enum raw_event raw_terminal_wait(int milliseconds);
/* Stops the process as Ctrl-Z does. */
void raw_terminal_stop(void);
void raw_terminal_size(int *width, int *height);
/* All of the bytes; false: the terminal is gone. */
bool raw_terminal_write(const char *bytes, size_t size);

#endif
