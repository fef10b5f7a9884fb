"""Golden loss curves of pre-training: make.py curves.

curves.json: for a model directory of tests/golden, batches as forward takes them and the losses that PyTorch finds before
each update by AdamW (weight decay of matrices alone, gradients clipped to norm 1), without dropout: BERT with masked words
and next sentences, ELECTRA with its generator and given samples."""
import json

import torch
import transformers as hf

STEPS, RATE, DECAY = 6, 0.01, 0.1


def open_model(kind, path):
    return kind.from_pretrained(path, hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="eager").double()


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


def curve(name, task, steps):
    optimizer, batches, losses = None, [], []
    for model, batch, loss_of in steps:
        if optimizer is None:
            model.train()
            params = list(model.parameters())  # those that are shared once
            optimizer = torch.optim.AdamW([{"params": [p for p in params if p.dim() > 1], "weight_decay": DECAY},
                                           {"params": [p for p in params if p.dim() < 2], "weight_decay": 0}], lr=RATE)
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        losses.append(loss.item())
        batches.append({key: {"shape": list(t.shape), "values": t.flatten().tolist()} for key, t in batch.items()})
    return {"model": name, "task": task, "lr": RATE, "weight_decay": DECAY, "clip": 1, "batches": batches, "losses": losses}


def make(folder):
    torch.manual_seed(9)
    cases = [curve("model/bert-pretrain", "pretrain", bert(folder)), curve("task/electra", "replaced", electra(folder))]
    (folder / "curves.json").write_text(json.dumps(cases) + "\n")
    for case in cases:
        print(f"{folder.name}/curves.json: {case['model']}: {' '.join(f'{x:.4f}' for x in case['losses'])}")
