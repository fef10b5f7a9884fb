# heed train translate, translate, eval and average: from files to translations, and what is wrong with files.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# small words, turned round
mkdir corpus
awk 'BEGIN {
    split("one two three four five six", word, " ")
    s = 7
    for (i = 0; i < 420; i++) {
        part = i < 400 ? "train" : i < 410 ? "val" : "test"
        s = (s * 16807) % 2147483647
        n = 2 + s % 4
        en = de = ""
        for (k = 0; k < n; k++) {
            s = (s * 16807) % 2147483647
            w = word[1 + s % 6]
            en = en (k ? " " : "") w
            de = w (k ? " " : "") de
        }
        print en >"corpus/" part ".en"
        print de >"corpus/" part ".de"
        if (part == "train") print en "\t" de >"corpus.tsv"
    }
}'
gzip -k corpus/train.en && rm corpus/train.en
small="--set d_model=16 --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=32 --set decoder_ffn_dim=32
    --set encoder_attention_heads=2 --set decoder_attention_heads=2 --set dropout=0 --tokens word --vocab 0 --batch 200"
set -- train translate --from en --to de $small

expect 0 "$@" --data corpus --epochs 50 --lr 0.01 --seed "$(seed 1)" --out model --log log.jsonl --keep 2
says '^validation: BLEU [0-9.]+ \(greedy decoding\), loss [0-9.]+ \(best'
says '^test: BLEU [0-9.]+ \(greedy decoding\), loss [0-9.]+$'
says '^next: [^ ]*heed translate model'
grep -q '400 pairs to train on in [0-9]* batches, 10 to validate, 10 to test; 10 tokens' err || fail "it should say what it found"
grep -q '"tokens":[0-9]*,"epoch":[0-9.]*,"valid_loss":[0-9.]*,"valid_bleu":[0-9.]*' log.jsonl || fail "the log should have tokens and BLEU"
[ "$(ls model/kept | wc -l)" = 2 ] || fail "two models should have been kept"
at_least BLEU "$(said 'test: BLEU')" 50

# translating
feed 'one two three\n\n  \nfive six\n' translate model --beam 3
[ "$status" = 0 ] && [ "$(wc -l <out)" = 4 ] || fail "a line for each line"
[ "$(sed -n 2p out)$(sed -n 3p out)" = "" ] || fail "nothing is translated by nothing"
cp out whole
feed 'five six\n' translate model --beam 3
[ "$(cat out)" = "$(sed -n 4p whole)" ] || fail "a line should not depend on the others"
feed 'five six' translate model --n-best 3
[ "$(wc -l <out)" = 3 ] && grep -qE '^1	-?[0-9.]+	' out || fail "three translations with number and score"
feed 'five six\n' translate model --json
says '^\{"line":1,"translation":".*","score":-?[0-9.e-]+\}$'
feed 'five six\n' translate model --sample --temperature 2 --seed 3
cp out drawn
feed 'five six\n' translate model --sample --temperature 2 --seed 3
cmp out drawn || fail "the same seed should draw the same"
feed 'five six\none two three four five\none\n' translate model --sample --temperature 2 --seed 3
[ "$(sed -n 1p out)" = "$(cat drawn)" ] || fail "what is drawn for a line should not depend on the others"
answers_at_once 'one two\n' translate model

# the example, a program of one call
"$EXAMPLE_TRANSLATE" model 'one two three' '' 'five six' >out 2>err || fail "the example should translate"
feed 'one two three\n\nfive six\n' translate model --beam 5
"$EXAMPLE_TRANSLATE" model 'one two three' '' 'five six' | cmp - out || fail "the example should translate as the command"
status=0
"$EXAMPLE_TRANSLATE" nowhere 'one' >out 2>err || status=$?
[ "$status" = 1 ] && grep -q '^nowhere' err || fail "the example should say what is wrong"

# options that are not given come from generation_config.json
cp -r model configured
echo '{"decoder_start_token_id": 0, "eos_token_id": [2], "forced_eos_token_id": 2, "num_beams": 2, "num_return_sequences": 2, "max_new_tokens": 3,
    "no_repeat_ngram_size": 1, "repetition_penalty": 1.5, "typical_p": 0.5}' >configured/generation_config.json
feed 'one one one\n' translate model --beam 2 --max-length 4 --no-repeat 1 --repetition-penalty 1.5
cp out wanted
feed 'one one one\n' translate model --beam 2 --max-length 4
if cmp -s out wanted; then fail "the options should change something"; fi
feed 'one one one\n' translate configured
cmp out wanted || fail "generation_config.json should give the options"
grep -q "^heed: generate: 'typical_p' of the model's directory is not supported and ignored$" err || fail "it should say what it ignores"
feed 'one two one\n' translate configured --beam 3 --max-length 0 --no-repeat 0 --repetition-penalty 1
cp out given
feed 'one two one\n' translate model --beam 3
cmp out given || fail "options should override generation_config.json"
feed 'one two three four\n' translate model --beam 1 --min-length 6
first=$(cut -d ' ' -f 1 out) second=$(cut -d ' ' -f 2 out)
feed 'one two three four\n' translate model --beam 1 --min-length 6 --stop "${first#?} $(echo "$second" | cut -c 1)"
[ "$(cat out)" = "$first $second" ] || fail "it should end with the token that completes the stop text"

# measuring: what eval finds is what bleu finds in what translate says
expect 0 eval model --data corpus --beam 4 --length-penalty 1.5 --json
says '"sentences": 10'
says '"beam": 4'
found=$(sed -n 's/.*"bleu": \([0-9.]*\),*/\1/p' out)
"$HEED" translate model --beam 4 --length-penalty 1.5 <corpus/test.en >test.hyp
expect 0 bleu test.hyp corpus/test.de
grep -qF "$(printf '%.2f' "$found" | cut -c1-4)" out || fail "eval says $found"

expect 0 eval model --data corpus
says '^BLEU [0-9.]+ \(beam 5\), loss [0-9.]+ \(10 sentences, '
expect 0 eval model --data corpus --beam 1
says '^BLEU [0-9.]+ \(greedy decoding\), loss '

# averaging
expect 0 average model/kept/* --out mean
feed 'one two three\n' translate mean
[ "$status" = 0 ] && [ -s out ] || fail "the mean should translate"
wrong 1 'mean: holds a model already; --force' average model/kept/* --out mean
expect 0 new mlp vectors --set input_size=2 --set output_size=1
wrong 1 "vectors: 47 names do not fit: missing 'model.shared.weight'" average model vectors --out never
[ ! -e never ] || fail "nothing should be left of what failed"

# the same bits: resumed, with two threads
expect 0 "$@" --data corpus.tsv --steps 40 --out whole1 --quiet --threads 1
expect 0 "$@" --data corpus.tsv --steps 40 --out whole2 --quiet --threads 2
cmp whole1/model.safetensors whole2/model.safetensors || fail "2 threads gave another model than 1"
"$HEED" "$@" --data corpus.tsv --steps 40 --out killed --quiet --save-every 1 >out 2>err &
pid=$!
until [ -e killed/checkpoint.safetensors ]; do sleep 0.02; done
sleep 0.1
kill -9 $pid 2>/dev/null || :
wait $pid 2>/dev/null || :
expect 0 "$@" --data corpus.tsv --steps 40 --out killed --quiet --save-every 1 --resume
cmp whole1/model.safetensors killed/model.safetensors || fail "a killed run ended with another model"

# merges passed over by chance: as many batches, the same bits, and another rate is another run
set -- "$@" --tokens bpe --vocab 30
expect 0 "$@" --data corpus --steps 20 --out pieces1 --quiet --merge-dropout 0.2
expect 0 "$@" --data corpus --steps 20 --out pieces2 --quiet --merge-dropout 0.2 --threads 1
cmp pieces1/model.safetensors pieces2/model.safetensors || fail "merges were passed over otherwise"
expect 0 "$@" --data corpus --steps 20 --out pieces3 --quiet
if cmp -s pieces1/model.safetensors pieces3/model.safetensors; then fail "no merge was passed over"; fi
wrong 1 '.*another configuration: merge-dropout was 0.2, is 0.3' "$@" --data corpus --steps 20 --out pieces1 --quiet \
    --merge-dropout 0.3 --resume
set -- train translate --from en --to de $small
wrong 2 'train: --merge-dropout goes with --tokens bpe' "$@" --data corpus --merge-dropout 0.2 --out never

# more pairs to train on stand behind the others, and none of them is kept aside
cat corpus.tsv corpus.tsv corpus.tsv >thrice.tsv
expect 0 "$@" --data thrice.tsv --valid-data corpus --steps 20 --quiet --out thrice
expect 0 "$@" --data corpus --more corpus.tsv --more corpus --steps 20 --out more
grep -q '1200 pairs to train on in [0-9]* batches, 10 to validate, 10 to test' err || fail "there should be more pairs"
cmp thrice/model.safetensors more/model.safetensors || fail "the same pairs from several files should be the same"
wrong 1 '.*another configuration: training data was 1200 pairs .*, is 800 pairs .*' "$@" --data corpus --more corpus.tsv \
    --steps 20 --quiet --out more --resume
expect 0 "$@" --data corpus.tsv --more corpus --valid 0.25 --steps 2 --out more --force
grep -q '700 pairs to train on in [0-9]* batches, 100 to validate' err || fail "a quarter of the data's own pairs"
wrong 1 'nowhere.en: there is no such file' "$@" --data corpus --more nowhere --out never
wrong 2 'train: --more is not for regress, but for translate$' train regress --data corpus.tsv --more corpus.tsv --out never

# a recipe of several commands, small, from the beginning and once more
for time in first again; do
    HEED="$HEED" "$SOURCE/recipes/multi30k-en-de.sh" corpus made --quiet $small --steps 4 --evaluate-every 2 >out 2>err ||
        fail "the recipe should run"
    says '^BLEU'
done
[ "$(wc -l <made/forward.tsv)" = 400 ] && [ "$(wc -l <made/back.tsv)" = 400 ] || fail "a translation of every line"
cut -f 2 made/back.tsv | cmp - corpus/train.de || fail "the text itself should stand beside its translation"

# a vocabulary for each side
expect 0 "$@" --data corpus --steps 3 --separate --quiet --out apart
[ -e apart/target_tokenizer.json ] || fail "the target should have its own tokenizer"
feed 'one two\n' translate apart
[ "$status" = 0 ] || fail "two vocabularies should do"
expect 0 "$@" --data corpus --steps 4 --separate --quiet --out apart --resume
expect 0 "$@" --data corpus --steps 3 --quiet --out apart --force
[ ! -e apart/target_tokenizer.json ] || fail "one vocabulary should have taken the place of two"
feed 'one two\n' translate apart
[ "$status" = 0 ] || fail "one vocabulary in the place of two should do"

# before or after, learnt or computed: the other kinds
for kind in bart mbart pegasus; do
    expect 0 "$@" --data corpus --model $kind --steps 3 --quiet --out $kind
    feed 'one two\n' translate $kind
    [ "$status" = 0 ] && [ "$(wc -l <out)" = 1 ] || fail "$kind should translate"
done
wrong 1 'train translate: needs [0-9]+K of memory, --memory allows 1K; ' "$@" --data corpus --memory 1K --out never

# bad input
head -n 100 corpus/val.en >odd.en
head -n 7 corpus/val.de >odd.de
wrong 1 'odd.en has 10 lines, odd.de has 7: numbers must agree' "$@" --data odd --out never
wrong 1 'corpus: there are no train.en and train.xx' train translate --data corpus --from en --to xx --out never
wrong 1 'nowhere.en: there is no such file' "$@" --data nowhere --out never
wrong 1 'corpus: --from and --to, the languages, are needed' train translate --data corpus --out never
printf 'one\ttwo\none two\n' >short.tsv
wrong 1 'short.tsv: line 2: expected two columns' "$@" --data short.tsv --out never
printf 'one\ttwo\n\377\ttwo\n' >bytes.tsv
wrong 1 'bytes.tsv: line 2: byte 1 is not UTF-8' "$@" --data bytes.tsv --out never
: >empty.tsv
wrong 1 'empty.tsv: the text is empty' "$@" --data empty.tsv --out never
printf '\ttwo\none\t\n' >blank.tsv
wrong 1 'blank.tsv: no pair is left: 2 have an empty side' "$@" --data blank.tsv --valid 0 --out never
{ cat corpus.tsv; awk 'BEGIN { for (i = 0; i < 100000; i++) printf "one "; print "\tone" }'; printf '\tone\n'; } >long.tsv
expect 0 "$@" --data long.tsv --steps 1 --out long
grep -q 'left out 1 pair with an empty side and 1 too long' err || fail "it should say what was left out"

# lines that cannot be translated are reported, answered with an empty line, and those behind them are translated
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "one "; print "" }' >long.txt
{ printf 'one\n\377\n'; cat long.txt; printf 'five six\n'; } >bad.txt
printf 'one\nfive six\n' | "$HEED" translate model >good.out
status=0
"$HEED" translate model <bad.txt >out 2>err || status=$?
[ "$status" = 1 ] || fail "bad lines should fail in the end"
printf 'heed: standard input: line 2: byte 1 is not UTF-8
heed: standard input: line 3: a sentence of 100001 tokens: the model has positions for 1024\n' | cmp - err || fail "each bad line should be named"
[ "$(wc -l <out)" = 4 ] && [ "$(sed -n 2,3p out | tr -d '\n')" = "" ] || fail "a bad line is answered with an empty one"
sed -n '1p;4p' out | cmp - good.out || fail "the other lines should be translated"
status=0
"$HEED" translate model --json <bad.txt >out 2>err || status=$?
[ "$status" = 1 ] && [ "$(wc -l <out)" = 4 ] || fail "bad lines should fail in the end"
says '^\{"line":2,"translation":"","score":0.0,"error":"byte 1 is not UTF-8"\}$'
status=0
"$HEED" translate model --strict <bad.txt >out 2>err || status=$?
[ "$status" = 1 ] && cmp out - <<. || fail "--strict should stop at the first bad line"
$(sed -n 1p good.out)
.
[ "$(cat err)" = 'heed: standard input: line 2: byte 1 is not UTF-8' ] || fail "the wrong line should be named"
status=0
{ echo one; cat long.txt; echo one; } | "$HEED" translate model --strict >out 2>err || status=$?
[ "$status" = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "--strict should stop at the first long line"
grep -q '^heed: standard input: line 2: a sentence of 100001 tokens' err || fail "the long line should be named"

# arguments instead of standard input
expect 0 translate model one 'five six' </dev/null
cmp out good.out || fail "arguments should be translated as lines are"
expect 0 translate model --beam 2 'five
six' --json
says '^\{"line":1,'
[ "$(wc -l <out)" = 1 ] || fail "an argument is one sentence"
wrong 1 'text 1: byte 3 is not UTF-8' translate model --strict "$(printf 'a \377')"

# tokens that hold newlines and escapes: a line stays one line, and nothing steers a terminal
cp -r model hostile
sed -E 's/"(one|two|three|four|five|six)": */"th\\nr\\u001b[31me\\u009be\1": /' model/tokenizer.json >hostile/tokenizer.json
feed 'one two\n' translate hostile --n-best 10 --min-length 6
[ "$status" = 0 ] && [ "$(wc -l <out)" = 10 ] || fail "a translation should be one line"
grep -q 'th r  *\[31me e' out || fail "the token should be there: control characters are spaces"
[ "$(tr -d '\n\t -~' <out | wc -c)" = 0 ] || fail "control characters should not be printed"
feed 'one two\n' translate hostile --n-best 10 --min-length 6 --json
grep -qF 'th\nr\u001b[31me\u009be' out || fail "JSON should hold the token as it is"
[ "$(tr -d '\n -~' <out | wc -c)" = 0 ] || fail "JSON should escape control characters"

# bad directories and options
wrong 1 'vectors: mlp cannot translate' translate vectors
expect 0 new transformer bare --set vocab_size=10 --set d_model=16 --set encoder_attention_heads=2 \
    --set decoder_attention_heads=2
wrong 1 'bare: no tokenizer.json' translate bare
cp model/tokenizer.json bare
sed -i 's/"vocab_size": 10/"vocab_size": 5/' bare/config.json
expect 1 translate bare
sed 's/"activation_function": "relu"/"activation_function": "sinus"/' model/config.json >bare/config.json
cp model/model.safetensors bare
wrong 1 "bare/config.json: activation_function: .*sinus" translate bare
wrong 2 'train: --from is not for classify' train classify --data x.csv --from en --out never
wrong 2 'train: --target is not for translate' "$@" --data corpus --target 3 --out never
wrong 2 'translate: --top-k goes with --sample' translate model --top-k 3
wrong 2 'translate: --beam and --sample' translate model --sample --beam 3
[ ! -e never ] || fail "nothing should be left of what failed"
