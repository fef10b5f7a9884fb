/* What the tests of scores share. */
#ifndef TESTS_SCORE_TEST_H
#define TESTS_SCORE_TEST_H

#include "heed/attention.h"

/* p: the parameters that a kind of score has, in the order of the golden cases. */
static heed_score_opts score_opts(heed_score_kind kind, heed_tensor *const *p) {
    heed_score_opts o = {.kind = kind};
    if (kind == HEED_SCORE_BILINEAR) o.m = p[0];
    if (kind == HEED_SCORE_ADDITIVE) o.w = p[0], o.wq = p[1], o.wk = p[2];
    if (kind >= HEED_SCORE_DISTANCE) o.sharpness = p[0];
    return o;
}

#endif
