/* A small ModernBERT, its pre-training on masked words and its fine-tuning: see encoder.h. */
#include "lessons/encoder.h"
#include <stdio.h>
#include <string.h>

enum { CORPUS = 8192, HELD_OUT = 512, BATCH = 32, VOCABULARY = 700 };
enum { TUNE_STEPS = 100, TUNE_BATCH = 16 };
enum { MASKS = 301 }; /* the stream of random numbers for masks */

const char *const encoder_class_names[ENCODER_CLASSES] = {"to eat", "to read", "to turn on"};
const heed_color encoder_class_colors[ENCODER_CLASSES] = {HEED_COLOR_ORANGE, HEED_COLOR_BLUE, HEED_COLOR_GREEN};

/* ---- sentences ---- */

static bool among(const char *word, size_t size, const char *const *list) {
    for (; *list; list++)
        if (strlen(*list) == size && strncmp(word, *list, size) == 0) return true;
    return false;
}

/* What a sentence speaks of; -1: of none or several of these, or its verb says it. */
static int32_t class_of(const char *text) {
    static const char *const things[ENCODER_CLASSES][7] = {
        {"apple", "apples", "egg", "eggs", "carrot", "carrots"},
        {"book", "books", "letter", "letters", "newspaper", "newspapers"},
        {"lamp", "radio", "computer"}};
    static const char *const verbs[] = {"eat",     "eats", "ate",   "eating", "read",    "reads",
                                        "reading", "turn", "turns", "turned", "turning", NULL};
    int32_t found = -1;
    for (size_t size; *text; text += size, text += strspn(text, " .,?")) {
        size = strcspn(text, " .,?");
        if (among(text, size, verbs)) return -1;
        for (int32_t c = 0; c < ENCODER_CLASSES; c++) {
            if (!among(text, size, things[c])) continue;
            if (found >= 0 && found != c) return -1;
            found = c;
        }
    }
    return found;
}

static bool draw_lines(struct lesson_run *r, heed_grammar_part part, uint64_t first, int64_t n, heed_lines *english) {
    heed_lines german = {0};
    const heed_grammar grammar = {.seed = r->seed, .part = part};
    const bool ok = heed_grammar_lines(r->cx, &grammar, first, n, english, &german);
    heed_lines_free(r->cx, &german);
    return ok;
}

/* Encodes the texts. Labels are classes or, of masked words, every token. */
static bool encode(struct lesson_run *r, const struct encoder *e, bool words, struct sentences *s) {
    heed_ctx *cx = r->cx;
    heed_encoding room = {0};
    heed_ids ids = {0};
    bool ok = true;
    heed_text_columns(&e->reader, &s->set);
    const int labels = s->set.columns++;
    s->set.column[labels] = (heed_column){.name = "labels", .type = HEED_I32, .ragged = words, .fill = HEED_NO_LABEL};
    if (words) s->set.counts = "labels";
    s->input = lesson_room(r, s->text.count, sizeof *s->input);
    s->label = lesson_room(r, s->text.count, sizeof *s->label);
    for (int64_t i = 0; ok && s->input && s->label && i < s->text.count; i++) {
        heed_cell cells[HEED_COLUMNS_MAX];
        s->input[i].text = heed_line_text(&s->text, i);
        s->label[i] = words ? -1 : class_of(s->input[i].text);
        ok = heed_text_cells(cx, &e->reader, &s->input[i], &room, &ids, cells, NULL);
        cells[labels] = words ? cells[0] : (heed_cell){&s->label[i], 1};
        ok = ok && heed_dataset_add(cx, &s->set, cells);
    }
    heed_encoding_free(cx, &room);
    heed_ids_free(cx, &ids);
    return !heed_failed(cx);
}

bool encoder_draw(struct lesson_run *r, const struct encoder *e, bool held_out, int64_t n, struct sentences *s) {
    enum { BLOCK = 4096 }; /* about one in eight sentences is of a class */
    heed_string told = {0};
    *s = (struct sentences){.input = NULL};
    for (int64_t block = 0, kept = 0; kept < n && !heed_failed(r->cx); block++) {
        heed_lines drawn = {0};
        draw_lines(r, held_out ? HEED_GRAMMAR_HELD_OUT : HEED_GRAMMAR_TRAIN, (uint64_t)(block * BLOCK), BLOCK, &drawn);
        for (int64_t i = 0; i < drawn.count && kept < n; i++) {
            if (class_of(heed_line_text(&drawn, i)) < 0) continue;
            heed_string_put(r->cx, &told, heed_line_text(&drawn, i), heed_line_size(&drawn, i));
            heed_string_put(r->cx, &told, "\n", 1);
            kept++;
        }
        heed_lines_free(r->cx, &drawn);
    }
    const bool ok = !heed_failed(r->cx) && heed_lines_cut(r->cx, &told, &s->text) && encode(r, e, false, s);
    heed_string_free(r->cx, &told);
    return ok;
}

void encoder_free(struct lesson_run *r, struct sentences *s) {
    heed_dataset_free(r->cx, &s->set);
    heed_lines_free(r->cx, &s->text);
}

/* ---- masked words ---- */

struct masking {
    const struct encoder *e;
    bool test; /* every chosen token becomes the mask token */
};

/* 30 % of the tokens are to be found (small models learn faster so than with 15 %: Wettig et al. 2023), in tests 15 %;
 * of these 80 % become the mask token, 10 % any other, and 10 % stay as they are. All others get no label. */
static void mask_words(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const struct masking *m = own;
    const heed_tokenizer *tokens = m->e->tokens;
    int32_t *id = cells[0].data, *label = cells[m->e->reader.types ? 2 : 1].data;
    const uint64_t first = ((uint64_t)epoch * CORPUS + (uint64_t)row) * 4096;
    for (int64_t i = 0; i < cells[0].count; i++) {
        float dice[3];
        heed_random_uniform(seed, MASKS, first + 4 * (uint64_t)i, dice, 3);
        label[i] = HEED_NO_LABEL;
        if (heed_tokenizer_is_special(tokens, id[i]) || dice[0] >= (m->test ? 0.15f : 0.3f)) continue;
        label[i] = id[i];
        if (m->test || dice[1] < 0.8f)
            id[i] = m->e->mask;
        else if (dice[1] < 0.9f)
            id[i] = (int32_t)(dice[2] * (float)heed_tokenizer_size(tokens));
    }
}

static bool feed(heed_ctx *cx, const heed_batch *b, heed_io *in) {
    for (int i = 0; b && i < b->columns; i++)
        if (!heed_io_put(cx, in, b->column[i].name, heed_batch_tensor(cx, b, b->column[i].name))) return false;
    return b && !heed_failed(cx);
}

/* `steps` updates with such batches of the set. loss (may be NULL): the means over parts of the steps. */
static bool learn(struct lesson_run *r, heed_model *model, const heed_dataset *set, const heed_batches_opts *how,
                  int64_t steps, double lr, float loss[ENCODER_POINTS]) {
    heed_ctx *cx = r->cx;
    int64_t counts[ENCODER_POINTS] = {0};
    heed_trainer *trainer = heed_trainer_new(
        cx, heed_model_params(model),
        &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.01},
                             .schedule = {.kind = HEED_LINEAR, .lr = lr, .warmup = steps / 10, .steps = steps},
                             .clip = 1});
    heed_batches *batches = trainer ? heed_batches_open(cx, set, how) : NULL;
    for (int64_t step = 0; batches && step < steps && !heed_failed(cx); step++) {
        heed_io in = {.loss_only = true}, out = {0};
        heed_trainer_begin(cx, trainer);
        if (!feed(cx, heed_batches_next(cx, batches), &in) || !heed_model_forward(cx, model, &in, &out)) break;
        heed_tensor *goal = heed_io_get(&out, "training_loss");
        const float value = lesson_learn(cx, trainer, goal ? goal : heed_io_get(&out, "loss"));
        if (!loss) continue;
        loss[step * ENCODER_POINTS / steps] += value;
        counts[step * ENCODER_POINTS / steps]++;
        if (step % 16 == 0) lesson_progress(r, "pre-training", step, steps);
    }
    for (int i = 0; loss && i < ENCODER_POINTS; i++) loss[i] /= (float)counts[i];
    if (loss) lesson_progress(r, "", 1, 1);
    heed_batches_close(cx, batches);
    heed_trainer_free(cx, trainer);
    return !heed_failed(cx);
}

/* How often the likeliest token is the one that was masked; and the most frequent of them all. */
static double masked_accuracy(struct lesson_run *r, const struct encoder *e, const struct sentences *s, double *guess) {
    heed_ctx *cx = r->cx;
    const struct masking masking = {e, true};
    int64_t *counts = lesson_room(r, heed_tokenizer_size(e->tokens), sizeof *counts), right = 0, all = 0, most = 0;
    heed_batches *batches = heed_batches_open(
        cx, &s->set, &(heed_batches_opts){.batch = BATCH, .seed = r->seed, .transform = mask_words, .own = &masking});
    heed_set_grad(cx, false);
    for (int64_t left = batches && counts ? heed_batches_per_epoch(batches) : 0; left > 0 && !heed_failed(cx); left--) {
        heed_io in = {0}, out = {0};
        const heed_batch *b = heed_batches_next(cx, batches);
        if (!feed(cx, b, &in) || !heed_model_forward(cx, e->masked, &in, &out)) break;
        heed_tensor *logits = heed_contiguous(cx, heed_io_get(&out, "logits"));
        const float *value = heed_f32(logits);
        const int32_t *label = heed_batch_i32(b, "labels");
        const int64_t words = value ? heed_dim(logits, 2) : 0, n = value ? b->n * heed_dim(logits, 1) : 0;
        for (int64_t i = 0; i < n; i++) {
            if (label[i] < 0) continue;
            all++;
            counts[label[i]]++;
            right += lesson_winner(value + i * words, words) == label[i];
        }
        heed_reset(cx);
    }
    heed_reset(cx);
    heed_set_grad(cx, true);
    heed_batches_close(cx, batches);
    for (int64_t i = 0; all > 0 && i < heed_tokenizer_size(e->tokens); i++) most = counts[i] > most ? counts[i] : most;
    if (guess && all > 0) *guess = (double)most / (double)all;
    return all > 0 ? (double)right / (double)all : 0;
}

/* ---- the model ---- */

enum use { MASKED, CLASSES, STATES };

/* A model of these sizes, or that of --model; what a directory lacks is drawn. */
static heed_model *make_model(struct lesson_run *r, const struct encoder *e, enum use use) {
    static const char *const tasks[] = {[MASKED] = "mlm", [CLASSES] = "classify", [STATES] = "embed"};
    char words[32], pad[32];
    const char *const task = tasks[use];
    const bool classify = use == CLASSES;
    /* The rest of them is of the classifier. */
    const char *const settings[] = {words,
                                    "hidden_size=64",
                                    "num_hidden_layers=2",
                                    "num_attention_heads=4",
                                    "intermediate_size=96",
                                    "global_attn_every_n_layers=1",
                                    "initializer_range=0.05",
                                    pad,
                                    e->mean ? "classifier_pooling=mean" : "classifier_pooling=cls",
                                    "num_labels=3"};
    enum { ALL = sizeof settings / sizeof *settings, OF_CLASSIFIER = 2 };
    if (r->model)
        return heed_model_load_as(r->cx, r->model,
                                  &(heed_load_opts){.task = task,
                                                    .settings = settings + ALL - 1,
                                                    .n_settings = classify,
                                                    .fresh_head = use != MASKED,
                                                    .seed = r->seed});
    snprintf(words, sizeof words, "vocab_size=%lld", (long long)heed_tokenizer_size(e->tokens));
    snprintf(pad, sizeof pad, "pad_token_id=%d", (int)heed_vocabulary_padding(e->tokens));
    const heed_family *family = heed_family_find("modernbert");
    return heed_model_new_as(r->cx, family, heed_head_for(family, task), settings, ALL - (classify ? 0 : OF_CLASSIFIER),
                             r->seed);
}

/* Parameters of `to` that `from` has get its numbers. Those of a body alone have names without the family's base. */
static void copy_body(const heed_model *from, heed_model *to) {
    const char *base = heed_model_family(to)->base;
    heed_params *set = heed_model_params(to);
    for (int i = 0; i < heed_params_count(set); i++) {
        heed_param *p = heed_params_at(set, i);
        char longer[512];
        snprintf(longer, sizeof longer, "%s.%s", base ? base : "", p->name);
        const heed_param *q = heed_params_find(heed_model_params(from), p->name);
        if (!q) q = heed_params_find(heed_model_params(from), longer);
        if (q && q->count == p->count && !p->target) memcpy(p->value, q->value, (size_t)p->count * sizeof *p->value);
    }
}

static bool pre_train(struct lesson_run *r, struct encoder *e, const heed_lines *corpus) {
    struct sentences known = {.text = *corpus};
    const struct masking masking = {e, false};
    const bool ok =
        encode(r, e, true, &known) &&
        learn(r, e->masked, &known.set,
              &(heed_batches_opts){
                  .batch = BATCH, .shuffle = true, .seed = r->seed, .transform = mask_words, .own = &masking},
              r->steps, 5e-3, e->loss);
    heed_dataset_free(r->cx, &known.set);
    return ok;
}

static bool find_mask(struct lesson_run *r, struct encoder *e) {
    e->mask = heed_tokenizer_id(e->tokens, "[MASK]");
    if (e->mask < 0) e->mask = heed_tokenizer_id(e->tokens, "<mask>");
    return e->mask >= 0 || heed_fail(r->cx, HEED_ERR_FORMAT, "%s: the tokenizer has no mask token", r->model);
}

static bool make_all(struct lesson_run *r, struct encoder *e, const heed_lines *corpus, struct sentences *tests) {
    e->tokens = r->model ? heed_tokenizer_load(r->cx, r->model)
                         : heed_vocabulary_train_encoder(r->cx, &corpus, 1, HEED_TOKENS_WORDPIECE, VOCABULARY);
    if (!e->tokens || !find_mask(r, e)) return false;
    e->masked = make_model(r, e, MASKED);
    if (!e->masked || !heed_text_reader_of(r->cx, e->masked, e->tokens, 0, &e->reader)) return false;
    if (!draw_lines(r, HEED_GRAMMAR_HELD_OUT, 0, HELD_OUT, &tests->text) || !encode(r, e, true, tests)) return false;
    e->before = masked_accuracy(r, e, tests, &e->guess);
    if (!r->model && !pre_train(r, e, corpus)) return false;
    e->after = r->model ? e->before : masked_accuracy(r, e, tests, NULL);
    return !heed_failed(r->cx);
}

static void say_model(struct lesson_run *r, const struct encoder *e) {
    lesson_line(r, "masked words found in %d other sentences", HELD_OUT);
    lesson_line(r, "  always the most frequent   %5.1f %%", 100 * e->guess);
    if (!r->model) lesson_line(r, "  before pre-training        %5.1f %%", 100 * e->before);
    lesson_line(r, "  %-26s %5.1f %%\n", r->model ? "by the model" : "after pre-training", 100 * e->after);
    lesson_result(r, "masked_guess", e->guess);
    if (!r->model) lesson_result(r, "masked_before", e->before);
    lesson_result(r, "masked_after", e->after);
}

bool encoder_open(struct lesson_run *r, bool mean, struct encoder *e) {
    heed_lines corpus = {0};
    struct sentences tests = {.input = NULL};
    *e = (struct encoder){.mean = mean};
    if (r->model)
        lesson_say(r, "The model is %s, as it is.", r->model);
    else
        lesson_say(r,
                   "The model is a small ModernBERT (Warner et al. 2024): 2 layers, 64 wide, 4 heads. It is "
                   "pre-trained on %d English sentences of "
                   "heed's grammar in %lld steps of %d: 30 %% of the tokens are hidden, and it learns to find them.",
                   CORPUS, (long long)r->steps, BATCH);
    const bool ok = draw_lines(r, HEED_GRAMMAR_TRAIN, 0, CORPUS, &corpus) && make_all(r, e, &corpus, &tests);
    encoder_free(r, &tests);
    heed_lines_free(r->cx, &corpus);
    if (ok) say_model(r, e);
    return ok;
}

void encoder_close(struct lesson_run *r, struct encoder *e) {
    heed_model_free(r->cx, e->classify);
    heed_model_free(r->cx, e->masked);
    heed_tokenizer_free(r->cx, e->tokens);
}

/* ---- fine-tuning ---- */

bool encoder_restart(struct lesson_run *r, struct encoder *e, bool pre_trained, uint64_t seed) {
    if (!e->classify) e->classify = make_model(r, e, CLASSES);
    if (!e->classify || !heed_params_init(r->cx, heed_model_params(e->classify), seed)) return false;
    if (pre_trained) copy_body(e->masked, e->classify);
    return true;
}

bool encoder_fine_tune(struct lesson_run *r, struct encoder *e, const struct sentences *s, const int64_t *rows,
                       int64_t n, uint64_t seed) {
    return learn(
        r, e->classify, &s->set,
        &(heed_batches_opts){
            .batch = n < TUNE_BATCH ? n : TUNE_BATCH, .shuffle = true, .seed = seed, .rows = rows, .n_rows = n},
        r->steps < TUNE_STEPS ? r->steps : TUNE_STEPS, 2e-3, NULL);
}

heed_text_model encoder_for(const struct encoder *e, heed_model *model) {
    return (heed_text_model){
        .model = model, .tokens = e->tokens, .reader = e->reader, .labels = ENCODER_CLASSES, .pooling = HEED_POOL_CLS};
}

double encoder_accuracy(struct lesson_run *r, const struct encoder *e, const struct sentences *s) {
    const int64_t n = s->text.count;
    const heed_text_model m = encoder_for(e, e->classify);
    float *p = heed_mem_new(r->cx, (size_t)(n * ENCODER_CLASSES) * sizeof *p);
    int64_t right = 0;
    if (p && heed_classify(r->cx, &m, s->input, n, p, NULL))
        for (int64_t i = 0; i < n; i++) right += lesson_winner(p + i * ENCODER_CLASSES, ENCODER_CLASSES) == s->label[i];
    heed_mem_free(r->cx, p);
    return (double)right / (double)n;
}

float *encoder_states(struct lesson_run *r, const struct encoder *e, const struct sentences *s, int64_t *width) {
    heed_model *body = make_model(r, e, STATES);
    float *out = NULL;
    if (body) {
        const heed_text_model m = encoder_for(e, body);
        copy_body(e->classify, body);
        *width = heed_text_width(r->cx, &m);
        out = lesson_room(r, s->text.count * *width, sizeof *out);
        if (out && !heed_embed(r->cx, &m, s->input, s->text.count, out, NULL)) out = NULL;
    }
    heed_model_free(r->cx, body);
    return out;
}
