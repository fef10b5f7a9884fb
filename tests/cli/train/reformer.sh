# The Reformer on the command line: its lesson, training and use, memory that does not grow with layers, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson reformer --out made
silent
listed made
awk -F, 'NR > 1 { for (i = 2; i <= 10; i++) if (NR > 2 && $i <= was[i] || $i < 0 || $i > 1) exit bad = 1
        if ($2 > $3 || $3 > $4 || $3 <= $6) exit bad = 1; for (i = 2; i <= 10; i++) was[i] = $i }
    END { exit bad || NR != 6 }' made/reformer-recall.csv || fail "more hashes and longer chunks should find more, and more than chance"
expect 0 lesson reformer --json --seed "$(seed 1)"
at_least "recall of 16 hashes" "$(result recall_16)" 0.9
at_least "recall of 4 hashes" "$(result recall_4)" 0.6
at_least "recall of one hash" "$(result recall_1)" "2 * $(result seen_1)"

small="--set hidden_size=16 --set num_attention_heads=2 --set attention_head_size=8 --set feed_forward_size=16 --set axial_pos_embds_dim=8,8"
chunks="--set local_attn_chunk_length=4 --set lsh_attn_chunk_length=4 --set num_hashes=2"
# shellcheck disable=SC2086 # options are words
fresh() { # DIR OPTION...
    dir=$1
    shift
    "$HEED" new reformer "$dir" --force $small $chunks "$@" --quiet >out 2>err
}

# Memory of a training step: the same for 2 and 12 local layers.
step() { "$HEED" info "$1" --batch 1 --length 512 | sed -n 's/^training .*which \([0-9.]*\) MB are tensors.*/\1/p'; }
fresh two --set attn_layers=local,local || fail "new"
fresh twelve --set attn_layers=local,local,local,local,local,local,local,local,local,local,local,local || fail "new"
[ -n "$(step two)" ] && [ "$(step two)" = "$(step twelve)" ] || fail "a step of 12 layers should take as much as one of 2"

# What is refused.
no() { # SENTENCE OPTION...
    sentence=$1
    shift
    if fresh none "$@"; then fail "$* should be refused"; fi
    grep -q "$sentence" err || fail "$*: $(cat err)"
}
no "num_hashes: 0 is not between 1 and" --set num_hashes=0
no "7 buckets: the number must be even" --set num_buckets=7
no "3 buckets: the number must be even" --set num_buckets=4,3
no "do not add up to a hidden_size of 16" --set axial_pos_embds_dim=8,9
no "2 numbers are needed" --set axial_pos_shape=64
no "neither local nor lsh" --set attn_layers=local,global
no "0 layers" --set attn_layers=
no "a decoder sees no chunks after its own" --set local_num_chunks_after=1
no "this head needs it to be true" --set is_decoder=false

# Text: train, use, and a sequence that the axial positions do not fill.
for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "the cat sat on the mat and saw the dog"
    echo "a dog ran over the hill and saw a cat $i"
done >text
axial="--set axial_pos_shape=4,8"
# shellcheck disable=SC2086
expect 0 train lm --model reformer --data text --out lm --steps 3 --batch 2 $small $chunks $axial --context 24
expect 0 generate lm --prompt "the cat" --max-tokens 4
expect 0 generate lm --prompt "the cat" --max-tokens 4 --beam 2
expect 0 eval lm --data text
# shellcheck disable=SC2086
expect 1 train lm --model reformer --data text --out long --steps 1 --batch 1 $small $chunks $axial --context 40
grep -q "axial positions of 4 rows and 8 columns\|positions for 32" err || fail "too long: $(cat err)"
printf 'text\tlabel\nthe cat sat on the mat\t0\na dog ran over the hill\t1\nthe cat ran\t0\na dog sat\t1\n' >classes.tsv
# shellcheck disable=SC2086
expect 0 train classify --model reformer --data classes.tsv --out classes --steps 2 --batch 2 --valid 0 $small $chunks $axial
expect 0 eval classes --data classes.tsv
expect 0 attend classes "the cat sat on the mat"
# shellcheck disable=SC2086
expect 0 train mlm --model reformer --data text --out mlm --steps 2 --batch 2 $small $chunks $axial --max-length 16
