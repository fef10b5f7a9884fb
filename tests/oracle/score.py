"""Golden log-probabilities of texts: model/score.json, a list of calls with what log_softmax of transformers' logits sums to.

"prompt" is "" for a text alone; "bos": the bos token is put first. gpt2-options scores what follows the prompt, marian-options a
target given its source. Directories are those of generate_lm.py and generate_options.py, which must be made before.
"""
import json

import torch
from transformers import GPT2LMHeadModel, MarianMTModel, PreTrainedTokenizerFast

CALLS = [("", "gin pis kar man gen"), ("", "gin pis"), ("gin pis", " kar man"), ("gin pis", " man kar"), ("gin pis", " gen"),
         ("der ker ner ren ", "tes fis nir tis"), ("res bin fis kar man pan fis", " ner der"), ("", "fas fas fas der")]


def after(model, tokens, prompt, text, bos):
    ids, first = tokens(prompt + text)["input_ids"], len(tokens(prompt)["input_ids"]) if prompt else 0
    if bos:
        ids, first = [model.config.bos_token_id] + ids, first + 1
    first = max(first, 1)
    logs = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
    return sum(logs[i - 1, ids[i]].item() for i in range(first, len(ids))), len(ids) - first


def target(model, tokens, prompt, text):
    ids = tokens(text)["input_ids"]
    logits = model(torch.tensor([tokens(prompt)["input_ids"]]), labels=torch.tensor([ids])).logits[0]
    logs = torch.log_softmax(logits, -1)
    return sum(logs[i, token].item() for i, token in enumerate(ids)), len(ids)


def make(folder):
    made = []
    load = lambda kind, name: (kind.from_pretrained(folder / name).double().eval(),
                               PreTrainedTokenizerFast(tokenizer_file=str(folder / name / "tokenizer.json")))
    model, tokens = load(GPT2LMHeadModel, "gpt2-options")
    for bos in (False, True):
        for prompt, text in CALLS + ([("", "ker")] if bos else []):
            log, n = after(model, tokens, prompt, text, bos)
            made.append(dict(model="gpt2-options", prompt=prompt, text=text, bos=bos, log_probability=float(f"{log:.9g}"), tokens=n))
    model, tokens = load(MarianMTModel, "marian-options")
    for prompt, text in CALLS:
        if prompt:
            log, n = target(model, tokens, prompt, text)
            made.append(dict(model="marian-options", prompt=prompt, text=text, bos=False, log_probability=float(f"{log:.9g}"), tokens=n))
    path = folder / "score.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
    print(f"model/score.json: {len(made)} calls, {path.stat().st_size} bytes")
