# heed train mlm, and heed eval of what it makes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# documents of three sentences, of which each has one subject; what a bear eats is always the same
awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    for (i = 0; i < 240; i++) {
        k = i % 6 + 1
        printf "The %s eats %s.\nIt likes %s best.\nSo says the old %s.\n\n", who[k], what[k], what[k], who[k]
    }
}' >stories.txt
small="--set hidden_size=32 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=64
    --set hidden_dropout_prob=0 --set attention_probs_dropout_prob=0 --vocab 100"
steps=400
learns || steps=4
expect 0 train mlm --data stories.txt --out stories $small --steps $steps --lr 0.005 --seed "$(seed 3)" --log log --json
says '"valid_perplexity"'
grep -q 'stories.txt: 216 examples to train on, 24 to validate' err || fail "documents should be sequences"
grep -q 'valid_perplexity.*valid_accuracy' log || fail "the log should hold both metrics"
grep -q BertForMaskedLM stories/config.json || fail "the head should be that of masked words"
grep -q MASK stories/tokenizer.json || fail "the tokenizer should have a mask token"
expect 0 eval stories --data stories.txt
says '^perplexity [0-9.]+, accuracy [0-9.]+ %, loss [0-9.]+ \(240 examples\)$'
expect 0 eval stories --data stories.txt --json
cp out once
expect 0 eval stories --data stories.txt --json --seed 17 --threads 2
cmp out once || fail "models should be measured with one masking"
if learns; then at_most perplexity "$(result perplexity)" 2; fi
expect 0 eval stories --data stories.txt --json --masked 0.5
cmp -s out once && fail "another share of words should give another score"
expect 0 eval stories --data stories.txt --json --whole-words --max-length 8
says '"examples": 720'

# from there on, with other heads too; the tokenizer stays
expect 0 train mlm --data stories.txt --init stories --out more --steps 2 --whole-words --masked 0.3 --quiet
cmp stories/tokenizer.json more/tokenizer.json || fail "the tokenizer should be that of --init"
awk 'BEGIN { for (i = 0; i < 20; i++) print (i % 2 ? "The bear eats honey\tyes" : "The owl eats mice\tno") }' >labels.tsv
expect 0 train classify --data labels.tsv --init stories --out labels --steps 2 --quiet

# stopped and resumed it ends with the same bits, and another masking is refused
expect 0 train mlm --data stories.txt --out whole $small --steps 6 --schedule constant --quiet
expect 0 train mlm --data stories.txt --out parts $small --steps 3 --schedule constant --quiet
expect 0 train mlm --data stories.txt --out parts $small --steps 6 --schedule constant --quiet --resume --threads 2
cmp whole/model.safetensors parts/model.safetensors || fail "a resumed run should end with the same bits"
wrong 1 'parts/checkpoint.safetensors: .* masked was 0.15, is 0.5' \
    train mlm --data stories.txt --out parts $small --steps 9 --schedule constant --masked 0.5 --quiet --resume

# other families, and a directory of parts
mkdir parts.d
head -80 stories.txt >parts.d/train.txt
head -20 stories.txt >parts.d/valid.txt
gzip -c parts.d/valid.txt >parts.d/test.txt.gz
for family in distilbert albert; do
    expect 0 train mlm --data parts.d --model $family --out $family --steps 1 --quiet --json --max-length 10 --vocab 60
    says '"test_perplexity"'
done

# bad input
: >empty.txt
printf 'One line.\n' >line.txt
wrong 1 'empty.txt: there is no text' train mlm --data empty.txt --out never
wrong 1 'mlm: sequences of 2 tokens have no room for words beside 2 special tokens' \
    train mlm --data stories.txt --out never --max-length 2
wrong 2 'train mlm: --masked: 0 is not between 0.001 and 1$' train mlm --data stories.txt --out never --masked 0
wrong 2 'train: mlp cannot be trained to mlm' train mlm --data stories.txt --out never --model mlp
wrong 2 'train: --whole-words is not for classify, but for mlm' train classify --data x.csv --out never --whole-words
wrong 1 'missing.txt: No such file or directory$' train mlm --data missing.txt --out never
expect 0 tokens --train word --vocab 50 --out plain <stories.txt
wrong 1 'mlm: the tokenizer has no mask token, such as \[MASK\]' \
    train mlm --data stories.txt --tokenizer plain --out never
[ ! -e never ] || fail "what was refused should leave nothing behind"
expect 0 train mlm --data line.txt --out line $small --steps 1 --quiet # shorter than a sequence
expect 0 train mlm --help
says 'heed train mlm --data text.txt'

# pairs of segments: next sentences, their order, and what has no head for them
expect 0 train mlm --data stories.txt --next-sentence --out pairs $small --steps 2 --quiet --json
says '"valid_next_sentence"'
expect 0 eval pairs --data stories.txt --max-length 16
says 'next-sentence accuracy'
wrong 2 'train: --next-sentence: roberta has no head for pairs of sentences' \
    train mlm --data stories.txt --next-sentence --model roberta --out never
wrong 1 'line.txt: there is one document alone' train mlm --data line.txt --next-sentence --out never $small

# replaced tokens: a discriminator, and its generator beside it
expect 0 train mlm --data stories.txt --model electra --generator-size 0.5 --out electra $small --steps 2 --quiet --json
says '"valid_generator_loss"'
[ -e electra/generator/model.safetensors ] || fail "the generator should lie beside the model"
expect 0 eval electra --data stories.txt --max-length 16
says 'replaced-token accuracy'
expect 0 train mlm --data stories.txt --model electra --generator-size 0.5 --out electra $small --steps 2 --quiet --resume
wrong 2 'train: --generator-size: bert has no generator' \
    train mlm --data stories.txt --generator-size 0.5 --out never
