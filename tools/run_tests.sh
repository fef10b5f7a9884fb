#!/bin/sh
# run_tests.sh NAME DIR [CTEST OPTIONS...]: runs the tests of the built directory DIR. What they say goes to NAME.log,
# "passed failed skipped" to NAME.counts; failed tests are shown with what they said. The status is that of ctest: any
# failure is one.
set -eu
name=$1 dir=$2
shift 2
status=0
"${CTEST:-ctest}" --test-dir "$dir" --output-on-failure --no-tests=error -j "$(nproc)" "$@" >"$name.log" 2>&1 || status=$?

# "12/40 Test #12: base/arena ....   Passed    0.02 sec"; anything but Passed and Skipped is a failure.
awk '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
        if ($0 ~ /   Passed  /) passed++
        else if ($0 ~ /\*\*\*Skipped/) skipped++
        else failed++
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$name.log" >"$name.counts"
# ctest shows no output of skipped tests; why they were skipped is in its own log.
grep -h '^skipped: ' "$dir/Testing/Temporary/LastTest.log" >>"$name.log" 2>/dev/null || :

if [ "$status" != 0 ]; then
    # Each failed test: its line and, up to the next test, what it printed.
    awk '
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { show = $0 !~ /   Passed  / && $0 !~ /\*\*\*Skipped/ }
        /^ *Start +[0-9]+: / { next }
        /tests passed, [0-9]+ tests? failed/ { show = 1 }
        show' "$name.log" | tail -n 200
fi
exit "$status"
