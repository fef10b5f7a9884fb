# Coefficients of linear models, in the units of the data, in the summary of heed train and in heed info.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# price = 1000 + 30 size - 200 age, + 500 in town; in units far from 1
awk 'BEGIN {
    print "size,place,age,price"
    for (i = 0; i < 120; i++) {
        size = 50 + i * 37 % 101; age = i * 13 % 17 / 4; town = i % 3 == 0
        printf "%d,%s,%.2f,%.4f\n", size, town ? "town" : "country", age, 1000 + 30 * size - 200 * age + 500 * town
    }
}' >houses.csv
coefficient() { # NAME: in `out`
    sed -n "s/^$1  *//p" out
}
near() { # FOUND WANTED
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 0.01 * (b < 0 ? -b : b) && b - a < 0.01 * (b < 0 ? -b : b)) }' ||
        fail "found '$1', wanted $2"
}
look() { # the coefficients in `out`
    says '^coefficients, in the units of the data:$'
    near "$(coefficient size)" 30
    near "$(coefficient age)" -200
    near "$(awk -v t="$(coefficient place=town)" -v c="$(coefficient place=country)" 'BEGIN { print t - c }')" 500
    near "$(awk -v i="$(coefficient intercept)" -v c="$(coefficient place=country)" 'BEGIN { print i + c }')" 1000
}
expect 0 train regress --data houses.csv --model linear --out houses
look
expect 0 info houses
look
expect 0 info houses --json
tr -d ' \n' <out | grep -qE '"coefficients":\[\{"output":"price","intercept":[0-9.-]+,"inputs":\[\{"name":"size","coefficient":(30|29\.9)[0-9.]*\},\{"name":"place=country","coefficient":' ||
    fail "JSON: $(cat out)"
expect 0 train regress --data houses.csv --model linear --out again --json --quiet
says '"output": "price"'

# what they say is what the model does
expect 0 train regress --data houses.csv --model linear --target price,age --use size,place --out two --quiet
expect 0 info two
says '^ +price +age$'
a=$(awk '$1 == "size" { s = $2 } $1 == "place=town" { t = $2 } $1 == "intercept" { i = $2 } END { print i + 120 * s + t }' out)
b=$(echo '120,town' | "$HEED" predict two | cut -f 1)
near "$a" "$b"

# classes: of the logits; a model fresh from heed new has them too; others have none
awk -F, 'NR == 1 { print } NR > 1 { print $1 "," $2 "," $3 "," ($4 > 4000 ? "dear" : "cheap") }' houses.csv >classes.csv
expect 0 train classify --data classes.csv --model linear --out classes --quiet --steps 50
expect 0 info classes
says '^coefficients of the logits, in the units of the data:$'
says '^ +cheap +dear$'
expect 0 new linear fresh -s input_size=60 -s output_size=8
expect 0 info fresh
says '^50 +[0-9.e-]+'
says '^The first 50 of 60 inputs; --json has all\.$'
[ "$(grep -c '^intercept' out)" = 2 ] || fail "eight outputs in two blocks"
awk 'length > 100 { exit 1 }' out || fail "too wide"
expect 0 new mlp net -s input_size=3 -s output_size=1
expect 0 info net
! grep -q coefficients out || fail "a perceptron has no coefficients"
expect 0 new linear pictures -s input_size=4 -s output_size=2 -s task=classify -s image_size=2,2
expect 0 info pictures
! grep -q coefficients out || fail "pictures have no coefficients"
