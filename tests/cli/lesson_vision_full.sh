# The lessons on pictures: what small networks learn, within bounds.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

result() { sed -n "s/^ *\"$1\": \([-0-9.e]*\),*\$/\1/p" out; } # NAME, of the JSON in out
holds() { # WHAT CONDITION: an awk expression; a number that is missing or not one makes it false
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
}

expect 0 lesson patches --json
holds "digits are read" "$(result accuracy) > 0.88"
holds "random at first" "$(result before_1) < 0.1 && $(result before_1) > -0.1"
holds "neighbours become alike" "$(result after_1) > 0.3 && $(result after_1) > $(result after_3) + 0.15"

expect 0 lesson augmentation --json
holds "augmentation helps" "$(result augmented_100) > $(result plain_100) + 0.05 && $(result augmented_200) > $(result plain_200) + 0.05"
holds "data helps" "$(result plain_1600) > $(result plain_100) + 0.15"

expect 0 lesson class-token-map --json
holds "the red shape is named" "$(result accuracy) > 0.85"
holds "and looked at" "$(result layer_1) > 2 * $(result area)"
