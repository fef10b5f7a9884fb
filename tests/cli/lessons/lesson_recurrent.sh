# The lessons of recurrent networks: gates, what a bottleneck costs, alignment.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 lesson gates --steps 30 --out gates
listed gates
says "coupled +h <- z"
says "^An LSTM has three gates"
if learns; then
    expect 0 lesson gates --json --seed "$(seed 1)"
    at_least gated_right "$(result gated_right)" 0.97
    at_least coupled_right "$(result coupled_right)" 0.95
    at_least gru_right "$(result gru_right)" 0.95
    at_most forgetting_right "$(result forgetting_right)" 0.9
    at_most composite_right "$(result composite_right)" 0.6
    at_most forgetting_right_after_10 "$(result forgetting_right_after_10)" 0.85
    at_least coupled_stays_otherwise "$(result coupled_stays_otherwise)" 0.9
    at_most coupled_stays_when_pointed_at "$(result coupled_stays_when_pointed_at)" 0.3
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
if learns; then steps="--steps 400"; fi
# shellcheck disable=SC2086 # options are words
expect 0 lesson bottleneck $steps --seed "$(seed 1)" --out bottleneck
listed bottleneck
says "^Bahdanau +attention to all words"
if learns; then
    at_least "BLEU with attention" "$(awk '/^Bahdanau +[0-9]/ { print $2 }' out)" 20
    at_most "BLEU of one vector" "$(awk '/^Cho +[0-9]/ { print $2 }' out)" 10
fi

wrong 2 "lesson gates: takes no data of your own" lesson gates --data x.csv
