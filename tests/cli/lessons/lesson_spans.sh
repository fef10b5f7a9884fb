# The lesson on spans and sentinels, in a run too short to learn: what it says and writes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
expect 0 lesson
says "^spans  *[^ ]"
expect 0 lesson spans --steps 30 --out few
silent
fits
says " 30 steps"
says "^  input     .*<0>"
says "^  target    <0> "
says "^  model     "
for name in spans spans-attention; do
    for kind in png svg csv; do [ -s "few/$name.$kind" ] || fail "$name.$kind should be written"; done
done
awk -F, 'NR > 1 { sum[$1] += $3 } END { exit !(NR > 20) }' few/spans-attention.csv || fail "the map should have rows"
awk -F, 'END { exit !(NR == 31) }' few/spans.csv || fail "a thirtieth of the steps should be a point"
wrong 2 "lesson spans: takes no data" lesson spans --data x
[ "$QUICK" != 1 ] || exit 0 # a sanitizer has seen it
expect 0 lesson spans --steps 30 --json
cp out once
expect 0 lesson spans --steps 30 --json --threads 2
cmp out once || fail "the same bits for any number of threads"
