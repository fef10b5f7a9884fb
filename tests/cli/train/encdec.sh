# The encoder-decoders before the Transformer: trained, measured, used and looked at by the Transformer's own commands.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# words and their other names, in order
mkdir corpus
awk 'BEGIN {
    split("one two three four five six", from, " ")
    split("eins zwei drei vier fuenf sechs", to, " ")
    s = 7
    for (i = 0; i < 420; i++) {
        part = i < 400 ? "train" : i < 410 ? "val" : "test"
        s = (s * 16807) % 2147483647
        n = 2 + s % 3
        en = de = ""
        for (k = 0; k < n; k++) {
            s = (s * 16807) % 2147483647
            en = en (k ? " " : "") from[1 + s % 6]
            de = de (k ? " " : "") to[1 + s % 6]
        }
        print en >"corpus/" part ".en"
        print de >"corpus/" part ".de"
    }
}'
small="--set embedding_size=16 --set hidden_size=32 --set dropout=0 --tokens word --vocab 0 --separate --batch 200"
steps="--steps 3"
if learns; then steps="--steps 400 --evaluate-every 400"; fi
set -- train translate --data corpus --from en --to de --lr 0.02 $small

for model in sutskever cho bahdanau luong; do
    own="--set maxout_size=16"
    case $model in sutskever | luong) own="--set num_layers=1" ;; esac
    # shellcheck disable=SC2086 # options are words
    expect 0 "$@" $steps --model $model $own --seed "$(seed 1)" --out $model
    says '^test: BLEU [0-9.]+ \(greedy decoding\), loss [0-9.]+$'
    if learns; then at_least "BLEU of $model" "$(said 'test: BLEU')" 50; fi
    feed 'one two three\n\nfive six\n' translate $model --beam 3
    [ "$(wc -l <out)" = 3 ] && [ "$(sed -n 2p out)" = "" ] || fail "a line for each line"
    cp out whole
    feed 'five six\n' translate $model --beam 3
    [ "$(cat out)" = "$(sed -n 3p whole)" ] || fail "a line should not depend on the others"
    expect 0 eval $model --data corpus --beam 2
    says '^BLEU [0-9.]+ \(beam 2\), loss [0-9.]+'
    expect 0 info $model
    says "^family +$model \(heed-$model\)"
done

# BLEU by the length of sentences: the sentences of all lengths are all sentences, and a picture of two models
for model in cho bahdanau; do
    expect 0 eval $model --data corpus --beam 1 --by-length 2 --log $model.log
    says '^ +words +sentences +BLEU$'
    [ "$(sed -n 's/.*"sentences": \([0-9]*\).*/\1/p' $model.log | awk '{ n += $1 } END { print n }')" = 10 ] || fail "all sentences should be there"
done
expect 0 eval bahdanau --data corpus --beam 1 --by-length 100 --json
awk '/"bleu": / { if (n++ && $2 + 0 != first) exit 1; first = $2 + 0 }' out || fail "one length is all lengths"
says '"by_length"'
expect 0 plot cho.log bahdanau.log --x words --png lengths.png
[ "$(head -c 4 lengths.png | tail -c 3)" = PNG ] || fail "there should be a picture"
expect 0 plot cho.log --x words
says 'words of the source'
wrong 2 'eval: --log goes with --by-length' eval cho --data corpus --log x.log
wrong 1 "cho.log: line 1: there is no 'step'" plot cho.log

# the recipe, as small as can be
if learns; then
    FROM=en TO=de EPOCHS=1 WIDTH=2 SIZES="--set hidden_size=8 --set embedding_size=8 --quiet" \
        TRANSFORMER_SIZES="--set d_model=8 --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=8 --set decoder_ffn_dim=8 --quiet" \
        sh "$SOURCE/recipes/bleu-by-length.sh" corpus picture >out 2>err || fail "the recipe should run"
    [ "$(head -c 4 picture/bleu-by-length.png | tail -c 3)" = PNG ] || fail "the recipe should draw its picture"
fi

# where the decoder looks: a row for each token of the target
for model in bahdanau luong; do
    expect 0 attend $model 'one two three' --target 'eins zwei drei' --json
    says '"cross"'
done
expect 1 attend cho 'one two'
error_is "attend: a model of family cho has no attention"

# a source that is read backwards; the same bits with one thread; all scores of Luong's
expect 0 "$@" --model sutskever --set num_layers=1 --reverse --steps 9 --out reversed --threads 2
grep -q '"reverse_source": true' reversed/config.json || fail "the order should be in config.json"
expect 0 "$@" --model sutskever --set num_layers=1 --reverse --steps 9 --out again --threads 1
cmp -s reversed/model.safetensors again/model.safetensors || fail "one thread should give the same bits"
set -- train translate --data corpus --from en --to de $small --steps 3 --model luong --set num_layers=2
for score in dot general concat; do
    for attention in global local-m local-p; do
        expect 0 "$@" --set score=$score --set attention=$attention --set window=2 --set input_feeding=false --out $score --force
        feed 'five six\n' translate $score
    done
done

# what cannot be
expect 1 classify cho 'five six'
error_is "cho: cho has no head for classify; 'heed list cho' shows those it has"
expect 2 train translate --data corpus --from en --to de --reverse --out bad
error_is "train: --reverse: transformer reads all tokens at once"
expect 2 new luong bad --set vocab_size=9 --set score=cosine
error_is "luong: score: .cosine. is not one of: dot, general, concat"
expect 2 new luong bad --set vocab_size=9 --set attention=near
error_is "luong: attention: .near. is not one of: global, local-m, local-p"
expect 2 new luong bad --set vocab_size=9 --set window=0
error_is 'luong: window: 0 is not between 1 and 1048576$'
expect 2 new bahdanau bad --set vocab_size=9 --set maxout_size=-1
error_is 'bahdanau: maxout_size: -1 is not between 0 and 16777216$'
[ ! -e bad ] || fail "nothing should be written"
