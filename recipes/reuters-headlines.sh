#!/bin/sh
# Headlines of Reuters' articles by a T5 of 4 + 4 layers, 256 wide: pre-trained on the articles and fine-tuned, against the
# same net not pre-trained, and against the first eight words of an article; ROUGE-L of test articles.
#   recipes/reuters-headlines.sh DATA OUT [OPTION of heed train]...
# Some 75 min of one core. PRETRAIN, FINETUNE and WARMUP are numbers of steps, TEST of the articles that are summarised to measure. DATA holds train.tsv.gz and test.tsv.gz, an article and its headline on each line. What was stopped goes on where it was.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
data=$1 out=$2 heed=${HEED:-heed}
shift 2
mkdir -p "$out"
# Headlines are in capitals, which tokens made of the articles would spell letter by letter; ROUGE does not tell them apart.
part() { gunzip -c "$data/$1.tsv.gz" | tr '[:upper:]' '[:lower:]'; }
part train >"$out/train.tsv"
cut -f 1 "$out/train.tsv" | sed G >"$out/articles.txt" # each article a document
part test | head -n "${TEST:-1000}" | cut -f 1 >"$out/test.txt"
part test | head -n "${TEST:-1000}" | cut -f 2 >"$out/test.ref"

# Adafactor, as T5 was trained: AdamW moves embeddings of size 1 too slowly for so few steps.
common="--batch 16 --optimizer adafactor --lr 0.01 --schedule cosine --warmup ${WARMUP:-100}"
"$heed" train text2text --data "$out/articles.txt" --out "$out/pretrained" --resume $common --steps "${PRETRAIN:-3000}" "$@"
fine() { # NAME [OPTION]...
    name=$1
    shift
    "$heed" train text2text --data "$out/train.tsv" --prefix 'summarize: ' --out "$out/$name" --resume $common \
        --steps "${FINETUNE:-3000}" --best-by rougeL --decode 200 "$@"
    "$heed" summarize "$out/$name" --beam 4 <"$out/test.txt" >"$out/$name.txt"
}
fine fine --init "$out/pretrained" "$@"
fine scratch --tokenizer "$out/pretrained" "$@"
awk '{ NF = NF < 8 ? NF : 8 } 1' "$out/test.txt" >"$out/first.txt"
for name in fine scratch first; do
    printf '%-8s ' "$name"
    "$heed" rouge "$out/$name.txt" "$out/test.ref" | grep '^rougeL '
done
