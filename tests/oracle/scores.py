"""Scores, normalisers and pooling: the formulas of heed/attention.h, written plainly."""
import math

import torch

from case import Family, flags, given, normal, uniform

KERNELS = {
    "distance": lambda u2: -u2 / 2,
    "gaussian": lambda u2: torch.exp(-u2 / 2),
    "boxcar": lambda u2: (u2 <= 1).double(),
    "triangular": lambda u2: torch.relu(1 - torch.sqrt(u2)),
    "epanechnikov": lambda u2: torch.relu(1 - u2),
}


def squared(q, k, sharpness):
    u = q[..., :, None, :] - k[..., None, :, :]
    return ((u if sharpness is None else u * sharpness) ** 2).sum(-1)


def score(kind):
    """Of q, k and three parameters, which may be None."""
    if kind == "dot":
        return lambda q, k, *_: q @ k.mT
    if kind == "scaled":
        return lambda q, k, *_: q @ k.mT / math.sqrt(q.shape[-1])
    if kind == "bilinear":
        return lambda q, k, m, *_: q @ m @ k.mT
    if kind == "additive":
        def additive(q, k, w, wq, wk):
            q, k = (q if wq is None else q @ wq.T), (k if wk is None else k @ wk.T)
            return torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w
        return additive
    return lambda q, k, sharpness, *_: KERNELS[kind](squared(q, k, sharpness))


def visible(s, keep, add, key_lengths, query_lengths, causal, offset, window):
    queries, keys = s.shape[-2:]
    i, j = torch.arange(queries)[:, None] + offset, torch.arange(keys)[None, :]
    seen = torch.ones(s.shape, dtype=torch.bool)
    if causal:
        seen = seen & (j <= i)
    if window:
        seen = seen & ((i - j).abs() < window)
    lead = (-1,) + (1,) * (s.dim() - 1)
    if key_lengths is not None:
        seen = seen & (j < key_lengths.reshape(lead))
    if query_lengths is not None:
        seen = seen & (i - offset < query_lengths.reshape(lead))
    fit = (lambda t: t) if s.dim() == 4 else (lambda t: t[:, 0]) if s.dim() == 3 else (lambda t: t[0, 0])
    if keep is not None:
        seen = seen & (fit(keep) != 0)
    if add is not None:
        seen = seen & (fit(add) != -math.inf)
    return seen, (0 if add is None else fit(add))


def normalise(how, s, seen, add):
    s = s + add
    if how == "softmax":
        w = torch.softmax(s.masked_fill(~seen, -math.inf), -1)
        return torch.where(seen.any(-1, keepdim=True), w, 0.0)
    s = torch.where(seen, s, 0.0)
    if how == "sum":
        total = s.sum(-1, keepdim=True)
        return torch.where(total == 0, 0.0, s / torch.where(total == 0, 1.0, total))
    return torch.where(seen, torch.sigmoid(s), 0.0) if how == "sigmoid" else s


def normalised(how, causal=False, offset=0, window=0):
    return lambda s, *mask: normalise(how, s, *visible(s, *mask, causal, offset, window))


def pooled(kind, how, causal=False, offset=0, window=0):
    def run(q, k, v, p0, p1, p2, *mask):
        s = score(kind)(q, k, p0, p1, p2)
        w = normalise(how, s, *visible(s, *mask, causal, offset, window))
        return w @ v, w
    return run


def scores():
    f = Family("scores")

    def case(kind, q, k, p0=None, p1=None, p2=None, **more):
        f.case("score", [q, k, p0, p1, p2], score(kind), kind=kind, **more)

    for kind in ("dot", "scaled"):
        case(kind, normal(2, 3, 5), normal(2, 4, 5))
        case(kind, normal(4, 1), normal(3, 1))
        case(kind, normal(2, 2, 5, 17), normal(2, 2, 3, 17))
    case("bilinear", normal(2, 3, 5), normal(2, 4, 6), normal(5, 6))
    case("bilinear", normal(3, 2), normal(2, 2, scale=2.0), normal(2, 2))
    case("additive", normal(2, 5, 7), normal(2, 6, 9), normal(33), normal(33, 7), normal(33, 9))
    case("additive", normal(3, 4), normal(5, 4), normal(4))
    case("additive", normal(2, 2, 3, 40), normal(2, 2, 9, 40), normal(40))
    case("additive", normal(4, 35, scale=15.0), normal(4, 35, scale=15.0), normal(35))  # some beyond the calm
    case("additive", normal(1, 6), normal(7, 3), normal(5), normal(5, 6), normal(5, 3))
    for kind in KERNELS:
        near = 0.3 if kind in ("boxcar", "triangular", "epanechnikov") else 1.0
        kink = near != 1.0
        case(kind, normal(2, 3, 4, scale=near), normal(2, 5, 4, scale=near), kink=kink)
        case(kind, normal(6, 1), normal(9, 1), uniform(0.3, 1.5), kink=kink)
        case(kind, normal(2, 3, 5, 3, scale=near), normal(2, 3, 4, 3, scale=near), uniform(0.5, 1.5, 3), kink=kink)
    case("distance", normal(3, 19), normal(35, 19), uniform(0.5, 1.5, 19))
    case("gaussian", given([[1000.0], [1000.001]]), given([[1000.0005], [1001.0], [999.5]]), given(2.0))

    return f


def weights():
    f = Family("weights")

    def case(how, s, keep=None, add=None, key_lengths=None, query_lengths=None, frozen=(), **place):
        f.case("normalise", [s, keep, add, key_lengths, query_lengths], normalised(how, **place), frozen=frozen, how=how,
               **place)

    for how in ("softmax", "sum", "sigmoid", "none"):
        s = (lambda *n: uniform(0.1, 2, *n)) if how == "sum" else normal
        if how != "none":
            case(how, s(2, 3, 5))
        case(how, s(4, 7), causal=True)
        case(how, s(2, 3, 4, 6), keep=flags(2, 3, 4, 6), add=normal(1, 3, 1, 6))
        case(how, s(3, 4, 5), key_lengths=given([5, 0, 2], "i4"), query_lengths=given([4, 2, 3], "i4"))
        case(how, s(3, 4, 5), keep=flags(3, 1, 1, 5), add=given([[[[0.5, float("-inf"), -0.5, 0.25, 0]]]]), frozen=(2,))
        case(how, s(2, 1, 6, 9), causal=True, offset=2, window=3)

    def pool(kind, how, q, k, v, p0=None, p1=None, p2=None, keep=None, add=None, key_lengths=None, query_lengths=None,
             **place):
        f.case("pool", [q, k, v, p0, p1, p2, keep, add, key_lengths, query_lengths], pooled(kind, how, **place),
               kind=kind, how=how, **place)

    pool("scaled", "softmax", normal(2, 3, 5), normal(2, 4, 5), normal(2, 4, 6))
    pool("scaled", "softmax", normal(2, 2, 4, 5), normal(2, 2, 4, 5), normal(2, 2, 4, 3), causal=True)
    pool("dot", "sigmoid", normal(3, 5), normal(4, 5), normal(4, 2), keep=flags(1, 1, 3, 4))
    pool("bilinear", "none", normal(2, 3, 5), normal(2, 4, 6), normal(2, 4, 1), normal(5, 6),
         key_lengths=given([3, 4], "i4"))
    pool("additive", "softmax", normal(3, 2, 6), normal(3, 5, 4), normal(3, 5, 4), normal(8), normal(8, 6),
         normal(8, 4), key_lengths=given([5, 1, 0], "i4"), query_lengths=given([2, 2, 1], "i4"))
    pool("gaussian", "sum", normal(6, 1), normal(11, 1), normal(11, 1), uniform(0.5, 2))
    pool("epanechnikov", "sum", normal(2, 6, 2), normal(2, 7, 2), normal(2, 7, 3), keep=flags(2, 1, 6, 7))
    pool("distance", "softmax", normal(5, 3), normal(5, 3), normal(5, 2), uniform(0.5, 2, 3), add=normal(1, 1, 5, 5))
    return f


def families():
    return [scores(), weights()]
