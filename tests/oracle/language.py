"""Ten updates of a small GPT-2 by AdamW, on windows of a stream and on packed documents: the losses of PyTorch."""
import json

import torch
import transformers as hf

import golden

STEPS, BATCH, LENGTH = 10, 3, 8


def make(folder):
    golden.seed("language")
    model = hf.GPT2LMHeadModel.from_pretrained(folder.parent / "model" / "gpt2-lm", attn_implementation="eager")
    model = model.double().train()
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    decays = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    opt = torch.optim.AdamW([{"params": decays, "weight_decay": 0.1}, {"params": others, "weight_decay": 0}], lr=0.01,
                            betas=(0.9, 0.99))
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS, 0.001)
    steps = []
    for step in range(STEPS):
        ids = torch.randint(0, 20, (BATCH, LENGTH + 1))
        given = dict(input_ids=ids[:, :-1], shift_labels=ids[:, 1:].clone())
        if step % 2:  # every other batch is documents of different lengths
            cut = torch.randint(1, LENGTH, (BATCH, 1))
            place = torch.arange(LENGTH)[None].expand(BATCH, LENGTH)
            given["position_ids"] = torch.where(place < cut, place, place - cut)
            given["shift_labels"].scatter_(1, cut - 1, -100)
        loss = model(**given, labels=given["shift_labels"], use_cache=False).loss
        if step % 2:
            given["segment_ids"] = (place >= cut).long()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        plan.step()
        steps.append({name: value.flatten().tolist() for name, value in given.items()} | {"loss": loss.item()})
    text = json.dumps({"batch": BATCH, "length": LENGTH, "steps": steps}, indent=None, separators=(",", ":"))
    (folder / "language.json").write_text(text + "\n")
    print(f"task/language.json: {STEPS} steps, {len(text)} bytes")
