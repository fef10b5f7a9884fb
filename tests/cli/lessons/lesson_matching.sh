# The lesson on matching: numbers that can be worked out by hand.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson
says "^matching  *[^ ]"
wrong 2 "lesson matching: takes no data" lesson matching --data x

# Query 1 and object A: L1 0.08 + 0.02, GIoU 0.0216 / 0.0584 - (0.28 x 0.22 - 0.0584) / (0.28 x 0.22).
expect 0 lesson matching --json --out made
silent
[ "$(result ways)" = 24.0 ] || fail "4 x 3 x 2 ways"
[ "$(result query_left_over)" = 4.0 ] || fail "query 4 should be left over"
holds "greedy is not the best" "$(result greedy_cost) > $(result least_cost) + 0.1 && $(result ways_below_greedy) >= 1"
awk -F, 'NR == 2 { g = 0.0216 / 0.0584 - (0.0616 - 0.0584) / 0.0616
        if (($3 - 0.1) ^ 2 > 1e-10 || ($5 - g) ^ 2 > 1e-10 || ($6 - (0.5 - 0.7 - 2 * g)) ^ 2 > 1e-10) exit bad = 1 }
    NR > 1 { least += $7 * $6; greedy += $8 * $6; pairs += $7; taken += $8 }
    END { print least, greedy >"sums"; exit bad || NR != 13 || pairs != 3 || taken != 3 }' made/matching.csv || fail "costs"
read -r least greedy <sums
holds "sums of the costs" "($least - $(result least_cost)) ^ 2 < 1e-8 && ($greedy - $(result greedy_cost)) ^ 2 < 1e-8"
for kind in png svg; do [ -s made/matching.$kind ] || fail "matching.$kind should be written"; done
expect 0 lesson matching
fits
says "A gives up 1 for 2"
says "Query 4 is left over"
