"""Attention's lines: PyTorch's fused kernel, 8 heads of 64, and what is built on it."""
import math
import os
import subprocess
import sys

import torch
import torch.nn.functional as F

HEADS, SIZE = 8, 64


def parts(time, batch, grad):
    return [torch.randn(batch, HEADS, time, SIZE).requires_grad_(grad) for _ in range(3)]


def options(time, batch, kind):
    if kind == 1:
        return {"is_causal": True}
    if kind == 2:
        return {"attn_mask": (torch.arange(time) < time // 2).expand(batch, 1, 1, time)}
    return {}


def attention_forward(time, batch, kind):
    q, k, v = parts(time, batch, False)
    opts = options(time, batch, kind)

    def run():
        with torch.no_grad():
            F.scaled_dot_product_attention(q, k, v, **opts)
    return [("fused", run)]


def attention_both(time, batch, kind):
    q, k, v = parts(time, batch, True)
    dy, opts = torch.randn(batch, HEADS, time, SIZE), options(time, batch, kind)

    def run():
        F.scaled_dot_product_attention(q, k, v, **opts).backward(dy)
        q.grad = k.grad = v.grad = None
    return [("fused", run)]


def decode(time, _, __):
    q, k, v = torch.randn(1, HEADS, 1, SIZE), torch.randn(1, HEADS, time, SIZE), torch.randn(1, HEADS, time, SIZE)

    def run():
        with torch.no_grad():
            F.scaled_dot_product_attention(q, k, v)
    return [("fused", run)]


def additive_parts(time, batch, width):
    q, k, v = (torch.randn(batch, time, width).requires_grad_() for _ in range(3))
    wq, wk = (torch.randn(width, width).mul(0.06).requires_grad_() for _ in range(2))
    w = torch.randn(width).mul(0.06).requires_grad_()

    def forward():
        scores = torch.tanh((q @ wq.T).unsqueeze(2) + (k @ wk.T).unsqueeze(1)) @ w
        return F.softmax(scores, -1) @ v
    return forward, [q, k, v, wq, wk, w]


def additive_both(time, batch, width):
    forward, leaves = additive_parts(time, batch, width)
    dy = torch.randn(batch, time, width)

    def run():
        forward().backward(dy)
        for t in leaves:
            t.grad = None
    return [("eager", run)]


def memory_of_process(field, process="self"):
    """VmRSS, what it holds, or VmHWM, the most it has held, in bytes."""
    with open(f"/proc/{process}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def additive_peak_bytes(time, batch, width):
    """How much more memory a process has held at its peak, in one forward+backward, than before."""
    forward, _ = additive_parts(time, batch, width)
    dy = torch.randn(batch, time, width)
    before = memory_of_process("VmRSS")
    forward().backward(dy)
    return memory_of_process("VmHWM") - before


def fresh_process(call, module="attention"):
    """What a call of a file here gives in a process of its own, whose peak nothing else has raised."""
    code = f"import peers; peers.prepare(); import {module}; print({module}.{call})"
    answer = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True)
    if answer.returncode != 0:
        raise RuntimeError(f"{module}.{call} in a process of its own: {answer.stderr.strip()}")
    return int(answer.stdout)


def multihead_both(time, batch, width):
    layer = torch.nn.MultiheadAttention(width, HEADS, batch_first=True)
    x, dy = torch.randn(batch, time, width).requires_grad_(), torch.randn(batch, time, width)

    def run():
        layer(x, x, x, need_weights=False)[0].backward(dy)
        x.grad = None
        layer.zero_grad(set_to_none=True)
    return [("eager", run)]


def linear_chunks(q, k, v, chunk):
    """Causal linear attention of features q, k (B,H,T,M): products within chunks, and sums of the chunks before."""
    batch, heads, time, size = v.shape
    q, k, v = (x.reshape(batch * heads, time // chunk, chunk, -1) for x in (q, k, v))
    sums, totals = k.transpose(2, 3) @ v, k.sum(2)
    before, total = sums.cumsum(1) - sums, totals.cumsum(1) - totals
    near = (q @ k.transpose(2, 3)).tril()
    y = near @ v + q @ before
    return (y / (near.sum(-1, keepdim=True) + q @ total.unsqueeze(-1))).view(batch, heads, time, size)


CHUNKS = (64, 128, 256)


def linear_attention_both(time, batch, features):
    q, k = (torch.randn(batch, HEADS, time, features).square().add(0.1).requires_grad_() for _ in range(2))
    v, dy = torch.randn(batch, HEADS, time, SIZE).requires_grad_(), torch.randn(batch, HEADS, time, SIZE)

    def run(chunk):
        linear_chunks(q, k, v, chunk).backward(dy)
        q.grad = k.grad = v.grad = None
    return [(f"chunks of {chunk}", lambda chunk=chunk: run(chunk)) for chunk in CHUNKS]


def favor_both(time, batch, features):
    q, k, v = parts(time, batch, True)
    w, dy = torch.randn(features, SIZE), torch.randn(batch, HEADS, time, SIZE)

    def positive(x, over):
        x = x * SIZE ** -0.25
        z = x @ w.T
        top = z.detach().amax(over, keepdim=True)
        return torch.exp(z - x.square().sum(-1, keepdim=True) / 2 - top) / math.sqrt(features)

    def run(chunk):
        linear_chunks(positive(q, -1), positive(k, (-1, -2)), v, chunk).backward(dy)
        q.grad = k.grad = v.grad = None
    return [(f"chunks of {chunk}", lambda chunk=chunk: run(chunk)) for chunk in CHUNKS]


def lines():
    for time in (512, 2048, 8192):
        long = time == 8192
        yield f"attention T {time} forward", attention_forward, (time, 1, 0), (1.05 if long else 1.1, 1.1)
        yield f"attention T {time} causal forward", attention_forward, (time, 1, 1), (1.8, 1.8) if time == 512 else (1.2, 1.2)
        yield f"attention T {time} causal forward+backward", attention_both, (time, 1, 1), (1.25, 1.25)
    # the peer has no window without a mask of T x T: dense fused attention is what it does fastest
    yield "attention T 8192, window 256, against dense, forward", attention_forward, (8192, 1, 3), (10, 10)
    yield "attention T 8192, window 256, against dense, forward+backward", attention_both, (8192, 1, 3), (10, 10)
    yield "attention B 8 T 512, lengths half full, forward", attention_forward, (512, 8, 2), (1.8, 1.8)
    yield "attention B 8 T 512, lengths half full, forward+backward", attention_both, (512, 8, 2), (1.8, 1.8)
    yield "attention, one token over a cache of 2048", decode, (2048, 0, 0), (2, 2)
    yield "additive attention B 32 50x50 h 256 forward+backward", additive_both, (50, 32, 256), (2, 2)
    yield "attention, linear, T 4096, 256 features, causal forward+backward", linear_attention_both, (4096, 1, 256), (1.5, 1.5)
    yield "attention of the Performer T 4096, 256 features, causal forward+backward", favor_both, (4096, 1, 256), (1.5, 1.5)
    yield "multi-head block B 8 T 256 C 512 forward+backward", multihead_both, (256, 8, 512), (1.2, 1.2)


def extras(worker, failed):
    """What has no peer's time: memory, and the price of looking."""
    _, peak = worker.best("additive_both", (50, 32, 256), 1, 0.1)
    peer = fresh_process("additive_peak_bytes(50, 32, 256)")
    print(f"  additive attention: {peak / 1e6:.1f} MB at the peak, PyTorch {peer / 1e6:.1f} MB (at most a tenth)")
    if peak > peer / 10:
        failed.append("additive attention takes more than a tenth of PyTorch's memory")
    ms, peak = worker.best("attention_long", (65536, 0, 0), 2, 0)
    print(f"  attention T 65536, one head, causal forward+backward, 2 threads: {ms / 1e3:.1f} s, {peak / 1e6:.1f} MB, gradients and result included (at most 200)")
    if peak > 200e6:
        failed.append("attention over 65536 positions takes more than 200 MB")
    plain, looking = math.inf, math.inf
    for _ in range(6):
        plain = min(plain, worker.best("attention_forward", (2048, 1, 0), 2, 0.4)[0])
        looking = min(looking, worker.best("attention_capture", (2048, 1, 0), 2, 0.4)[0])
    print(f"  capture of one head's rows, T 2048, 2 threads: {100 * (looking / plain - 1):.1f} % on top of {plain:.2f} ms (at most 10)")
    if looking > 1.1 * plain:
        failed.append("capture costs more than 10 %")
