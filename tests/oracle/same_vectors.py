"""Compares the vectors of `heed embed` with those of sentence-transformers: same_vectors.py HEED DIR TEXTS [COUNT] [LONGEST]

TEXTS has a text a line; COUNT of them (1000) are made by joining neighbouring lines, so that lengths go evenly from one
line up to more than LONGEST tokens (the directory's own maximum, where it is not given). Prints the largest difference
of any number of a vector; the exit status is 1 when it is above 1e-5."""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from sentence_transformers import SentenceTransformer


def texts_of(path, count, longest, tokenizer):
    draw = random.Random(1)
    lines = [" ".join(line.split()) for line in open(path, encoding="utf-8") if line.strip()]
    for _ in range(count):
        want, text, at = draw.randint(1, longest + 20), "", draw.randrange(len(lines))
        while not text or len(tokenizer.tokenize(text)) < want:
            text = f"{text} {lines[at % len(lines)]}".strip()
            at += 1
        yield " ".join(text.split()[:max(1, int(want * 0.8))])


def main():
    heed, source, path = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder) / "model"
        shutil.copytree(source, directory)
        if len(sys.argv) > 5:
            limits = directory / "sentence_bert_config.json"
            limits.write_text(json.dumps({**json.loads(limits.read_text()), "max_seq_length": int(sys.argv[5])}))
        model = SentenceTransformer(str(directory), device="cpu")
        texts = list(texts_of(path, count, model.max_seq_length, model.tokenizer))
        lengths = [len(model.tokenizer.tokenize(t)) + 2 for t in texts]
        want = model.encode(texts, batch_size=16)
        out = pathlib.Path(folder) / "vectors.npy"
        subprocess.run([heed, "embed", str(directory), "--out", str(out)], input="\n".join(texts) + "\n", text=True,
                       check=True)
        found = np.load(out)
        differences = np.abs(found - want).max(axis=1)
        print(f"{count} texts of {min(lengths)} to {max(lengths)} tokens, at most {model.max_seq_length} of which count: "
              f"largest difference {differences.max():.3g}")
        sys.exit(not (found.shape == want.shape and differences.max() <= 1e-5))


main()
