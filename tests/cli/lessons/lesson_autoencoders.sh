# The lessons on autoencoders: distances of random points against their formula; the others in runs too short to learn,
# what they say and write.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

lessons="curse-of-dimensionality generation beta denoising"

expect 0 lesson
for name in $lessons; do says "^$name  *[^ ]"; done
for name in $lessons; do wrong 2 "lesson $name: takes no data" lesson $name --data x; done

for name in $lessons; do
    learns || [ $name = beta ] || continue # one shows a sanitizer what they share
    expect 0 lesson $name --steps 30 --out "few/$name"
    silent
    listed "few/$name"
    fits
    for kind in png svg csv; do grep -q "\.$kind\$" files || fail "$name should write some $kind"; done
    says "steps says how" # nothing is claimed that was not learnt
done
learns || exit 0

# Random points: the mean distance is near sqrt(2 d), and less; the nearest is as far away as any in the end.
awk -F, 'NR > 1 { root = sqrt(2 * $1); if ($2 > root * 1.02 || $2 < 0.8 * root || $3 > $2 || $4 < last) exit bad = 1; last = $4 }
    END { exit bad || NR != 11 || last < 0.9 }' few/curse-of-dimensionality/curse-of-dimensionality.csv ||
    fail "distances of random points"
awk -F, 'END { exit NR != 4 }' few/curse-of-dimensionality/curse-of-dimensionality-codes.csv || fail "three sizes of codes"
awk -F, 'END { exit NR != 1001 }' few/generation/generation-plane.csv || fail "a code for each picture"
awk -F, 'END { exit NR != 7 }' few/beta/beta.csv || fail "six betas"
awk -F, 'NR == 2 && $2 != 0 { exit bad = 1 } END { exit bad || NR != 6 }' few/denoising/denoising.csv ||
    fail "a clean picture as it is given has no error"

expect 0 lesson beta --steps 30 --json
sed '/"files"/,$d' out >once
expect 0 lesson beta --steps 30 --json --threads 1
sed '/"files"/,$d' out >alone
cmp once alone || fail "the same bits for any number of threads"
