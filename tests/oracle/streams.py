"""Truncated backpropagation with carried state: make.py streams.

streams.json: for a language model of tests/golden/model, a text of letters (a is token 0) cut into streams and gone through
in windows as PyTorch's word_language_model does it; the losses before each update by AdamW, the state detached and carried,
zeros at the start of an epoch; and the loss of another text afterwards, read as one or two streams."""
import json

import torch
from safetensors.torch import load_file

import golden
from recurrent import Recurrent

BATCH, CONTEXT, EPOCHS, RATE, DECAY = 3, 7, 2, 0.01, 0.1


def open_model(path):
    c = json.loads((path / "config.json").read_text())
    keys = {k: c[k] for k in ("proj_size",) if k in c}
    model = Recurrent(c["model_type"].removeprefix("heed-"), c["vocab_size"], c["embedding_size"], c["hidden_size"], c["num_layers"],
                      "lm", c["vocab_size"], tied=c["tie_word_embeddings"], padding=c["pad_token_id"], **keys)
    model.load_state_dict(load_file(path / "model.safetensors"), strict=True)
    return model.double()


def loss_of(model, ids, labels, state):
    h, state = model.rnn(model.embedding(ids), state)
    return torch.nn.functional.cross_entropy(model.logits(h).flatten(0, 1), labels.flatten()), state


def detached(state):
    return tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()


def train(model, text):
    params = list(model.parameters())
    opt = torch.optim.AdamW([{"params": [p for p in params if p.dim() > 1], "weight_decay": DECAY},
                             {"params": [p for p in params if p.dim() < 2], "weight_decay": 0}], lr=RATE)
    length = len(text) // BATCH
    rows, losses = text[:length * BATCH].view(BATCH, length), []
    for _ in range(EPOCHS):
        state = None
        for i in range(0, length - 1, CONTEXT):
            n = min(CONTEXT, length - 1 - i)
            loss, state = loss_of(model, rows[:, i:i + n], rows[:, i + 1:i + 1 + n], None if state is None else detached(state))
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(params, 1.0)
            opt.step()
            losses.append(loss.item())
    return losses


@torch.no_grad()
def measure(model, text, streams):
    windows = (len(text) - 2) // CONTEXT + 1
    per, total = -(-windows // streams) * CONTEXT, 0.0
    for s in range(streams):
        part = text[s * per:(s + 1) * per + 1]
        total += loss_of(model, part[None, :-1], part[None, 1:], None)[0].item() * (len(part) - 1)
    return total / (len(text) - 1)


def letters(ids):
    return "".join(chr(ord("a") + i) for i in ids.tolist())


def make(folder):
    golden.seed("streams")
    cases = []
    for name, size, streams in [("rnn-lm", 60, 1), ("gru-lm", 500, 2), ("lstm-lm-state", 490, 2)]:
        model = open_model(folder.parent / "model" / name)
        text, other = torch.randint(0, 17, (160,)), torch.randint(0, 17, (size,))
        losses = train(model, text)
        cases.append({"model": f"model/{name}", "text": letters(text), "other": letters(other), "batch": BATCH, "context": CONTEXT,
                      "epochs": EPOCHS, "lr": RATE, "weight_decay": DECAY, "clip": 1, "losses": losses,
                      "other_loss": measure(model, other, streams)})
        print(f"task/streams.json: {name}: {losses[0]:.4f} … {losses[-1]:.4f}, other text {cases[-1]['other_loss']:.4f}")
    (folder / "streams.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")
