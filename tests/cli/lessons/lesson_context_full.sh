# The lesson on in-context learning: with 4 examples in the context at least 30 points above none, with two seeds; and
# the head that does it lies above the first layer.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

for seed in ${HEED_TEST_SEED:-1 2}; do
    expect 0 lesson in-context --json --quiet --seed "$seed"
    at_most "accuracy without examples" "$(result accuracy_0)" 0.25
    at_least "accuracy with four" "$(result accuracy_4)" "$(result accuracy_0) + 0.3"
    holds "the induction head" "$(result induction_layer) == 1"
    at_least "weight of the induction head" "$(result induction_weight)" 0.3
done
