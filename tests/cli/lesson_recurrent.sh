# The lessons of recurrent networks: gates, what a bottleneck costs, alignment.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

value() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" out; }
above() { awk "BEGIN { exit !($(value "$1") > $2) }" || fail "$1 should be above $2"; }
below() { awk "BEGIN { exit !($(value "$1") < $2) }" || fail "$1 should be below $2"; }

steps="--steps 30"
if learns; then steps=""; fi
# shellcheck disable=SC2086 # options are words
expect 0 lesson gates $steps --out gates
listed gates
says "coupled +h <- z"
if learns; then
    expect 0 lesson gates --json --threads 2
    above gated_right 0.97
    above coupled_right 0.95
    above gru_right 0.95
    below forgetting_right 0.9
    below composite_right 0.6
    below forgetting_right_after_10 0.85
    above coupled_stays_otherwise 0.9
    below coupled_stays_when_pointed_at 0.3
    cp out first
    expect 0 lesson gates --json --threads 1
    cmp -s out first || fail "one thread should give the same numbers"
fi

steps="--steps 30"
if learns; then steps="--steps 400"; fi
# shellcheck disable=SC2086
expect 0 lesson alignment $steps --out alignment
listed alignment
says "^writes +looks at +weight"
# shellcheck disable=SC2086
expect 0 lesson bottleneck $steps --out bottleneck
listed bottleneck
says "^Bahdanau +attention to all words"
if learns; then
    awk '/^Bahdanau +attention/ { exit !($6 > 50) }' out || fail "attention should have learnt to translate"
    awk '/^Cho +one vector/ { exit !($8 < 30) }' out || fail "one vector should not be enough yet"
fi

wrong 2 "lesson: .*--data" lesson gates --data x.csv
