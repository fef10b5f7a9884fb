#include "cli/core/decoding_options.h"
#include <stdio.h>

const char *decoding_name(int64_t beams, char out[48]) {
    if (beams == 1)
        snprintf(out, 48, "greedy decoding");
    else
        snprintf(out, 48, "beam %lld", (long long)beams);
    return out;
}

bool decoding_read(struct options *o, heed_generate_opts *opts) {
    static const char *const drawing[] = {"temperature", "top-k", "top-p", "min-p"};
    if (!options_either(o, "beam", "sample")) return false;
    *opts = (heed_generate_opts){.beams = option_int(o, "beam"),
                                 .length_penalty = (float)option_number(o, "length-penalty"),
                                 .max_length = option_int(o, "max-length"),
                                 .min_length = option_int(o, "min-length"),
                                 .no_repeat_ngram = option_int(o, "no-repeat"),
                                 .repetition_penalty = (float)option_number(o, "repetition-penalty"),
                                 .sample = option_flag(o, "sample"),
                                 .temperature = (float)option_number(o, "temperature"),
                                 .top_k = option_int(o, "top-k"),
                                 .top_p = (float)option_number(o, "top-p"),
                                 .min_p = (float)option_number(o, "min-p")};
    for (int i = 0; i < 4 && !opts->sample; i++)
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

bool decoding_of_model(const struct options *o, heed_ctx *cx, const heed_model *model, heed_generate_opts *opts) {
    const heed_generate_opts asked = *opts;
    if (!heed_generate_config(cx, model, opts)) return false;
    if (option_given(o, "beam") || asked.sample) opts->beams = asked.beams, opts->sample = asked.sample;
    if (option_given(o, "length-penalty")) opts->length_penalty = asked.length_penalty;
    if (option_given(o, "max-length")) opts->max_length = asked.max_length, opts->max_new_tokens = 0;
    if (option_given(o, "min-length"))
        opts->min_length = asked.min_length, opts->min_new_tokens = 0;
    else if (asked.max_length > 0 && opts->min_length > asked.max_length)
        opts->min_length = asked.max_length; /* the directory's gives way */
    if (option_given(o, "no-repeat")) opts->no_repeat_ngram = asked.no_repeat_ngram;
    if (option_given(o, "repetition-penalty")) opts->repetition_penalty = asked.repetition_penalty;
    if (option_given(o, "temperature")) opts->temperature = asked.temperature;
    if (option_given(o, "top-k")) opts->top_k = asked.top_k;
    if (option_given(o, "top-p")) opts->top_p = asked.top_p;
    if (option_given(o, "min-p")) opts->min_p = asked.min_p;
    return true;
}

void decoding_say_context(const struct options *o, const heed_generator *g, const heed_generate_opts *opts,
                          int64_t full, int64_t of) {
    char which[64] = "";
    if (full == 0 || option_flag(o, "quiet")) return;
    if (of > 1) snprintf(which, sizeof which, "%lld of %lld continuations ", (long long)full, (long long)of);
    fprintf(stderr, "heed: %s: %sstopped at the model's context of %lld tokens%s\n", options_command(o), which,
            (long long)g->positions, opts->beams > 1 ? ", past which beam search does not go" : "");
}
