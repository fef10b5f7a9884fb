"""Layers: torch.nn modules in float64 on float32 weights, forward and every gradient by name."""
import numpy as np
import torch
from torch import nn

import activations
from case import Family, f32, ids, normal, smooth, stored

ACTIVATIONS = ["identity", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "softplus"]


class Layers(Family):
    """CASE.in0, CASE.param.NAME -> CASE.out0; for the upstream gradient CASE.dout0: CASE.grad.NAME and CASE.din0."""

    def layer(self, kind, module, make_input, **attr):
        name, rng = self.begin(kind)
        module = self.fill(name, module, rng)
        x = np.asarray(make_input(rng))
        leaf = torch.from_numpy(x)
        leaf = leaf.double().requires_grad_() if x.dtype == f32 else leaf.long()
        out = module(leaf)
        self.backward(name, module, out, rng)
        self.tensors[f"{name}.in0"] = x
        if leaf.grad is not None:
            self.tensors[f"{name}.din0"] = stored(leaf.grad)
        self.cases.append({"name": name, "kind": kind, "attr": attr})


def sequential(sizes, activation):
    layers = nn.ModuleDict({"layers": nn.Sequential()})
    for i in range(len(sizes) - 1):
        layers["layers"].append(nn.Linear(sizes[i], sizes[i + 1]))
        if i + 2 < len(sizes):
            layers["layers"].append(activations.module(activation))
    layers.forward = layers["layers"].forward
    return layers


def families():
    f = Layers("layers")
    f.layer("linear", nn.Linear(5, 7), normal(4, 5), inputs=5, outputs=7, bias=True)
    f.layer("linear", nn.Linear(17, 3, bias=False), normal(2, 3, 17), inputs=17, outputs=3, bias=False)
    f.layer("embedding", nn.Embedding(11, 6), ids(11, 3, 5), vocabulary=11, width=6)
    f.layer("layer_norm", nn.LayerNorm(9), normal(4, 9), width=9, eps=1e-5)
    f.layer("layer_norm", nn.LayerNorm(33, eps=1e-12), normal(2, 3, 33), width=33, eps=1e-12)
    f.layer("rms_norm", nn.RMSNorm(12, eps=1e-6), normal(5, 12), width=12, eps=1e-6)
    for activation in ACTIVATIONS:
        f.layer("mlp", sequential([6, 10, 7, 3], activation), smooth(5, 6), sizes=[6, 10, 7, 3],
                activation=activation)
    f.layer("mlp", sequential([4, 2], "relu"), normal(3, 4), sizes=[4, 2], activation="relu")
    return [f]
