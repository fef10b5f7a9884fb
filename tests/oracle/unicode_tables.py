"""src/text/unicode/unicode_tables.c: sets of characters as Python's `tokenizers` has them, found by asking it.

Its parts go by tables of several ages (Unicode 8 to 16), so that utf8proc's would differ where a category has changed
since: python unicode_tables.py > src/text/unicode_tables.c. Needs libutf8proc.so.2."""
import ctypes

from tokenizers import normalizers as N, pre_tokenizers as P

ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_decompose_char.restype = ctypes.c_ssize_t
utf8proc.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_int16 * 2)  # category, combining class


def decomposed(c):
    buffer, bound = (ctypes.c_int32 * 64)(), ctypes.c_int(0)
    stable, compat, decompose = 2, 4, 16
    n = utf8proc.utf8proc_decompose_char(c, buffer, 64, stable | compat | decompose, ctypes.byref(bound))
    return "".join(map(chr, buffer[:n]))


def spans(holds):
    out = []
    for c in ALL:
        if not holds(chr(c)):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def removed_by(normalizer):
    return lambda c: normalizer.normalize_str(f"a{c}a") == "aa"


def script_spans():
    """[first, last, number] of each run of one script; 0, which any script may hold, is left out."""
    step, known, out = P.UnicodeScripts(), ["a", "犬"], []

    def together(a, b):
        return len(step.pre_tokenize_str(a + b)) == 1

    number = 0
    for c in map(chr, ALL):
        if together("a", c) and together("犬", c):
            number = 0
        elif not (number and together(known[number - 1], c)):
            number = next((i + 1 for i, k in enumerate(known) if together(k, c)), 0)
            if not number:
                known.append(c)
                number = len(known)
        if number and out and out[-1][1] == ord(c) - 1 and out[-1][2] == number:
            out[-1][1] = ord(c)
        elif number:
            out.append([ord(c), ord(c), number])
    return out


def table(name, rows, kind="struct unicode_span"):
    cells = ["{" + ", ".join(f"0x{v:X}" if i < 2 else str(v) for i, v in enumerate(row)) + "}" for row in rows]
    print(f"\nstatic const {kind} {name}[] = {{")
    line = "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > 120:
            print(line)
            line = "   "
        line += f" {cell},"
    print(line)
    print("};")


bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
punctuation, clean = P.Punctuation(), removed_by(N.BertNormalizer(**{**bert, "clean_text": True}))
nfkd, nfd = N.NFKD(), N.NFD()
print("""/* Made by tests/oracle/unicode_tables.py: sets of characters as Python's `tokenizers` has them. */
#include "text/unicode/unicode_tables.h"

/* clang-format off */""")
table("punctuation", spans(lambda c: len(punctuation.pre_tokenize_str(f"a{c}a")) == 3))
table("other", spans(lambda c: clean(c) and c not in "\0\ufffd"))
table("nonspacing", spans(removed_by(N.BertNormalizer(**{**bert, "strip_accents": True}))))
table("marks", spans(removed_by(N.StripAccents())))
table("whole", spans(lambda c: nfkd.normalize_str(c) == c and decomposed(ord(c)) != c))
table("starters", spans(lambda c: 0 < utf8proc.utf8proc_get_property(ord(c)).contents[1] < 240 and nfd.normalize_str(f"a\u0345{c}") == f"a\u0345{c}"))
table("scripts", script_spans(), "struct script_span")
print("""/* clang-format on */

/* Spans are in order. */
static bool within(int32_t c, const struct unicode_span *spans, size_t n) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c > spans[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && c >= spans[low].first;
}
#define WITHIN(c, spans) within(c, spans, sizeof(spans) / sizeof *(spans))

bool peer_is_punctuation(int32_t c) { return WITHIN(c, punctuation); }
bool peer_is_other(int32_t c) { return WITHIN(c, other); }
bool peer_is_nonspacing(int32_t c) { return WITHIN(c, nonspacing); }
bool peer_is_mark(int32_t c) { return WITHIN(c, marks); }
bool peer_keeps_whole(int32_t c) { return WITHIN(c, whole); }
bool peer_is_starter(int32_t c) { return WITHIN(c, starters); }

int peer_script(int32_t c) {
    size_t low = 0, high = sizeof scripts / sizeof *scripts;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c > scripts[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < sizeof scripts / sizeof *scripts && c >= scripts[low].first;
    return found ? scripts[low].number : 0;
}""")
