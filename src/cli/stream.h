/* Generated text, printed as its tokens come. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "heed/generate.h"

struct text_stream {
    heed_ctx *cx;
    const heed_generator *generator;
    const heed_generate_opts *opts;
    const heed_ids *prompt;
    heed_ids said;    /* so far */
    heed_string text; /* of it */
    size_t shown;     /* bytes of the text that are printed */
};
bool stream_take(void *user, int64_t sequence, int32_t token);    /* opts.on_token, of a struct text_stream */
bool stream_end(struct text_stream *s, const heed_hypothesis *h); /* prints what was held back */
void stream_say(heed_string *text);                               /* prints a text that comes before */
void stream_free(struct text_stream *s);

#endif
