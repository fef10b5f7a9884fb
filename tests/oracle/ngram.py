"""tests/golden/text/ngram.json: n-gram models of a small text as KenLM's lmplz (which must be on the PATH) and nltk.lm
estimate them."""
import json
import pathlib
import random
import subprocess
import tempfile

from nltk.lm import KneserNeyInterpolated
from nltk.lm.preprocessing import padded_everygram_pipeline

HERE = pathlib.Path(__file__).resolve().parent


def lmplz(lines, order, *more):
    with tempfile.TemporaryDirectory() as folder:
        text, arpa = pathlib.Path(folder, "text"), pathlib.Path(folder, "arpa")
        text.write_text("\n".join(lines) + "\n")
        subprocess.run(
            ["lmplz", "-o", str(order), "-S", "40M", "--vocab_estimate", "1000", "-T", folder, "--text", text, "--arpa", arpa,
             "--discount_fallback", *more], check=True, capture_output=True)
        return arpa.read_text()


def main():
    rng = random.Random(5)
    words = "the a cat dog man saw liked old small and".split()
    lines = [" ".join(rng.choices(words, [1 / (i + 1) for i in range(len(words))], k=rng.randint(1, 9))) for _ in range(25)]
    model = KneserNeyInterpolated(3, discount=0.4)
    text, vocabulary = padded_everygram_pipeline(3, [line.split() for line in lines])
    model.fit(text, vocabulary)
    asked = [[rng.choice(words + ["</s>"]), [rng.choice(words) for _ in range(rng.randint(0, 2))]] for _ in range(40)]
    asked += [[word, ["<s>", "<s>"]] for word in words[:4]]
    golden = {
        "lines": lines,
        "lmplz": lmplz(lines, 3),
        "lmplz_pruned": lmplz(lines, 3, "--prune", "0", "1"),
        "nltk": [[word, context, model.score(word, context)] for word, context in asked],
    }
    (HERE.parent / "golden/text/ngram.json").write_text(json.dumps(golden, indent=0) + "\n")


if __name__ == "__main__":
    main()
