"""Tokenizers' lines: Python's `tokenizers` with the same files, which it has trained itself on Python's manual. One thread unless the line says two; a
floor of 0 is for lines that are only shown."""
import json
import os
import pydoc_data.topics
import random

FOLDER = None
KINDS = ("BPE", "byte-level BPE", "WordPiece", "Unigram", "WordLevel", "Llama 3's pattern")
LARGE = len(KINDS)  # the file of 128,000 tokens
TOKENS = 128000
MANY_ADDED = LARGE + 1  # added tokens of 4,000 lengths
LENGTHS = 4000
LOAD_SECONDS = 0.3


def share(folder):
    global FOLDER
    FOLDER = folder


def text():
    path = os.path.join(FOLDER, "text.txt")
    if not os.path.exists(path):
        with open(path, "w") as f:
            f.write("\n".join(pydoc_data.topics.topics.values()) + "\n")
    with open(path, newline="\n") as f:
        return f.read().split("\n")[:-1]


def build(kind):
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers as P, processors, trainers
    specials = ["<unk>", "<s>", "</s>"]
    common = dict(vocab_size=6000, special_tokens=specials, show_progress=False)
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
               r"|\s+(?!\S)|\s+")
    alphabet = P.ByteLevel.alphabet()
    model, trainer, normal, pre = (
        (models.BPE(unk_token="<unk>"), trainers.BpeTrainer(**common), None, P.Metaspace()),
        (models.BPE(), trainers.BpeTrainer(initial_alphabet=alphabet, **common), None, P.ByteLevel(False)),
        (models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer(**common), normalizers.BertNormalizer(), P.BertPreTokenizer()),
        (models.Unigram(), trainers.UnigramTrainer(unk_token="<unk>", **common), normalizers.NFKC(), P.Metaspace()),
        (models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(**common), normalizers.Lowercase(), P.Whitespace()),
        (models.BPE(), trainers.BpeTrainer(initial_alphabet=alphabet, **common), None,
         P.Sequence([P.Split(Regex(pattern), "isolated"), P.ByteLevel(False, use_regex=False)])),
    )[kind]
    t = Tokenizer(model)
    if normal: t.normalizer = normal
    t.pre_tokenizer = pre
    t.train_from_iterator(text(), trainer)
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    t.save(os.path.join(FOLDER, f"tokenizer-{kind}.json"))


def build_large():
    """Byte-level BPE whose merges are drawn: as many tokens and merges as Llama 3's file has."""
    from tokenizers import pre_tokenizers as P
    draw = random.Random(1)
    vocab, merges = {c: i for i, c in enumerate(sorted(P.ByteLevel.alphabet()))}, []
    names = list(vocab)
    while len(vocab) < TOKENS:
        a, b = draw.choice(names), draw.choice(names)
        if a + b in vocab or len(a + b) > 12: continue
        vocab[a + b] = len(vocab)
        names.append(a + b)
        merges.append([a, b])
    with open(os.path.join(FOLDER, f"tokenizer-{LARGE}.json"), "w") as f:
        json.dump({"version": "1.0", "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
                   "model": {"type": "BPE", "vocab": vocab, "merges": merges}}, f)


def build_added():
    """x, xx, xxx, ... as added tokens."""
    rows = [{"id": 2 + i, "content": "x" * (i + 1), "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
            for i in range(LENGTHS)]
    with open(os.path.join(FOLDER, f"tokenizer-{MANY_ADDED}.json"), "w") as f:
        json.dump({"version": "1.0", "added_tokens": rows, "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "y": 1}, "unk_token": "<unk>"}}, f)


def peer(kind):
    from tokenizers import Tokenizer
    path = os.path.join(FOLDER, f"tokenizer-{kind}.json")
    if not os.path.exists(path):
        build_large() if kind == LARGE else build(kind)
    return Tokenizer.from_file(path)


def tokens_offsets(_, __, kind):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    t, lines = peer(kind), text()
    return [("encode_batch", lambda: t.encode_batch(lines)), ("encode", lambda: [t.encode(line) for line in lines])]


def tokens_lines(_, __, kind):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    t, lines = peer(kind), text()
    return [("encode_batch_fast", lambda: t.encode_batch_fast(lines))]


def tokens_load(_, __, kind):
    from tokenizers import Tokenizer
    peer(kind)
    path = os.path.join(FOLDER, f"tokenizer-{kind}.json")
    return [("from_file", lambda: Tokenizer.from_file(path))]


def lines():
    for kind, name in enumerate(KINDS):
        yield f"tokens: {name}, with offsets", tokens_offsets, (0, 0, kind), (2,)
        yield f"tokens: {name}, ids of many lines", tokens_lines, (0, 0, kind), (2, 3)
    yield f"tokens: loading {TOKENS} tokens", tokens_load, (0, 0, LARGE), (1 / 0.6,)


def extras(worker, failed):
    """What has no peer's time: two threads against one, the seconds of loading, and long lines twice as long."""
    import math
    for kind, name in enumerate(KINDS):
        peer(kind)
        one = two = math.inf
        for _ in range(8):
            one = min(one, worker.best("tokens_lines", (0, 0, kind), 1, 0.3)[0])
            two = min(two, worker.best("tokens_lines", (0, 0, kind), 2, 0.3)[0])
        print(f"  tokens: {name}, many lines: {one / two:.2f} times as fast on 2 threads (at least 1.8)", flush=True)
        if one < 1.8 * two: failed.append(f"tokens: {name}: {one / two:.2f} times as fast on 2 threads < 1.8")
    peer(LARGE)
    seconds = min(worker.best("tokens_load", (0, 0, LARGE), 1, 0.5)[0] for _ in range(4)) / 1e3
    print(f"  tokens: loading {TOKENS} tokens: {seconds:.3f} s (at most {LOAD_SECONDS})", flush=True)
    if seconds > LOAD_SECONDS: failed.append(f"tokens: loading {TOKENS} tokens takes {seconds:.3f} s")
    build_added()
    for what, title, size, kinds in ((0, "one line of 10 MB", 10_000_000, range(len(KINDS))), (1, "200 KB of combining marks", 200_000, (2, 3)),
                                     (2, f"added tokens of {LENGTHS} lengths, 1 MB", 1_000_000, (MANY_ADDED,))):
        for kind in kinds:
            half, (whole, peak) = worker.best("tokens_long", (size // 2, what, kind), 1, 0), worker.best("tokens_long", (size, what, kind), 1, 0)
            half = min(half[0], worker.best("tokens_long", (size // 2, what, kind), 1, 0)[0])
            whole = min(whole, worker.best("tokens_long", (size, what, kind), 1, 0)[0])
            name = KINDS[kind] if kind < len(KINDS) else "WordLevel"
            print(f"  tokens: {title}, {name}: {whole:.0f} ms, {whole / half:.2f} times that of half (at most 3)", flush=True)
            if whole > 3 * half: failed.append(f"tokens: {title}, {name}: {whole / half:.2f} times the time of half")
