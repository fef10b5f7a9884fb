/* word2vec (Mikolov et al. 2013, "Efficient estimation of word representations in vector space" and "Distributed
 * representations of words and phrases and their compositionality"): skip-gram and CBOW with negative sampling.
 *
 * What gensim does, it does: frequent words are left out at random, the window is drawn for each word, noise words come
 * from the frequencies to the power 3/4, the learning rate falls linearly. What differs: the logistic function is
 * computed, not looked up and cut off at 6, and every gradient is that of the weights as they were before the pair. */
#include "base/checked.h"
#include "classical/words/words.h"
#include "kernel/ints.h"
#include "train/loop.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_WORDS   10000
#define MEASURE_EACH 16 /* pairs, of which one is measured */
#define POWER        0.75

/* ---- tables ---- */

/* A word that makes up share s of the text is kept with probability sqrt(t/s) + t/s: gensim's form, that of the
 * published program, of what the paper writes as sqrt(t/s). */
static void set_keep(heed_words_trainer *t) {
    const double threshold = t->opts.sample * (double)t->text.count;
    for (int64_t i = 0; i < t->text.words.count; i++) {
        const double part = threshold / (double)t->text.words.entries[i].value;
        const double p = t->opts.sample > 0 ? sqrt(part) + part : 1;
        t->keep[i] = p >= 1 ? UINT32_MAX : (uint32_t)(p * 0x1p32);
    }
}

/* Vose's way to Walker's tables: places with less than their share are filled up from those with more. */
static bool set_noise(heed_ctx *cx, heed_words_trainer *t) {
    const int64_t n = t->text.words.count;
    double *share = heed_mem_new(cx, (size_t)n * sizeof *share), sum = 0;
    int32_t *small = heed_mem_new(cx, (size_t)n * sizeof *small), *large = heed_mem_new(cx, (size_t)n * sizeof *large);
    int64_t n_small = 0, n_large = 0;
    for (int64_t i = 0; !heed_failed(cx) && i < n; i++)
        sum += share[i] = pow((double)t->text.words.entries[i].value, POWER);
    for (int64_t i = 0; !heed_failed(cx) && i < n; i++) {
        share[i] *= (double)n / sum;
        t->noise[i] = (struct words_noise){UINT32_MAX, (int32_t)i};
        if (share[i] < 1)
            small[n_small++] = (int32_t)i;
        else
            large[n_large++] = (int32_t)i;
    }
    while (n_small > 0 && n_large > 0) {
        const int32_t low = small[--n_small], high = large[n_large - 1];
        t->noise[low] = (struct words_noise){(uint32_t)(share[low] * 0x1p32), high};
        share[high] -= 1 - share[low];
        if (share[high] < 1) small[n_small++] = large[--n_large];
    }
    heed_mem_free(cx, share);
    heed_mem_free(cx, small);
    heed_mem_free(cx, large);
    return !heed_failed(cx);
}

/* Vectors begin evenly drawn from +-0.5 / width, the output layer at 0. */
static void set_tables(heed_words_trainer *t) {
    const int64_t n = t->text.words.count, width = t->opts.width;
    memset(t->in, 0, (size_t)(n * t->ld) * sizeof *t->in);
    memset(t->out, 0, (size_t)(n * t->ld) * sizeof *t->out);
    for (int64_t i = 0; i < n; i++) {
        float *row = t->in + i * t->ld;
        heed_random_uniform(t->opts.seed, WORDS_STREAM_START, (uint64_t)(i * width), row, width);
        for (int64_t k = 0; k < width; k++) row[k] = (row[k] - 0.5f) / (float)width;
    }
}

/* ---- a pair ---- */

static inline int32_t draw(const heed_words_trainer *t, uint32_t bits) {
    const uint64_t product = (uint64_t)bits * (uint64_t)t->text.words.count;
    const struct words_noise *at = &t->noise[product >> 32];
    return (uint32_t)product < at->limit ? (int32_t)(product >> 32) : at->other;
}

/* The seen word, then noise words: different ones, with how often each was drawn. */
static inline int64_t draw_rows(heed_words_trainer *t, int32_t word, const uint32_t *bits) {
    int64_t n = 1;
    t->row[0] = word;
    t->times[0] = 1;
    for (int64_t k = 0; k < t->opts.negative; k++) {
        const int32_t noise = draw(t, bits[k]);
        int64_t i = 0;
        while (i < n && t->row[i] != noise) i++;
        if (i == n) {
            t->row[n] = noise;
            t->times[n++] = 1;
        } else if (i > 0) {
            t->times[i] += 1;
        }
    }
    return n;
}

static void measure(heed_words_trainer *t, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double x = i == 0 ? -(double)t->score[0] : (double)t->score[i];
        t->loss += (double)t->times[i] * (x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
    }
    t->measured++;
}

/* h is to tell `word` from noise: learns, and adds what h learns to `step`. */
static inline void learn(heed_words_trainer *t, const struct isa *isa, float *step, const float *h, int32_t word,
                         const uint32_t *bits, float lr) {
    const int64_t n = draw_rows(t, word, bits);
    isa->sample_rows(step, h, t->out, t->ld, t->row, t->times, n, lr, t->score, t->slope);
    if (t->pairs++ % MEASURE_EACH == 0) measure(t, n);
}

/* ---- a sentence ---- */

/* Those words that are kept, with their places in the text and their windows. */
static int64_t choose(heed_words_trainer *t, const struct isa *isa, int64_t from, int64_t to) {
    const uint64_t stream = WORDS_STREAM_PLACE + 2 * (uint64_t)t->state.epoch;
    int64_t n = 0;
    isa->random_words(t->bits, 4 * (to - from), t->opts.seed, stream, (uint64_t)from);
    for (int64_t i = from; i < to; i++) {
        const uint32_t *const bits = t->bits + 4 * (i - from);
        t->id[n] = t->text.id[i];
        t->place[n] = i;
        t->reach[n] = (int32_t)(1 + ((uint64_t)bits[1] * (uint64_t)t->opts.window >> 32));
        n += bits[0] <= t->keep[t->text.id[i]];
    }
    return n;
}

/* Each word around word k is to tell word k. */
static void skip_gram(heed_words_trainer *t, const struct isa *isa, int64_t k, int64_t low, int64_t high, float lr) {
    const uint32_t *bits = t->draws;
    for (int64_t j = low; j <= high; j++) {
        if (j == k) continue;
        float *const h = t->in + t->id[j] * t->ld;
        learn(t, isa, h, h, t->id[k], bits, lr);
        bits += t->opts.negative;
    }
}

/* The mean of the words around word k is to tell it. Each of them takes the whole step of the mean, as in the published
 * program; the gradient proper would be divided by their number (Irsoy et al. 2021, "Corrected CBOW performs as well as
 * skip-gram"), which asks for a larger learning rate. */
static void cbow(heed_words_trainer *t, const struct isa *isa, int64_t k, int64_t low, int64_t high, float lr) {
    const float part = 1.0f / (float)(high - low);
    memset(t->mean, 0, (size_t)t->ld * sizeof *t->mean);
    memset(t->error, 0, (size_t)t->ld * sizeof *t->error);
    for (int64_t j = low; j <= high; j++)
        if (j != k) isa->axpy_part(t->mean, part, t->in + t->id[j] * t->ld, t->ld);
    learn(t, isa, t->error, t->mean, t->id[k], t->draws, lr);
    for (int64_t j = low; j <= high; j++)
        if (j != k) isa->axpy_part(t->in + t->id[j] * t->ld, 1.0f, t->error, t->ld);
}

static void learn_sentence(heed_words_trainer *t, const struct isa *isa, int64_t from, int64_t to, float lr) {
    const uint64_t stream = WORDS_STREAM_NOISE + 2 * (uint64_t)t->state.epoch;
    const int64_t n = choose(t, isa, from, to), blocks = words_noise_blocks(&t->opts);
    for (int64_t k = 0; k < n; k++) {
        const int64_t low = max64(0, k - t->reach[k]), high = min64(n - 1, k + t->reach[k]);
        if (low == high) continue;
        const int64_t pairs = t->opts.cbow ? 1 : high - low;
        isa->random_words(t->draws, pairs * t->opts.negative, t->opts.seed, stream, (uint64_t)(t->place[k] * blocks));
        (t->opts.cbow ? cbow : skip_gram)(t, isa, k, low, high, lr);
    }
}

/* ---- steps ---- */

static double rate(const heed_words_trainer *t) {
    const double done = (double)(t->state.epoch * t->text.count + t->seen) / (double)t->state.total;
    return t->opts.lr - (t->opts.lr - t->opts.lr_end) * done;
}

bool heed_words_trainer_step(heed_ctx *cx, heed_words_trainer *t) {
    const struct isa *isa = isa_get();
    if (heed_failed(cx) || !t || t->state.step == t->state.steps || heed_cancelled(cx)) return false;
    const int64_t end = t->seen + STEP_WORDS;
    t->loss = 0;
    t->measured = 0;
    for (; t->sentence < t->text.sentences && t->seen < end; t->sentence++) {
        const int64_t from = t->text.start[t->sentence], to = t->text.start[t->sentence + 1];
        t->state.lr = rate(t);
        learn_sentence(t, isa, from, to, (float)t->state.lr);
        t->seen = to;
    }
    t->state.step++;
    if (t->measured > 0) t->state.loss = t->loss / (double)t->measured;
    if (t->sentence == t->text.sentences) {
        t->state.epoch++;
        t->sentence = t->seen = 0;
    }
    t->state.seen = t->state.epoch * t->text.count + t->seen;
    if (isfinite(t->state.loss)) return true;
    return heed_fail(cx, HEED_ERR_RANGE, "words: the loss is not finite after step %lld: a smaller --lr may help",
                     (long long)t->state.step);
}

/* Sentences are not cut between steps, so that their number is counted. */
static int64_t count_steps(const struct words_text *text) {
    int64_t steps = 0, end = 0;
    for (int64_t i = 0; i < text->sentences; i++)
        if (text->start[i] >= end) {
            steps++;
            end = text->start[i] + STEP_WORDS;
        }
    return steps;
}

/* ---- making one ---- */

static heed_words_opts with_defaults(const heed_words_opts *opts) {
    heed_words_opts o = opts ? *opts : (heed_words_opts){0};
    if (o.width == 0) o.width = 100;
    if (o.window == 0) o.window = 5;
    if (o.negative == 0) o.negative = 5;
    if (o.least == 0) o.least = 5;
    if (o.epochs == 0) o.epochs = 5;
    if (o.sample == 0) o.sample = 1e-3;
    if (o.lr == 0) o.lr = 0.025;
    if (o.lr_end == 0) o.lr_end = fmin(1e-4, o.lr);
    return o;
}

#define MOST (1 << 20) /* of width, window and noise words: far beyond sense, and products of two fit */

static bool check(heed_ctx *cx, const heed_words_opts *o) {
    const struct {
        const char *name;
        int64_t value, high;
    } all[] = {{"width", o->width, MOST},
               {"window", o->window, MOST},
               {"negative", o->negative, MOST},
               {"least", o->least, INT64_MAX},
               {"epochs", o->epochs, 1000000000}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value < 1 || all[i].value > all[i].high)
            return heed_fail(cx, HEED_ERR_USAGE, "words: %s: %lld is out of range", all[i].name,
                             (long long)all[i].value);
    if (!(o->lr > 0 && o->lr <= 1e6 && o->lr_end >= 0 && o->lr_end <= o->lr))
        return heed_fail(cx, HEED_ERR_USAGE, "words: learning rates from %g to %g make no sense", o->lr, o->lr_end);
    return !heed_failed(cx);
}

/* n elements; NULL and a failed context when that does not fit. */
static void *room(heed_ctx *cx, int64_t n, int64_t each, size_t size) {
    size_t bytes;
    if (heed_failed(cx)) return NULL;
    if (size_mul((size_t)n, (size_t)each, &bytes) && size_mul(bytes, size, &bytes)) return heed_mem_new(cx, bytes);
    return heed_fail(cx, HEED_ERR_MEMORY, "words: %lld times %lld numbers are too many", (long long)n, (long long)each),
           NULL;
}

static bool make_room(heed_ctx *cx, heed_words_trainer *t) {
    const heed_words_opts *o = &t->opts;
    const int64_t n = t->text.words.count, rows = (o->negative / SAMPLE_RUN + 1) * SAMPLE_RUN;
    const int64_t draws = o->negative * (o->cbow ? 1 : min64(2 * o->window, WORDS_SENTENCE)) + WORDS_MORE;
    t->ld = (o->width + SAMPLE_RUN - 1) / SAMPLE_RUN * SAMPLE_RUN;
    t->in = room(cx, n, t->ld, sizeof *t->in);
    t->out = room(cx, n, t->ld, sizeof *t->out);
    t->keep = room(cx, n, 1, sizeof *t->keep);
    t->noise = room(cx, n, 1, sizeof *t->noise);
    t->id = room(cx, WORDS_SENTENCE, 1, sizeof *t->id);
    t->reach = room(cx, WORDS_SENTENCE, 1, sizeof *t->reach);
    t->place = room(cx, WORDS_SENTENCE, 1, sizeof *t->place);
    t->bits = room(cx, 4 * WORDS_SENTENCE + WORDS_MORE, 1, sizeof *t->bits);
    t->draws = room(cx, draws, 1, sizeof *t->draws);
    t->row = room(cx, rows, 1, sizeof *t->row);
    t->times = room(cx, 3, rows, sizeof *t->times);
    t->mean = room(cx, 2, t->ld, sizeof *t->mean);
    if (heed_failed(cx)) return false;
    t->score = t->times + rows;
    t->slope = t->score + rows;
    t->error = t->mean + t->ld;
    memset(t->times, 0, (size_t)(3 * rows) * sizeof *t->times);
    return true;
}

heed_words_trainer *heed_words_trainer_new(heed_ctx *cx, const char *name, const heed_lines *text,
                                           const heed_words_opts *opts) {
    const heed_words_opts o = with_defaults(opts);
    if (heed_failed(cx)) return NULL;
    if (!name || !text) return heed_fail(cx, HEED_ERR_USAGE, "words: a text and its name are needed"), NULL;
    heed_words_trainer *t = check(cx, &o) ? heed_mem_new(cx, sizeof *t) : NULL;
    if (!t) return NULL;
    *t = (heed_words_trainer){.opts = o};
    if (words_text_read(cx, name, text, &o, &t->text) && make_room(cx, t) && set_noise(cx, t)) {
        set_keep(t);
        set_tables(t);
        t->state.steps = count_steps(&t->text) * o.epochs;
        t->state.total = t->text.count * o.epochs;
        return t;
    }
    heed_words_trainer_free(cx, t);
    return NULL;
}

void heed_words_trainer_free(heed_ctx *cx, heed_words_trainer *t) {
    if (!t) return;
    void *const all[] = {t->in,   t->out,   t->keep, t->noise, t->id,   t->reach, t->place,
                         t->bits, t->draws, t->row,  t->times, t->mean, t};
    words_text_free(cx, &t->text);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) heed_mem_free(cx, all[i]);
}

heed_words_state heed_words_trainer_state(const heed_words_trainer *t) { return t ? t->state : (heed_words_state){0}; }
int64_t heed_words_trainer_count(const heed_words_trainer *t) { return t ? t->text.words.count : 0; }

heed_words *heed_words_trainer_words(heed_ctx *cx, const heed_words_trainer *t) {
    if (heed_failed(cx)) return NULL;
    if (!t) return heed_fail(cx, HEED_ERR_USAGE, "words: there is no training"), NULL;
    const struct map *from = &t->text.words;
    heed_words *w = words_new(cx, t->opts.width);
    if (!w) return NULL;
    w->lower = t->opts.lower;
    w->punctuation = t->opts.punctuation;
    w->seen = heed_mem_new(cx, (size_t)from->count * sizeof *w->seen);
    if (w->seen && words_room(cx, w, from->count) && map_reserve(cx, &w->words, from->count, from->text.size))
        for (int64_t i = 0; i < from->count; i++) {
            if (map_add(cx, &w->words, map_key(from, i), map_size(from, i)) < 0) break;
            w->seen[i] = from->entries[i].value;
            memcpy(w->own + i * w->width, t->in + i * t->ld, (size_t)w->width * sizeof *w->own);
        }
    return words_finish(cx, w, "words");
}
