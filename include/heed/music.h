/* heed/music.h: chorales: music of four voices in steps of time, as tokens of a language model, and composed by one.
 *
 *     heed_chorales music = {0};
 *     heed_chorales_read(cx, "jsb.json.gz", "test", &music);
 *     heed_chorales_write_midi(cx, "first.mid", &music, 0, NULL);
 *     heed_chorales_free(cx, &music);
 *
 * A chorale is a sequence of steps, most often of a sixteenth note, each with what soprano, alto, tenor and bass do: a
 * pitch (MIDI number, 60 is middle C) or a rest, begun in this step or held from the one before. A model reads it as
 * <s> S A T B S A T B ... </s>: a token for each voice and step, "S74" where the soprano begins to sing 74, "S74_"
 * where it goes on, "SR" and "SR_" where it rests. Equal music has equal tokens: a rest after a rest is always held. */
#ifndef HEED_MUSIC_H
#define HEED_MUSIC_H

#include "heed/generate.h"
#include "heed/task.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_VOICES 4
#define HEED_REST   128 /* in place of a pitch, 0 to 127 */
#define HEED_HELD   256 /* added to pitch or rest: it goes on from the step before */

typedef struct heed_chorales { /* {0} is empty */
    heed_ids voice;            /* (steps of all, HEED_VOICES): what each voice does, soprano first */
    heed_ids first;            /* (count + 1): the first step of each chorale */
    int64_t count;
} heed_chorales;
/* Adds the chorales of a part ("train", "valid", "test"; NULL: all that there are):
 *   - JSON (also .gz): {"train": chorales, "valid": …, "test": …}, or chorales alone, which are part "train". A chorale
 *     is a list of steps, a step a list of pitches, -1 or null for a rest, soprano first. Where steps have fewer than
 *     four pitches, or always ascend, they are sets: pitches go to the voices nearest to them, from high to low.
 *   - a MIDI file, one chorale, cut into sixteenths: its four tracks or channels, or else what sounds at a time;
 *   - a directory of MIDI files, perhaps in train, valid and test; or with train.json and the like.
 * A part that is not there adds nothing. */
HEED_API bool heed_chorales_read(heed_ctx *cx, const char *path, const char *part, heed_chorales *to);
HEED_API void heed_chorales_free(heed_ctx *cx, heed_chorales *c);
HEED_API int64_t heed_chorale_steps(const heed_chorales *c, int64_t i);
/* (steps, HEED_VOICES) of chorale i; NULL: there is none. */
HEED_API const int32_t *heed_chorale_voices(const heed_chorales *c, int64_t i);

typedef struct heed_music_look {
    double tempo;    /* quarter notes to the minute; 0: 90 */
    int32_t program; /* of General MIDI, from 1; 0: 20, church organ */
    int64_t steps;   /* to the quarter note; 0: 4 */
} heed_music_look;
/* Chorale i as a MIDI file of four tracks. look NULL: all defaults. */
HEED_API bool heed_chorales_write_midi(heed_ctx *cx, const char *path, const heed_chorales *c, int64_t i,
                                       const heed_music_look *look);
HEED_API const char *heed_voice_name(int voice); /* "Soprano", "Alto", "Tenor", "Bass" */

/* Those of data of the task "music" (heed/task.h). */
HEED_API const heed_chorales *heed_task_chorales(const heed_task_data *data);

/* ---- tokens ---- */

#define HEED_MUSIC_MARGIN 3 /* semitones that a model's voices have beyond those that they were trained on */

/* Words for the pitches that each voice has in these chorales, and `more` semitones below and above. */
HEED_API heed_tokenizer *heed_music_vocabulary(heed_ctx *cx, const heed_chorales *c, int more);
/* Whether a tokenizer's words are those of music. */
HEED_API bool heed_music_has(const heed_tokenizer *tokens);
/* Adds the tokens of chorale i, `up` semitones higher, between begin and end tokens; a note that the vocabulary does
 * not have fails with its place. */
HEED_API bool heed_music_encode(heed_ctx *cx, const heed_tokenizer *tokens, const heed_chorales *c, int64_t i, int up,
                                heed_ids *to);
/* Adds a chorale of n tokens, special ones left out. A step that is not complete is dropped; tokens out of turn fail.
 */
HEED_API bool heed_music_decode(heed_ctx *cx, const heed_tokenizer *tokens, const int32_t *ids, int64_t n,
                                heed_chorales *to);
/* The chorales of a part as lines of words for n-grams, where "S_" is any soprano that goes on: the same events in a
 * form in which few words reach far. Each also in the keys up to `transpose` semitones above and below that stay within
 * the pitches of its voices in all of them and HEED_MUSIC_MARGIN more. */
HEED_API bool heed_music_lines(heed_ctx *cx, const char *path, const char *part, int transpose, heed_lines *to);

/* ---- composing ---- */

typedef struct heed_compose_opts {
    heed_generate_opts how;       /* how tokens are chosen; lengths and number of results are ignored */
    int64_t steps;                /* at most, what it begins with included; 0: 640 */
    const heed_chorales *begin;   /* its first chorale is continued; NULL: from nothing */
    const heed_chorales *soprano; /* the soprano of its first chorale is kept, the other voices are added, as many steps
                                   * as it has; NULL: all four are composed */
} heed_compose_opts;
/* Adds a chorale that a model of a directory with such a tokenizer makes. Only tokens that a voice can have at its turn
 * are chosen. *result (may be NULL): its log-probability, notes and whether it ended by itself. */
typedef struct heed_composed {
    double log_probability; /* of what was composed, its end included */
    int64_t notes;          /* voices times steps that were composed */
    bool ended;
} heed_composed;
HEED_API bool heed_compose(heed_ctx *cx, const heed_generator *g, const heed_compose_opts *opts, heed_chorales *to,
                           heed_composed *result);

#ifdef __cplusplus
}
#endif
#endif
