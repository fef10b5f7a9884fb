/* Reading the golden files, and the steps that the tests of all ops share. */
#include "tensor/golden.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

#define MAX_FILES 32

static struct {
    heed_ctx *cx;
    heed_safetensors *files[MAX_FILES];
    heed_json lists[MAX_FILES];
    int n_files;
    struct golden all;
} golden;

static const heed_array *array_of(heed_safetensors *st, const char *name, const char *part, int i) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s%d", name, part, i);
    const int64_t at = heed_safetensors_find(golden.cx, st, key);
    return at < 0 ? NULL : heed_safetensors_get(golden.cx, st, at);
}

static void read_case(struct golden_case *c, heed_safetensors *st, heed_json at, const char *family) {
    heed_ctx *cx = golden.cx;
    const char *name = heed_json_text(cx, at, "name");
    *c = (struct golden_case){.op = heed_json_text(cx, at, "op"),
                              .attrs = {cx, heed_json_object(cx, at, "attr")},
                              .n_in = (int)heed_json_int(cx, at, "in"),
                              .n_out = (int)heed_json_int(cx, at, "out"),
                              .kink = heed_json_bool_or(cx, at, "kink", false),
                              .rtol = heed_json_number_or(cx, at, "rtol", 2e-5),
                              .atol = heed_json_number_or(cx, at, "atol", 2e-6)};
    snprintf(c->name, sizeof c->name, "%s/%s", family, name);
    if (c->n_in > MAX_CASE_IN || c->n_out > MAX_OP_OUT) heed_json_fail(cx, at, "too many tensors");
    if (heed_failed(cx)) return;
    for (int i = 0; i < c->n_in; i++) {
        c->in[i] = array_of(st, name, "in", i);
        c->din[i] = array_of(st, name, "din", i);
    }
    for (int j = 0; j < c->n_out; j++) {
        c->out[j] = array_of(st, name, "out", j);
        c->dout[j] = array_of(st, name, "dout", j);
        if (!c->out[j]) heed_json_fail(cx, at, "output %d is missing", j);
    }
}

static void read_large(struct large_case *l, heed_json at, const char *family, int i) {
    heed_ctx *cx = golden.cx;
    *l = (struct large_case){.op = heed_json_text(cx, at, "op"), .attrs = {cx, heed_json_object(cx, at, "attr")}};
    snprintf(l->name, sizeof l->name, "%s/large %d %s", family, i, l->op);
    const heed_json in = heed_json_array(cx, at, "in");
    if (heed_json_count(in) > MAX_CASE_IN) heed_json_fail(cx, at, "too many inputs");
    for (heed_json v = heed_json_first(in); !heed_failed(cx) && heed_json_kind_of(v) != HEED_JSON_NONE;
         v = heed_json_next(v)) {
        struct large_input *x = &l->in[l->n_in++];
        if (heed_json_kind_of(v) == HEED_JSON_NULL) continue;
        snprintf(x->kind, sizeof x->kind, "%s", heed_json_text(cx, v, "kind"));
        x->below = heed_json_int_or(cx, v, "below", 0);
        const heed_json shape = heed_json_array(cx, v, "shape");
        for (; x->rank < heed_json_count(shape) && x->rank < HEED_MAX_RANK; x->rank++)
            x->shape[x->rank] = heed_json_int(cx, heed_json_item(cx, shape, x->rank), NULL);
    }
}

bool golden_is_whole(void) { return !getenv("HEED_OP"); }

static bool is_asked_for(heed_json at) {
    const char *only = getenv("HEED_OP");
    return !only || strcmp(only, heed_json_text(golden.cx, at, "op")) == 0;
}

static void read_file(const char *directory, const char *file) {
    heed_ctx *cx = golden.cx;
    char path[1200], family[64];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    snprintf(family, sizeof family, "%.*s", (int)strcspn(file, "."), file);
    heed_safetensors *st = golden.files[golden.n_files] = heed_safetensors_open(cx, path);
    const char *text = st ? heed_safetensors_metadata(cx, st, "list") : NULL;
    if (!text) return;
    const heed_json list = golden.lists[golden.n_files++] = heed_json_parse(cx, path, text, strlen(text));
    const heed_json cases = heed_json_array(cx, list, "cases"), larges = heed_json_array(cx, list, "large");
    if (heed_failed(cx)) return;

    struct golden *all = &golden.all;
    const size_t n = (size_t)(all->n + heed_json_count(cases)), m = (size_t)(all->n_large + heed_json_count(larges));
    all->cases = realloc(all->cases, (n + 1) * sizeof *all->cases);
    all->larges = realloc(all->larges, (m + 1) * sizeof *all->larges);
    for (heed_json v = heed_json_first(cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        if (is_asked_for(v)) read_case(&all->cases[all->n++], st, v, family);
    int i = 0;
    for (heed_json v = heed_json_first(larges); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v), i++)
        if (is_asked_for(v)) read_large(&all->larges[all->n_large++], v, family, i);
}

static int is_golden(const struct dirent *e) { return strstr(e->d_name, ".safetensors") != NULL; }

const struct golden *golden_open(void) {
    if (golden.cx) return &golden.all;
    golden.cx = heed_open(&(heed_config){.threads = 1});
    const char *root = getenv("HEED_GOLDEN");
    char directory[900];
    snprintf(directory, sizeof directory, "%s/ops", root ? root : HEED_SOURCE_DIR "/tests/golden");
    struct dirent **found = NULL;
    const int n = scandir(directory, &found, is_golden, alphasort);
    for (int i = 0; i < n; i++) {
        if (golden.n_files < MAX_FILES && !heed_failed(golden.cx)) read_file(directory, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    if (heed_failed(golden.cx)) golden_wrong("golden", "%s", heed_message(golden.cx));
    if (golden.all.n == 0)
        golden_wrong("golden", "no cases%s%s in %s", golden_is_whole() ? "" : " of op ",
                     golden_is_whole() ? "" : getenv("HEED_OP"), directory);
    return &golden.all;
}

void golden_close(void) {
    for (int i = 0; i < golden.n_files; i++) {
        heed_json_free(golden.lists[i]);
        heed_safetensors_close(golden.files[i]);
    }
    free(golden.all.cases);
    free(golden.all.larges);
    heed_close(golden.cx);
    memset(&golden, 0, sizeof golden);
}

/* ---- what is wrong ---- */

static int wrongs;

bool golden_wrong(const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "wrong: %s: ", name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    wrongs++;
    return false;
}

int golden_wrongs(void) {
    const int n = wrongs;
    wrongs = 0;
    return n;
}

/* ---- tensors of a case ---- */

const heed_op *golden_op(const char *name) {
    for (int i = 0; all_ops[i]; i++)
        if (strcmp(all_ops[i]->name, name) == 0) return all_ops[i];
    return NULL;
}

bool golden_has_gradient(const struct golden_case *c) {
    for (int i = 0; i < c->n_in; i++)
        if (c->din[i]) return true;
    return false;
}

heed_tensor *golden_leaf(heed_ctx *cx, const heed_array *a, bool want_grad) {
    heed_tensor *t = heed_zeros(cx, a->dtype, a->rank, a->shape);
    if (t && heed_count(t) > 0 && !cx->config.dry)
        memcpy(t->data, a->data, (size_t)heed_count(t) * heed_dtype_size(a->dtype));
    return want_grad ? heed_want_grad(cx, t) : t;
}

bool golden_leaves(heed_ctx *cx, const struct golden_case *c, heed_tensor **in) {
    for (int i = 0; i < c->n_in; i++) in[i] = c->in[i] ? golden_leaf(cx, c->in[i], c->din[i] != NULL) : NULL;
    return !heed_failed(cx);
}

void golden_slots_new(const struct golden_case *c, struct golden_slots *s) {
    *s = (struct golden_slots){0};
    for (int i = 0; i < c->n_in; i++) {
        if (!c->din[i]) continue;
        const size_t n = (size_t)heed_array_count(c->in[i]);
        s->slot[i].data = malloc((n + 1) * sizeof(float));
        for (size_t k = 0; k < n; k++) s->slot[i].data[k] = NAN; /* an unfilled slot is written, not added to */
    }
}

void golden_slots_free(struct golden_slots *s) {
    for (int i = 0; i < MAX_CASE_IN; i++) free(s->slot[i].data);
}

bool golden_parameters(heed_ctx *cx, const struct golden_case *c, struct golden_slots *s, heed_tensor **in) {
    for (int i = 0; i < c->n_in; i++) {
        const heed_array *a = c->in[i];
        in[i] = a ? heed_borrow(cx, a->dtype, a->data, a->rank, a->shape, c->din[i] ? &s->slot[i] : NULL) : NULL;
    }
    return !heed_failed(cx);
}

/* ---- steps ---- */

bool golden_run(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in, heed_tensor **out) {
    int n = 0;
    const bool ok = run_op(cx, c->op, c->attrs, in, c->n_in, out, &n);
    if (heed_failed(c->attrs.cx)) {
        golden_wrong(c->name, "%s", heed_message(c->attrs.cx));
        heed_clear(c->attrs.cx);
        return false;
    }
    if (!ok || heed_failed(cx)) return golden_wrong(c->name, "failed: %s", heed_message(cx));
    if (n != c->n_out) return golden_wrong(c->name, "%d outputs, not %d", n, c->n_out);
    return true;
}

bool golden_back(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *out) {
    heed_tensor *loss = NULL;
    for (int j = 0; j < c->n_out; j++) {
        if (!c->dout[j]) continue;
        heed_tensor *dy = golden_leaf(cx, c->dout[j], false);
        if (c->n_out == 1) return heed_backward_from(cx, out[j], dy) || golden_wrong(c->name, "%s", heed_message(cx));
        heed_tensor *part = heed_sum(cx, heed_mul(cx, out[j], dy), NULL, 0, false);
        loss = loss ? heed_add(cx, loss, part) : part;
    }
    return heed_backward(cx, loss) || golden_wrong(c->name, "%s", heed_message(cx));
}

bool golden_close_to(const struct golden_case *c, const char *what, const float *got, const heed_array *want,
                     double times) {
    const int64_t n = heed_array_count(want);
    const float *numbers = want->data;
    for (int64_t i = 0; i < n; i++) {
        const double w = times * (double)numbers[i], g = (double)got[i], error = fabs(g - w);
        if ((isnan(w) && isnan(g)) || g == w) continue;
        if (!(error <= c->atol * fabs(times) + c->rtol * fabs(w)))
            return golden_wrong(c->name, "%s: %.9g at place %lld of %lld, not %.9g", what, g, (long long)i,
                                (long long)n, w);
    }
    return true;
}

static bool has_shape(const heed_tensor *t, const heed_array *a) {
    if (heed_rank(t) != a->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (heed_shape(t)[i] != a->shape[i]) return false;
    return true;
}

bool golden_matches(heed_ctx *cx, const struct golden_case *c, const char *what, const heed_tensor *got,
                    const heed_array *want) {
    if (!got) return golden_wrong(c->name, "%s: nothing", what);
    if (heed_type(got) != want->dtype || !has_shape(got, want))
        return golden_wrong(c->name, "%s: %s of shape %s instead of %s", what, heed_dtype_name(heed_type(got)),
                            heed_shape_text(got).s, heed_dtype_name(want->dtype));
    const int64_t n = heed_count(got);
    const size_t bytes = (size_t)n * heed_dtype_size(want->dtype);
    bool ok = true;
    if (want->dtype == HEED_F32) {
        float *numbers = malloc(bytes + 1);
        ok = heed_copy_f32(cx, got, numbers, n) ? golden_close_to(c, what, numbers, want, 1)
                                                : golden_wrong(c->name, "%s: %s", what, heed_message(cx));
        free(numbers);
    } else {
        const heed_tensor *whole = heed_contiguous(cx, (heed_tensor *)(uintptr_t)got);
        const void *numbers = want->dtype == HEED_I32 ? (const void *)heed_i32(whole) : (const void *)heed_u8(whole);
        if (n > 0 && (!numbers || memcmp(numbers, want->data, bytes) != 0))
            ok = golden_wrong(c->name, "%s: other integers", what);
    }
    return ok;
}
