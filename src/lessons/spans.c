/* Spans and sentinels: how T5 (Raffel et al. 2020) learns from plain text. A sentence loses some spans; a small T5,
 * trained for some seconds on the sentences of the grammar that heed carries, fills them in, and its cross attention
 * shows where a sentinel looks. */
#include "heed/attention.h"
#include "heed/generate.h"
#include "heed/model.h"
#include "heed/task.h"
#include "lessons/lesson.h"
#include <stdio.h>
#include <string.h>

enum { COLUMN = 12 }; /* of texts, after their names */
enum { STEPS = 600, BATCH = 32, SENTENCES = 4000, TESTS = 100, SHOWN = 4, POINTS = 30, SENTINELS = 8, MOST = 64 };

struct set {
    heed_lines text;
    heed_ids *ids; /* (text.count) words and stops of each sentence */
};

struct lesson_state {
    struct lesson_run *r;
    struct set train, test;
    heed_tokenizer *tokens;
    heed_spans how;
    int32_t sentinel[SENTINELS];
    heed_model *model;
    heed_trainer *trainer;
};

/* A sentence as it is shown to the model. */
struct example {
    int32_t input[2 * MOST], target[2 * MOST];
    int64_t inputs, targets;
};

/* ---- sentences ---- */

static bool read_set(struct lesson_state *s, heed_grammar_part part, int64_t n, struct set *to) {
    heed_ctx *cx = s->r->cx;
    heed_lines german = {0};
    const heed_grammar grammar = {.seed = s->r->seed, .part = part, .kind = HEED_GRAMMAR_PRONOUN};
    const bool ok = heed_grammar_lines(cx, &grammar, 0, n, &to->text, &german);
    heed_lines_free(cx, &german);
    to->ids = lesson_room(s->r, n, sizeof *to->ids);
    return ok && to->ids;
}

static bool encode_set(struct lesson_state *s, struct set *set) {
    for (int64_t i = 0; i < set->text.count; i++)
        if (!heed_encode(s->r->cx, s->tokens, heed_line_text(&set->text, i), heed_line_size(&set->text, i), false,
                         &set->ids[i]))
            return false;
    return true;
}

static void free_set(struct lesson_state *s, struct set *set) {
    for (int64_t i = 0; set->ids && i < set->text.count; i++) heed_ids_free(s->r->cx, &set->ids[i]);
    heed_lines_free(s->r->cx, &set->text);
}

/* Sentences have at most 24 words. */
static struct example corrupted(const struct lesson_state *s, const heed_ids *ids, uint64_t stream) {
    struct example e;
    const int64_t n = ids->count < MOST ? ids->count : MOST;
    heed_span_lengths(&s->how, n, &e.inputs, &e.targets);
    heed_span_corrupt(&s->how, ids->id, n, s->r->seed, stream, e.input, e.target);
    return e;
}

static bool open_state(struct lesson_state *s) {
    heed_ctx *cx = s->r->cx;
    if (!read_set(s, HEED_GRAMMAR_TRAIN, SENTENCES, &s->train) || !read_set(s, HEED_GRAMMAR_HELD_OUT, TESTS, &s->test))
        return false;
    const heed_lines *texts[] = {&s->train.text};
    s->tokens = heed_vocabulary_train_text2text(cx, texts, 1, HEED_TOKENS_WORD, 0);
    if (!s->tokens || !encode_set(s, &s->train) || !encode_set(s, &s->test)) return false;
    for (int i = 0; i < SENTINELS; i++) {
        char name[32];
        snprintf(name, sizeof name, "<extra_id_%d>", i);
        s->sentinel[i] = heed_tokenizer_id(s->tokens, name);
    }
    s->how = (heed_spans){.share = 0.25,
                          .mean = 2,
                          .sentinels = s->sentinel,
                          .n_sentinels = SENTINELS,
                          .end = heed_vocabulary_end(cx, s->tokens)};
    char words[64];
    snprintf(words, sizeof words, "vocab_size=%lld", (long long)heed_tokenizer_size(s->tokens));
    const char *const settings[] = {words,         "d_model=64",   "d_kv=16",        "d_ff=128",
                                    "num_heads=4", "num_layers=2", "dropout_rate=0", "feed_forward_proj=gated-gelu"};
    s->model = heed_model_new(cx, heed_family_find("t5"), settings, 8, s->r->seed);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.003, .warmup = 20, .steps = s->r->steps},
                                    .clip = 1};
    s->trainer = s->model ? heed_trainer_new(cx, heed_model_params(s->model), &opts) : NULL;
    return s->trainer;
}

static void close_state(struct lesson_state *s) {
    heed_ctx *cx = s->r->cx;
    heed_trainer_free(cx, s->trainer);
    heed_model_free(cx, s->model);
    heed_tokenizer_free(cx, s->tokens);
    free_set(s, &s->train);
    free_set(s, &s->test);
}

/* ---- learning ---- */

/* Examples side by side, padded: input_ids, attention_mask, labels. */
static bool feed(heed_ctx *cx, const struct example *e, int64_t n, heed_io *in) {
    int64_t inputs = 0, targets = 0;
    for (int64_t i = 0; i < n; i++) {
        if (e[i].inputs > inputs) inputs = e[i].inputs;
        if (e[i].targets > targets) targets = e[i].targets;
    }
    int32_t ids[BATCH * 2 * MOST], mask[BATCH * 2 * MOST], labels[BATCH * 2 * MOST];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t t = 0; t < inputs; t++) {
            mask[i * inputs + t] = t < e[i].inputs;
            ids[i * inputs + t] = t < e[i].inputs ? e[i].input[t] : 0;
        }
        for (int64_t t = 0; t < targets; t++)
            labels[i * targets + t] = t < e[i].targets ? e[i].target[t] : HEED_NO_LABEL;
    }
    return heed_io_put(cx, in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){n, inputs})) &&
           heed_io_put(cx, in, "attention_mask", heed_from_i32(cx, mask, 2, (int64_t[]){n, inputs})) &&
           heed_io_put(cx, in, "labels", heed_from_i32(cx, labels, 2, (int64_t[]){n, targets}));
}

static bool learn(struct lesson_state *s, float loss[POINTS]) {
    heed_ctx *cx = s->r->cx;
    int64_t counts[POINTS] = {0};
    struct example *batch = lesson_room(s->r, BATCH, sizeof *batch);
    for (int64_t step = 0; batch && step < s->r->steps && !heed_failed(cx); step++) {
        heed_io in = {.loss_only = true}, out = {0};
        for (int64_t i = 0; i < BATCH; i++) /* the same sentence comes with other spans each time */
            batch[i] = corrupted(s, &s->train.ids[(step * BATCH + i) % SENTENCES], (uint64_t)(step * BATCH + i));
        heed_trainer_begin(cx, s->trainer);
        if (!feed(cx, batch, BATCH, &in) || !heed_model_forward(cx, s->model, &in, &out)) break;
        loss[step * POINTS / s->r->steps] += lesson_learn(cx, s->trainer, heed_io_get(&out, "loss"));
        counts[step * POINTS / s->r->steps]++;
        if (step % 8 == 0) lesson_progress(s->r, "learning", step, s->r->steps);
    }
    for (int i = 0; i < POINTS; i++)
        if (counts[i]) loss[i] /= (float)counts[i];
    lesson_progress(s->r, "", 1, 1);
    return batch && !heed_failed(cx);
}

/* ---- showing ---- */

static const int inks[] = {202, 39, 178, 141, 71, 205, 44, 246}; /* of the 256 colours, one for each sentinel */

static int sentinel_at(const struct lesson_state *s, int32_t id) {
    for (int i = 0; i < SENTINELS; i++)
        if (s->sentinel[i] == id) return i;
    return -1;
}

/* Words of tokens, sentinels short and coloured: <0>; in a target what follows a sentinel has its colour too. */
static void put_words(const struct lesson_state *s, const int32_t *ids, int64_t n, bool target, char *out,
                      size_t size) {
    const bool colors = s->r->terminal.colors != HEED_TERMINAL_PLAIN && !s->r->json;
    size_t at = 0;
    int span = -1;
    *out = 0;
    for (int64_t i = 0; i < n && at + 80 < size; i++) {
        const int sentinel = sentinel_at(s, ids[i]);
        if (ids[i] == s->how.end || ids[i] == 0) continue;
        if (sentinel >= 0 || !target) span = sentinel;
        char word[48];
        if (sentinel >= 0)
            snprintf(word, sizeof word, "<%d>", sentinel);
        else
            snprintf(word, sizeof word, "%s", heed_tokenizer_token(s->tokens, ids[i]));
        const bool ink = colors && span >= 0;
        at += (size_t)(ink ? snprintf(out + at, size - at, "%s\033[38;5;%dm%s\033[0m", at ? " " : "", inks[span], word)
                           : snprintf(out + at, size - at, "%s%s", at ? " " : "", word));
    }
}

static void show_example(const struct lesson_state *s, const heed_ids *ids, const struct example *e,
                         const heed_hypothesis *found) {
    char text[2048];
    if (ids) {
        put_words(s, ids->id, ids->count, false, text, sizeof text);
        lesson_entry(s->r, COLUMN, "  sentence", text);
    }
    put_words(s, e->input, e->inputs, false, text, sizeof text);
    lesson_entry(s->r, COLUMN, "  input", text);
    put_words(s, e->target, e->targets, true, text, sizeof text);
    lesson_entry(s->r, COLUMN, "  target", text);
    if (found) {
        put_words(s, found->ids, found->length, true, text, sizeof text);
        lesson_entry(s->r, COLUMN, "  model", text);
    }
    lesson_line(s->r, "%s", "");
}

/* ---- filling in ---- */

/* Of the tokens of all targets, sentinels left out, the share that stands at its place. */
static double right_of(const struct lesson_state *s, const struct example *e, const heed_generated *g) {
    int64_t right = 0, all = 0;
    for (int64_t i = 0; i < g->sentences; i++)
        for (int64_t t = 0; t + 1 < e[i].targets; t++) {
            if (sentinel_at(s, e[i].target[t]) >= 0) continue;
            all++;
            right += t < g->best[i].length && g->best[i].ids[t] == e[i].target[t];
        }
    return all ? (double)right / (double)all : 0;
}

static heed_generated *fill(struct lesson_state *s, const struct example *e) {
    heed_ids *sources = lesson_room(s->r, TESTS, sizeof *sources);
    for (int64_t i = 0; sources && i < TESTS; i++)
        sources[i] = (heed_ids){.id = (int32_t *)e[i].input, .count = e[i].inputs};
    return sources ? heed_generate(s->r->cx, s->model, sources, TESTS,
                                   &(heed_generate_opts){.beams = 1, .length_penalty = 1, .max_new_tokens = 24})
                   : NULL;
}

/* ---- where a sentinel looks ---- */

/* Weight of the rows that are to say a sentinel on that sentinel, of their mean. */
static void say_sentinels(struct lesson_state *s, const struct example *e, const float *mean, int64_t keys) {
    double sum = 0;
    int64_t rows = 0;
    for (int64_t t = 0; t < e->targets; t++)
        for (int64_t k = 0; k < keys && sentinel_at(s, e->target[t]) >= 0; k++)
            if (e->input[k] == e->target[t]) sum += (double)mean[t * keys + k], rows++;
    const double weight = rows ? sum / (double)rows : 0;
    lesson_say(
        s->r,
        "In this sentence a row that predicts a sentinel puts %.2f of its weight on that sentinel in the input, where "
        "an equal share would be %.2f%s.",
        weight, 1 / (double)keys,
        weight > 1.5 / (double)keys ? ": this is how it keeps its place" : "; it does not look for it here");
    lesson_result(s->r, "weight_on_sentinel", weight);
}

static void draw_attention(struct lesson_state *s, const struct example *e) {
    heed_ctx *cx = s->r->cx;
    heed_io in = {0}, out = {0};
    const char *keys[2 * MOST], *queries[2 * MOST], *next[2 * MOST];
    char short_names[SENTINELS][16];
    for (int i = 0; i < SENTINELS; i++) snprintf(short_names[i], sizeof short_names[i], "<%d>", i);
    for (int64_t t = 0; t < e->inputs; t++) {
        const int k = sentinel_at(s, e->input[t]);
        keys[t] = k >= 0 ? short_names[k] : heed_tokenizer_token(s->tokens, e->input[t]);
    }
    for (int64_t t = 0; t < e->targets; t++) {
        const int k = sentinel_at(s, e->target[t]);
        next[t] = k >= 0 ? short_names[k] : heed_tokenizer_token(s->tokens, e->target[t]);
        queries[t] = t ? next[t - 1] : "<pad>";
    }
    heed_set_grad(cx, false);
    const int last = 1; /* layer */
    heed_capture_begin(cx, &(heed_capture_opts){.site = "cross", .layers = &last, .n_layers = 1});
    if (feed(cx, e, 1, &in)) heed_model_forward(cx, s->model, &in, &out);
    const heed_capture_map *m = heed_failed(cx) ? NULL : heed_capture_at(cx, 0);
    if (m) {
        /* the mean of the heads as one */
        float *mean = lesson_room(s->r, m->rows * m->keys, sizeof *mean);
        for (int64_t i = 0; mean && i < m->heads * m->rows * m->keys; i++)
            mean[i % (m->rows * m->keys)] += m->weights[i] / (float)m->heads;
        const heed_capture_map shown = {
            .site = "cross", .batch = 1, .heads = 1, .rows = m->rows, .keys = m->keys, .weights = mean};
        const heed_attention_look look = {.query_names = queries, .next_names = next, .key_names = keys};
        heed_terminal how = s->r->terminal;
        how.title = "cross attention of the last layer, mean of its heads";
        if (mean) say_sentinels(s, e, mean, m->keys);
        if (mean) lesson_show(s->r, heed_terminal_attention(cx, &shown, 0, &look, &how));
        heed_figure *f = lesson_figure(s->r, 860, 420);
        heed_figure_bar(f, "weight");
        heed_panel *p = heed_figure_panel(f, 0, 0);
        heed_panel_title(p, "Where the decoder looks while it fills the spans");
        if (mean) heed_plot_attention_map(p, &shown, 0, &look);
        lesson_picture(s->r, f, "spans-attention");
        const char **query = lesson_room(s->r, m->rows * m->keys, sizeof *query),
                   **key = lesson_room(s->r, m->rows * m->keys, sizeof *key);
        for (int64_t i = 0; query && key && i < m->rows * m->keys; i++)
            query[i] = next[i / m->keys], key[i] = keys[i % m->keys];
        if (mean && query && key)
            lesson_table(s->r, "spans-attention",
                         (heed_table_column[]){{.name = "predicts", .text = query},
                                               {.name = "key", .text = key},
                                               {.name = "weight", .f32 = mean}},
                         3, m->rows * m->keys);
    }
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
}

static void draw_learning(struct lesson_state *s, const float loss[POINTS]) {
    float step[POINTS];
    for (int i = 0; i < POINTS; i++) step[i] = ((float)i + 0.5f) * (float)s->r->steps / POINTS;
    heed_terminal how = s->r->terminal;
    how.title = "loss against steps";
    lesson_show(s->r, heed_terminal_curves(s->r->cx, &(heed_series){.label = "loss", .x = step, .y = loss, .n = POINTS},
                                           1, &(heed_axes){.x_label = "step"}, &how));
    heed_figure *f = lesson_figure(s->r, 560, 320);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "A small T5 learns to fill spans");
    heed_panel_labels(p, "step", "loss of a token of the target");
    heed_panel_curve(p, step, loss, POINTS, &(heed_style){.color = HEED_COLOR_BLUE, .width = 2});
    lesson_picture(s->r, f, "spans");
    lesson_table(s->r, "spans", (heed_table_column[]){{.name = "step", .f32 = step}, {.name = "loss", .f32 = loss}}, 2,
                 POINTS);
}

/* ---- the lesson ---- */

static void teach(struct lesson_state *s) {
    float loss[POINTS] = {0};
    struct example *tests = lesson_room(s->r, TESTS, sizeof *tests);
    if (!tests || !open_state(s)) return;
    for (int64_t i = 0; i < TESTS; i++) tests[i] = corrupted(s, &s->test.ids[i], ((uint64_t)1 << 40) + (uint64_t)i);
    lesson_say(s->r, "How can a model that turns text into text learn from text alone? T5 takes some spans out of a "
                     "sentence. In the input a sentinel stands for each of them, <extra_id_0>, <extra_id_1> and so on, "
                     "here <0>, <1>; the target is the sentinels again, each with the words that it stands for:");
    show_example(s, &s->test.ids[0], &tests[0], NULL);
    lesson_say(s->r,
               "The target is short: it holds only what is missing, so learning is cheap. The pre-trained T5 "
               "loses 15 %% of its tokens in spans of 3; these sentences are short and lose a quarter, in spans of 2. "
               "Which spans go is drawn anew whenever a sentence comes again. An encoder and a decoder of two layers, "
               "64 wide, learn it from %lld steps of %d sentences of heed's grammar:",
               (long long)s->r->steps, BATCH);
    if (!learn(s, loss)) return;
    draw_learning(s, loss);
    heed_generated *g = fill(s, tests);
    if (!g) return;
    const double right = right_of(s, tests, g);
    lesson_say(s->r,
               "%d sentences of the same kind that it has not seen, two clauses, in the second a pronoun for a noun of "
               "the first: %.0f %% of the missing words are the ones that stood there. Others may do as well: a "
               "sentence does not say which colour was left out.",
               TESTS, 100 * right);
    lesson_result(s->r, "right", right);
    lesson_result(s->r, "loss", (double)loss[POINTS - 1]);
    for (int64_t i = 0; i < SHOWN; i++) show_example(s, NULL, &tests[i], &g->best[i]);
    heed_mem_free(s->r->cx, g);
    lesson_say(s->r, "Where does it look? Each row is what the decoder was given and, behind the arrow, what it should "
                     "say next; the columns are the input.");
    draw_attention(s, &tests[0]);
    lesson_say(s->r,
               "To pre-train on text of your own, and then to teach it a task by pairs with a prefix: '%s train "
               "text2text --help'.",
               s->r->program);
}

static void run(struct lesson_run *r) {
    struct lesson_state *s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    s->r = r;
    teach(s);
    close_state(s);
}

const struct lesson spans_lesson = {
    .name = "spans",
    .summary = "spans and sentinels: how T5 learns from plain text",
    .steps = STEPS,
    .run = run,
};
