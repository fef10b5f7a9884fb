"""A golden case: inputs in float32, results of PyTorch in float64, gradients for a random upstream gradient.

Inputs are makers: functions of a random generator that is seeded by the case's name, so that adding a case leaves the
bytes of all others as they are."""
import fnmatch
import json
import struct
import zlib

import numpy as np
import torch

f32 = np.float32


# ---- makers ----

def normal(*shape, scale=1.0):
    return lambda r: (scale * r.standard_normal(shape)).astype(f32)


def uniform(low, high, *shape):
    return lambda r: r.uniform(low, high, shape).astype(f32)


def positive(*shape):
    return uniform(0.5, 2.5, *shape)


def smooth(*shape):
    """At least 0.1 away from every multiple of 0.5: clear of the kinks of abs, relu, round, floor and clamp."""
    return lambda r: (0.5 * r.integers(-5, 5, shape) + r.uniform(0.1, 0.4, shape)).astype(f32)


def halves(*shape):
    """Multiples of 0.5: at least 0.1 away from whatever smooth gives."""
    return lambda r: 0.5 * np.asarray(r.integers(-5, 5, shape), dtype=f32)


def few(*shape):
    """Whole numbers from 0 to 3: full of ties."""
    return lambda r: np.asarray(r.integers(0, 4, shape), dtype=f32)


def distinct(*shape):
    """No two numbers closer than 0.1: clear of the ties of max, min and their like."""
    def make(r):
        n = int(np.prod(shape))
        steps = r.permutation(n).reshape(shape) - n / 2
        return (0.15 * steps + r.uniform(0, 0.05, shape)).astype(f32)
    return make


def distinct_sizes(*shape):
    """The same of absolute values, with signs of either kind."""
    def make(r):
        a = distinct(*shape)(r)
        return (a - a.min(initial=0) + 0.1) * np.where(r.integers(0, 2, shape), f32(1), f32(-1))
    return make


def probabilities(*shape):
    def make(r):
        p = r.uniform(0.1, 1.0, shape)
        return (p / p.sum(-1, keepdims=True)).astype(f32)
    return make


def ids(below, *shape):
    return lambda r: r.integers(0, below, shape).astype(np.int32)


def flags(*shape):
    return lambda r: r.integers(0, 2, shape).astype(np.uint8)


def given(values, dtype=f32):
    return lambda r: np.array(values, dtype=dtype)


def bf16(make):
    """Rounded to bfloat16, which numpy does not know: its bits, as uint16. Such inputs are stored so and are frozen."""
    return lambda r: torch.from_numpy(make(r)).bfloat16().view(torch.int16).numpy().view(np.uint16)


def f16(make):
    return lambda r: make(r).astype(np.float16)


# ---- cases ----

def stored(t):
    """As a golden file holds it: f32, i32 or u8."""
    a = t.detach().numpy() if isinstance(t, torch.Tensor) else np.asarray(t)
    if a.dtype == np.float64:
        with np.errstate(over="ignore"):
            return a.astype(f32)
    return a.astype({"b": np.uint8, "u": np.uint8, "i": np.int32}.get(a.dtype.kind, f32))


ONLY = []  # patterns of the names to write, of `make.py --only`; none: all
WRITTEN = []


def wanted(name):
    """Whether a directory, or the file of a family of cases, of this name is to be written."""
    if ONLY and not any(fnmatch.fnmatchcase(name, pattern) for pattern in ONLY):
        return False
    WRITTEN.append(name)
    return True


class NotFinite(ValueError):
    """PyTorch gave no number: a file of it would make the tests blame heed."""


def demand_finite(where, tensors):
    for name, a in tensors.items():
        if a.dtype.kind == "f" and not np.isfinite(a).all():
            raise NotFinite(f"{where}: PyTorch gives {name} that is not finite: choose other sizes, weights or inputs")


def write_tensors(path, tensors, metadata=None, finite=True):
    """A safetensors file by our own writer, because the order of a header's entries must not change from run to run. finite: NaN and infinity are
    refused, which only the cases of ops have on purpose."""
    if finite:
        demand_finite(path, tensors)
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    names = sorted(tensors, key=lambda n: (-tensors[n].itemsize, n))
    kinds = {"f4": "F32", "i8": "I64", "i4": "I32", "u1": "U8", "b1": "BOOL", "u2": "BF16", "f2": "F16"}
    for n in names:
        a = tensors[n]
        header[n] = {"dtype": kinds[a.dtype.str[1:]], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        for n in names:
            f.write(np.ascontiguousarray(tensors[n]).tobytes())


class Family:
    """The cases of one golden file, and its table of large cases, whose numbers the C test makes itself."""

    def __init__(self, name):
        self.name, self.tensors, self.cases, self.larges, self.counts = name, {}, [], [], {}

    def begin(self, kind):
        """The next case of its kind: its name, and the random numbers that the name gives."""
        name = f"{kind}.{self.counts.get(kind, 0)}"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return name, np.random.default_rng(zlib.crc32(f"{self.name}/{name}".encode()))

    def fill(self, name, module, rng):
        """The module in float64, on float32 weights that are kept as NAME.param.KEY."""
        module = module.double()
        with torch.no_grad():
            for key, p in module.named_parameters():
                p.copy_(torch.from_numpy((0.5 * rng.standard_normal(tuple(p.shape))).astype(f32)))
                self.tensors[f"{name}.param.{key}"] = stored(p)
        return module

    def backward(self, name, module, out, rng):
        """NAME.out0 and, for an upstream gradient NAME.dout0, NAME.grad.KEY of every weight."""
        dout = rng.standard_normal(tuple(out.shape)).astype(f32)
        out.backward(torch.from_numpy(dout).double())
        self.tensors.update({f"{name}.out0": stored(out), f"{name}.dout0": dout})
        for key, p in module.named_parameters():
            self.tensors[f"{name}.grad.{key}"] = stored(p.grad)

    def case(self, op, inputs, fn, kink=False, frozen=(), rtol=None, atol=None, **attr):
        """fn(*inputs) gives one result or several. Inputs may be None. kink: finite differences make no sense here.
        frozen: inputs for whose gradient nobody asks."""
        name, rng = self.begin(op)
        arrays = [None if make is None else np.asarray(make(rng)) for make in inputs]
        tensors, wanted = [], []
        for i, a in enumerate(arrays):
            t = None if a is None else torch.from_numpy(a)
            if t is not None and a.dtype == f32:
                t = t.double().requires_grad_(i not in frozen)
                wanted += [i] if i not in frozen else []
            elif t is not None and a.dtype == np.int32:
                t = t.long()
            elif t is not None and a.dtype == np.uint16:
                t = torch.from_numpy(a.view(np.int16)).view(torch.bfloat16).double()
            elif t is not None and a.dtype == np.float16:
                t = t.double()
            tensors.append(t)
        outs = fn(*tensors)
        outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]

        for i, a in enumerate(arrays):
            if a is not None:
                self.tensors[f"{name}.in{i}"] = a
        douts = {}
        for j, out in enumerate(outs):
            self.tensors[f"{name}.out{j}"] = stored(out)
            if isinstance(out, torch.Tensor) and out.requires_grad:
                douts[j] = np.asarray(rng.standard_normal(tuple(out.shape)), dtype=f32)
                self.tensors[f"{name}.dout{j}"] = douts[j]
        if douts:
            dins = torch.autograd.grad([outs[j] for j in douts], [tensors[i] for i in wanted],
                                       [torch.from_numpy(d).double() for d in douts.values()], allow_unused=True)
            for i, din in zip(wanted, dins):
                if din is not None:
                    self.tensors[f"{name}.din{i}"] = stored(din)
        entry = {"name": name, "op": op, "in": len(inputs), "out": len(outs), "attr": attr}
        entry.update({k: v for k, v in {"kink": kink, "rtol": rtol, "atol": atol}.items() if v})
        self.cases.append(entry)

    def large(self, op, *inputs, **attr):
        """inputs: "kind size size ...", or "ids BELOW size ...", or None."""
        made = []
        for text in inputs:
            if text is None:
                made.append(None)
                continue
            kind, *sizes = text.split()
            sizes = [int(s) for s in sizes]
            spec = {"kind": kind}
            if kind == "ids":
                spec["below"] = sizes.pop(0)
            made.append({**spec, "shape": sizes})
        self.larges.append({"op": op, "in": made, "attr": attr})

    def write(self, path):
        text = json.dumps({"cases": self.cases, "large": self.larges}, separators=(",", ":"))
        write_tensors(path, self.tensors, {"list": text}, finite=False)
