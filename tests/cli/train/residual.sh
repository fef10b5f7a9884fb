# Residual networks, whose batch norms keep running statistics: trained in one run and in two, with parts of batches,
# with layers computed again, within a memory plan, and averaged.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# the same bits for any number of threads, and of a run that was resumed: the statistics are in the checkpoint
small="--set depths=1,2 --set hidden_sizes=8,12 --set embedding_size=6 --set layer_type=bottleneck --valid 0 --schedule constant --average 0.9"
set -- train classify --model resnet --data digits $small --batch 6
expect 0 "$@" --steps 6 --out one --threads 1
expect 0 "$@" --steps 6 --out two --threads 2
cmp one/model.safetensors two/model.safetensors || fail 'the same bits for 1 and 2 threads'
expect 0 "$@" --steps 3 --out three --threads 2
expect 0 "$@" --steps 6 --out three --resume
cmp one/model.safetensors three/model.safetensors || fail 'the same bits of a run that was resumed'
expect 0 "$@" --steps 6 --out again --recompute
cmp one/model.safetensors again/model.safetensors || fail 'the same bits with layers computed again'
[ "$QUICK" != 1 ] || exit 0 # a sanitizer has seen it
expect 0 "$@" --steps 3 --out part --micro-batch 4 --threads 1
expect 0 "$@" --steps 3 --out part2 --micro-batch 4 --threads 2
cmp part/model.safetensors part2/model.safetensors || fail 'the same bits of a batch in parts'

# what is planned is enough
needs() { sed -n 's/.*needs \([0-9]*\)K of memory.*/\1/p' err; }
expect 1 "$@" --steps 6 --out wrong --memory 100K
enough=$(needs)
expect 0 "$@" --steps 6 --out planned --memory "${enough}K"
cmp one/model.safetensors planned/model.safetensors || fail 'within the budget: the same bits'

# convolutions that are large enough to be filtered: the same bits, too
set -- "$@" --set image_size=64 --set hidden_sizes=32,48 --set embedding_size=32 --set layer_type=basic --steps 2
expect 0 "$@" --out large --threads 1
expect 0 "$@" --out large2 --threads 3 --recompute
cmp large/model.safetensors large2/model.safetensors || fail 'the same bits of large convolutions'

learns || exit 0
# it learns, in both layouts; what it needs beside is in the directory
for model in resnet timm-resnet; do
    expect 0 train classify --model $model --data digits --steps 60 --batch 32 --lr 0.003 --seed "$(seed 1)" --out $model --json
    at_least "$model" "$(result test_accuracy)" 0.8
    expect 0 eval $model --data digits
done
grep -q '"input_size": \[ *1, *28, *28 *\]\|"input_size": \[$' timm-resnet/config.json || fail 'the size of pictures'
grep -q '"fixed_input_size": false' timm-resnet/config.json || fail 'timm takes pictures of any size'
