# The lessons on pictures: what small networks learn, within bounds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson patches --json --seed "$(seed 1)"
at_least "accuracy of digits" "$(result accuracy)" 0.88
holds "random at first" "$(result before_1) < 0.1 && $(result before_1) > -0.1"
at_least "neighbours become alike" "$(result after_1)" 0.3
at_least "more than those further away" "$(result after_1)" "$(result after_3) + 0.15"

expect 0 lesson augmentation --json --seed "$(seed 1)"
at_least "augmentation of 100 pictures" "$(result augmented_100)" "$(result plain_100) + 0.05"
at_least "augmentation of 200 pictures" "$(result augmented_200)" "$(result plain_200) + 0.05"
at_least "1600 pictures instead of 100" "$(result plain_1600)" "$(result plain_100) + 0.15"

expect 0 lesson class-token-map --json --seed "$(seed 1)"
at_least "the red shape is named" "$(result accuracy)" 0.85
at_least "and looked at" "$(result layer_1)" "2 * $(result area)"
