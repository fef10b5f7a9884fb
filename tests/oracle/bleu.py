"""BLEU and chrF by sacreBLEU 2.6.0: writes text/bleu.json.

    python bleu.py [DIRECTORY [MULTI30K]]

Every case holds hypotheses, sets of references, and all figures. With the directory of Multi30k it also writes
text/bleu_multi30k.json: figures of its files held against each other, and no text.
"""
import gzip
import json
import pathlib
import sys

from sacrebleu.metrics import BLEU, CHRF

HYPOTHESES = {
    "english": ["The cat sat on the mat .", "It cost $3.50, i.e. 2,000 pence; didn't it?", "A well-known 3-4 win."],
    "german": ["Der Hund läuft über die Straße.", "„Guten Tag“, sagte sie – und ging.", "Das Fenster ist offen ."],
    "french": ["L'eau est « froide » aujourd'hui !", "Il y a 1 500 élèves, etc.", "Où est-ce ?"],
    "other": ["ΟΔΟΣ ΣΟΦΟΣ. Привет, мир!", "日本語のテキスト、です。", "x² + y² = ½ €5 😀 2020。"],
    "marks": ["&quot;a&quot; &amp; &lt;b&gt; &amp;lt; <skipped>c", "a.b,c 1.5 .5 5. 1-2 a-1 1-a _x_ ^y~", "(hi) hi) (hi !? -- ..."],
    "spaces": ["  two  words\u00a0hard\u2003wide ", "\ttab\x1cunit", "2020. "],
}
REFERENCES = {
    "english": [["The cat is sitting on the mat.", "It was $3.50, i.e. 2,000 pence, wasn't it?", "A well-known 3-5 win!"],
                ["A cat sat on a mat.", "It cost 3.50 $; didn't it?", "A famous win of 3-4."]],
    "german": [["Ein Hund läuft über die Straße.", "„Guten Abend“, sagte sie, und ging.", "Das Fenster ist offen."]],
    "french": [["L'eau est «froide» aujourd'hui!", "Il y a 1 500 élèves etc.", "Où est-ce que c'est ?"],
               ["l'EAU EST froide", "Il y avait 1500 élèves.", ""],
               ["Aujourd'hui l'eau est très froide !", "Il y a mille cinq cents élèves, etc.", "Où est-ce ?"]],
    "other": [["οδος σοφος. Привет мир!", "日本語のテキストです。", "x² + y² = ½ € 5 😀 2020 。"]],
    "marks": [["\"a\" & <b> < c", "a.b, c 1.5 0.5 5. 1 - 2 a-1 1-a x ^ y ~", "( hi ) hi) (hi) !? -- ..."]],
    "spaces": [["two words hard wide", "tab unit", "2020."]],
}
CASES = [(name, HYPOTHESES[name], REFERENCES[name]) for name in HYPOTHESES] + [
    ("empty lines", ["", "a b c d e", ""], [["x y", "a b c d f", ""]]),
    ("all empty", ["", ""], [["a b", "c"]]),
    ("no reference", ["a b", "c"], [["", ""]]),
    ("nothing at all", [""], [[""]]),
    ("no match", ["a b c d e"], [["v w x y z"]]),
    ("short", ["a b c"], [["a b c"]]),
    ("one word", ["a"], [["a"]]),
    ("unigrams only", ["a x b y c"], [["a b c d e"]]),
    ("clipping", ["the the the the the"], [["the cat the"], ["the the dog the"]]),
    ("nearest length", ["a b c d e"], [["a b c"], ["a b c d e f g"], ["a b c d e f g h"]]),
    ("longer", ["a b c d e f g h"], [["a b c d"]]),
    ("many", [f"line {i} has the number {i * i} and the end." for i in range(40)],
     [[f"line {i} has number {i * i % 7}, and an end." for i in range(40)]]),
]


def figures(hypothesis, references):
    out = {"bleu": [], "chrf": []}
    for tokens in ("13a", "intl", "none"):
        for lower in (False, True):
            metric = BLEU(tokenize=tokens, lowercase=lower, force=True)
            b = metric.corpus_score(hypothesis, references)
            out["bleu"].append({
                "tokens": tokens, "lower": lower, "score": b.score, "precisions": b.precisions, "brevity": b.bp,
                "hypothesis": b.sys_len, "reference": b.ref_len, "signature": metric.get_signature().format(),
            })
    for order in (0, 2):
        metric = CHRF(word_order=order)
        score = metric.corpus_score(hypothesis, references).score
        out["chrf"].append({"order": order, "score": score, "signature": metric.get_signature().format()})
    return out


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    cases = [{"name": n, "hypothesis": h, "references": r} | figures(h, r) for n, h, r in CASES]
    (folder / "bleu.json").write_text(json.dumps({"cases": cases}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"text/bleu.json: {len(cases)} cases")


PAIRS = [  # hypothesis, references
    ("val.lc.norm.tok.de", ["val.de"]),
    ("test_2016_flickr.lc.norm.tok.en", ["test_2016_flickr.en"]),
    ("test_2016_flickr.en", ["test_2016_flickr.lc.norm.tok.en", "test_2016_flickr.de"]),
    ("test_2017_flickr.fr", ["test_2016_flickr.fr"]),
]


def make_multi30k(folder, data):
    def lines(name):
        return gzip.open(data / f"{name}.gz", "rt", encoding="utf-8", newline="\n").read().removesuffix("\n").split("\n")

    cases = [{"name": h, "files": r} | figures(lines(h), [lines(x) for x in r]) for h, r in PAIRS]
    (folder / "bleu_multi30k.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n", "utf-8")
    print(f"text/bleu_multi30k.json: {len(cases)} cases")


if __name__ == "__main__":
    golden = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "golden"
    make(golden / "text")
    if len(sys.argv) > 2:
        make_multi30k(golden / "text", pathlib.Path(sys.argv[2]))
