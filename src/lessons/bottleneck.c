/* What a bottleneck costs (Cho et al. 2014; Bahdanau et al. 2015, figure 2): an encoder that hands on one vector, or
 * its last states, whatever the length of the sentence, against one whose words the decoder may look at one by one.
 * BLEU against the length of the sentence. */
#include "lessons/translators.h"
#include <math.h>
#include <stdio.h>

enum { STEPS = 2500, WIDTH = 3, LENGTHS = 6, MODELS = 3 };
static const struct {
    const char *family, *name, *says;
    heed_color color;
    bool reverse; /* reads the source backwards, as in the paper */
} models[MODELS] = {
    {"sutskever", "Sutskever", "last states, read backwards", HEED_COLOR_ORANGE, true},
    {"cho", "Cho", "one vector, read at every step", HEED_COLOR_GREEN, false},
    {"bahdanau", "Bahdanau", "attention to all words", HEED_COLOR_BLUE, false},
};

struct outcome {
    double bleu, loss;
    heed_length_score score[LENGTHS];
    int n;
    heed_string first; /* what it makes of the sentence that is shown */
};

static bool measure(struct lesson_run *r, const struct translators *t, const heed_model *model, int64_t shown,
                    struct outcome *o) {
    const heed_bleu_opts bleu = {.tokens = HEED_BLEU_13A};
    heed_lines decoded = {0};
    heed_score score;
    const heed_translation_set set = {&t->pairs[1], &t->lines[1][1]};
    const heed_generate_opts greedy = {.beams = 1, .max_length = 40};
    if (!heed_translation_measure_lines(r->cx, model, &set, t->tokens[1], &greedy, &bleu, &score, NULL, &decoded))
        return false;
    o->bleu = score.metric;
    o->loss = score.loss;
    o->n = heed_bleu_by_length(r->cx, &t->lines[1][0], &decoded, &t->lines[1][1], WIDTH, &bleu, o->score, LENGTHS);
    heed_string_put(r->cx, &o->first, heed_line_text(&decoded, shown), heed_line_size(&decoded, shown) + 1);
    heed_lines_free(r->cx, &decoded);
    return !heed_failed(r->cx);
}

/* The first sentence of 14 words or more. */
static int64_t long_one(const heed_lines *lines) {
    for (int64_t i = 0; i < lines->count; i++) {
        int words = 1;
        for (const char *s = heed_line_text(lines, i); *s; s++) words += *s == ' ';
        if (words >= 14) return i;
    }
    return 0;
}

static void print_outcomes(struct lesson_run *r, const struct outcome *o) {
    char line[160];
    for (int k = 0; k < MODELS; k++) lesson_line(r, "%-10s %s", models[k].name, models[k].says);
    int at = snprintf(line, sizeof line, "\n%-10s %6s ", "words", "all");
    for (int i = 0; i < o[0].n; i++)
        at += snprintf(line + at, sizeof line - (size_t)at, " %2lld-%-3lld", (long long)o[0].score[i].from,
                       (long long)o[0].score[i].to);
    lesson_line(r, "%s", line);
    for (int k = 0; k < MODELS; k++) {
        char name[48];
        at = snprintf(line, sizeof line, "%-10s %6.1f ", models[k].name, o[k].bleu);
        for (int i = 0; i < o[k].n; i++)
            at += snprintf(line + at, sizeof line - (size_t)at, " %5.1f ", o[k].score[i].bleu);
        lesson_line(r, "%s", line);
        snprintf(name, sizeof name, "%s_bleu", models[k].family);
        lesson_result(r, name, o[k].bleu);
        snprintf(name, sizeof name, "%s_short", models[k].family);
        lesson_result(r, name, o[k].n > 1 ? o[k].score[1].bleu : 0);
        snprintf(name, sizeof name, "%s_long", models[k].family);
        lesson_result(r, name, o[k].n > 0 ? o[k].score[o[k].n - 1].bleu : 0);
    }
    lesson_line(r, "%s", "");
}

static void conclude(struct lesson_run *r, const struct outcome *o) {
    const struct outcome *attends = &o[MODELS - 1];
    double lost = 0, kept = 0; /* from the shortest sentences to the max_length: the least without attention; with it */
    for (int k = 0; k < MODELS; k++) {
        const int n = o[k].n;
        const double fall = n > 0 ? o[k].score[0].bleu - o[k].score[n - 1].bleu : 0;
        if (k == MODELS - 1)
            kept = fall;
        else if (k == 0 || fall < lost)
            lost = fall;
    }
    lesson_line(r, "%s", "");
    if (lost > 10 && kept < lost / 2)
        lesson_say(r,
                   "Without attention BLEU falls from the shortest sentences to the longest, by %.0f at least; what is "
                   "left of a long one is mostly fluent German about something else. More units make the bottleneck "
                   "wider and more training uses it better. With attention it changes by %.1f, and is %.1f in all.",
                   lost, fabs(kept), attends->bleu);
    else
        lesson_say(r, "The three do not differ by length as they should: they have learnt too little. --steps says how "
                      "long to go on.");
    lesson_say(r, "Where the decoder looks: '%s lesson alignment'.", r->program);
}

static void draw(struct lesson_run *r, const struct outcome *o) {
    float words[MODELS][LENGTHS], bleu[MODELS][LENGTHS], sentences[LENGTHS];
    heed_series series[MODELS];
    heed_table_column columns[2 + MODELS];
    heed_figure *f = lesson_figure(r, 560, 330);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "What a bottleneck costs");
    heed_panel_labels(p, "words of the sentence", "BLEU");
    heed_panel_limits_y(p, 0, 104);
    for (int k = 0; k < MODELS; k++) {
        char label[64];
        for (int i = 0; i < o[k].n; i++) {
            words[k][i] = (float)o[k].score[i].words;
            bleu[k][i] = (float)o[k].score[i].bleu;
            sentences[i] = (float)o[k].score[i].sentences;
        }
        snprintf(label, sizeof label, "%s: %s", models[k].name, models[k].says);
        heed_panel_curve(
            p, words[k], bleu[k], o[k].n,
            &(heed_style){.label = label, .color = models[k].color, .marker = HEED_MARKER_DISC, .size = 6});
        series[k] = (heed_series){.label = models[k].name, .x = words[k], .y = bleu[k], .n = o[k].n};
        columns[2 + k] = (heed_table_column){.name = models[k].family, .f32 = bleu[k]};
    }
    columns[0] = (heed_table_column){.name = "words", .f32 = words[0]};
    columns[1] = (heed_table_column){.name = "sentences", .f32 = sentences};
    lesson_picture(r, f, "bottleneck");
    heed_terminal how = r->terminal;
    how.title = "BLEU";
    lesson_show(r, heed_terminal_curves(r->cx, series, MODELS, &(heed_axes){.x_label = "words of the sentence"}, &how));
    lesson_table(r, "bottleneck", columns, 2 + MODELS, o[0].n);
}

static void study(struct lesson_run *r, const struct translators *t, struct outcome *o) {
    const int64_t shown = long_one(&t->lines[1][0]);
    lesson_say(
        r, "In 2014 networks learnt to translate: an encoder reads the sentence, a decoder writes the translation. "
           "What goes from one to the other? In Sutskever et al. the last states of an LSTM, which reads the source "
           "backwards so that its first words are near; in Cho et al. one vector. Both have a fixed size, and a long "
           "sentence must go through it as well as a short one. "
           "Bahdanau et al. keep all states of the encoder, and the decoder looks at those that it needs: "
           "attention.");
    lesson_say(
        r,
        "The three, %d units wide, learn to translate sentences of our grammar from English into German, in %lld "
        "updates each. On %lld sentences that they have not seen, BLEU in all and by the number of words:",
        TRANSLATORS_WIDTH, (long long)r->steps, (long long)t->pairs[1].n);
    for (int k = 0; k < MODELS; k++) {
        heed_model *model = translators_learn(r, t, models[k].family, models[k].reverse);
        const bool ok = model && measure(r, t, model, shown, &o[k]);
        heed_model_free(r->cx, model);
        if (!ok) return;
    }
    print_outcomes(r, o);
    draw(r, o);
    lesson_entry(r, 11, "English", heed_line_text(&t->lines[1][0], shown));
    lesson_entry(r, 11, "German", heed_line_text(&t->lines[1][1], shown));
    for (int k = 0; k < MODELS; k++) lesson_entry(r, 11, models[k].name, o[k].first.s);
    conclude(r, o);
}

static void run(struct lesson_run *r) {
    struct translators t;
    struct outcome *o = lesson_room(r, MODELS, sizeof *o);
    if (o && translators_open(r, &t)) study(r, &t, o);
    for (int k = 0; o && k < MODELS; k++) heed_string_free(r->cx, &o[k].first);
    if (o) translators_close(r, &t);
}

const struct lesson bottleneck_lesson = {
    .name = "bottleneck",
    .summary = "what a bottleneck costs: BLEU against the length of sentences, without and with attention",
    .steps = STEPS,
    .run = run,
};
