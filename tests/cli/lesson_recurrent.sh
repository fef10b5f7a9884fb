# The lessons of recurrent networks: gates, what a bottleneck costs, alignment.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

value() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" out; }
above() { awk "BEGIN { exit !($(value "$1") > $2) }" || fail "$1 should be above $2"; }
below() { awk "BEGIN { exit !($(value "$1") < $2) }" || fail "$1 should be below $2"; }

expect 0 lesson gates --steps 30 --out gates
listed gates
says "coupled +h <- z"
says "^An LSTM has three gates"
if learns; then
    expect 0 lesson gates --json
    above gated_right 0.97
    above coupled_right 0.95
    above gru_right 0.95
    below forgetting_right 0.9
    below composite_right 0.6
    below forgetting_right_after_10 0.85
    above coupled_stays_otherwise 0.9
    below coupled_stays_when_pointed_at 0.3
fi

expect 0 lesson alignment --steps 30 --out alignment --threads 2
listed alignment
says "^writes +looks at +weight"
sed '/^Written/,$d' out >two
if learns; then
    expect 0 lesson alignment --steps 30 --out alone --threads 1
    sed '/^Written/,$d' out | cmp -s - two || fail "one thread should give the same numbers"
fi

steps="--steps 30"
if learns; then steps="--steps 300"; fi
# shellcheck disable=SC2086 # options are words
expect 0 lesson bottleneck $steps --out bottleneck
listed bottleneck
says "^Bahdanau +attention to all words"
if learns; then
    awk '/^Bahdanau +[0-9]/ { exit !($2 > 3) }' out || fail "attention should have learnt something"
    awk '/^Cho +[0-9]/ { exit !($2 < 3) }' out || fail "one vector should not be enough yet"
fi

wrong 2 "lesson gates: takes no data of your own" lesson gates --data x.csv
