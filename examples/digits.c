/* A reader of digits: one hidden layer, trained on pictures that heed draws itself, and measured on others.
 *
 *   cc digits.c $(pkg-config --cflags --libs heed) -o digits */
#include <heed/heed.h>
#include <stdio.h>

enum { HIDDEN = 128, BATCH = 64, EPOCHS = 10, N_TRAIN = 8000, N_TEST = 1000 };

static double accuracy(heed_ctx *cx, const heed_mlp *mlp, heed_batches *batches) {
    int64_t right = 0, seen = 0;
    heed_set_grad(cx, false);
    heed_set_training(cx, false);
    for (const heed_batch *b = heed_batches_next(cx, batches); b; b = b->last ? NULL : heed_batches_next(cx, batches)) {
        const int32_t *label = heed_batch_i32(b, "labels");
        heed_tensor *logits = heed_mlp_run(cx, mlp, heed_batch_tensor(cx, b, "x"));
        const int32_t *said = heed_i32(heed_argmax(cx, logits, -1, false));
        for (int64_t i = 0; said && i < b->n; i++) right += said[i] == label[i];
        seen += b->n;
        heed_reset(cx);
    }
    return seen ? (double)right / (double)seen : 0;
}

int main(void) {
    heed_ctx *cx = heed_open(NULL);
    heed_data *train = heed_data_digits(cx, 1, N_TRAIN), *test = heed_data_digits(cx, 2, N_TEST);
    heed_dataset train_set = {0}, test_set = {0};
    heed_data_columns(cx, train, &train_set);
    heed_data_columns(cx, test, &test_set);
    heed_batches *batches =
        heed_batches_open(cx, &train_set, &(heed_batches_opts){.batch = BATCH, .shuffle = true, .seed = 1});
    heed_batches *others = heed_batches_open(cx, &test_set, &(heed_batches_opts){.batch = 200});

    heed_params *params = heed_params_new(cx);
    heed_mlp mlp;
    heed_mlp_make(cx, params, "layers", (int64_t[]){784, HIDDEN, 10}, 2, HEED_ACT_RELU, 0, &mlp);
    heed_params_allocate(cx, params);
    heed_params_init(cx, params, 1);
    const int64_t steps = EPOCHS * heed_batches_per_epoch(batches);
    heed_trainer *trainer =
        heed_trainer_new(cx, params,
                         &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAMW},
                                              .schedule = {.kind = HEED_COSINE, .lr = 2e-3, .steps = steps}});

    float last = 0;
    for (int64_t step = 0; step < steps && !heed_failed(cx); step++) {
        const heed_batch *b = heed_batches_next(cx, batches);
        if (!b) break;
        heed_trainer_begin(cx, trainer);
        heed_tensor *logits = heed_mlp_run(cx, &mlp, heed_batch_tensor(cx, b, "x"));
        heed_tensor *loss = heed_cross_entropy(cx, logits, heed_batch_tensor(cx, b, "labels"), NULL);
        heed_backward(cx, loss);
        last = heed_item(cx, loss);
        heed_trainer_step(cx, trainer, NULL);
        heed_reset(cx);
    }
    const double right = accuracy(cx, &mlp, others);
    if (heed_failed(cx)) fprintf(stderr, "%s\n", heed_message(cx));
    printf("loss %.3f; %.1f %% of %d digits it has not seen are read rightly\n", (double)last, 100 * right, N_TEST);
    const int status = !heed_failed(cx) && right > 0.9 ? 0 : 1;
    heed_trainer_free(cx, trainer);
    heed_params_free(cx, params);
    heed_batches_close(cx, others);
    heed_batches_close(cx, batches);
    heed_data_free(cx, test);
    heed_data_free(cx, train);
    heed_close(cx);
    return status;
}
