# libheed.so exports only heed_ names and carries its soname; libheed.a, which is the same objects, refers to nothing
# that prints to the user's streams or ends the process. The second check is first shown an object that does.
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
readelf -d "$SHARED" | grep -q "SONAME.*\[$SONAME\]" || {
    echo "libheed.so has not the soname $SONAME"
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
