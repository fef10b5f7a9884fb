# The directory of a training run: one run at a time, one model at every moment, whatever stops the run.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

mkdir corpus
for part in train val; do
    awk -v n=$([ $part = train ] && echo 200 || echo 10) 'BEGIN {
        split("one two three four five six", word, " ")
        for (i = 0; i < n; i++) print word[1 + i % 6] " " word[1 + int(i / 6) % 6]
    }' >corpus/$part.en
    cp corpus/$part.en corpus/$part.de
done
small="--set d_model=16 --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=16 --set decoder_ffn_dim=16
    --set encoder_attention_heads=2 --set decoder_attention_heads=2 --vocab 0 --batch 100 --threads 1"
set -- train translate --from en --to de --data corpus $small
wait_for() { # FILE: until it is there
    tries=0
    until [ -e "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "$1 should have been written"
        sleep 0.1
    done
}

# a second run into the same directory is refused, until the first is gone, in whatever way
"$HEED" "$@" --tokens word --epochs 100000 --out busy --quiet 2>first &
first=$!
wait_for busy/checkpoint.safetensors
for how in --force --resume; do
    wrong 1 'busy: another process is writing into this directory$' "$@" --tokens word --epochs 1 --out busy --quiet $how
done
printf 'x,y\n1,2\n2,3\n' >points.csv
wrong 1 'busy: another process is writing' train regress --data points.csv --out busy --force --quiet
printf 'one\tX\ntwo\tY\n\none\tX\n' >tagged
expect 0 new linear line -s input_size=1 -s output_size=1
while read -r arguments; do
    wrong 1 'busy: another process is writing into this directory$' $arguments
done <<END
new linear busy -s input_size=1 -s output_size=1 --force
average line line --out busy --force
train ngram --data corpus/train.en --order 2 --out busy --force --quiet
train tag --model hmm --data tagged --out busy --force --quiet
train words --data corpus/train.en --min-count 1 --width 2 --epochs 1 --out busy --force --quiet
tokens --train word corpus/train.en --out busy --quiet
demo --out busy --steps 1 --force --quiet
END
kill -9 $first
wait $first 2>/dev/null || :
expect 0 "$@" --tokens word --epochs 1 --out busy --force --quiet

# of two that find no model there, the one that writes later does not overwrite the other's: here it waits for its data
mkfifo pipe
while read -r data arguments; do
    rm -rf late
    "$HEED" $arguments pipe --quiet --out late >late.out 2>late.err &
    second=$!
    exec 9>pipe # when it reads
    expect 0 $arguments $data --quiet --out late
    cat $data >&9
    exec 9>&-
    status=0
    wait $second || status=$?
    [ $status = 1 ] || fail "$arguments: status $status, not 1"
    grep -q '^heed: late: another run has written into it meanwhile$' late.err || fail "$arguments: it should say so"
done <<END
corpus/train.en train ngram --order 2 --data
tagged train tag --model hmm --data
corpus/train.en train words --min-count 1 --width 2 --epochs 1 --data
corpus/train.en tokens --train word
END

# --force over another model: until the new one is written there is none, rather than the old weights with new tokens
expect 0 "$@" --tokens word --epochs 1 --out model --quiet
cp -r model old
status=0
"$HEED" "$@" --tokens char --epochs 100000 --evaluate-every 1000000 --out model --force --quiet >out 2>err &
second=$!
tries=0
until [ -e model/checkpoint.safetensors ] && ! cmp -s model/checkpoint.safetensors old/checkpoint.safetensors; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "it should begin"
    sleep 0.1
done
kill -INT $second
wait $second || status=$?
[ $status = 130 ] || fail "status $status after Ctrl-C, not 130"
[ ! -e model/model.safetensors ] && [ ! -e model/config.json ] || fail "the old model should be gone"
feed 'one two\n' translate model
[ $status = 1 ] || fail "there is nothing to translate with"
grep -q '^heed: model/config.json: No such file' err || fail "it should say what is missing"
# data that cannot be read leave the old model as it is
cp -r old kept
wrong 1 'nowhere.en: there is no such file, nor with .gz$' train translate --from en --to de --data nowhere $small --out kept --force --quiet
for file in old/*; do cmp "$file" "kept/${file#old/}" || fail "kept should be as it was"; done

# Ctrl-C while data are read: nothing is made
mkfifo slow.csv
"$HEED" train regress --data slow.csv --out slow >out 2>err &
reader=$!
exec 3>slow.csv
printf 'x,y\n1,2\n' >&3
sleep 0.3
kill -INT $reader
status=0
wait $reader || status=$?
exec 3>&-
[ $status = 130 ] || fail "status $status after Ctrl-C while reading, not 130"
[ ! -e slow ] || fail "nothing should have been made"

# a sentence to validate or test with that is too long for the model: which one
long=$(awk 'BEGIN { for (i = 0; i < 20; i++) printf "one " }')
sed "7s/.*/$long/" corpus/val.en >val.en && mv val.en corpus/val.en
wrong 1 'corpus/val.en: line 7: 21 tokens, the model has positions for 16 \(--set max_position_embeddings=N\)$' \
    "$@" --tokens word --epochs 1 --set max_position_embeddings=16 --out long --quiet
[ ! -e long ] || fail "nothing should have been made"
rm corpus/val.*
sed "1~2s/.*/$long/" corpus/train.en >train.en && mv train.en corpus/train.en # half of what is held out is too long
expect 0 "$@" --tokens word --epochs 1 --valid 0.1 --set max_position_embeddings=16 --out long
grep -qE 'and [1-9][0-9]* too long' err || fail "it should say how many pairs were left out"
grep -qE 'batches, ([1-9]|1[0-9]) to validate' err || fail "those that are not too long should be used"

# more than a file may hold (ulimit -f) is a failure that leaves nothing behind
status=0
(
    ulimit -f 8
    exec "$HEED" "$@" --tokens word --epochs 1 --valid 0.1 --set max_position_embeddings=16 --out limited --quiet >out 2>err
) || status=$?
[ $status = 1 ] || fail "status $status beyond the limit of a file"
grep -qE '^heed: limited/.*: File too large$' err || fail "it should say that the file is too large"
[ -z "$(find limited -name '.heed-*')" ] || fail "nothing should be left beside"
