"""Golden files of tagged words: make.py tags.

words.json: words encoded one by one (is_pretokenized) by tokenizers of text/pipelines.json, as transformers'
tokenizer(words, is_split_into_words=True) does; `prefix_space`: with add_prefix_space set. chunks.json: random sequences
of tags and the figures that seqeval finds. All text here is our own."""
import json
import pathlib
import random

from seqeval.metrics import f1_score, precision_score, recall_score
from tokenizers import Tokenizer

SENTENCES = [
    ["The", "river", "bank", "is", "1.5", "km", "long", "."],
    ["don't", "café", "Brücke", "x-y", "", "running", "🙂", "\u200b", "over"],
    [" leading", "trailing ", "New York", "<s>", "[SEP]", "aaaa"],
    ["banana"],
    ["", " "],
]
KINDS = ["bert", "bert-cased", "roberta", "gpt", "llama", "unigram", "albert"]


def prefixed(text):
    """The same file with add_prefix_space wherever it can be set."""
    def visit(at):
        if isinstance(at, dict):
            return {k: True if k == "add_prefix_space" else visit(v) for k, v in at.items()}
        return [visit(v) for v in at] if isinstance(at, list) else at
    return json.dumps(visit(json.loads(text)))


def words(folder):
    files = {case["name"]: case["tokenizer"] for case in json.loads((folder / "text/pipelines.json").read_text())}
    cases = []
    for name in KINDS:
        for prefix in (False, True) if name in ("roberta", "gpt") else (False,):
            t = Tokenizer.from_str(prefixed(files[name]) if prefix else files[name])
            t.no_truncation()
            t.no_padding()
            for sentence in SENTENCES:
                e = t.encode(sentence, is_pretokenized=True)
                cases.append({"name": name, "prefix_space": prefix, "words": sentence, "ids": e.ids,
                              "word_ids": [-1 if w is None else w for w in e.word_ids]})
    return cases


def chunks():
    draw = random.Random(7)
    cases = []
    for scheme in ("BI", "BIES", "I", "BI", "BIES"):
        names = sorted(["O"] + [f"{c}-{kind}" for c in scheme for kind in ("PER", "LOC", "A-B")])
        truth = [[draw.choice(names) if draw.random() < 0.6 else "O" for _ in range(draw.randint(1, 12))] for _ in range(40)]
        said = [[tag if draw.random() < 0.7 else draw.choice(names) for tag in one] for one in truth]
        cases.append({"names": names, "truth": [[names.index(t) for t in one] for one in truth],
                      "said": [[names.index(t) for t in one] for one in said], "f1": f1_score(truth, said),
                      "precision": precision_score(truth, said), "recall": recall_score(truth, said)})
    return cases


def make(folder):
    folder = pathlib.Path(folder)
    for name, cases in (("words", words(folder.parent)), ("chunks", chunks())):
        (folder / f"{name}.json").write_text(json.dumps(cases, ensure_ascii=False, indent=0) + "\n")
