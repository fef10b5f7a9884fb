"""Golden directories of the Performer: its attention as the dense formula, of features that are written out."""
import math

import torch
from torch import nn

from mixing import Kind, directory


class Performer(Kind):
    name, family, title = "self_attn", "performer", "Performer"
    keys = dict(num_attention_heads=2, num_random_features=5, feature_kind="positive", orthogonal_features=True,
                redraw_interval=1000, causal=False)

    def __init__(self, config, number, shared):
        super().__init__()
        C, self.heads, m = config.hidden_size, config.num_attention_heads, config.num_random_features
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(C, C))
        self.kind, self.causal = config.feature_kind, config.causal
        rows = m if self.kind == "positive" else m // 2
        self.register_buffer("features", torch.randn(rows, C // self.heads))
        self.register_buffer("draw", torch.tensor(number, dtype=torch.int64))

    def parts(self, x):
        """f (B,H,T,features) and a (B,H,T,1): f exp(a) are the features, but for a factor that cancels."""
        z, half = x @ self.features.T, (x * x).sum(-1, keepdim=True) / 2
        if self.kind == "trigonometric":
            return torch.cat([torch.sin(z), torch.cos(z)], -1), half
        return torch.exp(torch.cat([z, -z], -1) if self.kind == "hyperbolic" else z), -half

    def forward(self, x, mask, carried):
        B, T, C = x.shape
        H, D = self.heads, C // self.heads
        q, k, v = (p(x).view(B, T, H, D).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        (f, _), (g, more) = self.parts(q * D ** -0.25), self.parts(k * D ** -0.25)
        a = (f @ g.transpose(-1, -2)) * torch.exp(more.transpose(-1, -2))
        see = mask[:, None, None].bool().expand(B, H, T, T)
        if self.causal:
            see = see & torch.tril(torch.ones(T, T, dtype=torch.bool))
        a = torch.where(see, a, 0.0)
        total = a.sum(-1, keepdim=True)
        weights = torch.where(total == 0, 0.0, a / torch.where(total == 0, 1.0, total))
        y = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.out_proj(y), None, {"attention": weights}


def make(folder):
    directory(folder, "performer-mlm", Performer, "mlm")
    directory(folder, "performer-mlm-hyperbolic", Performer, "mlm", mask="left", num_attention_heads=3,
              num_random_features=8, feature_kind="hyperbolic", tie_word_embeddings=False)
    directory(folder, "performer-classify", Performer, "classify", mask="holes", pad_token_id=0, num_random_features=16)
    directory(folder, "performer-classify-causal", Performer, "classify", mask="left", causal=True, pooling="first")
    directory(folder, "performer-tag", Performer, "tag", num_hidden_layers=3, length=9, num_random_features=1)
    directory(folder, "performer-qa", Performer, "qa", mask=None, length=4, redraw_interval=0)
    directory(folder, "performer-bare", Performer, "bare", mask=None, orthogonal_features=False)
    directory(folder, "performer-lm", Performer, "lm", causal=True)
    directory(folder, "performer-lm-own", Performer, "lm", causal=True, mask=None, length=9, num_attention_heads=1,
              num_random_features=12, tie_word_embeddings=False)
    # sums of features that may be negative come close to 0, where float32 has few digits left: enough of them here
    directory(folder, "performer-tag-sines", Performer, "tag", num_random_features=64,
              feature_kind="trigonometric")
