/* Chorales as tokens: "S74" is a soprano that begins to sing 74, "S74_" one that goes on with it, "SR" a rest. What
 * sounds can be read off every token, so that a model need not remember what is held. */
#include "io/text.h"
#include "task/music/music.h"
#include "text/tokenizer/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[HEED_VOICES + 1] = "SATB";

/* ---- names ---- */

static void name_of(int voice, int32_t x, char out[MUSIC_WORD]) {
    const int32_t pitch = x & ~HEED_HELD;
    const char *const tail = x & HEED_HELD ? "_" : "";
    if (pitch == HEED_REST)
        snprintf(out, MUSIC_WORD, "%cR%s", letters[voice], tail);
    else
        snprintf(out, MUSIC_WORD, "%c%d%s", letters[voice], (int)pitch, tail);
}

bool music_word(const char *word, int *voice, int32_t *x) {
    const char *const letter = word && *word ? strchr(letters, *word) : NULL;
    char *end = NULL;
    if (!letter) return false;
    *voice = (int)(letter - letters);
    if (word[1] == 'R') {
        *x = HEED_REST;
        end = (char *)word + 2;
    } else {
        if (word[1] < '0' || word[1] > '9') return false;
        const long pitch = strtol(word + 1, &end, 10);
        if (pitch > 127 || (word[1] == '0' && end != word + 2)) return false;
        *x = (int32_t)pitch;
    }
    if (*end == '_') *x |= HEED_HELD, end++;
    return !*end;
}

/* ---- vocabularies ---- */

/* The pitches of each voice; low > high: it has none. */
static void find_ranges(const int32_t *voice, int64_t n, int low[HEED_VOICES], int high[HEED_VOICES]) {
    for (int v = 0; v < HEED_VOICES; v++) low[v] = 127, high[v] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int v = (int)(i % HEED_VOICES), pitch = voice[i] & ~HEED_HELD;
        if (pitch == HEED_REST) continue;
        if (pitch < low[v]) low[v] = pitch;
        if (pitch > high[v]) high[v] = pitch;
    }
}

static bool put_words(heed_ctx *cx, int voice, int low, int high, struct map *to) {
    char word[MUSIC_WORD];
    for (int pitch = low - 1; pitch <= high; pitch++)
        for (int held = 0; held < 2; held++) {
            name_of(voice, (pitch < low ? HEED_REST : pitch) | (held ? HEED_HELD : 0), word);
            if (map_add(cx, to, word, strlen(word)) < 0) return false;
        }
    return true;
}

heed_tokenizer *heed_music_vocabulary(heed_ctx *cx, const heed_chorales *c, int more) {
    static const char *const special[] = {"<pad>", "<s>", "</s>", "<unk>"};
    const heed_tokenizer_opts opts = {.kind = HEED_TOKENS_WORD,
                                      .pad = special[0],
                                      .bos = special[1],
                                      .eos = special[2],
                                      .unk = special[3],
                                      .add_bos = true,
                                      .add_eos = true};
    struct map words = {0};
    int low[HEED_VOICES], high[HEED_VOICES];
    bool ok = !heed_failed(cx);
    if (ok && !c) ok = heed_fail(cx, HEED_ERR_USAGE, "music: the chorales are NULL");
    if (ok) find_ranges(c->voice.id, c->voice.count, low, high);
    for (int i = 0; ok && i < 4; i++) ok = map_add(cx, &words, special[i], strlen(special[i])) >= 0;
    for (int v = 0; ok && v < HEED_VOICES; v++) {
        const int from = low[v] - more < 0 ? 0 : low[v] - more, to = high[v] + more > 127 ? 127 : high[v] + more;
        ok = low[v] > high[v] ? put_words(cx, v, 0, -1, &words) : put_words(cx, v, from, to, &words);
    }
    heed_tokenizer *t = ok ? tokenizer_build(cx, &opts, &words, NULL, 0, NULL) : NULL;
    map_free(cx, &words);
    return t;
}

bool music_find(const heed_tokenizer *tokens, struct music_ids *to) {
    bool all = tokens;
    for (int v = 0; v < HEED_VOICES; v++) {
        to->low[v] = 128, to->high[v] = -1;
        for (int32_t pitch = 0; pitch <= HEED_REST; pitch++)
            for (int held = 0; held < 2; held++) {
                char word[MUSIC_WORD];
                name_of(v, pitch | (held ? HEED_HELD : 0), word);
                const int32_t id = heed_tokenizer_id(tokens, word);
                to->id[v][pitch][held] = id;
                if (pitch == HEED_REST && id < 0) all = false;
                if (pitch == HEED_REST || id < 0 || to->id[v][pitch][0] < 0) continue;
                if (pitch < to->low[v]) to->low[v] = pitch;
                to->high[v] = pitch;
            }
    }
    to->begin = heed_tokenizer_id(tokens, "<s>");
    to->end = heed_tokenizer_id(tokens, "</s>");
    return all && to->begin >= 0 && to->end >= 0;
}

bool heed_music_has(const heed_tokenizer *tokens) {
    struct music_ids ids;
    return music_find(tokens, &ids);
}

bool music_find_or_fail(heed_ctx *cx, const heed_tokenizer *tokens, struct music_ids *to) {
    if (heed_failed(cx)) return false;
    return music_find(tokens, to) ||
           heed_fail(cx, HEED_ERR_FORMAT, "music: the tokenizer has no words of four voices, such as S60 and S60_");
}

/* ---- encoding ---- */

int32_t music_id(const struct music_ids *ids, int voice, int32_t x, int up) {
    const int32_t pitch = x & ~HEED_HELD, moved = pitch == HEED_REST ? HEED_REST : pitch + up;
    if (moved < 0 || moved > HEED_REST || (moved == HEED_REST && pitch != HEED_REST)) return -1;
    return ids->id[voice][moved][x & HEED_HELD ? 1 : 0];
}

bool music_check(heed_ctx *cx, const struct music_ids *ids, const heed_chorales *c, int64_t i) {
    const int32_t *voice = heed_chorale_voices(c, i);
    for (int64_t k = 0; k < heed_chorale_steps(c, i) * HEED_VOICES; k++) {
        const int v = (int)(k % HEED_VOICES);
        if (music_id(ids, v, voice[k], 0) < 0)
            return heed_fail(cx, HEED_ERR_RANGE,
                             "chorale %lld, step %lld: the %s sings %d, outside of the model's range, %d to %d",
                             (long long)i + 1, (long long)(k / HEED_VOICES + 1), heed_voice_name(v),
                             (int)(voice[k] & ~HEED_HELD), ids->low[v], ids->high[v]);
    }
    return true;
}

bool heed_music_encode(heed_ctx *cx, const heed_tokenizer *tokens, const heed_chorales *c, int64_t i, int up,
                       heed_ids *to) {
    struct music_ids ids;
    const int32_t *voice = heed_chorale_voices(c, i);
    if (!music_find_or_fail(cx, tokens, &ids)) return false;
    if (!voice) return heed_fail(cx, HEED_ERR_USAGE, "music: there is no chorale %lld", (long long)i);
    if (!music_check(cx, &ids, c, i) || !heed_ids_put(cx, to, ids.begin)) return false;
    for (int64_t k = 0; k < heed_chorale_steps(c, i) * HEED_VOICES; k++) {
        const int32_t id = music_id(&ids, (int)(k % HEED_VOICES), voice[k], up);
        if (id < 0) return heed_fail(cx, HEED_ERR_RANGE, "music: %d semitones up are outside of the range", up);
        if (!heed_ids_put(cx, to, id)) return false;
    }
    return heed_ids_put(cx, to, ids.end);
}

bool heed_music_decode(heed_ctx *cx, const heed_tokenizer *tokens, const int32_t *id, int64_t n, heed_chorales *to) {
    int32_t pitch[HEED_VOICES];
    bool again[HEED_VOICES];
    int turn = 0;
    if (heed_failed(cx)) return false;
    if (!to || (!id && n > 0)) return heed_fail(cx, HEED_ERR_USAGE, "music: the tokens or the chorales are NULL");
    if (!chorales_begin(cx, to)) return false;
    for (int64_t i = 0; i < n; i++) {
        int voice;
        int32_t x;
        const char *word = heed_tokenizer_token(tokens, id[i]);
        if (heed_tokenizer_is_special(tokens, id[i])) continue;
        if (!music_word(word, &voice, &x) || voice != turn)
            return heed_fail(cx, HEED_ERR_FORMAT, "music: token %lld, '%s', is out of turn", (long long)i + 1,
                             escaped(word).s);
        pitch[voice] = x & ~HEED_HELD;
        again[voice] = !(x & HEED_HELD);
        turn = (turn + 1) % HEED_VOICES;
        if (turn == 0 && !chorales_step(cx, to, pitch, again)) return false;
    }
    return chorales_end(cx, to);
}

/* ---- words for n-grams ---- */

int music_bends(const struct music_ids *ids, const heed_chorales *c, int64_t i, int most, int *down) {
    int low[HEED_VOICES], high[HEED_VOICES], below = most, above = most;
    find_ranges(heed_chorale_voices(c, i), heed_chorale_steps(c, i) * HEED_VOICES, low, high);
    for (int v = 0; v < HEED_VOICES; v++) {
        if (low[v] > high[v]) continue;
        if (low[v] - ids->low[v] < below) below = low[v] - ids->low[v];
        if (ids->high[v] - high[v] < above) above = ids->high[v] - high[v];
    }
    *down = below < 0 ? 0 : below;
    return above < 0 ? 0 : above;
}

/* What is held is "S_", whatever it is: n-grams see further so. */
static bool put_line(heed_ctx *cx, const heed_chorales *c, int64_t i, int up, heed_string *to) {
    const int32_t *voice = heed_chorale_voices(c, i);
    const int64_t n = heed_chorale_steps(c, i) * HEED_VOICES;
    bool ok = true;
    for (int64_t k = 0; ok && k < n; k++) {
        const int v = (int)(k % HEED_VOICES);
        char word[MUSIC_WORD + 1];
        if (voice[k] & HEED_HELD)
            snprintf(word, sizeof word, "%c_", letters[v]);
        else
            name_of(v, voice[k] == HEED_REST ? HEED_REST : voice[k] + up, word);
        ok = heed_string_put(cx, to, word, strlen(word)) && heed_string_put(cx, to, k + 1 < n ? " " : "\n", 1);
    }
    return ok;
}

bool heed_music_lines(heed_ctx *cx, const char *path, const char *part, int transpose, heed_lines *to) {
    heed_chorales c = {0};
    heed_string text = {0};
    struct music_ids ids;
    bool ok = heed_chorales_read(cx, path, part, &c);
    if (ok && c.count == 0) ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no part %s", path, part ? part : "");
    find_ranges(c.voice.id, c.voice.count, ids.low, ids.high);
    for (int v = 0; v < HEED_VOICES; v++) ids.low[v] -= HEED_MUSIC_MARGIN, ids.high[v] += HEED_MUSIC_MARGIN;
    for (int64_t i = 0; ok && i < c.count; i++) {
        int down;
        const int up = music_bends(&ids, &c, i, transpose, &down);
        for (int k = -down; ok && k <= up; k++) ok = put_line(cx, &c, i, k, &text);
    }
    ok = ok && heed_lines_cut(cx, &text, to);
    heed_string_free(cx, &text);
    heed_chorales_free(cx, &c);
    return ok;
}
