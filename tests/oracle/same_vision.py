"""same_models.py for models of pictures: python same_vision.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes of pictures and patches, keys of config.json or timm's model_args, a head and pictures, trained sizes and others; of
transformers' files also the names of the modules."""
import torchvision_ops  # noqa: F401, before transformers
import json
import sys

import torch
import transformers as hf

import drawn
import golden
import same_models
from levit_maps import with_maps
from timm_models import timm_model
from windows import every_block

ACTS = same_models.ACTS + ["quick_gelu", "mish"]


def labels_for(r, config, rows):
    if config.problem_type == "multi_label_classification":
        return torch.randint(0, 2, (rows, config.num_labels)).float()
    return torch.randn(rows) if config.num_labels == 1 else torch.randint(0, config.num_labels, (rows,))


def kind_of_labels(r):
    return r.choice([dict(num_labels=r.randint(2, 6)), dict(num_labels=1), dict(num_labels=3, problem_type="multi_label_classification"),
                     dict(num_labels=4, problem_type="single_label_classification")])


def finished(model):
    return golden.enliven(model).eval()


# ---- transformers ----

def vit(r, prefix):
    heads, even = r.randint(1, 4), r.random() < 0.6
    patch = [r.randint(1, 5)] * 2 if even else [r.randint(1, 5), r.randint(1, 5)]
    grid = [r.randint(1, 5)] * 2 if even else [r.randint(1, 5), r.randint(1, 5)]
    size = [p * g for p, g in zip(patch, grid)]
    config = getattr(hf, prefix + "Config")(
        **r.choice([{}, {}, dict(head_dim=r.randint(1, 5))]), hidden_size=heads * r.randint(1, 6) + (heads == 1), num_hidden_layers=r.randint(1, 3), num_attention_heads=heads, intermediate_size=r.randint(3, 20),
        hidden_act=r.choice(ACTS), layer_norm_eps=r.choice([1e-12, 1e-6, 1e-2]), image_size=size[0] if even else size,
        patch_size=patch[0] if even else patch, num_channels=r.randint(1, 4), qkv_bias=r.random() < 0.7, encoder_stride=patch[0],
        pooler_output_size=r.choice([None, 5]), pooler_act=r.choice(["tanh", "relu", "gelu"]), hidden_dropout_prob=r.choice([0.0, 0.1]), **kind_of_labels(r))
    names = ["Model", "ForImageClassification"] + (["ForMaskedImageModeling"] if even else []) + (["ForImageClassificationWithTeacher"] if prefix == "DeiT" else [])
    head, rows = r.choice(names), r.randint(1, 3)
    model = getattr(hf, prefix + head)._from_config(config, attn_implementation="eager")
    given = {}
    if even and r.random() < 0.5 and head != "ForMaskedImageModeling":  # another size than trained
        size = [patch[0] * r.randint(1, 6), patch[0] * r.randint(1, 6)]
        given["interpolate_pos_encoding"] = torch.tensor(True)
    given["pixel_values"] = torch.randn(rows, config.num_channels, *size)
    tokens = (size[0] // patch[0]) * (size[1] // patch[1])
    if r.random() < 0.2:
        mask = torch.rand(rows, tokens + (2 if prefix == "DeiT" else 1)) < 0.7
        mask[:, 0] = True
        given["attention_mask"] = mask.long()
    if head == "ForImageClassification":
        given["labels"] = labels_for(r, config, rows)
    if head == "ForMaskedImageModeling":
        given["bool_masked_pos"] = torch.rand(rows, tokens) < 0.5
    return model, given


def dino(r, prefix):
    heads = r.randint(1, 4)
    patch, grid = [r.randint(1, 4)] * 2, [r.randint(1, 5)] * 2  # positions are those of squares
    config = getattr(hf, prefix + "Config")(
        hidden_size=heads * r.randint(3, 6), num_hidden_layers=r.randint(1, 3), num_attention_heads=heads, mlp_ratio=r.randint(1, 4), hidden_act=r.choice(ACTS),
        layer_norm_eps=r.choice([1e-6, 1e-2]), image_size=patch[0] * grid[0], patch_size=patch[0], num_channels=r.randint(1, 3), qkv_bias=r.random() < 0.6,
        layerscale_value=r.choice([1.0, 0.1]), use_swiglu_ffn=r.random() < 0.4, **kind_of_labels(r))
    if prefix == "Dinov2":
        config.use_mask_token = r.random() < 0.8
    else:
        config.num_register_tokens = r.randint(1, 4)
    if r.random() < 0.2:
        config.head_dim = r.randint(1, 5)
    head, rows = r.choice(["Model", "ForImageClassification"]), r.randint(1, 3)
    model = getattr(hf, prefix + head)._from_config(config, attn_implementation="eager")
    size = [p * g for p, g in zip(patch, grid)]
    if r.random() < 0.6:
        size = [p * r.randint(1, 6) + r.randint(0, p - 1) for p in patch]
    given = dict(pixel_values=torch.randn(rows, config.num_channels, *size))
    tokens = (size[0] // patch[0]) * (size[1] // patch[1])
    if r.random() < 0.2:
        mask = torch.rand(rows, tokens + 1 + getattr(config, "num_register_tokens", 0)) < 0.7
        mask[:, 0] = True
        given["attention_mask"] = mask.long()
    if head == "ForImageClassification":
        given["labels"] = labels_for(r, config, rows)
    elif getattr(config, "use_mask_token", True) and r.random() < 0.5:
        given["bool_masked_pos"] = torch.rand(rows, tokens) < 0.5
    return model, given


def swin(r):
    stages, window, patch = r.randint(1, 3), r.randint(1, 4), r.randint(1, 3)
    heads = [r.randint(1, 2) for _ in range(stages)]
    config = hf.SwinConfig(
        embed_dim=2 * r.randint(1, 4), depths=[r.randint(1, 3) for _ in range(stages)], num_heads=heads, window_size=window, patch_size=patch,
        image_size=patch * window * 2 ** stages, num_channels=r.randint(1, 3), mlp_ratio=r.choice([1.0, 1.5, 2.0]), qkv_bias=r.random() < 0.7, hidden_act=r.choice(ACTS),
        use_absolute_embeddings=r.random() < 0.3, layer_norm_eps=r.choice([1e-5, 1e-2]), encoder_stride=patch * 2 ** (stages - 1), **kind_of_labels(r))
    head, rows = r.choice(["Model", "ForImageClassification", "ForMaskedImageModeling"]), r.randint(1, 2)
    model = every_block(getattr(hf, "Swin" + head)._from_config(config, attn_implementation="eager"))
    given, size = {}, [config.image_size] * 2
    if head == "ForMaskedImageModeling":
        given["bool_masked_pos"] = torch.rand(rows, (config.image_size // patch) ** 2) < 0.5
    elif r.random() < 0.6:  # another size, whose last stage has no fewer tokens than a window
        least = (window - 1) * 2 ** (stages - 1) + 1
        grid = [least + r.randint(0, 5), least + r.randint(0, 5)]
        over = 0 if config.use_absolute_embeddings else r.randint(0, patch - 1)  # positions know no padding
        size = [patch * g - (over if g > least else 0) for g in grid]
        given["interpolate_pos_encoding"] = torch.tensor(True)
    given["pixel_values"] = torch.randn(rows, config.num_channels, *size)
    if head == "ForImageClassification":
        given["labels"] = labels_for(r, config, rows)
    return model, given


def swinv2(r):
    stages, window, patch = r.randint(1, 3), r.randint(1, 4), r.randint(1, 3)
    heads = [r.randint(1, 2) for _ in range(stages)]
    grid = [2 ** (stages - 1) * r.randint(1, 5), 2 ** (stages - 1) * r.randint(1, 5)]
    config = hf.Swinv2Config(
        embed_dim=2 * r.randint(2, 4), depths=[r.randint(1, 3) for _ in range(stages)], num_heads=heads, window_size=window, patch_size=patch, image_size=[patch * g for g in grid],
        num_channels=r.randint(1, 3), mlp_ratio=r.choice([1.0, 1.5, 2.0]), qkv_bias=r.random() < 0.7, hidden_act=r.choice(ACTS), layer_norm_eps=r.choice([1e-5, 1e-2]),
        pretrained_window_sizes=[r.choice([0, 0, 2, 6]) for _ in range(stages)], encoder_stride=patch * 2 ** (stages - 1), **kind_of_labels(r))
    masked = r.random() < 0.2
    head, rows = "ForMaskedImageModeling" if masked else r.choice(["Model", "ForImageClassification"]), r.randint(1, 2)
    if masked:  # squares alone
        config.image_size = patch * grid[0]
    model = every_block(getattr(hf, "Swinv2" + head)._from_config(config, attn_implementation="eager"))
    given = {}
    size = [config.image_size] * 2 if masked else list(config.image_size)
    if masked:
        given["bool_masked_pos"] = torch.rand(rows, grid[0] ** 2) < 0.5
    elif r.random() < 0.5:
        size = [patch * r.randint(1, 9) - r.randint(0, patch - 1) for _ in size]
    given["pixel_values"] = torch.randn(rows, config.num_channels, *size)
    if head == "ForImageClassification":
        given["labels"] = labels_for(r, config, rows)
    return model, given


def down_op(r):
    return ["Subsample", r.randint(1, 4), r.randint(1, 4), r.randint(1, 4), r.randint(0, 2), r.randint(1, 3)]


def levit_stem(r):
    """Keys of the convolutions, the side of the grid, and sides of pictures that make it."""
    while True:
        kernel, stride, padding = r.randint(1, 4), r.choice([1, 1, 2, 2, 3]), r.randint(0, 2)

        def grid_of(side):
            for _ in range(4):
                side = (side + 2 * padding - kernel) // stride + 1 if side + 2 * padding >= kernel and side > 0 else 0
            return side
        grids = sorted({grid_of(n) for n in range(1, 300)} & set(range(1, 8)))
        if grids:
            grid = r.choice(grids)
            return dict(kernel_size=kernel, stride=stride, padding=padding), grid, [n for n in range(1, 300) if grid_of(n) == grid]


def levit(r):
    stem, grid, sides = levit_stem(r)
    stages, own = r.randint(1, 4), r.random() < 0.6
    sizes = [r.randint(8, 20) for _ in range(stages)]
    if not own and stages < 4:  # the class's own, whose heads are of key_dim[0] numbers
        sizes += [r.randint(8, 20)] * (stages < 3)
    elif stages == 1 or r.random() < 0.4:  # the class reads two sizes in any case
        sizes.append(r.randint(3, 9))
    if own or stages > 3:
        stem["down_ops"] = [down_op(r) for _ in range(len(sizes) - 1)]
        for i in range(len(sizes) - 1):
            if r.random() < 0.2:
                stem["down_ops"][i], sizes[i + 1] = [""], sizes[i]
    patch = r.randint(1, 20)
    config = hf.LevitConfig(
        image_size=grid * patch + r.randint(0, patch - 1), patch_size=patch, hidden_sizes=sizes, num_channels=r.randint(1, 3),
        depths=[r.randint(0, 2) for _ in range(stages)], num_attention_heads=[r.randint(1, 4) for _ in range(stages)], key_dim=[r.randint(1, 5) for _ in range(stages)],
        mlp_ratio=[r.randint(0, 3) for _ in range(stages)], attention_ratio=[r.randint(1, 4) for _ in range(stages)], initializer_range=r.choice([0.01, 0.02]), **stem, **kind_of_labels(r))
    head, rows = r.choice(["Model", "ForImageClassification", "ForImageClassification", "ForImageClassificationWithTeacher"]), r.randint(1, 3)
    model = with_maps(getattr(hf, "Levit" + head)(config))
    given = dict(pixel_values=torch.randn(rows, config.num_channels, r.choice(sides), r.choice(sides)))
    if head == "ForImageClassification" and r.random() < 0.8:
        given["labels"] = labels_for(r, config, rows)
    return model, given


def resnet(r):
    stages, kind = r.randint(1, 5), r.choice(["basic", "bottleneck"])
    widths = [4 * r.randint(1, 4) + r.randint(0, 3) for _ in range(stages)]
    keys = some(r, downsample_in_first_stage=[True], downsample_in_bottleneck=[True], num_channels=[1, 2, 4])
    config = hf.ResNetConfig(embedding_size=r.choice([widths[0], r.randint(1, 9)]), hidden_sizes=widths, depths=[r.randint(1, 3) for _ in range(stages)], layer_type=kind,
                             hidden_act=r.choice([a for a in ACTS if a != "relu2"]), **keys, **kind_of_labels(r))
    head, rows = r.choice(["Model", "ForImageClassification"]), r.randint(1, 3)
    given = dict(pixel_values=torch.randn(rows, config.num_channels, r.randint(1, 70), r.randint(1, 70)))
    if head == "ForImageClassification":
        given["labels"] = labels_for(r, config, rows)
    return getattr(hf, "ResNet" + head)(config), given


# ---- timm ----

def some(r, **choices):
    """About a third of the arguments, each of one of its values."""
    return {name: r.choice(values) for name, values in choices.items() if r.random() < 0.35}


PLAIN = ["vit_tiny_patch16_224", "vit_small_patch16_384", "vit_base_patch32_224", "deit_small_patch16_224", "deit3_base_patch16_224", "vit_medium_patch16_gap_256",
         "vit_base_patch16_clip_224", "vit_large_patch14_clip_quickgelu_224", "vit_small_patch14_reg4_dinov2", "vit_little_patch16_reg4_gap_256", "flexivit_small",
         "vit_base_patch16_siglip_256", "vit_so400m_patch14_siglip_gap_384", "vit_giant_patch14_dinov2", "aimv2_large_patch14_224", "beit3_base_patch16_224",
         "vit_intern300m_patch14_448", "vit_base_patch16_rpn_224", "test_vit2", "test_vit3", "test_vit4", "vit_so150m2_patch16_reg1_gap_256"]


def timm_vit(r):
    heads, name = r.randint(1, 3), r.choice(PLAIN)
    patch = r.choice([r.randint(1, 4), [r.randint(1, 4), r.randint(1, 4)]])
    sides = [patch, patch] if isinstance(patch, int) else patch
    grid = [r.randint(1, 4), r.randint(1, 4)]
    size = [p * g for p, g in zip(sides, grid)]
    args = dict(embed_dim=heads * r.randint(2, 6), depth=r.randint(1, 3), num_heads=heads, patch_size=patch, img_size=size, mlp_ratio=r.choice([1, 2.0, 2.5]))
    args["embed_dim"] += args["embed_dim"] % (2 * heads)  # halves of a gated layer
    args |= some(r, qkv_bias=[True, False], qk_norm=[True, False], proj_bias=[True, False], init_values=[None, 0.3], no_embed_class=[True, False], reg_tokens=[0, 1, 3],
                 pre_norm=[True, False], final_norm=[True, False], fc_norm=[None, True, False], pool_include_prefix=[True, False], in_chans=[1, 2], act_layer=["relu", "silu", "gelu_tanh", "celu"],
                 norm_layer=["rmsnorm", "layernorm", "layernormfp32"], scale_attn_norm=[True, False], scale_mlp_norm=[True, False], pos_embed=["learn", "none"], drop_path_rate=[0.1], patch_drop_rate=[0.3], embed_norm_layer=["layernorm", "rmsnorm"])
    args["mlp_ratio"] = 2 if name.startswith("vit_giant") else args["mlp_ratio"]
    if r.random() < 0.5:
        args["class_token"] = r.random() < 0.5
    pools = ["avg", "avgmax", "max", "map", "prr"] + (["token"] if args.get("class_token", False) else [])
    if "class_token" in args:
        args["global_pool"] = r.choice(pools)
    if r.random() < 0.4:
        args["dynamic_img_size"] = True
        size = [p * r.randint(1, 5) for p in sides]
        if r.random() < 0.5:
            args["dynamic_img_pad"] = True
            size = [s + r.randint(0, 2) for s in size]
    model = timm_model(name, r.choice([0, 2, 5]), args)
    return model, timm_inputs(r, model, args, size)


def timm_deit(r):
    heads, side = r.randint(1, 3), r.randint(1, 4)
    args = dict(embed_dim=heads * r.randint(2, 6), depth=r.randint(1, 2), num_heads=heads, patch_size=side, img_size=side * r.randint(1, 4), mlp_ratio=2)
    args |= some(r, qkv_bias=[False], qk_norm=[True], init_values=[0.2], dynamic_img_size=[True])
    size = [side * r.randint(1, 5), side * r.randint(1, 5)] if "dynamic_img_size" in args else [args["img_size"]] * 2
    model = timm_model("deit_tiny_distilled_patch16_224", r.choice([0, 2, 5]), args)
    return model, timm_inputs(r, model, args, size)


def timm_swin(r):
    stages, patch = r.randint(1, 3), r.choice([r.randint(1, 3), [r.randint(1, 3), r.randint(1, 3)]])
    sides = [patch, patch] if isinstance(patch, int) else patch
    grid = [2 ** (stages - 1) * r.randint(1, 4), 2 ** (stages - 1) * r.randint(1, 4)]
    args = dict(embed_dim=2 * r.randint(2, 4), depths=[r.randint(1, 3) for _ in range(stages)], num_heads=[r.randint(1, 2) for _ in range(stages)], patch_size=patch,
                img_size=[p * g for p, g in zip(sides, grid)], window_size=r.choice([r.randint(1, 5), [r.randint(1, 4), r.randint(1, 4)], [r.randint(1, 4) for _ in range(stages)]]),
                mlp_ratio=r.choice([1.0, 1.5]))
    args |= some(r, qkv_bias=[False], head_dim=[2, 3, [r.randint(1, 4) for _ in range(stages)]], in_chans=[1, 4], always_partition=[True])
    size = args["img_size"]
    if isinstance(args["window_size"], list) and len(args["window_size"]) == 1:
        args["window_size"] = args["window_size"][0]
    if r.random() < 0.5:
        args["strict_img_size"] = False
        size = [p * r.randint(1, 9) for p in sides]
    model = timm_model(r.choice(["swin_tiny_patch4_window7_224", "swin_base_patch4_window12_384"]), r.choice([0, 3, 5]), args)
    return model, timm_inputs(r, model, args, size)


def timm_swinv2(r):
    stages, patch = r.randint(1, 3), r.choice([r.randint(1, 3), [r.randint(1, 3), r.randint(1, 3)]])
    sides, window = [patch, patch] if isinstance(patch, int) else patch, r.choice([r.randint(2, 5), [r.randint(2, 4), r.randint(2, 4)]])
    windows = [window, window] if isinstance(window, int) else window
    grid = [w * 2 ** (stages - 1) * r.randint(1, 2) for w in windows]
    args = dict(embed_dim=2 * r.randint(2, 4), depths=[r.randint(1, 3) for _ in range(stages)], num_heads=[r.randint(1, 2) for _ in range(stages)] + r.choice([[], [5]]), patch_size=patch,
                img_size=[p * g for p, g in zip(sides, grid)], window_size=window, mlp_ratio=r.choice([1.0, 1.5]))
    args |= some(r, qkv_bias=[False], in_chans=[1, 4], act_layer=["relu", "silu", "gelu_tanh"], always_partition=[True],
                 pretrained_window_sizes=[[r.choice([0, 2, 6, 12]) for _ in range(4)]], global_pool=["", "avg"], drop_path_rate=[0.0, 0.3], proj_drop_rate=[0.1])
    size = args["img_size"]
    if r.random() < 0.6:  # which need not be whole windows
        args["strict_img_size"] = False
        args["img_size"] = [p * (g + r.choice([0, 0, 1, 3])) for p, g in zip(sides, grid)]
        size = r.choice([args["img_size"], [p * r.randint(1, 9) for p in sides]])
    model = timm_model(r.choice(["swinv2_tiny_window8_256", "swinv2_base_window12to16_192to256", "swinv2_large_window12_192"]), r.choice([0, 3, 5]), args)
    given = timm_inputs(r, model, args, size)
    if args.get("global_pool") == "":
        given.pop("labels", None)
    return model, given


def mixer(r):
    patch = r.randint(1, 4)
    args = dict(embed_dim=4 * r.randint(1, 4), num_blocks=r.randint(0, 3), patch_size=patch, img_size=[patch * r.randint(1, 4), patch * r.randint(1, 4)], in_chans=r.randint(1, 3))
    args |= dict(mlp_ratio=r.choice([2.0, [1.0, 1.5], [0.5, 2]])) | some(r, stem_norm=[True], drop_path_rate=[0.2])
    model = timm_model(r.choice(["mixer_s16_224", "mixer_b32_224", "gmixer_24_224"]), r.choice([0, 3, 5]), args)
    return model, timm_inputs(r, model, args, args["img_size"])


def timm_resnet(r):
    args = dict(channels=[4 * r.randint(1, 3) for _ in range(4)], layers=[r.randint(1, 2) for _ in range(4)])
    kind = r.choice(["resnet18", "resnet26", "resnet10t", "resnet14t", "resnet50d", "resnext50d_32x4d", "wide_resnet50_2", "resnet101s", "resnet34d", "resnet50c"])
    if kind.startswith("resnext"):
        args |= dict(cardinality=4, base_width=r.choice([16, 32]))
    args |= some(r, in_chans=[1, 2], output_stride=[8, 16], avg_down=[True, False], act_layer=["silu", "gelu", "leaky_relu"], stem_width=[8, 12], stem_type=["", "deep", "deep_tiered"], drop_path_rate=[0.1],
                 replace_stem_pool=[True], down_kernel_size=[3], zero_init_last=[False], block_reduce_first=[2] if "next" not in kind else [1], drop_rate=[0.1],
                 global_pool=["avg", "max", "avgmax", "catavgmax", "fast", "fastavgmax"], norm_layer=["batchnorm"])
    model = timm_model(kind, r.choice([0, 2, 5]), args)
    return model, timm_inputs(r, model, args, [r.randint(1, 80), r.randint(1, 80)])


def cait(r):
    heads, patch = r.randint(1, 4), r.randint(1, 4)
    args = dict(embed_dim=heads * r.randint(3, 6), depth=r.randint(0, 3), num_heads=heads, patch_size=patch, img_size=[patch * r.randint(1, 4), patch * r.randint(1, 4)],
                init_values=r.choice([0.1, 1.0]), mlp_ratio=r.choice([1.0, 2.5]))
    args |= some(r, qkv_bias=[False], in_chans=[1, 2], depth_token_only=[1, 3], mlp_ratio_token_only=[1.0, 2.0], global_pool=["avg", "token"])
    model = timm_model(r.choice(["cait_xxs24_224", "cait_s36_384", "cait_m48_448"]), r.choice([0, 3, 5]), args)
    return model, timm_inputs(r, model, args, args["img_size"])


def timm_levit(r):
    stages, name = r.randint(1, 3), r.choice(["levit_128s", "levit_192", "levit_384_s8", "levit_512", "levit_512_s8", "levit_conv_128", "levit_conv_384_s8", "levit_conv_256d"])
    key = r.randint(1, 5)
    args = dict(embed_dim=[r.randint(max(8, key), 20) for _ in range(stages)], key_dim=key, depth=[r.randint(0, 2) for _ in range(stages)], num_heads=r.choice([r.randint(1, 3), [r.randint(1, 4) for _ in range(stages)]]))
    each = [r.choice([1.0, 1.5, 2.5]) for _ in range(stages)]
    args |= some(r, attn_ratio=[1.0, 2.5, each], mlp_ratio=[1.0, 2.25, each], stem_type=["s8", "s16"], act_layer=["relu", "silu", "gelu"], attn_act_layer=["relu", "gelu"], in_chans=[1, 2], drop_path_rate=[0.1],
                 drop_rate=[0.2])
    classes = r.choice([0, 3, 5])
    args |= dict(global_pool=r.choice(["", "avg"])) if classes == 0 else {}
    if "512" not in name and "d" not in name.split("_")[-1]:
        args |= some(r, distilled=[False, True])
    if "conv" not in name:
        args |= some(r, use_conv=[True, False])
    step = 8 if args.get("stem_type", "s8" if "s8" in name else "s16") == "s8" else 16
    grid = [r.randint(1, 4), r.randint(1, 4)]
    args["img_size"] = [step * g for g in grid]
    size = [step * g - (r.randint(0, 5) if r.random() < 0.4 else 0) for g in grid]
    model = with_maps(timm_model(name, classes, args))
    return model, timm_inputs(r, model, args, size)


def volo(r):
    stages, patch, in_chans = r.randint(1, 4), r.choice([4, 8]), r.randint(1, 4)
    merges = [r.random() < 0.5 and i + 1 < stages for i in range(stages)]
    heads, widths = [], []
    for i in range(stages):
        heads.append(r.randint(1, 3))
        widths.append(6 * r.randint(1, 2) if i == 0 or merges[i - 1] and sum(merges[:i]) == 1 and i < 2 else widths[-1])
    scale = 2 if merges[0] else 1
    grid = [r.randint(1, 4) * 2 ** sum(merges) + r.randint(0, 1) for _ in range(2)]
    size = [patch * g for g in grid]
    args = dict(layers=[r.randint(1, 2) for _ in range(stages)], embed_dims=widths, num_heads=heads + r.choice([[], [r.randint(1, 4)]]), downsamples=merges + [True] * r.randint(0, 2),
                outlook_attention=[r.random() < 0.5 for _ in range(stages)], img_size=size, patch_size=patch, in_chans=in_chans, pooling_scale=scale, stem_hidden_dim=r.randint(1, 4),
                mlp_ratio=r.choice([1.0, 2, [1.5] * stages, [1.0, 2.0, 1.5, 1.0, 0.5]]))
    args |= some(r, qkv_bias=[True], use_aux_head=[False], global_pool=["avg", "token", ""], post_layers=[["ca"], ["ca"] * 3, []], use_mix_token=[True], drop_path_rate=[0.2], drop_rate=[0.1],
                 attn_drop_rate=[0.1], pos_drop_rate=[0.1])
    if args.get("use_mix_token"):
        args["global_pool"] = "token"
    if r.random() < 0.3:
        size = [s + r.randint(0, 1) for s in size]  # of another size, but the same grid
    if sum(args["layers"]) == 1:
        args["layers"][0] = 2  # of one block timm divides by 0
    model = timm_model(r.choice(["volo_d1_224", "volo_d3_448", "volo_d5_512"]), r.choice([0, 3, 5]), args)
    given = timm_inputs(r, model, args, size)
    if args.get("global_pool") == "":  # to all tokens timm adds the best of each picture, which fits one picture alone
        given = {k: v[:1] for k, v in given.items() if k != "labels"}
    return model, given


def timm_inputs(r, model, args, size):
    rows = r.randint(1, 3)
    given = dict(pixel_values=torch.randn(rows, args.get("in_chans", 3), *size))
    if model.num_classes and r.random() < 0.7:
        given["labels"] = torch.randint(0, model.num_classes, (rows,))
    return given


def save(model, folder, modules=False):
    """modules: under the names of transformers' modules, not of its files."""
    if not hasattr(model, "config_of_timm"):
        model.save_pretrained(folder)
        if not modules:
            return
    else:
        (folder / "config.json").write_text(json.dumps(model.config_of_timm))
    drawn.save_weights(model, folder)


FAMILIES = {
    "timm-swin": timm_swin,
    "timm-swinv2": timm_swinv2,
    "mixer": mixer,
    "cait": cait,
    "timm-vit": timm_vit,
    "timm-deit": timm_deit,
    "vit": lambda r: vit(r, "ViT"),
    "deit": lambda r: vit(r, "DeiT"),
    "swin": swin,
    "swinv2": swinv2,
    "resnet": resnet,
    "timm-resnet": timm_resnet,
    "levit": levit,
    "timm-levit": timm_levit,
    "volo": volo,
    "dinov2": lambda r: dino(r, "Dinov2"),
    "dinov2-with-registers": lambda r: dino(r, "Dinov2WithRegisters"),
}


def case(family, r, folder):
    model, given = FAMILIES[family](r)
    gated = getattr(getattr(model, "config", None), "use_swiglu_ffn", False)  # its modules hold in two matrices what files have in one
    save(finished(model), folder, r.random() < 0.2 and not gated)
    return model, given, " ".join((folder / "config.json").read_text().split())


def main():
    hf.logging.set_verbosity_error()
    return drawn.run(__doc__, FAMILIES, case)


if __name__ == "__main__":
    sys.exit(main())
