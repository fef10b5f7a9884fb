#!/bin/sh
# What attention is worth: sentiment of SST-2 by an FNet and a BERT of the same size, from scratch; three seeds each.
#   recipes/sst2-fnet.sh SST2_DIR OUT [OPTION of heed train]...
# Both have 4 layers, 256 wide, one tokenizer, and as many passes over the data. Prints the accuracy of each on the test,
# its seconds of training, and FNet's share of BERT's accuracy and time. SEEDS and EPOCHS choose fewer or other runs. What
# was stopped goes on where it was.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
data=$1 out=$2 heed=${HEED:-heed} seeds=${SEEDS:-1 2 3} epochs=${EPOCHS:-4}
shift 2
mkdir -p "$out"
test=$data/test.tsv
[ -e "$test" ] || test=$test.gz

size="--set hidden_size=256 --set num_hidden_layers=4 --set intermediate_size=1024"
gunzip -cf "$data"/train.tsv* | cut -f 1 | sed 1d >"$out/text.txt"
[ -e "$out/tokens/tokenizer.json" ] || "$heed" tokens --train wordpiece --vocab 8000 --out "$out/tokens" <"$out/text.txt"
: >"$out/table.tsv"
for seed in $seeds; do
    for model in bert fnet; do
        heads=
        [ $model = fnet ] || heads="--set num_attention_heads=4"
        # shellcheck disable=SC2086 # options are words
        "$heed" train classify --data "$data" --model $model $size $heads --tokenizer "$out/tokens" --epochs "$epochs" --batch 32 --lr 3e-4 \
            --warmup 100 --seed "$seed" --out "$out/$model-$seed" --log "$out/$model-$seed.log" --resume "$@"
        "$heed" eval "$out/$model-$seed" --data "$test" --json --quiet >"$out/$model-$seed.json"
        printf '%s\t%s\t%s\t%s\n' "$model" "$seed" "$(sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' "$out/$model-$seed.json" | head -n 1)" \
            "$(sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "$out/$model-$seed.log" | tail -n 1)" | tee -a "$out/table.tsv"
    done
done
awk -F '\t' '{ accuracy[$1] += $3; seconds[$1] += $4 }
    END { printf "FNet has %.1f %% of the accuracy of BERT, and takes %.0f %% of its time\n",
              100 * accuracy["fnet"] / accuracy["bert"], 100 * seconds["fnet"] / seconds["bert"] }' "$out/table.tsv"
