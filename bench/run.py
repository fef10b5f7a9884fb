"""heed against PyTorch and others, in one run: for every line the two take turns, the best of each counts, and the ratio is peer / heed.

    make bench                       all lines, at 1 and 2 threads
    make bench ONLY=linear           lines whose name contains "linear"

Writes build/bench.json and prints a table. Lines below the ratio they have to reach are marked, and those that fail are listed at the end; either
makes the exit status 1.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

import assignment
import attention
import autoencoders
import decoders
import detectors
import diffusion
import encoders
import fourier
import graphs
import language
import peers
import recurrent
import tokens
import training
import translate
import vision
from attempts import Attempts

SHAPES = [(64, 64, 64), (64, 256, 64), (768, 512, 128), (256, 2304, 768), (256, 768, 3072), (256, 50257, 768)]
GEOMETRIC_MEAN_OF_LINEAR = 1.12
CROSS_ENTROPY_MEGABYTES = 32


# ---- the peers: each returns a function to be timed ----

def linear_forward(m, n, k):
    x, w, b = torch.randn(m, k), torch.randn(n, k), torch.randn(n)

    def run():
        with torch.no_grad():
            F.linear(x, w, b)
    return [("eager", run)]


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def forward_backward(f, leaves, dy):
    def run():
        f().backward(dy)
        for t in leaves:
            t.grad = None
    return [("eager", run)]


def linear_both(m, n, k):
    x, w, b = leaf(m, k), leaf(n, k), leaf(n)
    return forward_backward(lambda: F.linear(x, w, b), [x, w, b], torch.randn(m, n))


def softmax_both(m, n, _):
    x = leaf(m, n)
    return forward_backward(lambda: F.softmax(x, -1), [x], torch.randn(m, n))


def layer_norm_both(m, n, _):
    x, gamma, beta = leaf(m, n), leaf(n), leaf(n)
    return forward_backward(lambda: F.layer_norm(x, (n,), gamma, beta), [x, gamma, beta], torch.randn(m, n))


def gelu_both(m, n, _):
    x = leaf(m, n)
    return forward_backward(lambda: F.gelu(x), [x], torch.randn(m, n))


def dropout_both(m, n, _):
    x = leaf(m, n)
    return forward_backward(lambda: F.dropout(x, 0.1), [x], torch.randn(m, n))


def cross_entropy_both(m, n, k):
    x, w = leaf(m, k), (torch.randn(n, k) * 0.02).requires_grad_()
    target = torch.arange(m) * 7919 % n
    return forward_backward(lambda: F.cross_entropy(F.linear(x, w), target), [x, w], None)


def adamw(m, _, __):
    """GPT-2's 148 parameter tensors, or as many numbers as asked in tensors of about that size."""
    params = [torch.randn(m // 148 + (i < m % 148)).requires_grad_() for i in range(148)]
    for p in params:
        p.grad = torch.randn_like(p)
    optimizer = torch.optim.AdamW(params, lr=1e-3, fused=True)
    return [("fused", optimizer.step)]


def mlp(fused):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused)


def mlp_step(batch, _, __, fused=False):
    """With AdamW as it comes; the fused one, which has to be asked for, has a line of its own."""
    x, y = torch.randn(batch, 784), torch.arange(batch) % 10

    def variant(compiled):
        model, optimizer = mlp(fused)
        return training.step(lambda: F.cross_entropy(model(x), y), optimizer, compiled)
    return [("eager", variant(False)), ("compile", variant(True))]


def mlp_step_fused(batch, _, __):
    return mlp_step(batch, _, __, fused=True)


def epoch(batch, pictures, _, fused=False):
    """A plain loop over tensors in memory: shuffle, take rows, step."""
    x, y = torch.rand(pictures, 784), torch.arange(pictures) % 10

    def variant(compiled):
        model, optimizer = mlp(fused)
        loss_of = lambda x, y: F.cross_entropy(model(x), y)
        loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

        def run():
            order = torch.randperm(pictures)
            for i in range(0, pictures, batch):
                rows = order[i:i + batch]
                loss_of(x[rows], y[rows]).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        return run
    return [("eager", variant(False)), ("compile", variant(True))]


def epoch_fused(batch, pictures, _):
    return epoch(batch, pictures, _, fused=True)


def adds(m, n, _):
    x, w, dy = leaf(n), torch.randn(n), torch.randn(n)

    def f():
        y = x
        for _ in range(m):
            y = y + w
        return y
    return forward_backward(f, [x], dy)


# ---- the lines: title, workload, sizes, ratio to reach at 1 and at 2 threads ----

def lines():
    for m, n, k in SHAPES:
        yield f"linear {m}x{n}x{k} forward", linear_forward, (m, n, k), (0.97, 0.97)
        yield f"linear {m}x{n}x{k} forward+backward", linear_both, (m, n, k), (0.97, 0.97)
    for rows in (512, 32768):
        yield f"softmax {rows}x768 forward+backward", softmax_both, (rows, 768, 0), (1.1, 1.1)
        yield f"layer norm {rows}x768 forward+backward", layer_norm_both, (rows, 768, 0), (1.1, 1.1)
        yield f"gelu {rows}x768 forward+backward", gelu_both, (rows, 768, 0), (1.1, 1.1)
        yield f"dropout {rows}x768 forward+backward", dropout_both, (rows, 768, 0), (2, 2)
    yield "cross entropy 256x768 into 50257 forward+backward", cross_entropy_both, (256, 50257, 768), (1.4, 1.4)
    yield "AdamW 124M", adamw, (124439808, 0, 0), (0.95, 1.1)
    yield "MLP 784-256-10 batch 128 training step", mlp_step, (128, 0, 0), (1.5, 1.5)
    yield "MLP 784-256-10 batch 128 training step, fused AdamW", mlp_step_fused, (128, 0, 0), (1, 1)
    yield "MNIST epoch of the MLP, batch 128, loading included", epoch, (128, 60000, 0), (1.6, 1.9)
    yield "MNIST epoch of the MLP, batch 128, fused AdamW", epoch_fused, (128, 60000, 0), (1, 1)
    yield "1000 adds of 16 with gradient", adds, (1000, 16, 0), (10, 10)


# ---- starting: heed alone, by the clock ----

def starts():
    """Title, words, what is waited for (the end, or the first words), the most it may take in ms."""
    yield "start: heed --version", ["--version"], "end", 10
    yield "start: heed list", ["list"], "end", 10
    for lesson in ("neuron", "digits", "nadaraya-watson", "parametric-pooling"):
        yield f"start: heed lesson {lesson}, first words", ["lesson", lesson], "words", 50


def start(heed, words, until):
    began = time.perf_counter()
    with subprocess.Popen([heed, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if until == "words":
            process.stdout.read1()
            took = time.perf_counter() - began
            process.kill()
        else:
            process.communicate()
            took = time.perf_counter() - began
    return took * 1e3


def measure_starts(heed, only, rows, failed):
    for title, words, until, most in starts():
        if only not in title:
            continue
        ms = min(start(heed, words, until) for _ in range(15))
        rows.append({"name": title, "heed_ms": round(ms, 6), "most_ms": most})
        print(f"{title:54}{'':8}{ms:12.4f}{'':20}{most:10} ms at most{'' if ms <= most else '  <- too long'}", flush=True)
        if ms > most:
            failed.append(f"{title}: {ms:.1f} ms > {most} ms")


class Worker:
    """heed's side, in a process of its own."""

    def __init__(self, path, folder):
        self.command = [path, folder]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def best(self, workload, sizes, threads, seconds):
        if self.process.poll() is not None:
            self.start()  # an earlier line has ended it
        print(workload, *sizes, threads, seconds, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait()
        if answer.startswith("error") or not answer:
            raise RuntimeError(f"heed: {workload}: {answer.strip() or 'the worker stopped'}")
        best, peak = answer.split()
        return float(best), int(peak)

    def memory(self, field):
        return attention.memory_of_process(field, self.process.pid)


def best_of(run, seconds):
    best, begin, count = math.inf, time.perf_counter(), 0
    while count < (1 if best > 2 else 2 if best > 0.2 else 4) or time.perf_counter() - begin < seconds:
        t = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - t)
        count += 1
    return best * 1e3, count


def measure(worker, workload, sizes, threads, turns, seconds):
    """The two take turns; short workloads run hundreds of times in a turn."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    variants = list(workload(*sizes))
    for _, run in variants:
        for _ in range(2):
            run()
    heed, peak, peer, name = math.inf, 0, math.inf, ""
    for _ in range(turns):
        ms, peak = worker.best(workload.__name__.removesuffix("_fused").removesuffix("_generate"), sizes, threads, seconds)
        heed = min(heed, ms)
        for variant, run in variants:
            ms, _ = best_of(run, seconds / len(variants))
            if ms < peer:
                peer, name = ms, variant
    return heed, peak, peer, name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--heed", help="the command; beside the worker when not given")
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each side, each turn")
    peers.prepare()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(compare(parser.parse_args(), folder))


LINES = {"tensors": lines, "attention": attention.lines, "translation": translate.lines, "tokens": tokens.lines, "encoders": encoders.lines,
         "recurrent": recurrent.lines, "vision": vision.lines, "detectors": detectors.lines, "decoders": decoders.lines, "language": language.lines, "fourier": fourier.lines,
         "assignment": assignment.lines, "autoencoders": autoencoders.lines, "diffusion": diffusion.lines, "graphs": graphs.lines}


def wanted(only, attempts):
    for name, of in LINES.items():
        yield from (line for line in attempts.each(f"lines of {name}", of()) if only in line[0])


def extras(args, folder, worker, behind):
    """What is measured beside the lines: the line whose name asks for it too, and the work."""
    fresh = lambda: Worker(args.worker, folder)
    yield "attention", lambda: attention.extras(worker, behind)
    yield "Transformer", lambda: translate.extras(fresh(), behind)
    yield "tokens", lambda: tokens.extras(worker, behind)
    yield "MiniLM-L6 fine-tuning", lambda: encoders.extras(fresh(), behind)
    yield "LSTM", lambda: recurrent.extras(fresh, behind)
    yield "DeiT-Ti at 224, 8 pictures, training step", lambda: vision.extras(fresh(), behind)
    yield "GCN layer", lambda: graphs.extras(fresh, behind)
    yield "U-Net 32/64/128", lambda: diffusion.extras(fresh(), behind)
    yield "GPT-2 124M alone", lambda: decoders.extras(fresh, behind, args.turns, args.seconds)


def share(attempts, worker, folder):
    for name, work in (("translation", lambda: translate.share(worker, folder)), ("tokens", lambda: tokens.share(folder)),
                       ("encoders", lambda: encoders.share(folder)), ("language", lambda: language.share(worker, folder)),
                       ("vision", lambda: vision.share(folder)), ("detectors", lambda: detectors.share(folder)), ("decoders", lambda: decoders.share(worker, folder))):
        attempts.make(f"{name}, to begin with", work)


def compare(args, folder):
    """What to exit with."""
    worker, rows, failed, linear, attempts = Worker(args.worker, folder), [], [], {1: [], 2: []}, Attempts()
    share(attempts, worker, folder)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}; ratio = peer / heed, above 1 heed is faster")
    print(f"{'':54}{'threads':>8}{'heed ms':>12}{'peer ms':>12}{'ratio':>8}{'at least':>10}  peer")
    attempts.make("starting", measure_starts, args.heed or os.path.join(os.path.dirname(args.worker), "heed"), args.only, rows, failed)
    for title, workload, sizes, floors in wanted(args.only, attempts):
        for threads, floor in zip((1, 2), floors):
            if threads not in args.threads:
                continue
            measured = attempts.make(f"{title}, {threads} threads", measure, worker, workload, sizes, threads, args.turns, args.seconds)
            if not measured:
                continue
            heed, peak, peer, name = measured
            ratio = peer / heed
            rows.append({"name": title, "threads": threads, "heed_ms": round(heed, 6), "peer": name,
                         "peer_ms": round(peer, 6), "ratio": round(ratio, 4)})
            behind = "" if ratio >= floor else "  <- behind"
            print(f"{title:54}{threads:8}{heed:12.4f}{peer:12.4f}{ratio:8.2f}{floor:10.2f}  {name}{behind}", flush=True)
            if behind:
                failed.append(f"{title}, {threads} threads: {ratio:.2f} < {floor}")
            if title.startswith("linear"):
                linear[threads].append(ratio)
            if workload is cross_entropy_both and threads == 1:
                megabytes = (peak - sizes[0] * sizes[2] * 4) / 1e6  # the gradient of the input is not extra
                print(f"{'':54}  {megabytes:.1f} MB beyond weights, their gradient and the input (at most {CROSS_ENTROPY_MEGABYTES})")
                if megabytes > CROSS_ENTROPY_MEGABYTES:
                    failed.append(f"cross entropy takes {megabytes:.1f} MB")
    for title, work in extras(args, folder, worker, failed):
        if args.only in title:
            attempts.make(f"{title}, beside its lines", work)
    for threads, ratios in linear.items():
        if len(ratios) == 2 * len(SHAPES):
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{'linear, geometric mean':54}{threads:8}{'':24}{mean:8.2f}{GEOMETRIC_MEAN_OF_LINEAR:10.2f}")
            if mean < GEOMETRIC_MEAN_OF_LINEAR:
                failed.append(f"linear, geometric mean at {threads} threads: {mean:.3f}")
    with open(args.out, "w") as f:
        json.dump(rows, f, indent=1)
    print(f"written: {args.out}")
    return attempts.verdict(failed)


if __name__ == "__main__":
    main()
