/* Alignment (Bahdanau, Cho and Bengio 2015, figure 3): where the decoder looks while it writes each word. Nobody tells
 * it which word belongs to which; it finds out because that makes the next word easier to predict. */
#include "heed/attention.h"
#include "lessons/translators.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 2, WORDS = 32 };

struct map {
    int64_t rows, cols;
    float weight[WORDS * WORDS]; /* (rows, cols): target words by source words */
    char *row[WORDS], *col[WORDS];
};

/* The words of a line, and the end of the sentence. */
static int64_t names_of(struct lesson_run *r, const heed_tokenizer *tokens, const heed_ids *ids, char *to[WORDS]) {
    int64_t n = 0;
    for (; n < ids->count && n < WORDS; n++) {
        const char *const word = heed_tokenizer_token(tokens, ids->id[n]);
        to[n] = lesson_text(r, n + 1 == ids->count ? "(end)" : word ? word : "", 0);
        if (!to[n]) return 0;
    }
    return n;
}

/* Of test pair i, the weights while the decoder is given the true words. */
static bool align(struct lesson_run *r, const struct translators *t, const heed_model *model, int64_t i,
                  struct map *m) {
    heed_ctx *cx = r->cx;
    const heed_ids source = heed_pair_source(&t->pairs[1], i), target = heed_pair_target(&t->pairs[1], i);
    heed_io in = {0}, out;
    bool ok = heed_capture_begin(cx, NULL);
    heed_set_grad(cx, false);
    ok = ok && heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, source.id, 2, (int64_t[]){1, source.count})) &&
         heed_io_put(cx, &in, "labels", heed_from_i32(cx, target.id, 2, (int64_t[]){1, target.count})) &&
         heed_model_forward(cx, model, &in, &out);
    const heed_capture_map *const map = ok ? heed_capture_at(cx, 0) : NULL;
    m->rows = map ? map->rows : 0;
    m->cols = map ? map->keys : 0;
    ok = map && m->rows <= WORDS && m->cols <= WORDS;
    if (ok) memcpy(m->weight, map->weights, (size_t)(m->rows * m->cols) * sizeof *m->weight);
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return ok && !heed_failed(cx);
}

static int64_t strongest(const struct map *m, int64_t row) { return lesson_winner(m->weight + row * m->cols, m->cols); }

/* A sentence of 7 to 10 words with that word in it, from `from` on. */
static int64_t find_sentence(const heed_lines *lines, const char *word, int64_t from) {
    for (int64_t i = from; i < lines->count; i++) {
        const char *const s = heed_line_text(lines, i);
        int words = 1;
        for (const char *c = s; *c; c++) words += *c == ' ';
        if (words >= 7 && words <= 10 && strstr(s, word)) return i;
    }
    return from;
}

/* ---- over all sentences ---- */

struct summary {
    double largest; /* the mean of each row's largest weight */
    double back;    /* how often the decoder looks further back than for the word before */
    double
        diagonal; /* how often the strongest weight lies where the same share of the sentence is over, up to a word */
};

static bool summarise(struct lesson_run *r, const struct translators *t, const heed_model *model, struct summary *s) {
    struct map *m = lesson_room(r, 1, sizeof *m);
    int64_t rows = 0, steps = 0;
    for (int64_t i = 0; m && i < 200 && i < t->pairs[1].n; i++) {
        if (heed_pair_source(&t->pairs[1], i).count > WORDS || heed_pair_target(&t->pairs[1], i).count > WORDS)
            continue;
        if (!align(r, t, model, i, m)) return false;
        for (int64_t k = 0; k < m->rows; k++) {
            const int64_t at = strongest(m, k);
            const double even = m->rows > 1 ? (double)k * (double)(m->cols - 1) / (double)(m->rows - 1) : 0;
            s->largest += (double)m->weight[k * m->cols + at];
            s->diagonal += fabs(even - (double)at) <= 1;
            rows++;
            if (k == 0) continue;
            s->back += at < strongest(m, k - 1);
            steps++;
        }
    }
    s->largest /= (double)(rows ? rows : 1);
    s->diagonal /= (double)(rows ? rows : 1);
    s->back /= (double)(steps ? steps : 1);
    return m;
}

/* ---- words and pictures ---- */

/* Bytes for a column of 14 characters. */
static int wide(const char *text) {
    int bytes = 14;
    for (; *text; text++) bytes += ((unsigned char)*text & 0xC0) == 0x80;
    return bytes;
}

static void print_map(struct lesson_run *r, const struct map *m) {
    lesson_line(r, "%-14s %-14s %s", "writes", "looks at", "weight");
    for (int64_t k = 0; k < m->rows; k++) {
        const int64_t at = strongest(m, k);
        lesson_line(r, "%-*s %-14s %6.2f", wide(m->row[k]), m->row[k], m->col[at], (double)m->weight[k * m->cols + at]);
    }
    lesson_line(r, "%s", "");
}

static void draw(struct lesson_run *r, const struct map *maps) {
    heed_figure *f = lesson_figure(r, 940, 440);
    heed_figure_grid(f, 1, SHOWN);
    heed_figure_title(f, "Where the decoder looks while it writes");
    for (int k = 0; k < SHOWN; k++) {
        const struct map *const m = &maps[k];
        const heed_heatmap how = {.map = HEED_MAP_GREY,
                                  .high = 1,
                                  .row_names = (const char *const *)m->row,
                                  .col_names = (const char *const *)m->col,
                                  .no_bar = k + 1 < SHOWN,
                                  .scale_label = "weight"};
        heed_panel_heatmap(heed_figure_panel(f, 0, k), m->weight, m->rows, m->cols, &how);
        if (k == 1) lesson_show(r, heed_terminal_heatmap(r->cx, m->weight, m->rows, m->cols, &how, &r->terminal));
    }
    lesson_picture(r, f, "alignment");
    for (int k = 0; k < SHOWN; k++) {
        const struct map *const m = &maps[k];
        heed_table_column columns[WORDS];
        float *const across = lesson_room(r, m->rows * m->cols, sizeof *across);
        char name[32];
        for (int64_t i = 0; across && i < m->rows * m->cols; i++)
            across[i % m->cols * m->rows + i / m->cols] = m->weight[i];
        for (int64_t c = 0; across && c < m->cols; c++)
            columns[c] = (heed_table_column){.name = m->col[c], .f32 = across + c * m->rows};
        snprintf(name, sizeof name, "alignment-%d", k + 1);
        if (across) lesson_table(r, name, columns, (int)m->cols, m->rows);
    }
}

static void study(struct lesson_run *r, const struct translators *t, const heed_model *model) {
    static const char *const words[SHOWN] = {" and ", " will "};
    struct map *maps = lesson_room(r, SHOWN, sizeof *maps);
    struct summary s = {0};
    if (!maps || !summarise(r, t, model, &s)) return;
    for (int k = 0; k < SHOWN; k++) {
        const int64_t i = find_sentence(&t->lines[1][0], words[k], 0);
        const heed_ids source = heed_pair_source(&t->pairs[1], i), target = heed_pair_target(&t->pairs[1], i);
        if (!align(r, t, model, i, &maps[k]) || !names_of(r, t->tokens[0], &source, maps[k].col) ||
            !names_of(r, t->tokens[1], &target, maps[k].row))
            return;
        lesson_line(r, "%s\n%s\n", heed_line_text(&t->lines[1][0], i), heed_line_text(&t->lines[1][1], i));
        print_map(r, &maps[k]);
    }
    draw(r, maps);
    const int64_t verb = maps[1].rows - 2; /* the last word, before the end */
    const bool back = verb > 0 && strongest(&maps[1], verb) < strongest(&maps[1], verb - 1);
    lesson_say(r,
               "A row is a word that is written, a column a word that is read; %s is all of the attention. Where the "
               "order is the same in both languages the map is a diagonal. German puts an infinitive at the end of its "
               "clause, so that its place in the map is off the diagonal: for \"%s\" the decoder %s.",
               r->terminal.colors ? "white" : "dense", maps[1].row[verb],
               back ? "goes back to the English verb, which it had skipped"
                    : "does not go back to the English verb here");
    lesson_say(
        r,
        "Over %lld sentences the largest weight of a word is %.2f on average; in %.0f %% of the steps the decoder "
        "looks further back than before, and %.0f %% of the words look where a straight line through the sentence "
        "would, give or take a word. No one has told it about words or order: only the next word was ever "
        "corrected. The weights come from e_ij = v' tanh(W s_i-1 + U h_j), a softmax over j, and the state "
        "s_i-1 before the word is what asks.",
        (long long)(t->pairs[1].n < 200 ? t->pairs[1].n : 200), s.largest, 100 * s.back, 100 * s.diagonal);
    lesson_result(r, "largest_weight", s.largest);
    lesson_result(r, "looks_back", s.back);
    lesson_result(r, "on_the_diagonal", s.diagonal);
    lesson_say(r,
               "The same for your own model: '%s attend DIR \"a sentence\" --png map.png'. What happens without "
               "attention: '%s "
               "lesson bottleneck'.",
               r->program, r->program);
}

static void run(struct lesson_run *r) {
    struct translators t;
    heed_model *model = NULL;
    lesson_say(r,
               "A translator with attention (Bahdanau et al. 2015) looks, before it writes a word, at the words of the "
               "source, with weights that sum to 1. Those weights are an alignment: they tell which words a word comes "
               "from. Here one learns to translate sentences of our grammar in %lld updates.",
               (long long)r->steps);
    if (translators_open(r, &t)) model = translators_learn(r, &t, "bahdanau", false);
    if (model) study(r, &t, model);
    heed_model_free(r->cx, model);
    translators_close(r, &t);
}

const struct lesson alignment_lesson = {
    .name = "alignment",
    .summary = "where a decoder looks while it writes: the map of Bahdanau et al.",
    .steps = TRANSLATORS_STEPS,
    .run = run,
};
