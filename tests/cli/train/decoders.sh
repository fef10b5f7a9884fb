# LLaMA's kin at the command line: configs that cannot be, and classifiers.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

small='--set vocab_size=30 --set hidden_size=12 --set intermediate_size=10 --set num_hidden_layers=2 --set num_attention_heads=2'
expect 0 new llama good $small
expect 0 info good
bad() { # SENTENCE SED: config.json of `good`, edited so, is refused with that sentence
    rm -rf bad
    cp -R good bad
    sed "$2" good/config.json >bad/config.json
    cmp -s good/config.json bad/config.json && fail "nothing was edited by $2"
    wrong 1 "bad/config.json: $1" info bad
}
scaling() { bad "$1" "s/\"rope_theta\": [0-9.]*/\"rope_theta\": 10000, \"rope_scaling\": $2/"; }

# rotary positions
scaling "rope_scaling.type: 'spiral' is not one of: default, linear, dynamic, yarn, longrope, llama3, proportional" '{"type": "spiral"}'
scaling 'rope_scaling.factor: missing$' '{"type": "linear"}'
scaling 'rope_scaling.factor: 0 is not between ' '{"rope_type": "dynamic", "factor": 0}'
scaling 'rope_scaling.low_freq_factor: missing$' '{"rope_type": "llama3", "factor": 8, "high_freq_factor": 4}'
scaling 'rope_scaling.short_factor: missing$' '{"rope_type": "longrope", "long_factor": [1, 2, 3]}'
scaling 'rope_scaling.long_factor: 2 factors for 3 pairs' '{"rope_type": "longrope", "short_factor": [1, 2, 3], "long_factor": [1, 2]}'
scaling 'rope_scaling: an object is needed, or null' '"linear"'
scaling 'rope_scaling.full_attention: all layers of this family turn alike' '{"full_attention": {"rope_type": "default"}}'
bad 'num_attention_heads: rotary positions need heads of an even size, not 3' 's/"num_attention_heads": 2/"num_attention_heads": 4/'

# heads and tokens
bad 'num_attention_heads: 5 heads do not divide a hidden_size of 12' 's/"num_attention_heads": 2/"num_attention_heads": 5/'
bad 'num_key_value_heads: 2 query heads cannot share 3 heads of keys and values evenly' 's/"num_key_value_heads": null/"num_key_value_heads": 3/'
bad 'pad_token_id: token 30 is not one of the 30 there are' 's/"pad_token_id": null/"pad_token_id": 30/'
bad 'pad_token_id: token -31 is not one of the 30 there are' 's/"pad_token_id": null/"pad_token_id": -31/'
bad "hidden_act: 'spline' is not one of: linear, " 's/"hidden_act": "silu"/"hidden_act": "spline"/'

# windows
wrong 2 '.*sliding_window: layer 0 sees a sliding window, whose size is not given' new gemma2 none $small --set num_key_value_heads=1 --set head_dim=4 --set sliding_window=null
expect 0 new gemma2 gemma $small --set num_key_value_heads=1 --set head_dim=4
grep -q '"query_pre_attn_scalar": 256,$' gemma/config.json || fail "transformers takes a whole number there"
expect 0 new phi3 phi $small --set pad_token_id=0
sed 's/"rope_theta": [0-9.]*/"rope_theta": 10000, "rope_scaling": {"type": "linear", "factor": 2}/' phi/config.json >edited
mv edited phi/config.json
wrong 1 "phi/config.json: rope_scaling.type: 'linear' is neither default nor longrope" info phi
[ ! -e none ] || fail "what was refused should leave nothing behind"

# a classifier finds the ends of texts by the padding token, which comes from the tokenizer where the model has none
awk 'BEGIN { for (i = 0; i < 24; i++) print (i % 2 ? "fine and warm" : "dull") " " i "\t" (i % 2 ? "good" : "bad") }' >texts.tsv
for family in llama gpt2; do
    sizes='--set hidden_size=8 --set intermediate_size=8 --set num_hidden_layers=1 --set num_attention_heads=2'
    [ $family = llama ] || sizes='--set n_embd=8 --set n_layer=1 --set n_head=2'
    expect 0 train classify --model $family --data texts.tsv --out $family $sizes --steps 3 --batch 4 --quiet
    grep -q '"pad_token_id": [0-9]' $family/config.json || fail "the padding token should be known"
done
for padding in null -1; do
    rm -rf older tuned
    cp -R llama older
    sed "s/\"pad_token_id\": [0-9]*/\"pad_token_id\": $padding/" llama/config.json >older/config.json
    expect 0 train classify --init older --data texts.tsv --out tuned --steps 3 --batch 4 --quiet
    grep -q '"pad_token_id": [0-9]' tuned/config.json || fail "the padding token should be the tokenizer's"
    feed 'warm\ndull and fine\n' classify tuned
    [ "$status" = 0 ] && [ "$(wc -l <out)" = 2 ] || fail "two texts should be classified"
done

# transformers' files say by id2label how many classes there are: what is written from them says so too
golden="$SOURCE/tests/golden/model/llama-classify"
if grep -q num_labels "$golden/config.json"; then fail "the file should have id2label alone"; fi
expect 0 average "$golden" "$golden" --out mean --quiet
grep -q '"num_labels": 3' mean/config.json || fail "the number of labels should be kept"
chmod -R u+w mean
sed 's/"num_labels": 3/"num_labels": 2/' mean/config.json >edited
mv edited mean/config.json
wrong 1 "mean: 1 name does not fit: .*'score.weight'" info mean # num_labels overrides
