/* heed train: from a data set to a model directory. What is not said follows from the data. */
#include "cli/train.h"
#include "cli/task.h"
#include "model/directory.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "the data", .kind = OPTION_GROUP},
    {.name = "data", .letter = 'd', .kind = OPTION_FILE, .value = "PATH",
     .help = "csv, tsv (also .gz), x.npy,y.npy, a directory of MNIST's files, or the word digits; for translate see "
             "below"},
    {.name = "test", .kind = OPTION_FILE, .value = "PATH",
     .help = "measured once, at the end; a directory's own test part by default"},
    {.name = "valid", .kind = OPTION_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "of the data kept aside to choose the best model by; 0.1 by default, for linear regression 0"},
    {.name = "target", .letter = 't', .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "what to predict, of a table: name or number, several as a,b; the last by default"},
    {.name = "use", .kind = OPTION_LIST, .value = "COLUMN",
     .help = "a column to predict from, of a table; all others by default"},
    {.name = "the data of translate", .kind = OPTION_GROUP},
    {.name = "from", .kind = OPTION_TEXT, .value = "LANGUAGE",
     .help = "of the source, and the ending of its files: en"},
    {.name = "to", .kind = OPTION_TEXT, .value = "LANGUAGE", .help = "of the target: de"},
    {.name = "more", .kind = OPTION_FILES, .value = "PATH",
     .help = "further pairs to train on, found as --data's are, such as what other models have translated"},
    {.name = "valid-data", .kind = OPTION_FILE, .value = "PATH",
     .help = "to choose the best model by; a directory's own val files, or 1 in 100 pairs, by default"},
    {.name = "moses", .help = "normalise and tokenise text the Moses way first (en, de, fr)"},
    {.name = "lower", .help = "lower-case all text first"},
    {.name = "tokens", .kind = OPTION_CHOICE, .standard = "bpe", .value = "KIND", .choices = "bpe word char",
     .help = "of the vocabulary learnt from the text, one of"},
    {.name = "vocab", .kind = OPTION_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "its tokens at most, of words and characters 0: all there are"},
    {.name = "separate", .help = "a vocabulary and embeddings of its own for each language"},
    {.name = "tokenizer", .kind = OPTION_FILE, .value = "PATH", .help = "take this tokenizer.json instead"},
    {.name = "merge-dropout", .kind = OPTION_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "of bpe: pass over a merge so often, by chance, such as 0.1, so that words come in other pieces in every "
             "epoch"},
    {.name = "longest", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "leave out pairs with more tokens on a side; 0: more than the model has positions"},
    {.name = "the model", .kind = OPTION_GROUP},
    {.name = "model", .letter = 'm', .kind = OPTION_TEXT, .value = "FAMILY",
     .help = "'heed list' shows them; mlp by default, for translate transformer"},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, .value = "KEY=VALUE",
     .help = "a key of its config; 'heed list FAMILY' shows them"},
    {.name = "the training", .kind = OPTION_GROUP},
    {.name = "epochs", .letter = 'e', .kind = OPTION_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "passes over the data; by default 10, or more for small data, of translate 30"},
    {.name = "steps", .kind = OPTION_INT, .value = "N", .help = "updates, instead of epochs", .low = 1, .high = 6e10},
    {.name = "batch", .letter = 'b', .kind = OPTION_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "examples per update, by default 128, or fewer for small data; of translate tokens of a side, 4096"},
    {.name = "micro-batch", .kind = OPTION_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "examples or tokens per backward pass, to save memory"},
    {.name = "accumulate", .kind = OPTION_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "batches per update: a batch N times as large, in parts"},
    {.name = "optimizer", .kind = OPTION_CHOICE, .standard = "adamw", .value = "NAME", .choices = "adamw adam sgd",
     .help = "one of"},
    {.name = "lr", .letter = 'l', .kind = OPTION_NUMBER, .value = "X", .high = 1e6,
     .help = "learning rate, at its highest; by default 0.001, with sgd or linear regression 0.01"},
    {.name = "momentum", .kind = OPTION_NUMBER, .standard = "0.9", .value = "X", .help = "of sgd", .high = 0.999999},
    {.name = "nesterov", .help = "Nesterov's form of it"},
    {.name = "beta1", .kind = OPTION_NUMBER, .standard = "0.9", .value = "X", .high = 0.999999,
     .help = "of adam and adamw"},
    {.name = "beta2", .kind = OPTION_NUMBER, .value = "X", .high = 0.9999999,
     .help = "of adam and adamw; 0.999 by default, for translate 0.98"},
    {.name = "decay", .letter = 'w', .kind = OPTION_NUMBER, .standard = "0", .value = "X", .high = 1e3,
     .help = "weight decay, not of biases"},
    {.name = "schedule", .kind = OPTION_CHOICE, .value = "NAME", .choices = "cosine linear constant step inverse-root",
     .help = "of the learning rate; cosine by default, for translate inverse-root; one of"},
    {.name = "warmup", .kind = OPTION_INT, .value = "N", .high = 1e12,
     .help = "updates in which it rises to its full size; 0 by default, for translate a tenth of all, at most 4000"},
    {.name = "schedule-floor", .kind = OPTION_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "what is left of it at the end, of cosine and linear"},
    {.name = "schedule-every", .kind = OPTION_INT, .standard = "1000", .value = "N", .low = 1, .high = 1e12,
     .help = "updates from step to step, of step"},
    {.name = "schedule-factor", .kind = OPTION_NUMBER, .standard = "0.1", .value = "X", .high = 10,
     .help = "by which it changes at each, of step"},
    {.name = "clip", .kind = OPTION_NUMBER, .standard = "0", .value = "X", .high = 1e12,
     .help = "most norm of the gradient; 0: none"},
    {.name = "average", .kind = OPTION_NUMBER, .standard = "0", .value = "X", .high = 0.9999999,
     .help = "keep a moving average of the weights with this decay, such as 0.999; 0: none"},
    {.name = "evaluate-every", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "updates between evaluations; 0: an epoch"},
    {.name = "patience", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "evaluations without a better one before stopping early; 0: never"},
    {.name = "keep", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e6,
     .help = "the last N evaluated models stay in DIR/kept, for 'heed average'"},
    {.name = "the files", .kind = OPTION_GROUP},
    {.name = "out", .letter = 'o', .kind = OPTION_FILE, .value = "DIR", .help = "the model directory to make"},
    {.name = "resume", .letter = 'r', .help = "go on from the checkpoint in DIR"},
    {.name = "force", .letter = 'f', .help = "begin anew although DIR holds a model"},
    {.name = "save-every", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "updates between checkpoints; 0: about every ten seconds"},
    {.name = "log", .kind = OPTION_FILE, .value = "FILE",
     .help = "one JSON object a line: step, loss, lr, seconds, examples or tokens, and what evaluations find"},
    {.name = "log-every", .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "updates between lines; 0: one each, in a long run fewer"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* ---- the options of the loop ---- */

static heed_trainer_opts trainer_opts(const struct train_run *r) {
    const struct options *o = r->o;
    const char *optimizer = option_text(o, "optimizer");
    const char *schedule = option_given(o, "schedule") ? option_text(o, "schedule") : "cosine";
    const bool sgd = strcmp(optimizer, "sgd") == 0;
    static const char *const schedules[] = {"constant", "step", "linear", "cosine", "inverse-root"};
    heed_trainer_opts t = {.clip = option_number(o, "clip"), .average = option_number(o, "average")};
    t.optimizer.kind = sgd ? HEED_SGD : strcmp(optimizer, "adam") == 0 ? HEED_ADAM : HEED_ADAMW;
    if (sgd) t.optimizer.momentum = option_number(o, "momentum");
    t.optimizer.nesterov = sgd && option_flag(o, "nesterov");
    t.optimizer.beta1 = option_number(o, "beta1");
    t.optimizer.beta2 = option_given(o, "beta2") ? option_number(o, "beta2") : 0.999;
    t.optimizer.eps = 1e-8;
    t.optimizer.weight_decay = option_number(o, "decay");
    for (int i = 0; i < 5; i++)
        if (strcmp(schedule, schedules[i]) == 0) t.schedule.kind = (heed_schedule_kind)i;
    t.schedule.lr = option_given(o, "lr") ? option_number(o, "lr") : sgd ? 0.01 : 0.001;
    t.schedule.warmup = option_given(o, "warmup") ? option_int(o, "warmup") : 0;
    t.schedule.floor = option_number(o, "schedule-floor");
    t.schedule.every = option_int(o, "schedule-every");
    t.schedule.factor = option_number(o, "schedule-factor");
    return t;
}

static bool on_update(void *user, const heed_loop_state *state) {
    struct train_run *r = user;
    progress_show(&r->progress, state);
    return !interrupted();
}

static void set_loop(struct train_run *r) {
    const struct options *o = r->o;
    r->loop = (heed_loop_opts){.dir = r->dir,
                               .trainer = trainer_opts(r),
                               .steps = option_int(o, "steps"),
                               .micro_batch = option_int(o, "micro-batch"),
                               .seed = heed_seed(r->cx),
                               .evaluate_every = option_int(o, "evaluate-every"),
                               .patience = option_int(o, "patience"),
                               .keep = option_int(o, "keep"),
                               .save_every = option_int(o, "save-every"),
                               .resume = option_flag(o, "resume"),
                               .log = option_text(o, "log"),
                               .log_every = option_int(o, "log-every"),
                               .report = on_update,
                               .user = r};
}

/* ---- the model ---- */

bool train_add_settings(const struct train_run *r, heed_ctx *cx, struct train_settings *s) {
    const char *const *given;
    const int more = option_list(r->o, "set", &given);
    if (more > SETTINGS_MOST - s->n) return heed_fail(cx, HEED_ERR_USAGE, "train: %d settings are too many", more);
    for (int i = 0; i < more; i++) s->text[s->n++] = given[i];
    return !heed_failed(cx);
}

/* ---- the budget ---- */

#define TO_FIND_OUT ((size_t)32 << 20) /* what may be taken in any case, to read data and say what they need */

/* Goes through the run without computing, and refuses it when it would take more than --memory allows. */
static bool check_budget(struct train_run *r, size_t before) {
    const size_t budget = option_bytes(r->o, "memory"), data = heed_memory_use(r->cx).held - before;
    heed_plan p;
    char text[5][32];
    if (budget == 0) return true;
    heed_ctx *dry = heed_open(&(heed_config){.threads = (int)option_int(r->o, "threads"), .dry = true});
    heed_model *model = r->kind->model(r, dry);
    if (!model || !heed_plan_run(dry, model, &r->loop, &p))
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

/* As a shell would take it again, after a space. */
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

static void say_how_to_go_on(const struct train_run *r) {
    fprintf(stderr, "heed: stopped at step %lld; go on with: heed", (long long)r->state.step);
    for (int i = 0; i < r->argc; i++) {
        const char *word = r->argv[i];
        const bool again = strcmp(word, "--resume") == 0 || strcmp(word, "-r") == 0;
        if (!again && strcmp(word, "--force") != 0 && strcmp(word, "-f") != 0) print_word(stderr, word);
    }
    fputs(" --resume\n", stderr);
}

static void print_json(struct train_run *r, FILE *f) {
    heed_ctx *cx = r->cx;
    const heed_loop_state *s = &r->state;
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_text(cx, result, "model", r->dir);
    heed_json_put_int(cx, result, "steps", s->step);
    heed_json_put_int(cx, result, "epochs", s->epoch);
    heed_json_put_int(cx, result, r->unit, s->seen);
    heed_json_put_number(cx, result, "seconds", round(s->seconds * 1000) / 1000);
    heed_json_put_number(cx, result, "loss", s->loss);
    if (s->best_step > 0) {
        heed_json_put_int(cx, result, "best_step", s->best_step);
        log_score(cx, result, "valid", r->metric, &s->best);
    }
    if (s->tested) log_score(cx, result, "test", r->metric, &s->test);
    json_answer(cx, f, result, 2);
    heed_json_free(result);
}

static void print_summary(struct train_run *r, FILE *f, bool early) {
    const heed_loop_state *s = &r->state;
    char text[128];
    fprintf(f, "trained %s for %lld steps (%lld epochs) in %.1f s%s\n", r->family->name, (long long)s->step,
            (long long)s->epoch, s->seconds, early ? ", stopped early" : "");
    if (s->best_step > 0) {
        task_score_text(text, sizeof text, r->metric, &s->best);
        fprintf(f, "validation: %s (best, step %lld)\n", text, (long long)s->best_step);
    } else {
        fprintf(f, "training: loss %.6g at the last step\n", s->loss);
    }
    if (s->tested) {
        task_score_text(text, sizeof text, r->metric, &s->test);
        fprintf(f, "test: %s\n", text);
    }
    fprintf(f, "model: %s\n", r->dir);
    fputs("next:", f);
    print_word(f, "heed");
    print_word(f, r->kind->next);
    print_word(f, r->dir);
    fprintf(f, "%s\n", r->kind->next_how);
}

static void say_end(struct train_run *r, heed_loop_end end) {
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

static void train(struct train_run *r) {
    const size_t before = heed_memory_use(r->cx).held;
    if (!r->kind->load(r)) return;
    set_loop(r);
    if (!r->kind->set(r) || !check_budget(r, before) || interrupted()) return;
    r->model = r->kind->model(r, r->cx);
    if (!r->model || !r->kind->begin(r) || interrupted()) return;
    const bool validates = r->loop.source ? r->loop.source->valid : r->loop.valid != NULL;
    progress_begin(&r->progress, option_flag(r->o, "quiet"), r->unit, validates ? r->metric : NULL);
    say_end(r, heed_loop_run(r->cx, r->model, &r->loop, &r->state));
}

static void free_run(struct train_run *r) {
    heed_model_free(r->cx, r->model);
    r->kind->free(r);
}

/* What is in DIR is not to be lost by a slip. */
static bool may_write(const struct options *o, const char *dir) {
    const bool resume = option_flag(o, "resume"), force = option_flag(o, "force");
    const bool model = directory_has(dir, "model.safetensors"),
               checkpoint = directory_has(dir, "checkpoint.safetensors");
    if (force || (resume && (checkpoint || !model))) return true;
    if (resume)
        cli_error(EXIT_FAILED, "%s: holds a model but no checkpoint to resume from; --force begins anew", dir);
    else if (checkpoint || model)
        cli_error(EXIT_FAILED, "%s: holds a %s already; --resume goes on with it, --force begins anew", dir,
                  model ? "model" : "checkpoint");
    return !checkpoint && !model;
}

enum { TASKS = 3 };
static const char *const tasks[TASKS] = {"regress", "classify", "translate"};
static const struct train_kind *const kinds[TASKS] = {&train_vectors, &train_vectors, &train_translate};
static const char *task_name(int i) { return i < TASKS ? tasks[i] : NULL; }

/* Options of other kinds of tasks, which would do nothing here. */
static bool options_belong(const struct train_run *r) {
    for (int i = 0; i < TASKS; i++)
        for (const char *const *name = kinds[i]->own_options; kinds[i] != r->kind && *name; name++)
            if (option_given(r->o, *name)) {
                cli_error(EXIT_USAGE, "train: --%s is not for %s", *name, r->task);
                return false;
            }
    return true;
}

static bool usage_ok(struct train_run *r) {
    r->task = options_word(r->o, 0);
    for (int i = 0; i < TASKS; i++)
        if (strcmp(r->task, tasks[i]) == 0) r->kind = kinds[i];
    if (!r->kind) {
        const char *nearest = cli_nearest(r->task, tasks, TASKS);
        cli_error(EXIT_USAGE, "train: unknown task '%s'%s%s%s", r->task, nearest ? ", did you mean '" : "",
                  nearest ? nearest : "; there are regress, classify and translate", nearest ? "'?" : "");
        return false;
    }
    const char *model = option_given(r->o, "model") ? option_text(r->o, "model") : r->kind->standard_model;
    r->path = option_need(r->o, "data");
    r->dir = r->path ? option_need(r->o, "out") : NULL;
    r->family = r->dir ? cli_family("train", model) : NULL;
    if (!r->family || !options_belong(r)) return false;
    if (!strstr(r->family->tasks, r->task)) {
        cli_error(EXIT_USAGE, "train: %s cannot be trained to %s", r->family->name, r->task);
        return false;
    }
    static const char *const pairs[][2] = {{"resume", "force"}, {"steps", "epochs"}, {"micro-batch", "accumulate"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!options_either(r->o, pairs[i][0], pairs[i][1])) return false;
    if (option_number(r->o, "merge-dropout") > 0 && strcmp(option_text(r->o, "tokens"), "bpe") != 0) {
        cli_error(EXIT_USAGE, "train: --merge-dropout goes with --tokens bpe");
        return false;
    }
    return true;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("train", options, argc, argv, 1, 1, "TASK");
    if (!o) return EXIT_USAGE;
    struct train_run r = {.o = o, .argc = argc, .argv = argv};
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
        "TASK is regress (numbers), classify (classes) or translate (sentences). Sizes, vocabularies and "
        "standardisation follow from the data; the rest has defaults. DIR receives config.json, model.safetensors "
        "(the best by validation), checkpoint.safetensors and, where there is text, tokenizer.json.\n\n"
        "translate takes parallel text: --data is a directory with train.en, train.de, val.en, val.de and perhaps "
        "test.en, test.de (for --from en --to de; each may be .gz), the common beginning of two such files, or a .tsv "
        "of two columns.\n\n"
        "A run that was stopped, by Ctrl-C or by force, goes on with the same command and --resume, and ends with the "
        "same bits as one that was never stopped. A recipe is a file of these options, one a line.",
    .options = options,
    .examples = "heed train classify --data digits --out out\n"
                "heed train classify --data mnist --recipe recipes/mnist-mlp.recipe --out mnist-mlp\n"
                "heed train regress --data houses.csv --target price --out houses --log houses.jsonl\n"
                "heed train regress --data points.csv --model linear --out line\n"
                "heed train translate --data multi30k --from en --to de --out en-de --set d_model=128\n",
    .run = run,
    .first = task_name,
};
