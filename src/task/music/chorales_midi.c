/* A chorale of the notes of a MIDI file, in sixteenths. Where four tracks, or channels of a track, sing one note at a
 * time each, they are the voices, the highest of them the soprano; else what sounds in a step is given to voices. */
#include "task/music/chorales.h"
#include <stdlib.h>
#include <string.h>

#define SIXTEENTHS 4 /* of a quarter note */

struct part { /* a track's channel */
    int32_t track, channel;
    int64_t notes, sum; /* of their pitches */
};

struct cut {
    heed_ctx *cx;
    const char *name;
    const heed_midi *midi;
    int64_t steps;
};

/* The step that a tick is nearest to. */
static int64_t step_of(const struct cut *c, int64_t tick) {
    const int64_t d = c->midi->division;
    return (2 * SIXTEENTHS * tick + d) / (2 * d);
}

static int64_t first_of(const struct cut *c, const heed_midi_note *n) { return step_of(c, n->start); }

/* Notes have a step at least. */
static int64_t end_of(const struct cut *c, const heed_midi_note *n) {
    const int64_t first = first_of(c, n), end = step_of(c, n->end);
    return end > first ? end : first + 1;
}

/* ---- tracks as voices ---- */

static struct part *find_part(struct part parts[], int *n, const heed_midi_note *note) {
    for (int i = 0; i < *n; i++)
        if (parts[i].track == note->track && parts[i].channel == note->channel) return &parts[i];
    if (*n == HEED_VOICES) return NULL;
    parts[*n] = (struct part){note->track, note->channel, 0, 0};
    return &parts[(*n)++];
}

static int by_pitch(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    const double p = (double)x->sum / (double)x->notes, q = (double)y->sum / (double)y->notes;
    if (p != q) return p > q ? -1 : 1;
    return x->track != y->track ? x->track - y->track : x->channel - y->channel;
}

/* Four of them, each of which sings one note at a time. */
static bool find_parts(const struct cut *c, struct part parts[HEED_VOICES]) {
    int64_t end[HEED_VOICES] = {0};
    int n = 0;
    for (int64_t i = 0; i < c->midi->notes; i++) {
        const heed_midi_note *note = &c->midi->note[i];
        struct part *p = find_part(parts, &n, note);
        if (!p || first_of(c, note) < end[p - parts]) return false;
        end[p - parts] = end_of(c, note);
        p->notes++;
        p->sum += note->pitch;
    }
    if (n == HEED_VOICES) qsort(parts, HEED_VOICES, sizeof *parts, by_pitch);
    return n == HEED_VOICES;
}

/* ---- what sounds in a step ---- */

struct sounding { /* from high to low, each pitch once */
    int n;
    int32_t pitch[HEED_VOICES];
    int64_t end[HEED_VOICES];
    bool begins[HEED_VOICES]; /* in this step */
    int64_t next;             /* note of the file */
};

static void drop_ended(struct sounding *s, int64_t step) {
    int kept = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->end[i] <= step) continue;
        s->pitch[kept] = s->pitch[i];
        s->begins[kept] = false;
        s->end[kept++] = s->end[i];
    }
    s->n = kept;
}

/* False: there are more notes than voices. */
static bool add_note(struct sounding *s, int32_t pitch, int64_t end) {
    int k = 0;
    while (k < s->n && s->pitch[k] > pitch) k++;
    if (k == s->n || s->pitch[k] != pitch) {
        if (s->n == HEED_VOICES) return false;
        for (int i = s->n++; i > k; i--) {
            s->pitch[i] = s->pitch[i - 1];
            s->end[i] = s->end[i - 1];
            s->begins[i] = s->begins[i - 1];
        }
        s->end[k] = 0;
    }
    s->pitch[k] = pitch;
    s->begins[k] = true;
    if (end > s->end[k]) s->end[k] = end;
    return true;
}

static bool sound(const struct cut *c, int64_t step, struct sounding *s) {
    drop_ended(s, step);
    for (; s->next < c->midi->notes && first_of(c, &c->midi->note[s->next]) <= step; s->next++) {
        const heed_midi_note *n = &c->midi->note[s->next];
        if (!add_note(s, n->pitch, end_of(c, n)))
            return heed_fail(c->cx, HEED_ERR_FORMAT,
                             "%s: more than four notes at a time, in bar %lld, quarter %lld: a chorale has four voices",
                             c->name, (long long)(step / 16 + 1), (long long)(step / 4 % 4 + 1));
    }
    return true;
}

static bool take_sets(const struct cut *c, heed_chorales *to) {
    int32_t before[HEED_VOICES] = {HEED_REST, HEED_REST, HEED_REST, HEED_REST};
    struct sounding s = {.n = 0};
    for (int64_t t = 0; t < c->steps; t++) {
        int32_t sung[HEED_VOICES];
        bool again[HEED_VOICES];
        if (!sound(c, t, &s)) return false;
        chorale_assign(s.pitch, s.n, before, sung);
        for (int v = 0, k = 0; v < HEED_VOICES; v++) {
            again[v] = sung[v] != HEED_REST && s.begins[k++];
            if (sung[v] != HEED_REST) before[v] = sung[v];
        }
        if (!chorales_step(c->cx, to, sung, again)) return heed_fail_in(c->cx, "%s", c->name);
    }
    return true;
}

static bool take_parts(const struct cut *c, const struct part parts[HEED_VOICES], heed_chorales *to) {
    int64_t at[HEED_VOICES] = {0}; /* the note of each voice that sounds or comes next */
    for (int64_t t = 0; t < c->steps; t++) {
        int32_t sung[HEED_VOICES];
        bool again[HEED_VOICES];
        for (int v = 0; v < HEED_VOICES; v++) {
            const heed_midi_note *note = c->midi->note;
            int64_t *i = &at[v];
            while (*i < c->midi->notes && (note[*i].track != parts[v].track || note[*i].channel != parts[v].channel ||
                                           end_of(c, &note[*i]) <= t))
                ++*i;
            const bool sings = *i < c->midi->notes && first_of(c, &note[*i]) <= t;
            sung[v] = sings ? note[*i].pitch : HEED_REST;
            again[v] = sings && first_of(c, &note[*i]) == t;
        }
        if (!chorales_step(c->cx, to, sung, again)) return heed_fail_in(c->cx, "%s", c->name);
    }
    return true;
}

bool chorales_take_midi(heed_ctx *cx, const char *name, const heed_midi *midi, heed_chorales *to) {
    struct cut c = {.cx = cx, .name = name, .midi = midi};
    struct part parts[HEED_VOICES];
    for (int64_t i = 0; i < midi->notes; i++) {
        if (midi->note[i].end >> 40) return heed_fail(cx, HEED_ERR_FORMAT, "%s: a note that is too long", name);
        const int64_t end = end_of(&c, &midi->note[i]);
        if (end > c.steps) c.steps = end;
    }
    if (c.steps == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: the MIDI file has no notes", name);
    if (c.steps > CHORALE_STEPS_MAX)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld sixteenths are too many", name, (long long)c.steps);
    return chorales_begin(cx, to) && (find_parts(&c, parts) ? take_parts(&c, parts, to) : take_sets(&c, to)) &&
           chorales_end(cx, to);
}
