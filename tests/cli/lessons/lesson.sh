# heed lesson: the list, every lesson with and without --out, its figures against others found here or by NumPy, data of
# one's own, and what is wrong with it.
. "$SOURCE/tests/cli/expect.inc"
golden=$SOURCE/tests/golden/lessons
cd "$scratch"

same() { # FILE GOLDEN: the same names, and numbers that differ by 1e-6 at most
    [ "$(head -1 "$1")" = "$(head -1 "$2")" ] || fail "$1: other columns than $2"
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ] || fail "$1: another number of rows than $2"
    paste -d, "$1" "$2" | awk -F, 'NR > 1 { for (i = 1; i <= NF / 2; i++) {
        if ($i !~ /^[-+0-9.e]+$/) exit 1
        d = $i - $(i + NF / 2)
        if (d > 1e-6 || d < -1e-6) { print FILENAME ": row " NR ", column " i ": " $i; exit 1 } } }' >out ||
        fail "$1 differs from NumPy's"
}

# The list.
lessons="neuron universal-approximation digits average-pooling nadaraya-watson parametric-pooling vanishing-gradients"
expect 0 lesson
for name in $lessons; do says "^$name  *[^ ]"; done
awk 'NR == 1 { at = index($0, "what") } /^$/ { exit } substr($0, at - 1, 1) != " " || substr($0, at, 1) == " " { exit 1 }' out ||
    fail "the list should be aligned"
expect 0 lesson --json
if grep -qiE '"rows"|\<rows? [0-9]' out; then fail "the list should cite no rows"; fi
[ "$(head -c 1 out)" = "[" ] || fail "the list should be a JSON list"
[ "$(grep -c '"name": ' out)" = "$(grep -c '^LESSON' "$SOURCE/src/lessons/lessons.def")" ] || fail "the list should have all lessons"

# Pictures of one's own, 4 x 4, in the files of MNIST: 20 to train on and 10 to test.
mkdir pictures
pictures() { for _ in 1 2 3 4 5; do printf '\0\377\377\0\0\377\377\0\0\377\377\0\0\377\377\0\0\0\0\0\377\377\377\377\377\377\377\377\0\0\0\0'; done; }
{ printf '\0\0\010\003\0\0\0\024\0\0\0\004\0\0\0\004' && pictures && pictures; } >pictures/train-images-idx3-ubyte
{ printf '\0\0\010\003\0\0\0\012\0\0\0\004\0\0\0\004' && pictures; } >pictures/t10k-images-idx3-ubyte
printf '\0\0\010\001\0\0\0\024\0\001\0\001\0\001\0\001\0\001\0\001\0\001\0\001\0\001\0\001' >pictures/train-labels-idx1-ubyte
printf '\0\0\010\001\0\0\0\012\0\001\0\001\0\001\0\001\0\001' >pictures/t10k-labels-idx1-ubyte
expect 0 lesson digits --data pictures --out own-pictures
listed own-pictures
awk -F, 'END { exit !($3 == 1) }' own-pictures/digits-epochs.csv || fail "two pictures should be told apart"

# Every lesson, with --out: pictures, tables, and plain text without colours when it does not go to a terminal.
for name in $lessons; do
    few=
    case $name in
    universal-approximation) if learns; then few="--seed $(seed 1)"; else few="--steps 30"; fi ;;
    digits) if learns; then few="--seed $(seed 1)"; else few="--data pictures"; fi ;;
    esac
    # shellcheck disable=SC2086 # options are words
    expect 0 lesson "$name" $few --out "made/$name"
    silent
    if grep -q "$(printf '\033')" out; then fail "no escapes should go into a file"; fi
    sed -n '1,/^Written:/p' out | sed '$d' >"$name.text"
    listed "made/$name"
done
awk '/^ *60 / { exit NF != 3 }' parametric-pooling.text || fail "the last epoch should have an error"
# Without it: the same. The others take longer and go the same way.
for name in neuron average-pooling nadaraya-watson; do
    expect 0 lesson "$name"
    cmp -s out "$name.text" || fail "with --out the lesson should say the same, and then what it has written"
done

# Quietly: only files.
expect 0 lesson average-pooling --quiet --out quiet
silent
[ ! -s out ] || fail "--quiet should print nothing"
cmp quiet/average-pooling.csv made/average-pooling/average-pooling.csv || fail "--quiet should write the same"

# Figures. The line beside least squares from the table.
expect 0 lesson neuron --json --out one
holds "regression" "$(result difference) <= 1e-4"
awk -F, -v w="$(result w)" -v b="$(result b)" 'NR > 1 { n++; x += $1; y += $2; xx += $1 * $1; xy += $1 * $2 }
    END { s = (n * xy - x * y) / (n * xx - x * x); t = (y - s * x) / n
          exit !(n == 40 && (w - s) ^ 2 <= 1e-8 && (b - t) ^ 2 <= 1e-8) }' one/neuron-regression.csv ||
    fail "the line should be that of least squares"
holds "the perceptron comes to rest" "$(result wrong) == 0 && $(result mistakes) > 0"
awk -F, 'NR > 1 && $3 != $4 { exit 1 }' one/neuron-perceptron.csv || fail "every point should be on its side"

if learns; then
    cp universal-approximation.text out
    says 'of slope -(0\.9[5-9]|1\.0[0-4])\.'
    error() { awk -F, -v n="$1" -v column="$2" '$1 == n { print $column }' made/universal-approximation/universal-approximation-error.csv; }
    built=2 trained=3
    holds "n steps" "$(error 256 $built) > 0 && $(error 256 $built) < 0.01 && $(error 8 $built) < 0.3"
    at_most "error of 8 trained nodes" "$(error 8 $trained)" "$(error 8 $built)"
    at_least "accuracy of digits" "$(awk -F, 'END { print $3 }' made/digits/digits-epochs.csv)" 0.95
fi

expect 0 lesson average-pooling --json --out one
awk -F, -v f="$(result f)" 'NR > 1 { n++; y += $2 } END { exit !(n == 50 && (y / n - f) ^ 2 <= 1e-12) }' \
    one/average-pooling.csv || fail "average pooling should be the mean"

# Nadaraya-Watson once more, from the data that was written.
expect 0 lesson nadaraya-watson --json --out one
holds "better than the mean" "$(result error) < $(result average_pooling_error)"
holds "the model in f32" "$(result model_difference) <= 5e-6"
awk -F, 'FNR == 1 { next }
    NR == FNR { x[++n] = $1; y[n] = $2; next }
    { a = s = 0
      for (i = 1; i <= n; i++) { k = exp(-($1 - x[i]) ^ 2 / 2); a += k * y[i]; s += k }
      m++
      if ((a / s - $3) ^ 2 > 1e-12) bad = 1 }
    END { exit !(n == 50 && m == 101 && !bad) }' one/nadaraya-watson-data.csv one/nadaraya-watson-curve.csv ||
    fail "the curve should be that of the formula"
awk -F, 'NR > 1 { s[$1] += $3; n++ } END { for (q in s) if ((s[q] - 1) ^ 2 > 1e-18) exit 1; exit !(n == 2500) }' \
    one/nadaraya-watson-attention.csv || fail "the weights of each query should sum to 1"
for name in one two; do
    expect 0 lesson nadaraya-watson --data "$golden/$name.csv" --out "$name"
    same "$name/nadaraya-watson-left-out.csv" "$golden/$name-left-out.csv"
done
same one/nadaraya-watson-kernels.csv "$golden/one-kernels.csv"
same one/nadaraya-watson-widths.csv "$golden/one-widths.csv"

expect 0 lesson parametric-pooling --json --seed "$(seed 1)"
holds "a width" "$(result w) > 2 && $(result w) < 6"
at_most "error of learnt pooling" "$(result learnt_left_out)" "$(result plain_left_out)"
at_most "how many points learnt pooling attends to" "$(result learnt_attended)" "0.5 * $(result plain_attended)"

expect 0 lesson average-pooling --dark --out dark
! cmp -s dark/average-pooling.png made/average-pooling/average-pooling.png || fail "dark pictures should be others"

# Another seed is other data, the same seed the same.
expect 0 lesson average-pooling --seed 2
! cmp -s out average-pooling.text || fail "another seed should give other points"
expect 0 lesson parametric-pooling --threads 1
cmp -s out parametric-pooling.text || fail "the number of threads should change nothing"

# Data of one's own.
printf 'x,y\n1,3\n2,5\n3,7\n4,9\n' >line.csv
expect 0 lesson neuron --data line.csv --json
holds "y = 2 x + 1" "($(result w) - 2) ^ 2 <= 1e-8 && ($(result b) - 1) ^ 2 <= 1e-8"
printf '1,1,up\n2,2,up\n-1,-1,down\n-2,-3,down\n' >sides.csv
expect 0 lesson neuron --data sides.csv
says "mistakes in the last pass 0"
printf '0,0,-1\n1,1,-1\n0,1,1\n1,0,1\n' >xor.csv
expect 0 lesson neuron --data xor.csv
says "do not seem to be"
for name in average-pooling nadaraya-watson parametric-pooling; do expect 0 lesson $name --data line.csv --out own; done
expect 0 lesson parametric-pooling --data "$golden/two.csv" --out own

# Tables as people have them: the axes are named by their columns, separators and decimal commas found, rows skipped.
printf 'height;note;weight\n1,5;a;50,5\n1,6;b;60\nNA;c;65\n1,7;d;70\n1,8;e;80\n' >people.csv
for name in neuron average-pooling nadaraya-watson parametric-pooling; do
    expect 0 lesson $name --data people.csv --drop note --skip-missing --out people
    says '^people.csv: 1 of 5 rows skipped: they have missing values$'
    says '(^| )height *$'
    says '^ *weight *$'
    says '60|80'
    wrong 1 "people.csv: line 4, column 'height': a missing value" lesson $name --data people.csv --drop note
done
expect 0 lesson nadaraya-watson --data people.csv --use weight --target height --skip-missing
says '(^| )weight *$'
printf 'size,age,kind\n1,2,cat\n2,1,cat\n8,9,dog\n9,8,dog\n' >pets.csv
expect 0 lesson neuron --data pets.csv
says '(^| )size *$'
says '^ *age *$'
says "^ *\* cat   \+ dog   o the perceptron's line\$"
says '^mistakes in the last pass 0$'
expect 0 lesson neuron --data pets.csv --use size,age
says '(^| )size *$'
printf '0 1\n1 3\n2 5\n' >blanks.txt
expect 0 lesson neuron --data blanks.txt --json
holds "y = 2 x + 1" "($(result w) - 2) ^ 2 <= 1e-8 && ($(result b) - 1) ^ 2 <= 1e-8"

# What is wrong, in one sentence.
wrong 1 'pets.csv: column 1 holds text, not numbers' lesson neuron --data pets.csv --use kind,size
wrong 1 'lesson neuron: takes no --target; --use x,y gives the order' lesson neuron --data pets.csv --target size
wrong 2 "lesson: --separator: 'xy' is not a character" lesson neuron --data pets.csv --separator xy
wrong 1 'lesson scoring: takes the whole table: no --target, --use, --drop, --skip-missing' lesson scoring --data pets.csv --drop kind
expect 2 lesson neuorn
error_is "lesson: neuorn: unknown lesson, did you mean 'neuron'"
expect 2 lesson nadarya
error_is "lesson: nadarya: unknown lesson, did you mean 'nadaraya-watson'"
expect 2 lesson no-such-lesson-at-all
error_is "lesson: no-such-lesson-at-all: unknown lesson"
expect 2 lesson universal-approximation --data line.csv
error_is "lesson universal-approximation: takes no data"
expect 2 lesson neuron --seed x
error_is "lesson: --seed: 'x' is not a whole number"
for name in neuron digits average-pooling nadaraya-watson parametric-pooling; do
    expect 1 lesson $name --data missing.csv
    error_is "missing.csv: No such file"
done
expect 1 lesson neuron --out ''
error_is "--out: the name of the directory is empty"
expect 1 lesson neuron --out line.csv/below
error_is "line.csv(/below)?: Not a directory"
expect 1 lesson neuron --out line.csv
error_is "line.csv: Not a directory"
printf '1,2,3,4\n5,6,7,8\n9,8,7,6\n' >wide.csv
expect 1 lesson neuron --data wide.csv
error_is "wide.csv: 4 columns"
expect 1 lesson average-pooling --data wide.csv
error_is "wide.csv: 4 columns"
printf 'x,y\n1,2\n3\n' >short.csv
expect 1 lesson neuron --data short.csv
error_is "short.csv: line 3"
printf 'x,y\n1,2\n2,four\n3,5\n' >word.csv
for name in neuron nadaraya-watson; do
    expect 1 lesson $name --data word.csv
    error_is "word.csv: line 3.*four"
done
printf 'x,y\n1,2\n2,nan\n3,5\n' >nan.csv
for name in neuron parametric-pooling; do
    expect 1 lesson $name --data nan.csv
    error_is "nan.csv: line 3, column 'y': a missing value \('nan'\); --skip-missing drops such rows, --drop the column$"
done
printf 'x,y\n1,2\n1,3\n1,4\n' >flat.csv
wrong 1 'flat.csv: x is the same in all rows$' lesson neuron --data flat.csv
wrong 1 'flat.csv: all x are equal$' lesson nadaraya-watson --data flat.csv
printf '1,1,a\n2,2,b\n3,3,c\n' >three.csv
expect 1 lesson neuron --data three.csv
error_is "three.csv: the third column has more than two labels"
: >empty.csv
expect 1 lesson neuron --data empty.csv
error_is 'empty.csv: the table is empty$'
