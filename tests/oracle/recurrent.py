"""Golden directories of recurrent networks: torch.nn.RNN, GRU and LSTM between an embedding and an output layer."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import golden
from models import some

KINDS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class Recurrent(nn.Module):
    """outputs None: the bare model. pooling: of a classifier. Padding is taken out before the network and put back."""
    problem = None  # of a classifier whose labels are numbers

    def __init__(self, kind, words, width, units, layers, head, outputs=None, pooling=None, tied=False, padding=None,
                 **keys):
        super().__init__()
        self.kind, self.head, self.pooling = kind, head, pooling
        self.embedding = nn.Embedding(words, width, padding_idx=padding)
        self.rnn = KINDS[kind](width, units, layers, batch_first=True, **keys)
        size = (keys.get("proj_size") or units) * (2 if keys.get("bidirectional") else 1)
        if outputs:
            self.output = nn.Linear(size, outputs)
        if tied:
            del self.output.weight

    def logits(self, h):
        return F.linear(h, getattr(self.output, "weight", self.embedding.weight), self.output.bias)

    def body(self, ids, mask, states):
        x = self.embedding(ids)
        mask = torch.ones_like(ids) if mask is None else mask
        order = torch.sort(mask, dim=1, descending=True, stable=True).indices  # tokens to the front
        x = torch.gather(x, 1, order[..., None].expand_as(x))
        y, last = self.rnn(pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False), states)
        y = pad_packed_sequence(y, batch_first=True, total_length=ids.shape[1])[0]
        back = torch.argsort(order, dim=1)
        return torch.gather(y, 1, back[..., None].expand_as(y)), last

    def pooled(self, h, mask, last):
        if self.pooling == "last":
            last = last[0] if self.kind == "lstm" else last
            return torch.cat(list(last[-2:] if self.rnn.bidirectional else last[-1:]), -1)
        if self.pooling == "mean":
            return h.sum(1) / mask.sum(1, keepdim=True)
        return h.masked_fill(mask[..., None] == 0, -torch.finfo(torch.float32).max).amax(1)

    @torch.no_grad()
    def own_tokens(self, ids, mask, given, states):
        """What a model reads that is given some tokens, and for the others what it predicts from the prefix."""
        ids = ids.clone()
        for t in range(1, ids.shape[1]):
            h, _ = self.body(ids[:, :t], mask if mask is None else mask[:, :t], states)
            ids[:, t] = torch.where(given[:, t] > 0, ids[:, t], self.logits(h[:, -1]).argmax(-1))
        return ids

    def forward(self, input_ids, attention_mask=None, labels=None, shift_labels=None, state=None, cell=None,
                teacher_forcing=None):
        states = (state, cell) if cell is not None else state
        if teacher_forcing is not None:
            input_ids = self.own_tokens(input_ids, attention_mask, teacher_forcing, states)
        h, last = self.body(input_ids, attention_mask, states)
        if self.head == "bare":
            return dict(last_hidden_state=h)
        if self.head == "classify":
            logits = self.logits(self.pooled(h, attention_mask, last))
            if not labels.is_floating_point():
                return dict(logits=logits, loss=F.cross_entropy(logits, labels))
            loss = F.mse_loss if self.problem == "regression" else F.binary_cross_entropy_with_logits
            return dict(logits=logits, loss=loss(logits, labels.to(logits).view_as(logits)))
        logits = self.logits(h)
        targets = labels if self.head == "tag" else shift_labels
        if targets is None:
            targets = torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], -100)], 1)
        out = dict(logits=logits, loss=F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
        if state is not None:
            out |= dict(state=last[0], cell=last[1]) if cell is not None else dict(state=last)
        return out


ARCHITECTURES = {"lm": "ForCausalLM", "classify": "ForSequenceClassification", "tag": "ForTokenClassification",
                 "bare": "Model"}


def directory(folder, name, kind, head, words=17, width=5, units=4, layers=2, tied=False, padding=None, outputs=3,
              pooling=None, inputs=None, mask="right", **keys):
    golden.seed(name)
    outputs = {"lm": words, "bare": None}.get(head, outputs)
    model = Recurrent(kind, words, width, units, layers, head, outputs, pooling, tied, padding, **keys)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.7 * torch.randn_like(p))
    ids = torch.randint(1, words, (3, 6))
    seen = torch.ones_like(ids)
    if mask == "right":
        seen[1, 4:], seen[2, 1:] = 0, 0
    elif mask == "left":
        seen[0, :2], seen[2, :5] = 0, 0
    elif mask == "holes":
        seen[0, 2:4], seen[1, 5], seen[2, 0], seen[2, 3] = 0, 0, 0, 0
    given = dict(input_ids=ids) | (dict(attention_mask=seen) if mask else {})
    if head == "classify":
        given["labels"] = torch.randint(0, outputs, (3,))
    elif head in ("lm", "tag"):
        given["labels"] = some(torch.randint(0, outputs, ids.shape))
    given |= inputs or {}
    if "shift_labels" in given:
        del given["labels"]
    config = dict(model_type=f"heed-{kind}", architectures=[kind.upper() + ARCHITECTURES[head]], vocab_size=words,
                  embedding_size=width, hidden_size=units, num_layers=layers, dropout=0.3, pad_token_id=padding)
    if head != "lm":
        config["bidirectional"] = False
    config |= keys | ({"tie_word_embeddings": tied} if head == "lm" else {}) | ({"pooling": pooling} if pooling else {})
    config |= {"num_labels": outputs} if head in ("classify", "tag") else {}
    golden.save(folder / name, model, given, config)


def make(folder):
    lengths = (3, 6)
    directory(folder, "rnn-lm", "rnn", "lm", layers=1, mask=None)
    directory(folder, "gru-lm", "gru", "lm", width=4, tied=True, padding=0)
    directory(folder, "lstm-lm", "lstm", "lm", width=3, tied=True, proj_size=3, mask="left")
    directory(folder, "lstm-lm-state", "lstm", "lm", layers=2, mask=None, proj_size=2,
              inputs=dict(shift_labels=some(torch.randint(0, 17, lengths)), state=torch.randn(2, 3, 2),
                          cell=torch.randn(2, 3, 4)))
    directory(folder, "gru-lm-state", "gru", "lm", layers=1,
              inputs=dict(shift_labels=some(torch.randint(0, 17, lengths)), state=torch.randn(1, 3, 4)))
    some_given = torch.tensor([[1, 0, 0, 1, 1, 0], [0, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]])
    directory(folder, "rnn-lm-free", "rnn", "lm", layers=1, mask=None, inputs=dict(teacher_forcing=torch.zeros_like(some_given)))
    directory(folder, "gru-lm-sampled", "gru", "lm", width=4, tied=True, inputs=dict(teacher_forcing=some_given))
    directory(folder, "lstm-lm-sampled", "lstm", "lm", layers=2, mask=None, proj_size=2,
              inputs=dict(shift_labels=some(torch.randint(0, 17, lengths)), state=torch.randn(2, 3, 2),
                          cell=torch.randn(2, 3, 4), teacher_forcing=some_given))
    directory(folder, "rnn-classify", "rnn", "classify", pooling="last", nonlinearity="relu", units=6)
    directory(folder, "gru-classify", "gru", "classify", pooling="mean", bidirectional=True, mask="left", padding=2)
    directory(folder, "lstm-classify", "lstm", "classify", pooling="max", bidirectional=True, mask="holes")
    directory(folder, "lstm-classify-last", "lstm", "classify", pooling="last", bidirectional=True, proj_size=3, bias=False)
    directory(folder, "rnn-tag", "rnn", "tag", bidirectional=True, bias=False)
    directory(folder, "gru-tag", "gru", "tag", mask="holes", layers=3)
    directory(folder, "lstm-tag", "lstm", "tag", bidirectional=True, outputs=5)
    directory(folder, "rnn-bare", "rnn", "bare", layers=3, mask="left")
    directory(folder, "gru-bare", "gru", "bare", bidirectional=True)
    directory(folder, "lstm-bare", "lstm", "bare", bidirectional=True, proj_size=2, mask=None)
