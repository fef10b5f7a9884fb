#!/bin/sh
# Multi30k, English to German, with nothing but its own text and three models of one size, each 4 + 4 layers, 128 wide:
# one of each direction translates the text that they have learnt from, and a third learns from that text and from what
# they made of it (data diversification, Nguyen et al. 2020).
#   recipes/multi30k-en-de.sh MULTI30K OUT [OPTION of heed train]...
# MULTI30K holds train, val and test files that end in .en and .de, or with .gz behind it. What was stopped goes on
# where it was; OUT/en-de is the model.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
data=$1 out=$2 heed=${HEED:-heed} recipes=$(dirname "$0")
shift 2
mkdir -p "$out"

text() { { gunzip -cf "$data/train.$1" 2>/dev/null || gunzip -c "$data/train.$1.gz"; } | tr '\t' ' '; }
train() { # RECIPE NAME [OPTION]...
    recipe=$1 name=$2
    shift 2
    "$heed" train translate --data "$data" --recipe "$recipes/$recipe.recipe" --out "$out/$name" --resume "$@"
}
translate() { # MODEL FROM TO: OUT/FROM-TO.txt
    [ -e "$out/$2-$3.txt" ] && return
    "$heed" translate "$out/$1" --beam 5 <"$out/train.$2" >"$out/part.txt"
    mv "$out/part.txt" "$out/$2-$3.txt"
}

train multi30k-de-en de-en "$@"
train multi30k-en-de en-de-first --keep 10 "$@"
[ -e "$out/en-de-mean/model.safetensors" ] || "$heed" average "$out"/en-de-first/kept/* --out "$out/en-de-mean"
for language in en de; do text "$language" >"$out/train.$language"; done
translate en-de-mean en de
translate de-en de en
paste "$out/train.en" "$out/en-de.txt" >"$out/forward.tsv"
paste "$out/de-en.txt" "$out/train.de" >"$out/back.tsv"
train multi30k-en-de en-de --more "$out/forward.tsv" --more "$out/back.tsv" --set dropout=0.2 --steps 15708 "$@"
"$heed" eval "$out/en-de" --data "$data" --beam 5
