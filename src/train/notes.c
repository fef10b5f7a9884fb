/* What a checkpoint says beside its numbers: where the run is, what it found, and the settings that its result depends
 * on, each as text, so that two runs are compared word for word. */
#include "data/dataset.h"
#include "io/text.h"
#include "train/loop.h"
#include "train/trainer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

static void set_text(struct loop *l, heed_json at, const char *key, const char *text) {
    heed_json_put_text(l->cx, at, key, text);
}
static void put_int(heed_ctx *cx, heed_json at, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    heed_json_put_text(cx, at, key, text);
}
static void set_int(struct loop *l, heed_json at, const char *key, int64_t value) { put_int(l->cx, at, key, value); }
void notes_put_number(heed_ctx *cx, heed_json at, const char *key, double value) {
    char text[NUMBER_ROOM];
    number_shortest(text, value, false);
    heed_json_put_text(cx, at, key, text);
}
static void set_number(struct loop *l, heed_json at, const char *key, double value) {
    notes_put_number(l->cx, at, key, value);
}

uint64_t notes_mix(uint64_t hash, const void *data, size_t size) {
    const unsigned char *byte = data;
    uint64_t word;
    for (; size >= sizeof word; byte += sizeof word, size -= sizeof word) {
        memcpy(&word, byte, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; size > 0; byte++, size--) hash = (hash ^ *byte) * 0x100000001B3u;
    return hash;
}

uint64_t notes_mix_column(uint64_t hash, const heed_dataset *set, int column) {
    const heed_column *c = &set->column[column];
    hash = notes_mix(hash, c->shape, (size_t)c->rank * sizeof *c->shape);
    for (int64_t i = 0; c->data && i < set->n; i++) {
        const heed_cell cell = column_cell(c, i);
        hash = notes_mix(hash + (uint64_t)cell.count, cell.data, (size_t)cell.count * column_bytes(c));
    }
    return hash;
}

void notes_name_data(char text[NOTES_DATA], int64_t n, const char *unit, uint64_t hash) {
    snprintf(text, NOTES_DATA, "%" PRId64 " %s (%08" PRIx32 ")", n, unit, (uint32_t)(hash ^ hash >> 32));
}

void notes_put_source(heed_ctx *cx, heed_json at, const char *train, const char *valid, int64_t batch, int64_t micro) {
    heed_json_put_text(cx, at, "training data", train);
    if (*valid) heed_json_put_text(cx, at, "validation data", valid);
    put_int(cx, at, "batch", batch);
    put_int(cx, at, "micro-batch", micro);
}

static void set_model(struct loop *l, heed_json at) {
    for (heed_json v = heed_json_first(heed_model_config(l->model)); heed_json_kind_of(v) != HEED_JSON_NONE;
         v = heed_json_next(v)) {
        char key[128];
        snprintf(key, sizeof key, "model %s", escaped(heed_json_key(v)).s);
        char *text = strcmp(heed_json_key(v), "heed_version") == 0 ? NULL : heed_json_print(l->cx, v, 0, NULL);
        if (text) set_text(l, at, key, text);
        heed_mem_free(l->cx, text);
    }
}

/* Which parameters are frozen, and the learning rates of the others, where these are not all alike. */
static void set_trained(struct loop *l, heed_json at) {
    uint64_t frozen = 0, rates = 0;
    int64_t n = 0;
    for (int i = 0; i < heed_params_count(l->params); i++) {
        const heed_param *p = heed_params_at(l->params, i);
        if (p->frozen && !p->target) frozen = notes_mix(frozen + (uint64_t)i, p->name, strlen(p->name)), n += p->count;
        if (p->lr_scale != 1) rates = notes_mix(rates + (uint64_t)i, &p->lr_scale, sizeof p->lr_scale);
    }
    char text[NOTES_DATA];
    notes_name_data(text, n, "numbers", frozen);
    if (n > 0) set_text(l, at, "frozen", text);
    notes_name_data(text, 0, "rates", rates);
    if (rates) set_text(l, at, "layer-decay", text);
}

static void set_trainer(struct loop *l, heed_json at) {
    static const char *const schedules[] = {"constant", "step", "linear", "cosine", "inverse-root"};
    const heed_trainer_opts *t = &l->trainer->opts; /* with the defaults filled in */
    const heed_optimizer *o = &t->optimizer;
    const heed_schedule *s = &t->schedule;
    set_text(l, at, "optimizer", optimizer_name(o->kind));
    if (o->kind == HEED_SGD) {
        set_number(l, at, "momentum", o->momentum);
        set_text(l, at, "nesterov", o->nesterov ? "yes" : "no");
    } else if (o->kind != HEED_ADAFACTOR) {
        set_number(l, at, "beta1", o->beta1);
        set_number(l, at, "beta2", o->beta2);
        set_number(l, at, "eps", o->eps);
    }
    set_number(l, at, "decay", o->weight_decay);
    set_number(l, at, "lr", s->lr);
    set_text(l, at, "schedule", schedules[s->kind]);
    set_int(l, at, "warmup", s->warmup);
    if (s->kind == HEED_STEP) {
        set_int(l, at, "schedule step", s->every);
        set_number(l, at, "schedule factor", s->factor);
    }
    if (s->kind == HEED_LINEAR || s->kind == HEED_COSINE) {
        set_int(l, at, "steps", s->steps);
        set_number(l, at, "schedule floor", s->floor);
    }
    set_number(l, at, "clip", t->clip);
    set_number(l, at, "average", t->average);
    set_trained(l, at);
}

static void put_settings(struct loop *l, heed_json at) {
    const heed_loop_opts *o = &l->opts;
    char seed[32];
    set_model(l, at);
    l->source.settings(l->cx, l->source.own, at);
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    set_text(l, at, "seed", seed);
    set_trainer(l, at);
    if (l->source.valid) {
        set_int(l, at, "evaluate-every", o->evaluate_every);
        if (l->some) set_int(l, at, "valid-examples", l->n_some);
        set_int(l, at, "patience", o->patience);
        if (o->best_by) set_text(l, at, "best-by", o->best_by);
    }
}

/* ---- comparing ---- */

struct differences {
    char text[900];
    size_t used;
};

static void differ(struct differences *d, const char *key, const char *was, const char *is) {
    if (d->used + 320 > sizeof d->text) return; /* enough is said */
    d->used += (size_t)snprintf(d->text + d->used, sizeof d->text - d->used, "%s%s was %s, is %s", d->used ? "; " : "",
                                key, was ? was : "not set", is ? is : "not set");
}

/* What may change from one part of a run to the next: when it ends early; and how long it is, once it is at its end. */
static bool may_change(const struct loop *l, const char *key, const char *was, bool ended) {
    if (strcmp(key, "patience") == 0) return true;
    return ended && strcmp(key, "steps") == 0 && strtoll(was, NULL, 10) < l->state->steps;
}

static bool settings_agree(struct loop *l, heed_json theirs, heed_json ours, bool ended) {
    heed_ctx *cx = l->cx;
    struct differences d = {.used = 0};
    for (heed_json v = heed_json_first(theirs); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *key = heed_json_key(v), *was = heed_json_text(cx, v, NULL);
        const char *is = heed_json_text_or(cx, ours, key, NULL);
        if (was && (!is || strcmp(was, is) != 0) && !may_change(l, key, was, ended)) differ(&d, key, was, is);
    }
    for (heed_json v = heed_json_first(ours); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        if (heed_json_kind_of(heed_json_find(cx, theirs, heed_json_key(v))) == HEED_JSON_NONE)
            differ(&d, heed_json_key(v), NULL, heed_json_text(cx, v, NULL));
    if (d.used) heed_fail(cx, HEED_ERR_USAGE, "%s: a checkpoint of another configuration: %s", l->checkpoint, d.text);
    return !heed_failed(cx);
}

/* ---- where the run is ---- */

/* The loss, then the metrics. */
static void put_score(struct loop *l, heed_json at, const char *key, const heed_score *score) {
    const heed_json list = heed_json_put_array(l->cx, at, key);
    heed_json_put_number(l->cx, list, NULL, score->loss);
    for (int i = 0; l->source.metrics[i]; i++) heed_json_put_number(l->cx, list, NULL, heed_score_value(score, i));
}

static heed_score get_score(heed_ctx *cx, heed_json at, const char *key) {
    const heed_json list = heed_json_find(cx, at, key);
    heed_score score = {0};
    const int64_t n = heed_json_count(list);
    if (n > 0) score.loss = heed_json_number(cx, heed_json_item(cx, list, 0), NULL);
    if (n > 1) score.metric = heed_json_number(cx, heed_json_item(cx, list, 1), NULL);
    for (int i = 2; i < n && i <= HEED_METRICS_MAX; i++)
        score.more[i - 2] = heed_json_number(cx, heed_json_item(cx, list, i), NULL);
    return score;
}

char *notes_write(struct loop *l) {
    heed_ctx *cx = l->cx;
    const heed_loop_state *s = l->state;
    const heed_json notes = heed_json_new(cx, "notes");
    heed_json_put_int(cx, notes, "settled", l->settled);
    heed_json_put_int(cx, notes, "evaluated", l->evaluated);
    heed_json_put_int(cx, notes, "waited", l->waited);
    heed_json_put_number(cx, notes, "seconds", s->seconds);
    heed_json_put_number(cx, notes, "loss", s->loss);
    if (l->evaluated > 0) put_score(l, notes, "valid", &s->valid);
    heed_json_put_int(cx, notes, "best_step", s->best_step);
    if (s->best_step > 0) put_score(l, notes, "best", &s->best);
    put_settings(l, heed_json_put_object(cx, notes, "settings"));
    char *text = heed_json_print(cx, notes, 0, NULL);
    heed_json_free(notes);
    return text;
}

bool notes_read(struct loop *l, const char *text) {
    heed_ctx *cx = l->cx;
    heed_loop_state *s = l->state;
    const heed_json notes = heed_json_parse(cx, l->checkpoint, text, strlen(text));
    const heed_json ours = heed_json_new(cx, "settings");
    put_settings(l, ours);
    const heed_json theirs = heed_json_object(cx, notes, "settings");
    const char *const steps = heed_failed(cx) ? NULL : heed_json_text_or(cx, theirs, "steps", NULL);
    const bool ended = steps && heed_json_int(cx, notes, "settled") >= strtoll(steps, NULL, 10);
    if (!heed_failed(cx) && settings_agree(l, theirs, ours, ended)) {
        l->settled = heed_json_int(cx, notes, "settled");
        l->evaluated = heed_json_int(cx, notes, "evaluated");
        l->waited = heed_json_int(cx, notes, "waited");
        l->earlier = heed_json_number(cx, notes, "seconds");
        s->loss = heed_json_number(cx, notes, "loss");
        s->valid = get_score(cx, notes, "valid");
        s->best_step = heed_json_int(cx, notes, "best_step");
        s->best = get_score(cx, notes, "best");
    }
    heed_json_free(ours);
    heed_json_free(notes);
    return !heed_failed(cx);
}
