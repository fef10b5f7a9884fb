"""Golden directories of handwriting: Graves' networks of torch.nn.LSTM, with and without a window over a text."""
import torch
from torch import nn
from torch.nn import functional as F

import golden
from ops import mixture_fn


class Handwriting(nn.Module):
    def __init__(self, units, layers, mixtures, windows=0, characters=0, pace=0.0):
        super().__init__()
        self.windows, self.characters, self.pace = windows, characters, pace
        self.rnn = nn.ModuleList(nn.LSTM(3 + characters + (units if i else 0), units, batch_first=True)
                                 for i in range(layers))
        if windows:
            self.window = nn.Linear(units, 3 * windows)
        self.output = nn.Linear(layers * units, 6 * mixtures + 1)
        self.register_buffer("offset_mean", torch.tensor([0.3, -0.2]))
        self.register_buffer("offset_deviation", torch.tensor([1.7, 0.6]))

    def windowed(self, x, text, states, kappa, shown):
        """Point by point; characters one-hot, of which those of 0 are nothing."""
        letters = F.one_hot(text.long(), self.characters + 1)[..., 1:].to(x.dtype)
        place = torch.arange(1, text.shape[1] + 1, dtype=x.dtype)
        hs, seen, weights = [], [], []
        for t in range(x.shape[1]):
            h, states = self.rnn[0](torch.cat([x[:, t:t + 1], shown[:, None]], -1), states)
            a, b, k = self.window(h[:, 0]).exp().chunk(3, -1)
            kappa = kappa + self.pace * k
            phi = (a[..., None] * torch.exp(-b[..., None] * (kappa[..., None] - place)**2)).sum(1)
            shown = torch.einsum("bu,buv->bv", phi, letters)
            hs.append(h), seen.append(shown), weights.append(phi)
        return torch.cat(hs, 1), torch.stack(seen, 1), torch.stack(weights, 1), states, kappa, shown

    def forward(self, strokes, text=None, labels=None, state=None, cell=None, kappa=None, window=None):
        offset = (strokes[..., :2] - self.offset_mean) / self.offset_deviation
        x = torch.cat([offset, strokes[..., 2:]], -1)
        given = state is not None
        first = [(state[i:i + 1], cell[i:i + 1]) if given else None for i in range(len(self.rnn))]
        more, last = [], []
        if self.windows:
            kappa = torch.zeros(len(x), self.windows, dtype=x.dtype) if kappa is None else kappa
            window = torch.zeros(len(x), self.characters, dtype=x.dtype) if window is None else window
            h, shown, phi, states, kappa, window = self.windowed(x, text, first[0], kappa, window)
            more = [shown]
        else:
            h, states = self.rnn[0](x, first[0])
        hs, last = [h], [states]
        for i, layer in enumerate(self.rnn[1:], 1):
            h, states = layer(torch.cat([x, hs[-1]] + more, -1), first[i])
            hs.append(h), last.append(states)
        y = self.output(torch.cat(hs, -1))
        out = dict(logits=y)
        if self.windows:
            out["cross_attentions"] = (phi[:, None], )
            if labels is None:
                out["window_weights"] = phi
        if given:
            out |= dict(state=torch.cat([s[0] for s in last]), cell=torch.cat([s[1] for s in last]))
        if given and self.windows:
            out |= dict(kappa=kappa, window=window)
        if labels is not None:
            out["loss"] = mixture_fn("mean")(y[:, :-1], offset[:, 1:], labels[:, 1:])
        return out


def directory(folder, name, units, layers, mixtures, rows=3, steps=6, loss=True, given=False, characters="", windows=0):
    golden.seed(name)
    model = Handwriting(units, layers, mixtures, windows, len(characters), 0.5)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.5 * torch.randn_like(p))
    pen = torch.randint(0, 2, (rows, steps))
    inputs = dict(strokes=torch.cat([torch.randn(rows, steps, 2), pen[..., None].float()], -1))
    if loss:
        pen[0, -2:], pen[-1, 0] = -100, -100
        inputs["labels"] = pen.int()
    if characters:
        text = torch.randint(1, len(characters) + 1, (rows, 4))
        text[0, 2:], text[1, 3:] = 0, 0
        inputs["text"] = text.int()
    if given:
        inputs |= dict(state=torch.randn(layers, rows, units), cell=torch.randn(layers, rows, units))
    if given and characters:
        inputs |= dict(kappa=torch.rand(rows, windows), window=torch.rand(rows, len(characters)))
    head = "Synthesis" if characters else "Prediction"
    config = dict(model_type="heed-handwriting", architectures=[f"HandwritingFor{head}"], hidden_size=units,
                  num_layers=layers, num_mixtures=mixtures, initializer_range=0.075)
    if characters:
        config |= dict(num_windows=windows, window_pace=0.5, characters=characters)
    golden.save(folder / name, model, inputs, config)


def make(folder):
    directory(folder, "handwriting", 5, 3, 2)
    directory(folder, "handwriting-carried", 4, 2, 3, rows=2, given=True)
    directory(folder, "handwriting-one", 3, 1, 1, loss=False)
    directory(folder, "handwriting-text", 4, 3, 2, characters="01é23", windows=3)
    directory(folder, "handwriting-text-carried", 3, 2, 1, rows=2, steps=3, loss=False, given=True, characters="abc",
              windows=2)
