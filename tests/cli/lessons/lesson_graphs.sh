# The lessons on graphs: the karate club, neighbours with and without an order, one attention.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson
for name in karate-club neighbours one-attention; do says "^$name  *[^ ]"; done
wrong 2 "lesson karate-club: takes no data" lesson karate-club --data x
wrong 2 "lesson neighbours: takes no --steps" lesson neighbours --steps 40

# The club: 78 ties, of which 16 are member 1's and 17 member 34's, one layer reaches them, two all members.
expect 0 lesson karate-club --seed "$(seed 1)" --out made/club
silent
listed made/club
expect 0 lesson karate-club --seed "$(seed 1)" --json --out made/club
holds "whom the colours reach" "$(result reached_0) == 2 && $(result reached_1) == 31 && $(result reached_2) == 34"
holds "without learning" "$(result spread_right_3) == 31 && $(result share_range_far) < 0.01"
[ "$(cut -d , -f 1,2,3 made/club/karate-club.csv | sed -n '2p;10p;35p')" = "$(printf '1,0,0\n9,0,1\n34,1,1')" ] ||
    fail "members 1, 9 and 34, what they joined and the colour that came to them"
[ "$(wc -l <made/club/karate-club.csv)" = 35 ] || fail "34 members"
[ "$(awk -F, 'NR > 1 { n += $2 } END { print n }' made/club/karate-club.csv)" = 17 ] || fail "half of them joined the president"
at_least "right after learning, three layers" "$(result learnt_right_3)" 27
at_least "right after learning, two layers" "$(result learnt_right_2)" 26
expect 0 lesson karate-club --steps 30
says "they have learnt too little|are put into"
fits

# An order: what shares a matrix is a graph's, whole numbers to the last bit.
expect 0 lesson neighbours --out made/neighbours
silent
listed made/neighbours
expect 0 lesson neighbours --json --seed 5 --out made/neighbours
holds "one matrix is a graph convolution" "$(result shared_difference) < 1e-5 && $(result course_difference) < 1e-5"
holds "a matrix for each offset is none" "$(result own_difference) > 0.5"
holds "a graph's nodes may be renamed" "$(result graph_renamed_rows) < 1e-5 && $(result graph_renamed_whole) == 0 && $(result graph_renamed_sum) == 0"
holds "and reversed" "$(result graph_reversed_whole) == 0 && $(result graph_reversed_sum) == 0"
holds "a sequence may not" "$(result sequence_renamed_rows) > 0.5 && $(result sequence_reversed_whole) > 0"
awk -F, 'NR > 1 { if (($2 - $3) ^ 2 > 1e-10) exit 1; n++ } END { exit n != 8 }' made/neighbours/neighbours.csv || fail "10 - 3 + 1 rows"

# One formula, and GAT's one ranking.
steps=
learns || steps='--steps 30'
expect 0 lesson one-attention --seed "$(seed 1)" $steps --out made/one
silent
listed made/one
expect 0 lesson one-attention --seed "$(seed 1)" $steps --json --out made/one
holds "three ways" "$(result graph_difference) < 1e-5 && $(result non_local_difference) < 1e-5 && $(result ring_difference) < 1e-5"
holds "a ring is another graph" "$(result ring_from_full) > 0.01"
[ "$(result gat_rankings)" = 1.0 ] && [ "$(result gat_favourites)" = 1.0 ] || fail "GAT has one ranking for all queries"
awk -F, 'NR > 1 { for (k = 3; k <= 5; k++) sum[$1, k] += $k } END { for (i in sum) { n++; if ((sum[i] - 1) ^ 2 > 1e-9) exit 1 } exit n != 24 }' \
    made/one/one-attention-lookup.csv || fail "weights should sum to 1"
if learns; then
    at_least "dot products look it up" "$(result dot_right)" 0.9
    at_least "GATv2 looks it up" "$(result gatv2_right)" 0.6
    at_most "GAT cannot" "$(result gat_right)" 0.35
fi
