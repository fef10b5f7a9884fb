/* Parameter sets written to files: in the types that they were read in, where these hold their numbers. */
#include "io/safetensors.h"
#include "nn/params.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Does the type hold the number? NaN stays what it was. */
static bool holds(heed_dtype dtype, float x) {
    if (dtype == HEED_I64) return x >= -0x1p63f && x < 0x1p63f && (float)(int64_t)x == x;
    const float back = dtype == HEED_BF16  ? heed_bf16_to_f32(heed_f32_to_bf16(x))
                       : dtype == HEED_F16 ? heed_f16_to_f32(heed_f32_to_f16(x))
                                           : x;
    return memcmp(&back, &x, sizeof x) == 0;
}

static bool all_hold(const heed_param *p) {
    if (p->dtype != HEED_F32 || p->stored == HEED_F32) return true;
    const float *const x = p->data;
    for (int64_t i = 0; i < p->count; i++)
        if (!holds(p->stored, x[i])) return false;
    return true;
}

bool params_as_stored(const heed_params *set, bool *narrow) {
    *narrow = false;
    bool all = true;
    for (int i = 0; i < set->n; i++) {
        const heed_param *const p = set->list[i];
        if (!heed_param_stored(p) || !params_narrow(p->stored)) continue;
        *narrow = true;
        all = all && all_hold(p);
    }
    return all;
}

/* The numbers of p in another type, in memory of their own. */
static void *converted(heed_ctx *cx, const heed_param *p, heed_dtype dtype) {
    void *const to = heed_mem_new(cx, params_bytes(p, dtype));
    const float *const x = p->data;
    if (!to || dtype == HEED_F32) {
        const heed_array a = {.name = p->name, .dtype = p->dtype, .rank = 1, .shape = {p->count}, .data = p->data};
        if (to) heed_array_to_f32(cx, &a, to, p->count);
        return to;
    }
    for (int64_t i = 0; i < p->count; i++)
        if (dtype == HEED_I64)
            ((int64_t *)to)[i] = (int64_t)x[i];
        else
            ((uint16_t *)to)[i] = dtype == HEED_BF16 ? heed_f32_to_bf16(x[i]) : heed_f32_to_f16(x[i]);
    return to;
}

/* Does the file hold it? That of a model beside is whole: it has what is tied to another model's too. */
static bool is_written(const heed_params *set, const heed_param *p, bool beside) {
    if (params_is_beside(set, p) != beside || p->lora) return false;
    return heed_param_stored(p) || (beside && p->kind == HEED_PARAM_TIED && !params_is_beside(set, p->target));
}

static bool save_file(heed_ctx *cx, const heed_params *set, const char *path, bool beside) {
    bool narrow;
    heed_array *arrays = heed_mem_new(cx, (size_t)set->n * sizeof *arrays);
    if (!arrays) return false;
    const bool as_stored = params_as_stored(set, &narrow);
    int64_t n = 0;
    for (int i = 0; i < set->n && !heed_failed(cx); i++) {
        const heed_param *p = set->list[i];
        if (!is_written(set, p, beside)) continue;
        const bool whole = p->stored == HEED_I64 && all_hold(p);
        const heed_dtype dtype = whole || (as_stored && params_narrow(p->stored)) ? p->stored : HEED_F32;
        arrays[n] = (heed_array){.name = params_own_name(set, p), .dtype = dtype, .rank = p->rank, .data = p->data};
        memcpy(arrays[n].shape, p->shape, sizeof p->shape);
        if (dtype != p->dtype) arrays[n].data = converted(cx, p, dtype);
        n++;
    }
    heed_safetensors_write(cx, path, arrays, n, &(heed_pair){"format", "pt"}, 1);
    for (int i = 0, k = 0; i < set->n && k < n; i++)
        if (is_written(set, set->list[i], beside) && arrays[k++].data != set->list[i]->data)
            heed_mem_free(cx, (void *)(uintptr_t)arrays[k - 1].data);
    heed_mem_free(cx, arrays);
    return !heed_failed(cx);
}

/* dir/FILE -> dir/generator/FILE, where there is such a directory from now on */
static bool path_beside(heed_ctx *cx, const heed_params *set, const char *path, char out[4096]) {
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path;
    const int dir = snprintf(out, 4096, "%.*s%s", (int)(file - path), path, set->beside);
    if (dir < 0 || dir >= 4096) return heed_fail(cx, HEED_ERR_FILE, "%s: the path is too long", path);
    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return heed_fail(cx, HEED_ERR_FILE, "%s: cannot be made: %s", out, strerror(errno));
    if (snprintf(out + dir, (size_t)(4096 - dir), "/%s", file) >= 4096 - dir)
        return heed_fail(cx, HEED_ERR_FILE, "%s: the path is too long", path);
    return true;
}

bool heed_params_save(heed_ctx *cx, const heed_params *set, const char *path) {
    char other[4096];
    if (heed_failed(cx)) return false;
    if (!set || (!set->block && !set->file)) return heed_fail(cx, HEED_ERR_USAGE, "params: the set is not allocated");
    if (set->beside && !(path_beside(cx, set, path, other) && save_file(cx, set, other, true))) return false;
    return save_file(cx, set, path, false);
}
