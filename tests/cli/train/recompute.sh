# heed train --recompute: the same bits as without, with less memory, encoders, decoders and adapters alike.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
awk 'BEGIN {
    s = 5
    split("good fine bad poor nice awful", word, " ")
    for (i = 0; i < 60; i++) {
        s = (s * 16807) % 2147483647
        k = 1 + s % 6
        print "the film is " word[k] (i % 3 ? "" : " and long") "\t" (k == 1 || k == 2 || k == 5 ? "pos" : "neg") >"films.tsv"
        print "the film is " word[k] "\tder film ist " word[7 - k] (i % 4 ? "" : " und lang") >"pairs.tsv"
    }
}'
both() { # DIRECTORY ARGUMENTS...: trains with and without
    out=$1
    shift
    expect 0 "$@" --out "$out"
    expect 0 "$@" --out "$out-again" --recompute --threads 1
}
small="--set hidden_size=32 --set num_hidden_layers=4 --set num_attention_heads=2 --set intermediate_size=96 --set max_position_embeddings=16"
set -- train classify --model bert --data films.tsv --tokens word --vocab 40 --steps 5 --batch 16 $small
both bert "$@"
cmp bert/model.safetensors bert-again/model.safetensors || fail "an encoder: the same bits"
both modernbert train classify --model modernbert --data films.tsv --tokens word --vocab 40 --steps 4 --batch 16 $small
cmp modernbert/model.safetensors modernbert-again/model.safetensors || fail "rotary and windows: the same bits"
both lora train classify --init bert --lora 2 --lora-dropout 0.2 --data films.tsv --steps 4 --batch 16
cmp lora/adapter_model.safetensors lora-again/adapter_model.safetensors || fail "adapters: the same bits"
both translate train translate --data pairs.tsv --from en --to de --steps 3 --set d_model=16 --set encoder_layers=2 --set decoder_layers=2 \
    --set encoder_attention_heads=2 --set decoder_attention_heads=2 --set encoder_ffn_dim=32 --set decoder_ffn_dim=32
cmp translate/model.safetensors translate-again/model.safetensors || fail "encoder and decoder: the same bits"
both t5 train text2text --data pairs.tsv --tokens word --vocab 150 --steps 3 --batch 8 --set d_model=16 --set num_layers=2 --set d_ff=32 \
    --set num_heads=2 --set d_kv=8
cmp t5/model.safetensors t5-again/model.safetensors || fail "biases by distance: the same bits"
cut -f 1 films.tsv >films.txt
both llama train lm --model llama --data films.txt --documents --tokens word --context 8 --steps 3 --batch 4 --set hidden_size=16 \
    --set num_attention_heads=2 --set num_key_value_heads=1 --set head_dim=8 --set intermediate_size=32
cmp llama/model.safetensors llama-again/model.safetensors || fail "packed documents and rotary angles: the same bits"
both cait train classify --model cait --data digits --steps 3 --batch 8 --set embed_dim=16 --set depth=3 --set num_heads=2 --set attn_drop_rate=0.1 --set drop_path_rate=0.2
cmp cait/model.safetensors cait-again/model.safetensors || fail "talking heads: the same bits"

# what is planned is less, and enough
needs() { sed -n 's/.*needs \([0-9]*\)K of memory.*/\1/p' err; }
expect 1 "$@" --out wrong --memory 100K
plain=$(needs)
expect 1 "$@" --out wrong --memory 100K --recompute
less=$(needs)
[ "$less" -lt "$plain" ] || fail "$less K should be less than $plain K"
expect 0 "$@" --out enough --recompute --memory "${less}K"
cmp enough/model.safetensors bert/model.safetensors || fail "within the budget: the same bits"
