# heed train choose, choose and eval: from tables of choices to the right one, and what is wrong with them.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# the right choice holds the word of the question
mkdir corpus
awk 'BEGIN {
    split("anna bert carl dora emil", name, " ")
    s = 7
    for (i = 0; i < 340; i++) {
        file = "corpus/" (i < 280 ? "train" : i < 310 ? "dev" : "test") ".tsv"
        s = (s * 16807) % 2147483647
        who = 1 + s % 5
        right = 1 + int(s / 7) % 3
        line = name[who]
        for (k = 1; k <= 3; k++) line = line "\t" name[1 + (who - 1 + (k - right + 3) % 3) % 5] " sleeps"
        print line "\t" right >file
    }
}'
small="--set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=64
    --set max_position_embeddings=16 --set hidden_dropout_prob=0 --set attention_probs_dropout_prob=0 --set initializer_range=0.1
    --tokens word --vocab 40 --batch 20"
set -- train choose $small
steps="--steps 3"
if learns; then steps="--epochs 30"; fi
expect 0 "$@" --data corpus $steps --lr 0.002 --seed "$(seed 2)" --out model --log log.jsonl
says '^validation: accuracy [0-9.]+ %, loss'
says '^next: [^ ]*heed choose model'
grep -q '"valid_accuracy":' log.jsonl || fail "the log should have the accuracy"
if learns; then at_least accuracy "$(said 'test: accuracy')" 80; fi # of three at random: 33
feed 'anna\tbert sleeps\tanna sleeps\tcarl sleeps\n\nanna\tanna sleeps\tbert sleeps\n' choose model
[ "$status" = 0 ] && [ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] || fail "a line for each line"
sed -n 1p out | grep -qE '^[123]	[a-z]+ sleeps	[01]\.[0-9]{4}$' || fail "number, choice and score"
feed 'anna\tbert sleeps\tanna sleeps\tcarl sleeps\n' choose model --json
says '^\{"line":1,"choice":[123],"text":"[a-z]+ sleeps","score":[0-9.e-]+,"scores":\[[0-9.e-]+,[0-9.e-]+,[0-9.e-]+\]\}$'
answers_at_once 'anna\tbert sleeps\tanna sleeps\n' choose model
expect 0 eval model --data corpus
says '^accuracy [0-9.]+ %, loss [0-9.e-]+ \(30 examples\)$'

# columns by name; letters; numbers from 0
printf 'id,question,a,b,answer\n' >quiz.csv
for i in 1 2 3 4 5 6; do printf '%d,anna,anna sleeps,bert sleeps,A\n%d,bert,anna sleeps,bert sleeps,b\n' $i $i >>quiz.csv; done
expect 0 "$@" --batch 4 --data quiz.csv --text question --choices a,b --steps 2 --out quiz
expect 0 eval quiz --data quiz.csv --text question --choices a,b --json
says '"examples": 12'

# long and bad lines
feed "$(seq -s ' ' 30)\ta\tb\n" choose model
[ "$status" = 0 ] && grep -q '^heed: choose: 2 choices are longer than the model.s 16 tokens, truncated$' err || fail "what is cut is said"
feed 'anna\tbert\nanna\tanna sleeps\tbert sleeps\n' choose model
[ "$status" = 1 ] && [ "$(wc -l <out)" = 2 ] && [ -z "$(sed -n 1p out)" ] || fail "a bad line is answered by an empty one"
grep -q '^heed: standard input: line 1: 1 choice: a question and 2 to 64 choices are needed' err || fail "the bad line should be reported"
printf 'a\tb\tc\t1\nd\te\tf\t3\n' >bad.tsv
wrong 1 "bad.tsv: line 2: '3' is not the number or letter of one of 2 choices" "$@" --data bad.tsv --out wrong
: >empty.tsv
expect 1 "$@" --data empty.tsv --out wrong
wrong 2 "train choose: --separator: 'xy' is not a character, tab or space" "$@" --data corpus --separator xy --out wrong
[ ! -e wrong ] || fail "nothing should have been written"
