/* Truncated backpropagation with carried state: the losses of PyTorch's loop on the same windows, before each update
 * and on another text afterwards; and a run that is stopped within an epoch goes on with the same bits. */
#include "heed/train.h"
#include "task/task_test.h"
#include <math.h>

enum { MAX_STEPS = 64 };

/* Letters are tokens: a is 0. */
static heed_tokenizer *alphabet(heed_ctx *cx) {
    char file[512] = "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{";
    for (int i = 0; i < 17; i++)
        snprintf(file + strlen(file), sizeof file - strlen(file), "%s\"%c\":%d", i ? "," : "", 'a' + i, i);
    strcat(file, "}}}");
    heed_tokenizer *t = tokenizer_parse(cx, "alphabet", file, strlen(file));
    if (!t) fail_msg("%s", heed_message(cx));
    return t;
}

struct run {
    heed_ctx *cx;
    heed_json at; /* the case */
    heed_tokenizer *tokens;
    heed_model *model;
    heed_task_data *text, *other;
    heed_streams *streams;
    double losses[MAX_STEPS];
    int64_t steps, stop_at; /* stop_at 0: never */
    heed_forcing forcing;
};

static heed_task_data *read_text(struct run *r, const char *key) {
    write_text("text.txt", heed_json_text(r->cx, r->at, key));
    heed_task_data *d =
        heed_task_read(r->cx, heed_text_task_find("lm"), in_folder("text.txt"),
                       &(heed_task_opts){.max_length = heed_json_int(r->cx, r->at, "context"), .carry = true});
    unlink(in_folder("text.txt"));
    if (!d || !heed_task_encode(r->cx, d, &(heed_text_reader){.tokens = r->tokens, .next = true}))
        fail_msg("%s", heed_message(r->cx));
    return d;
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    (void)test;
    return heed_task_measure(cx, model, ((struct run *)own)->other, NULL, 0, score, NULL);
}

static bool report(void *user, const heed_loop_state *s) {
    struct run *r = user;
    assert_true(s->step <= MAX_STEPS);
    r->losses[s->step - 1] = s->loss;
    r->steps = s->step;
    return s->step != r->stop_at;
}

static void open_run(struct run *r, heed_json at, int threads, bool valid) {
    static const char *const settings[] = {"dropout=0"};
    r->cx = heed_open(&(heed_config){.threads = threads});
    r->at = at;
    r->tokens = alphabet(r->cx);
    r->model = heed_model_load_as(r->cx, golden_path(heed_json_text(r->cx, at, "model")),
                                  &(heed_load_opts){.task = "lm", .settings = settings, .n_settings = 1});
    if (!r->model) fail_msg("%s", heed_message(r->cx));
    r->text = read_text(r, "text");
    r->other = read_text(r, "other");
    r->streams = heed_streams_new(r->cx, &(heed_streams_opts){.train = r->text,
                                                              .valid = valid ? r->other : NULL,
                                                              .like = r->model,
                                                              .batch = heed_json_int(r->cx, at, "batch"),
                                                              .forcing = &r->forcing,
                                                              .own = r,
                                                              .measure = measure,
                                                              .metrics = "perplexity bits_per_byte"});
    if (!r->streams) fail_msg("%s", heed_message(r->cx));
}

static void close_run(struct run *r) {
    heed_streams_free(r->cx, r->streams);
    heed_task_free(r->cx, r->text);
    heed_task_free(r->cx, r->other);
    heed_model_free(r->cx, r->model);
    heed_tokenizer_free(r->cx, r->tokens);
    heed_close(r->cx);
}

static heed_loop_end train(struct run *r, const char *dir, bool resume, heed_loop_state *state) {
    const heed_loop_opts opts = {
        .dir = in_folder(dir),
        .trainer = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = heed_json_number(r->cx, r->at, "weight_decay")},
                    .schedule = {.lr = heed_json_number(r->cx, r->at, "lr")},
                    .clip = heed_json_number(r->cx, r->at, "clip")},
        .epochs = heed_json_int(r->cx, r->at, "epochs"),
        .evaluate_every = 1000,
        .source = heed_streams_loop(r->streams),
        .resume = resume,
        .report = report,
        .user = r};
    const heed_loop_end end = heed_loop_run(r->cx, r->model, &opts, state);
    if (end == HEED_LOOP_FAILED) fail_msg("%s", heed_message(r->cx));
    return end;
}

static void close_to(const char *what, int64_t step, double got, double want) {
    if (!(fabs(got - want) <= 2e-5 * fabs(want)))
        fail_msg("%s: %lld: %.9g, not %.9g", what, (long long)step, got, want);
}

static void test_curves(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    const heed_json cases = open_golden(cx, "task/streams.json");
    for (EACH(c, cases)) {
        struct run r = {.forcing.probability = 1};
        heed_loop_state state;
        int64_t step = 0;
        open_run(&r, c, 2, true);
        assert_int_equal(train(&r, "curve", false, &state), HEED_LOOP_DONE);
        const char *name = heed_json_text(cx, c, "model");
        for (EACH(v, heed_json_find(cx, c, "losses"))) {
            close_to(name, step, r.losses[step], heed_json_number(cx, v, NULL));
            step++;
        }
        assert_int_equal(step, r.steps);
        assert_int_equal(state.seen, 2 * 3 * (160 / 3 - 1));
        close_to(name, -1, state.valid.loss, heed_json_number(cx, c, "other_loss"));
        close_run(&r);
    }
    heed_json_free(cases);
    close_context(cx);
}

/* Of a run with scheduled sampling, which draws by the number of the update. */
static void test_resume(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    const heed_json cases = open_golden(cx, "task/streams.json");
    for (EACH(c, cases)) {
        float *whole = NULL;
        for (int stopped = 0; stopped < 2; stopped++) {
            struct run r = {.forcing = {HEED_FORCING_LINEAR, 0.2, 0.05}};
            if (stopped) { /* within the first epoch, with other threads */
                r.stop_at = 3;
                open_run(&r, c, 2, false);
                assert_int_equal(train(&r, "stopped", false, NULL), HEED_LOOP_STOPPED);
                close_run(&r);
                r = (struct run){.forcing = r.forcing};
            }
            open_run(&r, c, 1, false);
            assert_int_equal(train(&r, stopped ? "stopped" : "whole", stopped, NULL), HEED_LOOP_DONE);
            const heed_params *params = heed_model_params(r.model);
            const size_t size = (size_t)heed_params_size(params) * sizeof *whole;
            if (stopped)
                assert_memory_equal(heed_params_block(params), whole, size);
            else
                whole = memcpy(malloc(size), heed_params_block(params), size);
            close_run(&r);
        }
        free(whole);
        char command[600];
        snprintf(command, sizeof command, "rm -rf '%s' '%s'", in_folder("whole"), in_folder("stopped"));
        assert_int_equal(system(command), 0);
    }
    heed_json_free(cases);
    close_context(cx);
}

/* A plan is what the run takes, and changes nothing. */
static void test_budget(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    const heed_json cases = open_golden(cx, "task/streams.json");
    struct run r = {.forcing.probability = 0.5};
    open_run(&r, heed_json_first(cases), 1, true);
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *model = heed_model_load(dry, golden_path("model/rnn-lm"));
    heed_plan plan;
    assert_true(heed_plan_run(
        dry, model,
        &(heed_loop_opts){
            .dir = in_folder("none"), .trainer.schedule.lr = 0.1, .epochs = 1, .source = heed_streams_loop(r.streams)},
        &plan));
    assert_true(plan.total > 0 && plan.step > 0);
    const heed_loop_source *s = heed_streams_loop(r.streams);
    for (int64_t i = 0; i < s->n_carried; i++) assert_true(s->carried[i] == 0);
    heed_model_free(dry, model);
    heed_close(dry);
    /* more streams than pairs of tokens; a model without a state */
    assert_null(heed_streams_new(r.cx, &(heed_streams_opts){.train = r.text, .like = r.model, .batch = 100}));
    assert_string_equal(heed_message(r.cx), "train: --batch: 100 streams of a text of 160 tokens: each needs 2");
    heed_clear(r.cx);
    heed_model *gpt2 = heed_model_load(r.cx, golden_path("model/gpt2-lm"));
    assert_null(heed_streams_new(r.cx, &(heed_streams_opts){.train = r.text, .like = gpt2, .batch = 2}));
    assert_string_equal(heed_message(r.cx), "lm: gpt2 has no state to carry from window to window");
    heed_clear(r.cx);
    heed_model_free(r.cx, gpt2);
    close_run(&r);
    heed_json_free(cases);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curves), cmocka_unit_test(test_resume),
                                       cmocka_unit_test(test_budget)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
