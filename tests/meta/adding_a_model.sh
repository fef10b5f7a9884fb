# docs/adding-a-model.md is followed to the letter: what it shows goes into a copy of the sources, is compiled without a
# warning, and is then in the command and in the tests as the page says. First the check is shown pages that are wrong.
# The golden directory is made where python3, or HEED_PYTHON, has PyTorch and transformers.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=$SOURCE/docs/adding-a-model.md copy=$scratch/copy
fail() {
    echo "$page: $1"
    cat "$scratch/said"
    exit 1
}
run() { "$@" >"$scratch/said" 2>&1 || fail "this should run: $*"; }
says() { grep -qE "$1" "$scratch/said" || fail "it should say: $1"; }

mkdir "$copy"
for part in include src tests/model tests/base tests/io tests/oracle; do
    mkdir -p "$copy/$(dirname $part)"
    cp -r "$SOURCE/$part" "$copy/$part"
done
cp "$SOURCE"/tests/*.h "$copy/tests"
ln -s "$SOURCE/.clang-format" "$copy/.clang-format"

warnings="-Wall -Wextra -Wshadow -Wconversion -Wdouble-promotion -Werror"
compile() { # FILE OBJECT
    # shellcheck disable=SC2086 # options are words
    "$CC" -std=gnu17 -O1 $warnings -fopenmp-simd -DHEED_SOURCE_DIR="\"$SOURCE\"" -I "$copy/include" -I "$copy/src" -I "$copy/tests" -c "$1" -o "$2"
}
# The file that stands behind <!-- FILE -->, the line of the list and the two blocks of Python.
apply() { # PAGE
    file=$(sed -n 's/^<!-- \(src\/model\/[a-z]*\/[a-z]*\.c\) -->$/\1/p' "$1")
    line=$(sed -n 's/^`src\/model\/core\/families.def`: `\(FAMILY([a-z_]*)\)`.*/\1/p' "$1")
    [ "$(echo "$file" | wc -w)" = 1 ] && [ "$(echo "$line" | wc -w)" = 1 ] || return 1
    awk '/^<!-- src\/model\/[a-z]*\/[a-z]*\.c -->$/ { getline; inside = 1; next } inside && /^```$/ { exit } inside' "$1" >"$copy/$file"
    cp "$SOURCE/src/model/core/families.def" "$copy/src/model/core"
    echo "$line" >>"$copy/src/model/core/families.def"
    compile "$copy/$file" "$scratch/family.o" 2>"$scratch/said" && compile "$copy/src/model/core/model.c" "$scratch/list.o" 2>>"$scratch/said"
}
# shellcheck disable=SC2046 # words
link() { # PROGRAM OBJECT...: with the family and the list of families in the place of those of the build
    program=$1
    shift
    "$CC" -o "$program" "$@" "$scratch/family.o" "$scratch/list.o" "$BUILD/libheed_inside.a" \
        $(pkg-config --libs jansson zlib cairo libutf8proc libpcre2-8 libpng libjpeg cmocka) -lm -pthread
}

sed 's/MAX_LAYERS/MOST_LAYERS/' "$page" >"$scratch/planted.md"
! apply "$scratch/planted.md" && grep -q MOST_LAYERS "$scratch/said" || fail "the check itself is wrong: it takes a name that is nowhere"
sed 's/`FAMILY(highway)`/`FAMILY(highways)`/' "$page" >"$scratch/planted.md"
: >"$scratch/said"
apply "$scratch/planted.md" || fail "the planted page should compile"
objects=$(cd "$SOURCE" && find src/cli src/lessons -name '*.c' | sed "s|^|$BUILD/CMakeFiles/heed.dir/|; s|\$|.o|")
# shellcheck disable=SC2086
! link "$scratch/heed" $objects 2>"$scratch/said" && grep -q family_highways "$scratch/said" ||
    fail "the check itself is wrong: it takes a line of the list without a family"

# 1. The file, and the layout that `make format` gives
apply "$page" || fail "what it shows is out of date"
if command -v clang-format-14 >/dev/null; then
    run clang-format-14 --dry-run -Werror "$copy/$file"
else
    echo "skipped: the layout of the page's code, since clang-format-14 is not installed"
fi

# 2. The line: the command has the family
# shellcheck disable=SC2086
run link "$scratch/heed" $objects
cd "$scratch"
heed=$scratch/heed
page_command() { # BEGINNING: the command of the page, with `model` as its DIR
    command=$(grep -o "\`heed $1[^\`]*\`" "$page" | head -n 1 | tr -d '\`' | sed "s|^heed|$heed|; s|DIR|model|")
    [ -n "$command" ] || fail "there should be a command: heed $1"
}
page_command 'new highway'
# shellcheck disable=SC2086
run $command --quiet
page_command 'train classify --model highway'
rm -r model
# shellcheck disable=SC2086
run $command --steps 20 --quiet
# shellcheck disable=SC2086
"$heed" train classify --model highway --data digits --out less --steps 20 --memory 1K >said 2>&1 && fail "--memory should be held"
says '^heed: train classify: needs [0-9]+K of memory'
run "$heed" eval model --data digits
says '^accuracy [0-9.]+ %'
run "$heed" info model
says '^family +highway \(heed-highway\): '
width=$(sed -n 's/^ *"input_size": \([0-9]*\),*$/\1/p' model/config.json)
awk -v n="$width" 'BEGIN { for (i = 0; i < n; i++) printf "%s0.5", i ? "," : ""; print "" }' >row.csv
run "$heed" predict model --data row.csv
says '^[0-9]	[01]\.'
run "$heed" list
says '^highway .*Srivastava et al\. 2015'
run "$heed" docs models
says 'HeedHighway'

# 4. It is among the small models of the tests
set --
for test in test_families small_model; do
    compile "$copy/tests/model/$test.c" "$scratch/$test.o" 2>said || fail "tests/model/$test.c does not compile"
    set -- "$@" "$scratch/$test.o"
done
run link families "$@"
run env HEED_GOLDEN="$SOURCE/tests/golden" ./families
says '^highway, HeedHighway'

# 3. The golden directory
python=${HEED_PYTHON:-python3}
if ! $python -c 'import numpy, safetensors, torch, transformers' 2>/dev/null; then
    echo "skipped: the golden directory of the page, for which HEED_PYTHON must be a Python with PyTorch, transformers, safetensors and NumPy"
    exit 0
fi
block() { # N: the page's N-th block of Python
    awk -v n="$1" '/^```python$/ { at++; next } /^```$/ && at == n { exit } at == n && !/^```/' "$page"
}
block 1 >class.py
block 2 >make.py
awk 'FNR == 1 { file++ } file == 1 { class = class $0 "\n" } file == 2 { make = make $0 "\n" }
    file == 3 && /^def make\(folder\):$/ { printf "%s\n\n%s\n%s", class, $0, make; next } file == 3' class.py make.py "$SOURCE/tests/oracle/vectors.py" >"$copy/tests/oracle/vectors.py"
mkdir -p golden/model
run "$python" "$copy/tests/oracle/make.py" vectors --only highway --into golden
for name in config.json model.safetensors case.safetensors; do [ -s "golden/model/highway/$name" ] || fail "$name should be written"; done
compile "$copy/tests/model/test_golden.c" golden.o 2>said || fail "tests/model/test_golden.c does not compile"
run link golden_test golden.o small_model.o
run env HEED_GOLDEN="$scratch/golden" HEED_ONLY=highway ./golden_test
