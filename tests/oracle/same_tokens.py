"""Whether heed and Python's `tokenizers` give the same: ids, types, offsets, pieces, words, pairs, truncation, padding, decoded text.

    python same_tokens.py LIBHEED files PATH...             tokenizer.json files, or directories of any kind (transformers' AutoTokenizer is the peer)
    python same_tokens.py LIBHEED random [FIRST [COUNT]]    tokenizers drawn at random from all components, by seed
    python same_tokens.py LIBHEED published                 tokenizers composed as those of published models
    python same_tokens.py LIBHEED sentencepiece [NAME...]           SentencePiece models in the directories of their classes

LIBHEED is libheed.so. Text: every line of the files that SAME_TEXT names (glob patterns, separated by colons), and SAME_LINES (10,000) lines of random
Unicode, half of it made of the tokenizer's own vocabulary. Not part of the tests. Prints the differences; the exit status is 1 when there are any."""
import ctypes as C
import glob
import gzip
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import unicodedata

from tokenizers import Tokenizer

os.environ["RUST_BACKTRACE"] = "0"  # the peer panics where it refuses
LINES = int(os.environ.get("SAME_LINES", 10000))
SHOWN = 3  # differences of a tokenizer that are printed


# ---- heed ----

class Token(C.Structure):
    _fields_ = [("id", C.c_int32), ("type", C.c_int32), ("word", C.c_int32), ("start", C.c_uint32), ("end", C.c_uint32),
                ("text", C.c_uint32), ("size", C.c_uint32), ("special", C.c_bool), ("padding", C.c_bool)]


class String(C.Structure):
    _fields_ = [("s", C.POINTER(C.c_char)), ("size", C.c_size_t), ("room", C.c_size_t)]


class Encoding(C.Structure):
    _fields_ = [("token", C.POINTER(Token)), ("count", C.c_int64), ("room", C.c_int64), ("text", String)]


class Word(C.Structure):
    _fields_ = [("text", C.c_char_p), ("size", C.c_size_t)]


class Options(C.Structure):
    _fields_ = [("pair", C.c_char_p), ("pair_size", C.c_size_t), ("words", C.c_void_p), ("n_words", C.c_int64), ("prefix_space", C.c_bool),
                ("plain", C.c_bool), ("bytes", C.c_bool), ("truncate", C.c_int64), ("pad", C.c_int64), ("dropout", C.c_void_p)]


class Refused(Exception):
    pass


class Heed:
    """A tokenizer of heed's."""

    def __init__(self, library, path):
        self.lib = library
        self.cx = library.heed_open(None)
        self.encoding, self.string = Encoding(), String()
        self.t = library.heed_tokenizer_load(self.cx, os.fsencode(path))
        if not self.t: raise Refused(self.message())

    def message(self):
        text = self.lib.heed_message(self.cx).decode()
        self.lib.heed_clear(self.cx)
        return text

    def close(self):
        self.lib.heed_tokenizer_free(self.cx, self.t)
        self.lib.heed_encoding_free(self.cx, C.byref(self.encoding))
        self.lib.heed_string_free(self.cx, C.byref(self.string))
        self.lib.heed_close(self.cx)

    def encode(self, text, pair=None, special=True, truncate=0, pad=0):
        """text may be a list of words."""
        words = [word.encode() for word in text] if isinstance(text, list) else []
        data, second = b"" if isinstance(text, list) else text.encode(), None if pair is None else pair.encode()
        array = (Word * len(words))(*((word, len(word)) for word in words))
        o = Options(second, len(second or b""), plain=not special, truncate=truncate, pad=pad)
        if words: o.words, o.n_words = C.cast(array, C.c_void_p), len(words)
        e = self.encoding
        if not self.lib.heed_encode_text(self.cx, self.t, data, len(data), C.byref(o), C.byref(e)): raise Refused(self.message())
        pieces = C.string_at(e.text.s, e.text.size) if e.text.size else b""
        rows = [e.token[i] for i in range(e.count)]
        return ([r.id for r in rows], [r.type for r in rows], [(r.start, r.end) for r in rows],
                [pieces[r.text:r.text + r.size].decode() for r in rows], [None if r.word < 0 else r.word for r in rows],
                [int(r.special) for r in rows])

    def decode(self, ids, keep):
        self.string.size = 0
        array = (C.c_int32 * len(ids))(*ids)
        if not self.lib.heed_decode(self.cx, self.t, array, len(ids), keep, C.byref(self.string)): raise Refused(self.message())
        return C.string_at(self.string.s, self.string.size).decode(errors="replace") if self.string.size else ""


def open_library(path):
    lib = C.CDLL(path)
    lib.heed_open.restype = lib.heed_tokenizer_load.restype = C.c_void_p
    lib.heed_message.restype = C.c_char_p
    lib.heed_encode_text.restype = lib.heed_decode.restype = C.c_bool
    for name in ("open", "message", "clear", "close"): getattr(lib, "heed_" + name).argtypes = [C.c_void_p]
    lib.heed_tokenizer_load.argtypes = [C.c_void_p, C.c_char_p]
    for name in ("tokenizer_free", "encoding_free", "string_free"): getattr(lib, "heed_" + name).argtypes = [C.c_void_p, C.c_void_p]
    lib.heed_encode_text.argtypes = [C.c_void_p, C.c_void_p, C.c_char_p, C.c_size_t, C.c_void_p, C.c_void_p]
    lib.heed_decode.argtypes = [C.c_void_p, C.c_void_p, C.c_void_p, C.c_int64, C.c_bool, C.c_void_p]
    return lib


# ---- text ----

def given_lines():
    """The lines of the files of SAME_TEXT."""
    for pattern in filter(None, os.environ.get("SAME_TEXT", "").split(":")):
        for path in sorted(glob.glob(pattern)):
            with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace", newline="\n") as f:
                for line in f: yield line.rstrip("\n")


def known(c):
    return unicodedata.category(chr(c)) not in ("Cs", "Cn")


RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF),
          (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x21FF), (0x2460, 0x27BF), (0x3000, 0x30FF), (0x3130, 0x33FF),
          (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE010), (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFEFF), (0xFF00, 0xFFFD),
          (0x10000, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF), (0x20000, 0x20100), (0x2F800, 0x2FA1D), (0xE0001, 0xE01EF), (1, 0x1F), (0x7F, 0x9F)]
PIECES = [" ", "  ", "   ", "\t", "\r\n", "\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u200d", "\ufeff", "\ufffd", "\u0085", "\u2028", "▁", "▁▁", "'s",
          "'LL", "'t", "n't", "...", "--", "_", "\u0301", "\u0323\u0307", "e\u0301", "각", "\u1100\u1161\u11a8", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "👍🏽", "❤\ufe0f", "ﬁ", "½",
          "①", "ẞ", "İ", "ΣΣ", "ǅ", "㎞", "カ\u3099", "ｶﾞ", "नि", "ก\u0e33", "\u0f73", "ʼn", "１２３", "123456", "3.14", "1,000", "<0x41>", "\x00", "``", "''", "a" * 40, "ab" * 30,
          "Ġ", "##", "</w>", "the", "The", "THE", " and", "hello", "world", "über", "naïve", "犬", "東京", "привет", "مرحبا", "שלום", "ไทย"]


def random_text(draw, vocabulary):
    """Pieces of every kind, mostly short."""
    parts = []
    for _ in range(draw.choice((1, 2, 3, 5, 8, 13, 30))):
        kind = draw.random()
        if kind < 0.45 and vocabulary:
            parts.append(draw.choice(vocabulary))
        elif kind < 0.7:
            parts.append(draw.choice(PIECES))
        elif kind < 0.97:
            low, high = draw.choice(RANGES)
            parts += [chr(c) for c in (draw.randint(low, high) for _ in range(draw.choice((1, 1, 2, 4)))) if known(c)]
        else:
            parts.append(draw.choice(PIECES) * draw.choice((2, 7, 60)))
        if draw.random() < 0.3: parts.append(" ")
    return "".join(parts)


def own_pieces(t, draw):
    """The tokenizer's own vocabulary as it stands in texts."""
    tokens = sorted(t.get_vocab())
    added = [a.content for a in t.get_added_tokens_decoder().values()]
    some = draw.sample(tokens, min(3000, len(tokens)))
    plain = [re.sub("^##", "", s.replace("▁", " ").replace("Ġ", " ").replace("</w>", " ")) for s in some]
    names = draw.sample(added, min(60, len(added)))
    every = len(plain) // max(1, 6 * len(names))
    return [p for p in plain if p] + names * max(1, every) + [n.upper() for n in names[:20]] + [n.lower() for n in names[:20]]


# ---- comparing ----

def seen(e):
    return e.ids, e.type_ids, e.offsets, e.tokens, e.word_ids, e.special_tokens_mask


NAMES = ("ids", "types", "offsets", "pieces", "words", "special")


def peer_encode(t, text, pair, special, truncate, pad, how):
    t.no_truncation(), t.no_padding()
    if truncate: t.enable_truncation(truncate, direction=how["truncate"])
    if pad: t.enable_padding(length=pad, direction=how["pad"], pad_id=how["id"], pad_type_id=how["type"], pad_token=how["token"])
    return seen(t.encode(text, pair, is_pretokenized=isinstance(text, list), add_special_tokens=special))


def lengths_of(t):
    """What the file says of truncation and padding, as heed understands it."""
    state = json.loads(t.to_str()) if t.truncation or t.padding else {}
    cut, fill = state.get("truncation") or {}, state.get("padding") or {}
    found = [(name, t.token_to_id(name)) for name in ("[PAD]", "<pad>", "<|pad|>", "<|endoftext|>") if t.token_to_id(name) is not None]
    name, number = found[0] if found else (None, None)
    return dict(truncate=cut.get("direction", "Right").lower(), pad=fill.get("direction", "Right").lower(), id=fill.get("pad_id", number),
                type=fill.get("pad_type_id", 0), token=fill.get("pad_token", name))


def attempt(f, *args):
    try:
        return f(*args), None
    except (Refused, BaseException) as e:  # the peer's panics are BaseExceptions
        if isinstance(e, (KeyboardInterrupt, SystemExit)): raise
        return None, f"{type(e).__name__}: {e}"


class Report:
    def __init__(self, name):
        self.name, self.lines, self.wrong, self.shown = name, 0, 0, {}

    def differ(self, what, text, ours, theirs):
        self.wrong += 1
        self.shown[what] = self.shown.get(what, 0) + 1
        if self.shown[what] > SHOWN: return
        print(f"  {self.name}: {what} of {text!r}\n    heed   {str(ours)[:700]}\n    python {str(theirs)[:700]}")


def compare(report, ours, t, how, text, pair=None, special=True, truncate=0, pad=0):
    report.lines += 1
    got, why = attempt(ours.encode, text, pair, special, truncate, pad)
    want, peer_why = attempt(peer_encode, t, text, pair, special, truncate, pad, how)
    shown = (text, pair, special, truncate, pad)
    if got is None or want is None:
        if peer_why and peer_why.startswith("PanicException"): return  # a defect of the peer's
        if (got is None) != (want is None): report.differ("refusal", shown, why or got[0], peer_why or want[0])
        return
    for name, a, b in zip(NAMES, got, want):
        if a != b: return report.differ(name, shown, a, b)
    for keep in (False, True):
        a, why = attempt(ours.decode, want[0], keep)
        b, peer_why = attempt(lambda: t.decode(want[0], skip_special_tokens=not keep))
        if a != b and not (peer_why or "").startswith("PanicException"): return report.differ("decoded text", shown, why or a, peer_why or b)


def compare_all(name, ours, t, draw, lines, given=()):
    """Given lines as they are; random ones in pairs, truncated and padded too; and the texts of random ids."""
    report, how, known_ids = Report(name), lengths_of(t), sorted(t.get_vocab(with_added_tokens=True).values())
    for line in given: compare(report, ours, t, how, line)
    vocabulary = own_pieces(t, draw)
    for number in range(lines):
        text = random_text(draw, vocabulary)
        pair = random_text(draw, vocabulary) if number % 3 == 1 else None
        if number % 11 == 6 and text.split(): text, pair = text.split(), None
        special = number % 4 != 3
        least = t.num_special_tokens_to_add(pair is not None) if special else 0  # heed refuses less, Python then does not truncate
        truncate = max(1, least, draw.randint(1, 24)) if number % 5 == 2 else 0
        pad = draw.randint(1, 40) if number % 5 == 3 and how["id"] is not None else 0
        compare(report, ours, t, how, text, pair, special, truncate, pad)
    for _ in range(lines // 10):
        ids, keep = draw.choices(known_ids, k=draw.randint(0, 20)), draw.random() < 0.5
        a, why = attempt(ours.decode, ids, keep)
        b, peer_why = attempt(lambda: t.decode(ids, skip_special_tokens=not keep))
        report.lines += 1
        if a != b and not (peer_why or "").startswith("PanicException"): report.differ("text of ids", (ids, keep), why or a, peer_why or b)
    return report


def run(lib, name, path, t, draw, lines, given=()):
    try:
        ours = Heed(lib, path)
    except Refused as e:
        print(f"{name}: heed refuses it: {e}")
        return 1
    report = compare_all(name, ours, t, draw, lines, given)
    ours.close()
    if lines >= 1000 or report.wrong: print(f"{name}: {report.lines} texts, {report.wrong} differ {report.shown or ''}", flush=True)
    return report.wrong


def clashes(t):
    """Added tokens that normalizing makes equal or empty: which of them is found changes from run to run in Python."""
    texts = [t.normalizer.normalize_str(a.content) if t.normalizer and a.normalized else a.content for a in t.get_added_tokens_decoder().values()]
    return "" in texts or len(set(texts)) < len(texts)


def write_and_run(lib, name, state, draw, lines, given=()):
    """A tokenizer.json as a string. Where Python refuses it, heed must too."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.json")
        pathlib.Path(path).write_text(state)
        t, why = attempt(Tokenizer.from_str, state)
        if t and clashes(t): return 0
        if t: return run(lib, name, path, t, draw, lines, given)
        ours, refusal = attempt(Heed, lib, path)
        if not ours or why.startswith("PanicException"): return 0
        print(f"{name}: Python refuses it: {why}")
        return 1


def run_slow(lib, name, path, t, draw, given):
    """A tokenizer that is Python code all through: ids, pairs and decoded text."""
    ours, report = Heed(lib, path), Report(name)
    vocabulary = [v.replace("▁", " ") for v in t.get_vocab() if not v.startswith(">>")]  # heed finds language codes anywhere, Python at the beginning only
    texts = [(line, None) for line in given]
    texts += [(random_text(draw, vocabulary), random_text(draw, vocabulary) if n % 3 == 1 else None) for n in range(LINES)]
    for text, pair in texts:
        report.lines += 1
        a, ids = ours.encode(text, pair)[0], t(text, pair)["input_ids"]
        if a != ids:
            report.differ("ids", (text, pair), a, ids)
            continue
        for keep in (False, True):
            a, b = ours.decode(ids, keep), t.decode(ids, skip_special_tokens=not keep)
            if a != b:
                report.differ("decoded text", (text, pair), a, b)
                break
    ours.close()
    print(f"{name}: {report.lines} texts, {report.wrong} differ {report.shown or ''}", flush=True)
    return report.wrong


def files(lib, paths):
    wrong = 0
    given = list(given_lines())
    for path in paths:
        draw = random.Random(os.path.basename(path))
        if os.path.isdir(path) and not os.path.exists(os.path.join(path, "tokenizer.json")):
            from transformers import AutoTokenizer
            t = AutoTokenizer.from_pretrained(path)
            if not hasattr(t, "backend_tokenizer"):
                wrong += run_slow(lib, path, path, t, draw, given)
                continue
            t = t.backend_tokenizer
        else:
            t = Tokenizer.from_file(os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path)
        wrong += run(lib, path, path, t, draw, LINES, given)
    return wrong


def main(library, what, *rest):
    lib = open_library(library)
    if what == "files": return files(lib, rest)
    import token_kinds
    if what == "random":
        first, count = (int(x) for x in (*rest, 0, 1000)[:2]) if len(rest) != 1 else (int(rest[0]), 1)
        lines = LINES if len(rest) == 1 else min(LINES, 60)
        return sum(write_and_run(lib, f"random {seed}", token_kinds.drawn(seed), random.Random(seed), lines) for seed in range(first, first + count))
    if what == "published":
        given = list(given_lines())
        return sum(write_and_run(lib, name, state, random.Random(name), LINES, given) for name, state in token_kinds.published() if not rest or name in rest)
    if what == "sentencepiece":
        with tempfile.TemporaryDirectory() as folder:
            return files(lib, [path for path in token_kinds.sentence_pieces(folder) if not rest or os.path.basename(path) in rest])
    raise SystemExit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 3: raise SystemExit(__doc__)
    sys.exit(1 if main(*sys.argv[1:]) else 0)
