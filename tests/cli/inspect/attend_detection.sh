# heed attend over a picture with tokens that find objects: their maps, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
picture=$SOURCE/tests/golden/task/picture-vit/wide.png

expect 0 new yolos model --set hidden_size=12 --set num_attention_heads=3 --set num_hidden_layers=2 --set intermediate_size=10 \
    --set image_size=32,24 --set patch_size=8 --set num_detection_tokens=5 --set num_labels=2 --set initializer_range=0.5
echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 24}}' >model/preprocessor_config.json
sides() { # of image_size, which transformers wants as a list
    tr -d ' \n' <"$1/config.json" | grep -c "\"image_size\":\[$2\]"
}
[ "$(sides model 32,24)" = 1 ] || fail "height and width should be in config.json"
expect 0 new yolos square --set hidden_size=8 --set num_attention_heads=2 --set num_hidden_layers=1 --set image_size=16 --set patch_size=8
[ "$(sides square 16,16)" = 1 ] || fail "a side should be written as height and width"

expect 0 attend model "$picture" --latent 3 --json
grep -q '"query":"detection 3"' out || fail "the query should be a detection token"
tr -d ' \n' <out | sed 's/.*"token_weights":\[\(.*\)\],"weights":\[\(.*\)\].*/\1 \2/; s/[][]//g; s/,/ /g' | awk '{
        for (i = 1; i <= NF; i++) sum += $i
        exit NF != 2 * 3 * (6 + 12) || (sum - 6) ^ 2 > 1e-6 }' || fail "two layers of three heads, the class, five tokens and 4 x 3 patches"
expect 0 attend model "$picture" --latent 3
says "^Shares: class 0\.[0-9]*, detection tokens 0\.[0-9]*, patches 0\.[0-9]*"
expect 0 attend model "$picture" --rollout --latent 0
expect 0 attend model "$picture" --patch 3,2 --png map.png --html page.html
[ -s map.png ] && [ -s page.html ] || fail "a picture and a page"
wrong 2 "attend: --latent 5: there are 5 detection tokens, counted from 0" attend model "$picture" --latent 5 --quiet
wrong 2 "attend: --patch, --latent: one query is shown, not two" attend model "$picture" --latent 1 --patch 0,0 --quiet
