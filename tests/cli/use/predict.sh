# heed eval and heed predict: lines in, lines out.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    print "height,width,colour"
    s = 3
    for (i = 0; i < 120; i++) {
        for (k = 0; k < 2; k++) { s = (s * 16807) % 2147483647; u[k] = s / 2147483647 }
        printf "%.5f,%.5f,%s\n", u[0], u[1], (u[0] + u[1] > 1 ? "red" : "blue")
    }
}' >data.csv
expect 0 train classify --data data.csv --out model --steps 500 --seed "$(seed 1)" --quiet

ask() { # INPUT ARGUMENTS...: answers in $scratch/out
    input=$1
    shift
    feed "$input" predict model "$@"
}
ask '0.9,0.9\n0.1\t0.2\n 0.8   0.7 \n1e-1;0.1'
[ $status = 0 ] && [ "$(cut -f 1 out | tr '\n' ' ')" = "red blue red blue " ] || fail "commas, tabs, spaces, no last new line"
grep -qE '^red	(1\.0000|0\.[0-9]{4})$' out || fail "class, tab, probability"
ask 'height,width\n0.9,0.9\n'
[ $status = 0 ] && [ "$(wc -l <out)" = 1 ] || fail "a header is not a question"
ask '0.9,0.9\n' --json
says '^\{"class":"red","probability":[0-9.e-]+,"probabilities":\[[0-9.e-]+,[0-9.e-]+\]\}$'
ask ''
[ $status = 0 ] && [ ! -s out ] || fail "no lines, no answers"

# a bad line is named and answered by an empty line; --strict stops there
for strict in '' --strict; do
    ask '0.9,0.9\n0.1,x\n0.3,0.3\n' $strict
    [ $status = 1 ] || fail "a bad line should fail in the end"
    [ "$(cut -f 1 out | tr '\n' ' ')" = "red $([ "$strict" ] || echo ' blue ')" ] || fail "the other lines should be answered"
    [ "$(cat err)" = "heed: standard input: line 2, column 'width': 'x' is not a number" ] || fail "the line should be named"
done
ask '0.9,0.9\n0.1,x\n0.3,0.3\n' --json
[ $status = 1 ] && [ "$(wc -l <out)" = 3 ] || fail "a line for each line"
says '^\{"error":"standard input: line 2, column .width.: .x. is not a number"\}$'
ask '0.9\n'
grep -q '^heed: standard input: line 1: 1 columns of inputs, should be 2$' err || fail "too few"
ask '0.9,0.9,0.9\n'
grep -q '^heed: standard input: line 1: 3 columns of inputs, should be 2$' err || fail "too many"
ask 'nan,1\n'
[ $status = 1 ] || fail "nan is not a number to predict from"
grep -q "^heed: standard input: line 1, column 'height': a missing value ('nan')" err || fail "nan is missing"
ask '0.9,0.9\n\n'
[ $status = 1 ] && grep -q '^heed: standard input: line 2: an empty line$' err || fail "an empty line"
ask '0.9,0.9\n\377\376,1\n'
[ $status = 1 ] && [ "$(wc -l <out)" = 2 ] || fail "the line before should be answered"
grep -q '^heed: standard input: line 2: byte 1 is not UTF-8$' err || fail "bytes that are not text"
ask '0.9,0.9\0001\n'
[ $status = 1 ] && grep -q '^heed: standard input: line 1: byte 8 is NUL$' err || fail "a NUL"

# whoever waits for an answer gets it
answers_at_once '0.9,0.9\n' predict model

# a file: columns are found by name, in any order, with others between
awk -F, '{ print $3 "," $2 ",9," $1 }' data.csv | sed '1s/.*/colour,width,extra,height/' >other.csv
expect 0 predict model --data other.csv
cut -f 1 out >answers
sed 1d other.csv | cut -d, -f 1 >wanted
at_least "answers by the names of columns, of 120" "$(paste answers wanted | awk '$1 == $2' | wc -l)" 114 # at random: 60
expect 0 eval model --data other.csv
says '^accuracy [0-9.]+ %, loss [0-9.e-]+ \(120 examples\)$'
expect 0 eval model --data data.csv --json
says '"examples": 120'
says '"accuracy": (1\.0|0\.9)'

wrong 2 'predict: expected: DIR' predict
wrong 1 'nowhere/config.json: No such file or directory$' predict nowhere
wrong 2 'eval: --data PATH is needed' eval model
wrong 1 'missing.csv: No such file or directory$' eval model --data missing.csv
printf 'height,width,colour\n1,2,green\n' >green.csv
wrong 1 "green.csv: line 2.*green" eval model --data green.csv
printf 'height,colour\n1,red\n' >narrow.csv
wrong 1 "narrow.csv: no column 'width' among its 2: height, colour$" eval model --data narrow.csv

# the table with what is said of each row: skipped ones keep their place; quotes, separators and decimal marks stay
printf 'name;height;width;prediction\n"a;""b""";0,9;0,9;x\nc;NA;0,1;y\n d;0,1;0,1;z\n' >rows.csv
expect 0 predict model --data rows.csv --skip-missing --out rows.out
[ ! -s out ] || fail 'nothing on standard output'
grep -q '^rows.out: 3 rows, 1 without a prediction$' err || fail "what was written: $(cat err)"
sed 's/,[0-9]*$/,N/; s/;1$/;1,N/' rows.out >shape
printf 'name;height;width;prediction;prediction_2;probability\n"a;""b""";0,9;0,9;x;red;0,N\nc;NA;0,1;y;;\n" d";0,1;0,1;z;blue;0,N\n' |
    sed 's/;0,N/;[01],N/' >wanted
for i in 1 2 3 4; do
    sed -n ${i}p shape | grep -qx "$(sed -n ${i}p wanted)" || fail "row $i: $(cat rows.out)"
done
feed '0.9,0.9\n0.1,0.2\n' predict model --out -
[ $status = 0 ] && [ "$(cut -d, -f 1,2,3 out | tr '\n' ' ')" = "0.9,0.9,red 0.1,0.2,blue " ] || fail "without a header: $(cat out)"
wrong 1 "rows.csv: line 3, column 'height': a missing value" predict model --data rows.csv --out none.csv
[ ! -e none.csv ] || fail 'nothing is written when something is wrong'
wrong 2 'predict: --json and --out: only one of them makes sense' predict model --data rows.csv --json --out none.csv
