/* heed new: a model directory with fresh weights, and the tokenizer that it is to read with. */
#include "cli/core/options.h"
#include "heed/model.h"
#include "model/core/directory.h"
#include "task/run.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "task", .kind = HEED_FIELD_TEXT, .value = "TASK",
     .help = "the head, by the task to train it for; by default the first of the family"},
    {.name = "set", .letter = 's', .kind = HEED_FIELD_LIST, .value = "KEY=VALUE",
     .help = "a key of config.json; lists as 128,64"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a tokenizer.json, or a directory with one, to copy into DIR; vocab_size becomes the number of its tokens, "
             "unless --set gives a larger one"},
    {.name = "force", .letter = 'f', .help = "replace a model that is there"},
    {.name = NULL},
};
/* clang-format on */

/* Whether dir has a file of a model in it. */
static bool holds_model(const char *dir) {
    static const char *const files[] = {"config.json", "model.safetensors", "model.safetensors.index.json",
                                        "diffusion_pytorch_model.safetensors",
                                        "diffusion_pytorch_model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (directory_has(dir, files[i])) return true;
    return false;
}

/* ---- the tokenizer ---- */

struct tokens {
    const char *path; /* NULL: none was asked for */
    bool directory;   /* with a tokenizer.json, and other files that belong to it */
    heed_tokenizer *of[2];
    char size[2][48]; /* settings */
};

/* Where the vocabulary's size, and that of a decoder with tokens of its own, stand in a config. */
static const char *const size_keys[] = {"vocab_size", "decoder_vocab_size"};

static bool open_tokens(heed_ctx *cx, const heed_family *family, struct tokens *t) {
    struct stat what;
    if (!t->path) return true;
    if (!run_has_key(family, "vocab_size"))
        return heed_fail(cx, HEED_ERR_USAGE, "new: --tokenizer: %s reads no tokens: its config has no vocab_size",
                         family->name);
    t->directory = stat(t->path, &what) == 0 && S_ISDIR(what.st_mode) && directory_has(t->path, TOKENIZER_FILE);
    if (t->directory) return directory_load_tokenizers(cx, t->path, t->of);
    t->of[0] = t->of[1] = heed_tokenizer_load(cx, t->path);
    return t->of[0];
}

/* The sizes go before what --set gives, which overrides them. */
static int put_sizes(const heed_family *family, struct tokens *t, const char **settings) {
    int n = 0;
    for (int i = 0; i < 2 && t->of[i]; i++) {
        if (i == 1 && (t->of[1] == t->of[0] || !run_has_key(family, size_keys[1]))) break;
        snprintf(t->size[i], sizeof t->size[i], "%s=%lld", size_keys[i], (long long)heed_tokenizer_size(t->of[i]));
        settings[n++] = t->size[i];
    }
    return n;
}

/* Every token has its embedding. */
static bool tokens_fit(heed_ctx *cx, const heed_model *model, const struct tokens *t) {
    for (int i = 0; model && i < 2 && t->of[i]; i++) {
        const int64_t own = heed_json_int_or(cx, heed_model_config(model), size_keys[i], 0),
                      needed = heed_tokenizer_size(t->of[i]);
        const int64_t size = own > 0 ? own : heed_json_int_or(cx, heed_model_config(model), size_keys[0], 0);
        if (!heed_failed(cx) && size < needed)
            return heed_fail(cx, HEED_ERR_USAGE, "new: --tokenizer: %s has %lld tokens, but %s is %lld", t->path,
                             (long long)needed, size_keys[own > 0 ? i : 0], (long long)size);
    }
    return !heed_failed(cx);
}

static bool save_tokens(heed_ctx *cx, const struct tokens *t, const char *dir) {
    if (!t->path) return true;
    return t->directory ? directory_copy_tokenizers(cx, t->path, dir) : heed_tokenizer_save(cx, t->of[0], dir);
}

/* ---- the command ---- */

static bool make_model(const struct options *o, heed_ctx *cx, const heed_family *family, const heed_head *head,
                       struct tokens *t, heed_model **model) {
    struct settings s = {.n = 0};
    const char *const *given;
    s.n = put_sizes(family, t, s.text);
    const int more = option_list(o, "set", &given);
    if (more > SETTINGS_MAX - s.n) return heed_fail(cx, HEED_ERR_USAGE, "new: %d settings are too many", more);
    for (int i = 0; i < more; i++) s.text[s.n++] = given[i];
    *model = heed_model_new_as(cx, family, head, s.text, s.n, heed_seed(cx));
    return tokens_fit(cx, *model, t);
}

static int make(const struct options *o, const heed_family *family, const heed_head *head, const char *dir) {
    struct tokens t = {.path = option_text(o, "tokenizer")};
    heed_model *model = NULL;
    heed_ctx *cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    const bool read = open_tokens(cx, family, &t);
    const bool made = read && make_model(o, cx, family, head, &t, &model);
    const bool wrong_settings =
        !made && (heed_error(cx) == HEED_ERR_USAGE || (read && heed_error(cx) == HEED_ERR_FORMAT));
    const int lock = made ? directory_claim(cx, dir, option_flag(o, "force") ? NULL : holds_model) : -1;
    if (lock >= 0 && heed_model_save(cx, model, dir) && save_tokens(cx, &t, dir) && !option_flag(o, "quiet"))
        fprintf(stderr, "%s: %s with %lld parameters\n", dir, family->name,
                (long long)heed_params_size(heed_model_params(model)));
    directory_unlock(lock);
    heed_model_free(cx, model);
    directory_free_tokenizers(cx, t.of);
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
    .about =
        "Makes a model directory, config.json and model.safetensors, with weights drawn from --seed. 'heed list "
        "FAMILY' shows the architectures with the task of each, and the keys that --set takes. With --tokenizer the "
        "directory reads text, and 'heed train TASK --init DIR' takes it as it is.",
    .options = options,
    .examples = "heed new mlp digits --set input_size=784 --set output_size=10 --set hidden_sizes=256,128 --set "
                "task=classify\nheed new bert sentiment --task classify --set vocab_size=30522\nheed new gpt2 writer "
                "--tokenizer gpt2/tokenizer.json --set n_layer=6\nheed new "
                "kernel-pooling nw --set points=50 --set kernel=boxcar\n",
    .run = run,
    .first = cli_family_name,
};
