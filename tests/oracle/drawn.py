"""Cases drawn at random, family by family: the command line and the loop of the scripts that compare models (same_*.py).

A script gives its families and case(family, r, folder), which saves a model into the folder and returns Python's model, its
inputs, what is to be said of the case where it differs, and what else compare() takes."""
import argparse
import copy
import pathlib
import random
import subprocess
import tempfile
import warnings

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import golden

MULTIPLE = 20      # of the difference between PyTorch's float32 and float64
UNITS = 4e-6       # of the largest number of a tensor
FAINT = 4e-7       # of the largest gradient of all, or of 0.1: some are sums of 0 but for rounding


def results(model, given, upstream, names):
    """Outputs and gradients by name."""
    of = golden.as_type(given, model.dtype)
    output = dict(golden.flat(model(**of, output_attentions=True, return_dict=True)))
    if "loss" in output:
        output["loss"].backward()
    else:
        main = next(output[name] for name in golden.MAIN if name in output)
        upstream = torch.randn(main.shape) if upstream is None else upstream
        main.backward(upstream.to(main.dtype))
    grads = {f"grad.{n}": grad for n, grad in golden.gradients(model, names).items()}
    return {k: v.detach().double() for k, v in (output | grads).items()}, upstream


def largest(t):
    return t.abs().max().item() if t.numel() else 0.0


def compare(heed, folder, model, given, names=None):
    """The largest difference as a share of what is allowed, and where; or a sentence. names: of the weights with gradients of their
    own, by default all of the file"""
    if names is None:
        with safe_open(golden.weights_of(folder), "numpy") as file:
            names = list(file.keys())
    wide = copy.deepcopy(model).double()
    try:
        want, upstream = results(wide, given, None, names)
    except (ValueError, RuntimeError) as error:  # as of a sentence-order head whose num_labels is not 2
        return None, f"PyTorch refuses it: {error}"
    if any(t.isnan().any() for t in want.values()):
        return None, "PyTorch's own output is NaN"
    narrow, _ = results(model, given, upstream, names)
    tensors = {k: v.float() if v.is_floating_point() else v.int() for k, v in golden.flat(given, skipped=())}
    if upstream is not None:
        tensors["grad_output"] = upstream
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "in.safetensors")
    done = subprocess.run([heed, "forward", folder, "--in", folder / "in.safetensors", "--out", folder / "out.safetensors",
                           "--grad", "--attentions", "--quiet", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    got = load_file(folder / "out.safetensors")
    missing = [k for k in want if k not in got]
    if missing:
        return float("inf"), "heed does not give " + ", ".join(missing[:5])
    faint = FAINT * max([0.1] + [largest(t) for k, t in want.items() if k.startswith("grad.")])
    worst = 0.0, ""
    for name, t in want.items():
        if got[name].shape != t.shape:
            return float("inf"), f"{name} is {tuple(got[name].shape)}, not {tuple(t.shape)}"
        allowed = MULTIPLE * largest(narrow[name] - t) + UNITS * largest(t)
        allowed += faint if name.startswith("grad.") else 1e-9
        share = largest(got[name].double() - t) / allowed
        if not share <= worst[0]:
            worst = share, name
    return worst


def arguments_of(about, families, cases):
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("heed", metavar="HEED")
    parser.add_argument("families", metavar="FAMILY", nargs="*", help=" ".join(families))
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for family in arguments.families:
        if family not in families:
            parser.error(f"{family} is not one of {' '.join(families)}")
    return arguments


def save_weights(model, folder):
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "model.safetensors")


def run(about, families, case, cases=20):
    """The status to exit with: 1 where something differs."""
    arguments = arguments_of(about, families, cases)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    bad = 0
    for family in arguments.families or families:
        equal, refused, most = 0, 0, 0.0
        for number in range(arguments.cases):
            r = random.Random(f"{family} {arguments.seed} {number}")
            torch.manual_seed(r.getrandbits(31))
            with tempfile.TemporaryDirectory() as name:
                model, given, what, *more = case(family, r, pathlib.Path(name))
                share, where = compare(arguments.heed, pathlib.Path(name), model, given, *more)
            if share is None:
                refused += 1
                print(f"    {family} {number}: not compared: {where}")
            elif share <= 1:
                equal, most = equal + 1, max(most, share)
            else:
                bad += 1
                shapes = {name: tuple(t.shape) for name, t in golden.flat(given, skipped=())}
                print(f"    {family} {number}: {where}: {share:.3g} of what is allowed; {shapes} {what}")
        print(f"{family}: {equal} of {arguments.cases} equal, {refused} not compared; at most {most:.2g} of what is allowed", flush=True)
    return bad > 0
