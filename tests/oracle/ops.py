"""The golden cases of every op, family by family, each op with its large case for the thread test.

Where heed decides what PyTorch leaves open or does otherwise, the case says so: a softmax over nothing but -inf gives
zeros, and a mean over no counted rows gives 0."""
import math

import numpy as np
import torch
import torch.nn.functional as F

import activations
from case import (Family, bf16, distinct, distinct_sizes, f16, few, flags, given, halves, ids, normal, positive,
                  probabilities, smooth, uniform)

INF = math.inf
BIG = "517 997"


def real(x):
    """A float attribute as JSON holds it; the C side reads "inf" as a number."""
    return ("inf" if x > 0 else "-inf") if math.isinf(x) else float(np.float32(x))


# ---- elementwise ----


def elementwise():
    f = Family("elementwise")
    broadcasts = [((3, 4), (3, 4)), ((5, 37), (5, 37)), ((3, 4), (4,)), ((4,), (3, 4)), ((3, 1), (1, 4)),
                  ((), (3, 4)), ((67,), ()), ((2, 3, 4), (3, 1)), ((2, 1, 4), (1, 3, 1)),
                  ((2, 1, 3, 1, 2), (2, 1, 3, 2)), ((0, 3), (1, 3)), ((), ()), ((1,), (3, 1, 2)),
                  ((2, 3, 20), (2, 1, 20))]
    binaries = [("add", torch.add, normal, normal), ("sub", torch.sub, normal, normal),
                ("mul", torch.mul, normal, normal), ("div", torch.div, normal, positive),
                ("pow", torch.pow, positive, normal)]
    for op, fn, a, b in binaries:
        for sa, sb in broadcasts:
            f.case(op, [a(*sa), b(*sb)], fn)
        f.large(op, f"positive {BIG}", f"positive {BIG}")
        f.large(op, f"positive {BIG}", "positive 997")
        f.large(op, "positive 517 1", f"positive {BIG}")
    f.case("div", [given([1, -1, 0, 2]), given([0, 0, 0, INF])], torch.div, frozen=(0, 1))
    f.case("pow", [given([-2, -1, 0, 3, -2, 0]), given([3, 2, 2, 0, 0, 1])], torch.pow, frozen=(1,), kink=True)
    f.case("pow", [given([0, 0, 2]), given([2, 0.5, 0])], torch.pow, frozen=(0,), kink=True)
    for op, fn in [("maximum", torch.maximum), ("minimum", torch.minimum)]:
        for sa, sb in broadcasts:
            f.case(op, [smooth(*sa), halves(*sb)], fn)
        f.case(op, [given([1, 2, 3, -1]), given([1, 3, 3, -1])], fn, kink=True)
        f.large(op, f"normal {BIG}", f"normal {BIG}")
        f.large(op, f"normal {BIG}", "normal 997")

    shapes = [(), (5, 7), (0, 4), (67,), (2, 3, 1, 5)]
    for scale, shift in [(2.5, -1), (0, 3), (-1, 0), (1, 0.5), (1, 0)]:
        f.case("affine", [normal(3, 19)], lambda x: scale * x + shift, scale=real(scale), shift=real(shift))
    f.case("affine", [normal()], lambda x: 3 * x + 1, scale=3, shift=1)
    for low, high in [(-1, 1), (-INF, 0.5), (0, INF), (-INF, INF)]:
        f.case("clamp", [smooth(3, 19)], lambda x: torch.clamp(x, low, high), low=real(low), high=real(high))
    f.case("clamp", [given([-1, 1, -2, 2, 0])], lambda x: torch.clamp(x, -1, 1), low=-1, high=1, kink=True)
    for p in [2, 3, 1, 0, 0.5, -0.5, -1, -2, 2.5]:
        f.case("power", [positive(3, 19)], lambda x: torch.pow(x, p), exponent=p)
    for p in [2, 3, -1, -2, 0, 1]:
        f.case("power", [given([-2, -1, -0.5, 0.5, 1, 3])], lambda x: torch.pow(x, p), exponent=p)
    for p in [0, 1, 2, 3]:
        f.case("power", [given([0, 0])], lambda x: torch.pow(x, p), exponent=p, kink=True)
    for slope in [0.01, 0.2, -0.5]:
        f.case("leaky_relu", [smooth(3, 19)], lambda x: F.leaky_relu(x, real(slope)), slope=real(slope))
    f.case("leaky_relu", [given([0, -1, 1])], lambda x: F.leaky_relu(x, 0.25), slope=0.25, kink=True)
    for alpha in [1, 0.5, 2]:
        f.case("elu", [smooth(3, 19)], lambda x: F.elu(x, alpha), alpha=alpha)
    f.case("elu", [given([0, -50, -100, 1e-3, -1e-3])], lambda x: F.elu(x, 2), alpha=2, kink=True)
    f.large("affine", f"normal {BIG}", scale=1.5, shift=2)
    f.large("clamp", f"normal {BIG}", low=-1, high=0.5)
    f.large("power", f"positive {BIG}", exponent=1.7)
    f.large("leaky_relu", f"normal {BIG}", slope=0.1)
    f.large("elu", f"normal {BIG}", alpha=1.5)

    extreme = given([-100, -30, -10, -5, -1e-4, 0, 1e-4, 5, 10, 25, 30, 100])
    # name, PyTorch's, inputs, special numbers whose gradient is checked too, special numbers for forward only
    unaries = [
        ("neg", torch.neg, normal, None, [INF, -INF]),
        ("abs", torch.abs, smooth, given([0, -1, 1]), [INF, -INF]),
        ("sign", torch.sign, smooth, given([0, -2, 3]), [INF, -INF]),
        ("exp", torch.exp, normal, given([-100, -20, 0, 1e-4, 20, 85]), [-INF, INF, 200, -200]),
        ("log", torch.log, positive, given([1e-30, 1e-3, 1, 1e4, 1e30]), [0, INF, -1]),
        ("log1p", torch.log1p, positive, given([1e-6, -0.5, 0, 1e-3, 1e6]), [-1, INF, -2]),
        ("sqrt", torch.sqrt, positive, given([1e-6, 1, 1e6]), [0, INF, -1]),
        ("rsqrt", torch.rsqrt, positive, given([1e-4, 1, 1e6]), [0, INF, -1]),
        ("square", torch.square, normal, given([0, -3, 1e4]), [INF, -INF]),
        ("reciprocal", torch.reciprocal, positive, given([1e-3, -1, 1e6]), [0, INF]),
        ("sin", torch.sin, normal, given([-100, -10, 0, 1e-4, 3.1415927, 31, 1000]), None),
        ("cos", torch.cos, normal, given([-100, -10, 0, 1e-4, 1.5707964, 31, 1000]), None),
        ("tanh", torch.tanh, normal, extreme, [INF, -INF]),
        ("sigmoid", torch.sigmoid, normal, extreme, [INF, -INF]),
        ("relu", torch.relu, smooth, extreme, [INF, -INF]),
        ("gelu", F.gelu, normal, extreme, None),
        ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), normal, extreme, None),
        ("silu", F.silu, normal, extreme, None),
        ("softplus", F.softplus, normal, extreme, [INF, -INF]),
        ("erf", torch.erf, normal, extreme, [INF, -INF]),
        ("expm1", torch.expm1, normal, given([-100, -20, 0, 1e-4, 20, 85]), [-INF, INF, 200, -200]),
        ("relu6", F.relu6, smooth, given([-1, 0, 3, 6, 7]), [INF, -INF]),
        ("relu2", lambda x: F.relu(x)**2, smooth, extreme, [INF, -INF]),
        ("quick_gelu", activations.module("quick_gelu"), normal, extreme, None),
        ("mish", F.mish, normal, extreme, [INF]),
        ("hardswish", F.hardswish, smooth, given([-4, -3, 0, 3, 4]), [INF]),
        ("laplace", activations.module("laplace"), normal, extreme, [INF, -INF]),
        ("gelu_10", activations.module("gelu_10"), normal, extreme, [INF]),
        ("sqrtsoftplus", activations.module("sqrtsoftplus"), normal, extreme, [INF]),
        ("floor", torch.floor, smooth, given([-1.5, -1, 0, 2.5, 3]), [INF, -INF]),
        ("ceil", torch.ceil, smooth, given([-1.5, -1, 0, 2.5, 3]), [INF, -INF]),
        ("round", torch.round, smooth, given([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609]), [INF, -INF]),
    ]
    for op, fn, make, special, forward_only in unaries:
        for shape in shapes:
            f.case(op, [make(*shape)], fn)
        if special:
            f.case(op, [special], fn, kink=True)
        if forward_only:
            f.case(op, [given(forward_only)], fn, frozen=(0,))
        if op not in ("floor", "ceil", "round", "sign"):
            f.case(op, [given([math.nan])], fn, frozen=(0,))
        f.large(op, f"{'positive' if make is positive else 'normal'} {BIG}")
    return f


# ---- comparisons, logic, where, cast ----


def compare():
    f = Family("compare")
    tests = [("equal", torch.eq), ("not_equal", torch.ne), ("less", torch.lt), ("less_equal", torch.le),
             ("greater", torch.gt), ("greater_equal", torch.ge)]
    for op, fn in tests:
        for sa, sb in [((3, 37), (3, 37)), ((3, 1), (1, 4)), ((), (5,)), ((0, 2), (2,)), ((2, 3, 4), (3, 1)),
                       ((), ())]:
            f.case(op, [ids(3, *sa), ids(3, *sb)], fn)
            f.case(op, [few(*sa), few(*sb)], fn, frozen=(0, 1))
        f.case(op, [given([math.nan, 1, math.nan, INF, -0.0]),
                    given([math.nan, math.nan, 1, INF, 0.0])],
               fn,
               frozen=(0, 1))
        f.large(op, f"normal {BIG}", f"normal {BIG}")
    for op, fn in [("and", torch.logical_and), ("or", torch.logical_or), ("xor", torch.logical_xor)]:
        for sa, sb in [((3, 37), (3, 37)), ((3, 1), (1, 4)), ((), (5,)), ((0, 2), (2,)), ((2, 3, 4), (3, 1)),
                       ((), ())]:
            f.case(op, [flags(*sa), flags(*sb)], fn)
        f.large(op, f"flags {BIG}", f"flags {BIG}")
    for shape in [(3, 37), (), (0, 2)]:
        f.case("not", [flags(*shape)], torch.logical_not)
    f.large("not", f"flags {BIG}")
    for sc, sa, sb in [((3, 37), (3, 37), (3, 37)), ((3, 1), (4,), (3, 4)), ((), (3, 4), (3, 4)),
                       ((2, 3, 4), (), (3, 1)), ((4,), (2, 1, 4), (3, 1)), ((0, 2), (2,), (1, 2)), ((), (), ()),
                       ((2, 3), (), ())]:
        f.case("where", [flags(*sc), normal(*sa), normal(*sb)], lambda c, a, b: torch.where(c.bool(), a, b))
    f.large("where", f"flags {BIG}", f"normal {BIG}", f"normal {BIG}")
    f.large("where", "flags 997", f"normal {BIG}", "normal 517 1")
    for to, torch_to in [("f32", torch.float64), ("i32", torch.int32), ("u8", torch.uint8)]:
        f.case("cast", [given([-2, -1, 0, 1, 7], np.int32) if to != "u8" else given([0, 1, 1], np.int32)],
               lambda x: x.to(torch_to),
               to=to)
        f.case("cast", [flags(3, 19)], lambda x: x.to(torch_to), to=to)
    f.case("cast", [given([-2.9, -0.5, 0.5, 1, 2.9, 1e6])], lambda x: x.to(torch.int32), to="i32", frozen=(0,))
    f.case("cast", [given([0, 1, 1, 0])], lambda x: x.to(torch.uint8), to="u8", frozen=(0,))
    f.case("cast", [normal(2, 3)], lambda x: x.detach().clone(), to="f32", frozen=(0,))
    f.large("cast", f"normal {BIG}", to="i32")
    for to, torch_to in [("bf16", torch.bfloat16), ("f16", torch.float16)]:  # there and back
        f.case("cast", [normal(5, 37)], lambda x: x.float().to(torch_to).double(), to=to, frozen=(0,))
        f.case("cast", [given([0, -0.0, 1e-8, 6e-8, 1e-40, 65504, 65520, 1e30, -3e38, INF, -INF, math.nan])],
               lambda x: x.float().to(torch_to).double(),
               to=to,
               frozen=(0,))
        f.case("cast", [given([-2, 0, 257, 2049, 16777217], np.int32)], lambda x: x.float().to(torch_to).double(), to=to)
        f.case("cast", [STORED[to](normal(3, 19))], lambda x: x.clone(), to="f32")
        f.case("cast", [STORED[to](uniform(-9, 9, 3, 5))], lambda x: x.int(), to="i32")
        f.large("cast", f"normal {BIG}", to=to)
        f.large("cast", f"{to} {BIG}", to="f32")
    return f


# ---- products ----

STORED = {"bf16": bf16, "f16": f16}

ACTS = ["linear", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "softplus"]  # the usual ones: more shapes


def product():
    f = Family("product")
    for sa, sb in [((3, 4), (4, 5)), ((1, 1), (1, 1)), ((7, 13), (13, 9)), ((9, 17), (17, 21)), ((4,), (4,)),
                   ((4,), (4, 3)), ((3, 4), (4,)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4, 5)),
                   ((3, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((1, 3, 4), (5, 4, 2)),
                   ((2, 3, 2, 4), (2, 3, 4, 3)), ((0, 3), (3, 2)), ((3, 0), (0, 2)), ((3, 2), (2, 0)),
                   ((0, 2, 3), (3, 2)), ((2, 3, 0), (2, 0, 2)), ((1, 37), (37, 21)), ((5, 1), (1, 6)), ((0,), (0,)),
                   ((2, 3, 1, 5), (2, 1, 5, 4))]:
        f.case("matmul", [normal(*sa), normal(*sb)], torch.matmul)
    shapes = [((), ()), ((2,), (2,)), ((), (3,)), ((2,), ()), ((2, 1), (3,))]
    for ta in (False, True):
        for tb in (False, True):
            for m, k, n in [(3, 4, 5), (9, 17, 6)]:
                for ba, bb in shapes[:2] if m == 9 else shapes:
                    a, b = ba + ((k, m) if ta else (m, k)), bb + ((n, k) if tb else (k, n))
                    f.case("matmul_trans", [normal(*a), normal(*b)],
                           lambda x, y: torch.matmul(x.mT if ta else x, y.mT if tb else y),
                           trans_a=ta,
                           trans_b=tb)
    f.large("matmul", "normal 257 131", "normal 131 301")
    f.large("matmul", "normal 6 67 65", "normal 6 65 129")
    f.large("matmul", "normal 6 67 65", "normal 65 129")
    f.large("matmul_trans", "normal 129 257", "normal 301 129", trans_a=True, trans_b=True)

    for bias in (False, True):
        for shape, out in [((3, 4), 5), ((4,), 3), ((2, 3, 5), 7), ((0, 4), 3), ((2, 1, 0), 3), ((9, 18), 19),
                           ((1, 1), 1)]:
            f.case("linear", [normal(*shape), normal(out, shape[-1]), normal(out) if bias else None], F.linear)
        for act in ACTS:
            fn = activations.module(act)
            for shape, out in [((3, 4), 5), ((2, 3, 7), 9)]:
                f.case("linear_act",
                       [normal(*shape), normal(out, shape[-1]),
                        normal(out) if bias else None],
                       lambda x, w, b=None: fn(F.linear(x, w, b)),
                       act=act,
                       kink=act == "relu")
    f.case("linear_act", [normal(0, 3), normal(2, 3), normal(2)], lambda x, w, b: F.gelu(F.linear(x, w, b)), act="gelu")
    for act in ACTS:
        fn = activations.module(act)
        for shape, out, bias in [((3, 4), 5, True), ((2, 3, 7), 9, False)]:
            f.case("linear_transposed", [normal(*shape), normal(shape[-1], out), normal(out) if bias else None],
                   lambda x, w, b=None: fn(x @ w if b is None else x @ w + b),
                   act=act,
                   kink=act == "relu")
    f.large("linear", "normal 257 129", "normal 131 129", "normal 131")
    f.large("linear_transposed", "normal 257 129", "normal 129 131", "normal 131", act="gelu")
    f.large("linear", "normal 1030 33", "normal 31 33", None)
    for act in ACTS:
        f.large("linear_act", "normal 257 129", "normal 131 129", "normal 131", act=act)
    for act in activations.names():
        if act not in ACTS:
            f.case("linear_act", [normal(3, 7), normal(9, 7), normal(9)],
                   lambda x, w, b: activations.module(act)(F.linear(x, w, b)),
                   act=act,
                   kink=act in ("leaky_relu", "elu", "relu6", "relu2", "hardswish"))
    for name, store in STORED.items():  # the weight in 16 bits
        for shape, out in [((4,), 3), ((3, 40), 70), ((2, 3, 19), 9), ((13, 33), 20), ((0, 4), 3), ((1, 1), 1)]:
            x, w, b = normal(*shape), store(normal(out, shape[-1], scale=0.3)), normal(out)
            f.case("linear", [x, w, b], F.linear)
            f.case("linear_act", [x, w, None], lambda x, w, b: F.silu(F.linear(x, w)), act="silu")
            f.case("linear_transposed", [x, store(normal(shape[-1], out, scale=0.3)), b],
                   lambda x, w, b: F.gelu(x @ w + b),
                   act="gelu")
        f.large("linear", "normal 257 129", f"{name} 131 129", "normal 131")
        f.large("linear", "normal 1 1030", f"{name} 997 1030", None)
        f.large("linear_transposed", "normal 257 129", f"{name} 129 131", "normal 131", act="gelu")
    return f


# ---- reductions ----


def reduce():
    f = Family("reduce")
    cases = [((3, 4, 5), None), ((3, 4, 5), [0]), ((3, 4, 5), [1]), ((3, 4, 5), [-1]), ((3, 4, 5), [0, 2]),
             ((3, 4, 5), [-2, -1]), ((3, 4, 5), [0, 1]), ((2, 3, 2, 3), [1, -1]), ((2, 3, 2, 3), [0, 2]),
             ((3, 37), [1]), ((37, 3), [0]), ((2, 5, 19), [1]), ((4,), [0]), ((), None), ((1, 1), [0])]
    empties = [((0, 3), [0]), ((0, 3), None), ((3, 0), [0])]
    ops = [("sum", lambda x, d, k: torch.sum(x, d, keepdim=k), normal, {}),
           ("mean", lambda x, d, k: torch.mean(x, d, keepdim=k), normal, {}),
           ("max", lambda x, d, k: torch.amax(x, d, keepdim=k), distinct, {}),
           ("min", lambda x, d, k: torch.amin(x, d, keepdim=k), distinct, {}),
           ("variance", lambda x, d, k: torch.var(x, d, correction=0, keepdim=k), normal, {
               "correction": 0
           }), ("variance", lambda x, d, k: torch.var(x, d, correction=1, keepdim=k), normal, {
               "correction": 1
           }), ("logsumexp", lambda x, d, k: torch.logsumexp(x, d, keepdim=k), normal, {})]
    for p in [1, 2, 3, INF, 1.5]:
        ops.append(("norm", lambda x, d, k, p=p: torch.linalg.vector_norm(x, p, d, keepdim=k),
                    distinct_sizes if p == INF else smooth, {
                        "p": real(p)
                    }))
    for op, fn, make, attr in ops:
        for i, (shape, axes) in enumerate(cases):
            if attr.get("correction") == 1 and (shape in ((), (1, 1))):
                continue  # 0 / 0
            dims = tuple(range(len(shape))) if axes is None else tuple(axes)
            some = {"axes": axes} if axes is not None else {}
            for keep in (False, True) if i < 3 else (i % 2 == 0,):
                f.case(op, [make(*shape)], lambda x: fn(x, dims, keep), **some, keep=keep, **attr)
        if attr in ({}, {"correction": 1}, {"p": 3}):
            f.large(op, f"normal {BIG}", axes=[1], keep=False, **attr)
            f.large(op, f"normal {BIG}", axes=[0], keep=False, **attr)
            f.large(op, "normal 23 151 149", axes=[0, 2], keep=True, **attr)
        f.large(op, f"normal {BIG}", keep=False, **attr)
    for shape, axes in empties:
        dims = tuple(range(len(shape))) if axes is None else tuple(axes)
        some = {"axes": axes} if axes is not None else {}
        f.case("sum", [normal(*shape)], lambda x: torch.sum(x, dims), **some, keep=False)
    f.case("mean", [normal(3, 0)], lambda x: torch.mean(x, 0), axes=[0], keep=False)
    f.case("max", [normal(3, 0)], lambda x: torch.amax(x, 0), axes=[0], keep=False)
    for op, fn in [("max", torch.amax), ("min", torch.amin)]:  # ties share
        f.case(op, [given([[1, 3, 3, 2], [0, 0, 0, 0], [-1, -1, 5, 5]])],
               lambda x: fn(x, 1),
               axes=[1],
               keep=False,
               kink=True)
        f.case(op, [given([[1, 3, 3, 2], [0, 0, 0, 0], [-1, -1, 5, 5]])],
               lambda x: fn(x, (0, 1)),
               keep=False,
               kink=True)
    f.case("norm", [given([[3, -3, 1], [0, 0, 0], [2, 1, -2]])],
           lambda x: torch.linalg.vector_norm(x, INF, 1),
           p="inf",
           axes=[1],
           keep=False,
           kink=True)
    for p in (1, 2):
        f.case("norm", [given([[3, 0, -4], [0, 0, 0]])],
               lambda x: torch.linalg.vector_norm(x, p, 1),
               p=p,
               axes=[1],
               keep=False,
               kink=True)
    f.case("logsumexp", [given([[100, 101, -INF], [-200, -300, -201], [50, 50, 50]])],
           lambda x: torch.logsumexp(x, 1),
           axes=[1],
           keep=False,
           kink=True)
    f.case("logsumexp", [given([[-INF, -INF], [1, 2]])],
           lambda x: torch.logsumexp(x, 1),
           axes=[1],
           keep=False,
           frozen=(0,))
    f.case("variance", [lambda r: (1000 + r.standard_normal((3, 33))).astype(np.float32)],
           lambda x: torch.var(x, 1, correction=1),
           axes=[1],
           keep=False,
           correction=1,
           rtol=3e-4,
           kink=True)

    for shape, axis in [((3, 4, 5), 0), ((3, 4, 5), 1), ((3, 4, 5), -1), ((67,), 0), ((2, 67), 1), ((0, 3), 0),
                        ((3, 0), 0), ((1, 1), 1)]:
        f.case("cumsum", [normal(*shape)], lambda x: torch.cumsum(x, axis), axis=axis)
    f.large("cumsum", f"normal {BIG}", axis=1)
    f.large("cumsum", f"normal {BIG}", axis=0)
    for op, best in [("argmax", np.argmax),
                     ("argmin", np.argmin)]:  # numpy's gives the first of equals, by its documentation
        for shape, axis in [((3, 4, 5), 0), ((3, 4, 5), 1), ((3, 4, 5), -1), ((67,), 0), ((2, 67), 1), ((1, 1), 1),
                            ((3, 0), 0)]:
            for keep in (False, True):
                f.case(op, [few(*shape)],
                       lambda x: best(x.numpy(), axis=axis, keepdims=keep),
                       axis=axis,
                       keep=keep,
                       frozen=(0,))
        f.large(op, f"normal {BIG}", axis=1, keep=False)
        f.large(op, f"normal {BIG}", axis=0, keep=False)
    for shape, k in [((7,), 3), ((3, 5), 1), ((3, 5), 5), ((2, 3, 67), 10), ((3, 5), 0), ((0, 4), 2)]:
        f.case("topk", [distinct(*shape)], lambda x: torch.topk(x, k, dim=-1), k=k, frozen=(0,))
    f.large("topk", f"normal {BIG}", k=10)
    return f


# ---- rows ----


def zero_softmax(x, axis):
    """A row of nothing but -inf gives zeros, and a gradient of zero."""
    void = torch.isneginf(x).all(axis, keepdim=True)
    return torch.where(void, 0.0, torch.softmax(torch.where(void, 0.0, x), axis))


def rms(x, g, eps):
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return y if g is None else y * g


def rows():
    f = Family("rows")
    for op, fn in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
        for shape, axis in [((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((2, 3, 4), 0), ((67,), 0),
                            ((4, 67), 1), ((3, 1), 1), ((0, 3), 1), ((1,), 0), ((2, 5, 33), -2)]:
            f.case(op, [normal(*shape, scale=2)], lambda x: fn(x, axis), axis=axis)
        f.case(op, [given([[1000, 1001, 999], [-1000, -1001, -1003]])], lambda x: fn(x, 1), axis=1, kink=True)
        f.large(op, f"normal {BIG}", axis=1)
        f.large(op, f"normal {BIG}", axis=0)
    masked = given([[1, -INF, 2], [-INF, -INF, -INF], [-INF, 3, -INF]])
    f.case("softmax", [masked], lambda x: zero_softmax(x, 1), axis=1, kink=True)
    f.case("softmax", [masked], lambda x: zero_softmax(x, 0), axis=0, kink=True)
    for shape in [(3, 5), (2, 2, 9), (7,), (0, 4), (3, 37)]:
        c = shape[-1]
        for g, b in [(True, True), (True, False), (False, True), (False, False)]:
            eps = real(1e-5)
            gb = [positive(c) if g else None, normal(c) if b else None]
            f.case("layer_norm", [normal(*shape), *gb], lambda x, u, v: F.layer_norm(x, (c,), u, v, eps), eps=eps)
            for h in (True, False):

                def add_norm(x, r, u, v):
                    s = x + r
                    y = F.layer_norm(s, (c,), u, v, eps)
                    return (y, s) if h else y

                f.case("add_layer_norm", [normal(*shape), normal(*shape), *gb], add_norm, eps=eps, h=h)
        for g in (True, False):
            eps = real(1e-6)
            gamma = positive(c) if g else None
            f.case("rms_norm", [normal(*shape), gamma], lambda x, u: rms(x, u, eps), eps=eps)
            for h in (True, False):

                def add_rms(x, r, u):
                    s = x + r
                    return (rms(s, u, eps), s) if h else rms(s, u, eps)

                f.case("add_rms_norm", [normal(*shape), normal(*shape), gamma], add_rms, eps=eps, h=h)
    f.case("layer_norm",
           [given([[2, 2, 2], [1, 1, 1]]), positive(3), normal(3)],
           lambda x, u, v: F.layer_norm(x, (3,), u, v, 0.1),
           eps=real(0.1))
    f.case("layer_norm",
           [lambda r: (100 + r.standard_normal((3, 33))).astype(np.float32),
            positive(33), normal(33)],
           lambda x, u, v: F.layer_norm(x, (33,), u, v, real(1e-5)),
           eps=real(1e-5),
           rtol=3e-4,
           atol=5e-5,
           kink=True)
    wide = f"normal {BIG}"
    f.large("layer_norm", wide, "positive 997", "normal 997", eps=1e-5)
    f.large("rms_norm", wide, "positive 997", eps=1e-5)
    f.large("add_layer_norm", wide, wide, "positive 997", "normal 997", eps=1e-5, h=True)
    f.large("add_rms_norm", wide, wide, "positive 997", eps=1e-5, h=True)
    f.large("layer_norm", "normal 15001 33", "positive 33", "normal 33", eps=1e-5)
    f.large("rms_norm", "normal 15001 33", "positive 33", eps=1e-5)
    f.large("dropout", wide, p=0.3)
    for shape in [(3, 8), (2, 3, 34), (2,), (0, 4), (5, 0)]:
        f.case("glu", [normal(*shape)], F.glu)
    f.large("glu", "normal 517 994")
    return f


# ---- Fourier transforms ----

def fourier_mix(x):
    return torch.fft.fftn(x, dim=(-2, -1)).real if x.numel() else x.clone()


def fourier_band(x, low, high):
    """The centred spectrum within a ring, in waves to the shorter side."""
    if not x.numel():
        return x.clone()
    rows, cols = x.shape[-2:]
    side = min(rows, cols)
    u = (torch.arange(rows) - rows // 2).double() * side / rows
    v = (torch.arange(cols) - cols // 2).double() * side / cols
    f = u[:, None] ** 2 + v[None, :] ** 2
    mask = ((f > low ** 2) | (low < 0)) & (f <= high ** 2)
    spectrum = torch.fft.fftshift(torch.fft.fft2(x), dim=(-2, -1)) * mask
    return torch.fft.ifft2(torch.fft.ifftshift(spectrum, dim=(-2, -1))).real


def fourier():
    f = Family("fourier")
    for shape in [(1, 1), (2, 3), (2, 5, 4), (1, 16), (16, 1), (3, 7, 10), (37, 6), (2, 3, 41), (2, 12, 35), (2, 2, 3, 9),
                  (0, 3, 4), (2, 0, 3)]:
        size = max(1, shape[-2] * shape[-1]) ** 0.5  # of the results, and of their errors
        f.case("fourier_mix", [normal(*shape)], fourier_mix, atol=2e-6 * size)
    f.large("fourier_mix", "normal 2 300 331")
    for shape, low, high in [((8, 8), -1, 2), ((3, 8, 8), 2, 99), ((2, 3, 9, 9), 0, 3.5), ((2, 2, 5, 12), -1, 1.5), ((2, 1, 37, 6), 1, 2.5),
                             ((3, 20, 17), 4, 99), ((1, 1), -1, 0), ((4, 1), 0, 9), ((0, 3, 4), -1, 1), ((2, 0, 3), -1, 1), ((3, 4), 0.1, 0.2)]:
        f.case("fourier_band", [normal(*shape)], lambda x, low=low, high=high: fourier_band(x, low, high), low=low, high=high, atol=4e-6)
    f.large("fourier_band", "normal 5 3 100 70", low=-1, high=9)
    return f


# ---- indices ----


def index():
    f = Family("index")
    for v, c, shape in [(5, 3, (4,)), (7, 37, (3, 5)), (3, 4, ()), (2, 1, (2, 3, 2)), (4, 3, (0,)), (1, 5, (6,)),
                        (3, 0, (2,)), (50, 2, (3,))]:
        f.case("embedding", [normal(v, c), ids(v, *shape)], lambda t, i: t[i])
    f.large("embedding", "normal 1009 131", "ids 1009 53 79")
    f.large("embedding", "normal 5 131", "ids 5 53 79")
    for shape, axis, ishape in [((3, 4), 1, (3, 2)), ((3, 4), 0, (5, 4)), ((3, 4), -1, (2, 7)),
                                ((2, 3, 4), 1, (2, 5, 4)), ((2, 3, 4), 0, (1, 2, 3)), ((5,), 0, (8,)),
                                ((2, 3, 4), 2, (2, 3, 1)), ((3, 4), 1, (0, 2)), ((3, 4), 1, (3, 0)),
                                ((2, 3, 37), -2, (2, 2, 37))]:
        f.case("gather", [normal(*shape), ids(shape[axis], *ishape)], lambda x, i: torch.gather(x, axis, i), axis=axis)
        f.case("scatter_add",
               [normal(*shape), ids(shape[axis], *ishape), normal(*ishape)],
               lambda x, i, s: torch.scatter_add(x, axis, i, s),
               axis=axis)
    f.large("gather", f"normal {BIG}", "ids 997 517 499", axis=1)
    f.large("gather", f"normal {BIG}", "ids 517 1021 997", axis=0)
    f.large("scatter_add", f"normal {BIG}", "ids 997 511 499", "normal 511 499", axis=1)
    f.large("scatter_add", "normal 37 997", "ids 37 519 997", "normal 519 997", axis=0)
    for shape, axis, n in [((3, 4), 0, 5), ((3, 4), 1, 2), ((2, 3, 4), 1, 6), ((2, 3, 37), -1, 40), ((2, 3, 37), -3, 5),
                           ((5,), 0, 7), ((3, 4), 0, 0), ((0, 4), 1, 3)]:
        f.case("index_select", [normal(*shape), ids(shape[axis], n)],
               lambda x, i: torch.index_select(x, axis, i),
               axis=axis)
    f.large("index_select", "normal 37 997", "ids 37 519", axis=0)
    f.large("index_select", "normal 517 37", "ids 37 997", axis=1)
    for name, store in STORED.items():
        for v, c, shape in [(5, 3, (4,)), (7, 40, (2, 3)), (3, 1, (5,)), (4, 6, (0,))]:
            f.case("embedding", [store(normal(v, c)), ids(v, *shape)], lambda t, i: F.embedding(i, t))
        f.large("embedding", f"{name} 997 129", "ids 997 517")
    return f


# ---- shapes ----


def shape():
    f = Family("shape")
    kinds = [normal, lambda *s: ids(100, *s), flags]  # f32, i32, u8
    for make in kinds:
        for s, to in [((2, 6), (3, 4)), ((2, 6), (12,)), ((2, 6), (-1,)), ((2, 6), (2, -1, 3)), ((), (1, 1)),
                      ((1,), ()), ((0, 3), (3, 0)), ((0, 3), (0, 7)), ((3, 4), (3, 4))]:
            f.case("reshape", [make(*s)], lambda x: x.reshape(to), shape=list(to))
        for s, axis, start, length in [((5, 4), 0, 1, 3), ((5, 4), 1, 1, 2), ((2, 5, 3), 1, 2, 2),
                                       ((2, 5, 3), -1, 0, 1), ((2, 5, 3), 0, 1, 1), ((5,), 0, 0, 5), ((5, 4), 1, 2, 0),
                                       ((5, 4), 0, 5, 0), ((2, 3, 37), 2, 3, 33)]:
            f.case("slice", [make(*s)], lambda x: x.narrow(axis, start, length), axis=axis, start=start, length=length)
            f.case("contiguous", [make(*s)],
                   lambda x: x.narrow(axis, start, length).contiguous(),
                   axis=axis,
                   start=start,
                   length=length)
        for s, axis, sizes in [((5, 4), 0, [1, 3, 1]), ((5, 4), 1, [2, 2]), ((2, 5, 3), 1, [1, 4]),
                               ((2, 5, 3), -1, [3]), ((2, 5, 3), 1, [0, 5]), ((6,), 0, [1, 2, 3])]:
            f.case("split", [make(*s)], lambda x: torch.split(x, sizes, axis), axis=axis, sizes=sizes)
        for parts, axis in [([(2, 3), (1, 3)], 0), ([(2, 3), (2, 1), (2, 4)], 1), ([(2, 3, 4), (2, 2, 4)], -2),
                            ([(3,), (0,), (2,)], 0), ([(2, 3)], 0), ([(2, 1)] * 9, 1), ([(0, 3), (0, 2)], 1)]:
            f.case("concat", [make(*s) for s in parts], lambda *x: torch.cat(x, axis), axis=axis)
        for s, n, axis in [((2, 3), 3, 0), ((2, 3), 2, 1), ((2, 3), 2, 2), ((2, 3), 2, -1), ((), 4, 0), ((5,), 1, 0),
                           ((2, 3), 2, -3), ((0, 2), 2, 1)]:
            f.case("stack", [make(*s)] * n, lambda *x: torch.stack(x, axis), axis=axis)
        for s, axes in [((3, 4), (1, 0)), ((2, 3, 4), (0, 2, 1)), ((2, 3, 4), (2, 1, 0)), ((2, 3, 4), (1, 2, 0)),
                        ((2, 3, 4, 5), (0, 2, 1, 3)), ((2, 3, 4), (0, 1, 2)), ((2, 1, 3, 2, 3), (4, 2, 0, 3, 1)),
                        ((), ()), ((5,), (0,)), ((0, 3), (1, 0)), ((2, 3, 4), (-1, 0, 1)), ((17, 35), (1, 0))]:
            f.case("permute", [make(*s)], lambda x: x.permute(axes), axes=list(axes))
        for s, a, b in [((3, 4), 0, 1), ((2, 3, 4), 1, -1), ((2, 3, 4), 0, 2), ((2, 3, 4), 1, 1), ((2, 3, 4, 5), 1, 2),
                        ((17, 35), -2, -1)]:
            f.case("transpose", [make(*s)], lambda x: x.transpose(a, b), axis_a=a, axis_b=b)
        for s, to in [((3, 1), (3, 4)), ((4,), (3, 4)), ((1, 4), (3, -1)), ((), (2, 3)), ((2, 1, 3), (2, 5, 3)),
                      ((1,), (0,)), ((3,), (3,)), ((1, 37), (5, 37)), ((2, 1), (3, 2, 4))]:
            f.case("expand", [make(*s)], lambda x: x.expand(to), shape=list(to))
        for s, before, after in [((3, 4), [1, 0], [0, 2]), ((3, 4), [0, 0], [0, 0]), ((5,), [2], [3]),
                                 ((2, 3, 4), [1, 2, 0], [0, 1, 3]), ((0, 2), [1, 1], [1, 1]), ((), [], [])]:
            flat = [n for pair in reversed(list(zip(before, after))) for n in pair]
            f.case("pad", [make(*s)], lambda x: F.pad(x, flat, value=1), before=before, after=after, value=1)
        for s, shift, axis in [((5,), 2, 0), ((3, 4), -1, 1), ((3, 4), 7, 0), ((2, 3, 4), 1, 1), ((2, 3, 37), -5, -1),
                               ((3, 4), 0, 1), ((0, 3), 1, 0)]:
            f.case("roll", [make(*s)], lambda x: torch.roll(x, shift, axis), shift=shift, axis=axis)
        for s, axis in [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 4), 1), ((2, 3, 37), -1), ((0, 3), 1)]:
            f.case("flip", [make(*s)], lambda x: torch.flip(x, [axis]), axis=axis)
    f.case("pad", [normal(2, 3)], lambda x: F.pad(x, [1, 2], value=-0.5), before=[0, 1], after=[0, 2], value=-0.5)
    for s in [(3, 4), (), (0, 2)]:
        f.case("detach", [normal(*s)], lambda x: x.detach(), frozen=(0,))
    wide = f"normal {BIG}"
    f.large("reshape", wide, shape=[997, 517])
    f.large("slice", wide, axis=1, start=3, length=801)
    f.large("contiguous", wide, axis=1, start=3, length=801)
    f.large("split", wide, axis=1, sizes=[300, 1, 696])
    f.large("concat", wide, "normal 517 101", "normal 517 3", axis=1)
    f.large("concat", wide, "normal 101 997", axis=0)
    f.large("stack", wide, wide, axis=1)
    f.large("stack", wide, wide, axis=2)
    f.large("permute", "normal 7 131 13 43", axes=[0, 2, 1, 3])
    f.large("permute", "normal 7 131 13 43", axes=[3, 1, 0, 2])
    f.large("transpose", wide, axis_a=0, axis_b=1)
    f.large("expand", "normal 517 1", shape=[517, 997])
    f.large("expand", "normal 997", shape=[517, 997])
    f.large("pad", wide, before=[3, 5], after=[1, 0], value=2)
    f.large("roll", wide, shift=-100, axis=1)
    f.large("roll", wide, shift=100, axis=0)
    f.large("flip", wide, axis=1)
    f.large("flip", wide, axis=0)
    f.large("detach", wide)
    return f


# ---- losses ----

REDUCTIONS = ["mean", "sum", "none"]


def cross_entropy(reduction, smoothing, ignore):

    def fn(logits, target):
        rows, flat = logits.reshape(-1, logits.shape[-1]), target.reshape(-1)
        if reduction == "mean" and (flat != ignore).sum() == 0:
            return 0.0 * rows.sum()
        y = F.cross_entropy(rows, flat, reduction=reduction, label_smoothing=real(smoothing), ignore_index=ignore)
        return y.reshape(target.shape) if reduction == "none" else y

    return fn


def cross_entropy_soft(reduction, smoothing):

    def fn(logits, p):
        v = logits.shape[-1]
        y = F.cross_entropy(logits.reshape(-1, v),
                            p.reshape(-1, v),
                            reduction=reduction,
                            label_smoothing=real(smoothing))
        return y.reshape(logits.shape[:-1]) if reduction == "none" else y

    return fn


def loss():
    f = Family("loss")
    wide = f"normal {BIG}"
    for reduction in REDUCTIONS:
        attr = {"reduction": reduction}
        for s in [(3, 4), (37,), (), (2, 3, 1)]:
            f.case("mse_loss", [normal(*s), normal(*s)], lambda x, y: F.mse_loss(x, y, reduction=reduction), **attr)
            f.case("l1_loss", [smooth(*s), halves(*s)], lambda x, y: F.l1_loss(x, y, reduction=reduction), **attr)
            for delta in [1, 0.5]:
                f.case("huber_loss", [smooth(*s), halves(*s)],
                       lambda x, y: F.huber_loss(x, y, reduction=reduction, delta=delta),
                       delta=delta,
                       **attr)
            f.case("bce_loss", [normal(*s, scale=2), uniform(0.1, 0.9, *s)],
                   lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction=reduction), **attr)
            f.case("kl_loss", [lambda r, s=s: np.log(positive(*s)
                                                     (r)) - 2, positive(*s)],
                   lambda x, y: F.kl_div(x, y, reduction=reduction), **attr)
        f.case("l1_loss", [given([1, 2, 3]), given([1, 2, 4])],
               lambda x, y: F.l1_loss(x, y, reduction=reduction),
               kink=True,
               **attr)
        f.case("huber_loss", [given([1, 3, -8]), given([0, 2, 100])],
               lambda x, y: F.huber_loss(x, y, reduction=reduction),
               delta=1,
               kink=True,
               **attr)
        f.case("bce_loss", [given([-100, 100, 0, -20, 20, 100, -100]),
                            given([0, 1, 1, 1, 0, 0, 1])],
               lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction=reduction),
               kink=True,
               **attr)
        f.case("kl_loss", [given([-1, -2, -3]), given([0, 0.5, 1])],
               lambda x, y: F.kl_div(x, y, reduction=reduction),
               frozen=(1,),
               kink=True,
               **attr)
        if reduction != "mean":
            f.case("mse_loss", [normal(0, 3), normal(0, 3)], lambda x, y: F.mse_loss(x, y, reduction=reduction), **attr)
        for smoothing in [0, 0.1]:
            opts = {"smoothing": real(smoothing), **attr}
            for s, v in [((4,), 5), ((2, 3), 7), ((), 4), ((3,), 37), ((3,), 1)]:
                f.case("cross_entropy", [normal(*s, v, scale=2), ids(v, *s)], cross_entropy(reduction, smoothing, -100),
                       **opts)
                f.case("cross_entropy_soft", [normal(*s, v, scale=2), probabilities(*s, v)],
                       cross_entropy_soft(reduction, smoothing), **opts)
                for bias in (True, False):
                    c = 6 if v < 30 else 5
                    f.case("linear_cross_entropy",
                           [normal(*s, c), normal(v, c),
                            normal(v) if bias else None,
                            ids(v, *s)], lambda x, w, b, t: cross_entropy(reduction, smoothing, -100)
                           (F.linear(x, w, b), t), **opts)
            for target, index_ in [([1, 3, 0, 3, 2], 3), ([-1, 0, 1, -1, 2], -1), ([2, 2, 2, 2, 2], 2)]:
                some = {"ignore": index_, **opts}
                fn = cross_entropy(reduction, smoothing, index_)
                f.case("cross_entropy", [normal(5, 4, scale=2), given(target, np.int32)], fn, **some)
                f.case("linear_cross_entropy",
                       [normal(5, 3), normal(4, 3), normal(4),
                        given(target, np.int32)], lambda x, w, b, t: fn(F.linear(x, w, b), t), **some)
        f.case("cross_entropy", [given([[1000, 0, -1000], [-1000, 1000, 0]]),
                                 given([2, 1], np.int32)],
               cross_entropy(reduction, 0, -100),
               kink=True,
               **attr)
    f.case("cross_entropy", [normal(4, 5), ids(5, 4)], cross_entropy("mean", 0, -100))  # no options at all
    f.case("cross_entropy_soft", [normal(4, 5), probabilities(4, 5)], cross_entropy_soft("mean", 0))
    f.case("linear_cross_entropy",
           [normal(4, 3), normal(5, 3), normal(5), ids(5, 4)], lambda x, w, b, t: cross_entropy("mean", 0, -100)
           (F.linear(x, w, b), t))
    for reduction in ["mean", "none"]:
        f.large("mse_loss", wide, wide, reduction=reduction)
        f.large("l1_loss", wide, wide, reduction=reduction)
        f.large("huber_loss", wide, wide, delta=1, reduction=reduction)
        f.large("bce_loss", wide, f"uniform {BIG}", reduction=reduction)
        f.large("kl_loss", wide, f"positive {BIG}", reduction=reduction)
        f.large("cross_entropy", wide, "ids 997 517", reduction=reduction, smoothing=0.1)
        f.large("cross_entropy_soft", wide, f"probabilities {BIG}", reduction=reduction, smoothing=0.1)
        f.large("linear_cross_entropy",
                "normal 517 33",
                "normal 997 33",
                "normal 997",
                "ids 997 517",
                reduction=reduction,
                smoothing=0.1)
    f.large("linear_cross_entropy",
            "normal 517 33",
            "normal 997 33",
            None,
            "ids 997 517",
            reduction="mean",
            smoothing=0,
            ignore=5)
    for name, store in STORED.items():
        for reduction in ["mean", "none"]:
            for bias in (True, False):
                f.case("linear_cross_entropy", [normal(4, 19), store(normal(37, 19)),
                                                normal(37) if bias else None,
                                                ids(37, 4)],
                       lambda x, w, b, t: cross_entropy(reduction, 0.1, -100)(F.linear(x, w, b), t),
                       smoothing=real(0.1),
                       reduction=reduction)
        f.large("linear_cross_entropy", "normal 517 33", f"{name} 997 33", "normal 997", "ids 997 517", reduction="mean")
    return f


# ---- handwriting ----


def mixture_fn(reduction):
    """The step of a pen, by torch.distributions: a mixture of bivariate normals by their covariances, and a Bernoulli."""
    def fn(y, x, pen):
        e, w, m1, m2, s1, s2, r = y.split([1] + [y.shape[-1] // 6] * 6, -1)
        d1, d2, rho = s1.clamp(-10, 10).exp(), s2.clamp(-10, 10).exp(), r.clamp(-6, 6).tanh()
        root = torch.zeros(*m1.shape, 2, 2, dtype=y.dtype)  # of the covariance: lower triangular
        root[..., 0, 0], root[..., 1, 0] = d1, rho * d2
        root[..., 1, 1] = d2 / r.clamp(-6, 6).cosh()
        normals = torch.distributions.MultivariateNormal(torch.stack([m1, m2], -1), scale_tril=root)
        step = torch.distributions.MixtureSameFamily(torch.distributions.Categorical(logits=w), normals)
        end = torch.distributions.Bernoulli(logits=-e[..., 0])
        counts = pen >= 0
        each = -(step.log_prob(x) + end.log_prob(pen.clamp(min=0).to(y.dtype)))
        each = torch.where(counts, each, torch.zeros_like(each))
        return each if reduction == "none" else each.sum() if reduction == "sum" else each.sum() / max(int(counts.sum()), 1)
    return fn


def mixture():
    f = Family("mixture")
    for reduction in REDUCTIONS:
        fn = mixture_fn(reduction)
        for s, m in [((3,), 1), ((2, 3), 4), ((), 3), ((37,), 2), ((2,), 20)]:
            f.case("mixture_loss", [normal(*s, 6 * m + 1), normal(*s, 2), ids(2, *s)], fn, reduction=reduction)
        f.case("mixture_loss", [normal(5, 13), normal(5, 2), given([0, -100, 1, -1, 0], np.int32)], fn, reduction=reduction)
        f.case("mixture_loss", [normal(2, 7), normal(2, 2), given([-100, -100], np.int32)], fn, reduction=reduction)
        f.case("mixture_loss", [normal(3, 19, scale=5), normal(3, 2, scale=5), ids(2, 3)], fn, kink=True,
               reduction=reduction)
        # far away; nearly a line; deviations and correlations beyond what is held; ends of strokes that are certain
        f.case("mixture_loss", [given([[0, 0, 0, 0, 0, 0, 0], [100, 3, 1, 1, -9.5, -9.5, 5.5], [-100, 0, 0, 0, 50, -50, 80],
                                       [80, 1, 0, 0, -30, -30, -90]]),
                                given([[1e4, -1e5], [1, 1], [3, 3e-5], [0, 0]]),
                                given([1, 0, 1, 1], np.int32)], fn, kink=True, reduction=reduction)
        f.case("mixture_loss", [given([[0, 1000, -1000, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]]), given([[2, 2]]),
                                given([0], np.int32)], fn, kink=True, reduction=reduction)
    for reduction in ["mean", "none"]:
        f.large("mixture_loss", "normal 1009 121", "normal 1009 2", "ids 2 1009", reduction=reduction)
    return f


# ---- recurrent networks ----


def recurrent_fn(kind, lengths, reverse, relu=False):
    """torch.nn.RNN, GRU or LSTM of one layer with these weights. The reverse direction is that of a bidirectional layer
    on packed sequences; rows of length 0, which torch refuses, keep their states."""
    def fn(x, w_ih, w_hh, b_ih, b_hh, h0, _, c0=None, w_hr=None):
        rows, steps, inputs = x.shape
        gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
        units, outputs = w_hh.shape[0] // gates, w_hh.shape[1]
        some = {"nonlinearity": "relu" if relu else "tanh"} if kind == "rnn" else {}
        some.update({"proj_size": outputs} if w_hr is not None else {})
        module = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[kind](
            inputs, units, bias=b_ih is not None, batch_first=True, bidirectional=reverse, **some).double()
        suffix = "_l0_reverse" if reverse else "_l0"
        weights = {"weight_ih": w_ih, "weight_hh": w_hh, "bias_ih": b_ih, "bias_hh": b_hh, "weight_hr": w_hr}
        weights = {key + suffix: w for key, w in weights.items() if w is not None}
        sizes = lengths if lengths is not None else [steps] * rows
        some = [b for b in range(rows) if sizes[b] > 0]
        h = x.new_zeros(rows, outputs) if h0 is None else h0
        c = x.new_zeros(rows, units) if c0 is None else c0

        def both(t):  # directions first; the states of the other direction do not matter
            t = t[some].unsqueeze(0)
            return torch.cat([torch.zeros_like(t), t]) if reverse else t

        y, hn, cn = x.new_zeros(rows, steps, outputs), h.clone(), c.clone()
        if some:
            packed = torch.nn.utils.rnn.pack_padded_sequence(x[some], [sizes[b] for b in some], batch_first=True,
                                                             enforce_sorted=False)
            states = (both(h), both(c)) if kind == "lstm" else both(h)
            out, last = torch.func.functional_call(module, weights, (packed, states))
            last = last if kind == "lstm" else (last,)
            out = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=steps)[0]
            at = torch.tensor(some)
            y = y.index_copy(0, at, out[..., -outputs:])
            hn = hn.index_copy(0, at, last[0][-1])
            cn = cn.index_copy(0, at, last[1][-1]) if kind == "lstm" else cn
        return (y, hn, cn) if kind == "lstm" else (y, hn)
    return fn


def recurrent():
    f = Family("recurrent")
    # rows, steps, inputs, units, outputs of a projection, lengths
    shapes = [(2, 3, 4, 5, 0, None), (3, 6, 2, 9, 0, [6, 2, 4]), (1, 1, 3, 4, 0, None), (4, 5, 2, 33, 0, [0, 5, 1, 5]),
              (2, 2, 1, 1, 0, [1, 2]), (5, 4, 3, 16, 0, None)]
    for kind, gates in [("rnn", 1), ("gru", 3), ("lstm", 4)]:
        projected = [(3, 5, 4, 7, 3, [5, 1, 4]), (2, 4, 3, 5, 2, None), (1, 2, 2, 3, 2, None)] if kind == "lstm" else []
        for number, (b, t, c, h, p, lengths) in enumerate(shapes + projected):
            outputs, scale = p or h, min(0.6, h**-0.5)  # no larger: chaos would magnify rounding
            for reverse in (False, True):
                for bias, states in [(True, True), (False, False)]:
                    if h > 32 and bias == reverse:
                        continue
                    inputs = [normal(b, t, c), normal(gates * h, c, scale=scale), normal(gates * h, outputs, scale=scale),
                              normal(gates * h) if bias else None, normal(gates * h) if bias else None,
                              normal(b, outputs) if states else None,
                              None if lengths is None else given(lengths, np.int32)]
                    if kind == "lstm":
                        inputs += [normal(b, h) if states else None, normal(p, h, scale=scale) if p else None]
                    attr = {"reverse": True} if reverse else {}
                    f.case(kind, inputs, recurrent_fn(kind, lengths, reverse), rtol=5e-5, atol=5e-6, **attr)
                    if kind == "rnn" and number < 3:
                        f.case(kind, inputs, recurrent_fn(kind, lengths, reverse, True), kink=True, relu=True, **attr)
        for store in STORED.values():
            inputs = [normal(2, 5, 3), store(normal(gates * 4, 3)), store(normal(gates * 4, 4)), None, None, None, None]
            f.case(kind, inputs + [None] * (2 if kind == "lstm" else 0), recurrent_fn(kind, None, False), rtol=5e-5)
        state = ["normal 37 70"] if kind == "lstm" else []
        f.large(kind, "normal 37 19 50", f"normal {gates * 70} 50", f"normal {gates * 70} 70", f"normal {gates * 70}",
                f"normal {gates * 70}", "normal 37 70", "ids 20 37", *(state + [None] if state else []), reverse=True)
        f.large(kind, "normal 37 19 50", f"normal {gates * 70} 50", f"normal {gates * 70} 70", None, None, None, None,
                *[None for _ in range(2 if state else 0)])
    f.large("lstm", "normal 37 19 50", "normal 280 50", "normal 280 45", "normal 280", "normal 280", "normal 37 45",
            "ids 20 37", "normal 37 70", "normal 45 70")
    return f


def families():
    return [elementwise(), compare(), product(), reduce(), rows(), fourier(), index(), shape(), loss(), mixture(), recurrent()]
