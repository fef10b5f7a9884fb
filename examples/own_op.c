/* An op of one's own with its own backward: Swish with a learnt slope, y = x sigmoid(beta x) (Ramachandran et al.
 * 2017). dx = dy (s + beta x s (1 - s)),  dbeta = sum dy x^2 s (1 - s),  s = sigmoid(beta x) docs/adding-an-op.md
 * explains the record line by line. */
#include <heed/heed.h>
#include <math.h>
#include <stdio.h>

static bool swish_infer(heed_op_call *c) {
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32)) return false;
    if (heed_count(c->in[1]) != 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "beta of shape %s is not one number", heed_shape_text(c->in[1]).s);
    return heed_op_like(c, 0, 0);
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static bool swish_forward(heed_op_call *c) {
    const float *x = heed_f32(c->in[0]), beta = heed_f32(c->in[1])[0];
    for (int64_t i = 0; i < heed_count(c->in[0]); i++) heed_op_f32(c, 0)[i] = x[i] * sigmoid(beta * x[i]);
    return true;
}

static bool swish_backward(heed_op_call *c) {
    const float *x = heed_f32(c->in[0]), beta = heed_f32(c->in[1])[0], *dy = c->dout[0];
    double sum = 0;
    for (int64_t i = 0; i < heed_count(c->in[0]); i++) {
        const float s = sigmoid(beta * x[i]);
        if (c->din[0]) c->din[0][i] = dy[i] * (s + beta * x[i] * s * (1 - s));
        sum += (double)(dy[i] * x[i] * x[i] * s * (1 - s));
    }
    if (c->din[1]) c->din[1][0] = (float)sum;
    return true;
}

static const heed_op swish = {
    .name = "swish", .infer = swish_infer, .forward = swish_forward, .backward = swish_backward, .save_in = 1 | 2};

/* sum of dy y, as a number, for finite differences */
static double value(heed_ctx *cx, const float *x, float beta, const float *dy, int64_t n) {
    heed_tensor *in[2] = {heed_from_f32(cx, x, 1, &n), heed_from_f32(cx, &beta, 0, NULL)}, *y;
    heed_apply(cx, &swish, NULL, in, 2, &y, 1);
    y = heed_sum(cx, heed_mul(cx, y, heed_from_f32(cx, dy, 1, &n)), NULL, 0, false);
    const double v = (double)heed_item(cx, y);
    heed_reset(cx);
    return v;
}

int main(void) {
    enum { N = 8 };
    const int64_t n = N;
    float x[N], dy[N], beta = 1.5f;
    heed_random_normal(1, 0, 0, x, N);
    heed_random_normal(1, 1, 0, dy, N);
    heed_ctx *cx = heed_open(NULL);

    heed_tensor *in[2] = {heed_want_grad(cx, heed_from_f32(cx, x, 1, &n)),
                          heed_want_grad(cx, heed_from_f32(cx, &beta, 0, NULL))};
    heed_tensor *y;
    heed_apply(cx, &swish, NULL, in, 2, &y, 1);
    heed_backward_from(cx, y, heed_from_f32(cx, dy, 1, &n));
    const float dbeta = heed_item(cx, heed_grad_of(cx, in[1]));
    float dx[N] = {0};
    heed_copy_f32(cx, heed_grad_of(cx, in[0]), dx, N);
    heed_reset(cx);

    const float h = 1e-2f;
    double worst =
        fabs((value(cx, x, beta + h, dy, n) - value(cx, x, beta - h, dy, n)) / (2 * (double)h) - (double)dbeta);
    for (int i = 0; i < N; i++) {
        float up[N], down[N];
        for (int k = 0; k < N; k++) up[k] = down[k] = x[k];
        up[i] += h;
        down[i] -= h;
        const double slope = (value(cx, up, beta, dy, n) - value(cx, down, beta, dy, n)) / (2 * (double)h);
        worst = fmax(worst, fabs(slope - (double)dx[i]));
    }
    if (heed_failed(cx)) fprintf(stderr, "%s\n", heed_message(cx));
    printf("swish: d/dbeta = %.4f; gradients agree with finite differences to %.1e\n", (double)dbeta, worst);
    const int status = !heed_failed(cx) && worst < 2e-3 ? 0 : 1;
    heed_close(cx);
    return status;
}
