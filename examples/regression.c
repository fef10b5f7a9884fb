/* A line through points, by gradient descent on the tape: y = 2 x - 1 is found again from noisy samples.
 *
 *   cc regression.c $(pkg-config --cflags --libs heed) -o regression */
#include <heed/heed.h>
#include <stdio.h>

enum { N = 200 };

int main(void) {
    heed_ctx *cx = heed_open(NULL); /* threads, seed, byte budget: defaults */

    float x[N], y[N], noise[N];
    heed_random_uniform(1, 0, 0, x, N);
    heed_random_normal(1, 1, 0, noise, N);
    for (int i = 0; i < N; i++) y[i] = 2 * x[i] - 1 + 0.05f * noise[i];

    float weight = 0, bias = 0, weight_grad, bias_grad;
    heed_grad dw = {.data = &weight_grad}, db = {.data = &bias_grad};
    float loss = 0;
    for (int step = 0; step < 400; step++) {
        heed_tensor *inputs = heed_borrow(cx, HEED_F32, x, 2, (int64_t[]){N, 1}, NULL); /* our arrays, not copied */
        heed_tensor *wanted = heed_borrow(cx, HEED_F32, y, 2, (int64_t[]){N, 1}, NULL);
        heed_tensor *w = heed_borrow(cx, HEED_F32, &weight, 2, (int64_t[]){1, 1}, &dw);
        heed_tensor *b = heed_borrow(cx, HEED_F32, &bias, 1, (int64_t[]){1}, &db);
        heed_tensor *error = heed_mse_loss(cx, heed_linear(cx, inputs, w, b), wanted, HEED_REDUCE_MEAN);
        heed_backward(cx, error);
        loss = heed_item(cx, error);
        heed_reset(cx); /* the step's tensors are gone; the gradients are ours */
        weight -= 0.5f * weight_grad;
        bias -= 0.5f * bias_grad;
        dw.filled = db.filled = false;
    }
    if (heed_failed(cx)) { /* errors stick: one check at the end is enough */
        fprintf(stderr, "%s\n", heed_message(cx));
        heed_close(cx);
        return 1;
    }
    printf("y = %.2f x %+.2f, mean squared error %.4f\n", (double)weight, (double)bias, (double)loss);
    heed_close(cx);
    return weight > 1.9f && weight < 2.1f && bias > -1.1f && bias < -0.9f ? 0 : 1;
}
