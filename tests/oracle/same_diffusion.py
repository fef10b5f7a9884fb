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


def steps(r, rows):
    """Whole numbers or others, one or one for each of the batch."""
    shape = r.choice([(), (1,), (rows,), (rows,)])
    return torch.randint(0, 1000, shape) if r.random() < 0.6 else 999 * torch.rand(shape)


def body(r, downs, ups, groups, stages):
    """Keys that both U-Nets have."""
    channels = [groups * r.randint(2, 4) for _ in range(stages)]
    return dict(down_block_types=[r.choice(downs) for _ in range(stages)], up_block_types=[r.choice(ups) for _ in range(stages)],
                block_out_channels=channels, norm_num_groups=groups) | some(
        r, in_channels=[1, 3, 5], out_channels=[1, 2, 6], center_input_sample=[True], freq_shift=[0, int(channels[0] >= 4)], flip_sin_to_cos=[False], act_fn=ACTS, dropout=[0.1],
        downsample_padding=[0, 1], mid_block_scale_factor=[1.5, 0.7], norm_eps=[1e-5, 1e-3], resnet_time_scale_shift=["default", "scale_shift"],
        time_embedding_dim=[12, 20], sample_size=[8, [8, 4]])


def labels(r, model, rows, keys):
    width = model.time_embedding.linear_2.out_features
    if keys.get("class_embed_type") == "timestep":
        return dict(class_labels=torch.randint(0, 1000, (rows,)))
    if keys.get("class_embed_type") in ("projection", "simple_projection"):
        return dict(class_labels=torch.randn(rows, keys["projection_class_embeddings_input_dim"]))
    if keys.get("class_embed_type") == "identity":
        return dict(class_labels=torch.randn(rows, width))
    return dict(class_labels=torch.randint(0, keys["num_class_embeds"], (rows,))) if keys.get("num_class_embeds") else {}


def unet(r):
    stages, groups = r.randint(1, 3), r.choice([1, 2, 4])
    keys = body(r, ["DownBlock2D", "AttnDownBlock2D", "ResnetDownsampleBlock2D", "UNetResAttnDownBlock2D"], ["UpBlock2D", "AttnUpBlock2D", "ResnetUpsampleBlock2D"], groups, stages)
    keys |= dict(layers_per_block=r.randint(1, 2), attention_head_dim=r.choice([None, 1, 2, min(keys["block_out_channels"])]))
    keys |= some(r, downsample_type=["resnet"], upsample_type=["resnet"], add_attention=[False], mid_block_type=["UNetMidBlock2D", None], attn_norm_num_groups=[1, groups],
                 time_embedding_type=["positional", "learned"], num_class_embeds=[5])
    if keys.get("time_embedding_type") == "learned":
        keys["num_train_timesteps"] = 1000
    if r.random() < 0.3:
        keys |= dict(class_embed_type=r.choice(["timestep", "identity"]))
    model, rows = diffusers.UNet2DModel(**keys), r.randint(1, 3)
    given = dict(sample=torch.randn(rows, model.config.in_channels, *sides(r, 2 ** (stages - 1))), timestep=steps(r, rows))
    given |= labels(r, model, rows, keys)
    if keys.get("time_embedding_type") == "learned":
        given = {k: v.long() if k in ("timestep", "class_labels") and keys.get("class_embed_type") != "identity" or k == "timestep" else v for k, v in given.items()}
    return model, given


TEXT_DOWN = ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "AttnDownBlock2D", "ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D", "SimpleCrossAttnDownBlock2D"]
TEXT_UP = ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "AttnUpBlock2D", "ResnetUpsampleBlock2D", "SimpleCrossAttnUpBlock2D", "SimpleCrossAttnUpBlock2D"]
STABLE = TEXT_DOWN[:2], TEXT_UP[:2]
FLOYD = TEXT_DOWN[-3:], TEXT_UP[-3:]


def each(r, stages, low, high):
    """One number, or one for each stage."""
    return r.choice([r.randint(low, high), [r.randint(low, high) for _ in range(stages)]])


def text_unet(r):
    stages, groups, kind = r.randint(1, 3), r.choice([1, 2, 4]), r.choice(["stable", "floyd", "any"])
    keys = body(r, *dict(stable=STABLE, floyd=FLOYD, any=(TEXT_DOWN, TEXT_UP))[kind], groups, stages)
    sizes = [n for n in (1, 2, 3, 4) if n <= 2 * groups] if kind == "stable" else [n for n in (1, 2, 4) if groups % n == 0]  # which divide all channels
    keys |= dict(attention_head_dim=r.choice([r.choice(sizes), [r.choice(sizes) for _ in range(stages)]]), layers_per_block=each(r, stages, 1, 2), cross_attention_dim=r.choice([4, 6, 32]))
    keys["mid_block_type"] = r.choice(dict(stable=["UNetMidBlock2DCrossAttn"], floyd=["UNetMidBlock2DSimpleCrossAttn"], any=["UNetMidBlock2DCrossAttn", "UNetMidBlock2DSimpleCrossAttn", "UNetMidBlock2D", None])[kind])
    keys |= some(r, use_linear_projection=[True], upcast_attention=[True], transformer_layers_per_block=[2, [r.randint(1, 2) for _ in range(stages)]], time_embedding_act_fn=ACTS, timestep_post_act=ACTS,
                 conv_in_kernel=[1, 5], conv_out_kernel=[1, 5], encoder_hid_dim=[6, 12], num_class_embeds=[4])
    if kind != "stable":
        keys |= some(r, resnet_skip_time_act=[True], resnet_out_scale_factor=[1.4], mid_block_only_cross_attention=[True, False], cross_attention_norm=["group_norm"] if keys["cross_attention_dim"] == 32 else [None])
        if kind == "floyd" or "CrossAttn" not in str(keys):
            keys |= some(r, only_cross_attention=[True, [r.random() < 0.5 for _ in range(stages)]])
    else:
        keys |= some(r, only_cross_attention=[True, [r.random() < 0.5 for _ in range(stages)]])
    if r.random() < 0.2:  # lists within the list, as of SSD-1B
        layers = keys["layers_per_block"] if isinstance(keys["layers_per_block"], list) else [keys["layers_per_block"]] * stages
        keys["transformer_layers_per_block"] = [r.choice([1, [r.randint(1, 2) for _ in range(n)]]) for n in layers]
        keys["reverse_transformer_layers_per_block"] = [r.choice([1, [r.randint(1, 2) for _ in range(n + 1)]]) for n in reversed(layers)]
    text = keys.get("encoder_hid_dim") or keys["cross_attention_dim"]
    if r.random() < 0.4:
        keys |= dict(addition_embed_type="text", addition_embed_type_num_heads=r.choice([1, 2]))
    elif r.random() < 0.3:
        keys |= dict(addition_embed_type="text_time", addition_time_embed_dim=4, projection_class_embeddings_input_dim=5 + 4 * 3)
    if r.random() < 0.4:
        keys |= dict(class_embed_type=r.choice(["timestep", "identity", "projection", "simple_projection"]))
        keys.setdefault("projection_class_embeddings_input_dim", 7)
    if keys.get("class_embed_type") or keys.get("num_class_embeds"):
        keys |= some(r, class_embeddings_concat=[True])
    if keys.get("class_embeddings_concat"):  # what is added has the width of the step alone
        keys.pop("addition_embed_type", None)
    if r.random() < 0.2:
        keys["time_cond_proj_dim"] = 3
    model, rows, length = diffusers.UNet2DConditionModel(**keys), r.randint(1, 3), r.randint(1, 6)
    odd = kind == "stable" and r.random() < 0.4
    size = [n + (r.randint(0, 2 ** stages) if odd else 0) for n in sides(r, 2 ** (stages - 1))]
    given = dict(sample=torch.randn(rows, model.config.in_channels, *size), timestep=steps(r, rows), encoder_hidden_states=torch.randn(rows, length, text)) | labels(r, model, rows, keys)
    text_only = keys.get("only_cross_attention") or keys.get("mid_block_only_cross_attention")
    if r.random() < 0.5 and (kind == "stable" or not text_only):  # diffusers pads the mask as if there were places
        given["encoder_attention_mask"] = (torch.rand(rows, length) < 0.6).long()
        given["encoder_attention_mask"][:, 0] = 1
    if "time_cond_proj_dim" in keys:
        given["timestep_cond"] = torch.randn(rows, 3)
    if keys.get("addition_embed_type") == "text_time":
        given["added_cond_kwargs"] = dict(text_embeds=torch.randn(rows, 5), time_ids=100 * torch.rand(rows, 3))
    return model, given


def transformer_keys(r):
    heads = r.randint(1, 3)
    keys = dict(num_attention_heads=heads, attention_head_dim=4 if heads % 2 else r.choice([2, 4, 6]), num_layers=r.randint(1, 3), in_channels=r.choice([1, 3, 4]),
                sample_size=r.randint(4, 9), patch_size=r.choice([1, 2, 2, 3]))
    return keys | some(r, attention_bias=[False], norm_elementwise_affine=[True], norm_eps=[1e-3], dropout=[0.1], num_embeds_ada_norm=[3, 10],
                       activation_fn=["gelu", "gelu-approximate", "geglu", "geglu-approximate", "swiglu", "linear-silu"])


def dit(r):
    model, rows = diffusers.DiTTransformer2DModel(**transformer_keys(r) | some(r, out_channels=[2, 8])), r.randint(1, 3)
    config = model.config
    side = r.choice([config.sample_size, r.randint(config.patch_size, 10)])
    return model, dict(sample=torch.randn(rows, config.in_channels, side, side), timestep=steps(r, rows), class_labels=torch.randint(0, config.num_embeds_ada_norm + 1, (rows,)))


def pixart(r):
    keys = transformer_keys(r) | some(r, out_channels=[None, 2], interpolation_scale=[1, 2, 0.5], sample_size=[128, 6])
    width = keys["num_attention_heads"] * keys["attention_head_dim"]
    if width % 3:
        keys["use_additional_conditions"] = False
    else:
        keys |= some(r, use_additional_conditions=[True, False])
    keys["cross_attention_dim"] = r.choice([width, width, 5, None])
    if keys["cross_attention_dim"] == width:
        keys |= some(r, caption_channels=[3, 7])
    model, rows, length = diffusers.PixArtTransformer2DModel(**keys), r.randint(1, 3), r.randint(1, 6)
    given = dict(sample=torch.randn(rows, keys["in_channels"], *(r.randint(keys["patch_size"], 9) for _ in range(2))), timestep=steps(r, rows))
    if keys["cross_attention_dim"] and (keys["cross_attention_dim"] != width or "caption_channels" in keys or r.random() < 0.8):
        given["encoder_hidden_states"] = torch.randn(rows, length, keys.get("caption_channels") or keys["cross_attention_dim"])
        if r.random() < 0.5:
            given["encoder_attention_mask"] = (torch.rand(rows, length) < 0.6).long()
    if model.use_additional_conditions:
        given["added_cond_kwargs"] = dict(resolution=100 * torch.rand(rows, 2), aspect_ratio=torch.rand(rows, 1))
    return model, given


FAMILIES = {"dit": dit, "pixart": pixart, "autoencoder-kl": autoencoder, "unet2d": unet, "unet2d-condition": text_unet}
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
