# heed train: what it makes, says and refuses.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# y = 2 a - 3 b + 1 and some noise; the kind is the larger of a and b.
awk 'BEGIN {
    print "a,b,y" >"line.csv"; print "a,b,kind" >"kinds.csv"
    s = 7
    for (i = 0; i < 200; i++) {
        for (k = 0; k < 3; k++) { s = (s * 16807) % 2147483647; u[k] = s / 2147483647 }
        printf "%.5f,%.5f,%.5f\n", 10 * u[0], u[1] - 5, 20 * u[0] - 3 * (u[1] - 5) + 1 + 0.1 * (u[2] - 0.5) >"line.csv"
        printf "%.5f,%.5f,%s\n", u[0], u[1], (u[0] > u[1] ? "left" : "right") >"kinds.csv"
    }
}'

# least squares: predictions lie on the line, within the noise
expect 0 train regress --data line.csv --model linear --out line
says '^model: line$'
says "^next: $(printf %s "$HEED" | sed 's/[.+]/\\&/g') predict line --data FILE "
printf '1,0\n2\t-4\n0 0\n' | "$HEED" predict line >answers
awk '{ want = NR == 1 ? 3 : NR == 2 ? 17 : 1; if ($1 < want - 0.1 || $1 > want + 0.1) exit 1 } END { exit NR != 3 }' answers ||
    fail "the line is not found: $(cat answers)"
expect 0 eval line --data line.csv
says '^R\^2 0\.999'

# classes by name, the log, the result as JSON
expect 0 train classify --data kinds.csv --out kinds --steps 300 --seed "$(seed 3)" --json --quiet --log log.jsonl --test kinds.csv
silent
at_least "accuracy of kinds" "$(result test_accuracy)" 0.9
[ "$(wc -l <log.jsonl)" = 300 ] || fail "a short run has a line for each step"
head -n 1 log.jsonl | grep -qE '^\{"step":1,"loss":[0-9.e-]+,"lr":[0-9.e-]+,"seconds":[0-9.e-]+,"examples":[0-9]+,"epoch":[0-9.]+\}$' ||
    fail "the first line of the log: $(head -n 1 log.jsonl)"
tail -n 1 log.jsonl | grep -qE '"valid_loss":.*"valid_accuracy":.*"test_loss":.*"test_accuracy":' ||
    fail "the last line of the log: $(tail -n 1 log.jsonl)"
printf '0.9,0.1\n0.2,0.8\n' | "$HEED" predict kinds >answers
[ "$(cut -f 1 answers | tr '\n' ' ')" = "left right " ] || fail "classes: $(cat answers)"
grep -q '"0": "left"' kinds/config.json || fail "config.json should name the classes"

# the progress has the loss smoothed, the log as it is
expect 0 train classify --data kinds.csv --out smooth --steps 60 --log smooth.jsonl --log-every 1
sed -n 's/.*"loss":\([0-9.e-]*\),"lr".*/\1/p' smooth.jsonl |
    awk '{ m = 0.98 * m + 0.02 * $1; w = 0.98 * w + 0.02 } END { printf "step 60/60  loss %.4g  \n", m / w }' >wanted
grep -qF "$(cat wanted)" err || fail "the loss in the progress should be a moving average: $(cat wanted)"

# what is there is not lost by a slip
wrong 1 'kinds: holds a model already; --resume continues it, --force overwrites it' train classify --data kinds.csv --out kinds
expect 0 train classify --data kinds.csv --out kinds --steps 300 --seed "$(seed 3)" --resume
wrong 1 'kinds/checkpoint.safetensors: a checkpoint of another configuration: .*batch was 8, is 20' \
    train classify --data kinds.csv --out kinds --steps 300 --seed "$(seed 3)" --resume --quiet --batch 20
wrong 1 'kinds/checkpoint.safetensors: a checkpoint of another configuration: .*model hidden_sizes was \[128\], is \[7\]' \
    train classify --data kinds.csv --out kinds --steps 300 --seed "$(seed 3)" --resume --quiet --set hidden_sizes=7
rm kinds/checkpoint.safetensors
wrong 1 'kinds: holds a model but no checkpoint to resume from: its run has ended and dropped it, or it never had one; --force overwrites it' train classify --data kinds.csv --out kinds --resume
expect 0 train classify --data kinds.csv --out kinds --steps 5 --force
expect 0 train classify --data kinds.csv --out anew --steps 5 --resume
grep -qx 'heed: anew: no checkpoint to resume from; training begins anew' err || fail "it should say that it begins anew"
expect 0 train classify --data kinds.csv --out anew2 --steps 5 --resume --quiet
silent
expect 0 train classify --data kinds.csv --out anew --steps 5 --resume
if grep -q anew: err; then fail "there was a checkpoint"; fi

# one is one
expect 0 train classify --data kinds.csv --out once --epochs 1 --batch 180 --force
says '^trained mlp for 1 step \(1 epoch\) in '
expect 0 train classify --data kinds.csv --out once --steps 17 --batch 9 --force
says '^trained mlp for 17 steps \(0\.85 epochs\) in '
expect 0 train classify --data kinds.csv --out once --steps 17 --batch 9 --force --json
says '"epochs": 0\.85,$'

# what to type next can be typed, wherever the program is and whatever the directory is called
mkdir -p bin
cp "$HEED" bin/hee\'d
bin/hee\'d train regress --data line.csv --model linear --steps 5 --out "it's a line" >out 2>err || fail "another name"
says "^next: 'bin/hee'\\\\''d' predict 'it'\\\\''s a line' --data FILE "
printf '1,0\n' | sh -c "$(sed -n 's/^next: \(.*\) --data FILE.*/\1/p' out)" >answers || fail "the next command should run"
[ -s answers ] || fail "the next command should answer"
(PATH="$scratch/bin:$PATH" && bin/hee\'d train regress --data line.csv --model linear --steps 5 --out short >out 2>err)
says "^next: 'hee'\\\\''d' predict short "

# recipes, which the command line overrides
printf '# small\nset hidden_sizes=4\nsteps = 20\nbatch 10\nsave-every 7\n' >small.recipe
expect 0 train classify --data kinds.csv --recipe small.recipe --out small --steps 30
says '^trained mlp for 30 steps'
grep -A 1 hidden_sizes small/config.json | grep -q 4 || fail "the recipe's setting should hold"
for recipe in "$SOURCE"/recipes/*.recipe; do # each is a valid set of options
    grep -q 'heed train' "$recipe" || fail "$recipe should say how to use it"
    wrong 1 'no.csv(: No such file or directory|.[a-z]+: there is no such file, nor with .gz)$' train "$(sed -n '/.*heed train \([a-z]*\) .*/ { s//\1/p; q; }' "$recipe")" --data no.csv --recipe "$recipe" --out none
done

# accumulating is a larger batch in parts: the same predictions but for rounding
set -- train regress --data line.csv --steps 20 --optimizer sgd --momentum 0 --lr 0.1 --quiet
expect 0 "$@" --out whole --batch 40
expect 0 "$@" --out parts --batch 10 --accumulate 4
expect 0 "$@" --out other --batch 10
sed '1d; s/,[^,]*$//' line.csv >points
for model in whole parts other; do "$HEED" predict $model <points >$model.y; done
worst() { # FILE FILE: the largest difference, as a part of the largest number
    paste "$1" "$2" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d; y = $1 < 0 ? -$1 : $1; if (y > size) size = y }
        END { if (NR != 200) exit 1; print most / size }'
}
awk "BEGIN { exit !($(worst whole.y parts.y) <= 1e-6 && $(worst whole.y other.y) > 1e-3) }" ||
    fail "a batch in parts differs by $(worst whole.y parts.y)"

# a budget is held against a plan of the whole run, which is right to the byte
set -- train classify --data kinds.csv --out small --steps 30 --force --quiet --threads 1
wrong 1 'train classify: needs [0-9]+ bytes of memory, --memory allows 1024 bytes; --micro-batch N, --recompute or a smaller --batch takes less$' "$@" --memory 1024
needed=$(sed 's/.*needs \([0-9]*\) bytes.*/\1/' err)
rm -r small
wrong 1 "train classify: needs $needed bytes of memory, --memory allows $((needed - 1)) bytes; --micro-batch N" "$@" --memory $((needed - 1))
# in the unit that was asked in, rounded up: what it says is enough
for unit in K m KiB MB; do
    wrong 1 "train classify: needs [0-9]+$unit of memory, --memory allows 1$unit; --micro-batch N" "$@" --memory 1$unit
    case $unit in K*) size=1024 ;; *) size=1048576 ;; esac
    [ "$(sed 's/.*needs \([0-9]*\)[A-Za-z]* of.*/\1/' err)" = $(((needed + size - 1) / size)) ] || fail "$needed bytes in $unit"
done
[ ! -e small ] || fail "what was refused should leave nothing behind"
expect 0 "$@" --memory "$needed"
wrong 1 'train classify: needs [0-9]+ bytes of memory' "$@" --memory "$needed" --set hidden_sizes=4096

# large numbers are learnt by the learning rates of small ones
awk -F, 'NR == 1 { print } NR > 1 { printf "%s,%s,%.3f\n", $1, $2, 1e4 * $3 + 5e4 }' line.csv >large.csv
for optimizer in sgd adamw adafactor; do
    expect 0 train regress --data large.csv --out large --optimizer $optimizer --seed "$(seed 1)" --force
    at_least "R^2 of large numbers, $optimizer" "$(said 'validation: R^2' | tr -d ,)" 0.99
done

# bad input, each with one line that names it
wrong 2 'train: expected: TASK' train
wrong 2 "train: unknown task 'clasify', did you mean 'classify'" train clasify --data kinds.csv --out x
wrong 2 'train classify: --data PATH is needed' train classify --out x
wrong 2 'train classify: --out DIR is needed' train classify --data kinds.csv
wrong 2 "train: no-such-family: unknown family, 'heed list' lists them\$" train classify --data kinds.csv --out x --model no-such-family
wrong 2 'train: kernel-pooling cannot be trained to classify' train classify --data kinds.csv --out x --model kernel-pooling
wrong 2 "train classify: --lr: 'fast' is not a number$" train classify --data kinds.csv --out x --lr fast
wrong 2 'train classify: --steps and --epochs: only one of them makes sense$' train classify --data kinds.csv --out x --steps 3 --epochs 3
wrong 2 'train classify: --resume and --force: only one of them makes sense$' train classify --data kinds.csv --out x --resume --force
wrong 1 'nothing.csv: No such file or directory$' train classify --data nothing.csv --out x
wrong 1 "mlp: 'hiden' is not a key" train classify --data kinds.csv --out x --set hiden=3
wrong 1 'train: --batch: 500 is larger than the data, 180 examples to train on' train classify --data kinds.csv --out x --batch 500 --quiet
printf 'a,y\n1,2\n3\n' >short.csv
wrong 1 'short.csv: line 3' train regress --data short.csv --out x
printf 'a,y\n1,2\n3,many\n' >word.csv
wrong 1 'word.csv: line 3, column' train regress --data word.csv --out x
printf 'a,y\n1,nan\n' >nan.csv
wrong 1 'nan.csv: line 2, column' train regress --data nan.csv --out x
printf 'a,y\n1,one\n2,one\n' >single.csv
wrong 1 'single.csv: all examples are of one class' train classify --data single.csv --out x
wrong 1 'none/log.jsonl: No such file' train classify --data kinds.csv --out logged --quiet --log none/log.jsonl
[ ! -e logged/checkpoint.safetensors ] || fail "what was refused should leave no checkpoint"
wrong 1 'line.csv/x: Not a directory$' train classify --data kinds.csv --out line.csv/x --quiet
[ ! -e x ] || fail "what was refused should leave nothing behind"

# a learning rate that diverges: one sentence, and the last good state
wrong 1 'train: the .* of step [0-9]+ is .*diverged at a learning rate of 1e\+06' \
    train regress --data line.csv --out wild --optimizer sgd --momentum 0 --lr 1000000 --schedule constant --quiet
[ -e wild/checkpoint.safetensors ] && [ ! -e wild/model.safetensors ] || fail "the checkpoint should be there, and no model"

# digits with nothing downloaded; plain lines where there is no terminal
expect 0 train classify --data digits --out digits --epochs 2 --seed "$(seed 1)"
at_least "accuracy of digits" "$(said 'test: accuracy')" 75 # at random: 10
! grep -q "$(printf '[\033\r]')" "$scratch/err" || fail "control characters in a file"
measured=$(said 'test: accuracy')
expect 0 eval digits --data digits --seed "$(seed 1)" --json
holds "what training measured" "(100 * $(result accuracy) - $measured) ^ 2 < 1e-3"

# a directory in MNIST's layout, as it is
if given mnist; then
    expect 0 train classify --data "$HEED_DATA/mnist" --out mnist --steps 60 --log mnist.jsonl
    says '^test: accuracy'
    tail -n 1 mnist.jsonl | grep -qE '"test_accuracy":0\.[89]' || fail "MNIST: $(tail -n 1 mnist.jsonl)"
fi

# a profile names what takes the time: less than a twentieth is not named
expect 0 train classify --data digits --out named --epochs 2 --set activation=gelu --profile --quiet
for work in 'linear, gelu' linear adamw 'draw digits' 'prepare batches' evaluate 'write checkpoint' 'write model'; do
    grep -qE "^$work +[0-9]+ +[0-9.]+ " err || fail "$work should be in the profile"
done
awk '/^all else/ { share = $NF + 0; found = 1 } END { exit !(found && share < 5) }' err || fail "too much of the time has no name"
gzip -c kinds.csv >kinds.csv.gz
expect 0 train classify --data kinds.csv.gz --out named2 --steps 5 --optimizer sgd --clip 1 --average 0.9 --profile --quiet
for work in gunzip 'load data' sgd 'gradient norm' 'average of weights'; do
    grep -qE "^$work +[0-9]+ +[0-9.]+ " err || fail "$work should be in the profile"
done

# a bar on a terminal, never wider than it
if on_a_terminal; then
    script -qec "stty columns 60; '$HEED' train classify --data digits --out bar --epochs 2" /dev/null >screen
    grep -q "$(printf '\r').*step .*loss .*accuracy .*examples/s" screen || fail "a terminal should have a bar: $(cat screen)"
    tr '\r' '\n' <screen | grep '^.*step ' | sed "s/$(printf '\033')\[K//" | awk '{ gsub(/━|·/, "-") } length > 59 { exit 1 }' ||
        fail "the bar is too wide: $(cat screen)"
fi

# the command line overrides the recipe, also where an option excludes another
printf 'epochs 500\nbatch 10\n' >long.recipe
awk 'BEGIN { print "a,b"; for (i = 0; i < 60; i++) printf "%d,%d\n", i, 3 * i + 1 }' >line.csv
expect 0 train regress --data line.csv --recipe long.recipe --steps 7 --out quick --json
says '"steps": 7'
wrong 2 'train regress: --steps and --epochs: only one of them' train regress --data line.csv --steps 7 --epochs 2 --out quick2
