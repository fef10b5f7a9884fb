"""Word vectors beside gensim and n-grams beside the kenlm package, one thread each, on a text drawn by Zipf's law. What is not installed is left out,
which is said."""
import os

import numpy

from encoders import missing

KINDS, SENTENCES, WORDS = 20000, 25000, 20
WORKER, FOLDER = None, None


def share(worker, folder):
    global WORKER, FOLDER
    WORKER, FOLDER = worker, folder


def text():
    """Each word is often one of a few that follow the word before it: n-grams of all orders are met again."""
    path = os.path.join(FOLDER, "zipf.txt")
    if not os.path.exists(path):
        draw = numpy.random.default_rng(1)
        share_of = 1 / numpy.arange(1, KINDS + 1)
        drawn = draw.choice(KINDS, (SENTENCES, WORDS), p=share_of / share_of.sum())
        follows = (drawn[:, :-1] * 31 + draw.integers(0, 4, (SENTENCES, WORDS - 1)) * 7919) % KINDS
        drawn[:, 1:] = numpy.where(draw.random((SENTENCES, WORDS - 1)) < 0.5, follows, drawn[:, 1:])
        with open(path, "w") as f:
            f.writelines(" ".join(f"w{i}" for i in row) + "\n" for row in drawn)
    return path


def words_epoch(_, width, cbow):
    from gensim.models import Word2Vec
    sentences = [line.split() for line in open(text())]

    def run():
        Word2Vec(sentences, vector_size=width, sg=1 - cbow, workers=1, epochs=1)
    return [("gensim", run)]


def ngram_score(sentences, order, kinds):
    import kenlm
    text()
    WORKER.best("ngram_score", (sentences, order, kinds), 1, 0)  # writes the ARPA file, and the score
    model = kenlm.Model(os.path.join(FOLDER, "zipf.arpa"))
    lines = [line.rstrip("\n") for line in open(text())]
    ours, theirs = float(open(os.path.join(FOLDER, "zipf.score")).read()), sum(map(model.score, lines))
    if abs(ours - theirs) > 1e-5 * abs(theirs):
        raise SystemExit(f"bench: n-grams score {ours}, kenlm {theirs}")

    def run():
        for line in lines:
            model.score(line)
    return [("kenlm", run)]


def lines():
    if not missing("gensim"):
        yield "word2vec skip-gram, an epoch of 500,000 words", words_epoch, (0, 100, 0), (1,)
        yield "word2vec CBOW, an epoch of 500,000 words", words_epoch, (0, 100, 1), (1,)
    if not missing("kenlm"):
        yield "n-grams of order 5, 25,000 sentences scored", ngram_score, (SENTENCES, 5, KINDS), (1,)
