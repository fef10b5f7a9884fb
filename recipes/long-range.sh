#!/bin/sh
# Tasks of long range, after Long Range Arena (Tay et al. 2021): exact attention and all that is cheaper, at equal width.
#   recipes/long-range.sh OUT [OPTION of heed train]...
# listops and retrieval are drawn by long-range.awk; bytes is the sentiment of reviews, several joined to one text, where
# REVIEWS names a directory with rt-polarity.pos and .neg (also .gz). LENGTHS, TASKS, KINDS, STEPS and BATCH choose fewer
# or other runs. OUT/table.tsv has a line for each: task, length, kind, test accuracy, seconds of training. What was stopped goes on.
set -eu
[ $# -ge 1 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
out=$1 heed=${HEED:-heed} recipes=$(dirname "$0")
shift
lengths=${LENGTHS:-1024 2048 4096} steps=${STEPS:-1000} batch=${BATCH:-16}
tasks=${TASKS:-listops retrieval ${REVIEWS:+bytes}}
kinds=${KINDS:-exact window blocks performer linformer reformer perceiver workspace token-mixer fnet}
mkdir -p "$out"

# Every tenth review is for the test. Reviews of one class are joined until they have LENGTH bytes, of which the tokenizer adds two.
reviews() { # LENGTH test|train
    printf 'text\tlabel\n'
    for label in pos neg; do
        { gunzip -cf "$REVIEWS/rt-polarity.$label" 2>/dev/null || gunzip -c "$REVIEWS/rt-polarity.$label.gz"; } |
            iconv -f latin1 -t ascii//TRANSLIT | tr '\t"' " '" | awk -v part="$2" -v label=$label -v most="$1" '
            (NR % 10 == 0 ? "test" : "train") == part { text = text (text == "" ? "" : " ") $0 }
            length(text) >= most { print substr(text, 1, most - 2) "\t" label; text = "" }'
    done
}
data() { # TASK LENGTH
    to=$out/$1-$2
    [ ! -e "$to/test.tsv" ] || return 0
    mkdir -p "$to"
    for part in train valid test; do
        if [ "$1" = bytes ]; then
            [ $part = valid ] || reviews "$2" $part >"$to/part"
        else
            case $part in
            train) n=8000 seed=1 ;;
            valid) n=200 seed=2 ;;
            test) n=500 seed=3 ;;
            esac
            awk -v task="$1" -v length_="$2" -v n=$n -v seed=$seed -f "$recipes/long-range.awk" >"$to/part"
        fi
        [ ! -e "$to/part" ] || mv "$to/part" "$to/$part.tsv"
    done
}
family() { # KIND LENGTH: options of heed train, at equal width and depth
    drawn="--set initializer_range=0.1" # the usual 0.02 is that of wide nets
    body="$drawn --set hidden_size=64 --set num_hidden_layers=2"
    wide="$body --set intermediate_size=128 --set max_position_embeddings=$2"
    heads="--set num_attention_heads=4"
    case $1 in
    exact) echo "--model bert $wide $heads" ;;
    window) echo "--model sparse $wide $heads --set attention_window=64" ;;
    blocks) echo "--model sparse $wide $heads --set attention_block=32 --set random_blocks=1 --set global_blocks=1" ;;
    performer) echo "--model performer $wide $heads --set num_random_features=64" ;;
    linformer) echo "--model linformer $wide $heads --set projected_length=64" ;;
    reformer) echo "--model reformer $drawn --set hidden_size=64 --set attn_layers=lsh,lsh --set num_attention_heads=4 --set attention_head_size=16
        --set feed_forward_size=128 --set num_hashes=2 --set axial_pos_embds=false --set max_position_embeddings=$2" ;;
    perceiver) echo "--model perceiver $drawn --set num_latents=64 --set d_latents=64 --set d_model=64 --set num_self_attends_per_block=2
        --set num_self_attention_heads=4 --set num_cross_attention_heads=4 --set max_position_embeddings=$2" ;;
    workspace) echo "--model workspace $wide $heads --set num_slots=8" ;;
    token-mixer) echo "--model token-mixer $wide --set tokens_mlp_dim=128" ;;
    fnet) echo "--model fnet $wide" ;;
    *) echo "long-range.sh: $1: no such kind" >&2 && exit 2 ;;
    esac
}
for length in $lengths; do
    for task in $tasks; do
        data "$task" "$length"
        tokens=word
        [ "$task" != bytes ] || tokens=char
        for kind in $kinds; do
            name=$task-$length-$kind
            # shellcheck disable=SC2046 # options are words
            "$heed" train classify --data "$out/$task-$length" --tokens $tokens --max-length "$length" $(family "$kind" "$length") --steps "$steps" \
                --batch "$batch" --lr 2e-3 --warmup 30 --schedule cosine --out "$out/$name" --log "$out/$name.log" --resume "$@"
            "$heed" eval "$out/$name" --data "$out/$task-$length/test.tsv" --json >"$out/$name.json"
            printf '%s\t%s\t%s\t%s\t%s\n' "$task" "$length" "$kind" "$(sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' "$out/$name.json" | head -n 1)" \
                "$(sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "$out/$name.log" | tail -n 1)" >>"$out/table.tsv"
        done
    done
done
cat "$out/table.tsv"
