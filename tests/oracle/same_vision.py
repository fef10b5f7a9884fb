"""same_models.py for models of pictures: python same_vision.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes of pictures and patches, keys of config.json or timm's model_args, a head and pictures, trained sizes and others."""
import torchvision_ops  # noqa: F401, before transformers
import argparse
import pathlib
import random
import sys
import tempfile
import warnings

import torch
import transformers as hf

import golden
import same_models

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
        hidden_size=heads * r.randint(1, 6) + (heads == 1), num_hidden_layers=r.randint(1, 3), num_attention_heads=heads, intermediate_size=r.randint(3, 20),
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


FAMILIES = {"vit": lambda r: vit(r, "ViT"), "deit": lambda r: vit(r, "DeiT")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("heed", metavar="HEED")
    parser.add_argument("families", metavar="FAMILY", nargs="*", help=" ".join(FAMILIES))
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    hf.logging.set_verbosity_error()
    bad = 0
    for family in arguments.families or FAMILIES:
        equal, refused, most = 0, 0, 0.0
        for number in range(arguments.cases):
            r = random.Random(f"{family} {arguments.seed} {number}")
            torch.manual_seed(r.getrandbits(31))
            model, given = FAMILIES[family](r)
            with tempfile.TemporaryDirectory() as folder:
                finished(model).save_pretrained(folder)
                share, where = same_models.compare(arguments.heed, pathlib.Path(folder), model, given)
                config = (pathlib.Path(folder) / "config.json").read_text()
            if share is None:
                refused += 1
                print(f"    {family} {number}: not compared: {where}")
            elif share <= 1:
                equal, most = equal + 1, max(most, share)
            else:
                bad += 1
                shapes = {name: tuple(t.shape) for name, t in given.items()}
                print(f"    {family} {number}: {where}: {share:.3g} of what is allowed; {shapes} {' '.join(config.split())}")
        print(f"{family}: {equal} of {arguments.cases} equal, {refused} not compared; at most {most:.2g} of what is allowed", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
