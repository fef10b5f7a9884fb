/* Losses of models that find objects, worked out by themselves in doubles: those of denoising queries, which no Python
 * class has; what is matched when costs are no numbers; and targets that are refused. The rest is held against
 * transformers: tests/golden/model. */
#include "io/io_test.h"
#include "model/detection/detection.h"

enum { B = 2, GROUPS = 2, MOST = 3, QUERIES = GROUPS * MOST, CLASSES = 3, LAYERS = 2 };
static const int64_t counts[B] = {3, 1};

static struct detection plain(bool sigmoid) {
    return (struct detection){.classes = CLASSES,
                              .sigmoid = sigmoid,
                              .class_cost = 1,
                              .bbox_cost = 5,
                              .giou_cost = 2,
                              .bbox_loss = 5,
                              .giou_loss = 2,
                              .eos = 0.1f,
                              .focal_alpha = 0.25f};
}

static heed_tensor *drawn(heed_ctx *cx, uint64_t stream, bool uniform, int rank, const int64_t *shape) {
    float x[512];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    assert_true(n <= 512);
    (uniform ? heed_random_uniform : heed_random_normal)(5, stream, 0, x, n);
    for (int64_t i = 0; uniform && i < n; i++) x[i] = 0.1f + 0.5f * x[i];
    return heed_from_f32(cx, x, rank, shape);
}

static void put_targets(heed_ctx *cx, heed_io *in) {
    for (int i = 0; i < B; i++) {
        char name[64];
        int32_t labels[MOST];
        for (int k = 0; k < MOST; k++) labels[k] = (i + k) % CLASSES;
        snprintf(name, sizeof name, "labels.%d.class_labels", i);
        heed_io_put(cx, in, name, heed_from_i32(cx, labels, 1, &counts[i]));
        snprintf(name, sizeof name, "labels.%d.boxes", i);
        heed_io_put(cx, in, name, drawn(cx, 100 + (uint64_t)i, true, 2, (int64_t[]){counts[i], 4}));
    }
}

static void put_denoising(heed_ctx *cx, heed_io *in) {
    int32_t labels[B * QUERIES];
    for (int i = 0; i < B * QUERIES; i++) labels[i] = i % MOST < counts[i / QUERIES] ? i % CLASSES : -1;
    heed_io_put(cx, in, "denoising.labels", heed_from_i32(cx, labels, 3, (int64_t[]){B, GROUPS, MOST}));
}

/* ---- by themselves ---- */

static double class_loss(const float *x, int label, bool sigmoid) {
    double sum = 0, loss = 0;
    for (int c = 0; c <= CLASSES; c++) sum += exp((double)x[c]);
    if (!sigmoid) return log(sum) - (double)x[label];
    for (int c = 0; c < CLASSES; c++) {
        const double p = 1 / (1 + exp(-(double)x[c])), q = c == label ? p : 1 - p;
        loss -= (c == label ? 0.25 : 0.75) * (1 - q) * (1 - q) * log(q);
    }
    return loss;
}

static double distance(const float *a, const float *b) {
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += fabs((double)a[i] - (double)b[i]);
    return sum;
}

static double giou_loss(const float *a, const float *b) {
    double both = 1, hull = 1;
    for (int i = 0; i < 2; i++) {
        const double low[] = {(double)a[i] - (double)a[i + 2] / 2, (double)b[i] - (double)b[i + 2] / 2};
        const double high[] = {(double)a[i] + (double)a[i + 2] / 2, (double)b[i] + (double)b[i + 2] / 2};
        both *= fmax(fmin(high[0], high[1]) - fmax(low[0], low[1]), 0);
        hull *= fmax(high[0], high[1]) - fmin(low[0], low[1]);
    }
    const double all = (double)a[2] * (double)a[3] + (double)b[2] * (double)b[3] - both;
    return 1 - (both / all - (hull - all) / hull);
}

struct sums {
    double class, distance, giou;
};

/* Means over the queries that do not pad. */
static struct sums by_itself(const heed_io *in, const heed_tensor *logits, const heed_tensor *boxes, bool sigmoid) {
    const int width = CLASSES + !sigmoid;
    struct sums s = {0};
    int n = 0;
    for (int i = 0; i < B; i++) {
        char name[64];
        snprintf(name, sizeof name, "labels.%d.boxes", i);
        const float *const truth = heed_f32(heed_io_get(in, name));
        for (int q = 0; q < QUERIES; q++) {
            const int k = q % MOST, at = i * QUERIES + q;
            float x[CLASSES + 1] = {0};
            if (k >= counts[i]) continue;
            memcpy(x, heed_f32(logits) + at * width, (size_t)width * sizeof *x);
            s.class += class_loss(x, (i + k) % CLASSES, sigmoid);
            s.distance += distance(heed_f32(boxes) + 4 * at, truth + 4 * k);
            s.giou += giou_loss(heed_f32(boxes) + 4 * at, truth + 4 * k);
            n++;
        }
    }
    return (struct sums){s.class / n, s.distance / n, s.giou / n};
}

static void near(heed_ctx *cx, const heed_io *out, const char *name, double want) {
    heed_tensor *const t = heed_io_get(out, name);
    if (!t) fail_msg("there is no %s: %s", name, heed_message(cx));
    const double got = (double)heed_item(cx, t);
    if (!(fabs(got - want) <= 1e-5 * fabs(want) + 1e-6)) fail_msg("%s: %.9g, not %.9g", name, got, want);
}

static void denoise(bool sigmoid) {
    heed_ctx *cx = open_context();
    const struct detection d = plain(sigmoid);
    const int64_t shape[] = {B, QUERIES, CLASSES + !sigmoid}, of_boxes[] = {B, QUERIES, 4};
    heed_tensor *own[2], *logits[LAYERS], *boxes[LAYERS];
    heed_io in = {0}, out = {0};
    put_targets(cx, &in);
    put_denoising(cx, &in);
    own[0] = drawn(cx, 1, false, 3, shape), own[1] = drawn(cx, 2, true, 3, of_boxes);
    for (int i = 0; i < LAYERS; i++) {
        logits[i] = heed_want_grad(cx, drawn(cx, 10 + (uint64_t)i, false, 3, shape));
        boxes[i] = heed_want_grad(cx, drawn(cx, 20 + (uint64_t)i, true, 3, of_boxes));
    }
    assert_true(detection_put(cx, &d, &in, &own[0], &own[1], 1, &out));
    double total = (double)heed_item(cx, heed_io_get(&out, "loss"));
    assert_true(detection_put_denoising(cx, &d, &in, logits, boxes, LAYERS, &out));
    for (int i = 0; i < LAYERS; i++) {
        static const char *const suffix[] = {"_dn_0", "_dn"};
        const struct sums s = by_itself(&in, logits[i], boxes[i], sigmoid);
        char name[64];
        snprintf(name, sizeof name, "loss_dict.loss_ce%s", suffix[i]);
        near(cx, &out, name, s.class);
        snprintf(name, sizeof name, "loss_dict.loss_bbox%s", suffix[i]);
        near(cx, &out, name, s.distance);
        snprintf(name, sizeof name, "loss_dict.loss_giou%s", suffix[i]);
        near(cx, &out, name, s.giou);
        total += s.class + 5 * s.distance + 2 * s.giou;
    }
    near(cx, &out, "loss", total);
    assert_true(heed_backward(cx, heed_io_get(&out, "loss")));
    for (int i = 0; i < LAYERS; i++) {
        const float *const g = heed_f32(heed_grad_of(cx, logits[i]));
        for (int at = 0; at < B * QUERIES; at++) {
            const bool pads = at % MOST >= counts[at / QUERIES];
            assert_int_equal(g[at * shape[2]] == 0, pads); /* what pads is not trained */
        }
    }
    heed_reset(cx);
    close_context(cx);
}

static void test_denoising(void **state) {
    (void)state;
    denoise(false);
    denoise(true);
}

/* ---- matching ---- */

/* The query whose box is the object's is matched, whatever others are; one whose numbers are none only at the end. */
static void test_matching(void **state) {
    (void)state;
    for (int lost = 0; lost < QUERIES; lost++) {
        heed_ctx *cx = open_context();
        const struct detection d = plain(true);
        float x[B * QUERIES * CLASSES] = {0}, b[B * QUERIES * 4];
        heed_io in = {0}, out = {0};
        put_targets(cx, &in);
        for (int i = 0; i < B * QUERIES * 4; i++) b[i] = 0.5f;
        for (int i = 0; i < B; i++) {
            char name[64];
            snprintf(name, sizeof name, "labels.%d.boxes", i);
            for (int k = 0, q = 0; k < counts[i]; k++, q++) {
                q += q == lost;
                memcpy(b + 4 * (i * QUERIES + q), heed_f32(heed_io_get(&in, name)) + 4 * k, 4 * sizeof *b);
            }
            b[4 * (i * QUERIES + lost)] = NAN;
        }
        heed_tensor *logits = heed_from_f32(cx, x, 3, (int64_t[]){B, QUERIES, CLASSES});
        heed_tensor *boxes = heed_from_f32(cx, b, 3, (int64_t[]){B, QUERIES, 4});
        assert_true(detection_put(cx, &d, &in, &logits, &boxes, 1, &out));
        near(cx, &out, "loss_dict.loss_bbox", 0);
        near(cx, &out, "loss_dict.loss_giou", 0);
        heed_reset(cx);
        close_context(cx);
    }
}

/* ---- refusals ---- */

static void refused(const char *name, heed_tensor *(*make)(heed_ctx *cx), const char *sentence) {
    heed_ctx *cx = open_context();
    struct detection d = plain(false);
    heed_io in = {0}, out = {0};
    put_targets(cx, &in);
    put_denoising(cx, &in);
    if (name) heed_io_put(cx, &in, name, make(cx));
    if (!name) d.class_cost = d.bbox_cost = d.giou_cost = 0;
    heed_tensor *logits = drawn(cx, 1, false, 3, (int64_t[]){B, QUERIES, CLASSES + 1});
    heed_tensor *boxes = drawn(cx, 2, true, 3, (int64_t[]){B, QUERIES, 4});
    const bool ok = detection_put(cx, &d, &in, &logits, &boxes, 1, &out) &&
                    detection_put_denoising(cx, &d, &in, &logits, &boxes, 1, &out);
    assert_false(ok);
    if (!strstr(heed_message(cx), sentence)) fail_msg("'%s' should hold '%s'", heed_message(cx), sentence);
    heed_clear(cx);
    close_context(cx);
}

static heed_tensor *class_beyond(heed_ctx *cx) {
    return heed_from_i32(cx, (const int32_t[]){1, 3, 0}, 1, (const int64_t[]){3});
}
static heed_tensor *class_below(heed_ctx *cx) { return heed_from_i32(cx, (const int32_t[]){-1}, 1, (int64_t[]){1}); }
static heed_tensor *class_of_numbers(heed_ctx *cx) { return heed_full(cx, 1, 1, (int64_t[]){3}); }
static heed_tensor *two_boxes(heed_ctx *cx) { return heed_full(cx, 0.5f, 2, (int64_t[]){2, 4}); }
static heed_tensor *three_sides(heed_ctx *cx) { return heed_full(cx, 0.5f, 2, (int64_t[]){3, 3}); }
static heed_tensor *inside_out(heed_ctx *cx) {
    return heed_from_f32(cx, (const float[]){0.5f, 0.5f, -0.1f, 0.2f}, 2, (int64_t[]){1, 4});
}
static heed_tensor *no_number(heed_ctx *cx) {
    return heed_from_f32(cx, (const float[]){NAN, 0.5f, 0.1f, 0.2f}, 2, (int64_t[]){1, 4});
}
static heed_tensor *one_box(heed_ctx *cx) { return heed_full(cx, 0.5f, 2, (int64_t[]){1, 4}); }
static heed_tensor *few_queries(heed_ctx *cx) { return heed_zeros(cx, HEED_I32, 3, (int64_t[]){B, 1, MOST}); }
static heed_tensor *small_groups(heed_ctx *cx) { return heed_zeros(cx, HEED_I32, 3, (int64_t[]){B, 3, 2}); }

static void test_refusals(void **state) {
    (void)state;
    refused("labels.0.class_labels", class_beyond, "class 3 of object 1 is not below 3");
    refused("labels.1.class_labels", class_below, "class -1 of object 0");
    refused("labels.0.class_labels", class_of_numbers, "labels.0.class_labels: whole numbers");
    refused("labels.0.boxes", two_boxes, "labels.0.boxes: numbers of shape (3,4) are needed, not f32 (2,4)");
    refused("labels.0.boxes", three_sides, "numbers of shape (3,4)");
    refused("labels.1.boxes", inside_out, "labels.1.boxes: the box of object 0");
    refused("labels.1.boxes", no_number, "is not a centre, a width and a height");
    refused("labels.2.boxes", one_box, "targets of 2 pictures are needed");
    refused("denoising.labels", few_queries, "does not fit 6 queries");
    refused("denoising.labels", small_groups, "has no room for the 3 objects of picture 0");
    refused(NULL, NULL, "class_cost, bbox_cost and giou_cost are 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denoising),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
