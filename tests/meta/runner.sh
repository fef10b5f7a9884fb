# The runner of the tests fails when a test fails: a project of tests of which one passes and the others fail by an
# assertion, by a NaN, by a crash and by not being there is run by the script that `make test` uses.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() { # NAME...: tests of these kinds; leaves the status in $status and what was said in output
    rm -rf "$scratch"/*
    for name in "$@"; do echo "add_test($name \"$FAILS\" $name)"; done >"$scratch/CTestTestfile.cmake"
    sed -i "s|add_test(missing \"[^\"]*\"|add_test(missing \"$scratch/not-there\"|" "$scratch/CTestTestfile.cmake"
    status=0
    (cd "$scratch" && sh "$SOURCE/tools/run_tests.sh" "$scratch/stage" "$scratch") >"$scratch/output" 2>&1 || status=$?
    counts=$(cat "$scratch/stage.counts")
}
demand() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then return; fi
    echo "runner: $what"
    cat "$scratch/output" "$scratch/stage.log"
    exit 1
}

run none
demand "a test that passes must pass" test "$status" = 0
demand "one passed test is counted as $counts" test "$counts" = "1 0 0"
for kind in assertion nan crash missing; do
    run none $kind
    demand "$kind: the status must not be 0" test "$status" != 0
    demand "$kind: the counts are $counts" test "$counts" = "1 1 0"
    demand "$kind: the test is not named" grep -q $kind "$scratch/output"
done
run skip
demand "why something was skipped must be kept" grep -qx 'skipped: for a reason' "$scratch/stage.log"
run nan
demand "what the failed test said must be shown" grep -q 'the error is nan' "$scratch/output"
run
demand "a project without tests must not pass" test "$status" != 0
