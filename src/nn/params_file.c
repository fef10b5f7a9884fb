/* Parameter sets and files: names, types and numbers. */
#include "io/safetensors.h"
#include "io/text.h"
#include "nn/params.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void list_name(struct name_list *l, const char *kind, const char *name, const char *detail) {
    const size_t room = sizeof l->text - l->used;
    const int length = snprintf(l->text + l->used, room, "%s%s'%s'%s", l->n ? (*kind ? "; " : ", ") : "", kind,
                                escaped(name).s, detail);
    l->n++;
    if (length >= 0 && (size_t)length < room)
        l->used += (size_t)length;
    else
        l->text[l->used] = 0; /* only whole names */
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

/* The name behind "base.", or NULL when it does not begin so. */
static const char *without_base(const char *name, const char *base) {
    const size_t n = base ? strlen(base) : 0;
    return n && strncmp(name, base, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

bool params_is_beside(const heed_params *set, const heed_param *p) {
    return without_base(p->name, set->beside) != NULL;
}

const char *params_own_name(const heed_params *set, const heed_param *p) {
    const char *const own = without_base(p->name, set->beside);
    return own ? own : p->name;
}

/* The end of a norm's name in files of TensorFlow's time. */
static bool old_name(const char *name, char *out, size_t size) {
    static const char *const ends[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                          {"LayerNorm.bias", "LayerNorm.beta"}};
    const size_t n = strlen(name);
    for (int i = 0; i < 2; i++) {
        const size_t k = strlen(ends[i][0]);
        if (n >= k && strcmp(name + n - k, ends[i][0]) == 0)
            return snprintf(out, size, "%.*s%s", (int)(n - k), name, ends[i][1]) < (int)size;
    }
    return false;
}

/* A name with every part that files may have otherwise. */
static bool other_name(const char *const *renamed, const char *name, char *out, size_t size) {
    bool changed = false;
    if (!renamed || snprintf(out, size, "%s", name) >= (int)size) return false;
    for (int i = 0; renamed[i]; i += 2) {
        char *const at = strstr(out, renamed[i]);
        const size_t old = strlen(renamed[i]), new = strlen(renamed[i + 1]);
        if (!at) continue;
        if (strlen(out) - old + new >= size) return false;
        memmove(at + new, at + old, strlen(at + old) + 1);
        memcpy(at, renamed[i + 1], new);
        changed = true;
    }
    return changed;
}

/* The place of a parameter in the file under its own name, with or without the base, or with another name; or -1. */
static int64_t find_in(heed_ctx *cx, heed_safetensors *st, const char *name, const struct params_file *f) {
    char with[512], other[512];
    const char *const base = f->base, *const without = without_base(name, base);
    const char *names[] = {name, without, NULL};
    if (base && !without && snprintf(with, sizeof with, "%s.%s", base, name) < (int)sizeof with) names[2] = with;
    for (int i = 0; i < 3; i++) {
        int64_t at = names[i] ? heed_safetensors_find(cx, st, names[i]) : -1;
        if (at < 0 && names[i] && old_name(names[i], other, sizeof other)) at = heed_safetensors_find(cx, st, other);
        if (at < 0 && names[i] && other_name(f->renamed, names[i], other, sizeof other))
            at = heed_safetensors_find(cx, st, other);
        if (at >= 0) return at;
    }
    return -1;
}

void params_file_name(const heed_params *set, const heed_param *p, char *out, size_t size) {
    if (!other_name(set->renamed, p->name, out, size)) snprintf(out, size, "%s", p->name);
}

/* Does the file have the other names? The first parameter that has one tells. */
static bool has_other_names(heed_ctx *cx, heed_safetensors *st, const heed_params *set, const struct params_file *f,
                            const int64_t *where) {
    char other[512];
    for (int i = 0; i < set->n; i++) {
        if (where[i] < 0 || !other_name(f->renamed, set->list[i]->name, other, sizeof other)) continue;
        const char *const name = heed_safetensors_info(cx, st, where[i])->name;
        const char *const part = without_base(name, f->base), *const own = without_base(other, f->base);
        return strcmp(part ? part : name, own ? own : other) == 0;
    }
    return false;
}

static bool is_ignored(const heed_params *set, const struct params_file *f, const char *name) {
    const char *const without = without_base(name, f->base);
    for (int i = 0; i < set->n_ignored; i++)
        if (strcmp(set->ignored[i], name) == 0) return true;
    for (int i = 0; f->ignored && f->ignored[i]; i++)
        if (fnmatch(f->ignored[i], name, 0) == 0 || (without && fnmatch(f->ignored[i], without, 0) == 0)) return true;
    return false;
}

/* Does the set have a head: are the names of its body behind the base? */
static bool has_base(const heed_params *set, const char *base) {
    for (int i = 0; i < set->n; i++)
        if (without_base(set->list[i]->name, base)) return true;
    return false;
}

/* Is the first part of a file's name one of the body's? What else a file of a family with heads holds is of a head. */
static bool is_of_body(const heed_params *set, const char *base, const char *name) {
    if (!base) return true;
    const char *const without = without_base(name, base), *const part = without ? without : name;
    const size_t n = strcspn(part, ".");
    const bool headed = has_base(set, base);
    for (int i = 0; i < set->n; i++) {
        const char *const own = headed ? without_base(set->list[i]->name, base) : set->list[i]->name;
        if (own && strncmp(own, part, n) == 0 && (own[n] == '.' || !own[n])) return true;
    }
    return false;
}

/* Where every parameter is in the file, or -1. One that is not there under its own name may be under that of another
 * which is tied to it. */
static void find_all(heed_ctx *cx, heed_safetensors *st, const heed_params *set, const struct params_file *f,
                     int64_t *where) {
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        const heed_param *const p = set->list[i];
        const bool here = p->kind != HEED_PARAM_FUSED && !p->lora && params_is_beside(set, p) == f->beside;
        where[i] = here ? find_in(cx, st, params_own_name(set, p), f) : -1;
    }
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        const heed_param *const p = set->list[i], *const target = p->target;
        if (p->kind == HEED_PARAM_TIED && target->kind == HEED_PARAM_OWN && where[target->index] < 0 &&
            params_is_beside(set, target) == f->beside)
            where[target->index] = where[i];
    }
}

/* Can it be interpolated from the file's, which is of another size? */
static bool is_resizable(heed_ctx *cx, const heed_param *p, const heed_array *a, const struct params_file *f) {
    return f->fresh_head && !f->mapped && p->resize && p->rank == a->rank &&
           p->resize->run(cx, p, a->shape, NULL, NULL);
}

/* Looks for every parameter: where[i] is its place in the file, or -1. */
static void match(heed_ctx *cx, heed_safetensors *st, const heed_params *set, struct params_file *f, int64_t *where,
                  bool *read, struct name_list *wrong) {
    const bool headed = has_base(set, f->base);
    find_all(cx, st, set, f, where);
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        heed_param *const p = set->list[i];
        if (params_is_beside(set, p) != f->beside) continue;
        const bool fresh = f->fresh_head && (p->head || (headed && !without_base(params_own_name(set, p), f->base)));
        if (p->external) { /* what the file has of it is not read */
            if (where[i] >= 0) read[where[i]] = true;
            where[i] = -1;
            continue;
        }
        if (where[i] < 0) {
            if (!heed_param_stored(p) || (p->optional && !p->head)) continue;
            p->fresh = p->optional || fresh;
            if (p->optional) {
                list_name(&f->fresh, "", p->name, "");
                continue;
            }
            list_name(fresh ? &f->fresh : wrong, fresh ? "" : "missing ", p->name, "");
            continue;
        }
        const heed_array *const a = heed_safetensors_info(cx, st, where[i]);
        read[where[i]] = true;
        if (f->fresh_head && p->resize && p->resize->trained) p->fresh = true;
        if (a && !same_shape(p, a)) {
            char want[96], got[96], detail[220];
            shape_text(want, p->rank, p->shape);
            shape_text(got, a->rank, a->shape);
            snprintf(detail, sizeof detail, " is %s, not %s", got, want);
            if (is_resizable(cx, p, a, f)) {
                if (!p->resize->trained) list_name(&f->resized, "", p->name, "");
                continue;
            }
            list_name(fresh ? &f->fresh : wrong, fresh ? "" : "misshapen ", p->name, detail);
            p->fresh = fresh;
            where[i] = -1;
        }
    }
    for (int64_t i = 0; i < heed_safetensors_count(st) && !heed_failed(cx); i++) {
        const heed_array *const a = heed_safetensors_info(cx, st, i);
        if (!a || read[i] || is_ignored(set, f, a->name)) continue;
        const bool body = is_of_body(set, f->base, a->name);
        list_name(body ? wrong : &f->unused, body ? "unexpected " : "", a->name, "");
    }
}

/* The file, and where in it every parameter is; complains of everything at once. */
struct matched {
    heed_safetensors *file;
    int64_t *where; /* per parameter; -1: not there, or a parameter that files do not hold */
};

static void matched_free(heed_ctx *cx, struct matched *m) {
    heed_mem_free(cx, m->where);
    heed_safetensors_close(m->file);
}

static bool match_file(heed_ctx *cx, heed_params *set, const char *path, struct params_file *f, struct matched *m) {
    *m = (struct matched){.file = heed_safetensors_open(cx, path)};
    if (!m->file) return false;
    const size_t tensors = (size_t)heed_safetensors_count(m->file);
    m->where = heed_mem_new(cx, ((size_t)set->n + 1) * sizeof *m->where);
    bool *read = heed_mem_new(cx, tensors + 1);
    struct name_list wrong = {.n = 0};
    if (!heed_failed(cx)) {
        memset(read, 0, tensors + 1);
        match(cx, m->file, set, f, m->where, read, &wrong);
    }
    if (wrong.n)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: %d name%s do%s not fit: %s", path, wrong.n, wrong.n == 1 ? "" : "s",
                  wrong.n == 1 ? "es" : "", wrong.text);
    for (int i = 0; i < set->n && !heed_failed(cx); i++)
        if (!heed_param_stored(set->list[i])) m->where[i] = -1;
    heed_mem_free(cx, read);
    if (!heed_failed(cx)) set->renamed = has_other_names(cx, m->file, set, f, m->where) ? f->renamed : NULL;
    if (!heed_failed(cx)) return true;
    matched_free(cx, m);
    return false;
}

/* Which type a parameter is saved in again. */
static void note_type(heed_param *p, heed_dtype dtype) {
    if (!p->buffer || p->stored != HEED_I64) p->stored = params_narrow(dtype) ? dtype : HEED_F32;
}

/* ---- loose ties ---- */

static bool same_numbers(heed_ctx *cx, heed_safetensors *st, int64_t a, int64_t b) {
    const heed_array *const x = heed_safetensors_info(cx, st, a), *const y = heed_safetensors_info(cx, st, b);
    return x && y && x->dtype == y->dtype && st->list[a]->size == st->list[b]->size &&
           memcmp(st->list[a]->bytes, st->list[b]->bytes, st->list[a]->size) == 0;
}

bool params_resolve_ties(heed_ctx *cx, heed_params *set, const char *path, const struct params_file *f) {
    bool any = false;
    for (int i = 0; i < set->n; i++) any |= set->list[i]->loose != NULL;
    if (heed_failed(cx) || !any) return !heed_failed(cx);
    heed_safetensors *const st = heed_safetensors_open(cx, path);
    for (int i = 0; st && i < set->n && !heed_failed(cx); i++) {
        heed_param *const p = set->list[i];
        if (!p->loose) continue;
        const int64_t own = find_in(cx, st, p->name, f), target = find_in(cx, st, p->loose->name, f);
        params_part(set, p, own < 0 || target < 0 || same_numbers(cx, st, own, target));
    }
    heed_safetensors_close(st);
    return !heed_failed(cx);
}

/* ---- copied ---- */

static void load_resized(heed_ctx *cx, heed_param *p, const heed_array *a) {
    const int64_t n = heed_array_count(a);
    float *const from = heed_mem_new(cx, (size_t)n * sizeof *from);
    if (from && heed_array_to_f32(cx, a, from, n)) p->resize->run(cx, p, a->shape, from, p->value);
    heed_mem_free(cx, from);
}

static bool load_file(heed_ctx *cx, heed_params *set, const char *path, struct params_file *f) {
    struct matched m;
    if (!match_file(cx, set, path, f, &m)) return false;
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        heed_param *p = set->list[i];
        const heed_array *a = m.where[i] >= 0 ? heed_safetensors_get(cx, m.file, m.where[i]) : NULL;
        if (a && !same_shape(p, a))
            load_resized(cx, p, a);
        else if (a && heed_array_to_f32(cx, a, p->value, p->count))
            note_type(p, a->dtype);
        if (!a && p->optional && !p->target && !f->fresh_head) params_draw(p, f->seed);
    }
    matched_free(cx, &m);
    return !heed_failed(cx);
}

/* The model beside, where a directory has one; with a fresh head it may lack it. */
static bool load_beside(heed_ctx *cx, heed_params *set, const char *dir, struct params_file *f) {
    char path[4096];
    struct stat what;
    if (snprintf(path, sizeof path, "%s/%s", dir, set->beside) >= (int)sizeof path)
        return heed_fail(cx, HEED_ERR_FILE, "%s: the path is too long", dir);
    if (f->fresh_head && stat(path, &what) != 0) {
        list_name(&f->fresh, "", set->beside, ".*");
        return true;
    }
    f->beside = true;
    const bool loaded = load_file(cx, set, path, f);
    f->beside = false;
    return loaded;
}

bool params_load(heed_ctx *cx, heed_params *set, const char *path, struct params_file *f) {
    if (heed_failed(cx)) return false;
    if (!set || !set->block) return heed_fail(cx, HEED_ERR_USAGE, "params: the set is not allocated");
    return load_file(cx, set, path, f) && (!set->beside || load_beside(cx, set, path, f));
}

bool heed_params_load(heed_ctx *cx, heed_params *set, const char *path) {
    return params_load(cx, set, path, &(struct params_file){0});
}

/* ---- mapped ---- */

/* How a parameter with numbers of its own is held. */
struct held {
    heed_dtype dtype;
    const void *mapped; /* NULL: copied */
    bool missing;       /* from the file, or a slice is: drawn */
};
static const struct held drawn = {HEED_F32, NULL, true};

/* An array of the file as p can be read from there, if it can. */
static struct held array_held(const heed_param *p, const heed_array *a) {
    const heed_dtype type = params_narrow(a->dtype) && !p->needs_f32 ? a->dtype : HEED_F32;
    return (struct held){type, type == a->dtype ? a->data : NULL, false};
}

/* Slices that are all of one type are one parameter of that type; where they lie side by side in the file they are read
 * there. Any that is missing makes it f32. */
static struct held fused_held(heed_ctx *cx, const heed_params *set, const heed_param *p, const struct matched *m) {
    struct held all = {.dtype = HEED_F32};
    bool first = true, one_type = true, together = true;
    const char *begin = NULL;
    for (int i = 0; i < set->n; i++) {
        const heed_param *const s = set->list[i];
        if (s->target != p || s->kind != HEED_PARAM_SLICE) continue;
        const heed_array *const a = m->where[i] >= 0 ? heed_safetensors_info(cx, m->file, m->where[i]) : NULL;
        if (!a) return drawn;
        const struct held h = array_held(p, a);
        const size_t offset = (size_t)s->offset * heed_dtype_size(h.dtype);
        const char *const from = h.mapped;
        if (first) all.dtype = h.dtype, begin = from && s->offset == 0 ? from : NULL;
        one_type &= h.dtype == all.dtype;
        together &= begin && from && (uintptr_t)from - (uintptr_t)begin == offset;
        first = false;
    }
    if (!one_type) return (struct held){.dtype = HEED_F32};
    if (together) all.mapped = begin;
    return all;
}

static struct held held_of(heed_ctx *cx, const heed_params *set, int i, const struct matched *m) {
    const heed_param *const p = set->list[i];
    if (p->kind == HEED_PARAM_FUSED) return fused_held(cx, set, p, m);
    const heed_array *const a = m->where[i] >= 0 ? heed_safetensors_info(cx, m->file, m->where[i]) : NULL;
    return a ? array_held(p, a) : drawn;
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Numbers of an array to a parameter's memory, which is of the same type or f32. */
static bool copy_array(heed_ctx *cx, const heed_array *a, const heed_param *p) {
    void *const to = (void *)(uintptr_t)p->data;
    if (a->dtype != p->dtype) return heed_array_to_f32(cx, a, to, p->count);
    if (p->count > 0) memcpy(to, a->data, params_bytes(p, p->dtype));
    return true;
}

/* Places every parameter in the file or in the memory beside it, then fills that. */
static bool place(heed_ctx *cx, heed_params *set, const struct matched *m, const struct params_file *f) {
    size_t size = 0;
    for (int i = 0; i < set->n; i++) {
        const struct held h = set->list[i]->target ? (struct held){0} : held_of(cx, set, i, m);
        if (!set->list[i]->target && !h.mapped) size += aligned(params_bytes(set->list[i], h.dtype));
    }
    if (heed_failed(cx) || !(set->copied = heed_mem_new(cx, size + 64))) return false;
    set->copied_size = size;
    char *at = (char *)set->copied + (64 - (uintptr_t)set->copied % 64) % 64;
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        if (p->target) continue;
        const struct held h = held_of(cx, set, i, m);
        p->dtype = h.dtype;
        p->data = h.mapped ? h.mapped : at;
        if (h.mapped) set->mapped += params_bytes(p, h.dtype);
        if (h.mapped) continue;
        at += aligned(params_bytes(p, h.dtype));
        if (!h.missing) continue;
        p->value = (float *)(uintptr_t)p->data;
        params_draw(p, f->seed);
        p->value = NULL;
    }
    params_share(set);
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        heed_param *const p = set->list[i];
        if (m->where[i] < 0) continue;
        heed_array a = *heed_safetensors_info(cx, m->file, m->where[i]);
        note_type(p, a.dtype);
        if (p->data == a.data) continue;
        a.data = m->file->list[m->where[i]]->bytes; /* aligned or not */
        copy_array(cx, &a, p);
    }
    return !heed_failed(cx);
}

static void let_go(heed_ctx *cx, heed_params *set) {
    heed_safetensors_close(set->file);
    heed_mem_free(cx, set->copied);
    heed_mem_free(cx, set->packed);
    for (int i = 0; i < set->n; i++) set->list[i]->packed = NULL;
    set->file = NULL, set->copied = NULL, set->packed = NULL;
    set->copied_size = set->mapped = 0;
}

bool params_map(heed_ctx *cx, heed_params *set, const char *path, struct params_file *f) {
    struct matched m;
    if (heed_failed(cx)) return false;
    if (!set || set->block || set->file)
        return heed_fail(cx, HEED_ERR_USAGE, "params: %s", set ? "allocated already" : "the set is NULL");
    f->mapped = true;
    if (!match_file(cx, set, path, f, &m)) return false;
    set->file = m.file;
    const bool placed = place(cx, set, &m, f);
    heed_mem_free(cx, m.where);
    if (placed) return true;
    let_go(cx, set);
    for (int i = 0; i < set->n; i++) set->list[i]->data = NULL;
    return false;
}

bool heed_params_map(heed_ctx *cx, heed_params *set, const char *path) {
    return params_map(cx, set, path, &(struct params_file){0});
}

size_t heed_params_mapped(const heed_params *set) { return set ? set->mapped : 0; }

bool heed_params_own(heed_ctx *cx, heed_params *set) {
    if (heed_failed(cx)) return false;
    if (!set || (!set->block && !set->file)) return heed_fail(cx, HEED_ERR_USAGE, "params: the set is not allocated");
    if (set->block) return true;
    float *const block = heed_mem_new(cx, (size_t)set->numbers * sizeof *block), *at = block;
    for (int i = 0; block && i < set->n; i++) {
        const heed_param *const p = set->list[i];
        if (p->target) continue;
        const heed_array a = {.name = p->name, .dtype = p->dtype, .rank = 1, .shape = {p->count}, .data = p->data};
        heed_array_to_f32(cx, &a, at, p->count);
        at += p->count;
    }
    if (heed_failed(cx)) {
        heed_mem_free(cx, block);
        return false;
    }
    let_go(cx, set);
    set->block = at = block;
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        if (p->target) continue;
        p->data = p->value = at;
        p->dtype = HEED_F32;
        at += p->count;
    }
    params_share(set);
    return true;
}
