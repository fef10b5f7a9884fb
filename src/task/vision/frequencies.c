/* Accuracy against the frequencies that are left in pictures (Bai et al. 2022): within a disc of the centred spectrum,
 * and outside it. Pictures are filtered as the model takes them, so that without low frequencies a picture is grey
 * where the training data are so on average. */
#include "io/text.h"
#include "task/vision/pictures_way.h"
#include <math.h>
#include <string.h>

#define MAX_RADII 64
#define PARTS     8 /* of half the shorter side, where nobody asked for radii */

static bool wrong(heed_ctx *cx, const char *text) {
    return heed_fail(cx, HEED_ERR_USAGE,
                     "eval: --radii: '%s' is not a list of 1 to %d rising numbers from 0, such as 2,4,8",
                     escaped(text).s, MAX_RADII);
}

static bool read_radii(heed_ctx *cx, const char *text, double radius[MAX_RADII], int *n) {
    for (const char *at = text;; at++) {
        char one[32];
        const size_t length = strcspn(at, ",");
        bool range;
        if (*n == MAX_RADII || length >= sizeof one) return wrong(cx, text);
        memcpy(one, at, length);
        one[length] = 0;
        double *const r = &radius[*n];
        if (!number_read(one, r, &range) || !(*r >= 0 && *r < 1e6) || (*n > 0 && *r <= r[-1])) return wrong(cx, text);
        ++*n;
        at += length;
        if (!*at) return true;
    }
}

/* From 0 to half the shorter side, in whole numbers. */
static void choose_radii(const heed_picture_input *in, double radius[MAX_RADII], int *n) {
    const int64_t side = in->height < in->width ? in->height : in->width;
    for (int64_t k = 0; k <= PARTS; k++) {
        const double r = (double)(k * side / 2 / PARTS);
        if (*n == 0 || r > radius[*n - 1]) radius[(*n)++] = r;
    }
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_picture_set *set, const heed_picture_input *input,
                    heed_picture_measure_opts opts, float low, float high, heed_score *score) {
    const float band[] = {low, high};
    opts.band = band;
    return heed_picture_measure(cx, model, set, input, &opts, score);
}

bool picture_radii(heed_ctx *cx, const char *radii, const heed_picture_input *input, struct evaluated_frequencies *to) {
    double radius[MAX_RADII];
    int n = 0;
    if (!radii)
        choose_radii(input, radius, &n);
    else if (!read_radii(cx, radii, radius, &n))
        return false;
    *to = (struct evaluated_frequencies){.height = input->height,
                                         .width = input->width,
                                         .n = n,
                                         .radius = heed_mem_new(cx, (size_t)n * sizeof *to->radius),
                                         .low = heed_mem_new(cx, (size_t)n * sizeof *to->low),
                                         .high = heed_mem_new(cx, (size_t)n * sizeof *to->high)};
    if (to->radius) memcpy(to->radius, radius, (size_t)n * sizeof *radius);
    return !heed_failed(cx);
}

bool picture_frequencies(heed_ctx *cx, const heed_model *model, const heed_picture_set *set,
                         const heed_picture_input *input, const heed_picture_measure_opts *opts,
                         struct evaluated_frequencies *to) {
    for (int i = 0; i < to->n; i++) {
        const float radius = (float)to->radius[i];
        if (!measure(cx, model, set, input, *opts, -1, radius, &to->low[i]) ||
            !measure(cx, model, set, input, *opts, radius, INFINITY, &to->high[i]))
            return false;
    }
    return true;
}

void picture_frequencies_free(heed_ctx *cx, struct evaluated_frequencies *f) {
    heed_mem_free(cx, f->radius);
    heed_mem_free(cx, f->low);
    heed_mem_free(cx, f->high);
}
