"""Golden continuations of a decoder alone, with the options of generate.py and generate_options.py.

A model directory, gpt2-options, with a tokenizer of words, and model/generate_lm.json, a list of calls: "source" are
prompts, "ids" what follows them. A call of {} gives generate no options: all of them come from the directory.
"""
import json

import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

import generate
import generate_options
import golden
from generate_options import ENDS, PAD

SIZES = dict(vocab_size=PAD + 1, n_positions=40, n_embd=12, n_layer=2, n_head=3, n_inner=24, bos_token_id=PAD, eos_token_id=0)
CONFIG = dict(pad_token_id=PAD, bos_token_id=PAD, eos_token_id=ENDS, num_beams=3, num_return_sequences=2, length_penalty=0.7,
              early_stopping=True, max_new_tokens=12, min_new_tokens=4, no_repeat_ngram_size=3, repetition_penalty=1.3,
              suppress_tokens=[8, 9], begin_suppress_tokens=[10, 11], bad_words_ids=[[PAD], [12, 13], [20, 21, 22]])
TOKENS = {key: CONFIG[key] for key in CONFIG if "token_id" in key or "suppress" in key or "words" in key}
CALLS = [dict(), dict(beams=1, max_new_tokens=15), dict(beams=1, max_length=20), dict(beams=1, max_length=20, min_length=14)]
CALLS += [dict(beams=1, max_new_tokens=12, min_new_tokens=8), dict(beams=3, n_best=3, max_new_tokens=12, min_new_tokens=6)]
CALLS += [dict(beams=beams, n_best=2, max_length=24, length_penalty=penalty) for beams in (2, 4) for penalty in (0.6, 1.0, 2.0)]
CALLS += [dict(beams=3, max_new_tokens=14, early_stopping=stop, length_penalty=penalty) for stop in (True, "never") for penalty in (1.0, -1.0)]
CALLS += [dict(beams=beams, max_new_tokens=18, no_repeat_ngram=size) for beams in (1, 3) for size in (1, 2, 3)]
CALLS += [dict(beams=beams, max_new_tokens=16, repetition_penalty=penalty) for beams in (1, 3) for penalty in (0.7, 1.3, 3.0)]


def sentence(length):
    """Each token follows from the two before it, most of the time; the end is likelier after some tokens."""
    row = torch.randint(2, PAD - 1, (2,)).tolist()
    while len(row) < length:
        if row[-1] % 5 == 0 and torch.rand(()) < 0.5:
            return row + [ENDS[row[-2] % 3]]
        row.append(2 + (row[-1] + (row[-2] % 4 if torch.rand(()) < 0.6 else 7)) % (PAD - 3))
    return row


def learn(model, steps=700):
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    for _ in range(steps):
        rows = [sentence(16) for _ in range(48)]
        fill = lambda value: torch.tensor([row + [value] * (17 - len(row)) for row in rows])
        loss = model(input_ids=fill(PAD), labels=fill(-100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.zero_grad()
    return loss.item()


def run(model, prompts, call, pad=PAD, ends=ENDS):
    """Prompts together are padded on the left."""
    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    names = dict(beams="num_beams", n_best="num_return_sequences", no_repeat_ngram="no_repeat_ngram_size")
    given = dict(do_sample=False) if call else {}
    given |= {names.get(key, key): value for key, value in call.items()}
    out = model.generate(input_ids=ids, attention_mask=mask, return_dict_in_generate=True, output_scores=True, **given)
    n_best = call.get("n_best", 1) if call else CONFIG["num_return_sequences"]
    rows, ended = [], []
    for row in out.sequences.tolist():
        row = row[width:]
        while row and row[-1] == pad:  # padding, which is never generated
            row.pop()
        at = next((i for i, token in enumerate(row) if token in ends), None)
        ended.append(at is not None)
        rows.append(row if at is None else row[:at])
    scores = out.sequences_scores.tolist() if call.get("beams", 3) > 1 else [None] * len(rows)
    pack = lambda list_: [list_[i:i + n_best] for i in range(0, len(list_), n_best)]
    return pack(rows), pack(ended), pack(scores)


def cases(model, double, calls):
    for call in calls:
        prompts, ids, ended, scores = [], [], [], []
        while len(prompts) < generate.SOURCES:
            prompt = sentence(int(torch.randint(1, 11, ())))
            prompt = [token for token in prompt if token not in ENDS][int(torch.randint(0, 2, ())):] or [2]
            single, exact = (run(m, [prompt], call) for m in (model, double))
            if single[:2] == exact[:2]:
                prompts.append(prompt)
                ids += exact[0]
                ended += exact[1]
                scores += exact[2]
        if "max_new_tokens" in call and call.get("no_repeat_ngram", 0) != 1 and "repetition_penalty" not in call:
            together = run(double, prompts, call)  # padding is a repeated token too
            assert together[:2] == (ids, ended), "a prompt depends on those it is batched with"
        yield dict(model="gpt2-options", call=call, source=prompts, ids=ids, ended=ended,
                   scores=[[None if s is None else float(f"{s:.7g}") for s in row] for row in scores])


def make(folder):
    golden.seed("gpt2-options")
    model = GPT2LMHeadModel(GPT2Config(**SIZES, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))
    print(f"gpt2-options: loss {learn(model):.3f}")
    path, ids = folder / "gpt2-options", torch.randint(2, PAD, (2, 5))
    golden.save(path, model, dict(input_ids=ids, labels=ids))
    generate_options.tokenizer().backend_tokenizer.save(str(path / "tokenizer.json"))
    model.generation_config = GenerationConfig(**CONFIG)
    model.generation_config.save_pretrained(path)
    model.float()
    double = GPT2LMHeadModel(model.config).eval()
    double.load_state_dict(model.state_dict())
    double.double()
    double.generation_config = model.generation_config
    torch.manual_seed(21)
    made = list(cases(model, double, CALLS[:1]))
    model.generation_config = double.generation_config = GenerationConfig(**TOKENS)  # calls give the others
    made += cases(model, double, CALLS[1:])
    path = folder / "generate_lm.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
    print(f"model/generate_lm.json: {len(made)} calls, {path.stat().st_size} bytes")
