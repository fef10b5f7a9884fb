/* Runs (heed/run.h): what is asked for and refused, a model from a table, the way back, and what it is worth. */
#include "context.h"
#include "folder.h"
#include "heed/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *table(void) {
    const char *const path = in_folder("table.csv");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("x,y\n", f);
    for (int i = 0; i < 40; i++) fprintf(f, "%g,%g\n", i / 8.0, 3 - i / 4.0);
    fclose(f);
    return path;
}

static void refused(const heed_run_opts *opts, const char *sentence) {
    assert_null(heed_run_open(cx, opts));
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
}

/* Every task has what the command, the help and this header promise. */
static void test_tasks(void **state) {
    (void)state;
    const heed_task *task;
    for (int i = 0; (task = heed_task_at(i)); i++) {
        assert_ptr_equal(heed_task_find(task->name), task);
        assert_true(task->summary && task->about && task->examples && task->fields && task->ways[0]);
        assert_non_null(heed_field_find(task->fields, "data"));
        assert_non_null(heed_field_find(task->fields, "out"));
        for (int k = 0; heed_field_row(task->fields, k); k++) {
            const heed_field *const row = heed_field_row(task->fields, k);
            if (row->kind == HEED_FIELD_GROUP) continue;
            if (heed_field_find(task->fields, row->name) != row)
                fail_msg("%s: %s is there twice", task->name, row->name);
        }
    }
    assert_null(heed_task_at(-1));
    assert_null(heed_task_find("cook"));
}

static void test_refused(void **state) {
    (void)state;
    const char *const data = table(), *const out = in_folder("none");
    refused(&(heed_run_opts){.task = "cook"}, "run: there is no task 'cook'");
    refused(&(heed_run_opts){.task = "regress"}, "train regress: --data PATH is needed");
    refused(&(heed_run_opts){.task = "regress", .data = data}, "train regress: --out DIR is needed");
    refused(&(heed_run_opts){.task = "regress", .data = data, .out = out, .model = "mpl"},
            "train: mpl: unknown family, did you mean 'mlp'?");
    const char *const unknown[] = {"epoch=3", NULL}, *const bad[] = {"epochs=0", NULL}, *const none[] = {"lr", NULL},
                      *const both[] = {"steps=1", "epochs=1", NULL};
    heed_run_opts o = {.task = "regress", .data = data, .out = out, .options = unknown};
    refused(&o, "regress: there is no option 'epoch'");
    o.options = bad;
    refused(&o, "regress: --epochs: 0 is not between 1 and 1000000000");
    o.options = none;
    refused(&o, "regress: lr needs a value: lr=X");
    o.options = both;
    refused(&o, "regress: steps and epochs: only one of them makes sense");
    assert_int_not_equal(access(out, F_OK), 0);
}

static heed_run *open_line(const char *data, const char *out, const char *const *options) {
    heed_run *const run = heed_run_open(
        cx, &(heed_run_opts){.task = "regress", .data = data, .out = out, .model = "linear", .options = options});
    if (!run) fail_msg("%s", heed_message(cx));
    return run;
}

static double trained(const char *data, const char *out, const char *const *options, heed_loop_end end) {
    heed_run *const run = open_line(data, out, options);
    if (heed_run_train(cx, run) != end) fail_msg("%s", heed_message(cx));
    const double loss = heed_run_state(run)->loss;
    const heed_json result = heed_run_result(cx, run);
    assert_string_equal(heed_json_text(cx, result, "model"), out);
    assert_int_equal(heed_json_int(cx, result, "steps"), heed_run_state(run)->step);
    heed_json_free(result);
    const char *how;
    assert_string_equal(heed_run_next(run, &how), "predict");
    heed_run_close(cx, run);
    return loss;
}

/* Stopped after half of it and resumed, a run ends with the same bits. */
static void test_resumed(void **state) {
    (void)state;
    const char *const data = table();
    char whole[512], halves[512];
    snprintf(whole, sizeof whole, "%s", in_folder("whole"));
    snprintf(halves, sizeof halves, "%s", in_folder("halves"));
    const char *const all[] = {"steps=40", "schedule=constant", NULL},
                      *const half[] = {"steps=20", "schedule=constant", NULL},
                      *const rest[] = {"steps=40", "schedule=constant", "resume", NULL};
    const double loss = trained(data, whole, all, HEED_LOOP_DONE);
    trained(data, halves, half, HEED_LOOP_DONE);
    assert_true(trained(data, halves, rest, HEED_LOOP_DONE) == loss);

    heed_run *const again = open_line(data, whole, all); /* what is there is not lost by a slip */
    assert_int_equal(heed_run_train(cx, again), HEED_LOOP_FAILED);
    assert_non_null(strstr(heed_message(cx), "holds a model already; --resume continues it, --force overwrites it"));
    heed_clear(cx);
    heed_run_close(cx, again);
}

static void test_measured(void **state) {
    (void)state;
    const char *const data = table(), *const out = in_folder("line"), *const options[] = {"steps=2000", "force", NULL};
    heed_run *const run = open_line(data, out, options);
    assert_true(heed_run_prepare(cx, run));
    assert_non_null(heed_run_model(run));
    assert_string_equal(heed_run_source(run)->unit, "examples");
    assert_int_equal(heed_run_train(cx, run), HEED_LOOP_DONE);
    assert_int_equal(heed_run_train(cx, run), HEED_LOOP_FAILED);
    assert_string_equal(heed_message(cx), "run_train: this run has trained already");
    heed_clear(cx);
    heed_evaluation of_run, of_dir;
    assert_true(heed_run_evaluate(cx, run, "test", &of_run));
    assert_true(heed_evaluate(cx, &(heed_evaluate_opts){.dir = out, .data = data}, &of_dir));
    assert_int_equal(of_run.n, 40);
    assert_true(of_run.score.metric > 0.99 && of_run.score.metric == of_dir.score.metric);
    assert_ptr_equal(of_run.task, heed_task_find("regress"));
    assert_non_null(of_run.y);
    heed_evaluation_free(cx, &of_run);
    heed_evaluation_free(cx, &of_dir);
    assert_false(heed_run_evaluate(cx, run, "tset", &of_run));
    assert_string_equal(heed_message(cx), "evaluate: part: 'tset' is not one of: test val train");
    heed_clear(cx);
    heed_run_close(cx, run);
}

/* The text of a member of what a run answers. */
static void answers(heed_run *run, const char *example, const char *member, const char *text) {
    const heed_json at = heed_run_answer(cx, run, example);
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    assert_string_equal(heed_json_text(cx, at, member), text);
    heed_json_free(at);
}

static void unanswered(heed_run *run, const char *example, const char *sentence) {
    heed_json_free(heed_run_answer(cx, run, example));
    if (!strstr(heed_message(cx), sentence)) fail_msg("%s", heed_message(cx));
    heed_clear(cx);
}

static void test_answered(void **state) {
    (void)state;
    const char *const data = table(), *const out = in_folder("answers"), *const options[] = {"steps=2000", NULL};
    heed_run *run = open_line(data, out, options);
    unanswered(run, "1", "run_answer: this run has not trained yet");
    assert_int_equal(heed_run_train(cx, run), HEED_LOOP_DONE);
    const heed_json at = heed_run_answer(cx, run, "2");
    const double y = heed_json_number(cx, heed_json_item(cx, heed_json_array(cx, at, "values"), 0), NULL);
    assert_true(y > -1.3 && y < -0.7); /* 3 - 2 x */
    heed_json_free(at);
    unanswered(run, "one", "example");
    unanswered(run, NULL, "run_answer: the example is NULL");
    heed_run_close(cx, run);

    const char *const texts = in_folder("texts.tsv");
    FILE *f = fopen(texts, "w");
    assert_non_null(f);
    fputs("text\tlabel\n", f);
    for (int i = 0; i < 400; i++) fprintf(f, i % 2 ? "a good film\tpos\n" : "a bad film\tneg\n");
    fclose(f);
    const char *const small[] = {"set=hidden_size=16",
                                 "set=num_hidden_layers=1",
                                 "set=num_attention_heads=2",
                                 "set=intermediate_size=16",
                                 "tokens=word",
                                 "lr=0.01",
                                 "epochs=4",
                                 NULL};
    run = heed_run_open(
        cx, &(heed_run_opts){
                .task = "classify", .data = texts, .model = "bert", .out = in_folder("films"), .options = small});
    assert_int_equal(heed_run_train(cx, run), HEED_LOOP_DONE);
    answers(run, "a good film", "label", "pos");
    answers(run, "a bad film", "label", "neg");
    heed_run_close(cx, run);
}

static bool stop_at_three(void *user, const heed_loop_state *s) {
    *(int64_t *)user = s->step;
    return s->step < 3;
}

static void test_stopped(void **state) {
    (void)state;
    const char *const data = table(), *const out = in_folder("stopped");
    int64_t seen = 0;
    heed_run *const run = heed_run_open(
        cx, &(heed_run_opts){.task = "regress", .data = data, .out = out, .report = stop_at_three, .user = &seen});
    assert_int_equal(heed_run_train(cx, run), HEED_LOOP_STOPPED);
    assert_int_equal(seen, 3);
    heed_run_close(cx, run);
    assert_int_equal(access(in_folder("stopped/checkpoint.safetensors"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tasks, open_cx, close_cx),
        cmocka_unit_test_setup_teardown(test_refused, open_cx, close_cx),
        cmocka_unit_test_setup_teardown(test_resumed, open_cx, close_cx),
        cmocka_unit_test_setup_teardown(test_measured, open_cx, close_cx),
        cmocka_unit_test_setup_teardown(test_answered, open_cx, close_cx),
        cmocka_unit_test_setup_teardown(test_stopped, open_cx, close_cx),
    };
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
