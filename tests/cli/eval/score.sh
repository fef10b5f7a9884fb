# heed score: log-probabilities of lines and the likeliest of their choices.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
lm="$SOURCE/tests/golden/model/gpt2-options"
tab=$(printf '\t')

# what transformers' log_softmax sums to: tests/golden/model/score.json
expect 0 score "$lm" 'gin pis kar man gen' 'gin pis'
[ "$(cut -f 2 out | tr '\n' ' ')" = '4 1 ' ] || fail "the tokens that are scored"
says '^-4\.9922[0-9]*	4	3\.4835[0-9]*$'
says '^-3\.0199[0-9]*	1	20\.49'
feed 'gin pis\tkar man\tman kar\tgen\n\nfas\ngin pis kar\n' score "$lm"
[ "$status" = 1 ] && [ "$(wc -l <out)" = 4 ] || fail "a line for each line"
sed -n 1p out | grep -qE '^1	kar man	-1\.2808[0-9]*$' || fail "the likeliest choice"
[ -z "$(sed -n 2p out)$(sed -n 3p out)" ] || fail "empty and bad lines have empty answers"
grep -q '^heed: standard input: line 3: a text of 1 token: nothing comes before it' err || fail "the bad line should be named"
feed 'fas\n' score "$lm" --bos
[ "$status" = 0 ] || fail "--bos scores the first token"
feed 'gin pis\tkar man\tman kar\tgen\n' score "$lm" --json --bos
says '^\{"line":1,"choice":1,"text":"kar man","log_probability":-0\.7652[0-9]*,"tokens":2,"perplexity":[0-9.]+,"scores":\[-0\.7652[0-9]*,-16\.51[0-9]*,-13\.85[0-9]*\]\}$'
feed 'gin pis kar\n' score "$lm" --json
says '^\{"line":1,"log_probability":-[0-9.]+,"tokens":2,"perplexity":[0-9.]+\}$'
feed 'gin pis\tkar man\tman kar\n' score "$lm" --normalise tokens
says '^1	kar man	-0\.6404'
feed 'gin pis\tkar man\tman kar\n' score "$lm" --normalise bytes
says '^1	kar man	-0\.1829'
feed 'gin pis\t kar man\n' score "$lm"
says '	-1\.2808'
feed '\tgin pis\tgin pis kar\n' score "$lm" # no prompt: texts alone
says '^1	gin pis	-3\.0199'
answers_at_once 'gin pis\n' score "$lm"

# an encoder-decoder: source and targets
expect 0 score "$SOURCE/tests/golden/model/marian-options" "gin pis kar${tab}gin${tab}gin pis"
says '^[12]	gin'

# bad input
long=$(awk 'BEGIN { for (i = 0; i < 41; i++) printf "fas " }')
feed "$long\ngin pis\n" score "$lm"
[ "$status" = 1 ] && grep -q 'line 1: a text of 41 tokens: the model has positions for 40' err || fail "too long"
[ "$(sed -n 2p out | cut -f 2)" = 1 ] || fail "the others are answered"
feed 'gin pis\tkar\t\n' score "$lm"
[ "$status" = 1 ] && grep -q 'line 1: choice 2: the text to score is empty' err || fail "an empty choice"
feed 'gin\377\ngin pis\n' score "$lm" --strict
[ "$status" = 1 ] && [ ! -s out ] || fail "--strict should stop"
wrong 1 'text 1: an encoder-decoder scores a target after its source' score "$SOURCE/tests/golden/model/marian-options" --strict gin
wrong 1 "$SOURCE/tests/golden/model/bert-mlm: BertForMaskedLM of bert cannot decode" score "$SOURCE/tests/golden/model/bert-mlm" x
wrong 2 "score: --normalise: 'words' is not one of" score "$lm" --normalise words x
