#include "cli/task.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIGITS_TRAIN 10000
#define DIGITS_TEST  2000
#define TEST_SEED    0x7E57000000000000u /* the test's digits are others than those trained on */

static bool is_digits(const char *path) { return strcmp(path, "digits") == 0; }

bool task_has_test_part(const char *path) {
    struct stat what;
    return is_digits(path) || (stat(path, &what) == 0 && S_ISDIR(what.st_mode));
}

heed_data *task_load(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    if (!is_digits(path)) return heed_data_load(cx, path, opts);
    if (opts->task == HEED_DATA_REGRESS) {
        heed_fail(cx, HEED_ERR_USAGE, "digits: classes, not numbers to regress on");
        return NULL;
    }
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    return heed_data_digits(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), test ? DIGITS_TEST : DIGITS_TRAIN);
}

const char *task_metric_label(const char *metric) {
    return metric && strcmp(metric, "bleu") == 0 ? "greedy BLEU" : metric;
}

void task_score_text(char *out, size_t size, const char *metric, const heed_score *score) {
    if (strcmp(metric, "accuracy") == 0)
        snprintf(out, size, "accuracy %.2f %%, loss %.4g", 100 * score->metric, score->loss);
    else if (strcmp(metric, "bleu") == 0)
        snprintf(out, size, "BLEU %.2f (greedy decoding), loss %.4f", score->metric, score->loss);
    else
        snprintf(out, size, "R^2 %.6g, mean squared error %.6g", score->metric, score->loss);
}
