# heed train tag, tag and eval: from tagged words to tags, and what is wrong with files.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# names after mr are persons, after in places; mr and in are outside
mkdir corpus
awk 'BEGIN {
    split("anna bert carl dora emil", name, " ")
    s = 7
    for (i = 0; i < 260; i++) {
        part = i < 220 ? "train" : i < 240 ? "dev" : "test"
        n = 1 + i % 3
        for (k = 0; k < n; k++) {
            s = (s * 16807) % 2147483647
            who = name[1 + s % 5]
            if (int(s / 7) % 2) print "mr\tX\tO\n" who "\tY\tB-PER\n" who "\tY\tI-PER" >"corpus/" part ".tsv"
            else print "in\tX\tO\n" who "\tY\tB-LOC" >"corpus/" part ".tsv"
        }
        print "" >"corpus/" part ".tsv"
    }
}'
gzip corpus/dev.tsv
small="--set hidden_size=32 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=32
    --set max_position_embeddings=24 --set hidden_dropout_prob=0 --tokens word --vocab 40 --batch 20"
set -- train tag $small
steps="--steps 3"
if learns; then steps="--epochs 30"; fi
expect 0 "$@" --data corpus $steps --lr 0.005 --seed "$(seed 1)" --out model --log log.jsonl
says '^validation: F1 [0-9.]+ %, precision [0-9.]+ %, recall [0-9.]+ %, accuracy [0-9.]+ %, loss'
says '^next: [^ ]*heed tag model'
grep -q '"valid_f1":[0-9.]*,"valid_precision":[0-9.]*,"valid_recall":[0-9.]*,"valid_accuracy":' log.jsonl || fail "the log should have the metrics"
grep -q '220 examples to train on, 20 to validate, 20 to test' err || fail "the files of the directory should be found"
if learns; then
    at_least F1 "$(said 'test: F1')" 95
    feed 'mr anna anna in  bert\n\nin emil\n' tag model
    [ "$(cat out)" = "$(printf 'O B-PER I-PER O B-LOC\n\nO B-LOC')" ] || fail "tags of a line in a line"
    feed 'mr anna anna in bert\n' tag model --words
    says '^mr/O anna/B-PER anna/I-PER in/O bert/B-LOC$'
    feed 'mr anna anna in bert\n' tag model --json
    says '"chunks":\[\{"type":"PER","first":2,"last":3,"text":"anna anna"\},\{"type":"LOC","first":5,"last":5,"text":"bert"\}\]'
fi
expect 0 tag model 'mr anna' 'in bert'
[ "$(wc -l <out)" = 2 ] || fail "a line for each text of the command line"
feed 'mr anna\n' tag model --json
says '^\{"line":1,"words":\[\{"word":"mr","tag":"[-A-Z]+","score":[0-9.e-]+\},\{"word":"anna","tag":'
answers_at_once 'mr anna\n' tag model

# other columns: no chunks, so accuracy
expect 0 "$@" --data corpus --target 2 --steps 2 --out parts
says '^validation: accuracy [0-9.]+ %, macro F1'
expect 0 eval parts --data corpus/test.tsv --target 2 --json
says '"accuracy": [0-9.]+'
expect 0 eval model --data corpus
says '^F1 [0-9.]+ %, precision [0-9.]+ %, recall [0-9.]+ %, accuracy [0-9.]+ %, loss [0-9.e-]+ \([0-9]+ words\)$'
says '^B-PER +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+$'

# a model goes on, with another set of tags
expect 0 "$@" --data corpus --target 2 --steps 2 --init model --out further

# bad lines, long lines
feed 'mr anna\n\377\nin bert\n' tag model
[ "$status" = 1 ] && [ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] || fail "a bad line is answered by an empty one"
grep -q '^heed: standard input: line 2: byte 1 is not UTF-8' err || fail "the bad line should be reported"
feed 'mr anna\n\377\nin bert\n' tag model --strict
[ "$status" = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "--strict stops"
feed "$(seq -s ' ' 30)\n" tag model
[ "$status" = 0 ] && grep -q '_ _ _ _ _ _ _ _$' out || fail "words beyond the positions have no tag"
grep -q '^heed: tag: 8 words are untagged, beyond the model.s 24 tokens$' err || fail "words without a tag are counted"
{ seq 30 | sed 's/$/\tO/'; printf 'x\tB-PER\n'; } >long.tsv
expect 0 eval model --data long.tsv
grep -q 'sentences longer than 24 tokens are truncated: 9 words are left out' err || fail "words that are cut are counted"

# what is wrong
: >empty.tsv
wrong 1 'empty.tsv: there are no words' "$@" --data empty.tsv --out wrong
printf 'a\tO\n\nb\n' >short.tsv
wrong 1 'short.tsv: line 3: number of columns: 1, in the first line 2' "$@" --data short.tsv --out wrong
printf 'a\tO\nb\tB-ORG\n' >unknown.tsv
wrong 1 "unknown.tsv: line 2: tag 'B-ORG' is not one of the model's 4" eval model --data unknown.tsv
wrong 1 'corpus/test.tsv: there is no column 4, only 3' "$@" --data corpus/test.tsv --target 4 --out wrong
wrong 2 "train tag: --separator: 'xy' is not a character, tab or space" "$@" --data corpus --separator xy --out wrong
wrong 2 'train: mlp cannot be trained to tag' train tag --data corpus --model mlp --out wrong
[ ! -e wrong ] || fail "nothing should have been written"
expect 0 new bert bare --set vocab_size=40 --set hidden_size=8 --set num_attention_heads=2 --set num_hidden_layers=1 --set intermediate_size=8
wrong 1 "bare: BertForMaskedLM is not for tag; 'heed train tag --init bare' makes a model that is" tag bare x
