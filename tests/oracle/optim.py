"""Golden files of the optimizers and schedules: torch.optim over 100 steps of the same random gradients."""
import math

import numpy as np
import torch
from torch.optim import lr_scheduler, swa_utils

from case import Family, f32, stored

STEPS, SHAPES = 100, [(3, 5), (5,), (4, 2), (2,), (2, 3, 4)]  # those of rank 1 do not decay
LOOKS = [1, 10, 100]


def optimizer(kind, groups, lr, momentum=0, nesterov=False, beta1=0.9, beta2=0.999, eps=1e-8, **_):
    if kind == "sgd":
        return torch.optim.SGD(groups, lr=lr, momentum=momentum, nesterov=nesterov)
    if kind == "adafactor":
        return torch.optim.Adafactor(groups, lr=lr, eps=(torch.finfo(torch.float32).eps, 1e-3))
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](groups, lr=lr, betas=(beta1, beta2), eps=eps)


def scheduler(opt, kind, warmup=0, steps=STEPS, every=1, factor=1, floor=0):
    """torch's own scheduler where it has the same; warm-up as LinearLR before it."""
    lr = opt.param_groups[0]["lr"]
    left = steps - warmup
    after = {
        "constant": lambda: lr_scheduler.ConstantLR(opt, factor=1),
        "step": lambda: lr_scheduler.StepLR(opt, every, factor),
        "linear": lambda: lr_scheduler.LinearLR(opt, 1, floor, left) if floor > 0 else
        lr_scheduler.PolynomialLR(opt, left, 1),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(opt, left, lr * floor),
        # Vaswani et al. 2017, (5.3): step_num counts from 1
        "inverse-root": lambda: lr_scheduler.LambdaLR(opt, lambda s: math.sqrt(max(warmup, 1) / (s + warmup + 1))),
    }[kind]
    if warmup == 0:
        return after()
    rise = lr_scheduler.LinearLR(opt, 1 / warmup, 1, warmup - 1) if warmup > 1 else lr_scheduler.ConstantLR(opt, 1)
    return lr_scheduler.SequentialLR(opt, [rise, after()], [warmup])


def run(f, rng, kind, lr, decay=0, clip=0, accumulate=1, average=0, schedule="constant", plan=None, **more):
    name = f"case.{len(f.cases)}"
    plan = plan or {}
    params = [torch.nn.Parameter(torch.from_numpy(f.tensors[f"start.{i}"]).double()) for i in range(len(SHAPES))]
    groups = [{"params": [p for p in params if p.dim() > 1], "weight_decay": decay},
              {"params": [p for p in params if p.dim() == 1], "weight_decay": 0}]
    opt = optimizer(kind, groups, lr, **more)
    sched = scheduler(opt, schedule, **plan)
    module = torch.nn.ParameterList(params)
    mean = swa_utils.AveragedModel(module, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(average)) if average else None
    rates, looks = [], []
    for step in range(STEPS // accumulate):
        for i, p in enumerate(params):
            parts = f.tensors[f"grad.{i}"][step * accumulate:(step + 1) * accumulate]
            p.grad = torch.from_numpy(parts).double().mean(0)
        if clip:
            torch.nn.utils.clip_grad_norm_(params, clip)
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        sched.step()
        if mean:
            mean.update_parameters(module)
        if step + 1 in LOOKS or step + 1 == STEPS // accumulate:
            looks.append(step + 1)
            for i, p in enumerate(params):
                f.tensors[f"{name}.{step + 1}.{i}"] = stored(p)
    if mean:
        for i, p in enumerate(mean.module):
            f.tensors[f"{name}.average.{i}"] = stored(p)
    f.tensors[f"{name}.lr"] = np.array(rates, dtype=f32)
    f.cases.append({"name": name, "kind": kind, "lr": lr, "decay": decay, "clip": clip, "accumulate": accumulate,
                    "average": average, "schedule": schedule, "looks": looks, **plan, **more})


def families():
    f = Family("optim")
    rng = np.random.default_rng(7)
    for i, shape in enumerate(SHAPES):
        f.tensors[f"start.{i}"] = rng.standard_normal(shape).astype(f32)
        f.tensors[f"grad.{i}"] = rng.standard_normal((STEPS, *shape)).astype(f32)
    run(f, rng, "sgd", 0.1)
    run(f, rng, "sgd", 0.1, decay=0.01)
    run(f, rng, "sgd", 0.05, momentum=0.9)
    run(f, rng, "sgd", 0.05, momentum=0.9, nesterov=True, decay=0.1)
    run(f, rng, "adam", 0.01)
    run(f, rng, "adam", 0.02, decay=0.3, beta1=0.8, beta2=0.99, eps=1e-6)
    run(f, rng, "adamw", 0.01, decay=0.2)
    run(f, rng, "adamw", 0.01, decay=0.2, clip=1.5)
    run(f, rng, "sgd", 0.1, clip=1e6)  # never reached
    run(f, rng, "adamw", 0.01, decay=0.2, accumulate=4)
    run(f, rng, "sgd", 0.1, momentum=0.5, clip=2.0, accumulate=3, average=0.9)
    run(f, rng, "adam", 0.01, average=0.95)
    for warmup in (0, 1, 10):
        run(f, rng, "sgd", 0.1, schedule="constant", plan={"warmup": warmup})
        run(f, rng, "sgd", 0.1, schedule="linear", plan={"warmup": warmup, "steps": 100})
        run(f, rng, "sgd", 0.1, schedule="cosine", plan={"warmup": warmup, "steps": 100, "floor": 0.1})
        run(f, rng, "sgd", 0.1, schedule="inverse-root", plan={"warmup": warmup})
    run(f, rng, "adamw", 0.1, schedule="linear", plan={"warmup": 5, "steps": 80, "floor": 0.25})
    run(f, rng, "adam", 0.1, schedule="step", plan={"every": 30, "factor": 0.5})
    run(f, rng, "adafactor", 0.01)
    run(f, rng, "adafactor", 0.3, decay=0.2, clip=1.5, schedule="linear", plan={"warmup": 5, "steps": 80})  # 1/sqrt(t) is smaller
    run(f, rng, "adafactor", 0.02, accumulate=4, average=0.9)
    return [f]
