/* n-grams and why they end (Shannon 1948, 1951): letters predicted from the letters before them, by counts. Longer
 * contexts predict better, until most of them were never seen. */
#include "heed/ngram.h"
#include "lessons/letters.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ORDERS = 10, TRAIN_LINES = 600, TEST_LINES = 300, SAMPLE = 1500, SHOWN = 36, KEPT = 60 };

struct alphabet {
    struct letters letters; /* counted, held out */
    const char **name;
};
struct figures {
    float order[ORDERS], kinds[ORDERS], unseen[ORDERS], nats[ORDERS];
    float words[ORDERS]; /* of the drawn words, those of the text, in per cent */
    char *sample[ORDERS];
};

/* The tokenizer's names of the letters. */
static bool name_letters(struct lesson_run *r, struct alphabet *a) {
    const int64_t size = heed_tokenizer_size(a->letters.tokens);
    a->name = lesson_room(r, size, sizeof *a->name);
    for (int64_t i = 0; a->name && i < size; i++)
        a->name[i] =
            i == heed_tokenizer_unknown(a->letters.tokens) ? NULL : heed_tokenizer_token(a->letters.tokens, (int32_t)i);
    return a->name != NULL;
}

/* ---- one order ---- */

static int32_t word_of(const struct alphabet *a, const heed_ngram *m, int32_t id) {
    const char *name = a->name[id];
    return name ? heed_ngram_id(m, name, strlen(name)) : HEED_NGRAM_UNKNOWN;
}

static void measure(const struct alphabet *a, const heed_ngram *m, int k, struct figures *f) {
    heed_ngram_state s = heed_ngram_begin(m);
    const heed_ids *ids = &a->letters.ids[1];
    double sum = 0;
    int64_t unseen = 0;
    for (int64_t i = 0; i < ids->count; i++) {
        int matched;
        sum -= heed_ngram_step(m, &s, word_of(a, m, ids->id[i]), &matched);
        unseen += matched <= k;
    }
    f->order[k] = (float)(k + 1);
    f->kinds[k] = (float)heed_ngram_count(m, k + 1);
    f->unseen[k] = (float)(100.0 * (double)unseen / (double)ids->count);
    f->nats[k] = (float)(sum * log(10) / (double)ids->count);
}

/* Letters drawn one after the other. */
static char *draw(struct lesson_run *r, const heed_ngram *m, int k) {
    const int64_t words = heed_ngram_words(m);
    double *p = lesson_room(r, words, sizeof *p);
    char *text = lesson_room(r, SAMPLE * 4 + 1, 1);
    heed_ngram_state s = heed_ngram_begin(m);
    size_t size = 0;
    for (int i = 0; p && text && i < SAMPLE; i++) {
        float u;
        double sum = 0;
        int32_t drawn = HEED_NGRAM_UNKNOWN;
        heed_ngram_next(m, &s, p);
        p[HEED_NGRAM_UNKNOWN] = p[HEED_NGRAM_END] = 0;
        for (int64_t w = 0; w < words; w++) sum += p[w];
        heed_random_uniform(r->seed, (uint64_t)k, (uint64_t)i, &u, 1);
        double at = (double)u * sum;
        for (int32_t w = 0; w < words && at >= 0; w++)
            if (p[w] > 0) drawn = w, at -= p[w];
        heed_ngram_step(m, &s, drawn, NULL);
        const char *letter = heed_ngram_word(m, drawn);
        if (strlen(letter) > 4) continue;
        memcpy(text + size, letter, strlen(letter));
        size += strlen(letter);
    }
    return text;
}

static bool try_order(struct lesson_run *r, const struct alphabet *a, int k, struct figures *f) {
    static const double fallback[3] = {0.5, 1, 1.5};
    const int64_t start[2] = {0, a->letters.ids[0].count};
    heed_ngram *m =
        heed_ngram_train(r->cx, &a->letters.ids[0], start, 1, a->name, heed_tokenizer_size(a->letters.tokens),
                         &(heed_ngram_opts){.order = k + 1, .fallback = fallback}, NULL);
    if (!m) return false;
    measure(a, m, k, f);
    const char *drawn = draw(r, m, k);
    heed_ngram_free(r->cx, m);
    if (!drawn) return false;
    f->words[k] = letters_known(r, &a->letters, drawn);
    f->sample[k] = lesson_text(r, drawn, KEPT);
    return f->sample[k] != NULL;
}

/* ---- what is shown ---- */

static void show(struct lesson_run *r, const struct figures *f) {
    int order = 0, enough = 0;
    for (int k = 1; k < ORDERS; k++)
        if (f->nats[k] < f->nats[order]) order = k;
    while (f->nats[enough] > f->nats[order] + 0.05f * (f->nats[0] - f->nats[order])) enough++;
    lesson_line(r, "%5s %8s %9s %8s %8s  %s", "order", "n-grams", "unseen", "nats", "words", "drawn");
    for (int k = 0; k < ORDERS; k++)
        lesson_line(r, "%5d %8.0f %7.1f %% %8.3f %6.0f %%  %s", k + 1, (double)f->kinds[k], (double)f->unseen[k],
                    (double)f->nats[k], (double)f->words[k], lesson_text(r, f->sample[k], SHOWN));
    lesson_line(r, "%s", "");
    lesson_say(r,
               "Unseen: held-out n-grams that never occur in training. Nats: what a held-out letter costs. Words: of "
               "the words in %d letters drawn from the model, those that the text has.",
               SAMPLE);
    lesson_say(r,
               "More context makes the held-out text easier to predict: %.2f nats per letter without any, %.2f with "
               "order %d, and nearly all of that is gained by order %d. Of the words that are drawn the text has %.0f "
               "%% at order 1, %.0f %% at order %d and %.0f %% at order %d. What stops it: of %d letters in a row, "
               "%.0f %% of the held-out ones were never seen in training. Smoothing (Kneser & Ney 1995) falls back to "
               "shorter contexts there, also in drawing, and so writes words that do not exist.",
               (double)f->nats[0], (double)f->nats[order], order + 1, enough + 1, (double)f->words[0],
               (double)f->words[enough], enough + 1, (double)f->words[ORDERS - 1], ORDERS, ORDERS,
               (double)f->unseen[ORDERS - 1]);
    lesson_say(r,
               "Counting treats every context as unlike all others: what it knows of 'a small dog' says nothing of 'a "
               "small cat'. To know longer contexts it needs more text than there is. Networks that give words "
               "vectors, and remember, go on where n-grams end.");
    lesson_result(r, "best_order", order + 1);
    lesson_result(r, "words_at_first_order", (double)f->words[0] / 100);
    lesson_result(r, "words_at_last_order", (double)f->words[ORDERS - 1] / 100);
    lesson_result(r, "best_nats", (double)f->nats[order]);
    lesson_result(r, "unseen_at_last_order", (double)f->unseen[ORDERS - 1] / 100);
    heed_terminal how = r->terminal;
    how.height = 10;
    const heed_series series[] = {{"unseen n-grams (%)", f->order, f->unseen, ORDERS, false}};
    lesson_show(
        r, heed_terminal_curves(r->cx, series, 1, &(heed_axes){.x_label = "order", .y_label = "unseen (%)"}, &how));
}

static void picture(struct lesson_run *r, const struct figures *f) {
    float perplexity[ORDERS];
    for (int k = 0; k < ORDERS; k++) perplexity[k] = expf(f->nats[k]);
    heed_figure *fig = lesson_figure(r, 900, 300);
    heed_figure_grid(fig, 1, 3);
    heed_panel *p = heed_figure_panel(fig, 0, 0);
    heed_panel_title(p, "Held-out text is easier to predict ...");
    heed_panel_labels(p, "order n", "perplexity of a letter");
    heed_panel_curve(p, f->order, perplexity, ORDERS, &(heed_style){.width = 2, .marker = HEED_MARKER_DISC});
    p = heed_figure_panel(fig, 0, 1);
    heed_panel_title(p, "... until n-grams are new");
    heed_panel_labels(p, "order n", "never seen in training (%)");
    heed_panel_limits_y(p, 0, 100);
    heed_panel_curve(p, f->order, f->unseen, ORDERS, &(heed_style){.width = 2, .marker = HEED_MARKER_DISC});
    p = heed_figure_panel(fig, 0, 2);
    heed_panel_title(p, "and there are ever more of them");
    heed_panel_labels(p, "order n", "n-grams in training");
    heed_panel_log(p, false, true);
    heed_panel_curve(p, f->order, f->kinds, ORDERS, &(heed_style){.width = 2, .marker = HEED_MARKER_DISC});
    lesson_picture(r, fig, "n-grams");
    lesson_table(r, "n-grams",
                 (heed_table_column[]){{.name = "order", .f32 = f->order},
                                       {.name = "n_grams", .f32 = f->kinds},
                                       {.name = "unseen_percent", .f32 = f->unseen},
                                       {.name = "nats_per_letter", .f32 = f->nats},
                                       {.name = "words_percent", .f32 = f->words},
                                       {.name = "sample", .text = (const char *const *)f->sample}},
                 6, ORDERS);
}

static void run(struct lesson_run *r) {
    struct alphabet a = {0};
    struct letters *l = &a.letters;
    struct figures f = {0};
    bool ok = (r->data ? letters_file(r, l) : letters_grammar(r, TRAIN_LINES, TEST_LINES, l)) && letters_encode(r, l) &&
              name_letters(r, &a) && letters_words(r, l);
    if (ok)
        lesson_say(r,
                   "What comes next? Shannon counted. An n-gram model predicts a letter from the n - 1 letters before "
                   "it, by how often it followed them: here in %lld letters of %s. Measured on %lld letters of other "
                   "sentences, with modified Kneser-Ney smoothing (Chen & Goodman 1999):",
                   (long long)l->ids[0].count, r->data ? "your text" : "heed's English grammar",
                   (long long)l->ids[1].count);
    for (int k = 0; ok && k < ORDERS; k++) {
        ok = try_order(r, &a, k, &f);
        lesson_progress(r, "counting", k + 1, ORDERS);
    }
    if (ok) {
        show(r, &f);
        picture(r, &f);
    }
    letters_free(r, l);
}

const struct lesson ngrams_lesson = {
    .name = "n-grams",
    .summary = "letters predicted by counts: perplexity and unseen n-grams against order",
    .data = "a text file, of which the last tenth is held out",
    .run = run,
};
