#!/bin/sh
# bleu-by-length.sh CORPUS OUT: BLEU against sentence length, of the encoder-decoders before the Transformer and of the
# Transformer, trained on the same corpus and drawn in one picture (Bahdanau et al. 2015, figure 2, with more curves).
#
# CORPUS holds train, val and test files of two languages, as Multi30k's: train.de, train.en, ...; FROM and TO name them.
# Models lie in OUT/NAME, the figures in OUT/NAME.log, the picture in OUT/bleu-by-length.png. A run that was stopped goes on.
set -eu
[ $# = 2 ] || { echo "usage: $0 CORPUS OUT" >&2 && exit 2; }
corpus=$1
out=$2
heed=${HEED:-heed}
from=${FROM:-de}
to=${TO:-en}
epochs=${EPOCHS:-10}
width=${WIDTH:-4} # lengths together
mkdir -p "$out"

train() { # NAME OPTIONS...
    name=$1
    shift
    "$heed" train translate --data "$corpus" --from "$from" --to "$to" --lower --moses --vocab 8000 --epochs "$epochs" \
        --out "$out/$name" --resume "$@"
    "$heed" eval "$out/$name" --data "$corpus" --by-length "$width" --log "$out/$name.log"
}
recurrent="--clip 1 --lr 0.001 --schedule cosine"
# shellcheck disable=SC2086 # options are words
{
    train sutskever --model sutskever $recurrent ${SIZES-}
    train sutskever-reversed --model sutskever --reverse $recurrent ${SIZES-}
    train cho --model cho $recurrent ${SIZES-}
    train bahdanau --model bahdanau $recurrent ${SIZES-}
    train luong --model luong $recurrent ${SIZES-}
    train transformer --model transformer ${TRANSFORMER_SIZES-}
}
"$heed" plot "$out/sutskever.log" "$out/sutskever-reversed.log" "$out/cho.log" "$out/bahdanau.log" "$out/luong.log" "$out/transformer.log" \
    --x words --metric bleu --png "$out/bleu-by-length.png"
echo "$out/bleu-by-length.png"
