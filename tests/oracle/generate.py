"""Golden translations: the tokens and scores of transformers' generate, greedy and by beams.

One model directory more, marian-forced, whose config forbids some runs of tokens and forces the last one; and
model/generate.json, a list of calls with their options, sources, tokens (without start, end and padding) and scores. A
source counts only when the model in double and in single precision gives the same tokens: the rest would test luck.
"""
import collections
import copy
import json

import torch
from transformers import MarianConfig, MarianMTModel

import golden
import seq2seq

SOURCES = 4  # of a call
FORCED = dict(vocab_size=61, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4,
              encoder_ffn_dim=20, decoder_ffn_dim=12, pad_token_id=60, eos_token_id=0, decoder_start_token_id=60,
              forced_eos_token_id=0, max_position_embeddings=64, scale_embedding=True, activation_function="relu")
BAD_TOKENS = [[60], [7], [0]]  # and the runs that the model likes best
CALLS = [dict(beams=1), dict(beams=1, max_length=7), dict(beams=1, no_repeat_ngram=2), dict(beams=1, min_length=12, max_length=20),
         dict(beams=2), dict(beams=2, no_repeat_ngram=3, n_best=2), dict(beams=5, max_length=9, n_best=5), dict(beams=5, max_length=2)]
CALLS += [dict(beams=beams, length_penalty=penalty, n_best=2) for beams in (2, 5) for penalty in (0.6, 1.0, 2.0)]
CALLS += [dict(beams=5, length_penalty=penalty, early_stopping=stop, max_length=24) for penalty in (0.0, 1.0, -1.0) for stop in (True, "never")]
CALLS += [dict(beams=5, no_repeat_ngram=1, max_length=12, n_best=3), dict(beams=3, min_length=6, max_length=16, n_best=3)]
CALLS += [dict(beams=5, n_best=5), dict(beams=4, n_best=4, length_penalty=0.6)]
CALLS += [dict(beams=2, min_length=length, n_best=2) for length in (2, 3, 4, 5)]


def favourites(model):
    """The commonest run of two tokens, and of three without it, in what the model says while both are allowed."""
    sources = torch.randint(2, model.config.vocab_size - 1, (20, 6)).tolist()
    said = [row[0] for row in generate(model, sources, dict(beams=3), rules_of(model, BAD_TOKENS))[0]]
    runs = []
    for size in (2, 3):
        count = collections.Counter(tuple(row[i:i + size]) for row in said for i in range(len(row) - size + 1))
        new = [list(run) for run, _ in count.most_common() if not any(r in (list(run[:2]), list(run[1:])) for r in runs)]
        runs += new[:1]
    return runs


def forced(folder):
    golden.seed("marian-forced")
    model = seq2seq.lively(MarianMTModel(MarianConfig(**FORCED)).eval(), end=2)
    words = BAD_TOKENS + favourites(model)
    path = folder / "marian-forced"
    golden.save(path, model, seq2seq.inputs("marian-forced", model.config))
    config = json.loads((path / "config.json").read_text())  # where the directories of older releases have it
    (path / "config.json").write_text(json.dumps(config | {"bad_words_ids": words}, indent=2) + "\n")
    model.float()
    return model, rules_of(model, words)


def rules_of(model, bad_words):
    return dict(bad_words_ids=bad_words, forced_eos_token_id=model.config.forced_eos_token_id)


def generate(model, sources, call, rules):
    """rules: given to generate; empty: transformers takes those of the directory."""
    config, eos = model.config, model.generation_config.eos_token_id
    width = max(map(len, sources))
    ids = torch.tensor([s + [config.pad_token_id] * (width - len(s)) for s in sources])
    mask = torch.tensor([[1] * len(s) + [0] * (width - len(s)) for s in sources])
    n_best = call.get("n_best", 1)
    out = model.generate(input_ids=ids, attention_mask=mask, do_sample=False, num_beams=call["beams"], num_return_sequences=n_best,
                         length_penalty=call.get("length_penalty", 1.0), early_stopping=call.get("early_stopping", False),
                         max_length=call.get("max_length") or config.max_position_embeddings, min_length=call.get("min_length", 0),
                         no_repeat_ngram_size=call.get("no_repeat_ngram", 0), return_dict_in_generate=True, output_scores=True, **rules)
    tokens = []
    for row in out.sequences.tolist():
        row = row[1:]
        tokens.append(row[:row.index(eos) + 1] if eos in row else row)
    scores = out.sequences_scores.tolist() if call["beams"] > 1 else [None] * len(tokens)
    ended = [row[-1] == eos for row in tokens]
    if not all(ended):  # padding behind a row that max_length cut: there is none, all rows are full
        assert all(len(row) == out.sequences.shape[1] - 1 for row, e in zip(tokens, ended) if not e)
    pack = lambda rows: [rows[i:i + n_best] for i in range(0, len(rows), n_best)]
    return pack([row[:-1] if e else row for row, e in zip(tokens, ended)]), pack(ended), pack(scores)


def cases(name, model, rules, calls=CALLS):
    double = copy.deepcopy(model).double()
    torch.manual_seed(len(name))
    for call in calls:
        sources, ids, ended, scores = [], [], [], []
        while len(sources) < SOURCES:
            source = torch.randint(2, model.config.vocab_size - 1, (int(torch.randint(1, 12, ())),)).tolist()
            single, exact = (generate(m, [source], call, rules) for m in (model, double))
            if single[:2] == exact[:2]:
                sources.append(source)
                ids += exact[0]
                ended += exact[1]
                scores += exact[2]
        together = generate(double, sources, call, rules)
        assert together[:2] == (ids, ended), "a sentence depends on those it is batched with"
        yield dict(model=name, call=call, source=sources, ids=ids, ended=ended,
                   scores=[[None if s is None else float(f"{s:.7g}") for s in row] for row in scores])


def make(folder):
    made = []
    for name in ("marian-shared", "marian-apart"):
        model = MarianMTModel.from_pretrained(folder / name).eval()
        made += cases(name, model, rules_of(model, None))
    made += cases("marian-forced", *forced(folder))
    for name in ("bart", "mbart", "pegasus"):
        made += cases(name, seq2seq.kind(name)[1].from_pretrained(folder / name).eval(), {})
    path = folder / "generate.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
    print(f"model/generate.json: {len(made)} calls, {path.stat().st_size} bytes")
