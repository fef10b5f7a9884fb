/* Plans: the steps of a run gone through in a dry context, which replays the allocator of a real one without computing.
 * What a run holds is counted by the very calls that take it; a checkpoint is written to nowhere, for its buffers. */
#include "base/arena.h"
#include "base/memory.h"
#include "model/core/families.h"
#include "nn/params.h"
#include "train/loop.h"
#include <string.h>

static bool ready(heed_ctx *dry, const heed_model *model, const heed_plan *plan) {
    if (heed_failed(dry)) return false;
    if (!model || !plan) return heed_fail(dry, HEED_ERR_USAGE, "plan: a model and a place for the plan are needed");
    if (!dry->config.dry) return heed_fail(dry, HEED_ERR_USAGE, "plan: the context is not a dry one");
    heed_memory_reset_peak(dry); /* of reading the model */
    return true;
}

/* Bytes held now beyond *before, which moves on. */
static size_t grown(const heed_ctx *dry, size_t *before) {
    const size_t was = *before;
    *before = heed_memory_use(dry).held;
    return *before - was;
}

static void finish(const heed_ctx *dry, const heed_model *model, heed_plan *plan) {
    plan->total = heed_memory_use(dry).held_peak;
    plan->step = heed_memory_use(dry).step_peak;
    plan->arena = arena_room(dry);
    const heed_params *const set = heed_model_params(model);
    plan->weights = set->block ? (size_t)set->numbers * sizeof(float) : set->copied_size;
    plan->mapped = heed_params_mapped(set);
}

bool heed_plan_step(heed_ctx *dry, const heed_model *model, const heed_trainer_opts *trainer, int64_t batch,
                    int64_t length, heed_plan *plan) {
    if (!ready(dry, model, plan)) return false;
    *plan = (heed_plan){0};
    size_t held = heed_memory_use(dry).held;
    heed_trainer *t = trainer ? heed_trainer_new(dry, heed_model_params(model), trainer) : NULL;
    plan->trainer = grown(dry, &held);
    for (int step = 0; step < 2 && !heed_failed(dry); step++) {
        heed_io in, out;
        heed_set_grad(dry, trainer != NULL);
        heed_trainer_begin(dry, t);
        heed_model_sample(dry, model, batch, length, &in);
        heed_model_forward(dry, model, &in, &out);
        heed_tensor *goal = heed_failed(dry) ? NULL : loop_goal(&out);
        if (t && heed_wants_grad(goal)) heed_backward(dry, goal);
        if (t) heed_trainer_step(dry, t, NULL);
        heed_reset(dry);
    }
    finish(dry, model, plan);
    heed_trainer_free(dry, t);
    return !heed_failed(dry);
}

/* As the loop saves: the buffers of the checkpoint's text, with numbers as long as they get, and of the files. */
static void save_nowhere(struct loop *l) {
    heed_loop_state *s = l->state;
    heed_score score = {.loss = -1e-300 / 3, .metric = -1e-300 / 3};
    for (int i = 0; i < HEED_METRICS_MAX - 1; i++) score.more[i] = score.loss;
    s->loss = s->seconds = score.loss;
    s->valid = s->best = score;
    s->best_step = l->settled = l->evaluated = l->waited = s->steps;
    char *names = heed_mem_new(l->cx, strlen(l->checkpoint) + 16); /* of the file beside */
    char *notes = notes_write(l);
    heed_checkpoint_save(l->cx, l->trainer, "/dev/null", notes);
    heed_mem_free(l->cx, notes);
    model_write_weights(l->cx, l->model, "/dev/null");
    heed_json_write(l->cx, "/dev/null", heed_model_config(l->model));
    heed_mem_free(l->cx, names);
}

bool heed_plan_run(heed_ctx *dry, heed_model *model, const heed_loop_opts *opts, heed_plan *plan) {
    heed_loop_state state;
    struct loop l;
    if (!ready(dry, model, plan) || !loop_open(&l, dry, model, opts, &state)) return false;
    *plan = (heed_plan){0};
    size_t held = heed_memory_use(dry).held;
    bool ok = loop_hold(&l);
    plan->trainer = grown(dry, &held);
    ok = ok && l.source.seek(dry, l.source.own, l.source.plan_from);
    plan->batches = grown(dry, &held);
    for (int64_t i = 0; ok && i < l.source.n_plan; i++) ok = loop_update(&l);
    if (ok && l.some) ok = loop_measure(&l, MEASURE_SOME, &state.valid);
    if (ok && l.source.valid) ok = loop_measure(&l, MEASURE_VALID, &state.valid);
    if (ok && l.source.test) ok = loop_measure(&l, MEASURE_TEST, &state.test);
    if (ok) save_nowhere(&l);
    finish(dry, model, plan);
    loop_release(&l);
    heed_set_training(dry, false);
    return !heed_failed(dry);
}

bool plan_fits(heed_ctx *cx, heed_model *model, const heed_loop_opts *opts) {
    if (cx->config.byte_budget == 0 || cx->config.dry) return true;
    if (opts->plan) { /* met in another order, batches could make the arena grow larger than planned */
        arena_reserve(cx, opts->plan->arena);
        return !heed_failed(cx);
    }
    heed_ctx *dry = heed_open(&(heed_config){.threads = heed_threads(cx), .seed = heed_seed(cx), .dry = true});
    const size_t empty = heed_memory_use(dry).held;
    heed_plan plan;
    if (!heed_plan_run(dry, model, opts, &plan))
        heed_fail(cx, heed_error(dry), "%s", heed_message(dry));
    else if (heed_memory_use(cx).held + plan.total - empty > cx->config.byte_budget)
        mem_over_budget(cx, "train", heed_memory_use(cx).held + plan.total - empty);
    else
        arena_reserve(cx, plan.arena);
    heed_close(dry);
    return !heed_failed(cx);
}
