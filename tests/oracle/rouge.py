"""ROUGE by the package rouge_score: writes text/rouge.json, texts (lines are sentences) with all figures; and stems."""
import json

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

PAIRS = [
    ("The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog"),
    ("", "something"), ("something", ""), ("", ""), ("... !", "a"), ("a", "a"), ("a b a b a", "b a b"),
    ("Dogs were running happily.\nThe cat sat.", "A dog ran happy.\nCats sit on the mat.\nThe cat was running"),
    ("the cat\n\nthe dog the cat", "the dog\nthe cat sat\n"),
    ("w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"),
    ("ÜBER straße K İstanbul 3.5 naïve", "über STRASSE k istanbul 3 5 na ve"),
    ("日本語 2020 текст", "2020"),
    ("tied skies dying innings news exceed", "tie sky die inning new exceeded"),
    ("national relations conditionally adopted communism", "nation relate condition adoption commune"),
]
WORDS = """caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned falling hissing
fizzed failing filing happy sky enjoy spy relational conditional rational valency digitizer conformably radically differently vilely analogously
vietnamization predication operator feudalism decisiveness hopefulness callousness formality sensitivity sensibility triplicate formative formalize
electricity electrical hopeful goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent
adoption homologou communism activate angularity homologous effective bowdlerize probate rate cease controll roll skies dying innings proceed news howe
theology apology archaeologically wonderfully yyyy syzygy tied died cried flies dies 3rds x1ing""".split()


def make(folder):
    cases = []
    for hypothesis, reference in PAIRS:
        case = dict(hypothesis=hypothesis, reference=reference)
        for stem in (False, True):
            scores = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=stem).score(reference, hypothesis)
            case["stems" if stem else "words"] = {name: list(s) for name, s in scores.items()}
        cases.append(case)
    stemmer = PorterStemmer()
    stems = [[word, stemmer.stem(word)] for word in WORDS]
    (folder / "rouge.json").write_text(json.dumps(dict(cases=cases, stems=stems), ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"text/rouge.json: {len(cases)} cases, {len(stems)} stems")
