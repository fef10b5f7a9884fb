/* MLP-Mixer over tokens (Tolstikhin et al. 2021): an MLP along time reads the same places whatever the text says. */
#include "lessons/exchange.h"
#include <stdio.h>

enum { STEPS = 400, JOBS = 2 };
static const enum exchange_job jobs[JOBS] = {JOB_SHIFT, JOB_FIND};
static const char *const job_names[JOBS] = {"the value half a text away", "find a token by its key"};

struct figures {
    struct exchanged attention[JOBS], mixer[JOBS];
};

static bool compute(struct lesson_run *r, struct figures *f) {
    for (int j = 0; j < JOBS; j++) {
        lesson_progress(r, "layer", 2 * j, 2 * JOBS);
        if (!exchange(r, &(struct exchange_opts){.job = jobs[j], .kind = LAYER_EXACT}, &f->attention[j])) return false;
        lesson_progress(r, "layer", 2 * j + 1, 2 * JOBS);
        if (!exchange(r, &(struct exchange_opts){.job = jobs[j], .kind = LAYER_MIXER}, &f->mixer[j])) return false;
    }
    lesson_progress(r, "", 1, 1);
    return true;
}

/* How far two maps are from each other, of the size of both: 0 for equal ones. */
static double apart(const struct exchanged *e) {
    double d = 0, all = 0;
    for (int i = 0; i < TOKENS * TOKENS; i++) {
        const double a = (double)e->map[0][i], b = (double)e->map[1][i];
        d += (a - b) * (a - b), all += a * a + b * b;
    }
    return all > 0 ? d / all : 0;
}

static void draw(struct lesson_run *r, struct figures *f) {
    struct exchanged *const a = &f->attention[1], *const s = &f->attention[0], *const m = &f->mixer[0],
                            *const n = &f->mixer[1];
    heed_figure *const figure = lesson_figure(r, 900, 520);
    heed_figure_grid(figure, 2, 4);
    for (int i = 0; i < 2; i++) {
        char title[64];
        snprintf(title, sizeof title, "Attention, shift: text %d", i + 1);
        exchange_draw(figure, i, 0, title, s->map[i], 1);
        snprintf(title, sizeof title, "Mixer, shift: text %d", i + 1);
        exchange_draw(figure, i, 1, title, m->map[i], 1);
        snprintf(title, sizeof title, "Attention, find: text %d", i + 1);
        exchange_draw(figure, i, 2, title, a->map[i], 1);
        snprintf(title, sizeof title, "Mixer, find: text %d", i + 1);
        exchange_draw(figure, i, 3, title, n->map[i], 1);
    }
    lesson_picture(r, figure, "token-mixer");
    exchange_table(r, "token-mixer",
                   (const char *const[]){"shift_attention", "shift_mixer", "find_attention_1", "find_attention_2",
                                         "find_mixer_1", "find_mixer_2"},
                   (const float *const[]){s->map[0], m->map[0], a->map[0], a->map[1], n->map[0], n->map[1]}, 6);
}

static void run(struct lesson_run *r) {
    struct figures *f = lesson_room(r, 1, sizeof *f);
    lesson_say(r,
               "MLP-Mixer (Tolstikhin et al. 2021) has no attention. Two linear layers along time, the same for "
               "every channel, let tokens see each other; two along the channels follow. What token t takes from "
               "token s is a weight of the network, not a score: T x S products for S hidden units, and no softmax.");
    lesson_say(r,
               "Two jobs for %d tokens, one layer of each kind, %lld steps. The first is about places, the second "
               "about keys: the token that is looked for stands elsewhere in every text.",
               TOKENS, (long long)r->steps);
    if (!f || !compute(r, f)) return;
    lesson_line(r, "%-30s %12s %12s", "error, 1: nothing learnt", "attention", "mixer");
    for (int j = 0; j < JOBS; j++)
        lesson_line(r, "%-30s %12.3f %12.3f", job_names[j], f->attention[j].error, f->mixer[j].error);
    lesson_line(r, "%s", "");
    lesson_result(r, "shift_attention", f->attention[0].error);
    lesson_result(r, "shift_mixer", f->mixer[0].error);
    lesson_result(r, "find_attention", f->attention[1].error);
    lesson_result(r, "find_mixer", f->mixer[1].error);
    lesson_result(r, "shift_mixer_apart", apart(&f->mixer[0]));
    lesson_result(r, "find_attention_apart", apart(&f->attention[1]));
    heed_terminal how = r->terminal;
    const heed_heatmap map = {.high = 1};
    how.title = "mixer, the value half a text away: text 1";
    lesson_show(r, heed_terminal_heatmap(r->cx, f->mixer[0].map[0], TOKENS, TOKENS, &map, &how));
    how.title = "attention, find a token by its key: text 1";
    lesson_show(r, heed_terminal_heatmap(r->cx, f->attention[1].map[0], TOKENS, TOKENS, &map, &how));
    draw(r, f);
    lesson_say(
        r,
        "The maps say how much each output moves with each value. The mixer's is the same for two texts (they "
        "differ by %.3f of their size), and that is all that the first job needs. Attention's changes with "
        "the text (%.2f), which the second job needs: there the mixer leaves an error of %.2f. Several layers can "
        "work around this, at the price of depth. And its places are counted: a text longer than those that "
        "it was made for cannot be read at all.",
        apart(&f->mixer[0]), apart(&f->attention[1]), f->mixer[1].error);
}

const struct lesson token_mixer_lesson = {
    .name = "token-mixer",
    .summary = "an MLP along time instead of attention: the same places for every text",
    .steps = STEPS,
    .run = run,
};
