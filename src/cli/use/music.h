/* heed generate with a model of music: a chorale, as MIDI, as a picture, as JSON. */
#ifndef CLI_USE_MUSIC_H
#define CLI_USE_MUSIC_H

#include "cli/core/options.h"
#include "heed/generate.h"

/* To be inserted in the table of heed generate. */
extern const heed_field music_options[];

bool music_asked(const struct options *o); /* an option of music was given */
bool music_fits(struct options *o);        /* false after saying which options do not go together */
/* Composes as opts say, drawing unless they search, and writes what was asked for. dir: for sentences. */
bool music_compose(const struct options *o, heed_ctx *cx, const char *dir, const heed_generator *g,
                   const heed_generate_opts *opts);

#endif
