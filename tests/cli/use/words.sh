# heed train words and heed words: word vectors, their formats, questions and a map.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN { for (i = 0; i < 300; i++) print i % 2 ? "the cat eats fish and the dog eats meat" : "a king rules land while a queen rules land" }' >text
expect 0 train words --data text --out v --width 12 --min-count 2 --epochs 3 --log log.jsonl
says '^model: v$'
grep -q '"words":' log.jsonl || fail "the log should count words"
[ "$(wc -l <v/words.txt)" = 13 ] && grep -q '"model_type": "heed-words"' v/config.json || fail "the directory is not whole"
wrong 1 'v: holds a model already; --resume continues it, --force overwrites it' train words --data text --out v
expect 0 train words --data text --out w --width 12 --min-count 2 --epochs 3 --threads 2 --quiet
cmp v/model.safetensors w/model.safetensors || fail "threads change the vectors"
expect 0 train words --data text --out c --kind cbow --width 12 --epochs 2 --quiet --json
wrong 1 'v/checkpoint.safetensors: a checkpoint of another run: --width: 12, now 13' train words --data text --out v --resume --width 13 --min-count 2 --epochs 3

# questions
expect 0 words v king -k 3
[ "$(wc -l <out)" = 4 ] || fail "three words and an empty line"
expect 0 words v king - cat + dog --top 1
[ "$(wc -l <out)" = 1 ] || fail "one word"
feed 'king\nkimg\n' words v -k 1 --json
[ "$status" = 1 ] || fail "an unknown word is a failure"
says '^\{"query":"king","found":\[\{"word":'
grep -q "line 2: unknown word 'kimg', did you mean 'king'?" err || fail "the nearest word should be said"

expect 0 info v
says '^width +12$'
expect 0 info v --json
says '"words": 13'

feed 'king\n\nqueen\n' words v -k 1
[ "$status" = 0 ] && [ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] || fail "an empty line has an empty answer"

# formats, both ways
expect 0 words v --write v.bin --quiet
expect 0 words v.bin --write v.txt --quiet
expect 0 words v.txt --write again.bin.gz --quiet
gzip -dc again.bin.gz >again.bin || fail "a name that ends in .gz is gzip"
cmp v.bin again.bin || fail "text and binary should hold the same numbers"
[ "$(head -n 1 v.txt)" = '13 12' ] || fail "the first line holds the sizes"
head -c 200 v.bin >short.bin
wrong 1 'short.bin: 13 words with vectors of 12 numbers do not fit its 200 bytes' words short.bin king
expect 0 words v --png map.png --quiet
[ "$(head -c 4 map.png | tail -c 3)" = PNG ] || fail "the map should be a PNG"
wrong 2 'words: --png map: the name must end in .png' words v --png map

# bad input
: >empty
wrong 1 'empty: there are no words' train words --data empty --out none
wrong 1 'text: 0 of 13 words were seen at least 9999 times' train words --data text --out none --min-count 9999
wrong 1 'none: No such file or directory' words none king
[ ! -e none ] || fail "nothing should be written"

# a table of words that begins with them
awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "the cat eats fish\tcat" : "a king rules land\tking") }' >classes.tsv
tiny="--set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=24 --set max_position_embeddings=12 --tokens word --steps 2"
expect 0 train classify --data classes.tsv --model bert --embeddings v --set hidden_size=12 $tiny --out m
grep -q '^v: vectors of 8 of 13 tokens$' err || fail "it should be said how many are known"
wrong 1 'train: --embeddings: v holds vectors of 12 numbers, but .* is 16 wide' train classify --data classes.tsv --model bert --embeddings v --set hidden_size=16 $tiny --out m2 --quiet

# the same for every task and family with such a table, which becomes as wide as the vectors
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
tail -c +7 v.bin >first # behind the sizes: the first word, a space and its numbers
word=$(cut -d ' ' -f 1 <first | head -n 1)
tail -c +$((${#word} + 2)) first | head -c 48 >vector
holds() { # DIR: the vector of the first word is in the model
    hex "$1/model.safetensors" | grep -qF "$(hex vector)" || fail "$1 should hold the vector of $word"
}
awk 'BEGIN { for (i = 0; i < 40; i++) print "the\tD\ncat\tN\neats\tV\nfish\tN\n" }' >tags.tsv
awk 'BEGIN { for (i = 0; i < 200; i++) print "the cat eats fish and a king rules land" }' >lines
mkdir pairs
for side in en de; do cp lines pairs/train.$side; head -n 9 lines >pairs/val.$side; done
small="--tokens word --steps 2 --quiet --freeze *embedding.weight --set hidden_size=8"
for kind in rnn gru lstm; do
    expect 0 train classify --data classes.tsv --model $kind --embeddings v $small --out $kind-classify
    holds $kind-classify
    expect 0 train tag --data tags.tsv --model $kind --embeddings v.txt $small --out $kind-tag
    expect 0 train lm --data lines --model $kind --embeddings v.bin $small --context 8 --out $kind-lm
    holds $kind-lm
    grep -q '"embedding_size": 12' $kind-lm/config.json || fail "embeddings should have the width of the vectors"
done
for kind in sutskever cho bahdanau luong; do
    expect 0 train translate --data pairs --from en --to de --model $kind --target-embeddings v $small --separate --out $kind
    holds $kind
    expect 0 train translate --data pairs --from en --to de --model $kind --embeddings v --target-embeddings v $small --out $kind-both
    [ "$(hex $kind-both/model.safetensors | grep -oF "$(hex vector)" | wc -l)" = 2 ] || fail "both tables should hold the vector"
done
expect 0 train translate --data pairs --from en --to de --embeddings v --set d_model=12 --set encoder_layers=1 --set decoder_layers=1 \
    --tokens word --steps 1 --lr 1e-300 --quiet --out transformer
holds transformer
expect 0 train lm --data lines --embeddings v --set n_embd=12 --set n_layer=1 --tokens word --steps 1 --lr 1e-300 --quiet --context 8 --out gpt
holds gpt
wrong 1 'train: --embeddings: v holds vectors of 12 numbers, but embedding.weight is 5 wide' train lm --data lines --model gru \
    --embeddings v --set embedding_size=5 --tokens word --quiet --context 8 --out m3
wrong 2 'train lm: --embeddings and --init' train lm --data lines --embeddings v --init gpt --out m3

# the lesson
expect 0 lesson word-vectors --json --out lesson
grep -qE '"same_kind": ?(1|0\.[89])' out || fail "most words should lie nearest to one of their kind"
[ "$(head -c 4 lesson/words.png | tail -c 3)" = PNG ] || fail "the lesson draws the words"

# punctuation is split from words; a run that is resumed goes on as it began
printf 'A duck. The duck, a man.\nThe man saw a duck.\n' >marked
expect 0 train words --data marked --min-count 1 --width 4 --epochs 1 --out marks --quiet
grep -q '^duck 3$' marks/words.txt || fail "a mark should be a word of its own"
expect 0 train words --data marked --min-count 1 --width 4 --epochs 1 --split blanks --out blanks --quiet
grep -q '^duck\. 2$' blanks/words.txt || fail "only blanks should separate words"
expect 0 train words --data marked --min-count 1 --width 4 --epochs 1 --out blanks --resume --quiet
