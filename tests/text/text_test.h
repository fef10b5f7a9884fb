/* What the tests of text share: the golden files. */
#ifndef TESTS_TEXT_TEST_H
#define TESTS_TEXT_TEST_H

#include "heed/text.h"
#include "io/io_test.h"

static UNUSED heed_json open_golden(heed_ctx *cx, const char *name) {
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/text/%s", root ? root : HEED_SOURCE_DIR "/tests/golden", name);
    const heed_json doc = heed_json_open(cx, path);
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    return doc;
}

#endif
