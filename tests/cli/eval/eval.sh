# heed eval: the metrics of each class and output, as text, JSON and pictures.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# classes that are learnt without a mistake; a fourth is known and not among the examples below
awk 'BEGIN {
    print "x,kind"
    split("low mid high top", kind, " ")
    for (i = 0; i < 200; i++) printf "%d,%s\n", (i % 4) * 100 + i % 10, kind[i % 4 + 1]
}' >train.csv
expect 0 train classify --data train.csv --out kinds --steps 400 --lr 0.01 --seed "$(seed 2)" --quiet --valid 0
expect 0 eval kinds --data train.csv
says '^accuracy 100\.00 %, '
at_most "loss of classes that are far apart" "$(said 'accuracy.* loss')" 0.1

# 10 examples whose labels are known to disagree with the model: what scikit-learn makes of
# true   low low low low mid mid mid high high high
# model  low low low mid mid mid low high mid  high
cat >test.csv <<END
x,kind
1,low
2,low
3,low
104,low
105,mid
106,mid
7,mid
208,high
109,high
201,high
END
expect 0 eval kinds --data test.csv
sed 1d out >table
cat >wanted <<END

class             precision   recall       F1   support
high                 1.0000   0.6667   0.8000         3
low                  0.7500   0.7500   0.7500         4
mid                  0.5000   0.6667   0.5714         3

macro average        0.7500   0.6944   0.7071        10
weighted average     0.7500   0.7000   0.7114        10

Confusion matrix: rows are true classes, columns predicted classes

      high   low   mid
high     2     0     1
low      0     3     1
mid      0     1     2
END
diff table wanted || fail "the table"
says '^accuracy 70\.00 %, loss [0-9.]+ \(10 examples\)$'

expect 0 eval kinds --data test.csv --json --png matrix.png --svg matrix.svg
tr -d ' \n' <out >flat
for part in '"examples":10' '"accuracy":0.7,' '"classes":[{"name":"high","precision":1.0,"recall":0.6666666666666666,"f1":0.8,"support":3}' \
    '"macro_average":{"precision":0.75,' '"weighted_average":{"precision":0.75,"recall":0.7,' \
    '"confusion_matrix":{"classes":["high","low","mid"],"counts":[[2,0,1],[0,3,1],[0,1,2]]}}'; do
    grep -qF -- "$part" flat || fail "JSON should hold $part"
done
[ "$(head -c 4 matrix.png | tail -c 3)" = PNG ] && grep -q '<svg' matrix.svg || fail "pictures"

# names are cut, not broken; control characters do not reach the terminal
awk -F, 'NR == 1 { print; next } { sub("low", "a name that is much too long for a column of this table"); sub("mid", "\"mid\nd\033[1mle\""); print }' train.csv >odd.csv
expect 0 train classify --data odd.csv --out odd --steps 400 --lr 0.01 --seed 2 --quiet --valid 0
expect 0 eval odd --data odd.csv
! grep -q "$(printf '\033')" out || fail "an escape"
awk 'length > 84 { exit 1 }' out || fail "lines are too wide: $(cat out)"
says '^mid\\nd\\x1B\[1mle '
expect 0 eval odd --data odd.csv --json
says '"name": "mid\\nd\\u001b\[1mle"'

# too many classes for a line
awk 'BEGIN { print "x,k"; for (i = 0; i < 120; i++) printf "%d,class%02d\n", i % 40, i % 40 }' >many.csv
expect 0 train classify --data many.csv --out many --steps 5 --quiet --valid 0
expect 0 eval many --data many.csv
says '^The confusion matrix of [0-9]+ classes is too wide for 80 columns; --png and --svg draw it, --json has it\.$'

# numbers: each output by its name
awk 'BEGIN { print "a,up,down"; for (i = 0; i < 30; i++) print i "," 2 * i "," 5 - i }' >line.csv
expect 0 train regress --data line.csv --target up,down --model linear --out line --quiet
printf 'a,up,down\n0,1,5\n1,1,5\n2,4,3\n3,6,1\n' >off.csv
expect 0 eval line --data off.csv --png off.png
sed 1d out | sed 's/  */ /g; s/ $//' | awk 'NR > 2 { for (i = 2; i <= 4; i++) $i = sprintf("%.2f", $i) } { print }' >table
printf '\noutput R^2 MAE RMSE\nup 0.89 0.50 0.71\ndown 0.82 0.50 0.71\n' >wanted
diff table wanted || fail "outputs"
expect 0 eval line --data off.csv --json
tr -d ' \n' <out | grep -qE '"outputs":\[\{"name":"up","r2":0\.88[0-9]*,"mae":(0\.5|0\.49)[0-9]*,"rmse":0\.70[0-9]*\},\{"name":"down","r2":0\.81' ||
    fail "JSON of outputs"
[ "$(head -c 4 off.png | tail -c 3)" = PNG ] || fail "a picture"

# a picture may take standard output, which then gets nothing else
expect 0 eval line --data off.csv --png - --quiet
[ "$(head -c 4 out | tail -c 3)" = PNG ] && [ ! -s err ] || fail "a picture on standard output"
expect 0 eval kinds --data test.csv --svg - --pdf matrix.pdf
head -n 1 out | grep -q '^<?xml' && ! grep -q accuracy out && [ "$(head -c 4 matrix.pdf)" = %PDF ] || fail "two pictures"
wrong 2 'eval: --png -: standard output can take one result' eval kinds --data test.csv --png - --json

# refusals
wrong 2 'eval: --png x.jpg: the name must end in .png' eval kinds --data test.csv --png x.jpg
wrong 1 'none/x.png: No such file or directory$' eval kinds --data test.csv --png none/x.png
printf 'a,up,down\n0,0,5\n3e38,1,1\n' >huge.csv
expect 1 eval line --data huge.csv --json
error_is "huge.csv: line 3: the model's output is not a finite number$"
printf 'a,up,down\n0,0,5\n1,3e38,1\n' >huge.csv
expect 1 eval line --data huge.csv --json
error_is 'huge.csv: the loss is not a finite number$'
