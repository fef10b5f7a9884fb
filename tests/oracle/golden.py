"""A golden directory: a small model as Python saves it, with what it gives for some inputs and every gradient.

    config.json, model.safetensors    the model directory
    case.safetensors                  in.NAME    the inputs of forward; in.grad_output where there is no loss
                                      out.NAME   its outputs: logits, loss, last_hidden_state, attentions.0, ...
                                      grad.NAME  the gradient of the loss, or of sum(output * grad_output), by every
                                                 parameter of model.safetensors that has one

tests/model/test_golden.c holds heed against every directory below tests/golden/model. Python computes in float64 on
float32 weights.
"""
import copy
import json
import pathlib
import shutil
import tempfile
import zlib

import numpy as np
import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from case import demand_finite, wanted, write_tensors
transformers.logging.disable_progress_bar()
LARGEST = 50 * 1024
MAIN = ("logits", "action_preds", "sample", "last_hidden_state", "prediction_logits", "start_logits")  # what grad_output multiplies
SKIPPED = ("past_key_values", "hidden_states", "encoder_hidden_states", "decoder_hidden_states",
           "encoder_last_hidden_state", "auxiliary_outputs")


def seed(name):
    """Random numbers of its own for each directory, so that adding one leaves the bytes of all others as they are."""
    torch.manual_seed(zlib.crc32(name.encode()))


def enliven(model):
    """Fresh weights are small and biases zero: too tame to find mistakes. The logarithm of a scale is neither."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad:
                p.copy_(p * 10 if p.dim() > 1 and not name.endswith("logit_scale") else p + 0.2 * torch.randn_like(p))
        for module in model.modules():
            if getattr(module, "running_var", None) is not None:  # of a batch norm, behind weights that are 10 times as large
                module.running_mean.copy_(3 * torch.randn_like(module.running_mean))
                module.running_var.copy_(100 * (0.5 + torch.rand_like(module.running_var)))
    return model


def flat(output, skipped=SKIPPED):
    """NAME: tensor; tuples of tensors, one for each layer, become NAME.LAYER, and dicts NAME.KEY; a list of dicts NAME.I.KEY."""
    for name, value in output.items():
        if name in skipped or value is None:
            continue
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{key}", t) for key, t in flat(value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for i, each in enumerate(value):
                yield from ((f"{name}.{i}.{key}", t) for key, t in flat(each))
        else:
            yield from ((f"{name}.{i}", t) for i, t in enumerate(value))


def as_type(value, dtype):
    """Its floats in another type, in lists and dicts too."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: as_type(v, dtype) for k, v in value.items()}
    return [as_type(v, dtype) for v in value] if isinstance(value, list) else value


def gradients(model, names):
    """The gradient of every parameter that has one, by the names of model.safetensors. Classes whose files have other
    names than their modules save gradients as if they were weights; NaN stands for none."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    if "lm_head.weight" in parameters:
        parameters["embed_out.weight"] = parameters["lm_head.weight"]  # what files of GPT-NeoX call it
    known = parameters.keys() | {name for name, _ in model.named_buffers()} | {"embed_out.weight"}  # buffers have no gradient
    if not hasattr(model, "save_pretrained") or all(n in known for n in names):
        return {n: parameters[n].grad for n in names if n in parameters and parameters[n].grad is not None}
    other = copy.deepcopy(model)
    for p, q in zip(other.parameters(), model.parameters()):
        p.data = torch.full_like(q, float("nan")) if q.grad is None else q.grad.clone()
    for b in other.buffers():
        if b.is_floating_point():
            b.fill_(float("nan"))
    with tempfile.TemporaryDirectory() as folder:
        other.save_pretrained(folder)
        saved = load_file(pathlib.Path(folder) / "model.safetensors")
    return {n: t for n, t in saved.items() if not t.isnan().any()}


def weights_of(path):
    """The file of a directory that transformers or diffusers wrote."""
    component = path / "diffusion_pytorch_model.safetensors"
    return component if component.exists() else path / "model.safetensors"


def stored(t):
    a = t.detach().numpy()
    return a.astype(np.float32) if a.dtype == np.float64 else a


def save(path, model, inputs, config=None):
    """Writes the directory `path` for a model of transformers, or any torch module whose forward gives a dict, with its
    config.json as a dict. inputs: tensors by the names of forward's arguments. The model is in float64 afterwards. Where
    Python gives numbers that are not finite, nothing stays of it."""
    if not wanted(path.name):
        return
    try:
        write(path, model, inputs, config)
    except ValueError:
        shutil.rmtree(path, ignore_errors=True)
        raise


def write(path, model, inputs, config):
    model.eval()
    shutil.rmtree(path, ignore_errors=True)
    if config is None:
        model.save_pretrained(path)
        (path / "generation_config.json").unlink(missing_ok=True)
    else:
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        save_file({k: v.contiguous() for k, v in model.state_dict().items()}, path / "model.safetensors")
    weights_of(path).chmod(0o644)
    options = {}
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation("eager")
        options = dict(output_attentions=True, return_dict=True)
    wide = as_type(inputs, torch.float64)
    output = dict(flat(model.double()(**wide, **options)))
    tensors = {f"in.{k}": stored(v) for k, v in flat(inputs, skipped=())} | {f"out.{k}": stored(v) for k, v in output.items()}
    if "loss" in output:
        if output["loss"].requires_grad:
            output["loss"].backward()
    else:
        main = next(output[name] for name in MAIN if name in output)
        upstream = torch.randn(main.shape)
        tensors["in.grad_output"] = stored(upstream)
        main.backward(upstream.double())
    demand_finite(path.name, {f"the gradient of {n}": p.grad.numpy() for n, p in model.named_parameters() if p.grad is not None})
    with safe_open(weights_of(path), "numpy") as file:
        names = list(file.keys())
    tensors |= {f"grad.{name}": stored(grad) for name, grad in gradients(model, names).items()}
    write_tensors(path / "case.safetensors", tensors)
    size = sum(f.stat().st_size for f in path.iterdir())
    assert size <= LARGEST, f"{path.name}: {size} bytes are more than {LARGEST}"
    print(f"model/{path.name}: {len(tensors)} tensors, {size} bytes")
