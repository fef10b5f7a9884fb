# The lessons on attention: each with --out, its figures against others found here from the tables, data of one's own,
# and what is wrong with it. What all lessons share is tried in lesson.sh.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

lessons="scoring distance-and-dot multi-head worked-example memory keys-and-queries positions masking performer"
expect 0 lesson
for name in $lessons; do says "^$name  *[^ ]"; done

# Some train for seconds; what they learn is tried below.
few() { case $1 in memory | multi-head) echo "--steps 40" ;; esac }

# Every lesson: pictures and tables, and what is written is what is listed.
for name in $lessons; do
    # shellcheck disable=SC2046 # options are words
    expect 0 lesson "$name" $(few "$name") --out "made/$name"
    silent
    if grep -q "$(printf '\033')" out; then fail "no escapes should go into a file"; fi
    sed -n '1,/^Written:/p' out | sed '$d' >"$name.text"
    listed "made/$name"
    for kind in png svg csv; do grep -q "\.$kind\$" files || fail "$name should write some $kind"; done
done

# Rows of weights sum to 1: of scores with softmax, of temperatures, of questions, of masks that hide not all.
sums() { # FILE COLUMNS: the weights, in the last column, grouped by so many columns
    awk -F, -v n="$2" 'NR > 1 { k = ""; for (i = 1; i <= n; i++) k = k "," $i; s[k] += $NF }
        END { for (k in s) { m++; if ((s[k] - 1) ^ 2 > 1e-10) exit 1 } exit !(m > 1) }' "$1" ||
        fail "$1: weights should sum to 1"
}
sums made/scoring/scoring.csv 1
sums made/scoring/scoring-temperature.csv 1
sums made/keys-and-queries/keys-and-queries.csv 1
sums made/keys-and-queries/keys-and-queries-learnt.csv 1
grep -v 'blind row,sat' made/masking/masking.csv >seen.csv
sums seen.csv 2
awk -F, '/^blind row,sat/ { n++; if ($4 != 0) exit 1 } END { exit !(n == 6) }' made/masking/masking.csv ||
    fail "the row that sees nothing should be zeros"

# What has not been learnt is not claimed; tables of numbers need no ramp of shades.
cp multi-head.text out
says "^The two heads have not specialised"
says "^One head alone +[0-9.]+ +[0-9.]+$"
cp memory.text out
says "^by chance +50\.0 %"
cp scoring.text out
if grep -q '░' out; then fail "numbers have no shades in a file"; fi

expect 0 lesson scoring --json
holds "softmax of distances is the Gaussian kernel" "$(result distance_and_gaussian) <= 1e-6"
holds "a large dot product is a cold softmax" "$(result largest_dot) > 0.8 && $(result largest_scaled) < 0.4"
# The keys of the lesson once more: weights by dot, distance, boxcar and Epanechnikov.
awk -F, 'BEGIN { x["east"] = 1; y["east"] = 0; x["far east"] = 2.6; y["far east"] = 0.2; x["north-east"] = y["north-east"] = 1
        x["north"] = 0.1; y["north"] = 1.5; x["west"] = -1.4; y["west"] = 0.2; x["south"] = -0.1; y["south"] = -1.4
        for (k in x) { dot[k] = exp(1.2 * x[k] + 0.4 * y[k]); sd += dot[k]
            far[k] = (1.2 - x[k]) ^ 2 + (0.4 - y[k]) ^ 2; near[k] = exp(-far[k] / 2); sn += near[k]
            box[k] = far[k] <= 1; sb += box[k]; ep[k] = far[k] < 1 ? 1 - far[k] : 0; se += ep[k] } }
    $1 == "dot" { n++; if (($3 - dot[$2] / sd) ^ 2 > 1e-10) exit bad = 1 }
    $1 == "distance" { n++; if (($3 - near[$2] / sn) ^ 2 > 1e-10) exit bad = 1 }
    $1 == "boxcar" { n++; if (($3 - box[$2] / sb) ^ 2 > 1e-10) exit bad = 1 }
    $1 == "epanechnikov" { n++; if (($3 - ep[$2] / se) ^ 2 > 1e-10) exit bad = 1 }
    END { exit bad || n != 24 }' made/scoring/scoring.csv || fail "scores should be those of their formulas"

# Weights sum to 1, and errors follow from the maps; each kind of features falls with their number, positive ones are weights.
sums made/performer/performer-maps.csv 2
awk -F, 'NR > 1 && $1 == "exact" { exact[$2, $3] = $4; size += $4 ^ 2 }
    $1 == "1024 positive features" { wrong += ($4 - exact[$2, $3]) ^ 2; if ($4 < 0) exit bad = 1 }
    END { e = sqrt(wrong / size); exit bad || !(e > 0.05 && e < 0.6) }' made/performer/performer-maps.csv ||
    fail "1024 positive features should give about the exact map"
expect 0 lesson performer --json
for kind in positive positive_orthogonal hyperbolic_orthogonal trigonometric; do
    holds "$kind: the error falls as 1 / sqrt(m)" "$(result "exponent_soft_$kind") < -0.4 && $(result "exponent_soft_$kind") > -0.6"
done
holds "positive features give no negative weights" "$(result negative_sharp_positive_64) == 0 && $(result negative_sharp_trigonometric_64) > 0.02"
holds "orthogonal rows err less" "$(result error_soft_positive_orthogonal_256) < $(result error_soft_positive_256) && $(result error_sharp_trigonometric_orthogonal_256) < $(result error_sharp_trigonometric_256)"
holds "sharp attention needs more features" "$(result error_sharp_positive_orthogonal_256) > 3 * $(result error_soft_positive_orthogonal_256)"

expect 0 lesson worked-example --json
holds "scores" "$(result score_1) == 112 && $(result score_2) == 96 && $(result divided_1) == 14 && $(result divided_2) == 12"
holds "softmax" "($(result weight_1) - 0.880797) ^ 2 < 1e-11 && ($(result weight_2) - 0.119203) ^ 2 < 1e-11"
holds "the kernel" "$(result difference) <= 1e-6"
cp worked-example.text out
says "0\.88 v1 \+ 0\.12 v2"
awk -F, 'NR > 1 { n++; if (($1 * 0.8807970 + $2 * 0.1192029 - $3) ^ 2 > 1e-11) exit 1 } END { exit !(n == 6) }' \
    made/worked-example/worked-example-values.csv || fail "z1 should be 0.88 v1 + 0.12 v2"

expect 0 lesson distance-and-dot --json
holds "equal norms" "$(result equal_difference) <= 1e-6 && $(result mended_difference) <= 1e-6"
holds "unequal norms" "$(result unequal_difference) > 0.1"
holds "normalised inputs, unequal keys" "$(result key_norm_largest) > 1.2 * $(result key_norm_least)"

if learns; then
    expect 0 lesson multi-head --json --seed "$(seed 1)"
    holds "numbers to learn" "$(result numbers) == 4 * 512 * 512 + 4 * 512"
    holds "heads differ" "$(result heads_apart) > 0.2"
    at_least "two heads: the token before" "$(result two_heads_before)" 0.95
    at_least "two heads: the first token" "$(result two_heads_first)" 0.95
    at_least "one looks at the token before" "$(result weight_on_before)" 0.85
    at_least "one looks at the first" "$(result weight_on_first)" 0.85
    at_least "one head does not do both: log of its errors" "log(2 - $(result one_head_before) - $(result one_head_first))" "log(0.05)"

    expect 0 lesson memory --json
    holds "composite" "$(result composite_sum) == 5"
    holds "forgetting" "($(result forgetting_weight_of_star) - 0.6 ^ 4) ^ 2 < 1e-10"
    holds "sigmoid attends to everyone" "$(result sigmoid_least_weight) > 0.6 && $(result sigmoid_sum) > 4.2"
    holds "on average too" "$(result sigmoid_mean_least_weight) > 0.8 && $(result softmax_mean_weight_of_star) > 0.45"
    holds "softmax is finite" "($(result softmax_sum) - 1) ^ 2 < 1e-10 && $(result softmax_weight_of_star) > 0.5"
    holds "the star stays" "$(result softmax_star_first) > $(result forgetting_star_first) + 0.1"
    holds "the others do not" "$(result softmax_others) < $(result composite_others)"
fi

expect 0 lesson keys-and-queries --json --seed "$(seed 1)"
holds "Scientist" "$(result answer_1) == 4 && $(result weight_1) > 0.5"
holds "Musician" "$(result answer_2) == 0 && $(result weight_2) > 0.5"
holds "questions" "$(result questions) > 20"
at_least "share of right answers" "$(result right) / $(result questions)" 0.9

expect 0 lesson positions --json
holds "order" "$(result reversed_plain) < 1e-5 && $(result reversed_with_positions) > 0.1"
holds "sine" "$(result sine_product_0) == 32 && $(result sine_shift_difference) < 1e-4"
holds "falls at first, then wavers" "$(result sine_product_5) < 24 && $(result sine_rise) > 1"
holds "rotary" "$(result rotary_difference) < 1e-3"
holds "rotary fails beyond the distances that it learnt" "$(result beyond_within) < 0.5 && $(result beyond_rotary) > 10 * $(result beyond_alibi)"
holds "ALiBi and T5" "$(result alibi_first_slope) == 0.5 && $(result alibi_last_slope) == 2 ^ -8 && $(result t5_far_bucket) == 15"
awk -F, 'NR > 1 { s = 0; for (i = 2; i <= NF; i++) { if (w[i] + 0 > $i) exit 1; w[i] = $i } }' \
    made/positions/positions-alibi.csv || fail "with ALiBi weights should grow towards the query"

expect 0 lesson masking --json
holds "causality" "$(result causal_change) == 0 && $(result plain_change) > 0"
holds "padding" "$(result padding_difference) <= 1e-6 && $(result padding_answer) == 0"
holds "nothing seen" "$(result blind_answer) == 0 && $(result blind_gradients_finite) == 1"

# The number of threads changes nothing; another seed something.
for name in multi-head keys-and-queries masking; do
    # shellcheck disable=SC2046
    expect 0 lesson $name $(few $name) --threads 3
    cmp -s out $name.text || fail "$name: the number of threads should change nothing"
done
expect 0 lesson masking --seed 2
! cmp -s out masking.text || fail "another seed should give other words"

# Data of one's own.
printf 'query,1,0,0\nalpha,1,0,0\nbeta,0,3,0\ngamma,0,0,2\n' >own.csv
expect 0 lesson scoring --data own.csv --out own
says "a query and 3 keys of 3 numbers"
says "^distance .*alpha"
awk -F, '$1 == "dot" && $2 == "alpha" { n++; if (($3 - exp(1) / (exp(1) + 2)) ^ 2 > 1e-10) n = 9 } END { exit n != 1 }' \
    own/scoring.csv || fail "the weight of alpha"
expect 0 lesson distance-and-dot --data own.csv --json
holds "own keys" "$(result equal_difference) <= 1e-6 && $(result unequal_difference) > 0.05"
printf 'query,1,0\nal\033[31mpha,1,0\n"be\nta",0,3\n' >wicked.csv
expect 0 lesson scoring --data wicked.csv
says "al \[31mpha"
says "be ta"
if grep -q "$(printf '\033')" out; then fail "control characters of the table should not be printed"; fi
printf '1,2\n3,4\n5,6\n' >plain.csv
expect 0 lesson scoring --data plain.csv
says "key 2"
cat >asked.csv <<'END'
question,answer
where is my dog,Vet
my cat is ill,Vet
the cat and the dog bite,Vet
my car is broken,Mechanic
the engine smokes,Mechanic
my brakes are bad,Mechanic
is my cat bad,
the car smokes,
END
expect 0 lesson keys-and-queries --data asked.csv --out own
says "6 questions with answers, 2 without"
says "'is my cat bad'"
says "> Vet, weight 0\.[5-9]"
says "> Mechanic, weight (0\.[5-9]|1\.00)"
[ "$(grep -c '^the car smokes,' own/keys-and-queries.csv)" = 2 ] || fail "both people should be weighed"

# What is wrong, in one sentence.
for name in multi-head worked-example memory positions masking; do
    wrong 2 "lesson $name: takes no data" lesson $name --data own.csv
done
for name in scoring distance-and-dot keys-and-queries; do
    wrong 1 "missing.csv: No such file" lesson $name --data missing.csv
    : >empty.csv
    wrong 1 'empty.csv: the table is empty$' lesson $name --data empty.csv
done
wrong 2 "lesson: scorign: unknown lesson, did you mean 'scoring'" lesson scorign
printf '1,2\n3,4\n' >few.csv
wrong 1 "few.csv: 2 rows, the lesson takes a query and 2 to 40 keys" lesson scoring --data few.csv
printf '1,2\n3,four\n5,6\n' >word.csv
wrong 1 "word.csv: line 2.*four" lesson scoring --data word.csv
printf '1,2\n3,nan\n5,6\n' >nan.csv
wrong 1 "nan.csv: row 2, column 2: not a number" lesson distance-and-dot --data nan.csv
printf 'a\nb\nc\n' >words.csv
wrong 1 "words.csv: 0 columns of numbers" lesson scoring --data words.csv
printf 'one,two,three\na,b,c\n' >wide.csv
wrong 1 "wide.csv: 3 columns, the lesson takes two" lesson keys-and-queries --data wide.csv
printf 'a b,X\nb c,X\nd,\n' >one.csv
wrong 1 "one.csv: fewer than two different answers" lesson keys-and-queries --data one.csv
printf 'a b,X\nb c,Y\n' >none.csv
wrong 1 "none.csv: 0 questions without an answer" lesson keys-and-queries --data none.csv
