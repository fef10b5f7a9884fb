"""Lines of models that find objects, beside transformers in PyTorch: DETR with ResNet-50 on one picture of 480 x 480, also in ONNX Runtime and OpenVINO; a
training step of the small Conditional DETR that `heed train detect` trains, matching and losses included."""
import os

import torch

import training
import vision
from peers import missing

FOLDER = None
SIDE, BACKBONE = 96, dict(layer_type="basic", hidden_sizes=[64, 128], depths=[2, 2])
OBJECTS = 3  # in each picture


def share(folder):
    global FOLDER
    FOLDER = folder


def detr():
    import transformers as hf
    torch.manual_seed(0)
    backbone = hf.ResNetConfig(out_features=["stage4"])
    return hf.DetrForObjectDetection(hf.DetrConfig(use_timm_backbone=False, backbone=None, backbone_config=backbone)).eval()


class Answers(torch.nn.Module):
    """What detection needs of all that the model returns, with a mask of which nothing is padding."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, pixel_values):
        out = self.net(pixel_values)
        return out.logits, out.pred_boxes


def to_onnx(x):
    path = os.path.join(FOLDER, "detr.onnx")
    if not os.path.exists(path):
        torch.onnx.export(Answers(detr()), (x,), path, dynamo=False, opset_version=17, input_names=["pixel_values"], output_names=["logits", "pred_boxes"])
    return path


def detr_forward(pictures, side, _):
    x = torch.randn(pictures, 3, side, side)
    return vision.forward_of(Answers(detr()), x, lambda: to_onnx(x))


def targets(pictures):
    """Boxes of a quarter of the side, at places that differ."""
    labels = []
    for i in range(pictures):
        at = torch.arange(OBJECTS) + OBJECTS * i
        centres = torch.stack([0.2 + 0.6 * (at * 7 % 11) / 11, 0.2 + 0.6 * (at * 5 % 13) / 13], -1)
        labels.append({"class_labels": at % 4, "boxes": torch.cat([centres, torch.full((OBJECTS, 2), 0.25)], -1)})
    return labels


def detector_step(pictures, _, __):
    import transformers as hf

    def live(module):
        """Batch norms that train: transformers makes frozen ones of those of a backbone."""
        for name, child in module.named_children():
            if "FrozenBatchNorm" in type(child).__name__:
                setattr(module, name, torch.nn.BatchNorm2d(child.weight.numel()))
            live(child)

    def variant():
        torch.manual_seed(0)
        backbone = hf.ResNetConfig(out_features=["stage2"], **BACKBONE)
        net = hf.ConditionalDetrForObjectDetection(hf.ConditionalDetrConfig(
            use_timm_backbone=False, backbone=None, backbone_config=backbone, d_model=128, encoder_layers=3, decoder_layers=3, encoder_attention_heads=8,
            decoder_attention_heads=8, encoder_ffn_dim=512, decoder_ffn_dim=512, num_queries=20, dropout=0.0, auxiliary_loss=True, num_labels=4)).train()
        live(net)
        for p in net.parameters():
            p.requires_grad_(True)
        optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, fused=True)
        x, labels = torch.randn(pictures, 3, SIDE, SIDE), targets(pictures)

        def loss():
            return net(pixel_values=x, labels=labels).loss
        return training.step(loss, optimizer, False)
    return [("eager", variant())]


def lines():
    if missing("transformers") or missing("timm"):
        return
    yield "DETR-R50 at 480 forward, 1 picture", detr_forward, (1, 480, 0), (1, 1)
    if not missing("scipy"):
        yield "small Conditional DETR at 96, 32 pictures, training step", detector_step, (32, 0, 0), (1.2, 1.2)
