# heed info: what a model is and what it will take.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
"$HEED" new mlp m -q -s input_size=784 -s output_size=10 -s hidden_sizes=256 -s task=classify -s standardize_input=true

expect 0 info m
silent
says '^family +mlp \(heed-mlp\): '
says '^parameters +205098 in 6 tensors, 1568 of them frozen$'
says '^on disk +[0-9.]+ KB$'
says '^running +[0-9.]+ [KM]B at batch 32, '
says '^ +and 820.39 KB of weights, read from the mapped file$'
says '^training +[0-9.]+ MB at batch 32, '
if grep -q layers.0 out; then fail "parameters are listed with --verbose only"; fi
expect 0 info m --verbose
says '^layers.0.weight +\(256, 784\) +200704$'
says '^input_mean +\(784\) +784  frozen$'

# honest: training holds weights, gradients and two moments; a larger batch takes more; disk is the file's size
number() { # KEY: of the JSON
    sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" out | head -n "${2:-1}" | tail -n 1
}
expect 0 info m --json --batch 64 --threads 1
[ "$(number parameters)" = 205098 ] || fail "parameters"
[ "$(number disk_bytes)" = "$(wc -c <m/model.safetensors)" ] || fail "bytes on disk"
[ "$(number batch)" = 64 ] || fail "batch"
running=$(number bytes 1) training=$(number bytes 2)
[ "$(number mapped_bytes 1)" = $((205098 * 4)) ] || fail "running reads the weights where they are"
[ "$(number mapped_bytes 2)" = 0 ] || fail "training has weights of its own"
[ $((training - running)) -gt $((4 * 203530 * 4)) ] || fail "training holds weights, gradients and moments"
expect 0 info m --json --batch 128 --threads 1
[ "$(number bytes 1)" -gt "$running" ] && [ "$(number bytes 2)" -gt "$training" ] || fail "a larger batch takes more"

# weights of 16 bits stay as they are; a tied output layer and a buffer are not counted
expect 0 info "$SOURCE/tests/golden/model/gpt2-lm-bf16" --json
[ "$(number mapped_bytes 1)" = "$((2 * (21 * 6 + 10 * 6 + 2 * (6 * 18 + 6 * 6 + 2 * 6 * 24))))" ] || fail "matrices in bf16 are mapped"
expect 0 info "$SOURCE/tests/golden/model/bart"
says '^parameters .*; [0-9]+ numbers in buffers$'
expect 0 info "$SOURCE/tests/golden/model/bart" --verbose
says '^final_logits_bias .*  buffer$'

wrong 2 "info: expected: DIR" info
wrong 2 "info: --batch: 0 is not between 1 and 1000000000" info m --batch 0
expect 0 info "$SOURCE/tests/golden/model/gpt2-options" --length 4000 --json
says '"length": 40,'
[ "$(cat err)" = 'heed: info: --length: the model has positions for 40 tokens, which are planned instead of 4000' ] || fail "it should say what it plans for"
expect 0 info "$SOURCE/tests/golden/model/gpt2-options" --length 40
[ ! -s err ] || fail "nothing to say"
wrong 2 "info: --length: 'x' is not a whole number" info m --length x
wrong 1 "nosuch/config.json: No such file or directory" info nosuch
cp -r m broken
head -c 1000 m/model.safetensors >broken/model.safetensors
wrong 1 'broken/model.safetensors: input_mean: data_offsets \[0,3136\] do not lie within the 496 bytes of data$' info broken
sed 's/256/255/' m/config.json >broken/config.json
cp m/model.safetensors broken/
wrong 1 "broken: 3 names do not fit: misshapen 'layers.0.weight' is \(256,784\), not \(255,784\); " info broken
sed 's/heed-mlp/heed-bird/' m/config.json >broken/config.json
wrong 1 "broken/config.json: model_type: no family of heed's is 'heed-bird'" info broken
printf '{"model_type": "heed-mlp",\n "input_size": oops}' >broken/config.json
wrong 1 "broken/config.json: line 2, column " info broken

# what a config.json unfolds to is within --memory in every look at it, also the one that finds out what it is
if learns && there python3; then
    mkdir -p "$scratch/unfolds"
    awk 'BEGIN { printf "{\"a\":[[]"; for (i = 0; i < 1300000; i++) printf ",[]"; print "]}" }' >"$scratch/unfolds/config.json"
    echo x >"$scratch/unfolds/text"
    for command in info generate tag score classify "eval --data $scratch/unfolds/text"; do
        # shellcheck disable=SC2086 # the command is words
        peak=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stderr=open("/dev/null", "w"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$HEED" $command "$scratch/unfolds" --memory 20M)
        [ "$peak" -lt 60000 ] || fail "$command --memory 20M: $peak kB for a config.json of empty lists"
        expect 1 $command "$scratch/unfolds" --memory 20M </dev/null
        grep -q 'needs at least [0-9]*M of memory, --memory allows 20M' "$scratch/err" || fail "$command: should say how much memory is needed"
    done
fi
