# heed shots: accuracy by the number of examples in the prompt, and what is wrong with tables and templates.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
lm="$SOURCE/tests/golden/model/gpt2-options"

# a model that knows: after 'gin pis' comes 'kar', after 'kar man' 'gen'
printf 'first\tsecond\tnext\ngin\tpis\tkar\nkar\tman\tgen\npis\tkar\tman\n' >words.tsv
expect 0 shots "$lm" --table words.tsv --k 0,2 --template '{first} {second} {next}' --separator ' ' --png shots.png
says '^examples +accuracy +questions$'
says '^ +0 +100\.00 % +3$'
says '^ +2 +[0-9.]+ % +3$'
says '^chance 33\.33 % \(3 answers\), the most frequent answer 33\.33 %$'
[ "$(head -c 4 shots.png | tail -c 3)" = PNG ] || fail "a picture"
expect 0 shots "$lm" --table words.tsv --k 2,0,1 --template '{first} {second} {next}' --json --seed 3 --threads 1
says '"k": 0,'
says '"accuracy": 1[.0]*,'
says '"questions": 3,'
cp out one
expect 0 shots "$lm" --table words.tsv --k 2,0,1 --template '{first} {second} {next}' --json --seed 3 --threads 2
cmp out one || fail "the same for any number of threads"
expect 0 shots "$lm" --table words.tsv --k 0 --template '{first} {second} {next}' --questions 2
says '^ +0 +100\.00 % +2$'
expect 0 shots "$lm" --table words.tsv --k 0,1 --skip first --template '{second} {next}' --normalise tokens --bos

# prompts beyond the positions
awk 'BEGIN { print "x\ty"; for (i = 0; i < 12; i++) { s = ""; for (k = 0; k <= i; k++) s = s "fas "; print s "gin\t" (i % 2 ? "fis" : "nir") } }' >long.tsv
expect 0 shots "$lm" --table long.tsv --k 0,3 --template '{x} {y}'
grep -qE '^heed: shots: with 3 examples [0-9]+ prompts? (is|are) longer than the model.s 40 positions, skipped$' err || fail "what is skipped is said"
wrong 1 'shots: with 11 examples every prompt is longer' shots "$lm" --table long.tsv --k 11 --template '{x} {y}'

# what is wrong
wrong 1 'shots: --template: \{z\}: words.tsv has no such column' shots "$lm" --table words.tsv --template '{first} {z}'
wrong 1 "shots: --template: column 'second' of words.tsv is not named" shots "$lm" --table words.tsv --template '{first} {next}'
wrong 1 'shots: --template: at least two columns' shots "$lm" --table words.tsv --skip first --skip second --template '{next}'
wrong 1 'shots: --template: the last column is the answer' shots "$lm" --table words.tsv --template '{next} {first} {second} {next}'
wrong 1 'shots: --template: a brace is not closed' shots "$lm" --table words.tsv --template '{first} {second'
wrong 1 'shots: --template: a brace is not opened' shots "$lm" --table words.tsv --template 'first} {second}'
wrong 1 "--skip: words.tsv has no column 'z'" shots "$lm" --table words.tsv --skip z --template '{first} {second} {next}'
wrong 1 'shots: --k: 3 examples beside the question: words.tsv has 3 rows' shots "$lm" --table words.tsv --k 3 --template '{first} {second} {next}'
wrong 2 "shots: --k: '1,x' is not a list" shots "$lm" --table words.tsv --k 1,x --template '{first} {second} {next}'
wrong 2 'shots: --k: 1 is given twice' shots "$lm" --table words.tsv --k 1,1 --template '{first} {second} {next}'
wrong 2 'shots: --table .*needed' shots "$lm" --template '{x}'
wrong 2 'shots: --template .*needed' shots "$lm" --table words.tsv
printf 'x\ty\n' >empty.tsv
wrong 1 'empty.tsv: there are no examples' shots "$lm" --table empty.tsv --k 0 --template '{x} {y}'
printf 'x\ty\na\tgin\nb\tgin\n' >one.tsv
wrong 1 "one.tsv: column 'y' has only one answer" shots "$lm" --table one.tsv --k 0 --template '{x} {y}'
printf 'x\ty\na\tgin\nb\t\n' >gap.tsv
wrong 1 "gap.tsv: line 3: the answer, column 'y', is empty" shots "$lm" --table gap.tsv --k 0 --template '{x} {y}'
wrong 1 'nowhere.tsv: No such file or directory$' shots "$lm" --table nowhere.tsv --template '{x} {y}'
