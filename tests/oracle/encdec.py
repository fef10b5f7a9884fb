"""Golden directories of the encoder-decoders before the Transformer, as their papers have them, of torch.nn's modules."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import golden


def side(words, width, network, padding=None):
    return nn.ModuleDict(dict(embedding=nn.Embedding(words, width, padding_idx=padding), rnn=network))


class Alignment(nn.Module):
    """e_ij = v' tanh(W s_i + U h_j)"""

    def __init__(self, query, key, units):
        super().__init__()
        self.query, self.key = nn.Linear(query, units, bias=False), nn.Linear(key, units, bias=False)
        self.energy = nn.Linear(units, 1, bias=False)

    def forward(self, q, memory):
        return self.energy(torch.tanh(self.query(q)[:, None] + self.key(memory)))[..., 0]


class Translator(nn.Module):
    """encode(x, lengths) and step(y, state, memory, hidden) of each paper; here one step at a time, always."""

    def __init__(self, config):
        super().__init__()
        self.c = config
        self.words, self.width, self.units = config["vocab_size"], config["embedding_size"], config["hidden_size"]
        self.targets = config.get("decoder_vocab_size") or self.words

    def networks(self, kind, inputs, layers=1, both=False):
        self.encoder = side(self.words, self.width, kind(self.width, self.units, layers, batch_first=True, bidirectional=both),
                            self.c["pad_token_id"])
        self.decoder = side(self.targets, self.width, kind(inputs, self.units, layers, batch_first=True))

    def readout_of(self, inputs):
        units = self.c["maxout_size"]
        if units:
            self.readout = nn.Linear(inputs, 2 * units)
        self.output = nn.Linear(units or inputs, self.targets)

    def read(self, *parts):
        t = torch.cat(parts, -1)
        return self.output(self.readout(t).unflatten(-1, (-1, 2)).amax(-1) if self.c["maxout_size"] else t)

    def run_encoder(self, ids, mask):
        """Tokens to the front, backwards where that is asked for; the memory is in their own order again."""
        rows = [row[seen > 0] for row, seen in zip(ids, mask)]
        back = self.c.get("reverse_source")
        rows = [r.flip(0) if back else r for r in rows]
        lengths = torch.tensor([len(r) for r in rows])
        x = self.encoder["embedding"](nn.utils.rnn.pad_sequence(rows, batch_first=True))
        y, last = self.encoder["rnn"](pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        y = pad_packed_sequence(y, batch_first=True, total_length=ids.shape[1])[0]
        if back:
            y = nn.utils.rnn.pad_sequence([torch.cat([r[:n].flip(0), r[n:]]) for r, n in zip(y, lengths)], batch_first=True)
        return y, last, lengths

    def attend(self, scores, memory, lengths):
        hidden = torch.arange(memory.shape[1])[None] >= lengths[:, None]
        a = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1)
        return a, (a[..., None] * memory).sum(1)

    def forward(self, input_ids, labels, attention_mask=None, teacher_forcing=None):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        start = torch.full_like(labels[:, :1], self.c["decoder_start_token_id"])
        target = torch.cat([start, labels[:, :-1].masked_fill(labels[:, :-1] == -100, self.c["pad_token_id"])], 1)
        source, state = self.encode(*self.run_encoder(input_ids, mask))
        logits, maps = [], []
        for t, token in enumerate(target.unbind(1)):
            if teacher_forcing is not None and t > 0:  # the decoder's own token where the true one is not given
                token = torch.where(teacher_forcing[:, t] > 0, token, out.argmax(-1))
            out, state, *a = self.step(self.decoder["embedding"](token), state, source)
            logits.append(out)
            maps += a
        logits = torch.stack(logits, 1)
        out = dict(logits=logits, loss=F.cross_entropy(logits.flatten(0, 1), labels.flatten()))
        return out | (dict(cross_attentions=(torch.stack(maps, 1)[:, None],)) if maps else {})

    def cell(self, x, state):
        y, state = self.decoder["rnn"](x[:, None], state)
        return y[:, 0], state


class Sutskever(Translator):
    def __init__(self, config):
        super().__init__(config)
        self.networks(nn.LSTM, self.width, config["num_layers"])
        self.output = nn.Linear(self.units, self.targets)

    def encode(self, memory, last, lengths):
        return None, last

    def step(self, y, state, source):
        h, state = self.cell(y, state)
        return self.output(h), state


class Cho(Translator):
    def __init__(self, config):
        super().__init__(config)
        self.networks(nn.GRU, self.width + self.units)
        self.context, self.start = nn.Linear(self.units, self.units), nn.Linear(self.units, self.units)
        self.readout_of(2 * self.units + self.width)

    def encode(self, memory, last, lengths):
        c = torch.tanh(self.context(last[0]))
        return c, torch.tanh(self.start(c))[None]

    def step(self, y, state, c):
        s, state = self.cell(torch.cat([y, c], -1), state)
        return self.read(s, y, c), state


class Bahdanau(Translator):
    def __init__(self, config):
        super().__init__(config)
        self.networks(nn.GRU, self.width + 2 * self.units, both=True)
        self.start = nn.Linear(self.units, self.units)
        self.alignment = Alignment(self.units, 2 * self.units, config["alignment_size"] or self.units)
        self.readout_of(3 * self.units + self.width)

    def encode(self, memory, last, lengths):
        return (memory, lengths), torch.tanh(self.start(last[1]))[None]

    def step(self, y, state, source):
        memory, lengths = source
        a, c = self.attend(self.alignment(state[0], memory), memory, lengths)
        s, state = self.cell(torch.cat([y, c], -1), state)
        return self.read(s, y, c), state, a


class Luong(Translator):
    def __init__(self, config):
        super().__init__(config)
        H, feeds = self.units, config["input_feeding"]
        self.networks(nn.LSTM, self.width + (H if feeds else 0), config["num_layers"])
        if config["score"] == "general":
            self.general = nn.Linear(H, H, bias=False)
        elif config["score"] == "concat":
            self.alignment = Alignment(H, H, H)
        if config["attention"] == "local-p":
            self.position = nn.ModuleDict(dict(hidden=nn.Linear(H, H, bias=False), energy=nn.Linear(H, 1, bias=False)))
        self.combine = nn.Linear(2 * H, H, bias=False)
        self.output = nn.Linear(H, self.targets)

    def encode(self, memory, last, lengths):
        return (memory, lengths), (last, torch.zeros_like(last[0][0]), 0)

    def scores(self, h, memory):
        if self.c["score"] == "concat":
            return self.alignment(h, memory)
        return ((self.general(memory) if self.c["score"] == "general" else memory) * h[:, None]).sum(-1)

    def step(self, y, state, source):
        (memory, lengths), (state, fed, t) = source, state
        h, state = self.cell(torch.cat([y, fed], -1) if self.c["input_feeding"] else y, state)
        scores, D = self.scores(h, memory), self.c["window"]
        if self.c["attention"] == "local-m":
            far = (torch.arange(memory.shape[1])[None] - (lengths[:, None] - 1).clamp(max=t)).abs() > D
            a, c = self.attend(scores.masked_fill(far, -torch.inf), memory, lengths)
        elif self.c["attention"] == "local-p":
            p = lengths[:, None] * torch.sigmoid(self.position["energy"](torch.tanh(self.position["hidden"](h))))
            d = torch.arange(memory.shape[1])[None] - p
            a, _ = self.attend(scores.masked_fill(d.abs() > D, -torch.inf), memory, lengths)
            a = a * torch.exp(-d ** 2 / (2 * (D / 2) ** 2))
            c = (a[..., None] * memory).sum(1)
        else:
            a, c = self.attend(scores, memory, lengths)
        g = torch.tanh(self.combine(torch.cat([c, h], -1)))
        return self.output(g), (state, g, t + 1), a


CLASSES = dict(sutskever=Sutskever, cho=Cho, bahdanau=Bahdanau, luong=Luong)
SHARED = dict(pad_token_id=1, eos_token_id=0, decoder_start_token_id=1, dropout=0.3, max_position_embeddings=32)
LUONG = dict(vocab_size=15, embedding_size=5, hidden_size=4, num_layers=1, window=10, attention="global", input_feeding=True)
CASES = {
    "sutskever": dict(vocab_size=17, decoder_vocab_size=13, embedding_size=5, hidden_size=4, num_layers=2),
    "sutskever-reversed": dict(vocab_size=14, embedding_size=3, hidden_size=6, num_layers=1, reverse_source=True),
    "cho": dict(vocab_size=16, decoder_vocab_size=15, embedding_size=5, hidden_size=4, maxout_size=3),
    "cho-plain": dict(vocab_size=13, embedding_size=3, hidden_size=5, maxout_size=0, reverse_source=True),
    "bahdanau": dict(vocab_size=12, decoder_vocab_size=14, embedding_size=3, hidden_size=4, alignment_size=5, maxout_size=6),
    "bahdanau-plain": dict(vocab_size=13, embedding_size=5, hidden_size=3, alignment_size=0, maxout_size=0, reverse_source=True),
    "luong-dot": LUONG | dict(score="dot", num_layers=2),
    "luong-general": LUONG | dict(score="general", reverse_source=True),
    "luong-concat": LUONG | dict(score="concat", input_feeding=False, num_layers=2, embedding_size=3),
    "luong-monotonic": LUONG | dict(score="general", attention="local-m", window=1),
    "luong-monotonic-dot": LUONG | dict(score="dot", attention="local-m", window=2, input_feeding=False, num_layers=2),
    "luong-local": LUONG | dict(score="general", attention="local-p", window=2),
    "luong-local-concat": LUONG | dict(score="concat", attention="local-p", window=1, input_feeding=False, reverse_source=True),
    "sutskever-free": dict(vocab_size=12, decoder_vocab_size=13, embedding_size=5, hidden_size=4, num_layers=2),
    "cho-sampled": dict(vocab_size=12, decoder_vocab_size=11, embedding_size=5, hidden_size=4, maxout_size=3),
    "bahdanau-sampled": dict(vocab_size=12, decoder_vocab_size=14, embedding_size=3, hidden_size=4, alignment_size=5, maxout_size=6),
    "luong-free": LUONG | dict(score="general", num_layers=2),
}


def make(folder):
    for number, (name, sizes) in enumerate(CASES.items()):
        golden.seed(name)
        kind = name.split("-")[0]
        config = SHARED | sizes
        model = CLASSES[kind](config)
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(0.7 * torch.randn_like(p))
        words, targets = config["vocab_size"], config.get("decoder_vocab_size") or config["vocab_size"]
        source, mask = torch.randint(2, words, (3, 6)), torch.ones(3, 6, dtype=torch.long)
        mask[1, 4:], source[1, 4:] = 0, config["pad_token_id"]
        if number % 2:  # holes, and padding on the left
            mask[0, 2], mask[2, :2] = 0, 0
        labels = torch.randint(2, targets, (3, 5))
        labels[2, 3:] = -100
        forced = {"free": torch.zeros_like(labels), "sampled": torch.tensor([[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [1, 0, 0, 1, 1]])}
        forced = {"teacher_forcing": forced[last] for last in [name.split("-")[-1]] if last in forced}
        golden.save(folder / name, model, dict(input_ids=source, attention_mask=mask, labels=labels) | forced,
                    dict(model_type=f"heed-{kind}", architectures=[f"{kind.title()}ForTranslation"]) | config)
