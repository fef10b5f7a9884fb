/* heed new: a model directory with fresh weights. */
#include "cli/options.h"
#include "heed/model.h"
#include "model/directory.h"
#include <stdio.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "task", .letter = 't', .kind = OPTION_TEXT, .value = "TASK",
     .help = "the head: what it is to be trained for; without it the family's first"},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, .value = "KEY=VALUE",
     .help = "a key of config.json; lists as 128,64"},
    {.name = "force", .letter = 'f', .help = "replace a model that is there"},
    {.name = NULL},
};
/* clang-format on */

/* Whether dir has a file of a model in it. */
static bool holds_model(const char *dir) {
    static const char *const files[] = {"config.json", "model.safetensors", "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (directory_has(dir, files[i])) return true;
    return false;
}

static int make(const struct options *o, const heed_family *family, const heed_head *head, const char *dir) {
    const char *const *settings;
    const int n = option_list(o, "set", &settings);
    heed_ctx *cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    heed_model *model = heed_model_new_as(cx, family, head, settings, n, heed_seed(cx));
    const int lock = model ? directory_claim(cx, dir, option_flag(o, "force") ? NULL : holds_model) : -1;
    if (lock >= 0 && heed_model_save(cx, model, dir) && !option_flag(o, "quiet"))
        fprintf(stderr, "%s: %s with %lld parameters\n", dir, family->name,
                (long long)heed_params_numbers(heed_model_params(model)));
    const bool wrong_settings = !model && (heed_error(cx) == HEED_ERR_USAGE || heed_error(cx) == HEED_ERR_FORMAT);
    directory_unlock(lock);
    heed_model_free(cx, model);
    const int status = options_close(o, cx, EXIT_DONE);
    return wrong_settings ? EXIT_USAGE : status;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("new", options, argc, argv, 2, 2, "FAMILY DIR");
    if (!o) return EXIT_USAGE;
    const heed_family *family = cli_family("new", options_word(o, 0));
    const heed_head *head = family ? heed_head_for(family, option_text(o, "task")) : NULL;
    const char *dir = options_word(o, 1);
    int status = EXIT_USAGE;
    if (family && holds_model(dir) && !option_flag(o, "force"))
        status = cli_error(EXIT_FAILED, "%s: holds a model already; --force replaces it", dir);
    else if (head)
        status = make(o, family, head, dir);
    else if (family)
        cli_error(EXIT_USAGE, "new: --task: %s has no head for '%s'; 'heed list %s' shows those it has", family->name,
                  option_text(o, "task"), family->name);
    options_free(o);
    return status;
}

const struct command new_command = {
    .name = "new",
    .summary = "a directory with fresh weights",
    .words = "FAMILY DIR",
    .about = "Makes a model directory, config.json and model.safetensors, with weights drawn from --seed. 'heed list "
             "FAMILY' shows the architectures with the task of each, and the keys that --set takes.",
    .options = options,
    .examples = "heed new mlp digits --set input_size=784 --set output_size=10 --set hidden_sizes=256,128 --set "
                "task=classify\nheed new bert sentiment --task classify --set vocab_size=30522\nheed new "
                "kernel-pooling nw --set points=50 --set kernel=boxcar\n",
    .run = run,
    .first = cli_family_name,
};
