/* Chorales on their way in, from files of several kinds. */
#ifndef TASK_MUSIC_CHORALES_H
#define TASK_MUSIC_CHORALES_H

#include "heed/music.h"

#define CHORALE_STEPS_MAX ((int64_t)1 << 16) /* of one chorale: four thousand bars */

/* A chorale is begun, given its steps and ended. Pitches are 0 to 127 or HEED_REST; `again` (HEED_VOICES, may be NULL):
 * a pitch as before that is a new note. */
bool chorales_begin(heed_ctx *cx, heed_chorales *c);
bool chorales_step(heed_ctx *cx, heed_chorales *c, const int32_t pitch[HEED_VOICES], const bool *again);
bool chorales_end(heed_ctx *cx, heed_chorales *c); /* fails when it has no steps */

/* Gives n <= HEED_VOICES pitches, from high to low, to voices; those left over rest. Of all ways that keep the order,
 * the one with the least movement from `before` (HEED_REST: it has not sung yet), and high voices first. */
void chorale_assign(const int32_t *pitch, int n, const int32_t before[HEED_VOICES], int32_t to[HEED_VOICES]);

bool chorales_parse_json(heed_ctx *cx, const char *name, const char *text, size_t size, const char *part,
                         heed_chorales *to);
bool chorales_take_midi(heed_ctx *cx, const char *name, const heed_midi *midi, heed_chorales *to);

#endif
