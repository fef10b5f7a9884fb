/* Zachary's karate club (1977): 34 members, the 78 pairs of them that met outside of it, and a quarrel after which the
 * club was two. Two members are labelled; their colours spread along the ties, layer by layer, first without weights,
 * then through a graph convolutional network that learns from the two alone (Kipf and Welling 2017). */
#include "heed/graph.h"
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MEMBERS = 34, TIES = 78, FIRST = 0, SECOND = 33, CLASSES = 2, UNKNOWN = MEMBERS - CLASSES };
enum { HIDDEN = 4, STATE = 2, DEPTHS = 4, SHOWN_DEPTH = 3, MOMENTS = 4, STEPS = 200, FAR = 64 };

/* Zachary's figure 1, by his numbers. */
static const int ties[TIES][2] = {
    {1, 2},   {1, 3},   {1, 4},   {1, 5},   {1, 6},   {1, 7},   {1, 8},   {1, 9},   {1, 11},  {1, 12},
    {1, 13},  {1, 14},  {1, 18},  {1, 20},  {1, 22},  {1, 32},  {2, 3},   {2, 4},   {2, 8},   {2, 14},
    {2, 18},  {2, 20},  {2, 22},  {2, 31},  {3, 4},   {3, 8},   {3, 9},   {3, 10},  {3, 14},  {3, 28},
    {3, 29},  {3, 33},  {4, 8},   {4, 13},  {4, 14},  {5, 7},   {5, 11},  {6, 7},   {6, 11},  {6, 17},
    {7, 17},  {9, 31},  {9, 33},  {9, 34},  {10, 34}, {14, 34}, {15, 33}, {15, 34}, {16, 33}, {16, 34},
    {19, 33}, {19, 34}, {20, 34}, {21, 33}, {21, 34}, {23, 33}, {23, 34}, {24, 26}, {24, 28}, {24, 30},
    {24, 33}, {24, 34}, {25, 26}, {25, 28}, {25, 32}, {26, 32}, {27, 30}, {27, 34}, {28, 34}, {29, 32},
    {29, 34}, {30, 33}, {30, 34}, {31, 33}, {31, 34}, {32, 33}, {32, 34}, {33, 34},
};
/* The club that each joined afterwards: 0 the instructor's (member 1), 1 the president's (member 34). */
static const int32_t joined[MEMBERS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0,
                                        0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const char *const clubs[CLASSES] = {"the instructor's club", "the president's club"};

struct club {
    int32_t from[TIES], to[TIES], both[4 * TIES]; /* both: from, then to, of the ties in both directions */
    float x[MEMBERS], y[MEMBERS];                 /* where a member stands in the pictures */
    char number[MEMBERS][12];
    const char *names[MEMBERS];
    bool labelled[MEMBERS];
    heed_graph *graph; /* with loops, each weight 1 / sqrt(d_i d_j) */
};

static bool open_club(struct lesson_run *r, struct club *c) {
    for (int e = 0; e < TIES; e++) {
        c->from[e] = c->both[e] = c->both[3 * TIES + e] = ties[e][0] - 1;
        c->to[e] = c->both[TIES + e] = c->both[2 * TIES + e] = ties[e][1] - 1;
    }
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(c->number[i], sizeof c->number[i], "%d", i + 1);
        c->names[i] = c->number[i];
    }
    c->labelled[FIRST] = c->labelled[SECOND] = true;
    c->graph = heed_graph_new(r->cx, c->both, NULL, 2 * TIES,
                              &(heed_graph_opts){.sources = MEMBERS, .loops = HEED_LOOPS_REMAINING, .normalize = true});
    return c->graph && heed_graph_layout(r->cx, MEMBERS, c->from, c->to, TIES, 1, c->x, c->y);
}

/* How many of those without a label have this colour and joined that club; -1 is no colour. */
static int right_of(const int32_t *colour) {
    int n = 0;
    for (int i = 0; i < MEMBERS; i++) n += i != FIRST && i != SECOND && colour[i] == joined[i];
    return n;
}

static void draw_club(const struct club *c, heed_panel *p, const int32_t *colour, bool rings, bool legend) {
    int32_t truth[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) truth[i] = colour[i] < 0 ? -1 : joined[i];
    heed_panel_legend(p, legend);
    heed_panel_graph(p, &(heed_graph_look){.nodes = MEMBERS,
                                           .edges = TIES,
                                           .from = c->from,
                                           .to = c->to,
                                           .x = c->x,
                                           .y = c->y,
                                           .classes = colour,
                                           .truth = rings ? truth : NULL,
                                           .marked = c->labelled,
                                           .mark_label = "labelled",
                                           .names = c->names,
                                           .class_names = clubs,
                                           .n_classes = CLASSES});
}

/* ---- colours spread ---- nothing is learnt: one unit of colour at each labelled member, and sums over neighbours */

struct spread {
    float amount[DEPTHS + 1][MEMBERS * CLASSES], far[MEMBERS * CLASSES];
    int32_t colour[DEPTHS + 1][MEMBERS]; /* -1: neither has come here */
    int reached[DEPTHS + 1], right[DEPTHS + 1];
};

static bool spread_colours(struct lesson_run *r, const struct club *c, struct spread *s) {
    heed_ctx *const cx = r->cx;
    s->amount[0][CLASSES * FIRST] = s->amount[0][CLASSES * SECOND + 1] = 1;
    heed_tensor *h = heed_from_f32(cx, s->amount[0], 2, (int64_t[]){MEMBERS, CLASSES});
    for (int layer = 0; layer <= FAR; layer++) {
        if (layer > 0) h = heed_graph_sum(cx, h, c->graph, NULL);
        if (layer <= DEPTHS && !heed_copy_f32(cx, h, s->amount[layer], MEMBERS * CLASSES)) return false;
    }
    const bool ok = heed_copy_f32(cx, h, s->far, MEMBERS * CLASSES);
    heed_reset(cx);
    for (int layer = 0; layer <= DEPTHS; layer++) {
        for (int i = 0; i < MEMBERS; i++) {
            const float *const a = s->amount[layer] + CLASSES * i;
            s->colour[layer][i] = a[0] == 0 && a[1] == 0 ? -1 : a[1] > a[0];
            s->reached[layer] += s->colour[layer][i] >= 0;
        }
        s->right[layer] = right_of(s->colour[layer]);
    }
    return ok;
}

/* The share of the first colour at every member: the least and the largest. */
static void shares(const float *amount, double *least, double *most) {
    *least = 1, *most = 0;
    for (int i = 0; i < MEMBERS; i++) {
        const double a = (double)amount[CLASSES * i], b = (double)amount[CLASSES * i + 1];
        if (a + b > 0) *least = fmin(*least, a / (a + b)), *most = fmax(*most, a / (a + b));
    }
}

static void tell_spread(struct lesson_run *r, const struct club *c, const struct spread *s) {
    char name[40];
    lesson_line(r, "%-16s %10s %30s", "", "coloured", "right of the 32 unlabelled");
    for (int k = 0; k <= DEPTHS; k++) {
        snprintf(name, sizeof name, "%d layer%s", k, k == 1 ? "" : "s");
        lesson_line(r, "%-16s %7d/34 %27d/32", name, s->reached[k], s->right[k]);
        snprintf(name, sizeof name, "reached_%d", k);
        lesson_result(r, name, s->reached[k]);
        snprintf(name, sizeof name, "spread_right_%d", k);
        lesson_result(r, name, s->right[k]);
    }
    lesson_line(r, "%s", "");
    double least[2], most[2];
    shares(s->amount[DEPTHS], &least[0], &most[0]);
    shares(s->far, &least[1], &most[1]);
    lesson_say(r,
               "Too many layers make all members alike (Li et al. 2018): after %d, the first colour's share is "
               "between %.0f and %.0f %%, after %d between %.2f and %.2f %%.",
               DEPTHS, 100 * least[0], 100 * most[0], FAR, 100 * least[1], 100 * most[1]);
    lesson_result(r, "share_range_far", most[1] - least[1]);
    heed_figure *const f = lesson_figure(r, 900, 660);
    heed_figure_grid(f, 2, 2);
    for (int k = 0; k < 4; k++) {
        static const char *const titles[] = {"Two members are labelled", "After 1 layer", "After 2 layers",
                                             "After 3 layers"};
        heed_panel *const p = heed_figure_panel(f, k / 2, k % 2);
        heed_panel_title(p, titles[k]);
        draw_club(c, p, s->colour[k], true, k >= 2);
    }
    lesson_picture(r, f, "karate-club-spread");
}

/* ---- a network learns ---- */

struct network {
    heed_params *params;
    heed_trainer *trainer;
    heed_linear_layer layer[DEPTHS], reader;
    int depth;
};

struct outcome {
    float state[MOMENTS][MEMBERS * STATE];
    int32_t colour[MOMENTS][MEMBERS];
    int64_t step[MOMENTS];
    float loss;
};

static bool open_network(struct lesson_run *r, int depth, struct network *n) {
    heed_ctx *const cx = r->cx;
    *n = (struct network){.params = heed_params_new(cx), .depth = depth};
    for (int k = 0; k < depth; k++) {
        char name[16];
        snprintf(name, sizeof name, "conv%d", k);
        heed_linear_make(cx, n->params, name, k ? HIDDEN : MEMBERS, k + 1 < depth ? HIDDEN : STATE, false,
                         &n->layer[k]);
    }
    heed_linear_make(cx, n->params, "reader", STATE, CLASSES, true, &n->reader);
    heed_params_allocate(cx, n->params);
    heed_params_init(cx, n->params, r->seed);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM}, .schedule = {.kind = HEED_CONSTANT, .lr = 0.02}};
    n->trainer = heed_trainer_new(cx, n->params, &opts);
    return !heed_failed(cx);
}

static void close_network(struct lesson_run *r, struct network *n) {
    heed_trainer_free(r->cx, n->trainer);
    heed_params_free(r->cx, n->params);
}

/* tanh(A h W') layer by layer, from a feature for each member -> logits; *state: what the last layer makes of them. */
static heed_tensor *forward(heed_ctx *cx, const struct club *c, const struct network *n, heed_tensor **state) {
    float one[MEMBERS * MEMBERS] = {0};
    for (int i = 0; i < MEMBERS; i++) one[i * MEMBERS + i] = 1;
    heed_tensor *h = heed_from_f32(cx, one, 2, (int64_t[]){MEMBERS, MEMBERS});
    for (int k = 0; k < n->depth; k++)
        h = heed_tanh(cx, heed_graph_sum(cx, heed_linear_run(cx, &n->layer[k], h, HEED_ACT_NONE), c->graph, NULL));
    if (state) *state = h;
    return heed_linear_run(cx, &n->reader, h, HEED_ACT_NONE);
}

static bool look(struct lesson_run *r, const struct club *c, const struct network *n, int moment, struct outcome *o) {
    heed_tensor *state = NULL;
    float logits[MEMBERS * CLASSES];
    const bool was = heed_set_grad(r->cx, false);
    heed_tensor *const out = forward(r->cx, c, n, &state);
    const bool ok = heed_copy_f32(r->cx, state, o->state[moment], MEMBERS * STATE) &&
                    heed_copy_f32(r->cx, out, logits, MEMBERS * CLASSES);
    heed_set_grad(r->cx, was);
    heed_reset(r->cx);
    for (int i = 0; ok && i < MEMBERS; i++) o->colour[moment][i] = logits[CLASSES * i + 1] > logits[CLASSES * i];
    return ok;
}

/* The loss is that of the two labelled members. */
static bool learn(struct lesson_run *r, const struct club *c, int depth, struct outcome *o) {
    heed_ctx *const cx = r->cx;
    struct network n;
    int moment = 0;
    bool ok = open_network(r, depth, &n);
    for (int64_t step = 0; ok && step <= r->steps; step++) {
        while (ok && moment < MOMENTS && step == o->step[moment]) ok = look(r, c, &n, moment++, o);
        if (step == r->steps) break;
        heed_trainer_begin(cx, n.trainer);
        heed_tensor *const known = heed_from_i32(cx, (int32_t[]){FIRST, SECOND}, 1, (int64_t[]){CLASSES});
        heed_tensor *const wanted = heed_from_i32(cx, (int32_t[]){0, 1}, 1, (int64_t[]){CLASSES});
        heed_tensor *const logits = heed_index_select(cx, forward(cx, c, &n, NULL), 0, known);
        o->loss = lesson_learn(cx, n.trainer, heed_cross_entropy(cx, logits, wanted, NULL));
        ok = !heed_failed(cx);
    }
    close_network(r, &n);
    return ok;
}

/* The states after learning, the members of each club as points of their own. */
static void show_states(struct lesson_run *r, const struct outcome *o) {
    float x[CLASSES][MEMBERS], y[CLASSES][MEMBERS];
    heed_series series[CLASSES];
    for (int k = 0; k < CLASSES; k++) {
        series[k] = (heed_series){.label = clubs[k], .x = x[k], .y = y[k], .points = true};
        for (int i = 0; i < MEMBERS; i++) {
            if (joined[i] != k) continue;
            x[k][series[k].n] = o->state[MOMENTS - 1][STATE * i];
            y[k][series[k].n++] = o->state[MOMENTS - 1][STATE * i + 1];
        }
    }
    heed_terminal how = r->terminal;
    how.title = "the members' states after learning, three layers";
    how.height = 12;
    lesson_show(r, heed_terminal_curves(r->cx, series, CLASSES, &(heed_axes){.x_label = "first unit"}, &how));
}

static void draw_states(struct lesson_run *r, const struct club *c, const struct outcome *o) {
    heed_figure *const f = lesson_figure(r, 900, 660);
    heed_figure_grid(f, 2, 2);
    for (int k = 0; k < MOMENTS; k++) {
        char title[64];
        float x[MEMBERS], y[MEMBERS];
        for (int i = 0; i < MEMBERS; i++) x[i] = o->state[k][STATE * i], y[i] = o->state[k][STATE * i + 1];
        if (k == 0)
            snprintf(title, sizeof title, "Before learning");
        else
            snprintf(title, sizeof title, "After %lld updates: %d of %d right", (long long)o->step[k],
                     right_of(o->colour[k]), UNKNOWN);
        heed_panel *const p = heed_figure_panel(f, k / 2, k % 2);
        heed_panel_title(p, title);
        heed_panel_legend(p, k >= 2);
        heed_panel_graph(p, &(heed_graph_look){.nodes = MEMBERS,
                                               .edges = TIES,
                                               .from = c->from,
                                               .to = c->to,
                                               .x = x,
                                               .y = y,
                                               .classes = joined,
                                               .marked = c->labelled,
                                               .mark_label = "labelled",
                                               .class_names = clubs,
                                               .n_classes = CLASSES});
    }
    lesson_picture(r, f, "karate-club-states");
}

static void write_members(struct lesson_run *r, const struct club *c, const struct spread *s, const struct outcome *o) {
    double column[6][MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        column[0][i] = joined[i];
        column[1][i] = s->colour[SHOWN_DEPTH][i];
        column[2][i] = o->colour[0][i];
        column[3][i] = o->colour[MOMENTS - 1][i];
        column[4][i] = (double)o->state[MOMENTS - 1][STATE * i];
        column[5][i] = (double)o->state[MOMENTS - 1][STATE * i + 1];
    }
    lesson_table(r, "karate-club",
                 (heed_table_column[]){{.name = "member", .text = c->names},
                                       {.name = "joined", .f64 = column[0]},
                                       {.name = "spread", .f64 = column[1]},
                                       {.name = "before", .f64 = column[2]},
                                       {.name = "learnt", .f64 = column[3]},
                                       {.name = "state_1", .f64 = column[4]},
                                       {.name = "state_2", .f64 = column[5]}},
                 7, MEMBERS);
}

/* Networks of 1 to 4 layers. */
static bool study(struct lesson_run *r, const struct club *c, const struct spread *s, struct outcome *shown) {
    lesson_line(r, "%-16s %16s %18s %18s", "", "labels reach", "right before", "right after");
    for (int depth = 1; depth <= DEPTHS; depth++) {
        struct outcome o = {.step = {0, r->steps / 20, r->steps / 8, r->steps}};
        char name[40];
        if (!learn(r, c, depth, &o)) return false;
        const int before = right_of(o.colour[0]), after = right_of(o.colour[MOMENTS - 1]);
        snprintf(name, sizeof name, "%d layer%s", depth, depth == 1 ? "" : "s");
        lesson_line(r, "%-16s %13d/34 %15d/32 %15d/32", name, s->reached[depth], before, after);
        snprintf(name, sizeof name, "learnt_right_%d", depth);
        lesson_result(r, name, after);
        if (depth == SHOWN_DEPTH) *shown = o;
    }
    lesson_line(r, "%s", "");
    return true;
}

static void conclude(struct lesson_run *r, const struct outcome *o) {
    char wrong[160] = "";
    int n = 0;
    for (int i = 0; i < MEMBERS; i++) {
        if (o->colour[MOMENTS - 1][i] == joined[i]) continue;
        n++;
        if (strlen(wrong) < 120) snprintf(wrong + strlen(wrong), 16, "%s%d", *wrong ? ", " : "", i + 1);
    }
    if (n == 0)
        lesson_say(r, "With three layers and two labels, every member is put into the club that he joined.");
    else if (n <= 5)
        lesson_say(r,
                   "With three layers and two labels all but %d are put into the club that they joined: not %s. Member "
                   "9 is the one whom Zachary's own model got wrong: he stood nearer to the president, but was three "
                   "weeks from his black belt and stayed with the instructor.",
                   n, wrong);
    else
        lesson_say(r,
                   "Three layers put %d members into the wrong club: they have learnt too little. --steps says how "
                   "long to go on.",
                   n);
}

static void run(struct lesson_run *r) {
    struct club *const c = lesson_room(r, 1, sizeof *c);
    struct spread *const s = lesson_room(r, 1, sizeof *s);
    struct outcome *const shown = lesson_room(r, 1, sizeof *shown);
    if (!c || !s || !shown) return;
    lesson_say(r, "In 1972 a karate club quarrelled and became two. Zachary had watched who met whom outside of it: 34 "
                  "members, 78 ties. Member 1 is the instructor, member 34 the president. Say which club these two "
                  "founded, and no more: who joined which?");
    if (open_club(r, c) && spread_colours(r, c, s)) {
        heed_figure *const f = lesson_figure(r, 560, 400);
        heed_panel *const p = heed_figure_panel(f, 0, 0);
        heed_panel_title(p, "The karate club, and what became of it");
        draw_club(c, p, joined, false, true);
        lesson_picture(r, f, "karate-club");
        lesson_say(r, "A layer of a graph network hands on what each node knows to its neighbours, and adds up what "
                      "comes in. Give the two a unit of colour each, and let every layer be a sum over neighbours and "
                      "the node itself, weighted by 1 / sqrt(d_i d_j), d the number of ties: no weights, nothing to "
                      "learn. A member has the colour of which more has come:");
        tell_spread(r, c, s);
        lesson_say(r,
                   "A graph convolutional network (Kipf and Welling 2017) puts a matrix and a tanh into every layer. "
                   "Its input says of each member only who he is; the last layer has two units, and a linear layer "
                   "reads the club from them. It learns from the two labels alone, %lld updates:",
                   (long long)r->steps);
        if (study(r, c, s, shown)) {
            show_states(r, shown);
            draw_states(r, c, shown);
            write_members(r, c, s, shown);
            lesson_say(r, "One layer has to guess where no label has reached: what it knows of those members "
                          "never gets a gradient. Two layers reach all of them.");
            conclude(r, shown);
        }
    }
    heed_graph_free(r->cx, c->graph);
}

const struct lesson karate_lesson = {
    .name = "karate-club",
    .summary = "two labels spread over Zachary's karate club, layer by layer; a graph network learns from them",
    .steps = STEPS,
    .run = run,
};
