/* heed merge: a LoRA adapter into the model that it adapts. */
#include "cli/core/options.h"
#include "heed/model.h"
#include "model/core/directory.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "the model directory to write"},
    {.name = "force", .letter = 'f', .help = "overwrite a model that is there"},
    {.name = NULL},
};
/* clang-format on */

static void merge(const struct options *o, heed_ctx *cx, const char *out) {
    const char *const base = options_word(o, 0), *const adapter = options_word(o, 1);
    if (!directory_is_adapter(adapter)) {
        heed_fail(cx, HEED_ERR_FILE, "%s: holds no " ADAPTER_CONFIG_FILE, adapter);
        return;
    }
    heed_model *model = heed_model_load_as(cx, adapter, &(heed_load_opts){.base = base});
    const char *const tokens = directory_has_tokenizers(adapter) ? adapter : base;
    const bool merged = model && heed_model_merge(cx, model);
    const int lock = merged ? directory_claim(cx, out, option_flag(o, "force") ? NULL : directory_has_model) : -1;
    if (lock >= 0 && directory_clear(cx, out) && directory_copy_tokenizers(cx, tokens, out) &&
        heed_model_save(cx, model, out) && !option_flag(o, "quiet"))
        fprintf(stderr, "%s: %s with the adapter of %s\n", out, base, adapter);
    directory_unlock(lock);
    heed_model_free(cx, model);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("merge", options, argc, argv, 2, 2, "DIR ADAPTER");
    if (!o) return EXIT_USAGE;
    const char *out = option_need(o, "out");
    int status = EXIT_USAGE;
    if (out) {
        const bool taken = directory_has_model(out) && !option_flag(o, "force");
        const bool same = strcmp(out, options_word(o, 0)) == 0 || strcmp(out, options_word(o, 1)) == 0;
        heed_ctx *cx = taken || same ? NULL : options_open(o);
        status = EXIT_FAILED;
        if (same)
            cli_error(EXIT_FAILED, "merge: --out: %s is what is merged: another directory is needed", out);
        else if (taken)
            cli_error(EXIT_FAILED, "%s: holds a model already; --force overwrites it", out);
        if (cx) {
            merge(o, cx, out);
            status = options_close(o, cx, EXIT_DONE);
        }
    }
    options_free(o);
    return status;
}

const struct command merge_command = {
    .name = "merge",
    .summary = "a LoRA adapter into its model",
    .words = "DIR ADAPTER",
    .about =
        "Writes a model like any other whose weights are those of DIR plus what the adapter adds to them: W + alpha / "
        "rank B A (Hu et al. 2021). ADAPTER is a directory with adapter_config.json and adapter_model.safetensors, as "
        "'heed train --lora' and peft write it; what its configuration says of where its model lies does not matter. "
        "Weights are f32. config.json and tokenizers are the adapter's where it has its own.",
    .options = options,
    .examples = "heed train classify --init bert-base-uncased --lora 8 --data sst2 --out adapter\n"
                "heed merge bert-base-uncased adapter --out sentiment\n",
    .run = run,
};
