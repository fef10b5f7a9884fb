# The lessons on windows, blocks and latents: their figures against those found here, from the tables or by counting.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson sparse-attention --out made/sparse
silent
listed made/sparse
expect 0 lesson sparse-attention --json --out made/sparse
holds "pairs nearer than 6 of 64" "$(result window_computed) == 674 / 4096"
holds "what is left out" "$(result window_kept) < 0.7 && $(result blocks_kept) < 0.8 && $(result exact_kept) > 0.9999"
holds "through the first block all is heard of" "$(result blocks_two_layers) == 1 && $(result window_two_layers) < 0.4"
awk -F, 'NR > 1 { for (k = 3; k <= 5; k++) sum[$1, k] += $k
        far = $1 > $2 ? $1 - $2 : $2 - $1; want = far > 20 ? 0 : far == 0 ? 1 : int((far + 4) / 5)
        if ($6 != want && far != 0 && !($6 == 0 && want == 4)) exit 1 }
    END { for (i in sum) { n++; if ((sum[i] - 1) ^ 2 > 1e-9) exit 1 } exit n != 192 }' made/sparse/sparse-attention.csv ||
    fail "weights should sum to 1, and a window reach 5 tokens further with each layer"

steps=250
learns || steps=30
expect 0 lesson perceiver --steps $steps --seed "$(seed 1)" --out made/perceiver
listed made/perceiver
awk -F, 'NR > 1 { for (k = 3; k <= 6; k++) sum[$1, k] += $k } END { for (i in sum) { n++; if ((sum[i] - 1) ^ 2 > 1e-8) exit 1 } exit n != 64 }' \
    made/perceiver/perceiver.csv || fail "rows through latents should sum to 1"
if learns; then
    carried() { sed -n "$1p" made/perceiver/perceiver-latents.csv | cut -d , -f 2; } # LINE
    at_least "what most latents carry" "$(carried '$')" 0.6
    at_least "more than the fewest" "$(carried '$')" "$(carried 2) + 0.1"
fi
