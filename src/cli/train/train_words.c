/* heed train words: word2vec. It has a loop of its own, so it has options and a run of its own. */
#include "base/clock.h"
#include "cli/core/program.h"
#include "cli/train/train.h"
#include "heed/words.h"
#include "model/core/directory.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAVE_SECONDS 30

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "TEXT",
     .help = "a text file (.gz too), a sentence a line, words separated by white space"},
    {.name = "lower", .help = "lower-case the text"},
    SPLIT_OPTION(SPLIT_MARKS, ""),
    {.name = "min-count", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1e12,
     .help = "leave out words that were seen less often"},
    {.name = "word2vec", .kind = HEED_FIELD_GROUP},
    {.name = "kind", .letter = 'k', .kind = HEED_FIELD_CHOICE, .standard = "skip-gram", .value = "KIND", .choices = "skip-gram cbow",
     .help = "learn words from the word between them, or the word from the mean of those around it; one of"},
    {.name = "width", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .low = 1, .high = 1 << 20,
     .help = "numbers in a vector"},
    {.name = "window", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1 << 20,
     .help = "maximum distance between two words that learn from each other; for each word one up to it is drawn"},
    {.name = "negative", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1 << 20,
     .help = "number of noise words for each word that was seen"},
    {.name = "sample", .kind = HEED_FIELD_NUMBER, .standard = "0.001", .value = "X", .high = 1,
     .help = "threshold of subsampling: words that make up more of the text are often left out; 0: none are"},
    {.name = "training", .kind = HEED_FIELD_GROUP},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the text"},
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .standard = "0.025", .value = "X", .low = 1e-12, .high = 1e6,
     .help = "learning rate at the beginning; it decays linearly"},
    {.name = "lr-end", .kind = HEED_FIELD_NUMBER, .standard = "0.0001", .value = "X", .low = 1e-12, .high = 1e6,
     .help = "learning rate at the end"},
    {.name = "output", .kind = HEED_FIELD_GROUP},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "the directory to write"},
    {.name = "resume", .letter = 'r', .help = "continue from the checkpoint in DIR"},
    {.name = "force", .letter = 'f', .help = "overwrite what is in DIR"},
    {.name = "log", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "write one JSON object per line: step, loss, lr, seconds, words"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

#define CHECKPOINT "checkpoint.safetensors"

struct job {
    struct options *o;
    heed_ctx *cx;
    int argc;
    char **argv;
    const char *path, *dir;
    int lock;
    heed_words_trainer *trainer;
    heed_loop_state state; /* for the progress and the log */
    struct progress progress;
    struct loop log;
    double began, saved;
};

/* A run that is resumed goes on as it began. */
static bool splits_marks(const struct job *j) {
    const bool asked = strcmp(option_text(j->o, SPLIT_KEY), SPLIT_MARKS) == 0;
    if (!option_flag(j->o, "resume") || option_given(j->o, SPLIT_KEY) || !directory_has_config(j->dir)) return asked;
    heed_words *const saved = heed_words_open(j->cx, j->dir);
    const bool split = heed_words_punctuation(saved);
    heed_words_close(j->cx, saved);
    return split;
}

static heed_words_opts opts_of(const struct job *j) {
    const struct options *o = j->o;
    const double sample = option_number(o, "sample");
    return (heed_words_opts){.cbow = strcmp(option_text(o, "kind"), "cbow") == 0,
                             .lower = option_flag(o, "lower"),
                             .punctuation = splits_marks(j),
                             .width = option_int(o, "width"),
                             .window = option_int(o, "window"),
                             .negative = option_int(o, "negative"),
                             .least = option_int(o, "min-count"),
                             .epochs = option_int(o, "epochs"),
                             .sample = sample > 0 ? sample : -1,
                             .lr = option_number(o, "lr"),
                             .lr_end = fmin(option_number(o, "lr-end"), option_number(o, "lr")),
                             .seed = heed_seed(j->cx)};
}

/* ---- files ---- */

static bool save_vectors(const struct job *j) {
    heed_words *w = heed_words_trainer_words(j->cx, j->trainer);
    const bool ok = w && heed_words_save(j->cx, w, j->dir);
    heed_words_close(j->cx, w);
    return ok;
}

/* The vectors as they are, and what is needed to go on. */
static bool save(struct job *j) {
    char path[PATH_ROOM];
    j->saved = clock_seconds();
    return directory_path(j->cx, j->dir, CHECKPOINT, path) && heed_words_trainer_save(j->cx, j->trainer, path) &&
           save_vectors(j);
}

static bool is_taken(const char *dir) { return directory_has_config(dir) || directory_has(dir, CHECKPOINT); }

/* What is in DIR is not to be lost by a slip. */
static bool may_write(const struct job *j) {
    const bool checkpoint = directory_has(j->dir, CHECKPOINT);
    if (option_flag(j->o, "force") || !is_taken(j->dir)) return true;
    if (option_flag(j->o, "resume") && checkpoint) return true;
    cli_error(EXIT_FAILED,
              option_flag(j->o, "resume") ? "%s: holds a model but no checkpoint to resume from; --force overwrites it"
                                          : "%s: holds a model already; --resume continues it, --force overwrites it",
              j->dir);
    return false;
}

/* ---- the run ---- */

static bool load(struct job *j) {
    const heed_words_opts opts = opts_of(j);
    char path[PATH_ROOM], words[48];
    heed_lines text = {0};
    if (heed_lines_read(j->cx, j->path, &text)) j->trainer = heed_words_trainer_new(j->cx, j->path, &text, &opts);
    heed_lines_free(j->cx, &text);
    const bool over = option_flag(j->o, "resume") || option_flag(j->o, "force");
    if (!j->trainer || (j->lock = directory_claim(j->cx, j->dir, over ? NULL : is_taken)) < 0) return false;
    if (!option_flag(j->o, "resume")) {
        if (!directory_clear(j->cx, j->dir)) return false;
    } else if (directory_has(j->dir, CHECKPOINT) && !(directory_path(j->cx, j->dir, CHECKPOINT, path) &&
                                                      heed_words_trainer_restore(j->cx, j->trainer, path))) {
        return false;
    }
    if (!option_flag(j->o, "quiet"))
        fprintf(stderr, "%s: %lld words to train on, %s seen at least %lld times\n", j->path,
                (long long)(heed_words_trainer_state(j->trainer).total / opts.epochs),
                cli_count(heed_words_trainer_count(j->trainer), "of them", "different ones", words),
                (long long)opts.least);
    return true;
}

static void take_state(struct job *j, int64_t before) {
    const heed_words_state s = heed_words_trainer_state(j->trainer);
    const double seconds = clock_seconds() - j->began, speed = seconds > 0 ? (double)(s.seen - before) / seconds : 0;
    j->state = (heed_loop_state){.step = s.step,
                                 .steps = s.steps,
                                 .epoch = s.epoch,
                                 .seen = s.seen,
                                 .loss = s.loss,
                                 .lr = s.lr,
                                 .seconds = seconds,
                                 .seen_per_second = speed,
                                 .seconds_left = speed > 0 ? (double)(s.total - s.seen) / speed : 0};
}

/* False: stopped by a signal, or failed. */
static bool learn(struct job *j) {
    const int64_t before = heed_words_trainer_state(j->trainer).seen;
    j->began = j->saved = clock_seconds();
    take_state(j, before);
    while (!interrupted() && heed_words_trainer_step(j->cx, j->trainer)) {
        take_state(j, before);
        progress_show(&j->progress, &j->state);
        if (!log_state(&j->log)) break;
        if (clock_seconds() - j->saved >= SAVE_SECONDS && !save(j)) break;
    }
    if (j->state.step > 0) progress_end(&j->progress, &j->state);
    return !heed_failed(j->cx) && j->state.step == j->state.steps;
}

/* ---- what is said at the end ---- */

static void say_how_to_go_on(const struct job *j) {
    fprintf(stderr, "heed: stopped at step %lld, the vectors are written; continue with: ", (long long)j->state.step);
    cli_print_word(stderr, cli_program());
    for (int i = -1; i < j->argc; i++) {
        const char *word = i < 0 ? "train" : j->argv[i];
        if (i == 0 || strcmp(word, "--resume") == 0 || strcmp(word, "-r") == 0 || strcmp(word, "--force") == 0 ||
            strcmp(word, "-f") == 0)
            continue;
        fputc(' ', stderr);
        cli_print_word(stderr, word);
    }
    fputs(" --resume\n", stderr);
}

static void print_json(const struct job *j, FILE *f) {
    heed_ctx *cx = j->cx;
    const heed_json at = heed_json_new(cx, "result");
    heed_json_put_text(cx, at, "model", j->dir);
    heed_json_put_int(cx, at, "vocab_size", heed_words_trainer_count(j->trainer));
    heed_json_put_int(cx, at, "steps", j->state.step);
    heed_json_put_int(cx, at, "epochs", j->state.epoch);
    heed_json_put_int(cx, at, "words", j->state.seen);
    heed_json_put_number(cx, at, "seconds", round(j->state.seconds * 1000) / 1000);
    heed_json_put_number(cx, at, "loss", j->state.loss);
    json_answer(cx, f, at, 2);
    heed_json_free(at);
}

static void print_summary(const struct job *j, FILE *f) {
    char words[48];
    fprintf(f, "trained %s of %s in %.1f s\n",
            cli_count(heed_words_trainer_count(j->trainer), "vector", "vectors", words), option_text(j->o, "kind"),
            j->state.seconds);
    fprintf(f, "training: loss %.4g at the last step\nmodel: %s\nnext: ", j->state.loss, j->dir);
    cli_print_command(f, "words", j->dir, (char *)NULL);
    fputs(" WORD\n", f);
}

static void train(struct job *j) {
    const char *log = option_text(j->o, "log");
    if (!load(j)) return;
    options_train(j->cx);
    progress_begin(&j->progress, option_flag(j->o, "quiet"), "words", NULL);
    j->log = (struct loop){.cx = j->cx, .opts.log = log, .state = &j->state, .source.unit = "words"};
    if (!log_open(&j->log, heed_words_trainer_state(j->trainer).step)) return;
    const bool done = learn(j);
    log_close(&j->log);
    if (heed_failed(j->cx) || !save(j)) return;
    FILE *f = log && strcmp(log, "-") == 0 ? stderr : stdout;
    if (!done)
        say_how_to_go_on(j);
    else if (option_flag(j->o, "json"))
        print_json(j, f);
    else if (!option_flag(j->o, "quiet"))
        print_summary(j, f);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("train words", options, argc, argv, 1, 1, "TASK");
    if (!o) return EXIT_USAGE;
    struct job j = {.o = o, .argc = argc, .argv = argv, .lock = -1, .path = option_need(o, "data")};
    int status = EXIT_USAGE;
    if (j.path && (j.dir = option_need(o, "out")) && options_either(o, "resume", "force")) {
        status = EXIT_FAILED;
        if (may_write(&j) && (j.cx = options_open(o))) {
            train(&j);
            heed_words_trainer_free(j.cx, j.trainer);
            directory_unlock(j.lock);
            status = options_close(o, j.cx, EXIT_DONE);
        }
    }
    options_free(o);
    return status;
}

const struct train_task train_words = {
    .page = {.name = "words",
             .summary = "word vectors (word2vec)",
             .words = "words",
             .about = "Learns a vector for each word of a text, so that words that stand among the same words lie near "
                      "each other: word2vec (Mikolov et al. 2013), skip-gram or CBOW, with negative sampling and "
                      "subsampling of frequent words. DIR receives config.json, model.safetensors (embedding.weight) "
                      "and words.txt, and checkpoint.safetensors, from which --resume goes on; 'heed words' uses it "
                      "and writes the formats of word2vec.\n\n"
                      "One thread learns, in the order of the text: the same seed gives the same bits. Ctrl-C or "
                      "SIGTERM writes the vectors as they are and stops.",
             .options = options,
             .examples =
                 "heed train words --data corpus.txt --out vectors\n"
                 "heed train words --data corpus.txt --lower --kind cbow --width 300 --window 8 --out vectors\n"
                 "heed train words --data small.txt --min-count 1 --epochs 50 --out vectors --log words.jsonl\n",
             .run = run},
};
