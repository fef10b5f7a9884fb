"""Networks of diffusers: golden directories below tests/golden/model."""
import torch
import torchvision_ops  # noqa: F401, before transformers
import diffusers

import golden
from components import lively

CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


@case
def autoencoder_kl():  # two stages, attention in the middle; sides of which one is odd
    model = diffusers.AutoencoderKL(down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2, block_out_channels=[4, 2],
                                    norm_num_groups=2, latent_channels=2, scaling_factor=0.5, in_channels=2, out_channels=1, sample_size=8)
    return model, dict(sample=torch.randn(2, 2, 6, 7))


@case
def autoencoder_kl_noise():  # attention in every stage, no products of the latents
    model = diffusers.AutoencoderKL(down_block_types=["AttnDownEncoderBlock2D"], up_block_types=["AttnUpDecoderBlock2D"], block_out_channels=[4], norm_num_groups=2, layers_per_block=1,
                                    latent_channels=3, use_quant_conv=False, use_post_quant_conv=False, mid_block_add_attention=False, act_fn="gelu", shift_factor=0.1)
    return model, dict(sample=torch.randn(1, 3, 4, 3), noise=torch.randn(1, 3, 4, 3))


@case
def autoencoder_kl_latents():
    model = diffusers.AutoencoderKL(down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2, block_out_channels=[4, 4],
                                    norm_num_groups=2, latent_channels=1, sample_size=[8, 4])
    return model, dict(latents=torch.randn(2, 1, 3, 2))


def make(folder):
    for name, make_case in CASES.items():
        golden.seed(name)
        model, inputs = make_case()
        golden.save(folder / name, lively(model), inputs)
