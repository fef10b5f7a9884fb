# The lessons on the Transformer's parts and on teacher forcing: what a dozen small networks learn, within bounds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

kinds() { for kind in png svg csv; do grep -q "\.$kind\$" files || fail "some $kind should be written"; done; }

# ---- the parts ----
expect 0 lesson transformer --seed "$(seed 1)" --out parts
silent
listed parts
kinds
right() { awk -F, -v name="$1" -v column="$2" '$1 == name { print $column }' parts/transformer.csv; } # VARIANT COLUMN
told=2 own=3
[ "$(wc -l <parts/transformer.csv)" = 9 ] || fail "eight variants should be tried"
at_least "the whole, told" "$(right 'the whole' $told)" 97
at_least "the whole, on its own" "$(right 'the whole' $own)" 95
for part in positions residuals 'cross attention'; do
    at_most "no $part, told" "$(right "no $part" $told)" 50
    at_most "no $part, on its own" "$(right "no $part" $own)" 35
done
at_most "no feed-forward" "$(right 'no feed-forward' $own)" "$(right 'the whole' $own) - 20"
at_least "no mask: it copies" "$(right 'no mask' $told)" 97
at_most "no mask, on its own" "$(right 'no mask' $own)" 30
says "with the mask"
tr '\n' ' ' <out | grep -qE "answers before it change by 0; without it by up to [1-9]" ||
    fail "with the mask the future should change nothing, without it something"
# The examples are right: so many days on or back from Sunday.
sed -n 's/^source   *\([+-]\)/\1/p' out | tr ' ' '\n' >moves
sed -n 's/^answer    *//p' out | tr ' ' '\n' >days
paste -d' ' moves days | awk 'BEGIN { split("Sun Mon Tue Wed Thu Fri Sat", name) }
    { day = (day + $1 + 7) % 7; if (name[day + 1] != $2) exit bad = 1 } END { exit bad || NR != 6 }' ||
    fail "the answer should be the days of the source"
awk -F, 'NR > 1 { for (h = 3; h <= 6; h++) s[int((NR - 2) / 12) "," h] += $h; n++ }
    END { for (k in s) if ((s[k] - 1) ^ 2 > 1e-10) exit 1; exit n != 72 }' parts/transformer-cross.csv ||
    fail "each day's weights should sum to 1"
awk -F, 'NR == 2 { first = $2 } { last = $2 } END { exit !(NR == 31 && first > 1.5 && last < 0.1) }' \
    parts/transformer-loss.csv || fail "the loss of the whole should fall"
awk -F, 'NR == 2 { size = $2 } END { exit !(NR == 66 && size > 0 && $2 < 10 && $3 > 5 * $2 && $7 < 0.001 && $5 > 0.1) }' \
    parts/transformer-depth.csv || fail "norms should hold the size, residuals should keep tokens apart"

# ---- teacher forcing ----
expect 0 lesson teacher-forcing --json --dark --quiet --seed "$(seed 1)" --threads 3 --out forcing
silent
holds "passes" "$(result forced_passes) == 300 && $(result mixed_passes) == 6 * 300 && $(result free_passes) == 6 * 300"
at_least "teacher forcing, on its own" "$(result forced_own)" 0.95
at_least "teacher forcing, told" "$(result forced_told)" 0.97
at_most "free running" "$(result free_own)" 0.6
holds "free running is worse than both" "$(result free_own) < $(result mixed_own)"
at_least "free running, the first place" "$(result free_first_place)" 0.9
at_most "free running, the last place" "$(result free_last_place)" 0.4
holds "one pass is as good as six" "$(result one_pass_difference) < 1e-3"
at_least "half-way, told" "$(result half_way_told)" 0.8
holds "half-way" "$(result half_way_step) < 300"
at_least "after what is right" "$(result after_right)" 0.8
at_most "after a mistake" "$(result after_wrong)" 0.4
awk -F, 'NR > 1 { p = NR == 2 ? $2 : p * $2; if ((p - $4) ^ 2 > 1e-10 || $3 > $2 + 0.05) exit bad = 1 }
    END { exit bad || NR != 7 || $3 > $2 - 0.02 }' forcing/teacher-forcing-places.csv ||
    fail "on its own it should fall behind, place by place"
awk -F, 'NR > 1 && ($5 != $1 || $6 != 6 * $1 || $7 != 6 * $1) { exit bad = 1 } END { exit bad || NR != 22 || $5 != 300 }' \
    forcing/teacher-forcing.csv || fail "passes of the decoder: one a step, or six"
# In words, and whatever the number of threads.
expect 0 lesson teacher-forcing --seed "$(seed 1)" --threads 1 --out again
listed again
kinds
says "^teacher forcing  *1  "
says "^free running  *6  "
says "exposure bias"
cmp -s forcing/teacher-forcing-places.csv again/teacher-forcing-places.csv ||
    fail "the number of threads should change nothing"
