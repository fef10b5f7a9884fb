/* heed forward: tensors from a file through a model and back to a file; with --grad every gradient by name. This is
 * what other systems are compared with. */
#include "base/text.h"
#include "cli/core/options.h"
#include "cli/core/tensors_in.h"
#include "heed/graph.h"
#include "heed/model.h"
#include "io/text.h"
#include "nn/params.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "in", .letter = 'i', .kind = HEED_FIELD_FILE, .value = "FILE", .help = "inputs by name, safetensors"},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "FILE", .help = "outputs by name, safetensors"},
    {.name = "grad", .letter = 'g',
     .help = "also grad.NAME of every parameter: of the loss, or without labels of sum(logits * grad_output)"},
    {.name = "attentions", .letter = 'a', .help = "also the attention weights of every layer"},
    {.name = NULL},
};
/* clang-format on */

/* ---- inputs ---- */

/* Floats of every width become f32, whole numbers i32, bytes and booleans u8. */
static heed_tensor *tensor_of(heed_ctx *cx, const heed_array *a) {
    const int64_t n = heed_array_count(a);
    if (a->dtype == HEED_BOOL || a->dtype == HEED_U8) return heed_from_u8(cx, a->data, a->rank, a->shape);
    const bool real = a->dtype == HEED_F32 || a->dtype == HEED_F64 || a->dtype == HEED_F16 || a->dtype == HEED_BF16;
    void *numbers = heed_mem_new(cx, (size_t)n * 4);
    heed_tensor *t = NULL;
    if (!numbers) return NULL;
    if (real && heed_array_to_f32(cx, a, numbers, n)) t = heed_from_f32(cx, numbers, a->rank, a->shape);
    if (!real && heed_array_to_i32(cx, a, numbers, n)) t = heed_from_i32(cx, numbers, a->rank, a->shape);
    heed_mem_free(cx, numbers);
    return t;
}

static bool read_inputs(heed_ctx *cx, heed_safetensors *st, const char *path, const heed_model *model, heed_io *in,
                        heed_tensor **grad_output) {
    for (int64_t i = 0; i < heed_safetensors_count(st) && !heed_failed(cx); i++) {
        const heed_array *a = heed_safetensors_get(cx, st, i);
        if (!a) return false;
        const heed_head *const head = heed_model_head(model);
        const bool gradient = strcmp(a->name, "grad_output") == 0;
        if (!gradient && !heed_head_takes(head, a->name))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: '%s' is not an input of %s, which takes: %s grad_output", path,
                             escaped(a->name).s, heed_model_family(model)->name, head->inputs);
        heed_tensor *t = tensor_of(cx, a);
        if (gradient)
            *grad_output = t;
        else if (t)
            heed_io_put(cx, in, a->name, t);
    }
    return !heed_failed(cx);
}

/* ---- gradients ---- */

struct gradients {
    heed_grad *slots; /* one per parameter */
    float *block;
};

static bool gradients_open(heed_ctx *cx, const heed_params *params, struct gradients *g) {
    const int n = heed_params_count(params);
    const size_t bytes = (size_t)heed_params_size(params) * sizeof(float);
    g->slots = heed_mem_new(cx, (size_t)n * sizeof *g->slots);
    g->block = heed_mem_new(cx, bytes);
    if (!g->slots || !g->block) return false;
    memset(g->block, 0, bytes); /* a parameter that is not reached has gradient zero */
    for (int i = 0; i < n; i++) {
        const heed_param *p = heed_params_at(params, i);
        g->slots[i] = (heed_grad){.data = p->target ? NULL : g->block + (p->value - heed_params_block(params))};
    }
    heed_bind(cx, params, g->slots);
    return true;
}

static void gradients_close(heed_ctx *cx, struct gradients *g) {
    heed_reset(cx); /* the tape may still refer to the slots */
    heed_bind(cx, NULL, NULL);
    heed_mem_free(cx, g->slots);
    heed_mem_free(cx, g->block);
}

static heed_tensor *main_output(const heed_io *out) {
    static const char *const names[] = {
        "logits", "action_preds", "sample", "last_hidden_state", "prediction_logits", "start_logits"};
    heed_tensor *t = NULL;
    for (size_t i = 0; !t && i < sizeof names / sizeof *names; i++) t = heed_io_get(out, names[i]);
    return t;
}

static bool run_backward(heed_ctx *cx, const heed_io *out, const heed_tensor *dy) {
    heed_tensor *loss = heed_io_get(out, "loss"), *y = main_output(out);
    for (int i = 0; i < out->n; i++) heed_keep(cx, out->tensor[i]);
    if (loss) return !heed_wants_grad(loss) || heed_backward(cx, loss);
    if (!dy || !y)
        return heed_fail(cx, HEED_ERR_USAGE, "forward: --grad needs labels or y, or grad_output, among the inputs");
    if (heed_rank(dy) != heed_rank(y) || heed_type(dy) != HEED_F32 ||
        memcmp(heed_shape(dy), heed_shape(y), (size_t)heed_rank(y) * sizeof(int64_t)) != 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "grad_output: %s numbers of shape %s are needed, not %s %s", "f32",
                         heed_shape_text(y).s, heed_dtype_name(heed_type(dy)), heed_shape_text(dy).s);
    return !heed_wants_grad(y) || heed_backward_from(cx, y, dy);
}

/* ---- outputs ---- */

struct outputs {
    heed_array *arrays;
    char (*names)[256]; /* of gradients and attentions */
    int64_t n;
    int named;
};

static char *next_name(struct outputs *o) { return o->names[o->named++]; }

static bool add_tensor(heed_ctx *cx, struct outputs *o, const char *name, heed_tensor *t) {
    t = heed_contiguous(cx, t);
    if (!t) return false;
    heed_array *a = &o->arrays[o->n++];
    *a = (heed_array){.name = name, .dtype = heed_type(t), .rank = heed_rank(t)};
    memcpy(a->shape, heed_shape(t), (size_t)a->rank * sizeof *a->shape);
    a->data = a->dtype == HEED_F32   ? (const void *)heed_f32(t)
              : a->dtype == HEED_I32 ? (const void *)heed_i32(t)
                                     : (const void *)heed_u8(t);
    return true;
}

static void add_gradient(struct outputs *o, const heed_params *of, const heed_param *p, const float *gradient) {
    char *const name = next_name(o);
    const int n = snprintf(name, sizeof *o->names, "grad.");
    params_file_name(of, p, name + n, sizeof *o->names - (size_t)n);
    heed_array *a = &o->arrays[o->n++];
    *a = (heed_array){.name = name, .dtype = HEED_F32, .rank = p->rank, .data = gradient};
    memcpy(a->shape, p->shape, sizeof a->shape);
}

/* "encoder_attentions.L" and the like, as the Hugging Face classes call them; (B,H,Tq,Tk) */
static void add_map(struct outputs *o, const heed_capture_map *map) {
    const bool only = strcmp(map->site, "attention") == 0;
    char *const name = next_name(o);
    snprintf(name, sizeof *o->names, "%.100s%sattentions.%d", only ? "" : map->site, only ? "" : "_", map->layer);
    heed_array *const a = &o->arrays[o->n++];
    *a = (heed_array){.name = name,
                      .dtype = HEED_F32,
                      .rank = 4,
                      .shape = {map->batch, map->heads, map->rows, map->keys},
                      .data = map->weights};
    if (map->chunk == 0) return;
    a->rank = 5; /* (B,H,chunks,queries,keys) */
    a->shape[2] = map->rows / map->chunk, a->shape[3] = map->chunk, a->shape[4] = map->keys;
}

/* Of a graph the weights (edges,heads), and attention_edges.L (2,edges): from, to. */
static void add_edges(struct outputs *o, const heed_captured_edges *e) {
    char *const weights = next_name(o), *const edges = next_name(o);
    snprintf(weights, sizeof *o->names, "attentions.%d", e->layer);
    snprintf(edges, sizeof *o->names, "attention_edges.%d", e->layer);
    o->arrays[o->n++] =
        (heed_array){.name = weights, .dtype = HEED_F32, .rank = 2, .shape = {e->edges, e->heads}, .data = e->weights};
    o->arrays[o->n++] =
        (heed_array){.name = edges, .dtype = HEED_I32, .rank = 2, .shape = {2, e->edges}, .data = e->from};
}

static bool write_outputs(heed_ctx *cx, const char *path, const heed_params *params, const heed_io *out,
                          const struct gradients *g) {
    const int count = heed_params_count(params), maps = heed_capture_count(cx), graphs = heed_capture_edges_count(cx);
    const int more = count + maps + 2 * graphs;
    struct outputs o = {.arrays = heed_mem_new(cx, (size_t)(more + out->n) * sizeof *o.arrays),
                        .names = heed_mem_new(cx, (size_t)more * sizeof *o.names)};
    for (int i = 0; o.arrays && i < out->n; i++) add_tensor(cx, &o, out->name[i], out->tensor[i]);
    for (int i = 0; o.arrays && o.names && i < maps; i++) add_map(&o, heed_capture_at(cx, i));
    for (int i = 0; o.arrays && o.names && i < graphs; i++) add_edges(&o, heed_capture_edges_at(cx, i));
    for (int i = 0; o.arrays && o.names && g->slots && i < count; i++) {
        const heed_param *p = heed_params_at(params, i);
        if (p->frozen || !heed_param_stored(p)) continue;
        add_gradient(&o, params, p, g->block + (p->value - heed_params_block(params)));
    }
    if (!heed_failed(cx)) heed_safetensors_write(cx, path, o.arrays, o.n, &(heed_pair){"format", "pt"}, 1);
    heed_mem_free(cx, o.arrays);
    heed_mem_free(cx, o.names);
    return !heed_failed(cx);
}

/* ---- the command ---- */

/* The whole command; in a dry context nothing is computed, and it is written to nowhere. */
static void forward(heed_ctx *cx, const struct options *o, const char *out_path) {
    const char *in_path = option_text(o, "in");
    const bool grad = option_flag(o, "grad");
    heed_model *model = heed_model_load_as(cx, options_word(o, 0), &(heed_load_opts){.map = !grad});
    heed_params *params = heed_model_params(model);
    unsigned char *bytes = NULL;
    heed_safetensors *st = model ? tensors_open(cx, in_path, &bytes) : NULL;
    struct gradients g = {0};
    heed_io in = {0}, out = {0};
    heed_tensor *dy = NULL;
    heed_set_grad(cx, grad);
    if (option_flag(o, "attentions")) heed_capture_begin(cx, &(heed_capture_opts){.byte_cap = SIZE_MAX});
    if (st && (!grad || gradients_open(cx, params, &g)) && read_inputs(cx, st, in_path, model, &in, &dy) &&
        heed_model_forward(cx, model, &in, &out) && (!grad || run_backward(cx, &out, dy)))
        write_outputs(cx, out_path, params, &out, &g);
    heed_capture_end(cx);
    gradients_close(cx, &g);
    heed_safetensors_close(st);
    heed_mem_free(cx, bytes);
    heed_model_free(cx, model);
}

/* A budget is held against a dry run first. Standard input can be read only once. */
static bool fits(const struct options *o) {
    if (!option_given(o, "memory") || strcmp(option_text(o, "in"), "-") == 0) return true;
    heed_ctx *cx = options_open_dry(o);
    forward(cx, o, "/dev/null");
    const size_t needed = heed_memory_use(cx).held_peak;
    const bool ok = !heed_failed(cx), fit = needed <= option_bytes(o, "memory");
    if (options_dry_needed() > 0)
        options_over_budget(o, options_dry_needed(), false);
    else if (!ok)
        cli_error(EXIT_FAILED, "%s", heed_message(cx));
    else if (!fit)
        options_over_budget(o, needed, true);
    heed_close(cx);
    return ok && fit;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("forward", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    if (option_need(o, "in") && option_need(o, "out")) {
        heed_ctx *cx = fits(o) ? options_open(o) : NULL;
        if (cx) forward(cx, o, option_text(o, "out"));
        status = options_close(o, cx, cx ? EXIT_DONE : EXIT_FAILED);
    }
    options_free(o);
    return status;
}

const struct command forward_command = {
    .name = "forward",
    .summary = "tensors through a model, and gradients back",
    .words = "DIR --in FILE --out FILE",
    .about =
        "Runs a model on tensors of a safetensors file, named as the arguments of the model's forward function (x, y, "
        "labels; input_ids, attention_mask, pixel_values, labels.0.boxes, ...), and writes logits, the loss when there "
        "are labels or "
        "y, "
        "and what else was asked for. Nothing is dropped out.\n\n"
        "The gradients are those of the loss; without labels, of sum(logits * grad_output) with grad_output among the "
        "inputs. Frozen parameters have none.",
    .options = options,
    .examples = "heed forward digits --in x.safetensors --out y.safetensors\n"
                "heed forward digits --in batch.safetensors --out grads.safetensors --grad\n"
                "heed forward nw --in x.safetensors --out y.safetensors --attentions\n",
    .run = run,
};
