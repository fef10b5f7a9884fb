"""Models of pictures, as transformers and timm save them: golden directories below tests/golden/model."""
import torchvision_ops  # noqa: F401, before transformers
import torch
import transformers as hf

import golden

CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


def pictures(count, height, width, channels=3):
    return dict(pixel_values=torch.randn(count, channels, height, width))


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


def make(folder):
    for name, f in CASES.items():
        golden.seed(name)
        model, inputs = f()
        golden.save(folder / name, golden.enliven(model), inputs)
