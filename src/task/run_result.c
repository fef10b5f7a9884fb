/* Runs: what came out, and what the trained model says of an example. */
#include "task/run.h"
#include "train/loop.h"
#include <math.h>

const heed_model *heed_run_model(const heed_run *r) { return r ? r->model : NULL; }
const heed_loop_source *heed_run_source(const heed_run *r) { return r ? r->loop.source : NULL; }
const heed_loop_state *heed_run_state(const heed_run *r) { return r ? &r->state : NULL; }
const heed_task *heed_run_task(const heed_run *r) { return r ? r->task : NULL; }

double heed_run_epochs(const heed_run *r) {
    return r && r->loop.source ? (double)r->state.step / (double)r->loop.source->per_epoch : 0;
}

const char *heed_run_next(const heed_run *r, const char **how) {
    const bool own = r && r->task->next;
    if (how) *how = !r ? NULL : own ? r->task->next_how : r->way->next_how;
    return !r ? NULL : own ? r->task->next : r->way->next;
}

static void put_steps(heed_run *r, heed_json result) {
    heed_ctx *const cx = r->cx;
    const heed_loop_state *const s = &r->state;
    const heed_metric *const *const metrics = r->loop.source->metrics;
    const double epochs = heed_run_epochs(r);
    heed_json_put_int(cx, result, "steps", s->step);
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
}

heed_json heed_run_result(heed_ctx *cx, heed_run *r) {
    const heed_json result = heed_json_new(cx, "result");
    if (!r) return result;
    heed_json_put_text(cx, result, "model", r->dir);
    if (r->loop.source) put_steps(r, result);
    if (r->way->put) r->way->put(r, result);
    return result;
}

bool heed_run_remarks(heed_ctx *cx, heed_run *r, heed_string *text) {
    if (heed_failed(cx) || !r || !text) return !heed_failed(cx) && heed_fail(cx, HEED_ERR_USAGE, "run: there is none");
    return !r->way->remarks || r->way->remarks(r, text);
}

/* ---- answers ---- */

heed_json heed_run_answer(heed_ctx *cx, heed_run *r, const char *example) {
    const heed_json at = heed_json_new(cx, "answer");
    if (heed_failed(cx)) return at;
    if (!r || !example)
        heed_fail(cx, HEED_ERR_USAGE, "run_answer: the %s NULL", r ? "example is" : "run is");
    else if (!r->trained)
        heed_fail(cx, HEED_ERR_USAGE, "run_answer: this run has not trained yet");
    else if (!r->way->answer)
        heed_fail(cx, HEED_ERR_USAGE, "run_answer: %s is not answered example by example; 'heed %s' uses its models",
                  r->task->name, heed_run_next(r, NULL));
    else
        r->way->answer(r, example, at);
    return at;
}
