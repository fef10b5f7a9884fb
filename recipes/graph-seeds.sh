#!/bin/sh
# Test accuracy of a graph network over several seeds, each model chosen by its validation accuracy.
#   recipes/graph-seeds.sh OUT TASK [OPTION of heed train TASK]...
# TASK is nodes or graphs; SEEDS (1 to 10). OUT/table.tsv has a line for each seed; mean and deviation come last.
#   recipes/graph-seeds.sh cora-gcn nodes --data CORA_DIR --recipe recipes/cora-gcn.recipe
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"
    exit 2
}
out=$1 task=$2 heed=${HEED:-heed}
shift 2
mkdir -p "$out"
printf 'seed\tvalid_accuracy\ttest_accuracy\tseconds\n' >"$out/table.tsv"
for seed in ${SEEDS:-1 2 3 4 5 6 7 8 9 10}; do
    "$heed" train "$task" --out "$out/run" --force --seed "$seed" --quiet --json "$@" >"$out/result.json"
    number() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$out/result.json"; }
    printf '%s\t%s\t%s\t%s\n' "$seed" "$(number valid_accuracy)" "$(number test_accuracy)" "$(number seconds)" | tee -a "$out/table.tsv"
done
awk 'NR > 1 { n++; sum += $3; squares += $3 * $3 }
    END { mean = sum / n; printf "test accuracy: %.2f %% +- %.2f (%d seeds)\n", 100 * mean, 100 * sqrt((squares - n * mean * mean) / (n > 1 ? n - 1 : 1)), n }' "$out/table.tsv"
