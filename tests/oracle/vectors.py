"""Golden directories of the families that have no class in transformers: torch.nn modules and formulas."""
import torch
from torch import nn
from torch.nn import functional as F

import golden


class Standardised(nn.Module):
    """y = net((x - input_mean) / input_deviation) * output_deviation + output_mean, all four frozen."""

    def __init__(self, inputs, outputs, **nets):
        super().__init__()
        for name, net in nets.items():
            setattr(self, name, net)
        self.nets = list(nets)
        self.register_buffer("input_mean", torch.randn(inputs))
        self.register_buffer("input_deviation", 0.5 + torch.rand(inputs))
        self.register_buffer("output_mean", torch.randn(outputs))
        self.register_buffer("output_deviation", 0.5 + torch.rand(outputs))

    def forward(self, x, y):
        h = (x - self.input_mean) / self.input_deviation
        for name in self.nets:
            h = getattr(self, name)(h)
        logits = h * self.output_deviation + self.output_mean
        return dict(logits=logits, loss=F.mse_loss(logits, y))


class Classifier(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x, labels):
        logits = self.layers(x.flatten(1))
        return dict(logits=logits, loss=F.cross_entropy(logits, labels))


class Pooling(nn.Module):
    """Nadaraya-Watson: sum_i K(u_i) y_i / sum_i K(u_i); learnable: u = (x - x_i) w."""

    def __init__(self, points, inputs, outputs, kernel, width, learnable):
        super().__init__()
        self.register_buffer("keys", torch.rand(points, inputs))
        self.register_buffer("values", torch.randn(points, outputs))
        self.kernel, self.width = kernel, width
        if learnable:
            self.w = nn.Parameter(1 + torch.randn(inputs))

    def forward(self, x, y, attention_mask):
        u = (x[:, None] - self.keys) * (self.w if hasattr(self, "w") else 1 / self.width)
        k = self.kernel((u ** 2).sum(-1)) * attention_mask
        weights = k / k.sum(-1, keepdim=True)
        logits = weights @ self.values
        return {"logits": logits, "attentions": [weights[None, None]], "loss": F.mse_loss(logits, y)}


def config(kind, **keys):
    return dict(model_type=f"heed-{kind}", architectures=["Heed" + kind.title().replace("-", "")], **keys)


def make(folder):
    golden.seed("linear")
    golden.save(folder / "linear", Standardised(3, 2, linear=nn.Linear(3, 2)), dict(x=torch.randn(5, 3), y=torch.randn(5, 2)),
                config("linear", input_size=3, output_size=2, standardize_input=True, standardize_output=True))
    golden.seed("mlp")
    golden.save(folder / "mlp", Classifier(nn.Linear(12, 7), nn.GELU(), nn.Linear(7, 5), nn.GELU(), nn.Linear(5, 4)),
                dict(x=torch.randn(6, 2, 2, 3), labels=torch.tensor([0, 3, 1, 2, 2, 0])),
                config("mlp", input_size=12, output_size=4, hidden_sizes=[7, 5], activation="gelu", task="classify",
                       image_size=[2, 3], image_channels=2))
    for name, kernel, width, learnable in (("kernel-pooling", lambda u2: torch.exp(-u2 / 2), 1.0, True),
                                           ("kernel-pooling-triangular", lambda u2: torch.relu(1 - u2.sqrt()), 0.75, False)):
        golden.seed(name)
        keep = torch.ones(4, 6, dtype=torch.long)
        keep[1, 2:4], keep[3, 5] = 0, 0
        golden.save(folder / name, Pooling(6, 2, 3, kernel, width, learnable),
                    dict(x=torch.rand(4, 2), y=torch.randn(4, 3), attention_mask=keep),
                    config("kernel-pooling", points=6, input_size=2, output_size=3, width=width, learnable=learnable,
                           kernel="gaussian" if learnable else "triangular"))
