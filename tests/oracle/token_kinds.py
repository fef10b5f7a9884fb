"""Tokenizers for same_tokens.py: drawn at random from all components, composed as those of published models, and SentencePiece's in the directories of
transformers' classes. All are trained or drawn here; SAME_TEXT (see same_tokens.py) is what they are trained on, else a small text of our own."""
import base64
import itertools
import json
import os
import pathlib
import random
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders as D, models as M, normalizers as N, pre_tokenizers as P, processors as X, trainers as R

from same_tokens import PIECES, given_lines
from tokenizers_ import CORPUS

SPECIALS = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
BERT = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]


def corpus():
    lines = list(itertools.islice(given_lines(), 0, 400000, 40)) or CORPUS.split("\n")[:-1]
    return lines + PIECES * 3


def sentence_piece(**options):
    """The bytes of a model that SentencePiece trains."""
    import sentencepiece
    with tempfile.TemporaryDirectory() as folder:
        text, prefix = pathlib.Path(folder) / "text", pathlib.Path(folder) / "model"
        text.write_text("\n".join(line.replace("\n", " ").replace("\0", " ") for line in corpus()))
        sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(prefix), minloglevel=2, hard_vocab_limit=False,
                                                 **{"vocab_size": 2000, **options})
        return prefix.with_suffix(".model").read_bytes()


def charsmap(rule="nmt_nfkc", made={}):
    """SentencePiece's map of characters for a rule of normalization."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    if rule not in made:
        m = pb.ModelProto()
        m.ParseFromString(sentence_piece(normalization_rule_name=rule, vocab_size=200))
        made[rule] = m.normalizer_spec.precompiled_charsmap
    return made[rule]


# ---- drawn ----

ALPHABET = "abcdeABC'.-_019 ▁Ġéüßñ\u0301\u0308ǆ犬東각\u1100\u1161ﬁ½İσΣжДكनि\u200d👍🏽\u00a0\n\t"
TEXTS = ["", "a", "b", " ", "▁", "ab", "<s>", "e", "é", "犬", "  ", ".", "##", "\n", "ß"]
REGEXES = [r"\s+", r"\w+|[^\w\s]+", r"\d{1,3}", r"[A-Z][a-z]*", r"\p{L}+", r"[^\p{L}\p{N}]", r"(?i)ab?", r"^a|b$", r"\b", r".", r"(?<=a)b", r"a(?!b)", r"[[:punct:]]",
           r"[\r\n]", r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\p{Han}", r"(?:\r?\n)+", r"x*", r"\S\s", r"[^\S\n]+", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+",
           r"[\p{Lu}\p{Lt}]?\p{Ll}+", r"\p{M}+", r"\h+", r"(a|b)\1", r"[a-e&&[^c]]+", r"\p{Arabic}+|\p{Cyrillic}+", r"(?<!\s)▁", r"\R", r"[一-龥]"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def pattern(draw, known=REGEXES, texts=TEXTS):
    return {"Regex": draw.choice(known)} if draw.random() < 0.6 else {"String": draw.choice(texts)}


def flag(draw):
    return draw.random() < 0.5


def normalizer(draw):
    kind = draw.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "BertNormalizer", "Replace", "Replace", "Prepend", "Nmt", "Precompiled",
                        "ByteLevel"])
    return {"type": kind, **{
        "Strip": lambda: dict(strip_left=flag(draw), strip_right=flag(draw)),
        "BertNormalizer": lambda: dict(clean_text=flag(draw), handle_chinese_chars=flag(draw), strip_accents=draw.choice((None, True, False)), lowercase=flag(draw)),
        # where nothing is replaced by something, Python goes on with text that it repeats, or panics
        "Replace": lambda: dict(pattern=pattern(draw, [r for r in REGEXES if r not in (r"\b", "x*")], TEXTS[1:]), content=draw.choice(TEXTS)),
        "Prepend": lambda: dict(prepend=draw.choice(TEXTS[1:])),
        "Precompiled": lambda: dict(precompiled_charsmap=base64.b64encode(charsmap(draw.choice(("nmt_nfkc", "nmt_nfkc_cf")))).decode()),
    }.get(kind, dict)()}


def metaspace(draw):
    return dict(replacement=draw.choice("▁▁▁_犬"), prepend_scheme=draw.choice(("always", "first", "never")), split=flag(draw))


def byte_level(draw):
    return dict(add_prefix_space=flag(draw), trim_offsets=flag(draw), use_regex=flag(draw))


def pre_tokenizer(draw):
    kind = draw.choice(["BertPreTokenizer", "ByteLevel", "Metaspace", "Metaspace", "Split", "Split", "Split", "Punctuation", "Digits", "Whitespace", "WhitespaceSplit",
                        "CharDelimiterSplit", "UnicodeScripts", "FixedLength"])
    return {"type": kind, **{
        "ByteLevel": lambda: byte_level(draw),
        "Metaspace": lambda: metaspace(draw),
        "Split": lambda: dict(pattern=pattern(draw), behavior=draw.choice(BEHAVIORS), invert=flag(draw)),
        "Punctuation": lambda: dict(behavior=draw.choice(BEHAVIORS)),
        "Digits": lambda: dict(individual_digits=flag(draw)),
        "CharDelimiterSplit": lambda: dict(delimiter=draw.choice("a_ 犬")),
        "FixedLength": lambda: dict(length=draw.randint(1, 6)),
    }.get(kind, dict)()}


def decoder(draw):
    kind = draw.choice(["ByteLevel", "WordPiece", "Metaspace", "BPEDecoder", "CTC", "Replace", "Fuse", "Strip", "ByteFallback"])
    return {"type": kind, **{
        "ByteLevel": lambda: byte_level(draw),
        "WordPiece": lambda: dict(prefix=draw.choice(("##", "", "a")), cleanup=flag(draw)),
        "Metaspace": lambda: metaspace(draw),
        "BPEDecoder": lambda: dict(suffix=draw.choice(("</w>", "e", "犬"))),
        "CTC": lambda: dict(pad_token="<pad>", word_delimiter_token=draw.choice(("|", "a", " ")), cleanup=flag(draw)),
        "Replace": lambda: dict(pattern=pattern(draw), content=draw.choice(TEXTS)),
        "Strip": lambda: dict(content=draw.choice(" ▁a犬"), start=draw.randint(0, 2), stop=draw.randint(0, 2)),
    }.get(kind, dict)()}


def template(draw, vocab):
    names = draw.sample(SPECIALS, 3)
    tokens = {n: {"id": n, "ids": [vocab[n]], "tokens": [n]} for n in names}
    tokens["both"] = {"id": "both", "ids": [vocab[n] for n in names[:2]], "tokens": names[:2]}

    def some(texts):
        for text in texts:
            yield from ({"SpecialToken": {"id": draw.choice(names + ["both"]), "type_id": draw.randint(0, 3)}} for _ in range(draw.choice((0, 1, 1, 2))))
            yield {"Sequence": {"id": text, "type_id": draw.randint(0, 2)}}
        yield from ({"SpecialToken": {"id": draw.choice(names), "type_id": draw.randint(0, 3)}} for _ in range(draw.choice((0, 1))))

    return dict(single=list(some("A")), pair=list(some("AB" if draw.random() < 0.8 else "BA")), special_tokens=tokens)


def processor(draw, vocab):
    kind = draw.choice(["BertProcessing", "RobertaProcessing", "ByteLevel", "TemplateProcessing", "TemplateProcessing"])
    ends = lambda: dict(sep=["</s>", vocab["</s>"]], cls=["<s>", vocab["<s>"]])
    return {"type": kind, **{
        "BertProcessing": ends,
        "RobertaProcessing": lambda: dict(trim_offsets=flag(draw), add_prefix_space=flag(draw), **ends()),
        "ByteLevel": lambda: byte_level(draw),
        "TemplateProcessing": lambda: template(draw, vocab),
    }[kind]()}


def several(draw, make, name, counts):
    """None, one, or a Sequence."""
    n = draw.choice(counts)
    if n == 0: return None
    if n == 1: return make(draw)
    return {"type": "Sequence", name: [make(draw) for _ in range(n)]}


def tokens_of(draw, count):
    """Words over the alphabet, or over GPT-2's characters of bytes."""
    letters = list(ALPHABET)
    if draw.random() < 0.4: letters = sorted(P.ByteLevel.alphabet())
    words = list(dict.fromkeys(letters))
    while len(words) < count:
        word = draw.choice(words) + draw.choice(words)
        if len(word) < 9 and word not in words: words.append(word)
    return words


def bpe_model(draw):
    prefix, suffix = draw.choice(("", "", "", "##", "a")), draw.choice(("", "", "", "</w>", "e"))
    letters = list(dict.fromkeys(ALPHABET if draw.random() < 0.6 else sorted(P.ByteLevel.alphabet())))
    if draw.random() < 0.3: letters = draw.sample(letters, len(letters) * 3 // 4)
    symbols = letters + [prefix + c for c in letters if prefix] + [c + suffix for c in letters if suffix] + [prefix + c + suffix for c in letters if prefix and suffix]
    symbols, merges = list(dict.fromkeys(symbols)), []
    for _ in range(draw.choice((0, 60, 250))):
        a, b = draw.choice(symbols), draw.choice(symbols)
        if prefix and not b.startswith(prefix): continue
        made = a + b[len(prefix):]
        if len(made) > 12: continue
        if made not in symbols: symbols.append(made)
        merges.append([a, b] if " " in a + b or flag(draw) else f"{a} {b}")
    if merges and any(isinstance(m, list) for m in merges): merges = [m if isinstance(m, list) else m.split(" ") for m in merges]
    fallback = flag(draw)
    if fallback: symbols += [f"<0x{i:02X}>" for i in range(256) if i != 0xE7 or flag(draw)]
    vocab = {s: i for i, s in enumerate(dict.fromkeys(SPECIALS + symbols))}
    return dict(type="BPE", dropout=None, unk_token=draw.choice((None, "<unk>", "<unk>")), continuing_subword_prefix=prefix or draw.choice((None, "")),
                end_of_word_suffix=suffix or draw.choice((None, "")), fuse_unk=flag(draw), byte_fallback=fallback, ignore_merges=flag(draw), vocab=vocab, merges=merges)


def unigram_model(draw):
    words = [w for w in tokens_of(draw, 250) if w]
    fallback = flag(draw)
    if fallback: words += [f"<0x{i:02X}>" for i in range(256)]
    scores = [[w, draw.choice((-1.0, -2.0, -draw.random() * 12))] for w in dict.fromkeys(SPECIALS + words)]
    return dict(type="Unigram", unk_id=draw.choice((0, 0, 0, 3, None)), vocab=scores, byte_fallback=fallback)


def word_piece_model(draw):
    prefix = draw.choice(("##", "##", "", "a"))
    words = tokens_of(draw, 250)
    words += [prefix + w for w in words if draw.random() < 0.7]
    return dict(type="WordPiece", unk_token="<unk>", continuing_subword_prefix=prefix, max_input_chars_per_word=draw.choice((3, 12, 100)),
                vocab={w: i for i, w in enumerate(dict.fromkeys(SPECIALS + words))})


def word_level_model(draw):
    return dict(type="WordLevel", unk_token="<unk>", vocab={w: i for i, w in enumerate(dict.fromkeys(SPECIALS + tokens_of(draw, 400)))})


def vocabulary_of(model):
    return model["vocab"] if isinstance(model["vocab"], dict) else {w: i for i, (w, _) in enumerate(model["vocab"])}


def added_tokens(draw, vocab):
    """Some of the vocabulary's, and new ones behind it."""
    rows, texts = [], SPECIALS[:draw.randint(0, 5)] + draw.sample(["ab", "犬", " a", "a ", "  ", "NAME", "é", "e\u0301", "\n\n", "<X>", "<x>", "İ", "ﬁ", "_", "a.b", "▁▁"], draw.randint(0, 6))
    new = len(vocab)
    for text in dict.fromkeys(texts):
        number = vocab.get(text)
        if number is None: number, new = new, new + 1
        rows.append(dict(id=number, content=text, single_word=draw.random() < 0.2, lstrip=draw.random() < 0.25, rstrip=draw.random() < 0.25,
                         normalized=flag(draw), special=flag(draw)))
    return sorted(rows, key=lambda r: r["id"])


def drawn(seed):
    """A tokenizer.json."""
    draw = random.Random(seed)
    model = draw.choice((bpe_model, bpe_model, bpe_model, unigram_model, unigram_model, word_piece_model, word_level_model))(draw)
    vocab = vocabulary_of(model)
    truncation = dict(direction=draw.choice(("Left", "Right")), max_length=20, strategy="LongestFirst", stride=0) if flag(draw) else None
    padding = dict(strategy={"Fixed": 8}, direction=draw.choice(("Left", "Right")), pad_to_multiple_of=None, pad_id=3, pad_type_id=draw.randint(0, 2),
                   pad_token="<pad>") if flag(draw) else None
    return json.dumps(dict(
        version="1.0", truncation=truncation, padding=padding, added_tokens=added_tokens(draw, vocab),
        normalizer=several(draw, normalizer, "normalizers", (0, 0, 1, 1, 2, 3)), pre_tokenizer=several(draw, pre_tokenizer, "pretokenizers", (0, 1, 1, 1, 2, 3)),
        post_processor=several(draw, lambda d: processor(d, vocab), "processors", (0, 1, 1, 2)), decoder=several(draw, decoder, "decoders", (0, 1, 1, 2, 3)),
        model=model), ensure_ascii=False)


# ---- published ----

GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def trained(model, trainer, normal=None, pre=None, post=None, decode=None, added=(), special=()):
    t = Tokenizer(model)
    if normal: t.normalizer = normal
    if pre: t.pre_tokenizer = pre
    t.train_from_iterator(corpus(), trainer)
    if post: t.post_processor = post(t) if callable(post) else post
    if decode: t.decoder = decode
    t.add_special_tokens(list(special))
    t.add_tokens(list(added))
    return t


def byte_bpe(pre, specials=("<s>", "<pad>", "</s>", "<unk>", "<mask>"), suffix=None, **options):
    ends = dict(end_of_word_suffix=suffix) if suffix else {}
    trainer = R.BpeTrainer(vocab_size=2500, special_tokens=list(specials), initial_alphabet=P.ByteLevel.alphabet(), show_progress=False, **ends)
    return trained(M.BPE(**ends), trainer, pre=pre, decode=D.ByteLevel(), **options)


def fallback_bpe(pieces=True, **options):
    """As Llama 2's: no pre-tokenizer was used in training, but pieces of words learnt."""
    base = trained(M.BPE(unk_token="<unk>"), R.BpeTrainer(vocab_size=2000, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False, limit_alphabet=80),
                   pre=P.Metaspace())
    state = json.loads(base.to_str())["model"]
    order = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *(v for v in sorted(state["vocab"], key=state["vocab"].get) if v not in ("<unk>", "<s>", "</s>"))]
    t = Tokenizer(M.BPE({v: i for i, v in enumerate(dict.fromkeys(order))}, [tuple(m) for m in state["merges"]], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    normal, pre, post, decode = (options.get(k) for k in ("normal", "pre", "post", "decode"))
    if normal: t.normalizer = normal
    if pre: t.pre_tokenizer = pre
    if post: t.post_processor = post
    if decode: t.decoder = decode
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.add_tokens(list(options.get("added", ())))
    return t


def unigram(normal, pre, post, decode=None, specials=("<s>", "<pad>", "</s>", "<unk>", "<mask>"), **options):
    return trained(M.Unigram(), R.UnigramTrainer(vocab_size=2000, special_tokens=list(specials), unk_token="<unk>", show_progress=False), normal, pre, post,
                   decode or D.Metaspace(), **options)


def around(single, pair, *names):
    return lambda t: X.TemplateProcessing(single, pair, [(n, t.token_to_id(n)) for n in names])


def word_piece(normal, post=None, **options):
    trainer = R.WordPieceTrainer(vocab_size=2500, special_tokens=BERT, show_progress=False)
    return trained(M.WordPiece(unk_token="[UNK]"), trainer, normal, P.BertPreTokenizer(), post or around("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]"),
                   D.WordPiece(), **options)


def split_bytes(pattern, behavior="isolated", invert=False, **options):
    return P.Sequence([P.Split(Regex(pattern), behavior, invert), P.ByteLevel(False, use_regex=False, **options)])


def published():
    spaces = [AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)]
    words = P.Sequence([P.WhitespaceSplit(), P.Metaspace()])
    nmt = N.Precompiled(charsmap())
    llama_decoder = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
    roberta = lambda t: X.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), trim_offsets=True, add_prefix_space=False)
    makers = {
        "bert-uncased": lambda: word_piece(N.BertNormalizer()),
        "bert-cased": lambda: word_piece(N.BertNormalizer(lowercase=False)),
        "bert-multilingual": lambda: word_piece(N.BertNormalizer(lowercase=False, strip_accents=False, handle_chinese_chars=True)),
        "funnel": lambda: word_piece(N.BertNormalizer(), around("[CLS]:2 $A [SEP]", "[CLS]:2 $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]")),
        "mpnet": lambda: word_piece(N.BertNormalizer(), special=[AddedToken("<mask>", lstrip=True, normalized=True)]),
        "gpt2": lambda: byte_bpe(P.ByteLevel(False), ["<|endoftext|>"], post=X.ByteLevel(trim_offsets=False)),
        "roberta": lambda: byte_bpe(P.ByteLevel(False), post=roberta, added=[AddedToken("<mask>", lstrip=True)]),
        "modernbert": lambda: byte_bpe(P.ByteLevel(False), BERT + ["<|padding|>", "<|endoftext|>"], normal=N.NFC(), added=[*spaces, "|||IP_ADDRESS|||"],
                                       post=around("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", "[CLS]", "[SEP]"), special=[AddedToken("[MASK]", lstrip=True)]),
        "qwen2": lambda: byte_bpe(split_bytes(GPT4 % "", trim_offsets=False), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], normal=N.NFC(),
                                  post=X.ByteLevel(False, trim_offsets=False), added=[AddedToken("<tool_call>", normalized=False)]),
        "llama3": lambda: byte_bpe(split_bytes(GPT4 % "{1,3}"), ["<|begin_of_text|>"], special=[f"<|reserved_special_token_{i}|>" for i in range(200)],
                                   post=lambda t: X.Sequence([X.ByteLevel(), around("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                                                                    "<|begin_of_text|>")(t)])),
        "gpt4o": lambda: byte_bpe(split_bytes(GPT4O, "removed", True), ["<|endoftext|>"], post=X.ByteLevel()),
        "llama2": lambda: fallback_bpe(normal=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), decode=llama_decoder,
                                       post=X.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])),
        "mistral": lambda: fallback_bpe(pre=P.Metaspace("▁", "first", False), decode=llama_decoder, post=X.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)]),
                                        added=[AddedToken("[INST]", special=True, normalized=False), "[/INST]"]),
        "phi3": lambda: fallback_bpe(normal=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), decode=llama_decoder,
                                     added=[AddedToken(f"<|{n}|>", rstrip=True, normalized=False, special=True) for n in ("user", "end", "assistant")]),
        "gemma": lambda: fallback_bpe(normal=N.Replace(" ", "▁"), pre=P.Split(" ", "merged_with_previous"), decode=D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]),
                                      added=[AddedToken(s * n, normalized=False) for s in ("\n", "▁", "\t") for n in range(2, 20)] + ["<h1>", "</table>"]),
        "t5": lambda: unigram(nmt, words, around("$A </s>", "$A </s> $B </s>", "</s>"), special=[f"<extra_id_{i}>" for i in range(99, -1, -1)]),
        "xlm-roberta": lambda: unigram(nmt, words, around("<s> $A </s>", "<s> $A </s> </s> $B </s>", "<s>", "</s>"), special=[AddedToken("<mask>", lstrip=True, normalized=True)]),
        "mbart": lambda: unigram(nmt, words, around("$A </s> en_XX", "$A $B </s> en_XX", "</s>", "en_XX"), specials=("<s>", "<pad>", "</s>", "<unk>", "en_XX", "de_DE")),
        "nllb": lambda: trained(M.BPE(unk_token="<unk>", fuse_unk=True), R.BpeTrainer(vocab_size=2000, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "eng_Latn"], show_progress=False),
                                nmt, P.Metaspace(), around("eng_Latn $A </s>", "eng_Latn $A $B </s>", "eng_Latn", "</s>"), D.Metaspace()),
        "albert": lambda: unigram(N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), nmt]), words,
                                  around("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]"), specials=("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
                                  special=[AddedToken("[MASK]", lstrip=True)]),
        "xlnet": lambda: unigram(N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), nmt, N.Replace(Regex(" {2,}"), " ")]), P.Metaspace(),
                                 around("$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2", "<sep>", "<cls>"), specials=("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>")),
        "deberta-v3": lambda: unigram(N.Sequence([N.Strip(), nmt, N.Replace(Regex(" {2,}"), " ")]), P.Sequence([P.Metaspace()]),
                                      around("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]"), specials=("[PAD]", "[CLS]", "[SEP]", "<unk>"), added=["[MASK]"]),
        "pegasus": lambda: unigram(nmt, P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), around("$A </s>", "$A $B </s>", "</s>"), special=["<mask_1>", *(f"<unk_{i}>" for i in range(2, 50))]),
        "clip": lambda: byte_bpe(P.Sequence([P.Split(Regex(CLIP), "removed", True), P.ByteLevel(False)]), ["<|startoftext|>", "<|endoftext|>"], "</w>",
                                 normal=N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]),
                                 post=lambda t: X.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)),
        "whisper": lambda: byte_bpe(P.ByteLevel(False), ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"],
                                    post=around("<|startoftranscript|> <|en|> $A <|endoftext|>", "<|startoftranscript|> $A $B:1 <|endoftext|>", "<|startoftranscript|>", "<|en|>",
                                                "<|endoftext|>"), added=[AddedToken(f"<|{i * 0.02:.2f}|>", normalized=True) for i in range(500)]),
        "bloom": lambda: byte_bpe(split_bytes(r" ?[^(\s|[.,!?…。，、।۔،])]+", trim_offsets=True), post=X.ByteLevel(trim_offsets=False)),
        "falcon": lambda: byte_bpe(P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(False), P.Digits(False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")]),
                                   [">>TITLE<<", ">>ABSTRACT<<", "<|endoftext|>"], post=X.ByteLevel(trim_offsets=False)),
        "starcoder": lambda: byte_bpe(P.Sequence([P.Digits(True), P.ByteLevel(False)]), ["<|endoftext|>", "<fim_prefix>"]),
        "gpt-neox": lambda: byte_bpe(P.ByteLevel(False), ["<|endoftext|>", "<|padding|>"], normal=N.NFC(), added=spaces),
        "galactica": lambda: byte_bpe(P.Sequence([P.Split("SPL1T-TH1S-Pl3A5E", "removed"), P.Digits(True), P.ByteLevel(False)]), ["<s>", "<pad>", "</s>", "<unk>", "[START_REF]"]),
        "deepseek": lambda: byte_bpe(P.Sequence([P.Split(Regex(r"\p{N}{1,3}"), "isolated"), P.Split(Regex(r"[一-龥぀-ゟ゠-ヿ]+"), "isolated"),
                                                 P.Split(Regex(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
                                                               r"|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"), P.ByteLevel(False, use_regex=False)]),
                                     ["<｜begin▁of▁sentence｜>"], post=around("<｜begin▁of▁sentence｜> $A", "<｜begin▁of▁sentence｜> $A <｜begin▁of▁sentence｜> $B:1", "<｜begin▁of▁sentence｜>")),
        "openai-gpt": lambda: trained(M.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), R.BpeTrainer(vocab_size=2000, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                                                                                                       show_progress=False), N.BertNormalizer(), P.BertPreTokenizer(), None, D.BPEDecoder("</w>")),
        "byt5": lambda: byte_bpe(P.Split("", "isolated"), ["<pad>", "</s>", "<unk>"], normal=N.ByteLevel(), special=[f"<extra_id_{i}>" for i in range(125)],
                                 post=around("$A </s>", "$A </s> $B </s>", "</s>")),
        "word-level": lambda: trained(M.WordLevel(unk_token="<unk>"), R.WordLevelTrainer(vocab_size=3000, special_tokens=SPECIALS, show_progress=False), N.Lowercase(), P.Whitespace()),
        "ctc": lambda: trained(M.WordLevel(unk_token="<unk>"), R.WordLevelTrainer(special_tokens=["<pad>", "<s>", "</s>", "<unk>", "|"], show_progress=False),
                               N.Replace(" ", "|"), P.Split("", "isolated"), None, D.CTC("<pad>", "|", False)),
    }
    for name, make in makers.items(): yield name, make().to_str()


# ---- SentencePiece ----

def marian_vocabulary(*models):
    """The pieces of both models, as Marian numbers them: padding last."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    tokens = ["</s>", "<unk>"]
    for data in models:
        m = pb.ModelProto()
        m.ParseFromString(data)
        tokens += [piece.piece for piece in m.pieces if piece.type == 1]
    return {v: i for i, v in enumerate([*dict.fromkeys(tokens), ">>de<<", "<pad>"])}


def sentence_pieces(folder):
    """Directories of the classes that read SentencePiece models."""
    config = lambda name, **more: {"tokenizer_config.json": json.dumps({"tokenizer_class": name, **more})}
    t5 = sentence_piece(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    plain = sentence_piece(unk_id=0, bos_id=1, eos_id=2)
    identity = sentence_piece(unk_id=0, bos_id=1, eos_id=2, normalization_rule_name="identity", remove_extra_whitespaces=False)
    folded = sentence_piece(unk_id=0, bos_id=1, eos_id=2, normalization_rule_name="nmt_nfkc_cf")
    llama = sentence_piece(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
                           user_defined_symbols=["<tool>", "\t\t"], allow_whitespace_only_pieces=True)
    albert = sentence_piece(pad_id=0, unk_id=1, bos_id=2, eos_id=3, bos_piece="[CLS]", eos_piece="[SEP]", user_defined_symbols=["[MASK]"])
    deberta = sentence_piece(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
    made = {
        "t5": {"spiece.model": t5, **config("T5Tokenizer", extra_ids=100)},
        "t5-type": {"spiece.model": t5, "config.json": json.dumps({"model_type": "t5"})},
        "t5-bytes": {"spiece.model": sentence_piece(pad_id=0, eos_id=1, unk_id=2, bos_id=-1, byte_fallback=True), **config("T5Tokenizer", extra_ids=0)},
        "pegasus": {"spiece.model": t5, **config("PegasusTokenizer")},
        "albert": {"spiece.model": albert, **config("AlbertTokenizer")},
        "albert-cased": {"spiece.model": albert, **config("AlbertTokenizer", do_lower_case=False, keep_accents=True)},
        "xlm-roberta": {"sentencepiece.bpe.model": plain, **config("XLMRobertaTokenizer")},
        "xlm-roberta-folded": {"sentencepiece.bpe.model": folded, **config("XLMRobertaTokenizer")},
        "camembert": {"sentencepiece.bpe.model": plain, **config("CamembertTokenizer")},
        "mbart": {"sentencepiece.bpe.model": plain, **config("MBartTokenizer", src_lang="de_DE")},
        "llama": {"tokenizer.model": llama, **config("LlamaTokenizer", add_bos_token=True)},
        "llama-new": {"tokenizer.model": llama, **config("LlamaTokenizer", add_bos_token=True, add_eos_token=True, legacy=False)},
        "gemma": {"tokenizer.model": llama, **config("GemmaTokenizer", bos_token="<s>", eos_token="</s>", add_bos_token=True)},
        "generic": {"tokenizer.model": plain, **config("PreTrainedTokenizerFast")},
        "generic-identity": {"tokenizer.model": identity, **config("PreTrainedTokenizerFast")},
        "generic-llama": {"tokenizer.model": llama, **config("PreTrainedTokenizerFast")},
        "deberta-v2": {"spm.model": deberta, **config("DebertaV2Tokenizer")},
        "deberta-v2-lower": {"spm.model": deberta, **config("DebertaV2Tokenizer", do_lower_case=True, split_by_punct=True)},
    }
    made["marian"] = {"source.spm": plain, "target.spm": folded, "vocab.json": json.dumps(marian_vocabulary(plain, folded)),
                      **config("MarianTokenizer", source_lang="en", target_lang="de")}
    for name, files in made.items():
        path = pathlib.Path(folder) / name
        path.mkdir()
        for file, data in files.items(): (path / file).write_bytes(data if isinstance(data, bytes) else data.encode())
    return [os.path.join(folder, name) for name in made]
