# Handwriting from the command line: training on numbers of synthetic writers and on strokes of one's own, going on from a
# beginning, writing a text, pictures and JSON; and what is wrong with files and options.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
small="--set hidden_size=8 --set num_layers=2 --set num_mixtures=3 --quiet"

# strokes of one's own: slanted lines of two writers
awk 'BEGIN {
    for (i = 0; i < 40; i++) {
        lean = i % 2 ? 2 : -2
        printf "{\"strokes\": ["
        for (k = 0; k < 4; k++)
            printf "%s[[%g,0],[%g,3],[%g,6],[%g,9]]", k ? "," : "", 5 * k + 3 * lean, 5 * k + 2 * lean, 5 * k + lean, 5 * k
        printf "], \"text\": \"%s\"}\n", i % 2 ? "abba" : "bäab"
    }
}' >lines.jsonl

# shellcheck disable=SC2086 # options are words
expect 0 train handwriting --data lines.jsonl $small --steps 4 --batch 10 --log log --out mine
silent
grep -q '"valid_nats_per_point"' log || fail "the log should have the metric"
# shellcheck disable=SC2086
expect 0 train handwriting --data lines.jsonl $small --steps 4 --batch 10 --threads 1 --out again
cmp -s mine/model.safetensors again/model.safetensors || fail "one thread should give the same bits"
# shellcheck disable=SC2086
expect 0 train handwriting --data lines.jsonl $small --steps 2 --batch 10 --schedule constant --out stopped
# shellcheck disable=SC2086
expect 0 train handwriting --data lines.jsonl $small --steps 4 --batch 10 --schedule constant --out stopped --resume
# shellcheck disable=SC2086
expect 0 train handwriting --data lines.jsonl $small --steps 4 --batch 10 --schedule constant --out whole
cmp -s stopped/model.safetensors whole/model.safetensors || fail "a resumed run should give the same bits"
expect 0 eval mine --data lines.jsonl
says '^-?[0-9.]+ nats per point, -?[0-9.]+ nats per piece, loss .* \(40 pieces\)'
expect 0 eval mine --data lines.jsonl --json
says '"nats_per_piece"'

# writing: from nothing, on from a beginning, several times; the same for the same seed
expect 0 generate mine --max-tokens 30 --json --seed 3
says '^\{"line":1,"given":0,"points":31,"strokes":\[\[\[0'
cp out once
expect 0 generate mine --max-tokens 30 --json --seed 3 --threads 1
cmp -s out once || fail "the same seed should give the same writing"
expect 0 generate mine --max-tokens 30 --json --seed 4
! cmp -s out once || fail "another seed should give other writing"
head -n 2 lines.jsonl >two.jsonl
expect 0 generate mine --prompt two.jsonl --n-best 2 --max-tokens 10 --bias 1 --json --svg two.svg --png two.png
[ "$(wc -l <out)" = 4 ] || fail "two pieces for each beginning"
says '^\{"line":2,"given":16,"points":26,"strokes":\[\[\[0.0,0.0\],\[-2'
grep -q '<svg' two.svg || fail "two.svg should be a picture"
[ "$(head -c 4 two.png | tail -c 3)" = PNG ] || fail "two.png should be a PNG"
cp out back.jsonl
expect 0 generate mine back.jsonl --max-tokens 2 --json # what it writes it can read
[ "$(wc -l <out)" = 4 ] || fail "all pieces are read"
expect 0 generate mine --prompt 2026 --max-tokens 20
[ "$(wc -l <out)" -ge 5 ] || fail "the terminal should show writing"

# a text: a window over its characters
# shellcheck disable=SC2086
expect 0 train handwriting --data lines.jsonl --text $small --steps 3 --batch 10 --out said
grep -q '"characters": "abä"' said/config.json || fail "the characters should be in config.json"
expect 0 eval said --data lines.jsonl --json
says '"pieces": 40'
expect 0 generate said --text 'äb' --max-tokens 40 --json
says '"text":"äb","given":0'
head -n 1 lines.jsonl >one.jsonl
expect 0 generate said --text b --prompt one.jsonl --max-tokens 4 --json
says '"text":"bäabb","given":16'
wrong 1 "the model has not learnt to write 'c', only these: abä" generate said --text abc
wrong 1 "the model writes a text, and needs one" generate said
wrong 1 "the model has not learnt texts" generate mine --text ab
printf '[[[0,0],[1,1]]]\n' >wordless.jsonl
wrong 1 'the model needs to know what the beginning says, its "text"' generate said --text ab --prompt wordless.jsonl
wrong 1 'wordless.jsonl: piece 1 has no "text"' train handwriting --data wordless.jsonl --text --out no
wrong 1 'wordless.jsonl: piece 1 has no "text"' eval said --data wordless.jsonl

expect 0 attend said ab --png window.png --npy window.npy --quiet --seed 2
[ "$(head -c 4 window.png | tail -c 3)" = PNG ] || fail "window.png should be a PNG"
grep -q "'shape': (1, 1, [0-9]*, 3)" window.npy || fail "weights of two characters and the end"
expect 0 attend said ab --json
says '^\{"keys":\["a","b","end"\],"strokes":'
wrong 1 "the model has not learnt texts" attend mine ab
wrong 2 "attend: --html is not for models of handwriting, which said is" attend said ab --html x.html

# what is wrong
printf '{"strokes": [[[0,0],[1]]]}\n' >bad.jsonl
wrong 1 'bad.jsonl: line 1: .*expected a point \[x, y\]' train handwriting --data bad.jsonl --out no
wrong 1 'bad.jsonl: line 1: .*expected a point \[x, y\]' generate mine --prompt bad.jsonl
wrong 1 'missing.jsonl: No such file or directory$' train handwriting --data missing.jsonl --out no
wrong 1 'missing.jsonl: No such file or directory$' generate mine --prompt missing.jsonl
wrong 2 'generate: --png x.svg: the name must end in .png' generate mine --png x.svg
wrong 1 'no/x.png: No such file or directory$' generate mine --max-tokens 3 --png no/x.png
wrong 2 'generate: --bias: -1 is not between 0 and 100$' generate mine --bias -1
wrong 2 'train: gpt2 cannot be trained to handwriting' train handwriting --model gpt2 --out no
[ ! -e no ] || fail "nothing should be left"
expect 0 new lstm tokens --set vocab_size=9 --set hidden_size=4 --set embedding_size=4
wrong 2 'generate: --bias is for models of handwriting, which tokens is not' generate tokens --bias 1
expect 0 generate mine --help
says 'handwriting'

learns || exit 0 # the rest takes long under sanitizers

# the lesson, too short to learn
expect 0 lesson handwriting --steps 30 --out few
silent
fits
says '^slant '
for file in handwriting.png handwriting.svg handwriting-style.png handwriting-style.csv handwriting-loss.csv; do
    [ -s "few/$file" ] || fail "$file should be written"
done
# shellcheck disable=SC2086
expect 0 train handwriting --set hidden_size=16 --set num_layers=1 --set num_mixtures=3 --quiet --steps 60 --lr 0.01 --seed "$(seed 1)" --out numbers
expect 0 eval numbers --data strokes --json
says '"pieces": 200'
at_most "nats per point" "$(result nats_per_point)" 2.6
