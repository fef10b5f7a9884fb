"""Positions by formulas of their own: turning pairs is a product of complex numbers here. Where transformers is
installed, the formulas are first held against its Marian, LLaMA, GPT-J and T5; without it the same bytes come out."""
import importlib.util
import math

import numpy as np
import torch

from case import Family, f32, given, ids, normal


# ---- formulas ----

def angles(positions, pairs, base):
    speed = float(f32(base)) ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
    return positions.double()[..., None] * speed


def sine_positions(start, length, width, halved):
    turned = angles(torch.arange(start, start + length), width // 2, 10000)
    parts = [turned.sin(), turned.cos()]
    return torch.cat(parts, -1) if halved else torch.stack(parts, -1).flatten(-2)


def rotary(x, positions, base=10000, channels=0, interleaved=False, start=0):
    """x (B,T,H,D) or (N,H,D)"""
    turning = channels or x.shape[-1]
    if positions is None:
        positions = torch.arange(start, start + x.shape[-3])
    angle = angles(positions, turning // 2, base)[..., None, :]
    head, rest = x[..., :turning], x[..., turning:]
    a, b = (head[..., 0::2], head[..., 1::2]) if interleaved else head.chunk(2, -1)
    turned = torch.complex(a, b) * torch.polar(torch.ones_like(angle), angle)
    pairs = [turned.real, turned.imag]
    return torch.cat([torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, -1), rest], -1)


def t5_bucket(relative, bidirectional, buckets, max_distance):
    side = buckets // 2 if bidirectional else buckets
    single = side // 2
    distance = relative.abs() if bidirectional else (-relative).clamp(min=0)
    place = torch.log(distance.float() / single) / math.log(max_distance / single) * (side - single)
    beyond = (single + place.clamp(min=0).long()).clamp(max=side - 1)
    bucket = torch.where(distance < single, distance, beyond)
    return bucket + side * (relative > 0) if bidirectional else bucket


def t5_bias(table, queries, keys, offset, bidirectional, max_distance):
    """As the matrix of scores has it, whose diagonals are what heed keeps: (H, Tq, Tk) -> (H, Tq + Tk - 1)."""
    relative = torch.arange(keys)[None, :] - torch.arange(offset, offset + queries)[:, None]
    matrix = table[t5_bucket(relative, bidirectional, table.shape[0], max_distance)].permute(2, 0, 1)
    return torch.cat([matrix[:, 1:, 0].flip(-1), matrix[:, 0, :]], -1)


def alibi_slopes(heads):
    """A power of two: the powers of 2^(-8/n). Else the nearest below, and every other one of the next."""
    power = 2 ** math.floor(math.log2(heads))
    series = lambda n: [2 ** (-8 * (i + 1) / n) for i in range(n)]
    return torch.tensor((series(power) + series(2 * power)[0::2])[:heads], dtype=torch.float64)


# ---- transformers, where it is ----

def check_against_transformers():
    from transformers.models.gptj import modeling_gptj as gptj
    from transformers.models.llama import modeling_llama as llama
    from transformers.models.marian import modeling_marian as marian
    from transformers.models.t5 import modeling_t5 as t5
    table = marian.MarianSinusoidalPositionalEmbedding(300, 48)
    assert (table.create_weight().double() - sine_positions(0, 300, 48, True)).abs().max() < 1e-7

    x = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 50, 3, 16)))
    angle = angles(torch.arange(7, 57), 8, 10000).expand(2, 50, 8)
    both = torch.cat([angle, angle], -1)
    for other, ours in [(llama.apply_rotary_pos_emb(x, x, both.cos(), both.sin(), 2)[0], rotary(x, None, start=7)),
                        (gptj.apply_rotary_pos_emb(x, angle.sin(), angle.cos()),
                         rotary(x, None, start=7, interleaved=True))]:
        assert (other - ours).abs().max() < 1e-12

    relative = torch.arange(-3000, 3001)
    for bidirectional, buckets, distance in BUCKETS:
        theirs = t5.T5Attention._relative_position_bucket(relative, bidirectional, buckets, distance)
        assert torch.equal(theirs, t5_bucket(relative, bidirectional, buckets, distance))


# Not among them: 48 buckets on a side up to 81, where distance 36 lies exactly between two buckets and PyTorch's float
# logarithm of 1.5, one unit off in the last place, decides. No formula can promise the same there.
BUCKETS = [(True, 32, 128), (False, 32, 128), (True, 32, 256), (False, 16, 64), (True, 64, 1000), (True, 8, 20),
           (False, 33, 2048), (True, 34, 129), (False, 2, 10), (True, 128, 512)]


# ---- cases ----

def families():
    if importlib.util.find_spec("transformers"):
        check_against_transformers()
    f = Family("positions")
    for start, length, width in [(0, 9, 8), (0, 40, 6), (1000, 7, 10), (99990, 20, 4), (3, 1, 130), (-5, 11, 2),
                                 (0, 0, 4), (2, 3, 0)]:
        for halved in (False, True):
            f.case("sine_positions", [], lambda: sine_positions(start, length, width, halved), atol=1e-6,
                   start=start, length=length, width=width, halved=halved)

    def turn(shape, positions=None, **attr):
        f.case("rotary", [normal(*shape), positions], lambda x, p=None: rotary(x, p, **attr), **attr)

    for interleaved in (False, True):
        turn((2, 5, 3, 8), interleaved=interleaved)
        turn((1, 70, 1, 4), interleaved=interleaved, start=100000)
        turn((2, 3, 2, 10), interleaved=interleaved, channels=4, start=17)
        turn((1, 3, 2, 7), interleaved=interleaved, channels=6, base=500000.0)
        turn((2, 4, 1, 6), ids(3000, 4), interleaved=interleaved)
        turn((2, 4, 3, 6), ids(3000, 2, 4), interleaved=interleaved, base=100.0)
        turn((9, 2, 34), given([0, 1, 2, 3, 0, 1, -7, 100000, 40], np.int32), interleaved=interleaved)
        turn((4, 2, 2), interleaved=interleaved, start=-2)
        turn((2, 0, 2, 4), interleaved=interleaved)
        turn((0, 3, 2, 4), interleaved=interleaved)
        turn((1, 2, 1, 150), interleaved=interleaved, start=31)

    def bias(buckets, heads, **attr):
        f.case("t5_bias", [normal(buckets, heads)], lambda table: t5_bias(table, **attr), **attr)

    bias(8, 3, queries=5, keys=7, offset=0, bidirectional=True, max_distance=20)
    bias(8, 2, queries=4, keys=9, offset=5, bidirectional=False, max_distance=10)
    bias(32, 1, queries=1, keys=150, offset=149, bidirectional=False, max_distance=128)
    bias(32, 2, queries=90, keys=60, offset=0, bidirectional=True, max_distance=64)
    bias(6, 2, queries=1, keys=1, offset=0, bidirectional=True, max_distance=4)

    relative = torch.arange(-3000, 3001)
    for bidirectional, buckets, distance in BUCKETS:
        made = t5_bucket(relative, bidirectional, buckets, distance).to(torch.uint8)
        f.case("t5_bucket", [], lambda: made, bidirectional=bidirectional, buckets=buckets, max_distance=distance)
    for heads in [1, 2, 3, 5, 8, 12, 16, 20, 31, 33, 100]:
        f.case("alibi_slopes", [], lambda: alibi_slopes(heads), heads=heads)
    return [f]
