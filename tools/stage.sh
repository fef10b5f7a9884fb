#!/bin/sh
# stage.sh STAGE [ONLY]: one stage of the tests: configure, build, test. What each is for:
#
#   release   gcc, the product as it is installed: every test once, on the best instruction set of this CPU
#   address   gcc with AddressSanitizer and UBSan: the same tests; kernels on every set
#   sets      the release build: what computes, on the other instruction sets that this CPU has
#   wide      the address build: what computes, on AVX-512's kernels compiled for AVX2 where the CPU has no AVX-512
#   thread    gcc with ThreadSanitizer: the tests that use threads
#   clang     the product built by clang without a warning; kernels, tensors and attention
#   fuzz      the file readers over their seeds, and with FUZZ_SECONDS fuzzed by libFuzzer for so long each
#   full      the release build: what learns for minutes (the demo, lessons), and the page in Chromium
#
# `make test` is release and address; `make test-all` is all of them. A stage leaves in build/stages STAGE.log (what its
# tests said), STAGE.counts and, only when all went well, STAGE.passed with the time at which it began: a file changed
# since then makes the stage run again.
#
# What learns is asserted for one seed on one instruction set; `make check-seeds` (tools/check_seeds.sh) asks for the others.
#
# With ONLY, a regular expression, only the tests whose names match are built and run, and no file is left but the log.
set -eu
cd "$(dirname "$0")/.."
stage=$1 only=${2:-}
state=build/stages/$stage
mkdir -p build/stages
began=$(date +%s)

# dir: what is built. target: in it. options: how. The arguments: which tests ctest runs.
dir=$stage target=all run=
options="-DHEED_WERROR=ON -DHEED_TESTS=ON"
debug="-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1" # lines are enough for what a sanitizer says; 200 programs hold them
set -- -LE '^(sets|full)$'
case $stage in
release | sets | full) dir=release ;;
address | wide)
    dir=address
    # Vectors of 16 numbers are tested where AVX-512 is lacking too.
    wide=wide
    if grep -q avx512vl /proc/cpuinfo 2>/dev/null; then wide=avx512; fi
    options="$options $debug -DHEED_SANITIZE=address -DHEED_ISAS=baseline;avx2;$wide"
    ;;
thread)
    # Races do not depend on the instruction set.
    options="$options $debug -DHEED_SANITIZE=thread -DHEED_ISAS=baseline"
    target=thread_tests
    set -- -L '^threads$'
    # ThreadSanitizer lays out memory itself and cannot work with every randomised layout.
    if setarch -R true 2>/dev/null; then run="setarch -R"; fi
    ;;
clang)
    options="$options -DCMAKE_C_FLAGS_RELEASE=-O1" # nobody debugs it; its warnings and kernels count
    set -- -R '^(kernel|tensor|attention)/' "$@"
    ;;
fuzz)
    target=fuzz_targets
    options="-DHEED_WERROR=ON $debug -DHEED_FUZZ=ON -DHEED_ISAS=baseline"
    set --
    ;;
*)
    echo "stage.sh: $stage: no such stage" >&2
    exit 2
    ;;
esac

build() { # "TARGET..."
    # shellcheck disable=SC2086 # options are words
    sh tools/build.sh "$dir" "$1" $options
}
skips() { sed -n 's/.*\(skipped: .*\)/\1/p' "$1" | sort | uniq -c | sed 's/^ *\([0-9]*\) skipped:/    \1 skipped:/'; }
fuzzed() { if [ "$stage" = fuzz ]; then grep -h '^fuzz: ' "build/$dir/Testing/Temporary/LastTest.log" || :; fi; }

if [ -n "$only" ]; then
    # Those of the stage; where none of them matches, those of other stages of the same build.
    build ''
    names() { ctest --test-dir "build/$dir" -N -R "$only" "$@" | sed -n 's/^ *Test *#[0-9]*: //p'; }
    [ -n "$(names "$@")" ] || set --
    targets=$(names "$@" | awk 'NR == FNR { wanted[$1]; next } $1 in wanted { for (i = 2; i <= NF; i++) print $i }' - \
        "build/$dir/tests/targets" | sort -u | tr '\n' ' ')
    if [ -z "$targets" ]; then
        echo "$stage: no test's name matches '$only'" >&2
        exit 1
    fi
    # Whoever checks a change also runs what it is part of: the command and libheed.so are not left as they were before.
    if [ "$dir" = release ]; then targets="product $targets"; fi
    build "$targets"
    status=0
    $run sh tools/run_tests.sh build/check "build/$dir" -R "$only" "$@" || status=1
    fuzzed
    awk '{ print $1 " passed, " $2 " failed, " $3 " skipped; all they said is in build/check.log" }' build/check.counts
    skips build/check.log
    exit $status
fi

rm -f "$state.passed" "$state.counts"
touch "$state.began"
build "$target" || {
    echo "0 1 0" >"$state.counts" # a build that fails is one failure
    exit 1
}
case $stage in
sets) set -- -L '^sets$' -E "@$(build/release/tests/with_isa)\$" ;;
wide) set -- -L '^sets$' -R "^(tensor|attention|nn)/.*@$wide\$" ;;
full) set -- -L '^full$' ;;
esac
echo "$stage: testing"
$run sh tools/run_tests.sh "$state" "build/$dir" "$@" || {
    echo "$stage: failed; all of it is in $state.log" >&2
    exit 1
}
fuzzed
read -r passed failed skipped <"$state.counts"
echo "$stage: $passed passed, $failed failed, $skipped skipped in $(($(date +%s) - began)) s"
skips "$state.log"
mv "$state.began" "$state.passed"
