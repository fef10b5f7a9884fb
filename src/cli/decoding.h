/* The options of decoding, for the commands that decode. */
#ifndef CLI_DECODING_H
#define CLI_DECODING_H

#include "cli/options.h"
#include "heed/generate.h"

/* clang-format off */
#define LENGTH_PENALTY_OPTION                                                                                          \
    {"length-penalty", 0, OPTION_NUMBER, "1", "X", "scores are divided by length^X: larger prefers longer ones", -16, 16, NULL}
#define DECODING_OPTIONS                                                                                               \
    {"how to search", 0, OPTION_GROUP, NULL, NULL, NULL, 0, 0, NULL},                                                  \
    {"beam", 'b', OPTION_INT, "5", "N", "beginnings that are kept; 1: the likeliest token at every place", 1, 1024, NULL}, \
    LENGTH_PENALTY_OPTION,                                                                                             \
    {"max-length", 0, OPTION_INT, "0", "N", "most tokens, with start and end; 0: twice the source and ten more", 0, 1e9, NULL}, \
    {"min-length", 0, OPTION_INT, "0", "N", "least tokens", 0, 1e9, NULL},                                             \
    {"no-repeat", 0, OPTION_INT, "0", "N", "so many tokens in a row never come twice; 0: they may", 0, 1e6, NULL},    \
    {"sample", 0, OPTION_FLAG, NULL, NULL, "draw at random instead of searching", 0, 0, NULL},                         \
    {"temperature", 0, OPTION_NUMBER, "1", "X", "of drawing: smaller is safer", 1e-6, 1e6, NULL},                      \
    {"top-k", 0, OPTION_INT, "0", "N", "draw only from the likeliest N; 0: from all", 0, 1e9, NULL},                   \
    {"top-p", 0, OPTION_NUMBER, "1", "P", "and of these only from the fewest that make up P", 1e-9, 1, NULL}
/* clang-format on */

/* What was asked for; false after saying which options contradict each other. */
bool decoding_read(struct options *o, heed_generate_opts *opts);

#endif
