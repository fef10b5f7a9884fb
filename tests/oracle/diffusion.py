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


@case
def unet2d():  # two stages, one with attention; classes
    model = diffusers.UNet2DModel(down_block_types=["DownBlock2D", "AttnDownBlock2D"], up_block_types=["AttnUpBlock2D", "UpBlock2D"], block_out_channels=[2, 4],
                                  layers_per_block=1, norm_num_groups=2, attention_head_dim=2, in_channels=1, out_channels=1, num_class_embeds=3, mid_block_type=None,
                                  downsample_padding=0, flip_sin_to_cos=False, freq_shift=0.5, time_embedding_dim=4)
    return model, dict(sample=torch.randn(2, 1, 4, 6), timestep=torch.tensor([999, 20]), class_labels=torch.tensor([2, 0]))


@case
def unet2d_scale_shift():  # steps as scale and shift; the size changed by residual blocks; one step for all
    model = diffusers.UNet2DModel(down_block_types=["ResnetDownsampleBlock2D", "DownBlock2D"], up_block_types=["UpBlock2D", "ResnetUpsampleBlock2D"], block_out_channels=[2, 2],
                                  layers_per_block=1, norm_num_groups=1, in_channels=2, out_channels=1, resnet_time_scale_shift="scale_shift", center_input_sample=True,
                                  attention_head_dim=None, mid_block_scale_factor=1.4, act_fn="mish", class_embed_type="timestep", time_embedding_dim=3)
    return model, dict(sample=torch.rand(1, 2, 4, 4), timestep=torch.tensor(7.5), class_labels=torch.tensor([300]))


@case
def unet2d_condition_sd():  # Transformers; sides that are not halved evenly, a text with padding
    model = diffusers.UNet2DConditionModel(down_block_types=["DownBlock2D", "DownBlock2D"], up_block_types=["CrossAttnUpBlock2D", "UpBlock2D"], block_out_channels=[2, 2],
                                           layers_per_block=1, norm_num_groups=1, cross_attention_dim=3, attention_head_dim=[1, 2], in_channels=1, out_channels=1,
                                           mid_block_type=None, time_embedding_dim=3)
    return model, dict(sample=torch.randn(2, 1, 4, 3), timestep=torch.tensor([3, 600]), encoder_hidden_states=torch.randn(2, 3, 3),
                       encoder_attention_mask=torch.tensor([[1, 1, 0], [1, 1, 1]]))


@case
def unet2d_condition_linear():  # linear projections, to the text alone, text and sizes added to the step as in SDXL
    model = diffusers.UNet2DConditionModel(down_block_types=["CrossAttnDownBlock2D"], up_block_types=["UpBlock2D"], mid_block_type="UNetMidBlock2D", block_out_channels=[4],
                                           layers_per_block=1, norm_num_groups=2, cross_attention_dim=4, attention_head_dim=2, transformer_layers_per_block=[2], use_linear_projection=True,
                                           only_cross_attention=True, in_channels=1, out_channels=2, addition_embed_type="text_time", addition_time_embed_dim=2,
                                           projection_class_embeddings_input_dim=7, class_embed_type="identity", class_embeddings_concat=False, time_embedding_dim=4, time_cond_proj_dim=3)
    added = dict(text_embeds=torch.randn(1, 3), time_ids=torch.tensor([[32.0, 0.0]]))
    return model, dict(sample=torch.randn(1, 1, 3, 2), timestep=torch.tensor([41]), encoder_hidden_states=torch.randn(1, 2, 4), class_labels=torch.randn(1, 4),
                       timestep_cond=torch.randn(1, 3), added_cond_kwargs=added)


@case
def unet2d_condition_if():  # DeepFloyd IF's: places and text in one softmax, the text pooled, a level of noise as class
    model = diffusers.UNet2DConditionModel(down_block_types=["SimpleCrossAttnDownBlock2D"], up_block_types=["SimpleCrossAttnUpBlock2D"],
                                           mid_block_type="UNetMidBlock2DSimpleCrossAttn", block_out_channels=[2], layers_per_block=1, norm_num_groups=1, cross_attention_dim=32,
                                           cross_attention_norm="group_norm", encoder_hid_dim=4, encoder_hid_dim_type="text_proj", addition_embed_type="text",
                                           addition_embed_type_num_heads=2, class_embed_type="timestep", resnet_time_scale_shift="scale_shift", attention_head_dim=1,
                                           act_fn="gelu", resnet_skip_time_act=True, resnet_out_scale_factor=1.41, mid_block_scale_factor=1.41, time_embedding_act_fn="gelu",
                                           timestep_post_act="gelu", in_channels=1, out_channels=2, time_embedding_dim=4)
    return model, dict(sample=torch.randn(2, 1, 2, 3), timestep=torch.tensor(250), encoder_hidden_states=torch.randn(2, 3, 4),
                       encoder_attention_mask=torch.tensor([[1, 0, 0], [1, 1, 0]]), class_labels=torch.tensor([5, 700]))


@case
def dit():  # with the variance; a map of another size than that of the positions
    model = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=2, in_channels=2, out_channels=3, num_layers=2, sample_size=4, num_embeds_ada_norm=5)
    return model, dict(sample=torch.randn(2, 2, 6, 6), timestep=torch.tensor([3, 600]), class_labels=torch.tensor([4, 5]))


@case
def dit_affine():
    model = diffusers.DiTTransformer2DModel(num_attention_heads=1, attention_head_dim=4, in_channels=1, num_layers=1, sample_size=3, patch_size=1, num_embeds_ada_norm=2,
                                            norm_elementwise_affine=True, attention_bias=False, activation_fn="geglu", norm_eps=1e-3)
    return model, dict(sample=torch.randn(2, 1, 3, 3), timestep=torch.tensor(17), class_labels=torch.tensor([0, 1]))


@case
def pixart():  # captions with padding; sides that are no whole number of patches
    model = diffusers.PixArtTransformer2DModel(num_attention_heads=2, attention_head_dim=2, in_channels=2, out_channels=4, num_layers=2, sample_size=6, cross_attention_dim=4,
                                               caption_channels=3)
    return model, dict(sample=torch.randn(2, 2, 5, 8), timestep=torch.tensor([3, 600]), encoder_hidden_states=torch.randn(2, 3, 3),
                       encoder_attention_mask=torch.tensor([[1, 1, 0], [1, 1, 1]]))


@case
def pixart_plain():  # a text that is not projected, norms with weights
    model = diffusers.PixArtTransformer2DModel(num_attention_heads=1, attention_head_dim=4, in_channels=1, out_channels=None, num_layers=1, sample_size=4, cross_attention_dim=5,
                                               interpolation_scale=2, norm_elementwise_affine=True, activation_fn="swiglu", attention_bias=False)
    return model, dict(sample=torch.randn(2, 1, 4, 4), timestep=torch.tensor([900]), encoder_hidden_states=torch.randn(2, 2, 5))


def make(folder):
    for name, make_case in CASES.items():
        golden.seed(name)
        model, inputs = make_case()
        golden.save(folder / name, lively(model), inputs)
