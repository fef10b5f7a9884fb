# libheed.so exports the names of tests/meta/exported.txt, all of them heed_, and carries its soname. libheed.a defines only heed_ names, so that it links into a
# program that has functions of the same names as hidden ones of heed's, and it refers to nothing that prints to the
# user's streams or ends the process. The last check is first shown an object that does.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

exported=$("$NM" -D --defined-only "$SHARED" | awk '{ print $NF }')
foreign=$(echo "$exported" | grep -v '^heed_' || :)
if [ -n "$foreign" ]; then
    echo "libheed.so exports names that are not heed's:"
    echo "$foreign"
    exit 1
fi
echo "$exported" | grep -qx heed_open || {
    echo "libheed.so does not export heed_open"
    exit 1
}
differs() { # FILE: how the names that are exported differ from it
    echo "$exported" | LC_ALL=C sort | LC_ALL=C comm -3 "$1" - | sed 's/^\t/  + /; t
        s/^/  - /'
}
names=$SOURCE/tests/meta/exported.txt
for name in heed_add heed_zebra; do # one that is exported, one that is not
    grep -vx $name "$names" >"$scratch/planted" || :
    [ $name = heed_add ] || echo $name | LC_ALL=C sort -m "$names" - >"$scratch/planted"
    differs "$scratch/planted" | grep -q "[-+] $name\$" || {
        echo "the check itself is wrong: it does not see that $name differs"
        exit 1
    }
done
found=$(differs "$names")
if [ -n "$found" ]; then
    echo "libheed.so exports other names than tests/meta/exported.txt ('make exported' writes it anew, where that is intended):"
    echo "$found"
    exit 1
fi
readelf -d "$SHARED" | grep -q "SONAME.*\[$SONAME\]" || {
    echo "libheed.so has not the soname $SONAME"
    exit 1
}

defined=$("$NM" -g --defined-only "$STATIC" | awk 'NF == 3 { print $3 }')
foreign=$(echo "$defined" | grep -v '^heed_' || :)
if [ -n "$foreign" ]; then
    echo "libheed.a defines names that are not heed's:"
    echo "$foreign"
    exit 1
fi
cat >"$scratch/host.c" <<'END'
#include <heed/heed.h>
#include <string.h>

static int called;
int map_find(void) { return called++, 1; }
int shown(void) { return called++, 1; }
int utf8_bad(void) { return called++, 1; }

int main(void) {
    heed_ctx *cx = heed_open(NULL);
    heed_string text = {0};
    heed_lines lines = {0};
    heed_ids ids = {0};
    const heed_lines *const texts[] = {&lines};
    const heed_tokenizer_opts opts = {.kind = HEED_TOKENS_WORD, .unk = "<unk>"};
    heed_string_put(cx, &text, "a cat\na dog\n", 12);
    heed_lines_cut(cx, &text, &lines);
    heed_tokenizer *t = heed_tokenizer_train(cx, texts, 1, &opts);
    heed_encode(cx, t, "a cow", 5, false, &ids);
    const int right = !heed_failed(cx) && ids.count == 2 && ids.id[0] == heed_tokenizer_id(t, "a") && ids.id[1] == 0;
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    heed_lines_free(cx, &lines);
    heed_string_free(cx, &text);
    heed_close(cx);
    return !right || called || map_find() + shown() + utf8_bad() != 3;
}
END
# shellcheck disable=SC2046 # flags are words
"$CC" -I "$SOURCE/include" "$scratch/host.c" "$STATIC" $(pkg-config --libs jansson zlib cairo libutf8proc libpcre2-8 libpng libjpeg) -lm -pthread \
    -o "$scratch/host" || {
    echo "a program with functions map_find, shown and utf8_bad of its own does not link libheed.a"
    exit 1
}
"$scratch/host" || {
    echo "libheed.a calls a program's own map_find, shown or utf8_bad"
    exit 1
}

forbidden() { # FILE: the names of these kinds that it refers to; with _FORTIFY_SOURCE printf is __printf_chk
    "$NM" -u "$1" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u | grep -xE \
        'abort|exit|_exit|_Exit|quick_exit|__assert_fail|__assert_perror_fail|perror|err|errx|warn|warnx|(__)?(v?f?printf|v?dprintf)(_chk)?|f?puts|f?putc|putchar|fwrite|stdout|stderr|syslog|raise|kill' || :
}
cat >"$scratch/bad.c" <<'END'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
void bad(int x) {
    assert(x);
    if (x == 1) abort();
    if (x == 2) exit(1);
    printf("%d\n", x);
    puts("x");
    fprintf(stderr, "%d", x);
}
END
"$CC" -O0 -c -o "$scratch/bad.o" "$scratch/bad.c"
for name in __assert_fail abort exit printf puts fprintf stderr; do
    forbidden "$scratch/bad.o" | grep -qx "$name" || {
        echo "the check itself is wrong: it does not see $name"
        exit 1
    }
done
found=$(forbidden "$STATIC")
if [ -n "$found" ]; then
    echo "libheed refers to names that print or end the process:"
    echo "$found"
    exit 1
fi
