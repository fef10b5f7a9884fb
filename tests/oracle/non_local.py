"""Non-local networks (Wang et al. 2018) as a module of torch on the layers of transformers' ResNet: make.py non_local writes their golden
directories, and python non_local.py HEED [--cases N] [--seed S] draws configurations as same_vision.py does."""
import torchvision_ops  # noqa: F401, before transformers
import json
import sys

import torch
import torch.nn.functional as F
import transformers as hf
from torch import nn

import drawn
import golden
from lively import lively_norms

FORMS = ["gaussian", "embedded-gaussian", "dot-product", "concatenation"]


class Block(nn.Module):
    """z = x + norm(W_z y); y_i = sum_j f(x_i, x_j) g(x_j) / C"""

    def __init__(self, channels, keys):
        super().__init__()
        inner = max(1, channels // 2)
        self.form, self.keys = keys["form"], keys
        if self.form != "gaussian":
            self.theta, self.phi = nn.Conv2d(channels, inner, 1), nn.Conv2d(channels, inner, 1)
        if self.form == "concatenation":
            self.pair = nn.Conv2d(2 * inner, 1, 1, bias=False)
        self.g, self.out = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)
        self.norm = nn.BatchNorm2d(channels) if keys["block_norm"] else nn.Identity()

    def forward(self, x):
        theta, phi, g = (x, x, self.g(x)) if self.form == "gaussian" else (self.theta(x), self.phi(x), self.g(x))
        if self.keys["sub_sample"]:
            phi, g = F.max_pool2d(phi, 2), F.max_pool2d(g, 2)
        if self.form == "concatenation":  # f of every pair of places
            n, m = theta.flatten(2).shape[2], phi.flatten(2).shape[2]
            pairs = torch.cat([theta.flatten(2)[:, :, :, None].expand(-1, -1, -1, m), phi.flatten(2)[:, :, None, :].expand(-1, -1, n, -1)], 1)
            f = torch.relu(self.pair(pairs))[:, 0]
        else:
            f = theta.flatten(2).transpose(1, 2) @ phi.flatten(2)
        if self.keys["use_scale"] and "gaussian" in self.form:
            f = f / theta.shape[1] ** 0.5
        f = f.softmax(-1) if "gaussian" in self.form else f / f.shape[-1]
        y = (f @ g.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape[0], -1, *x.shape[2:])
        return x + self.norm(self.out(y)), f[:, None]


class NonLocal(nn.Module):
    def __init__(self, body, keys, labels):
        super().__init__()
        resnet, widths = hf.ResNetModel(body), [w for w, d in zip(body.hidden_sizes, body.depths) for _ in range(d)]
        self.embedder, self.encoder, self.keys = resnet.embedder, resnet.encoder, keys
        self.blocks = nn.ModuleList(Block(widths[layer], keys) for layer in keys["blocks"])
        if labels:
            self.classifier = nn.Linear(widths[-1], labels)

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    def forward(self, pixel_values, labels=None, **_):
        x = self.embedder.embedder(pixel_values)
        if self.keys["stem_pool"]:
            x = self.embedder.pooler(x)
        maps = []
        for number, layer in enumerate(layer for stage in self.encoder.stages for layer in stage.layers):
            x = layer(x)
            if number in self.keys["blocks"]:
                x, f = self.blocks[self.keys["blocks"].index(number)](x)
                maps.append(f)
        pooled = x.mean((2, 3))
        found = {f"attentions.{i}": f for i, f in enumerate(maps)}
        if not hasattr(self, "classifier"):
            return dict(last_hidden_state=x, pooler_output=pooled) | found
        logits = self.classifier(pooled)
        return dict(logits=logits) | (dict(loss=F.cross_entropy(logits, labels)) if labels is not None else {}) | found


def network(body, keys, labels):
    """A module and its config.json"""
    body = dict(embedding_size=4, hidden_sizes=[4, 6], depths=[1, 1], layer_type="basic", num_channels=1) | body
    keys = dict(blocks=[0], form="embedded-gaussian", sub_sample=False, use_scale=False, block_norm=True, stem_pool=False) | keys
    head = dict(architectures=["NonlocalForImageClassification"], num_labels=labels) if labels else dict(architectures=["NonlocalModel"])
    model = golden.enliven(lively_norms(NonLocal(hf.ResNetConfig(**body), keys, labels)))
    with torch.no_grad():
        for p in model.blocks.parameters():
            p.mul_(0.15 if p.dim() > 1 else 1)  # products of three grow fast
    return model, dict(model_type="heed-nonlocal", image_size=8) | head | body | keys


def make(folder):
    small = dict(depths=[1], hidden_sizes=[4])
    cases = {"nonlocal-classify": (small | dict(depths=[2]), dict(blocks=[0, 1]), 3), "nonlocal-bare": (small, dict(form="gaussian", sub_sample=True, block_norm=False, use_scale=True), 0),
             "nonlocal-dot": (small, dict(form="dot-product", sub_sample=True), 2), "nonlocal-concatenation": (small, dict(form="concatenation"), 2)}
    for name, (body, keys, labels) in cases.items():
        if not golden.wanted(name):
            continue
        golden.seed(name)
        model, config = network(body, keys, labels)
        given = dict(pixel_values=torch.randn(2, 1, 8, 9))
        if labels:
            given["labels"] = torch.randint(0, labels, (2,))
        golden.save(folder / name, model, given, config)


# ---- drawn ----

def case(family, r, folder):
    stages = r.randint(1, 3)
    kind = r.choice(["basic", "bottleneck"])
    depths = [r.randint(1, 2) for _ in range(stages)]
    body = dict(embedding_size=r.randint(1, 8), hidden_sizes=[r.randint(1, 12) if kind == "basic" else 4 * r.randint(1, 3) for _ in depths], depths=depths, layer_type=kind,
                num_channels=r.randint(1, 3), downsample_in_first_stage=r.random() < 0.3, downsample_in_bottleneck=r.random() < 0.3, hidden_act=r.choice(["relu", "gelu", "silu"]))
    sub = r.random() < 0.4
    keys = dict(blocks=sorted(r.sample(range(sum(depths)), r.randint(0, sum(depths)))), form=r.choice(FORMS), sub_sample=sub, use_scale=r.random() < 0.3, block_norm=r.random() < 0.6,
                stem_pool=r.random() < 0.5)
    labels = r.choice([0, 1, 2, 5])
    model, config = network(body, keys, labels)
    least = 2 ** (2 + stages) + 1 if sub else 1  # of a map that is pooled, 2 x 2 places are left
    given = dict(pixel_values=torch.randn(r.randint(1, 3), body["num_channels"], least + r.randint(0, 20), least + r.randint(0, 20)))
    if labels > 1 and r.random() < 0.8:
        given["labels"] = torch.randint(0, labels, (len(given["pixel_values"]),))
    (folder / "config.json").write_text(json.dumps(config))
    drawn.save_weights(model, folder)
    return model.eval(), given, json.dumps(config)


if __name__ == "__main__":
    sys.exit(drawn.run(__doc__, ["nonlocal"], case))
