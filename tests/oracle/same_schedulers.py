"""Holds `heed schedule` against diffusers' schedulers: python same_schedulers.py HEED [CLASS...] [--cases N] [--seed S].

Draws settings, steps, samples and outputs of a model, and compares timesteps and every sample. What differs is printed
with its settings; the exit status is then 1. Square roots, logarithms and exponentials of float32 are rounded to
nearest for this: those of PyTorch and numpy are not, on every CPU another way, and some schedules (zero terminal SNR,
levels near no noise, timesteps that are cut to integers) make much of the last bit; --plain leaves them as they are."""
import argparse
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest.mock
import warnings

import numpy as np
import torch
from safetensors.torch import load_file, save_file

import schedulers

DDPM, DDIM, SOLVER, EULER, FLOW = schedulers.CLASSES


def nearest(function, plain):
    """A function of numpy's, in double and then rounded, for arrays and tensors of float32; any other input goes to `plain`."""
    def rounded(x, *rest, **more):
        if isinstance(x, torch.Tensor) and x.dtype == torch.float32:
            return torch.from_numpy(np.asarray(function(x.double().numpy()), dtype=np.float32)).reshape(x.shape)
        if isinstance(x, (np.ndarray, np.float32)) and x.dtype == np.float32:
            return function(x.astype(np.float64)).astype(np.float32)
        return plain(x, *rest, **more)
    return rounded


@contextlib.contextmanager
def rounding_to_nearest():
    with contextlib.ExitStack() as stack:
        for name, function in (("sqrt", np.sqrt), ("log", np.log), ("exp", np.exp)):
            for of in (torch, torch.Tensor, np):
                stack.enter_context(unittest.mock.patch.object(of, name, nearest(function, getattr(of, name))))
        power = torch.Tensor.__pow__
        stack.enter_context(unittest.mock.patch.object(torch.Tensor, "__pow__", lambda x, y: x.sqrt() if y == 0.5 else power(x, y)))
        yield


def draw(r, name):
    """Settings of a class, and the number of steps."""
    settings = dict(num_train_timesteps=r.choice([1000, 1000, 1000, 100, 50, 37, r.randint(3, 400)]))
    some = lambda p, key, value: settings.update({key: value}) if r.random() < p else None
    if name == FLOW:
        some(0.5, "shift", r.uniform(0.3, 6))
        some(0.2, "shift_terminal", r.uniform(0.01, 0.3))
        some(0.2, "invert_sigmas", True)
        some(0.2, "stochastic_sampling", True)
        some(0.3, r.choice(["use_karras_sigmas", "use_exponential_sigmas"]), True)
    else:
        schedules = ["linear", "scaled_linear", "squaredcos_cap_v2"] + (["sigmoid", "laplace"] if name == DDPM else [])
        some(0.7, "beta_schedule", r.choice(schedules))
        some(0.4, "beta_start", r.uniform(1e-5, 1e-3))
        some(0.4, "beta_end", r.uniform(5e-3, 3e-2))
        some(0.1, "trained_betas", [r.uniform(1e-4, 2e-2) for _ in range(settings["num_train_timesteps"])])
        some(0.7, "prediction_type", r.choice(["epsilon", "sample", "v_prediction"]))
        some(0.7, "timestep_spacing", r.choice(["leading", "linspace", "trailing"]))
        some(0.3, "steps_offset", 1)
        some(0.2, "rescale_betas_zero_snr", True)
    if name in (DDPM, DDIM):
        some(0.4, "clip_sample", False)
        some(0.4, "clip_sample_range", r.uniform(0.3, 3))
    if name in (DDPM, DDIM, SOLVER):
        some(0.3, "thresholding", True)
        some(0.4, "dynamic_thresholding_ratio", r.uniform(0.3, 1))
        some(0.4, "sample_max_value", r.uniform(0.5, 3))
    if name == DDPM:
        some(0.8, "variance_type", r.choice(["fixed_small", "fixed_small_log", "fixed_large", "learned_range", "learned"]))
    if name == DDIM:
        some(0.4, "set_alpha_to_one", False)
    if name in (SOLVER, EULER):
        some(0.4, r.choice(["use_karras_sigmas", "use_exponential_sigmas"]), True)
        some(0.4, "final_sigmas_type", "sigma_min")
        some(0.1, "sigma_min", r.uniform(0.01, 0.1))
        some(0.1, "sigma_max", r.uniform(5, 20))
    if name == SOLVER:
        some(0.6, "solver_order", r.choice([1, 2, 3]))
        some(0.5, "solver_type", "heun")
        some(0.3, "lower_order_final", False)
        some(0.2, "euler_at_final", True)
        some(0.2, "lambda_min_clipped", r.uniform(-6, -2))
        some(0.1, "use_lu_lambdas", True)
        if r.random() < 0.15:
            settings |= dict(use_flow_sigmas=True, flow_shift=r.uniform(0.5, 4), prediction_type="flow_prediction")
        some(0.3, "algorithm_type", r.choice(["sde-dpmsolver++", "dpmsolver", "sde-dpmsolver"]))
        if settings.get("algorithm_type") in ("dpmsolver", "sde-dpmsolver"):
            settings["final_sigmas_type"] = "sigma_min"
            if settings.get("prediction_type") == "flow_prediction":
                settings["prediction_type"] = "epsilon"
        if settings.get("algorithm_type") == "sde-dpmsolver" and settings.get("solver_order") == 3:
            settings["solver_order"] = 2
    if name == EULER:
        some(0.2, "interpolation_type", "log_linear")
        some(0.2, "timestep_type", "continuous")
    return settings, r.randint(1, min(settings["num_train_timesteps"], r.choice([3, 10, 20, 60])))


def within(got, want):
    """The difference as a share of what is allowed."""
    if got.shape != want.shape:
        return float("inf")
    got, want = got.double(), want.double()
    if not torch.equal(got.isnan(), want.isnan()):
        return float("inf")
    got, want = got.nan_to_num(0, 1e30, -1e30), want.nan_to_num(0, 1e30, -1e30)
    size = max(want.abs().max().item(), 1e-3) if want.numel() else 1
    return (got - want).abs().max().item() / (2e-5 * size) if want.numel() else 0.0


def case(heed, folder, r, name, plain):
    settings, steps = draw(r, name)
    shape = tuple(r.randint(1, 3) for _ in range(r.choice([2, 3, 3, 4, 4])))
    eta = r.choice([None, 0.0, 1.0, r.random()]) if name == DDIM else None
    try:
        with contextlib.nullcontext() if plain else rounding_to_nearest():
            given = schedulers.inputs(settings, name, steps, shape, r.choice([0.3, 1, 2]), eta)
            want = schedulers.run(name, settings, steps, given)
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        return None, f"diffusers refuses it: {error}"
    (folder / "scheduler_config.json").write_text(json.dumps(settings | {"_class_name": name}))
    save_file({k: v.contiguous() for k, v in given.items()}, folder / "in.safetensors")
    done = subprocess.run([heed, "schedule", folder, "--steps", str(steps), "--in", folder / "in.safetensors", "--out", folder / "out.safetensors"],
                          capture_output=True, text=True)
    if done.returncode:
        return float("inf"), f"{name} {settings} {steps} steps: {done.stderr.strip()}"
    got = load_file(folder / "out.safetensors")
    if set(got) != set(want) or got["timesteps"].dtype != want["timesteps"].dtype:
        return float("inf"), f"{name} {settings} {steps} steps: other outputs"
    shares = {k: within(got[k], want[k]) for k in want}
    worst = max(shares, key=shares.get)
    return shares[worst], f"{name} {settings} {steps} steps, shape {shape}: {worst}: {got[worst].flatten()[:4].tolist()}, not {want[worst].flatten()[:4].tolist()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("heed")
    parser.add_argument("classes", nargs="*", default=list(schedulers.CLASSES))
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="functions as PyTorch and numpy round them")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = 0
    for name in arguments.classes or list(schedulers.CLASSES):
        largest, refused = 0.0, 0
        for i in range(arguments.cases):
            r = random.Random(f"{name} {arguments.seed} {i}")
            torch.manual_seed(r.getrandbits(60))
            with tempfile.TemporaryDirectory() as folder:
                share, what = case(arguments.heed, pathlib.Path(folder), r, name, arguments.plain)
            if share is None:
                refused += 1
            elif share > 1:
                failed += 1
                print(f"case {i}: {share:.3g} times what is allowed: {what}")
            largest = max(largest, share or 0)
        print(f"{name}: {arguments.cases} cases, {refused} that diffusers refuses; {largest:.3f} of what is allowed at most")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
