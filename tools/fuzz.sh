#!/bin/sh
# fuzz.sh SECONDS [TARGET]: fuzzes each target (or one) for that long. New inputs stay in build/fuzz/corpus and serve
# the next run; what breaks a reader is kept in build/fuzz/finds and the status is 1.
set -eu
cd "$(dirname "$0")/.."
seconds=$1 only=${2:-}
echo "fuzz: building"
sh tools/build.sh fuzz all -DHEED_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DHEED_FUZZ=ON
mkdir -p build/fuzz/finds
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
count=0
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    [ -e "$source" ] || continue
    [ -z "$only" ] || [ "$only" = "$name" ] || continue
    count=$((count + 1))
    corpus=build/fuzz/corpus/$name log=build/fuzz/$name.log
    mkdir -p "$corpus"
    if [ -d "tests/fuzz/corpus/$name" ]; then cp -R "tests/fuzz/corpus/$name/." "$corpus"; fi
    if ! "build/fuzz/tests/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/finds/$name-" "$corpus" >"$log" 2>&1; then
        grep -n -A 30 -E 'ERROR|SUMMARY|runtime error' "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
        echo "fuzz: $name: broken by the input above, kept in build/fuzz/finds; all of it is in $log" >&2
        exit 1
    fi
    echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, nothing found"
done
if [ "$count" = 0 ]; then
    echo "fuzz: ${only:-tests/fuzz}: no such target" >&2
    exit 1
fi
