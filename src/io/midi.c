/* Standard MIDI Files, read: "MThd", format, number of tracks and ticks to the quarter note, all big-endian; then
 * chunks, of which "MTrk" hold events, each after the ticks since the last one.
 *
 *     ticks   1 to 4 bytes of 7 bits, the last without its high bit
 *     event   8n..En with one or two data bytes, the status left out where it is that of the event before;
 *             FF type size bytes: meta;  F0 or F7 size bytes: system exclusive */
#include "base/checked.h"
#include "base/file.h"
#include "io/text.h"

#include <stdlib.h>
#include <string.h>

#include "heed/io.h"

#define LIMIT     ((size_t)64 << 20) /* bytes of a file */
#define EVENT_MIN 3                  /* bytes that a note takes at least: ticks, pitch, velocity */

enum { CHANNELS = 16, PITCHES = 128 };
enum { META_NAME = 0x03, META_END = 0x2F, META_TEMPO = 0x51 };

struct reader {
    heed_ctx *cx;
    const char *name;
    const unsigned char *start, *at, *end; /* of the file; of the track under way */
    heed_midi *midi;
    int64_t now;
    int64_t open[CHANNELS][PITCHES]; /* the note that sounds; -1: none */
};

static bool bad(const struct reader *r, const char *why) {
    return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: MIDI file, offset %zu: %s", r->name, (size_t)(r->at - r->start), why);
}

static uint32_t big(const unsigned char *at, int bytes) {
    uint32_t x = 0;
    for (int i = 0; i < bytes; i++) x = x << 8 | at[i];
    return x;
}

static bool take_length(struct reader *r, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4 && r->at < r->end; i++) {
        *out = *out << 7 | (*r->at & 0x7F);
        if (!(*r->at++ & 0x80)) return true;
    }
    return bad(r, "a number that has no end");
}

/* ---- events ---- */

static void end_note(struct reader *r, int channel, int pitch) {
    const int64_t n = r->open[channel][pitch];
    if (n >= 0) r->midi->note[n].end = r->now;
    r->open[channel][pitch] = -1;
}

static void begin_note(struct reader *r, int channel, int pitch, int velocity) {
    heed_midi *m = r->midi;
    end_note(r, channel, pitch);
    m->note[m->notes] = (heed_midi_note){.start = r->now,
                                         .end = r->now,
                                         .track = m->tracks,
                                         .channel = (uint8_t)channel,
                                         .pitch = (uint8_t)pitch,
                                         .velocity = (uint8_t)velocity};
    r->open[channel][pitch] = m->notes++;
}

static bool take_message(struct reader *r, int status) {
    const int kind = status >> 4, channel = status & 15, bytes = kind == 0xC || kind == 0xD ? 1 : 2;
    if (r->end - r->at < bytes) return bad(r, "an event is cut short");
    for (int i = 0; i < bytes; i++)
        if (r->at[i] & 0x80) return bad(r, "a data byte above 127");
    if (kind == 9 && r->at[1] > 0) begin_note(r, channel, r->at[0], r->at[1]);
    if (kind == 8 || (kind == 9 && r->at[1] == 0)) end_note(r, channel, r->at[0]);
    r->at += bytes;
    return true;
}

static void take_name(const struct reader *r, uint32_t size) {
    char *to = r->midi->name[r->midi->tracks];
    text_printable(to, HEED_MIDI_NAME, (const char *)r->at, size);
}

/* *ended: the track says that this is its end. */
static bool take_meta(struct reader *r, bool *ended) {
    uint32_t size;
    if (r->at == r->end) return bad(r, "an event is cut short");
    const int type = *r->at++;
    if (!take_length(r, &size)) return false;
    if (size > (size_t)(r->end - r->at)) return bad(r, "an event is longer than its track");
    if (type == META_TEMPO && size == 3 && r->midi->tempo == 0 && big(r->at, 3) > 0)
        r->midi->tempo = 60e6 / (double)big(r->at, 3);
    if (type == META_NAME && !r->midi->name[r->midi->tracks][0]) take_name(r, size);
    *ended = type == META_END;
    r->at += size;
    return true;
}

static bool take_event(struct reader *r, int *status, bool *ended) {
    uint32_t ticks, size;
    if (!take_length(r, &ticks)) return false;
    r->now += ticks;
    if (r->at == r->end) return bad(r, "an event is cut short");
    if (*r->at < 0x80) return *status ? take_message(r, *status) : bad(r, "a data byte where an event begins");
    const int first = *r->at++;
    if (first < 0xF0) return take_message(r, *status = first);
    *status = 0;
    if (first == 0xFF) return take_meta(r, ended);
    if (first != 0xF0 && first != 0xF7) return bad(r, "an event that no MIDI file holds");
    if (!take_length(r, &size)) return false;
    if (size > (size_t)(r->end - r->at)) return bad(r, "an event is longer than its track");
    r->at += size;
    return true;
}

static bool take_track(struct reader *r) {
    int status = 0;
    bool ended = false;
    r->now = 0;
    memset(r->open, 0xFF, sizeof r->open);
    while (!ended && r->at < r->end)
        if (!take_event(r, &status, &ended)) return false;
    for (int c = 0; c < CHANNELS; c++)
        for (int p = 0; p < PITCHES; p++) end_note(r, c, p);
    r->midi->tracks++;
    return true;
}

/* ---- the file ---- */

static int by_start(const void *a, const void *b) {
    const heed_midi_note *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->pitch != y->pitch) return x->pitch < y->pitch ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (int)x->channel - (int)y->channel;
}

static bool read_head(struct reader *r, size_t size, size_t *first) {
    if (size < 14 || memcmp(r->at, "MThd", 4) != 0)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: not a MIDI file: 'MThd' at offset 0 is missing", r->name);
    const uint32_t head = big(r->at + 4, 4), format = big(r->at + 8, 2), division = big(r->at + 12, 2);
    if (head < 6 || head > size - 8) return bad(r, "a header of impossible size");
    if (format > 1) return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: MIDI format %u is not supported", r->name, format);
    if (division == 0 || division & 0x8000)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: time is not in ticks to the quarter note", r->name);
    r->midi->division = (int32_t)division;
    *first = 8 + head;
    return true;
}

/* Chunks from `first` on; read false: the tracks are counted only. */
static bool read_chunks(struct reader *r, size_t size, size_t first, bool read, int32_t *tracks) {
    *tracks = 0;
    for (size_t at = first; size - at >= 8;) {
        const unsigned char *chunk = r->start + at;
        const uint32_t length = big(chunk + 4, 4);
        r->at = chunk;
        if (length > size - at - 8) return bad(r, "a chunk is longer than the file");
        const bool is_track = memcmp(chunk, "MTrk", 4) == 0;
        *tracks += is_track;
        r->at = chunk + 8;
        r->end = r->at + length;
        if (is_track && read && !take_track(r)) return false;
        at += 8 + (size_t)length;
    }
    return true;
}

static heed_midi *midi_new(heed_ctx *cx, size_t bytes, int32_t tracks) {
    const size_t notes = (bytes / EVENT_MIN + 1) * sizeof(heed_midi_note), names = (size_t)tracks * HEED_MIDI_NAME;
    heed_midi *m = heed_mem_new(cx, sizeof *m + notes + names);
    if (!m) return NULL;
    *m = (heed_midi){.note = (heed_midi_note *)(m + 1)};
    m->name = (char(*)[HEED_MIDI_NAME])((char *)m->note + notes);
    memset(m->name, 0, names);
    return m;
}

heed_midi *heed_midi_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size) {
    if (heed_failed(cx)) return NULL;
    if (!name || !bytes) return heed_fail(cx, HEED_ERR_USAGE, "midi_parse: name or bytes is NULL"), NULL;
    if (size > LIMIT)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a MIDI file of %zu bytes, more than 64 MB", name, size), NULL;
    heed_midi head = {0}, *m = NULL;
    struct reader r = {.cx = cx, .name = name, .start = bytes, .at = bytes, .midi = &head};
    size_t first = 0;
    int32_t tracks = 0;
    if (!read_head(&r, size, &first) || !read_chunks(&r, size, first, false, &tracks)) return NULL;
    if (tracks == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: the MIDI file has no tracks", name), NULL;
    if (!(m = midi_new(cx, size, tracks))) return NULL;
    m->division = head.division;
    r.midi = m;
    if (!read_chunks(&r, size, first, true, &tracks)) return heed_mem_free(cx, m), NULL;
    if (m->tempo == 0) m->tempo = 120;
    qsort(m->note, (size_t)m->notes, sizeof *m->note, by_start);
    return m;
}

heed_midi *heed_midi_read(heed_ctx *cx, const char *path) {
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "midi_read: path is NULL"), NULL;
    unsigned char *bytes = file_read(cx, path, LIMIT, &size);
    heed_midi *m = bytes ? heed_midi_parse(cx, path, bytes, size) : NULL;
    heed_mem_free(cx, bytes);
    return m;
}
