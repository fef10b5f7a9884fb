"""Loss curves of transformers' T5 from the golden directories: task/text2text.json, batches and the loss before each update."""
import json

import torch
import transformers as hf

import golden

STEPS, ROWS, SOURCE, TARGET = 8, 4, 9, 7
KEYS = dict(lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)


def batches(words):
    for _ in range(STEPS):
        ids, labels = torch.randint(2, words, (ROWS, SOURCE)), torch.randint(2, words, (ROWS, TARGET))
        mask = torch.ones_like(ids)
        mask[1, 6:], ids[1, 6:], labels[2, 4:] = 0, 0, -100
        yield dict(input_ids=ids, attention_mask=mask, labels=labels)


def curve(path):
    """Weight decay is for matrices, not for norms; no dropout."""
    golden.seed(path.name + " curve")
    model = hf.T5ForConditionalGeneration.from_pretrained(path).eval().double()
    matrices = [p for p in model.parameters() if p.dim() > 1]
    optimizer = torch.optim.AdamW([dict(params=matrices), dict(params=[p for p in model.parameters() if p.dim() == 1], weight_decay=0.0)], **KEYS)
    steps = []
    for batch in batches(model.config.vocab_size):
        loss = model(**batch).loss
        steps.append({name: t.flatten().tolist() for name, t in batch.items()} | dict(loss=loss.item()))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return dict(model=path.name, rows=ROWS, source=SOURCE, target=TARGET, steps=steps)


def make(folder):
    models = folder.parent / "model"
    curves = [curve(models / name) for name in ("t5", "t5-gated")]
    path = folder / "text2text.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in curves) + "\n]\n")
    print(f"task/text2text.json: {len(curves)} curves, {path.stat().st_size} bytes")
