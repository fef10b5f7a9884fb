/* Tagging words by a hidden Markov model: counting, and Baum-Welch over the words without their tags. */
#include "base/clock.h"
#include "base/text.h"
#include "classical/hmm/hmm_tagger.h"
#include "task/run.h"
#include "task/tables/table_fields.h"
#include "task/task.h"
#include "task/text/text_parts.h"
#include "text/strings/split.h"

/* clang-format off */
const heed_field hmm_fields[] = {
    {.name = "hidden Markov models (--model hmm)", .kind = HEED_FIELD_GROUP},
    {.name = "baum-welch", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e6,
     .help = "number of steps of Baum-Welch after counting, over the words without their tags"},
    {.name = "unsupervised", .help = "begin Baum-Welch from random numbers instead of counts; each state is then named "
                                     "after the tag that most of its words have"},
    {.name = NULL},
};
/* clang-format on */

struct tagging {
    heed_task_data *data;
    struct hmm_tagger tagger;
    struct hmm_accuracy found[2]; /* in validation and test */
    double began, seconds;
};

static struct tagging *tagging_of(const heed_run *r) { return r->user; }

/* ---- the data ---- */

static heed_task_data *read_words(heed_run *r, const char *path, const heed_task_data *like) {
    heed_task_opts opts = texts_opts(r);
    opts.like = like;
    return heed_task_read(r->cx, &task_tag, path, &opts);
}

static bool check(heed_run *r) {
    char why[FIELD_WHY];
    if (!table_separator_fits(r->values, why)) return run_option_misused(r, "%s", why);
    return !run_flag(r, "unsupervised") || run_int(r, "baum-welch") > 0 ||
           run_misused(r, "--unsupervised needs --baum-welch N");
}

static bool load(heed_run *r) {
    char file[PATH_ROOM];
    struct tagging *t = heed_mem_new(r->cx, sizeof *t);
    if (!t) return false;
    *t = (struct tagging){.began = clock_seconds()};
    r->user = t;
    const char *const part = texts_part(r->path, "train", file);
    if (!part) return texts_fail_train(r->cx, r->path);
    t->data = read_words(r, part, NULL);
    return t->data;
}

/* ---- the run ---- */

static bool measure_file(heed_run *r, const struct hmm_tagger *g, const char *path, const heed_task_data *like,
                         struct hmm_accuracy *to) {
    heed_task_data *data = read_words(r, path, like);
    struct tagged_words words;
    if (data) task_tagged_words(data, &words);
    const bool ok = data && hmm_tagger_measure(g, &words, to);
    heed_task_free(r->cx, data);
    return ok;
}

/* Measures the file that was given, or else the part of the data's directory; a single file has no parts. */
static bool measure_part(heed_run *r, const char *given, const char *part, struct hmm_accuracy *to) {
    const struct tagging *const t = tagging_of(r);
    char file[PATH_ROOM];
    const char *const path = texts_part(given ? given : r->path, part, file);
    return !path || (!given && path == r->path) || measure_file(r, &t->tagger, path, t->data, to);
}

static heed_loop_end train(heed_run *r) {
    struct tagging *t = tagging_of(r);
    struct tagged_words words;
    task_tagged_words(t->data, &words);
    t->tagger.marks = split_marks(run_text(r, SPLIT_KEY));
    const bool ok =
        hmm_tagger_learn(r->cx, &words, run_flag(r, "unsupervised"), run_int(r, "baum-welch"), &t->tagger) &&
        measure_part(r, run_text(r, "valid-data"), "valid", &t->found[0]) &&
        measure_part(r, run_text(r, "test"), "test", &t->found[1]) && run_claim(r) &&
        hmm_tagger_save(&t->tagger, r->dir);
    t->seconds = clock_seconds() - t->began;
    return ok ? HEED_LOOP_DONE : HEED_LOOP_FAILED;
}

static void put(heed_run *r, heed_json result) {
    static const char *const sets[] = {"valid", "test"};
    const struct tagging *const t = tagging_of(r);
    heed_json_put_int(r->cx, result, "states", t->tagger.h->states);
    heed_json_put_int(r->cx, result, "symbols", t->tagger.h->symbols);
    for (int i = 0; i < 2; i++)
        if (t->found[i].words > 0) hmm_accuracy_put(r->cx, heed_json_put_object(r->cx, result, sets[i]), &t->found[i]);
}

static bool remarks(heed_run *r, heed_string *text) {
    static const char *const sets[] = {"validation", "test"};
    const struct tagging *const t = tagging_of(r);
    char line[HMM_ACCURACY_ROOM];
    run_remark(r, text, "counted %lld tags and %lld symbols in %.1f s\n", (long long)t->tagger.h->states,
               (long long)t->tagger.h->symbols, t->seconds);
    for (int i = 0; i < 2; i++)
        if (t->found[i].words > 0) {
            hmm_accuracy_text(&t->found[i], line);
            run_remark(r, text, "%s: %s\n", sets[i], line);
        }
    return !heed_failed(r->cx);
}

static void free_tagging(heed_run *r) {
    struct tagging *t = tagging_of(r);
    hmm_tagger_close(&t->tagger);
    heed_task_free(r->cx, t->data);
    heed_mem_free(r->cx, t);
}

/* ---- heed eval ---- */

struct measured {
    struct heed_evaluated more;
    struct hmm_accuracy accuracy;
};

static bool measure_directory(heed_run *r, const char *part, struct hmm_accuracy *to) {
    struct hmm_tagger g;
    char file[PATH_ROOM];
    const char *const path = texts_part(r->path, part, file);
    if (!path) return heed_fail(r->cx, HEED_ERR_FILE, "%s: there is no file for part %s", r->path, part);
    const bool ok = hmm_tagger_open(r->cx, r->dir, &g) && measure_file(r, &g, path, NULL, to);
    hmm_tagger_close(&g);
    return ok;
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    struct measured *const found = evaluation_room(r->cx, to, sizeof *found, heed_mem_free);
    if (!found) return false;
    found->more.hmm = &found->accuracy;
    const bool ok = heed_metrics_find(r->cx, "accuracy", &to->metrics) && measure_directory(r, part, &found->accuracy);
    to->more = &found->more;
    to->n = found->accuracy.words;
    to->one = "word";
    to->many = "words";
    to->score.metric = hmm_accuracy_ratio(found->accuracy.right, found->accuracy.words);
    return ok;
}

const struct task_way way_tag_hmm = {.what = "counts",
                                     .model = "hmm",
                                     .own = hmm_fields,
                                     .check = check,
                                     .load = load,
                                     .train = train,
                                     .put = put,
                                     .remarks = remarks,
                                     .free = free_tagging,
                                     .type = HMM_TYPE,
                                     .evaluate = evaluate};
