/* Digits with one hidden layer, and the patterns that its neurons respond to. On digits that heed draws itself, or on a
 * directory of MNIST's files (LeCun et al. 1998). Follows Schönhuth, Bielefeld 2023. */
#include "heed/data.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MEASURED = 1000,
    HIDDEN = 64,
    BATCH = 128,
    MAX_CLASSES = 64,
    SHOWN = 24,
    TEST_BATCH = 500,
    EXAMPLES = 20000,
    TESTS = 2000
};

struct network {
    heed_params *params;
    heed_mlp mlp;
    heed_trainer *trainer;
};

struct answers {
    int64_t right;
    int32_t *digit;   /* (n) */
    float *certainty; /* (n) */
    float *confusion; /* (classes, classes): wanted, answered */
};

struct scene {
    heed_data *train, *test;
    struct network net;
    int epochs;
    float *loss, *accuracy; /* per epoch */
    struct answers answers;
};

/* ---- learning ---- */

static bool open_data(struct lesson_run *r, struct scene *s) {
    if (!r->data) {
        s->train = heed_data_digits(r->cx, r->seed, EXAMPLES);
        s->test = heed_data_digits(r->cx, r->seed + 1000003, TESTS);
        return s->train && s->test;
    }
    const heed_data_opts part = {.task = HEED_DATA_CLASSIFY, .part = "train"};
    s->train = heed_data_load(r->cx, r->data, &part);
    if (!s->train) return false;
    if (s->train->image_channels != 1 || s->train->classes < 2 || s->train->classes > MAX_CLASSES)
        return heed_fail(r->cx, HEED_ERR_FORMAT,
                         "%s: not a directory of grey pictures with labels, as MNIST's files are", r->data);
    s->test =
        heed_data_load(r->cx, r->data, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .part = "test", .like = s->train});
    return s->test;
}

static bool open_network(struct lesson_run *r, struct scene *s, int64_t steps) {
    heed_ctx *cx = r->cx;
    struct network *net = &s->net;
    net->params = heed_params_new(cx);
    if (!heed_mlp_make(cx, net->params, "layers", (int64_t[]){s->train->width, HIDDEN, s->train->classes}, 2,
                       HEED_ACT_RELU, 0, &net->mlp))
        return false;
    /* small at first, so that the pictures of the weights show what was learnt and not their random start */
    net->mlp.layer[0].weight->init = (heed_init){HEED_INIT_NORMAL, 0, 0.01f};
    heed_params_allocate(cx, net->params);
    heed_params_init(cx, net->params, r->seed);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.1},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.003, .steps = steps}};
    net->trainer = heed_trainer_new(cx, net->params, &opts);
    return net->trainer;
}

static heed_tensor *logits_of(heed_ctx *cx, const struct network *net, const heed_batch *b) {
    return heed_mlp_run(cx, &net->mlp, heed_batch_tensor(cx, b, "x"));
}

static float train_step(heed_ctx *cx, struct network *net, const heed_batch *b) {
    heed_trainer_begin(cx, net->trainer);
    heed_tensor *loss = heed_cross_entropy(cx, logits_of(cx, net, b), heed_batch_tensor(cx, b, "labels"), NULL);
    return lesson_learn(cx, net->trainer, loss);
}

static void count_answers(const struct scene *s, struct answers *a, const heed_batch *b, int64_t from, const float *p) {
    const int64_t classes = s->train->classes;
    const int32_t *label = heed_batch_i32(b, "labels");
    for (int64_t i = 0; i < b->n; i++, p += classes) {
        const int32_t best = (int32_t)lesson_winner(p, classes);
        a->digit[from + i] = best;
        a->certainty[from + i] = p[best];
        a->right += best == label[i];
        a->confusion[label[i] * classes + best] += 1;
    }
}

static bool answer(struct lesson_run *r, struct scene *s) {
    struct answers *a = &s->answers;
    const int64_t cells = s->train->classes * s->train->classes;
    a->right = 0;
    for (int64_t i = 0; i < cells; i++) a->confusion[i] = 0;
    heed_dataset set = {0};
    heed_data_columns(r->cx, s->test, &set);
    heed_batches *batches = heed_batches_open(
        r->cx, &set, &(heed_batches_opts){.batch = s->test->n < TEST_BATCH ? s->test->n : TEST_BATCH});
    heed_set_grad(r->cx, false);
    for (int64_t at = 0; batches && at < s->test->n && !heed_failed(r->cx);) {
        const heed_batch *b = heed_batches_next(r->cx, batches);
        if (!b) break;
        const float *p = heed_f32(heed_softmax(r->cx, logits_of(r->cx, &s->net, b), -1));
        if (p) count_answers(s, a, b, at, p);
        at += b->n;
        heed_reset(r->cx);
    }
    heed_set_grad(r->cx, true);
    heed_batches_close(r->cx, batches);
    return !heed_failed(r->cx);
}

static bool learn(struct lesson_run *r, struct scene *s) {
    const int64_t batch = s->train->n < BATCH ? s->train->n : BATCH;
    heed_dataset set = {0};
    heed_data_columns(r->cx, s->train, &set);
    heed_batches *batches =
        heed_batches_open(r->cx, &set, &(heed_batches_opts){.batch = batch, .shuffle = true, .seed = r->seed});
    const int64_t per_epoch = batches ? heed_batches_per_epoch(batches) : 0;
    if (batches && open_network(r, s, per_epoch * s->epochs)) {
        lesson_line(r, "%8s %12s %16s", "epoch", "loss", "test accuracy");
        for (int epoch = 0; epoch < s->epochs && !heed_failed(r->cx); epoch++) {
            for (int64_t k = 0; k < per_epoch && !heed_failed(r->cx); k++) {
                const heed_batch *b = heed_batches_next(r->cx, batches);
                if (b) s->loss[epoch] += train_step(r->cx, &s->net, b) / (float)per_epoch;
                if (k % 16 == 0) lesson_progress(r, "learning, batch", epoch * per_epoch + k, per_epoch * s->epochs);
            }
            lesson_progress(r, "", 1, 1);
            if (!answer(r, s)) break;
            s->accuracy[epoch] = (float)s->answers.right / (float)s->test->n;
            lesson_line(r, "%8d %12.4f %14.2f %%", epoch + 1, (double)s->loss[epoch], 100 * (double)s->accuracy[epoch]);
        }
        lesson_line(r, "%s", "");
    }
    heed_batches_close(r->cx, batches);
    return !heed_failed(r->cx);
}

/* ---- what it confuses ---- */

struct pair {
    int wanted, answered, count;
};

static int by_count(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : x->wanted - y->wanted;
}

static void print_confusion(struct lesson_run *r, const struct scene *s) {
    enum { MOST = 5 };
    const int classes = (int)s->train->classes;
    struct pair *pairs = lesson_room(r, (int64_t)classes * classes, sizeof *pairs);
    if (!pairs) return;
    for (int i = 0; i < classes * classes; i++) {
        const bool wrong = i / classes != i % classes;
        pairs[i] = (struct pair){i / classes, i % classes, wrong ? (int)s->answers.confusion[i] : 0};
    }
    qsort(pairs, (size_t)(classes * classes), sizeof *pairs, by_count);
    lesson_line(r, "Wrong in %lld of %lld. Confused most often:", (long long)(s->test->n - s->answers.right),
                (long long)s->test->n);
    for (int i = 0; i < MOST && pairs[i].count > 0; i++)
        lesson_line(r, "  a %d taken for a %d: %d time%s", pairs[i].wanted, pairs[i].answered, pairs[i].count,
                    pairs[i].count == 1 ? "" : "s");
    lesson_line(r, "%s", "");
}

/* ---- pictures ---- */

static void copy_picture(const heed_data *d, int64_t i, float *out) {
    for (int64_t k = 0; k < d->width; k++)
        out[k] = d->bytes ? (float)d->bytes[i * d->width + k] * d->scale + d->shift : d->x[i * d->width + k];
}

/* The class that a hidden neuron supports most: the largest weight from it to the outputs. */
static int speaks_for(const struct scene *s, int neuron) {
    const float *w = s->net.mlp.layer[1].weight->value;
    int best = 0;
    for (int k = 1; k < s->train->classes; k++)
        if (w[k * HIDDEN + neuron] > w[best * HIDDEN + neuron]) best = k;
    return best;
}

static double strength(const struct scene *s, int neuron) {
    const float *w = s->net.mlp.layer[0].weight->value + (int64_t)neuron * s->train->width;
    double sum = 0;
    for (int64_t k = 0; k < s->train->width; k++) sum += (double)w[k] * (double)w[k];
    return sum;
}

struct neuron {
    int index, digit;
    double strength;
};

static int by_digit(const void *a, const void *b) {
    const struct neuron *x = a, *y = b;
    return x->digit != y->digit ? x->digit - y->digit : x->index - y->index;
}
static int by_strength(const void *a, const void *b) {
    const struct neuron *x = a, *y = b;
    return (x->strength < y->strength) - (x->strength > y->strength);
}

static void show_neurons(struct lesson_run *r, const struct scene *s) {
    enum { FEW = 4, MANY = 32 };
    const int64_t width = s->train->width;
    struct neuron order[HIDDEN];
    float *images = lesson_room(r, MANY * width, sizeof *images);
    char titles[MANY][24];
    const char *names[MANY];
    if (!images) return;
    for (int k = 0; k < HIDDEN; k++) order[k] = (struct neuron){k, speaks_for(s, k), strength(s, k)};
    qsort(order, HIDDEN, sizeof *order, by_strength);
    for (int pass = 0; pass < 2;
         pass++) { /* the strongest few in the terminal; then more, by the digit they speak for */
        if (pass) qsort(order, MANY, sizeof *order, by_digit);
        for (int k = 0; k < MANY; k++) {
            const float *w = s->net.mlp.layer[0].weight->value + order[k].index * width;
            for (int64_t i = 0; i < width; i++) images[k * width + i] = w[i];
            snprintf(titles[k], sizeof titles[k], "for %d", order[k].digit);
            names[k] = titles[k];
        }
        if (pass == 0)
            lesson_show(
                r, heed_terminal_images(
                       r->cx, images, FEW, s->train->image_height, s->train->image_width,
                       &(heed_images){.columns = FEW, .map = HEED_MAP_DIVERGING, .own_scales = true, .titles = names},
                       &r->terminal));
    }
    heed_figure *f = lesson_figure(r, 560, 350);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "What 32 of the hidden neurons look for: ink where red, none where blue");
    heed_panel_images(p, images, MANY, s->train->image_height, s->train->image_width,
                      &(heed_images){.columns = 8, .map = HEED_MAP_DIVERGING, .own_scales = true, .titles = names});
    lesson_picture(r, f, "digits-neurons");
}

/* For how many digits a neuron fires in more than half of their pictures: the mean of those that fire at all, and how
 * many neurons do so for one digit alone. */
static void count_digits(struct lesson_run *r, const struct scene *s, int *single, double *mean) {
    const heed_linear_layer *layer = &s->net.mlp.layer[0];
    const int64_t width = s->test->width, n = s->test->n < MEASURED ? s->test->n : MEASURED;
    int(*fires)[MAX_CLASSES] = lesson_room(r, HIDDEN, sizeof *fires), of[MAX_CLASSES] = {0}, neurons = 0, sum = 0;
    float *picture = lesson_room(r, width, sizeof *picture);
    if (!fires || !picture) return;
    for (int64_t i = 0; i < n; i++) {
        copy_picture(s->test, i, picture);
        of[s->test->label[i]]++;
        for (int k = 0; k < HIDDEN; k++) {
            float at = layer->bias->value[k];
            for (int64_t x = 0; x < width; x++) at += layer->weight->value[k * width + x] * picture[x];
            fires[k][s->test->label[i]] += at > 0;
        }
    }
    for (int k = 0; k < HIDDEN; k++) {
        int digits = 0;
        for (int c = 0; c < s->test->classes; c++) digits += 2 * fires[k][c] > of[c];
        if (digits == 0) continue;
        *single += digits == 1;
        sum += digits, neurons++;
    }
    *mean = neurons ? (double)sum / neurons : 0;
}

/* Wrong answers first, then right ones. */
static void draw_examples(struct lesson_run *r, const struct scene *s) {
    float *images = lesson_room(r, SHOWN * s->test->width, sizeof *images);
    char titles[SHOWN][40];
    const char *names[SHOWN];
    int n = 0;
    if (!images) return;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < s->test->n && n < (pass ? SHOWN : SHOWN / 2); i++) {
            const int wanted = s->test->label[i], got = s->answers.digit[i];
            if ((wanted == got) != (pass == 1)) continue;
            copy_picture(s->test, i, images + n * s->test->width);
            if (pass)
                snprintf(titles[n], sizeof titles[n], "%d", got);
            else
                snprintf(titles[n], sizeof titles[n], "%d, not %d", wanted, got);
            names[n] = titles[n];
            n++;
        }
    heed_figure *f = lesson_figure(r, 560, 290);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Mistakes (what it is, not what was answered) and right answers");
    heed_panel_images(p, images, n, s->test->image_height, s->test->image_width,
                      &(heed_images){.columns = 8, .map = HEED_MAP_INK, .titles = names});
    lesson_picture(r, f, "digits-examples");
}

static void draw_confusion(struct lesson_run *r, const struct scene *s) {
    const int64_t classes = s->train->classes;
    char text[MAX_CLASSES][8];
    const char *names[MAX_CLASSES];
    int64_t *counts = lesson_room(r, classes * classes, sizeof *counts);
    if (!counts) return;
    for (int64_t k = 0; k < classes; k++) {
        snprintf(text[k], sizeof text[k], "%d", (int)k);
        names[k] = text[k];
    }
    for (int64_t i = 0; i < classes * classes; i++) counts[i] = (int64_t)s->answers.confusion[i];
    heed_figure *f = lesson_figure(r, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Right answers in blue, mistakes in red");
    heed_plot_confusion(p, counts, classes, names);
    lesson_picture(r, f, "digits-confusion");
}

/* ---- tables ---- */

static void write_tables(struct lesson_run *r, const struct scene *s) {
    const int64_t classes = s->train->classes, width = s->train->width, n = s->test->n;
    float epochs[64], digit[MAX_CLASSES];
    heed_table_column columns[MAX_CLASSES + 1];
    char names[MAX_CLASSES][24];
    float *numbers = lesson_room(r, classes * classes, sizeof *numbers),
          *wanted = lesson_room(r, 2 * n, sizeof *wanted);
    float *weights = lesson_room(r, HIDDEN * width, sizeof *weights);
    if (heed_failed(r->cx) || !r->out) return;
    for (int k = 0; k < s->epochs; k++) epochs[k] = (float)(k + 1);
    lesson_table(r, "digits-epochs",
                 (heed_table_column[]){{.name = "epoch", .f32 = epochs},
                                       {.name = "loss", .f32 = s->loss},
                                       {.name = "test_accuracy", .f32 = s->accuracy}},
                 3, s->epochs);
    columns[0] = (heed_table_column){.name = "wanted", .f32 = digit};
    for (int64_t k = 0; k < classes; k++) {
        digit[k] = (float)k;
        snprintf(names[k], sizeof names[k], "answered_%d", (int)k);
        for (int64_t i = 0; i < classes; i++) numbers[k * classes + i] = s->answers.confusion[i * classes + k];
        columns[k + 1] = (heed_table_column){.name = names[k], .f32 = numbers + k * classes};
    }
    lesson_table(r, "digits-confusion", columns, (int)classes + 1, classes);
    for (int64_t i = 0; i < n; i++) wanted[i] = (float)s->test->label[i], wanted[n + i] = (float)s->answers.digit[i];
    lesson_table(r, "digits-answers",
                 (heed_table_column[]){{.name = "wanted", .f32 = wanted},
                                       {.name = "answered", .f32 = wanted + n},
                                       {.name = "certainty", .f32 = s->answers.certainty}},
                 3, n);
    for (int k = 0; k < HIDDEN; k++) { /* a column for each neuron, a row for each pixel */
        snprintf(names[k], sizeof names[k], "neuron_%d", k + 1);
        columns[k] = (heed_table_column){.name = names[k], .f32 = s->net.mlp.layer[0].weight->value + k * width};
    }
    lesson_table(r, "digits-neurons", columns, HIDDEN, width);
}

/* ---- the lesson ---- */

static void study(struct lesson_run *r, struct scene *s) {
    const int64_t classes = s->train->classes;
    s->epochs = s->train->n > 30000 ? 8 : 12;
    s->loss = lesson_room(r, s->epochs, sizeof *s->loss);
    s->accuracy = lesson_room(r, s->epochs, sizeof *s->accuracy);
    s->answers = (struct answers){.digit = lesson_room(r, s->test->n, sizeof(int32_t)),
                                  .certainty = lesson_room(r, s->test->n, sizeof(float)),
                                  .confusion = lesson_room(r, classes * classes, sizeof(float))};
    if (heed_failed(r->cx)) return;
    lesson_line(r, "%lld training pictures, %lld test pictures; %lld -> %d -> %lld\n", (long long)s->train->n,
                (long long)s->test->n, (long long)s->train->width, HIDDEN, (long long)classes);
    if (!learn(r, s)) return;
    lesson_result(r, "accuracy", (double)s->answers.right / (double)s->test->n);
    lesson_result(r, "wrong", (double)(s->test->n - s->answers.right));
    print_confusion(r, s);
    lesson_say(r,
               "What four of the hidden neurons look for, as pictures of their weights: ink where it counts for the "
               "neuron (%s) and against it (%s), and the digit that the neuron supports most.",
               r->terminal.colors ? "red" : "dense", r->terminal.colors ? "blue" : "empty");
    show_neurons(r, s);
    draw_examples(r, s);
    draw_confusion(r, s);
    write_tables(r, s);
    int single = 0;
    double mean = 0;
    count_digits(r, s, &single, &mean);
    lesson_result(r, "digits_per_neuron", mean);
    lesson_say(r,
               "Each neuron responds to strokes in some places and to their absence in others. It fires for most "
               "pictures of %.1f of the %d digits on average; neurons that do so for a single digit: %d of %d. The "
               "output layer adds their votes up.",
               mean, (int)classes, single, HIDDEN);
}

static void run(struct lesson_run *r) {
    struct scene *s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    lesson_say(
        r,
        "A picture of 28 x 28 pixels is 784 numbers. A network with one hidden layer of %d neurons (ReLU) learns "
        "which of the ten digits it shows: each hidden neuron weighs all pixels, and each output weighs the "
        "hidden neurons. %s",
        HIDDEN,
        r->data ? ""
                : "heed draws the digits itself, with strokes of random slant, thickness and place; '--data DIR' takes "
                  "MNIST's files.");
    if (open_data(r, s)) study(r, s);
    heed_trainer_free(r->cx, s->net.trainer);
    heed_params_free(r->cx, s->net.params);
    heed_data_free(r->cx, s->test);
    heed_data_free(r->cx, s->train);
}

const struct lesson digits_lesson = {
    .name = "digits",
    .summary = "one hidden layer reads digits; what its neurons look for",
    .data = "a directory of MNIST's four files",
    .run = run,
};
