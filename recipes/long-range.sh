#!/bin/sh
# Tasks of long range, after Long Range Arena (Tay et al. 2021): exact attention and all that is cheaper, at equal width.
#   recipes/long-range.sh OUT [OPTION of heed train]...
# listops and retrieval are drawn by long-range.awk, and so is bytes, the sentiment of reviews, several joined to one text,
# where REVIEWS names a directory with rt-polarity.pos and .neg (also .gz). Texts to learn from have 32 to LENGTH tokens:
# short ones show what matters, and without them a few hundred steps teach nothing. Those of the test have LENGTH,
# expressions up to so many. Every kind but the Perceiver, which has a query of its own for it, answers at the first token,
# so that what decides must get there. LENGTHS, TASKS, KINDS, STEPS and BATCH choose fewer or other runs. OUT/table.tsv has
# a line for each: task, length, kind, test accuracy, seconds of training. What was stopped goes on.
set -eu
[ $# -ge 1 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
out=$1 heed=${HEED:-heed} recipes=$(dirname "$0")
shift
lengths=${LENGTHS:-1024 2048 4096} steps=${STEPS:-600}
tasks=${TASKS:-listops retrieval ${REVIEWS:+bytes}}
kinds=${KINDS:-exact window blocks performer linformer reformer perceiver workspace token-mixer fnet}
mkdir -p "$out"

# Every tenth review is kept for the texts of validation and test. Tabs and quotation marks would divide a table.
reviews() {
    for label in pos neg; do
        { gunzip -cf "$REVIEWS/rt-polarity.$label" 2>/dev/null || gunzip -c "$REVIEWS/rt-polarity.$label.gz"; } |
            iconv -f latin1 -t ascii//TRANSLIT | tr '\t"' " '" | awk -v label=$label '{ print (NR % 10 ? "train" : "test") "\t" label "\t" $0 }'
    done
}
draw() { # TASK LENGTH SHORTEST EXAMPLES SEED PART
    awk -v task="$1" -v longest="$2" -v shortest="$3" -v n="$4" -v seed="$5" -v part="$6" -f "$recipes/long-range.awk" "$out/reviews.tsv"
}
data() { # TASK LENGTH
    to=$out/$1-$2
    [ ! -e "$to/test.tsv" ] || return 0
    mkdir -p "$to"
    : >>"$out/reviews.tsv"
    [ "$1" != bytes ] || reviews >"$out/reviews.tsv"
    draw "$1" "$2" 32 16000 1 train >"$to/train.tsv"
    draw "$1" "$2" "$2" 200 2 test >"$to/valid.tsv"
    draw "$1" "$2" "$2" 500 3 test >"$to/test.part"
    mv "$to/test.part" "$to/test.tsv" # the last: with it the data are whole
}
family() { # KIND LENGTH: options of heed train, at equal width and depth
    drawn="--set initializer_range=0.1" # the usual 0.02 is that of wide nets
    kept="--set hidden_dropout_prob=0"  # texts hardly come twice
    weights="--set attention_probs_dropout_prob=0"
    wide="$drawn $kept --set hidden_size=64 --set num_hidden_layers=2 --set intermediate_size=128 --set max_position_embeddings=$2"
    heads="--set num_attention_heads=4"
    first="--set pooling=first"
    case $1 in
    exact) echo "--model bert $wide $heads $weights" ;;
    window) echo "--model sparse $wide $heads $weights $first --set attention_window=64" ;;
    blocks) echo "--model sparse $wide $heads $weights $first --set attention_block=32 --set random_blocks=1 --set global_blocks=1" ;;
    performer) echo "--model performer $wide $heads $first --set num_random_features=64" ;;
    linformer) echo "--model linformer $wide $heads $weights $first --set projected_length=64" ;;
    reformer) echo "--model reformer $drawn $kept --set hidden_size=64 --set attn_layers=lsh,lsh --set num_attention_heads=4 --set attention_head_size=16
        --set feed_forward_size=128 --set num_hashes=2 --set axial_pos_embds=false --set max_position_embeddings=$2" ;;
    perceiver) echo "--model perceiver $drawn $weights --set num_latents=64 --set d_latents=64 --set d_model=64 --set num_self_attends_per_block=2
        --set num_self_attention_heads=4 --set num_cross_attention_heads=4 --set max_position_embeddings=$2" ;;
    workspace) echo "--model workspace $wide $heads $weights $first --set num_slots=8" ;;
    token-mixer) echo "--model token-mixer $wide $first --set tokens_mlp_dim=128" ;;
    fnet) echo "--model fnet $wide" ;;
    *) echo "long-range.sh: $1: no such kind" >&2 && exit 2 ;;
    esac
}
lines=
for length in $lengths; do
    for task in $tasks; do
        data "$task" "$length"
        tokens=word
        [ "$task" != bytes ] || tokens=char
        # Some 9,000 tokens to a step, but more where they would be of fewer than 16 texts.
        batch=${BATCH:-$((length <= 1024 ? 32 : 16))}
        for kind in $kinds; do
            name=$task-$length-$kind
            lines="$lines $name.tsv"
            [ ! -e "$out/$name.tsv" ] || continue
            # shellcheck disable=SC2046 # options are words
            "$heed" train classify --data "$out/$task-$length" --tokens $tokens --max-length "$length" $(family "$kind" "$length") --steps "$steps" \
                --batch "$batch" --lr 2e-3 --warmup 30 --schedule cosine --out "$out/$name" --log "$out/$name.log" --resume "$@"
            "$heed" eval "$out/$name" --data "$out/$task-$length/test.tsv" --json >"$out/$name.json"
            printf '%s\t%s\t%s\t%s\t%s\n' "$task" "$length" "$kind" "$(sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' "$out/$name.json" | head -n 1)" \
                "$(sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "$out/$name.log" | tail -n 1)" >"$out/line"
            mv "$out/line" "$out/$name.tsv"
        done
    done
done
# shellcheck disable=SC2086 # names are words
(cd "$out" && cat $lines | tee table.tsv)
