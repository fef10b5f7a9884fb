/* What the tests of exact attention share: random tensors, ways to compare, and the golden cases. */
#ifndef TESTS_ATTENTION_TEST_H
#define TESTS_ATTENTION_TEST_H

#include "heed/attention.h"
#include "tensor/golden.h"

#include "attention/refused.h"

#define SHAPE(...)                                                                                                     \
    (int64_t[]) { __VA_ARGS__ }

/* (b,t,h,d) of normal numbers, the same for the same stream. */
static UNUSED heed_tensor *normals(heed_ctx *cx, uint64_t stream, int64_t b, int64_t t, int64_t h, int64_t d) {
    const int64_t n = b * t * h * d;
    float *x = malloc((size_t)n * sizeof(float) + 1);
    heed_random_normal(41, stream, 0, x, n);
    heed_tensor *made = heed_from_f32(cx, x, 4, SHAPE(b, t, h, d));
    free(x);
    return made;
}

/* To be freed; NULL when there is no tensor to read. */
static UNUSED float *copy_of(heed_ctx *cx, const heed_tensor *t) {
    if (!t) return NULL;
    float *x = malloc((size_t)heed_count(t) * sizeof(float) + 1);
    if (heed_copy_f32(cx, t, x, heed_count(t))) return x;
    free(x);
    return NULL;
}

/* The largest |a - b| / (1 + |b|); NaN when one of them is, or when they cannot be compared. 0: the same numbers. */
static UNUSED double apart(heed_ctx *cx, const heed_tensor *a, const heed_tensor *b) {
    float *x = copy_of(cx, a), *y = copy_of(cx, b);
    double most = x && y && heed_count(a) == heed_count(b) ? 0 : (double)NAN;
    for (int64_t i = 0; most == most && i < heed_count(a); i++) {
        const double error = fabs((double)x[i] - (double)y[i]) / (1 + fabs((double)y[i]));
        if (!(error <= most)) most = error;
    }
    free(x);
    free(y);
    return most;
}

static UNUSED bool same_bits(heed_ctx *cx, const heed_tensor *a, const heed_tensor *b) {
    float *x = copy_of(cx, a), *y = copy_of(cx, b);
    const bool same =
        x && y && heed_count(a) == heed_count(b) && memcmp(x, y, (size_t)heed_count(a) * sizeof(float)) == 0;
    free(x);
    free(y);
    return same;
}

/* ---- the golden cases ---- */

#define MAX_CASES 96

static heed_ctx *files;
static heed_safetensors *store;
static heed_json list;
static struct golden_case cases[MAX_CASES];
static int n_cases;

static const heed_array *array_of(const char *name, const char *part, int i) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s%d", name, part, i);
    const int64_t at = heed_safetensors_find(files, store, key);
    return at < 0 ? NULL : heed_safetensors_get(files, store, at);
}

static UNUSED int open_cases(void **state) {
    (void)state;
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/attention/attention.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden");
    files = heed_open(&(heed_config){.threads = 1});
    store = heed_safetensors_open(files, path);
    const char *text = store ? heed_safetensors_metadata(files, store, "list") : NULL;
    if (!text) return -1;
    list = heed_json_parse(files, path, text, strlen(text));
    const heed_json all = heed_json_array(files, list, "cases");
    for (heed_json v = heed_json_first(all); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        if (n_cases == MAX_CASES) return -1;
        struct golden_case *c = &cases[n_cases++];
        const char *name = heed_json_text(files, v, "name");
        *c = (struct golden_case){.op = heed_json_text(files, v, "op"),
                                  .attrs = {files, heed_json_object(files, v, "attr")},
                                  .n_in = (int)heed_json_int(files, v, "in"),
                                  .n_out = 1,
                                  .kink = heed_json_bool_or(files, v, "kink", false),
                                  .rtol = heed_json_number_or(files, v, "rtol", 2e-5),
                                  .atol = heed_json_number_or(files, v, "atol", 2e-6)};
        snprintf(c->name, sizeof c->name, "%s", name);
        for (int i = 0; i < c->n_in; i++) c->in[i] = array_of(name, "in", i), c->din[i] = array_of(name, "din", i);
        c->out[0] = array_of(name, "out", 0);
        c->dout[0] = array_of(name, "dout", 0);
    }
    return heed_failed(files) || n_cases < 60 ? -1 : 0;
}

static UNUSED int close_cases(void **state) {
    (void)state;
    heed_json_free(list);
    heed_safetensors_close(store);
    heed_close(files);
    return 0;
}

enum { Q, K, V, ADD, DISTANCE, KEEP, KEY_LENGTHS, QUERY_LENGTHS, QUERY_OFFSETS, KEY_OFFSETS, POSITIONS, TABLE };

static UNUSED heed_mask case_mask(const struct golden_case *c, heed_tensor *const *in) {
    const heed_json at = c->attrs.at;
    heed_mask m = {.keep = in[KEEP],
                   .add = in[ADD],
                   .key_lengths = in[KEY_LENGTHS],
                   .query_lengths = in[QUERY_LENGTHS],
                   .causal = heed_json_bool_or(files, at, "causal", false),
                   .offset = heed_json_int_or(files, at, "offset", 0),
                   .window = heed_json_int_or(files, at, "window", 0),
                   .block = heed_json_int_or(files, at, "block", 0)};
    m.windowed = m.window > 0;
    m.blocked = m.block > 0;
    return m;
}

/* rotary: room for what the options point to. */
static UNUSED heed_attention_opts case_opts(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in,
                                            heed_rotary_opts *rotary) {
    const heed_json at = c->attrs.at, turn = heed_json_find(files, at, "rotary"), t5 = heed_json_find(files, at, "t5");
    const bool turned = heed_json_kind_of(turn) == HEED_JSON_OBJECT;
    if (turned)
        *rotary = (heed_rotary_opts){.base = (float)heed_json_number_or(files, turn, "base", 0),
                                     .channels = heed_json_int_or(files, turn, "channels", 0),
                                     .interleaved = heed_json_bool_or(files, turn, "interleaved", false),
                                     .start = heed_json_int_or(files, turn, "start", 0),
                                     .positions = in[POSITIONS]};
    heed_attention_opts o = {.mask = case_mask(c, in),
                             .scale = (float)heed_json_number_or(files, at, "scale", 0),
                             .cap = (float)heed_json_number_or(files, at, "cap", 0),
                             .alibi = heed_json_bool_or(files, at, "alibi", false),
                             .distance_bias = in[DISTANCE],
                             .rotary = turned ? rotary : NULL,
                             .query_offsets = in[QUERY_OFFSETS],
                             .key_offsets = in[KEY_OFFSETS]};
    if (in[TABLE])
        o.distance_bias =
            heed_t5_bias(cx, in[TABLE], heed_dim(in[Q], 1), heed_dim(in[K], 1), o.mask.offset,
                         heed_json_bool(files, t5, "bidirectional"), heed_json_int(files, t5, "max_distance"));
    return o;
}

static UNUSED heed_tensor *run_case(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in) {
    heed_rotary_opts rotary;
    const heed_attention_opts o = case_opts(cx, c, in, &rotary);
    return heed_attention(cx, in[Q], in[K], in[V], &o);
}

#endif
