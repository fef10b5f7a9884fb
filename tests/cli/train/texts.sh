# Encoders: fine-tuned on tables of texts, measured and used.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

tiny="--set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=24 --set max_position_embeddings=16"
awk 'BEGIN { print "sentence\tlabel"; for (i = 0; i < 120; i++)
    printf "the %s film is %s\t%s\n", substr("red old new sad", 4 * (int(i / 2) % 4) + 1, 3), i % 2 ? "good and fine" : "bad and dull", i % 2 ? "pos" : "neg" }' >films.tsv
awk 'BEGIN { print "a\tb\tscore"; for (i = 0; i < 60; i++) printf "number %d\tanother %d\t%g\n", i % 6, i % 5, (i % 6) / 6 }' >pairs.tsv

# from scratch: it learns, is measured, answers lines, and what comes out has the names of its labels
expect 0 train classify --model bert --data films.tsv --test films.tsv --out films $tiny --epochs 30 --batch 8 --lr 0.01 --seed "$(seed 1)" --log films.jsonl --json
at_least accuracy "$(result test_accuracy)" 0.95
at_least "macro F1" "$(result valid_f1_macro)" 0.95
at_least "Matthews correlation" "$(result valid_matthews)" 0.9
grep -q '"LABEL_0"' films/config.json && fail "labels have their names"
expect 0 eval films --data films.tsv
says 'accuracy 100.00 %, macro F1 100.00 %, Matthews correlation 1.0000'
expect 0 eval films --data films.tsv --png confusion.png
says '^neg .* 60$'
[ -s confusion.png ] || fail 'a picture of the confusion matrix'
expect 0 eval films --data films.tsv --json
says '"examples": 120'
expect 0 classify films 'the red film is good and fine' 'the old film is bad and dull'
says '^pos	'
says '^neg	'
printf 'the film is good and fine\n\377\nthe old film is bad and dull\n' >lines
"$HEED" classify films <lines >out 2>err && fail "a line that is not UTF-8 makes the exit status 1"
[ "$(wc -l <out)" -eq 3 ] || fail "a line out for each line in: $(cat out)"
grep -q 'standard input: line 2: ' err || fail "the bad line is named: $(cat err)"
expect 0 classify films --json 'good and fine'
says '"scores":{"neg":'
long='film film film film film film film film film film film film film film film film film film film film film film'
"$HEED" classify films "$long" >out 2>err || fail "long texts are truncated"
grep -q "1 text is longer than the model's 16 tokens, truncated" err || fail "which is said: $(cat err)"

# stopped and resumed, and with another number of threads: the same bits
expect 0 train classify --model bert --data films.tsv --out whole $tiny --steps 12 --batch 8 --quiet
expect 0 train classify --model bert --data films.tsv --out parts $tiny --steps 12 --batch 8 --quiet --threads 2 --save-every 1 --memory 100M
cmp whole/model.safetensors parts/model.safetensors || fail "threads change the bits"
expect 0 train classify --model bert --data films.tsv --out micro $tiny --steps 12 --batch 8 --micro-batch 3 --quiet

# numbers, of pairs of texts; the best model by another metric
expect 0 train regress --model bert --data pairs.tsv --out numbers $tiny --epochs 2 --best-by loss --json --quiet
says '"valid_spearman"'
expect 0 classify numbers "$(printf 'number 3\tanother 1')"
[ "$(wc -w <out)" -eq 1 ] || fail "a number: $(cat out)"
wrong 1 "train: there is no metric 'bleu' to choose the best model by, one of: loss, pearson, spearman" \
    train regress --model bert --data pairs.tsv --out none $tiny --best-by bleu --quiet

# embeddings of any head's body
expect 0 embed films 'the film' --quiet
[ "$(wc -w <out)" -eq 16 ] || fail "as many numbers as the model is wide: $(cat out)"
printf 'one film\nanother film\n' >lines
"$HEED" embed films --out v.npy --normalize --quiet <lines || fail "an array of vectors"
[ "$(wc -c <v.npy)" -eq $((128 + 2 * 16 * 4)) ] || fail "of two rows"
printf 'good\n\377\n' >bad
"$HEED" embed films --out bad.npy <bad >out 2>err && fail "a row is missing"
grep -q '^heed: embed: --out: line 2 is bad: its row would be missing$' err || fail "which is said: $(cat err)"
[ ! -e bad.npy ] || fail "and nothing is written"
printf 'one\ttwo\n' | "$HEED" embed films --json --quiet >out || fail "a pair of texts"
grep -q '^{"text":"one\\ttwo","vector":\[' out || fail "its text is the line: $(cat out)"
"$HEED" embed films --json --pooling max --quiet <lines >out || fail "as JSON"
grep -q '^{"text":"one film","vector":\[' out || fail "with its text: $(cat out)"

# from weights, with other labels
awk 'BEGIN { for (i = 0; i < 60; i++) printf "film %d\t%s\n", i, substr("xyz", i % 3 + 1, 1) }' >three.tsv
expect 0 train classify --init films --data three.tsv --out three --steps 2
grep -q "drawn fresh: 'classifier.weight' is (2,16), not (3,16)" err || fail "the head is drawn fresh: $(cat err)"
expect 0 classify three 'film 3'
says '^[xyz]	'

# wrong input
wrong 1 "three.tsv: line 1: label 'x' is not one of the model's 2" eval films --data three.tsv
wrong 1 "films.tsv: there is no column 'rating'" train classify --model bert --data films.tsv --target rating --out none --quiet
wrong 1 "pairs.tsv: line 2: 'number 0' is not a number to regress on" \
    train regress --model bert --data pairs.tsv --text b --target a --out none --quiet
printf 'a\tx\nb\tx\n' >one.tsv
wrong 1 "one.tsv: all examples are of one class, 'x'" train classify --model bert --data one.tsv --out none --quiet
printf 'text\tlabel\na b\tx\nb a\t\nc\ty\n' >empty.tsv
wrong 1 'empty.tsv: line 3: the label is empty' train classify --model bert --data empty.tsv --out none --quiet
printf 'just text\nmore text\n' >plain.txt
wrong 1 'plain.txt: one column: a text and its label are needed, separated by a tab' \
    train classify --model bert --data plain.txt --separator tab --out none --quiet
mkdir empty
wrong 1 'empty: there is no file train.tsv, nor .csv or .txt' train classify --model bert --data empty --out none --quiet
wrong 1 "films: BertForSequenceClassification is not for mlm" fill films 'a [MASK]'
[ ! -e none ] || fail "what was refused should leave nothing behind"

# a column of texts that is named makes it a task of text; one that is not named is no column of categories
awk 'BEGIN { print "id,review,label"; for (i = 0; i < 40; i++)
    printf "%d,the %s film number %d was %s,%s\n", i, i % 3 ? "long" : "short", i, i % 2 ? "good" : "bad", i % 2 ? "pos" : "neg" }' >reviews.csv
expect 0 train classify --data reviews.csv --text review --target label --out reviews $tiny --steps 2
grep -q 'reviews.csv: 36 examples to train on, .*; bert with ' err || fail "a model of text: $(cat err)"
wrong 1 "reviews.csv: column 'review' holds texts, not categories; --text review trains a model of text on it, --drop leaves it out" \
    train classify --data reviews.csv --target label --out none --quiet
wrong 1 "reviews.csv: column 'review' holds texts, not classes; --target names the column of the classes" \
    train classify --data reviews.csv --target review --out none --quiet
wrong 1 "reviews.csv: column 'review' holds texts, not labels; --text and --target name the columns of both" \
    train classify --data reviews.csv --text label --target review --out none --quiet
wrong 2 'train: --text is for models of text, which mlp is not' \
    train classify --data reviews.csv --text review --model mlp --out none --quiet
wrong 2 'train: --text is for models of text, which vit is not' \
    train classify --data reviews.csv --text review --model vit --out none --quiet
# the label may stand first
awk -F, '{ print $3 "," $2 }' reviews.csv >labels_first.csv
expect 0 train classify --data labels_first.csv --text review --out first $tiny --steps 2 --quiet
grep -q '"neg"' first/config.json || fail 'the other column is that of the labels'

# a header is no pair
printf 'question\tanswer\n' >qa.tsv
awk 'BEGIN { for (i = 0; i < 20; i++) printf "where is number %d\tit is behind number %d\n", i, i + 1 }' >>qa.tsv
for task in 'embed --model bert' 'text2text --set d_model=16 --set d_ff=16 --set num_layers=1 --set num_heads=2 --set d_kv=8'; do
    [ "${task%% *}" = embed ] && sizes=$tiny || sizes=
    expect 0 train $task $sizes --data qa.tsv --out qa --force --steps 1 --valid 0
    grep -q 'qa.tsv: 20 examples to train on' err || fail "a header is counted as a pair: $(cat err)"
    sed 1d qa.tsv >none.tsv
    expect 0 train $task $sizes --data none.tsv --out qa --force --steps 1 --valid 0
    grep -q 'none.tsv: 20 examples to train on' err || fail "the first pair is taken for a header: $(cat err)"
done

# texts of a table, and the table with what is said of them
printf 'id,note,review\n1,"a, b",the red film is good and fine\n2,c,\n3,d,the old film is bad and dull\n' >ask.csv
expect 0 classify films --data ask.csv --out rated.csv
[ "$(sed 's/,[0-9.]*$//' rated.csv | tr '\n' '|')" = 'id,note,review,prediction,probability|1,"a, b",the red film is good and fine,pos|2,c,,|3,d,the old film is bad and dull,neg|' ] ||
    fail "the table with its classes: $(cat rated.csv)"
grep -q '^rated.csv: 3 rows, 1 without a prediction$' err || fail "what was written: $(cat err)"
expect 0 classify films --data ask.csv --text review
[ "$(cut -f 1 out | tr '\n' '|')" = 'pos||neg|' ] || fail "a line for each row: $(cat out)"
wrong 1 "ask.csv: there is no column 'body'" classify films --data ask.csv --text body
wrong 2 'classify: --out is for a table: --data FILE names it' classify films --out rated.csv
