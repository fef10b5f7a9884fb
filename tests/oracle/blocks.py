"""Attention blocks: torch.nn modules in float64 on float32 weights, forward and every gradient by name.

CASE.inN, CASE.param.NAME, CASE.mask.NAME -> CASE.out0; for the upstream gradient CASE.dout0: CASE.grad.NAME, CASE.dinN,
and CASE.dadd of a bias. Masks: lengths (B) of the keys, keep (u8) and add (f32), both (B or 1, H or 1, Tq, Tk)."""
import numpy as np
import torch
from torch import nn

from case import Family, f32, normal, stored


def hidden_keys(lengths, keys):
    """torch's key_padding_mask: true hides."""
    return None if lengths is None else torch.arange(keys)[None, :] >= torch.as_tensor(lengths)[:, None]


def hidden_future(causal, n):
    return torch.triu(torch.ones(n, n, dtype=torch.bool), 1) if causal else None


class Blocks(Family):
    def block(self, kind, module, shapes, call, masks=None, **attr):
        """call(module, inputs, masks) -> out. masks: makers by name; those in f32 get a gradient too."""
        name, rng = self.begin(kind)
        module = self.fill(name, module, rng)
        inputs = [torch.from_numpy(normal(*s)(rng)).double().requires_grad_() for s in shapes]
        seen = {}
        for key, make in (masks or {}).items():
            array = np.asarray(make(rng))
            self.tensors[f"{name}.mask.{key}"] = array
            seen[key] = torch.from_numpy(array)
            if array.dtype == f32:
                seen[key] = seen[key].double().requires_grad_()
        out = call(module, inputs, seen)
        self.backward(name, module, out, rng)
        for i, x in enumerate(inputs):
            self.tensors.update({f"{name}.in{i}": stored(x), f"{name}.din{i}": stored(x.grad)})
        if "add" in seen:
            self.tensors[f"{name}.dadd"] = stored(seen["add"].grad)
        self.cases.append({"name": name, "kind": kind, "attr": attr})


def lengths(*n):
    return lambda r: np.array(n, dtype=np.int32)


def keep(*shape):
    """Every row keeps its first key."""
    def make(r):
        bits = r.integers(0, 2, shape).astype(np.uint8)
        bits[..., 0] = 1
        return bits
    return make


# ---- multi-head attention ---- sources: which input q, k and v are

def attend(sources, causal):
    def call(module, x, masks):
        q, k, v = (x[i] for i in sources)
        heads, hidden = module.num_heads, hidden_future(causal, q.shape[1])
        shape = (q.shape[0], heads, q.shape[1], k.shape[1])
        if "keep" in masks:
            hidden = (masks["keep"] == 0).expand(shape).reshape(-1, *shape[2:])
        if "add" in masks:
            hidden = masks["add"].expand(shape).reshape(-1, *shape[2:])
        padding = hidden_keys(masks.get("lengths"), k.shape[1])
        if padding is not None and hidden is not None and hidden.dtype != torch.bool:
            padding = torch.zeros(padding.shape, dtype=torch.float64).masked_fill(padding, float("-inf"))
        return module(q, k, v, key_padding_mask=padding, attn_mask=hidden, need_weights=False)[0]
    return call


def multihead():
    f = Blocks("multihead")

    def case(width, heads, shapes, sources=(0, 0, 0), key_width=0, value_width=0, bias=True, causal=False, **masks):
        module = nn.MultiheadAttention(width, heads, bias=bias, kdim=key_width or None, vdim=value_width or None,
                                       batch_first=True)
        f.block("multihead", module, shapes, attend(sources, causal), masks, width=width, heads=heads,
                key_width=key_width, value_width=value_width, bias=bias, causal=causal, sources=list(sources))

    cross, three = (0, 1, 1), (0, 1, 2)
    case(8, 2, [(2, 5, 8)])
    case(6, 3, [(3, 7, 6)], causal=True)
    case(10, 1, [(2, 6, 10)], bias=False, lengths=lengths(6, 3))
    case(4, 4, [(2, 1, 4)])
    case(22, 2, [(1, 19, 22)], causal=True, lengths=lengths(12))
    case(8, 2, [(2, 4, 8), (2, 7, 8)], cross)
    case(9, 3, [(3, 5, 9), (3, 1, 9)], cross, bias=False)
    case(8, 4, [(2, 4, 8), (2, 6, 8)], cross, lengths=lengths(1, 6), add=normal(2, 4, 4, 6))
    case(8, 2, [(2, 5, 8), (2, 3, 8), (2, 3, 8)], three)
    case(6, 2, [(2, 5, 6), (2, 5, 6)], (0, 0, 1), keep=keep(2, 2, 5, 5))
    case(6, 2, [(2, 5, 6), (2, 5, 6)], (0, 1, 0), keep=keep(1, 1, 5, 5))
    case(8, 2, [(2, 4, 8), (2, 6, 5), (2, 6, 11)], three, key_width=5, value_width=11)
    case(6, 3, [(2, 4, 6), (2, 7, 9)], cross, key_width=9, value_width=9, bias=False, lengths=lengths(7, 2))
    case(6, 1, [(1, 5, 6), (1, 5, 3)], (0, 0, 1), value_width=3, causal=True)
    return f


# ---- layers and stacks ----

def encode(causal):
    def call(module, x, masks):
        n = x[0].shape[1]
        padding = hidden_keys(masks.get("lengths"), n)
        mask = hidden_future(causal, n)
        if isinstance(module, nn.TransformerEncoder):
            return module(x[0], mask=mask, src_key_padding_mask=padding)
        return module(x[0], src_mask=mask, src_key_padding_mask=padding)
    return call


def decode(causal):
    def call(module, x, masks):
        return module(x[0], x[1], tgt_mask=hidden_future(causal, x[0].shape[1]),
                      tgt_key_padding_mask=hidden_keys(masks.get("lengths"), x[0].shape[1]),
                      memory_key_padding_mask=hidden_keys(masks.get("memory_lengths"), x[1].shape[1]))
    return call


def transformer():
    f = Blocks("transformer")

    def case(kind, sizes, width, heads, hidden, act="relu", norm_first=False, bias=True, eps=1e-5, causal=False,
             layers=0, final_norm=False, **masks):
        encoder = kind.startswith("encoder")
        make = nn.TransformerEncoderLayer if encoder else nn.TransformerDecoderLayer
        module = make(width, heads, hidden, dropout=0.0, activation=act, layer_norm_eps=eps, batch_first=True,
                      norm_first=norm_first, bias=bias)
        if layers:
            norm = nn.LayerNorm(width, eps=eps, bias=bias) if final_norm else None
            module = (nn.TransformerEncoder(module, layers, norm, enable_nested_tensor=False) if encoder
                      else nn.TransformerDecoder(module, layers, norm))
        shapes = [(sizes[0], n, width) for n in sizes[1:]]
        f.block(kind, module, shapes, (encode if encoder else decode)(causal), masks, width=width, heads=heads,
                hidden=hidden, act=act, norm_first=norm_first, bias=bias, eps=eps, causal=causal, layers=layers,
                final_norm=final_norm)

    pre = {"norm_first": True}
    case("encoder_layer", (2, 5), 8, 2, 12)
    case("encoder_layer", (3, 7), 6, 3, 10, "gelu", causal=True)
    case("encoder_layer", (2, 5), 8, 2, 12, **pre)
    case("encoder_layer", (2, 6), 10, 5, 7, "gelu", causal=True, lengths=lengths(6, 2), **pre)
    case("encoder_layer", (2, 4), 8, 1, 9, bias=False, eps=1e-6, lengths=lengths(1, 4))
    case("encoder_layer", (2, 4), 8, 4, 9, "gelu", bias=False, eps=1e-12, **pre)
    case("encoder_layer", (2, 1), 4, 4, 5)
    case("encoder_layer", (1, 19), 14, 2, 11, "gelu", **pre)

    case("decoder_layer", (2, 5, 6), 8, 2, 12)
    case("decoder_layer", (3, 4, 7), 6, 3, 10, "gelu", causal=True, memory_lengths=lengths(7, 1, 4))
    case("decoder_layer", (2, 5, 3), 8, 2, 12, causal=True, **pre)
    case("decoder_layer", (2, 6, 1), 10, 5, 7, "gelu", causal=True, lengths=lengths(6, 2), **pre)
    case("decoder_layer", (2, 4, 4), 8, 1, 9, bias=False, eps=1e-6, memory_lengths=lengths(4, 3), **pre)
    case("decoder_layer", (2, 1, 5), 8, 4, 9, "gelu", bias=False, lengths=lengths(1, 1))
    case("decoder_layer", (1, 9, 17), 10, 2, 9, "gelu", causal=True)

    case("encoder", (2, 5), 8, 2, 6, layers=2, final_norm=True)
    case("encoder", (2, 6), 6, 3, 5, "gelu", causal=True, layers=3, lengths=lengths(4, 6), final_norm=True, **pre)
    case("encoder", (1, 3), 8, 2, 8, bias=False, layers=1, final_norm=True, **pre)
    case("decoder", (2, 4, 5), 6, 2, 8, causal=True, layers=2, final_norm=True, memory_lengths=lengths(2, 5), **pre)
    case("decoder", (2, 5, 3), 6, 2, 5, "gelu", causal=True, layers=2)
    return f


def families():
    return [multihead(), transformer()]
