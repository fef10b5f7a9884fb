# The figures of tests that learn: a bar is held, and what misses it, is missing or is not a number fails.
. "$SOURCE/tests/cli/expect.inc"
: >"$scratch/out"
: >"$scratch/err"

[ "$(at_least F1 91.5 '90 + 1')" = "$(printf 'figure: F1\tat least\t91.5\t91')" ] || fail "a figure should be printed for tools/check_seeds.sh"
(at_most loss 0.5 0.5) >/dev/null || fail "a value may be its bar"
fails() { # RELATION VALUE BAR
    if ("$1" x "$2" "$3") >/dev/null 2>&1; then fail "'$2' should not be $1 '$3'"; fi
}
fails at_least 89 90
fails at_most 90 89
for none in '' nan -nan inf -inf; do
    fails at_least "$none" 0
    fails at_most "$none" 100
    fails at_least 1 "$none"
done
[ "$(HEED_TEST_SEED=7 && seed 3)" = 7 ] && [ "$(unset HEED_TEST_SEED && seed 3)" = 3 ] || fail "the seed"
