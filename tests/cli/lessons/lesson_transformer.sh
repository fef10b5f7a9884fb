# The lessons on the Transformer's parts and on teacher forcing, in runs too short to learn: what they say and write.
# lesson_transformer_full.sh has the real ones.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

kinds() { for kind in png svg csv; do grep -q "\.$kind\$" files || fail "some $kind should be written"; done; }

expect 0 lesson
says "^transformer  *[^ ]"
says "^teacher-forcing  *[^ ]"

for name in transformer teacher-forcing; do wrong 2 "lesson $name: takes no data" lesson $name --data moves; done
wrong 2 "lesson neuron: takes no --steps" lesson neuron --steps 40
wrong 2 "lesson: --steps: 29 is not between 30 and 20000" lesson transformer --steps 29

for name in transformer teacher-forcing; do
    expect 0 lesson $name --steps 31 --out "few/$name"
    silent
    listed "few/$name"
    [ $name != transformer ] || says "^The whole has not learnt the task yet"
    kinds
    says " 31 steps"
done
awk -F, 'NR == 2 { first = $2 } { last = $1 } END { exit !(NR == 31 && first > 1.5 && last > 30 && last < 31) }' \
    few/transformer/transformer-loss.csv || fail "a thirtieth of the steps should be a point"
awk -F, 'NR > 2 && $1 <= step { exit bad = 1 } { step = $1 } END { exit bad || NR != 22 || step != 31 }' \
    few/teacher-forcing/teacher-forcing.csv || fail "a twentieth of the steps should be a point"
