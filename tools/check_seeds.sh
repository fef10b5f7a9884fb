#!/bin/sh
# check_seeds.sh [ONLY]: the tests that learn, in the release build, with every seed of SEEDS (1 to 5) on every instruction
# set that this CPU has. For each figure that they assert (at_least, at_most in tests/cli/expect.inc and tests/figure.h) a
# line has its bar, the worst value, the best, and the margin: the distance of the worst from the bar, in distances of the
# worst from the best. A test that fails and a margin below MARGIN (0.5) are failures.
#
# ONLY, a regular expression, chooses tests by name; FULL=1 adds those that learn for minutes.
set -eu
cd "$(dirname "$0")/.."
only=${1:-} seeds=${SEEDS:-1 2 3 4 5} margin=${MARGIN:-0.5}
logs=build/seeds
without='^(sets|full)$'
if [ "${FULL:-0}" = 1 ]; then without='^sets$'; fi
sh tools/build.sh release all -DHEED_WERROR=ON -DHEED_TESTS=ON
rm -rf "$logs"
mkdir -p "$logs"

sets= with_isa=build/release/tests/with_isa
for set in portable baseline avx2 avx512; do
    if $with_isa $set $with_isa >/dev/null 2>&1; then sets="$sets $set"; fi
done
status=0
for seed in $seeds; do
    for set in $sets; do
        log=$logs/$set.$seed.log
        HEED_TEST_SEED=$seed HEED_ISA=$set ctest --test-dir build/release --no-tests=error -V -j "$(nproc)" \
            -L '^learns$' -LE "$without" -R "${only:-.}" >"$log" 2>&1 || {
            status=1
            echo "seed $seed, $set: failed, all of it is in $log:"
            sed -n '/^The following tests FAILED:/,/^Errors/ { s/^\t*//; /^ *[0-9]* - /p; }' "$log"
        }
    done
done

# Lines of a test begin with its number: "12: figure: NAME<tab>RELATION<tab>VALUE<tab>BAR".
awk -F '\t' -v least="$margin" '
    FNR == 1 { split("", name) }
    /^ *Start +[0-9]+: / { split($0, word, /[ :]+/); name[word[3]] = word[4] }
    /^[0-9]+: figure: / {
        number = text = $1
        sub(/:.*/, "", number)
        sub(/^[0-9]+: figure: /, "", text)
        key = name[number] ", " text
        if (!(key in worst)) order[++keys] = key
        off = $2 == "at least" ? $3 - $4 : $4 - $3
        if (!(key in worst) || off < worst[key]) { worst[key] = off; worst_value[key] = $3; bar[key] = $2 " " $4 }
        if (!(key in best) || off > best[key]) { best[key] = off; best_value[key] = $3 }
    }
    END {
        printf "%-58s %-18s %10s %10s %8s\n", "figure", "bar", "worst", "best", "margin"
        for (i = 1; i <= keys; i++) {
            key = order[i]
            spread = best[key] - worst[key]
            near = worst[key] < least * spread || worst[key] <= 0
            margin = spread > 0 ? sprintf("%.1f", worst[key] / spread) : "-"
            printf "%-58s %-18s %10s %10s %8s%s\n", key, bar[key], worst_value[key], best_value[key], margin, near ? "  too near" : ""
            bad += near
        }
        if (!keys) print "no figure was asserted"
        exit bad > 0 || !keys
    }' "$logs"/*.log || status=1
exit $status
