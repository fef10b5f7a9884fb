"""Linear attention and random features: the dense formulas of heed/attention.h in float64, T x T and all."""
import math

import numpy as np
import torch

from case import Family, f32, flags, given, normal, uniform


def attend(causal=False):
    """q (B,Tq,H,M), k (B,Tk,H,M), v (B,Tk,H,E), shift (B,Tk,H), keep (B,1,1,Tk), lengths of keys and queries."""
    def run(q, k, v, shift, keep, key_lengths, query_lengths):
        (B, Tq, H, _), Tk = q.shape, k.shape[1]
        a = torch.einsum("bihm,bjhm->bhij", q, k)
        see = torch.ones(B, H, Tq, Tk, dtype=torch.bool)
        if causal:
            see &= torch.tril(torch.ones(Tq, Tk, dtype=torch.bool))
        if keep is not None:
            see = see & (keep != 0)
        if key_lengths is not None:
            see = see & (torch.arange(Tk) < key_lengths[:, None, None, None])
        if query_lengths is not None:
            see = see & (torch.arange(Tq)[:, None] < query_lengths[:, None, None, None])
        s = torch.zeros(B, Tk, H).double() if shift is None else shift.detach()
        s = s.permute(0, 2, 1)[:, :, None].expand(B, H, Tq, Tk).masked_fill(~see, -math.inf)
        top = s.max(-1, keepdim=True).values if Tk else s.sum(-1, keepdim=True)
        top = torch.where(top == -math.inf, 0.0, top)
        a = torch.where(see, a * torch.exp(s - top), 0.0)
        total = a.sum(-1, keepdim=True)
        weights = torch.where(total == 0, 0.0, a / torch.where(total == 0, 1.0, total))
        return torch.einsum("bhij,bjhe->bihe", weights, v)
    return run


def features(kind, scale=0):
    def run(x, w):
        m, d = w.shape
        x = x * (scale or d ** -0.25)
        z, half = x @ w.T, (x * x).sum(-1, keepdim=True) / 2
        if kind == "trigonometric":
            shift = half.detach()
            f = torch.cat([torch.sin(z), torch.cos(z)], -1) * torch.exp(half - shift) / math.sqrt(m)
        else:
            z = torch.cat([z, -z], -1) if kind == "hyperbolic" else z
            shift = z.max(-1, keepdim=True).values.detach() - half.detach()
            f = torch.exp(z - half - shift) / math.sqrt(z.shape[-1])
        return f, shift[..., 0]
    return run


def i32(*values):
    return given(values, np.int32)


def families():
    f = Family("linear")

    def case(B=2, Tq=5, Tk=None, H=2, M=4, E=3, shift=1.0, keep=None, key_lengths=None, query_lengths=None, signed=False,
             **options):
        Tk = Tq if Tk is None else Tk
        positive = (lambda *shape: normal(*shape)) if signed else (lambda *shape: uniform(0.05, 1.0, *shape))
        inputs = [positive(B, Tq, H, M), positive(B, Tk, H, M), normal(B, Tk, H, E),
                  normal(B, Tk, H, scale=shift) if shift else None, keep, key_lengths, query_lengths]
        f.case("linear_attention", inputs, attend(**options), frozen=(3,), rtol=3e-5, atol=5e-6, **options)

    for causal in (False, True):
        case(causal=causal)
        case(causal=causal, shift=0)
        case(causal=causal, shift=20.0, Tq=9)
        case(causal=causal, keep=flags(2, 1, 1, 5))
        case(causal=causal, keep=flags(1, 1, 1, 7), Tq=7, M=1)
        case(causal=causal, key_lengths=i32(3, 5), query_lengths=i32(5, 2))
        case(causal=causal, key_lengths=i32(0, 1))
        case(causal=causal, M=17, E=33, H=1)
        case(causal=causal, E=1, H=3, B=1)
        case(causal=causal, Tq=130, B=1, H=1, M=5, E=2)
        case(causal=causal, Tq=67, B=1, H=1, M=3, E=4, keep=flags(1, 1, 1, 67), shift=5.0)
        case(causal=causal, Tq=1)
        case(causal=causal, Tq=0), case(causal=causal, B=0)
    case(Tq=3, Tk=70, B=1)
    case(Tq=70, Tk=2, H=1, E=2)
    case(Tk=0)
    for kind in ("positive", "hyperbolic", "trigonometric"):
        for shape, m in [((3, 4), 5), ((2, 3, 2, 7), 16), ((70, 3), 9), ((0, 4), 3), ((2, 1), 1)]:
            f.case("favor_features", [normal(*shape), normal(m, shape[-1])], features(kind), rtol=3e-5, atol=3e-6,
                   kind=kind)
        f.case("favor_features", [normal(4, 6), normal(8, 6)], features(kind, 0.3), rtol=3e-5, atol=3e-6, kind=kind,
               scale=0.3)
    f.case("favor_features", [normal(4, 6, scale=20.0), normal(8, 6)], features("positive"), kink=True, rtol=1e-4,
           atol=1e-5, kind="positive")
    return [f]
