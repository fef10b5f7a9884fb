/* What the tests of decoding share. */
#ifndef TESTS_GENERATE_TEST_H
#define TESTS_GENERATE_TEST_H

#include "heed/generate.h"
#include "io/io_test.h"

static UNUSED const char *const models[] = {"marian-shared", "marian-apart",  "bart",  "t5",      "t5-gated",
                                            "mt5",           "marian-forced", "mbart", "pegasus", "marian-options",
                                            "gpt2-options"};
enum { MODELS = 11, SOURCES = 8 };

static UNUSED heed_model *load(heed_ctx *cx, const char *name) {
    char dir[600];
    snprintf(dir, sizeof dir, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    heed_model *m = heed_model_load(cx, dir);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static UNUSED heed_generated *generate(heed_ctx *cx, const heed_model *m, const heed_ids *source, int64_t n,
                                       const heed_generate_opts *opts) {
    heed_generated *g = heed_generate(cx, m, source, n, opts);
    if (!g) fail_msg("%s", heed_message(cx));
    assert_int_equal(g->sentences, n);
    return g;
}

static UNUSED heed_tokenizer *load_tokenizer(heed_ctx *cx, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/model/%s/tokenizer.json", getenv("HEED_GOLDEN"), name);
    heed_tokenizer *t = access(path, F_OK) == 0 ? heed_tokenizer_load(cx, path) : NULL;
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    return t;
}

#endif
