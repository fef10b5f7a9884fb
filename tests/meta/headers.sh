# Every public header compiles alone, in C and in C++, without a warning.
set -eu
compilers=
for cxx in g++ clang++-14; do
    if command -v $cxx >/dev/null; then compilers="$compilers $cxx"; fi
done
[ -n "$compilers" ] || echo "skipped: the headers in C++, for which there is no compiler"
for header in "$SOURCE"/include/heed/*.h; do
    for std in c11 gnu17; do
        "$CC" -x c -std=$std -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -fsyntax-only -I "$SOURCE/include" \
            -include "$header" /dev/null
    done
    for cxx in $compilers; do
        for std in c++11 c++17; do
            $cxx -x c++ -std=$std -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$SOURCE/include" -include "$header" /dev/null
        done
    done
done
