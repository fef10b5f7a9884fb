"""Golden files of questions: make.py questions.

windows.json: questions and contexts as windows, by transformers' tokenizers (truncation="only_second", stride,
return_overflowing_tokens) with tokenizers of text/pipelines.json, and where the answer stands in each, as run_qa's
prepare_train_features has it. squad.json: answers compared by the functions of SQuAD's official script, version 2.0.
All text here is our own."""
import collections
import json
import pathlib
import re
import string

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

CONTEXT = ("The river is 120 km long; in 2016 it was 16 m wide.\nZwei Vögel fliegen über den Fluss, über die alte Brücke "
           "und über die Stadt. The cat doesn't like the river; the cat likes the warm window-sill.")
QUESTIONS = [("How long is the river?", "120 km"), ("Was mag die Katze?", "the warm window-sill"),
             ("Who flies?", "Zwei Vögel"), ("What does it not like?", ""), ("", "The river"), ("end", "sill.")]
ANSWERS = ["", "the cat", "The Cat!", "a cat, an owl", "cat", "  the  warm\twindow-sill ", "window sill", "Vögel", "VÖGEL",
           "theatre", "l’a b", "a", "an the", "16 m", "16m", "cat cat dog", "cat dog dog", "\u00a0x\u2003y", "under_score"]


def normalize(s):  # as the official script
    s = s.lower()
    s = "".join(ch for ch in s if ch not in set(string.punctuation))
    s = re.compile(r"\b(a|an|the)\b", re.UNICODE).sub(" ", s)
    return " ".join(s.split())


def f1(gold, said):
    gold, said = normalize(gold).split(), normalize(said).split()
    same = sum((collections.Counter(gold) & collections.Counter(said)).values())
    if len(gold) == 0 or len(said) == 0:
        return int(gold == said)
    if same == 0:
        return 0
    precision, recall = same / len(said), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def windows(folder):
    files = {case["name"]: case["tokenizer"] for case in json.loads((folder / "text/pipelines.json").read_text())}
    cases = []
    for name in ("bert", "bert-cased", "roberta"):
        t = Tokenizer.from_str(files[name])
        t.no_truncation()
        t.no_padding()
        fast = PreTrainedTokenizerFast(tokenizer_object=t)
        for longest, stride in ((400, 128), (60, 20), (48, 5)):
            for question, answer in QUESTIONS:
                start = CONTEXT.index(answer) if answer else 0
                e = fast(question, CONTEXT, truncation="only_second", max_length=longest, stride=stride,
                         return_overflowing_tokens=True, return_offsets_mapping=True, return_token_type_ids=True)
                rows = []
                for i, ids in enumerate(e["input_ids"]):
                    context = [k for k, s in enumerate(e.sequence_ids(i)) if s == 1]
                    offsets, at = e["offset_mapping"][i], [0, 0]
                    first, last = context[0], context[-1]
                    if answer and offsets[first][0] <= start and offsets[last][1] >= start + len(answer):
                        at = [max(k for k in context if offsets[k][0] <= start),
                              min(k for k in context if offsets[k][1] >= start + len(answer))]
                    rows.append({"ids": ids, "types": e["token_type_ids"][i], "start": at[0], "end": max(at)})
                cases.append({"name": name, "longest": longest, "stride": stride, "question": question,
                              "answer": answer, "windows": rows})
    return {"context": CONTEXT, "cases": cases}


def make(folder):
    folder = pathlib.Path(folder)
    squad = {"texts": [[a, normalize(a)] for a in ANSWERS], "f1": [[f1(a, b) for b in ANSWERS] for a in ANSWERS]}
    for name, cases in (("windows", windows(folder.parent)), ("squad", squad)):
        (folder / f"{name}.json").write_text(json.dumps(cases, ensure_ascii=False) + "\n")
