# The lessons on masked words, fine-tuning and the class token: what a small BERT learns, within bounds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

result() { sed -n "s/^ *\"$1\": \([-0-9.e]*\),*\$/\1/p" out; } # NAME, of the JSON in out
holds() { # WHAT CONDITION: an awk expression; a number that is missing or not one makes it false
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
}

expect 0 lesson masked-words --json --out gaps
silent
holds "before" "$(result masked_before) < 0.05 && $(result masked_guess) < 0.2"
holds "it learns to fill gaps" "$(result masked_after) > 0.45"
holds "dogs are many" "$(result agrees_2) > 2 * $(result disagrees_2)"
awk -F, 'NR == 2 { first = $2 } END { exit !($2 < 0.5 * first) }' gaps/masked-words-loss.csv || fail "the loss should fall"

expect 0 lesson fine-tuning --json --quiet
silent
holds "pre-training helps" "$(result pre_trained_32) > $(result scratch_32) + 0.02 && $(result pre_trained_64) > $(result scratch_64) + 0.07"
holds "and with many examples both do" "$(result pre_trained_512) > 0.9"

expect 0 lesson class-token --json --threads 3 --out three
silent
holds "the classes part" "$(result after_nearest) > 0.85 && $(result after_nearest) > $(result before_nearest) + 0.2"
holds "the classifier is right" "$(result after_accuracy) > 0.9"
holds "shares of the variance" "$(result after_first) + $(result after_second) <= 1.000001"
holds "one plane" "$(result after_first) + $(result after_second) > $(result before_first) + $(result before_second)"
expect 0 lesson class-token --json --threads 1 --out one
cmp -s one/class-token.csv three/class-token.csv || fail "the number of threads should change nothing"
