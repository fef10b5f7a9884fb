# The lesson on frequencies: halves that add up, gains that follow from formulas, a picture of one's own.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson frequencies --json --out made
silent
at_most "the picture less its low and its high frequencies" "$(result apart)" 1e-5
awk -F, 'NR > 1 { n++; if (($3 + $4 - 1) ^ 2 > 1e-8 || $3 < last) exit bad = 1; last = $3 } END { exit bad || n != 7 }' made/frequencies.csv ||
    fail "variance within a radius and beyond it is all of it, and grows with the radius"
# -1 2 -1: 2 - 2 cos(2 pi k / 64); -1 3 -1: one more; weights of softmax give at most 1, and 1 to the mean
awk -F, 'BEGIN { pi = atan2(0, -1) }
    NR > 1 { n++; edges = 2 - 2 * cos(2 * pi * $1 / 64)
        if (($5 - edges) ^ 2 > 1e-12 || ($6 - edges - 1) ^ 2 > 1e-12) exit bad = 1
        for (i = 2; i <= 4; i++) if ($i > 1 + 1e-9 || ($1 == 0 && $i < 1 - 1e-9)) exit bad = 1 }
    END { exit bad || n != 33 }' made/frequencies-gain.csv || fail "gains"
awk -F, 'NR > 1 { n++; for (i = 2; i <= 5; i++) if ($i > 1 + 1e-9 || (n > 1 && $i >= was[i])) exit bad = 1; else was[i] = $i
        if (n > 1 && $6 <= 1) exit bad = 1 }
    END { exit bad || n != 13 }' made/frequencies-layers.csv || fail "averages damp with every layer, the convolution does not"
at_most "fine waves after softmax by distance" "$(result fine_place)" 0.05
at_least "fine waves after a convolution" "$(result fine_edges)" 2
at_least "coarse waves after softmax by content" "$(result coarse_alike)" 0.8
for name in frequencies frequencies-mixing frequencies-mixed; do [ -s made/$name.png ] && [ -s made/$name.svg ] || fail "$name"; done

# a picture of one's own, which is resized; and what is none
expect 0 lesson frequencies --data made/frequencies.png --json --threads 2
at_most "the same of another picture" "$(result apart)" 1e-5
cp out two
expect 0 lesson frequencies --data made/frequencies.png --json --threads 1
cmp out two || fail "the same bits for any number of threads"
expect 0 lesson frequencies --dark --out dark
fits
wrong 1 'made/frequencies.csv: not a picture.*' lesson frequencies --data made/frequencies.csv
wrong 2 'lesson frequencies: takes no --steps' lesson frequencies --steps 50
