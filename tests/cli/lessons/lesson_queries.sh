# The lesson on object queries: its files, and what a small detector learns in seconds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson object-queries --steps 30 --json --out made
silent
sed '/"files"/,$d' out >once
for name in object-queries object-queries-boxes; do [ -s made/$name.png ] && [ -s made/$name.svg ] || fail "$name"; done
awk -F, 'NR > 1 { n++; if ($2 <= 0 || $3 < 0 || $3 > 1 || $5 < 0 || $5 > 1) exit bad = 1 } END { exit bad || n != 4 }' made/object-queries.csv ||
    fail "four moments"
awk -F, 'NR > 1 { n++; for (i = 4; i <= 8; i++) if ($i < 0 || $i > 1) exit bad = 1 } END { exit bad || n != 2400 }' made/object-queries-boxes.csv ||
    fail "two times 200 pictures of 6 queries"
wrong 2 'lesson object-queries: takes no data' lesson object-queries --data x

[ "$QUICK" != 1 ] || exit 0 # a sanitizer has seen it
expect 0 lesson object-queries --steps 30 --json --threads 1
sed '/"files"/,$d' out >alone
cmp once alone || fail "the same bits for any number of threads"

expect 0 lesson object-queries --steps 30 --dark --out dark
fits

learns || exit 0
expect 0 lesson object-queries --seed "$(seed 1)" --json
at_least "objects that were found" "$(result found)" 0.8
at_least "attention on objects after training" "$(result attention)" 0.2
at_most "attention on objects before" "$(result attention_before)" 0.15
at_most "spread of the boxes of one query" "$(result spread_one)" 0.2
