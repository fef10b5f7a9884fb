/* Word vectors by word2vec, which has its own training loop. */
#include "base/clock.h"
#include "base/text.h"
#include "classical/words/words.h"
#include "model/core/directory.h"
#include "task/run.h"
#include "text/strings/split.h"
#include "train/loop.h"
#include <math.h>

#define SAVE_SECONDS 30
#define CHECKPOINT   "checkpoint.safetensors"

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "TEXT",
     .help = "a text file (.gz too), a sentence a line, words separated by white space"},
    {.name = "lower", .help = "lower-case the text"},
    SPLIT_FIELD(SPLIT_MARKS, ""),
    {.name = "min-count", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1e12,
     .help = "leave out words that occur fewer than N times"},
    {.name = "word2vec", .kind = HEED_FIELD_GROUP},
    {.name = "kind", .letter = 'k', .kind = HEED_FIELD_CHOICE, .standard = "skip-gram", .value = "KIND", .choices = "skip-gram cbow",
     .help = "predict each of the words around a word (skip-gram), or a word from the mean of those around it (cbow); one of"},
    {.name = "width", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .low = 1, .high = 1 << 20,
     .help = "numbers in a vector"},
    {.name = "window", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1 << 20,
     .help = "maximum distance between two words of a pair; for each word a distance of at most N is drawn"},
    {.name = "negative", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1 << 20,
     .help = "number of noise words for each true one"},
    {.name = "sample", .kind = HEED_FIELD_NUMBER, .standard = "0.001", .value = "X", .high = 1,
     .help = "threshold of subsampling: words that make up more than this fraction of the text are often left out; 0: none are"},
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
    {.name = "json", .help = "the result as JSON"},
    {.name = NULL},
};
/* clang-format on */

struct learning {
    heed_words_trainer *trainer;
    struct loop log;
    int64_t before; /* words seen by the runs that this one resumes */
    double began, saved;
};

static struct learning *learning_of(const heed_run *r) { return r->user; }

/* ---- options ---- */

/* A run that is resumed splits words as it did at its beginning. */
static bool splits_marks(const heed_run *r) {
    const bool asked = split_marks(run_text(r, SPLIT_KEY));
    if (!run_flag(r, "resume") || run_given(r, SPLIT_KEY) || !directory_has_config(r->dir)) return asked;
    heed_words *const saved = heed_words_open(r->cx, r->dir);
    const bool split = heed_words_punctuation(saved);
    heed_words_close(r->cx, saved);
    return split;
}

static heed_words_opts opts_of(const heed_run *r) {
    const double sample = run_number(r, "sample");
    return (heed_words_opts){.cbow = strcmp(run_text(r, "kind"), "cbow") == 0,
                             .lower = run_flag(r, "lower"),
                             .punctuation = splits_marks(r),
                             .width = run_int(r, "width"),
                             .window = run_int(r, "window"),
                             .negative = run_int(r, "negative"),
                             .least = run_int(r, "min-count"),
                             .epochs = run_int(r, "epochs"),
                             .sample = sample > 0 ? sample : -1,
                             .lr = run_number(r, "lr"),
                             .lr_end = fmin(run_number(r, "lr-end"), run_number(r, "lr")),
                             .seed = heed_seed(r->cx)};
}

static bool load(heed_run *r) {
    struct learning *l = heed_mem_new(r->cx, sizeof *l);
    heed_lines text = {0};
    if (!l) return false;
    *l = (struct learning){.log = {.cx = r->cx, .state = &r->state, .source.unit = "words"}};
    l->log.opts.log = run_text(r, "log");
    r->user = l;
    const heed_words_opts opts = opts_of(r);
    if (heed_lines_read(r->cx, r->path, &text)) l->trainer = heed_words_trainer_new(r->cx, r->path, &text, &opts);
    heed_lines_free(r->cx, &text);
    return l->trainer;
}

/* ---- files ---- */

static bool save_vectors(const heed_run *r) {
    heed_words *w = heed_words_trainer_words(r->cx, learning_of(r)->trainer);
    const bool ok = w && heed_words_save(r->cx, w, r->dir);
    heed_words_close(r->cx, w);
    return ok;
}

/* Writes the vectors as they are now, and a checkpoint. */
static bool save(heed_run *r) {
    struct learning *l = learning_of(r);
    char path[PATH_ROOM];
    l->saved = clock_seconds();
    return directory_path(r->cx, r->dir, CHECKPOINT, path) && heed_words_trainer_save(r->cx, l->trainer, path) &&
           save_vectors(r);
}

static bool restore(heed_run *r) {
    char path[PATH_ROOM];
    if (!run_flag(r, "resume")) return directory_clear(r->cx, r->dir);
    return !directory_has(r->dir, CHECKPOINT) || (directory_path(r->cx, r->dir, CHECKPOINT, path) &&
                                                  heed_words_trainer_restore(r->cx, learning_of(r)->trainer, path));
}

/* ---- learning ---- */

static void say_text(const heed_run *r) {
    const heed_words_trainer *const t = learning_of(r)->trainer;
    char words[48];
    heed_note(r->cx, HEED_LOG_INFO, "%s: %lld words to train on, %s seen at least %lld times", r->path,
              (long long)(heed_words_trainer_state(t).total / run_int(r, "epochs")),
              text_count(heed_words_trainer_count(t), "of them", "different ones", words),
              (long long)run_int(r, "min-count"));
}

static void take_state(heed_run *r) {
    const struct learning *const l = learning_of(r);
    const heed_words_state s = heed_words_trainer_state(l->trainer);
    const double seconds = clock_seconds() - l->began, speed = seconds > 0 ? (double)(s.seen - l->before) / seconds : 0;
    r->state = (heed_loop_state){.step = s.step,
                                 .steps = s.steps,
                                 .epoch = s.epoch,
                                 .seen = s.seen,
                                 .loss = s.loss,
                                 .lr = s.lr,
                                 .seconds = seconds,
                                 .seen_per_second = speed,
                                 .seconds_left = speed > 0 ? (double)(s.total - s.seen) / speed : 0};
}

/* Trains until all steps are done or the report stops it; false: it has failed. */
static bool learn(heed_run *r) {
    struct learning *l = learning_of(r);
    bool on = true;
    l->before = heed_words_trainer_state(l->trainer).seen;
    l->began = l->saved = clock_seconds();
    take_state(r);
    while (on && heed_words_trainer_step(r->cx, l->trainer)) {
        take_state(r);
        if (!log_state(&l->log)) break;
        if (clock_seconds() - l->saved >= SAVE_SECONDS && !save(r)) break;
        on = !r->report || r->report(r->report_user, &r->state);
    }
    return !heed_failed(r->cx);
}

static heed_loop_end train(heed_run *r) {
    struct learning *l = learning_of(r);
    if (!run_claim(r) || !restore(r)) return HEED_LOOP_FAILED;
    say_text(r);
    if (!log_open(&l->log, heed_words_trainer_state(l->trainer).step)) return HEED_LOOP_FAILED;
    const bool ok = learn(r);
    log_close(&l->log);
    if (!ok || heed_failed(r->cx) || !save(r)) return HEED_LOOP_FAILED;
    return r->state.step == r->state.steps ? HEED_LOOP_DONE : HEED_LOOP_STOPPED;
}

/* ---- what came out ---- */

static void put(heed_run *r, heed_json result) {
    heed_ctx *const cx = r->cx;
    heed_json_put_int(cx, result, "vocab_size", heed_words_trainer_count(learning_of(r)->trainer));
    heed_json_put_int(cx, result, "steps", r->state.step);
    heed_json_put_int(cx, result, "epochs", r->state.epoch);
    heed_json_put_int(cx, result, "words", r->state.seen);
    heed_json_put_number(cx, result, "seconds", round(r->state.seconds * 1000) / 1000);
    heed_json_put_number(cx, result, "loss", r->state.loss);
}

static bool remarks(heed_run *r, heed_string *text) {
    char words[48];
    text_count(heed_words_trainer_count(learning_of(r)->trainer), "vector", "vectors", words);
    return run_remark(r, text, "trained %s of %s in %.1f s\ntraining: loss %.4g at the last step\n", words,
                      run_text(r, "kind"), r->state.seconds, r->state.loss);
}

static void free_learning(heed_run *r) {
    heed_words_trainer_free(r->cx, learning_of(r)->trainer);
    heed_mem_free(r->cx, learning_of(r));
}

const struct task_way way_words = {.what = "texts",
                                   .model = "word2vec",
                                   .next = "words",
                                   .next_how = " WORD",
                                   .load = load,
                                   .train = train,
                                   .unit = "words",
                                   .put = put,
                                   .remarks = remarks,
                                   .free = free_learning,
                                   .type = WORDS_TYPE};

static const struct task_way *const ways[] = {&way_words, NULL};

const heed_task task_of_words = {
    .name = "words",
    .summary = "word vectors (word2vec)",
    .about = "Learns a vector for each word of a text, so that words that stand among the same words lie near "
             "each other: word2vec (Mikolov et al. 2013), skip-gram or CBOW, with negative sampling and "
             "subsampling of frequent words. DIR receives config.json, model.safetensors (embedding.weight) "
             "and words.txt, and checkpoint.safetensors, from which --resume goes on; 'heed words' uses it "
             "and writes the formats of word2vec.\n\n"
             "One thread learns, in the order of the text: the same seed gives the same bits. Ctrl-C or "
             "SIGTERM writes the vectors as they are and stops.",
    .examples = "heed train words --data corpus.txt --out vectors\n"
                "heed train words --data corpus.txt --lower --kind cbow --width 300 --window 8 --out vectors\n"
                "heed train words --data small.txt --min-count 1 --epochs 50 --out vectors --log words.jsonl\n",
    .fields = fields,
    .ways = ways,
};
