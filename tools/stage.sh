#!/bin/sh
# stage.sh STAGE: one stage of `make test`: configure, build, test. build/STAGE/passed is left, with the time at which
# the stage began, only when all went well; a file changed since then makes the stage run again.
#
#   release   the product as it is installed, gcc
#   address   gcc with AddressSanitizer and UBSan, and the AVX-512 kernels on AVX2's instructions
#   thread    gcc with ThreadSanitizer: the tests that use threads
#   clang     the product built by clang, no warning
#   fuzz      the fuzz targets over their seeds
set -eu
cd "$(dirname "$0")/.."
stage=$1
dir=build/$stage
mkdir -p "$dir"
rm -f "$dir/passed" "$dir/counts"
touch "$dir/began"
began=$(date +%s)

target=all
options="-DHEED_WERROR=ON -DHEED_TESTS=ON"
run=
case $stage in
release) ;;
address) options="$options -DCMAKE_BUILD_TYPE=Debug -DHEED_SANITIZE=address -DHEED_TEST_WIDE=ON" ;;
thread)
    options="$options -DCMAKE_BUILD_TYPE=Debug -DHEED_SANITIZE=thread"
    target=thread_tests
    set -- -L threads
    # ThreadSanitizer lays out memory itself and cannot work with every randomised layout.
    if setarch -R true 2>/dev/null; then run="setarch -R"; fi
    ;;
clang) ;;
fuzz) options="-DHEED_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DHEED_FUZZ=ON" ;;
*)
    echo "stage.sh: $stage: no such stage" >&2
    exit 2
    ;;
esac
[ "$stage" = thread ] || set --

echo "$stage: building"
# shellcheck disable=SC2086 # options are words
sh tools/build.sh "$stage" "$target" $options || {
    echo "0 1 0" >"$dir/counts" # a build that fails is one failure
    exit 1
}
echo "$stage: testing"
$run sh tools/run_tests.sh "$dir" "$@" || {
    echo "$stage: failed; all of it is in $dir/log" >&2
    exit 1
}
read -r passed failed skipped <"$dir/counts"
echo "$stage: $passed passed, $failed failed, $skipped skipped in $(($(date +%s) - began)) s"
grep -h '^skipped: ' "$dir/Testing/Temporary/LastTest.log" | sort | uniq -c | sed 's/^ *\([0-9]*\) skipped:/    \1 skipped:/' || :
mv "$dir/began" "$dir/passed"
