# heed train --valid-examples: every task evaluates on some examples while it trains, and on all of them at the end;
# --drop-checkpoint.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    split("bear fox owl cat hen cow", who, " "); split("honey berries mice fish corn grass", what, " ")
    s = 7
    for (i = 0; i < 60; i++) {
        s = (s * 16807) % 2147483647
        k = 1 + s % 6; m = 1 + int(s / 6) % 6
        printf "The %s eats %s.\nIt likes %s best.\n\n", who[k], what[m], what[k] >"stories.txt"
        printf "the %s eats\t%s\n", who[k], what[m] >"pairs.tsv"
        printf "the %s\t%s\t%s\t%d\n", who[k], what[m], what[k], 1 + i % 2 >"choices.tsv"
        printf "the %s eats\t%s\n", who[k], (m > 3 ? "much" : "little") >"texts.tsv"
        printf "the\tO\n%s\tB\neats\tO\n\n", who[k] >"tags.tsv"
        printf "%d,%d,%.2f\n", k, m, k - m / 3 + (s % 7) / 20 >"numbers.csv"
        printf "2024-01-%02d %02d:00:00,%.2f\n", 1 + int(i / 24), i % 24, k + m / 2 >"load.csv"
        printf "{\"strokes\": [[[%d,0],[%d,3],[4,6]],[[5,%d],[6,9]]]}\n", k, m, k >"lines.jsonl"
        print who[k] " eats " what[m] >"corpus." (i < 50 ? "train" : "val") ".en"
        print what[m] " " who[k] >"corpus." (i < 50 ? "train" : "val") ".de"
    }
}'
sed '1s/^/date,load\n/' load.csv >series.csv
mkdir corpus
for part in train val; do for side in en de; do mv corpus.$part.$side corpus/$part.$side; done; done
awk 'BEGIN {
    printf "{\"version\":\"1.1\",\"data\":[{\"title\":\"t\",\"paragraphs\":["
    for (i = 0; i < 40; i++) {
        context = ""
        for (k = 0; k < 30; k++) context = context "w" (i * k) % 7 " "
        printf "%s{\"context\":\"%s\",\"qas\":[{\"id\":\"%d\",\"question\":\"w%d\",\"answers\":[{\"text\":\"w0\",\"answer_start\":0}]}]}",
            i ? "," : "", context, i, i % 7
    }
    print "]}]}"
}' >squad.json
awk 'BEGIN {
    printf "{"
    split("train valid", part, " ")
    for (p = 1; p <= 2; p++) {
        printf "%s\"%s\":[", (p > 1 ? "," : ""), part[p]
        for (i = 0; i < 8; i++) {
            printf "%s[", (i ? "," : "")
            for (t = 0; t < 8 + i; t++) printf "%s[%d,67,64,48]", (t ? "," : ""), 72 + (i + t) % 3
            printf "]"
        }
        printf "]"
    }
    print "}"
}' >cadence.json

value() { # KEY FILE: in the last line of a log
    tail -n 1 "$2" | sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p"
}
# TASK OPTIONS...: with one evaluation, at the end, that of some examples differs from that of all, which is the same as
# without the option; so is the model
chosen() {
    # shellcheck disable=SC2086 # options are words
    expect 0 train "$@" --steps 2 --evaluate-every 2 --quiet --out all --log all.jsonl --force
    # shellcheck disable=SC2086
    expect 0 train "$@" --steps 2 --evaluate-every 2 --quiet --out some --log some.jsonl --force --valid-examples 3 --json
    whole=$(value whole_valid_loss some.jsonl)
    [ -n "$whole" ] && [ "$whole" = "$(value valid_loss all.jsonl)" ] || fail "$*: the final evaluation should be whole"
    grep -q "\"valid_loss\": $whole" out || fail "$*: the result should be that of the whole set"
    [ "$(value valid_loss some.jsonl)" != "$whole" ] || fail "$*: some examples should be chosen"
    cmp all/model.safetensors some/model.safetensors || fail "$*: the model should not differ"
}
bert="--model bert --set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8 --tokens word --vocab 60 --batch 10"
chosen regress --data numbers.csv --valid 0.3 --set hidden_sizes=8 --batch 8
chosen classify --data digits --model vit --set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8
# shellcheck disable=SC2086
for task in 'classify --data texts.tsv' 'tag --data tags.tsv --valid 0.2' 'choose --data choices.tsv' 'mlm --data stories.txt' \
    'embed --data pairs.tsv --valid 0.2' 'qa --data squad.json --valid 0.3 --max-length 20 --stride 4'; do
    chosen $task $bert
done
# shellcheck disable=SC2086
{
    chosen lm --data stories.txt --tokens char --context 8 --set n_embd=8 --set n_layer=1 --set n_head=2 --batch 4
    chosen lm --data stories.txt --tokens char --context 8 --model lstm --carry-state --set hidden_size=8 --set embedding_size=8 --set num_layers=1 --batch 4
    chosen music --data cadence.json --set hidden_size=8 --set embedding_size=8 --set num_layers=1 --context 16 --batch 4
    chosen text2text --data pairs.tsv --valid 0.2 --vocab 150 --set d_model=8 --set num_layers=1 --set num_heads=2 --set d_kv=4 --set d_ff=8 --batch 8
    chosen translate --data corpus --from en --to de --tokens word --vocab 0 --set d_model=8 --set encoder_layers=1 --set decoder_layers=1 \
        --set encoder_ffn_dim=8 --set decoder_ffn_dim=8 --set encoder_attention_heads=2 --set decoder_attention_heads=2 --batch 100
    chosen forecast --data series.csv --context 6 --horizon 2 --split 0.6,0.4,0 --set hidden_size=8 --batch 8 --model mlp
    chosen handwriting --data lines.jsonl --valid 0.3 --set hidden_size=8 --set num_layers=1 --set num_mixtures=2 --batch 8
}

# what is measured once is no curve
expect 0 plot some.jsonl --png some.png
grep -q 'some.png: 1 log, 3 panels' err || fail "the whole set's loss should not have a panel"

# as many as there are, or more: all
set -- train regress --data numbers.csv --valid 0.3 --set hidden_sizes=8 --batch 8 --steps 20 --evaluate-every 4 --quiet
expect 0 "$@" --out plain --log plain.jsonl
expect 0 "$@" --out most --valid-examples 18 --log most.jsonl
cmp plain/model.safetensors most/model.safetensors || fail "all examples are no choice"
if grep -q whole_valid most.jsonl; then fail "there is nothing to measure again"; fi

# from a recipe; resumed, with the same bits; another choice is another run
printf 'valid-examples 5\ndrop-checkpoint\n' >some.recipe
expect 0 "$@" --out once --recipe some.recipe
[ ! -e once/checkpoint.safetensors ] || fail "the checkpoint should have been dropped"
wrong 1 'once: holds a model but no checkpoint to resume from: its run has ended and dropped it, or it never had one; --force overwrites it' \
    "$@" --out once --recipe some.recipe --resume
expect 0 "$@" --out twice --valid-examples 5 --schedule constant --steps 7
expect 0 "$@" --out twice --valid-examples 5 --schedule constant --steps 20 --resume
expect 0 "$@" --out whole --valid-examples 5 --schedule constant --steps 20
cmp twice/model.safetensors whole/model.safetensors || fail "a resumed run should end with the same bits"
wrong 1 '.*valid-examples was 5, is 6' "$@" --out whole --valid-examples 6 --schedule constant --steps 30 --resume
wrong 1 'train: evaluating on 5 examples needs validation data' "$@" --valid 0 --out never --valid-examples 5
