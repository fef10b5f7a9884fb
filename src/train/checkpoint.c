/* Checkpoints: the blocks of a trainer as arrays of one safetensors file, its counts and the run's notes as metadata.
 */
#include "io/text.h"
#include "train/trainer.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "layers.0.weight (256,784); …": what a checkpoint must agree on. Free with heed_mem_free. */
static char *signature(heed_ctx *cx, const heed_params *params) {
    size_t size = 1;
    for (int i = 0; i < heed_params_count(params); i++)
        size += strlen(heed_params_at(params, i)->name) + 24 * HEED_MAX_RANK;
    char *text = heed_mem_new(cx, size);
    if (!text) return NULL;
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        at += (size_t)snprintf(text + at, size - at, "%s%s (", i ? "; " : "", p->name);
        for (int k = 0; k < p->rank; k++)
            at += (size_t)snprintf(text + at, size - at, k ? ",%" PRId64 : "%" PRId64, p->shape[k]);
        at += (size_t)snprintf(text + at, size - at, ")%s", p->target ? " tied" : "");
    }
    return text;
}

/* The blocks that this trainer has: all weights, and what belongs to those that are trained. */
struct block {
    const char *name;
    float *numbers;
    int64_t count;
};

#define BLOCKS 5
static int blocks_of(const heed_trainer *t, struct block blocks[BLOCKS]) {
    int n = 0;
    blocks[n++] = (struct block){"weights", heed_params_block(t->params), heed_params_size(t->params)};
    if (t->moment[0]) blocks[n++] = (struct block){"moment.0", t->moment[0], t->n_moments};
    if (t->moment[1]) blocks[n++] = (struct block){"moment.1", t->moment[1], t->n_moments};
    if (t->average) blocks[n++] = (struct block){"average", t->average, t->numbers};
    if (t->carried) blocks[n++] = (struct block){"carried", t->carried, t->n_carried};
    return n;
}

bool heed_checkpoint_save(heed_ctx *cx, const heed_trainer *t, const char *path, const char *notes) {
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "checkpoint: %s is NULL", t ? "the path" : "the trainer");
    if (t->passes || t->swapped)
        return heed_fail(cx, HEED_ERR_USAGE, "checkpoint: %s: save between updates, with the average swapped back",
                         path);
    char *parameters = signature(cx, t->params), steps[32];
    if (!parameters) return false;
    snprintf(steps, sizeof steps, "%" PRId64, t->steps);
    const heed_pair metadata[] = {{"heed.checkpoint", "1"},
                                  {"heed.optimizer", optimizer_name(t->opts.optimizer.kind)},
                                  {"heed.steps", steps},
                                  {"heed.parameters", parameters},
                                  {"heed.notes", notes ? notes : ""}};
    struct block blocks[BLOCKS];
    heed_array arrays[BLOCKS];
    const int n = blocks_of(t, blocks);
    for (int i = 0; i < n; i++)
        arrays[i] = (heed_array){.name = blocks[i].name,
                                 .dtype = HEED_F32,
                                 .rank = 1,
                                 .data = blocks[i].numbers,
                                 .shape = {blocks[i].count}};
    heed_safetensors_write(cx, path, arrays, n, metadata, sizeof metadata / sizeof *metadata);
    heed_mem_free(cx, parameters);
    return !heed_failed(cx);
}

/* Everything is checked before anything is changed. */
static bool fits(heed_ctx *cx, heed_safetensors *st, const heed_trainer *t, const char *path, const char *parameters,
                 const struct block *blocks, int n, int64_t *steps) {
    const char *version = heed_safetensors_metadata(cx, st, "heed.checkpoint");
    const char *kind = heed_safetensors_metadata(cx, st, "heed.optimizer");
    const char *count = heed_safetensors_metadata(cx, st, "heed.steps");
    const char *theirs = heed_safetensors_metadata(cx, st, "heed.parameters");
    if (!version || !kind || !count || !theirs || strcmp(version, "1") != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: this is not a checkpoint of heed's", path);
    if (strcmp(theirs, parameters) != 0) {
        size_t same = 0;
        while (theirs[same] && theirs[same] == parameters[same]) same++;
        while (same > 0 && theirs[same - 1] != ';') same--;
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a checkpoint of another model: it has '%s' where this one has '%s'",
                         path, escaped(theirs + same).s, escaped(parameters + same).s);
    }
    if (strcmp(kind, optimizer_name(t->opts.optimizer.kind)) != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a checkpoint of another optimizer: %s, not %s", path,
                         escaped(kind).s, optimizer_name(t->opts.optimizer.kind));
    char *end;
    *steps = strtoll(count, &end, 10);
    if (*end || *steps < 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: '%s' is not a number of steps", path, escaped(count).s);
    if (heed_safetensors_count(st) != n)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld arrays where this optimizer has %d", path,
                         (long long)heed_safetensors_count(st), n);
    for (int i = 0; i < n; i++) {
        const int64_t at = heed_safetensors_find(cx, st, blocks[i].name);
        const heed_array *a = at < 0 ? NULL : heed_safetensors_info(cx, st, at);
        if (!a || a->dtype != HEED_F32 || heed_array_count(a) != blocks[i].count)
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: '%s' is missing or of another size", path, blocks[i].name);
    }
    return !heed_failed(cx);
}

static char *copy_text(heed_ctx *cx, const char *text) {
    const size_t size = strlen(text) + 1;
    char *copy = heed_mem_new(cx, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

char *heed_checkpoint_notes(heed_ctx *cx, const char *path) {
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "checkpoint: the path is NULL"), NULL;
    heed_safetensors *st = heed_safetensors_open(cx, path);
    const char *text = st ? heed_safetensors_metadata(cx, st, "heed.notes") : NULL;
    if (st && !text) heed_fail(cx, HEED_ERR_FORMAT, "%s: this is not a checkpoint of heed's", path);
    char *notes = text ? copy_text(cx, text) : NULL;
    heed_safetensors_close(st);
    return notes;
}

bool heed_checkpoint_load(heed_ctx *cx, heed_trainer *t, const char *path) {
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "checkpoint: %s is NULL", t ? "the path" : "the trainer");
    if (t->swapped) return heed_fail(cx, HEED_ERR_USAGE, "checkpoint: %s: load with the average swapped back", path);
    heed_safetensors *st = heed_safetensors_open(cx, path);
    char *parameters = signature(cx, t->params);
    struct block blocks[BLOCKS];
    const heed_array *arrays[BLOCKS] = {0};
    const int n = blocks_of(t, blocks);
    int64_t steps = 0;
    if (st && parameters && fits(cx, st, t, path, parameters, blocks, n, &steps)) {
        for (int i = 0; i < n; i++)
            arrays[i] = heed_safetensors_get(cx, st, heed_safetensors_find(cx, st, blocks[i].name));
        if (!heed_failed(cx)) {
            for (int i = 0; i < n; i++)
                memcpy(blocks[i].numbers, arrays[i]->data, (size_t)blocks[i].count * sizeof(float));
            t->steps = steps;
            trainer_clear(t);
        }
    }
    heed_mem_free(cx, parameters);
    heed_safetensors_close(st);
    return !heed_failed(cx);
}
