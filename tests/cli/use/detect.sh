# heed train detect, heed detect and heed eval on objects: answers in every form, COCO's figures of a model and of given
# detections, and what is refused.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
seeds=$SOURCE/tests/fuzz/corpus
cp "$seeds/jpeg/jpeg.0" a.jpg
cp "$seeds/png/png.2.8.interlaced" b.png
says_error() { # PATTERN
    grep -q -- "$1" err || fail "the message should hold: $1"
}
tiny="--set d_model=16 --set backbone_config.hidden_sizes=4,8 --set backbone_config.embedding_size=4 --set backbone_config.depths=1,1
    --set encoder_layers=1 --set decoder_layers=1 --set encoder_ffn_dim=8 --set decoder_ffn_dim=8 --set encoder_attention_heads=2
    --set decoder_attention_heads=2 --set num_queries=5 --shortest-edge 32"

# the losses by name, the figures of validation, and the processor as transformers' class writes it
expect 0 train detect --data shapes $tiny --steps 4 --batch 4 --count 8 --valid 0.5 --denoising-groups 2 --out model --log log --quiet
head -n 1 log | grep -q '"loss_ce":.*"loss_bbox":.*"loss_giou":' || fail "the log should have the parts of the loss"
tail -n 1 log | grep -q '"valid_AP":.*"valid_AP50":' || fail "the log should have COCO's figures"
grep -q '"image_processor_type": "ConditionalDetrImageProcessor"' model/preprocessor_config.json || fail "the processor's class"
grep -q '"longest_edge": 54' model/preprocessor_config.json || fail "the longer side"
grep -q '"2": "ring"' model/config.json || fail "names of classes"
if "$HEED" info model 2>/dev/null | grep -q denoising; then fail "denoising queries leave no trace"; fi

# path TAB label TAB score TAB box; the surest first; for any number of threads and one by one
expect 0 detect model a.jpg b.png --threshold 0.001
silent
[ "$(awk -F '\t' '{ print NF, split($4, box, " ") }' out | sort -u)" = "4 4" ] || fail "four parts, the last of four numbers"
awk -F '\t' '$1 == last && $3 > score { exit 1 } { last = $1; score = $3 }' out || fail "the surest first"
cp out all
for f in a.jpg b.png; do "$HEED" detect model $f --threshold 0.001 --threads 2; done >single
cmp all single || fail "one by one the same"
printf 'a.jpg\nb.png\n' | "$HEED" detect model --threshold 0.001 >listed
cmp all listed || fail "paths of standard input"
expect 0 detect model a.jpg --threshold 1
[ ! -s out ] || fail "no score is above 1"
expect 0 detect model a.jpg --threshold 0 --top 3 --json
box='"box":\[-?[0-9.e-]*,-?[0-9.e-]*,-?[0-9.e-]*,-?[0-9.e-]*\]'
says "^\{\"picture\":\"a.jpg\",\"objects\":\[\{\"label\":\"[a-z]*\",\"score\":[0-9.e-]*,$box\},.*\]\}\$"
[ "$(grep -o '"label"' out | wc -l)" = 3 ] || fail "at most three"
expect 0 detect model a.jpg b.png --threshold 0.001 --png found.png --svg found.svg --quiet
[ "$(head -c 4 found.png | tail -c 3)" = PNG ] || fail "a picture"
grep -q "<svg" found.svg || fail "a drawing"
echo text >text.jpg
expect 1 detect model text.jpg a.jpg --threshold 0.001
says_error "text.jpg: not a picture: neither PNG nor JPEG"
grep -v "^b" all | cmp - out || fail "good pictures should be answered"

# COCO's figures: of the model, and of its detections
cat >truth.json <<'END'
{"images": [{"id": 4, "file_name": "b.png", "width": WIDTH, "height": HEIGHT}],
 "categories": [{"id": 9, "name": "ring"}, {"id": 2, "name": "cross"}],
 "annotations": [{"id": 1, "image_id": 4, "category_id": 9, "bbox": [1, 2, 5, 6], "area": 30, "iscrowd": 0},
                 {"id": 2, "image_id": 4, "category_id": 2, "bbox": [0, 0, 4, 4], "area": 16, "iscrowd": 0}]}
END
size=$(od -An -tu1 -j16 -N8 b.png | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }')
sed -i "s/WIDTH/${size% *}/; s/HEIGHT/${size#* }/" truth.json
expect 0 eval model --data truth.json --save-detections given.json --json
says '"pictures": 1'
says '"loss": '
cp out ours
expect 0 eval --data truth.json --detections given.json --json
for figure in AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl; do
    [ "$(grep "\"$figure\": " ours | head -n 1)" = "$(grep "\"$figure\": " out | head -n 1)" ] || fail "$figure of given detections"
done
says '"APl": -1'
cat >right.json <<'END'
[{"image_id": 4, "category_id": 9, "bbox": [1, 2, 5, 6], "score": 0.9}, {"image_id": 4, "category_id": 2, "bbox": [0, 0, 4, 4], "score": 0.8}]
END
expect 0 eval model --data truth.json --detections right.json
says '^AP  *1.0000'
says '^cross  *1.0000'
expect 0 eval nowhere --data truth.json --detections right.json # no model is needed
expect 2 eval --data truth.json
says_error "eval: expected: DIR"

# what cannot be: a sentence each
refuse() { # STATUS PATTERN ARGS...
    status=$1 pattern=$2
    shift 2
    expect "$status" "$@"
    says_error "$pattern"
    [ "$(grep -c . err)" -le 2 ] || fail "one sentence"
}
sed 's/"ring"/"dragon"/' truth.json >unknown.json
refuse 1 "dragon" eval model --data unknown.json
sed 's/b.png/missing.png/' truth.json >missing.json
refuse 1 "missing.png" train detect --data missing.json $tiny --steps 1 --batch 1 --out none
"$HEED" new vit vit --quiet -s image_size=16 -s patch_size=8 -s hidden_size=8 -s num_hidden_layers=1 -s num_attention_heads=2 -s intermediate_size=8
refuse 1 "vit: ViTForImageClassification is not for detect" detect vit a.jpg
refuse 1 "is not for classify" classify model a.jpg
sed 's/ForObjectDetection/ForSegmentation/' model/config.json >config.json
mkdir segments && cp model/model.safetensors model/preprocessor_config.json segments && mv config.json segments
refuse 1 "ConditionalDetrForSegmentation" detect segments a.jpg
refuse 1 "ConditionalDetrForSegmentation" train detect --data shapes --init segments --steps 1 --out none
refuse 1 "nobody" train detect --data shapes $tiny --init-backbone nobody --steps 1 --out none
refuse 1 "is no backbone for this model" train detect --data shapes $tiny --init-backbone vit --steps 1 --out none
refuse 2 "vit cannot be trained to detect" train detect --data shapes --model vit --out none

# boxes beyond the picture, of no size, and crowds: counted, once
sed 's/"bbox": \[0, 0, 4, 4\]/"bbox": [-3, 0, 9, 4]/; s/\]}$/, {"id": 7, "image_id": 4, "category_id": 2, "bbox": [3, 3, 0, 2], "area": 0, "iscrowd": 0}, {"id": 8, "image_id": 4, "category_id": 2, "bbox": [1, 1, 3, 2], "area": 6, "iscrowd": 1}]}/' truth.json >odd.json
expect 0 train detect --data odd.json $tiny --steps 1 --batch 1 --valid 0 --out odd
says_error "odd.json: 1 box clipped at the border of a picture, 1 box of no size or outside of a picture left out, 1 crowd left out of training"

# sides that are no whole patches; two classes without names, as transformers writes them
expect 0 train detect --model yolos --data shapes --shortest-edge 37 --count 2 --valid 0 --steps 1 --batch 2 --set hidden_size=12 --set num_hidden_layers=2 --set intermediate_size=8 --out patches
grep -A 3 '"image_size"' patches/config.json | grep -q 40 || fail "whole patches of 8 x 8"
sed '/"id2label"/,/}/d; /"label2id"/,/}/d; /"num_labels"/d' odd/config.json | tr -d '\n' | sed 's/, *}/}/g' >config.json
mkdir unnamed && cp odd/model.safetensors odd/preprocessor_config.json unnamed && mv config.json unnamed
expect 0 train detect --data odd.json --init unnamed --valid 0 --steps 1 --batch 1 --out named
grep -q '"1": "ring"' named/config.json || fail "classes are named by the data"
