/* The options of decoding, for the commands that decode. */
#ifndef CLI_DECODING_H
#define CLI_DECODING_H

#include "cli/options.h"
#include "heed/generate.h"

/* clang-format off */
#define LENGTH_PENALTY_OPTION                                                                                          \
    {.name = "length-penalty", .kind = OPTION_NUMBER, .standard = "1", .value = "X", .low = -16, .high = 16,           \
     .help = "divide scores by length^X: larger values prefer longer outputs"}
#define DECODING_OPTIONS                                                                                               \
    {.name = "decoding", .kind = OPTION_GROUP},                                                                        \
    {.name = "beam", .letter = 'b', .kind = OPTION_INT, .standard = "5", .value = "N", .low = 1, .high = 1024,         \
     .help = "beam width; 1: greedy decoding"},                                                                        \
    LENGTH_PENALTY_OPTION,                                                                                             \
    {.name = "max-length", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e9,                             \
     .help = "maximum number of tokens, start and end included; 0: twice the source and ten more"},                    \
    {.name = "min-length", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e9,                             \
     .help = "minimum number of tokens"},                                                                              \
    {.name = "no-repeat", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e6,                              \
     .help = "forbid repeated n-grams of this size; 0: allow all"},                                                    \
    {.name = "sample", .help = "sample instead of searching"},                                                         \
    {.name = "temperature", .kind = OPTION_NUMBER, .standard = "1", .value = "X", .low = 1e-6, .high = 1e6,            \
     .help = "sampling temperature; smaller: closer to greedy"},                                                       \
    {.name = "top-k", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e9,                                  \
     .help = "sample from the N most probable tokens; 0: from all"},                                                   \
    {.name = "top-p", .kind = OPTION_NUMBER, .standard = "1", .value = "P", .low = 1e-9, .high = 1,                    \
     .help = "nucleus sampling: from the fewest tokens whose probabilities reach P"}
/* clang-format on */

/* "greedy decoding", "beam 5": what stands beside a score. */
const char *decoding_name(int64_t beams, char out[48]);
/* What was asked for; false after saying which options contradict each other. */
bool decoding_read(struct options *o, heed_generate_opts *opts);

#endif
