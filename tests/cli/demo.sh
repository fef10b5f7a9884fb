# heed demo: what it shows, writes and refuses.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 demo --quiet --out made/below
silent
says '^Two spirals, 400 points'
says '^After 1500 steps in .* it tells (100\.0|9[89]\.[0-9]) % of the points apart'
says '^written: made/below/spirals.png$'
[ "$(head -c 4 made/below/spirals.png | tail -c 3)" = PNG ] || fail "the picture should be a PNG"
says '^The loss after 20 steps, to the last bit:  (.*) with 1 thread, \1 with 2\.$'
says '^Memory of a step:  ([0-9]+) bytes planned beforehand, \1 bytes used\.$'
if grep -q "$(printf '\033')" out; then fail "no escapes should go into a file"; fi
grep '^The loss' out >first
expect 0 demo --seed 2
grep -q '^  step 1500 of 1500' err || fail "progress should be plain lines where there is no terminal"
if grep '^The loss' out | cmp -s - first; then fail "another seed should give another run"; fi

: >file
wrong 2 "demo: 'x' is one word too many; expected: options only" demo x
wrong 1 'demo: memory: .* budget of 1024 bytes' demo --memory 1K
wrong 1 'file.*: Not a directory' demo --out file/below
