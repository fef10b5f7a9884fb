# heed tokens: text to ids and back, line by line, and tokenizers trained from text.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

cat >text <<'END'
a small dog runs along the river bank
the cat likes the warm window
two birds fly over the river and over the old bridge
über die Brücke läuft der Hund, die Katze läuft nicht
END

train() { # ARGUMENTS...: heed tokens --train with the text as standard input
    status=0
    "$HEED" tokens --train "$@" <text >out 2>err || status=$?
    [ $status = 0 ] && [ ! -s out ] || fail "training: $*"
}
ask() { # INPUT ARGUMENTS...: heed tokens, answers in $scratch/out
    input=$1
    shift
    feed "$input" tokens "$@"
}

# every kind gives the text back
train char --out c/h/a/r
grep -q '^c/h/a/r: char with [0-9]* tokens$' err || fail "it should say what it made"
train word --out word --quiet
[ ! -s err ] || fail "quiet"
train bpe --vocab 50 --out bpe --add-bos --add-eos
grep -q '^bpe: bpe with 50 tokens$' err || fail "the size asked for"
for dir in c/h/a/r word bpe; do
    "$HEED" tokens $dir <text >ids
    "$HEED" tokens $dir --decode <ids >back
    cmp text back || fail "$dir: the text should come back"
    "$HEED" tokens $dir/tokenizer.json <text | cmp - ids || fail "$dir: the file itself"
done
[ "$(wc -l <ids)" = 4 ] || fail "a line for a line"
grep -vqE '^1 ([0-9]+ )+2$' ids && fail "bos and eos around every line"

# files as they are, gzipped too, make the same tokenizer as standard input
head -n 2 text >first
tail -n 2 text | gzip >second.gz
expect 0 tokens --train bpe --vocab 50 --out again --add-bos --add-eos first second.gz
cmp bpe/tokenizer.json again/tokenizer.json || fail "the same text, the same tokenizer"

# special tokens: within text they are found; decoding drops them; there may be none of them
ask '<s>\n\nzzz' word
[ "$(tr '\n' '|' <out)" = "1||3|" ] || fail "a special token, an empty line, an unknown word without a new line"
ask '\n' bpe
[ "$(cat out)" = "1 2" ] || fail "an empty line has what is added"
ask '1 2 0\n' bpe --decode
[ "$(od -c out | head -n 1)" = "0000000  \n" ] || fail "special tokens are dropped"
train word --out bare --pad "" --bos "" --eos "" --unk "" --lower
ask 'THE CAT\n' bare
[ "$(cat out)" = "0 $(grep -o '"cat": [0-9]*' bare/tokenizer.json | cut -d ' ' -f 2)" ] || fail "the most frequent word first, lower-cased"
ask 'the dog\nthe zebra\nthe cat\n' bare
[ $status = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "the line before should be answered"
grep -q "^heed: standard input: line 2: 'zebra' is not in the vocabulary, which has no unknown token$" err || fail "the word"

# pieces and offsets as JSON; pairs; lengths
expect 0 tokens --train wordpiece --vocab 70 --out pieces --lower --add-bos --add-eos text
ask 'the warm Dog\n' pieces --json
says '^\{"ids": ?\['
says '"tokens": ?\["\[CLS\]", ?"the"'
says '"offsets": ?\[\[0, ?0\], ?\[0, ?3\]'
ask 'the\tdog\n' pieces --pair --json
says '"type_ids": ?\[0, ?0, ?0, ?1.*1\]'
ask 'the dog\n' pieces --pair
[ $status = 1 ] && grep -q '^heed: standard input: line 1: a pair needs a tab between its texts$' err || fail "no tab"
ask 'the dog and the cat\n' pieces --truncate 4
[ "$(wc -w <out)" = 4 ] || fail "four tokens"
ask 'the\n' pieces --pad 6
[ "$(cut -d ' ' -f 4- out)" = "0 0 0" ] || fail "filled up"
ask 'the\n' pieces --plain
[ "$(wc -w <out)" = 1 ] || fail "no special tokens"
wrong 2 "tokens: --pad: 'x' is not a number of tokens" tokens pieces --pad x

# every kind trains, and gives back what it can
for kind in byte-bpe unigram; do
    expect 0 tokens --train $kind --vocab 330 --out $kind --quiet text
    "$HEED" tokens $kind <text | "$HEED" tokens $kind --decode | cmp - text || fail "$kind: the text should come back"
done
for file in tokenizer.json tokenizer_config.json special_tokens_map.json; do
    [ -s "unigram/$file" ] || fail "$file should be written"
done
grep -q '"pad_token": "<pad>"' unigram/tokenizer_config.json || fail "the special tokens by role"

# a line for a line, whatever a token holds; JSON keeps it
printf '{"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b\\nc\\u001b[31m": 1}}}' >newline.json
ask '1 0\n' newline.json --decode
[ "$(wc -l <out)" = 1 ] || fail "one line"
ask '1\n' newline.json --decode --json
says '^\{"text": ?"b\\nc\\u001[bB]\[31m"\}$'

# in a terminal the tokens and their ids on the same colours, with NO_COLOR a bar between tokens; in a pipe ids alone
if on_a_terminal; then
    esc=$(printf '\033')
    echo 'the cat' >line
    "$HEED" tokens pieces <line >ids
    TERM=xterm-256color script -qec "'$HEED' tokens pieces <line" /dev/null </dev/null | tr -d '\r' >screen
    grep -q "^$esc\[48;5;240;38;5;231m\[CLS\]$esc\[0m$esc\[48;5;58;38;5;231mthe$esc\[0m" screen || fail "tokens in colour"
    sed "s/$esc\[[0-9;]*m//g" screen | tail -n 1 | cmp - ids || fail "ids below the tokens"
    NO_COLOR=1 TERM=xterm-256color script -qec "'$HEED' tokens pieces <line" /dev/null </dev/null | tr -d '\r' >screen
    [ "$(head -n 1 screen | cut -c 1-10)" = "[CLS]|the|" ] || fail "no colours"
    grep -q "$esc" screen && fail "NO_COLOR"
    TERM=xterm-256color "$HEED" tokens pieces <line | cmp - ids || fail "a pipe"
fi

# files of older models
mkdir old
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nriver\n##s\n' >old/vocab.txt
ask 'The rivers bank\n' old
[ "$(cat out)" = "2 5 6 7 1 3" ] || fail "vocab.txt"

# a line ends at \n only
ask 'a\rsmall\vdog\n' word
[ "$(wc -l <out)" = 1 ] && [ "$(wc -w <out)" = 3 ] || fail "one line of three words"
ask '4 5\r\n6\t 7  \n' word --decode
[ $status = 0 ] && [ "$(wc -l <out)" = 2 ] || fail "blanks between ids"

# mistakes, with the line's number
ask 'a\nb\377\n' word
[ $status = 1 ] && grep -q '^heed: standard input: line 2: byte 2 is not UTF-8$' err || fail "bytes that are not text"
ask 'a\nb\000\n' word
[ $status = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "the line before a NUL"
grep -q '^heed: standard input: line 2: byte 2 is NUL$' err || fail "a NUL"
ask '1\n2 x3\n' word --decode
[ $status = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "the line before"
grep -q "^heed: standard input: line 2: 'x3' is not an id$" err || fail "not an id"
ask '1 -2\n' word --decode
grep -q "^heed: standard input: line 1: '-2' is not an id$" err || fail "a negative id"
ask '99999\n' word --decode
grep -q '^heed: standard input: line 1: no token has id 99999, the largest is [0-9]*$' err || fail "an id too large"
ask '99999999999999999999\n' word --decode
grep -q "is not an id$" err || fail "an id beyond all"
ask 'a\n\376\n' --train word --out bad
[ $status = 1 ] && grep -q '^heed: standard input: line 2: byte 1 is not UTF-8$' err || fail "training on bytes"
[ ! -e bad ] || fail "a failed call should leave nothing behind"
ask 'abc\n' --train bpe --vocab 5 --out bad
[ $status = 1 ] && grep -q '^heed: train: a vocabulary of 5 cannot hold 4 special tokens and 4 characters$' err || fail "too small"
wrong 1 'missing: No such file or directory$' tokens --train word --out bad missing
wrong 2 'tokens: expected: DIR' tokens
wrong 2 'tokens: expected: DIR' tokens a b
wrong 2 'tokens: --vocab N is needed with --train bpe' tokens --train bpe --out bad
wrong 2 'tokens: --out DIR is needed' tokens --train word
wrong 2 'tokens: --out goes with --train' tokens word --out bad
wrong 2 'tokens: --decode does not go with --train' tokens --train word --out bad --decode
wrong 2 "tokens: --train: 'wrod'" tokens --train wrod --out bad
wrong 1 'nowhere: No such file or directory$' tokens nowhere
mkdir none
wrong 1 'none: no tokenizer.json, vocab.txt, vocab.json with merges.txt, or SentencePiece model' tokens none
echo '{"model": {"type": "Morph"}}' >none/tokenizer.json
wrong 1 "none/tokenizer.json: model: a model of type 'Morph' is not supported" tokens none

# whoever waits for an answer gets it
answers_at_once 'the cat\n' tokens word

# Multi30k, where it is at hand
if given multi30k; then
    data=$HEED_DATA/multi30k
    expect 0 tokens --train bpe --vocab 8000 --out pieces --quiet "$data/train.en.gz" "$data/train.de.gz"
    gzip -dc "$data/val.de.gz" >val
    "$HEED" tokens pieces <val | "$HEED" tokens pieces --decode | cmp - val || fail "Multi30k should come back"
fi
