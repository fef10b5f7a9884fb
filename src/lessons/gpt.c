/* A GPT learns text letter by letter (Karpathy 2015 with recurrent networks; Radford et al. 2018): sonnets of
 * Shakespeare or a text of one's own. What it writes is shown as it learns, and the loss on text that it learns from
 * and on text that it does not. */
#include "heed/generate.h"
#include "heed/model.h"
#include "lessons/letters.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 800, LAYERS = 3, HEADS = 4, WIDTH = 96, CONTEXT = 80, BATCH = 12, POINTS = 20, SHOWN = 56 };
enum { STREAM_TRAIN = 1, STREAM_SAMPLE = 2 };
#define TEMPERATURE 0.8f

struct curve {
    float step[POINTS + 1], train[POINTS + 1], held_out[POINTS + 1], bits[POINTS + 1]; /* nats; bits: held out */
    float words[POINTS + 1]; /* of those that it writes, the share that the text has, in per cent */
    const char *sample[POINTS + 1];
};

struct lesson_state {
    struct lesson_run *r;
    struct letters letters;
    heed_model *model;
    heed_trainer *trainer;
};

static bool open_state(struct lesson_state *s) {
    struct lesson_run *const r = s->r;
    char words[64], positions[64];
    if (!(r->data ? letters_file(r, &s->letters) : letters_sonnets(r, &s->letters)) ||
        !letters_encode(r, &s->letters) || !letters_words(r, &s->letters))
        return false;
    if (s->letters.ids[0].count <= CONTEXT || s->letters.ids[1].count < 2)
        return heed_fail(r->cx, HEED_ERR_RANGE, "%s: too short: some thousand letters are needed", r->data);
    snprintf(words, sizeof words, "vocab_size=%lld", (long long)heed_tokenizer_size(s->letters.tokens));
    snprintf(positions, sizeof positions, "n_positions=%d", CONTEXT);
    const char *const settings[] = {words,
                                    positions,
                                    "n_embd=96",
                                    "n_layer=3",
                                    "n_head=4",
                                    "resid_pdrop=0",
                                    "embd_pdrop=0",
                                    "attn_pdrop=0",
                                    "initializer_range=0.06",
                                    "bos_token_id=null",
                                    "eos_token_id=null"};
    s->model = heed_model_new(r->cx, heed_family_find("gpt2"), settings, sizeof settings / sizeof *settings, r->seed);
    const heed_trainer_opts opts = {
        .optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
        .schedule = {.kind = HEED_COSINE, .lr = 0.003, .warmup = r->steps / 20, .steps = r->steps},
        .clip = 1};
    s->trainer = s->model ? heed_trainer_new(r->cx, heed_model_params(s->model), &opts) : NULL;
    return s->trainer;
}

static void close_state(struct lesson_state *s) {
    heed_trainer_free(s->r->cx, s->trainer);
    heed_model_free(s->r->cx, s->model);
    letters_free(s->r, &s->letters);
}

/* ---- learning ---- */

/* The loss of n windows (n, length), which are their own labels. */
static heed_tensor *loss_of(struct lesson_state *s, const int32_t *ids, int64_t n, int64_t length) {
    heed_ctx *const cx = s->r->cx;
    heed_io in = {.loss_only = true}, out = {0};
    const int64_t shape[] = {n, length};
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, shape));
    heed_io_put(cx, &in, "labels", heed_from_i32(cx, ids, 2, shape));
    return heed_model_forward(cx, s->model, &in, &out) ? heed_io_get(&out, "loss") : NULL;
}

/* Windows that begin anywhere. */
static float learn(struct lesson_state *s, int64_t step) {
    const heed_ids *const text = &s->letters.ids[0];
    int32_t ids[BATCH * CONTEXT];
    for (int64_t i = 0; i < BATCH; i++) {
        const uint64_t places = (uint64_t)(text->count - CONTEXT + 1);
        const uint64_t at = heed_random_bits(s->r->seed, STREAM_TRAIN, (uint64_t)(step * BATCH + i)) % places;
        memcpy(ids + i * CONTEXT, text->id + at, CONTEXT * sizeof *ids);
    }
    heed_trainer_begin(s->r->cx, s->trainer);
    heed_tensor *const loss = loss_of(s, ids, BATCH, CONTEXT);
    return loss ? lesson_learn(s->r->cx, s->trainer, loss) : NAN;
}

/* The mean over all of a text but its first letter: windows that overlap by the letter that follows nothing. */
static float measure(struct lesson_state *s, const heed_ids *text) {
    heed_ctx *const cx = s->r->cx;
    double sum = 0;
    heed_set_training(cx, false);
    heed_set_grad(cx, false);
    for (int64_t at = 0; at + 1 < text->count && !heed_failed(cx); at += CONTEXT - 1) {
        const int64_t length = text->count - at < CONTEXT ? text->count - at : CONTEXT;
        heed_tensor *const loss = loss_of(s, text->id + at, 1, length);
        if (loss) sum += (double)heed_item(cx, loss) * (double)(length - 1);
        heed_reset(cx);
    }
    heed_set_grad(cx, true);
    return (float)(sum / (double)(text->count - 1));
}

/* What it writes at the beginning of a line; ends of lines are shown as /. */
static const char *write_some(struct lesson_state *s, int64_t step) {
    heed_ctx *const cx = s->r->cx;
    heed_string text = {0};
    heed_ids start = {0};
    char *shown = NULL;
    heed_set_training(cx, false);
    heed_encode(cx, s->letters.tokens, "\n", 1, false, &start);
    heed_generated *const g = heed_failed(cx) ? NULL
                                              : heed_generate(cx, s->model, &start, 1,
                                                              &(heed_generate_opts){.beams = 1,
                                                                                    .length_penalty = 1,
                                                                                    .max_new_tokens = CONTEXT - 1,
                                                                                    .sample = true,
                                                                                    .temperature = TEMPERATURE,
                                                                                    .seed = s->r->seed + STREAM_SAMPLE,
                                                                                    .number = &step});
    if (g && heed_decode(cx, s->letters.tokens, g->best[0].ids, g->best[0].length, false, &text)) {
        for (char *c = text.s; c && *c; c++)
            if (*c == '\n') *c = '/';
        shown = lesson_text(s->r, text.s ? text.s : "", 0);
    }
    heed_mem_free(cx, g);
    heed_ids_free(cx, &start);
    heed_string_free(cx, &text);
    return shown;
}

static bool put_point(struct lesson_state *s, int k, int64_t step, float train, struct curve *c) {
    c->step[k] = (float)step;
    c->held_out[k] = measure(s, &s->letters.ids[1]);
    c->train[k] = train;
    c->bits[k] = c->held_out[k] / logf(2);
    c->sample[k] = write_some(s, step);
    if (!c->sample[k]) return false;
    c->words[k] = letters_known(s->r, &s->letters, c->sample[k]);
    lesson_progress(s->r, "", 1, 1);
    if (k <= 4 || k % 4 == 0)
        lesson_line(s->r, "%5lld %6.3f %9.3f  %s", (long long)step, (double)train, (double)c->held_out[k],
                    lesson_text(s->r, c->sample[k], SHOWN));
    return !heed_failed(s->r->cx);
}

/* Before the first step, and after each of POINTS parts of them: the mean of the batches of that part. */
static bool follow(struct lesson_state *s, struct curve *c) {
    heed_ctx *const cx = s->r->cx;
    const int64_t steps = s->r->steps;
    lesson_line(s->r, "%5s %6s %9s  %s", "step", "loss", "held out", "what it writes");
    bool ok = put_point(s, 0, 0, measure(s, &s->letters.ids[0]), c);
    for (int k = 1; ok && k <= POINTS; k++) {
        const int64_t from = steps * (k - 1) / POINTS, to = steps * k / POINTS;
        double sum = 0;
        for (int64_t step = from; step < to && !heed_failed(cx); step++) {
            sum += (double)learn(s, step);
            if (step % 8 == 0) lesson_progress(s->r, "learning", step, steps);
        }
        ok = !heed_failed(cx) && put_point(s, k, to, (float)(sum / (double)(to - from)), c);
    }
    lesson_line(s->r, "%s", "");
    return ok;
}

/* ---- what is shown ---- */

/* Bits of a held-out letter when only the frequency of letters is known, one added to each count. */
static double frequency_bits(const struct letters *l, const int64_t *count) {
    double sum = 0;
    const double all = (double)(l->ids[0].count + heed_tokenizer_size(l->tokens));
    for (int64_t i = 0; i < l->ids[1].count; i++) sum -= log2(((double)count[l->ids[1].id[i]] + 1) / all);
    return sum / (double)l->ids[1].count;
}

static void picture(struct lesson_state *s, const struct curve *c, float frequency) {
    struct lesson_run *const r = s->r;
    const int n = POINTS + 1;
    heed_terminal how = r->terminal;
    how.title = "loss against steps";
    how.height = 12;
    const heed_series series[] = {{"learnt from", c->step, c->train, n, false},
                                  {"held out", c->step, c->held_out, n, false}};
    lesson_show(r, heed_terminal_curves(r->cx, series, 2, &(heed_axes){.x_label = "step"}, &how));
    heed_figure *const f = lesson_figure(r, 560, 340);
    heed_panel *const p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, r->data ? "A GPT learns a text letter by letter" : "A GPT learns Shakespeare letter by letter");
    heed_panel_labels(p, "step", "loss of a letter (nats)");
    heed_panel_curve(p, (float[]){0, c->step[POINTS]}, (float[]){frequency, frequency}, 2,
                     &(heed_style){.label = "frequency of letters", .color = HEED_COLOR_GREY, .dash = HEED_DASH_LONG});
    heed_panel_curve(p, c->step, c->train, n,
                     &(heed_style){.label = "learnt from", .color = HEED_COLOR_BLUE, .width = 2});
    heed_panel_curve(p, c->step, c->held_out, n,
                     &(heed_style){.label = "held out", .color = HEED_COLOR_ORANGE, .width = 2});
    lesson_picture(r, f, "gpt");
    lesson_table(r, "gpt",
                 (heed_table_column[]){{.name = "step", .f32 = c->step},
                                       {.name = "loss", .f32 = c->train},
                                       {.name = "held_out", .f32 = c->held_out},
                                       {.name = "bits_per_character", .f32 = c->bits},
                                       {.name = "words_percent", .f32 = c->words},
                                       {.name = "sample", .text = c->sample}},
                 6, n);
}

static void sum_up(struct lesson_state *s, const struct curve *c) {
    struct lesson_run *const r = s->r;
    const int64_t size = heed_tokenizer_size(s->letters.tokens);
    int64_t *const count = lesson_room(r, size, sizeof *count);
    for (int64_t i = 0; count && i < s->letters.ids[0].count; i++) count[s->letters.ids[0].id[i]]++;
    if (!count) return;
    const double frequency = frequency_bits(&s->letters, count);
    int best = 0;
    for (int k = 1; k <= POINTS; k++)
        if (c->held_out[k] < c->held_out[best]) best = k;
    double late = 0; /* one sample is short */
    for (int k = POINTS - POINTS / 4 + 1; k <= POINTS; k++) late += (double)c->words[k] / (POINTS / 4);
    lesson_say(
        r,
        "Of the words that it writes the text has %.0f %% at first and %.0f %% in the end, over the last quarter "
        "of the samples. A held-out character costs %.2f bits if all %lld are alike, %.2f by their frequency, %.2f by "
        "this GPT "
        "after %.0f steps, where it is best.",
        (double)c->words[0], late, log2((double)size), (long long)size, frequency, (double)c->bits[best],
        (double)c->step[best]);
    if (best < POINTS)
        lesson_say(
            r,
            "After that the two curves part: what it learns from is a small text, and it begins to know it by "
            "heart, %.2f nats per letter in the end, while the held-out text costs %.2f. More text is the remedy: "
            "--data FILE takes a text of your own.",
            (double)c->train[POINTS], (double)c->held_out[POINTS]);
    else
        lesson_say(r, "It has not learnt all that it can: the loss of the held-out text still falls. --steps says how "
                      "long to go on.");
    picture(s, c, (float)(frequency * log(2)));
    lesson_result(r, "words", late / 100);
    lesson_result(r, "loss", (double)c->train[POINTS]);
    lesson_result(r, "held_out", (double)c->held_out[POINTS]);
    lesson_result(r, "best_held_out", (double)c->held_out[best]);
    lesson_result(r, "best_step", (double)c->step[best]);
    lesson_result(r, "bits_per_character", (double)c->bits[best]);
    lesson_result(r, "bits_by_frequency", frequency);
}

static void teach(struct lesson_state *s) {
    struct curve *const c = lesson_room(s->r, 1, sizeof *c);
    if (!c || !open_state(s)) return;
    lesson_say(
        s->r,
        "A language model says what comes next. This one reads characters: a GPT-2 of %d layers, %d heads, %d "
        "wide, that sees at most %d characters. It learns from %lld characters of %s, %d pieces per step, each "
        "character predicted from those before it in its piece. Every now and then it writes, at a temperature "
        "of %.1f, from the beginning of a line (/ ends one), and its loss is measured on %s, in nats per character.",
        LAYERS, HEADS, WIDTH, CONTEXT, (long long)s->letters.ids[0].count,
        s->r->data ? "your text" : "Shakespeare's sonnets", BATCH, (double)TEMPERATURE,
        s->r->data ? "the rest of it" : "two other sonnets");
    if (!follow(s, c)) return;
    sum_up(s, c);
    lesson_say(s->r, "'%s train lm --help' trains one of any size on any text, and '%s generate DIR' lets it write.",
               s->r->program, s->r->program);
}

static void run(struct lesson_run *r) {
    struct lesson_state *const s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    s->r = r;
    teach(s);
    close_state(s);
}

const struct lesson gpt_lesson = {
    .name = "gpt",
    .summary = "a GPT learns sonnets of Shakespeare letter by letter, and writes as it learns",
    .data = "a text file, of which the last tenth of the lines is held out",
    .steps = STEPS,
    .run = run,
};
