# heed list: the table, one family, JSON.
. "$SOURCE/tests/cli/expect.inc"

expect 0 list
silent
says '^name +tasks +paper +what it is$'
for family in linear mlp kernel-pooling; do says "^$family +[a-z-]"; done
awk '{ at = NR == 1 ? index($0, "paper") : at } substr($0, at - 2, 2) != "  " || substr($0, at, 1) == " " { exit 1 }' \
    "$scratch/out" || fail "the columns should be aligned"
rows=$(wc -l <"$scratch/out")
expect 0 list --json
silent
[ "$(head -c 1 "$scratch/out")" = "[" ] || fail "a list of objects"
[ "$(grep -c '^    "name": ' "$scratch/out")" = $((rows - 1)) ] || fail "as many objects as lines"
[ "$(grep -A1 '^  {' "$scratch/out" | grep -c '"name": ')" = $((rows - 1)) ] || fail "name comes first"
expect 0 list mlp
says '^hidden_sizes +ints +128 '
says '^model_type +heed-mlp$'
expect 0 list heed-mlp --json
[ "$(grep -c '"model_type": ' "$scratch/out")" = 1 ] || fail "one family only"
expect 0 list ngram
says '^model_type +heed-ngram$'
expect 0 list heed-hmm --json
[ "$(grep -c '"model_type": ' "$scratch/out")" = 1 ] || fail "one family only"
wrong 2 "new: hmm is no network: 'heed train tag --model hmm' makes one" new hmm "$scratch/never"
wrong 2 "new: word2vec is no network: 'heed train words' makes one" new word2vec "$scratch/never"
wrong 2 "list: mpl: unknown family, did you mean 'mlp'" list mpl
wrong 2 "list: zebra-crossing: unknown family, 'heed list' lists them" list zebra-crossing
wrong 2 "list: 'linear' is one word too many" list mlp linear

for page in models:models help:commands; do # KIND:FILE
    expect 0 docs "${page%:*}"
    if ! diff "$SOURCE/docs/reference/${page#*:}.md" "$scratch/out" >"$scratch/differences"; then
        mv "$scratch/differences" "$scratch/out"
        fail "docs/reference/${page#*:}.md is not what 'heed docs ${page%:*}' prints: 'make docs' writes it anew"
    fi
done
