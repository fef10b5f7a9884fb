# heed train ngram, and what the commands do with n-gram models: eval, score, generate, complete.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

printf 'the cat sat on the mat\nthe dog sat on the log\nthe cat saw the dog\na dog saw a cat\n' >text
expect 0 train ngram --data text --order 3 --out lm --arpa lm.arpa
says '^counted 22 tokens of 12 words in [0-9.]+ s: 12 1-grams, 20 2-grams, '
says '^model: lm$'
grep -q 'give no discounts: 0.5, 1 and 1.5 are taken' err || fail "fallback discounts should be said"
for file in config.json model.ngram tokenizer.json; do [ -s lm/$file ] || fail "$file should have been written"; done
[ "$(head -n 1 lm.arpa)" = '\data\' ] || fail "an ARPA file"
wrong 1 'lm: holds a model already; --force overwrites it' train ngram --data text --out lm

# the model, its ARPA file and what is made of that say the same
expect 0 eval lm --data text
says '^perplexity [0-9.]+, [0-9.]+ nats per token, [0-9.]+ bits per byte over 26 tokens, 0 unknown$'
says '^unseen n-grams of order 3: 0.00 %$'
cp out first
expect 0 eval lm.arpa --data text
cmp -s out first || fail "the ARPA file should give the same figures"
expect 0 train ngram --data lm.arpa --out again --quiet
expect 0 eval again --data text
cmp -s out first || fail "a converted ARPA file should give the same figures"
expect 0 eval lm --data text --json
says '"perplexity": [0-9.]+'

# suggestions: of the next word, and of the word that is being typed
feed 'the cat s\nthe \n' complete lm --top 2
[ "$status" = 0 ] || fail "complete"
[ "$(sed -n 1p out)" = 'sat	saw' ] || fail "words that begin with s"
[ "$(sed -n 2p out)" = 'cat	dog' ] || fail "words that may follow"
expect 0 complete lm.arpa 'the do' --json
says '^\{"line":1,"suggestions":\[\{"text":"dog","probability":0\.[0-9]+\}\]\}$'
answers_at_once 'the c\n' complete lm
feed 'the \377\nthe d\n' complete lm
[ "$status" = 1 ] && [ -z "$(sed -n 1p out)" ] && [ "$(sed -n 2p out)" = dog ] || fail "a bad line has an empty answer"

# text: greedy, drawn, the same for the same seed
expect 0 generate lm 'the cat' --max-tokens 3
[ -s out ] || fail "words should follow"
expect 0 generate lm --sample --temperature 0.7 --top-k 3 --seed 5 'the'
cp out first
expect 0 generate lm --sample --temperature 0.7 --top-k 3 --seed 5 'the'
cmp -s out first || fail "the same seed should give the same text"
wrong 2 'generate: --beam is not for n-gram models' generate lm --beam 4 the

# how probable lines are, as eval sums them up; the likeliest of choices
feed 'the cat sat on the mat\n\nthe \377\nthe dog sat on the log\n' score lm
[ "$status" = 1 ] && [ "$(wc -l <out)" = 4 ] && [ -z "$(sed -n 2p out)$(sed -n 3p out)" ] || fail "empty and bad lines"
[ "$(cut -f 2 out | tr '\n' ' ')" = '7   7 ' ] || fail "tokens of lines, with their ends"
head -n 1 text >one
expect 0 eval lm --data one --json
perplexity=$(sed -n 's/.*"perplexity": \([0-9.]*\).*/\1/p' out)
expect 0 score lm "$(cat one)"
awk -v p="$perplexity" '{ exit !(($3 - p) ^ 2 < 1e-6 && ($1 + $2 * log($3)) ^ 2 < 1e-6) }' out ||
    fail "score should say what eval says: $perplexity"
cp out whole
expect 0 score lm 'the	dog sat on the mat	cat sat on the mat	cat cat'
says '^2	cat sat on the mat	-[0-9.]+$'
expect 0 score lm '	the cat sat on the mat	dog dog'
[ "$(cut -f 3 out)" = "$(cut -f 1 whole)" ] || fail "a choice without prompt should be a line"
expect 0 score lm --json --normalise tokens 'the cat	sat	dog'
says '^\{"line":1,"scores":\[-[0-9.]+,-[0-9.]+\],"choice":1,"text":"sat","log_probability":-[0-9.]+,"tokens":2,'
expect 0 score lm.arpa --strict 'the'
wrong 1 'text 1: choice 2: it leaves nothing to score' score lm --strict 'the	cat	'
wrong 2 'score: --bos is not for n-gram models' score lm --bos the

# what it is
expect 0 info lm
says '^family +ngram \(heed-ngram\): '
says '^order +3$'
says '^n-grams +[0-9]+ 20 [0-9]+$'
expect 0 info lm.arpa --json
says '"order": 3'
wrong 1 "lm/config.json: model_type: 'heed-ngram' is an n-gram model, which is for heed complete, eval, generate, info and score$" tag lm the

# letters: the text is one sequence
expect 0 train ngram --data text --tokens char --order 4 --valid 0.2 --out letters --quiet
expect 0 complete letters 'the ca'
says 'cat'
# punctuation is split from words, in training and in use, unless --split blanks
printf 'A duck. The duck, a man.\nThe man saw a duck.\n' >marked
expect 0 train ngram --data marked --order 2 --out marks --arpa marks.arpa --quiet
grep -q '	duck\.' marks.arpa && fail "a mark should be a word of its own"
expect 0 score marks 'a duck, a man.' --json
says '"tokens": ?7'
expect 0 complete marks 'A duck. The (du' --json
says '"text": ?"duck"'
expect 0 train ngram --data marked --order 2 --out blanks --arpa blanks.arpa --split blanks --quiet
grep -q '	duck\.' blanks.arpa || fail "only blanks should separate words"
expect 0 score blanks 'a duck, a man.' --json
says '"tokens": ?5'
expect 0 train ngram --data text --smoothing kneser-ney --discount 0.75 --order 2 --out kn --json
says '"ngrams": \['
expect 0 score kn 'the unheard' # of which it makes nothing
says '^-inf	3	inf$'
expect 0 score kn --json 'the unheard' 'the	cat	unheard'
says '^\{"line":1,"log_probability":null,"tokens":3,"perplexity":null,"unknown":1\}$'
says '"scores":\[-[0-9.]+,null\],"choice":1,'
echo 'the unheard' >unheard
expect 0 eval kn --data unheard --json
says '"nats_per_token": null'
expect 0 train ngram --data text --tokens bpe --vocab 40 --order 2 --prune 0,1 --out pieces --quiet

# what is wrong is said
: >empty
wrong 1 'empty: .*empty' train ngram --data empty --out no
wrong 1 'text: ngram: order 30 is larger than the text: its longest sequence has 8 tokens' train ngram --data text --order 30 --out no
wrong 1 'text: ngram: the counts of 3-grams give no discounts' train ngram --data text --discount-fallback none --out no
wrong 2 'train: --discount goes with --smoothing kneser-ney' train ngram --data text --discount 0.5 --out no
wrong 2 'train: --prune: counts are expected' train ngram --data text --prune 1,x --out no
wrong 2 'train: --discount-fallback: three numbers are expected' train ngram --data text --discount-fallback 1 --out no
wrong 2 '.*pruning thresholds must not' train ngram --data text --prune 2,1 --out no
wrong 2 'train: --epochs is not for ngram' train ngram --data text --epochs 3 --out no
[ ! -e no ] || fail "nothing should be left of a failure"
cp -r lm broken && echo x >broken/tokenizer.json
wrong 1 'broken/tokenizer.json: line 1, column 1: not a value$' info broken
# a file that another program cuts short while it is mapped
cp -r lm gone && mkfifo pipe
"$HEED" score gone <pipe >scored 2>err &
scorer=$!
exec 9>pipe
echo 'the cat sat' >&9
tries=0
until [ -s scored ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "the first line should be answered"
    sleep 0.1
done
: >gone/model.ngram
echo 'the cat sat' >&9
exec 9>&-
status=0
wait $scorer || status=$?
[ $status = 1 ] || fail "status $status, not 1, after the file was cut short"
[ "$(cat err)" = 'heed: a mapped file was cut short while it was in use' ] || fail "it should be said"

head -c 300 lm/model.ngram >lm/cut && mv lm/cut lm/model.ngram
wrong 1 'lm/model.ngram: not a sound n-gram file: it is cut short' complete lm 'the'
wrong 1 "nosuch/lm.arpa: No such file" train ngram --data text --order 3 --out never --arpa nosuch/lm.arpa
[ ! -e never ] || fail "a model whose ARPA file cannot be written"
sed 's/^ngram 2=.*/ngram 2=99/' lm.arpa >lies.arpa
wrong 1 'lies.arpa: line [0-9]+: there are 20 2-grams, the header says 99' complete lies.arpa the
wrong 1 'nowhere/config.json: No such file or directory$' complete nowhere the

# ARPA files as other programs and systems write them: blanks for tabs, no empty lines, a byte order mark, \r\n
expect 0 score lm.arpa 'the cat sat on the mat' 'the dog'
cp out whole
{ printf '\357\273\277' && sed -e '/^$/d' -e 's/	/ /g' -e 's/$/\r/' lm.arpa; } | gzip >other.arpa.gz
expect 0 score other.arpa.gz 'the cat sat on the mat' 'the dog'
cmp -s whole out || fail "the same model should score the same"

# the lesson
expect 0 lesson n-grams --out pictures
says '^ +10 +[0-9]+ +[0-9.]+ % +[0-9.]+ '
listed pictures
expect 0 lesson n-grams --json
awk '/words_at_first_order/ { first = $2 + 0 } /words_at_last_order/ { last = $2 + 0 } END { exit !(first < 0.2 && last > 0.7) }' out ||
    fail "with more context more words should be known ones"
wrong 1 'text: too short' lesson n-grams --data text

# at a terminal
python3 -c 'import pty' 2>/dev/null || exit 0
cat >keys.py <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "complete", "again"])
def read(until):
    seen = b""
    while until not in seen:
        seen += os.read(fd, 4096)
    return seen
read(b"> ")
os.write(fd, b"the cat s")
read(b"saw")
os.write(fd, b"\t")  # and on to what follows it
read(b"the cat sat ")
os.write(fd, b"o\t\r")
read(b"the cat sat on ")
os.write(fd, b"\x04")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
timeout 60 python3 keys.py "$HEED" >out 2>err || fail "typing should be answered"
