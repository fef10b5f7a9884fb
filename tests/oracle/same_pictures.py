"""Random models and pictures through `heed classify`, `embed` and `attend`, and through transformers (its processors on Pillow) and timm's transform:
python same_pictures.py HEED [--cases N] [--seed S]. Probabilities, vectors, attention placed in the picture and rollout must be equal."""
import torchvision_ops  # noqa: F401, before transformers
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

import numpy as np
import timm
import torch
import transformers as hf
from PIL import Image, ImageOps
from timm.data import create_transform, resolve_data_config
from timm.models._hub import save_config_for_hf
from safetensors.torch import save_file
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

import golden
from windows import every_block

LIMIT = 1e-5


def picture(r, path):
    """A photograph's kind of picture, of any mode and size, sometimes turned by EXIF."""
    w, h = r.randint(1, 90), r.randint(1, 90)
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([127 + 90 * np.sin(x / r.uniform(2, 9) + c) + 40 * np.cos(y / r.uniform(2, 9)) for c in range(3)], -1).clip(0, 255).astype(np.uint8)
    image = Image.fromarray(a)
    mode = r.choice(["RGB", "RGB", "L", "RGBA", "P"])
    if path.suffix == ".png":
        (image.convert("RGBA") if mode == "RGBA" else image.convert(mode)).save(path)
    else:
        exif = Image.Exif()
        exif[0x0112] = r.choice([1, 1, 3, 6, 8])
        image.convert("L" if mode == "L" else "RGB").save(path, quality=r.randint(30, 98), exif=exif)
    return path


def opened(path, channels):
    """As transformers' pipeline opens it."""
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB" if channels == 3 else "L")


def transformers_case(r, where):
    kind = r.choice(["ViT", "ViT", "DeiT", "Swin", "Dinov2", "Dinov2WithRegisters"])
    channels = r.choice([3, 3, 1]) if kind != "Swin" else 3
    patch = r.randint(2, 5)
    heads = r.randint(1, 3)
    if kind == "Swin":
        size = patch * r.choice([8, 9, 10, 12])
        config = hf.SwinConfig(image_size=size, patch_size=patch, embed_dim=4 * heads, depths=[2, r.randint(1, 3)], num_heads=[heads, 2 * heads],
                               window_size=r.randint(2, 4), num_labels=r.randint(2, 5))
    else:
        size = patch * r.randint(2, 6)
        wide = dict(mlp_ratio=2) if kind.startswith("Dino") else dict(intermediate_size=8)
        config = getattr(hf, kind + "Config")(image_size=size, patch_size=patch, hidden_size=4 * heads, num_hidden_layers=r.randint(1, 4), num_attention_heads=heads,
                                              num_channels=channels, num_labels=r.randint(2, 5), **wide)
    config.id2label = {i: f"class {i}" for i in range(config.num_labels)}
    config.label2id = {v: k for k, v in config.id2label.items()}
    model = getattr(hf, kind + "ForImageClassification")._from_config(config, attn_implementation="eager")
    golden.enliven(model).eval()
    moments = dict(image_mean=[r.uniform(.3, .6) for _ in range(channels)], image_std=[r.uniform(.2, .5) for _ in range(channels)])
    if channels == 3 and kind.startswith("Dino") and r.random() < 0.7:
        processor = BitImageProcessorPil(size=dict(shortest_edge=size + r.randint(0, 4)), crop_size=dict(height=size, width=size), resample=3, **moments)
    elif channels == 3 and r.random() < 0.3:
        processor = DeiTImageProcessorPil(size=dict(height=size + 4, width=size + 3), crop_size=dict(height=size, width=size), **moments)
    else:
        processor = ViTImageProcessorPil(size=dict(height=size, width=size), resample=r.choice([1, 2, 3]), **moments)
    model.save_pretrained(where), processor.save_pretrained(where)
    if kind == "Swin":
        every_block(model)

    def prepare(path):
        image = opened(path, channels)
        if channels == 1:
            image = np.asarray(image)[None]
            return processor(image, input_data_format="channels_first", return_tensors="pt").pixel_values
        return processor(image, return_tensors="pt").pixel_values

    def run(path):
        with torch.no_grad():
            out = model(prepare(path), output_attentions=True)
            body = getattr(model, model.base_model_prefix)(prepare(path)).last_hidden_state
        return out["logits"].softmax(-1)[0].numpy(), list(config.id2label.values()), body[0], out

    return kind, config, run


def timm_case(r, where):
    name = r.choice(["vit_tiny_patch16_224", "deit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "deit_tiny_distilled_patch16_224", "cait_xxs24_224"])
    heads, size = r.randint(1, 3), 16
    args = dict(img_size=size, num_classes=r.randint(2, 5), embed_dim=4 * heads)
    if "swin" in name:
        args.update(img_size=32, depths=(2, 1), num_heads=(heads, heads), window_size=4)
    else:
        args.update(patch_size=4, depth=r.randint(1, 3), num_heads=heads)
        if "distilled" not in name and "cait" not in name:
            args.update(reg_tokens=r.choice([0, 2]), global_pool=r.choice(["token", "avg"]))
    model = golden.enliven(timm.create_model(name, **args)).eval()
    model.pretrained_cfg["input_size"] = (3, args["img_size"], args["img_size"])
    model.pretrained_cfg["crop_pct"] = r.choice([0.5, 0.9, 1.0])
    model.pretrained_cfg["interpolation"] = r.choice(["bilinear", "bicubic"])
    model.pretrained_cfg["num_classes"] = args["num_classes"]
    names = [f"thing {i}" for i in range(args["num_classes"])]
    where.mkdir(exist_ok=True)
    save_config_for_hf(model, where / "config.json", model_config=dict(label_names=names), model_args={k: v for k, v in args.items() if k != "num_classes"})
    save_file(model.state_dict(), where / "model.safetensors")
    config = resolve_data_config(pretrained_cfg=model.pretrained_cfg, model=model)
    transform = create_transform(**{k: config[k] for k in ("input_size", "interpolation", "mean", "std", "crop_pct", "crop_mode")})

    def run(path):
        with torch.no_grad():
            features = model.forward_features(transform(opened(path, 3))[None])
            return model.forward_head(features).softmax(-1)[0].numpy(), names, features[0], None

    return name, None, run


def heed(program, *words, fail=False):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if (done.returncode != 0) != fail:
        raise SystemExit(f"{words}: status {done.returncode}: {done.stderr}")
    return done.stdout


def rolled(maps):
    """Abnar and Zuidema 2020, as matrices."""
    out = torch.eye(maps[0].shape[-1], dtype=torch.float64)
    for m in maps:
        a = 0.5 * m[0].double().mean(0) + 0.5 * torch.eye(m.shape[-1], dtype=torch.float64)
        out = (a / a.sum(-1, keepdim=True)) @ out
    return out


def placed(config, block, stage_grid, weights):
    """Maps of windows (n, H, a, a) as (H, N, N) of the whole grid: which patch each token is, by rolling and cutting a grid of numbers as the model does."""
    h, w = stage_grid
    window, shift = config.window_size, 0 if block % 2 == 0 else config.window_size // 2
    if min(h, w) <= window:
        window, shift = min(h, w), 0
    numbers = torch.arange(h * w).reshape(h, w)
    padded = torch.nn.functional.pad(numbers, (0, -w % window, 0, -h % window), value=-1)
    padded = torch.roll(padded, (-shift, -shift), (0, 1))
    H, W = padded.shape
    cells = padded.reshape(H // window, window, W // window, window).permute(0, 2, 1, 3).reshape(-1, window * window)
    out = torch.zeros(weights.shape[1], h * w, h * w)
    for n, cell in enumerate(cells):
        for i, q in enumerate(cell):
            for j, k in enumerate(cell):
                if q >= 0 and k >= 0:
                    out[:, q, k] = weights[n, :, i, j]
    return out


def check_attention(program, where, path, kind, config, out, tmp):
    npy = tmp / "a.npy"
    if kind != "Swin":
        heed(program, "attend", where, path, "--npy", npy, "--quiet")
        wanted = torch.cat([t for t in out.attentions])
        worst = float(np.abs(np.load(npy) - wanted.numpy()).max())
        text = json.loads(heed(program, "attend", where, path, "--rollout", "--json", "--quiet"))
        row = rolled(out.attentions)[0].numpy()
        found = np.array(text["token_weights"][0][0] + np.array(text["weights"][0][0]).reshape(-1).tolist())
        return max(worst, float(np.abs(found - row).max()) - 1e-6)
    worst, side, number = 0, config.image_size // config.patch_size, 0
    for stage, depth in enumerate(config.depths):
        heed(program, "attend", where, path, "--site", f"stage {stage}", "--npy", npy, "--quiet")
        found = np.load(npy)
        for block in range(depth):
            weights = out[f"windows_attentions.{number}"] if block + 1 < depth else out["attentions"][stage]
            worst = max(worst, float(np.abs(found[block] - placed(config, block, (side, side), weights).numpy()).max()))
            number += 1
        side = (side + 1) // 2
    return worst


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("heed"), p.add_argument("--cases", type=int, default=20), p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    worst, seen = dict(probability=0.0, vector=0.0, attention=0.0), {}
    for case in range(a.cases):
        r = random.Random(a.seed * 100000 + case)
        torch.manual_seed(case)
        with tempfile.TemporaryDirectory() as folder:
            tmp = pathlib.Path(folder)
            kind, config, run = (timm_case if r.random() < 0.4 else transformers_case)(r, tmp / "m")
            paths = [picture(r, tmp / f"{i}.{r.choice(['png', 'jpg'])}") for i in range(3)]
            lines = [json.loads(t) for t in heed(a.heed, "classify", tmp / "m", *paths, "--json", "--quiet").splitlines()]
            means = [json.loads(t) for t in heed(a.heed, "embed", tmp / "m", *paths, "--pooling", "mean", "--json", "--quiet").splitlines()]
            for path, line, mean in zip(paths, lines, means):
                wanted, names, body, out = run(path)
                found = np.array([line["scores"][n] for n in names])
                worst["probability"] = max(worst["probability"], float(np.abs(found - wanted).max()))
                before = {"ViT": 1, "DeiT": 2, "Dinov2": 1, "Dinov2WithRegisters": 5}.get(kind, 0)
                if out is None and body.dim() == 2:
                    before = body.shape[0] - 16
                flat = body[before:] if body.dim() == 2 else body.reshape(-1, body.shape[-1])
                worst["vector"] = max(worst["vector"], float(np.abs(np.array(mean["vector"]) - flat.mean(0).numpy()).max()))
                if out is not None:
                    worst["attention"] = max(worst["attention"], check_attention(a.heed, tmp / "m", path, kind, config, out, tmp))
            if max(worst.values()) > LIMIT * 3:
                raise SystemExit(f"case {case}, {kind}: {worst}")
            seen[kind] = seen.get(kind, 0) + 1
    print(seen, worst)
    if worst["probability"] > LIMIT:
        raise SystemExit("probabilities differ")
