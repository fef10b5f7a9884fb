#include "cli/core/data_options.h"
#include "data/recognise.h"
#include <stdio.h>
#include <string.h>

#define DIGITS_TRAIN 10000
#define DIGITS_TEST  2000
#define TEST_SEED    0x7E57000000000000u /* the test's digits are others than those trained on */

static bool is_digits(const char *path) { return strcmp(path, "digits") == 0; }

bool task_has_parts(const char *path) { return is_digits(path) || data_is_folder(path); }

bool task_has_test_part(const char *path) { return is_digits(path) || (data_is_folder(path) && data_has_test(path)); }

heed_data *task_load(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    if (!is_digits(path)) return heed_data_load(cx, path, opts);
    if (opts->task == HEED_DATA_REGRESS) {
        heed_fail(cx, HEED_ERR_USAGE, "digits: classes, not numbers to regress on");
        return NULL;
    }
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    return heed_data_digits(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), test ? DIGITS_TEST : DIGITS_TRAIN);
}

void task_score_text(char *out, size_t size, const heed_metric *const *metrics, const heed_score *score) {
    size_t used = 0;
    for (int i = 0; metrics[i] && used < size; i++) {
        const heed_metric *m = metrics[i];
        used += (size_t)snprintf(out + used, size - used, m->text,
                                 (m->scale != 0 ? m->scale : 1) * heed_score_value(score, i));
        if (used < size) used += (size_t)snprintf(out + used, size - used, ", ");
    }
    if (used < size) snprintf(out + used, size - used, metrics[0]->loss, score->loss);
}
