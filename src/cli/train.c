/* heed train: from a data set to a model directory. What is not said follows from the data. */
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/task.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const struct option options[] = {
    {"the data", 0, OPTION_GROUP, NULL, NULL, NULL, 0, 0, NULL},
    {"data", 'd', OPTION_FILE, NULL, "PATH", "csv, tsv (also .gz), x.npy,y.npy, a directory of MNIST's files, or the word digits", 0, 0, NULL},
    {"test", 0, OPTION_FILE, NULL, "PATH", "measured once, at the end; a directory's own test part by default", 0, 0, NULL},
    {"valid", 0, OPTION_NUMBER, NULL, "FRACTION", "of the data kept aside to choose the best model by; 0.1 by default, for linear regression 0", 0, 0.999, NULL},
    {"target", 't', OPTION_TEXT, NULL, "COLUMN", "what to predict, of a table: name or number, several as a,b; the last by default", 0, 0, NULL},
    {"use", 0, OPTION_LIST, NULL, "COLUMN", "a column to predict from, of a table; all others by default", 0, 0, NULL},
    {"the model", 0, OPTION_GROUP, NULL, NULL, NULL, 0, 0, NULL},
    {"model", 'm', OPTION_TEXT, "mlp", "FAMILY", "'heed list' shows them", 0, 0, NULL},
    {"set", 's', OPTION_LIST, NULL, "KEY=VALUE", "a key of its config; 'heed list FAMILY' shows them", 0, 0, NULL},
    {"the training", 0, OPTION_GROUP, NULL, NULL, NULL, 0, 0, NULL},
    {"epochs", 'e', OPTION_INT, NULL, "N", "passes over the data; by default 10, or more for small data", 1, 1e9, NULL},
    {"steps", 0, OPTION_INT, NULL, "N", "updates, instead of epochs", 1, 6e10, NULL},
    {"batch", 'b', OPTION_INT, NULL, "N", "examples per update; by default 128, or fewer for small data", 1, 1e9, NULL},
    {"micro-batch", 0, OPTION_INT, NULL, "N", "examples per backward pass, to save memory", 1, 1e9, NULL},
    {"accumulate", 0, OPTION_INT, NULL, "N", "batches per update: a batch N times as large, in parts", 1, 1e6, NULL},
    {"optimizer", 0, OPTION_CHOICE, "adamw", "NAME", "one of", 0, 0, "adamw adam sgd"},
    {"lr", 'l', OPTION_NUMBER, NULL, "X", "learning rate; by default 0.001, with sgd or linear regression 0.01", 0, 1e6, NULL},
    {"momentum", 0, OPTION_NUMBER, "0.9", "X", "of sgd", 0, 0.999999, NULL},
    {"nesterov", 0, OPTION_FLAG, NULL, NULL, "Nesterov's form of it", 0, 0, NULL},
    {"decay", 'w', OPTION_NUMBER, "0", "X", "weight decay, not of biases", 0, 1e3, NULL},
    {"schedule", 0, OPTION_CHOICE, "cosine", "NAME", "of the learning rate, one of", 0, 0, "cosine linear constant step inverse-root"},
    {"warmup", 0, OPTION_INT, "0", "N", "updates in which it rises to its full size", 0, 1e12, NULL},
    {"schedule-floor", 0, OPTION_NUMBER, "0", "X", "what is left of it at the end, of cosine and linear", 0, 1, NULL},
    {"schedule-every", 0, OPTION_INT, "1000", "N", "updates from step to step, of step", 1, 1e12, NULL},
    {"schedule-factor", 0, OPTION_NUMBER, "0.1", "X", "by which it changes at each, of step", 0, 10, NULL},
    {"clip", 0, OPTION_NUMBER, "0", "X", "most norm of the gradient; 0: none", 0, 1e12, NULL},
    {"average", 0, OPTION_NUMBER, "0", "X", "keep a moving average of the weights with this decay, such as 0.999; 0: none", 0, 0.9999999, NULL},
    {"evaluate-every", 0, OPTION_INT, "0", "N", "updates between evaluations; 0: an epoch", 0, 1e12, NULL},
    {"patience", 0, OPTION_INT, "0", "N", "evaluations without a better one before stopping early; 0: never", 0, 1e9, NULL},
    {"the files", 0, OPTION_GROUP, NULL, NULL, NULL, 0, 0, NULL},
    {"out", 'o', OPTION_FILE, NULL, "DIR", "the model directory to make", 0, 0, NULL},
    {"resume", 'r', OPTION_FLAG, NULL, NULL, "go on from the checkpoint in DIR", 0, 0, NULL},
    {"force", 'f', OPTION_FLAG, NULL, NULL, "begin anew although DIR holds a model", 0, 0, NULL},
    {"save-every", 0, OPTION_INT, "0", "N", "updates between checkpoints; 0: about every ten seconds", 0, 1e12, NULL},
    {"log", 0, OPTION_FILE, NULL, "FILE", "one JSON object a line: step, loss, lr, seconds, examples, and what evaluations find", 0, 0, NULL},
    {"log-every", 0, OPTION_INT, "0", "N", "updates between lines; 0: one each, in a long run fewer", 0, 1e12, NULL},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* One run, as it was asked for. */
struct run {
    const struct options *o;
    heed_ctx *cx;
    int argc;
    char **argv;
    bool classify;
    const heed_family *family;
    const char *path, *dir;
    heed_data *data, *test;
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_model *model;
    heed_loop_opts loop;
    heed_loop_state state;
    struct progress progress;
};

/* ---- the data ---- */

static bool load_data(struct run *r) {
    const char *const *use;
    const int n = option_list(r->o, "use", &use);
    const char **columns = heed_mem_new(r->cx, ((size_t)n + 1) * sizeof *columns);
    if (!columns) return false;
    for (int i = 0; i < n; i++) columns[i] = use[i];
    columns[n] = NULL;
    heed_data_opts opts = {.task = r->classify ? HEED_DATA_CLASSIFY : HEED_DATA_REGRESS,
                           .target = option_text(r->o, "target"),
                           .use = n ? columns : NULL};
    r->data = task_load(r->cx, r->path, &opts);
    const char *test = option_text(r->o, "test");
    if (r->data && (test || task_has_test_part(r->path))) {
        if (!test) test = r->path;
        opts.like = r->data;
        opts.part = task_has_test_part(test) ? "test" : NULL;
        r->test = task_load(r->cx, test, &opts);
    }
    heed_mem_free(r->cx, columns);
    if (r->data && r->classify && r->data->classes < 2)
        heed_fail(r->cx, HEED_ERR_USAGE, "%s: all examples are of one class", r->path);
    return !heed_failed(r->cx);
}

/* A straight line needs nobody to tell when it has learnt too much, and is fitted to all the data. */
static bool is_line(const struct run *r) { return !r->classify && strcmp(r->family->name, "linear") == 0; }

static bool split_data(struct run *r) {
    double fraction = is_line(r) || r->data->n < 10 ? 0 : 0.1;
    if (option_given(r->o, "valid")) fraction = option_number(r->o, "valid");
    return heed_data_split(r->cx, r->data, fraction, heed_seed(r->cx), &r->train_rows, &r->n_train, &r->valid_rows,
                           &r->n_valid);
}

/* ---- the model ---- */

#define SETTINGS_MOST 256

static void set_param(struct run *r, const char *name, const float *values) {
    const heed_param *p = heed_params_find(heed_model_params(r->model), name);
    if (p) memcpy(p->value, values, (size_t)p->count * sizeof *values);
}

/* Means and deviations of the training examples, into a model that wants them. */
static bool standardise(struct run *r) {
    const heed_data *d = r->data;
    const heed_data targets = {.n = d->n, .width = d->outputs, .x = d->y};
    for (int i = 0; i < (d->y ? 2 : 1); i++) {
        const heed_data *of = i == 0 ? d : &targets;
        float *mean = heed_mem_new(r->cx, (size_t)of->width * sizeof *mean);
        float *deviation = heed_mem_new(r->cx, (size_t)of->width * sizeof *deviation);
        if (deviation && heed_data_moments(r->cx, of, r->train_rows, r->n_train, mean, deviation)) {
            set_param(r, i == 0 ? "input_mean" : "output_mean", mean);
            set_param(r, i == 0 ? "input_deviation" : "output_deviation", deviation);
        }
        heed_mem_free(r->cx, mean);
        heed_mem_free(r->cx, deviation);
    }
    return !heed_failed(r->cx);
}

static heed_model *new_model(const struct run *r, heed_ctx *cx) {
    const heed_data *d = r->data;
    const char *settings[SETTINGS_MOST], *const *given;
    char text[7][80];
    int n = 0;
    const bool picture = d->image_height > 0;
    snprintf(text[0], sizeof text[0], "input_size=%lld", (long long)d->width);
    snprintf(text[1], sizeof text[1], "output_size=%lld", (long long)(r->classify ? d->classes : d->outputs));
    snprintf(text[2], sizeof text[2], "task=%s", r->classify ? "classify" : "regress");
    snprintf(text[3], sizeof text[3], "standardize_input=%s", picture ? "false" : "true");
    snprintf(text[4], sizeof text[4], "standardize_output=%s", r->classify ? "false" : "true");
    for (; n < 5; n++) settings[n] = text[n];
    if (picture) {
        snprintf(text[5], sizeof text[5], "image_size=%lld,%lld", (long long)d->image_height,
                 (long long)d->image_width);
        snprintf(text[6], sizeof text[6], "image_channels=%lld", (long long)d->image_channels);
        for (; n < 7; n++) settings[n] = text[n];
    }
    const int more = option_list(r->o, "set", &given);
    if (more > SETTINGS_MOST - n) heed_fail(cx, HEED_ERR_USAGE, "train: %d settings are too many", more);
    for (int i = 0; i < more && n < SETTINGS_MOST; i++) settings[n++] = given[i];
    return heed_model_new(cx, r->family, settings, n, heed_seed(r->cx));
}

static bool make_model(struct run *r) {
    r->model = new_model(r, r->cx);
    return r->model && standardise(r) && task_describe(r->cx, r->model, r->data);
}

/* ---- the options of the loop ---- */

static int64_t good_batch(const struct run *r) {
    int64_t batch = 128;
    if (is_line(r)) batch = 4096; /* the gradient of all of a small data set has no noise */
    while (!is_line(r) && batch > 8 && batch * 20 > r->n_train) batch /= 2;
    return batch < r->n_train ? batch : r->n_train;
}

/* At least some 2000 updates, for small data. */
static int64_t good_epochs(const struct run *r) {
    const int64_t per_epoch = (r->n_train - 1) / r->loop.batch + 1, enough = (2000 - 1) / per_epoch + 1;
    return enough > 10 ? enough : 10;
}

static heed_trainer_opts trainer_opts(const struct run *r) {
    const struct options *o = r->o;
    const char *optimizer = option_text(o, "optimizer"), *schedule = option_text(o, "schedule");
    const bool sgd = strcmp(optimizer, "sgd") == 0;
    static const char *const schedules[] = {"constant", "step", "linear", "cosine", "inverse-root"};
    heed_trainer_opts t = {.clip = option_number(o, "clip"), .average = option_number(o, "average")};
    t.optimizer.kind = sgd ? HEED_SGD : strcmp(optimizer, "adam") == 0 ? HEED_ADAM : HEED_ADAMW;
    if (sgd) t.optimizer.momentum = option_number(o, "momentum");
    t.optimizer.nesterov = sgd && option_flag(o, "nesterov");
    t.optimizer.weight_decay = option_number(o, "decay");
    for (int i = 0; i < 5; i++)
        if (strcmp(schedule, schedules[i]) == 0) t.schedule.kind = (heed_schedule_kind)i;
    t.schedule.lr = option_given(o, "lr") ? option_number(o, "lr") : sgd || is_line(r) ? 0.01 : 0.001;
    t.schedule.warmup = option_int(o, "warmup");
    t.schedule.floor = option_number(o, "schedule-floor");
    t.schedule.every = option_int(o, "schedule-every");
    t.schedule.factor = option_number(o, "schedule-factor");
    return t;
}

static bool on_update(void *user, const heed_loop_state *state) {
    struct run *r = user;
    progress_show(&r->progress, state);
    return !interrupted();
}

static void set_loop(struct run *r) {
    const struct options *o = r->o;
    const int64_t accumulate = option_given(o, "accumulate") ? option_int(o, "accumulate") : 1;
    r->loop = (heed_loop_opts){.dir = r->dir,
                               .trainer = trainer_opts(r),
                               .steps = option_int(o, "steps"),
                               .micro_batch = option_int(o, "micro-batch"),
                               .seed = heed_seed(r->cx),
                               .train = r->data,
                               .train_rows = r->train_rows,
                               .n_train = r->n_train,
                               .test = r->test,
                               .evaluate_every = option_int(o, "evaluate-every"),
                               .patience = option_int(o, "patience"),
                               .save_every = option_int(o, "save-every"),
                               .resume = option_flag(o, "resume"),
                               .log = option_text(o, "log"),
                               .log_every = option_int(o, "log-every"),
                               .report = on_update,
                               .user = r};
    if (r->n_valid > 0) {
        r->loop.valid = r->data;
        r->loop.valid_rows = r->valid_rows;
        r->loop.n_valid = r->n_valid;
    }
    r->loop.batch = option_given(o, "batch") ? option_int(o, "batch") : good_batch(r);
    if (accumulate > 1) {
        r->loop.micro_batch = r->loop.batch;
        r->loop.batch *= accumulate;
    }
    r->loop.epochs = option_given(o, "epochs") ? option_int(o, "epochs") : good_epochs(r);
}

/* ---- the budget ---- */

#define TO_FIND_OUT ((size_t)32 << 20) /* what may be taken in any case, to read data and say what they need */

/* Goes through the run without computing, and refuses it when it would take more than --memory allows. */
static bool check_budget(struct run *r, size_t before) {
    const size_t budget = option_bytes(r->o, "memory"), data = heed_memory_use(r->cx).held - before;
    heed_plan p;
    char text[5][32];
    if (budget == 0) return true;
    heed_ctx *dry = heed_open(&(heed_config){.threads = (int)option_int(r->o, "threads"), .dry = true});
    heed_model *model = new_model(r, dry);
    if (!model || !task_describe(dry, model, r->data) || !heed_plan_run(dry, model, &r->loop, &p))
        heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
    else if (data + p.total > budget)
        heed_fail(
            r->cx, HEED_ERR_BUDGET,
            "train: --memory: %zu bytes are needed and %zu allowed: data %s, weights %s, gradients and moments %s, "
            "batches %s, tensors of a step %s, and what heed itself holds",
            data + p.total, budget, cli_size(data, text[0]), cli_size(p.weights, text[1]), cli_size(p.trainer, text[2]),
            cli_size(p.batches, text[3]), cli_size(p.step, text[4]));
    heed_model_free(dry, model);
    heed_close(dry);
    options_hold(r->o, r->cx);
    return !heed_failed(r->cx);
}

/* ---- what is said at the end ---- */

/* A word as a shell would take it again. */
static void print_word(FILE *f, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+%@";
    if (*word && strspn(word, plain) == strlen(word)) {
        fprintf(f, " %s", word);
        return;
    }
    fputs(" '", f);
    for (; *word; word++) *word == '\'' ? fputs("'\\''", f) : fputc(*word, f);
    fputc('\'', f);
}

static void say_how_to_go_on(const struct run *r) {
    fprintf(stderr, "heed: stopped at step %lld; go on with: heed", (long long)r->state.step);
    for (int i = 0; i < r->argc; i++) {
        const char *word = r->argv[i];
        const bool again = strcmp(word, "--resume") == 0 || strcmp(word, "-r") == 0;
        if (!again && strcmp(word, "--force") != 0 && strcmp(word, "-f") != 0) print_word(stderr, word);
    }
    fputs(" --resume\n", stderr);
}

static void put_score(heed_ctx *cx, heed_json at, const char *set, const char *metric, const heed_score *score) {
    char key[64];
    snprintf(key, sizeof key, "%s_loss", set);
    heed_json_put_number(cx, at, key, score->loss);
    snprintf(key, sizeof key, "%s_%s", set, metric);
    heed_json_put_number(cx, at, key, score->metric);
}

static void print_json(struct run *r, FILE *f) {
    heed_ctx *cx = r->cx;
    const heed_loop_state *s = &r->state;
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_text(cx, result, "model", r->dir);
    heed_json_put_int(cx, result, "steps", s->step);
    heed_json_put_int(cx, result, "epochs", s->epoch);
    heed_json_put_int(cx, result, "examples", s->seen);
    heed_json_put_number(cx, result, "seconds", round(s->seconds * 1000) / 1000);
    heed_json_put_number(cx, result, "loss", s->loss);
    if (s->best_step > 0) {
        heed_json_put_int(cx, result, "best_step", s->best_step);
        put_score(cx, result, "valid", heed_loop_metric(r->data), &s->best);
    }
    if (s->tested) put_score(cx, result, "test", heed_loop_metric(r->data), &s->test);
    char *text = heed_json_print(cx, result, 2, NULL);
    if (text) fprintf(f, "%s\n", text);
    heed_mem_free(cx, text);
    heed_json_free(result);
}

static void print_summary(struct run *r, FILE *f, bool early) {
    const heed_loop_state *s = &r->state;
    const char *metric = heed_loop_metric(r->data);
    char text[128];
    fprintf(f, "trained %s for %lld steps (%lld epochs) in %.1f s%s\n", r->family->name, (long long)s->step,
            (long long)s->epoch, s->seconds, early ? ", stopped early" : "");
    if (s->best_step > 0) {
        task_score_text(text, sizeof text, metric, &s->best);
        fprintf(f, "validation: %s (best, step %lld)\n", text, (long long)s->best_step);
    } else {
        fprintf(f, "training: loss %.6g at the last step\n", s->loss);
    }
    if (s->tested) {
        task_score_text(text, sizeof text, metric, &s->test);
        fprintf(f, "test: %s\n", text);
    }
    fprintf(f, "model: %s\n", r->dir);
    fputs("next:", f);
    print_word(f, "heed");
    print_word(f, "predict");
    print_word(f, r->dir);
    fputs(" --data FILE   (or numbers on standard input)\n", f);
}

static void say_end(struct run *r, heed_loop_end end) {
    FILE *f = r->loop.log && strcmp(r->loop.log, "-") == 0 ? stderr : stdout;
    if (end == HEED_LOOP_STOPPED || end == HEED_LOOP_FAILED) {
        if (r->progress.open) fputc('\n', stderr);
        if (end == HEED_LOOP_STOPPED) say_how_to_go_on(r);
        return;
    }
    if (r->state.step > 0) progress_end(&r->progress, &r->state);
    if (option_flag(r->o, "json"))
        print_json(r, f);
    else if (!option_flag(r->o, "quiet"))
        print_summary(r, f, end == HEED_LOOP_EARLY);
}

/* ---- the command ---- */

static void train(struct run *r) {
    const size_t before = heed_memory_use(r->cx).held;
    if (!load_data(r) || !split_data(r)) return;
    set_loop(r);
    if (r->loop.batch > r->n_train) {
        heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %lld examples to train on",
                  (long long)r->loop.batch, (long long)r->n_train);
        return;
    }
    if (!check_budget(r, before) || !make_model(r) || interrupted()) return;
    if (!option_flag(r->o, "quiet"))
        fprintf(stderr, "%s: %lld example%s to train on, %lld to validate, %lld to test; %s with %lld parameters\n",
                strcmp(r->path, "-") == 0 ? "standard input" : r->path, (long long)r->n_train,
                r->n_train == 1 ? "" : "s", (long long)r->n_valid, (long long)(r->test ? r->test->n : 0),
                r->family->name, (long long)heed_params_numbers(heed_model_params(r->model)));
    progress_begin(&r->progress, option_flag(r->o, "quiet"), "examples",
                   r->n_valid > 0 ? heed_loop_metric(r->data) : NULL);
    say_end(r, heed_loop_run(r->cx, r->model, &r->loop, &r->state));
}

static void free_run(struct run *r) {
    heed_model_free(r->cx, r->model);
    heed_mem_free(r->cx, r->train_rows);
    heed_mem_free(r->cx, r->valid_rows);
    heed_data_free(r->cx, r->test);
    heed_data_free(r->cx, r->data);
}

static bool has_file(const char *dir, const char *file) {
    char path[4096];
    return snprintf(path, sizeof path, "%s/%s", dir, file) < (int)sizeof path && access(path, F_OK) == 0;
}

/* What is in DIR is not to be lost by a slip. */
static bool may_write(const struct options *o, const char *dir) {
    const bool resume = option_flag(o, "resume"), force = option_flag(o, "force");
    const bool model = has_file(dir, "model.safetensors"), checkpoint = has_file(dir, "checkpoint.safetensors");
    if (force || (resume && (checkpoint || !model))) return true;
    if (resume)
        cli_error(EXIT_FAILED, "%s: holds a model but no checkpoint to resume from; --force begins anew", dir);
    else if (checkpoint || model)
        cli_error(EXIT_FAILED, "%s: holds a %s already; --resume goes on with it, --force begins anew", dir,
                  model ? "model" : "checkpoint");
    return !checkpoint && !model;
}

static const char *const tasks[] = {"regress", "classify"};
static const char *task_name(int i) { return i < 2 ? tasks[i] : NULL; }

static bool usage_ok(struct run *r) {
    const char *task = options_word(r->o, 0);
    r->classify = strcmp(task, "classify") == 0;
    if (!r->classify && strcmp(task, "regress") != 0) {
        const char *nearest = cli_nearest(task, tasks, 2);
        cli_error(EXIT_USAGE, "train: unknown task '%s'%s%s%s", task, nearest ? ", did you mean '" : "",
                  nearest ? nearest : "; there are regress and classify", nearest ? "'?" : "");
        return false;
    }
    r->path = option_need(r->o, "data");
    r->dir = r->path ? option_need(r->o, "out") : NULL;
    r->family = r->dir ? cli_family("train", option_text(r->o, "model")) : NULL;
    if (!r->family) return false;
    if (!strstr(r->family->tasks, task)) {
        cli_error(EXIT_USAGE, "train: %s cannot be trained to %s", r->family->name, task);
        return false;
    }
    static const char *const pairs[][2] = {{"resume", "force"}, {"steps", "epochs"}, {"micro-batch", "accumulate"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (option_given(r->o, pairs[i][0]) && option_given(r->o, pairs[i][1])) {
            cli_error(EXIT_USAGE, "train: --%s and --%s: only one of them makes sense", pairs[i][0], pairs[i][1]);
            return false;
        }
    return true;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("train", options, argc, argv, 1, 1, "TASK");
    if (!o) return EXIT_USAGE;
    struct run r = {.o = o, .argc = argc, .argv = argv};
    int status = EXIT_USAGE;
    if (usage_ok(&r)) {
        status = EXIT_FAILED;
        if (may_write(o, r.dir) && (r.cx = options_open_roomy(o, TO_FIND_OUT))) {
            train(&r);
            free_run(&r);
            status = options_close(o, r.cx, EXIT_DONE);
        }
    }
    options_free(o);
    return status;
}

const struct command train_command = {
    .name = "train",
    .summary = "a model from a data set",
    .words = "TASK",
    .about =
        "TASK is regress (numbers) or classify (classes). Sizes and standardisation follow from the data; the rest has "
        "defaults. DIR receives config.json, model.safetensors (the best by validation) and checkpoint.safetensors.\n\n"
        "A run that was stopped, by Ctrl-C or by force, goes on with the same command and --resume, and ends with the "
        "same bits as one that was never stopped. A recipe is a file of these options, one a line.",
    .options = options,
    .examples = "heed train classify --data digits --out out\n"
                "heed train classify --data mnist --recipe recipes/mnist-mlp.recipe --out mnist-mlp\n"
                "heed train regress --data houses.csv --target price --out houses --log houses.jsonl\n"
                "heed train regress --data points.csv --model linear --out line\n",
    .run = run,
    .first = task_name,
};
