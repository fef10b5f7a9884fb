# The page of attention over a picture, in headless Chromium: what it shows, by pointer and keyboard, narrow and dark.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
browser=
for name in chromium chromium-browser google-chrome; do
    if [ -z "$browser" ] && command -v $name >/dev/null; then browser=$name; fi
done
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
    echo "skipped: the page is tested with Chromium and python3, which are not both installed"
    exit 77
fi
cp "$SOURCE/tests/fuzz/corpus/jpeg/jpeg.0" photo.jpg
"$HEED" new deit vit -q --seed 3 -s image_size=24 -s patch_size=4 -s hidden_size=12 -s num_hidden_layers=3 -s num_attention_heads=3 \
    -s intermediate_size=8 -s initializer_range=0.4
"$HEED" new swin swin -q --seed 3 -s image_size=20 -s patch_size=2 -s embed_dim=6 -s depths=2,1 -s num_heads=2,3 -s window_size=4 -s initializer_range=0.4
for m in vit swin; do
    site=$([ $m = vit ] && echo attention || echo 'stage 0')
    "$HEED" attend $m photo.jpg --html $m.html --json --site "$site" -q >$m.json
    "$HEED" attend $m photo.jpg --patch 2,3 --json --site "$site" -q >$m-patch.json
    "$HEED" attend $m photo.jpg --rollout --json -q >$m-rollout.json
done
"$HEED" new perceiver latents -q --seed 3 --task fourier -s image_size=12 -s num_latents=5 -s d_latents=8 -s num_self_attends_per_block=1 \
    -s num_self_attention_heads=2 -s num_cross_attention_heads=2 -s cross_attention_shape_for_attention=q -s num_bands=2 -s initializer_range=0.9
"$HEED" attend latents photo.jpg --html latents.html --json -q >latents.json
"$HEED" attend latents photo.jpg --latent 3 --json -q >latents-one.json
"$HEED" new detr objects -q --seed 3 -s use_timm_backbone=false -s backbone=null -s backbone_config.layer_type=basic -s backbone_config.embedding_size=4 \
    -s backbone_config.hidden_sizes=4,6 -s backbone_config.depths=1,1 -s d_model=8 -s encoder_layers=1 -s decoder_layers=2 -s encoder_ffn_dim=8 \
    -s decoder_ffn_dim=8 -s encoder_attention_heads=2 -s decoder_attention_heads=2 -s num_queries=5 -s num_labels=3
"$HEED" attend objects photo.jpg --threshold 0 --html objects.html --json -q >objects.json
status=0
python3 "$SOURCE/tests/cli/inspect/picture_page.py" $browser vit swin latents objects >out 2>err || status=$?
[ $status = 0 ] || fail "the page fails"
