"""Recurrent layers' lines, beside torch.nn's."""
import torch

KINDS = {0: torch.nn.RNN, 2: torch.nn.GRU, 3: torch.nn.LSTM}  # as heed_cell_kind has them
STEPS = 50


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


def lines():
    yield "LSTM 256, 32 x 50 forward+backward", recurrent_both, (32, 256, 3), (1, 1)
    yield "GRU 256, 32 x 50 forward+backward", recurrent_both, (32, 256, 2), (1.2, 1.2)
    yield "RNN 256, 32 x 50 forward+backward", recurrent_both, (32, 256, 0), (1.2, 1.2)
    yield "LSTM 512, a token", recurrent_step, (1, 512, 3), (1.5, 1.5)
