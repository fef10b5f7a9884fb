# heed train qa, answer and eval: from questions about a text to answers, and what is wrong with files.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# who is in a place: the word before it
mkdir corpus
awk 'BEGIN {
    split("anna bert carl dora emil", name, " ")
    split("town wood bath room", place, " ")
    s = 7
    for (part = 0; part < 2; part++) {
        file = "corpus/" (part ? "dev" : "train") "-v1.1.json"
        printf "{\"version\":\"1.1\",\"data\":[{\"title\":\"t\",\"paragraphs\":[" >file
        for (i = 0; i < (part ? 30 : 240); i++) {
            context = ""
            for (k = 1; k <= 4; k++) {
                s = (s * 16807) % 2147483647
                who[k] = name[1 + s % 5]
                at[k] = length(context)
                context = context who[k] " " place[k] " "
            }
            k = 1 + int(s / 7) % 4
            printf "%s{\"context\":\"%s\",\"qas\":[{\"id\":\"%d\",\"question\":\"%s\",\"answers\":[{\"text\":\"%s\",\"answer_start\":%d}]}]}",
                i ? "," : "", context, i, place[k], who[k], at[k] >file
        }
        print "]}]}" >file
    }
}'
small="--set hidden_size=32 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=64
    --set max_position_embeddings=24 --set hidden_dropout_prob=0 --set attention_probs_dropout_prob=0 --set initializer_range=0.1
    --tokens word --vocab 40 --batch 20"
set -- train qa $small
steps="--steps 3"
if learns; then steps="--epochs 40"; fi
expect 0 "$@" --data corpus $steps --lr 0.005 --seed "$(seed 1)" --out model --log log.jsonl
says '^validation: F1 [0-9.]+ %, exact match [0-9.]+ %, loss'
says '^next: [^ ]*heed answer model'
grep -q '"valid_f1":[0-9.]*,"valid_exact_match":' log.jsonl || fail "the log should have the metrics"
grep -q '240 examples to train on, 30 to validate' err || fail "the files of the directory should be found"
if learns; then at_least F1 "$(said 'validation: F1')" 80; fi # a name at random: 25
feed 'wood\tanna town bert wood carl bath dora room\n\ntown\t\n' answer model
[ "$status" = 0 ] && [ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] || fail "a line for each line"
sed -n 1p out | grep -qE '^[a-z ]+	[01]\.[0-9]{4}	[0-9]+	[0-9]+$' || fail "answer, score and place"
sed -n 3p out | grep -qE '^	1\.0000	0	0$' || fail "an empty context has no answer"
feed 'wood\tanna town bert wood carl bath dora room\n' answer model --json --n-best 2
says '^\{"line":1,"answer":"[a-z ]+","score":[0-9.e-]+,"start":[0-9]+,"end":[0-9]+,"answers":\[\{"answer":"[a-z ]+".*\},\{"answer"'
feed 'wood\tanna town bert wood\n' answer model --n-best 3
[ "$(wc -l <out)" = 3 ] && grep -qE '^1	[a-z ]+	' out || fail "three answers with the number of the line"
expect 0 answer model --none "$(printf 'wood\tanna town bert wood')"
answers_at_once 'wood\tbert wood\n' answer model

# windows: the answer may be beyond the first; the place counts characters
feed 'wood\tä ö anna town bert bath carl room anna town bert bath carl room anna town bert bath carl room emil wood\n' answer model --stride 4 --json
says '^\{"line":1,"answer":'
expect 0 "$@" --data corpus --max-length 8 --stride 2 --steps 2 --out short
grep -qE '[0-9]{3,} examples to train on' err || fail "windows are examples"
expect 0 eval model --data corpus --part val
says '^F1 [0-9.]+ %, exact match [0-9.]+ %, loss [0-9.e-]+ \(30 examples\)$'

# a tokenizer that was trained has one class token, before both texts
printf 'wood\tbert wood\n' | "$HEED" tokens model --pair --json >out
grep -qE '"tokens":\["\[CLS\]","wood","\[SEP\]","bert","wood","\[SEP\]"\]' out && grep -qE '"type_ids":\[0,0,0,1,1,1\]' out ||
    fail "a pair is encoded as BERT's are"

# a tenth of the questions is held out where there is no file
expect 0 "$@" --data corpus/train-v1.1.json --max-length 8 --stride 2 --steps 2 --out split
says '^validation: F1'

# what is wrong
feed 'no tab\nwood\tbert wood\n' answer model
[ "$status" = 1 ] && [ "$(wc -l <out)" = 2 ] && [ -z "$(sed -n 1p out)" ] || fail "a bad line is answered by an empty one"
grep -q '^heed: standard input: line 1: no tab: a question, a tab and its context are needed$' err || fail "the bad line should be reported"
feed "$(seq -s ' ' 30)\tbert wood\nwood\tbert wood\n" answer model
[ "$status" = 1 ] && [ "$(wc -l <out)" = 2 ] && [ -n "$(sed -n 2p out)" ] || fail "a question that is too long is a bad line"
grep -q '^heed: standard input: line 1: the question is too long: 33 tokens of at most 23$' err || fail "it should be reported"
echo '{"data":[]}' >empty.json
wrong 1 'empty.json: there are no questions' "$@" --data empty.json --out wrong
echo '{"data":[{"paragraphs":[{"context":"a b","qas":[{"question":"c","answers":[{"text":"b","answer_start":0}]}]}]}]}' >bad.json
wrong 1 "bad.json: .*the answer 'b' does not stand at character 0 of its context" "$@" --data bad.json --out wrong
[ ! -e wrong ] || fail "nothing should have been written"
