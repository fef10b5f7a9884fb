"""Golden directories of forecasters: torch.nn's recurrent layers with MQ-RNN's decoder, and linear maps."""
import torch
from torch import nn
from torch.nn import functional as F

import golden

KINDS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class Forecaster(nn.Module):
    def __init__(self, kind, context, horizon, targets, features=0, known=0, quantiles=(), loss="mse", normalize="last",
                 units=4, layers=1, decoder=3, hidden=(), highway=0):
        super().__init__()
        self.kind, self.horizon, self.targets, self.normalize, self.loss = kind, horizon, targets, normalize, loss
        self.quantiles = torch.tensor(quantiles, dtype=torch.float32)
        self.decoder, outputs = decoder, targets * max(1, len(quantiles))
        if kind in KINDS:
            self.rnn = KINDS[kind](targets + features + known, units, layers, batch_first=True)
            self.add_module("global", nn.Linear(units + horizon * known, (horizon + 1) * decoder))
            if highway:
                self.highway = nn.Linear(highway, horizon)
            self.local = nn.Sequential(nn.Linear(2 * decoder + known, decoder), nn.ReLU(), nn.Linear(decoder, outputs))
            return
        sizes = [context * (targets + features + known) + horizon * known, *hidden, horizon * outputs]
        if kind == "linear":
            self.linear = nn.Linear(*sizes)
            return
        layers = []
        for i in range(len(sizes) - 1):
            layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.Tanh()]
        self.layers = nn.Sequential(*layers[:-1])

    def decode(self, parts, future):
        x = torch.cat(parts, 2)
        h = self.rnn(x)[0][:, -1]
        c = F.relu(getattr(self, "global")(torch.cat([h, *(f.flatten(1) for f in future)], 1)))
        c = c.reshape(len(x), self.horizon + 1, self.decoder)
        last = c[:, -1:].expand(-1, self.horizon, -1)
        return self.local(torch.cat([c[:, :-1], last, *future], 2))

    def forward(self, past_values, future_values=None, past_features=None, past_time_features=None,
                future_time_features=None):
        shift, scale = torch.zeros(()), torch.ones(())
        if self.normalize == "last":
            shift = past_values[:, -1:]
        elif self.normalize == "window":
            shift = past_values.mean(1, keepdim=True)
            scale = (past_values.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        parts = [p for p in ((past_values - shift) / scale, past_features, past_time_features) if p is not None]
        future = [f for f in (future_time_features,) if f is not None]
        if self.kind in KINDS:
            y = self.decode(parts, future)
        else:
            net = self.linear if self.kind == "linear" else self.layers
            y = net(torch.cat([p.flatten(1) for p in parts + future], 1))
        n = len(self.quantiles)
        y = y.reshape(len(past_values), self.horizon, self.targets, max(1, n))
        if hasattr(self, "highway"):
            recent = parts[0][:, -self.highway.in_features:]
            y = y + self.highway(recent.transpose(1, 2)).transpose(1, 2).unsqueeze(-1)
        y = y * scale.unsqueeze(-1) + shift.unsqueeze(-1)
        if n == 0:
            y = y.squeeze(-1)
        if future_values is None:
            return dict(logits=y)
        if n > 0:
            q, miss = self.quantiles.to(y), future_values.unsqueeze(-1) - y
            return dict(logits=y, loss=torch.maximum((q.float() - 1).to(y) * miss, q * miss).mean())
        return dict(logits=y, loss=(F.l1_loss if self.loss == "mae" else F.mse_loss)(y, future_values))


def directory(folder, name, kind, context=6, horizon=3, targets=1, features=0, known=0, wanted=True, **keys):
    golden.seed(name)
    model = Forecaster(kind, context, horizon, targets, features, known, **keys)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.7 * torch.randn_like(p))
    given = dict(past_values=torch.randn(4, context, targets) + 2)
    if features:
        given["past_features"] = torch.randn(4, context, features)
    if known:
        given["past_time_features"] = torch.randn(4, context, known)
        given["future_time_features"] = torch.randn(4, horizon, known)
    if wanted:
        given["future_values"] = torch.randn(4, horizon, targets)
    config = dict(model_type="heed-forecaster", architectures=["HeedForecaster"], kind=kind, context_length=context,
                  prediction_length=horizon, num_targets=targets, num_features=features, num_time_features=known,
                  quantiles=list(keys.get("quantiles", ())), loss=keys.get("loss", "mse"),
                  normalize=keys.get("normalize", "last"), hidden_size=keys.get("units", 4),
                  num_layers=keys.get("layers", 1), decoder_size=keys.get("decoder", 3),
                  highway_length=keys.get("highway", 0),
                  hidden_sizes=list(keys.get("hidden", ())), activation="tanh", dropout=0.2)
    golden.save(folder / name, model, given, config)


def make(folder):
    directory(folder, "forecaster-lstm", "lstm", targets=2, known=3, features=1, layers=2)
    directory(folder, "forecaster-gru", "gru", quantiles=(0.1, 0.5, 0.9), normalize="window", targets=2, units=5)
    directory(folder, "forecaster-highway", "lstm", targets=2, quantiles=(0.2, 0.6), highway=4)
    directory(folder, "forecaster-rnn", "rnn", features=2, normalize="none", loss="mae", wanted=False, decoder=4)
    directory(folder, "forecaster-linear", "linear", context=8, targets=2, loss="mae")
    directory(folder, "forecaster-linear-known", "linear", known=2, features=1, quantiles=(0.25, 0.8))
    directory(folder, "forecaster-mlp", "mlp", hidden=(5, 4), known=1, normalize="window")
