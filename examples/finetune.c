/* Fine-tunes a model directory on a table of texts and their classes, then classifies a text with the result.
 *
 *   cc finetune.c $(pkg-config --cflags --libs heed) -o finetune
 *   ./finetune all-MiniLM-L6-v2 reviews.tsv sentiment "A film to see twice."
 *
 * Each line of the table holds a text and its class. Whatever is not given here has the default of `heed train`. */
#include <heed/heed.h>
#include <stdio.h>

static bool report(void *user, const heed_loop_state *state) {
    (void)user;
    fprintf(stderr, "\rstep %lld of %lld, loss %.3f ", (long long)state->step, (long long)state->steps, state->loss);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 5) return fprintf(stderr, "usage: %s DIR TABLE.tsv OUT TEXT\n", argv[0]), 2;
    heed_ctx *cx = heed_open(NULL);
    const char *const options[] = {"epochs=3", "force", NULL};
    heed_run *run = heed_run_open(cx, &(heed_run_opts){.task = "classify",
                                                       .init = argv[1],
                                                       .data = argv[2],
                                                       .out = argv[3],
                                                       .options = options,
                                                       .report = report});
    heed_run_train(cx, run);
    heed_run_close(cx, run);
    fputc('\n', stderr);

    heed_text_model *model = heed_text_model_open(cx, argv[3], "classify");
    float probability[100];
    if (model && model->labels <= 100 &&
        heed_classify(cx, model, &(heed_text_input){.text = argv[4]}, 1, probability, NULL))
        for (int64_t i = 0; i < model->labels; i++) printf("%-10s %.3f\n", model->label[i], (double)probability[i]);
    heed_text_model_free(cx, model);

    const bool failed = heed_failed(cx); /* errors stick: one check at the end is enough */
    if (failed) fprintf(stderr, "%s\n", heed_message(cx));
    heed_close(cx);
    return failed;
}
