# heed generate: prompts of the command line and of standard input, as text and as JSON, as it comes and whole.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
lm="$SOURCE/tests/golden/model/gpt2-options"
plain="--no-repeat 0 --repetition-penalty 1 --min-tokens 0"

expect 0 generate --help
says '^  heed generate gpt2 .Once upon a time.$'

# what transformers' generate says: the words of tests/golden/model/generate_lm.json
expect 0 generate "$lm" 'gin pis' --beam 1 $plain --max-tokens 15
[ "$(cat out)" = ' kar man gen' ] || fail "greedy"
expect 0 generate "$lm" --prompt 'gin pis' --temperature 0 $plain --max-new-tokens 2
[ "$(cat out)" = ' kar man' ] || fail "two tokens"
expect 0 generate "$lm" 'der ker ner ren' # with all options of generation_config.json
[ "$(cat out)" = ' tes fis nir tis' ] || fail "the directory's options"

expect 0 generate "$lm" 'gin pis' --beam 1 --no-repeat 0 --repetition-penalty 1 --max-tokens 2 # fewer than its min_new_tokens, 4
[ "$(cat out)" = ' kar man' ] || fail "the directory's minimum should give way"
wrong 1 'generate: min_new_tokens of 4 is not between 0 and max_new_tokens, 2' generate "$lm" 'gin pis' --max-tokens 2 --min-tokens 4
cp -R "$lm" forced # a minimum of new tokens counts, not min_length; the second beam of a forced end has no probability
chmod -R u+w forced
sed 's/"min_new_tokens": 4/"min_length": 12, "min_new_tokens": 1/' "$lm/generation_config.json" >forced/generation_config.json
expect 0 generate forced 'gin pis' --beam 1 --no-repeat 0 --repetition-penalty 1
[ "$(cat out)" = ' kar man gen' ] || fail "min_new_tokens should override min_length"
sed 's/"min_new_tokens": 4/"forced_bos_token_id": 0/' "$lm/generation_config.json" >forced/generation_config.json
expect 0 generate forced gin --beam 2 --n-best 2 --json
says '"score":null'

# a body alone, or no architecture at all, is opened with the head that decodes
cp "$lm/generation_config.json" forced
for named in '"GPT2Model"' ''; do
    sed "s/\"GPT2LMHeadModel\"/$named/" "$lm/config.json" >forced/config.json
    if grep -q LMHead forced/config.json; then fail "the architecture should be gone"; fi
    expect 0 generate forced 'gin pis' --beam 1 $plain --max-tokens 15
    [ "$(cat out)" = ' kar man gen' ] || fail "without a head's name"
done

# lines, of different lengths, blank and bad
feed 'gin pis\n\nres bin fis kar man pan fis\nner\n' generate "$lm" --beam 1 $plain
[ "$status" = 0 ] && [ "$(wc -l <out)" = 4 ] || fail "a line for each line"
[ "$(sed -n 1p out)" = ' kar man gen' ] || fail "the first line"
[ -n "$(sed -n 2p out)" ] || fail "an empty prompt begins with the bos token"
cp out lines
for i in 1 3 4; do
    feed "$(printf 'gin pis\n\nres bin fis kar man pan fis\nner\n' | sed -n ${i}p)" generate "$lm" --beam 1 $plain
    [ "$(cat out)" = "$(sed -n ${i}p lines)" ] || fail "line $i should not depend on the others"
done
expect 0 generate "$lm" --beam 1 $plain 'gin pis' '' --prompt 'res bin fis kar man pan fis' -p ner
cmp out lines || fail "prompts as arguments should give the same"
feed 'gin pis\n\377\nner\n' generate "$lm" --beam 1 $plain
[ "$status" = 1 ] && [ "$(sed -n 1p out)$(sed -n 2p out)" = ' kar man gen' ] && [ "$(wc -l <out)" = 3 ] || fail "a bad line has an empty answer"
grep -q '^heed: standard input: line 2: byte 1 is not UTF-8$' err || fail "and is reported"
feed 'gin pis\n\377\nner\n' generate "$lm" --beam 1 $plain --strict
[ "$status" = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "--strict should stop"
answers_at_once 'gin pis\n' generate "$lm"

# JSON
printf '"gin\\npis"\n{"prompt": "gin pis", "n": 1}\ngin pis\n"gin pis\n{"text": "gin pis"}\n' >lines.json
feed '' generate "$lm" --json
[ "$status" = 0 ] && [ ! -s out ] || fail "nothing has no answer"
status=0
"$HEED" generate "$lm" --json --beam 1 $plain <lines.json >out 2>err || status=$?
[ "$status" = 1 ] && [ "$(wc -l <out)" = 5 ] || fail "an object for each line"
[ "$(sed -n 1,3p out | grep -cE '^\{"line":[123],"text":" kar man gen","tokens":3,"score":-[0-9.]+,"ended":true,"finish_reason":"stop"\}$')" = 3 ] || fail "the objects"
if sed -n 4p out | grep -q '"error"'; then fail "a line that only looks like JSON is text"; fi
sed -n 5p out | grep -q '"text":"".*"error":"JSON: prompt: missing"' || fail "an object without a prompt"
grep -q "^heed: standard input: line 5: JSON: prompt: missing$" err || fail "the line should be named"

# several continuations, beams and samples
expect 0 generate "$lm" 'gin pis' --beam 4 --n-best 3 $plain
[ "$(grep -cE '^1	-[0-9.]+	 ' out)" = 3 ] || fail "three of them, with number and score"
expect 0 generate "$lm" 'gin pis' --temperature 2 --n-best 4 --seed 3
cp out drawn
[ "$(sort -u out | wc -l)" -gt 2 ] || fail "samples should differ"
expect 0 generate "$lm" 'gin pis' --sample --temperature 2 --n-best 4 --seed 3
cmp out drawn || fail "the same seed should draw the same"
expect 0 generate "$lm" 'gin pis' --sample --temperature 2 --n-best 4 --seed 4
if cmp -s out drawn; then fail "another seed should draw otherwise"; fi
expect 0 generate "$lm" 'gin pis' --top-k 1 $plain
[ "$(cat out)" = ' kar man gen' ] || fail "the best of one"

# stop texts are not printed, neither as it comes nor whole
expect 0 generate "$lm" 'gin pis' --beam 1 $plain --stop 'n ge'
[ "$(cat out)" = ' kar ma' ] || fail "it should end before the stop text"
expect 0 generate "$lm" 'gin pis' --beam 1 $plain --stop 'r m' --json
says '"text":" ka","tokens":2,.*"ended":true'

# as it comes: the same text, whatever its bytes; control characters but newlines and tabs are spaces
expect 0 new gpt2 bytes --set vocab_size=280 --set n_positions=300 --set n_embd=8 --set n_layer=1 --set n_head=1 \
    --set initializer_range=1 --set bos_token_id=null --set eos_token_id=null --seed 5
feed 'the tree, the bär: ein Bär\nzwei Bäume – drei 木\n' tokens --train byte-bpe --vocab 270 --out bytes
[ "$status" = 0 ] || fail "a tokenizer"
for seed in 1 2 3; do
    expect 0 generate bytes 'the Bär' --temperature 3 --seed $seed --max-tokens 200
    tr -d '\n\t ' <out >streamed
    expect 0 generate bytes 'the Bär' --temperature 3 --seed $seed --max-tokens 200 --n-best 1
    sed '1s/^1	[-0-9.]*	//' out | tr -d '\n\t ' >whole
    [ -s whole ] && cmp streamed whole || fail "what is streamed should be what is said"
    if LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" streamed; then fail "control characters"; fi
done
wrong 1 "prompt 1: an empty prompt: the model's directory gives no bos_token_id" generate bytes ''
feed 'the\n\n' generate bytes --max-tokens 3
[ "$status" = 1 ] && [ "$(wc -l <out)" = 2 ] || fail "an empty line without a bos token"

# the example, a loop of its own; the model has no end token
"$EXAMPLE_GENERATE" bytes 'zwei' >said 2>err || fail "the example should run"
expect 0 generate bytes 'zwei' --max-tokens 40
cmp said out || fail "the example should say what the command says"
status=0
"$EXAMPLE_GENERATE" nowhere 'the' >out 2>err || status=$?
[ "$status" = 1 ] && grep -q '^nowhere' err || fail "the example should say what is wrong"

# --echo: the prompt, too, however it is printed
expect 0 generate "$lm" 'gin pis' --echo --beam 1 $plain
[ "$(cat out)" = 'gin pis kar man gen' ] || fail "--echo, streamed"
feed 'gin pis\nner\n' generate "$lm" --echo --beam 1 $plain
[ "$(sed -n 1p out)" = 'gin pis kar man gen' ] && sed -n 2p out | grep -q '^ner ' || fail "--echo, lines"
expect 0 generate "$lm" 'gin pis' --echo --beam 1 $plain --json
says '"text":"gin pis kar man gen","tokens":3,'
wrong 2 'generate: --echo is for prompts, not for --chat' generate "$lm" --chat --echo
wrong 1 'generate: --echo: the source of an encoder-decoder' generate "$SOURCE/tests/golden/model/marian-options" 'gin pis' --echo

# an encoder-decoder is given its source
expect 0 generate "$SOURCE/tests/golden/model/marian-options" 'gin pis kar'
[ -s out ] || fail "an encoder-decoder should answer"

# as many tokens as there are positions; and what is wrong
long=$(awk 'BEGIN { for (i = 0; i < 38; i++) printf "fas " }')
expect 0 generate "$lm" "$long" --beam 1 --min-tokens 2 --no-context-shift
[ "$(wc -w <out)" = 2 ] || fail "two positions are left"
cp -r "$lm" short
chmod -R u+w short
sed 's/"max_new_tokens": 12/"max_length": 4/; s/"min_new_tokens": 4/"min_new_tokens": 0/' "$lm/generation_config.json" >short/generation_config.json
feed 'gin pis kar man gen\ngin pis\n' generate short
[ "$status" = 1 ] && [ -z "$(sed -n 1p out)" ] && [ "$(sed -n 2p out | wc -w)" -le 2 ] || fail "max_length counts the prompt"
grep -q '^heed: standard input: line 1: a prompt of 5 tokens: generation_config.json allows 4 ' err || fail "a prompt beyond max_length"
expect 0 generate short 'gin pis kar man gen' --max-tokens 3

# past the context of 40 tokens: on by default; where it stops, it is said
write="--beam 1 --no-repeat 0 --repetition-penalty 1 --min-tokens 100 --max-tokens 100"
expect 0 generate "$lm" 'gin pis' $write
[ "$(wc -w <out)" = 100 ] && [ ! -s err ] || fail "it should write on past its context"
cp out streamed
expect 0 generate "$lm" 'gin pis' $write --json
says "\"text\":\"$(cat streamed)\",\"tokens\":100,.*\"ended\":false,\"finish_reason\":\"length\""
expect 0 generate "$lm" 'gin pis' $write --no-context-shift
[ "$(wc -w <out)" = 38 ] || fail "it should stop at its context"
[ "$(cat err)" = "heed: generate: stopped at the model's context of 40 tokens" ] || fail "and say so"
expect 0 generate "$lm" 'gin pis' ner $write --no-context-shift --json
[ "$(grep -c '"finish_reason":"context"' out)" = 2 ] || fail "both should say why they end"
grep -q "^heed: generate: 2 of 2 continuations stopped at the model's context of 40 tokens$" err || fail "the sentence for two"
expect 0 generate "$lm" 'gin pis' ${write#--beam 1} --beam 2
grep -q "context of 40 tokens, past which beam search does not go$" err || fail "beam search should stop"
expect 0 generate "$lm" 'gin pis' $write --no-context-shift --quiet
[ ! -s err ] || fail "--quiet"
wrong 1 'prompt 2: a text of 40 tokens: the model has positions for 40' generate "$lm" fas "$long fas fas"
wrong 1 "$SOURCE/tests/golden/model/bert-mlm: BertForMaskedLM of bert cannot decode" generate "$SOURCE/tests/golden/model/bert-mlm" x
wrong 1 'nowhere/config.json: No such file or directory$' generate nowhere x
wrong 2 'generate: --temperature 0 is greedy' generate "$lm" --temperature 0 --top-p 0.5 x
wrong 2 'generate: --beam does not go with sampling' generate "$lm" --beam 2 --sample x
wrong 2 'generate: .*max-tokens.*max-new-tokens' generate "$lm" --max-tokens 3 --max-new-tokens 4 x
wrong 2 'generate: --max-tokens: 0 is not between' generate "$lm" --max-tokens 0 x
wrong 2 "generate: expected: DIR \[PROMPT...\]; 'heed generate --help' explains$" generate
