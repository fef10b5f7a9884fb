/* The tokens of each row, and steps that compute them anew. */
#include "model/parts/prefix.h"
#include "base/checked.h"
#include "tensor/engine.h"
#include <string.h>

void prefix_end(heed_ctx *cx, void *state) {
    struct prefix_state *const s = state;
    heed_mem_free(cx, s->ids);
    heed_mem_free(cx, s->next_ids);
    heed_mem_free(cx, s->held);
    heed_mem_free(cx, s->next_held);
    *s = (struct prefix_state){0};
}

/* Room for so many rows and tokens; what is there is lost. */
static bool make_room(heed_ctx *cx, struct prefix_state *s, int64_t rows, int64_t room) {
    size_t bytes;
    if (s->rows >= rows && s->room >= room) return true;
    prefix_end(cx, s);
    if (!size_mul((size_t)rows, (size_t)room * sizeof(int32_t), &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "%lld rows of tokens are too many", (long long)rows);
    s->rows = rows, s->room = room;
    s->ids = heed_mem_new(cx, bytes);
    s->next_ids = heed_mem_new(cx, bytes);
    s->held = heed_mem_new(cx, (size_t)rows * sizeof *s->held);
    s->next_held = heed_mem_new(cx, (size_t)rows * sizeof *s->held);
    if (heed_failed(cx)) prefix_end(cx, s);
    return !heed_failed(cx);
}

/* The same rows with more room. */
static bool grow(heed_ctx *cx, struct prefix_state *s, int64_t room) {
    struct prefix_state more = {0};
    if (s->room >= room) return true;
    if (!make_room(cx, &more, s->rows, room > 2 * s->room ? room : 2 * s->room)) return false;
    for (int64_t r = 0; r < s->rows; r++) {
        more.held[r] = s->held[r];
        memcpy(more.ids + r * more.room, s->ids + r * s->room, (size_t)s->held[r] * sizeof *s->ids);
    }
    prefix_end(cx, s);
    *s = more;
    return true;
}

bool prefix_rewind(heed_ctx *cx, void *state, int64_t rows) {
    struct prefix_state *const s = state;
    memset(s->held, 0, (size_t)s->rows * sizeof *s->held);
    return !heed_failed(cx) && rows <= s->rows;
}

void prefix_forget(void *state, int64_t row) { ((struct prefix_state *)state)->held[row] = 0; }

bool prefix_begin(heed_ctx *cx, struct stepper_sizes sizes, void *state, const struct stepper_begin *b) {
    const int64_t room = b->room < 16 ? 16 : b->room > sizes.positions ? sizes.positions : b->room;
    return !heed_failed(cx) && make_room(cx, state, b->rows > 0 ? b->rows : 1, room) && prefix_rewind(cx, state, b->n);
}

/* Rows from .. from + n, of equal length -> logits (n,V) */
static heed_tensor *run_rows(heed_ctx *cx, const void *own, const struct prefix_state *s, int64_t from, int64_t n,
                             prefix_run *run) {
    const int64_t T = s->held[from], shape[] = {n, T};
    heed_tensor *const ids = heed_zeros(cx, HEED_I32, 2, shape);
    heed_io in = {0};
    if (!ids || !heed_io_put(cx, &in, "input_ids", ids)) return NULL;
    for (int64_t r = 0; !cx->config.dry && r < n; r++)
        memcpy((int32_t *)(void *)ids->data + r * T, s->ids + (from + r) * s->room, (size_t)T * sizeof *s->ids);
    return run(cx, own, &in);
}

heed_tensor *prefix_step(heed_ctx *cx, const void *own, struct stepper_sizes sizes, void *state, heed_tensor *ids,
                         const int32_t *counts, prefix_run *run) {
    struct prefix_state *const s = state;
    ids = heed_contiguous(cx, ids);
    if (!ids) return NULL;
    const int64_t R = ids->shape[0], T = ids->shape[1];
    int64_t max_length = 0;
    bool alike = true;
    for (int64_t r = 0; r < R; r++) {
        const int64_t end = s->held[r] + (counts ? counts[r] : T);
        max_length = end > max_length ? end : max_length;
    }
    if (max_length > sizes.positions) {
        heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld",
                  (long long)max_length, (long long)sizes.positions);
        return NULL;
    }
    if (!grow(cx, s, max_length)) return NULL;
    for (int64_t r = 0; r < R; r++) {
        const int64_t more = counts ? counts[r] : T;
        if (!cx->config.dry)
            memcpy(s->ids + r * s->room + s->held[r], i32_of(ids) + r * T, (size_t)more * sizeof *s->ids);
        s->held[r] += more;
        alike &= s->held[r] == s->held[0];
    }
    if (alike && R > 0 && s->held[0] > 0) return run_rows(cx, own, s, 0, R, run);
    heed_tensor **const rows = bump_take(cx, &engine_of(cx)->lists, (size_t)(R + 1) * sizeof *rows);
    if (!rows) return NULL;
    for (int64_t r = 0; r < R; r++)
        rows[r] = s->held[r] > 0 ? run_rows(cx, own, s, r, 1, run)
                                 : heed_zeros(cx, HEED_F32, 2, (int64_t[]){1, sizes.vocabulary});
    return R > 0 && !heed_failed(cx) ? heed_concat(cx, rows, (int)R, 0) : NULL;
}

static void gather(const struct prefix_state *from, const int32_t *order, int64_t n, int32_t *ids, int64_t room,
                   int64_t *held) {
    for (int64_t i = 0; i < n; i++) {
        held[i] = from->held[order[i]];
        memcpy(ids + i * room, from->ids + order[i] * from->room, (size_t)held[i] * sizeof *ids);
    }
}

bool prefix_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per) {
    struct prefix_state *const s = state;
    (void)per;
    if (heed_failed(cx)) return false;
    memset(s->next_held, 0, (size_t)s->rows * sizeof *s->next_held);
    gather(s, order, n, s->next_ids, s->room, s->next_held);
    int32_t *const ids = s->ids;
    int64_t *const held = s->held;
    s->ids = s->next_ids, s->next_ids = ids;
    s->held = s->next_held, s->next_held = held;
    return true;
}

bool prefix_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows) {
    const struct prefix_state *const from = state;
    struct prefix_state *const s = to;
    if (heed_failed(cx) || !make_room(cx, s, rows, from->room)) return false;
    memset(s->held, 0, (size_t)s->rows * sizeof *s->held);
    gather(from, order, n, s->ids, s->room, s->held);
    return true;
}
