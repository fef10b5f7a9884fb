# heed train text2text: spans of plain text and pairs; heed eval and heed summarize of what it makes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    for (i = 0; i < 120; i++) {
        k = i % 6 + 1
        printf "The %s eats %s.\nIt likes %s best.\nSo says the old %s.\n\n", who[k], what[k], what[k], who[k]
        printf "So says the old %s: the %s eats %s.\t%s eats %s\n", who[(i + 1) % 6 + 1], who[k], what[k], who[k], what[k] >"pairs.tsv"
        printf "{\"article\": \"The %s eats %s.\", \"title\": \"%s\"}\n", who[k], what[k], who[k] >"pairs.jsonl"
    }
}' >stories.txt
small="--set d_model=32 --set num_layers=1 --set num_heads=2 --set d_kv=8 --set d_ff=48 --set dropout_rate=0 --vocab 180"
steps=120
learns || steps=3
expect 0 train text2text --data stories.txt --out spans $small --steps $steps --lr 0.01 --batch 16 --seed "$(seed 3)" --log log --json
says '"valid_perplexity"'
grep -q 'stories.txt: 108 examples to train on, 12 to validate' err || fail "documents should be sequences"
grep -q T5ForConditionalGeneration spans/config.json || fail "the head should be that of T5"
grep -q '<extra_id_99>' spans/tokenizer.json || fail "the tokenizer should have sentinels"
expect 0 eval spans --data stories.txt --json
cp out once
expect 0 eval spans --data stories.txt --json --seed 17 --threads 2
cmp out once || fail "models should be measured with the same spans"
expect 0 eval spans --data stories.txt --json --masked 0.5 --span 1
cmp -s out once && fail "other spans should give another score"

# pairs, from there on; the prefix is remembered
expect 0 train text2text --data pairs.tsv --init spans --out pairs --prefix 'summarize: ' --steps $steps --lr 0.01 --batch 16 --seed "$(seed 1)" --decode 5 --json
says '"valid_rougeL"'
grep -q '"prefix": "summarize: "' pairs/config.json || fail "the prefix should be in config.json"
cmp spans/tokenizer.json pairs/tokenizer.json || fail "the tokenizer should be that of --init"
expect 0 eval pairs --data pairs.tsv --decode 12
says '^perplexity [0-9.]+, ROUGE-L [0-9.]+ %, loss [0-9.]+ \(120 examples\)$'
if learns; then at_most "perplexity of summaries" "$(said perplexity | tr -d ,)" 2; fi
expect 0 train text2text --data pairs.jsonl --text article --target title --init spans --out titles --steps 2 --decode 0 --best-by perplexity --quiet
expect 0 train text2text --data pairs.tsv --init spans --out best --steps 2 --decode 4 --best-by rougeL --quiet

# summaries: one a line, the same alone and together, with the prefix and without
head -7 pairs.tsv | cut -f 1 >articles
"$HEED" summarize pairs <articles >all || fail "summarize"
[ "$(wc -l <all)" = 7 ] || fail "a line for each line"
while read -r line; do "$HEED" summarize pairs "$line"; done <articles >each
cmp all each || fail "a summary should not depend on the other lines"
sed 's/^/summarize: /' articles | "$HEED" summarize pairs --prefix '' >given && cmp all given || fail "the prefix"
"$HEED" summarize pairs --beam 1 --max-length 31 <articles >short || fail "summarize with a maximum length"
sed 's/^/summarize: /' articles | "$HEED" generate pairs --beam 1 --max-tokens 30 >generated && cmp short generated || fail "generate"
expect 0 summarize pairs --beam 3 --n-best 2 --json "The old bear"
says '^\{"line":1,"summary":".*","score":-?[0-9.e-]+\}$'
if learns; then grep -q 'eats' all || fail "summaries so simple should be learnt"; fi

# what config.json says of decoding summaries are defaults, before generation_config.json
cp -r pairs told
sed -i 's/"prefix": "summarize: "/"num_beams": 3, "max_length": 9, "min_length": 9, "length_penalty": 2.0, "no_repeat_ngram_size": 2, "early_stopping": true, &/' \
    told/config.json
"$HEED" summarize told <articles >of_config || fail "summarize with options of config.json"
"$HEED" summarize pairs --beam 3 --max-length 9 --min-length 9 --length-penalty 2 --no-repeat 2 <articles >asked ||
    fail "summarize with options"
cmp of_config asked || fail "options of config.json should be as if given"
cmp -s of_config all && fail "options of config.json should change something"
"$HEED" summarize told --beam 1 --max-length 200 --min-length 0 --length-penalty 1 --no-repeat 0 <articles >asked &&
    "$HEED" summarize pairs --beam 1 --max-length 200 <articles >all_long && cmp asked all_long || fail "options go before"
expect 0 summarize told --max-length 5 "The old bear"
sed -i 's/"num_beams": 3/"num_beams": [3]/' told/config.json
wrong 1 'told/config.json: .*num_beams' summarize told x

# stopped and resumed it ends with the same bits
expect 0 train text2text --data stories.txt --out whole $small --steps 6 --schedule constant --quiet
expect 0 train text2text --data stories.txt --out parts $small --steps 3 --schedule constant --quiet
expect 0 train text2text --data stories.txt --out parts $small --steps 6 --schedule constant --quiet --resume --threads 2
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run should end with the same bits"
wrong 1 'parts/checkpoint.safetensors: .* span was 3, is 2' \
    train text2text --data stories.txt --out parts $small --steps 9 --schedule constant --span 2 --quiet --resume

# bad input
: >empty.txt
wrong 1 "empty.txt: there is no text" train text2text --data empty.txt --out no
printf 'a\nb\n' >one.tsv
wrong 1 "one.tsv: one column: a source and a target are needed" train text2text --data one.tsv --out no
wrong 1 "pairs.tsv: source and target are the same column" train text2text --data pairs.tsv --text 1 --target 1 --out no
wrong 1 "pairs.jsonl: line 1.*headline" train text2text --data pairs.jsonl --text article --target headline --out no
printf '{"source": 1}\n' >bad.jsonl
wrong 1 "bad.jsonl: line 1" train text2text --data bad.jsonl --out no
wrong 2 "train text2text: --masked" train text2text --data stories.txt --masked 2 --out no
wrong 2 "train: transformer cannot be trained to text2text" train text2text --data stories.txt --model marian --out no
[ -e no ] && fail "nothing should be written"
expect 0 new linear vectors --set input_size=2 --set output_size=1
wrong 1 "vectors: linear cannot summarize: an encoder-decoder is needed" summarize vectors x
