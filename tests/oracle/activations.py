"""Activations by their names in configs, as src/kernel/functions.def lists them: transformers' ACT2FN, else torch.nn."""
import pathlib
import re

from torch import nn
from transformers.activations import ACT2FN

TABLE = pathlib.Path(__file__).resolve().parents[2] / "src" / "kernel" / "functions.def"
OTHERS = {"identity": nn.Identity, "gelu_tanh": lambda: nn.GELU(approximate="tanh"), "softplus": nn.Softplus,
          "elu": nn.ELU}


def names():
    """linear and identity are no line of the table: nothing is to be computed."""
    lines = re.findall(r'^ACTIVATION\(.*?"([^"]*)"', TABLE.read_text(), re.MULTILINE | re.DOTALL)
    return ["linear", "identity"] + [name for line in lines for name in line.split(", ")]


def module(name):
    return OTHERS[name]() if name in OTHERS else ACT2FN[name]
