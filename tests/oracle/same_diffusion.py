"""same_models.py for the networks of diffusers: python same_diffusion.py HEED [FAMILY...] [--cases N] [--seed S].

Draws a config of each class and inputs. Of some cases heed makes the directory with `heed new`, which diffusers then opens: its
config and weights must be what diffusers takes without a warning."""
import json
import subprocess
import sys
import warnings

import torch
import torchvision_ops  # noqa: F401, before transformers
import diffusers

import drawn
from components import component, lively

ACTS = ["silu", "swish", "gelu", "relu", "mish"]


def some(r, **choices):
    return {key: r.choice(values) for key, values in choices.items() if r.random() < 0.4}


def sides(r, multiple, most=3):
    return [multiple * r.randint(1, most), multiple * r.randint(1, most)]


def autoencoder(r):
    stages, groups = r.randint(1, 3), r.choice([1, 2, 4])
    keys = dict(down_block_types=[r.choice(["DownEncoderBlock2D", "DownEncoderBlock2D", "AttnDownEncoderBlock2D"]) for _ in range(stages)],
                up_block_types=[r.choice(["UpDecoderBlock2D", "UpDecoderBlock2D", "AttnUpDecoderBlock2D"]) for _ in range(stages)],
                block_out_channels=[groups * r.randint(2, 4) for _ in range(stages)], norm_num_groups=groups, layers_per_block=r.randint(1, 2))
    keys |= some(r, in_channels=[1, 4], out_channels=[1, 4], act_fn=ACTS, latent_channels=[1, 3, 8], sample_size=[16, [8, 4]], use_quant_conv=[False],
                 use_post_quant_conv=[False], mid_block_add_attention=[False], force_upcast=[False], shift_factor=[0.1], latents_mean=[[0.5, 0.1]])
    model, rows = diffusers.AutoencoderKL(**keys), r.randint(1, 2)
    latents = [rows, model.config.latent_channels, r.randint(2, 4), r.randint(1, 4)]
    if r.random() < 0.2:
        return model, dict(latents=torch.randn(latents))
    size = [n * 2 ** (stages - 1) for n in latents[2:]]
    given = dict(sample=torch.randn(rows, model.config.in_channels, *size))
    if r.random() < 0.3:
        given["noise"] = torch.randn(latents)
    elif r.random() < 0.5:
        given["sample"] = given["sample"][..., :-1, :] if size[0] > 2 ** stages else given["sample"]
    return model, given


FAMILIES = {"autoencoder-kl": autoencoder}
HEED = sys.argv[1] if len(sys.argv) > 1 else None


def made_by_heed(family, config, folder):
    """What diffusers makes of heed's directory with this config."""
    keys = {k: v for k, v in config.items() if not k.startswith("_")}
    settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]
    subprocess.run([HEED, "new", family, folder / "new", "--quiet", *settings], check=True)
    (folder / "new").rename(folder / "moved")
    for file in (folder / "moved").iterdir():
        file.rename(folder / file.name)
    kind = getattr(diffusers, json.loads((folder / "config.json").read_text())["_class_name"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, info = kind.from_pretrained(folder, output_loading_info=True, low_cpu_mem_usage=False)
    assert not any(info.values()), info
    assert {k: v for k, v in model.config.items() if k in keys} == keys
    return component(model)


def case(family, r, folder):
    model, given = FAMILIES[family](r)
    if r.random() < 0.3:
        model = made_by_heed(family, json.loads(json.dumps(dict(model.config))), folder)
    else:
        lively(model).save_pretrained(folder)
    return model, given, " ".join((folder / "config.json").read_text().split())


if __name__ == "__main__":
    sys.exit(drawn.run(__doc__, FAMILIES, case))
