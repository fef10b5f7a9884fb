# The lesson of FNet: its files, and what a fixed mixing can and cannot do.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson fnet --steps 30 --out made
silent
listed made
[ "$(wc -l <made/fnet.csv)" = 170 ] || fail "a row for each pair of tokens"
# the fixed part: cos and sin of 2 pi u t / 13, whose squares sum to 1; rows of attention sum to 1
awk -F, 'NR > 1 { if (($3 ^ 2 + $4 ^ 2 - 1) ^ 2 > 1e-10) exit 1; s[$1] += $5; o[$1] += $6 }
    END { for (k in s) { n++; if ((s[k] - 1) ^ 2 > 1e-10 || (o[k] - 1) ^ 2 > 1e-10) exit 1 } exit n != 13 }' made/fnet.csv ||
    fail "the matrices"

learns || exit 0
expect 0 lesson fnet --json --seed "$(seed 1)"
at_least "counting with Fourier mixing" "$(result fourier_most)" 0.8
at_least "counting with attention" "$(result attention_most)" 0.8
at_least "finding with attention" "$(result attention_beside)" 0.9
at_most "finding with Fourier mixing" "$(result fourier_beside)" 0.5
