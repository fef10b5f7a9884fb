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


# ---- DETR and its kin ----

def resnet_below(r, channels):
    """transformers' ResNet, and which of its maps the detector reads."""
    stages = r.randint(1, 3)
    config = dict(model_type="resnet", num_channels=channels, embedding_size=r.randint(2, 6), hidden_sizes=[4 * r.randint(1, 3) for _ in range(stages)],
                  depths=[r.randint(1, 2) for _ in range(stages)], layer_type=r.choice(["basic", "bottleneck"]), hidden_act=r.choice(["relu", "gelu", "silu"]),
                  downsample_in_first_stage=r.random() < 0.3, downsample_in_bottleneck=r.random() < 0.3)
    if r.random() < 0.3:
        config["out_features"] = r.choice([["stem"], ["stage1"], [f"stage{i}" for i in range(1, stages + 1)]])
    elif r.random() < 0.3:
        config["out_indices"] = r.choice([[1], [0, 1], [-1]])
    return config


def timm_below(r, channels):
    return dict(model_type="timm_backbone", backbone=r.choice(["resnet10t", "resnet14t", "resnet18"]), num_channels=channels, features_only=True,
                out_indices=r.choice([[1], [1, 2], [0], [0, 1, 2, 3], [4], [-2]]), output_stride=r.choice([None, 32, 16, 8]))


def padding(r, rows, size):
    """To the right and below, or anywhere."""
    mask = torch.ones(rows, *size, dtype=torch.long)
    for row in mask:
        row[r.randint(8, size[0]):] = 0
        row[:, r.randint(8, size[1]):] = 0
    if r.random() < 0.2:
        mask = (torch.rand(rows, *size) < 0.8).long()
        mask[:, 0, 0] = 1
    return mask


def detr(r, prefix):
    heads, channels, queries, below = r.randint(1, 3), r.randint(1, 3), r.randint(1, 9), r.random()
    keys = matching_keys(r, prefix != "ConditionalDetr") | dict(
        d_model=4 * heads * r.randint(1, 3), encoder_layers=r.randint(0, 2), decoder_layers=r.randint(1, 3), encoder_attention_heads=heads, decoder_attention_heads=r.choice([heads, 4]),
        encoder_ffn_dim=r.randint(3, 12), decoder_ffn_dim=r.randint(3, 12), num_queries=queries, activation_function=r.choice(ACTS), dropout=r.choice([0.0, 0.1]),
        attention_dropout=r.choice([0.0, 0.1]), position_embedding_type=r.choice(["sine", "sine", "learned"]), num_channels=channels, giou_cost=r.randint(1, 3),
        encoder_layerdrop=r.choice([0, 0.3]), class_cost=r.randint(1, 3))  # equal costs are no matter of rounding
    if below < 0.65:
        keys |= dict(backbone_config=resnet_below(r, channels))
    elif below < 0.8:
        keys |= dict(backbone=r.choice(["resnet10t", "resnet14t", "resnet18"]), dilation=r.random() < 0.5)
        if r.random() < 0.3:
            keys |= dict(use_timm_backbone=True, backbone_kwargs=r.choice([dict(out_indices=[1, 2, 3], num_channels=channels), dict(num_channels=channels, output_stride=16)]))
    else:
        keys |= dict(backbone_config=timm_below(r, channels))
    head, rows, size = r.choice(["Model", "ForObjectDetection", "ForObjectDetection"]), r.randint(1, 3), [r.randint(17, 70), r.randint(17, 70)]
    model = detection.detr(prefix + head, **keys)
    given = dict(pixel_values=torch.randn(rows, channels, *size))
    if r.random() < 0.5:
        given["pixel_mask"] = padding(r, rows, size)
    if head == "ForObjectDetection" and r.random() < 0.9:
        given["labels"] = objects_for(r, rows, queries, keys["num_labels"])
    return model, given


FAMILIES = {"yolos": yolos, "detr": lambda r: detr(r, "Detr"), "conditional_detr": lambda r: detr(r, "ConditionalDetr"),
            "table-transformer": lambda r: detr(r, "TableTransformer")}


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
