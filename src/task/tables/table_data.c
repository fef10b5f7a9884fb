#include "task/tables/table_data.h"
#include "data/recognise.h"
#include <string.h>

#define DIGITS_TRAIN 10000
#define DIGITS_TEST  2000
#define TEST_SEED    0x7E57000000000000u /* the digits to test on differ from those to train on */

static bool is_digits(const char *path) { return strcmp(path, "digits") == 0; }

bool table_data_has_parts(const char *path) { return is_digits(path) || data_is_folder(path); }

bool table_data_has_test_part(const char *path) {
    return is_digits(path) || (data_is_folder(path) && data_has_test(path));
}

heed_data *table_data_load(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    if (!is_digits(path)) return heed_data_load(cx, path, opts);
    if (opts->task == HEED_DATA_REGRESS) {
        heed_fail(cx, HEED_ERR_USAGE, "digits: classes, not numbers to regress on");
        return NULL;
    }
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    return heed_data_digits(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), test ? DIGITS_TEST : DIGITS_TRAIN);
}
