"""same_models.py for models that find objects: python same_detection.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes, keys of config.json, pictures of trained sizes and others, and objects: none, many, more than there are queries, and
crowds of the same."""
import torchvision_ops  # noqa: F401, before transformers
import sys

import torch
import transformers as hf

import detection
import drawn
import golden
import same_models

ACTS = same_models.ACTS + ["quick_gelu", "mish"]


def objects_for(r, rows, queries, classes):
    most = r.choice([0, 1, 3, queries + 2])
    labels = detection.objects([r.randint(0, most) for _ in range(rows)], classes, r.random() < 0.2)
    for each in labels:
        if len(each["boxes"]) > 1 and r.random() < 0.3:  # two alike; a box of no size
            each["boxes"][0], each["class_labels"][0] = each["boxes"][1], each["class_labels"][1]
            each["boxes"][-1, 2:] *= r.choice([0, 1])
    return labels


def matching_keys(r, softmax=True):
    """What detection heads share."""
    keys = dict(num_labels=r.randint(1, 6), auxiliary_loss=r.random() < 0.5, class_cost=r.randint(0, 3), bbox_cost=r.randint(1, 5), giou_cost=r.randint(0, 3),
                bbox_loss_coefficient=r.randint(0, 6), giou_loss_coefficient=r.randint(0, 3))
    return keys | (dict(eos_coefficient=r.choice([0.1, 0.5, 1.0])) if softmax else dict(focal_alpha=r.choice([0.25, 0.5])))


def yolos(r):
    heads, patch, queries = r.randint(1, 4), r.randint(1, 5), r.randint(1, 7)
    mid = r.random() < 0.6
    size = [patch * r.randint(1, 5) + (0 if mid else r.randint(0, patch - 1)) for _ in range(2)]
    name, rows, keys = r.choice(["YolosModel"] + 4 * ["YolosForObjectDetection"]), r.randint(1, 3), matching_keys(r)
    model = detection.yolos(
        name, hidden_size=heads * r.randint(2, 6), num_hidden_layers=r.randint(1, 4), num_attention_heads=heads, intermediate_size=r.randint(3, 20),
        hidden_act=r.choice(ACTS), hidden_dropout_prob=r.choice([0.0, 0.1]), attention_probs_dropout_prob=r.choice([0.0, 0.1]), layer_norm_eps=r.choice([1e-12, 1e-6, 1e-2]),
        image_size=size, patch_size=patch, num_channels=r.randint(1, 4), qkv_bias=r.random() < 0.7, num_detection_tokens=queries, use_mid_position_embeddings=mid, **keys)
    if r.random() < 0.6:  # another size than trained
        size = [patch * r.randint(1, 6) + r.randint(0, patch - 1) for _ in range(2)]
    given = dict(pixel_values=torch.randn(rows, model.config.num_channels, *size))
    if name != "YolosModel" and r.random() < 0.9:
        given["labels"] = objects_for(r, rows, queries, keys["num_labels"])
    return model, given


FAMILIES = {"yolos": yolos}


def case(family, r, folder):
    model, given = FAMILIES[family](r)
    model = golden.enliven(model).eval()
    model.save_pretrained(folder)
    if r.random() < 0.2:  # under the names of transformers' modules, not of its files
        drawn.save_weights(model, folder)
    return model, given, " ".join((folder / "config.json").read_text().split())


def main():
    hf.logging.set_verbosity_error()
    return drawn.run(__doc__, FAMILIES, case)


if __name__ == "__main__":
    sys.exit(main())
