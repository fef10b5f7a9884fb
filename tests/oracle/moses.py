"""Moses' normaliser, tokeniser and detokeniser by sacremoses 0.1.1: writes text/moses.json.

    python moses.py [DIRECTORY [MULTI30K]]

Every case holds a text and what becomes of it in every language. With the directory of Multi30k it also writes
text/moses_multi30k.json: for every file the CRC-32 of all its lines after each treatment, and no text.
"""
import gzip
import json
import pathlib
import sys
import zlib

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

LANGUAGES = ("en", "de", "fr")
TEXTS = [
    "",
    "   ",
    "Hello.",
    "Mr. and Mrs. Green don't live at No. 7 any more; they've moved to No. Ten, near St. Ann's.",
    "She said: \"It's 5 % off,\" and paid $3.50 (or £2,99) for the '90s records.",
    "The dogs' bowls... weren't full.. were they?! \"No.\"",
    "A, B,C , D,E and 1,000,000.5 birds,3 cats, 4,",
    "U.S. ships left at 5 p.m. and came back at 9 a.m. The crew slept.",
    "rock'n'roll isn't dead; 'tis the 1980's sound and 80's hair. He said 'yes.'",
    "Rights & duties <b>bold</b> | [a] {b} (c) `quoted' ``twice''",
    "See pp. 4-9, Art. 5 and Art. Deco, e.g. in vol. II, i.e. there.",
    "write to me@example.org or look at http://example.org/a?b=c&d=e now",
    "Der Hund von Nr. 12 läuft z.B. am 3. Mai, bzw. am 21. Juni, über die Straße.",
    "„Guten Tag“, sagte Dr. Weiß. »Wie geht's?« – ‚Gut‘, hieß es …",
    "Er rief \"Halt.\" Dann war es still.\" Und \"so\", und \"so,\" ging es. \"Ende.\"",
    "Die Ausbeute betrug 12\u00a0345\u00a0678 kg, etwa 5\u00a0% mehr; 20\u00a0ºC, 7\u00a0cm.",
    "L'homme qu'on a vu aujourd'hui n'est pas l'ami d'Anne, c.-à-d. M. Durand.",
    "«\u00a0Qu'est-ce que c'est\u00a0?\u00a0» demanda-t-elle\u00a0; il répondit\u00a0: «Rien\u00a0!»",
    "Il y a 1\u00a0500 élèves, etc. La rentrée est à 8 h 30. Cf. p. 12, fig. 3.",
    "x (y ) ( z) . (a) , [b] ; c : d ) !",
    "tab\there, \x01control\x1funit\u2003wide\u3000ideographic\u00a0hard  two",
    "日本語のテキスト、 中文。한국어 텍스트 and ひらがな カタカナ",
    "Ελληνικά: ΟΔΟΣ ΣΟΦΟΣ. Привет, мир! שלום (עולם) مرحبا، ٣٫٥",
    "हिन्दी क़लम ½ Ⅷ x² e\u0301 decomposed, ½'s ٣,٣ 😀😀 a😀b",
    "İstanbul ǅ ß ẞ Ǆ",
    ".",
    "..",
    "a.b.c. d. E.",
    "end.'",
    "'",
    "' '' ''' a'b'c'd",
    ",,,a,,1,,",
    "$ 5 € 6 ( a ) [ b ] ¿ que ? ¡ no ! 7 % \\",
    "\" a \" b \" c ' d ' e `` f '' „ g “ h \" '' i",
    "the cats ' food and James ' car , it 's theirs , I 'm sure , they ca n't",
    "l' eau d' une source , aujourd' hui , qu' 1",
    "state @-@ of @-@ the @-@ art &amp; &lt; &gt; &quot; &apos; &#124; &#91; &#93; &bar; &bra; &ket; &amp;lt;",
    "日 本 語 の 本 です , 中 。 a 日",
]


def tools(language):
    return MosesPunctNormalizer(language), MosesTokenizer(language), MosesDetokenizer(language)


def treat(text, normaliser, tokeniser, detokeniser):
    def tokens(s, escape):
        return " ".join(tokeniser.tokenize(s, escape=escape))

    plain = normaliser.normalize(text.lower())
    return {
        "normalised": normaliser.normalize(text),
        "tokenised": tokens(text, False),
        "escaped": tokens(text, True),
        "all": tokens(plain, True),
        "detokenised": detokeniser.detokenize(text.split()),
        "back": detokeniser.detokenize(tokens(plain, True).split()),
    }


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    cases = [{"text": text, "lower": text.lower()} | {l: treat(text, *tools(l)) for l in LANGUAGES} for text in TEXTS]
    (folder / "moses.json").write_text(json.dumps({"cases": cases}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"text/moses.json: {len(cases)} cases")


def make_multi30k(folder, data):
    files = {}
    for path in sorted(data.glob("*.??.gz")):
        if ".lc." in path.name:
            continue
        made = tools(path.name.split(".")[-2])
        sums = {}
        for line in gzip.open(path, "rt", encoding="utf-8", newline="\n").read().removesuffix("\n").split("\n"):
            for key, text in treat(line, *made).items():
                sums[key] = zlib.crc32((text + "\n").encode(), sums.get(key, 0))
        files[path.name] = sums
        print(path.name, sums)
    (folder / "moses_multi30k.json").write_text(json.dumps(files, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    golden = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "golden"
    make(golden / "text")
    if len(sys.argv) > 2:
        make_multi30k(golden / "text", pathlib.Path(sys.argv[2]))
