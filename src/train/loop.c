/* The loop. Update s takes batch s of the run, its dropout masks are those of step s, and whatever else it depends on
 * (weights, moments, average, what was found so far) is in the checkpoint: so a resumed run goes on as if it had never
 * stopped. The model that is kept is always written before the checkpoint that knows of it; killed between the two, a
 * run finds it again. */
#include "train/loop.h"
#include "base/clock.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "io/text.h"
#include "kernel/rows.h"
#include "model/core/directory.h"
#include "model/core/families.h"
#include "train/trainer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVE_SECONDS 10.0
#define DROPOUT_SEED 0x9E3779B97F4A7C15u /* masks and shuffles draw from different numbers */

/* ---- the weights to keep ---- */

/* Exchanges the model's weights with the kept ones. */
static void show_best(struct loop *l) {
    float *w = heed_params_block(l->params);
    for (int64_t i = 0; i < heed_params_size(l->params); i++) {
        const float was = w[i];
        w[i] = l->best[i];
        l->best[i] = was;
    }
    l->best_shown = !l->best_shown;
}

static size_t weights_size(const struct loop *l) { return (size_t)heed_params_size(l->params) * sizeof *l->best; }

static void keep_weights(struct loop *l) {
    memcpy(l->best, heed_params_block(l->params), weights_size(l));
    l->has_best = l->best_unsaved = true;
}

static bool write_best(struct loop *l) {
    if (!l->best_unsaved) return !heed_failed(l->cx);
    const struct profile_mark mark = profile_begin(l->cx);
    show_best(l);
    const bool written = heed_model_save(l->cx, l->model, l->opts.dir);
    show_best(l);
    profile_end(l->cx, mark, "write model", PROFILE_FORWARD);
    l->best_unsaved = !written;
    return written;
}

/* ---- checkpoints ---- */

static bool diverged(struct loop *l, const char *what, int64_t step, double value) {
    return heed_fail(l->cx, HEED_ERR_RANGE,
                     "train: the %s of step %lld is %s: diverged at a learning rate of %g, a smaller one may help; the "
                     "last good state is in %s",
                     what, (long long)step, isnan(value) ? "not a number" : "infinite",
                     heed_schedule_at(&l->trainer->opts.schedule, step - 1), l->checkpoint);
}

static bool save(struct loop *l) {
    heed_ctx *cx = l->cx;
    const struct profile_mark mark = profile_begin(cx);
    const double size = kernel_square_sum(cx->pool, heed_params_block(l->params), heed_params_size(l->params));
    if (heed_failed(cx)) return false;
    if (!isfinite(size) && l->state->step == 0)
        return heed_fail(cx, HEED_ERR_RANGE, "train: the weights to start from are not all finite numbers");
    if (!isfinite(size)) return diverged(l, "size of the weights", l->state->step, size);
    char *notes = write_best(l) ? notes_write(l) : NULL;
    const bool saved = notes && heed_checkpoint_save(cx, l->trainer, l->checkpoint, notes);
    profile_end(cx, mark, "write checkpoint", PROFILE_FORWARD);
    heed_mem_free(cx, notes);
    l->saved = clock_seconds();
    l->unsaved = !saved;
    return saved;
}

static bool save_is_due(const struct loop *l) {
    const int64_t every = l->opts.save_every;
    if (l->state->step == l->began_step) return false;
    return every > 0 ? l->state->step % every == 0 : clock_seconds() - l->saved > SAVE_SECONDS;
}

static bool load_checkpoint(struct loop *l) {
    char *notes = heed_checkpoint_notes(l->cx, l->checkpoint);
    if (notes && notes_read(l, notes)) {
        if (l->state->best_step > 0 && model_read_weights(l->cx, l->model, l->opts.dir)) {
            keep_weights(l);
            l->best_unsaved = false;
        }
        heed_checkpoint_load(l->cx, l->trainer, l->checkpoint);
        l->state->step = heed_trainer_steps(l->trainer);
    }
    heed_mem_free(l->cx, notes);
    return !heed_failed(l->cx);
}

/* ---- counting ---- */

static void count(struct loop *l) {
    heed_loop_state *s = l->state;
    const heed_loop_source *from = &l->source;
    s->epoch = s->step / from->per_epoch;
    s->seen = from->seen(from->own, s->step);
    s->lr = heed_schedule_at(&l->trainer->opts.schedule, s->step > 0 ? s->step - 1 : 0);
    const double took = clock_seconds() - l->began, training = took - l->measuring;
    const int64_t done = s->step - l->began_step;
    const double update = done > 0 ? training / (double)done : 0;
    s->seconds = l->earlier + took;
    s->seen_per_second = training > 0 ? (double)(s->seen - from->seen(from->own, l->began_step)) / training : 0;
    s->seconds_left = (double)(s->steps - s->step) * update + loop_measuring_left(l, update);
}

static bool has_ended(const struct loop *l) {
    return l->state->step >= l->state->steps || (l->opts.patience > 0 && l->waited >= l->opts.patience);
}

/* ---- an update ---- */

heed_tensor *loop_goal(const heed_io *out) {
    heed_tensor *goal = heed_io_get(out, "training_loss");
    return goal ? goal : heed_io_get(out, "loss");
}

/* loss_dict.loss_bbox, but not loss_dict.loss_bbox_0, a single layer's. */
static const char *part_name(const char *output) {
    static const char prefix[] = "loss_dict.";
    const char *const name = strncmp(output, prefix, sizeof prefix - 1) == 0 ? output + sizeof prefix - 1 : NULL;
    const char *const layer = name ? strrchr(name, '_') : NULL;
    return layer && layer[1] >= '0' && layer[1] <= '9' ? NULL : name;
}

static void add_parts(struct loop *l, const heed_io *out, double share) {
    heed_loop_state *const s = l->state;
    for (int i = 0; i < out->n; i++) {
        const char *const name = part_name(out->name[i]);
        int k = 0;
        if (!name || strlen(name) >= sizeof s->part[0].name) continue;
        while (k < s->parts && strcmp(s->part[k].name, name) != 0) k++;
        if (k == HEED_LOSS_PARTS) continue;
        if (k == s->parts) s->part[s->parts++] = (heed_loss_part){.value = 0};
        strcpy(s->part[k].name, name);
        s->part[k].value += share * (double)heed_item(l->cx, out->tensor[i]);
    }
}

/* One backward pass of a batch; adds its share of the loss, which is in the units of the data whatever the gradient is
 * taken of. The mean over the batch is the mean of the parts' means, each by its share. */
static bool backward_pass(struct loop *l, int64_t pass, double *sum) {
    heed_ctx *cx = l->cx;
    heed_io in = {0}, out;
    float share = 1;
    const struct profile_mark mark = profile_begin(cx);
    const bool fed = l->source.feed(cx, l->source.own, pass, &in, &share);
    profile_end(cx, mark, "prepare batches", PROFILE_FORWARD);
    const heed_loop_source *from = &l->source;
    if (!fed || !(from->forward ? from->forward(cx, from->own, l->model, &in, &out)
                                : heed_model_forward(cx, l->model, &in, &out)))
        return false;
    const heed_tensor *loss = heed_io_get(&out, "loss");
    if (!loss) return heed_fail(cx, HEED_ERR_USAGE, "train: the model gives no loss for these targets");
    heed_tensor *goal = loop_goal(&out);
    *sum += (double)share * (double)heed_item(cx, loss);
    add_parts(l, &out, (double)share);
    return heed_backward(cx, share == 1.0f ? goal : heed_affine(cx, goal, share, 0.0f));
}

bool loop_update(struct loop *l) {
    heed_ctx *cx = l->cx;
    heed_loop_state *s = l->state;
    const struct profile_mark mark = profile_begin(cx);
    const int64_t passes = l->source.next(cx, l->source.own);
    profile_end(cx, mark, "prepare batches", PROFILE_FORWARD);
    if (passes < 1) return false;
    heed_trainer_begin(cx, l->trainer);
    double sum = 0.0;
    s->parts = 0;
    for (int64_t pass = 0; pass < passes && !heed_failed(cx); pass++) {
        heed_set_step(cx, (uint64_t)(s->step * l->source.passes + pass));
        backward_pass(l, pass, &sum);
        heed_reset(cx);
    }
    if (heed_failed(cx)) return false;
    if (!isfinite(sum) && !cx->config.dry) return diverged(l, "loss", s->step + 1, sum);
    if (!heed_trainer_step(cx, l->trainer, NULL)) return false;
    s->step = heed_trainer_steps(l->trainer);
    s->loss = sum;
    s->evaluated = s->validated = s->tested = false;
    l->unsaved = true;
    count(l);
    return true;
}

/* ---- after it ---- */

static bool evaluation_is_due(const struct loop *l) {
    return l->source.valid && (l->state->step % loop_evaluate_every(l) == 0 || l->state->step >= l->state->steps);
}

static bool is_better(const struct loop *l, const heed_score *found) {
    const heed_score *best = &l->state->best;
    const double a = heed_score_value(found, l->best_by), b = heed_score_value(best, l->best_by);
    const bool smaller = l->best_by < 0 || l->source.metrics[l->best_by]->smaller;
    return l->state->best_step == 0 || (smaller ? a < b : a > b) || (a == b && found->loss < best->loss);
}

/* Models that were evaluated stay for a while, to be averaged; those of a run that was killed after its checkpoint are
 * written again with the same bits. */
static bool keep_model(struct loop *l) {
    const int64_t every = loop_evaluate_every(l);
    char dir[4096];
    if (l->opts.keep == 0) return true;
    if (snprintf(dir, sizeof dir, "%s/kept/step-%08lld", l->opts.dir, (long long)l->state->step) >= (int)sizeof dir)
        return heed_fail(l->cx, HEED_ERR_FILE, "%s: the path is too long", l->opts.dir);
    if (!heed_model_save(l->cx, l->model, dir) || !directory_copy_tokenizers(l->cx, l->opts.dir, dir)) return false;
    const int64_t old = (l->state->step - 1) / every * every - (l->opts.keep - 1) * every;
    snprintf(dir, sizeof dir, "%s/kept/step-%08lld", l->opts.dir, (long long)old);
    directory_drop(dir);
    return true;
}

static bool evaluate(struct loop *l) {
    heed_loop_state *s = l->state;
    heed_score found;
    if (l->evaluated == s->step) return true; /* before a cancelled run was saved */
    heed_trainer_swap_average(l->cx, l->trainer);
    bool ok = loop_measure(l, l->some ? MEASURE_SOME : MEASURE_VALID, &found);
    if (ok && !isfinite(found.loss)) ok = diverged(l, "validation loss", s->step, found.loss);
    ok = ok && keep_model(l);
    const bool better = ok && is_better(l, &found);
    if (better) keep_weights(l);
    heed_trainer_swap_average(l->cx, l->trainer);
    if (!ok) return false;
    if (better) s->best = found, s->best_step = s->step;
    l->waited = better ? 0 : l->waited + 1;
    s->valid = found;
    l->evaluated = s->step;
    return true;
}

/* The model that is kept, shown, on all of the validation set where evaluations took some of it, and on the test set.
 */
static bool measure_kept(struct loop *l) {
    heed_loop_state *s = l->state;
    if (l->some && !s->validated) s->validated = loop_measure(l, MEASURE_VALID, &s->whole);
    if (l->source.test && !s->tested) s->tested = loop_measure(l, MEASURE_TEST, &s->test);
    return !heed_failed(l->cx);
}

/* The end: what is kept is written and tested. */
static bool write_and_test(struct loop *l) {
    if (!l->source.valid) {
        heed_trainer_swap_average(l->cx, l->trainer);
        keep_weights(l);
        heed_trainer_swap_average(l->cx, l->trainer);
    }
    if (!write_best(l) || (!l->source.test && !l->some)) return !heed_failed(l->cx);
    show_best(l);
    if (!measure_kept(l)) return false;
    show_best(l);
    return true;
}

/* Leaves the model with the weights that were kept. A run that had ended before is only tested again. */
static bool finish(struct loop *l) {
    if (l->unsaved && !save(l)) return false;
    if (l->has_best)
        show_best(l);
    else if (!model_read_weights(l->cx, l->model, l->opts.dir))
        return false;
    if (!measure_kept(l)) return false;
    if (l->opts.drop_checkpoint) unlink(l->checkpoint);
    return true;
}

static bool complete_step(struct loop *l) {
    heed_loop_state *s = l->state;
    if (evaluation_is_due(l) && !evaluate(l)) return false;
    s->evaluated = l->evaluated == s->step;
    if (has_ended(l) && !write_and_test(l)) return false;
    count(l);
    const struct profile_mark mark = profile_begin(l->cx);
    const bool logged = log_state(l);
    profile_end(l->cx, mark, "write log", PROFILE_FORWARD);
    if (!logged) return false;
    l->settled = s->step;
    return l->unsaved = true;
}

static bool goes_on(const struct loop *l) {
    const struct profile_mark mark = profile_begin(l->cx);
    const bool wanted = !l->opts.report || l->opts.report(l->opts.user, l->state);
    profile_end(l->cx, mark, "report progress", PROFILE_FORWARD);
    return wanted;
}

static heed_loop_end run(struct loop *l) {
    heed_ctx *cx = l->cx;
    const heed_loop_state *s = l->state;
    bool wanted = true;
    while (!heed_cancelled(cx)) {
        if (l->settled < s->step) {
            if (!complete_step(l)) break;
            wanted = goes_on(l);
        }
        if (has_ended(l)) {
            if (!finish(l)) break;
            return s->step >= s->steps ? HEED_LOOP_DONE : HEED_LOOP_EARLY;
        }
        if ((!wanted || save_is_due(l)) && !save(l)) break;
        if (!wanted) return HEED_LOOP_STOPPED;
        if (!loop_update(l)) break;
    }
    if (heed_error(cx) != HEED_ERR_CANCELLED) return HEED_LOOP_FAILED;
    /* Cancelled before or within a step, whose weights are still those of the last update. */
    heed_clear(cx);
    trainer_clear(l->trainer);
    if (has_ended(l) && l->settled == s->step) return HEED_LOOP_STOPPED; /* all was saved */
    if (l->best_shown) show_best(l);
    if (l->trainer->swapped) heed_trainer_swap_average(cx, l->trainer);
    return save(l) ? HEED_LOOP_STOPPED : HEED_LOOP_FAILED;
}

/* ---- the beginning ---- */

static bool opts_ok(heed_ctx *cx, const heed_model *model, const heed_loop_opts *o) {
    if (heed_failed(cx)) return false;
    if (!model || !o || !o->dir || !*o->dir || !o->source)
        return heed_fail(cx, HEED_ERR_USAGE, "train: a model, options, a directory and data are needed");
    if (o->keep < 0 || o->epochs < 0 || o->steps < 0 || o->evaluate_every < 0 || o->patience < 0 || o->save_every < 0 ||
        o->log_every < 0 || o->valid_examples < 0 || (o->epochs == 0 && o->steps == 0))
        return heed_fail(cx, HEED_ERR_RANGE, "train: epochs %lld, steps %lld: either must be positive",
                         (long long)o->epochs, (long long)o->steps);
    if (o->trainer.accumulate > 1)
        return heed_fail(cx, HEED_ERR_USAGE, "train: instead of accumulating, use a larger batch and micro-batches");
    if (!o->source->valid && (o->patience > 0 || o->keep > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "train: %s needs validation data",
                         o->patience > 0 ? "patience" : "keeping models");
    return true;
}

/* A step's number is shifted within the streams of dropout; epochs and batches are counted in 64 bits. */
#define MAX_STEPS ((int64_t)1 << 36)

static bool count_steps(struct loop *l) {
    const heed_loop_opts *o = &l->opts;
    const heed_loop_source *from = &l->source;
    const double steps = o->steps > 0 ? (double)o->steps : (double)o->epochs * (double)from->per_epoch;
    if (from->per_epoch < 1 || from->passes < 1 || steps * (double)from->passes > (double)MAX_STEPS)
        return heed_fail(l->cx, HEED_ERR_RANGE, "train: %lld batches in an epoch and %.0f steps: out of range",
                         (long long)from->per_epoch, steps);
    l->state->steps = o->steps > 0 ? o->steps : o->epochs * from->per_epoch;
    if (l->opts.trainer.schedule.steps == 0) l->opts.trainer.schedule.steps = l->state->steps;
    return true;
}

bool loop_hold(struct loop *l) {
    heed_ctx *cx = l->cx;
    const heed_loop_opts *o = &l->opts;
    const size_t size = strlen(o->dir) + sizeof "/checkpoint.safetensors";
    if (!count_steps(l)) return false;
    l->checkpoint = heed_mem_new(cx, size);
    l->trainer = heed_trainer_new(cx, l->params, &o->trainer);
    l->best = heed_mem_new(cx, weights_size(l));
    if (heed_failed(cx) || !loop_choose(l)) return false;
    l->trainer->carried = l->source.carried;
    l->trainer->n_carried = l->source.n_carried;
    snprintf(l->checkpoint, size, "%s/checkpoint.safetensors", o->dir);
    return true;
}

void loop_release(struct loop *l) {
    if (l->source.close) l->source.close(l->cx, l->source.own);
    heed_trainer_free(l->cx, l->trainer);
    heed_mem_free(l->cx, l->best);
    heed_mem_free(l->cx, l->some);
    heed_mem_free(l->cx, l->checkpoint);
}

static bool begin(struct loop *l) {
    heed_ctx *cx = l->cx;
    const heed_loop_opts *o = &l->opts;
    struct stat what;
    if (!loop_hold(l)) return false;
    l->began = clock_seconds();
    const bool resumes = o->resume && stat(l->checkpoint, &what) == 0;
    if (resumes && !load_checkpoint(l)) return false;
    l->began_step = l->state->step;
    if (!l->source.seek(cx, l->source.own, l->state->step)) return false;
    if (!resumes && !directory_make(cx, o->dir)) return false;
    if (!log_open(l, l->state->step) || (!resumes && !save(l))) return false;
    count(l);
    l->saved = clock_seconds();
    return true;
}

bool loop_metric(heed_ctx *cx, const heed_loop_source *source, const char *name, int *number) {
    char known[256] = "loss";
    *number = 0;
    if (!name || !source->valid) return true;
    *number = -1;
    if (strcmp(name, "loss") == 0) return true;
    for (const heed_metric *const *m = source->metrics; *m; m++) {
        ++*number;
        if (strcmp((*m)->name, name) == 0) return true;
        snprintf(known + strlen(known), sizeof known - strlen(known), ", %s", (*m)->name);
    }
    return heed_fail(cx, HEED_ERR_USAGE, "train: there is no metric '%s' to choose the best model by, one of: %s",
                     escaped(name).s, known);
}

bool loop_open(struct loop *l, heed_ctx *cx, heed_model *model, const heed_loop_opts *opts, heed_loop_state *state) {
    if (!opts_ok(cx, model, opts)) return false;
    *state = (heed_loop_state){0};
    *l = (struct loop){.cx = cx,
                       .model = model,
                       .params = heed_model_params(model),
                       .opts = *opts,
                       .state = state,
                       .source = *opts->source,
                       .log = -1};
    return loop_metric(cx, opts->source, opts->best_by, &l->best_by);
}

heed_loop_end heed_loop_run(heed_ctx *cx, heed_model *model, const heed_loop_opts *opts, heed_loop_state *state) {
    heed_loop_state own;
    struct loop l;
    if (!loop_open(&l, cx, model, opts, state ? state : &own) || !plan_fits(cx, model, opts)) return HEED_LOOP_FAILED;
    const uint64_t seed = heed_seed(cx);
    heed_set_seed(cx, opts->seed ^ DROPOUT_SEED);
    heed_loop_end end = begin(&l) ? run(&l) : HEED_LOOP_FAILED;
    log_close(&l);
    if (heed_failed(cx)) end = HEED_LOOP_FAILED;
    heed_set_seed(cx, seed);
    heed_set_training(cx, false);
    loop_release(&l);
    return end;
}
