# Perceiver: bytes as tokens, masked bytes, classes of texts, heads of pictures, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"

# transformers' directory has no vocabulary: a byte b is token b + 6
mkdir bytes
echo '{"tokenizer_class": "PerceiverTokenizer", "model_max_length": 2048}' >bytes/tokenizer_config.json
feed 'Aä [MASK]b\n\n' tokens bytes
says '^4 71 201 170 38 3 104 5$'
says '^4 5$'
feed '4 71 201 170 38 3 104 5\n' tokens bytes --decode
says '^Aä b$'

awk 'BEGIN { for (i = 0; i < 60; i++) printf "The %s eats %s.\n\n", i % 2 ? "bear" : "fox", i % 2 ? "honey" : "corn" }' >stories.txt
small="--set num_latents=8 --set d_latents=16 --set d_model=16 --set num_self_attends_per_block=1 --set num_self_attention_heads=2
    --set num_cross_attention_heads=2 --set max_position_embeddings=32"
expect 0 train mlm --model perceiver --data stories.txt --out stories $small --steps 3 --quiet
grep -q PerceiverForMaskedLM stories/config.json || fail "the head should be that of masked bytes"
feed 'The bear\n' tokens stories
says '^4 90 110 107 38 104 107 103 120 5$'
feed 'The b[MASK]ar eats[MASK]\n' fill stories --top 2 --json
[ "$status" = 0 ] || fail "masked bytes should be filled"
expect 0 eval stories --data stories.txt
says '^perplexity [0-9.]+, accuracy'

# the same body with another head, which is drawn anew
awk 'BEGIN { for (i = 0; i < 20; i++) print (i % 2 ? "The bear eats honey\tyes" : "The fox eats corn\tno") }' >labels.tsv
steps=2
if learns; then steps=60; fi
expect 0 train classify --data labels.tsv --init stories --out classes --steps $steps --lr 0.01 --seed "$(seed 1)" --quiet
feed 'The fox eats corn\nThe bear eats honey\n' classify classes
[ "$(grep -cE '^(yes|no)	[01]\.[0-9]+$' out)" = 2 ] || fail "a class and its score for each line"
if learns; then
    [ "$(cut -f 1 out | tr '\n' ' ')" = "no yes " ] || fail "what each eats should be learnt"
    expect 0 eval classes --data labels.tsv
    at_least accuracy "$(said accuracy)" 90 # at random: 50
fi
expect 0 attend classes 'The fox' --json --quiet # of latents to tokens, not of the class to latents, which comes last
says '"site":"cross"'
expect 0 attend classes 'The fox' --site 'cross 1x8' --json --quiet

# pictures: heads of their own
for head in learned fourier conv; do
    expect 0 new perceiver $head --task $head $(echo $small | sed 's/--set d_model=16//;s/--set max_position_embeddings=32//') \
        --set cross_attention_shape_for_attention=q --set in_channels=1 --set image_size=$([ $head = conv ] && echo 24 || echo 8)
    expect 0 info $head --batch 2
    grep -q PerceiverForImageClassification $head/config.json || fail "$head should be of pictures"
done

# in use: classes, vectors that are the mean of the latents, and what the latents look at
cp "$SOURCE/tests/fuzz/corpus/jpeg/jpeg.0" a.jpg
numbers() { tr -d ' \n' <out | sed 's/.*"weights":\[\[\[\[//; s/\]*}$//; s/\],\[/,/g' | tr ',' '\n'; }
for head in learned fourier conv; do
    keys=64
    [ $head != conv ] || keys=25 # 5 x 5 of 24 x 24 pixels, after a convolution and a maximum
    expect 0 classify $head a.jpg --quiet
    says '^a\.jpg	[01]	0\.[0-9]*$'
    expect 0 embed $head a.jpg --quiet
    [ "$(wc -w <out)" = 16 ] || fail "as many numbers as a latent has"
    wrong 1 'embed: --pooling cls: a model of family perceiver has no class token' embed $head a.jpg --pooling cls --quiet
    expect 0 attend $head a.jpg --npy $head.npy
    says '^layer 0, mean of 2 heads: the latents, on average$'
    head -c 128 $head.npy | grep -aq "'shape': (1, 2, 8, $keys)" || fail "(layers, heads, latents, positions)"
    expect 0 attend $head a.jpg --latent 3 --head 1 --png $head.png --html $head.html
    says '^layer 0, head 1: latent 3$'
    grep -q "^$head.png: layer 0, head 1: latent 3\$" err || fail "what was drawn"
    grep -q "^$head.html: all heads and latents; open it in a browser\$" err || fail "what was written"
    expect 0 attend $head a.jpg --latent 7 --head 0 --json --quiet
    says '"query":"latent 7"'
    [ "$(numbers | grep -c .)" = $keys ] && numbers | awk '{ s += $1 } END { exit !(s > 0.999 && s < 1.001) }' || fail "the weights of a latent"
    expect 0 attend $head a.jpg --rollout --json --quiet # one layer: what the latents see, on average
    says '"query":"the latents, on average","rollout":true'
    numbers | awk '{ s += $1 } END { exit !(s > 0.999 && s < 1.001) }' || fail "rollout sums to 1"
done
attend='attend learned a.jpg --quiet'
wrong 2 'attend: --latent 8: cross has 8 latents, counted from 0' $attend --latent 8
wrong 2 'attend: --latent: -1 is not between' $attend --latent=-1
wrong 2 'attend: --latent: .*x' $attend --latent x
wrong 2 'attend: --patch: the queries of cross are 8 latents, not patches; --latent shows one' $attend --patch 0,0
wrong 2 "attend: --site attention: the model has 'cross'" $attend --site attention

# what is refused
tiny="--set d_latents=16 --set num_cross_attention_heads=4"
wrong 2 '.*d_model: the decoder of masked tokens has 8 heads, which do not divide 12' new perceiver no $tiny --set d_model=12
wrong 2 'v_channels: self-attention gives 24 numbers, and they are added to latents of 16' new perceiver no $tiny --set v_channels=24
wrong 2 '.*num_self_attention_heads: 3 heads do not divide d_latents, 16' new perceiver no $tiny --set num_self_attention_heads=3
wrong 2 '.*4 heads do not divide keys of 15 and' new perceiver no --task fourier $tiny --set in_channels=1 --set num_bands=3
wrong 2 'perceiver: num_bands: 0 is not between 1 and 65536$' new perceiver no --task fourier $tiny --set num_bands=0
