/* heed train tag --model hmm, heed tag and heed eval for hidden Markov models (Rabiner 1989; unknown words by their
 * endings as in Brants 2000). */
#include "cli/classical/hmm.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/classical/plain_models.h"
#include "cli/core/input_lines.h"
#include "cli/core/program.h"
#include "cli/train/text_data.h"
#include "heed/hmm.h"
#include "io/limits.h"
#include "task/task.h"
#include "text/strings/map.h"
#include "text/unicode/unicode.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RARE      2    /* words seen at most so often tell of unknown words */
#define SMOOTHING 0.1  /* added to counts of transitions */
#define FAINT     1e-3 /* added to counts of words of any look, so that every tag may have one */
enum { LOOKS = 4, LOOK_ROOM = 64 };

struct tagger {
    heed_ctx *cx;
    heed_hmm *h;
    struct map symbols;
    const char **tag; /* (states), in `names` */
    heed_string names;
    bool marks; /* punctuation marks are words of their own in what is tagged */
};

/* ---- symbols ---- */

/* What an unknown word looks like: level 0 with three last letters, level 3 with none. */
static size_t look(const heed_word *word, int level, char out[LOOK_ROOM]) {
    const char *end = word->text + word->size, *at = word->text, *suffix = end;
    const int32_t first = utf8_next(&at, end);
    bool digit = false;
    for (size_t i = 0; i < word->size; i++) digit |= word->text[i] >= '0' && word->text[i] <= '9';
    const char kind = digit ? '0' : unicode_is_upper(first) ? 'A' : unicode_is_letter(first) ? 'a' : '.';
    for (int k = level; k < LOOKS - 1 && suffix > word->text; k++) do
            suffix--;
        while (suffix > word->text && ((unsigned char)*suffix & 0xC0) == 0x80);
    return (size_t)snprintf(out, LOOK_ROOM, level == LOOKS - 1 ? "<unk>" : "<unk:%c%.*s>", kind, (int)(end - suffix),
                            suffix);
}

static int32_t symbol_of(const struct tagger *g, const heed_word *word) {
    char name[LOOK_ROOM];
    int64_t found = map_find(&g->symbols, word->text, word->size);
    for (int level = 0; found < 0 && level < LOOKS; level++)
        found = map_find(&g->symbols, name, look(word, level, name));
    return (int32_t)found;
}

static bool read_symbols(struct tagger *g, const heed_word *word, int64_t n, int32_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = symbol_of(g, &word[i]);
    return true;
}

static void free_tagger(struct tagger *g) {
    if (!g->cx) return;
    heed_hmm_free(g->cx, g->h);
    map_free(g->cx, &g->symbols);
    heed_mem_free(g->cx, g->tag);
    heed_string_free(g->cx, &g->names);
    *g = (struct tagger){0};
}

/* The names of the states; names[i] of tag i. */
static bool set_tags(struct tagger *g, const char *const *name, int64_t n) {
    g->tag = heed_mem_new(g->cx, (size_t)n * sizeof *g->tag);
    for (int64_t i = 0; g->tag && i < n; i++)
        if (!heed_string_put(g->cx, &g->names, name[i], strlen(name[i]) + 1)) return false;
    const char *at = g->names.s;
    for (int64_t i = 0; g->tag && i < n; i++, at += strlen(at) + 1) g->tag[i] = at;
    return g->tag != NULL;
}

/* ---- counts ---- */

static bool count_words(struct tagger *g, const struct task_tagged *d) {
    char name[LOOK_ROOM];
    heed_ctx *cx = g->cx;
    for (int64_t i = 0; i < d->words; i++) {
        const int64_t at = map_add(cx, &g->symbols, d->word[i].text, d->word[i].size);
        if (at < 0) return false;
        g->symbols.entries[at].value++;
    }
    for (int64_t i = 0; i < d->words; i++) {
        const int64_t at = map_find(&g->symbols, d->word[i].text, d->word[i].size);
        for (int level = 0; g->symbols.entries[at].value <= RARE && level < LOOKS; level++)
            if (map_add(cx, &g->symbols, name, look(&d->word[i], level, name)) < 0) return false;
    }
    return map_add(cx, &g->symbols, "<unk>", 5) >= 0;
}

/* Probabilities from tagged words. Half of a rare word counts for words that look like it. */
static void count_tags(struct tagger *g, const struct task_tagged *d) {
    heed_hmm *h = g->h;
    const int64_t s = h->states;
    char name[LOOK_ROOM];
    memset(h->initial, 0, (size_t)(s * (1 + s + h->symbols)) * sizeof *h->initial);
    for (int64_t i = 0; i < s * (1 + s); i++) h->initial[i] = SMOOTHING;
    const int64_t any = map_find(&g->symbols, "<unk>", 5);
    for (int64_t i = 0; i < s; i++) h->emission[i * h->symbols + any] = FAINT;
    for (int64_t k = 0; k < d->sentences; k++)
        for (int64_t i = d->first[k]; i < d->first[k + 1]; i++) {
            const int32_t tag = d->label[i];
            double *row = h->emission + tag * h->symbols;
            const int64_t at = map_find(&g->symbols, d->word[i].text, d->word[i].size);
            const bool rare = g->symbols.entries[at].value <= RARE;
            *(i == d->first[k] ? &h->initial[tag] : &h->transition[d->label[i - 1] * s + tag]) += 1;
            row[at] += rare ? 0.5 : 1;
            for (int level = 0; rare && level < LOOKS; level++)
                row[map_find(&g->symbols, name, look(&d->word[i], level, name))] += 0.5 / LOOKS;
        }
    heed_hmm_normalise(h);
}

/* ---- learning without tags ---- */

/* Emissions from what each word is expected to be: learning sees only words that it knows, and leaves nothing to those
 * that it does not. */
static bool expect_looks(struct tagger *g, const struct task_tagged *d, const int32_t *symbol) {
    heed_hmm *h = g->h;
    const int64_t s = h->states, any = map_find(&g->symbols, "<unk>", 5);
    char name[LOOK_ROOM];
    double *posterior = heed_mem_new(g->cx, (size_t)(d->words * s) * sizeof *posterior);
    for (int64_t k = 0; posterior && k < d->sentences && !heed_cancelled(g->cx); k++)
        heed_hmm_forward(g->cx, h, symbol + d->first[k], d->first[k + 1] - d->first[k], posterior + d->first[k] * s);
    if (!heed_failed(g->cx)) {
        memset(h->emission, 0, (size_t)(s * h->symbols) * sizeof *h->emission);
        for (int64_t j = 0; j < s; j++) h->emission[j * h->symbols + any] = FAINT;
        for (int64_t i = 0; i < d->words; i++) {
            const bool rare = g->symbols.entries[symbol[i]].value <= RARE;
            for (int64_t j = 0; j < s; j++)
                h->emission[j * h->symbols + symbol[i]] += posterior[i * s + j] * (rare ? 0.5 : 1);
            for (int level = 0; rare && level < LOOKS; level++) {
                const int64_t at = map_find(&g->symbols, name, look(&d->word[i], level, name));
                for (int64_t j = 0; j < s; j++) h->emission[j * h->symbols + at] += posterior[i * s + j] * 0.5 / LOOKS;
            }
        }
        heed_hmm_normalise(h);
    }
    heed_mem_free(g->cx, posterior);
    return !heed_failed(g->cx);
}

static bool learn(struct tagger *g, const struct options *o, const struct task_tagged *d) {
    const int64_t steps = option_int(o, "baum-welch");
    int32_t *symbol = heed_mem_new(g->cx, (size_t)d->words * sizeof *symbol);
    if (symbol) read_symbols(g, d->word, d->words, symbol);
    for (int64_t i = 0; symbol && i < steps && !heed_cancelled(g->cx); i++) {
        double sum;
        if (heed_hmm_learn(g->cx, g->h, symbol, d->first, d->sentences, &sum) && !option_flag(o, "quiet"))
            fprintf(stderr, "heed: Baum-Welch step %lld: %.4f nats per word\n", (long long)i + 1,
                    -sum / (double)d->words);
    }
    if (symbol && steps > 0) expect_looks(g, d, symbol);
    heed_mem_free(g->cx, symbol);
    return !heed_failed(g->cx);
}

/* States that were learnt without tags are named by the tag that most of their words have. */
static bool name_states(struct tagger *g, const struct task_tagged *d) {
    const int64_t s = g->h->states;
    int64_t *count = heed_mem_new(g->cx, (size_t)(s * s) * sizeof *count);
    int32_t *symbol = heed_mem_new(g->cx, (size_t)d->words * sizeof *symbol);
    int32_t *path = heed_mem_new(g->cx, (size_t)d->words * sizeof *path);
    if (!heed_failed(g->cx)) {
        memset(count, 0, (size_t)(s * s) * sizeof *count);
        read_symbols(g, d->word, d->words, symbol);
        for (int64_t k = 0; k < d->sentences && !heed_cancelled(g->cx); k++)
            heed_hmm_viterbi(g->cx, g->h, symbol + d->first[k], d->first[k + 1] - d->first[k], path + d->first[k],
                             NULL);
        for (int64_t i = 0; i < d->words && !heed_failed(g->cx); i++) count[path[i] * s + d->label[i]]++;
        const char **name = heed_mem_new(g->cx, (size_t)s * sizeof *name);
        for (int64_t i = 0; name && i < s; i++) {
            int64_t best = 0;
            for (int64_t j = 1; j < s; j++)
                if (count[i * s + j] > count[i * s + best]) best = j;
            name[i] = d->names[best];
        }
        if (name) memcpy(g->tag, name, (size_t)s * sizeof *name);
        heed_mem_free(g->cx, name);
    }
    heed_mem_free(g->cx, count);
    heed_mem_free(g->cx, symbol);
    heed_mem_free(g->cx, path);
    return !heed_failed(g->cx);
}

/* ---- measuring ---- */

struct result {
    int64_t words, right, unknown, unknown_right;
};

static bool measure(const struct tagger *g, const struct task_tagged *d, struct result *r) {
    for (int64_t k = 0; k < d->sentences && !heed_cancelled(g->cx); k++) {
        const int64_t n = d->first[k + 1] - d->first[k];
        const heed_word *word = d->word + d->first[k];
        int32_t *symbol = heed_mem_new(g->cx, 2 * (size_t)n * sizeof *symbol), *path = symbol + n;
        if (!symbol) break;
        for (int64_t i = 0; i < n; i++) symbol[i] = symbol_of(g, &word[i]);
        const bool ok = heed_hmm_viterbi(g->cx, g->h, symbol, n, path, NULL);
        for (int64_t i = 0; ok && i < n; i++) {
            const bool right = strcmp(g->tag[path[i]], d->names[d->label[d->first[k] + i]]) == 0;
            const bool known = map_find(&g->symbols, word[i].text, word[i].size) >= 0;
            r->words++;
            r->right += right;
            r->unknown += !known;
            r->unknown_right += right && !known;
        }
        heed_mem_free(g->cx, symbol);
    }
    return !heed_failed(g->cx);
}

static double ratio(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static void print_result(const char *what, const struct result *r) {
    printf("%saccuracy %.2f %% of %lld words; %.2f %% of the %lld unknown ones\n", what,
           100 * ratio(r->right, r->words), (long long)r->words, 100 * ratio(r->unknown_right, r->unknown),
           (long long)r->unknown);
}
static void put_result(heed_ctx *cx, heed_json at, const struct result *r) {
    heed_json_put_number(cx, at, "accuracy", ratio(r->right, r->words));
    heed_json_put_int(cx, at, "words", r->words);
    heed_json_put_number(cx, at, "unknown_accuracy", ratio(r->unknown_right, r->unknown));
    heed_json_put_int(cx, at, "unknown", r->unknown);
}

/* ---- files ---- */

static bool save(struct tagger *g, const char *dir) {
    char path[PATH_ROOM];
    heed_ctx *cx = g->cx;
    const heed_hmm *h = g->h;
    heed_string words = {0};
    for (int64_t i = 0; i < g->symbols.count && !heed_failed(cx); i++) {
        heed_string_put(cx, &words, map_key(&g->symbols, i), map_size(&g->symbols, i));
        heed_string_put(cx, &words, "\n", 1);
    }
    const heed_array arrays[] = {
        {.name = "initial", .dtype = HEED_F64, .rank = 1, .shape = {h->states}, .data = h->initial},
        {.name = "transition", .dtype = HEED_F64, .rank = 2, .shape = {h->states, h->states}, .data = h->transition},
        {.name = "emission", .dtype = HEED_F64, .rank = 2, .shape = {h->states, h->symbols}, .data = h->emission}};
    bool ok = directory_clear(cx, dir) && directory_path(cx, dir, HMM_VOCABULARY, path);
    struct file_writer *w = ok ? file_write_open(cx, path) : NULL;
    ok = w && file_write(w, words.s, words.size);
    ok = w && file_write_commit(w) && ok && directory_path(cx, dir, WEIGHTS_FILE, path) &&
         heed_safetensors_write(cx, path, arrays, 3, NULL, 0);
    const heed_json at = heed_json_new(cx, "config");
    heed_json_put_text(cx, at, "model_type", HMM_TYPE);
    heed_json_put_int(cx, at, "vocab_size", h->symbols);
    heed_json_put_text(cx, at, SPLIT_KEY, g->marks ? SPLIT_MARKS : "blanks");
    const heed_json tags = heed_json_put_array(cx, at, "tags");
    for (int64_t i = 0; i < h->states; i++) heed_json_put_text(cx, tags, NULL, g->tag[i]);
    ok = ok && directory_path(cx, dir, CONFIG_FILE, path) && heed_json_write(cx, path, at);
    heed_json_free(at);
    heed_string_free(cx, &words);
    return ok;
}

static bool load_array(heed_ctx *cx, heed_safetensors *st, const char *name, double *to, int64_t n) {
    const int64_t i = heed_safetensors_find(cx, st, name);
    const heed_array *a = i >= 0 ? heed_safetensors_get(cx, st, i) : NULL;
    if (heed_failed(cx)) return false;
    if (!a || a->dtype != HEED_F64 || heed_array_count(a) != n)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: should be %lld numbers in double", name, (long long)n);
    memcpy(to, a->data, (size_t)n * sizeof *to);
    for (int64_t k = 0; k < n; k++)
        if (!(to[k] >= 0 && to[k] <= 1))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: holds what is no probability", name);
    return true;
}

static bool load_config(struct tagger *g, const char *dir) {
    char path[PATH_ROOM];
    if (!directory_path(g->cx, dir, CONFIG_FILE, path)) return false;
    const heed_json config = json_open_within(g->cx, path, IO_CONFIG_LIMIT),
                    tags = heed_json_array(g->cx, config, "tags");
    const int64_t n = heed_json_count(tags);
    g->marks = tag_saved_marks(g->cx, config);
    const char **name = heed_mem_new(g->cx, ((size_t)n + 1) * sizeof *name);
    for (int64_t i = 0; name && i < n; i++) name[i] = heed_json_text(g->cx, heed_json_item(g->cx, tags, i), NULL);
    if (!heed_failed(g->cx) && n < 1) heed_fail(g->cx, HEED_ERR_FORMAT, "%s: there are no tags", path);
    if (!heed_failed(g->cx) && set_tags(g, name, n))
        g->h = heed_hmm_new(g->cx, n, heed_json_int(g->cx, config, "vocab_size"));
    heed_mem_free(g->cx, name);
    heed_json_free(config);
    return g->h && !heed_failed(g->cx);
}

static bool load(heed_ctx *cx, const char *dir, struct tagger *g) {
    char path[PATH_ROOM];
    heed_lines words = {0};
    *g = (struct tagger){.cx = cx};
    bool ok = load_config(g, dir) && directory_path(cx, dir, HMM_VOCABULARY, path) && heed_lines_read(cx, path, &words);
    for (int64_t i = 0; ok && i < words.count; i++)
        ok = map_add(cx, &g->symbols, heed_line_text(&words, i), heed_line_size(&words, i)) >= 0;
    if (ok && (g->symbols.count != g->h->symbols || map_find(&g->symbols, "<unk>", 5) < 0))
        ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: should hold %lld different symbols, one of them <unk>", path,
                       (long long)g->h->symbols);
    heed_lines_free(cx, &words);
    heed_safetensors *st = ok ? heed_safetensors_open(cx, dir) : NULL;
    const int64_t s = ok ? g->h->states : 0;
    ok = st && load_array(cx, st, "initial", g->h->initial, s) &&
         load_array(cx, st, "transition", g->h->transition, s * s) &&
         load_array(cx, st, "emission", g->h->emission, s * g->h->symbols);
    if (st && !ok) heed_fail_in(cx, "%s", dir);
    heed_safetensors_close(st);
    return ok;
}

bool hmm_is(const char *dir) { return plain_model_is(dir, HMM_TYPE); }

/* ---- train ---- */

static bool train(heed_ctx *cx, const struct options *o, const char *path, struct tagger *g, struct result r[2]) {
    static const char *const parts[] = {"train", "valid", "test"};
    char file[PATH_ROOM];
    heed_task_opts opts = texts_opts(o);
    const char *given[] = {path, option_text(o, "valid-data"), option_text(o, "test")};
    heed_task_data *first = NULL;
    for (int i = 0; i < 3 && !heed_failed(cx); i++) {
        const char *part = given[i] ? texts_part(given[i], parts[i], file) : texts_part(path, parts[i], file);
        if (i > 0 && !given[i] && part == path) continue; /* a file has no other parts */
        if (i == 0 && !part) texts_fail_train(cx, path);
        heed_task_data *data =
            part && !heed_failed(cx) ? heed_task_read(cx, heed_text_task_find("tag"), part, &opts) : NULL;
        struct task_tagged d;
        if (!data) continue;
        task_tagged_words(data, &d);
        if (i == 0) {
            const bool counts = !option_flag(o, "unsupervised");
            if (count_words(g, &d) && set_tags(g, (const char *const *)d.names, d.classes) &&
                (g->h = heed_hmm_new(cx, d.classes, g->symbols.count))) {
                if (counts)
                    count_tags(g, &d);
                else
                    heed_hmm_draw(g->h, heed_seed(cx));
                if (learn(g, o, &d) && !counts) name_states(g, &d);
            }
            opts.like = first = data;
            continue;
        }
        measure(g, &d, &r[i - 1]);
        heed_task_free(cx, data);
    }
    if (!heed_failed(cx) && g->tag) { /* names of their own: those of the data go with them */
        heed_string names = {0};
        for (int64_t i = 0; i < g->h->states; i++) heed_string_put(cx, &names, g->tag[i], strlen(g->tag[i]) + 1);
        heed_string_free(cx, &g->names);
        g->names = names;
        const char *at = names.s;
        for (int64_t i = 0; i < g->h->states && !heed_failed(cx); i++, at += strlen(at) + 1) g->tag[i] = at;
    }
    heed_task_free(cx, first);
    return !heed_failed(cx);
}

static void say(heed_ctx *cx, const struct options *o, const struct tagger *g, const char *dir,
                const struct result r[2], double seconds) {
    if (option_flag(o, "json")) {
        const heed_json at = heed_json_new(cx, "result");
        heed_json_put_text(cx, at, "model", dir);
        heed_json_put_int(cx, at, "states", g->h->states);
        heed_json_put_int(cx, at, "symbols", g->h->symbols);
        if (r[0].words > 0) put_result(cx, heed_json_put_object(cx, at, "valid"), &r[0]);
        if (r[1].words > 0) put_result(cx, heed_json_put_object(cx, at, "test"), &r[1]);
        json_answer(cx, stdout, at, 2);
        heed_json_free(at);
    } else if (!option_flag(o, "quiet")) {
        printf("counted %lld tags and %lld symbols in %.1f s\n", (long long)g->h->states, (long long)g->h->symbols,
               seconds);
        if (r[0].words > 0) print_result("validation: ", &r[0]);
        if (r[1].words > 0) print_result("test: ", &r[1]);
        printf("model: %s\nnext: ", dir);
        cli_print_command(stdout, "tag", dir, (char *)NULL);
        puts("   (sentences on standard input)");
    }
}

int hmm_train(struct options *o) {
    const char *path = option_need(o, "data"), *dir = path ? option_need(o, "out") : NULL;
    if (!dir) return EXIT_USAGE;
    if (option_flag(o, "unsupervised") && option_int(o, "baum-welch") == 0)
        return cli_error(EXIT_USAGE, "train: --unsupervised needs --baum-welch N"), EXIT_USAGE;
    const bool force = option_flag(o, "force");
    if (directory_has_config(dir) && !force)
        return cli_error(EXIT_FAILED, "%s: holds a model already; --force overwrites it", dir);
    heed_ctx *cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    struct tagger g = {.cx = cx, .marks = tag_marks(o, true)};
    struct result r[2] = {{0}};
    const double began = clock_seconds();
    const int lock = train(cx, o, path, &g, r) ? directory_claim(cx, dir, force ? NULL : directory_has_config) : -1;
    if (lock >= 0 && save(&g, dir)) say(cx, o, &g, dir, r, clock_seconds() - began);
    directory_unlock(lock);
    free_tagger(&g);
    return options_close(o, cx, EXIT_DONE);
}

/* ---- eval and tag ---- */

void hmm_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    char file[PATH_ROOM];
    struct tagger g;
    struct result r = {0};
    const char *part = texts_part(path, option_text(o, "part"), file);
    heed_task_opts opts = texts_opts(o);
    if (!part) heed_fail(cx, HEED_ERR_FILE, "%s: there is no file for part %s", path, option_text(o, "part"));
    heed_task_data *data =
        load(cx, dir, &g) && part ? heed_task_read(cx, heed_text_task_find("tag"), part, &opts) : NULL;
    struct task_tagged d;
    if (data) task_tagged_words(data, &d);
    if (data && measure(&g, &d, &r)) {
        if (option_flag(o, "json")) {
            const heed_json at = heed_json_new(cx, "result");
            put_result(cx, at, &r);
            json_answer(cx, stdout, at, 2);
            heed_json_free(at);
        } else {
            print_result("", &r);
        }
    }
    heed_task_free(cx, data);
    free_tagger(&g);
}

static bool tag_line(const struct tagger *g, const struct options *o, const struct cli_lines *in, heed_word *word,
                     int64_t n) {
    heed_ctx *cx = g->cx;
    const int64_t s = g->h->states;
    int32_t *symbol = heed_mem_new(cx, 2 * ((size_t)n + 1) * sizeof *symbol), *path = symbol + n;
    double *posterior = heed_mem_new(cx, ((size_t)(n * s) + 1) * sizeof *posterior);
    for (int64_t i = 0; symbol && i < n; i++) symbol[i] = symbol_of(g, &word[i]);
    if (symbol && posterior && heed_hmm_viterbi(cx, g->h, symbol, n, path, NULL) &&
        !isnan(heed_hmm_forward(cx, g->h, symbol, n, posterior))) {
        if (option_flag(o, "json")) {
            const heed_json at = heed_json_new(cx, "answer");
            heed_json_put_int(cx, at, "line", in->number);
            if (in->bad) heed_json_put_text(cx, at, "error", in->complaint);
            const heed_json list = heed_json_put_array(cx, at, "words");
            for (int64_t i = 0; i < n; i++) {
                const heed_json one = heed_json_put_object(cx, list, NULL);
                heed_string text = {0};
                heed_string_put(cx, &text, word[i].text, word[i].size);
                heed_json_put_text(cx, one, "word", text.s);
                heed_string_free(cx, &text);
                heed_json_put_text(cx, one, "tag", g->tag[path[i]]);
                heed_json_put_number(cx, one, "score", posterior[i * s + path[i]]);
            }
            json_answer(cx, stdout, at, 0);
            heed_json_free(at);
        } else {
            for (int64_t i = 0; i < n; i++) {
                if (i) putchar(' ');
                if (option_flag(o, "words")) printf("%.*s/", (int)word[i].size, word[i].text);
                cli_print_text(stdout, g->tag[path[i]]);
            }
            putchar('\n');
        }
    }
    heed_mem_free(cx, symbol);
    heed_mem_free(cx, posterior);
    return !heed_failed(cx);
}

int hmm_tag_lines(struct options *o) {
    heed_ctx *cx = options_open(o);
    struct tagger g;
    struct cli_lines in = {0};
    if (!cx) return EXIT_FAILED;
    bool ok = load(cx, options_word(o, 0), &g) && cli_lines_open_words(&in, cx, o, 1);
    in.skip_bad = !option_flag(o, "strict");
    g.marks = tag_marks(o, g.marks);
    while (ok && cli_lines_next(&in)) {
        heed_word *word = heed_mem_new(cx, (in.size + 1) * sizeof *word);
        const int64_t n = word ? tag_split(in.text, g.marks, word) : 0;
        ok = word && tag_line(&g, o, &in, word, n);
        heed_mem_free(cx, word);
        if (!cli_lines_ready(&in)) fflush(stdout);
    }
    free_tagger(&g);
    ok &= cli_lines_close(&in);
    return options_close(o, cx, ok ? EXIT_DONE : EXIT_FAILED);
}
