# examples/finetune.c: a directory and a table of texts become a classifier through the library's runs alone. The command
# opens what it wrote and gives the same probabilities.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

rows=8000
learns || rows=200
awk -v rows=$rows 'BEGIN {
    split("film play book song", thing, " "); split("old new long short", kind, " ")
    for (i = 0; i < rows; i++)
        printf "the %s %s is %s\t%s\n", kind[i % 4 + 1], thing[int(i / 4) % 4 + 1], i % 3 ? "good" : "bad", i % 3 ? "praise" : "blame"
}' >reviews.tsv
cut -f 1 reviews.tsv | "$HEED" tokens --train word --vocab 50 --out words --quiet
expect 0 new bert encoder --tokenizer words --set hidden_size=128 --set num_hidden_layers=1 --set num_attention_heads=2 \
    --set intermediate_size=64 --quiet

finetune() { # TEXT: what the example prints of it goes to `out`
    "$EXAMPLE_FINETUNE" encoder reviews.tsv reviewer "$1" >out 2>err || fail "the example should fine-tune"
    grep -q 'step [0-9]* of [0-9]*, loss [0-9.]' err || fail "it should report its steps"
    [ "$(awk '{ printf "%s ", $1 }' out)" = "blame praise " ] || fail "it should print both classes"
    holds "the probabilities add up to 1" "$(awk '{ print $2 }' out | paste -sd +) > 0.998 && $(awk '{ print $2 }' out | paste -sd +) < 1.002"
}
finetune 'the old film is bad'
if learns; then at_least "blame of what is bad" "$(said 'blame *')" 0.8; fi
finetune 'the old film is good' # again, into the directory that is there
if learns; then at_least "praise of what is good" "$(said 'praise *')" 0.8; fi

# the command
cp out printed
expect 0 classify reviewer --json 'the old film is good'
for class in blame praise; do
    of_command=$(grep -o "\"$class\": *[0-9.e-]*" out | sed 's/.*: *//')
    [ "$(printf '%.3f' "$of_command")" = "$(awk -v class=$class '$1 == class { print $2 }' printed)" ] ||
        fail "heed classify should give the example's probability of $class"
done

# what is wrong is said once
for wrong in "nowhere reviews.tsv" "encoder nowhere"; do
    status=0
    "$EXAMPLE_FINETUNE" $wrong none 'text' >out 2>err || status=$?
    [ "$status" = 1 ] && [ ! -s out ] && [ "$(grep -c . err)" = 1 ] && grep -q '^nowhere' err || fail "the example should say what is wrong: $wrong"
    [ ! -e none ] || fail "what is wrong should leave nothing behind"
done
