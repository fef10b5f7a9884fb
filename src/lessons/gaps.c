/* Masked words (Devlin et al. 2019; the cloze test of Taylor 1953): a network that was pre-trained to fill gaps fills
 * some, and its attention from the gap to the words around it is shown. */
#include "heed/attend.h"
#include "lessons/encoder.h"
#include <stdio.h>
#include <string.h>

enum { STEPS = 3000, GAPS = 3, TOP = 5, LOOKED = 40, NAME = 32, FORMS = 8 };

/* Sentences with a gap, a word that says much of what fills it, the clue, and what another word of the sentence asks
 * for: forms that agree with it, and forms of the same words that do not. */
static const struct gap {
    const char *before, *after, *clue, *about, *asks;
    const char *right[FORMS], *wrong[FORMS];
} gaps[GAPS] = {
    {"Yesterday the woman ",
     " along the river bank.",
     "along",
     "a verb of going, in the past",
     "Yesterday",
     {"walked", "ran", "swam", "flew", "went", "came"},
     {"walks", "runs", "swims", "flies", "goes", "comes"}},
    {"The animal didn't cross the street because it was too ",
     ".",
     "too",
     "what animals or streets can be too much of",
     NULL,
     {NULL},
     {NULL}},
    {"The old dogs ",
     " sleeping under the tree.",
     "dogs",
     "are or were, for dogs are many",
     "dogs",
     {"are", "were"},
     {"is", "was"}},
};

struct filled {
    char text[160];
    char word[TOP][NAME];
    float probability[TOP];
    double right, wrong; /* probability of the forms that agree, and of those that do not */
    heed_attended *attention;
    int64_t gap;   /* the mask token's place among the tokens */
    float *weight; /* (layers, keys): from the gap, the mean of the heads */
};

/* ---- filling ---- */

static bool is_among(const char *word, const char *const *list) {
    for (int i = 0; i < FORMS && list[i]; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

static bool fill(struct lesson_run *r, const struct encoder *e, const struct gap *g, struct filled *f) {
    heed_filled found[LOOKED];
    const heed_text_model m = encoder_for(e, e->masked);
    snprintf(f->text, sizeof f->text, "%s%s%s", g->before, heed_tokenizer_token(e->tokens, e->mask), g->after);
    if (heed_fill(r->cx, &m, &(heed_text_input){.text = f->text}, LOOKED, 1, found) != 1) return false;
    for (int i = 0; i < LOOKED; i++) {
        const char *token = found[i].id < 0 ? NULL : heed_tokenizer_token(e->tokens, found[i].id);
        if (token && is_among(token, g->right)) f->right += (double)found[i].probability;
        if (token && is_among(token, g->wrong)) f->wrong += (double)found[i].probability;
        if (i >= TOP) continue;
        snprintf(f->word[i], NAME, "%s", token ? token : "");
        f->probability[i] = found[i].probability;
    }
    return true;
}

static bool look(struct lesson_run *r, const struct encoder *e, struct filled *f) {
    f->attention = heed_attend(r->cx, e->masked, (heed_tokenizer *const[2]){e->tokens, e->tokens},
                               &(heed_attend_input){.text = f->text, .words = true});
    if (!f->attention) return false;
    const heed_attended_site *s = &f->attention->sites[0];
    while (f->gap < s->keys->n - 1 && strcmp(s->keys->tokens[f->gap], heed_tokenizer_token(e->tokens, e->mask)) != 0)
        f->gap++;
    f->weight = lesson_room(r, s->n_maps * s->keys->n, sizeof *f->weight);
    for (int l = 0; f->weight && l < s->n_maps; l++)
        for (int64_t k = 0; k < s->keys->n; k++) {
            const heed_capture_map *m = &s->maps[l];
            double sum = 0;
            for (int64_t h = 0; h < m->heads; h++) sum += (double)m->weights[(h * m->rows + f->gap) * m->keys + k];
            f->weight[l * s->keys->n + k] = (float)(sum / (double)m->heads);
        }
    return f->weight;
}

/* ---- what is said and drawn ---- */

static void print_gap(struct lesson_run *r, const struct gap *g, const struct filled *f) {
    const char *names[TOP];
    float percent[TOP];
    heed_terminal how = r->terminal;
    char title[256];
    for (int i = 0; i < TOP; i++) names[i] = f->word[i], percent[i] = 100 * f->probability[i];
    snprintf(title, sizeof title, "%s  (%s)", f->text, g->about);
    lesson_say(r, "%s", title);
    how.title = "probability, %";
    how.width = how.width < 60 ? how.width : 60;
    lesson_show(r, heed_terminal_bars(r->cx, names, percent, TOP, &how));
}

static const char *const *layer_names(struct lesson_run *r, int n) {
    const char **names = lesson_room(r, n, sizeof *names);
    char *text = lesson_room(r, n, 32);
    for (int i = 0; names && text && i < n; i++) {
        snprintf(text + 32 * i, 32, "layer %d", i);
        names[i] = text + 32 * i;
    }
    return text ? names : NULL;
}

static void draw_gaps(struct lesson_run *r, const struct filled *filled) {
    heed_figure *f = lesson_figure(r, 900, 560);
    heed_figure_grid(f, GAPS, 2);
    heed_figure_bar(f, "attention from the gap");
    for (int g = 0; g < GAPS; g++) {
        const struct filled *at = &filled[g];
        const heed_attended_site *s = &at->attention->sites[0];
        const char *names[TOP];
        float percent[TOP];
        const heed_heatmap how = {.row_names = layer_names(r, s->n_maps),
                                  .col_names = s->keys->labels,
                                  .numbers = true,
                                  .weights = true,
                                  .stretch = true,
                                  .low = 0,
                                  .high = 1};
        for (int i = 0; i < TOP; i++) names[i] = at->word[i], percent[i] = 100 * at->probability[i];
        heed_panel *p = heed_figure_panel(f, g, 0);
        heed_panel_title(p, "What fills the gap");
        heed_panel_labels(p, "probability, %", NULL);
        heed_panel_limits_x(p, 0, 1.2 * (double)percent[0]);
        heed_panel_hbars(p, names, percent, TOP, &(heed_style){.color = HEED_COLOR_BLUE, .numbers = true});
        p = heed_figure_panel(f, g, 1);
        heed_panel_title(p, "What the gap attends to");
        heed_panel_heatmap(p, at->weight, s->n_maps, s->keys->n, &how);
        heed_terminal terminal = r->terminal;
        terminal.title = "attention from the gap, the mean of the heads";
        if (g == 0) lesson_show(r, heed_terminal_heatmap(r->cx, at->weight, s->n_maps, s->keys->n, &how, &terminal));
    }
    lesson_picture(r, f, "masked-words");
}

static void write_tables(struct lesson_run *r, const struct encoder *e, const struct filled *filled) {
    const char *text[GAPS * TOP], *word[GAPS * TOP];
    float probability[GAPS * TOP], step[ENCODER_POINTS];
    for (int i = 0; i < GAPS * TOP; i++) {
        text[i] = filled[i / TOP].text;
        word[i] = filled[i / TOP].word[i % TOP];
        probability[i] = filled[i / TOP].probability[i % TOP];
    }
    lesson_table(r, "masked-words",
                 (heed_table_column[]){{.name = "text", .text = text},
                                       {.name = "word", .text = word},
                                       {.name = "probability", .f32 = probability}},
                 3, GAPS * TOP);
    for (int g = 0; g < GAPS; g++) {
        const heed_attended_site *s = &filled[g].attention->sites[0];
        const char *const *layers = layer_names(r, s->n_maps);
        heed_table_column *columns = lesson_room(r, 1 + s->n_maps, sizeof *columns);
        char name[48];
        if (!columns || !layers) return;
        columns[0] = (heed_table_column){.name = "word", .text = s->keys->labels};
        for (int l = 0; l < s->n_maps; l++)
            columns[1 + l] = (heed_table_column){.name = layers[l], .f32 = filled[g].weight + l * s->keys->n};
        snprintf(name, sizeof name, "masked-words-attention-%d", g);
        lesson_table(r, name, columns, 1 + s->n_maps, s->keys->n);
    }
    if (r->model) return;
    for (int i = 0; i < ENCODER_POINTS; i++) step[i] = ((float)i + 0.5f) * (float)r->steps / ENCODER_POINTS;
    lesson_table(r, "masked-words-loss",
                 (heed_table_column[]){{.name = "step", .f32 = step}, {.name = "loss", .f32 = e->loss}}, 2,
                 ENCODER_POINTS);
}

/* The weight on the clue in the layer that has most of it, against an equal share. */
static void say_clues(struct lesson_run *r, const struct filled *filled) {
    int more = 0; /* gaps that give their clue half as much again as an equal share */
    lesson_line(r, "%-12s %24s %14s", "clue", "attention from the gap", "equal share");
    for (int g = 0; g < GAPS; g++) {
        const heed_attended_site *s = &filled[g].attention->sites[0];
        float most = 0;
        char name[48];
        for (int64_t i = 0; i < s->n_maps * s->keys->n; i++)
            if (strcmp(s->keys->labels[i % s->keys->n], gaps[g].clue) == 0 && filled[g].weight[i] > most)
                most = filled[g].weight[i];
        lesson_line(r, "%-12s %24.2f %14.2f", gaps[g].clue, (double)most, 1 / (double)s->keys->n);
        more += most > 1.5f / (float)s->keys->n;
        snprintf(name, sizeof name, "clue_%d", g);
        lesson_result(r, name, (double)most);
        snprintf(name, sizeof name, "first_%d", g);
        lesson_result(r, name, (double)filled[g].probability[0]);
    }
    lesson_line(r, "%s", "");
    lesson_say(
        r,
        "A gap can attend to words on either side of it. Gaps that give their clue more than one and a half times an "
        "equal share: %d of %d.",
        more, GAPS);
}

/* Whether what fills a gap agrees with the rest of its sentence. */
static void say_forms(struct lesson_run *r, const struct filled *filled) {
    for (int g = 0; g < GAPS; g++) {
        const struct filled *f = &filled[g];
        char name[48];
        if (!gaps[g].asks) continue;
        const bool fills = f->right + f->wrong > 0.3; /* with any of these forms */
        const char *verdict = fills && f->right > 2 * f->wrong ? "It has learnt what that word asks for."
                              : fills && f->wrong > 2 * f->right
                                  ? "It has learnt to fill the gap, but against that word."
                                  : "It has not learnt yet what that word asks for.";
        lesson_say(r,
                   "\"%s\" asks for forms such as \"%s\", not \"%s\": the network gives the former %.0f %%, the latter "
                   "%.0f %%. %s",
                   gaps[g].asks, gaps[g].right[0], gaps[g].wrong[0], 100 * f->right, 100 * f->wrong, verdict);
        snprintf(name, sizeof name, "agrees_%d", g);
        lesson_result(r, name, f->right);
        snprintf(name, sizeof name, "disagrees_%d", g);
        lesson_result(r, name, f->wrong);
    }
}

static void run(struct lesson_run *r) {
    struct encoder e;
    struct filled *filled = lesson_room(r, GAPS, sizeof *filled);
    lesson_say(r, "Hide a word of a sentence, and let a network find it: it learns a language from plain text, without "
                  "labels (Devlin et al. 2019). Unlike a decoder it sees both sides of the gap.");
    bool ok = encoder_open(r, false, &e) && filled;
    for (int g = 0; ok && g < GAPS; g++) {
        ok = fill(r, &e, &gaps[g], &filled[g]) && look(r, &e, &filled[g]);
        if (ok) print_gap(r, &gaps[g], &filled[g]);
    }
    if (ok) {
        draw_gaps(r, filled);
        say_clues(r, filled);
        say_forms(r, filled);
        write_tables(r, &e, filled);
    }
    for (int g = 0; filled && g < GAPS; g++) heed_attended_free(r->cx, filled[g].attention);
    encoder_close(r, &e);
}

const struct lesson gaps_lesson = {
    .name = "masked-words",
    .summary = "a BERT learns to fill gaps; what it fills in, and what it attends to",
    .steps = STEPS,
    .model = true,
    .run = run,
};
