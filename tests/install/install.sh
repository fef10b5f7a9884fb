# Installs into an empty directory, moves it, and builds a program outside the tree against what was installed: with
# pkg-config (shared and static) and with the CMake package. Nothing in it may point back into the build.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL

DESTDIR=$scratch/stage "$CMAKE" --install "$BUILD" --prefix /opt/heed >"$scratch/log"
mv "$scratch/stage/opt/heed" "$scratch/prefix"
prefix=$scratch/prefix
pc=$(find "$prefix" -name heed.pc)
lib=$(dirname "$(dirname "$pc")")
cp "$SOURCE/tests/install/hello.c" "$SOURCE/tests/install/CMakeLists.txt" "$scratch"
cd "$scratch"

is_heed() { # PROGRAM: it runs and names the version
    said=$("$@")
    if [ "$said" != "heed $VERSION" ]; then
        echo "$*: said '$said', expected 'heed $VERSION'"
        exit 1
    fi
}
uses_shared() { readelf -d "$1" | grep -q "NEEDED.*\[$SONAME\]"; }
demand() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then return; fi
    echo "install: $what"
    find "$prefix"
    exit 1
}

is_heed "$prefix/bin/heed" --version
demand "heed --help must work" "$prefix/bin/heed" --help >>log
demand "the soname must be a link" test -L "$lib/$SONAME"
for header in "$SOURCE"/include/heed/*.h; do
    demand "$header must be installed" test -e "$prefix/include/heed/$(basename "$header")"
done
for recipe in "$SOURCE"/recipes/*; do
    demand "$recipe must be installed" cmp "$recipe" "$prefix/share/heed/recipes/$(basename "$recipe")"
done
"$prefix/bin/heed" train classify --data digits --recipe "$prefix/share/heed/recipes/digits-mlp.recipe" --steps 2 \
    --out digits --quiet >>log
for command in $("$prefix/bin/heed" docs commands); do
    demand "heed-$command(1) must be installed" test -s "$prefix/share/man/man1/heed-$command.1"
done
demand "heed(1) must be installed" test -s "$prefix/share/man/man1/heed.1"
doc=$prefix/share/doc/heed
for page in LICENSE README.md CHANGELOG.md CONTRIBUTING.md docs/architecture.md docs/pictures/demo.png; do
    demand "$page must be installed" cmp "$SOURCE/$page" "$doc/$page"
done
for page in "$doc"/*.md "$doc"/docs/*.md "$doc"/docs/reference/*.md; do # links lead somewhere, those into the source tree aside
    for link in $(grep -oE '\]\([^):#]+\)' "$page" | tr -d '])(' | grep -v '^\.\./'); do
        demand "$page: $link must be installed" test -e "$(dirname "$page")/$link"
    done
done
if grep -rlI -F -e "$SOURCE" -e "$BUILD" "$prefix"; then
    echo "install: these files point back into the build"
    exit 1
fi

PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
demand "heed.pc must give the version" test "$(pkg-config --modversion heed)" = "$VERSION"
flags=$(pkg-config --cflags heed | sed 's/ *$//')
demand "heed.pc must give heed's include path alone, not '$flags'" test -e "${flags#-I}/heed/heed.h"
demand "heed.pc must link nothing but heed to a shared program" test "$(pkg-config --libs-only-l heed | tr -d ' ')" = -lheed
# shellcheck disable=SC2046 # flags are words
"$CC" -Wall -Wextra -Werror hello.c -o by_pkg_config $(pkg-config --cflags --libs heed)
demand "by_pkg_config must use libheed.so" uses_shared by_pkg_config
is_heed env LD_LIBRARY_PATH="$lib" ./by_pkg_config
for example in "$SOURCE"/examples/*.c; do # as they say that they are built, strictly C11
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Werror "$example" -o example $(pkg-config --cflags --libs heed) $(grep -o -e ' -lm ' "$example" || :)
done
# the C in docs/encoders.md and in the comments of headers has no warning either
snippet() { # FILE: the lines about texts and vectors
    printf '#include <heed/heed.h>\nint main(void) {\nheed_ctx *cx = heed_open(NULL);\nfloat vectors[2 * 384];\n'
    sed -n 's/^ \* *//; /heed_text_model_open(.*"embed");$/,/heed_embed(/{s/(2, heed_text_width(cx, m))$//;p}' "$1"
    printf 'heed_text_model_free(cx, m);\nheed_close(cx);\n}\n'
}
for file in docs/encoders.md include/heed/task.h; do
    snippet "$SOURCE/$file" >snippet.c
    # shellcheck disable=SC2046
    demand "the code in $file must have no warning" "$CC" -Wall -Wextra -Werror snippet.c -o example $(pkg-config --cflags --libs heed)
done
# shellcheck disable=SC2046
"$CC" -Wall -Wextra -Werror -static hello.c -o by_pkg_config_static $(pkg-config --static --cflags --libs heed)
is_heed ./by_pkg_config_static

"$CMAKE" -S . -B cmake -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$prefix" >>log
"$CMAKE" --build cmake >>log
demand "hello_shared must use libheed.so" uses_shared cmake/hello_shared
is_heed cmake/hello_shared
if uses_shared cmake/hello_static; then
    echo "install: hello_static uses libheed.so"
    exit 1
fi
is_heed cmake/hello_static

# ld.so is told only of what it looks for.
mkdir fake
printf '#!/bin/sh\necho 0\n' >fake/id
printf '#!/bin/sh\nif [ $# = 0 ]; then echo told; else printf "/usr/local/lib: (from ld.so.conf)\\n\\tlibx.so\\n/lib: (builtin)\\n"; fi\n' >fake/ldconfig
chmod +x fake/id fake/ldconfig
for case in /usr/local:told /usr/local/:told /usr:told /opt/heed: "$prefix:" /usr/loc:; do
    said=$(PATH=$scratch/fake:$PATH sh "$SOURCE/tools/ld_cache.sh" "${case%:*}")
    demand "PREFIX=${case%:*}: ld_cache.sh said '$said'" test "$said" = "${case##*:}"
done
