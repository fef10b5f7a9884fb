/* Music as its files share it: words, and the ids that a tokenizer has for them. */
#ifndef TASK_MUSIC_MUSIC_H
#define TASK_MUSIC_MUSIC_H

#include "task/music/chorales.h"

#define MUSIC_WORD 8 /* bytes of a word, its 0 included */

struct music_ids {
    int32_t id[HEED_VOICES][HEED_REST + 1][2]; /* by voice, pitch or rest, and whether it is held; -1: no such token */
    int low[HEED_VOICES], high[HEED_VOICES];   /* pitches */
    int32_t begin, end;
};
bool music_find(const heed_tokenizer *tokens, struct music_ids *to);
bool music_find_or_fail(heed_ctx *cx, const heed_tokenizer *tokens, struct music_ids *to);
/* Of what a voice does (heed_chorales), `up` semitones higher; -1: there is none. */
int32_t music_id(const struct music_ids *ids, int voice, int32_t x, int up);
bool music_word(const char *word, int *voice, int32_t *x); /* false: not a word of music */
/* Whether all notes of a chorale have tokens; else a sentence says which has none. */
bool music_check(heed_ctx *cx, const struct music_ids *ids, const heed_chorales *c, int64_t i);
/* By how many semitones, at most `most`, chorale i can go up, and down, within the ranges. */
int music_bends(const struct music_ids *ids, const heed_chorales *c, int64_t i, int most, int *down);

#endif
