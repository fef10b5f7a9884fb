/* Runs: whatever the task, its data are loaded, the run is planned, the model is made and trained, in this order. */
#include "task/run.h"
#include "base/dry.h"
#include "base/memory.h"
#include "base/profile.h"
#include "base/text.h"
#include "heed/picture_set.h"
#include "io/text.h"
#include "model/core/opened.h"
#include "train/loop.h"
#include "train/trainer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- tasks ---- */

static const heed_task *const tasks[] = {
#define TASK(name) &task_of_##name,
#include "task/tasks.def"
#undef TASK
};
enum { TASKS = sizeof tasks / sizeof *tasks };

const heed_task *heed_task_at(int i) { return i >= 0 && i < TASKS ? tasks[i] : NULL; }

const heed_task *heed_task_find(const char *name) {
    for (int i = 0; name && i < TASKS; i++)
        if (strcmp(tasks[i]->name, name) == 0) return tasks[i];
    return NULL;
}

/* ---- values ---- */

static const struct task_default *default_of(const heed_run *r, const char *name) {
    for (const struct task_default *d = r->way ? r->way->defaults : NULL; d && d->field; d++)
        if (strcmp(d->field, name) == 0) return d;
    return NULL;
}

static double number_of(const char *text) {
    double x = 0;
    number_read(text, &x, &(bool){false});
    return x;
}

const char *run_text(const heed_run *r, const char *name) {
    const struct task_default *d = value_given(r->values, name) ? NULL : default_of(r, name);
    if (!d) return value_text(r->values, name);
    return d->tuned && value_given(r->values, "init") ? d->tuned : d->standard;
}
int64_t run_int(const heed_run *r, const char *name) {
    const char *const text = default_of(r, name) ? run_text(r, name) : NULL;
    return text ? strtoll(text, NULL, 10) : value_int(r->values, name);
}
double run_number(const heed_run *r, const char *name) {
    const char *const text = default_of(r, name) ? run_text(r, name) : NULL;
    return text ? number_of(text) : value_number(r->values, name);
}
int run_list(const heed_run *r, const char *name, const char *const **values) {
    return value_list(r->values, name, values);
}

bool run_option_misused(const heed_run *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    heed_failv(r->cx, HEED_ERR_USAGE, format, args);
    va_end(args);
    return heed_fail_in(r->cx, "train %s", r->task->name);
}

bool run_misused(const heed_run *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    heed_failv(r->cx, HEED_ERR_USAGE, format, args);
    va_end(args);
    return heed_fail_in(r->cx, "train");
}

bool run_fields_unused(const heed_run *r, const heed_field *rows, const char *what) {
    const heed_field *row;
    for (int i = 0; (row = heed_field_row(rows, i)); i++)
        if (row->kind != HEED_FIELD_GROUP && run_knows(r, row->name) && run_given(r, row->name))
            return run_misused(r, "--%s is for models of %s, which %s is not", row->name, what, r->family->name);
    return true;
}

bool run_remark(heed_run *r, heed_string *text, const char *format, ...) {
    char part[512];
    va_list args;
    va_start(args, format);
    const int n = text_formatv(part, sizeof part, format, args);
    va_end(args);
    return n >= 0 && heed_string_put(r->cx, text, part, strlen(part));
}

/* ---- models that are no networks ---- */

const heed_task *run_task_of(const struct task_way *way) {
    for (int i = 0; i < TASKS; i++)
        for (int k = 0; tasks[i]->ways[k]; k++)
            if (tasks[i]->ways[k] == way) return tasks[i];
    return NULL;
}

const char *run_plain_how(const char *name, char how[96]) {
    for (int i = 0; i < TASKS; i++)
        for (int k = 0; tasks[i]->ways[k]; k++) {
            const struct task_way *const way = tasks[i]->ways[k];
            if (!way->type || (strcmp(name, way->model) != 0 && strcmp(name, way->type) != 0)) continue;
            const bool asked = heed_field_find(tasks[i]->fields, "model");
            snprintf(how, 96, "heed train %s%s%s", tasks[i]->name, asked ? " --model " : "", asked ? way->model : "");
            return how;
        }
    return NULL;
}

/* ---- options ---- */

/* A family that reads texts may have heads for pictures too: that of --init, or one for the task where the data are
 * pictures. NULL: the first head for the task. */
static const char *head_of_pictures(const heed_run *r) {
    const heed_head *const of_init = heed_directory_head(r->init);
    for (const heed_head *h = r->family->heads; h->architecture; h++) {
        const bool wanted = of_init ? h == of_init : heed_picture_set_is(r->path);
        if (wanted && text_among(h->tasks, r->task->name) && text_among(h->inputs, "pixel_values"))
            return strrchr(h->tasks, ' ') ? strrchr(h->tasks, ' ') + 1 : h->tasks;
    }
    return NULL;
}

static const struct task_way *way_for(const heed_task *task, const char *input) {
    for (int i = 0; task->ways[i]; i++)
        if (task->ways[i]->input && strcmp(task->ways[i]->input, input) == 0) return task->ways[i];
    return NULL;
}

const struct task_way *run_way_of(const heed_task *task, const heed_head *head) {
    const struct task_way *way = task->ways[0];
    for (int i = 0; task->ways[i]; i++)
        if (task->ways[i]->input && text_among(head->inputs, task->ways[i]->input)) way = task->ways[i];
    return way;
}

/* Where a column of texts is named, the model is one of text. */
static const char *family_name(const heed_run *r) {
    static const char *const columns[] = {"text", "pair"};
    if (r->task->family) return r->task->family;
    bool texts = false;
    for (int i = 0; i < 2 && r->task->ways[1] && way_for(r->task, "input_ids"); i++)
        texts |= run_knows(r, columns[i]) && run_given(r, columns[i]);
    return texts && !run_given(r, "model") ? TEXT_FAMILY : run_text(r, "model");
}

static bool find_family_named(heed_run *r, const char *name) {
    const char *names[96];
    char how[96];
    int n = 0;
    r->family = heed_family_find(name);
    if (r->family) return true;
    if (run_plain_how(name, how)) return run_misused(r, "%s is no network: '%s' makes one", name, how);
    for (; n < heed_family_count() && n < 96; n++) names[n] = heed_family_at(n)->name;
    const char *const nearest = text_nearest(name, names, n);
    return nearest ? run_misused(r, "%s: unknown family, did you mean '%s'?", name, nearest)
                   : run_misused(r, "%s: unknown family, 'heed list' lists them", name);
}

/* The family of --init; without --init the one that --model names. */
static bool find_family(heed_run *r) {
    const char *const model = run_text(r, "model"), *const init = run_text(r, "init");
    if (!init) return find_family_named(r, family_name(r));
    if (!(r->init = heed_directory_open(r->cx, init))) return false;
    if (!(r->family = heed_directory_family(r->init))) return directory_head(r->cx, r->init); /* says what it is */
    if (run_given(r, "model") && !r->task->family && r->family != heed_family_find(model))
        return run_misused(r, "--init: %s holds a model of family %s, not %s", init, r->family->name, model);
    return true;
}

static bool find_way(heed_run *r) {
    const char *const model = run_knows(r, "model") ? run_text(r, "model") : NULL;
    r->way = r->task->ways[0];
    for (int i = 0; r->task->ways[i]; i++)
        if (r->task->ways[i]->model && model && strcmp(r->task->ways[i]->model, model) == 0) {
            r->way = r->task->ways[i];
            return true;
        }
    if (r->way->train) return true;
    if (!find_family(r)) return false;
    const char *const first = run_head(r);
    if (!heed_head_for(r->family, first))
        return run_misused(r, "%s cannot be trained to %s", r->family->name, r->task->name);
    if (way_for(r->task, "pixel_values")) r->head = run_given(r, "head") ? run_text(r, "head") : head_of_pictures(r);
    const heed_head *const head = heed_head_for(r->family, run_head(r));
    if (!head || !text_among(head->tasks, first))
        return run_misused(r, "--head: %s has no head '%s' to %s", r->family->name, run_head(r), r->task->name);
    r->way = run_way_of(r->task, head);
    for (int i = 0; r->task->ways[i]; i++)
        if (r->task->ways[i] != r->way && !run_fields_unused(r, r->task->ways[i]->own, r->task->ways[i]->what))
            return false;
    return run_lora_fits(r);
}

static const char *needed(const heed_run *r, const char *name) {
    const char *const text = run_text(r, name);
    const heed_field *const f = values_field(r->values, name, strlen(name));
    if (!text) run_option_misused(r, "--%s %s is needed", name, f ? f->value : "");
    return text;
}

static bool check(heed_run *r) {
    const char *const files = r->task->files ? run_text(r, r->task->files) : NULL;
    r->path = files ? files : needed(r, "data");
    r->dir = r->path ? needed(r, "out") : NULL;
    return r->dir && find_way(r) && (!r->way->check || r->way->check(r)) && !heed_failed(r->cx);
}

heed_run *run_open(heed_ctx *cx, const heed_task *task, const struct values *values) {
    if (heed_failed(cx)) return NULL;
    const size_t held = heed_memory_use(cx).held,
                 asked = value_known(values, "memory") ? value_bytes(values, "memory") : 0;
    heed_run *r = heed_mem_new(cx, sizeof *r);
    if (!r) return NULL;
    *r = (heed_run){.cx = cx,
                    .task = task,
                    .values = values,
                    .held = held,
                    .budget = asked > 0 ? asked : cx->config.byte_budget,
                    .head = task->head,
                    .lock = -1};
    if (check(r)) return r;
    heed_run_close(cx, r);
    return NULL;
}

void run_report(heed_run *r, bool (*report)(void *user, const heed_loop_state *state), void *user) {
    r->report = report;
    r->report_user = user;
}

/* ---- opening from C ---- */

const char *const run_exclusive[][2] = {
    {"resume", "force"}, {"steps", "epochs"}, {"micro-batch", "accumulate"}, {NULL, NULL}};

static bool give(heed_ctx *cx, struct values *v, const char *what, const char *name, size_t length, const char *text) {
    char why[FIELD_WHY];
    const heed_field *const f = values_field(v, name, length);
    if (!f) return heed_fail(cx, HEED_ERR_USAGE, "%s: there is no option '%.*s'", what, (int)length, name);
    if (!text && f->kind != HEED_FIELD_FLAG)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: %s needs a value: %s=%s", what, f->name, f->name, f->value);
    if (text && !field_takes(f, text, why)) return heed_fail(cx, HEED_ERR_USAGE, "%s: %s", what, why);
    return values_add(cx, v, f, text ? text : "yes", true);
}

bool run_give_options(heed_ctx *cx, struct values *v, const char *what, const char *const *options) {
    for (const char *const *at = options; at && *at; at++) {
        const size_t length = strcspn(*at, "=");
        if (!give(cx, v, what, *at, length, (*at)[length] ? *at + length + 1 : NULL)) return false;
    }
    return !heed_failed(cx);
}

static bool give_all(heed_ctx *cx, struct values *v, const heed_run_opts *o) {
    const struct {
        const char *name, *text;
    } named[] = {{"data", o->data}, {"out", o->out}, {"init", o->init}, {"model", o->model}};
    for (int i = 0; i < 4; i++)
        if (named[i].text && !give(cx, v, o->task, named[i].name, strlen(named[i].name), named[i].text)) return false;
    if (!run_give_options(cx, v, o->task, o->options)) return false;
    for (int i = 0; run_exclusive[i][0]; i++)
        if (!values_either(cx, v, run_exclusive[i][0], run_exclusive[i][1]))
            return heed_fail(cx, HEED_ERR_USAGE, "%s: %s and %s: only one of them makes sense", o->task,
                             run_exclusive[i][0], run_exclusive[i][1]);
    return true;
}

heed_run *heed_run_open(heed_ctx *cx, const heed_run_opts *opts) {
    if (heed_failed(cx)) return NULL;
    const heed_task *const task = opts ? heed_task_find(opts->task) : NULL;
    if (!task)
        return heed_fail(cx, HEED_ERR_USAGE, "run: there is no task '%s'", opts && opts->task ? opts->task : ""), NULL;
    struct values *v = values_new(cx, task->fields, NULL);
    heed_run *r = v && give_all(cx, v, opts) ? run_open(cx, task, v) : NULL;
    if (!r) {
        values_free(cx, v);
        return NULL;
    }
    r->owned = v;
    run_report(r, opts->report, opts->user);
    return r;
}

static void drop_draft(heed_run *r) {
    heed_model_free(r->dry, r->draft);
    heed_close(r->dry);
    r->draft = NULL;
    r->dry = NULL;
}

void heed_run_close(heed_ctx *cx, heed_run *r) {
    if (!r) return;
    drop_draft(r);
    heed_model_free(cx, r->model);
    run_close_embeddings(r);
    if (r->way && r->way->free && r->user) r->way->free(r);
    directory_unlock(r->lock);
    heed_directory_close(cx, r->init);
    values_free(cx, r->owned);
    heed_mem_free(cx, r);
}

/* ---- the options of the loop ---- */

/* Adafactor's learning rate is relative to the size of the weights, whatever the task: T5's (Raffel et al. 2020). */
static double learning_rate(const heed_run *r, heed_optimizer_kind kind) {
    const bool given = run_given(r, "lr");
    if (!given && kind == HEED_ADAFACTOR) return number_of(run_init(r) ? ADAFACTOR_TUNED_LR : ADAFACTOR_LR);
    if (given || run_text(r, "lr")) return run_number(r, "lr");
    return number_of(kind == HEED_SGD ? SGD_LR : ADAM_LR);
}

static heed_trainer_opts trainer_opts(const heed_run *r) {
    const char *optimizer = run_text(r, "optimizer");
    if (!optimizer) /* of text2text: adapters begin at zero, where relative updates are too small */
        optimizer = run_given(r, "lora") ? "adamw" : "adafactor";
    const char *const schedule = run_text(r, "schedule");
    static const char *const schedules[] = {"constant", "step", "linear", "cosine", "inverse-root"};
    heed_trainer_opts t = {
        .clip = run_number(r, "clip"), .average = run_number(r, "average"), .recompute = run_flag(r, "recompute")};
    for (int i = HEED_SGD; i <= HEED_ADAFACTOR; i++)
        if (strcmp(optimizer, optimizer_name((heed_optimizer_kind)i)) == 0) t.optimizer.kind = (heed_optimizer_kind)i;
    const bool sgd = t.optimizer.kind == HEED_SGD;
    if (sgd) t.optimizer.momentum = run_number(r, "momentum");
    t.optimizer.nesterov = sgd && run_flag(r, "nesterov");
    t.optimizer.beta1 = run_number(r, "beta1");
    t.optimizer.beta2 = run_number(r, "beta2");
    t.optimizer.eps = 1e-8;
    t.optimizer.weight_decay = run_number(r, "decay");
    for (int i = 0; i < 5; i++)
        if (strcmp(schedule, schedules[i]) == 0) t.schedule.kind = (heed_schedule_kind)i;
    t.schedule.lr = learning_rate(r, t.optimizer.kind);
    t.schedule.warmup = run_int(r, "warmup");
    t.schedule.floor = run_number(r, "schedule-floor");
    t.schedule.every = run_int(r, "schedule-every");
    t.schedule.factor = run_number(r, "schedule-factor");
    return t;
}

static void set_loop(heed_run *r) {
    r->loop = (heed_loop_opts){.dir = r->dir,
                               .trainer = trainer_opts(r),
                               .epochs = run_int(r, "epochs"),
                               .steps = run_int(r, "steps"),
                               .seed = heed_seed(r->cx),
                               .evaluate_every = run_int(r, "evaluate-every"),
                               .valid_examples = run_int(r, "valid-examples"),
                               .patience = run_int(r, "patience"),
                               .keep = run_int(r, "keep"),
                               .save_every = run_int(r, "save-every"),
                               .drop_checkpoint = run_flag(r, "drop-checkpoint"),
                               .resume = run_flag(r, "resume"),
                               .log = run_text(r, "log"),
                               .log_every = run_int(r, "log-every"),
                               .best_by = run_text(r, "best-by"),
                               .report = r->report,
                               .user = r->report_user};
}

/* ---- the budget ---- */

static size_t data_held(const heed_run *r) { return heed_memory_use(r->cx).held - r->held; }

bool run_drafted(heed_run *r) {
    if (r->drying.needed > 0)
        mem_over_budget(r->cx, "train", data_held(r) + r->drying.needed), r->cx->needed_total = false;
    else if (heed_failed(r->dry))
        heed_fail(r->cx, heed_error(r->dry), "%s", heed_message(r->dry));
    return !heed_failed(r->cx);
}

heed_model *run_draft(heed_run *r) {
    if (r->draft || heed_failed(r->cx)) return r->draft;
    r->dry = dry_open(&r->drying, heed_threads(r->cx), r->budget);
    r->draft = r->way->model_of(r, r->dry);
    return run_drafted(r) ? r->draft : NULL;
}

/* Plans the run in a dry context, and refuses it when it would take more than the budget. */
static bool check_budget(heed_run *r) {
    heed_model *const model = r->budget > 0 ? run_draft(r) : NULL;
    const size_t data = data_held(r);
    if (model && !heed_plan_run(r->dry, model, &r->loop, &r->planned))
        run_drafted(r);
    else if (model && data + r->planned.total > r->budget)
        mem_over_budget(r->cx, "train", data + r->planned.total);
    drop_draft(r);
    r->cx->config.byte_budget = r->budget;
    if (r->budget > 0) r->loop.plan = &r->planned;
    return !heed_failed(r->cx);
}

/* ---- preparing ---- */

static bool holds_plain(const char *dir) { return directory_has_config(dir) || directory_has_run(dir); }

/* A model or a checkpoint in DIR is lost only by --force. */
static bool may_write(const heed_run *r) {
    const char *const dir = r->dir;
    const bool resumes = !r->way->train || r->way->unit;
    const bool resume = resumes && run_flag(r, "resume"), force = run_flag(r, "force");
    const bool checkpoint = directory_has_checkpoint(dir);
    const bool model = directory_has_model(dir) || (r->way->type && directory_has_config(dir));
    if (resume && !checkpoint && !model)
        heed_note(r->cx, HEED_LOG_WARN, "%s: no checkpoint to resume from; training begins anew", dir);
    if (force || (resume && (checkpoint || !model))) return true;
    if (resume)
        return heed_fail(r->cx, HEED_ERR_FILE,
                         "%s: holds a model but no checkpoint to resume from: its run has ended and dropped it, or it "
                         "never had one; --force overwrites it",
                         dir);
    return !(checkpoint || model) ||
           heed_fail(r->cx, HEED_ERR_FILE, "%s: holds a %s already; %s--force overwrites it", dir,
                     model ? "model" : "checkpoint", resumes ? "--resume continues it, " : "");
}

bool run_claim(heed_run *r) {
    const bool over = run_flag(r, "resume") || run_flag(r, "force");
    if (r->lock < 0)
        r->lock = directory_claim(r->cx, r->dir, over ? NULL : r->way->type ? holds_plain : directory_has_run);
    return r->lock >= 0;
}

static bool load(heed_run *r) {
    const struct profile_mark mark = profile_begin(r->cx);
    const bool loaded = r->way->load(r);
    profile_end(r->cx, mark, "load data", PROFILE_FORWARD);
    return loaded && !heed_failed(r->cx);
}

static bool plan(heed_run *r) {
    const struct profile_mark mark = profile_begin(r->cx);
    set_loop(r);
    const bool planned =
        r->way->plan(r) && loop_metric(r->cx, r->loop.source, r->loop.best_by, &(int){0}) && check_budget(r);
    profile_end(r->cx, mark, "plan", PROFILE_FORWARD);
    return planned && !heed_cancelled(r->cx);
}

static bool make(heed_run *r) {
    const struct profile_mark mark = profile_begin(r->cx);
    r->model = r->way->model_of(r, r->cx);
    profile_end(r->cx, mark, "initialise model", PROFILE_FORWARD);
    return r->model && !heed_cancelled(r->cx);
}

bool heed_run_prepare(heed_ctx *cx, heed_run *r) {
    if (heed_failed(cx)) return false;
    if (!r) return heed_fail(cx, HEED_ERR_USAGE, "run: there is none");
    if (r->prepared) return true;
    if (r->budget > 0 && (r->way->train || r->budget < RUN_RESERVE)) /* nothing but data and model is to be planned */
        cx->config.byte_budget = r->way->train ? r->budget : RUN_RESERVE;
    if (!may_write(r)) return false;
    if (access(r->dir, F_OK) == 0 && !run_claim(r)) return false; /* before data are read */
    r->prepared = load(r) && (r->way->train || (plan(r) && make(r)));
    return r->prepared;
}

heed_loop_end heed_run_train(heed_ctx *cx, heed_run *r) {
    if (!heed_run_prepare(cx, r)) return HEED_LOOP_FAILED;
    if (r->trained) return heed_fail(cx, HEED_ERR_USAGE, "run_train: this run has trained already"), HEED_LOOP_FAILED;
    r->trained = true;
    if (r->way->train) return r->way->train(r);
    return run_claim(r) && r->way->begin(r) ? heed_loop_run(cx, r->model, &r->loop, &r->state) : HEED_LOOP_FAILED;
}
