#include "task/tables/table_data.h"
#include "data/recognise.h"
#include <string.h>

#define TEST_SEED 0x7E57000000000000u /* what is drawn to test on differs from what is drawn to train on */

/* Pictures that are drawn, by the word that stands for them. */
struct drawn {
    const char *word;
    heed_data *(*draw)(heed_ctx *cx, uint64_t seed, int64_t n);
    int64_t train, test; /* how many */
};
static const struct drawn *drawn_of(const char *path) {
    static const struct drawn all[] = {{"digits", heed_data_digits, 10000, 2000},
                                       {"same-shapes", heed_data_same_shapes, 20000, 2000}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(path, all[i].word) == 0) return &all[i];
    return NULL;
}

bool table_data_has_parts(const char *path) { return drawn_of(path) || data_is_folder(path); }

bool table_data_has_test_part(const char *path) {
    return drawn_of(path) || (data_is_folder(path) && data_has_test(path));
}

heed_data *table_data_load(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    const struct drawn *const drawn = drawn_of(path);
    if (!drawn) return heed_data_load(cx, path, opts);
    if (opts->task == HEED_DATA_REGRESS) {
        heed_fail(cx, HEED_ERR_USAGE, "%s: classes, not numbers to regress on", path);
        return NULL;
    }
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    return drawn->draw(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), test ? drawn->test : drawn->train);
}
