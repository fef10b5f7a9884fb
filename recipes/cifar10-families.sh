#!/bin/sh
# Families of vision models on CIFAR-10 after the same time of one core: ViT, CaiT, Swin v2, LeViT, VOLO and a residual
# network, with random crops, flips and otherwise nothing.
#   recipes/cifar10-families.sh CIFAR10.tar.gz OUT [OPTION of heed train]...
# The first epoch of each is timed (by the core's clock, so that other work does not count), and MINUTES of it, 10 unless
# given, decide how many epochs follow. FAMILIES chooses some. OUT/table.tsv has a line for each: family, parameters,
# epochs, minutes, test accuracy, pictures a second in training and when run one by one.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
data=$1 out=$2 heed=${HEED:-heed} minutes=${MINUTES:-10}
shift 2
mkdir -p "$out"

sizes() {
    case $1 in
    vit) echo --model vit --set patch_size=4 --set hidden_size=128 --set num_hidden_layers=6 --set num_attention_heads=4 --set intermediate_size=512 --set initializer_range=0.05 ;;
    cait) echo --model cait --set patch_size=4 --set embed_dim=128 --set num_heads=4 --set depth=6 --set init_values=0.1 ;;
    swinv2) echo --model swinv2 --set patch_size=2 --set embed_dim=64 --set depths=2,2,2 --set num_heads=2,4,8 --set window_size=4 --set initializer_range=0.05 ;;
    levit) echo --model levit ;;
    volo) echo --model volo ;;
    resnet) echo --model resnet --set layer_type=basic --set embedding_size=32 --set hidden_sizes=32,64,128,256 --set depths=2,2,2,2 ;;
    *) echo "$0: no family $1" >&2 && exit 2 ;;
    esac
}
# now: seconds of the core that all commands have taken so far. A subshell would have run none.
clock() {
    times >"$out/times"
    now=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } print sum }' "$out/times")
}
train() { # FAMILY EPOCHS DIR [OPTION...]
    family=$1 epochs=$2 to=$3
    shift 3
    # shellcheck disable=SC2046 # words
    "$heed" train classify --data "$data" $(sizes "$family") --crop-padding 4 --padding-kind reflect --flip 0.5 --batch 64 --lr 0.001 --decay 0.05 \
        --warmup 150 --clip 1 --valid 0.05 --threads 1 --epochs "$epochs" --out "$to" --force "$@" >"$to.log" 2>&1 || {
        tail -n 3 "$to.log" >&2
        exit 1
    }
}
printf 'family\tparameters\tepochs\tminutes\taccuracy\ttrained/s\trun/s\n' >"$out/table.tsv"
for family in ${FAMILIES:-vit cait swinv2 levit volo resnet}; do
    clock
    t0=$now
    train "$family" 1 "$out/$family-first" "$@"
    clock
    t1=$now
    epochs=$(awk -v s="$t0 $t1" -v m="$minutes" 'BEGIN { split(s, t); n = int(60 * m / (t[2] - t[1])); print (n > 1 ? n : 1) }')
    train "$family" "$epochs" "$out/$family" "$@"
    clock
    t2=$now
    "$heed" eval "$out/$family" --data "$data" --threads 1 >"$out/$family-eval.log" 2>&1
    clock
    awk -v family="$family" -v epochs="$epochs" -v clocks="$t1 $t2 $now" '
        BEGIN { split(clocks, c); trained = c[2] - c[1]; run = c[3] - c[2] }
        / pictures of .* to train on/ { for (i = 1; i <= NF; i++) { if ($i == "pictures") n = $(i - 1); if ($i ~ /^test;?$/) tests = $(i - 2); if ($i == "with") p = $(i + 1) } }
        /^test: / { for (i = 1; i <= NF; i++) if ($i == "accuracy" && !a) a = $(i + 1) }
        END { printf "%s\t%d\t%d\t%.1f\t%s\t%.0f\t%.0f\n", family, p, epochs, trained / 60, a, n * epochs / trained, tests / run }' "$out/$family.log" | tee -a "$out/table.tsv"
done
