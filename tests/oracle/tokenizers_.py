"""Golden files of the tokenizers and of Unicode: python tokenizers_.py HEED [directory].

tokenizers.json holds two lists of cases, each with a whole tokenizer.json as text, and what Python's `tokenizers`
makes of varied text with it. `python`: tokenizers that Python trained and wrote, for heed to read. `heed`: tokenizers
that the command HEED trained on `corpus` with `arguments`, which heed must write again to the byte, and which Python
opened. `trained` holds the vocabularies that Python's own trainers learn from the corpus. unicode.json holds spans of
characters by property and their lower case, as Python knows them. All text here is our own."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = """\
A small dog runs along the river bank, and the dog's owner runs behind it.
The cat doesn't like the river; the cat likes the warm window-sill.
Two birds fly over the river, over the old bridge and over the town.
Der kleine Hund läuft am Flussufer entlang, und der Besitzer läuft hinterher.
Die Katze mag den Fluß nicht; die Katze mag die warme Fensterbank.
Zwei Vögel fliegen über den Fluss, über die alte Brücke und über die Stadt.
Un café noir, s'il vous plaît, près de l'église: ça coûte 3,50 €.
The river is 120 km long, 15 m wide and 1.5 m deep; in 2016 it was 16 m wide.
running runner runs ran; läuft lief gelaufen; over overhead overland
aaaa aaa aa a aaaaa banana bananas anana
"""

TEXTS = [
    "", " ", "  ", "a", " a", "a ", "  a  b  ", "the river", "The River BANK", "the  river   bank ", "\tthe\triver\t",
    "the\u00a0river\u2003bank\u3000town", "river-bank window-sill - -- a-b-", "don't we're I'LL it's 'tis 'sd 've 'x",
    "über die Brücke", "u\u0308ber A\u030angstro\u0308m \u1e9b\u0323 ﬁne ½ ² Ⅷ ㎞", "İSTANBUL ΣΊΣΥΦΟΣ ǅ ẞ",
    "🙂 dogs 👩‍👩‍👧 flags 🇩🇪", "河を渡る 犬 Москва عربي", "<s> the <unk> </s>", "the<s>river</s>bank", "<s></s><pad>",
    " <mask> x <mask>  the<mask>", "the [SEP] river", "[sep] [Sep]x", "NAME NAMED aNAME NAME! NAME",
    "<|endoftext|>the<|endoftext|> ",
    "▁the▁river ▁ x▁", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "banananana anan", "120 km, 1.5 m; 2016/17 3,50 €",
    "the\r\nriver\n\n  bank\n",
    "x\u0085y\u2028z\u200bw\u200dv", "\u0001\u007f\u0080\ufeff\ufffd", "the " * 12 + "end", "overoverland" * 8,
    "___ a_b __init__ #tag @you",
    "   leading and trailing   ", "runs,runs.runs;runs", "q\u0301\u0302 é è", "\u1680x\u2000y\u205f",
    "10²³ x₁ ①②", "ǆ Ǆ ŉ ΐ", "a\u0130b",
]


def corpus_lines():
    return CORPUS.split("\n")[:-1]


def template(**tokens):
    bos, eos = tokens.get("bos"), tokens.get("eos")
    parts = [part for part in (bos and bos[0], "$A", eos and eos[0]) if part]
    return processors.TemplateProcessing(single=" ".join(parts), special_tokens=[t for t in (bos, eos) if t])


def make(model, trainer, pre=None, normal=None, decoder=None, post=None, added=()):
    t = Tokenizer(model)
    if pre: t.pre_tokenizer = pre
    if normal: t.normalizer = normal
    if decoder: t.decoder = decoder
    t.train_from_iterator(corpus_lines(), trainer)
    if post: t.post_processor = post
    if added: t.add_tokens(list(added))
    return t


def bpe(size=160, specials=("<pad>", "<s>", "</s>", "<unk>"), unk="<unk>", alphabet=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(specials), initial_alphabet=list(alphabet),
                                  show_progress=False)
    return models.BPE(unk_token=unk, **options), trainer


def suffixed():
    """By hand: the trainer numbers characters with a suffix in an order that changes from run to run."""
    pairs = ("t h", "th e</w>", "r i", "ri v", "e r</w>", "riv er</w>", "a n", "an a</w>", "b an", "ban ana</w>", "a a",
             "aa aa", "o v", "ov er</w>", "a a</w>")
    merges = [tuple(pair.split()) for pair in pairs]
    letters = sorted(set(CORPUS) - set(" \n-"))
    vocab = ["<unk>", *letters, *(c + "</w>" for c in letters), *dict.fromkeys(a + b for a, b in merges)]
    t = Tokenizer(models.BPE({token: i for i, token in enumerate(vocab)}, merges, unk_token="<unk>", fuse_unk=True,
                             end_of_word_suffix="</w>"))
    t.pre_tokenizer, t.decoder = pre_tokenizers.Whitespace(), decoders.BPEDecoder()
    return t


def words(unk="<unk>"):
    return (models.WordLevel(unk_token=unk),
            trainers.WordLevelTrainer(special_tokens=["<pad>", "<s>", "</s>", unk], show_progress=False))


def python_tokenizers():
    P, N, D = pre_tokenizers, normalizers, decoders
    bytes_ = dict(specials=["<|endoftext|>"], unk=None, alphabet=P.ByteLevel.alphabet(), size=360)
    yield "bytes", make(*bpe(**bytes_), P.ByteLevel(add_prefix_space=False), None, D.ByteLevel(),
                        processors.ByteLevel(trim_offsets=False))
    yield "bytes-prefix", make(*bpe(**bytes_), P.ByteLevel(add_prefix_space=True), N.NFC(), D.ByteLevel(),
                               processors.Sequence([processors.ByteLevel(), template(eos=("<|endoftext|>", 0))]))
    dashes = P.Sequence([P.Split("-", "isolated"), P.ByteLevel(False, use_regex=False)])
    yield "bytes-sequence", make(*bpe(**bytes_), dashes, None, D.ByteLevel())
    yield "suffix", suffixed()
    for scheme in ("always", "first", "never"):
        yield f"metaspace-{scheme}", make(
            *bpe(), P.Metaspace(prepend_scheme=scheme), N.Sequence([N.NFKC(), N.Strip(), N.Lowercase()]),
            D.Metaspace(prepend_scheme=scheme), template(bos=("<s>", 1), eos=("</s>", 2)),
            [AddedToken("<mask>", lstrip=True, rstrip=True), AddedToken("[SEP]", normalized=True),
             AddedToken("NAME", single_word=True, normalized=False), AddedToken("river b", normalized=False)])
    yield "metaspace-whole", make(*bpe(), P.Metaspace(split=False), None, D.Metaspace())
    whole = make(*bpe(size=140), P.Metaspace(), None, D.Metaspace())
    state = json.loads(whole.to_str())
    state["model"]["ignore_merges"] = True
    state["model"]["vocab"]["▁river"] = len(state["model"]["vocab"])
    state["added_tokens"] = state["added_tokens"][:1]
    yield "ignore-merges", Tokenizer.from_str(json.dumps(state))
    yield "nfd", make(*bpe(), P.Metaspace(), N.Sequence([N.NFD(), N.Strip(right=False)]), D.Metaspace())
    yield "nfkd", make(*bpe(fuse_unk=True), P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), N.NFKD(), D.Fuse())
    yield "word-whitespace", make(*words(), P.Whitespace(), N.Lowercase())
    yield "word-split", make(*words(), P.WhitespaceSplit(), None, None, template(bos=("<s>", 1)))
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            yield f"{behavior}-{invert}", make(
                *words(), P.Sequence([P.Split("a", behavior, invert), P.Split(" ", "isolated")]))
    ways = ((".", "isolated"), (r"[\s\S]", "isolated"), (".", "removed", True), (".", "contiguous"))
    for number, (regex, *how) in enumerate(ways):
        yield f"word-chars-{number}", make(*words(), P.Split(Regex(regex), *how), None, D.Fuse())


def heed_tokenizers(heed):
    for arguments in (["char"], ["char", "--least", "3", "--lower"], ["word"], ["word", "--vocab", "40", "--add-eos"],
                      ["word", "--least", "2", "--lower", "--pad", ""], ["bpe", "--vocab", "150"],
                      ["bpe", "--vocab", "110", "--lower", "--add-bos", "--add-eos"],
                      ["bpe", "--vocab", "100", "--least", "2", "--bos", "</s>"]):
        with tempfile.TemporaryDirectory() as folder:
            command = [heed, "tokens", "--train", *arguments, "--out", folder, "--quiet"]
            subprocess.run(command, input=CORPUS.encode(), check=True)
            path = pathlib.Path(folder) / "tokenizer.json"
            yield " ".join(arguments), path.read_text(), Tokenizer.from_file(str(path))


def case(name, text, t):
    rows = []
    for line in TEXTS:
        ids = t.encode(line).ids
        rows.append([line, ids, t.encode(line, add_special_tokens=False).ids, t.decode(ids),
                     t.decode(ids, skip_special_tokens=False)])
    return {"name": name, "tokenizer": text, "rows": rows}


def trained():
    """What Python's trainers learn: heed's must be equal to it."""
    result = {}
    for name, t in (("bpe", make(models.BPE(unk_token="<unk>"),
                                 trainers.BpeTrainer(vocab_size=150, min_frequency=2, show_progress=False,
                                                     special_tokens=["<pad>", "<s>", "</s>", "<unk>"]),
                                 pre_tokenizers.Metaspace())),
                    ("byte-bpe", make(models.BPE(), trainers.BpeTrainer(
                        vocab_size=330, min_frequency=2, show_progress=False, special_tokens=["<pad>", "<s>", "</s>"],
                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), pre_tokenizers.ByteLevel(False))),
                    ("word", make(*words(), pre_tokenizers.WhitespaceSplit()))):
        model = json.loads(t.to_str())["model"]
        result[name] = {"vocab": sorted(model["vocab"], key=model["vocab"].get), "merges": model.get("merges", [])}
    return result


def unigram_likelihood():
    """The sum of the scores of the corpus's pieces by the model that Python learns from it."""
    t = make(models.Unigram(), trainers.UnigramTrainer(vocab_size=120, special_tokens=["<pad>", "<s>", "</s>", "<unk>"],
                                                       unk_token="<unk>", show_progress=False), pre_tokenizers.Metaspace())
    scores = [score for _, score in json.loads(t.to_str())["model"]["vocab"]]
    return sum(scores[i] for line in corpus_lines() for i in t.encode(line, add_special_tokens=False).ids)


# ---- every component ----

NASTY = [
    "", " ", "the river's  bank, the old bridge", "Ångström CAFÉ naïve ﬁne ½ ² ①", "  läuft \t über\n\nFluß  ",
    "犬が river 東京 한국어 각 привет", "a\u0301\u0323\u0307b \u0344 q\u0307\u0323", "<s> NAME <mask> x NAMED</s>aNAME",
    "120 km, 3.5 €; x_y -- don't WE'LL", "▁the▁ ▁<0x41>\u200b\ufeff\u0000z", "👩\u200d👩\u200d👧 🇩🇪!", "aaaaaaaaaaaaa banana\r\n",
    "a\u0345\u0eba\u0898\u0323",  # marks that are newer than the peer's tables
]


def small(model, normal=None, pre=None, decoder=None, post=None, added=()):
    """A vocabulary of a few hundred tokens: files stay small."""
    specials = ["<unk>", "<s>", "</s>", "<pad>"]
    kinds = {
        "word": lambda: (models.WordLevel(unk_token="<unk>"),
                         trainers.WordLevelTrainer(vocab_size=90, special_tokens=specials, show_progress=False)),
        "bpe": lambda: (models.BPE(unk_token="<unk>"),
                        trainers.BpeTrainer(vocab_size=130, special_tokens=specials, show_progress=False)),
        "bytes": lambda: (models.BPE(), trainers.BpeTrainer(vocab_size=330, special_tokens=specials, show_progress=False,
                                                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet())),
        "unigram": lambda: (models.Unigram(), trainers.UnigramTrainer(vocab_size=110, special_tokens=specials,
                                                                      unk_token="<unk>", show_progress=False)),
    }
    if model == "pieces":  # by hand: the trainer numbers characters within words in an order that changes
        letters = sorted(set(CORPUS) - set(" \n"))
        words = ["the", "river", "##er", "##iver", "over", "##land", "ban", "##ana", "run", "##ning", "##s"]
        vocab = specials + letters + ["##" + c for c in letters] + words
        t = Tokenizer(models.WordPiece({v: i for i, v in enumerate(vocab)}, unk_token="<unk>",
                                       max_input_chars_per_word=20))
        t.normalizer, t.pre_tokenizer = normal, pre
    elif model == "fallback":
        letters = sorted(set("▁ther ivban"))
        merges = [("t", "h"), ("th", "e"), ("r", "i"), ("▁", "the"), ("a", "n")]
        vocab = specials + [f"<0x{i:02X}>" for i in range(256)] + letters + [a + b for a, b in merges]
        t = Tokenizer(models.BPE({v: i for i, v in enumerate(vocab)}, merges, unk_token="<unk>", fuse_unk=True,
                                 byte_fallback=True))
        t.normalizer, t.pre_tokenizer = normal, pre
    else:
        kind, trainer = kinds[model]()
        t = Tokenizer(kind)
        t.normalizer, t.pre_tokenizer = normal, pre
        t.train_from_iterator(corpus_lines(), trainer)
    if decoder: t.decoder = decoder
    if post: t.post_processor = post
    t.add_special_tokens(specials)
    t.add_tokens(list(added))
    return t


def charsmap():
    """A map of SentencePiece's kind with three entries, by hand: a double array of which most is empty."""
    import base64
    import struct
    texts = {b"A": "a", "½".encode(): "1/2", "ﬁ".encode(): ""}
    blob, at = b"", {}
    for key, value in texts.items():
        at[key] = len(blob)
        blob += value.encode() + b"\0"
    units, free = [0] * 2048, [256]

    def place(node, prefix):
        labels = sorted({key[len(prefix)] for key in texts if key.startswith(prefix) and len(key) > len(prefix)})
        base = free[0]
        free[0] += 256
        units[node] |= (base ^ node) << 10
        if prefix in texts:
            units[node] |= 1 << 8
            units[base] = at[prefix] | 1 << 31
        for label in labels:
            units[base ^ label] = label
            place(base ^ label, prefix + bytes([label]))

    place(0, b"")
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + blob


def pipelines():
    P, N, D, X = pre_tokenizers, normalizers, decoders, processors
    pair = dict(special_tokens=[("<s>", 1), ("</s>", 2)])
    added = [AddedToken("<mask>", lstrip=True, rstrip=True, special=True), AddedToken("NAME", single_word=True),
             AddedToken("bank", normalized=True), AddedToken("  ", normalized=False)]
    qwen = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+")
    yield "bert", small("pieces", N.BertNormalizer(), P.BertPreTokenizer(), D.WordPiece(),
                        X.BertProcessing(("</s>", 2), ("<s>", 1)), added)
    yield "bert-cased", small("pieces", N.BertNormalizer(lowercase=False, strip_accents=True), P.BertPreTokenizer(),
                              D.WordPiece(cleanup=False),
                              X.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", **pair))
    yield "roberta", small("bytes", None, P.ByteLevel(), D.ByteLevel(), X.RobertaProcessing(("</s>", 2), ("<s>", 1)), added)
    yield "gpt", small("bytes", N.NFC(), P.ByteLevel(False), D.ByteLevel(), X.ByteLevel(), added)
    yield "qwen", small("bytes", N.NFC(), P.Sequence([P.Split(Regex(qwen), "isolated"), P.ByteLevel(False, use_regex=False)]),
                        D.ByteLevel(), X.Sequence([X.ByteLevel(trim_offsets=False),
                                                   X.TemplateProcessing("<s> $A", "<s> $A $B:1", **pair)]))
    yield "byte-normalizer", small("bytes", N.ByteLevel(), P.Split(Regex(r"Ġ?\w+"), "isolated"), D.ByteLevel())
    yield "llama", small("fallback", N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), None,
                         D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]),
                         X.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", **pair), added)
    yield "mistral", small("fallback", None, P.Metaspace("▁", "first", False), D.Metaspace("▁", "first"))
    yield "unigram", small("unigram", N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]), P.Metaspace(),
                           D.Metaspace(), X.TemplateProcessing("$A </s>", "$A </s> $B </s>", **pair), added)
    yield "precompiled", small("unigram", N.Sequence([N.Precompiled(charsmap()), N.Strip(False, True)]),
                               P.Sequence([P.UnicodeScripts(), P.Metaspace("▁", "first")]), D.Metaspace())
    yield "albert", small("unigram", N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase(), N.Replace("``", '"')]),
                          P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), D.Metaspace("▁", "never"))
    yield "digits", small("word", N.Lowercase(), P.Sequence([P.Digits(True), P.Punctuation(), P.WhitespaceSplit()]), None,
                          None, added)
    yield "contiguous", small("bpe", None, P.Sequence([P.Digits(False), P.Punctuation("contiguous"),
                                                       P.CharDelimiterSplit("e")]), D.Fuse())
    yield "fixed", small("word", N.NFD(), P.FixedLength(4), D.Replace(Regex(r"[aeiou]"), "_"))
    yield "ctc", small("word", None, P.Split("", "isolated"), D.CTC("<pad>", "r", True))
    yield "suffix", small("bpe", None, P.Whitespace(), D.BPEDecoder("e"))
    both = {"id": "both", "ids": [1, 3], "tokens": ["<s>", "<pad>"]}
    two = X.TemplateProcessing("both $A:1", "$B:2 both:1 $A", [both, ("</s>", 2)])
    yield "processors-bert", small("word", None, P.Whitespace(), None, X.Sequence([two, X.BertProcessing(("</s>", 2), ("<s>", 1))]))
    yield "processors-roberta", small("bytes", None, P.ByteLevel(), D.ByteLevel(), X.Sequence([two, X.RobertaProcessing(("</s>", 2), ("<s>", 1))]))
    for number, (regex, behavior, invert) in enumerate((
            (r"\b", "isolated", False), (r"(?=[A-Z])|\d", "removed", False), (r"[[:alpha:]&&[^aeiou]]+", "contiguous", True),
            (r"\h{1,2}+", "merged_with_next", False), (r"(?m:.)\w?$", "merged_with_previous", False), (r"^\w", "isolated", False),
            (r"[^(\s|[.,])]+", "isolated", True), (r"\p{^L}|\p{Han}|\p{Punct}", "contiguous", False), (r"x*", "isolated", False),
            (r"(?i)[k-\u006f]\W", "removed", True))):
        yield f"regex-{number}", small("word", None, P.Split(Regex(regex), behavior, invert))


def pipeline_case(name, t):
    rows = []
    for number, line in enumerate(NASTY):
        second = NASTY[(number * 5 + 3) % len(NASTY)] if number % 2 else None
        e = t.encode(line, second, add_special_tokens=number % 3 != 0)
        offsets = [place for pair in e.offsets for place in pair]
        words = [-1 if word is None else word for word in e.word_ids]
        rows.append([line, second, number % 3 != 0, e.ids, e.type_ids, offsets, words, e.tokens, t.decode(e.ids),
                     t.decode(e.ids, skip_special_tokens=False)])
    state = json.loads(t.to_str())
    return {"name": name, "tokenizer": json.dumps(state, ensure_ascii=False, separators=(",", ":")), "rows": rows}


# ---- directories without tokenizer.json ----

def sentence_piece(folder, **options):
    """A small model of the corpus; the rule `identity` has no map of characters, which would be large."""
    import sentencepiece
    text, prefix = pathlib.Path(folder) / "text", pathlib.Path(folder) / "model"
    text.write_text(CORPUS)
    if "rules" in options:  # a map of characters of our own: texts and what they become
        rules, hexes = pathlib.Path(folder) / "rules", lambda s: " ".join(f"{ord(c):X}" for c in s)
        rules.write_text("".join(f"{hexes(a)}\t{hexes(b)}\n" for a, b in options.pop("rules").items()))
        options["normalization_rule_tsv"] = str(rules)
    else:
        options["normalization_rule_name"] = "identity"
    sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(prefix), minloglevel=2, hard_vocab_limit=False,
                                             **{"vocab_size": 100, **options})
    data = prefix.with_suffix(".model").read_bytes()
    for path in pathlib.Path(folder).iterdir(): path.unlink()
    return data


def byte_files(specials, suffix=None):
    t = Tokenizer(models.BPE(end_of_word_suffix=suffix or ""))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(corpus_lines(), trainers.BpeTrainer(
        vocab_size=320, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    model = json.loads(t.to_str())["model"]
    vocab, merges = model["vocab"], model["merges"]
    if suffix:  # the trainer's order of characters with a suffix changes from run to run
        vocab = {v: i for i, v in enumerate(specials + sorted(pre_tokenizers.ByteLevel.alphabet()))}
        for c in sorted(pre_tokenizers.ByteLevel.alphabet()): vocab[c + suffix] = len(vocab)
        merges = [("t", "h"), ("th", "e" + suffix), ("r", "i"), ("a", "n"), ("an", "d" + suffix), ("ri", "v")]
        for a, b in merges: vocab.setdefault(a + b, len(vocab))
    return {"vocab.json": json.dumps(vocab), "merges.txt": "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges)}


def directories(folder):
    letters = sorted(set(CORPUS) - set(" \n"))
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters), "the", "river", "##er", "bank"]
    words = {"vocab.txt": "".join(v + "\n" for v in bert)}
    end, fairseq = ["<|endoftext|>", "<|padding|>"], ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]

    def config(name, **more): return {"tokenizer_config.json": json.dumps({"tokenizer_class": name, **more})}

    yield "bert", {**words, **config("BertTokenizerFast")}
    yield "bert-cased", {**words, **config("BertTokenizer", do_lower_case=False, strip_accents=False, tokenize_chinese_chars=False)}
    yield "bert-type", {**words, "config.json": json.dumps({"model_type": "electra"})}
    yield "bert-added", {**words, **config("BertTokenizer", additional_special_tokens=["[E1]"]),
                         "added_tokens.json": json.dumps({"river b": len(bert)}),
                         "special_tokens_map.json": json.dumps({"mask_token": {
                             "content": "[MASK]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}})}
    yield "mpnet", {"vocab.txt": "<s>\n<pad>\n</s>\n<mask>\n" + words["vocab.txt"], **config("MPNetTokenizer")}
    yield "gpt2", {**byte_files(end), **config("GPT2Tokenizer")}
    yield "gpt2-bos", {**byte_files(end), **config("GPT2Tokenizer", add_bos_token=True, add_eos_token=True, add_prefix_space=True,
                                                   pad_token="<PAD>")}
    yield "gpt-neox", {**byte_files(end), **config("GPTNeoXTokenizer")}
    yield "roberta", {**byte_files(fairseq), **config("RobertaTokenizer", trim_offsets=False)}
    yield "bart", {**byte_files(fairseq), "config.json": json.dumps({"model_type": "bart"})}
    yield "qwen2", {**byte_files(end), **config("Qwen2Tokenizer")}
    yield "clip", {**byte_files(["<|startoftext|>", "<|endoftext|>"], "</w>"), **config("CLIPTokenizer")}
    t5 = sentence_piece(folder, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    yield "t5", {"spiece.model": t5, **config("T5Tokenizer", extra_ids=3)}
    yield "pegasus", {"spiece.model": t5, **config("PegasusTokenizer")}
    yield "albert", {"spiece.model": sentence_piece(
        folder, pad_id=0, unk_id=1, bos_id=2, eos_id=3, bos_piece="[CLS]", eos_piece="[SEP]", user_defined_symbols=["[MASK]"]),
        **config("AlbertTokenizer", keep_accents=True)}
    plain = sentence_piece(folder, unk_id=0, bos_id=1, eos_id=2)
    yield "xlm-roberta", {"sentencepiece.bpe.model": plain, **config("XLMRobertaTokenizer")}
    yield "camembert", {"sentencepiece.bpe.model": plain, **config("CamembertTokenizer")}
    yield "mbart", {"sentencepiece.bpe.model": plain, **config("MBartTokenizer", src_lang="fr_XX")}
    yield "generic", {"tokenizer.model": plain, **config("PreTrainedTokenizerFast")}
    llama = sentence_piece(folder, vocab_size=400, model_type="bpe", byte_fallback=True, remove_extra_whitespaces=False,
                           user_defined_symbols=["<tool>"])
    yield "llama", {"tokenizer.model": llama, **config("LlamaTokenizer", add_bos_token=True)}
    yield "llama-generic", {"tokenizer.model": llama, **config("PreTrainedTokenizerFast")}
    yield "gemma", {"tokenizer.model": llama, **config("GemmaTokenizer", bos_token="<s>", eos_token="</s>", add_bos_token=True)}
    yield "deberta-v2", {"spm.model": sentence_piece(folder, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]",
                                                     bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]"),
                         **config("DebertaV2Tokenizer", split_by_punct=True)}
    yield "marian", marian(folder)
    yield "mbart50", {"sentencepiece.bpe.model": plain, **config("MBart50Tokenizer", src_lang="sl_SI")}
    yield "big-bird", {"spiece.model": sentence_piece(folder, pad_id=0, eos_id=1, bos_id=2, unk_id=3, user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"]),
                       **config("BigBirdTokenizer")}
    yield "xlnet", {"spiece.model": sentence_piece(folder, unk_id=0, bos_id=1, eos_id=2, control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]),
                    "config.json": json.dumps({"model_type": "xlnet"})}
    yield "blenderbot", {**byte_files(fairseq), **config("BlenderbotTokenizer")}
    funnel = words["vocab.txt"].replace("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]", "<pad>\n<unk>\n<cls>\n<sep>\n<mask>")
    yield "funnel", {"vocab.txt": funnel, **config("FunnelTokenizer")}


def marian(folder):
    from sentencepiece import sentencepiece_model_pb2 as pb
    model = sentence_piece(folder, unk_id=0, bos_id=1, eos_id=2, rules={
        "A": "a", "½": "1/2", "ﬁ": "fi", "a\u0301": "á", "a\u0301\u0323": "e", "\u0301": "'", "\t": " ", "▁": " ", "ü": "u"})
    proto = pb.ModelProto()
    proto.ParseFromString(model)
    vocab = ["</s>", "<unk>", *(p.piece for p in proto.pieces if p.type == 1), ">>de<<", "<pad>"]
    return {"source.spm": model, "target.spm": model, "vocab.json": json.dumps({v: i for i, v in enumerate(vocab)}),
            "tokenizer_config.json": json.dumps({"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"})}


def slow_rows(t):
    """Of a tokenizer that is Python code all through: ids and decoded text."""
    for number, line in enumerate([*NASTY, ">>de<< the river", "a\u0301\u0323 ba\u0301 \u0301\u0301a"]):
        second = NASTY[(number * 5 + 3) % len(NASTY)] if number % 2 else None
        ids = t(line, second)["input_ids"]
        yield [line, second, True, ids, None, None, None, None, t.decode(ids, skip_special_tokens=True), t.decode(ids)]


def directory_case(name, files, folder):
    from transformers import AutoTokenizer
    import base64
    for path in pathlib.Path(folder).iterdir(): path.unlink()
    for file, data in files.items():
        (pathlib.Path(folder) / file).write_bytes(data if isinstance(data, bytes) else data.encode())
    t = AutoTokenizer.from_pretrained(folder)
    rows = [] if hasattr(t, "backend_tokenizer") else list(slow_rows(t))
    for number, line in enumerate([] if rows else NASTY):
        second = NASTY[(number * 5 + 3) % len(NASTY)] if number % 2 else None
        e = t.backend_tokenizer.encode(line, second)
        offsets = [place for pair in e.offsets for place in pair]
        words = [-1 if word is None else word for word in e.word_ids]
        rows.append([line, second, True, e.ids, e.type_ids, offsets, words, e.tokens, t.backend_tokenizer.decode(e.ids),
                     t.backend_tokenizer.decode(e.ids, skip_special_tokens=False)])
    data = {file: base64.b64encode(d if isinstance(d, bytes) else d.encode()).decode() for file, d in files.items()}
    for path in pathlib.Path(folder).iterdir(): path.unlink()
    return {"name": name, "files": data, "rows": rows}


# ---- Unicode ----

def spans(holds):
    result, start = [], None
    for c in range(0x110001):
        inside = c < 0x110000 and holds(chr(c))
        if inside and start is None: start = c
        if not inside and start is not None:
            result.append([start, c - 1])
            start = None
    return result


def unicode_tables():
    category = unicodedata.category
    return {
        "version": unicodedata.unidata_version,
        "unassigned": spans(lambda c: category(c) == "Cn"),
        "space": spans(lambda c: c.isspace() and not "\x1c" <= c <= "\x1f"),
        "letter": spans(lambda c: category(c)[0] == "L"),
        "number": spans(lambda c: category(c)[0] == "N"),
        "punctuation": spans(lambda c: category(c)[0] == "P"),
        "symbol": spans(lambda c: category(c)[0] == "S"),
        "upper": spans(str.isupper),
        "lower": spans(str.islower),
        "lower_case": [[c, *map(ord, chr(c).lower())] for c in range(0x110000) if chr(c).lower() != chr(c)],
    }


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    standard = pathlib.Path(__file__).resolve().parent.parent / "golden" / "text"
    golden = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else standard
    golden.mkdir(parents=True, exist_ok=True)
    write(golden / "unicode.json", unicode_tables())
    write(golden / "tokenizers.json", {
        "corpus": CORPUS,
        "trained": trained(),
        "unigram_likelihood": unigram_likelihood(),
        "python": [case(name, t.to_str(), t) for name, t in python_tokenizers()],
        "heed": [{"arguments": name, **case(name, text, t)} for name, text, t in heed_tokenizers(sys.argv[1])],
    })
    with tempfile.TemporaryDirectory() as work:
        write(golden / "directories.json", [directory_case(name, files, work) for name, files in directories(work)])
    write(golden / "pipelines.json", [pipeline_case(name, t) for name, t in pipelines()])
