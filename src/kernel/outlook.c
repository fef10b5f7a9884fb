/* Windows of outlook attention: which of their places lie in the picture, and the sums over those. */
#include "kernel/outlook.h"
#include "kernel/ints.h"
#include "kernel/isa.h"
#include "kernel/rows.h"
#include <string.h>

#define MAX_TAPS (MAX_OUTLOOK * MAX_OUTLOOK)

struct job {
    const struct outlook *o;
    float *y, *dv, *dw;
    const float *v, *w, *dy;
    bool add_v, add_w;
};

/* The places of a window that lie in the picture: their taps, and where they are, in places from the corner. */
struct window {
    int64_t n, tap[MAX_TAPS], at[MAX_TAPS];
};

static void find_window(const struct outlook *o, int64_t number, struct window *to) {
    const int64_t y0 = number / o->out[1] * o->stride[0] - o->padding[0];
    const int64_t x0 = number % o->out[1] * o->stride[1] - o->padding[1];
    const int64_t top = max64(0, -y0), bottom = min64(o->kernel[0], o->in[0] - y0);
    const int64_t left = max64(0, -x0), right = min64(o->kernel[1], o->in[1] - x0);
    to->n = 0;
    for (int64_t i = top; i < bottom; i++)
        for (int64_t j = left; j < right; j++, to->n++) {
            to->tap[to->n] = i * o->kernel[1] + j;
            to->at[to->n] = (y0 + i) * o->in[1] + x0 + j;
        }
}

/* The weights of these places alone, (n,n): w itself where all are in the picture. */
static const float *weights_of(const struct window *a, int64_t taps, const float *w, float room[MAX_TAPS * MAX_TAPS]) {
    if (a->n == taps) return w;
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < a->n; j++) room[i * a->n + j] = w[a->tap[i] * taps + a->tap[j]];
    return room;
}

static void forward_heads(const void *arg, int64_t first, int64_t count) {
    const struct job *const j = arg;
    const struct outlook *const o = j->o;
    const int64_t taps = o->kernel[0] * o->kernel[1], places = o->in[0] * o->in[1], windows = o->out[0] * o->out[1];
    const int64_t C = o->heads * o->size;
    float room[MAX_TAPS * MAX_TAPS], *to[MAX_TAPS];
    const float *from[MAX_TAPS];
    struct window a;
    for (int64_t head = first; head < first + count; head++) {
        const int64_t b = head / o->heads, h = head % o->heads, offset = b * places * C + h * o->size;
        for (int64_t i = 0; i < places; i++) memset(j->y + offset + i * C, 0, (size_t)o->size * sizeof *j->y);
        for (int64_t n = 0; n < windows; n++) {
            find_window(o, n, &a);
            for (int64_t i = 0; i < a.n; i++)
                to[i] = j->y + offset + a.at[i] * C, from[i] = j->v + offset + a.at[i] * C;
            const float *const w = j->w + ((b * windows + n) * o->heads + h) * taps * taps;
            isa_get()->outlook_mix(to, from, weights_of(&a, taps, w, room), a.n, o->size);
        }
    }
}

void kernel_outlook(struct pool *pool, const struct outlook *o, float *y, const float *v, const float *w) {
    const struct job j = {.o = o, .y = y, .v = v, .w = w};
    const int64_t taps = o->kernel[0] * o->kernel[1];
    kernel_rows(pool, o->batch * o->heads, max64(o->out[0] * o->out[1] * taps, o->in[0] * o->in[1]) * o->size,
                forward_heads, &j);
}

/* dw of a window and head; places beyond the borders have none. */
static void weights_grad(const struct window *a, int64_t taps, const float *const *dy, const float *const *v,
                         int64_t size, float *dw, bool add) {
    float room[MAX_TAPS * MAX_TAPS];
    isa_get()->outlook_dots(room, dy, v, a->n, size);
    if (!add) memset(dw, 0, (size_t)(taps * taps) * sizeof *dw);
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t k = 0; k < a->n; k++) dw[a->tap[i] * taps + a->tap[k]] += room[i * a->n + k];
}

static void backward_heads(const void *arg, int64_t first, int64_t count) {
    const struct job *const j = arg;
    const struct outlook *const o = j->o;
    const int64_t taps = o->kernel[0] * o->kernel[1], places = o->in[0] * o->in[1], windows = o->out[0] * o->out[1];
    const int64_t C = o->heads * o->size;
    float room[MAX_TAPS * MAX_TAPS], turned[MAX_TAPS * MAX_TAPS], *to[MAX_TAPS];
    const float *dy[MAX_TAPS], *v[MAX_TAPS];
    struct window a;
    for (int64_t head = first; head < first + count; head++) {
        const int64_t b = head / o->heads, h = head % o->heads, offset = b * places * C + h * o->size;
        for (int64_t i = 0; j->dv && !j->add_v && i < places; i++)
            memset(j->dv + offset + i * C, 0, (size_t)o->size * sizeof *j->dv);
        for (int64_t n = 0; n < windows; n++) {
            const int64_t at = ((b * windows + n) * o->heads + h) * taps * taps;
            find_window(o, n, &a);
            for (int64_t i = 0; i < a.n; i++) {
                dy[i] = j->dy + offset + a.at[i] * C, v[i] = j->v + offset + a.at[i] * C;
                if (j->dv) to[i] = j->dv + offset + a.at[i] * C;
            }
            if (j->dw) weights_grad(&a, taps, dy, v, o->size, j->dw + at, j->add_w);
            if (!j->dv) continue;
            const float *const w = weights_of(&a, taps, j->w + at, room);
            for (int64_t i = 0; i < a.n * a.n; i++) turned[i % a.n * a.n + i / a.n] = w[i];
            isa_get()->outlook_mix(to, dy, turned, a.n, o->size);
        }
    }
}

void kernel_outlook_grad(struct pool *pool, const struct outlook *o, float *dv, bool add_v, float *dw, bool add_w,
                         const float *dy, const float *v, const float *w) {
    const struct job j = {.o = o, .dv = dv, .add_v = add_v, .dw = dw, .add_w = add_w, .dy = dy, .v = v, .w = w};
    const int64_t taps = o->kernel[0] * o->kernel[1];
    kernel_rows(pool, o->batch * o->heads, max64(o->out[0] * o->out[1] * taps, o->in[0] * o->in[1]) * o->size,
                backward_heads, &j);
}
