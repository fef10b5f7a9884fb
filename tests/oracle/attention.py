"""Exact attention: the plain formula, held against PyTorch's scaled_dot_product_attention wherever every row sees a key
(of a row that sees none PyTorch makes NaN, heed zeros)."""
import math

import numpy as np
import torch

from case import Family, f32, flags, given, normal
from positions import alibi_slopes, rotary, t5_bias


# ---- the formula ----

def visible(batch, heads, queries, keys, keep, key_lengths, query_lengths, causal, offset, window, block):
    """(B,H,Tq,Tk): may query i see key j?"""
    at, j = torch.arange(offset, offset + queries)[:, None], torch.arange(keys)[None, :]
    see = torch.ones(queries, keys, dtype=torch.bool)
    if causal:
        see &= j <= at
    if window:
        see &= (at - j).abs() < window
    if block:
        see &= at // block == j // block
    see = see.expand(batch, heads, queries, keys)
    if keep is not None:
        see = see & (keep != 0)
    if key_lengths is not None:
        see = see & (j < key_lengths[:, None, None, None])
    if query_lengths is not None:
        see = see & (torch.arange(queries)[:, None] < query_lengths[:, None, None, None])
    return see


def turned(x, options, positions, start):
    options = {"base": 10000, "channels": 0, "interleaved": False, "start": 0, **options}
    return rotary(x, positions, **{**options, "start": options["start"] + start})


def attend(q, k, v, add=None, distance=None, keep=None, key_lengths=None, query_lengths=None, scale=0, causal=False,
           offset=0, window=0, block=0, alibi=False, cap=0):
    """q (B,Tq,H,D), k (B,Tk,G,D), v (B,Tk,G,E) -> (B,Tq,H,E)"""
    (batch, queries, heads, size), keys = q.shape, k.shape[1]
    group = heads // max(k.shape[2], 1)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    scale = scale or 1 / math.sqrt(size)
    see = visible(batch, heads, queries, keys, keep, key_lengths, query_lengths, causal, offset, window, block)
    bias = torch.zeros(batch, heads, queries, keys, dtype=torch.float64)
    far = torch.arange(keys)[None, :] - torch.arange(offset, offset + queries)[:, None]
    if add is not None:
        see = see & (add != -math.inf)
        bias = bias + torch.where(add == -math.inf, 0.0, add)
    if alibi:
        bias = bias - alibi_slopes(heads)[:, None, None] * far.abs()
    if distance is not None:
        bias = bias + distance[:, far + offset + queries - 1]
    all_k, all_v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = scale * q @ all_k.transpose(-1, -2)
    scores = (cap * torch.tanh(scores / cap) if cap else scores) + bias  # as Gemma 2
    some = see.any(-1, keepdim=True)
    weights = torch.softmax(torch.where(see | ~some, scores, -math.inf), -1) if keys else scores
    y = torch.where(some, weights, 0.0) @ all_v
    if y.numel() and keys and not cap:
        fused = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, torch.where(see, bias, -math.inf), scale=scale, enable_gqa=True)
        assert torch.where(some, fused - y, 0.0).abs().max() < 1e-12
    return y.transpose(1, 2)


def packed(q, k, v, add, distance, keep, q_at, k_at, longest, **options):
    """Sequence by sequence; biases and bitmaps are those of the longest."""
    parts = []
    for b in range(len(q_at) - 1):
        i, j = slice(q_at[b], q_at[b + 1]), slice(k_at[b], k_at[b + 1])
        n, m = q_at[b + 1] - q_at[b], k_at[b + 1] - k_at[b]
        one = lambda t: None if t is None else t[min(b, t.shape[0] - 1):][:1, :, :n, :m]
        near = None if distance is None else distance[:, longest[0] - n:longest[0] + m - 1]
        parts.append(attend(q[None, i], k[None, j], v[None, j], one(add), near, one(keep), **options)[0])
    return torch.cat(parts)


def formula(rotary=None, t5=None, **options):
    """Inputs: q, k, v, add, distance, keep, key and query lengths, query and key offsets, positions, T5's table."""
    def run(q, k, v, add, distance, keep, key_lengths, query_lengths, q_at, k_at, positions, table):
        offset = options.get("offset", 0)
        if rotary is not None:
            q, k = turned(q, rotary, positions, offset), turned(k, rotary, positions, 0)
        if t5:
            distance = t5_bias(table, q.shape[1], k.shape[1], offset, **t5)
        if q_at is None:
            return attend(q, k, v, add, distance, keep, key_lengths, query_lengths, **options)
        longest = int((q_at[1:] - q_at[:-1]).max()), int((k_at[1:] - k_at[:-1]).max())
        return packed(q, k, v, add, distance, keep, q_at.tolist(), k_at.tolist(), longest, **options)
    return run


# ---- cases ----

NAMES = ["add", "distance", "keep", "key_lengths", "query_lengths", "query_offsets", "key_offsets", "positions", "table"]


def i32(*values):
    return given(values, np.int32)


def with_holes(*shape):
    """A bias of which some numbers are -inf, and the first row is."""
    def make(r):
        a = r.standard_normal(shape).astype(f32)
        a[r.uniform(size=shape) < 0.2] = -np.inf
        a[..., 0, :] = -np.inf
        return a
    return make


def families():
    f = Family("attention")

    def case(B=2, Tq=5, Tk=6, H=2, G=None, D=4, E=None, large=1.0, **options):
        G, E = G or H, E or D
        inputs = [normal(B, Tq, H, D, scale=large), normal(B, Tk, G, D), normal(B, Tk, G, E)]
        inputs += [options.pop(name, None) for name in NAMES]
        f.case("attention", inputs, formula(**options), kink=large > 1, rtol=3e-5, atol=5e-6, **options)

    case()
    case(scale=0.3)
    case(causal=True, Tk=5)
    case(causal=True, Tq=3, offset=3)
    case(causal=True, Tq=6, Tk=4)
    case(key_lengths=i32(4, 6))
    case(query_lengths=i32(3, 5), key_lengths=i32(0, 2))
    case(B=3, Tq=4, Tk=4, causal=True, key_lengths=i32(4, 1, 3), query_lengths=i32(4, 0, 3))
    case(window=2)
    case(window=1, Tq=3, offset=2)
    case(window=3, causal=True, Tk=5)
    case(block=3)
    case(block=2, causal=True, offset=1)
    case(keep=flags(2, 2, 5, 6))
    case(keep=flags(1, 2, 1, 6))
    case(keep=flags(2, 1, 5, 6), causal=True)
    for one in range(8):  # every form of a bias that repeats
        case(add=normal(1 if one & 4 else 2, 1 if one & 2 else 2, 1 if one & 1 else 5, 6))
    case(add=with_holes(2, 2, 5, 6))
    case(add=with_holes(1, 1, 5, 6), keep=flags(2, 1, 1, 6))
    case(alibi=True, H=3)
    case(alibi=True, causal=True, Tk=5)
    case(alibi=True, causal=True, Tq=2, offset=4, H=2, G=1)
    for interleaved in (False, True):
        case(rotary={"interleaved": interleaved})
        case(rotary={"interleaved": interleaved, "channels": 2, "base": 100.0, "start": 7}, causal=True, Tq=3, offset=3)
    case(distance=normal(2, 10))
    case(distance=normal(1, 10), causal=True, offset=1)
    t5 = {"bidirectional": True, "max_distance": 10}
    case(t5=t5, table=normal(8, 2), scale=1.0)
    case(t5=t5, table=normal(8, 2), key_lengths=i32(6, 3), query_lengths=i32(5, 2))
    case(t5={**t5, "bidirectional": False}, table=normal(8, 2), causal=True, Tq=2, offset=4)
    case(H=4, G=2)
    case(H=3, G=1, causal=True, offset=1)
    case(E=7)
    case(D=5, E=1, G=1)
    case(D=1)
    case(B=1, H=1, D=33, E=17, Tq=3)
    case(Tq=1)
    case(Tq=1, Tk=1)
    case(Tk=1)
    case(Tq=1, causal=True, offset=5, H=4, G=1)
    case(B=0), case(Tq=0), case(Tk=0), case(Tk=0, Tq=9)
    case(large=30.0)
    case(B=1, H=2, G=1, D=6, Tq=17, Tk=17, causal=True, window=6, rotary={})  # as Mistral
    case(B=1, H=1, D=3, Tq=40, Tk=140)
    case(B=1, H=1, D=3, Tq=37, Tk=133, causal=True, offset=96, alibi=True)

    def rows(q_at, k_at, H=2, G=None, D=4, E=None, **options):
        G, E = G or H, E or D
        inputs = [normal(q_at[-1], H, D), normal(k_at[-1], G, D), normal(k_at[-1], G, E)]
        options.update(query_offsets=i32(*q_at), key_offsets=i32(*k_at))
        inputs += [options.pop(name, None) for name in NAMES]
        f.case("attention", inputs, formula(**options), rtol=3e-5, atol=5e-6, **options)

    same = [0, 4, 4, 5, 11]
    rows(same, same, causal=True)
    rows([0, 3, 4, 9], [0, 2, 8, 9], G=1, E=3)
    rows([0, 3, 5], [0, 0, 4], add=normal(2, 1, 3, 4))
    rows(same, same, causal=True, window=2, rotary={}, positions=i32(0, 1, 2, 3, 0, 0, 1, 2, 3, 4, 5), H=2, G=1)
    rows(same, same, distance=normal(2, 11), keep=flags(1, 2, 6, 6))
    case(cap=0.7)
    case(cap=2.0, scale=0.9, H=4, G=2, causal=True, Tk=5, window=3, rotary={})
    case(cap=1.5, alibi=True, key_lengths=i32(4, 0), D=5, E=7)
    case(cap=50.0, large=30.0, B=1, H=1, D=3, Tq=37, Tk=133, causal=True, offset=96, add=normal(1, 1, 1, 133))
    case(cap=0.5, Tq=1, causal=True, offset=5, H=4, G=1)
    rows(same, same, causal=True, cap=1.1, G=1)
    return [f]
