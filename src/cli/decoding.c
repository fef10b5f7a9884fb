#include "cli/decoding.h"
#include <stdio.h>

const char *decoding_name(int64_t beams, char out[48]) {
    if (beams == 1)
        snprintf(out, 48, "greedy decoding");
    else
        snprintf(out, 48, "beam %lld", (long long)beams);
    return out;
}

bool decoding_read(struct options *o, heed_generate_opts *opts) {
    static const char *const drawing[] = {"temperature", "top-k", "top-p"};
    if (!options_either(o, "beam", "sample")) return false;
    *opts = (heed_generate_opts){.beams = option_int(o, "beam"),
                                 .length_penalty = (float)option_number(o, "length-penalty"),
                                 .max_length = option_int(o, "max-length"),
                                 .min_length = option_int(o, "min-length"),
                                 .no_repeat_ngram = option_int(o, "no-repeat"),
                                 .sample = option_flag(o, "sample"),
                                 .temperature = (float)option_number(o, "temperature"),
                                 .top_k = option_int(o, "top-k"),
                                 .top_p = (float)option_number(o, "top-p")};
    for (int i = 0; i < 3 && !opts->sample; i++)
        if (option_given(o, drawing[i])) {
            cli_error(EXIT_USAGE, "%s: --%s goes with --sample", options_command(o), drawing[i]);
            return false;
        }
    if (opts->sample) opts->beams = 1;
    if (opts->max_length > 0 && opts->min_length > opts->max_length) {
        cli_error(EXIT_USAGE, "%s: --min-length is larger than --max-length", options_command(o));
        return false;
    }
    return true;
}
