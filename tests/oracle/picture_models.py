"""Models of pictures in use, task/picture-vit, task/picture-swin and task/picture-timm: a directory with its processor, pictures as files, and in
case.safetensors for each of them what transformers (its processor on Pillow) and timm make of it: probabilities, the mean over the patches' states,
attention of every layer in the grid of patches, rollout of the class token."""
import torchvision_ops  # noqa: F401, before transformers

import numpy as np
import timm
import torch
import transformers as hf
from PIL import Image, ImageOps
from safetensors.torch import save_file
from timm.data import create_transform
from timm.models._hub import save_config_for_hf
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

import golden
from same_pictures import placed, rolled
from windows import every_block


def pictures(folder):
    y, x = np.mgrid[0:21, 0:30]
    a = np.stack([127 + 90 * np.sin(x / 3 + c) + 37 * np.cos(y / 4 - c) for c in range(3)], -1).clip(0, 255).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(a).save(folder / "wide.png")
    Image.fromarray(a[:, :17]).save(folder / "turned.jpg", quality=80, exif=exif)
    for name in ("wide.png", "turned.jpg"):
        yield name, ImageOps.exif_transpose(Image.open(folder / name)).convert("RGB")


def save(folder, tensors):
    save_file({k: v.float().contiguous() for k, v in tensors.items()}, folder / "case.safetensors")
    for path in folder.iterdir():
        path.chmod(0o644)
    print(folder.name, sum(p.stat().st_size for p in folder.iterdir()), "bytes")


def transformers_model(folder, model, processor, first):
    golden.enliven(model).eval()
    folder.mkdir(exist_ok=True)
    model.save_pretrained(folder), processor.save_pretrained(folder)
    config, out = model.config, {}
    if config.model_type == "swin":
        every_block(model)
    for name, image in pictures(folder):
        pixels = processor(image, return_tensors="pt").pixel_values
        with torch.no_grad():
            found = model(pixels, output_attentions=True)
            states = getattr(model, model.base_model_prefix)(pixels).last_hidden_state
        out[name + ".probabilities"] = found["logits"].softmax(-1)[0]
        out[name + ".mean"] = states[0, first:].mean(0)
        if config.model_type == "swin" and name == "wide.png":
            out[name + ".attention"] = placed(config, 1, (7, 7), found["attentions"][0])
        elif config.model_type != "swin":
            out[name + ".attention"] = torch.cat(found.attentions)
            out[name + ".rollout"] = rolled(found.attentions)[0]
    save(folder, out)


def make(folder):
    size = dict(height=12, width=12)
    golden.seed("picture-vit")
    transformers_model(folder / "picture-vit", hf.ViTForImageClassification._from_config(hf.ViTConfig(
        image_size=12, patch_size=3, hidden_size=8, num_hidden_layers=3, num_attention_heads=2, intermediate_size=6, id2label={0: "sea", 1: "hill", 2: "town"}),
        attn_implementation="eager"), ViTImageProcessorPil(size=size, image_mean=[.4, .5, .6], image_std=[.2, .3, .25]), 1)
    golden.seed("picture-swin")
    transformers_model(folder / "picture-swin", hf.SwinForImageClassification._from_config(hf.SwinConfig(
        image_size=14, patch_size=2, embed_dim=6, depths=[2, 1], num_heads=[2, 3], window_size=3, mlp_ratio=1.0, num_labels=3),
        attn_implementation="eager"), ViTImageProcessorPil(size=dict(height=14, width=14), resample=3), 0)
    golden.seed("picture-timm")
    where, args = folder / "picture-timm", dict(img_size=12, patch_size=3, embed_dim=8, depth=2, num_heads=2, mlp_ratio=1.0, reg_tokens=2, global_pool="avg")
    where.mkdir(exist_ok=True)
    model = golden.enliven(timm.create_model("vit_tiny_patch16_224", num_classes=3, **args)).eval()
    model.pretrained_cfg.update(input_size=(3, 12, 12), crop_pct=0.9, num_classes=3)
    save_config_for_hf(model, where / "config.json", model_config=dict(label_names=["sea", "hill", "town"]), model_args=args)
    save_file(model.state_dict(), where / "model.safetensors")
    cfg, out = model.pretrained_cfg, {}
    transform = create_transform(input_size=(3, 12, 12), interpolation=cfg["interpolation"], mean=cfg["mean"], std=cfg["std"], crop_pct=0.9)
    for name, image in pictures(where):
        with torch.no_grad():
            features = model.forward_features(transform(image)[None])
            out[name + ".probabilities"] = model.forward_head(features).softmax(-1)[0]
            out[name + ".mean"] = features[0, 3:].mean(0)
    save(where, out)
