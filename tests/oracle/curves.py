"""Golden loss curves of pre-training: make.py curves.

curves.json: for a model directory of tests/golden, batches as forward takes them and the losses that PyTorch finds before
each update, without dropout: by AdamW (weight decay of matrices alone, gradients clipped to norm 1) BERT with masked words
and next sentences, ELECTRA with its generator and given samples; by Adafactor T5 with sources and targets."""
import torchvision_ops  # noqa: F401, before transformers
import json

import torch
import transformers as hf

STEPS, RATE, DECAY = 6, 0.01, 0.1


ENCODER = ["hidden_dropout_prob", "attention_probs_dropout_prob"]


def open_model(kind, path, dropouts=ENCODER):
    return kind.from_pretrained(path, **dict.fromkeys(dropouts, 0), attn_implementation="eager").double()


def masked(words, rows, length):
    """Ids, a mask with padding, and labels of some of what counts."""
    ids, mask = torch.randint(1, words, (rows, length)), torch.ones(rows, length, dtype=torch.long)
    mask[1, -3:] = 0
    labels = torch.where((torch.rand(rows, length) < 0.4) & (mask == 1), torch.randint(1, words, (rows, length)), -100)
    labels[0, 1] = 1
    return dict(input_ids=ids, attention_mask=mask, labels=labels)


def bert(folder):
    model = open_model(hf.BertForPreTraining, folder.parent / "model" / "bert-pretrain")
    for _ in range(STEPS):
        batch = masked(model.config.vocab_size, 4, 7)
        batch["token_type_ids"] = torch.arange(7).repeat(4, 1).ge(torch.randint(2, 6, (4, 1))).long()
        batch["next_sentence_label"] = torch.randint(0, 2, (4,))
        yield model, batch, lambda b: model(**b).loss


def electra(folder):
    model = open_model(hf.ElectraForPreTraining, folder / "electra")
    generator = open_model(hf.ElectraForMaskedLM, folder / "electra" / "generator")
    generator.electra.embeddings = model.electra.embeddings
    generator.tie_weights()

    def loss(b):
        mask, labels = b["attention_mask"], b["labels"]
        replaced = ((labels >= 0) & (b["samples"] != labels)).long()
        of_words = generator(input_ids=b["input_ids"], attention_mask=mask, labels=labels).loss
        return of_words + 50 * model(input_ids=b["samples"], attention_mask=mask, labels=replaced).loss

    both = torch.nn.ModuleList([model, generator])
    for _ in range(STEPS):
        batch = masked(model.config.vocab_size, 3, 6)
        drawn = torch.where(torch.rand(3, 6) < 0.3, batch["labels"], torch.randint(1, model.config.vocab_size, (3, 6)))
        batch["samples"] = torch.where(batch["labels"] >= 0, drawn, batch["input_ids"])
        yield both, batch, loss


def t5(folder, name):
    model = open_model(hf.T5ForConditionalGeneration, folder.parent / "model" / name, ["dropout_rate"])
    for _ in range(STEPS):
        batch = masked(model.config.vocab_size, 3, 6)
        batch["labels"] = torch.randint(1, model.config.vocab_size, (3, 5))
        batch["labels"][2, -2:] = -100
        yield model, batch, lambda b: model(**b).loss


def optimizer_of(kind, params):
    if kind == "adafactor":  # whose first epsilon is by default that of the parameters' type
        return torch.optim.Adafactor(params, lr=RATE, eps=(torch.finfo(torch.float32).eps, 1e-3))
    return torch.optim.AdamW([{"params": [p for p in params if p.dim() > 1], "weight_decay": DECAY},
                              {"params": [p for p in params if p.dim() < 2], "weight_decay": 0}], lr=RATE)


def curve(name, task, steps, kind="adamw", dropouts=ENCODER):
    optimizer, batches, losses = None, [], []
    for model, batch, loss_of in steps:
        if optimizer is None:
            model.train()
            params = list(model.parameters())  # those that are shared once
            optimizer = optimizer_of(kind, params)
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        if kind == "adamw":
            torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        losses.append(loss.item())
        batches.append({key: {"shape": list(t.shape), "values": t.flatten().tolist()} for key, t in batch.items()})
    others = {"weight_decay": DECAY, "clip": 1} if kind == "adamw" else {"weight_decay": 0, "clip": 0}
    settings = [f"{key}=0" for key in dropouts]
    return {"model": name, "task": task, "optimizer": kind, "settings": settings, "lr": RATE, **others, "batches": batches, "losses": losses}


def make(folder):
    torch.manual_seed(9)
    cases = [curve("model/bert-pretrain", "pretrain", bert(folder)), curve("task/electra", "replaced", electra(folder)),
             curve("model/t5", "text2text", t5(folder, "t5"), "adafactor", ["dropout_rate"]),
             curve("model/t5-gated", "text2text", t5(folder, "t5-gated"), "adafactor", ["dropout_rate"])]
    (folder / "curves.json").write_text(json.dumps(cases) + "\n")
    for case in cases:
        print(f"{folder.name}/curves.json: {case['model']}: {' '.join(f'{x:.4f}' for x in case['losses'])}")
