"""Golden file of adversarial training on high frequencies (Bai et al. 2022): make.py hat.

hat.safetensors: pictures as bytes (in.pixels: picture, row, column, channel) and their classes, the loss of the pictures as
they are before each of three updates of model/vit-classify (out.loss), and its parameters after them (param.NAME). The
first two updates have three passes, the third one has one; the whole set is a batch. OPTS are the test's too."""
import pathlib
import tempfile

import torchvision_ops  # noqa: F401, before transformers
import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file
from torch.nn import functional as F

from case import write_tensors

MEAN, STD = (0.5, 0.4, 0.3), (0.25, 0.2, 0.3)
PASSES, STEP, RADIUS, KL, CE, SMOOTHING, RATE, MOMENTUM = (3, 3, 1), 0.05, 0.08, 0.5, 3.0, 0.1, 0.2, 0.9


def symmetric_kl(logits, clean):
    p, q = F.log_softmax(logits, -1), F.log_softmax(clean, -1)
    return (F.kl_div(p, q, reduction="batchmean", log_target=True) + F.kl_div(q, p, reduction="batchmean", log_target=True)) / 2


def update(model, x, labels, passes):
    """Adds up the gradients of the passes; gives the loss of the first without its divergence."""
    clean, delta, first = model(x).logits.detach(), torch.zeros_like(x), None
    for k in range(passes):
        delta.requires_grad_()
        logits = model(x + delta).logits
        loss, apart = F.cross_entropy(logits, labels, label_smoothing=SMOOTHING), symmetric_kl(logits, clean)
        first = loss.item() if first is None else first
        ((loss + KL * apart) if k == 0 else (CE * loss + KL * apart) / (passes - 1)).backward()
        if k + 1 < passes:  # far enough from 0, so that rounding changes no sign
            assert delta.grad.abs().min() > 1e-5 * delta.grad.abs().max(), delta.grad.abs().min() / delta.grad.abs().max()
        delta = (delta + STEP * delta.grad.sign()).clamp(-RADIUS, RADIUS).detach()
    return first


def make(folder):
    torch.manual_seed(4)
    model = hf.ViTForImageClassification.from_pretrained(folder.parent / "model/vit-classify", attn_implementation="eager").double().train()
    pixels, labels = torch.randint(0, 256, (6, 8, 8, 3), dtype=torch.uint8), torch.tensor([0, 4, 2, 1, 3, 2])
    x = ((pixels.double() / 255 - torch.tensor(MEAN)) / torch.tensor(STD)).permute(0, 3, 1, 2).float().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    losses = []
    for passes in PASSES:
        optimizer.zero_grad()
        losses.append(update(model, x, labels, passes))
        optimizer.step()
    tensors = {"in.pixels": pixels.numpy(), "in.labels": labels.int().numpy(), "out.loss": np.array(losses, np.float32)}
    with tempfile.TemporaryDirectory() as saved:  # by the names of files, which are not those of modules
        model.float().save_pretrained(saved)
        for name, p in load_file(pathlib.Path(saved) / "model.safetensors").items():
            tensors[f"param.{name}"] = p.numpy()
    write_tensors(folder / "hat.safetensors", tensors)
    print(f"{folder.name}/hat.safetensors: losses {' '.join(f'{v:.6f}' for v in losses)}")
