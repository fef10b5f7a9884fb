#!/bin/sh
# What pre-training gains: sentiment of rt-polarity (Pang & Lee 2005) by a BERT of 4 layers, 256 wide, pre-trained on
# masked words and then fine-tuned, against the same net from scratch; three seeds each.
#   recipes/rt-polarity.sh RT-POLARITY OUT TEXT... [-- OPTION of heed train]...
# RT-POLARITY holds rt-polarity.pos and .neg, or with .gz behind it. Every tenth sentence is the test, the one after it
# validation. Pre-training sees the sentences that are trained on and the TEXTs (one sentence or paragraph a line, also
# .gz), which must hold nothing of the test: SST-2 does. What was stopped goes on where it was.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
data=$1 out=$2 heed=${HEED:-heed}
shift 2
mkdir -p "$out/data"

read_text() { gunzip -cf "$1" 2>/dev/null || gunzip -c "$1.gz"; }
part() { # "train", "valid" or "test" of both classes, under the names of the columns
    printf 'text\tlabel\n'
    for label in pos neg; do
        read_text "$data/rt-polarity.$label" | iconv -f latin1 -t utf-8 | tr '\t"' " '" |
            awk -v part="$1" -v label="$label" -v OFS='\t' '
                { is = NR % 10 == 0 ? "test" : NR % 10 == 1 ? "valid" : "train" }
                is == part { print $0, label }'
    done
}
for name in train valid test; do part "$name" >"$out/data/$name.tsv"; done
: >"$out/text.txt"
cut -f 1 "$out/data/train.tsv" | sed '1d; s/$/\n/' >>"$out/text.txt"
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    read_text "$1" >>"$out/text.txt"
    echo >>"$out/text.txt"
    shift
done
[ $# = 0 ] || shift

"$heed" train mlm --data "$out/text.txt" --vocab 8000 --max-length 64 --masked 0.3 --steps 2500 --batch 32 --lr 7e-4 --warmup 200 --decay 0.01 \
    --out "$out/encoder" --resume "$@"
for seed in 1 2 3; do
    "$heed" train classify --data "$out/data" --init "$out/encoder" --epochs 4 --batch 32 --lr 3e-4 --warmup 100 \
        --seed "$seed" --out "$out/tuned-$seed" --resume "$@"
    "$heed" train classify --data "$out/data" --model bert --tokenizer "$out/encoder" --epochs 4 --batch 32 --lr 3e-4 --warmup 100 \
        --seed "$seed" --out "$out/scratch-$seed" --resume "$@"
done
for model in tuned scratch; do
    for seed in 1 2 3; do
        printf '%s, seed %s: ' "$model" "$seed"
        "$heed" eval "$out/$model-$seed" --data "$out/data/test.tsv" --quiet | head -n 1
    done
done
