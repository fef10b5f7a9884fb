"""Golden translations with the options of generation_config.json: several end tokens, repetition penalty, suppressed
tokens, lengths of new tokens, stop strings.

A model directory, marian-options, with a tokenizer of words, and model/generate_options.json, a list of calls like those
of generate.py. A call of {} gives generate no options: all of them come from the directory.
"""
import collections
import json

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GenerationConfig, MarianConfig, MarianMTModel, PreTrainedTokenizerFast

import generate
import golden
import seq2seq

PAD = 40  # the last token
SIZES = generate.FORCED | dict(forced_eos_token_id=None, d_model=12, encoder_ffn_dim=8, decoder_ffn_dim=8,
                               vocab_size=PAD + 1, pad_token_id=PAD, decoder_start_token_id=PAD)
ENDS = [0, 17, 33]
CONFIG = dict(decoder_start_token_id=PAD, pad_token_id=PAD, eos_token_id=ENDS, num_beams=3, num_return_sequences=2, length_penalty=0.7,
              early_stopping=True, max_new_tokens=19, min_new_tokens=4, no_repeat_ngram_size=3, repetition_penalty=1.3,
              suppress_tokens=[8, 9], begin_suppress_tokens=[10, 11], bad_words_ids=[[PAD], [12, 13]])
TOKENS = {key: CONFIG[key] for key in CONFIG if "token_id" in key or "suppress" in key or "words" in key}
CALLS = [dict(), dict(beams=1), dict(beams=4, n_best=4), dict(beams=2, min_length=7, max_length=20)]
CALLS += [dict(beams=beams, repetition_penalty=penalty, max_length=24) for beams in (1, 4) for penalty in (0.7, 1.2, 3.0)]
STOPPED = [dict(beams=1, max_length=30), dict(beams=3, n_best=2, max_length=30)]


def word(i):
    if i == PAD - 1:
        return "abcdef"  # what StopStringCriteria asks a tokenizer to encode
    return "bdfgklmnprst"[i % 12] + "aeiou"[i // 12 % 5] + "nrs"[i % 3]


def tokenizer():
    words = {"</s>": 0, "<unk>": 1} | {word(i): i for i in range(2, PAD)} | {"<pad>": PAD}
    assert len(words) == PAD + 1
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def target(source):
    """A task that is half learnt in seconds: words one by one, and an end that depends on them."""
    return [2 + (7 * token + i // 2) % (PAD - 3) for i, token in enumerate(source)] + [ENDS[sum(source) % 3]]


def learn(model, steps=900):
    """Random weights repeat themselves; a model that knows something says something. It is left in doubt, for the beams."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(steps):
        sources = [torch.randint(2, PAD - 1, (int(torch.randint(1, 12, ())),)).tolist() for _ in range(64)]
        fill = lambda rows, value: torch.tensor([row + [value] * (12 - len(row)) for row in rows])
        ids = fill(sources, PAD)
        loss = model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=fill(map(target, sources), -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.zero_grad()
    return loss.item()


def run(model, tokens, sources, call):
    config, width = model.config, max(map(len, sources))
    ids = torch.tensor([s + [PAD] * (width - len(s)) for s in sources])
    mask = torch.tensor([[1] * len(s) + [0] * (width - len(s)) for s in sources])
    given = dict(do_sample=False) if call else {}
    names = dict(beams="num_beams", n_best="num_return_sequences", stop="stop_strings")
    given |= {names.get(key, key): value for key, value in call.items()}
    if call:
        given.setdefault("max_length", config.max_position_embeddings)
    if "stop" in call:
        given["tokenizer"] = tokens
    out = model.generate(input_ids=ids, attention_mask=mask, return_dict_in_generate=True, output_scores=True, **given)
    n_best = call.get("n_best", 1) if call else CONFIG["num_return_sequences"]
    rows, ended = [], []
    for row in out.sequences.tolist():
        row = row[1:]
        while row and row[-1] == PAD:  # padding, which is never generated
            row.pop()
        at = next((i for i, token in enumerate(row) if token in ENDS), None)
        stopped = any(s in tokens.decode(row) for s in call.get("stop", []))
        ended.append(at is not None or stopped)
        rows.append(row if at is None else row[:at])
    scores = out.sequences_scores.tolist() if call.get("beams", 3) > 1 else [None] * len(rows)
    pack = lambda list_: [list_[i:i + n_best] for i in range(0, len(list_), n_best)]
    return pack(rows), pack(ended), pack(scores)


def cases(model, double, tokens, calls):
    for call in calls:
        sources, ids, ended, scores = [], [], [], []
        while len(sources) < generate.SOURCES:
            source = torch.randint(2, PAD - 1, (int(torch.randint(1, 12, ())),)).tolist()
            single, exact = (run(m, tokens, [source], call) for m in (model, double))
            hits = [any(s in tokens.decode(row) for s in call.get("stop", [])) for best in exact[0] for row in best]
            if single[:2] == exact[:2] and ("stop" not in call or any(hits) or len(sources) == 3):  # the last may have none
                sources.append(source)
                ids += exact[0]
                ended += exact[1]
                scores += exact[2]
        together = run(double, tokens, sources, call)
        assert together[:2] == (ids, ended), "a sentence depends on those it is batched with"
        yield dict(model="marian-options", call=call, source=sources, ids=ids, ended=ended,
                   scores=[[None if s is None else float(f"{s:.7g}") for s in row] for row in scores])


def stop_strings(model, tokens):
    """The end of a common token with the beginning of what follows it, and a whole common token."""
    sources = [torch.randint(2, PAD - 1, (6,)).tolist() for _ in range(12)]
    said = [run(model, tokens, [s], dict(beams=1, max_length=20))[0][0][0] for s in sources]
    pairs = collections.Counter((word(a), word(b)) for row in said for a, b in zip(row[1:], row[2:]) if 1 < a < PAD and 1 < b < PAD)
    words = collections.Counter(word(t) for row in said for t in row[2:] if 1 < t < PAD)
    (a, b), _ = next(pair for pair in pairs.most_common() if pair[0][0] != pair[0][1])
    return [a[-2:] + " " + b[:1], words.most_common()[2][0]]


def make(folder):
    golden.seed("marian-options")
    model = MarianMTModel(MarianConfig(**SIZES)).eval()
    print(f"marian-options: loss {learn(model):.3f}")
    path, tokens = folder / "marian-options", tokenizer()
    golden.save(path, model, seq2seq.inputs("marian-options", model.config))
    tokens.backend_tokenizer.save(str(path / "tokenizer.json"))
    model.generation_config = GenerationConfig(**CONFIG)
    model.generation_config.save_pretrained(path)
    model.float()
    double = MarianMTModel(model.config).eval()
    double.load_state_dict(model.state_dict())
    double.final_logits_bias = model.final_logits_bias.double()
    double.double()
    double.generation_config = model.generation_config
    torch.manual_seed(20)
    made = list(cases(model, double, tokens, CALLS[:1]))
    model.generation_config = double.generation_config = GenerationConfig(**TOKENS)  # calls give the others
    made += cases(model, double, tokens, CALLS[1:])
    stop = stop_strings(model, tokens)
    made += cases(model, double, tokens, [call | dict(stop=strings) for strings in (stop, stop[:1]) for call in STOPPED])
    path = folder / "generate_options.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
    print(f"model/generate_options.json: {len(made)} calls, {path.stat().st_size} bytes")
