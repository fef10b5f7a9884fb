# heed train from what is there: a finished run that goes on, --init, --freeze, --layer-decay.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# a finished run is trained longer, and what was shorter is refused
expect 0 train classify --data digits --out longer --steps 20 --quiet
cp -R longer shorter
expect 0 train classify --data digits --out longer --steps 30 --quiet --resume --json
says '"steps": 30'
wrong 1 'shorter/checkpoint.safetensors: a checkpoint of another configuration: steps was 20, is 10' \
    train classify --data digits --out shorter --steps 10 --quiet --resume

# starting from weights: the body is kept, a head of another size is drawn fresh, frozen parameters stay
awk 'BEGIN { print "x,y,kind"; for (i = 0; i < 60; i++) printf "%d,%d,%s\n", i % 7, i % 5, i % 3 ? "a" : "b" }' >two.csv
awk 'BEGIN { print "x,y,kind"; for (i = 0; i < 60; i++) printf "%d,%d,%s\n", i % 7, i % 5, substr("pqr", i % 3 + 1, 1) }' >three.csv
expect 0 train classify --data two.csv --out two --steps 20 --quiet
expect 0 train classify --data three.csv --init two --out three --steps 20 --freeze 'layers.0.*'
grep -q "^heed: two: drawn fresh: 'layers.2.weight' is (2,128), not (3,128), 'layers.2.bias' is (2), not (3)$" err ||
    fail "what is drawn fresh should be said by name"
printf '1,2\n' | "$HEED" predict three >answer
grep -qE '^[pqr]' answer || fail "the new classes: $(cat answer)"
wrong 1 'train: --freeze: all parameters are frozen' train classify --data two.csv --init two --out none --freeze '*' --quiet
wrong 1 "freeze: no parameter fits 'encoder" train classify --data two.csv --init two --out none --freeze 'encoder.*' --quiet
wrong 2 'train: --init: two holds a model of family mlp, not linear' \
    train classify --data two.csv --init two --model linear --out none
wrong 2 'train: mlp cannot be trained to translate' train translate --data two.csv --init two --out none
wrong 1 'missing/config.json: No such file or directory$' train classify --data two.csv --init missing --out none
[ ! -e none ] || fail "what was refused should leave nothing behind"
expect 0 train classify --data two.csv --init two --out slow --steps 20 --layer-decay 0.5 --quiet
cmp -s two/model.safetensors slow/model.safetensors && fail "it should have learnt"
wrong 2 'train classify: --layer-decay: 2 is not between 1e-06 and 1$' train classify --data two.csv --init two --out none --layer-decay 2
