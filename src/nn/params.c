/* Parameter sets: names, numbers, files. */
#include "nn/params.h"
#include "base/checked.h"
#include "base/ctx.h"
#include "io/text.h"
#include "tensor/engine.h"
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

heed_params *heed_params_new(heed_ctx *cx) {
    heed_params *set = heed_mem_new(cx, sizeof *set);
    if (set) *set = (heed_params){0};
    return set;
}

void heed_params_free(heed_ctx *cx, heed_params *set) {
    if (!cx || !set) return;
    if (cx->bound_params == set) heed_bind(cx, NULL, NULL);
    for (int i = 0; i < set->n; i++) heed_mem_free(cx, set->list[i]);
    for (int i = 0; i < set->n_ignored; i++) heed_mem_free(cx, set->ignored[i]);
    for (void *room = set->rooms, *next; room; room = next) {
        next = *(void **)room;
        heed_mem_free(cx, room);
    }
    heed_safetensors_close(set->file);
    heed_mem_free(cx, set->ignored);
    heed_mem_free(cx, set->list);
    heed_mem_free(cx, set->slots);
    heed_mem_free(cx, set->block);
    heed_mem_free(cx, set->copied);
    heed_mem_free(cx, set->packed);
    heed_mem_free(cx, set);
}

int heed_params_count(const heed_params *set) { return set ? set->n : 0; }
heed_param *heed_params_at(const heed_params *set, int i) { return set && i >= 0 && i < set->n ? set->list[i] : NULL; }
int64_t heed_params_size(const heed_params *set) { return set ? set->numbers : 0; }
float *heed_params_block(const heed_params *set) { return set ? set->block : NULL; }

/* The slot of a name: where it is, or where it would be. cap is a power of two. */
static int *slot_of(const heed_params *set, const char *name) {
    const unsigned mask = 2 * (unsigned)set->cap - 1;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = name; *at; at++) hash = (hash ^ (unsigned char)*at) * 16777619u;
    unsigned i = (hash ^ hash >> 15) & mask;
    while (set->slots[i] && strcmp(set->list[set->slots[i] - 1]->name, name) != 0) i = (i + 1) & mask;
    return &set->slots[i];
}

heed_param *heed_params_find(const heed_params *set, const char *name) {
    const int *const slot = set && name && set->slots ? slot_of(set, name) : NULL;
    return slot && *slot ? set->list[*slot - 1] : NULL;
}

static bool grow(heed_ctx *cx, heed_params *set) {
    const int cap = set->cap ? 2 * set->cap : 32;
    int *const slots = heed_mem_new(cx, 2 * (size_t)cap * sizeof *slots);
    void *const grown = slots ? heed_mem_resize(cx, set->list, (size_t)cap * sizeof *set->list) : NULL;
    if (!grown) {
        heed_mem_free(cx, slots);
        return false;
    }
    heed_mem_free(cx, set->slots);
    set->list = grown;
    set->cap = cap;
    set->slots = memset(slots, 0, 2 * (size_t)cap * sizeof *slots);
    for (int i = 0; i < set->n; i++) *slot_of(set, set->list[i]->name) = i + 1;
    return true;
}

/* A parameter and its name in one piece. */
static heed_param *append(heed_ctx *cx, heed_params *set, const char *prefix, const char *name) {
    if (heed_failed(cx)) return NULL;
    const bool filled = set && (set->block || set->file);
    if (!set || !name || !*name || filled) {
        heed_fail(cx, HEED_ERR_USAGE, "param: %s",
                  !set     ? "the set is NULL"
                  : filled ? "the set is allocated already"
                           : "a name is needed");
        return NULL;
    }
    const bool dotted = prefix && *prefix;
    const size_t length = (dotted ? strlen(prefix) + 1 : 0) + strlen(name) + 1;
    if (set->n == set->cap && !grow(cx, set)) return NULL;
    heed_param *p = heed_mem_new(cx, sizeof *p + length);
    if (!p) return NULL;
    char *full = (char *)(p + 1);
    snprintf(full, length, "%s%s%s", dotted ? prefix : "", dotted ? "." : "", name);
    int *const slot = slot_of(set, full);
    if (*slot) {
        heed_fail(cx, HEED_ERR_USAGE, "param: '%s' is there already", full);
        heed_mem_free(cx, p);
        return NULL;
    }
    *p = (heed_param){.name = full, .index = set->n, .lr_scale = 1};
    set->list[set->n++] = p;
    *slot = set->n;
    return p;
}

heed_param *heed_param_add(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int rank,
                           const int64_t *shape, heed_init init) {
    int64_t count = 1;
    if (heed_failed(cx)) return NULL;
    bool ok = rank >= 0 && rank <= HEED_MAX_RANK && (rank == 0 || shape);
    for (int i = 0; ok && i < rank; i++) ok = shape[i] >= 0 && i64_mul(count, shape[i], &count);
    int64_t numbers = 0;
    if (!ok || (set && (!i64_add(set->numbers, count, &numbers) || numbers > INT64_MAX / 64))) {
        heed_fail(cx, HEED_ERR_SHAPE, "param: '%s': a shape of rank %d with sizes that cannot be", name ? name : "",
                  rank);
        return NULL;
    }
    heed_param *p = append(cx, set, prefix, name);
    if (!p) return NULL;
    p->rank = rank;
    for (int i = 0; i < rank; i++) p->shape[i] = shape[i];
    p->count = count;
    p->init = init;
    p->decays = rank > 1;
    p->needs_f32 = rank != 2;
    set->numbers = numbers;
    return p;
}

heed_param *heed_param_buffer(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int rank,
                              const int64_t *shape, heed_init init) {
    heed_param *p = heed_param_add(cx, set, prefix, name, rank, shape, init);
    if (!p) return NULL;
    p->buffer = p->frozen = p->needs_f32 = true;
    p->decays = false;
    return p;
}

heed_param *heed_param_tie(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, heed_param *target) {
    if (heed_failed(cx)) return NULL;
    if (!target) {
        heed_fail(cx, HEED_ERR_USAGE, "param: '%s' is tied to no parameter", name ? name : "");
        return NULL;
    }
    heed_param *p = append(cx, set, prefix, name);
    if (!p) return NULL;
    const heed_param as_is = *p;
    *p = *target;
    p->name = as_is.name;
    p->index = as_is.index;
    p->kind = HEED_PARAM_TIED;
    p->target = target->target ? target->target : target;
    p->target->is_embedding = p->is_embedding = false; /* most often by an output layer */
    return p;
}

void params_part(heed_params *set, heed_param *p, bool tied) {
    if (tied == (p->target != NULL)) return;
    set->numbers += tied ? -p->count : p->count;
    p->kind = tied ? HEED_PARAM_TIED : HEED_PARAM_OWN;
    p->target = tied ? p->loose : NULL;
}

heed_param *heed_param_tie_loosely(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                                   heed_param *target, bool tied, heed_init init) {
    heed_param *const p = heed_param_tie(cx, set, prefix, name, target);
    if (!p) return NULL;
    p->loose = p->target;
    p->init = init;
    params_part(set, p, tied);
    return p;
}

heed_param *heed_param_slice(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, heed_param *fused,
                             int64_t row, int64_t rows) {
    if (heed_failed(cx)) return NULL;
    if (!fused || fused->target || fused->rank < 1 || row < 0 || rows < 0 || row > fused->shape[0] - rows) {
        heed_fail(cx, HEED_ERR_USAGE, "param: '%s' would be rows that the fused parameter does not have",
                  name ? name : "");
        return NULL;
    }
    heed_param *p = heed_param_tie(cx, set, prefix, name, fused);
    if (!p) return NULL;
    const int64_t size = fused->shape[0] ? fused->count / fused->shape[0] : 0;
    p->shape[0] = rows;
    p->count = rows * size;
    p->offset = row * size;
    p->kind = HEED_PARAM_SLICE;
    fused->kind = HEED_PARAM_FUSED;
    return p;
}

bool heed_param_stored(const heed_param *p) { return p && (p->kind == HEED_PARAM_OWN || p->kind == HEED_PARAM_SLICE); }

bool heed_param_ignore(heed_ctx *cx, heed_params *set, const char *prefix, const char *name) {
    if (heed_failed(cx)) return false;
    if (!set || !name) return heed_fail(cx, HEED_ERR_USAGE, "param: a set and a name are needed");
    const bool dotted = prefix && *prefix;
    const size_t length = (dotted ? strlen(prefix) + 1 : 0) + strlen(name) + 1;
    char **const grown = heed_mem_resize(cx, set->ignored, (size_t)(set->n_ignored + 1) * sizeof *grown);
    if (!grown) return false;
    set->ignored = grown;
    char *const full = heed_mem_new(cx, length);
    if (!full) return false;
    snprintf(full, length, "%s%s%s", dotted ? prefix : "", dotted ? "." : "", name);
    set->ignored[set->n_ignored++] = full;
    return true;
}

void *heed_params_alloc(heed_ctx *cx, heed_params *set, size_t count, size_t size) {
    size_t bytes;
    if (heed_failed(cx)) return NULL;
    if (!set || !size_mul(count, size, &bytes) || bytes > SIZE_MAX - 16) {
        heed_fail(cx, HEED_ERR_USAGE, "params: %s", set ? "a room of a size that cannot be" : "the set is NULL");
        return NULL;
    }
    char *const room = heed_mem_new(cx, bytes + 16); /* a link, then what is asked for, aligned */
    if (!room) return NULL;
    memset(room, 0, bytes + 16);
    *(void **)(void *)room = set->rooms;
    set->rooms = room;
    return room + 16;
}

bool heed_params_allocate(heed_ctx *cx, heed_params *set) {
    if (heed_failed(cx)) return false;
    if (!set || set->block || set->file)
        return heed_fail(cx, HEED_ERR_USAGE, "params: %s", set ? "allocated already" : "the set is NULL");
    set->block = heed_mem_new(cx, (size_t)set->numbers * sizeof(float));
    if (!set->block) return false;
    float *at = set->block;
    for (int i = 0; i < set->n; i++) {
        heed_param *p = set->list[i];
        if (p->target) continue;
        p->data = p->value = at;
        p->dtype = HEED_F32;
        at += p->count;
    }
    params_share(set);
    return true;
}

void params_share(heed_params *set) {
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i], *const t = p->target;
        if (!t) continue;
        p->dtype = t->dtype;
        p->value = t->value ? t->value + p->offset : NULL;
        p->data = t->data ? (const char *)t->data + (size_t)p->offset * heed_dtype_size(t->dtype) : NULL;
    }
}

/* ---- what is trained, and how fast ---- */

int heed_params_freeze(heed_ctx *cx, heed_params *set, const char *pattern) {
    int n = 0;
    if (heed_failed(cx)) return 0;
    if (!set || !pattern) return heed_fail(cx, HEED_ERR_USAGE, "freeze: a set and a pattern are needed"), 0;
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        if (fnmatch(pattern, p->name, 0) != 0) continue;
        n++; /* a buffer is frozen already */
        p->frozen = true;
        p->norm_part = HEED_NORM_NONE; /* heed_batch_norms_train leaves it alone */
        if (p->target && p->kind == HEED_PARAM_TIED) p->target->frozen = true;
    }
    for (int i = 0; i < set->n; i++) { /* slices share the gradient of what they are slices of */
        heed_param *const p = set->list[i];
        if (p->kind != HEED_PARAM_SLICE || p->frozen == p->target->frozen) continue;
        bool all = true;
        for (int k = 0; k < set->n; k++)
            if (set->list[k]->kind == HEED_PARAM_SLICE && set->list[k]->target == p->target)
                all &= set->list[k]->frozen;
        if (all)
            p->target->frozen = true;
        else if (p->frozen)
            return heed_fail(cx, HEED_ERR_USAGE,
                             "freeze: '%s' is frozen together with the others of its attention, or "
                             "not at all",
                             p->name),
                   0;
    }
    if (n == 0) heed_fail(cx, HEED_ERR_USAGE, "freeze: no parameter fits '%s'", escaped(pattern).s);
    return n;
}

int heed_params_decay_only(heed_ctx *cx, heed_params *set, const char *const *patterns, int n) {
    int decaying = 0;
    if (heed_failed(cx)) return 0;
    if (!set || !patterns) return heed_fail(cx, HEED_ERR_USAGE, "decay_only: a set and patterns are needed"), 0;
    for (int k = 0; k < n; k++) {
        bool fits = false;
        if (!patterns[k]) return heed_fail(cx, HEED_ERR_USAGE, "decay_only: pattern %d is NULL", k), 0;
        for (int i = 0; i < set->n; i++) fits |= fnmatch(patterns[k], set->list[i]->name, 0) == 0;
        if (!fits) return heed_fail(cx, HEED_ERR_USAGE, "decay: no parameter fits '%s'", escaped(patterns[k]).s), 0;
    }
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        bool fits = false;
        for (int k = 0; k < n; k++) fits |= fnmatch(patterns[k], p->name, 0) == 0;
        p->decays &= fits;
        decaying += p->decays;
    }
    return decaying;
}

/* The number of a layer in a dotted name, or -1. */
static int layer_number(const char *name) {
    for (const char *at = strchr(name, '.'); at; at = strchr(at + 1, '.')) {
        const size_t n = strspn(at + 1, "0123456789");
        if (n > 0 && n < 6 && at[1 + n] == '.') return atoi(at + 1);
    }
    return -1;
}

bool heed_params_layer_decay(heed_ctx *cx, heed_params *set, double decay) {
    int layers = 0;
    if (heed_failed(cx)) return false;
    if (!set || !(decay > 0 && decay <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "layer decay: a set and a factor in (0, 1] are needed, not %g", decay);
    for (int i = 0; i < set->n; i++) {
        const int number = layer_number(set->list[i]->name);
        if (number >= layers) layers = number + 1;
    }
    bool inside = false;
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        const int number = layer_number(p->name);
        inside |= number >= 0;
        const int depth = number >= 0 ? number + 1 : inside ? layers + 1 : 0;
        p->lr_scale = (float)pow(decay, layers + 1 - depth);
    }
    return true;
}

void heed_bind(heed_ctx *cx, const heed_params *set, heed_grad *grads) {
    if (!cx) return;
    cx->bound_params = grads ? set : NULL;
    cx->bound_grads = set ? grads : NULL;
}

heed_tensor *params_linear(heed_ctx *cx, const heed_param *p) {
    if (heed_failed(cx)) return NULL;
    if (!p) {
        heed_fail(cx, HEED_ERR_USAGE, "param: the parameter is NULL");
        return NULL;
    }
    const heed_param *own = p->target ? p->target : p;
    const heed_params *set = cx->bound_params;
    const bool bound = set && !p->frozen && own->index < set->n && set->list[own->index] == own;
    if (p->count < own->count) { /* a slice, or a name that is tied to one */
        heed_tensor *const fused = params_linear(cx, own);
        const int64_t size = own->count / own->shape[0];
        return heed_slice(cx, fused, 0, p->offset / size, p->shape[0]);
    }
    heed_tensor *const t = heed_borrow(cx, own->dtype, own->data, p->rank, p->shape,
                                       bound ? (heed_grad *)cx->bound_grads + own->index : NULL);
    if (t) t->packed = own->packed;
    return t;
}

heed_tensor *heed_param_weight(heed_ctx *cx, const heed_param *p) {
    const heed_param *const own = p && p->target ? p->target : p;
    if (!heed_failed(cx) && own && own->adapters) {
        heed_fail(cx, HEED_ERR_USAGE, "LoRA: '%s' is used otherwise than as a linear layer, and cannot be adapted",
                  p->name);
        return NULL;
    }
    return params_linear(cx, p);
}

static heed_tensor *as_f32(heed_ctx *cx, heed_tensor *t) {
    return t && heed_type(t) != HEED_F32 ? heed_cast(cx, t, HEED_F32) : t;
}

heed_tensor *heed_param_tensor(heed_ctx *cx, const heed_param *p) { return as_f32(cx, heed_param_weight(cx, p)); }

heed_tensor *heed_param_rows(heed_ctx *cx, const heed_param *p, int64_t row, int64_t n) {
    return as_f32(cx, heed_slice(cx, heed_param_weight(cx, p), 0, row, n));
}
