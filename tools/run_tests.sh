#!/bin/sh
# run_tests.sh DIR [CTEST OPTIONS...]: runs the tests of a built directory, appends to DIR/log, writes "passed failed
# skipped" to DIR/counts, and shows failed tests with what they said. The status is that of ctest: any failure is one.
set -eu
dir=$1
shift
output=$dir/tests.log
status=0
"${CTEST:-ctest}" --test-dir "$dir" --output-on-failure --no-tests=error -j "$(nproc)" "$@" >"$output" 2>&1 || status=$?

# "12/40 Test #12: base/arena ....   Passed    0.02 sec"; anything but Passed and Skipped is a failure.
awk '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
        if ($0 ~ /   Passed  /) passed++
        else if ($0 ~ /\*\*\*Skipped/) skipped++
        else failed++
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$output" >"$dir/counts"
cat "$output" >>"$dir/log"

if [ "$status" != 0 ]; then
    # Each failed test: its line and, up to the next test, what it printed.
    awk '
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { show = $0 !~ /   Passed  / && $0 !~ /\*\*\*Skipped/ }
        /^ *Start +[0-9]+: / { next }
        /tests passed, [0-9]+ tests? failed/ { show = 1 }
        show' "$output" | tail -n 200
fi
exit "$status"
