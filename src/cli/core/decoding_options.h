/* The options of decoding, for the commands that decode. */
#ifndef CLI_CORE_DECODING_OPTIONS_H
#define CLI_CORE_DECODING_OPTIONS_H

#include "cli/core/options.h"
#include "heed/generate.h"
#include "task/run.h"

/* clang-format off */
#define DECODING_OPTIONS                                                                                               \
    {.name = "decoding", .kind = HEED_FIELD_GROUP},                                                                        \
    {.name = "beam", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1024,         \
     .help = "beam width; 1: greedy decoding"},                                                                        \
    LENGTH_PENALTY_FIELD,                                                                                             \
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,                             \
     .help = "maximum number of tokens, start and end included; 0: twice the source and ten more"},                    \
    {.name = "min-length", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,                             \
     .help = "minimum number of tokens"},                                                                              \
    {.name = "no-repeat", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e6,                              \
     .help = "forbid repeated n-grams of this size; 0: allow all"},                                                    \
    {.name = "repetition-penalty", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .low = 1e-3, .high = 1e3,     \
     .help = "penalty of tokens that were generated before; 1: none"},                                                 \
    {.name = "sample", .help = "sample instead of searching"},                                                         \
    {.name = "temperature", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .low = 1e-6, .high = 1e6,            \
     .help = "sampling temperature; smaller: closer to greedy"},                                                       \
    {.name = "top-k", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,                                  \
     .help = "sample from the N most probable tokens; 0: from all"},                                                   \
    {.name = "top-p", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "P", .low = 1e-9, .high = 1,                    \
     .help = "nucleus sampling: from the fewest tokens whose probabilities reach P"},                                  \
    {.name = "min-p", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,                                 \
     .help = "sample from tokens of at least P times the largest probability"}
/* clang-format on */

/* "greedy decoding", "beam 5": what stands beside a score. */
const char *decoding_name(int64_t beams, char out[48]);
/* What was asked for; false after saying which options contradict each other. */
bool decoding_read(struct options *o, heed_generate_opts *opts);
/* Of what was not given, what the model's directory says: opts are those of decoding_read. */
bool decoding_of_model(const struct options *o, heed_ctx *cx, const heed_model *model, heed_generate_opts *opts);

/* Says on standard error, unless --quiet, that `full` of so many continuations stopped where the context was full. */
void decoding_say_context(const struct options *o, const heed_generator *g, const heed_generate_opts *opts,
                          int64_t full, int64_t of);

#endif
