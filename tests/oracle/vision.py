"""Models of pictures, as transformers and timm save them: golden directories below tests/golden/model."""
import torchvision_ops  # noqa: F401, before transformers
import torch
import transformers as hf

import golden
from levit_maps import with_maps
from timm_models import timm_model
from windows import every_block

CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


def pictures(count, height, width, channels=3):
    return dict(pixel_values=torch.randn(count, channels, height, width))


TINY = dict(embed_dim=12, depth=1, num_heads=2, mlp_ratio=1.5, img_size=8, patch_size=4)
SMALL = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=10, image_size=8, patch_size=4)


def vit(**keys):
    return hf.ViTConfig(**(SMALL | keys))


def deit(**keys):
    return hf.DeiTConfig(**(SMALL | keys))


@case
def vit_classify():
    return hf.ViTForImageClassification(vit(num_labels=5)), pictures(3, 8, 8) | dict(labels=torch.tensor([4, 0, 2]))


@case
def vit_bare():  # rows and columns of different sizes, in pictures and in patches; a pooler of another width
    keys = dict(image_size=[6, 12], patch_size=[3, 2], pooler_output_size=7, pooler_act="relu", hidden_act="relu", num_channels=2)
    return hf.ViTModel(vit(**keys)), pictures(2, 6, 12, 2)


@case
def vit_resized():  # positions of 3 x 3 patches for 2 x 5
    model = hf.ViTForImageClassification(vit(image_size=12, qkv_bias=False, layer_norm_eps=1e-3, hidden_act="gelu_new", num_labels=1))
    return model, pictures(2, 8, 20) | dict(labels=torch.randn(2), interpolate_pos_encoding=torch.tensor(True))


@case
def vit_masked():
    mask = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 1]]).bool()
    return hf.ViTForMaskedImageModeling(vit(encoder_stride=4)), pictures(2, 8, 8) | dict(bool_masked_pos=mask)


@case
def deit_classify():
    labels = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    return hf.DeiTForImageClassification(deit(num_labels=3, problem_type="multi_label_classification")), pictures(2, 8, 8) | dict(labels=labels)


@case
def deit_bare():
    return hf.DeiTModel(deit(num_hidden_layers=1)), pictures(2, 16, 4) | dict(interpolate_pos_encoding=torch.tensor(True))


@case
def deit_teacher():
    return hf.DeiTForImageClassificationWithTeacher(deit(num_labels=4)), pictures(3, 8, 8)


@case
def deit_masked():
    mask = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 1]]).bool()
    return hf.DeiTForMaskedImageModeling(deit(encoder_stride=4)), pictures(2, 8, 8) | dict(bool_masked_pos=mask)


# ---- DINOv2 ----

DINO = dict(hidden_size=9, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=2, image_size=8, patch_size=4, layerscale_value=0.5)


@case
def dinov2_classify():
    return hf.Dinov2ForImageClassification(hf.Dinov2Config(num_labels=4, **DINO)), pictures(3, 8, 8) | dict(labels=torch.tensor([3, 0, 1]))


@case
def dinov2_bare():  # hidden patches, a picture of another size that is no whole number of patches; SwiGLU
    mask = torch.tensor([[1, 0, 0, 1, 0, 0], [0, 1, 1, 1, 0, 0]]).bool()
    return hf.Dinov2Model(hf.Dinov2Config(use_swiglu_ffn=True, qkv_bias=False, **DINO)), pictures(2, 9, 15) | dict(bool_masked_pos=mask)


@case
def dinov2_with_registers_classify():  # positions of 2 x 2 patches for 3 x 1, smoothed
    config = hf.Dinov2WithRegistersConfig(num_labels=1, num_register_tokens=2, hidden_act="relu", **DINO)
    return hf.Dinov2WithRegistersForImageClassification(config), pictures(2, 12, 4) | dict(labels=torch.randn(2))


@case
def dinov2_with_registers_bare():
    mask = torch.tensor([[1, 0, 0, 1], [0, 0, 1, 1]]).bool()
    return hf.Dinov2WithRegistersModel(hf.Dinov2WithRegistersConfig(num_register_tokens=1, **DINO)), pictures(2, 8, 8) | dict(bool_masked_pos=mask)


# ---- Swin ----

def swin(**keys):
    return hf.SwinConfig(**(dict(embed_dim=6, depths=[1, 2], num_heads=[1, 3], window_size=2, image_size=8, patch_size=1, mlp_ratio=1.5) | keys))


@case
def swin_classify():  # shifted windows of grids that are no whole number of them; stages end in odd sides
    config = swin(image_size=5, depths=[2, 1], embed_dim=4, num_heads=[1, 2], num_labels=4, hidden_act="relu")
    return every_block(hf.SwinForImageClassification(config)), pictures(2, 5, 5) | dict(labels=torch.tensor([3, 1]))


@case
def swin_bare():  # positions, patches that do not divide the picture, another size than trained
    config = swin(image_size=8, patch_size=2, depths=[2], num_heads=[2], use_absolute_embeddings=True, qkv_bias=False)
    return every_block(hf.SwinModel(config)), pictures(2, 10, 6) | dict(interpolate_pos_encoding=torch.tensor(True))


@case
def swin_masked():  # two stages: a place of the last grid is 2 x 2 patches of 2 x 2 pixels
    mask = torch.rand(2, 16, generator=torch.Generator().manual_seed(3)) < 0.5
    return every_block(hf.SwinForMaskedImageModeling(swin(depths=[2, 1], num_heads=[1, 2], embed_dim=4, patch_size=2, encoder_stride=4, num_channels=1))), pictures(2, 8, 8, 1) | dict(bool_masked_pos=mask)


def swinv2(**keys):  # the layer behind its bias has 512 numbers, whatever the config: few blocks, few heads
    return hf.Swinv2Config(**(dict(embed_dim=4, depths=[1], num_heads=[1], window_size=2, image_size=8, patch_size=2, mlp_ratio=1.0, num_channels=1) | keys))


@case
def swinv2_classify():  # shifted windows, distances of larger ones, a grid that is no whole number of windows
    config = swinv2(image_size=6, depths=[2], pretrained_window_sizes=[6], num_labels=3)
    return every_block(hf.Swinv2ForImageClassification(config)), pictures(2, 6, 10, 1) | dict(labels=torch.tensor([2, 0]))


@case
def swinv2_bare():  # patches that merge, rows and columns of different sizes, no bias
    config = swinv2(image_size=[8, 12], depths=[1, 1], num_heads=[1, 1], qkv_bias=False)
    return every_block(hf.Swinv2Model(config)), pictures(1, 8, 12, 1)


@case
def swinv2_masked():
    mask = torch.rand(2, 16, generator=torch.Generator().manual_seed(3)) < 0.5
    model = every_block(hf.Swinv2ForMaskedImageModeling(swinv2(encoder_stride=2, num_heads=[2])))
    torch.nn.init.normal_(model.swinv2.embeddings.mask_token)  # keys of zeros have no direction
    return model, pictures(2, 8, 8, 1) | dict(bool_masked_pos=mask)


@case
def vit_heads():  # heads of a size of their own
    return hf.ViTForImageClassification(vit(head_dim=3, num_hidden_layers=1, num_labels=2)), pictures(2, 8, 8) | dict(labels=torch.tensor([1, 0]))


@case
def swin_padded():  # a picture padded to whole patches; windows as large as what is left do not shift
    config = swin(image_size=10, patch_size=2, depths=[1, 2], num_heads=[1, 2], num_channels=1, embed_dim=4, window_size=3, num_labels=1, mlp_ratio=1.0)
    return every_block(hf.SwinForImageClassification(config)), pictures(1, 11, 9, 1) | dict(labels=torch.randn(1))


# ---- timm ----

@case
def timm_vit_classify():
    return timm_model("vit_tiny_patch16_224", num_classes=4, model_args=TINY | dict(depth=2)), pictures(3, 8, 8) | dict(labels=torch.tensor([3, 0, 1]))


@case
def timm_vit_registers():  # registers, no positions for tokens, layer scale, norms of queries and keys, a mean; rows and columns differ
    args = TINY | dict(img_size=[4, 12], reg_tokens=2, no_embed_class=True, init_values=0.5, qk_norm=True, global_pool="avg", qkv_bias=False, in_chans=2)
    return timm_model("vit_small_patch16_224", num_classes=3, model_args=args), pictures(2, 4, 12, 2) | dict(labels=torch.tensor([2, 0]))


@case
def timm_vit_clip():  # a norm before the layers, quick gelu, another size than trained
    args = TINY | dict(dynamic_img_size=True, depth=2)
    return timm_model("vit_base_patch16_clip_quickgelu_224", num_classes=3, model_args=args), pictures(2, 4, 16)


@case
def timm_vit_smooth():  # positions of 4 x 4 patches for 3 x 2
    args = TINY | dict(dynamic_img_size=True, patch_size=2, act_layer="gelu_tanh", class_token=False, global_pool="avgmax", fc_norm=False)
    return timm_model("vit_tiny_patch16_224", num_classes=3, model_args=args), pictures(2, 6, 4) | dict(labels=torch.tensor([2, 1]))


@case
def timm_vit_map():
    args = TINY | dict(depth=1, embed_dim=8)
    return timm_model("vit_base_patch16_siglip_256", num_classes=3, model_args=args), pictures(2, 8, 8) | dict(labels=torch.tensor([2, 1]))


@case
def timm_vit_swiglu():
    args = TINY | dict(embed_dim=8, mlp_ratio=2.75)
    return timm_model("aimv2_large_patch14_224", num_classes=3, model_args=args), pictures(2, 8, 8) | dict(labels=torch.tensor([2, 1]))


@case
def timm_vit_post():  # norms after the sublayers; attention of the tokens themselves before they are pooled
    args = TINY | dict(embed_dim=8, global_pool="prr", class_token=True, patch_drop_rate=0.5, norm_layer="layernormfp32")
    return timm_model("vit_base_patch16_rpn_224", num_classes=3, model_args=args), pictures(2, 8, 8) | dict(labels=torch.tensor([0, 1]))


@case
def timm_vit_packed():  # SwiGLU of one weight, features alone
    return timm_model("vit_giant_patch14_reg4_dinov2", num_classes=0, model_args=TINY | dict(reg_tokens=1, mlp_ratio=3.0)), pictures(2, 8, 8)


@case
def timm_vit_bare():  # norms within attention and feed-forward layer
    model = timm_model("beit3_base_patch16_224", num_classes=0, model_args=TINY)
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(2, 8, 8)


@case
def timm_deit_distilled():
    return timm_model("deit_tiny_distilled_patch16_224", num_classes=4, model_args=TINY | dict(depth=2)), pictures(2, 8, 8) | dict(labels=torch.tensor([3, 1]))


@case
def timm_deit3():
    return timm_model("deit3_small_patch16_224", num_classes=4, model_args=TINY), pictures(2, 8, 8) | dict(labels=torch.tensor([3, 1]))


CAIT = dict(embed_dim=8, depth=2, num_heads=2, mlp_ratio=1.5, mlp_ratio_token_only=1.0, img_size=8, patch_size=4, init_values=0.5)


@case
def cait_classify():
    return timm_model("cait_xxs24_224", num_classes=4, model_args=CAIT), pictures(3, 8, 8) | dict(labels=torch.tensor([3, 0, 1]))


@case
def cait_bare():  # rows and columns differ, one block of the class token, a mean
    args = CAIT | dict(img_size=[4, 12], depth=1, depth_token_only=1, qkv_bias=False, in_chans=2, global_pool="avg")
    model = timm_model("cait_s24_224", num_classes=0, model_args=args)
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(2, 4, 12, 2)


VOLO = dict(layers=[1, 1], embed_dims=[4, 6], num_heads=[2, 3], img_size=16, patch_size=4, stem_hidden_dim=3, mlp_ratio=1.5)


@case
def volo_classify():
    return timm_model("volo_d1_224", num_classes=3, model_args=VOLO | dict(stem_hidden_dim=2)), pictures(2, 16, 16) | dict(labels=torch.tensor([2, 0]))


@case
def volo_bare():  # rows and columns differ and are odd, outlook attention alone, heads of class attention that do not divide the width, a mean with the best of the tokens
    args = VOLO | dict(img_size=[12, 20], in_chans=2, qkv_bias=True, embed_dims=[4, 4], num_heads=[2, 1, 3], downsamples=[False, False], outlook_attention=[True, True],
                       stem_hidden_dim=2, global_pool="avg", pooling_scale=1, post_layers=["ca"], mlp_ratio=[1, 2, 1.5])
    model = timm_model("volo_d5_224", num_classes=0, model_args=args)
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(1, 12, 20, 2)


SWIN = dict(embed_dim=4, depths=[2, 1], num_heads=[1, 2], mlp_ratio=1.0, img_size=8, patch_size=2, window_size=2)


@case
def timm_swin_classify():
    return timm_model("swin_tiny_patch4_window7_224", num_classes=3, model_args=SWIN), pictures(2, 8, 8) | dict(labels=torch.tensor([2, 0]))


@case
def timm_swin_wide():  # windows of other sides than their stage, heads of a size of their own, pictures of another size
    args = SWIN | dict(img_size=[6, 12], window_size=[4, 2], head_dim=3, strict_img_size=False, qkv_bias=False)
    return timm_model("swin_base_patch4_window7_224", num_classes=3, model_args=args), pictures(1, 10, 12) | dict(labels=torch.tensor([2]))


@case
def timm_swin_bare():
    model = timm_model("swin_s3_tiny_224", num_classes=0, model_args=SWIN | dict(window_size=[3, 1, 1], depths=[2, 1, 1], num_heads=[1, 1, 2], embed_dim=2, in_chans=1))
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(1, 8, 8, 1)


SWINV2 = dict(embed_dim=2, depths=[2], num_heads=[1], mlp_ratio=1.0, img_size=8, patch_size=2, window_size=2, in_chans=1)


@case
def timm_swinv2_classify():  # shifted windows, biases of queries and values, distances of larger windows
    args = SWINV2 | dict(embed_dim=4, pretrained_window_sizes=[6])
    return timm_model("swinv2_tiny_window8_256", num_classes=3, model_args=args), pictures(2, 8, 8, 1) | dict(labels=torch.tensor([2, 0]))


@case
def timm_swinv2_bare():  # windows of two sides, of which one is wider than the grid, pictures of another size
    args = SWINV2 | dict(embed_dim=3, img_size=[12, 4], window_size=[2, 3], depths=[1], num_heads=[1], qkv_bias=False, strict_img_size=False, act_layer="silu")
    model = timm_model("swinv2_base_window8_256", num_classes=0, model_args=args)
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(1, 10, 12, 1)


@case
def mixer_classify():
    args = dict(embed_dim=8, num_blocks=2, img_size=[8, 12], patch_size=4, stem_norm=True)
    return timm_model("mixer_s16_224", num_classes=3, model_args=args), pictures(2, 8, 12) | dict(labels=torch.tensor([2, 0]))


@case
def mixer_gated():
    args = dict(embed_dim=8, num_blocks=1, img_size=6, patch_size=2, mlp_ratio=[0.5, 2.0])
    model = timm_model("gmixer_12_224", num_classes=0, model_args=args)
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(2, 6, 6)


# ---- LeViT ----

LEVIT = dict(image_size=9, patch_size=3, stride=1, padding=0, kernel_size=2, hidden_sizes=[8, 6], depths=[1], num_attention_heads=[2], key_dim=[3], mlp_ratio=[1], attention_ratio=[2])


def levit(**keys):
    return hf.LevitConfig(**(LEVIT | keys))


@case
def levit_classify():  # pictures of 7 pixels make the grid that image_size and patch_size say
    return with_maps(hf.LevitForImageClassification(levit(num_labels=4, down_ops=[["Subsample", 3, 2, 2, 0, 2]]))), pictures(2, 7, 7) | dict(labels=torch.tensor([3, 1]))


@case
def levit_bare():  # what the class makes of key_dim and hidden_sizes, an odd width of the first convolutions
    return with_maps(hf.LevitModel(levit(image_size=6, patch_size=2, padding=1, kernel_size=3, hidden_sizes=[9, 5], depths=[0], num_channels=2))), pictures(2, 3, 3, 2)


@case
def levit_teacher():  # no blocks, and nothing that ends the stage
    keys = dict(hidden_sizes=[8, 8], depths=[0], down_ops=[[""]])
    return with_maps(hf.LevitForImageClassificationWithTeacher(levit(image_size=32, patch_size=16, stride=2, padding=1, kernel_size=3, num_channels=1, num_labels=3, **keys))), pictures(1, 32, 32, 1)


TIMM_LEVIT = dict(embed_dim=[8, 6], key_dim=4, depth=[0, 1], num_heads=2, img_size=[16, 24], in_chans=1)


@case
def timm_levit_classify():  # two heads, other activations, ratios of each stage, pictures of another size with as many tokens
    args = TIMM_LEVIT | dict(attn_act_layer="gelu", attn_ratio=[1.3, 2], mlp_ratio=[1.5, 1])
    return with_maps(timm_model("levit_384_s8", num_classes=3, model_args=args)), pictures(2, 15, 22, 1) | dict(labels=torch.tensor([2, 0]))


@case
def timm_levit_bare():
    model = timm_model("levit_conv_192", num_classes=0, model_args=TIMM_LEVIT | dict(img_size=[16, 32], embed_dim=[8], depth=[1], num_heads=1, mlp_ratio=0.5, global_pool=""))
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return with_maps(model), pictures(1, 16, 32, 1)


# ---- residual networks ----

def resnet(**keys):
    return hf.ResNetConfig(**(dict(embedding_size=4, hidden_sizes=[4, 8], depths=[2, 1]) | keys))


@case
def resnet_classify():  # bottlenecks that shrink in their first convolution
    config = resnet(hidden_sizes=[8, 12], depths=[1, 2], downsample_in_bottleneck=True, num_labels=4, hidden_act="gelu")
    return hf.ResNetForImageClassification(config), pictures(3, 17, 10) | dict(labels=torch.tensor([3, 0, 1]))


@case
def resnet_bare():  # both stages shrink
    return hf.ResNetModel(resnet(hidden_sizes=[4, 5], layer_type="basic", downsample_in_first_stage=True, num_channels=1)), pictures(2, 34, 11, 1)


NARROW = dict(channels=[1, 2, 2, 2], layers=[1, 1, 1, 1], in_chans=1)


@case
def timm_resnet_classify():  # its stem has 64 channels, whatever the config
    return timm_model("resnet18", num_classes=3, model_args=NARROW), pictures(2, 13, 18, 1) | dict(labels=torch.tensor([2, 0]))


@case
def timm_resnet_bare():  # groups, a deep stem, shortcuts that average, dilation
    args = NARROW | dict(cardinality=2, base_width=64, stem_width=4, output_stride=16, act_layer="silu", global_pool="catavgmax", zero_init_last=False)
    model = timm_model("resnext50d_32x4d", num_classes=0, model_args=args)
    model.config_of_timm["architectures"] = ["TimmWrapperModel"]
    return model, pictures(2, 31, 18, 1)


def make(folder):
    for name, f in CASES.items():
        if not golden.wanted(name):
            continue
        golden.seed(name)
        model, inputs = f()
        golden.save(folder / name, golden.enliven(model), inputs, getattr(model, "config_of_timm", None))
