# The lesson on in-context learning: with 4 examples in the context at least 30 points above none, with two seeds; and
# the head that does it lies above the first layer.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

result() { sed -n "s/^ *\"$1\": \([-0-9.e]*\),*\$/\1/p" out; } # NAME, of the JSON in out
holds() { # WHAT CONDITION: an awk expression; a number that is missing or not one makes it false
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
}
for seed in 1 2; do
    expect 0 lesson in-context --json --quiet --seed $seed
    holds "seed $seed: nothing is known without examples" "$(result accuracy_0) < 0.25"
    holds "seed $seed: four examples help" "$(result accuracy_4) >= $(result accuracy_0) + 0.3"
    holds "seed $seed: the induction head" "$(result induction_layer) == 1 && $(result induction_weight) > 0.3"
done
