/* heed info: what a model is, and what it will take: planned in a dry context, which replays the allocator of a real
 * run without computing. */
#include "cli/classical/plain_models.h"
#include "cli/core/options.h"
#include "cli/eval/coefficients.h"
#include "heed/loop.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .standard = "32", .value = "B", .low = 1, .high = 1e9,
     .help = "examples at a time, for the plan"},
    {.name = "length", .kind = HEED_FIELD_INT, .standard = "128", .value = "T", .low = 1, .high = 1e9,
     .help = "tokens of an example, for models of sequences"},
    {.name = "verbose", .letter = 'v', .help = "every parameter with its shape"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* ---- the plan ---- */

/* Of running, or of training with AdamW. */
static bool make_plan(const struct options *o, const char *dir, bool training, heed_plan *plan) {
    heed_ctx *dry = options_open_dry(o);
    heed_model *model = heed_model_load_as(dry, dir, &(heed_load_opts){.map = !training});
    const heed_trainer_opts adamw = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-3}, .clip = 1};
    const bool ok =
        heed_plan_step(dry, model, training ? &adamw : NULL, option_int(o, "batch"), option_int(o, "length"), plan);
    if (!ok) cli_error(EXIT_FAILED, "%s", heed_message(dry));
    heed_model_free(dry, model);
    heed_close(dry);
    return ok;
}

/* How long the sequences of the plan are: a model may have fewer positions than were asked for. */
static int64_t planned_length(const struct options *o, const char *dir) {
    heed_ctx *const dry = options_open_dry(o);
    heed_model *const model = heed_model_load_as(dry, dir, &(heed_load_opts){.map = true});
    const int64_t asked = option_int(o, "length");
    int64_t length = asked;
    heed_io in;
    if (model && heed_model_sample(dry, model, 1, asked, &in) && heed_io_get(&in, "input_ids"))
        length = heed_dim(heed_io_get(&in, "input_ids"), -1);
    heed_model_free(dry, model);
    heed_close(dry);
    if (length < asked && option_given(o, "length"))
        fprintf(stderr,
                "heed: info: --length: the model has positions for %lld tokens, which are planned instead of %lld\n",
                (long long)length, (long long)asked);
    return length;
}

/* ---- facts ---- */

struct facts {
    int64_t parameters, frozen, buffers; /* numbers */
    int tensors;
    int64_t disk, length;
    heed_plan running, training;
};

static bool is_weights(const char *name) {
    const size_t n = strlen(name);
    return (strncmp(name, "model", 5) == 0 || strncmp(name, "diffusion_pytorch_model", 23) == 0) && n > 12 &&
           strcmp(name + n - 12, ".safetensors") == 0;
}

static int64_t bytes_in(const char *dir) {
    DIR *d = opendir(dir);
    int64_t bytes = 0;
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (is_weights(entry->d_name) && stat(path, &st) == 0) bytes += st.st_size;
    }
    if (d) closedir(d);
    return bytes;
}

/* Of a pipeline they are where its network is. */
static int64_t bytes_on_disk(heed_ctx *cx, const char *dir) {
    heed_directory *const d = heed_directory_open(cx, dir);
    const int64_t bytes = d ? bytes_in(heed_directory_path(d)) : 0;
    heed_directory_close(cx, d);
    return bytes;
}

static void count(const heed_params *params, struct facts *f) {
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        if (heed_param_stored(p)) f->tensors++;
        if (p->target) continue;
        *(p->buffer ? &f->buffers : &f->parameters) += p->count;
        if (p->frozen && !p->buffer) f->frozen += p->count;
    }
}

/* ---- printing ---- */

static void shape_text(const heed_param *p, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, "(");
    for (int i = 0; i < p->rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, i ? ", %lld" : "%lld", (long long)p->shape[i]);
    if (at < size) snprintf(out + at, size - at, ")");
}

static void print_plan(const char *what, const heed_plan *plan, int64_t batch) {
    char total[32], step[32];
    printf("%-12s %s at batch %lld, of which %s are tensors of the step\n", what, cli_size(plan->total, total),
           (long long)batch, cli_size(plan->step, step));
    if (plan->mapped) printf("%-12s and %s of weights, read from the mapped file\n", "", cli_size(plan->mapped, total));
}

static void print_text(const struct options *o, heed_ctx *cx, const heed_model *m, const struct facts *f) {
    const heed_family *family = heed_model_family(m);
    const heed_params *params = heed_model_params(m);
    char text[96];
    printf("%-12s %s (%s): %s\n", "family", family->name, family->type, family->summary);
    printf("%-12s %lld in %d tensors", "parameters", (long long)f->parameters, f->tensors);
    if (f->frozen) printf(", %lld of them frozen", (long long)f->frozen);
    if (f->buffers) printf("; %lld numbers in buffers", (long long)f->buffers);
    putchar('\n');
    printf("%-12s %s\n", "on disk", cli_size((size_t)f->disk, text));
    print_plan("running", &f->running, option_int(o, "batch"));
    print_plan("training", &f->training, option_int(o, "batch"));
    coefficients_print(cx, m, stdout);
    if (!option_flag(o, "verbose")) return;
    printf("\n%-48s %-24s %12s\n", "parameter", "shape", "numbers");
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        const bool tied = p->kind == HEED_PARAM_TIED;
        if (p->kind == HEED_PARAM_FUSED) continue; /* its slices have the published names */
        shape_text(p, text, sizeof text);
        printf("%-48s %-24s %12lld%s%s%s\n", p->name, text, (long long)p->count,
               p->buffer   ? "  buffer"
               : p->frozen ? "  frozen"
                           : "",
               tied ? "  tied to " : "", tied ? p->target->name : "");
    }
}

static void put_plan(heed_ctx *cx, heed_json at, const char *key, const heed_plan *plan) {
    const heed_json object = heed_json_put_object(cx, at, key);
    heed_json_put_int(cx, object, "bytes", (int64_t)plan->total);
    heed_json_put_int(cx, object, "step_bytes", (int64_t)plan->step);
    heed_json_put_int(cx, object, "mapped_bytes", (int64_t)plan->mapped);
}

static void print_json(const struct options *o, heed_ctx *cx, const heed_model *m, const struct facts *f) {
    const heed_params *params = heed_model_params(m);
    const heed_json doc = heed_json_new(cx, "info");
    heed_json_put_text(cx, doc, "name", heed_model_family(m)->name);
    heed_json_put_text(cx, doc, "model_type", heed_model_family(m)->type);
    heed_json_put_int(cx, doc, "parameters", f->parameters);
    heed_json_put_int(cx, doc, "frozen", f->frozen);
    heed_json_put_int(cx, doc, "buffers", f->buffers);
    heed_json_put_int(cx, doc, "tensors", f->tensors);
    heed_json_put_int(cx, doc, "disk_bytes", f->disk);
    heed_json_put_int(cx, doc, "batch", option_int(o, "batch"));
    heed_json_put_int(cx, doc, "length", f->length);
    put_plan(cx, doc, "running", &f->running);
    put_plan(cx, doc, "training", &f->training);
    coefficients_put(cx, m, doc);
    const heed_json list = heed_json_put_object(cx, doc, "shapes");
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        const heed_json shape = heed_json_put_array(cx, list, p->name);
        for (int k = 0; k < p->rank; k++) heed_json_put_int(cx, shape, NULL, p->shape[k]);
    }
    json_answer(cx, stdout, doc, 2);
    heed_json_free(doc);
}

static int show(const struct options *o, heed_ctx *cx, const char *dir) {
    const struct plain_model *plain = plain_model_of(dir);
    if (plain) return plain_model_info(o, cx, plain, dir), EXIT_DONE;
    heed_model *model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true});
    int status = EXIT_DONE;
    if (model) {
        struct facts f = {.disk = bytes_on_disk(cx, dir)};
        count(heed_model_params(model), &f);
        f.length = planned_length(o, dir);
        if (!make_plan(o, dir, false, &f.running) || !make_plan(o, dir, true, &f.training))
            status = EXIT_FAILED;
        else if (option_flag(o, "json"))
            print_json(o, cx, model, &f);
        else
            print_text(o, cx, model, &f);
    }
    heed_model_free(cx, model);
    return status;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("info", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    heed_ctx *cx = options_open(o);
    const int status = cx ? options_close(o, cx, show(o, cx, options_word(o, 0))) : EXIT_FAILED;
    options_free(o);
    return status;
}

const struct command info_command = {
    .name = "info",
    .summary = "family, parameters, size, memory plan",
    .words = "DIR",
    .about =
        "Says what a model directory holds, and how much memory running it and training it (with AdamW) will take at "
        "most, by planning a step without computing it. Of a linear model also its coefficients and intercept, in the "
        "units of the data. n-grams, hidden Markov models and word vectors, which are no networks, have no plan.",
    .options = options,
    .examples = "heed info digits\nheed info digits --batch 128 --verbose\nheed info digits --json\n",
    .run = run,
};
