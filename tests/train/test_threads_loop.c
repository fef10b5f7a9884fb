/* The same run for any number of threads, to the bit: large enough that its work is cut among them. */
#include "train/train_test.h"

enum { MANY = 600, WIDE = 200 };

static void train(const heed_data *data, const char *dir, int threads) {
    const char *settings[] = {"input_size=200", "output_size=10",   "task=classify",
                              "dropout=0.1",    "hidden_sizes=300", "standardize_input=true"};
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
    heed_model *m = heed_model_new(cx, heed_family_find("mlp"), settings, 6, 1);
    int64_t *rows, *valid, n, n_valid;
    assert_true(heed_data_split(cx, data, 0.2, 3, &rows, &n, &valid, &n_valid));
    const heed_loop_opts opts = {.dir = dir,
                                 .trainer = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.01},
                                             .schedule = {.kind = HEED_LINEAR, .lr = 0.003},
                                             .clip = 1,
                                             .average = 0.9},
                                 .steps = 9,
                                 .evaluate_every = 2};
    const heed_examples_opts on = {.train = data,
                                   .train_rows = rows,
                                   .n_train = n,
                                   .valid = data,
                                   .valid_rows = valid,
                                   .n_valid = n_valid,
                                   .batch = 200};
    assert_int_equal(run_on(cx, m, &on, &opts, NULL), HEED_LOOP_DONE);
    heed_mem_free(cx, rows);
    heed_mem_free(cx, valid);
    heed_model_free(cx, m);
    assert_false(heed_failed(cx));
    heed_close(cx);
}

static void test_same_bits(void **state) {
    (void)state;
    static float x[MANY][WIDE];
    static int32_t label[MANY];
    heed_random_normal(1, 0, 0, x[0], (int64_t)MANY * WIDE);
    for (int i = 0; i < MANY; i++) {
        label[i] = i % 10;
        x[i][i % 10] += 2;
    }
    const heed_data data = {.n = MANY, .width = WIDE, .x = x[0], .scale = 1, .label = label, .classes = 10};
    const char *one = in_folder("one"), *more = in_folder("more");
    train(&data, one, 1);
    for (int threads = 2; threads <= 3; threads++) {
        train(&data, more, threads);
        assert_same_files(file_in(one, "model.safetensors"), file_in(more, "model.safetensors"));
        remove_model(more);
    }
    remove_model(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
