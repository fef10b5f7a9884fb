/* What the tests of the train room share: small data sets, models of them, and directories to throw away. */
#ifndef TESTS_TRAIN_TEST_H
#define TESTS_TRAIN_TEST_H

#include "heed/loop.h"
#include "io/io_test.h"
#include <math.h>

enum { EXAMPLES = 100, WIDTH = 3, CLASSES = 3 };

/* Points around three centres, labelled by the nearest; y is a curve of them. */
struct points {
    float x[EXAMPLES][WIDTH], y[EXAMPLES][2];
    int32_t label[EXAMPLES];
};

static UNUSED void draw_points(struct points *p, uint64_t seed) {
    heed_random_normal(seed, 0, 0, p->x[0], (int64_t)EXAMPLES * WIDTH);
    for (int i = 0; i < EXAMPLES; i++) {
        p->label[i] = i % CLASSES;
        p->x[i][i % CLASSES] += 1.5f;
        p->y[i][0] = 3 * p->x[i][0] - p->x[i][1] * p->x[i][2] + 10;
        p->y[i][1] = 100 * p->x[i][1];
    }
}

static UNUSED heed_data classes_of(struct points *p) {
    return (heed_data){.n = EXAMPLES, .width = WIDTH, .x = p->x[0], .scale = 1, .label = p->label, .classes = CLASSES};
}

static UNUSED heed_data numbers_of(struct points *p) {
    return (heed_data){.n = EXAMPLES, .width = WIDTH, .x = p->x[0], .scale = 1, .y = p->y[0], .outputs = 2};
}

static UNUSED heed_model *new_model(heed_ctx *cx, const heed_data *data, const char *more) {
    const char *settings[] = {"input_size=3", data->label ? "output_size=3" : "output_size=2",
                              data->label ? "task=classify" : "task=regress", "hidden_sizes=8", more};
    heed_model *m = heed_model_new(cx, heed_family_find("mlp"), settings, more ? 5 : 4, 11);
    assert_non_null(m);
    return m;
}

/* ---- directories of models ---- */

static UNUSED const char *file_in(const char *dir, const char *name) {
    static char paths[4][512];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static UNUSED void remove_model(const char *dir) {
    static const char *const files[] = {"config.json", "model.safetensors", "checkpoint.safetensors"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(file_in(dir, files[i]));
    assert_true(rmdir(dir) == 0 || access(dir, F_OK) != 0); /* nothing else is left in it */
}

static UNUSED void assert_same_files(const char *a, const char *b) {
    size_t n, m;
    char *x = read_bytes(a, &n), *y = read_bytes(b, &m);
    if (n != m || memcmp(x, y, n) != 0) fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

/* heed_loop_run on a data set. */
static inline heed_loop_end run_on(heed_ctx *cx, heed_model *m, const heed_examples_opts *on,
                                   const heed_loop_opts *opts, heed_loop_state *state) {
    heed_examples *e = heed_examples_new(cx, on);
    heed_loop_opts with = *opts;
    with.source = heed_examples_source(e);
    const heed_loop_end end = heed_loop_run(cx, m, &with, state);
    heed_examples_free(cx, e);
    return end;
}

#endif
