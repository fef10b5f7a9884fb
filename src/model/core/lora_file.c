/* adapter_model.safetensors of peft: "base_model.model." before the names of the matrices, and of what else was
 * trained. */
#include "io/text.h"
#include "model/core/lora.h"
#include <stdio.h>
#include <string.h>

#define PREFIX "base_model.model."

/* Names, as many as fit into a sentence. */
struct complaint {
    char text[700];
    size_t used;
    int n;
};

static void complain(struct complaint *c, const char *what, const char *name, const char *detail) {
    const size_t room = sizeof c->text - c->used;
    const int length =
        snprintf(c->text + c->used, room, "%s%s '%s'%s", c->n ? "; " : "", what, escaped(name).s, detail);
    c->n++;
    if (length >= 0 && (size_t)length < room)
        c->used += (size_t)length;
    else
        c->text[c->used] = 0; /* only whole names */
}

/* The place of a parameter in the file, whether or not its body's names have the family's base before them; or -1. */
static int64_t find(heed_ctx *cx, heed_safetensors *st, const heed_family *family, const char *name) {
    const size_t n = family->base ? strlen(family->base) : 0;
    const bool based = n > 0 && strncmp(name, family->base, n) == 0 && name[n] == '.';
    char text[3][600];
    snprintf(text[0], sizeof text[0], PREFIX "%s", name);
    snprintf(text[1], sizeof text[1], PREFIX "%s", based ? name + n + 1 : name);
    snprintf(text[2], sizeof text[2], PREFIX "%s%s%s", n && !based ? family->base : "", n && !based ? "." : "", name);
    for (int i = 0; i < 3; i++) {
        const int64_t at = heed_safetensors_find(cx, st, text[i]);
        if (at >= 0) return at;
    }
    return -1;
}

static bool same_shape(const heed_param *p, const heed_array *a, char detail[200]) {
    bool same = p->rank == a->rank;
    for (int i = 0; same && i < p->rank; i++) same = p->shape[i] == a->shape[i];
    if (p->rank == 2 && a->rank == 2)
        snprintf(detail, 200, " is (%lld,%lld), not (%lld,%lld)", (long long)a->shape[0], (long long)a->shape[1],
                 (long long)p->shape[0], (long long)p->shape[1]);
    else
        snprintf(detail, 200, " has another shape");
    return same;
}

static bool is_adapters(const heed_param *p) { return (p->lora || p->external) && heed_param_stored(p); }

/* Where every parameter of the adapter is; complains of everything at once. */
static void match(heed_ctx *cx, heed_safetensors *st, const heed_family *family, const heed_params *set, bool only_lora,
                  int64_t *where, bool *read, struct complaint *wrong) {
    char detail[200];
    for (int i = 0; i < heed_params_count(set) && !heed_failed(cx); i++) {
        const heed_param *const p = heed_params_at(set, i);
        where[i] = is_adapters(p) ? find(cx, st, family, p->name) : -1;
        if (!is_adapters(p)) continue;
        const heed_array *const a = where[i] >= 0 ? heed_safetensors_info(cx, st, where[i]) : NULL;
        if (where[i] >= 0) read[where[i]] = true;
        if (!a)
            complain(wrong, "missing", p->name, "");
        else if (!same_shape(p, a, detail))
            complain(wrong, "misshapen", p->name, detail);
    }
    for (int64_t i = 0; i < heed_safetensors_count(st) && !heed_failed(cx); i++) {
        const heed_array *const a = heed_safetensors_info(cx, st, i);
        if (a && !read[i] && !(only_lora && !strstr(a->name, ".lora_"))) complain(wrong, "unexpected", a->name, "");
    }
}

static bool fill(heed_ctx *cx, heed_safetensors *st, const heed_params *set, const int64_t *where) {
    for (int i = 0; i < heed_params_count(set) && !heed_failed(cx); i++) {
        heed_param *const p = heed_params_at(set, i);
        if (where[i] < 0) continue;
        const heed_array *const a = heed_safetensors_get(cx, st, where[i]);
        float *const to = p->value ? p->value : (float *)(uintptr_t)p->data; /* of a mapped set: a copy beside it */
        if (a) heed_array_to_f32(cx, a, to, p->count);
    }
    return !heed_failed(cx);
}

bool lora_load(heed_ctx *cx, const heed_family *family, heed_params *set, const char *dir, bool only_lora) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return false;
    if (!directory_has(dir, ADAPTER_WEIGHTS_FILE) && directory_has(dir, "adapter_model.bin"))
        return heed_fail(cx, HEED_ERR_FILE, "%s: holds adapter_model.bin, a Python pickle, and no %s", dir,
                         ADAPTER_WEIGHTS_FILE);
    if (!directory_path(cx, dir, ADAPTER_WEIGHTS_FILE, path)) return false;
    heed_safetensors *const st = heed_safetensors_open(cx, path);
    if (!st) return false;
    const size_t n = (size_t)heed_params_count(set), tensors = (size_t)heed_safetensors_count(st);
    int64_t *where = heed_mem_new(cx, (n + 1) * sizeof *where);
    bool *read = heed_mem_new(cx, tensors + 1);
    struct complaint wrong = {.n = 0};
    if (!heed_failed(cx)) {
        memset(read, 0, tensors + 1);
        match(cx, st, family, set, only_lora, where, read, &wrong);
    }
    if (wrong.n)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: an adapter of another model: %d name%s do%s not fit: %s", path, wrong.n,
                  wrong.n == 1 ? "" : "s", wrong.n == 1 ? "es" : "", wrong.text);
    if (!heed_failed(cx)) fill(cx, st, set, where);
    heed_mem_free(cx, where);
    heed_mem_free(cx, read);
    heed_safetensors_close(st);
    return !heed_failed(cx);
}

bool lora_save(heed_ctx *cx, const heed_params *set, const char *path) {
    const int count = heed_params_count(set);
    heed_array *arrays = heed_mem_new(cx, ((size_t)count + 1) * sizeof *arrays);
    heed_string names = {0};
    int64_t n = 0;
    for (int i = 0; arrays && i < count; i++) { /* first all names, since the string moves as it grows */
        const heed_param *const p = heed_params_at(set, i);
        if (!is_adapters(p)) continue;
        heed_string_put(cx, &names, PREFIX, strlen(PREFIX));
        heed_string_put(cx, &names, p->name, strlen(p->name) + 1);
    }
    const char *name = names.s;
    for (int i = 0; !heed_failed(cx) && i < count; i++) {
        const heed_param *const p = heed_params_at(set, i);
        if (!is_adapters(p)) continue;
        arrays[n] = (heed_array){.name = name, .dtype = HEED_F32, .rank = p->rank, .data = p->data};
        memcpy(arrays[n].shape, p->shape, sizeof p->shape);
        name += strlen(name) + 1;
        n++;
    }
    if (!heed_failed(cx)) heed_safetensors_write(cx, path, arrays, n, &(heed_pair){"format", "pt"}, 1);
    heed_mem_free(cx, arrays);
    heed_string_free(cx, &names);
    return !heed_failed(cx);
}
