# What recurrent models read in training: teacher forcing, scheduled sampling, free running; and state that is carried
# from window to window.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    for (i = 0; i < 120; i++) { k = (i * i + int(i / 5)) % 6 + 1; printf "the %s eats %s. ", who[k], what[k] }
}' >stories.txt
tiny="--tokens char --context 12 --set hidden_size=16 --set embedding_size=8 --set num_layers=1 --batch 4 --lr 0.01 --quiet"
same() { # WHAT A B
    cmp -s "$2/model.safetensors" "$3/model.safetensors" || fail "$1 should give the same bits"
}
other() {
    if cmp -s "$2/model.safetensors" "$3/model.safetensors"; then fail "$1 should make a difference"; fi
}

# shellcheck disable=SC2086 # options are words
set -- train lm --data stories.txt --model gru $tiny --steps 8
expect 0 "$@" --out plain
expect 0 "$@" --teacher-forcing 1 --out forced
same "a probability of 1" plain forced
expect 0 "$@" --teacher-forcing 0 --out free --threads 2
other "free running" plain free
expect 0 "$@" --teacher-forcing 0 --out alone --threads 1
same "one thread" free alone
for kind in linear exponential inverse-sigmoid; do
    expect 0 "$@" --scheduled-sampling $kind --out $kind
    other "$kind" plain $kind
done
expect 0 "$@" --scheduled-sampling linear --sampling-decay 0.125 --out eighth
same "1 / steps, the default," linear eighth
expect 0 "$@" --scheduled-sampling linear --teacher-forcing 1 --out floor
same "a schedule that may not fall" plain floor

# stopped and resumed, with state that is carried, by each kind of cell
for kind in rnn gru lstm; do
    # shellcheck disable=SC2086
    set -- train lm --data stories.txt --model $kind $tiny --carry-state --scheduled-sampling inverse-sigmoid
    expect 0 "$@" --steps 30 --schedule constant --sampling-decay 5 --out $kind-whole --json
    says '"valid_perplexity"'
    expect 0 "$@" --steps 17 --schedule constant --sampling-decay 5 --out $kind-parts --save-every 4
    expect 0 "$@" --steps 30 --schedule constant --sampling-decay 5 --out $kind-parts --resume --threads 1
    same "going on" $kind-whole $kind-parts
done
expect 0 eval lstm-whole --data stories.txt --carry-state --json
says '"perplexity"'
expect 1 train lm --data stories.txt --model lstm $tiny --steps 40 --schedule constant --out lstm-parts --resume
error_is ".*another configuration: .*windows was streams, is drawn"
# shellcheck disable=SC2086
expect 0 train lm --data stories.txt --model gru $tiny --carry-state --steps 2 --memory 64M --out small
if learns; then
    # a story goes on across windows: the state knows who eats
    # shellcheck disable=SC2086
    set -- train lm --data stories.txt --model gru --tokens char --context 6 --set hidden_size=32 --set embedding_size=16 \
        --set num_layers=1 --set dropout=0 --lr 0.02 --batch 8 --epochs 12 --seed "$(seed 1)" --quiet --json
    expect 0 "$@" --out cold
    cold=$(result valid_loss)
    expect 0 "$@" --carry-state --out warm
    at_most "loss with carried state" "$(result valid_loss)" "0.8 * $cold"
fi

# translation
mkdir corpus
awk 'BEGIN {
    split("one two three four five six", from, " "); split("eins zwei drei vier fuenf sechs", to, " "); s = 7
    for (i = 0; i < 120; i++) {
        part = i < 100 ? "train" : i < 110 ? "val" : "test"
        s = (s * 16807) % 2147483647; n = 2 + s % 3; en = de = ""
        for (k = 0; k < n; k++) { s = (s * 16807) % 2147483647; en = en " " from[1 + s % 6]; de = de " " to[1 + s % 6] }
        print en >"corpus/" part ".en"; print de >"corpus/" part ".de"
    }
}'
for model in sutskever cho bahdanau luong; do
    set -- train translate --data corpus --from en --to de --model $model --set embedding_size=8 --set hidden_size=8 --tokens word \
        --vocab 0 --separate --batch 60 --quiet --seed 3
    expect 0 "$@" --steps 6 --out $model
    expect 0 "$@" --steps 6 --teacher-forcing 1 --out $model-1
    same "a probability of 1" $model $model-1
    expect 0 "$@" --steps 6 --teacher-forcing 0.5 --threads 2 --out $model-half
    other "a probability of 0.5" $model $model-half
    expect 0 "$@" --steps 6 --teacher-forcing 0.5 --threads 1 --out $model-again
    same "one thread" $model-half $model-again
done

# what cannot be
wrong 2 "train: --teacher-forcing: transformer reads all tokens at once" train translate --data corpus --from en --to de \
    --teacher-forcing 0.5 --out bad
wrong 2 "train: --scheduled-sampling: gpt2 reads all tokens at once" train lm --data stories.txt --scheduled-sampling linear --out bad
wrong 2 "train: --carry-state: gpt2 has no state to carry" train lm --data stories.txt --carry-state --out bad
wrong 2 "train: --carry-state does not go with --documents" train lm --data stories.txt --model gru --carry-state --documents --out bad
wrong 2 "train: --sampling-decay goes with --scheduled-sampling" train lm --data stories.txt --model gru --sampling-decay 2 --out bad
wrong 2 "train: --sampling-decay: 2: of exponential it must be below 1" train lm --data stories.txt --model gru \
    --scheduled-sampling exponential --sampling-decay 2 --out bad
wrong 2 'train lm: --teacher-forcing: 1.5 is not between 0 and 1$' train lm --data stories.txt --model gru --teacher-forcing 1.5 --out bad
wrong 1 "train: --batch: 4000 streams of a text of [0-9]+ tokens: each needs 2" train lm --data stories.txt --model gru --tokens char \
    --carry-state --batch 4000 --context 8 --out bad
[ ! -e bad ] || fail "nothing should be written"
