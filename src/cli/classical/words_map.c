/* The map of heed words: words on the plane, the most frequent ones, or those given with their nearest ones. */
#include "cli/classical/words.h"
#include "cli/core/figure_options.h"
#include <stdio.h>
#include <string.h>

#define GROUPS 8 /* colours that can be told apart */

struct map {
    const heed_words *w;
    int64_t *word, n;
    int *group; /* (n) the question that it answers */
    int groups;
};

static bool has(const struct map *m, int64_t word) {
    for (int64_t i = 0; i < m->n; i++)
        if (m->word[i] == word) return true;
    return false;
}

static void add(struct map *m, int64_t word, int group) {
    if (has(m, word)) return;
    m->word[m->n] = word;
    m->group[m->n++] = group;
}

/* Each word that was given, then what lies nearest to each. */
static bool take_given(const struct options *o, heed_ctx *cx, struct map *m, int64_t top) {
    heed_word_found *found = heed_mem_new(cx, (size_t)top * sizeof *found);
    for (int i = 1; found && i < options_words(o); i++) {
        const char *text = options_word(o, i);
        const int64_t word = heed_words_find(m->w, text, strlen(text));
        if (word >= 0) add(m, word, i - 1);
    }
    for (int i = 1; found && i < options_words(o); i++) {
        const int64_t n = heed_words_ask(cx, m->w, options_word(o, i), top, found);
        if (n < 0) break;
        for (int64_t k = 0; k < n; k++) add(m, found[k].word, i - 1);
    }
    heed_mem_free(cx, found);
    return !heed_failed(cx);
}

static heed_color color_of(int group) { return (heed_color)(HEED_COLOR_BLUE + group % GROUPS); }

static heed_figure *draw(const struct options *o, heed_ctx *cx, const struct map *m, float *x, float *y,
                         const char **name, heed_color *color) {
    double share[2];
    char label[2][80], title[96];
    if (!heed_words_plane(cx, m->w, m->word, m->n, x, y, share)) return NULL;
    heed_figure *f = heed_figure_new(cx, 640, 520);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    for (int g = 0; g < m->groups; g++) { /* a layer a group, for the legend */
        int64_t n = 0;
        float *px = heed_mem_new(cx, 2 * (size_t)m->n * sizeof *px), *py = px ? px + m->n : NULL;
        for (int64_t i = 0; px && i < m->n; i++)
            if (m->group[i] == g) px[n] = x[i], py[n++] = y[i];
        heed_panel_scatter(p, px, py, n,
                           &(heed_style){.label = m->groups > 1 ? options_word(o, g + 1) : NULL,
                                         .color = color_of(g),
                                         .size = 3.6,
                                         .alpha = 0.9});
        heed_mem_free(cx, px);
    }
    for (int64_t i = 0; i < m->n; i++) {
        name[i] = heed_words_text(m->w, m->word[i]);
        color[i] = m->groups > 1 ? color_of(m->group[i]) : HEED_COLOR_INK;
    }
    heed_panel_names(p, x, y, name, color, m->n, &(heed_style){.size = m->n > 250 ? 6.5 : 8});
    for (int i = 0; i < 2; i++)
        snprintf(label[i], sizeof label[i], "%s principal component (%.0f %% of the variance)", i ? "second" : "first",
                 100 * share[i]);
    heed_panel_labels(p, label[0], label[1]);
    if (m->groups > 1)
        snprintf(title, sizeof title, "Words and their nearest neighbours");
    else
        snprintf(title, sizeof title, "%lld words by their vectors", (long long)m->n);
    heed_panel_title(p, title);
    return f;
}

bool words_map(const struct options *o, heed_ctx *cx, const heed_words *w) {
    const int64_t all = heed_words_count(w), count = option_int(o, "count"), top = option_int(o, "top");
    const int given = options_words(o) - 1;
    const int64_t room = given > 0 ? given * (1 + (top < all ? top : all)) : count < all ? count : all;
    struct map m = {.w = w, .groups = given > 1 ? given : 1};
    m.word = heed_mem_new(cx, (size_t)room * sizeof *m.word);
    m.group = heed_mem_new(cx, (size_t)room * sizeof *m.group);
    float *x = heed_mem_new(cx, 2 * (size_t)room * sizeof *x);
    const char **name = heed_mem_new(cx, (size_t)room * sizeof *name);
    heed_color *color = heed_mem_new(cx, (size_t)room * sizeof *color);
    if (!heed_failed(cx)) {
        for (int64_t i = 0; given == 0 && i < room; i++) add(&m, i, 0);
        heed_figure *f = given == 0 || take_given(o, cx, &m, top < all ? top : all)
                             ? draw(o, cx, &m, x, x + room, name, color)
                             : NULL;
        if (f) pictures_write(o, f, "a map of the words");
        heed_figure_free(f);
    }
    heed_mem_free(cx, m.word);
    heed_mem_free(cx, m.group);
    heed_mem_free(cx, x);
    heed_mem_free(cx, name);
    heed_mem_free(cx, color);
    return !heed_failed(cx);
}
