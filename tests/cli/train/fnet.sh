# FNet: trained on every task of text, and what it answers does not depend on the texts beside it, though it takes no mask.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

tiny="--model fnet --set hidden_size=8 --set num_hidden_layers=2 --set intermediate_size=12 --set max_position_embeddings=32"
awk 'BEGIN { print "sentence\tlabel"; for (i = 0; i < 40; i++) printf "the film is %s%s\t%s\n", i % 4 ? "good" : "bad", i % 3 ? "" : " and rather long", i % 4 ? "pos" : "neg" }' >films.tsv
awk 'BEGIN { for (i = 0; i < 20; i++) print "mr\tO\nbert\tPER\n" (i % 2 ? "" : "left\tO\n") }' >names.tsv
awk 'BEGIN { for (i = 0; i < 40; i++) print "the cat sat on the mat" (i % 2 ? "" : " and slept there") "." }' >stories.txt
expect 0 train classify $tiny --data films.tsv --out films --steps 8 --batch 8 --quiet
expect 0 train tag $tiny --data names.tsv --out names --steps 2 --batch 4 --quiet
expect 0 train mlm $tiny --data stories.txt --out stories --steps 2 --quiet
expect 0 fill stories 'the [MASK] sat'
expect 0 tag names 'mr bert'
expect 0 eval films --data films.tsv
expect 0 train classify --init stories --data films.tsv --out tuned --steps 2 --quiet # the body alone goes on

# together and one by one
printf 'good\nthe film is bad and rather long\nthe film\nthe film is good\n' >lines
"$HEED" classify films --json <lines | sed 's/"line":[0-9]*//' >together
while read -r line; do echo "$line" | "$HEED" classify films --json | sed 's/"line":[0-9]*//'; done <lines >alone
cmp together alone || fail "answers should not depend on the batch"
"$HEED" embed films --quiet <lines >together
while read -r line; do echo "$line" | "$HEED" embed films --quiet; done <lines >alone
cmp together alone || fail "vectors should not depend on the batch"

# what has no attention has no maps
wrong 1 'attend: a model of family fnet has no attention' attend films 'the film'

wrong 2 'fnet: hidden_size: 0 is not between 1 and ' new fnet never --set hidden_size=0
