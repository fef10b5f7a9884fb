/* The golden cases of tests/golden/ops, and what the tests of all ops share.
 *
 * A test walks the cases, notes what is wrong with each (golden_wrong prints it and counts) and asserts at its end that
 * nothing was. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "tensor/run_op.h"

#define MAX_CASE_IN 16

struct golden_case {
    char name[96]; /* "reduce/sum.3" */
    const char *op;
    struct attrs attrs;
    int n_in, n_out;
    const heed_array *in[MAX_CASE_IN];  /* NULL: left out */
    const heed_array *din[MAX_CASE_IN]; /* NULL: nobody asks for this gradient */
    const heed_array *out[MAX_OP_OUT];
    const heed_array *dout[MAX_OP_OUT]; /* NULL: no gradient comes back from this output */
    bool kink;                          /* at a point without a derivative: no finite differences */
    double rtol, atol;
};

struct large_input {
    char kind[16]; /* "normal", "positive", "uniform", "probabilities", "flags", "ids", "bf16", "f16"; "" for an input
                      left out */
    int64_t below; /* of ids */
    int rank;
    int64_t shape[HEED_MAX_RANK];
};

struct large_case {
    char name[96];
    const char *op;
    struct attrs attrs;
    int n_in;
    struct large_input in[MAX_CASE_IN];
};

struct golden {
    struct golden_case *cases;
    int n;
    struct large_case *larges;
    int n_large;
};

const struct golden *golden_open(void); /* all files; opened at first use and the same for all tests of a program */
void golden_close(void);
/* Are these the cases of all ops? With HEED_OP=softmax in the environment they are those of one. */
bool golden_is_whole(void);

/* Notes that something is wrong with a case; always false. golden_wrongs gives the count since it was last asked. */
bool golden_wrong(const char *name, const char *format, ...) HEED_PRINTF(2, 3);
int golden_wrongs(void);

const heed_op *golden_op(const char *name); /* the record of that name, or NULL */
bool golden_has_gradient(const struct golden_case *c);

heed_tensor *golden_leaf(heed_ctx *cx, const heed_array *a, bool want_grad);
bool golden_leaves(heed_ctx *cx, const struct golden_case *c,
                   heed_tensor **in); /* wanting gradients as the case does */

/* How a case's gradients go to parameters: one slot per input with a golden gradient. */
struct golden_slots {
    heed_grad slot[MAX_CASE_IN];
};
bool golden_parameters(heed_ctx *cx, const struct golden_case *c, struct golden_slots *s, heed_tensor **in);
void golden_slots_new(const struct golden_case *c, struct golden_slots *s);
void golden_slots_free(struct golden_slots *s);

/* Runs the op; back: gradients of sum_j sum(out_j * dout_j), with one output by heed_backward_from. */
bool golden_run(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in, heed_tensor **out);
bool golden_back(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *out);

/* |got - times * want| <= atol + rtol |times * want|; NaN equals NaN only, and an infinity itself. */
bool golden_close_to(const struct golden_case *c, const char *what, const float *got, const heed_array *want,
                     double times);
/* The same type, shape and numbers (integers exactly). */
bool golden_matches(heed_ctx *cx, const struct golden_case *c, const char *what, const heed_tensor *got,
                    const heed_array *want);

#endif
