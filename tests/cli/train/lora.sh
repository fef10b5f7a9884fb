# heed train --lora, adapter directories wherever a model is expected, and merge.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

awk 'BEGIN {
    s = 5
    split("good fine bad poor nice awful", word, " ")
    for (i = 0; i < 120; i++) {
        s = (s * 16807) % 2147483647
        k = 1 + s % 6
        print "the film is " word[k] "\t" (k == 1 || k == 2 || k == 5 ? "pos" : "neg") >"films.tsv"
    }
}'
small="--set hidden_size=16 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=24 --set max_position_embeddings=12"
expect 0 train mlm --data films.tsv $small --tokens word --vocab 40 --steps 2 --out base
set -- train classify --init base --data films.tsv --lr 0.02
expect 0 "$@" --epochs 4 --lora 3 --lora-dropout 0.1 --out adapter
[ ! -e adapter/model.safetensors ] && [ -s adapter/adapter_model.safetensors ] || fail "the adapter alone is written"
grep -q '"peft_type": "LORA"' adapter/adapter_config.json && grep -q '"query"' adapter/adapter_config.json || fail "adapter_config.json"
grep -q '"classifier"' adapter/adapter_config.json || fail "the fresh head is saved with the adapter"
[ "$(wc -c <adapter/adapter_model.safetensors)" -lt "$(wc -c <base/model.safetensors)" ] || fail "an adapter is small"

# the same bits again, for other threads, within a budget, and after a stop
expect 0 "$@" --epochs 4 --lora 3 --lora-dropout 0.1 --out again --threads 1 --memory 256M
cmp adapter/adapter_model.safetensors again/adapter_model.safetensors || fail "the same run should give the same bits"
expect 0 "$@" --lora 3 --lora-dropout 0.1 --steps 5 --schedule constant --out five
expect 0 "$@" --lora 3 --lora-dropout 0.1 --steps 3 --schedule constant --out three
expect 0 "$@" --lora 3 --lora-dropout 0.1 --steps 5 --schedule constant --out three --resume
cmp five/adapter_model.safetensors three/adapter_model.safetensors || fail "a resumed run should give the same bits"

# wherever a model is expected; merged it answers the same
expect 0 classify adapter 'the film is good' 'the film is awful'
cp out said
expect 0 eval adapter --data films.tsv
expect 0 info adapter
expect 0 merge base adapter --out merged
expect 0 classify merged 'the film is good' 'the film is awful'
cmp out said || fail "the merged model should answer the same"
[ -s merged/model.safetensors ] && [ ! -e merged/adapter_config.json ] || fail "a plain directory"
wrong 1 'merged: holds a model already' merge base adapter --out merged
expect 0 merge base adapter --out merged --force

# targets by name and pattern; what peft wrote
expect 0 "$@" --lora 2 --lora-alpha 7 --lora-targets 'query,*.intermediate.dense' --steps 2 --out other
grep -q '"bert.encoder.layer.1.intermediate.dense"' other/adapter_config.json || fail "patterns become names"
expect 0 "$@" --lora 2 --lora-targets all-linear --steps 2 --out all
golden="$SOURCE/tests/golden/lora/gpt2"
expect 0 generate "$golden" 'gin pis' --beam 1
expect 0 score "$golden" 'gin pis kar'

# language models, of GPT-2's and of LLaMA's kind: better than before, and merged the same
cut -f 1 films.tsv >films.txt
for model in gpt2 llama; do
    case $model in
    gpt2) size="--set n_embd=16 --set n_layer=2 --set n_head=2" target=c_attn ;;
    llama)
        size="--set hidden_size=16 --set num_hidden_layers=2 --set num_attention_heads=4 --set num_key_value_heads=2"
        size="$size --set intermediate_size=24" target=q_proj
        ;;
    esac
    expect 0 train lm --data films.txt --tokens char --context 24 --model $model $size --steps 2 --batch 4 --out $model --quiet
    expect 0 train lm --data films.txt --init $model --context 24 --lora 3 --lr 0.02 --steps 40 --batch 4 --seed "$(seed 1)" --out $model.lora --quiet
    grep -q "\"$target\"" $model.lora/adapter_config.json && grep -q '"CAUSAL_LM"' $model.lora/adapter_config.json ||
        fail "$model: adapter_config.json"
    expect 0 score $model 'the film is good'
    before=$(cut -f 1 out)
    expect 0 score $model.lora 'the film is good'
    cp out said
    at_least "log-probability of $model with the adapter" "$(cut -f 1 out)" "$before + 0.3"
    expect 0 merge $model $model.lora --out $model.merged
    expect 0 score $model.merged 'the film is good'
    awk 'NR == 1 { a = $1 } { b = $1 } END { exit !((a - b) ^ 2 < 1e-6) }' said out || fail "$model: merged it should say the same"
done

# what is wrong
wrong 2 'train classify: --lora needs --init' train classify --data films.tsv --lora 2 --out wrong
wrong 2 'train classify: --lora-alpha needs --lora' "$@" --lora-alpha 2 --out wrong
wrong 1 "LoRA: no linear layer of the model is named 'q_proj'" "$@" --lora 2 --lora-targets q_proj --out wrong
wrong 1 'adapter: holds an adapter already' train classify --init adapter --data films.tsv --lora 2 --out wrong
wrong 1 "base: holds no adapter_config.json" merge base base --out wrong
wrong 1 '.*bert-classify: [0-9]+ names do not fit: misshapen' merge "$SOURCE/tests/golden/model/bert-classify" adapter --out wrong
edit() { # PATTERN: a copy of the adapter whose config is changed
    rm -rf bad
    cp -r "$golden" bad
    chmod -R u+w bad
    sed "$1; s|\.\./\.\./model|$SOURCE/tests/golden/model|" "$golden/adapter_config.json" >bad/adapter_config.json
}
edit 's/"use_dora": false/"use_dora": true/'
wrong 1 "bad/adapter_config.json: use_dora: heed's LoRA does not have this: must be false$" score bad 'gin pis'
edit 's/"bias": "none"/"bias": "all"/'
wrong 1 'bad/adapter_config.json: bias: biases are not trained: must be none$' score bad 'gin pis'
edit 's/"LORA"/"IA3"/'
wrong 1 "bad/adapter_config.json: peft_type: heed's adapters are LORA, not IA3" score bad 'gin pis'
edit 's/"c_attn"/"c_proj"/'
wrong 1 "bad/adapter_model.safetensors: an adapter of another model: .*missing 'transformer.h.0.attn.c_proj.lora_A.weight'" score bad 'gin pis'
edit 's|"\.\./\.\./model/gpt2-options"|"nowhere"|'
wrong 1 "bad/adapter_config.json: base_model_name_or_path: 'nowhere' holds no model" score bad 'gin pis'
edit 's/"r": 3/"r": 0/'
wrong 1 'bad/adapter_config.json: r: a rank of 0' score bad 'gin pis'
[ ! -e wrong ] || [ -z "$(ls wrong)" ] || fail "nothing should have been written"
