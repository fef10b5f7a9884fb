# heed plot: curves of training logs in the terminal and as pictures, several logs compared, and what is wrong with a log.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

log() { # NAME LINES LOSS: a log whose loss is LOSS, an awk expression of the step i; evaluated every tenth of the lines
    awk -v n="$2" "BEGIN { for (i = 1; i <= n; i++) {
        printf \"{\\\"step\\\":%d,\\\"loss\\\":%.6g,\\\"lr\\\":0.001,\\\"seconds\\\":%.3f,\\\"examples\\\":%d,\\\"epoch\\\":%.4f\", i, $3, i / 10, 32 * i, i / 50
        if (i % int(n / 10) == 0) printf \",\\\"valid_loss\\\":%.6g,\\\"valid_accuracy\\\":%.6g\", $3 + 0.1, 1 - 1 / i
        if (i == n) printf \",\\\"test_loss\\\":0.5,\\\"test_accuracy\\\":0.75\"
        print \"}\" } }" >"$1"
}
log run.log 200 '2 * exp(-i / 40) + (i % 2 ? 0.1 : -0.1)'
log other.log 100 '3 * exp(-i / 20)'

# in the terminal: losses, a panel for each metric, the last number of each curve
expect 0 plot run.log
silent
if grep -q "$(printf '\033')" out; then fail "no escapes should go into a file"; fi
says '^loss$'
says '^accuracy$'
says '^ *step$'
says '\* training, smoothed  *\+ validation  *o test'
says '^run: 200 steps, loss -?0\.0[0-9]*, valid_loss -?0\.[0-9]*, test_loss 0\.5, valid_accuracy 0\.995, test_accuracy 0\.75$'
if grep -q 'learning rate' out; then fail "the learning rate is shown when it is asked for"; fi
expect 0 plot run.log --lr
says '^learning rate$'
expect 0 plot run.log other.log --name 'the first'
says '\* the first, training, smoothed'
says 'other, training'
says '^the first: 200 steps, loss'
says '^other: 100 steps, loss'
mkdir a b
cp run.log a/x.log
cp other.log b/x.log
expect 0 plot a/x.log b/x.log
says '^a/x.log: 200 steps' # files of one name go by their paths

# smoothing: a constant stays one, the noise of two lines goes, --smooth 0 shows the last loss as it is
log flat.log 300 '2'
expect 0 plot flat.log
says '^flat: 300 steps, loss 2, '
log noise.log 400 '(i % 2 ? 3 : 1)'
expect 0 plot noise.log --smooth 100
says '^noise: 400 steps, loss (1\.9[5-9]|2|2\.0[0-4])[0-9]*, '
expect 0 plot noise.log --smooth 0
says '^noise: 400 steps, loss 1, '
says '\* training  *\+'
log short.log 40 '1 / i'
expect 0 plot short.log # too few lines to smooth
says '^short: 40 steps, loss 0\.025, '

# the horizontal axis
expect 0 plot run.log --x epochs
says '^ *epoch$'
expect 0 plot run.log --x seconds
says '^ *seconds$'
slower() { # TIMES: run.log with so many times its seconds
    awk -v k="$1" '{ match($0, /"seconds":[0-9.]+/); s = substr($0, RSTART + 10, RLENGTH - 10) * k
        print substr($0, 1, RSTART + 9) s substr($0, RSTART + RLENGTH) }' run.log >slow.log
}
slower 60
expect 0 plot slow.log --x seconds
says '^ *minutes$'
slower 1000
expect 0 plot slow.log --x seconds
says '^ *hours$'

# pictures
expect 0 plot run.log --png a.png --svg a.svg --pdf a.pdf
[ ! -s out ] || fail "with a picture nothing goes to standard output"
[ "$(cat err)" = "a.png: 1 log, 2 panels
a.svg: 1 log, 2 panels
a.pdf: 1 log, 2 panels" ] || fail "what was written"
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] && [ "$(head -c 4 a.pdf)" = %PDF ] && grep -q '<svg' a.svg || fail "pictures"
other() { # OPTIONS...: another picture than a.png, the same every time
    expect 0 plot run.log --png b.png --quiet "$@"
    silent
    expect 0 plot run.log --png c.png --quiet "$@"
    cmp -s b.png c.png || fail "the same picture every time: $*"
    ! cmp -s a.png b.png || fail "another picture: $*"
}
other --lr
other --dark
other --log-y
other --smooth 0
other --x epochs
other --title 'A run'
expect 0 plot run.log other.log --png b.png
[ "$(cat err)" = "b.png: 2 logs, 2 panels" ] || fail "two logs"

# metrics: chosen, of logs that do not have the same
sed 's/accuracy/bleu/g' other.log >bleu.log
expect 0 plot run.log bleu.log
says '^accuracy$'
says '^BLEU$'
expect 0 plot run.log bleu.log --metric bleu
says '^BLEU$'
if grep -q '^accuracy$' out; then fail "--metric should choose"; fi
printf '{"step":1,"loss":null,"grad_norm":3,"note":"begun"}\n{"step":2,"loss":0.5,"grad_norm":2.5}\n\n' >odd.log
expect 0 plot odd.log # null leaves a gap, what is no number is no curve
says '^grad norm$'
says '^odd: 2 steps, loss 0\.5, grad_norm 2\.5$'

# where logs come from
gzip -c run.log >run.log.gz
expect 0 plot run.log.gz
says '^run: 200 steps'
"$HEED" plot - <run.log >out || fail "standard input"
says '^standard input: 200 steps'
printf '{"step":201,"lo' | cat run.log - >half.log
expect 0 plot half.log # a run that is still writing
says '^half: 200 steps'
awk 'BEGIN { for (i = 0; i < 60; i++) printf "%s,%s\n", i / 10, 2 * i }' >line.csv
expect 0 train regress --data line.csv --out trained --epochs 2 --log trained.log --quiet
expect 0 plot trained.log --x epochs
says '^trained: [0-9]* steps, loss '

# mistakes: a sentence with the line
wrong 2 "plot: expected: LOG..." plot
wrong 1 "nosuch.log: No such file" plot nosuch.log
sed '3s/"loss":/"loss"/' run.log >bad.log
wrong 1 "bad.log: line 3: column [0-9]+: " plot bad.log
printf '{"step":1,"loss":1}\n[1,2]\n' >bad.log
wrong 1 "bad.log: line 2: not a JSON object" plot bad.log
printf '{"step":1,"loss":1}\n{"loss":1}\n' >bad.log
wrong 1 "bad.log: line 2: there is no 'step'" plot bad.log
printf '{"step":"one","loss":1}\n' >bad.log
wrong 1 "bad.log: line 1: 'step' is not a number" plot bad.log
printf '{"step":1,"loss":1}\n{"step":2,"loss":1}\n' >bad.log
wrong 1 "bad.log: line 1: there is no 'epoch'" plot bad.log --x epochs
printf 'step,loss\n1,2\n' >bad.log
wrong 1 "bad.log: line 1: column [0-9]+: " plot bad.log
printf '{"step":1,"loss":1}\n{"step":2,"l\377":1}\n' >bad.log
wrong 1 "bad.log: .*UTF-8" plot bad.log
printf '{"step":1}\n' >bad.log
wrong 1 "bad.log: there is nothing to draw" plot bad.log
: >empty.log
wrong 1 "empty.log: the log is empty" plot empty.log
awk 'BEGIN { printf "{\"step\":1"; for (i = 0; i < 80; i++) printf ",\"n%d\":%d", i, i; print "}" }' >many.log
wrong 1 "many.log: line 1: more than 64 different numbers" plot many.log
awk 'BEGIN { printf "{\"step\":1"; for (i = 0; i < 20; i++) printf ",\"n%d\":%d", i, i; print "}" }' >many.log
wrong 2 "plot: more than 11 metrics; choose with --metric" plot many.log
expect 0 plot many.log --metric n3
wrong 2 "plot: --metric speed: no log has it" plot run.log --metric speed
wrong 2 "plot: --name: there are more names than logs" plot run.log --name a --name b
wrong 2 "plot: standard input can be one log only" plot - -
wrong 2 "plot: --png a.gif: the name must end in .png" plot run.log --png a.gif
wrong 2 "plot: --x: 'days' is not one of: steps epochs seconds words$" plot run.log --x days
wrong 1 "nosuch/a.png: No such file" plot run.log --png nosuch/a.png
[ -z "$(find . -name '.heed-*')" ] || fail "something half-written is left"
