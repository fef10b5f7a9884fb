# heed attend with models that find objects: what each object's query looks at, in every form.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
cp "$SOURCE/tests/fuzz/corpus/jpeg/jpeg.0" a.jpg
detr="-s use_timm_backbone=false -s backbone=null -s backbone_config.layer_type=basic -s backbone_config.embedding_size=4
    -s backbone_config.hidden_sizes=4,6 -s backbone_config.depths=1,1 -s d_model=8 -s encoder_layers=1 -s decoder_layers=2
    -s encoder_ffn_dim=8 -s decoder_ffn_dim=8 -s encoder_attention_heads=2 -s decoder_attention_heads=2 -s num_queries=5 -s num_labels=3"
for family in detr conditional_detr table-transformer; do
    expect 0 new $family $family --seed 4 --quiet $detr
done
expect 0 new yolos yolos --seed 4 --quiet -s image_size=32,48 -s patch_size=8 -s hidden_size=12 -s num_hidden_layers=2 \
    -s num_attention_heads=2 -s intermediate_size=8 -s num_detection_tokens=5 -s num_labels=3
for family in detr conditional_detr table-transformer yolos; do
    echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 48}}' >$family/preprocessor_config.json
done

# a line for each object, the surest first; a sheet, the page and the numbers
for family in detr conditional_detr table-transformer yolos; do
    expect 0 attend $family a.jpg --threshold 0 --png $family.png --svg $family.svg --html $family.html
    says '^What found them looks at \('
    [ "$(grep -c '^class [012] 0\.[0-9]* at -*[0-9]*,-*[0-9]*, [0-9]* x [0-9]* (query [0-4]): [0-9]*,[0-9]* 0\.' out)" = 5 ] || fail "$family: a line for each object"
    sed -n 's/^class [012] \(0[.0-9]*\).*/\1/p' out | sort -rnc || fail "$family: the surest first"
    grep -q "$family.png: what found 5 objects looks at" err || fail "$family: what is drawn"
    [ "$(grep -c '"query":[0-4],"label":[012],"score":0' $family.html)" = 5 ] || fail "$family: the page has all objects"
    expect 0 attend $family a.jpg --threshold 0 --json --quiet
    says '"objects":\[\{"query":[0-4],"label":"class [012]","score":0\.[0-9]*,"box":\[[-0-9.]*,[-0-9.]*,[-0-9.]*,[-0-9.]*\],"weights":\[\[0'
    # one query in every layer and head; and all of them, where nothing is sure enough
    expect 0 attend $family a.jpg --latent 3 --png one.png --quiet
    expect 0 attend $family a.jpg --threshold 1 --quiet
    expect 2 attend $family a.jpg --latent 5 --quiet
    expect 2 attend $family a.jpg --threshold 2 --quiet
done
expect 0 attend detr a.jpg --latent 3 --layer 0
says 'cross, layer 0, mean of 2 heads: query 3'
expect 0 attend detr a.jpg --threshold 1
says 'the object queries, on average'
expect 0 new vit vit --quiet -s image_size=16 -s patch_size=4 -s hidden_size=12 -s num_hidden_layers=1 -s num_attention_heads=2 -s intermediate_size=8
expect 0 attend vit a.jpg --threshold 0.1 --quiet
