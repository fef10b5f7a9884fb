/* heed train: reads the command line, has the library do the run (heed/run.h), shows how far it is and what came out.
 */
#include "base/text.h"
#include "cli/core/options.h"
#include "cli/core/program.h"
#include "cli/core/progress.h"
#include "cli/eval/coefficients.h"
#include "task/run.h"
#include "task/text/chat_template.h"
#include "train/loop.h"
#include <stdio.h>
#include <string.h>

/* ---- the tasks as pages of help ---- */

static const struct command *task_page(int i) {
    static struct command page;
    const heed_task *const task = heed_task_at(i);
    if (task)
        page = (struct command){.name = task->name,
                                .summary = task->summary,
                                .about = task->about,
                                .options = task->fields,
                                .examples = task->examples,
                                .of_task = task};
    return task ? &page : NULL;
}
static const char *task_name(int i) { return heed_task_at(i) ? heed_task_at(i)->name : NULL; }

/* ---- which task ---- */

static void unknown_task(const char *name) {
    const char *names[64];
    char list[512] = "";
    int n = 0;
    for (; n < 64 && heed_task_at(n); n++) {
        names[n] = heed_task_at(n)->name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", n ? ", " : "", names[n]);
    }
    const char *nearest = text_nearest(name, names, n);
    if (nearest)
        cli_error(EXIT_USAGE, "train: unknown task '%s', did you mean '%s'?", name, nearest);
    else
        cli_error(EXIT_USAGE, "train: unknown task '%s', one of: %s", name, list);
}

static bool has_option(const heed_task *task, const char *name, size_t length) {
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    return heed_field_find(task->fields, text);
}

/* Options of another task: reading them would only find that they are unknown. */
static bool options_belong(const heed_task *task, int argc, char **argv) {
    const heed_task *other;
    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++) {
        const size_t length = strcspn(argv[k], "=");
        if (strncmp(argv[k], "--", 2) != 0 || has_option(task, argv[k] + 2, length - 2)) continue;
        for (int i = 0; (other = heed_task_at(i)); i++)
            if (has_option(other, argv[k] + 2, length - 2)) {
                cli_error(EXIT_USAGE, "train: %.*s is not for %s, but for %s", (int)length, argv[k], task->name,
                          other->name);
                return false;
            }
    }
    return true;
}

/* The task is the first word that is none of the options, most often the very first. */
static const heed_task *task_of(int argc, char **argv) {
    const heed_task *task = NULL;
    for (int k = 1; !task && k < argc; k++) task = heed_task_find(argv[k]);
    if (task && (argv[1][0] == '-' || heed_task_find(argv[1]))) return task;
    if (argc < 2 || argv[1][0] == '-')
        cli_error(EXIT_USAGE, "train: expected: TASK; 'heed train --help' lists them");
    else
        unknown_task(argv[1]);
    return NULL;
}

/* ---- the run ---- */

struct training {
    const struct options *o;
    heed_ctx *cx;
    heed_run *run;
    int argc;
    char **argv;
    struct progress progress;
};

static bool on_update(void *user, const heed_loop_state *state) {
    struct training *t = user;
    progress_show(&t->progress, state);
    return !interrupted();
}

static void say_how_to_go_on(const struct training *t) {
    fprintf(stderr, "heed: stopped at step %lld; continue with: ", (long long)heed_run_state(t->run)->step);
    cli_print_word(stderr, cli_program());
    for (int i = 0; i < t->argc; i++) {
        const char *word = t->argv[i];
        const bool again = strcmp(word, "--resume") == 0 || strcmp(word, "-r") == 0;
        if (again || strcmp(word, "--force") == 0 || strcmp(word, "-f") == 0) continue;
        fputc(' ', stderr);
        cli_print_word(stderr, word);
    }
    fputs(" --resume\n", stderr);
}

/* "1 epoch", "2.5 epochs", "0.85 epochs" */
static const char *epochs_text(const heed_run *run, char text[48]) {
    const double epochs = heed_run_epochs(run);
    const int64_t whole = heed_run_state(run)->epoch;
    if (epochs == (double)whole) return text_count(whole, "epoch", "epochs", text);
    snprintf(text, 48, epochs < 0.01 ? "%.2g epochs" : "%.2f epochs", epochs);
    return text;
}

static void print_steps(const struct training *t, FILE *f, bool early) {
    const heed_loop_state *s = heed_run_state(t->run);
    const heed_metric *const *metrics = heed_run_source(t->run)->metrics;
    char text[512], steps[48], epochs[48];
    fprintf(f, "trained %s for %s (%s) in %.1f s%s\n", heed_model_family(heed_run_model(t->run))->name,
            text_count(s->step, "step", "steps", steps), epochs_text(t->run, epochs), s->seconds,
            early ? ", stopped early" : "");
    if (s->best_step > 0) {
        score_text(text, sizeof text, metrics, s->validated ? &s->whole : &s->best);
        fprintf(f, "validation: %s (best, step %lld)\n", text, (long long)s->best_step);
    } else {
        fprintf(f, "training: loss %.6g at the last step\n", s->loss);
    }
    if (s->tested) {
        score_text(text, sizeof text, metrics, &s->test);
        fprintf(f, "test: %s\n", text);
    }
}

static void print_next(const struct training *t, FILE *f) {
    const char *const dir = option_text(t->o, "out"), *how, *const next = heed_run_next(t->run, &how);
    fprintf(f, "model: %s\nnext: ", dir);
    cli_print_command(f, next, dir, (char *)NULL);
    const bool chat = strcmp(next, "generate") == 0 && chat_has_template(dir);
    fprintf(f, "%s\n", chat ? " --chat" : how);
}

static void print_summary(struct training *t, FILE *f, bool early) {
    heed_string remarks = {0};
    if (heed_run_source(t->run)) print_steps(t, f, early);
    if (heed_run_remarks(t->cx, t->run, &remarks) && remarks.size > 0) fwrite(remarks.s, 1, remarks.size, f);
    heed_string_free(t->cx, &remarks);
    if (heed_run_model(t->run) && coefficients_print(t->cx, heed_run_model(t->run), f)) fputc('\n', f);
    print_next(t, f);
}

static void say_end(struct training *t, heed_loop_end end) {
    const char *const log = option_known(t->o, "log") ? option_text(t->o, "log") : NULL;
    FILE *f = log && strcmp(log, "-") == 0 ? stderr : stdout;
    const heed_loop_state *const state = heed_run_state(t->run);
    if (end == HEED_LOOP_STOPPED || end == HEED_LOOP_FAILED) {
        if (t->progress.open) fputc('\n', stderr);
        if (end == HEED_LOOP_STOPPED) say_how_to_go_on(t);
        return;
    }
    if (state->step > 0) progress_end(&t->progress, state);
    if (option_flag(t->o, "json")) {
        const heed_json result = heed_run_result(t->cx, t->run);
        if (heed_run_model(t->run)) coefficients_put(t->cx, heed_run_model(t->run), result);
        json_answer(t->cx, f, result, 2);
        heed_json_free(result);
    } else if (!option_flag(t->o, "quiet")) {
        print_summary(t, f, end == HEED_LOOP_EARLY);
    }
}

static void train(struct training *t) {
    if (!heed_run_prepare(t->cx, t->run)) return;
    const heed_loop_source *const from = heed_run_source(t->run);
    const char *const unit = from ? from->unit : t->run->way->unit;
    if (unit) {
        options_train(t->cx);
        progress_begin(&t->progress, option_flag(t->o, "quiet"), unit, from && from->valid ? from->metrics[0] : NULL);
    }
    say_end(t, heed_run_train(t->cx, t->run));
}

static int run(int argc, char **argv) {
    const heed_task *task = task_of(argc, argv);
    char name[64];
    if (!task || !options_belong(task, argc, argv)) return EXIT_USAGE;
    snprintf(name, sizeof name, "train %s", task->name);
    struct options *o = options_read(name, task->fields, argc, argv, 1, 1, "TASK");
    bool usage = o;
    if (usage && heed_task_find(options_word(o, 0)) != task) { /* the word that looked like it was an option's value */
        cli_error(EXIT_USAGE, "train: the task comes first: heed train TASK [OPTIONS]");
        usage = false;
    }
    for (int i = 0; usage && run_exclusive[i][0]; i++)
        usage = options_either(o, run_exclusive[i][0], run_exclusive[i][1]);
    int status = EXIT_USAGE;
    struct training t = {.o = o, .argc = argc, .argv = argv, .cx = usage ? options_open_roomy(o) : NULL};
    if (usage && !t.cx) status = EXIT_FAILED;
    if (t.cx) {
        t.run = run_open(t.cx, task, options_values(o));
        const bool misused = !t.run && heed_error(t.cx) == HEED_ERR_USAGE;
        if (t.run) run_report(t.run, on_update, &t);
        if (t.run) train(&t);
        heed_run_close(t.cx, t.run);
        status = options_close(o, t.cx, EXIT_DONE);
        if (misused) status = EXIT_USAGE;
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
    .options = run_fields,
    .often = "data out model init epochs batch lr target test valid resume force log set",
    .examples = "heed train classify --data digits --out out\n"
                "heed train regress --data houses.csv --target price --out houses --log houses.jsonl\n"
                "heed train translate --data corpus --from en --to de --out en-de\n"
                "heed train translate --help\n",
    .run = run,
    .first = task_name,
    .task = task_page,
};
