# The heed command by itself: help, version, wrong usage, exit status, one line per error.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect() { # STATUS ARGUMENTS...
    wanted=$1
    shift
    status=0
    "$HEED" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    if [ "$status" != "$wanted" ]; then fail "status $status, expected $wanted: heed $*"; fi
}
fail() {
    echo "$1"
    cat "$scratch/out" "$scratch/err"
    exit 1
}
error_is() { # PATTERN: one line on standard error, nothing on standard output
    if [ -s "$scratch/out" ] || [ "$(wc -l <"$scratch/err")" != 1 ] || ! grep -qE "^heed: $1" "$scratch/err"; then
        fail "the error should be one line like: heed: $1"
    fi
}

expect 0 --version
[ "$(cat "$scratch/out")" = "heed $VERSION" ] || fail "the version should be $VERSION"
[ ! -s "$scratch/err" ] || fail "nothing should be said on standard error"
for way in --help -h help; do
    expect 0 $way
    grep -q '^usage: heed COMMAND' "$scratch/out" || fail "no usage in heed $way"
done
expect 2
error_is "no command given: "
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
    error_is "standard output: "
fi
