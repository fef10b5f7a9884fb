# The heed command by itself: help, version, wrong usage, exit status, one line per error.
. "$SOURCE/tests/cli/expect.inc"

expect 0 --version
[ "$(cat "$scratch/out")" = "heed $VERSION" ] || fail "the version should be $VERSION"
[ ! -s "$scratch/err" ] || fail "nothing should be said on standard error"
for way in --help -h help; do
    expect 0 $way
    grep -q '^usage: heed COMMAND' "$scratch/out" || fail "no usage in heed $way"
done
expect 2
error_is "no command given: 'heed --help' lists what there is$"
expect 2 no-such-command-at-all
error_is "no-such-command-at-all: unknown command"
expect 2 --no-such-option
error_is "--no-such-option: unknown option"
expect 2 --hlep
error_is "--hlep: unknown option, did you mean '--help'"
expect 2 help no-such-command-at-all
error_is "no-such-command-at-all: unknown command"

"$HEED" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$scratch/commands"
while read -r command; do
    expect 0 "$command" --help
    grep -q "^usage: heed $command" "$scratch/out" || fail "no usage in heed $command --help"
    grep -q '^examples:' "$scratch/out" || fail "no examples in heed $command --help"
    expect 2 "${command}x"
    error_is "${command}x: unknown command, did you mean '$command'"
done <"$scratch/commands"

if [ -w /dev/full ]; then
    status=0
    "$HEED" --help >/dev/full 2>"$scratch/err" || status=$?
    : >"$scratch/out"
    [ "$status" = 1 ] || fail "output that cannot be written should be a failure"
    error_is "standard output: No space left on device$"
else
    echo "skipped: there is no /dev/full"
fi

# Starting is a matter of milliseconds: the best of some tries, of more where other tests keep the machine busy.
if ! grep -q __asan_init "$HEED"; then
    for words in --version list; do
        best=1000000000 tries=0
        while [ "$tries" -lt 15 ] || { [ "$best" -ge 10000000 ] && [ "$tries" -lt 200 ]; }; do
            began=$(date +%s%N)
            "$HEED" $words >/dev/null
            took=$(($(date +%s%N) - began))
            [ "$took" -ge "$best" ] || best=$took
            tries=$((tries + 1))
        done
        [ "$best" -lt 10000000 ] || fail "heed $words took $((best / 1000)) microseconds"
    done
fi
