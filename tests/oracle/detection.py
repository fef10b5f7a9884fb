"""Objects to find, and models of transformers that find them; golden directories below tests/golden/model."""
import copy
import types

import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers as hf
from transformers import backbone_utils

import detection_losses  # noqa: F401
import golden

CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


def objects(counts, classes, alike=False):
    """labels: of each picture so many objects; alike: all of them the same, so that everything ties."""
    labels = []
    for n in counts:
        centre, size = 0.2 + 0.6 * torch.rand(n, 2), 0.05 + 0.35 * torch.rand(n, 2)
        boxes, kinds = torch.cat([centre, size], 1), torch.randint(0, classes, (n,))
        if alike and n:
            boxes, kinds = boxes[:1].repeat(n, 1), kinds[:1].repeat(n)
        labels.append(dict(class_labels=kinds, boxes=boxes))
    return labels


# ---- YOLOS ----

def yolos_layers(model):
    """transformers' class fails where auxiliary_loss is true and there are targets. Here every layer's state goes through the last
    norm and the heads."""
    states, layers = [], model.vit.encoder.layer
    for layer in layers:
        layer.register_forward_hook(lambda module, given, out: states.append(out))

    def forward(self, pixel_values, labels=None, **options):
        states.clear()
        result = super(self.__class__, self).forward(pixel_values, **options)
        if labels is None:
            return result
        of = [self.vit.layernorm(h)[:, -self.config.num_detection_tokens:] for h in states]
        config = copy.deepcopy(self.config)
        config.decoder_layers = len(of)
        loss, loss_dict, _ = self.loss_function(
            result.logits, labels, self.device, result.pred_boxes, config, torch.stack([self.class_labels_classifier(h) for h in of]),
            torch.stack([self.bbox_predictor(h).sigmoid() for h in of]))
        return dict(result.items()) | dict(loss=loss, loss_dict=loss_dict)

    model.__class__ = type(model.__class__.__name__, (model.__class__,), dict(forward=forward))
    return model


def yolos(name, **keys):
    """Tokens and positions that are not zero, as those of transformers' fresh models are."""
    config = hf.YolosConfig(**keys)
    model = getattr(hf, name)._from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "token" in key or "position" in key:
                p.copy_(0.1 * torch.randn(p.shape))
    return yolos_layers(model) if config.auxiliary_loss and "Detection" in name else model


SMALL = dict(hidden_size=6, num_hidden_layers=2, num_attention_heads=3, intermediate_size=5, image_size=[8, 12], patch_size=4, num_detection_tokens=4, num_labels=3)


def pictures(count, height, width, channels=3):
    return dict(pixel_values=torch.randn(count, channels, height, width))


@case
def yolos_detect():  # a picture without objects; one with more than there are tokens
    return yolos("YolosForObjectDetection", **SMALL), pictures(3, 8, 12) | dict(labels=objects([2, 0, 6], 3))


@case
def yolos_resized():  # another grid, a rest that is cut off, losses of every layer, many objects alike
    keys = dict(qkv_bias=False, auxiliary_loss=True, class_cost=2, bbox_cost=3, eos_coefficient=0.3, giou_loss_coefficient=1)
    return yolos("YolosForObjectDetection", **(SMALL | keys)), pictures(2, 13, 9) | dict(labels=objects([3, 5], 3, alike=True))


@case
def yolos_bare():  # a picture that is no whole number of patches, without positions in the middle
    keys = dict(use_mid_position_embeddings=False, num_hidden_layers=1, hidden_act="relu", num_channels=2, image_size=[9, 8])
    return yolos("YolosModel", **(SMALL | keys)), pictures(2, 12, 8, 2)


@case
def yolos_empty():  # one layer, whose positions in the middle are none; no objects
    keys = dict(num_hidden_layers=1, num_labels=1)
    return yolos("YolosForObjectDetection", **(SMALL | keys)), pictures(2, 8, 12) | dict(labels=objects([0, 0], 1))


# ---- DETR and its kin ----

def detr(name, **keys):
    """Queries that differ, else matches are a matter of rounding."""
    backbone_utils.hf_api = lambda: types.SimpleNamespace(repo_exists=lambda name: False)  # names of backbones are timm's
    config = getattr(hf, name.removesuffix("Model").removesuffix("ForObjectDetection") + "Config")(**keys)
    model = getattr(hf, name)._from_config(config, attn_implementation="eager")
    torch.nn.init.normal_(getattr(model, "model", model).query_position_embeddings.weight, std=0.1)
    return model


BELOW = dict(model_type="resnet", num_channels=1, embedding_size=2, hidden_sizes=[4], depths=[1], layer_type="basic")
QUERIES = dict(d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=3, decoder_ffn_dim=4, num_queries=5, num_labels=3,
               backbone_config=BELOW)


def looking(model):
    """Attention that does not look everywhere alike."""
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.dim() == 2 and "attn" in key:
                p.mul_(3)
    return model


def padded(count, height, width, *sizes):
    mask = torch.zeros(count, height, width, dtype=torch.uint8)
    for row, (h, w) in zip(mask, sizes):
        row[:h, :w] = 1
    return pictures(count, height, width, 1) | dict(pixel_mask=mask)


@case
def detr_detect():  # padded pictures, one without objects, one with more than there are queries
    return looking(detr("DetrForObjectDetection", **QUERIES)), padded(3, 10, 14, (10, 14), (6, 9), (10, 5)) | dict(labels=objects([2, 0, 6], 3))


@case
def detr_bare():  # learned positions, the map of a stage that is not the last, losses of every layer
    below = BELOW | dict(out_features=["stage1"], hidden_sizes=[3, 2], depths=[1, 1], downsample_in_first_stage=True)
    return looking(detr("DetrModel", **(QUERIES | dict(position_embedding_type="learned", auxiliary_loss=True, encoder_layers=0, d_model=4, backbone_config=below)))), pictures(2, 18, 9, 1)


@case
def conditional_detr_detect():  # losses of every layer
    keys = dict(decoder_layers=2, auxiliary_loss=True, focal_alpha=0.5, encoder_layers=0, d_model=4)
    return looking(detr("ConditionalDetrForObjectDetection", **(QUERIES | keys))), padded(2, 10, 14, (7, 14), (10, 9)) | dict(labels=objects([3, 0], 3))


@case
def conditional_detr_bare():  # bottlenecks
    keys = dict(encoder_layers=0, d_model=4, backbone_config=BELOW | dict(layer_type="bottleneck", downsample_in_bottleneck=True), activation_function="gelu")
    return looking(detr("ConditionalDetrModel", **(QUERIES | keys))), pictures(2, 9, 17, 1)


@case
def table_transformer_detect():
    return looking(detr("TableTransformerForObjectDetection", **QUERIES)), padded(2, 10, 14, (10, 14), (6, 9)) | dict(labels=objects([1, 2], 3))


@case
def table_transformer_bare():
    return looking(detr("TableTransformerModel", **(QUERIES | dict(position_embedding_type="learned", encoder_layers=0, d_model=4)))), pictures(1, 18, 9, 1)


def make(folder):
    for name, f in CASES.items():
        golden.seed(name)
        model, inputs = f()
        golden.save(folder / name, golden.enliven(model), inputs)
