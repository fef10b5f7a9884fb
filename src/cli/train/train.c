/* heed train: from a data set to a model directory. What is not said follows from the data. */
#include "cli/train/train.h"
#include "base/memory.h"
#include "base/profile.h"
#include "base/text.h"
#include "cli/core/data_options.h"
#include "cli/core/program.h"
#include "cli/use/chat.h"
#include "heed/picture_set.h"
#include "model/core/directory.h"
#include "train/loop.h"
#include "train/trainer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the options of the loop ---- */

static heed_trainer_opts trainer_opts(const struct train_run *r) {
    const struct options *o = r->o;
    const char *optimizer = option_text(o, "optimizer");
    if (!optimizer) /* of text2text: adapters begin at zero, where relative updates are too small */
        optimizer = option_given(o, "lora") ? "adamw" : "adafactor";
    const char *schedule = option_text(o, "schedule");
    const bool sgd = strcmp(optimizer, "sgd") == 0;
    static const char *const schedules[] = {"constant", "step", "linear", "cosine", "inverse-root"};
    heed_trainer_opts t = {.clip = option_number(o, "clip"),
                           .average = option_number(o, "average"),
                           .recompute = option_flag(o, "recompute")};
    for (int i = HEED_SGD; i <= HEED_ADAFACTOR; i++)
        if (strcmp(optimizer, optimizer_name((heed_optimizer_kind)i)) == 0) t.optimizer.kind = (heed_optimizer_kind)i;
    if (sgd) t.optimizer.momentum = option_number(o, "momentum");
    t.optimizer.nesterov = sgd && option_flag(o, "nesterov");
    t.optimizer.beta1 = option_number(o, "beta1");
    t.optimizer.beta2 = option_number(o, "beta2");
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
                               .seed = heed_seed(r->cx),
                               .evaluate_every = option_int(o, "evaluate-every"),
                               .valid_examples = option_int(o, "valid-examples"),
                               .patience = option_int(o, "patience"),
                               .keep = option_int(o, "keep"),
                               .save_every = option_int(o, "save-every"),
                               .drop_checkpoint = option_flag(o, "drop-checkpoint"),
                               .resume = option_flag(o, "resume"),
                               .log = option_text(o, "log"),
                               .log_every = option_int(o, "log-every"),
                               .best_by = option_text(o, "best-by"),
                               .report = on_update,
                               .user = r};
}

/* ---- the model ---- */

static bool add_settings(const struct train_run *r, heed_ctx *cx, struct train_settings *s) {
    const char *const *given;
    const int more = option_list(r->o, "set", &given);
    if (more > SETTINGS_MOST - s->n) return heed_fail(cx, HEED_ERR_USAGE, "train: %d settings are too many", more);
    for (int i = 0; i < more; i++) s->text[s->n++] = given[i];
    return !heed_failed(cx);
}

/* Which parameters learn, and how fast. */
static bool set_trained(const struct train_run *r, heed_ctx *cx, heed_params *params) {
    const char *const *patterns;
    const int n = option_list(r->o, "freeze", &patterns);
    bool learns = n == 0;
    for (int i = 0; i < n && !heed_failed(cx); i++) heed_params_freeze(cx, params, patterns[i]);
    for (int i = 0; i < heed_params_count(params); i++) learns |= !heed_params_at(params, i)->frozen;
    if (!learns)
        return heed_fail(cx, HEED_ERR_USAGE, "train: --freeze: all parameters are frozen: nothing is left to train");
    const double decay = option_number(r->o, "layer-decay");
    return decay == 1 ? !heed_failed(cx) : heed_params_layer_decay(cx, params, decay);
}

heed_model *train_make_model(const struct train_run *r, heed_ctx *cx, struct train_settings *fresh,
                             struct train_settings *kept) {
    const char *const init = option_text(r->o, "init"), *const task = r->head ? r->head : r->task->page.name;
    struct train_settings *const s = init ? kept : fresh;
    struct train_lora lora;
    heed_model *model = NULL;
    char width[48];
    if (!init) train_put_embedding_size(r, s, width);
    if (heed_failed(cx) || !add_settings(r, cx, s)) return NULL;
    if (init)
        model = heed_model_load_as(cx, init,
                                   &(heed_load_opts){.task = task,
                                                     .settings = s->text,
                                                     .n_settings = s->n,
                                                     .fresh_head = true,
                                                     .seed = heed_seed(r->cx),
                                                     .lora = train_lora(r->o, &lora)});
    else
        model = heed_model_new_as(cx, r->family, heed_head_for(r->family, task), s->text, s->n, heed_seed(r->cx));
    if (model && set_trained(r, cx, heed_model_params(model))) return model;
    heed_model_free(cx, model);
    return NULL;
}

static bool among_keys(const heed_key *keys, const char *name) {
    for (const heed_key *k = keys; k && k->name; k++)
        if (strcmp(k->name, name) == 0) return true;
    return false;
}
bool train_has_key(const heed_family *f, const char *name) { return among_keys(f->keys, name); }
bool train_takes_key(const struct train_run *r, const char *name) {
    const heed_head *const head = heed_head_for(r->family, r->head ? r->head : r->task->page.name);
    return among_keys(r->family->keys, name) || (head && among_keys(head->keys, name));
}

bool train_options_unused(const struct train_run *r, const heed_field *rows, const char *what) {
    for (; rows->name; rows++)
        if (rows->kind != HEED_FIELD_GROUP && option_known(r->o, rows->name) && option_given(r->o, rows->name)) {
            cli_error(EXIT_USAGE, "train: --%s is for models of %s, which %s is not", rows->name, what,
                      r->family->name);
            return false;
        }
    return true;
}

/* ---- the budget ---- */

#define TO_FIND_OUT ((size_t)32 << 20) /* what may be taken in any case, to read data and say what they need */

/* Goes through the run without computing, and refuses it when it would take more than --memory allows. */
static bool check_budget(struct train_run *r, size_t before) {
    const size_t budget = option_bytes(r->o, "memory"), data = heed_memory_use(r->cx).held - before;
    heed_plan p;
    if (budget == 0) return true;
    heed_ctx *dry = options_open_dry(r->o);
    heed_model *model = r->how->model(r, dry);
    const bool planned = model && heed_plan_run(dry, model, &r->loop, &p);
    if (options_dry_needed() > 0)
        mem_over_budget(r->cx, "train", data + options_dry_needed()), r->cx->needed_total = false;
    else if (!planned)
        heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
    else if (data + p.total > budget)
        mem_over_budget(r->cx, "train", data + p.total);
    heed_model_free(dry, model);
    heed_close(dry);
    options_hold(r->o, r->cx);
    return !heed_failed(r->cx);
}

/* ---- what is said at the end ---- */

static void say_how_to_go_on(const struct train_run *r) {
    fprintf(stderr, "heed: stopped at step %lld; continue with: ", (long long)r->state.step);
    cli_print_word(stderr, cli_program());
    for (int i = 0; i < r->argc; i++) {
        const char *word = r->argv[i];
        const bool again = strcmp(word, "--resume") == 0 || strcmp(word, "-r") == 0;
        if (again || strcmp(word, "--force") == 0 || strcmp(word, "-f") == 0) continue;
        fputc(' ', stderr);
        cli_print_word(stderr, word);
    }
    fputs(" --resume\n", stderr);
}

static double epochs_of(const struct train_run *r) { return (double)r->state.step / (double)r->loop.source->per_epoch; }

/* "1 epoch", "2.5 epochs", "0.85 epochs" */
static const char *epochs_text(const struct train_run *r, char text[48]) {
    const double epochs = epochs_of(r);
    if (epochs == (double)r->state.epoch) return cli_count(r->state.epoch, "epoch", "epochs", text);
    snprintf(text, 48, epochs < 0.01 ? "%.2g epochs" : "%.2f epochs", epochs);
    return text;
}

static void print_json(struct train_run *r, FILE *f) {
    heed_ctx *cx = r->cx;
    const heed_loop_state *s = &r->state;
    const heed_metric *const *metrics = r->loop.source->metrics;
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_text(cx, result, "model", r->dir);
    heed_json_put_int(cx, result, "steps", s->step);
    const double epochs = epochs_of(r);
    if (epochs == (double)s->epoch)
        heed_json_put_int(cx, result, "epochs", s->epoch);
    else
        heed_json_put_number(cx, result, "epochs", round(epochs * 1e4) / 1e4);
    heed_json_put_int(cx, result, r->loop.source->unit, s->seen);
    heed_json_put_number(cx, result, "seconds", round(s->seconds * 1000) / 1000);
    heed_json_put_number(cx, result, "loss", s->loss);
    if (s->best_step > 0) {
        heed_json_put_int(cx, result, "best_step", s->best_step);
        log_score(cx, result, "valid", metrics, s->validated ? &s->whole : &s->best);
    }
    if (s->tested) log_score(cx, result, "test", metrics, &s->test);
    if (r->how->put) r->how->put(r, result);
    json_answer(cx, f, result, 2);
    heed_json_free(result);
}

static void print_summary(struct train_run *r, FILE *f, bool early) {
    const heed_loop_state *s = &r->state;
    const heed_metric *const *metrics = r->loop.source->metrics;
    char text[512], steps[48], epochs[48];
    fprintf(f, "trained %s for %s (%s) in %.1f s%s\n", r->family->name, cli_count(s->step, "step", "steps", steps),
            epochs_text(r, epochs), s->seconds, early ? ", stopped early" : "");
    if (s->best_step > 0) {
        task_score_text(text, sizeof text, metrics, s->validated ? &s->whole : &s->best);
        fprintf(f, "validation: %s (best, step %lld)\n", text, (long long)s->best_step);
    } else {
        fprintf(f, "training: loss %.6g at the last step\n", s->loss);
    }
    if (s->tested) {
        task_score_text(text, sizeof text, metrics, &s->test);
        fprintf(f, "test: %s\n", text);
    }
    if (r->how->print) r->how->print(r, f);
    fprintf(f, "model: %s\n", r->dir);
    fputs("next: ", f);
    const struct train_task *says = r->task->next && !r->task->load ? r->task : r->how;
    cli_print_command(f, says->next, r->dir, (char *)NULL);
    fprintf(f, "%s\n", strcmp(says->next, "generate") == 0 && chat_has_template(r->dir) ? " --chat" : says->next_how);
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

/* The directory becomes this run's: nobody else writes into it. */
static bool claim_directory(struct train_run *r) {
    const bool over = option_flag(r->o, "resume") || option_flag(r->o, "force");
    if (r->lock < 0) r->lock = directory_claim(r->cx, r->dir, over ? NULL : directory_has_run);
    return r->lock >= 0;
}

static bool make_model(struct train_run *r) {
    r->model = r->how->model(r, r->cx);
    if (!r->model || heed_cancelled(r->cx)) return false;
    options_train(r->cx);
    return claim_directory(r) && r->how->begin(r) && !interrupted();
}

/* Adafactor's learning rate is relative to the size of the weights, whatever the task: T5's (Raffel et al. 2020). */
static void set_relative_rate(struct train_run *r) {
    heed_trainer_opts *t = &r->loop.trainer;
    if (t->optimizer.kind == HEED_ADAFACTOR && !option_given(r->o, "lr"))
        t->schedule.lr = option_known(r->o, "init") && option_given(r->o, "init") ? 0.001 : 0.01;
}

/* Data, plan and model: false when there is nothing to train. */
static bool prepare(struct train_run *r) {
    const size_t before = heed_memory_use(r->cx).held;
    if (access(r->dir, F_OK) == 0 && !claim_directory(r)) return false; /* before data are read */
    struct profile_mark mark = profile_begin(r->cx);
    const bool loaded = r->how->load(r);
    profile_end(r->cx, mark, "load data", PROFILE_FORWARD);
    if (!loaded) return false;
    set_loop(r);
    mark = profile_begin(r->cx);
    const bool set = r->how->set(r);
    set_relative_rate(r);
    const bool planned =
        set && loop_metric(r->cx, r->loop.source, r->loop.best_by, &(int){0}) && check_budget(r, before);
    profile_end(r->cx, mark, "plan", PROFILE_FORWARD);
    if (!planned || interrupted()) return false;
    mark = profile_begin(r->cx);
    const bool made = make_model(r);
    profile_end(r->cx, mark, "initialise model", PROFILE_FORWARD);
    return made;
}

static void train(struct train_run *r) {
    if (!prepare(r)) return;
    const heed_loop_source *from = r->loop.source;
    progress_begin(&r->progress, option_flag(r->o, "quiet"), from->unit, from->valid ? from->metrics[0] : NULL);
    say_end(r, heed_loop_run(r->cx, r->model, &r->loop, &r->state));
}

static void free_run(struct train_run *r) {
    heed_model_free(r->cx, r->model);
    train_close_embeddings(r);
    r->how->free(r);
    directory_unlock(r->lock);
}

/* What is in DIR is not to be lost by a slip. */
static bool may_write(const struct options *o, const char *dir) {
    const bool resume = option_flag(o, "resume"), force = option_flag(o, "force");
    const bool model = directory_has_model(dir), checkpoint = directory_has(dir, "checkpoint.safetensors");
    if (resume && !checkpoint && !model && !option_flag(o, "quiet"))
        fprintf(stderr, "heed: %s: no checkpoint to resume from; training begins anew\n", dir);
    if (force || (resume && (checkpoint || !model))) return true;
    if (resume)
        cli_error(
            EXIT_FAILED,
            "%s: holds a model but no checkpoint to resume from: its run has ended and dropped it, or it never had "
            "one; --force overwrites it",
            dir);
    else if (checkpoint || model)
        cli_error(EXIT_FAILED, "%s: holds a %s already; --resume continues it, --force overwrites it", dir,
                  model ? "model" : "checkpoint");
    return !checkpoint && !model;
}

static const struct train_task *const tasks[] = {
#define TASK(name) &train_##name,
#include "cli/train/tasks.def"
#undef TASK
};
enum { TASKS = sizeof tasks / sizeof *tasks };
static const struct command *task_page(int i) { return i < TASKS ? &tasks[i]->page : NULL; }
static const char *task_name(int i) { return i < TASKS ? tasks[i]->page.name : NULL; }

const struct train_task *train_find_task(const char *name) {
    for (int i = 0; i < TASKS; i++)
        if (strcmp(name, tasks[i]->page.name) == 0) return tasks[i];
    return NULL;
}

static void unknown_task(const char *name) {
    const char *names[TASKS];
    char list[512] = "";
    for (int i = 0; i < TASKS; i++) {
        names[i] = tasks[i]->page.name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    }
    const char *nearest = cli_nearest(name, names, TASKS);
    if (nearest)
        cli_error(EXIT_USAGE, "train: unknown task '%s', did you mean '%s'?", name, nearest);
    else
        cli_error(EXIT_USAGE, "train: unknown task '%s', one of: %s", name, list);
}

static bool has_option(const struct train_task *task, const char *name, size_t length) {
    const heed_field *row;
    for (int i = 0; (row = heed_field_row(task->page.options, i)); i++)
        if (row->kind != HEED_FIELD_GROUP && strncmp(row->name, name, length) == 0 && row->name[length] == 0)
            return true;
    return false;
}

/* Options of another task: reading them would only find that they are unknown. */
static bool options_belong(const struct train_task *task, int argc, char **argv) {
    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++) {
        const size_t length = strcspn(argv[k], "=");
        if (strncmp(argv[k], "--", 2) != 0 || has_option(task, argv[k] + 2, length - 2)) continue;
        for (int i = 0; i < TASKS; i++)
            if (has_option(tasks[i], argv[k] + 2, length - 2)) {
                cli_error(EXIT_USAGE, "train: %.*s is not for %s, but for %s", (int)length, argv[k], task->page.name,
                          tasks[i]->page.name);
                return false;
            }
    }
    return true;
}

/* The task is the first word that is none of the options, most often the very first. */
static const struct train_task *task_of(int argc, char **argv) {
    const struct train_task *task = NULL;
    for (int k = 1; !task && k < argc; k++) task = train_find_task(argv[k]);
    if (task && (argv[1][0] == '-' || train_find_task(argv[1]))) return task;
    if (argc < 2 || argv[1][0] == '-')
        cli_error(EXIT_USAGE, "train: expected: TASK; 'heed train --help' lists them");
    else
        unknown_task(argv[1]);
    return NULL;
}

/* The family of the directory that --init starts from; kinds: --model names none. NULL after saying what is wrong. */
static const heed_family *family_of_init(const struct options *o, bool kinds, int *status) {
    const char *const init = option_text(o, "init"), *const model = option_text(o, "model");
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const heed_family *family = heed_family_of(cx, init);
    if (!family)
        *status = cli_error(EXIT_FAILED, "%s", heed_message(cx));
    else if (option_given(o, "model") && !kinds && family != heed_family_find(model))
        family =
            (cli_error(EXIT_USAGE, "train: --init: %s holds a model of family %s, not %s", init, family->name, model),
             NULL);
    heed_close(cx);
    return family;
}

/* Of a family that reads texts and takes pictures: its head for pictures, where --init holds one or the data are
 * pictures. NULL: the first one for the task. */
static const char *head_of_pictures(const struct train_run *r) {
    const char *const init = option_text(r->o, "init");
    const heed_head *of_init = NULL;
    if (init) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
        of_init = heed_head_of(cx, init);
        heed_close(cx);
    }
    for (const heed_head *h = r->family->heads; h->architecture; h++) {
        const bool wanted = of_init ? h == of_init : heed_picture_set_is(r->path);
        if (wanted && text_among(h->tasks, r->task->page.name) && text_among(h->inputs, "pixel_values"))
            return strrchr(h->tasks, ' ') ? strrchr(h->tasks, ' ') + 1 : h->tasks;
    }
    return NULL;
}

/* Where a column of texts is named, a model of text is meant. */
static const char *family_name(const struct train_run *r) {
    const struct options *o = r->o;
    const bool texts = r->task->text && r->task->load && (option_given(o, "text") || option_given(o, "pair"));
    if (r->task->family) return r->task->family;
    return texts && !option_given(o, "model") ? TEXT_FAMILY : option_text(o, "model");
}

/* *status: the exit status when it is not. */
static bool usage_ok(struct train_run *r, int *status) {
    if (train_find_task(options_word(r->o, 0)) != r->task) { /* the word that looked like it was an option's value */
        cli_error(EXIT_USAGE, "train: the task comes first: heed train TASK [OPTIONS]");
        return false;
    }
    r->path = option_need(r->o, "data");
    r->dir = r->path ? option_need(r->o, "out") : NULL;
    if (!r->dir) return false;
    r->family = option_given(r->o, "init") ? family_of_init(r->o, r->task->family, status)
                                           : cli_family("train", family_name(r));
    if (!r->family) return false;
    const char *const first = r->head ? r->head : r->task->page.name;
    if (!heed_head_for(r->family, first)) {
        cli_error(EXIT_USAGE, "train: %s cannot be trained to %s", r->family->name, r->task->page.name);
        return false;
    }
    if (r->task->pictures) r->head = option_given(r->o, "head") ? option_text(r->o, "head") : head_of_pictures(r);
    const char *const task = r->head ? r->head : first;
    if (!heed_head_for(r->family, task) || !text_among(heed_head_for(r->family, task)->tasks, first)) {
        cli_error(EXIT_USAGE, "train: --head: %s has no head '%s' to %s", r->family->name, task, r->task->page.name);
        return false;
    }
    if (r->task->text && text_among(heed_head_for(r->family, task)->inputs, "input_ids")) r->how = r->task->text;
    if (r->task->pictures && text_among(heed_head_for(r->family, task)->inputs, "pixel_values"))
        r->how = r->task->pictures;
    if (r->task->pictures && r->how != r->task->pictures && !train_augment_unused(r)) return false;
    if (r->task->text && r->task->load && r->how != r->task->text && !train_text_unused(r)) return false;
    static const char *const pairs[][2] = {{"resume", "force"}, {"steps", "epochs"}, {"micro-batch", "accumulate"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!options_either(r->o, pairs[i][0], pairs[i][1])) return false;
    if (!train_lora_fits(r->o)) return false;
    if (!r->task->load && r->task->usage && !r->task->usage(r)) return false;
    return !r->how->usage || r->how->usage(r);
}

static int run(int argc, char **argv) {
    const struct train_task *task = task_of(argc, argv);
    char name[64];
    if (!task || !options_belong(task, argc, argv)) return EXIT_USAGE;
    if (task->page.run) return task->page.run(argc, argv); /* what is not trained in steps */
    snprintf(name, sizeof name, "train %s", task->page.name);
    struct options *o = options_read(name, task->page.options, argc, argv, 1, 1, "TASK");
    if (!o) return EXIT_USAGE;
    struct train_run r = {
        .o = o, .argc = argc, .argv = argv, .task = task, .how = task, .head = task->head, .lock = -1};
    int status = EXIT_USAGE;
    if (task->other && task->other(o, &status)) {
        options_free(o);
        return status;
    }
    if (usage_ok(&r, &status)) {
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
        "Trains a model. Sizes, vocabularies and standardisation follow from the data; the rest has defaults. DIR "
        "receives config.json, model.safetensors (the best by validation), checkpoint.safetensors and, where there is "
        "text, tokenizer.json.\n\n"
        "Ctrl-C or SIGTERM saves a checkpoint and stops; the same command with --resume continues, also after kill -9, "
        "and ends with the same bits as a run that was never stopped. A recipe is a file of options, one per line.\n\n"
        "Each task has further options: 'heed train TASK --help'.",
    .options = train_options,
    .often = "data out model init epochs batch lr target test valid resume force log set",
    .examples = "heed train classify --data digits --out out\n"
                "heed train regress --data houses.csv --target price --out houses --log houses.jsonl\n"
                "heed train translate --data corpus --from en --to de --out en-de\n"
                "heed train translate --help\n",
    .run = run,
    .first = task_name,
    .task = task_page,
};
