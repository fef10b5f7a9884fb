#!/bin/sh
# Non-local against local (Wang et al. 2018) on a task that needs distance: are two shapes that lie far apart of one kind?
#   recipes/non-local.sh OUT [OPTION of heed train]...
# A small residual network with a non-local block, the same one with as many parameters but without the block, and one
# that is twice as deep without it; SEEDS (1 2 3) of each, 4 epochs on one core. OUT/table.tsv has a line for each.
set -eu
[ $# -ge 1 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
out=$1 heed=${HEED:-heed}
shift
mkdir -p "$out"
sizes() {
    case $1 in
    non-local) echo --set hidden_sizes=16,32 --set depths=1,1 --set blocks=1 ;;
    local) echo --set hidden_sizes=16,34 --set depths=1,1 --set blocks= ;;
    deeper) echo --set hidden_sizes=16,22 --set depths=2,2 --set blocks= ;;
    esac
}
printf 'network\tseed\taccuracy\n' >"$out/table.tsv"
for seed in ${SEEDS:-1 2 3}; do
    for network in non-local local deeper; do
        # shellcheck disable=SC2046 # words
        "$heed" train classify --model nonlocal --data same-shapes --set embedding_size=8 $(sizes $network) --lr 2e-3 --epochs 4 --threads 1 \
            --seed "$seed" --out "$out/$network-$seed" --force --json "$@" >"$out/result.json"
        printf '%s\t%s\t%s\n' $network "$seed" "$(sed -n 's/.*"test_accuracy": \([0-9.]*\).*/\1/p' "$out/result.json")" | tee -a "$out/table.tsv"
    done
done
