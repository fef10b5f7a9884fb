/* LoRA adapters of linear layers (Hu et al. 2021):   y = W x + b + s B A dropout(x)
 *     x (…,in), A (r,in), B (rows,r), y (…,out), where B adds to `rows` of y's columns from `row` on */
#include "nn/params.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIECES 64 /* of a product: adapters of one weight, and what lies between them */

static int64_t inputs_of(const heed_param *w) { return w->transposed ? w->shape[0] : w->shape[1]; }
int64_t params_outputs(const heed_param *w) { return w && w->rank == 2 ? w->shape[w->transposed ? 1 : 0] : 0; }

/* The first of the outputs of what `w` is a slice of that are its own. */
static int64_t row_of(const heed_param *w) { return w->target && w->shape[1] > 0 ? w->offset / w->shape[1] : 0; }

/* ---- make ---- */

bool heed_param_adapt(heed_ctx *cx, heed_params *set, heed_param *weight, int64_t rank, float scale, float dropout) {
    static const char end[] = ".weight";
    if (heed_failed(cx)) return false;
    if (!weight || rank < 1 || !(dropout >= 0 && dropout <= 1) || !isfinite(scale))
        return heed_fail(cx, HEED_ERR_USAGE, "adapt: a weight, a rank, a scale and a dropout in [0, 1] are needed");
    const size_t size = strlen(weight->name), module = size - (sizeof end - 1);
    if (!weight->linear || weight->rank != 2 || weight->kind == HEED_PARAM_TIED || weight->kind == HEED_PARAM_FUSED ||
        size < sizeof end || strcmp(weight->name + module, end) != 0)
        return heed_fail(cx, HEED_ERR_USAGE, "LoRA: '%s' is not the weight of a linear layer of its own", weight->name);
    char *const prefix = heed_params_alloc(cx, set, module + 1, 1);
    heed_adapter *const made = heed_params_alloc(cx, set, 1, sizeof *made);
    if (heed_failed(cx)) return false;
    memcpy(prefix, weight->name, module);
    const int64_t shapes[2][2] = {{rank, inputs_of(weight)}, {params_outputs(weight), rank}};
    *made = (heed_adapter){.row = row_of(weight), .scale = scale, .dropout = dropout};
    made->a = heed_param_add(cx, set, prefix, "lora_A.weight", 2, shapes[0],
                             (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0});
    made->b = heed_param_add(cx, set, prefix, "lora_B.weight", 2, shapes[1], (heed_init){.kind = HEED_INIT_ZEROS});
    if (heed_failed(cx)) return false;
    made->a->lora = made->b->lora = made->a->external = made->b->external = made->a->needs_f32 = made->b->needs_f32 =
        true;
    heed_param *const own = weight->target ? weight->target : weight;
    heed_adapter **at = &own->adapters;
    while (*at && (*at)->row < made->row) at = &(*at)->next;
    made->next = *at;
    *at = made;
    return true;
}

/* ---- run ---- */

/* s B' A dropout(x) (…,n), where B' are n rows of B from `from` on */
static heed_tensor *low_rank(heed_ctx *cx, const heed_adapter *l, heed_tensor *x, int64_t from, int64_t n) {
    heed_tensor *b = heed_param_tensor(cx, l->b);
    if (n < l->b->shape[0]) b = heed_slice(cx, b, 0, from, n);
    heed_tensor *const h = heed_linear(cx, heed_dropout(cx, x, l->dropout), heed_param_tensor(cx, l->a), NULL);
    return heed_linear(cx, heed_affine(cx, h, l->scale, 0), b, NULL);
}

static heed_tensor *zeros(heed_ctx *cx, const heed_tensor *x, int64_t n) {
    int64_t shape[HEED_MAX_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = n;
    return heed_zeros(cx, HEED_F32, x->rank, shape);
}

heed_tensor *params_adapted(heed_ctx *cx, const heed_param *weight, heed_tensor *x, heed_tensor *y, int64_t first,
                            int64_t rows) {
    const heed_param *const own = weight && weight->target ? weight->target : weight;
    if (heed_failed(cx) || !own || !own->adapters || !x || !y) return y;
    heed_tensor *piece[MAX_PIECES];
    int n = 0;
    bool any = false;
    first += row_of(weight);
    int64_t at = first;
    for (const heed_adapter *l = own->adapters; l; l = l->next) {
        const int64_t low = l->row > first ? l->row : first, end = l->row + l->b->shape[0],
                      high = end < first + rows ? end : first + rows;
        if (low >= high) continue;
        if (n + 3 > MAX_PIECES || low < at) {
            heed_fail(cx, HEED_ERR_USAGE, "LoRA: '%s' has too many adapters, or two for the same rows", own->name);
            return NULL;
        }
        if (low > at) piece[n++] = zeros(cx, x, low - at);
        piece[n++] = low_rank(cx, l, x, low - l->row, high - low);
        at = high;
        any = true;
    }
    if (!any) return y;
    if (at < first + rows) piece[n++] = zeros(cx, x, first + rows - at);
    return heed_add(cx, y, n == 1 ? piece[0] : heed_concat(cx, piece, n, -1));
}

/* ---- merge ---- */

/* W += s B A, each number rounded once. */
static void merge(const heed_adapter *l, heed_param *own) {
    const int64_t rank = l->a->shape[0], in = l->a->shape[1], rows = l->b->shape[0], out = params_outputs(own);
    const float *const a = l->a->data, *const b = l->b->data;
    for (int64_t o = 0; o < rows; o++)
        for (int64_t i = 0; i < in; i++) {
            double sum = 0;
            for (int64_t r = 0; r < rank; r++) sum += (double)b[o * rank + r] * (double)a[r * in + i];
            float *const w = own->value + (own->transposed ? i * out + l->row + o : (l->row + o) * in + i);
            *w = (float)((double)*w + (double)l->scale * sum);
        }
}

bool heed_params_merge(heed_ctx *cx, heed_params *set) {
    if (!heed_params_own(cx, set)) return false;
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        for (const heed_adapter *l = p->adapters; l && !cx->config.dry; l = l->next) merge(l, p);
        p->adapters = NULL;
    }
    return true;
}
