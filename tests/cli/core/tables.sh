# Tables as people have them: separators, decimal commas, missing values, text columns; in train, eval and predict.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# price = 100 + 3 size + 50 if the colour is red, 20 if green; every house has a name, and some notes are missing
awk 'BEGIN {
    split("red green blue", colour, " ")
    print "name;size;colour;note;price"
    for (i = 1; i <= 90; i++) {
        c = i % 3 + 1
        size = (i * 37 % 100) / 10
        price = 100 + 3 * size + (c == 1 ? 50 : c == 2 ? 20 : 0)
        printf "\"house; %d\";%.1f;%s;%s;%.2f\n", i, size, colour[c], i % 10 ? "ok" : "NA", price
    }
}' | sed 's/\([0-9]\)\.\([0-9]\)/\1,\2/g' >houses.csv

linear() { # DIR ARGUMENTS...
    dir=$1
    shift
    expect 0 train regress --model linear --out "$dir" --force "$@"
}
wrong 1 "houses.csv: column 'name': 90 different texts in 90 rows are too many for categories; --drop leaves" \
    train regress --data houses.csv --drop note --out x --quiet
wrong 1 "houses.csv: line 11, column 'note': a missing value \('NA'\); --skip-missing drops such rows, --drop the column" \
    train regress --data houses.csv --drop name --out x --quiet
[ ! -e x ] || fail "what was refused should leave nothing behind"
linear houses --data houses.csv --drop name,note
grep -q 'houses.csv: 90 examples' err || fail "all rows"
linear houses --data houses.csv --drop name --drop note --quiet
tr -d ' \n' <houses/config.json | grep -q '"input_names":\["size","colour"\],"input_categories":\[null,\["blue","green","red"\]\]' ||
    fail "config.json should hold the categories: $(cat houses/config.json)"

# rows with missing values in columns that are used are skipped and counted
linear skipped --data houses.csv --drop name --skip-missing
grep -q '^houses.csv: 9 of 90 rows skipped: they have missing values$' err || fail "the skipped rows should be counted"
linear skipped --data houses.csv --drop name --skip-missing --quiet
silent

# the same categories for new files, whatever their separator, order and company
near() { # WANTED...: the numbers of `out` are these, nearly
    [ "$(wc -l <out)" = $# ] || fail "$# answers are wanted"
    for want; do echo "$want"; done | paste - out |
        awk '{ if ($1 - $2 > 0.5 || $2 - $1 > 0.5) exit 1 }' || fail "wanted: $*"
}
printf 'colour;extra;size\nred;x;1,5\nblue;y;2\n' >new.csv
expect 0 predict houses --data new.csv
near 154.5 106
printf 'colour\tsize\nred\t1.5\nblue\t2\n' >new.tsv
expect 0 predict houses --data new.tsv
near 154.5 106
printf 'colour  size\n red 1.5\nblue    2 \n' >blanks.txt
expect 0 predict houses --data blanks.txt
near 154.5 106
printf 'colour|size\nred|1,5\nblue|2\n' >bars.txt
wrong 1 "bars.txt: line 2, column 'size': '1,5' is not a number with a decimal point; --decimal , takes commas" predict houses --data bars.txt
expect 0 predict houses --data bars.txt --decimal ,
near 154.5 106
printf 'colour:size\nred:1.5\n' >colons.txt
expect 0 predict houses --data colons.txt --separator :
near 154.5
feed '1.5,red\n2,blue\n2;green\n1,5;red\n' predict houses
near 154.5 106 126 154.5
feed 'price,colour,size\n0,red,1.5\n0,"blue",2\n' predict houses
near 154.5 106
feed '"1.5" red\n' predict houses --separator space
near 154.5
expect 0 eval houses --data houses.csv
says '^R\^2 (1|0\.999[0-9]*), '

# what was never seen, and what is missing, is named
printf 'size,colour\n1,red\n2,pink\n' >pink.csv
expect 1 predict houses --data pink.csv
error_is "pink.csv: line 3, column 'colour': category 'pink' is not one of the 3 known: blue, green, red$"
feed '1,red\n2,pink\n3,red\n' predict houses --strict
near 153
grep -q "^heed: standard input: line 2, column 'colour': category 'pink' is not one of the 3 known: blue, green, red$" err ||
    fail "the category should be named"
printf 'size,colour,price\n1,red,2\nNULL,red,3\n4,?,5\n' >holes.csv
wrong 1 "holes.csv: line 3, column 'size': a missing value \('NULL'\)" eval houses --data holes.csv
expect 0 eval houses --data holes.csv --skip-missing
says '\(1 examples?\)'
grep -q '^holes.csv: 2 of 3 rows skipped: they have missing values$' err || fail "counted"
expect 0 predict houses --data holes.csv --skip-missing
near 153
feed '1,red\n,red\n\n2,red\n' predict houses --skip-missing
near 153 156
grep -q '^standard input: 2 of 4 rows skipped' err || fail "counted"

# classes: text inputs, text targets; several columns by one option
printf 'sky,wind,temperature,go\n' >go.csv
for i in 1 2 3 4 5 6 7 8; do
    printf 'sunny,weak,%d,yes\nrainy,weak,%d,no\nsunny,strong,%d,yes\nrainy,strong,%d,no\n' $i $i $i $i
done >>go.csv
expect 0 train classify --data go.csv --use sky,wind --target go --out go --quiet --steps 200
feed 'sunny,weak\nrainy,strong\n' predict go
[ "$(cut -f 1 out | tr '\n' ' ')" = "yes no " ] || fail "classes"
printf 'rainy,weak\nsunny,weak\n' >plain.csv
expect 0 predict go --data plain.csv
[ "$(cut -f 1 out | tr '\n' ' ')" = "no yes " ] || fail "without a header"
printf '5,rainy,weak\n6,sunny,weak\n' >plain.csv
expect 0 predict go --data plain.csv --drop 1
[ "$(cut -f 1 out | tr '\n' ' ')" = "no yes " ] || fail "a column dropped by its number"
expect 0 predict go --data plain.csv --use 2,3
[ "$(cut -f 1 out | tr '\n' ' ')" = "no yes " ] || fail "columns used by their numbers"

# several targets
awk 'BEGIN { print "a,b,sum,difference"; for (i = 0; i < 40; i++) { a = i * 7 % 11; b = i * 3 % 5; print a "," b "," a + b "," a - b } }' >two.csv
linear two --data two.csv --target sum,difference --quiet
feed '3,1\n' predict two
awk '{ if ($1 < 3.9 || $1 > 4.1 || $2 < 1.9 || $2 > 2.1) exit 1 }' out || fail "two targets: $(cat out)"

# refusals
printf 'a,b,a\n1,2,3\n' >twice.csv
wrong 1 "twice.csv: line 1: columns 1 and 3 are both named 'a'" train regress --data twice.csv --out x
wrong 1 "go.csv: no column 'rain' among its 4: sky, wind, temperature, go" train classify --data go.csv --drop rain --out x
wrong 1 "go.csv: column 'sky' is dropped, but needed" predict go --data go.csv --drop sky
for separator in tabs '' '"' "$(printf '\303\244')"; do
    wrong 2 "predict: --separator: '$separator' is not a character, tab or space" predict go --separator "$separator"
done
wrong 2 "train regress: --decimal: '-' is not a point or a comma" train regress --data two.csv --out x --decimal -
wrong 2 "eval: --separator and --decimal: both are ','" eval two --data two.csv --separator comma --decimal ,

# what is not finite is refused, and JSON stays JSON
feed '1e39,3\n' predict two --json
[ $status = 1 ] && grep -q "^{\"error\":" out || fail "not finite"
grep -q "^heed: standard input: line 1, column 'a': '1e39' is too large a number$" err || fail "too large"
feed '3,1\n1e38,-3e38\n' predict two --json
[ $status = 1 ] && [ "$(wc -l <out)" = 1 ] || fail "the line before is answered"
grep -q '^heed: standard input: line 2: the model.s output is not a finite number$' err || fail "a result that is not finite"
printf 'a,b\n3,1\n1e38,-3e38\n' >huge.csv
expect 1 predict two --data huge.csv --json
[ "$(wc -l <out)" = 1 ] && grep -q '^\[.*, .*\]$' out || fail "the line before is answered"
grep -q '^heed: huge.csv: line 3: the model.s output is not a finite number$' err || fail "a result that is not finite"
printf 'a,b\ninf,1\n' >inf.csv
wrong 1 "inf.csv: line 2, column 'a': 'inf' is not a finite number" predict two --data inf.csv

# names of classes cannot steer a terminal
printf 'a,k\n1,"up\n\033[31mred\tx"\n2,down\n3,"up\n\033[31mred\tx"\n4,down\n' >steer.csv
expect 0 train classify --data steer.csv --out steer --steps 5 --quiet --valid 0
feed '1\n2\n3\n4\n' predict steer
[ "$(wc -l <out)" = 4 ] || fail "a line each"
! grep -q "$(printf '\033')" out || fail "an escape"
feed '1\n' predict steer --json
! grep -q "$(printf '\033')" out || fail "an escape in JSON"

# id2label by its keys
sed 's/"0": "down"/"Q": "down"/; s/"1": "up/"0": "up/; s/"Q"/"1"/' steer/config.json >config.json
cp steer/config.json before.json
cp config.json steer/config.json
feed '1\n2\n' predict steer
cut -f 1 out >swapped
cp before.json steer/config.json
feed '1\n2\n' predict steer
cut -f 1 out | sed 's/^up.*/U/; s/^down.*/up/; s/^U/down/' >wanted
sed 's/^up.*/up/' swapped | cmp -s - wanted || fail "classes are named by their keys: $(cat swapped)"
sed 's/"1": "up/"5": "up/' before.json >steer/config.json
feed '1\n' predict steer
[ $status = 1 ] && grep -q "^heed: steer/config.json: id2label: '5' is not a class from 0 to 1$" err || fail "a key beyond the classes"

# pictures: IDX and npy files
printf '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\000\377\377\000' >pictures-idx3-ubyte
printf '\0\0\010\001\0\0\0\002\0\001' >labels-idx1-ubyte
gzip -c pictures-idx3-ubyte >pictures-idx3-ubyte.gz
expect 0 train classify --data pictures-idx3-ubyte,labels-idx1-ubyte --model linear --out pictures --steps 200 --lr 0.1 --quiet --valid 0
for file in pictures-idx3-ubyte pictures-idx3-ubyte.gz; do
    expect 0 predict pictures --data $file
    [ "$(cut -f 1 out | tr '\n' ' ')" = "0 1 " ] || fail "$file: $(cat out)"
done
expect 0 eval pictures --data pictures-idx3-ubyte.gz,labels-idx1-ubyte
says '^accuracy 100'
for file in pictures-idx3-ubyte pictures-idx3-ubyte.gz; do
    expect 1 predict pictures <$file
    error_is 'standard input: an npy, IDX or gzipped file instead of lines of text: give its path to --data$'
done
wrong 1 'labels-idx1-ubyte: 1 inputs, should be 2' predict pictures --data labels-idx1-ubyte
