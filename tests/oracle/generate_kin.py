"""Golden continuations of LLaMA's kin, by the models of models.py: model/generate_kin.json, as generate_lm.json is.

llama-dynamic and phi3-long are continued beyond the length where their scalings begin.
"""
import json

import torch
import transformers as hf

import generate
import generate_lm

PAD, END, WORDS, LONGEST = 0, 2, 17, 12
MODELS = ["gemma2-lm", "gpt_neox-lm", "llama-dynamic", "llama-tied", "mistral-lm", "phi3-long", "qwen2-lm", "qwen3-lm"]
CALLS = [dict(beams=1, max_length=LONGEST), dict(beams=3, n_best=2, max_length=LONGEST, length_penalty=0.7),
         dict(beams=2, max_new_tokens=6, min_new_tokens=4)]


def run(model, prompts, call):
    return generate_lm.run(model, prompts, call, PAD, [END])


def load(path, dtype, **keys):
    """A model of its own for every call: dynamic scaling remembers the longest sequence."""
    model = hf.AutoModelForCausalLM.from_pretrained(path, dtype=dtype).eval()
    model.generation_config = hf.GenerationConfig(pad_token_id=PAD, bos_token_id=1, eos_token_id=END, **keys)
    return model


def cases(path):
    apart = path.name in ("llama-dynamic", "phi3-long", "gemma2-lm")  # the longest of a batch counts; no number if padded
    for call in CALLS:
        prompts, ids, ended, scores = [], [], [], []
        while len(prompts) < generate.SOURCES:
            prompt = torch.randint(3, WORDS, (int(torch.randint(1, 6, ())),)).tolist()
            single = run(load(path, torch.float32, suppress_tokens=[PAD]), [prompt], call)
            exact = run(load(path, torch.float64), [prompt], call)
            if single[:2] == exact[:2]:  # and no padding is generated
                prompts.append(prompt)
                ids, ended, scores = ids + exact[0], ended + exact[1], scores + exact[2]
        if "max_new_tokens" in call and not apart:
            together = run(load(path, torch.float64), prompts, call)
            assert together[:2] == (ids, ended), "a prompt depends on those it is batched with"
        yield dict(model=path.name, call=call, source=prompts, ids=ids, ended=ended,
                   scores=[[None if s is None else float(f"{s:.7g}") for s in row] for row in scores])


def make(folder):
    torch.manual_seed(22)
    made = [case for name in MODELS for case in cases(folder / name)]
    path = folder / "generate_kin.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
    print(f"model/generate_kin.json: {len(made)} calls, {path.stat().st_size} bytes")
