/* Standard MIDI Files, written: format 1, as midi.c describes it. */
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#include "heed/io.h"

enum { META_NAME = 0x03, META_END = 0x2F, META_TEMPO = 0x51, META_TIME = 0x58 };
#define LONGEST ((int64_t)0x0FFFFFFF) /* ticks between two events: four bytes of 7 bits */

struct bytes { /* of a track; memory for all of it was taken before */
    unsigned char *data;
    size_t size;
};

static void put_big(struct bytes *b, uint32_t x, int n) {
    while (n-- > 0) b->data[b->size++] = (unsigned char)(x >> 8 * n);
}

static void put_length(struct bytes *b, uint32_t x) {
    for (int shift = 21; shift > 0; shift -= 7)
        if (x >> shift) b->data[b->size++] = (unsigned char)(0x80 | (x >> shift & 0x7F));
    b->data[b->size++] = (unsigned char)(x & 0x7F);
}

static void put_meta(struct bytes *b, int type, const void *data, size_t size) {
    put_length(b, 0);
    b->data[b->size++] = 0xFF;
    b->data[b->size++] = (unsigned char)type;
    put_length(b, (uint32_t)size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* A track's chunk, its size filled in at the end. */
static void begin_track(struct bytes *b) {
    b->size = 0;
    put_big(b, 0x4D54726B, 4); /* MTrk */
    put_big(b, 0, 4);
}

static bool end_track(struct bytes *b, struct file_writer *w) {
    put_meta(b, META_END, "", 0);
    struct bytes size = {b->data + 4, 0};
    put_big(&size, (uint32_t)(b->size - 8), 4);
    return file_write(w, b->data, b->size);
}

/* ---- notes ---- */

struct event {
    int64_t at;
    uint8_t channel, pitch, velocity; /* velocity 0: it ends */
};

/* At the same tick notes end before others begin. */
static int by_time(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if ((x->velocity > 0) != (y->velocity > 0)) return x->velocity > 0 ? 1 : -1;
    return (int)x->pitch - (int)y->pitch;
}

/* Where a note ends: before the next one of the same pitch, track and channel. */
static int64_t end_of(const heed_midi *m, int64_t i) {
    const heed_midi_note *n = &m->note[i];
    for (int64_t k = i + 1; k < m->notes && m->note[k].start < n->end; k++)
        if (m->note[k].track == n->track && m->note[k].pitch == n->pitch && m->note[k].channel == n->channel)
            return m->note[k].start;
    return n->end;
}

static int64_t events_of(const heed_midi *m, int32_t track, struct event *to) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->notes; i++) {
        const heed_midi_note *note = &m->note[i];
        const int64_t end = end_of(m, i);
        if (note->track != track || end <= note->start) continue;
        to[n++] = (struct event){note->start, note->channel, note->pitch, note->velocity};
        to[n++] = (struct event){end, note->channel, note->pitch, 0};
    }
    qsort(to, (size_t)n, sizeof *to, by_time);
    return n;
}

static void put_events(struct bytes *b, const struct event *e, int64_t n) {
    int64_t now = 0;
    for (int64_t i = 0; i < n; now = e[i++].at) {
        put_length(b, (uint32_t)(e[i].at - now));
        b->data[b->size++] = (unsigned char)((e[i].velocity ? 0x90 : 0x80) | e[i].channel);
        b->data[b->size++] = e[i].pitch;
        b->data[b->size++] = e[i].velocity ? e[i].velocity : 64;
    }
}

/* ---- tracks ---- */

static bool write_conductor(const heed_midi *m, struct bytes *b, struct file_writer *w) {
    const double tempo = m->tempo > 0 ? m->tempo : 120, micro = 60e6 / tempo;
    const unsigned char quarters[4] = {4, 2, 24, 8}; /* 4 over 2^2, a click each 24 clocks, 8 32nds to the quarter */
    const uint32_t length = micro < 1 ? 1 : micro > 0xFFFFFF ? 0xFFFFFF : (uint32_t)(micro + 0.5);
    unsigned char text[3] = {(unsigned char)(length >> 16), (unsigned char)(length >> 8), (unsigned char)length};
    begin_track(b);
    put_meta(b, META_TEMPO, text, sizeof text);
    put_meta(b, META_TIME, quarters, sizeof quarters);
    return end_track(b, w);
}

static bool write_track(const heed_midi *m, int32_t track, struct event *events, struct bytes *b,
                        struct file_writer *w) {
    uint16_t channels = 0;
    const int64_t n = events_of(m, track, events);
    begin_track(b);
    if (m->name && m->name[track][0]) put_meta(b, META_NAME, m->name[track], strnlen(m->name[track], HEED_MIDI_NAME));
    for (int64_t i = 0; i < n; i++) channels |= (uint16_t)(1u << events[i].channel);
    for (int c = 0; c < 16; c++) {
        if (!(channels >> c & 1)) continue;
        put_length(b, 0);
        b->data[b->size++] = (unsigned char)(0xC0 | c);
        b->data[b->size++] = (unsigned char)m->program;
    }
    put_events(b, events, n);
    return end_track(b, w);
}

static bool check(heed_ctx *cx, const heed_midi *m) {
    if (m->division < 1 || m->division > 0x7FFF || m->tracks < 0 || m->tracks > 0xFFFE || m->program < 0 ||
        m->program > 127 || m->notes < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "midi_write: division, tracks or program out of range");
    for (int64_t i = 0; i < m->notes; i++) {
        const heed_midi_note *n = &m->note[i];
        if (n->start < 0 || n->end < n->start || n->end > LONGEST || n->track < 0 || n->track >= m->tracks ||
            n->channel > 15 || n->pitch > 127 || n->velocity < 1 || n->velocity > 127)
            return heed_fail(cx, HEED_ERR_RANGE, "midi_write: note %lld makes no sense", (long long)i);
    }
    return true;
}

bool heed_midi_write(heed_ctx *cx, const char *path, const heed_midi *m) {
    if (heed_failed(cx)) return false;
    if (!path || !m) return heed_fail(cx, HEED_ERR_USAGE, "midi_write: path or music is NULL");
    if (!check(cx, m)) return false;
    const size_t events = 2 * (size_t)m->notes + 1;
    struct event *list = heed_mem_new(cx, events * sizeof *list);
    struct bytes b = {heed_mem_new(cx, 7 * events + 256), 0}; /* 4 of ticks and 3; head, name, channels and end */
    struct file_writer *w = heed_failed(cx) ? NULL : file_write_open(cx, path);
    bool ok = w;
    if (ok) {
        put_big(&b, 0x4D546864, 4); /* MThd */
        put_big(&b, 6, 4);
        put_big(&b, 1, 2);
        put_big(&b, (uint32_t)m->tracks + 1, 2);
        put_big(&b, (uint32_t)m->division, 2);
        ok = file_write(w, b.data, b.size) && write_conductor(m, &b, w);
    }
    for (int32_t t = 0; ok && t < m->tracks; t++) ok = write_track(m, t, list, &b, w);
    if (ok)
        ok = file_write_commit(w);
    else
        file_write_abort(w);
    heed_mem_free(cx, list);
    heed_mem_free(cx, b.data);
    return ok;
}
