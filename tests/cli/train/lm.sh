# heed train lm, and heed eval and generate of what it makes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# what an animal eats is always the same
awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    for (i = 0; i < 120; i++) {
        k = (i * i + int(i / 5)) % 6 + 1
        printf "The %s eats\n\t%s.\n\n", who[k], what[k]
    }
}' >stories.txt
small="--set n_embd=32 --set n_layer=1 --set n_head=2 --set resid_pdrop=0 --set embd_pdrop=0 --set attn_pdrop=0"
steps=400
learns || steps=3
expect 0 train lm --data stories.txt --tokens char --context 32 $small --batch 8 --steps $steps --lr 0.01 --seed "$(seed 1)" \
    --out stories --log log --json
says '"valid_perplexity"'
says '"valid_bits_per_byte"'
says '"tokens": [0-9]'
grep -q 'valid_perplexity.*valid_bits_per_byte' log || fail "the log should hold both metrics"
grep -q GPT2LMHeadModel stories/config.json || fail "the head should be that of next tokens"
grep -q '"n_positions": 32' stories/config.json || fail "positions should be those of the context"
grep -q '"\\n"' stories/tokenizer.json || fail "newlines should be tokens"
expect 0 eval stories --data stories.txt
says '^perplexity [0-9.]+, [0-9.]+ bits per byte, loss [0-9.]+ \([0-9]+ examples\)$'
expect 0 eval stories --data stories.txt --json
cp out once
expect 0 eval stories --data stories.txt --json --seed 5 --threads 2
cmp out once || fail "a text should be measured in one way"
if learns; then
    at_most perplexity "$(result perplexity)" 1.6
    expect 0 generate stories --prompt 'The owl eats' --max-tokens 8 --temperature 0
    printf '\n\tmice.\n\n' >want
    head -2 out >got
    head -2 want | cmp - got || fail "what owls eat: $(cat out)"
fi

# words and pieces; windows in order; packed documents, and the same with a separator
for kind in word bpe byte-bpe unigram; do
    expect 0 train lm --data stories.txt --tokens $kind --vocab 300 --context 8 $small --steps 2 --batch 4 --out $kind --quiet
    expect 0 eval $kind --data stories.txt
done
expect 0 train lm --data stories.txt --tokens char --context 16 $small --steps 2 --in-order --out order --quiet
awk '{ print } /eats/ { getline; print; getline; print "----" }' stories.txt >lines.txt
for how in stories.txt 'lines.txt --document-separator ----'; do
    expect 0 train lm --data $how --documents --tokens char --context 64 $small --steps 2 --batch 4 --out documents --force
    grep -q 'to train on' err || fail "what there is to train on should be said"
done
expect 0 eval documents --data stories.txt --documents
expect 0 train lm --data lines.txt --document-separator ---- --tokens char --context 64 $small --steps 2 --out joined --quiet

# from there on; a directory of parts, some of them compressed
expect 0 train lm --data stories.txt --init stories --out more --steps 2 --quiet --json
cmp stories/tokenizer.json more/tokenizer.json || fail "the tokenizer should be that of --init"
mkdir parts.d
head -90 stories.txt | gzip -c >parts.d/train.txt.gz
head -20 stories.txt >parts.d/valid.txt
tail -20 stories.txt >parts.d/test.txt
expect 0 train lm --data parts.d --tokens char --context 16 $small --steps 2 --out parted --quiet --json
says '"test_bits_per_byte"'

# stopped and resumed it ends with the same bits, and another text is refused
run="--tokens char --context 16 $small --schedule constant --quiet --batch 4"
expect 0 train lm --data stories.txt --out whole $run --steps 6
expect 0 train lm --data stories.txt --out parts $run --steps 3
expect 0 train lm --data stories.txt --out parts $run --steps 6 --resume --threads 2
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run should end with the same bits"
tail -300 stories.txt >other.txt
wrong 1 'parts/checkpoint.safetensors: a checkpoint of another configuration: training data was 148 examples \([0-9a-f]+\), is 123 examples \([0-9a-f]+\)' train lm --data other.txt --out parts $run --steps 9 --resume

# conversations, and talking
awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    for (i = 0; i < 60; i++) {
        k = (i * i + int(i / 5)) % 6 + 1
        if (i % 2) printf "{\"messages\":[{\"role\":\"user\",\"content\":\"%s?\"},{\"role\":\"assistant\",\"content\":\"%s\"}]}\n", who[k], what[k]
        else printf "{\"conversations\":[{\"from\":\"human\",\"value\":\"%s?\"},{\"from\":\"gpt\",\"value\":\"%s\"}]}\n", who[k], what[k]
    }
}' >talks.jsonl
steps=600
learns || steps=3
expect 0 train lm --data talks.jsonl --tokens char --context 64 $small --steps $steps --batch 8 --lr 0.01 --seed "$(seed 1)" --out talker
says '^next: .*generate talker --chat$'
feed 'system' tokens talker
case " $(cat out) " in *" $(feed '\342\202\254' tokens talker; cat out) "*) fail "the letters of the format should be known" ;; esac
grep -q im_start talker/chat_template.jinja || fail "the directory should say its chat format"
expect 0 eval talker --data talks.jsonl
says 'bits per byte'
printf 'owl?\n/reset\ncow?\n' >asked
expect 0 generate talker --chat --max-tokens 8 <asked
if learns; then
    printf 'mice\ngrass\n' | cmp - out || fail "answers: $(cat out)"
fi
expect 0 generate talker --chat --max-tokens 8 --json --system 'short' --tokens-per-second <asked
says '^\{"turn":1,"text":'
grep -q 'tokens/s' err || fail "tokens a second should be said"
expect 0 train lm --data talks.jsonl --init talker --out talker2 --steps 1 --quiet
cmp talker/chat_template.jinja talker2/chat_template.jinja || fail "the chat format should be that of --init"
printf 'owl?\ncow?\nhen?\nfox?\n' >asked # more than a context of 64
expect 0 generate talker --chat --max-tokens 8 <asked
[ "$(wc -l <out)" = 4 ] || fail "a long conversation should go on"
grep -q "^heed: generate: the model's context of 64 tokens is full: the first [123] turns are forgotten$" err || fail "what is forgotten: $(cat err)"
if learns; then [ "$(sed -n 1p out)" = mice ] || fail "the first answer"; fi
expect 0 generate talker --chat --max-tokens 90 <asked # each answer slides
[ "$(wc -l <out)" = 4 ] || fail "long answers: $(cat err)"
expect 1 generate talker --chat --max-tokens 8 --no-context-shift <asked
grep -q 'a conversation of [0-9]* tokens: the model has positions for 64' err || fail "--no-context-shift: $(cat err)"
awk 'BEGIN { for (i = 0; i < 50; i++) printf "owl? "; print ""; print "cow?" }' >asked
expect 1 generate talker --chat --max-tokens 8 <asked
[ "$(wc -l <out)" = 2 ] || fail "every line should have an answer"
grep -q 'a conversation of [0-9]* tokens: the model has positions for 64' err || fail "a conversation too long: $(cat err)"
wrong 1 'stories: there is no chat_template' generate stories --chat <asked
wrong 2 'generate: --system is for --chat' generate talker --system x y
wrong 2 'generate: --chat takes no prompts' generate talker --chat hello
cp -r talker odd
echo '{{ messages }}' >odd/chat_template.jinja
wrong 1 'odd/chat_template.jinja: a chat_template that heed does not know' generate odd --chat <asked

# a base model is taught to talk: it gets the tokens of ChatML, or of the format that is asked for
awk 'BEGIN { split("bear fox owl cat hen cow", who, " "); for (i = 0; i < 300; i++) print "the " who[i * 7 % 6 + 1] " eats honey" }' >eats.txt
awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " ")
    for (i = 0; i < 60; i++) printf "{\"messages\":[{\"role\":\"user\",\"content\":\"%s?\"},{\"role\":\"assistant\",\"content\":\"it eats honey\"}]}\n", who[i % 6 + 1]
}' >honey.jsonl
learns && steps=150
expect 0 train lm --data eats.txt --tokens byte-bpe --vocab 300 --context 64 $small --steps $steps --lr 0.01 --batch 8 --out base --quiet
printf 'owl?\n/reset\ncow?\n' >asked
for how in '' '--lora 4'; do # the embeddings are trained beside adapters, and read again
    expect 0 train lm --data honey.jsonl --init base --steps $steps --batch 8 --lr 0.01 --out taught --force --quiet $how
    grep -q im_start taught/chat_template.jinja || fail "the chat format"
    [ "$(tr -d ' \n' <taught/tokenizer.json | grep -o '"content":"<|im_[a-z]*|>","single_word":false' | wc -l)" = 2 ] || fail "its tokens"
    expect 0 generate taught --chat --max-tokens 12 <asked
    if learns; then printf 'it eats honey\nit eats honey\n' | cmp - out || fail "answers ($how): $(cat out)"; fi
    cp out answers
done
grep -q '"transformer.wte"' taught/adapter_config.json || fail "the adapter should hold the embeddings"
expect 0 merge base taught --out merged
expect 0 generate merged --chat --max-tokens 12 <asked
cmp out answers || fail "merged it should say the same"
for format in llama3 gemma phi4; do
    expect 0 train lm --data honey.jsonl --init base --steps 1 --chat-template $format --out asked_for --force --quiet
    expect 0 generate asked_for --chat --max-tokens 2 <asked
done
grep -q im_sep asked_for/chat_template.jinja || fail "the format that was asked for"

# special tokens in prompts are text, unless they are wanted
expect 0 generate talker --prompt '<|im_end|>' --max-tokens 1 --json
cp out text
expect 0 generate talker --prompt '<|im_end|>' --max-tokens 1 --json --special
cmp -s out text && learns && fail "--special should change what is read"

# bad input
bad_talk() { # SENTENCE LINE
    { head -1 talks.jsonl; echo "$2"; } >bad.jsonl
    wrong 1 "bad.jsonl: line 2: $1" train lm --data bad.jsonl --out never
}
bad_talk "JSON: line 1, column 15: unexpected token near '}'$" '{"messages": [}'
bad_talk 'there is no list of "messages"' '{"text": "x"}'
bad_talk "the role 'robot' is none of system, user and assistant" '{"messages":[{"role":"robot","content":"x"}]}'
bad_talk 'a message without "content"' '{"messages":[{"role":"user"}]}'
bad_talk 'a conversation without an answer of the assistant' '{"messages":[{"role":"user","content":"x"}]}'
bad_talk 'message 2: user and assistant do not alternate' \
    '{"messages":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}'
: >none.jsonl
wrong 1 'none.jsonl: there are no conversations' train lm --data none.jsonl --out never
wrong 2 "train lm: --chat-template: 'latin' is not one of: chatml llama3 gemma phi4" \
    train lm --data talks.jsonl --chat-template latin --out never
wrong 1 'train: --chat-template is for conversations, which stories.txt does not hold' \
    train lm --data stories.txt --chat-template llama3 --out never
wrong 1 'odd/chat_template.jinja: a chat_template that heed does not know' train lm --data talks.jsonl --init odd --out never
: >empty.txt
printf 'short' >short.txt
printf 'good\nb\377d\n' >bytes.txt
wrong 1 'empty.txt: there is no text' train lm --data empty.txt --out never
wrong 1 'short.txt: the text to train on has 5 tokens, fewer than a context of 64 and the next; --context makes it shorter' \
    train lm --data short.txt --valid 0 --tokens char --context 64 --out never
wrong 1 'train: --context: 64 tokens, but the model has positions for 32' \
    train lm --data stories.txt --init stories --context 64 --out never
wrong 1 'bytes.txt: line 2: byte 2 is ' train lm --data bytes.txt --out never
wrong 1 'missing.txt: No such file or directory$' train lm --data missing.txt --out never
wrong 2 'train: bert cannot be trained to lm' train lm --data stories.txt --model bert --out never
wrong 2 'train: --in-order is not for mlm, but for lm' train mlm --data stories.txt --in-order --out never
[ ! -e never ] || fail "what was refused should leave nothing behind"
expect 0 train lm --help
says 'heed train lm --data shakespeare.txt'
