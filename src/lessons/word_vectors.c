/* Words in the plane (Mikolov et al. 2013): vectors learnt from nothing but which words stand near which, on sentences
 * of the grammar; kinds of words come apart that nobody told it about. */
#include "heed/words.h"
#include "lessons/lesson.h"
#include <string.h>

enum { SENTENCES = 20000, WIDTH = 32, EPOCHS = 5, TOP = 4, MOST = 128 };

/* Only for the colours and for the figure at the end: training does not see it. */
static const struct {
    const char *name, *words;
    heed_color color;
} kinds[] = {
    {"people", "man woman child boy girl farmer king queen men women children boys girls farmers kings queens",
     HEED_COLOR_BLUE},
    {"animals",
     "animal dog cat horse bird cow pig fox mouse goat animals dogs cats horses birds cows pigs foxes mice goats",
     HEED_COLOR_ORANGE},
    {"ways and places",
     "street bridge river path field house garden forest church school tree streets bridges rivers paths fields",
     HEED_COLOR_GREEN},
    {"things", "book letter newspaper apple egg carrot books letters newspapers apples eggs carrots", HEED_COLOR_PINK},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct map {
    int64_t word[MOST], n;
    int kind[MOST];
    float x[MOST], y[MOST];
    double share[2];
};

/* The sentences, tokenised and in lower case. */
static bool make_text(struct lesson_run *r, heed_lines *text) {
    const heed_grammar grammar = {.seed = r->seed};
    const heed_moses_opts moses = {.language = "en", .tokenise = true, .lower = true};
    heed_string all = {0};
    for (uint64_t i = 0; i < SENTENCES && !heed_cancelled(r->cx); i++) {
        heed_string english = {0}, german = {0};
        if (heed_grammar_pair(r->cx, &grammar, i, &english, &german, NULL))
            heed_moses(r->cx, english.s, english.size, &moses, &all);
        heed_string_put(r->cx, &all, "\n", 1);
        heed_string_free(r->cx, &english);
        heed_string_free(r->cx, &german);
    }
    if (!heed_failed(r->cx)) return heed_lines_cut(r->cx, &all, text);
    heed_string_free(r->cx, &all);
    return false;
}

static heed_words *learn(struct lesson_run *r, double *first, double *last) {
    heed_lines text = {0};
    heed_words *w = NULL;
    const heed_words_opts opts = {.width = WIDTH, .epochs = EPOCHS, .seed = r->seed};
    heed_words_trainer *t = make_text(r, &text) ? heed_words_trainer_new(r->cx, "sentences", &text, &opts) : NULL;
    heed_lines_free(r->cx, &text);
    while (heed_words_trainer_step(r->cx, t)) {
        const heed_words_state s = heed_words_trainer_state(t);
        if (s.step == 1) *first = s.loss;
        *last = s.loss;
        lesson_progress(r, "learning", s.step, s.steps);
    }
    if (!heed_failed(r->cx)) w = heed_words_trainer_words(r->cx, t);
    heed_words_trainer_free(r->cx, t);
    return w;
}

static void take_words(const heed_words *w, struct map *m) {
    for (int k = 0; k < KINDS; k++)
        for (const char *s = kinds[k].words; *s; s += strspn(s, " ")) {
            const size_t n = strcspn(s, " ");
            const int64_t word = heed_words_find(w, s, n);
            if (word >= 0 && m->n < MOST) m->kind[m->n] = k, m->word[m->n++] = word;
            s += n;
        }
}

static int kind_of(const struct map *m, int64_t word) {
    for (int64_t i = 0; i < m->n; i++)
        if (m->word[i] == word) return m->kind[i];
    return -1;
}

static void show_nearest(struct lesson_run *r, const heed_words *w) {
    static const char *const asked[] = {"king", "dog", "river", "book", "is", "tired"};
    lesson_say(r, "Nearest to some words, by the cosine of their vectors:");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        heed_word_found found[TOP];
        char line[256] = "";
        if (heed_words_find(w, asked[i], strlen(asked[i])) < 0) continue;
        const int64_t n = heed_words_ask(r->cx, w, asked[i], TOP, found);
        for (int64_t k = 0; k < n; k++) {
            strncat(line, heed_words_text(w, found[k].word), 40);
            if (k + 1 < n) strcat(line, ", ");
        }
        lesson_line(r, "%-8s%s", asked[i], line);
    }
    lesson_line(r, "%s", "");
}

/* How many of these words have one of their own kind as the nearest of them. */
static void measure(struct lesson_run *r, const heed_words *w, const struct map *m) {
    int64_t right = 0;
    heed_word_found found[MOST];
    for (int64_t i = 0; i < m->n && !heed_failed(r->cx); i++) {
        const int64_t n = heed_words_nearest(r->cx, w, heed_words_vector(w, m->word[i]), &m->word[i], 1, MOST, found);
        int64_t k = 0;
        while (k < n && kind_of(m, found[k].word) < 0) k++;
        right += k < n && kind_of(m, found[k].word) == m->kind[i];
    }
    const double share = m->n > 0 ? (double)right / (double)m->n : 0;
    lesson_say(r,
               "Of %lld people, animals, places and things, %lld have a word of their own kind as the nearest of them.",
               (long long)m->n, (long long)right);
    lesson_result(r, "same_kind", share);
}

static void draw(struct lesson_run *r, const heed_words *w, const struct map *m) {
    const char *name[MOST], *kind[MOST];
    heed_color color[MOST];
    heed_figure *f = lesson_figure(r, 640, 500);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    for (int k = 0; k < KINDS; k++) {
        float x[MOST], y[MOST];
        int64_t n = 0;
        for (int64_t i = 0; i < m->n; i++)
            if (m->kind[i] == k) x[n] = m->x[i], y[n++] = m->y[i];
        heed_panel_scatter(p, x, y, n, &(heed_style){.label = kinds[k].name, .color = kinds[k].color, .size = 4});
    }
    for (int64_t i = 0; i < m->n; i++) {
        name[i] = heed_words_text(w, m->word[i]);
        color[i] = kinds[m->kind[i]].color;
        kind[i] = kinds[m->kind[i]].name;
    }
    heed_panel_names(p, m->x, m->y, name, color, m->n, NULL);
    heed_panel_title(p, "Words by their vectors");
    heed_panel_labels(p, "first principal component", "second principal component");
    lesson_picture(r, f, "words");
    lesson_table(r, "words",
                 (heed_table_column[]){{.name = "word", .text = name},
                                       {.name = "kind", .text = kind},
                                       {.name = "x", .f32 = m->x},
                                       {.name = "y", .f32 = m->y}},
                 4, m->n);
    heed_series series[KINDS];
    float *sorted = lesson_room(r, 2 * m->n, sizeof *sorted);
    int64_t at = 0;
    for (int k = 0; sorted && k < KINDS; k++) {
        series[k] = (heed_series){.label = kinds[k].name, .x = sorted + at, .y = sorted + m->n + at, .points = true};
        for (int64_t i = 0; i < m->n; i++)
            if (m->kind[i] == k) sorted[at] = m->x[i], sorted[m->n + at++] = m->y[i], series[k].n++;
    }
    if (sorted) lesson_show(r, heed_terminal_curves(r->cx, series, KINDS, &(heed_axes){0}, &r->terminal));
}

static void run(struct lesson_run *r) {
    double first = 0, last = 0;
    lesson_say(r,
               "A word is known by the company it keeps. word2vec (Mikolov et al. 2013) gives each word a vector and "
               "asks it to tell the words around it from words drawn at random; nothing else is told. Here: %d "
               "sentences of heed's grammar, vectors of %d numbers, skip-gram with negative sampling.",
               SENTENCES, WIDTH);
    heed_words *w = learn(r, &first, &last);
    struct map m = {.n = 0};
    if (w) {
        lesson_say(r, "%lld words; the loss fell from %.2f to %.2f.", (long long)heed_words_count(w), first, last);
        lesson_result(r, "first_loss", first);
        lesson_result(r, "last_loss", last);
        show_nearest(r, w);
        take_words(w, &m);
        measure(r, w, &m);
        if (m.n > 0 && heed_words_plane(r->cx, w, m.word, m.n, m.x, m.y, m.share)) draw(r, w, &m);
        lesson_say(r, "Such vectors are where models of text begin: 'heed train TASK --embeddings' puts them into a "
                      "model's table of words, and 'heed train words' learns them from any text.");
    }
    heed_words_close(r->cx, w);
}

const struct lesson words_lesson = {
    .name = "word-vectors",
    .summary = "words in the plane: what stands among the same words lies together",
    .run = run,
};
