/* heed against the Python that saved them: every directory below tests/golden/model, whatever its family.
 *
 * A directory holds a model and case.safetensors (tests/oracle/golden.py): inputs in.NAME, outputs out.NAME and the
 * gradient of every parameter, grad.NAME. Everything is compared, and what every model promises is checked: the same
 * bits for any number of threads and after saving and loading, and a dry run that tells the memory. A new family is one
 * more directory; a head without one fails. HEED_ONLY='bert-*' in the environment chooses directories by a pattern. */
#include "heed/attention.h"
#include "heed/generate.h"
#include "heed/graph.h"
#include "io/io_test.h"
#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

enum { MAX_CASES = 1000 };
static char *cases[MAX_CASES];
static int n_cases;

static const char *path_of(const char *name, const char *file) {
    static char path[2][800];
    static int turn;
    char *to = path[turn++ % 2];
    snprintf(to, sizeof path[0], "%s/model/%s%s%s", getenv("HEED_GOLDEN"), name, *file ? "/" : "", file);
    return to;
}

static const char *chosen(void) { /* NULL: all */
    const char *const only = getenv("HEED_ONLY");
    return only && *only ? only : NULL;
}

static int is_directory(const struct dirent *entry) {
    struct stat is;
    if (chosen() && fnmatch(chosen(), entry->d_name, 0) != 0) return 0;
    return entry->d_name[0] != '.' && stat(path_of(entry->d_name, ""), &is) == 0 && S_ISDIR(is.st_mode);
}

static int open_cases(void **state) {
    struct dirent **entries;
    const int n = scandir(path_of("", ""), &entries, is_directory, alphasort);
    for (int i = 0; i < n; i++) {
        if (n_cases < MAX_CASES) cases[n_cases++] = strdup(entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    if (n == 0 && chosen()) print_error("HEED_ONLY: no golden directory is called '%s'\n", chosen());
    if (n == 0) return -1;
    return n == n_cases ? make_folder(state) : -1;
}

static int close_cases(void **state) {
    for (int i = 0; i < n_cases; i++) free(cases[i]);
    return wipe_folder(state);
}

/* ---- a case ---- */

struct golden {
    const char *name;
    heed_ctx *cx;
    heed_safetensors *file; /* case.safetensors */
    heed_model *model;
    heed_io in, out;
    heed_tensor *grad_output;
    heed_grad *slots;
    float *block; /* all gradients */
};

static void check(const struct golden *g, bool right, const char *what) {
    if (!right) fail_msg("%s: %s: %s", g->name, what, heed_message(g->cx));
}

/* NULL when the file lacks it */
static const heed_array *stored(const struct golden *g, const char *prefix, const char *name) {
    char full[300];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const int64_t at = heed_safetensors_find(g->cx, g->file, full);
    return at < 0 ? NULL : heed_safetensors_get(g->cx, g->file, at);
}

static heed_tensor *tensor_of(heed_ctx *cx, const heed_array *a) {
    if (a->dtype == HEED_F32) return heed_from_f32(cx, a->data, a->rank, a->shape);
    if (a->dtype == HEED_I64) return heed_from_i64(cx, a->data, a->rank, a->shape);
    return a->dtype == HEED_I32 ? heed_from_i32(cx, a->data, a->rank, a->shape)
                                : heed_from_u8(cx, a->data, a->rank, a->shape);
}

static void put_inputs(struct golden *g) {
    for (int64_t i = 0; i < heed_safetensors_count(g->file); i++) {
        const heed_array *a = heed_safetensors_get(g->cx, g->file, i);
        if (strcmp(a->name, "in.grad_output") == 0)
            g->grad_output = tensor_of(g->cx, a);
        else if (strncmp(a->name, "in.", 3) == 0)
            heed_io_put(g->cx, &g->in, a->name + 3, tensor_of(g->cx, a));
    }
    check(g, g->in.n > 0 && !heed_failed(g->cx), "inputs");
}

/* dir: where the model is; NULL: in the golden directory */
static void open_golden(struct golden *g, const char *name, const char *dir, int threads, bool dry) {
    *g = (struct golden){.name = name, .cx = heed_open(&(heed_config){.threads = threads, .dry = dry})};
    g->file = heed_safetensors_open(g->cx, path_of(name, "case.safetensors"));
    check(g, g->file, "case.safetensors");
    g->model = heed_model_load(g->cx, dir ? dir : path_of(name, ""));
    check(g, g->model, "load");
    const heed_params *params = heed_model_params(g->model);
    g->slots = calloc((size_t)heed_params_count(params), sizeof *g->slots);
    g->block = calloc((size_t)heed_params_size(params) + 1, sizeof *g->block);
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        if (!p->target) g->slots[i].data = g->block + (p->value - heed_params_block(params));
    }
    heed_bind(g->cx, params, g->slots);
    put_inputs(g);
}

static void close_golden(struct golden *g) {
    heed_capture_end(g->cx);
    heed_reset(g->cx);
    heed_bind(g->cx, NULL, NULL);
    heed_safetensors_close(g->file);
    heed_model_free(g->cx, g->model);
    check(g, !heed_failed(g->cx), "close");
    heed_close(g->cx);
    free(g->slots);
    free(g->block);
}

static void forward(struct golden *g) {
    g->out = (heed_io){0};
    check(g, heed_model_forward(g->cx, g->model, &g->in, &g->out), "forward");
}

static void backward(struct golden *g) {
    static const char *const names[] = {
        "logits", "action_preds", "sample", "last_hidden_state", "prediction_logits", "start_logits"};
    heed_tensor *y = heed_io_get(&g->out, "loss"), *dy = g->grad_output;
    for (int i = 0; i < g->out.n; i++) heed_keep(g->cx, g->out.tensor[i]);
    if (y)
        check(g, !heed_wants_grad(y) || heed_backward(g->cx, y), "backward");
    else {
        for (size_t i = 0; !y && i < sizeof names / sizeof *names; i++) y = heed_io_get(&g->out, names[i]);
        check(g, y && dy, "neither loss nor grad_output");
        check(g, heed_backward_from(g->cx, y, dy), "backward");
    }
}

/* ---- against Python ---- */

static double largest(const heed_array *a) {
    double most = 0;
    for (int64_t i = 0; i < heed_array_count(a); i++) most = fmax(most, fabs((double)((const float *)a->data)[i]));
    return most;
}

/* Each number within 1e-4 of itself, 1e-5 of the tensor's largest and `floor`. */
static void near(const struct golden *g, const heed_array *want, int rank, const int64_t *shape, const float *got,
                 double floor) {
    const float *x = want->data;
    const double slack = 1e-5 * largest(want) + floor;
    if (want->dtype != HEED_F32 || want->rank != rank ||
        memcmp(want->shape, shape, (size_t)rank * sizeof *shape) != 0 || !got)
        fail_msg("%s: %s: another shape than Python's, or not there", g->name, want->name);
    for (int64_t i = 0; i < heed_array_count(want); i++)
        if (!(fabs((double)got[i] - (double)x[i]) <= 1e-4 * fabs((double)x[i]) + slack))
            fail_msg("%s: %s[%lld] = %.9g, not %.9g", g->name, want->name, (long long)i, (double)got[i], (double)x[i]);
}

/* The map that an output "encoder_attentions.2" or "attentions.2" is, or NULL. */
static const heed_capture_map *map_of(const struct golden *g, const char *name) {
    for (int i = 0; i < heed_capture_count(g->cx); i++) {
        const heed_capture_map *m = heed_capture_at(g->cx, i);
        char called[2][80];
        snprintf(called[0], sizeof called[0], "%s_attentions.%d", m->site, m->layer);
        snprintf(called[1], sizeof called[1], "attentions.%d", m->layer);
        if (strcmp(called[strcmp(m->site, "attention") == 0], name) == 0) return m;
    }
    return NULL;
}

/* "attentions.2" and "attention_edges.2" of a graph: is it one of these? */
static bool near_edges(const struct golden *g, const heed_array *want, const char *name) {
    for (int i = 0; i < heed_capture_edges_count(g->cx); i++) {
        const heed_captured_edges *const e = heed_capture_edges_at(g->cx, i);
        char called[2][80];
        snprintf(called[0], sizeof called[0], "attentions.%d", e->layer);
        snprintf(called[1], sizeof called[1], "attention_edges.%d", e->layer);
        if (strcmp(called[0], name) == 0) {
            near(g, want, 2, (int64_t[]){e->edges, e->heads}, e->weights, 0);
            return true;
        }
        if (strcmp(called[1], name) != 0) continue;
        int32_t *const edges = malloc((size_t)heed_array_count(want) * sizeof *edges + 1);
        assert_int_equal(heed_array_count(want), 2 * e->edges);
        check(g, heed_array_to_i32(g->cx, want, edges, 2 * e->edges), name);
        assert_memory_equal(edges, e->from, (size_t)(2 * e->edges) * sizeof *edges);
        free(edges);
        return true;
    }
    return false;
}

/* All that Python gave, and nothing that it did not. */
static void check_outputs(const struct golden *g) {
    int tensors = 0, maps = 0, edges = 0;
    for (int64_t i = 0; i < heed_safetensors_count(g->file); i++) {
        const heed_array *want = heed_safetensors_get(g->cx, g->file, i);
        if (strncmp(want->name, "out.", 4) != 0) continue;
        heed_tensor *t = heed_io_get(&g->out, want->name + 4);
        const heed_capture_map *m = t ? NULL : map_of(g, want->name + 4);
        const bool of_edges = !t && !m && near_edges(g, want, want->name + 4);
        if (!t && !m && !of_edges) fail_msg("%s: heed does not give %s", g->name, want->name);
        if (t) near(g, want, heed_rank(t), heed_shape(t), heed_f32(heed_contiguous(g->cx, t)), 0);
        if (m && m->chunk)
            near(g, want, 5, (int64_t[]){m->batch, m->heads, m->rows / m->chunk, m->chunk, m->keys}, m->weights, 0);
        else if (m)
            near(g, want, 4, (int64_t[]){m->batch, m->heads, m->rows, m->keys}, m->weights, 0);
        tensors += t != NULL;
        maps += m != NULL;
        edges += of_edges;
    }
    if (edges != 2 * heed_capture_edges_count(g->cx))
        fail_msg("%s: Python gave %d attentions of edges", g->name, edges);
    if (tensors != g->out.n || maps != heed_capture_count(g->cx))
        fail_msg("%s: %d outputs and %d attention maps, of which Python gave %d and %d", g->name, g->out.n,
                 heed_capture_count(g->cx), tensors, maps);
}

/* Every parameter that is trained; one that Python has no gradient of is not reached, so its gradient is zero. */
static void check_gradients(const struct golden *g) {
    const heed_params *params = heed_model_params(g->model);
    double most = 0;
    int64_t given = 0;
    for (int64_t i = 0; i < heed_safetensors_count(g->file); i++) {
        const heed_array *a = heed_safetensors_get(g->cx, g->file, i);
        if (strncmp(a->name, "grad.", 5) != 0) continue;
        given++;
        most = fmax(most, largest(a));
    }
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        const heed_array *want = stored(g, "grad.", p->name);
        if (p->frozen || !heed_param_stored(p)) continue;
        const float *got = g->block + (p->value - heed_params_block(params));
        if (want) near(g, want, p->rank, p->shape, got, 1e-6 * most);
        for (int64_t k = 0; !want && k < p->count; k++)
            if (got[k] != 0) fail_msg("%s: %s has a gradient, and none in Python", g->name, p->name);
        given -= want != NULL;
    }
    if (given) fail_msg("%s: Python has gradients of %lld parameters more", g->name, (long long)given);
}

static void test_results(void **state) {
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        struct golden g;
        open_golden(&g, cases[i], NULL, 2, false);
        check(&g, heed_capture_begin(g.cx, NULL), "capture");
        forward(&g);
        backward(&g);
        check_outputs(&g);
        check_gradients(&g);
        close_golden(&g);
    }
}

/* A loss alone is the same loss; it may be computed another way. */
static void test_loss_only(void **state) {
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        struct golden g;
        open_golden(&g, cases[i], NULL, 1, false);
        const heed_array *want = stored(&g, "out.", "loss");
        if (want) {
            g.in.loss_only = true;
            forward(&g);
            backward(&g);
            const heed_tensor *loss = heed_io_get(&g.out, "loss");
            near(&g, want, heed_rank(loss), heed_shape(loss), heed_f32(loss), 0);
            check_gradients(&g);
        }
        close_golden(&g);
    }
}

/* ---- the same bits ---- */

/* All outputs and all gradients, one after the other. */
struct bits {
    float *numbers;
    int64_t n;
};

/* All outputs, and room for so many numbers more. */
static struct bits bits_of(struct golden *g, int64_t more) {
    struct bits b = {.n = more};
    for (int i = 0; i < g->out.n; i++) b.n += heed_count(g->out.tensor[i]);
    float *at = b.numbers = malloc((size_t)b.n * sizeof(float));
    for (int i = 0; i < g->out.n; at += heed_count(g->out.tensor[i++]))
        check(g, heed_copy_f32(g->cx, g->out.tensor[i], at, heed_count(g->out.tensor[i])), "outputs");
    return b;
}

static struct bits all_bits(struct golden *g) {
    forward(g);
    backward(g);
    const int64_t weights = heed_params_size(heed_model_params(g->model));
    struct bits b = bits_of(g, weights);
    memcpy(b.numbers + b.n - weights, g->block, (size_t)weights * sizeof(float));
    return b;
}

/* The outputs of a model that is only run. */
static struct bits outputs_of(struct golden *g) {
    forward(g);
    return bits_of(g, 0);
}

static void check_same(struct golden *g, struct bits want, const char *when) {
    const struct bits b = all_bits(g);
    if (b.n != want.n || memcmp(b.numbers, want.numbers, (size_t)b.n * sizeof(float)) != 0)
        fail_msg("%s: other bits %s", g->name, when);
    free(b.numbers);
}

static void test_threads(void **state) {
    (void)state;
    static const int counts[] = {2, 3, 8};
    for (int i = 0; i < n_cases; i++) {
        struct golden one, more;
        open_golden(&one, cases[i], NULL, 1, false);
        const struct bits first = all_bits(&one);
        for (int k = 0; k < 3; k++) {
            open_golden(&more, cases[i], NULL, counts[k], false);
            check_same(&more, first, "with more threads");
            close_golden(&more);
        }
        close_golden(&one);
        free(first.numbers);
    }
}

/* ---- saved and opened again ---- */

/* Loading is strict, so a name in a file that is not a parameter's is one that can be computed: sine positions. */
static void check_files(const struct golden *g, const char *dir) {
    heed_safetensors *given = heed_safetensors_open(g->cx, path_of(g->name, "")),
                     *written = heed_safetensors_open(g->cx, dir);
    check(g, given && written, "weights");
    int64_t left = heed_safetensors_count(written);
    for (int64_t i = 0; i < heed_safetensors_count(given); i++) {
        const heed_array *a = heed_safetensors_get(g->cx, given, i);
        const int64_t at = heed_safetensors_find(g->cx, written, a->name);
        if (at < 0 && !heed_params_find(heed_model_params(g->model), a->name)) continue;
        if (at < 0) fail_msg("%s: %s is not saved", g->name, a->name);
        const heed_array *b = heed_safetensors_get(g->cx, written, at);
        if (a->dtype != b->dtype || a->rank != b->rank || memcmp(a->shape, b->shape, sizeof a->shape) != 0 ||
            memcmp(a->data, b->data, (size_t)heed_array_count(a) * heed_dtype_size(a->dtype)) != 0)
            fail_msg("%s: %s is saved otherwise", g->name, a->name);
        left--;
    }
    if (left) fail_msg("%s: %lld tensors are saved that Python has not", g->name, (long long)left);
    heed_safetensors_close(given);
    heed_safetensors_close(written);
    char path[600];
    snprintf(path, sizeof path, "%s/config.json", dir);
    const heed_json before = heed_json_open(g->cx, path_of(g->name, "config.json")),
                    after = heed_json_open(g->cx, path);
    for (heed_json key = heed_json_first(before); heed_json_kind_of(key) != HEED_JSON_NONE; key = heed_json_next(key)) {
        if (strcmp(key.key, "use_tpu_fourier_optimizations") == 0) continue; /* FNet's matrices, which are not saved */
        char *one = heed_json_print(g->cx, key, 0, NULL);
        char *two = heed_json_print(g->cx, heed_json_find(g->cx, after, key.key), 0, NULL);
        if (!one || !two || strcmp(one, two) != 0)
            fail_msg("%s: %s was %s in config.json, and is saved as %s", g->name, key.key, one, two ? two : "nothing");
        heed_mem_free(g->cx, one);
        heed_mem_free(g->cx, two);
    }
    heed_json_free(before);
    heed_json_free(after);
}

static void test_reload(void **state) {
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        struct golden g, again;
        char dir[512];
        snprintf(dir, sizeof dir, "%s", in_folder(cases[i]));
        open_golden(&g, cases[i], NULL, 1, false);
        const struct bits first = all_bits(&g);
        check(&g, heed_model_save(g.cx, g.model, dir), "save");
        check_files(&g, dir);
        open_golden(&again, cases[i], dir, 1, false);
        check_same(&again, first, "after saving and loading");
        assert_ptr_equal(heed_model_head(again.model), heed_model_head(g.model));
        close_golden(&again);
        close_golden(&g);
        free(first.numbers);
    }
}

/* ---- mapped ---- */

/* Batch norms, which a model that is only run folds into the products before them: the same but for rounding. */
static bool has_running(const struct golden *g) {
    const heed_params *const set = heed_model_params(g->model);
    for (int i = 0; i < heed_params_count(set); i++)
        if (strstr(heed_params_at(set, i)->name, "running_mean")) return true;
    return false;
}

static void check_tensors(const struct golden *g) {
    for (int64_t i = 0; i < heed_safetensors_count(g->file); i++) {
        const heed_array *const want = heed_safetensors_get(g->cx, g->file, i);
        heed_tensor *const t = strncmp(want->name, "out.", 4) == 0 ? heed_io_get(&g->out, want->name + 4) : NULL;
        if (t) near(g, want, heed_rank(t), heed_shape(t), heed_f32(heed_contiguous(g->cx, t)), 0);
    }
}

/* The weights read from the file, in the types that it has. */
static void check_mapped(const char *name, const char *dir) {
    struct golden own, g;
    open_golden(&own, name, dir, 1, false);
    const bool folds = has_running(&own);
    if (folds) heed_set_grad(own.cx, false);
    const struct bits want = folds ? outputs_of(&own) : all_bits(&own);
    if (folds && !dir) check_tensors(&own);
    g = (struct golden){.name = name, .cx = heed_open(&(heed_config){.threads = 1})};
    g.file = heed_safetensors_open(g.cx, path_of(name, "case.safetensors"));
    g.model = heed_model_load_as(g.cx, dir ? dir : path_of(name, ""), &(heed_load_opts){.map = true, .pack = true});
    check(&g, g.model, "map");
    put_inputs(&g);
    forward(&g);
    const float *at = want.numbers;
    for (int i = 0; i < g.out.n; at += heed_count(g.out.tensor[i++])) {
        const heed_tensor *t = heed_contiguous(g.cx, g.out.tensor[i]);
        if (memcmp(heed_f32(t), at, (size_t)heed_count(t) * sizeof(float)) != 0)
            fail_msg("%s: %s has other bits when the weights are mapped and packed", name, g.out.name[i]);
    }
    check(&g, heed_model_save(g.cx, g.model, in_folder("mapped")), "save");
    if (!dir) check_files(&g, in_folder("mapped"));
    heed_reset(g.cx);
    heed_params *set = heed_model_params(g.model);
    check(&g, heed_params_own(g.cx, set) && heed_params_mapped(set) == 0, "own");
    assert_memory_equal(heed_params_block(set), heed_params_block(heed_model_params(own.model)),
                        (size_t)heed_params_size(set) * sizeof(float));
    close_golden(&g);
    close_golden(&own);
    free(want.numbers);
}

static void round_to(heed_params *set, heed_dtype dtype) {
    for (int i = 0; i < heed_params_count(set); i++) {
        heed_param *p = heed_params_at(set, i);
        if (p->kind != HEED_PARAM_FUSED) p->stored = dtype;
        for (int64_t k = 0; !p->target && k < p->count; k++)
            p->value[k] = dtype == HEED_BF16 ? heed_bf16_to_f32(heed_f32_to_bf16(p->value[k]))
                                             : heed_f16_to_f32(heed_f32_to_f16(p->value[k]));
    }
}

/* As they are, and every family in 16 bits too. */
static void test_mapped(void **state) {
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        struct golden g;
        char dir[512];
        check_mapped(cases[i], NULL);
        snprintf(dir, sizeof dir, "%s", in_folder("narrow"));
        open_golden(&g, cases[i], NULL, 1, false);
        round_to(heed_model_params(g.model), i % 2 ? HEED_BF16 : HEED_F16);
        check(&g, heed_model_save(g.cx, g.model, dir), "save");
        close_golden(&g);
        check_mapped(cases[i], dir);
    }
}

/* ---- memory ---- */

static void test_plan(void **state) {
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        size_t peak[2];
        for (int dry = 0; dry < 2; dry++) {
            struct golden g;
            open_golden(&g, cases[i], NULL, 1, dry);
            forward(&g);
            backward(&g);
            peak[dry] = heed_memory_use(g.cx).step_peak;
            close_golden(&g);
        }
        if (peak[0] != peak[1] || peak[0] == 0)
            fail_msg("%s: %zu bytes are used, and %zu planned", cases[i], peak[0], peak[1]);
    }
}

/* ---- decoding ---- */

/* (B,T) of an input, with 0 where a label does not count */
static int32_t *tokens_of(const struct golden *g, const char *name, int64_t shape[2]) {
    const heed_tensor *t = heed_io_get(&g->in, name);
    check(g, t && heed_rank(t) == 2, name);
    memcpy(shape, heed_shape(t), 2 * sizeof *shape);
    const int64_t n = heed_count(t);
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    memcpy(ids, heed_i32(t), (size_t)n * sizeof *ids);
    for (int64_t i = 0; i < n; i++) ids[i] = ids[i] < 0 ? 0 : ids[i];
    return ids;
}

/* Logits (B,T,V) of forward, without padding. */
static float *forward_logits(struct golden *g, heed_tensor *source, const int32_t *ids, const int64_t shape[2]) {
    heed_tensor *given = heed_from_i32(g->cx, ids, 2, shape);
    g->in = (heed_io){0};
    if (source) heed_io_put(g->cx, &g->in, "input_ids", source);
    heed_io_put(g->cx, &g->in, source ? "decoder_input_ids" : "input_ids", given);
    forward(g);
    heed_tensor *y = heed_io_get(&g->out, "logits");
    check(g, y != NULL, "logits");
    float *logits = malloc((size_t)heed_count(y) * sizeof *logits);
    check(g, heed_copy_f32(g->cx, y, logits, heed_count(y)), "logits");
    return logits;
}

/* Token by token through a session, against forward: the same bits. Performer alone takes its sums over the prefix in
 * another order, token by token. */
static void check_cached(struct golden *g, const heed_ids *source, int32_t *ids, const int64_t shape[2],
                         const float *want) {
    const int64_t B = shape[0], T = shape[1];
    heed_session *s = heed_session_open(g->cx, g->model, source, B);
    check(g, s != NULL, "session");
    const int64_t V = heed_session_vocabulary(s);
    const bool sums = strncmp(g->name, "performer", 9) == 0;
    heed_ids *one = calloc((size_t)B, sizeof *one);
    for (int64_t t = 0; t < T; t++) {
        for (int64_t b = 0; b < B; b++) one[b] = (heed_ids){.id = ids + b * T + t, .count = 1};
        check(g, heed_session_append(g->cx, s, one), "append");
        for (int64_t b = 0; b < B; b++)
            for (int64_t v = 0; v < V; v++) {
                const float got = heed_session_logits(s, b)[v], right = want[(b * T + t) * V + v];
                if (sums ? !(fabsf(got - right) <= 1e-4f * fabsf(right) + 2e-5f) : got != right)
                    fail_msg("%s: with the cache a logit after %d tokens is %g, not %g", g->name, (int)t + 1,
                             (double)got, (double)right);
            }
    }
    free(one);
    heed_session_close(g->cx, s);
}

/* Heads that decode: the cache changes nothing, and a token changes nothing before it. */
static void test_decoding(void **state) {
    (void)state;
    int decoded = 0;
    for (int i = 0; i < n_cases; i++) {
        struct golden g;
        open_golden(&g, cases[i], NULL, 1, false);
        if (heed_model_head(g.model)->stepper) {
            const bool encodes = strstr(heed_model_head(g.model)->inputs, "decoder_input_ids") != NULL;
            int64_t from[2] = {0}, shape[2];
            int32_t *ids = tokens_of(&g, encodes ? "labels" : "input_ids", shape);
            int32_t *sources = encodes ? tokens_of(&g, "input_ids", from) : NULL;
            heed_ids *source = encodes ? calloc((size_t)from[0], sizeof *source) : NULL;
            for (int64_t b = 0; b < from[0]; b++) source[b] = (heed_ids){.id = sources + b * from[1], .count = from[1]};
            heed_tensor *given = heed_io_get(&g.in, "input_ids");
            float *want = forward_logits(&g, encodes ? given : NULL, ids, shape);
            check_cached(&g, source, ids, shape, want);
            const int64_t V = heed_dim(heed_io_get(&g.out, "logits"), -1), T = shape[1];
            for (int64_t b = 0; b < shape[0]; b++) ids[b * T + T - 1] += ids[b * T + T - 1] > 0 ? -1 : 1;
            float *other = forward_logits(&g, encodes ? given : NULL, ids, shape);
            for (int64_t b = 0; b < shape[0]; b++) {
                if (memcmp(want + b * T * V, other + b * T * V, (size_t)((T - 1) * V) * sizeof(float)) != 0)
                    fail_msg("%s: the last token changes logits before it", g.name);
                if (memcmp(want + ((b + 1) * T - 1) * V, other + ((b + 1) * T - 1) * V, (size_t)V * sizeof(float)) == 0)
                    fail_msg("%s: the last token changes nothing", g.name);
            }
            free(ids), free(sources), free(source), free(want), free(other);
            decoded++;
        }
        close_golden(&g);
    }
    assert_true(decoded >= 8 || chosen());
}

/* ---- none is left out ---- */

static void test_all_heads(void **state) {
    (void)state;
    if (chosen()) {
        print_message("skipped: whether every head has a golden directory, with HEED_ONLY\n");
        skip();
    }
    static const heed_head *heads[MAX_CASES];
    for (int k = 0; k < n_cases; k++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = true});
        heed_model *m = heed_model_load(cx, path_of(cases[k], ""));
        heads[k] = heed_model_head(m);
        heed_model_free(cx, m);
        heed_close(cx);
    }
    for (int i = 0; i < heed_family_count(); i++)
        for (const heed_head *head = heed_family_at(i)->heads; head->architecture; head++) {
            bool there = strcmp(head->tasks, "replaced") == 0; /* it is two models: tests/task/test_replaced.c */
            for (int k = 0; k < n_cases && !there; k++) there = heads[k] == head;
            if (!there) fail_msg("%s of %s has no golden directory", head->architecture, heed_family_at(i)->name);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),  cmocka_unit_test(test_loss_only), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reload),   cmocka_unit_test(test_mapped),    cmocka_unit_test(test_plan),
        cmocka_unit_test(test_decoding), cmocka_unit_test(test_all_heads),
    };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
