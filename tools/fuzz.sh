#!/bin/sh
# fuzz.sh NAME: runs the target tests/fuzz/fuzz_NAME.c over its seeds, and with FUZZ_SECONDS fuzzes it from them. New
# inputs stay in build/fuzz/corpus and serve the next run; what breaks a reader is kept in build/fuzz/finds and the status is 1.
# tests/fuzz/NAME.dict, where there is one, holds the words of its format.
set -eu
cd "$(dirname "$0")/.."
name=$1 seconds=${FUZZ_SECONDS:-0} runs=-1
[ "$seconds" != 0 ] || runs=0
corpus=build/fuzz/corpus/$name log=build/fuzz/$name.log
mkdir -p build/fuzz/finds "$corpus"
set -- "$corpus" "tests/fuzz/corpus/$name"
[ ! -f "tests/fuzz/$name.dict" ] || set -- -dict="tests/fuzz/$name.dict" "$@"
if ! "build/fuzz/tests/fuzz_$name" -runs="$runs" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/finds/$name-" "$@" >"$log" 2>&1; then
    grep -n -A 30 -E 'ERROR|SUMMARY|runtime error' "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
    echo "fuzz: $name: broken by the input above, kept in build/fuzz/finds; all of it is in $log" >&2
    exit 1
fi
echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, nothing found"
