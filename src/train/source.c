/* Data sets as the loop's source. By number of examples, epoch e takes them in the order of permutation e of the seed;
 * in groups of similar length it takes the groups in that of permutation e + 1.
 *
 * A data set may be drawn anew in each epoch (BPE-dropout: other tokens for the same text, of other lengths): it is
 * then grouped anew, into as many groups as at first, so that an epoch always has as many updates. */
#include "base/ctx.h"
#include "train/forcing.h"
#include <string.h>

#define MAX_PLANNED 64 /* groups */

struct heed_source {
    heed_source_opts opts;
    heed_metrics metrics;
    heed_loop_source loop;
    heed_dataset drawn;    /* of the epoch under way, where it is drawn */
    int64_t drawn_epoch;   /* which epoch, -1: none */
    heed_groups groups;    /* {0}: batches by number of examples */
    int64_t grouped_epoch; /* whose groups they are */
    int64_t *units;        /* (groups) examples or tokens, as first grouped */
    int64_t per_epoch;     /* such units in an epoch */
    int64_t *order;        /* of the groups in epoch `ordered`, -1: none; for counting */
    int64_t ordered;
    int64_t step; /* of the next batch */
    heed_batches *batches;
    const heed_batch *batch;                   /* the part under way */
    char train[NOTES_DATA], valid[NOTES_DATA]; /* which examples, for the notes */
};

static const heed_dataset *set_of(const heed_source *s) { return s->opts.draw ? &s->drawn : s->opts.train; }
static bool is_grouped(const heed_source *s) { return s->groups.n > 0; }
static int64_t examples_of(const heed_source_opts *o) { return o->train_rows ? o->n_train : o->train->n; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- counting ---- */

static bool counts_tokens(const heed_source *s) {
    return s->opts.tokens > 0 || (s->opts.count_tokens && is_grouped(s));
}

/* The last ragged column is the one whose tokens are counted. */
static int64_t units_of(const heed_source *s, int64_t row) {
    const heed_dataset *set = s->opts.train;
    int column = set->columns - 1;
    while (column > 0 && !set->column[column].ragged) column--;
    return counts_tokens(s) ? heed_dataset_length(set, column, row) : 1;
}

/* Of the epoch under way the order is known; the loop asks for no other. */
static int64_t seen(const void *own, int64_t step) {
    heed_source *s = (heed_source *)(uintptr_t)own; /* its order may have to be found */
    const int64_t per_epoch = s->loop.per_epoch, whole = step / per_epoch, rest = step % per_epoch;
    if (!is_grouped(s)) return whole * s->per_epoch + smaller(rest * s->opts.batch, s->per_epoch);
    if (s->opts.draw) return (int64_t)((double)step / (double)per_epoch * (double)s->per_epoch);
    if (rest > 0 && s->ordered != whole) {
        heed_random_permutation(s->opts.seed, (uint64_t)whole + 1, s->order, per_epoch);
        s->ordered = whole;
    }
    int64_t units = whole * s->per_epoch;
    for (int64_t i = 0; i < rest; i++) units += s->units[s->order[i]];
    return units;
}

/* ---- batches ---- */

static heed_groups_opts groups_opts(const heed_source *s, int64_t epoch) {
    const heed_source_opts *o = &s->opts;
    heed_groups_opts g = {.seed = o->seed + (uint64_t)epoch, .rows = o->train_rows, .n_rows = o->n_train};
    if (o->tokens > 0 && is_grouped(s))
        g.groups = s->groups.n;
    else if (o->tokens > 0)
        g.tokens = o->tokens;
    else
        g.examples = o->batch;
    return g;
}

/* Whether epochs differ in more than their order. */
static bool is_redrawn(const heed_source *s) { return s->opts.draw || (s->opts.by_length && s->opts.tokens == 0); }

/* A plan goes by the data of the first epoch, which are there. */
static bool draw_epoch(heed_ctx *cx, heed_source *s, int64_t epoch) {
    const heed_source_opts *o = &s->opts;
    heed_groups groups;
    if (cx->config.dry || !is_redrawn(s) || s->drawn_epoch == epoch) return true;
    if (o->draw && !o->draw(cx, o->own, epoch, &s->drawn)) return false;
    s->drawn_epoch = epoch;
    if (!is_grouped(s) || s->grouped_epoch == epoch) return true;
    const heed_groups_opts opts = groups_opts(s, epoch);
    if (!heed_dataset_group(cx, set_of(s), &opts, &groups)) return false;
    heed_groups_free(cx, &s->groups);
    s->groups = groups;
    s->grouped_epoch = epoch;
    return true;
}

static bool open_batches(heed_ctx *cx, heed_source *s) {
    const heed_source_opts *o = &s->opts;
    heed_batches_opts b = {
        .shuffle = true, .seed = o->seed, .transform = o->transform, .own = o->own, .index = s->step};
    heed_batches_close(cx, s->batches);
    s->batches = NULL;
    if (!draw_epoch(cx, s, s->step / s->loop.per_epoch)) return false;
    b.micro = o->micro_batch;
    b.micro_tokens = o->micro_tokens;
    if (is_grouped(s)) {
        b.groups = &s->groups;
    } else {
        b.batch = o->batch;
        b.rows = o->train_rows;
        b.n_rows = o->train_rows ? o->n_train : 0;
    }
    s->batches = heed_batches_open(cx, set_of(s), &b);
    return s->batches;
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    heed_source *s = own;
    s->step = step;
    return open_batches(cx, s);
}

static int64_t next(heed_ctx *cx, void *own) {
    heed_source *s = own;
    if (heed_failed(cx)) return 0;
    const bool another = is_redrawn(s) && s->drawn_epoch != s->step / s->loop.per_epoch;
    if (another && !cx->config.dry && !open_batches(cx, s)) return 0;
    s->batch = heed_batches_next(cx, s->batches);
    s->step++;
    return s->batch ? s->batch->parts : 0;
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    heed_source *s = own;
    if (pass > 0) s->batch = heed_batches_next(cx, s->batches);
    if (!s->batch) return false;
    *share = s->batch->weight == s->batch->total ? 1.0f : (float)s->batch->weight / (float)s->batch->total;
    const bool fed = heed_loop_feed(cx, s->batch, in);
    in->loss_only = true;
    return fed && forcing_put_batch(cx, s->opts.forcing, s->opts.seed, s->step - 1, s->batch, in);
}

static void close(heed_ctx *cx, void *own) {
    heed_source *s = own;
    heed_batches_close(cx, s->batches);
    s->batches = NULL;
    s->batch = NULL;
}

static bool forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const heed_source_opts *o = &((const heed_source *)own)->opts;
    return o->forward(cx, o->own, model, in, out);
}

/* ---- what a checkpoint must agree with ---- */

/* Which examples: a number that changes when any of them does, or their order. */
static void describe(char text[NOTES_DATA], const heed_dataset *set, const char *examples, const int64_t *rows,
                     int64_t n) {
    if (!set || *text) return;
    uint64_t hash = (uint64_t)set->n;
    for (int k = 0; k < set->columns; k++) hash = notes_mix_column(hash, set, k);
    if (rows) hash = notes_mix(hash, rows, (size_t)n * sizeof *rows);
    notes_name_data(text, rows ? n : set->n, examples, hash);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    heed_source *s = own;
    const heed_source_opts *o = &s->opts;
    const char *examples = o->examples ? o->examples : "examples";
    describe(s->train, o->train, examples, o->train_rows, o->n_train);
    describe(s->valid, o->valid, examples, o->valid_rows, o->n_valid);
    notes_put_source(cx, at, s->train, s->valid, o->tokens > 0 ? o->tokens : o->batch,
                     o->tokens > 0 ? o->micro_tokens : o->micro_batch);
    if (o->forcing) forcing_settings(cx, o->forcing, at);
    if (o->settings) o->settings(cx, o->own, at);
}

/* ---- measuring ---- */

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_source *s = own;
    return s->opts.measure(cx, s->opts.own, model, test, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    const heed_source_opts *o = &((const heed_source *)own)->opts;
    int64_t *const rows = loop_rows(cx, o->valid_rows, some, n);
    const bool ok = rows && o->measure_some(cx, o->own, model, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

/* ---- making ---- */

static bool opts_ok(heed_ctx *cx, const heed_source_opts *o) {
    if (heed_failed(cx)) return false;
    if (!o || !o->train || (!o->draw && o->train->n < 1))
        return heed_fail(cx, HEED_ERR_USAGE, "train: data are needed");
    if (o->tokens < 0 || o->micro_tokens < 0 || o->micro_batch < 0 || (o->tokens == 0 && o->batch < 1))
        return heed_fail(cx, HEED_ERR_RANGE, "train: batch %lld, micro-batch %lld: batch must be positive",
                         (long long)(o->tokens ? o->tokens : o->batch),
                         (long long)(o->tokens ? o->micro_tokens : o->micro_batch));
    if ((o->valid || o->test) && (!o->measure || !o->metrics || !*o->metrics))
        return heed_fail(cx, HEED_ERR_USAGE, "train: a way to measure and metrics are needed for validation");
    if (o->tokens == 0 && o->batch > examples_of(o))
        return heed_fail(cx, HEED_ERR_RANGE, "train: a batch of %lld examples is larger than the data, which has %lld",
                         (long long)o->batch, (long long)examples_of(o));
    return true;
}

/* Groups, and what is in each. */
static bool make_groups(heed_ctx *cx, heed_source *s) {
    const heed_source_opts *o = &s->opts;
    const heed_groups_opts opts = groups_opts(s, 0);
    if (o->tokens == 0 && !o->by_length) return true;
    if (!heed_dataset_group(cx, o->train, &opts, &s->groups)) return false;
    s->units = heed_mem_new(cx, (size_t)s->groups.n * sizeof *s->units);
    s->order = heed_mem_new(cx, (size_t)s->groups.n * sizeof *s->order);
    return s->units && s->order;
}

static void count_units(heed_source *s) {
    if (!is_grouped(s)) s->per_epoch = examples_of(&s->opts);
    for (int64_t g = 0; g < s->groups.n; g++) {
        s->units[g] = 0;
        for (int64_t i = s->groups.start[g]; i < s->groups.start[g + 1]; i++)
            s->units[g] += units_of(s, s->groups.row[i]);
        s->per_epoch += s->units[g];
    }
}

/* Most parts of a batch, which the random streams of dropout are counted by. */
static int64_t most_parts(heed_ctx *cx, heed_source *s) {
    if (s->opts.draw && s->opts.micro_tokens > 0) return s->opts.train->n; /* whatever is drawn */
    const int64_t parts = open_batches(cx, s) ? heed_batches_parts(s->batches) : 0;
    close(cx, s);
    return parts;
}

static void set_loop(heed_ctx *cx, heed_source *s) {
    const heed_source_opts *o = &s->opts;
    const int64_t per_epoch = is_grouped(s) ? s->groups.n : (examples_of(o) - 1) / o->batch + 1;
    s->loop = (heed_loop_source){.own = s,
                                 .unit = counts_tokens(s) ? "tokens" : "examples",
                                 .metrics = s->metrics.list,
                                 .per_epoch = per_epoch,
                                 .valid = o->valid != NULL,
                                 .test = o->test != NULL,
                                 .n_train = examples_of(o),
                                 .n_valid = o->valid_rows ? o->n_valid
                                            : o->valid    ? o->valid->n
                                                          : 0,
                                 .n_test = o->test ? o->test->n : 0,
                                 .seen = seen,
                                 .seek = seek,
                                 .next = next,
                                 .feed = feed,
                                 .forward = o->forward ? forward : NULL,
                                 .measure = measure,
                                 .measure_some = o->measure_some ? measure_some : NULL,
                                 .settings = settings,
                                 .close = close};
    if (is_grouped(s)) {
        s->loop.n_plan = smaller(per_epoch, MAX_PLANNED);
    } else { /* a whole batch, the last of an epoch, which may be smaller, and a whole one again */
        s->loop.plan_from = per_epoch > 1 ? per_epoch - 2 : 0;
        s->loop.n_plan = 3;
    }
    s->loop.passes = most_parts(cx, s);
}

heed_source *heed_source_new(heed_ctx *cx, const heed_source_opts *opts) {
    if (!opts_ok(cx, opts)) return NULL;
    heed_source *s = heed_mem_new(cx, sizeof *s);
    if (!s) return NULL;
    *s = (heed_source){.opts = *opts, .drawn_epoch = -1, .grouped_epoch = opts->draw ? -1 : 0, .ordered = -1};
    if (heed_metrics_find(cx, opts->metrics, &s->metrics) && make_groups(cx, s)) {
        count_units(s);
        set_loop(cx, s);
        draw_epoch(cx, s, 0); /* a plan, which has another context, goes by its lengths */
    }
    if (!heed_failed(cx)) return s;
    heed_source_free(cx, s);
    return NULL;
}

void heed_source_free(heed_ctx *cx, heed_source *s) {
    if (!s) return;
    close(cx, s);
    heed_groups_free(cx, &s->groups);
    heed_mem_free(cx, s->units);
    heed_mem_free(cx, s->order);
    heed_mem_free(cx, s);
}

const heed_loop_source *heed_source_loop(const heed_source *s) { return s ? &s->loop : NULL; }
