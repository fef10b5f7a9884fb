"""Golden runs of diffusers' schedulers: what they make of given outputs of a model, step by step. schedulers.json has the
configurations; of each, NAME, the tensors are

    NAME.sample, NAME.outputs (steps, ...), NAME.noise (steps, ...), NAME.eta    the inputs
    NAME.timesteps, NAME.samples (steps, ...)                                    what each step leads to

same_schedulers.py draws others."""
import json
import unittest.mock

import numpy as np
import torch
from diffusers import DDIMScheduler, DDPMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler, FlowMatchEulerDiscreteScheduler

from case import write_tensors

CLASSES = {c.__name__: c for c in (DDPMScheduler, DDIMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler, FlowMatchEulerDiscreteScheduler)}
SHAPE = (2, 3, 1)


def run(name, settings, steps, given):
    """Timesteps, and the sample after each step."""
    scheduler = CLASSES[name].from_config(dict(settings))
    scheduler.set_timesteps(steps)
    if hasattr(scheduler, "set_begin_index"):
        scheduler.set_begin_index(0)
    sample, out = given["sample"], {"timesteps": scheduler.timesteps.clone()}
    for i, t in enumerate(scheduler.timesteps):
        if hasattr(scheduler, "scale_model_input"):  # Euler's demands to have been asked
            scheduler.scale_model_input(sample, t)
        extra = dict(eta=float(given["eta"])) if "eta" in given else {}
        noise = given.get(f"noise.{i}", torch.full_like(sample, float("nan")))
        draw = unittest.mock.Mock(return_value=noise)
        with unittest.mock.patch(f"{CLASSES[name].__module__}.randn_tensor", draw):
            sample = scheduler.step(given[f"model_output.{i}"], t, sample, **extra).prev_sample
        out[f"sample.{i}"] = sample
    return out


def inputs(settings, name, steps, shape=SHAPE, scale=1.0, eta=None):
    scheduler = CLASSES[name].from_config(dict(settings))
    scheduler.set_timesteps(steps)
    channels = shape[1] * (2 if str(settings.get("variance_type")).startswith("learned") else 1)
    given = {"sample": scale * torch.randn(shape)}
    for i in range(len(scheduler.timesteps)):
        given[f"model_output.{i}"] = scale * torch.randn(shape[0], channels, *shape[2:])
        if settings.get("variance_type") == "learned":  # of which the square root is taken
            given[f"model_output.{i}"][:, shape[1]:].abs_()
        given[f"noise.{i}"] = torch.randn(shape)
    if eta is not None:
        given["eta"] = torch.tensor(eta)
    return given


def configurations():
    ddpm, ddim, solver, euler, flow = CLASSES
    yield "ddpm", ddpm, {}, 5, None
    for kind in ("fixed_small_log", "fixed_large", "learned", "learned_range"):
        yield f"ddpm-{kind}", ddpm, dict(variance_type=kind, beta_schedule="squaredcos_cap_v2", thresholding=kind == "learned_range", sample_max_value=1.5,
                                         dynamic_thresholding_ratio=0.8), 4, None
    yield "ddpm-v", ddpm, dict(prediction_type="v_prediction", rescale_betas_zero_snr=True, timestep_spacing="trailing", num_train_timesteps=100), 4, None
    yield "ddpm-sample", ddpm, dict(prediction_type="sample", beta_schedule="sigmoid", timestep_spacing="linspace", clip_sample_range=0.7), 4, None
    yield "ddpm-trained", ddpm, dict(num_train_timesteps=6, trained_betas=[0.1, 0.05, 0.2, 0.3, 0.25, 0.4], clip_sample=False), 3, None
    yield "ddim", ddim, {}, 5, None
    yield "ddim-eta", ddim, dict(beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012, set_alpha_to_one=False, steps_offset=1, clip_sample=False), 5, 0.6
    yield "ddim-v", ddim, dict(prediction_type="v_prediction", rescale_betas_zero_snr=True, timestep_spacing="trailing"), 4, 0.8
    yield "ddim-one-more", ddim, dict(timestep_spacing="trailing", num_train_timesteps=50), 29, None
    yield "ddim-sample", ddim, dict(prediction_type="sample", thresholding=True, sample_max_value=2.0, beta_schedule="squaredcos_cap_v2"), 4, None
    yield "solver", solver, {}, 6, None
    yield "solver-first", solver, dict(solver_order=1, prediction_type="v_prediction", beta_schedule="squaredcos_cap_v2", lambda_min_clipped=-5.1), 4, None
    yield "solver-heun", solver, dict(solver_type="heun", final_sigmas_type="sigma_min", timestep_spacing="leading", steps_offset=1), 5, None
    yield "solver-third", solver, dict(solver_order=3, use_karras_sigmas=True, beta_schedule="scaled_linear", thresholding=True), 7, None
    yield "solver-long", solver, dict(solver_order=3, prediction_type="sample", euler_at_final=True, timestep_spacing="trailing", final_sigmas_type="sigma_min"), 16, None
    yield "solver-sde", solver, dict(algorithm_type="sde-dpmsolver++", use_lu_lambdas=True), 5, None
    yield "solver-plain", solver, dict(algorithm_type="dpmsolver", final_sigmas_type="sigma_min", prediction_type="v_prediction"), 5, None
    yield "solver-flow", solver, dict(use_flow_sigmas=True, flow_shift=3.0, prediction_type="flow_prediction"), 5, None
    yield "euler", euler, {}, 5, None
    yield "euler-leading", euler, dict(beta_schedule="scaled_linear", timestep_spacing="leading", steps_offset=1, prediction_type="v_prediction"), 5, None
    yield "euler-karras", euler, dict(use_karras_sigmas=True, timestep_spacing="trailing", final_sigmas_type="sigma_min"), 5, None
    yield "euler-log", euler, dict(interpolation_type="log_linear", timestep_type="continuous", prediction_type="v_prediction", sigma_max=30.0), 4, None
    yield "euler-exponential", euler, dict(use_exponential_sigmas=True, sigma_min=0.05, sigma_max=30.0, prediction_type="sample"), 4, None
    yield "flow", flow, {}, 5, None
    yield "flow-shift", flow, dict(shift=3.0, shift_terminal=0.1), 5, None
    yield "flow-noisy", flow, dict(stochastic_sampling=True, use_karras_sigmas=True, shift=2.0), 4, None
    yield "flow-up", flow, dict(invert_sigmas=True), 4, None


def make(folder):
    torch.manual_seed(33)
    tensors, configs = {}, {}
    for key, name, settings, steps, eta in configurations():
        given = inputs(settings, name, steps, eta=eta)
        out = run(name, settings, steps, given)
        rows = range(len(out["timesteps"]))
        texts = [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in settings.items()]
        configs[key] = {"class": name, "settings": texts, "steps": steps}
        stacked = {k: torch.stack([source[f"{of}.{i}"] for i in rows]) for k, source, of in
                   (("outputs", given, "model_output"), ("noise", given, "noise"), ("samples", out, "sample"))}
        stacked |= {k: source[k] for k, source in (("sample", given), ("eta", given), ("timesteps", out)) if k in source}
        tensors |= {f"{key}.{k}": np.ascontiguousarray(v.numpy()) for k, v in stacked.items()}
    (folder / "schedulers.json").write_text(json.dumps(configs, indent=1) + "\n")
    write_tensors(folder / "schedulers.safetensors", tensors)
