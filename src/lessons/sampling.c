/* From a distribution to a token: temperature, top-k (Fan et al. 2018) and top-p (Holtzman et al. 2020) on one
 * distribution, each before and after. */
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 12, WAYS = 6, DRAWS = 10000, TOP_K = 4, TAIL = 6 };
#define TOP_P 0.8

/* What might follow "She poured herself a cup of": logits as a language model gives them. */
static const char *const words[WORDS] = {"coffee", "tea",   "water", "cocoa", "milk",  "wine",
                                         "hot",    "black", "soup",  "rice",  "paint", "the"};
static const float logits[WORDS] = {5.0f, 4.6f, 3.5f, 3.0f, 2.6f, 2.2f, 1.9f, 1.5f, 1.0f, 0.2f, -0.8f, -1.6f};

struct way {
    const char *name, *title;
    double temperature;
    int top_k; /* 0: all */
    double top_p;
};
static const struct way ways[WAYS] = {
    {"softmax", "softmax: temperature 1", 1, 0, 1}, {"temperature_0.5", "temperature 0.5", 0.5, 0, 1},
    {"temperature_2", "temperature 2", 2, 0, 1},    {"top_k", "top-k: the 4 most probable", 1, TOP_K, 1},
    {"top_p", "top-p: 0.8", 1, 0, TOP_P},           {"all", "temperature 2, then top-p 0.8", 2, 0, TOP_P},
};

/* p_i = exp(logit_i / T) / sum, of those that are kept; the words are in order of their logits. */
static void distribution(const struct way *w, float *p) {
    double sum = 0, reached = 0;
    int kept = w->top_k > 0 ? w->top_k : WORDS;
    for (int i = 0; i < WORDS; i++) sum += exp((double)logits[i] / w->temperature);
    for (int i = 0; i < kept && w->top_p < 1; i++) {
        reached += exp((double)logits[i] / w->temperature) / sum;
        if (reached >= w->top_p) kept = i + 1;
    }
    sum = 0;
    for (int i = 0; i < kept; i++) sum += exp((double)logits[i] / w->temperature);
    for (int i = 0; i < WORDS; i++) p[i] = i < kept ? (float)(exp((double)logits[i] / w->temperature) / sum) : 0;
}

/* exp of the entropy: among how many equally probable words the choice would be as open. */
static double openness(const float *p) {
    double entropy = 0;
    for (int i = 0; i < WORDS; i++)
        if (p[i] > 0) entropy -= (double)p[i] * log((double)p[i]);
    return exp(entropy);
}

/* How often each word is drawn. */
static void draw_words(const struct lesson_run *r, uint64_t stream, const float *p, float *share) {
    float lot;
    for (int i = 0; i < WORDS; i++) share[i] = 0;
    for (uint64_t n = 0; n < DRAWS; n++) {
        heed_random_uniform(r->seed, stream, n, &lot, 1);
        int i = 0;
        double sum = (double)p[0];
        while (i + 1 < WORDS && (sum <= (double)lot || p[i] == 0)) sum += (double)p[++i];
        while (i > 0 && p[i] == 0) i--;
        share[i] += 1.0f / DRAWS;
    }
}

/* The probability of the last words together. */
static double tail(const float *p) {
    double sum = 0;
    for (int i = WORDS - TAIL; i < WORDS; i++) sum += (double)p[i];
    return sum;
}

static void print_ways(struct lesson_run *r, float p[WAYS][WORDS]) {
    char name[64];
    lesson_line(r, "%-30s %8s %8s %8s %10s", "", "coffee", "paint", "words", "as open as");
    for (int k = 0; k < WAYS; k++) {
        int kept = 0;
        for (int i = 0; i < WORDS; i++) kept += p[k][i] > 0;
        lesson_line(r, "%-30s %6.1f %% %6.2f %% %8d %10.1f", ways[k].title, 100 * (double)p[k][0],
                    100 * (double)p[k][10], kept, openness(p[k]));
        snprintf(name, sizeof name, "%s_words", ways[k].name);
        lesson_result(r, name, kept);
        snprintf(name, sizeof name, "%s_first", ways[k].name);
        lesson_result(r, name, (double)p[k][0]);
    }
    lesson_line(r, "%s", "");
}

static void draw(struct lesson_run *r, float p[WAYS][WORDS], float share[WAYS][WORDS]) {
    heed_table_column columns[1 + 2 * WAYS] = {{.name = "word", .text = words}};
    char titles[WAYS][64];
    heed_figure *f = lesson_figure(r, 860, 560);
    heed_figure_grid(f, 2, 3);
    heed_figure_title(f, "\u201cShe poured herself a cup of \u2026\u201d: before (grey) and after");
    for (int k = 0; k < WAYS; k++) {
        heed_panel *const panel = heed_figure_panel(f, k / 3, k % 3);
        heed_panel_title(panel, ways[k].title);
        heed_panel_labels(panel, k >= 3 ? "probability" : NULL, NULL);
        heed_panel_limits_x(panel, 0, 0.8);
        heed_panel_hbars(panel, words, p[0], WORDS, &(heed_style){.color = HEED_COLOR_GREY, .alpha = 0.5});
        heed_panel_hbars(panel, words, p[k], WORDS, &(heed_style){.color = HEED_COLOR_BLUE});
        snprintf(titles[k], sizeof titles[k], "%s_drawn", ways[k].name);
        columns[1 + 2 * k] = (heed_table_column){.name = ways[k].name, .f32 = p[k]};
        columns[2 + 2 * k] = (heed_table_column){.name = titles[k], .f32 = share[k]};
    }
    lesson_picture(r, f, "sampling");
    lesson_table(r, "sampling", columns, 1 + 2 * WAYS, WORDS);
}

static void run(struct lesson_run *r) {
    float p[WAYS][WORDS], share[WAYS][WORDS];
    for (int k = 0; k < WAYS; k++) {
        distribution(&ways[k], p[k]);
        draw_words(r, (uint64_t)k, p[k], share[k]);
    }
    lesson_say(r, "A language model gives every token a logit, and softmax makes probabilities of them. Greedy search "
                  "takes the most probable token each time; sampling draws one. What might follow \"She poured herself "
                  "a cup of\":");
    lesson_show(r, heed_terminal_bars(r->cx, words, p[0], WORDS, &r->terminal));
    lesson_say(r,
               "The long tail is the trouble: each of its words is improbable, but the last %d together have %.1f %%, "
               "at temperature 2 %.1f %%, and models have tails of many thousand words. Temperature T divides the "
               "logits: below 1 it sharpens the distribution, above 1 it flattens it, and "
               "no word becomes impossible. Top-k keeps the k most probable words, whatever their probabilities. "
               "Top-p, the nucleus, keeps the fewest words whose probabilities reach p: few where the model is "
               "sure, many where it is not. What is left is divided by its sum. As "
               "open as: among so many equally probable words the choice would be as open.",
               TAIL, 100 * tail(p[0]), 100 * tail(p[2]));
    print_ways(r, p);
    lesson_say(r, "With the nucleus of temperature 2 (what heed and transformers do: first temperature, then top-k, "
                  "then top-p):");
    lesson_show(r, heed_terminal_bars(r->cx, words, p[WAYS - 1], WORDS, &r->terminal));
    draw(r, p, share);
    lesson_say(r, "'%s generate DIR --temperature X --top-k N --top-p P' samples like this from a model of your own.",
               r->program);
}

const struct lesson sampling_lesson = {
    .name = "sampling",
    .summary = "temperature, top-k and top-p on one distribution: what is drawn, before and after",
    .run = run,
};
