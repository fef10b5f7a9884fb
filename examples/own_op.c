/* An op of one's own with its own backward: Swish with a learnt slope (Ramachandran et al. 2017).
 *   y = x s,   dx = dy (s + beta x s (1 - s)),   dbeta = sum dy x^2 s (1 - s),   s = sigmoid(beta x)
 * x, y: any shape; beta: one number. docs/adding-an-op.md explains the record.
 *   cc own_op.c $(pkg-config --cflags --libs heed) -lm -o own_op */
#include <heed/heed.h>
#include <math.h>
#include <stdio.h>

#define PART ((int64_t)4096) /* numbers of a task: cut by shape alone, so that bits do not depend on the threads */

static int64_t parts_of(const heed_op_call *c) { return (heed_count(c->in[0]) + PART - 1) / PART; }

static bool swish_infer(heed_op_call *c) {
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32)) return false;
    if (heed_count(c->in[1]) != 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "beta of shape %s is not one number", heed_shape_text(c->in[1]).s);
    c->work_backward = (size_t)parts_of(c) * sizeof(double); /* a sum for each task */
    return heed_op_like(c, 0, 0);
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static void forward_part(void *arg, int64_t task, void *scratch) {
    heed_op_call *c = arg;
    const float *x = heed_f32(c->in[0]), beta = heed_f32(c->in[1])[0];
    float *y = heed_op_f32(c, 0);
    const int64_t n = heed_count(c->in[0]), end = (task + 1) * PART < n ? (task + 1) * PART : n;
    (void)scratch;
    for (int64_t i = task * PART; i < end; i++) y[i] = x[i] * sigmoid(beta * x[i]);
}

static bool swish_forward(heed_op_call *c) {
    heed_parallel(c->cx, parts_of(c), forward_part, c);
    return true;
}

static void backward_part(void *arg, int64_t task, void *scratch) {
    heed_op_call *c = arg;
    const float *x = heed_f32(c->in[0]), beta = heed_f32(c->in[1])[0], *dy = c->dout[0];
    const int64_t n = heed_count(c->in[0]), end = (task + 1) * PART < n ? (task + 1) * PART : n;
    double sum = 0;
    (void)scratch;
    for (int64_t i = task * PART; i < end; i++) {
        const float s = sigmoid(beta * x[i]);
        if (c->din[0]) c->din[0][i] = dy[i] * (s + beta * x[i] * s * (1 - s));
        sum += (double)(dy[i] * x[i] * x[i] * s * (1 - s));
    }
    ((double *)c->work)[task] = sum;
}

static bool swish_backward(heed_op_call *c) {
    heed_parallel(c->cx, parts_of(c), backward_part, c);
    double sum = 0;
    for (int64_t i = 0; i < parts_of(c); i++) sum += ((double *)c->work)[i];
    if (c->din[1]) c->din[1][0] = (float)sum;
    return true;
}

static const heed_op swish = {
    .name = "swish", .infer = swish_infer, .forward = swish_forward, .backward = swish_backward, .save_in = 1 | 2};

static heed_tensor *apply_swish(heed_ctx *cx, heed_tensor *x, heed_tensor *beta) {
    heed_tensor *y;
    heed_apply(cx, &swish, NULL, (heed_tensor *[]){x, beta}, 2, &y, 1);
    return y;
}

/* ---- its gradients against finite differences ---- */

enum { N = 10000 };
static float x[N], dy[N], v[N];

/* L = sum dy y at x + h v and beta + h, where it can be differentiated by h. */
static double loss(heed_ctx *cx, float h, float beta) {
    static float moved[N];
    const int64_t n = N;
    for (int i = 0; i < N; i++) moved[i] = x[i] + h * v[i];
    beta += h;
    heed_tensor *y = apply_swish(cx, heed_from_f32(cx, moved, 1, &n), heed_from_f32(cx, &beta, 0, NULL));
    const float *numbers = heed_f32(y);
    double sum = 0;
    for (int i = 0; numbers && i < N; i++) sum += (double)dy[i] * (double)numbers[i];
    heed_reset(cx);
    return sum;
}

int main(void) {
    const int64_t n = N;
    const float beta = 1.5f, h = 1e-2f;
    heed_random_normal(1, 0, 0, x, N);
    heed_random_normal(1, 1, 0, dy, N);
    heed_random_normal(1, 2, 0, v, N);
    heed_ctx *cx = heed_open(NULL);

    heed_tensor *in = heed_want_grad(cx, heed_from_f32(cx, x, 1, &n));
    heed_tensor *slope = heed_want_grad(cx, heed_from_f32(cx, &beta, 0, NULL));
    heed_backward_from(cx, apply_swish(cx, in, slope), heed_from_f32(cx, dy, 1, &n));
    const float *dx = heed_f32(heed_grad_of(cx, in)), dbeta = heed_item(cx, heed_grad_of(cx, slope));
    double along = (double)dbeta; /* dL/dh */
    for (int i = 0; dx && i < N; i++) along += (double)dx[i] * (double)v[i];
    heed_reset(cx);

    const double difference = (loss(cx, h, beta) - loss(cx, -h, beta)) / (2 * (double)h);
    const double error = fabs(difference - along) / fabs(along);
    if (heed_failed(cx)) fprintf(stderr, "%s\n", heed_message(cx));
    printf("swish: dL/dbeta = %.4f; the gradient along a direction agrees with finite differences to %.1e\n",
           (double)dbeta, error);
    const int status = !heed_failed(cx) && error < 1e-2 ? 0 : 1;
    heed_close(cx);
    return status;
}
