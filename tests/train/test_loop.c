/* The loop: stopped anywhere and resumed it ends with the same bits; what it keeps, logs, refuses and measures. */
#include "comma_locale.h"
#include "train/train_test.h"
#include <signal.h>
#include <sys/resource.h>

/* A run that uses everything: dropout, an average, clipping, micro-batches of which the last is smaller, validation. */
struct scene {
    struct points train, valid;
    heed_data data, other;
    heed_examples_opts on;
    heed_loop_opts opts;
};

static void set_scene(struct scene *s, bool classify) {
    draw_points(&s->train, 1);
    draw_points(&s->valid, 2);
    s->data = classify ? classes_of(&s->train) : numbers_of(&s->train);
    s->other = classify ? classes_of(&s->valid) : numbers_of(&s->valid);
    s->opts = (heed_loop_opts){.trainer = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.01},
                                           .schedule = {.kind = HEED_COSINE, .lr = 0.02, .warmup = 3},
                                           .clip = 1,
                                           .average = 0.8},
                               .epochs = 6,
                               .seed = 5,
                               .evaluate_every = 3};
    s->on = (heed_examples_opts){
        .train = &s->data, .valid = &s->other, .test = &s->other, .batch = 32, .micro_batch = 12, .seed = 5};
}

static heed_loop_end train(const struct scene *s, const char *dir, heed_loop_opts opts, int threads,
                           heed_loop_state *state) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
    heed_model *m = new_model(cx, &s->data, "dropout=0.2");
    opts.dir = dir;
    const heed_loop_end end = run_on(cx, m, &s->on, &opts, state);
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    heed_model_free(cx, m);
    heed_close(cx);
    return end;
}

/* Stops after so many updates. */
static bool stop_at(void *user, const heed_loop_state *state) { return state->step < *(const int64_t *)user; }

static char *text_of(const char *path) {
    size_t n;
    char *text = read_bytes(path, &n);
    text[n] = 0;
    return text;
}

/* Lines without the time they took: the same for any run of the same options. */
static void assert_same_logs(const char *a, const char *b) {
    char *x = text_of(a), *y = text_of(b), *p = x, *q = y;
    while (*p || *q) {
        if (strncmp(p, "\"seconds\":", 10) == 0) p += strcspn(p, ",}");
        if (strncmp(q, "\"seconds\":", 10) == 0) q += strcspn(q, ",}");
        if (*p != *q) fail_msg("logs differ at '%.60s' and '%.60s'", p, q);
        p++;
        q++;
    }
    free(x);
    free(y);
}

static void test_resume_anywhere(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    const char *whole = in_folder("whole");
    char log[512], other_log[512];
    snprintf(log, sizeof log, "%s", in_folder("whole.jsonl"));
    snprintf(other_log, sizeof other_log, "%s", in_folder("parts.jsonl"));
    s.opts.log = log;
    heed_loop_state once, twice;
    assert_int_equal(train(&s, whole, s.opts, 1, &once), HEED_LOOP_DONE);
    assert_int_equal(once.steps, 24);
    assert_int_equal(once.seen, 600);
    assert_true(once.tested && once.test.metric == once.best.metric && once.test.loss == once.best.loss);
    for (int64_t at = 0; at <= 24; at++) {
        const char *dir = in_folder("parts");
        heed_loop_opts opts = s.opts;
        opts.log = other_log;
        opts.report = stop_at;
        opts.user = &at;
        assert_int_equal(train(&s, dir, opts, 1, &twice), at < 24 ? HEED_LOOP_STOPPED : HEED_LOOP_DONE);
        assert_int_equal(twice.step, at < 1 ? 1 : at);
        opts.resume = true;
        opts.report = NULL;
        assert_int_equal(train(&s, dir, opts, 1, &twice), HEED_LOOP_DONE);
        assert_same_files(file_in(whole, "model.safetensors"), file_in(dir, "model.safetensors"));
        assert_same_logs(log, other_log);
        assert_true(twice.best_step == once.best_step && twice.best.loss == once.best.loss);
        assert_true(twice.tested && twice.test.loss == once.test.loss);
        remove_model(dir);
    }
    remove_model(whole);
    unlink(log);
    unlink(other_log);
}

/* A run that is killed: the checkpoint is older than the model and the log. */
static void test_resume_from_older_checkpoint(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, false);
    const char *whole = in_folder("whole"), *dir = in_folder("parts");
    char log[512], other_log[512];
    snprintf(log, sizeof log, "%s", in_folder("whole.jsonl"));
    snprintf(other_log, sizeof other_log, "%s", in_folder("parts.jsonl"));
    s.opts.log = log;
    assert_int_equal(train(&s, whole, s.opts, 1, NULL), HEED_LOOP_DONE);
    const int64_t early = 5, late = 17;
    heed_loop_opts opts = s.opts;
    opts.log = other_log;
    opts.report = stop_at;
    opts.user = (void *)(uintptr_t)&early;
    assert_int_equal(train(&s, dir, opts, 1, NULL), HEED_LOOP_STOPPED);
    size_t n;
    char *checkpoint = read_bytes(file_in(dir, "checkpoint.safetensors"), &n);
    opts.resume = true;
    opts.user = (void *)(uintptr_t)&late;
    assert_int_equal(train(&s, dir, opts, 1, NULL), HEED_LOOP_STOPPED);
    write_bytes(file_in(dir, "checkpoint.safetensors"), checkpoint, n);
    FILE *f = fopen(other_log, "a");
    fputs("{\"step\": 18, \"lo", f); /* killed while it wrote */
    fclose(f);
    opts.report = NULL;
    assert_int_equal(train(&s, dir, opts, 1, NULL), HEED_LOOP_DONE);
    assert_same_files(file_in(whole, "model.safetensors"), file_in(dir, "model.safetensors"));
    assert_same_logs(log, other_log);
    free(checkpoint);
    remove_model(whole);
    remove_model(dir);
    unlink(log);
    unlink(other_log);
}

/* The settings in a checkpoint read the same in a host program whose locale has decimal commas. */
static void test_resume_in_any_locale(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, false);
    const char *dir = in_folder("parts");
    const int64_t early = 5;
    heed_loop_opts opts = s.opts;
    opts.report = stop_at;
    opts.user = (void *)(uintptr_t)&early;
    assert_int_equal(train(&s, dir, opts, 1, NULL), HEED_LOOP_STOPPED);
    if (set_comma_locale()) {
        opts.resume = true;
        opts.report = NULL;
        assert_int_equal(train(&s, dir, opts, 1, NULL), HEED_LOOP_DONE);
        setlocale(LC_ALL, "C");
    }
    remove_model(dir);
}

/* Cancelled within a step or an evaluation, at any question. */
static int64_t questions, stop_question;
static bool cancel(void *user) {
    (void)user;
    return stop_question > 0 && ++questions >= stop_question;
}

static void test_cancelled_anywhere(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    s.opts.steps = 8;
    const char *whole = in_folder("whole"), *dir = in_folder("parts");
    assert_int_equal(train(&s, whole, s.opts, 1, NULL), HEED_LOOP_DONE);
    s.opts.dir = dir;
    bool done = false;
    for (int64_t k = 1; !done; k += 17) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .cancel = cancel});
        heed_model *m = new_model(cx, &s.data, "dropout=0.2");
        questions = 0;
        stop_question = k;
        s.opts.resume = false;
        heed_loop_end end = run_on(cx, m, &s.on, &s.opts, NULL);
        stop_question = 0;
        if (heed_failed(cx)) fail_msg("cancelled at question %lld: %s", (long long)k, heed_message(cx));
        assert_true(end == HEED_LOOP_STOPPED || end == HEED_LOOP_DONE);
        done = end == HEED_LOOP_DONE;
        heed_model_free(cx, m);
        heed_close(cx);
        s.opts.resume = true;
        assert_int_equal(train(&s, dir, s.opts, 1, NULL), HEED_LOOP_DONE);
        assert_same_files(file_in(whole, "model.safetensors"), file_in(dir, "model.safetensors"));
        remove_model(dir);
    }
    remove_model(whole);
}

/* ---- what is kept ---- */

struct watch {
    heed_score best;
    int64_t best_step, evaluations, last;
};
static bool watch(void *user, const heed_loop_state *state) {
    struct watch *w = user;
    w->last = state->step;
    if (!state->evaluated) return true;
    w->evaluations++;
    const heed_score *v = &state->valid;
    if (w->best_step == 0 || v->metric > w->best.metric || (v->metric == w->best.metric && v->loss < w->best.loss))
        w->best = *v, w->best_step = state->step;
    return true;
}

static void test_best_is_kept(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    s.opts.trainer.schedule = (heed_schedule){.lr = 0.3}; /* restless: the last is not the best */
    s.opts.trainer.average = 0;
    s.opts.epochs = 0;
    s.opts.steps = 60;
    struct watch w = {0};
    s.opts.report = watch;
    s.opts.user = &w;
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &s.data, NULL), *saved;
    heed_loop_state end;
    s.opts.dir = in_folder("best");
    assert_int_equal(run_on(cx, m, &s.on, &s.opts, &end), HEED_LOOP_DONE);
    assert_int_equal(w.evaluations, 20);
    assert_int_equal(end.best_step, w.best_step);
    assert_true(w.best_step < 60 && end.best.metric == w.best.metric);
    saved = heed_model_load(cx, s.opts.dir);
    assert_memory_equal(heed_params_block(heed_model_params(saved)), heed_params_block(heed_model_params(m)),
                        (size_t)heed_params_size(heed_model_params(m)) * sizeof(float));
    heed_score score;
    assert_true(heed_loop_evaluate(cx, saved, &s.other, NULL, 0, 7, &score));
    assert_true(score.metric == w.best.metric && fabs(score.loss - w.best.loss) < 1e-5);
    heed_model_free(cx, saved);
    remove_model(s.opts.dir);

    /* and patience ends the run so many evaluations after the best */
    s.opts.patience = 4;
    s.opts.steps = 6000;
    w = (struct watch){0};
    assert_int_equal(run_on(cx, m, &s.on, &s.opts, &end), HEED_LOOP_EARLY);
    assert_int_equal(w.last, w.best_step + 4 * 3);
    s.opts.resume = true; /* it has ended: nothing more is done */
    assert_int_equal(run_on(cx, m, &s.on, &s.opts, &end), HEED_LOOP_EARLY);
    assert_int_equal(end.step, w.last);
    heed_model_free(cx, m);
    remove_model(s.opts.dir);
    close_context(cx);
}

/* More steps with a schedule that does not depend on them: the same as asking for all at first. */
static void test_longer(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    s.opts.trainer.schedule.kind = HEED_CONSTANT;
    s.on.valid = NULL;
    const char *whole = in_folder("whole"), *dir = in_folder("parts");
    assert_int_equal(train(&s, whole, s.opts, 1, NULL), HEED_LOOP_DONE);
    s.opts.epochs = 2;
    assert_int_equal(train(&s, dir, s.opts, 1, NULL), HEED_LOOP_DONE);
    s.opts.epochs = 6;
    s.opts.resume = true;
    assert_int_equal(train(&s, dir, s.opts, 1, NULL), HEED_LOOP_DONE);
    assert_same_files(file_in(whole, "model.safetensors"), file_in(dir, "model.safetensors"));
    remove_model(whole);
    remove_model(dir);
}

static void test_micro_batches(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    float weights[3][512];
    int64_t n = 0;
    const int64_t micro[] = {0, 12, 1};
    for (int i = 0; i < 3; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = new_model(cx, &s.data, NULL);
        s.opts.dir = in_folder("micro");
        s.on.micro_batch = micro[i];
        s.on.valid = NULL;
        assert_int_equal(run_on(cx, m, &s.on, &s.opts, NULL), HEED_LOOP_DONE);
        n = heed_params_size(heed_model_params(m));
        assert_true(n <= 512);
        memcpy(weights[i], heed_params_block(heed_model_params(m)), (size_t)n * sizeof(float));
        heed_model_free(cx, m);
        close_context(cx);
        remove_model(s.opts.dir);
    }
    for (int64_t i = 0; i < n; i++)
        assert_true(fabsf(weights[0][i] - weights[1][i]) < 1e-4f && fabsf(weights[0][i] - weights[2][i]) < 1e-4f);
}

/* ---- what is measured ---- */

static void test_evaluate(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 3);
    heed_ctx *cx = open_context();
    const int64_t rows[] = {4, 9, 17, 30, 2, 77, 51};
    for (int kind = 0; kind < 2; kind++) {
        const heed_data data = kind ? classes_of(&p) : numbers_of(&p);
        heed_model *m = new_model(cx, &data, NULL);
        heed_score a, b;
        assert_true(heed_loop_evaluate(cx, m, &data, rows, 7, 3, &a));
        /* by hand, in one batch */
        float x[7][WIDTH];
        for (int i = 0; i < 7; i++) memcpy(x[i], p.x[rows[i]], sizeof x[i]);
        heed_io in = {0}, out;
        heed_io_put(cx, &in, "x", heed_from_f32(cx, x[0], 2, (int64_t[]){7, WIDTH}));
        assert_true(heed_model_forward(cx, m, &in, &out));
        const float *y = heed_f32(heed_io_get(&out, "logits"));
        double right = 0, loss = 0, metric = 0;
        for (int i = 0; kind && i < 7; i++) {
            const float *l = y + 3 * i;
            const int32_t label = p.label[rows[i]];
            const int best = l[1] > l[0] ? (l[2] > l[1] ? 2 : 1) : (l[2] > l[0] ? 2 : 0);
            right += best == label;
            loss -= (double)l[label] - log(exp((double)l[0]) + exp((double)l[1]) + exp((double)l[2]));
        }
        for (int j = 0; !kind && j < 2; j++) {
            double mean = 0, missed = 0, spread = 0;
            for (int i = 0; i < 7; i++) mean += (double)p.y[rows[i]][j] / 7;
            for (int i = 0; i < 7; i++) {
                missed += pow((double)p.y[rows[i]][j] - (double)y[2 * i + j], 2);
                spread += pow((double)p.y[rows[i]][j] - mean, 2);
            }
            loss += missed / 2;
            metric += (1 - missed / spread) / 2;
        }
        if (kind) metric = right / 7;
        assert_true(fabs(a.loss - loss / 7) <= 1e-5 * fabs(a.loss) && fabs(a.metric - metric) <= 1e-5);
        heed_reset(cx);
        assert_true(heed_loop_evaluate(cx, m, &data, NULL, 0, 0, &a));
        assert_true(heed_loop_evaluate(cx, m, &data, NULL, 0, 13, &b));
        assert_true(a.metric == b.metric || !kind);
        assert_true(fabs(a.loss - b.loss) <= 1e-5 * a.loss);
        heed_model_free(cx, m);
    }
    heed_score none;
    const heed_data nothing = {.n = 5, .width = WIDTH, .x = p.x[0], .scale = 1};
    const heed_data some = classes_of(&p);
    heed_model *m = new_model(cx, &some, NULL);
    assert_false(heed_loop_evaluate(cx, m, &nothing, NULL, 0, 0, &none));
    EXPECT_SENTENCE(cx, "evaluate: the data set has no targets");
    assert_false(heed_loop_evaluate(cx, NULL, &some, NULL, 0, 0, &none));
    EXPECT_SENTENCE(cx, "evaluate: a model, data and a place for the score are needed");
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- what is refused ---- */

static void test_refusals(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &s.data, "dropout=0.2");
    const char *dir = s.opts.dir = in_folder("refused");
    heed_loop_opts o = s.opts;
    heed_examples_opts on = s.on;
#define REFUSED(change, sentence)                                                                                      \
    do {                                                                                                               \
        o = s.opts;                                                                                                    \
        on = s.on;                                                                                                     \
        change;                                                                                                        \
        assert_int_equal(run_on(cx, m, &on, &o, NULL), HEED_LOOP_FAILED);                                              \
        EXPECT_SENTENCE(cx, sentence);                                                                                 \
    } while (0)
    REFUSED(on.batch = 101, "a batch of 101 examples is larger than the data, which has 100");
    REFUSED(on.batch = 0, "batch 0, micro-batch 12: batch must be positive");
    REFUSED(o.epochs = 0, "train: epochs 0, steps 0: either must be positive");
    REFUSED(o.best_by = "bleu", "train: there is no metric 'bleu' to choose the best model by, one of: loss, accuracy");
    REFUSED(o.dir = NULL, "are needed");
    REFUSED(on.train = NULL, "are needed");
    REFUSED(o.trainer.accumulate = 2, "micro-batches");
    REFUSED((on.valid = NULL, o.patience = 1), "patience needs validation data");
    REFUSED(o.trainer.schedule.lr = -1, "the learning rate is -1");
    assert_true(access(dir, F_OK) != 0); /* nothing was begun */
    REFUSED(o.dir = "/dev/null/x", "/dev/null/x: ");
    REFUSED(o.log = "/dev/null/x", "/dev/null/x: ");
    remove_model(dir);

    const int64_t early = 5;
    s.opts.report = stop_at;
    s.opts.user = (void *)(uintptr_t)&early;
    assert_int_equal(run_on(cx, m, &s.on, &s.opts, NULL), HEED_LOOP_STOPPED);
    s.opts.resume = true;
    REFUSED(on.batch = 50, "a checkpoint of another configuration: batch was 32, is 50");
    REFUSED(o.trainer.schedule.lr = 0.5, "lr was 0.02, is 0.5");
    REFUSED((o.seed = 6, on.seed = 6), "seed was 5, is 6");
    REFUSED(o.trainer.optimizer.kind = HEED_SGD, "optimizer was adamw, is sgd");
    REFUSED(o.epochs = 7, "steps was 24, is 28");
    REFUSED(on.valid = NULL, "validation data was 100 examples");
    s.train.x[50][1] += 0.25f;
    REFUSED(on.batch = 32, "training data was 100 examples");
    s.train.x[50][1] -= 0.25f;
    heed_model_free(cx, m);
    m = new_model(cx, &s.data, "dropout=0.3");
    REFUSED(on.batch = 32, "model dropout was 0.2, is 0.3");
    heed_model_free(cx, m);
    m = new_model(cx, &s.data, "hidden_sizes=4,4");
    REFUSED(on.batch = 32, "model hidden_sizes was [8], is [4,4]");
#undef REFUSED
    heed_model_free(cx, m);
    remove_model(dir);
    close_context(cx);
}

/* Weights that are no numbers from the start are not called diverged, and nothing is written. */
static void test_bad_start(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, false);
    s.opts.save_every = 1;
    s.opts.dir = in_folder("bad-start");
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &s.data, NULL);
    heed_params_at(heed_model_params(m), 0)->value[0] = NAN;
    heed_loop_state end;
    assert_int_equal(run_on(cx, m, &s.on, &s.opts, &end), HEED_LOOP_FAILED);
    EXPECT_SENTENCE(cx, "train: the weights to start from are not all finite numbers");
    assert_int_not_equal(access(file_in(s.opts.dir, "checkpoint.safetensors"), F_OK), 0);
    heed_model_free(cx, m);
    remove_model(s.opts.dir);
    close_context(cx);
}

/* A learning rate that diverges ends the run at once; what it has in its directory can be resumed and is finite. */
static void test_divergence(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, false);
    s.opts.trainer = (heed_trainer_opts){.optimizer = {.kind = HEED_SGD}, .schedule = {.lr = 10}};
    s.opts.save_every = 1;
    s.on.valid = NULL;
    s.opts.dir = in_folder("diverged");
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &s.data, NULL);
    heed_loop_state end;
    assert_int_equal(run_on(cx, m, &s.on, &s.opts, &end), HEED_LOOP_FAILED);
    assert_true(strstr(heed_message(cx), " of step ") && strstr(heed_message(cx), "diverged at a learning rate of 10"));
    assert_true(end.step > 0 && end.step < 24);
    EXPECT_SENTENCE(cx, "the last good state is in ");
    heed_safetensors *st = heed_safetensors_open(cx, file_in(s.opts.dir, "checkpoint.safetensors"));
    const heed_array *w = heed_safetensors_get(cx, st, heed_safetensors_find(cx, st, "weights"));
    for (int64_t i = 0; i < heed_array_count(w); i++) assert_true(isfinite(((const float *)w->data)[i]));
    heed_safetensors_close(st);
    heed_model_free(cx, m);
    remove_model(s.opts.dir);
    close_context(cx);
}

/* The gradient is that of the standardised loss: targets in other units are learnt by the same learning rate, and what
 * is reported is in their units. A power of two changes no bit but the exponent. */
static void test_units(void **state) {
    (void)state;
    double loss[2];
    const double unit[2] = {1, 65536};
    for (int k = 0; k < 2; k++) {
        struct scene s;
        set_scene(&s, false);
        s.opts.trainer = (heed_trainer_opts){.optimizer = {.kind = HEED_SGD}, .schedule = {.lr = 0.05}};
        s.on.valid = s.on.test = NULL;
        s.opts.dir = in_folder("units");
        for (int i = 0; i < EXAMPLES; i++)
            for (int j = 0; j < 2; j++) s.train.y[i][j] *= (float)unit[k];
        heed_ctx *cx = open_context();
        heed_model *m = new_model(cx, &s.data, "standardize_output=true");
        float mean[2], deviation[2];
        const heed_data targets = {.n = EXAMPLES, .width = 2, .x = s.train.y[0], .scale = 1};
        assert_true(heed_data_moments(cx, &targets, NULL, EXAMPLES, mean, deviation));
        memcpy(heed_params_find(heed_model_params(m), "output_mean")->value, mean, sizeof mean);
        memcpy(heed_params_find(heed_model_params(m), "output_deviation")->value, deviation, sizeof deviation);
        heed_loop_state end;
        assert_int_equal(run_on(cx, m, &s.on, &s.opts, &end), HEED_LOOP_DONE);
        loss[k] = end.loss;
        heed_model_free(cx, m);
        remove_model(s.opts.dir);
        close_context(cx);
    }
    const double ratio = loss[1] / loss[0] / (unit[1] * unit[1]);
    if (!(fabs(ratio - 1) <= 1e-6)) fail_msg("losses %g and %g", loss[0], loss[1]);
}

/* A disk that is full: the run ends with a sentence, and what was there is there still. */
static void test_disk_full(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    const char *dir = s.opts.dir = in_folder("full"), *whole = in_folder("whole");
    assert_int_equal(train(&s, whole, s.opts, 1, NULL), HEED_LOOP_DONE);
    const int64_t early = 7;
    s.opts.report = stop_at;
    s.opts.user = (void *)(uintptr_t)&early;
    assert_int_equal(train(&s, dir, s.opts, 1, NULL), HEED_LOOP_STOPPED);
    struct rlimit before, small = {.rlim_cur = 600, .rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &s.data, "dropout=0.2");
    s.opts.resume = true;
    s.opts.report = NULL;
    setrlimit(RLIMIT_FSIZE, &small);
    const heed_loop_end end = run_on(cx, m, &s.on, &s.opts, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(end, HEED_LOOP_FAILED);
    EXPECT_SENTENCE(cx, "File too large");
    heed_model_free(cx, m);
    close_context(cx);
    assert_int_equal(train(&s, dir, s.opts, 1, NULL), HEED_LOOP_DONE);
    assert_same_files(file_in(whole, "model.safetensors"), file_in(dir, "model.safetensors"));
    remove_model(dir);
    remove_model(whole);
}

/* Whatever request for memory is refused: a sentence, no leak, and the same run afterwards. */
static void test_no_memory(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, true);
    s.opts.steps = 4;
    s.opts.evaluate_every = 2;
    s.opts.dir = in_folder("memory");
    for (int64_t at = 1; at < 100000; at += at < 60 ? 1 : 11) {
        heed_ctx *cx = open_context();
        heed_model *m = new_model(cx, &s.data, "dropout=0.2");
        books.fail_at = books.requests + at;
        const heed_loop_end end = run_on(cx, m, &s.on, &s.opts, NULL);
        const bool refused = books.requests >= books.fail_at;
        books.fail_at = 0;
        if (end == HEED_LOOP_FAILED) assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
        heed_clear(cx);
        heed_model_free(cx, m);
        close_context(cx);
        if (!refused) {
            assert_int_equal(end, HEED_LOOP_DONE);
            break;
        }
    }
    remove_model(s.opts.dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume_anywhere),
        cmocka_unit_test(test_resume_from_older_checkpoint),
        cmocka_unit_test(test_resume_in_any_locale),
        cmocka_unit_test(test_cancelled_anywhere),
        cmocka_unit_test(test_best_is_kept),
        cmocka_unit_test(test_longer),
        cmocka_unit_test(test_micro_batches),
        cmocka_unit_test(test_evaluate),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_start),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
