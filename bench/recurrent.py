"""Recurrent layers' lines, beside torch.nn's."""
import torch
import torch.nn.functional as F

import attention
import training

KINDS = {0: torch.nn.RNN, 2: torch.nn.GRU, 3: torch.nn.LSTM}  # as heed_cell_kind has them
STEPS = 50
MEMORY = 0.75  # of PyTorch's, at most


def recurrent_both(rows, units, kind):
    net = KINDS[kind](units, units, batch_first=True)
    x, dy = torch.randn(rows, STEPS, units, requires_grad=True), torch.randn(rows, STEPS, units)

    def run():
        for p in [x, *net.parameters()]:
            p.grad = None
        net(x)[0].backward(dy)
    return [("eager", run)]


def recurrent_step(rows, units, kind):
    net = KINDS[kind](units, units, batch_first=True).eval()
    x, state = torch.randn(rows, 1, units), None

    def run():
        nonlocal state
        with torch.no_grad():
            state = net(x, state)[1]
    return [("eager", run)]


class LanguageModel(torch.nn.Module):
    def __init__(self, words, units, layers):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, units)
        self.rnn = torch.nn.LSTM(units, units, layers, batch_first=True)
        self.output = torch.nn.Linear(units, words)

    def forward(self, ids, labels):
        return F.cross_entropy(self.output(self.rnn(self.embedding(ids))[0]).flatten(0, 1), labels.flatten())


class Aligned(torch.nn.Module):
    """Bahdanau et al. 2015 as one writes it in PyTorch: U h_j once, the output of all steps at the end."""

    def __init__(self, words, units):
        super().__init__()
        self.source, self.target = torch.nn.Embedding(words, units), torch.nn.Embedding(words, units)
        self.encoder = torch.nn.GRU(units, units, batch_first=True, bidirectional=True)
        self.decoder = torch.nn.GRUCell(3 * units, units)
        self.start, self.readout = torch.nn.Linear(units, units), torch.nn.Linear(4 * units, 2 * units)
        self.query, self.key = torch.nn.Linear(units, units, bias=False), torch.nn.Linear(2 * units, units, bias=False)
        self.energy, self.output = torch.nn.Linear(units, 1, bias=False), torch.nn.Linear(units, words)

    def forward(self, ids, labels):
        memory, last = self.encoder(self.source(ids))
        keys, state = self.key(memory), torch.tanh(self.start(last[1]))
        y = self.target(torch.cat([torch.ones_like(labels[:, :1]), labels[:, :-1]], 1))
        states, contexts = [], []
        for t in range(labels.shape[1]):
            scores = self.energy(torch.tanh(self.query(state)[:, None] + keys))[..., 0]
            contexts.append((torch.softmax(scores, -1)[:, None] @ memory)[:, 0])
            state = self.decoder(torch.cat([y[:, t], contexts[-1]], -1), state)
            states.append(state)
        read = self.readout(torch.cat([torch.stack(states, 1), y, torch.stack(contexts, 1)], -1))
        return F.cross_entropy(self.output(read.unflatten(-1, (-1, 2)).amax(-1)).flatten(0, 1), labels.flatten())


def step_of(model, rows, length, words):
    ids, labels = torch.randint(3, words, (rows, length)), torch.randint(3, words, (rows, length))
    return lambda compiled: training.step(lambda: model(ids, labels), torch.optim.AdamW(model.parameters(), lr=1e-3), compiled)


def lstm_lm_step(rows, units, length):
    variant = step_of(LanguageModel(10000, units, 2), rows, length, 10000)
    yield "eager", variant(False)
    yield "compile", variant(True)


def bahdanau_step(rows, units, length):
    variant = step_of(Aligned(8000, units), rows, length, 8000)
    yield "eager", variant(False)
    yield "compile", variant(True)


def peak_bytes(workload, *sizes):
    """How much more memory a process has held at its peak, after some runs, than before there was a model."""
    torch.manual_seed(0)
    before = attention.memory_of_process("VmRSS")
    _, run = next(iter(globals()[workload](*sizes)))  # eager: the compiler takes memory of its own
    for _ in range(4):
        run()
    return attention.memory_of_process("VmHWM") - before


def lines():
    yield "LSTM language model 2 x 200, 20 x 35, step", lstm_lm_step, (20, 200, 35), (1.2, 1.4)
    yield "additive attention, GRU 256, 64 x (20 + 20), step", bahdanau_step, (64, 256, 20), (2, 2)
    yield "LSTM 256, 32 x 50 forward+backward", recurrent_both, (32, 256, 3), (1, 1)
    yield "GRU 256, 32 x 50 forward+backward", recurrent_both, (32, 256, 2), (1.2, 1.2)
    yield "RNN 256, 32 x 50 forward+backward", recurrent_both, (32, 256, 0), (1.2, 1.2)
    yield "LSTM 512, a token", recurrent_step, (1, 512, 3), (1.5, 1.5)


def extras(start, failed):
    """start: makes a worker, whose memory nothing else has raised."""
    for title, workload, sizes, _ in list(lines())[:3]:
        worker = start()
        before = worker.memory("VmRSS")
        worker.best(workload.__name__, sizes, 1, 0)
        ours, peer = worker.memory("VmHWM") - before, attention.fresh_process(f"peak_bytes({workload.__name__!r}, *{sizes})", "recurrent")
        print(f"  {title}: {ours / 1e6:.0f} MB at the peak, PyTorch {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
        if ours > MEMORY * peer:
            failed.append(f"{title} takes {ours / peer:.2f} of PyTorch's memory")
