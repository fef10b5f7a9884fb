# heed rouge: rouge_score's figures.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
printf 'The quick brown dog jumps on the log.\n\nDogs were running\n' >hyp
printf 'The quick brown fox jumps over the lazy dog\nempty\na dog ran, running\n' >one
printf 'the log\nempty\ndogs were running\n' >two

expect 0 rouge hyp one
silent
says '^rouge1    F = 33\.05  P = 36\.11  R = 30\.56$'
expect 0 rouge hyp one --stem --width 4
says '^rougeL    F = 38\.6555  P = 43\.0556  R = 35\.1852$'
expect 0 rouge hyp one two
says '^rougeLsum F = 52\.94 '
expect 0 rouge hyp one --json
says '"rouge1": \{$'
says '"fmeasure": 0\.33'
says '"lines": 3,$'
"$HEED" rouge hyp one >plain
"$HEED" rouge - one <hyp >out && cmp plain out || fail "standard input"

wrong 2 "rouge: expected: HYP REF" rouge hyp
wrong 1 "nosuch: No such file or directory" rouge hyp nosuch
printf 'a\n' >short
wrong 1 "short: 1 lines, hyp has 3" rouge hyp short
: >empty
wrong 1 "empty: there are no lines" rouge empty one
printf 'a\nb\303\050\nd\n' >bad
wrong 1 "bad: line 2: byte 2 is not UTF-8" rouge hyp bad
wrong 1 "rouge: standard input can be read only once" rouge - - </dev/null
