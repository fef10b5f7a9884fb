/* Backward: the tape in reverse.
 *
 * Each recorded op turns the gradients of its outputs into contributions to the gradients of its inputs. The first
 * contribution to a gradient stores, the next ones add. As soon as an op is passed, what it saved, its outputs' numbers
 * and gradients are given back: the peak is what is live. */
#include "base/arena.h"
#include "base/profile.h"
#include "kernel/rows.h"
#include "tensor/engine.h"
#include <string.h>

/* A gradient that is shared (passed on by an op, or handed in) is copied before it is added to. */
static bool unshare(heed_ctx *cx, heed_tensor *t) {
    if (t->grad->refs == 1) return true;
    struct storage *own = storage_new(cx, (size_t)t->count * sizeof(float));
    if (!own) return false;
    if (!cx->config.dry) kernel_copy(cx->pool, own->data, t->grad->data, t->count);
    storage_unref(cx, t->grad);
    t->grad = own;
    return true;
}

/* Where a contribution to t's gradient goes, and whether it adds to what is there. NULL: out of memory. */
static float *target_of(heed_ctx *cx, heed_tensor *t, bool *add) {
    heed_grad *slot = t->slot;
    if (slot && !slot->claimed) {
        *add = slot->filled;
        if (cx->config.dry && !slot->filled && !engine_note_filled(cx, slot)) return NULL;
        slot->filled = true;
        return slot_data(t);
    }
    struct storage **grad = slot ? (struct storage **)&slot->aside : &t->grad;
    *add = *grad != NULL;
    if (*grad) {
        if (!slot && !unshare(cx, t)) return NULL;
    } else {
        *grad = storage_new(cx, (size_t)t->count * sizeof(float));
    }
    return *grad ? (*grad)->data : NULL;
}

bool engine_contribute(heed_ctx *cx, heed_tensor *t, struct storage *from) {
    if (!t->slot && !t->grad) {
        t->grad = from;
        from->refs++;
        return true;
    }
    bool add;
    float *to = target_of(cx, t, &add);
    if (!to) return false;
    if (cx->config.dry) return true;
    if (add)
        kernel_add(cx->pool, to, to, from->data, t->count);
    else
        kernel_copy(cx->pool, to, from->data, t->count);
    return true;
}

static bool seen_before(const heed_op_call *c, int i) {
    for (int k = 0; k < i; k++)
        if (c->in[k] && c->din[k] && (c->in[k] == c->in[i] || (c->in[i]->slot && c->in[k]->slot == c->in[i]->slot)))
            return true;
    return false;
}

/* Sets din and add. Contributions that the op cannot add itself go to a buffer beside, `beside[i]`. */
static bool prepare(struct node *n, struct storage **beside) {
    heed_op_call *c = &n->call;
    for (int i = 0; i < c->n_in; i++) {
        heed_tensor *t = c->in[i];
        if (!t || !c->wants[i] || n->pass[i] >= 0) continue;
        if (n->claimed[i]) {
            c->din[i] = slot_data(t);
            continue;
        }
        const bool twice = seen_before(c, i);
        const bool filled = t->slot ? t->slot->claimed || t->slot->filled : t->grad != NULL;
        if (twice || (filled && !(c->op->flags & HEED_OP_ADDS))) {
            beside[i] = storage_new(c->cx, (size_t)t->count * sizeof(float));
            if (!beside[i]) return false;
            c->din[i] = beside[i]->data;
        } else {
            c->din[i] = target_of(c->cx, t, &c->add[i]);
            if (!c->din[i]) return false;
        }
    }
    return true;
}

/* The gradient that forward wrote is now true; what came in between is added. */
static bool settle_claim(heed_ctx *cx, heed_grad *slot, int64_t count, bool written) {
    struct storage *aside = slot->aside;
    slot->claimed = false;
    slot->aside = NULL;
    slot->filled = written || aside;
    engine_forget_slot(cx, slot);
    if (!aside) return true;
    if (!cx->config.dry) {
        if (written)
            kernel_add(cx->pool, slot->data, slot->data, aside->data, count);
        else
            kernel_copy(cx->pool, slot->data, aside->data, count);
    }
    storage_unref(cx, aside);
    return true;
}

/* The output's own gradient, for the op to add to. */
static bool prepare_fold(struct node *n) {
    heed_op_call *c = &n->call;
    if (n->fold < 0) return true;
    heed_tensor *t = c->out[n->fold];
    c->fold_add = t->grad != NULL;
    if (t->grad) {
        if (!unshare(c->cx, t)) return false;
    } else {
        t->grad = storage_new(c->cx, (size_t)t->count * sizeof(float));
    }
    c->fold = t->grad ? t->grad->data : NULL;
    return t->grad != NULL;
}

#define FEW 16

static bool node_backward(struct node *n) {
    heed_op_call *c = &n->call;
    heed_ctx *cx = c->cx;
    const struct profile_mark mark = profile_begin(cx);
    struct storage *few[FEW], **beside = few;
    if (c->n_in > FEW && !(beside = heed_mem_new(cx, (size_t)c->n_in * sizeof *beside))) return false;
    for (int i = 0; i < c->n_in; i++) beside[i] = NULL;
    for (int j = 0; j < c->n_out; j++) c->dout[j] = c->out[j]->grad ? c->out[j]->grad->data : NULL;

    bool ok = prepare(n, beside) && prepare_fold(n);
    if (ok && c->work_backward) {
        c->work = arena_take(cx, c->work_backward);
        ok = c->work != NULL;
    }
    bool any = n->fold >= 0;
    for (int i = 0; i < c->n_in; i++) any |= c->din[i] != NULL;
    if (ok && any && !cx->config.dry && !c->op->backward(c)) ok = heed_op_fail(c, HEED_ERR_USAGE, "backward failed");
    arena_give(cx, c->work);
    c->work = NULL;
    for (int i = 0; i < c->n_in; i++) {
        heed_tensor *t = c->in[i];
        if (ok && beside[i]) ok = engine_contribute(cx, t, beside[i]);
        storage_unref(cx, beside[i]);
        if (ok && n->claimed[i]) ok = settle_claim(cx, t->slot, t->count, true);
        n->claimed[i] = false;
        if (ok && n->pass[i] >= 0 && c->wants[i] && c->out[n->pass[i]]->grad)
            ok = engine_contribute(cx, t, c->out[n->pass[i]]->grad);
    }
    if (beside != few) heed_mem_free(cx, beside);
    profile_end(cx, mark, c->label ? c->label : c->op->name, PROFILE_BACKWARD);
    return ok;
}

static void node_release(struct node *n) {
    heed_op_call *c = &n->call;
    if (node_reverses(n)) node_reverse_release(n);
    storage_unref(c->cx, n->state);
    for (int i = 0; i < c->n_in; i++) {
        heed_tensor *t = c->in[i];
        if (!t) continue;
        if (n->claimed[i]) settle_claim(c->cx, t->slot, t->count, false);
        if (i < 32 && (c->save_in >> i & 1)) tensor_unhold(t);
        tensor_unref(t);
    }
    for (int j = 0; j < c->n_out; j++) {
        heed_tensor *t = c->out[j];
        t->maker = NULL;
        if (!t->keep_grad) {
            storage_unref(c->cx, t->grad);
            t->grad = NULL;
        }
        if (j < 32 && (c->save_out >> j & 1)) tensor_unhold(t);
        if (!t->keep) tensor_leave_scope(t);
        tensor_unref(t);
    }
}

bool engine_walk_back(heed_ctx *cx, int64_t down_to) {
    struct engine *e = cx->engine;
    while (e->n_nodes > down_to) {
        struct node *n = e->nodes[e->n_nodes - 1];
        bool reached = false;
        for (int j = 0; j < n->call.n_out; j++) reached |= n->call.out[j]->grad != NULL;
        if (reached && ((cx->config.cancel && heed_cancelled(cx)) || !(node_recomputes(n) ? node_recompute(n)
                                                                       : node_reverses(n) ? node_reverse(n)
                                                                                          : node_backward(n))))
            return false;
        e->n_nodes--;
        node_release(n);
    }
    return true;
}

static bool walk_back(heed_ctx *cx, heed_tensor *y) {
    struct engine *e = cx->engine;
    const struct profile_mark mark = profile_begin(cx);
    y->keep = true;
    if (!engine_walk_back(cx, 0)) return false;
    e->records.at = (struct bump_mark){0};
    profile_end(cx, mark, "tape", PROFILE_BACKWARD);
    return true;
}

static bool can_run_backward(heed_ctx *cx, const heed_tensor *y) {
    if (!engine_of(cx)) return false;
    if (!y) return heed_fail(cx, HEED_ERR_USAGE, "backward: the tensor is NULL");
    if (y->cx != cx) return heed_fail(cx, HEED_ERR_USAGE, "backward: the tensor belongs to another context");
    if (y->ended) return heed_fail(cx, HEED_ERR_USAGE, "backward: the tensor's step has ended");
    if (!y->maker)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "backward: nothing recorded leads here: no input wants a gradient, or backward ran already");
    return true;
}

bool heed_backward(heed_ctx *cx, heed_tensor *loss) {
    if (!can_run_backward(cx, loss)) return false;
    if (loss->count != 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "backward: shape %s is not one number: use backward_from",
                         heed_shape_text(loss).s);
    loss->grad = storage_new(cx, sizeof(float));
    if (!loss->grad) return false;
    if (!cx->config.dry) *(float *)loss->grad->data = 1;
    return walk_back(cx, loss);
}

bool heed_backward_from(heed_ctx *cx, heed_tensor *y, const heed_tensor *dy) {
    if (!can_run_backward(cx, y)) return false;
    if (dy && dy->ended) return heed_fail(cx, HEED_ERR_USAGE, "backward_from: the gradient's step has ended");
    if (!dy || dy->dtype != HEED_F32 || dy->count != y->count || !dy->data)
        return heed_fail(cx, HEED_ERR_SHAPE, "backward_from: a gradient of shape %s is needed, not %s",
                         heed_shape_text(y).s, heed_shape_text(dy).s);
    y->grad = storage_new(cx, (size_t)y->count * sizeof(float));
    return y->grad && heed_copy_f32(cx, dy, y->grad->data, y->count) && walk_back(cx, y);
}

heed_tensor *heed_keep(heed_ctx *cx, heed_tensor *t) {
    if (!engine_of(cx) || !t) return NULL;
    t->keep = true;
    return t;
}

heed_tensor *heed_keep_grad(heed_ctx *cx, heed_tensor *t) {
    if (!engine_of(cx) || !t) return NULL;
    t->keep_grad = true;
    return t;
}
