/* Running an op: check, infer, allocate, compute, record. */
#include "base/arena.h"
#include "base/profile.h"
#include "tensor/engine.h"
#include <stdio.h>
#include <string.h>

bool heed_op_fail(heed_op_call *c, heed_status status, const char *format, ...) {
    char sentence[768] = "";
    va_list args;
    if (!c) return false;
    va_start(args, format);
    if (format) vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return heed_fail(c->cx, status, "%s: %s", c->op->name, sentence);
}

bool heed_op_want(heed_op_call *c, int i, heed_dtype dtype) {
    if (!c) return false;
    if (c->in[i]->dtype == dtype) return true;
    return heed_op_fail(c, HEED_ERR_TYPE, "input %d is %s, not %s", i, heed_dtype_name(c->in[i]->dtype),
                        heed_dtype_name(dtype));
}

void heed_op_pass(heed_op_call *c, int i, int j) {
    if (c) ((struct node *)c->engine)->pass[i] = j;
}

void heed_op_fold(heed_op_call *c, int j) {
    if (c) ((struct node *)c->engine)->fold = j;
}

bool heed_op_claim(heed_op_call *c, int i) {
    if (!c) return false;
    struct node *n = c->engine;
    heed_grad *slot = c->in[i]->slot;
    if (!c->wants[i] || !slot || slot->filled || slot->claimed || !engine_note_claimed(c->cx, slot)) return false;
    slot->claimed = n->claimed[i] = true;
    return true;
}

/* A plan may have parameters without gradient memory: then any address that is not NULL will do. */
float *slot_data(const heed_tensor *t) {
    return t->cx->config.dry && !t->slot->data ? (float *)(void *)t->data : t->slot->data;
}

float *heed_op_claimed(const heed_op_call *c, int i) {
    if (!c) return NULL;
    const struct node *n = c->engine;
    return n->claimed[i] ? slot_data(c->in[i]) : NULL;
}

static size_t round16(size_t n) { return (n + 15) & ~(size_t)15; }

/* A record and its arrays in one piece. */
static struct node *node_new(heed_ctx *cx, const heed_op *op, const void *attr, int n_in, int n_out) {
    const size_t ni = (size_t)n_in, no = (size_t)n_out;
    const size_t pointers = round16((2 * ni + 2 * no) * sizeof(void *));
    const size_t bools = round16(3 * ni * sizeof(bool)), passes = round16(ni * sizeof(int));
    struct engine *const e = cx->engine;
    char *p = bump_take(cx, &e->records, round16(sizeof(struct node)) + pointers + bools + passes + op->attr_size);
    if (!p) return NULL;
    struct node *n = (struct node *)(void *)p;
    memset(p, 0, round16(sizeof *n) + pointers + bools);
    heed_op_call *c = &n->call;
    p += round16(sizeof *n);
    c->in = (heed_tensor **)(void *)p;
    c->out = c->in + n_in;
    c->dout = (const float **)(c->out + n_out);
    c->din = (float **)(c->dout + n_out);
    p += pointers;
    bool *wants = (bool *)(void *)p;
    c->wants = wants;
    c->add = wants + n_in;
    n->claimed = wants + 2 * n_in;
    p += bools;
    n->pass = (int *)(void *)p;
    for (int i = 0; i < n_in; i++) n->pass[i] = -1;
    p += passes;
    if (op->attr_size) memcpy(p, attr, op->attr_size);
    c->attr = op->attr_size ? p : NULL;
    c->cx = cx;
    c->op = op;
    c->n_in = n_in;
    c->n_out = n_out;
    c->save_in = op->save_in;
    c->save_out = op->save_out;
    c->engine = n;
    n->fold = -1;
    return n;
}

/* Takes the inputs over, contiguous unless the op takes strides; decides whether a gradient is wanted. */
static bool take_inputs(heed_op_call *c, heed_tensor *const *in, bool *wants) {
    const struct engine *e = c->cx->engine;
    for (int i = 0; i < c->n_in; i++) {
        heed_tensor *t = in[i];
        if (!t) {
            if (i < 32 && (c->op->optional >> i & 1)) continue;
            return heed_op_fail(c, HEED_ERR_USAGE, "input %d is NULL", i);
        }
        if (t->cx != c->cx) return heed_op_fail(c, HEED_ERR_USAGE, "input %d belongs to another context", i);
        if (!t->data) return heed_op_fail(c, HEED_ERR_USAGE, "input %d is no longer readable: %s", i, tensor_gone(t));
        if (!is_contiguous(t) && !(c->op->flags & HEED_OP_STRIDED)) t = heed_contiguous(c->cx, t);
        if (!t) return false;
        c->in[i] = t;
        wants[i] = t->wants && e->recording && !(c->op->flags & HEED_OP_NONDIFF);
        c->recording |= wants[i];
    }
    return true;
}

/* Numbers for the outputs that are not views, the state, and the workspace. */
static bool take_memory(struct node *n) {
    heed_op_call *c = &n->call;
    for (int j = 0; j < c->n_out; j++)
        if (!c->out[j]->data && !tensor_allocate(c->out[j])) return false;
    if (c->state_size) {
        n->state = storage_new(c->cx, c->state_size);
        if (!n->state) return false;
        c->state = n->state->data;
    }
    if (c->work_forward) {
        c->work = arena_take(c->cx, c->work_forward);
        if (!c->work) return false;
    }
    return true;
}

static bool record(struct node *n) {
    heed_op_call *c = &n->call;
    struct engine *e = c->cx->engine;
    if (e->n_nodes == e->cap_nodes) {
        const int64_t cap = e->cap_nodes ? 2 * e->cap_nodes : 256;
        void *grown = heed_mem_resize(c->cx, e->nodes, (size_t)cap * sizeof *e->nodes);
        if (!grown) return false;
        e->nodes = grown;
        e->cap_nodes = cap;
    }
    e->nodes[e->n_nodes++] = n;
    for (int i = 0; i < c->n_in; i++) {
        if (!c->in[i]) continue;
        c->in[i]->refs++;
        if (i < 32 && (c->save_in >> i & 1)) c->in[i]->holds++;
    }
    for (int j = 0; j < c->n_out; j++) {
        c->out[j]->refs++;
        if (j < 32 && (c->save_out >> j & 1)) c->out[j]->holds++;
        c->out[j]->maker = n;
        c->out[j]->wants = c->out[j]->dtype == HEED_F32;
    }
    return true;
}

static void unclaim(struct node *n) {
    for (int i = 0; i < n->call.n_in; i++) {
        if (!n->claimed[i]) continue;
        n->call.in[i]->slot->claimed = false;
        engine_forget_slot(n->call.cx, n->call.in[i]->slot);
    }
}

static bool run(struct node *n, heed_tensor *const *in, bool *wants) {
    heed_op_call *c = &n->call;
    if (!take_inputs(c, in, wants) || !c->op->infer(c) || c->cx->status != HEED_OK || !take_memory(n)) return false;
    const struct profile_mark mark = profile_begin(c->cx);
    if (!c->cx->config.dry && c->op->forward && !c->op->forward(c)) {
        heed_op_fail(c, HEED_ERR_USAGE, "forward failed");
        return false;
    }
    profile_end(c->cx, mark, c->label ? c->label : c->op->name, PROFILE_FORWARD);
    arena_give(c->cx, c->work);
    c->work = NULL;
    return !c->recording || record(n);
}

bool heed_apply(heed_ctx *cx, const heed_op *op, const void *attr, heed_tensor *const *in, int n_in, heed_tensor **out,
                int n_out) {
    for (int j = 0; out && j < n_out; j++) out[j] = NULL;
    struct engine *e = engine_of(cx);
    if (!e) return false;
    if (!op || !op->infer || n_in < 0 || n_out < 1 || (n_in > 0 && !in) || !out || (op->attr_size && !attr))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: apply needs an op with infer, its inputs, outputs and attributes",
                         op && op->name ? op->name : "op");
    if (cx->config.cancel && heed_cancelled(cx)) return false;
    const struct profile_mark mark = profile_begin(cx);
    const struct bump_mark before = e->records.at;
    struct node *n = node_new(cx, op, attr, n_in, n_out);
    if (!n) return false;
    heed_op_call *c = &n->call;
    const struct bump_mark after = e->records.at;
    const bool ok = run(n, in, (bool *)(uintptr_t)c->wants);
    for (int j = 0; j < n_out; j++) {
        if (ok)
            tensor_enter_scope(c->out[j]);
        else
            tensor_unref(c->out[j]);
        out[j] = ok ? c->out[j] : NULL;
    }
    profile_end(cx, mark, "tape", PROFILE_FORWARD);
    if (ok && c->recording) return true;
    if (!ok) unclaim(n);
    arena_give(cx, c->work);
    storage_unref(cx, n->state);
    /* a copy of a strided input may have been recorded behind this record: then it stays until the step ends */
    if (e->records.at.chunk == after.chunk && e->records.at.used == after.used) e->records.at = before;
    return ok;
}
