# The lessons on cheaper attention, in runs too short to learn: what they say and write; and what is learnt, in longer ones.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

lessons="linformer token-mixer workspace"
expect 0 lesson
for name in $lessons; do says "^$name  *[^ ]"; done
for name in $lessons; do
    expect 0 lesson "$name" --steps 30 --threads 1 --out "made/$name"
    silent
    says " 30 steps"
    listed "made/$name"
    for kind in png svg csv; do [ -s "made/$name/$name.$kind" ] || fail "$name.$kind should be written"; done
    awk -F, 'END { exit !(NR == 257) }' "made/$name/$name.csv" || fail "$name: 16 tokens of 16 should be a table"
    wrong 2 "lesson $name: takes no data" lesson "$name" --data x
done
[ "$QUICK" != 1 ] || exit 0 # a sanitizer has seen them

expect 0 lesson workspace --steps 30 --json
cp out once
expect 0 lesson workspace --steps 30 --json --threads 2
cmp out once || fail "the same bits for any number of threads"

# Few rows are enough for what is near, not for what must be found. Half the lesson's steps, to be quick.
expect 0 lesson linformer --steps 120 --threads 1 --json
holds linformer "$(result near_16) < 0.1 && $(result near_8) < 0.4 && $(result find_8) > 0.7 && $(result find_exact) < 0.1"
holds linformer "$(result near_random_8) > 2 * $(result near_8)"
# One map for all texts.
expect 0 lesson token-mixer --steps 200 --threads 1 --json
holds token-mixer "$(result shift_mixer) < 0.08 && $(result find_mixer) > 0.8 && $(result find_attention) < 0.1"
holds token-mixer "$(result shift_mixer_apart) < 0.15 && $(result find_attention_apart) > 0.7"
# No less than what fits through the slots, and little more.
expect 0 lesson workspace --steps 150 --threads 1 --json
for slots in 1 2 4 8; do
    holds workspace "$(result all_$slots) > 0.98 * (1 - $slots / 16) && $(result all_$slots) < 0.03 + (1 - $slots / 16)"
done
