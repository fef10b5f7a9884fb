# What is wrong with encoders, their files and their data: heads that nobody trained, weights of classes, vocabularies.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

tiny="--set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=12 --set max_position_embeddings=16"
awk 'BEGIN { print "sentence\tlabel"; for (i = 0; i < 40; i++) printf "the film is %s\t%s\n", i % 4 ? "good" : "bad", i % 4 ? "pos" : "neg" }' >films.tsv
awk 'BEGIN { for (i = 0; i < 20; i++) print "mr\tO\nbert\tPER\n" }' >names.tsv
expect 0 train classify --model bert --data films.tsv --out films $tiny --steps 1 --quiet
words=$(grep -o '"vocab_size": *[0-9]*' films/config.json | grep -o '[0-9]*$')

# one step of training is enough: nothing is said
expect 0 classify films 'the film'
silent
expect 0 train tag --model bert --data names.tsv --out names $tiny --steps 1 --quiet
expect 0 tag names 'mr bert'
silent

# a fresh head is said to be one, whatever the family, and what it answers is still there
seems() { # NAME ARCHITECTURE PARAMETER
    grep -q "^heed: $1: the head of $2 seems untrained: '$3' is all zeros, as it was drawn$" err || fail "a fresh head is said"
    [ "$(wc -l <err)" = 1 ] && [ -s out ] || fail "and nothing else"
}
fresh() { # FAMILY TASK NAME SETTINGS...
    family=$1 task=$2 name=$3
    shift 3
    expect 0 new $family $name --task $task --set vocab_size=$words --quiet "$@"
    cp films/tokenizer.json films/tokenizer_config.json films/special_tokens_map.json $name
}
fresh bert classify one $tiny
expect 0 classify one 'the film'
seems one BertForSequenceClassification classifier.bias
expect 0 classify one 'the film' --quiet
silent
fresh bert tag two $tiny
expect 0 tag two 'the film'
seems two BertForTokenClassification classifier.bias
fresh bert mlm three $tiny
expect 0 fill three 'the [MASK]'
seems three BertForMaskedLM cls.predictions.decoder.bias
fresh bert qa four $tiny
feed 'which film?\tthe film\n' answer four
seems four BertForQuestionAnswering qa_outputs.bias
fresh bert choose five $tiny
feed 'which film?\tgood\tbad\n' choose five
seems five BertForMultipleChoice classifier.bias
fresh roberta classify six --set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=12
expect 0 classify six 'the film'
seems six RobertaForSequenceClassification classifier.out_proj.bias
fresh distilbert classify seven --set dim=8 --set n_layers=1 --set n_heads=2 --set hidden_dim=12
expect 0 classify seven 'the film'
seems seven DistilBertForSequenceClassification classifier.bias
expect 0 embed one 'the film' # a body has no head
grep -q 'seems untrained' err && fail "embeddings need no head"

# trained from there, it is one no more
expect 0 train classify --init one --data films.tsv --out trained --steps 1 --quiet
expect 0 classify trained 'the film'
silent

# texts that are too long are counted
long='film film film film film film film film film film film film film film film film film film film film film film'
printf '%s\nshort\n%s\n' "$long" "$long" >lines
status=0
"$HEED" classify films <lines >out 2>err || status=$?
[ "$status" = 0 ] && [ "$(wc -l <out)" = 3 ] || fail "long texts are truncated"
grep -q "^heed: 2 texts are longer than the model's 16 tokens, truncated$" err || fail "which is counted"
printf '%s\tpos\nshort\tneg\n' "$long" >long.tsv
expect 0 eval films --data long.tsv
grep -q '^heed: long.tsv: 1 text is longer than 16 tokens, truncated$' err || fail "in data too"

# labels that the model does not have; tags without a column
printf 'a film\tpos\nanother\tmaybe\n' >unknown.tsv
wrong 1 "unknown.tsv: line 2: label 'maybe' is not one of the model's 2" eval films --data unknown.tsv
printf 'mr\tO\nbert\tORG\n' >unknown.tsv
wrong 1 "unknown.tsv: line 2: tag 'ORG' is not one of the model's 2" eval names --data unknown.tsv
printf 'mr\tO\nbert\n' >column.tsv
wrong 1 'column.tsv: line 2: number of columns: 1, in the first line 2' eval names --data column.tsv
printf 'mr\nbert\n' >column.tsv
wrong 1 'column.tsv: one column: a word and its tag are needed, separated by a tab$' eval names --data column.tsv

# a tokenizer that is not the model's
expect 0 new bert small --task classify --set vocab_size=7 $tiny --quiet
cp films/tokenizer.json small
wrong 1 "small: the tokenizer has $words tokens, the model's vocabulary 7" classify small 'the film'
wrong 1 "small: the tokenizer has $words tokens, the model's vocabulary 7" eval small --data films.tsv
wrong 1 ".*the tokenizer has $words tokens, the model's vocabulary 7" train classify --init small --data films.tsv --out never

# weights that are no numbers: of the last tensor in the file
for name in films names three; do
    cp -r $name nan
    printf '\000\000\300\177' | dd of=nan/model.safetensors bs=1 seek=$(($(wc -c <nan/model.safetensors) - 4)) conv=notrunc 2>dd
    case $name in
    films) wrong 1 "the model's output is not a finite number" classify nan 'the film' ;;
    names) wrong 1 "the model's output is not a finite number" tag nan 'mr bert' ;;
    three) wrong 1 "the model's output is not a finite number" fill nan 'the [MASK]' ;;
    esac
    rm -r nan
done

# class weights: numbers in the order of the classes, or balanced, for classes of texts and for tags
set -- train classify --model bert --data films.tsv $tiny --steps 2 --quiet
expect 0 "$@" --out plain
expect 0 "$@" --out even --class-weights 1,1
expect 0 "$@" --out given --class-weights 3,0.5
expect 0 "$@" --out balanced --class-weights balanced
expect 0 "$@" --out again --class-weights balanced --threads 2
cmp -s plain/model.safetensors given/model.safetensors && fail "class weights should change the training"
cmp -s given/model.safetensors balanced/model.safetensors && fail "balanced should be other weights"
cmp balanced/model.safetensors again/model.safetensors || fail "threads change the bits"
for weights in 1 1,2,3; do
    wrong 1 "class weights '$weights': [13] for 2 classes, of which the first is 'neg'" "$@" --out never --class-weights $weights
done
for weights in -1,1 0,1 nan,1 1, pos,neg pos=1,neg=2 balance; do
    wrong 1 "class weights '$weights': must be balanced, or positive numbers as a,b,c" "$@" --out never --class-weights="$weights"
done
set -- train tag --model bert --data names.tsv $tiny --steps 2 --quiet
expect 0 "$@" --out tags --class-weights balanced
expect 0 "$@" --out tags2 --class-weights 0.2,5
wrong 1 "class weights '1,2,3': 3 for 2 classes, of which the first is " "$@" --out never --class-weights 1,2,3
wrong 1 "class weights '1,-2': must be balanced" "$@" --out never --class-weights 1,-2
awk 'BEGIN { for (i = 0; i < 20; i++) print "film " i "\t" i / 20 }' >numbers.tsv
wrong 1 'numbers.tsv: there are no classes to weigh' train regress --model bert --data numbers.tsv --out never --class-weights 1,2
[ ! -e never ] || fail "what was refused should leave nothing behind"
