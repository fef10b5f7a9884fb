"""Models of timm as golden.save takes them: forward gives a dict, with the attention weights that timm itself does not give."""
import torchvision_ops  # noqa: F401, before timm
import json
import pathlib
import tempfile
from unittest import mock

import timm
import torch
import torch.nn.functional as F
from timm.layers import GluMlp
from timm.models import swin_transformer_v2, volo
from timm.models._hub import save_config_for_hf
from timm.models.mlp_mixer import MlpMixer

SEEN = []


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    weights = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    weights = (weights if attn_mask is None else weights + attn_mask).softmax(-1)
    SEEN.append(weights)
    return weights @ v


def names(model):
    """Of every block's attention; of CaiT's class token after those of patches; of Swin's, the last of a stage by the stage's number."""
    if isinstance(model, volo.VOLO):
        kinds = {volo.OutlookAttention: "outlook_attentions", volo.Attention: "attentions", volo.ClassAttention: "class_attentions"}
        of = [kinds[type(m)] for m in model.modules() if type(m) in kinds]
        return [f"{kind}.{of[:n].count(kind)}" for n, kind in enumerate(of)]
    if hasattr(model, "layer1") or hasattr(model, "stages"):  # ResNet has none; those of LeViT are added by levit_maps.py
        return []
    if not hasattr(model, "layers"):
        late = getattr(model, "blocks_token_only", [])
        return [f"attentions.{i}" for i in range(len(model.blocks))] + [f"class_attentions.{i}" for i in range(len(late))]
    of = [(s, i + 1 == len(stage.blocks)) for s, stage in enumerate(model.layers) for i in range(len(stage.blocks))]
    return [f"attentions.{s}" if last else f"windows_attentions.{n}" for n, (s, last) in enumerate(of)]


def forward(self, pixel_values, labels=None, **_):
    SEEN.clear()
    kept, F.scaled_dot_product_attention = F.scaled_dot_product_attention, attention
    features = self.forward_features(pixel_values)
    blocks = len(SEEN)
    out = self.forward_head(features)
    F.scaled_dot_product_attention = kept
    if self.num_classes == 0:
        result = dict(last_hidden_state=features, pooler_output=out)
    else:
        result = dict(logits=out)
    if labels is not None:
        result["loss"] = F.cross_entropy(out, labels)
    maps = dict(zip(names(self), SEEN[:blocks]))
    return result | maps | {f"pooling_attentions.{i}": w for i, w in enumerate(SEEN[blocks:])}


def timm_model(name, num_classes, model_args):
    """A model with its config.json as timm writes it, in .config_of_timm."""
    model_args = {k: v for k, v in model_args.items() if v is not None}  # as create_model itself does
    if "mixer" in name:  # whose own arguments create_model does not let be overridden
        gated = dict(mlp_layer=GluMlp, act_layer=torch.nn.SiLU) if name.startswith("g") else {}
        model = MlpMixer(num_classes=num_classes, **(gated | model_args))
        model.pretrained_cfg = dict(architecture=name)
    elif name.startswith("volo"):  # likewise
        with mock.patch.object(volo, "_create_volo", lambda *_, pretrained, **own: own):
            own = getattr(volo, name)()
        model = volo.VOLO(num_classes=num_classes, **(own | model_args))
        model.pretrained_cfg = dict(architecture=name)
    else:
        model = timm.create_model(name, num_classes=num_classes, **model_args)
    for module in model.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = True  # so that attention() is called
        if isinstance(module, (volo.ClassAttention, swin_transformer_v2.WindowAttention)):
            module.attn_drop.register_forward_pre_hook(lambda _, given: SEEN.append(given[0]))
        if isinstance(module, volo.OutlookAttention):  # (B, H, N, 9, 9)
            module.attn_drop.register_forward_pre_hook(lambda _, given: SEEN.append(given[0].transpose(1, 2).flatten(0, 1)))
        if hasattr(module, "proj_w"):  # talking heads: what enters the second product over heads, (B, T, T, H)
            module.proj_w.register_forward_pre_hook(lambda _, given: SEEN.append(given[0].permute(0, 3, 1, 2)))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        save_config_for_hf(model, path, model_args=model_args)
        model.config_of_timm = json.loads(path.read_text())
    model.__class__ = type(model.__class__.__name__, (model.__class__,), dict(forward=forward, dtype=property(lambda m: next(m.parameters()).dtype)))
    return model
