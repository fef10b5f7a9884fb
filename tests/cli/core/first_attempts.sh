# What a new user types first: data in layouts of all kinds are read, or it is said what they are and what to add.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
train() { expect 0 train classify --out made --force --steps 1 --batch 2 "$@"; }
refused() { # PATTERN ARGUMENTS...
    pattern=$1
    shift
    wrong 1 "$pattern" train classify --out none --quiet "$@"
}
vit="--model vit --set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8"

# pictures: in folders of classes, with parts or without, in an archive; without classes; deeper down
for class in cats dogs; do
    mkdir -p pics/$class
    for i in 1 2 3 4 5 6; do cp "$SOURCE/tests/fuzz/corpus/jpeg/jpeg.0" pics/$class/$i.jpg; done
done
for path in pics pics.tar.gz; do
    [ $path = pics ] || tar -czf pics.tar.gz pics
    train --data $path $vit
    grep -q "^$path: 11 pictures of 2 classes to train on, 1 to validate, 0 to test" err || fail "classes without parts: $(cat err)"
    train --data $path
    grep -q "^$path: 11 examples to train on, 1 to validate, 0 to test" err || fail "for a perceptron too: $(cat err)"
    expect 0 eval made --data $path
    says '12 examples'
done
mkdir -p parts deeper flat packed
cp -r pics parts/train
train --data parts
grep -q '^parts: 11 examples to train on, 1 to validate, 0 to test' err || fail "without a test part: $(cat err)"
cp -r parts deeper/inner
cp pics/cats/*.jpg flat
cp pics.tar.gz packed
refused 'flat: pictures without classes; put those of each class into a folder of its own, CLASS/NAME.png' --data flat $vit
refused 'deeper: a directory around the data; --data deeper/inner reads them' --data deeper $vit
refused 'packed: a directory with an archive; --data packed/pics.tar.gz reads it' --data packed
refused "pics: pictures in folders; 'heed train classify --model vit' reads them" --data pics --model bert
refused "flat/1.jpg: a JPEG picture, not a table: 'heed classify DIR PICTURE' reads pictures" --data flat/1.jpg

# texts: tables in a directory, in a file for each class, in a file each
mkdir -p sst polarity imdb/train/pos imdb/train/neg
awk 'BEGIN { print "sentence\tlabel"; for (i = 0; i < 20; i++) printf "a film of the year %d\t%d\n", i, i % 2 }' >sst/train.tsv
cp sst/train.tsv sst/dev.tsv
refused "sst/train.tsv: column 'sentence' holds texts, not categories; --text sentence trains a model of text on it" --data sst
expect 0 train classify --data sst --text sentence --out sentences --steps 1 --set hidden_size=8 --set num_hidden_layers=1 \
    --set num_attention_heads=2 --set intermediate_size=8
grep -q '^sst: 20 examples to train on, 20 to validate, 0 to test; .* bert' err || fail "texts: $(cat err)"
printf 'good\n' >polarity/rt.pos
printf 'bad\n' >polarity/rt.neg
cp polarity/rt.pos imdb/train/pos/1.txt
cp polarity/rt.neg imdb/train/neg/1.txt
for model in mlp bert; do
    refused 'polarity: texts of one class in each of rt.neg and rt.pos; write them into one table' --data polarity --model $model
    refused 'imdb: texts in a file each, in folders such as train/neg and pos; write them into one table' --data imdb --model $model
done

# tables in a directory; one that is not called train; of series; what is no table
mkdir -p tables series
awk 'BEGIN { print "a,b,class"; for (i = 0; i < 20; i++) print i "," i % 7 "," i % 2 }' >tables/train.csv
train --data tables
grep -q '^tables: 18 examples to train on, 2 to validate, 0 to test' err || fail "a table of a directory: $(cat err)"
cp tables/train.csv tables/dev.csv
cp tables/train.csv tables/test.csv
train --data tables
grep -q '^tables: 20 examples to train on, 20 to validate, 20 to test' err || fail "its parts: $(cat err)"
expect 0 eval made --data tables
says '20 examples'
rm tables/test.csv
wrong 1 'tables: there is no file test.csv or .tsv beside train.csv' eval made --data tables
cp tables/train.csv series/hours.csv
refused 'series: a directory without a file called train, but with others; --data series/hours.csv reads it' --data series
wrong 1 'series: a directory without a file called train, .* series/hours.csv reads it' train forecast --data series --out none --quiet
printf 'PK\003\004\377' >book.xlsx
refused 'book.xlsx: an Excel workbook, not a table: save it as CSV' --data book.xlsx
printf '{"a": 1}\n' >a.jsonl
refused 'a.jsonl: JSON, not a table: write it as CSV' --data a.jsonl

# parallel text, graphs, models, nothing
mkdir -p languages graph nothing
for language in de en fr; do echo word >languages/train.$language; done
refused "languages: parallel text, train.de and train.en; 'heed train translate --from de --to en' reads it" --data languages
wrong 1 'languages: --from and --to, the languages, are needed to find its files, such as --from de --to en' \
    train translate --data languages --out none --quiet
printf '1\t2\n' >graph/edges.tsv
cp graph/edges.tsv graph/nodes.tsv
refused "graph: a graph of nodes and edges; 'heed train nodes' reads it" --data graph
refused 'made: a model directory, not data; --init starts from its weights' --data made
refused 'nothing: a directory without data that heed knows' --data nothing
