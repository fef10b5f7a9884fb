/* Parameter sets: names, numbers, files. */
#include "nn/params.h"
#include "base/checked.h"
#include "base/ctx.h"
#include "io/text.h"
#include <stdio.h>
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
    heed_mem_free(cx, set->ignored);
    heed_mem_free(cx, set->list);
    heed_mem_free(cx, set->block);
    heed_mem_free(cx, set);
}

int heed_params_count(const heed_params *set) { return set ? set->n : 0; }
heed_param *heed_params_at(const heed_params *set, int i) { return set && i >= 0 && i < set->n ? set->list[i] : NULL; }
int64_t heed_params_numbers(const heed_params *set) { return set ? set->numbers : 0; }
float *heed_params_block(const heed_params *set) { return set ? set->block : NULL; }

heed_param *heed_params_find(const heed_params *set, const char *name) {
    for (int i = 0; name && i < heed_params_count(set); i++)
        if (strcmp(set->list[i]->name, name) == 0) return set->list[i];
    return NULL;
}

/* A parameter and its name in one piece. */
static heed_param *append(heed_ctx *cx, heed_params *set, const char *prefix, const char *name) {
    if (heed_failed(cx)) return NULL;
    if (!set || !name || !*name || set->block) {
        heed_fail(cx, HEED_ERR_USAGE, "param: %s",
                  !set         ? "the set is NULL"
                  : set->block ? "the set is allocated already"
                               : "a name is needed");
        return NULL;
    }
    const bool dotted = prefix && *prefix;
    const size_t length = (dotted ? strlen(prefix) + 1 : 0) + strlen(name) + 1;
    if (set->n == set->cap) {
        const int cap = set->cap ? 2 * set->cap : 32;
        void *grown = heed_mem_resize(cx, set->list, (size_t)cap * sizeof *set->list);
        if (!grown) return NULL;
        set->list = grown;
        set->cap = cap;
    }
    heed_param *p = heed_mem_new(cx, sizeof *p + length);
    if (!p) return NULL;
    char *full = (char *)(p + 1);
    snprintf(full, length, "%s%s%s", dotted ? prefix : "", dotted ? "." : "", name);
    if (heed_params_find(set, full)) {
        heed_fail(cx, HEED_ERR_USAGE, "param: '%s' is there already", full);
        heed_mem_free(cx, p);
        return NULL;
    }
    *p = (heed_param){.name = full, .index = set->n};
    set->list[set->n++] = p;
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
    set->numbers = numbers;
    return p;
}

heed_param *heed_param_tie(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, heed_param *target) {
    if (heed_failed(cx)) return NULL;
    if (!target) {
        heed_fail(cx, HEED_ERR_USAGE, "param: '%s' is to be tied to nothing", name ? name : "");
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
    return p;
}

heed_param *heed_param_slice(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, heed_param *fused,
                             int64_t row, int64_t rows) {
    if (heed_failed(cx)) return NULL;
    if (!fused || fused->target || fused->rank < 1 || row < 0 || rows < 0 || row > fused->shape[0] - rows) {
        heed_fail(cx, HEED_ERR_USAGE, "param: '%s' is to be rows that are not there", name ? name : "");
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

bool heed_params_allocate(heed_ctx *cx, heed_params *set) {
    if (heed_failed(cx)) return false;
    if (!set || set->block)
        return heed_fail(cx, HEED_ERR_USAGE, "params: %s", set ? "allocated already" : "the set is NULL");
    set->block = heed_mem_new(cx, (size_t)set->numbers * sizeof(float));
    if (!set->block) return false;
    float *at = set->block;
    for (int i = 0; i < set->n; i++) {
        heed_param *p = set->list[i];
        p->value = p->target ? p->target->value + p->offset : at;
        if (!p->target) at += p->count;
    }
    return true;
}

void heed_bind(heed_ctx *cx, const heed_params *set, heed_grad *grads) {
    if (!cx) return;
    cx->bound_params = grads ? set : NULL;
    cx->bound_grads = set ? grads : NULL;
}

heed_tensor *heed_param_tensor(heed_ctx *cx, const heed_param *p) {
    if (heed_failed(cx)) return NULL;
    if (!p) {
        heed_fail(cx, HEED_ERR_USAGE, "param: the parameter is NULL");
        return NULL;
    }
    const heed_param *own = p->target ? p->target : p;
    const heed_params *set = cx->bound_params;
    const bool bound = set && !p->frozen && own->index < set->n && set->list[own->index] == own;
    if (p->count < own->count) { /* a slice, or a name that is tied to one */
        heed_tensor *const fused = heed_param_tensor(cx, own);
        const int64_t size = own->count / own->shape[0];
        return heed_slice(cx, fused, 0, p->offset / size, p->shape[0]);
    }
    return heed_borrow(cx, HEED_F32, own->value, p->rank, p->shape,
                       bound ? (heed_grad *)cx->bound_grads + own->index : NULL);
}

/* ---- files ---- */

/* A list of complaints that stays within one sentence. */
struct complaints {
    char text[800];
    size_t used;
    int n;
};

static void complain(struct complaints *c, const char *kind, const char *name, const char *detail) {
    const size_t room = sizeof c->text - c->used;
    const int length =
        snprintf(c->text + c->used, room, "%s%s '%s'%s", c->n ? "; " : "", kind, shown(name).text, detail);
    c->n++;
    if (length >= 0 && (size_t)length < room)
        c->used += (size_t)length;
    else
        c->text[c->used] = 0; /* only whole complaints */
}

static bool same_shape(const heed_param *p, const heed_array *a) {
    if (p->rank != a->rank) return false;
    for (int i = 0; i < p->rank; i++)
        if (p->shape[i] != a->shape[i]) return false;
    return true;
}

static void shape_text(char out[96], int rank, const int64_t *shape) {
    size_t at = 0;
    out[at++] = '(';
    for (int i = 0; i < rank && at < 80; i++)
        at += (size_t)snprintf(out + at, 96 - at, i ? ",%lld" : "%lld", (long long)shape[i]);
    snprintf(out + at, 96 - at, ")");
}

/* Is this a name that a file may have? */
static bool is_known(const heed_params *set, const char *name) {
    const heed_param *const p = heed_params_find(set, name);
    for (int i = 0; !p && i < set->n_ignored; i++)
        if (strcmp(set->ignored[i], name) == 0) return true;
    return p && p->kind != HEED_PARAM_FUSED;
}

static void check_one(heed_ctx *cx, heed_safetensors *st, const heed_param *p, struct complaints *c) {
    if (p->kind == HEED_PARAM_FUSED) return;
    const int64_t i = heed_safetensors_find(cx, st, p->name);
    if (i < 0) {
        if (heed_param_stored(p) && !p->optional) complain(c, "missing", p->name, "");
        return;
    }
    const heed_array *a = heed_safetensors_info(cx, st, i);
    if (!a || same_shape(p, a)) return;
    char want[96], got[96], detail[220];
    shape_text(want, p->rank, p->shape);
    shape_text(got, a->rank, a->shape);
    snprintf(detail, sizeof detail, " is %s, not %s", got, want);
    complain(c, "misshapen", p->name, detail);
}

bool heed_params_load(heed_ctx *cx, heed_params *set, const char *path) {
    if (heed_failed(cx)) return false;
    if (!set || !set->block) return heed_fail(cx, HEED_ERR_USAGE, "params: the set is not allocated");
    heed_safetensors *st = heed_safetensors_open(cx, path);
    if (!st) return false;
    struct complaints c = {.n = 0};
    for (int i = 0; i < set->n; i++) check_one(cx, st, set->list[i], &c);
    for (int64_t i = 0; i < heed_safetensors_count(st); i++) {
        const heed_array *a = heed_safetensors_info(cx, st, i);
        if (a && !is_known(set, a->name)) complain(&c, "unexpected", a->name, "");
    }
    if (c.n)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: %d name%s do%s not fit: %s", path, c.n, c.n == 1 ? "" : "s",
                  c.n == 1 ? "es" : "", c.text);
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        heed_param *p = set->list[i];
        const int64_t at = heed_param_stored(p) ? heed_safetensors_find(cx, st, p->name) : -1;
        const heed_array *a = at < 0 ? NULL : heed_safetensors_get(cx, st, at);
        if (a) heed_array_to_f32(cx, a, p->value, p->count);
    }
    heed_safetensors_close(st);
    return !heed_failed(cx);
}

bool heed_params_save(heed_ctx *cx, const heed_params *set, const char *path) {
    if (heed_failed(cx)) return false;
    if (!set || !set->block) return heed_fail(cx, HEED_ERR_USAGE, "params: the set is not allocated");
    heed_array *arrays = heed_mem_new(cx, (size_t)set->n * sizeof *arrays);
    if (!arrays) return false;
    int64_t n = 0;
    for (int i = 0; i < set->n; i++) {
        const heed_param *p = set->list[i];
        if (!heed_param_stored(p)) continue;
        arrays[n] = (heed_array){.name = p->name, .dtype = HEED_F32, .rank = p->rank, .data = p->value};
        memcpy(arrays[n++].shape, p->shape, sizeof p->shape);
    }
    heed_safetensors_write(cx, path, arrays, n, &(heed_pair){"format", "pt"}, 1);
    heed_mem_free(cx, arrays);
    return !heed_failed(cx);
}
