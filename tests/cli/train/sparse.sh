# Windows and blocks of attention: language models that write, classes of texts, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN { for (i = 0; i < 80; i++) printf "the %s eats %s.\n", i % 2 ? "bear" : "fox", i % 2 ? "honey" : "corn" }' >stories.txt
small="--set hidden_size=16 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=16 --set max_position_embeddings=64"
for pattern in "attention_window=6" "attention_block=4 --set random_blocks=1"; do
    rm -rf story
    # shellcheck disable=SC2086 # options are words
    expect 0 train lm --model sparse --data stories.txt --out story $small --set $pattern --tokens char --steps 4 --quiet
    expect 0 generate story --prompt "the " --max-tokens 12 --temperature 0
    [ -s out ] || fail "$pattern should write"
    expect 0 generate story "the " "the bear eats" "t" --max-tokens 30 --beam 3 --n-best 2 --json
    mv out together
    for prompt in "the " "the bear eats" "t"; do
        expect 0 generate story "$prompt" --max-tokens 30 --beam 3 --n-best 2 --json
        cat out >>alone
    done
    cut -d '"' -f 4- together >a && cut -d '"' -f 4- alone >b # but the number of the prompt
    cmp a b || fail "$pattern: prompts should be answered as if alone"
    rm alone
    expect 0 generate story "the " --max-tokens 40 --sample --seed 4 --quiet
    [ -s out ] || fail "$pattern should draw"
done
wrong 2 '.*attention_block: attention has a window or blocks, not both' new sparse no --set attention_window=4 --set attention_block=2
wrong 2 'sparse: random_blocks: -1 is not between 0 and 1023$' new sparse no --set attention_block=2 --set random_blocks=-1
wrong 2 '.*causal: a language model needs true' new sparse no --task lm --set causal=false
