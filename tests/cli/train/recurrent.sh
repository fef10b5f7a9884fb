# Recurrent networks from the command line: classify, tag, language models, generate, and what is wrong with their configs.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# what comes first decides: a class that only a memory can tell
awk 'BEGIN {
    s = 3
    for (i = 0; i < 300; i++) {
        s = (s * 16807) % 2147483647
        first = s % 2 ? "good" : "bad"
        line = first
        for (k = 0; k < 3 + i % 5; k++) { s = (s * 16807) % 2147483647; line = line " w" s % 6 }
        print line "\t" (first == "good" ? "yes" : "no")
    }
}' >texts.tsv
small="--set hidden_size=16 --set embedding_size=8 --set num_layers=1 --tokens word --vocab 40 --batch 20 --lr 0.01 --quiet"
steps="--steps 3"
if learns; then steps="--epochs 8"; fi
for kind in rnn gru lstm; do
    # shellcheck disable=SC2086 # options are words
    expect 0 train classify --data texts.tsv --model $kind $small $steps --set pooling=last --seed "$(seed 1)" --out $kind
    feed 'good w1 w2\nbad w3\n' classify $kind
    [ "$(wc -l <out)" = 2 ] || fail "a class for each line"
    expect 0 eval $kind --data texts.tsv
    says '^accuracy [0-9.]+ %'
    if learns; then at_least "accuracy of $kind" "$(said accuracy)" 90; fi # at random: 50
done
if learns; then
    feed 'good w1 w2 w3 w4\nbad w3 w3 w1\n' classify lstm
    [ "$(cut -f1 out | tr '\n' ' ')" = "yes no " ] || fail "the first word should be remembered"
fi
# shellcheck disable=SC2086
expect 0 train classify --data texts.tsv --model lstm $small $steps --set pooling=last --seed "$(seed 1)" --threads 1 --out again
cmp -s lstm/model.safetensors again/model.safetensors || fail "one thread should give the same bits"

# tags
awk 'BEGIN { for (i = 0; i < 60; i++) { print "mr\tO\nanna\tPER\nin\tO\nbonn\tLOC\n" } }' >tags.tsv
steps="--steps 3"
if learns; then steps="--steps 60"; fi
# shellcheck disable=SC2086
expect 0 train tag --data tags.tsv --model gru $small $steps --seed "$(seed 1)" --out tagger
feed 'mr anna in bonn\n' tag tagger
[ "$(wc -w <out)" = 4 ] || fail "a tag for each word"
if learns; then [ "$(cat out)" = 'O PER O LOC' ] || fail "the tags should be learnt"; fi

# language models by characters: train, measure, go on with a text in which the animal decides what it eats
awk 'BEGIN {
    split("bear fox owl", who, " "); split("honey corn mice", what, " ")
    s = 7
    for (i = 0; i < 200; i++) { s = (s * 16807) % 2147483647; k = 1 + s % 3; printf "%s: %s. ", who[k], what[k] }
}' >stories.txt
tiny="--tokens char --context 32 --set hidden_size=32 --set embedding_size=16 --set num_layers=1 --set dropout=0 --batch 8"
steps="--steps 3"
if learns; then steps="--steps 300"; fi
for kind in rnn gru lstm; do
    # shellcheck disable=SC2086
    expect 0 train lm --data stories.txt --model $kind $tiny $steps --lr 0.02 --seed "$(seed 1)" --out $kind-lm --quiet --json
    says '"valid_bits_per_byte"'
    expect 0 eval $kind-lm --data stories.txt --json
    says '"perplexity"'
    if learns; then at_most "perplexity of $kind" "$(result perplexity)" 1.17; fi # whoever forgets the animal: 1.22
    expect 0 generate $kind-lm 'bear:' 'fox:' 'owl:' --max-tokens 6 --temperature 0
    [ "$(wc -l <out)" = 3 ] || fail "a line for each prompt"
    if learns; then [ "$(cut -c 1-5 out | tr '\n' '|')" = " hone| corn| mice|" ] || fail "what each eats"; fi
done
grep -q LSTMForCausalLM lstm-lm/config.json || fail "the head should be that of next tokens"

# decoding with the state alone
expect 0 new lstm lm --set vocab_size=40 --set hidden_size=8 --set embedding_size=8 --set tie_word_embeddings=true
cp lstm/tokenizer.json lm
expect 0 generate lm --prompt "good w1" --max-tokens 5
expect 0 info lm
says '^family +lstm \(heed-lstm\)'

# bad configs
expect 2 new lstm bad --set hidden_size=8 --set proj_size=8
error_is "lstm: proj_size: it must be below hidden_size, 8"
expect 2 new gru bad --set hidden_size=8 --set embedding_size=4 --set tie_word_embeddings=true
error_is "gru: tie_word_embeddings: embeddings of 4 numbers cannot be those of 8 outputs"
expect 2 new rnn bad --set nonlinearity=gelu
error_is "rnn: nonlinearity: .gelu. is not one of: tanh, relu"
[ ! -e bad ] || fail "nothing should be written"
