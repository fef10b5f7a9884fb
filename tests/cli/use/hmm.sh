# Hidden Markov models that tag words: by counts and by learning, used and measured; and files that are not sound.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

for i in 1 2 3 4 5 6; do
    printf 'the\tDET\ndog\tNOUN\nbarks\tVERB\n\na\tDET\ncat\tNOUN\nsleeps\tVERB\n\nMary\tPROPN\nlaughs\tVERB\n\n'
    printf 'the\tDET\ndance%s\tNOUN\nends\tVERB\n\nMary\tPROPN\ndances%s\tVERB\n\n' $i $i
done >tags.tsv
printf 'zorking\tVERB\nfalling\tVERB\n\n' >>tags.tsv
expect 0 train tag --data tags.tsv --test tags.tsv --model hmm --out m
silent
says '^counted 4 tags and [0-9]+ symbols in '
says '^test: accuracy 100.00 % of 80 words; '
for file in config.json vocab.txt model.safetensors; do [ -s m/$file ] || fail "$file should have been written"; done
expect 0 tag m 'the cat barks' 'Mary sleeps'
[ "$(cat out)" = 'DET NOUN VERB
PROPN VERB' ] || fail "the tags"
expect 0 tag m --words 'the cat, "Mary" barks…'
says '^the/[A-Z]+ cat/[A-Z]+ ,/[A-Z]+ "/[A-Z]+ Mary/[A-Z]+ "/[A-Z]+ barks/[A-Z]+ …/[A-Z]+$'
expect 0 tag m --words 'the cat, barks' --split blanks
says '^the/[A-Z]+ cat,/[A-Z]+ barks/[A-Z]+$'
cp -r m before && sed -i '/"split"/d' before/config.json # as older versions wrote it
expect 0 tag before --words 'the cat, barks'
says '^the/[A-Z]+ cat,/[A-Z]+ barks/[A-Z]+$'
expect 0 train tag --data tags.tsv --model hmm --split blanks --out blanks --quiet
expect 0 tag blanks --words 'the cat, barks'
says '^the/[A-Z]+ cat,/[A-Z]+ barks/[A-Z]+$'
expect 0 tag m --words 'the dog is jumping'
says '^the/DET dog/NOUN is/[A-Z]+ jumping/VERB$'
expect 0 tag m --json 'a cat'
says '^\{"line":1,"words":\[\{"word":"a","tag":"DET","score":[0-9.]+\},\{"word":"cat","tag":"NOUN","score":[0-9.]+\}\]\}$'
feed 'the dog\n\n\377\na cat\n' tag m
[ "$status" = 1 ] && [ "$(sed -n '1p;4p' out)" = 'DET NOUN
DET NOUN' ] && [ "$(wc -l <out)" = 4 ] || fail "bad and empty lines have empty answers"
expect 0 eval m --data tags.tsv
says '^accuracy 100.00 % of 80 words; 0.00 % of the 0 unknown ones$'
printf 'the\tDET\nzebra\tNOUN\nbarks\tVERB\n\nMary\tPROPN\njumping\tVERB\n' >unseen.tsv
expect 0 eval m --data unseen.tsv --json
[ "$(tr -d ' \n' <out)" = '{"accuracy":1.0,"words":5,"unknown_accuracy":1.0,"unknown":2}' ] || fail "words that are told by their places and endings"

expect 0 info m
says '^states +4$'
expect 0 info m --json
says '"name": "hmm"'
wrong 1 "m/config.json: model_type: 'heed-hmm' is a hidden Markov model, which is for heed tag, eval and info$" generate m --prompt the

expect 0 train tag --data tags.tsv --model hmm --baum-welch 3 --out learnt
grep -q '^Baum-Welch step 3: [0-9.]* nats per word$' err || fail "steps should be said"

# without tags: three kinds of words are found by their places
awk 'BEGIN {
    split("the a every", det, " "); split("dog cat man boy", noun, " "); split("barks sleeps laughs ends", verb, " ")
    for (i = 0; i < 36; i++) printf "%s\tDET\n%s\tNOUN\n%s\tVERB\n\n", det[i % 3 + 1], noun[int(i / 3) % 4 + 1], verb[(i + int(i / 12)) % 4 + 1]
}' >plain.tsv
expect 0 train tag --data plain.tsv --test plain.tsv --model hmm --unsupervised --baum-welch 20 --seed "$(seed 1)" --out alone --json --quiet
at_least "accuracy without tags" "$(result accuracy)" 0.9 # at random: 0.33

wrong 2 'train: --unsupervised needs --baum-welch N' train tag --data tags.tsv --model hmm --unsupervised --out no
wrong 1 'm: holds a model already; --force overwrites it' train tag --data tags.tsv --model hmm --out m
printf 'the\tDET\ndog\n' >short.tsv
wrong 1 'short.tsv: line 2: number of columns: 1, in the first line 2' train tag --data short.tsv --model hmm --out no
printf 'the\tDET\n\tNOUN\n' >short.tsv
wrong 1 'short.tsv: line 2: a tag without a word' train tag --data short.tsv --model hmm --out no
: >empty.tsv
wrong 1 'empty.tsv: there are no words' train tag --data empty.tsv --model hmm --out no
[ ! -e no ] || fail "nothing should be left of a failure"
head -n 3 m/vocab.txt >cut && mv cut m/vocab.txt
wrong 1 'm/vocab.txt: should hold [0-9]+ different symbols, one of them <unk>' tag m 'the dog'
