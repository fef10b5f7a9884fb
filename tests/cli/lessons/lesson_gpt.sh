# The lesson in which a GPT learns letters, in runs too short to learn much: what it says and writes.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
expect 0 lesson
says "^gpt  *[^ ]"
expect 0 lesson gpt --steps 30 --seed "$(seed 1)" --out few
silent
listed few
says "^ *0 +4\.[0-9]+ +4\.[0-9]+  ."
says "^ *30 +[0-9.]+ +[0-9.]+  ."
says "^It has not learnt all that it can"
[ "$(wc -l <few/gpt.csv)" = 22 ] || fail "a twentieth of the steps should be a point"
at_least "fall of the loss of the held-out text" "$(awk -F, 'NR == 2 { first = $3 } END { print first - $3 }' few/gpt.csv)" 1
echo short >short
wrong 1 'short: too short: some thousand letters are needed' lesson gpt --data short
wrong 1 'missing: No such file' lesson gpt --data missing
[ "$QUICK" != 1 ] || exit 0 # a sanitizer has seen it

expect 0 lesson gpt --steps 30 --json --threads 1
cp out once
says '"bits_by_frequency": 4\.46'
expect 0 lesson gpt --steps 30 --json --threads 2
cmp out once || fail "the same bits for any number of threads"

# text of one's own; what only the held-out part has is unknown
i=0
while [ $i -lt 60 ]; do echo "Zeile $i: für Öl & größer"; i=$((i + 1)); done >own
echo 'x ¥ €' >>own
expect 0 lesson gpt --steps 30 --data own --out own.out
says "characters of your text"
says "^ *30 "
