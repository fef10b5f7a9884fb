/* heed average: average the weights of several checkpoints. */
#include "cli/core/options.h"
#include "heed/model.h"
#include "model/core/directory.h"
#include "model/core/families.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "the model directory to write"},
    {.name = "force", .letter = 'f', .help = "overwrite a model that is there"},
    {.name = NULL},
};
/* clang-format on */

#define MAX_MODELS 1000

/* Another model's weights, by name and in any layout that is read; loading is strict about names and shapes. */
static bool add(heed_ctx *cx, heed_model *into, double *sum, const char *dir) {
    heed_params *params = heed_model_params(into);
    if (!model_read_weights(cx, into, dir)) return false;
    const float *w = heed_params_block(params);
    for (int64_t i = 0; i < heed_params_size(params); i++) sum[i] += (double)w[i];
    return true;
}

static void average(const struct options *o, heed_ctx *cx, const char *out) {
    const int n = options_words(o);
    heed_model *model = heed_model_load(cx, options_word(o, 0));
    const int64_t numbers = model ? heed_params_size(heed_model_params(model)) : 0;
    double *sum = model ? heed_mem_new(cx, (size_t)numbers * sizeof *sum) : NULL;
    for (int64_t i = 0; sum && i < numbers; i++) sum[i] = 0;
    for (int i = 0; sum && i < n && !heed_cancelled(cx); i++)
        if (!add(cx, model, sum, options_word(o, i))) break;
    if (!heed_failed(cx)) {
        float *w = heed_params_block(heed_model_params(model));
        for (int64_t i = 0; i < numbers; i++) w[i] = (float)(sum[i] / n);
        const int lock = directory_claim(cx, out, option_flag(o, "force") ? NULL : directory_has_model);
        if (lock >= 0 && heed_model_save(cx, model, out) && directory_copy_tokenizers(cx, options_word(o, 0), out) &&
            !option_flag(o, "quiet"))
            fprintf(stderr, "%s: average of %d models\n", out, n);
        directory_unlock(lock);
    }
    heed_mem_free(cx, sum);
    heed_model_free(cx, model);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("average", options, argc, argv, 1, MAX_MODELS, "DIR...");
    if (!o) return EXIT_USAGE;
    const char *out = option_need(o, "out");
    int status = EXIT_USAGE;
    if (out) {
        const bool taken = directory_has_model(out) && !option_flag(o, "force");
        heed_ctx *cx = taken ? NULL : options_open(o);
        status = EXIT_FAILED;
        if (taken) cli_error(EXIT_FAILED, "%s: holds a model already; --force overwrites it", out);
        if (cx) {
            average(o, cx, out);
            status = options_close(o, cx, EXIT_DONE);
        }
    }
    options_free(o);
    return status;
}

const struct command average_command = {
    .name = "average",
    .summary = "average the weights of several checkpoints",
    .words = "DIR...",
    .about =
        "Writes a model whose weights are the mean of those of the given models, which must have the same "
        "configuration. The average of the last checkpoints of a run, as 'heed train --keep N' keeps them, is often "
        "better than each of them. config.json and tokenizers are those of the first model.",
    .options = options,
    .examples = "heed train translate --data multi30k --from en --to de --keep 5 --out en-de\n"
                "heed average en-de/kept/step-* --out en-de-mean\n",
    .run = run,
};
