/* Chorales: steps of four voices, and the files that hold them. */
#include "task/music/chorales.h"
#include "base/file.h"
#include "io/text.h"
#include "model/core/directory.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIMIT ((size_t)100000000) /* bytes of a file, as JSON has it */

const char *heed_voice_name(int voice) {
    static const char *const names[HEED_VOICES] = {"Soprano", "Alto", "Tenor", "Bass"};
    return voice >= 0 && voice < HEED_VOICES ? names[voice] : NULL;
}

/* ---- steps ---- */

void heed_chorales_free(heed_ctx *cx, heed_chorales *c) {
    if (!c) return;
    heed_ids_free(cx, &c->voice);
    heed_ids_free(cx, &c->first);
    *c = (heed_chorales){0};
}

int64_t heed_chorale_steps(const heed_chorales *c, int64_t i) {
    return c && i >= 0 && i < c->count ? c->first.id[i + 1] - c->first.id[i] : 0;
}

const int32_t *heed_chorale_voices(const heed_chorales *c, int64_t i) {
    return c && i >= 0 && i < c->count ? c->voice.id + (int64_t)c->first.id[i] * HEED_VOICES : NULL;
}

bool chorales_begin(heed_ctx *cx, heed_chorales *c) {
    return c->first.count > 0 || heed_ids_put(cx, &c->first, 0); /* where the last one ended */
}

bool chorales_step(heed_ctx *cx, heed_chorales *c, const int32_t pitch[HEED_VOICES], const bool *again) {
    const int64_t steps = c->voice.count / HEED_VOICES, first = c->first.id[c->count];
    if (steps - first >= CHORALE_STEPS_MAX || steps >= INT32_MAX - 1)
        return heed_fail(cx, HEED_ERR_RANGE, "more than %lld steps", (long long)CHORALE_STEPS_MAX);
    for (int v = 0; v < HEED_VOICES; v++) {
        const int32_t before = steps > first ? c->voice.id[c->voice.count - HEED_VOICES] & ~HEED_HELD : -1;
        const bool held = pitch[v] == before && (pitch[v] == HEED_REST || !again || !again[v]);
        if (!heed_ids_put(cx, &c->voice, pitch[v] | (held ? HEED_HELD : 0))) return false;
    }
    return true;
}

bool chorales_end(heed_ctx *cx, heed_chorales *c) {
    const int64_t steps = c->voice.count / HEED_VOICES;
    if (steps == c->first.id[c->count]) return heed_fail(cx, HEED_ERR_FORMAT, "a chorale without a step");
    if (!heed_ids_put(cx, &c->first, (int32_t)steps)) return false;
    c->count++;
    return true;
}

/* ---- sets of pitches ---- */

#define NEW_VOICE 24 /* semitones: a voice that has not sung yet begins rather than that another leaps so far */

static int movement(const int32_t *pitch, const int32_t before[HEED_VOICES], unsigned voices) {
    int sum = 0, i = 0;
    for (int v = 0; v < HEED_VOICES; v++) {
        if (!(voices >> v & 1)) continue;
        sum += before[v] == HEED_REST ? NEW_VOICE : abs(pitch[i] - before[v]);
        i++;
    }
    return sum;
}

void chorale_assign(const int32_t *pitch, int n, const int32_t before[HEED_VOICES], int32_t to[HEED_VOICES]) {
    unsigned best = 0;
    int least = INT32_MAX;
    for (unsigned voices = 0; voices < 1u << HEED_VOICES; voices++) {
        if (__builtin_popcount(voices) != n) continue;
        const int sum = movement(pitch, before, voices);
        if (sum < least) least = sum, best = voices;
    }
    for (int v = 0, i = 0; v < HEED_VOICES; v++) to[v] = best >> v & 1 ? pitch[i++] : HEED_REST;
}

/* ---- files ---- */

static bool ends_in(const char *path, const char *const *endings) {
    for (; *endings; endings++)
        if (text_ends(path, strlen(path), *endings)) return true;
    return false;
}

static bool is_midi(const char *path) {
    return ends_in(path, (const char *const[]){".mid", ".midi", ".MID", ".mid.gz", ".midi.gz", NULL});
}
static bool is_json(const char *path) { return ends_in(path, (const char *const[]){".json", ".json.gz", NULL}); }

/* The part of a file that holds no parts. */
static bool is_only_part(const char *part) { return !part || strcmp(part, "train") == 0; }

static bool read_file(heed_ctx *cx, const char *path, const char *part, heed_chorales *to) {
    size_t size;
    unsigned char *bytes = file_read(cx, path, LIMIT, &size);
    bool ok = false;
    if (bytes && size >= 4 && memcmp(bytes, "MThd", 4) == 0) {
        heed_midi *midi = is_only_part(part) ? heed_midi_parse(cx, path, bytes, size) : NULL;
        ok = midi ? chorales_take_midi(cx, path, midi, to) : !heed_failed(cx);
        heed_mem_free(cx, midi);
    } else if (bytes && is_midi(path)) {
        heed_midi_parse(cx, path, bytes, size); /* which says why it is none */
    } else if (bytes) {
        ok = chorales_parse_json(cx, path, (const char *)bytes, size, part, to);
    }
    heed_mem_free(cx, bytes);
    return ok;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Files of a directory in the order of their names: those that `fits`. One block; ends in NULL. */
static char **list_files(heed_ctx *cx, const char *dir, bool (*fits)(const char *), int64_t *count) {
    heed_string names = {0};
    DIR *d = opendir(dir);
    *count = 0;
    if (!d) return heed_fail(cx, HEED_ERR_FILE, "%s: %s", dir, strerror(errno)), NULL;
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d));) {
        if (e->d_name[0] == '.' || !fits(e->d_name)) continue;
        ok = heed_string_put(cx, &names, e->d_name, strlen(e->d_name) + 1);
        ++*count;
    }
    closedir(d);
    char **list = ok ? heed_mem_new(cx, (size_t)*count * sizeof *list + names.size + 1) : NULL;
    char *at = list ? memcpy(list + *count, names.s ? names.s : "", names.size) : NULL;
    for (int64_t i = 0; list && i < *count; i++, at += strlen(at) + 1) list[i] = at;
    if (list) qsort(list, (size_t)*count, sizeof *list, by_name);
    heed_string_free(cx, &names);
    return list;
}

static bool is_directory(const char *path) {
    struct stat what;
    return stat(path, &what) == 0 && S_ISDIR(what.st_mode);
}

/* All MIDI files of a directory; or its one JSON file. */
static bool read_all(heed_ctx *cx, const char *dir, const char *part, heed_chorales *to) {
    char path[PATH_ROOM];
    int64_t n = 0, more = 0;
    char **midi = list_files(cx, dir, is_midi, &n), **json = midi ? list_files(cx, dir, is_json, &more) : NULL;
    bool ok = json;
    if (ok && n == 0 && more > 1)
        ok = heed_fail(cx, HEED_ERR_USAGE, "%s: holds %lld JSON files: name one of them", dir, (long long)more);
    for (int64_t i = 0; ok && i < n && is_only_part(part); i++)
        ok = directory_path(cx, dir, midi[i], path) && read_file(cx, path, NULL, to);
    if (ok && n == 0 && more == 1) ok = directory_path(cx, dir, json[0], path) && read_file(cx, path, part, to);
    heed_mem_free(cx, midi);
    heed_mem_free(cx, json);
    return ok;
}

static const char *const parts[][5] = {{"train", NULL}, {"valid", "val", "validation", "dev", NULL}, {"test", NULL}};
enum { PARTS = sizeof parts / sizeof *parts };

/* DIR/train.json, DIR/train.json.gz or the directory DIR/train. *found: there is one. */
static bool read_part_of(heed_ctx *cx, const char *dir, const char *const *names, heed_chorales *to, bool *found) {
    static const char *const endings[] = {".json", ".json.gz", ""};
    for (; *names; names++)
        for (int i = 0; i < 3; i++) {
            char file[64], path[PATH_ROOM];
            snprintf(file, sizeof file, "%s%s", *names, endings[i]);
            if (!directory_has(dir, file) || !directory_path(cx, dir, file, path)) continue;
            if (is_directory(path) != !*endings[i]) continue;
            *found = true;
            return *endings[i] ? read_file(cx, path, NULL, to) : read_all(cx, path, NULL, to);
        }
    return !heed_failed(cx);
}

static bool read_directory(heed_ctx *cx, const char *dir, const char *part, heed_chorales *to) {
    bool split = false;
    for (int i = 0; i < PARTS; i++) {
        heed_chorales none = {0}, *into = to;
        if (part && strcmp(part, parts[i][0]) != 0) into = &none;
        const bool ok = read_part_of(cx, dir, parts[i], into, &split);
        heed_chorales_free(cx, &none);
        if (!ok) return false;
    }
    return split || read_all(cx, dir, part, to);
}

bool heed_chorales_read(heed_ctx *cx, const char *path, const char *part, heed_chorales *to) {
    if (heed_failed(cx)) return false;
    if (!path || !to) return heed_fail(cx, HEED_ERR_USAGE, "chorales: path or place is NULL");
    const int64_t before = to->count;
    if (!(is_directory(path) ? read_directory(cx, path, part, to) : read_file(cx, path, part, to))) return false;
    if (is_only_part(part) && to->count == before)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no chorales", path);
    return true;
}

/* ---- as MIDI ---- */

#define TICKS 480 /* to the quarter note */

bool heed_chorales_write_midi(heed_ctx *cx, const char *path, const heed_chorales *c, int64_t i,
                              const heed_music_look *look) {
    const heed_music_look usual = {0}, *how = look ? look : &usual;
    const int64_t steps = heed_chorale_steps(c, i), to_quarter = how->steps > 0 ? how->steps : 4;
    const int32_t *voice = heed_chorale_voices(c, i);
    char name[HEED_VOICES][HEED_MIDI_NAME];
    if (heed_failed(cx)) return false;
    if (!voice) return heed_fail(cx, HEED_ERR_USAGE, "chorales: there is no chorale %lld", (long long)i);
    heed_midi midi = {.division = TICKS,
                      .tempo = how->tempo > 0 ? how->tempo : 90,
                      .program = how->program > 0 ? how->program - 1 : 19,
                      .tracks = HEED_VOICES,
                      .name = name};
    for (int v = 0; v < HEED_VOICES; v++) snprintf(name[v], sizeof name[v], "%s", heed_voice_name(v));
    midi.note = heed_mem_new(cx, (size_t)(steps * HEED_VOICES) * sizeof *midi.note);
    int64_t last[HEED_VOICES] = {-1, -1, -1, -1}; /* the note that a voice sings */
    for (int64_t t = 0; midi.note && t < steps; t++)
        for (int v = 0; v < HEED_VOICES; v++) {
            const int32_t x = voice[t * HEED_VOICES + v];
            const int64_t end = (t + 1) * TICKS / to_quarter;
            if (x & HEED_HELD) {
                if (last[v] >= 0) midi.note[last[v]].end = end;
                continue;
            }
            last[v] = x == HEED_REST ? -1 : midi.notes;
            if (x != HEED_REST)
                midi.note[midi.notes++] = (heed_midi_note){t * TICKS / to_quarter, end, v, (uint8_t)v, (uint8_t)x, 80};
        }
    const bool ok = midi.note && heed_midi_write(cx, path, &midi);
    heed_mem_free(cx, midi.note);
    return ok;
}
