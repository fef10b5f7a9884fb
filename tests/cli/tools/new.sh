# heed new: directories with fresh weights.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

expect 0 new mlp a/b/m --set input_size=4 --set output_size=3 --set hidden_sizes=8,5 --set task=classify
[ ! -s out ] || fail "nothing on standard output"
grep -q '^a/b/m: mlp with 103 parameters$' err || fail "it should say what it made"
[ "$(ls a/b/m | tr '\n' ' ')" = "config.json model.safetensors " ] || fail "two files"
for line in '"model_type": "heed-mlp"' '"HeedMlp"' '"heed_version": "'"$VERSION"'"' '"task": "classify"'; do
    grep -qF -- "$line" a/b/m/config.json || fail "no $line in config.json"
done

# the same seed, the same bytes, for any number of threads; never over a model without being told
cp a/b/m/model.safetensors first
wrong 1 "a/b/m: holds a model already; --force replaces it" new mlp a/b/m --set input_size=4 --set output_size=3
cmp a/b/m/model.safetensors first || fail "the model was changed"
for threads in 1 2; do
    expect 0 new mlp a/b/m -f -q -s input_size=4 -s output_size=3 -s hidden_sizes=[8,5] -s task=classify --threads $threads
    silent
    cmp a/b/m/model.safetensors first || fail "$threads threads give other weights"
done
mkdir half && echo '{}' >half/config.json
wrong 1 "half: holds a model already" new linear half -s input_size=1 -s output_size=1
mkdir empty && : >empty/notes.txt
expect 0 new linear empty -s input_size=1 -s output_size=1

# a tokenizer: its files, and room for its tokens
printf 'the cat sat\non the mat\n' | "$HEED" tokens --train word --vocab 50 --out words --quiet
printf 'die katze sitzt\n' | "$HEED" tokens --train word --vocab 50 --out mots --quiet
tiny="--set hidden_size=8 --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=8"
for from in words words/tokenizer.json; do
    expect 0 new bert reader --force --tokenizer $from $tiny
    cmp words/tokenizer.json reader/tokenizer.json || fail "$from should have been copied"
    grep -q '"vocab_size": 9,' reader/config.json || fail "the vocabulary has 9 tokens: $(grep vocab_size reader/config.json)"
done
printf 'the cat\tyes\nthe mat\tno\n' >texts.tsv
expect 0 train classify --init reader --data texts.tsv --steps 1 --batch 2 --out trained --quiet
expect 0 new bert reader --force --tokenizer words $tiny --set vocab_size=16
grep -q '"vocab_size": 16,' reader/config.json || fail "--set should override the number of tokens"
cp mots/tokenizer.json words/target_tokenizer.json
expect 0 new marian pair --tokenizer words --set share_encoder_decoder_embeddings=false --set d_model=8 --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=8 \
    --set decoder_ffn_dim=8 --set encoder_attention_heads=2 --set decoder_attention_heads=2
cmp mots/tokenizer.json pair/target_tokenizer.json || fail "the target's tokenizer should have been copied"
wrong 2 "new: --tokenizer: words has 9 tokens, but vocab_size is 8$" new bert x --tokenizer words $tiny --set vocab_size=8
wrong 2 "new: --tokenizer: mlp reads no tokens: its config has no vocab_size" new mlp x --tokenizer words
wrong 1 "nothing: No such file" new bert x --tokenizer nothing $tiny
wrong 1 'texts.tsv: line 1, column 1: not a value$' new bert x --tokenizer texts.tsv $tiny
[ ! -e x ] || fail "a failed call should leave nothing behind"

# mistakes
wrong 2 "new: mpl: unknown family, did you mean 'mlp'" new mpl x
wrong 2 'mlp: input_size must be given: numbers in an example$' new mlp x
wrong 2 "mlp: 'inputsize' is not a key of its config; these are: input_size, " new mlp x -s inputsize=3
wrong 2 "mlp: input_size: '3x' is not a whole number" new mlp x -s input_size=3x
wrong 2 "mlp: activation: 'rlu' is not one of: linear, identity, relu" new mlp x -s input_size=3 -s output_size=2 -s activation=rlu
wrong 2 "mlp: 'dropout' is not of the form key=value" new mlp x -s dropout
wrong 1 "new: needs at least [0-9]+ bytes of memory, --memory allows 10 bytes$" new mlp x -s input_size=3 -s output_size=2 --memory 10
wrong 1 "new: needs at least [0-9]+ bytes of memory, --memory allows 8000000 bytes$" new mlp x -s input_size=1000000 -s output_size=2 --memory 8000000
if ! grep -q __asan_init "$HEED"; then # which has a line of its own to say
    wrong 1 "memory: the allocator has no " new mlp x -s input_size=1000000000000 -s output_size=2
fi
: >file
wrong 1 'file/x: Not a directory$' new linear file/x -s input_size=1 -s output_size=1
[ ! -e x ] || fail "a failed call should leave nothing behind"
