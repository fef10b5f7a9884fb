/* Where the training of word vectors is: both tables, the place, and the settings that the result depends on. */
#include "classical/words/words.h"
#include "io/text.h"
#include "train/loop.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS = 11, PLACES = 5, ROOM = 96 };

/* What must agree, by the names of the options. */
static void settings(const heed_words_trainer *t, heed_pair pairs[SETTINGS], char text[SETTINGS][ROOM]) {
    const heed_words_opts *o = &t->opts;
    const struct {
        const char *key;
        int64_t value;
    } whole[] = {{"--width", o->width},     {"--window", o->window}, {"--negative", o->negative},
                 {"--min-count", o->least}, {"--epochs", o->epochs}, {"--lower", o->lower}};
    const struct {
        const char *key;
        double value;
    } real[] = {{"--sample", o->sample}, {"--lr", o->lr}, {"--lr-end", o->lr_end}};
    int n = 0;
    notes_name_data(text[n], t->text.count, "words", t->text.hash);
    pairs[n] = (heed_pair){"text", text[n]};
    n++;
    snprintf(text[n], ROOM, "%s seed %" PRIu64, o->cbow ? "cbow" : "skip-gram", o->seed);
    pairs[n] = (heed_pair){"--kind and --seed", text[n]};
    n++;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++, n++) {
        snprintf(text[n], ROOM, "%" PRId64, whole[i].value);
        pairs[n] = (heed_pair){whole[i].key, text[n]};
    }
    for (size_t i = 0; i < sizeof real / sizeof *real; i++, n++) {
        number_shortest(text[n], real[i].value, false);
        pairs[n] = (heed_pair){real[i].key, text[n]};
    }
}

bool heed_words_trainer_save(heed_ctx *cx, const heed_words_trainer *t, const char *path) {
    heed_pair pairs[SETTINGS + 2];
    char text[SETTINGS][ROOM], place[160];
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "words: a training and the name of a file are needed");
    snprintf(place, sizeof place, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, t->state.step,
             t->state.epoch, t->sentence, t->seen, t->pairs);
    settings(t, pairs, text);
    pairs[SETTINGS] = (heed_pair){"heed.words", "1"};
    pairs[SETTINGS + 1] = (heed_pair){"place", place};
    const int64_t rows = t->text.words.count;
    const heed_array tables[] = {
        {.name = "in", .dtype = HEED_F32, .rank = 2, .shape = {rows, t->ld}, .data = t->in},
        {.name = "out", .dtype = HEED_F32, .rank = 2, .shape = {rows, t->ld}, .data = t->out},
    };
    return heed_safetensors_write(cx, path, tables, 2, pairs, SETTINGS + 2);
}

static bool fits(heed_ctx *cx, const heed_words_trainer *t, heed_safetensors *file, const char *path) {
    heed_pair pairs[SETTINGS];
    char text[SETTINGS][ROOM];
    settings(t, pairs, text);
    const char *version = heed_safetensors_metadata(cx, file, "heed.words");
    if (!version || strcmp(version, "1") != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: this is not a checkpoint of word vectors", path);
    for (int i = 0; i < SETTINGS; i++) {
        const char *theirs = heed_safetensors_metadata(cx, file, pairs[i].key);
        if (!theirs || strcmp(theirs, pairs[i].value) != 0)
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: a checkpoint of another run: %s: %s, now %s", path, pairs[i].key,
                             escaped(theirs ? theirs : "none").s, pairs[i].value);
    }
    return true;
}

static bool take_table(heed_ctx *cx, const heed_words_trainer *t, heed_safetensors *file, const char *name, float *to) {
    const int64_t at = heed_safetensors_find(cx, file, name);
    const heed_array *a = at < 0 ? NULL : heed_safetensors_get(cx, file, at);
    if (!a || a->dtype != HEED_F32 || a->rank != 2 || a->shape[0] != t->text.words.count || a->shape[1] != t->ld)
        return heed_fail(cx, HEED_ERR_FORMAT, "'%s' is missing or of another size", name);
    memcpy(to, a->data, (size_t)(a->shape[0] * a->shape[1]) * sizeof *to);
    return true;
}

static bool take_place(heed_ctx *cx, heed_words_trainer *t, const char *text) {
    int64_t place[PLACES];
    char *end = (char *)text;
    for (int i = 0; i < PLACES; i++) {
        const char *from = end;
        place[i] = text ? strtoll(from, &end, 10) : -1;
        if (place[i] < 0 || end == from) return heed_fail(cx, HEED_ERR_FORMAT, "it does not say how far the run was");
    }
    if (place[0] > t->state.steps || place[1] > t->opts.epochs || place[2] > t->text.sentences ||
        t->text.start[place[2]] != place[3])
        return heed_fail(cx, HEED_ERR_FORMAT, "the place '%s' is not in the text", escaped(text).s);
    t->state.step = place[0];
    t->state.epoch = place[1];
    t->sentence = place[2];
    t->seen = place[3];
    t->pairs = place[4];
    t->state.seen = t->state.epoch * t->text.count + t->seen;
    return true;
}

bool heed_words_trainer_restore(heed_ctx *cx, heed_words_trainer *t, const char *path) {
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "words: a training and the name of a file are needed");
    heed_safetensors *file = heed_safetensors_open(cx, path);
    const bool ok = file && fits(cx, t, file, path);
    if (ok && !(take_place(cx, t, heed_safetensors_metadata(cx, file, "place")) &&
                take_table(cx, t, file, "in", t->in) && take_table(cx, t, file, "out", t->out)))
        heed_fail_in(cx, "%s", path);
    heed_safetensors_close(file);
    return !heed_failed(cx);
}
