# The lessons on masked words, fine-tuning and the class token: what a small BERT learns, within bounds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson masked-words --json --seed "$(seed 1)" --out gaps
silent
holds "before" "$(result masked_before) < 0.05 && $(result masked_guess) < 0.2"
at_least "gaps that are filled" "$(result masked_after)" 0.45
at_least "dogs are many" "$(result agrees_2)" "2 * $(result disagrees_2)"
awk -F, 'NR == 2 { first = $2 } END { exit !($2 < 0.5 * first) }' gaps/masked-words-loss.csv || fail "the loss should fall"

expect 0 lesson fine-tuning --json --quiet --seed "$(seed 1)"
silent
at_least "pre-trained, 32 examples" "$(result pre_trained_32)" "$(result scratch_32) + 0.02"
at_least "pre-trained, 64 examples" "$(result pre_trained_64)" "$(result scratch_64) + 0.07"
at_least "pre-trained, 512 examples" "$(result pre_trained_512)" 0.9

expect 0 lesson class-token --json --threads 3 --seed "$(seed 1)" --out three
silent
at_least "neighbours of a class" "$(result after_nearest)" 0.85
at_least "more of them than before" "$(result after_nearest)" "$(result before_nearest) + 0.2"
at_least "accuracy of the classifier" "$(result after_accuracy)" 0.9
holds "shares of the variance" "$(result after_first) + $(result after_second) <= 1.000001"
holds "one plane" "$(result after_first) + $(result after_second) > $(result before_first) + $(result before_second)"
expect 0 lesson class-token --json --threads 1 --seed "$(seed 1)" --out one
cmp -s one/class-token.csv three/class-token.csv || fail "the number of threads should change nothing"
